/* Planning memory: the form in which a training run begins below a limit, what it holds, and what growth will give up.
 */
#include "base/options.h"
#include "math/camera.h"
#include "model/model.h"
#include "ops/bin/bin_bytes.h"
#include "train/density/strategies.h"
#include "train/memory/choices.h"
#include "train/memory/forms.h"
#include "train/parts/regularizer.h"
#include "train/schedule.h"
#include "train/state.h"

#define LEAST_GAUSSIANS 1000u
#define OVERSHOOT 0.985 /* pruned to this share of the rows that fit, so that there is growth */

/* ---------------------------------------------------------------- the choices */

static unsigned allowed(const splat_memory_setup *u, const splat_train_options *wanted,
                        const splat_plan_options *options)
{
    unsigned may = 0;
    const unsigned possible = u->n_ranks > 1 ? splat_ranks_may_give_up(u->view.on_device) : SPLAT_GIVE_UP_ALL;
    for (int i = 0; i < SPLAT_N_MEMORY_CHOICES; i++) {
        const splat_memory_choice *c = &splat_memory_choices[i];
        bool is_kept = c->keep && *(const bool *)((const char *)options + c->keep);
        if ((u->view.on_device || !c->only_gpu) && !is_kept) may |= c->bit;
    }
    return splat_forms_useful(u, wanted, may & possible);
}

/* The rows of n Gaussians on the rank with the most. */
static size_t part_of(const splat_memory_setup *u, size_t n)
{
    return u->n_ranks > 1 ? (n + u->n_ranks - 1) / u->n_ranks : n;
}

/* The driver's memory for exchanges between GPUs, if its share is not named. */
static size_t peers_bytes(const splat_memory_setup *u, const splat_plan_options *options)
{
    bool is_counted = u->n_ranks > 1 && u->view.on_device && !options->overhead_bytes;
    return is_counted ? splat_overhead_step(SPLAT_PEERS_BYTES) : 0;
}

/* Lists the saving of each of the form's choices at n Gaussians, with the others made. */
static void list_choices(const splat_memory_forms *f, int form, size_t n, splat_plan *plan)
{
    unsigned bits = splat_form_bits(f, form);
    size_t total = splat_form_bytes(f, form, n);
    for (int i = 0; i < form; i++) {
        const splat_memory_choice *c = &splat_memory_choices[i];
        if (!(c->bit & bits)) continue;
        splat_memory_forms others = *f;
        others.may &= ~c->bit;
        size_t without = splat_form_bytes(&others, form, n);
        if (without > total || c->apply) /* what a later one makes needless was given up before */
            plan->choices[plan->n_choices++] =
                (splat_plan_choice){c->option, c->cost, without > total ? without - total : 0};
    }
}

/* True if a run reports its change from a form to the next at n Gaussians: bands that save nothing change nothing. */
static bool is_told(const splat_memory_forms *f, int form, size_t n)
{
    unsigned bit = splat_memory_choices[form].bit & f->may;
    return bit && (bit != SPLAT_GIVE_UP_LISTS || splat_form_bytes(f, form + 1, n) < splat_form_bytes(f, form, n));
}

/* Lists the features that growth gives up, and the count of all ranks from which each is needed. If one is not enough,
 * all up to the one that is share a count. */
static void list_steps(const splat_memory_forms *f, size_t rows, splat_plan *plan)
{
    size_t most = splat_form_most(f, 0);
    int form = 0;
    for (int i = 0; i < SPLAT_N_FORMS - 1 && most < rows; i++) {
        size_t after = splat_form_most(f, i + 1);
        if (after <= most) continue;
        for (; form <= i; form++) {
            const splat_memory_choice *c = &splat_memory_choices[form];
            if (is_told(f, form, most + 1))
                plan->steps[plan->n_steps++] = (splat_plan_step){c->option, c->cost,
                                                                      splat_memory_all(f->setup, most)};
        }
        most = after;
    }
}

static const char cap_option[] = "`target_gaussian_count`";
static const char cap_cost[] = "density control keeps the most opaque and refuses the smallest gradients";

/* ---------------------------------------------------------------- the plan */

static void add_row(splat_plan *plan, const char *owner, const char *name, size_t bytes)
{
    if (bytes) plan->rows[plan->n_rows++] = (splat_plan_row){owner, name, bytes};
    plan->total_bytes += bytes;
}

