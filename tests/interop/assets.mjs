// Meshes as web pages and engines take them, in three.js's GLTFLoader and npm's gltf-validator: a texture of several
// pages, coarser levels, a sky, the direction that is up, the unit.
//
//   node assets.mjs FOLDER
//
// FOLDER holds node_modules and make_assets.sh, and receives the files. Leaves with 77 when there is nothing to test with.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findBrowser, runPage } from './browser.mjs';
import { validate } from './validate.mjs';

const [folder] = process.argv.slice(2), SECONDS = 100;
const rows = (x) => x.flatMap((v) => [v.map((y) => y), v.map((y) => -y)]);
// as make_meshes.c has them; the colour of a direction d is 127 + 100 d
const dome = { center: [1, 2, 3], directions: [...rows([[1, 0, 0], [0, 1, 0], [0, 0, 1]]), [0.6, -0.64, 0.48]] };
const room = { extras: { units: 'arbitrary', up: '+Y' }, up: [0, -1, 0], size: [6, 3, 4] };
const files = [
    { name: 'box', nodes: ['box', 'sky'], extras: { units: 'metre', up: '+Y' }, up: [0.2, -0.9, 0.3], sky: dome },
    { name: 'room', nodes: ['room_LOD0'], ...room },
    { name: 'room_LOD1', nodes: ['room_LOD1'], ...room },
    { name: 'room_LOD2', nodes: ['room_LOD2'], ...room },
];

function skip(why) {
    console.log(`SKIPPED: ${why}; three.js has loaded none of our levels and skies`);
    process.exit(77);
}

function check(good, what) {
    if (!good) throw new Error(what);
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// What the file itself says: its JSON, and the positions of a mesh.
function parse(path) {
    const data = readFileSync(path), length = data.readUInt32LE(12);
    const root = JSON.parse(data.subarray(20, 20 + length)), binary = data.subarray(28 + length);
    const positions = root.meshes.map(({ primitives: [{ attributes }] }) => {
        const { bufferView, count } = root.accessors[attributes.POSITION], { byteOffset } = root.bufferViews[bufferView];
        return Array.from({ length: count }, (_, i) => [0, 4, 8].map((k) => binary.readFloatLE(byteOffset + 12 * i + k)));
    });
    const triangles = root.meshes.map(({ primitives }) =>
        primitives.reduce((sum, { indices }) => sum + root.accessors[indices].count / 3, 0));
    return { root, positions, triangles };
}

function checkUp(file, positions, node) {
    const length = Math.hypot(...file.up), heights = positions.map((p) => p.reduce((s, x, k) => s + x * file.up[k], 0) / length);
    const low = heights.reduce((a, b) => Math.min(a, b)), high = heights.reduce((a, b) => Math.max(a, b));
    check(Math.abs(node.low[1] - low) < 0.02 * (high - low) && Math.abs(node.high[1] - high) < 0.02 * (high - low),
        `${file.name}: y is ${node.low[1]} to ${node.high[1]}, up is ${low} to ${high}`);
    const size = node.high.map((x, k) => x - node.low[k]);
    check(!file.size || size.every((x, k) => Math.abs(x - file.size[k]) < 0.03 * file.size[k]), // half a degree off
        `${file.name}: the bounding box is ${size}`);
}

function judge(file, found) {
    const { root, positions, triangles } = parse(join(folder, `${file.name}.glb`));
    check(same(found.extras, file.extras), `${file.name}: three.js finds ${JSON.stringify(found.extras)}`);
    check(/^Splatsmith \d+\.\d+\.\d+$/.test(found.generator), `${file.name}: made by ${found.generator}`);
    check(same(found.nodes.map((node) => node.name), file.nodes), `${file.name}: nodes ${found.nodes.map((x) => x.name)}`);
    found.nodes.forEach((node, i) => {
        check(node.positions === positions[i].length && node.triangles === triangles[i],
            `${node.name}: ${node.positions} vertices and ${node.triangles} triangles`);
        check(node.pictures.length === root.meshes[i].primitives.length && node.pictures.every((size) => size?.[0] > 0),
            `${node.name}: pictures ${JSON.stringify(node.pictures)}`);
        const wanted = node.name === 'sky' ? 'MeshBasicMaterial front' : 'MeshBasicMaterial both'; // unlit
        check(node.materials.every((material) => material === wanted), `${node.name}: ${node.materials}`);
        check(i === 0 || [0, 1, 2].every((k) => node.low[k] < found.nodes[0].low[k] && node.high[k] > found.nodes[0].high[k]),
            `the ${node.name} is not around the mesh`);
    });
    checkUp(file, positions[0], found.nodes[0]);
    file.sky?.directions.forEach((direction, i) => direction.forEach((x, k) => check(
        Math.abs(found.colors[i][k] - 127 - 100 * x) < 3, `${file.name}: the sky at ${direction} is ${found.colors[i]}`)));
    console.log(`${file.name}: ` + found.nodes.map(({ name, triangles: n, pictures }) =>
        `${name} of ${n} triangles and ${pictures.length} pictures`).join(', '));
}

async function main() {
    if (!folder) throw new Error('usage: node assets.mjs FOLDER');
    if (!existsSync(join(folder, 'node_modules', 'three'))) skip('the npm packages are not installed');
    execFileSync('sh', [join(folder, 'make_assets.sh'), folder], { stdio: 'inherit' });
    for (const { name } of files) await validate(join(folder, `${name}.glb`));
    const browser = findBrowser();
    if (!browser) skip('no Chromium here (scripts/install_deps.sh --browser)');
    const jobs = files.map(({ name, sky }) => ({ glb: `/files/${name}.glb`, sky }));
    const results = await runPage(browser, 'assets.html', jobs, folder, SECONDS);
    if (results.skip) skip(results.skip);
    if (results.failure) throw new Error(results.failure);
    files.forEach((file, i) => judge(file, results[i]));
    const [pages, level1, level2] = [1, 2, 3].map((i) => results[i].nodes[0]);
    check(pages.pictures.length > 1, 'the texture has one page');
    check(4 * level1.triangles <= pages.triangles && 4 * level2.triangles <= level1.triangles, 'levels are not coarser');
    console.log('OK: the validator accepts our levels and skies, and three.js loads them');
}

main().catch((error) => {
    console.error(`FAILED: ${error.message}`);
    process.exit(1);
});
