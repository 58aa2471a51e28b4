/* The saved splat that the viewer's pages fetch. Without civetweb all is skipped. */
#include "model/files.h"
#include "scene_fixture.h"
#include "base/file.h"
#include "io/splat/formats.h"
#include "viewer/saved.h"
#include "web_client.h"

#include <pthread.h>
#include <sys/stat.h>

typedef struct fixture {
    splat_context *context;
    splat_model *model;
    splat_viewer *viewer;
} fixture;

static const float black[3] = {0, 0, 0};

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    splat_context_options context;
    splat_viewer_options viewer;
    splat_cloud cloud;
    splat_error error;
    *state = f;
    splat_context_options_init(&context);
    context.backend = "cpu";
    ASSERT_OK(splat_context_create(&context, &f->context, &error));
    ASSERT_OK(splat_cloud_make(&cloud, 300, 2, true, &error));
    for (size_t i = 0; i < 3 * cloud.n; i++) cloud.means[i] = (float)(i % 17) * 0.1f;
    for (size_t i = 0; i < cloud.n; i++) {
        cloud.rotations[4 * i] = 1;
        cloud.filter_3d[i] = 0.5f;
    }
    ASSERT_OK(splat_model_create(f->context, 2, SPLAT_SH_FLOAT32, SPLAT_ON_DEVICE, &f->model, &error));
    ASSERT_OK(splat_model_resize(f->model, (uint32_t)cloud.n, &error));
    f->model->has_filter_3d = true;
    ASSERT_OK(splat_model_upload(f->model, &cloud, &error));
    ASSERT_OK(splat_model_set_render_mode(f->model, SPLAT_RENDER_MIP, 0, &error));
    splat_cloud_free(&cloud);
    ASSERT_OK(splat_model_save(f->model, "saved.ply", NULL, &error));
    splat_viewer_options_init(&viewer);
    viewer.port = 0;
    splat_status status = splat_viewer_open(&viewer, &f->viewer, &error);
    if (status != SPLAT_ERROR_UNSUPPORTED) ASSERT_OK(status);
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    splat_viewer_close(f->viewer);
    splat_model_destroy(f->model);
    splat_context_destroy(f->context);
    free(f);
    return 0;
}

static splat_viewer *viewer_of(void **state)
{
    fixture *f = *state;
    if (f->viewer) return f->viewer;
    printf("SKIPPED: the saved splat of the viewer: built without civetweb\n");
    skip();
    return NULL;
}

static splat_status offer(fixture *f, const char *path, int iteration, splat_error *error)
{
    return splat_viewer_offer(f->viewer, path, iteration, f->model, black, error);
}

/* The status of the answer; its body is read to the end. */
static int fetch(const splat_viewer *viewer, uint8_t *body, size_t room, size_t *n)
{
    int s = dial(viewer), status = request(s, "GET", "/api/splat", viewer->token, LOCAL);
    ssize_t got;
    *n = 0;
    while (*n < room && (got = recv(s, body + *n, room - *n, 0)) > 0) *n += (size_t)got;
    close(s);
    return status;
}

static void test_it_is_what_export_writes(void **state)
{
    splat_viewer *v = viewer_of(state);
    splat_error error;
    splat_cloud cloud;
    uint8_t body[65536], *exported;
    size_t n, n_exported;
    ASSERT_OK(offer(*state, "saved.ply", 7, &error));
    assert_int_equal(v->status.saved.number, 1);
    assert_int_equal(fetch(v, body, sizeof body, &n), 200);
    ASSERT_OK(splat_cloud_read("saved.ply", &cloud, &error));
    assert_non_null(cloud.filter_3d); /* which is baked in */
    ASSERT_OK(splat_cloud_write("saved.spz", &cloud, NULL, &error));
    splat_cloud_free(&cloud);
    ASSERT_OK(splat_file_read("saved.spz", &exported, &n_exported, &error));
    assert_int_equal(n, n_exported);
    assert_memory_equal(body, exported, n);
    free(exported);
    char *text = splat_viewer_status_json(&v->status, 1);
    assert_non_null(strstr(text, "\"saved\":{\"number\":1,\"iteration\":7,\"gaussians\":300,\"filter\":\"mip\","
                                 "\"kernel\":0.1,"));
    free(text);
}

