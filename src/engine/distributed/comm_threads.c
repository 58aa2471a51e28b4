/* Ranks that are threads of one process: pieces are copied from the sender's memory by the one who receives. */
#include "distributed/comm.h"

#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Looks before a rank sleeps: a step has a dozen meetings, most of some microseconds, and to be woken takes fifty. */
#define LOOKS 400

/* State shared by the ranks. */
typedef struct thread_group {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int size, n_open, n_looks;
    int n_waiting; /* ranks that have come to the meeting */
    atomic_uint n_meetings;
    unsigned came[SPLAT_MAX_RANKS]; /* each rank's last meeting */
    splat_comm_interruption interrupt; /* the first rank but 0 */
    atomic_int failed_rank; /* -1: none */
    char failure[1536];
    const splat_comm_part *sent[SPLAT_MAX_RANKS]; /* of the exchange in work */
} thread_group;

typedef struct thread_comm {
    splat_comm comm;
    thread_group *group;
} thread_comm;

/* This rank is here: whether it is the last one. */
static bool come(thread_group *g)
{
    if (++g->n_waiting < g->size) return false;
    g->n_waiting = 0;
    g->n_meetings++;
    pthread_cond_broadcast(&g->changed);
    return true;
}

/* Without the lock, for a while, until the meeting is over. */
static void look(thread_group *g, unsigned meeting)
{
    pthread_mutex_unlock(&g->lock);
    for (int i = 0; i < g->n_looks && g->n_meetings == meeting && g->failed_rank < 0; i++) sched_yield();
    pthread_mutex_lock(&g->lock);
}

static bool must_wait(const thread_group *g, unsigned meeting)
{
    return g->n_meetings == meeting && g->failed_rank < 0;
}

/* Waits so long; false: the meeting is not over then. */
static bool wait_for(thread_group *g, unsigned meeting, double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const double end = (double)until.tv_nsec * 1e-9 + seconds;
    until.tv_sec += (time_t)end;
    until.tv_nsec = (long)((end - floor(end)) * 1e9);
    while (must_wait(g, meeting))
        if (pthread_cond_timedwait(&g->changed, &g->lock, &until) == ETIMEDOUT) break;
    return !must_wait(g, meeting);
}

/* Rank 0, which reports a long wait. */
static void wait_and_report(const splat_comm *comm, thread_group *g, unsigned meeting)
{
    const double begin = splat_clock_seconds();
    char who[32];
    int first = -1, n_late = 0;
    if (wait_for(g, meeting, comm->patience)) return;
    for (int r = g->size - 1; r > 0; r--) {
        if (g->came[r] == meeting + 1) continue;
        n_late++;
        first = r;
    }
    snprintf(who, sizeof who, "rank %d", first);
    pthread_mutex_unlock(&g->lock);
    splat_comm_report_wait(comm, who, n_late - 1, splat_clock_seconds() - begin);
    pthread_mutex_lock(&g->lock);
    while (must_wait(g, meeting)) pthread_cond_wait(&g->changed, &g->lock);
    if (g->n_meetings != meeting) splat_comm_report_end_of_wait(comm, who, splat_clock_seconds() - begin);
}

/* Returns when all ranks are here; false: one failed before that. */
static bool meet(const splat_comm *comm, thread_group *g)
{
    const unsigned meeting = g->n_meetings;
    if (g->failed_rank >= 0) return false;
    g->came[comm->rank] = meeting + 1;
    if (!come(g)) look(g, meeting);
    if (comm->rank == 0 && must_wait(g, meeting)) wait_and_report(comm, g, meeting);
    while (must_wait(g, meeting)) pthread_cond_wait(&g->changed, &g->lock);
    return g->n_meetings != meeting;
}

