/* view_count against the reference in double, where rounding decides nothing; a view in bands; other backends; values
 * known on paper. */
#include "ops/view_count/view_count.h"

#include "ops/project/project_test.h"
#include "ops/raster/raster_scene_test.h"

#include <stdlib.h>
#include <string.h>

static const test_scene_spec specs[] = {
    {"no Gaussians", TEST_SCENE_MIXED, 0, 20, 20, false, {0}},
    {"one Gaussian", TEST_SCENE_SOFT, 1, 40, 23, true, {0}},
    {"edge tiles", TEST_SCENE_MIXED, 700, 101, 67, false, {0}},
    {"edge tiles, jitter", TEST_SCENE_MIXED, 700, 101, 67, true, {0}},
    {"one column", TEST_SCENE_MIXED, 200, 1, 130, false, {0}},
    {"opaque", TEST_SCENE_OPAQUE, 300, 50, 40, false, {0}},
    {"transparent", TEST_SCENE_TRANSPARENT, 200, 50, 40, false, {0}},
    {"many on a tile", TEST_SCENE_STACKED, 3000, 20, 18, true, {0}},
};
enum { N_SPECS = sizeof specs / sizeof specs[0] };

/* The counted light: the trim's half, and at least 1/255 of a pixel. */
typedef struct test_limits {
    const char *name;
    float light, weight;
    bool has_mask, of_masked; /* with a mask: the counts of the pixels that it does not keep are tested */
} test_limits;

static const test_limits limits_of[] = {
    {"half of the light", SPLAT_VIEW_COUNT_LIGHT, 0, false, false},
    {"half of the light, mask", SPLAT_VIEW_COUNT_LIGHT, 0, true, false},
    {"1/255, mask", 1.0f / 255, 1.0f / 255, true, false},
    {"1/255, masked", 1.0f / 255, 1.0f / 255, true, true},
};
enum { N_LIMITS = sizeof limits_of / sizeof limits_of[0] };

/* Stripes, so that every tile has kept and other pixels: a byte just below the limit, and one at it. */
static uint8_t mask_at(size_t i, int width)
{
    return (i % (size_t)width + i / (size_t)width) % 5 < 3 ? SPLAT_LOSS_KEPT - 1 : SPLAT_LOSS_KEPT;
}

/* Counts by the scene's Gaussians after n_views views, all of them the same; the caller frees. */
static uint32_t *run(splat_backend *backend, test_scene *scene, const test_limits *limits, uint64_t max_instances,
                     uint32_t n_views, int *failures)
{
    uint32_t n = scene->spec.n, room = 3 * n + 2; /* the scene's ids are 3 v + 1 */
    size_t n_pixels = (size_t)scene->spec.width * (size_t)scene->spec.height;
    splat_block blocks[5] = {{0}};
    uint8_t *mask = malloc(n_pixels);
    splat_error error = {0};
    uint32_t *by_id = calloc(room, sizeof *by_id), *counts = calloc((size_t)n + 1, sizeof *counts);
    struct splat_view_count_args args = {.frame = &scene->frame, .light = limits->light, .weight = limits->weight};
    for (size_t i = 0; i < n_pixels; i++) mask[i] = mask_at(i, scene->spec.width);
    if (limits->has_mask) args.mask = test_upload(backend, &blocks[2], mask, n_pixels);
    args.stamps = test_upload(backend, &blocks[0], NULL, room * sizeof(uint32_t));
    args.counts = test_upload(backend, &blocks[1], NULL, room * sizeof(uint32_t));
    if (limits->of_masked) {
        args.masked_stamps = test_upload(backend, &blocks[3], NULL, room * sizeof(uint32_t));
        args.masked_counts = test_upload(backend, &blocks[4], NULL, room * sizeof(uint32_t));
    }
    splat_view_blend blend = {.max_instances = max_instances, .view_count = &args};
    for (args.stamp = 1; args.stamp <= n_views; args.stamp++)
        TEST_CHECK(*failures, splat_view_forward(backend, &scene->frame, &blend, &error) == SPLAT_OK, "%s",
                   error.message);
    test_download(backend, by_id, limits->of_masked ? args.masked_counts : args.counts, room * sizeof(uint32_t));
    for (uint32_t i = 0; i < room; i++) {
        bool is_one = i % 3 == 1 && i / 3 < n;
        if (is_one) counts[i / 3] = by_id[i];
        TEST_CHECK(*failures, is_one || by_id[i] == 0, "%s: count %u is nobody's", scene->spec.name, i);
    }
    for (int i = 0; i < 5; i++) splat_block_free(backend, &blocks[i]);
    free(by_id);
    free(mask);
    return counts;
}

