/* Scenes made by hand, and their pictures by the op and by the reference. */
#include "ops/raster/raster_scene_test.h"

#include "base/rng.h"
#include "ops/bin/bin.h"
#include "ops/raster/raster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

float test_scene_random(uint32_t k, uint32_t i)
{
    return splat_uniform(splat_random(7, SPLAT_STREAM_TEST, k / 4, i).x[k % 4]);
}

/* Standard deviations of the two axes, before the filter, and alpha0. */
static void choose_shape(test_scene_kind kind, uint32_t i, float sigma[2], float *alpha0)
{
    float r0 = test_scene_random(2, i), r1 = test_scene_random(3, i), r2 = test_scene_random(4, i);
    sigma[0] = 6.0f * r0 * r0 + 0.1f;
    sigma[1] = 6.0f * r1 * r1 + 0.1f;
    *alpha0 = r2;
    if (kind == TEST_SCENE_OPAQUE || kind == TEST_SCENE_FLAT) *alpha0 = 1.0f;
    if (kind == TEST_SCENE_FLAT) sigma[0] = sigma[1] = 400.0f + 100.0f * r0;
    if (kind == TEST_SCENE_TRANSPARENT) *alpha0 = 0.0039f * r2;
    if (kind == TEST_SCENE_STACKED) {
        sigma[0] = 8.0f + 8.0f * r0;
        sigma[1] = 8.0f + 8.0f * r1;
        *alpha0 = 0.0035f + 0.002f * r2;
    }
    if (kind == TEST_SCENE_SOFT) {
        sigma[0] = 2.0f + 5.0f * r0;
        sigma[1] = 2.0f + 5.0f * r1;
        *alpha0 = 0.2f + 0.7f * r2;
    }
    if (kind != TEST_SCENE_MIXED) return;
    if (i % 16 == 3) *alpha0 *= 0.02f;                   /* most of them below 1/255 */
    if (i % 16 == 5) sigma[0] = 40.0f;
    if (i % 16 == 7) sigma[0] = 200.0f, sigma[1] = 0.0f; /* needle: 600 to 1 after the filter */
    if (i % 16 == 9) *alpha0 = 1.0f;
}

static int clamp_tile(float x, int n)
{
    return x < 0 ? 0 : x > (float)n ? n : (int)x;
}

