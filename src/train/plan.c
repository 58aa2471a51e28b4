/* Planning memory: what a training run will hold, and the cheapest choices that keep it below a limit. The figures are
 * those of the ops' arrays; tests/test_memory.c and the device tests compare them with what runs really hold. */
#include "model/model.h"
#include "ops/loss/loss_cpu.h"
#include "scene/scene.h"
#include "train/schedule.h"
#include "train/trainer.h"

#include <string.h>

#define USUAL_CONTEXT_BYTES ((size_t)560 << 20) /* measured on an H200: 531 MiB; smaller cards have less */
#define GPU_GRANULE ((size_t)2 << 20)
#define LATE_BYTES ((size_t)32 << 20)           /* what splat_memory_update_limit keeps for the driver */
#define LEAST_GAUSSIANS 1000u
#define OVERSHOOT 0.985                         /* pruned to this share of the rows that fit, so that there is growth */

/* Bytes a Gaussian: the frame's arrays, their gradients, bin's lists. */
#define FRAME_BYTES 52u
#define GRADIENT_BYTES 40u
#define GPU_BIN_BYTES 26u
#define CPU_BIN_BYTES 20u
/* Bytes an instance: the sorted list; and the working memory of its sort (GPU), of the gradients' slots (CPU). */
#define GPU_LIST_BYTES 4u
#define GPU_SORT_BYTES 9u
#define CPU_LIST_BYTES 8u
#define CPU_SLOT_BYTES 40u
/* Bytes a pixel of the loss's working memory, and of ray_jitter. */
#define GPU_LOSS_BYTES 37u
#define JITTER_BYTES 20u

/* Coarse training, bytes a Gaussian: gradients of its losses, neighbours; features and gradients of its view. A pixel
 * of that view: what raster has, maps and their gradients; the slopes of depth_normal. Samples: op field_loss. The
 * search of neighbours. */
#define COARSE_STATE_BYTES 104u
#define COARSE_VIEW_BYTES 56u
#define COARSE_PIXEL_BYTES 56u
#define SLOPE_BYTES 24u
#define GPU_SAMPLE_BYTES 350u
#define CPU_SAMPLE_BYTES 24u
#define CPU_POOL_BYTES 57u
#define CPU_RECORD_BYTES 832u  /* of at most this many generators */
#define CPU_RECORDS 4096u
#define GPU_NEIGHBOR_BYTES 72u
#define CPU_NEIGHBOR_BYTES 48u

/* Everything that decides how much memory a run takes. */
typedef struct setup {
    bool gpu, deterministic;
    size_t overhead, granule, n_pixels, photos_all, photos_two;
    size_t n_points, width, height; /* of pictures: the largest */
    size_t threads;                 /* of the CPU: some working memory is each thread's own */
} setup;

typedef struct sizes {
    size_t overhead, parameters, sh, moments, sh_moments, statistics, coarse, frame, scratch, photos, rest;
    size_t host;
} sizes;

/* More than views usually need: 0.7 a Gaussian at 0.4 megapixels was measured, and larger pictures need more. */
static size_t generous_instances(const setup *u, size_t n)
{
    double each = 1.5e-6 * (double)u->n_pixels;
    each = each < 1 ? 1 : each > 3 ? 3 : each;
    return (size_t)(each * (double)n) + 100000;
}

static size_t instances_for(const setup *u, const splat_train_options *o, size_t n)
{
    size_t generous = generous_instances(u, n);
    return o->max_instances && o->max_instances < generous ? (size_t)o->max_instances : generous;
}

