// Splatsmith's splat files, read by public programs as they are published: gsplat (gsplat.js), splat-transform,
// gltf-validator, three.js's parser of USD.
//
//   node interop.mjs FOLDER             exchanges files with the program named by SPLATSMITH_BINARY
//   node interop.mjs FOLDER FILE.ply..  lets the loaders read the files and compares what they see
//
// FOLDER holds node_modules and receives the files. Leaves with 77 when there is nothing to test with.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { findBrowser } from './browser.mjs';
import { makeRandom, writePly } from './splat_files.mjs';

const [folder, ...files] = process.argv.slice(2);
const transform = join(folder, 'node_modules', '@playcanvas', 'splat-transform', 'bin', 'cli.mjs');
let gsplat;

function skip(why) {
    console.log(`SKIPPED: ${why}; no public loader has read our PLY files`);
    process.exit(77);
}

function check(good, what) {
    if (!good) throw new Error(what);
}

const near = (a, b, tolerance) => Math.abs(a - b) <= tolerance;

// ---------------------------------------------------------------- files

// The plainest splat format: position, scale (linear), RGBA and rotation bytes; 32 bytes each.
function makeSplatFile(n) {
    const random = makeRandom(1), data = new DataView(new ArrayBuffer(32 * n));
    for (let i = 0; i < n; i++) {
        for (let k = 0; k < 3; k++) data.setFloat32(32 * i + 4 * k, 8 * random() - 4, true);
        for (let k = 3; k < 6; k++) data.setFloat32(32 * i + 4 * k, Math.exp(-4 * random() - 1), true);
        for (let k = 24; k < 27; k++) data.setUint8(32 * i + k, Math.floor(256 * random()));
        data.setUint8(32 * i + 27, 10 + Math.floor(236 * random()));
        for (let k = 28; k < 32; k++) data.setUint8(32 * i + k, 1 + Math.floor(255 * random()));
    }
    return data;
}

// A PLY of Mip-Splatting: 63 floats, filter_3D last. Returns the values by column.
function makeMipFile(path, n, inARow = false) {
    const names = ['x', 'y', 'z', 'nx', 'ny', 'nz', 'f_dc_0', 'f_dc_1', 'f_dc_2'];
    for (let i = 0; i < 45; i++) names.push(`f_rest_${i}`);
    names.push('opacity', 'scale_0', 'scale_1', 'scale_2', 'rot_0', 'rot_1', 'rot_2', 'rot_3', 'filter_3D');
    const random = makeRandom(2), values = new Float32Array(n * names.length);
    for (let i = 0; i < values.length; i++) {
        const name = names[i % names.length];
        values[i] = name[0] === 'n' ? 0 : name === 'filter_3D' ? 0.2 * random() : 4 * random() - 2;
        if (inARow && name === 'x') values[i] = 0.1 * Math.floor(i / names.length);
        if (inARow && name.startsWith('f_')) values[i] *= name.startsWith('f_rest') ? 0.25 : 0.75; // none is cut
    }
    writePly(path, names, values);
    return (row, name) => values[row * names.length + names.indexOf(name)];
}

// ---------------------------------------------------------------- loaders

function loadWithGsplat(path) {
    const bytes = readFileSync(path);
    const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    return gsplat.PLYLoader.LoadFromArrayBuffer(buffer, new gsplat.Scene()).data;
}

function runTransform(input, output) {
    execFileSync(process.execPath, [transform, '-q', '-w', '-g', 'cpu', input, output], { stdio: 'inherit' });
}

// All columns as splat-transform sees them.
function loadWithTransform(path) {
    const csv = join(folder, `${basename(path)}.csv`);
    runTransform(path, csv);
    const [head, ...lines] = readFileSync(csv, 'utf8').trim().split('\n');
    const names = head.split(','), rows = lines.map((line) => line.split(',').map(Number));
    return { n: rows.length, names, at: (row, name) => rows[row][names.indexOf(name)] };
}

