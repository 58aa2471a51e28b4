/* The built-in scene's true surface, painted from its photos and drawn from views that were held out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/file.h"
#include "math/camera.h"
#include "mesh/mesh_draw.h"
#include "mesh_fixture.h"
#include "model/files.h"
#include "sample/sample_raytrace.h"
#include "scene_fixture.h"
#include "splatsmith/sample.h"
#include "texture/bake_quality.h"
#include "texture/bake_view.h"
#include "texture/paint.h"

#define FOLDER "paint_scene"

static splat_context *context_of(int threads)
{
    splat_context_options options;
    splat_context *context;
    splat_error error;
    splat_context_options_init(&options);
    options.backend = "cpu";
    options.threads = threads;
    ASSERT_OK(splat_context_create(&options, &context, &error));
    return context;
}

static splat_scene *scene_of(splat_context *context)
{
    splat_scene_options options;
    splat_scene *scene;
    splat_error error;
    splat_scene_options_init(&options);
    options.source_path = FOLDER;
    options.eval = true;
    ASSERT_OK(splat_scene_open(context, &options, &scene, &error));
    return scene;
}

static int write_scene(void **state)
{
    (void)state;
    splat_sample_options options;
    splat_sample_options_init(&options);
    options.width = 200;
    options.height = 150;
    options.n_cameras = 32;
    options.n_truth = 100;
    fixture_sample(FOLDER, &options, 2);
    return 0;
}

static void place(splat_mesh *mesh, const splat_sample_solid *solid, double scale_x, double scale_y, double scale_z)
{
    for (size_t i = 0; i < mesh->n_vertices; i++) {
        float *p = mesh->vertices + 3 * i;
        double x = (double)p[0] * scale_x, y = (double)p[1] * scale_y, z = (double)p[2] * scale_z;
        const splat_vec3 *a = solid->axes;
        p[0] = (float)(solid->center.x + a[0].x * x + a[1].x * y + a[2].x * z);
        p[1] = (float)(solid->center.y + a[0].y * x + a[1].y * y + a[2].y * z);
        p[2] = (float)(solid->center.z + a[0].z * x + a[1].z * y + a[2].z * z);
    }
}

/* The ball and the box of the built-in scene. */
static splat_mesh true_mesh(void)
{
    splat_sample_world world;
    splat_error error;
    splat_sample_world_init(&world, 0);
    splat_mesh mesh = make_sphere(32, 1), box = make_cube(8);
    const splat_sample_solid *ball = &world.solids[SPLAT_SAMPLE_BALL], *b = &world.solids[SPLAT_SAMPLE_BOX];
    place(&mesh, ball, ball->radius, ball->radius, ball->radius);
    for (size_t i = 0; i < 3 * box.n_vertices; i++) box.vertices[i] = 2 * box.vertices[i] - 1;
    place(&box, b, b->half.x, b->half.y, b->half.z);
    ASSERT_OK(splat_mesh_append(&mesh, &box, &error));
    splat_mesh_free(&box);
    return mesh;
}

/* PSNR of the painted mesh over the pixels of the test views that it covers wholly. */
static double test_psnr(splat_scene *scene, const splat_mesh *mesh)
{
    const float black[3] = {0, 0, 0};
    splat_mesh_draw_options options;
    splat_mesh_painter painter;
    splat_error error;
    double sum = 0;
    size_t n_pixels = 200 * 150, n = 0;
    float *image = malloc(3 * n_pixels * sizeof *image), *coverage = malloc(n_pixels * sizeof *coverage);
    uint8_t *photo = malloc(3 * n_pixels);
    splat_mesh_draw_options_init(&options);
    ASSERT_OK(splat_mesh_painter_open(&painter, mesh, &options, n_pixels, 2, &error));
    for (size_t i = 0; i < scene->dataset.n_test; i++) {
        size_t view = scene->dataset.test[i];
        const splat_camera *camera = &scene->dataset.views[view].camera;
        ASSERT_OK(splat_mesh_painter_draw(&painter, camera, black, image, coverage, &error));
        ASSERT_OK(splat_scene_read_photo(scene, view, photo, &error));
        for (size_t p = 0; p < n_pixels; p++) {
            /* other solids stand before ours in some pixels: their error would be huge */
            double squares = 0;
            for (size_t c = 0; c < 3; c++)
                squares += pow((double)image[c * n_pixels + p] - photo[3 * p + c] / 255.0, 2);
            if (!(coverage[p] >= 1) || squares > 0.25) continue;
            sum += squares / 3;
            n++;
        }
    }
    splat_mesh_painter_close(&painter);
    free(image);
    free(coverage);
    free(photo);
    assert_true(n > 1000);
    return -10 * log10(sum / (double)n);
}

