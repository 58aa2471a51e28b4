/* What the tests of torch.save files share: golden files, quick writes, comparing a tensor. */
#ifndef TORCH_FIXTURE_H
#define TORCH_FIXTURE_H

#include "base/file.h"
#include "io/torch_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ASSERT_OK(expression)                                                                                          \
    do {                                                                                                               \
        if ((expression) != SPLAT_OK) fail_msg("%s: %s", #expression, error.message);                                  \
    } while (0)

static inline char *golden(const char *name)
{
    const char *source = getenv("SPLATSMITH_SOURCE");
    return splat_format("%s/tests/golden/%s", source ? source : ".", name);
}

/* Over the old bytes: thousands of times faster than new files, which the disk would have to see. */
static inline void write_file(const char *path, const void *data, size_t n)
{
    int descriptor = open(path, O_WRONLY | O_CREAT, 0666);
    assert_true(descriptor >= 0);
    assert_int_equal(pwrite(descriptor, data, n, 0), n);
    assert_int_equal(ftruncate(descriptor, (off_t)n), 0);
    assert_int_equal(close(descriptor), 0);
}

static inline void assert_tensor(const splat_torch_file *file, const splat_torch_value *value,
                                 splat_torch_dtype dtype, const char *shape, const float *expected)
{
    const splat_torch_tensor *tensor = splat_torch_tensor_of(value);
    assert_non_null(tensor);
    assert_int_equal(tensor->dtype, dtype);
    assert_int_equal(tensor->n_dims, strlen(shape));
    for (int i = 0; i < tensor->n_dims; i++) assert_int_equal(tensor->shape[i], shape[i] - '0');
    splat_error error;
    float out[32];
    assert_true(tensor->n <= 32);
    ASSERT_OK(splat_torch_tensor_read_f32(file, tensor, out, (size_t)tensor->n, &error));
    for (size_t i = 0; i < tensor->n; i++) assert_true(out[i] == expected[i]);
    assert_int_equal(splat_torch_tensor_read_f32(file, tensor, out, (size_t)tensor->n + 1, &error),
                     SPLAT_ERROR_ARGUMENT);
}

#endif