// What both loaders say about one file must agree; float text and byte colours leave a little room.
function compareLoaders(path) {
    const a = loadWithGsplat(path), b = loadWithTransform(path);
    check(a.vertexCount === b.n, `${path}: gsplat sees ${a.vertexCount} splats, splat-transform ${b.n}`);
    for (let i = 0; i < b.n; i++) {
        ['x', 'y', 'z'].forEach((name, k) => check(near(a.positions[3 * i + k], b.at(i, name), 1e-5),
            `${path}: splat ${i} has ${name} ${a.positions[3 * i + k]} and ${b.at(i, name)}`));
        [0, 1, 2].forEach((k) => {
            const scale = Math.exp(b.at(i, `scale_${k}`));
            check(near(a.scales[3 * i + k], scale, 1e-5 * scale), `${path}: splat ${i}: scale_${k} differs`);
        });
        const opacity = 255 / (1 + Math.exp(-b.at(i, 'opacity')));
        check(near(a.colors[4 * i + 3], opacity, 1), `${path}: splat ${i}: opacity differs`);
    }
    console.log(`${path}: ${b.n} splats, ${b.names.length} columns: both loaders agree`);
    return { a, b };
}

// ---------------------------------------------------------------- exchanges

function splatsmithExport(input, output, ...more) {
    const program = process.env.SPLATSMITH_BINARY;
    execFileSync(program, ['export', '--ply', input, '-o', output, ...more], { stdio: 'inherit' });
}

// .splat -> another tool's PLY -> our PLY -> both loaders.
function exchangeForeign(n) {
    const source = makeSplatFile(n), paths = ['foreign.splat', 'foreign.ply', 'ours.ply'].map((x) => join(folder, x));
    writeFileSync(paths[0], Buffer.from(source.buffer));
    runTransform(paths[0], paths[1]);
    splatsmithExport(paths[1], paths[2]);
    const { a } = compareLoaders(paths[2]);
    check(a.vertexCount === n, `our PLY has ${a.vertexCount} of ${n} splats`);
    for (let i = 0; i < n; i++) {
        for (let k = 0; k < 3; k++) {
            const scale = source.getFloat32(32 * i + 12 + 4 * k, true);
            check(a.positions[3 * i + k] === source.getFloat32(32 * i + 4 * k, true), `position ${i} has changed`);
            check(near(a.scales[3 * i + k], scale, 1e-5 * scale), `scale ${i} has changed`);
            check(near(a.colors[4 * i + k], source.getUint8(32 * i + 24 + k), 1), `colour ${i} has changed`);
        }
        check(near(a.colors[4 * i + 3], source.getUint8(32 * i + 27), 1), `opacity ${i} has changed`);
    }
}

// A Mip-Splatting PLY -> our fused PLY: scale sqrt(s^2 + f^2), opacity o prod s / sqrt(s^2 + f^2), SH untouched.
function exchangeMip(n) {
    const mip = join(folder, 'mip.ply'), fused = join(folder, 'mip_fused.ply'), plain = join(folder, 'mip_plain.ply');
    const source = makeMipFile(mip, n);
    splatsmithExport(mip, plain);
    check(readFileSync(plain).includes('filter_3D'), 'the plain export has lost filter_3D');
    compareLoaders(plain);
    splatsmithExport(mip, fused, '--fused');
    check(!readFileSync(fused).includes('filter_3D'), 'the fused export still has filter_3D');
    check(readFileSync(fused).includes('comment SplatRenderMode: mip\n'), 'the fused export has no render mode');
    const { a, b } = compareLoaders(fused);
    check(a.vertexCount === n, `our fused PLY has ${a.vertexCount} of ${n} splats`);
    for (let i = 0; i < n; i++) {
        const f = source(i, 'filter_3D');
        let opacity = 1 / (1 + Math.exp(-source(i, 'opacity')));
        for (let k = 0; k < 3; k++) {
            const s = Math.exp(source(i, `scale_${k}`)), filtered = Math.hypot(s, f);
            opacity *= s / filtered;
            check(near(b.at(i, `scale_${k}`), Math.log(filtered), 1e-5), `fused scale ${i} is wrong`);
        }
        check(near(b.at(i, 'opacity'), Math.log(opacity / (1 - opacity)), 1e-5), `fused opacity ${i} is wrong`);
        for (const name of ['x', 'f_dc_1', 'f_rest_0', 'f_rest_16', 'f_rest_44'])
            check(near(b.at(i, name), source(i, name), 1e-5), `${name} ${i} has changed`);
    }
}

