/* A view in bands of rows of tiles gives the lists and the picture of the view at once, bit by bit, and its gradients
 * up to the rounding of sums. */
#include "ops/bin/bin.h"
#include "ops/raster/raster.h"
#include "ops/raster/raster_scene_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const test_scene_spec specs[] = {
    {"mixed", TEST_SCENE_MIXED, 3000, 101, 130, false, {0.2f, 0.4f, 0.6f}}, /* nine rows of tiles */
    {"jitter", TEST_SCENE_MIXED, 900, 70, 90, true, {0}},
    {"transparent", TEST_SCENE_TRANSPARENT, 100, 40, 60, false, {1, 0, 1}},
    {"no Gaussians", TEST_SCENE_MIXED, 0, 40, 60, false, {1, 0, 1}},
    {"several chunks", TEST_SCENE_MIXED, 9000, 30, 100, false, {0.2f, 0.4f, 0.6f}},
    {"tall", TEST_SCENE_MIXED, 300, 20, 400, false, {0}},                   /* rectangles of more than eight rows */
};
enum { N_SPECS = sizeof specs / sizeof specs[0], MAX_ROWS = 64 };

/* Bands at most; the last: as many as can be. */
static const uint32_t band_counts[] = {1, 2, 3, MAX_ROWS};
enum { N_BAND_COUNTS = sizeof band_counts / sizeof band_counts[0] };

/* The lists of all tiles of a view, taken band by band. */
typedef struct view_lists {
    uint64_t row_counts[MAX_ROWS]; /* instances of each row of tiles */
    uint64_t n;
    uint32_t *instances;           /* [n], tiles one after the other */
    uint32_t *counts;              /* [n_tiles] */
    uint32_t n_bands, rows_of_band[MAX_ROWS];
} view_lists;

static void append_band(splat_backend *backend, const test_scene *scene, view_lists *lists)
{
    const splat_frame *f = &scene->frame;
    test_result r = test_result_make(backend, scene);
    lists->instances = realloc(lists->instances, (size_t)(lists->n + r.n_instances + 1) * sizeof(uint32_t));
    memcpy(lists->instances + lists->n, r.instances, r.n_instances * sizeof(uint32_t));
    lists->n += r.n_instances;
    for (uint32_t tile = f->row_begin * f->tiles_x; tile < f->row_end * f->tiles_x; tile++) {
        lists->counts[tile] = r.tile_begin[tile + 1] - r.tile_begin[tile];
        lists->row_counts[tile / f->tiles_x] += lists->counts[tile];
    }
    lists->rows_of_band[lists->n_bands++] = f->row_end - f->row_begin;
    test_result_free(&r);
}

/* n_instances and tile_begin of a band fit each other, its slots are numbered one after the other by Gaussian. */
static int check_band(splat_backend *backend, const test_scene *scene)
{
    const splat_frame *f = &scene->frame;
    int failures = 0;
    test_result r = test_result_make(backend, scene);
    TEST_CHECK(failures, r.tile_begin[f->row_begin * f->tiles_x] == 0, "the first tile of the band begins at %u",
               r.tile_begin[f->row_begin * f->tiles_x]);
    TEST_CHECK(failures, r.tile_begin[f->row_end * f->tiles_x] == r.n_instances, "the last tile ends at %u, not %zu",
               r.tile_begin[f->row_end * f->tiles_x], r.n_instances);
    bool *used = calloc(r.n_instances + 1, sizeof *used);
    if (r.slot_begin)
        TEST_CHECK(failures, r.slot_begin[r.n_visible] == r.n_instances, "%u slots", r.slot_begin[r.n_visible]);
    for (size_t i = 0; r.instance_slots && i < r.n_instances && failures < 5; i++) {
        uint32_t slot = r.instance_slots[i], v = r.instances[i];
        TEST_CHECK(failures, slot < r.n_instances && !used[slot], "slot %u twice or too large", slot);
        if (slot < r.n_instances) used[slot] = true;
        if (r.slot_begin && v < r.n_visible)
            TEST_CHECK(failures, slot >= r.slot_begin[v] && slot < r.slot_begin[v + 1], "slot %u of %u", slot, v);
    }
    free(used);
    test_result_free(&r);
    return failures;
}

