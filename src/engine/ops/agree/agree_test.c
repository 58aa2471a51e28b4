/* agree against its formulas, one pixel and one neighbour after the other, bit for bit; tests/surface/
 * test_view_agreement.c tests the formulas. */
#include "ops/agree/agree.h"

#include "backend/backend.h"
#include "base/rng.h"
#include "ops/agree/agree_math.h"
#include "ops/test_ops.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 83, HEIGHT = 61, PIXELS = WIDTH * HEIGHT, VIEWS = SPLAT_AGREE_NEIGHBORS + 1 };

/* The maps of a view on the host. */
typedef struct maps {
    splat_camera camera;
    float depth[PIXELS];
    int16_t normal[PIXELS][2];
    uint8_t rgb[PIXELS][3], alpha[PIXELS];
} maps;

static float uniform(uint64_t i, float low, float high)
{
    return low + (high - low) * splat_uniform(splat_random(97, SPLAT_STREAM_TEST, 0, i).x[0]);
}

/* Cameras side by side look at a wall of noise with steps, holes, sky, and pixels without a normal. */
static void make_view(uint64_t v, maps *m)
{
    const float x = 0.15f * ((float)v - 4), y = uniform(v, -0.1f, 0.1f);
    m->camera = (splat_camera){.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .translation = {-x, -y, 0}, .center = {x, y, 0},
                               .fx = 70, .fy = 65, .cx = 40.5f, .cy = 31.25f, .width = WIDTH, .height = HEIGHT};
    for (uint64_t i = 0; i < PIXELS; i++) {
        const uint64_t at = (v + 1) * 16 * PIXELS + 8 * i;
        const float what = uniform(at, 0, 1), tilt = uniform(at + 1, -1, 1);
        const float normal[3] = {tilt, uniform(at + 2, -1, 1), what > 0.3f ? -2 : 0.2f};
        const float wall = (i % WIDTH) / 20 % 2 ? 4 : 3;
        m->depth[i] = what < 0.05f ? 0 : wall * uniform(at + 3, 0.995f, 1.005f) * (what > 0.97f ? 0.8f : 1);
        splat_normal_encode(normal, m->normal[i]);
        if (what > 0.9f && what < 0.93f) m->normal[i][0] = m->normal[i][1] = INT16_MIN;
        for (int k = 0; k < 3; k++) m->rgb[i][k] = (uint8_t)(40 * v + i + (uint64_t)k);
        m->alpha[i] = what < 0.02f ? 40 : 250;
    }
}

static splat_agree_view on_host(const maps *m)
{
    return (splat_agree_view){m->camera, m->depth, m->normal[0], m->rgb[0], m->alpha};
}

static splat_agree_view on_device(splat_backend *backend, const maps *m, splat_block blocks[4])
{
    return (splat_agree_view){m->camera, test_upload(backend, &blocks[0], m->depth, sizeof m->depth),
                              test_upload(backend, &blocks[1], m->normal, sizeof m->normal),
                              test_upload(backend, &blocks[2], m->rgb, sizeof m->rgb),
                              test_upload(backend, &blocks[3], m->alpha, sizeof m->alpha)};
}

typedef struct results {
    uint8_t verdicts[PIXELS];
    splat_agreement agreements[PIXELS];
} results;

/* Asks slowly; the agreements of pixels that are not SILENT. */
static void ask_slowly(const maps *views, const struct splat_agree_args *args, results *out)
{
    splat_agree_view view = on_host(&views[0]), neighbors[SPLAT_AGREE_NEIGHBORS];
    for (uint32_t k = 0; k < args->n_neighbors; k++) neighbors[k] = on_host(&views[1 + k]);
    for (size_t i = 0; i < args->n; i++) {
        splat_agree_pixel pixel;
        splat_agree_sums sums;
        const bool is_said = splat_agree_ask(&view, neighbors, args->n_neighbors, args->first + i, &pixel, &sums);
        out->verdicts[i] = is_said ? splat_agree_verdict(&pixel, &sums, args->n_neighbors) : SPLAT_AGREE_SILENT;
        if (is_said && i % args->every == args->phase)
            splat_agree_finish(&pixel, &sums, &out->agreements[i / args->every]);
    }
}

