"""The look of the viewer's page, measured in headless Chromium on a phone and on a desktop: hints, sizes of
buttons, contrast, labels, cameras, the first view of a scene.

    viewer_looks.py PROGRAM"""
import os, shutil, subprocess, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser, find_chromium
from pages import PROGRAM, all_ended, bare_screenshot, lacks_civetweb, run, started

PHONE, DESKTOP = (390, 844), (1280, 800)
FINGER = 44  # pixels: the least height of a button for a finger


class Shown:
    """`view` of something, and its page; ended by `with`."""

    def __init__(self, browser, words, size):
        self.process = subprocess.Popen([PROGRAM, 'view', *words, '--port', '0'], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        started.append(self.process)
        self.page = browser.page(self.process.stdout.readline().strip(), *size, phone=size is PHONE)

    def __enter__(self):
        self.page.until("document.body.dataset.shown === 'full'")
        return self.page

    def __exit__(self, *_):
        assert not self.page.problems, self.page.problems
        self.page.close()
        self.process.terminate()
        assert self.process.wait(60) == 0


def seen_text(page, id):
    return page.value(f"$('{id}').innerText")


def box_of(page, id):
    """(left, top, width, height) of an element; None: it is not shown."""
    return page.value(f"""(() => {{ const e = $('{id}'), b = e.getBoundingClientRect();
        return e.checkVisibility() && b.width ? [b.left, b.top, b.width, b.height] : null; }})()""")


def check_buttons(page):
    """Checks that buttons are high enough for a finger, inside the window, and show their whole text."""
    found = page.value("""[...document.querySelectorAll('button, select, #side input, .button')].filter(e => e.checkVisibility())
        .map(e => { const b = e.getBoundingClientRect(); return [e.id || e.textContent, b.height, b.width, b.left, b.right]; })""")
    assert len(found) > 10, found
    for name, height, width, left, right in found:
        assert height >= FINGER and width >= FINGER, f'{name}: {width} x {height}'
        assert left >= 0 and right <= PHONE[0], f'{name} lies outside the window: {left} to {right}'
    cut = page.value("""(() => { const g = document.createElement('canvas').getContext('2d'), cut = [];
        for (const e of [$('what'), $('view')]) {
            g.font = getComputedStyle(e).font;
            for (const o of e.options) if (g.measureText(o.text).width > e.clientWidth - 40) cut.push(o.text);
        }
        return cut; })()""")
    assert not cut, cut


def check_pill(page, id):
    """Light text on a dark ground, whatever the picture is."""
    ground, ink = page.value(f"""['backgroundColor', 'color'].map(k =>
        getComputedStyle($('{id}'))[k].match(/[0-9.]+/g).map(Number))""")
    assert max(ground[:3]) < 64 and (len(ground) < 4 or ground[3] >= 0.75), f'{id}: ground {ground}'
    assert min(ink[:3]) > 180, f'{id}: ink {ink}'


def check_outside(page, size):
    """All cameras are drawn and lie in the window, in front of the eye, which is outside of them."""
    assert page.value("withCameras && $('cameras').getAttribute('aria-pressed') === 'true'")
    places = page.value('scene.views.map(v => project(v.position))')
    for i, place in enumerate(places):
        assert place and 0 < place[0] < size[0] and 50 < place[1] < size[1], f'camera {i}: {place}'
    spread = [max(p[k] for p in places) - min(p[k] for p in places) for k in (0, 1)]
    assert max(spread[0] / size[0], spread[1] / size[1]) > 0.4, f'the scene is small in the window: {spread}'
    eye = page.value('Math.hypot(...add(camera.position, scene.center, -1))')
    reach = page.value('Math.max(...scene.views.map(v => Math.hypot(...add(v.position, scene.center, -1))))')
    assert eye > 1.5 * reach, (eye, reach)


def check_dots(page):
    """Points are dots of a few pixels: pictures of blobs have few steps from dark to bright."""
    width, height, rows = bare_screenshot(page)
    lit = steps = 0
    for y in range(1, height):
        for x in range(1, width):
            a, b = max(rows[y][3 * x:3 * x + 3]), max(rows[y][3 * x - 3:3 * x])
            lit += a > 40
            steps += abs(a - b) > 30
    assert 300 < lit < 0.1 * width * height, f'{lit} pixels of points'
    assert steps > 0.5 * lit, f'{steps} edges around {lit} pixels: the points are blobs'


def test_scene(browser):
    for size in (DESKTOP, PHONE):
        with Shown(browser, ['./scene/', '--backend', 'cpu'], size) as page:
            assert page.value('document.title') == 'scene - Splatsmith', page.value('document.title')
            said = seen_text(page, 'status')
            assert said.startswith('400 points, 12 cameras'), said
            check_outside(page, size)
            check_pill(page, 'status')
            if size is DESKTOP:
                check_dots(page)


def test_hints(browser):
    """In the words of the hand that holds it, over the picture, and gone with the first drag."""
    for size, word, other in ((PHONE, 'pinch', 'wheel'), (DESKTOP, 'wheel', 'pinch')):
        with Shown(browser, ['scene', '--backend', 'cpu'], size) as page:
            said = seen_text(page, 'hint')
            assert 'drag to turn' in said and word in said and other not in said, said
            check_pill(page, 'hint')
            left, top, width, height = box_of(page, 'hint')
            below = box_of(page, 'status')
            assert left >= 0 and left + width <= size[0] and top + height < below[1], 'the hint lies on the status line'
            page.click('keys')
            said = seen_text(page, 'help')
            assert ('W A S D' in said) == (size is DESKTOP) and word in said and other not in said, said
            page.click('keys')
            assert page.value("getComputedStyle($('hint')).opacity") == '1'
            if size is PHONE:
                page.touch([(100, 500)], [(130, 500)], [(160, 510)])
            else:
                page.drag(300, 300, 40, 0)
            page.until("getComputedStyle($('hint')).opacity === '0'")


def test_fingers(browser):
    with Shown(browser, ['scene', '--backend', 'cpu'], PHONE) as page:
        page.click('more')
        page.click('box')
        check_buttons(page)
        bar = box_of(page, 'bar')
        assert bar[3] <= 120, f'the bar is {bar[3]} pixels high'


def check_cameras(page):
    """Some are drawn, and none across the picture: not even one that the eye has just left."""
    page.value('camera = ofView(scene.views[0]); camera.position = add(camera.position, forward(), -0.06 * scene.radius)')
    widest = page.value("""(() => {
        const keep = polyline, found = [];
        let lines = [];
        polyline = (g, points) => { if (points.every(p => p)) lines.push(...points); };
        for (const v of scene.views) {
            lines = [];
            drawCamera(null, v);
            for (const [k, side] of ['width', 'height'].entries()) {
                const inside = lines.map(p => Math.min(Math.max(p[k] / area()[side], 0), 1));
                if (inside.length) found.push(Math.max(...inside) - Math.min(...inside));
            }
        }
        polyline = keep;
        return Math.max(...found);
    })()""")
    assert 0.005 < widest < 0.25, f'a camera covers {widest} of the picture'


def test_comparison(browser):
    """Labels lie on the photo and on the render; cameras next to the eye stay small."""
    for size in (DESKTOP, PHONE):
        with Shown(browser, ['scene/ground_truth_mesh.ply', '-s', 'scene'], size) as page:
            page.click('cameras')
            check_cameras(page)
            assert box_of(page, 'photo-label') is None
            page.click('beside')
            page.until("photo && $('photo-label').checkVisibility()")
            labels = {id: box_of(page, id) for id in ('photo-label', 'picture-label')}
            assert [seen_text(page, id) for id in labels] == ['photo', 'render']
            apart = [abs(a - b) for a, b in zip(labels['photo-label'], labels['picture-label'])][:2]
            assert apart[0] > 300 if size is DESKTOP else apart[1] > 200, labels
            for id, (x, y, w, h) in labels.items():
                check_pill(page, id)
                assert y >= box_of(page, 'bar')[3] and x >= 0 and x + w <= size[0] and y + h <= size[1], (id, x, y)
            page.click('beside')
            page.until("!$('photo-label').checkVisibility()")


def test_first_picture(browser):
    """While it is drawn the page says so."""
    shown = Shown(browser, ['scene', '--backend', 'cpu'], DESKTOP)
    with shown as page:
        assert box_of(page, 'first') is None
        page.call('Page.addScriptToEvaluateOnNewDocument', source="""
            const decode = createImageBitmap, gate = new Promise(open => window.openGate = open);
            window.createImageBitmap = async (...all) => { await gate; return decode(...all); };""")
        page.call('Page.reload')
        page.until("window.openGate && $('first').checkVisibility() && $('first').innerText")
        assert 'first picture' in seen_text(page, 'first')
        assert box_of(page, 'hint') is None
        page.value('openGate()')
        page.until("document.body.dataset.shown === 'full' && !$('first').checkVisibility()")


def main():
    if not find_chromium():
        print('SKIPPED: how the page looks: there is no Chromium (scripts/install_deps.sh --browser)')
        return 77
    shutil.rmtree('scene', ignore_errors=True)
    run('sample', 'scene', '--scene', 'objects', '--width', '160', '--height', '120', '--cameras', '12', '--points',
        '400', '--truth_points', '20')
    if lacks_civetweb('scene/none.obj'):
        print('SKIPPED: how the page looks: built without civetweb')
        return 77
    browser = Browser()
    with all_ended(browser):
        for test in (test_scene, test_hints, test_fingers, test_comparison, test_first_picture):
            test(browser)
            print(test.__name__)
    print('passed')
    return 0


sys.exit(main())
