/* The numbers of a tensor, read from the file when they are asked for. */
#include "io/torch/torch_tensor.h"

#include "io/torch/torch_names.h"
#include "io/torch/torch_parts.h"
#include "io/torch/torch_read.h"
#include "io/torch/torch_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float half_to_float(uint16_t half)
{
    int exponent = half >> 10 & 31, mantissa = half & 1023;
    float magnitude = exponent == 31  ? (mantissa ? NAN : INFINITY)
                      : exponent == 0 ? ldexpf((float)mantissa, -24)
                                      : ldexpf((float)(mantissa | 1024), exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

static float bfloat_to_float(uint16_t high)
{
    uint32_t bits = (uint32_t)high << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define CONVERT(type, expression)                                                                                      \
    for (size_t i = 0; i < n; i++) {                                                                                   \
        type x;                                                                                                        \
        memcpy(&x, bytes + i * stride * sizeof x, sizeof x);                                                           \
        out[i] = (float)(expression);                                                                                  \
    }                                                                                                                  \
    break

/* n elements, `stride` elements apart; the bytes need no alignment. */
static void convert(splat_torch_dtype dtype, const uint8_t *bytes, size_t stride, size_t n, float *out)
{
    switch (dtype) {
    case SPLAT_TORCH_F64: CONVERT(double, x);
    case SPLAT_TORCH_F32: CONVERT(float, x);
    case SPLAT_TORCH_F16: CONVERT(uint16_t, half_to_float(x));
    case SPLAT_TORCH_BF16: CONVERT(uint16_t, bfloat_to_float(x));
    case SPLAT_TORCH_I64: CONVERT(int64_t, x);
    case SPLAT_TORCH_I32: CONVERT(int32_t, x);
    case SPLAT_TORCH_I16: CONVERT(int16_t, x);
    case SPLAT_TORCH_I8: CONVERT(int8_t, x);
    case SPLAT_TORCH_U8: CONVERT(uint8_t, x);
    case SPLAT_TORCH_BOOL8: CONVERT(uint8_t, x != 0);
    case SPLAT_TORCH_UNTYPED: break; /* no tensor has it */
    }
}

static bool is_contiguous(const splat_torch_tensor *tensor)
{
    uint64_t expected = 1;
    for (int i = tensor->n_dims - 1; i >= 0; i--) {
        if (tensor->shape[i] != 1 && tensor->stride[i] != expected) return false;
        expected *= tensor->shape[i];
    }
    return true;
}

static splat_status read_contiguous(const splat_torch_file *file, const splat_torch_tensor *tensor, float *out,
                                    splat_error *error)
{
    size_t size = splat_torch_dtype_size(tensor->dtype);
    uint64_t offset = tensor->storage->offset + tensor->first * size;
    if (tensor->dtype == SPLAT_TORCH_F32)
        return splat_torch_read_at(file, offset, out, (size_t)tensor->n * size, error);
    uint8_t bytes[16384];
    size_t step = sizeof bytes / size;
    for (uint64_t done = 0; done < tensor->n; done += step) {
        size_t n = tensor->n - done < step ? (size_t)(tensor->n - done) : step;
        SPLAT_TRY(splat_torch_read_at(file, offset + done * size, bytes, n * size, error));
        convert(tensor->dtype, bytes, 1, n, out + done);
    }
    return SPLAT_OK;
}

/* Rows of the last dimension, from `bytes`, where the tensor's first element is. */
static void gather(const splat_torch_tensor *tensor, const uint8_t *bytes, float *out)
{
    size_t size = splat_torch_dtype_size(tensor->dtype), row = (size_t)tensor->shape[tensor->n_dims - 1];
    uint64_t index[SPLAT_TORCH_MAX_DIMS] = {0}, at = 0;
    for (uint64_t done = 0; done < tensor->n; done += row) {
        convert(tensor->dtype, bytes + at * size, (size_t)tensor->stride[tensor->n_dims - 1], row, out + done);
        for (int i = tensor->n_dims - 2; i >= 0; i--) { /* the next row, like an odometer */
            at += tensor->stride[i];
            if (++index[i] < tensor->shape[i]) break;
            at -= tensor->stride[i] * tensor->shape[i];
            index[i] = 0;
        }
    }
}

splat_status splat_torch_tensor_read_f32(const splat_torch_file *file, const splat_torch_tensor *tensor, float *out,
                                         size_t n, splat_error *error)
{
    if (n != tensor->n)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "room for %zu numbers of a tensor of %llu", n,
                          (unsigned long long)tensor->n);
    if (n == 0) return SPLAT_OK;
    if (is_contiguous(tensor)) return read_contiguous(file, tensor, out, error);
    /* all bytes from the first to the last element: not more than the storage, which is not more than the file */
    size_t size = splat_torch_dtype_size(tensor->dtype);
    uint64_t last = 0;
    for (int i = 0; i < tensor->n_dims; i++) last += (tensor->shape[i] - 1) * tensor->stride[i];
    size_t n_bytes = ((size_t)last + 1) * size;
    uint8_t *bytes = malloc(n_bytes);
    if (!bytes)
        return splat_fail_at(error, SPLAT_ERROR_MEMORY, splat_torch_file_path(file), SPLAT_NO_OFFSET,
                             "no memory for %zu bytes of a tensor", n_bytes);
    uint64_t offset = tensor->storage->offset + tensor->first * size;
    splat_status status = splat_torch_read_at(file, offset, bytes, n_bytes, error);
    if (status == SPLAT_OK) gather(tensor, bytes, out);
    free(bytes);
    return status;
}

splat_status splat_torch_number(const splat_torch_file *file, const splat_torch_value *value, const char *what,
                                double *number, splat_error *error)
{
    splat_torch_kind kind = value ? value->kind : SPLAT_TORCH_NONE;
    if (kind == SPLAT_TORCH_INT || kind == SPLAT_TORCH_FLOAT || kind == SPLAT_TORCH_BOOL) {
        *number = kind == SPLAT_TORCH_INT     ? (double)value->integer
                  : kind == SPLAT_TORCH_FLOAT ? value->number
                                              : (double)value->boolean;
        return SPLAT_OK;
    }
    const splat_torch_tensor *tensor = splat_torch_tensor_of(value);
    if (!tensor || tensor->n != 1)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, splat_torch_file_path(file), SPLAT_NO_OFFSET,
                             "%s is missing or not a number", what);
    float single;
    SPLAT_TRY(splat_torch_tensor_read_f32(file, tensor, &single, 1, error));
    *number = single;
    return SPLAT_OK;
}
