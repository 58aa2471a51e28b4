/* Ranks that a launcher started, over MPI: the module is found, opened and called. */
#include "distributed/mpi_module.h"

#include "base/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>

#ifndef SPLATSMITH_HAS_MPI
#define SPLATSMITH_HAS_MPI 0
#endif
#define MODULE_FILE "splatsmith_mpi.so"

typedef struct mpi_comm {
    splat_comm comm;
    const splat_mpi_module *module;
} mpi_comm;

/* ---------------------------------------------------------------- the launcher */

static bool number_of(const char *name, int *value)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !*text) return false;
    long number = strtol(text, &end, 10);
    if (*end || number < 0 || number > INT_MAX) return false;
    *value = (int)number;
    return true;
}

void splat_launch_get(int *rank, int *size)
{
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (number_of(names[i][0], rank) && number_of(names[i][1], size) && *size > *rank) return;
    *rank = 0;
    *size = 1;
}

/* ---------------------------------------------------------------- the module */

static splat_status outcome_status(splat_mpi_outcome outcome, const splat_mpi_failure *failure, splat_error *error)
{
    switch (outcome) {
    case SPLAT_MPI_OK: return SPLAT_OK;
    case SPLAT_MPI_FAILED:
    case SPLAT_MPI_LOST:
        if (failure->rank >= 0) return splat_comm_failed(error, failure->rank, failure->text);
        break;
    case SPLAT_MPI_ERROR: break;
    }
    return splat_fail(error, SPLAT_ERROR_RANK, "%s", failure->text);
}

static void report_wait(void *comm, const char *who, int n_others, double seconds)
{
    splat_comm_report_wait(comm, who, n_others, seconds);
}

static void report_end_of_wait(void *comm, const char *who, double seconds)
{
    splat_comm_report_end_of_wait(comm, who, seconds);
}

static splat_mpi_watch watch_of(splat_comm *comm)
{
    return (splat_mpi_watch){.interrupted = &comm->interrupted,
                             .interrupt = &comm->interrupt,
                             .patience = comm->patience,
                             .late = report_wait,
                             .end_of_wait = report_end_of_wait,
                             .user = comm};
}

static splat_status exchange(splat_comm *comm, const splat_comm_part *send, const splat_comm_part *receive,
                             splat_error *error)
{
    splat_mpi_failure failure;
    const splat_mpi_module *module = ((mpi_comm *)comm)->module;
    const splat_mpi_watch watch = watch_of(comm);
    return outcome_status(module->exchange(send, receive, &watch, &failure), &failure, error);
}

static void listen(splat_comm *comm)
{
    const splat_mpi_watch watch = watch_of(comm);
    ((mpi_comm *)comm)->module->listen(&watch);
}

static void fail(splat_comm *comm, const char *message)
{
    ((mpi_comm *)comm)->module->fail(message);
}

static void leave(splat_comm *comm)
{
    ((mpi_comm *)comm)->module->close();
    free(comm);
}

static const splat_comm_functions mpi_functions = {
    .name = "mpi", .exchange = exchange, .listen = listen, .fail = fail, .close = leave};

splat_status splat_comm_open_mpi(splat_comm **result, splat_error *error)
{
    splat_mpi_failure failure;
    splat_error reason = {.message = "the module splatsmith_mpi is of another version of the program"};
    void *library;
    *result = NULL;
    if (!SPLATSMITH_HAS_MPI)
        return splat_fail(error, SPLAT_ERROR_UNSUPPORTED,
                          "this build has no MPI; build it where MPI is found "
                          "(scripts/install_deps.sh --mpi), or start it without mpirun");
    const splat_mpi_module *module = NULL;
    /* global: MPI's own plugins look for its symbols */
    if (splat_module_open(MODULE_FILE, "SPLATSMITH_MPI_MODULE", true, &library, &reason) == SPLAT_OK)
        module = dlsym(library, SPLAT_MPI_MODULE_SYMBOL);
    if (!module || module->version != SPLAT_MPI_MODULE_VERSION)
        return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "MPI cannot be used: %s", reason.message);
    mpi_comm *local = calloc(1, sizeof *local);
    if (!local) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the ranks");
    local->comm.functions = &mpi_functions;
    local->comm.patience = splat_comm_patience();
    local->module = module;
    splat_status status = outcome_status(module->open(&local->comm.rank, &local->comm.size, &failure), &failure, error);
    if (status == SPLAT_OK && local->comm.size > SPLAT_MAX_RANKS)
        status = splat_fail(error, SPLAT_ERROR_ARGUMENT, "there can be at most %d ranks, not %d", SPLAT_MAX_RANKS,
                            local->comm.size);
    if (status == SPLAT_OK)
        *result = &local->comm;
    else
        free(local);
    return status;
}
