/* The ops of known depth against the references, and the whole way from Gaussians to both losses and back against
 * central differences in double. */
#include "ops/depth_prior/depth_prior.h"

#include "ops/project/project_test.h"
#include "ops/raster/raster_scene_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- a map of inverse depths */

typedef struct known_map {
    int width, height;
    size_t n;
    float *inverse, scale, offset;
    uint16_t *target;
    uint8_t *mask;
} known_map;

/* Some targets below zero after scale and offset, some equal to what is seen. */
static known_map known_map_make(int width, int height)
{
    known_map m = {.width = width, .height = height, .n = (size_t)width * (size_t)height, .scale = 0.5f,
                   .offset = -0.05f};
    m.inverse = calloc(m.n, sizeof *m.inverse);
    m.target = calloc(m.n, sizeof *m.target);
    m.mask = calloc(m.n, 1);
    for (uint32_t i = 0; i < m.n; i++) {
        m.target[i] = (uint16_t)(65536 * test_scene_random(70, i));
        m.inverse[i] = i % 11 == 3 ? 0 : 0.5f * test_scene_random(71, i);
        m.mask[i] = (uint8_t)(256 * test_scene_random(72, i));
    }
    return m;
}

static void known_map_free(known_map *m)
{
    free(m->inverse);
    free(m->target);
    free(m->mask);
}

static double sum_of(const double *parts, size_t first, size_t stride)
{
    double sum = 0;
    for (size_t i = 0; i < SPLAT_DEPTH_SUMS; i++) sum += parts[first + stride * i];
    return sum;
}

/* The sum's order is another: 1e-6 of floats. A sign may differ where Q and q are the same but for rounding. */
static int check_map(splat_backend *backend, int width, int height, bool masked, uint32_t n_parts)
{
    int failures = 0;
    known_map m = known_map_make(width, height);
    splat_block blocks[5] = {{0}};
    splat_error error = {0};
    double sums[SPLAT_DEPTH_SUMS];
    float *wanted = malloc(m.n * sizeof *wanted), *junk = malloc(m.n * sizeof *junk);
    for (size_t i = 0; i < m.n; i++) wanted[i] = junk[i] = 77; /* overwritten, where it is drawn */
    struct splat_depth_map_args args = {.width = width, .height = height, .scale = m.scale, .offset = m.offset,
                                        .weight = 3,
                                        .patches = {.n_parts = n_parts, .seed = 9, .iteration = 4}};
    args.inverse = test_upload(backend, &blocks[0], m.inverse, m.n * sizeof *m.inverse);
    args.target = test_upload(backend, &blocks[1], m.target, m.n * sizeof *m.target);
    if (masked) args.mask = test_upload(backend, &blocks[2], m.mask, m.n);
    args.gradient = test_upload(backend, &blocks[3], junk, m.n * sizeof(float));
    args.result = test_upload(backend, &blocks[4], NULL, sizeof sums);
    splat_status status = splat_op_depth_map(backend, &args, &error);
    TEST_CHECK(failures, status == SPLAT_OK, "%s", error.message);
    test_download(backend, sums, args.result, sizeof sums);
    const double loss = sum_of(sums, 0, 1);
    float *got = project_host_copy(backend, args.gradient, m.n);
    float right = ref_depth_map_f32(width, height, m.inverse, m.target, m.scale, m.offset, masked ? m.mask : NULL,
                                    &args.patches, 3, wanted);
    TEST_CHECK(failures, fabs(loss - (double)right) <= 1e-5 * (double)right, "%dx%d: loss %g, not %g", width, height,
               loss, (double)right);
    size_t n_other = 0;
    for (size_t i = 0; i < m.n; i++) n_other += fabsf(got[i] - wanted[i]) > 1e-6f * fabsf(wanted[i]);
    TEST_CHECK(failures, n_other <= m.n / 10000, "%dx%d: %zu gradients differ", width, height, n_other);
    for (int i = 0; i < 5; i++) splat_block_free(backend, &blocks[i]);
    free(got);
    free(wanted);
    free(junk);
    known_map_free(&m);
    return failures;
}

/* Each patch of a tile is drawn as often as the others, and in another step others; a loss over all lots is the loss
 * over all pixels. Of 4000 lots with a probability of 1/4 each patch has 1000 with a deviation of 27: five of them. */
