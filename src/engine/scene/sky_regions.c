/* Regions of the photos that have the colours of the dome, and what belongs to them. */
#include "scene/sky_regions.h"

#include "math/camera.h"
#include "scene/sky_bins.h"
#include "scene/sky_bright.h"
#include "scene/sky_clouds.h"
#include "scene/sky_dome.h"
#include "scene/sky_tones.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_REGION 30u   /* pixels */
#define MOST_REGIONS 65535u
#define LEAST_PART 0.35    /* of a region's pixels has the colour of its direction */
#define PLAIN_SAME 1.0f  /* times the difference of equal colours */
#define SOFT_SAME 2.0f
#define BRIGHT 0.8f     /* of the level of a bright sky */
#define GAP_BRIGHT 0.9f
#define LEAST_BIN 4u       /* pixels of regions that are sky make their bin sky */
#define LEAST_TOUCH 0.15    /* of a lower region's pixels lies in such bins */
#define LEAST_LARGE 0.005   /* of the photo: smaller regions have no tone curve */
#define ROUNDS 16
#define GROWTH_SAME 6      /* levels */
#define GROWTH_SLOPE 12    /* levels over two pixels */
#define GAP_SAME 1.33f   /* times the difference of equal colours */
#define GAP_SLOPE 8
#define GAP_REACH 2

typedef struct region {
    uint32_t n, n_fits;
    double elevation; /* sum */
    bool is_high, is_top, is_sky;
} region;

/* The regions of a photo. */
typedef struct region_map {
    uint16_t *labels; /* [height][width], 0: none */
    region *regions;  /* [n], of label i + 1 */
    size_t n;
} region_map;

static bool fits(const sky_finder *f, const sky_photo *photo, size_t pixel)
{
    if (f->brightness > 0) return sky_bright_fits(photo, photo->smooth + 3 * pixel, BRIGHT);
    return sky_color_fits(photo, photo->smooth + 3 * pixel, &f->dome[photo->bins[pixel]],
                          f->same * (photo->kind[pixel] == SKY_PLAIN ? PLAIN_SAME : SOFT_SAME));
}

/* ---------------------------------------------------------------- regions */

/* Labels the pixels of one kind that hang together with pixel `first`; stack: [pixels]. */
static void label(const sky_finder *f, const sky_photo *photo, size_t first, region_map *map, uint32_t *stack)
{
    region r = {0};
    uint16_t number = (uint16_t)(map->n + 1);
    size_t n = 0, width = (size_t)photo->camera.width;
    stack[n++] = (uint32_t)first;
    map->labels[first] = number;
    while (n) {
        size_t pixel = stack[--n], next[4];
        r.n++;
        r.n_fits += fits(f, photo, pixel);
        r.elevation += sky_elevation(f, photo, pixel);
        r.is_top = r.is_top || pixel < width;
        sky_neighbors(photo, pixel, next);
        for (int k = 0; k < 4; k++) {
            if (next[k] == SIZE_MAX || map->labels[next[k]] || photo->kind[next[k]] != photo->kind[first]) continue;
            map->labels[next[k]] = number;
            stack[n++] = (uint32_t)next[k];
        }
    }
    r.is_high = !f->has_up || r.elevation > SKY_LEAST_ELEVATION * r.n;
    if ((photo->kind[first] == SKY_SOFT || f->brightness > 0) && !r.is_top) r.n_fits = 0;
    if (r.n < LEAST_REGION) r.n_fits = 0;
    map->regions[map->n++] = r;
}

static splat_status find_regions(const sky_finder *f, sky_photo *photo, region_map *map, splat_error *error)
{
    size_t n = splat_camera_pixels(&photo->camera);
    uint32_t *stack = malloc(n * sizeof *stack);
    map->labels = calloc(n, sizeof *map->labels);
    map->regions = malloc((n < MOST_REGIONS ? n : MOST_REGIONS) * sizeof *map->regions);
    splat_status status = stack && map->labels && map->regions
                              ? SPLAT_OK
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for regions of %zu pixels", n);
    if (status == SPLAT_OK) status = sky_bins_look(f, photo, error);
    for (size_t i = 0; i < n && status == SPLAT_OK && map->n < MOST_REGIONS; i++)
        if (!map->labels[i] && photo->kind[i] != SKY_BUSY) label(f, photo, i, map, stack);
    free(stack);
    return status;
}

static bool has_color(const region *r)
{
    return r->n_fits > 0 && (double)r->n_fits >= LEAST_PART * (double)r->n;
}

