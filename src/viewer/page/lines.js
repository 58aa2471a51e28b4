/* ---------------------------------------------------------------- what is drawn over the picture */
let withCameras = false;
const pixelScale = () => window.devicePixelRatio || 1;
/* What the picture has of the page, from its upper left corner on. */
const area = () => ({ width: $('picture').offsetWidth, height: $('picture').offsetHeight });
/* Of a point in the world, in pixels of the page; null: behind the camera. */
function project(p) {
  const { width, height } = area(), f = height / 2 / Math.tan(camera.fov * Math.PI / 360),
    d = add(p, camera.position, -1), z = dot(d, forward());
  return z > 1e-3 * scene.radius ? [width / 2 + f * dot(d, right()) / z, height / 2 + f * dot(d, down()) / z] : null;
}
function polyline(g, points) {
  if (points.some(p => !p)) return;
  g.beginPath();
  points.forEach((p, i) => i ? g.lineTo(...p) : g.moveTo(...p));
  g.stroke();
}
function drawFrustum(g, v, size) {
  const y = Math.tan(v.fov_y * Math.PI / 360), x = y * v.width / v.height, r = v.rotation;
  const corner = (a, b) => project([0, 1, 2].map(k => v.position[k] + size * (a * x * r[k] + b * y * r[3 + k] + r[6 + k])));
  const apex = project(v.position), c = [corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)];
  polyline(g, [...c, c[0]]);
  for (const p of c) polyline(g, [apex, p]);
}
function drawLines() {
  const canvas = $('lines'), scale = pixelScale(), g = canvas.getContext('2d');
  canvas.width = area().width * scale; canvas.height = area().height * scale;
  if (isLocked()) return;
  g.scale(scale, scale);
  g.lineWidth = 1;
  if (withCameras) scene.views.forEach((v, i) => {
    g.strokeStyle = v.test ? '#ffb14e' : '#6fc3ff';
    if (i !== view) drawFrustum(g, v, 0.04 * scene.radius);
  });
  drawBox(g);
  drawPath(g);
}
