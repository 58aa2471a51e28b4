/* The CUDA backend: results one step late, and the table of ops. Memory: cuda_memory.cu; work that overlaps with the
 * stream: cuda_side.cu. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "backend/cuda_module.h"
#include "backend/threads.h"
}

#include <cstdio>
#include <cstdlib>
#include <cstring>

static splat_status reserve_staging(splat_cuda_staging *staging, splat_host_memory *host_memory, size_t bytes,
                                    splat_error *error)
{
    if (!staging->copied) CUDA_TRY("make an event", cudaEventCreateWithFlags(&staging->copied, cudaEventDisableTiming));
    if (!staging->free) CUDA_TRY("make an event", cudaEventCreateWithFlags(&staging->free, cudaEventDisableTiming));
    CUDA_TRY("finish a copy", cudaEventSynchronize(staging->copied)); /* of two calls ago; a new event is done */
    if (bytes <= staging->bytes) return SPLAT_OK;
    cudaFreeHost(staging->pinned);
    splat_host_memory_remove(host_memory, SPLAT_HOST_STAGING, staging->bytes);
    staging->pinned = NULL;
    staging->bytes = 0;
    CUDA_TRY("reserve pinned memory", cudaMallocHost(&staging->pinned, bytes));
    splat_host_memory_add(host_memory, SPLAT_HOST_STAGING, bytes);
    staging->bytes = bytes;
    return SPLAT_OK;
}

/* Through pinned memory and a stream of its own. The copy waits only for the last work that read the slot, that of two
 * calls ago, or of the last call when a step that was left out broke the turn; the work that follows waits for it. */
static splat_status cuda_upload_ahead(splat_backend *backend, int slot, void *device, const void *host, size_t bytes,
                                      splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    splat_cuda_staging *mine = &cuda->staging[slot], *last = &cuda->staging[cuda->last_ahead];
    SPLAT_TRY(reserve_staging(mine, backend->host_memory, bytes, error));
    if (last->free) CUDA_TRY("mark a moment", cudaEventRecord(last->free, cuda->stream)); /* its work is submitted */
    cuda->last_ahead = slot;
    memcpy(mine->pinned, host, bytes);
    CUDA_TRY("order its work", cudaStreamWaitEvent(cuda->copy_stream, mine->free, 0));
    CUDA_TRY("copy to its memory",
             cudaMemcpyAsync(device, mine->pinned, bytes, cudaMemcpyHostToDevice, cuda->copy_stream));
    CUDA_TRY("mark a moment", cudaEventRecord(mine->copied, cuda->copy_stream));
    CUDA_TRY("order its work", cudaStreamWaitEvent(cuda->stream, mine->copied, 0));
    return SPLAT_OK;
}

static splat_status cuda_stamp(splat_backend *backend, int mark, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    if (!cuda->marks[mark]) CUDA_TRY("make an event", cudaEventCreate(&cuda->marks[mark]));
    CUDA_TRY("mark a moment", cudaEventRecord(cuda->marks[mark], cuda->stream));
    return SPLAT_OK;
}

static splat_status cuda_stamp_ms(splat_backend *backend, int from, int to, double *ms, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    float elapsed = 0;
    CUDA_TRY("finish its work", cudaEventSynchronize(cuda->marks[to]));
    CUDA_TRY("read a clock", cudaEventElapsedTime(&elapsed, cuda->marks[from], cuda->marks[to]));
    *ms = elapsed;
    return SPLAT_OK;
}

