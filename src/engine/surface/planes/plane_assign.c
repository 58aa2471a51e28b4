/* Which planes a plain segment shows, and which pixel shows which. */
#include "surface/planes/plane_assign.h"
#include "surface/planes/plane_fit.h"
#include "surface/planes/plane_parts.h"

#include "math/camera.h"

#include <string.h>

#define TOLERANCE 0.012f  /* of the depth: seeds on a plane */
#define CLEAR 2.0f        /* tolerances: what is not so far from one plane does not ask for another */
#define BEND 0.06f        /* of the segment's size, and the less of both */
#define LEAST_TOLERANCE 0.003f /* of the depth, which the splat's has */
#define LEAST_SEEDS 12u
#define LEAST_PART 0.08   /* of the segment's seeds that a plane explains alone */
#define LEAST_COVER 0.25  /* and all planes together */
#define LEAST_RIM 0.10    /* of the rim, which also shows what stands in front */
#define MARGIN 0.05       /* of a rectangle's sides, around it */
#define MOST_BEHIND 0.25  /* of the seeds on planes: so many may lie behind */
#define APART 0.02f       /* of the depth: planes that a seed can tell */

/* ---------------------------------------------------------------- candidates */

static bool is_in_rectangle(const plane_global *plane, const float p[3], double extra)
{
    for (int a = 0; a < 2; a++) {
        const double u = plane_along_axis(&plane->fit, a, p, 0);
        const double margin = MARGIN * (plane->high[a] - plane->low[a]) + extra;
        if (u < plane->low[a] - margin || u > plane->high[a] + margin) return false;
    }
    return true;
}

/* True if a seed supports a plane. */
static bool is_on(const plane_global *planes, uint32_t number, const plane_seed *seed, float part)
{
    const plane_global *plane = &planes[number];
    double tolerance = (double)part * (double)seed->depth;
    return fabs(plane_distance(&plane->fit, seed->position)) < tolerance &&
           is_in_rectangle(plane, seed->position, tolerance);
}

/* Seeds on a plane that no earlier candidate of the segment has; whether they spread in two directions. */
static uint32_t count_on(const plane_seed *seeds, const plane_segment *segment, const plane_global *planes,
                         uint32_t candidate, bool *is_spread)
{
    plane_moments m = {0};
    plane_fit fit;
    double depth = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < segment->n_seeds; i++) {
        const plane_seed *s = &seeds[i];
        bool is_new = is_on(planes, candidate, s, segment->tolerance);
        for (int k = 0; k < segment->n_planes && is_new; k++)
            is_new = !is_on(planes, segment->planes[k], s, CLEAR * TOLERANCE);
        if (!is_new) continue;
        if (is_spread) plane_moments_add(&m, s->position, 1);
        depth += (double)s->depth;
        n++;
    }
    if (is_spread)
        *is_spread = plane_fit_make(&m, &fit) && fit.sigma[1] > 0.05 * fit.sigma[0] &&
                     fit.sigma[1] > 0.015 * depth / n;
    return n;
}

/* Strong candidates, whose seeds spread, one after the other; then, in the slots that are left, lines of seeds. */
static void find_candidates(const splat_camera *camera, const plane_seed *seeds, plane_segment *segment,
                            const plane_global *planes, size_t n_planes)
{
    const uint32_t n_seeds = segment->n_seeds;
    uint32_t covered = 0;
    uint32_t least = (uint32_t)(LEAST_PART * n_seeds);
    uint8_t weak[PLANE_MAX_PLANES];
    memset(weak, 0, sizeof weak);
    if (least < LEAST_SEEDS) least = LEAST_SEEDS;
    segment->n_planes = segment->n_strong = 0;
    while (segment->n_planes < PLANE_SLOTS) {
        uint32_t best = 0, n_best = 0;
        bool is_spread;
        for (uint32_t i = 0; i < n_planes; i++) {
            bool counts = !weak[i] && plane_faces(camera, &planes[i].fit);
            uint32_t n = counts ? count_on(seeds, segment, planes, i, NULL) : 0;
            if (n > n_best) {
                n_best = n;
                best = i;
            }
        }
        if (n_best < least) break;
        count_on(seeds, segment, planes, best, &is_spread);
        if (!is_spread) {
            weak[best] = 1;
            continue;
        }
        segment->planes[segment->n_planes++] = (uint16_t)best;
        segment->n_strong++;
        covered += n_best;
    }
    for (uint32_t i = 0; i < n_planes && segment->n_planes < PLANE_SLOTS; i++) {
        plane_segment none = *segment;
        none.n_planes = segment->n_strong;
        uint32_t n = weak[i] ? count_on(seeds, &none, planes, i, NULL) : 0;
        if (n < least) continue;
        segment->planes[segment->n_planes++] = (uint16_t)i;
        if (segment->n_strong == 0 && n > covered) covered = n;
    }
    if (covered < LEAST_COVER * n_seeds || covered < LEAST_RIM * segment->n_rim)
        segment->n_planes = segment->n_strong = 0;
}

