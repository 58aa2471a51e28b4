/* Steps of a backend that works ahead must not trust the needs of a view when it was last seen: on a backend without
 * work, whose results are given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "train/step.h"
#include "train/state.h"

#include <stdlib.h>

#define N_VIEWS 4

static splat_step_result given;

static splat_status post(splat_backend *backend, const splat_frame *frame, int slot, splat_error *error)
{
    (void)backend;
    (void)frame;
    (void)slot;
    (void)error;
    return SPLAT_OK;
}

static splat_status take(splat_backend *backend, int slot, splat_step_result *result, splat_error *error)
{
    (void)backend;
    (void)slot;
    (void)error;
    *result = given;
    return SPLAT_OK;
}

static const splat_backend_functions ahead = {
    .name = "ahead", .result_latency = 1, .post_result = post, .take_result = take};

typedef struct fixture {
    splat_backend backend;
    splat_model model;
    splat_scene scene;
    splat_context context;
    splat_view_hint hints[N_VIEWS];
    splat_trainer trainer;
    int iteration;
} fixture;

static int open_fixture(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    if (!f) return -1;
    f->backend.functions = &ahead;
    f->scene.dataset.n_train = f->scene.dataset.n_views = N_VIEWS;
    f->trainer = (splat_trainer){.context = &f->context, .scene = &f->scene, .model = &f->model,
                                 .backend = &f->backend, .hints = f->hints};
    splat_step_forget_results(&f->trainer);
    *state = f;
    return 0;
}

static int close_fixture(void **state)
{
    free(*state);
    return 0;
}

/* A step of the next view, while that of the view before turns out to have had so many instances. */
static void step(fixture *f, uint64_t n_instances_before)
{
    splat_error error;
    splat_step_result result;
    splat_step_view view = {.index = (uint32_t)(f->iteration % N_VIEWS)};
    given = (splat_step_result){.n_instances = n_instances_before, .n_visible = 10};
    assert_int_equal(splat_step_exchange_results(&f->trainer, ++f->iteration, &view, &result, &error), SPLAT_OK);
}

static void nothing_is_trusted_for_two_epochs(void **state)
{
    fixture *f = *state;
    for (int i = 0; i <= 2 * N_VIEWS; i++) {
        for (uint32_t v = 0; v < N_VIEWS; v++) assert_int_equal(splat_step_hint(&f->trainer, v).n_instances, 0);
        step(f, 1000);
    }
    for (uint32_t v = 0; v < N_VIEWS; v++) assert_int_equal(splat_step_hint(&f->trainer, v).n_instances, 1000);
    splat_step_forget_results(&f->trainer); /* as when a checkpoint is loaded */
    assert_int_equal(f->trainer.n_waits, 2 * N_VIEWS);
}

/* The room is the hint and a quarter of it: growth by an eighth is half of that. */
static void a_view_that_grew_makes_all_wait_an_epoch(void **state)
{
    fixture *f = *state;
    for (int i = 0; i <= 2 * N_VIEWS; i++) step(f, 1000);
    step(f, 1125);
    assert_true(splat_step_hint(&f->trainer, 1).n_instances > 0);
    step(f, 1126);
    assert_int_equal(f->trainer.n_waits, N_VIEWS);
    assert_int_equal(splat_step_hint(&f->trainer, 1).n_instances, 0);
    for (int i = 0; i < 2 * N_VIEWS; i++) step(f, 1126); /* the views not seen since then grew as much: again */
    for (uint32_t v = 0; v < N_VIEWS; v++) assert_int_equal(splat_step_hint(&f->trainer, v).n_instances, 1126);
    step(f, 100); /* fewer, as after an opacity reset: nothing to wait for */
    assert_int_equal(f->trainer.n_waits, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_trusted_for_two_epochs, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(a_view_that_grew_makes_all_wait_an_epoch, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
