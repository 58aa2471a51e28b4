"""The viewer's page in headless Chromium with `view SCENE` and `view MESH`: their pictures, kinds, photos and box.

    viewer_subjects.py PROGRAM"""
import base64, os, shutil, subprocess, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser, find_chromium, read_png
from pages import HEIGHT, PROGRAM, WIDTH, all_ended, bare_screenshot, lacks_civetweb, psnr, run, started, wait_for_full

LEAST_PSNR = 36  # of a JPEG of quality 92, against the render


def view(browser, *words):
    process = subprocess.Popen([PROGRAM, 'view', *words, '--port', '0'], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    started.append(process)
    page = browser.page(process.stdout.readline().strip(), WIDTH, HEIGHT)
    page.until("document.body.dataset.shown === 'full'")
    return process, page


def end(process, page):
    assert not page.problems, page.problems
    page.close()
    process.terminate()
    assert process.wait(60) == 0


def kinds(page):
    return page.value("[...$('what').options].filter(o => !o.disabled).map(o => o.value).join(' ')")


def beside_photo(page, view):
    """The picture of a view of the scene, as its camera has it."""
    page.value(f"$('picture').width = 1; goTo({view}); if (!beside) $('beside').click()")
    page.until("photo && photo.view === view && $('picture').width === 324")  # two of 160 x 120, and a gap
    url = page.value("""(() => {
        const out = new OffscreenCanvas(160, 120), g = out.getContext('2d');
        g.drawImage($('picture'), -164, 0);
        return out.convertToBlob().then(blob => new Promise(done => {
            const reader = new FileReader();
            reader.onload = () => done(reader.result);
            reader.readAsDataURL(blob);
        }));
    })()""")
    return read_png(base64.b64decode(url.split(',')[1]))


def mean(picture):
    return sum(sum(row) for row in picture[2]) / (3 * picture[0] * picture[1])


def test_scene(browser):
    process, page = view(browser, 'scene', '--backend', 'cpu')
    assert kinds(page) == 'color depth normal alpha density error', kinds(page)
    assert page.value("$('status').textContent.startsWith('400 points')"), page.value("$('status').textContent")
    assert page.value("$('explore').hidden"), 'points lie in no file that could be fetched'
    assert page.value('scene.views.length') == 12
    whole = mean(bare_screenshot(page))
    assert 0.2 < whole < 100, whole
    beside_photo(page, 5)
    page.value("$('beside').click(); box = {low: [90, 90, 90], high: [91, 91, 91]}; boxChanged(false)")
    wait_for_full(page)
    assert mean(bare_screenshot(page)) < 0.05, 'points outside the box are shown'
    page.screenshot('subject_scene.png')
    end(process, page)


def test_mesh(browser):
    process, page = view(browser, 'scene/ground_truth_mesh.ply', '-s', 'scene')
    assert kinds(page) == 'color depth normal error shaded', kinds(page)
    assert page.value("/^[0-9,]+ faces/.test($('status').textContent)"), page.value("$('status').textContent")
    run('render', '--mesh', 'scene/ground_truth_mesh.ply', '-s', 'scene', '--skip_test', '-o', 'theirs')
    for i in (0, 7):
        with open(f'theirs/train/mesh_ground_truth_mesh/color/{i:05}.png', 'rb') as file:
            ours = read_png(file.read())
        found = psnr(beside_photo(page, i), ours)
        print(f'view {i} of the mesh against its render: {found:.1f} dB')
        assert found > LEAST_PSNR
    page.key('4')  # a mesh has no alpha, and the page does not ask for it
    assert page.value('what') == 'color'
    page.key('7')
    page.until("what === 'shaded' && document.body.dataset.shown === 'full'")
    page.value("$('what').value = 'error'; $('what').onchange()")
    wait_for_full(page)
    assert psnr(beside_photo(page, 7), ours) < 20, 'the error against the photo is the picture itself'
    page.screenshot('subject_mesh.png')
    end(process, page)


def main():
    if not find_chromium():
        print('SKIPPED: the page of scenes and meshes: there is no Chromium (scripts/install_deps.sh --browser)')
        return 77
    for name in ('scene', 'theirs'):
        shutil.rmtree(name, ignore_errors=True)
    run('sample', 'scene', '--scene', 'objects', '--width', '160', '--height', '120', '--cameras', '12', '--points',
        '400', '--truth_points', '20')
    if lacks_civetweb('scene/none.obj'):
        print('SKIPPED: the page of scenes and meshes: built without civetweb')
        return 77
    browser = Browser()
    with all_ended(browser):
        test_scene(browser)
        test_mesh(browser)
    print('passed')
    return 0


sys.exit(main())
