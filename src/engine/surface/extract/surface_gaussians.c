/* The Gaussians of a splat that can be surface, in a copy. The splat itself still gives the colours. */
#include "surface/extract/surface_gaussians.h"

#include "math/density.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 65536u /* Gaussians at a time */
enum { MEAN = 0, SCALE = 3, ROTATION = 6, OPACITY = 10, FILTER = 11, ROW = 12 }; /* where a piece holds them */

void splat_surface_gaussians_free(splat_backend *backend, splat_surface_gaussians *s)
{
    splat_block_free(backend, &s->means);
    splat_block_free(backend, &s->scales);
    splat_block_free(backend, &s->rotations);
    splat_block_free(backend, &s->opacities);
    free(s->index);
    memset(s, 0, sizeof *s);
}

/* Room for n; the first rows stay. */
static splat_status resize(splat_backend *b, splat_surface_gaussians *s, uint32_t n, splat_error *error)
{
    size_t row = n * sizeof(float);
    const splat_owner owner = SPLAT_OWNER_OTHER;
    SPLAT_TRY(splat_block_resize(b, &s->means, "surface means", owner, 3 * row, error));
    SPLAT_TRY(splat_block_resize(b, &s->scales, "surface scales", owner, 3 * row, error));
    SPLAT_TRY(splat_block_resize(b, &s->rotations, "surface rotations", owner, 4 * row, error));
    SPLAT_TRY(splat_block_resize(b, &s->opacities, "surface opacities", owner, row, error));
    s->g.n = n;
    s->g.p = (splat_tensors){.means = s->means.data, .scales = s->scales.data, .rotations = s->rotations.data,
                             .opacities = s->opacities.data};
    return SPLAT_OK;
}

/* Rows first .. first + n of the model: column c of them at piece + c * n. */
static splat_status download(const splat_model *model, uint32_t first, uint32_t n, float *piece, splat_error *error)
{
    const splat_gaussians *g = &model->gaussians;
    const struct {
        size_t column, channels;
        const float *data;
    } arrays[] = {{MEAN, 3, g->p.means}, {SCALE, 3, g->p.scales}, {ROTATION, 4, g->p.rotations},
                  {OPACITY, 1, g->p.opacities}, {FILTER, 1, g->filter_3d}};
    for (size_t a = 0; a < sizeof arrays / sizeof arrays[0]; a++)
        SPLAT_TRY(splat_backend_download(model->backend, piece + arrays[a].column * n,
                                         arrays[a].data + arrays[a].channels * first,
                                         arrays[a].channels * n * sizeof *piece, error));
    return SPLAT_OK;
}

static bool is_finite(const float *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

/* Moves the opaque ones to the front, fused. The opacity is tested first: fusing takes some of it from the flat
 * ones, of which surfaces are made. Returns how many they are. */
static uint32_t choose(splat_surface_gaussians *s, uint32_t first, uint32_t n, uint32_t n_before, float *piece)
{
    uint32_t kept = 0;
    float *mean = piece + (size_t)MEAN * n, *scale = piece + (size_t)SCALE * n;
    float *rotation = piece + (size_t)ROTATION * n;
    float *opacity = piece + (size_t)OPACITY * n, *filter = piece + (size_t)FILTER * n;
    for (size_t i = 0; i < n; i++) {
        if (!(opacity[i] >= 0) || !is_finite(opacity + i, 1) || !is_finite(filter + i, 1) ||
            !is_finite(mean + 3 * i, 3) || !is_finite(scale + 3 * i, 3) || !is_finite(rotation + 4 * i, 4))
            continue;
        memmove(mean + 3 * (size_t)kept, mean + 3 * i, 3 * sizeof *mean);
        memmove(scale + 3 * (size_t)kept, scale + 3 * i, 3 * sizeof *scale);
        memmove(rotation + 4 * (size_t)kept, rotation + 4 * i, 4 * sizeof *rotation);
        opacity[kept] = opacity[i];
        splat_gaussian_bake_filter(scale + 3 * (size_t)kept, opacity + kept, (double)filter[i]);
        s->index[n_before + kept++] = first + (uint32_t)i;
    }
    return kept;
}

/* Rows first .. first + n of them from a piece of `stride` rows. */
static splat_status upload(splat_backend *b, const splat_surface_gaussians *s, uint32_t first, uint32_t n,
                           size_t stride, const float *piece, splat_error *error)
{
    const splat_tensors *p = &s->g.p;
    size_t row = n * sizeof *piece;
    SPLAT_TRY(splat_backend_upload(b, p->means + 3 * (size_t)first, piece + MEAN * stride, 3 * row, error));
    SPLAT_TRY(splat_backend_upload(b, p->scales + 3 * (size_t)first, piece + SCALE * stride, 3 * row, error));
    SPLAT_TRY(splat_backend_upload(b, p->rotations + 4 * (size_t)first, piece + ROTATION * stride, 4 * row, error));
    SPLAT_TRY(splat_backend_upload(b, p->opacities + first, piece + OPACITY * stride, row, error));
    return splat_backend_synchronize(b, error); /* the piece is written again */
}

static splat_status fill(const splat_model *model, splat_surface_gaussians *s, float *piece, splat_error *error)
{
    uint32_t n = model->gaussians.n, n_kept = 0;
    SPLAT_TRY(resize(model->backend, s, n, error));
    for (uint32_t first = 0; first < n; first += PIECE) {
        uint32_t count = n - first < PIECE ? n - first : PIECE;
        SPLAT_TRY(download(model, first, count, piece, error));
        uint32_t kept = choose(s, first, count, n_kept, piece);
        if (kept) SPLAT_TRY(upload(model->backend, s, n_kept, kept, count, piece, error));
        n_kept += kept;
    }
    if (n_kept > SPLAT_NEIGHBORS) return resize(model->backend, s, n_kept, error);
    return splat_fail(error, SPLAT_ERROR_FORMAT,
                      "%u of the splat's %u Gaussians have an opacity of 1/2 or more, and a surface needs at least %d; "
                      "train longer, or take points with `points depth`", n_kept, n, SPLAT_NEIGHBORS + 1);
}

splat_status splat_surface_gaussians_make(const splat_model *model, splat_surface_gaussians *s, splat_error *error)
{
    memset(s, 0, sizeof *s);
    s->index = malloc(((size_t)model->gaussians.n + 1) * sizeof *s->index);
    float *piece = malloc((size_t)ROW * PIECE * sizeof *piece);
    splat_status status = SPLAT_OK;
    if (s->index && piece)
        status = fill(model, s, piece, error);
    else
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to choose from %u Gaussians", model->gaussians.n);
    free(piece);
    if (status != SPLAT_OK) splat_surface_gaussians_free(model->backend, s);
    return status;
}
