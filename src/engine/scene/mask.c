/* Masks: reading, resizing, and filling what they cover. */
#include "scene/mask.h"

#include "io/picture/image_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static splat_status fail_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a mask");
}

static size_t pixels_of(const splat_image *image)
{
    return (size_t)image->width * (size_t)image->height;
}

/* ---------------------------------------------------------------- reading */

/* Rec. 601 in 8 bits; gray stays what it is. */
static uint8_t luma(const uint8_t *rgb)
{
    return (uint8_t)((77u * rgb[0] + 150u * rgb[1] + 29u * rgb[2] + 128) >> 8);
}

static bool alpha_is_used(const splat_image *image)
{
    size_t n = pixels_of(image);
    for (size_t i = 0; image->channels == 4 && i < n; i++)
        if (image->pixels[4 * i + 3] != 255) return true;
    return false;
}

static splat_status take_channel(const splat_image *image, bool is_alpha, bool invert, splat_image *mask,
                                 splat_error *error)
{
    size_t n = pixels_of(image), channels = (size_t)image->channels;
    *mask = (splat_image){image->width, image->height, 1, malloc(n)};
    if (!mask->pixels) return fail_memory(error);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *from = image->pixels + channels * i;
        uint8_t value = is_alpha ? from[3] : luma(from);
        mask->pixels[i] = invert ? (uint8_t)(255 - value) : value;
    }
    return SPLAT_OK;
}

splat_status splat_mask_from_alpha(const splat_image *rgba, bool invert, splat_image *mask, splat_error *error)
{
    return take_channel(rgba, true, invert, mask, error);
}

splat_status splat_mask_read(const char *path, int width, int height, bool invert, splat_image *mask,
                             splat_error *error)
{
    splat_image image;
    SPLAT_TRY(splat_image_read(path, &image, error));
    splat_status status = take_channel(&image, alpha_is_used(&image), invert, mask, error);
    splat_image_free(&image);
    if (status == SPLAT_OK) status = splat_mask_resize(mask, width, height, error);
    if (status != SPLAT_OK) splat_image_free(mask);
    return status;
}

/* ---------------------------------------------------------------- size */

/* Pixels first .. last of a side lie under a new one, from `begin` to `end` in old pixels. */
typedef struct span { int first, last; float begin, end; } span;

static span span_of(int i, int in, int out)
{
    double scale = (double)in / out, begin = i * scale, end = (i + 1) * scale;
    int first = (int)begin, last = (int)ceil(end) - 1;
    return (span){first, last < first ? first : last < in ? last : in - 1, (float)begin, (float)end};
}

static float weight_of(const span *s, int k)
{
    return fminf(s->end, (float)(k + 1)) - fmaxf(s->begin, (float)k);
}

/* A row of means, from the rows that lie under it. */
static void resize_row(const splat_image *mask, const span *rows, const span *columns, int width, uint8_t *out)
{
    for (int x = 0; x < width; x++) {
        float sum = 0, area = 0;
        for (int y = rows->first; y <= rows->last; y++) {
            const uint8_t *row = mask->pixels + (size_t)y * (size_t)mask->width;
            float across = weight_of(rows, y);
            for (int k = columns[x].first; k <= columns[x].last; k++) {
                float weight = across * weight_of(&columns[x], k);
                sum += weight * row[k];
                area += weight;
            }
        }
        out[x] = (uint8_t)(area > 0 ? fminf(sum / area + 0.5f, 255) : 0);
    }
}

splat_status splat_mask_resize(splat_image *mask, int width, int height, splat_error *error)
{
    if (mask->width == width && mask->height == height) return SPLAT_OK;
    uint8_t *pixels = malloc((size_t)width * (size_t)height);
    span *columns = malloc((size_t)width * sizeof *columns);
    if (!pixels || !columns) {
        free(pixels);
        free(columns);
        return fail_memory(error);
    }
    for (int x = 0; x < width; x++) columns[x] = span_of(x, mask->width, width);
    for (int y = 0; y < height; y++) {
        span rows = span_of(y, mask->height, height);
        resize_row(mask, &rows, columns, width, pixels + (size_t)y * (size_t)width);
    }
    free(columns);
    free(mask->pixels);
    *mask = (splat_image){width, height, 1, pixels};
    return SPLAT_OK;
}

void splat_mask_decide(splat_image *mask)
{
    size_t n = pixels_of(mask);
    for (size_t i = 0; i < n; i++) mask->pixels[i] = mask->pixels[i] >= SPLAT_MASK_KEPT ? 255 : 0;
}

size_t splat_mask_count(const uint8_t *mask, size_t n)
{
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++) n_kept += mask[i] >= SPLAT_MASK_KEPT;
    return n_kept;
}

double splat_mask_share(const uint8_t *mask, size_t n)
{
    return n ? (double)splat_mask_count(mask, n) / (double)n : 1;
}

