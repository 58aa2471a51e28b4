/* Storages and places that change between two steps, of several ranks on all of them at once. Decisions depend on the
 * count, the options and the limit alone, so a resumed run makes the same; on a GPU the limit is what the driver leaves
 * of it, whose share is counted in steps and never less than before, and checkpoints remember it. */
#include "train/memory/give_up.h"

#include "model/rest.h"
#include "ops/shrink/shrink.h"
#include "train/memory/choices.h"
#include "train/memory/forms.h"
#include "train/parts/bound_rows.h"
#include "train/parts/regularizer.h"
#include "train/ranks/shards.h"
#include "train/rest_state.h"
#include "train/state.h"

void splat_give_up_init(splat_trainer *t)
{
    const size_t later = 1; /* the driver is not asked for its share now: update_overhead finds it out */
    t->memory.setup = splat_memory_setup_of(t->context, t->scene, false, later, 0);
    t->memory.setup.overhead = 0;
    t->memory.setup.n_ranks = t->shards.comm ? (size_t)t->shards.comm->size : 0;
    t->memory.form = 0;
}

bool splat_gives_up(const splat_trainer *t)
{
    return t->options.may_give_up != 0 && t->backend->memory.process_limit > 0;
}

/* The share of the driver is what was taken off the limit; it is asked when that is set and before density control. */
static void update_overhead(splat_trainer *t)
{
    const splat_memory *memory = &t->backend->memory;
    size_t taken = memory->process_limit > memory->limit ? memory->process_limit - memory->limit : 0;
    if (memory->limit) t->memory.setup.overhead = splat_larger(t->memory.setup.overhead, splat_overhead_step(taken));
}

static splat_memory_forms forms_of(const splat_trainer *t)
{
    return (splat_memory_forms){&t->memory.setup, &t->options, (unsigned)t->options.may_give_up,
                                t->backend->memory.process_limit};
}

void splat_give_up_set_lists(splat_trainer *t)
{
    if (!splat_gives_up(t) || !(t->options.may_give_up & SPLAT_GIVE_UP_LISTS)) return;
    splat_memory_forms forms = forms_of(t);
    t->options.max_instances = splat_form_lists(&forms, t->memory.form, t->model->gaussians.n).n_instances;
    t->model->max_instances = t->options.max_instances;
}

/* ---------------------------------------------------------------- giving up */

static splat_status stream_photos(splat_trainer *t, splat_error *error)
{
    bool sees_neighbors = splat_regularizer_neighbor_bytes(&t->options, 1 << 10) > 0;
    SPLAT_TRY(splat_photo_store_stream(&t->photos, t->backend, &t->scene->dataset, sees_neighbors, error));
    t->options.photos_on_host = true;
    return SPLAT_OK;
}

static splat_status halve_sh(splat_trainer *t, splat_error *error)
{
    SPLAT_TRY(splat_rest_halve(t->model, error));
    t->options.sh_storage = SPLAT_SH_FLOAT16;
    return SPLAT_OK;
}

/* Both moments in the first's place. The scratch of the widest first: then none is refused halfway. */
static splat_status quantize_moments(splat_trainer *t, splat_error *error)
{
    const splat_tensor_table *tensors = t->model->tensors;
    splat_row_blocks *m = &t->moment_blocks[0], *v = &t->moment_blocks[1];
    uint32_t n = t->model->gaussians.n, widest = 0;
    void *unused;
    splat_row_blocks described[2] = {{.n_arrays = 0}};
    splat_row_blocks_describe_moments(described, tensors, splat_bound_follows(&t->options), t->options.sh_degree,
                                      SPLAT_OPTIMIZER_QUANTIZED, SPLAT_ON_DEVICE);
    for (int i = 0; i < tensors->n; i++) widest = described[0].words[i] > widest ? described[0].words[i] : widest;
    SPLAT_TRY(splat_scratch_reset(t->backend, error));
    SPLAT_TRY(splat_scratch_take(t->backend, splat_shrink_scratch_bytes(n, widest), &unused, error));
    t->is_broken = true; /* until all of them are */
    for (int i = 0; i < tensors->n; i++) {
        struct splat_shrink_args args = {tensors->rows[i].storage, n, m->words[i], m->blocks[i].data,
                                         v->blocks[i].data};
        if (m->words[i]) SPLAT_TRY(splat_op_shrink(t->backend, &args, error));
        m->names[i] = described[0].names[i];
        m->words[i] = described[0].words[i];
        m->blocks[i].type = described[0].blocks[i].type;
    }
    splat_row_blocks_free(t->backend, v);
    *v = (splat_row_blocks){.owner = m->owner};
    t->options.optimizer_storage = SPLAT_OPTIMIZER_QUANTIZED;
    return splat_row_blocks_resize(t->backend, m, n, n, error); /* smaller: cannot fail */
}

