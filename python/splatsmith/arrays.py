"""Arrays in and out. Out: `Array`, which numpy, CuPy, PyTorch, JAX and others take without a copy. In: anything with
`__array_interface__`, any buffer, nested lists."""
import ctypes
import sys
from typing import Any, Dict, List, Optional, Tuple

from . import errors

_TYPES: Dict[str, Any] = {"<f4": ctypes.c_float, "|u1": ctypes.c_uint8, "<u4": ctypes.c_uint32, "<f2": ctypes.c_uint16}
_DLPACK_TYPES = {"f": 2, "u": 1}  # kDLFloat, kDLUInt
_DLPACK_CPU, _DLPACK_CUDA = 1, 2
_NOTHING = ctypes.c_uint64()


class Array:
    """Numbers in host memory, or in the memory of a GPU, that others read and write in place.

    numpy.asarray(a), numpy.from_dlpack(a) in host memory; cupy.asarray(a), torch.from_dlpack(a),
    jax.dlpack.from_dlpack(a) on a GPU, too. Whatever they make keeps what it shows alive. Without numpy: tolist() and
    tobytes().

    shape, strides (bytes), typestr ("<f4", "<f2", "<u4", "|u1": as numpy names them), gpu (its index, None: host
    memory).
    """

    def __init__(self, pointer: int, shape: Tuple[int, ...], typestr: str, owner: Any,
                 strides: Optional[Tuple[int, ...]] = None, gpu: Optional[int] = None) -> None:
        self.pointer = pointer or ctypes.addressof(_NOTHING)  # numpy takes no NULL, even for nothing
        self.shape = tuple(shape)
        self.typestr = typestr
        self.gpu = gpu
        self.strides = tuple(strides) if strides is not None else contiguous(self.shape, int(typestr[2:]))
        self._owner = owner

    # ------------------------------------------------------------ protocols

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        """Host memory as numpy sees it (version 3)."""
        if self.gpu is not None:
            raise AttributeError("this array lies in the memory of a GPU: it has __cuda_array_interface__")
        return self._interface()

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        """The memory of a GPU as CuPy, Numba and PyTorch see it (version 3). No stream: it is complete already."""
        if self.gpu is None:
            raise AttributeError("this array lies in host memory: it has __array_interface__")
        return dict(self._interface(), stream=None)

    def _interface(self) -> Dict[str, Any]:
        return {"shape": self.shape, "typestr": self.typestr, "strides": self.strides, "version": 3,
                "data": (self.pointer, False)}

    def __dlpack_device__(self) -> Tuple[int, int]:
        return (_DLPACK_CPU, 0) if self.gpu is None else (_DLPACK_CUDA, self.gpu)

    def __dlpack__(self, stream: Any = None, max_version: Any = None, dl_device: Optional[Tuple[int, int]] = None,
                   copy: Optional[bool] = None) -> Any:
        """A DLPack capsule, of version 0 whatever max_version is. stream: of the reader, which need not wait, as the
        numbers are complete already. BufferError: the numbers would have to go to another device."""
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"this array lies on the device {self.__dlpack_device__()}, and is not moved to "
                              f"{dl_device}")
        return _make_capsule(self.copy() if copy else self)

    def copy(self) -> "Array":
        """An array of its own with the same numbers, without gaps. Host memory only."""
        made = new(self.shape, self.typestr)
        ctypes.memmove(made.pointer, self.tobytes(), self.size * int(self.typestr[2:]))
        return made

    # ------------------------------------------------------------ without numpy

    @property
    def size(self) -> int:
        """Elements."""
        size = 1
        for side in self.shape:
            size *= side
        return size

    def __len__(self) -> int:
        return self.shape[0]

    def numpy(self) -> Any:
        """numpy.asarray(self). ImportError without numpy."""
        import numpy
        return numpy.asarray(self)

    def tolist(self) -> List[Any]:
        """Nested lists of Python's numbers. Host memory only."""
        rows = self._rows(self._host_pointer(), 0)
        return rows  # type: ignore[no-any-return]

    def _rows(self, address: int, dimension: int) -> Any:
        if dimension == len(self.shape):
            return self._read(address)
        step = self.strides[dimension]
        return [self._rows(address + i * step, dimension + 1) for i in range(self.shape[dimension])]

    def tobytes(self) -> bytes:
        """The elements, the last index fastest. Host memory only."""
        at = self._host_pointer()
        element = int(self.typestr[2:])
        if self.strides == contiguous(self.shape, element):
            return ctypes.string_at(at, self.size * element) if self.size else b""
        addresses = [at]
        for side, step in zip(self.shape, self.strides):
            addresses = [address + i * step for address in addresses for i in range(side)]
        return b"".join(ctypes.string_at(address, element) for address in addresses)

    def _host_pointer(self) -> int:
        if self.gpu is not None:
            raise BufferError(f"this array lies in the memory of GPU {self.gpu}; copy it to the host first")
        return self.pointer

    def _read(self, address: int) -> Any:
        if self.typestr == "<f2":
            import struct
            return struct.unpack("<e", ctypes.string_at(address, 2))[0]
        return _TYPES[self.typestr].from_address(address).value

    def __repr__(self) -> str:
        where = "host memory" if self.gpu is None else f"GPU {self.gpu}"
        return f"<splatsmith.Array {self.shape} {self.typestr} in {where}>"


