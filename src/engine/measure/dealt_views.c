/* Batches of views: each rank blends and measures one; figures and pictures come to rank 0. */
#include "measure/dealt_views.h"
#include "measure/lpips/lpips_load.h"

#include "base/clock.h"
#include "math/camera.h"
#include "measure/lpips/lpips.h"
#include "measure/picture_metrics.h"
#include "train/ranks/pictures.h"
#include "train/ranks/rows.h"
#include "train/state.h"

#include <stdlib.h>
#include <string.h>

/* The result of a rank's view. */
typedef struct result {
    splat_status status; /* of measuring it */
    splat_error error;
    splat_metrics metrics; /* lpips_net is of another process: only whether it is NULL counts */
    bool lacks_lpips;      /* for which there was no room, or too small a picture */
} result;

/* ---------------------------------------------------------------- on every rank */

/* Its photo is decoded ahead. */
static void prefetch_next(const splat_trainer *t, const splat_views_order *o, const uint32_t *indices, size_t n)
{
    const size_t next = o->at + (size_t)t->shards.comm->size + (size_t)t->shards.comm->rank;
    if (next < n) splat_image_cache_prefetch(t->scene->cache, indices[next]);
}

/* All blend; then each measures its own view, which may fail by itself. */
static splat_status measure_own(splat_evaluator *e, const splat_views_order *o, const uint32_t *indices, result *own,
                                splat_error *error)
{
    splat_trainer *t = e->trainer;
    const int rank = t->shards.comm->rank;
    const double begin = splat_clock_seconds();
    const uint8_t *photo;
    const bool counts = o->counts && o->at + (uint32_t)rank < o->n_shown;
    own->status = splat_shards_blend(t, indices + o->at, o->n_views, counts, &own->error);
    if (own->status != SPLAT_OK && !(own->status == SPLAT_ERROR_MEMORY && t->shards.batch.agrees)) {
        if (error) *error = own->error;
        return own->status;
    }
    if (own->status != SPLAT_OK) return SPLAT_OK; /* of all: rank 0 gets the error, and the ranks continue */
    if (rank >= o->n_views) return SPLAT_OK;
    SPLAT_TRY(splat_backend_synchronize(t->backend, error));
    const double ms = 1000 * (splat_clock_seconds() - begin);
    const uint32_t index = indices[o->at + (uint32_t)rank];
    own->status = splat_evaluator_measure(e, index, &photo, &own->metrics, &own->error);
    if (own->status == SPLAT_OK) splat_image_cache_release(e->scene->cache, index);
    own->metrics.render_ms = ms;
    own->lacks_lpips = o->lpips && !e->job.lpips;
    return SPLAT_OK;
}

/* The own result to rank 0: all[ranks], there. */
static splat_status send_result(splat_trainer *t, const splat_views_order *o, result *own, result *all,
                                splat_error *error)
{
    splat_comm *comm = t->shards.comm;
    splat_comm_part out[SPLAT_MAX_RANKS] = {{0}}, in[SPLAT_MAX_RANKS] = {{0}};
    if (comm->rank < o->n_views) out[0] = (splat_comm_part){own, sizeof *own};
    for (int r = 0; r < o->n_views && comm->rank == 0; r++) in[r] = (splat_comm_part){&all[r], sizeof *all};
    return splat_comm_exchange(comm, out, in, error);
}

