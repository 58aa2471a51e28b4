/* Places are projected into a view together, in loops that the compiler turns into vectors. */
#include "surface/planes/plane_levels.h"

#include "surface/planes/plane_parts.h"

#define HIDDEN 0.85f /* of the depth: what is nearer hides the place */
#define LANES 4u     /* floats in a vector */

/* Places in a picture, as of splat_camera_project. */
typedef struct images {
    float x[PLANE_LEVELS_PLACES], y[PLANE_LEVELS_PLACES], z[PLANE_LEVELS_PLACES];
    int32_t is_in[PLANE_LEVELS_PLACES];
    int32_t i[PLANE_LEVELS_PLACES], j[PLANE_LEVELS_PLACES]; /* corners */
    float u[PLANE_LEVELS_PLACES], v[PLANE_LEVELS_PLACES];
} images;

static inline float within(float x, float most)
{
    return x > most ? most : x > 0 ? x : 0;
}

/* Four pixels of a small photo around a place: the upper left one, and how far the place is from it. */
typedef struct corner {
    int i, j;
    float u, v;
} corner;

static inline corner corner_of(float side, int width, int height, float x, float y)
{
    float u = within(x / side - 0.5f, (float)(width - 1)), v = within(y / side - 0.5f, (float)(height - 1));
    int i = (int)u, j = (int)v, right = width > 1 ? width - 2 : 0, below = height > 1 ? height - 2 : 0;
    i = i > right ? right : i;
    j = j > below ? below : j;
    return (corner){i, j, u - (float)i, v - (float)j};
}

static inline float level_of(const plane_view *view, size_t channel, corner at)
{
    const size_t w = (size_t)view->shade_width, h = (size_t)view->shade_height;
    const uint16_t *p = view->shade + channel * w * h + (size_t)at.j * w + (size_t)at.i;
    const size_t right = w > 1, down = h > 1 ? w : 0;
    return (((float)p[0] * (1 - at.u) + (float)p[right] * at.u) * (1 - at.v) +
            ((float)p[down] * (1 - at.u) + (float)p[down + right] * at.u) * at.v) / PLANE_SHADE_LEVEL;
}

float plane_levels_at(const plane_view *view, size_t channel, float x, float y)
{
    return level_of(view, channel, corner_of((float)view->shade_side, view->shade_width, view->shade_height, x, y));
}

static inline bool is_clear(const plane_view *view, corner at, float z)
{
    const int i = at.i + (at.u > 0.5f), j = at.j + (at.v > 0.5f);
    const float depth = view->hiding[(size_t)j * (size_t)view->shade_width + (size_t)i];
    return !(depth > 0 && depth < HIDDEN * z);
}

bool plane_levels_is_clear(const plane_view *view, const float image[3])
{
    const corner at = corner_of((float)view->shade_side, view->shade_width, view->shade_height, image[0], image[1]);
    return is_clear(view, at, image[2]);
}

/* Loops are over a multiple of the places in a vector: they have no rest. */
static inline uint32_t rounded(uint32_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

void plane_levels_add_place(plane_levels *levels, const float position[3], float own)
{
    const uint32_t n = levels->n++;
    for (uint32_t i = n; i < rounded(n + 1); i++) {
        for (int k = 0; k < 3; k++) levels->position[k][i] = position[k];
        for (int k = 0; k < PLANE_SHADE_VIEWS; k++) levels->values[k][i] = INFINITY;
    }
    levels->values[0][n] = own;
    levels->counts[n] = 1;
}

/* The sums of splat_camera_project, for all places and without a branch. False: none is in the picture. */
static bool project(const splat_camera *c, const plane_levels *levels, images *to)
{
    const float *r = c->rotation, *center = c->center, fx = c->fx, fy = c->fy, cx = c->cx, cy = c->cy;
    const float width = (float)c->width, height = (float)c->height;
    int32_t is_any_in = 0;
    for (uint32_t i = 0; i < rounded(levels->n); i++) {
        const float d[3] = {levels->position[0][i] - center[0], levels->position[1][i] - center[1],
                            levels->position[2][i] - center[2]};
        float x = r[0] * d[0] + r[1] * d[1] + r[2] * d[2], y = r[3] * d[0] + r[4] * d[1] + r[5] * d[2];
        float z = r[6] * d[0] + r[7] * d[1] + r[8] * d[2];
        x = x / z * fx + cx;
        y = y / z * fy + cy;
        to->x[i] = x;
        to->y[i] = y;
        to->z[i] = z;
        to->is_in[i] = (z > 1e-6f) & (x >= 0) & (y >= 0) & (x < width) & (y < height);
        is_any_in |= to->is_in[i];
    }
    return is_any_in;
}

/* The corners of all places in the picture. */
static void find_corners(const plane_view *view, uint32_t n, images *at)
{
    const float side = (float)view->shade_side;
    const int width = view->shade_width, height = view->shade_height;
    for (uint32_t i = 0; i < rounded(n); i++) {
        const corner own = corner_of(side, width, height, at->x[i], at->y[i]);
        at->i[i] = own.i;
        at->j[i] = own.j;
        at->u[i] = own.u;
        at->v[i] = own.v;
    }
}

void plane_levels_add_view(plane_levels *levels, const splat_view_map *map, const plane_view *view, bool is_hiding)
{
    images at;
    if (!project(&map->camera, levels, &at)) return;
    find_corners(view, levels->n, &at);
    for (uint32_t i = 0; i < levels->n; i++) {
        const corner own = {at.i[i], at.j[i], at.u[i], at.v[i]};
        if (!at.is_in[i] || levels->counts[i] == PLANE_SHADE_VIEWS) continue;
        if (is_hiding && !is_clear(view, own, at.z[i])) continue;
        levels->values[levels->counts[i]++][i] = level_of(view, 0, own);
    }
}

/* The lesser of two levels of each place becomes the first. */
static inline void order(float *restrict first, float *restrict second, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const float a = first[i], b = second[i];
        first[i] = b < a ? b : a;
        second[i] = a < b ? b : a;
    }
}

void plane_levels_sort(plane_levels *levels)
{
    static const uint8_t pairs[][2] = {
        {0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15},
        {0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15},
        {1, 2}, {5, 6}, {9, 10}, {13, 14},
        {0, 4}, {1, 5}, {2, 6}, {3, 7}, {8, 12}, {9, 13}, {10, 14}, {11, 15},
        {2, 4}, {3, 5}, {10, 12}, {11, 13},
        {1, 2}, {3, 4}, {5, 6}, {9, 10}, {11, 12}, {13, 14},
        {0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15},
        {4, 8}, {5, 9}, {6, 10}, {7, 11},
        {2, 4}, {3, 5}, {6, 8}, {7, 9}, {10, 12}, {11, 13},
        {1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}, {11, 12}, {13, 14},
    };
    uint32_t most = 0;
    for (uint32_t i = 0; i < levels->n; i++)
        if (levels->counts[i] > most) most = levels->counts[i];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][1] < most)
            order(levels->values[pairs[i][0]], levels->values[pairs[i][1]], rounded(levels->n));
}
