/* Memory of the CUDA backend: blocks that grow in place, on the device by mapping granules into a reserved address
 * range (cuMemAddressReserve, cuMemMap), on the host by registering granules of one; and copies between all of it. */
#include "backend/cuda_backend.cuh"

#include <cuda.h>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

/* The few driver calls behind growing blocks; fetched at run time, so that the program starts without a driver. */
struct splat_cuda_driver {
    decltype(&cuMemAddressReserve) reserve;
    decltype(&cuMemAddressFree) unreserve;
    decltype(&cuMemCreate) create;
    decltype(&cuMemRelease) release;
    decltype(&cuMemMap) map;
    decltype(&cuMemUnmap) unmap;
    decltype(&cuMemSetAccess) set_access;
    decltype(&cuMemGetAllocationGranularity) granularity;
};

/* A block's address range, and one handle for each mapped granule (none for those on the host). */
struct block_range {
    CUdeviceptr address;
    size_t bytes, n_granules, capacity;
    CUmemGenericAllocationHandle *handles;
    bool on_host;
};

/* Addresses cost nothing. A block on the device may grow to the size of the whole card, one on the host to the first;
 * to less, but not less than the second, where addresses are limited (ulimit -v). */
#define HOST_RANGE_BYTES ((size_t)1 << 40)
#define HOST_RANGE_LEAST ((size_t)1 << 32)

static CUmemAllocationProp allocation_of(int device)
{
    CUmemAllocationProp properties;
    memset(&properties, 0, sizeof properties);
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device;
    return properties;
}

/* ---------------------------------------------------------------- ranges */

/* On the host a range begins at a multiple of the granule: where one registration ends and the next begins can then be
 * seen from an address. */
