/* One texel: how a view sees it, and the colour of its samples. Shared by C and CUDA. */
#ifndef SPLAT_OPS_TEXTURE_MATH_H
#define SPLAT_OPS_TEXTURE_MATH_H

#include "math/inline.h"
#include "ops/texture/texture.h"

#define TEXTURE_LEAST_COSINE 0.25881905f /* 75 degrees */
#define TEXTURE_BORDER 2.0f              /* pixels */
#define TEXTURE_BEHIND 1.005f            /* factor of the map's depth that is still the same surface */
#define TEXTURE_STEP 1.02f               /* ratio of depths of neighbouring pixels at a silhouette */
#define TEXTURE_LEAST_FEATHER 0.01f

SPLAT_MATH_INLINE uint16_t splat_texture_code(float x)
{
    float scaled = 65535.0f * 0.5f * (x + 0.5f) + 0.5f;
    return (uint16_t)(scaled < 0.0f ? 0.0f : scaled > 65535.0f ? 65535.0f : scaled);
}

SPLAT_MATH_INLINE float splat_texture_value(uint16_t code)
{
    return (float)code * (2.0f / 65535.0f) - 0.5f;
}

/* The upper half of a float above 0, and not 0. */
SPLAT_MATH_INLINE uint16_t splat_texture_weight_code(float weight)
{
    uint32_t bits = splat_bits_of_float(weight) >> 16;
    return (uint16_t)(bits ? bits : 1u);
}

SPLAT_MATH_INLINE float splat_texture_weight(uint16_t code)
{
    return splat_float_of_bits((uint32_t)code << 16);
}

