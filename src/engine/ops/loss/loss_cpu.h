/* Code shared by the loss and the metrics on the CPU: one pass over the picture that sums |x - y|, (x - y)^2 and SSIM,
 * and writes the gradient when it is wanted.
 *
 * Each channel is cut into bands of rows. A band streams its rows through two rings of SPLAT_SSIM_TAPS filtered rows
 * (moments, then derivatives), so that a thread needs a hundred rows of room and no full plane. A pixel is computed the
 * same way in any band and a row's sums are made in one order: the bytes do not depend on the threads. */
#ifndef SPLAT_OPS_LOSS_CPU_H
#define SPLAT_OPS_LOSS_CPU_H

#include "ops/loss/loss.h"

#define SPLAT_SSIM_TAPS (2 * SPLAT_SSIM_RADIUS + 1)

typedef struct splat_loss_job {
    int32_t width, height;
    const float *image;       /* [3][height][width] */
    const uint8_t *photo_u8;  /* [height][width][3], or NULL: photo_f32 */
    const float *photo_f32;   /* [3][height][width] */
    const uint8_t *mask;      /* [height][width] or NULL; see loss.h */
    float *grad_image;        /* [3][height][width] or NULL */
    float l1_scale;           /* factor of sign(x - y) in the gradient: (1 - lambda) / (3 height width) */
    float ssim_scale;         /* factor of dSSIM/dx in the gradient: -lambda / (3 height width); 0: none */
    splat_loss_sums *rows;    /* [3][height], set by splat_loss_run */
} splat_loss_job;

/* Floats between two rows of a band's workspace: 16 zeros on the left, at least 16 on the right. */
static inline size_t splat_loss_stride(int32_t width)
{
    return ((size_t)width + 15) / 16 * 16 + 32;
}

/* Rows of a band's workspace. */
enum {
    SPLAT_LOSS_PHOTO = 0,                                       /* the last photo rows; padded, as are the next ones: */
    SPLAT_LOSS_IMAGE = SPLAT_LOSS_PHOTO + SPLAT_SSIM_TAPS,      /* the image row x, */
    SPLAT_LOSS_POWER,                                           /* x^2 + y^2, */
    SPLAT_LOSS_ERROR,                                           /* (x - y)^2, */
    SPLAT_LOSS_DERIVATIVES,                                     /* and three rows of the SSIM map's derivatives */
    SPLAT_LOSS_PADDED = SPLAT_LOSS_DERIVATIVES + 3,             /* number of padded rows */
    SPLAT_LOSS_FILTERED = SPLAT_LOSS_PADDED,                    /* results of the vertical filter */
    SPLAT_LOSS_VALUES = SPLAT_LOSS_FILTERED + 4,                /* values to be summed */
    SPLAT_LOSS_BLENDED = SPLAT_LOSS_VALUES + 1,                 /* with a mask: the image row, or the photo */
    SPLAT_LOSS_MOMENTS = SPLAT_LOSS_BLENDED + 1,                /* ring [4][SPLAT_SSIM_TAPS] */
    SPLAT_LOSS_BACKWARD = SPLAT_LOSS_MOMENTS + 4 * SPLAT_SSIM_TAPS, /* ring [3][SPLAT_SSIM_TAPS] */
    SPLAT_LOSS_ROWS = SPLAT_LOSS_BACKWARD + 3 * SPLAT_SSIM_TAPS
};

/* Rows [first, end) of a channel. workspace: float[SPLAT_LOSS_ROWS][splat_loss_stride(width)], any content. */
#define SPLAT_LOSS_BAND(name)                                                                                          \
    void name(const splat_loss_job *job, int channel, int first, int end, float *workspace)

SPLAT_LOSS_BAND(splat_loss_band_c);
SPLAT_LOSS_BAND(splat_loss_band_avx2);
SPLAT_LOSS_BAND(splat_loss_band_avx512);

/* Scratch: a workspace a thread, and sums of the rows. */
static inline size_t splat_loss_workspace_floats(int32_t width)
{
    return SPLAT_LOSS_ROWS * splat_loss_stride(width);
}

static inline size_t splat_loss_rows_bytes(int32_t height)
{
    return 3 * (size_t)height * sizeof(splat_loss_sums);
}

/* Runs the job over the picture; sums is [3], by channel. */
splat_status splat_loss_run(splat_backend *backend, splat_loss_job *job, splat_loss_sums *sums, splat_error *error);

/* The value of a photo's byte. */
static inline float splat_loss_from_byte(uint8_t byte)
{
    return (float)byte / 255.0f;
}

#endif
