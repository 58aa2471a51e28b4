/* Blobs over the pictures of the built-in scenes, as people and cars stand before what is captured: each has its size
 * and its striped colours, and stands in another place of each picture. */
#include "sample/sample_work.h"

#include <string.h>

#define MARGIN 2.0 /* pixels that the mask is wider */

typedef struct blob {
    double x, y, half_width, half_height; /* pixels */
    splat_vec3 color;
} blob;

/* Upright, a twelfth to a seventh of the picture's height wide, and twice as tall. */
static blob blob_of(const splat_sample_options *options, int index, int number)
{
    splat_dice kind = {options->seed, (uint64_t)number * 8, SPLAT_SAMPLE_STEP_BLOBS};
    splat_dice place = {options->seed, ((uint64_t)index * 64 + (uint64_t)number) * 8, SPLAT_SAMPLE_STEP_BLOB_PLACES};
    double half = options->height * splat_dice_between(&kind, 1.0 / 24, 1.0 / 14);
    blob b = {.half_width = half, .half_height = 2 * half};
    b.color = splat_sample_hue(splat_dice_between(&kind, 0, 1), 0.8, 0.9);
    b.x = options->width * splat_dice_between(&place, 0, 1);
    b.y = options->height * splat_dice_between(&place, 0.2, 1);
    return b;
}

static bool covers(const blob *b, double x, double y, double margin)
{
    double u = (x - b->x) / (b->half_width + margin), v = (y - b->y) / (b->half_height + margin);
    return u * u + v * v < 1;
}

static void paint(const blob *b, const splat_sample_options *options, uint8_t *rgb, uint8_t *mask)
{
    for (int y = 0; y < options->height; y++)
        for (int x = 0; x < options->width; x++) {
            size_t pixel = (size_t)y * (size_t)options->width + (size_t)x;
            if (!covers(b, x + 0.5, y + 0.5, MARGIN)) continue;
            mask[pixel] = 0;
            if (!covers(b, x + 0.5, y + 0.5, 0)) continue;
            double stripe = fmod(fabs(y - b->y), 0.5 * b->half_width) < 0.25 * b->half_width ? 1 : 0.6;
            rgb[3 * pixel + 0] = splat_sample_byte(stripe * b->color.x);
            rgb[3 * pixel + 1] = splat_sample_byte(stripe * b->color.y);
            rgb[3 * pixel + 2] = splat_sample_byte(stripe * b->color.z);
        }
}

void splat_sample_blobs_paint(const splat_sample_options *options, int index, uint8_t *rgb, uint8_t *mask)
{
    memset(mask, 255, (size_t)options->width * (size_t)options->height);
    for (int number = 0; number < options->n_blobs; number++) {
        blob b = blob_of(options, index, number);
        paint(&b, options, rgb, mask);
    }
}
