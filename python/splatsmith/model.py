"""Models: splats as files and as arrays, rendered and measured."""
import ctypes
import gc
import weakref
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _c, _native, arrays
from .arrays import Array
from .camera import Camera
from .context import Context, default_context, open_handle, record
from .errors import ArgumentError
from .scene import Scene, View, view_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import CleanOptions, PathLike, SaveOptions, ViewJob

_TYPESTR = {int(_c.ArrayType.FLOAT32): "<f4", int(_c.ArrayType.FLOAT16): "<f2"}
_FLOATS = ctypes.POINTER(ctypes.c_float)


class ModelInfo(NamedTuple):
    """Facts of a model; render_mode is a member of splatsmith.RenderMode, kernel_size a variance in pixels^2."""
    n_gaussians: int
    sh_degree: int
    has_filter_3d: bool
    render_mode: int
    kernel_size: float


class Metrics(NamedTuple):
    """Means over views; the fields are those of splat_metrics."""
    l1: float
    psnr: float
    psnr_per_channel: float
    ssim: float
    n_views: int
    lpips: float
    lpips_net: Optional[str]
    render_ms: float
    n_masked: int
    kept: float
    l1_whole: float
    psnr_whole: float
    psnr_per_channel_whole: float
    ssim_whole: float
    is_corrected: bool
    cc_psnr: float
    cc_ssim: float
    cc_lpips: float
    is_exposed: bool
    exposed_psnr: float
    exposed_ssim: float
    is_exif_exposed: bool
    exif_psnr: float
    exif_ssim: float
    n_near_views: int
    near_light: float
    all_light: float


class CleanCounts(NamedTuple):
    """Counts of Model.clean; each Gaussian counts for the first reason in this order."""
    n_before: int
    n_removed: int
    n_not_finite: int
    n_outside: int
    n_faint: int
    n_large: int
    n_lonely: int


class GeometryMaps(NamedTuple):
    """Maps of a view, [height][width]. depth: along the camera's axis where the ray meets the blended plane, scene
    units, 0 where alpha is 1/2 or less. median: of the one Gaussian that takes the transmittance below 1/2; 0 without.
    normal: [height][width][3], of length 1, or 0. alpha: what is covered, 0 to 1. blended: Gaussians, uint32."""
    depth: Array
    median: Array
    normal: Array
    alpha: Array
    blended: Array


