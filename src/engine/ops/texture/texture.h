/* texture_gather and texture_blend: colours for points of a mesh (texels) from photos, gathered by texel, so that no
 * two threads write the same memory.
 *
 * The caller shows the views one after the other, in ascending order, to texture_gather, which keeps the heaviest
 * samples of each texel; texture_blend makes a colour of them. Texels are any list of (face, barycentric weights). */
#ifndef SPLAT_OPS_TEXTURE_H
#define SPLAT_OPS_TEXTURE_H

#include "ops/types.h"

#define SPLAT_TEXTURE_CANDIDATES 16   /* candidate views of a face */
#define SPLAT_TEXTURE_NO_VIEW 0xffffu /* ends a shorter list of candidates */
#define SPLAT_TEXTURE_SAMPLES 8       /* samples of a texel, the heaviest */
#define SPLAT_TEXTURE_LEVELS 6        /* most levels of a photo's pyramid */
#define SPLAT_TEXTURE_LOW_LEVEL 2     /* level of the pyramid with the size of the low band */
#define SPLAT_TEXTURE_LABELS 4        /* labels of a vertex */

/* The sample of a texel in a view. */
typedef struct splat_texture_sample {
    uint16_t color[3], low[3]; /* levelled, sRGB-encoded: 65535 (x + 1/2) / 2 for x from -1/2 to 3/2 */
    uint16_t weight;           /* the upper half of a float; 0: no sample */
    uint16_t rank;             /* place of the view among the face's candidates */
} splat_texture_sample;

/* Which views the faces around a vertex take their details from. */
typedef struct splat_texture_labels {
    uint16_t view[SPLAT_TEXTURE_LABELS];  /* SPLAT_TEXTURE_NO_VIEW: none */
    uint8_t share[SPLAT_TEXTURE_LABELS];  /* shares in 1/255 */
} splat_texture_labels;

/* The mesh and its texels; device pointers. */
typedef struct splat_texture_points {
    size_t n;                  /* texels */
    const uint32_t *face;      /* [n] */
    const float (*weights)[2]; /* [n] b0, b1; b2 is the rest */
    const float *vertices;     /* [n_vertices][3] */
    const float *normals;      /* [n_vertices][3], unit or zero: of the weight's cosine; the face's own decides what is
                                  seen */
    const uint32_t *faces;     /* [n_faces][3] */
    const float *size;         /* [n_faces] scene units that a texel of the face is wide */
    const uint16_t *candidates; /* [n_faces][16], NO_VIEW after the last; NULL: every view may see every face */
} splat_texture_points;

/* A photo with what is known of it; device pointers but for the camera. Levels of the pyramid lie one after the other,
 * each half as wide and high as the one before, rounded down but not below 1. */
typedef struct splat_texture_view {
    uint32_t number;           /* number of the view in candidates and labels */
    splat_camera camera;
    int32_t n_levels;
    const uint8_t *pyramid;    /* [levels]([height][width][3]) */
    const float *table;        /* [3][256] sRGB-encoded value that a byte of a channel stands for */
    const float *low;          /* [3][height][width] of LOW_LEVEL: levelled and blurred; NULL: all is low band */
    const float *depth;        /* [height][width] of the mesh along the camera's axis; 0: nothing, or masked */
    const uint8_t *feather;    /* [height][width] 255: far from silhouettes and the border */
    float sharpness;           /* a factor of the weight */
} splat_texture_view;

/* A texel is seen when its face shows its front, at less than 75 degrees, when it lies in the picture by 2 pixels, and
 * when no more than half a hundredth of its distance lies between it and the depth of the four pixels around, which
 * differ by a fiftieth at most. Its weight is feather cos^2 (f/z)^2 sharpness.
 *
 * Either `samples` or `sums` is given. samples: of more than SPLAT_TEXTURE_SAMPLES the heaviest, of equal ones the
 * earlier. sums: the colour and 1 are added where the texel is seen, whatever the weight. */
struct splat_texture_gather_args {
    splat_texture_points points;
    splat_texture_view view;
    splat_texture_sample *samples; /* [n][SPLAT_TEXTURE_SAMPLES], zero before the first view */
    float (*sums)[4];              /* [n] red, green, blue, count */
};

/* colour = low band + high band. Low: the mean by weight of the samples' low bands, each first clamped, by channel, to
 * median +- 3 x 1.4826 x median absolute deviation (at least 2/255) where there are three and more. High: colour less
 * low, the mean by (share^2 + 1/1000) weight^2, where share is what the vertices' labels give the sample's view.
 * Without labels the colour itself is clamped and averaged by weight. In [0, 1]; the fourth is the number of
 * samples. */
struct splat_texture_blend_args {
    splat_texture_points points;
    const splat_texture_sample *samples; /* [n][SPLAT_TEXTURE_SAMPLES] */
    const splat_texture_labels *labels;  /* [n_vertices]; NULL: none */
    float (*rgb)[4];                     /* [n] */
};

/* Pixels of the levels of a pyramid together. */
static inline size_t splat_texture_pyramid_pixels(int32_t width, int32_t height, int32_t n_levels)
{
    size_t n = 0;
    for (int32_t k = 0; k < n_levels; k++) {
        n += (size_t)width * (size_t)height;
        width = width > 1 ? width / 2 : 1;
        height = height > 1 ? height / 2 : 1;
    }
    return n;
}

/* Arguments that every backend refuses. */
static inline splat_status splat_texture_gather_check(const struct splat_texture_gather_args *args, splat_error *error)
{
    const splat_texture_view *v = &args->view;
    if (v->camera.width < 1 || v->camera.height < 1 || v->n_levels < 1 || v->n_levels > SPLAT_TEXTURE_LEVELS)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "a texture takes photos of at least one pixel in 1 to %d levels, not %dx%d in %d",
                          SPLAT_TEXTURE_LEVELS, v->camera.width, v->camera.height, v->n_levels);
    if (!args->samples == !args->sums)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a texture keeps samples or sums, one of them");
    return SPLAT_OK;
}

#endif
