"""The viewer's page in headless Chromium during a training on the CPU: it shows the program's pictures, what
it asks for happens, and the results have the bytes of a training that nobody saw.

    viewer_page.py PROGRAM"""
import json, math, os, shutil, socket, statistics, subprocess, sys, time, urllib.error, urllib.parse, urllib.request
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser, WebSocket, find_chromium
from pages import (HEIGHT, PROGRAM, WIDTH, Training, all_ended, bare_screenshot, lacks_civetweb, psnr, rendered, run,
                   started, wait_for_full)

STEPS = 300
OPTIONS = ['--densify_from_iter', '60', '--densification_interval', '40', '--checkpoint_iterations', str(STEPS)]
LEAST_PSNR = 36  # of a JPEG of quality 92 without subsampling, against the render


def status_of(url, method='GET', headers=(), body=None):
    request = urllib.request.Request(url, method=method, data=body, headers=dict(headers))
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as answer:
        return answer.code, answer.read()


# ---------------------------------------------------------------- what a page sees and does

def check_pictures(page):
    """In a pause: the screenshot is the program's own render, also in the box that `export` cuts."""
    page.drag(300, 200, 60, 15)
    page.click('save')
    page.until("training.note.includes('point_cloud.ply')")
    ply = page.value("training.note").split('saved ')[1]
    wait_for_full(page)
    found = psnr(bare_screenshot(page), rendered(page, ply, 'whole'))
    print(f'screenshot against the render: {found:.1f} dB')
    assert found > LEAST_PSNR
    page.value("box = {low: [-1, -1, -1], high: [1.2, 1, 0.9]}; boxChanged(false)")
    wait_for_full(page)
    line = page.value("$('box-line').textContent").split()
    assert line == ['--bboxmin=-1,-1,-1', '--bboxmax=1.2,1,0.9'], line
    run('export', '--ply', ply, '-o', 'cropped.ply', *line)
    cropped = rendered(page, 'cropped.ply', 'cropped')
    with_box = bare_screenshot(page)
    found = psnr(with_box, cropped)
    print(f'screenshot of the box against the render of what export cuts: {found:.1f} dB')
    assert found > LEAST_PSNR
    before = page.value('box.high[0]')
    x, y = page.value('project(middle([0, 1]))')
    page.drag(x, y, 25, 0)
    assert page.value('box.high[0]') != before, 'the handle did not move its side'
    page.click('box')
    assert page.value('box') is None


def check_views(page):
    page.click('beside')
    page.until("photo && $('picture').width === 324 && $('picture').height === 120")  # two of 160 x 120, and a gap
    page.value("$('what').value = 'error'; $('what').onchange()")
    page.until("shown.w === 160 && isLocked()")
    page.drag(300, 200, 30, 0)  # a hand leaves the view
    page.until("!isLocked() && what === 'color' && document.body.dataset.shown === 'full' && shown.w === 640")


def check_hands(page, phone):
    """One finger turns about the middle, two shift and zoom; keys fly, look about and choose."""
    def place(which):
        return which.value('[...camera.position, ...camera.q, camera.pivot]')

    def distance(a, b):
        return math.dist(a[:3], b[:3])
    before, middle = place(phone), phone.value('add(camera.position, forward(), camera.pivot)')
    phone.touch([(100, 500)], [(130, 500)], [(160, 510)])
    after = place(phone)
    assert distance(before, after) > 0.1 and abs(before[7] - after[7]) < 1e-9, (before, after)
    assert math.dist(middle, phone.value('add(camera.position, forward(), camera.pivot)')) < 1e-6
    phone.touch([(150, 500), (250, 500)], [(130, 500), (270, 500)], [(100, 500), (300, 500)])
    assert abs(place(phone)[7] / after[7] - 0.5) < 0.02, 'fingers twice as far apart come twice as near'
    before = place(page)
    page.value("$('picture').focus()")
    page.key('w', 0.3)
    after = place(page)
    assert distance(before, after) > 0.05 and before[3:7] == after[3:7], (before, after)
    page.key('ArrowLeft', 0.2)
    assert distance(after, place(page)) < 1e-9 and place(page)[3:7] != after[3:7]
    page.key('2')
    page.until("what === 'depth' && document.body.dataset.shown === 'full'")
    page.key('1')
    page.key('r')
    page.until("what === 'color' && camera.position[0] === start.position[0]")


