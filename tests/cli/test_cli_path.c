/* splatsmith render --path: pictures and films along a camera path; and the options of the viewer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli_fixture.h"
#include "scene_fixture.h"

#define ON_CPU "--backend", "cpu", "--threads", "1"
#define SPLAT "model/point_cloud/iteration_3/point_cloud.ply"

static int set_up(void **state)
{
    (void)state;
    if (!enter_work_folder()) return 1;
    fixture_text("path.json", "{\"format\": \"splatsmith camera path\", \"fps\": 2, \"width\": 65, \"height\": 48, "
                            "\"keyframes\": [{\"time\": 0, \"position\": [0, 0, -3], \"quaternion\": [1, 0, 0, 0], "
                            "\"fov_y\": 50}, {\"time\": 1, \"position\": [1, 0, -3], \"quaternion\": [1, 0, 0, 0], "
                            "\"fov_y\": 50}]}");
    fixture_text("wrong.json", "{\"keyframes\": []}");
    fixture_text("triangle.obj", "v -1 -1 0\nv 1 -1 0\nv 0 1 0\nf 1 2 3\n");
    if (run("sample", "tiny", "--width", "64", "--height", "48", "--cameras", "6", "--points", "100",
            "--truth_points", "20", "--supersample", "1", (char *)NULL) != 0)
        return 1;
    return run("train", "-s", "tiny", "-m", "model", "-n", "3", "--test_iterations", "-1", "--tensorboard", "False",
               ON_CPU, (char *)NULL);
}

static void pictures_along_a_path(void **state)
{
    (void)state;
    expect(__LINE__, run("render", "-m", "model", "--path", "path.json", ON_CPU, (char *)NULL), 0, standard_output,
           "3 pictures in model/path/ours_3");
    assert_true(exists("model/path/ours_3/000002.png"));
    assert_false(exists("model/path/ours_3/000003.png"));
    expect(__LINE__, run("render", "--ply", SPLAT, "--path", "path.json", "-o", "frames", ON_CPU, (char *)NULL), 0,
           standard_output, "3 pictures in frames"); /* needs no scene */
}

static void a_film_needs_ffmpeg(void **state)
{
    (void)state;
    char kept[4096];
    bool has_ffmpeg = system("command -v ffmpeg > /dev/null 2>&1") == 0;
    int code = run("render", "-m", "model", "--path", "path.json", "-o", "films/path.mp4", ON_CPU, (char *)NULL);
    if (has_ffmpeg) {
        expect(__LINE__, code, 0, standard_output, "3 pictures in films/path.mp4");
        assert_true(exists("films/path.mp4"));
        static const char *const names[] = {"file:film.mp4", "pipe:1.mp4", "-film.mp4", "films/a%03d.mp4"};
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) { /* names of files, also to ffmpeg */
            char output[64];
            snprintf(output, sizeof output, "--output=%s", names[i]);
            remove(names[i]);
            expect(__LINE__, run("render", "-m", "model", "--path", "path.json", output, ON_CPU, (char *)NULL), 0,
                   standard_output, names[i]);
            assert_true(exists(names[i]));
        }
    } else {
        printf("SKIPPED: a film is made: there is no ffmpeg\n");
        expect(__LINE__, code, 1, standard_error, "a film needs ffmpeg");
    }
    snprintf(kept, sizeof kept, "%s", getenv("PATH"));
    setenv("PATH", "/nowhere", 1);
    expect(__LINE__, run("render", "-m", "model", "--path", "path.json", "-o", "other/path.mp4", ON_CPU, (char *)NULL),
           1, standard_error, "a film needs ffmpeg");
    setenv("PATH", kept, 1);
    assert_false(exists("other/path.mp4"));
    assert_false(exists_like("films/*frames*")); /* what it was made of has gone */
}

static void what_goes_with_a_path(void **state)
{
    (void)state;
    expect(__LINE__, run("render", "-m", "model", "--path", "none.json", ON_CPU, (char *)NULL), 1, standard_error,
           "none.json");
    expect(__LINE__, run("render", "-m", "model", "--path", "wrong.json", ON_CPU, (char *)NULL), 1, standard_error,
           "wrong.json");
    expect(__LINE__, run("render", "-m", "model", "--path", "path.json", "--skip_test", ON_CPU, (char *)NULL), 2,
           standard_error, "--skip_test goes without it");
    expect(__LINE__, run("render", "--ply", SPLAT, "--path", "path.json", ON_CPU, (char *)NULL), 2, standard_error,
           "-o FOLDER");
    expect(__LINE__, run("render", "--mesh", "triangle.obj", "--path", "path.json", "-o", "x", ON_CPU, (char *)NULL), 2,
           standard_error, "a mesh is drawn on the CPU");
    expect(__LINE__, run("render", "--mesh", "triangle.obj", "--path", "path.json", "-o", "x", "--sh_degree", "0",
                         (char *)NULL), 2, standard_error, "--sh_degree goes without it");
    expect(__LINE__, run("render", "--mesh", "none.obj", "--path", "path.json", "-o", "x", (char *)NULL), 1,
           standard_error, "none.obj");
}

/* Without a scene: three pictures of a triangle that the camera passes by, half a second apart. */
static void a_mesh_along_a_path(void **state)
{
    (void)state;
    expect(__LINE__, run("render", "--mesh", "triangle.obj", "--path", "path.json", "-o", "mesh_frames", (char *)NULL),
           0, standard_output, "3 pictures in mesh_frames");
    expect(__LINE__, run("render", "--mesh", "triangle.obj", "--path", "path.json", "-o", "white_frames", "-w",
                         (char *)NULL), 0, standard_output, "3 pictures in white_frames");
    assert_true(exists("mesh_frames/000002.png"));
    assert_int_not_equal(system("cmp -s mesh_frames/000000.png mesh_frames/000002.png"), 0);
    assert_int_not_equal(system("cmp -s mesh_frames/000000.png white_frames/000000.png"), 0);
    expect(__LINE__, run("render", "--mesh", "triangle.obj", "-m", "model", "--path", "path.json", (char *)NULL), 0,
           standard_output, "model/path/mesh");
    assert_int_equal(system("cmp -s mesh_frames/000001.png model/path/mesh/000001.png"), 0);
}

static void the_viewer_takes_a_port_or_none(void **state)
{
    (void)state;
    expect(__LINE__, run("train", "-s", "none", "-m", "x", "--viewer", "65536", (char *)NULL), 2, standard_error,
           "--viewer takes a whole number from 0 to 65535");
    expect(__LINE__, run("train", "-s", "none", "-m", "x", "--viewer", "--viewer_budget", "0", (char *)NULL), 2,
           standard_error, "--viewer_budget takes a number from 0.1 to 100");
    expect(__LINE__, run("train", "--viewer", "-s", "none", "-m", "x", ON_CPU, (char *)NULL), 1, standard_error,
           "none"); /* -s is no port */
    expect(__LINE__, run("view", SPLAT, "--viewer_host", "example.com", "--port", "0", ON_CPU, (char *)NULL), 2,
           standard_error, "--viewer_host takes an address in numbers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_along_a_path),
        cmocka_unit_test(a_film_needs_ffmpeg),
        cmocka_unit_test(what_goes_with_a_path),
        cmocka_unit_test(a_mesh_along_a_path),
        cmocka_unit_test(the_viewer_takes_a_port_or_none),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
