"""The viewer after a training: --viewer_stay, and its default with and without a terminal.

    viewer_stay.py PROGRAM"""
import fcntl, os, pty, select, shutil, signal, subprocess, sys, termios, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import WebSocket
from pages import PROGRAM, all_ended, lacks_civetweb, run, started

STEPS = 60
WISH = '{"camera":{"seq":1,"position":[0,0,-3],"quaternion":[1,0,0,0],"fov_y":60},"size":[64,48]}'


class Run:
    """A training with a page, in a terminal of its own or with pipes."""

    def __init__(self, folder, *more, terminal=False, steps=STEPS):
        words = [PROGRAM, 'train', '-s', 'scene', '-m', folder, '-n', str(steps), '--backend', 'cpu', '--dense_start',
                 'False', '--tensorboard', 'False', '--viewer', '0', *more]
        self.said, self.folder = '', folder
        if terminal:
            self.end, inside = pty.openpty()
            self.process = subprocess.Popen(words, stdin=inside, stdout=inside, stderr=inside,
                                            preexec_fn=lambda: self.lead(inside))
            os.close(inside)
        else:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=subprocess.STDOUT)
            self.end = self.process.stdout.fileno()
        started.append(self.process)

    @staticmethod
    def lead(inside):
        """The terminal becomes that of the process, so that Ctrl-C reaches it."""
        os.setsid()
        fcntl.ioctl(inside, termios.TIOCSCTTY, 0)

    def read(self, seconds):
        """More of what it says; False: it has ended."""
        if not select.select([self.end], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.end, 65536)
        except OSError:  # the other side of a terminal is closed
            data = b''
        self.said += data.decode(errors='replace')
        return data != b''

    def wait_for(self, words, seconds=60):
        end = time.monotonic() + seconds
        while words not in self.said and time.monotonic() < end and self.read(0.2):
            pass
        assert words in self.said, f'never said "{words}":\n{self.said[-2000:]}'

    def url(self):
        self.wait_for('?token=')
        line = next(line for line in self.said.split('\n') if line.startswith('http://'))
        return line.strip()

    def socket(self):
        return WebSocket(self.url().replace('/?', '/ws?'))

    def code(self, seconds=60):
        end = time.monotonic() + seconds
        while self.read(0.2) and time.monotonic() < end:
            pass
        return self.process.wait(max(0.1, end - time.monotonic()))

    def stays(self):
        self.wait_for('goes on showing the splat')
        time.sleep(1.5)
        return self.process.poll() is None


def picture_of(page):
    page.send(WISH)
    while True:
        kind, data = page.receive()
        if kind == 2 and data[:4] == b'SPLV':
            return data
        assert b'"over":true' not in data


def check_saved(folder):
    path = f'/point_cloud/iteration_{STEPS}/point_cloud.ply'
    with open('alone' + path, 'rb') as a, open(folder + path, 'rb') as b:
        assert a.read() == b.read(), 'the splat is another one'


def test_it_stays_when_it_is_asked_to():
    """Without a terminal; it shows the trained splat and how the training ended, and SIGINT ends it with 0."""
    r = Run('asked', '--viewer_stay', 'True')
    assert r.stays(), r.said
    page = r.socket()
    data = picture_of(page)
    assert data[8:12] == STEPS.to_bytes(4, 'little'), 'the picture is not of the last step'
    page.close()
    page = r.socket()
    text = page.receive()[1]
    assert b'"result":"Trained 60 steps' in text and b'"trains":false' in text, text
    r.process.send_signal(signal.SIGINT)
    assert r.code() == 0, r.said
    check_saved('asked')
    lines = r.said.replace('\r', '\n').split('\n')
    assert any(line.endswith('splatsmith view -m asked') for line in lines), r.said


def test_it_does_not_stay_without_a_terminal():
    r = Run('piped')
    assert r.code() == 0, r.said
    assert 'goes on showing' not in r.said
    check_saved('piped')


def test_it_stays_in_a_terminal_until_ctrl_c():
    r = Run('terminal', terminal=True)
    assert r.stays(), r.said  # nobody has looked yet
    picture_of(r.socket())
    os.write(r.end, b'\x03')
    assert r.code() == 0, r.said
    check_saved('terminal')


def test_it_does_not_stay_where_everybody_has_left():
    r = Run('left', terminal=True, steps=600)
    r.socket().close()
    assert r.code() == 0, r.said
    assert 'goes on showing' not in r.said


def test_it_does_not_stay_when_it_is_not_asked_to():
    r = Run('refused', '--viewer_stay', 'False', terminal=True)
    assert r.code() == 0, r.said
    assert 'goes on showing' not in r.said


def test_ctrl_c_ends_a_training_as_ever():
    r = Run('stopped', '--viewer_stay', 'True', terminal=True, steps=1000000)
    r.wait_for('it/s')
    os.write(r.end, b'\x03')
    assert r.code() == 130, r.said
    assert any(name.startswith('chkpnt') for name in os.listdir('stopped'))


def main():
    for name in ('scene', 'alone', 'asked', 'piped', 'terminal', 'left', 'refused', 'stopped'):
        shutil.rmtree(name, ignore_errors=True)
    run('sample', 'scene', '--width', '64', '--height', '48', '--cameras', '8', '--points', '200', '--truth_points',
        '20', '--supersample', '1')
    if lacks_civetweb():
        print('SKIPPED: the viewer after a training: built without civetweb')
        return 77
    run('train', '-s', 'scene', '-m', 'alone', '-n', str(STEPS), '--backend', 'cpu', '--dense_start', 'False',
        '--tensorboard', 'False')
    with all_ended():
        for name, test in list(globals().items()):
            if name.startswith('test_'):
                test()
                print(name)
    print('passed')
    return 0


sys.exit(main())
