/* Few values for many: 256 numbers for an array of them, and a palette for rows. For formats that store indices. */
#ifndef SPLAT_IO_CODEBOOK_H
#define SPLAT_IO_CODEBOOK_H

#include "base/error.h"

#define SPLAT_CODEBOOK_SIZE 256

/* Ascending numbers near which the values lie: Lloyd's algorithm in one dimension (least squares), from quantiles and
 * even steps. Errors: MEMORY. */
splat_status splat_codebook_make(const float *values, size_t n, float codebook[SPLAT_CODEBOOK_SIZE],
                                 splat_error *error);
/* The index of the nearest. */
uint8_t splat_codebook_find(const float codebook[SPLAT_CODEBOOK_SIZE], float value);

/* A palette of at most n_colors rows for rows[n][width], and the label of each row: the set with the largest sum of
 * squares is cut in two across its principal axis, through its mean, until there are enough; colors[*n_made][width] are
 * their means. n_colors <= n, at least 1 of each; width <= 64. Errors: MEMORY. */
splat_status splat_palette_make(const float *rows, size_t n, size_t width, size_t n_colors, float *colors,
                                size_t *n_made, uint32_t *labels, splat_error *error);

#endif
