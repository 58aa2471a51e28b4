/* Pictures of any camera from ranks that each have some of the Gaussians, as threads: those of the whole model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/render.h"
#include "shared_run_fixture.h"

#include "math/camera.h"
#include "train/ranks/pictures.h"

enum { N_SHOWN = 5, MOST = 4 * 130 * 98 };

/* Colours, planes and counts, then those of a box, larger, as floats. */
typedef struct pictures {
    float pixels[N_SHOWN][MOST];
    size_t n[N_SHOWN];
} pictures;

typedef struct both {
    pictures apart, whole;
} both;

static bool shows_counts(int i)
{
    return i % 3 == 2;
}

/* Another camera than any view's, larger. */
static splat_picture_order picture_of(const splat_trainer *t, int i)
{
    splat_picture_order order = {.camera = t->scene->dataset.views[0].camera, .background = {0.1f, 0.6f, 0.3f},
                         .change = {.scaling = 1}};
    splat_camera *camera = &order.camera;
    camera->fx *= 2;
    camera->fy *= 2;
    camera->cx = 65;
    camera->cy = 49;
    camera->width = 130;
    camera->height = 98;
    camera->translation[2] += 0.2f;
    order.has_planes = i % 3 > 0;
    order.counted = shows_counts(i);
    if (i < 3) return order;
    order.change = (splat_model_change){.has_box = true, .low = {-9, -9, -9}, .high = {0.2, 9, 9}, .scaling = 1.5f};
    return order;
}

static void read_pictures(splat_trainer *t, pictures *p, int i, const splat_picture_order *order,
                          const splat_model_geometry *g)
{
    splat_error error;
    const size_t n = splat_camera_pixels(&order->camera);
    const splat_frame *frame = &t->model->frame;
    p->n[i] = order->counted ? n : (order->has_planes ? 4 : 3) * n;
    assert_true(p->n[i] <= MOST);
    const void *from = order->counted ? (const void *)frame->blended
                                      : order->has_planes ? (const void *)g->maps : (const void *)frame->image;
    must(splat_backend_download(t->backend, p->pixels[i], from, p->n[i] * sizeof(float), &error), &error);
}

static void look_apart(splat_trainer *t, void *user)
{
    both *b = user;
    splat_error error;
    for (int i = 0; i < N_SHOWN; i++) {
        const splat_picture_order order = picture_of(t, i);
        splat_model_geometry g;
        must(splat_shards_show(t, &order, &g, &error), &error);
        read_pictures(t, &b->apart, i, &order, &g);
    }
}

static void look_at_all(splat_trainer *t, void *user)
{
    both *b = user;
    splat_error error;
    for (int i = 0; i < N_SHOWN; i++) {
        const splat_picture_order order = picture_of(t, i);
        splat_model *model = t->model;
        splat_model_geometry g;
        splat_model_undo undo;
        must(splat_model_apply_change(model, &order.change, &undo, &error), &error);
        splat_status status = order.has_planes
                                  ? splat_model_rasterize_geometry(model, &model->frame, &order.camera, order.counted,
                                                                   true, &g, &error)
                                  : splat_model_rasterize(model, &model->frame, &order.camera, order.background, false,
                                                          &error);
        must(status, &error);
        read_pictures(t, &b->whole, i, &order, &g);
        must(splat_model_undo_change(model, &undo, &error), &error);
    }
}

static void are_those_of_all(shared_run run, const char *backend, int most)
{
    static both b;
    for (int n = 2; n <= most; n++) {
        shared_run looked = run;
        looked.backend = backend;
        looked.deterministic = true;
        looked.look_apart = look_apart;
        looked.look = look_at_all;
        looked.user = &b;
        looked.to = "looked.splatsmith";
        run_well(&looked, n);
        for (int i = 0; i < N_SHOWN; i++) {
            double sum = 0;
            assert_int_equal(b.apart.n[i], b.whole.n[i]);
            for (size_t k = 0; k < b.apart.n[i]; k++) {
                const bool counts = shows_counts(i);
                const float a = counts ? (float)((uint32_t *)(void *)b.apart.pixels[i])[k] : b.apart.pixels[i][k];
                const float w = counts ? (float)((uint32_t *)(void *)b.whole.pixels[i])[k] : b.whole.pixels[i][k];
                sum += fabs((double)w);
                if (!(fabsf(a - w) <= 1e-5f)) fail_msg("%d ranks, picture %d: %g, not %g, at %zu", n, i, (double)a,
                                                       (double)w, k);
            }
            assert_true(sum > 10);
        }
        shared_run unseen = run;
        unseen.backend = backend;
        unseen.deterministic = true;
        unseen.to = "unseen.splatsmith";
        run_well(&unseen, n);
        assert_true(same_checkpoints("looked.splatsmith", "unseen.splatsmith"));
    }
}

static void batches_show_all(void **state)
{
    (void)state;
    splat_train_options o = tiny_options(60);
    are_those_of_all(make_run(&o, 23), NULL, 4);
}

static void gpus_show_all(void **state)
{
    (void)state;
    splat_error error;
    size_t n = 0;
    if (splat_device_list(NULL, 0, &n, &error) != SPLAT_OK || n < 2) {
        print_message("SKIPPED: several GPUs: there %s here\n", n == 1 ? "is one" : "is none");
        skip();
    }
    splat_train_options o = late_options(60); /* all bands, of which steps are put off */
    shared_run run = make_run(&o, 23);
    run.spoil = start_late;
    are_those_of_all(run, "cuda", n > 4 ? 4 : (int)n);
}

/* Below a limit what a picture took is given back; a rank without room for it leaves the others as they are. */
static splat_trainer *trainers[MAX_TEST_RANKS];

static void note_trainer(splat_trainer *t, int rank)
{
    trainers[rank] = t;
}

/* The others give back what a picture took after rank 0 has it; a save begins when they have. */
static void wait_for_all(splat_trainer *t)
{
    splat_error error;
    must(splat_trainer_save_checkpoint(t, "met.splatsmith", &error), &error);
}

static void look_starved(splat_trainer *t, void *user)
{
    splat_error error;
    const splat_picture_order order = picture_of(t, 3);
    splat_model_geometry g;
    splat_memory *memory = &trainers[1]->backend->memory;
    must(splat_shards_show(t, &order, &g, &error), &error);
    wait_for_all(t);
    memory->limit = 1;
    *(splat_status *)user = splat_shards_show(t, &order, &g, &error);
    wait_for_all(t);
    memory->limit = memory->process_limit;
    must(splat_shards_show(t, &order, &g, &error), &error);
}

static void a_picture_without_room_fails_alone(void **state)
{
    (void)state;
    splat_status status = SPLAT_OK;
    splat_train_options o = tiny_options(60);
    shared_run run = make_run(&o, 12), unseen = run;
    for (int r = 0; r < 3; r++) run.limits[r] = unseen.limits[r] = (size_t)1 << 30;
    run.spoil = note_trainer;
    run.look_apart = look_starved;
    run.user = &status;
    run.to = "looked.splatsmith";
    unseen.to = "unseen.splatsmith";
    run_well(&run, 3);
    run_well(&unseen, 3);
    assert_int_equal(status, SPLAT_ERROR_MEMORY);
    assert_true(same_checkpoints("looked.splatsmith", "unseen.splatsmith"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_show_all),
        cmocka_unit_test(gpus_show_all),
        cmocka_unit_test(a_picture_without_room_fails_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
