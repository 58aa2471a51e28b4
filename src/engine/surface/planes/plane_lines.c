/* Lines at which known planes end. A plain ceiling has no edges except those towards the walls, and its pixels next
 * to a wall have the worst depth. Where the wall's plane is known the edge's place is, too: both surfaces have it.
 * That holds where they meet; the outline of what stands in front of the wall falls onto it elsewhere in every view. */
#include "surface/planes/plane_lines.h"
#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_seeds.h"

#include "math/camera.h"

#include <stdlib.h>
#include <string.h>

#define REACH 14         /* pixels from a segment to the next, at most: twice as far as to its edge */
#define DEEP 32          /* pixels into the next, at most, to one that has a plane */
#define INWARDS 3        /* pixels from the rim, where depth is the segment's own */
#define MOST_STEP 0.6f   /* of the depth, between the plane and the segment's own, which may be anything */
#define MOST_GAP 0.03f   /* the same where the segment has a plane */
#define LEAST_STEEP 0.3f /* the sine of the angle at which a ray meets the plane: along it depth says little */
#define AROUND 6         /* pixels around the line's place in another view */
#define MOST_OFF 1.5f    /* pixels, of the edge there */
#define LEAST_AGREE 2u   /* views that see the plane end there */
#define SAME 0.015       /* of the depth, between a plane and what became of it */
#define BEFORE 0.9f      /* of the depth: what is nearer hides the line */

typedef struct liner {
    const splat_view_maps *maps;
    const plane_view *views;
    const plane_global *planes;
    const splat_view_map *map;
    const plane_view *view;
    plane_seed *lines;
    uint32_t n;
} liner;

/* Its segment + 1; 0: none, or outside of the picture. */
static uint32_t segment_at(const plane_view *view, long pixel)
{
    return pixel < 0 ? 0 : view->labels[pixel] & PLANE_LABEL_SEGMENT;
}

/* True if pixels of a label show the plane. Includes pixels of a segment with seeds on this plane that no plane was
 * assigned to. */
static bool shows(const plane_view *view, uint32_t label, int plane)
{
    if (!label || label >> PLANE_LABEL_SHIFT) return label && plane_of_label(view, label) == plane;
    const plane_segment *segment = &view->segments[label - 1];
    for (int k = 0; k < segment->n_strong; k++)
        if (segment->planes[k] == plane) return true;
    return false;
}

typedef enum verdict { NEUTRAL, AGREES, CONTRADICTS } verdict;

/* Another view agrees where the edge between the plane and something plain passes through the place: as many pixels
 * around it show the one as the other then, and an edge that is a pixel off changes that by two rows of the window. A
 * plane that is not where the surface is puts the same edge elsewhere in every view. */
static verdict ask(const liner *l, size_t other, const plane_seed *seed)
{
    const splat_camera *c = &l->maps->views[other].camera;
    const plane_view *view = &l->views[other];
    float image[3];
    if (!splat_camera_project(c, seed->position, image) || !plane_faces(c, &l->planes[seed->line - 1].fit))
        return NEUTRAL;
    int x = (int)image[0], y = (int)image[1], n_plane = 0, n_plain = 0;
    uint32_t last = UINT32_MAX;
    bool on_plane = false;
    if (x < AROUND || y < AROUND || x + AROUND >= c->width || y + AROUND >= c->height) return NEUTRAL;
    float depth = l->maps->views[other].depth[(size_t)y * (size_t)c->width + (size_t)x];
    if (depth > 0 && depth < BEFORE * image[2]) return NEUTRAL;
    for (int j = -AROUND; j <= AROUND; j++)
        for (int i = -AROUND; i <= AROUND; i++) {
            size_t p = (size_t)(y + j) * (size_t)c->width + (size_t)(x + i);
            if (view->labels[p] != last) on_plane = shows(view, last = view->labels[p], seed->line - 1);
            n_plane += on_plane;
            n_plain += !on_plane && view->labels[p];
        }
    if (n_plane == 0) return NEUTRAL;
    if (n_plane == (2 * AROUND + 1) * (2 * AROUND + 1)) return CONTRADICTS;
    if (n_plain == 0) return NEUTRAL;
    return abs(n_plane - n_plain) <= (int)(2 * (2 * AROUND + 1) * MOST_OFF) ? AGREES : CONTRADICTS;
}

static bool is_confirmed(const liner *l, size_t own, const plane_seed *seed)
{
    uint32_t n_agree = 0, n_against = 0;
    for (size_t i = 0; i < l->maps->n; i++) {
        verdict v = i == own ? NEUTRAL : ask(l, i, seed);
        n_agree += v == AGREES;
        n_against += v == CONTRADICTS;
    }
    return n_agree >= LEAST_AGREE && n_agree > n_against;
}

/* How steeply the ray to a place meets a plane: the sine of the angle between them. */
static float steepness(const liner *l, int plane, float x, float y, float z)
{
    const splat_camera *c = &l->map->camera;
    const plane_fit *fit = &l->planes[plane].fit;
    float at[3];
    double along = 0, length = 0;
    if (!(z < INFINITY)) return 0;
    splat_camera_unproject(c, x, y, z, at);
    for (int k = 0; k < 3; k++) {
        double d = (double)at[k] - (double)c->center[k];
        along += d * fit->normal[k];
        length += d * d;
    }
    return (float)(fabs(along) / sqrt(length + 1e-300));
}

