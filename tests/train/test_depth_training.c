/* Training on depth that is known: the losses do what they say, a run without them is what it was, and with them it is
 * the same run after a resume, on other threads, in bands, under masks and within a plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "coarse_fixture.h"
#include "io/picture/gray16.h"
#include "io/picture/image.h"
#include "io/picture/image_read.h"
#include "io/picture/image_write.h"
#include "option_effects.h"
#include "scene/scene.h"

#include "train/parts/depths.h"

#define KNOWN "known"
#define N_CAMERAS 8
#define N_STEPS 60

enum { NOTHING = 0, MAPS = 1, POINTS = 2, BOTH = 3 };

static void make_known(const char *folder, int n_blobs)
{
    splat_sample_options sample = small_sample(65, 47, N_CAMERAS, 300); /* an odd width: maps stand on even bytes */
    sample.n_blobs = n_blobs;
    sample.tracks = sample.depths = true;
    write_sample_once(folder, &sample);
}

/* The scene with what is known of it, or without. */
static tiny_place open_known_at(const char *folder, int what, int threads, const char *simd)
{
    tiny_place p = {.log = calloc(1, sizeof *p.log)};
    splat_error error;
    splat_context_options options;
    splat_scene_options scene;
    make_known(folder, 0);
    splat_context_options_init(&options);
    options.backend = "cpu";
    options.threads = threads;
    options.simd = simd;
    options.log = keep_line;
    options.log_user = p.log;
    must(splat_context_create(&options, &p.context, &error), &error);
    splat_scene_options_init(&scene);
    scene.source_path = folder;
    scene.depths = what & MAPS ? "depths" : NULL;
    scene.sfm_depth = what & POINTS;
    must(splat_scene_open(p.context, &scene, &p.scene, &error), &error);
    return p;
}

static tiny_place open_known(int what)
{
    return open_known_at(KNOWN, what, 2, "auto");
}

/* Strong enough to be seen in a short run. */
static splat_train_options known_options(int n_steps)
{
    splat_train_options o = tiny_options(n_steps);
    o.random_background = false;
    o.sfm_depth_weight = 0.1f;
    return o;
}

static uint8_t *trained(const tiny_place *p, const splat_train_options *o, size_t *size)
{
    return result_after(tiny_trainer(p, o), o->iterations, size);
}

static void assert_same_bytes(uint8_t *a, size_t a_size, uint8_t *b, size_t b_size, bool same, const char *what)
{
    if ((a_size == b_size && memcmp(a, b, a_size) == 0) != same) fail_msg("%s", what);
    free(a);
    free(b);
}

/* ---------------------------------------------------------------- off */

static void without_weights_nothing_changes(void **state)
{
    (void)state;
    splat_train_options o = known_options(N_STEPS);
    size_t sizes[3];
    uint8_t *results[3];
    splat_error error;
    splat_loss losses[SPLAT_MAX_LOSSES];
    size_t n, peaks[2];
    tiny_place plain = open_known(NOTHING), known = open_known(BOTH);
    splat_memory_info memory;
    results[0] = trained(&plain, &o, &sizes[0]);
    splat_context_get_memory(plain.context, &memory);
    peaks[0] = memory.peak_bytes;
    o.depth_l1_weight_init = o.sfm_depth_weight = 0;
    splat_trainer *t = tiny_trainer(&known, &o);
    assert_true(!splat_depths_of(t)->points.data && !splat_depths_of(t)->results.data);
    must(splat_trainer_get_losses(t, losses, &n, &error), &error);
    assert_int_equal(n, 0);
    results[1] = result_after(t, o.iterations, &sizes[1]);
    splat_context_get_memory(known.context, &memory);
    peaks[1] = memory.peak_bytes;
    assert_true(peaks[1] <= peaks[0] + 8 * 2 * 65 * 47 + 8192); /* the maps lie with their photos */
    assert_same_bytes(results[0], sizes[0], results[1], sizes[1], true, "weights of 0 change the result");
    close_tiny(&plain);
    close_tiny(&known);
}

/* ---------------------------------------------------------------- the losses */

static void weights_fall_as_published(void **state)
{
    (void)state;
    splat_train_options o;
    splat_train_options_init(&o);
    assert_true(fabsf(splat_depth_map_weight(&o, 0) - 1) < 1e-6f);
    assert_true(fabsf(splat_depth_map_weight(&o, 15000) - 0.1f) < 1e-6f);
    assert_true(fabsf(splat_depth_map_weight(&o, 30000) - 0.01f) < 1e-7f);
    assert_true(splat_depth_map_weight(&o, 40000) == splat_depth_map_weight(&o, 30000));
    o.depth_l1_weight_init = 0;
    assert_true(splat_depth_map_weight(&o, 1) == 0);
    assert_true(splat_depth_point_weight(&o, 15000) == 0.01f && splat_depth_point_weight(&o, 15001) == 0);
}

