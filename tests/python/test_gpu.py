"""The arrays of a GPU, read and written there through the driver, and by PyTorch and CuPy where they are installed:
what an array says of its place is true. SKIPPED without a GPU."""
import ctypes
import sys
import unittest

import fixture
from fixture import splatsmith

try:
    gpu = splatsmith.Context(backend="cuda")
except (splatsmith.DeviceError, splatsmith.UnsupportedError) as absent:
    print(f"SKIPPED: {absent}")
    sys.exit(77)
driver = ctypes.CDLL("libcuda.so.1")


def downloaded(array):
    """The elements of an array without gaps, by the driver."""
    n = array.size * int(array.typestr[2:])
    memory = ctypes.create_string_buffer(n)
    failed = driver.cuMemcpyDtoH_v2(memory, ctypes.c_uint64(array.pointer), ctypes.c_size_t(n))
    assert failed == 0, f"cuMemcpyDtoH: {failed}"
    return memory.raw


class Gpu(unittest.TestCase):
    def setUp(self):
        self.scene = splatsmith.Scene.open(fixture.sample(), context=gpu)
        self.trainer = splatsmith.Trainer(self.scene, iterations=20)
        for _ in self.trainer:
            pass

    def test_arrays_are_where_they_say(self):
        model = self.trainer.model
        model.save("gpu.ply")
        saved = splatsmith.Model.load("gpu.ply", context=fixture.context)
        for name in ("means", "sh_dc", "sh_rest", "opacities", "scales", "rotations", "filter_3d"):
            array = getattr(model, name)
            self.assertEqual((array.gpu, array.__dlpack_device__()), (0, (2, 0)))
            self.assertEqual(downloaded(array), getattr(saved, name).tobytes(), name)

    def test_what_is_written_is_rendered(self):
        model, camera = self.trainer.model, self.scene[0].camera
        self.assertGreater(max(max(map(max, row)) for row in model.render(camera).tolist()), 0.1)
        opacities = model.opacities
        minus_30, place = 0xc1f00000, ctypes.c_uint64(opacities.pointer)
        self.assertEqual(driver.cuMemsetD32_v2(place, minus_30, ctypes.c_size_t(opacities.size)), 0)
        self.assertEqual(driver.cuCtxSynchronize(), 0)
        self.assertEqual(set(model.render(camera).tobytes()), {0})

    def test_a_picture_is_read_where_it_was_made(self):
        model, camera = self.trainer.model, self.scene[0].camera
        copy = model.render(camera)
        held = model.render(camera, copy=False)
        self.assertEqual(held.gpu, 0)
        planar = splatsmith.Array(held.pointer, (3,) + held.shape[:2], "<f4", held, gpu=0)
        there = ctypes.create_string_buffer(downloaded(planar))
        n = planar.size
        here = (ctypes.c_float * n).from_address(copy.pointer)
        for a, b in zip((ctypes.c_float * n).from_buffer(there), here):
            self.assertAlmostEqual(a, b, places=5)
        with self.assertRaises(BufferError):
            self.trainer.step()

    def test_other_libraries_take_them(self):
        means = self.trainer.model.means
        expected = downloaded(means)
        names = []
        try:
            import torch
            names.append(f"PyTorch {torch.__version__}")
            for tensor in (torch.from_dlpack(means), torch.as_tensor(means, device="cuda")):
                self.assertEqual(tensor.data_ptr(), means.pointer)
                self.assertEqual(tensor.cpu().numpy().tobytes(), expected)
        except ImportError:
            pass
        try:
            import cupy
            names.append(f"CuPy {cupy.__version__}")
            for array in (cupy.asarray(means), cupy.from_dlpack(means)):
                self.assertEqual(array.data.ptr, means.pointer)
                self.assertEqual(cupy.asnumpy(array).tobytes(), expected)
        except ImportError:
            pass
        if not names:
            self.skipTest("neither PyTorch nor CuPy is installed")
        print("arrays of the GPU were read by", " and ".join(names))


if __name__ == "__main__":
    fixture.main()
