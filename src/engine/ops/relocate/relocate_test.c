/* density_relocate against a plain version of its contract, and its formulas against the paper's. */
#include "ops/densify/densify_test.h"

#include "ops/relocate/relocate.h"
#include "ops/relocate/relocate_math.h"

#define SEED 55
#define STEP 700

/* ---------------------------------------------------------------- formulas */

/* Eq. 9 of the paper as it stands there. */
static double paper_line(double p, int n)
{
    double sum = 0;
    for (int i = 1; i <= n; i++) {
        double binomial = 1;
        for (int k = 0; k < i; k++) {
            sum += binomial * (k % 2 ? -1 : 1) * pow(p, k + 1) / sqrt(k + 1);
            binomial *= (double)(i - 1 - k) / (k + 1);
        }
    }
    return sum;
}

/* Its integral with far smaller steps. */
static double fine_line(double p, double n)
{
    const double h = 1.0 / 64;
    double sum = -0.5 * expm1(n * log1p(-p));
    for (int k = 1; k < 640; k++) sum -= expm1(n * log1p(-p * exp(-(k * h) * (k * h))));
    return 2 * h / sqrt(3.14159265358979323846) * sum;
}

static int check_lines(void)
{
    int failures = 0;
    static const double opacities[] = {0.005, 0.1, 0.3, 0.5, 0.9, 0.99, 0.9999};
    static const int copies[] = {2, 3, 5, 10, 51, 1000};
    for (int a = 0; a < 7; a++)
        for (int b = 0; b < 6; b++) {
            double p = -expm1(log1p(-opacities[a]) / copies[b]), line = splat_relocate_line(p, copies[b]);
            TEST_CHECK(failures, fabs(line / fine_line(p, copies[b]) - 1) < 2e-8, "o %g, n %d", opacities[a],
                       copies[b]);
            if (copies[b] <= 10) /* beyond, the sum has no digits left */
                TEST_CHECK(failures, fabs(line / paper_line(p, copies[b]) - 1) < 2e-8, "o %g, n %d", opacities[a],
                           copies[b]);
        }
    TEST_CHECK(failures, fabs(splat_relocate_line(0.3, 1) / 0.3 - 1) < 2e-8, "one is itself");
    return failures;
}

static splat_relocated divide(double opacity, double scale, double filter, uint32_t n)
{
    const float log_scale = (float)log(scale), scales[3] = {log_scale, log_scale, log_scale};
    return splat_relocate_one((float)log(opacity / (1 - opacity)), scales, (float)filter, n, 0.005f);
}

/* Factors of the scales that were computed with 60 digits. */
static int check_factors(void)
{
    int failures = 0;
    static const struct { double opacity; uint32_t n; double factor; } known[] = {
        {.1, 2, .992346}, {.3, 3, .966352}, {.5, 2, .952152},   {.5, 10, .916068},    {.9, 2, .867938},
        {.9, 5, .797124}, {.99, 2, .806686}, {.99, 10, .667350}, {.9999, 51, .551988}, {.4, 1, 1}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        splat_relocated r = divide(known[i].opacity, 1, 0, known[i].n);
        TEST_CHECK(failures, fabs(exp((double)r.log_scales[1]) - known[i].factor) < 1e-6, "o %g, n %u: %.7f",
                   known[i].opacity, known[i].n, exp((double)r.log_scales[1]));
    }
    return failures;
}

/* The rendered properties of a Gaussian. */
typedef struct rendered { double opacity, width; } rendered;

/* Along the first axis. */
static rendered render(const splat_relocated *g, double filter)
{
    double opacity = 1 / (1 + exp(-(double)g->logit)), s = 1;
    for (int k = 2; k >= 0; k--) {
        s = exp((double)g->log_scales[k]);
        opacity *= s / sqrt(s * s + filter * filter);
    }
    return (rendered){opacity, sqrt(s * s + filter * filter)};
}

/* The opacity of n of them, one after the other, at a distance from the centre. */
static double composite(rendered g, uint32_t n, double x)
{
    return 1 - pow(1 - g.opacity * exp(-0.5 * x * x / (g.width * g.width)), n);
}

