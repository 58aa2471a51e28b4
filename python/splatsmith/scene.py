"""Scenes: photos with their cameras, and the points that a training starts from."""
import ctypes
import weakref
from ctypes import byref
from typing import TYPE_CHECKING, Any, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from . import _c, _native, arrays
from .camera import Camera
from .context import Context, default_context, open_handle, record
from .errors import ArgumentError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import PathLike, SampleOptions, SceneOptions


class SceneInfo(NamedTuple):
    """Facts of a scene; the fields are those of splat_scene_info."""
    format: str
    n_views: int
    n_train: int
    n_test: int
    n_points: int
    extent: float
    max_width: int
    max_height: int
    random_points: bool
    n_masked: int
    n_photos: int
    n_depths: int
    n_depth_points: int


class View(NamedTuple):
    """A photo of a scene as it is trained on: its name, whether it is held out, its camera at the loaded resolution."""
    name: str
    is_test: bool
    camera: Camera


class Photo:
    """A photo in memory with its camera, for Scene.create.

    name: as of a file, "left/0001.jpg"; views are sorted by it. pixels: uint8 [height][width][3] (RGB) or [4] (RGBA,
    straight alpha), from the top left: a numpy array, a Pillow image, anything with __array_interface__ or a buffer. It
    is borrowed as long as the scene lives, where it has no gaps. camera: pose and intrinsics; its size is that of the
    picture that the intrinsics are for, of which the photo may be a smaller or larger copy. lens: instead of the
    intrinsics of the camera the name and the parameters of one of COLMAP's camera models, in COLMAP's order: ("OPENCV",
    [fx, fy, cx, cy, k1, k2, p1, p2]); such photos are undistorted. mask: uint8 [height][width], 255: kept, or None.
    is_test: held out with Scene.create(eval=True).
    """

    def __init__(self, name: str, pixels: Any, camera: Camera, lens: Optional[Tuple[str, Sequence[float]]] = None,
                 mask: Any = None, is_test: bool = False) -> None:
        self.name = name
        self.pixels = pixels
        self.camera = camera
        self.lens = lens
        self.mask = mask
        self.is_test = is_test

    def fill(self, struct: _c.splat_scene_photo, kept: List[Any]) -> None:
        """Sets the fields of the C struct; what it borrows is added to `kept`."""
        pixels = arrays.given(self.pixels, "|u1", f"the photo {self.name!r}")
        if len(pixels.shape) != 3:
            raise ArgumentError(f"the photo {self.name!r} has the shape {pixels.shape}; it must be (height, width, 3) "
                                "or (height, width, 4)")
        model, parameters = self.lens or ("PINHOLE", (self.camera.fx, self.camera.fy, self.camera.cx, self.camera.cy))
        names = (_native.path_bytes(self.name), model.encode())
        kept += [pixels, names]
        struct.name, struct.camera_model = names
        struct.pixels = pixels.of(ctypes.c_uint8)
        struct.height, struct.width, struct.channels = pixels.shape
        if len(parameters) > _c.SPLAT_CAMERA_PARAMETERS:
            raise ArgumentError(f"the lens of the photo {self.name!r} has {len(parameters)} parameters; COLMAP's "
                                f"models have at most {_c.SPLAT_CAMERA_PARAMETERS}")
        struct.parameters[:len(parameters)] = [float(p) for p in parameters]
        struct.camera_width, struct.camera_height = self.camera.width, self.camera.height
        struct.rotation[:] = [x for row in self.camera.rotation for x in row]
        struct.translation[:] = self.camera.translation
        struct.is_test = self.is_test
        if self.mask is not None:
            mask = arrays.given(self.mask, "|u1", f"the mask of the photo {self.name!r}")
            if mask.shape != pixels.shape[:2]:
                raise ArgumentError(f"the mask of the photo {self.name!r} has the shape {mask.shape}; it must be that "
                                    f"of the photo, {pixels.shape[:2]}")
            struct.mask = mask.of(ctypes.c_uint8)
            kept.append(mask)