/* One Gaussian with its rho square (docs/method.md 6) and the box of alpha >= 1/255 in it. */
static void make_splat(const test_scene_spec *spec, uint32_t i, ref_splat2d_f32 *s, uint16_t rect[4])
{
    float sigma[2], alpha0, angle = 3.14159f * test_scene_random(5, i);
    choose_shape(spec->kind, i, sigma, &alpha0);
    float cosine = cosf(angle), sine = sinf(angle), v0 = sigma[0] * sigma[0], v1 = sigma[1] * sigma[1];
    float a = cosine * cosine * v0 + sine * sine * v1 + 0.1f, c = sine * sine * v0 + cosine * cosine * v1 + 0.1f;
    float b = cosine * sine * (v0 - v1), det = (v0 + 0.1f) * (v1 + 0.1f), half = 0.5f * (a + c);
    float rho = ceilf(3 * sqrtf(half + sqrtf(fmaxf(0.1f, half * half - det))));
    int tiles_x = (spec->width + 15) / 16, tiles_y = (spec->height + 15) / 16;
    float room = spec->kind == TEST_SCENE_MIXED ? 10.0f : 0.0f; /* means so far outside */
    int width = spec->kind == TEST_SCENE_STACKED ? 16 : spec->width;
    int height = spec->kind == TEST_SCENE_STACKED ? 16 : spec->height;
    *s = (ref_splat2d_f32){.a = c / det, .b = -b / det, .c = a / det, .alpha0 = alpha0};
    for (uint32_t k = 0; k < 3; k++) s->rgb[k] = 1.2f * test_scene_random(10 + k, i);
    s->depth = 0.25f + 0.125f * floorf(64 * test_scene_random(6, i)); /* many ties */
    s->u = (float)(width - 1 + 2 * room) * test_scene_random(0, i) - room;
    s->v = (float)(height - 1 + 2 * room) * test_scene_random(1, i) - room;
    s->tiles[0] = clamp_tile((s->u - rho) / 16, tiles_x);
    s->tiles[1] = clamp_tile((s->v - rho) / 16, tiles_y);
    s->tiles[2] = clamp_tile((s->u + rho + 15) / 16, tiles_x);
    s->tiles[3] = clamp_tile((s->v + rho + 15) / 16, tiles_y);
    s->visible = s->tiles[2] > s->tiles[0] && s->tiles[3] > s->tiles[1];
    memset(rect, 0, 4 * sizeof *rect);
    /* Rounding makes a few real conics indefinite; their power is > 0 somewhere, which blends nothing. */
    bool indefinite = spec->kind == TEST_SCENE_MIXED && i % 64 == 11;
    if (indefinite) s->b = 1.2f * sqrtf(s->a * s->c);
    float reach = 2 * logf(255 * alpha0);
    if (!s->visible || !(reach > 0)) return;
    float slack = indefinite ? 1e5f : spec->jitter ? 0.6f : 0.1f;
    float x = sqrtf(reach * a) + slack, y = sqrtf(reach * c) + slack;
    int box[4] = {clamp_tile((s->u - x) / 16, tiles_x), clamp_tile((s->v - y) / 16, tiles_y),
                  clamp_tile((s->u + x) / 16 + 1, tiles_x), clamp_tile((s->v + y) / 16 + 1, tiles_y)};
    for (int k = 0; k < 2; k++) rect[k] = (uint16_t)(box[k] > s->tiles[k] ? box[k] : s->tiles[k]);
    for (int k = 2; k < 4; k++) rect[k] = (uint16_t)(box[k] < s->tiles[k] ? box[k] : s->tiles[k]);
}

static ref_splat2d_f64 widen(const ref_splat2d_f32 *s)
{
    ref_splat2d_f64 d = {.visible = s->visible, .u = s->u, .v = s->v, .a = s->a, .b = s->b, .c = s->c,
                         .alpha0 = s->alpha0, .depth = s->depth, .rgb = {s->rgb[0], s->rgb[1], s->rgb[2]}};
    memcpy(d.tiles, s->tiles, sizeof d.tiles);
    return d;
}

typedef struct depth_entry {
    float depth;
    uint32_t index;
} depth_entry;