/* The mean of a loss over an epoch that is trained on with tiny weights, after `n_steps` of training with `what`. */
static void losses_after(int what, int n_steps, double *of_maps, double *of_points)
{
    splat_train_options o = known_options(n_steps + N_CAMERAS);
    tiny_place p = open_known(BOTH);
    o.densify_until_iter = 10000;
    o.densification_interval = 100000;
    o.opacity_reset_interval = 100000;
    o.sfm_depth_weight = 1;
    splat_trainer *t = tiny_trainer(&p, &o);
    if (!(what & MAPS)) t->options.depth_l1_weight_init = 1e-9f;
    if (!(what & MAPS)) t->options.depth_l1_weight_final = 1e-9f;
    if (!(what & POINTS)) t->options.sfm_depth_weight = 1e-9f;
    run_steps(t, n_steps);
    *of_maps = *of_points = 0;
    for (int i = 0; i < N_CAMERAS; i++) {
        run_steps(t, 1);
        *of_maps += loss_of(t, "depth") / N_CAMERAS;
        *of_points += loss_of(t, "sfm_depth") / N_CAMERAS;
    }
    splat_trainer_destroy(t);
    close_tiny(&p);
}

static void each_loss_falls_by_training_on_it(void **state)
{
    (void)state;
    double maps[3], points[3];
    for (int what = 0; what < 3; what++) losses_after(what, 80, &maps[what], &points[what]);
    print_message("maps: %.4f without, %.4f with maps; points: %.4f without, %.4f with points\n", maps[NOTHING],
                  maps[MAPS], points[NOTHING], points[POINTS]);
    assert_true(maps[MAPS] < 0.7 * maps[NOTHING]);
    assert_true(points[POINTS] < 0.7 * points[NOTHING]);
}

static uint8_t *effect_result(const tiny_place *p, const splat_train_options *o, size_t *size)
{
    return result_after(tiny_trainer(p, o), 29, size);
}

static void every_option_of_depth_does_something(void **state)
{
    (void)state;
    tiny_place p = open_known(BOTH);
    splat_train_options usual = known_options(N_STEPS);
    assert_int_equal(check_option_effects(&p, &usual, SPLAT_CHANGES_DEPTH, effect_result), 3);
    close_tiny(&p);
}

/* ---------------------------------------------------------------- the same run */

static void threads_and_simd_do_not_matter(void **state)
{
    (void)state;
    splat_train_options o = known_options(N_STEPS);
    size_t size, other_size;
    tiny_place p = open_known_at(KNOWN, BOTH, 1, "c"), other = open_known_at(KNOWN, BOTH, 3, "auto");
    uint8_t *result = trained(&p, &o, &size), *again = trained(&other, &o, &other_size);
    assert_same_bytes(result, size, again, other_size, true, "threads or SIMD change the result");
    close_tiny(&p);
    close_tiny(&other);
}

/* PSNR of the training views after a few steps, whose sums of bands have another order: before that tells. */
static double psnr_with(const tiny_place *p, uint64_t max_instances, bool *has_bands)
{
    splat_train_options o = known_options(N_STEPS);
    o.max_instances = max_instances;
    o.sfm_depth_weight = 10; /* a band that was left out would tell */
    splat_trainer *t = tiny_trainer(p, &o);
    run_steps(t, 6);
    *has_bands = t->model->frame.n_bands > 1;
    double psnr = psnr_of(p, splat_trainer_get_model(t));
    splat_trainer_destroy(t);
    return psnr;
}

static void bands_do_not_matter(void **state)
{
    (void)state;
    bool has_bands;
    tiny_place p = open_known(BOTH);
    double whole = psnr_with(&p, 0, &has_bands);
    assert_false(has_bands);
    double banded = psnr_with(&p, 900, &has_bands);
    assert_true(has_bands);
    print_message("%.6f dB whole, %.6f in bands\n", whole, banded);
    assert_true(fabs(whole - banded) < 1e-3);
    close_tiny(&p);
}