/* Seeds that lie on none of the strong candidates may stand in front of them. Those behind speak against: what bounds
 * the segment there would be hidden. */
static bool are_refuted(const splat_camera *c, const plane_seed *seeds, const plane_segment *segment,
                        const plane_global *planes)
{
    uint32_t n_on = 0, n_behind = 0;
    for (uint32_t i = 0; i < segment->n_seeds; i++) {
        const plane_seed *s = &seeds[i];
        bool on = false, behind = true;
        for (int k = 0; k < segment->n_strong; k++) {
            const plane_global *plane = &planes[segment->planes[k]];
            on |= is_on(planes, segment->planes[k], s, segment->tolerance);
            behind &= s->depth > (1 + APART) * plane_depth(c, &plane->fit, s->pixel);
        }
        n_on += on;
        n_behind += !on && behind;
    }
    return (double)n_behind > MOST_BEHIND * n_on;
}

/* Tolerance of a plane. A shape that bends by a good part of its own size is no plane, even if the bend is small
 * against the depth. */
static float tolerance_of(const splat_camera *c, const plane_segment *segment)
{
    float size = sqrtf((float)segment->n_pixels / (c->fx * c->fy)); /* of the depth */
    return fmaxf(fminf(TOLERANCE, BEND * size), LEAST_TOLERANCE);
}

void plane_candidates(const splat_camera *camera, plane_view *view, const plane_global *planes, size_t n_planes)
{
    for (uint32_t i = 0; i < view->n_segments; i++) {
        plane_segment *segment = &view->segments[i];
        const plane_seed *seeds = view->seeds + segment->first_seed;
        segment->n_planes = segment->n_strong = 0;
        segment->tolerance = tolerance_of(camera, segment);
        if (segment->n_seeds < LEAST_SEEDS) continue;
        find_candidates(camera, seeds, segment, planes, n_planes);
        if (segment->n_strong && are_refuted(camera, seeds, segment, planes)) segment->n_planes = segment->n_strong = 0;
    }
}

/* ---------------------------------------------------------------- pixels */

/* How two planes of a segment meet: as the corner of a room, as that of a box, one in front of the other all over, or
 * in no way that the seeds tell. */
typedef enum relation { UNKNOWN, CONCAVE, CONVEX, FIRST_IN_FRONT, SECOND_IN_FRONT } relation;

/* Returns the part of the seeds on one plane but not on the other at which `one` is nearer; -1 if they are few. */
static double part_nearer(const splat_camera *c, const plane_seed *seeds, const plane_segment *segment,
                          const plane_global *planes, uint32_t one, uint32_t other)
{
    uint32_t n_nearer = 0, n_all = 0;
    for (uint32_t i = 0; i < segment->n_seeds; i++) {
        if (!is_on(planes, one, &seeds[i], segment->tolerance)) continue;
        float d = plane_depth(c, &planes[one].fit, seeds[i].pixel);
        float e = plane_depth(c, &planes[other].fit, seeds[i].pixel);
        if (!(fabsf(e - d) > APART * d)) continue;
        n_all++;
        n_nearer += d < e;
    }
    return n_all >= 5 ? (double)n_nearer / n_all : -1;
}

static relation relate(const splat_camera *c, const plane_seed *seeds, const plane_segment *segment,
                       const plane_global *planes, uint32_t a, uint32_t b)
{
    double at_a = part_nearer(c, seeds, segment, planes, a, b), at_b = part_nearer(c, seeds, segment, planes, b, a);
    if (at_a < 0 || at_b < 0) return UNKNOWN;
    if (at_a > 0.8 && at_b > 0.8) return CONCAVE;
    if (at_a < 0.2 && at_b < 0.2) return CONVEX;
    if (at_a > 0.8 && at_b < 0.2) return FIRST_IN_FRONT;
    if (at_a < 0.2 && at_b > 0.8) return SECOND_IN_FRONT;
    return UNKNOWN;
}

typedef struct rule {
    bool is_concave, is_convex; /* all pairs are */
    bool is_front[PLANE_SLOTS]; /* stands before another plane of the segment all over: what it hides is that one's */
} rule;