// The largest errors of packed formats, by column: a step of their bytes.
const packed = {
    '.splat': { x: 1e-6, scale_: 1e-5, opacity: 1.01, f_dc_: 0.0071, rot_: 0.014, columns: 0 },
    '.spz': { x: 0.00013, scale_: 0.032, opacity: 1.01, f_dc_: 0.014, f_rest_: 0.068, rot_: 0.005, columns: 45 },
    '.compressed.ply': { x: 0.013, scale_: 0.003, opacity: 1.01, f_dc_: 0.017, f_rest_: 0.016, rot_: 0.003,
        columns: 45 },
    '.sog': { x: 0.0013, scale_: 0.04, opacity: 1.01, f_dc_: 0.04, f_rest_: 0.04, rot_: 0.008, columns: 45 },
};

// Rows of two files in the order of x, which no format changes by a tenth.
function comparePacked(path, ending, wanted) {
    const found = loadWithTransform(path), loss = packed[ending], near255 = (x) => 255 / (1 + Math.exp(-x));
    check(found.n === wanted.n, `${path} has ${found.n} of ${wanted.n} splats`);
    check(found.names.filter((name) => name.startsWith('f_rest_')).length === loss.columns, `${path}: other harmonics`);
    for (let i = 0; i < found.n; i++) {
        const row = Math.round(10 * found.at(i, 'x')), unit = (f, at) => {
            const q = [0, 1, 2, 3].map((k) => f.at(at, `rot_${k}`)), norm = Math.hypot(...q);
            return q.map((x) => x / norm);
        };
        for (const name of found.names) {
            const [a, b] = [found.at(i, name), wanted.at(row, name)];
            const kind = ['y', 'z'].includes(name) ? 'x' : name.replace(/[0-9]+$/, '');
            if (kind === 'rot_' || !(kind in loss)) continue;
            const good = name === 'opacity' ? near(near255(a), near255(b), loss.opacity) : near(a, b, loss[kind]);
            check(good, `${path}: ${name} of splat ${row} is ${a} instead of ${b}`);
        }
        const p = unit(found, i), q = unit(wanted, row), sign = Math.sign(p.reduce((sum, x, k) => sum + x * q[k], 0));
        p.forEach((x, k) => check(near(x, sign * q[k], loss.rot_), `${path}: rotation of splat ${row} is wrong`));
    }
    console.log(`${path}: ${found.n} splats: agrees`);
}

function sortByX(file) {
    const order = [...Array(file.n).keys()].sort((a, b) => file.at(a, 'x') - file.at(b, 'x'));
    return { ...file, at: (row, name) => file.at(order[row], name) };
}

// A PLY of ours in every packed format, read by splat-transform, and its files read by us.
function exchangePacked(n) {
    const mip = join(folder, 'row.ply'), source = join(folder, 'row_fused.ply');
    makeMipFile(mip, n, true);
    splatsmithExport(mip, source, '--fused');
    const wanted = loadWithTransform(source);
    for (const ending of Object.keys(packed)) {
        const [ours, theirs, back] = ['ours', 'theirs', 'back'].map((name) => join(folder, `${name}${ending}`));
        splatsmithExport(source, ours);
        comparePacked(ours, ending, wanted);
        if (ending === '.splat') continue; // which it does not write
        runTransform(source, theirs);
        splatsmithExport(theirs, `${back}.ply`);
        comparePacked(`${back}.ply`, ending, sortByX(loadWithTransform(theirs)));
    }
    const v4 = join(folder, 'ours4.spz');
    splatsmithExport(source, v4, '--spz_version', '4');
    comparePacked(v4, '.spz', wanted);
}

// glTF: ours is valid, and theirs is read. They turn splats about z where we turn them about x: half a turn about y.
async function exchangeGltf() {
    const [source, ours, theirs] = ['row_fused.ply', 'ours.glb', 'theirs.glb'].map((x) => join(folder, x));
    splatsmithExport(source, ours);
    const { default: validator } = await import('gltf-validator');
    const { issues } = await validator.validateBytes(new Uint8Array(readFileSync(ours)));
    const ofExtension = /"MESH_PRIMITIVE_INVALID_ATTRIBUTE".*KHR_gaussian_splatting:/; // it does not know this one
    const errors = issues.messages.filter((m) => m.severity === 0 && !ofExtension.test(JSON.stringify(m)));
    check(errors.length === 0, `${ours}: ${JSON.stringify(errors)}`);
    runTransform(source, theirs);
    splatsmithExport(theirs, `${theirs}.ply`);
    const wanted = loadWithTransform(source), found = loadWithTransform(`${theirs}.ply`);
    check(found.n === wanted.n, `${theirs}: ${found.n} of ${wanted.n} splats`);
    const signs = { x: -1, y: 1, z: -1, opacity: 1, scale_0: 1, f_dc_1: 1, f_rest_0: 1, f_rest_1: -1, f_rest_2: -1 };
    for (let i = 0; i < found.n; i++)
        for (const [name, sign] of Object.entries(signs)) {
            const good = near(found.at(i, name), sign * wanted.at(i, name), 2e-5);
            check(good, `${theirs}: ${name} of splat ${i} is wrong`);
        }
    console.log(`${theirs}: ${found.n} splats: agrees; ${ours} is valid`);
}

