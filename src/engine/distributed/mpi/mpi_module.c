/* The ranks of an MPI job. Pieces go by messages without blocking, so that a rank that waits hears when another fails
 * (a message of its own), and finds out when one is gone. */
#include "distributed/mpi_module.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE_BYTES ((size_t)1 << 30) /* larger pieces go as several messages: MPI counts with int */
#define POLLS_AT_ONCE 2000              /* polls before a wait begins to sleep between them */
#define SLEEP_NS 50000
#define WATCH_SECONDS 0.1 /* between two looks at the processes of the others */
#define ANSWER_SECONDS 2. /* that a rank has to say that it waits, too */

/* The host and the place of a rank. */
typedef struct place {
    char host[64];
    int pid;
} place;

/* Said to all by a rank that fails, or that has found another gone. */
typedef struct verdict {
    int is_lost, rank;
    char text[1600];
} verdict;

/* The messages of `control`. ASK and ANSWER carry the number of a question, INTERRUPT the value of
 * splat_comm.interrupted. */
enum { TAG_VERDICT, TAG_ASK, TAG_ANSWER, TAG_INTERRUPT };

static struct {
    MPI_Comm data, control;
    int rank, size;
    double patience;         /* seconds that an interrupted rank 0 still waits for one whose process it cannot see */
    const char **local;      /* [size] non-NULL: on this host, and its process can be seen */
    place *places;           /* [size] */
    splat_mpi_outcome ended; /* OK until a rank failed or is lost; */
    verdict verdict;         /* then why */
    int question;            /* rank 0: who waits, too? 0: not asked yet */
    int *answers;            /* [size] rank 0: the last question that each has answered */
    splat_comm_interruption interrupt; /* of this rank, once it was passed on; rank 0: of the first other rank */
} job;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static splat_mpi_outcome refused(int code, const char *what, splat_mpi_failure *failure)
{
    char reason[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(code, reason, &length);
    failure->rank = job.rank;
    snprintf(failure->text, sizeof failure->text, "MPI refused %s: %s", what, reason);
    return SPLAT_MPI_ERROR;
}

/* ---------------------------------------------------------------- opening */

static int is_visible(const place *p)
{
    return kill(p->pid, 0) == 0 || errno == EPERM;
}

/* mpirun ends what is left of a job with a dead rank by SIGTERM, and a second later, or so many, by SIGKILL. */
static double patience_of_launcher(void)
{
    const char *text = getenv("OMPI_MCA_odls_base_sigkill_timeout");
    double seconds = text ? atof(text) : 0;
    return seconds > 1 ? 0.5 * seconds : 0.5;
}

static splat_mpi_outcome find_places(splat_mpi_failure *failure)
{
    place own = {.pid = (int)getpid()};
    gethostname(own.host, sizeof own.host - 1);
    job.places = calloc((size_t)job.size, sizeof *job.places);
    job.local = calloc((size_t)job.size, sizeof *job.local);
    job.answers = calloc((size_t)job.size, sizeof *job.answers);
    if (!job.places || !job.local || !job.answers) {
        failure->rank = job.rank;
        snprintf(failure->text, sizeof failure->text, "no memory for %d ranks", job.size);
        return SPLAT_MPI_ERROR;
    }
    int code = MPI_Allgather(&own, sizeof own, MPI_BYTE, job.places, sizeof own, MPI_BYTE, job.control);
    if (code != MPI_SUCCESS) return refused(code, "to gather the ranks' hosts", failure);
    for (int r = 0; r < job.size; r++)
        if (r != job.rank && strcmp(job.places[r].host, own.host) == 0 && is_visible(&job.places[r]))
            job.local[r] = job.places[r].host;
    return SPLAT_MPI_OK;
}

static splat_mpi_outcome open_job(int *rank, int *size, splat_mpi_failure *failure)
{
    int provided, code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    if (code != MPI_SUCCESS) return refused(code, "to start", failure);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Comm_dup(MPI_COMM_WORLD, &job.data);
    if (code == MPI_SUCCESS) code = MPI_Comm_dup(MPI_COMM_WORLD, &job.control);
    if (code != MPI_SUCCESS) return refused(code, "a communicator", failure);
    MPI_Comm_set_errhandler(job.data, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(job.control, MPI_ERRORS_RETURN);
    MPI_Comm_rank(job.data, &job.rank);
    MPI_Comm_size(job.data, &job.size);
    job.patience = patience_of_launcher();
    *rank = job.rank;
    *size = job.size;
    return find_places(failure);
}

/* ---------------------------------------------------------------- failures */

static splat_mpi_outcome tell_verdict(splat_mpi_failure *failure)
{
    failure->rank = job.verdict.rank;
    snprintf(failure->text, sizeof failure->text, "%s", job.verdict.text);
    return job.ended;
}

/* A small message, which leaves at once and lies in memory that stays. */
static void post(const void *message, size_t bytes, int rank, int tag)
{
    MPI_Request request;
    if (MPI_Isend(message, (int)bytes, MPI_BYTE, rank, tag, job.control, &request) == MPI_SUCCESS)
        MPI_Request_free(&request);
}

/* To all others, as far as they still listen. */
static void pronounce(splat_mpi_outcome outcome, int rank, const char *text)
{
    if (job.ended != SPLAT_MPI_OK) return;
    job.ended = outcome;
    job.verdict = (verdict){.is_lost = outcome == SPLAT_MPI_LOST, .rank = rank};
    snprintf(job.verdict.text, sizeof job.verdict.text, "%s", text);
    for (int r = 0; r < job.size; r++)
        if (r != job.rank && !(job.verdict.is_lost && r == rank))
            post(&job.verdict, sizeof job.verdict, r, TAG_VERDICT);
}

static void fail(const char *text)
{
    pronounce(SPLAT_MPI_FAILED, job.rank, text);
}

static int receive_message(void *message, size_t bytes, const MPI_Status *status)
{
    return MPI_Recv(message, (int)bytes, MPI_BYTE, status->MPI_SOURCE, status->MPI_TAG, job.control,
                    MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

static void hear_number(const MPI_Status *status)
{
    static int answer; /* stays while it is sent; it is sent again only after the next question */
    int number;
    if (!receive_message(&number, sizeof number, status)) return;
    if (status->MPI_TAG == TAG_ASK) {
        answer = number;
        post(&answer, sizeof answer, status->MPI_SOURCE, TAG_ANSWER);
    }
    if (status->MPI_TAG == TAG_ANSWER) job.answers[status->MPI_SOURCE] = number;
    if (status->MPI_TAG == TAG_INTERRUPT && job.interrupt.rank == 0)
        job.interrupt = (splat_comm_interruption){status->MPI_SOURCE, number};
}

static void hear_verdict(const MPI_Status *status)
{
    verdict heard;
    if (!receive_message(&heard, sizeof heard, status)) return;
    job.verdict = heard;
    job.ended = heard.is_lost ? SPLAT_MPI_LOST : SPLAT_MPI_FAILED;
}

/* Takes the messages that have come. Returns whether another rank has said that the work is over. */
static int has_ended(void)
{
    int there = 1;
    MPI_Status status;
    while (job.ended == SPLAT_MPI_OK) {
        if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, job.control, &there, &status) != MPI_SUCCESS || !there) return 0;
        if (status.MPI_TAG == TAG_VERDICT)
            hear_verdict(&status);
        else
            hear_number(&status);
    }
    return 1;
}

/* Rank 0 gets to know of the first other rank that is interrupted. */
static void pass_interrupt(const splat_mpi_watch *watch)
{
    if (job.rank == 0) {
        *watch->interrupt = job.interrupt;
    } else if (*watch->interrupted && job.interrupt.rank == 0) {
        job.interrupt = (splat_comm_interruption){job.rank, *watch->interrupted};
        post(&job.interrupt.signal, sizeof job.interrupt.signal, 0, TAG_INTERRUPT);
    }
}

static void listen_between(const splat_mpi_watch *watch)
{
    has_ended();
    pass_interrupt(watch);
}

/* A process of this host that is no more; of other hosts the launcher's signal tells, when nothing comes after it. */
static int find_lost(double waited_interrupted)
{
    for (int r = 0; r < job.size; r++)
        if (job.local[r] && !is_visible(&job.places[r])) {
            pronounce(SPLAT_MPI_LOST, r, "its process has ended without a word; it was killed, or ran out of memory");
            return 1;
        }
    int all_local = 1;
    for (int r = 0; r < job.size; r++) all_local &= r == job.rank || job.local[r] != NULL;
    if (job.rank != 0 || all_local || waited_interrupted < job.patience) return 0;
    pronounce(SPLAT_MPI_LOST, -1, "the launcher ends the job, and a rank of another host no longer answers");
    return 1;
}

/* ---------------------------------------------------------------- exchange */

typedef struct requests {
    MPI_Request *list;
    int n;
} requests;

static size_t messages_of(size_t bytes)
{
    return (bytes + MESSAGE_BYTES - 1) / MESSAGE_BYTES;
}

static int submit(requests *r, const splat_comm_part *part, int other, int is_send)
{
    for (size_t at = 0; at < part->bytes; at += MESSAGE_BYTES) {
        size_t left = part->bytes - at;
        int bytes = (int)(left < MESSAGE_BYTES ? left : MESSAGE_BYTES), code;
        char *data = (char *)part->data + at;
        if (is_send)
            code = MPI_Isend(data, bytes, MPI_BYTE, other, 0, job.data, &r->list[r->n]);
        else
            code = MPI_Irecv(data, bytes, MPI_BYTE, other, 0, job.data, &r->list[r->n]);
        if (code != MPI_SUCCESS) return code;
        r->n++;
    }
    return MPI_SUCCESS;
}

/* Nobody will answer any more. */
static void give_up(requests *r)
{
    for (int i = 0; i < r->n; i++)
        if (r->list[i] != MPI_REQUEST_NULL) {
            MPI_Cancel(&r->list[i]);
            MPI_Request_free(&r->list[i]);
        }
}

/* A wait of rank 0. The ranks that do not answer a question are those that keep all others waiting. */
typedef struct long_wait {
    double begin, asked; /* asked 0: nobody yet */
    int late;            /* the first that is late; 0: none is known */
    char who[128];
} long_wait;

static void ask_who_waits(long_wait *w, double time)
{
    w->asked = time;
    job.question++;
    for (int r = 1; r < job.size; r++) post(&job.question, sizeof job.question, r, TAG_ASK);
}

static void find_late(long_wait *w, double time, const splat_mpi_watch *watch)
{
    int n_late = 0;
    for (int r = job.size - 1; r > 0; r--) {
        if (job.answers[r] == job.question) continue;
        n_late++;
        w->late = r;
    }
    if (n_late == 0) { /* messages are on their way: ask again */
        w->asked = 0;
        return;
    }
    const place *p = &job.places[w->late];
    snprintf(w->who, sizeof w->who, "rank %d (process %d on %s)", w->late, p->pid, p->host);
    watch->late(watch->user, w->who, n_late - 1, time - w->begin);
}

static void follow_wait(long_wait *w, double time, const splat_mpi_watch *watch)
{
    if (job.rank > 0 || w->late || time - w->begin < watch->patience) return;
    if (w->asked == 0)
        ask_who_waits(w, time);
    else if (time - w->asked > ANSWER_SECONDS)
        find_late(w, time, watch);
}

static splat_mpi_outcome wait_all(requests *r, const splat_mpi_watch *watch, splat_mpi_failure *failure)
{
    double looked = now(), interrupted_at = 0;
    long_wait wait = {.begin = looked};
    for (unsigned polls = 0;; polls++) {
        int done = 0, code = MPI_Testall(r->n, r->list, &done, MPI_STATUSES_IGNORE);
        if (code != MPI_SUCCESS) return refused(code, "a message", failure);
        if (done && wait.late) watch->end_of_wait(watch->user, wait.who, now() - wait.begin);
        if (done) return SPLAT_MPI_OK;
        sched_yield();
        if (polls < POLLS_AT_ONCE) continue;
        nanosleep(&(struct timespec){0, SLEEP_NS}, NULL);
        double time = now();
        if (*watch->interrupted && interrupted_at == 0) interrupted_at = time;
        bool over = has_ended();
        pass_interrupt(watch);
        follow_wait(&wait, time, watch);
        if (!over && time - looked > WATCH_SECONDS) {
            over = find_lost(interrupted_at > 0 ? time - interrupted_at : 0);
            looked = time;
        }
        if (!over) continue;
        give_up(r);
        return tell_verdict(failure);
    }
}

static splat_mpi_outcome exchange(const splat_comm_part *send, const splat_comm_part *receive,
                                  const splat_mpi_watch *watch, splat_mpi_failure *failure)
{
    size_t n = 0;
    int code = MPI_SUCCESS;
    if (has_ended()) return tell_verdict(failure);
    pass_interrupt(watch);
    for (int r = 0; r < job.size; r++)
        if (r != job.rank) n += messages_of(send[r].bytes) + messages_of(receive[r].bytes);
    requests all = {malloc((n + 1) * sizeof *all.list), 0};
    if (!all.list) {
        failure->rank = job.rank;
        snprintf(failure->text, sizeof failure->text, "no memory for %zu messages", n);
        return SPLAT_MPI_ERROR;
    }
    for (int r = 0; r < job.size && code == MPI_SUCCESS; r++)
        if (r != job.rank) code = submit(&all, &receive[r], r, 0);
    for (int k = 1; k < job.size && code == MPI_SUCCESS; k++) /* not all to rank 0 first */
        code = submit(&all, &send[(job.rank + k) % job.size], (job.rank + k) % job.size, 1);
    const splat_comm_part *from = &send[job.rank], *to = &receive[job.rank];
    if (from->bytes && from->data != to->data) memcpy(to->data, from->data, from->bytes);
    splat_mpi_outcome outcome = code == MPI_SUCCESS ? wait_all(&all, watch, failure)
                                                    : refused(code, "a message", failure);
    free(all.list);
    return outcome;
}

static void close_job(void)
{
    if (job.ended != SPLAT_MPI_LOST) MPI_Finalize();
    free(job.places);
    free(job.local);
    free(job.answers);
    job.places = NULL;
    job.local = NULL;
    job.answers = NULL;
}

extern const splat_mpi_module splat_mpi_module_table;
__attribute__((visibility("default"))) const splat_mpi_module splat_mpi_module_table = {
    .version = SPLAT_MPI_MODULE_VERSION,
    .open = open_job,
    .exchange = exchange,
    .listen = listen_between,
    .fail = fail,
    .close = close_job,
};
