/* Depth, normals, alpha and density of a view: one Gaussian whose answers are known, and files of a scene's views. */
#include "scene_fixture.h"

#include "io/json.h"
#include "io/splat/formats.h"
#include "math/gaussian.h"
#include "measure/map_pictures.h"
#include "scene/scene.h"
#include "training_group.h"
#include "view_job_fixture.h"

#include <math.h>
#include <png.h>

enum { PIXELS = WIDTH * HEIGHT };

/* ---------------------------------------------------------------- one Gaussian */

/* A camera at (1, 2, -4) that looks along the world's x axis: x_camera = -z_world, y = y, z = x, all relative to it. */
static splat_camera side_camera(void)
{
    splat_camera c = {.rotation = {0, 0, -1, 0, 1, 0, 1, 0, 0}, .translation = {-4, -2, -1}, .center = {1, 2, -4},
                      .fx = 50, .fy = 50, .cx = 20.5f, .cy = 15.5f, .width = 41, .height = 31};
    return c;
}

/* A disc across the view, six units in front: thin along x and turned by 30 degrees about y. */
static splat_model *disc_model(float opacity)
{
    const float angle = 0.5235987756f;
    splat_error error;
    splat_model *model;
    splat_cloud g = {.n = 1,
                     .means = (float[]){7, 2, -4},
                     .sh_dc = (float[]){0, 0, 0},
                     .opacities = (float[]){opacity},
                     .scales = (float[]){-6, -1, -1},
                     .rotations = (float[]){cosf(angle / 2), 0, sinf(angle / 2), 0}};
    ASSERT_OK(splat_cloud_write("disc.ply", &g, NULL, &error));
    ASSERT_OK(splat_model_load(context, "disc.ply", &model, &error));
    return model;
}

static void test_disc(void **state)
{
    enum { N = 41 * 31, CENTRE = 15 * 41 + 20 };
    static float depth[N], median[N], normal[3 * N], alpha[N];
    static uint32_t blended[N];
    splat_geometry_maps maps = {depth, median, normal, alpha, blended, false};
    splat_camera camera = side_camera();
    splat_error error;
    (void)state;
    splat_model *model = disc_model(4.0f); /* sigmoid: 0.982 */
    ASSERT_OK(splat_model_render_geometry(model, &camera, &maps, &error));
    assert_true(fabsf(depth[CENTRE] - 6) < 1e-5f && fabsf(median[CENTRE] - 6) < 1e-5f && blended[CENTRE] == 1);
    assert_true(fabsf(alpha[CENTRE] - 0.982014f) < 1e-4f);
    /* R about y turns the x axis to (cos, 0, -sin); the side towards the camera is the one with negative x */
    assert_true(fabsf(normal[CENTRE] + 0.866025f) < 1e-5f && fabsf(normal[N + CENTRE]) < 1e-5f &&
                fabsf(normal[2 * N + CENTRE] - 0.5f) < 1e-5f);
    assert_true(alpha[0] == 0 && depth[0] == 0 && median[0] == 0 && blended[0] == 0 && normal[0] == 0);
    maps = (splat_geometry_maps){.normal = normal, .camera_space = true}; /* the others are left out */
    alpha[CENTRE] = 7;
    ASSERT_OK(splat_model_render_geometry(model, &camera, &maps, &error));
    assert_true(fabsf(normal[CENTRE] + 0.5f) < 1e-5f && fabsf(normal[2 * N + CENTRE] + 0.866025f) < 1e-5f);
    assert_true(alpha[CENTRE] == 7);
    splat_model_destroy(model);

    model = disc_model(-1.0f); /* 0.269: no depth */
    maps = (splat_geometry_maps){depth, median, normal, alpha, blended, false};
    ASSERT_OK(splat_model_render_geometry(model, &camera, &maps, &error));
    assert_true(depth[CENTRE] == 0 && median[CENTRE] == 0 && fabsf(alpha[CENTRE] - 0.268941f) < 1e-4f);
    splat_model_destroy(model);
}

/* ---------------------------------------------------------------- a plane */

enum { SIDE = 9, N_DISCS = SIDE * SIDE };

/* Large thin discs, 0.8 apart, on a plane through (7, 2, -4); returns its normal, that of column 2 of R. */
static splat_model *plane_model(float normal[3])
{
    static float means[3 * N_DISCS], dc[3 * N_DISCS], opacities[N_DISCS], scales[3 * N_DISCS], rotations[4 * N_DISCS];
    const float q[4] = {0.66f, 0.28f, -0.68f, 0.14f}; /* nearly of length 1 */
    float inverse = 1 / sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    splat_rotation r = splat_rotation_make(q[0] * inverse, q[1] * inverse, q[2] * inverse, q[3] * inverse);
    splat_cloud g = {.n = N_DISCS, .means = means, .sh_dc = dc, .opacities = opacities, .scales = scales,
                     .rotations = rotations};
    splat_error error;
    splat_model *model;
    for (int i = 0; i < N_DISCS; i++) {
        float a = 0.8f * (float)(i % SIDE - SIDE / 2), b = 0.8f * (float)(i / SIDE - SIDE / 2);
        const float mean[3] = {7 + a * r.r00 + b * r.r01, 2 + a * r.r10 + b * r.r11, -4 + a * r.r20 + b * r.r21};
        memcpy(means + 3 * i, mean, sizeof mean);
        memcpy(scales + 3 * i, (float[3]){-0.5f, -0.7f, -9}, 3 * sizeof(float));
        memcpy(rotations + 4 * i, q, sizeof q);
        opacities[i] = 3;
    }
    memcpy(normal, (float[3]){r.r02, r.r12, r.r22}, 3 * sizeof(float));
    ASSERT_OK(splat_cloud_write("plane.ply", &g, NULL, &error));
    ASSERT_OK(splat_model_load(context, "plane.ply", &model, &error));
    return model;
}