class Model:
    """A set of Gaussians on the device of its context. Made by Model.load, Model.from_arrays and Trainer.model.

    Its numbers are arrays without a copy: means, sh_dc, sh_rest, opacities, scales, rotations, filter_3d. While one is
    in use (by a numpy array that was made of it, too) the number of Gaussians cannot change: a training step, clean,
    reduce_sh and close raise BufferError. Copy what shall be kept: numpy.array(model.means). What is written into them
    is the model from then on; on a GPU it must have arrived before the next call.
    """

    def __init__(self, context: Context, handle: _native.Handle) -> None:
        self.context = context
        self._handle = handle
        self._borrowed: "weakref.WeakSet[Array]" = weakref.WeakSet()
        self._pictures: "weakref.WeakSet[Array]" = weakref.WeakSet()
        weakref.finalize(self, handle.close)

    @classmethod
    def load(cls, path: "PathLike", context: Optional[Context] = None) -> "Model":
        """Reads a splat (PLY, SPZ, SOG, .splat, glTF, USD, a checkpoint, ...)."""
        return cls._make(context, "splat_model_load", _native.path_bytes(path))

    @classmethod
    def from_arrays(cls, means: Any, opacities: Any, scales: Any, rotations: Any, sh_dc: Any, sh_rest: Any = None,
                    filter_3d: Any = None, render_mode: Union[str, int] = "auto", kernel_size: float = 0.0,
                    context: Optional[Context] = None) -> "Model":
        """A model with copies of these numbers, as they are trained: means [n][3], scene units; opacities [n], logits;
        scales [n][3], logarithms; rotations [n][4], quaternions (w, x, y, z); sh_dc [n][3]; sh_rest
        [n][(degree + 1)^2 - 1][3], None: degree 0; filter_3d [n], None: there is none. render_mode: "auto" (mip with
        filter_3d, else classic), "mip", "classic"."""
        values = _native.struct_of(_c.splat_model_values)
        centers = arrays.given_rows(means, "<f4", 3, "means")
        n = values.n = centers.shape[0]
        given = {"means": centers, "sh_dc": arrays.given_rows(sh_dc, "<f4", 3, "sh_dc", n),
                 "opacities": arrays.given_rows(opacities, "<f4", None, "opacities", n),
                 "scales": arrays.given_rows(scales, "<f4", 3, "scales", n),
                 "rotations": arrays.given_rows(rotations, "<f4", 4, "rotations", n)}
        if filter_3d is not None:
            given["filter_3d"] = arrays.given_rows(filter_3d, "<f4", None, "filter_3d", n)
        if sh_rest is not None:
            rest = arrays.given(sh_rest, "<f4", "sh_rest")
            degrees: Dict[Tuple[int, ...], int] = {(n, (d + 1) ** 2 - 1, 3): d for d in range(4)}
            if rest.shape not in degrees:
                raise ArgumentError(f"sh_rest has the shape {rest.shape}; it must be ({n}, (degree + 1)^2 - 1, 3) with "
                                    "a degree of 0 to 3")
            values.sh_degree = degrees[rest.shape]
            given["sh_rest"] = rest
        for name, array in given.items():
            setattr(values, name, array.of(ctypes.c_float))
        values.render_mode = _native.enum_value(_c.RenderMode, "render_mode", render_mode)
        values.kernel_size = kernel_size
        return cls._make(context, "splat_model_from_values", byref(values))

    @classmethod
    def _make(cls, context: Optional[Context], function: str, *arguments: Any) -> "Model":
        context = context or default_context()
        parent = open_handle(context, "context")
        pointer = ctypes.POINTER(_c.splat_model)()
        parent.session.call(function, parent.pointer, *arguments, byref(pointer))
        return cls(context, _native.Handle(parent.session, pointer, "splat_model_destroy", [parent]))

    def close(self) -> None:
        """Gives its memory back."""
        self.check_not_borrowed("closed")
        self._handle.close()

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.close()

    def check_not_borrowed(self, what: str) -> None:
        """BufferError while arrays of the model are in use."""
        if not self._borrowed and not self._pictures:
            return
        gc.collect()  # what only circles of objects hold is not in use
        n = len(self._borrowed) + len(self._pictures)
        if n:
            raise BufferError(f"{n} array{'s' if n > 1 else ''} of this model {'are' if n > 1 else 'is'} still in use: "
                              f"it cannot be {what}; copy what you keep, as numpy.array(model.means), and drop the "
                              "rest")

    # ------------------------------------------------------------ files

    def save(self, path: "PathLike", **options: "Unpack[SaveOptions]") -> None:
        """Writes a file of the format that the end of the name chooses, atomically. fused=True bakes the 3D filter into
        scales and opacities: what other viewers read."""
        handle = open_handle(self, "model")
        struct = _native.struct_of(_c.splat_save_options)
        _native.set_options(struct, dict(options))
        handle.session.call("splat_model_save", handle.pointer, _native.path_bytes(path), byref(struct))

    # ------------------------------------------------------------ numbers

    @property
    def info(self) -> ModelInfo:
        info = _c.splat_model_info()
        handle = open_handle(self, "model")
        handle.session.get("splat_model_get_info", handle.pointer, byref(info))
        return record(ModelInfo, info)  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return self.info.n_gaussians

    def _array(self, name: str) -> Optional[Array]:
        handle = open_handle(self, "model")
        found = _c.splat_model_arrays()
        handle.session.call("splat_model_get_arrays", handle.pointer, byref(found))
        array = getattr(found, name)
        if name == "filter_3d" and not array.data:
            return None
        return self._lend(array, self._borrowed)

    def _lend(self, array: _c.splat_array, lent: "weakref.WeakSet[Array]") -> Array:
        n = array.n_dimensions
        made = Array(array.data or 0, tuple(array.shape[:n]), _TYPESTR[array.type], self, tuple(array.strides[:n]),
                     None if array.gpu < 0 else array.gpu)
        lent.add(made)
        return made

    @property
    def means(self) -> Array:
        """float32 [n][3]: centres, world, scene units."""
        return self._array("means")  # type: ignore[return-value]

    @property
    def sh_dc(self) -> Array:
        """float32 [n][3]: coefficients of the constant harmonic; colour = 1/2 + 0.28209479 sh_dc + ..."""
        return self._array("sh_dc")  # type: ignore[return-value]

    @property
    def sh_rest(self) -> Array:
        """float32, or float16 with sh_storage="float16", [n][(degree + 1)^2 - 1][3]: those of the higher harmonics."""
        return self._array("sh_rest")  # type: ignore[return-value]

    @property
    def opacities(self) -> Array:
        """float32 [n]: logits; opacity = 1/(1 + exp(-x))."""
        return self._array("opacities")  # type: ignore[return-value]

    @property
    def scales(self) -> Array:
        """float32 [n][3]: natural logarithms of standard deviations along the Gaussian's axes, scene units."""
        return self._array("scales")  # type: ignore[return-value]

    @property
    def rotations(self) -> Array:
        """float32 [n][4]: quaternions (w, x, y, z) of any length, from the Gaussian's axes to the world."""
        return self._array("rotations")  # type: ignore[return-value]

    @property
    def filter_3d(self) -> Optional[Array]:
        """float32 [n]: standard deviation of the 3D filter, scene units, or None: there is none."""
        return self._array("filter_3d")

    @property
    def mean_opacity(self) -> float:
        """The mean over all Gaussians of their opacity, 0 to 1, without the 3D filter."""
        handle, mean = open_handle(self, "model"), ctypes.c_double()
        handle.session.call("splat_model_get_mean_opacity", handle.pointer, byref(mean))
        return mean.value

    # ------------------------------------------------------------ changes

    def clean(self, **options: "Unpack[CleanOptions]") -> CleanCounts:
        """Removes Gaussians: outside of bbox_low to bbox_high, below min_opacity, above max_size, farther from their
        neighbours than outlier_std, and those with numbers that are not finite."""
        self.check_not_borrowed("cleaned")
        handle = open_handle(self, "model")
        struct = _native.struct_of(_c.splat_clean_options)
        struct.has_bbox = "bbox_low" in options or "bbox_high" in options
        _native.set_options(struct, dict(options))
        counts = _c.splat_clean_counts()
        handle.session.call("splat_model_clean", handle.pointer, byref(struct), byref(counts))
        return record(CleanCounts, counts)  # type: ignore[no-any-return]

    def reduce_sh(self, sh_degree: int) -> None:
        """Cuts the bands above the degree off."""
        self.check_not_borrowed("reduced")
        handle = open_handle(self, "model")
        handle.session.call("splat_model_reduce_sh", handle.pointer, sh_degree)

    def transform(self, rotation: Sequence[float] = (1, 0, 0, 0), scale: float = 1.0) -> None:
        """Turns the splat about the origin, then scales it. rotation: a quaternion (w, x, y, z) of any length but 0."""
        handle = open_handle(self, "model")
        quaternion = (ctypes.c_double * 4)(*_native.floats(rotation, 4, "rotation"))
        handle.session.call("splat_model_transform", handle.pointer, quaternion, scale)

    def set_render_mode(self, mode: Union[str, int], kernel_size: float = 0.0) -> None:
        """How the model is rendered from now on: "mip" or "classic". kernel_size: variance, pixels^2; 0: its default.
        """
        handle = open_handle(self, "model")
        number = _native.enum_value(_c.RenderMode, "mode", mode)
        handle.session.call("splat_model_set_render_mode", handle.pointer, number, kernel_size)

    # ------------------------------------------------------------ pictures

    def render(self, camera: Camera, background: Sequence[float] = (0, 0, 0), copy: bool = True) -> Array:
        """Renders a view: float32 [height][width][3], not clamped to [0, 1]; in memory one colour follows the other
        (strides). background: rgb, 0 to 1.

        copy: True: an array of its own in host memory. False: the picture where it was made, in the memory of the
        context's device; while it is in use the model cannot render, train or close (BufferError)."""
        self.check_not_rendered()
        handle = open_handle(self, "model")
        struct, color = camera.to_struct(), (ctypes.c_float * 3)(*_native.floats(background, 3, "background"))
        if not copy:
            found = _c.splat_array()
            handle.session.call("splat_model_render_array", handle.pointer, byref(struct), color, byref(found))
            return self._lend_picture(found)
        planar = arrays.new((3, camera.height, camera.width), "<f4")
        handle.session.call("splat_model_render", handle.pointer, byref(struct), color,
                            ctypes.cast(planar.pointer, _FLOATS))
        return interleaved(planar)

    def check_not_rendered(self) -> None:
        if self._pictures:
            gc.collect()
        if self._pictures:
            raise BufferError("a picture that was rendered with copy=False is still in use, and the next one would "
                              "take its place; copy it, or drop it")

    def _lend_picture(self, found: _c.splat_array) -> Array:
        planar = self._lend(found, self._pictures)
        self._pictures.discard(planar)
        picture = interleaved(planar)
        self._pictures.add(picture)
        return picture

    def render_geometry(self, camera: Camera, camera_space: bool = False) -> GeometryMaps:
        """Depth, normals and more of a view. camera_space: normals in camera space instead of the world."""
        self.check_not_rendered()
        handle = open_handle(self, "model")
        sides = (camera.height, camera.width)
        depth, median, alpha = (arrays.new(sides, "<f4") for _ in range(3))
        normal, blended = arrays.new((3,) + sides, "<f4"), arrays.new(sides, "<u4")
        maps = _c.splat_geometry_maps(camera_space=camera_space)
        for name, array in (("depth", depth), ("median", median), ("alpha", alpha), ("normal", normal)):
            setattr(maps, name, ctypes.cast(array.pointer, _FLOATS))
        maps.blended = ctypes.cast(blended.pointer, ctypes.POINTER(ctypes.c_uint32))
        struct = camera.to_struct()
        handle.session.call("splat_model_render_geometry", handle.pointer, byref(struct), byref(maps))
        return GeometryMaps(depth, median, interleaved(normal), alpha, blended)

    def evaluate(self, scene: Scene, visit: Optional[Callable[[View, Array, Array, Metrics], Any]] = None,
                 **job: "Unpack[ViewJob]") -> Metrics:
        """Renders and measures the views of a scene: set="test" (the default), "train" or "train_report".

        visit: called for each view with the view, the picture (float32 [height][width][3], 0 to 1), the photo (uint8
        [height][width][3]), both copies, and its figures; what it returns is not used, and an exception ends the work.
        """
        self.check_not_rendered()
        if scene.context is not self.context:
            raise ArgumentError("the scene and the model belong to two contexts; open both with one")
        handle, other = open_handle(self, "model"), open_handle(scene, "scene")
        struct = _native.struct_of(_c.splat_view_job)
        kept: List[Any] = _native.set_options(struct, dict(job))
        if visit is not None:
            see = visit

            def receive(_user: Any, _index: int, info: Any, render: Any, photo: Any, metrics: Any) -> bool:
                view = view_of(info.contents)
                planar = copied(render, (3, view.camera.height, view.camera.width), "<f4")
                rgb = copied(photo, (view.camera.height, view.camera.width, 3), "|u1")
                see(view, interleaved(planar), rgb, record(Metrics, metrics.contents))
                return True

            struct.visit = _c.splat_view_function(handle.session.guard(receive, False))
            kept.append(struct.visit)
        mean = _c.splat_metrics()
        handle.session.call_for_long("splat_model_evaluate", handle.pointer, other.pointer, byref(struct), byref(mean))
        return record(Metrics, mean)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        if self._handle.is_closed:
            return "<splatsmith.Model, closed>"
        info = self.info
        return f"<splatsmith.Model of {info.n_gaussians} Gaussians, SH degree {info.sh_degree}>"


