/* Several processes, one training. */
#include "ranks.h"

#include "line/command_bits.h"
#include "progress.h"
#include "session.h"
#include "stage/cameras.h"
#include "stage/ranks.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A launcher that does not bind processes to processors lets each see all of them. */
static int share_of_threads(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    const int n_ranks = text ? atoi(text) : 1, n = splat_ranks_processors();
    if (n_ranks < 2 || n < sysconf(_SC_NPROCESSORS_ONLN)) return 0; /* bound: what it sees is its own */
    return n > n_ranks ? n / n_ranks : 1;
}

static bool has_joined; /* the other processes, or tried to */

bool cli_ranks_knows(const splat_line_command *command)
{
    return (command->bit & (BIT_TRAIN | BIT_COARSE | BIT_PIPELINE)) != 0;
}

void cli_ranks_hush(void)
{
    int rank, size;
    splat_launch_get(&rank, &size);
    if (rank > 0) cli_set_silent();
}

/* The rank of this process among those of its host. */
static int local_rank(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    return text ? atoi(text) : 0;
}

int cli_ranks_open(splat_line *line)
{
    int rank, size;
    splat_error error;
    splat_launch_get(&rank, &size);
    if (size == 1) return CLI_OK; /* alone, or threads of this process */
    if (splat_stage_needs_cameras(line)) {
        cli_error("find the cameras of the photos first, in one process: splatsmith cameras %s -o SCENE",
                  line->scene->source_path);
        return CLI_USAGE;
    }
    has_joined = true;
    if (splat_comm_open_mpi(&line->train->ranks, &error) != SPLAT_OK) return cli_report(&error);
    splat_context_options own = line->machine->context;
    own.threads = share_of_threads();
    own.gpu = local_rank(); /* the CPU backend ignores it */
    splat_line_put_given(line, &line->machine->context, sizeof own, &own);
    line->machine->context = own;
    return CLI_OK;
}

void cli_ranks_fail(splat_comm *ranks, int code)
{
    splat_error error = {.status = SPLAT_ERROR_RANK};
    if (!ranks || code == CLI_OK) return;
    snprintf(error.message, sizeof error.message, "%s", cli_last_error());
    splat_comm_fail(ranks, &error);
}

void cli_ranks_fail_early(int code)
{
    splat_comm *ranks;
    splat_error ignored;
    int rank, size;
    splat_launch_get(&rank, &size);
    if (code == CLI_OK || size == 1 || has_joined) return;
    if (splat_comm_open_mpi(&ranks, &ignored) != SPLAT_OK) return;
    cli_ranks_fail(ranks, code);
    splat_comm_close(ranks);
}

void cli_ranks_close(splat_line *line)
{
    splat_comm_close(line->train->ranks);
    line->train->ranks = NULL;
}
