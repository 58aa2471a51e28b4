/* Synthetic weights and pictures, the same as tests/golden/make_lpips_golden.py makes. */
#ifndef SPLAT_TESTS_LPIPS_FIXTURE_H
#define SPLAT_TESTS_LPIPS_FIXTURE_H

#include "io/safetensors.h"
#include "train/lpips_net.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* [0, 1), 24 bits: MurmurHash3's finalizer of stream 2^24 + i. */
static inline float hash_uniform(uint32_t stream, size_t i)
{
    uint32_t x = (stream << 24) + (uint32_t)i;
    x ^= x >> 16;
    x *= 0x85EBCA6Bu;
    x ^= x >> 13;
    x *= 0xC2B2AE35u;
    x ^= x >> 16;
    return (float)(x >> 8) / 16777216.0f;
}

/* A smooth picture and one with noise on it. */
static inline void synthetic_pictures(int width, int height, float *image, uint8_t *photo)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < 3; c++) {
                int smooth = (x * (2 + c) + y * (3 - c) + x * y / 16) % 200, i = 3 * (y * width + x) + c;
                image[(c * height + y) * width + x] = (float)smooth / 255.0f;
                photo[i] = (uint8_t)(smooth + (int)(hash_uniform(200, (size_t)i) * 56.0f));
            }
}

enum { FIXTURE_MAX = 80 };

typedef struct fixture_weights {
    splat_safetensor_f32 tensors[FIXTURE_MAX];
    char names[FIXTURE_MAX][64];
    float *values[FIXTURE_MAX];
    size_t n;
} fixture_weights;

static inline float *fixture_add(fixture_weights *w, const char *layer, const char *part, size_t n_values,
                                 int n_dimensions, const size_t shape[4])
{
    splat_safetensor_f32 *t = &w->tensors[w->n];
    snprintf(w->names[w->n], sizeof w->names[0], "%s%s", layer, part);
    float *values = malloc(n_values * sizeof *values);
    *t = (splat_safetensor_f32){.name = w->names[w->n], .n_dimensions = n_dimensions, .values = values};
    for (int i = 0; i < n_dimensions; i++) t->shape[i] = shape[i];
    w->values[w->n++] = values;
    return values;
}

static inline void fixture_conv(fixture_weights *w, const char *layer, const char *part, uint32_t stream, int n_in,
                                int n_out, int kernel)
{
    char name[48];
    size_t n = (size_t)n_out * (size_t)(n_in * kernel * kernel);
    const size_t shape[4] = {(size_t)n_out, (size_t)n_in, (size_t)kernel, (size_t)kernel};
    snprintf(name, sizeof name, "%s%s", layer, part);
    float scale = sqrtf(6.0f / (float)(kernel * kernel * n_in));
    float *weights = fixture_add(w, name, ".weight", n, 4, shape);
    for (size_t i = 0; i < n; i++) weights[i] = (2.0f * hash_uniform(2 * stream, i) - 1.0f) * scale;
    float *bias = fixture_add(w, name, ".bias", (size_t)n_out, 1, shape);
    for (int i = 0; i < n_out; i++) bias[i] = (hash_uniform(2 * stream + 1, (size_t)i) - 0.5f) * 0.2f;
}

/* Weights of a whole network, as a file. The number in a layer's name seeds its weights. */
static inline splat_status fixture_write(const char *net, const char *path, splat_error *error)
{
    const splat_lpips_network *network = splat_lpips_network_find(net);
    fixture_weights *w = calloc(1, sizeof *w);
    for (int l = 0, tap = 0; l < network->n_layers; l++) {
        const splat_lpips_layer *layer = &network->layers[l];
        int number = 0, n_in = l ? layer[-1].channels : 0;
        sscanf(layer->name, "features.%d", &number);
        if (layer->kind == SPLAT_LPIPS_CONV)
            fixture_conv(w, layer->name, "", (uint32_t)number, n_in, layer->channels, layer->kernel);
        if (layer->kind == SPLAT_LPIPS_EXPAND) {
            fixture_conv(w, layer->name, ".expand1x1", 30 + (uint32_t)number, n_in, layer->channels / 2, 1);
            fixture_conv(w, layer->name, ".expand3x3", 60 + (uint32_t)number, n_in, layer->channels / 2, 3);
        }
        if (!layer->tap) continue;
        char name[16];
        const size_t shape[4] = {1, (size_t)layer->channels, 1, 1}; /* as lpips has it */
        snprintf(name, sizeof name, "lin%d", tap);
        float *head = fixture_add(w, name, ".weight", (size_t)layer->channels, 4, shape);
        for (int i = 0; i < layer->channels; i++) head[i] = hash_uniform(100 + (uint32_t)tap, (size_t)i);
        tap++;
    }
    splat_status status = splat_safetensors_write(path, w->tensors, w->n, "synthetic", error);
    for (size_t i = 0; i < w->n; i++) free(w->values[i]);
    free(w);
    return status;
}

#endif
