/* Removes points beyond the foreground that are no surface (docs/method.md 16). */
#include "surface/extract/sky_filter.h"

#include "base/error.h"
#include "surface/extract/extraction.h"

#include "math/camera.h"
#include "surface/extract/view_agreement.h"

#include <stdlib.h>
#include <string.h>

#define AROUND 3     /* pixels to those that a plain pixel is like */
#define MOST_BEND 6  /* levels of grey, between it and the mean of two, twice */
#define MOST_SLOPE 24 /* and between those two */

#define STRIDE 24u       /* of pixels that are asked, both ways */
#define REACH 2          /* a patch has (2 REACH + 1)^2 samples */
#define SPACING 4        /* pixels between them */
#define SAMPLES ((2 * REACH + 1) * (2 * REACH + 1))
#define MOST_ASKED 4u    /* neighbours */
#define LEAST_ASKED 2u
#define LEAST_DETAIL 2.0f /* levels, standard deviation of a patch that tells anything */
#define LEAST_SHIFT 6.0f /* pixels between the places at the depth and at infinity */
#define LEAST_ALIKE 0.4f /* correlation at the depth */
#define LEAST_MORE 0.05f /* and above that at infinity */
#define NOISE 1.0f       /* of a level: added to variances */
#define INFINITELY 1e5f  /* times the depth */

/* ---------------------------------------------------------------- plain pixels */

/* Grey of a pixel, in 256ths of a level; beyond the picture's sides that of the pixel at them. */
static int grey_at(const splat_view_map *map, int x, int y)
{
    const uint8_t *rgb = map->rgb + 3 * splat_view_map_pixel(map, x, y);
    return 77 * rgb[0] + 150 * rgb[1] + 29 * rgb[2];
}