def contiguous(shape: Tuple[int, ...], element: int) -> Tuple[int, ...]:
    """The strides of an array without gaps."""
    strides: List[int] = []
    for side in reversed(shape):
        strides.insert(0, element)
        element *= side
    return tuple(strides)


def new(shape: Tuple[int, ...], typestr: str) -> Array:
    """An array of its own, of zeros."""
    size = 1
    for side in shape:
        size *= side
    memory = (_TYPES[typestr] * max(size, 1))()
    return Array(ctypes.addressof(memory), shape, typestr, memory)


# ---------------------------------------------------------------- DLPack


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _DLManagedTensor(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_DLManagedTensor._fields_ = [("dl_tensor", _DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", _DELETER)]
_exported: Dict[int, Any] = {}  # by the address of the tensor: all that must live as long as it does


def _delete(address: int) -> None:
    if _exported is not None:  # at the end of the interpreter everything goes anyway
        _exported.pop(address, None)


_deleter = _DELETER(_delete)
_CAPSULE_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi))
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _CAPSULE_DESTRUCTOR)(
    ("PyCapsule_New", ctypes.pythonapi))


def _destroy_capsule(capsule: int) -> None:
    """Destroys a capsule that nobody took; a consumer renames it and calls the deleter."""
    if _is_valid(capsule, b"dltensor"):
        _delete(_get_pointer(capsule, b"dltensor"))


_capsule_destructor = _CAPSULE_DESTRUCTOR(_destroy_capsule)


