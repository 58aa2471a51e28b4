/* Noise by the number of picture and value: the same at any thread count. */
#include "sample/sample_sensor.h"

#include "base/rng.h"
#include "sample/sample_dice.h"

#include <math.h>

#define LEVELS 1.5f

void splat_sample_sensor_noise(uint64_t seed, int index, uint8_t *values, size_t n, int threads)
{
    const uint64_t first = (uint64_t)index << 32;
    const size_t n_groups = (n + 3) / 4;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t group = 0; group < n_groups; group++) {
        splat_random4 words = splat_random(seed, SPLAT_STREAM_SAMPLE_SCENE, SPLAT_SAMPLE_STEP_SENSOR, first + group);
        float normal[4];
        splat_normal2(words.x[0], words.x[1], &normal[0], &normal[1]);
        splat_normal2(words.x[2], words.x[3], &normal[2], &normal[3]);
        for (size_t i = 4 * group; i < n && i < 4 * group + 4; i++)
            values[i] = (uint8_t)fminf(fmaxf(floorf((float)values[i] + LEVELS * normal[i % 4] + 0.5f), 0), 255);
    }
}
