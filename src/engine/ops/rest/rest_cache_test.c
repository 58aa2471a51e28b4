/* Tests of rows of sh_rest and of its moments that lie in host memory: the same bits with a cache of them, of whatever
 * size, and without. */
#include "ops/project/project_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 700, STEPS = 60, LEFT_OUT = 21, NO_UPDATE = 33, SETTLED = 45, CAMERAS = 4, MOST_TENSORS = 3 };

typedef struct outcome {
    void *words[MOST_TENSORS]; /* sh_rest and its moments, as they are stored */
    size_t n_words[MOST_TENSORS];
    float *rgb; /* [N][3] of all views together, black where a Gaussian was not seen */
} outcome;

typedef struct variant {
    splat_sh_storage sh;
    splat_optimizer_storage optimizer;
    int sh_degree;
    uint32_t n_slots;
    bool moments_only;
} variant;

static void open_cache(splat_rest_cache *cache, splat_block *block, project_scene *scene, const backward_state *state,
                       const variant *v)
{
    const int rest = SPLAT_TENSOR_sh_rest;
    const bool quantized = v->optimizer == SPLAT_OPTIMIZER_QUANTIZED;
    size_t zeroed;
    *cache = (splat_rest_cache){
        .n_slots = v->n_slots,
        .n_rows = N,
        .rest_words = v->moments_only ? 0 : splat_parameter_words(rest, v->sh_degree, v->sh),
        .moment_words = quantized ? splat_quantized_moment_words(rest, v->sh_degree)
                                  : splat_tensor_channels(rest, v->sh_degree),
        .is_empty = true};
    cache->home_moments[0] = quantized ? state->moments.quantized[rest] : (uint32_t *)state->moments.m.sh_rest;
    cache->home_moments[1] = quantized ? NULL : (uint32_t *)state->moments.v.sh_rest;
    size_t bytes = splat_rest_cache_cut(cache, NULL, &zeroed);
    splat_rest_cache_cut(cache, test_upload(scene->backend, block, NULL, bytes), &zeroed);
    scene->rest.cache = cache;
}

static void settle(const project_scene *scene, int *failures)
{
    splat_error error = {0};
    splat_status status =
        splat_op_settle_rest(scene->backend, &(struct splat_settle_rest_args){&scene->gaussians, &scene->rest}, &error);
    TEST_CHECK(*failures, status == SPLAT_OK, "settle_rest: %s", error.message);
    TEST_CHECK(*failures, !scene->rest.cache || scene->rest.cache->is_empty, "rows are not at home");
}

static void add_colours(outcome *o, const project_scene *scene)
{
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < 3 && scene->entry_of[i] >= 0; c++)
            o->rgb[3 * i + c] += scene->rgb[3 * (size_t)scene->entry_of[i] + c];
}

static void read_rows(outcome *o, const project_scene *scene, const backward_state *state, const variant *v)
{
    const int rest = SPLAT_TENSOR_sh_rest;
    const splat_gaussians *g = &scene->gaussians;
    const bool quantized = v->optimizer == SPLAT_OPTIMIZER_QUANTIZED;
    const void *const from[MOST_TENSORS] = {
        g->sh_rest_half ? (const void *)g->sh_rest_half : g->p.sh_rest,
        quantized ? (const void *)state->moments.quantized[rest] : state->moments.m.sh_rest,
        quantized ? NULL : state->moments.v.sh_rest};
    for (int k = 0; k < MOST_TENSORS; k++) {
        if (!from[k]) continue;
        o->n_words[k] = k == 0      ? (size_t)N * splat_parameter_words(rest, v->sh_degree, v->sh)
                        : quantized ? state->moment_words[rest]
                                    : state->floats[rest];
        o->words[k] = project_host_copy(scene->backend, from[k], o->n_words[k]);
    }
}

/* Steps from cameras that see different parts, bands becoming active on the way; one of them is left out, one does not
 * move sh_rest, after one all rows go home. */