static int check_lots(void)
{
    enum { STEPS = 4000 };
    int failures = 0, drawn[SPLAT_TILE_PATCHES] = {0};
    splat_patches p = {.n_parts = 4, .seed = 1};
    for (; p.iteration < STEPS; p.iteration++) {
        const uint32_t bits = splat_patches_drawn(&p, 7), marked = splat_patches_of(&p, 7);
        TEST_CHECK(failures, bits == marked && (bits & 15) == bits >> 4 && (bits & 15) && !(bits & (bits - 1) & 15),
                   "bits %x", bits);
        for (int k = 0; k < SPLAT_TILE_PATCHES; k++) drawn[k] += (int)(bits >> k & 1);
    }
    for (int k = 0; k < SPLAT_TILE_PATCHES; k++)
        TEST_CHECK(failures, abs(drawn[k] - STEPS / 4) < 135, "patch %d is drawn %d times of %d", k, drawn[k], STEPS);
    known_map m = known_map_make(101, 67);
    double sum[2] = {0};
    for (uint32_t iteration = 0; iteration < STEPS / 10; iteration++) {
        p = (splat_patches){.n_parts = 4, .seed = 2, .iteration = iteration};
        sum[0] += (double)ref_depth_map_f32(101, 67, m.inverse, m.target, m.scale, m.offset, m.mask, &p, 1, NULL) * 10;
    }
    p.n_parts = 1;
    sum[1] = (double)ref_depth_map_f32(101, 67, m.inverse, m.target, m.scale, m.offset, m.mask, &p, 1, NULL) * STEPS;
    TEST_CHECK(failures, fabs(sum[0] / sum[1] - 1) < 0.01, "lots give %g of the loss", sum[0] / sum[1]);
    known_map_free(&m);
    return failures;
}

int test_op_depth_map(splat_backend *backend)
{
    static const int sizes[][2] = {{1, 1}, {1, 300}, {300, 1}, {33, 17}, {256, 1}, {401, 303}};
    int failures = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int masked = 0; masked < 2; masked++)
            for (uint32_t n_parts = 1; n_parts <= 4; n_parts *= 2)
                failures += check_map(backend, sizes[i][0], sizes[i][1], masked, n_parts);
    struct splat_depth_map_args none = {.width = 0, .height = 5, .patches = {.n_parts = 1}};
    TEST_CHECK(failures, splat_op_depth_map(backend, &none, NULL) == SPLAT_ERROR_ARGUMENT, "no pixel is an error");
    none = (struct splat_depth_map_args){.width = 5, .height = 5, .patches = {.n_parts = 3}};
    TEST_CHECK(failures, splat_op_depth_map(backend, &none, NULL) == SPLAT_ERROR_ARGUMENT, "thirds are an error");
    return failures + check_lots();
}

/* ---------------------------------------------------------------- points */

/* One in each square of 3 x 3 pixels, so that none shares a pixel; in its corner at whole pixels, and at the far
 * border. Returns how many. */
static uint32_t points_make(int width, int height, splat_depth_point *points)
{
    uint32_t n = 0;
    for (int y = 0; y < height; y += 3)
        for (int x = 0; x < width; x += 3, n++) {
            float u = n % 7 == 2 ? 0 : test_scene_random(80, n), v = n % 5 == 1 ? 0 : test_scene_random(81, n);
            points[n].x = fminf((float)x + u, (float)(width - 1));
            points[n].y = fminf((float)y + v, (float)(height - 1));
            points[n].inverse = 0.2f + test_scene_random(82, n);
            points[n].weight = 0.5f + test_scene_random(83, n);
        }
    return n;
}

/* Depths near those of the points, so that some stand in the middle of the Huber loss. */
static void maps_make(int width, int height, uint32_t n, const splat_depth_point *points, float *along, float *t)
{
    for (uint32_t i = 0; i < (uint32_t)(width * height); i++) {
        t[i] = i % 13 == 4 ? 1 : test_scene_random(84, i);
        along[i] = 0;
    }
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0; k < 4; k++) {
            int x = (int)points[i].x + k % 2, y = (int)points[i].y + k / 2;
            if (x >= width || y >= height) continue;
            float by = i % 3 ? 0.02f : 0.8f; /* nearly right, or not at all */
            float depth = (1 + by * (test_scene_random(85, i) - 0.5f)) / points[i].inverse;
            along[y * width + x] = (1 - t[y * width + x]) * depth;
        }
}

