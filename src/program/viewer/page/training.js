/* ---------------------------------------------------------------- the training: figures, curves, commands */
let training = {}, curves = { points: [], measured: [] }, stages = -1;
const duration = s => s >= 3600 ? `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min` :
  s >= 60 ? `${Math.floor(s / 60)} min` : `${Math.round(s)} s`;
const bytes = n => n >= 2 ** 30 ? (n / 2 ** 30).toFixed(2) + ' GiB' : (n / 2 ** 20).toFixed(n < 2 ** 24 ? 1 : 0) + ' MiB';
const short = n => n >= 1e6 ? (n / 1e6).toPrecision(3) + ' M' : n >= 1e4 ? (n / 1e3).toPrecision(3) + ' k' : String(n);

async function fetchCurves() {
  const answer = await fetch('/api/curves' + query);
  if (answer.ok) curves = await answer.json();
  drawCurves();
}
/* Texts tell what is now; the curves before were fetched once. */
function addToCurves() {
  const { points, measured } = curves, last = points[points.length - 1], t = training;
  if (t.iteration && (!last || t.iteration > last[0])) points.push([t.iteration, t.loss, t.gaussians]);
  if (points.length > 2000) curves.points = points.filter((_, i) => i % 2 === 0);
  if (t.psnr_iteration && !measured.some(m => m[1] && m[0] === t.psnr_iteration))
    measured.push([t.psnr_iteration, true, t.psnr, 0]);
}
function onStatus(status) {
  training = status;
  saved = status.saved ?? null;
  savedChanged();
  if (status.over) {
    ended = true;
    if (loaded && !exploring) setExploring(true); /* that much is left */
    $('message').classList.add('ended'); /* the last picture stays to be seen */
    say(['The program has ended.', status.result, status.note].filter(text => text).join(' '));
  }
  if (status.stages !== stages) {
    const first = stages < 0;
    stages = status.stages;
    curves = { points: [], measured: [] };
    fetchCurves().catch(() => {});
    if (!first) fetchScene().then(() => changed(false)).catch(() => {});
    if (status.trains && first && innerWidth > 1000) $('more').click();
  }
  $('training').hidden = !status.stage;
  addToCurves();
  $('stage').textContent = status.stage;
  $('steps').textContent = status.trains || status.result ? `${status.iteration} of ${status.iterations}` : '';
  $('done').value = status.iterations ? status.iteration / status.iterations : 0;
  $('figures').textContent = status.result ? status.result : !status.trains ? 'This stage trains nothing; the picture is the last one.' :
    (status.paused ? 'paused' : status.rate ? `${status.rate.toPrecision(3)} steps/s, ${duration(status.left)} left` : 'starting') +
    (status.clients > 1 ? ` · ${status.clients} pages` : '');
  $('pause').textContent = status.paused ? 'go on' : 'pause';
  for (const id of ['pause', 'save', 'stop']) $(id).disabled = !status.trains;
  $('note').textContent = status.note;
  $('memory').hidden = !status.memory.length;
  $('memory').firstElementChild.textContent = 'memory ' + bytes(status.bytes);
  $('memory').lastElementChild.replaceChildren(...status.memory.map(([owner, name, n]) => {
    const row = document.createElement('tr');
    for (const text of [owner ? owner + ': ' + name : name, bytes(n)]) row.insertCell().textContent = text;
    return row;
  }));
  document.body.dataset.step = status.iteration;
  drawCurves();
}

/* A line of [x, y], and dots; the least and greatest y stand at the left. */
function drawCurve(id, series, format) {
  const canvas = $(id), scale = pixelScale(), w = canvas.clientWidth, h = canvas.clientHeight, g = canvas.getContext('2d');
  canvas.width = w * scale; canvas.height = h * scale;
  const all = series.flatMap(s => s.points), ys = all.map(p => p[1]), last = series[0].points[series[0].points.length - 1];
  canvas.parentElement.hidden = !all.length;
  $(id + '-now').textContent = last ? format(last[1]) : '';
  if (!all.length || !w) return;
  let low = Infinity, high = -Infinity;
  for (const y of ys) { low = Math.min(low, y); high = Math.max(high, y); }
  const end = Math.max(training.iteration || 1, ...all.slice(-1).map(p => p[0]));
  const x = p => 4 + (w - 8) * p[0] / end, y = p => h - 6 - (h - 12) * (p[1] - low) / (high - low || 1);
  g.scale(scale, scale);
  for (const { points, color, dots } of series) {
    g.strokeStyle = g.fillStyle = color;
    g.lineWidth = 1.5;
    polyline(g, points.map(p => [x(p), y(p)]));
    if (dots) for (const p of points) g.fillRect(x(p) - 2, y(p) - 2, 4, 4);
  }
  g.fillStyle = '#b7b3ad';
  g.font = '10px system-ui, sans-serif';
  g.fillText(format(high), 4, 10);
  g.fillText(format(low), 4, h - 3);
}
function drawCurves() {
  if ($('side').hidden || $('training').hidden) return;
  const of = k => curves.points.map(p => [p[0], p[k]]).filter(p => p[1] !== null && p[1] > 0);
  const psnr = test => curves.measured.filter(m => m[1] === test && m[2] !== null).map(m => [m[0], m[2]]);
  drawCurve('loss', [{ points: of(1), color: '#6fc3ff' }], v => v.toPrecision(3));
  drawCurve('count', [{ points: of(2), color: '#8fd694' }], short);
  drawCurve('psnr', [{ points: psnr(true), color: '#ffb14e', dots: true }], v => v.toFixed(2));
}

$('pause').onclick = () => { if (training.trains) send({ do: training.paused ? 'go on' : 'pause' }); };
$('save').onclick = () => send({ do: 'save' });
let sure = 0;
$('stop').onclick = () => { /* twice, as it ends a run that others may look at */
  const button = $('stop');
  clearTimeout(sure);
  if (button.classList.contains('sure')) send({ do: 'stop' });
  const on = button.classList.toggle('sure');
  button.textContent = on ? 'save and end?' : 'stop';
  sure = on ? setTimeout(() => { button.classList.remove('sure'); button.textContent = 'stop'; }, 4000) : 0;
};