static void test_it_needs_the_token_and_a_save(void **state)
{
    splat_viewer *v = viewer_of(state);
    splat_error error;
    assert_int_equal(ask(v, "GET", "/api/splat", v->token, LOCAL), 404);
    ASSERT_OK(offer(*state, "saved.ply", 0, &error));
    assert_int_equal(ask(v, "GET", "/api/splat", "", LOCAL), 403);
    assert_int_equal(ask(v, "GET", "/explore.js", "", LOCAL), 403);
    assert_int_equal(ask(v, "GET", "/api/splat", v->token, "Host: evil.example\r\n"), 403);
    assert_int_equal(ask(v, "GET", "/api/splat", v->token, LOCAL "Origin: http://evil.example\r\n"), 403);
    assert_int_equal(ask(v, "POST", "/api/splat", v->token, LOCAL "Content-Length: 0\r\n"), 405);
    assert_int_equal(ask(v, "GET", "/explore.js", v->token, LOCAL), SPLATSMITH_HAS_EXPLORE ? 200 : 404);
}

/* A file on its way does not change; later clients get the newer one. */
static void test_a_newer_save_takes_its_place(void **state)
{
    splat_viewer *v = viewer_of(state);
    splat_viewer_parcel *first, *again, *second;
    splat_error error;
    ASSERT_OK(offer(*state, "saved.ply", 100, &error));
    ASSERT_OK(splat_viewer_parcel_take(v, &first, &error));
    ASSERT_OK(splat_viewer_parcel_take(v, &again, &error));
    assert_ptr_equal(first, again);
    assert_int_equal(first->n_holders, 3);
    ASSERT_OK(offer(*state, "saved.ply", 200, &error));
    ASSERT_OK(splat_viewer_parcel_take(v, &second, &error));
    assert_int_equal(first->about.iteration, 100);
    assert_int_equal(first->n_holders, 2); /* the viewer has let it go */
    assert_memory_equal(first->data, second->data, first->size);
    assert_int_equal(second->about.iteration, 200);
    splat_viewer_parcel_put(v, first);
    splat_viewer_parcel_put(v, again);
    splat_viewer_parcel_put(v, second);
}

/* Pages that read slowly leave the server's other threads to the rest. */
static void test_few_fetch_at_a_time(void **state)
{
    splat_viewer *v = viewer_of(state);
    splat_viewer_parcel *held[SPLAT_VIEWER_FETCHES_MAX];
    splat_error error;
    ASSERT_OK(offer(*state, "saved.ply", 0, &error));
    for (int i = 0; i < SPLAT_VIEWER_FETCHES_MAX; i++) ASSERT_OK(splat_viewer_parcel_take(v, &held[i], &error));
    assert_int_equal(ask(v, "GET", "/api/splat", v->token, LOCAL), 503);
    splat_viewer_parcel_put(v, held[0]);
    assert_int_equal(ask(v, "GET", "/api/splat", v->token, LOCAL), 200);
    for (int i = 1; i < SPLAT_VIEWER_FETCHES_MAX; i++) splat_viewer_parcel_put(v, held[i]);
}

static void test_what_cannot_be_read_is_told(void **state)
{
    splat_viewer *v = viewer_of(state);
    fixture *f = *state;
    splat_viewer_parcel *parcel;
    splat_error error;
    uint8_t body[4096] = {0};
    size_t n;
    ASSERT_OK(offer(f, "gone.ply", 0, &error));
    assert_int_equal(fetch(v, body, sizeof body - 1, &n), 500);
    assert_string_equal((char *)body, "gone.ply: cannot open the file: No such file or directory");
    ASSERT_OK(offer(f, "saved.ply", 0, &error));
    v->status.saved.n_gaussians = SPLAT_VIEWER_FETCH_MAX + 1;
    assert_int_equal(splat_viewer_parcel_take(v, &parcel, &error), SPLAT_ERROR_ARGUMENT);
    assert_null(parcel);
    ASSERT_OK(offer(f, "saved.ply", 0, &error)); /* and nothing is left of that */
    assert_int_equal(fetch(v, body, sizeof body, &n), 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_is_what_export_writes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_it_needs_the_token_and_a_save, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_newer_save_takes_its_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_few_fetch_at_a_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_read_is_told, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
