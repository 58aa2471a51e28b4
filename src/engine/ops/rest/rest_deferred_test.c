/* Tests of the steps of sh_rest that a backend puts off: the same as if none had been, whenever they are made up; and
 * of those of the other tensors, which it may make elsewhere then for Gaussians that the view does not see. */
#include "ops/project/project_test.h"

#include "math/camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 500, STEPS = 300, LEFT_OUT = 118, NO_UPDATE = 207, CAMERAS = 4 };

/* sh_rest and its moments, the colours of the last view, and the other tensors with their moments, after which come the
 * gradients of those that the last view sees. */
typedef struct outcome {
    float *p, *m, *v, *rgb, *others;
    size_t n_others;
    uint32_t n_unseen; /* in all views together */
} outcome;

typedef struct deferral {
    splat_deferred_rest rest;
    splat_block blocks[3];
} deferral;

static void deferral_open(deferral *d, splat_backend *backend, uint32_t n)
{
    memset(d, 0, sizeof *d);
    d->rest.gradient = test_upload(backend, &d->blocks[0], NULL, (size_t)n * 4 * sizeof(float));
    d->rest.direction = test_upload(backend, &d->blocks[1], NULL, (size_t)n * 3 * sizeof(float));
    d->rest.steps = test_upload(backend, &d->blocks[2], NULL, SPLAT_MAX_DEFERRED * 2 * sizeof(float));
}

static void settle(const project_scene *scene, int *failures)
{
    splat_error error = {0};
    splat_status status =
        splat_op_settle_rest(scene->backend, &(struct splat_settle_rest_args){&scene->gaussians, &scene->rest}, &error);
    TEST_CHECK(*failures, status == SPLAT_OK, "settle_rest: %s", error.message);
    TEST_CHECK(*failures, !scene->rest.deferred || scene->rest.deferred->n_steps == 0, "not settled");
}

static void append_copy(outcome *o, splat_backend *backend, const float *device, size_t n)
{
    float *copy = project_host_copy(backend, device, n);
    o->others = realloc(o->others, (o->n_others + n) * sizeof *o->others);
    memcpy(o->others + o->n_others, copy, n * sizeof *copy);
    o->n_others += n;
    free(copy);
}

static void copy_seen(outcome *o, const project_scene *scene, const float *device, size_t channels)
{
    const size_t first = o->n_others;
    append_copy(o, scene->backend, device, N * channels);
    for (size_t k = 0; k < N * channels; k++)
        if (scene->entry_of[k / channels] < 0) o->others[first + k] = 0;
}

static void copy_others(outcome *o, const project_scene *scene, const backward_state *state)
{
    const splat_tensors *const all[] = {&scene->gaussians.p, &state->moments.m, &state->moments.v};
    for (int t = 0; t < SPLAT_N_TENSORS; t++)
        for (int k = 0; k < 3 && t != SPLAT_TENSOR_sh_rest; k++)
            append_copy(o, scene->backend, project_tensor_of(all[k], t), state->floats[t]);
}

/* Gradients that are written for the seen alone do not keep steps from being put off. */
static void check_put_off(const project_scene *scene, int *failures)
{
    TEST_CHECK(*failures, !scene->rest.deferred || scene->rest.deferred->n_steps > 0, "nothing was put off");
}

/* STEPS steps from cameras that see different parts, bands becoming active on the way. settles: how many steps apart
 * the rows are settled, 0: only at the end; -1: nothing is put off. */
