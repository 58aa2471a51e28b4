/* Functions of rest on CUDA that ops call. */
#ifndef SPLAT_OPS_REST_CUDA_CUH
#define SPLAT_OPS_REST_CUDA_CUH

#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/project/project.h"
}

/* rest_deferred_cuda.cu: makes the steps of sh_rest that the visible lack, then writes their colours into the frame,
 * overlapping with the work submitted to the stream next. There must be active bands. */
splat_status splat_cuda_advance_rest(splat_cuda_backend *cuda, const splat_gaussians *gaussians,
                                     splat_deferred_rest *deferred, splat_frame *frame, splat_error *error);
/* rest_views_cuda.cu: the same for what several views see, with args->rest->deferred. */
splat_status splat_cuda_advance_views(splat_cuda_backend *cuda, const struct splat_project_views_args *args,
                                      splat_error *error);
/* rest_cache_cuda.cu: fetches the rows of the visible, as far as the cache has slots, and sends others home; if
 * sh_rest lies in host memory, also writes their colours, overlapping with the stream until
 * splat_cuda_mark_coloured. There must be active bands. return_rows: all go home. */
splat_status splat_cuda_fetch_rest(splat_cuda_backend *cuda, const splat_gaussians *gaussians, splat_rest_cache *cache,
                                   splat_frame *frame, splat_error *error);
splat_status splat_cuda_return_rest(splat_cuda_backend *cuda, const splat_gaussians *gaussians,
                                    splat_rest_cache *cache, splat_error *error);

/* rest_deferred_cuda.cu, rest_views_cuda.cu: the steps of all rows, of one view and of several; nothing is put off
 * afterwards. */
splat_status splat_cuda_settle_views(splat_cuda_backend *cuda, const splat_gaussians *gaussians,
                                     splat_deferred_rest *deferred, splat_error *error);

#endif
