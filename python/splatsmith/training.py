"""Training: an iterator over steps, or a whole run with its folder."""
import ctypes
import weakref
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable, Iterator, List, NamedTuple, Optional, Union

from . import _c, _native
from ._options import STRATEGIES
from .context import open_handle, record
from .errors import ArgumentError
from .model import Metrics, Model
from .scene import Scene
from .viewer import Viewer

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import PathLike, RunOptions, TrainOptions


class Step(NamedTuple):
    """The result of a step; the fields are those of splat_step_info. On a GPU loss, l1, ssim and the counts of the view
    are those of the step before, and 0 at the first."""
    iteration: int
    loss: float
    l1: float
    ssim: float
    n_visible: int
    n_instances: int
    n_degenerate: int
    n_gaussians: int
    active_sh_degree: int
    view_index: int
    n_views: int
    step_ms: float
    n_added: int
    n_removed: int
    n_refused: int


class Loss(NamedTuple):
    """A loss in addition to that of the photo, or a figure about one (splat_loss)."""
    name: str
    label: str
    tag: Optional[str]
    value: float
    factor: float
    is_figure: bool


class Event(NamedTuple):
    """An event of Trainer.run. kind: "step", "evaluation", "saved" or "checkpoint". metrics and set ("test",
    "train_report") of an evaluation; path of what was saved."""
    kind: str
    step: Step
    set: Optional[str]
    metrics: Optional[Metrics]
    path: Optional[str]


