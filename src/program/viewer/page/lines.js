/* ---------------------------------------------------------------- what is drawn over the picture */
let withCameras = false;
const pixelScale = () => window.devicePixelRatio || 1;
/* The size of the picture on the page. */
const area = () => ({ width: $('picture').offsetWidth, height: $('picture').offsetHeight });
/* The place of a point in the world, in pixels of the page; null: behind the camera. */
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
/* How far a frustum reaches: cameras next to each other stay apart. */
let frustumSize = 0;
function measureFrustums() {
  const views = scene.views, every = Math.ceil(views.length / 200) || 1;
  const nearest = views.filter((_, i) => i % every === 0).map(v => views.reduce((least, w) =>
    w === v ? least : Math.min(least, Math.hypot(...add(v.position, w.position, -1))), Infinity)).sort((a, b) => a - b);
  frustumSize = Math.min(0.04 * scene.radius, 0.4 * (nearest[nearest.length >> 1] || Infinity));
}
/* A camera near the eye is drawn smaller: none covers more than a fifth of the picture. */
function drawCamera(g, v) {
  const depth = dot(add(v.position, camera.position, -1), forward());
  if (depth > 0.01 * scene.radius) drawFrustum(g, v, Math.min(frustumSize, 0.06 * depth));
}
/* In the upper left corner of the photo and of the picture; w, h: the size of each in pixels of the canvas. */
function labelPair(pair, upright, w, h, gap) {
  const canvas = $('picture'), { width, height } = area(), top = parseFloat(getComputedStyle(canvas).paddingTop);
  const scale = Math.min(width / canvas.width, (height - top) / canvas.height);
  const left = (width - scale * canvas.width) / 2, above = top + (height - top - scale * canvas.height) / 2;
  const place = (id, dx, dy) => {
    $(id).hidden = !pair;
    $(id).style.left = `${left + scale * dx + 8}px`;
    $(id).style.top = `${above + scale * dy + 8}px`;
  };
  place('photo-label', 0, 0);
  place('picture-label', upright ? 0 : w + gap, upright ? h + gap : 0);
}
function drawLines() {
  const canvas = $('lines'), scale = pixelScale(), g = canvas.getContext('2d');
  canvas.width = area().width * scale; canvas.height = area().height * scale;
  if (isLocked()) return;
  for (const id of ['photo-label', 'picture-label']) $(id).hidden = true;
  g.scale(scale, scale);
  g.lineWidth = 1;
  if (withCameras) scene.views.forEach((v, i) => {
    g.strokeStyle = v.test ? '#ffb14e' : '#6fc3ff';
    if (i !== view) drawCamera(g, v);
  });
  drawBox(g);
  drawPath(g);
}
