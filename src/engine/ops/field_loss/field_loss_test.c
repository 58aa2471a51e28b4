/* field_loss against the reference in double, on shapes and in numbers that are awkward, and where the answer is known
 * on paper. */
#include "ops/field_loss/field_loss_test.h"

#include "ops/field_loss/field_loss_math.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define START 0.25f /* what the gradients hold before */

typedef struct field_spec {
    int mode;
    uint32_t n_samples;
    float extent;
    uint64_t seed;
    float range; /* of SDF; 0: without bound */
} field_spec;

static float range_of(const field_spec *spec)
{
    return spec->range > 0 ? spec->range : 1e9f;
}

enum { MEANS, SCALES, ROTATIONS, OPACITIES, MAPS, ALPHA, N_OUTPUTS };
static const char *const output_names[N_OUTPUTS] = {"means", "scales", "rotations", "opacities", "maps", "alpha"};

typedef struct field_output {
    float *values[N_OUTPUTS]; /* gradients, with START */
    size_t n[N_OUTPUTS];
    double result[4];
    splat_status status;
    uint32_t *visible, n_visible;
} field_output;

#define FIELD_WEIGHT 300.0f
#define NORMAL_WEIGHT 200.0f

static float *constant(size_t n)
{
    float *values = malloc((n + 1) * sizeof *values);
    for (size_t i = 0; i < n; i++) values[i] = START;
    return values;
}

/* Projects, then runs the op. */
static field_output run(splat_backend *backend, const field_scene *s, const field_spec *spec, int *failures)
{
    const size_t n = s->t.g.n, counts[N_OUTPUTS] = {3 * n, 3 * n, 4 * n, n, s->n_pixels, s->n_pixels};
    field_output out = {.visible = calloc(n + 1, sizeof *out.visible)};
    splat_block blocks[N_OUTPUTS + 4] = {{0}}, *block = blocks;
    project_scene scene;
    project_scene_open(&scene, backend, &s->t.g, &s->camera, false, false);
    *failures += project_scene_run(&scene);
    for (uint32_t i = 0; i < n; i++)
        if (scene.entry_of[i] >= 0) out.visible[out.n_visible++] = i;
    float *device[N_OUTPUTS];
    for (int k = 0; k < N_OUTPUTS; k++) {
        out.n[k] = counts[k];
        out.values[k] = constant(counts[k]);
        device[k] = test_upload(backend, block++, out.values[k], counts[k] * sizeof(float));
    }
    splat_tensors gradients = {.means = device[MEANS], .scales = device[SCALES], .rotations = device[ROTATIONS],
                               .opacities = device[OPACITIES]};
    struct splat_field_loss_args args = {
        .gaussians = &scene.gaussians, .frame = &scene.frame, .n_samples = spec->n_samples, .seed = spec->seed,
        .step = 5, .mode = spec->mode, .field_weight = FIELD_WEIGHT, .normal_weight = NORMAL_WEIGHT,
        .extent = spec->extent, .sdf_range = range_of(spec), .gradients = &gradients};
    args.neighbors = test_upload(backend, block++, s->neighbors, SPLAT_NEIGHBORS * n * sizeof *s->neighbors);
    args.result = test_upload(backend, block++, NULL, sizeof out.result);
    if (spec->mode == SPLAT_FIELD_SDF) {
        args.maps = test_upload(backend, block++, s->maps, s->n_pixels * sizeof(float));
        args.transmittance = test_upload(backend, block++, s->transmittance, s->n_pixels * sizeof(float));
        args.grad_maps = device[MAPS];
        args.grad_alpha = device[ALPHA];
    }
    out.status = splat_op_field_loss(backend, &args, NULL);
    for (int k = 0; k < N_OUTPUTS; k++) test_download(backend, out.values[k], device[k], counts[k] * sizeof(float));
    test_download(backend, out.result, args.result, sizeof out.result);
    project_scene_close(&scene);
    while (block > blocks) splat_block_free(backend, --block);
    return out;
}

