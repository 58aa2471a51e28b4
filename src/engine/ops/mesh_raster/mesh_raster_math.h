/* Keys of pixels, of which the least wins in any order, and what a key stands for. Shared by C and CUDA. */
#ifndef SPLAT_OPS_MESH_RASTER_MATH_H
#define SPLAT_OPS_MESH_RASTER_MATH_H

#include "math/raster.h"

#define SPLAT_MESH_RASTER_NOTHING (~(uint64_t)0)

/* Nearer first; of equal depths the lower face. Depths are above 0: their bits have the order of the floats. */
SPLAT_MATH_INLINE uint64_t splat_mesh_raster_key(float depth, uint32_t face)
{
    return (uint64_t)splat_bits_of_float(depth) << 32 | (face + 1u);
}

/* Triangle k (1 .. n - 2) of the fan of a polygon, with its edge functions at a pixel; false: it has no area. */
SPLAT_MATH_INLINE bool splat_mesh_raster_fan(const splat_raster_polygon *p, int k, int column, int row,
                                             splat_raster_triangle *t)
{
    const splat_raster_corner *const corners[3] = {&p->corners[0], &p->corners[k], &p->corners[k + 1]};
    t->weights[0] = p->weights[0];
    t->weights[1] = p->weights[k];
    t->weights[2] = p->weights[k + 1];
    return splat_raster_triangle_make(t, corners, column, row);
}

/* The pixels of triangle k: first and last column and row; false: none. */
SPLAT_MATH_INLINE bool splat_mesh_raster_bounds(const splat_raster_eye *eye, const splat_raster_polygon *p, int k,
                                                int first[2], int last[2])
{
    const splat_raster_corner corners[3] = {p->corners[0], p->corners[k], p->corners[k + 1]};
    return splat_raster_pixel_bounds(eye, corners, 3, first, last);
}

/* Writes what the pixel shows; weights and front may be NULL. Of a face that planes cut, several triangles may lie in
 * the pixel: the first at the key's depth. */
SPLAT_MATH_INLINE void splat_mesh_raster_unpack(const splat_raster_eye *eye, uint64_t key, int column, int row,
                                                uint32_t *id, float *depth, float *weights, uint8_t *front)
{
    const bool any = key != SPLAT_MESH_RASTER_NOTHING;
    *id = any ? (uint32_t)key : 0;
    *depth = any ? splat_float_of_bits((uint32_t)(key >> 32)) : 0.0f;
    if (front) *front = any && splat_raster_shows_front(eye, *id - 1);
    if (!weights) return;
    weights[0] = weights[1] = 0;
    if (!any) return;
    splat_raster_polygon p;
    splat_raster_face_polygon(eye, *id - 1, &p);
    for (int k = 1; k + 1 < p.n; k++) {
        splat_raster_triangle t;
        double share[3], sum;
        if (!splat_mesh_raster_fan(&p, k, column, row, &t)) continue;
        if ((t.value[0] | t.value[1] | t.value[2]) < 0) continue;
        if (splat_raster_depth(&t, t.value, share, &sum) != *depth) continue;
        splat_raster_weights(&t, share, sum, weights);
        return;
    }
}

#endif