/* Depth and median are those of the traced plane, however wide the discs are; with depths of centres they would be a
 * staircase with steps of a tenth. */
static void test_plane(void **state)
{
    enum { N = 41 * 31 };
    static float depth[N], median[N], alpha[N];
    (void)state;
    for (int camera_space = 0; camera_space < 2; camera_space++) {
        splat_geometry_maps maps = {.depth = depth, .median = median, .alpha = alpha, .camera_space = camera_space};
        splat_camera c = side_camera();
        splat_error error;
        float n[3], low = INFINITY, high = 0, along[3];
        size_t n_deep = 0;
        splat_model *model = plane_model(n);
        ASSERT_OK(splat_model_render_geometry(model, &c, &maps, &error));
        for (size_t i = 0; i < N; i++) {
            const float ray[3] = {((float)(i % 41) + 0.5f - c.cx) / c.fx, ((float)(i / 41) + 0.5f - c.cy) / c.fy, 1};
            float distance = n[0] * (7 - c.center[0]) + n[1] * (2 - c.center[1]) + n[2] * (-4 - c.center[2]), step = 0;
            for (int k = 0; k < 3; k++) {
                along[k] = c.rotation[k] * ray[0] + c.rotation[3 + k] * ray[1] + c.rotation[6 + k] * ray[2];
                step += n[k] * along[k];
            }
            float traced = distance / step;
            assert_true((depth[i] > 0) == (alpha[i] > 0.5f) && (median[i] > 0) == (alpha[i] > 0.5f));
            if (!(depth[i] > 0)) continue;
            assert_true(fabsf(depth[i] / traced - 1) < 1e-4f && fabsf(median[i] / traced - 1) < 1e-4f);
            low = fminf(low, traced);
            high = fmaxf(high, traced);
            n_deep++;
        }
        assert_true(n_deep > N / 2 && high > 1.5f * low); /* it is a tilted plane */
        splat_model_destroy(model);
    }
}

/* ---------------------------------------------------------------- files */

/* Samples of a PNG as integers; the caller frees. */
static uint16_t *read_png(const char *path, int *bits, int *channels)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    if (setjmp(png_jmpbuf(png))) fail_msg("%s is no PNG", path);
    png_init_io(png, file);
    png_read_png(png, info, PNG_TRANSFORM_IDENTITY, NULL);
    assert_int_equal(png_get_image_width(png, info), WIDTH);
    assert_int_equal(png_get_image_height(png, info), HEIGHT);
    *bits = png_get_bit_depth(png, info);
    *channels = png_get_channels(png, info);
    png_bytepp rows = png_get_rows(png, info);
    size_t row = (size_t)WIDTH * (size_t)*channels;
    uint16_t *values = malloc(row * HEIGHT * sizeof *values);
    for (size_t i = 0; i < row * HEIGHT; i++) {
        const uint8_t *at = rows[i / row] + i % row * (size_t)(*bits / 8);
        values[i] = *bits == 16 ? (uint16_t)(at[0] << 8 | at[1]) : at[0];
    }
    png_destroy_read_struct(&png, &info, NULL);
    fclose(file);
    return values;
}

/* The values of a PFM are those of the planar map, bit by bit. */
static void assert_pfm(const char *path, int channels, const float *planar)
{
    uint8_t *data;
    size_t size;
    splat_error error;
    char header[64];
    int n = snprintf(header, sizeof header, "%s\n%d %d\n-1.0\n", channels == 3 ? "PF" : "Pf", WIDTH, HEIGHT);
    ASSERT_OK(splat_file_read(path, &data, &size, &error));
    assert_int_equal(size, (size_t)n + 4u * PIXELS * (unsigned)channels);
    assert_memory_equal(data, header, (size_t)n);
    for (size_t y = 0; y < HEIGHT; y++)
        for (size_t x = 0; x < WIDTH; x++)
            for (size_t c = 0; c < (size_t)channels; c++) {
                size_t place = ((HEIGHT - 1 - y) * WIDTH + x) * (size_t)channels + c;
                assert_memory_equal(data + n + 4 * place, &planar[c * PIXELS + y * WIDTH + x], 4);
            }
    free(data);
}