def check_path(page, url):
    """The page's interpolation has the numbers of tests/io/test_camera_path.c; what it keeps is what it saves."""
    keys = [{'time': 0, 'position': [0, 0, 0], 'quaternion': [1, 0, 0, 0], 'fov_y': 40},
            {'time': 1, 'position': [1, 2, 0], 'quaternion': [-0.8, 0, -0.6, 0], 'fov_y': 50},
            {'time': 3, 'position': [2, 0, 4], 'quaternion': [0.6, 0, 0.8, 0], 'fov_y': 60}]
    page.value(f"readPath(JSON.stringify({{format: 'splatsmith camera path', keyframes: {json.dumps(keys)}}}))")
    at = page.value('pathAt(keyframes, 1.5)')
    wanted = [1.296875, 1.78125, 0.8125, 0.72829020, 0, 0.68526884, 0, 52.96875]
    found = [*at['position'], *at['quaternion'], at['fov_y']]
    assert all(abs(a - b) < 1e-5 for a, b in zip(found, wanted)), found
    page.click('path-keep')
    page.until("$('path-note').textContent.startsWith('kept')")
    code, text = status_of(url.replace('/?', '/api/path?'))
    assert code == 200 and text.decode() == page.value('pathText()')
    page.value("pathChanged('')")
    page.click('path-play')
    page.until('playing > 0')
    page.click('path-play')
    page.click('path-clear')


def check_end(page):
    """The last picture stays, with a line that says how the training ended."""
    page.until('ended')
    text = page.value("$('message').textContent")
    assert text.startswith(f'The program has ended. Trained {STEPS} steps'), text
    assert page.value("$('message').getBoundingClientRect().height < 100 && !$('message').hidden")
    assert page.value("document.elementFromPoint(300, 150).id") == 'picture'
    assert page.value("$('picture').width") > 100


# ---------------------------------------------------------------- who means ill

def be_a_nuisance(url):
    """Wrong tokens, hosts and origins, frames that are too long, a page that never reads, a thousand connections."""
    parts = urllib.parse.urlsplit(url)
    port, query = parts.port, '?' + parts.query
    wrong = '?token=' + '0' * 32
    base = f'http://127.0.0.1:{port}'
    assert status_of(base + '/' + wrong)[0] == 403
    assert status_of(base + '/')[0] == 403
    assert status_of(base + '/' + query, headers=[('Host', 'evil.example')])[0] == 403
    assert status_of(base + '/' + query, headers=[('Origin', 'http://evil.example')])[0] == 403
    assert status_of(base + '/api/path' + query, 'POST', body=b'x' * 70000)[0] == 413
    for path, headers in (('/ws' + wrong, ()), ('/ws' + query, ('Origin: http://evil.example',))):
        try:
            WebSocket(base + path, headers)
        except ConnectionError:
            continue
        raise AssertionError('a WebSocket was opened: ' + path)
    for data, opcode in ((b'x' * 5000, 1), (b'{' * 4096, 1), (b'\xff\xfe', 1), (b'{"ack":1}', 2), (b'', 3)):
        rude = WebSocket(base + '/ws' + query)
        rude.send(data, opcode)
        try:
            while True:
                rude.receive()
        except (ConnectionError, OSError):
            rude.close()
    liar = WebSocket(base + '/ws' + query)
    liar.socket.sendall(b'\x81\xff' + b'\xff' * 8 + bytes(4))  # a frame of 2^64 bytes
    slow = WebSocket(base + '/ws' + query)
    slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    for i in range(100):
        slow.send('{"camera":{"seq":%d,"position":[0,0,-3],"quaternion":[1,0,0,0],"fov_y":60},"size":[2000,1500]}' % i)
    idle = []
    for i in range(1000):  # most of them wait in the system's queue, or are refused
        idle.append(socket.socket())
        idle[-1].setblocking(False)
        idle[-1].connect_ex(('127.0.0.1', port))
    return [liar, slow, *idle]


# ---------------------------------------------------------------- the tests

def same_file(name):
    with open('alone/' + name, 'rb') as a, open('seen/' + name, 'rb') as b:
        assert a.read() == b.read(), f'{name} differs with the viewer'


def pause_before_the_page(training):
    """The client that asked for a pause: a browser may need longer for its first page than a training of STEPS."""
    client = WebSocket(training.url.replace('/?', '/ws?'))
    client.send('{"do":"pause"}')
    return client


