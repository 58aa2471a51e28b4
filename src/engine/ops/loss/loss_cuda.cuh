/* Code shared by the loss and the metrics on CUDA: one pass over the picture that sums |x - y|, (x - y)^2 and SSIM, and
 * writes the gradient if it is wanted. */
#ifndef SPLAT_OPS_LOSS_CUDA_CUH
#define SPLAT_OPS_LOSS_CUDA_CUH

#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/loss/loss.h"
}

typedef struct splat_loss_cuda_job {
    int32_t width, height;
    const float *image;           /* [3][height][width] */
    const uint8_t *photo_u8;      /* [height][width][3], or NULL: photo_f32 */
    const float *photo_f32;       /* [3][height][width] */
    const uint8_t *mask;          /* [height][width] or NULL; see loss.h */
    float *grad_image;            /* [3][height][width] or NULL */
    double lambda;                /* weight of 1 - SSIM */
    splat_cuda_view_state *state; /* the view's: gets l1, ssim (sums over 3HW) and not_finite; NULL: none */
} splat_loss_cuda_job;

/* Runs the job over the picture. sums is host memory, [3] by channel; with NULL nothing waits. */
splat_status splat_loss_cuda_run(splat_cuda_backend *cuda, const splat_loss_cuda_job *job, splat_loss_sums *sums,
                                 splat_error *error);

#endif
