/* The mesh, a view and a band of texels in the memory of the device. */
#include "texture/bake_device.h"

#include "math/camera.h"

#include <math.h>
#include <stdlib.h>

enum { VERTICES, NORMALS, FACES, SIZES, LISTS, LABELS, TEXEL_FACES, TEXEL_WEIGHTS, SAMPLES, COLORS, PYRAMID, TABLE, LOW,
       DEPTH, FEATHER };
_Static_assert(FEATHER + 1 == SPLAT_BAKE_BLOCKS, "as many blocks as names");

static const char *const names[SPLAT_BAKE_BLOCKS] = {
    "texture vertices", "texture normals", "texture faces", "texture texel sizes", "texture candidates",
    "texture labels", "texel faces", "texel weights", "texel samples", "texel colors", "texture photo",
    "texture levels", "texture low band", "texture depth", "texture feather"};

static splat_status room(splat_bake_device *d, int block, size_t bytes, splat_error *error)
{
    return splat_block_ensure(d->backend, &d->blocks[block], names[block], SPLAT_OWNER_OTHER, bytes ? bytes : 1, error);
}

static splat_status put(splat_bake_device *d, int block, const void *host, size_t bytes, splat_error *error)
{
    SPLAT_TRY(room(d, block, bytes, error));
    return bytes ? splat_backend_upload(d->backend, d->blocks[block].data, host, bytes, error) : SPLAT_OK;
}

/* Width of a texel of each face on the surface: the root of area by texels. */
static splat_status put_sizes(splat_bake_device *d, const splat_bake *bake, const splat_atlas *atlas,
                              splat_error *error)
{
    const splat_mesh *mesh = bake->mesh;
    float *sizes = malloc(mesh->n_faces * sizeof *sizes);
    if (!sizes) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a mesh of %zu faces", mesh->n_faces);
#pragma omp parallel for schedule(static) num_threads(bake->context->threads)
    for (size_t f = 0; f < mesh->n_faces; f++) {
        const float *uv = mesh->uvs + 6 * f;
        size_t page = mesh->face_pages ? mesh->face_pages[f] : 0;
        double texels = 0.5 * fabs(((double)uv[2] - (double)uv[0]) * ((double)uv[5] - (double)uv[1]) -
                                   ((double)uv[4] - (double)uv[0]) * ((double)uv[3] - (double)uv[1])) *
                        atlas->pages[page].width * atlas->pages[page].height;
        sizes[f] = texels > 0 ? (float)sqrt(splat_mesh_face_area(mesh, f) / texels) : 0;
    }
    splat_status status = put(d, SIZES, sizes, mesh->n_faces * sizeof *sizes, error);
    free(sizes);
    return status;
}

splat_status splat_bake_device_open(splat_bake_device *d, const splat_bake *bake, const splat_atlas *atlas,
                                    splat_error *error)
{
    const splat_mesh *mesh = bake->mesh;
    size_t n = mesh->n_faces;
    bool photos = bake->options->bake == SPLAT_BAKE_PHOTOS;
    d->backend = bake->backend;
    SPLAT_TRY(put(d, VERTICES, mesh->vertices, 12 * mesh->n_vertices, error));
    SPLAT_TRY(put(d, NORMALS, mesh->normals, 12 * mesh->n_vertices, error));
    SPLAT_TRY(put(d, FACES, mesh->faces, 12 * n, error));
    SPLAT_TRY(put_sizes(d, bake, atlas, error));
    if (photos)
        SPLAT_TRY(put(d, LISTS, bake->lists, n * SPLAT_TEXTURE_CANDIDATES * sizeof *bake->lists, error));
    if (bake->vertex_labels)
        SPLAT_TRY(put(d, LABELS, bake->vertex_labels, mesh->n_vertices * sizeof *bake->vertex_labels, error));
    d->points = (splat_texture_points){.vertices = d->blocks[VERTICES].data,
                                       .normals = d->blocks[NORMALS].data,
                                       .faces = d->blocks[FACES].data,
                                       .size = d->blocks[SIZES].data,
                                       .candidates = photos ? d->blocks[LISTS].data : NULL};
    d->labels = bake->vertex_labels ? d->blocks[LABELS].data : NULL;
    return SPLAT_OK;
}

