/* match on the CPU: rows of sites in parallel, the sites of one colour of the chessboard after the other. */
#include "backend/backend.h"
#include "math/camera.h"
#include "ops/match/match_simd.h"

typedef SPLAT_MATCH_KERNEL((*costs_function));

/* False if the site has no texture. */
static bool look(const splat_match_job *job, int x, int y, bool at_step, splat_match_patch *patch)
{
    float sum = 0, mean = 0, variance = 0;
    splat_match_patch_kind(patch, at_step);
    for (int o = 0; o < patch->n; o++) {
        patch->weights[o] = splat_match_weight(job, patch, x, y, o, &patch->deviations[o]);
        sum += patch->weights[o];
        mean += patch->weights[o] * patch->deviations[o];
    }
    mean /= sum;
    for (int o = 0; o < patch->n; o++) {
        float deviation = patch->deviations[o] - mean;
        patch->weights[o] /= sum;
        patch->deviations[o] = patch->weights[o] * deviation;
        variance += patch->deviations[o] * deviation;
    }
    patch->mean = mean;
    patch->variance = variance;
    float least = splat_match_least_texture(SPLAT_MATCH_FAINT, job->noise);
    return variance >= least * least;
}

static void begin(const splat_match_job *job, costs_function costs_of, int i, int j)
{
    size_t at = splat_match_index(job, i, j);
    int x = splat_match_pixel(job, i), y = splat_match_pixel(job, j), n = 0;
    float planes[3][MATCH_LANES] = {{0}}, costs[MATCH_LANES], pixels = 0;
    const float *plane = job->planes[at];
    splat_match_site site = {.first = {plane[0], plane[1], plane[2]}};
    splat_match_patch patch;
    job->costs[at] = SPLAT_MATCH_DUMB;
    job->sites[at] = site;
    if (!(plane[0] > 0) || !splat_match_allows(job, &site, plane)) return;
    bool at_step = splat_match_at_step(job, x, y, plane);
    if (!look(job, x, y, at_step, &patch)) return;
    for (uint32_t k = 0; k < job->n; k++) {
        float own;
        if (!splat_match_sees(job, &job->others[k], x, y, plane[0], &own)) continue;
        site.sees |= 1u << k;
        pixels += own;
        n++;
    }
    if (n < 1 || !(pixels > 0)) return;
    site.pixels = pixels / (float)n;
    site.texture = sqrtf(patch.variance);
    for (int k = 0; k < 3; k++) planes[k][0] = plane[k];
    costs_of(job, &patch, x, y, site.sees, 8, planes, costs);
    job->costs[at] = site.cost = costs[0];
    if (at_step) site.sees |= SPLAT_MATCH_AT_STEP;
    job->sites[at] = site;
}

static void improve(const splat_match_job *job, costs_function costs_of, int i, int j)
{
    size_t at = splat_match_index(job, i, j);
    const splat_match_site *site = &job->sites[at];
    int x = splat_match_pixel(job, i), y = splat_match_pixel(job, j), best = -1;
    float planes[3][MATCH_LANES], costs[MATCH_LANES];
    splat_match_patch patch;
    if (!site->sees) return;
    look(job, x, y, site->sees & SPLAT_MATCH_AT_STEP, &patch);
    for (int lane = 0; lane < MATCH_LANES; lane++) {
        float plane[3];
        splat_match_candidate(job, i, j, x, y, lane, plane);
        for (int k = 0; k < 3; k++) planes[k][lane] = plane[k];
    }
    costs_of(job, &patch, x, y, site->sees, MATCH_LANES, planes, costs);
    for (int lane = 0; lane < MATCH_LANES; lane++) {
        if (!(costs[lane] < job->costs[at])) continue;
        best = lane;
        job->costs[at] = costs[lane];
    }
    for (int k = 0; k < 3 && best >= 0; k++) job->planes[at][k] = planes[k][best];
}

static void judge(const splat_match_job *job, costs_function costs_of, int i, int j)
{
    size_t at = splat_match_index(job, i, j);
    const splat_match_site *site = &job->sites[at];
    int x = splat_match_pixel(job, i), y = splat_match_pixel(job, j), n_wide = 0;
    float planes[3][MATCH_LANES], costs[MATCH_LANES];
    splat_match_patch patch;
    job->raw[at] = SPLAT_MATCH_SILENT;
    if (!site->sees) return;
    splat_match_return(job, at);
    look(job, x, y, site->sees & SPLAT_MATCH_AT_STEP, &patch);
    for (int lane = 0; lane < MATCH_DEPTHS; lane++) {
        float plane[3];
        splat_match_other_depth(site, job->planes[at], lane, plane);
        for (int k = 0; k < 3; k++) planes[k][lane] = plane[k];
    }
    costs_of(job, &patch, x, y, site->sees, MATCH_DEPTHS, planes, costs);
    for (uint32_t k = 0; k < job->n; k++)
        n_wide += (site->sees & 1u << k) && splat_match_is_wide(&job->others[k], x, y, job->planes[at][0]);
    job->raw[at] = splat_match_judge(job, site, costs, n_wide);
}

static splat_status take_scratch(splat_backend *backend, const struct splat_match_args *args, splat_match_job *job,
                                 splat_error *error)
{
    size_t n_pixels = 0, n_sites = (size_t)job->sites_x * (size_t)job->sites_y;
    void *memory;
    for (uint32_t k = 0; k < job->n; k++) n_pixels += splat_camera_pixels(args->neighbors[k].camera);
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, splat_match_scratch_bytes(n_pixels, n_sites), &memory, error));
    job->sites = memory;
    uint32_t *quads = (uint32_t *)(job->sites + n_sites);
    job->raw = (uint8_t *)(quads + n_pixels);
    for (uint32_t k = 0; k < job->n; k++) {
        const splat_match_view *view = &args->neighbors[k];
        const int width = view->camera->width, height = view->camera->height;
        job->others[k].quads = quads;
#pragma omp parallel for num_threads(backend->threads) schedule(static)
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                quads[(size_t)y * (size_t)width + (size_t)x] = splat_match_quad(view->grey, width, height, x, y);
        quads += splat_camera_pixels(view->camera);
    }
    return SPLAT_OK;
}

splat_status splat_match_cpu(splat_backend *backend, const struct splat_match_args *args, splat_error *error)
{
    SPLAT_TRY(splat_match_check(args, error));
    splat_match_job job = splat_match_job_of(args);
    costs_function costs_of = SPLAT_OF_LEVEL(backend->simd, splat_match_costs);
    const int rows = job.sites_y, columns = job.sites_x;
    SPLAT_TRY(take_scratch(backend, args, &job, error));
#pragma omp parallel num_threads(backend->threads)
    {
#pragma omp for schedule(dynamic, 1)
        for (int j = 0; j < rows; j++)
            for (int i = 0; i < columns; i++) begin(&job, costs_of, i, j);
        for (uint32_t half = 0; half < 2 * args->n_sweeps; half++) {
#pragma omp for schedule(dynamic, 1)
            for (int j = 0; j < rows; j++)
                for (int i = (int)((half + (uint32_t)j) % 2); i < columns; i += 2) improve(&job, costs_of, i, j);
        }
#pragma omp for schedule(dynamic, 1)
        for (int j = 0; j < rows; j++)
            for (int i = 0; i < columns; i++) judge(&job, costs_of, i, j);
#pragma omp for schedule(static)
        for (int j = 0; j < rows; j++)
            for (int i = 0; i < columns; i++)
                job.verdicts[splat_match_index(&job, i, j)] = splat_match_settle(&job, i, j);
    }
    return SPLAT_OK;
}