/* Makes the bins of a photo's sky regions sky. */
static void mark_bins(const sky_finder *f, const sky_photo *photo, const region_map *map, uint32_t *counts)
{
    size_t n = splat_camera_pixels(&photo->camera);
    for (size_t i = 0; i < n; i++)
        if (map->labels[i] && map->regions[map->labels[i] - 1].is_sky && fits(f, photo, i)) counts[photo->bins[i]]++;
}

/* A low region is sky if most of it lies in directions that are sky elsewhere. */
static bool touch(const sky_finder *f, const sky_photo *photo, region_map *map)
{
    size_t n = splat_camera_pixels(&photo->camera);
    bool is_changed = false;
    uint32_t *inside = calloc(map->n + 1, sizeof *inside);
    for (size_t i = 0; i < n && inside; i++)
        if (map->labels[i] && f->is_sky[photo->bins[i]]) inside[map->labels[i] - 1] += fits(f, photo, i);
    for (size_t i = 0; i < map->n && inside; i++) {
        region *r = &map->regions[i];
        if (r->is_sky || !has_color(r) || (double)inside[i] < LEAST_TOUCH * (double)r->n_fits) continue;
        r->is_sky = is_changed = true;
    }
    free(inside);
    return is_changed;
}

/* Large regions at the upper border that are not sky yet. */
static bool follow(const sky_finder *f, const sky_photo *photo, region_map *map)
{
    const double n = (double)splat_camera_pixels(&photo->camera);
    bool is_changed = false;
    for (size_t i = 0; i < map->n && !(f->brightness > 0); i++) {
        region *r = &map->regions[i];
        if (r->is_sky || !r->is_top || !r->is_high || (double)r->n < LEAST_LARGE * n) continue;
        if (sky_tones_follow(f, photo, map->labels, (uint16_t)(i + 1), r->n)) r->is_sky = is_changed = true;
    }
    return is_changed;
}

static void choose(sky_finder *f, region_map *maps, uint32_t *counts)
{
    for (size_t v = 0; v < f->n; v++)
        for (size_t i = 0; i < maps[v].n; i++) maps[v].regions[i].is_sky = maps[v].regions[i].is_high &&
                                                                          has_color(&maps[v].regions[i]);
    for (int round = 0; round < ROUNDS; round++) {
        bool is_changed = false;
        memset(counts, 0, SKY_BINS * sizeof *counts);
        for (size_t v = 0; v < f->n; v++) mark_bins(f, &f->photos[v], &maps[v], counts);
        for (size_t b = 0; b < SKY_BINS; b++) f->is_sky[b] = counts[b] >= LEAST_BIN;
#pragma omp parallel for num_threads(f->threads) schedule(dynamic, 1) reduction(|| : is_changed)
        for (size_t v = 0; v < f->n; v++) {
            is_changed = touch(f, &f->photos[v], &maps[v]) || is_changed;
            is_changed = follow(f, &f->photos[v], &maps[v]) || is_changed;
        }
        if (!is_changed) break;
    }
}

/* ---------------------------------------------------------------- what belongs to them */

/* The largest difference of a channel over two pixels, across and down. */
static int slope_at(const sky_photo *photo, size_t pixel)
{
    int width = photo->camera.width, height = photo->camera.height, most = 0;
    int x = (int)(pixel % (size_t)width), y = (int)(pixel / (size_t)width);
    const uint8_t *row = photo->rgb + 3 * (size_t)y * (size_t)width;
    const uint8_t *left = row + 3 * (x > 0 ? x - 1 : x), *right = row + 3 * (x + 1 < width ? x + 1 : x);
    const uint8_t *above = photo->rgb + 3 * ((size_t)(y > 0 ? y - 1 : y) * (size_t)width + (size_t)x);
    const uint8_t *below = photo->rgb + 3 * ((size_t)(y + 1 < height ? y + 1 : y) * (size_t)width + (size_t)x);
    for (int k = 0; k < 3; k++) {
        int across = abs(right[k] - left[k]), down = abs(below[k] - above[k]);
        most = most > across ? most : across;
        most = most > down ? most : down;
    }
    return most;
}

static bool is_like(const uint8_t *a, const uint8_t *b, int levels)
{
    return abs(a[0] - b[0]) <= levels && abs(a[1] - b[1]) <= levels && abs(a[2] - b[2]) <= levels;
}

