/* Surfaces and textures of a scene with masks: nothing comes from masked pixels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "math/camera.h"
#include "mesh/mesh_raster.h"
#include "scene/scene.h"
#include "surface/extract/extract_visible.h"
#include "surface/extract/extraction.h"
#include "surface/extract/surface_views.h"
#include "texture/bake_parts.h"
#include "texture/bake_view.h"
#include "trainer_fixture.h"

#include <stdlib.h>
#include <string.h>

#define N_CAMERAS 6

static splat_scene *open_blobs(splat_context *context, const char *masks, splat_mask_mode mode)
{
    splat_scene *scene;
    splat_scene_options options;
    splat_error error;
    if (!splat_path_exists("blobs")) {
        splat_sample_options sample;
        splat_sample_options_init(&sample);
        sample.width = 64;
        sample.height = 48;
        sample.n_cameras = N_CAMERAS;
        sample.n_points = 300;
        sample.n_truth = 10;
        sample.supersample = 1;
        sample.n_blobs = 3;
        must(splat_sample_write(context, "blobs", &sample, &error), &error);
    }
    splat_scene_options_init(&options);
    options.source_path = "blobs";
    options.masks = masks;
    options.mask_mode = mode;
    must(splat_scene_open(context, &options, &scene, &error), &error);
    return scene;
}

/* The views' surface. */
typedef struct shown {
    float *depth, *alpha;
    uint8_t *state;
    size_t n;             /* pixels of a view */
    int width, height;
} shown;

static splat_status keep(void *user, const splat_surface_view *view, splat_error *error)
{
    shown *s = user;
    (void)error;
    s->n = splat_camera_pixels(view->camera);
    s->width = view->camera->width;
    s->height = view->camera->height;
    memcpy(s->depth + view->number * s->n, view->depth, s->n * sizeof(float));
    memcpy(s->alpha + view->number * s->n, view->alpha, s->n * sizeof(float));
    memcpy(s->state + view->number * s->n, view->state, s->n);
    return SPLAT_OK;
}

static shown look(splat_scene *scene, splat_model *model, float factor)
{
    splat_mesh_extract_options options;
    splat_error error;
    splat_mesh_extract_options_init(&options);
    options.resolution_factor = factor;
    options.min_alpha = 0.3f;
    size_t room = N_CAMERAS * 64 * 48 * sizeof(float);
    shown s = {.depth = malloc(room), .alpha = malloc(room), .state = malloc(room)};
    must(splat_surface_views(scene, model, &options, keep, &s, &error), &error);
    return s;
}

static void masked_pixels_show_no_surface(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_error error;
    splat_scene *plain = open_blobs(context, "none", SPLAT_MASKS_IGNORE);
    splat_scene *ignored = open_blobs(context, NULL, SPLAT_MASKS_IGNORE);
    splat_scene *segmented = open_blobs(context, NULL, SPLAT_MASKS_SEGMENT);
    splat_train_options o = busy_options(60);
    o.opacity_reset_interval = 1000;
    splat_trainer *trainer = new_trainer(context, plain, &o);
    run_steps(trainer, 60);
    splat_model *model = splat_trainer_get_model(trainer);
    for (int half = 0; half < 2; half++) {
        float factor = half ? 0.5f : 1;
        shown all = look(plain, model, factor), some = look(ignored, model, factor),
              carved = look(segmented, model, factor);
        uint8_t kept[64 * 48];
        size_t n_hidden = 0, n_shown = 0;
        for (size_t v = 0; v < N_CAMERAS; v++) {
            must(splat_scene_read_mask(ignored, v, all.width, all.height, kept, &error), &error);
            for (size_t i = 0; i < all.n; i++) {
                size_t at = v * all.n + i;
                n_hidden += !kept[i] && all.depth[at] > 0;
                n_shown += kept[i] && all.depth[at] > 0;
                assert_true(some.depth[at] == (kept[i] ? all.depth[at] : 0));
                assert_true(carved.depth[at] == some.depth[at]);
                assert_true(some.alpha[at] == (kept[i] ? all.alpha[at] : 1)); /* nothing is known of it */
                assert_true(carved.alpha[at] == (kept[i] ? all.alpha[at] : 0));
                assert_int_equal(all.state[at], SPLAT_PIXEL_SILENT);
                assert_int_equal(some.state[at], kept[i] ? SPLAT_PIXEL_SILENT : SPLAT_PIXEL_MASKED);
                assert_int_equal(carved.state[at], kept[i] ? SPLAT_PIXEL_SILENT : SPLAT_PIXEL_SKY);
            }
        }
        assert_true(n_hidden > 20 && n_shown > n_hidden);
        shown *of[] = {&all, &some, &carved};
        for (int k = 0; k < 3; k++) {
            free(of[k]->depth);
            free(of[k]->alpha);
            free(of[k]->state);
        }
    }
    splat_scene_close(segmented);
    splat_scene_close(ignored);
    close_training(context, plain, trainer);
}

