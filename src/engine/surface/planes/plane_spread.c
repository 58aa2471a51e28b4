/* Few views see a floor: a part of its pixels is known and the rest is not, though all lie on one plane. The
 * planes of known pixels of all views are found by random sample consensus (Fischler and Bolles, CACM 1981) over
 * squares of pixels. In each view they grow, square by square, over unknown pixels that lie near them. */
#include "surface/planes/plane_spread.h"

#include "base/rng.h"
#include "math/camera.h"
#include "math/sight.h"
#include "surface/planes/plane_fit.h"
#include "surface/planes/plane_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 8               /* pixels of a square */
#define LEAST_KNOWN 0.5      /* of its pixels: a square with so many known ones has a place */
#define MOST_PATCHES 16384   /* that planes are drawn from; more squares are thinned */
#define LEADERS 64u          /* patches that begin a plane, for each that is found */
#define MOST_PLANES 64
#define PASSES 5
#define NEAR 0.005           /* of the depth: a place on a plane, in the end, */
#define FIRST 3.0            /* and so many times that in the first pass */
#define COSINE 0.94          /* 20 degrees: between normals of a patch and its plane */
#define FLAT 0.005           /* of the depth: deviation of a patch from its own plane */
#define LEAST_VIEWS 2u       /* in which a plane has */
#define LEAST_PART 0.01      /* of the picture */
#define MOST_OFF 0.025f      /* of the depth: an unknown pixel that may lie on a plane */
#define LEAST_NEAR 0.5       /* of the unknown pixels of a square: so many do */
#define ON 0.6               /* of the known ones of a square, so that it shows a plane */
#define LEAST_TEXTURE 3.0    /* levels: deviation of a square; plain ones have been looked at */

enum { NO_PLANE = -1, OTHER = -2 }; /* of a square: nothing known; known, and on no plane */

/* A square of known pixels with those around it. */
typedef struct patch {
    float position[3];
    double normal[3], depth;
    uint32_t view, n; /* known pixels */
    bool is_taken;
} patch;

typedef struct spreader {
    splat_view_maps *maps;
    uint64_t seed;
    int threads;
    patch *patches;
    size_t n_patches;
    size_t step; /* of squares, so that patches do not exceed their number */
    plane_fit *planes; /* [MOST_PLANES] */
    size_t n_planes;
} spreader;

typedef struct grid {
    int columns, rows;
} grid;

static grid grid_of(const splat_view_map *map)
{
    return (grid){(map->camera.width + SIDE - 1) / SIDE, (map->camera.height + SIDE - 1) / SIDE};
}

static bool is_known(const splat_view_map *map, size_t pixel)
{
    const uint8_t state = map->state[pixel];
    return map->depth[pixel] > 0 && (state == SPLAT_PIXEL_FITTED || state == SPLAT_PIXEL_AGREED ||
                                     state == SPLAT_PIXEL_MATCHED);
}

/* Loops over the pixels of a square. */
#define FOR_PIXELS(map, column, row, pixel)                                                                            \
    for (int y_ = (row) * SIDE; y_ < ((row) + 1) * SIDE && y_ < (map)->camera.height; y_++)                            \
        for (size_t pixel = (size_t)y_ * (size_t)(map)->camera.width + (size_t)(column) * SIDE,                        \
                    end_ = (size_t)y_ * (size_t)(map)->camera.width +                                                  \
                           (size_t)((column) * SIDE + SIDE < (map)->camera.width ? (column) * SIDE + SIDE              \
                                                                                 : (map)->camera.width);               \
             pixel < end_; pixel++)

/* ---------------------------------------------------------------- patches */