static int compare_depth(const void *pa, const void *pb)
{
    const depth_entry *a = pa, *b = pb;
    if (a->depth != b->depth) return a->depth < b->depth ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Walks one pixel in double: is a decision near its threshold, and who is blended last? */
static void find_band(test_scene *scene, const depth_entry *order, size_t pixel, double band_width)
{
    int i = (int)(pixel % (size_t)scene->spec.width), j = (int)(pixel / (size_t)scene->spec.width);
    double x = i, y = j, t = 1;
    if (scene->jitter) {
        x = (float)i + scene->jitter[pixel]; /* the float sum is the position */
        y = (float)j + scene->jitter[scene->n_pixels + pixel];
    }
    scene->last[pixel] = -1;
    for (uint32_t k = 0; k < scene->spec.n; k++) {
        const ref_splat2d_f64 *s = &scene->splats_f64[order[k].index];
        int tx = i / 16, ty = j / 16;
        if (!s->visible || tx < s->tiles[0] || tx >= s->tiles[2] || ty < s->tiles[1] || ty >= s->tiles[3]) continue;
        double dx = s->u - x, dy = s->v - y, size = s->a * dx * dx + s->c * dy * dy;
        double power = -0.5 * size - s->b * dx * dy;
        double alpha = fmin(0.99, s->alpha0 * exp(power));
        /* Rounding of the float power grows with its terms: 6 roundings of 2^-24. */
        double rounding = 4e-7 * size;
        if (fabs(alpha * 255 - 1) < band_width + rounding) scene->band[pixel] = true;
        if (fabs(power) < rounding) scene->band[pixel] = true;
        if (power > 0 || alpha < 1.0 / 255) continue;
        double next = t * (1 - alpha);
        /* T has one rounding an entry, and each alpha that of its power. */
        if (fabs(next * 1e4 - 1) < 20 * band_width) scene->band[pixel] = true;
        if (next < 1e-4) break;
        t = next;
        scene->last[pixel] = order[k].index;
    }
    scene->n_band += scene->band[pixel];
}

static void upload_frame(splat_backend *backend, test_scene *scene)
{
    const test_scene_spec *spec = &scene->spec;
    uint32_t n = spec->n;
    splat_frame *frame = &scene->frame;
    float size = (float)spec->width; /* the camera says nothing but the rays of geometry */
    splat_camera camera = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .fx = 1.1f * size, .fy = size, .cx = 0.45f * size,
                           .cy = 0.5f * (float)spec->height, .width = spec->width, .height = spec->height};
    splat_error error;
    if (splat_view_begin(backend, frame, n, &camera, &error) != SPLAT_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(2);
    }
    memcpy(frame->background, spec->background, sizeof frame->background);
    frame->n_visible = n;
    uint32_t *ids = calloc(n + 1, sizeof *ids);
    float *mean2d = calloc(n + 1, 2 * sizeof(float)), *conic = calloc(n + 1, 4 * sizeof(float));
    float *rgb = calloc(n + 1, 3 * sizeof(float)), *depth = calloc(n + 1, sizeof(float));
    for (uint32_t v = 0; v < n; v++) {
        const ref_splat2d_f32 *s = &scene->splats[v];
        ids[v] = 3 * v + 1;
        memcpy(mean2d + 2 * v, (float[]){s->u, s->v}, 2 * sizeof(float));
        memcpy(conic + 4 * v, (float[]){s->a, s->b, s->c, s->alpha0}, 4 * sizeof(float));
        memcpy(rgb + 3 * v, s->rgb, 3 * sizeof(float));
        depth[v] = s->depth;
    }
    splat_backend_upload(backend, frame->ids, ids, n * sizeof *ids, NULL);
    splat_backend_upload(backend, frame->mean2d, mean2d, n * 2 * sizeof(float), NULL);
    splat_backend_upload(backend, frame->conic, conic, n * 4 * sizeof(float), NULL);
    splat_backend_upload(backend, frame->rgb, rgb, n * 3 * sizeof(float), NULL);
    splat_backend_upload(backend, frame->depth, depth, n * sizeof(float), NULL);
    splat_backend_upload(backend, frame->tile_rect, scene->tile_rect, n * 4 * sizeof(uint16_t), NULL);
    if (scene->jitter)
        frame->jitter = test_upload(backend, &scene->jitter_block, scene->jitter, scene->n_pixels * 2 * sizeof(float));
    free(ids);
    free(mean2d);
    free(conic);
    free(rgb);
    free(depth);
}

