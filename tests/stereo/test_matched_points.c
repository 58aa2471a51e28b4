/* Points where photos match, in the sample scene, whose surface is known. */
#include "scene_fixture.h"
#include "trainer_fixture.h"

#include "base/context.h"
#include "io/ply/ply_points.h"
#include "scene/scene.h"
#include "stereo/matched_points.h"
#include "train/state.h"

#include <math.h>

#define MANY 100000
#define EVERY_FOURTH 40000 /* pixels: of each photo one in 16 */
#define NEAR 0.06f         /* of the scene's units: a pixel is 0.04 wide */

typedef struct world {
    splat_context *context;
    splat_scene *scene;
} world;

static world open_world(int threads, const char *folder, const char *masks)
{
    splat_error error;
    splat_scene_options options;
    world w = {.context = open_cpu(threads)};
    splat_sample_options sample = small_sample(140, 105, 40, 1000);
    sample.n_truth = 40000;
    sample.n_blobs = 2;
    write_sample_once(folder, &sample);
    splat_scene_options_init(&options);
    options.source_path = folder;
    options.masks = masks;
    must(splat_scene_open(w.context, &options, &w.scene, &error), &error);
    return w;
}

static void close_world(world *w)
{
    splat_scene_close(w->scene);
    splat_context_destroy(w->context);
}

static splat_matched_points find(const world *w, size_t most, double most_sites)
{
    splat_error error;
    splat_matched_points found;
    must(splat_matched_points_find(w->scene, w->context->backend, most, most_sites, &found, &error), &error);
    return found;
}

/* The share of the points that lie on the true surface. */
static double share_near(const splat_matched_points *found)
{
    splat_error error;
    splat_point *truth;
    size_t n = 0, n_truth;
    must(splat_ply_read_points("matched/ground_truth.ply", &truth, &n_truth, &error), &error);
    for (size_t i = 0; i < found->n; i++) {
        float nearest = INFINITY;
        for (size_t k = 0; k < n_truth; k++) {
            float square = 0;
            for (int c = 0; c < 3; c++) {
                const float apart = found->points[i].position[c] - truth[k].position[c];
                square += apart * apart;
            }
            nearest = square < nearest ? square : nearest;
        }
        n += nearest < NEAR * NEAR;
    }
    free(truth);
    return (double)n / (double)(found->n ? found->n : 1);
}

/* Setup: what two threads find with masks. */
static int find_once(void **state)
{
    static splat_matched_points found;
    world w = open_world(2, "matched", NULL);
    found = find(&w, MANY, EVERY_FOURTH);
    close_world(&w);
    *state = &found;
    return 0;
}

static int free_once(void **state)
{
    free(((splat_matched_points *)*state)->points);
    return 0;
}

static void points_lie_on_the_surface(void **state)
{
    const splat_matched_points *found = *state;
    print_message("%zu points, %.3f near the surface\n", found->n, share_near(found));
    assert_true(found->n > 3000); /* 301 if guesses were taken for what is known */
    assert_true(share_near(found) > 0.8); /* two photos suffice, and trainings remove wrong points */
}

static void threads_do_not_change_the_bytes(void **state)
{
    const splat_matched_points *found = *state;
    world w = open_world(3, "matched", NULL);
    splat_matched_points again = find(&w, MANY, EVERY_FOURTH);
    assert_int_equal(again.n, found->n);
    for (size_t i = 0; i < again.n; i++) {
        assert_memory_equal(again.points[i].position, found->points[i].position, sizeof again.points[i].position);
        assert_memory_equal(again.points[i].color, found->points[i].color, sizeof again.points[i].color);
    }
    free(again.points);
    close_world(&w);
}

static void limits_are_kept(void **state)
{
    (void)state;
    world w = open_world(2, "matched", NULL);
    splat_matched_points few = find(&w, 100, 1e6), none = find(&w, 0, 1e6), cheap = find(&w, MANY, 30000);
    assert_int_equal(few.n, 100);
    assert_int_equal(none.n, 0);
    assert_int_equal(cheap.n, 0);
    free(few.points);
    free(none.points);
    free(cheap.points);
    close_world(&w);
}

/* Blobs that move from photo to photo are no surface; with their masks even less is found on them. */
static void masked_pixels_make_no_points(void **state)
{
    const splat_matched_points *found = *state;
    world w = open_world(2, "matched", "none");
    splat_matched_points all = find(&w, MANY, EVERY_FOURTH);
    assert_int_equal(w.scene->dataset.n_masked, 0);
    assert_true(found->n < all.n);
    free(all.points);
    close_world(&w);
}

/* A dense start fills up to half of the cap; a training that goes on matches nothing, nor one with many points. */
static void a_training_begins_with_them(void **state)
{
    (void)state;
    splat_error error;
    world w = open_world(2, "matched", NULL);
    splat_train_options options;
    uint32_t n[4];
    splat_train_options_init_strategy(&options, splat_strategy_find("default"));
    options.target_gaussian_count = 5000;
    for (int i = 0; i < 4; i++) {
        splat_trainer *t;
        options.dense_start = i > 0;
        options.begins_later = i == 2;
        if (i == 3) options.target_gaussian_count = 3900; /* half of half is less than the points */
        must(splat_trainer_create(w.context, w.scene, &options, &t, &error), &error);
        n[i] = t->model->gaussians.n;
        splat_trainer_destroy(t);
    }
    assert_int_equal(n[0], w.scene->dataset.n_points);
    assert_true(n[1] > n[0] + 100 && n[1] <= 2500);
    assert_int_equal(n[2], n[0]);
    assert_int_equal(n[3], n[0]);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_lie_on_the_surface), cmocka_unit_test(threads_do_not_change_the_bytes),
        cmocka_unit_test(limits_are_kept),           cmocka_unit_test(masked_pixels_make_no_points),
        cmocka_unit_test(a_training_begins_with_them),
    };
    return cmocka_run_group_tests(tests, find_once, free_once);
}