/* ---------------------------------------------------------------- filling */

/* A pyramid: each level has half the sides of the one before, and the mean of what is known in it; on the way back
 * what is not known is the next level's, bilinearly. (Push-pull: Gortler et al., The Lumigraph, SIGGRAPH 1996.) */
#define MAX_LEVELS 18 /* sides below 2^17 */

typedef struct level {
    int width, height;
    uint8_t *rgb, *known; /* [height][width][3], [height][width] */
} level;

static void pull(const level *fine, level *coarse)
{
    for (int y = 0; y < coarse->height; y++)
        for (int x = 0; x < coarse->width; x++) {
            unsigned sum[3] = {0, 0, 0}, n = 0;
            for (int k = 0; k < 4; k++) {
                int fx = 2 * x + (k & 1), fy = 2 * y + (k >> 1);
                if (fx >= fine->width || fy >= fine->height) continue;
                size_t from = (size_t)fy * (size_t)fine->width + (size_t)fx;
                if (!fine->known[from]) continue;
                for (int c = 0; c < 3; c++) sum[c] += fine->rgb[3 * from + (size_t)c];
                n++;
            }
            size_t to = (size_t)y * (size_t)coarse->width + (size_t)x;
            coarse->known[to] = n > 0;
            for (int c = 0; c < 3; c++) coarse->rgb[3 * to + (size_t)c] = (uint8_t)(n ? (sum[c] + n / 2) / n : 0);
        }
}

static int clamp(int value, int end)
{
    return value < 0 ? 0 : value < end ? value : end - 1;
}

static void push(const level *coarse, level *fine)
{
    for (int y = 0; y < fine->height; y++)
        for (int x = 0; x < fine->width; x++) {
            size_t to = (size_t)y * (size_t)fine->width + (size_t)x;
            if (fine->known[to]) continue;
            int near_x = clamp(x / 2, coarse->width), far_x = clamp(x / 2 + (x & 1 ? 1 : -1), coarse->width);
            int near_y = clamp(y / 2, coarse->height), far_y = clamp(y / 2 + (y & 1 ? 1 : -1), coarse->height);
            size_t row = 3 * (size_t)coarse->width;
            const uint8_t *near = coarse->rgb + (size_t)near_y * row, *far = coarse->rgb + (size_t)far_y * row;
            for (int c = 0; c < 3; c++)
                fine->rgb[3 * to + (size_t)c] = (uint8_t)((9u * near[3 * near_x + c] + 3u * near[3 * far_x + c] +
                                                           3u * far[3 * near_x + c] + far[3 * far_x + c] + 8) / 16);
        }
}

splat_status splat_mask_fill(const splat_image *mask, splat_image *photo, splat_error *error)
{
    size_t n = pixels_of(mask), total = 0, n_levels = 1;
    level levels[MAX_LEVELS] = {{mask->width, mask->height, photo->pixels, NULL}};
    for (; levels[n_levels - 1].width > 1 || levels[n_levels - 1].height > 1; n_levels++) {
        const level *fine = &levels[n_levels - 1];
        levels[n_levels] = (level){(fine->width + 1) / 2, (fine->height + 1) / 2, NULL, NULL};
        total += 4 * (size_t)levels[n_levels].width * (size_t)levels[n_levels].height;
    }
    if (splat_mask_share(mask->pixels, n) == 1) return SPLAT_OK;
    uint8_t *memory = malloc(n + total), *next = memory + n;
    if (!memory) return fail_memory(error);
    levels[0].known = memory;
    for (size_t i = 0; i < n; i++) memory[i] = mask->pixels[i] >= SPLAT_MASK_KEPT;
    for (size_t k = 1; k < n_levels; k++) {
        size_t pixels = (size_t)levels[k].width * (size_t)levels[k].height;
        levels[k].rgb = next;
        levels[k].known = next + 3 * pixels;
        next += 4 * pixels;
        pull(&levels[k - 1], &levels[k]);
    }
    if (n_levels == 1) memset(photo->pixels, 0, 3); /* a single pixel, not kept */
    for (size_t k = n_levels - 1; k > 0; k--) push(&levels[k], &levels[k - 1]);
    free(memory);
    return SPLAT_OK;
}

void splat_mask_composite(const splat_image *mask, uint8_t background, splat_image *photo)
{
    size_t n = pixels_of(mask);
    for (size_t i = 0; i < n; i++) {
        unsigned m = mask->pixels[i];
        uint8_t *rgb = photo->pixels + 3 * i;
        for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)((m * rgb[c] + (255 - m) * background + 127) / 255);
    }
}

void splat_mask_composite_blank(const splat_image *mask, uint8_t background, splat_image *photo)
{
    size_t n = pixels_of(mask);
    for (size_t i = 0; i < n; i++)
        if (mask->pixels[i] == 0) memset(photo->pixels + 3 * i, background, 3);
}
