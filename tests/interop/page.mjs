// What the pages share: pictures, and cameras as three.js has them.
import * as THREE from 'three';

export function post(result) {
    return fetch('/', { method: 'POST', body: JSON.stringify(result) });
}

// RGBA, rows from the top.
export async function pixelsOf(url) {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`no ${url}`);
    const bitmap = await createImageBitmap(await response.blob(), { colorSpaceConversion: 'none' });
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
    context.drawImage(bitmap, 0, 0);
    return context.getImageData(0, 0, bitmap.width, bitmap.height).data;
}

// A pinhole camera with x to the right, y down and z ahead, as three.js has it: y up and z behind.
export function makeCamera(view) {
    const { width, height, fx, fy, cx, cy, world_to_camera: m } = view, near = 0.05, far = 100;
    const camera = new THREE.Camera();
    camera.projectionMatrix.set(
        2 * fx / width, 0, 1 - 2 * cx / width, 0,
        0, 2 * fy / height, 2 * cy / height - 1, 0,
        0, 0, -(far + near) / (far - near), -2 * far * near / (far - near),
        0, 0, -1, 0);
    camera.projectionMatrixInverse.copy(camera.projectionMatrix).invert();
    camera.matrixAutoUpdate = false;
    camera.matrix.set(m[0], m[1], m[2], m[3], -m[4], -m[5], -m[6], -m[7], -m[8], -m[9], -m[10], -m[11],
        0, 0, 0, 1).invert();
    camera.matrixWorldNeedsUpdate = true;
    return camera;
}
