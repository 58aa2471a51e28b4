/* Planes that a round found and a later one lost. */
#ifndef SPLAT_SURFACE_PLANE_RECALL_H
#define SPLAT_SURFACE_PLANE_RECALL_H

#include "surface/planes/plane_parts.h"

/* Appends to lost[PLANE_MAX_LOST] the planes that pixels have. */
void plane_recall_note(const splat_view_maps *maps, const plane_view *views, const plane_global *planes, size_t n,
                       plane_global *lost, size_t *n_lost);
/* Appends those of `lost` that stand square to the scene and that no plane is near to, the latest first, without
 * pixels: the photos may choose them. A plane close to one of them that is not square takes its place if more edges of
 * the photos agree. planes: [PLANE_MAX_PLANES]; *n of them. Errors: MEMORY. */
splat_status plane_recall(const splat_view_maps *maps, const plane_view *views, plane_global *planes, size_t *n,
                          const plane_global *lost, size_t n_lost, int threads, splat_error *error);

#endif
