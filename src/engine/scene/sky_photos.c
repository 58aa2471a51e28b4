/* The training photos at the size of the search for the sky, and their plain pixels. */
#include "scene/sky_photos.h"

#include "io/picture/image_resize.h"
#include "math/camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 280        /* pixels of the longer side */
#define MOST_PIXELS 2.0e7  /* of all photos together: more photos are smaller */
#define PLAIN_DEVIATION 3  /* levels, of 5 x 5 pixels */
#define SOFT_DEVIATION 8
#define PLAIN_REACH 2
#define SOFT_REACH 4

/* ---------------------------------------------------------------- decoding */

static splat_status shrink(sky_finder *f, size_t number, double side, splat_error *error)
{
    splat_scene *scene = f->scene;
    uint32_t index = scene->dataset.train[number];
    const splat_dataset_view *view = &scene->dataset.views[index];
    const splat_camera *full = &view->camera;
    sky_photo *photo = &f->photos[number];
    double factor = fmin(1, side / (full->width > full->height ? full->width : full->height));
    int width = (int)fmax(1, lround(full->width * factor)), height = (int)fmax(1, lround(full->height * factor));
    size_t n = (size_t)width * (size_t)height, n_full = 3 * splat_camera_pixels(full);
    const uint8_t *rgb;
    photo->camera = splat_camera_resized(full, width, height);
    photo->smooth = malloc(3 * n);
    photo->kind = malloc(n);
    photo->kept = view->has_mask ? malloc(n) : NULL;
    splat_image image = {full->width, full->height, 3, malloc(n_full)};
    if (!photo->smooth || !photo->kind || (view->has_mask && !photo->kept) || !image.pixels) {
        free(image.pixels);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look for the sky in %zu photos", f->n);
    }
    photo->rgb = image.pixels;
    SPLAT_TRY(splat_image_cache_acquire(scene->cache, index, &rgb, error));
    memcpy(image.pixels, rgb, n_full);
    splat_image_cache_release(scene->cache, index);
    splat_status status = splat_image_resize(&image, width, height, error);
    photo->rgb = image.pixels;
    if (status == SPLAT_OK && photo->kept)
        status = splat_scene_read_mask(scene, index, width, height, photo->kept, error);
    return status;
}

/* ---------------------------------------------------------------- contrast */

/* Sums of all pixels above and to the left: of the channels, and of their squares. They wrap, differences do not. */
typedef struct area_sum {
    uint32_t rgb[3], squares;
} area_sum;

/* sums: [height + 1][width + 1] */
static void sum_areas(const sky_photo *photo, area_sum *sums)
{
    const size_t width = (size_t)photo->camera.width, stride = width + 1;
    memset(sums, 0, stride * sizeof *sums);
    for (size_t y = 0; y < (size_t)photo->camera.height; y++) {
        area_sum row = {{0}, 0}, *to = sums + (y + 1) * stride;
        to[0] = row;
        for (size_t x = 0; x < width; x++) {
            const uint8_t *rgb = photo->rgb + 3 * (y * width + x);
            for (int k = 0; k < 3; k++) {
                row.rgb[k] += rgb[k];
                row.squares += (uint32_t)rgb[k] * rgb[k];
                to[x + 1].rgb[k] = row.rgb[k] + sums[y * stride + x + 1].rgb[k];
            }
            to[x + 1].squares = row.squares + sums[y * stride + x + 1].squares;
        }
    }
}

