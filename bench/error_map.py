#!/usr/bin/env python3
"""Map of a mesh's errors, from above and from the front.

    error_map.py MESH.ply SCENE OUT.png [DEPTHS]

SCENE is a folder of `splatsmith sample`, with the true surface. 200,000 points of the mesh near the reference (without its
subset "far") are drawn in the order of their distances to the true surface: green below 0.02 of the scene's units, yellow below
0.05, orange below 0.2, red beyond; grey where only the truth is. Prints how many of each kind lie next to which subset of the
truth. Needs numpy, scipy and PIL. The figures are near those of `mesh-report`, which is exact.

DEPTHS are the true depths of all views: the folder with *.pfm that `splatsmith render --mesh SCENE/ground_truth_mesh.ply -s SCENE
-o OUT --what depth` writes. With these the points are also told apart by what most views have there: `before` the true surface, in
free space; `at` it; `behind` it, where no view sees them."""
import glob
import os
import sys

import numpy as np
from PIL import Image
from scipy.spatial import cKDTree

N_POINTS, N_REFERENCE, NEAR, SIZE, FAR = 200_000, 2_000_000, 0.03, 900, 6
AT = 0.02  # of the depth: a point lies at the true surface
TYPES = {"float": "<f4", "double": "<f8", "uchar": "u1", "ushort": "<u2", "int": "<i4", "uint": "<u4"}
SUBSETS = ["textured", "plain", "thin", "curved", "glossy", "leaves", "far"]
COLOURS = [(0.02, (0, 0.6, 0)), (0.05, (0.8, 0.8, 0)), (0.2, (1, 0.4, 0)), (np.inf, (1, 0, 0))]


def read_ply(path):
    """The vertices of a binary PLY as a structured array, and the triangles [n][3] if there are any."""
    data = open(path, "rb").read()
    at = data.index(b"end_header\n") + len(b"end_header\n")
    elements = []
    for line in data[:at].decode().split("\n"):
        words = line.split()
        if words[:1] == ["element"]:
            elements.append((words[1], int(words[2]), []))
        elif words[:1] == ["property"] and words[1] != "list":
            elements[-1][2].append((words[2], TYPES[words[1]]))
    vertices, faces = None, np.zeros((0, 3), int)
    for name, n, properties in elements:
        kind = np.dtype(properties) if name == "vertex" else np.dtype([("n", "u1"), ("v", "<i4", 3)])
        rows = np.frombuffer(data, kind, n, at)
        at += n * kind.itemsize
        if name == "vertex":
            vertices = rows
        else:
            faces = rows["v"]
    return vertices, faces


def positions(vertices):
    return np.stack([vertices["x"], vertices["y"], vertices["z"]], 1).astype(float)


def corners_of(path):
    vertices, faces = read_ply(path)
    place = positions(vertices)
    return [place[faces[:, k]] for k in range(3)]


def sample(corners, keep, n, random):
    a, b, c = (x[keep] for x in corners)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    chosen = random.choice(len(area), n, p=area / area.sum())
    u = random.random((n, 2))
    u = np.where(u.sum(1, keepdims=True) > 1, 1 - u, u)
    normals = np.cross(b - a, c - a)[chosen]
    return a[chosen] + u[:, :1] * (b - a)[chosen] + u[:, 1:] * (c - a)[chosen], normals


def distance_to_samples(points, samples, normals):
    """To the surface at the nearest sample, or to the sample if that is not near."""
    distance, i = cKDTree(samples).query(points, workers=-1)
    normals = normals[i] / (np.linalg.norm(normals[i], axis=1, keepdims=True) + 1e-300)
    return np.where(distance < NEAR, np.abs(((points - samples[i]) * normals).sum(1)), distance)


def distance_to_triangles(points, corners, chosen, distance):
    """Those of large triangles, which samples are too sparse for, where a point lies before or behind one."""
    for i in chosen:
        a, b, c = (x[i] for x in corners)
        normal = np.cross(b - a, c - a)
        if not np.linalg.norm(normal) > 0:
            continue
        normal /= np.linalg.norm(normal)
        frame = np.stack([b - a, c - a], 1)
        uv = (points - a) @ np.linalg.pinv(frame).T
        inside = (uv >= 0).all(1) & (uv.sum(1) <= 1)
        distance = np.where(inside, np.minimum(distance, np.abs((points - a) @ normal)), distance)
    return distance


def draw(truth, points, distance, axes, low, high):
    scale = SIZE / (high - low)[list(axes)].max()
    image = np.zeros((SIZE, SIZE, 3))

    def pixels(place):
        return (((place - low)[:, axes]) * scale).astype(int).clip(0, SIZE - 1).T

    x, y = pixels(truth)
    image[y, x] = 0.25
    order = np.argsort(distance)
    x, y = pixels(points[order])
    bounds = [bound for bound, _ in COLOURS]
    image[y, x] = np.array([colour for _, colour in COLOURS])[np.searchsorted(bounds, distance[order], "right")]
    return (255 * image).astype(np.uint8)[::-1]


