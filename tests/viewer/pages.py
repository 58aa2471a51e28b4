"""What the tests of the viewer's page share: trainings beside it, and the program's own pictures."""
import json, math, os, subprocess, sys, threading
from browser import read_png

PROGRAM = os.path.abspath(sys.argv[1])
WIDTH, HEIGHT = 640, 360


def run(*words, code=0):
    done = subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != code:
        raise AssertionError(f'{words}: exit code {done.returncode}\n{done.stdout[-2000:]}')
    return done.stdout


started = []  # processes, to be ended whatever happens


class Training:
    """A `train` with its viewer; url is the page's."""

    def __init__(self, folder, steps, *more):
        words = ['train', '-s', 'scene', '-m', folder, '-n', str(steps), '--test_iterations', '100', '--eval',
                 '--backend', 'cpu', '--tensorboard', 'False', *more]
        self.process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.url, self.said = None, ''
        for line in self.process.stdout if '--viewer' in more else ():
            self.said += line
            if line.startswith('http://'):
                self.url = line.strip()
                break
        started.append(self.process)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.said += line

    def end(self, code):
        found = self.process.wait(300)
        self.reader.join()
        assert found == code, f'exit code {found}, not {code}\n{self.said[-3000:]}'


def psnr(a, b):
    assert a[:2] == b[:2], (a[:2], b[:2])
    total = sum((x - y) * (x - y) for p, q in zip(a[2], b[2]) for x, y in zip(p, q))
    return 10 * math.log10(255 * 255 * 3 * a[0] * a[1] / max(total, 1))


def bare_screenshot(page):
    """The picture alone."""
    page.value("['bar', 'side', 'status'].forEach(id => $(id).style.visibility = 'hidden'); $('lines').hidden = true")
    data = page.screenshot()
    page.value("['bar', 'side', 'status'].forEach(id => $(id).style.visibility = ''); $('lines').hidden = false")
    return read_png(data)


def rendered(page, ply, name):
    """What the program renders of a splat where the page's camera is."""
    key = page.value('({time: 0, position: camera.position, quaternion: camera.q, fov_y: camera.fov})')
    with open(name + '.json', 'w') as out:
        json.dump({'format': 'splatsmith camera path', 'width': WIDTH, 'height': HEIGHT, 'keyframes': [key]}, out)
    run('render', '--ply', ply, '--path', name + '.json', '-o', name, '--backend', 'cpu')
    with open(name + '/000000.png', 'rb') as file:
        return read_png(file.read())


def wait_for_full(page):
    page.value("document.body.dataset.shown = ''; changed(false)")
    page.until("document.body.dataset.shown === 'full'")