static rule rule_of(const splat_camera *c, const plane_view *view, const plane_segment *segment,
                    const plane_global *planes)
{
    rule r = {.is_concave = true, .is_convex = true};
    for (int i = 0; i < segment->n_strong; i++)
        for (int j = i + 1; j < segment->n_strong; j++) {
            relation between = relate(c, view->seeds + segment->first_seed, segment, planes, segment->planes[i],
                                      segment->planes[j]);
            if (between != CONCAVE) r.is_concave = false;
            if (between != CONVEX) r.is_convex = false;
            if (between == FIRST_IN_FRONT) r.is_front[i] = true;
            if (between == SECOND_IN_FRONT) r.is_front[j] = true;
        }
    return r;
}

/* The slot of the nearest or farthest plane along the ray, within the rectangles; -1: none. */
static int extreme_slot(const splat_camera *c, const plane_segment *segment, const plane_global *planes, size_t pixel,
                        bool farthest)
{
    int slot = -1;
    float best = 0;
    for (int k = 0; k < segment->n_strong; k++) {
        const plane_global *plane = &planes[segment->planes[k]];
        float position[3], z = plane_depth(c, &plane->fit, pixel);
        if (!(z < INFINITY)) continue;
        splat_camera_unproject(c, (float)(pixel % (size_t)c->width) + 0.5f, (float)(pixel / (size_t)c->width) + 0.5f, z,
                               position);
        if (!is_in_rectangle(plane, position, 0)) continue;
        if (slot >= 0 && (farthest ? z <= best : z >= best)) continue;
        slot = k;
        best = z;
    }
    return slot;
}

/* Slots by the nearest seeds, within segments: work->component of all pixels, -1 where there is none. */
static void spread_slots(const splat_camera *c, const plane_view *view, const plane_global *planes, plane_work *work)
{
    int width = c->width, height = c->height;
    size_t n = splat_camera_pixels(c), head = 0, tail = 0;
    for (size_t i = 0; i < n; i++) work->component[i] = -1;
    for (uint32_t i = 0; i < view->n_seeds; i++) {
        const plane_seed *seed = &view->seeds[i];
        const plane_segment *segment = &view->segments[seed->segment];
        int slot = -1, n_on = 0;
        for (int k = 0; k < segment->n_strong; k++)
            if (is_on(planes, segment->planes[k], seed, segment->tolerance)) {
                slot = k;
                n_on++;
            }
        if (segment->n_strong < 2 || n_on != 1 || work->component[seed->pixel] >= 0) continue;
        work->component[seed->pixel] = slot;
        work->queue[tail++] = (int32_t)seed->pixel;
    }
    while (head < tail) {
        int p = work->queue[head++], x = p % width, y = p / width;
        const int next[4] = {x > 0 ? p - 1 : -1, x + 1 < width ? p + 1 : -1, y > 0 ? p - width : -1,
                             y + 1 < height ? p + width : -1};
        for (int k = 0; k < 4; k++)
            if (next[k] >= 0 && view->labels[next[k]] == view->labels[p] && work->component[next[k]] < 0) {
                work->component[next[k]] = work->component[p];
                work->queue[tail++] = next[k];
            }
    }
}

void plane_assign(const splat_view_map *map, plane_view *view, const plane_global *planes, plane_work *work)
{
    const splat_camera *c = &map->camera;
    size_t n = splat_camera_pixels(c);
    spread_slots(c, view, planes, work);
    rule rules[256];
    for (uint32_t from = 0; from < view->n_segments; from += 256) { /* rules of so many segments at a time */
        uint32_t end = from + 256 < view->n_segments ? from + 256 : view->n_segments;
        for (uint32_t i = from; i < end; i++) rules[i - from] = rule_of(c, view, &view->segments[i], planes);
        for (size_t p = 0; p < n; p++) {
            uint32_t label = view->labels[p], number = (label & PLANE_LABEL_SEGMENT) - 1;
            if (!label || number < from || number >= end || label >> PLANE_LABEL_SHIFT) continue;
            const plane_segment *segment = &view->segments[number];
            const rule *r = &rules[number - from];
            int slot = segment->n_strong == 0   ? -1
                       : segment->n_strong == 1 ? 0
                       : r->is_concave          ? extreme_slot(c, segment, planes, p, false)
                       : r->is_convex           ? extreme_slot(c, segment, planes, p, true)
                                                : work->component[p];
            if (slot < 0 || r->is_front[slot]) continue;
            view->labels[p] = (uint16_t)(label | (uint32_t)(slot + 1) << PLANE_LABEL_SHIFT);
        }
    }
}
