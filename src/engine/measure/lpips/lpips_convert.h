/* The weights of LPIPS, from the files of others. */
#ifndef SPLAT_MEASURE_LPIPS_CONVERT_H
#define SPLAT_MEASURE_LPIPS_CONVERT_H

#include "base/error.h"

/* Makes the file of a net from torchvision's backbone (.pth) and lpips's heads (weights/v0.1/<net>.pth), atomically;
 * nothing in them is executed. Errors: ARGUMENT (no such net), IO, FORMAT (not of this net), UNSUPPORTED, MEMORY. */
splat_status splat_lpips_convert(const char *net, const char *backbone, const char *heads, const char *path,
                                 splat_error *error);

#endif
