/* project_backward and batch_step with 16-bit spherical harmonics and quantized moments. */
#include "ops/project/project_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct storage {
    splat_sh_storage sh;
    splat_optimizer_storage optimizer;
} storage;

static const storage storages[4] = {{SPLAT_SH_FLOAT32, SPLAT_OPTIMIZER_FLOAT32},
                                    {SPLAT_SH_FLOAT16, SPLAT_OPTIMIZER_FLOAT32},
                                    {SPLAT_SH_FLOAT32, SPLAT_OPTIMIZER_QUANTIZED},
                                    {SPLAT_SH_FLOAT16, SPLAT_OPTIMIZER_QUANTIZED}};

static test_gaussians make(uint32_t n, int sh_degree, int active, uint64_t seed, storage s)
{
    test_gaussians t = test_gaussians_make(n, sh_degree, active, seed);
    if (s.sh == SPLAT_SH_FLOAT16) test_gaussians_to_half(&t.g);
    return t;
}

/* A tensor as it is stored, and its moments (second: v in float storage), on the host. */
typedef struct stored {
    size_t parameter_words, moment_words; /* of a row */
    uint32_t *parameters, *moments, *second;
} stored;

static stored read_stored(const project_scene *scene, const backward_state *state, int t)
{
    const splat_gaussians *g = &scene->gaussians;
    const bool half = t == SPLAT_TENSOR_sh_rest && g->sh_rest_half;
    const bool quantized = state->moments.storage == SPLAT_OPTIMIZER_QUANTIZED;
    stored s = {.parameter_words = splat_parameter_words(t, g->sh_degree, half ? SPLAT_SH_FLOAT16 : SPLAT_SH_FLOAT32),
                .moment_words = quantized ? splat_quantized_moment_words(t, g->sh_degree)
                                          : splat_tensor_channels(t, g->sh_degree)};
    s.parameters = project_host_copy(state->backend,
                                     half ? (const void *)g->sh_rest_half : project_tensor_of(&g->p, t),
                                     s.parameter_words * g->n);
    s.moments = project_host_copy(state->backend,
                                  quantized ? (const void *)state->moments.quantized[t]
                                            : project_tensor_of(&state->moments.m, t),
                                  s.moment_words * g->n);
    if (!quantized)
        s.second = project_host_copy(state->backend, project_tensor_of(&state->moments.v, t), s.moment_words * g->n);
    return s;
}

static void forget(stored *s)
{
    free(s->parameters);
    free(s->moments);
    free(s->second);
}

static bool is_same_row(const stored *a, const stored *b, size_t i)
{
    const size_t np = a->parameter_words, nm = a->moment_words;
    return memcmp(a->parameters + np * i, b->parameters + np * i, np * 4) == 0 &&
           memcmp(a->moments + nm * i, b->moments + nm * i, nm * 4) == 0 &&
           (!a->second || memcmp(a->second + nm * i, b->second + nm * i, nm * 4) == 0);
}

static bool are_near(const uint32_t *a, const uint32_t *b, size_t n)
{
    double worst = 0, largest = 0;
    for (size_t k = 0; k < n; k++) {
        double x = (double)splat_float_of_bits(a[k]), y = (double)splat_float_of_bits(b[k]);
        if (!isfinite(x) || !isfinite(y)) return false;
        worst = fmax(worst, fabs(x - y));
        largest = fmax(largest, fabs(y));
    }
    return worst <= 1e-6 * largest;
}

/* float32 throughout: a device has two kernels for these, whose multiplications and additions the compiler joins in
 * other places: a few roundings of the row's largest value, as single ones may nearly cancel. */
static bool is_near_row(const stored *a, const stored *b, size_t i)
{
    const size_t np = a->parameter_words, nm = a->moment_words;
    return are_near(a->parameters + np * i, b->parameters + np * i, np) &&
           are_near(a->moments + nm * i, b->moments + nm * i, nm) &&
           are_near(a->second + nm * i, b->second + nm * i, nm);
}

