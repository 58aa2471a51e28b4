/* The viewer during a training: between two steps it notes their figures, obeys clients, and makes pictures within its
 * share of the time. */
#include "base/clock.h"
#include "scene/scene.h"
#include "splatsmith/viewer.h"
#include "train/ranks/shards.h"
#include "train/state.h"
#include "viewer/pictures.h"
#include "viewer/start_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CREDIT_MOST 0.1      /* seconds that wait for somebody who begins to look */
#define DEBT_MOST 0.3        /* seconds of credit for answering a hand on the page; a plain refresh has none */
#define MOVING_RATE 30       /* pictures a second of a camera that moves: smaller ones, so that the budget has room */
#define MOVING_SMALLEST 0.25 /* of the side: a CPU makes fewer rather than smaller ones */
#define RATE_SECONDS 5.0     /* the time constant of the steps a second */
#define MEMORY_SECONDS 1.0   /* between two counts of the blocks */

static void lock(splat_viewer *v)
{
    pthread_mutex_lock(&v->mutex);
}

static void unlock(splat_viewer *v)
{
    v->status.n_changes++;
    pthread_mutex_unlock(&v->mutex);
}

splat_status splat_viewer_watch(splat_viewer *v, splat_trainer *trainer, const char *stage, splat_error *error)
{
    if (trainer) SPLAT_TRY(splat_viewer_set_scene(v, NULL, trainer->scene, error));
    const double now = splat_clock_seconds();
    v->trainer = trainer;
    v->scene = trainer ? trainer->scene : NULL;
    v->moving_seconds = fmin(SPLAT_VIEWER_MOVING_SECONDS, v->budget / MOVING_RATE);
    v->moving_smallest = MOVING_SMALLEST;
    v->credit = CREDIT_MOST;
    v->credit_at = v->rate_at = now;
    v->rate_iteration = 0;
    v->looked_at_memory = 0;
    lock(v);
    v->status = (splat_viewer_status){.n_changes = v->status.n_changes, .n_stages = v->status.n_stages + 1,
                                      .trains = trainer != NULL, .saved = v->status.saved};
    if (stage) snprintf(v->status.stage, sizeof v->status.stage, "%s", stage);
    if (trainer) {
        v->status.iteration = trainer->iteration;
        v->status.iterations = trainer->options.iterations;
        v->status.n_gaussians = splat_shards_count(trainer);
        v->curves = (splat_viewer_curves){0};
    }
    v->step = trainer ? (uint32_t)trainer->iteration : 0;
    v->wants_save = v->wants_stop = false;
    unlock(v);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- figures */

static void note(splat_viewer *v, const char *format, ...) SPLAT_PRINTF(2, 3);
static void note(splat_viewer *v, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    lock(v);
    vsnprintf(v->status.note, sizeof v->status.note, format, arguments);
    unlock(v);
    va_end(arguments);
}

static void add_block(void *user, const char *owner, const char *name, size_t bytes)
{
    splat_viewer_status *s = user;
    if (strcmp(owner, "host") == 0) return;
    s->device_bytes += bytes;
    if (s->n_blocks < SPLAT_VIEWER_BLOCKS_MAX) {
        splat_viewer_block *block = &s->blocks[s->n_blocks++];
        snprintf(block->owner, sizeof block->owner, "%s", owner);
        snprintf(block->name, sizeof block->name, "%s", name);
        block->bytes = bytes;
    } else {
        splat_viewer_block *last = &s->blocks[SPLAT_VIEWER_BLOCKS_MAX - 1];
        last->owner[0] = '\0';
        snprintf(last->name, sizeof last->name, "all others");
        last->bytes += bytes;
    }
}

/* The largest blocks by their names, now and then, while somebody looks. */
static void look_at_memory(splat_viewer *v, double now)
{
    splat_viewer_status counted = {0};
    if (now - v->looked_at_memory < MEMORY_SECONDS) return;
    lock(v);
    const bool seen = splat_viewer_count_clients(v) > 0;
    unlock(v);
    if (!seen) return;
    v->looked_at_memory = now;
    splat_context_visit_memory_blocks(v->trainer->context, add_block, &counted);
    lock(v);
    v->status.device_bytes = counted.device_bytes;
    v->status.n_blocks = counted.n_blocks;
    memcpy(v->status.blocks, counted.blocks, sizeof counted.blocks);
    unlock(v);
}

/* Rates of the last seconds count most. */
static void measure_rate(splat_viewer *v, int iteration, double now)
{
    const double elapsed = now - v->rate_at;
    if (v->rate_iteration && elapsed < 0.2) return;
    if (v->rate_iteration && iteration > v->rate_iteration) {
        const double rate = (iteration - v->rate_iteration) / elapsed;
        const double weight = v->status.rate > 0 ? 1 - exp(-elapsed / RATE_SECONDS) : 1;
        v->status.rate += weight * (rate - v->status.rate);
    }
    v->rate_at = now;
    v->rate_iteration = iteration;
}

static void note_step(splat_viewer *v, const splat_step_info *step)
{
    const double now = splat_clock_seconds();
    lock(v);
    splat_viewer_status *s = &v->status;
    measure_rate(v, step->iteration, now);
    s->iteration = step->iteration;
    s->n_gaussians = step->n_gaussians;
    if (step->loss > 0) s->loss = s->loss > 0 ? 0.4 * (double)step->loss + 0.6 * s->loss : (double)step->loss;
    splat_viewer_curves_add(&v->curves, &(splat_viewer_point){step->iteration, s->loss, step->n_gaussians});
    v->step = (uint32_t)step->iteration;
    unlock(v);
    look_at_memory(v, now);
}

static void note_evaluation(splat_viewer *v, const splat_event *event)
{
    const splat_metrics *m = event->metrics;
    const bool is_test = event->set == SPLAT_VIEWS_TEST;
    if (m->n_views == 0) return;
    lock(v);
    splat_viewer_curves_measure(&v->curves, &(splat_viewer_measured){v->status.iteration, is_test, m->psnr, m->ssim});
    if (is_test) {
        v->status.psnr = m->psnr;
        v->status.psnr_iteration = v->status.iteration;
    }
    unlock(v);
    v->rate_iteration = 0; /* evaluations are no steps */
}

/* Pages may fetch it. That there is no memory for its path is no reason to end a training. */
static void offer_saved(splat_viewer *v, const char *path)
{
    float background[3];
    splat_scene_background(v->trainer->scene, background);
    if (splat_viewer_offer(v, path, v->trainer->iteration, v->trainer->model, background, NULL) != SPLAT_OK) return;
    lock(v);
    v->status.saved.n_gaussians = splat_shards_count(v->trainer); /* of all ranks */
    unlock(v);
}

/* ---------------------------------------------------------------- between two steps */

/* Executes the requests of clients since the last call; a pause lasts until a client ends it. */
static bool obey(splat_viewer *v)
{
    pthread_mutex_lock(&v->mutex);
    const bool save = v->wants_save, stop = v->wants_stop, is_paused = v->status.is_paused && !stop;
    v->wants_save = v->wants_stop = false;
    pthread_mutex_unlock(&v->mutex);
    splat_viewer_tell_refusal(v, v->trainer->context);
    if (save) splat_trainer_request_save(v->trainer);
    if (stop) splat_trainer_request_stop(v->trainer);
    return is_paused && !save && !splat_shards_is_stopped(v->trainer);
}

/* Renders a picture. A failure does not end the training. Below a memory limit the picture keeps no memory that the
 * training would have to make room for. */
static void make_picture(splat_viewer *v, const splat_viewer_job *job)
{
    splat_error error;
    float background[3];
    splat_trainer *t = v->trainer;
    splat_scene_background(t->scene, background);
    if (splat_viewer_make(v, t->model, background, job, &error) != SPLAT_OK && !v->picture_failed) {
        splat_log(t->context, SPLAT_LOG_WARNING, "the viewer has no picture%s: %s",
                  v->status.trains ? ", and training goes on" : "", error.message);
        note(v, "no picture: %s", error.message);
        v->picture_failed = true;
    }
    if (t->backend->memory.limit) splat_shards_release(t, NULL);
}

/* At most one picture, when there is time for it. Who moves the camera is answered a little ahead of the budget. */
static void serve(splat_viewer *v)
{
    splat_viewer_job job;
    const double now = splat_clock_seconds();
    v->credit = fmin(CREDIT_MOST, v->credit + v->budget * (now - v->credit_at));
    v->credit_at = now;
    if (v->credit < -DEBT_MOST || !splat_viewer_take(v, 0, v->credit >= 0, &job)) return;
    make_picture(v, &job);
    v->credit -= splat_clock_seconds() - now;
}

static void tell_pause(splat_viewer *v, bool is_paused)
{
    if (v->pause_told == is_paused) return;
    v->pause_told = is_paused;
    splat_log(v->trainer->context, SPLAT_LOG_NOTICE, "the viewer %s the training, after step %d",
              is_paused ? "pauses" : "goes on with", v->trainer->iteration);
}

/* A pause whose pages have all gone (a closed laptop) ends by itself. *alone_since: when the last one went; 0: one is
 * there. */
static void end_abandoned_pause(splat_viewer *v, double *alone_since)
{
    const double now = splat_clock_seconds();
    pthread_mutex_lock(&v->mutex);
    const bool is_alone = splat_viewer_count_clients(v) == 0;
    const bool is_abandoned = is_alone && *alone_since > 0 && now - *alone_since >= v->pause_limit;
    if (is_abandoned) v->status.is_paused = false;
    pthread_mutex_unlock(&v->mutex);
    if (!is_alone || *alone_since == 0) *alone_since = is_alone ? now : 0;
    if (!is_abandoned) return;
    splat_log(v->trainer->context, SPLAT_LOG_NOTICE,
              "no page of the viewer has been open for %.0f seconds, so its pause ends", v->pause_limit);
    note(v, "no page was open for %.0f seconds, so the pause ended", v->pause_limit);
}

/* The training stands; the model does not change, and pictures take no time from anybody. */
static void wait_in_pause(splat_viewer *v)
{
    splat_viewer_job job;
    bool waited = false;
    double alone_since = 0;
    while (obey(v)) {
        tell_pause(v, true);
        waited = true;
        end_abandoned_pause(v, &alone_since);
        if (splat_viewer_take(v, 0.1, true, &job)) make_picture(v, &job);
    }
    if (!waited) return;
    v->credit_at = splat_clock_seconds();
    v->rate_iteration = 0;
    pthread_mutex_lock(&v->mutex);
    const bool goes_on = !v->status.is_paused; /* else a save is between two parts of the pause */
    pthread_mutex_unlock(&v->mutex);
    if (goes_on) tell_pause(v, false);
}

void splat_viewer_event(void *user, const splat_event *event)
{
    splat_viewer *v = user;
    if (!v->trainer) return;
    switch (event->kind) {
    case SPLAT_EVENT_STEP:
        note_step(v, event->step);
        serve(v);
        wait_in_pause(v);
        break;
    case SPLAT_EVENT_EVALUATION: note_evaluation(v, event); break;
    case SPLAT_EVENT_CHECKPOINT: note(v, "saved %s", event->path); break;
    case SPLAT_EVENT_SAVED:
        offer_saved(v, event->path);
        note(v, "saved %s", event->path);
        wait_in_pause(v); /* a save in a pause does not end it */
        break;
    }
}

/* ---------------------------------------------------------------- after the last step */

void splat_viewer_finish(splat_viewer *v, const char *result)
{
    v->moving_seconds = SPLAT_VIEWER_MOVING_SECONDS; /* nothing else needs the time now */
    v->moving_smallest = SPLAT_VIEWER_MOVING_SMALLEST;
    lock(v);
    v->status.trains = v->status.is_paused = false;
    v->wants_save = v->wants_stop = false;
    snprintf(v->status.result, sizeof v->status.result, "%s", result);
    unlock(v);
}

void splat_viewer_stay(splat_viewer *v, double seconds)
{
    splat_viewer_job job;
    if (!v->trainer) return;
    splat_viewer_tell_refusal(v, v->trainer->context);
    if (splat_viewer_take(v, seconds, true, &job)) make_picture(v, &job);
}