/* Its integral along a line, or over the plane, from the centre. */
static double line_of(rendered g, uint32_t n, bool plane)
{
    double sum = 0;
    for (int k = 0; k < 4000; k++) {
        double x = (k + 0.5) * 0.002 * g.width;
        sum += composite(g, n, x) * (plane ? x : 1) * 0.002 * g.width;
    }
    return sum;
}

/* The centre is exact, with and without a filter, in both branches; the line through it, where the scales shrink. The
 * other branch is that of flat Gaussians, thinner than the filter. */
static int check_divisions(void)
{
    int failures = 0, n_kept = 0, n_shrunk = 0;
    static const double opacities[] = {0.02, 0.3, 0.8, 0.99}, filters[] = {0, 0.05, 0.2, 1}, thin[] = {1, 0.1};
    for (int c = 0; c < 32; c++)
        for (uint32_t n = 2; n <= 8; n++) {
            double o = opacities[c % 4], f = filters[c / 4 % 4];
            splat_relocated whole = {(float)log(o / (1 - o)), {0, 0, (float)log(thin[c / 16])}};
            rendered one = render(&whole, f);
            if (1 - pow(1 - one.opacity, 1.0 / n) < 0.0051) continue; /* raised to the least opacity */
            splat_relocated r = splat_relocate_one(whole.logit, whole.log_scales, (float)f, n, 0.005f);
            rendered each = render(&r, f);
            double centre = composite(each, n, 0), line = line_of(each, n, false) / line_of(one, 1, false);
            bool kept = r.log_scales[0] == 0;
            TEST_CHECK(failures, fabs(centre - one.opacity) < 1e-5 && each.opacity < one.opacity,
                       "o %g, f %g, n %u: %.7f, not %.7f", o, f, n, centre, one.opacity);
            TEST_CHECK(failures, kept || fabs(line - 1) < 1e-3, "o %g, f %g, n %u: line %g", o, f, n, line);
            n_kept += kept;
            n_shrunk += !kept;
        }
    TEST_CHECK(failures, n_kept > 5 && n_shrunk > 50, "%d and %d cases: a branch is not tested", n_kept, n_shrunk);
    return failures;
}

/* The light that a plane full of Gaussians stops, which is not conserved. */
static int check_plane(void)
{
    int failures = 0;
    static const double opacities[] = {.1, .5, .9, .99}, kept[] = {.998, .984, .949, .917};
    for (int i = 0; i < 4; i++) {
        splat_relocated r = divide(opacities[i], 1, 0, 2);
        double plane = line_of(render(&r, 0), 2, true) /
                       line_of((rendered){opacities[i], 1}, 1, true);
        TEST_CHECK(failures, fabs(plane - kept[i]) < 1e-3, "o %g: %g", opacities[i], plane);
    }
    return failures;
}

/* An opacity that rounds to 1, and one drawn so often that the least opacity is reached. */
static int check_extremes(void)
{
    int failures = 0;
    const float scales[3] = {0, 0, 0};
    splat_relocated full = splat_relocate_one(90.0f, scales, 0, 2, 0.005f);
    splat_relocated often = splat_relocate_one(0.0f, scales, 0, 1 << 30, 0.005f);
    TEST_CHECK(failures, isfinite(full.logit) && full.logit <= 90.0f && isfinite(full.log_scales[0]), "logit %g",
               (double)full.logit);
    TEST_CHECK(failures, fabs(1 / (1 + exp(-(double)often.logit)) - 0.005) < 1e-7 && isfinite(often.log_scales[0]),
               "logit %g", (double)often.logit);
    return failures;
}

/* ---------------------------------------------------------------- the op */

static splat_density_relocated run(splat_backend *backend, population *p, uint32_t n_new, bool moments, uint32_t step)
{
    splat_density_relocated result = {UINT32_MAX, 0, 0};
    population device;
    upload(backend, p, &device);
    struct splat_density_relocate_args args = {.gaussians = &device.g, .moments = moments ? &device.moments : NULL,
                                               .n_new = n_new, .dead_opacity = 0.005f, .seed = SEED, .step = step,
                                               .result = &result};
    if (splat_op_density_relocate(backend, &args, NULL) != SPLAT_OK) result.n_dead = UINT32_MAX;
    download(backend, &device, p);
    return result;
}

enum { ALIVE, DEAD, BROKEN };

