"""Arrays of the Python package: nothing is copied, nothing dangles, and what is given is what arrives."""
import ctypes
import gc
import struct
import unittest

import fixture
from fixture import needs_numpy, numpy, splatsmith
from splatsmith import arrays


class Out(unittest.TestCase):
    def test_an_array_says_what_it_is(self):
        trainer = fixture.trained()
        means = trainer.model.means
        n = len(trainer.model)
        self.assertEqual((means.shape, means.strides, means.typestr, means.gpu), ((n, 3), (12, 4), "<f4", None))
        self.assertEqual(means.__array_interface__["data"], (means.pointer, False))
        self.assertFalse(hasattr(means, "__cuda_array_interface__"))
        self.assertEqual(means.__dlpack_device__(), (1, 0))
        self.assertEqual(trainer.model.sh_rest.shape, (n, 15, 3))
        self.assertEqual(trainer.model.rotations.shape, (n, 4))
        self.assertEqual(trainer.model.opacities.shape, (n,))

    def test_without_numpy_the_numbers_are_lists_and_bytes(self):
        trainer = fixture.trained()
        rows = trainer.model.scales.tolist()
        flat = struct.unpack(f"<{3 * len(rows)}f", trainer.model.scales.tobytes())
        self.assertEqual([x for row in rows for x in row], list(flat))
        view = fixture.open_scene()[0]
        picture = trainer.model.render(view.camera)
        self.assertEqual(picture.shape, (fixture.HEIGHT, fixture.WIDTH, 3))
        by_pixel = struct.unpack(f"<{picture.size}f", picture.tobytes())  # planar memory, read by its strides
        self.assertEqual(picture.tolist()[3][5], list(by_pixel[3 * (3 * fixture.WIDTH + 5):][:3]))

    def test_a_copy_is_its_own(self):
        model = fixture.trained().model
        picture = model.render(fixture.open_scene()[0].camera)
        copy = picture.copy()
        self.assertEqual((copy.tolist(), copy.strides), (picture.tolist(), arrays.contiguous(picture.shape, 4)))
        kept = model.means.copy()
        model.reduce_sh(0)  # nothing is borrowed
        self.assertEqual(kept.tolist(), model.means.tolist())
        self.assertEqual((model.sh_rest.shape, model.sh_rest.tolist()[0]), ((300, 0, 3), []))
        if numpy is not None:
            self.assertEqual(numpy.asarray(model.sh_rest).shape, (300, 0, 3))
            self.assertEqual(numpy.from_dlpack(model.sh_rest).shape, (300, 0, 3))
            capsule = model.means.__dlpack__(copy=True)
            self.assertEqual(len(model._borrowed), 0)
            del capsule

    def test_half_floats_are_read(self):
        trainer = fixture.trained(sh_storage="float16")
        rest = trainer.model.sh_rest
        self.assertEqual((rest.typestr, rest.shape[1:], rest.strides), ("<f2", (15, 3), (92, 6, 2)))
        ctypes.c_uint16.from_address(rest.pointer).value = 0xc100
        self.assertEqual(rest.tolist()[0][0], [-2.5, 0.0, 0.0])
        if numpy is not None:
            self.assertEqual(numpy.asarray(rest).dtype, numpy.float16)
            self.assertEqual(numpy.asarray(rest).tolist(), rest.tolist())

    @needs_numpy
    def test_numpy_reads_and_writes_in_place(self):
        trainer = fixture.trained()
        model, camera = trainer.model, fixture.open_scene()[0].camera
        lit = numpy.asarray(model.render(camera))
        opacities = numpy.asarray(model.opacities)
        self.assertEqual(opacities.ctypes.data, model.opacities.pointer)
        opacities[:] = -30
        dark = numpy.asarray(model.render(camera, background=(0.25, 0.5, 0.75)))
        self.assertGreater(lit.max(), 0.1)
        self.assertTrue((dark == numpy.float32([0.25, 0.5, 0.75])).all())

    @needs_numpy
    def test_dlpack_reads_in_place_and_gives_back(self):
        model = fixture.trained().model
        exported = len(arrays._exported)
        picture = numpy.from_dlpack(model.render(fixture.open_scene()[0].camera))
        scales = numpy.from_dlpack(model.scales)
        self.assertEqual(len(arrays._exported), exported + 2)
        self.assertEqual(scales.ctypes.data, model.scales.pointer)
        self.assertEqual(picture.strides, (4 * fixture.WIDTH, 4, 4 * fixture.WIDTH * fixture.HEIGHT))
        with self.assertRaisesRegex(BufferError, "is not moved to"):
            model.scales.__dlpack__(dl_device=(2, 0))
        capsule = model.scales.__dlpack__()  # which nobody takes
        self.assertEqual(len(arrays._exported), exported + 3)
        del picture, scales, capsule
        gc.collect()
        self.assertEqual(len(arrays._exported), exported)

    def test_an_array_of_a_gpu_is_offered_as_such(self):
        """No GPU is needed to say where an array lies."""
        array = splatsmith.Array(0x1000, (2, 3), "<f4", None, gpu=1)
        self.assertFalse(hasattr(array, "__array_interface__"))
        interface = array.__cuda_array_interface__
        self.assertEqual((interface["data"], interface["stream"], interface["version"]), ((0x1000, False), None, 3))
        self.assertEqual(array.__dlpack_device__(), (2, 1))
        with self.assertRaisesRegex(BufferError, "copy it to the host first"):
            array.tolist()
        with self.assertRaisesRegex(splatsmith.ArgumentError, "lies in the memory of a GPU"):
            arrays.given(array, "<f4", "means")
        capsule = array.__dlpack__()
        address = arrays._get_pointer(id(capsule), b"dltensor")
        tensor = arrays._DLManagedTensor.from_address(address).dl_tensor
        self.assertEqual((tensor.data, tensor.device_type, tensor.device_id, tensor.ndim), (0x1000, 2, 1, 2))
        self.assertEqual((tensor.code, tensor.bits, tensor.lanes, tensor.shape[1], tensor.strides[0]), (2, 32, 1, 3, 3))


