/* A training of several ranks begins: they compare options, agree on memory, share photos; and it ends. Ranks that
 * differ would train with other views, rates or rows, and nothing else would notice. */
#include "train/ranks/join.h"

#include "distributed/device_exchange.h"
#include "io/option_text.h"
#include "scene/scene_options.h"
#include "train/density/strategy.h"
#include "train/ranks/batch.h"
#include "train/ranks/shards.h"
#include "train/train_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The options and the scene of a rank, as lines "name=value". */
typedef struct description {
    char *text;
    size_t bytes; /* without the 0 at the end */
} description;

/* ---------------------------------------------------------------- the description */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n) /* FNV-1a */
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < n; i++) hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}
#define HASH_START UINT64_C(0xcbf29ce484222325)

/* Each rank may have planned these for its own memory; they agree about them later (share_plans). */
static bool is_of_memory(const char *name)
{
    static const char *const names[] = {"photos_on_host", "sh_storage", "optimizer_storage", "max_gaussians",
                                        "target_gaussian_count", "may_give_up"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static void add_option(FILE *out, const splat_option_row *row, const void *options)
{
    char value[512];
    if (!row->kind || is_of_memory(row->name)) return;
    splat_option_describe(row, options, value, sizeof value);
    fprintf(out, "`%s`=%s\n", row->name, value);
}

/* The folder of the scene may have another path on another host. */
static void add_options(FILE *out, const splat_trainer *t)
{
    const splat_scene_options *scene = &t->scene->options;
    fprintf(out, "version of the program=%s\n", splat_version());
    fprintf(out, "`backend`=%s\n", splat_backend_name(t->backend));
    fprintf(out, "`deterministic`=%s\n", t->backend->deterministic ? "True" : "False");
    fprintf(out, "`strategy`=%s\n", t->strategy->name);
    for (size_t i = 0; i < splat_train_options_table.n; i++)
        add_option(out, &splat_train_options_table.rows[i].row, &t->options);
    for (size_t i = 0; i < splat_scene_options_table.n; i++) {
        const splat_option *option = &splat_scene_options_table.rows[i];
        if (option->saved && strcmp(option->row.name, "source_path") != 0) add_option(out, &option->row, scene);
    }
}

static void add_scene(FILE *out, const splat_dataset *dataset)
{
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < dataset->n_views; i++) {
        const splat_dataset_view *view = &dataset->views[i];
        const int numbers[] = {view->camera.width, view->camera.height, view->is_test};
        hash = hash_bytes(hash, view->name, strlen(view->name) + 1);
        hash = hash_bytes(hash, numbers, sizeof numbers);
    }
    fprintf(out, "number of training photos=%zu\n", dataset->n_train);
    fprintf(out, "number of test photos=%zu\n", dataset->n_test);
    fprintf(out, "number of points=%zu\n", dataset->n_points);
    fprintf(out, "checksum of the photos' names and sizes=%016" PRIx64 "\n", hash);
}

static splat_status describe(const splat_trainer *t, description *local, splat_error *error)
{
    FILE *out = open_memstream(&local->text, &local->bytes);
    if (out) {
        add_options(out, t);
        add_scene(out, &t->scene->dataset);
        if (fclose(out) == 0) return SPLAT_OK;
    }
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare the options of the ranks");
}

/* ---------------------------------------------------------------- the comparison */

/* Names the first line in which the descriptions of a rank and of rank 0 differ. */
static splat_status explain(int rank, const char *other, const char *local, splat_error *error)
{
    size_t line = 0;
    for (size_t i = 0; other[i] && other[i] == local[i]; i++)
        if (other[i] == '\n') line = i + 1;
    other += line;
    local += line;
    const size_t name = strcspn(local, "="), other_name = strcspn(other, "=");
    if (name != other_name || strncmp(local, other, name) != 0 || !local[name])
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "rank %d runs another program than rank 0; start all ranks with the same program", rank);
    local += name + 1;
    other += name + 1;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                      "rank %d trains with another %.*s than rank 0: %.*s, not %.*s; start all ranks with the same "
                      "options, scene and program",
                      rank, (int)name, local - name - 1, (int)strcspn(other, "\n"), other, (int)strcspn(local, "\n"),
                      local);
}

/* Collective: a new copy of rank `root`'s description. */
static splat_status copy_from(splat_comm *comm, int root, const description *local, char **copy, splat_error *error)
{
    uint64_t bytes = local->bytes;
    SPLAT_TRY(splat_comm_broadcast(comm, root, &bytes, sizeof bytes, error));
    *copy = calloc((size_t)bytes + 1, 1);
    if (!*copy) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare the options of the ranks");
    if (comm->rank == root) memcpy(*copy, local->text, local->bytes);
    return splat_comm_broadcast(comm, root, *copy, (size_t)bytes, error);
}