class Trainer:
    """Trains a splat of a scene.

        for step in Trainer(scene, iterations=7000):
            print(step.iteration, step.loss)

    strategy: how Gaussians come and go, as --strategy of `splatsmith train` (None: default). regularization: coarse training with losses of
    the surface, "density", "sdf", "dn_consistency" or "multiview"; begin with start_coarse then. Options: those of
    splat_train_options and of `splatsmith train`; of regularization those of splat_coarse_options, too.
    """

    def __init__(self, scene: Scene, strategy: Optional[str] = None, regularization: Optional[Union[str, int]] = None,
                 **options: "Unpack[TrainOptions]") -> None:
        parent = open_handle(scene, "scene")
        library = _native.library()
        struct = _c.splat_train_options()
        size = ctypes.sizeof(struct)
        if strategy is not None and regularization is not None:
            raise ArgumentError("coarse training (regularization) has no strategy: its Gaussians do not come and go")
        if regularization is not None:
            number = _native.enum_value(_c.Regularization, "regularization", regularization)
            library.splat_train_options_init_coarse_sized(byref(struct), size, number)
        else:
            found = library.splat_strategy_find(strategy.encode()) if strategy is not None else None
            if strategy is not None and not found:
                raise ArgumentError(f"strategy must be one of {', '.join(STRATEGIES)}, not {strategy!r}")
            library.splat_train_options_init_strategy_sized(byref(struct), size, found)
            if "iterations" in options:
                library.splat_train_options_set_steps(byref(struct), int(options["iterations"]))
            else:
                library.splat_train_options_fit_photos(byref(struct), scene.info.n_train)
            library.splat_train_options_fit_rates(byref(struct), scene.info.n_train)
        inner = (struct.coarse,) if regularization is not None else ()
        self._kept = _native.set_options(struct, dict(options), *inner)
        self._is_running = False
        self.scene = scene
        self.iterations = int(struct.iterations)
        pointer = ctypes.POINTER(_c.splat_trainer)()
        context = open_handle(scene.context, "context")
        context.session.call("splat_trainer_create", context.pointer, parent.pointer, byref(struct), byref(pointer))
        self._handle = _native.Handle(parent.session, pointer, "splat_trainer_destroy", [parent])
        borrowed = library.splat_trainer_get_model(pointer)
        self._model = Model(scene.context, _native.Handle(parent.session, borrowed, "", [self._handle]))
        weakref.finalize(self, self._handle.close)

    def close(self) -> None:
        """Gives its memory back; its model goes with it."""
        self._model.check_not_borrowed("closed")
        self._model._handle.close()
        self._handle.close()

    def __enter__(self) -> "Trainer":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.close()

    # ------------------------------------------------------------ steps

    def step(self) -> Step:
        """One iteration, also beyond `iterations`. NumericError: the loss is not finite; the model is as it was."""
        handle = self._handle_to_train("trained")
        info = _native.struct_of(_c.splat_step_info)
        handle.session.call("splat_trainer_step", handle.pointer, byref(info))
        return record(Step, info)  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Step]:
        """The steps from here to `iterations`."""
        while self.iteration < self.iterations:
            yield self.step()

    @property
    def iteration(self) -> int:
        """The number of the last step, from 1; 0 before the first."""
        handle = open_handle(self, "trainer")
        return int(handle.session.get("splat_trainer_get_iteration", handle.pointer))

    @property
    def model(self) -> Model:
        """The model that is trained, the same object at every step; it goes with the trainer."""
        open_handle(self, "trainer")
        return self._model

    def losses(self) -> List[Loss]:
        """The additional losses of the last step; none without regularization and known depth."""
        handle = open_handle(self, "trainer")
        found, n = (_c.splat_loss * _c.SPLAT_MAX_LOSSES)(), ctypes.c_size_t()
        handle.session.call("splat_trainer_get_losses", handle.pointer, found, byref(n))
        return [record(Loss, loss) for loss in found[:n.value]]

    # ------------------------------------------------------------ states

    def load_model(self, path: "PathLike", iteration: int = 0) -> None:
        """Starts from a splat of the trainer's SH degree instead of the scene's points; the next step is
        iteration + 1."""
        self._change("splat_trainer_load_model", _native.path_bytes(path), iteration)

    def start_coarse(self, path: "PathLike") -> None:
        """Begins coarse training (regularization) from a splat."""
        self._change("splat_trainer_start_coarse", _native.path_bytes(path))

    def save_checkpoint(self, path: "PathLike") -> None:
        """Everything that is needed to go on, bit for bit."""
        handle = open_handle(self, "trainer")
        handle.session.call("splat_trainer_save_checkpoint", handle.pointer, _native.path_bytes(path))

    def load_checkpoint(self, path: "PathLike") -> None:
        """Goes on from a checkpoint of the same training views and seed."""
        self._change("splat_trainer_load_checkpoint", _native.path_bytes(path))

    def _change(self, function: str, *arguments: Any) -> None:
        handle = self._handle_to_train("replaced")
        handle.session.call(function, handle.pointer, *arguments)

    def _handle_to_train(self, what: str) -> _native.Handle:
        if self._is_running:
            raise RuntimeError(f"the model cannot be {what} while Trainer.run is at work: this is a callback of it")
        self._model.check_not_borrowed(what)
        return open_handle(self, "trainer")

    # ------------------------------------------------------------ whole runs

    def run(self, model_path: "PathLike", on_event: Optional[Callable[[Event], Any]] = None,
            viewer: Optional[Viewer] = None, **options: "Unpack[RunOptions]") -> None:
        """Trains to `iterations` with the folder of a run: cfg_args, cameras.json, point_cloud/, checkpoints, reports.

        on_event: called with an Event for each step, evaluation, splat and checkpoint. It may render, measure and save
        the model; an exception in it, and Ctrl-C, ends the run after the step in progress, with the splat and a
        checkpoint saved. viewer: its page shows the run, pauses, saves and stops it. Options: those of
        splat_run_options, as test_iterations=[7000], checkpoint_interval=1000. Stopped: a stop was requested."""
        handle = self._handle_to_train("trained")
        struct = _native.struct_of(_c.splat_run_options)
        kept: List[Any] = _native.set_options(struct, dict(options, model_path=model_path))

        page = open_handle(viewer, "viewer").pointer if viewer else None

        def receive(_user: Any, event: Any) -> None:
            if page:
                _native.library().splat_viewer_event(page, event)
            if on_event is not None:
                on_event(_event_of(event.contents))
                self._model.check_not_borrowed("trained on after this event")

        guarded = handle.session.guard(receive, may_call=True)

        def stop_when_raised(user: Any, event: Any) -> None:
            guarded(user, event)
            if handle.session.has_raised:
                _native.library().splat_trainer_request_stop(handle.pointer)

        struct.event = _c.splat_event_function(stop_when_raised)
        kept.append(struct.event)
        self._is_running = True
        try:
            if page:
                handle.session.call("splat_viewer_watch", page, handle.pointer, b"train")
            handle.session.call_for_long("splat_trainer_run", handle.pointer, byref(struct))
        finally:
            self._is_running = False
            if page:
                handle.session.call("splat_viewer_watch", page, None, None)

    def request_stop(self) -> None:
        """A run ends after the step in progress, with Stopped. From any thread."""
        _native.library().splat_trainer_request_stop(open_handle(self, "trainer").pointer)

    def request_save(self) -> None:
        """A run saves a checkpoint and the splat after the step in progress, and goes on. From any thread."""
        _native.library().splat_trainer_request_save(open_handle(self, "trainer").pointer)

    def __repr__(self) -> str:
        if self._handle.is_closed:
            return "<splatsmith.Trainer, closed>"
        return f"<splatsmith.Trainer at iteration {self.iteration} of {self.iterations}>"


def _event_of(event: _c.splat_event) -> Event:
    kind = _c.EventKind(event.kind)
    is_evaluation = kind == _c.EventKind.EVALUATION
    path = event.path.decode("utf-8", "surrogateescape") if event.path else None
    return Event(kind.name.lower(), record(Step, event.step.contents),
                 _c.ViewSet(event.set).name.lower() if is_evaluation else None,
                 record(Metrics, event.metrics.contents) if is_evaluation else None, path)