static double rendered_opacity(const population *p, size_t i)
{
    double o = 1 / (1 + exp(-(double)p->g.p.opacities[i])), f = p->g.filter_3d[i];
    for (int k = 0; k < 3; k++) {
        double s = exp((double)p->g.p.scales[3 * i + k]);
        o *= s / sqrt(s * s + f * f);
    }
    return o;
}

static int state_of(population *p, size_t i)
{
    void **data[N_ARRAYS];
    uint32_t words[N_ARRAYS];
    double norm2 = 0;
    list_arrays(p, data, words);
    for (int a = 0; a < SPLAT_N_TENSORS; a++) {
        bool halves = a == SPLAT_TENSOR_sh_rest && p->g.sh_rest_half;
        for (uint32_t k = 0; k < words[a] * (halves ? 2 : 1); k++) {
            float value = halves ? splat_half_decode(((uint16_t *)*data[a])[2 * i * words[a] + k])
                                 : ((float *)*data[a])[i * words[a] + k];
            if (!isfinite(value)) return BROKEN;
        }
    }
    for (int k = 0; k < 4; k++) norm2 += (double)p->g.p.rotations[4 * i + k] * (double)p->g.p.rotations[4 * i + k];
    return norm2 >= 1e-8 && rendered_opacity(p, i) > (double)0.005f ? ALIVE : DEAD;
}

/* One round's draws from the states and opacities of p. */
typedef struct round {
    uint64_t *sums;
    uint32_t *sources, *counts;
    uint8_t *states;
    uint32_t n_dead;
} round_of;

static round_of draw_reference(population *p, uint32_t n_draws, bool of_dead, uint64_t first, uint32_t step)
{
    const uint32_t n = p->g.n;
    round_of r = {calloc(n + 1, sizeof(uint64_t)), NULL, calloc(n + 1, sizeof(uint32_t)), calloc(n + 1, 1), 0};
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        r.states[i] = (uint8_t)state_of(p, i);
        r.n_dead += r.states[i] != ALIVE;
        if (r.states[i] == ALIVE) sum += (uint64_t)floor(rendered_opacity(p, i) * 4194304);
        r.sums[i] = sum;
    }
    if (of_dead) n_draws = r.n_dead;
    r.sources = calloc(n_draws + 1, sizeof(uint32_t));
    for (uint32_t j = 0; j < n_draws && sum; j++) {
        splat_random4 random = splat_random(SEED, SPLAT_STREAM_RELOCATE, step, first + j);
        uint64_t bits = random.x[0] | (uint64_t)random.x[1] << 32;
        uint64_t k = (uint64_t)((unsigned __int128)bits * sum >> 64);
        uint32_t i = 0;
        while (r.sums[i] <= k) i++;
        r.sources[j] = i;
        r.counts[i]++;
    }
    return r;
}

static void release_round(round_of *r)
{
    free(r->sums), free(r->sources), free(r->counts), free(r->states);
}

static void zero_moments(population *p, size_t row)
{
    void **data[N_ARRAYS];
    uint32_t words[N_ARRAYS];
    list_arrays(p, data, words);
    for (int a = N_PARAMETERS; a < N_PERSISTENT; a++)
        if (words[a]) memset(row_of(data[a], words[a], row), 0, words[a] * sizeof(uint32_t));
}

/* The drawn as the contract says: checked against the formulas, then as the op has them; what follows is copies. */
static int expect_round(population *expected, population *result, const round_of *r, bool moments)
{
    int failures = 0;
    double worst = 0;
    for (uint32_t i = 0; i < expected->g.n; i++) {
        float *logit = &expected->g.p.opacities[i], *scales = expected->g.p.scales + 3 * i;
        if (moments && (r->counts[i] || r->states[i] == BROKEN)) zero_moments(expected, i);
        if (r->counts[i] == 0) continue;
        splat_relocated one =
            splat_relocate_one(*logit, scales, expected->g.filter_3d[i], r->counts[i] + 1, 0.005f);
        worst = fmax(worst, fabs((double)one.logit - (double)result->g.p.opacities[i]));
        *logit = result->g.p.opacities[i];
        for (int k = 0; k < 3; k++) {
            worst = fmax(worst, fabs((double)one.log_scales[k] - (double)result->g.p.scales[3 * i + k]));
            scales[k] = result->g.p.scales[3 * i + k];
        }
    }
    /* Doubles of another library, rounded to floats below 32: one unit in the last place */
    TEST_CHECK(failures, worst <= 2e-6, "what was drawn is off by %g", worst);
    return failures;
}

