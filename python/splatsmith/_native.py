"""The library: where it is found, how it is called, and how long what it gives lives.

A context and all that is made with it are used by one thread at a time: a session's lock sees to that. What Python
gives back while a call is under way (in a callback, or when another thread drops an object) is destroyed after it.
"""
import ctypes
import difflib
import glob
import operator
import os
import signal
import threading
from ctypes import byref
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from . import _c, errors
from ._options import ENUM_FIELDS

_library: Any = None
_loading = threading.Lock()


def find() -> str:
    """The path of the engine's library: SPLATSMITH_LIBRARY, else that of the wheel, else the system's."""
    named = os.environ.get("SPLATSMITH_LIBRARY")
    if named:
        return named
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")
    bundled = sorted(glob.glob(os.path.join(glob.escape(folder), "libsplatsmith.so*")))
    return bundled[0] if bundled else f"libsplatsmith.so.{_c.SPLATSMITH_VERSION_MAJOR}"


def program_beside(engine: str) -> str:
    """The path of the second library (viewer, cameras, built-in scenes), which lies in the folder of the engine's."""
    return os.path.join(os.path.dirname(engine), f"libsplatsmith-program.so.{_c.SPLATSMITH_VERSION_MAJOR}")


def load(path: str) -> Any:
    """The library at `path`; ImportError: it cannot be loaded."""
    try:
        return ctypes.CDLL(path)
    except OSError as refused:
        raise ImportError(f"the Splatsmith library cannot be loaded: {refused}; install the wheel, or name the "
                          "library with the environment variable SPLATSMITH_LIBRARY") from refused


def library() -> Any:
    """Both libraries as one. ImportError: one is absent, or of another version than these bindings."""
    global _library
    with _loading:
        if _library is None:
            path = find()
            probe = load(path)
            probe.splat_version.restype = ctypes.c_char_p
            version = probe.splat_version().decode()
            if version != _c.SPLATSMITH_VERSION:
                raise ImportError(f"{path} is version {version}, but these bindings are for {_c.SPLATSMITH_VERSION}")
            both = load(program_beside(path))  # it needs the engine's, which is loaded: names are found in both
            try:
                _library = _c.declare(both)
            except AttributeError as absent:
                raise ImportError(f"{path} is of version {version}, but of other sources than these bindings: "
                                  f"{absent}; use both of one build") from absent
    return _library


def raise_error(status: int, error: _c.splat_error) -> None:
    text = ctypes.create_string_buffer(2048)
    library().splat_error_format(byref(error), text, len(text))
    raise errors.make(status, error, text.value.decode("utf-8", "replace"))


def call(name: str, *arguments: Any) -> None:
    """A function that returns a status and takes an error last, without a context."""
    error = _c.splat_error()
    status = getattr(library(), name)(*arguments, byref(error))
    if status != 0:
        raise_error(status, error)


