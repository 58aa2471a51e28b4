#!/usr/bin/env python3
"""A mesh, shaded, from six sides: four views around it, one from above and one from below.

With --inside the six views from its middle. Faces are gray, and red from behind. Up is square to the x axes of the
cameras in --cameras (a model folder's cameras.json), which people hold level, without it -y. Needs Pillow."""
import argparse
import json
import math
import pathlib
import struct
import subprocess
import tempfile

SIDE = 480
FIELD = math.radians(50)
INSIDE_FIELD = math.radians(90)


def read_vertices(path):
    """About 20,000 vertices of a binary PLY."""
    data = pathlib.Path(path).read_bytes()
    end = data.index(b"end_header\n") + len(b"end_header\n")
    sizes = {"float": 4, "double": 8, "uchar": 1, "int": 4, "uint": 4}
    count = stride = 0
    in_vertices = False
    for line in data[:end].decode().splitlines():
        words = line.split()
        if words[0] == "element":
            in_vertices = words[1] == "vertex"
            count = int(words[2]) if in_vertices else count
        elif words[0] == "property" and in_vertices:
            stride += sizes[words[1]]
    step = max(1, count // 20000)
    return [struct.unpack_from("<3f", data, end + i * stride) for i in range(0, count, step)]


def normalize(v):
    length = math.sqrt(sum(x * x for x in v))
    return [x / length for x in v]


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def find_up(path):
    """From the rotations of a cameras.json, camera to world, whose first columns are level and whose second ones point
    down: the mean of those up, less its parts along the first ones. A drone that looks down has no other up."""
    rotations = [camera["rotation"] for camera in json.loads(pathlib.Path(path).read_text())]
    up = normalize([-sum(rotation[k][1] for rotation in rotations) for k in range(3)])
    for _ in range(100):  # towards the axis that the level ones have least of
        level = [sum(rotation[i][0] * up[i] for i in range(3)) for rotation in rotations]
        up = normalize([len(rotations) * up[k] - sum(part * rotation[k][0] for part, rotation in zip(level, rotations))
                        for k in range(3)])
    return up


def camera_to_world(eye, forward, up):
    """Columns right, up, backward, eye: the axes of OpenGL."""
    right = normalize(cross(forward, up))
    above = cross(right, forward)
    return [[right[k], above[k], -forward[k], eye[k]] for k in range(3)] + [[0, 0, 0, 1]]


def cameras(vertices, up, inside):
    axes = [sorted(v[k] for v in vertices) for k in range(3)]
    low, high = ([a[int(q * (len(a) - 1))] for a in axes] for q in (0.02, 0.98))
    middle = [(a + b) / 2 for a, b in zip(low, high)]
    radius = math.dist(low, high) / 2
    side = normalize(cross(up, [1, 0, 0] if abs(up[0]) < 0.9 else [0, 0, 1]))
    other = cross(up, side)
    for k in range(6):
        angle = k * math.pi / 2 + 0.4
        around = [math.cos(angle) * a + math.sin(angle) * b for a, b in zip(side, other)]
        rise = 0 if inside else 0.45
        if k >= 4:
            around, rise = side, (50 if k == 4 else -50)
        to_camera = normalize([a + rise * u for a, u in zip(around, up)])
        forward = [-x for x in to_camera]
        eye = middle if inside else [m + radius / math.sin(FIELD / 2) * x for m, x in zip(middle, to_camera)]
        yield camera_to_world(eye, forward, up)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mesh")
    parser.add_argument("picture")
    parser.add_argument("--inside", action="store_true")
    parser.add_argument("--cameras")
    parser.add_argument("--splatsmith", default="build/splatsmith")
    options = parser.parse_args()
    from PIL import Image
    up = find_up(options.cameras) if options.cameras else [0, -1, 0]
    with tempfile.TemporaryDirectory() as folder:
        frames = []
        for k, matrix in enumerate(cameras(read_vertices(options.mesh), up, options.inside)):
            Image.new("RGB", (SIDE, SIDE)).save(f"{folder}/{k}.png")
            frames.append({"file_path": f"{k}.png", "transform_matrix": matrix})
        focal = SIDE / 2 / math.tan((INSIDE_FIELD if options.inside else FIELD) / 2)
        lens = {"w": SIDE, "h": SIDE, "fl_x": focal, "fl_y": focal, "cx": SIDE / 2, "cy": SIDE / 2}
        pathlib.Path(folder, "transforms.json").write_text(json.dumps({**lens, "frames": frames}))
        subprocess.run([options.splatsmith, "render", "-q", "-s", folder, "--mesh", options.mesh, "-o",
                        f"{folder}/out", "--what", "shaded", "-w"], check=True)
        sheet = Image.new("RGB", (3 * SIDE, 2 * SIDE), "white")
        for k, path in enumerate(sorted(pathlib.Path(folder, "out").rglob("*.png"))):
            sheet.paste(Image.open(path), (k % 3 * SIDE, k // 3 * SIDE))
        sheet.save(options.picture, quality=88)


if __name__ == "__main__":
    main()
