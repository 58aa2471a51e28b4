/* Tests of project: visibility, values and rectangles against the reference, at every level. */
#include "ops/project/project_test.h"

#include "math/camera.h"
#include "math/projection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void project_scene_open(project_scene *scene, splat_backend *backend, const splat_gaussians *host,
                        const splat_camera *camera, bool compensate, bool jitter)
{
    memset(scene, 0, sizeof *scene);
    scene->backend = backend;
    scene->gaussians = *host;
    splat_block *block = scene->blocks;
    const size_t n = host->n;
#define SPLAT_TENSOR(name, ...)                                                                                        \
    if (host->p.name) {                                                                                                \
        block->placement = project_placement_of(host, SPLAT_TENSOR_##name);                                            \
        scene->gaussians.p.name = test_upload(                                                                         \
            backend, block++, host->p.name,                                                                            \
            n * splat_tensor_channels(SPLAT_TENSOR_##name, host->sh_degree) * sizeof(float));                          \
    }
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    if (host->sh_rest_half) {
        block->placement = project_placement_of(host, SPLAT_TENSOR_sh_rest);
        scene->gaussians.sh_rest_half =
            test_upload(backend, block++, host->sh_rest_half,
                        n * splat_half_row(splat_sh_rest_floats(host->sh_degree)) * sizeof(uint16_t));
    }
    scene->gaussians.filter_3d = test_upload(backend, block++, host->filter_3d, n * sizeof(float));
    scene->frame.camera = *camera;
    scene->frame.filter =
        (splat_screen_filter){.kernel_size = project_test_kernel(compensate), .compensate = compensate};
    if (jitter)
        scene->frame.jitter =
            test_upload(backend, block, NULL, 2 * sizeof(float) * splat_camera_pixels(camera));
}

static void scene_forget(project_scene *scene)
{
    free(scene->ids);
    free(scene->mean2d);
    free(scene->conic);
    free(scene->rgb);
    free(scene->depth);
    free(scene->rect);
    free(scene->entry_of);
}

void project_scene_close(project_scene *scene)
{
    scene_forget(scene);
    splat_frame_free(scene->backend, &scene->frame);
    for (size_t i = 0; i < sizeof scene->blocks / sizeof scene->blocks[0]; i++)
        splat_block_free(scene->backend, &scene->blocks[i]);
}

static void *copy_of(project_scene *scene, const void *device, size_t bytes)
{
    void *host = calloc(bytes + 1, 1);
    test_download(scene->backend, host, device, bytes);
    return host;
}

void project_scene_counts(project_scene *scene)
{
    splat_step_result result;
    scene->n_visible = scene->frame.n_visible;
    scene->n_degenerate = scene->frame.n_degenerate;
    if (splat_backend_result_latency(scene->backend) == 0) return;
    splat_backend_post_result(scene->backend, &scene->frame, 0, NULL);
    splat_backend_take_result(scene->backend, 0, &result, NULL);
    scene->n_visible = result.n_visible;
    scene->n_degenerate = result.n_degenerate;
}

int project_scene_run(project_scene *scene)
{
    int failures = 0;
    splat_frame *frame = &scene->frame;
    struct splat_project_args args = {&scene->gaussians, frame, &scene->rest};
    splat_error error = {0};
    const splat_camera camera = frame->camera;
    const splat_screen_filter filter = frame->filter;
    const float *jitter = frame->jitter;
    const splat_dropout dropout = frame->dropout;
    if (splat_view_begin(scene->backend, frame, scene->gaussians.n, &camera, &error) != SPLAT_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(2);
    }
    frame->filter = filter;
    frame->jitter = jitter;
    frame->dropout = dropout;
    splat_status status = splat_op_project(scene->backend, &args, &error);
    TEST_CHECK(failures, status == SPLAT_OK, "project: %s", error.message);
    if (status != SPLAT_OK) frame->n_visible = frame->n_degenerate = 0;
    splat_backend_synchronize(scene->backend, NULL);
    scene_forget(scene);
    const size_t n = frame->n_visible, all = scene->gaussians.n;
    TEST_CHECK(failures, n <= all, "%zu of %zu are visible", n, all);
    scene->ids = copy_of(scene, frame->ids, n * sizeof *scene->ids);
    scene->mean2d = copy_of(scene, frame->mean2d, 2 * n * sizeof(float));
    scene->conic = copy_of(scene, frame->conic, 4 * n * sizeof(float));
    scene->rgb = copy_of(scene, frame->rgb, 3 * n * sizeof(float));
    scene->depth = copy_of(scene, frame->depth, n * sizeof(float));
    scene->rect = copy_of(scene, frame->tile_rect, 4 * n * sizeof *scene->rect);
    scene->entry_of = malloc((all + 1) * sizeof *scene->entry_of);
    for (size_t i = 0; i < all; i++) scene->entry_of[i] = -1;
    bool ascending = strcmp(splat_backend_name(scene->backend), "cpu") == 0;
    uint32_t n_entries = 0;
    project_scene_counts(scene);
    for (size_t v = 0; v < n; v++) {
        uint32_t id = scene->ids[v];
        if (!ascending && !(scene->depth[v] > 0)) continue; /* an entry that is not visible */
        TEST_CHECK(failures, id < all && scene->entry_of[id] < 0, "entry %zu: id %u again or too large", v, id);
        n_entries++;
        TEST_CHECK(failures, !ascending || v == 0 || scene->ids[v - 1] < id, "entry %zu: ids do not ascend", v);
        if (id < all) scene->entry_of[id] = (int64_t)v;
    }
    TEST_CHECK(failures, n_entries == scene->n_visible, "%u entries are visible, %u were counted", n_entries,
               scene->n_visible);
    return failures;
}

splat_backend *project_other_backend(splat_backend *backend)
{
    splat_backend *other = NULL;
    if (strcmp(splat_backend_name(backend), "cpu") != 0 || backend->threads != 1) return NULL;
    if (splat_backend_cpu_create(4, backend->simd == SPLAT_SIMD_C ? "auto" : "c", &other, NULL) != SPLAT_OK) exit(2);
    return other;
}

/* True if rounding may move the rho square of a Gaussian by a tile: 3 sqrt(lambda) near an integer, or an edge of the
 * square near a tile's border. u, v and the conic come from the double reference. */
static bool near_border(const ref_splat2d_f64 *s)
{
    double det = s->a * s->c - s->b * s->b, a = s->c / det, c = s->a / det, b = -s->b / det;
    double middle = (a + c) / 2, spread = middle * middle - (a * c - b * b);
    double radius = 3 * sqrt(middle + sqrt(spread > 0.1 ? spread : 0.1));
    if (fabs(radius - round(radius)) < 1e-3 + 1e-4 * radius) return true;
    double rho = ceil(radius), edges[4] = {s->u - rho, s->v - rho, s->u + rho + 15, s->v + rho + 15};
    for (int k = 0; k < 4; k++)
        if (fabs(edges[k] / 16 - round(edges[k] / 16)) < 1e-4 * (1 + radius / 16)) return true;
    return false;
}

typedef struct oracle {
    ref_splat2d_f32 *f32;
    ref_splat2d_f64 *f64;
} oracle;

static oracle oracle_make(const splat_gaussians *host, const splat_camera *camera, bool compensate, float share)
{
    oracle o = {calloc(host->n + 1, sizeof *o.f32), calloc(host->n + 1, sizeof *o.f64)};
    ref_gaussians_f32 g32 = ref_gaussians_from_f32(host);
    ref_gaussians_f64 g64 = ref_gaussians_from_f64(host);
    g32.gain = 1 / (1 - share);
    g64.gain = 1 / (1 - (double)share);
    ref_camera_f32 c32 = ref_camera_from_f32(camera);
    ref_camera_f64 c64 = ref_camera_from_f64(camera);
    float kernel = project_test_kernel(compensate);
    ref_project_f32(&g32, &c32, kernel, compensate, o.f32);
    ref_project_f64(&g64, &c64, kernel, compensate, o.f64);
    ref_gaussians_free_f32(&g32);
    ref_gaussians_free_f64(&g64);
    return o;
}

static void oracle_free(oracle *o)
{
    free(o->f32);
    free(o->f64);
}

/* Visibility, degenerates and tiles against the float reference, Gaussian by Gaussian. */
static int check_visibility(const project_scene *scene, const oracle *o)
{
    int failures = 0;
    uint32_t n_degenerate = 0, n_doubtful = 0;
    for (uint32_t i = 0; i < scene->gaussians.n; i++) {
        ref_splat2d_f32 *s = &o->f32[i];
        if (splat_dropout_hides(&scene->frame.dropout, i)) s->visible = false;
        bool visible = scene->entry_of[i] >= 0, doubtful = o->f64[i].visible && near_border(&o->f64[i]);
        n_degenerate += s->degenerate;
        n_doubtful += doubtful;
        TEST_CHECK(failures, visible == s->visible || doubtful, "Gaussian %u: visible %d, reference %d", i, visible,
                   s->visible);
        if (!visible || !s->visible || doubtful) continue;
        const uint16_t *r = scene->rect + 4 * scene->entry_of[i];
        bool empty = r[0] >= r[2] || r[1] >= r[3];
        TEST_CHECK(failures, empty || (r[0] >= s->tiles[0] && r[1] >= s->tiles[1] && r[2] <= s->tiles[2] &&
                                       r[3] <= s->tiles[3]),
                   "Gaussian %u: tiles %u %u %u %u leave the rho square %d %d %d %d", i, r[0], r[1], r[2], r[3],
                   s->tiles[0], s->tiles[1], s->tiles[2], s->tiles[3]);
    }
    TEST_CHECK(failures, n_degenerate == scene->n_degenerate, "%u degenerate, reference %u",
               scene->n_degenerate, n_degenerate);
    TEST_CHECK(failures, n_doubtful <= 1 + scene->gaussians.n / 20, "%u doubtful squares prove nothing", n_doubtful);
    return failures;
}

/* Values of the Gaussians that both see. Tolerance 1e-7 (relative error 3e-4 of the root mean square): both are float;
 * the terms differ in the order of sums, in exp, and in the determinant, which the reference takes as a difference. */
static int check_values(const project_scene *scene, const oracle *o)
{
    int failures = 0;
    enum { MEAN, CONIC, OPACITY, COLOUR, DEPTH, N_FIELDS };
    static const char *const names[N_FIELDS] = {"mean2d", "conic", "alpha0", "rgb", "depth"};
    static const size_t widths[N_FIELDS] = {2, 3, 1, 3, 1};
    const size_t all = scene->gaussians.n;
    float *got[N_FIELDS], *want[N_FIELDS];
    for (int f = 0; f < N_FIELDS; f++) {
        got[f] = calloc(widths[f] * all + 1, sizeof(float));
        want[f] = calloc(widths[f] * all + 1, sizeof(float));
    }
    size_t n = 0;
    for (size_t i = 0; i < all; i++) {
        const ref_splat2d_f32 *s = &o->f32[i];
        if (scene->entry_of[i] < 0 || !s->visible) continue;
        size_t v = (size_t)scene->entry_of[i];
        const float values[10] = {s->u, s->v, s->a, s->b, s->c, s->alpha0, s->rgb[0], s->rgb[1], s->rgb[2], s->depth};
        const float *sources[N_FIELDS] = {scene->mean2d + 2 * v, scene->conic + 4 * v, scene->conic + 4 * v + 3,
                                          scene->rgb + 3 * v, scene->depth + v};
        for (size_t f = 0, place = 0; f < N_FIELDS; place += widths[f], f++) {
            memcpy(got[f] + widths[f] * n, sources[f], widths[f] * sizeof(float));
            memcpy(want[f] + widths[f] * n, values + place, widths[f] * sizeof(float));
        }
        n++;
    }
    for (int f = 0; f < N_FIELDS; f++) {
        double nmse = test_nmse(got[f], want[f], widths[f] * n);
        TEST_CHECK(failures, nmse <= 1e-7, "%s of %zu: NMSE %g", names[f], n, nmse);
        free(got[f]);
        free(want[f]);
    }
    return failures;
}

/* Every pixel that can reach alpha >= 1/255 in float, at any sampling offset of the jitter, lies in tile_rect. Pixels
 * outside the rho square do not count. */
static int check_no_pixel_lost(const project_scene *scene, const oracle *o, bool jitter)
{
    int failures = 0;
    static const float offsets[5][2] = {{0, 0}, {-0.5f, -0.5f}, {0.499f, -0.5f}, {-0.5f, 0.499f}, {0.499f, 0.499f}};
    const int width = scene->frame.camera.width, height = scene->frame.camera.height;
    for (uint32_t i = 0; i < scene->gaussians.n; i++) {
        if (scene->entry_of[i] < 0 || !o->f32[i].visible) continue;
        size_t v = (size_t)scene->entry_of[i];
        const uint16_t *r = scene->rect + 4 * v;
        const float *q = scene->conic + 4 * v, *mean = scene->mean2d + 2 * v;
        const int *square = o->f32[i].tiles;
        for (int y = 16 * square[1]; y < 16 * square[3] && y < height; y++)
            for (int x = 16 * square[0]; x < 16 * square[2] && x < width; x++) {
                if (x / 16 >= r[0] && x / 16 < r[2] && y / 16 >= r[1] && y / 16 < r[3]) continue;
                for (int k = 0; k < (jitter ? 5 : 1); k++) {
                    float dx = mean[0] - ((float)x + offsets[k][0]), dy = mean[1] - ((float)y + offsets[k][1]);
                    float power = -0.5f * (q[0] * dx * dx + q[2] * dy * dy) - q[1] * dx * dy;
                    bool blends = power <= 0.0f && q[3] * expf(power) >= 1.0f / 255.0f;
                    TEST_CHECK(failures, !blends, "Gaussian %u loses pixel %d %d (tiles %u %u %u %u)", i, x, y, r[0],
                               r[1], r[2], r[3]);
                    if (blends) return failures;
                }
            }
    }
    return failures;
}

/* A share of the visible must have rects smaller than their square, or the test above proves nothing. */
static int check_rects_are_tight(const project_scene *scene, const oracle *o)
{
    int failures = 0;
    uint64_t tiles = 0, square_tiles = 0;
    for (uint32_t i = 0; i < scene->gaussians.n; i++) {
        if (scene->entry_of[i] < 0 || !o->f32[i].visible) continue;
        const uint16_t *r = scene->rect + 4 * scene->entry_of[i];
        const int *s = o->f32[i].tiles;
        if (r[0] < r[2]) tiles += (uint64_t)(r[2] - r[0]) * (uint64_t)(r[3] - r[1]);
        square_tiles += (uint64_t)(s[2] - s[0]) * (uint64_t)(s[3] - s[1]);
    }
    TEST_CHECK(failures, tiles * 10 < square_tiles * 9, "%llu tiles of %llu", (unsigned long long)tiles,
               (unsigned long long)square_tiles);
    return failures;
}

/* The same bytes from another number of threads and from the plain C kernels. */
static int check_same_bytes(const project_scene *scene, const splat_gaussians *host, bool compensate, bool jitter)
{
    int failures = 0;
    splat_backend *backend = project_other_backend(scene->backend);
    if (!backend) return 0;
    project_scene other;
    project_scene_open(&other, backend, host, &scene->frame.camera, compensate, jitter);
    other.frame.dropout = scene->frame.dropout;
    failures += project_scene_run(&other);
    const size_t n = scene->frame.n_visible;
    TEST_CHECK(failures, other.frame.n_visible == n && other.frame.n_degenerate == scene->frame.n_degenerate,
               "%u visible, %u degenerate", other.frame.n_visible, other.frame.n_degenerate);
    if (other.frame.n_visible == n)
        TEST_CHECK(failures,
                   memcmp(other.ids, scene->ids, n * sizeof *scene->ids) == 0 &&
                       memcmp(other.mean2d, scene->mean2d, 2 * n * sizeof(float)) == 0 &&
                       memcmp(other.conic, scene->conic, 4 * n * sizeof(float)) == 0 &&
                       memcmp(other.rgb, scene->rgb, 3 * n * sizeof(float)) == 0 &&
                       memcmp(other.depth, scene->depth, n * sizeof(float)) == 0 &&
                       memcmp(other.rect, scene->rect, 4 * n * sizeof *scene->rect) == 0,
                   "other threads or SIMD level, other bytes");
    project_scene_close(&other);
    splat_backend_destroy(backend);
    return failures;
}

static int check_case(splat_backend *backend, const splat_gaussians *host, const splat_camera *camera, bool compensate,
                      bool jitter, float share)
{
    project_scene scene;
    oracle o = oracle_make(host, camera, compensate, share);
    project_scene_open(&scene, backend, host, camera, compensate, jitter);
    scene.frame.dropout = project_test_dropout(share);
    int failures = project_scene_run(&scene);
    failures += check_visibility(&scene, &o);
    failures += check_values(&scene, &o);
    failures += check_no_pixel_lost(&scene, &o, jitter);
    failures += check_same_bytes(&scene, host, compensate, jitter);
    if (host->n >= 1000) failures += check_rects_are_tight(&scene, &o);
    if (failures)
        fprintf(stderr, "  ^ n %u, SH %d of %d%s%s, %d x %d, compensate %d, jitter %d, dropout %g, %s\n", host->n,
                host->active_sh_degree, host->sh_degree, host->sh_rest_half ? " in half" : "",
                host->rest_on_host ? " on the host" : "", camera->width, camera->height, compensate, jitter,
                (double)share, backend->description);
    project_scene_close(&scene);
    oracle_free(&o);
    return failures;
}

static int test_shapes(splat_backend *backend)
{
    static const struct {
        uint32_t n;
        int sh_degree, active, width, height;
        bool compensate, jitter;
    } cases[] = {
        {0, 3, 3, 64, 48, true, false},    {1, 0, 0, 1, 1, true, false},      {1, 3, 1, 64, 48, true, false},
        {15, 1, 0, 37, 21, true, true},    {16, 1, 1, 64, 64, false, false},  {17, 2, 1, 50, 33, true, false},
        {17, 2, 2, 129, 65, false, true},  {1000, 3, 3, 130, 70, true, false}, {1000, 3, 2, 96, 100, false, false},
        {1000, 3, 0, 61, 47, true, true},  {1000, 0, 0, 333, 17, false, true},
    };
    int failures = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_gaussians t = test_gaussians_make(cases[i].n, cases[i].sh_degree, cases[i].active, 100 + i);
        splat_camera camera = test_camera_make(cases[i].width, cases[i].height);
        for (int k = 0; k < 4; k++) { /* both storages of sh_rest, in both places */
            if (k == 2) test_gaussians_to_half(&t.g);
            t.g.rest_on_host = k % 2 == 1;
            const float share = i % 3 == 1 ? 0.4f : 0.0f;
            failures += check_case(backend, &t.g, &camera, cases[i].compensate, cases[i].jitter, share);
        }
        test_gaussians_free(&t);
    }
    return failures;
}

/* All behind the camera or nearer than 0.2, but one. */
static int test_all_behind(splat_backend *backend)
{
    int failures = 0;
    test_gaussians t = test_gaussians_make(100, 1, 1, 7);
    splat_camera camera = test_camera_make(64, 48);
    for (uint32_t i = 0; i < t.g.n; i++)
        for (int k = 0; k < 3; k++) t.g.p.means[3 * i + k] -= 40.0f * camera.rotation[6 + k];
    for (int k = 0; k < 3; k++) t.g.p.means[k] = camera.center[k];
    t.g.p.rotations[4] = NAN; /* not examined behind the camera */
    for (int k = 0; k < 3; k++) t.g.p.means[3 * 20 + k] = camera.center[k] + 0.199f * camera.rotation[6 + k];
    for (int k = 0; k < 3; k++) t.g.p.means[3 * 21 + k] = camera.center[k] + 0.201f * camera.rotation[6 + k];
    project_scene scene;
    project_scene_open(&scene, backend, &t.g, &camera, true, false);
    failures += project_scene_run(&scene);
    TEST_CHECK(failures,
               scene.n_visible == 1 && scene.entry_of[21] >= 0 && scene.n_degenerate == 0,
               "%u visible, %u degenerate", scene.n_visible, scene.n_degenerate);
    project_scene_close(&scene);
    test_gaussians_free(&t);
    return failures;
}

/* Needles and giants without a 3D filter, where float determinants go wrong and a tight rect is easily too small. The
 * float reference is not accurate here, so that only tiles are checked. */
static int test_needles(splat_backend *backend)
{
    int failures = 0;
    test_gaussians t = test_gaussians_make(400, 0, 0, 21);
    splat_camera camera = test_camera_make(100, 90);
    for (uint32_t i = 0; i < t.g.n; i++) {
        t.g.filter_3d[i] = 0.0f;
        t.g.p.scales[3 * i] = -4.0f + 0.02f * (float)i; /* up to 50 units long */
        t.g.p.scales[3 * i + 1] = -7.0f;
        t.g.p.scales[3 * i + 2] = i % 2 ? -7.0f : -3.0f;
        t.g.p.opacities[i] = 4.0f;
    }
    for (int compensate = 0; compensate < 2; compensate++) {
        project_scene scene;
        oracle o = oracle_make(&t.g, &camera, compensate, 0);
        project_scene_open(&scene, backend, &t.g, &camera, compensate, false);
        failures += project_scene_run(&scene);
        failures += check_no_pixel_lost(&scene, &o, false);
        project_scene_close(&scene);
        oracle_free(&o);
    }
    test_gaussians_free(&t);
    return failures;
}

/* The widened reach holds every pixel near the ends of long needles that float arithmetic lets blend; tiles alone are
 * too coarse to show it. The exact reach, without the margin, must lose some, or the needles are too short. */
static int test_reach(void)
{
    int failures = 0, n_beyond_exact = 0;
    splat_camera camera = test_camera_make(4000, 3000);
    splat_projector projector = splat_projector_make(&camera, 0.1f, 0, SPLAT_TILE);
    for (int i = 0; i < 2000; i++) {
        float turn = 0.00157f * (float)i, size = expf(-4.0f + 0.0025f * (float)i);
        splat_ellipsoid e = {.mean_x = 0.0003f * (float)i, .mean_y = 0.2f, .stx = size, .sty = 1e-3f, .stz = 1e-3f,
                             .qw = cosf(turn), .qx = 0.1f * sinf(turn), .qz = 0.995f * sinf(turn)};
        splat_footprint f = splat_footprint_make(&projector, &e);
        float alpha0 = i % 2 ? 0.99f : 0.02f, reach = 2.0f * logf(255.0f * alpha0);
        float exact = sqrtf(reach * f.a), safe = sqrtf(splat_footprint_safe_reach(&f, reach) * f.a) + 0.02f;
        for (int k = 0; k < 200; k++) {
            float x = roundf(f.u + exact * (0.9f + 0.002f * (float)k)), dx = f.u - x;
            float y = roundf(f.v - dx * f.b / f.a);
            for (int row = -1; row <= 1; row++) {
                float dy = f.v - (y + (float)row);
                float power = -0.5f * (f.conic_a * dx * dx + f.conic_c * dy * dy) - f.conic_b * dx * dy;
                if (power > 0.0f || alpha0 * expf(power) < 1.0f / 255.0f) continue;
                n_beyond_exact += fabsf(dx) > exact;
                TEST_CHECK(failures, fabsf(dx) <= safe, "needle %d: pixel at %g, reach %g (exact %g)", i, dx, safe,
                           exact);
            }
        }
    }
    TEST_CHECK(failures, n_beyond_exact > 0, "the margin is never needed");
    return failures;
}

/* Parameters that are not finite, too large or zero: skipped and counted, exactly those. */
static int test_degenerate(splat_backend *backend)
{
    int failures = 0;
    enum { N = 48, N_BAD = 17 };
    test_gaussians t = test_gaussians_make(N, 2, 1, 5);
    splat_gaussians *g = &t.g;
    splat_camera camera = test_camera_make(64, 48);
    for (uint32_t i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) {
            g->p.means[3 * i + k] = 0.01f * (float)((7 * i + 5 * (uint32_t)k) % 30); /* all in the picture */
            g->p.scales[3 * i + k] = -3.0f;
        }
    uint32_t bad = 0;
    g->p.means[3 * bad++] = NAN;
    g->p.means[3 * bad++ + 1] = INFINITY;
    g->p.means[3 * bad++ + 2] = -INFINITY;
    g->p.scales[3 * bad++] = NAN;
    g->p.scales[3 * bad++ + 1] = INFINITY;
    g->p.scales[3 * bad++ + 2] = -INFINITY;
    g->p.scales[3 * bad++] = 100.0f; /* its exponential overflows */
    g->p.rotations[4 * bad++ + 3] = NAN;
    memset(g->p.rotations + 4 * (size_t)bad++, 0, 4 * sizeof(float));
    for (int k = 0; k < 4; k++) g->p.rotations[4 * bad + k] = 1e-13f;
    bad++;
    g->p.rotations[4 * bad++] = 1e20f; /* its norm overflows */
    g->p.opacities[bad++] = NAN;
    g->p.opacities[bad++] = INFINITY;
    g->filter_3d[bad++] = NAN;
    g->p.sh_dc[3 * bad++ + 1] = NAN;
    g->p.sh_dc[3 * bad++] = -INFINITY;
    g->p.sh_rest[24 * bad++ + 8] = NAN; /* last coefficient of the active band */
    TEST_CHECK(failures, bad == N_BAD, "%u made", bad);
    /* odd but usable */
    g->p.sh_rest[24 * N_BAD + 9] = NAN; /* band 2 is not active */
    for (int k = 0; k < 3; k++) g->p.scales[3 * (N_BAD + 1) + k] = -200.0f;
    g->filter_3d[N_BAD + 1] = 0.0f;
    for (int k = 0; k < 4; k++) g->p.rotations[4 * (N_BAD + 2) + k] = 1e-11f;
    g->p.opacities[N_BAD + 3] = -150.0f;
    g->p.opacities[N_BAD + 4] = 150.0f;
    for (int k = 0; k < 3; k++) g->p.scales[3 * (N_BAD + 5) + k] = 4.0f;
    for (int k = 0; k < 3; k++) g->p.means[3 * (N_BAD + 6) + k] = camera.center[k];
    g->p.rotations[4 * (N_BAD + 6)] = NAN; /* at the camera: culled before it is examined */

    for (int compensate = 0; compensate < 2; compensate++) {
        project_scene scene;
        oracle o = oracle_make(g, &camera, compensate, 0);
        project_scene_open(&scene, backend, g, &camera, compensate, false);
        failures += project_scene_run(&scene);
        TEST_CHECK(failures, scene.n_degenerate == N_BAD, "%u degenerate", scene.n_degenerate);
        for (uint32_t i = 0; i < N; i++) {
            bool usable = i >= N_BAD && i != N_BAD + 6;
            TEST_CHECK(failures, (scene.entry_of[i] >= 0) == usable, "Gaussian %u: visible %d", i, !usable);
            TEST_CHECK(failures, o.f32[i].degenerate == (i < N_BAD) && o.f32[i].visible == usable,
                       "Gaussian %u: the reference sees it otherwise", i);
        }
        for (size_t i = 0; i < scene.gaussians.n; i++) {
            if (scene.entry_of[i] < 0) continue;
            size_t v = (size_t)scene.entry_of[i];
            float sum = scene.depth[v];
            for (int k = 0; k < 4; k++) sum += scene.conic[4 * v + k];
            for (int k = 0; k < 3; k++) sum += scene.rgb[3 * v + k];
            TEST_CHECK(failures, isfinite(sum + scene.mean2d[2 * v] + scene.mean2d[2 * v + 1]) && scene.depth[v] > 0.2f,
                       "entry %zu is not finite", v);
        }
        failures += check_values(&scene, &o);
        failures += check_same_bytes(&scene, g, compensate, false);
        project_scene_close(&scene);
        oracle_free(&o);
    }
    test_gaussians_free(&t);
    return failures;
}

/* A Gaussian is hidden in a share of the steps, and its mean opacity is that without dropout: three deviations of
 * 10,000 draws are 0.0138. */
static int test_dropout(void)
{
    enum { N_STEPS = 10000 };
    int failures = 0, n_hidden = 0, n_together = 0;
    splat_frame frame = {.camera = test_camera_make(64, 48), .dropout = project_test_dropout(0.3f)};
    for (frame.dropout.step = 0; frame.dropout.step < N_STEPS; frame.dropout.step++) {
        const bool hides = splat_dropout_hides(&frame.dropout, 3);
        n_hidden += hides;
        n_together += hides && splat_dropout_hides(&frame.dropout, 4);
    }
    const double share = (double)n_hidden / N_STEPS, together = (double)n_together / N_STEPS;
    const double mean = (1 - share) * (double)splat_frame_projector(&frame).gain;
    TEST_CHECK(failures, fabs(share - 0.3) < 0.0138, "%g of the steps hide a Gaussian", share);
    TEST_CHECK(failures, fabs(together - 0.09) < 0.0138, "%g of the steps hide two", together);
    TEST_CHECK(failures, fabs(mean - 1) < 0.02, "the mean opacity is %g of the opacity", mean);
    return failures;
}

int test_op_project(splat_backend *backend)
{
    int failures = 0;
    failures += test_dropout();
    failures += test_shapes(backend);
    failures += test_all_behind(backend);
    failures += test_needles(backend);
    failures += test_reach();
    failures += test_degenerate(backend);
    return failures;
}