bool splat_sky_is_plain(const splat_view_map *map, size_t pixel)
{
    static const int way[4][2] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}};
    int x = (int)(pixel % (size_t)map->camera.width), y = (int)(pixel / (size_t)map->camera.width);
    int reference = grey_at(map, x, y);
    for (int k = 0; k < 4; k++) {
        int dx = AROUND * way[k][0], dy = AROUND * way[k][1];
        int before = grey_at(map, x - dx, y - dy), after = grey_at(map, x + dx, y + dy);
        if (abs(before + after - 2 * reference) > 256 * MOST_BEND || abs(after - before) > 256 * MOST_SLOPE)
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------- photos */

/* A square of the view's picture as seen in another one: its middle, and a step right and down. */
typedef struct patch {
    float middle[2], right[2], down[2];
} patch;

static bool find_patch(const splat_view_map *view, const splat_camera *other, float x, float y, float z, patch *p)
{
    float image[3][3];
    for (int k = 0; k < 3; k++) {
        float place[3];
        splat_camera_unproject(&view->camera, x + (k == 1 ? SPACING : 0), y + (k == 2 ? SPACING : 0), z, place);
        if (!splat_camera_project(other, place, image[k])) return false;
    }
    for (int k = 0; k < 2; k++) {
        p->middle[k] = image[0][k];
        p->right[k] = image[1][k] - image[0][k];
        p->down[k] = image[2][k] - image[0][k];
    }
    return true;
}

/* Less their mean, which changes no correlation; *variance: the sum of their squares. False beyond the picture. */
static bool read_patch(const splat_view_map *map, const patch *p, float samples[SAMPLES], float *variance)
{
    int width = map->camera.width / 2, height = map->camera.height / 2, n = 0;
    float sum = 0;
    for (int j = -REACH; j <= REACH; j++)
        for (int i = -REACH; i <= REACH; i++) {
            float x = 0.5f * (p->middle[0] + (float)i * p->right[0] + (float)j * p->down[0]) - 0.5f;
            float y = 0.5f * (p->middle[1] + (float)i * p->right[1] + (float)j * p->down[1]) - 0.5f;
            if (!(x >= 0 && y >= 0 && x < (float)(width - 1) && y < (float)(height - 1))) return false;
            int px = (int)x, py = (int)y;
            float a = x - (float)px, b = y - (float)py;
            const uint8_t *g = map->gray + (size_t)py * (size_t)width + (size_t)px, *below = g + width;
            samples[n] = ((float)g[0] * (1 - a) + (float)g[1] * a) * (1 - b) +
                         ((float)below[0] * (1 - a) + (float)below[1] * a) * b;
            sum += samples[n++];
        }
    *variance = 0;
    for (int k = 0; k < SAMPLES; k++) {
        samples[k] -= sum / SAMPLES;
        *variance += samples[k] * samples[k];
    }
    return true;
}

typedef struct patch_samples {
    float samples[SAMPLES], variance;
} patch_samples;

static bool correlate(const patch_samples *reference, const splat_view_map *other, const patch *p, float *correlation)
{
    float samples[SAMPLES], variance, product = 0;
    if (!read_patch(other, p, samples, &variance)) return false;
    for (int k = 0; k < SAMPLES; k++) product += reference->samples[k] * samples[k];
    *correlation = product / sqrtf((reference->variance + NOISE) * (variance + NOISE));
    return true;
}

splat_sky_opinion splat_sky_compare_photos(const splat_view_maps *maps, size_t view, size_t pixel)
{
    const splat_view_map *map = &maps->views[view];
    size_t width = (size_t)map->camera.width;
    float x = (float)(pixel % width) + 0.5f, y = (float)(pixel / width) + 0.5f, z = map->depth[pixel];
    const patch here = {{x, y}, {SPACING, 0}, {0, SPACING}};
    float at_depth = 0, at_infinity = 0;
    patch_samples reference;
    uint32_t n = 0;
    if (!map->gray || !read_patch(map, &here, reference.samples, &reference.variance) ||
        reference.variance < SAMPLES * LEAST_DETAIL * LEAST_DETAIL)
        return SPLAT_SKY_SILENT;
    for (uint32_t i = 0; i < map->n_neighbors && n < MOST_ASKED; i++) {
        const splat_view_map *other = &maps->views[map->neighbors[i]];
        patch near, far;
        float a, b;
        if (!other->gray || !find_patch(map, &other->camera, x, y, z, &near) ||
            !find_patch(map, &other->camera, x, y, INFINITELY * z, &far))
            continue;
        float shift = hypotf(near.middle[0] - far.middle[0], near.middle[1] - far.middle[1]);
        if (shift < LEAST_SHIFT || !correlate(&reference, other, &near, &a) || !correlate(&reference, other, &far, &b))
            continue;
        at_depth += a;
        at_infinity += b;
        n++;
    }
    if (n < LEAST_ASKED) return SPLAT_SKY_SILENT;
    at_depth /= (float)n;
    at_infinity /= (float)n;
    return at_depth > LEAST_ALIKE && at_depth > at_infinity + LEAST_MORE ? SPLAT_SKY_SURFACE : SPLAT_SKY_EMPTY;
}

/* ---------------------------------------------------------------- cells */

static const size_t n_cells = (size_t)SPLAT_SKY_CELLS * SPLAT_SKY_CELLS * SPLAT_SKY_CELLS;

static size_t cell_of(const splat_sky_cells *sky, const float position[3])
{
    size_t cell = 0;
    for (int k = 0; k < 3; k++) {
        double at = ((double)position[k] - sky->low[k]) / sky->side[k];
        if (!(at >= 0 && at < SPLAT_SKY_CELLS)) return SIZE_MAX;
        cell = cell * SPLAT_SKY_CELLS + (size_t)at;
    }
    return cell;
}

/* Adds the votes of a view: votes[cell][2], for surface and for nothing. */
static void ask_view(const splat_view_maps *maps, const splat_surface_boxes *boxes, const splat_sky_cells *sky,
                     size_t v, uint32_t (*votes)[2])
{
    const splat_view_map *map = &maps->views[v];
    size_t width = (size_t)map->camera.width, height = (size_t)map->camera.height;
    for (size_t y = STRIDE / 2; y < height; y += STRIDE)
        for (size_t x = STRIDE / 2; x < width; x += STRIDE) {
            size_t pixel = y * width + x, cell;
            splat_agreement a;
            if (!(map->depth[pixel] > 0) || map->alpha[pixel] >= SPLAT_VIEW_MAP_PLAIN) continue;
            if (!splat_view_agreement(maps, v, pixel, &a) || !splat_agreement_holds(&a, map->n_neighbors)) continue;
            if (splat_surface_is_inside(a.position, boxes->low, boxes->high) ||
                (cell = cell_of(sky, a.position)) == SIZE_MAX || splat_sky_is_plain(map, pixel))
                continue;
            splat_sky_opinion opinion = splat_sky_compare_photos(maps, v, pixel);
            if (opinion == SPLAT_SKY_SILENT) continue;
#pragma omp atomic
            votes[cell][opinion == SPLAT_SKY_EMPTY]++;
        }
}

/* From the votes of a cell and those around it. */
static void decide(splat_sky_cells *sky, uint32_t (*votes)[2])
{
    const long n = SPLAT_SKY_CELLS;
    for (size_t cell = 0; cell < n_cells; cell++) {
        long at[3] = {(long)cell / (n * n), (long)cell / n % n, (long)cell % n};
        uint64_t sum[2] = {0};
        for (long i = at[0] - 1; i <= at[0] + 1; i++)
            for (long j = at[1] - 1; j <= at[1] + 1; j++)
                for (long k = at[2] - 1; k <= at[2] + 1; k++) {
                    if (i < 0 || j < 0 || k < 0 || i >= n || j >= n || k >= n) continue;
                    for (int o = 0; o < 2; o++) sum[o] += votes[(i * n + j) * n + k][o];
                }
        sky->is_empty[cell] = sum[1] > sum[0];
        for (int o = 0; o < 2; o++) *(o ? &sky->n_empty : &sky->n_surface) += votes[cell][o];
    }
}

splat_status splat_sky_cells_find(const splat_view_maps *maps, const splat_surface_boxes *boxes, int threads,
                                  splat_sky_cells *sky, splat_error *error)
{
    *sky = (splat_sky_cells){.is_empty = calloc(n_cells, 1)};
    uint32_t (*votes)[2] = calloc(n_cells, sizeof *votes);
    if (!sky->is_empty || !votes) {
        free(votes);
        splat_sky_cells_free(sky);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare photos beyond the foreground");
    }
    for (int k = 0; k < 3; k++) {
        sky->low[k] = boxes->outer_low[k];
        sky->side[k] = (boxes->outer_high[k] - boxes->outer_low[k]) / SPLAT_SKY_CELLS;
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t v = 0; v < maps->n; v++) ask_view(maps, boxes, sky, v, votes);
    decide(sky, votes);
    free(votes);
    return SPLAT_OK;
}

void splat_sky_cells_free(splat_sky_cells *sky)
{
    free(sky->is_empty);
    memset(sky, 0, sizeof *sky);
}

bool splat_sky_cells_are_empty_at(const splat_sky_cells *sky, const float position[3])
{
    size_t cell = cell_of(sky, position);
    return cell != SIZE_MAX && sky->is_empty[cell];
}