/* With the lock: rank 0 gets to know of the first interrupted rank. */
static void pass_interrupt(splat_comm *comm, thread_group *g)
{
    if (comm->rank == 0)
        comm->interrupt = g->interrupt;
    else if (comm->interrupted && g->interrupt.rank == 0)
        g->interrupt = (splat_comm_interruption){comm->rank, comm->interrupted};
}

static void listen(splat_comm *comm)
{
    thread_group *g = ((thread_comm *)comm)->group;
    pthread_mutex_lock(&g->lock);
    pass_interrupt(comm, g);
    pthread_mutex_unlock(&g->lock);
}

/* The same once all are inside: nobody leaves with memory that another still copies from, failed or not. */
static void part(thread_group *g)
{
    const unsigned meeting = g->n_meetings;
    if (!come(g)) look(g, meeting);
    while (g->n_meetings == meeting) pthread_cond_wait(&g->changed, &g->lock);
}

static splat_status exchange(splat_comm *comm, const splat_comm_part *send, const splat_comm_part *receive,
                             splat_error *error)
{
    thread_group *g = ((thread_comm *)comm)->group;
    int odd = -1;
    pthread_mutex_lock(&g->lock);
    g->sent[comm->rank] = send;
    pass_interrupt(comm, g);
    bool all_here = meet(comm, g);
    pthread_mutex_unlock(&g->lock);
    if (!all_here) return splat_comm_failed(error, g->failed_rank, g->failure);
    for (int r = 0; r < comm->size; r++) {
        const splat_comm_part *from = &g->sent[r][comm->rank];
        if (from->bytes != receive[r].bytes)
            odd = r;
        else if (from->bytes && from->data != receive[r].data)
            memcpy(receive[r].data, from->data, from->bytes);
    }
    pthread_mutex_lock(&g->lock);
    part(g);
    pthread_mutex_unlock(&g->lock);
    if (odd < 0) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_INTERNAL, "rank %d expects other bytes of rank %d than that sends", comm->rank,
                      odd);
}

static void fail(splat_comm *comm, const char *message)
{
    thread_group *g = ((thread_comm *)comm)->group;
    pthread_mutex_lock(&g->lock);
    if (g->failed_rank < 0) {
        snprintf(g->failure, sizeof g->failure, "%s", message);
        g->failed_rank = comm->rank;
        pthread_cond_broadcast(&g->changed);
    }
    pthread_mutex_unlock(&g->lock);
}

static void leave(splat_comm *comm)
{
    thread_group *g = ((thread_comm *)comm)->group;
    pthread_mutex_lock(&g->lock);
    bool was_last = --g->n_open == 0;
    pthread_mutex_unlock(&g->lock);
    free(comm);
    if (!was_last) return;
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

static const splat_comm_functions thread_functions = {
    .name = "threads", .is_one_process = true, .exchange = exchange, .listen = listen, .fail = fail,
    .close = leave};

/* Its waits end by the clock of splat_clock_seconds. */
static void init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

splat_status splat_comm_create_threads(int n, splat_comm **comms, splat_error *error)
{
    if (n < 1 || n > SPLAT_MAX_RANKS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "there can be 1 to %d ranks, not %d", SPLAT_MAX_RANKS, n);
    thread_group *g = calloc(1, sizeof *g);
    int made = 0;
    for (; g && made < n; made++) {
        thread_comm *local = calloc(1, sizeof *local);
        if (!local) break;
        *local = (thread_comm){.group = g};
        local->comm =
            (splat_comm){.functions = &thread_functions, .rank = made, .size = n, .patience = splat_comm_patience()};
        comms[made] = &local->comm;
    }
    if (!g || made < n) {
        while (made-- > 0) free(comms[made]);
        free(g);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %d ranks", n);
    }
    pthread_mutex_init(&g->lock, NULL);
    init_condition(&g->changed);
    g->size = g->n_open = n;
    g->n_looks = sysconf(_SC_NPROCESSORS_ONLN) > n ? LOOKS : 0;
    g->failed_rank = -1;
    return SPLAT_OK;
}
