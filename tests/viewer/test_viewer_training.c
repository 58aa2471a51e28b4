/* The viewer during a training, also of several ranks: clients that look, pause, save and stop do not change the bytes;
 * and the time that pictures take. Without civetweb all is skipped. */
#include "scene_fixture.h"
#include "splatsmith/sample.h"
#include "train/state.h"
#include "web_client.h"

#include "base/clock.h"

#include <pthread.h>

#define STEPS 120

/* ---------------------------------------------------------------- a run */

typedef struct run {
    splat_context *context;
    splat_scene *scene;
    splat_trainer *trainer;
    splat_workers *workers; /* NULL: this is the only rank */
    splat_viewer *viewer;   /* NULL: nobody looks */
    double in_events;       /* seconds that the viewer's events took, without pauses */
    int n_pauses, n_ends;   /* pauses that began, and that ended because nobody was there */
} run;

static void on_log(void *user, splat_log_level level, const char *message)
{
    run *r = user;
    (void)level;
    r->n_pauses += strstr(message, "the viewer pauses") != NULL;
    r->n_ends += strstr(message, "no page of the viewer has been open") != NULL;
}

/* How the runs of a test train. */
static int n_ranks = 1;
static double pause_limit = 300;

static void open_run(run *r, int iterations, bool watched, double budget)
{
    splat_error error;
    splat_context_options context;
    splat_scene_options scene;
    splat_train_options train;
    splat_viewer_options viewer;
    memset(r, 0, sizeof *r);
    splat_context_options_init(&context);
    context.backend = "cpu";
    context.log = on_log;
    context.log_user = r;
    context.threads = n_ranks > 1 ? 1 : context.threads;
    ASSERT_OK(splat_context_create(&context, &r->context, &error));
    ASSERT_OK(splat_context_set_memory_limit(r->context, (size_t)1 << 32, &error)); /* pictures leave nothing behind */
    splat_scene_options_init(&scene);
    scene.source_path = "scene";
    ASSERT_OK(splat_scene_open(r->context, &scene, &r->scene, &error));
    splat_train_options_init(&train);
    train.iterations = iterations;
    train.densify_from_iter = 20;
    train.densification_interval = 20;
    if (n_ranks > 1)
        ASSERT_OK(splat_workers_start(&context, r->scene, &train, n_ranks, &r->workers, &train.ranks, &error));
    ASSERT_OK(splat_trainer_create(r->context, r->scene, &train, &r->trainer, &error));
    if (!watched) return;
    splat_viewer_options_init(&viewer);
    viewer.port = 0;
    viewer.budget = budget;
    viewer.pause_limit = pause_limit;
    splat_status status = splat_viewer_open(&viewer, &r->viewer, &error);
    if (status == SPLAT_ERROR_UNSUPPORTED) {
        printf("SKIPPED: the viewer during a training: built without civetweb\n");
        skip();
    }
    ASSERT_OK(status);
    ASSERT_OK(splat_viewer_watch(r->viewer, r->trainer, "train", &error));
}

static void on_event(void *user, const splat_event *event)
{
    run *r = user;
    const int n_pauses = r->n_pauses;
    const double begin = splat_clock_seconds();
    if (r->viewer) splat_viewer_event(r->viewer, event);
    if (r->n_pauses == n_pauses) r->in_events += splat_clock_seconds() - begin;
}

static splat_status train(run *r, const char *folder, const char *checkpoint, splat_error *error)
{
    splat_run_options options;
    const int at[] = {STEPS};
    splat_run_options_init(&options);
    options.model_path = folder;
    options.checkpoint_iterations = at;
    options.n_checkpoint_iterations = 1;
    options.start_checkpoint = checkpoint;
    options.event = on_event;
    options.event_user = r;
    return splat_trainer_run(r->trainer, &options, error);
}

static void close_run(run *r)
{
    splat_viewer_close(r->viewer);
    splat_trainer_destroy(r->trainer);
    splat_workers_join(r->workers);
    splat_scene_close(r->scene);
    splat_context_destroy(r->context);
}

