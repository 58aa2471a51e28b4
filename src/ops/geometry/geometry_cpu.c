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
        splat_geometry_feature(p->means + 3 * i, p->scales + 3 * i, p->rotations + 4 * i, frame->depth[v],
                               frame->camera.rotation, frame->camera.center, args->world,
                               args->features + SPLAT_GEOMETRY_CHANNELS * (size_t)v);
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

/* docs/method.md 7 from the moments, as in raster_cpu.c. */
static void add_gradient(splat_geometry_gradient *sum, const float conic[4], const splat_raster_moments *m)
{
    float a = conic[0], b = conic[1], c = conic[2], alpha0 = conic[3];
    sum->mean_x -= alpha0 * (a * m->px + b * m->py);
    sum->mean_y -= alpha0 * (c * m->py + b * m->px);
    sum->normal_z += m->absolute;
    sum->conic_a -= 0.5f * alpha0 * m->pxx;
    sum->conic_b -= alpha0 * m->pxy;
    sum->conic_c -= 0.5f * alpha0 * m->pyy;
    sum->opacity += m->p;
    sum->depth += m->r;
    sum->normal_x += m->g;
    sum->normal_y += m->b;
}

splat_status splat_geometry_backward_cpu(splat_backend *backend, const struct splat_geometry_backward_args *args,
                                         splat_error *error)
{
    SPLAT_GEOMETRY_BACKWARD_TILE((*kernel)) = SPLAT_OF_LEVEL(backend->simd, splat_geometry_backward_tile);
    const splat_frame *frame = args->frame;
    uint32_t begin = frame->tiles_x * frame->row_begin, end = frame->tiles_x * frame->row_end;
    void *data;
    SPLAT_TRY(splat_scratch_take(backend, (size_t)frame->n_instances * sizeof(splat_raster_moments), &data, error));
    splat_raster_moments *slots = data;
#pragma omp parallel num_threads(backend->threads)
    {
#pragma omp for schedule(dynamic, 1)
        for (uint32_t tile = begin; tile < end; tile++) kernel(args, tile, slots);
#pragma omp for schedule(static)
        for (uint32_t v = 0; v < frame->n_visible; v++) {
            splat_raster_moments sum = {0};
            if (frame->slot_begin[v] == frame->slot_begin[v + 1]) continue;
            for (uint32_t slot = frame->slot_begin[v]; slot < frame->slot_begin[v + 1]; slot++)
                splat_raster_moments_add(&sum, &slots[slot]);
            add_gradient(&args->gradients[v], frame->conic + 4 * (size_t)v, &sum);
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
        const splat_geometry_gradient *g = &args->gradients[v];
        size_t i = frame->ids[v];
        splat_grad2d *screen = &frame->grad2d[v];
        screen->mean_x += g->mean_x;
        screen->mean_y += g->mean_y;
        screen->conic_a += g->conic_a;
        screen->conic_b += g->conic_b;
        screen->conic_c += g->conic_c;
        screen->opacity += g->opacity;
        splat_geometry_feature_backward(p->means + 3 * i, p->scales + 3 * i, p->rotations + 4 * i,
                                        frame->camera.rotation, frame->camera.center, args->world,
                                        (float[]){g->depth, g->normal_x, g->normal_y, g->normal_z}, out->means + 3 * i,
                                        out->rotations + 4 * i);
    }
    return SPLAT_OK;
}
