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
} splat_charts;

/* Grows charts over the mesh, from the first face that has none, breadth first over faces within 45 degrees of the mean
 * normal so far; charts of fewer than 20 faces join the neighbour whose normal is nearest, where that keeps all of
 * their faces within the limit. One thread: about half a second for a million faces. Errors: MEMORY; then there is
 * nothing to free. */
splat_status splat_charts_grow(const splat_mesh *mesh, splat_charts *charts, splat_error *error);
/* Lets charts of less than `least` texels join the neighbour with the nearest normal, at any angle; the layout unfolds
 * their faces. densities: texels a unit of each face. Errors: MEMORY. */
splat_status splat_charts_absorb(const splat_mesh *mesh, splat_charts *charts, const float *densities, double least,
                                 splat_error *error);
/* Cuts faces [keep, n) of a chart's list off; the connected pieces of them become charts at the end. `queue` has room
 * for n_faces. Errors: MEMORY. */
splat_status splat_charts_cut(splat_charts *charts, size_t chart, uint32_t keep, uint32_t *queue, splat_error *error);
/* The unit mean normal of a chart; z where it has none. */
void splat_chart_normal(const splat_charts *charts, size_t chart, double normal[3]);
/* Cosine of the angle between a face and a unit vector; 1 for faces without area. */
double splat_chart_cosine(const splat_charts *charts, uint32_t face, const double normal[3]);
/* Texels of a face at a density in texels a unit. */
double splat_chart_face_texels(const splat_charts *charts, uint32_t face, double density);
void splat_charts_free(splat_charts *charts);

#endif