static void assert_same_file(const char *a_folder, const char *b_folder, const char *name)
{
    uint8_t *a, *b;
    size_t n_a, n_b;
    splat_error error;
    char *a_path = splat_format("%s/%s", a_folder, name), *b_path = splat_format("%s/%s", b_folder, name);
    ASSERT_OK(splat_file_read(a_path, &a, &n_a, &error));
    ASSERT_OK(splat_file_read(b_path, &b, &n_b, &error));
    assert_int_equal(n_a, n_b);
    assert_memory_equal(a, b, n_a);
    free(a);
    free(b);
    free(a_path);
    free(b_path);
}

/* ---------------------------------------------------------------- clients, in a thread of their own */

typedef struct looker {
    splat_viewer *viewer;
    pthread_t thread;
    _Atomic bool is_over;
    bool saw_pause, saw_save, other_saw_end, still_paused; /* in the texts */
    _Atomic double left_at;
    int n_pictures;
} looker;

static void wish_kind(int s, int seq, const char *what, const char *more)
{
    char text[512];
    snprintf(text, sizeof text, "{\"camera\":{\"seq\":%d,\"position\":[0,0,-3],\"quaternion\":[1,0,0,0],\"fov_y\":60},"
             "\"size\":[64,48],\"what\":\"%s\"%s}", seq, what, more);
    send_frame(s, 0x81, text);
}

/* Reads messages until a text contains the words; pictures are acknowledged. False: none came within the time. */
static bool wait_for_text(looker *l, int s, const char *words, double seconds)
{
    static uint8_t data[1 << 20];
    const double end = splat_clock_seconds() + seconds;
    while (splat_clock_seconds() < end) {
        uint8_t head[10];
        struct pollfd ready = {s, POLLIN, 0};
        if (poll(&ready, 1, 100) != 1) continue;
        if (recv(s, head, 2, MSG_WAITALL) != 2) return false;
        size_t n = head[1];
        if (n >= 126) {
            recv(s, head + 2, n == 126 ? 2 : 8, MSG_WAITALL);
            n = n == 126 ? (size_t)head[2] << 8 | head[3] : (size_t)head[7] << 16 | (size_t)head[8] << 8 | head[9];
        }
        if (n >= sizeof data || recv(s, data, n, MSG_WAITALL) != (ssize_t)n) return false;
        data[n] = '\0';
        if ((head[0] & 15) == 1 && words && strstr((char *)data, words)) return true;
        if ((head[0] & 15) != 2) continue;
        char ack[64];
        snprintf(ack, sizeof ack, "{\"ack\":%u}", data[4] | (unsigned)data[5] << 8);
        send_frame(s, 0x81, ack);
        l->n_pictures++;
        if (!words) return true;
    }
    return false;
}

static const struct {
    const char *what, *more;
} wishes[] = {{"color", ""}, {"depth", ""}, {"normal", ""}, {"alpha", ""}, {"density", ""},
              {"error", ",\"view\":1"}, {"photo", ",\"view\":2"}, {"color", ",\"view\":0"},
              {"color", ",\"box\":[-1,-1,-1,1,1,1]"}, {"error", ",\"view\":0,\"box\":[0,0,0,1,1,1]"},
              {"photo", ",\"view\":999"}, {"color", ",\"moving\":true"}};
enum { N_WISHES = sizeof wishes / sizeof wishes[0] };

/* Pauses, looks at everything, saves in the pause; another page ends it; one page asks and never reads. */
static void *look(void *user)
{
    looker *l = user;
    int s = dial_socket(l->viewer), other = dial_socket(l->viewer), slow = dial_socket(l->viewer);
    send_frame(s, 0x81, "{\"do\":\"pause\"}");
    l->saw_pause = wait_for_text(l, s, "\"paused\":true", 20);
    for (int i = 0; i < N_WISHES; i++) {
        wish_kind(s, i + 1, wishes[i].what, wishes[i].more);
        if (i != 10) wait_for_text(l, s, NULL, 20); /* the scene has no view 999 */
    }
    send_frame(s, 0x81, "{\"do\":\"save\"}");
    l->saw_save = wait_for_text(l, s, "point_cloud.ply", 20);
    send_frame(other, 0x81, "{\"do\":\"go on\"}");
    for (int i = 0; i < 2000 && !l->is_over; i++) {
        wish_kind(slow, i, "color", "");
        wish_kind(s, 100 + i, wishes[i % 10].what, wishes[i % 10].more);
        wait_for_text(l, s, NULL, 0.2);
        usleep(5000);
    }
    l->other_saw_end = wait_for_text(l, other, "\"over\":true", 20);
    close(s);
    close(other);
    close(slow);
    return NULL;
}

