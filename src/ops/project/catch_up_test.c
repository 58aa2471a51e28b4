/* Steps of sh_rest that are put off against steps made at once: the same bits. */
#include "ops/project/project_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_STEPS = 420, RESUMED_AT = 370, N_CAMERAS = 4 };

/* A model in training. Not to be copied. */
typedef struct course {
    project_scene scene;
    backward_state state;
    splat_put_off put_off;
    splat_block block;
} course;

static void forget_steps(course *c)
{
    const size_t n = c->scene.gaussians.n;
    splat_backend_zero(c->scene.backend, c->put_off.rows, n * sizeof(uint32_t) + sizeof *c->put_off.steps, NULL);
}

static void course_open(course *c, splat_backend *backend, const splat_gaussians *host, const splat_camera *camera,
                        bool puts_off)
{
    const size_t n = host->n;
    memset(c, 0, sizeof *c);
    project_scene_open(&c->scene, backend, host, camera, true, false);
    backward_state_open(&c->state, backend, host, SPLAT_OPTIMIZER_FLOAT32);
    if (!puts_off) return;
    uint32_t *rows = test_upload(backend, &c->block, NULL, n * sizeof *rows + sizeof(splat_put_off_steps));
    c->put_off = (splat_put_off){rows, (splat_put_off_steps *)(rows + n), c->state.moments.m.sh_rest,
                                 c->state.moments.v.sh_rest};
    forget_steps(c);
    c->scene.gaussians.put_off = &c->put_off;
}

static void course_close(course *c)
{
    splat_block_free(c->scene.backend, &c->block);
    backward_state_close(&c->state);
    project_scene_close(&c->scene);
}

/* Neighbouring parts of the scene, so that each Gaussian is seen by some of them. */
static splat_camera camera_of(int k)
{
    splat_camera camera = test_camera_make(64, 48);
    camera.fx *= 3;
    camera.fy *= 3;
    camera.cx += (float)(k % 2 ? 40 : -40);
    camera.cy += (float)(k / 2 ? 30 : -30);
    return camera;
}

/* All cameras, then for longer than steps are remembered two of them, then all again. */
static int camera_at(int step)
{
    return step < 40 || step > 350 ? step % N_CAMERAS : step % 2;
}

/* Rates fall, bands come one by one, and now and then sh_rest is not stepped. A device has several kernels for what
 * moves the geometry, so there it stays. */
static void set_step(course *c, int step)
{
    const bool on_device = strcmp(splat_backend_name(c->scene.backend), "cpu") != 0;
    const int active = step < 5 ? 0 : step < 20 ? 1 : step < 60 ? 2 : 3;
    backward_set_step(&c->state.adam, step);
    for (int t = 0; t < SPLAT_N_TENSORS; t++) {
        c->state.adam.lr[t] = 1e-3f * powf(0.99f, (float)step);
        c->state.adam.update[t] = !on_device || t == SPLAT_TENSOR_sh_dc || t == SPLAT_TENSOR_sh_rest;
    }
    if (step % 50 == 17) c->state.adam.update[SPLAT_TENSOR_sh_rest] = false;
    c->scene.gaussians.active_sh_degree = active < c->scene.gaussians.sh_degree ? active : c->scene.gaussians.sh_degree;
}

static int make_step(course *c, int step, const splat_grad2d *grads)
{
    const splat_camera camera = camera_of(camera_at(step));
    set_step(c, step);
    c->scene.frame.camera = camera;
    return project_run_backward(&c->scene, grads, &c->state.adam, NULL, NULL);
}

static int catch_up(course *c)
{
    int failures = 0;
    splat_error error = {0};
    struct splat_catch_up_args args = {&c->scene.gaussians};
    TEST_CHECK(failures, splat_op_catch_up(c->scene.backend, &args, &error) == SPLAT_OK, "%s", error.message);
    return failures;
}