/* The least bound that bands can keep: instances of the fullest row of tiles. */
static uint64_t fullest_row(const test_scene *scene)
{
    uint64_t most = 0;
    for (uint32_t row = 0; row < scene->frame.tiles_y; row++) {
        uint64_t sum = 0;
        for (uint32_t v = 0; v < scene->spec.n; v++) {
            const uint16_t *r = scene->tile_rect + 4 * v;
            if (row >= r[1] && row < r[3] && r[2] > r[0]) sum += (uint64_t)(r[2] - r[0]);
        }
        most = sum > most ? sum : most;
    }
    return most;
}

/* Pixels where rounding decides which samples blend are left out of what must be counted; each of them may count one
 * Gaussian more. Light and weight: one rounding an entry, and exp has 1e-6 of it; relative, so that of 1/255 less. */
static int check_spec(splat_backend *backend, const test_scene_spec *spec, const test_limits *limits)
{
    int failures = 0;
    test_scene scene;
    size_t n_more = 0, n_counted = 0, n_pixels = (size_t)spec->width * (size_t)spec->height;
    uint32_t n = spec->n;
    const double light = (double)limits->light, weight = (double)limits->weight, slack = 2e-4;
    test_scene_make(backend, spec, 1e-5, &scene);
    uint32_t *counts = run(backend, &scene, limits, 0, 2, &failures);
    uint32_t *must = calloc((size_t)n + 1, sizeof *must), *may = calloc((size_t)n + 1, sizeof *may);
    bool *skipped = calloc(n_pixels, sizeof *skipped), *masked = calloc(n_pixels, sizeof *masked);
    for (size_t i = 0; i < n_pixels; i++) {
        masked[i] = limits->has_mask && (mask_at(i, spec->width) < SPLAT_LOSS_KEPT) != limits->of_masked;
        skipped[i] = masked[i] || scene.band[i];
    }
    ref_view_count_f64(n, scene.splats_f64, spec->width, spec->height, scene.jitter_f64, light * (1 + slack),
                       weight * (1 + slack), skipped, must);
    ref_view_count_f64(n, scene.splats_f64, spec->width, spec->height, scene.jitter_f64, light * (1 - slack),
                       weight * (1 - slack), masked, may);
    for (uint32_t v = 0; v < n; v++) {
        TEST_CHECK(failures, counts[v] == 0 || counts[v] == 2, "%s, %u: %u of 2 views", spec->name, v, counts[v]);
        TEST_CHECK(failures, !must[v] || counts[v], "%s, %s: %u stands in front", spec->name, limits->name, v);
        n_more += counts[v] && !may[v];
        n_counted += counts[v] > 0;
    }
    TEST_CHECK(failures, n_more <= scene.n_band, "%s, %s: %zu stand behind", spec->name, limits->name, n_more);
    bool some = spec->kind != TEST_SCENE_TRANSPARENT && n > 0, all = n < 2, faint = limits->light < 0.1f;
    TEST_CHECK(failures, faint || (some == (n_counted > 0) && (n_counted < n || all)),
               "%s, %s: %zu of %u: no test of both", spec->name, limits->name, n_counted, n);
    uint32_t *in_bands = run(backend, &scene, limits, fullest_row(&scene), 2, &failures);
    TEST_CHECK(failures, !some || n < 100 || scene.frame.tiles_y < 3 || scene.frame.n_bands > 1, "%s: one band",
               spec->name);
    TEST_CHECK(failures, memcmp(in_bands, counts, n * sizeof *counts) == 0, "%s: others in bands", spec->name);
    test_scene_free(backend, &scene);
    splat_backend *other = project_other_backend(backend);
    if (other) {
        test_scene_make(other, spec, -1, &scene);
        uint32_t *again = run(other, &scene, limits, 0, 2, &failures);
        TEST_CHECK(failures, memcmp(again, counts, n * sizeof *counts) == 0, "%s: other counts", spec->name);
        test_scene_free(other, &scene);
        free(again);
    }
    splat_backend_destroy(other);
    free(counts), free(must), free(may), free(in_bands), free(skipped), free(masked);
    return failures;
}

int test_op_view_count(splat_backend *backend)
{
    int failures = 0;
    for (int i = 0; i < N_SPECS; i++)
        for (int k = 0; k < N_LIMITS; k++) failures += check_spec(backend, &specs[i], &limits_of[k]);
    return failures;
}
