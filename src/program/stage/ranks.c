/* Several GPUs of one host, one training. */
#include "stage/ranks.h"

#include "stage/session.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

int splat_ranks_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

splat_status splat_ranks_count_gpus(splat_line *line, splat_error *error)
{
    const char *gpus = line->machine->gpus;
    const bool on_cpu = splat_stage_names_cpu(line);
    size_t n_there = 0;
    char *end;
    int rank, size;
    if (!gpus) return SPLAT_OK;
    splat_launch_get(&rank, &size);
    if (size > 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`gpus` is for one process; under mpirun each process takes a GPU: leave it out");
    long n = strtol(gpus, &end, 10);
    const bool is_all = strcmp(gpus, "all") == 0;
    if (!is_all && (*end || end == gpus || n < 1 || n > SPLAT_MAX_RANKS))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`gpus` is a number from 1 to %d, or all, not %s",
                          SPLAT_MAX_RANKS, gpus);
    if (on_cpu && is_all)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`gpus all` needs GPUs; with `backend cpu` give a number");
    if (!on_cpu) {
        SPLAT_TRY(splat_device_list(NULL, 0, &n_there, error));
        const long left = (long)n_there - line->machine->context.gpu;
        if (is_all) n = left > 0 ? left : 0;
        if (n < 1 || n > left)
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "there are %zu GPUs, and %s from number %d on are asked for",
                              n_there, gpus, line->machine->context.gpu);
    }
    line->n_gpus = (int)n;
    if (n > 1 && on_cpu && !line->training->eval_only) {
        const int n_threads = line->machine->context.threads ? line->machine->context.threads
                                                             : splat_ranks_processors();
        line->machine->context.threads = n_threads > n ? n_threads / (int)n : 1;
    }
    return SPLAT_OK;
}

splat_status splat_ranks_start_gpus(const splat_line *line, splat_scene *scene, splat_train_options *options,
                                    splat_workers **workers, splat_error *error)
{
    const splat_context_options context = splat_stage_context_options(line);
    if (line->n_gpus < 2) return SPLAT_OK;
    return splat_workers_start(&context, scene, options, line->n_gpus, workers, &options->ranks, error);
}

bool splat_ranks_is_worker(const splat_line *line)
{
    return line->train->ranks && splat_comm_get_rank(line->train->ranks) > 0;
}

static void say_memory(const splat_talk *talk, const splat_rank_memory *m)
{
    char parameters[32], optimizer[32], activations[32], buffers[32], images[32];
    splat_say(talk, "               parameters %s, optimizer %s, activations %s, buffers %s, images %s",
              splat_bytes(m->parameters, parameters), splat_bytes(m->optimizer, optimizer),
              splat_bytes(m->activations, activations), splat_bytes(m->buffers, buffers),
              splat_bytes(m->images, images));
}

void splat_ranks_say(const splat_talk *talk, const splat_rank_info *ranks, size_t n)
{
    char bytes[32], sent[32];
    double sum = 0;
    for (size_t r = 0; r < n; r++) sum += ranks[r].n_instances;
    for (size_t r = 0; r < n; r++) {
        splat_say(talk,
                  "  rank %-7zu %s at most; %.0f Gaussians and %.0f instances a step, %.2f of the mean; %.2f ms in "
                  "exchanges, %s sent",
                  r, splat_bytes((uint64_t)ranks[r].peak_bytes, bytes), ranks[r].n_visible, ranks[r].n_instances,
                  sum > 0 ? ranks[r].n_instances * (double)n / sum : 1.0, ranks[r].exchange_ms,
                  splat_bytes((uint64_t)ranks[r].sent_bytes, sent));
        say_memory(talk, &ranks[r].memory);
    }
}