void splat_bake_device_close(splat_bake_device *d)
{
    for (int i = 0; i < SPLAT_BAKE_BLOCKS && d->backend; i++) splat_block_free(d->backend, &d->blocks[i]);
}

splat_status splat_bake_device_band(splat_bake_device *d, size_t n, const uint32_t *faces, const float (*weights)[2],
                                    splat_error *error)
{
    size_t samples = d->points.candidates ? n * SPLAT_TEXTURE_SAMPLES * sizeof(splat_texture_sample) : 0;
    SPLAT_TRY(put(d, TEXEL_FACES, faces, n * sizeof *faces, error));
    SPLAT_TRY(put(d, TEXEL_WEIGHTS, weights, n * sizeof *weights, error));
    SPLAT_TRY(room(d, SAMPLES, samples, error));
    SPLAT_TRY(room(d, COLORS, n * 4 * sizeof(float), error));
    SPLAT_TRY(splat_backend_zero(d->backend, d->blocks[SAMPLES].data, samples, error));
    SPLAT_TRY(splat_backend_zero(d->backend, d->blocks[COLORS].data, n * 4 * sizeof(float), error));
    d->points.n = n;
    d->points.face = d->blocks[TEXEL_FACES].data;
    d->points.weights = d->blocks[TEXEL_WEIGHTS].data;
    return SPLAT_OK;
}

splat_status splat_bake_device_view(splat_bake_device *d, const splat_texture_view *view, splat_error *error)
{
    const splat_camera *c = &view->camera;
    size_t n = splat_camera_pixels(c);
    struct splat_texture_gather_args args = {.points = d->points, .view = *view};
    SPLAT_TRY(put(d, PYRAMID, view->pyramid, 3 * splat_texture_pyramid_pixels(c->width, c->height, view->n_levels),
                  error));
    SPLAT_TRY(put(d, TABLE, view->table, 3 * 256 * sizeof *view->table, error));
    SPLAT_TRY(put(d, DEPTH, view->depth, n * sizeof *view->depth, error));
    SPLAT_TRY(put(d, FEATHER, view->feather, n, error));
    if (view->low) {
        size_t low = splat_texture_pyramid_pixels(c->width, c->height, SPLAT_TEXTURE_LOW_LEVEL + 1) -
                     splat_texture_pyramid_pixels(c->width, c->height, SPLAT_TEXTURE_LOW_LEVEL);
        SPLAT_TRY(put(d, LOW, view->low, 3 * low * sizeof *view->low, error));
        args.view.low = d->blocks[LOW].data;
    }
    args.view.pyramid = d->blocks[PYRAMID].data;
    args.view.table = d->blocks[TABLE].data;
    args.view.depth = d->blocks[DEPTH].data;
    args.view.feather = d->blocks[FEATHER].data;
    if (d->points.candidates)
        args.samples = d->blocks[SAMPLES].data;
    else
        args.sums = d->blocks[COLORS].data;
    return splat_op_texture_gather(d->backend, &args, error);
}

splat_status splat_bake_device_colors(splat_bake_device *d, float (*rgb)[4], splat_error *error)
{
    size_t n = d->points.n;
    struct splat_texture_blend_args args = {.points = d->points,
                                            .samples = d->blocks[SAMPLES].data,
                                            .labels = d->labels,
                                            .rgb = d->blocks[COLORS].data};
    if (d->points.candidates) SPLAT_TRY(splat_op_texture_blend(d->backend, &args, error));
    SPLAT_TRY(splat_backend_download(d->backend, rgb, d->blocks[COLORS].data, n * sizeof *rgb, error));
    for (size_t i = 0; i < n && !d->points.candidates; i++)
        for (int c = 0; c < 3 && rgb[i][3] > 0; c++) rgb[i][c] /= rgb[i][3];
    return SPLAT_OK;
}
