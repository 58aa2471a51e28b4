/* The numbers of a tensor. */
#ifndef SPLAT_IO_TORCH_TENSOR_H
#define SPLAT_IO_TORCH_TENSOR_H

#include "io/torch/torch_file.h"

/* Copies the elements, row-major, as float32 into out[n]; ARGUMENT when n is not tensor->n. Thread-safe. */
splat_status splat_torch_tensor_read_f32(const splat_torch_file *file, const splat_torch_tensor *tensor, float *out,
                                         size_t n, splat_error *error);
/* An int, float, bool, or a tensor of one element; FORMAT otherwise, naming `what`. */
splat_status splat_torch_number(const splat_torch_file *file, const splat_torch_value *value, const char *what,
                                double *number, splat_error *error);

#endif