static void assert_depth(const char *png_path, const char *json_path, const float *depth, const char *kind)
{
    int bits, channels;
    json_t *root;
    const char *text = NULL;
    double scale = 0;
    uint16_t most = 0;
    splat_error error;
    uint16_t *png = read_png(png_path, &bits, &channels);
    assert_true(bits == 16 && channels == 1);
    ASSERT_OK(splat_json_read(json_path, &root, &error));
    ASSERT_OK(splat_json_get_number(root, "png_scale", json_path, &scale, &error));
    ASSERT_OK(splat_json_get_string(root, "depth", json_path, &text, &error));
    assert_string_equal(text, kind);
    for (size_t i = 0; i < PIXELS; i++) {
        assert_true(fabs(png[i] * scale - (double)depth[i]) <= 0.5001 * scale || (png[i] == 1 && depth[i] > 0));
        assert_int_equal(png[i] == 0, depth[i] == 0);
        most = png[i] > most ? png[i] : most;
    }
    assert_int_equal(most, 65535);
    json_decref(root);
    free(png);
}

#define FILES "maps/test/ours_7/"

static void test_files(void **state)
{
    static float depth[PIXELS], median[PIXELS], normal[3 * PIXELS], alpha[PIXELS];
    static uint32_t blended[PIXELS];
    splat_geometry_maps maps = {depth, median, normal, alpha, blended, false};
    splat_model *model = splat_trainer_get_model(trainer);
    splat_error error;
    int bits, channels;
    unsigned all = (1u << SPLAT_N_MAP_KINDS) - 1;
    (void)state;
    ASSERT_OK(splat_folder_delete("maps", &error));
    const splat_view_job job = job_on(SPLAT_VIEWS_TEST, NULL, NULL);
    ASSERT_OK(splat_maps_write(model, scene, &job, all, "maps", 7, &error));
    const splat_camera *camera = &scene->dataset.views[scene->dataset.test[1]].camera;
    ASSERT_OK(splat_model_render_geometry(model, camera, &maps, &error));
    assert_depth(FILES "depth_-1/00001.png", FILES "depth_-1/00001.json", depth, "expected");
    assert_depth(FILES "median_-1/00001.png", FILES "median_-1/00001.json", median, "median");
    assert_pfm(FILES "depth_-1/00001.pfm", 1, depth);
    assert_pfm(FILES "median_-1/00001.pfm", 1, median);
    assert_pfm(FILES "normal_-1/00001.pfm", 3, normal);
    assert_pfm(FILES "alpha_-1/00001.pfm", 1, alpha);
    uint16_t *png = read_png(FILES "normal_-1/00001.png", &bits, &channels);
    assert_true(bits == 8 && channels == 3);
    for (size_t i = 0; i < 3 * PIXELS; i++)
        assert_true(fabs(png[i] / 127.5 - 1 - (double)normal[i % 3 * PIXELS + i / 3]) < 0.51 / 127.5);
    free(png);
    png = read_png(FILES "alpha_-1/00001.png", &bits, &channels);
    assert_true(bits == 8 && channels == 1);
    for (size_t i = 0; i < PIXELS; i++) assert_true(fabs(png[i] / 255.0 - (double)alpha[i]) < 0.51 / 255);
    free(png);
    png = read_png(FILES "density_-1/00001.png", &bits, &channels);
    size_t busiest = 0, idlest = 0; /* the colours grow brighter with the count: of the green channel */
    for (size_t i = 0; i < PIXELS; i++) {
        if (blended[i] > blended[busiest]) busiest = i;
        if (blended[i] < blended[idlest]) idlest = i;
    }
    assert_true(png[3 * busiest + 1] > png[3 * idlest + 1]);
    free(png);
}

static void test_errors(void **state)
{
    splat_model *model = splat_trainer_get_model(trainer);
    splat_error error;
    stop_after stop = {.last = 2};
    const splat_view_job job = job_on(SPLAT_VIEWS_TEST, NULL, NULL);
    const splat_view_job stopping = job_on(SPLAT_VIEWS_TRAIN, stop_after_view, &stop);
    (void)state;
    ASSERT_OK(splat_folder_delete("some", &error));
    assert_failure(splat_maps_write(model, scene, &stopping, SPLAT_MAP_ALPHA, "some", 1, &error),
                   SPLAT_ERROR_STOPPED, &error, "after 2 of");
    assert_int_equal(stop.n_done, 2);
    assert_true(splat_path_exists("some/train/ours_1/alpha_-1/00001.png"));
    assert_false(splat_path_exists("some/train/ours_1/depth_-1"));
    assert_failure(splat_maps_write(model, scene, &job, 0, "some", 1, &error),
                   SPLAT_ERROR_ARGUMENT, &error, "kinds");
    fixture_text("file", "x");
    assert_failure(splat_maps_write(model, scene, &job, SPLAT_MAP_DEPTH, "file", 1, &error),
                   SPLAT_ERROR_IO, &error, "file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_disc), cmocka_unit_test(test_plane),
                                       cmocka_unit_test(test_files), cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, open_training_group, close_group);
}