/* The patch of a square; false if too little is known there, or it is not flat. */
static bool patch_of(const splat_view_map *map, uint32_t view, int column, int row, patch *p)
{
    const grid g = grid_of(map);
    plane_moments all = {0}, own = {0};
    plane_fit fit, middle;
    uint32_t n = 0;
    for (int j = row - 1; j <= row + 1; j++)
        for (int i = column - 1; i <= column + 1; i++) {
            if (i < 0 || j < 0 || i >= g.columns || j >= g.rows) continue;
            FOR_PIXELS(map, i, j, pixel)
            {
                float place[3];
                if (!is_known(map, pixel)) continue;
                splat_view_map_place(map, pixel, place);
                plane_moments_add(&all, place, 1);
                if (i != column || j != row) continue;
                plane_moments_add(&own, place, 1);
                n++;
            }
        }
    if (n < LEAST_KNOWN * SIDE * SIDE || !plane_fit_make(&own, &middle) || !plane_fit_make(&all, &fit)) return false;
    double depth = 0;
    for (int k = 0; k < 3; k++)
        depth += (double)map->camera.rotation[6 + k] * (fit.centroid[k] - (double)map->camera.center[k]);
    if (!(depth > 0) || !(fit.sigma[2] < FLAT * depth)) return false;
    if (plane_distance(&fit, map->camera.center) < 0) plane_turn(&fit);
    *p = (patch){.depth = depth, .view = view, .n = n};
    for (int k = 0; k < 3; k++) {
        p->position[k] = (float)middle.centroid[k];
        p->normal[k] = fit.normal[k];
    }
    return true;
}

static splat_status collect(spreader *s, splat_error *error)
{
    size_t n_squares = 0, *first = malloc((s->maps->n + 1) * sizeof *first);
    for (size_t v = 0; first && v < s->maps->n; v++) {
        const grid g = grid_of(&s->maps->views[v]);
        first[v] = n_squares;
        n_squares += (size_t)g.columns * (size_t)g.rows;
    }
    s->step = n_squares / MOST_PATCHES + 1;
    const size_t n = n_squares / s->step + 1;
    s->patches = calloc(n, sizeof *s->patches);
    if (!first || !s->patches) {
        free(first);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu squares of pixels", n);
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->threads)
    for (size_t v = 0; v < s->maps->n; v++) {
        const grid g = grid_of(&s->maps->views[v]);
        const size_t end = first[v] + (size_t)g.columns * (size_t)g.rows;
        for (size_t at = (first[v] + s->step - 1) / s->step * s->step; at < end; at += s->step) {
            const int square = (int)(at - first[v]);
            patch *p = &s->patches[at / s->step];
            if (!patch_of(&s->maps->views[v], (uint32_t)v, square % g.columns, square / g.columns, p)) p->n = 0;
        }
    }
    for (size_t i = 0; i < n; i++)
        if (s->patches[i].n) s->patches[s->n_patches++] = s->patches[i];
    free(first);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- planes */

/* True if a patch lies within so many times NEAR of a plane. */
static bool is_on(const patch *p, const plane_fit *fit, double times)
{
    return fabs(plane_distance(fit, p->position)) < times * NEAR * p->depth &&
           fit->normal[0] * p->normal[0] + fit->normal[1] * p->normal[1] + fit->normal[2] * p->normal[2] > COSINE;
}

/* Grows the plane of a patch over all others that lie on it; returns their pixels. */
static uint64_t grow(const spreader *s, const patch *leader, plane_fit *fit)
{
    uint64_t n = 0;
    memset(fit, 0, sizeof *fit);
    for (int k = 0; k < 3; k++) {
        fit->normal[k] = leader->normal[k];
        fit->offset += leader->normal[k] * (double)leader->position[k];
    }
    for (int pass = 0; pass <= PASSES; pass++) {
        const double times = pass < PASSES ? FIRST + (1 - FIRST) * pass / (PASSES - 1) : 1;
        plane_moments m = {0};
        plane_fit next;
        n = 0;
        for (size_t i = 0; i < s->n_patches; i++) {
            const patch *p = &s->patches[i];
            if (p->is_taken || !is_on(p, fit, times)) continue;
            plane_moments_add(&m, p->position, p->n);
            n += p->n;
        }
        if (pass == PASSES) break;
        if (!plane_fit_make(&m, &next)) return 0;
        if (next.normal[0] * fit->normal[0] + next.normal[1] * fit->normal[1] + next.normal[2] * fit->normal[2] < 0)
            plane_turn(&next);
        *fit = next;
    }
    return n;
}

/* True if enough views show the plane in a good part of their picture. */
static bool is_seen(const spreader *s, const plane_fit *fit)
{
    uint32_t n_views = 0;
    uint64_t n = 0;
    for (size_t i = 0; i < s->n_patches && n_views < LEAST_VIEWS; i++) { /* in the order of views */
        const patch *p = &s->patches[i];
        if (i == 0 || p->view != s->patches[i - 1].view) n = 0;
        if (!is_on(p, fit, 1)) continue;
        const double least = LEAST_PART * (double)splat_camera_pixels(&s->maps->views[p->view].camera);
        const bool was = (double)n * (double)s->step >= least;
        n += p->n;
        n_views += !was && (double)n * (double)s->step >= least;
    }
    return n_views >= LEAST_VIEWS;
}

/* The plane of one of LEADERS patches that most pixels lie on; false: none that enough views show. */
static bool find_plane(spreader *s, uint32_t round, plane_fit *best)
{
    plane_fit fits[LEADERS];
    uint64_t counts[LEADERS], most = 0;
    size_t chosen = LEADERS;
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->threads)
    for (uint32_t k = 0; k < LEADERS; k++) {
        const splat_random4 r = splat_random(s->seed, SPLAT_STREAM_PLANES, 0x30000u + round, k);
        const patch *leader = &s->patches[r.x[0] % s->n_patches];
        counts[k] = leader->is_taken ? 0 : grow(s, leader, &fits[k]);
    }
    for (uint32_t k = 0; k < LEADERS; k++)
        if (counts[k] > most && is_seen(s, &fits[k])) {
            most = counts[k];
            chosen = k;
        }
    if (chosen == LEADERS) return false;
    *best = fits[chosen];
    for (size_t i = 0; i < s->n_patches; i++)
        if (is_on(&s->patches[i], best, 1)) s->patches[i].is_taken = true;
    return true;
}