static outcome run(splat_backend *backend, int sh_degree, int settles, int *failures)
{
    outcome o = {0};
    test_gaussians t = test_gaussians_make(N, sh_degree, 1, 21);
    splat_camera cameras[CAMERAS];
    project_scene scene;
    backward_state state;
    deferral d;
    for (int k = 0; k < CAMERAS; k++) {
        cameras[k] = test_camera_make(96, 64);
        cameras[k].cx += (float)(k % 2 ? 30 : -30);
        cameras[k].cy += (float)(k / 2 ? 20 : -20);
    }
    project_scene_open(&scene, backend, &t.g, cameras, true, false);
    backward_state_open(&state, backend, &t.g, SPLAT_OPTIMIZER_FLOAT32);
    deferral_open(&d, backend, N);
    if (settles >= 0) scene.rest.deferred = &d.rest;
    scene.opacity_pull = scene.scale_pull = sh_degree == 2 ? 1e-3f : 0;
    for (int step = 1; step <= STEPS; step++) {
        splat_grad2d *grads = project_random_grads(N, 700 + (uint64_t)step);
        backward_set_step(&state.adam, step);
        state.adam.lr[SPLAT_TENSOR_sh_rest] = 0.002f / (float)step;
        state.adam.update[SPLAT_TENSOR_means] = false; /* the same are seen, whatever the last bits */
        state.adam.update[SPLAT_TENSOR_sh_rest] = step != NO_UPDATE;
        scene.gaussians.active_sh_degree = step < 40 ? 1 : sh_degree;
        scene.frame.camera = cameras[(step * step / 3) % CAMERAS];
        scene.not_finite = step == LEFT_OUT;
        const splat_tensors written = {.means = state.gradients.means,
                                       .scales = state.gradients.scales,
                                       .rotations = state.gradients.rotations};
        scene.write_seen = true;
        *failures += project_run_backward(&scene, grads, &state.adam, NULL, step % 2 ? NULL : &written);
        o.n_unseen += N - scene.n_visible;
        free(grads);
        if (settles > 0 && step % settles == 0) settle(&scene, failures);
    }
    o.rgb = calloc(3 * N, sizeof *o.rgb);
    for (size_t i = 0; i < N; i++)
        if (scene.entry_of[i] >= 0) memcpy(o.rgb + 3 * i, scene.rgb + 3 * (size_t)scene.entry_of[i], 12);
    if (settles != 1) check_put_off(&scene, failures);
    settle(&scene, failures);
    const size_t floats = state.floats[SPLAT_TENSOR_sh_rest];
    o.p = project_host_copy(backend, scene.gaussians.p.sh_rest, floats);
    o.m = project_host_copy(backend, state.moments.m.sh_rest, floats);
    o.v = project_host_copy(backend, state.moments.v.sh_rest, floats);
    copy_others(&o, &scene, &state);
    copy_seen(&o, &scene, state.gradients.means, 3);
    copy_seen(&o, &scene, state.gradients.scales, 3);
    copy_seen(&o, &scene, state.gradients.rotations, 4);
    for (int k = 0; k < 3; k++) splat_block_free(backend, &d.blocks[k]);
    backward_state_close(&state);
    project_scene_close(&scene);
    test_gaussians_free(&t);
    return o;
}

static void forget(outcome *o)
{
    free(o->p);
    free(o->m);
    free(o->v);
    free(o->rgb);
    free(o->others);
}

/* Rounding of a gradient may differ where a compiler joins multiplications and additions in other places. */
static bool are_near(const float *a, const float *b, size_t n)
{
    double worst = 0, largest = 0;
    for (size_t k = 0; k < n; k++) {
        worst = fmax(worst, fabs((double)a[k] - (double)b[k]));
        largest = fmax(largest, fabs((double)b[k]));
        if (!isfinite(a[k])) return false;
    }
    return largest > 0 && worst <= 2e-6 * largest;
}

static int check_degree(splat_backend *backend, int sh_degree)
{
    int failures = 0;
    const size_t floats = (size_t)N * splat_sh_rest_floats(sh_degree), bytes = floats * sizeof(float);
    outcome dense = run(backend, sh_degree, -1, &failures);
    TEST_CHECK(failures, dense.n_unseen > STEPS * N / 4 && dense.n_unseen < STEPS * N * 3 / 4, "%u unseen",
               dense.n_unseen);
    outcome late = run(backend, sh_degree, backend->defers_rest ? 0 : -1, &failures);
    TEST_CHECK(failures, are_near(late.p, dense.p, floats), "parameters of degree %d", sh_degree);
    TEST_CHECK(failures, are_near(late.m, dense.m, floats), "first moments of degree %d", sh_degree);
    TEST_CHECK(failures, are_near(late.v, dense.v, floats), "second moments of degree %d", sh_degree);
    TEST_CHECK(failures, are_near(late.rgb, dense.rgb, 3 * (size_t)N), "colours of degree %d", sh_degree);
    TEST_CHECK(failures, late.n_others == dense.n_others && are_near(late.others, dense.others, dense.n_others),
               "other tensors of degree %d", sh_degree);
    for (int settles = 1; backend->defers_rest && settles < 100; settles += 32) {
        outcome often = run(backend, sh_degree, settles, &failures);
        TEST_CHECK(failures, memcmp(often.p, late.p, bytes) == 0 && memcmp(often.m, late.m, bytes) == 0 &&
                   memcmp(often.v, late.v, bytes) == 0 && memcmp(often.rgb, late.rgb, 12 * (size_t)N) == 0,
                   "other bits of degree %d when settled every %d steps", sh_degree, settles);
        forget(&often);
    }
    forget(&dense);
    forget(&late);
    return failures;
}

int test_op_settle_rest(splat_backend *backend)
{
    int failures = check_project_cache(backend);
    for (int sh_degree = 1; sh_degree <= 3; sh_degree++) TEST_CASE(failures, check_degree(backend, sh_degree));
    return failures;
}
