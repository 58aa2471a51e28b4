"""Clients of the viewers in a soak: one that watches a training as people do, one that asks `view` for everything, in
order and out of it."""
import json, os, random, socket, sys, threading, time, urllib.error, urllib.parse, urllib.request
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'viewer'))
from browser import WebSocket
from sibr_client import Sibr


class Client(threading.Thread):
    """A thread that calls visit() again and again until stop(); what goes wrong there is its failure."""

    def __init__(self, name, address):
        super().__init__(daemon=True)
        self.name, self.address, self.counts, self.failure, self.over = name, address, {}, None, threading.Event()
        self.start()

    def run(self):
        while not self.over.is_set() and not self.failure:
            try:
                self.visit()
            except Exception as error:
                if not self.over.is_set():
                    self.failure = f'{type(error).__name__}: {error}'

    def stop(self):
        self.over.set()
        self.join(120)

    def count(self, what, n=1):
        self.counts[what] = self.counts.get(what, 0) + n

    def summary(self):
        return ', '.join(f'{n} {what}' for what, n in self.counts.items())

    def url(self, path):
        return self.address.replace('/?', path + '?')

    def get(self, path, code=200):
        try:
            with urllib.request.urlopen(self.url(path), timeout=120) as answer:
                data, found = answer.read(), answer.status
        except urllib.error.HTTPError as error:
            data, found = error.read(), error.code
            error.close()
        assert found == code, f'{path}: {found}, not {code}'
        self.count('requests')
        return data

    def picture(self, web, seq, what='color', size=(160, 120), view=-1):
        """Asks for a picture, and waits until it is there."""
        camera = {'seq': seq, 'position': [0.1 * (seq % 7), -2.5, 1.5], 'fov_y': 50, 'quaternion': [0.8, -0.6, 0, 0]}
        web.send(json.dumps({'camera': camera, 'size': size, 'what': what, 'moving': seq % 2 == 0, 'view': view}))
        while True:
            kind, data = web.receive()
            if kind == 2:
                break
        web.send(json.dumps({'ack': int.from_bytes(data[4:8], 'little')}))
        self.count('pictures')
        return data


class Watching(Client):
    """Looks for a while, fetches the curves, holds the training for a moment, leaves, comes again."""

    def __init__(self, address, _):
        super().__init__('client of the training', address)

    def visit(self):
        self.get('/')
        self.get('/api/scene')
        web = WebSocket(self.url('/ws'), timeout=120)
        self.count('visits')
        for seq in range(1, 21):
            self.picture(web, seq, random.choice(['color', 'depth', 'normal', 'error', 'photo']), view=seq % 20)
            if self.over.wait(0.5):
                break
        json.loads(self.get('/api/curves'))
        web.send(json.dumps({'do': 'pause'}))
        self.over.wait(0.2)
        web.send(json.dumps({'do': 'go on'}))
        if self.counts['visits'] % 2:
            web.send(b'\x03\xe8', 8)  # a page says that it goes, every other time
        web.close()
        self.over.wait(2)


class Annoyance(Client):
    """Pages, pictures, SIBR's pictures; wrong tokens, half requests, wrong messages, connections that say nothing."""

    def __init__(self, address, said):
        super().__init__('client of view', address)
        self.said = said

    def visit(self):
        random.choice([self.pages, self.pages, self.pages, self.pictures, self.sibr, self.wrong_token, self.half,
                       self.wrong_message])()
        self.over.wait(0.2)

    def pages(self):
        for path in ('/', '/api/scene', '/api/curves'):
            self.get(path)
        self.get('/api/nothing', 404)

    def pictures(self):
        web = WebSocket(self.url('/ws'), timeout=120)
        for seq in range(1, 4):
            self.picture(web, seq, random.choice(['color', 'depth', 'normal', 'alpha', 'density']))
        web.close()

    def wrong_token(self):
        address, self.address = self.address, self.address.split('token=')[0] + 'token=' + '0' * 32
        try:
            self.get('/', 403)
        finally:
            self.address = address
        self.count('wrong tokens')

    def connection(self):
        parts = urllib.parse.urlsplit(self.address)
        return socket.create_connection((parts.hostname, parts.port), 120)

    def half(self):
        with self.connection() as dial:
            dial.sendall(random.choice([b'', b'GET / HT', b'\x16\x03\x01', b'GET /ws?' + b'a' * 9000]))
            time.sleep(0.1)
        self.count('half requests')

    def wrong_message(self):
        web = WebSocket(self.url('/ws'), timeout=120)
        web.send(random.choice(['{', '[]', '{"camera": 7}', '{"size": [1e9, 1e9]}', 'x' * 4000]))
        try:
            while True:
                web.receive()
        except ConnectionError:
            pass
        web.close()
        self.count('wrong messages')

    def sibr(self):
        port = int(self.said().split('--port ')[1].split(';')[0])
        viewer = Sibr(port, 120)
        matrix = [1, 0, 0, 0, 0, -1, 0, 0, 0, 0, -1, 0, 0, 0, -3, 1]
        viewer.ask({'resolution_x': 160, 'resolution_y': 120, 'train': True, 'fov_y': 0.8, 'fov_x': 1.0, 'z_near': 0.01,
                    'z_far': 100, 'shs_python': False, 'rot_scale_python': False, 'keep_alive': True,
                    'scaling_modifier': 1.0, 'view_matrix': matrix, 'view_projection_matrix': matrix})
        viewer.close()
        self.over.wait(0.3)  # one connects at a time, and this one has to be gone
        self.count("of SIBR's pictures")
