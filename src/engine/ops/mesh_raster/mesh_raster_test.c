/* mesh_raster against all faces at all pixels, one after the other, bit for bit; the formulas themselves are tested by
 * tests/mesh/test_mesh_raster.c. */
#include "ops/mesh_raster/mesh_raster.h"

#include "backend/backend.h"
#include "base/rng.h"
#include "math/camera.h"
#include "ops/mesh_raster/mesh_raster_math.h"
#include "ops/test_ops.h"

#include <stdlib.h>

enum { WIDTH = 71, HEIGHT = 43, PIXELS = WIDTH * HEIGHT, FACES = 700 };

typedef struct maps {
    uint32_t ids[PIXELS];
    float depth[PIXELS], weights[PIXELS][2];
    uint8_t front[PIXELS];
} maps;

static float uniform(uint64_t i, float low, float high)
{
    return low + (high - low) * splat_uniform(splat_random(91, SPLAT_STREAM_TEST, 0, i).x[0]);
}

/* Small, large and enormous faces before, behind and across the near plane; some without area; each tenth once more,
 * which the lower number wins. */
static void make_mesh(float vertices[FACES][9], uint32_t faces[FACES][3])
{
    static const float sizes[4] = {0.02f, 0.2f, 2.0f, 30.0f};
    for (uint64_t f = 0; f < FACES; f++) {
        const float size = sizes[f % 20 == 7 ? 3 : f % 10 == 3 ? 2 : f % 2];
        for (uint64_t k = 0; k < 9; k++) {
            const uint64_t at = 32 * f + 2 * k;
            vertices[f][k] = uniform(32 * f + 20 + k % 3, -1.5f, k % 3 == 2 ? 6.0f : 1.5f) + uniform(at, -size, size);
        }
        if (f % 50 == 11) memcpy(vertices[f] + 6, vertices[f], 12); /* a line */
        if (f % 10 == 9) memcpy(vertices[f], vertices[f - 1], sizeof vertices[f]);
        for (uint32_t k = 0; k < 3; k++) faces[f][k] = 3 * (uint32_t)f + k;
    }
}

static splat_camera make_camera(void)
{
    return (splat_camera){.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .translation = {0.1f, -0.05f, 0.3f}, .fx = 60,
                          .fy = 55, .cx = 34.25f, .cy = 20.75f, .width = WIDTH, .height = HEIGHT};
}

static void draw_slowly(const float *vertices, const uint32_t *faces, size_t n_faces, const splat_camera *camera,
                        float near, maps *out)
{
    splat_raster_corner *corners = malloc(3 * FACES * sizeof *corners);
    const splat_raster_eye eye = splat_raster_eye_make(vertices, faces, corners, camera, near);
    for (size_t i = 0; i < 3 * n_faces; i++) corners[i] = splat_raster_corner_of(&eye, i);
    for (int i = 0; i < PIXELS; i++) {
        uint64_t least = SPLAT_MESH_RASTER_NOTHING;
        for (size_t face = 0; face < n_faces; face++) {
            splat_raster_polygon p;
            splat_raster_face_polygon(&eye, face, &p);
            for (int k = 1; k + 1 < p.n; k++) {
                splat_raster_triangle t;
                double share[3], sum;
                if (!splat_mesh_raster_fan(&p, k, i % WIDTH, i / WIDTH, &t)) continue;
                if ((t.value[0] | t.value[1] | t.value[2]) < 0) continue;
                uint64_t key = splat_mesh_raster_key(splat_raster_depth(&t, t.value, share, &sum), (uint32_t)face);
                least = key < least ? key : least;
            }
        }
        splat_mesh_raster_unpack(&eye, least, i % WIDTH, i / WIDTH, &out->ids[i], &out->depth[i], out->weights[i],
                                 &out->front[i]);
    }
    free(corners);
}

