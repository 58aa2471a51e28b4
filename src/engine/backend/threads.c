/* How many threads the process may use. GNU's OpenMP ends the process when it cannot start one, so they are tried
 * before. */
#include "backend/threads.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

int splat_usable_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
    return omp_get_num_procs();
}

/* Threads in addition to those of parallel loops: the decoders of photos and the monitor. */
#define SPARE 9

typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool is_open;
} gate;

static void *wait_at_gate(void *user)
{
    gate *g = user;
    pthread_mutex_lock(&g->lock);
    while (!g->is_open) pthread_cond_wait(&g->opened, &g->lock);
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

/* The number of threads, at most so many, that can live at the same time. */
static int start_together(int requested)
{
    gate g = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    pthread_t *threads = calloc((size_t)requested, sizeof *threads);
    int n = 0;
    while (threads && n < requested && pthread_create(&threads[n], NULL, wait_at_gate, &g) == 0) n++;
    pthread_mutex_lock(&g.lock);
    g.is_open = true;
    pthread_cond_broadcast(&g.opened);
    pthread_mutex_unlock(&g.lock);
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
    free(threads);
    return n;
}

int splat_startable_threads(int requested)
{
    int others = requested - 1 + SPARE, n = start_together(others); /* in addition to the caller's own */
    if (n == others) return requested;
    return n > SPARE ? n - SPARE + 1 : 1;
}
