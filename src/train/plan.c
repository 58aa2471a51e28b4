/* Planning memory: what a training run will hold, and the cheapest choices that keep it below a limit. The figures are
 * those of the ops' arrays; tests/backend/test_memory.c and the device tests compare them with what runs really hold.
 */
#include "base/options.h"
#include "math/camera.h"
#include "model/model.h"
#include "ops/bin/bin_bytes.h"
#include "ops/knn/knn.h"
#include "ops/loss/loss_bytes.h"
#include "ops/raster/raster_bytes.h"
#include "scene/scene.h"
#include "train/memory_choices.h"
#include "train/schedule.h"
#include "train/step.h"
#include "train/strategies/strategies.h"
#include "train/trainer.h"

#include <string.h>

#define USUAL_CONTEXT_BYTES ((size_t)560 << 20) /* measured on an H200: 531 MiB; smaller cards have less */
#define GPU_GRANULE ((size_t)2 << 20)
#define LEAST_GAUSSIANS 1000u
#define OVERSHOOT 0.985                         /* pruned to this share of the rows that fit, so that there is growth */

/* Everything that decides how much memory a run takes. */
typedef struct setup {
    splat_work view; /* the backend, and the largest picture; without counts */
    size_t overhead, granule, photos_all, photos_two, n_points, n_vertices;
} setup;

typedef struct sizes {
    size_t overhead, parameters, sh, moments, sh_moments, statistics, regularizer, bound, frame, scratch, photos, rest;
    size_t host;
} sizes;

/* More than views usually need: 0.7 a Gaussian at 0.4 megapixels was measured, and larger pictures need more. */
static size_t generous_instances(const setup *u, size_t n)
{
    double each = 1.5e-6 * (double)splat_work_pixels(&u->view);
    each = each < 1 ? 1 : each > 3 ? 3 : each;
    return (size_t)(each * (double)n) + 100000;
}

/* The work of a view of n Gaussians. */
static splat_work work_of(const setup *u, const splat_train_options *o, size_t n)
{
    splat_work w = u->view;
    size_t generous = generous_instances(u, n);
    w.n = n;
    w.bands = o->max_instances && o->max_instances < generous;
    w.n_instances = w.bands ? (size_t)o->max_instances : generous;
    return w;
}

/* The bytes of n rows of arrays, of which the first are those of `tensors`: of harmonics on the device apart, and of
 * those on the host. */
static void add_rows(const splat_row_blocks *rows, const splat_tensor_table *tensors, size_t n, size_t *sum,
                     size_t *harmonics, size_t *host)
{
    for (int i = 0; i < rows->n_arrays; i++) {
        bool is_rest = i < tensors->n && tensors->rows[i].storage == SPLAT_STORED_HARMONICS;
        size_t *to = rows->blocks[i].placement == SPLAT_ON_HOST ? host : is_rest ? harmonics : sum;
        *to += n * rows->words[i] * sizeof(uint32_t);
    }
}

static size_t row_bytes(const splat_row_blocks *rows)
{
    size_t words = 0;
    for (int i = 0; i < rows->n_arrays; i++) words += rows->words[i];
    return words * sizeof(uint32_t);
}

static void size_of_state(const setup *u, const splat_train_options *o, size_t n, sizes *s)
{
    splat_placement harmonics = o->sh_offload ? SPLAT_ON_HOST : SPLAT_ON_DEVICE;
    const splat_strategy *strategy = splat_strategy_of(o);
    const splat_regularizer *regularizer = o->regularizer;
    const splat_tensor_table *tensors = &splat_gaussian_tensors;
    splat_row_blocks parameters = {.n_arrays = 0}, moments[2] = {{.n_arrays = 0}}, statistics = {.n_arrays = 0};
    splat_row_blocks_describe_parameters(&parameters, tensors, o->sh_degree, o->sh_storage, harmonics);
    splat_row_blocks_describe_moments(moments, tensors, splat_bound_follows(o), o->sh_degree, o->optimizer_storage,
                                      harmonics);
    add_rows(&parameters, tensors, n, &s->parameters, &s->sh, &s->host);
    for (int i = 0; i < 2; i++) add_rows(&moments[i], tensors, n, &s->moments, &s->sh_moments, &s->host);
    splat_statistics_describe(&statistics);
    if (strategy->wants_statistics(o, 0)) s->statistics = n * row_bytes(&statistics);
    s->statistics += n * splat_extra_row_bytes(strategy->arrays, strategy->n_arrays);
    s->bound = splat_bound_bytes(o, n, u->n_vertices);
    if (regularizer) s->regularizer = n * splat_extra_row_bytes(regularizer->arrays, regularizer->n_arrays);
    s->regularizer += splat_regularizer_neighbor_bytes(o, splat_work_pixels(&u->view));
}

