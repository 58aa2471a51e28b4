// Splatsmith's splat files, drawn by public viewers in a headless Chromium, whose pictures are compared with those of
// `splatsmith render --render_mode classic` from the same cameras: three.js, Spark and GaussianSplats3D, each with the
// formats that it reads.
//
//   node splats.mjs FOLDER
//
// FOLDER holds node_modules and receives the files; SPLATSMITH_BINARY names the program. Leaves with 77 when there is
// nothing to test with.
//
// The viewers are not exact: they end a Gaussian at 2 (three.js) or 2.8 deviations, have eight bits or fewer for colours
// and harmonics, and GaussianSplats3D stops at degree 2. The decibels wanted of each leave room for that. Pictures of
// the same splat without harmonics and with rotations turned around have less, which the test makes sure of.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findBrowser, runPage } from './browser.mjs';
import { makeCloud, splatNames, writePly } from './splat_files.mjs';

const [folder] = process.argv.slice(2);
const SECONDS = 200, N_GAUSSIANS = 500;

// What each viewer draws, of which degree its harmonics are, and the decibels wanted. Files whose axes are turned about
// x (SPZ is y up, glTF too) are looked at from turned cameras.
const TURNED = ['.spz', '.4.spz', '.glb'];
const READERS = {
    'three.js': { degree: 3, least: { '.ply': 31, '.splat': 31, '.spz': 30, '.4.spz': 30, '.glb': 31 } },
    'Spark': { degree: 3, least: { '.ply': 42, '.compressed.ply': 41, '.splat': 42, '.spz': 36, '.sog': 42 } },
    'GaussianSplats3D': { degree: 2, least: { '.ply': 43, '.compressed.ply': 41, '.splat': 39 } },
};

function skip(why) {
    console.log(`SKIPPED: ${why}; no public viewer has drawn our splats`);
    process.exit(77);
}

function check(good, what) {
    if (!good) throw new Error(what);
}

function splatsmith(...words) {
    execFileSync(process.env.SPLATSMITH_BINARY, [...words, '--quiet'], { stdio: 'inherit' });
}

// Our pictures of a file, and the cameras: [{camera, picture}] of the three test views.
function drawOurs(name, ply, ...more) {
    const out = join(folder, `splats_${name}`);
    rmSync(out, { recursive: true, force: true });
    splatsmith('render', '--ply', ply, '-s', join(folder, 'splats_scene'), '--eval', '--skip_train', '-o', out,
        '--render_mode', 'classic', '--what', 'rgb,depth', '--backend', 'cpu', ...more);
    const found = readdirSync(out, { recursive: true }).sort();
    return found.filter((x) => x.endsWith('.json') && x.includes('depth')).map((file, i) => ({
        camera: JSON.parse(readFileSync(join(out, file))),
        picture: `/files/splats_${name}/${found.filter((x) => /test_preds.*\.png$/.test(x))[i]}`,
    }));
}

// The cloud in every format, and the pictures that viewers should and should not make of it.
function prepare() {
    const ply = join(folder, 'cloud.ply'), around = join(folder, 'cloud_around.ply'), values = makeCloud(N_GAUSSIANS);
    const scene = join(folder, 'splats_scene');
    rmSync(scene, { recursive: true, force: true });
    splatsmith('sample', scene, '--cameras', '17', '--truth_points', '100', '--points', '100');
    writePly(ply, splatNames, values);
    for (let i = splatNames.indexOf('rot_0'); i < values.length; i += splatNames.length) values[i] *= -1;
    writePly(around, splatNames, values);
    const files = {}, endings = new Set(Object.values(READERS).flatMap((reader) => Object.keys(reader.least)));
    for (const ending of endings) {
        files[ending] = `cloud_ours${ending}`;
        splatsmith('export', '--ply', ply, '-o', join(folder, files[ending]),
            ...(ending === '.4.spz' ? ['--spz_version', '4'] : []));
    }
    const degrees = [0, 2, 3].map((degree) => drawOurs(degree, ply, '--sh_degree', String(degree)));
    return { files, around: drawOurs('around', around), degrees: { 0: degrees[0], 2: degrees[1], 3: degrees[2] } };
}

function makeJobs({ files, around, degrees }) {
    return Object.entries(READERS).flatMap(([reader, { degree, least }]) => Object.keys(least).map((ending) => {
        const own = ending === '.splat' ? 0 : degree; // which has no harmonics
        const views = degrees[own].map(({ camera, picture }, i) => ({ camera, picture,
            faults: { 'rotations turned around': around[i].picture,
                [own ? 'no harmonics' : 'harmonics of nobody']: degrees[own ? 0 : 3][i].picture } }));
        return { reader, ending, degree, url: `/files/${files[ending]}`, turned: TURNED.includes(ending), views };
    }));
}

function judge({ reader, ending, views }, result, faults) {
    const least = READERS[reader].least[ending], name = `${reader}: ${ending}`;
    check(!result.failure, `${name}: ${result.failure}`);
    let worst = Infinity, nearest = 0;
    result.views.forEach((view, i) => {
        writeFileSync(join(folder, `${reader}${ending}_${i}.png`), Buffer.from(view.picture.split(',')[1], 'base64'));
        worst = Math.min(worst, view.psnr);
        for (const [what, psnr] of Object.entries(view.faults)) {
            nearest = Math.max(nearest, psnr);
            if (psnr >= least) faults.push(`${name}: view ${i}: ${what} would pass with ${psnr.toFixed(1)} dB`);
        }
    });
    console.log(`${name}: ${result.views.length} views, at least ${worst.toFixed(1)} dB to our own (${least} are wanted, ` +
        `faults reach ${nearest.toFixed(1)})`);
    if (worst < least) faults.push(`${name}: only ${worst.toFixed(1)} dB, ${least} are wanted`);
}

async function main() {
    if (!folder) throw new Error('usage: node splats.mjs FOLDER');
    if (!existsSync(join(folder, 'node_modules', 'three'))) skip('the npm packages are not installed');
    if (!process.env.SPLATSMITH_BINARY) throw new Error('SPLATSMITH_BINARY does not name the program');
    const browser = findBrowser();
    if (!browser) skip('no Chromium here (scripts/install_deps.sh --browser)');
    const jobs = makeJobs(prepare()), results = await runPage(browser, 'splats.html', jobs, folder, SECONDS), faults = [];
    if (results.skip) skip(results.skip);
    if (results.failure) throw new Error(results.failure);
    jobs.forEach((job, i) => judge(job, results[i], faults));
    check(!faults.length, faults.join('\n'));
    console.log('OK: public viewers draw our splats as we do');
}

main().catch((error) => {
    console.error(`FAILED: ${error.message}`);
    process.exit(1);
});