/* Two triangles that fill the picture of a camera. */
static void make_wall(const splat_camera *c, float vertices[12])
{
    static const float corners[4][2] = {{-0.5f, -0.5f}, {1.5f, -0.5f}, {1.5f, 1.5f}, {-0.5f, 1.5f}};
    for (int i = 0; i < 4; i++) {
        const float local[3] = {(corners[i][0] * (float)c->width - c->cx) / c->fx * 2,
                                (corners[i][1] * (float)c->height - c->cy) / c->fy * 2, 2};
        for (int k = 0; k < 3; k++)
            vertices[3 * i + k] = c->center[k] + c->rotation[k] * local[0] + c->rotation[3 + k] * local[1] +
                                  c->rotation[6 + k] * local[2];
    }
}

static void textures_leave_masks_and_their_rims_out(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_scene *scene = open_blobs(context, NULL, SPLAT_MASKS_IGNORE);
    splat_error error;
    const splat_camera *c = &scene->dataset.views[0].camera;
    float vertices[12];
    uint32_t faces[6] = {0, 1, 2, 0, 2, 3};
    uint8_t kept[64 * 48];
    make_wall(c, vertices);
    splat_mesh mesh = {.vertices = vertices, .n_vertices = 4, .faces = faces, .n_faces = 2};
    splat_texture_options options;
    splat_texture_options_init(&options);
    splat_bake bake = {.context = context, .scene = scene, .options = &options, .mesh = &mesh, .n_views = N_CAMERAS};
    splat_bake_room room;
    must(splat_bake_room_make(&bake, &room, &error), &error);
    must(splat_scene_read_mask(scene, 0, c->width, c->height, kept, &error), &error);
    must(splat_bake_draw(&bake, 0, &room, NULL, &error), &error);
    size_t n_hidden = 0, n_rim = 0;
    for (int y = 0; y < c->height; y++)
        for (int x = 0; x < c->width; x++) {
            bool near = false;
            for (int j = -2; j <= 2; j++)
                for (int i = -2; i <= 2; i++)
                    if (x + i >= 0 && x + i < c->width && y + j >= 0 && y + j < c->height)
                        near |= !kept[(y + j) * c->width + x + i];
            assert_true((room.faces[y * c->width + x] == 0) == near);
            assert_true((room.depth[y * c->width + x] == 0) == near);
            n_hidden += near;
            n_rim += near && kept[y * c->width + x];
        }
    assert_true(n_rim > 30 && n_hidden > n_rim && n_hidden < 64 * 48 / 2);
    splat_bake_room_free(&room);
    options.bake = SPLAT_BAKE_GAUSSIANS; /* pictures of the splat show nothing of what masks cover */
    must(splat_bake_room_make(&bake, &room, &error), &error);
    must(splat_bake_draw(&bake, 0, &room, NULL, &error), &error);
    for (int i = 0; i < c->width * c->height; i++) assert_true(room.faces[i] && room.depth[i] > 0);
    splat_bake_room_free(&room);
    splat_scene_close(scene);
    splat_context_destroy(context);
}

