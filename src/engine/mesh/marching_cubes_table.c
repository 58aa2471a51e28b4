/* The cases are derived, not typed in. On every face of the cell each run of inside corners is cut off by one segment,
 * a rule that both cells of a face read the same way, so that there are no cracks. The segments chain to loops, and
 * each loop is cut into triangles without a diagonal that lies in a face of the cell: the cell beyond could have the
 * same one, and the edge four triangles. All loops (3 to 7 edges) have such a triangulation. */
#include "mesh/marching_cubes_table.h"

#include <stdbool.h>
#include <string.h>

enum { MAX_LOOP = 12 };

static int edge_between(int c, int d)
{
    int low = c < d ? c : d, axis = (c ^ d) == 1 ? 0 : (c ^ d) == 2 ? 1 : 2;
    return 4 * axis + (low >> (axis + 1) % 3 & 1) + 2 * (low >> (axis + 2) % 3 & 1);
}

/* next[e]: the edge that the segment from e leads to. Seen from outside, corners go around counter-clockwise. */
static void add_face_segments(int mask, int axis, int side, int8_t next[SPLAT_CELL_EDGES])
{
    static const int around[2][4] = {{0, 2, 3, 1}, {0, 1, 3, 2}}; /* u + 2v, of the low and the high side */
    int corners[4];
    for (int i = 0; i < 4; i++) {
        int uv = around[side][i];
        corners[i] = side << axis | (uv & 1) << (axis + 1) % 3 | (uv >> 1) << (axis + 2) % 3;
    }
    for (int i = 0; i < 4; i++) {
        int last = corners[i], after = corners[(i + 1) % 4], first = i;
        if (!(mask >> last & 1) || mask >> after & 1) continue;
        while (mask >> corners[(first + 3) % 4] & 1) first = (first + 3) % 4; /* ends: `after` is outside */
        next[edge_between(last, after)] = (int8_t)edge_between(corners[(first + 3) % 4], corners[first]);
    }
}

/* Whether two edges of the cell lie in the same face of it. */
static bool share_face(int e, int f)
{
    for (int axis = 0; axis < 3; axis++) {
        if (e / 4 == axis || f / 4 == axis) continue;
        if ((splat_cell_edge_start(e) >> axis & 1) == (splat_cell_edge_start(f) >> axis & 1)) return true;
    }
    return false;
}

/* Triangulates loop[i..j] over its side i-j; false when every way needs a diagonal in a face. */
static bool triangulate(const uint8_t *loop, int i, int j, splat_cell_case *cell)
{
    if (j - i < 2) return true;
    for (int k = i + 1; k < j; k++) {
        bool left_inner = k - i > 1, right_inner = j - k > 1;
        if ((left_inner && share_face(loop[i], loop[k])) || (right_inner && share_face(loop[k], loop[j]))) continue;
        uint8_t before = cell->n_triangles;
        const uint8_t triangle[3] = {loop[i], loop[j], loop[k]}; /* loops run clockwise, seen from outside */
        memcpy(cell->edges + 3 * cell->n_triangles++, triangle, 3);
        if (triangulate(loop, i, k, cell) && triangulate(loop, k, j, cell)) return true;
        cell->n_triangles = before;
    }
    return false;
}

void splat_marching_cubes_table(splat_cell_case cases[256])
{
    memset(cases, 0, 256 * sizeof *cases);
    for (int mask = 0; mask < 256; mask++) {
        int8_t next[SPLAT_CELL_EDGES];
        memset(next, -1, sizeof next);
        for (int axis = 0; axis < 3; axis++)
            for (int side = 0; side < 2; side++) add_face_segments(mask, axis, side, next);
        for (int e = 0; e < SPLAT_CELL_EDGES; e++) {
            uint8_t loop[MAX_LOOP];
            int n = 0;
            for (int at = e; next[at] >= 0;) { /* each edge is in one loop: it is taken out as it is walked */
                int8_t to = next[at];
                loop[n++] = (uint8_t)at;
                next[at] = -1;
                at = to;
            }
            if (n >= 3) triangulate(loop, 0, n - 1, &cases[mask]);
        }
    }
}