static int lists_make(splat_backend *backend, test_scene *scene, uint64_t max_instances, view_lists *lists)
{
    int failures = 0;
    splat_error error = {0};
    splat_frame *frame = &scene->frame;
    *lists = (view_lists){.counts = calloc((size_t)frame->tiles_x * frame->tiles_y, sizeof(uint32_t))};
    frame->max_instances = max_instances;
    const uint32_t *first = NULL;
    for (uint32_t row = 0; row < frame->tiles_y && !failures; row = frame->row_end) {
        frame->row_begin = row;
        splat_status status = splat_op_bin(backend, &(struct splat_bin_args){frame}, &error);
        TEST_CHECK(failures, status == SPLAT_OK, "%s", error.message);
        if (status != SPLAT_OK) break;
        TEST_CHECK(failures, frame->row_end > row && frame->row_end <= frame->tiles_y, "row_end %u", frame->row_end);
        TEST_CHECK(failures, !max_instances || frame->n_instances <= max_instances, "%llu instances in a band",
                   (unsigned long long)frame->n_instances);
        if (row == 0) first = frame->instances;
        TEST_CHECK(failures, frame->instances == first, "the band at row %u has an array of its own", row);
        failures += check_band(backend, scene);
        append_band(backend, scene, lists);
    }
    return failures;
}

static void lists_free(view_lists *lists)
{
    free(lists->instances);
    free(lists->counts);
}

/* The least bound that gives at most n_bands bands: found by trying, with the rule of frame.h. */
static uint64_t bound_of(const view_lists *view, uint32_t tiles_y, uint32_t n_bands)
{
    uint64_t bound = 1;
    for (uint32_t row = 0; row < tiles_y; row++)
        if (view->row_counts[row] > bound) bound = view->row_counts[row];
    for (;; bound++) {
        uint32_t bands = 1;
        uint64_t sum = 0;
        for (uint32_t row = 0; row < tiles_y; row++) {
            if (sum + view->row_counts[row] > bound) bands++, sum = 0;
            sum += view->row_counts[row];
        }
        if (bands <= n_bands) return bound;
    }
}

static int compare_lists(const test_scene *scene, const view_lists *view, const view_lists *bands)
{
    int failures = 0;
    size_t n_tiles = (size_t)scene->frame.tiles_x * scene->frame.tiles_y;
    TEST_CHECK(failures, bands->n == view->n, "%llu instances in bands, %llu at once", (unsigned long long)bands->n,
               (unsigned long long)view->n);
    TEST_CHECK(failures, !memcmp(bands->counts, view->counts, n_tiles * sizeof(uint32_t)), "the lengths of lists");
    if (!failures)
        TEST_CHECK(failures, !memcmp(bands->instances, view->instances, view->n * sizeof(uint32_t)), "the lists");
    return failures;
}

/* Bounds that give one band (the view just fits), two, three and, the largest row's count, as many as can be; each band
 * is as long as it can be. */
static int check_lists(splat_backend *backend, const test_scene_spec *spec)
{
    int failures = 0;
    test_scene scene;
    view_lists view;
    test_scene_make(backend, spec, -1, &scene);
    failures += lists_make(backend, &scene, 0, &view);
    TEST_CHECK(failures, view.n_bands == 1, "%u bands without a bound", view.n_bands);
    uint64_t room = scene.frame.instance_room;
    for (size_t k = 0; k < N_BAND_COUNTS; k++) {
        /* a new view each time: the arrays are taken with the room of the bound */
        test_scene_free(backend, &scene);
        test_scene_make(backend, spec, -1, &scene);
        uint64_t bound = bound_of(&view, scene.frame.tiles_y, band_counts[k]);
        view_lists bands;
        failures += lists_make(backend, &scene, bound, &bands);
        failures += compare_lists(&scene, &view, &bands);
        if (view.n > bound) {
            TEST_CHECK(failures, bands.n_bands > 1 && bands.n_bands <= band_counts[k], "%u bands", bands.n_bands);
            TEST_CHECK(failures, scene.frame.instance_room == bound, "room for %llu, bound %llu",
                       (unsigned long long)scene.frame.instance_room, (unsigned long long)bound);
        } else {
            TEST_CHECK(failures, bands.n_bands == 1 && scene.frame.instance_room == room, "%u bands", bands.n_bands);
        }
        uint32_t row = 0;
        for (uint32_t band = 0; band < bands.n_bands; row += bands.rows_of_band[band++]) {
            uint64_t sum = 0;
            for (uint32_t y = row; y <= row + bands.rows_of_band[band] && y < scene.frame.tiles_y; y++)
                sum += view.row_counts[y];
            TEST_CHECK(failures, sum > bound || band + 1 == bands.n_bands, "band %u could have a row more", band);
        }
        lists_free(&bands);
    }
    lists_free(&view);
    test_scene_free(backend, &scene);
    return failures;
}

