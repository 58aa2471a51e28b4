/* splat_context: the choice of a backend, and its memory report. */
#include "base/context.h"
#include "backend/cpu.h"
#include "backend/cuda_module.h"
#include "backend/threads.h"
#include "base/options.h"

#include <stdlib.h>
#include <string.h>

static void silent_log(void *user, splat_log_level level, const char *message)
{
    (void)user;
    (void)level;
    (void)message;
}

void splat_context_options_init_sized(splat_context_options *options, size_t size)
{
    const splat_context_options defaults = {0};
    splat_options_give(options, size, &defaults, sizeof defaults);
}

static splat_status open_gpu(const splat_context_options *options, splat_backend **backend, splat_error *error)
{
    return splat_backend_cuda_create(options->gpu, options->threads, options->deterministic, options->sole_user,
                                     backend, error);
}

static splat_status open_backend(splat_context *context, const splat_context_options *options, splat_error *error)
{
    const char *name = options->backend ? options->backend : "auto";
    bool automatic = strcmp(name, "auto") == 0;
    if (strcmp(name, "cuda") == 0) return open_gpu(options, &context->backend, error);
    if (!automatic && strcmp(name, "cpu") != 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "backend must be auto, cpu or cuda, not '%s'", name);
    const splat_cuda_module *module;
    splat_error refused;
    /* where no CUDA backend is installed there is nothing to say */
    if (automatic && splat_cuda_module_open(&module, &refused) != SPLAT_ERROR_UNSUPPORTED) {
        if (open_gpu(options, &context->backend, &refused) == SPLAT_OK) return SPLAT_OK;
        splat_log(context, SPLAT_LOG_NOTICE, "running on the CPU: %s", refused.message);
    }
    return splat_backend_cpu_create(options->threads, options->simd, &context->backend, error);
}

/* Fewer threads than asked for, where a limit of the system says so. What is out of range is left for the backend to
 * refuse. */
static int choose_threads(splat_context *context, int asked)
{
    if (asked < 0 || asked > SPLAT_MAX_THREADS) return asked;
    int wanted = asked ? asked : splat_usable_cpus(), n = splat_startable_threads(wanted);
    if (n < wanted)
        splat_log(context, SPLAT_LOG_NOTICE,
                  "%d of %d threads are used: the system lets the process start no more (ulimit -u, or a limit of its "
                  "container)", n, wanted);
    return n;
}

splat_status splat_context_create(const splat_context_options *asked, splat_context **result, splat_error *error)
{
    *result = NULL;
    splat_context_options options;
    splat_context_options_init(&options);
    SPLAT_TRY(splat_options_take(&options, asked, "splat_context_options", error));
    splat_context *context = calloc(1, sizeof *context);
    if (!context) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a context");
    context->log = options.log ? options.log : silent_log;
    context->log_user = options.log_user;
    options.threads = choose_threads(context, options.threads);
    splat_status status = open_backend(context, &options, error);
    if (status != SPLAT_OK) {
        free(context);
        return status;
    }
    context->threads = context->backend->threads;
    context->backend->memory.policy = options.fragmentation;
    context->backend->host_memory = &context->host_memory;
    *result = context;
    return SPLAT_OK;
}

void splat_context_destroy(splat_context *context)
{
    if (!context) return;
    splat_backend_destroy(context->backend);
    free(context);
}

const char *splat_context_get_description(const splat_context *context)
{
    return context->backend->description;
}

splat_status splat_context_set_memory_limit(splat_context *context, size_t limit_bytes, splat_error *error)
{
    splat_backend *backend = context->backend;
    splat_memory *memory = &backend->memory;
    size_t old = memory->process_limit;
    memory->process_limit = limit_bytes;
    splat_memory_update_limit(backend);
    if (!limit_bytes || memory->device.reserved <= memory->limit) return SPLAT_OK;
    size_t least = memory->device.reserved + limit_bytes - (memory->limit > 1 ? memory->limit : 0);
    memory->process_limit = old;
    splat_memory_update_limit(backend);
    char a[32], b[32];
    return splat_fail(error, SPLAT_ERROR_MEMORY, "a memory limit of %s is less than the %s that are held",
                      splat_bytes_format(limit_bytes, a, sizeof a), splat_bytes_format(least, b, sizeof b));
}

const char *splat_context_get_pci_bus_id(const splat_context *context)
{
    return context->backend->pci_bus_id;
}

void splat_context_get_memory(const splat_context *context, splat_memory_info *info)
{
    const splat_memory *memory = &context->backend->memory;
    *info = (splat_memory_info){.bytes = memory->device.reserved,
                                .peak_bytes = memory->device.peak_reserved,
                                .n_blocks = memory->n_blocks,
                                .used_bytes = memory->device.bytes,
                                .host_bytes = memory->host.reserved,
                                .overhead_bytes = splat_backend_overhead(context->backend),
                                .limit_bytes = memory->limit,
                                .n_refused = memory->n_refused};
}

static int compare_blocks(const void *a, const void *b)
{
    const splat_block *x = *(const splat_block *const *)a, *y = *(const splat_block *const *)b;
    return x->reserved != y->reserved ? (x->reserved < y->reserved ? 1 : -1) : strcmp(x->name, y->name);
}

void splat_context_visit_memory_blocks(const splat_context *context, splat_memory_block_function visit, void *user)
{
    const splat_memory *memory = &context->backend->memory;
    const splat_block **blocks = malloc((memory->n_blocks + 1) * sizeof *blocks);
    if (!blocks) return;
    size_t n = 0;
    for (const splat_block *block = memory->blocks; block; block = block->next) blocks[n++] = block;
    qsort(blocks, n, sizeof *blocks, compare_blocks);
    for (size_t i = 0; i < n; i++)
        visit(user, splat_owner_name(blocks[i]->owner), blocks[i]->name, blocks[i]->reserved);
    free(blocks);
    for (int i = 0; i < SPLAT_N_HOST_USES; i++) {
        size_t bytes = atomic_load(&context->host_memory.bytes[i]);
        if (bytes) visit(user, "host", splat_host_use_name((splat_host_use)i), bytes);
    }
}
