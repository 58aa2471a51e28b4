/* Views that take alike, side by side: where each rank has a view, a step takes as long as the longest. What a view
 * takes is told by the pairs it had when it was last trained on. */
#include "train/ranks/shards.h"

#include "train/state.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW 8 /* batches among whose views those that take alike are found */

static splat_shard_views *views_of(splat_trainer *t)
{
    return &t->shards.views;
}

splat_status splat_shard_views_init(splat_trainer *t, splat_error *error)
{
    const size_t n = t->scene->dataset.n_views;
    /* Where runs have the same bytes they go on from checkpoints, which do not know what views took. */
    if (splat_backend_result_latency(t->backend) == 0 || t->backend->deterministic) return SPLAT_OK;
    views_of(t)->pairs = calloc(2 * n, sizeof *views_of(t)->pairs);
    if (!views_of(t)->pairs) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu views", n);
    views_of(t)->of_order = views_of(t)->pairs + n;
    return SPLAT_OK;
}

void splat_shard_views_free(splat_trainer *t)
{
    free(views_of(t)->pairs);
    *views_of(t) = (splat_shard_views){0};
}

/* Half an epoch before it is needed: all ranks look at the same moment, though some begin the next epoch earlier. */
void splat_shard_views_begin_batch(splat_trainer *t, int first)
{
    splat_shard_views *v = views_of(t);
    const size_t n_train = t->scene->dataset.n_train, step = (size_t)(first - 1);
    if (!v->pairs || step % n_train < n_train / 2 || v->looked_in == step / n_train + 1) return;
    memcpy(v->of_order, v->pairs, t->scene->dataset.n_views * sizeof *v->pairs);
    v->looked_in = step / n_train + 1;
}

void splat_shard_views_note(splat_trainer *t, const double *pairs, const uint32_t *views, int n_views)
{
    splat_shard_views *v = views_of(t);
    for (int r = 0; v->pairs && r < v->n_before; r++)
        if (pairs[r] > 0) v->pairs[v->before[r]] = (float)pairs[r];
    v->n_before = n_views;
    memcpy(v->before, views, (size_t)n_views * sizeof *views);
}

/* By insertion: windows are small, and nearly nothing is equal. */
static void sort(uint32_t *order, size_t n, const uint32_t *views, const float *pairs)
{
    for (size_t i = 1; i < n; i++) {
        const uint32_t own = order[i];
        size_t at = i;
        for (; at > 0 && pairs[views[order[at - 1]]] > pairs[views[own]]; at--) order[at] = order[at - 1];
        order[at] = own;
    }
}

void splat_sort_views(uint32_t *order, size_t n, size_t window, const uint32_t *views, const float *pairs)
{
    for (size_t i = 0; i < n; i++)
        if (!(pairs[views[i]] > 0)) return; /* not all are known */
    for (size_t first = 0; first < n; first += window)
        sort(order + first, n - first < window ? n - first : window, views, pairs);
}

void splat_shard_views_order(splat_trainer *t)
{
    const splat_dataset *dataset = &t->scene->dataset;
    const size_t window = t->shards.comm ? (size_t)t->shards.comm->size * WINDOW : 1;
    if (views_of(t)->pairs && views_of(t)->looked_in)
        splat_sort_views(t->view_order, dataset->n_train, window, dataset->train, views_of(t)->of_order);
}
