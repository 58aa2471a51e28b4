/* Coarser levels of a textured mesh: names, faces, where they end; and files painted from the built-in scene. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/file.h"
#include "io/glb/glb_file.h"
#include "mesh/files/mesh_io.h"
#include "mesh_fixture.h"
#include "scene_fixture.h"
#include "splatsmith/sample.h"
#include "texture/lods.h"

#include <unistd.h>

#define FOLDER "lods_scene"

/* ---------------------------------------------------------------- names, options, faces */

static void levels_have_the_names_that_engines_know(void **state)
{
    (void)state;
    static const struct { const char *path, *level, *name; } cases[] = {
        {"fox.glb", "fox_LOD2.glb", "fox_LOD2"},
        {"a.b/fox.den.obj", "a.b/fox.den_LOD2.obj", "fox.den_LOD2"},
        {"/a/.b/fox", "/a/.b/fox_LOD2", "fox_LOD2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *path = splat_lod_path(cases[i].path, 2), *name = splat_lod_name(cases[i].path, 2);
        assert_string_equal(path, cases[i].level);
        assert_string_equal(name, cases[i].name);
        free(path);
        free(name);
    }
}

static void textures_have_half_of_the_sides(void **state)
{
    (void)state;
    splat_texture_options options;
    splat_texture_options_init(&options);
    splat_lod_next_options(&options);
    assert_true(options.texel_density == 0.5 && options.texture_size == 0);
    options.texture_size = 300;
    splat_lod_next_options(&options);
    assert_int_equal(options.texture_size, 150);
    splat_lod_next_options(&options);
    splat_lod_next_options(&options);
    assert_int_equal(options.texture_size, 64);
}

/* Every face has all of a page with sides of so many texels. */
static void put_texture(splat_mesh *mesh, int side)
{
    splat_error error;
    splat_image page = black_page(side, side);
    ASSERT_OK(splat_mesh_require_uvs(mesh, &error));
    for (size_t f = 0; f < mesh->n_faces; f++) mesh->uvs[6 * f + 2] = mesh->uvs[6 * f + 5] = 1;
    ASSERT_OK(splat_mesh_add_page(mesh, &page, &error));
}

/* NULL, or why there is no next level; free it. */
static char *coarsen(splat_mesh *mesh, int side)
{
    splat_texture_options options;
    splat_error error;
    char *why;
    splat_texture_options_init(&options);
    put_texture(mesh, side);
    ASSERT_OK(splat_lod_coarsen(mesh, &options, 2, &why, &error));
    return why;
}

static void a_level_has_a_quarter_of_the_faces(void **state)
{
    (void)state;
    splat_mesh sphere = make_sphere(24, 1);
    const size_t n = sphere.n_faces;
    const double volume = splat_mesh_volume(&sphere);
    assert_null(coarsen(&sphere, 8));
    assert_in_range(sphere.n_faces, n / 4 - 2, n / 4);
    assert_true(!sphere.uvs && !sphere.n_pages);
    assert_true(fabs(splat_mesh_volume(&sphere) / volume - 1) < 0.05);
    splat_mesh_free(&sphere);
}

/* Three reasons: few faces; pieces that cannot become fewer; a shape that texels of 1/1000 of it show. */
static void levels_end_with_a_reason(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh few = make_sphere(8, 1), pieces = {0}, fine = make_crumpled_sphere(24, 1);
    char *why = coarsen(&few, 8);
    assert_non_null(strstr(why, " faces is less than 64"));
    free(why);
    for (int i = 0; i < 100; i++) {
        splat_mesh piece = make_cube(1);
        for (size_t k = 0; k < piece.n_vertices; k++) piece.vertices[3 * k] += (float)(2 * i);
        ASSERT_OK(splat_mesh_append(&pieces, &piece, &error));
        splat_mesh_free(&piece);
    }
    why = coarsen(&pieces, 8);
    assert_non_null(strstr(why, "its shape, pieces and holes need"));
    free(why);
    assert_float_equal(splat_mesh_volume(&pieces), 100, 20); /* limits keep what cannot be less */
    why = coarsen(&fine, 4000);
    assert_non_null(strstr(why, "its shape, pieces and holes need"));
    free(why);
    splat_mesh_free(&few);
    splat_mesh_free(&pieces);
    splat_mesh_free(&fine);
}

/* ---------------------------------------------------------------- files */

typedef struct studio {
    splat_context *context;
    splat_scene *scene;
    char notices[4096];
} studio;

static void keep_notice(void *user, splat_log_level level, const char *message)
{
    studio *s = user;
    const size_t n = strlen(s->notices);
    if (level == SPLAT_LOG_NOTICE) snprintf(s->notices + n, sizeof s->notices - n, "%s\n", message);
}

static int open_studio(void **state)
{
    splat_context_options context_options;
    splat_sample_options sample;
    splat_scene_options options;
    splat_error error;
    studio *s = calloc(1, sizeof *s);
    splat_context_options_init(&context_options);
    context_options.backend = "cpu";
    context_options.threads = 2;
    context_options.log = keep_notice;
    context_options.log_user = s;
    ASSERT_OK(splat_context_create(&context_options, &s->context, &error));
    splat_sample_options_init(&sample);
    sample.width = 120;
    sample.height = 90;
    sample.n_cameras = 16;
    sample.n_truth = 100;
    fixture_sample(FOLDER, &sample, 2);
    splat_scene_options_init(&options);
    options.source_path = FOLDER;
    ASSERT_OK(splat_scene_open(s->context, &options, &s->scene, &error));
    /* the ball of the built-in scene */
    splat_mesh ball = make_sphere(24, 0.65);
    for (size_t i = 0; i < ball.n_vertices; i++) {
        ball.vertices[3 * i] -= 0.95f;
        ball.vertices[3 * i + 1] -= 0.65f;
        ball.vertices[3 * i + 2] += 0.35f;
    }
    ASSERT_OK(splat_mesh_write("ball.ply", &ball, &error));
    splat_mesh_free(&ball);
    *state = s;
    return 0;
}

static int close_studio(void **state)
{
    studio *s = *state;
    splat_scene_close(s->scene);
    splat_context_destroy(s->context);
    free(s);
    return 0;
}

static splat_texture_options usual_options(void)
{
    splat_texture_options options;
    splat_texture_options_init(&options);
    options.polish_steps = 2;
    return options;
}

static splat_status make(studio *s, const splat_texture_options *options, const char *path, splat_texture_info *info,
                         splat_error *error)
{
    s->notices[0] = '\0';
    assert_int_equal(system("rm -f full.glb lods*.glb lods*.obj lods*.mtl lods*.png"), 0);
    return splat_texture_make(s->context, s->scene, "ball.ply", NULL, options, &path, 1, info, error);
}

/* The name of the node and of the mesh, and sides of the page in *width. */
static size_t count_faces(const char *path, const char *name, int *width)
{
    splat_error error;
    splat_mesh mesh;
    splat_glb_file file;
    ASSERT_OK(splat_glb_open(&file, path, &error));
    const json_t *node = json_array_get(json_object_get(file.root, "nodes"), 0);
    assert_string_equal(json_string_value(json_object_get(node, "name")), name);
    splat_glb_close(&file);
    ASSERT_OK(splat_mesh_read(path, &mesh, &error));
    const size_t n = mesh.n_faces;
    assert_int_equal(mesh.n_pages, 1);
    *width = mesh.pages[0].width;
    splat_mesh_free(&mesh);
    return n;
}

static void levels_are_files_next_to_the_mesh(void **state)
{
    studio *s = *state;
    splat_texture_options options = usual_options();
    splat_texture_info info;
    splat_error error;
    int widths[3];
    options.lods = 5;
    ASSERT_OK(make(s, &options, "lods.glb", &info, &error));
    assert_int_equal(info.n_lods, 2);
    const size_t n = count_faces("lods.glb", "lods_LOD0", &widths[0]);
    assert_int_equal(info.n_faces, n); /* of the mesh itself */
    assert_int_equal(info.width, widths[0]);
    assert_in_range(count_faces("lods_LOD1.glb", "lods_LOD1", &widths[1]), n / 4 - 2, n / 4);
    assert_in_range(count_faces("lods_LOD2.glb", "lods_LOD2", &widths[2]), n / 16 - 2, n / 16);
    for (int i = 1; i < 3; i++) /* sides are half as many, but for what packing leaves */
        assert_true(3 * widths[i] < 2 * widths[i - 1] && 3 * widths[i] > widths[i - 1]);
    assert_false(splat_path_exists("lods_LOD3.glb"));
    assert_non_null(strstr(s->notices, "level 1 of the mesh: "));
    assert_non_null(strstr(s->notices, "level 3 of the mesh and coarser ones are left out: a quarter of "));
    assert_int_equal(system("cp lods.glb with.glb"), 0);

    assert_null(strstr(s->notices, "before"));

    options.lods = 0; /* the mesh itself is the same, but for its name */
    ASSERT_OK(make(s, &options, "lods.glb", &info, &error));
    assert_int_equal(info.n_lods, 0);
    assert_false(splat_path_exists("lods_LOD0.glb") || splat_path_exists("lods_LOD1.glb"));
    splat_mesh with, without;
    ASSERT_OK(splat_mesh_read("with.glb", &with, &error));
    ASSERT_OK(splat_mesh_read("lods.glb", &without, &error));
    assert_memory_equal(with.pages[0].pixels, without.pages[0].pixels,
                        3 * (size_t)with.pages[0].width * (size_t)with.pages[0].height);
    splat_mesh_free(&with);
    splat_mesh_free(&without);
}

static void levels_of_an_earlier_run_are_named(void **state)
{
    studio *s = *state;
    const char *path = "earlier.glb";
    splat_texture_options options = usual_options();
    splat_texture_info info;
    splat_error error;
    assert_int_equal(system("rm -f earlier*"), 0);
    options.lods = 2;
    ASSERT_OK(splat_texture_make(s->context, s->scene, "ball.ply", NULL, &options, &path, 1, &info, &error));
    s->notices[0] = '\0';
    options.lods = 1;
    ASSERT_OK(splat_texture_make(s->context, s->scene, "ball.ply", NULL, &options, &path, 1, &info, &error));
    assert_non_null(strstr(s->notices, "earlier_LOD2.glb was there before and is no level of this mesh"));
    assert_null(strstr(s->notices, "earlier_LOD1.glb was"));
    assert_true(splat_path_exists("earlier_LOD2.glb"));
}

/* A level shows what the mesh shows: their mean colours are similar. */
static void levels_have_the_colors_of_the_mesh(void **state)
{
    studio *s = *state;
    splat_texture_options options = usual_options();
    splat_texture_info info;
    splat_error error;
    double means[3][3] = {{0}};
    options.lods = 2;
    ASSERT_OK(make(s, &options, "lods.obj", &info, &error));
    static const char *const paths[] = {"lods.obj", "lods_LOD1.obj", "lods_LOD2.obj"};
    for (int i = 0; i < 3; i++) {
        splat_mesh mesh;
        double area = 0;
        ASSERT_OK(splat_mesh_read(paths[i], &mesh, &error));
        const splat_image *page = &mesh.pages[0];
        for (size_t f = 0; f < mesh.n_faces; f++) {
            const float *uv = mesh.uvs + 6 * f;
            const size_t column = (size_t)((uv[0] + uv[2] + uv[4]) / 3 * (float)page->width);
            const size_t row = (size_t)((uv[1] + uv[3] + uv[5]) / 3 * (float)page->height);
            const double part = splat_mesh_face_area(&mesh, f);
            area += part;
            for (size_t c = 0; c < 3; c++)
                means[i][c] += part * page->pixels[3 * (row * (size_t)page->width + column) + c];
        }
        for (int c = 0; c < 3; c++) means[i][c] /= area;
        print_message("level %d: %.1f %.1f %.1f\n", i, means[i][0], means[i][1], means[i][2]);
        for (int c = 0; c < 3; c++) assert_float_equal(means[i][c], means[0][c], 8);
        splat_mesh_free(&mesh);
    }
}

static bool stop_while_simplifying(void *user, const char *stage, double fraction)
{
    (void)user;
    (void)fraction;
    return strcmp(stage, "simplifying") != 0;
}

static void what_stops_leaves_whole_files(void **state)
{
    studio *s = *state;
    splat_texture_options options = usual_options();
    splat_texture_info info;
    splat_error error;
    int width;
    options.lods = 2;
    options.progress = stop_while_simplifying;
    assert_int_equal(make(s, &options, "lods.glb", &info, &error), SPLAT_ERROR_STOPPED);
    count_faces("lods.glb", "lods_LOD0", &width);
    assert_int_equal(system("test \"$(ls lods* -d)\" = \"$(printf 'lods.glb\\nlods_scene')\""), 0);
}

static void what_cannot_be_is_refused_first(void **state)
{
    studio *s = *state;
    splat_texture_options options = usual_options();
    splat_texture_info info;
    splat_error error;
    options.lods = 9;
    assert_failure(make(s, &options, "lods.glb", &info, &error), SPLAT_ERROR_ARGUMENT, &error, "`lods`");
    options.lods = 1;
    options.bake = SPLAT_BAKE_GAUSSIANS;
    assert_failure(make(s, &options, "lods.glb", &info, &error), SPLAT_ERROR_ARGUMENT, &error,
                   "`lods` needs `bake photos`");
    options.bake = SPLAT_BAKE_PHOTOS;
    options.max_host_bytes = 100 << 10;
    assert_failure(make(s, &options, "lods.glb", &info, &error), SPLAT_ERROR_MEMORY, &error, "leave `lods` out");
    options.max_host_bytes = 0;
    assert_int_equal(symlink("/dev/full", "full_LOD1.glb"), 0); /* the disk is full at a level */
    assert_int_not_equal(make(s, &options, "full.glb", &info, &error), SPLAT_OK);
    assert_int_equal(unlink("full_LOD1.glb"), 0);
    assert_false(splat_path_exists("lods.glb"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_have_the_names_that_engines_know),
        cmocka_unit_test(textures_have_half_of_the_sides),
        cmocka_unit_test(a_level_has_a_quarter_of_the_faces),
        cmocka_unit_test(levels_end_with_a_reason),
        cmocka_unit_test(levels_are_files_next_to_the_mesh),
        cmocka_unit_test(levels_of_an_earlier_run_are_named),
        cmocka_unit_test(levels_have_the_colors_of_the_mesh),
        cmocka_unit_test(what_stops_leaves_whole_files),
        cmocka_unit_test(what_cannot_be_is_refused_first),
    };
    return cmocka_run_group_tests(tests, open_studio, close_studio);
}