static void output_free(field_output *out)
{
    for (int k = 0; k < N_OUTPUTS; k++) free(out->values[k]);
    free(out->visible);
}

static bool is_untouched(const field_output *out)
{
    for (int k = 0; k < N_OUTPUTS; k++)
        for (size_t i = 0; i < out->n[k]; i++)
            if (out->values[k][i] != START) return false;
    return true;
}

static bool is_finite(const field_output *out)
{
    for (int k = 0; k < N_OUTPUTS; k++)
        for (size_t i = 0; i < out->n[k]; i++)
            if (!isfinite(out->values[k][i])) return false;
    return isfinite(out->result[0]) && isfinite(out->result[1]);
}

static bool is_same(const field_output *a, const field_output *b)
{
    for (int k = 0; k < N_OUTPUTS; k++)
        if (memcmp(a->values[k], b->values[k], a->n[k] * sizeof(float)) != 0) return false;
    return memcmp(a->result, b->result, sizeof a->result) == 0;
}

/* ---------------------------------------------------------------- against the reference */

typedef struct oracle {
    double *values[N_OUTPUTS], result[3];
    uint32_t n_pool;
    ref_tensors_f64 gradients;
} oracle;

static void oracle_free(oracle *o)
{
    ref_tensors_free_f64(&o->gradients);
    free(o->values[MAPS]);
    free(o->values[ALPHA]);
}

/* The op's draws from the pool. */
static void draw(const field_scene *s, const field_spec *spec, const uint32_t *pool, uint32_t n_pool,
                 uint32_t *generators, double *xis)
{
    splat_frame frame = {.camera = s->camera};
    struct splat_field_loss_args args = {.gaussians = &s->t.g, .frame = &frame, .n_samples = spec->n_samples,
                                         .seed = spec->seed, .step = 5, .mode = spec->mode};
    splat_field_job job = splat_field_job_of(&args, NULL);
    for (uint32_t i = 0; i < spec->n_samples; i++) {
        float xi[3];
        generators[i] = pool[splat_field_draw_place(&job, i, n_pool)];
        splat_field_draw_xi(&job, i, xi);
        for (int k = 0; k < 3; k++) xis[3 * (size_t)i + (size_t)k] = xi[k];
    }
}

/* Samples within rounding of the range's end could count or not. */
static int check_margins(const ref_gaussians_f64 *g, const uint32_t *neighbors, const field_spec *spec,
                         const uint32_t *generators, const double *xis, ref_field_surface_f64 surface)
{
    int failures = 0;
    double below[3], above[3], range = surface.range;
    if (spec->mode != SPLAT_FIELD_SDF) return 0;
    surface.range = range * 0.99998; /* of 0.1, as much as the rounding of a depth of 3 */
    ref_field_loss_f64(g, g, neighbors, spec->n_samples, generators, xis, &surface, 1, 1, below, NULL, NULL, NULL);
    surface.range = range * 1.00002;
    ref_field_loss_f64(g, g, neighbors, spec->n_samples, generators, xis, &surface, 1, 1, above, NULL, NULL, NULL);
    TEST_CHECK(failures, below[2] == above[2], "%g samples are too near to the limit for this test",
               above[2] - below[2]);
    return failures;
}

