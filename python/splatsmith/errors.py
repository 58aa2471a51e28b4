"""Errors of the library as exceptions: one class for each code, which also derives from the nearest built-in class."""
from typing import Dict, Optional, Type

from . import _c


class Error(Exception):
    """An error of the library. `str(error)` is one sentence that says what is wrong, where, and what to do;
    options that it names between backquotes are keyword arguments.

    status: the code of the C interface. message: the sentence without the place. file: the file or photo that it is
    about, "" without one. line: in a text, from 1; 0 without one. offset: of the byte in the file; None without one.
    """

    status = _c.Status.ERROR_INTERNAL

    def __init__(self, text: str, message: str = "", file: str = "", line: int = 0, offset: Optional[int] = None):
        super().__init__(text)
        self.message = message or text
        self.file = file
        self.line = line
        self.offset = offset

    def __str__(self) -> str:
        return str(self.args[0])


class ArgumentError(Error, ValueError):
    """An option or argument is out of its range, or two contradict each other."""
    status = _c.Status.ERROR_ARGUMENT


class FileError(Error, OSError):
    """The operating system refused to read or write."""
    status = _c.Status.ERROR_IO


class FormatError(Error, ValueError):
    """A file is truncated, corrupt or contradicts itself."""
    status = _c.Status.ERROR_FORMAT


class UnsupportedError(Error, NotImplementedError):
    """Valid, but this version, or this build, cannot do it."""
    status = _c.Status.ERROR_UNSUPPORTED


class OutOfMemoryError(Error, MemoryError):
    """Host or device memory is exhausted, or a limit would be passed."""
    status = _c.Status.ERROR_MEMORY


class DeviceError(Error, RuntimeError):
    """The accelerator failed or is absent."""
    status = _c.Status.ERROR_DEVICE


class NumericError(Error, ArithmeticError):
    """NaN or infinity where none may be."""
    status = _c.Status.ERROR_NUMERIC


class Stopped(Error):
    """A stop was requested; the state is sound, and what was reached is saved."""
    status = _c.Status.ERROR_STOPPED


class InternalError(Error, RuntimeError):
    """A bug in the library: please report it."""
    status = _c.Status.ERROR_INTERNAL


class CheckpointError(Error):
    """Checkpoints could not be written; the splat was saved where that was possible."""
    status = _c.Status.ERROR_CHECKPOINT


class RankError(Error, RuntimeError):
    """Another rank of a distributed run failed or is gone."""
    status = _c.Status.ERROR_RANK


CLASSES: Dict[int, Type[Error]] = {
    int(c.status): c for c in (ArgumentError, FileError, FormatError, UnsupportedError, OutOfMemoryError, DeviceError,
                               NumericError, Stopped, InternalError, CheckpointError, RankError)}
NO_OFFSET = 2**64 - 1


def make(status: int, error: _c.splat_error, text: str) -> Error:
    """The exception of a failed call."""
    return CLASSES.get(status, InternalError)(
        text, error.message.decode("utf-8", "replace"), error.file.decode("utf-8", "surrogateescape"),
        int(error.line), None if error.offset == NO_OFFSET else int(error.offset))