static splat_status offload_moments(splat_trainer *t, splat_error *error)
{
    splat_status status = SPLAT_OK;
    for (int i = 0; i < 2 && status == SPLAT_OK; i++)
        if (t->moment_blocks[i].n_arrays)
            status = splat_row_blocks_place(t->backend, &t->moment_blocks[i], SPLAT_TENSOR_sh_rest, SPLAT_ON_HOST,
                                            error);
    if (status == SPLAT_OK) t->options.moments_offload = true;
    return status; /* on failure those of m may lie on the host: slower, and as good */
}

static splat_status offload_sh(splat_trainer *t, splat_error *error)
{
    SPLAT_TRY(offload_moments(t, error));
    SPLAT_TRY(splat_rest_place(t->model, SPLAT_ON_HOST, error));
    t->options.sh_offload = true;
    return SPLAT_OK;
}

static splat_status give_up(splat_trainer *t, unsigned bit, splat_error *error)
{
    switch (bit) {
    case SPLAT_GIVE_UP_PHOTOS: return stream_photos(t, error);
    case SPLAT_GIVE_UP_SH: return halve_sh(t, error);
    case SPLAT_GIVE_UP_MOMENTS: return quantize_moments(t, error);
    case SPLAT_GIVE_UP_DEVICE_MOMENTS: return offload_moments(t, error);
    case SPLAT_GIVE_UP_DEVICE_SH: return offload_sh(t, error);
    default: return SPLAT_OK; /* lists: set_lists */
    }
}

/* False if the run lacks the feature already; then it is not given up, and not reported. */
static bool has(const splat_trainer *t, unsigned bit)
{
    return splat_forms_useful(&t->memory.setup, &t->options, bit) != 0;
}

/* False if bands save nothing; then giving up lists changes nothing. */
static bool gains(const splat_trainer *t, unsigned bit)
{
    splat_memory_forms forms = forms_of(t);
    size_t n = t->model->gaussians.n;
    return bit != SPLAT_GIVE_UP_LISTS ||
           splat_form_bytes(&forms, t->memory.form + 1, n) < splat_form_bytes(&forms, t->memory.form, n);
}

/* Steps are put off in float32 on the device alone. */
static splat_status drop_deferral(splat_trainer *t, splat_error *error)
{
    uint32_t n = splat_deferral_rows(t, t->deferral.n_rows);
    SPLAT_TRY(splat_row_blocks_resize(t->backend, &t->deferral.rows, t->deferral.n_rows, n, error));
    return splat_deferral_refresh(t, n, error);
}

/* One form further; n: Gaussians, as the notice says it. */
static splat_status advance(splat_trainer *t, size_t n, splat_error *error)
{
    char limit[32];
    const splat_memory_choice *choice = &splat_memory_choices[t->memory.form];
    unsigned bit = choice->bit & (unsigned)t->options.may_give_up;
    bool was_broken = t->is_broken, is_new = bit && has(t, bit) && gains(t, bit);
    if (is_new) {
        SPLAT_TRY(splat_rest_cache_drop(t, error));
        splat_status status = give_up(t, bit, error);
        splat_trainer_refresh_moments(t); /* also after a failure: some may have moved */
        SPLAT_TRY(status);
        t->is_broken = was_broken;
        SPLAT_TRY(drop_deferral(t, error));
        splat_log(t->context, SPLAT_LOG_NOTICE, "iteration %d: to stay below %s with %zu Gaussians: %s from here on",
                  t->iteration, splat_bytes_format(t->backend->memory.process_limit, limit, sizeof limit),
                  splat_memory_all(&t->memory.setup, n), choice->option);
    }
    t->memory.form++;
    return SPLAT_OK;
}