static splat_mesh paint(splat_context *context, splat_scene *scene, const splat_texture_options *options,
                        splat_texture_info *info)
{
    splat_mesh mesh = true_mesh();
    splat_error error;
    ASSERT_OK(splat_texture_paint(context, scene, &mesh, NULL, options, info, &error));
    ASSERT_OK(splat_mesh_check(&mesh, &error));
    return mesh;
}

static void held_out_photos_are_met(void **state)
{
    (void)state;
    /* measured 27.1, 26.4, 25.6 and 27.9 at this small size; a texture turned over, or off by some texels, is below
     * 20 */
    static const struct {
        bool two_bands, charts;
        int polish_steps;
        double psnr;
    } ways[] = {{false, true, 0, 26}, {true, true, 0, 25.5}, {false, false, 0, 25}, {true, true, 56, 27}};
    splat_context *context = context_of(2);
    splat_scene *scene = scene_of(context);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        splat_texture_options options;
        splat_texture_info info;
        splat_texture_options_init(&options);
        options.two_bands = ways[i].two_bands;
        options.polish_steps = ways[i].polish_steps;
        options.square_size = ways[i].charts ? 0 : 12;
        splat_mesh mesh = paint(context, scene, &options, &info);
        double psnr = test_psnr(scene, &mesh);
        print_message("PSNR %.2f, %d x %d, from photos %.3f\n", psnr, info.width, info.height, info.from_photos);
        print_message("seams %.2f, then %.2f; losses %.4f, then %.4f\n", info.seams[0], info.seams[1],
                      info.polish_losses[0], info.polish_losses[1]);
        assert_true(psnr > ways[i].psnr);
        assert_true((info.polish_losses[1] > 0) == (options.polish_steps > 0));
        if (options.polish_steps) assert_true(info.polish_losses[1] < 0.97 * info.polish_losses[0]);
        assert_true(info.from_photos > 0.75 && info.from_photos < 1); /* what stands on the ground is not seen */
        assert_float_equal(info.from_photos + info.filled, 1, 1e-9);
        assert_true(info.n_faces_seen > info.n_faces / 2 && info.n_outliers < info.n_candidates / 10);
        assert_int_equal(info.n_pages, mesh.n_pages);
        assert_true(info.seams[0] > 0 && info.seams[0] < 6 && info.seams[1] < 6); /* measured 1.0 to 2.9 */
        assert_true((info.seams[1] != info.seams[0]) == (options.polish_steps > 0));
        splat_mesh_free(&mesh);
    }
    splat_scene_close(scene);
    splat_context_destroy(context);
}

/* The unit quaternion of a rotation whose columns are given; its trace may be anything. */
static void quaternion_of(double c[3][3], float q[4])
{
    double best = -1, raw[4] = {1, 0, 0, 0};
    for (int k = 0; k < 4; k++) { /* (1 +- diagonal): the largest component first, so that nothing is divided by 0 */
        double sum = 1;
        for (int i = 0; i < 3; i++) sum += (k == 0 || k == i + 1 ? 1 : -1) * c[i][i];
        if (sum <= best) continue;
        best = sum;
        const double products[4][4] = {
            {sum, c[1][2] - c[2][1], c[2][0] - c[0][2], c[0][1] - c[1][0]},
            {c[1][2] - c[2][1], sum, c[0][1] + c[1][0], c[2][0] + c[0][2]},
            {c[2][0] - c[0][2], c[0][1] + c[1][0], sum, c[1][2] + c[2][1]},
            {c[0][1] - c[1][0], c[2][0] + c[0][2], c[1][2] + c[2][1], sum}};
        for (int i = 0; i < 4; i++) raw[i] = products[k][i] / (2 * sqrt(sum));
    }
    for (int i = 0; i < 4; i++) q[i] = (float)raw[i];
}

static void unit(double a[3])
{
    double length = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    for (int k = 0; k < 3; k++) a[k] /= length;
}

