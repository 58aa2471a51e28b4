/* Views whose colours of a face disagree with those of other views. */
#ifndef SPLAT_TEXTURE_BAKE_OUTLIERS_H
#define SPLAT_TEXTURE_BAKE_OUTLIERS_H

#include "texture/bake_parts.h"

/* Marks candidates whose colour of a face is not that of its others: people, shadows, wrong geometry. */
void splat_bake_reject(splat_bake *bake);
/* Which of n <= SPLAT_TEXTURE_CANDIDATES colours are outliers of the rest. */
void splat_bake_find_outliers(const uint8_t (*rgb)[3], int n, bool *is_outlier);
/* bake->lists: the candidates that are outliers neither of the face nor of one that shares an edge with it; where none
 * is left, those that are none of the face. Errors: MEMORY. */
splat_status splat_bake_make_lists(splat_bake *bake, splat_error *error);

#endif
