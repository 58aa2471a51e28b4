/* ---------------------------------------------------------------- start */
const nearestView = () => scene.views.reduce((best, v, i) => {
  const d = Math.hypot(...add(v.position, camera.position, -1)) + scene.radius * (1 - dot(v.rotation.slice(6), forward()));
  return d < best.d ? { i, d } : best;
}, { i: 0, d: Infinity }).i;

/* Outside the points and most of the cameras, from above; behind the cameras, where they look one way. */
function fromOutside() {
  const u = up(), level = v => add(v, u, -dot(v, u));
  const away = scene.views.map(v => Math.hypot(...add(v.position, scene.center, -1))).sort((a, b) => a - b);
  const reach = Math.max(0.75 * scene.radius, 1.05 * (away[Math.floor(0.9 * away.length)] || 0));
  const mean = scene.views.reduce((sum, v) => add(sum, v.rotation.slice(6), 1 / scene.views.length), [0, 0, 0]);
  const ahead = Math.hypot(...level(mean)) > 0.3 ? mean : scene.views.length ? scene.views[0].rotation.slice(6) : [0, 0, 1];
  const half = Math.atan(Math.tan(25 * Math.PI / 180) * Math.min(1, area().width / area().height));
  const along = unit(add(unit(level(ahead)), u, -0.6));
  return lookFrom(add(scene.center, along, -reach / Math.sin(half)), scene.center);
}

let placed = false; /* the camera stands where the scene says, or a hand has led it */
async function fetchScene() {
  const answer = await fetch('/api/scene' + query);
  if (!answer.ok) throw new Error(await answer.text());
  const told = await answer.json(); /* {}: nothing is shown yet */
  scene = { views: [], center: [0, 0, 0], radius: 1, up: [0, 0, 0], ...told };
  if (scene.title) { $('title').textContent = scene.title; document.title = scene.title + ' - Splatsmith'; }
  while ($('view').options.length > 1) $('view').remove(1);
  scene.views.forEach((v, i) => $('view').add(new Option(v.name + (v.test ? ' (test)' : ''), i)));
  if (view >= scene.views.length) { unlock(); view = -1; }
  $('view').value = view < 0 ? '' : String(view);
  for (const id of ['view', 'cameras', 'beside']) $(id).hidden = !scene.views.length;
  for (const option of $('what').options) {
    const kinds = scene.kinds ?? ['color', 'depth', 'normal', 'alpha', 'density'];
    option.hidden = option.disabled = option.value === 'error' ? !scene.views.length : !kinds.includes(option.value);
    if (option.disabled && option.value === what) what = $('what').value = 'color';
  }
  measureFrustums();
  if (scene.points) start = fromOutside();
  else if (scene.views.length) start = ofView(scene.views[0]);
  else {
    const u = up(), side = Math.abs(u[0]) < 0.9 ? cross(u, [1, 0, 0]) : cross(u, [0, 1, 0]);
    start = lookFrom(add(add(scene.center, unit(side), 1.6 * scene.radius), u, 0.4 * scene.radius), scene.center);
  }
  if (!placed) camera = { ...start };
  if (!placed && scene.points && !withCameras) $('cameras').click();
  placed = told.center !== undefined;
  $('first').textContent = placed ? 'The first picture is being drawn.' : 'There is no picture yet.';
}
async function begin() {
  await fetchScene();
  const kept = await fetch('/api/path' + query);
  const path = kept.ok ? await kept.text() : '{}';
  if (path !== '{}') readPath(path);
  connect();
}
begin().catch(problem => { say(problem.message || 'The program does not answer.'); setTimeout(() => location.reload(), 5000); });