static oracle oracle_make(const field_scene *s, const field_spec *spec, const uint32_t *visible, uint32_t n_visible,
                          int *failures)
{
    oracle o = {.gradients = ref_tensors_make_f64(s->t.g.n, 0)};
    ref_gaussians_f64 g = ref_gaussians_from_f64(&s->t.g);
    ref_camera_f64 camera = ref_camera_from_f64(&s->camera);
    double *maps = calloc(s->n_pixels, sizeof *maps), *transmittance = calloc(s->n_pixels, sizeof *maps);
    double *xis = calloc(3 * (size_t)spec->n_samples, sizeof *xis);
    uint32_t *pool = calloc(n_visible + 1, sizeof *pool), *generators = calloc(spec->n_samples, sizeof *generators);
    for (size_t i = 0; i < s->n_pixels; i++) maps[i] = s->maps[i], transmittance[i] = s->transmittance[i];
    ref_field_surface_f64 surface = {&camera, maps, transmittance, spec->extent, (double)range_of(spec)};
    o.values[MEANS] = o.gradients.means;
    o.values[SCALES] = o.gradients.scales;
    o.values[ROTATIONS] = o.gradients.rotations;
    o.values[OPACITIES] = o.gradients.opacities;
    o.values[MAPS] = calloc(s->n_pixels, sizeof(double));
    o.values[ALPHA] = calloc(s->n_pixels, sizeof(double));
    for (uint32_t v = 0; v < n_visible; v++) {
        double off = spec->mode == SPLAT_FIELD_SDF ? ref_field_closeness_f64(&g, &surface, visible[v]) : 0;
        TEST_CHECK(*failures, fabs(off - 1) > 1e-4, "Gaussian %u is too near to the limit for this test", visible[v]);
        if (off < 1) pool[o.n_pool++] = visible[v];
    }
    if (o.n_pool) {
        draw(s, spec, pool, o.n_pool, generators, xis);
        *failures += check_margins(&g, s->neighbors, spec, generators, xis, surface);
        ref_field_loss_f64(&g, &g, s->neighbors, spec->n_samples, generators, xis,
                           spec->mode == SPLAT_FIELD_SDF ? &surface : NULL, FIELD_WEIGHT, NORMAL_WEIGHT, o.result,
                           &o.gradients, o.values[MAPS], o.values[ALPHA]);
    }
    ref_gaussians_free_f64(&g);
    free(maps), free(transmittance), free(xis), free(pool), free(generators);
    return o;
}

/* NMSE, with room for what is rounding alone: 1e-6 a value, as a sum that begins with START has 3e-8 for each of its
 * tens of terms, and so has a turn by a normal's gradient along that normal. */
static double nmse_of(const float *a, const double *b, size_t n)
{
    double error = 0, power = 0;
    for (size_t i = 0; i < n; i++) {
        double d = (double)a[i] - (double)START - b[i];
        error += d * d;
        power += b[i] * b[i];
    }
    error -= 1e-12 * (double)n;
    return error <= 0 ? 0 : power > 0 ? error / power : INFINITY;
}

/* A point of size 3 has 2e-7 of rounding, 1e-5 of the smallest deviations, and so have the weights: NMSE 1e-10 at the
 * worst (seen: 1e-11). A wrong sign in one sample of thousands gives 1e-4. */
static int check_against_reference(splat_backend *backend, const field_scene *s, const field_spec *spec)
{
    int failures = 0;
    field_output out = run(backend, s, spec, &failures);
    oracle o = oracle_make(s, spec, out.visible, out.n_visible, &failures);
    TEST_CHECK(failures, out.status == SPLAT_OK && out.result[3] == o.n_pool, "%g in the pool, not %u", out.result[3],
               o.n_pool);
    TEST_CHECK(failures, out.result[2] == o.result[2], "%g samples count, not %g", out.result[2], o.result[2]);
    for (int k = 0; k < 2; k++)
        TEST_CHECK(failures, fabs(out.result[k] - o.result[k]) <= 1e-5 * o.result[k] + 1e-12,
                   "loss %d: %.9g, not %.9g", k, out.result[k], o.result[k]);
    for (int k = 0; k < N_OUTPUTS; k++) {
        double nmse = nmse_of(out.values[k], o.values[k], out.n[k]);
        TEST_CHECK(failures, nmse <= 1e-9, "%s: NMSE %g", output_names[k], nmse);
    }
    if (failures)
        fprintf(stderr, "  ^ mode %d, n %u, %u samples, E %g\n", spec->mode, s->t.g.n, spec->n_samples,
                (double)spec->extent);
    oracle_free(&o);
    output_free(&out);
    return failures;
}

