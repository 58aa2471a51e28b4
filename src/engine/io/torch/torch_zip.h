/* The zip container of torch.save. */
#ifndef SPLAT_IO_TORCH_ZIP_H
#define SPLAT_IO_TORCH_ZIP_H

#include "io/torch/torch_parts.h"

/* The directory and the folder of data.pkl; an entry by its name below the folder (NULL: none). */
splat_status splat_torch_zip_open(splat_torch_file *file, splat_error *error);
const splat_torch_entry *splat_torch_zip_find(const splat_torch_file *file, const char *name, size_t name_size);
/* Finds the first byte of an entry and verifies its checksum. Call it once for each entry. */
splat_status splat_torch_zip_locate(splat_torch_file *file, const splat_torch_entry *entry, uint64_t *offset,
                                    splat_error *error);

#endif