static sizes size_of(const setup *u, const splat_train_options *o, size_t n)
{
    sizes s = {.overhead = u->overhead};
    splat_work w = work_of(u, o, n);
    const splat_strategy *strategy = splat_strategy_of(o);
    size_of_state(u, o, n, &s);
    s.frame = splat_view_bytes(&w) + splat_bin_frame_bytes(&w) + splat_step_view_bytes(o, splat_work_pixels(&w)) +
              (w.bands ? splat_view_gradients_bytes(n) : 0);
    s.scratch = splat_larger(splat_bin_scratch_bytes(&w), splat_raster_backward_scratch_bytes(&w));
    s.scratch = splat_larger(s.scratch, splat_loss_scratch_bytes(&w));
    s.scratch = splat_larger(s.scratch, splat_knn_scratch_bytes(w.on_device, u->n_points)); /* at the start */
    if (strategy->work_bytes) s.scratch = splat_larger(s.scratch, strategy->work_bytes(w.on_device, n));
    if (o->binding && o->binding->scratch_bytes) s.scratch = splat_larger(s.scratch, o->binding->scratch_bytes(o, n));
    if (o->regularizer && o->regularizer->work_bytes) {
        size_t frame, scratch;
        o->regularizer->work_bytes(o, &w, &frame, &scratch); /* before the photo's view, in the same memory */
        s.frame = splat_larger(s.frame, frame);
        s.scratch = splat_larger(s.scratch, scratch);
    }
    bool streams = o->photos_on_host || u->photos_all == u->photos_two;
    s.photos = streams ? u->photos_two : u->photos_all;
    if (streams && splat_regularizer_neighbor_bytes(o, splat_work_pixels(&u->view))) s.photos += u->photos_two / 2;
    s.rest = (26 + splat_bound_blocks(o)) * u->granule + ((size_t)1 << 18); /* the last granule of each block; cameras,
                                                                               counters */
    return s;
}

