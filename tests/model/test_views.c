/* Several views in work at once, each in a frame of its own: none disturbs another, on the CPU and, where there is one,
 * on a GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "gpu_fixture.h"
#include "math/camera.h"
#include "model/init_points.h"
#include "model/render.h"
#include "model/rest.h"
#include "ops/loss/loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VIEWS 3

/* ---------------------------------------------------------------- a model, and views of it */

typedef struct room {
    place place;
    splat_model *model;
    splat_row_blocks gradients;  /* a row of each tensor a Gaussian */
    splat_frame frames[MAX_VIEWS];
    splat_camera cameras[MAX_VIEWS];
    float *grad_images[MAX_VIEWS]; /* device */
} room;

static room open_room(const char *backend, bool deterministic)
{
    static const char *const names[] = {"grad 0", "grad 1", "grad 2", "grad 3", "grad 4", "grad 5"};
    room r = {.place = open_place(backend, deterministic)};
    splat_error error;
    const splat_dataset *dataset = &r.place.scene->dataset;
    const splat_first_gaussians first = {.opacity = 0.1f, .scale = 1};
    must(splat_model_create(r.place.context, 1, SPLAT_SH_FLOAT32, SPLAT_ON_DEVICE, &r.model, &error), &error);
    must(splat_model_init_from_points(r.model, dataset->points, dataset->n_points, &first, &error), &error);
    r.gradients = (splat_row_blocks){.owner = SPLAT_OWNER_OTHER, .n_arrays = SPLAT_N_TENSORS};
    for (int i = 0; i < SPLAT_N_TENSORS; i++) {
        r.gradients.names[i] = names[i];
        r.gradients.words[i] = splat_tensor_channels(i, 1);
    }
    must(splat_row_blocks_resize(r.model->backend, &r.gradients, 0, r.model->gaussians.n, &error), &error);
    splat_camera second = camera_of(&r.place, 7), third = camera_of(&r.place, 3);
    r.cameras[0] = camera_of(&r.place, 0);
    r.cameras[1] = splat_camera_resized(&second, 53, 130);
    r.cameras[2] = splat_camera_resized(&third, 61, 43);
    return r;
}

static void close_room(room *r)
{
    for (int i = 0; i < MAX_VIEWS; i++) splat_frame_free(r->model->backend, &r->frames[i]);
    splat_row_blocks_free(r->model->backend, &r->gradients);
    splat_model_destroy(r->model);
    close_place(&r->place);
}

static size_t pixels_of(const room *r, int view)
{
    return (size_t)r->cameras[view].width * (size_t)r->cameras[view].height;
}

/* The way of a view up to its picture, and a gradient of that. */
static void look(room *r, int view, uint64_t max_instances, splat_view_hint hint)
{
    const float background[3] = {0.1f, 0.2f, 0.3f};
    splat_backend *b = r->model->backend;
    splat_frame *frame = &r->frames[view];
    splat_error error;
    size_t n = 3 * pixels_of(r, view);
    void *device_grad;
    float *grad = malloc(n * sizeof *grad);
    assert_non_null(grad);
    for (size_t i = 0; i < n; i++) grad[i] = (float)((i * 2654435761u + (size_t)view) % 1000) / 500 - 1;
    must(splat_model_begin_view(r->model, frame, &r->cameras[view], background, &error), &error);
    frame->hint = hint;
    must(splat_frame_take(b, frame, n * sizeof *grad, &device_grad, &error), &error);
    must(splat_backend_upload(b, device_grad, grad, n * sizeof *grad, &error), &error);
    splat_rest_rows rows;
    must(splat_rest_open(r->model, SPLAT_REST_ROWS, &rows, &error), &error);
    struct splat_project_args project = {.gaussians = &rows.gaussians, .frame = frame};
    must(splat_op_project(b, &project, &error), &error);
    splat_view_blend blend = {.max_instances = max_instances, .colors = true};
    must(splat_view_forward(b, frame, &blend, &error), &error);
    must(splat_backend_synchronize(b, &error), &error);
    r->grad_images[view] = device_grad;
    free(grad);
}

/* The result of a view, on the host: its picture, and after differentiate the gradients of the Gaussians. */
typedef struct outcome {
    float *image, *gradients[SPLAT_N_TENSORS];
    size_t n_image, n_gradients[SPLAT_N_TENSORS];
} outcome;

