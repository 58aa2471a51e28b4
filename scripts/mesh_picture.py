#!/usr/bin/env python3
"""The README's picture of a textured mesh: photos of the built-in scene that it was not made from, and the mesh beside
them.

    scripts/mesh_picture.py build/splatsmith out            the whole way, into out/ (minutes); goes on where it stopped
    scripts/mesh_picture.py --join PICTURE LEFT RIGHT ...   pairs of PNGs, a row each

Needs nothing but Python: pictures are 8-bit RGB PNGs, read and written with zlib.
"""
import os
import struct
import subprocess
import sys
import zlib

OPTIONS = ("--eval --iterations 3000 --regularize_after 7600 --coarse_iterations 9000 --n_samples 10000 "
           "--poisson_depth 9 -v 60000 --refinement_iterations 2000").split()
VIEWS = (1, 4)  # of the test views
LLFFHOLD = 8
GAP = 8


def read_png(path):
    """Rows of bytes, three a pixel."""
    data = open(path, "rb").read()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        sys.exit(path + " is no PNG")
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, bits, color, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            if (bits, color, interlaced) != (8, 2, 0):
                sys.exit(path + " is not a plain 8-bit RGB picture")
        if kind == b"IDAT":
            packed += body
        at += 12 + length
    raw, stride, rows = zlib.decompress(packed), 3 * width, []
    above = bytearray(stride)
    for y in range(height):
        kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for x in range(stride):
            left, up, corner = line[x - 3] if x >= 3 else 0, above[x], above[x - 3] if x >= 3 else 0
            paeth = min((abs(up - corner), 0, left), (abs(left - corner), 1, up),
                        (abs(left + up - 2 * corner), 2, corner))[2]
            line[x] = (line[x] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        rows.append(line)
        above = line
    return rows


def write_png(path, rows):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    raw, above = b"", bytes(len(rows[0]))
    for row in rows:
        raw += b"\x02" + bytes((a - b) & 255 for a, b in zip(row, above))
        above = row
    head = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    with open(path, "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw, 9)))
        out.write(chunk(b"IEND", b""))


def join(path, pairs):
    rows = []
    for left, right in pairs:
        if rows:
            rows += [b"\xff" * len(rows[0])] * GAP
        rows += [bytes(a) + b"\xff" * (3 * GAP) + bytes(b) for a, b in zip(read_png(left), read_png(right))]
    write_png(path, rows)


def main():
    if len(sys.argv) >= 5 and sys.argv[1] == "--join" and len(sys.argv) % 2 == 1:
        return join(sys.argv[2], list(zip(sys.argv[3::2], sys.argv[4::2])))
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, out = sys.argv[1:]
    scene, result, drawn = (os.path.join(out, name) for name in ("scene", "result", "drawn"))
    if not os.path.exists(scene):
        subprocess.run([program, "sample", scene], check=True)
    subprocess.run([program, "pipeline", "-s", scene, "-o", result] + OPTIONS, check=True)
    subprocess.run([program, "render", "--mesh", os.path.join(result, "textured.glb"), "-m",
                    os.path.join(result, "refine"), "--skip_train", "-o", drawn], check=True)
    photos = sorted(os.listdir(os.path.join(scene, "images")))[::LLFFHOLD]
    join(os.path.join(out, "textured_sample.png"),
         [(os.path.join(scene, "images", photos[v]),
           os.path.join(drawn, "test", "mesh_textured", "color", "%05d.png" % v)) for v in VIEWS])


if __name__ == "__main__":
    main()