SPLAT_MATH_INLINE float splat_texture_dot(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The place of view `number` among a face's candidates; -1: it is none of them. */
SPLAT_MATH_INLINE int splat_texture_rank(const splat_texture_points *p, uint32_t face, uint32_t number)
{
    if (!p->candidates) return 0;
    const uint16_t *list = p->candidates + (size_t)SPLAT_TEXTURE_CANDIDATES * face;
    for (int k = 0; k < SPLAT_TEXTURE_CANDIDATES && list[k] != SPLAT_TEXTURE_NO_VIEW; k++)
        if (list[k] == number) return k;
    return -1;
}

/* Four pixels and their weights, of a map in which pixel centres lie at halves. */
typedef struct splat_texture_taps {
    size_t at[4];
    float weight[4];
} splat_texture_taps;

SPLAT_MATH_INLINE splat_texture_taps splat_texture_taps_at(float x, float y, int width, int height)
{
    splat_texture_taps t;
    x = splat_clamp(x - 0.5f, 0.0f, (float)(width - 1));
    y = splat_clamp(y - 0.5f, 0.0f, (float)(height - 1));
    int x0 = (int)x, y0 = (int)y;
    int x1 = x0 < width - 1 ? x0 + 1 : x0, y1 = y0 < height - 1 ? y0 + 1 : y0;
    float a = x - (float)x0, b = y - (float)y0;
    size_t row0 = (size_t)y0 * (size_t)width, row1 = (size_t)y1 * (size_t)width;
    t.at[0] = row0 + (size_t)x0;
    t.at[1] = row0 + (size_t)x1;
    t.at[2] = row1 + (size_t)x0;
    t.at[3] = row1 + (size_t)x1;
    t.weight[0] = (1.0f - a) * (1.0f - b);
    t.weight[1] = a * (1.0f - b);
    t.weight[2] = (1.0f - a) * b;
    t.weight[3] = a * b;
    return t;
}

/* The place of a texel in a view. */
typedef struct splat_texture_hit {
    float x, y;       /* pixels */
    float footprint;  /* width of the texel, pixels */
    float weight;     /* 0: it is not seen */
} splat_texture_hit;

/* The depth map around the pixel shows this surface, and no silhouette. */
SPLAT_MATH_INLINE int splat_texture_is_first(const splat_texture_view *v, float x, float y, float z)
{
    splat_texture_taps t = splat_texture_taps_at(x, y, v->camera.width, v->camera.height);
    float low = v->depth[t.at[0]], high = low;
    for (int k = 1; k < 4; k++) {
        float d = v->depth[t.at[k]];
        low = d < low ? d : low;
        high = d > high ? d : high;
    }
    return low > 0.0f && high <= TEXTURE_STEP * low && z <= TEXTURE_BEHIND * high;
}

SPLAT_MATH_INLINE splat_texture_hit splat_texture_see(const splat_texture_points *p, const splat_texture_view *v,
                                                      size_t texel)
{
    splat_texture_hit hit = {0.0f, 0.0f, 0.0f, 0.0f};
    const splat_camera *c = &v->camera;
    uint32_t face = p->face[texel];
    const uint32_t *corner = p->faces + 3 * (size_t)face;
    const float *v0 = p->vertices + 3 * (size_t)corner[0], *v1 = p->vertices + 3 * (size_t)corner[1],
                *v2 = p->vertices + 3 * (size_t)corner[2];
    const float *n0 = p->normals + 3 * (size_t)corner[0], *n1 = p->normals + 3 * (size_t)corner[1],
                *n2 = p->normals + 3 * (size_t)corner[2];
    float b0 = p->weights[texel][0], b1 = p->weights[texel][1], b2 = 1.0f - b0 - b1;
    float at[3], to[3], e[3], g[3], smooth[3];
    for (int k = 0; k < 3; k++) {
        at[k] = b0 * v0[k] + b1 * v1[k] + b2 * v2[k];
        smooth[k] = b0 * n0[k] + b1 * n1[k] + b2 * n2[k];
        to[k] = c->center[k] - at[k];
        e[k] = v1[k] - v0[k];
        g[k] = v2[k] - v0[k];
    }
    float normal[3] = {e[1] * g[2] - e[2] * g[1], e[2] * g[0] - e[0] * g[2], e[0] * g[1] - e[1] * g[0]};
    float distance = sqrtf(splat_texture_dot(to, to)), length = sqrtf(splat_texture_dot(normal, normal));
    float cosine = splat_texture_dot(normal, to);
    if (!(cosine > TEXTURE_LEAST_COSINE * distance * length)) return hit;
    const float *r = c->rotation;
    float z = splat_texture_dot(r + 6, at) + c->translation[2];
    if (!(z > 0.0f)) return hit;
    hit.x = c->fx * (splat_texture_dot(r, at) + c->translation[0]) / z + c->cx;
    hit.y = c->fy * (splat_texture_dot(r + 3, at) + c->translation[1]) / z + c->cy;
    if (!(hit.x >= TEXTURE_BORDER && hit.x <= (float)c->width - TEXTURE_BORDER && hit.y >= TEXTURE_BORDER &&
          hit.y <= (float)c->height - TEXTURE_BORDER && splat_texture_is_first(v, hit.x, hit.y, z)))
        return hit;
    float smooth_length = sqrtf(splat_texture_dot(smooth, smooth)), density = 0.5f * (c->fx + c->fy) / z;
    cosine = smooth_length > 0.0f ? splat_texture_dot(smooth, to) / (smooth_length * distance) : 0.0f;
    cosine = cosine > TEXTURE_LEAST_COSINE ? cosine : TEXTURE_LEAST_COSINE;
    float feather = (float)v->feather[(size_t)hit.y * (size_t)c->width + (size_t)hit.x] * (1.0f / 255.0f);
    feather = feather > TEXTURE_LEAST_FEATHER ? feather : TEXTURE_LEAST_FEATHER;
    hit.footprint = p->size[face] * density;
    hit.weight = feather * cosine * cosine * density * density * v->sharpness;
    return hit;
}

/* The photo where the texel is, from the level of the pyramid whose pixels are as wide. */
SPLAT_MATH_INLINE void splat_texture_color(const splat_texture_view *v, const splat_texture_hit *hit, float color[3])
{
    const uint8_t *pixels = v->pyramid;
    int width = v->camera.width, height = v->camera.height, level = 0;
    float footprint = hit->footprint;
    for (; level < v->n_levels - 1 && footprint > 1.4142135f; level++) {
        pixels += 3 * (size_t)width * (size_t)height;
        width = width > 1 ? width / 2 : 1;
        height = height > 1 ? height / 2 : 1;
        footprint *= 0.5f;
    }
    splat_texture_taps t = splat_texture_taps_at(hit->x * (float)width / (float)v->camera.width,
                                                 hit->y * (float)height / (float)v->camera.height, width, height);
    for (int c = 0; c < 3; c++) {
        float sum = 0.0f;
        for (int k = 0; k < 4; k++) sum += t.weight[k] * v->table[256 * c + pixels[3 * t.at[k] + (size_t)c]];
        color[c] = sum;
    }
}

SPLAT_MATH_INLINE void splat_texture_low(const splat_texture_view *v, const splat_texture_hit *hit, float low[3])
{
    int width = v->camera.width, height = v->camera.height;
    for (int level = 0; level < SPLAT_TEXTURE_LOW_LEVEL; level++) {
        width = width > 1 ? width / 2 : 1;
        height = height > 1 ? height / 2 : 1;
    }
    splat_texture_taps t = splat_texture_taps_at(hit->x * (float)width / (float)v->camera.width,
                                                 hit->y * (float)height / (float)v->camera.height, width, height);
    size_t plane = (size_t)width * (size_t)height;
    for (int c = 0; c < 3; c++) {
        float sum = 0.0f;
        for (int k = 0; k < 4; k++) sum += t.weight[k] * v->low[(size_t)c * plane + t.at[k]];
        low[c] = sum;
    }
}

/* Into an empty place, or that of the lightest, which must be lighter. */
SPLAT_MATH_INLINE void splat_texture_keep(splat_texture_sample *samples, const splat_texture_sample *sample)
{
    int lightest = 0;
    for (int k = 1; k < SPLAT_TEXTURE_SAMPLES; k++)
        if (samples[k].weight < samples[lightest].weight) lightest = k;
    if (samples[lightest].weight < sample->weight) samples[lightest] = *sample;
}

SPLAT_MATH_INLINE void splat_texture_gather_one(const struct splat_texture_gather_args *args, size_t texel)
{
    int rank = splat_texture_rank(&args->points, args->points.face[texel], args->view.number);
    if (rank < 0) return;
    splat_texture_hit hit = splat_texture_see(&args->points, &args->view, texel);
    if (!(hit.weight > 0.0f)) return;
    float color[3], low[3];
    splat_texture_color(&args->view, &hit, color);
    if (args->sums) {
        for (int c = 0; c < 3; c++) args->sums[texel][c] += color[c];
        args->sums[texel][3] += 1.0f;
        return;
    }
    splat_texture_sample sample;
    if (args->view.low)
        splat_texture_low(&args->view, &hit, low);
    else
        for (int c = 0; c < 3; c++) low[c] = color[c];
    for (int c = 0; c < 3; c++) {
        sample.color[c] = splat_texture_code(color[c]);
        sample.low[c] = splat_texture_code(low[c]);
    }
    sample.weight = splat_texture_weight_code(hit.weight);
    sample.rank = (uint16_t)rank;
    splat_texture_keep(args->samples + SPLAT_TEXTURE_SAMPLES * texel, &sample);
}

/* The middle of n <= SPLAT_TEXTURE_SAMPLES values, which are sorted. */
SPLAT_MATH_INLINE float splat_texture_median(float *x, int n)
{
    for (int i = 1; i < n; i++) {
        float value = x[i];
        int j = i;
        for (; j > 0 && x[j - 1] > value; j--) x[j] = x[j - 1];
        x[j] = value;
    }
    return n % 2 ? x[n / 2] : 0.5f * (x[n / 2 - 1] + x[n / 2]);
}

/* median +- 3 x 1.4826 x median absolute deviation. */
SPLAT_MATH_INLINE void splat_texture_range(const float *x, int n, float *low, float *high)
{
    float sorted[SPLAT_TEXTURE_SAMPLES];
    for (int i = 0; i < n; i++) sorted[i] = x[i];
    float middle = splat_texture_median(sorted, n);
    for (int i = 0; i < n; i++) sorted[i] = fabsf(x[i] - middle);
    float reach = 3.0f * 1.4826f * splat_texture_median(sorted, n);
    reach = reach > 2.0f / 255.0f ? reach : 2.0f / 255.0f;
    *low = middle - reach;
    *high = middle + reach;
}

/* The share of a view at the texel, from the labels of the face's vertices. */
SPLAT_MATH_INLINE float splat_texture_share(const struct splat_texture_blend_args *args, size_t texel, uint16_t view)
{
    const uint32_t *corner = args->points.faces + 3 * (size_t)args->points.face[texel];
    float b0 = args->points.weights[texel][0], b1 = args->points.weights[texel][1], share = 0.0f;
    const float b[3] = {b0, b1, 1.0f - b0 - b1};
    for (int k = 0; k < 3; k++) {
        const splat_texture_labels *labels = args->labels + corner[k];
        for (int j = 0; j < SPLAT_TEXTURE_LABELS; j++)
            if (labels->view[j] == view) share += b[k] * (float)labels->share[j] * (1.0f / 255.0f);
    }
    return share > 0.0f ? share : 0.0f;
}

SPLAT_MATH_INLINE void splat_texture_blend_one(const struct splat_texture_blend_args *args, size_t texel)
{
    const splat_texture_sample *samples = args->samples + SPLAT_TEXTURE_SAMPLES * texel;
    float weight[SPLAT_TEXTURE_SAMPLES], detail[SPLAT_TEXTURE_SAMPLES], x[SPLAT_TEXTURE_SAMPLES];
    float sum = 0.0f, detail_sum = 0.0f, heaviest = 0.0f;
    int at[SPLAT_TEXTURE_SAMPLES], n = 0;
    for (int k = 0; k < SPLAT_TEXTURE_SAMPLES; k++) {
        if (!samples[k].weight) continue;
        weight[n] = splat_texture_weight(samples[k].weight);
        heaviest = weight[n] > heaviest ? weight[n] : heaviest;
        at[n++] = k;
    }
    for (int i = 0; i < n; i++) {
        weight[i] /= heaviest;
        sum += weight[i];
        detail[i] = 0.0f;
        if (args->labels) {
            uint16_t view = args->points.candidates[(size_t)SPLAT_TEXTURE_CANDIDATES * args->points.face[texel] +
                                                    samples[at[i]].rank];
            float share = splat_texture_share(args, texel, view);
            detail[i] = (share * share + 1e-3f) * weight[i] * weight[i];
        }
        detail_sum += detail[i];
    }
    float *out = args->rgb[texel];
    out[3] = (float)n;
    for (int c = 0; c < 3; c++) {
        float low = 0.0f, high = 0.0f, bottom = -1e30f, top = 1e30f;
        for (int i = 0; i < n; i++)
            x[i] = splat_texture_value(args->labels ? samples[at[i]].low[c] : samples[at[i]].color[c]);
        if (n >= 3) splat_texture_range(x, n, &bottom, &top);
        for (int i = 0; i < n; i++) {
            low += weight[i] * splat_clamp(x[i], bottom, top);
            if (args->labels) high += detail[i] * (splat_texture_value(samples[at[i]].color[c]) - x[i]);
        }
        float value = n ? low / sum + (args->labels ? high / detail_sum : 0.0f) : 0.0f;
        out[c] = splat_clamp(value, 0.0f, 1.0f);
    }
}

#endif