/* One value of a tensor: its numbers. */
typedef struct value {
    float p, m, v;
    uint32_t code_p, code_m, code_v; /* as stored */
    float scale_m, scale_v;          /* of its row of bytes */
} value;

static value value_of(const stored *s, int t, uint32_t channels, size_t i, size_t k)
{
    value x = {.scale_m = 0};
    x.code_p = s->parameters[s->parameter_words * i + k * (s->parameter_words == channels)];
    x.p = splat_float_of_bits(x.code_p);
    if (s->parameter_words != channels) {
        x.code_p = ((const uint16_t *)(s->parameters + s->parameter_words * i))[k];
        x.p = splat_half_decode((uint16_t)x.code_p);
    }
    const uint32_t *row = s->moments + s->moment_words * i;
    if (s->second) {
        x.m = splat_float_of_bits(row[k]);
        x.v = splat_float_of_bits(s->second[s->moment_words * i + k]);
    } else if (t == SPLAT_TENSOR_sh_rest) {
        x.scale_m = splat_float_of_bits(row[0]);
        x.scale_v = splat_float_of_bits(row[1]);
        x.code_m = ((const uint8_t *)(row + 2))[k];
        x.code_v = ((const uint8_t *)(row + 2))[channels + k];
        x.m = splat_row_decode_m((int8_t)x.code_m, x.scale_m);
        x.v = splat_row_decode_v((uint8_t)x.code_v, x.scale_v);
    } else {
        x.code_m = row[k] & 0xffffu;
        x.code_v = row[k] >> 16;
        splat_pair_decode(row[k], &x.m, &x.v);
    }
    return x;
}

/* Rates of a tensor in a step of some views. */
typedef struct step_rates {
    float step, inverse_correction2, beta1, beta2;
} step_rates;

/* Input of a step: gradients, for several views their means and those of the squares. */
typedef struct step_gradients {
    float *mean, *square; /* square: NULL of one view */
} step_gradients;

typedef struct value_gradient {
    float mean, square;
} value_gradient;

static value_gradient gradient_of(const step_gradients *g, size_t place, float beta2)
{
    const float mean = g->mean[place], share = 1.0f - beta2;
    return (value_gradient){mean, g->square ? share * g->square[place] : share * mean * mean};
}

static step_rates rates_of(const splat_adam *adam, int t, uint32_t n_views)
{
    return (step_rates){.step = adam->lr[t] / adam->correction1[t],
                        .inverse_correction2 = 1.0f / adam->correction2[t],
                        .beta1 = powf(SPLAT_ADAM_BETA1, (float)n_views),
                        .beta2 = powf(SPLAT_ADAM_BETA2, (float)n_views)};
}

/* Makes a step of x in float: p, m, v. */
static value stepped(value x, const step_gradients *gradients, size_t place, const step_rates *r)
{
    const value_gradient g = gradient_of(gradients, place, r->beta2);
    x.m = r->beta1 * x.m + (1.0f - r->beta1) * g.mean;
    x.v = r->beta2 * x.v + g.square;
    if (!(fabsf(x.m) >= 1e-30f)) x.m = 0;
    if (!(x.v >= 1e-37f)) x.v = 0;
    x.p -= r->step * x.m / (sqrtf(x.v * r->inverse_correction2) + SPLAT_ADAM_EPSILON);
    return x;
}

/* Codes and values of `x` (floats) stored with the given random bits; the scales of x are used for rows. */
static value encoded(value x, int t, bool half, bool quantized, uint32_t bits_moments, uint32_t bits_parameter)
{
    if (half) {
        x.code_p = splat_half_encode(x.p, bits_parameter);
        x.p = splat_half_decode((uint16_t)x.code_p);
    }
    if (quantized && t == SPLAT_TENSOR_sh_rest) {
        x.code_m = (uint8_t)splat_row_encode_m(x.m, splat_row_inverse(x.scale_m), bits_moments);
        x.code_v = splat_row_encode_v(sqrtf(x.v), splat_row_inverse(x.scale_v), bits_moments);
        x.m = splat_row_decode_m((int8_t)x.code_m, x.scale_m);
        x.v = splat_row_decode_v((uint8_t)x.code_v, x.scale_v);
    } else if (quantized) {
        uint32_t code = splat_pair_encode(x.m, x.v, bits_moments);
        x.code_m = code & 0xffffu;
        x.code_v = code >> 16;
        splat_pair_decode(code, &x.m, &x.v);
    }
    return x;
}