static int check_scenes(splat_backend *backend)
{
    static const struct {
        field_scene_kind kind;
        uint32_t n;
        int width, height;
        field_spec spec;
    } cases[] = {
        {FIELD_DISCS, 500, 90, 70, {SPLAT_FIELD_DENSITY, 2000, 0, 1, 0}},
        {FIELD_DISCS, 500, 90, 70, {SPLAT_FIELD_SDF, 2000, 4, 2, 0}},
        {FIELD_DISCS, 500, 31, 17, {SPLAT_FIELD_SDF, 1500, 0.3f, 3, 0}},
        {FIELD_DISCS, 16, 64, 48, {SPLAT_FIELD_DENSITY, 700, 0, 4, 0}}, /* more samples than Gaussians */
        {FIELD_DISCS, 500, 90, 70, {SPLAT_FIELD_SDF, 2000, 4, 2, 8.58f}},
        {FIELD_DISCS, 500, 31, 17, {SPLAT_FIELD_SDF, 1500, 0.3f, 13, 4}},
        {FIELD_DISCS, 130, 64, 48, {SPLAT_FIELD_SDF, 1, 4, 5, 0}},
        {FIELD_DISCS, 300, 1, 1, {SPLAT_FIELD_SDF, 301, 4, 6, 0}}, /* an odd number of signs has a sum */
        {FIELD_FAINT, 200, 64, 48, {SPLAT_FIELD_SDF, 400, 4, 7, 0}},
        {FIELD_FAINT, 200, 64, 48, {SPLAT_FIELD_DENSITY, 400, 4, 8, 0}},
        {FIELD_TINY, 16, 64, 48, {SPLAT_FIELD_DENSITY, 300, 0, 9, 0}},
        {FIELD_DISCS, 9000, 120, 90, {SPLAT_FIELD_DENSITY, 12000, 0, 10, 0}}, /* more generators than a round has */
    };
    int failures = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        field_scene s = field_scene_make(cases[i].kind, cases[i].n, cases[i].width, cases[i].height);
        failures += check_against_reference(backend, &s, &cases[i].spec);
        field_scene_free(&s);
    }
    return failures;
}

/* The range leaves some samples out, those that it leaves in have smaller losses, and a range of 0 leaves none. */
static int check_range(splat_backend *backend)
{
    static const float ranges[] = {1e9f, 8.58f, 4, 1e-30f};
    double counts[4], losses[4];
    int failures = 0;
    field_scene s = field_scene_make(FIELD_DISCS, 500, 90, 70);
    for (int i = 0; i < 4; i++) {
        field_output out = run(backend, &s, &(field_spec){SPLAT_FIELD_SDF, 2000, 4, 2, ranges[i]}, &failures);
        counts[i] = out.result[2];
        losses[i] = out.result[0];
        TEST_CHECK(failures, i < 3 || is_untouched(&out), "a range of 0 leaves gradients");
        output_free(&out);
    }
    TEST_CHECK(failures, counts[0] == 2000 && counts[1] < 2000 && counts[2] < counts[1] && counts[2] > 200 &&
                             counts[3] == 0 && losses[3] == 0, "%g, %g, %g, %g samples count", counts[0], counts[1],
               counts[2], counts[3]);
    TEST_CHECK(failures, losses[1] < losses[0], "losses of %g and %g", losses[0], losses[1]);
    field_scene_free(&s);
    return failures;
}

