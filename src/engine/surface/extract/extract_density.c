/* Marching cubes of the density of a splat. */
#include "surface/extract/extract_density.h"

#include "base/context.h"
#include "io/picture/image_write.h"
#include "mesh/density_mesh.h"
#include "mesh/mesh_clean_vertices.h"
#include "model/model.h"
#include "surface/extract/extraction.h"
#include "surface/extract/surface_gaussians.h"

#include "math/sh.h"
#include "mesh/nested_boxes.h"

#include <math.h>
#include <stdlib.h>

#define HELD 0.99 /* of the Gaussians: the outermost level holds so many */
enum { MOST_LEVELS = 8 };

/* The opaque Gaussians in host memory. */
typedef struct host_gaussians {
    float *means, *scales, *rotations, *opacities;
    uint8_t *colors;
} host_gaussians;

static void free_host(host_gaussians *h)
{
    free(h->means);
    free(h->scales);
    free(h->rotations);
    free(h->opacities);
    free(h->colors);
}

/* Their colours are those of SH degree 0. */
static splat_status fill_colors(const splat_model *model, const splat_surface_gaussians *opaque, uint8_t *colors,
                                splat_error *error)
{
    size_t n = model->gaussians.n;
    float *dc = malloc((3 * n + 1) * sizeof *dc);
    if (!dc) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the colours of %zu Gaussians", n);
    splat_status status = splat_backend_download(model->backend, dc, model->gaussians.p.sh_dc,
                                                 3 * n * sizeof *dc, error);
    for (size_t i = 0; i < opaque->g.n && status == SPLAT_OK; i++)
        for (size_t c = 0; c < 3; c++)
            colors[3 * i + c] = splat_image_byte(0.5f + SPLAT_SH_C0 * dc[3 * (size_t)opaque->index[i] + c]);
    free(dc);
    return status;
}

static splat_status fill_host(const splat_model *model, const splat_surface_gaussians *opaque, host_gaussians *h,
                              splat_error *error)
{
    size_t n = opaque->g.n, row = n * sizeof(float);
    h->means = malloc(3 * row);
    h->scales = malloc(3 * row);
    h->rotations = malloc(4 * row);
    h->opacities = malloc(row);
    h->colors = malloc(3 * n);
    if (!h->means || !h->scales || !h->rotations || !h->opacities || !h->colors)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu Gaussians", n);
    SPLAT_TRY(splat_backend_download(model->backend, h->means, opaque->g.p.means, 3 * row, error));
    SPLAT_TRY(splat_backend_download(model->backend, h->scales, opaque->g.p.scales, 3 * row, error));
    SPLAT_TRY(splat_backend_download(model->backend, h->rotations, opaque->g.p.rotations, 4 * row, error));
    SPLAT_TRY(splat_backend_download(model->backend, h->opacities, opaque->g.p.opacities, row, error));
    return fill_colors(model, opaque, h->colors, error);
}

/* The levels that hold their share of the Gaussians. */
static size_t count_levels(const splat_nested_boxes *boxes, const host_gaussians *h, size_t n)
{
    size_t counts[MOST_LEVELS] = {0}, held = 0, level = 0;
    for (size_t i = 0; i < n; i++) {
        const double mean[3] = {(double)h->means[3 * i], (double)h->means[3 * i + 1], (double)h->means[3 * i + 2]};
        counts[splat_nested_level(boxes, mean, MOST_LEVELS - 1)]++;
    }
    for (held = counts[0]; level + 1 < MOST_LEVELS && (double)held < HELD * (double)n;) held += counts[++level];
    return level + 1;
}

/* The surface of one level, in its whole box. */
static splat_status march(const splat_extraction *e, const splat_nested_boxes *boxes, size_t at,
                          const splat_density_mesh_input *input, float level, splat_mesh *mesh, splat_error *error)
{
    splat_density_mesh_options options;
    uint64_t bytes;
    splat_density_mesh_options_init(&options);
    splat_nested_box(boxes, at, 0, options.low, options.high);
    options.voxel_size = ldexp(splat_extract_voxel(e), (int)at);
    options.level = (double)level;
    options.least_scale = e->options->least_scale;
    options.threads = e->threads;
    options.memory_limit_bytes = e->octree_bytes;
    options.progress = e->options->progress;
    options.progress_user = e->options->progress_user;
    SPLAT_TRY(splat_density_mesh_estimate(input, &options, &bytes, error));
    char size[32];
    splat_log(e->model->context, SPLAT_LOG_NOTICE, "host memory: about %s of density, voxels of %.4g",
              splat_bytes_format(bytes, size, sizeof size), options.voxel_size);
    return splat_density_mesh(input, &options, mesh, NULL, error);
}

/* The box, and shells around it with larger voxels; of these some may have no surface. */
static splat_status march_levels(const splat_extraction *e, const host_gaussians *h, size_t n, float level,
                                 splat_mesh *mesh, splat_error *error)
{
    const splat_density_mesh_input input = {n, h->means, h->scales, h->rotations, h->opacities, h->colors};
    splat_nested_boxes boxes = splat_nested_boxes_make(e->box.low, e->box.high);
    size_t n_levels = e->options->has_bbox ? 1 : count_levels(&boxes, h, n), unused = 0;
    SPLAT_TRY(march(e, &boxes, 0, &input, level, mesh, error));
    splat_status status = SPLAT_OK;
    for (size_t at = 1; at < n_levels && status == SPLAT_OK; at++) {
        splat_mesh shell = {0};
        status = march(e, &boxes, at, &input, level, &shell, error);
        if (status == SPLAT_OK) {
            splat_nested_crop(&boxes, at, &shell);
            status = splat_mesh_remove_unreferenced(&shell, 1, &unused, error);
            if (status == SPLAT_OK) status = splat_mesh_append(mesh, &shell, error);
        } else if (status == SPLAT_ERROR_NUMERIC) {
            status = SPLAT_OK;
        }
        splat_mesh_free(&shell);
    }
    if (status != SPLAT_OK) splat_mesh_free(mesh);
    return status;
}

splat_status splat_extract_density(const splat_extraction *e, float level, splat_mesh *mesh, size_t *n_gaussians,
                                   splat_error *error)
{
    splat_surface_gaussians opaque;
    host_gaussians host = {0};
    SPLAT_TRY(splat_surface_gaussians_make(e->model, &opaque, error));
    *n_gaussians = opaque.g.n;
    splat_status status = fill_host(e->model, &opaque, &host, error);
    splat_surface_gaussians_free(e->model->backend, &opaque);
    if (status == SPLAT_OK) status = march_levels(e, &host, *n_gaussians, level, mesh, error);
    free_host(&host);
    return status;
}
