/* ---------------------------------------------------------------- camera paths: docs/viewer.md, "Camera paths" */
let keyframes = [], playing = 0;
const numbersOf = k => [...k.position, ...k.quaternion, k.fov_y];

/* The camera at a time: through the keyframes, with the slope at each that of the line between its neighbours. */
function pathAt(keys, time) {
  const n = keys.length, last = n - 1;
  if (n === 1 || time <= keys[0].time) return keys[0];
  if (time >= keys[last].time) return keys[last];
  let i = 0;
  while (time >= keys[i + 1].time) i++;
  const value = (j, c) => numbersOf(keys[j])[c], length = keys[i + 1].time - keys[i].time;
  const slope = (j, c) => { const a = Math.max(j - 1, 0), b = Math.min(j + 1, last);
    return (value(b, c) - value(a, c)) / (keys[b].time - keys[a].time); };
  const t = (time - keys[i].time) / length, u = 1 - t;
  const v = [0, 1, 2, 3, 4, 5, 6, 7].map(c => u * u * (1 + 2 * t) * value(i, c) + t * t * (3 - 2 * t) * value(i + 1, c) +
    length * t * u * (u * slope(i, c) - t * slope(i + 1, c)));
  const norm = Math.hypot(v[3], v[4], v[5], v[6]);
  return { time, position: v.slice(0, 3), quaternion: v.slice(3, 7).map(x => x / norm), fov_y: v[7] };
}
/* A turn and its negative are the same: of each the one nearer to the keyframe before. */
function alignTurns(keys) {
  for (let i = 1; i < keys.length; i++) {
    const a = keys[i - 1].quaternion, b = keys[i].quaternion;
    if (a.reduce((sum, x, k) => sum + x * b[k], 0) < 0) keys[i].quaternion = b.map(x => -x);
  }
}
const pathText = () => JSON.stringify({ format: 'splatsmith camera path', version: 1, fps: 30, width: 1280, height: 720,
  keyframes }, null, 1) + '\n';
function readPath(text) {
  const path = JSON.parse(text);
  if (path.format !== 'splatsmith camera path' || !Array.isArray(path.keyframes)) throw new Error('no camera path');
  keyframes = path.keyframes.map(({ time, position, quaternion, fov_y }) => ({ time, position, quaternion, fov_y }));
  pathChanged('');
}
function show(k) { camera = { ...camera, position: k.position, q: k.quaternion, fov: k.fov_y }; moved(); }
function pathChanged(note) {
  alignTurns(keyframes);
  $('path-note').textContent = note;
  $('key-list').replaceChildren(...keyframes.map((k, i) => {
    const item = document.createElement('li'), go = document.createElement('button'), drop = document.createElement('button');
    go.textContent = k.time.toFixed(1) + ' s';
    go.onclick = () => show(keyframes[i]);
    drop.textContent = 'delete';
    drop.onclick = () => { keyframes.splice(i, 1); pathChanged(''); };
    item.append(go, drop);
    return item;
  }));
  for (const id of ['path-clear', 'path-save', 'path-keep']) $(id).disabled = !keyframes.length;
  $('path-play').disabled = keyframes.length < 2;
  drawLines();
}
function drawPath(g) {
  if (!keyframes.length || playing) return;
  g.strokeStyle = '#ff8ad8';
  const end = keyframes[keyframes.length - 1].time, begin = keyframes[0].time, n = 20 * keyframes.length;
  const points = Array.from({ length: n + 1 }, (_, i) => project(pathAt(keyframes, begin + (end - begin) * i / n).position));
  for (let i = 0; i < n; i++) polyline(g, [points[i], points[i + 1]]);
  for (const k of keyframes) {
    const axis = v => rotate(k.quaternion, v);
    drawFrustum(g, { position: k.position, fov_y: k.fov_y, width: 16, height: 9,
      rotation: [...axis([1, 0, 0]), ...axis([0, 1, 0]), ...axis([0, 0, 1])] }, 0.06 * scene.radius);
  }
}
$('key-add').onclick = () => {
  const seconds = Math.max(0.1, $('key-seconds').valueAsNumber || 2), last = keyframes[keyframes.length - 1];
  keyframes.push({ time: last ? last.time + seconds : 0, position: [...camera.position], quaternion: [...camera.q],
    fov_y: Math.min(160, Math.max(1, camera.fov)) });
  if ($('side').hidden) $('more').click();
  pathChanged('');
};
$('path-clear').onclick = () => { keyframes = []; pathChanged(''); };
$('path-play').onclick = () => {
  const began = performance.now();
  if (playing) { cancelAnimationFrame(playing); playing = 0; $('path-play').textContent = 'play'; return drawLines(); }
  $('path-play').textContent = 'halt';
  const tick = now => {
    const time = keyframes[0].time + (now - began) / 1000;
    show(pathAt(keyframes, time));
    playing = time < keyframes[keyframes.length - 1].time ? requestAnimationFrame(tick) : 0;
    if (!playing) { $('path-play').textContent = 'play'; drawLines(); }
  };
  playing = requestAnimationFrame(tick);
};
$('path-save').onclick = () => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([pathText()], { type: 'application/json' }));
  link.download = 'camera_path.json';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  $('path-note').textContent = `splatsmith render ${scene.faces ? '--mesh MESH' : '-m MODEL'} --path camera_path.json -o path.mp4`;
};
$('path-keep').onclick = async () => {
  const answer = await fetch('/api/path' + query, { method: 'POST', body: pathText() });
  $('path-note').textContent = answer.ok ? 'kept: other pages have it when they open' : await answer.text();
};
$('path-open').onchange = async () => {
  const file = $('path-open').files[0];
  if (!file) return;
  try { readPath(await file.text()); } catch (problem) { $('path-note').textContent = file.name + ': ' + problem.message; }
  $('path-open').value = '';
};
