const $ = id => document.getElementById(id);
const token = new URLSearchParams(location.search).get('token') || '';
const query = '?token=' + encodeURIComponent(token);
const toggle = (button, on) => button.setAttribute('aria-pressed', String(on));

/* ---------------------------------------------------------------- vectors, turns: q = [w, x, y, z] */
const add = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = a => { const l = Math.hypot(...a) || 1; return a.map(v => v / l); };
const multiply = (a, b) => [
  a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
  a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]];
const turn = (axis, angle) => { const s = Math.sin(angle / 2), u = unit(axis);
  return [Math.cos(angle / 2), s * u[0], s * u[1], s * u[2]]; };
const rotate = (q, v) => { const u = [q[1], q[2], q[3]], t = cross(u, v).map(x => 2 * x);
  return add(add(v, t, q[0]), cross(u, t)); };
/* of three axes in the world, the columns of the rotation */
function fromAxes(x, y, z) {
  const t = x[0] + y[1] + z[2];
  let q;
  if (t > 0) q = [1 + t, y[2] - z[1], z[0] - x[2], x[1] - y[0]];
  else if (x[0] > y[1] && x[0] > z[2]) q = [y[2] - z[1], 1 + x[0] - y[1] - z[2], y[0] + x[1], z[0] + x[2]];
  else if (y[1] > z[2]) q = [z[0] - x[2], y[0] + x[1], 1 + y[1] - x[0] - z[2], z[1] + y[2]];
  else q = [x[1] - y[0], z[0] + x[2], z[1] + y[2], 1 + z[2] - x[0] - y[1]];
  const l = Math.hypot(...q);
  return q.map(v => v / l);
}

/* ---------------------------------------------------------------- the camera */
let scene = { views: [], center: [0, 0, 0], radius: 1, up: [0, 0, 0] };
let camera = { position: [0, 0, -3], q: [1, 0, 0, 0], fov: 50, pivot: 3 };
let start = camera, what = 'color', view = -1;
const right = () => rotate(camera.q, [1, 0, 0]), down = () => rotate(camera.q, [0, 1, 0]);
const forward = () => rotate(camera.q, [0, 0, 1]);
const up = () => Math.hypot(...scene.up) > 0.5 ? scene.up : [0, -1, 0];

function lookFrom(position, target) {
  const z = unit(add(target, position, -1)), x = unit(cross(z, up())), y = cross(z, x);
  return { position, q: fromAxes(x, y, z), fov: 50, pivot: Math.hypot(...add(target, position, -1)) };
}
function ofView(v) {
  const r = v.rotation;
  const q = fromAxes([r[0], r[1], r[2]], [r[3], r[4], r[5]], [r[6], r[7], r[8]]);
  const ahead = dot(add(scene.center, v.position, -1), rotate(q, [0, 0, 1]));
  /* on an upright screen more of the height, so that most of the width can be seen */
  const wide = Math.min(Math.max(v.width / v.height * area().height / area().width, 1), 1.5);
  const fov = 2 * Math.atan(wide * Math.tan(v.fov_y * Math.PI / 360)) * 180 / Math.PI;
  return { position: v.position, q, fov, pivot: Math.max(ahead, 0.2 * scene.radius) };
}
function orbit(dx, dy) {
  const target = add(camera.position, forward(), camera.pivot);
  const q = multiply(turn(up(), -dx), turn(right(), dy));
  camera.q = multiply(q, camera.q);
  camera.position = add(target, forward(), -camera.pivot);
  moved();
}
function look(dx, dy) { camera.q = multiply(multiply(turn(up(), -dx), turn(right(), dy)), camera.q); moved(); }
function roll(angle) { camera.q = multiply(turn(forward(), angle), camera.q); moved(); }
function shift(dx, dy) {
  camera.position = add(add(camera.position, right(), -dx * camera.pivot), down(), -dy * camera.pivot);
  moved();
}
function zoom(factor) {
  const target = add(camera.position, forward(), camera.pivot);
  camera.pivot = Math.min(Math.max(camera.pivot * factor, 1e-3 * scene.radius), 1e3 * scene.radius);
  camera.position = add(target, forward(), -camera.pivot);
  moved();
}
function goTo(index) {
  if (!scene.views.length) return;
  view = (index + scene.views.length) % scene.views.length;
  camera = ofView(scene.views[view]);
  $('view').value = String(view);
  changed(false);
}

