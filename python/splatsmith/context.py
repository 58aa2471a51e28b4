"""The context: which device computes, with how many threads, and where the library's notices go."""
import ctypes
import logging
import weakref
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable, List, NamedTuple, Optional

from . import _c, _native

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import ContextOptions

logger = logging.getLogger("splatsmith")
_LEVELS = {int(_c.LogLevel.WARNING): logging.WARNING, int(_c.LogLevel.NOTICE): logging.INFO,
           int(_c.LogLevel.DEBUG): logging.DEBUG}


def _log_here(level: int, message: str) -> None:
    logger.log(level, "%s", message)


class MemoryInfo(NamedTuple):
    """Device memory of a context (host memory with the CPU backend), in bytes but for the counts."""
    bytes: int
    peak_bytes: int
    n_blocks: int
    used_bytes: int
    host_bytes: int
    overhead_bytes: int
    limit_bytes: int
    n_refused: int


class Device(NamedTuple):
    """An NVIDIA GPU, as the driver describes it; index is what Context(gpu=...) takes."""
    index: int  # type: ignore[assignment]
    name: str
    compute_major: int
    compute_minor: int
    total_bytes: int
    free_bytes: int
    driver_version: int
    runtime_version: int


class Context:
    """A device with the library's memory on it. All scenes, models and trainers are made with one.

    backend: "auto" (a GPU where there is one), "cpu" or "cuda". gpu: its index. threads: of the CPU, 0: as many as the
    process may use; results do not depend on it. deterministic: the same bytes on every run on a GPU too, slower. log:
    called with a level of `logging` and a line; None: the logger "splatsmith", which prints warnings by default.

    Two threads of Python may use two contexts at once; what belongs to one is used by one thread at a time.
    """

    def __init__(self, log: Optional[Callable[[int, str], Any]] = None, **options: "Unpack[ContextOptions]") -> None:
        session = _native.Session()
        struct = _native.struct_of(_c.splat_context_options)
        kept: List[Any] = _native.set_options(struct, dict(options))
        write = log or _log_here

        def receive(_user: Any, level: int, message: bytes) -> None:
            write(_LEVELS[level], message.decode("utf-8", "replace"))

        struct.log = _c.splat_log_function(session.guard(receive))
        kept.append(struct.log)
        pointer = ctypes.POINTER(_c.splat_context)()
        session.call("splat_context_create", byref(struct), byref(pointer))
        self._handle = _native.Handle(session, pointer, "splat_context_destroy", keeps=kept)
        weakref.finalize(self, self._handle.close)

    def close(self) -> None:
        """Gives the device back, once the scenes, models and trainers made with the context are closed, too."""
        self._handle.close()

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def description(self) -> str:
        """ "cpu (avx512, 2 threads)" and the like."""
        text = open_handle(self, "context").session.get("splat_context_get_description", self._handle.pointer)
        return str(text.decode("utf-8", "replace"))

    @property
    def memory(self) -> MemoryInfo:
        """The memory in use now."""
        info = _c.splat_memory_info()
        open_handle(self, "context").session.get("splat_context_get_memory", self._handle.pointer, byref(info))
        return record(MemoryInfo, info)  # type: ignore[no-any-return]

    def set_memory_limit(self, limit_bytes: int) -> None:
        """The whole process on the device will not pass so many bytes; 0 takes the limit away."""
        open_handle(self, "context").session.call("splat_context_set_memory_limit", self._handle.pointer, limit_bytes)

    def __repr__(self) -> str:
        return "<splatsmith.Context, closed>" if self._handle.is_closed else f"<splatsmith.Context {self.description}>"


_default: Optional[Context] = None


def default_context() -> Context:
    """The context of what is made without one: `Context()`, made when it is first asked for."""
    global _default
    if _default is None or _default._handle.is_closed:
        _default = Context()
    return _default


def devices() -> List[Device]:
    """The GPUs there are. UnsupportedError: built without CUDA; DeviceError: no driver, or no GPU."""
    n = ctypes.c_size_t()
    _native.call("splat_device_list", None, 0, byref(n))
    found = (_c.splat_device_info * n.value)()
    _native.call("splat_device_list", found, n.value, byref(n))
    return [record(Device, info) for info in found]


def version() -> str:
    """The version of the library that is running."""
    return str(_native.library().splat_version().decode())


def open_handle(owner: Any, what: str) -> _native.Handle:
    """The handle of an object that is still open."""
    handle: _native.Handle = owner._handle
    if handle.is_closed:
        raise ValueError(f"this {what} is closed")
    return handle


def record(kind: Any, struct: Any) -> Any:
    """A NamedTuple from the fields of the same names."""
    values = []
    for name in kind._fields:
        value = getattr(struct, name)
        values.append(value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value)
    return kind(*values)
