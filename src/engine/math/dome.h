/* The sky as a colour of each direction, behind all Gaussians: a cube map. Shared by C and CUDA.
 *
 * Of a direction d the axis with the largest |d| is the first of the face: face 2 axis for d > 0, 2 axis + 1 for d < 0;
 * the next axes (cyclic), divided by |d| of the first, are the coordinates of rows and columns. Node i of a row or
 * column lies at -1 + 2 i/(SIDE - 1), so faces share the directions of their borders; between nodes colours are
 * bilinear. */
#ifndef SPLAT_MATH_DOME_H
#define SPLAT_MATH_DOME_H

#include "math/camera.h"
#include "math/inline.h"

#define SPLAT_DOME_SIDE 64
#define SPLAT_DOME_NODES (6 * SPLAT_DOME_SIDE * SPLAT_DOME_SIDE)
#define SPLAT_DOME_BYTES (SPLAT_DOME_NODES * 3 * sizeof(float))

typedef struct splat_dome {
    const float *colors;     /* [6][SIDE][SIDE][3]; NULL: no dome */
    float center[3], radius; /* of the ball whose places have the colours; radius 0: infinity, directions alone */
} splat_dome;

/* The four nodes around a direction: first, first + 1 and the two a row of nodes further; parts of the second column
 * and of the second row. */
typedef struct splat_dome_place {
    uint32_t first;
    float right, down;
} splat_dome_place;

SPLAT_MATH_INLINE splat_dome_place splat_dome_place_of(const float d[3])
{
    int axis = fabsf(d[1]) > fabsf(d[0]) ? 1 : 0;
    if (fabsf(d[2]) > fabsf(d[axis])) axis = 2;
    const float most = axis == 0 ? d[0] : axis == 1 ? d[1] : d[2];
    const float row = axis == 0 ? d[1] : axis == 1 ? d[2] : d[0];
    const float column = axis == 0 ? d[2] : axis == 1 ? d[0] : d[1];
    const float half = 0.5f * (float)(SPLAT_DOME_SIDE - 1), scale = half / fabsf(most);
    const float last = (float)(SPLAT_DOME_SIDE - 2);
    float down = splat_clamp(row * scale + half, 0.0f, 2.0f * half);
    float right = splat_clamp(column * scale + half, 0.0f, 2.0f * half);
    const float j = splat_clamp(floorf(down), 0.0f, last), i = splat_clamp(floorf(right), 0.0f, last);
    splat_dome_place place;
    const uint32_t face = (uint32_t)(2 * axis + (most < 0.0f));
    place.first = (face * SPLAT_DOME_SIDE + (uint32_t)j) * SPLAT_DOME_SIDE + (uint32_t)i;
    place.right = right - i;
    place.down = down - j;
    return place;
}

/* The direction of a place of the picture (0 is the middle of the first pixel). */
SPLAT_MATH_INLINE void splat_dome_direction(const splat_camera *c, const splat_dome *dome, float u, float v, float d[3])
{
    const float x = (u + 0.5f - c->cx) / c->fx, y = (v + 0.5f - c->cy) / c->fy;
    for (int k = 0; k < 3; k++) d[k] = x * c->rotation[k] + y * c->rotation[3 + k] + c->rotation[6 + k];
    if (!(dome->radius > 0.0f)) return;
    const float inverse = 1.0f / sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    float from[3], along = 0.0f, square = -dome->radius * dome->radius;
    for (int k = 0; k < 3; k++) {
        d[k] *= inverse;
        from[k] = c->center[k] - dome->center[k];
        along += from[k] * d[k];
        square += from[k] * from[k];
    }
    const float root = along * along - square, t = (root > 0.0f ? sqrtf(root) : 0.0f) - along;
    for (int k = 0; k < 3; k++) d[k] = from[k] + t * d[k];
}

/* The direction of node number i; not of unit length. */
SPLAT_MATH_INLINE void splat_dome_node_direction(size_t i, float d[3])
{
    const size_t axis = i / SPLAT_DOME_SIDE / SPLAT_DOME_SIDE / 2;
    const float scale = 2.0f / (float)(SPLAT_DOME_SIDE - 1);
    d[axis] = i / SPLAT_DOME_SIDE / SPLAT_DOME_SIDE % 2 ? -1.0f : 1.0f;
    d[(axis + 1) % 3] = scale * (float)(i / SPLAT_DOME_SIDE % SPLAT_DOME_SIDE) - 1.0f;
    d[(axis + 2) % 3] = scale * (float)(i % SPLAT_DOME_SIDE) - 1.0f;
}

SPLAT_MATH_INLINE void splat_dome_weights(const splat_dome_place *place, float weight[4])
{
    for (int k = 0; k < 4; k++)
        weight[k] = (k % 2 ? place->right : 1.0f - place->right) * (k / 2 ? place->down : 1.0f - place->down);
}

/* Node k of a place. */
SPLAT_MATH_INLINE size_t splat_dome_node(uint32_t first, int k)
{
    return (size_t)first + (size_t)(k / 2) * SPLAT_DOME_SIDE + (size_t)(k % 2);
}

SPLAT_MATH_INLINE void splat_dome_color(const float *colors, const splat_dome_place *place, float color[3])
{
    float weight[4];
    splat_dome_weights(place, weight);
    for (int c = 0; c < 3; c++) {
        color[c] = 0.0f;
        for (int k = 0; k < 4; k++) color[c] += weight[k] * colors[3 * splat_dome_node(place->first, k) + (size_t)c];
    }
}

#endif