class Session:
    """State shared by a context and all objects made with it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.counts = threading.RLock()
        self._depth = 0
        self._pending: List["Handle"] = []
        self._raised: Optional[BaseException] = None
        self._is_closed_to_calls = False

    def call(self, name: str, *arguments: Any) -> None:
        """As the function `call`; an exception of a callback is raised again when the function is done."""
        error = _c.splat_error()
        function = getattr(library(), name)
        try:
            with self._lock:
                if self._is_closed_to_calls:
                    raise RuntimeError(f"{name} cannot be called from this callback: the library is at work")
                self._depth += 1
                try:
                    status = function(*arguments, byref(error))
                finally:
                    self._depth -= 1
                raised = None
                if self._depth == 0:
                    raised, self._raised = self._raised, None
        finally:
            self.destroy_pending()
        if raised is not None:
            raise raised
        if status != 0:
            raise_error(status, error)

    def call_for_long(self, name: str, *arguments: Any) -> None:
        """As call, of a function that ends early when its callback asks for it: after Ctrl-C callbacks return what ends
        it. (KeyboardInterrupt at the first line of a callback would be lost.)"""
        is_ours = (threading.current_thread() is threading.main_thread() and
                   signal.getsignal(signal.SIGINT) is signal.default_int_handler)

        def note(*_: Any) -> None:
            self._raised = self._raised or KeyboardInterrupt()

        if is_ours:
            signal.signal(signal.SIGINT, note)
        try:
            self.call(name, *arguments)
        finally:
            if is_ours:
                signal.signal(signal.SIGINT, signal.default_int_handler)

    def get(self, name: str, *arguments: Any) -> Any:
        """A function that cannot fail."""
        with self._lock:
            return getattr(library(), name)(*arguments)

    @property
    def has_raised(self) -> bool:
        """True if an exception of a callback waits for the end of the call."""
        return self._raised is not None

    def guard(self, callback: Callable[..., Any], otherwise: Any = None, may_call: bool = False) -> Callable[..., Any]:
        """A callback whose exceptions wait for the end of the call; it returns `otherwise` then, and ever after.
        may_call: whether it may call the library for what belongs to the session."""

        def guarded(*arguments: Any) -> Any:
            if self._raised is not None:
                return otherwise
            was_closed, self._is_closed_to_calls = self._is_closed_to_calls, not may_call
            try:
                return callback(*arguments)
            except BaseException as raised:  # KeyboardInterrupt, too: no exception gets through C
                self._raised = raised
                return otherwise
            finally:
                self._is_closed_to_calls = was_closed

        return guarded

    def destroy(self, handle: "Handle") -> None:
        self._pending.append(handle)
        self.destroy_pending()

    def destroy_pending(self) -> None:
        while self._pending and self._lock.acquire(blocking=False):  # else its holder comes here after it
            try:
                if self._depth:
                    return
                while self._pending:
                    self._pending.pop(0).destroy_now()
            finally:
                self._lock.release()


class Handle:
    """An object of the library. It goes when its owner has closed it and all that was made of it is gone."""

    def __init__(self, session: Session, pointer: Any, destroy: str, parents: Sequence["Handle"] = (),
                 keeps: Any = None) -> None:
        self.session = session
        self.pointer = pointer
        self.is_closed = False
        self._destroy = destroy
        self._parents = list(parents)
        self._keeps = keeps  # what the library borrows: memory, callbacks
        self._uses = 1
        for parent in parents:
            with parent.session.counts:
                parent._uses += 1

    def replace_parents(self, parents: Sequence["Handle"]) -> None:
        """Replaces the objects that it borrows."""
        for parent in parents:
            with parent.session.counts:
                parent._uses += 1
        before, self._parents = self._parents, list(parents)
        for parent in before:
            parent._drop()

    def close(self) -> None:
        with self.session.counts:
            was_closed, self.is_closed = self.is_closed, True
        if not was_closed:
            self._drop()

    def _drop(self) -> None:
        with self.session.counts:
            self._uses -= 1
            is_last = self._uses == 0
        if is_last:
            self.session.destroy(self)

    def destroy_now(self) -> None:
        if self._destroy:  # else it is another object's
            getattr(library(), self._destroy)(self.pointer)
        self.pointer = self._keeps = None
        for parent in self._parents:
            parent._drop()


def struct_of(kind: Any) -> Any:
    """A struct of options with its defaults."""
    options = kind()
    getattr(library(), f"{kind.__name__}_init_sized")(byref(options), ctypes.sizeof(kind))
    return options


def path_bytes(path: Any) -> bytes:
    return os.fsencode(path)


def _option_names(options: Any) -> List[str]:
    """The fields that can be set: not the size of the struct and not the lengths of lists."""
    names = [name for name, *_ in options._fields_]
    return [name for name in names if name != "size" and not (name.startswith("n_") and name[2:] in names)]


def _no_option(name: str, structs: Tuple[Any, ...]) -> str:
    known = [known for struct in structs for known in _option_names(struct)]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{type(structs[0]).__name__} has no option {name!r}{hint}"


def set_options(options: Any, given: Dict[str, Any], *inner: Any) -> List[Any]:
    """Sets fields of a struct of options, or of the structs in it, from keyword arguments. What is returned must live
    as long as the struct is used."""
    kept: List[Any] = []
    for name, value in given.items():
        for target in (options, *inner):
            kinds = dict(target._fields_)
            if name in _option_names(target):
                break
        else:
            raise TypeError(_no_option(name, (options, *inner)))
        if isinstance(value, str) and _is_number(kinds[name]) and _setter(options) in _c.FUNCTIONS:
            _set_text(options, name, value, name in ENUM_FIELDS.get(type(target).__name__, {}))
        else:
            _set_option(target, name, kinds, value, kept)
    return kept


def _setter(options: Any) -> str:
    return f"{type(options).__name__}_set"


def _is_number(kind: Any) -> bool:
    """Types of which the library keeps no text: numbers, flags and enums."""
    return hasattr(kind, "_type_") and isinstance(kind._type_, str) and kind is not ctypes.c_char_p


def _set_text(options: Any, name: str, text: str, is_enum: bool) -> None:
    """As the command line takes it: "5M", "512M", "true", the word of an enum in any case of letters."""
    if is_enum:
        text = text.lower().replace("-", "_")
    call(_setter(options), byref(options), name.encode(), text.encode())


def _set_option(target: Any, name: str, kinds: Dict[str, Any], value: Any, kept: List[Any]) -> None:
    kind = kinds[name]
    enum = ENUM_FIELDS.get(type(target).__name__, {}).get(name)
    try:
        if enum is not None:
            setattr(target, name, enum_value(enum, name, value))
        elif kind is ctypes.c_char_p:
            kept.append(None if value is None else path_bytes(value))
            setattr(target, name, kept[-1])
        elif kind is ctypes.POINTER(ctypes.c_int):
            numbers = [int(v) for v in value]
            kept.append((ctypes.c_int * len(numbers))(*numbers))
            setattr(target, name, ctypes.cast(kept[-1], kind))
            setattr(target, "n_" + name, len(numbers))
        elif issubclass(kind, ctypes.Array):
            setattr(target, name, kind(*floats(value, kind._length_, name)))
        elif kind in (ctypes.c_float, ctypes.c_double):
            setattr(target, name, float(value))
        elif kind is ctypes.c_bool:
            setattr(target, name, bool(value))
        elif hasattr(kind, "_type_") and isinstance(kind._type_, str):
            _set_integer(target, name, kind, value)
        else:
            raise TypeError(f"{name} cannot be set from Python")
    except (TypeError, ValueError) as wrong:
        if isinstance(wrong, errors.Error):
            raise
        raise TypeError(f"option {name!r}: {wrong}") from wrong


def _set_integer(target: Any, name: str, kind: Any, value: Any) -> None:
    number = operator.index(value)
    if kind(number).value != number:
        raise errors.ArgumentError(f"option {name!r} cannot be {number}: it is a {kind.__name__[2:]}")
    setattr(target, name, number)


def enum_value(enum: Any, name: str, value: Any) -> int:
    if isinstance(value, str):
        word = value.upper().replace("-", "_")
        if word not in enum.__members__:
            words = ", ".join(member.lower() for member in enum.__members__)
            raise errors.ArgumentError(f"{name} must be one of {words}, not {value!r}")
        return int(enum[word])
    return int(value)


def floats(values: Any, n: int, name: str) -> List[float]:
    """n numbers of a sequence or an array, nested or not."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    flat: List[float] = []

    def add(value: Any) -> None:
        if hasattr(value, "__iter__"):
            for inner in value:
                add(inner)
        else:
            flat.append(float(value))

    add(values)
    if len(flat) != n:
        raise ValueError(f"{name} must have {n} numbers, not {len(flat)}")
    return flat