/* NMSE 1e-8 (seen 1e-13): e is a difference of numbers near 1, 1e-7 of 0.01. */
static int check_points(splat_backend *backend, int width, int height, bool masked)
{
    int failures = 0;
    size_t plane = (size_t)width * (size_t)height, bytes = plane * sizeof(float);
    splat_depth_point *points = calloc(plane, sizeof *points);
    float *along = malloc(bytes), *t = malloc(bytes), *wanted[2] = {malloc(bytes), malloc(bytes)};
    uint8_t *mask = malloc(plane);
    uint32_t n = points_make(width, height, points), n_counted;
    maps_make(width, height, n, points, along, t);
    for (uint32_t i = 0; i < plane; i++) mask[i] = test_scene_random(86, i) < 0.7f ? 255 : 0;
    for (size_t i = 0; i < plane; i++) wanted[0][i] = wanted[1][i] = 0.25f; /* added to */
    splat_block blocks[7] = {{0}};
    splat_error error = {0};
    double sums[2 * SPLAT_DEPTH_SUMS];
    struct splat_depth_points_args args = {.width = width, .height = height, .n = n, .weight = 2};
    args.along = test_upload(backend, &blocks[0], along, bytes);
    args.transmittance = test_upload(backend, &blocks[1], t, bytes);
    if (masked) args.mask = test_upload(backend, &blocks[2], mask, plane);
    args.points = test_upload(backend, &blocks[3], points, n * sizeof *points);
    args.result = test_upload(backend, &blocks[6], NULL, sizeof sums);
    args.grad_along = test_upload(backend, &blocks[4], wanted[0], bytes);
    args.grad_alpha = test_upload(backend, &blocks[5], wanted[1], bytes);
    splat_status status = splat_op_depth_points(backend, &args, &error);
    TEST_CHECK(failures, status == SPLAT_OK, "%s", error.message);
    test_download(backend, sums, args.result, sizeof sums);
    const double result[2] = {sum_of(sums, 0, 2), sum_of(sums, 1, 2)};
    float *got[2] = {project_host_copy(backend, args.grad_along, plane),
                     project_host_copy(backend, args.grad_alpha, plane)};
    float loss = ref_depth_points_f32(width, height, along, t, masked ? mask : NULL, n, points, 2, &n_counted,
                                      wanted[0], wanted[1]);
    TEST_CHECK(failures, fabs(result[0] - (double)loss) <= 1e-4 * (double)loss, "%dx%d: loss %g, not %g", width, height,
               result[0], (double)loss);
    TEST_CHECK(failures, result[1] == n_counted, "%dx%d: %g points, not %u", width, height, result[1], n_counted);
    for (int k = 0; k < 2; k++) {
        double nmse = test_nmse(got[k], wanted[k], plane);
        TEST_CHECK(failures, nmse <= 1e-8, "%dx%d: NMSE %g of gradient %d", width, height, nmse, k);
        free(got[k]);
        free(wanted[k]);
    }
    for (int i = 0; i < 7; i++) splat_block_free(backend, &blocks[i]);
    free(points);
    free(along);
    free(t);
    free(mask);
    return failures;
}

