/* Removal of Gaussians that only masked pixels show: the removed Gaussians, the moment, and that white masks, and modes
 * in which black pixels teach something, change nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "io/picture/image_write.h"
#include "math/camera.h"
#include "scene/scene.h"
#include "train/density/density.h"
#include "train/density/prune_masked.h"
#include "trainer_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_CAMERAS 8
#define W 96
#define H 72
#define MARGIN 6 /* pixels from a floater to the border of its mask, at least */
#define DUE 1000

static void write_sample(const char *folder)
{
    splat_context *context = open_cpu(2);
    write_small_sample(context, folder, W, H, N_CAMERAS, 300, 0);
    splat_context_destroy(context);
}

/* The first photo's mask is black right of its middle, the others' masks are white; or all are white. */
static void write_masks(const char *folder, bool white)
{
    static uint8_t mask[W * H];
    splat_error error;
    char path[256];
    snprintf(path, sizeof path, "%s/masks", folder);
    must(splat_folder_create(path, &error), &error);
    for (int i = 0; i < N_CAMERAS; i++) {
        for (size_t p = 0; p < W * H; p++) mask[p] = white || i > 0 || p % W < W / 2 ? 255 : 0;
        snprintf(path, sizeof path, "%s/masks/image_%03d.png.png", folder, i);
        must(splat_png_write(path, W, H, 1, 8, mask, &error), &error);
    }
}

static splat_scene *open_as(splat_context *context, const char *folder, splat_mask_mode mode)
{
    splat_scene *scene;
    splat_scene_options options;
    splat_error error;
    splat_scene_options_init(&options);
    options.source_path = folder;
    options.mask_mode = mode;
    must(splat_scene_open(context, &options, &scene, &error), &error);
    return scene;
}

static splat_train_options options_of_run(const splat_strategy *strategy)
{
    splat_train_options o;
    splat_train_options_init_strategy(&o, strategy);
    o.iterations = 3000;
    return o;
}

/* The place of pixel (x, y) of a camera at depth z. */
static void place_of(const splat_camera *c, float x, float y, float z, float place[3])
{
    const float local[3] = {(x - c->cx) / c->fx * z, (y - c->cy) / c->fy * z, z};
    for (int k = 0; k < 3; k++)
        place[k] = c->center[k] + c->rotation[k] * local[0] + c->rotation[3 + k] * local[1] +
                   c->rotation[6 + k] * local[2];
}

/* True if another camera may see a place. */
static bool is_seen_elsewhere(const splat_dataset *dataset, const float place[3])
{
    for (size_t v = 1; v < dataset->n_views; v++) {
        const splat_camera *c = &dataset->views[v].camera;
        float t[3];
        for (int r = 0; r < 3; r++)
            t[r] = c->rotation[3 * r] * place[0] + c->rotation[3 * r + 1] * place[1] +
                   c->rotation[3 * r + 2] * place[2] + c->translation[r];
        if (t[2] < 0.05f) continue;
        float u = c->fx * t[0] / t[2] + c->cx, v_ = c->fy * t[1] / t[2] + c->cy;
        if (u > -MARGIN && v_ > -MARGIN && u < W + MARGIN && v_ < H + MARGIN) return true;
    }
    return false;
}

/* Gaussian i becomes an opaque speck in front of the first camera, at a place of its picture that nobody else sees;
 * from_x to to_x: columns to try. */
static void make_speck(splat_trainer *t, const splat_dataset *dataset, uint32_t i, float from_x, float to_x)
{
    splat_gaussians *g = &splat_trainer_get_model(t)->gaussians;
    const splat_camera *c = &dataset->views[0].camera;
    float place[3], z = 0.25f;
    bool found = false;
    for (; z < 12 && !found; z *= 1.1f)
        for (float y = MARGIN; y < H - MARGIN && !found; y += 2)
            for (float x = from_x; x < to_x && !found; x += 2) {
                place_of(c, x, y, z, place);
                found = !is_seen_elsewhere(dataset, place);
            }
    assert_true(found);
    memcpy(g->p.means + 3 * (size_t)i, place, sizeof place); /* the CPU's memory is the host's */
    for (size_t k = 0; k < 3; k++) g->p.scales[3 * (size_t)i + k] = logf(z / c->fx); /* a pixel */
    g->p.opacities[i] = 5;
    g->p.sh_dc[3 * (size_t)i] = 50 + (float)i; /* by which it is known */
    g->filter_3d[i] = 0;
}

static bool has_speck(splat_trainer *t, uint32_t i)
{
    const splat_gaussians *g = &splat_trainer_get_model(t)->gaussians;
    for (uint32_t k = 0; k < g->n; k++)
        if (g->p.sh_dc[3 * (size_t)k] == 50 + (float)i) return true;
    return false;
}

/* How many are removed of a splat with three specks: before masked pixels, before kept ones, and where no view looks.
 * specks: whether each is left. */