/* Adds neighbours with the colour that the sky has next to them. queue and colors: [pixels]. */
static void grow(sky_photo *photo, uint32_t *queue, uint8_t (*colors)[3])
{
    size_t n = splat_camera_pixels(&photo->camera), n_queued = 0;
    for (size_t i = 0; i < n; i++) {
        if (!photo->mask[i]) continue;
        memcpy(colors[i], photo->smooth + 3 * i, 3);
        queue[n_queued++] = (uint32_t)i;
    }
    for (size_t at = 0; at < n_queued; at++) {
        size_t next[4];
        sky_neighbors(photo, queue[at], next);
        for (int k = 0; k < 4; k++) {
            size_t to = next[k];
            if (to == SIZE_MAX || photo->mask[to] || (photo->kept && !photo->kept[to])) continue;
            if (!is_like(photo->rgb + 3 * to, colors[queue[at]], GROWTH_SAME) || slope_at(photo, to) >= GROWTH_SLOPE)
                continue;
            photo->mask[to] = 1;
            memcpy(colors[to], colors[queue[at]], 3);
            queue[n_queued++] = (uint32_t)to;
        }
    }
}

static bool fits_gap(const sky_finder *f, const sky_photo *photo, size_t pixel)
{
    const uint8_t *rgb = photo->rgb + 3 * pixel;
    if (f->brightness > 0) return sky_bright_fits(photo, rgb, GAP_BRIGHT);
    return sky_color_fits(photo, rgb, &f->dome[photo->bins[pixel]], GAP_SAME * f->same);
}

/* Sky between branches is not connected to the rest. */
static void find_gaps(const sky_finder *f, sky_photo *photo)
{
    int width = photo->camera.width, height = photo->camera.height;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            size_t pixel = (size_t)y * (size_t)width + (size_t)x, bin = photo->bins[pixel];
            int least = 255;
            if (photo->mask[pixel] || !f->is_sky[bin] || (photo->kept && !photo->kept[pixel])) continue;
            if (f->has_up && !(sky_elevation(f, photo, pixel) > 0)) continue;
            if (!fits_gap(f, photo, pixel)) continue;
            for (int j = y - GAP_REACH; j <= y + GAP_REACH; j++)
                for (int i = x - GAP_REACH; i <= x + GAP_REACH; i++) {
                    if (i < 0 || j < 0 || i >= width || j >= height) continue;
                    int slope = slope_at(photo, (size_t)j * (size_t)width + (size_t)i);
                    if (slope < least) least = slope;
                }
            if (least < GAP_SLOPE) photo->mask[pixel] = 1;
        }
}

static splat_status write_mask(const sky_finder *f, sky_photo *photo, const region_map *map, splat_error *error)
{
    size_t n = splat_camera_pixels(&photo->camera);
    uint32_t *queue = malloc(n * sizeof *queue);
    uint8_t (*colors)[3] = malloc(n * sizeof *colors);
    photo->mask = calloc(n, 1);
    splat_status status = queue && colors && photo->mask
                              ? SPLAT_OK
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the sky of %zu pixels", n);
    for (size_t i = 0; i < n && status == SPLAT_OK; i++)
        photo->mask[i] = map->labels[i] && map->regions[map->labels[i] - 1].is_sky;
    if (status == SPLAT_OK) grow(photo, queue, colors);
    if (status == SPLAT_OK) find_gaps(f, photo);
    if (status == SPLAT_OK && !(f->brightness > 0)) status = sky_clouds_find(f, photo, error);
    free(queue);
    free(colors);
    return status;
}

/* ---------------------------------------------------------------- all photos */

/* Calls a step with every photo; the error is that of the first photo with one. */
static splat_status for_photos(sky_finder *f, region_map *maps, splat_status *statuses, bool writes, splat_error *error)
{
#pragma omp parallel for num_threads(f->threads) schedule(dynamic, 1)
    for (size_t v = 0; v < f->n; v++)
        statuses[v] = writes ? write_mask(f, &f->photos[v], &maps[v], NULL)
                             : find_regions(f, &f->photos[v], &maps[v], NULL);
    for (size_t v = 0; v < f->n; v++)
        if (statuses[v] != SPLAT_OK)
            return splat_fail(error, statuses[v], "no memory to look for the sky in %zu photos", f->n);
    return SPLAT_OK;
}

splat_status sky_regions_find(sky_finder *f, splat_error *error)
{
    region_map *maps = calloc(f->n + 1, sizeof *maps);
    splat_status *statuses = calloc(f->n + 1, sizeof *statuses);
    uint32_t *counts = calloc(SKY_BINS, sizeof *counts);
    f->is_sky = calloc(SKY_BINS, 1);
    splat_status status = maps && statuses && counts && f->is_sky
                              ? for_photos(f, maps, statuses, false, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look for the sky");
    if (status == SPLAT_OK) choose(f, maps, counts);
    if (status == SPLAT_OK) status = for_photos(f, maps, statuses, true, error);
    for (size_t v = 0; maps && v < f->n; v++) {
        free(maps[v].labels);
        free(maps[v].regions);
    }
    free(maps);
    free(statuses);
    free(counts);
    return status;
}
