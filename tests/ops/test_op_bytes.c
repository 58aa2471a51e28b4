/* The stated memory of each op against the memory that it takes: on the CPU the same except for the alignment of
 * buffers, on a GPU an upper bound, because CUB's working memory is not known before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "model/render.h"
#include "model/rest.h"
#include "ops/bin/bin.h"
#include "ops/bin/bin_bytes.h"
#include "ops/depth_normal/depth_normal.h"
#include "ops/edge_weight/edge_weight.h"
#include "ops/field_loss/field_loss.h"
#include "ops/knn/knn.h"
#include "ops/loss/loss_bytes.h"
#include "ops/multi_view/multi_view.h"
#include "ops/raster/raster_bytes.h"
#include "ops/thickness/thickness.h"
#include "ops/view.h"
#include "train/state.h"
#include "trainer_fixture.h"

#include <stdlib.h>

#define ALIGNED 256   /* what a buffer is rounded up to */
#define BUFFERS 48    /* of a region, at most */
#define N 3000        /* Gaussians */
#define N_SAMPLES 700

typedef struct place {
    splat_context *context;
    splat_backend *backend;
    splat_scene *scene;
    splat_trainer *trainer;
    splat_camera camera;
    splat_work work;
} place;

static void open_place(place *p, const char *backend, bool deterministic)
{
    splat_context_options options;
    splat_train_options train = busy_options(60);
    splat_error error;
    splat_context_options_init(&options);
    options.backend = backend;
    options.deterministic = deterministic;
    options.threads = 3;
    must(splat_context_create(&options, &p->context, &error), &error);
    p->backend = p->context->backend;
    p->scene = open_scene(p->context);
    p->trainer = new_trainer(p->context, p->scene, &train);
    must(splat_trainer_grow_to(p->trainer, N, &error), &error);
    p->camera = p->scene->dataset.views[0].camera;
    p->work = (splat_work){.on_device = p->backend->device_bytes > 0,
                           .deterministic = deterministic,
                           .threads = (size_t)p->backend->threads,
                           .n = p->trainer->model->gaussians.n,
                           .width = (size_t)p->camera.width,
                           .height = (size_t)p->camera.height};
}

/* A region's use since its reset against the figure. `share`: of the figure, that must be used at least. */
static void check(const place *p, const char *what, const splat_region *region, size_t before, size_t stated,
                  double share)
{
    size_t used = region->used - before;
    print_message("%-24s %9zu bytes, stated %9zu\n", what, used, stated);
    if (used > stated + BUFFERS * ALIGNED) fail_msg("%s takes %zu bytes and states %zu", what, used, stated);
    if (!p->work.on_device) assert_true((double)used >= share * (double)stated);
}

static void check_view(place *p, splat_frame *frame, const float *grad_image)
{
    splat_backend *b = p->backend;
    splat_rest_rows rows;
    const splat_gaussians *g = &rows.gaussians;
    splat_error error;
    must(splat_rest_open(p->trainer->model, SPLAT_REST_ROWS, &rows, &error), &error);
    must(splat_view_begin(b, frame, g->n, &p->camera, &error), &error);
    frame->filter = splat_model_screen_filter(p->trainer->model);
    check(p, "view", &frame->region, 0, splat_view_bytes(&p->work), 1);
    size_t before = frame->region.used;
    must(splat_op_project(b, &(struct splat_project_args){.gaussians = g, .frame = frame}, &error), &error);
    must(splat_op_bin(b, &(struct splat_bin_args){frame}, &error), &error);
    p->work.n_instances = (size_t)frame->n_instances;
    check(p, "bin, of the frame", &frame->region, before, splat_bin_frame_bytes(&p->work), 0.9);
    must(splat_op_raster(b, &(struct splat_raster_args){.frame = frame}, &error), &error);
    must(splat_view_reserve_gradients(b, frame, &error), &error);
    must(splat_op_raster_backward(b, &(struct splat_raster_backward_args){.frame = frame, .grad_image = grad_image},
                                  &error),
         &error);
    check(p, "raster_backward", &b->scratch, 0, splat_raster_backward_scratch_bytes(&p->work), 1);
    splat_block grad_depth = {0};
    must(splat_block_resize(b, &grad_depth, "grad_depth", SPLAT_OWNER_OTHER, g->n * sizeof(float), &error), &error);
    const splat_raster_depth depth = {.patches = {.n_parts = 1},
                                      .grad_inverse = grad_image,
                                      .grad_depth = grad_depth.data};
    must(splat_view_reserve_gradients(b, frame, &error), &error);
    const struct splat_raster_backward_args with_depth = {.frame = frame, .grad_image = grad_image, .depth = &depth};
    must(splat_op_raster_backward(b, &with_depth, &error), &error);
    check(p, "raster_backward, depths", &b->scratch, 0,
          splat_raster_backward_scratch_bytes(&p->work) + splat_raster_backward_depth_bytes(&p->work), 1);
    splat_block_free(b, &grad_depth);
}

