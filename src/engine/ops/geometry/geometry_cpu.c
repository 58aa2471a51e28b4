/* The geometry ops on the CPU: Gaussians or tiles in parallel, as in raster_cpu.c. */
#include "backend/backend.h"
#include "ops/geometry/geometry_math.h"
#include "ops/raster/raster_kernel.h"

splat_status splat_geometry_features_cpu(splat_backend *backend, const struct splat_geometry_features_args *args,
                                         splat_error *error)
{
    const splat_frame *frame = args->frame;
    const splat_tensors *p = &args->gaussians->p;
    (void)error;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t v = 0; v < frame->n_visible; v++) {
        size_t i = frame->ids[v];
        splat_geometry_feature(p->means + 3 * i, p->scales + 3 * i, p->rotations + 4 * i, frame->camera.rotation,
                               frame->camera.center, args->world, args->centers ? &frame->depth[v] : NULL,
                               args->features + SPLAT_GEOMETRY_CHANNELS * (size_t)v);
        if (args->spans)
            splat_geometry_span(p->scales + 3 * i, p->rotations + 4 * i, args->gaussians->filter_3d[i],
                                frame->depth[v], frame->camera.rotation, args->spans + 2 * (size_t)v);
    }
    return SPLAT_OK;
}

splat_status splat_geometry_cpu(splat_backend *backend, const struct splat_geometry_args *args, splat_error *error)
{
    SPLAT_GEOMETRY_TILE((*kernel)) = SPLAT_OF_LEVEL(backend->simd, splat_geometry_tile);
    const splat_frame *frame = args->frame;
    uint32_t end = frame->tiles_x * frame->row_end;
    (void)error;
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic, 1)
    for (uint32_t tile = frame->tiles_x * frame->row_begin; tile < end; tile++) kernel(args, tile);
    return SPLAT_OK;
}

splat_status splat_geometry_backward_cpu(splat_backend *backend, const struct splat_geometry_backward_args *args,
                                         splat_error *error)
{
    SPLAT_GEOMETRY_BACKWARD_TILE((*kernel)) = SPLAT_OF_LEVEL(backend->simd, splat_geometry_backward_tile);
    const splat_frame *frame = args->frame;
    uint32_t begin = frame->tiles_x * frame->row_begin, end = frame->tiles_x * frame->row_end;
    void *slots;
    SPLAT_TRY(splat_scratch_take(backend, splat_raster_slots_bytes(frame->n_instances), &slots, error));
#pragma omp parallel num_threads(backend->threads)
    {
#pragma omp for schedule(dynamic, 1)
        for (uint32_t tile = begin; tile < end; tile++) kernel(args, tile, slots);
#pragma omp for schedule(static)
        for (uint32_t v = 0; v < frame->n_visible; v++) {
            splat_grad2d gradient;
            if (splat_raster_gradient_of(frame, slots, v, &gradient))
                splat_raster_gradient_add(&args->gradients[v], &gradient);
        }
    }
    return SPLAT_OK;
}

splat_status splat_geometry_features_backward_cpu(splat_backend *backend,
                                                  const struct splat_geometry_features_backward_args *args,
                                                  splat_error *error)
{
    const splat_frame *frame = args->frame;
    const splat_tensors *p = &args->gaussians->p, *out = args->tensors;
    (void)error;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (uint32_t v = 0; v < frame->n_visible; v++) {
        const splat_grad2d *g = &args->gradients[v];
        size_t i = frame->ids[v];
        splat_geometry_screen_add(&frame->grad2d[v], g);
        splat_geometry_feature_backward(p->means + 3 * i, p->scales + 3 * i, p->rotations + 4 * i,
                                        frame->camera.rotation, frame->camera.center, args->world, args->centers,
                                        g->channel, out->means + 3 * i, out->rotations + 4 * i);
    }
    return SPLAT_OK;
}
