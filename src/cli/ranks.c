/* Several processes, one training. */
#include "ranks.h"

#include "find_cameras.h"
#include "progress.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the library does not see of it. NULL: all can be done. */
static const char *refused_option(const cli_values *values)
{
    if (values->viewer_port >= 0) return "--viewer";
    if (values->eval_only) return "--eval_only";
    return NULL;
}

/* A launcher that does not bind processes to processors lets each see all of them. */
static int share_of_threads(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    cpu_set_t set;
    int n_ranks = text ? atoi(text) : 1, n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    if (n_ranks < 2 || n < sysconf(_SC_NPROCESSORS_ONLN)) return 0; /* bound: what it sees is its own */
    return n > n_ranks ? n / n_ranks : 1;
}

void cli_ranks_hush(void)
{
    int rank, size;
    splat_launch_get(&rank, &size);
    if (rank > 0) cli_set_silent();
}

int cli_ranks_open(cli_values *values)
{
    int rank, size;
    splat_error error;
    splat_launch_get(&rank, &size);
    const bool splits = values->split_views, batches = values->train.batch_views;
    if (size == 1 && !splits && !batches) return CLI_OK;
    if (!splits && !batches) {
        cli_error("%d processes were started together: say how they shall train, --split_views (each photo by all) or "
                  "--batch_views (a photo each); or start one", size);
        return CLI_USAGE;
    }
    if (splits && batches) {
        cli_error("--split_views and --batch_views are two ways to share the work: take one");
        return CLI_USAGE;
    }
    if (size == 1) {
        cli_error("--%s is for several processes: mpirun -n 4 splatsmith train ... (docs/distributed.md)",
                  splits ? "split_views" : "batch_views");
        return CLI_USAGE;
    }
    if (refused_option(values)) {
        cli_error("several processes cannot train with %s; leave it out, or start one", refused_option(values));
        return CLI_USAGE;
    }
    if (cli_needs_cameras(values)) {
        cli_error("find the cameras of the photos first, in one process: splatsmith cameras %s -o SCENE",
                  values->scene.source_path);
        return CLI_USAGE;
    }
    if (splat_comm_open_mpi(&values->train.ranks, &error) != SPLAT_OK) return cli_report(&error);
    if (!cli_given(values, "threads")) values->context.threads = share_of_threads();
    return CLI_OK;
}

bool cli_ranks_is_worker(const cli_values *values)
{
    return values->train.ranks && splat_comm_get_rank(values->train.ranks) > 0;
}

void cli_ranks_fail(const cli_values *values, int code)
{
    splat_error error = {.status = SPLAT_ERROR_RANK};
    if (!values->train.ranks || code == CLI_OK) return;
    snprintf(error.message, sizeof error.message, "%s", cli_last_error());
    splat_comm_fail(values->train.ranks, &error);
}

void cli_ranks_close(cli_values *values)
{
    splat_comm_close(values->train.ranks);
    values->train.ranks = NULL;
}