/* One opaque Gaussian a face, so wide that there are no holes, with colours 1/2 + 0.3 (x, y + 1/2, z). */
static splat_model *bind(splat_context *context, const splat_mesh *mesh)
{
    splat_cloud cloud;
    splat_model *model;
    splat_error error;
    ASSERT_OK(splat_cloud_make(&cloud, mesh->n_faces, 0, false, &error));
    for (size_t f = 0; f < mesh->n_faces; f++) {
        double frame[3][3], area;
        const float *v0 = mesh->vertices + 3 * mesh->faces[3 * f], *v1 = mesh->vertices + 3 * mesh->faces[3 * f + 1];
        splat_mesh_face_cross(mesh, f, frame[0]);
        area = splat_mesh_face_area(mesh, f);
        unit(frame[0]);
        for (int k = 0; k < 3; k++) frame[1][k] = (double)(v0[k] - v1[k]);
        unit(frame[1]);
        for (int k = 0; k < 3; k++)
            frame[2][k] = frame[0][(k + 1) % 3] * frame[1][(k + 2) % 3] - frame[0][(k + 2) % 3] * frame[1][(k + 1) % 3];
        quaternion_of(frame, cloud.rotations + 4 * f);
        for (size_t k = 0; k < 9; k++)
            cloud.means[3 * f + k % 3] += mesh->vertices[3 * mesh->faces[3 * f + k / 3] + k % 3] / 3;
        for (size_t k = 0; k < 3; k++) {
            double at = (double)cloud.means[3 * f + k] + (k == 1 ? 0.5 : 0);
            cloud.sh_dc[3 * f + k] = (float)(0.3 * at / 0.28209479177387814);
            cloud.scales[3 * f + k] = k == 0 ? -14 : (float)log(sqrt(area));
        }
        cloud.opacities[f] = 8;
    }
    ASSERT_OK(splat_model_create(context, 0, SPLAT_SH_FLOAT32, SPLAT_ON_DEVICE, &model, &error));
    ASSERT_OK(splat_model_resize(model, (uint32_t)mesh->n_faces, &error));
    ASSERT_OK(splat_model_upload(model, &cloud, &error));
    splat_cloud_free(&cloud);
    return model;
}

/* Mean distance of the texture, at the centroids of the faces, from the colours that `bind` gives; in bytes. */
static double distance_from_bound(const splat_mesh *mesh)
{
    const splat_image *page = &mesh->pages[0];
    double sum = 0;
    for (size_t f = 0; f < mesh->n_faces; f++) {
        const float *uv = mesh->uvs + 6 * f;
        size_t column = (size_t)((uv[0] + uv[2] + uv[4]) / 3 * (float)page->width);
        size_t row = (size_t)((uv[1] + uv[3] + uv[5]) / 3 * (float)page->height);
        for (size_t k = 0; k < 3; k++) {
            double at = k == 1 ? 0.5 : 0;
            for (size_t j = 0; j < 3; j++) at += (double)mesh->vertices[3 * mesh->faces[3 * f + j] + k] / 3;
            double wanted = 255 * fmin(fmax(0.5 + 0.3 * at, 0), 1);
            sum += fabs(page->pixels[3 * (row * (size_t)page->width + column) + k] - wanted) / 3;
        }
    }
    return sum / (double)mesh->n_faces;
}

static void bound_gaussians_give_colors(void **state)
{
    (void)state;
    splat_context *context = context_of(2);
    splat_scene *scene = scene_of(context);
    splat_texture_options options;
    splat_texture_info info;
    splat_error error;
    splat_texture_options_init(&options);
    splat_mesh mesh = true_mesh();
    splat_model *model = bind(context, &mesh);
    ASSERT_OK(splat_texture_paint(context, scene, &mesh, model, &options, &info, &error));
    assert_int_equal(info.gaussians_per_triangle, 1);
    assert_true(info.from_photos > 0.75 && info.from_gaussians > 0.001 && info.filled == 0);
    assert_float_equal(info.from_photos + info.from_gaussians, 1, 1e-9);

    options.bake = SPLAT_BAKE_GAUSSIANS;
    ASSERT_OK(splat_texture_paint(context, scene, &mesh, model, &options, &info, &error));
    assert_true(info.from_gaussians == 1 && info.from_photos == 0);
    double distance = distance_from_bound(&mesh);
    print_message("Gaussians: %.2f of 255 away\n", distance);
    assert_true(distance < 5); /* rounding, and the light of Gaussians next to a face; measured 1.7 */
    splat_model_destroy(model);
    splat_mesh_free(&mesh);
    splat_scene_close(scene);
    splat_context_destroy(context);
}

/* Threads, and bands that are forced to be small, change no byte. */
static void the_texture_does_not_depend_on_threads_or_bands(void **state)
{
    (void)state;
    splat_mesh meshes[3];
    splat_texture_info info[3];
    for (int i = 0; i < 3; i++) {
        splat_context *context = context_of(i == 1 ? 3 : 1);
        splat_scene *scene = scene_of(context);
        splat_texture_options options;
        splat_texture_options_init(&options);
        options.texture_size = 512;
        options.polish_steps = 6;
        if (i == 2) options.max_host_bytes = 48 << 20;
        meshes[i] = paint(context, scene, &options, &info[i]);
        splat_scene_close(scene);
        splat_context_destroy(context);
    }
    assert_int_equal(info[0].n_pages, 1);
    assert_int_equal(info[0].width, 512);
    assert_true(info[2].host_bytes <= 48 << 20 && info[0].host_bytes > 100 << 20);
    for (int i = 1; i < 3; i++)
        assert_memory_equal(meshes[i].pages[0].pixels, meshes[0].pages[0].pixels, (size_t)3 * 512 * 512);
    for (int i = 0; i < 3; i++) splat_mesh_free(&meshes[i]);
}