class Scene:
    """Photos with their cameras. Made by Scene.open and Scene.create; a sequence of View, in the order of names."""

    def __init__(self, context: Context, handle: _native.Handle) -> None:
        self.context = context
        self._handle = handle
        weakref.finalize(self, handle.close)

    @classmethod
    def open(cls, path: "PathLike", context: Optional[Context] = None, **options: "Unpack[SceneOptions]") -> "Scene":
        """A scene in files: a folder of COLMAP, Nerfstudio (transforms.json), Blender, RealityScan, OpenSfM, Metashape
        or Polycam. Options: those of splat_scene_options and of `splatsmith train`, as eval=True, resolution=2."""
        context = context or default_context()
        struct = _native.struct_of(_c.splat_scene_options)
        kept = _native.set_options(struct, dict(options, source_path=path))
        return cls._make(context, "splat_scene_open", kept, None, byref(struct))

    @classmethod
    def create(cls, photos: Sequence[Photo], points: Any = None, colors: Any = None,
               context: Optional[Context] = None, **options: "Unpack[SceneOptions]") -> "Scene":
        """A scene in memory. points: float [n][3], scene units, where a training starts from; None: random ones.
        colors: uint8 [n][3] of theirs; None: gray. Options: as of Scene.open, but for those of files."""
        context = context or default_context()
        struct = _native.struct_of(_c.splat_scene_options)
        kept: List[Any] = _native.set_options(struct, dict(options))
        held: List[Any] = []
        n = len(photos)
        structs = (_c.splat_scene_photo * max(n, 1))()
        for photo, target in zip(photos, structs):
            _native.library().splat_scene_photo_init_sized(byref(target), ctypes.sizeof(target))
            photo.fill(target, held)
        given = _native.struct_of(_c.splat_scene_arrays)
        given.photos, given.n_photos = structs, n
        if points is not None:
            rows = arrays.given_rows(points, "<f4", 3, "points")
            given.points, given.n_points = rows.of(ctypes.c_float), rows.shape[0]
            kept.append(rows)
            if colors is not None:
                tints = arrays.given_rows(colors, "|u1", 3, "colors", rows.shape[0])
                given.colors = tints.of(ctypes.c_uint8)
                kept.append(tints)
        elif colors is not None:
            raise ArgumentError("colors are those of points, and there are none; give points")
        return cls._make(context, "splat_scene_create", kept, held, byref(given), byref(struct))

    @classmethod
    def _make(cls, context: Context, function: str, _kept: Any, held: Any, *arguments: Any) -> "Scene":
        parent = open_handle(context, "context")
        pointer = ctypes.POINTER(_c.splat_scene)()
        parent.session.call(function, parent.pointer, *arguments, byref(pointer))
        return cls(context, _native.Handle(parent.session, pointer, "splat_scene_close", [parent], held))

    def close(self) -> None:
        """Gives the scene back, once no trainer uses it."""
        self._handle.close()

    def __enter__(self) -> "Scene":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def info(self) -> SceneInfo:
        info = _c.splat_scene_info()
        handle = open_handle(self, "scene")
        handle.session.get("splat_scene_get_info", handle.pointer, byref(info))
        return record(SceneInfo, info)  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return self.info.n_views

    def __getitem__(self, index: int) -> View:
        n = len(self)
        if not -n <= index < n:
            raise IndexError(f"view {index} of a scene with {n}")
        info = _c.splat_view_info()
        handle = open_handle(self, "scene")
        handle.session.call("splat_scene_get_view", handle.pointer, index % n, byref(info))
        return view_of(info)

    def __iter__(self) -> Iterator[View]:
        return (self[i] for i in range(len(self)))

    def photo(self, index: int) -> arrays.Array:
        """The photo of a view as it is trained on (resized, undistorted, composited): uint8 [height][width][3], a
        copy."""
        camera = self[index].camera
        rgb = arrays.new((camera.height, camera.width, 3), "|u1")
        handle = open_handle(self, "scene")
        handle.session.call("splat_scene_read_photo", handle.pointer, index % len(self),
                            ctypes.cast(rgb.pointer, ctypes.POINTER(ctypes.c_uint8)))
        return rgb

    def points(self) -> Tuple[arrays.Array, arrays.Array]:
        """The points that a training starts from, the model's or random ones: float32 [n][3], scene units, and their
        colours, uint8 [n][3]; copies."""
        n = self.info.n_points
        positions, colors = arrays.new((n, 3), "<f4"), arrays.new((n, 3), "|u1")
        handle = open_handle(self, "scene")
        handle.session.get("splat_scene_get_points", handle.pointer,
                           ctypes.cast(positions.pointer, ctypes.POINTER(ctypes.c_float)),
                           ctypes.cast(colors.pointer, ctypes.POINTER(ctypes.c_uint8)))
        return positions, colors

    def __repr__(self) -> str:
        if self._handle.is_closed:
            return "<splatsmith.Scene, closed>"
        info = self.info
        return f"<splatsmith.Scene of {info.format}: {info.n_train} training views, {info.n_test} test views>"


def view_of(info: _c.splat_view_info) -> View:
    return View(info.name.decode("utf-8", "surrogateescape"), bool(info.is_test), Camera.from_struct(info.camera))


def write_sample(folder: "PathLike", context: Optional[Context] = None, **options: "Unpack[SampleOptions]") -> None:
    """Writes a ray-traced COLMAP scene with known truth into a folder that is absent or empty, for trying and testing.
    Options: those of splat_sample_options, as scene="room", width=200, n_cameras=20."""
    context = context or default_context()
    handle = open_handle(context, "context")
    struct = _native.struct_of(_c.splat_sample_options)
    if "scene" in options:
        chosen = _native.enum_value(_c.SampleScene, "scene", options["scene"])
        _native.library().splat_sample_options_choose(byref(struct), chosen)
    _kept = _native.set_options(struct, dict(options))
    handle.session.call("splat_sample_write", handle.pointer, _native.path_bytes(folder), byref(struct))