/* True if `got` lies between the neighbours in storage of a and b, in either direction. */
static bool is_between(float got, float a, float b, float c, float d)
{
    return got >= fminf(fminf(a, b), fminf(c, d)) && got <= fmaxf(fmaxf(a, b), fmaxf(c, d));
}

/* The result lies at a neighbour of the float result, which is known to `slack` relative to the terms it is made of. */
static bool is_neighbour(const value *before, const value *after, const value *want, float gradient, float lr, int t,
                         bool half, bool quantized)
{
    /* A sum of two roundings in m and v; a step of a few lr that is off by 2e-5 of lr, and the rounding of p. */
    const float slack_m = 4e-7f * (fabsf(before->m) + fabsf(gradient)), slack_v = 1e-6f * want->v;
    const float slack_p = 4e-5f * lr + 2e-7f * fabsf(want->p);
    value low = *want, high = *want;
    low.p -= slack_p, low.m -= slack_m, low.v -= slack_v;
    high.p += slack_p, high.m += slack_m, high.v += slack_v;
    value a = encoded(low, t, half, quantized, 0, 0), b = encoded(low, t, half, quantized, UINT32_MAX, UINT32_MAX);
    value c = encoded(high, t, half, quantized, 0, 0), d = encoded(high, t, half, quantized, UINT32_MAX, UINT32_MAX);
    return is_between(after->p, a.p, b.p, c.p, d.p) && is_between(after->m, a.m, b.m, c.m, d.m) &&
           is_between(after->v, a.v, b.v, c.v, d.v);
}

/* Largest |m| and sqrt(v) of a row after the step, as scales. */
static void row_scales(const stored *before, int t, uint32_t channels, size_t i,
                       const step_gradients *gradients, const step_rates *rates, float *scale_m, float *scale_v)
{
    float most_m = 0, most_v = 0;
    for (size_t k = 0; k < channels; k++) {
        value x = stepped(value_of(before, t, channels, i, k), gradients, channels * i + k, rates);
        most_m = fmaxf(most_m, fabsf(x.m));
        most_v = fmaxf(most_v, x.v);
    }
    *scale_m = splat_row_scale(most_m, SPLAT_ROW_LEAST_M);
    *scale_v = splat_row_scale(sqrtf(most_v), SPLAT_ROW_LEAST_V);
}

