"""A viewer of SIBR's network protocol with `view` and during a training on the CPU: a camera of the scene, sent as
such a viewer sends it, gives the program's own render; who means ill is sent away; the results have the bytes of a
training that nobody saw.

    viewer_sibr.py PROGRAM"""
import json, math, os, re, shutil, socket, sys, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import read_png
from pages import Command, all_ended, lacks_civetweb, psnr, run
from sibr_client import Sibr, request_of

STEPS = 400


class Listening(Command):
    """A command with --sibr; port is where it listens."""

    def __init__(self, *words):
        self.port = None
        super().__init__([*words, '--sibr', '0', '--backend', 'cpu'], self.find_port)
        assert self.port, self.said

    def find_port(self, line):
        found = re.search(r'--ip 127\.0\.0\.1 --port (\d+); there is no token', line)
        self.port = int(found.group(1)) if found else None
        return self.port


def train_words(folder):
    return ['train', '-s', 'scene', '-m', folder, '-n', str(STEPS), '--checkpoint_iterations', str(STEPS),
            '--dense_start', 'False', '--tensorboard', 'False', '--report', 'False']


def cameras_of(folder):
    with open(folder + '/cameras.json') as file:
        return json.load(file)


def render_of(i):
    """The picture that `render` writes for view i."""
    with open(f'rendered/train/ours_{STEPS}/test_preds_-1/{i:05d}.png', 'rb') as file:
        return read_png(file.read())


def test_pictures_are_the_programs_own():
    view = Listening('view', 'alone', '--port', '0')
    viewer = Sibr(view.port)
    for i, camera in enumerate(cameras_of('alone')[:3]):
        picture, path = viewer.ask(request_of(camera))
        found = psnr(picture, render_of(i))
        print(f'{camera["img_name"]}: {found:.1f} dB against the render')
        assert found > 50  # the same floats but for the rounding of the pose
        assert path == os.path.realpath('scene'), path
    camera = cameras_of('alone')[0]
    whole = viewer.ask(request_of(camera))[0]
    small = viewer.ask(request_of(camera, scaling_modifier=0.1))[0]
    assert psnr(whole, small) < 25, 'the scaling modifier changes nothing'
    assert psnr(whole, viewer.ask(request_of(camera))[0]) > 60, 'it lasts'
    assert viewer.ask(request_of(camera, 33, 1))[0][:2] == (33, 1)
    assert viewer.ask(request_of(camera, resolution_x=0)) == (None, os.path.realpath('scene'))
    other = Sibr(view.port)
    assert other.is_closed(), 'two at a time'
    view.process.terminate()
    view.end(0)


def be_a_nuisance(port, camera):
    """Requests of another protocol close the connection."""
    def with_matrix(i, value):
        request = request_of(camera)
        request['view_matrix'][i] = value
        return request
    good = json.dumps(request_of(camera)).encode()
    bad = [b'', b'{', b'[]', b'7', good[:-1], with_matrix(0, math.nan), with_matrix(12, math.inf), with_matrix(3, 1),
           with_matrix(5, 5), with_matrix(0, 'one'), request_of(camera, resolution_x=100000, fov_x=1),
           request_of(camera, resolution_x=4096, resolution_y=4096), request_of(camera, resolution_x=-1),
           request_of(camera, fov_y=4), request_of(camera, view_matrix=[1]), request_of(camera, scaling_modifier=-1),
           request_of(camera, view_projection_matrix=[math.nan] * 16), request_of(camera, train='no')]
    for request in bad:
        rude = Sibr(port)
        rude.send(request)
        assert rude.is_closed(), request
        rude.close()
    for data in (b'\xff\xff\xff\xff', b'\x00\x00\x00\x80' + good, b'GET / HTTP/1.1\r\n\r\n',
                 b'\x01\x20\x00\x00' + b' ' * 8193):
        rude = Sibr(port)
        rude.socket.sendall(data)
        assert rude.is_closed(), data[:20]
        rude.close()


def test_training_has_the_same_bytes():
    camera = cameras_of('alone')[0]
    seen = Listening(*train_words('seen'), '--viewer_budget', '50')
    viewer = Sibr(seen.port)
    viewer.ask(request_of(camera, resolution_x=0, train=False))
    for _ in range(100):
        if 'the viewer pauses the training' in seen.said:
            break
        time.sleep(0.1)
    assert 'the viewer pauses the training' in seen.said, seen.said
    first = viewer.ask(request_of(camera, train=False))[0]
    time.sleep(0.3)
    assert 'goes on' not in seen.said, seen.said
    viewer.close()  # a client that holds a training and goes, lets it go on
    be_a_nuisance(seen.port, camera)
    half = Sibr(seen.port)
    half.socket.sendall(b'\x10\x00\x00\x00{"res')  # ... and no more
    for _ in range(100):
        if 'the viewer goes on with the training' in seen.said:
            break
        time.sleep(0.1)
    assert 'the viewer goes on with the training' in seen.said, seen.said
    half.close()
    viewer = Sibr(seen.port)
    later, n = None, 0
    try:
        while True:
            later = viewer.ask(request_of(camera, scaling_modifier=1 - 1e-4 * (n % 2)))[0]  # another picture each
            n += 1
    except ConnectionError:
        pass  # the training has ended
    seen.end(0)
    print(f'{n} answers during the training, {psnr(first, later):.1f} dB from the first to the last')
    assert n > 0 and psnr(first, later) < 40, 'the pictures do not follow the training'
    assert seen.said.count('the viewer refuses a request') == 1, seen.said
    for name in (f'point_cloud/iteration_{STEPS}/point_cloud.ply', f'chkpnt{STEPS}.splatsmith'):
        with open('alone/' + name, 'rb') as a, open('seen/' + name, 'rb') as b:
            assert a.read() == b.read(), f'{name} differs with the viewer'


def test_slow_readers_hold_nobody():
    """A client that requests large pictures and reads none of them."""
    camera = cameras_of('alone')[0]
    seen = Listening(*train_words('slow'))
    slow = Sibr(seen.port)
    slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    for _ in range(20):
        slow.send(request_of(camera, 2000, 1500))
    seen.end(0)
    slow.close()


def main():
    for name in ('scene', 'alone', 'seen', 'slow', 'rendered'):
        shutil.rmtree(name, ignore_errors=True)
    run('sample', 'scene', '--width', '160', '--height', '120', '--cameras', '8', '--points', '300', '--truth_points',
        '20')
    run(*train_words('alone'), '--backend', 'cpu')
    run('render', '-m', 'alone', '-o', 'rendered', '--backend', 'cpu', '--skip_test')
    with all_ended():
        if lacks_civetweb():
            print('SKIPPED: SIBR\'s protocol with view: built without civetweb')
        else:
            test_pictures_are_the_programs_own()
        test_training_has_the_same_bytes()
        test_slow_readers_hold_nobody()
    print('passed')
    return 0


sys.exit(main())
