/* Checkpoints of the published trainers. */
#include "torch_fixture.h"

#include "io/torch/torch_checkpoint.h"
#include "io/torch/torch_tensor.h"

#include <math.h>

static void assert_ramp(const splat_torch_checkpoint *c, const splat_torch_tensor *tensor, size_t n, float first,
                        float step)
{
    splat_error error;
    float out[32];
    assert_non_null(tensor);
    ASSERT_OK(splat_torch_tensor_read_f32(c->file, tensor, out, n, &error));
    /* the moments went through three rounded updates */
    for (size_t i = 0; i < n; i++) assert_true(fabsf(out[i] - (first + step * (float)i)) <= 1e-6f * fabsf(first));
}

static void check_checkpoint(const char *name)
{
    splat_error error;
    splat_torch_checkpoint c;
    char *path = golden(name);
    ASSERT_OK(splat_torch_checkpoint_open(path, &c, &error));
    assert_int_equal(c.n, 2);
    assert_int_equal(c.sh_degree, 1);
    assert_int_equal(c.active_sh_degree, 1);
    assert_int_equal(c.iteration, 1234);
    assert_true(c.spatial_lr_scale == 4.25);
    const splat_torch_tensor *p[6] = {c.p.means, c.p.sh_dc, c.p.sh_rest, c.p.scales, c.p.rotations, c.p.opacities};
    const splat_torch_tensor *m[6] = {c.m.means, c.m.sh_dc, c.m.sh_rest, c.m.scales, c.m.rotations, c.m.opacities};
    const splat_torch_tensor *v[6] = {c.v.means, c.v.sh_dc, c.v.sh_rest, c.v.scales, c.v.rotations, c.v.opacities};
    const int steps[6] = {c.steps.means,  c.steps.sh_dc,     c.steps.sh_rest,
                          c.steps.scales, c.steps.rotations, c.steps.opacities};
    static const size_t n[6] = {6, 6, 18, 6, 8, 2};
    for (int i = 0; i < 6; i++) { /* the gradient of tensor i was i + 1, three times */
        float g = (float)(i + 1);
        assert_ramp(&c, p[i], n[i], g, 0.25f);
        assert_ramp(&c, m[i], n[i], g * (1.0f - 0.9f * 0.9f * 0.9f), 0.0f);
        assert_ramp(&c, v[i], n[i], g * g * (float)(1.0 - 0.999 * 0.999 * 0.999), 0.0f);
        assert_int_equal(steps[i], 3);
    }
    assert_ramp(&c, c.grad, 2, 20.0f, 0.25f);
    assert_ramp(&c, c.count, 2, 30.0f, 0.25f);
    assert_null(c.grad_abs);
    splat_torch_checkpoint_close(&c);
    free(path);
}

static void test_checkpoint(void **state)
{
    (void)state;
    check_checkpoint("torch_checkpoint.pth");
    check_checkpoint("torch_checkpoint_legacy.pth");
}

/* The legacy file has no checksums, so that a few bytes make another checkpoint of it. */
static void test_wrong_checkpoints(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *message;
    } list[] = {
        {"(K\1c", "(K\2c", "active SH degree"},
        {"K\2K\3\x86", "K\1K\6\x86", "xyz (item 1)"},
        {"K\2K\1K\3\x87", "K\1K\2K\3\x87", "f_dc (item 2)"},
        {"K\2K\3K\3\x87", "K\2K\2K\3\x87", "0, 3, 8 or 15"},
        {"K\2K\4\x86", "K\2K\3\x86", "rotation (item 5)"},
        {"param_groups", "param_groupz", "state of an optimizer"},
        {"f_dc", "f_dd", "no group f_dc"},
        {"opacity", "scaling", "two groups"},
        {"exp_avg_sq", "exp_avg_sx", "moments of xyz"},
        {"step", "stop", "Adam step"},
        {"M\xd2\4", "N0N", "iteration"},
    };
    splat_error error;
    splat_torch_checkpoint c;
    uint8_t *data;
    size_t size;
    char *path = golden("torch_checkpoint_legacy.pth");
    ASSERT_OK(splat_file_read(path, &data, &size, &error));
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        size_t n = strlen(list[i].from);
        uint8_t *at = memmem(data + 137, size - 137, list[i].from, n); /* after the first three pickles */
        if (!at) fail_msg("%zu: not in the file", i);
        memcpy(at, list[i].to, n);
        fixture_bytes("wrong.pth", data, size);
        memcpy(at, list[i].from, n);
        splat_status status = splat_torch_checkpoint_open("wrong.pth", &c, &error);
        if (status != SPLAT_ERROR_FORMAT || !strstr(error.message, list[i].message))
            fail_msg("%zu: %d %s", i, status, status ? error.message : "is read");
    }
    free(data);
    free(path);
}