/* Everything that the op writes, and nothing else. */
static int compare(splat_backend *backend, const maps *views, struct splat_agree_args *args, size_t n_verdicts[4])
{
    static results got, wanted;
    splat_block blocks[2] = {{0}};
    splat_error error = {0};
    int failures = 0;
    memset(&got, 0xA5, sizeof got);
    memset(&wanted, 0xA5, sizeof wanted);
    args->verdicts = test_upload(backend, &blocks[0], got.verdicts, sizeof got.verdicts);
    args->agreements = test_upload(backend, &blocks[1], got.agreements, sizeof got.agreements);
    ask_slowly(views, args, &wanted);
    TEST_CHECK(failures, splat_op_agree(backend, args, &error) == SPLAT_OK, "%s", error.message);
    test_download(backend, got.verdicts, args->verdicts, sizeof got.verdicts);
    test_download(backend, got.agreements, args->agreements, sizeof got.agreements);
    for (size_t i = 0; i < PIXELS && failures < 5; i++) {
        if (i < args->n) n_verdicts[wanted.verdicts[i]]++;
        TEST_CHECK(failures, got.verdicts[i] == wanted.verdicts[i], "pixel %zu of %zu from %zu: verdict %u, not %u", i,
                   args->n, args->first, got.verdicts[i], wanted.verdicts[i]);
        TEST_CHECK(failures, memcmp(&got.agreements[i], &wanted.agreements[i], sizeof *got.agreements) == 0,
                   "agreement %zu, every %zu from %zu on: at %.9g with %u, not at %.9g with %u", i, args->every,
                   args->phase, (double)got.agreements[i].position[0], got.agreements[i].n_agree,
                   (double)wanted.agreements[i].position[0], wanted.agreements[i].n_agree);
    }
    for (int k = 0; k < 2; k++) splat_block_free(backend, &blocks[k]);
    return failures;
}

static int check_refusals(splat_backend *backend, struct splat_agree_args args)
{
    int failures = 0;
    splat_error error = {0};
    const struct splat_agree_args good = args;
    args.n = PIXELS - args.first + 1;
    TEST_CHECK(failures, splat_op_agree(backend, &args, &error) == SPLAT_ERROR_ARGUMENT, "a pixel too many");
    args = good;
    args.phase = args.every;
    TEST_CHECK(failures, splat_op_agree(backend, &args, &error) == SPLAT_ERROR_ARGUMENT, "a phase of a whole step");
    args = good;
    args.n_neighbors = SPLAT_AGREE_NEIGHBORS + 1;
    TEST_CHECK(failures, splat_op_agree(backend, &args, &error) == SPLAT_ERROR_ARGUMENT, "nine neighbours");
    return failures;
}

int test_op_agree(splat_backend *backend)
{
    static maps views[VIEWS];
    /* first, n, every, phase, neighbours */
    static const size_t cases[][5] = {{0, PIXELS, 1, 0, 8}, {0, PIXELS, 2, 1, 8}, {130, 1000, 7, 3, 3},
                                      {PIXELS - 5, 5, 1, 0, 1}, {64, 64, 100, 80, 8}, {0, PIXELS, 1, 0, 0},
                                      {PIXELS, 0, 1, 0, 8}};
    splat_block blocks[VIEWS][4] = {{{0}}};
    struct splat_agree_args args = {0};
    size_t n_verdicts[4] = {0};
    int failures = 0;
    for (uint64_t v = 0; v < VIEWS; v++) {
        make_view(v, &views[v]);
        splat_agree_view view = on_device(backend, &views[v], blocks[v]);
        if (v) args.neighbors[v - 1] = view;
        else args.view = view;
    }
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        args.first = cases[c][0];
        args.n = cases[c][1];
        args.every = cases[c][2];
        args.phase = cases[c][3];
        args.n_neighbors = (uint32_t)cases[c][4];
        failures += compare(backend, views, &args, n_verdicts);
    }
    for (int k = 0; k < 4; k++) {
        const size_t least = PIXELS / (k == SPLAT_AGREE_FLAT ? 20 : 8);
        TEST_CHECK(failures, n_verdicts[k] > least, "only %zu pixels have verdict %d", n_verdicts[k], k);
    }
    failures += check_refusals(backend, args);
    for (int v = 0; v < VIEWS; v++)
        for (int k = 0; k < 4; k++) splat_block_free(backend, &blocks[v][k]);
    return failures;
}