static int count_clients(splat_viewer *viewer)
{
    pthread_mutex_lock(&viewer->mutex);
    const int n = splat_viewer_count_clients(viewer);
    pthread_mutex_unlock(&viewer->mutex);
    return n;
}

static void test_the_bytes_are_the_same_whoever_looks(void **state)
{
    (void)state;
    run r;
    splat_folder_delete("watched", NULL);
    splat_folder_delete("alone", NULL);
    splat_error error;
    looker l = {0};
    open_run(&r, STEPS, true, 1);
    l.viewer = r.viewer;
    assert_int_equal(pthread_create(&l.thread, NULL, look, &l), 0);
    for (int i = 0; i < 2000 && count_clients(r.viewer) < 3; i++) usleep(10000);
    usleep(100000); /* the pause has arrived */
    ASSERT_OK(train(&r, "watched", NULL, &error));
    l.is_over = true;
    splat_viewer_close(r.viewer);
    r.viewer = NULL;
    pthread_join(l.thread, NULL);
    close_run(&r);
    assert_true(l.saw_pause);
    assert_true(l.saw_save);
    assert_true(l.other_saw_end);
    assert_true(l.n_pictures >= N_WISHES - 1);
    assert_int_equal(r.n_pauses, 1);

    open_run(&r, STEPS, false, 1);
    ASSERT_OK(train(&r, "alone", NULL, &error));
    close_run(&r);
    char *name = splat_format("point_cloud/iteration_%d/point_cloud.ply", STEPS);
    assert_same_file("alone", "watched", name);
    free(name);
    name = splat_format("chkpnt%d.splatsmith", STEPS);
    assert_same_file("alone", "watched", name);
    free(name);
}

static void *stop_soon(void *user)
{
    looker *l = user;
    int s = dial_socket(l->viewer);
    wait_for_text(l, s, "\"iteration\":", 20);
    send_frame(s, 0x81, "{\"do\":\"pause\"}");
    l->saw_pause = wait_for_text(l, s, "\"paused\":true", 20);
    send_frame(s, 0x81, "{\"do\":\"stop\"}");
    wait_for_text(l, s, "\"over\":true", 20);
    close(s);
    return NULL;
}

static void test_a_stop_in_a_pause_saves_and_can_be_gone_on_with(void **state)
{
    (void)state;
    run r;
    splat_error error;
    looker l = {0};
    splat_folder_delete("stopped", NULL);
    open_run(&r, 1000000, true, 1);
    l.viewer = r.viewer;
    assert_int_equal(pthread_create(&l.thread, NULL, stop_soon, &l), 0);
    assert_int_equal(train(&r, "stopped", NULL, &error), SPLAT_ERROR_STOPPED);
    const int reached = splat_trainer_get_iteration(r.trainer);
    splat_viewer_close(r.viewer);
    r.viewer = NULL;
    pthread_join(l.thread, NULL);
    close_run(&r);
    assert_true(l.saw_pause);
    open_run(&r, reached + 3, false, 1);
    ASSERT_OK(train(&r, "stopped", "latest", &error));
    assert_int_equal(splat_trainer_get_iteration(r.trainer), reached + 3);
    close_run(&r);
}

/* Pauses and goes; comes back before the limit, stays longer than it, and goes again. */
static void *pause_and_go(void *user)
{
    looker *l = user;
    int s = dial_socket(l->viewer);
    send_frame(s, 0x81, "{\"do\":\"pause\"}");
    l->saw_pause = wait_for_text(l, s, "\"paused\":true", 20);
    l->left_at = splat_clock_seconds();
    close(s);
    usleep(600000);
    s = dial_socket(l->viewer);
    usleep(1200000); /* longer than the limit, and the pause lasts: a page is there */
    l->still_paused = wait_for_text(l, s, "\"paused\":true", 20);
    l->left_at = splat_clock_seconds();
    close(s);
    for (int i = 0; i < 150 && !l->is_over; i++) usleep(100000);
    if (l->is_over) return NULL;
    s = dial_socket(l->viewer); /* the pause lasts: the test fails, and ends */
    send_frame(s, 0x81, "{\"do\":\"go on\"}");
    wait_for_text(l, s, "\"paused\":false", 20);
    close(s);
    return NULL;
}

