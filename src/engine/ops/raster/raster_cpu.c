/* raster, raster_backward on the CPU: tiles in parallel. A tile writes only its own pixels and its instances' slots,
 * and a Gaussian's slots are summed in their order, so the number of threads cannot change a bit. */
#include "backend/backend.h"
#include "ops/raster/raster_kernel.h"

/* The depth of a tile with requested patches, else NULL. */
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