/* One tensor before and after a step against the float step on what was decoded. */
static int check_tensor_step(const project_scene *scene, const backward_state *state, int t, const stored *before,
                             const stored *after, const step_gradients *gradients, uint32_t n_views)
{
    int failures = 0;
    const uint32_t channels = splat_tensor_channels(t, scene->gaussians.sh_degree);
    const splat_adam *adam = &state->adam;
    const bool half = t == SPLAT_TENSOR_sh_rest && scene->gaussians.sh_rest_half;
    const bool quantized = state->moments.storage == SPLAT_OPTIMIZER_QUANTIZED;
    const uint32_t key = splat_rounding_key((uint32_t)t, adam->iteration);
    const step_rates rates = rates_of(adam, t, n_views);
    size_t n_off = 0, n_other = 0, n = (size_t)channels * scene->gaussians.n;
    for (size_t i = 0; i < scene->gaussians.n; i++) {
        float scale_m, scale_v;
        row_scales(before, t, channels, i, gradients, &rates, &scale_m, &scale_v);
        for (size_t k = 0; k < channels; k++) {
            size_t place = channels * i + k;
            value old = value_of(before, t, channels, i, k), now = value_of(after, t, channels, i, k);
            value want = stepped(old, gradients, place, &rates);
            want.scale_m = now.scale_m, want.scale_v = now.scale_v;
            n_off += !is_neighbour(&old, &now, &want, gradients->mean[place], adam->lr[t], t, half, quantized) ||
                     (now.scale_m > 0 && fabsf(now.scale_m - scale_m) > 1e-6f * scale_m) ||
                     (now.scale_v > 0 && fabsf(now.scale_v - scale_v) > 1e-6f * scale_v);
            want = encoded(want, t, half, quantized, splat_rounding_bits(key, place),
                           splat_rounding_bits(key + 1u, place));
            n_other += (half && want.code_p != now.code_p) || want.code_m != now.code_m || want.code_v != now.code_v;
        }
    }
    TEST_CHECK(failures, n_off == 0, "%s: %zu of %zu values are not next to the float result", project_tensor_name(t),
               n_off, n);
    /* The stated random bits; a backend whose last bit differs from ours falls on the other side now and then. */
    TEST_CHECK(failures, n_other <= n / 100, "%s: %zu of %zu codes are not those of the rule", project_tensor_name(t),
               n_other, n);
    if (strcmp(splat_backend_name(state->backend), "cpu") == 0)
        TEST_CHECK(failures, n_other == 0, "%s: %zu of %zu codes differ on the CPU", project_tensor_name(t), n_other,
                   n);
    return failures;
}

/* A view twice, taken as the sums over n_views. */
static int step_of_batch(project_scene *scene, backward_state *state, const splat_grad2d *grads, uint32_t n_views)
{
    splat_error error = {0};
    int failures = 0;
    for (int t = 0; t < SPLAT_N_TENSORS; t++) {
        const size_t bytes = state->floats[t] * sizeof(float);
        splat_backend_zero(state->backend, project_tensor_of(&state->gradients, t), bytes, NULL);
        splat_backend_zero(state->backend, project_tensor_of(&state->squares, t), bytes, NULL);
    }
    scene->squares = &state->squares;
    for (int k = 0; k < 2; k++) failures += project_run_backward(scene, grads, NULL, NULL, &state->gradients);
    const struct splat_batch_step_args args = {.gaussians = &scene->gaussians,
                                               .adam = &state->adam,
                                               .gradients = &state->gradients,
                                               .squares = &state->squares,
                                               .n_views = n_views};
    TEST_CHECK(failures, splat_op_batch_step(state->backend, &args, &error) == SPLAT_OK, "%s", error.message);
    splat_backend_synchronize(state->backend, NULL);
    return failures;
}

/* n_views: 1, of project_backward; more, of batch_step. */
static int check_steps(splat_backend *backend, storage s, uint32_t n, int sh_degree, int active, uint32_t n_views)
{
    int failures = 0;
    test_gaussians t = make(n, sh_degree, active, 400 + n, s);
    splat_camera camera = test_camera_make(96, 64);
    project_scene scene;
    backward_state state;
    project_scene_open(&scene, backend, &t.g, &camera, true, false);
    backward_state_open(&state, backend, &t.g, s.optimizer);
    for (int step = 1; step <= 4; step++) {
        stored before[SPLAT_N_TENSORS];
        splat_grad2d *grads = project_random_grads(n, 70 + (uint64_t)step);
        for (uint32_t i = 0; step % 2 == 0 && i < n; i += 3) memset(&grads[i], 0, sizeof grads[i]);
        for (int k = 0; k < SPLAT_N_TENSORS; k++) before[k] = read_stored(&scene, &state, k);
        backward_set_step(&state.adam, step);
        failures += n_views > 1 ? step_of_batch(&scene, &state, grads, n_views)
                                : project_run_backward(&scene, grads, &state.adam, NULL, &state.gradients);
        for (int k = 0; k < SPLAT_N_TENSORS; k++) {
            stored after = read_stored(&scene, &state, k);
            const size_t n_values = state.floats[k];
            step_gradients g = {project_host_copy(backend, project_tensor_of(&state.gradients, k), n_values), NULL};
            if (n_views > 1) g.square = project_host_copy(backend, project_tensor_of(&state.squares, k), n_values);
            for (size_t i = 0; n_views > 1 && i < n_values; i++) {
                g.mean[i] *= 1.0f / (float)n_views;
                g.square[i] *= 1.0f / (float)n_views;
            }
            failures += check_tensor_step(&scene, &state, k, &before[k], &after, &g, n_views);
            free(g.mean), free(g.square);
            forget(&after);
            forget(&before[k]);
        }
        free(grads);
    }
    if (failures)
        fprintf(stderr, "  ^ n %u, SH %d of %d, sh %d, optimizer %d, %u views, %s\n", n, active, sh_degree, s.sh,
                s.optimizer, n_views, backend->description);
    backward_state_close(&state);
    project_scene_close(&scene);
    test_gaussians_free(&t);
    return failures;
}