static bool reserve_host_addresses(block_range *range, size_t granule)
{
    for (size_t bytes = HOST_RANGE_BYTES; bytes >= HOST_RANGE_LEAST; bytes /= 2) {
        char *data = (char *)mmap(NULL, bytes + granule, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (data == MAP_FAILED) continue;
        size_t head = (granule - (size_t)(uintptr_t)data % granule) % granule;
        if (head) munmap(data, head);
        munmap(data + head + bytes, granule - head);
        range->address = (CUdeviceptr)(uintptr_t)(data + head);
        range->bytes = bytes;
        range->capacity = bytes / granule;
        return true;
    }
    return false;
}

static bool reserve_device_addresses(splat_cuda_backend *cuda, block_range *range, size_t granule)
{
    range->capacity = cuda->total_bytes / granule + 1;
    range->bytes = range->capacity * granule;
    range->handles = (CUmemGenericAllocationHandle *)malloc(range->capacity * sizeof *range->handles);
    return range->handles && cuda->driver->reserve(&range->address, range->bytes, 0, 0, 0) == CUDA_SUCCESS;
}

static block_range *range_create(splat_cuda_backend *cuda, bool on_host)
{
    size_t granule = cuda->base.granularity;
    block_range *range = (block_range *)calloc(1, sizeof *range);
    if (!range) return NULL;
    range->on_host = on_host;
    if (on_host ? reserve_host_addresses(range, granule) : reserve_device_addresses(cuda, range, granule)) return range;
    free(range->handles);
    free(range);
    return NULL;
}

static void range_free(splat_cuda_backend *cuda, block_range *range)
{
    if (range->on_host)
        munmap((void *)range->address, range->bytes);
    else
        cuda->driver->unreserve(range->address, range->bytes);
    free(range->handles);
    free(range);
}

static void unmap_granule(splat_cuda_backend *cuda, block_range *range, size_t i)
{
    size_t granule = cuda->base.granularity;
    if (range->on_host) {
        void *data = (char *)range->address + i * granule;
        if (cudaHostUnregister(data) != cudaSuccess) cudaGetLastError(); /* not to be found by the next launch */
        mmap(data, granule, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    } else {
        cuda->driver->unmap(range->address + i * granule, granule);
        cuda->driver->release(range->handles[i]);
    }
}

static void range_shrink(splat_cuda_backend *cuda, block_range *range, size_t n_granules)
{
    while (range->n_granules > n_granules) unmap_granule(cuda, range, --range->n_granules);
}

static bool map_host_granule(splat_cuda_backend *cuda, block_range *range, size_t i)
{
    size_t granule = cuda->base.granularity;
    void *data = (char *)range->address + i * granule;
    if (mprotect(data, granule, PROT_READ | PROT_WRITE) != 0) return false;
    madvise(data, granule, MADV_HUGEPAGE); /* one page to pin instead of hundreds, where the system has it */
    if (cudaHostRegister(data, granule, cudaHostRegisterMapped | cudaHostRegisterPortable) == cudaSuccess) return true;
    cudaGetLastError();
    mmap(data, granule, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return false;
}

static bool map_device_granule(splat_cuda_backend *cuda, block_range *range, size_t i,
                               const CUmemAllocationProp *properties)
{
    size_t granule = cuda->base.granularity;
    if (cuda->driver->create(&range->handles[i], granule, properties, 0) != CUDA_SUCCESS) return false;
    if (cuda->driver->map(range->address + i * granule, granule, 0, range->handles[i], 0) == CUDA_SUCCESS) return true;
    cuda->driver->release(range->handles[i]);
    return false;
}

static bool allow_access(splat_cuda_backend *cuda, block_range *range, size_t before)
{
    CUmemAccessDesc access;
    memset(&access, 0, sizeof access);
    access.location = allocation_of(cuda->device).location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    size_t granule = cuda->base.granularity;
    return cuda->driver->set_access(range->address + before * granule, (range->n_granules - before) * granule, &access,
                                    1) == CUDA_SUCCESS;
}

static bool range_grow(splat_cuda_backend *cuda, block_range *range, size_t n_granules)
{
    size_t before = range->n_granules;
    CUmemAllocationProp properties = allocation_of(cuda->device);
    while (range->n_granules < n_granules && n_granules <= range->capacity) {
        bool mapped = range->on_host ? map_host_granule(cuda, range, range->n_granules)
                                     : map_device_granule(cuda, range, range->n_granules, &properties);
        if (!mapped) break;
        range->n_granules++;
    }
    if (range->n_granules == n_granules && (range->on_host || allow_access(cuda, range, before))) return true;
    range_shrink(cuda, range, before);
    return false;
}

static splat_status no_memory(splat_cuda_backend *cuda, const splat_block *block, size_t wanted, splat_error *error)
{
    size_t free_bytes = 0, total_bytes = 0;
    cudaMemGetInfo(&free_bytes, &total_bytes);
    if (block->placement == SPLAT_ON_HOST)
        return splat_fail(error, SPLAT_ERROR_MEMORY,
                          "no host memory could be pinned for block '%s' (%s): %zu bytes wanted, %zu held by all "
                          "blocks on the host",
                          block->name, splat_owner_name(block->owner), wanted, cuda->base.memory.host.reserved);
    return splat_fail(error, SPLAT_ERROR_MEMORY,
                      "no GPU memory for block '%s' (%s): %zu bytes wanted, %zu held by all blocks, %zu free of %zu",
                      block->name, splat_owner_name(block->owner), wanted, cuda->base.memory.device.reserved,
                      free_bytes, total_bytes);
}

/* Bytes of a block on the host that come into use: fresh granules are zero, those mapped before (block->reserved) may
 * not be, and work in flight may still use them. */
static splat_status zero_reused(splat_cuda_backend *cuda, const splat_block *block, size_t bytes, splat_error *error)
{
    size_t end = bytes < block->reserved ? bytes : block->reserved;
    if (end <= block->bytes) return SPLAT_OK;
    CUDA_TRY("finish its work", cudaStreamSynchronize(cuda->stream));
    memset((char *)block->data + block->bytes, 0, end - block->bytes);
    return SPLAT_OK;
}

splat_status splat_cuda_map(splat_backend *backend, splat_block *block, size_t bytes, size_t reserved,
                            splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    SPLAT_TRY(splat_cuda_join(cuda, error));
    block_range *range = (block_range *)block->mapping;
    size_t n_granules = reserved / backend->granularity;
    bool on_host = block->placement == SPLAT_ON_HOST;
    if (on_host && !cuda->maps_host)
        return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "this GPU cannot use host memory in place; leave out the "
                                                          "option that keeps tensors there (`sh_offload`)");
    if (n_granules < (range ? range->n_granules : 0)) /* nothing in flight may still use what goes away */
        CUDA_TRY("finish its work", cudaStreamSynchronize(cuda->stream));
    if (!range && n_granules) range = range_create(cuda, on_host);
    if (n_granules && (!range || (n_granules > range->n_granules && !range_grow(cuda, range, n_granules)))) {
        if (range && !block->mapping) range_free(cuda, range);
        return no_memory(cuda, block, reserved, error);
    }
    if (!range) return SPLAT_OK;
    range_shrink(cuda, range, n_granules);
    char *base = (char *)range->address;
    block->data = n_granules ? base : NULL;
    block->mapping = n_granules ? range : NULL;
    if (!n_granules) range_free(cuda, range);
    if (bytes <= block->bytes) return SPLAT_OK;
    return on_host ? zero_reused(cuda, block, bytes, error)
                   : splat_cuda_zero(backend, base + block->bytes, bytes - block->bytes, error);
}

/* ---------------------------------------------------------------- copies */

static bool is_on_host(const splat_cuda_backend *cuda, const void *data)
{
    for (const splat_block *block = cuda->base.memory.blocks; block; block = block->next)
        if (block->placement == SPLAT_ON_HOST && (const char *)data >= (const char *)block->data &&
            (const char *)data < (const char *)block->data + block->reserved)
            return true;
    return false;
}

/* Between the device and a block on the host: a copy may not cross from one registered granule to the next. */
static splat_status copy_by_granules(splat_cuda_backend *cuda, void *to, const void *from, size_t bytes, bool to_host,
                                     splat_error *error)
{
    size_t granule = cuda->base.granularity;
    for (size_t done = 0; done < bytes;) {
        size_t at = (size_t)(uintptr_t)(to_host ? (char *)to + done : (const char *)from + done) % granule;
        size_t piece = bytes - done < granule - at ? bytes - done : granule - at;
        CUDA_TRY("copy memory", cudaMemcpyAsync((char *)to + done, (const char *)from + done, piece, cudaMemcpyDefault,
                                                cuda->stream));
        done += piece;
    }
    return SPLAT_OK;
}

/* Waits until the device no longer uses memory that the host is about to read or write. */
static splat_status wait(splat_cuda_backend *cuda, splat_error *error)
{
    CUDA_TRY("finish its work", cudaStreamSynchronize(cuda->stream));
    return SPLAT_OK;
}

splat_status splat_cuda_upload(splat_backend *backend, void *device, const void *host, size_t bytes, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    SPLAT_TRY(splat_cuda_join(cuda, error));
    if (bytes && is_on_host(cuda, device)) {
        SPLAT_TRY(wait(cuda, error));
        memcpy(device, host, bytes);
        return SPLAT_OK;
    }
    if (bytes && is_on_host(cuda, host)) return copy_by_granules(cuda, device, host, bytes, false, error);
    CUDA_TRY("copy to its memory", cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, cuda->stream));
    return SPLAT_OK;
}

splat_status splat_cuda_download(splat_backend *backend, void *host, const void *device, size_t bytes,
                                 splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    SPLAT_TRY(splat_cuda_join(cuda, error));
    if (bytes && is_on_host(cuda, device)) {
        SPLAT_TRY(wait(cuda, error));
        memcpy(host, device, bytes);
        return SPLAT_OK;
    }
    if (bytes && is_on_host(cuda, host))
        SPLAT_TRY(copy_by_granules(cuda, host, device, bytes, true, error));
    else
        CUDA_TRY("copy from its memory", cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, cuda->stream));
    return wait(cuda, error);
}

