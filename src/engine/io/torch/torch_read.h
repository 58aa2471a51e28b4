/* Opening a file of torch.save: its two containers, the zip and the legacy one. */
#ifndef SPLAT_IO_TORCH_READ_H
#define SPLAT_IO_TORCH_READ_H

#include "io/torch/torch_file.h"

/* Opens the file and reads everything but the numbers of the tensors, which stay on the disk (their checksums are
 * verified here, once). FORMAT: truncated, damaged, no file of torch.save. UNSUPPORTED: compressed entries, a name that
 * is not on the list, types without a meaning here. The file is open, and every value valid, until close. */
splat_status splat_torch_file_open(const char *path, splat_torch_file **file, splat_error *error);
void splat_torch_file_close(splat_torch_file *file);
/* Returns the value that torch.save received. */
const splat_torch_value *splat_torch_file_root(const splat_torch_file *file);
const char *splat_torch_file_path(const splat_torch_file *file);

#endif
