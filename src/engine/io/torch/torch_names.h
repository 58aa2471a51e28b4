/* The names that a pickle may mention, and what calling them means. */
#ifndef SPLAT_IO_TORCH_NAMES_H
#define SPLAT_IO_TORCH_NAMES_H

#include "io/torch/torch_parts.h"

size_t splat_torch_dtype_size(splat_torch_dtype dtype);

/* Finds the meaning of a name. */
splat_status splat_torch_name_find(splat_torch_file *file, const char *module, size_t module_size, const char *name,
                                   size_t name_size, uint64_t at, splat_torch_node **node, splat_error *error);
splat_status splat_torch_call(splat_torch_file *file, const splat_torch_node *function,
                              const splat_torch_node *arguments, uint64_t at, splat_torch_node **result,
                              splat_error *error);
splat_status splat_torch_build(splat_torch_file *file, splat_torch_node *object, const splat_torch_node *state,
                               uint64_t at, splat_error *error);
/* ('storage', type, key, location, n[, view]) */
splat_status splat_torch_persistent(splat_torch_file *file, const splat_torch_node *id, uint64_t at,
                                    splat_torch_node **result, splat_error *error);
/* NULL: none. */
splat_torch_storage *splat_torch_storage_find(const splat_torch_file *file, const char *key, size_t key_size);

#endif
