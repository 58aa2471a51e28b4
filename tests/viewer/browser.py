"""A page in headless Chromium, driven over the DevTools protocol, and WebSockets: the standard library alone."""
import base64, json, os, shutil, signal, socket, struct, subprocess, tempfile, time, urllib.parse, zlib


class WebSocket:
    """A client of one WebSocket; texts and bytes come back from receive()."""

    def __init__(self, url, headers=(), timeout=60):
        parts = urllib.parse.urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as browsers do
        self.left = b''
        path = parts.path + ('?' + parts.query if parts.query else '')
        lines = [f'GET {path} HTTP/1.1', f'Host: {parts.netloc}', 'Upgrade: websocket', 'Connection: Upgrade',
                 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Version: 13', *headers, '', '']
        self.socket.sendall('\r\n'.join(lines).encode())
        while b'\r\n\r\n' not in self.left:
            got = self.socket.recv(4096)
            if not got:
                raise ConnectionError('closed before the answer')
            self.left += got
        answer, self.left = self.left.split(b'\r\n\r\n', 1)
        if b' 101 ' not in answer.split(b'\r\n')[0]:
            self.close()
            raise ConnectionError(answer.split(b'\r\n')[0].decode())

    def close(self):
        self.socket.close()

    def send(self, data, opcode=1):
        data = data.encode() if isinstance(data, str) else data
        n = len(data)
        head = bytes([0x80 | opcode]) + (bytes([0x80 | n]) if n < 126 else bytes([0xfe]) + struct.pack('>H', n)
                                         if n < 65536 else bytes([0xff]) + struct.pack('>Q', n))
        self.socket.sendall(head + bytes(4) + data)  # a mask of zeros

    def _read(self, n):
        while len(self.left) < n:
            got = self.socket.recv(1 << 16)
            if not got:
                raise ConnectionError('closed')
            self.left += got
        out, self.left = self.left[:n], self.left[n:]
        return out

    def receive(self):
        """(opcode, payload) of the next message."""
        message, kind = b'', 0
        while True:
            first, second = self._read(2)
            n = second & 127
            if n > 125:
                n = struct.unpack('>H' if n == 126 else '>Q', self._read(2 if n == 126 else 8))[0]
            payload, opcode = self._read(n), first & 15
            if opcode == 9:
                self.send(payload, 10)
            elif opcode == 8:
                raise ConnectionError('closed')
            elif opcode in (0, 1, 2):
                message, kind = message + payload, opcode or kind
                if first & 128:
                    return kind, message


def find_chromium():
    """The path of the browser, or '' if there is none."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'find_browser.sh')
    return subprocess.run([script], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


class Browser:
    """Chromium without a screen; pages share it, each in a window of its own. webgl: drawn by the CPU."""

    def __init__(self, webgl=False):
        self.folder = tempfile.mkdtemp(prefix='viewer-chromium-')
        graphics = ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'] if webgl else \
            ['--disable-gpu']
        flags = ['--headless', '--no-sandbox', *graphics, '--disable-dev-shm-usage', '--no-first-run',
                 '--disable-background-networking', '--disable-component-update', '--disable-sync',
                 '--hide-scrollbars', '--remote-debugging-port=0', '--user-data-dir=' + self.folder, 'about:blank']
        self.process = subprocess.Popen([find_chromium(), *flags], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        text=True, start_new_session=True)
        self.url = next(line.split('listening on ')[1].strip() for line in self.process.stderr
                        if 'listening on ' in line)
        self.host = urllib.parse.urlsplit(self.url).netloc
        print('browser:', self.process.args[0])

    def new_window(self):
        """The address of a page in a new window. The tabs of one window hide each other, and a hidden page gets no
        pictures; a browser that has no windows, as chromium-headless-shell, shows every page."""
        control = WebSocket(self.url)
        control.send(json.dumps({'id': 1, 'method': 'Target.createTarget',
                                 'params': {'url': 'about:blank', 'newWindow': True}}))
        target = json.loads(control.receive()[1])['result']['targetId']
        control.close()
        return f'ws://{self.host}/devtools/page/{target}'

    def page(self, url, width, height, phone=False):
        return Page(self, url, width, height, phone)

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)  # what is called Chromium may be a script that starts it
        self.process.wait(30)
        self.process.stderr.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Page:
    def __init__(self, browser, url, width, height, phone=False):
        self.socket = WebSocket(browser.new_window())
        self.number, self.problems = 0, []
        self.call('Page.enable')
        self.call('Runtime.enable')
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1,
                  mobile=phone)
        if phone:
            self.call('Emulation.setTouchEmulationEnabled', enabled=True)
        self.call('Page.navigate', url=url)

    def call(self, method, **params):
        self.number += 1
        self.socket.send(json.dumps({'id': self.number, 'method': method, 'params': params}))
        while True:
            message = json.loads(self.socket.receive()[1])
            if message.get('method') == 'Runtime.exceptionThrown':
                self.problems.append(json.dumps(message['params']['exceptionDetails'])[:600])
            if message.get('id') != self.number:
                continue
            if 'error' in message:
                raise RuntimeError(f"{method}: {message['error']['message']}")
            return message['result']

    def value(self, expression):
        """The value of a JavaScript expression in the page; promises are awaited."""
        result = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(f"{expression}: {json.dumps(result['exceptionDetails'])[:400]}")
        return result['result'].get('value')

    def until(self, expression, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                value = self.value(expression)
            except RuntimeError:  # the page is not ready
                value = None
            if value:
                return value
            time.sleep(0.03)
        raise TimeoutError(f'{expression}; the page says: ' + str(self.value(
            "document.body && document.body.innerText.slice(0, 600)")) + ' '.join(self.problems))

    def mouse(self, kind, x, y, button='none', **more):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button=button, clickCount=1 if button != 'none' else 0,
                  **more)

    def drag(self, x, y, dx, dy, steps=6, pause=0.03):
        self.mouse('mousePressed', x, y, 'left', buttons=1)
        for i in range(1, steps + 1):
            self.mouse('mouseMoved', x + dx * i / steps, y + dy * i / steps, 'left', buttons=1)
            time.sleep(pause)
        self.mouse('mouseReleased', x + dx, y + dy, 'left')

    def touch(self, *moments):
        """Fingers from moment to moment, each a list of (x, y); lifted at the end."""
        for i, fingers in enumerate(moments):
            points = [{'x': x, 'y': y, 'id': n} for n, (x, y) in enumerate(fingers)]
            self.call('Input.dispatchTouchEvent', type='touchMove' if i else 'touchStart', touchPoints=points)
        self.call('Input.dispatchTouchEvent', type='touchEnd', touchPoints=[])

    def key(self, key, seconds=0.0):
        self.call('Input.dispatchKeyEvent', type='keyDown', key=key, text=key if len(key) == 1 else '')
        time.sleep(seconds)
        self.call('Input.dispatchKeyEvent', type='keyUp', key=key)

    def click(self, id):
        self.value(f"document.getElementById('{id}').click()")

    def screenshot(self, file=None, kind='png', quality=85):
        more = {'quality': quality} if kind == 'jpeg' else {}
        data = base64.b64decode(self.call('Page.captureScreenshot', format=kind, **more)['data'])
        if file:
            with open(file, 'wb') as out:
                out.write(data)
        return data

    def close(self):
        self.socket.close()


def read_png(data):
    """(width, height, rows of RGB bytes) of a PNG of 8 bits."""
    at, packed, size = 8, b'', None
    while at < len(data):
        n, kind = struct.unpack('>I4s', data[at:at + 8])
        if kind == b'IHDR':
            size = struct.unpack('>IIBB', data[at + 8:at + 18])
        if kind == b'IDAT':
            packed += data[at + 8:at + 8 + n]
        at += 12 + n
    width, height, depth, color = size
    assert depth == 8 and color in (2, 6), (depth, color)
    c = 3 if color == 2 else 4
    raw, stride, rows, before = zlib.decompress(packed), width * c, [], bytes(width * c)
    for y in range(height):
        kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride if kind else 0):
            a, b, d = (line[i - c] if i >= c else 0), before[i], (before[i - c] if i >= c else 0)
            if kind == 1:
                p = a
            elif kind == 2:
                p = b
            elif kind == 3:
                p = (a + b) // 2
            else:
                pa, pb, pd = abs(b - d), abs(a - d), abs(a + b - 2 * d)
                p = a if pa <= pb and pa <= pd else b if pb <= pd else d
            line[i] = (line[i] + p) & 255
        before = bytes(line)
        rows.append(before if c == 3 else bytes(v for i, v in enumerate(before) if i % 4 != 3))
    return width, height, rows
