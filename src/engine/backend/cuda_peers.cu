/* Devices of several ranks, by NCCL. Its library is opened when ranks join, so that the program starts without it. */
#include "backend/cuda_backend.cuh"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

#if __has_include(<nccl.h>)
#include <nccl.h>

static_assert(sizeof(ncclUniqueId) == sizeof(splat_peer_name), "the name is NCCL's");

/* NCCL_CALL(its function): those that are used. */
#define NCCL_CALLS                                                                                                     \
    NCCL_CALL(ncclGetUniqueId)                                                                                         \
    NCCL_CALL(ncclCommInitRank)                                                                                        \
    NCCL_CALL(ncclCommDestroy)                                                                                         \
    NCCL_CALL(ncclCommAbort)                                                                                           \
    NCCL_CALL(ncclGroupStart)                                                                                          \
    NCCL_CALL(ncclGroupEnd)                                                                                            \
    NCCL_CALL(ncclSend)                                                                                                \
    NCCL_CALL(ncclRecv)                                                                                                \
    NCCL_CALL(ncclGetErrorString)

struct splat_cuda_peers {
    void *library;
#define NCCL_CALL(name) decltype(&::name) name;
    NCCL_CALLS
#undef NCCL_CALL
    ncclComm_t comm;
    int rank, size;
};

static splat_status failed(const splat_cuda_peers *peers, ncclResult_t result, const char *doing, splat_error *error)
{
    if (result == ncclSuccess) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_DEVICE, "NCCL could not %s: %s (NCCL_DEBUG=WARN says more)", doing,
                      peers->ncclGetErrorString(result));
}

static splat_status open_library(splat_cuda_backend *cuda, splat_error *error)
{
    if (cuda->peers) return SPLAT_OK;
    splat_cuda_peers *peers = (splat_cuda_peers *)calloc(1, sizeof *peers);
    if (!peers) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the devices of other ranks");
    peers->library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    bool is_complete = peers->library != NULL;
#define NCCL_CALL(name)                                                                                                \
    if (is_complete) peers->name = (decltype(&::name))dlsym(peers->library, #name);                                    \
    is_complete = is_complete && peers->name;
    NCCL_CALLS
#undef NCCL_CALL
    if (is_complete) {
        cuda->peers = peers;
        return SPLAT_OK;
    }
    const char *why = dlerror();
    splat_status status = splat_fail(error, SPLAT_ERROR_UNSUPPORTED,
                                     "several GPUs need NCCL, and libnccl.so.2 cannot be used (%s); install it, or put "
                                     "its folder into LD_LIBRARY_PATH", why ? why : "it is not complete");
    if (peers->library) dlclose(peers->library);
    free(peers);
    return status;
}

static splat_status peers_name(splat_backend *backend, splat_peer_name *name, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    ncclUniqueId id;
    SPLAT_TRY(open_library(cuda, error));
    SPLAT_TRY(failed(cuda->peers, cuda->peers->ncclGetUniqueId(&id), "name a group of GPUs", error));
    memcpy(name, &id, sizeof id);
    return SPLAT_OK;
}

static splat_status peers_join(splat_backend *backend, const splat_peer_name *name, int rank, int size,
                               splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    ncclUniqueId id;
    memcpy(&id, name, sizeof id);
    SPLAT_TRY(open_library(cuda, error));
    CUDA_TRY("select the GPU", cudaSetDevice(cuda->device));
    cuda->peers->rank = rank;
    cuda->peers->size = size;
    return failed(cuda->peers, cuda->peers->ncclCommInitRank(&cuda->peers->comm, size, id, rank),
                  "join the GPUs of all ranks", error);
}

static splat_status peers_exchange(splat_backend *backend, const splat_peer_part *send, const splat_peer_part *receive,
                                   bool on_side, splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    splat_cuda_peers *peers = cuda->peers;
    const int rank = peers->rank;
    const cudaStream_t stream = on_side ? cuda->side_stream : cuda->stream;
    SPLAT_TRY(on_side ? splat_cuda_fork(cuda, error) : splat_cuda_join(cuda, error));
    if (send[rank].bytes && send[rank].data != receive[rank].data)
        CUDA_TRY("keep a part", cudaMemcpyAsync(receive[rank].data, send[rank].data, send[rank].bytes,
                                                cudaMemcpyDeviceToDevice, stream));
    ncclResult_t result = peers->ncclGroupStart();
    for (int r = 0; r < peers->size && result == ncclSuccess; r++) {
        if (r == rank) continue;
        if (send[r].bytes)
            result = peers->ncclSend(send[r].data, send[r].bytes, ncclUint8, r, peers->comm, stream);
        if (receive[r].bytes && result == ncclSuccess)
            result = peers->ncclRecv(receive[r].data, receive[r].bytes, ncclUint8, r, peers->comm, stream);
    }
    const ncclResult_t ended = peers->ncclGroupEnd();
    return failed(peers, result == ncclSuccess ? ended : result, "exchange with the GPUs of other ranks", error);
}

static void peers_abandon(splat_backend *backend)
{
    splat_cuda_peers *peers = splat_cuda_of(backend)->peers;
    if (!peers || !peers->comm) return;
    peers->ncclCommAbort(peers->comm);
    peers->comm = NULL;
}

void splat_cuda_peers_close(splat_cuda_backend *cuda)
{
    if (!cuda->peers) return;
    if (cuda->peers->comm) cuda->peers->ncclCommDestroy(cuda->peers->comm);
    dlclose(cuda->peers->library);
    free(cuda->peers);
    cuda->peers = NULL;
}

#else /* without NCCL's header */

static splat_status absent(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_UNSUPPORTED,
                      "this build cannot use several GPUs: NCCL's header was not there when it was compiled");
}

static splat_status peers_name(splat_backend *, splat_peer_name *, splat_error *error)
{
    return absent(error);
}

static splat_status peers_join(splat_backend *, const splat_peer_name *, int, int, splat_error *error)
{
    return absent(error);
}

static splat_status peers_exchange(splat_backend *, const splat_peer_part *, const splat_peer_part *, bool,
                                   splat_error *error)
{
    return absent(error);
}

static void peers_abandon(splat_backend *)
{
}

void splat_cuda_peers_close(splat_cuda_backend *)
{
}

#endif

const splat_peer_functions splat_cuda_peer_functions = {peers_name, peers_join, peers_exchange, peers_abandon};