static float *bring(splat_backend *b, const void *data, size_t n)
{
    splat_error error;
    float *host = malloc(n * sizeof *host);
    assert_non_null(host);
    must(splat_backend_download(b, host, data, n * sizeof *host, &error), &error);
    return host;
}

static outcome differentiate(room *r, int view)
{
    splat_backend *b = r->model->backend;
    splat_frame *frame = &r->frames[view];
    splat_error error;
    splat_tensors gradients = splat_row_blocks_tensors(&r->gradients);
    splat_rest_rows rows;
    must(splat_rest_open(r->model, SPLAT_REST_ROWS, &rows, &error), &error);
    struct splat_project_backward_args back = {.gaussians = &rows.gaussians, .frame = frame,
                                               .sink = {.write = &gradients}};
    for (int i = 0; i < SPLAT_N_TENSORS; i++) /* a view that did not fit leaves them as they are */
        must(splat_backend_zero(b, r->gradients.blocks[i].data, r->gradients.blocks[i].bytes, &error), &error);
    must(splat_view_backward(b, frame, &(splat_view_gradients){.image = r->grad_images[view]}, &error), &error);
    must(splat_op_project_backward(b, &back, &error), &error);
    outcome o = {.n_image = 3 * pixels_of(r, view)};
    o.image = bring(b, frame->image, o.n_image);
    for (int i = 0; i < SPLAT_N_TENSORS; i++) {
        o.n_gradients[i] = r->gradients.blocks[i].bytes / sizeof(float);
        o.gradients[i] = bring(b, r->gradients.blocks[i].data, o.n_gradients[i]);
    }
    return o;
}

static void outcome_free(outcome *o)
{
    free(o->image);
    for (int i = 0; i < SPLAT_N_TENSORS; i++) free(o->gradients[i]);
}

static void assert_same(const outcome *a, const outcome *b)
{
    assert_memory_equal(a->image, b->image, a->n_image * sizeof *a->image);
    for (int i = 0; i < SPLAT_N_TENSORS; i++)
        assert_memory_equal(a->gradients[i], b->gradients[i], a->n_gradients[i] * sizeof *a->gradients[i]);
}

static bool is_zero(const outcome *o)
{
    for (int i = 0; i < SPLAT_N_TENSORS; i++)
        for (size_t k = 0; k < o->n_gradients[i]; k++)
            if (o->gradients[i][k] != 0) return false;
    return true;
}

/* ---------------------------------------------------------------- tests, on the CPU and on a GPU */

static const splat_view_hint unknown;

static int backends_of(const char *backends[2])
{
    backends[0] = "cpu";
    backends[1] = device;
    return device_opens ? 2 : 1;
}

/* Both views forward, then backward in either order: the bytes of each alone. In one band, and in several. */
static void two_views_at_once_are_as_each_alone(void **state)
{
    (void)state;
    const char *backends[2];
    for (int k = 0, n = backends_of(backends); k < n; k++)
        for (uint64_t bound = 0; bound <= 1200; bound += 1200) {
            room r = open_room(backends[k], true);
            outcome alone[2];
            for (int view = 0; view < 2; view++) {
                look(&r, view, bound, unknown);
                alone[view] = differentiate(&r, view);
                assert_false(is_zero(&alone[view]));
                assert_int_equal(r.frames[view].n_bands > 1, bound > 0);
            }
            for (int first = 0; first < 2; first++) {
                look(&r, 0, bound, unknown);
                look(&r, 1, bound, unknown);
                for (int i = 0; i < 2; i++) {
                    int view = i ? 1 - first : first;
                    outcome o = differentiate(&r, view);
                    assert_same(&o, &alone[view]);
                    outcome_free(&o);
                }
            }
            outcome_free(&alone[0]);
            outcome_free(&alone[1]);
            close_room(&r);
        }
}