def read_pfm(path):
    with open(path, "rb") as file:
        file.readline()
        width, height = map(int, file.readline().split())
        scale = float(file.readline())
        rows = np.frombuffer(file.read(), "<f4" if scale < 0 else ">f4").reshape(height, width)
    return rows[::-1]


def read_views(scene):
    """Rotation, translation, and width, height, fx, fy, cx, cy of each photo, in the order of their names."""
    lines = [line.split() for line in open(scene + "/sparse/0/cameras.txt") if line[0] != "#"]
    cameras = {words[0]: [float(word) for word in words[2:8]] for words in lines}
    lines = [line.split() for line in open(scene + "/sparse/0/images.txt") if line[0] != "#"]
    views = []
    for words in sorted(lines[::2], key=lambda words: words[9]):
        w, x, y, z = map(float, words[1:5])
        rotation = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                             [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                             [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])
        views.append((rotation, np.array([float(word) for word in words[5:8]]), cameras[words[8]]))
    return views


def print_sight(points, distance, scene, folder):
    """How many of the points stand before, at and behind the true surface, for the most views that contain them."""
    counts = np.zeros((3, len(points)), int)
    paths = sorted(glob.glob(os.path.join(folder, "*.pfm")))
    views = read_views(scene)
    if len(paths) != len(views):
        sys.exit(f"{folder} has {len(paths)} depth maps, and {scene} has {len(views)} photos")
    for path, (rotation, translation, (width, height, fx, fy, cx, cy)) in zip(paths, views):
        true = read_pfm(path)
        x, y, z = (points @ rotation.T + translation).T
        with np.errstate(all="ignore"):
            x, y = (x / z * fx + cx) / width, (y / z * fy + cy) / height
        i = np.where((z > 0) & (x >= 0) & (y >= 0) & (x < 1) & (y < 1))[0]
        depth = true[(y[i] * true.shape[0]).astype(int), (x[i] * true.shape[1]).astype(int)]
        depth = np.where(depth > 0, depth, np.inf)
        counts[0, i] += z[i] < (1 - AT) * depth
        counts[1, i] += np.abs(z[i] - depth) <= AT * depth
        counts[2, i] += z[i] > (1 + AT) * depth
    before = counts[0] > counts[1]
    at = ~before & (counts[1] > 0)
    for name, chosen in (("before", before), ("at", at), ("behind", ~before & ~at)):
        d = distance[chosen]
        shares = ", ".join(f"{(d < bound).mean() if len(d) else 0:.3f} < {bound}" for bound, _ in COLOURS[:3])
        print(f"{name:9} {len(d) / len(distance):.3f} of the mesh: {shares}")


def main(mesh, scene, out, depths=None):
    random = np.random.default_rng(0)
    rows, _ = read_ply(scene + "/ground_truth.ply")
    truth = positions(rows)
    near = truth[rows["subset"] != FAR]
    margin = 0.02 * np.linalg.norm(near.max(0) - near.min(0))
    low, high = near.min(0) - margin, near.max(0) + margin
    corners, reference = corners_of(mesh), corners_of(scene + "/ground_truth_mesh.ply")

    def is_in(triangles, around):
        middle = sum(triangles) / 3
        return ((middle > low - around) & (middle < high + around)).all(1)

    points, _ = sample(corners, is_in(corners, 0), N_POINTS, random)
    small = is_in(reference, margin)
    least, most = np.minimum.reduce(reference), np.maximum.reduce(reference)
    large = np.where(~small & ((least < high) & (most > low)).all(1))[0]
    distance = distance_to_samples(points, *sample(reference, small, N_REFERENCE, random))
    distance = distance_to_triangles(points, reference, large, distance)
    _, nearest = cKDTree(truth).query(points, workers=-1)
    subset = rows["subset"][nearest]
    print("precision", ", ".join(f"{(distance < bound).mean():.3f} < {bound}" for bound, _ in COLOURS[:3]))
    for k, name in enumerate(SUBSETS):
        d = distance[subset == k]
        if len(d):
            shares = ", ".join(f"{(d < bound).mean():.3f} < {bound}" for bound, _ in COLOURS[:3])
            print(f"{name:9} {len(d) / len(distance):.3f} of the mesh: {shares}")
    if depths:
        print_sight(points, distance, scene, depths)
    views = [draw(near, points, distance, axes, low, high) for axes in ((0, 2), (0, 1))]
    Image.fromarray(np.concatenate(views, 1)).save(out)


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
