/* The noise of a camera's sensor. */
#ifndef SPLAT_SAMPLE_SENSOR_H
#define SPLAT_SAMPLE_SENSOR_H

#include <stddef.h>
#include <stdint.h>

/* Adds normal noise of 1.5 levels to the values of the index-th picture. */
void splat_sample_sensor_noise(uint64_t seed, int index, uint8_t *values, size_t n, int threads);

#endif
