/* Triangulation of a polygon inside a cell: the shortest chords, none of them in a side of the cell. */
#include "mesh/poisson/poisson_parts.h"

#include <math.h>

static float chord_length(const float *p, const float *q)
{
    float sum = 0;
    for (int a = 0; a < 3; a++) sum += (p[a] - q[a]) * (p[a] - q[a]);
    return sqrtf(sum);
}

/* A chord in a side could be a chord of the neighbour's polygon too, an edge of four faces. */
static float chord_cost(int n, const float (*positions)[3], const uint8_t *sides, int i, int j)
{
    if (j - i == 1 || j - i == n - 1) return 0; /* an edge of the polygon */
    return sides[i] & sides[j] ? INFINITY : chord_length(positions[i], positions[j]);
}

int poisson_triangulate(int n, const float (*positions)[3], const uint8_t *sides, uint8_t (*triangles)[3])
{
    /* best[i][j]: cost of the part from i to j below the chord; via: its triangle's third corner (Klincsek 1980) */
    float best[POISSON_MAX_POLYGON][POISSON_MAX_POLYGON];
    uint8_t via[POISSON_MAX_POLYGON][POISSON_MAX_POLYGON];
    for (int i = 0; i + 1 < n; i++) best[i][i + 1] = 0;
    for (int span = 2; span < n; span++)
        for (int i = 0; i + span < n; i++) {
            int j = i + span;
            best[i][j] = INFINITY;
            via[i][j] = (uint8_t)(i + 1);
            for (int k = i + 1; k < j; k++) {
                float cost = best[i][k] + best[k][j];
                if (cost < best[i][j]) {
                    best[i][j] = cost;
                    via[i][j] = (uint8_t)k;
                }
            }
            best[i][j] += chord_cost(n, positions, sides, i, j);
        }
    if (!(best[0][n - 1] < INFINITY)) return 0;
    uint8_t stack[POISSON_MAX_POLYGON][2] = {{0, (uint8_t)(n - 1)}};
    int n_triangles = 0;
    for (int top = 1; top > 0;) {
        uint8_t i = stack[--top][0], j = stack[top][1], k = via[i][j];
        if (j - i < 2) continue;
        triangles[n_triangles][0] = i;
        triangles[n_triangles][1] = k;
        triangles[n_triangles++][2] = j;
        stack[top][0] = i;
        stack[top++][1] = k;
        stack[top][0] = k;
        stack[top++][1] = j;
    }
    return n_triangles;
}