/* Neighbours that the view does not see get their share. */
static int check_unseen_neighbors(splat_backend *backend)
{
    int failures = 0;
    field_scene s = field_scene_make(FIELD_DISCS, 500, 90, 70);
    field_output out = run(backend, &s, &(field_spec){SPLAT_FIELD_DENSITY, 2000, 0, 1, 0}, &failures);
    uint32_t n_unseen = 0, next = 0;
    for (uint32_t i = 0; i < 500; i++) {
        if (next < out.n_visible && out.visible[next] == i) {
            next++;
            continue;
        }
        n_unseen += out.values[MEANS][3 * i] != START;
    }
    TEST_CHECK(failures, next == out.n_visible && n_unseen > 10, "%u unseen Gaussians have a gradient", n_unseen);
    output_free(&out);
    field_scene_free(&s);
    return failures;
}

/* ---------------------------------------------------------------- the same bytes */

/* The first mode with more generators than a round has. */
static int check_same_bytes(splat_backend *backend)
{
    int failures = 0;
    for (int mode = 0; mode < 2; mode++) {
        field_scene s = field_scene_make(FIELD_DISCS, mode ? 700 : 9000, 60, 44);
        field_spec spec = {mode, mode ? 3001 : 12001, 4, 9, 0};
        splat_backend *other = project_other_backend(backend);
        field_output a = run(backend, &s, &spec, &failures), b = run(other ? other : backend, &s, &spec, &failures);
        TEST_CHECK(failures, is_same(&a, &b), "mode %d: %s", mode,
                   other ? "other threads, other bytes" : "not repeatable");
        spec.seed++;
        field_output c = run(backend, &s, &spec, &failures);
        TEST_CHECK(failures, !is_same(&a, &c), "the seed says nothing");
        output_free(&a), output_free(&b), output_free(&c);
        field_scene_free(&s);
        splat_backend_destroy(other);
    }
    return failures;
}

/* ---------------------------------------------------------------- known on paper */

/* Sixteen Gaussians far from each other, of equal short axes: a sample's d is o exp(-9/8 |xi|^2) and its target
 * exp(-9/8 xi_m^2), so the mean loss is q - o q^3 with q = E exp(-9/8 xi^2) = 1 / sqrt(1 + 9/4). 200,000 samples of
 * standard deviation 0.3 leave 7e-4; the bound is five of these. All push their opacities up. A Gaussian alone
 * agrees with itself about its normal, but for the few samples so far out that sum a is below 1e-6. */
static int check_isolated(splat_backend *backend)
{
    enum { N = 16 };
    int failures = 0;
    field_scene s = field_scene_make(FIELD_DISCS, N, 64, 48);
    const double o = 0.7, q = 1 / sqrt(3.25);
    for (uint32_t i = 0; i < N; i++) {
        for (uint32_t k = 0; k < 3; k++) {
            s.t.g.p.means[3 * i + k] = k < 2 ? 0.5f * (float)(k ? i / 4 : i % 4) - 0.75f : 0;
            s.t.g.p.scales[3 * i + k] = k == 2 ? -6.0f : -5.0f;
        }
        s.t.g.p.opacities[i] = (float)log(o / (1 - o));
    }
    field_scene_connect(&s);
    field_output out = run(backend, &s, &(field_spec){SPLAT_FIELD_DENSITY, 200000, 0, 1, 0}, &failures);
    TEST_CHECK(failures, out.result[2] == 200000 && out.result[3] == N, "%g samples, %g Gaussians", out.result[2],
               out.result[3]);
    TEST_CHECK(failures, fabs(out.result[0] - (q - o * q * q * q)) < 3.5e-3, "loss %g, not %g", out.result[0],
               q - o * q * q * q);
    TEST_CHECK(failures, out.result[1] < 1e-3, "normal loss %g", out.result[1]);
    double push = 0, expected = -(double)FIELD_WEIGHT * o * (1 - o) * q * q * q;
    for (int i = 0; i < N; i++) push += (double)out.values[OPACITIES][i] - (double)START;
    TEST_CHECK(failures, fabs(push / expected - 1) < 0.02, "opacities: %g, not %g", push, expected);
    for (size_t i = 0; i < 4 * N; i++) /* only rounding turns it */
        TEST_CHECK(failures, fabsf(out.values[ROTATIONS][i] - START) < 1e-3f, "rotation %zu: %g", i,
                   (double)(out.values[ROTATIONS][i] - START));
    output_free(&out);
    field_scene_free(&s);
    return failures;
}

