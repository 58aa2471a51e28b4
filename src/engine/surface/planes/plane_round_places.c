/* Places without a plane, on a grid of every picture. */
#include "surface/planes/plane_round_places.h"

#include "surface/planes/plane_choose.h"
#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_places.h"
#include "surface/planes/plane_votes.h"

#include "math/camera.h"
#include "math/vec3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP 3              /* pixels of the small photo between places */
#define MOST_PLACES 60000u  /* of all views, about */
#define NEAR 0.12           /* of the depth: places of a surface lie so near, as plain places are that far off */
#define FLAT 0.05           /* of the depth: so near to a plane a place may lie on it */
#define LEAST_CROSS 0.7     /* sine of the angle between two planes whose line tells a direction */
#define LEAST_COSINE 0.85   /* of the angle between the normals of both */

bool plane_round_slant_now(const plane_shade *shade, uint32_t v, size_t pixel, plane_slant *slant)
{
    const splat_view_map *map = &shade->maps->views[v];
    const plane_view *view = &shade->views[v];
    const uint32_t label = view->labels[pixel];
    uint16_t plane;
    const int choice = view->surfaces ? plane_choice_at(&map->camera, view, pixel, slant, &plane) : PLANE_CHOICE_KEEP;
    if (choice < PLANE_CHOICE_KEEP) return false;
    if (choice == PLANE_CHOICE_SMOOTH || choice == PLANE_CHOICE_GUESS) return true;
    if (choice == PLANE_CHOICE_KEEP && label >> PLANE_LABEL_SHIFT) return false;
    return plane_shade_slant_of_map(map, pixel, slant);
}

/* True if a place lies near the rectangle of a plane of the scene, as parts of walls do that no view gave the plane.
 * Planes that the photos left are lids over round surfaces. */
static bool is_flat(const plane_round_places *s, const plane_round_place *p)
{
    for (size_t i = 0; i < s->n_planes; i++) {
        const plane_fit *fit = &s->planes[i].fit;
        double facing = 0;
        if (!s->are_kept[i]) continue;
        for (int k = 0; k < 3; k++) facing += fit->normal[k] * (double)p->normal[k];
        if (fabs(facing) > LEAST_COSINE && fabs(plane_distance(fit, p->position)) < FLAT * (double)p->depth &&
            plane_cell(&s->planes[i], p->position) != SIZE_MAX)
            return true;
    }
    return false;
}

static uint32_t take(const plane_round_places *s, uint32_t v, int step, plane_round_place *places)
{
    const plane_shade *shade = s->shade;
    const splat_camera *c = &shade->maps->views[v].camera;
    const plane_view *view = &shade->views[v];
    uint32_t n = 0;
    for (int y = step / 2; y < c->height; y += step)
        for (int x = step / 2; x < c->width; x += step) {
            const size_t pixel = (size_t)y * (size_t)c->width + (size_t)x;
            const uint32_t segment = view->labels[pixel] & PLANE_LABEL_SEGMENT;
            plane_slant slant;
            if (!segment || !plane_round_slant_now(shade, v, pixel, &slant) || !(slant.q > 0)) continue;
            plane_round_place *place = &places[n++];
            *place = (plane_round_place){.depth = 1 / slant.q, .x = (float)x + 0.5f, .y = (float)y + 0.5f, .view = v,
                                         .segment = segment - 1};
            splat_camera_unproject(c, place->x, place->y, place->depth, place->position);
            plane_shade_normal(c, &slant, place->x, place->y, place->normal);
            place->is_flat = is_flat(s, place);
        }
    return n;
}

static int heavier_first(const void *a, const void *b)
{
    const plane_round_axis *x = a, *y = b;
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return memcmp(x->direction, y->direction, sizeof x->direction);
}

/* How much a plane says of directions: its area, times the views that see it. */
static double weight_of(const plane_global *plane)
{
    return (plane->high[0] - plane->low[0]) * (plane->high[1] - plane->low[1]) * plane->n_views;
}

/* The planes with most weight, those first. */
static void find_walls(plane_round_places *s)
{
    s->n_walls = 0;
    for (size_t i = 0; i < s->n_planes; i++) {
        uint32_t at = s->n_walls;
        while (at > 0 && weight_of(&s->planes[s->walls[at - 1]]) < weight_of(&s->planes[i])) at--;
        if (at == PLANE_ROUND_AXIS_PLANES) continue;
        s->n_walls += s->n_walls < PLANE_ROUND_AXIS_PLANES;
        memmove(s->walls + at + 1, s->walls + at, (s->n_walls - at - 1) * sizeof *s->walls);
        s->walls[at] = i;
    }
}

/* Normals of the largest planes, and the lines in which two of these meet. */
static void find_axes(plane_round_places *s)
{
    const uint32_t n = s->n_walls;
    for (uint32_t i = 0; i < n; i++) {
        const plane_global *plane = &s->planes[s->walls[i]];
        memcpy(s->axes[i].direction, plane->fit.normal, sizeof s->axes[i].direction);
        s->axes[i].weight = weight_of(plane);
    }
    s->n_axes = n;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i; k++) {
            plane_round_axis *line = &s->axes[s->n_axes];
            splat_cross3(s->axes[i].direction, s->axes[k].direction, line->direction);
            const double square = splat_dot3(line->direction, line->direction);
            if (!(square > LEAST_CROSS * LEAST_CROSS)) continue;
            for (int j = 0; j < 3; j++) line->direction[j] /= sqrt(square);
            line->weight = s->axes[i].weight;
            s->n_axes++;
        }
    qsort(s->axes, s->n_axes, sizeof *s->axes, heavier_first);
}

bool plane_round_places_take(plane_round_places *s)
{
    const size_t n_views = s->shade->maps->n;
    const int step = plane_places_step(s->shade, STEP, MOST_PLACES);
    size_t room = 0, *starts = malloc((n_views + 1) * sizeof *starts);
    find_walls(s);
    find_axes(s);
    s->first = calloc(n_views + 1, sizeof *s->first);
    s->first_segment = calloc(n_views + 1, sizeof *s->first_segment);
    for (size_t v = 0; v < n_views && starts; v++) {
        starts[v] = room;
        room += plane_places_grid(s->shade, v, step);
    }
    s->n_asked = room;
    s->places = malloc((room + 1) * sizeof *s->places);
    s->taker = calloc(room + 1, 1);
    const bool ok = starts && s->first && s->first_segment && s->places && s->taker;
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->threads)
    for (size_t v = 0; v < (ok ? n_views : 0); v++)
        s->first[v + 1] = take(s, (uint32_t)v, step * s->shade->views[v].shade_side, s->places + starts[v]);
    for (size_t v = 0; v < n_views && ok; v++) {
        memmove(s->places + s->n, s->places + starts[v], s->first[v + 1] * sizeof *s->places);
        s->n += s->first[v + 1];
        s->first[v + 1] = s->n;
        s->first_segment[v + 1] = s->first_segment[v] + s->shade->views[v].n_segments;
    }
    free(starts);
    return ok;
}

int plane_round_side(const plane_round *round, const plane_round_place *place)
{
    double outward[3], facing = 0;
    const double d = plane_round_outward(round, place->position, outward);
    if (!(fabs(d) < NEAR * (double)place->depth)) return 0;
    for (int k = 0; k < 3; k++) facing += outward[k] * (double)place->normal[k];
    return facing > LEAST_COSINE ? 1 : facing < -LEAST_COSINE ? -1 : 0;
}

void plane_round_places_free(plane_round_places *s)
{
    free(s->places);
    free(s->taker);
    free(s->first);
    free(s->first_segment);
}