static outcome run(splat_backend *backend, const variant *v, int *failures)
{
    outcome o = {.rgb = calloc(3 * N, sizeof(float))};
    test_gaussians t = test_gaussians_make(N, v->sh_degree, 1, 31);
    splat_camera cameras[CAMERAS];
    splat_rest_cache cache;
    splat_block block = {0};
    project_scene scene;
    backward_state state;
    for (int k = 0; k < CAMERAS; k++) {
        cameras[k] = test_camera_make(96, 64);
        cameras[k].cx += (float)(k % 2 ? 30 : -30);
        cameras[k].cy += (float)(k / 2 ? 20 : -20);
    }
    if (v->sh == SPLAT_SH_FLOAT16) test_gaussians_to_half(&t.g);
    t.g.rest_on_host = true;
    project_scene_open(&scene, backend, &t.g, cameras, true, false);
    backward_state_open(&state, backend, &t.g, v->optimizer);
    if (v->n_slots) open_cache(&cache, &block, &scene, &state, v);
    for (int step = 1; step <= STEPS; step++) {
        splat_grad2d *grads = project_random_grads(N, 900 + (uint64_t)step);
        backward_set_step(&state.adam, step);
        state.adam.rest_of_visible_only = true;
        state.adam.update[SPLAT_TENSOR_means] = false; /* the same are seen, whatever the last bits */
        state.adam.update[SPLAT_TENSOR_sh_rest] = step != NO_UPDATE;
        scene.gaussians.active_sh_degree = step < 15 ? 1 : v->sh_degree;
        scene.frame.camera = cameras[(step * step / 3) % CAMERAS];
        scene.not_finite = step == LEFT_OUT;
        *failures += project_run_backward(&scene, grads, &state.adam, NULL, NULL);
        add_colours(&o, &scene);
        free(grads);
        if (step == SETTLED) settle(&scene, failures);
    }
    settle(&scene, failures);
    read_rows(&o, &scene, &state, v);
    splat_block_free(backend, &block);
    backward_state_close(&state);
    project_scene_close(&scene);
    test_gaussians_free(&t);
    return o;
}

static void forget(outcome *o)
{
    for (int k = 0; k < MOST_TENSORS; k++) free(o->words[k]);
    free(o->rgb);
}

static void compare(const outcome *without, const outcome *with, const variant *v, int *failures)
{
    static const char *const names[MOST_TENSORS] = {"sh_rest", "moments", "second moments"};
    for (int k = 0; k < MOST_TENSORS; k++)
        TEST_CHECK(*failures, without->n_words[k] == 0 ||
                   memcmp(without->words[k], with->words[k], without->n_words[k] * 4) == 0,
                   "%s of degree %d with %u slots, sh %d, optimizer %d, moments only %d", names[k], v->sh_degree,
                   v->n_slots, v->sh, v->optimizer, v->moments_only);
    double worst = 0; /* another kernel makes the colours, whose compiler may join other products and sums */
    for (size_t i = 0; i < 3 * N; i++) worst = fmax(worst, fabs((double)without->rgb[i] - (double)with->rgb[i]));
    TEST_CHECK(*failures, worst < 1e-5 * STEPS, "colours of degree %d with %u slots differ by %g", v->sh_degree,
               v->n_slots, worst);
}

int check_project_cache(splat_backend *backend)
{
    static const uint32_t slots[] = {N, N / 9, 1};
    int failures = 0;
    if (!backend->caches_rest) return 0;
    for (int k = 0; k < 12; k++) {
        if (!test_is_in_part()) continue;
        variant v = {k % 2 ? SPLAT_SH_FLOAT16 : SPLAT_SH_FLOAT32,
                     k / 2 % 2 ? SPLAT_OPTIMIZER_QUANTIZED : SPLAT_OPTIMIZER_FLOAT32, 1 + k / 4, 0, false};
        outcome without = run(backend, &v, &failures);
        for (int i = 0; i < 4; i++) {
            v.n_slots = slots[i % 3];
            v.moments_only = i == 3;
            outcome with = run(backend, &v, &failures);
            compare(&without, &with, &v, &failures);
            forget(&with);
        }
        forget(&without);
    }
    return failures;
}