static splat_status draw(splat_backend *backend, const float *vertices, const uint32_t *faces, size_t n_faces,
                         const splat_camera *camera, float near, bool all, maps *out, splat_error *error)
{
    enum { VERTICES, INDICES, IDS, DEPTH, WEIGHTS, FRONT, N };
    splat_block blocks[N] = {{0}};
    memset(out, 0xA5, sizeof *out); /* every pixel must be written */
    struct splat_mesh_raster_args args = {
        .vertices = test_upload(backend, &blocks[VERTICES], vertices, 36 * FACES),
        .faces = test_upload(backend, &blocks[INDICES], faces, 12 * FACES),
        .n_vertices = 3 * n_faces,
        .n_faces = n_faces,
        .camera = camera,
        .near = near,
        .ids = test_upload(backend, &blocks[IDS], out->ids, sizeof out->ids),
        .depth = test_upload(backend, &blocks[DEPTH], out->depth, sizeof out->depth),
        .weights = all ? test_upload(backend, &blocks[WEIGHTS], out->weights, sizeof out->weights) : NULL,
        .front = all ? test_upload(backend, &blocks[FRONT], out->front, sizeof out->front) : NULL};
    splat_status status = splat_op_mesh_raster(backend, &args, error);
    test_download(backend, out->ids, args.ids, sizeof out->ids);
    test_download(backend, out->depth, args.depth, sizeof out->depth);
    if (all) test_download(backend, out->weights, args.weights, sizeof out->weights);
    if (all) test_download(backend, out->front, args.front, sizeof out->front);
    for (int i = 0; i < N; i++) splat_block_free(backend, &blocks[i]);
    return status;
}

int test_op_mesh_raster(splat_backend *backend)
{
    static float vertices[FACES][9];
    static uint32_t faces[FACES][3];
    static maps got, wanted;
    static const size_t counts[4] = {0, 1, 31, FACES};
    static const float nears[2] = {0.01f, 1.5f};
    int failures = 0;
    size_t n_hits = 0, n_cut = 0;
    splat_error error = {0};
    splat_camera camera = make_camera();
    make_mesh(vertices, faces);
    for (int c = 0; c < 4; c++)
        for (int k = 0; k < 2; k++) {
            draw_slowly(vertices[0], faces[0], counts[c], &camera, nears[k], &wanted);
            TEST_CHECK(failures, draw(backend, vertices[0], faces[0], counts[c], &camera, nears[k], true, &got,
                                      &error) == SPLAT_OK, "%s", error.message);
            for (int i = 0; i < PIXELS && failures < 5; i++) {
                TEST_CHECK(failures, got.ids[i] == wanted.ids[i] && got.front[i] == wanted.front[i] &&
                           memcmp(&got.depth[i], &wanted.depth[i], 4) == 0 &&
                           memcmp(got.weights[i], wanted.weights[i], 8) == 0,
                           "%zu faces, pixel %d: face %u at %.9g, weights %.9g %.9g, front %d; not %u at %.9g, %.9g "
                           "%.9g, %d", counts[c], i, got.ids[i], (double)got.depth[i], (double)got.weights[i][0],
                           (double)got.weights[i][1], got.front[i], wanted.ids[i], (double)wanted.depth[i],
                           (double)wanted.weights[i][0], (double)wanted.weights[i][1], wanted.front[i]);
                n_hits += wanted.ids[i] != 0;
                n_cut += wanted.ids[i] && (wanted.ids[i] - 1) % 20 == 7;
            }
        }
    TEST_CHECK(failures, n_hits > PIXELS && n_cut > 100, "%zu pixels show faces, %zu enormous ones", n_hits, n_cut);
    static maps fewer;
    TEST_CHECK(failures, draw(backend, vertices[0], faces[0], FACES, &camera, nears[1], false, &fewer, &error) ==
               SPLAT_OK, "%s", error.message);
    TEST_CHECK(failures, memcmp(fewer.ids, got.ids, sizeof got.ids) == 0 &&
               memcmp(fewer.depth, got.depth, sizeof got.depth) == 0, "two maps differ from four");
    camera.width = 0;
    TEST_CHECK(failures, draw(backend, vertices[0], faces[0], FACES, &camera, nears[0], true, &got, &error) ==
               SPLAT_ERROR_ARGUMENT, "a picture without pixels is drawn");
    camera.width = WIDTH;
    TEST_CHECK(failures, draw(backend, vertices[0], faces[0], FACES, &camera, 0, true, &got, &error) ==
               SPLAT_ERROR_ARGUMENT, "a near plane at 0 is taken");
    return failures;
}
