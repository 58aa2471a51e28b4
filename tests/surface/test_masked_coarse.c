/* Coarse training with masks: no sample of the SDF, no pixel and no patch of a pair of views is a masked one, in either
 * view; white masks change nothing. What is trimmed is counted in kept pixels, and meshes are made of centres that kept
 * pixels show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "io/picture/image_write.h"
#include "ops/multi_view/multi_view.h"
#include "scene/scene.h"
#include "surface/coarse/coarse_parts.h"
#include "surface/coarse/coarse_prune.h"
#include "surface/extract/surface_collect.h"
#include "surface/extract/surface_points.h"
#include "train/parts/regularizer.h"
#include "train/state.h"
#include "trainer_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_CAMERAS 30
#define W 80
#define H 60
#define SPLAT "splat.ply"
#define ITERATION 111 /* of which the losses are looked at */

/* Which pixels the masks of a folder keep: all, those left of the middle, none; or all in the step's view, and none in
 * the others, and the reverse of that. */
typedef enum kind_of_masks { WHITE, HALF, BLACK, OTHERS_BLACK, OWN_BLACK } kind_of_masks;
static const char *const folders[] = {"white", "half", "black", "others_black", "own_black"};

static uint32_t step_view; /* the view of the step */

static void write_masks(kind_of_masks kind)
{
    splat_error error;
    static uint8_t mask[W * H];
    char path[256];
    snprintf(path, sizeof path, "close/%s", folders[kind]);
    must(splat_folder_create(path, &error), &error);
    for (uint32_t i = 0; i < N_CAMERAS; i++) {
        bool white = kind == WHITE || (kind == OTHERS_BLACK && i == step_view) ||
                     (kind == OWN_BLACK && i != step_view);
        for (size_t p = 0; p < W * H; p++) mask[p] = white || (kind == HALF && p % W < W / 2) ? 255 : 0;
        snprintf(path, sizeof path, "close/%s/image_%03u.png.png", folders[kind], i);
        must(splat_png_write(path, W, H, 1, 8, mask, &error), &error);
    }
}

/* The scene with the masks of a folder, or "none". */
static splat_scene *open_with(splat_context *context, const char *masks)
{
    splat_scene *scene;
    splat_scene_options options;
    splat_error error;
    splat_scene_options_init(&options);
    options.source_path = "close";
    options.masks = masks;
    must(splat_scene_open(context, &options, &scene, &error), &error);
    return scene;
}

/* The scene from so many sides that every view has neighbours, its masks, and a splat of it. */
static int make_all(void **state)
{
    (void)state;
    splat_error error;
    splat_train_options o;
    splat_context *context = open_cpu(2);
    write_small_sample(context, "close", W, H, N_CAMERAS, 400, 0);
    for (kind_of_masks k = WHITE; k <= OWN_BLACK; k++) write_masks(k);
    splat_scene *scene = open_with(context, "none");
    splat_train_options_init(&o);
    o.iterations = 1000;
    o.densify_from_iter = 150;
    o.densify_until_iter = 500;
    o.opacity_reset_interval = 100000;
    splat_trainer *t = new_trainer(context, scene, &o);
    run_steps(t, 600);
    must(splat_model_save(splat_trainer_get_model(t), SPLAT, NULL, &error), &error);
    close_training(context, scene, t);
    return 0;
}

static splat_train_options options_of(splat_regularization regularization)
{
    splat_train_options o;
    splat_train_options_init_coarse(&o, regularization);
    o.iterations = 400;
    o.coarse.first_iteration = 100;
    o.coarse.regularize_after = 110;
    o.coarse.entropy_factor = 0;
    o.flat_factor = 0;
    o.coarse.n_samples = 4000;
    return o;
}

/* The gradients after a step's losses. */
typedef struct outcome {
    double results[SPLAT_N_COARSE_RESULTS];
    float *means; /* gradients, [n][3] */
    size_t n;
} outcome;

static outcome look(splat_regularization regularization, const char *masks)
{
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_with(context, masks);
    splat_train_options o = options_of(regularization);
    splat_trainer *t = new_trainer(context, scene, &o);
    splat_tensors gradients;
    splat_error error;
    bool any;
    outcome out;
    must(splat_trainer_start_coarse(t, SPLAT, &error), &error);
    must(splat_regularize(t, ITERATION, step_view, &gradients, &any, &error), &error);
    assert_true(any);
    memcpy(out.results, t->regularizer_results.data, sizeof out.results); /* the CPU's memory is the host's */
    out.n = 3 * (size_t)t->model->gaussians.n;
    out.means = malloc(out.n * sizeof *out.means);
    memcpy(out.means, gradients.means, out.n * sizeof *out.means);
    for (size_t i = 0; i < out.n; i++) assert_true(isfinite(out.means[i]));
    close_training(context, scene, t);
    return out;
}

static double size_of(const outcome *o)
{
    double sum = 0;
    for (size_t i = 0; i < o->n; i++) sum += fabs((double)o->means[i]);
    return sum;
}

static void assert_same(const outcome *a, const outcome *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->results, b->results, sizeof a->results);
    assert_memory_equal(a->means, b->means, a->n * sizeof *a->means);
}