/* The last that any rank needs: rows go from one to another as they are stored. */
static splat_status find_wanted(splat_trainer *t, size_t n, int *form, splat_error *error)
{
    update_overhead(t);
    splat_memory_forms forms = forms_of(t);
    uint64_t wanted = (uint64_t)splat_form_for(&forms, n);
    SPLAT_TRY(splat_shards_most(t, &wanted, error));
    *form = (int)wanted;
    return SPLAT_OK;
}

splat_status splat_give_up_is_due(splat_trainer *t, size_t n, bool *is_due, splat_error *error)
{
    int wanted;
    *is_due = false;
    if (!splat_gives_up(t)) return SPLAT_OK;
    SPLAT_TRY(find_wanted(t, n, &wanted, error));
    *is_due = t->memory.form < wanted;
    return SPLAT_OK;
}

splat_status splat_give_up_for(splat_trainer *t, size_t n, splat_error *error)
{
    int wanted;
    if (!splat_gives_up(t)) return SPLAT_OK;
    SPLAT_TRY(find_wanted(t, n, &wanted, error));
    size_t n_now = t->model->gaussians.n ? t->model->gaussians.n : n; /* before the first ones are made: those */
    while (t->memory.form < wanted) SPLAT_TRY(advance(t, n_now, error));
    return SPLAT_OK;
}

splat_status splat_give_up_next(splat_trainer *t, bool *gave, splat_error *error)
{
    *gave = false;
    while (splat_gives_up(t) && t->memory.form < SPLAT_N_FORMS - 1 && !*gave) {
        unsigned may = (unsigned)t->options.may_give_up, bit = splat_memory_choices[t->memory.form].bit & may;
        bool is_last = t->memory.form == SPLAT_N_FORMS - 2; /* where lists have room for bands */
        uint64_t gives = (bit && has(t, bit)) || (is_last && may & SPLAT_GIVE_UP_LISTS);
        SPLAT_TRY(splat_shards_most(t, &gives, error)); /* any rank */
        *gave = gives;
        SPLAT_TRY(advance(t, t->model->gaussians.n, error));
    }
    if (*gave) splat_give_up_set_lists(t);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- checkpoints */

unsigned splat_given_up(const splat_trainer *t)
{
    const splat_train_options *o = &t->options;
    splat_memory_forms forms = forms_of(t);
    unsigned bits = splat_gives_up(t) ? splat_form_bits(&forms, t->memory.form) : 0;
    if (o->photos_on_host) bits |= SPLAT_GIVE_UP_PHOTOS;
    if (o->sh_storage == SPLAT_SH_FLOAT16) bits |= SPLAT_GIVE_UP_SH;
    if (o->optimizer_storage == SPLAT_OPTIMIZER_QUANTIZED) bits |= SPLAT_GIVE_UP_MOMENTS;
    if (splat_place_of_moments(o) == SPLAT_ON_HOST) bits |= SPLAT_GIVE_UP_DEVICE_MOMENTS;
    if (o->sh_offload) bits |= SPLAT_GIVE_UP_DEVICE_SH;
    return bits;
}

splat_status splat_give_up_as(splat_trainer *t, unsigned bits, size_t overhead, splat_error *error)
{
    if (!splat_gives_up(t)) return SPLAT_OK;
    t->memory.setup.overhead = splat_larger(t->memory.setup.overhead, overhead);
    int wanted = splat_form_of_bits(bits & (unsigned)t->options.may_give_up);
    while (t->memory.form < wanted) SPLAT_TRY(advance(t, t->model->gaussians.n, error));
    return SPLAT_OK;
}
