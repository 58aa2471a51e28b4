/* The pickle machine. */
#ifndef SPLAT_IO_TORCH_PICKLE_H
#define SPLAT_IO_TORCH_PICKLE_H

#include "io/torch/torch_parts.h"

/* One pickle, from PROTO to STOP. */
splat_status splat_torch_pickle_read(splat_torch_file *file, splat_torch_source *source,
                                     const splat_torch_value **root, splat_error *error);

#endif