/* Rank 0 fails first, so that its own words are reported: the others wait in an exchange until they hear of that. */
static void wait_for_first(splat_comm *comm)
{
    uint64_t unused[SPLAT_MAX_RANKS];
    splat_error ignored;
    if (comm->rank > 0) splat_comm_share_u64(comm, 0, unused, &ignored);
}

static splat_status refuse_rank(splat_comm *comm, int rank, const description *local, splat_error *error)
{
    char *of_first = NULL, *of_rank = NULL;
    splat_status status = copy_from(comm, 0, local, &of_first, error);
    if (status == SPLAT_OK) status = copy_from(comm, rank, local, &of_rank, error);
    if (status == SPLAT_OK) status = explain(rank, of_rank, of_first, error);
    free(of_first);
    free(of_rank);
    if (status == SPLAT_ERROR_ARGUMENT) wait_for_first(comm);
    return status;
}

static splat_status compare_options(const splat_trainer *t, splat_error *error)
{
    splat_comm *comm = t->options.ranks;
    uint64_t all[SPLAT_MAX_RANKS];
    description local = {0};
    splat_status status = describe(t, &local, error);
    if (status == SPLAT_OK)
        status = splat_comm_share_u64(comm, hash_bytes(HASH_START, local.text, local.bytes), all, error);
    for (int r = 1; r < comm->size && status == SPLAT_OK; r++)
        if (all[r] != all[0]) status = refuse_rank(comm, r, &local, error);
    free(local.text);
    return status;
}

/* ---------------------------------------------------------------- what several ranks cannot do */

typedef struct refusal {
    bool is_asked;
    const char *what;
} refusal;