/* Every band of one row: all rows have the same count, which is the bound. */
static int check_single_rows(splat_backend *backend)
{
    enum { N = 50, ROWS = 5 };
    int failures = 0;
    test_scene scene;
    test_scene_make(backend, &(test_scene_spec){"rows", TEST_SCENE_SOFT, N, 8, 16 * ROWS, false, {0}}, -1, &scene);
    float *conic = calloc(N, 4 * sizeof *conic);
    uint16_t *rect = calloc(N, 4 * sizeof *rect);
    for (int i = 0; i < N; i++) {
        memcpy(conic + 4 * i, (float[]){1e-8f, 0, 1e-8f, 0.5f}, 4 * sizeof *conic); /* wider than the picture */
        memcpy(rect + 4 * i, (uint16_t[]){0, 0, 1, ROWS}, 4 * sizeof *rect);
    }
    splat_backend_upload(backend, scene.frame.conic, conic, N * 4 * sizeof *conic, NULL);
    splat_backend_upload(backend, scene.frame.tile_rect, rect, N * 4 * sizeof *rect, NULL);
    view_lists view, bands;
    failures += lists_make(backend, &scene, 0, &view);
    failures += lists_make(backend, &scene, N, &bands);
    TEST_CHECK(failures, view.n == N * ROWS && bands.n_bands == ROWS, "%llu instances, %u bands",
               (unsigned long long)view.n, bands.n_bands);
    failures += compare_lists(&scene, &view, &bands);

    splat_error error = {0};
    scene.frame.max_instances = N - 1;
    scene.frame.row_begin = 2;
    splat_status status = splat_op_bin(backend, &(struct splat_bin_args){&scene.frame}, &error);
    TEST_CHECK(failures, status == SPLAT_ERROR_MEMORY, "status %d", (int)status);
    TEST_CHECK(failures, strstr(error.message, "`vram_limit`") && strstr(error.message, "row 3 of 5"), "message: %s",
               error.message);
    TEST_CHECK(failures, scene.frame.n_instances == 0, "a refused band has instances");
    lists_free(&view);
    lists_free(&bands);
    free(conic);
    free(rect);
    test_scene_free(backend, &scene);
    return failures;
}

int test_bands_lists(splat_backend *backend)
{
    int failures = check_single_rows(backend);
    for (size_t i = 0; i < N_SPECS; i++) {
        int before = failures;
        failures += check_lists(backend, &specs[i]);
        if (failures > before) fprintf(stderr, "bands: scene '%s' failed\n", specs[i].name);
    }
    return failures;
}

/* ---------------------------------------------------------------- pictures and gradients */

/* An asynchronous backend reports the count of the whole view for a view in bands. */
static int check_result(splat_backend *backend, const test_scene *scene, uint64_t n_instances)
{
    int failures = 0;
    splat_error error = {0};
    splat_step_result result = {0};
    if (splat_backend_result_latency(backend) == 0 || !n_instances) return 0;
    splat_status status = splat_backend_post_result(backend, &scene->frame, 0, &error);
    if (status == SPLAT_OK) status = splat_backend_take_result(backend, 0, &result, &error);
    TEST_CHECK(failures, status == SPLAT_OK && result.n_instances == n_instances && !result.overflow,
               "%llu instances, not %llu; %s", (unsigned long long)result.n_instances, (unsigned long long)n_instances,
               error.message);
    return failures;
}

/* A run with at most n_bands bands (0: no bound). With three the view's counts are known as hints, whose margin does
 * not fit the bound; with one they are and it does. */
static int run(splat_backend *backend, const test_scene_spec *spec, uint32_t n_bands, const float *grad,
               bool with_depth, test_result *result)
{
    int failures = 0;
    splat_error error = {0};
    test_scene scene;
    view_lists view;
    test_scene_make(backend, spec, -1, &scene);
    if (n_bands) {
        failures += lists_make(backend, &scene, 0, &view);
        uint64_t n = view.n, bound = n_bands == 1 ? 2 * n + 200000 : bound_of(&view, scene.frame.tiles_y, n_bands);
        lists_free(&view);
        test_scene_free(backend, &scene);
        test_scene_make(backend, spec, -1, &scene);
        if (n_bands > 1) test_scene_count(backend, &scene);
        scene.max_instances = bound;
        if (with_depth) test_scene_ask_depth(&scene);
        if (n_bands == 1 || n_bands == 3) scene.frame.hint = (splat_view_hint){n, spec->n};
        TEST_CHECK(failures, test_scene_run(backend, &scene, grad, &error) == SPLAT_OK, "%s", error.message);
        TEST_CHECK(failures, (scene.frame.n_bands == 1) == (n <= bound), "%u bands", scene.frame.n_bands);
        if (!grad) failures += check_result(backend, &scene, n);
    } else {
        test_scene_count(backend, &scene);
        if (with_depth) test_scene_ask_depth(&scene);
        TEST_CHECK(failures, test_scene_run(backend, &scene, grad, &error) == SPLAT_OK, "%s", error.message);
    }
    *result = test_result_make(backend, &scene);
    test_scene_free(backend, &scene);
    return failures;
}