static void no_sample_of_the_sdf_lies_before_a_mask(void **state)
{
    (void)state;
    outcome none = look(SPLAT_REGULARIZE_SDF, "none"), white = look(SPLAT_REGULARIZE_SDF, "white");
    outcome half = look(SPLAT_REGULARIZE_SDF, "half"), black = look(SPLAT_REGULARIZE_SDF, "black");
    const double *all = none.results + SPLAT_COARSE_FIELD, *some = half.results + SPLAT_COARSE_FIELD,
                 *nothing = black.results + SPLAT_COARSE_FIELD;
    assert_same(&none, &white);
    print_message("samples %g, %g, %g; pool %g, %g, %g\n", all[2], some[2], nothing[2], all[3], some[3], nothing[3]);
    assert_true(some[2] > 100 && some[2] <= 4000 && all[2] > 100);
    assert_true(some[3] > 0.1 * all[3] && some[3] < 0.9 * all[3]); /* the pool is of the kept half */
    assert_true(isfinite(some[0]) && isfinite(some[1]));
    assert_true(nothing[2] == 0 && nothing[3] == 0 && size_of(&black) == 0);
    assert_true(size_of(&half) > 0);
    free(none.means), free(white.means), free(half.means), free(black.means);
}

static void pairs_of_views_leave_masks_of_both_out(void **state)
{
    (void)state;
    outcome none = look(SPLAT_REGULARIZE_MULTIVIEW, "none"), white = look(SPLAT_REGULARIZE_MULTIVIEW, "white");
    outcome half = look(SPLAT_REGULARIZE_MULTIVIEW, "half"), black = look(SPLAT_REGULARIZE_MULTIVIEW, "black");
    outcome others = look(SPLAT_REGULARIZE_MULTIVIEW, "others_black"), own = look(SPLAT_REGULARIZE_MULTIVIEW,
                                                                                  "own_black");
    const double *all = none.results + SPLAT_COARSE_MULTI_VIEW, *some = half.results + SPLAT_COARSE_MULTI_VIEW;
    assert_same(&none, &white);
    print_message("pixels %g, %g; patches %g, %g\n", all[1], some[1], all[3], some[3]);
    assert_true(all[1] > 20 && some[1] > 0 && some[1] < 0.7 * all[1]); /* the splat is not flat yet */
    assert_true(all[3] > 0 && some[3] < all[3]);
    for (int k = 0; k < SPLAT_MULTI_VIEW_RESULTS; k++) {
        assert_true(black.results[SPLAT_COARSE_MULTI_VIEW + k] == 0);
        assert_true(others.results[SPLAT_COARSE_MULTI_VIEW + k] == 0); /* the view itself is kept */
        assert_true(own.results[SPLAT_COARSE_MULTI_VIEW + k] == 0);
    }
    assert_true(size_of(&black) == 0 && size_of(&own) == 0);
    assert_true(size_of(&others) > 0); /* depth and normals of the own view still count */
    free(none.means), free(white.means), free(half.means), free(black.means), free(others.means), free(own.means);
}

/* How many Gaussians a trim leaves. */
static uint32_t left_of(const char *masks)
{
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_with(context, masks);
    splat_train_options o = options_of(SPLAT_REGULARIZE_DENSITY);
    splat_error error;
    o.trim_views = 3;
    splat_trainer *t = new_trainer(context, scene, &o);
    must(splat_trainer_start_coarse(t, SPLAT, &error), &error);
    must(splat_coarse_trim(t, ITERATION, &error), &error);
    uint32_t n = t->model->gaussians.n;
    close_training(context, scene, t);
    return n;
}

static void a_trim_counts_kept_pixels(void **state)
{
    (void)state;
    uint32_t all = left_of("none"), some = left_of("half");
    print_message("%u and %u stay\n", all, some);
    assert_int_equal(left_of("white"), all);
    assert_true(some > 100 && some < all);
}

/* How many centres of Gaussians would be points of a mesh. */
static size_t centers_of(const char *masks)
{
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_with(context, masks);
    splat_train_options o = options_of(SPLAT_REGULARIZE_DENSITY);
    splat_mesh_extract_options extract;
    splat_surface_points points[SPLAT_MESH_LEVELS];
    splat_error error;
    size_t n = 0, n_opaque;
    splat_free_space space;
    splat_trainer *t = new_trainer(context, scene, &o);
    must(splat_trainer_start_coarse(t, SPLAT, &error), &error);
    splat_mesh_extract_options_init(&extract);
    extract.points = SPLAT_MESH_POINTS_CENTERS;
    extract.outlier_neighbors = 0;
    splat_status status = splat_surface_points_collect(scene, splat_trainer_get_model(t), &extract, points, &space,
                                                       &n_opaque, &error);
    splat_free_space_free(&space);
    if (status == SPLAT_OK) {
        n = points[0].n;
        splat_surface_points_free(&points[0]);
    } else {
        assert_int_equal(status, SPLAT_ERROR_NUMERIC);
    }
    close_training(context, scene, t);
    return n;
}

static void centers_are_those_that_kept_pixels_show(void **state)
{
    (void)state;
    size_t all = centers_of("none"), some = centers_of("half");
    print_message("%zu and %zu centres\n", all, some);
    assert_int_equal(centers_of("white"), all);
    assert_int_equal(centers_of("black"), 0);
    assert_true(some > 20 && some < all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_sample_of_the_sdf_lies_before_a_mask),
        cmocka_unit_test(pairs_of_views_leave_masks_of_both_out),
        cmocka_unit_test(a_trim_counts_kept_pixels),
        cmocka_unit_test(centers_are_those_that_kept_pixels_show),
    };
    return cmocka_run_group_tests(tests, make_all, NULL);
}
