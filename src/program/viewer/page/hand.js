/* ---------------------------------------------------------------- mouse, touch, keyboard */
const pointers = new Map(), surface = $('picture');
/* With the first picture; gone with the first drag. */
function showHint() { $('first').hidden = true; $('hint').hidden = false; }
function hideHint() { $('hint').classList.add('gone'); }
new ResizeObserver(() => document.body.style.setProperty('--bar', $('bar').offsetHeight + 'px')).observe($('bar'));
let grabbed = -1; /* the side of the crop box that is dragged */
surface.addEventListener('pointerdown', e => { surface.setPointerCapture(e.pointerId); surface.focus();
  grabbed = pointers.size ? -1 : handleAt(e.clientX, e.clientY, e.pointerType === 'touch' ? 26 : 12);
  pointers.set(e.pointerId, [e.clientX, e.clientY]); });
for (const end of ['pointerup', 'pointercancel'])
  surface.addEventListener(end, e => { pointers.delete(e.pointerId); grabbed = -1; });
surface.addEventListener('pointermove', e => {
  const last = pointers.get(e.pointerId);
  if (!last) { surface.style.cursor = handleAt(e.clientX, e.clientY, 12) >= 0 ? 'grab' : ''; return; }
  const dx = e.clientX - last[0], dy = e.clientY - last[1], pixel = 2 * Math.tan(camera.fov * Math.PI / 360) / area().height;
  if (grabbed >= 0) dragHandle(grabbed, dx, dy);
  else if (pointers.size === 2) {
    const other = [...pointers].find(([id]) => id !== e.pointerId)[1];
    const before = Math.hypot(last[0] - other[0], last[1] - other[1]);
    const after = Math.hypot(e.clientX - other[0], e.clientY - other[1]);
    shift(dx * pixel / 2, dy * pixel / 2);
    if (before > 8 && after > 8) zoom(before / after);
  } else if (e.buttons & 2 || e.shiftKey) shift(dx * pixel, dy * pixel);
  else orbit(dx * 0.006, -dy * 0.006);
  hideHint();
  pointers.set(e.pointerId, [e.clientX, e.clientY]);
});
surface.addEventListener('contextmenu', e => e.preventDefault());
surface.addEventListener('wheel', e => { e.preventDefault(); hideHint(); zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 500)))); },
  { passive: false });

const held = new Set();
let flying = 0;
function fly(now) {
  const seconds = Math.min(0.1, (now - flying) / 1000), on = key => held.has(key);
  flying = [...held].some(key => key !== 'shift') ? now : 0;
  if (!flying) return;
  const step = seconds * 0.5 * scene.radius * (on('shift') ? 4 : 1);
  let p = camera.position;
  p = add(p, forward(), step * (on('w') - on('s')));
  p = add(p, right(), step * (on('d') - on('a')));
  p = add(p, down(), step * (on('q') - on('e')));
  camera.position = p;
  look(seconds * (on('arrowleft') - on('arrowright')) * -1, seconds * (on('arrowup') - on('arrowdown')));
  if (on('z') || on('c')) roll(seconds * (on('c') - on('z')));
  requestAnimationFrame(fly);
}
const shortcuts = { f: 'cameras', r: 'reset', '?': 'keys', v: 'beside', t: 'more', b: 'box', k: 'key-add', x: 'explore' };
const flyKeys = new Set(['w', 'a', 's', 'd', 'q', 'e', 'z', 'c', 'arrowleft', 'arrowright', 'arrowup', 'arrowdown']);
addEventListener('keydown', e => {
  const key = e.key.toLowerCase(), kinds = $('what').options;
  if (['SELECT', 'INPUT'].includes(e.target.tagName) || e.ctrlKey || e.metaKey || e.altKey) return;
  if (key === 'shift') held.add(key);
  else if (flyKeys.has(key)) {
    e.preventDefault();
    held.add(key);
    if (!flying) { flying = performance.now(); requestAnimationFrame(fly); }
  } else if (key === '[') goTo(view - 1);
  else if (key === ']') goTo(view + 1);
  else if (shortcuts[key]) { if (!$(shortcuts[key]).hidden) $(shortcuts[key]).click(); }
  else if (key === ' ' && e.target.tagName !== 'BUTTON') { e.preventDefault(); $('pause').click(); }
  else if (key >= '1' && key <= String(kinds.length) && !kinds[key - 1].disabled) { $('what').selectedIndex = key - 1; $('what').onchange(); }
});
addEventListener('keyup', e => held.delete(e.key.toLowerCase()));
addEventListener('blur', () => { held.clear(); pointers.clear(); });
addEventListener('resize', () => changed(false));

$('what').onchange = () => {
  what = $('what').value;
  if (what === 'error' && view < 0) goTo(nearestView());
  else changed(false);
  surface.focus();
};
$('view').onchange = () => { if ($('view').value !== '') goTo(Number($('view').value)); surface.focus(); };
$('beside').onclick = () => { if (beside) unlock(); else { beside = true; goTo(view < 0 ? nearestView() : view); }
  toggle($('beside'), beside); changed(false); };
$('cameras').onclick = () => { withCameras = !withCameras; toggle($('cameras'), withCameras); drawLines(); };
$('reset').onclick = () => { unlock(); camera = { ...start }; view = -1; $('view').value = ''; changed(false); };
$('keys').onclick = () => { $('help').hidden = !$('help').hidden; toggle($('keys'), !$('help').hidden); };
$('more').onclick = () => { $('side').hidden = !$('side').hidden; toggle($('more'), !$('side').hidden);
  document.body.classList.toggle('with-side', !$('side').hidden); drawCurves(); changed(false); };
