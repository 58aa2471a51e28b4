/* Ranks that are threads of this process: each with its own context and trainer, on one scene. */
#include "distributed/comm.h"
#include "train/state.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct worker {
    pthread_t thread;
    bool runs;
    splat_comm *comm;
    splat_scene *scene;
    splat_context_options context;
    splat_train_options train;
} worker;

struct splat_workers {
    splat_comm *first; /* rank 0's */
    int n;             /* ranks, rank 0 included */
    worker each[];     /* [n]; the first is not used */
};

/* Runs a rank from its beginning to its end. The trainer reports a failure to the other ranks; before there is one,
 * this function does. */
static void *work(void *data)
{
    worker *w = data;
    splat_context *context = NULL;
    splat_trainer *trainer = NULL;
    splat_error error;
    splat_status status = splat_context_create(&w->context, &context, &error);
    if (status != SPLAT_OK) splat_comm_fail(w->comm, &error);
    if (status == SPLAT_OK) status = splat_trainer_create(context, w->scene, &w->train, &trainer, &error);
    if (status == SPLAT_OK) splat_trainer_serve(trainer, &error);
    splat_trainer_destroy(trainer);
    splat_context_destroy(context);
    splat_comm_close(w->comm);
    return NULL;
}

static splat_status start(splat_workers *workers, const splat_context_options *context, splat_scene *scene,
                          const splat_train_options *train, splat_comm *const *comms, splat_error *error)
{
    for (int r = 1; r < workers->n; r++) {
        worker *w = &workers->each[r];
        *w = (worker){.comm = comms[r], .scene = scene, .context = *context, .train = *train};
        w->context.gpu += r;
        w->context.log = NULL; /* rank 0 speaks */
        w->train.ranks = comms[r];
    }
    for (int r = 1; r < workers->n; r++) {
        worker *w = &workers->each[r];
        w->runs = pthread_create(&w->thread, NULL, work, w) == 0;
        if (w->runs) continue;
        splat_status status = splat_fail(error, SPLAT_ERROR_MEMORY, "the system starts no thread for rank %d of %d", r,
                                         workers->n);
        splat_comm_fail(workers->first, error);
        for (int later = r; later < workers->n; later++) splat_comm_close(workers->each[later].comm);
        return status;
    }
    return SPLAT_OK;
}

splat_status splat_workers_start(const splat_context_options *context, splat_scene *scene,
                                 const splat_train_options *train, int n, splat_workers **result, splat_comm **comm,
                                 splat_error *error)
{
    splat_comm *comms[SPLAT_MAX_RANKS];
    splat_error own;
    *result = NULL;
    *comm = NULL;
    SPLAT_TRY(splat_comm_create_threads(n, comms, error));
    splat_workers *workers = calloc(1, sizeof *workers + (size_t)n * sizeof *workers->each);
    if (!workers) {
        for (int r = 0; r < n; r++) splat_comm_close(comms[r]);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %d ranks", n);
    }
    workers->n = n;
    workers->first = comms[0];
    splat_status status = start(workers, context, scene, train, comms, &own);
    if (status != SPLAT_OK) {
        if (error) *error = own;
        splat_workers_join(workers);
        return status;
    }
    *result = workers;
    *comm = comms[0];
    return SPLAT_OK;
}

void splat_workers_join(splat_workers *workers)
{
    const splat_error ended = {.status = SPLAT_ERROR_RANK, .message = "it has ended"};
    if (!workers) return;
    splat_comm_fail(workers->first, &ended); /* those who serve no more do not hear it */
    for (int r = 1; r < workers->n; r++)
        if (workers->each[r].runs) pthread_join(workers->each[r].thread, NULL);
    splat_comm_close(workers->first);
    free(workers);
}
