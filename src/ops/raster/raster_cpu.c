/* raster, raster_backward on the CPU: tiles in parallel. A tile writes only its own pixels and its instances' slots,
 * and a Gaussian's slots are summed in their order, so the number of threads cannot change a bit. */
#include "backend/backend.h"
#include "ops/raster/raster_kernel.h"

/* Of a tile with patches whose depth is asked for, else NULL. */
static const splat_raster_depth *depth_of_tile(const splat_raster_depth *depth, uint32_t tile)
{
    return depth && splat_patches_of(&depth->patches, tile) ? depth : NULL;
}

splat_status splat_raster_cpu(splat_backend *backend, const struct splat_raster_args *args, splat_error *error)
{
    (void)error;
    const splat_frame *frame = args->frame;
    SPLAT_RASTER_TILE((*kernel)) = SPLAT_OF_LEVEL(backend->simd, splat_raster_tile);
    uint32_t end = frame->tiles_x * frame->row_end;
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic, 1)
    for (uint32_t tile = frame->tiles_x * frame->row_begin; tile < end; tile++)
        kernel(frame, depth_of_tile(args->depth, tile), tile);
    return SPLAT_OK;
}

void splat_raster_moments_add(splat_raster_moments *sum, const splat_raster_moments *m)
{
    sum->p += m->p;
    sum->px += m->px;
    sum->py += m->py;
    sum->pxx += m->pxx;
    sum->pxy += m->pxy;
    sum->pyy += m->pyy;
    sum->fourth += m->fourth;
    sum->r += m->r;
    sum->g += m->g;
    sum->b += m->b;
}

/* docs/method.md 7, the sums over pixels taken first: e G = p, so dL/du = -(A px + B py) and so on. */
splat_grad2d splat_raster_gradient_of_moments(const float conic[4], const splat_raster_moments *m)
{
    float a = conic[0], b = conic[1], c = conic[2], alpha0 = conic[3];
    return (splat_grad2d){.mean_x = -(a * m->px + b * m->py),
                          .mean_y = -(c * m->py + b * m->px),
                          .conic_a = -0.5f * m->pxx,
                          .conic_b = -m->pxy,
                          .conic_c = -0.5f * m->pyy,
                          .opacity = alpha0 > 0 ? m->p / alpha0 : 0,
                          .channel = {m->r, m->g, m->b, m->fourth}};
}

bool splat_raster_gradient_of(const splat_frame *frame, const splat_raster_moments *slots, uint32_t v,
                              splat_grad2d *gradient)
{
    splat_raster_moments m = {0};
    if (frame->slot_begin[v] == frame->slot_begin[v + 1]) return false;
    for (uint32_t slot = frame->slot_begin[v]; slot < frame->slot_begin[v + 1]; slot++)
        splat_raster_moments_add(&m, &slots[slot]);
    *gradient = splat_raster_gradient_of_moments(frame->conic + 4 * (size_t)v, &m);
    return true;
}

void splat_raster_gradient_add(splat_grad2d *sum, const splat_grad2d *part)
{
    sum->mean_x += part->mean_x;
    sum->mean_y += part->mean_y;
    sum->conic_a += part->conic_a;
    sum->conic_b += part->conic_b;
    sum->conic_c += part->conic_c;
    sum->opacity += part->opacity;
    for (int k = 0; k < 4; k++) sum->channel[k] += part->channel[k];
}

static void add_depths(const splat_frame *frame, const splat_raster_depth *depth, const float *slots, uint32_t v)
{
    float sum = 0;
    for (uint32_t slot = frame->slot_begin[v]; slot < frame->slot_begin[v + 1]; slot++) sum += slots[slot];
    depth->grad_depth[v] += sum;
}

splat_status splat_raster_backward_slots(splat_backend *backend, const struct splat_raster_backward_args *args,
                                         splat_raster_moments **slots, float **depth_slots, splat_error *error)
{
    const splat_frame *frame = args->frame;
    SPLAT_RASTER_BACKWARD_TILE((*kernel)) = SPLAT_OF_LEVEL(backend->simd, splat_raster_backward_tile);
    uint32_t begin = frame->tiles_x * frame->row_begin, end = frame->tiles_x * frame->row_end;
    void *data, *of_depth = NULL;
    SPLAT_TRY(splat_scratch_take(backend, splat_raster_slots_bytes(frame->n_instances), &data, error));
    if (args->depth)
        SPLAT_TRY(splat_scratch_take(backend, splat_raster_depth_slots_bytes(frame->n_instances), &of_depth, error));
    float *depths = of_depth;
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic, 1)
    for (uint32_t tile = begin; tile < end; tile++) {
        const splat_raster_depth *depth = depth_of_tile(args->depth, tile);
        kernel(args, depth, tile, data, depths);
        for (uint32_t i = frame->tile_begin[tile]; args->depth && !depth && i < frame->tile_begin[tile + 1]; i++)
            depths[frame->instance_slots[i]] = 0;
    }
    *slots = data;
    *depth_slots = depths;
    return SPLAT_OK;
}

splat_status splat_raster_backward_cpu(splat_backend *backend, const struct splat_raster_backward_args *args,
                                       splat_error *error)
{
    splat_frame *frame = args->frame;
    splat_raster_moments *slots;
    float *depth_slots;
    SPLAT_TRY(splat_raster_backward_slots(backend, args, &slots, &depth_slots, error));
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t v = 0; v < frame->n_visible; v++) {
        splat_grad2d gradient;
        if (splat_raster_gradient_of(frame, slots, v, &gradient))
            splat_raster_gradient_add(&frame->grad2d[v], &gradient);
        if (args->depth) add_depths(frame, args->depth, depth_slots, v);
    }
    return SPLAT_OK;
}