/* From a pixel of the rim that has no plane over the edge to a pixel of another segment that has one; the edge is half
 * way, as both segments end at the same gradient. */
static void look(void *user, int x, int y, const float direction[2])
{
    liner *l = user;
    const splat_camera *c = &l->map->camera;
    size_t own = (size_t)y * (size_t)c->width + (size_t)x;
    uint32_t label = l->view->labels[own] & PLANE_LABEL_SEGMENT, other = 0;
    long inner = plane_rim_step(c, x, y, direction, -INWARDS);
    int t = 0, plane = -1, own_plane = plane_of_label(l->view, l->view->labels[own]);
    if (own_plane < 0 && !plane_segment_is_open(&l->view->segments[label - 1])) return;
    while (t < REACH && (!other || other == label))
        other = segment_at(l->view, plane_rim_step(c, x, y, direction, ++t));
    if (!other || other == label) return;
    for (int k = t; k <= t + DEEP && plane < 0; k++) { /* next to a poor plane of the first round there may be none */
        long there = plane_rim_step(c, x, y, direction, k);
        if (segment_at(l->view, there) == other) plane = plane_of_label(l->view, l->view->labels[there]);
    }
    if (plane < 0) return;
    float px = (float)x + 0.5f + direction[0] * 0.5f * (float)t, py = (float)y + 0.5f + direction[1] * 0.5f * (float)t;
    float z = plane_depth_at(c, &l->planes[plane].fit, px, py), inside = inner < 0 ? 0 : l->map->depth[inner];
    float steep = steepness(l, plane, px, py, z);
    if (steep < LEAST_STEEP) return;
    if (own_plane >= 0) {
        inside = plane_depth_at(c, &l->planes[own_plane].fit, px, py);
        if (steep < steepness(l, own_plane, px, py, z)) return;
        if (plane_is_parallel(l->planes[plane].fit.normal, l->planes[own_plane].fit.normal)) return;
    }
    if (!(z < INFINITY) || (inside > 0 && !(fabsf(inside - z) < (own_plane < 0 ? MOST_STEP : MOST_GAP) * z))) return;
    plane_seed *seed = &l->lines[l->n++];
    *seed = (plane_seed){.pixel = (uint32_t)own, .segment = (uint16_t)(label - 1), .line = (uint16_t)(plane + 1)};
    plane_seed_put(seed, c, px, py, z);
}

/* Seeds of the splat where a line is, too, are doubted. */
static void doubt(plane_view *view)
{
    for (uint32_t i = 0; i + 1 < view->n_seeds; i++) {
        plane_seed *seed = &view->seeds[i];
        const plane_seed *next = &view->seeds[i + 1];
        if (!seed->line && next->line && next->segment == seed->segment && next->pixel == seed->pixel)
            seed->line = PLANE_SEED_DOUBTED;
    }
}

/* Seeds as they were without lines. */
static void forget(plane_view *view)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < view->n_seeds; i++) {
        if (view->seeds[i].line && view->seeds[i].line != PLANE_SEED_DOUBTED) continue;
        view->seeds[n] = view->seeds[i];
        view->seeds[n++].line = 0;
    }
    view->n_seeds = n;
    plane_seeds_sort(view);
}

splat_status plane_lines_make(const splat_view_maps *maps, plane_view *views, size_t number,
                              const plane_global *planes, splat_error *error)
{
    plane_view *view = &views[number];
    size_t most = PLANE_SEGMENT_SEEDS * (size_t)view->n_segments;
    liner l = {maps, views, planes, &maps->views[number], view, malloc((most + 1) * sizeof *l.lines), 0};
    if (!l.lines)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the lines of %u plain segments", view->n_segments);
    splat_status status = plane_rims_visit(&l.map->camera, view, look, &l, error);
    uint32_t n = 0;
    forget(view);
    for (uint32_t i = 0; status == SPLAT_OK && i < l.n; i++)
        if (is_confirmed(&l, number, &l.lines[i])) l.lines[n++] = l.lines[i];
    plane_seed *more = n ? realloc(view->seeds, ((size_t)view->n_seeds + n) * sizeof *more) : NULL;
    if (more) {
        view->seeds = more;
        memcpy(more + view->n_seeds, l.lines, n * sizeof *more);
        view->n_seeds += n;
        plane_seeds_sort(view);
        doubt(view);
    } else if (n)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %u lines of planes", n);
    free(l.lines);
    return status;
}

void plane_lines_rename(plane_view *view, const plane_global *before, const plane_global *planes, size_t n_planes)
{
    for (uint32_t i = 0; i < view->n_seeds; i++) {
        plane_seed *seed = &view->seeds[i];
        if (!plane_seed_is_line(seed)) continue;
        double nearest = SAME * (double)seed->depth;
        const plane_fit *old = &before[seed->line - 1].fit;
        seed->line = PLANE_LINE_LOST;
        for (size_t k = 0; k < n_planes; k++) {
            double distance = fabs(plane_distance(&planes[k].fit, seed->position));
            if (!(distance < nearest) || !plane_is_parallel(old->normal, planes[k].fit.normal)) continue;
            nearest = distance;
            seed->line = (uint16_t)(k + 1);
        }
    }
}
