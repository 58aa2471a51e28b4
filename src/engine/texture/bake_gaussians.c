/* The Gaussians bound to a mesh, as colours and densities on its faces. */
#include "texture/bake_gaussians.h"
#include "texture/bake_parts.h"

#include "math/bound.h"
#include "math/density.h"
#include "math/sh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHECKED 4096        /* faces, spread over the mesh, whose Gaussians are looked at */
#define MAX_OUTSIDE 0.01f   /* of the longest edge: centres lie in their triangles */

void splat_bake_gaussians_free(splat_bake_gaussians *g)
{
    free(g->source);
    free(g->means);
    free(g->axes);
    free(g->opacities);
    free(g->colors);
    memset(g, 0, sizeof *g);
}

static splat_status fetch(const splat_model *model, const float *device, size_t channels, float **host,
                          splat_error *error)
{
    size_t n = model->gaussians.n * channels;
    if (!(*host = malloc((n ? n : 1) * sizeof **host)))
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %u Gaussians", model->gaussians.n);
    return splat_backend_download(model->backend, *host, device, n * sizeof **host, error);
}

/* The two axes of each Gaussian that are not its thinnest, divided by their deviations. */
static splat_status make_axes(const splat_model *model, splat_bake_gaussians *g, float *scales, float *rotations,
                              splat_error *error)
{
    size_t n = model->gaussians.n;
    if (!(g->axes = malloc((n ? n : 1) * 6 * sizeof *g->axes)))
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu Gaussians", n);
    for (size_t i = 0; i < n; i++) {
        splat_density_kernel k = splat_density_kernel_make(g->means + 3 * i, scales + 3 * i, rotations + 4 * i, 0);
        int thin = 0;
        for (int a = 1; a < 3; a++)
            if (k.scale[a] < k.scale[thin]) thin = a;
        for (int a = 0; a < 2; a++) {
            int axis = (thin + 1 + a) % 3;
            float *out = g->axes + 6 * i + 3 * (size_t)a;
            for (int c = 0; c < 3; c++) out[c] = k.axes[3 * axis + c] * k.inverse[axis];
        }
        g->opacities[i] = splat_sigmoid(g->opacities[i]);
        for (size_t c = 0; c < 3; c++)
            g->colors[3 * i + c] = splat_clamp(0.5f + SPLAT_SH_C0 * g->colors[3 * i + c], 0, 1);
    }
    return SPLAT_OK;
}

static splat_status not_bound(splat_error *error, size_t n, const splat_mesh *mesh)
{
    return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                      "the splat of %zu Gaussians is not bound to this mesh of %zu faces: name the one that refine "
                      "wrote next to the mesh",
                      n, mesh->n_faces);
}

/* How far a point is from a triangle's plane and sides, over the longest edge. */
static float outside(const splat_mesh *mesh, size_t face, const float p[3])
{
    const float *v[3];
    double n[3], longest = 0, worst = 0;
    for (size_t k = 0; k < 3; k++) v[k] = mesh->vertices + 3 * (size_t)mesh->faces[3 * face + k];
    splat_mesh_face_cross(mesh, face, n);
    double area = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int k = 0; k < 3; k++) {
        double e[3], d[3], length = 0, height = 0, inward = 0;
        for (int c = 0; c < 3; c++) {
            e[c] = (double)v[(k + 1) % 3][c] - (double)v[k][c];
            d[c] = (double)p[c] - (double)v[k][c];
            length += e[c] * e[c];
            height += d[c] * n[c];
        }
        longest = fmax(longest, sqrt(length));
        for (int c = 0; c < 3; c++)
            inward += (n[(c + 1) % 3] * e[(c + 2) % 3] - n[(c + 2) % 3] * e[(c + 1) % 3]) * d[c];
        if (!(area > 0) || !(length > 0)) return 0; /* a degenerate face hides its Gaussians */
        worst = fmax(worst, fmax(fabs(height) / area, -inward / (area * sqrt(length))));
    }
    return (float)(worst / longest);
}

static splat_status check_places(const splat_bake_gaussians *g, const splat_mesh *mesh, size_t n, splat_error *error)
{
    size_t stride = mesh->n_faces / CHECKED + 1;
    for (size_t f = 0; f < mesh->n_faces; f += stride)
        for (size_t j = 0; j < (size_t)g->per_face; j++) {
            float far = outside(mesh, f, g->means + 3 * (f * (size_t)g->per_face + j));
            if (!(far <= MAX_OUTSIDE)) return not_bound(error, n, mesh);
        }
    return SPLAT_OK;
}

splat_status splat_bake_gaussians_open(const splat_model *model, const splat_mesh *mesh, int requested,
                                       splat_bake_gaussians *g, splat_error *error)
{
    const splat_tensors *p = &model->gaussians.p;
    const size_t n = model->gaussians.n;
    const int per_face = splat_bound_per_face_of(n, mesh->n_faces); /* free ones behind give no colour */
    float *scales = NULL, *rotations = NULL;
    memset(g, 0, sizeof *g);
    if (!per_face) return not_bound(error, n, mesh);
    if (requested && requested != per_face)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "the splat has %d Gaussians a triangle, not %d; leave `gaussians_per_triangle` out",
                          per_face, requested);
    g->per_face = per_face;
    splat_status status = fetch(model, p->means, 3, &g->means, error);
    if (status == SPLAT_OK) status = check_places(g, mesh, n, error);
    if (status == SPLAT_OK) status = fetch(model, p->opacities, 1, &g->opacities, error);
    if (status == SPLAT_OK) status = fetch(model, p->sh_dc, 3, &g->colors, error);
    if (status == SPLAT_OK) status = fetch(model, p->scales, 3, &scales, error);
    if (status == SPLAT_OK) status = fetch(model, p->rotations, 4, &rotations, error);
    if (status == SPLAT_OK) status = make_axes(model, g, scales, rotations, error);
    free(scales);
    free(rotations);
    return status;
}

double splat_bake_gaussians_at(const splat_bake_gaussians *g, size_t face, const float point[3], float rgb[3])
{
    size_t n = (size_t)g->per_face, first = (g->source ? g->source[face] : face) * n;
    double sum = 0, colors[3] = {0, 0, 0}, plain[3] = {0, 0, 0};
    for (size_t i = first; i < first + n; i++) {
        double square = 0;
        for (size_t a = 0; a < 2; a++) {
            const float *axis = g->axes + 6 * i + 3 * a;
            double along = 0;
            for (size_t k = 0; k < 3; k++)
                along += (double)axis[k] * ((double)point[k] - (double)g->means[3 * i + k]);
            square += along * along;
        }
        double weight = (double)g->opacities[i] * exp(-0.5 * square);
        if (!(weight >= 0)) weight = 0;
        sum += weight;
        for (size_t c = 0; c < 3; c++) {
            colors[c] += weight * (double)g->colors[3 * i + c];
            plain[c] += (double)g->colors[3 * i + c] / (double)n;
        }
    }
    for (int c = 0; c < 3 && rgb; c++) rgb[c] = (float)(sum > 1e-12 ? colors[c] / sum : plain[c]);
    return sum;
}
