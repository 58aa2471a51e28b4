"""Fixtures of the Python package: a sample scene, made once in the folder that they run in, and whether
numpy is there (SPLATSMITH_TEST_WITHOUT_NUMPY hides it)."""
import os
import shutil
import sys
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "python"))
HIDES_NUMPY = bool(os.environ.get("SPLATSMITH_TEST_WITHOUT_NUMPY"))
if HIDES_NUMPY:
    sys.modules["numpy"] = None  # importing it is an ImportError

try:
    import numpy
except ImportError:
    numpy = None

import splatsmith  # noqa: E402

WIDTH, HEIGHT, CAMERAS = 64, 48, 8
SAMPLE = Path("python_scene_without_numpy" if numpy is None else "python_scene")
needs_numpy = unittest.skipIf(numpy is None, "needs numpy")

context = splatsmith.Context(backend="cpu", threads=2)


def sample() -> Path:
    """The folder of a scene of eight photos."""
    if not SAMPLE.exists():
        splatsmith.write_sample(SAMPLE, context=context, width=WIDTH, height=HEIGHT, n_cameras=CAMERAS, n_points=300,
                                n_truth=10, supersample=1)
    return SAMPLE


def fresh(name: str) -> Path:
    """A folder that is not there yet."""
    path = Path(name)
    shutil.rmtree(path, ignore_errors=True)
    return path


def open_scene(**options) -> splatsmith.Scene:
    return splatsmith.Scene.open(sample(), context=context, **options)


def trained(steps: int = 5, **options) -> splatsmith.Trainer:
    trainer = splatsmith.Trainer(open_scene(), iterations=steps, **options)
    for _ in trainer:
        pass
    return trainer


def main() -> None:
    """Runs the tests of the calling module; what is skipped is said loudly."""
    result = unittest.main(exit=False, verbosity=1).result
    for reason in [] if HIDES_NUMPY else sorted({reason for _, reason in result.skipped}):
        n = sum(1 for _, r in result.skipped if r == reason)
        print(f"SKIPPED: {n} tests: {reason}")
    sys.exit(not result.wasSuccessful())
