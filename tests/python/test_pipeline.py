"""run_pipeline: files and figures, progress and messages, a run that is interrupted and goes on, what is refused."""
import functools
import json
import logging
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import fixture
from fixture import splatsmith

# Small enough for seconds.
SMALL = dict(eval=True, iterations=400, densify_from_iter=100, densify_until_iter=300, cap_max=3000,
             coarse_iterations=7090, regularize_after=7030, prune_opacity=0.05, n_samples=2000, surface_points=5000,
             poisson_depth=6, min_component_faces=0, refinement_iterations=20, texture_size=128, tensorboard=False,
             threads=2, backend="cpu", test_iterations=[100, 200])
RESULTS = ["refined.ply", "refined_mesh.ply", "textured.glb"]
STAGES = ["train", "coarse", "mesh", "refine", "texture"]


def sample() -> Path:
    """A scene that has surface enough for a mesh."""
    folder = Path("pipeline_scene")
    if not folder.exists():
        splatsmith.write_sample(folder, context=fixture.context, width=64, height=48, n_cameras=16, n_points=600,
                                n_truth=1000)
    return folder


def run(folder, **options):
    options.setdefault("on_message", lambda level, text: None)
    return splatsmith.run_pipeline(sample(), folder, **{**SMALL, **options})


def states(result):
    return [(stage.name, stage.state) for stage in result.stages]


@functools.cache
def base() -> Path:
    """A whole run, made once by each run of the tests: one of another build may have other bytes."""
    run(fixture.fresh("base"))
    return Path("base")


class Runs(unittest.TestCase):
    def assert_same_results(self, a, b):
        for name in RESULTS:
            self.assertEqual((Path(a) / name).read_bytes(), (Path(b) / name).read_bytes(), name)

    def test_a_whole_run(self):
        seen, messages = [], []
        result = run(fixture.fresh("whole"), on_progress=seen.append,
                     on_message=lambda level, text: messages.append((level, text)))
        self.assertEqual(result.files, [f"whole/{name}" for name in RESULTS])
        self.assertEqual(states(result), [(name, "complete") for name in STAGES])
        for stage in result.stages:
            self.assertTrue(stage.seconds > 0 and stage.peak_bytes > 0 and Path(stage.path).exists(), stage)
            self.assertEqual(stage.psnr is None, stage.name == "mesh")
        self.assertIn((logging.INFO, "[1/5] train"), messages)
        self.assertTrue(any("Evaluating test" in text and "[ITER 100]" in text for _, text in messages))
        self.assertTrue({"train", "coarse", "refine"} <= {p.stage for p in seen})
        self.assertTrue(all(0 <= p.fraction <= 1 and p.text for p in seen))
        self.assertEqual(max(p.iteration for p in seen if p.stage == "train"), 400)
        self.assert_same_results("whole", base())

    def test_a_finished_run_is_left_alone(self):
        folder = fixture.fresh("again")
        shutil.copytree(base(), folder)
        times = {path: path.stat().st_mtime_ns for path in folder.glob("*/stage.json")}
        self.assertEqual(states(run(folder)), [(name, "done before") for name in STAGES])
        self.assertEqual(times, {path: path.stat().st_mtime_ns for path in folder.glob("*/stage.json")})
        changed = run(folder, skip_refine=True, bboxmin=None)
        self.assertEqual(changed.stages[3].state, "left out")
        self.assertEqual(changed.files, ["again/textured.glb"])

    def test_messages_go_to_the_logger(self):
        folder = fixture.fresh("logged")
        shutil.copytree(base(), folder)
        with self.assertLogs("splatsmith", logging.INFO) as logs:
            run(folder, on_message=None)
        self.assertTrue(any("[5/5] texture: done before" in line for line in logs.output))

    def test_an_exception_ends_the_run_which_goes_on(self):
        folder = fixture.fresh("raised")

        def fail(progress):
            raise LookupError(progress.stage)

        with self.assertRaisesRegex(LookupError, "train"):
            run(folder, on_progress=fail)
        self.assertIn('"stopped"', (folder / "pipeline.json").read_text())
        self.assertTrue(list((folder / "train").glob("chkpnt*.splatsmith")))
        messages = []
        run(folder, on_message=lambda level, text: messages.append(text))
        self.assertIn("[1/5] train: goes on from its last checkpoint", messages)
        self.assert_same_results(folder, base())

    def test_ctrl_c(self):
        """As a user's program gets it: KeyboardInterrupt comes out, and the same call goes on."""
        folder = fixture.fresh("interrupted")
        program = (
            "import os, signal, sys\n"
            f"sys.path.insert(0, {str(fixture.SOURCE / 'python')!r})\n"
            "import splatsmith\n"
            "def interrupt(level, text):\n"
            "    if text.startswith('[2/5] coarse'): os.kill(os.getpid(), signal.SIGINT)\n"
            f"try: splatsmith.run_pipeline({str(sample())!r}, {str(folder)!r}, on_message=interrupt, **{SMALL!r})\n"
            "except KeyboardInterrupt: print('interrupted')\n"
            "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n")
        done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=240, env=os.environ)
        self.assertEqual((done.returncode, done.stdout), (0, b"interrupted\n"), done.stderr.decode())
        last = json.loads((folder / "pipeline.json").read_text())["stages"][-1]
        self.assertEqual((last["stage"], last["state"]), ("texture", "waiting"))  # a short stage may end before the stop
        self.assertEqual(run(folder).stages[0].state, "done before")
        self.assert_same_results(folder, base())


class Refusals(unittest.TestCase):
    def test_options(self):
        for options, sentence in (({"poisson_dept": 6}, "did you mean `poisson_depth`"),
                                  ({"poisson_depth": 99}, "`poisson_depth` takes"),
                                  ({"poisson_depth": True}, "`poisson_depth` needs a value"),
                                  ({"output": "elsewhere"}, "`output` is no setting"),
                                  ({"low_poly": True, "high_poly": True}, "exclude each other")):
            with self.subTest(options), self.assertRaisesRegex(splatsmith.ArgumentError, sentence):
                run(fixture.fresh("refused"), **options)
        with self.assertRaisesRegex(TypeError, "'poisson_depth' cannot be"):
            run(fixture.fresh("refused"), poisson_depth=object())
        self.assertFalse(Path("refused").exists())

    def test_folders(self):
        with self.assertRaisesRegex(splatsmith.FileError, "cannot open the scene"):
            splatsmith.run_pipeline("absent", fixture.fresh("refused"))
        Path("file").write_text("no folder")
        with self.assertRaisesRegex(splatsmith.FileError, "cannot create the folder"):
            run("file/out")


if __name__ == "__main__":
    fixture.main()
