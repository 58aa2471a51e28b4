/* depth_normal against the reference, the reference against central differences, and planes whose answer is known. */
#include "ops/depth_normal/depth_normal.h"

#include "ops/geometry/plane_depth.h"
#include "ops/raster/raster_scene_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Maps of a made-up view: a wavy surface, normals near its own, alpha from 0.4 to 1, holes, normals that look away. */
typedef struct view {
    splat_camera camera;
    size_t n;
    float *maps, *transmittance, *edge_weight;
} view;

static view view_make(int width, int height, bool holes)
{
    view v = {.camera = test_camera_make(width, height), .n = (size_t)width * (size_t)height};
    v.maps = calloc(4 * v.n, sizeof *v.maps);
    v.transmittance = calloc(v.n, sizeof *v.transmittance);
    v.edge_weight = calloc(v.n, sizeof *v.edge_weight);
    splat_plane_rays rays = splat_plane_rays_of(&v.camera, 0);
    for (size_t i = 0; i < v.n; i++) {
        float x = (float)(i % (size_t)width), y = (float)(i / (size_t)width), r = test_scene_random(60, (uint32_t)i);
        float alpha = holes ? 0.4f + 0.6f * r : 0.7f + 0.3f * r;
        if (holes && i % 37 == 5) alpha = 0;
        float n[3] = {0.3f * sinf(0.2f * x), 0.3f * cosf(0.3f * y), -1.0f};
        v.transmittance[i] = 1 - alpha;
        float plane[4], ray[3], turn = holes && i % 23 == 7 ? -1.0f : 1.0f; /* away */
        for (uint32_t k = 0; k < 3; k++) plane[1 + k] = n[k] + 0.2f * test_scene_random(61 + k, (uint32_t)i);
        splat_plane_ray(&rays, x, y, ray);
        plane[0] = (3.0f + 0.3f * sinf(0.2f * x) + 0.2f * cosf(0.3f * y)) * splat_plane_toward(plane, ray);
        for (size_t k = 0; k < 4; k++) v.maps[k * v.n + i] = (k ? turn : 1) * alpha * plane[k];
        v.edge_weight[i] = test_scene_random(64, (uint32_t)i);
    }
    return v;
}

static void view_free(view *v)
{
    free(v->maps);
    free(v->transmittance);
    free(v->edge_weight);
}

typedef struct result {
    double loss, n_pixels;
    float *grad_maps;
} result;

static result run(splat_backend *backend, const view *v, bool weighs_edges, float weight, int *failures)
{
    splat_block blocks[5] = {{0}};
    splat_error error = {0};
    size_t plane = v->n * sizeof(float);
    result r = {.grad_maps = calloc(4 * v->n, sizeof(float))};
    double found[2];
    float *junk = malloc(4 * plane); /* the outputs are overwritten, not added to */
    memset(junk, 0x7f, 4 * plane);
    struct splat_depth_normal_args args = {.camera = &v->camera, .weight = weight};
    args.maps = test_upload(backend, &blocks[0], v->maps, 4 * plane);
    args.transmittance = test_upload(backend, &blocks[1], v->transmittance, plane);
    args.grad_maps = test_upload(backend, &blocks[2], junk, 4 * plane);
    if (weighs_edges) args.edge_weight = test_upload(backend, &blocks[3], v->edge_weight, plane);
    args.result = test_upload(backend, &blocks[4], NULL, sizeof found);
    splat_status status = splat_op_depth_normal(backend, &args, &error);
    TEST_CHECK(*failures, status == SPLAT_OK, "%s", error.message);
    test_download(backend, r.grad_maps, args.grad_maps, 4 * plane);
    test_download(backend, found, args.result, sizeof found);
    r.loss = found[0];
    r.n_pixels = found[1];
    for (int i = 0; i < 5; i++) splat_block_free(backend, &blocks[i]);
    free(junk);
    return r;
}

static void result_free(result *r)
{
    free(r->grad_maps);
}

/* NMSE 1e-9: a difference of two points has the rounding of a point, 2e-7 of 3, over its length, 0.05 and more (seen:
 * 3e-13). */
static int check_size(splat_backend *backend, int width, int height, bool holes, bool weighs_edges)
{
    int failures = 0;
    view v = view_make(width, height, holes);
    ref_camera_f32 camera = ref_camera_from_f32(&v.camera);
    float *maps = calloc(4 * v.n, sizeof *maps), *edge_weight = weighs_edges ? v.edge_weight : NULL;
    uint32_t n_pixels;
    float loss = ref_depth_normal_f32(&camera, v.maps, v.transmittance, edge_weight, 3.0f, maps, &n_pixels);
    result r = run(backend, &v, weighs_edges, 3.0f, &failures);
    TEST_CHECK(failures, fabs(r.loss - (double)loss) <= 1e-5 * fabs(r.loss) + 1e-12, "%dx%d: loss %g, not %g", width,
               height, r.loss, (double)loss);
    TEST_CHECK(failures, r.n_pixels == n_pixels, "%dx%d: %g pixels, not %u", width, height, r.n_pixels, n_pixels);
    TEST_CHECK(failures, holes || width < 3 || height < 3 || n_pixels == (uint32_t)((width - 2) * (height - 2)),
               "%dx%d: %u pixels", width, height, n_pixels);
    double nmse = test_nmse(r.grad_maps, maps, 4 * v.n);
    TEST_CHECK(failures, nmse <= 1e-9, "%dx%d: NMSE %g", width, height, nmse);
    result_free(&r);
    free(maps);
    view_free(&v);
    return failures;
}