/* Half SH gives the gradients of the floats that it holds. 1e-12: the arithmetic is the same, or nearly. */
static int check_half_gradients(splat_backend *backend)
{
    int failures = 0;
    float *got[2][SPLAT_N_TENSORS];
    size_t floats[SPLAT_N_TENSORS];
    splat_camera camera = test_camera_make(96, 64);
    splat_grad2d *grads = project_random_grads(150, 5);
    for (int half = 0; half < 2; half++) {
        test_gaussians t = test_gaussians_make(150, 3, 2, 6);
        const size_t n = 150 * (size_t)splat_sh_rest_floats(3);
        for (size_t i = 0; i < n; i++)
            t.g.p.sh_rest[i] = splat_half_decode(splat_half_encode(t.g.p.sh_rest[i], SPLAT_ROUND_NEAREST));
        if (half) test_gaussians_to_half(&t.g);
        project_scene scene;
        backward_state state;
        project_scene_open(&scene, backend, &t.g, &camera, true, false);
        backward_state_open(&state, backend, &t.g, SPLAT_OPTIMIZER_FLOAT32);
        failures += project_run_backward(&scene, grads, NULL, NULL, &state.gradients);
        for (int k = 0; k < SPLAT_N_TENSORS; k++) {
            floats[k] = state.floats[k];
            got[half][k] = project_host_copy(backend, project_tensor_of(&state.gradients, k), floats[k]);
        }
        backward_state_close(&state);
        project_scene_close(&scene);
        test_gaussians_free(&t);
    }
    for (int k = 0; k < SPLAT_N_TENSORS; k++) {
        double nmse = test_nmse(got[1][k], got[0][k], floats[k]);
        TEST_CHECK(failures, nmse <= 1e-12, "gradient of %s from half: NMSE %g", project_tensor_name(k), nmse);
        free(got[0][k]);
        free(got[1][k]);
    }
    free(grads);
    return failures;
}

/* Steps 1 .. n_steps; the gradients are those of (colour - target)^2 / 2 with noise on the target, as the photos of a
 * scene have it, or zero from step n_seen + 1 on. Returns the root mean square of colour - target before the last
 * step. */
