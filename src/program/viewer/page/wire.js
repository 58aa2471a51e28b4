/* ---------------------------------------------------------------- the wire */
let socket = null, seq = 0, stillTimer = 0, shown = null, ended = false;
const asked = new Map(); /* when, by seq */
/* A picture that the browser draws itself stays visible: the message then goes to its status line. */
function say(text) { $('message').textContent = text; $('message').hidden = !text || exploring; if (exploring) exploreStatus(); }
const send = message => { if (socket && socket.readyState === 1) socket.send(JSON.stringify(message)); };

/* Pictures that belong to a view of the scene are made with its own camera, and shown whole. */
let beside = false, photo = null; /* photo: {view, bitmap}, the last one */
const isLocked = () => view >= 0 && (beside || what === 'error');
const wantsPhoto = () => beside && view >= 0 && !(photo && photo.view === view);
function unlock() {
  beside = false;
  toggle($('beside'), false);
  if (what === 'error') { what = 'color'; $('what').value = what; }
}
const isUpright = () => area().height > area().width;

/* Newest camera wins at the server, so every change is sent; the full picture follows when nothing moves. */
function ask(moving) {
  if (exploring && explore()) return;
  const scale = pixelScale();
  let w = area().width * scale, h = area().height * scale;
  if (beside) { if (isUpright()) h /= 2; else w /= 2; }
  const limit = Math.min(1, 4096 / Math.max(w, h), Math.sqrt(3840 * 2160 / (w * h)) * 0.999);
  w = Math.max(16, Math.floor(w * limit)); h = Math.max(16, Math.floor(h * limit));
  const message = { camera: { seq: ++seq, position: camera.position, quaternion: camera.q,
    fov_y: Math.min(160, Math.max(1, camera.fov)) }, size: [w, h], what, moving };
  if (isLocked()) { message.view = view; message.moving = false; if (wantsPhoto()) message.what = 'photo'; }
  if (box) message.box = [...box.low, ...box.high];
  asked.set(seq, performance.now());
  send(message);
}
let due = false, sent = 0;
function changed(moving) {
  clearTimeout(stillTimer);
  stillTimer = moving ? setTimeout(() => { stillTimer = 0; ask(false); }, 180) : 0;
  if (!due) { /* at most one camera a frame of the screen, and 83 a second */
    due = true;
    const tick = now => {
      if (now - sent < 12) return requestAnimationFrame(tick); /* fast screens would pass the server's limit */
      due = false; sent = now; ask(stillTimer !== 0); drawLines();
    };
    requestAnimationFrame(tick);
  }
}
function moved() {
  if (view >= 0) { unlock(); view = -1; $('view').value = ''; }
  changed(true);
}

/* Draws the picture alone, or with its photo: left and right, on a phone above and below. */
function draw(bitmap) {
  const canvas = $('picture'), pair = isLocked() && beside && photo && photo.view === view, gap = 4;
  const upright = isUpright(), w = bitmap.width, h = bitmap.height;
  canvas.width = pair && !upright ? 2 * w + gap : w;
  canvas.height = pair && upright ? 2 * h + gap : h;
  canvas.classList.toggle('whole', isLocked());
  labelPair(pair, upright, w, h, gap);
  const g = canvas.getContext('2d');
  if (pair) g.drawImage(photo.bitmap, 0, 0, w, h);
  g.drawImage(bitmap, pair && !upright ? w + gap : 0, pair && upright ? h + gap : 0);
}
function subject() {
  const count = (n, one, more) => `${n.toLocaleString('en')} ${n === 1 ? one : more}`;
  if (scene.points) return `${count(scene.points, 'point', 'points')}, ${count(scene.views.length, 'camera', 'cameras')} · `;
  if (scene.faces) return count(scene.faces, 'face', 'faces') + ' · ';
  const n = training.gaussians || scene.gaussians;
  return n === undefined ? '' : count(n, 'Gaussian', 'Gaussians') + ' · ';
}
async function onPicture(data) {
  const head = new DataView(data, 0, 20), number = head.getUint32(4, true), kind = head.getUint16(16, true);
  const bitmap = await createImageBitmap(new Blob([new Uint8Array(data, 20)], { type: 'image/jpeg' }));
  send({ ack: number });
  const began = asked.get(number);
  for (const old of asked.keys()) if (old < number) asked.delete(old);
  if (kind === 6) { /* a photo: its picture is asked for next */
    if (photo) photo.bitmap.close();
    photo = { view, bitmap };
    if (beside) ask(false);
    return;
  }
  if (exploring) return bitmap.close(); /* it was on its way */
  draw(bitmap);
  if (!shown) showHint();
  shown = { seq: number, w: bitmap.width, h: bitmap.height, step: head.getUint32(8, true),
    full: head.getUint16(18, true) & 1, ms: began ? Math.round(performance.now() - began) : null };
  asked.delete(number); /* one that comes again, as the splat has changed, was not asked for */
  bitmap.close();
  $('status').textContent = `${subject()}${shown.w} x ${shown.h}` +
    `${shown.step ? ' · step ' + shown.step : ''}${shown.ms === null ? '' : ' · ' + shown.ms + ' ms'}`;
  document.body.dataset.shown = shown.full ? 'full' : 'small';
}
function connect() {
  socket = new WebSocket((location.protocol === 'https:' ? 'wss://' : 'ws://') + location.host + '/ws' + query);
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => { say(''); send({ sees: !document.hidden && !exploring }); changed(false); };
  socket.onmessage = event => {
    if (event.data instanceof ArrayBuffer) onPicture(event.data).catch(() => {});
    else onStatus(JSON.parse(event.data).status);
  };
  socket.onclose = () => {
    if (ended) return;
    say('The program does not answer: it has ended, or too many pages look. Trying again.');
    setTimeout(connect, 2000);
  };
}
document.addEventListener('visibilitychange', () => { send({ sees: !document.hidden && !exploring }); if (!document.hidden) changed(false); });
