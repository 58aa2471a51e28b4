"""The pages that the program writes as files, measured in headless Chromium on a phone and on a desktop: the splat of
`export NAME.html`, and report.html.

    html_looks.py PROGRAM"""
import json, os, shutil, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser, find_chromium
from pages import all_ended, run

SIZES = {'phone': (390, 844), 'desktop': (1280, 800)}


def opened(browser, file, name):
    return browser.page('file://' + os.path.abspath(file), *SIZES[name], phone=name == 'phone')


# ---------------------------------------------------------------- the splat

IN_WINDOW = """(() => {
    let n = 0, inside = 0;
    const wide = seenAbove() * canvas.clientWidth / canvas.clientHeight;
    const eye = camera.target.map((t, k) => t + camera.distance * camera.rows[2][k]);
    for (const p of samples()) {
        const [x, y, z] = camera.rows.map(row => dot(row, p.map((v, k) => v - eye[k])));
        n++;
        inside += z < 0 && Math.abs(x) < -wide * z && Math.abs(y) < -seenAbove() * z;
    }
    return inside / n;
})()"""


def check_hint(page, name):
    said = page.value('note.innerText')
    word, other = ('pinch', 'wheel') if name == 'phone' else ('wheel', 'pinch')
    assert 'Drag to turn' in said and word in said and other not in said, said
    style = page.value("""(() => { const s = getComputedStyle(note); return [parseFloat(s.fontSize),
        ...s.backgroundColor.match(/[0-9.]+/g).map(Number)]; })()""")
    assert style[0] >= 14 and max(style[1:4]) < 64 and (len(style) < 5 or style[4] >= 0.75), style
    box = page.value('(b => [b.left, b.right])(note.getBoundingClientRect())')
    assert box[0] >= 8 and box[1] <= SIZES[name][0] - 8, box
    if name == 'phone':
        before = page.value('camera.distance')
        page.touch([(150, 400), (250, 400)], [(130, 400), (270, 400)], [(100, 400), (300, 400)])
        assert abs(page.value('camera.distance') / before - 0.5) < 0.02, 'two fingers do not zoom'
    else:
        page.drag(300, 300, 50, 10)
    page.until("getComputedStyle(note).opacity === '0'")


def test_export_alone(browser):
    """A splat without cameras is in the window, nine tenths of it."""
    shutil.copy('model/point_cloud/iteration_40/point_cloud.ply', 'alone.ply')
    run('export', 'alone.ply', 'alone.html')
    for name in SIZES:
        page = opened(browser, 'alone.html', name)
        page.until("typeof camera !== 'undefined' && camera")
        inside = page.value(IN_WINDOW)
        print(f'{name}: {100 * inside:.0f} % of the Gaussians are in the window')
        assert inside > 0.88, inside
        assert not page.problems, page.problems
        page.close()


def test_export_of_model(browser):
    """One that was trained begins at a camera of the training, also when it is turned and scaled."""
    with open('model/cameras.json') as file:
        first = json.load(file)[0]
    x, y, z = first['position']
    for words, eye in ((('-m', 'model', '-o'), [x, -y, -z]),
                       (('model/point_cloud/iteration_40/point_cloud.ply',), [x, -y, -z]),
                       (('-m', 'model', '--up_axis', 'y', '--scale', '2', '-o'), [2 * x, 2 * y, 2 * z])):
        run('export', *words, 'page.html')
        for name, size in SIZES.items():
            page = opened(browser, 'page.html', name)
            page.until("typeof camera !== 'undefined' && camera")
            found = page.value('camera.target.map((t, k) => t + camera.distance * camera.rows[2][k])')
            assert all(abs(a - b) < 1e-4 for a, b in zip(found, eye)), (found, eye)
            high = page.value('seenAbove()')
            photo = [0.5 * first[a] / first[b] for a, b in (('width', 'fx'), ('height', 'fy'))]
            assert high > 0.999 * photo[1], 'the height of the photo is cut'
            assert high * size[0] / size[1] > 0.999 * photo[0] or abs(high / photo[1] - 1.5) < 1e-4, 'its width is cut'
            if len(words) == 1:
                check_hint(page, name)
            assert not page.problems, page.problems
            page.close()


# ---------------------------------------------------------------- the report

def test_report(browser):
    """Every text can be read, charts fill two columns of a desktop, and words fit the hand."""
    for name, size in SIZES.items():
        page = opened(browser, 'model/report.html', name)
        page.until("document.readyState === 'complete' && document.querySelectorAll('svg').length > 4")
        assert page.value('document.documentElement.scrollWidth') <= size[0], 'the page is wider than the window'
        small = page.value("""(() => { const small = [];
            for (const e of document.querySelectorAll('main *')) {
                if (!e.checkVisibility() || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
                const svg = e.closest('svg'), scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
                const px = parseFloat(getComputedStyle(e).fontSize) * scale;
                if (px < 11) small.push([e.textContent.slice(0, 30), px]);
            }
            return small; })()""")
        assert not small, f'{name}: {small[:5]}'
        crossed = page.value("""[...document.querySelectorAll('svg')].flatMap(svg => {
            const boxes = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
            return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([, q]) => p.left < q.right - 1 &&
                q.left < p.right - 1 && p.top < q.bottom - 4 && q.top < p.bottom - 4).map(([b]) => a + ' / ' + b)); })""")
        assert not crossed, f'{name}: words over words: {crossed}'
        columns = page.value("""(top => document.querySelectorAll('.charts')[0].querySelectorAll('.card').length > 1 &&
            [...document.querySelectorAll('.charts')[0].children].filter(e => e.offsetTop === top).length)(
            document.querySelector('.charts').children[0].offsetTop)""")
        assert columns == (2 if name == 'desktop' else 1), columns
        said = page.value("document.querySelector('main').innerText")
        assert ('Tap a render' in said) == (name == 'phone') and ('Point at a render' in said) == (name == 'desktop')
        assert not page.problems, page.problems
        page.close()


def main():
    if not find_chromium():
        print('SKIPPED: pages as files: there is no Chromium (scripts/install_deps.sh --browser)')
        return 77
    for name in ('scene', 'model'):
        shutil.rmtree(name, ignore_errors=True)
    run('sample', 'scene', '--scene', 'objects', '--width', '80', '--height', '60', '--cameras', '12', '--points',
        '400', '--truth_points', '20')
    run('train', '-s', 'scene', '-m', 'model', '-n', '40', '--test_iterations', '10', '20', '40', '--eval',
        '--backend', 'cpu')
    browser = Browser(webgl=True)
    with all_ended(browser):
        for test in (test_export_alone, test_export_of_model, test_report):
            test(browser)
            print(test.__name__)
    print('passed')
    return 0


sys.exit(main())