splat_status splat_cuda_zero(splat_backend *backend, void *device, size_t bytes, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    SPLAT_TRY(splat_cuda_join(cuda, error));
    if (bytes && is_on_host(cuda, device)) {
        SPLAT_TRY(wait(cuda, error));
        memset(device, 0, bytes);
        return SPLAT_OK;
    }
    CUDA_TRY("clear memory", cudaMemsetAsync(device, 0, bytes, cuda->stream));
    return SPLAT_OK;
}

splat_status splat_cuda_copy(splat_backend *backend, void *to, const void *from, size_t bytes, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    SPLAT_TRY(splat_cuda_join(cuda, error));
    bool to_host = bytes && is_on_host(cuda, to), from_host = bytes && is_on_host(cuda, from);
    if (to_host && from_host) {
        SPLAT_TRY(wait(cuda, error));
        memcpy(to, from, bytes);
        return SPLAT_OK;
    }
    if (to_host || from_host) return copy_by_granules(cuda, to, from, bytes, to_host, error);
    CUDA_TRY("copy memory", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, cuda->stream));
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- opening */

static bool load_driver(splat_cuda_driver *driver)
{
    cudaDriverEntryPointQueryResult found;
    cudaError_t result;
#define DRIVER_CALL(member, name)                                                                                      \
    result = cudaGetDriverEntryPointByVersion(name, (void **)&driver->member, 12000, cudaEnableDefault, &found);       \
    if (result != cudaSuccess || found != cudaDriverEntryPointSuccess) return false;
    DRIVER_CALL(reserve, "cuMemAddressReserve")
    DRIVER_CALL(unreserve, "cuMemAddressFree")
    DRIVER_CALL(create, "cuMemCreate")
    DRIVER_CALL(release, "cuMemRelease")
    DRIVER_CALL(map, "cuMemMap")
    DRIVER_CALL(unmap, "cuMemUnmap")
    DRIVER_CALL(set_access, "cuMemSetAccess")
    DRIVER_CALL(granularity, "cuMemGetAllocationGranularity")
#undef DRIVER_CALL
    return true;
}