/* Every value around the points; the loss's kinks are at |e| = 0.01, which no value is near, and at the least alpha. */
static int check_point_differences(void)
{
    enum { W = 13, H = 8 };
    int failures = 0;
    splat_depth_point points[W * H];
    float along[W * H], t[W * H];
    double values[2][W * H], grads[2][W * H] = {{0}};
    uint32_t n = points_make(W, H, points), n_counted, n_moved;
    maps_make(W, H, n, points, along, t);
    for (size_t i = 0; i < (size_t)W * H; i++) {
        values[0][i] = along[i];
        values[1][i] = t[i];
    }
    ref_depth_points_f64(W, H, values[0], values[1], NULL, n, points, 1, &n_counted, grads[0], grads[1]);
    TEST_CHECK(failures, n_counted > 8, "%u points count", n_counted);
    for (size_t i = 0; i < 2 * (size_t)W * H; i++) {
        double *value = &values[i / (W * H)][i % (W * H)], kept = *value, step = 1e-7;
        double analytic = i < (size_t)W * H ? grads[0][i] : -grads[1][i - (size_t)W * H]; /* A = 1 - T */
        *value = kept + step;
        double above = ref_depth_points_f64(W, H, values[0], values[1], NULL, n, points, 1, &n_moved, NULL, NULL);
        *value = kept - step;
        double below = ref_depth_points_f64(W, H, values[0], values[1], NULL, n, points, 1, &n_moved, NULL, NULL);
        *value = kept;
        double numeric = (above - below) / (2 * step);
        TEST_CHECK(failures, n_moved == n_counted && fabs(numeric - analytic) <= 1e-6 * (1 + fabs(analytic)),
                   "value %zu: %.9g, difference %.9g", i, analytic, numeric);
    }
    return failures;
}

/* ---------------------------------------------------------------- the whole way */

enum { N = 7, WIDTH = 20, HEIGHT = 16, PIXELS = WIDTH * HEIGHT };

typedef struct chain {
    ref_gaussians_f64 g;
    ref_camera_f64 camera;
    bool compensate;
    uint16_t target[PIXELS];
    splat_depth_point points[PIXELS];
    uint32_t n_points;
    ref_splat2d_f64 splats[N];
    double image[3 * PIXELS], maps[2 * PIXELS], transmittance[PIXELS]; /* maps: Q, S */
    double grad_maps[2 * PIXELS], grad_alpha[PIXELS];
} chain;

#define SCALE 0.4
#define OFFSET 0.02
#define MAP_WEIGHT 300.0
#define POINT_WEIGHT 2.0

/* Wide Gaussians one behind another, of which every pixel blends every one: no step of a difference crosses a
 * threshold. */
static test_gaussians smooth_gaussians(const splat_camera *camera)
{
    test_gaussians t = test_gaussians_make(N, 0, 0, 17);
    for (uint32_t i = 0; i < N; i++) {
        float p[3] = {0.3f * project_normal(18, 3 * i), 0.2f * project_normal(18, 3 * i + 1), 2.2f + 0.3f * (float)i};
        for (int k = 0; k < 3; k++) {
            t.g.p.means[3 * i + k] = 0;
            for (int a = 0; a < 3; a++)
                t.g.p.means[3 * i + k] += camera->rotation[3 * a + k] * (p[a] - camera->translation[a]);
        }
        for (uint32_t k = 0; k < 3; k++)
            t.g.p.scales[3 * i + k] = 0.4f + 0.1f * (float)((i + k) % 3) + 0.01f * (float)i;
        t.g.p.opacities[i] = -0.2f + 0.1f * (float)i;
        t.g.filter_3d[i] = 0.05f;
    }
    return t;
}

static const splat_patches lot = {.n_parts = 2, .seed = 3, .iteration = 8};
static const double black[3] = {0};

/* Also dL/dmaps, dL/dalpha. */
static double chain_value(void *of)
{
    chain *c = of;
    uint32_t n_counted;
    ref_project_f64(&c->g, &c->camera, project_test_kernel(c->compensate), c->compensate, c->splats);
    ref_raster_f64(N, c->splats, WIDTH, HEIGHT, black, NULL, c->image, c->transmittance, NULL);
    ref_raster_depth_f64(N, c->splats, WIDTH, HEIGHT, NULL, c->maps + PIXELS, c->maps);
    memset(c->grad_maps, 0, sizeof c->grad_maps);
    memset(c->grad_alpha, 0, sizeof c->grad_alpha);
    return MAP_WEIGHT * ref_depth_map_f64(WIDTH, HEIGHT, c->maps, c->target, SCALE, OFFSET, NULL, &lot, MAP_WEIGHT,
                                          c->grad_maps) +
           POINT_WEIGHT * ref_depth_points_f64(WIDTH, HEIGHT, c->maps + PIXELS, c->transmittance, NULL, c->n_points,
                                               c->points, POINT_WEIGHT, &n_counted, c->grad_maps + PIXELS,
                                               c->grad_alpha);
}

