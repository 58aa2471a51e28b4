#!/usr/bin/env python3
"""Makes torch_*.pth next to this file with PyTorch (written with 1.13, Debian's python3-torch) and numpy.

They are read by tests/io/test_torch_file.c, which states what they hold. Run it again only when a file is to change: the
legacy format names storages by address, so its bytes differ from run to run.
"""
import os
from collections import OrderedDict

import numpy as np
import torch

FOLDER = os.path.dirname(os.path.abspath(__file__))


def save(name, value, **options):
    path = os.path.join(FOLDER, name)
    torch.save(value, path, **options)
    assert os.path.getsize(path) < 8192, name


def ramp(*shape, first=0.0):
    n = int(np.prod(shape))
    return (first + 0.25 * torch.arange(n, dtype=torch.float32)).reshape(shape)


def tensors():
    base = ramp(2, 3, 4)
    small = torch.tensor([0.0, -1.5, 2.0, 100.0])
    return OrderedDict(
        base=base,
        part=base[:, 1:, ::2],               # a view: offset and strides
        turned=base.permute(2, 0, 1),
        channels_last=ramp(1, 2, 2, 3).contiguous(memory_format=torch.channels_last),
        scalar=torch.tensor(7.5),
        empty=torch.zeros(3, 0),
        f64=small.double(),
        f16=torch.tensor([0.0, -1.5, 65504.0, 2.0**-24, float("inf"), 2.0**-14]).half(),
        bf16=small.bfloat16(),
        i64=torch.tensor([-(2**40), 5]),
        i32=torch.tensor([-7, 2**20], dtype=torch.int32),
        i16=torch.tensor([-300, 300], dtype=torch.int16),
        i8=torch.tensor([-128, 127], dtype=torch.int8),
        u8=torch.tensor([0, 255], dtype=torch.uint8),
        boolean=torch.tensor([True, False]),
        parameter=torch.nn.Parameter(ramp(2, first=3.0)),
    )


def plain():
    return {
        "none": None,
        "bools": (True, False),
        "ints": [0, 255, 65535, -1, 2**31 - 1, -(2**31), 2**40, -(2**40), 2**63 - 1, -(2**63)],
        "floats": (0.1, -1e300),
        "text": "Gr\u00fc\u00dfe",
        "bytes": b"\x00\x7f\x80\xff",
        "no_bytes": b"",
        "size": torch.Size([2, 3]),
        "device": torch.device("cuda:1"),
        "dtype": torch.float16,
        "numpy": [np.float64(2.5), np.float32(-0.5), np.int64(-9), np.uint8(200), np.bool_(True)],
        "many": list(range(1500)),           # written in batches
        "shared": [[1, 2]] * 2,
        7: {"nested": {"deep": OrderedDict([("a", 1), ("b", ())])}},
    }


class Gaussians:
    """The state of the published trainers, as their capture() returns it."""

    def __init__(self, n, n_rest):
        def make(k, *shape):
            return torch.nn.Parameter(ramp(*shape, first=float(k)))
        self.tensors = [make(1, n, 3), make(2, n, 1, 3), make(3, n, n_rest, 3), make(4, n, 3), make(5, n, 4),
                        make(6, n, 1)]
        order = [("xyz", 0), ("f_dc", 1), ("f_rest", 2), ("opacity", 5), ("scaling", 3), ("rotation", 4)]
        self.optimizer = torch.optim.Adam(
            [{"params": [self.tensors[i]], "lr": 1e-3, "name": name} for name, i in order], lr=0.0, eps=1e-15)

    def capture(self, n, statistics):
        return (1, *self.tensors, torch.zeros(n), *statistics, self.optimizer.state_dict(), np.float32(4.25))


def checkpoint():
    n = 2
    g = Gaussians(n, 3)
    for _ in range(3):
        for i, tensor in enumerate(g.tensors):
            tensor.grad = torch.full_like(tensor, float(i + 1))
        g.optimizer.step()
    with torch.no_grad():
        for i, tensor in enumerate(g.tensors):  # round numbers again
            tensor.copy_(ramp(*tensor.shape, first=float(i + 1)))
    return g.capture(n, [ramp(n, 1, first=20.0), ramp(n, 1, first=30.0)]), 1234


def checkpoint_before_training():
    g = Gaussians(2, 0)
    capture = list(g.capture(2, [ramp(2, 1), ramp(2, 1, first=8.0), ramp(2, 1, first=9.0), ramp(2, 1, first=5.0)]))
    capture[0] = 0
    return tuple(capture), 0


def sugar(faces=False):
    """The checkpoint of SuGaR's coarse training (and, with faces, of its refinement)."""
    n = 2
    state = OrderedDict(
        _points=ramp(n, 3, first=1.0), all_densities=ramp(n, 1, first=6.0), _scales=ramp(n, 3, first=4.0),
        _quaternions=ramp(n, 4, first=5.0), _sh_coordinates_dc=ramp(n, 1, 3, first=2.0),
        _sh_coordinates_rest=ramp(n, 15, 3, first=3.0))
    if faces:
        state["_surface_mesh_faces"] = torch.tensor([[0, 1, 0]])
    return dict(state_dict=state, train_losses=[torch.tensor(0.5)], epoch=3, iteration=15000,
                optimizer_state_dict=dict(state={}, param_groups=[]))


save("torch_sugar.pt", sugar())
save("torch_sugar_refined.pt", sugar(faces=True))
save("torch_tensors.pth", tensors())
save("torch_tensors_legacy.pth", tensors(), _use_new_zipfile_serialization=False)
save("torch_plain.pth", plain())
save("torch_module_legacy.pth", torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Linear(1, 1)).state_dict(),
     _use_new_zipfile_serialization=False)
save("torch_checkpoint.pth", checkpoint(), pickle_protocol=4)
save("torch_checkpoint_legacy.pth", checkpoint(), _use_new_zipfile_serialization=False)
save("torch_checkpoint_new.pth", checkpoint_before_training())
