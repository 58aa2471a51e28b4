/* Seeds lie at the ends of plain segments; all views see the same splat, so seeds next to each other share their error.
 * Pixels with texture on the same plane (a lawn next to a road) tell its tilt better: a street's road by 0.0002 radians
 * instead of 0.001. */
#include "surface/planes/plane_anchors.h"
#include "surface/planes/plane_shared_edges.h"

#include "math/camera.h"
#include "math/sight.h"

#include <stdlib.h>
#include <string.h>

#define MOST_OF_PLANE 2048 /* anchors; more tell no more */
#define VIEW_PIXELS 10000   /* that are looked at in a view, about */
#define GROUP 0.4          /* of the depth: the side of a group */
#define MOST_GROUPS 32u    /* along an axis of a plane */

/* Anchors of one view. */
typedef struct found {
    plane_anchor *anchors;
    size_t n;
} found;

typedef struct collector {
    const splat_view_maps *maps;
    const plane_view *views;
    const plane_global *planes;
    size_t n;
    found *found; /* [maps->n] */
} collector;

static void take_pixels(const collector *c, size_t number, found *own)
{
    const splat_view_map *map = &c->maps->views[number];
    const splat_camera *camera = &map->camera;
    const int width = camera->width, height = camera->height;
    int step = (int)sqrt((double)splat_camera_pixels(camera) / VIEW_PIXELS);
    if (step < 1) step = 1;
    for (int y = step / 2; y < height; y += step)
        for (int x = step / 2; x < width; x += step) {
            const size_t pixel = (size_t)y * (size_t)width + (size_t)x;
            plane_anchor anchor = {.depth = map->depth[pixel]};
            const int plane = plane_of_texture(map, &c->views[number], c->planes, c->n, pixel, anchor.position);
            if (plane < 0) continue;
            anchor.plane = (uint32_t)plane;
            own->anchors[own->n++] = anchor;
        }
}

static void take_seeds(const collector *c, size_t number, found *own)
{
    const plane_view *view = &c->views[number];
    for (uint32_t i = 0; i < view->n_hypotheses; i++) {
        const plane_hypothesis *h = &view->hypotheses[i];
        const plane_segment *segment = &view->segments[h->segment];
        for (uint32_t k = 0; h->plane >= 0 && k < segment->n_seeds; k++) {
            const plane_seed *seed = &view->seeds[segment->first_seed + k];
            const double off = fabs(plane_distance(&c->planes[h->plane].fit, seed->position));
            if (!(off < PLANE_ANCHOR_REACH * (double)seed->depth)) continue;
            own->anchors[own->n++] = (plane_anchor){{seed->position[0], seed->position[1], seed->position[2]},
                                                    seed->depth, (uint32_t)h->plane};
        }
    }
}

/* Most anchors that a view can have. */
static size_t count_most(const collector *c, size_t number)
{
    const splat_camera *camera = &c->maps->views[number].camera;
    const plane_view *view = &c->views[number];
    size_t n = 4 * VIEW_PIXELS + (size_t)camera->width + (size_t)camera->height;
    for (uint32_t i = 0; i < view->n_hypotheses; i++) n += view->segments[view->hypotheses[i].segment].n_seeds;
    return n;
}

static void collect(const collector *c, int threads, bool *is_short)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t v = 0; v < c->maps->n; v++) {
        found *own = &c->found[v];
        own->anchors = malloc(count_most(c, v) * sizeof *own->anchors);
        if (!own->anchors) {
#pragma omp atomic write
            *is_short = true;
            continue;
        }
        take_seeds(c, v, own);
        take_pixels(c, v, own);
        plane_anchor *less = realloc(own->anchors, (own->n + 1) * sizeof *less);
        if (less) own->anchors = less;
    }
}

static size_t most_of(const plane_anchors *a, size_t plane)
{
    return a->counts[plane] < MOST_OF_PLANE ? a->counts[plane] : MOST_OF_PLANE;
}

