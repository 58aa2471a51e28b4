/* SPZ, Niantic's packed splats: about 20 to 64 bytes a Gaussian in six streams, compressed. Versions 2 and 3 are one
 * gzip, version 4 is a table of Zstandard frames. docs/files.md has the numbers. */
#ifndef SPLAT_IO_SPZ_CONTAINER_H
#define SPLAT_IO_SPZ_CONTAINER_H

#include "io/splat/cloud.h"

#define SPLAT_SPZ_HEAD 16 /* bytes of a header as far as all versions have it */

/* The header. */
typedef struct splat_spz_header {
    uint32_t version, n;
    int sh_degree;       /* 0 to 4 */
    int fractional_bits; /* fractional bits of a position */
    bool is_antialiased, has_extensions;
    int n_streams;       /* version 4: number of streams, at least 5, or 6 with harmonics */
    uint32_t toc;        /* version 4: offset of the table of streams */
} splat_spz_header;

/* The streams, in their order in a file. */
enum { SPLAT_SPZ_POSITIONS, SPLAT_SPZ_ALPHAS, SPLAT_SPZ_COLORS, SPLAT_SPZ_SCALES, SPLAT_SPZ_ROTATIONS, SPLAT_SPZ_SH,
       SPLAT_SPZ_N_STREAMS };

/* Bytes a Gaussian of a stream. */
size_t splat_spz_row(const splat_spz_header *header, int stream);

/* The header from the first bytes of a file of any version. Errors: FORMAT, UNSUPPORTED (another version; version 4 in
 * a build without Zstandard), MEMORY. */
splat_status splat_spz_read_header(const char *path, const uint8_t *data, size_t size, splat_spz_header *header,
                                   splat_error *error);
/* The streams of a whole file, one after the other, in malloc'd memory. Errors: FORMAT, UNSUPPORTED, MEMORY. */
splat_status splat_spz_inflate(const char *path, const uint8_t *data, size_t size, const splat_spz_header *header,
                               uint8_t **streams, splat_error *error);
/* A whole file from its header and streams, in malloc'd memory. Errors: MEMORY, UNSUPPORTED. */
splat_status splat_spz_deflate(const splat_spz_header *header, const uint8_t *streams, uint8_t **data, size_t *size,
                               splat_error *error);

#endif