/* The first moments of the file are xyz's: 2 x 3 numbers become 1 x 6. */
static void test_moments_of_another_shape(void **state)
{
    (void)state;
    static const char *const names[] = {"exp_avg", "exp_avg_sq"};
    splat_error error;
    splat_torch_checkpoint c;
    uint8_t *data;
    size_t size;
    char *path = golden("torch_checkpoint_legacy.pth");
    ASSERT_OK(splat_file_read(path, &data, &size, &error));
    for (int i = 0; i < 2; i++) {
        uint8_t *name = memmem(data, size, names[i], strlen(names[i]));
        uint8_t *shape = memmem(name, size - (size_t)(name - data), "K\2K\3\x86", 5);
        assert_non_null(shape);
        memcpy(shape, "K\1K\6", 4);
        fixture_bytes("wrong.pth", data, size);
        memcpy(shape, "K\2K\3", 4);
        assert_failure(splat_torch_checkpoint_open("wrong.pth", &c, &error), SPLAT_ERROR_FORMAT, &error,
                       "moments of xyz");
    }
    free(data);
    free(path);
}

/* No Adam state, SH degree 0, and the longer tuple of a descendant. */
static void test_checkpoint_before_training(void **state)
{
    (void)state;
    splat_error error;
    splat_torch_checkpoint c;
    char *path = golden("torch_checkpoint_new.pth");
    ASSERT_OK(splat_torch_checkpoint_open(path, &c, &error));
    assert_int_equal(c.n, 2);
    assert_int_equal(c.sh_degree, 0);
    assert_int_equal(c.iteration, 0);
    assert_int_equal(c.p.sh_rest->n, 0);
    assert_null(c.m.means);
    assert_null(c.v.opacities);
    assert_int_equal(c.steps.means, 0);
    assert_ramp(&c, c.grad, 2, 0.0f, 0.25f);
    assert_ramp(&c, c.grad_abs, 2, 8.0f, 0.25f);
    assert_ramp(&c, c.count, 2, 5.0f, 0.25f);
    splat_torch_checkpoint_close(&c);
    free(path);
    path = golden("torch_tensors.pth");
    assert_int_equal(splat_torch_checkpoint_open(path, &c, &error), SPLAT_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "not a checkpoint"));
    assert_null(c.file);
    free(path);
}

/* The same for a checkpoint: open checks shapes, so whatever it lets through can be read. */
static void test_damaged_checkpoint(void **state)
{
    (void)state;
    splat_error error;
    uint8_t *data;
    size_t size;
    char *path = golden("torch_checkpoint.pth");
    ASSERT_OK(splat_file_read(path, &data, &size, &error));
    free(path);
    for (size_t bit = 0; bit < 8 * size; bit += 37) {
        splat_torch_checkpoint c;
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        fixture_bytes("damaged_checkpoint.pth", data, size);
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (splat_torch_checkpoint_open("damaged_checkpoint.pth", &c, &error) != SPLAT_OK) continue;
        assert_ramp(&c, c.p.means, 6, 1.0f, 0.25f);
        assert_int_equal(c.iteration, 1234);
        splat_torch_checkpoint_close(&c);
    }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checkpoint),
        cmocka_unit_test(test_wrong_checkpoints),
        cmocka_unit_test(test_moments_of_another_shape),
        cmocka_unit_test(test_checkpoint_before_training),
        cmocka_unit_test(test_damaged_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
