/* Choosing frames. */
#include "capture/frame_choice.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_SHARPNESS 0.4   /* of the median of the windows around */
#define LEAST_DIFFERENCE 0.01 /* of 255, to the frame chosen last */

double splat_frame_sharpness(const uint8_t *gray, int width, int height)
{
    int64_t sum = 0, squares = 0;
    if (width < 3 || height < 3) return 0;
    for (int y = 1; y < height - 1; y++) {
        const uint8_t *row = gray + (size_t)y * (size_t)width, *above = row - width, *below = row + width;
        for (int x = 1; x < width - 1; x++) {
            int value = 4 * row[x] - row[x - 1] - row[x + 1] - above[x] - below[x];
            sum += value;
            squares += value * value;
        }
    }
    double n = (double)(width - 2) * (height - 2), mean = (double)sum / n;
    return (double)squares / n - mean * mean;
}

double splat_frame_difference(const uint8_t *a, const uint8_t *b, int width, int height)
{
    size_t n = (size_t)width * (size_t)height;
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += (uint64_t)abs(a[i] - b[i]);
    return n ? (double)sum / (double)n / 255 : 0;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_with(splat_frame_choice *c, double sharpness)
{
    double sorted[SPLAT_FRAME_MEDIAN];
    c->recent[c->n_recent++ % SPLAT_FRAME_MEDIAN] = sharpness;
    size_t n = c->n_recent < SPLAT_FRAME_MEDIAN ? c->n_recent : SPLAT_FRAME_MEDIAN;
    memcpy(sorted, c->recent, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare);
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

/* A window is complete: its best frame is chosen, or not. */
static bool decide(splat_frame_choice *c)
{
    if (c->best_sharpness < LEAST_SHARPNESS * median_with(c, c->best_sharpness)) {
        c->n_blurred++;
    } else if (c->has_last && splat_frame_difference(c->best, c->last, c->width, c->height) < LEAST_DIFFERENCE) {
        c->n_still++;
    } else {
        size_t *chosen = splat_array_grow(c->chosen, &c->capacity, c->n_chosen, sizeof *chosen);
        if (!chosen) return false;
        c->chosen = chosen;
        c->chosen[c->n_chosen++] = c->best_index;
        uint8_t *swapped = c->last;
        c->last = c->best;
        c->best = swapped;
        c->has_last = true;
    }
    return true;
}

static bool begin(splat_frame_choice *c, int width, int height)
{
    size_t bytes = (size_t)width * (size_t)height;
    c->width = width;
    c->height = height;
    c->best = malloc(bytes ? bytes : 1);
    c->last = malloc(bytes ? bytes : 1);
    return c->best && c->last;
}

bool splat_frame_choice_add(splat_frame_choice *c, const uint8_t *gray, int width, int height)
{
    if (c->n_seen == 0 && !begin(c, width, height)) return false;
    if (width != c->width || height != c->height) return false;
    double sharpness = splat_frame_sharpness(gray, width, height);
    size_t in_window = c->n_seen % (size_t)c->window;
    if (in_window == 0 || sharpness > c->best_sharpness) {
        memcpy(c->best, gray, (size_t)width * (size_t)height);
        c->best_sharpness = sharpness;
        c->best_index = c->n_seen;
    }
    c->n_seen++;
    return in_window + 1 < (size_t)c->window || decide(c);
}

bool splat_frame_choice_end(splat_frame_choice *c)
{
    return c->n_seen % (size_t)c->window == 0 || decide(c);
}

void splat_frame_choice_free(splat_frame_choice *c)
{
    free(c->chosen);
    free(c->best);
    free(c->last);
    *c = (splat_frame_choice){0};
}