static void a_resumed_run_is_the_same_run(void **state)
{
    (void)state;
    splat_error error;
    splat_train_options o = known_options(N_STEPS);
    o.exposure = true;
    tiny_place p = open_known(BOTH);
    size_t size, resumed_size;
    uint8_t *whole = trained(&p, &o, &size);
    for (int stop = 7; stop < N_STEPS; stop += 38) { /* before and after the points' last step */
        splat_trainer *before = tiny_trainer(&p, &o);
        run_steps(before, stop);
        must(splat_trainer_save_checkpoint(before, "state.splatsmith", &error), &error);
        splat_trainer_destroy(before);
        splat_trainer *after = tiny_trainer(&p, &o);
        must(splat_trainer_load_checkpoint(after, "state.splatsmith", &error), &error);
        assert_true(after->options.depth_l1_weight_init == o.depth_l1_weight_init);
        uint8_t *resumed = result_after(after, N_STEPS - stop, &resumed_size), *copy = malloc(size);
        memcpy(copy, whole, size);
        assert_same_bytes(copy, size, resumed, resumed_size, true, "a resumed run is another");
    }
    free(whole);
    close_tiny(&p);
}

/* ---------------------------------------------------------------- masks */

/* Another depth where the masks are black. */
static void disturb_maps(const char *folder)
{
    splat_error error;
    for (int i = 0; i < N_CAMERAS; i++) {
        splat_image mask;
        uint16_t *map;
        char *mask_path = splat_format("%s/masks/image_%03d.png.png", folder, i);
        char *path = splat_format("%s/depths/image_%03d.png", folder, i);
        must(splat_image_read(mask_path, &mask, &error), &error);
        must(splat_gray16_read(path, mask.width, mask.height, &map, &error), &error);
        size_t n_changed = 0;
        for (size_t k = 0; k < (size_t)(mask.width * mask.height); k++)
            if (!mask.pixels[3 * k]) map[k] ^= 0x7fff, n_changed++;
        assert_true(n_changed > 50);
        must(splat_png_write(path, mask.width, mask.height, 1, 16, map, &error), &error);
        splat_image_free(&mask);
        free(map);
        free(mask_path);
        free(path);
    }
}

/* Another depth of the points there; returns how many. */
static size_t disturb_points(splat_scene *scene)
{
    splat_error error;
    splat_dataset *d = &scene->dataset;
    size_t n = 0;
    for (size_t i = 0; i < d->n_views; i++) {
        const splat_dataset_view *v = &d->views[i];
        const uint8_t *photo;
        must(splat_image_cache_acquire(scene->cache, i, &photo, &error), &error);
        const uint8_t *mask = splat_view_mask(v, photo);
        for (size_t k = 0; k < v->n_depth_points; k++) {
            splat_depth_point *p = &d->depth_points[v->first_depth_point + k];
            if (mask[splat_pixel_under(p->x, p->y, v->camera.width, v->camera.height)]) continue;
            p->inverse *= 3;
            n++;
        }
        splat_image_cache_release(scene->cache, i);
    }
    return n;
}

static void what_masks_cover_does_not_matter(void **state)
{
    (void)state;
    splat_train_options o = known_options(N_STEPS);
    size_t size, other_size;
    splat_error error;
    must(splat_folder_delete("blobs", &error), &error);
    make_known("blobs", 4);
    tiny_place p = open_known_at("blobs", BOTH, 2, "auto");
    assert_true(p.scene->dataset.n_masked == N_CAMERAS);
    uint8_t *result = trained(&p, &o, &size);
    close_tiny(&p);
    disturb_maps("blobs");
    p = open_known_at("blobs", BOTH, 2, "auto");
    assert_true(disturb_points(p.scene) > 20);
    uint8_t *other = trained(&p, &o, &other_size);
    assert_same_bytes(result, size, other, other_size, true, "depth under a mask changes the result");
    close_tiny(&p);
}

/* ---------------------------------------------------------------- memory */

static size_t row_of(const splat_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->n_rows; i++)
        if (strcmp(plan->rows[i].name, name) == 0) return plan->rows[i].bytes;
    return 0;
}

static void plan_for(const tiny_place *p, const splat_train_options *o, size_t limit, splat_train_options *chosen,
                     splat_plan *plan)
{
    splat_error error;
    splat_plan_options wanted;
    splat_plan_options_init(&wanted);
    splat_plan_init(plan);
    splat_train_options_init(chosen);
    wanted.limit_bytes = limit;
    must(splat_plan_make(p->context, p->scene, o, &wanted, chosen, plan, &error), &error);
}

