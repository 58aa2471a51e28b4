"""Writes resize_golden.h: what Pillow and NumPy make of pictures that tests/io/test_image.c can generate itself.

Run with a Python that has Pillow and NumPy:  python3 make_resize_golden.py > resize_golden.h
Made with Pillow 9.4.0; the resize has been the same since Pillow 3.
"""
import io
import sys

import numpy as np
import PIL
from PIL import Image

# name, kind, channels, width, height, new width, new height
CASES = [
    ("half", 0, 3, 64, 48, 32, 24), ("quarter", 0, 3, 64, 48, 16, 12), ("eighth", 0, 3, 64, 48, 8, 6),
    ("smooth half", 1, 3, 64, 48, 32, 24), ("smooth odd", 1, 3, 61, 47, 23, 19), ("noise half", 2, 3, 50, 38, 25, 19),
    ("noise third", 2, 3, 100, 75, 33, 25), ("noise up", 2, 3, 20, 15, 47, 31), ("noise double", 2, 3, 12, 9, 24, 18),
    ("column", 2, 3, 1, 37, 1, 9), ("row", 2, 3, 37, 1, 9, 1), ("one pixel up", 2, 3, 1, 1, 5, 3),
    ("to one pixel", 2, 3, 50, 40, 1, 1), ("row to column", 2, 3, 41, 1, 1, 7), ("only height", 2, 3, 40, 30, 40, 11),
    ("only width", 2, 3, 40, 30, 13, 30), ("wider, lower", 2, 3, 21, 33, 50, 10), ("alpha half", 2, 4, 64, 48, 32, 24),
    ("alpha odd", 1, 4, 61, 47, 23, 19), ("alpha up", 2, 4, 13, 11, 29, 31), ("alpha one axis", 2, 4, 33, 21, 33, 10),
    ("alpha same", 2, 4, 17, 9, 17, 9),
]
# Too large to store: their hash is.
HASHED = [("photo quarter", 1, 3, 3000, 2000, 750, 500), ("photo noise", 2, 3, 1237, 822, 1000, 664),
          ("alpha 800", 2, 4, 800, 800, 400, 400), ("alpha up", 1, 4, 300, 200, 431, 287)]


def source(kind, channels, width, height):
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(channels), indexing="ij")
    h = ((x * 374761393 + y * 668265263 + c * 2246822519) & 0xFFFFFFFF).astype(np.uint64)
    h = ((h ^ (h >> np.uint64(13))) * np.uint64(1274126177)) & np.uint64(0xFFFFFFFF)
    h = (h >> np.uint64(24)).astype(np.int64)
    if kind == 0:
        v = (x * 7 + y * 13 + c * 29) & 255
    elif kind == 1:
        v = np.minimum(255, 96 + x * 64 // width + y * 64 // height + (h & 63))
    else:
        v = h
    if channels == 4:  # fully transparent and fully opaque parts
        a = h[:, :, 3]
        v[:, :, 3] = np.where(a < 64, 0, np.where(a > 192, 255, a))
    return v.astype(np.uint8)


def fnv(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def array(name, data):
    text = ",".join(str(b) for b in data)
    lines = []
    while len(text) > 112:
        cut = text.rindex(",", 0, 112) + 1
        lines.append(text[:cut])
        text = text[cut:]
    print("static const uint8_t %s[%d] = {\n    %s};" % (name, len(data), "\n    ".join(lines + [text])))


def resized(kind, channels, width, height, new_width, new_height):
    picture = Image.fromarray(source(kind, channels, width, height), "RGBA" if channels == 4 else "RGB")
    return picture.resize((new_width, new_height), Image.BICUBIC).tobytes()


def composite_truncated(background):
    """All (colour, alpha) pairs through the arithmetic of the NeRF-synthetic loaders."""
    a, c = np.meshgrid(np.arange(256), np.arange(256), indexing="ij")
    norm_c, norm_a = c / 255.0, a / 255.0
    return np.array((norm_c * norm_a + background * (1 - norm_a)) * 255.0, dtype=np.uint8).tobytes()


def composite_rounded(background):
    a, c = np.meshgrid(np.arange(256), np.arange(256), indexing="ij")
    return ((2 * (c * a + background * 255 * (255 - a)) + 255) // 510).astype(np.uint8).tobytes()


def jpeg(picture, **options):
    out = io.BytesIO()
    picture.save(out, "JPEG", **options)
    return out.getvalue()


def main():
    print("/* Made by make_resize_golden.py with Pillow %s. Do not edit. */" % PIL.__version__)
    print("#ifndef RESIZE_GOLDEN_H\n#define RESIZE_GOLDEN_H\n\n#include <stdint.h>\n")
    for i, case in enumerate(CASES):
        array("resize_golden_%d" % i, resized(*case[1:]))
    print("\ntypedef struct golden_resize {\n    const char *name;"
          "\n    int kind, channels, width, height, new_width, new_height;"
          "\n    const uint8_t *pixels; /* NULL: only the hash is stored */\n    uint64_t hash;\n} golden_resize;\n")
    print("static const golden_resize golden_resizes[] = {")
    for i, case in enumerate(CASES):
        print('    {"%s", %d, %d, %d, %d, %d, %d, resize_golden_%d, 0},' % (case + (i,)))
    for case in HASHED:
        print('    {"%s", %d, %d, %d, %d, %d, %d, 0, 0x%016XULL},' % (case + (fnv(resized(*case[1:])),)))
    print("};\n")
    for name, function in (("truncated", composite_truncated), ("rounded", composite_rounded)):
        for background in (0, 1):
            value = fnv(function(background))
            print("#define GOLDEN_COMPOSITE_%s_%d 0x%016XULL" % (name.upper(), 255 * background, value))
    print()
    photo = Image.fromarray(source(1, 3, 37, 29), "RGB")
    gray = photo.convert("L")
    for name, data in (("baseline", jpeg(photo, quality=90)),
                       ("progressive", jpeg(photo, quality=80, progressive=True, subsampling=0)),
                       ("gray", jpeg(gray, quality=90))):
        array("jpeg_" + name, data)
        array("jpeg_%s_pixels" % name, Image.open(io.BytesIO(data)).convert("RGB").tobytes())
    array("jpeg_cmyk", jpeg(Image.fromarray(source(1, 4, 16, 16), "CMYK"), quality=50))
    array("jpeg_tiny", jpeg(Image.fromarray(source(1, 3, 9, 10), "RGB"), quality=60, optimize=True))
    array("jpeg_tiny_progressive", jpeg(Image.fromarray(source(1, 3, 9, 10), "RGB"), quality=60, progressive=True))
    print("\n#endif")


sys.exit(main())