static void test_a_pause_that_everybody_left_ends(void **state)
{
    (void)state;
    run r;
    splat_error error;
    splat_step_info step;
    looker l = {0};
    splat_step_info_init(&step);
    pause_limit = 1;
    open_run(&r, 1000000, true, 1);
    pause_limit = 300;
    l.viewer = r.viewer;
    assert_int_equal(pthread_create(&l.thread, NULL, pause_and_go, &l), 0);
    while (!r.n_pauses) {
        ASSERT_OK(splat_trainer_step(r.trainer, &step, &error));
        on_event(&r, &(splat_event){.kind = SPLAT_EVENT_STEP, .step = &step});
    }
    const double seconds = splat_clock_seconds() - l.left_at;
    l.is_over = true;
    pthread_join(l.thread, NULL);
    assert_true(l.saw_pause && l.still_paused);
    assert_int_equal(r.n_ends, 1);
    assert_true(seconds >= 1 && seconds < 10);
    assert_false(r.viewer->status.is_paused);
    assert_non_null(strstr(r.viewer->status.note, "the pause ended"));
    close_run(&r);
}

static void note_loss(run *r, int iteration, float loss)
{
    splat_step_info step = {.iteration = iteration, .loss = loss, .n_gaussians = 1, .n_views = 1};
    on_event(r, &(splat_event){.kind = SPLAT_EVENT_STEP, .step = &step});
}

/* The first loss counts whole, of later ones 0.4; a loss of 0 is not known yet. */
static void test_the_loss_that_pages_show_is_a_running_mean(void **state)
{
    (void)state;
    run r;
    looker l = {0};
    open_run(&r, 1000000, true, 1);
    int s = dial_socket(r.viewer);
    note_loss(&r, 1, 0.5f);
    assert_true(wait_for_text(&l, s, "\"loss\":0.5,", 20));
    note_loss(&r, 2, 0.25f);
    assert_true(wait_for_text(&l, s, "\"loss\":0.4,", 20)); /* 0.4 x 0.25 + 0.6 x 0.5 */
    note_loss(&r, 3, 0);
    note_loss(&r, 4, 0.4f);
    note_loss(&r, 5, 0.9f);
    assert_true(wait_for_text(&l, s, "\"loss\":0.6,", 20)); /* 0.4 x 0.9 + 0.6 x 0.4 */
    close(s);
    close_run(&r);
}

/* Pictures of several ranks are made by all of them. */
static void test_ranks_are_looked_at_likewise(void **state)
{
    for (int i = 0; i < 2; i++) {
        n_ranks = 2 + i;
        test_the_bytes_are_the_same_whoever_looks(state);
        test_a_stop_in_a_pause_saves_and_can_be_gone_on_with(state);
    }
    n_ranks = 1;
}

/* Asks for large pictures as fast as they come. */
static void *look_greedily(void *user)
{
    looker *l = user;
    int s = dial_socket(l->viewer);
    for (int i = 0; !l->is_over; i++) {
        char text[512];
        snprintf(text, sizeof text, "{\"camera\":{\"seq\":%d,\"position\":[0,0,-3],\"quaternion\":[1,0,0,0],"
                 "\"fov_y\":60},\"size\":[640,480]}", i % 60000);
        send_frame(s, 0x81, text);
        wait_for_text(l, s, NULL, 0.3);
    }
    close(s);
    return NULL;
}

static void test_pictures_stay_within_their_share_of_the_time(void **state)
{
    (void)state;
    run r;
    splat_error error;
    splat_step_info step;
    looker l = {0};
    splat_step_info_init(&step);
    open_run(&r, 1000000, true, 0.05);
    l.viewer = r.viewer;
    assert_int_equal(pthread_create(&l.thread, NULL, look_greedily, &l), 0);
    const double begin = splat_clock_seconds();
    double longest = 0;
    while (splat_clock_seconds() - begin < 6) {
        ASSERT_OK(splat_trainer_step(r.trainer, &step, &error));
        const double before = r.in_events;
        on_event(&r, &(splat_event){.kind = SPLAT_EVENT_STEP, .step = &step});
        if (r.in_events - before > longest) longest = r.in_events - before;
    }
    const double seconds = splat_clock_seconds() - begin;
    l.is_over = true;
    pthread_join(l.thread, NULL);
    close_run(&r);
    printf("%d pictures, %.1f %% of the time\n", l.n_pictures, 100 * r.in_events / seconds);
    assert_true(l.n_pictures >= 2);
    /* 0.1 s are there at first and 0.3 s may be ahead; noting 6 seconds of steps takes below 0.1 s. */
    assert_true(r.in_events < 0.05 * seconds + 0.1 + 0.3 + longest + 0.1);
}

