/* math/quantize.h: the codes of 16-bit spherical harmonics and of Adam's moments in 16 and 8 bits. */
#include "math/quantize.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROW = 45 };

static uint32_t random_bits(uint32_t stream, uint64_t index)
{
    return splat_rounding_bits(splat_rounding_key(stream, 1), index);
}

/* Uniform in [0, 1). */
static double uniform(uint32_t stream, uint64_t index)
{
    return random_bits(stream, index) / 4294967296.0;
}

static double half_value(uint32_t code)
{
    int exponent = (int)(code >> 10 & 31);
    double mantissa = code & 1023, value = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return code & 0x8000 ? -value : value;
}

/* ---------------------------------------------------------------- binary16 */

static void half_round_trip(void **state)
{
    (void)state;
    for (uint32_t code = 0; code < 65536; code++) {
        float value = splat_half_decode((uint16_t)code);
        if ((code & 0x7fff) > 0x7c00) {
            assert_true(isnan(value));
            assert_true(isnan(splat_half_decode(splat_half_encode(value, code))));
            continue;
        }
        if ((code & 0x7fff) == 0x7c00)
            assert_true(isinf(value) && (value < 0) == (code > 0x7fff));
        else
            assert_true((double)value == half_value(code));
        for (uint32_t k = 0; k < 4; k++) /* whatever the random bits: the value can be held */
            assert_int_equal(splat_half_encode(value, k == 0 ? 0 : k == 1 ? UINT32_MAX : random_bits(k, code)), code);
    }
}

static void half_rounds_to_nearest(void **state)
{
    (void)state;
    for (uint32_t code = 0; code < 0x7bff; code++) {
        double low = half_value(code), high = half_value(code + 1), middle = 0.5 * (low + high);
        assert_int_equal(splat_half_encode((float)middle, SPLAT_ROUND_NEAREST), code + 1); /* ties away from zero */
        assert_int_equal(splat_half_encode(nextafterf((float)middle, 0), SPLAT_ROUND_NEAREST) & 0xffff,
                         code < 1 ? 0 : code); /* middles are floats: exact */
        assert_int_equal(splat_half_encode(-(float)(0.75 * low + 0.25 * high), SPLAT_ROUND_NEAREST), 0x8000 | code);
        assert_int_equal(splat_half_encode((float)(0.25 * low + 0.75 * high), SPLAT_ROUND_NEAREST), code + 1);
    }
}

static void half_of_what_it_cannot_hold(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t bits = k == 0 ? 0 : k == 1 ? SPLAT_ROUND_NEAREST : UINT32_MAX;
        assert_int_equal(splat_half_encode(65504.0f, bits), 0x7bff);
        assert_int_equal(splat_half_encode(65519.0f, bits), 0x7bff);
        assert_int_equal(splat_half_encode(-1e6f, bits), 0xfbff);
        assert_int_equal(splat_half_encode(FLT_MAX, bits), 0x7bff);
        assert_int_equal(splat_half_encode(INFINITY, bits), 0x7c00);
        assert_int_equal(splat_half_encode(-INFINITY, bits), 0xfc00);
        assert_true(isnan(splat_half_decode(splat_half_encode(NAN, bits))));
        assert_int_equal(splat_half_encode(0.0f, bits), 0);
        assert_int_equal(splat_half_encode(-0.0f, bits), 0x8000);
        assert_int_equal(splat_half_encode(1e-40f, bits), 0); /* far below what 13 bits of chance can tell */
    }
}

static void rows_are_whole_words(void **state)
{
    (void)state;
    const uint32_t channels[4] = {0, 9, 24, 45}, halves[4] = {0, 10, 24, 46}, words[4] = {0, 7, 14, 25};
    for (int k = 0; k < 4; k++) {
        assert_int_equal(splat_half_row(channels[k]), halves[k]);
        assert_int_equal(splat_moment_row_words(channels[k]), words[k]);
    }
}

/* ---------------------------------------------------------------- one interface to all codes of one value */

enum { HALF, PAIR_M, PAIR_V, ROW_M, ROW_V, N_CODES };
static const char *const names[N_CODES] = {"half", "pair m", "pair v", "row m", "row v"};