static splat_status cuda_synchronize(splat_backend *backend, splat_error *error)
{
    SPLAT_TRY(splat_cuda_join(splat_cuda_of(backend), error));
    CUDA_TRY("finish its work", cudaStreamSynchronize(splat_cuda_of(backend)->stream));
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- results of a step, one step late */

/* Copies the view's state into pinned memory after the step's kernels. */
static splat_status cuda_post_result(splat_backend *backend, const splat_frame *frame, int slot, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    cuda->result_values[slot] = 3 * (size_t)frame->camera.width * (size_t)frame->camera.height;
    CUDA_TRY("copy a result", cudaMemcpyAsync(&cuda->results[slot], frame->state, sizeof *cuda->results,
                                              cudaMemcpyDeviceToHost, cuda->stream));
    CUDA_TRY("mark a result", cudaEventRecord(cuda->result_events[slot], cuda->stream));
    return SPLAT_OK;
}

static splat_status cuda_take_result(splat_backend *backend, int slot, splat_step_result *result, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    CUDA_TRY("finish a step", cudaEventSynchronize(cuda->result_events[slot]));
    const splat_cuda_view_state *state = &cuda->results[slot];
    double n = (double)cuda->result_values[slot];
    *result = (splat_step_result){state->l1 / n, state->ssim / n, state->n_visible, state->n_degenerate,
                                  state->n_instances, state->overflow != 0};
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- opening and closing */

static void cuda_destroy(splat_backend *backend)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    if (cuda->stream) cudaStreamSynchronize(cuda->stream);
    splat_cuda_peers_close(cuda);
    if (cuda->side_stream) {
        cudaStreamSynchronize(cuda->side_stream);
        cudaStreamDestroy(cuda->side_stream);
        cuda->has_side_work = false;
    }
    if (cuda->stream) {
        cudaStreamSynchronize(cuda->stream);
        splat_region_free(backend, &backend->scratch);
        cudaStreamDestroy(cuda->stream);
    }
    if (cuda->copy_stream) {
        cudaStreamSynchronize(cuda->copy_stream);
        cudaStreamDestroy(cuda->copy_stream);
    }
    for (int i = 0; i < 2; i++) {
        if (cuda->staging[i].copied) cudaEventDestroy(cuda->staging[i].copied);
        if (cuda->staging[i].free) cudaEventDestroy(cuda->staging[i].free);
        cudaFreeHost(cuda->staging[i].pinned);
    }
    for (int i = 0; i < SPLAT_RESULT_SLOTS; i++)
        if (cuda->result_events[i]) cudaEventDestroy(cuda->result_events[i]);
    if (cuda->forked) cudaEventDestroy(cuda->forked);
    if (cuda->joined) cudaEventDestroy(cuda->joined);
    if (cuda->blended) cudaEventDestroy(cuda->blended);
    if (cuda->coloured) cudaEventDestroy(cuda->coloured);
    for (int i = 0; i < SPLAT_MARKS; i++)
        if (cuda->marks[i]) cudaEventDestroy(cuda->marks[i]);
    cudaFreeHost(cuda->results);
    free(cuda->driver);
    splat_nvml_close(cuda->nvml);
    free(cuda);
}

static const splat_backend_functions *cuda_functions(void)
{
    static const splat_backend_functions functions = {
        "cuda",
        1, /* result_latency */
        cuda_post_result,
        cuda_take_result,
        cuda_destroy,
        splat_cuda_map,
        splat_cuda_overhead,
        splat_cuda_upload,
        cuda_upload_ahead,
        splat_cuda_download,
        splat_cuda_zero,
        splat_cuda_copy,
        cuda_synchronize,
        cuda_stamp,
        cuda_stamp_ms,
        &splat_cuda_peer_functions,
        {
#define SPLAT_OP(name) splat_##name##_cuda,
#include "ops/ops.def"
#undef SPLAT_OP
        },
    };
    return &functions;
}

/* How many GPUs there are, or why none can be used. The runtime has one error for a driver that is absent and for one
 * that is too old; the driver's version, 0 without one, tells them apart. */
static splat_status count_devices(int *n_devices, splat_error *error)
{
    int driver = 0, runtime = 0;
    *n_devices = 0;
    cudaError_t result = cudaGetDeviceCount(n_devices);
    if (result == cudaSuccess && *n_devices > 0) return SPLAT_OK;
    *n_devices = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    cudaGetLastError();
    if (driver == 0)
        return splat_fail(error, SPLAT_ERROR_DEVICE,
                          "no NVIDIA driver was found; install one to use a GPU, or choose `backend cpu`");
    if (result == cudaErrorInsufficientDriver)
        return splat_fail(error, SPLAT_ERROR_DEVICE,
                          "the NVIDIA driver knows CUDA up to %d.%d and this build has CUDA %d.%d; install a newer "
                          "driver to use a GPU, or choose `backend cpu`",
                          driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    if (result == cudaSuccess || result == cudaErrorNoDevice)
        return splat_fail(error, SPLAT_ERROR_DEVICE,
                          "the NVIDIA driver shows no GPU; look at nvidia-smi and CUDA_VISIBLE_DEVICES, or choose "
                          "`backend cpu`");
    return splat_fail(error, SPLAT_ERROR_DEVICE, "the NVIDIA driver does not start: %s; choose `backend cpu`",
                      cudaGetErrorString(result));
}

static splat_status describe_device(int index, splat_device_info *info, splat_error *error)
{
    cudaDeviceProp properties;
    CUDA_TRY("describe itself", cudaGetDeviceProperties(&properties, index));
    memset(info, 0, sizeof *info);
    info->index = index;
    snprintf(info->name, sizeof info->name, "%s", properties.name);
    info->compute_major = properties.major;
    info->compute_minor = properties.minor;
    info->total_bytes = properties.totalGlobalMem;
    CUDA_TRY("tell its driver's version", cudaDriverGetVersion(&info->driver_version));
    CUDA_TRY("tell the runtime's version", cudaRuntimeGetVersion(&info->runtime_version));
    size_t total_bytes;
    if (cudaSetDevice(index) != cudaSuccess || cudaMemGetInfo(&info->free_bytes, &total_bytes) != cudaSuccess) {
        info->free_bytes = 0; /* busy, or kept for one process: it is listed all the same */
        cudaGetLastError();
    }
    return SPLAT_OK;
}

static splat_status list_devices(splat_device_info *devices, size_t capacity, size_t *n, splat_error *error)
{
    int n_devices, current;
    *n = 0;
    SPLAT_TRY(count_devices(&n_devices, error));
    CUDA_TRY("be selected", cudaGetDevice(&current)); /* an open context of this thread goes on with its own */
    splat_status status = SPLAT_OK;
    for (int i = 0; i < n_devices && (size_t)i < capacity && status == SPLAT_OK; i++)
        status = describe_device(i, &devices[i], error);
    cudaSetDevice(current);
    if (status == SPLAT_OK) *n = (size_t)n_devices;
    return status;
}

/* The driver keeps a stack for every thread that the device can hold: a KiB each by default, although the kernels here
 * need almost none. A kernel that needs more makes the driver take it at its first launch. */
#define LEAST_STACK_BYTES 16

static splat_status cuda_open(splat_cuda_backend *cuda, int gpu, bool sole_user, splat_error *error)
{
    int n_devices;
    SPLAT_TRY(count_devices(&n_devices, error));
    if (gpu < 0 || gpu >= n_devices)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "there is no GPU %d; this machine has %d (0 to %d)", gpu,
                          n_devices, n_devices - 1);
    cudaDeviceProp properties;
    CUDA_TRY("be selected", cudaSetDevice(gpu));
    if (sole_user) CUDA_TRY("bound its stack", cudaDeviceSetLimit(cudaLimitStackSize, LEAST_STACK_BYTES));
    CUDA_TRY("describe itself", cudaGetDeviceProperties(&properties, gpu));
    cuda->device = cuda->base.gpu = gpu;
    cuda->n_multiprocessors = properties.multiProcessorCount;
    cuda->total_bytes = cuda->base.device_bytes = properties.totalGlobalMem;
    snprintf(cuda->base.description, sizeof cuda->base.description, "cuda (%.100s, %.1f GiB, sm_%d%d%s)",
             properties.name, (double)properties.totalGlobalMem / SPLAT_GIB, properties.major, properties.minor,
             cuda->base.deterministic ? ", deterministic" : "");
    CUDA_TRY("tell its bus id",
             cudaDeviceGetPCIBusId(cuda->base.pci_bus_id, (int)sizeof cuda->base.pci_bus_id, gpu));
    SPLAT_TRY(splat_cuda_memory_open(cuda, error));
    int least, greatest; /* priorities: greater ones are smaller numbers */
    CUDA_TRY("tell its priorities", cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CUDA_TRY("make a stream", cudaStreamCreateWithPriority(&cuda->stream, cudaStreamNonBlocking, greatest));
    CUDA_TRY("make a stream", cudaStreamCreateWithPriority(&cuda->side_stream, cudaStreamNonBlocking, least));
    CUDA_TRY("make an event", cudaEventCreateWithFlags(&cuda->forked, cudaEventDisableTiming));
    CUDA_TRY("make an event", cudaEventCreateWithFlags(&cuda->joined, cudaEventDisableTiming));
    CUDA_TRY("make an event", cudaEventCreateWithFlags(&cuda->blended, cudaEventDisableTiming));
    CUDA_TRY("make an event", cudaEventCreateWithFlags(&cuda->coloured, cudaEventDisableTiming));
    CUDA_TRY("make a stream", cudaStreamCreateWithFlags(&cuda->copy_stream, cudaStreamNonBlocking));
    CUDA_TRY("reserve pinned memory",
             cudaMallocHost((void **)&cuda->results, SPLAT_RESULT_SLOTS * sizeof *cuda->results));
    for (int i = 0; i < SPLAT_RESULT_SLOTS; i++)
        CUDA_TRY("make an event", cudaEventCreateWithFlags(&cuda->result_events[i], cudaEventDisableTiming));
    return SPLAT_OK;
}

static splat_status create(int gpu, int threads, bool deterministic, bool sole_user, splat_backend **backend,
                           splat_error *error)
{
    *backend = NULL;
    splat_cuda_backend *cuda = (splat_cuda_backend *)calloc(1, sizeof *cuda);
    if (!cuda) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the backend");
    cuda->base.functions = cuda_functions();
    cuda->base.threads = threads ? threads : splat_usable_cpus(); /* decoders of photos */
    cuda->base.deterministic = deterministic;
    cuda->base.view_state_bytes = sizeof(splat_cuda_view_state);
    cuda->base.defers_rest = cuda->base.caches_rest = true;
    splat_status status = cuda_open(cuda, gpu, sole_user, error);
    if (status != SPLAT_OK) {
        cuda_destroy(&cuda->base);
        return status;
    }
    *backend = &cuda->base;
    return SPLAT_OK;
}

/* The one symbol of the module. */
extern "C" {
extern const splat_cuda_module splat_cuda_module_table;
const splat_cuda_module splat_cuda_module_table = {SPLATSMITH_VERSION, splat_cuda_module_layout(), create,
                                                   list_devices};
}