/* A viewer between forward and backward: pictures, maps and a filter of the same model, in the model's frame. */
static void pictures_between_forward_and_backward_change_nothing(void **state)
{
    (void)state;
    const char *backends[2];
    for (int k = 0, n = backends_of(backends); k < n; k++) {
        room r = open_room(backends[k], true);
        splat_model_geometry maps;
        splat_error error;
        look(&r, 0, 0, unknown);
        outcome alone = differentiate(&r, 0);
        look(&r, 0, 0, unknown);
        free(render(r.model, &r.cameras[1]));
        must(splat_model_rasterize_geometry(r.model, &r.model->frame, &r.cameras[2], true, true, &maps, &error),
             &error);
        outcome o = differentiate(&r, 0);
        assert_same(&o, &alone);
        outcome_free(&alone);
        outcome_free(&o);
        close_room(&r);
    }
}

/* ---------------------------------------------------------------- tests on a GPU: what goes wrong stays in its view */

/* Makes the loss of this view infinite. */
static void spoil(room *r, int view)
{
    splat_backend *b = r->model->backend;
    splat_frame *frame = &r->frames[view];
    splat_error error;
    void *photo, *grad;
    size_t bytes = 3 * pixels_of(r, view) * sizeof(float);
    must(splat_frame_take(b, frame, bytes, &photo, &error), &error);
    must(splat_frame_take(b, frame, bytes, &grad, &error), &error);
    float *nans = malloc(bytes);
    assert_non_null(nans);
    for (size_t i = 0; i < bytes / sizeof *nans; i++) nans[i] = NAN;
    must(splat_backend_upload(b, photo, nans, bytes, &error), &error);
    struct splat_loss_args args = {.width = frame->camera.width, .height = frame->camera.height, .image = frame->image,
                                   .photo_f32 = photo, .lambda_dssim = 0.2f, .grad_image = grad, .frame = frame};
    must(splat_op_loss(b, &args, &error), &error);
    must(splat_backend_synchronize(b, &error), &error);
    free(nans);
}

/* Float atomics add in any order: NMSE 1e-9. The Gaussians are round: a rotation's gradient is rounding alone. */
static void assert_near(const outcome *a, const outcome *b)
{
    for (int i = 0; i < SPLAT_N_TENSORS; i++) {
        if (i == SPLAT_TENSOR_rotations) continue;
        double difference = 0, size = 0;
        for (size_t k = 0; k < a->n_gradients[i]; k++) {
            double x = (double)a->gradients[i][k], y = (double)b->gradients[i][k];
            difference += (x - y) * (x - y);
            size += y * y;
        }
        if (!(difference <= 1e-9 * size)) fail_msg("tensor %d: NMSE %g", i, difference / size);
    }
}

static void overflow_and_a_bad_loss_stay_in_their_views(void **state)
{
    (void)state;
    NEEDS_DEVICE();
    room r = open_room(device, false);
    if (splat_backend_result_latency(r.model->backend) == 0) {
        close_room(&r);
        skip(); /* counts and losses are known at once: neither can happen */
    }
    splat_error error;
    splat_step_result results[3];
    r.cameras[1] = splat_camera_resized(&r.cameras[0], 3200, 2240); /* far more than the hint and its margin */
    look(&r, 0, 0, unknown);
    outcome alone = differentiate(&r, 0);
    look(&r, 0, 0, unknown);
    look(&r, 1, 0, (splat_view_hint){1, 1});
    look(&r, 2, 0, unknown);
    spoil(&r, 2);
    for (int view = 0; view < 3; view++) {
        must(splat_backend_post_result(r.model->backend, &r.frames[view], view, &error), &error);
        must(splat_backend_take_result(r.model->backend, view, &results[view], &error), &error);
        outcome o = differentiate(&r, view);
        if (view == 0)
            assert_near(&o, &alone);
        else
            assert_true(is_zero(&o));
        outcome_free(&o);
    }
    assert_false(results[0].overflow);
    assert_true(results[1].overflow);
    assert_false(results[2].overflow);
    assert_false(isfinite(results[2].loss_l1));
    assert_int_equal(results[0].n_instances, r.frames[0].n_instances);
    assert_true(results[1].n_instances > 65536);
    outcome_free(&alone);
    close_room(&r);
}

int main(int argc, char **argv)
{
    find_device(argc, argv, "views at once");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_views_at_once_are_as_each_alone),
        cmocka_unit_test(pictures_between_forward_and_backward_change_nothing),
        cmocka_unit_test(overflow_and_a_bad_loss_stay_in_their_views),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
