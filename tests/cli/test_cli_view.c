/* splatsmith view: what its operand may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli_fixture.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#define ON_CPU "--backend", "cpu", "--threads", "1"
#define VERTEX                                                                                                         \
    "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n"
#define TRIANGLE "v 0 0 2\nv 1 0 2\nv 0 1 2\nf 1 2 3\n"

static bool has_viewer;

static int set_up(void **state)
{
    (void)state;
    if (!has_binary() || !enter_work_folder()) return 1;
    write_text("triangle.obj", TRIANGLE);
    write_text("notes.txt", "a letter\n");
    write_text("points.ply", VERTEX "end_header\n0 0 0\n");
    write_text("empty.ply", VERTEX "element face 0\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n");
    if (mkdir("nothing", 0755) != 0) return 1;
    if (run("sample", "tiny", "--width", "64", "--height", "48", "--cameras", "6", "--points", "100",
            "--truth_points", "20", "--supersample", "1", (char *)NULL) != 0)
        return 1;
    run("view", "empty.ply", "--port", "0", (char *)NULL);
    has_viewer = !strstr(standard_error, "without civetweb");
    if (!has_viewer) print_message("SKIPPED: what view shows: built without civetweb\n");
    return 0;
}

/* Shows it until its address is printed, and ends it. */
#define SHOWS(...) (unlink("stdout.txt"), shows(__LINE__, begin("view", __VA_ARGS__, "--port", "0", (char *)NULL)))
static void shows(int line, pid_t child)
{
    for (int i = 0; i < 600 && !file_contains("stdout.txt", "http://") && waitpid(child, NULL, WNOHANG) == 0; i++)
        usleep(100000);
    const bool told = file_contains("stdout.txt", "http://127.0.0.1:");
    if (told) kill(child, SIGINT);
    if (told) expect(line, finish(child), 0, standard_output, NULL);
    read_text("stderr.txt", standard_error, sizeof standard_error);
    if (!told) print_message("line %d: no address; stderr: %s\n", line, standard_error);
    assert_true(told);
}

static void scenes_and_meshes(void **state)
{
    (void)state;
    if (!has_viewer) skip();
    SHOWS("tiny", ON_CPU);
    SHOWS("-s", "tiny", ON_CPU);
    SHOWS("triangle.obj");
    SHOWS("triangle.obj", "-s", "tiny");
}

static int listen_at(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(s, (struct sockaddr *)&at, sizeof at) != 0 || listen(s, 1) != 0) print_message("8080 is busy already\n");
    return s;
}

static void a_busy_port(void **state)
{
    (void)state;
    if (!has_viewer) skip();
    int s = listen_at(8080); /* or another program does */
    unlink("stdout.txt");
    shows(__LINE__, begin("view", "triangle.obj", (char *)NULL));
    assert_non_null(strstr(standard_error, "port 8080 is busy; the page is at port 80"));
    RUN_ERR(1, "port 8080 at 127.0.0.1 is busy: another program listens there", "view", "triangle.obj", "--port",
            "8080");
    RUN_ERR(1, "port 8080 at 127.0.0.1 is busy", "train", "-s", "tiny", "-m", "busy", "--viewer", "8080", ON_CPU);
    unlink("stdout.txt");
    RUN_ERR(0, "port 8080 is busy; the page is at port 80", "train", "-s", "tiny", "-m", "next", "-n", "2", "--viewer",
            ON_CPU);
    close(s);
    s = listen_at(6009);
    RUN_ERR(0, "port 6009 is busy; SIBR's viewers are listened for at port 60", "train", "-s", "tiny", "-m", "sibr",
            "-n", "2", "--sibr", ON_CPU);
    RUN_ERR(1, "cannot listen for SIBR's viewers at 127.0.0.1, port 6009", "train", "-s", "tiny", "-m", "sibr_busy",
            "--sibr", "6009", ON_CPU);
    close(s);
}

static void options_without_a_viewer(void **state)
{
    (void)state;
    static const char *const names[] = {"stay", "budget", "pause_limit"};
    char text[100];
    run("train", "-s", "tiny", "-m", "unseen", "-n", "2", "--viewer_stay", "--viewer_budget", "7",
        "--viewer_pause_limit", "9", ON_CPU, (char *)NULL);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(text, sizeof text, "--viewer_%s has no effect without --viewer or --sibr", names[i]);
        assert_non_null(strstr(standard_error, text));
    }
    if (!has_viewer) skip();
    RUN_ERR(0, "", "train", "-s", "tiny", "-m", "seen", "-n", "2", "--viewer_budget", "7", "--viewer", "0", ON_CPU);
    assert_null(strstr(standard_error, "has no effect"));
}

static void what_is_none_of_them(void **state)
{
    (void)state;
    if (!has_viewer) skip();
    RUN_ERR(1, "cannot open none.obj: No such file or directory; view takes a model folder, the folder of a scene, a "
               "splat or a mesh", "view", "none.obj", "--port", "0");
    RUN_ERR(1, "cannot open word: No such file or directory; view takes a model folder", "view", "word", "--port", "0",
            ON_CPU);
    RUN_ERR(1, "points.ply", "view", "points.ply", "--port", "0");
    RUN_ERR(2, "no faces", "view", "empty.ply", "--port", "0");
    RUN_ERR(1, "nothing is no model folder, so it is read as a scene; view takes a model folder, the folder of a "
               "scene, a splat or a mesh", "view", "nothing", "--port", "0", ON_CPU);
    RUN_ERR(1, "notes.txt is a file of an unknown type; view takes a model folder, the folder of a scene, a splat or a "
               "mesh", "view", "notes.txt", "--port", "0", ON_CPU);
}

static void options_that_do_not_go_with_them(void **state)
{
    (void)state;
    RUN_ERR(2, "a mesh is drawn on the CPU; --backend goes without it", "view", "triangle.obj", "--backend", "cpu");
    RUN_ERR(2, "--render_mode goes without it", "view", "triangle.obj", "--render_mode", "mip");
    RUN_ERR(2, "--iteration goes without them", "view", "tiny", "--iteration", "7");
    RUN_ERR(2, "a scene is named by -s already", "view", "tiny", "-s", "tiny");
    RUN_ERR(2, "named twice", "view", "triangle.obj", "-m", "tiny");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scenes_and_meshes),
        cmocka_unit_test(a_busy_port),
        cmocka_unit_test(options_without_a_viewer),
        cmocka_unit_test(what_is_none_of_them),
        cmocka_unit_test(options_that_do_not_go_with_them),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
