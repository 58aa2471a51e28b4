// Splat files made by the tests themselves.
import { writeFileSync } from 'node:fs';

// A small generator of numbers in [0, 1): the same files at every run.
export function makeRandom(seed) {
    let state = seed >>> 0;
    return () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return state / 4294967296;
    };
}

// A binary PLY of floats: names of the columns, and the rows one after the other.
export function writePly(path, names, values) {
    const header = `ply\nformat binary_little_endian 1.0\nelement vertex ${values.length / names.length}\n` +
        names.map((name) => `property float ${name}\n`).join('') + 'end_header\n';
    writeFileSync(path, Buffer.concat([Buffer.from(header), Buffer.from(values.buffer)]));
}

// The columns of a splat of SH degree 3, without normals.
export const splatNames = ['x', 'y', 'z', 'f_dc_0', 'f_dc_1', 'f_dc_2', ...[...Array(45).keys()].map((k) => `f_rest_${k}`),
    'opacity', 'scale_0', 'scale_1', 'scale_2', 'rot_0', 'rot_1', 'rot_2', 'rot_3'];

// A ball of long Gaussians in all directions, colours and opacities, whose colours depend on the direction.
export function makeCloud(n) {
    const random = makeRandom(3), values = new Float32Array(n * splatNames.length);
    const set = (i, name, value) => { values[i * splatNames.length + splatNames.indexOf(name)] = value; };
    const between = (low, high) => low + (high - low) * random();
    for (let i = 0; i < n; i++) {
        let p;
        do p = [0, 1, 2].map(() => between(-1, 1)); while (Math.hypot(...p) > 1);
        ['x', 'y', 'z'].forEach((name, k) => set(i, name, p[k]));
        for (let k = 0; k < 3; k++) set(i, `f_dc_${k}`, between(-1, 1));
        for (let k = 0; k < 45; k++)
            set(i, `f_rest_${k}`, between(-1, 1) * [0.3, 0.2, 0.12][k % 15 < 3 ? 0 : k % 15 < 8 ? 1 : 2]);
        set(i, 'opacity', between(-1, 3));
        for (let k = 0; k < 3; k++) set(i, `scale_${k}`, Math.log([0.25, 0.06, 0.03][k] * between(0.6, 1.2)));
        for (let k = 0; k < 4; k++) set(i, `rot_${k}`, between(-1, 1));
    }
    return values;
}