// Entries xx xy xz yy yz zz of R S S R^T, for scales and a quaternion w x y z.
function covariance(scales, [w, x, y, z]) {
    const s = 2 / (w * w + x * x + y * y + z * z);
    const rotation = [[1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)],
        [s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)],
        [s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)]];
    return [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]].map(([a, b]) =>
        scales.reduce((sum, scale, k) => sum + scale * scale * rotation[a][k] * rotation[b][k], 0));
}

// USD: three.js's parser of its text finds our attributes, turned about x, and Pixar's usdchecker has no complaint.
async function exchangeUsd() {
    const [source, usda] = ['row_fused.ply', 'ours.usda'].map((x) => join(folder, x));
    splatsmithExport(source, usda);
    const { USDAParser } = await import('three/examples/jsm/loaders/usd/USDAParser.js');
    const { specsByPath } = new USDAParser().parseData(readFileSync(usda, 'utf8')), wanted = loadWithTransform(source);
    const found = (name, typeName) => {
        const fields = specsByPath[`/Splat.${name}`]?.fields;
        check(fields?.typeName === typeName, `${usda}: ${name} is ${fields?.typeName}, ${typeName} is wanted`);
        return fields.default;
    };
    const prim = specsByPath['/Splat'].fields.typeName, same = (a, b) => near(a, b, 1e-5 * Math.max(1, Math.abs(b)));
    check(prim === 'ParticleField3DGaussianSplat', `${usda}: the prim is a ${prim}`);
    const [p, q, s] = [found('positions', 'point3f[]'), found('orientations', 'quatf[]'), found('scales', 'float3[]')];
    const opacities = found('opacities', 'float[]');
    const sh = found('radiance:sphericalHarmonicsCoefficients', 'float3[]');
    check(found('radiance:sphericalHarmonicsDegree', 'int') === 3, `${usda}: another degree`);
    const sizes = [p.length / 3, q.length / 4, s.length / 3, opacities.length, sh.length / 48];
    check(sizes.every((n) => n === wanted.n), `${usda}: ${sizes} of ${wanted.n} splats`);
    // half a turn about x: of the harmonics those odd in y and z together change their sign
    const signs = [1, -1, -1, 1, -1, 1, 1, -1, 1, -1, 1, -1, -1, 1, -1, 1];
    for (let i = 0; i < wanted.n; i++) {
        const at = (name) => wanted.at(i, name), [x, y, z, w] = q.slice(4 * i, 4 * i + 4); // w was first in the file
        const turned = covariance([0, 1, 2].map((k) => Math.exp(at(`scale_${k}`))), [0, 1, 2, 3].map((k) => at(`rot_${k}`)))
            .map((c, k) => (k === 1 || k === 2 ? -c : c));
        covariance(s.slice(3 * i, 3 * i + 3), [w, x, y, z]).forEach((c, k) => check(near(c, turned[k], 1e-4 * Math.max(1,
            turned[0], turned[3], turned[5])), `${usda}: splat ${i} is turned otherwise`));
        ['x', 'y', 'z'].forEach((name, k) =>
            check(same(p[3 * i + k], (k ? -1 : 1) * at(name)), `${usda}: ${name} of splat ${i} is wrong`));
        check(same(opacities[i], 1 / (1 + Math.exp(-at('opacity')))), `${usda}: opacity of splat ${i} is wrong`);
        for (let c = 0; c < 3; c++)
            for (let k = 0; k < 16; k++)
                check(same(sh[48 * i + 3 * k + c], signs[k] * at(k ? `f_rest_${15 * c + k - 1}` : `f_dc_${c}`)),
                    `${usda}: coefficient ${k} of splat ${i} is wrong`);
    }
    console.log(`${usda}: ${wanted.n} splats: three.js's parser finds all of them`);
    const checker = spawnSync('usdchecker', [usda], { encoding: 'utf8' });
    if (checker.error) console.log('SKIPPED: no usdchecker; OpenUSD has not judged our file');
    else check(checker.status === 0, `usdchecker: ${checker.stdout}${checker.stderr}`);
}

