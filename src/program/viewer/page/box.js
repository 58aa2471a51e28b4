/* ---------------------------------------------------------------- the crop box */
let box = null; /* {low, high}: what lies outside is not rendered; null: all is */
const sides = [[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]]; /* axis; 0 low, 1 high */
const rounded = v => Number(v.toPrecision(4));
const around = () => ({ low: scene.center.map(c => rounded(c - scene.radius)), high: scene.center.map(c => rounded(c + scene.radius)) });
const corner = bits => [0, 1, 2].map(k => bits >> k & 1 ? box.high[k] : box.low[k]);
function middle([axis, high]) {
  const p = [0, 1, 2].map(k => (box.low[k] + box.high[k]) / 2);
  p[axis] = (high ? box.high : box.low)[axis];
  return p;
}
function boxChanged(moving) {
  $('box-numbers').hidden = !box;
  toggle($('box'), box !== null);
  for (let k = 0; k < 3 && box; k++) { $('low' + k).value = box.low[k]; $('high' + k).value = box.high[k]; }
  if (box) $('box-line').replaceChildren(...[`--bboxmin=${box.low.join(',')} `, `--bboxmax=${box.high.join(',')}`].map(text => {
    const span = document.createElement('span');
    span.textContent = text;
    return span;
  }));
  changed(moving);
}
function drawBox(g) {
  if (!box) return;
  g.strokeStyle = '#f0f0f0';
  for (let a = 0; a < 8; a++) for (let k = 0; k < 3; k++)
    if (!(a >> k & 1)) polyline(g, [project(corner(a)), project(corner(a | 1 << k))]);
  sides.forEach((side, i) => {
    const p = project(middle(side));
    if (!p) return;
    g.fillStyle = ['#ff6b6b', '#8fd694', '#6fc3ff'][side[0]];
    g.beginPath(); g.arc(...p, 7, 0, 2 * Math.PI); g.fill(); g.stroke();
  });
}
/* The nearest side whose handle is within so many pixels; -1: none. */
function handleAt(x, y, reach) {
  let best = -1;
  if (!box || isLocked()) return best;
  sides.forEach((side, i) => {
    const p = project(middle(side)), d = p ? Math.hypot(p[0] - x, p[1] - y) : Infinity;
    if (d < reach) { reach = d; best = i; }
  });
  return best;
}
/* Along the side's axis as far as the pointer goes along its picture. */
function dragHandle(i, dx, dy) {
  const side = sides[i], [axis, high] = side, p = middle(side), step = 0.01 * scene.radius, q = [...p];
  q[axis] += step;
  const a = project(p), b = project(q);
  if (!a || !b) return;
  const u = [b[0] - a[0], b[1] - a[1]], length = u[0] * u[0] + u[1] * u[1];
  if (length < 1e-4) return; /* the axis points at the eye */
  const value = p[axis] + step * (dx * u[0] + dy * u[1]) / length;
  if (high) box.high[axis] = rounded(Math.max(value, box.low[axis]));
  else box.low[axis] = rounded(Math.min(value, box.high[axis]));
  boxChanged(true);
}
$('box').onclick = () => {
  box = box ? null : around();
  if (box && $('side').hidden) $('more').click();
  boxChanged(false);
};
$('box-reset').onclick = () => { box = around(); boxChanged(false); };
$('box-copy').onclick = () => {
  getSelection().selectAllChildren($('box-line'));
  if (navigator.clipboard) navigator.clipboard.writeText($('box-line').textContent).catch(() => {});
  else document.execCommand('copy');
};
for (const [axis, high] of sides) {
  const input = $((high ? 'high' : 'low') + axis);
  input.onchange = () => {
    const value = input.valueAsNumber;
    if (!box || !isFinite(value)) return boxChanged(false);
    if (high) box.high[axis] = Math.max(value, box.low[axis]);
    else box.low[axis] = Math.min(value, box.high[axis]);
    boxChanged(false);
  };
}