def interleaved(planar: Array) -> Array:
    """[3][height][width] as [height][width][3], the same memory."""
    return Array(planar.pointer, planar.shape[1:] + planar.shape[:1], planar.typestr, planar._owner,
                 planar.strides[1:] + planar.strides[:1], planar.gpu)


def copied(pointer: Any, shape: Any, typestr: str) -> Array:
    """A copy of a callback's arguments."""
    array = arrays.new(shape, typestr)
    ctypes.memmove(array.pointer, pointer, array.size * int(typestr[2:]))
    return array


def save_png(path: "PathLike", picture: Any) -> None:
    """Writes a picture as a PNG of 8 bits, atomically: float [height][width][3], 0 to 1, as Model.render makes it; what
    lies outside is clamped."""
    if isinstance(picture, Array) and picture.gpu is None and len(picture.shape) == 3 and picture.shape[2] == 3:
        height, width = picture.shape[:2]
        if picture.typestr == "<f4" and picture.strides == (4 * width, 4, 4 * width * height):  # planar already
            pointer = ctypes.cast(picture.pointer, _FLOATS)
            _native.call("splat_picture_write", _native.path_bytes(path), pointer, width, height)
            return
    rows = arrays.given(picture, "<f4", "the picture")
    if len(rows.shape) != 3 or rows.shape[2] != 3:
        raise ArgumentError(f"the picture has the shape {rows.shape}; it must be (height, width, 3)")
    height, width = rows.shape[:2]
    planar: Any = (ctypes.c_float * max(3 * width * height, 1))()
    flat = (ctypes.c_float * len(planar)).from_address(rows.pointer)
    for c in range(3):
        planar[c * width * height:(c + 1) * width * height] = flat[c:3 * width * height:3]
    _native.call("splat_picture_write", _native.path_bytes(path), planar, width, height)