void test_scene_make(splat_backend *backend, const test_scene_spec *spec, double band_width, test_scene *scene)
{
    *scene = (test_scene){.spec = *spec, .n_pixels = (size_t)spec->width * (size_t)spec->height};
    uint32_t n = spec->n;
    scene->splats = calloc(n + 1, sizeof *scene->splats);
    scene->splats_f64 = calloc(n + 1, sizeof *scene->splats_f64);
    scene->tile_rect = calloc(n + 1, 4 * sizeof *scene->tile_rect);
    scene->band = calloc(scene->n_pixels, sizeof *scene->band);
    scene->last = calloc(scene->n_pixels, sizeof *scene->last);
    depth_entry *order = calloc(n + 1, sizeof *order);
    for (uint32_t v = 0; v < n; v++) {
        make_splat(spec, v, &scene->splats[v], scene->tile_rect + 4 * v);
        scene->splats_f64[v] = widen(&scene->splats[v]);
        order[v] = (depth_entry){scene->splats[v].depth, v};
    }
    qsort(order, n, sizeof *order, compare_depth);
    if (spec->jitter) {
        scene->jitter = calloc(2 * scene->n_pixels, sizeof(float));
        scene->jitter_f64 = calloc(2 * scene->n_pixels, sizeof(double));
        for (uint32_t i = 0; i < 2 * scene->n_pixels; i++)
            scene->jitter_f64[i] = scene->jitter[i] = test_scene_random(20, i) - 0.5f;
    }
    for (size_t pixel = 0; pixel < scene->n_pixels && band_width >= 0; pixel++)
        find_band(scene, order, pixel, band_width);
    free(order);
    upload_frame(backend, scene);
}

void test_scene_free(splat_backend *backend, test_scene *scene)
{
    splat_frame_free(backend, &scene->frame);
    splat_block_free(backend, &scene->jitter_block);
    splat_block_free(backend, &scene->grad_block);
    splat_block_free(backend, &scene->alpha_block);
    for (int i = 0; i < 6; i++) splat_block_free(backend, &scene->depth_blocks[i]);
    free(scene->marked);
    free(scene->grad_along);
    free(scene->grad_inverse);
    free(scene->splats);
    free(scene->splats_f64);
    free(scene->tile_rect);
    free(scene->jitter);
    free(scene->jitter_f64);
    free(scene->band);
    free(scene->last);
    memset(scene, 0, sizeof *scene);
}

void test_scene_count(splat_backend *backend, test_scene *scene)
{
    void *counts;
    splat_error error;
    if (splat_frame_take(backend, &scene->frame, scene->n_pixels * sizeof(uint32_t), &counts, &error) != SPLAT_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(2);
    }
    scene->frame.blended = counts;
}

bool test_scene_has_depth(const test_scene *scene, size_t pixel)
{
    const uint32_t x = (uint32_t)(pixel % (size_t)scene->spec.width), y = (uint32_t)(pixel / (size_t)scene->spec.width);
    splat_patches patches = scene->patches;
    patches.marked = scene->marked;
    return splat_patches_of(&patches, y / 16 * scene->frame.tiles_x + x / 16) >> splat_patch_of(x, y) & 1;
}

void test_scene_ask_depth(test_scene *scene)
{
    const uint32_t n_tiles = scene->frame.tiles_x * scene->frame.tiles_y;
    scene->with_depth = true;
    scene->patches = (splat_patches){.n_parts = 4, .seed = 5, .iteration = 11};
    scene->marked = calloc(n_tiles, 1);
    for (uint32_t i = 0; i < n_tiles; i++)
        if (i % 3 != 1) scene->marked[i] = (uint8_t)(256 * test_scene_random(32, i) * test_scene_random(33, i));
    scene->grad_along = calloc(scene->n_pixels, sizeof(float));
    scene->grad_inverse = calloc(scene->n_pixels, sizeof(float));
    for (uint32_t i = 0; i < scene->n_pixels; i++) {
        if (scene->band[i] || !test_scene_has_depth(scene, i)) continue;
        scene->grad_along[i] = 0.4f * test_scene_random(34, i) - 0.2f;
        scene->grad_inverse[i] = 2 * test_scene_random(35, i) - 1;
    }
}

