/* ---------------------------------------------------------------- the saved splat, drawn by the browser */
let saved = null; /* the one that the program has; null: none */
let explorer = null, loaded = null; /* loaded: {about, size} of what the drawer shows, which stays when the program ends */
let exploring = false, fetching = null; /* fetching: an AbortController */
const megabytes = n => (n / 1e6).toFixed(n < 1e7 ? 1 : 0) + ' MB';
const stepOf = about => about.iteration ? ' of step ' + about.iteration : '';

function savedChanged() {
  const isOld = loaded && saved && loaded.about.number !== saved.number;
  $('explore').hidden = !(saved && saved.explore) && !loaded;
  $('explore').textContent = fetching ? 'cancel' : 'explore';
  toggle($('explore'), exploring);
  $('newer').hidden = !exploring || !isOld || fetching !== null;
  if (isOld) $('newer').title = `the splat${stepOf(saved)} was saved since`;
}
async function readAll(answer, progress) {
  const size = Number(answer.headers.get('Content-Length')), bytes = new Uint8Array(size), reader = answer.body.getReader();
  for (let n = 0; ;) {
    const { done, value } = await reader.read();
    if (done && n < size) throw new Error('it did not arrive whole');
    if (done) return bytes;
    bytes.set(value, n);
    progress(n += value.length, size);
  }
}
async function fetchSaved(signal) {
  $('status').textContent = 'the program packs its splat';
  const answer = await fetch('/api/splat' + query, { signal });
  if (!answer.ok) throw new Error(await answer.text());
  const about = JSON.parse(answer.headers.get('X-Splat'));
  const bytes = await readAll(answer, (n, size) => {
    $('status').textContent = `the splat${stepOf(about)}: ${megabytes(n)} of ${megabytes(size)}`;
  });
  if (!explorer) {
    const { Explorer } = await import('/explore.js' + query);
    explorer = new Explorer($('explored'), exploreStatus);
  }
  signal.throwIfAborted();
  const size = bytes.length;
  await explorer.show(bytes, about);
  loaded = { about, size };
}
async function getSaved() {
  fetching = new AbortController();
  savedChanged();
  try {
    await fetchSaved(fetching.signal);
    setExploring(true);
  } catch (problem) {
    $('status').textContent = fetching.signal.aborted ? 'the splat was not fetched' : 'no splat to explore: ' + problem.message;
  }
  fetching = null;
  savedChanged();
}
function exploreStatus() {
  showHint();
  const { about, size } = loaded;
  $('status').textContent = `${about.gaussians.toLocaleString('en')} Gaussians${stepOf(about)} · ${megabytes(size)} · drawn ` +
    'by this browser' + ($('message').textContent ? ' · ' + $('message').textContent : '');
  document.body.dataset.explored = Number(document.body.dataset.explored || 0) + 1;
}
function setExploring(on) {
  if (on) { unlock(); view = -1; $('view').value = ''; what = $('what').value = 'color'; }
  exploring = on;
  $('explored').hidden = !on;
  send({ sees: !on && !document.hidden }); /* the program need not render what nobody sees */
  say($('message').textContent);
  savedChanged();
  changed(false);
}
/* In place of asking the program for a picture. False: what is wanted only the program has. */
function explore() {
  if (what !== 'color' || isLocked()) {
    setExploring(false);
    return false;
  }
  const scale = pixelScale();
  explorer.crop(box);
  explorer.draw({ width: Math.floor(area().width * scale), height: Math.floor(area().height * scale),
    position: camera.position, q: camera.q, fov: camera.fov, far: 1e4 * scene.radius });
  return true;
}
$('explore').onclick = () => {
  if (fetching) fetching.abort();
  else if (exploring) setExploring(false);
  else if (loaded && (ended || !saved || loaded.about.number === saved.number)) setExploring(true);
  else getSaved();
  surface.focus();
};
$('newer').onclick = () => { getSaved(); surface.focus(); };