static double run_quadratic(project_scene *scene, backward_state *state, int n_steps, int n_seen, int *failures)
{
    const uint32_t n = scene->gaussians.n;
    double mean = 0;
    for (int step = 1; step <= n_steps; step++) {
        splat_grad2d *grads = project_random_grads(n, (uint64_t)step);
        double sum = 0;
        *failures += project_scene_run(scene);
        for (uint32_t i = 0; i < n; i++) {
            const float noise[3] = {0.1f * grads[i].rgb[0], 0.1f * grads[i].rgb[1], 0.1f * grads[i].rgb[2]};
            memset(&grads[i], 0, sizeof grads[i]);
            if (scene->entry_of[i] < 0) continue;
            const float *rgb = scene->rgb + 3 * scene->entry_of[i];
            float d[3];
            for (int c = 0; c < 3; c++) d[c] = rgb[c] - 0.5f - 0.1f * (float)((i + (uint32_t)c) % 5);
            for (int c = 0; c < 3; c++) sum += (double)d[c] * (double)d[c];
            if (step > n_seen) continue;
            for (int k = 0; k < 3; k++) grads[i].rgb[k] = d[k] + noise[k];
        }
        backward_set_step(&state->adam, step);
        for (int t = 0; t < SPLAT_N_TENSORS; t++)
            state->adam.update[t] = t == SPLAT_TENSOR_sh_dc || t == SPLAT_TENSOR_sh_rest;
        *failures += project_run_backward(scene, grads, &state->adam, NULL, NULL);
        mean = sqrt(sum / (3.0 * scene->n_visible));
        free(grads);
    }
    return mean;
}

/* 200 steps from the same start, where the colours are 0.3 off: every colour ends within 0.004 of the float run's, one
 * step of 8 bits (root mean square below 0.001), while the noise of the target keeps them 0.027 from it. */
static int check_run(splat_backend *backend)
{
    int failures = 0;
    enum { N = 120 };
    double left[4];
    float first[3 * N];
    splat_camera camera = test_camera_make(96, 64);
    for (int k = 0; k < 4; k++) {
        test_gaussians t = make(N, 3, 3, 12, storages[k]);
        for (int i = 0; i < 3 * N; i++) t.g.p.sh_dc[i] = 2.0f; /* no colour is dark */
        project_scene scene;
        backward_state state;
        project_scene_open(&scene, backend, &t.g, &camera, true, false);
        backward_state_open(&state, backend, &t.g, storages[k].optimizer);
        left[k] = run_quadratic(&scene, &state, 200, 200, &failures);
        double worst = 0, sum = 0;
        for (size_t i = 0; i < N; i++)
            for (size_t c = 0; scene.entry_of[i] >= 0 && c < 3; c++) {
                float rgb = scene.rgb[3 * (size_t)scene.entry_of[i] + c];
                if (k == 0) first[3 * i + c] = rgb;
                worst = fmax(worst, fabs((double)rgb - first[3 * i + c]));
                sum += ((double)rgb - first[3 * i + c]) * ((double)rgb - first[3 * i + c]);
            }
        double rms = sqrt(sum / (3.0 * scene.n_visible));
        TEST_CHECK(failures, left[k] < 0.03 && worst < 0.004 && rms < 0.001,
                   "sh %d, optimizer %d: %g is left, of floats %g; off by %g, root mean square %g", storages[k].sh,
                   storages[k].optimizer, left[k], left[0], worst, rms);
        backward_state_close(&state);
        project_scene_close(&scene);
        test_gaussians_free(&t);
    }
    return failures;
}

/* Gaussians without gradient and momentum keep every bit. Those seen first and unseen then: m, which shrinks by 0.9 a
 * step, is gone after 300 more, and v falls like 0.999^300, within 5 % (the noise of some thousand values of which each
 * was rounded hundreds of times). */
