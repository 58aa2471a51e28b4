"""Fixtures of the viewer: commands that run during a test, and the program's own pictures."""
import contextlib, json, math, os, subprocess, sys, threading
from browser import read_png

PROGRAM = os.path.abspath(sys.argv[1])
WIDTH, HEIGHT = 640, 360


def run(*words, code=0):
    done = subprocess.run([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != code:
        raise AssertionError(f'{words}: exit code {done.returncode}\n{done.stdout[-2000:]}')
    return done.stdout


def lacks_civetweb(*subject):
    """True if the program was built without a server. subject: a path that `view` does not find."""
    words = [PROGRAM, 'view', *(subject or ('--ply', 'scene/none.ply')), '--port', '0']
    return 'without civetweb' in subprocess.run(words, capture_output=True, text=True).stderr


started = []  # processes, to be ended whatever happens


@contextlib.contextmanager
def all_ended(browser=None):
    """Ends the browser and what was started."""
    try:
        yield
    finally:
        if browser:
            browser.close()
        for process in started:
            if process.poll() is None:
                process.kill()


class Command:
    """A command that runs on; said is what it says. until(line): it is waited for a line of which this is true."""

    def __init__(self, words, until=None):
        self.process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        started.append(self.process)
        self.said = ''
        for line in self.process.stdout if until else ():
            self.said += line
            if until(line):
                break
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.said += line

    def end(self, code):
        found = self.process.wait(300)
        self.reader.join()
        assert found == code, f'exit code {found}, not {code}\n{self.said[-3000:]}'


class Training(Command):
    """A `train` with its viewer; url is the page's."""

    def __init__(self, folder, steps, *more):
        self.url = None
        super().__init__(['train', '-s', 'scene', '-m', folder, '-n', str(steps), '--test_iterations', '100', '--eval',
                          '--backend', 'cpu', '--dense_start', 'False', '--tensorboard', 'False', *more],
                         self.find_url if '--viewer' in more else None)

    def find_url(self, line):
        if line.startswith('http://'):
            self.url = line.strip()
        return self.url


def psnr(a, b):
    assert a[:2] == b[:2], (a[:2], b[:2])
    total = sum((x - y) * (x - y) for p, q in zip(a[2], b[2]) for x, y in zip(p, q))
    return 10 * math.log10(255 * 255 * 3 * a[0] * a[1] / max(total, 1))


def bare_screenshot(page):
    """The picture alone."""
    covers = "['bar', 'side', 'status', 'hint'].forEach(id => $(id).style.visibility"
    page.value(f"{covers} = 'hidden'); $('lines').hidden = true")
    data = page.screenshot()
    page.value(f"{covers} = ''); $('lines').hidden = false")
    return read_png(data)


def rendered(page, ply, name):
    """The program's own picture of a splat from the page's camera."""
    key = page.value('({time: 0, position: camera.position, quaternion: camera.q, fov_y: camera.fov})')
    with open(name + '.json', 'w') as out:
        json.dump({'format': 'splatsmith camera path', 'width': WIDTH, 'height': HEIGHT, 'keyframes': [key]}, out)
    run('render', '--ply', ply, '--path', name + '.json', '-o', name, '--backend', 'cpu')
    with open(name + '/000000.png', 'rb') as file:
        return read_png(file.read())


def wait_for_full(page):
    page.value("document.body.dataset.shown = ''; changed(false)")
    page.until("document.body.dataset.shown === 'full'")
