/* Work that overlaps with the stream. */
#include "backend/cuda_backend.cuh"

splat_status splat_cuda_fork(splat_cuda_backend *cuda, splat_error *error)
{
    CUDA_TRY("mark a moment", cudaEventRecord(cuda->forked, cuda->stream));
    CUDA_TRY("order its work", cudaStreamWaitEvent(cuda->side_stream, cuda->forked, 0));
    cuda->has_side_work = true;
    return SPLAT_OK;
}

splat_status splat_cuda_mark_blended(splat_cuda_backend *cuda, splat_error *error)
{
    CUDA_TRY("mark a moment", cudaEventRecord(cuda->blended, cuda->stream));
    cuda->has_blended = true;
    return SPLAT_OK;
}

splat_status splat_cuda_fork_blended(splat_cuda_backend *cuda, splat_error *error)
{
    if (!cuda->has_blended) return splat_cuda_fork(cuda, error);
    CUDA_TRY("order its work", cudaStreamWaitEvent(cuda->side_stream, cuda->blended, 0));
    cuda->has_side_work = true;
    return SPLAT_OK;
}

splat_status splat_cuda_join(splat_cuda_backend *cuda, splat_error *error)
{
    cuda->has_blended = cuda->has_coloured = false;
    if (!cuda->has_side_work) return SPLAT_OK;
    CUDA_TRY("mark a moment", cudaEventRecord(cuda->joined, cuda->side_stream));
    CUDA_TRY("order its work", cudaStreamWaitEvent(cuda->stream, cuda->joined, 0));
    cuda->has_side_work = false;
    return SPLAT_OK;
}

splat_status splat_cuda_mark_coloured(splat_cuda_backend *cuda, splat_error *error)
{
    CUDA_TRY("mark a moment", cudaEventRecord(cuda->coloured, cuda->side_stream));
    cuda->has_coloured = true;
    return SPLAT_OK;
}

splat_status splat_cuda_join_coloured(splat_cuda_backend *cuda, splat_error *error)
{
    if (!cuda->has_coloured) return splat_cuda_join(cuda, error);
    CUDA_TRY("order its work", cudaStreamWaitEvent(cuda->stream, cuda->coloured, 0));
    return SPLAT_OK;
}