static void size_of_state(const splat_train_options *o, size_t n, sizes *s)
{
    bool quantized = o->optimizer_storage == SPLAT_OPTIMIZER_QUANTIZED;
    for (int i = 0; i < SPLAT_N_TENSORS; i++) {
        bool rest = i == SPLAT_TENSOR_sh_rest;
        size_t words = splat_parameter_words(i, o->sh_degree, o->sh_storage);
        size_t moment_words = quantized ? splat_quantized_moment_words(i, o->sh_degree)
                                        : 2 * splat_tensor_channels(i, o->sh_degree);
        *(rest ? &s->sh : &s->parameters) += 4 * n * words;
        *(rest ? &s->sh_moments : &s->moments) += 4 * n * moment_words;
    }
    s->parameters += 4 * n; /* filter_3d */
    s->statistics = o->densify_until_iter > 0 ? 12 * n : 0;
    s->coarse = splat_schedule_is_coarse(o) ? COARSE_STATE_BYTES * n : 0;
    if (!o->sh_offload) return;
    s->host = s->sh + s->sh_moments;
    s->sh = s->sh_moments = 0;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The view of coarse training's losses, which comes before that of the photo in the same memory. */
static void size_of_coarse(const setup *u, const splat_train_options *o, size_t n, size_t lists, bool bands, sizes *s)
{
    bool is_half = o->coarse.regularization == SPLAT_REGULARIZE_DN_CONSISTENCY && !o->coarse.full_res_normals;
    bool blends = o->coarse.regularization != SPLAT_REGULARIZE_DENSITY;
    size_t n_pixels = is_half ? u->n_pixels / 4 : u->n_pixels, samples = o->coarse.n_samples;
    size_t generators = samples < n ? samples : n, records = generators < CPU_RECORDS ? generators : CPU_RECORDS;
    size_t field = u->gpu ? GPU_SAMPLE_BYTES * samples + 13 * n
                          : CPU_SAMPLE_BYTES * samples + CPU_POOL_BYTES * n + CPU_RECORD_BYTES * records;
    size_t frame = FRAME_BYTES * n + COARSE_PIXEL_BYTES * n_pixels + lists +
                   (blends ? COARSE_VIEW_BYTES * n + (bands ? GRADIENT_BYTES * n : 0) : 0);
    s->frame = larger(s->frame, frame);
    s->scratch = larger(s->scratch, field);
    s->scratch = larger(s->scratch, (u->gpu ? GPU_NEIGHBOR_BYTES : CPU_NEIGHBOR_BYTES) * n);
    if (blends) s->scratch = larger(s->scratch, SLOPE_BYTES * n_pixels + 16 * (size_t)65536);
}

/* The loss on the CPU: a few rows of the picture a thread, and sums of all rows. */
static size_t loss_bytes(const setup *u)
{
    return u->threads * SPLAT_LOSS_ROWS * splat_loss_stride((int)u->width) * sizeof(float) +
           3 * u->height * sizeof(splat_loss_sums);
}

static sizes size_of(const setup *u, const splat_train_options *o, size_t n)
{
    sizes s = {.overhead = u->overhead};
    size_t instances = instances_for(u, o, n), jitter = o->ray_jitter ? JITTER_BYTES * u->n_pixels : 0;
    bool bands = instances < generous_instances(u, n); /* the gradients lie in the frame then */
    size_of_state(o, n, &s);
    s.frame = FRAME_BYTES * n + SPLAT_PIXEL_BYTES * u->n_pixels + jitter + (bands ? GRADIENT_BYTES * n : 0);
    size_t lists = u->gpu ? GPU_LIST_BYTES * instances * (u->deterministic ? 2 : 1) + (u->deterministic ? 12 * n : 0)
                          : CPU_LIST_BYTES * instances + 4 * n;
    s.frame += lists;
    if (u->gpu) {
        s.scratch = larger(GPU_BIN_BYTES * n + GPU_SORT_BYTES * instances, GPU_LOSS_BYTES * u->n_pixels);
        s.scratch = larger(s.scratch, 72 * u->n_points); /* nearest neighbours at the start */
        if (u->deterministic) s.scratch = larger(s.scratch, GRADIENT_BYTES * (n + instances));
    } else {
        s.scratch = larger(CPU_BIN_BYTES * n, (bands ? 0 : GRADIENT_BYTES * n) + CPU_SLOT_BYTES * instances);
        s.scratch = larger(s.scratch, loss_bytes(u));
        s.scratch = larger(s.scratch, 48 * u->n_points);
    }
    s.scratch = larger(s.scratch, splat_density_work_bytes(u->gpu, n));
    if (splat_schedule_is_coarse(o)) size_of_coarse(u, o, n, lists, bands, &s);
    s.photos = o->photos_on_host ? u->photos_two : u->photos_all;
    s.rest = 26 * u->granule + ((size_t)1 << 18); /* the last granule of each block; cameras, counters */
    return s;
}

static size_t total_of(const sizes *s)
{
    return s->overhead + s->parameters + s->sh + s->moments + s->sh_moments + s->statistics + s->coarse + s->frame +
           s->scratch + s->photos + s->rest;
}

static size_t total_for(const setup *u, const splat_train_options *o, size_t n)
{
    sizes s = size_of(u, o, n);
    return total_of(&s);
}

/* The most Gaussians that fit; 0 when none do. */
static size_t most_that_fit(const setup *u, const splat_train_options *o, size_t limit)
{
    size_t low = 0, high = UINT32_MAX / 2;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (total_for(u, o, middle) <= limit)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* ---------------------------------------------------------------- the choices, in order */

static void stream_photos(splat_train_options *o, size_t n)
{
    (void)n;
    o->photos_on_host = true;
}

static void bound_instances(splat_train_options *o, size_t n)
{
    o->max_instances = larger(n / 2, 1 << 16);
}

static void halve_sh(splat_train_options *o, size_t n)
{
    (void)n;
    o->sh_storage = SPLAT_SH_FLOAT16;
}

static void quantize_moments(splat_train_options *o, size_t n)
{
    (void)n;
    o->optimizer_storage = SPLAT_OPTIMIZER_QUANTIZED;
}

static void offload_sh(splat_train_options *o, size_t n)
{
    (void)n;
    o->sh_offload = true;
}

typedef struct choice {
    const char *option, *cost;
    void (*apply)(splat_train_options *options, size_t n);
    bool only_gpu;
    size_t keep; /* offset of the flag in splat_plan_options that forbids it; 0: none does */
} choice;

#define KEEP(flag) offsetof(splat_plan_options, flag)

static const choice choices[] = {
    {"--data_device cpu", "nothing measurable: photos are uploaded ahead of the steps", stream_photos, true,
     KEEP(keep_photos)},
    {"(bands of tiles)", "views with many (Gaussian, tile) pairs are sorted twice a step", bound_instances, false, 0},
    {"--sh_storage float16", "rounding of small values; docs/memory.md has what was measured", halve_sh, false,
     KEEP(keep_sh_storage)},
    {"--optimizer_storage quantized", "rounding of small values; docs/memory.md has what was measured",
     quantize_moments, false, KEEP(keep_optimizer_storage)},
    {"--sh_offload", "steps wait for the bus; colours of what a step does not see are not stepped", offload_sh, true,
     KEEP(keep_sh_offload)},
};

static bool may(const setup *u, const choice *c, const splat_plan_options *options)
{
    return (u->gpu || !c->only_gpu) && !(c->keep && *(const bool *)((const char *)options + c->keep));
}

#define N_CHOICES (sizeof choices / sizeof choices[0])

static splat_train_options with(const splat_train_options *wanted, const bool taken[N_CHOICES], size_t n)
{
    splat_train_options o = *wanted;
    for (size_t i = 0; i < N_CHOICES; i++)
        if (taken[i]) choices[i].apply(&o, n);
    return o;
}

/* Takes choices until n Gaussians fit, or none is left; then gives back, the costliest first, those that later ones
 * made unnecessary. */
static void choose(const setup *u, const splat_train_options *wanted, const splat_plan_options *options, size_t n,
                   splat_plan *plan)
{
    bool taken[N_CHOICES] = {false};
    size_t limit = options->limit_bytes, total = total_for(u, wanted, n);
    for (size_t i = 0; i < N_CHOICES && total > limit; i++) {
        taken[i] = may(u, &choices[i], options);
        splat_train_options o = with(wanted, taken, n);
        size_t after = total_for(u, &o, n);
        taken[i] = taken[i] && after < total; /* not when it is so already, or gains nothing */
        if (taken[i]) total = after;
    }
    for (size_t i = N_CHOICES; i-- > 0 && total <= limit;) {
        bool kept = taken[i];
        taken[i] = false;
        splat_train_options o = with(wanted, taken, n);
        taken[i] = kept && total_for(u, &o, n) > limit;
    }
    plan->options = with(wanted, taken, n);
    total = total_for(u, &plan->options, n);
    for (size_t i = 0; i < N_CHOICES; i++) {
        if (!taken[i]) continue;
        taken[i] = false;
        splat_train_options o = with(wanted, taken, n);
        taken[i] = true;
        plan->choices[plan->n_choices++] =
            (splat_plan_choice){choices[i].option, choices[i].cost, total_for(u, &o, n) - total};
    }
}

/* ---------------------------------------------------------------- the plan */

static void add_row(splat_plan *plan, const char *owner, const char *name, size_t bytes)
{
    if (bytes) plan->rows[plan->n_rows++] = (splat_plan_row){owner, name, bytes};
    plan->total_bytes += bytes;
}

/* The stage after: a coarse training that looks at the depth, with the same storages. */
static size_t coarse_after(const setup *u, const splat_train_options *o, size_t n)
{
    splat_train_options coarse = *o, usual;
    if (splat_schedule_is_coarse(o)) return 0;
    splat_train_options_init_coarse(&usual, SPLAT_REGULARIZE_DN_CONSISTENCY);
    coarse.coarse = usual.coarse;
    coarse.iterations = usual.iterations;
    coarse.densify_until_iter = 0;
    return total_for(u, &coarse, n);
}

static void fill_rows(const setup *u, size_t n, splat_plan *plan)
{
    const splat_train_options *o = &plan->options;
    sizes s = size_of(u, o, n);
    bool half = o->sh_storage == SPLAT_SH_FLOAT16, quantized = o->optimizer_storage == SPLAT_OPTIMIZER_QUANTIZED;
    add_row(plan, "context", "driver and kernels", s.overhead);
    add_row(plan, "parameters", "geometry and base colours, 3D filter", s.parameters);
    add_row(plan, "parameters", half ? "spherical harmonics, 16-bit" : "spherical harmonics", s.sh);
    add_row(plan, "optimizer", quantized ? "moments, 16-bit" : "moments", s.moments);
    add_row(plan, "optimizer", quantized ? "moments of the harmonics, 8-bit" : "moments of the harmonics",
            s.sh_moments);
    add_row(plan, "statistics", "of density control", s.statistics);
    add_row(plan, "coarse training", "gradients and neighbours", s.coarse);
    add_row(plan, "transients", "frame of the largest view", s.frame);
    add_row(plan, "transients", "working memory of the ops", s.scratch);
    add_row(plan, "images", o->photos_on_host ? "photos of two steps" : "all training photos", s.photos);
    add_row(plan, "other", "ends of pages and granules, counters", s.rest);
    plan->host_bytes = s.host;
    size_t picture = 23 * u->n_pixels + FRAME_BYTES * n;
    size_t lists = (u->gpu ? GPU_LIST_BYTES + GPU_SORT_BYTES : CPU_LIST_BYTES) * instances_for(u, o, n);
    plan->evaluation_bytes = plan->total_bytes; /* in the memory of training: nothing is added */
    plan->coarse_bytes = coarse_after(u, o, n);
    plan->render_bytes = s.overhead + 4 * n + 4 * n * (14 + splat_sh_rest_floats(o->sh_degree)) + picture + lists +
                         (u->gpu ? GPU_BIN_BYTES : CPU_BIN_BYTES) * n + s.rest;
}

void splat_plan_options_init(splat_plan_options *options)
{
    memset(options, 0, sizeof *options);
}

static setup setup_of(const splat_context *context, const splat_scene *scene, const splat_plan_options *options)
{
    splat_backend *backend = context->backend;
    const splat_dataset *dataset = &scene->dataset;
    setup u = {.gpu = options->for_gpu || backend->device_bytes > 0, .granule = backend->granularity,
               .deterministic = backend->deterministic, .n_points = dataset->n_points,
               .threads = (size_t)context->threads};
    if (u.gpu && u.granule < GPU_GRANULE) u.granule = GPU_GRANULE;
    u.overhead = options->overhead_bytes;
    if (!u.overhead && u.gpu) u.overhead = backend->device_bytes ? backend->functions->overhead(backend) + LATE_BYTES
                                                                  : USUAL_CONTEXT_BYTES + LATE_BYTES;
    for (size_t i = 0; i < dataset->n_views; i++) {
        const splat_camera *camera = &dataset->views[i].camera;
        u.n_pixels = larger(u.n_pixels, (size_t)camera->width * (size_t)camera->height);
        u.width = larger(u.width, (size_t)camera->width);
        u.height = larger(u.height, (size_t)camera->height);
    }
    for (size_t i = 0; i < dataset->n_train; i++) {
        const splat_camera *camera = &dataset->views[dataset->train[i]].camera;
        size_t bytes = 3 * (size_t)camera->width * (size_t)camera->height;
        u.photos_all += bytes;
        u.photos_two = larger(u.photos_two, 2 * bytes);
    }
    /* As photo_store.c: a host has no photos apart, and a device keeps them up to a part of its memory. */
    if (!u.gpu || (backend->device_bytes && u.photos_all > backend->device_bytes / SPLAT_PHOTO_SHARE))
        u.photos_all = u.photos_two;
    return u;
}

/* What a scene usually grows to: 11 to 35 times its points on the scenes measured, a few millions at most. */
static size_t usual_count(size_t n_points)
{
    size_t n = 25 * n_points;
    return n < 1000000 ? 1000000 : n > 6000000 ? 6000000 : n;
}

splat_status splat_plan_make(const splat_context *context, const splat_scene *scene, const splat_train_options *wanted,
                             const splat_plan_options *options, splat_plan *plan, splat_error *error)
{
    memset(plan, 0, sizeof *plan);
    SPLAT_TRY(splat_train_options_check(wanted, error));
    if (!options->limit_bytes) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a plan needs a memory limit");
    setup u = setup_of(context, scene, options);
    size_t target = wanted->target_gaussian_count;
    size_t n = options->n_gaussians ? options->n_gaussians : target ? target : usual_count(u.n_points);
    plan->estimated = !options->n_gaussians && !target;
    plan->limit_bytes = options->limit_bytes;
    plan->n_gaussians = n;
    size_t rows = splat_schedule_is_coarse(wanted) ? n : (size_t)((double)n / OVERSHOOT) + 1;
    choose(&u, wanted, options, rows, plan);

    size_t least = u.n_points < LEAST_GAUSSIANS ? u.n_points : LEAST_GAUSSIANS;
    /* With a bound on the instances that was chosen for many Gaussians, fewer would fit than could. */
    size_t fit = most_that_fit(&u, &plan->options, options->limit_bytes);
    if (plan->options.max_instances && fit < rows) {
        plan->options.max_instances = larger(fit, 1 << 14);
        fit = most_that_fit(&u, &plan->options, options->limit_bytes);
    }
    if (splat_schedule_is_coarse(wanted)) least = n; /* nothing of a trained splat can be left away */
    if (fit < least) {
        size_t needed = total_for(&u, &plan->options, least);
        return splat_fail(error, SPLAT_ERROR_MEMORY,
                          "a memory limit of %.0f MiB is too small for this scene: the least possible is %.0f MiB "
                          "(%zu Gaussians, pictures of %.1f megapixels); raise it or lower the resolution",
                          (double)options->limit_bytes / 1048576, (double)needed / 1048576 + 1, least,
                          (double)u.n_pixels / 1e6);
    }
    /* Instances are never unbounded under a limit: a view with more than usual is done in bands. */
    if (!plan->options.max_instances) plan->options.max_instances = generous_instances(&u, fit < rows ? fit : rows);
    fit = most_that_fit(&u, &plan->options, options->limit_bytes);
    plan->options.max_gaussians = fit;
    if (splat_schedule_is_coarse(wanted)) {
        fill_rows(&u, n, plan);
        return SPLAT_OK;
    }
    size_t cap = (size_t)((double)fit * OVERSHOOT);
    if (!target || cap < target) plan->options.target_gaussian_count = cap > 4 ? cap : 4;
    if (cap < n)
        plan->choices[plan->n_choices++] = (splat_plan_choice){
            "--target_gaussian_count", "density control keeps the most opaque and refuses the smallest gradients",
            total_for(&u, &plan->options, rows) - total_for(&u, &plan->options, fit)};
    fill_rows(&u, fit < rows ? fit : rows, plan);
    return SPLAT_OK;
}