class Borrowed(unittest.TestCase):
    def test_a_model_does_not_change_under_an_array(self):
        trainer = fixture.trained()
        held = trainer.model.means
        for change in (trainer.step, trainer.close, lambda: trainer.model.reduce_sh(1), trainer.model.clean,
                       lambda: trainer.load_model("x.ply"), lambda: trainer.run(fixture.fresh("borrowed"))):
            with self.assertRaisesRegex(BufferError, "1 array of this model is still in use"):
                change()
        del held
        trainer.step()

    @needs_numpy
    def test_a_numpy_array_holds_it_too(self):
        trainer = fixture.trained()
        held = numpy.asarray(trainer.model.means)[5:]
        with self.assertRaises(BufferError):
            trainer.step()
        del held
        trainer.step()

    def test_a_picture_in_place_lasts_until_it_is_dropped(self):
        trainer = fixture.trained()
        camera = fixture.open_scene()[0].camera
        copy = trainer.model.render(camera).tobytes()
        held = trainer.model.render(camera, copy=False)
        self.assertEqual(held.tobytes(), copy)
        for change in (lambda: trainer.model.render(camera), trainer.step,
                       lambda: trainer.model.evaluate(fixture.open_scene())):
            with self.assertRaises(BufferError):
                change()
        del held
        trainer.model.render(camera)

    def test_an_array_outlives_the_names_of_all_else(self):
        means = fixture.trained().model.means
        gc.collect()
        self.assertEqual(len(means.tolist()), means.shape[0])


class In(unittest.TestCase):
    def test_lists_and_buffers_arrive(self):
        given = arrays.given([[1, 2], [3, 4.5]], "<f4", "x")
        self.assertEqual((given.shape, list(given.of(ctypes.c_float)[:4])), ((2, 2), [1, 2, 3, 4.5]))
        given = arrays.given(b"abc", "|u1", "x")
        self.assertEqual((given.shape, bytes(given.of(ctypes.c_uint8)[:3])), ((3,), b"abc"))
        given = arrays.given(memoryview(bytearray(6)).cast("B", (2, 3)), "|u1", "x")
        self.assertEqual(given.shape, (2, 3))

    def test_what_would_be_misread_is_refused(self):
        for value, typestr in (([[1, 2], [3]], "<f4"), ([1.5], "|u1"), ([256], "|u1"), ([-1], "|u1"), (7, "<f4"),
                               (["a"], "<f4"), (memoryview(struct.pack("<2d", 1, 2)).cast("d"), "|u1")):
            with self.assertRaises(splatsmith.ArgumentError, msg=repr(value)):
                arrays.given(value, typestr, "x")

    @needs_numpy
    def test_numpy_arrays_are_not_copied_without_need(self):
        x = numpy.zeros((4, 3), numpy.float32)
        self.assertEqual(arrays.given(x, "<f4", "x").pointer, x.ctypes.data)
        turned = numpy.arange(6, dtype=numpy.float64).reshape(2, 3).T
        given = arrays.given(turned, "<f4", "x")
        self.assertEqual((given.shape, list(given.of(ctypes.c_float)[:6])), ((3, 2), [0, 3, 1, 4, 2, 5]))
        with self.assertRaisesRegex(splatsmith.ArgumentError, "x is float32; it must be uint8"):
            arrays.given(x, "|u1", "x")


if __name__ == "__main__":
    fixture.main()