// The HTML page in a headless Chromium, where there is one: a red Gaussian in the middle, blue from the harmonics of z
// as it is looked at along z. The page says what it has drawn when a line is added to it.
function drawPage() {
    const browser = findBrowser();
    if (!browser) { console.log('SKIPPED: no Chromium; no browser has drawn our HTML page'); return; }
    const names = ['x', 'y', 'z', 'f_dc_0', 'f_dc_1', 'f_dc_2', ...[...Array(9).keys()].map((k) => `f_rest_${k}`),
                   'opacity', 'scale_0', 'scale_1', 'scale_2', 'rot_0', 'rot_1', 'rot_2', 'rot_3'];
    const one = { f_dc_0: 1.2, f_dc_1: -1.7, f_dc_2: -1.7, f_rest_7: 0.9, opacity: 9, rot_0: 1 };
    const [ply, html] = ['one.ply', 'one.html'].map((name) => join(folder, name));
    writePly(ply, names, Float32Array.from(names, (name) => one[name] ?? 0));
    splatsmithExport(ply, html);
    const page = readFileSync(html, 'utf8'), end = '    draw();\n}\nmain()';
    check(page.includes(end), 'the page has changed; this test looks for its last call');
    check(page.includes('const start = null;'), 'a splat without cameras begins somewhere');
    const along = 'const start = { eye: [0, 0, 4], rows: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], wide: 0.5, high: 0.5 };';
    writeFileSync(html, page.replace('const start = null;', along).replace(end, `    paint();
    const rgba = new Uint8Array(4);
    gl.readPixels(canvas.width >> 1, canvas.height >> 1, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, rgba);
    note.textContent += ' RGB ' + rgba.slice(0, 3).join(' ') + ';';
}\nmain()`));
    const text = execFileSync(browser, ['--headless', '--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader',
        '--enable-unsafe-swiftshader', '--disable-dev-shm-usage', '--virtual-time-budget=20000', '--dump-dom',
        `file://${resolve(html)}`], { stdio: ['ignore', 'pipe', 'ignore'], timeout: 100000 }).toString();
    const said = /<p>(.*)<\/p>/.exec(text)?.[1] ?? '';
    if (said.includes('has no WebGL2')) { console.log('SKIPPED: this Chromium has no WebGL2'); return; }
    const found = / RGB ([0-9]+) ([0-9]+) ([0-9]+);/.exec(said)?.slice(1).map(Number);
    check(found, `the page says: ${said}`);
    // 0.99 of 255 (0.5 + 0.28209 f_dc), and for blue, of which f_rest_7 is b_2 = 0.4886 z, 0.875 times that more (of SPZ's
    // steps the next to 0.9): the page looks along z of the PLY
    const wanted = [211.7, 5.2, 113.1];
    wanted.forEach((x, k) => check(near(found[k], x, 3), `the page draws ${found} instead of ${wanted}`));
    console.log(`${html}: drawn by ${browser}: ${found}`);
}

async function main() {
    if (!folder) throw new Error('usage: node interop.mjs FOLDER [FILE.ply ...]');
    if (!existsSync(transform)) skip('the npm packages are not installed');
    try {
        gsplat = await import('gsplat');
    } catch (error) {
        skip(`gsplat cannot be loaded (${error.message})`);
    }
    if (files.length) {
        files.forEach(compareLoaders);
        return;
    }
    if (!process.env.SPLATSMITH_BINARY) throw new Error('SPLATSMITH_BINARY does not name the program');
    for (const name of ['ours.ply', 'mip_plain.ply', 'mip_fused.ply']) rmSync(join(folder, name), { force: true });
    exchangeForeign(500);
    exchangeMip(300);
    exchangePacked(400);
    await exchangeGltf();
    await exchangeUsd();
    drawPage();
    console.log('OK: public loaders read our PLY files, and we read theirs');
}

main().catch((error) => {
    console.error(`FAILED: ${error.message}`);
    process.exit(1);
});