static void a_plan_counts_it_and_is_kept(void **state)
{
    (void)state;
    splat_error error;
    splat_plan plain, known;
    splat_train_options o = known_options(N_STEPS), chosen;
    tiny_place without = open_known(NOTHING), p = open_known(BOTH);
    plan_for(&without, &o, (size_t)1 << 40, &chosen, &plain);
    plan_for(&p, &o, (size_t)1 << 40, &chosen, &known);
    const size_t n_pixels = 65 * 47, n = known.n_gaussians;
    const char *frame = "frame of the largest view";
    assert_int_equal(row_of(&plain, "points of known depth"), 0);
    assert_int_equal(row_of(&known, "points of known depth"),
                     p.scene->dataset.n_depth_points * sizeof(splat_depth_point) + N_CAMERAS * 5 * 3); /* tiles */
    const size_t more = row_of(&known, frame) - row_of(&plain, frame) - 20 * n_pixels; /* five planes */
    assert_true(more >= 4 * n && more <= 4 * n + n / 10); /* rows for growth */
    const char *scratch = "working memory of the ops"; /* a slot of depth an instance */
    assert_true(row_of(&known, scratch) > row_of(&plain, scratch));
    plan_for(&p, &o, known.total_bytes, &chosen, &known);
    must(splat_context_set_memory_limit(p.context, known.total_bytes, &error), &error);
    splat_memory_info memory;
    splat_trainer *t = tiny_trainer(&p, &chosen);
    run_steps(t, N_STEPS);
    splat_context_get_memory(p.context, &memory);
    print_message("planned %zu, peak %zu\n", known.total_bytes, memory.peak_bytes);
    assert_true(memory.peak_bytes <= known.total_bytes && p.log->n_warnings == 0);
    splat_trainer_destroy(t);
    close_tiny(&without);
    close_tiny(&p);
}

/* ---------------------------------------------------------------- coarse training */

static tiny_place open_maps(int threads)
{
    return open_known_at(KNOWN, MAPS, threads, "auto");
}

static void coarse_training_takes_maps(void **state)
{
    (void)state;
    make_splat_of(open_maps, 220);
    splat_train_options o = coarse_options(SPLAT_REGULARIZE_DN_CONSISTENCY, FIRST + 5, FIRST + 40);
    tiny_place p = open_known(BOTH), plain = open_known(NOTHING);
    size_t size, plain_size;
    splat_trainer *t = start_with(&p, &o, SPLAT);
    run_steps(t, 20);
    assert_true(loss_of(t, "depth") > 0 && isfinite(loss_of(t, "depth_normal")));
    uint8_t *with = result_after(t, 20, &size);
    uint8_t *without = result_after(start_with(&plain, &o, SPLAT), 40, &plain_size);
    assert_same_bytes(with, size, without, plain_size, false, "maps change nothing in coarse training");
    o.depth_l1_weight_init = o.depth_l1_weight_final = 1e-9f; /* in addition to the losses of coarse training */
    splat_trainer *other = start_with(&plain, &o, SPLAT);
    t = start_with(&p, &o, SPLAT);
    run_steps(other, 40);
    run_steps(t, 40);
    double normals[2] = {loss_of(t, "depth_normal"), loss_of(other, "depth_normal")};
    print_message("normals %.6f with maps of no weight, %.6f without\n", normals[0], normals[1]);
    assert_true(fabs(normals[0] - normals[1]) < 1e-3 * normals[1]);
    splat_trainer_destroy(other);
    splat_trainer_destroy(t);
    o.depth_l1_weight_init = 0; /* points have ended with densification */
    with = result_after(start_with(&p, &o, SPLAT), 40, &size);
    without = result_after(start_with(&plain, &o, SPLAT), 40, &plain_size);
    assert_same_bytes(with, size, without, plain_size, true, "points change coarse training");
    close_tiny(&p);
    close_tiny(&plain);
}

int main(void)
{
    splat_error error;
    splat_folder_delete(KNOWN, &error);
    remove(SPLAT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_weights_nothing_changes),
        cmocka_unit_test(weights_fall_as_published),
        cmocka_unit_test(each_loss_falls_by_training_on_it),
        cmocka_unit_test(every_option_of_depth_does_something),
        cmocka_unit_test(threads_and_simd_do_not_matter),
        cmocka_unit_test(bands_do_not_matter),
        cmocka_unit_test(a_resumed_run_is_the_same_run),
        cmocka_unit_test(what_masks_cover_does_not_matter),
        cmocka_unit_test(a_plan_counts_it_and_is_kept),
        cmocka_unit_test(coarse_training_takes_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