static uint32_t remove_of(const char *folder, splat_mask_mode mode, int iteration, bool specks[3])
{
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_as(context, folder, mode);
    splat_train_options o = options_of_run(NULL);
    splat_error error;
    splat_trainer *t = new_trainer(context, scene, &o);
    splat_gaussians *g = &splat_trainer_get_model(t)->gaussians;
    make_speck(t, &scene->dataset, 7, W / 2 + MARGIN, W - MARGIN);
    make_speck(t, &scene->dataset, 8, MARGIN, W / 2 - MARGIN);
    make_speck(t, &scene->dataset, 9, MARGIN, W / 2 - MARGIN);
    g->p.means[3 * 9 + 1] += 1000;
    uint32_t n = g->n;
    must(splat_density_prune_masked(t, iteration, &error), &error);
    for (uint32_t i = 0; i < 3; i++) specks[i] = has_speck(t, 7 + i);
    n -= g->n;
    close_training(context, scene, t);
    return n;
}

static void what_masked_pixels_alone_show_goes(void **state)
{
    (void)state;
    bool specks[3];
    write_sample("floaters");
    write_masks("floaters", false);
    assert_int_equal(remove_of("floaters", SPLAT_MASKS_IGNORE, DUE, specks), 1);
    assert_true(!specks[0] && specks[1] && specks[2]);
    assert_int_equal(remove_of("floaters", SPLAT_MASKS_IGNORE, DUE + 1, specks), 0); /* not due */
    assert_int_equal(remove_of("floaters", SPLAT_MASKS_SEGMENT, DUE, specks), 0);    /* its losses see to it */
    assert_int_equal(remove_of("floaters", SPLAT_MASKS_ALPHA, DUE, specks), 0);
    write_masks("floaters", true);
    assert_int_equal(remove_of("floaters", SPLAT_MASKS_IGNORE, DUE, specks), 0);
    assert_true(specks[0] && specks[1] && specks[2]);
}

static bool is_due(const splat_train_options *o, size_t n_train, size_t n_masked, int iteration)
{
    const splat_dataset dataset = {.n_train = n_train, .n_masked = n_masked};
    return splat_density_prunes_masked_after(o, &dataset, iteration);
}

static void when_it_is_due(void **state)
{
    (void)state;
    splat_train_options o;
    splat_train_options_init(&o); /* 30000, 100 apart, until 15000, reset every 3000 */
    assert_true(is_due(&o, 20, 5, 1000) && is_due(&o, 20, 5, 3000) && is_due(&o, 20, 5, 15000));
    assert_false(is_due(&o, 20, 5, 0) || is_due(&o, 20, 5, 500) || is_due(&o, 20, 5, 1500));
    assert_false(is_due(&o, 20, 5, 16000) || is_due(&o, 20, 0, 1000));
    assert_true(is_due(&o, 20, 5, 29999) && !is_due(&o, 20, 5, 30000));
    assert_true(is_due(&o, 183, 5, 1900) && !is_due(&o, 183, 5, 1000)); /* 1830, and then in step with growth */
    o.opacity_reset_interval = 700;
    assert_false(is_due(&o, 20, 5, 1000)); /* 300 steps after a reset */
    assert_true(is_due(&o, 20, 5, 2000));  /* 600 */
    o.densification_interval = 300;
    o.opacity_reset_interval = 3000;
    assert_true(is_due(&o, 20, 5, 1200) && !is_due(&o, 20, 5, 1000));
    splat_train_options_init_coarse(&o, SPLAT_REGULARIZE_DENSITY);
    for (int i = 0; i <= o.iterations; i++) assert_false(is_due(&o, 20, 5, i));
}

/* A run with density control goes over it, with either strategy. */
static void runs_remove_them(void **state)
{
    (void)state;
    splat_error error;
    write_sample("floaters");
    write_masks("floaters", false);
    for (int is_mcmc = 0; is_mcmc < 2; is_mcmc++) {
        splat_context *context = open_cpu(2);
        splat_scene *scene = open_as(context, "floaters", SPLAT_MASKS_IGNORE);
        splat_train_options o = options_of_run(is_mcmc ? splat_strategy_find("mcmc") : NULL);
        o.noise_lr = 0;
        o.densify_from_iter = 2000;
        o.iterations = DUE + 10;
        splat_trainer *t = new_trainer(context, scene, &o);
        make_speck(t, &scene->dataset, 7, W / 2 + MARGIN, W - MARGIN);
        must(splat_density_control_after(t, DUE, &error), &error);
        assert_false(has_speck(t, 7));
        assert_false(t->is_broken);
        run_steps(t, 2);
        close_training(context, scene, t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_masked_pixels_alone_show_goes),
        cmocka_unit_test(when_it_is_due),
        cmocka_unit_test(runs_remove_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
