"""Splatsmith: photos in, a Gaussian splat out.

    import splatsmith

    scene = splatsmith.Scene.open("garden", eval=True)
    trainer = splatsmith.Trainer(scene, iterations=7000)
    for step in trainer:
        print(step.iteration, step.loss, step.n_gaussians)
    trainer.model.save("garden.ply", fused=True)
    splatsmith.save_png("view.png", trainer.model.render(scene[0].camera))

Conventions: lengths in scene units; camera space x right, y down, z forward (COLMAP, OpenCV); poses world to camera;
quaternions (w, x, y, z); pictures [height][width][channels] from the top left; pixel (i, j) is sampled at
(i + 1/2, j + 1/2). docs/python.md has the manual; all else that the library can do is in `splatsmith.c`, the C
interface as ctypes, and `splatsmith.library()`.
"""
from . import _c as c
from ._c import (ArrayType, EventKind, LogLevel, MaskMode, Regularization, RenderMode, SampleScene, ShStorage,
                 Undistort, ViewSet)
from ._native import library
from .arrays import Array
from .camera import Camera
from .context import Context, Device, MemoryInfo, default_context, devices, version
from .errors import (ArgumentError, CheckpointError, DeviceError, Error, FileError, FormatError, InternalError,
                     NumericError, OutOfMemoryError, RankError, Stopped, UnsupportedError)
from .model import CleanCounts, GeometryMaps, Metrics, Model, ModelInfo, save_png
from .pipeline import PipelineResult, Progress, Stage, run_pipeline
from .scene import Photo, Scene, SceneInfo, View, write_sample
from .training import Event, Loss, Step, Trainer
from .viewer import Viewer

__version__ = c.SPLATSMITH_VERSION

__all__ = [
    "ArgumentError", "Array", "ArrayType", "Camera", "CheckpointError", "CleanCounts", "Context", "Device",
    "DeviceError", "Error", "Event", "EventKind", "FileError", "FormatError", "GeometryMaps", "InternalError",
    "LogLevel", "Loss", "MaskMode", "MemoryInfo", "Metrics", "Model", "ModelInfo", "NumericError",
    "OutOfMemoryError", "Photo", "PipelineResult", "Progress", "RankError", "Regularization", "RenderMode", "SampleScene", "Scene", "SceneInfo",
    "ShStorage", "Stage", "Step", "Stopped", "Trainer", "Undistort", "UnsupportedError", "View", "ViewSet", "Viewer",
    "__version__", "c", "default_context", "devices", "library", "run_pipeline", "save_png", "version", "write_sample",
]
