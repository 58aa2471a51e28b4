#!/usr/bin/env python3
"""Writes lpips_golden.h: LPIPS with VGG16 and SqueezeNet 1.1 in float64 by PyTorch, with synthetic weights and pictures that test_lpips.c
makes by the same integer hash. Run once with Debian's python3-torch (1.13.1 was used):
    python3 tests/golden/make_lpips_golden.py > tests/golden/lpips_golden.h
"""
import numpy as np
import torch
import torch.nn.functional as F

WIDTH, HEIGHT = 75, 53
VGG = [(0, 3, 64), (2, 64, 64), "tap", "pool", (5, 64, 128), (7, 128, 128), "tap", "pool", (10, 128, 256),
       (12, 256, 256), (14, 256, 256), "tap", "pool", (17, 256, 512), (19, 512, 512), (21, 512, 512), "tap", "pool",
       (24, 512, 512), (26, 512, 512), (28, 512, 512), "tap"]
# a fire module: number, channels in, squeezed, out
SQUEEZE = ["first", "tap", "pool3", (3, 64, 16, 128), (4, 128, 16, 128), "tap", "pool3", (6, 128, 32, 256),
           (7, 256, 32, 256), "tap", "pool3", (9, 256, 48, 384), "tap", (10, 384, 48, 384), "tap", (11, 384, 64, 512),
           "tap", (12, 512, 64, 512), "tap"]
SHIFT, SCALE = [-.030, -.088, -.188], [.458, .448, .450]


def uniform(stream, n):
    """n numbers of [0, 1), 24 bits: MurmurHash3's finalizer of stream * 2^24 + i."""
    x = (np.arange(n, dtype=np.uint64) + np.uint64(stream << 24)).astype(np.uint32)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x85EBCA6B)
    x ^= x >> np.uint32(13)
    x *= np.uint32(0xC2B2AE35)
    x ^= x >> np.uint32(16)
    return (x >> np.uint32(8)).astype(np.float32) / np.float32(16777216)


def conv(x, index, n_in, n_out, kernel=3, **how):
    """A convolution and ReLU with the weights of stream `index`."""
    scale = np.float32(np.sqrt(np.float32(6) / np.float32(kernel * kernel * n_in)))
    weight = (np.float32(2) * uniform(2 * index, n_out * n_in * kernel * kernel) - np.float32(1)) * scale
    bias = (uniform(2 * index + 1, n_out) - np.float32(0.5)) * np.float32(0.2)
    weight = torch.from_numpy(weight.reshape(n_out, n_in, kernel, kernel)).double()
    return F.relu(F.conv2d(x, weight, torch.from_numpy(bias).double(), **how))


def pictures():
    """A smooth picture, and the same with noise: uint8 [height][width][3]."""
    y, x, c = np.meshgrid(np.arange(HEIGHT), np.arange(WIDTH), np.arange(3), indexing="ij")
    smooth = (x * (2 + c) + y * (3 - c) + x * y // 16) % 200
    noise = (uniform(200, HEIGHT * WIDTH * 3).reshape(HEIGHT, WIDTH, 3) * np.float32(56)).astype(np.int64)
    return smooth.astype(np.uint8), (smooth + noise).astype(np.uint8)


def features(layers, picture, normalize):
    x = torch.from_numpy(picture).double().permute(2, 0, 1)[None] / 255
    if normalize:
        x = 2 * x - 1
    x = (x - torch.tensor(SHIFT).double().view(1, 3, 1, 1)) / torch.tensor(SCALE).double().view(1, 3, 1, 1)
    taps = []
    for layer in layers:
        if layer == "tap":
            taps.append(x)
        elif layer == "pool":
            x = F.max_pool2d(x, 2, 2)
        elif layer == "pool3":
            x = F.max_pool2d(x, 3, 2, ceil_mode=True)
        elif layer == "first":
            x = conv(x, 0, 3, 64, stride=2)
        elif len(layer) == 3:
            x = conv(x, *layer, padding=1)
        else:
            number, n_in, squeezed, n_out = layer
            x = conv(x, number, n_in, squeezed, kernel=1)
            x = torch.cat([conv(x, 30 + number, squeezed, n_out // 2, kernel=1),
                           conv(x, 60 + number, squeezed, n_out // 2, padding=1)], 1)
    return taps


def lpips(layers, normalize):
    a, b = (features(layers, p, normalize) for p in pictures())
    result = []
    for i, (x, y) in enumerate(zip(a, b)):
        head = torch.from_numpy(uniform(100 + i, x.shape[1])).double().view(1, -1, 1, 1)
        x = x / (x.pow(2).sum(1, keepdim=True).sqrt() + 1e-10)
        y = y / (y.pow(2).sum(1, keepdim=True).sqrt() + 1e-10)
        result.append(float((head * (x - y) ** 2).sum(1).mean()))
    return result


print("/* Made by make_lpips_golden.py: LPIPS with synthetic weights, by layer, in float64 by PyTorch. */")
print("#define LPIPS_GOLDEN_WIDTH %d\n#define LPIPS_GOLDEN_HEIGHT %d" % (WIDTH, HEIGHT))
print("static const double lpips_golden[2][2][7] = { /* [vgg, squeeze][normalize][layer] */")
for layers in (VGG, SQUEEZE):
    print("    {%s}," % ",\n     ".join("{%s}" % ", ".join("%.17g" % v for v in lpips(layers, n)) for n in (False, True)))
print("};")