/* The mean of a square around a pixel; returns the mean variance of the channels. */
static float look_around(const sky_photo *photo, const area_sum *sums, int x, int y, int reach, uint8_t mean[3])
{
    int width = photo->camera.width, height = photo->camera.height;
    int left = x < reach ? 0 : x - reach, right = x + reach >= width ? width - 1 : x + reach;
    int top = y < reach ? 0 : y - reach, bottom = y + reach >= height ? height - 1 : y + reach;
    const area_sum *above = sums + (size_t)top * (size_t)(width + 1);
    const area_sum *below = sums + (size_t)(bottom + 1) * (size_t)(width + 1);
    const uint32_t n = (uint32_t)((right - left + 1) * (bottom - top + 1));
    const uint32_t squares =
        below[right + 1].squares - below[left].squares - above[right + 1].squares + above[left].squares;
    float variance = (float)squares / (float)n;
    for (int k = 0; k < 3; k++) {
        const uint32_t sum =
            below[right + 1].rgb[k] - below[left].rgb[k] - above[right + 1].rgb[k] + above[left].rgb[k];
        float m = (float)sum / (float)n;
        variance -= m * m;
        mean[k] = (uint8_t)(m + 0.5f);
    }
    return variance / 3;
}

static splat_status find_kinds(sky_photo *photo, splat_error *error)
{
    int width = photo->camera.width;
    size_t n = splat_camera_pixels(&photo->camera);
    area_sum *sums = malloc((size_t)(width + 1) * (size_t)(photo->camera.height + 1) * sizeof *sums);
    if (!sums) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look for the sky in %zu pixels", n);
    sum_areas(photo, sums);
    for (size_t i = 0; i < n; i++) {
        int x = (int)(i % (size_t)width), y = (int)(i / (size_t)width);
        float variance = look_around(photo, sums, x, y, PLAIN_REACH, photo->smooth + 3 * i);
        bool is_plain = variance < PLAIN_DEVIATION * PLAIN_DEVIATION;
        bool is_soft = variance < SOFT_DEVIATION * SOFT_DEVIATION;
        if (!is_plain) look_around(photo, sums, x, y, SOFT_REACH, photo->smooth + 3 * i);
        photo->kind[i] = is_plain ? SKY_PLAIN : is_soft ? SKY_SOFT : SKY_BUSY;
        if (photo->kept && !photo->kept[i]) photo->kind[i] = SKY_BUSY;
    }
    free(sums);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- all photos */

splat_status sky_photos_load(sky_finder *f, splat_error *error)
{
    f->photos = calloc(f->n + 1, sizeof *f->photos);
    splat_status *statuses = calloc(f->n + 1, sizeof *statuses);
    splat_error *errors = calloc((size_t)f->threads + 1, sizeof *errors);
    double side = fmin(LONGEST, sqrt(MOST_PIXELS / (double)(f->n ? f->n : 1)));
    splat_status status = f->photos && statuses && errors
                              ? SPLAT_OK
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look for the sky");
    for (size_t first = 0; first < f->n && status == SPLAT_OK; first += (size_t)f->threads) {
        size_t n = f->n - first < (size_t)f->threads ? f->n - first : (size_t)f->threads;
        for (size_t i = first + n; i < first + 2 * n && i < f->n; i++)
            splat_image_cache_prefetch(f->scene->cache, f->scene->dataset.train[i]);
#pragma omp parallel for num_threads(f->threads) schedule(static, 1)
        for (size_t i = 0; i < n; i++) {
            for (int k = 0; k < 3; k++) f->photos[first + i].gain[k] = 1;
            statuses[first + i] = shrink(f, first + i, side, &errors[i]);
            if (statuses[first + i] == SPLAT_OK) statuses[first + i] = find_kinds(&f->photos[first + i], &errors[i]);
        }
        for (size_t i = 0; i < n && status == SPLAT_OK; i++) {
            status = statuses[first + i];
            if (status != SPLAT_OK && error) *error = errors[i];
        }
    }
    free(statuses);
    free(errors);
    return status;
}

void sky_photos_free(sky_finder *f)
{
    for (size_t i = 0; f->photos && i < f->n; i++) {
        free(f->photos[i].rgb);
        free(f->photos[i].smooth);
        free(f->photos[i].kind);
        free(f->photos[i].kept);
        free(f->photos[i].bins);
        free(f->photos[i].mask);
    }
    free(f->photos);
}
