/* Splats in memory as SPZ, and back. */
#ifndef SPLAT_IO_CLOUD_SPZ_H
#define SPLAT_IO_CLOUD_SPZ_H

#include "io/splat/cloud.h"

/* The cloud of a whole file in memory, which `path` names in errors; *cloud is overwritten and, on failure, empty. What
 * it holds, from its first bytes. Errors: those of the header and the streams. */
splat_status splat_spz_unpack(const char *path, const uint8_t *data, size_t size, splat_cloud *cloud,
                              splat_error *error);
splat_status splat_spz_describe(const char *path, const uint8_t *data, size_t size, splat_cloud_shape *shape,
                                splat_error *error);

/* A cloud as a file of version 3 or 4 in malloc'd memory; its filter must have been baked in. Errors: MEMORY,
 * UNSUPPORTED, ARGUMENT (positions too far from the origin, too many Gaussians). */
splat_status splat_spz_pack(const splat_cloud *cloud, int version, uint8_t **data, size_t *size, splat_error *error);

#endif
