"""From photos to a textured mesh in one call."""
import ctypes
import logging
import math
import operator
import os
from ctypes import byref
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Union

from . import _c, _native
from .context import logger

PathLike = Union[str, "os.PathLike[str]"]
Setting = Union[bool, int, float, str, "os.PathLike[str]", Sequence[Union[int, float]], None]

_LEVELS = {int(_c.PipelineMessage.RESULT): logging.INFO, int(_c.PipelineMessage.NOTICE): logging.INFO,
           int(_c.PipelineMessage.WARNING): logging.WARNING, int(_c.PipelineMessage.ERROR): logging.ERROR}
_INTERVAL = 0.1


class Progress(NamedTuple):
    """How far a stage is. activity: the stage, or a part of it; text: a line for people; fraction: of the activity,
    0 to 1; iteration: of a training, else 0."""
    stage: str
    activity: str
    text: str
    fraction: float
    iteration: int


class Stage(NamedTuple):
    """A stage after the run. state: "complete", "done before", "left out". Figures are those of all runs that worked on
    it: seconds, bytes of the context and of the process at most, psnr of the test views (None: not measured). path: the
    main result, None without one; summary: "81234 Gaussians"."""
    name: str
    state: str
    seconds: float
    peak_bytes: int
    host_peak_bytes: int
    psnr: Optional[float]
    summary: str
    path: Optional[str]


class PipelineResult(NamedTuple):
    """files: the results, as "out/textured.glb"."""
    files: List[str]
    stages: List[Stage]


def run_pipeline(source: PathLike, folder: PathLike, on_progress: Optional[Callable[[Progress], Any]] = None,
                 on_message: Optional[Callable[[int, str], Any]] = None, **options: Setting) -> PipelineResult:
    """Does what `splatsmith pipeline -s source -o folder` does: train, coarse, mesh, refine and texture, as far as they
    are missing; photos without cameras, and videos, get theirs from COLMAP first.

        result = splatsmith.run_pipeline("photos", "out", eval=True, high_poly=True, refinement_time="short")
        print(result.files)

    Options: those of the command (docs/options.md), by their names. A number, a text or a path is the value; True is
    the option alone, False "false", and None leaves it out; a sequence of numbers is a list or a point.

    on_progress: called with a Progress, at most ten times a second. on_message: called with a level of `logging` and a
    sentence; None: the logger "splatsmith". An exception in them, and Ctrl-C, ends the run: a training after the step
    in progress, with a checkpoint. The same call goes on from there, and runs no stage again that is done.

    ArgumentError: an option; all are checked before the first stage. FileError: also a folder in which another run is at
    work. Other errors are those of the stages."""
    session = _native.Session()
    callbacks = _callbacks(session, on_progress, on_message)
    struct = _native.struct_of(_c.splat_pipeline_options)
    struct.source, struct.folder = _native.path_bytes(source), _native.path_bytes(folder)
    settings = [(name, value) for name, value in options.items() if value is not None]
    texts = [(name.encode(), _text(name, value)) for name, value in settings]
    struct.settings = (_c.splat_pipeline_setting * len(texts))(*texts)
    struct.n_settings = len(texts)
    result = _c.splat_pipeline_result()
    try:
        session.call_for_long("splat_pipeline_run", byref(struct), byref(callbacks), byref(result))
        return _result_of(result)
    finally:
        _native.library().splat_pipeline_result_free(byref(result))


def _callbacks(session: _native.Session, on_progress: Optional[Callable[[Progress], Any]],
               on_message: Optional[Callable[[int, str], Any]]) -> Any:
    """The struct of callbacks. progress is there in every case: it ends the run after Ctrl-C."""
    def receive_message(_user: Any, kind: int, text: bytes) -> None:
        sentence = text.decode("utf-8", "replace")
        if on_message is None:
            logger.log(_LEVELS[kind], "%s", sentence)
        else:
            on_message(_LEVELS[kind], sentence)

    def receive_progress(_user: Any, progress: Any) -> bool:
        if on_progress is not None:
            p = progress.contents
            on_progress(Progress(p.stage.decode(), p.activity.decode(), p.text.decode("utf-8", "replace"), p.fraction,
                                 p.iteration))
        return not session.has_raised

    callbacks = _native.struct_of(_c.splat_pipeline_callbacks)
    kinds = dict(_c.splat_pipeline_callbacks._fields_)
    callbacks.interval = _INTERVAL
    callbacks.message = kinds["message"](session.guard(receive_message))
    callbacks.progress = kinds["progress"](session.guard(receive_progress, otherwise=False))
    return callbacks


def _text(name: str, value: Any) -> Optional[bytes]:
    """A value as the command line takes it; None: the option alone."""
    if value is True:
        return None
    if value is False:
        return b"false"
    if isinstance(value, (str, bytes, os.PathLike)):
        return os.fsencode(value)
    if hasattr(value, "__iter__"):
        return b",".join(_number(name, number) for number in value)
    return _number(name, value)


def _number(name: str, value: Any) -> bytes:
    try:
        return str(operator.index(value)).encode()
    except TypeError:
        pass
    try:
        return repr(float(value)).encode()
    except (TypeError, ValueError) as wrong:
        raise TypeError(f"option {name!r} cannot be {value!r}") from wrong


def _result_of(result: Any) -> PipelineResult:
    files = [os.fsdecode(result.files[i]) for i in range(result.n_files)]
    return PipelineResult(files, [_stage_of(stage) for stage in result.stages[:result.n_stages]])


def _stage_of(stage: Any) -> Stage:
    state = _native.library().splat_pipeline_state_name(stage.state).decode()
    return Stage(stage.name.decode(), state, stage.seconds, stage.peak_bytes, stage.host_peak_bytes,
                 None if math.isnan(stage.psnr) else stage.psnr, stage.summary.decode("utf-8", "replace"),
                 os.fsdecode(stage.path) or None)