/* Planes begin as junk, but what no patch has must not matter. */
static splat_raster_depth upload_depth(splat_backend *backend, test_scene *scene)
{
    const size_t plane = scene->n_pixels * sizeof(float), n_tiles = (size_t)scene->frame.tiles_x * scene->frame.tiles_y;
    float *junk = malloc(plane), *zeros = calloc(scene->spec.n + 1, sizeof *zeros);
    for (size_t i = 0; i < scene->n_pixels; i++) junk[i] = 1e30f;
    splat_raster_depth depth = {.patches = scene->patches};
    depth.patches.marked = test_upload(backend, &scene->depth_blocks[0], scene->marked, n_tiles);
    depth.along = test_upload(backend, &scene->depth_blocks[1], junk, plane);
    depth.inverse = test_upload(backend, &scene->depth_blocks[2], junk, plane);
    depth.grad_along = test_upload(backend, &scene->depth_blocks[3], scene->grad_along, plane);
    depth.grad_inverse = test_upload(backend, &scene->depth_blocks[4], scene->grad_inverse, plane);
    depth.grad_depth = test_upload(backend, &scene->depth_blocks[5], zeros, (scene->spec.n + 1) * sizeof(float));
    free(junk);
    free(zeros);
    return depth;
}

splat_status test_scene_run(splat_backend *backend, test_scene *scene, const float *grad_image, splat_error *error)
{
    splat_view_blend blend = {.max_instances = scene->max_instances, .colors = true};
    splat_view_gradients gradients = {.without_mean_abs = scene->without_mean_abs};
    splat_raster_depth depth;
    if (scene->with_depth) {
        depth = upload_depth(backend, scene);
        blend.depth = gradients.depth = &depth;
    }
    SPLAT_TRY(splat_view_forward(backend, &scene->frame, &blend, error));
    if (grad_image) {
        size_t bytes = 3 * scene->n_pixels * sizeof(float);
        gradients.image = test_upload(backend, &scene->grad_block, grad_image, bytes);
        if (scene->grad_alpha)
            gradients.alpha = test_upload(backend, &scene->alpha_block, scene->grad_alpha,
                                          scene->n_pixels * sizeof(float));
        SPLAT_TRY(splat_view_backward(backend, &scene->frame, &gradients, error));
    }
    return splat_backend_synchronize(backend, error); /* n_instances is known now */
}

float *test_scene_gradient(const test_scene *scene)
{
    float *grad = calloc(3 * scene->n_pixels, sizeof *grad);
    for (uint32_t i = 0; i < 3 * scene->n_pixels; i++)
        if (!scene->band[i % scene->n_pixels]) grad[i] = 2 * test_scene_random(30, i) - 1;
    return grad;
}

static void *fetch(splat_backend *backend, const void *device, size_t bytes)
{
    void *host = calloc(bytes + 1, 1);
    if (bytes) test_download(backend, host, device, bytes);
    return host;
}

test_result test_result_make(splat_backend *backend, const test_scene *scene)
{
    const splat_frame *f = &scene->frame;
    test_result r = {.n_pixels = scene->n_pixels, .n_instances = f->n_instances, .n_visible = f->n_visible,
                     .n_tiles = (size_t)f->tiles_x * f->tiles_y};
    r.image = fetch(backend, f->image, 3 * r.n_pixels * sizeof(float));
    r.transmittance = fetch(backend, f->transmittance, r.n_pixels * sizeof(float));
    r.last = fetch(backend, f->last, r.n_pixels * sizeof(uint32_t));
    r.grad2d = fetch(backend, f->grad2d, f->grad2d ? r.n_visible * sizeof(splat_grad2d) : 0);
    r.instances = fetch(backend, f->instances, r.n_instances * sizeof(uint32_t));
    if (f->instance_slots) r.instance_slots = fetch(backend, f->instance_slots, r.n_instances * sizeof(uint32_t));
    if (f->slot_begin) r.slot_begin = fetch(backend, f->slot_begin, (r.n_visible + 1) * sizeof(uint32_t));
    if (f->blended) r.blended = fetch(backend, f->blended, r.n_pixels * sizeof(uint32_t));
    if (scene->with_depth) {
        r.along = fetch(backend, scene->depth_blocks[1].data, r.n_pixels * sizeof(float));
        r.inverse = fetch(backend, scene->depth_blocks[2].data, r.n_pixels * sizeof(float));
        r.grad_depth = fetch(backend, scene->depth_blocks[5].data, r.n_visible * sizeof(float));
    }
    r.tile_begin = fetch(backend, f->tile_begin, (r.n_tiles + 1) * sizeof(uint32_t));
    return r;
}

