/* Scenes for the tests of bin, raster and raster_backward: Gaussians on the screen made by hand, the same for the frame
 * and for the references. */
#ifndef SPLAT_OPS_RASTER_SCENE_TEST_H
#define SPLAT_OPS_RASTER_SCENE_TEST_H

#include "ops/ref.h"
#include "ops/test_ops.h"
#include "ops/view.h"

typedef enum test_scene_kind {
    TEST_SCENE_MIXED = 0,   /* all sizes and opacities, ties of depth, needles, some outside the picture */
    TEST_SCENE_OPAQUE,      /* alpha0 = 1 */
    TEST_SCENE_FLAT,        /* alpha0 = 1 and wider than the picture: alpha is clamped everywhere */
    TEST_SCENE_TRANSPARENT, /* alpha0 < 1/255: nothing blends */
    TEST_SCENE_STACKED,     /* large and faint, all on the first tile */
    TEST_SCENE_SOFT         /* a few wide ones with alpha0 < 0.9, for central differences */
} test_scene_kind;

typedef struct test_scene_spec {
    const char *name;
    test_scene_kind kind;
    uint32_t n;
    int width, height;
    bool jitter;
    float background[3];
} test_scene_spec;

/* Host memory; the frame is the backend's. Not to be copied: the backend keeps the addresses of the blocks. */
typedef struct test_scene {
    test_scene_spec spec;
    size_t n_pixels;
    ref_splat2d_f32 *splats; /* [n] entry v of the frame */
    ref_splat2d_f64 *splats_f64;
    uint16_t *tile_rect;     /* [n][4] */
    float *jitter;           /* [2][n_pixels] or NULL */
    double *jitter_f64;
    bool *band;              /* [n_pixels] a decision of the pixel is within rounding of a threshold */
    size_t n_band;
    int64_t *last;           /* [n_pixels] entry that is blended last, -1: none; in double */
    splat_frame frame;
    uint64_t max_instances;  /* of the next run; 0: no bound */
    bool without_mean_abs;   /* of the next backward pass */
    const float *grad_alpha; /* of the next backward pass; host, [n_pixels], or NULL */
    bool with_depth;         /* of the next run: depths at these patches */
    splat_patches patches;
    uint8_t *marked;         /* host, of patches */
    float *grad_along, *grad_inverse; /* host, [n_pixels], zero outside of the patches and in the band */
    splat_block jitter_block, grad_block, alpha_block, depth_blocks[6];
} test_scene;

/* `band_width`: relative distance to a threshold that counts as the band; negative: band and last are not computed. */
void test_scene_make(splat_backend *backend, const test_scene_spec *spec, double band_width, test_scene *scene);
void test_scene_free(splat_backend *backend, test_scene *scene);
/* From now on raster counts what each pixel blends. */
void test_scene_count(splat_backend *backend, test_scene *scene);
/* From now on depths are blended: of a quarter of the patches by lot, and of others that are marked. */
void test_scene_ask_depth(test_scene *scene);
bool test_scene_has_depth(const test_scene *scene, size_t pixel);
/* Runs bin and raster, and raster_backward when grad_image (host, [3][n_pixels]) is not NULL, in the bands that
 * scene->max_instances asks for. */
splat_status test_scene_run(splat_backend *backend, test_scene *scene, const float *grad_image, splat_error *error);
/* Random in [-1, 1), zero in the band. */
float *test_scene_gradient(const test_scene *scene);

/* Uniform in [0, 1), number k of item i. */
float test_scene_random(uint32_t k, uint32_t i);

/* The results of a run on the host, for comparisons bit by bit; freed by test_result_free. The lists are those of the
 * last band that was binned. */
typedef struct test_result {
    float *image, *transmittance, *grad2d;
    uint32_t *last, *instances, *instance_slots, *slot_begin, *tile_begin;
    uint32_t *blended; /* NULL: not counted */
    float *along, *inverse, *grad_depth; /* NULL: not asked for */
    size_t n_pixels, n_instances, n_visible, n_tiles;
} test_result;

test_result test_result_make(splat_backend *backend, const test_scene *scene);
void test_result_free(test_result *result);
/* The name of the first array that differs, or NULL. */
const char *test_result_difference(const test_result *a, const test_result *b);
/* Runs the scene on CPU backends of every SIMD level of the machine and several thread counts, and compares the results
 * with those of `backend` (only when that is the CPU in plain C with one thread). Returns the number of differences. */
int test_scene_same_everywhere(splat_backend *backend, const test_scene_spec *spec);

/* raster_bands_test.c: a view in bands against the same view at once. Each returns the number of failures. */
int test_bands_lists(splat_backend *backend);
int test_bands_picture(splat_backend *backend);
int test_bands_gradient(splat_backend *backend);

#endif
