/* raster, raster_backward on the CPU: tiles in parallel. A tile writes only its own pixels and its instances' slots,
 * and a Gaussian's slots are summed in their order, so the number of threads cannot change a bit. */
#include "backend/backend.h"
#include "ops/raster/reach.h"
#include "ops/raster/raster_kernel.h"

splat_raster_tile splat_raster_tile_of(const splat_frame *frame, uint32_t tile)
{
    int32_t x = (int32_t)(tile % frame->tiles_x) * SPLAT_TILE, y = (int32_t)(tile / frame->tiles_x) * SPLAT_TILE;
    int32_t columns = frame->camera.width - x, rows = frame->camera.height - y;
    return (splat_raster_tile){x, y, columns < SPLAT_TILE ? columns : SPLAT_TILE, rows < SPLAT_TILE ? rows : SPLAT_TILE,
                               frame->tile_begin[tile], frame->tile_begin[tile + 1]};
}

static int32_t row_clamp(float row, int32_t rows)
{
    float most = (float)rows;
    row = row < most ? row : most; /* in this order GCC makes no branches of it */
    row = row > 0 ? row : 0;
    return (int32_t)row;
}

/* Rows of the tile with |v - y| <= the ellipse's half height, half a pixel wider with jitter. The slack covers the
 * rounding here; a row too many costs one test. */
static void find_rows(const splat_raster_tile *tile, const splat_reach *reach, float slack,
                      splat_raster_entry *entry)
{
    float half = sqrtf((float)(reach->form * (double)entry->a * reach->inverse));
    half += slack + 1e-6f * fabsf(entry->v);
    float row = entry->v - (float)tile->y;
    entry->row_begin = row_clamp(row - half, tile->rows);
    entry->row_end = row_clamp(row + half + 1.0f, tile->rows);
    if (reach->form < 0) entry->row_end = 0;
    if (reach->form == INFINITY) {
        entry->row_begin = 0;
        entry->row_end = tile->rows;
    }
}

void splat_raster_load(const splat_frame *frame, const float *features, const splat_raster_tile *tile, uint32_t first,
                       uint32_t n, splat_raster_entry *entries)
{
    float slack = (frame->jitter ? 0.5f : 0.0f) + 1e-2f;
    for (uint32_t i = 0; i < n; i++) {
        size_t v = frame->instances[first + i];
        const float *mean = frame->mean2d + 2 * v, *conic = frame->conic + 4 * v;
        const float *rgb = features ? features + SPLAT_GEOMETRY_CHANNELS * v : frame->rgb + 3 * v;
        splat_reach reach = splat_reach_of(conic);
        entries[i] = (splat_raster_entry){.u = mean[0], .v = mean[1], .a = conic[0], .b = conic[1], .c = conic[2],
                                          .alpha0 = conic[3], .red = rgb[0], .green = rgb[1], .blue = rgb[2],
                                          .power_min = reach.power_min};
        if (features) entries[i].fourth = rgb[3];
        find_rows(tile, &reach, slack, &entries[i]);
    }
}

splat_status splat_raster_cpu(splat_backend *backend, const struct splat_raster_args *args, splat_error *error)
{
    (void)error;
    const splat_frame *frame = args->frame;
    SPLAT_RASTER_TILE((*kernel)) = SPLAT_OF_LEVEL(backend->simd, splat_raster_tile);
    uint32_t end = frame->tiles_x * frame->row_end;
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic, 1)
    for (uint32_t tile = frame->tiles_x * frame->row_begin; tile < end; tile++) kernel(frame, tile);
    return SPLAT_OK;
}

static void add_moments(splat_raster_moments *sum, const splat_raster_moments *m)
{
    sum->p += m->p;
    sum->px += m->px;
    sum->py += m->py;
    sum->pxx += m->pxx;
    sum->pxy += m->pxy;
    sum->pyy += m->pyy;
    sum->absolute += m->absolute;
    sum->r += m->r;
    sum->g += m->g;
    sum->b += m->b;
}

/* docs/method.md 7, the sums over pixels taken first: e G = alpha0 p, so dL/du = -alpha0 (A px + B py) and so on. */
bool splat_raster_gradient_of(const splat_frame *frame, const splat_raster_moments *slots, uint32_t v,
                              splat_grad2d *gradient)
{
    splat_raster_moments m = {0};
    if (frame->slot_begin[v] == frame->slot_begin[v + 1]) return false;
    for (uint32_t slot = frame->slot_begin[v]; slot < frame->slot_begin[v + 1]; slot++)
        add_moments(&m, &slots[slot]);
    const float *conic = frame->conic + 4 * (size_t)v;
    float a = conic[0], b = conic[1], c = conic[2], alpha0 = conic[3];
    *gradient = (splat_grad2d){.mean_x = -alpha0 * (a * m.px + b * m.py),
                               .mean_y = -alpha0 * (c * m.py + b * m.px),
                               .mean_abs = m.absolute,
                               .conic_a = -0.5f * alpha0 * m.pxx,
                               .conic_b = -alpha0 * m.pxy,
                               .conic_c = -0.5f * alpha0 * m.pyy,
                               .opacity = m.p,
                               .r = m.r, .g = m.g, .b = m.b};
    return true;
}

static void add_gradient(splat_grad2d *sum, const splat_grad2d *g, float alpha0)
{
    sum->mean_x += g->mean_x;
    sum->mean_y += g->mean_y;
    sum->mean_abs += alpha0 * g->mean_abs;
    sum->conic_a += g->conic_a;
    sum->conic_b += g->conic_b;
    sum->conic_c += g->conic_c;
    sum->opacity += g->opacity;
    sum->r += g->r;
    sum->g += g->g;
    sum->b += g->b;
}

splat_status splat_raster_backward_cpu(splat_backend *backend, const struct splat_raster_backward_args *args,
                                       splat_error *error)
{
    splat_frame *frame = args->frame;
    SPLAT_RASTER_BACKWARD_TILE((*kernel)) = SPLAT_OF_LEVEL(backend->simd, splat_raster_backward_tile);
    uint32_t begin = frame->tiles_x * frame->row_begin, end = frame->tiles_x * frame->row_end;
    void *slots;
    SPLAT_TRY(splat_scratch_take(backend, (size_t)frame->n_instances * sizeof(splat_raster_moments), &slots, error));
#pragma omp parallel num_threads(backend->threads)
    {
#pragma omp for schedule(dynamic, 1)
        for (uint32_t tile = begin; tile < end; tile++) kernel(frame, args->grad_image, tile, slots);
#pragma omp for schedule(static)
        for (uint32_t v = 0; v < frame->n_visible; v++) {
            splat_grad2d gradient;
            if (splat_raster_gradient_of(frame, slots, v, &gradient))
                add_gradient(&frame->grad2d[v], &gradient, frame->conic[4 * (size_t)v + 3]);
        }
    }
    return SPLAT_OK;
}
