/* Ranks that train together compare their program, options and scene before anything else. Ranks that differ would
 * train with other views, rates or rows, and nothing else would notice. */
#include "io/option_text.h"
#include "scene/scene_options.h"
#include "train/ranks/shards.h"
#include "train/train_options.h"
#include "train/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    for (size_t i = 0; i < splat_n_train_options; i++)
        add_option(out, &splat_train_options_table[i].row, &t->options);
    for (size_t i = 0; i < splat_n_scene_options; i++) {
        const splat_option *option = &splat_scene_options_table[i];
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

static splat_status describe(const splat_trainer *t, description *own, splat_error *error)
{
    FILE *out = open_memstream(&own->text, &own->bytes);
    if (out) {
        add_options(out, t);
        add_scene(out, &t->scene->dataset);
        if (fclose(out) == 0) return SPLAT_OK;
    }
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare the options of the ranks");
}

/* ---------------------------------------------------------------- the comparison */

/* Names the first line in which the descriptions of a rank and of rank 0 differ. */
static splat_status explain(int rank, const char *other, const char *own, splat_error *error)
{
    size_t line = 0;
    for (size_t i = 0; other[i] && other[i] == own[i]; i++)
        if (other[i] == '\n') line = i + 1;
    other += line;
    own += line;
    const size_t name = strcspn(own, "="), other_name = strcspn(other, "=");
    if (name != other_name || strncmp(own, other, name) != 0 || !own[name])
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "rank %d runs another program than rank 0; start all ranks with the same program", rank);
    own += name + 1;
    other += name + 1;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                      "rank %d trains with another %.*s than rank 0: %.*s, not %.*s; start all ranks with the same "
                      "options, scene and program",
                      rank, (int)name, own - name - 1, (int)strcspn(other, "\n"), other, (int)strcspn(own, "\n"), own);
}

/* Collective: a new copy of rank `root`'s description. */
static splat_status copy_from(splat_comm *comm, int root, const description *own, char **copy, splat_error *error)
{
    uint64_t bytes = own->bytes;
    SPLAT_TRY(splat_comm_broadcast(comm, root, &bytes, sizeof bytes, error));
    *copy = calloc((size_t)bytes + 1, 1);
    if (!*copy) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare the options of the ranks");
    if (comm->rank == root) memcpy(*copy, own->text, own->bytes);
    return splat_comm_broadcast(comm, root, *copy, (size_t)bytes, error);
}

/* Rank 0 fails first, so that its own words are reported: the others wait in an exchange until they hear of that. */
static void wait_for_first(splat_comm *comm)
{
    uint64_t unused[SPLAT_MAX_RANKS];
    splat_error ignored;
    if (comm->rank > 0) splat_comm_share_u64(comm, 0, unused, &ignored);
}

static splat_status refuse_rank(splat_comm *comm, int rank, const description *own, splat_error *error)
{
    char *of_first = NULL, *of_rank = NULL;
    splat_status status = copy_from(comm, 0, own, &of_first, error);
    if (status == SPLAT_OK) status = copy_from(comm, rank, own, &of_rank, error);
    if (status == SPLAT_OK) status = explain(rank, of_rank, of_first, error);
    free(of_first);
    free(of_rank);
    if (status == SPLAT_ERROR_ARGUMENT) wait_for_first(comm);
    return status;
}

splat_status splat_shards_compare_options(const splat_trainer *t, splat_error *error)
{
    splat_comm *comm = t->options.ranks;
    uint64_t all[SPLAT_MAX_RANKS];
    description own = {0};
    splat_status status = describe(t, &own, error);
    if (status == SPLAT_OK)
        status = splat_comm_share_u64(comm, hash_bytes(HASH_START, own.text, own.bytes), all, error);
    for (int r = 1; r < comm->size && status == SPLAT_OK; r++)
        if (all[r] != all[0]) status = refuse_rank(comm, r, &own, error);
    free(own.text);
    return status;
}
