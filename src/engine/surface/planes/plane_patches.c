/* The planes of known pixels of all views are found by random sample consensus (Fischler and Bolles, CACM 1981) over
 * squares of pixels. */
#include "surface/planes/plane_patches.h"

#include "base/rng.h"
#include "math/camera.h"
#include "surface/planes/plane_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PATCHES 16384   /* that planes are drawn from; more squares are thinned */
#define LEADERS 64u          /* patches that begin a plane, for each that is found */
#define PASSES 5
#define FIRST 3.0            /* times the distance of a place on a plane, in the first pass */
#define COSINE 0.94          /* 20 degrees: between normals of a patch and its plane */
#define FLAT 0.005           /* of the depth: deviation of a patch from its own plane */
#define LEAST_VIEWS 2u       /* in which a plane has */
#define LEAST_PART 0.01      /* of the picture */

plane_squares plane_squares_of(const splat_view_map *map)
{
    return (plane_squares){(map->camera.width + PLANE_PATCH_SIDE - 1) / PLANE_PATCH_SIDE,
                           (map->camera.height + PLANE_PATCH_SIDE - 1) / PLANE_PATCH_SIDE};
}

/* ---------------------------------------------------------------- patches */

/* The patch of a square; false if too little is known there, or it is not flat. */
static bool patch_of(const plane_patches *patches, uint32_t view, int column, int row, plane_patch *p)
{
    const splat_view_map *map = &patches->maps->views[view];
    const plane_squares g = plane_squares_of(map);
    plane_moments all = {0}, own = {0};
    plane_fit fit, middle;
    uint32_t n = 0;
    for (int j = row - 1; j <= row + 1; j++)
        for (int i = column - 1; i <= column + 1; i++) {
            if (i < 0 || j < 0 || i >= g.columns || j >= g.rows) continue;
            PLANE_SQUARE_PIXELS(map, i, j, pixel)
            {
                float place[3];
                if (!patches->is_known(patches->user, view, pixel)) continue;
                splat_view_map_place(map, pixel, place);
                plane_moments_add(&all, place, 1);
                if (i != column || j != row) continue;
                plane_moments_add(&own, place, 1);
                n++;
            }
        }
    if (n < PLANE_PATCH_KNOWN * PLANE_PATCH_SIDE * PLANE_PATCH_SIDE) return false;
    if (!plane_fit_make(&own, &middle) || !plane_fit_make(&all, &fit)) return false;
    double depth = 0;
    for (int k = 0; k < 3; k++)
        depth += (double)map->camera.rotation[6 + k] * (fit.centroid[k] - (double)map->camera.center[k]);
    if (!(depth > 0) || !(fit.sigma[2] < FLAT * depth)) return false;
    if (plane_distance(&fit, map->camera.center) < 0) plane_turn(&fit);
    *p = (plane_patch){.depth = depth, .view = view, .n = n};
    for (int k = 0; k < 3; k++) {
        p->position[k] = (float)middle.centroid[k];
        p->normal[k] = fit.normal[k];
    }
    return true;
}

splat_status plane_patches_make(plane_patches *patches, splat_error *error)
{
    size_t n_squares = 0, *first = malloc((patches->maps->n + 1) * sizeof *first);
    for (size_t v = 0; first && v < patches->maps->n; v++) {
        const plane_squares g = plane_squares_of(&patches->maps->views[v]);
        first[v] = n_squares;
        n_squares += (size_t)g.columns * (size_t)g.rows;
    }
    const size_t step = n_squares / MOST_PATCHES + 1, n = n_squares / step + 1;
    patches->step = step;
    patches->patches = calloc(n, sizeof *patches->patches);
    if (!first || !patches->patches) {
        free(first);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu squares of pixels", n);
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(patches->threads)
    for (size_t v = 0; v < patches->maps->n; v++) {
        const plane_squares g = plane_squares_of(&patches->maps->views[v]);
        const size_t end = first[v] + (size_t)g.columns * (size_t)g.rows;
        for (size_t at = (first[v] + step - 1) / step * step; at < end; at += step) {
            const int square = (int)(at - first[v]);
            plane_patch *p = &patches->patches[at / step];
            if (!patch_of(patches, (uint32_t)v, square % g.columns, square / g.columns, p)) p->n = 0;
        }
    }
    patches->n = 0;
    for (size_t i = 0; i < n; i++)
        if (patches->patches[i].n) patches->patches[patches->n++] = patches->patches[i];
    free(first);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- planes */

bool plane_patch_is_on(const plane_patch *p, const plane_fit *fit, double times)
{
    return fabs(plane_distance(fit, p->position)) < times * PLANE_PATCH_NEAR * p->depth &&
           fit->normal[0] * p->normal[0] + fit->normal[1] * p->normal[1] + fit->normal[2] * p->normal[2] > COSINE;
}

/* Grows the plane of a patch over all others that lie on it; returns their pixels. */
static uint64_t grow(const plane_patches *patches, const plane_patch *leader, plane_fit *fit)
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
        for (size_t i = 0; i < patches->n; i++) {
            const plane_patch *p = &patches->patches[i];
            if (p->is_taken || !plane_patch_is_on(p, fit, times)) continue;
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
static bool is_seen(const plane_patches *patches, const plane_fit *fit)
{
    uint32_t n_views = 0;
    uint64_t n = 0;
    for (size_t i = 0; i < patches->n && n_views < LEAST_VIEWS; i++) { /* in the order of views */
        const plane_patch *p = &patches->patches[i];
        if (i == 0 || p->view != patches->patches[i - 1].view) n = 0;
        if (!plane_patch_is_on(p, fit, 1)) continue;
        const double least = LEAST_PART * (double)splat_camera_pixels(&patches->maps->views[p->view].camera);
        const bool was = (double)n * (double)patches->step >= least;
        n += p->n;
        n_views += !was && (double)n * (double)patches->step >= least;
    }
    return n_views >= LEAST_VIEWS;
}

bool plane_patches_next(plane_patches *patches, uint32_t round, plane_fit *best)
{
    plane_fit fits[LEADERS];
    uint64_t counts[LEADERS], most = 0;
    size_t chosen = LEADERS;
    if (!patches->n) return false;
#pragma omp parallel for schedule(dynamic, 1) num_threads(patches->threads)
    for (uint32_t k = 0; k < LEADERS; k++) {
        const splat_random4 r = splat_random(patches->seed, SPLAT_STREAM_PLANES, 0x30000u + round, k);
        const plane_patch *leader = &patches->patches[r.x[0] % patches->n];
        counts[k] = leader->is_taken ? 0 : grow(patches, leader, &fits[k]);
    }
    for (uint32_t k = 0; k < LEADERS; k++)
        if (counts[k] > most && is_seen(patches, &fits[k])) {
            most = counts[k];
            chosen = k;
        }
    if (chosen == LEADERS) return false;
    *best = fits[chosen];
    for (size_t i = 0; i < patches->n; i++)
        if (plane_patch_is_on(&patches->patches[i], best, 1)) patches->patches[i].is_taken = true;
    return true;
}

void plane_patches_free(plane_patches *patches)
{
    free(patches->patches);
    patches->patches = NULL;
    patches->n = 0;
}
