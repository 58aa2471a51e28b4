/* The parameters that refinement begins with: round Gaussians that touch, faint, of the mesh's colours. */
#include "surface/bound/bound.h"

#include "base/checked.h"
#include "math/sh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define START_OPACITY 0.1
#define LEAST_DEVIATION 1e-7f

static float shortest_edge(const splat_mesh *mesh, const uint32_t *corners)
{
    double least = INFINITY;
    for (size_t k = 0; k < 3; k++) {
        const float *a = mesh->vertices + 3 * (size_t)corners[k];
        const float *b = mesh->vertices + 3 * (size_t)corners[(k + 1) % 3];
        double square = 0;
        for (size_t i = 0; i < 3; i++) square += ((double)b[i] - (double)a[i]) * ((double)b[i] - (double)a[i]);
        least = fmin(least, square);
    }
    return (float)sqrt(least);
}

/* (c - 1/2) / C0 of the colour at Gaussian j. */
static void color_of(const splat_mesh *mesh, const uint32_t *corners, int per_face, int j, float dc[3])
{
    for (size_t channel = 0; channel < 3; channel++) {
        float color = mesh->colors ? 0.0f : 0.5f;
        for (int k = 0; mesh->colors && k < 3; k++)
            color += splat_bound_barycentric(per_face, j, k) / 255.0f *
                     (float)mesh->colors[4 * (size_t)corners[k] + channel];
        dc[channel] = (color - 0.5f) / SPLAT_SH_C0;
    }
}

static splat_status allocate(splat_bound_start *start, size_t n, splat_error *error)
{
    size_t bytes;
    if (splat_size_mul(n, 3 * sizeof(float), &bytes)) {
        start->plane_scales = malloc(bytes);
        start->plane_rotations = malloc(bytes);
        start->opacities = malloc(bytes);
        start->sh_dc = malloc(bytes);
    }
    if (!start->plane_scales || !start->plane_rotations || !start->opacities || !start->sh_dc) {
        splat_bound_start_free(start);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu Gaussians on the mesh", n);
    }
    start->n = n;
    return SPLAT_OK;
}

splat_status splat_bound_initialize(const splat_mesh *mesh, int per_face, splat_bound_start *start, splat_error *error)
{
    splat_bound_mesh bound;
    memset(start, 0, sizeof *start);
    SPLAT_TRY(splat_bound_mesh_describe(mesh, per_face, 1, &bound, error));
    SPLAT_TRY(allocate(start, splat_bound_count(&bound), error));
    const float opacity = (float)log(START_OPACITY / (1 - START_OPACITY)), radius = splat_bound_radius(per_face);
    for (size_t f = 0; f < mesh->n_faces; f++) {
        const uint32_t *corners = mesh->faces + 3 * f;
        const float scale = logf(fmaxf(radius * shortest_edge(mesh, corners), LEAST_DEVIATION));
        for (int j = 0; j < per_face; j++) {
            const size_t i = f * (size_t)per_face + (size_t)j;
            start->plane_scales[2 * i] = start->plane_scales[2 * i + 1] = scale;
            start->plane_rotations[2 * i] = 1;
            start->plane_rotations[2 * i + 1] = 0;
            start->opacities[i] = opacity;
            color_of(mesh, corners, per_face, j, start->sh_dc + 3 * i);
        }
    }
    return SPLAT_OK;
}

void splat_bound_start_free(splat_bound_start *start)
{
    free(start->plane_scales);
    free(start->plane_rotations);
    free(start->opacities);
    free(start->sh_dc);
    memset(start, 0, sizeof *start);
}
