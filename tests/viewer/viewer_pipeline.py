"""`pipeline --viewer --sibr` of a small scene on the CPU: one address, one page and one SIBR viewer from the first
stage to the last; the stages follow one another in the status, and with each that trains scene, curves and pictures are
its own.

    viewer_pipeline.py PROGRAM"""
import json, os, re, shutil, sys, threading, time, urllib.request
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import WebSocket
from pages import Command, all_ended, lacks_civetweb, run
from sibr_client import Sibr

STAGES = ['train', 'coarse', 'mesh', 'refine', 'texture']
# Iterations of the stages that train. Of the first stage the page sees what is left when it looks: 300 were over by then
# on a busy machine now and then. Those of the refinement are its least, as there are few photos.
LAST = {'train': 2500, 'coarse': 7250, 'refine': 1000}
OPTIONS = ['--eval', '--iterations', '2500', '--densify_from_iter', '100', '--densify_until_iter', '250',
           '--coarse_iterations', '7250', '--regularize_after', '7030', '--prune_opacity', '0.05',
           '--n_samples', '2000', '--surface_points', '5000', '--poisson_depth', '6', '--min_component_faces', '0',
           '--texture_size', '128', '--tensorboard', 'False', '--report', 'False', '--threads', '2', '--backend', 'cpu',
           '--viewer_budget', '50']


class Page:
    """The messages of a page; the server is the same to the end."""

    def __init__(self, url, sibr_port):
        self.url = url
        self.socket = WebSocket(url.replace('/?', '/ws?'))
        self.sibr = Sibr(sibr_port)
        self.sibr_lock = threading.Lock()
        self.error = None  # that ended the listening
        self.seq = 0
        self.stages = []   # names, in the order in which they came
        self.counts = []   # status.stages of each
        self.lasts = {}    # status.iterations of each that trains
        self.asked = set()  # the stages that were held,
        self.held = {}     # stage: the step of the status that said so,
        self.steps = {}    # that of the picture that was made of it then,
        self.points = {}   # and the curves' points
        self.is_over = False

    def get(self, what):
        with urllib.request.urlopen(self.url.replace('/?', f'/api/{what}?'), timeout=60) as answer:
            return json.loads(answer.read())

    def wish(self):
        self.seq += 1
        self.socket.send(json.dumps({'camera': {'seq': self.seq, 'position': [0, 0, -3], 'quaternion': [1, 0, 0, 0],
                                                'fov_y': 60}, 'size': [64, 48]}))

    def look_at_stage(self, status):
        """While it is held: its curves, its scene, a picture."""
        curves, scene = self.get('curves'), self.get('scene')
        assert curves['stages'] == status['stages'], (curves['stages'], status)
        self.points[status['stage']] = curves['points']
        assert len(scene['views']) == 16, scene
        self.ask_sibr(os.path.realpath('scene'))
        self.wish()

    def ask_sibr(self, *paths):
        with self.sibr_lock:
            none, path = self.sibr.ask({'resolution_x': 0, 'resolution_y': 0})
        assert none is None and path in paths, path

    def keep_sibr(self):
        """The server sends viewers away that ask nothing for 30 seconds, and a stage may take longer. Before and between
        stages no scene is open, so the answer may name none."""
        while not self.is_over:
            try:
                self.ask_sibr(os.path.realpath('scene'), '')
            except OSError:  # the pipeline has ended
                return
            time.sleep(5)

    def note(self, status):
        stage = status['stage']
        if not stage:
            return
        if not self.stages or self.stages[-1] != stage:
            self.stages.append(stage)
            self.counts.append(status['stages'])
        if status['trains']:
            self.lasts[stage] = status['iterations']
        if status['trains'] and stage not in self.asked:
            self.asked.add(stage)
            self.socket.send('{"do":"pause"}')
        if status['trains'] and status['paused'] and status['iteration'] > 0 and stage not in self.held:
            self.held[stage] = status['iteration']
            self.look_at_stage(status)

    def take_picture(self, data):
        """A picture of the stage that is held ends the hold; older pictures do not. The status says "paused" as soon as
        the page asks, and the step that runs then ends first: the picture may be one step ahead of the status."""
        self.socket.send('{"ack":%d}' % int.from_bytes(data[4:8], 'little'))
        stage, step = self.stages[-1], int.from_bytes(data[8:12], 'little')
        if stage in self.held and step >= self.held[stage] and stage not in self.steps:
            self.steps[stage] = step
            self.socket.send('{"do":"go on"}')

    def listen(self, process):
        """Ends the process, which may wait for this page, when anything is wrong."""
        try:
            self.listen_on()
        except Exception as error:
            self.error = error
            process.kill()

    def listen_on(self):
        while not self.is_over:
            try:
                kind, data = self.socket.receive()
            except ConnectionError:
                return
            if kind == 2:
                self.take_picture(data)
                continue
            status = json.loads(data)['status']
            self.is_over = status['over']
            if not self.is_over:
                self.note(status)


def check(page, said):
    print(f'stages {list(zip(page.counts, page.stages))}, pictures at steps {page.steps}')
    # a stage of less than a quarter of a second may pass unseen, but none that trains
    assert [stage for stage in STAGES if stage in page.stages] == page.stages, page.stages
    assert set(LAST) <= set(page.stages), page.stages
    assert page.counts == sorted(set(page.counts)), page.counts
    assert page.lasts == LAST, page.lasts
    for stage, last in LAST.items():
        first = 7000 if stage == 'coarse' else 0
        steps = [point[0] for point in page.points[stage]]
        assert steps == sorted(set(steps)) and first < steps[0] and steps[-1] <= last, (stage, steps)
        assert first < page.steps[stage] <= last, (stage, page.steps)
    assert page.is_over, 'the page did not learn of the end'
    assert said.count('http://') == 1 and said.count('there is no token') == 1, said


class Pipeline(Command):
    """The pipeline, and the page that looks as soon as there is one."""

    def __init__(self):
        self.url = self.port = None
        super().__init__(['pipeline', '-s', 'scene', '-o', 'out', *OPTIONS, '--viewer', '0', '--sibr', '0'],
                         self.find_addresses)
        assert self.url and self.port, self.said
        self.page = Page(self.url, self.port)
        self.listener = threading.Thread(target=self.page.listen, args=(self.process,), daemon=True)
        self.listener.start()
        threading.Thread(target=self.page.keep_sibr, daemon=True).start()

    def find_addresses(self, line):
        self.url = line.strip() if line.startswith('http://') else self.url
        found = re.search(r'--port (\d+); there is no token', line)
        self.port = int(found.group(1)) if found else self.port
        return self.url and self.port


def main():
    for name in ('scene', 'out'):
        shutil.rmtree(name, ignore_errors=True)
    run('sample', 'scene', '--width', '64', '--height', '48', '--cameras', '16', '--points', '600', '--truth_points',
        '1000')
    if lacks_civetweb():
        print('SKIPPED: the viewer of the pipeline: built without civetweb')
        return 77
    with all_ended():
        pipeline = Pipeline()
        pipeline.process.wait(300)
        pipeline.listener.join(30)
        if pipeline.page.error:
            raise pipeline.page.error
        pipeline.end(0)
        check(pipeline.page, pipeline.said)
    print('passed')
    return 0


sys.exit(main())
