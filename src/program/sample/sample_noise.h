/* Value noise of the ray-traced scenes, from a permutation of 0 to 255, twice, that depends on the seed alone. */
#ifndef SPLAT_SCENE_SAMPLE_NOISE_H
#define SPLAT_SCENE_SAMPLE_NOISE_H

#include "base/rng.h"
#include "sample/sample_vec.h"

static inline void splat_noise_init(uint8_t noise[512], uint64_t seed)
{
    for (int i = 0; i < 256; i++) noise[i] = (uint8_t)i;
    for (uint32_t i = 255; i > 0; i--) { /* Fisher-Yates */
        uint32_t j = splat_random(seed, SPLAT_STREAM_SAMPLE_SCENE, 0, i).x[0] % (i + 1);
        uint8_t kept = noise[i];
        noise[i] = noise[j];
        noise[j] = kept;
    }
    for (int i = 0; i < 256; i++) noise[256 + i] = noise[i];
}

static inline double splat_smoothstep(double low, double high, double x)
{
    double t = fmin(fmax((x - low) / (high - low), 0), 1);
    return t * t * (3 - 2 * t);
}

/* In [0, 1], of a corner of the integer lattice. */
static inline double splat_noise_lattice(const uint8_t noise[512], int x, int y, int z)
{
    return noise[noise[noise[x & 255] + (y & 255)] + (z & 255)] * (1.0 / 255.0);
}

/* Value noise in [0, 1]: smooth between random values on the integer lattice. */
static inline double splat_noise_value(const uint8_t noise[512], splat_vec3 v)
{
    double fx = floor(v.x), fy = floor(v.y), fz = floor(v.z);
    int x = (int)fx, y = (int)fy, z = (int)fz;
    double u = splat_smoothstep(0, 1, v.x - fx), w = splat_smoothstep(0, 1, v.y - fy);
    double s = splat_smoothstep(0, 1, v.z - fz);
    double layers[2];
    for (int k = 0; k < 2; k++) {
        double a = splat_noise_lattice(noise, x, y, z + k), b = splat_noise_lattice(noise, x + 1, y, z + k);
        double c = splat_noise_lattice(noise, x, y + 1, z + k), d = splat_noise_lattice(noise, x + 1, y + 1, z + k);
        layers[k] = (a + (b - a) * u) * (1 - w) + (c + (d - c) * u) * w;
    }
    return layers[0] + (layers[1] - layers[0]) * s;
}

/* Three octaves, in [0, 1]. */
static inline double splat_noise_fractal(const uint8_t noise[512], splat_vec3 v, double frequency)
{
    double sum = 0, weight = 4.0 / 7.0;
    for (int octave = 0; octave < 3; octave++, weight *= 0.5, frequency *= 2.03)
        sum += weight * splat_noise_value(noise, splat_vec3_scale(v, frequency));
    return sum;
}

#endif