static void test_nobody_looks_and_nothing_is_rendered(void **state)
{
    (void)state;
    run r;
    splat_error error;
    splat_step_info step;
    splat_step_info_init(&step);
    open_run(&r, 1000000, true, 0.05);
    for (int i = 0; i < 50; i++) {
        ASSERT_OK(splat_trainer_step(r.trainer, &step, &error));
        on_event(&r, &(splat_event){.kind = SPLAT_EVENT_STEP, .step = &step});
    }
    assert_true(r.viewer->cost[0].seconds == 0 && r.viewer->cost[1].seconds == 0);
    assert_int_equal(r.viewer->status.n_blocks, 0); /* nor is memory counted */
    close_run(&r);
}

/* Losses of views differ: the shown one begins with the first, is calmer than they are, and follows them. */
static void test_the_shown_loss_is_a_running_mean(void **state)
{
    (void)state;
    run r;
    open_run(&r, STEPS, true, 0.05);
    for (int i = 1; i <= 200; i++) {
        const splat_step_info step = {.iteration = i, .loss = i == 1 ? 0.5f : i > 100 ? 0.05f : i % 2 ? 0.1f : 0.3f};
        on_event(&r, &(splat_event){.kind = SPLAT_EVENT_STEP, .step = &step});
        const double shown = r.viewer->status.loss;
        if (i == 1) assert_float_equal(shown, 0.5, 1e-6);
        if (i > 20 && i <= 100) assert_true(shown > 0.16 && shown < 0.24);
    }
    assert_float_equal(r.viewer->status.loss, 0.05, 1e-4);
    close_run(&r);
}

/* The first measured rate counts whole: 20 steps in a quarter of a second are nearly 80 a second. */
static void test_the_first_rate_is_shown_as_it_is(void **state)
{
    (void)state;
    run r;
    open_run(&r, STEPS, true, 0.05);
    const double begin = splat_clock_seconds();
    note_loss(&r, 1, 0.5f);
    usleep(250000);
    note_loss(&r, 21, 0.5f);
    const double slowest = 20 / (splat_clock_seconds() - begin);
    assert_true(r.viewer->status.rate >= slowest && r.viewer->status.rate <= 80);
    close_run(&r);
}

static int set_up(void **state)
{
    (void)state;
    splat_error error;
    splat_context *context;
    splat_context_options options;
    splat_sample_options sample;
    fixture_folder("scene");
    splat_context_options_init(&options);
    options.backend = "cpu";
    splat_sample_options_init(&sample);
    sample.width = 64;
    sample.height = 48;
    sample.n_cameras = 8;
    sample.n_points = 200;
    sample.n_truth = 20;
    sample.supersample = 1;
    if (splat_context_create(&options, &context, &error) != SPLAT_OK) return 1;
    splat_status status = splat_sample_write(context, "scene", &sample, &error);
    splat_context_destroy(context);
    splat_folder_delete("watched", NULL);
    splat_folder_delete("alone", NULL);
    splat_folder_delete("stopped", NULL);
    return status != SPLAT_OK;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_bytes_are_the_same_whoever_looks),
        cmocka_unit_test(test_a_stop_in_a_pause_saves_and_can_be_gone_on_with),
        cmocka_unit_test(test_a_pause_that_everybody_left_ends),
        cmocka_unit_test(test_the_loss_that_pages_show_is_a_running_mean),
        cmocka_unit_test(test_ranks_are_looked_at_likewise),
        cmocka_unit_test(test_pictures_stay_within_their_share_of_the_time),
        cmocka_unit_test(test_nobody_looks_and_nothing_is_rendered),
        cmocka_unit_test(test_the_shown_loss_is_a_running_mean),
        cmocka_unit_test(test_the_first_rate_is_shown_as_it_is),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