def test_two_pages_and_a_nuisance(browser):
    alone = Training('alone', STEPS, *OPTIONS)
    alone.end(0)
    seen = Training('seen', STEPS, *OPTIONS, '--viewer', '0')
    waiting = pause_before_the_page(seen)
    first = browser.page(seen.url, WIDTH, HEIGHT)
    first.until("typeof training !== 'undefined' && training.trains && training.paused")
    waiting.close()
    first.click('pause')
    first.until('!training.paused && training.iteration > 0')
    first.click('pause')
    second = browser.page(seen.url, 390, 844, phone=True)
    second.until("training.paused && document.body.dataset.shown === 'full'")
    step = first.until('training.paused && training.iteration')
    time.sleep(0.6)
    assert first.value('training.iteration') == step, 'the pause does not hold'
    assert first.value('curves.points.length') > 0 and first.value('training.memory.length') > 3
    check_pictures(first)
    check_views(first)
    check_hands(first, second)
    check_path(first, seen.url)
    assert first.value('training.iteration') == step
    enemies = be_a_nuisance(seen.url)
    second.click('pause')  # the other page goes on
    first.until(f'training.iteration > {step + 20}')
    first.until('curves.measured.length > 0 && training.psnr > 5')
    for enemy in enemies:
        enemy.close()
    check_end(first)
    second.until('ended')
    seen.end(0)
    assert seen.said.count('the viewer refuses a request') == 1, seen.said
    problems = first.problems + second.problems
    assert not problems, problems
    first.close()
    second.close()
    same_file(f'point_cloud/iteration_{STEPS}/point_cloud.ply')
    same_file(f'chkpnt{STEPS}.splatsmith')


def test_stop(browser):
    stopped = Training('stopped', 1000000, '--viewer', '0')
    page = browser.page(stopped.url, WIDTH, HEIGHT)
    page.until("typeof training !== 'undefined' && training.iteration > 5")
    page.click('stop')
    page.click('stop')
    page.until('ended')
    stopped.end(130)
    page.close()
    reached = max(int(name[6:-11]) for name in os.listdir('stopped') if name.startswith('chkpnt'))
    again = Training('stopped', reached + 5, '--start_checkpoint', 'latest')
    again.end(0)
    assert os.path.exists(f'stopped/point_cloud/iteration_{reached + 5}/point_cloud.ply')


def test_latency(browser):
    """From a mouse to the picture in the page, 1280 x 720, on the CPU."""
    view = subprocess.Popen([PROGRAM, 'view', 'alone', '--port', '0', '--backend', 'cpu'], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)
    started.append(view)
    page = browser.page(view.stdout.readline().strip(), 1280, 720)
    page.until("document.body.dataset.shown === 'full'")
    moving, full = [], []
    for i in range(15):
        page.value("document.body.dataset.shown = ''; shown = null")
        page.mouse('mousePressed', 600, 300, 'left', buttons=1)
        page.mouse('mouseMoved', 604 + i, 300, 'left', buttons=1)
        moving.append(page.until('shown && shown.ms'))
        page.mouse('mouseReleased', 604 + i, 300, 'left')
        full.append(page.until("document.body.dataset.shown === 'full' && shown.ms"))
    page.close()
    view.terminate()
    view.wait(60)
    print(f'from camera to picture at 1280 x 720: median {statistics.median(moving):.0f} ms while it moves, '
          f'{statistics.median(full):.0f} ms for the full picture')
    assert statistics.median(moving) < 600


def main():
    if not find_chromium():
        print('SKIPPED: the page of the viewer: there is no Chromium (scripts/install_deps.sh --browser)')
        return 77
    for name in ('scene', 'alone', 'seen', 'stopped', 'whole', 'cropped'):
        shutil.rmtree(name, ignore_errors=True)
    run('sample', 'scene', '--width', '160', '--height', '120', '--cameras', '12', '--points', '400', '--truth_points',
        '20')
    if lacks_civetweb():
        print('SKIPPED: the page of the viewer: built without civetweb')
        return 77
    browser = Browser()
    with all_ended(browser):
        test_two_pages_and_a_nuisance(browser)
        test_stop(browser)
        test_latency(browser)
    print('passed')
    return 0


sys.exit(main())
