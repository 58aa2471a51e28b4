"""A splat in a browser, also while it is trained."""
import ctypes
import weakref
from ctypes import byref
from typing import TYPE_CHECKING, Any, Optional, Sequence

from . import _c, _native
from .context import open_handle
from .errors import ArgumentError
from .model import Model
from .scene import Scene

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import ViewerOptions


class Viewer:
    """A page in the browser that shows what Python renders for it (docs/viewer.md).

        viewer = splatsmith.Viewer()
        print(viewer.address)
        trainer.run("out", viewer=viewer)               # during a run, which the page can pause, save and stop
        for step in trainer:                            # or between steps
            viewer.serve(trainer.model, scene)
        while True:                                     # or a splat that is done
            viewer.serve(model, seconds=1)

    port: 0 (any that is free). Options: those of splat_viewer_options, as host="0.0.0.0", title="garden", budget=0.1.
    UnsupportedError: the library was built without civetweb.
    """

    def __init__(self, port: int = 0, **options: "Unpack[ViewerOptions]") -> None:
        session = _native.Session()
        struct = _native.struct_of(_c.splat_viewer_options)
        kept = _native.set_options(struct, dict(options, port=port))
        pointer = ctypes.POINTER(_c.splat_viewer)()
        session.call("splat_viewer_open", byref(struct), byref(pointer))
        self._handle = _native.Handle(session, pointer, "splat_viewer_close", keeps=kept)
        self._shown: Any = None
        weakref.finalize(self, self._handle.close)

    def close(self) -> None:
        """Ends the page, and lets the scene that it showed go."""
        self._handle.close()

    def __enter__(self) -> "Viewer":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def address(self) -> str:
        """ "http://127.0.0.1:8080/?token=...": the token in it admits anyone who has it."""
        handle = open_handle(self, "viewer")
        return str(handle.session.get("splat_viewer_get_address", handle.pointer).decode())

    def serve(self, model: Model, scene: Optional[Scene] = None, seconds: float = 0.0,
              background: Sequence[float] = (0, 0, 0)) -> bool:
        """Waits at most so long until a page wants a picture, and renders it; with 0 it returns at once when nobody
        does. scene: whose cameras and photos the page has. True: there was one."""
        handle, shown = open_handle(self, "viewer"), open_handle(model, "model")
        model.check_not_rendered()
        other = open_handle(scene, "scene") if scene else None
        if scene and scene.context is not model.context:
            raise ArgumentError("the scene and the model belong to two contexts; open both with one")
        if self._shown != (id(shown), id(other)):
            pointer = other.pointer if other else None
            shown.session.call("splat_viewer_set_scene", handle.pointer, shown.pointer, pointer)
            handle.replace_parents([other] if other else [])
            self._shown = (id(shown), id(other))
        color = (ctypes.c_float * 3)(*_native.floats(background, 3, "background"))
        rendered = ctypes.c_bool()
        shown.session.call("splat_viewer_serve", handle.pointer, shown.pointer, color, seconds, byref(rendered))
        return rendered.value

    def __repr__(self) -> str:
        return "<splatsmith.Viewer, closed>" if self._handle.is_closed else f"<splatsmith.Viewer at {self.address}>"