static size_t total_of(const sizes *s)
{
    size_t state = s->parameters + s->sh + s->moments + s->sh_moments + s->statistics + s->regularizer +
                   s->bound;
    return s->overhead + state + s->frame + s->scratch + s->photos + s->rest;
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

#define N_CHOICES SPLAT_N_MEMORY_CHOICES
static const splat_memory_choice *const choices = splat_memory_choices;

static bool may(const setup *u, const splat_memory_choice *c, const splat_plan_options *options)
{
    bool is_kept = c->keep && *(const bool *)((const char *)options + c->keep);
    return c->apply && (u->view.on_device || !c->only_gpu) && !is_kept;
}

static splat_train_options with(const splat_train_options *wanted, const bool taken[N_CHOICES], size_t n)
{
    splat_train_options o = *wanted;
    for (size_t i = 0; i < N_CHOICES; i++)
        if (taken[i]) choices[i].apply(&o, n);
    return o;
}

/* Takes choices until n Gaussians fit, or none is left; then gives back, the costliest first, those that later ones
 * made unnecessary. */
static void choose(const setup *u, const splat_train_options *wanted, const splat_plan_options *options, size_t limit,
                   size_t n, bool taken[N_CHOICES])
{
    size_t total = total_for(u, wanted, n);
    for (size_t i = 0; i < N_CHOICES; i++) taken[i] = false;
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
}

/* What each of the choices saves at n Gaussians, the others made. */
static void list_choices(const setup *u, const splat_train_options *wanted, bool taken[N_CHOICES], size_t n,
                         splat_plan *plan)
{
    splat_train_options all = with(wanted, taken, n);
    size_t total = total_for(u, &all, n);
    for (size_t i = 0; i < N_CHOICES; i++) {
        if (!taken[i]) continue;
        taken[i] = false;
        splat_train_options o = with(wanted, taken, n);
        size_t without = total_for(u, &o, n);
        taken[i] = true;
        plan->choices[plan->n_choices++] =
            (splat_plan_choice){choices[i].option, choices[i].cost, without > total ? without - total : 0};
    }
}

/* ---------------------------------------------------------------- the plan */

static void add_row(splat_plan *plan, const char *owner, const char *name, size_t bytes)
{
    if (bytes) plan->rows[plan->n_rows++] = (splat_plan_row){owner, name, bytes};
    plan->total_bytes += bytes;
}

/* A stage that trains the result on, planned under the same limit. */
static size_t total_afterwards(const setup *u, const splat_train_options *o, const splat_plan_options *options,
                               size_t limit, size_t n)
{
    bool taken[N_CHOICES];
    if (!options->afterwards) return 0;
    splat_train_options later = *options->afterwards;
    later.sh_degree = o->sh_degree;
    later.ray_jitter = o->ray_jitter;
    later.photos_on_host = o->photos_on_host;
    later.sh_storage = o->sh_storage;
    later.optimizer_storage = o->optimizer_storage;
    later.sh_offload = o->sh_offload;
    later.max_instances = o->max_instances;
    choose(u, &later, options, limit, n, taken);
    later = with(&later, taken, n);
    return total_for(u, &later, n);
}

static void fill_rows(const setup *u, const splat_train_options *o, const splat_plan_options *options, size_t n,
                      splat_plan *plan)
{
    sizes s = size_of(u, o, n);
    bool half = o->sh_storage == SPLAT_SH_FLOAT16, quantized = o->optimizer_storage == SPLAT_OPTIMIZER_QUANTIZED;
    add_row(plan, "context", "driver and kernels", s.overhead);
    add_row(plan, "parameters", "geometry and base colours, 3D filter", s.parameters);
    add_row(plan, "parameters", half ? "spherical harmonics, 16-bit" : "spherical harmonics", s.sh);
    add_row(plan, "optimizer", quantized ? "moments, 16-bit" : "moments", s.moments);
    add_row(plan, "optimizer", quantized ? "moments of the harmonics, 8-bit" : "moments of the harmonics",
            s.sh_moments);
    add_row(plan, "statistics", "of density control", s.statistics);
    if (o->regularizer) add_row(plan, o->regularizer->title, o->regularizer->arrays_title, s.regularizer);
    if (o->binding) add_row(plan, o->binding->title, "arrays, moments and gradients", s.bound);
    add_row(plan, "transients", "frame of the largest view", s.frame);
    add_row(plan, "transients", "working memory of the ops", s.scratch);
    add_row(plan, "images", o->photos_on_host ? "photos of two steps" : "all training photos", s.photos);
    add_row(plan, "other", "ends of pages and granules, counters", s.rest);
    plan->host_bytes = s.host;
    splat_work w = work_of(u, o, n);
    size_t photo = 3 * splat_work_pixels(&w);
    plan->evaluation_bytes = plan->total_bytes; /* in the memory of training: nothing is added */
    plan->afterwards_bytes = total_afterwards(u, o, options, plan->limit_bytes, n);
    splat_row_blocks parameters = {.n_arrays = 0}; /* of the splat, as a file has it */
    splat_row_blocks_describe_parameters(&parameters, &splat_gaussian_tensors, o->sh_degree, SPLAT_SH_FLOAT32,
                                         SPLAT_ON_DEVICE);
    plan->render_bytes = s.overhead + n * row_bytes(&parameters) + splat_view_bytes(&w) + photo +
                         splat_bin_frame_bytes(&w) + splat_bin_scratch_bytes(&w) + s.rest;
}

void splat_plan_options_init_sized(splat_plan_options *options, size_t size)
{
    const splat_plan_options defaults = {0};
    splat_options_give(options, size, &defaults, sizeof defaults);
}

void splat_plan_init_sized(splat_plan *plan, size_t size)
{
    const splat_plan nothing = {0};
    splat_options_give(plan, size, &nothing, sizeof nothing);
}

static setup setup_of(const splat_context *context, const splat_scene *scene, const splat_plan_options *options)
{
    splat_backend *backend = context->backend;
    const splat_dataset *dataset = &scene->dataset;
    bool gpu = options->for_gpu || backend->device_bytes > 0;
    setup u = {.view = {.on_device = gpu,
                        .deterministic = backend->deterministic,
                        .threads = (size_t)context->threads},
               .granule = backend->granularity,
               .n_points = dataset->n_points,
               .n_vertices = options->n_vertices,
               .overhead = options->overhead_bytes};
    if (gpu && u.granule < GPU_GRANULE) u.granule = GPU_GRANULE;
    if (!u.overhead && gpu) u.overhead = backend->device_bytes ? splat_backend_overhead(backend) + SPLAT_LATE_BYTES
                                                                : USUAL_CONTEXT_BYTES + SPLAT_LATE_BYTES;
    for (size_t i = 0; i < dataset->n_views; i++) {
        const splat_camera *camera = &dataset->views[i].camera;
        if (splat_camera_pixels(camera) <= splat_work_pixels(&u.view)) continue;
        u.view.width = (size_t)camera->width;
        u.view.height = (size_t)camera->height;
    }
    for (size_t i = 0; i < dataset->n_train; i++) {
        const splat_camera *camera = &dataset->views[dataset->train[i]].camera;
        size_t bytes = 3 * splat_camera_pixels(camera);
        u.photos_all += bytes;
        u.photos_two = splat_larger(u.photos_two, 2 * bytes);
    }
    /* As photo_store.c: a host has no photos apart, and a device keeps them up to a part of its memory. */
    if (!gpu || (backend->device_bytes && u.photos_all > backend->device_bytes / SPLAT_PHOTO_SHARE))
        u.photos_all = u.photos_two;
    return u;
}

/* What a scene usually grows to: 11 to 35 times its points on the scenes measured, a few millions at most. */
static size_t usual_count(size_t n_points)
{
    size_t n = 25 * n_points;
    return n < 1000000 ? 1000000 : n > 6000000 ? 6000000 : n;
}

/* chosen: `wanted` with the choices made. All structs are the library's own. */
static splat_status make_plan(const splat_context *context, const splat_scene *scene, const splat_train_options *wanted,
                              const splat_plan_options *options, splat_train_options *chosen, splat_plan *plan,
                              splat_error *error)
{
    SPLAT_TRY(splat_train_options_check(wanted, error));
    size_t limit = options->limit_bytes ? options->limit_bytes : context->backend->memory.process_limit;
    if (!limit) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a plan needs a memory limit");
    setup u = setup_of(context, scene, options);
    size_t target = wanted->target_gaussian_count;
    size_t n = options->n_gaussians ? options->n_gaussians : target ? target : usual_count(u.n_points);
    plan->estimated = !options->n_gaussians && !target;
    plan->limit_bytes = limit;
    plan->n_gaussians = n;
    size_t rows = splat_schedule_continues_splat(wanted) ? n : (size_t)((double)n / OVERSHOOT) + 1;
    bool taken[N_CHOICES];
    choose(&u, wanted, options, limit, rows, taken);
    *chosen = with(wanted, taken, rows);

    size_t least = u.n_points < LEAST_GAUSSIANS ? u.n_points : LEAST_GAUSSIANS;
    /* With a bound on the instances that was chosen for many Gaussians, fewer would fit than could. */
    size_t fit = most_that_fit(&u, chosen, limit);
    if (chosen->max_instances && fit < rows) {
        chosen->max_instances = splat_larger(fit, 1 << 14);
        fit = most_that_fit(&u, chosen, limit);
    }
    if (splat_schedule_continues_splat(wanted)) least = n; /* nothing of a trained splat can be left away */
    if (fit < least) {
        size_t needed = total_for(&u, chosen, least);
        char text[32]; /* the least in whole MiB, rounded up: what can be typed */
        return splat_fail(error, SPLAT_ERROR_MEMORY,
                          "a memory limit of %s is too small for this scene: the least possible is %.0f MiB (%zu "
                          "Gaussians, pictures of %.2f megapixels); raise it or lower the resolution",
                          splat_bytes_format(limit, text, sizeof text), (double)needed / SPLAT_MIB + 1, least,
                          (double)splat_work_pixels(&u.view) / 1e6);
    }
    /* Instances are never unbounded under a limit: a view with more than usual is done in bands. */
    if (!chosen->max_instances) chosen->max_instances = generous_instances(&u, fit < rows ? fit : rows);
    fit = most_that_fit(&u, chosen, limit);
    chosen->max_gaussians = fit;
    list_choices(&u, wanted, taken, fit < rows ? fit : rows, plan);
    if (splat_schedule_continues_splat(wanted)) {
        fill_rows(&u, chosen, options, n, plan);
        return SPLAT_OK;
    }
    size_t cap = (size_t)((double)fit * OVERSHOOT);
    if (!target || cap < target) chosen->target_gaussian_count = cap > 4 ? cap : 4;
    if (cap < n)
        plan->choices[plan->n_choices++] = (splat_plan_choice){
            "`target_gaussian_count`", "density control keeps the most opaque and refuses the smallest gradients", 0};
    fill_rows(&u, chosen, options, fit < rows ? fit : rows, plan);
    return SPLAT_OK;
}

splat_status splat_plan_make(const splat_context *context, const splat_scene *scene, const splat_train_options *wanted,
                             const splat_plan_options *options, splat_train_options *chosen, splat_plan *plan,
                             splat_error *error)
{
    splat_train_options own_wanted, own_chosen;
    splat_plan_options own;
    splat_plan own_plan;
    splat_train_options_init(&own_wanted);
    splat_train_options_init(&own_chosen);
    splat_plan_options_init(&own);
    splat_plan_init(&own_plan);
    SPLAT_TRY(splat_options_take(&own_wanted, wanted, "splat_train_options", error));
    SPLAT_TRY(splat_options_take(&own, options, "splat_plan_options", error));
    SPLAT_TRY(splat_options_take(&own_plan, plan, "splat_plan", error));
    if (chosen) SPLAT_TRY(splat_options_take(&own_chosen, chosen, "splat_train_options", error));
    splat_plan_init(&own_plan);
    SPLAT_TRY(make_plan(context, scene, &own_wanted, &own, &own_chosen, &own_plan, error));
    splat_options_give(plan, plan->size, &own_plan, sizeof own_plan);
    if (chosen) splat_options_give(chosen, chosen->size, &own_chosen, sizeof own_chosen);
    return SPLAT_OK;
}