/* From the device of rank `from`, if that is this one, to host memory of rank 0. Nothing where the view failed. */
static splat_status send_array(splat_trainer *t, int from, const void *device, void *host, size_t bytes,
                               splat_error *error)
{
    splat_comm *comm = t->shards.comm;
    splat_comm_part out[SPLAT_MAX_RANKS] = {{0}}, in[SPLAT_MAX_RANKS] = {{0}};
    void *copy = NULL;
    if (from == 0) return comm->rank == 0 && bytes ? splat_backend_download(t->backend, host, device, bytes, error)
                                                   : SPLAT_OK;
    splat_status status = SPLAT_OK;
    if (comm->rank == from && bytes) {
        copy = malloc(bytes);
        status = copy ? splat_backend_download(t->backend, copy, device, bytes, error)
                      : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a picture");
        out[0] = (splat_comm_part){copy, bytes};
    }
    if (comm->rank == 0) in[from] = (splat_comm_part){host, bytes};
    if (status == SPLAT_OK) status = splat_comm_exchange(comm, out, in, error);
    free(copy);
    return status;
}

/* The picture of rank `from`, and its counts: good: whether there is one, which rank 0 and that rank know. */
static splat_status send_picture(splat_evaluator *e, const splat_views_order *o, const uint32_t *indices, int from,
                                 bool good, float *render, splat_error *error)
{
    splat_trainer *t = e->trainer;
    const splat_camera *camera = &e->scene->dataset.views[indices[o->at + (uint32_t)from]].camera;
    const size_t n_pixels = good ? splat_camera_pixels(camera) : 0;
    const splat_frame *frame = &t->model->frame;
    SPLAT_TRY(send_array(t, from, frame->image, render, 3 * n_pixels * sizeof *render, error));
    if (!o->counts) return SPLAT_OK;
    return send_array(t, from, frame->blended, e->blended, n_pixels * sizeof *e->blended, error);
}

/* ---------------------------------------------------------------- rank 0 */

typedef struct dealing {
    splat_evaluator *e;
    const uint32_t *indices;
    float *render;        /* host, of the largest view; NULL: nobody looks */
    splat_metrics *mean;
    result *all;          /* [ranks], of a batch */
    const char *label;    /* of LPIPS */
    bool go_on;           /* false: the visitor has seen enough */
    splat_status status;  /* of measuring and showing: the ranks wait for orders all the same */
    splat_error error;
} dealing;

static void give_up_lpips(splat_evaluator *e, int rank)
{
    if (!e->job.lpips) return;
    splat_log(e->trainer->context, SPLAT_LOG_NOTICE, "LPIPS is not measured: rank %d has no room for it, or too small "
              "a picture", rank);
    splat_lpips_release(e->job.lpips);
    e->job.lpips = NULL;
}

static void take_result(dealing *d, uint32_t at, int rank, bool is_shown)
{
    splat_metrics *metrics = &d->all[rank].metrics;
    if (d->all[rank].status != SPLAT_OK) {
        d->status = d->all[rank].status;
        d->error = d->all[rank].error;
        return;
    }
    if (d->all[rank].lacks_lpips) give_up_lpips(d->e, rank);
    if (metrics->lpips_net) metrics->lpips_net = d->label;
    if (metrics->n_views) splat_metrics_add(d->mean, metrics);
    if (is_shown)
        d->status = splat_evaluator_show(d->e, d->indices[at], at, d->render, metrics, &d->go_on, &d->error);
}

/* The views of a batch, in their order. Pictures that are sent are taken, whatever became of those before. */
static splat_status take_results(dealing *d, const splat_views_order *o, splat_error *error)
{
    for (int r = 0; r < o->n_views; r++) {
        const uint32_t at = o->at + (uint32_t)r;
        const bool is_shown = at < o->n_shown;
        if (is_shown)
            SPLAT_TRY(send_picture(d->e, o, d->indices, r, d->all[r].status == SPLAT_OK, d->render, error));
        if (d->status == SPLAT_OK && d->go_on) take_result(d, at, r, is_shown);
    }
    return SPLAT_OK;
}

static splat_status run_batch(dealing *d, splat_order *order, splat_error *error)
{
    const splat_views_order *o = &order->views;
    splat_trainer *t = d->e->trainer;
    result own = {.status = SPLAT_OK};
    SPLAT_TRY(splat_order_give(t, order, error));
    if (o->sends_lpips) SPLAT_TRY(splat_lpips_share(t->context, t->shards.comm, &d->e->job.lpips, error));
    SPLAT_TRY(measure_own(d->e, o, d->indices, &own, error));
    SPLAT_TRY(send_result(t, o, &own, d->all, error));
    return take_results(d, o, error);
}

