/* Boxes around boxes, each twice as large as the one inside it: what is far may be coarse. */
#ifndef SPLAT_MESH_NESTED_BOXES_H
#define SPLAT_MESH_NESTED_BOXES_H

#include "mesh/mesh.h"

/* Nested boxes; level l is `half` 2^l to each side of `center`. */
typedef struct splat_nested_boxes {
    double center[3], half[3];
} splat_nested_boxes;

splat_nested_boxes splat_nested_boxes_make(const double low[3], const double high[3]);
/* The box of a level, wider by `margin` to each side. */
void splat_nested_box(const splat_nested_boxes *boxes, size_t level, double margin, double low[3], double high[3]);
/* The smallest level that holds the place, at most `limit`. */
size_t splat_nested_level(const splat_nested_boxes *boxes, const double place[3], size_t limit);
/* Removes from a mesh of level `level` what lies beyond its box or, but for level 0, in the box inside it. Faces across
 * a border stay: the meshes of two levels overlap there by a voxel of the outer one. Vertices stay, unused or not. */
void splat_nested_crop(const splat_nested_boxes *boxes, size_t level, splat_mesh *mesh);

#endif