static int check_unseen(splat_backend *backend, storage s)
{
    int failures = 0;
    enum { N = 64, SEEN = 20, UNSEEN = 300 };
    double sum_m[2] = {0}, sum_v[2] = {0};
    splat_camera camera = test_camera_make(96, 64);
    for (int part = 0; part < 2; part++) {
        test_gaussians t = make(N, 3, 3, 13, s);
        project_scene scene;
        backward_state state;
        project_scene_open(&scene, backend, &t.g, &camera, true, false);
        backward_state_open(&state, backend, &t.g, s.optimizer);
        stored before[SPLAT_N_TENSORS];
        for (int k = 0; k < SPLAT_N_TENSORS; k++) before[k] = read_stored(&scene, &state, k);
        run_quadratic(&scene, &state, SEEN + part * UNSEEN, SEEN, &failures);
        uint32_t n_unseen = 0;
        for (int k = 0; k < SPLAT_N_TENSORS; k++) {
            const uint32_t channels = splat_tensor_channels(k, 3);
            stored after = read_stored(&scene, &state, k);
            for (size_t i = 0; i < N; i++) {
                bool unseen = scene.entry_of[i] < 0;
                n_unseen += unseen;
                TEST_CHECK(failures, !unseen || is_same_row(&before[k], &after, i), "%s of Gaussian %zu drifts",
                           project_tensor_name(k), i);
                for (size_t c = 0; c < channels; c++) {
                    value x = value_of(&after, k, channels, i, c);
                    sum_m[part] += fabs((double)x.m);
                    sum_v[part] += x.v;
                }
            }
            forget(&after);
            forget(&before[k]);
        }
        TEST_CHECK(failures, n_unseen >= SPLAT_N_TENSORS && n_unseen < SPLAT_N_TENSORS * N / 2, "%u rows unseen",
                   n_unseen);
        backward_state_close(&state);
        project_scene_close(&scene);
        test_gaussians_free(&t);
    }
    TEST_CHECK(failures, sum_m[0] > 0 && sum_m[1] <= 1e-10 * sum_m[0], "m: %g, then %g", sum_m[0], sum_m[1]);
    TEST_CHECK(failures, fabs(sum_v[1] / sum_v[0] / pow(0.999, UNSEEN) - 1) < 0.05, "v: %g, then %g", sum_v[0],
               sum_v[1]);
    if (failures) fprintf(stderr, "  ^ sh %d, optimizer %d, %s\n", s.sh, s.optimizer, backend->description);
    return failures;
}

/* A second view, from a camera that does not see all: with rest_of_visible_only and sh_rest in host memory, sh_rest of
 * the others keeps its bits; all the rest is as without. */
static int check_visible_only(splat_backend *backend, storage s)
{
    int failures = 0;
    enum { N = 200 };
    stored results[2][SPLAT_N_TENSORS], middle = {0};
    splat_camera camera = test_camera_make(96, 64), other = camera;
    other.cx -= 60.0f;
    int64_t *entry_of = NULL;
    for (int only = 0; only < 2; only++) {
        test_gaussians t = make(N, 2, 2, 14, s);
        t.g.rest_on_host = only;
        project_scene scene;
        backward_state state;
        project_scene_open(&scene, backend, &t.g, &camera, true, false);
        backward_state_open(&state, backend, &t.g, s.optimizer);
        for (int view = 0; view < 2; view++) {
            splat_grad2d *grads = project_random_grads(N, 90 + (uint64_t)view);
            backward_set_step(&state.adam, view + 1);
            if (view && only) middle = read_stored(&scene, &state, SPLAT_TENSOR_sh_rest);
            if (view) scene.frame.camera = other;
            state.adam.rest_of_visible_only = view && only;
            failures += project_run_backward(&scene, grads, &state.adam, NULL, NULL);
            free(grads);
        }
        for (int k = 0; k < SPLAT_N_TENSORS; k++) results[only][k] = read_stored(&scene, &state, k);
        if (only) {
            entry_of = scene.entry_of;
            scene.entry_of = NULL;
        }
        backward_state_close(&state);
        project_scene_close(&scene);
        test_gaussians_free(&t);
    }
    uint32_t n_kept = 0, n_moved = 0;
    for (size_t i = 0; i < N; i++)
        for (int k = 0; k < SPLAT_N_TENSORS; k++) {
            bool keeps = k == SPLAT_TENSOR_sh_rest && entry_of[i] < 0;
            bool two_kernels = backend->device_bytes > 0 && s.sh == SPLAT_SH_FLOAT32 &&
                               s.optimizer == SPLAT_OPTIMIZER_FLOAT32;
            bool same = keeps         ? is_same_row(&results[1][k], &middle, i)
                        : two_kernels ? is_near_row(&results[1][k], &results[0][k], i)
                                      : is_same_row(&results[1][k], &results[0][k], i);
            TEST_CHECK(failures, same, "%s of Gaussian %zu, seen %d", project_tensor_name(k), i, entry_of[i] >= 0);
            n_kept += keeps;
            n_moved += keeps && !is_same_row(&results[0][k], &middle, i);
        }
    TEST_CHECK(failures, n_kept > 20 && n_kept < N - 20 && n_moved > 10, "%u unseen, %u would have moved", n_kept,
               n_moved);
    if (failures) fprintf(stderr, "  ^ sh %d, optimizer %d, %s\n", s.sh, s.optimizer, backend->description);
    for (int k = 0; k < SPLAT_N_TENSORS; k++) {
        forget(&results[0][k]);
        forget(&results[1][k]);
    }
    forget(&middle);
    free(entry_of);
    return failures;
}