/* bin gives its scratch up when it ends: the most that it had. */
static void check_bin(const place *p, splat_frame *frame)
{
    splat_error error;
    splat_region_trim(p->backend, &p->backend->scratch);
    must(splat_scratch_reset(p->backend, &error), &error);
    p->backend->scratch.high_water = 0;
    must(splat_op_bin(p->backend, &(struct splat_bin_args){frame}, &error), &error);
    splat_region most = p->backend->scratch;
    most.used = most.high_water;
    check(p, "bin", &most, 0, splat_bin_scratch_bytes(&p->work), 0.5); /* not all are visible */
}

static void check_loss(const place *p, const splat_frame *frame, float *grad_image)
{
    splat_error error;
    splat_block photo = {.bytes = 0};
    splat_loss_result result;
    bool waits = !p->backend->functions->take_result;
    must(splat_block_resize(p->backend, &photo, "photo", SPLAT_OWNER_OTHER, 3 * splat_work_pixels(&p->work), &error),
         &error);
    struct splat_loss_args args = {.width = p->camera.width,
                                   .height = p->camera.height,
                                   .image = frame->image,
                                   .photo_u8 = photo.data,
                                   .lambda_dssim = 0.2f,
                                   .grad_image = grad_image,
                                   .frame = frame,
                                   .result = waits ? &result : NULL};
    must(splat_op_loss(p->backend, &args, &error), &error);
    check(p, "loss", &p->backend->scratch, 0, splat_loss_scratch_bytes(&p->work), 1);
    splat_block_free(p->backend, &photo);
}

static void check_coarse(const place *p, splat_frame *frame)
{
    splat_backend *b = p->backend;
    splat_gaussians *g = &p->trainer->model->gaussians;
    splat_error error;
    splat_block neighbors = {.bytes = 0}, results = {.bytes = 0}, rows = {.bytes = 0}, maps = {.bytes = 0};
    size_t n = g->n, n_pixels = splat_work_pixels(&p->work);
    must(splat_block_resize(b, &neighbors, "a", SPLAT_OWNER_OTHER, n * SPLAT_NEIGHBORS * 4, &error), &error);
    must(splat_block_resize(b, &results, "b", SPLAT_OWNER_OTHER, 8 * sizeof(double), &error), &error);
    must(splat_block_resize(b, &rows, "c", SPLAT_OWNER_OTHER, n * 11 * sizeof(float), &error), &error);
    must(splat_block_resize(b, &maps, "d", SPLAT_OWNER_OTHER, 9 * n_pixels * sizeof(float), &error), &error);
    struct splat_knn_args knn = {(uint32_t)n, g->p.means, SPLAT_NEIGHBORS, NULL, neighbors.data};
    must(splat_op_knn(b, &knn, &error), &error);
    check(p, "knn", &b->scratch, 0, splat_knn_scratch_bytes(p->work.on_device, n), 1);

    float *row = rows.data, *map = maps.data;
    splat_tensors gradients = {.means = row, .scales = row + 3 * n, .rotations = row + 6 * n,
                               .opacities = row + 10 * n};
    struct splat_field_loss_args field = {.gaussians = g, .frame = frame, .neighbors = neighbors.data,
                                          .n_samples = N_SAMPLES, .mode = SPLAT_FIELD_DENSITY, .field_weight = 1,
                                          .normal_weight = 1, .gradients = &gradients, .result = results.data};
    must(splat_op_field_loss(b, &field, &error), &error);
    check(p, "field_loss", &b->scratch, 0,
          splat_field_loss_scratch_bytes(p->work.on_device, n, N_SAMPLES, SPLAT_FIELD_DENSITY), 0.5);

    struct splat_thickness_args thickness = {.gaussians = g, .frame = frame, .weight = 1,
                                             .grad_scales = gradients.scales, .result = results.data};
    must(splat_op_thickness(b, &thickness, &error), &error);
    check(p, "thickness", &b->scratch, 0, splat_thickness_scratch_bytes(p->work.on_device, n), 0.5);

    struct splat_depth_normal_args normals = {.camera = &p->camera, .maps = map, .transmittance = map + 8 * n_pixels,
                                              .weight = 1, .grad_maps = map + 4 * n_pixels,
                                              .result = results.data};
    must(splat_op_depth_normal(b, &normals, &error), &error);
    check(p, "depth_normal", &b->scratch, 0,
          splat_depth_normal_scratch_bytes(p->work.on_device, p->work.width, p->work.height), 1);

    struct splat_edge_weight_args edges = {.photo = (const uint8_t *)map, .photo_width = p->camera.width,
                                           .photo_height = p->camera.height, .width = p->camera.width,
                                           .height = p->camera.height, .weights = map + 4 * n_pixels};
    must(splat_op_edge_weight(b, &edges, &error), &error);
    check(p, "edge_weight", &b->scratch, 0, splat_edge_weight_scratch_bytes(p->work.on_device, p->work.height), 1);
    splat_block *blocks[] = {&neighbors, &results, &rows, &maps};
    for (int i = 0; i < 4; i++) splat_block_free(b, blocks[i]);
}