/* A plane: the loss is that of rounding, about 1e-10 (angles of 1e-5). With `depths` every other pixel has a normal
 * of its own and only its depth is the plane's: a ray half a pixel off the centre tilts it by 1e-3 and more, a loss
 * of 1e-6. */
static int check_plane(splat_backend *backend, bool depths)
{
    int failures = 0;
    view v = view_make(60, 40, false);
    const splat_camera *c = &v.camera;
    const double raw[3] = {0.5, -0.3, -0.8}, length = sqrt(0.5 * 0.5 + 0.3 * 0.3 + 0.8 * 0.8);
    double sum = 0;
    for (size_t i = 0; i < v.n; i++) {
        double ray[3] = {((double)(i % 60) + 0.5 - (double)c->cx) / (double)c->fx,
                         ((double)(i / 60) + 0.5 - (double)c->cy) / (double)c->fy, 1};
        double along = 0, toward = 0, n[3], alpha = 1 - (double)v.transmittance[i], wanted = 0;
        for (int k = 0; k < 3; k++) {
            n[k] = depths && i % 2 ? (double)(k == 2 ? -1 : 0) : raw[k] / length;
            along += raw[k] * ray[k];
            toward -= n[k] * ray[k];
        }
        v.maps[i] = (float)(alpha * toward * (-3 / along));
        for (size_t k = 0; k < 3; k++) v.maps[(1 + k) * v.n + i] = (float)(alpha * n[k]);
        for (int k = 0; k < 3; k++) wanted += n[k] * raw[k] / length;
        size_t x = i % 60, y = i / 60;
        if (x > 0 && y > 0 && x < 59 && y < 39) sum += 1 - wanted;
    }
    result r = run(backend, &v, false, 1.0f, &failures);
    TEST_CHECK(failures, r.n_pixels == 58 * 38, "%g pixels of a plane", r.n_pixels);
    TEST_CHECK(failures, fabs(r.loss * (double)v.n - sum) / r.n_pixels < 1e-7, "a plane has the loss %g, not %g",
               r.loss * (double)v.n, sum);
    result_free(&r);
    view_free(&v);
    return failures;
}

/* Every value of a small view. The loss is a sum near 1 with third derivatives up to 1e4: steps of 1e-6 leave 1e-8 and
 * the rounding 1e-10. */
static int check_differences(void)
{
    int failures = 0;
    view v = view_make(15, 11, true);
    ref_camera_f64 camera = ref_camera_from_f64(&v.camera);
    uint32_t n_pixels, n_moved;
    double maps[4 * 165], t[165], edges[165], grad_maps[4 * 165];
    for (size_t i = 0; i < 4 * v.n; i++) maps[i] = v.maps[i];
    for (size_t i = 0; i < v.n; i++) t[i] = v.transmittance[i] < 0.48f ? 0.8 * (double)v.transmittance[i] : 0.7;
    for (size_t i = 0; i < v.n; i++) edges[i] = v.edge_weight[i];
    ref_depth_normal_f64(&camera, maps, t, edges, 1.0, grad_maps, &n_pixels);
    TEST_CHECK(failures, n_pixels > 20 && n_pixels < 100, "%u pixels count", n_pixels);
    for (size_t i = 0; i < 5 * v.n; i++) {
        double *parameter = i < 4 * v.n ? &maps[i] : &t[i - 4 * v.n], kept = *parameter, step = 1e-6;
        double analytic = i < 4 * v.n ? grad_maps[i] : 0; /* alpha has none */
        *parameter = kept + step;
        double above = ref_depth_normal_f64(&camera, maps, t, edges, 1.0, NULL, &n_moved);
        *parameter = kept - step;
        double below = ref_depth_normal_f64(&camera, maps, t, edges, 1.0, NULL, &n_moved);
        double numeric = (above - below) / (2 * step);
        *parameter = kept;
        TEST_CHECK(failures, n_moved == n_pixels && fabs(numeric - analytic) <= 1e-7,
                   "value %zu: %.9g, difference %.9g", i, analytic, numeric);
    }
    view_free(&v);
    return failures;
}

int test_op_depth_normal(splat_backend *backend)
{
    static const int sizes[][2] = {{1, 1}, {2, 9}, {9, 2}, {3, 3}, {33, 17}, {101, 67}, {64, 8}, {300, 200}};
    int failures = check_differences();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int k = 0; k < 4; k++) failures += check_size(backend, sizes[i][0], sizes[i][1], k % 2, k / 2);
    return failures + check_plane(backend, false) + check_plane(backend, true);
}