void test_result_free(test_result *r)
{
    free(r->image);
    free(r->transmittance);
    free(r->last);
    free(r->grad2d);
    free(r->instances);
    free(r->instance_slots);
    free(r->slot_begin);
    free(r->tile_begin);
    free(r->blended);
    free(r->along);
    free(r->inverse);
    free(r->grad_depth);
    memset(r, 0, sizeof *r);
}

const char *test_result_difference(const test_result *a, const test_result *b)
{
    if (a->n_instances != b->n_instances) return "n_instances";
    if (memcmp(a->instances, b->instances, a->n_instances * sizeof(uint32_t))) return "instances";
    if (memcmp(a->instance_slots, b->instance_slots, a->n_instances * sizeof(uint32_t))) return "instance_slots";
    if (memcmp(a->slot_begin, b->slot_begin, (a->n_visible + 1) * sizeof(uint32_t))) return "slot_begin";
    if (memcmp(a->tile_begin, b->tile_begin, (a->n_tiles + 1) * sizeof(uint32_t))) return "tile_begin";
    if (memcmp(a->image, b->image, 3 * a->n_pixels * sizeof(float))) return "image";
    if (memcmp(a->transmittance, b->transmittance, a->n_pixels * sizeof(float))) return "transmittance";
    if (memcmp(a->last, b->last, a->n_pixels * sizeof(uint32_t))) return "last";
    if (a->blended && b->blended && memcmp(a->blended, b->blended, a->n_pixels * sizeof(uint32_t))) return "blended";
    if (memcmp(a->grad2d, b->grad2d, a->n_visible * sizeof(splat_grad2d))) return "grad2d";
    if (a->along && memcmp(a->along, b->along, a->n_pixels * sizeof(float))) return "along";
    if (a->along && memcmp(a->inverse, b->inverse, a->n_pixels * sizeof(float))) return "inverse";
    if (a->along && memcmp(a->grad_depth, b->grad_depth, a->n_visible * sizeof(float))) return "grad_depth";
    return NULL;
}

static test_result run_once(splat_backend *backend, const test_scene_spec *spec, bool counted, int *failures)
{
    test_scene scene;
    test_scene_make(backend, spec, -1, &scene);
    if (counted) test_scene_count(backend, &scene);
    test_scene_ask_depth(&scene);
    float *grad = test_scene_gradient(&scene);
    splat_error error = {0};
    TEST_CHECK(*failures, test_scene_run(backend, &scene, grad, &error) == SPLAT_OK, "%s", error.message);
    test_result result = test_result_make(backend, &scene);
    free(grad);
    test_scene_free(backend, &scene);
    return result;
}

int test_scene_same_everywhere(splat_backend *backend, const test_scene_spec *spec)
{
    static const char *const levels[] = {"c", "avx2", "avx512"};
    static const int threads[] = {1, 2, 7};
    int failures = 0;
    const bool is_plain = backend->threads == 1 && backend->simd == SPLAT_SIMD_C; /* once is enough */
    if (strcmp(splat_backend_name(backend), "cpu") != 0 || !is_plain) return 0;
    test_result wanted = run_once(backend, spec, true, &failures);
    for (int level = 0; level < 3; level++)
        for (int t = 0; t < 3; t++) {
            splat_backend *other;
            if (splat_backend_cpu_create(threads[t], levels[level], &other, NULL) != SPLAT_OK) continue;
            test_result got = run_once(other, spec, t > 0, &failures);
            const char *difference = test_result_difference(&wanted, &got);
            TEST_CHECK(failures, !difference, "%s differs between %s and %s", difference, backend->description,
                       other->description);
            test_result_free(&got);
            splat_backend_destroy(other);
        }
    test_result_free(&wanted);
    return failures;
}