/* value stored and read again. Rows have scale 2 for m, and 2 for sqrt(v), so that v is at most 4. */
static double stored(int code, double value, uint32_t bits)
{
    float x = (float)value, m, v;
    switch (code) {
    case HALF: return splat_half_decode(splat_half_encode(x, bits));
    case PAIR_M: splat_pair_decode(splat_pair_encode(x, 1.0f, bits), &m, &v); return m;
    case PAIR_V: splat_pair_decode(splat_pair_encode(-1.0f, x, bits), &m, &v); return v;
    case ROW_M: return splat_row_decode_m(splat_row_encode_m(x, splat_row_inverse(2.0f), bits), 2.0f);
    default: return splat_row_decode_v(splat_row_encode_v(sqrtf(x), splat_row_inverse(2.0f), bits), 2.0f);
    }
}

static bool has_sign(int code)
{
    return code == HALF || code == PAIR_M || code == ROW_M;
}

/* The mean of many stores of one value is the value: within 4 standard errors, plus the 2^-13 (half) or 2^-15 of a step
 * that the random bits cannot tell, plus 1e-6 for the float arithmetic of the codes themselves. A row's v below its
 * first step is not among the values: it is never rounded down to zero. */
static void stores_keep_the_mean(void **state)
{
    (void)state;
    enum { N = 40000, VALUES = 60 };
    for (int code = 0; code < N_CODES; code++)
        for (int k = 0; k < VALUES; k++) {
            double value = 1.99 * pow(10.0, -6.0 * uniform(10, (uint64_t)k)); /* half: some are subnormal */
            double sum = 0, square = 0, least = INFINITY, most = -INFINITY;
            if (code == PAIR_M || code == PAIR_V) value = pow(10.0, 60.0 * uniform(11, (uint64_t)k) - 28.0);
            if (has_sign(code) && k % 2) value = -value;
            value = (float)value;
            for (uint32_t i = 0; i < N; i++) {
                double got = stored(code, value, random_bits((uint32_t)(100 + code), (uint64_t)k * N + i));
                double off = got - value;
                sum += off;
                square += off * off;
                least = fmin(least, got);
                most = fmax(most, got);
            }
            double error = sqrt(square / N / N), bias = fabs(sum / N);
            double allowed = 4 * error + (most - least) / 8192 + 1e-6 * fabs(value);
            if (bias > allowed || !(least <= value + 1e-6 * fabs(value) && most >= value - 1e-6 * fabs(value)))
                fail_msg("%s of %.9g: off by %g, allowed %g; from %.9g to %.9g", names[code], value, bias, allowed,
                         least, most);
        }
}

/* Two neighbouring codes at most, and in order: of two values the larger never gets the smaller code with the same
 * random bits. Steps of 0.1 % find every place between codes. */
static void codes_are_monotone(void **state)
{
    (void)state;
    for (int code = 0; code < N_CODES; code++)
        for (uint32_t k = 0; k < 5; k++) {
            uint32_t bits = k == 0 ? 0 : k == 1 ? UINT32_MAX : random_bits(20, k);
            double before = -INFINITY;
            for (double value = 1e-9; value < 3.9; value *= 1.001) {
                double got = stored(code, value, bits);
                if (got < before) fail_msg("%s of %g falls from %g to %g", names[code], value, before, got);
                if (has_sign(code)) assert_true(stored(code, -value, bits) == -got);
                before = got;
            }
        }
}

/* ---------------------------------------------------------------- zero, the largest, what is not finite */

static void zero_is_zero_bits(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t bits = i ? random_bits(30, i) : UINT32_MAX;
        float m, v;
        assert_int_equal(splat_half_encode(0.0f, bits), 0);
        assert_int_equal(splat_pair_encode(0.0f, 0.0f, bits), 0);
        assert_int_equal(splat_row_encode_m(0.0f, splat_row_inverse(0.0f), bits), 0);
        assert_int_equal(splat_row_encode_v(0.0f, splat_row_inverse(0.0f), bits), 0);
        assert_int_equal(splat_row_encode_m(0.0f, 3.0f, bits), 0); /* in a row of others */
        assert_int_equal(splat_row_encode_v(0.0f, 3.0f, bits), 0);
        splat_pair_decode(0, &m, &v);
        assert_true(m == 0 && v == 0 && !signbit(m));
    }
    assert_true(splat_half_decode(0) == 0 && splat_row_decode_m(0, 5.0f) == 0 && splat_row_decode_v(0, 5.0f) == 0);
    assert_true(splat_row_scale(0, SPLAT_ROW_LEAST_M) == 0 && splat_row_scale(9e-31f, SPLAT_ROW_LEAST_M) == 0);
    assert_true(splat_row_scale(1e-30f, SPLAT_ROW_LEAST_M) == 1e-30f);
}