static void chain_gradient(chain *c, ref_tensors_f64 *gradients)
{
    ref_grad2d_f64 grads[N];
    double grad_depth[N];
    chain_value(c);
    double *no_colours = calloc(3 * PIXELS, sizeof *no_colours);
    const ref_depth_gradients_f64 depth = {c->grad_maps + PIXELS, c->grad_maps, grad_depth};
    ref_raster_depth_backward_f64(N, c->splats, WIDTH, HEIGHT, black, NULL, no_colours, c->grad_alpha, &depth, grads);
    ref_project_backward_f64(&c->g, &c->camera, project_test_kernel(c->compensate), c->compensate, grads, gradients);
    for (size_t i = 0; i < 3 * N; i++)
        if (c->splats[i / 3].visible) gradients->means[i] += c->camera.rotation[6 + i % 3] * grad_depth[i / 3];
    free(no_colours);
}

typedef struct device_blocks {
    splat_block maps, gradients, no_colours, target, points, marked, results;
} device_blocks;

/* gradients: dL/dQ, dL/dS, dL/dA, all zero, and dL/dz. */
static splat_status device_chain(project_scene *scene, const chain *c, device_blocks *b, const splat_tensors *tensors,
                                 splat_error *error)
{
    splat_backend *backend = scene->backend;
    splat_frame *frame = &scene->frame;
    float *maps = b->maps.data, *gradients = b->gradients.data;
    double *results = b->results.data;
    const splat_raster_depth depth = {.patches = lot, .along = maps + PIXELS, .inverse = maps,
                                      .grad_along = gradients + PIXELS, .grad_inverse = gradients,
                                      .grad_depth = gradients + 3 * PIXELS};
    struct splat_depth_map_args map = {.width = WIDTH, .height = HEIGHT, .patches = lot, .inverse = maps,
                                       .target = b->target.data, .scale = (float)SCALE, .offset = (float)OFFSET,
                                       .weight = (float)MAP_WEIGHT, .gradient = gradients,
                                       .result = results};
    struct splat_depth_points_args points = {.width = WIDTH, .height = HEIGHT, .along = maps + PIXELS,
                                             .transmittance = frame->transmittance, .points = b->points.data,
                                             .n = c->n_points, .weight = (float)POINT_WEIGHT,
                                             .grad_along = gradients + PIXELS, .grad_alpha = gradients + 2 * PIXELS,
                                             .result = results + SPLAT_DEPTH_SUMS};
    splat_raster_depth everywhere = depth;
    everywhere.patches.marked = b->marked.data;
    const splat_view_blend blend = {.colors = true, .depth = &everywhere};
    const splat_view_gradients screen = {.image = b->no_colours.data, .alpha = gradients + 2 * PIXELS,
                                         .depth = &everywhere};
    struct splat_project_backward_args project = {.gaussians = &scene->gaussians, .frame = frame,
                                                  .source = {.depth = gradients + 3 * PIXELS},
                                                  .sink = {.write = tensors}};
    SPLAT_TRY(splat_view_forward(backend, frame, &blend, error));
    SPLAT_TRY(splat_op_depth_map(backend, &map, error));
    SPLAT_TRY(splat_op_depth_points(backend, &points, error));
    SPLAT_TRY(splat_view_backward(backend, frame, &screen, error));
    SPLAT_TRY(splat_op_project_backward(backend, &project, error));
    return splat_backend_synchronize(backend, error);
}

/* NMSE 1e-8: floats with sums of 320 pixels that partly cancel. */
static int compare_tensor(splat_backend *backend, const float *device, const double *wanted, size_t n, const char *name)
{
    int failures = 0;
    float *got = project_host_copy(backend, device, n), *w = calloc(n, sizeof *w);
    for (size_t i = 0; i < n; i++) w[i] = (float)wanted[i];
    double nmse = test_nmse(got, w, n);
    TEST_CHECK(failures, nmse <= 1e-8, "NMSE %g of %s", nmse, name);
    free(got);
    free(w);
    return failures;
}

