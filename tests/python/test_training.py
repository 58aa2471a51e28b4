"""Scenes, training and models from Python: the same results as the library gives in C, exceptions that say what is
wrong, objects that may go in any order."""
import gc
import json
import os
import struct
import subprocess
import sys
import threading
import time
import unittest
import urllib.request
from pathlib import Path

import fixture
from fixture import CAMERAS, HEIGHT, WIDTH, needs_numpy, numpy, splatsmith
from splatsmith import c

sys.path.insert(0, str(fixture.SOURCE / "tests/viewer"))
from browser import WebSocket  # noqa: E402


def photos_of(scene, **extra):
    return [splatsmith.Photo(view.name, scene.photo(i), view.camera, **extra) for i, view in enumerate(scene)]


class Scenes(unittest.TestCase):
    def test_a_scene_in_files(self):
        scene = fixture.open_scene(eval=True, llffhold=4)
        self.assertEqual((len(scene), scene.info.n_test, scene.info.format), (CAMERAS, 2, "colmap"))
        self.assertEqual([v.is_test for v in scene], [i % 4 == 0 for i in range(CAMERAS)])
        self.assertEqual(scene[-1].name, scene[CAMERAS - 1].name)
        self.assertEqual(scene.photo(1).shape, (HEIGHT, WIDTH, 3))
        with self.assertRaises(IndexError):
            scene[CAMERAS]
        self.assertEqual(fixture.open_scene(resolution=2).photo(0).shape, (HEIGHT // 2, WIDTH // 2, 3))

    def test_a_scene_in_memory_is_the_same(self):
        files = fixture.open_scene()
        points, colors = files.points()
        memory = splatsmith.Scene.create(photos_of(files), points, colors, context=fixture.context)
        self.assertEqual((memory.info.format, memory.info.random_points, points.shape), ("memory", False, (300, 3)))
        self.assertEqual(tuple(a.tobytes() for a in memory.points()), (points.tobytes(), colors.tobytes()))
        for i, view in enumerate(files):
            self.assertEqual(memory[i].name, view.name)
            self.assertEqual(memory.photo(i).tobytes(), files.photo(i).tobytes())
            for a, b in zip(memory[i].camera.center, view.camera.center):
                self.assertAlmostEqual(a, b, places=5)

    def test_points_photos_and_tests_arrive(self):
        photos = photos_of(fixture.open_scene())
        photos[2].is_test = True
        photos[3].mask = memoryview(b"\xff" * (WIDTH * HEIGHT)).cast("B", (HEIGHT, WIDTH))
        scene = splatsmith.Scene.create(photos, points=[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]],
                                        colors=[[255, 0, 0]] * 5, context=fixture.context, eval=True)
        self.assertEqual((scene.info.n_points, scene.info.n_masked), (5, 1))
        self.assertEqual([view.name for view in scene if view.is_test], [photos[2].name])
        model = splatsmith.Trainer(scene, iterations=1).model
        self.assertEqual(sorted(model.means.tolist())[4], [1, 1, 1])
        self.assertAlmostEqual(model.sh_dc.tolist()[0][0], 0.5 / 0.28209479, places=4)  # red

    def test_a_scene_keeps_the_photos_that_it_borrows(self):
        pictures = [memoryview(bytearray([40 * i] * (WIDTH * HEIGHT * 3))).cast("B", (HEIGHT, WIDTH, 3))
                    for i in range(4)]
        views = list(fixture.open_scene())
        scene = splatsmith.Scene.create([splatsmith.Photo(v.name, p, v.camera) for v, p in zip(views, pictures)],
                                        context=fixture.context)
        del pictures
        gc.collect()
        self.assertEqual([scene.photo(i).tolist()[0][0][0] for i in range(4)], [0, 40, 80, 120])

    def test_a_lens_is_undistorted(self):
        view = fixture.open_scene()[0]
        gray = bytes([90]) * (WIDTH * HEIGHT * 3)
        pixels = memoryview(gray).cast("B", (HEIGHT, WIDTH, 3))
        camera = view.camera
        lens = ("OPENCV", [camera.fx, camera.fy, camera.cx, camera.cy, -0.2, 0.05, 0.001, 0])
        photo = splatsmith.Photo("a.png", pixels, camera, lens=lens)
        made = splatsmith.Scene.create([photo], context=fixture.context)[0].camera
        self.assertNotEqual((made.width, round(made.fx, 3)), (WIDTH, round(camera.fx, 3)))

    def test_what_is_wrong_is_said(self):
        camera = splatsmith.Camera(4, 4, 4)
        pixels = memoryview(bytearray(48)).cast("B", (4, 4, 3))
        with self.assertRaises(splatsmith.FileError) as raised:
            splatsmith.Scene.open("/nowhere", context=fixture.context)
        self.assertEqual((raised.exception.file, raised.exception.status), ("/nowhere", c.Status.ERROR_IO))
        self.assertIsInstance(raised.exception, OSError)
        self.assertIn("there is no such file or folder: name the folder of a scene (/nowhere)", str(raised.exception))
        create = splatsmith.Scene.create
        for error, words, make in (
                (ValueError, "its determinant must be 1", lambda: splatsmith.Camera(4, 4, 4, rotation=[1, 0, 0] * 3)),
                (splatsmith.ArgumentError, "must be \\(height, width, 3\\)",
                 lambda: create([splatsmith.Photo("a", bytes(48), camera)])),
                (splatsmith.ArgumentError, "none of COLMAP's models",
                 lambda: create([splatsmith.Photo("a", pixels, camera, lens=("opencv", [1] * 8))])),
                (splatsmith.ArgumentError, "has the shape \\(4, 4, 3\\); it must be that of the photo",
                 lambda: create([splatsmith.Photo("a", pixels, camera, mask=pixels)])),
                (splatsmith.ArgumentError, "`masks` is of scenes in files",
                 lambda: create([splatsmith.Photo("a", pixels, camera)], masks="m")),
                (splatsmith.ArgumentError, "there are none", lambda: create([])),
                (splatsmith.ArgumentError, "points has the shape \\(2,\\)",
                 lambda: create([splatsmith.Photo("a", pixels, camera)], points=[1.0, 2.0])),
                (splatsmith.ArgumentError, "takes one of ignore.segment.alpha, not 'some'",
                 lambda: fixture.open_scene(mask_mode="some")),
                (TypeError, "no option 'depth'; did you mean 'depths'\\?", lambda: fixture.open_scene(depth=1)),
                (TypeError, "no option 'resolutoin'; did you mean 'resolution'\\?",
                 lambda: fixture.open_scene(resolutoin=2)),
                (TypeError, "no option 'zzz'$", lambda: fixture.open_scene(zzz=2)),
                (TypeError, "option 'resolution'", lambda: fixture.open_scene(resolution=[2])),
                (splatsmith.ArgumentError, "`resolution` takes a whole number from -1 to 65500, not 'half'",
                 lambda: fixture.open_scene(resolution="half")),
                (splatsmith.ArgumentError, "`image_cache_gb` takes a number", lambda: fixture.open_scene(
                    image_cache_gb="8X"))):
            with self.assertRaisesRegex(error, words):
                make()


class Training(unittest.TestCase):
    def test_steps_are_an_iterator(self):
        trainer = splatsmith.Trainer(fixture.open_scene(), iterations=6)
        first = next(iter(trainer))
        self.assertEqual((first.iteration, trainer.iteration), (1, 1))
        steps = list(trainer)  # goes on
        self.assertEqual([step.iteration for step in steps], [2, 3, 4, 5, 6])
        self.assertEqual(list(trainer), [])
        self.assertTrue(all(0 < step.loss < 1 and step.n_gaussians == 300 for step in steps))
        self.assertEqual(trainer.step().iteration, 7)

    def test_training_in_python_gives_the_bytes_of_a_run(self):
        trainer = fixture.trained(12)
        trainer.model.save("steps.ply")
        folder = fixture.fresh("python_run")
        splatsmith.Trainer(fixture.open_scene(), iterations=12).run(folder)
        saved = (folder / "point_cloud/iteration_12/point_cloud.ply").read_bytes()
        self.assertEqual(Path("steps.ply").read_bytes(), saved)

    def test_options_arrive(self):
        trainer = splatsmith.Trainer(fixture.open_scene(), iterations=3, sh_degree=1, init_opacity=0.5)
        self.assertEqual(trainer.model.info.sh_degree, 1)
        self.assertAlmostEqual(trainer.model.mean_opacity, 0.5, places=5)
        as_text = splatsmith.Trainer(fixture.open_scene(image_cache_gb="512M", eval="no"), iterations="3",
                                     target_gaussian_count="0.2K", sh_storage="FLOAT16")
        self.assertEqual(as_text.model.info.n_gaussians, 100)  # half of the cap, to begin with
        mcmc = splatsmith.Trainer(fixture.open_scene(), strategy="mcmc", iterations=3)
        self.assertAlmostEqual(mcmc.model.mean_opacity, 0.5, places=5)  # a default of its own
        for words, options in (("must be from 1 to", {"iterations": 0}), ("cannot be -1", {"seed": -1}),
                               ("strategy must be one of", {"strategy": "x"}),
                               ("has no strategy", {"strategy": "mcmc", "regularization": "density"})):
            with self.assertRaisesRegex(splatsmith.ArgumentError, words):
                splatsmith.Trainer(fixture.open_scene(), **options)
        with self.assertRaisesRegex(TypeError, "no option 'size'"):
            splatsmith.Trainer(fixture.open_scene(), size=3)
        with self.assertRaisesRegex(TypeError, "no option 'n_samples'"):  # of coarse training
            splatsmith.Trainer(fixture.open_scene(), n_samples=3)

    def test_coarse_training_has_its_losses(self):
        fixture.trained().model.save("coarse.ply")
        trainer = splatsmith.Trainer(fixture.open_scene(), regularization="density", n_samples=500, first_iteration=0,
                                     regularize_after=2, iterations=4)
        trainer.start_coarse("coarse.ply")
        for _ in trainer:
            pass
        self.assertIn("estimation", [loss.name for loss in trainer.losses()])

    def test_a_checkpoint_goes_on(self):
        trainer = fixture.trained(4)
        trainer.save_checkpoint("python.splatsmith")
        steps = [trainer.step().loss, trainer.step().loss]
        other = splatsmith.Trainer(fixture.open_scene(), iterations=4)
        other.load_checkpoint("python.splatsmith")
        self.assertEqual([other.step().loss, other.step().loss], steps)

    def test_a_run_tells_its_events(self):
        events = []
        trainer = splatsmith.Trainer(fixture.open_scene(eval=True), iterations=6)

        def receive(event):
            events.append(event)
            if event.kind == "saved":  # the model may be looked at
                self.assertGreater(trainer.model.render(trainer.scene[0].camera).size, 0)
                with self.assertRaisesRegex(RuntimeError, "this is a callback of it"):
                    trainer.step()

        trainer.run(fixture.fresh("python_events"), receive, test_iterations=[3], save_iterations=[2])
        kinds = [event.kind for event in events]
        self.assertEqual((kinds.count("step"), kinds.count("saved")), (6, 2))
        tested = [event for event in events if event.kind == "evaluation" and event.set == "test"]
        self.assertEqual([event.step.iteration for event in tested], [3, 6])
        self.assertGreater(tested[1].metrics.psnr, 5)
        self.assertTrue(events[-1].path.endswith("point_cloud.ply") or events[-1].kind == "evaluation")

    def test_an_exception_ends_a_run_and_keeps_what_it_reached(self):
        class Enough(Exception):
            pass

        def receive(event):
            if event.step.iteration == 3:
                raise Enough("three")

        trainer = splatsmith.Trainer(fixture.open_scene(), iterations=50)
        folder = fixture.fresh("python_ended")
        with self.assertRaisesRegex(Enough, "three"):
            trainer.run(folder, receive)
        self.assertEqual(trainer.iteration, 3)
        self.assertTrue((folder / "point_cloud/iteration_3/point_cloud.ply").exists())
        trainer.step()  # and all goes on

    def test_an_array_that_an_event_keeps_ends_the_run(self):
        kept = []
        trainer = splatsmith.Trainer(fixture.open_scene(), iterations=50)
        with self.assertRaisesRegex(BufferError, "cannot be trained on after this event"):
            trainer.run(fixture.fresh("python_kept"), lambda event: kept.append(trainer.model.means))
        self.assertEqual(trainer.iteration, 1)

    def test_interrupts_end_a_run(self):
        """Ctrl-C, as a user's program gets it: the splat is saved, and KeyboardInterrupt comes out."""
        program = (
            "import fixture, os, signal, threading\n"
            "trainer = fixture.splatsmith.Trainer(fixture.open_scene(), iterations=1000)\n"
            "begun = threading.Event()\n"
            "def interrupt(): begun.wait(); os.kill(os.getpid(), signal.SIGINT)\n"
            "threading.Thread(target=interrupt).start()\n"
            "try: trainer.run(fixture.fresh('python_interrupted'), lambda event: begun.set())\n"
            "except KeyboardInterrupt: print('interrupted', trainer.iteration < 1000)\n"
            "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n")
        fixture.sample()
        path = os.pathsep.join([str(fixture.SOURCE / "tests/python"), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run([sys.executable, "-c", program], env=dict(os.environ, PYTHONPATH=path), timeout=60,
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "interrupted True\n")
        self.assertTrue(list(Path("python_interrupted/point_cloud").glob("*/point_cloud.ply")))

    def test_a_stop_from_another_thread_is_an_exception(self):
        trainer = splatsmith.Trainer(fixture.open_scene(), iterations=100000)
        begun = threading.Event()
        stopper = threading.Thread(target=lambda: (begun.wait(), trainer.request_stop()))
        stopper.start()
        with self.assertRaises(splatsmith.Stopped):
            trainer.run(fixture.fresh("python_stopped"), lambda event: begun.set())
        stopper.join()


class Models(unittest.TestCase):
    def test_a_model_of_arrays_renders_the_same(self):
        trainer = fixture.trained(20)
        m, camera = trainer.model, fixture.open_scene()[1].camera
        made = splatsmith.Model.from_arrays(m.means, m.opacities, m.scales, m.rotations, m.sh_dc, m.sh_rest,
                                            m.filter_3d, context=fixture.context)
        self.assertEqual(made.info, m.info)
        self.assertEqual(made.render(camera).tobytes(), m.render(camera).tobytes())
        rest = [[[0.5 * i, 0.25, -1.0]] * 3 for i in range(len(m))]
        made = splatsmith.Model.from_arrays(m.means, m.opacities, m.scales, m.rotations, m.sh_dc, rest,
                                            context=fixture.context)
        self.assertEqual((made.sh_rest.tolist(), made.info.sh_degree, made.filter_3d), (rest, 1, None))
        with self.assertRaisesRegex(splatsmith.ArgumentError, "scales has the shape"):
            splatsmith.Model.from_arrays(m.means, m.opacities, m.opacities, m.rotations, m.sh_dc)
        with self.assertRaisesRegex(splatsmith.ArgumentError, "sh_rest has the shape"):
            splatsmith.Model.from_arrays(m.means, m.opacities, m.scales, m.rotations, m.sh_dc, [[[1.0, 2.0, 3.0]]])

    def test_one_gaussian_is_where_the_camera_looks(self):
        """Conventions, end to end: x right, y down, z forward, from the top left."""
        camera = splatsmith.Camera(40, 20, 20)
        at = camera_pixel = (30, 5)  # right of the middle and above it
        x, y = ((at[0] + 0.5 - camera.cx) / camera.fx, (at[1] + 0.5 - camera.cy) / camera.fy)
        model = splatsmith.Model.from_arrays([[2 * x, 2 * y, 2.0]], [10.0], [[-4.0] * 3], [[1.0, 0, 0, 0]],
                                             [[1.0, -1.7, -1.7]], context=fixture.context)
        rows = model.render(camera).tolist()
        brightest = max(((rows[j][i][0], (i, j)) for j in range(20) for i in range(40)))[1]
        self.assertEqual(brightest, camera_pixel)
        self.assertGreater(rows[5][30][0], 2 * rows[5][30][1])  # red
        opengl = [[1, 0, 0, 0], [0, -1, 0, 0], [0, 0, -1, 0]]
        same = splatsmith.Camera.from_c2w(opengl, 40, 20, 20, convention="opengl")
        self.assertEqual(model.render(same).tobytes(), model.render(camera).tobytes())
        maps = model.render_geometry(camera)
        self.assertAlmostEqual(maps.median.tolist()[5][30], 2.0, places=2)
        self.assertEqual((maps.normal.shape, maps.blended.typestr), ((20, 40, 3), "<u4"))
        self.assertEqual(maps.blended.tolist()[5][30], 1)

    def test_cameras_agree_on_what_they_are(self):
        turned = splatsmith.Camera.look_at((3, 1, 2), (0, 0, 0.5), 64, 48, fov_y=40)
        self.assertAlmostEqual(turned.center[0], 3)
        again = splatsmith.Camera.from_c2w(turned.c2w, 64, 48, turned.fx)
        other = splatsmith.Camera.from_w2c(turned.w2c, 64, 48, turned.fx)
        for a, b, d in zip(sum(turned.w2c, []), sum(again.w2c, []), sum(other.w2c, [])):
            self.assertAlmostEqual(a, b)
            self.assertAlmostEqual(a, d)
        forward, up = turned.rotation[2], turned.rotation[1]
        self.assertLess(forward[0], 0)  # it looks back to the origin ...
        self.assertLess(up[2], 0)  # ... and y is down
        half = splatsmith.Camera.from_quaternion((0, 0, 0, 2), (1, 2, 3), 8, 8, 8)
        self.assertEqual(half.rotation, ((-1, 0, 0), (0, -1, 0), (0, 0, 1)))
        self.assertEqual(half.center, (1, 2, -3))

    def test_models_are_saved_loaded_changed_and_measured(self):
        trainer = fixture.trained(20)
        trainer.model.save("python.ply", fused=True)
        model = splatsmith.Model.load("python.ply", context=fixture.context)
        n = len(trainer.model)  # 300 points, and places where photos match
        self.assertGreaterEqual(n, 300)
        self.assertEqual((len(model), model.info.has_filter_3d, model.filter_3d), (n, False, None))
        model.reduce_sh(1)
        self.assertEqual(model.sh_rest.shape, (n, 3, 3))
        counts = model.clean(bbox_low=(-1, -1, -1), bbox_high=(1, 1, 1))
        self.assertEqual(counts.n_before - counts.n_removed, len(model))
        self.assertTrue(0 < len(model) < 300 and all(abs(x) <= 1 for row in model.means.tolist() for x in row))
        model.transform((1, 0, 0, 0), 2.0)
        self.assertTrue(any(abs(x) > 1 for row in model.means.tolist() for x in row))
        seen = []
        scene = fixture.open_scene(eval=True)
        metrics = trainer.model.evaluate(scene, lambda *shown: seen.append(shown), set="train")
        self.assertEqual((metrics.n_views, metrics.lpips_net), (CAMERAS - 1, None))
        self.assertEqual(len(seen), CAMERAS - 1)
        view, picture, photo, own = seen[0]
        self.assertEqual((picture.shape, photo.shape), ((HEIGHT, WIDTH, 3),) * 2)
        mean = sum(abs(a - b / 255) for row, photo_row in zip(picture.tolist(), photo.tolist())
                   for p, q in zip(row, photo_row) for a, b in zip(p, q)) / picture.size
        self.assertAlmostEqual(own.l1, mean, places=5)

        def fail(*_):
            raise LookupError(view.name)

        with self.assertRaises(LookupError):
            trainer.model.evaluate(scene, fail)
        with self.assertRaisesRegex(RuntimeError, "cannot be called from this callback"):
            trainer.model.evaluate(scene, lambda *_: trainer.model.render(view.camera))

    def test_a_picture_is_written(self):
        model, camera = fixture.trained().model, fixture.open_scene()[0].camera
        picture = model.render(camera)
        splatsmith.save_png("a.png", picture)
        splatsmith.save_png("b.png", picture.tolist() if numpy is None else numpy.ascontiguousarray(picture))
        self.assertEqual(Path("a.png").read_bytes(), Path("b.png").read_bytes())
        self.assertEqual(Path("a.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        with self.assertRaises(splatsmith.FileError):
            splatsmith.save_png("absent/a.png", picture)


class Lives(unittest.TestCase):
    def test_objects_may_go_in_any_order(self):
        for order in ((0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)):
            context = splatsmith.Context(backend="cpu", threads=1)
            scene = splatsmith.Scene.open(fixture.sample(), context=context)
            trainer = splatsmith.Trainer(scene, iterations=2)
            objects = [context, scene, trainer, trainer.model]
            for i in order:
                objects[i].close()
            with self.assertRaisesRegex(ValueError, "this trainer is closed"):
                trainer.step()
            with self.assertRaisesRegex(ValueError, "this scene is closed"):
                len(scene)

    def test_a_circle_of_objects_goes(self):
        class Holder:
            pass

        holder = Holder()
        holder.trainer, holder.me = fixture.trained(), holder
        before = fixture.context.memory.bytes
        del holder
        gc.collect()
        self.assertLess(fixture.context.memory.bytes, before)

    def test_the_log_is_the_programs(self):
        lines = []
        context = splatsmith.Context(log=lambda level, line: lines.append((level, line)), backend="cpu")
        photos = photos_of(fixture.open_scene())
        splatsmith.Scene.create(photos, context=context)
        self.assertTrue(any("the scene has no points" in line for _, line in lines), lines)

        def fail(level, line):
            raise LookupError(line)

        with self.assertRaisesRegex(LookupError, "no points"):
            splatsmith.Scene.create(photos, context=splatsmith.Context(log=fail, backend="cpu"))
        with self.assertLogs("splatsmith", "INFO") as logged:
            splatsmith.Scene.create(photos, context=fixture.context)
        self.assertIn("the scene has no points", logged.output[0])

    def test_contexts_of_threads_work_at_once(self):
        losses = [None] * 2

        def work(i):
            context = splatsmith.Context(backend="cpu", threads=1)
            trainer = splatsmith.Trainer(splatsmith.Scene.open(fixture.sample(), context=context), iterations=5)
            losses[i] = [step.loss for step in trainer]

        fixture.sample()
        threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(losses[0], losses[1])
        self.assertEqual(len(losses[0]), 5)

    def test_a_gpu_that_is_absent_is_an_exception(self):
        try:
            splatsmith.devices()
        except (splatsmith.DeviceError, splatsmith.UnsupportedError):
            with self.assertRaises((splatsmith.DeviceError, splatsmith.UnsupportedError)):
                splatsmith.Context(backend="cuda")

    def test_records_have_the_fields_of_their_structs(self):
        for record, struct in ((splatsmith.Step, c.splat_step_info), (splatsmith.Metrics, c.splat_metrics),
                               (splatsmith.SceneInfo, c.splat_scene_info), (splatsmith.ModelInfo, c.splat_model_info),
                               (splatsmith.MemoryInfo, c.splat_memory_info), (splatsmith.Loss, c.splat_loss),
                               (splatsmith.CleanCounts, c.splat_clean_counts),
                               (splatsmith.Device, c.splat_device_info)):
            self.assertEqual(list(record._fields), [name for name, _ in struct._fields_ if name != "size"])
        self.assertEqual(splatsmith.version(), splatsmith.__version__)


@unittest.skipIf(fixture.HIDES_NUMPY, "needs no numpy, and seconds to end")
class Viewing(unittest.TestCase):
    @staticmethod
    def opened(test):
        try:
            return splatsmith.Viewer(title="from Python")
        except splatsmith.UnsupportedError as without:
            test.skipTest(str(without))

    def test_a_page_shows_a_run(self):
        with self.opened(self) as viewer:
            answers = []

            def receive(event):
                if event.kind == "step" and event.step.iteration == 2:
                    with urllib.request.urlopen(viewer.address.replace("/?", "/api/scene?"), timeout=20) as answer:
                        answers.append(json.load(answer))

            trainer = splatsmith.Trainer(fixture.open_scene(), iterations=3)
            trainer.run(fixture.fresh("python_viewed"), receive, viewer=viewer)
            trainer.close()
            self.assertEqual((answers[0]["title"], len(answers[0]["views"])), ("from Python", CAMERAS))
        with self.assertRaisesRegex(ValueError, "this viewer is closed"):
            trainer = splatsmith.Trainer(fixture.open_scene(), iterations=3)
            trainer.run(fixture.fresh("python_viewed"), viewer=viewer)

    def test_pictures_are_rendered_for_those_who_ask(self):
        """Acts as a browser: a WebSocket that requests a picture."""
        viewer, scene = self.opened(self), fixture.open_scene()
        fixture.trained().model.save("viewed.ply")
        model = splatsmith.Model.load("viewed.ply", context=fixture.context)
        self.assertFalse(viewer.serve(model, scene))
        client = WebSocket(viewer.address.replace("/?", "/ws?"))
        camera = {"seq": 1, "position": [0, 0, -5], "fov_y": 50, "quaternion": [1, 0, 0, 0]}
        client.send(json.dumps({"camera": camera, "size": [64, 48], "moving": False}))
        deadline = time.monotonic() + 20
        while not viewer.serve(model, scene, seconds=0.1):
            self.assertLess(time.monotonic(), deadline, "no picture was wanted")
        messages = [client.receive()]
        while messages[-1][0] != 2:  # texts before it
            messages.append(client.receive())
        picture = messages[-1][1]
        self.assertEqual((struct.unpack("<HH", picture[12:16]), picture[20:22]), ((64, 48), b"\xff\xd8"))  # a JPEG
        scene.close()
        self.assertIsNotNone(scene._handle.pointer)  # the viewer still has it
        viewer.serve(model)
        self.assertIsNone(scene._handle.pointer)
        client.close()
        address = viewer.address
        viewer.close()
        with self.assertRaises(OSError):
            urllib.request.urlopen(address, timeout=5)
        with self.assertRaisesRegex(ValueError, "this viewer is closed"):
            viewer.serve(model)


if __name__ == "__main__":
    fixture.main()