/* Each of the pool is drawn as often as the others, and xi is normal. 4 sigma of 60,000 draws. */
static int check_draws(void)
{
    enum { M = 60000, POOL = 7 };
    int failures = 0;
    field_scene s = field_scene_make(FIELD_DISCS, 16, 8, 8);
    field_spec spec = {SPLAT_FIELD_DENSITY, M, 0, 77, 0};
    uint32_t pool[POOL] = {0, 1, 2, 3, 4, 5, 6}, *generators = calloc(M, sizeof *generators), counts[POOL] = {0};
    double *xis = calloc(3 * M, sizeof *xis), moments[9] = {0};
    draw(&s, &spec, pool, POOL, generators, xis);
    for (size_t i = 0; i < M; i++) {
        counts[generators[i]]++;
        for (size_t k = 0; k < 3; k++) {
            double x = xis[3 * i + k];
            moments[k] += x / M;
            moments[3 + k] += x * x / M;
            moments[6 + k] += x * xis[3 * i + (k + 1) % 3] / M;
        }
    }
    for (int k = 0; k < POOL; k++)
        TEST_CHECK(failures, abs((int)counts[k] - M / POOL) < 340, "%d is drawn %u times", k, counts[k]);
    for (int k = 0; k < 9; k++)
        TEST_CHECK(failures, fabs(moments[k] - (k / 3 == 1)) < 0.024, "moment %d is %g", k, moments[k]);
    free(generators), free(xis);
    field_scene_free(&s);
    return failures;
}

/* ---------------------------------------------------------------- awkward */

static void move_behind(field_scene *s, uint32_t first)
{
    for (uint32_t i = first; i < s->t.g.n; i++)
        for (uint32_t k = 0; k < 3; k++) s->t.g.p.means[3 * i + k] -= 40.0f * s->camera.rotation[6 + k];
    field_scene_connect(s);
}

/* One Gaussian in view makes all samples, or none does; then nothing is added. */
static int check_small_pools(splat_backend *backend)
{
    int failures = 0;
    for (int mode = 0; mode < 2; mode++)
        for (uint32_t n_seen = 0; n_seen < 2; n_seen++) {
            field_scene s = field_scene_make(FIELD_DISCS, 40, 64, 48);
            memcpy(s.t.g.p.means, (float[3]){0.02f, 0.01f, 0}, 3 * sizeof(float));
            move_behind(&s, n_seen);
            field_spec spec = {mode, 500, 4, 1, 0};
            field_output out = run(backend, &s, &spec, &failures);
            TEST_CHECK(failures, out.n_visible == n_seen && out.result[3] == n_seen, "mode %d: %g in the pool", mode,
                       out.result[3]);
            if (n_seen == 0)
                TEST_CHECK(failures,
                           is_untouched(&out) && out.result[0] == 0 && out.result[1] == 0 && out.result[2] == 0,
                           "mode %d: an empty pool has a loss of %g", mode, out.result[0]);
            else
                failures += check_against_reference(backend, &s, &spec);
            output_free(&out);
            field_scene_free(&s);
        }
    field_scene s = field_scene_make(FIELD_DISCS, 100, 64, 48);
    for (size_t i = 0; i < s.n_pixels; i++) s.maps[i] += 3; /* nobody is close to it */
    field_output out = run(backend, &s, &(field_spec){SPLAT_FIELD_SDF, 500, 4, 1, 0}, &failures);
    TEST_CHECK(failures, out.n_visible > 10 && out.result[3] == 0 && is_untouched(&out), "%g are close", out.result[3]);
    output_free(&out);
    field_scene_free(&s);
    return failures;
}