static population make_mixed(uint32_t n, uint32_t capacity, int degree, bool small)
{
    population p = make(n, capacity, degree, 900 + n);
    for (uint32_t i = 0; i < n; i++) {
        if (i % 6 == 1) p.g.p.opacities[i] = -7;
        if (i % 50 == 3) p.g.p.sh_dc[3 * i + 1] = NAN;
        if (i % 61 == 5) memset(p.g.p.rotations + 4 * i, 0, 4 * sizeof(float));
        if (degree > 0 && i % 70 == 9) p.g.p.sh_rest[i * splat_sh_rest_floats(degree) + 1] = INFINITY;
    }
    if (small) make_small(&p);
    return p;
}

static int check_rounds(splat_backend *backend, uint32_t n, int degree, bool moments, bool small)
{
    int failures = 0;
    const uint32_t n_new = n / 20 + 3;
    population before = make_mixed(n, n + n_new + 2, degree, small), moved = copy(&before), grown = copy(&before),
               expected = copy(&before);
    round_of r = draw_reference(&before, 0, true, 0, STEP);
    splat_density_relocated first = run(backend, &moved, 0, moments, STEP);
    splat_density_relocated both = run(backend, &grown, n_new, moments, STEP);
    bool lives = n > 0 && r.sums[n - 1] > 0;
    TEST_CHECK(failures, first.n_dead == r.n_dead && first.n_relocated == (lives ? r.n_dead : 0) && first.n_added == 0,
               "n %u: %u dead, %u moved, not %u", n, first.n_dead, first.n_relocated, r.n_dead);
    if (n >= 1000) TEST_CHECK(failures, r.n_dead > 150 && r.n_dead < n / 2, "the data exercises nothing");
    if (lives) {
        failures += expect_round(&expected, &moved, &r, moments);
        for (uint32_t i = 0, j = 0; i < n; i++)
            if (r.states[i] != ALIVE) copy_row(&expected, i, &expected, r.sources[j++], N_PARAMETERS);
    }
    for (int a = 0; a < N_PERSISTENT; a++)
        TEST_CHECK(failures, is_equal_array(&expected, &moved, a, 0, expected.capacity), "n %u: array %d differs", n,
                   a);
    TEST_CHECK(failures, both.n_dead == first.n_dead && both.n_added == (lives ? n_new : 0), "n %u: %u added", n,
               both.n_added);
    if (lives) {
        round_of second = draw_reference(&expected, n_new, false, r.n_dead, STEP);
        failures += expect_round(&expected, &grown, &second, moments);
        for (uint32_t j = 0; j < n_new; j++) {
            copy_row(&expected, n + j, &expected, second.sources[j], N_PARAMETERS);
            if (moments) zero_moments(&expected, n + j);
        }
        release_round(&second);
    }
    for (int a = 0; a < N_PERSISTENT; a++)
        TEST_CHECK(failures, is_equal_array(&expected, &grown, a, 0, expected.capacity), "n %u: array %d differs", n,
                   a);
    release_round(&r);
    release(&before), release(&moved), release(&grown), release(&expected);
    return failures;
}

/* ---------------------------------------------------------------- draws */

/* n Gaussians with opacities of `opacity`, each at its own place. */
static population make_row(uint32_t n, uint32_t capacity, const float *opacity)
{
    population p = make(n, capacity, 0, 7);
    for (uint32_t i = 0; i < n; i++) {
        p.g.p.opacities[i] = logf(opacity[i] / (1 - opacity[i]));
        p.g.filter_3d[i] = 0;
        p.g.p.means[3 * i] = (float)i;
        for (int k = 0; k < 4; k++) p.g.p.rotations[4 * i + k] = k == 0;
        for (int k = 0; k < 3; k++) p.g.p.scales[3 * i + k] = -2;
    }
    return p;
}

