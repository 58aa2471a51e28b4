/* Which texels' centres lie in a triangle, in whole numbers: corners in 1/256 texel. Triangles that share an edge, and
 * lie on both sides of it, share no centre and leave none out. */
#ifndef SPLAT_TEXTURE_TEXEL_TRIANGLE_H
#define SPLAT_TEXTURE_TEXEL_TRIANGLE_H

#include <stdbool.h>
#include <stdint.h>

enum { SPLAT_TEXEL_UNITS = 256 };

typedef struct splat_texel_triangle {
    int64_t x[3], y[3];       /* counter-clockwise on axes to the right and up, in either order that was given */
    int64_t area;             /* twice, above 0; 0: no texel's centre lies in it */
    bool is_turned;           /* corners 1 and 2 have changed places */
    int first_column, end_column, first_row, end_row; /* texels whose centres lie in its box */
} splat_texel_triangle;

/* The first texel centre at or after a coordinate: floor((x + 127) / 256). */
static inline int splat_texel_from(int64_t x)
{
    int64_t y = x + SPLAT_TEXEL_UNITS / 2 - 1;
    return (int)(y >= 0 ? y / SPLAT_TEXEL_UNITS : -((SPLAT_TEXEL_UNITS - 1 - y) / SPLAT_TEXEL_UNITS));
}

static inline splat_texel_triangle splat_texel_triangle_make(const int64_t corners[3][2])
{
    splat_texel_triangle t = {.is_turned = false};
    for (int k = 0; k < 3; k++) {
        t.x[k] = corners[k][0];
        t.y[k] = corners[k][1];
    }
    t.area = (t.x[1] - t.x[0]) * (t.y[2] - t.y[0]) - (t.y[1] - t.y[0]) * (t.x[2] - t.x[0]);
    if (t.area < 0) {
        int64_t x = t.x[1], y = t.y[1];
        t.x[1] = t.x[2], t.y[1] = t.y[2];
        t.x[2] = x, t.y[2] = y;
        t.area = -t.area;
        t.is_turned = true;
    }
    int64_t low_x = t.x[0], high_x = t.x[0], low_y = t.y[0], high_y = t.y[0];
    for (int k = 1; k < 3; k++) {
        if (t.x[k] < low_x) low_x = t.x[k];
        if (t.x[k] > high_x) high_x = t.x[k];
        if (t.y[k] < low_y) low_y = t.y[k];
        if (t.y[k] > high_y) high_y = t.y[k];
    }
    t.first_column = splat_texel_from(low_x);
    t.end_column = splat_texel_from(high_x + 1);
    t.first_row = splat_texel_from(low_y);
    t.end_row = splat_texel_from(high_y + 1);
    return t;
}

/* True if a texel's centre lies in the triangle; e: twice the areas against its corners 0, 1, 2. A centre on an edge
 * belongs to the side on which the edge runs up, or to the right. */
static inline bool splat_texel_triangle_has(const splat_texel_triangle *t, int column, int row, int64_t e[3])
{
    int64_t px = (int64_t)column * SPLAT_TEXEL_UNITS + SPLAT_TEXEL_UNITS / 2;
    int64_t py = (int64_t)row * SPLAT_TEXEL_UNITS + SPLAT_TEXEL_UNITS / 2;
    if (t->area == 0) return false;
    for (int k = 0; k < 3; k++) {
        int a = (k + 1) % 3, b = (k + 2) % 3;
        int64_t dx = t->x[b] - t->x[a], dy = t->y[b] - t->y[a];
        e[k] = dx * (py - t->y[a]) - dy * (px - t->x[a]);
        if (e[k] < 0 || (e[k] == 0 && !(dy > 0 || (dy == 0 && dx > 0)))) return false;
    }
    return true;
}

#endif
