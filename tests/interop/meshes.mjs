// Splatsmith's GLB files, judged by npm's gltf-validator and drawn by three.js in a headless Chromium, whose pictures
// are compared with those of `splatsmith render --mesh` from the same cameras.
//
//   node meshes.mjs FOLDER                        meshes of MAKE_MESHES, cameras of the built-in scene
//   node meshes.mjs FOLDER MODEL FILE.glb...      meshes and the cameras of a model folder
//
// FOLDER holds node_modules and receives the files; SPLATSMITH_BINARY names the program. Leaves with 77 when there is
// nothing to test with.
//
// three.js draws as it does by default: it filters texels and blends colours in linear light, not in the photos'
// encoding as Splatsmith does, estimates derivatives by differences of neighbouring pixels, and may count a pixel on an
// edge to the other face. LEAST_DECIBELS below leaves room for that: 43 and 47 dB are reached, 38 with a texture of
// photos, which is noisier. A texture upside down or beside its place, and colours without their gamma are below it,
// which the test makes sure of where it knows the mesh.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { findBrowser, runPage } from './browser.mjs';
import { validate } from './validate.mjs';

const [folder, model, ...given] = process.argv.slice(2);
const LEAST_DECIBELS = model ? 30 : 36, MOST_OTHER_PIXELS = 0.005, SECONDS = 100;

function skip(why) {
    console.log(`SKIPPED: ${why}; three.js has drawn none of our meshes`);
    process.exit(77);
}

function check(good, what) {
    if (!good) throw new Error(what);
}

// ---------------------------------------------------------------- our pictures

function splatsmith(...words) {
    execFileSync(process.env.SPLATSMITH_BINARY, [...words, '--quiet'], { stdio: 'inherit' });
}

// A job for the page: what to load, from where to look, and our pictures on black and on white, which agree on the mesh.
function drawOurs(scene, path) {
    const name = basename(path, '.glb'), views = [];
    for (const background of ['black', 'white']) {
        const out = join(folder, `ours_${background}`);
        rmSync(join(out, 'test', `mesh_${name}`), { recursive: true, force: true });
        splatsmith('render', '--mesh', path, ...scene, '--eval', '--skip_train', '-o', out, '--supersampling', '1',
            '--what', 'rgb,depth', '--white_background', background === 'white' ? 'True' : 'False');
    }
    const depth = join(folder, 'ours_black', 'test', `mesh_${name}`, 'depth');
    for (const file of readdirSync(depth).filter((x) => x.endsWith('.json')).sort()) {
        const camera = JSON.parse(readFileSync(join(depth, file))), png = `${basename(file, '.json')}.png`;
        const [black, white] = ['black', 'white'].map((x) => `/files/ours_${x}/test/mesh_${name}/color/${png}`);
        views.push({ camera, black, white });
    }
    check(views.length > 0, `no views of ${name}`);
    const served = join(folder, `${name}.glb`);
    if (resolve(path) !== resolve(served)) copyFileSync(path, served);
    return { name, glb: `/files/${name}.glb`, views };
}

// ---------------------------------------------------------------- the whole

function judge(job, views) {
    let worst = Infinity, others = 0;
    views.forEach((view, i) => {
        writeFileSync(join(folder, `three_${job.name}_${i}.png`), Buffer.from(view.picture.split(',')[1], 'base64'));
        check(view.both > 1000, `${job.name}: view ${i}: only ${view.both} of ${view.covered} pixels show the mesh twice`);
        worst = Math.min(worst, view.psnr);
        others = Math.max(others, view.others / view.covered);
        for (const [what, psnr] of model ? [] : Object.entries(view.faults))
            check(psnr < LEAST_DECIBELS, `${job.name}: view ${i}: ${what} would pass with ${psnr.toFixed(1)} dB`);
    });
    console.log(`${job.name}: three.js draws ${views.length} views as we do: at least ${worst.toFixed(1)} dB over ` +
        `covered pixels, at most ${(100 * others).toFixed(2)} % of them covered in one picture only`);
    check(worst >= LEAST_DECIBELS, `${job.name}: only ${worst.toFixed(1)} dB, ${LEAST_DECIBELS} are wanted`);
    check(others <= MOST_OTHER_PIXELS, `${job.name}: ${others} of the covered pixels differ`);
}

async function main() {
    if (!folder) throw new Error('usage: node meshes.mjs FOLDER [MODEL FILE.glb ...]');
    if (!existsSync(join(folder, 'node_modules', 'three'))) skip('the npm packages are not installed');
    if (!process.env.SPLATSMITH_BINARY) throw new Error('SPLATSMITH_BINARY does not name the program');
    let scene, paths = given;
    if (model) {
        scene = ['-m', model];
    } else {
        const source = join(folder, 'scene');
        mkdirSync(folder, { recursive: true });
        rmSync(source, { recursive: true, force: true });
        splatsmith('sample', source, '--cameras', '17', '--truth_points', '100', '--points', '100');
        execFileSync(process.env.MAKE_MESHES, [], { stdio: 'ignore', env: { ...process.env, MESHES_FOLDER: folder } });
        scene = ['-s', source];
        paths = ['colored', 'textured'].map((name) => join(folder, `${name}.glb`));
    }
    for (const path of paths) await validate(path);
    const browser = findBrowser();
    if (!browser) skip('no Chromium here (scripts/install_deps.sh --browser)');
    const jobs = paths.map((path) => drawOurs(scene, path));
    const results = await runPage(browser, 'meshes.html', jobs, folder, SECONDS);
    if (results.skip) skip(results.skip);
    if (results.failure) throw new Error(results.failure);
    jobs.forEach((job, i) => judge(job, results[i]));
    console.log('OK: the validator accepts our meshes, and three.js draws them as we do');
}

main().catch((error) => {
    console.error(`FAILED: ${error.message}`);
    process.exit(1);
});