/* The counts of new Gaussians from each of n_drawn living ones, against its weight. */
static int check_frequencies(splat_backend *backend)
{
    enum { LIVING = 12, N = LIVING + 1, NEW = 200000 };
    int failures = 0, drawn[N] = {0};
    float opacity[N];
    double sum = 0, chi2 = 0;
    for (int i = 0; i < LIVING; i++) sum += opacity[i] = 0.02f + 0.07f * (float)i;
    opacity[LIVING] = 0.001f; /* dead: it moves to one of the others first */
    population p = make_row(N, N + NEW, opacity);
    population after = copy(&p);
    run(backend, &after, 0, true, STEP);
    int home = (int)after.g.p.means[3 * LIVING]; /* shares its opacity since then */
    double weights[N];
    sum = 0;
    for (int i = 0; i < N; i++) sum += weights[i] = rendered_opacity(&after, (size_t)i);
    run(backend, &p, NEW, true, STEP);
    for (int j = 0; j < NEW; j++) drawn[(int)p.g.p.means[3 * (N + j)]]++;
    weights[home] += weights[LIVING];
    TEST_CHECK(failures, drawn[LIVING] == 0 && home < LIVING, "the dead were drawn");
    for (int i = 0; i < LIVING; i++) {
        double expected = NEW * weights[i] / sum;
        chi2 += (drawn[i] - expected) * (drawn[i] - expected) / expected;
    }
    TEST_CHECK(failures, chi2 < 45, "chi^2 of %d degrees of freedom is %g", LIVING - 1, chi2); /* p = 5e-6 */
    release(&p), release(&after);
    return failures;
}

static int check_few_living(splat_backend *backend)
{
    enum { N = 300 };
    int failures = 0;
    float opacity[N];
    for (int i = 0; i < N; i++) opacity[i] = 0.003f;
    population dead = make_row(N, N + 5, opacity), same = copy(&dead);
    splat_density_relocated r = run(backend, &dead, 5, true, STEP);
    TEST_CHECK(failures, r.n_dead == N && r.n_relocated == 0 && r.n_added == 0, "%u moved, %u added", r.n_relocated,
               r.n_added);
    for (int a = 0; a < N_PERSISTENT; a++)
        TEST_CHECK(failures, is_equal_array(&dead, &same, a, 0, N + 5), "array %d changed though nobody lives", a);
    opacity[77] = 0.9f; /* one for all */
    population one = make_row(N, N + 5, opacity);
    r = run(backend, &one, 5, true, STEP);
    TEST_CHECK(failures, r.n_dead == N - 1 && r.n_relocated == N - 1 && r.n_added == 5, "%u moved, %u added",
               r.n_relocated, r.n_added);
    for (int i = 0; i < N + 5; i++) TEST_CHECK(failures, one.g.p.means[3 * i] == 77, "row %d is elsewhere", i);
    release(&dead), release(&same), release(&one);
    return failures;
}

/* Another step draws others; wrong arguments are refused before anything is written. */
static int check_arguments(splat_backend *backend)
{
    int failures = 0;
    population p = make_mixed(1000, 1000, 0, false), q = copy(&p);
    run(backend, &p, 0, true, STEP);
    run(backend, &q, 0, true, STEP + 1);
    TEST_CHECK(failures, !is_equal_array(&p, &q, SPLAT_TENSOR_means, 0, 1000), "two steps draw the same");
    splat_density_relocated result;
    struct splat_density_relocate_args args = {.gaussians = &p.g, .dead_opacity = 1, .result = &result};
    TEST_CHECK(failures, splat_op_density_relocate(backend, &args, NULL) == SPLAT_ERROR_ARGUMENT, "opacity 1");
    args.dead_opacity = 0.005f;
    args.n_new = UINT32_MAX;
    TEST_CHECK(failures, splat_op_density_relocate(backend, &args, NULL) == SPLAT_ERROR_ARGUMENT, "too many");
    release(&p), release(&q);
    return failures;
}

int test_op_density_relocate(splat_backend *backend)
{
    int failures = check_lines() + check_factors() + check_divisions() + check_plane() + check_extremes();
    for (int c = 0; c < N_COUNTS - 1; c++) failures += check_rounds(backend, counts[c], 0, true, false);
    failures += check_rounds(backend, 3000, 3, true, false);
    failures += check_rounds(backend, 3000, 2, true, true);
    failures += check_rounds(backend, 1000, 1, false, false);
    return failures + check_frequencies(backend) + check_few_living(backend) + check_arguments(backend);
}