/* A stage that trains the result on, planned under the same limit. */
static size_t total_afterwards(const splat_memory_setup *u, const splat_train_options *o,
                               const splat_plan_options *options, size_t limit, size_t n)
{
    if (!options->afterwards) return 0;
    splat_train_options later = *options->afterwards;
    later.sh_degree = o->sh_degree;
    later.ray_jitter = o->ray_jitter;
    later.photos_on_host = o->photos_on_host;
    later.sh_storage = o->sh_storage;
    later.optimizer_storage = o->optimizer_storage;
    later.sh_offload = o->sh_offload;
    later.moments_offload = o->moments_offload;
    splat_memory_forms f = {u, &later, allowed(u, &later, options), limit};
    return splat_form_bytes(&f, splat_form_for(&f, n), n);
}

/* room: for lists. */
static void fill_rows(const splat_memory_setup *u, const splat_train_options *o, size_t n, splat_list_room room,
                      splat_plan *plan)
{
    splat_memory_sizes s = splat_memory_sizes_of(u, o, n, room);
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
    add_row(plan, "images", s.photos_stream ? "photos of two steps" : "all training photos", s.photos);
    add_row(plan, "images", "points of known depth", s.parts);
    add_row(plan, "transients", "other views, and rows between GPUs", s.ranks);
    add_row(plan, "other", "ends of pages and granules, counters", s.rest);
    plan->host_bytes = s.host;
    plan->evaluation_bytes = plan->total_bytes; /* in the memory of training: nothing is added */
}

