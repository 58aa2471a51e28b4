"""Cameras: pinholes at the resolution of the picture that they render."""
import math
from typing import Any, List, Optional, Sequence, Tuple

from . import _c
from ._native import floats
from .errors import ArgumentError

Matrix3 = Tuple[Tuple[float, float, float], Tuple[float, float, float], Tuple[float, float, float]]
Vector3 = Tuple[float, float, float]


class Camera:
    """A pinhole camera: intrinsics in pixels, and where it stands, as world to camera (COLMAP, OpenCV: x right, y down,
    z forward).

        x_camera = rotation @ x_world + translation

    width, height: pixels. fx, fy: focal lengths, pixels; fy None: fx. cx, cy: principal point, pixels of the continuous
    picture, whose first pixel has its centre at (0.5, 0.5); None: the middle. rotation: 3 x 3. translation: 3.
    """

    def __init__(self, width: int, height: int, fx: float, fy: Optional[float] = None, cx: Optional[float] = None,
                 cy: Optional[float] = None, rotation: Any = ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
                 translation: Any = (0, 0, 0)) -> None:
        self.width = int(width)
        self.height = int(height)
        self.fx = float(fx)
        self.fy = float(fx if fy is None else fy)
        self.cx = self.width / 2 if cx is None else float(cx)
        self.cy = self.height / 2 if cy is None else float(cy)
        self.rotation = _matrix(floats(rotation, 9, "rotation"))
        self.translation = _vector(floats(translation, 3, "translation"))
        if self.width < 1 or self.height < 1 or not (self.fx > 0 and self.fy > 0):
            raise ArgumentError(f"a camera of {self.width} x {self.height} pixels with the focal lengths {self.fx:g}, "
                                f"{self.fy:g}; all must be above 0")
        _check_rotation(self.rotation)

    # ------------------------------------------------------------ other ways to say where it stands

    @classmethod
    def from_w2c(cls, matrix: Any, width: int, height: int, fx: float, fy: Optional[float] = None,
                 cx: Optional[float] = None, cy: Optional[float] = None) -> "Camera":
        """From a world-to-camera matrix of 3 x 4 or 4 x 4 (an "extrinsic", a "viewmat")."""
        rows = _rows_of(matrix)
        return cls(width, height, fx, fy, cx, cy, [row[:3] for row in rows], [row[3] for row in rows])

    @classmethod
    def from_c2w(cls, matrix: Any, width: int, height: int, fx: float, fy: Optional[float] = None,
                 cx: Optional[float] = None, cy: Optional[float] = None, convention: str = "opencv") -> "Camera":
        """From a camera-to-world matrix of 3 x 4 or 4 x 4. convention: "opencv" (x right, y down, z forward) or
        "opengl" (x right, y up, z backward: Blender, Nerfstudio's transforms.json)."""
        if convention not in ("opencv", "opengl"):
            raise ArgumentError(f"convention must be opencv or opengl, not {convention!r}")
        rows = _rows_of(matrix)
        signs = (1, 1, 1) if convention == "opencv" else (1, -1, -1)
        rotation = [[signs[i] * rows[k][i] for k in range(3)] for i in range(3)]
        return cls(width, height, fx, fy, cx, cy, rotation, _from_center(rotation, [row[3] for row in rows]))

    @classmethod
    def from_quaternion(cls, qvec: Sequence[float], tvec: Sequence[float], width: int, height: int, fx: float,
                        fy: Optional[float] = None, cx: Optional[float] = None,
                        cy: Optional[float] = None) -> "Camera":
        """From COLMAP's images.txt: world to camera, the quaternion as (w, x, y, z) of any length but 0."""
        w, x, y, z = floats(qvec, 4, "qvec")
        length = math.sqrt(w * w + x * x + y * y + z * z)
        if not length > 0:
            raise ArgumentError("qvec has the length 0, which is no rotation")
        w, x, y, z = w / length, x / length, y / length, z / length
        rotation = [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                    [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]
        return cls(width, height, fx, fy, cx, cy, rotation, tvec)

    @classmethod
    def look_at(cls, eye: Sequence[float], target: Sequence[float], width: int, height: int, fov_y: float = 50.0,
                up: Sequence[float] = (0, 0, 1)) -> "Camera":
        """At `eye`, with `target` in the middle and `up` above it. fov_y: degrees, over the height; square pixels."""
        place = floats(eye, 3, "eye")
        forward = _unit([t - e for t, e in zip(floats(target, 3, "target"), place)], "eye and target are one place")
        right = _unit(_cross(forward, floats(up, 3, "up")), "up is along the view")
        rotation = [right, _cross(forward, right), forward]
        fx = height / (2 * math.tan(math.radians(fov_y) / 2))
        return cls(width, height, fx, rotation=rotation, translation=_from_center(rotation, place))

    # ------------------------------------------------------------ what it is

    @property
    def center(self) -> Vector3:
        """The place of the camera in the world: -rotation^T translation."""
        r, t = self.rotation, self.translation
        return _vector([-sum(r[i][k] * t[i] for i in range(3)) for k in range(3)])

    @property
    def w2c(self) -> List[List[float]]:
        """World to camera, 4 x 4."""
        return [list(row) + [t] for row, t in zip(self.rotation, self.translation)] + [[0.0, 0.0, 0.0, 1.0]]

    @property
    def c2w(self) -> List[List[float]]:
        """Camera to world, 4 x 4, OpenCV's axes."""
        r, c = self.rotation, self.center
        return [[r[0][k], r[1][k], r[2][k], c[k]] for k in range(3)] + [[0.0, 0.0, 0.0, 1.0]]

    @property
    def K(self) -> List[List[float]]:
        """The intrinsic matrix, 3 x 3."""
        return [[self.fx, 0.0, self.cx], [0.0, self.fy, self.cy], [0.0, 0.0, 1.0]]

    def resized(self, width: int, height: int) -> "Camera":
        """The same view in a picture of another size."""
        x, y = width / self.width, height / self.height
        return Camera(width, height, self.fx * x, self.fy * y, self.cx * x, self.cy * y, self.rotation,
                      self.translation)

    def __repr__(self) -> str:
        place = ", ".join(f"{c:g}" for c in self.center)
        return f"<splatsmith.Camera {self.width} x {self.height} at ({place})>"

    def to_struct(self) -> _c.splat_camera:
        """As the C interface has it, in 32-bit numbers."""
        camera = _c.splat_camera(fx=self.fx, fy=self.fy, cx=self.cx, cy=self.cy, width=self.width, height=self.height)
        camera.rotation[:] = [x for row in self.rotation for x in row]
        camera.translation[:] = self.translation
        camera.center[:] = self.center
        return camera

    @classmethod
    def from_struct(cls, camera: _c.splat_camera) -> "Camera":
        return cls(camera.width, camera.height, camera.fx, camera.fy, camera.cx, camera.cy, list(camera.rotation),
                   list(camera.translation))


def _vector(values: Sequence[float]) -> Vector3:
    return values[0], values[1], values[2]


def _matrix(values: Sequence[float]) -> Matrix3:
    return _vector(values[0:3]), _vector(values[3:6]), _vector(values[6:9])


def _rows_of(matrix: Any) -> List[List[float]]:
    if hasattr(matrix, "tolist"):
        matrix = matrix.tolist()
    rows = [[float(x) for x in row] for row in matrix]
    if len(rows) not in (3, 4) or any(len(row) != 4 for row in rows):
        raise ArgumentError("a pose must be a matrix of 3 x 4 or 4 x 4")
    return rows[:3]


def _from_center(rotation: Sequence[Sequence[float]], center: Sequence[float]) -> List[float]:
    return [-sum(row[k] * center[k] for k in range(3)) for row in rotation]


def _cross(a: Sequence[float], b: Sequence[float]) -> List[float]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _unit(v: Sequence[float], otherwise: str) -> List[float]:
    length = math.sqrt(sum(x * x for x in v))
    if not length > 1e-12:
        raise ArgumentError(otherwise)
    return [x / length for x in v]


def _check_rotation(r: Matrix3) -> None:
    dots = [abs(sum(r[i][k] * r[j][k] for k in range(3)) - (i == j)) for i in range(3) for j in range(3)]
    determinant = sum(r[0][k] * _cross(r[1], r[2])[k] for k in range(3))
    if not (max(dots) <= 1e-3 and determinant > 0):
        raise ArgumentError("rotation is none: its rows must have length 1 and right angles, and its determinant must "
                            "be 1")