/* ---------------------------------------------------------------- squares of a view */

/* Depth over that of the plane at a pixel, less 1; INFINITY without either. */
static float off(const splat_view_map *map, const plane_fit *fit, size_t pixel)
{
    const float z = plane_depth(&map->camera, fit, pixel);
    return z < INFINITY && map->depth[pixel] > 0 ? map->depth[pixel] / z - 1 : INFINITY;
}

/* A pixel that nothing is known of, but its depth, or whose depth was dropped. */
static bool is_unknown(const splat_view_map *map, size_t pixel)
{
    return map->state[pixel] == SPLAT_PIXEL_SILENT && (map->depth[pixel] > 0 || map->alpha[pixel] == 255);
}

static bool is_near(const splat_view_map *map, const plane_fit *fit, size_t pixel)
{
    return fabsf(off(map, fit, pixel)) < (float)NEAR;
}

/* The plane that the known pixels of a square show. Most planes are off three of them, and no more are asked then. */
static int32_t plane_of_known(const spreader *s, const splat_view_map *map, int column, int row)
{
    size_t known[SIDE * SIDE];
    uint32_t n = 0, most = 0;
    int32_t best = OTHER;
    FOR_PIXELS(map, column, row, pixel)
        if (is_known(map, pixel)) known[n++] = pixel;
    if (n < LEAST_KNOWN * SIDE * SIDE / 2) return NO_PLANE;
    for (size_t i = 0; i < s->n_planes; i++) {
        const plane_fit *fit = &s->planes[i];
        uint32_t n_on = 0;
        if (!is_near(map, fit, known[0]) && !is_near(map, fit, known[n / 2]) && !is_near(map, fit, known[n - 1]))
            continue;
        for (uint32_t k = 0; k < n; k++) n_on += is_near(map, fit, known[k]);
        if (n_on < ON * n || n_on <= most) continue;
        most = n_on;
        best = (int32_t)i;
    }
    return best;
}

static bool has_texture(const splat_view_map *map, int column, int row)
{
    double n = 0, sum = 0, square = 0;
    FOR_PIXELS(map, column, row, pixel)
    {
        const uint8_t *c = map->rgb + 3 * pixel;
        const double level = 0.3 * c[0] + 0.6 * c[1] + 0.1 * c[2];
        n++;
        sum += level;
        square += level * level;
    }
    return n > 0 && square / n - sum / n * (sum / n) > LEAST_TEXTURE * LEAST_TEXTURE;
}

