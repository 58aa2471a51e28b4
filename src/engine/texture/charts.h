/* Charts: connected pieces of a mesh that are flat enough to be projected on a plane. */
#ifndef SPLAT_TEXTURE_CHARTS_H
#define SPLAT_TEXTURE_CHARTS_H

#include "mesh/mesh.h"

/* Faces of a chart lie within 60 degrees of its mean normal: the projection shrinks no face to less than half. */
#define SPLAT_CHART_MIN_COSINE 0.5

/* faces[first .. first + n). */
typedef struct splat_chart {
    uint32_t first, n;
} splat_chart;

typedef struct splat_charts {
    uint32_t *opposite; /* [n_faces][3]: the half-edge on the other side of an edge that two faces share, one in each
                         * direction; UINT32_MAX: none */
    float *crosses;     /* [n_faces][3]: (b - a) x (c - a), twice the area long */
    uint32_t *of_face;  /* [n_faces]: number of the chart */
    uint32_t *faces;    /* [n_faces], chart after chart */
    splat_chart *charts;
    size_t n, capacity;
    uint8_t *cut;       /* [n_faces]: 0, but for faces that were cut off a chart and still bear its number */
    int threads;        /* for all of the work; the result is the same for any number */
} splat_charts;

/* Cuts of one thread: each new chart with the number of the old one. */
typedef struct splat_chart_cut {
    uint32_t parent;
    splat_chart chart;
} splat_chart_cut;

typedef struct splat_chart_cuts {
    splat_chart_cut *items;
    size_t n, capacity;
} splat_chart_cuts;

/* Grows charts over the mesh, from the first face that has none, breadth first over faces within 45 degrees of the mean
 * normal so far; charts of fewer than 20 faces join the neighbour whose normal is nearest, where that keeps all of
 * their faces within the limit. Charts grow on one thread. Errors: MEMORY; then there is nothing to free. */
splat_status splat_charts_grow(const splat_mesh *mesh, int threads, splat_charts *charts, splat_error *error);
/* Lets charts of less than `least` texels join the neighbour with the nearest normal, at any angle; the layout unfolds
 * their faces. densities: texels a unit of each face. Errors: MEMORY. */
splat_status splat_charts_absorb(const splat_mesh *mesh, splat_charts *charts, const float *densities, double least,
                                 splat_error *error);
/* Cuts faces [keep, n) of a chart's list off, and adds their connected pieces to *cuts. Threads may do so with several
 * charts at a time. `queue` has room for the faces of the chart. Errors: MEMORY. */
splat_status splat_charts_cut(splat_charts *charts, size_t chart, uint32_t keep, uint32_t *queue,
                              splat_chart_cuts *cuts, splat_error *error);
/* Numbers what was cut off charts from number `first` on: new charts at the end, in the order of their parents. Empties
 * cuts[n]. Errors: MEMORY. */
splat_status splat_charts_add_cuts(splat_charts *charts, size_t first, splat_chart_cuts *cuts, int n,
                                   splat_error *error);
/* True if a face is in a chart and was not cut off. */
static inline bool splat_chart_has(const splat_charts *charts, size_t chart, uint32_t face)
{
    return charts->of_face[face] == chart && !charts->cut[face];
}
/* The unit mean normal of a chart; z where it has none. */
void splat_chart_normal(const splat_charts *charts, size_t chart, double normal[3]);
/* Cosine of the angle between a face and a unit vector; 1 for faces without area. */
double splat_chart_cosine(const splat_charts *charts, uint32_t face, const double normal[3]);
/* Texels of a face at a density in texels a unit. */
double splat_chart_face_texels(const splat_charts *charts, uint32_t face, double density);
void splat_charts_free(splat_charts *charts);

#endif