/* Parameters, moments and statistics after three steps, from another number of threads and the plain C kernels. */
static int check_same_bytes(splat_backend *backend, storage s)
{
    int failures = 0;
    splat_backend *backends[2] = {backend, project_other_backend(backend)};
    if (!backends[1]) return 0;
    test_gaussians t = make(700, 3, 3, 55, s);
    splat_camera camera = test_camera_make(96, 64);
    project_scene scenes[2];
    backward_state states[2];
    for (int k = 0; k < 2; k++) {
        project_scene_open(&scenes[k], backends[k], &t.g, &camera, true, false);
        backward_state_open(&states[k], backends[k], &t.g, s.optimizer);
        for (int step = 1; step <= 3; step++) {
            splat_grad2d *grads = project_random_grads(t.g.n, 60 + (uint64_t)step);
            backward_set_step(&states[k].adam, step);
            failures += project_run_backward(&scenes[k], grads, &states[k].adam, &states[k].statistics, NULL);
            free(grads);
        }
    }
    for (int k = 0; k < SPLAT_N_TENSORS; k++) {
        stored a = read_stored(&scenes[0], &states[0], k), b = read_stored(&scenes[1], &states[1], k);
        bool same = true;
        for (size_t i = 0; i < t.g.n; i++) same = same && is_same_row(&a, &b, i);
        TEST_CHECK(failures, same, "%s: other threads or SIMD level, other bytes", project_tensor_name(k));
        forget(&a);
        forget(&b);
    }
    TEST_CHECK(failures, memcmp(states[0].statistics.grad, states[1].statistics.grad, t.g.n * sizeof(float)) == 0,
               "statistics: other bytes");
    for (int k = 0; k < 2; k++) {
        backward_state_close(&states[k]);
        project_scene_close(&scenes[k]);
    }
    splat_backend_destroy(backends[1]);
    test_gaussians_free(&t);
    return failures;
}

int check_project_storage(splat_backend *backend)
{
    int failures = 0;
    TEST_CASE(failures, check_half_gradients(backend));
    TEST_CASE(failures, check_run(backend));
    for (int k = 0; k < 4; k++) {
        TEST_CASE(failures, check_steps(backend, storages[k], 150, 3, 2, 1));
        TEST_CASE(failures, check_steps(backend, storages[k], 17, 1, 1, 1));
        TEST_CASE(failures, check_steps(backend, storages[k], 65, 2, 2, 1));
        TEST_CASE(failures, check_steps(backend, storages[k], 15, 0, 0, 1));
        TEST_CASE(failures, check_unseen(backend, storages[k]));
        TEST_CASE(failures, check_visible_only(backend, storages[k]));
        TEST_CASE(failures, check_same_bytes(backend, storages[k]));
    }
    return failures;
}

int check_batch_storage(splat_backend *backend)
{
    int failures = 0;
    for (int k = 1; k < 4; k++) {
        failures += check_steps(backend, storages[k], 150, 3, 2, 3);
        failures += check_steps(backend, storages[k], 17, 1, 1, 2);
        failures += check_steps(backend, storages[k], 65, 2, 2, 7);
        failures += check_steps(backend, storages[k], 15, 0, 0, 4);
    }
    return failures;
}
