/* Several processes, one training. */
#include "ranks.h"

#include "find_cameras.h"
#include "line/command_bits.h"
#include "progress.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* That this process may run on; 0: not known. */
static int n_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

/* A launcher that does not bind processes to processors lets each see all of them. */
static int share_of_threads(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    const int n_ranks = text ? atoi(text) : 1, n = n_processors();
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

/* Of this process among those of its host. */
static int local_rank(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    return text ? atoi(text) : 0;
}

int cli_ranks_count_gpus(splat_line *line)
{
    splat_error error;
    size_t n_there = 0;
    char *end;
    int rank, size;
    if (!line->machine->gpus) return CLI_OK;
    splat_launch_get(&rank, &size);
    if (size > 1) {
        cli_error("--gpus is for one process; under mpirun each process takes a GPU: leave it out");
        return CLI_USAGE;
    }
    long n = strtol(line->machine->gpus, &end, 10);
    const bool is_all = strcmp(line->machine->gpus, "all") == 0;
    if (!is_all && (*end || end == line->machine->gpus || n < 1 || n > SPLAT_MAX_RANKS)) {
        cli_error("--gpus is a number from 1 to %d, or all, not %s", SPLAT_MAX_RANKS, line->machine->gpus);
        return CLI_USAGE;
    }
    if (cli_names_cpu(line) && is_all) {
        cli_error("--gpus all needs GPUs; with --backend cpu give a number");
        return CLI_USAGE;
    }
    if (!cli_names_cpu(line)) {
        if (splat_device_list(NULL, 0, &n_there, &error) != SPLAT_OK) return cli_report(&error);
        const long left = (long)n_there - line->machine->context.gpu;
        if (is_all) n = left > 0 ? left : 0;
        if (n < 1 || n > left) {
            cli_error("there are %zu GPUs, and %s from number %d on are asked for", n_there,
                      is_all ? "all" : line->machine->gpus, line->machine->context.gpu);
            return CLI_USAGE;
        }
    }
    line->n_gpus = (int)n;
    if (n > 1 && cli_names_cpu(line) && !line->training->eval_only) {
        const int n_threads = line->machine->context.threads ? line->machine->context.threads : n_processors();
        line->machine->context.threads = n_threads > n ? n_threads / (int)n : 1;
    }
    return CLI_OK;
}

int cli_ranks_check_pipeline(const splat_line *line)
{
    splat_line copy = *line;
    splat_line_machine machine = *line->machine; /* counting gives it fewer threads */
    int rank, size;
    splat_launch_get(&rank, &size);
    if (size > 1) {
        cli_error("pipeline is one process: give it --gpus, or start its stages train and coarse by themselves");
        return CLI_USAGE;
    }
    copy.machine = &machine;
    return cli_ranks_count_gpus(&copy);
}

int cli_ranks_open(splat_line *line)
{
    int rank, size;
    splat_error error;
    splat_launch_get(&rank, &size);
    if (size == 1) return CLI_OK; /* alone, or threads of this process */
    if (cli_needs_cameras(line)) {
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

int cli_ranks_start_gpus(const splat_line *line, splat_scene *scene, splat_train_options *options,
                         splat_workers **workers)
{
    const splat_context_options context = cli_context_options(line);
    splat_error error;
    if (line->n_gpus < 2) return CLI_OK;
    if (splat_workers_start(&context, scene, options, line->n_gpus, workers, &options->ranks, &error) != SPLAT_OK)
        return cli_report(&error);
    return CLI_OK;
}

bool cli_ranks_is_worker(const splat_line *line)
{
    return line->train->ranks && splat_comm_get_rank(line->train->ranks) > 0;
}

static void print_memory(const splat_rank_memory *m)
{
    char parameters[32], optimizer[32], activations[32], buffers[32], images[32];
    cli_say("               parameters %s, optimizer %s, activations %s, buffers %s, images %s",
            cli_bytes(m->parameters, parameters), cli_bytes(m->optimizer, optimizer),
            cli_bytes(m->activations, activations), cli_bytes(m->buffers, buffers), cli_bytes(m->images, images));
}

void cli_ranks_print(const splat_rank_info *ranks, size_t n)
{
    char bytes[32], sent[32];
    double sum = 0;
    for (size_t r = 0; r < n; r++) sum += ranks[r].n_instances;
    for (size_t r = 0; r < n; r++) {
        cli_say("  rank %-7zu %s at most; %.0f Gaussians and %.0f instances a step, %.2f of the mean; %.2f ms in "
                "exchanges, %s sent", r, cli_bytes((uint64_t)ranks[r].peak_bytes, bytes), ranks[r].n_visible,
                ranks[r].n_instances, sum > 0 ? ranks[r].n_instances * (double)n / sum : 1.0, ranks[r].exchange_ms,
                cli_bytes((uint64_t)ranks[r].sent_bytes, sent));
        print_memory(&ranks[r].memory);
    }
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