static void check_multi_view(const place *p)
{
    splat_backend *b = p->backend;
    splat_error error;
    splat_block blocks[3] = {{.bytes = 0}};
    size_t n_pixels = splat_work_pixels(&p->work), n_patches = n_pixels / 3;
    must(splat_block_resize(b, &blocks[0], "a", SPLAT_OWNER_OTHER, 9 * n_pixels * sizeof(float), &error), &error);
    must(splat_block_resize(b, &blocks[1], "b", SPLAT_OWNER_OTHER, 3 * n_pixels, &error), &error);
    must(splat_block_resize(b, &blocks[2], "c", SPLAT_OWNER_OTHER, SPLAT_MULTI_VIEW_RESULTS * sizeof(double), &error),
         &error);
    float *maps = blocks[0].data;
    splat_multi_view_side side = {&p->camera, &p->camera, maps, maps + 4 * n_pixels, blocks[1].data};
    struct splat_multi_view_args args = {.reference = side, .neighbor = side, .n_patches = (uint32_t)n_patches,
                                         .grad_maps = maps + 5 * n_pixels, .result = blocks[2].data};
    must(splat_op_multi_view(b, &args, &error), &error);
    check(p, "multi_view", &b->scratch, 0,
          splat_multi_view_scratch_bytes(p->work.on_device, p->work.width, p->work.height, n_pixels, n_patches), 1);
    for (int i = 0; i < 3; i++) splat_block_free(b, &blocks[i]);
}

static void check_backend(const char *backend, bool deterministic)
{
    place p;
    splat_frame frame = {.n_bands = 0};
    splat_block grad_image = {.bytes = 0};
    splat_error error;
    open_place(&p, backend, deterministic);
    size_t bytes = 3 * splat_work_pixels(&p.work) * sizeof(float);
    must(splat_block_resize(p.backend, &grad_image, "gradient", SPLAT_OWNER_OTHER, bytes, &error), &error);
    check_view(&p, &frame, grad_image.data);
    check_loss(&p, &frame, grad_image.data);
    check_coarse(&p, &frame);
    check_multi_view(&p);
    check_bin(&p, &frame);
    splat_frame_free(p.backend, &frame);
    splat_block_free(p.backend, &grad_image);
    close_training(p.context, p.scene, p.trainer);
}

static void the_cpu_takes_what_its_ops_state(void **state)
{
    (void)state;
    check_backend("cpu", false);
}

static void a_gpu_takes_no_more_than_its_ops_state(void **state)
{
    (void)state;
    splat_context_options options;
    splat_context *context;
    splat_error error;
    splat_context_options_init(&options);
    options.backend = "cuda";
    if (splat_context_create(&options, &context, &error) != SPLAT_OK) {
        print_message("SKIPPED: no GPU: %s\n", error.message);
        skip();
    }
    splat_context_destroy(context);
    check_backend("cuda", false);
    check_backend("cuda", true);
}

/* A device's block of pixels has a sum: a block more when the picture outgrows the last one by a pixel. */
static void blocks_of_a_device_have_a_sum_each(void **state)
{
    (void)state;
    const size_t x = SPLAT_MULTI_VIEW_BLOCK_X, y = SPLAT_MULTI_VIEW_BLOCK_Y;
    assert_int_equal(splat_multi_view_sums(true, 1, 1), 1);
    assert_int_equal(splat_multi_view_sums(true, x, y), 1);
    assert_int_equal(splat_multi_view_sums(true, x + 1, y), 2);
    assert_int_equal(splat_multi_view_sums(true, x, y + 1), 2);
    assert_int_equal(splat_multi_view_sums(true, 30 * x, 40 * y), 1200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_cpu_takes_what_its_ops_state),
                                       cmocka_unit_test(blocks_of_a_device_have_a_sum_each),
                                       cmocka_unit_test(a_gpu_takes_no_more_than_its_ops_state)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