static void pairs_hold_their_codes(void **state)
{
    (void)state;
    for (uint32_t high = 0; high <= 0xfeff; high++) {
        uint32_t low = high % 0x7f80, code = high << 16 | low | (high & 1 && low ? 0x8000 : 0);
        float m, v;
        splat_pair_decode(code, &m, &v);
        assert_int_equal(splat_pair_encode(m, v, UINT32_MAX), code);
        assert_int_equal(splat_pair_encode(m, v, 0), code);
    }
}

static void pairs_stay_finite(void **state)
{
    (void)state;
    float m, v;
    splat_pair_decode(splat_pair_encode(-FLT_MAX, FLT_MAX, UINT32_MAX), &m, &v);
    assert_true(isfinite(m) && m < -3e38f && isfinite(v) && v > 3e38f);
    splat_pair_decode(splat_pair_encode(-INFINITY, INFINITY, UINT32_MAX), &m, &v);
    assert_true(isinf(m) && m < 0 && isinf(v));
    splat_pair_decode(splat_pair_encode(NAN, NAN, UINT32_MAX), &m, &v);
    assert_true(isnan(m) && isnan(v));
}

static void rows_hold_their_codes(void **state)
{
    (void)state;
    for (int k = 0; k < 20; k++) {
        float scale = (float)pow(10.0, 30.0 * uniform(40, (uint64_t)k) - 15.0), inverse = splat_row_inverse(scale);
        uint32_t n_moved = 0;
        for (int code = -127; code <= 127; code++)
            n_moved += splat_row_encode_m(splat_row_decode_m((int8_t)code, scale), inverse, 0x55555555u) != code;
        for (uint32_t code = 0; code <= 255; code++) {
            float root = sqrtf(splat_row_decode_v((uint8_t)code, scale));
            n_moved += splat_row_encode_v(root, inverse, 0x55555555u) != code;
        }
        /* The last bits of value and scale move the place by 1e-5 of a step: never a third of one. */
        assert_int_equal(n_moved, 0);
    }
}

static void rows_saturate(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t bits = k == 0 ? 0 : k == 1 ? 0x80008000u : UINT32_MAX;
        assert_int_equal(splat_row_encode_m(1.0f, 1.0f, bits), 127);
        assert_int_equal(splat_row_encode_m(-1.001f, 1.0f, bits), -127);
        assert_int_equal(splat_row_encode_m(-INFINITY, 1.0f, bits), -127);
        assert_int_equal(splat_row_encode_v(1.0f, 1.0f, bits), 255);
        assert_int_equal(splat_row_encode_v(INFINITY, 1.0f, bits), 255);
        assert_int_equal(splat_row_encode_v(NAN, 1.0f, bits), 255); /* no step is made */
        assert_int_equal(splat_row_encode_v(1e-12f, 1.0f, bits), 1); /* not zero: m is divided by it */
        assert_int_equal(splat_row_encode_m(1e-12f, 1.0f, UINT32_MAX), 0);
    }
    float scale = splat_row_scale(INFINITY, SPLAT_ROW_LEAST_M);
    assert_true(isfinite(scale) && isfinite(splat_row_inverse(scale)) && splat_row_inverse(scale) > 0);
    assert_true(splat_row_decode_m(0, scale) == 0);
}

/* ---------------------------------------------------------------- running means */

/* v after steps of beta_2 = 0.999 in float and stored: gradients of some size (their squares vary by 0 to 2 times the
 * mean when `noisy`), then none. Means over many values: a single one carries the noise of its codes. */
enum { N_ROWS = 40, STEPS = 5000 };

static float next_v(float v, int step, size_t i, bool noisy)
{
    double size = pow(10.0, -4.0 - 1.5 * (double)(i % ROW) / ROW); /* roots from 1e-4 to 3e-6 in a row */
    double factor = noisy ? 2 * uniform(50 + (uint32_t)step, i) : 1;
    double g2 = step < STEPS / 2 ? size * size * factor : 0;
    return 0.999f * v + 0.001f * (float)g2;
}

