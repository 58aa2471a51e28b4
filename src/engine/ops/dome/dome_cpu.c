/* The dome on the CPU: rows of pixels in parallel; whole numbers add up in any order. */
#include "backend/backend.h"
#include "ops/dome/dome_math.h"

splat_status splat_dome_cpu(splat_backend *backend, const struct splat_dome_args *args, splat_error *error)
{
    splat_frame *f = args->frame;
    SPLAT_TRY(splat_dome_check(f, error));
    const int width = f->camera.width, height = f->camera.height;
    const size_t n = (size_t)width * (size_t)height;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (int j = 0; j < height; j++)
        for (int i = 0; i < width; i++) {
            const size_t pixel = (size_t)j * (size_t)width + (size_t)i;
            const splat_dome_place place = splat_dome_place_of_pixel(&f->camera, &f->dome, f->jitter, i, j);
            float color[3];
            splat_dome_color(f->dome.colors, &place, color);
            for (size_t c = 0; c < 3; c++)
                f->image[c * n + pixel] += f->transmittance[pixel] * (color[c] - f->background[c]);
        }
    return SPLAT_OK;
}

/* Neighbouring pixels mostly share their nodes: their sums come together. */
typedef struct node_sums {
    uint32_t first;
    bool is_used;
    int64_t sums[4][3];
} node_sums;

static void flush(const struct splat_dome_backward_args *args, node_sums *own)
{
    for (int k = 0; k < 4 && own->is_used; k++)
        for (size_t c = 0; c < 3; c++) {
            int64_t *sum = &args->sums[3 * splat_dome_node(own->first, k) + c], value = own->sums[k][c];
            own->sums[k][c] = 0;
            if (!value) continue;
#pragma omp atomic
            *sum += value;
        }
    own->is_used = false;
}

static void add_pixel(const struct splat_dome_backward_args *args, int i, int j, node_sums *own)
{
    const splat_frame *f = args->frame;
    const int width = f->camera.width, height = f->camera.height;
    const size_t n = (size_t)width * (size_t)height, pixel = (size_t)j * (size_t)width + (size_t)i;
    const splat_dome_place place = splat_dome_place_of_pixel(&f->camera, &f->dome, f->jitter, i, j);
    const float light = f->transmittance[pixel], scale = 3.0f * (float)n * light;
    float color[3], weight[4], by_alpha = 0.0f;
    splat_dome_color(f->dome.colors, &place, color);
    splat_dome_weights(&place, weight);
    for (size_t c = 0; c < 3; c++) by_alpha -= (color[c] - f->background[c]) * args->grad_image[c * n + pixel];
    if (args->sky && splat_dome_is_sky(args->sky, args->sky_width, args->sky_height, width, height, i, j))
        by_alpha += args->weight / (float)n;
    args->grad_alpha[pixel] += by_alpha;
    if (!(light >= SPLAT_DOME_LEAST_LIGHT)) return;
    if (own->is_used && own->first != place.first) flush(args, own);
    own->first = place.first;
    own->is_used = true;
    for (size_t c = 0; c < 3; c++)
        for (int k = 0; k < 4; k++)
            own->sums[k][c] += splat_dome_share(args->grad_image[c * n + pixel], scale, weight[k]);
}

splat_status splat_dome_backward_cpu(splat_backend *backend, const struct splat_dome_backward_args *args,
                                     splat_error *error)
{
    SPLAT_TRY(splat_dome_check(args->frame, error));
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (int j = 0; j < args->frame->camera.height; j++) {
        node_sums own = {.is_used = false};
        for (int i = 0; i < args->frame->camera.width; i++) add_pixel(args, i, j, &own);
        flush(args, &own);
    }
    return SPLAT_OK;
}

splat_status splat_dome_step_cpu(splat_backend *backend, const struct splat_dome_step_args *args, splat_error *error)
{
    const float scale = splat_dome_step_scale(args);
    (void)error;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
    for (size_t i = 0; i < 3 * (size_t)SPLAT_DOME_NODES; i++) splat_dome_step_number(args, i, scale);
    return SPLAT_OK;
}
