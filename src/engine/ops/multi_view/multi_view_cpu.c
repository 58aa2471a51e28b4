/* multi_view on the CPU: rows, then blocks of patches in parallel, their sums added in order. */
#include "backend/backend.h"
#include "ops/multi_view/multi_view_math.h"

#define PATCH SPLAT_MULTI_VIEW_PATCH

static void grey_of(splat_backend *backend, const splat_multi_view_side *side, float *grey)
{
    const int width = side->photo_camera->width, height = side->photo_camera->height;
    const uint8_t *photo = side->photo;
#pragma omp parallel for schedule(static) num_threads(backend->threads)
    for (int y = 0; y < height; y++)
        for (size_t i = (size_t)y * (size_t)width; i < ((size_t)y + 1) * (size_t)width; i++)
            grey[i] = splat_luma(photo + 3 * i);
}

/* Both photos at the pixels of a patch; 0 when they do not show all of it. */
static int look(const splat_multi_view_job *job, const splat_multi_view_patch *patch, float a[PATCH], float b[PATCH],
                float s[PATCH])
{
    for (int o = 0; o < PATCH; o++)
        if (!splat_multi_view_offset(job, patch, o, &a[o], &b[o], &s[o])) return 0;
    return 1;
}

static void subtract_mean(float values[PATCH])
{
    float sum = 0.0f;
    for (int o = 0; o < PATCH; o++) sum += values[o];
    for (int o = 0; o < PATCH; o++) values[o] -= sum / (float)PATCH;
}

/* The patch around a pixel: whether it counts, its loss and its gradient. */
static int compare(const splat_multi_view_job *job, uint32_t pixel, float *loss, float g[4])
{
    splat_multi_view_patch patch;
    float a[PATCH], b[PATCH], s[PATCH], va = 0.0f, vb = 0.0f, cov = 0.0f, e, of_a, of_b, pi[3] = {0, 0, 0};
    if (!splat_multi_view_begin(job, pixel, &patch) || !look(job, &patch, a, b, s)) return 0;
    subtract_mean(a);
    subtract_mean(b);
    for (int o = 0; o < PATCH; o++) {
        va += a[o] * a[o];
        vb += b[o] * b[o];
        cov += a[o] * b[o];
    }
    if (!splat_multi_view_score(va, vb, cov, &e, &of_a, &of_b)) return 0;
    float weight = job->weights[pixel];
    for (int o = 0; o < PATCH; o++) {
        float ray[3], along = weight * (of_a * a[o] + of_b * b[o]) * s[o];
        splat_multi_view_ray(job, &patch, o, ray);
        for (int k = 0; k < 3; k++) pi[k] += along * ray[k];
    }
    splat_multi_view_of_plane(&patch, pi, g);
    *loss = weight * e;
    return 1;
}

/* Chooses a pixel of a run and compares the photos around it. */
static int of_run(const splat_multi_view_job *job, uint32_t run, float *loss)
{
    splat_multi_view_gradient *gradient = &job->gradients[run];
    uint32_t begin, n = splat_multi_view_run(job, run, &begin), start = splat_multi_view_start(job, run, n);
    gradient->pixel = UINT32_MAX;
    *loss = 0.0f;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t pixel = begin + (start + i) % n;
        if (!(job->weights[pixel] > 0.0f)) continue;
        int counts = compare(job, pixel, loss, gradient->g);
        if (counts) gradient->pixel = pixel;
        return counts;
    }
    return 0;
}

static void add_up(const double *sums, size_t n, double result[2])
{
    result[0] = result[1] = 0;
    for (size_t i = 0; i < n; i++) {
        result[0] += sums[2 * i];
        result[1] += sums[2 * i + 1];
    }
    result[0] = result[1] > 0 ? result[0] / result[1] : 0;
}

static void geometric(splat_backend *backend, const splat_multi_view_job *job, double *sums, double result[2])
{
    const int height = job->maps.height;
    const size_t width = (size_t)job->maps.width;
#pragma omp parallel for schedule(static) num_threads(backend->threads)
    for (int y = 0; y < height; y++) {
        double sum = 0, count = 0;
        for (size_t x = 0; x < width; x++) {
            float loss;
            count += splat_multi_view_first(job, (size_t)y * width + x, &loss);
            sum += (double)loss;
        }
        sums[2 * y] = sum;
        sums[2 * y + 1] = count;
    }
    add_up(sums, (size_t)height, result);
    float scale = result[1] > 0 ? (float)((double)job->geometric_weight / result[1]) : 0.0f;
#pragma omp parallel for schedule(static) num_threads(backend->threads)
    for (int y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) splat_multi_view_spread(job, (size_t)y * width + x, scale);
}

static void photometric(splat_backend *backend, const splat_multi_view_job *job, double *sums, double result[2])
{
    const long n_blocks = (long)splat_multi_view_patch_sums(job->n_patches);
#pragma omp parallel for schedule(dynamic, 8) num_threads(backend->threads)
    for (long block = 0; block < n_blocks; block++) {
        double sum = 0, count = 0;
        for (uint32_t k = 0; k < SPLAT_MULTI_VIEW_RUNS; k++) {
            uint32_t run = (uint32_t)block * SPLAT_MULTI_VIEW_RUNS + k;
            float loss;
            if (run >= job->n_patches) break;
            count += of_run(job, run, &loss);
            sum += (double)loss;
        }
        sums[2 * block] = sum;
        sums[2 * block + 1] = count;
    }
    add_up(sums, (size_t)n_blocks, result);
    if (!(result[1] > 0)) return;
    float scale = (float)((double)job->photometric_weight / result[1]);
    for (uint32_t run = 0; run < job->n_patches; run++) { /* each pixel is in one run */
        const splat_multi_view_gradient *g = &job->gradients[run];
        if (g->pixel == UINT32_MAX) continue;
        for (size_t k = 0; k < 4; k++) job->grad_maps[k * job->n_pixels + g->pixel] += scale * g->g[k];
    }
}

splat_status splat_multi_view_cpu(splat_backend *backend, const struct splat_multi_view_args *args, splat_error *error)
{
    splat_multi_view_job job = splat_multi_view_job_of(args);
    size_t n_rows = (size_t)job.maps.height, n_patch_sums = splat_multi_view_patch_sums(job.n_patches);
    void *grey[2] = {NULL, NULL}, *field, *gradients, *sums;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, splat_multi_view_field_bytes(job.n_pixels), &field, error));
    SPLAT_TRY(splat_scratch_take(backend, splat_multi_view_gradients_bytes(job.n_patches), &gradients, error));
    SPLAT_TRY(splat_scratch_take(backend, splat_multi_view_sums_bytes(n_rows + n_patch_sums), &sums, error));
    job.weights = field;
    job.slopes = job.weights + job.n_pixels;
    job.gradients = gradients;
    args->result[2] = args->result[3] = 0;
    geometric(backend, &job, sums, args->result);
    if (!job.n_patches) return SPLAT_OK;
    const splat_multi_view_side *sides[2] = {&args->reference, &args->neighbor};
    for (int i = 0; i < 2; i++) {
        size_t bytes = splat_multi_view_grey_bytes(splat_camera_pixels(sides[i]->photo_camera));
        SPLAT_TRY(splat_scratch_take(backend, bytes, &grey[i], error));
        grey_of(backend, sides[i], grey[i]);
    }
    job.grey = grey[0];
    job.neighbor_grey = grey[1];
    photometric(backend, &job, (double *)sums + 2 * n_rows, args->result + 2);
    return SPLAT_OK;
}