static int check_device(splat_backend *backend, const test_gaussians *t, const splat_camera *camera, const chain *c,
                        const ref_tensors_f64 *wanted)
{
    int failures = 0;
    project_scene scene;
    backward_state state;
    device_blocks b = {0};
    splat_error error = {0};
    project_scene_open(&scene, backend, &t->g, camera, c->compensate, false);
    backward_state_open(&state, backend, &t->g, SPLAT_OPTIMIZER_FLOAT32);
    failures += project_scene_run(&scene);
    float *zeros = calloc(3 * PIXELS + N, sizeof *zeros);
    uint8_t marked[4]; /* tiles, for the points: all patches */
    memset(marked, 0xff, sizeof marked);
    test_upload(backend, &b.maps, NULL, 2 * PIXELS * sizeof(float));
    test_upload(backend, &b.gradients, zeros, (3 * PIXELS + N) * sizeof(float));
    test_upload(backend, &b.no_colours, zeros, 3 * PIXELS * sizeof(float));
    test_upload(backend, &b.target, c->target, sizeof c->target);
    test_upload(backend, &b.points, c->points, c->n_points * sizeof *c->points);
    test_upload(backend, &b.marked, marked, sizeof marked);
    test_upload(backend, &b.results, NULL, 3 * SPLAT_DEPTH_SUMS * sizeof(double));
    splat_status status = device_chain(&scene, c, &b, &state.gradients, &error);
    TEST_CHECK(failures, status == SPLAT_OK, "%s", error.message);
    failures += compare_tensor(backend, state.gradients.means, wanted->means, 3 * N, "means");
    failures += compare_tensor(backend, state.gradients.scales, wanted->scales, 3 * N, "scales");
    failures += compare_tensor(backend, state.gradients.rotations, wanted->rotations, 4 * N, "rotations");
    failures += compare_tensor(backend, state.gradients.opacities, wanted->opacities, N, "opacities");
    splat_block *all[] = {&b.maps, &b.gradients, &b.no_colours, &b.target, &b.points, &b.marked, &b.results};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) splat_block_free(backend, all[i]);
    free(zeros);
    backward_state_close(&state);
    project_scene_close(&scene);
    return failures;
}

static int check_chain(splat_backend *backend, bool compensate)
{
    int failures = 0;
    splat_camera camera = test_camera_make(WIDTH, HEIGHT);
    test_gaussians t = smooth_gaussians(&camera);
    chain *c = calloc(1, sizeof *c);
    c->g = ref_gaussians_from_f64(&t.g);
    c->camera = ref_camera_from_f64(&camera);
    c->compensate = compensate;
    for (uint32_t i = 0; i < PIXELS; i++) c->target[i] = (uint16_t)(65536 * test_scene_random(90, i));
    c->n_points = points_make(WIDTH, HEIGHT, c->points); /* depths of 0.8 to 5, where Gaussians stand at 2.2 to 4 */
    ref_tensors_f64 gradients = ref_tensors_make_f64(N, 0);
    chain_gradient(c, &gradients);
    for (size_t i = 0; i < PIXELS && failures < 3; i++)
        TEST_CHECK(failures, c->transmittance[i] > 2e-4, "pixel %zu ends early: %g", i, c->transmittance[i]);
    failures += test_tensor_gradient(chain_value, c, c->g.p.means, gradients.means, 3 * N, "mean");
    failures += test_tensor_gradient(chain_value, c, c->g.p.scales, gradients.scales, 3 * N, "scale");
    failures += test_tensor_gradient(chain_value, c, c->g.p.rotations, gradients.rotations, 4 * N, "rotation");
    failures += test_tensor_gradient(chain_value, c, c->g.p.opacities, gradients.opacities, N, "opacity");
    failures += check_device(backend, &t, &camera, c, &gradients);
    ref_tensors_free_f64(&gradients);
    ref_gaussians_free_f64(&c->g);
    free(c);
    test_gaussians_free(&t);
    return failures;
}

int test_op_depth_points(splat_backend *backend)
{
    static const int sizes[][2] = {{1, 1}, {1, 40}, {40, 1}, {2, 2}, {33, 17}, {101, 67}};
    int failures = check_point_differences();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int masked = 0; masked < 2; masked++) failures += check_points(backend, sizes[i][0], sizes[i][1], masked);
    return failures + check_chain(backend, true) + check_chain(backend, false);
}
