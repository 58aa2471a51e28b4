/* match: the depth of a view, refined and judged by its photo and those of other views across planes: patches are
 * compared by their weighted correlation (docs/method.md, "Meshes from splats"; windows and propagation of ACMM,
 * Xu and Tao, Multi-Scale Geometric Consistency Guided Multi-View Stereo, CVPR 2019). */
#ifndef SPLAT_OPS_MATCH_H
#define SPLAT_OPS_MATCH_H

#include "ops/types.h"

#define SPLAT_MATCH_NEIGHBORS 8
#define SPLAT_MATCH_BEST 4             /* neighbours whose costs count */
#define SPLAT_MATCH_BEST_OF_GUESSES 2  /* the same where first planes are guesses */
#define SPLAT_MATCH_SAMPLES 36         /* 6 x 6 pixels, 2 apart: a window of 11 x 11 */
#define SPLAT_MATCH_STEP_SAMPLES 25    /* 5 x 5 pixels, 1 apart: at steps of the depth */
#define SPLAT_MATCH_NEAR 5.0f          /* pixels: the deviation of the weights */
#define SPLAT_MATCH_ALIKE 12.0f        /* levels: the same */
#define SPLAT_MATCH_STEP 0.02f         /* of the depth, off the pixel's plane: another surface */
#define SPLAT_MATCH_STEP_REACH 3       /* pixels around within which another surface makes a step */
#define SPLAT_MATCH_HIDDEN 0.95f       /* of the depth: what a neighbour sees nearer hides the place */
#define SPLAT_MATCH_LEAST_COSINE 0.5f /* 60 degrees between two rays */
#define SPLAT_MATCH_MOST_COSINE 0.99939083f  /* 2 degrees */
#define SPLAT_MATCH_PARALLAX 6.0f      /* pixels from a place to infinity that a neighbour must show for MATCHED */
#define SPLAT_MATCH_FAINT 2.0f         /* levels, and times the noise: a patch with less deviation says nothing */
#define SPLAT_MATCH_CLEAR 3.0f         /* levels, and times the noise: one with less says nothing against a depth */
#define SPLAT_MATCH_GOOD 0.4f          /* MATCHED below */
#define SPLAT_MATCH_SHARP 0.1f         /* and if the costs at other depths are so much larger */
#define SPLAT_MATCH_BAD 0.8f           /* AGAINST above */
#define SPLAT_MATCH_BEYOND 0.05f       /* or if infinity is good and costs so much less */
#define SPLAT_MATCH_GAIN 0.05f         /* by which another plane must be better than the first one */
#define SPLAT_MATCH_STEP_MOVE 1.0f     /* pixels of disparity that a site at a step moves at most */
#define SPLAT_MATCH_JOINED 20          /* of the 24 sites around that must lie on the plane of one that moved */
#define SPLAT_MATCH_JOINED_PIXELS 1.0f /* to so many pixels of disparity */
#define SPLAT_MATCH_SALT 4             /* pixels around a site, both ways, whose verdicts outvote it */

/* A view: camera, photo and depth have one size. */
typedef struct splat_match_view {
    const splat_camera *camera;
    const uint8_t *grey; /* [height][width] */
    const float *depth;  /* [height][width], along the camera's axis; 0: no surface; NULL: unknown. Then no site of this
                            reference is at a step, and nothing in this neighbour hides */
} splat_match_view;

typedef enum splat_match_verdict { SPLAT_MATCH_SILENT, SPLAT_MATCH_MATCHED, SPLAT_MATCH_AGAINST } splat_match_verdict;