static splat_status refuse(const splat_trainer *t, bool is_limited, splat_error *error)
{
    const splat_train_options *o = &t->options;
    const splat_dataset *dataset = &t->scene->dataset;
    const refusal refusals[] = {
        {o->binding != NULL, "Gaussians that are bound to a mesh"},
        {o->sh_offload, "`sh_offload`"},
        {o->moments_offload, "moments in host memory"},
        {is_limited && o->regularizer, "a memory limit (`vram_limit`) and the losses of coarse training"},
        {is_limited && dataset->n_masked > 0 && dataset->mask_mode == SPLAT_MASKS_IGNORE,
         "a memory limit (`vram_limit`) and masks of what shall be ignored, which one rank looks for in all Gaussians"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if (refusals[i].is_asked)
            return splat_fail(error, SPLAT_ERROR_UNSUPPORTED,
                              "several ranks cannot train with %s; leave it out, or train with one", refusals[i].what);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- memory limits */

/* Each rank has its own, those that were given none the least of the others'. */
static splat_status share_limits(splat_trainer *t, bool *is_limited, splat_error *error)
{
    const splat_comm *comm = t->options.ranks;
    uint64_t all[SPLAT_MAX_RANKS], least = 0;
    const size_t local = t->backend->memory.process_limit;
    SPLAT_TRY(splat_comm_share_u64(t->options.ranks, local, all, error));
    for (int r = 0; r < comm->size; r++)
        if (all[r] && (!least || all[r] < least)) least = all[r];
    *is_limited = least > 0;
    return least && !local ? splat_context_set_memory_limit(t->context, least, error) : SPLAT_OK;
}

static uint64_t least_bound(uint64_t a, uint64_t b)
{
    return a && (!b || a < b) ? a : b;
}

/* Agrees on one plan: all ranks begin in the form of the rank with the least memory, and none gives up features that
 * ranks need. */
static splat_status share_plans(splat_trainer *t, splat_error *error)
{
    enum { N = 6 };
    splat_train_options *o = &t->options;
    uint64_t local[N] = {
        o->photos_on_host, o->sh_storage == SPLAT_SH_FLOAT16, o->optimizer_storage == SPLAT_OPTIMIZER_QUANTIZED,
        o->max_gaussians,  o->target_gaussian_count,          (uint64_t)o->may_give_up};
    uint64_t all[SPLAT_MAX_RANKS];
    for (int i = 0; i < N; i++) {
        SPLAT_TRY(splat_comm_share_u64(o->ranks, local[i], all, error));
        for (int r = 0; r < o->ranks->size; r++)
            local[i] = i < 3 ? local[i] | all[r] : i < 5 ? least_bound(local[i], all[r]) : local[i] & all[r];
    }
    o->photos_on_host = local[0];
    if (local[1]) o->sh_storage = SPLAT_SH_FLOAT16;
    if (local[2]) o->optimizer_storage = SPLAT_OPTIMIZER_QUANTIZED;
    o->max_gaussians = (size_t)local[3];
    o->target_gaussian_count = (size_t)local[4];
    o->may_give_up = (int)(local[5] & splat_ranks_may_give_up(t->backend->device_bytes > 0));
    return SPLAT_OK;
}

/* Tries an exchange: its memory on a device is the driver's share of the limit, and is allocated by the first
 * exchange. */
static splat_status try_exchange(splat_trainer *t, splat_error *error)
{
    enum { BYTES = 4096 };
    splat_comm *comm = t->shards.comm;
    splat_comm_part out[SPLAT_MAX_RANKS], in[SPLAT_MAX_RANKS];
    SPLAT_TRY(splat_block_ensure(t->backend, &t->shards.staging, "ranks.staging", SPLAT_OWNER_LISTS,
                                 2 * BYTES * (size_t)comm->size, error));
    for (int r = 0; r < comm->size; r++) {
        const size_t bytes = r == comm->rank ? 0 : BYTES;
        out[r] = (splat_comm_part){(char *)t->shards.staging.data + 2 * BYTES * (size_t)r, bytes};
        in[r] = (splat_comm_part){(char *)out[r].data + BYTES, bytes};
    }
    SPLAT_TRY(splat_device_exchange(comm, t->backend, out, in, error));
    SPLAT_TRY(splat_backend_synchronize(t->backend, error));
    splat_block_free(t->backend, &t->shards.staging);
    splat_memory_update_limit(t->backend);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- photos */

/* Agrees on a unique name of the shared memory: from rank 0 to all. */
static splat_status agree_on_name(splat_trainer *t, char name[64], splat_error *error)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t run = ((uint64_t)now.tv_sec << 30 | (uint64_t)now.tv_nsec) ^ (uint64_t)getpid() << 40;
    SPLAT_TRY(splat_comm_broadcast(t->shards.comm, 0, &run, sizeof run, error));
    snprintf(name, 64, "/splatsmith-%016llx", (unsigned long long)run);
    return SPLAT_OK;
}

/* NULL where the host has no memory for it: every rank then decodes what it needs, as one does alone. */
static splat_status open_together(splat_trainer *t, splat_shared_photos **photos, splat_error *error)
{
    const splat_dataset *dataset = &t->scene->dataset;
    const bool fits = splat_shared_photos_bytes(dataset) <= splat_image_cache_max_bytes(t->scene->cache);
    char name[64];
    bool is_maker = false;
    SPLAT_TRY(agree_on_name(t, name, error));
    if (fits) splat_shared_photos_make(name, dataset, &is_maker, NULL);
    splat_status status = splat_comm_barrier(t->shards.comm, error);
    if (status == SPLAT_OK && fits) splat_shared_photos_open(name, dataset, photos, NULL);
    if (status == SPLAT_OK) status = splat_comm_barrier(t->shards.comm, error);
    if (is_maker) splat_shared_photos_unlink(name);
    return status;
}

/* Ranks that are processes: those of a host decode each photo once (scene/shared_photos.h), where its shared memory and
 * the bound of the cache have room for all. */
static splat_status share_photos(splat_trainer *t, splat_error *error)
{
    splat_shared_photos *photos = NULL;
    if (t->shards.comm->functions->is_one_process) return SPLAT_OK;
    splat_status status = open_together(t, &photos, error);
    const int n_users = photos ? splat_shared_photos_users(photos) : 1;
    if (status != SPLAT_OK || n_users == 1) {
        splat_shared_photos_close(photos);
        return status;
    }
    splat_image_cache_share(t->scene->cache, photos);
    if (t->shards.comm->rank == 0)
        splat_log(t->context, SPLAT_LOG_NOTICE, "%d ranks of this host decode each photo once, %.0f MiB in all",
                  n_users, (double)splat_shared_photos_bytes(&t->scene->dataset) / (1 << 20));
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- beginning and end */

splat_status splat_shards_join(splat_trainer *t, splat_error *error)
{
    const splat_train_options *o = &t->options;
    bool is_limited;
    if (!o->ranks || o->ranks->size == 1) return SPLAT_OK;
    if (o->ranks->rank == 0) o->ranks->log = t->context;
    SPLAT_TRY(compare_options(t, error));
    SPLAT_TRY(share_limits(t, &is_limited, error));
    SPLAT_TRY(refuse(t, is_limited || o->max_instances > 0 || o->may_give_up, error));
    SPLAT_TRY(share_plans(t, error));
    t->shards.comm = o->ranks;
    t->way = &splat_way_batch;
    t->shards.is_whole = true;
    t->shards.piece_bytes = (size_t)16 << 20;
    SPLAT_TRY(share_photos(t, error));
    SPLAT_TRY(splat_device_join(o->ranks, t->backend, error));
    if (is_limited) SPLAT_TRY(try_exchange(t, error));
    SPLAT_TRY(splat_batch_init(&t->shards.batch, o->ranks, t->backend, error)); /* evaluations deal views, too */
    t->shards.batch.agrees = is_limited;
    return splat_shard_batch_init(t, error);
}

void splat_shards_leave(splat_trainer *t)
{
    if (t->shards.comm && !splat_shards_is_worker(t)) splat_shards_order(t, SPLAT_ORDER_END, NULL);
    if (t->shards.batch.comm) splat_batch_free(&t->shards.batch);
    splat_block_free(t->backend, &t->shards.staging);
    splat_shard_batch_free(t);
    if (t->options.ranks) t->options.ranks->log = NULL; /* the context may end before the ranks do */
}