splat_status splat_cuda_memory_open(splat_cuda_backend *cuda, splat_error *error)
{
    cuda->driver = (splat_cuda_driver *)calloc(1, sizeof *cuda->driver);
    if (!cuda->driver) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the backend");
    if (!load_driver(cuda->driver))
        return splat_fail(error, SPLAT_ERROR_DEVICE,
                          "the NVIDIA driver is too old: version 525 (CUDA 12) or newer is needed");
    CUmemAllocationProp allocation = allocation_of(cuda->device);
    if (cuda->driver->granularity(&cuda->base.granularity, &allocation, CU_MEM_ALLOC_GRANULARITY_MINIMUM) !=
        CUDA_SUCCESS)
        return splat_fail(error, SPLAT_ERROR_DEVICE, "the GPU does not support virtual memory management");
    int same_address = 0;
    cudaDeviceGetAttribute(&same_address, cudaDevAttrCanUseHostPointerForRegisteredMem, cuda->device);
    cuda->maps_host = same_address != 0;
    splat_nvml_open(cuda->base.pci_bus_id, &cuda->nvml, NULL);
    return SPLAT_OK;
}

/* An upper bound of a context's memory, if the driver reports only the memory of all processes. */
#define CONTEXT_BYTES ((size_t)640 << 20)

size_t splat_cuda_overhead(splat_backend *backend)
{
    size_t free_bytes = 0, total_bytes = 0, held = backend->memory.device.reserved;
    const splat_nvml *nvml = splat_cuda_of(backend)->nvml;
    uint64_t process_bytes;
    if (nvml && splat_nvml_process_bytes(nvml, 0, &process_bytes))
        return process_bytes > held ? (size_t)(process_bytes - held) : 0;
    if (cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess) {
        cudaGetLastError();
        return CONTEXT_BYTES;
    }
    size_t used = total_bytes - free_bytes, rest = used > held ? used - held : 0;
    return rest < CONTEXT_BYTES ? rest : CONTEXT_BYTES;
}