/* Sites are the pixels (stride i + stride / 2, stride j + stride / 2) of the reference's picture, row by row. The plane
 * of a site is (q, g, h): at (dx, dy) pixels from it the inverse depth is q + g dx + h dy.
 *
 * A patch is the 6 x 6 pixels at -5, -3 .. 5 around the site, or, at a step, where a pixel of the depth within 3 is
 * more than 2 % off the site's first plane, 5 x 5 at -2 .. 2. The weight of a pixel is exp(-d^2 / (2 5^2) - e^2 / (2
 * 12^2)), d its distance and e its level less the site's; s is the patch's deviation with these weights. A neighbour
 * *sees* the site if the first plane lies in its picture, at 2 to 60 degrees between the two rays, and its own depth
 * there is not below 0.95 of that of the place. The cost of a plane in a neighbour is 1 less the weighted correlation
 * with what the plane shows in it (bilinear, beyond the border its last pixel; the variance there at least 0.5), 2 if
 * the site itself leaves the picture; the cost m of a plane is the mean of the best 4 of the neighbours that see the
 * site, of the best 2 if the first planes are guesses: then most of them may look at what hides the site. A pixel
 * of disparity is the change of q that moves the site by a pixel in them, in the mean.
 *
 * A site speaks if its first q is above 0, s >= max(2, 2 noise) levels, and a neighbour sees it. In each of
 * n_sweeps sweeps first the sites with even i + j, then the others take the best of their own plane, those of the 4
 * next sites, in each of 4 directions that with the least cost 3, 5, .. 23 pixels away (of sites: an odd number), q
 * moved by +- 1/8, 1/4, 1/2, 1, 2, 4 pixels of disparity, the plane turned by +-1 and +-5 degrees around both axes,
 * and three planes through the depths of the 4 next sites. At a step q stays within a pixel of disparity of the
 * first. In the end the first plane comes back unless the best costs less by 0.05.
 *
 * Verdicts: MATCHED if m < 0.4, m at +-2, 4, 8 pixels of disparity and at infinity is larger by more than 0.1, and one
 * of the neighbours moves the site by 6 pixels or more from infinity. AGAINST if the site is at no step, two
 * neighbours see it, s >= max(3, 3 noise), and m > 0.8 or m at infinity is below 0.4 and less by 0.05. In the end a
 * verdict becomes SILENT if within 4 pixels more sites have the other one, or if the first planes are no guesses, the
 * plane is not the first and fewer than 20 of the 24 sites around lie on it. Planes and costs stay. Working memory is
 * scratch, which it resets. Errors: ARGUMENT (no stride, too many neighbours), MEMORY. */
struct splat_match_args {
    splat_match_view reference, neighbors[SPLAT_MATCH_NEIGHBORS];
    uint32_t n_neighbors;
    float noise;         /* deviation of the photos' noise, levels */
    uint32_t stride;     /* 1: every pixel */
    uint32_t n_sweeps;
    bool are_guesses;    /* the first planes may be anywhere */
    float (*planes)[3];  /* [sites] the first, and in the end the best; q = 0: none */
    float *costs;        /* [sites] of the best; 3 where a site does not speak */
    uint8_t *verdicts;   /* [sites] */
};

/* Sites along a side. */
static inline uint32_t splat_match_sites(int side, uint32_t stride)
{
    return ((uint32_t)side + stride - 1 - stride / 2) / stride;
}

/* The number of a site's pixel in a picture of so many pixels a row; columns: sites in a row. */
static inline size_t splat_match_site_pixel(int width, uint32_t stride, size_t columns, size_t site)
{
    const size_t half = stride / 2;
    return (site / columns * stride + half) * (size_t)width + site % columns * stride + half;
}

/* The site nearest to pixel (x, y). */
static inline size_t splat_match_site_at(uint32_t stride, int columns, int rows, int x, int y)
{
    const int column = x / (int)stride, row = y / (int)stride;
    return (size_t)(row < rows ? row : rows - 1) * (size_t)columns + (size_t)(column < columns ? column : columns - 1);
}

/* A site between sweeps. */
typedef struct splat_match_site {
    float first[3]; /* the plane at the beginning, */
    float cost;     /* and its cost */
    float pixels;   /* of disparity, for a change of q by 1 */
    uint32_t sees;  /* bits of the neighbours that see it; SPLAT_MATCH_AT_STEP; 0: it does not speak */
    float texture;  /* s */
} splat_match_site;

#define SPLAT_MATCH_AT_STEP 256u
#define SPLAT_MATCH_DUMB 3.0f /* the cost of a site that does not speak */

/* Scratch: four pixels of a neighbour's photo in one word, for each of its pixels; sites; verdicts before the last
 * step. n_pixels: of all neighbours together. */
static inline size_t splat_match_scratch_bytes(size_t n_pixels, size_t n_sites)
{
    return n_pixels * sizeof(uint32_t) + n_sites * (sizeof(splat_match_site) + 1);
}

#endif