static bool is_same(const float *a, const float *b, size_t n, double tolerance)
{
    double worst = 0, largest = 0;
    if (tolerance == 0) return memcmp(a, b, n * sizeof *a) == 0;
    for (size_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
        largest = fmax(largest, fabs((double)b[i]));
    }
    return worst <= tolerance * largest;
}

/* sh_rest and its moments. */
static int compare(const course *a, const course *b, double tolerance, const char *what)
{
    int failures = 0;
    splat_backend *backend = a->scene.backend;
    const size_t n = a->state.floats[SPLAT_TENSOR_sh_rest];
    const float *pairs[3][2] = {{a->scene.gaussians.p.sh_rest, b->scene.gaussians.p.sh_rest},
                                {a->state.moments.m.sh_rest, b->state.moments.m.sh_rest},
                                {a->state.moments.v.sh_rest, b->state.moments.v.sh_rest}};
    static const char *const names[3] = {"sh_rest", "m", "v"};
    for (int k = 0; k < 3; k++) {
        float *x = project_host_copy(backend, pairs[k][0], n), *y = project_host_copy(backend, pairs[k][1], n);
        TEST_CHECK(failures, is_same(x, y, n, tolerance), "%s: %s differs", what, names[k]);
        free(x);
        free(y);
    }
    return failures;
}

/* The case is really there: rows that lack several steps and were stepped before, and the longest gap. */
static void look(const course *c, uint32_t *longest, int *n_several)
{
    uint32_t *rows = project_host_copy(c->scene.backend, c->put_off.rows, c->scene.gaussians.n);
    *n_several = 0;
    for (uint32_t i = 0; i < c->scene.gaussians.n; i++) {
        if (rows[i] > *longest) *longest = rows[i];
        *n_several += rows[i] > 1 && rows[i] < 100;
    }
    free(rows);
}

static int check_degree(splat_backend *backend, int sh_degree)
{
    int failures = 0, n_several = 0;
    uint32_t longest = 0;
    const bool on_device = strcmp(splat_backend_name(backend), "cpu") != 0;
    test_gaussians t = test_gaussians_make(203, sh_degree, sh_degree, 31);
    splat_camera camera = camera_of(0);
    course dense, now, later; /* now: every step is made up for at once */
    course_open(&dense, backend, &t.g, &camera, false);
    course_open(&now, backend, &t.g, &camera, true);
    course_open(&later, backend, &t.g, &camera, true);
    for (int step = 1; step <= N_STEPS && failures == 0; step++) {
        splat_grad2d *grads = project_random_grads(t.g.n, (uint64_t)(100 + step % 7));
        failures += make_step(&dense, step, grads) + make_step(&now, step, grads) + make_step(&later, step, grads);
        failures += catch_up(&now);
        TEST_CHECK(failures, memcmp(now.scene.rgb, later.scene.rgb, 3 * now.scene.n_visible * sizeof(float)) == 0,
                   "step %d: colours differ", step);
        look(&later, &longest, &n_several);
        if (step == 38) TEST_CHECK(failures, n_several > 20, "%d rows lack steps", n_several);
        if (step == RESUMED_AT) { /* as a checkpoint and a resume do */
            failures += catch_up(&later);
            forget_steps(&later);
            failures += compare(&now, &later, 0, "before the resume");
        }
        free(grads);
    }
    TEST_CHECK(failures, longest == SPLAT_PUT_OFF_ROOM - 1, "the longest gap was %u steps", longest);
    failures += catch_up(&later);
    failures += compare(&now, &later, 0, "put off");
    failures += compare(&dense, &now, on_device ? 1e-4 : 0, "dense");
    course_close(&dense);
    course_close(&now);
    course_close(&later);
    test_gaussians_free(&t);
    return failures;
}

int test_op_catch_up(splat_backend *backend)
{
    int failures = 0;
    for (int degree = 1; degree <= SPLAT_MAX_SH_DEGREE; degree++) failures += check_degree(backend, degree);
    return failures;
}