/* True if an unknown pixel may lie on a plane. */
static bool may_take(const splat_view_map *map, const plane_fit *fit, size_t pixel)
{
    return !(map->depth[pixel] > 0) || fabsf(off(map, fit, pixel)) < MOST_OFF;
}

/* True if the unknown pixels of a square may lie on a plane. */
static bool may_lie(const splat_view_map *map, const plane_fit *fit, int column, int row)
{
    uint32_t n = 0, n_near = 0;
    FOR_PIXELS(map, column, row, pixel)
    {
        if (!is_unknown(map, pixel)) continue;
        n++;
        n_near += may_take(map, fit, pixel);
    }
    return n > 0 && n_near >= LEAST_NEAR * n;
}

static uint64_t set_square(splat_view_map *map, const plane_fit *fit, int column, int row)
{
    uint64_t n = 0;
    FOR_PIXELS(map, column, row, pixel)
    {
        const float z = plane_depth(&map->camera, fit, pixel);
        if (!is_unknown(map, pixel) || !(z < INFINITY) || !may_take(map, fit, pixel)) continue;
        plane_set_pixel(map, fit, pixel, z);
        map->alpha[pixel] = 255;
        n++;
    }
    return n;
}

/* Squares with known pixels first; then planes grow from square to square. */
static bool spread_view(spreader *s, size_t number, uint64_t *n_set)
{
    splat_view_map *map = &s->maps->views[number];
    const grid g = grid_of(map);
    const int n = g.columns * g.rows;
    int32_t *planes = malloc(((size_t)n + 1) * sizeof *planes);
    int *queue = malloc(((size_t)n + 1) * sizeof *queue), head = 0, tail = 0;
    *n_set = 0;
    for (int i = 0; planes && queue && i < n; i++) {
        planes[i] = plane_of_known(s, map, i % g.columns, i / g.columns);
        if (planes[i] >= 0) queue[tail++] = i;
    }
    for (int i = 0; planes && i < n; i++)
        if (planes[i] >= 0) *n_set += set_square(map, &s->planes[planes[i]], i % g.columns, i / g.columns);
    while (planes && queue && head < tail) {
        const int i = queue[head++], x = i % g.columns, y = i / g.columns;
        const int next[4] = {x > 0 ? i - 1 : -1, x + 1 < g.columns ? i + 1 : -1, y > 0 ? i - g.columns : -1,
                             y + 1 < g.rows ? i + g.columns : -1};
        for (int k = 0; k < 4; k++) {
            const int at = next[k];
            if (at < 0 || planes[at] != NO_PLANE || !has_texture(map, at % g.columns, at / g.columns) ||
                !may_lie(map, &s->planes[planes[i]], at % g.columns, at / g.columns))
                continue;
            planes[at] = planes[i];
            queue[tail++] = at;
            *n_set += set_square(map, &s->planes[planes[at]], at % g.columns, at / g.columns);
        }
    }
    const bool ok = planes && queue;
    free(planes);
    free(queue);
    return ok;
}

splat_status plane_spread(splat_view_maps *maps, uint64_t seed, int threads, uint64_t *n_pixels,
                          splat_error *error)
{
    plane_fit planes[MOST_PLANES];
    spreader s = {.maps = maps, .seed = seed, .threads = threads, .planes = planes};
    bool is_short = false;
    uint64_t n_set = 0;
    *n_pixels = 0;
    splat_status status = collect(&s, error);
    while (status == SPLAT_OK && s.n_patches && s.n_planes < MOST_PLANES &&
           find_plane(&s, (uint32_t)s.n_planes, &planes[s.n_planes]))
        s.n_planes++;
    free(s.patches);
    if (status != SPLAT_OK) return status;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) reduction(+ : n_set) reduction(|| : is_short)
    for (size_t v = 0; v < maps->n; v++) {
        uint64_t own;
        is_short = !spread_view(&s, v, &own) || is_short;
        n_set += own;
    }
    *n_pixels = n_set;
    return is_short ? splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to spread planes") : SPLAT_OK;
}