static void expect(const char *part, splat_status status, const splat_texture_options *options, double moved,
                   bool empty)
{
    splat_context *context = context_of(1);
    splat_scene *scene = scene_of(context);
    splat_mesh mesh = true_mesh();
    splat_texture_info info;
    splat_error error = {0};
    for (size_t i = 0; i < mesh.n_vertices; i++) mesh.vertices[3 * i + 1] += (float)moved;
    if (empty) mesh.n_faces = 0;
    assert_int_equal(splat_texture_paint(context, scene, &mesh, NULL, options, &info, &error), status);
    if (!strstr(error.message, part)) fail_msg("'%s' does not say '%s'", error.message, part);
    splat_mesh_free(&mesh);
    splat_scene_close(scene);
    splat_context_destroy(context);
}

static void what_cannot_be_painted_is_refused(void **state)
{
    (void)state;
    splat_texture_options options;
    splat_texture_options_init(&options);
    expect("is the mesh of this scene", SPLAT_ERROR_ARGUMENT, &options, 1000, false);
    expect("no faces", SPLAT_ERROR_ARGUMENT, &options, 0, true);
    options.polish_steps = -1;
    expect("`polish_steps`", SPLAT_ERROR_ARGUMENT, &options, 0, false);
    options.polish_steps = 0;
    options.max_host_bytes = 1 << 20;
    expect("max_host_memory", SPLAT_ERROR_MEMORY, &options, 0, false);
    options.max_host_bytes = 0;
    options.bake = SPLAT_BAKE_GAUSSIANS;
    expect("bound to the mesh", SPLAT_ERROR_ARGUMENT, &options, 0, false);
    options.bake = SPLAT_BAKE_PHOTOS;
    options.texture_size = 9000;
    expect("`texture_size` 9000 is above", SPLAT_ERROR_ARGUMENT, &options, 0, false);
    options.texture_size = 0;
    options.square_size = 4;
    expect("`square_size` must be from 5 to 1000, or 0", SPLAT_ERROR_ARGUMENT, &options, 0, false);
    options.square_size = 0;
    options.jpeg_quality = 101;
    expect("`jpeg_quality`", SPLAT_ERROR_ARGUMENT, &options, 0, false);
    options.jpeg_quality = 0;
    options.texel_density = 0;
    expect("`texel_density`", SPLAT_ERROR_ARGUMENT, &options, 0, false);
}

/* A photo as sharp as the middle one has all of its weight, a blurred one at least a quarter. */
static void sharpness_is_relative_to_the_middle_photo(void **state)
{
    (void)state;
    splat_context *context = context_of(2);
    splat_scene *scene = scene_of(context);
    splat_mesh mesh = true_mesh();
    splat_texture_options options;
    splat_bake_room room = {0};
    splat_error error;
    splat_texture_options_init(&options);
    splat_bake bake = {.context = context, .backend = context->backend, .scene = scene, .options = &options,
                       .mesh = &mesh, .n_views = scene->dataset.n_train};
    bake.views = calloc(bake.n_views, sizeof *bake.views);
    bake.candidates = malloc(mesh.n_faces * SPLAT_TEXTURE_CANDIDATES * sizeof *bake.candidates);
    bake.densities = malloc(mesh.n_faces * sizeof *bake.densities);
    ASSERT_OK(splat_bake_room_make(&bake, &room, &error));
    ASSERT_OK(splat_bake_quality(&bake, &room, &error));
    size_t n_whole = 0;
    for (size_t v = 0; v < bake.n_views; v++) {
        assert_true(bake.views[v].sharpness >= 0.25f && bake.views[v].sharpness <= 1);
        n_whole += bake.views[v].sharpness == 1;
    }
    assert_in_range(n_whole, bake.n_views / 2, bake.n_views - 1); /* the sharper half */
    splat_bake_room_free(&room);
    free(bake.views);
    free(bake.candidates);
    free(bake.densities);
    splat_mesh_free(&mesh);
    splat_scene_close(scene);
    splat_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_out_photos_are_met),
        cmocka_unit_test(bound_gaussians_give_colors),
        cmocka_unit_test(sharpness_is_relative_to_the_middle_photo),
        cmocka_unit_test(the_texture_does_not_depend_on_threads_or_bands),
        cmocka_unit_test(what_cannot_be_painted_is_refused),
    };
    return cmocka_run_group_tests(tests, write_scene, NULL);
}