static void check_mean_of_v(bool rows, bool noisy, double tolerance)
{
    static float exact[N_ROWS * ROW], v[N_ROWS * ROW];
    static uint32_t pairs[N_ROWS * ROW];
    static uint8_t codes[N_ROWS * ROW];
    float scales[N_ROWS] = {0};
    memset(exact, 0, sizeof exact);
    memset(pairs, 0, sizeof pairs);
    memset(codes, 0, sizeof codes);
    for (int step = 0; step < STEPS; step++) {
        uint32_t key = splat_rounding_key(7, (uint32_t)step);
        for (size_t r = 0; r < N_ROWS; r++) {
            float most = 0, unused;
            for (size_t i = r * ROW; i < (r + 1) * ROW; i++) {
                exact[i] = next_v(exact[i], step, i, noisy);
                v[i] = splat_row_decode_v(codes[i], scales[r]);
                if (!rows) splat_pair_decode(pairs[i], &unused, &v[i]);
                v[i] = next_v(v[i], step, i, noisy);
                most = v[i] > most ? v[i] : most;
            }
            scales[r] = splat_row_scale(sqrtf(most), SPLAT_ROW_LEAST_V);
            for (size_t i = r * ROW; i < (r + 1) * ROW; i++) {
                uint32_t bits = splat_rounding_bits(key, i);
                codes[i] = splat_row_encode_v(sqrtf(v[i]), splat_row_inverse(scales[r]), bits);
                pairs[i] = splat_pair_encode(0, v[i], bits);
            }
        }
        if (step != STEPS / 2 - 1 && step != STEPS - 1) continue;
        double mean = 0, worst = 0;
        for (size_t c = 0; c < ROW; c++) {
            double ratio = 0;
            for (size_t r = 0; r < N_ROWS; r++) ratio += (double)v[r * ROW + c] / exact[r * ROW + c] / N_ROWS;
            mean += ratio / ROW;
            worst = fmax(worst, fabs(ratio - 1));
        }
        print_message("%s, %s, step %d: v is %.4f of the float's, a channel at worst %.3f off\n",
                      rows ? "rows" : "pairs", noisy ? "noise" : "constant", step + 1, mean, worst);
        assert_true(fabs(mean - 1) < tolerance);
        assert_true(worst < 5 * tolerance);
    }
}

static void pairs_follow_v(void **state)
{
    (void)state;
    check_mean_of_v(false, false, 0.01);
    check_mean_of_v(false, true, 0.01);
}

static void rows_follow_v(void **state)
{
    (void)state;
    check_mean_of_v(true, false, 0.03);
    check_mean_of_v(true, true, 0.03);
}

/* m of rows and pairs with beta_1 = 0.9 around a small mean under large noise: the mean stays. */
static void momentum_keeps_its_mean(void **state)
{
    (void)state;
    enum { N = 2000 };
    double sums[3] = {0};
    float m[3] = {0}, v;
    for (uint32_t step = 0; step < 100 * N; step++) {
        float g = 1e-3f + 2e-2f * (float)(uniform(60, step) - 0.5);
        uint32_t bits = random_bits(61, step);
        for (int k = 0; k < 3; k++) m[k] = 0.9f * m[k] + 0.1f * g;
        splat_pair_decode(splat_pair_encode(m[1], 1.0f, bits), &m[1], &v);
        m[2] = splat_row_decode_m(splat_row_encode_m(m[2], splat_row_inverse(0.5f), bits), 0.5f);
        for (int k = 0; k < 3; k++) sums[k] += m[k] / (100.0 * N);
    }
    /* a pair's last bit is 2^-8 of 3e-3, and 200,000 of them average to far below 1e-6; the row's scale is 100 times
     * its values, steps of 4e-4: 1e-5 */
    assert_true(fabs(sums[1] - sums[0]) < 1e-6 && fabs(sums[2] - sums[0]) < 3e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_round_trip),        cmocka_unit_test(half_rounds_to_nearest),
        cmocka_unit_test(half_of_what_it_cannot_hold), cmocka_unit_test(rows_are_whole_words),
        cmocka_unit_test(stores_keep_the_mean),   cmocka_unit_test(codes_are_monotone),
        cmocka_unit_test(zero_is_zero_bits),      cmocka_unit_test(pairs_hold_their_codes),
        cmocka_unit_test(pairs_stay_finite),      cmocka_unit_test(rows_hold_their_codes),
        cmocka_unit_test(rows_saturate),          cmocka_unit_test(pairs_follow_v),
        cmocka_unit_test(rows_follow_v),          cmocka_unit_test(momentum_keeps_its_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