int test_bands_picture(splat_backend *backend)
{
    int failures = 0;
    for (size_t i = 0; i < N_SPECS; i++) {
        test_result whole;
        failures += run(backend, &specs[i], 0, NULL, false, &whole);
        for (size_t k = 0; k < N_BAND_COUNTS; k++) {
            uint32_t n_bands = band_counts[k];
            test_result r;
            failures += run(backend, &specs[i], n_bands, NULL, false, &r);
            TEST_CHECK(failures, !memcmp(r.image, whole.image, 3 * r.n_pixels * sizeof(float)), "%s: image, %u bands",
                       specs[i].name, n_bands);
            TEST_CHECK(failures, !memcmp(r.transmittance, whole.transmittance, r.n_pixels * sizeof(float)),
                       "%s: transmittance, %u bands", specs[i].name, n_bands);
            TEST_CHECK(failures, !memcmp(r.last, whole.last, r.n_pixels * sizeof(uint32_t)), "%s: last, %u bands",
                       specs[i].name, n_bands);
            TEST_CHECK(failures, !r.blended == (n_bands == 1), "%s: %u bands", specs[i].name, n_bands);
            TEST_CHECK(failures, !r.blended || !memcmp(r.blended, whole.blended, r.n_pixels * sizeof(uint32_t)),
                       "%s: blended, %u bands", specs[i].name, n_bands);
            test_result_free(&r);
        }
        test_result_free(&whole);
    }
    return failures;
}

/* Float sums in another order: an NMSE of 1e-9 for each of the ten values. A term has an error of 2^-24, squared 4e-15,
 * and the parts of a mean's gradient cancel (seen: 8e-11); a band that is left out is worth 1e-3 and more. */
static int compare_gradients(const char *name, uint32_t n_bands, const test_result *got, const test_result *wanted)
{
    int failures = 0;
    size_t n = wanted->n_visible;
    float *a = calloc(n + 1, sizeof *a), *b = calloc(n + 1, sizeof *b);
    for (size_t k = 0; k < 10; k++) {
        for (size_t v = 0; v < n; v++) {
            a[v] = got->grad2d[10 * v + k];
            b[v] = wanted->grad2d[10 * v + k];
        }
        double nmse = test_nmse(a, b, n);
        TEST_CHECK(failures, nmse <= 1e-9, "%s, %u bands: NMSE %g of value %zu", name, n_bands, nmse, k);
    }
    free(a);
    free(b);
    if (!wanted->grad_depth) return failures;
    double nmse = test_nmse(got->grad_depth, wanted->grad_depth, n);
    TEST_CHECK(failures, nmse <= 1e-9, "%s, %u bands: NMSE %g of depth", name, n_bands, nmse);
    TEST_CHECK(failures, !memcmp(got->along, wanted->along, got->n_pixels * sizeof(float)) &&
                             !memcmp(got->inverse, wanted->inverse, got->n_pixels * sizeof(float)),
               "%s, %u bands: depths", name, n_bands);
    return failures;
}

int test_bands_gradient(splat_backend *backend)
{
    int failures = 0;
    bool ordered = strcmp(splat_backend_name(backend), "cpu") == 0 || strstr(backend->description, "deterministic");
    for (size_t i = 0; i < N_SPECS; i++) {
        test_scene scene;
        test_scene_make(backend, &specs[i], -1, &scene);
        float *grad = test_scene_gradient(&scene);
        test_scene_free(backend, &scene);
        test_result whole;
        const bool with_depth = i % 2 == 0;
        failures += run(backend, &specs[i], 0, grad, with_depth, &whole);
        for (size_t k = 0; k < N_BAND_COUNTS; k++) {
            uint32_t n_bands = band_counts[k];
            test_result r, again;
            failures += run(backend, &specs[i], n_bands, grad, with_depth, &r);
            failures += run(backend, &specs[i], n_bands, grad, with_depth, &again);
            failures += compare_gradients(specs[i].name, n_bands, &r, &whole);
            TEST_CHECK(failures, !ordered || !memcmp(r.grad2d, again.grad2d, r.n_visible * sizeof(splat_grad2d)),
                       "%s, %u bands: two runs differ", specs[i].name, n_bands);
            TEST_CHECK(failures, !ordered || !with_depth ||
                                     !memcmp(r.grad_depth, again.grad_depth, r.n_visible * sizeof(float)),
                       "%s, %u bands: depths of two runs differ", specs[i].name, n_bands);
            test_result_free(&r);
            test_result_free(&again);
        }
        test_result_free(&whole);
        free(grad);
    }
    return failures;
}