def _make_capsule(array: Array) -> Any:
    element, n = int(array.typestr[2:]), len(array.shape)
    shape = (ctypes.c_int64 * n)(*array.shape)
    strides = (ctypes.c_int64 * n)(*(stride // element for stride in array.strides))
    managed = _DLManagedTensor()
    device_type, device_id = array.__dlpack_device__()
    managed.dl_tensor = _DLTensor(array.pointer, device_type, device_id, n, _DLPACK_TYPES[array.typestr[1]],
                                  8 * element, 1, shape, strides, 0)
    managed.deleter = _deleter
    address = ctypes.addressof(managed)
    _exported[address] = (managed, shape, strides, array)
    return _new_capsule(address, b"dltensor", _capsule_destructor)


# ---------------------------------------------------------------- in


class Given:
    """An array that a caller gave: contiguous, of the wanted type, in host memory. `keeps` keeps it alive."""

    def __init__(self, pointer: int, shape: Tuple[int, ...], keeps: Any) -> None:
        self.pointer = pointer
        self.shape = shape
        self.keeps = keeps

    def of(self, kind: Any) -> Any:
        return ctypes.cast(self.pointer, ctypes.POINTER(kind))


def _find_numpy() -> Any:
    if "numpy" in sys.modules:
        return sys.modules["numpy"]
    try:
        import numpy
        return numpy
    except ImportError:
        return None


def given(value: Any, typestr: str, name: str) -> Given:
    """The values in a form that the library can read: in place, or as a copy. bytes are never taken for floats, nor floats for bytes."""
    interface = getattr(value, "__array_interface__", None)
    if interface is not None:
        found = _of_interface(interface, value, typestr)
        if found:
            return found
    if interface is None and hasattr(value, "__cuda_array_interface__"):
        raise errors.ArgumentError(f"{name} lies in the memory of a GPU; copy it to the host first")
    numpy = None if isinstance(value, (bytes, bytearray, memoryview)) else _find_numpy()
    if numpy is not None:
        return _by_numpy(numpy, value, typestr, name)
    if interface is not None:
        raise errors.ArgumentError(f"{name} is {interface['typestr']} or has gaps; without numpy it must be a "
                                   f"contiguous array of {typestr}")
    try:
        view = memoryview(value)
    except TypeError:
        return _of_lists(value, typestr, name)
    if not view.c_contiguous or {"f": "<f4", "B": "|u1"}.get(view.format) != typestr:
        raise errors.ArgumentError(f"{name} has gaps or the type {view.format!r}; it must be a contiguous array of "
                                   f"{typestr}")
    memory = (ctypes.c_char * max(view.nbytes, 1)).from_buffer_copy(view.cast("B") if view.nbytes else b"\0")
    return Given(ctypes.addressof(memory), tuple(view.shape or ()), memory)


def _of_interface(interface: Dict[str, Any], value: Any, typestr: str) -> Optional[Given]:
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    is_gapless = strides is None or tuple(strides) == contiguous(shape, int(typestr[2:]))
    data = interface.get("data")
    if interface["typestr"] != typestr or not is_gapless or data is None or "mask" in interface:
        return None
    if isinstance(data, tuple):
        return Given(data[0], shape, value)
    memory = (ctypes.c_char * max(len(data), 1)).from_buffer_copy(data or b"\0")  # Pillow's images
    return Given(ctypes.addressof(memory), shape, memory)


def _by_numpy(numpy: Any, value: Any, typestr: str, name: str) -> Given:
    try:
        made = numpy.asarray(value)
    except ValueError as ragged:
        raise errors.ArgumentError(f"{name} is no array: {ragged}") from ragged
    wanted = numpy.dtype(typestr)
    is_list = isinstance(value, (list, tuple)) and made.dtype.kind in "ui"
    if typestr == "|u1" and made.dtype != wanted and not (is_list and made.min() >= 0 and made.max() <= 255):
        raise errors.ArgumentError(f"{name} is {made.dtype}; it must be uint8, 0 to 255")
    if made.ndim == 0:
        raise errors.ArgumentError(f"{name} must be an array, not {type(value).__name__}")
    if typestr == "<f4" and made.dtype.kind not in "fui":
        raise errors.ArgumentError(f"{name} is {made.dtype}; it must be an array of numbers")
    array = numpy.ascontiguousarray(made, dtype=wanted)
    return Given(array.ctypes.data, tuple(array.shape), array)


def _of_lists(value: Any, typestr: str, name: str) -> Given:
    """Nested lists, all of one length on a level."""
    shape: List[int] = []
    level = value
    while isinstance(level, (list, tuple)):
        shape.append(len(level))
        level = level[0] if level else None
    flat: List[Any] = []

    def add(part: Any, depth: int) -> None:
        if depth == len(shape):
            flat.append(part)
            return
        if not isinstance(part, (list, tuple)) or len(part) != shape[depth]:
            raise errors.ArgumentError(f"the rows of {name} differ in length")
        for inner in part:
            add(inner, depth + 1)

    if not shape:
        raise errors.ArgumentError(f"{name} must be an array, not {type(value).__name__}")
    add(value, 0)
    if typestr == "|u1" and not all(isinstance(x, int) and 0 <= x <= 255 for x in flat):
        raise errors.ArgumentError(f"{name} must be whole numbers, 0 to 255")
    if not all(isinstance(x, (int, float)) for x in flat):
        raise errors.ArgumentError(f"{name} must be numbers")
    memory = (_TYPES[typestr] * max(len(flat), 1))(*flat)
    return Given(ctypes.addressof(memory), tuple(shape), memory)


def given_rows(value: Any, typestr: str, columns: Optional[int], name: str, n: Optional[int] = None) -> Given:
    """[n][columns], or [n] where columns is None; any n where it is None."""
    found = given(value, typestr, name)
    wanted = (n if n is not None else found.shape[0],) + (() if columns is None else (columns,))
    if found.shape != wanted:
        text = ", ".join(str(side) for side in (("n" if n is None else n),) + wanted[1:])
        raise errors.ArgumentError(f"{name} has the shape {found.shape}; it must be ({text})")
    return found