/* A wall of about a face a pixel close before camera c, which no other one shall hide. */
static splat_mesh make_fine_wall(const splat_camera *c)
{
    enum { ACROSS = 64, DOWN = 48 };
    splat_mesh mesh = {0};
    for (int i = 0; i < (ACROSS + 1) * (DOWN + 1); i++) {
        const float x = ((float)(i % (ACROSS + 1)) / ACROSS * (float)c->width - c->cx) / c->fx,
                    y = ((float)(i / (ACROSS + 1)) / DOWN * (float)c->height - c->cy) / c->fy;
        float p[3];
        for (int k = 0; k < 3; k++)
            p[k] = c->center[k] + 0.5f * (c->rotation[k] * x + c->rotation[3 + k] * y + c->rotation[6 + k]);
        assert_int_equal(splat_mesh_add_vertex(&mesh, p, NULL, NULL), SPLAT_OK);
    }
    for (uint32_t i = 0; i < ACROSS * DOWN; i++) {
        uint32_t a = i / ACROSS * (ACROSS + 1) + i % ACROSS, b = a + ACROSS + 1;
        assert_int_equal(splat_mesh_add_face(&mesh, a, a + 1, b, NULL), SPLAT_OK);
        assert_int_equal(splat_mesh_add_face(&mesh, a + 1, b + 1, b, NULL), SPLAT_OK);
    }
    return mesh;
}

/* Faces that the training views show in pixels that their masks keep. */
static size_t count_shown(splat_scene *scene, const splat_mesh *mesh)
{
    static uint32_t ids[64 * 48];
    static float depth[64 * 48];
    static uint8_t kept[64 * 48];
    uint8_t *found = calloc(mesh->n_faces, 1);
    size_t n = 0;
    splat_error error;
    const splat_mesh_raster_options options = {.near = 0.001f, .threads = 1};
    const splat_mesh_raster_maps maps = {.faces = ids, .depth = depth};
    for (uint32_t v = 0; v < N_CAMERAS; v++) {
        const splat_dataset_view *view = &scene->dataset.views[v];
        memset(kept, 1, sizeof kept);
        if (view->has_mask) must(splat_scene_read_mask(scene, v, 64, 48, kept, &error), &error);
        must(splat_mesh_rasterize(mesh, &view->camera, &options, &maps, &error), &error);
        for (int i = 0; i < 64 * 48; i++)
            if (ids[i] && kept[i]) found[ids[i] - 1] = 1;
    }
    for (size_t i = 0; i < mesh->n_faces; i++) n += found[i];
    free(found);
    return n;
}

static void masked_pixels_see_nothing_of_a_mesh(void **state)
{
    (void)state;
    splat_context *context = open_cpu(2);
    splat_error error;
    splat_mesh_extract_options options;
    size_t n_kept[2];
    splat_mesh_extract_options_init(&options);
    options.unseen_rim = 0;
    for (int masked = 0; masked < 2; masked++) {
        splat_scene *scene = open_blobs(context, masked ? NULL : "none", SPLAT_MASKS_IGNORE);
        const splat_extraction extraction = {.options = &options, .scene = scene, .threads = 2};
        splat_mesh wall = make_fine_wall(&scene->dataset.views[0].camera);
        size_t n_gone, n_faces = wall.n_faces;
        n_kept[masked] = count_shown(scene, &wall);
        must(splat_extract_drop_invisible(&extraction, &wall, &n_gone, &error), &error);
        assert_int_equal(wall.n_faces, n_kept[masked]);
        assert_int_equal(n_gone, n_faces - n_kept[masked]);
        splat_mesh_free(&wall);
        splat_scene_close(scene);
    }
    assert_true(n_kept[1] > 1000 && n_kept[1] + 100 < n_kept[0]);
    splat_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masked_pixels_show_no_surface),
        cmocka_unit_test(textures_leave_masks_and_their_rims_out),
        cmocka_unit_test(masked_pixels_see_nothing_of_a_mesh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