static splat_status run_batches(dealing *d, size_t n, splat_error *error)
{
    splat_evaluator *e = d->e;
    const size_t n_ranks = (size_t)e->trainer->shards.comm->size;
    splat_order order;
    splat_error own;
    for (size_t at = 0; at < n && d->go_on && d->status == SPLAT_OK; at += n_ranks) {
        splat_order_make(e->trainer, SPLAT_ORDER_EVALUATE, &order);
        splat_views_order *o = &order.views;
        o->set = e->job.set;
        o->at = (uint32_t)at;
        o->n_views = (int)(n - at < n_ranks ? n - at : n_ranks);
        o->n_shown = e->job.visit ? e->n_shown : 0;
        o->counts = e->blended != NULL;
        o->quantize = e->job.quantize;
        o->color_correct = e->job.color_correct;
        o->lpips = e->job.lpips != NULL;
        o->sends_lpips = o->lpips && at == 0;
        o->is_last = at + n_ranks >= n;
        prefetch_next(e->trainer, o, d->indices, n);
        SPLAT_TRY(splat_shards_fail(e->trainer, run_batch(d, &order, &own), &own, error));
    }
    if (d->status != SPLAT_OK && error) *error = d->error;
    return d->status;
}

splat_status splat_dealt_views_run(splat_evaluator *e, const uint32_t *indices, size_t n, float *render,
                                   splat_metrics *mean, splat_error *error)
{
    dealing d = {.e = e, .indices = indices, .render = render, .mean = mean, .go_on = true,
                 .label = e->job.lpips ? splat_lpips_label(e->job.lpips) : NULL};
    SPLAT_TRY(splat_shards_deal(e->trainer, error));
    d.all = calloc((size_t)e->trainer->shards.comm->size, sizeof *d.all);
    if (!d.all) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for what ranks measure");
    splat_status status = run_batches(&d, n, error);
    free(d.all);
    return status;
}

/* ---------------------------------------------------------------- the others */

static splat_status serve_batch(splat_evaluator *e, const splat_views_order *o, splat_error *error)
{
    splat_trainer *t = e->trainer;
    uint32_t storage[5];
    const uint32_t *indices;
    result own = {.status = SPLAT_OK};
    const size_t n = splat_scene_view_set(t->scene, o->set, &indices, storage);
    prefetch_next(t, o, indices, n);
    SPLAT_TRY(measure_own(e, o, indices, &own, error));
    SPLAT_TRY(send_result(t, o, &own, NULL, error));
    for (int r = 0; r < o->n_views && o->at + (uint32_t)r < o->n_shown; r++)
        SPLAT_TRY(send_picture(e, o, indices, r, r == t->shards.comm->rank && own.status == SPLAT_OK, NULL, error));
    return SPLAT_OK;
}

splat_status splat_dealt_views_serve(splat_trainer *t, const splat_order *order, splat_lpips **lpips,
                                     splat_error *error)
{
    const splat_views_order *o = &order->views;
    t->model->gaussians.active_sh_degree = order->active_sh_degree;
    if (o->sends_lpips) SPLAT_TRY(splat_lpips_share(t->context, t->shards.comm, lpips, error));
    const splat_view_job job = {.set = o->set, .quantize = o->quantize, .lpips = o->lpips ? *lpips : NULL,
                                .color_correct = o->color_correct};
    splat_evaluator e = splat_evaluator_make(t->model, t->scene, &job);
    e.trainer = t;
    SPLAT_TRY(serve_batch(&e, o, error));
    if (*lpips && o->is_last) splat_lpips_release(*lpips);
    return SPLAT_OK;
}