/* Fills the memory of the n trained Gaussians on one device. */
static void fill_later(const splat_memory_setup *u, const splat_train_options *o, const splat_plan_options *options,
                       size_t n, splat_list_room room, splat_plan *plan)
{
    const splat_memory_sizes s = splat_memory_sizes_of(u, o, n, room);
    splat_work w = splat_memory_work(u, n, room);
    size_t photo = 3 * splat_work_pixels(&w);
    plan->afterwards_bytes = total_afterwards(u, o, options, plan->limit_bytes, n);
    splat_row_blocks parameters = {.n_arrays = 0}; /* of the splat, as a file has it */
    splat_row_blocks_describe_parameters(&parameters, &splat_gaussian_tensors, o->sh_degree, SPLAT_SH_FLOAT32,
                                         SPLAT_ON_DEVICE);
    plan->render_bytes = s.overhead + n * splat_row_blocks_row_bytes(&parameters) + splat_view_bytes(&w) + photo +
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

/* The usual number of Gaussians of a scene: 11 to 35 times its points on the measured scenes, a few millions at most.
 * It serves only for figures. */
static size_t usual_count(size_t n_points)
{
    size_t n = 25 * n_points;
    return n < 1000000 ? 1000000 : n > 6000000 ? 6000000 : n;
}

static size_t least_of(size_t usual, const splat_train_options *wanted, const splat_dataset *dataset)
{
    const splat_strategy *strategy = splat_strategy_of(wanted);
    uint64_t cap = strategy->cap ? strategy->cap(wanted, dataset) : 0;
    return cap && cap < usual ? (size_t)cap : usual;
}

static size_t likely_count(const splat_train_options *wanted, const splat_dataset *dataset)
{
    return least_of(usual_count(dataset->n_points), wanted, dataset);
}

/* Rows of a count: while Gaussians are split there are more. */
static size_t rows_of(size_t n)
{
    return (size_t)((double)n / OVERSHOOT) + 1;
}

/* The most rows on the way to a target: at a cap a round exchanges up to a twentieth, and what is split has two new
 * rows before the old one goes. */
static size_t most_rows_of(size_t target)
{
    return splat_larger(rows_of(target), target + target / 10);
}

static splat_status check_least(const splat_memory_forms *f, size_t least, splat_error *error)
{
    const int last = SPLAT_N_FORMS - 1;
    if (splat_form_most(f, last) >= least) return SPLAT_OK;
    char text[32]; /* the least in whole MiB, rounded up: what can be typed */
    return splat_fail(error, SPLAT_ERROR_MEMORY,
                      "a memory limit of %s is too small for this scene: the least possible is %.0f MiB (%zu "
                      "Gaussians, pictures of %.2f megapixels); raise it or lower the resolution",
                      splat_bytes_format(f->limit, text, sizeof text),
                      (double)splat_form_bytes(f, last, least) / SPLAT_MIB + 1, least,
                      (double)splat_work_pixels(&f->setup->view) / 1e6);
}

/* All Gaussians at once, and for good, on one device: nothing of a trained splat can be left away. */
static splat_status plan_fixed(const splat_memory_forms *f, const splat_plan_options *options,
                               splat_train_options *chosen, splat_plan *plan, splat_error *error)
{
    size_t n = plan->n_gaussians;
    SPLAT_TRY(check_least(f, n, error));
    int form = splat_form_for(f, n);
    *chosen = splat_form_options(f, form, n);
    chosen->max_gaussians = splat_form_most(f, form);
    chosen->may_give_up = 0;
    list_choices(f, form, n, plan);
    fill_rows(f->setup, chosen, n, splat_form_least_lists(f, form, n), plan);
    fill_later(f->setup, chosen, options, n, splat_form_least_lists(f, form, n), plan);
    return SPLAT_OK;
}

/* Plans a run that grows: it begins with the form that holds the points, or the given count; the figures are those of
 * the planned count. With several ranks the forms are of the part on each, and the reported counts are of all. */
static splat_status plan_growth(const splat_memory_forms *f, const splat_plan_options *options,
                                splat_train_options *chosen, splat_plan *plan, splat_error *error)
{
    const splat_memory_setup *u = f->setup;
    size_t n_points = u->n_points, target = f->wanted->target_gaussian_count;
    SPLAT_TRY(check_least(f, part_of(u, n_points < LEAST_GAUSSIANS ? n_points : LEAST_GAUSSIANS), error));
    size_t fit = splat_form_most(f, SPLAT_N_FORMS - 1), fit_all = splat_memory_all(u, fit);
    size_t cap = (size_t)((double)fit_all * OVERSHOOT);
    if (!target || cap < target) target = cap > 4 ? cap : 4;
    size_t begin = part_of(u, options->n_gaussians ? rows_of(options->n_gaussians) : n_points);
    begin = begin < fit ? begin : fit;
    int form = splat_form_for(f, begin);
    *chosen = splat_form_options(f, form, begin);
    chosen->may_give_up = (int)f->may;
    chosen->max_gaussians = fit_all;
    chosen->target_gaussian_count = target;
    plan->start_gaussians = n_points < target ? n_points : target;
    const size_t start = part_of(u, plan->start_gaussians);
    plan->start_bytes = splat_form_bytes(f, splat_form_for(f, start), start);
    size_t most = part_of(u, most_rows_of(target));
    list_steps(f, most < fit ? most : fit, plan);
    if (target == cap) plan->steps[plan->n_steps++] = (splat_plan_step){cap_option, cap_cost, cap};
    size_t rows = part_of(u, rows_of(plan->n_gaussians));
    rows = rows < fit ? rows : fit;
    int then = splat_form_for(f, rows);
    splat_train_options grown = splat_form_options(f, then, rows);
    list_choices(f, then, rows, plan);
    if (cap < plan->n_gaussians) plan->choices[plan->n_choices++] = (splat_plan_choice){cap_option, cap_cost, 0};
    fill_rows(u, &grown, rows, splat_form_least_lists(f, then, rows), plan);
    splat_memory_setup alone = *u; /* what comes after training is of one */
    alone.overhead -= peers_bytes(u, options);
    alone.n_ranks = 1;
    const size_t all = u->n_ranks > 1 ? plan->n_gaussians : rows;
    fill_later(&alone, &grown, options, all, splat_form_least_lists(f, then, rows), plan);
    return SPLAT_OK;
}

/* chosen: `wanted` with the choices made. All structs are the library's own. */
static splat_status make_plan(const splat_context *context, const splat_scene *scene, const splat_train_options *wanted,
                              const splat_plan_options *options, splat_train_options *chosen, splat_plan *plan,
                              splat_error *error)
{
    SPLAT_TRY(splat_train_options_check(wanted, error));
    size_t limit = options->limit_bytes ? options->limit_bytes : context->backend->memory.process_limit;
    if (!limit) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a plan needs a memory limit");
    splat_memory_setup u = splat_memory_setup_of(context, scene, options->for_gpu, options->overhead_bytes,
                                                 options->n_vertices);
    u.n_ranks = options->n_ranks;
    u.overhead += peers_bytes(&u, options);
    splat_memory_forms f = {&u, wanted, allowed(&u, wanted, options), limit};
    size_t target = wanted->target_gaussian_count;
    plan->n_gaussians = options->n_gaussians ? options->n_gaussians
                        : target             ? least_of(target, wanted, &scene->dataset)
                                             : likely_count(wanted, &scene->dataset);
    plan->estimated = !options->n_gaussians && !target;
    plan->limit_bytes = limit;
    return splat_schedule_continues_splat(wanted) ? plan_fixed(&f, options, chosen, plan, error)
                                                  : plan_growth(&f, options, chosen, plan, error);
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