/* Deviations from e^-20 to e^2, next to each other. No oracle: float points have no digits of such needles. */
static int check_needles(splat_backend *backend)
{
    int failures = 0;
    for (int mode = 0; mode < 2; mode++) {
        field_scene s = field_scene_make(FIELD_NEEDLES, 300, 64, 48);
        field_output out = run(backend, &s, &(field_spec){mode, 3000, 4, 1, 0}, &failures);
        TEST_CHECK(failures, is_finite(&out) && out.result[2] > 2500, "mode %d: losses %g, %g of %g samples", mode,
                   out.result[0], out.result[1], out.result[2]);
        TEST_CHECK(failures, !is_untouched(&out), "mode %d: no gradient", mode);
        output_free(&out);
        field_scene_free(&s);
    }
    return failures;
}

/* Gaussians that no view sees, as they are not finite, spoil only the samples that have them as neighbours. */
static int check_not_finite(splat_backend *backend)
{
    int failures = 0;
    for (int mode = 0; mode < 2; mode++) {
        field_scene s = field_scene_make(FIELD_DISCS, 400, 64, 48);
        s.t.g.p.scales[3 * 50] = NAN;
        s.t.g.p.opacities[3 * 51] = NAN;
        memset(s.t.g.p.rotations + 4 * 52, 0, 4 * sizeof(float));
        s.t.g.p.scales[3 * 53 + 1] = INFINITY;
        field_spec spec = {mode, 2000, 4, 1, 0};
        field_output out = run(backend, &s, &spec, &failures);
        TEST_CHECK(failures, is_finite(&out) && out.result[2] > 1000 && out.result[2] < 2000, "mode %d: %g samples",
                   mode, out.result[2]);
        oracle o = oracle_make(&s, &spec, out.visible, out.n_visible, &failures);
        for (int k = 0; k < 3; k++)
            TEST_CHECK(failures, fabs(out.result[k] - o.result[k]) <= 1e-5 * o.result[k], "mode %d: %g, not %g", mode,
                       out.result[k], o.result[k]);
        double nmse = nmse_of(out.values[MEANS], o.values[MEANS], out.n[MEANS]); /* as in check_against_reference */
        TEST_CHECK(failures, nmse <= 1e-9, "mode %d: means: NMSE %g", mode, nmse);
        oracle_free(&o);
        output_free(&out);
        field_scene_free(&s);
    }
    return failures;
}

static int check_errors(splat_backend *backend)
{
    static const struct {
        uint32_t n, n_samples;
        splat_status status;
    } cases[] = {{15, 10, SPLAT_ERROR_ARGUMENT}, {1, 10, SPLAT_ERROR_ARGUMENT}, {20, 0, SPLAT_ERROR_ARGUMENT},
                 {20, SPLAT_FIELD_MAX_SAMPLES + 1, SPLAT_ERROR_ARGUMENT}, {0, 10, SPLAT_OK}};
    int failures = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        field_scene s = field_scene_make(FIELD_DISCS, cases[i].n, 64, 48);
        field_output out = run(backend, &s, &(field_spec){SPLAT_FIELD_DENSITY, cases[i].n_samples, 0, 1, 0}, &failures);
        TEST_CHECK(failures, out.status == cases[i].status && is_untouched(&out) && out.result[0] == 0,
                   "%u Gaussians, %u samples: status %d", cases[i].n, cases[i].n_samples, (int)out.status);
        output_free(&out);
        field_scene_free(&s);
    }
    return failures;
}

int test_op_field_loss(splat_backend *backend)
{
    int failures = check_scenes(backend) + check_unseen_neighbors(backend) + check_same_bytes(backend);
    failures += check_range(backend);
    failures += check_isolated(backend) + check_small_pools(backend) + check_needles(backend);
    failures += check_not_finite(backend) + check_errors(backend);
    if (backend->simd == SPLAT_SIMD_C) failures += check_field_differences() + check_draws(); /* of no backend */
    return failures;
}
