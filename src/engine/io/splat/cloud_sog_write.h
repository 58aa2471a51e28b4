/* SOG: what its reader and its writer share. */
#ifndef SPLAT_IO_CLOUD_SOG_WRITE_H
#define SPLAT_IO_CLOUD_SOG_WRITE_H

#include "io/picture/webp.h"
#include "io/splat/codebook.h"
#include "io/splat/formats.h"

#define SPLAT_SOG_COLUMNS 64 /* rows of the palette that stand side by side in its picture */

/* The row's `write`. */
splat_status splat_sog_write(const char *path, const splat_cloud *cloud, const splat_save_options *options,
                             splat_error *error);

#endif