/* Takes every so many-th anchor of a plane, so that at most MOST_OF_PLANE are left. */
static void thin(const collector *c, plane_anchors *a)
{
    size_t seen[PLANE_MAX_PLANES] = {0}, next[PLANE_MAX_PLANES];
    memcpy(next, a->first, c->n * sizeof *next);
    for (size_t v = 0; v < c->maps->n; v++)
        for (size_t i = 0; i < c->found[v].n; i++) {
            const plane_anchor *anchor = &c->found[v].anchors[i];
            const size_t count = a->counts[anchor->plane], k = seen[anchor->plane]++, most = most_of(a, anchor->plane);
            if (k * most / count != (k + 1) * most / count) a->anchors[next[anchor->plane]++] = *anchor;
        }
}

/* Counts the cells of a plane's rectangle that its anchors lie in. */
static void count_groups(const collector *c, plane_anchors *a, uint8_t *cells)
{
    double depths[PLANE_MAX_PLANES] = {0};
    size_t counts[PLANE_MAX_PLANES] = {0};
    for (size_t i = 0; i < a->n; i++) {
        depths[a->anchors[i].plane] += (double)a->anchors[i].depth;
        counts[a->anchors[i].plane]++;
    }
    for (size_t i = 0; i < a->n; i++) {
        const size_t plane = a->anchors[i].plane;
        const plane_global *own = &c->planes[plane];
        const double side = GROUP * depths[plane] / (double)counts[plane];
        uint32_t at[2];
        for (int k = 0; k < 2; k++) {
            const double u = plane_along_axis(&own->fit, k, a->anchors[i].position, -own->low[k]);
            at[k] = (uint32_t)fmin(fmax(u / side, 0), MOST_GROUPS - 1);
        }
        uint8_t *cell = &cells[(plane * MOST_GROUPS + at[1]) * MOST_GROUPS + at[0]];
        a->groups[plane] += !*cell;
        *cell = 1;
    }
}

splat_status plane_anchors_make(const splat_view_maps *maps, const plane_view *views, const plane_global *planes,
                                size_t n, int threads, plane_anchors *anchors, splat_error *error)
{
    collector c = {maps, views, planes, n, calloc(maps->n + 1, sizeof *c.found)};
    uint8_t *cells = calloc(n * MOST_GROUPS * MOST_GROUPS + 1, 1);
    bool is_short;
    memset(anchors, 0, sizeof *anchors);
    anchors->groups = calloc(n + 1, sizeof *anchors->groups);
    anchors->counts = calloc(n + 1, sizeof *anchors->counts);
    anchors->first = calloc(n + 1, sizeof *anchors->first);
    is_short = !c.found || !cells || !anchors->groups || !anchors->counts || !anchors->first;
    if (!is_short) collect(&c, threads, &is_short);
    for (size_t v = 0; v < maps->n && !is_short; v++)
        for (size_t i = 0; i < c.found[v].n; i++) anchors->counts[c.found[v].anchors[i].plane]++;
    for (size_t i = 0; i < n && !is_short; i++) anchors->first[i + 1] = anchors->first[i] + most_of(anchors, i);
    anchors->n = is_short ? 0 : anchors->first[n];
    anchors->anchors = malloc((anchors->n + 1) * sizeof *anchors->anchors);
    is_short |= !anchors->anchors;
    if (!is_short) {
        thin(&c, anchors);
        count_groups(&c, anchors, cells);
    }
    for (size_t v = 0; c.found && v < maps->n; v++) free(c.found[v].anchors);
    free(c.found);
    free(cells);
    return is_short ? splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for places on %zu planes", n) : SPLAT_OK;
}

void plane_anchors_free(plane_anchors *anchors)
{
    free(anchors->anchors);
    free(anchors->groups);
    free(anchors->counts);
    free(anchors->first);
    memset(anchors, 0, sizeof *anchors);
}
