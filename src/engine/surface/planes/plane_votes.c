/* Views vote about the cells of planes: one that sees surface there, one that sees through to something behind. What
 * only the outline of an occluder makes of a plane is seen through by others. */
#include "surface/planes/plane_votes.h"

#include "surface/planes/plane_parts.h"

#include "base/checked.h"
#include "math/camera.h"

#include <stdlib.h>
#include <string.h>

#define BEHIND 1.03f   /* times the depth */
#define LEAST_IS 1u    /* views that see a cell as surface */
#define LEAST_THROUGH 2u
#define THROUGH_PART 0.5f /* of the views that see it as surface */
#define ADOPT_STRIDE 3
#define ADOPT_SEED 0.02f  /* of the depth: seeds on the surface */
#define ADOPT_DEPTH 0.15f /* of the depth: pixels like the surface */
#define ADOPT_PART 0.6f   /* of the pixels, of the seeds */
#define ADOPT_FEW 12u     /* seeds */
#define ADOPT_RIM 0.25f   /* of the rim */
#define ADOPT_ALIKE 0.3f  /* of the pixels, where seeds speak for the surface */

size_t plane_cell(const plane_global *plane, const float position[3])
{
    size_t at[2];
    for (int a = 0; a < 2; a++) {
        const double u = plane_along_axis(&plane->fit, a, position, -plane->low[a]) / plane->cell;
        if (!(u >= 0 && u < (double)plane->n_cells[a])) return SIZE_MAX;
        at[a] = (size_t)u;
    }
    return plane->first_cell + at[1] * plane->n_cells[0] + at[0];
}

/* The cell of a plane that the ray through a pixel meets at depth z. */
static size_t cell_of(const splat_camera *c, const plane_global *plane, size_t pixel, float z)
{
    float position[3];
    splat_camera_unproject(c, (float)(pixel % (size_t)c->width) + 0.5f, (float)(pixel / (size_t)c->width) + 0.5f, z,
                           position);
    return plane_cell(plane, position);
}

size_t plane_lay_cells(plane_global *p, size_t first)
{
    for (int a = 0; a < 2; a++) {
        double margin = 0.1 * (p->high[a] - p->low[a]);
        p->low[a] -= margin;
        p->high[a] += margin;
    }
    double sides[2] = {p->high[0] - p->low[0], p->high[1] - p->low[1]};
    p->cell = fmax(fmax(sides[0], sides[1]) / PLANE_CELLS, 1e-9);
    for (int a = 0; a < 2; a++) p->n_cells[a] = (uint32_t)(sides[a] / p->cell) + 1;
    p->first_cell = first;
    return first + (size_t)p->n_cells[0] * p->n_cells[1];
}

/* Marks the cells that a view sees (1) and sees through (2). distances[n_planes]: work. */
static void look(const splat_view_map *map, const plane_view *view, const plane_global *planes, size_t n_planes,
                 int stride, double *distances, uint8_t *seen)
{
    const splat_camera *c = &map->camera;
    for (size_t i = 0; i < n_planes; i++) distances[i] = plane_distance_of_camera(c, &planes[i].fit);
    for (int y = 0; y < c->height; y += stride)
        for (int x = 0; x < c->width; x += stride) {
            size_t p = (size_t)y * (size_t)c->width + (size_t)x, cell, own = SIZE_MAX;
            uint32_t label = view->labels[p], slot = label >> PLANE_LABEL_SHIFT;
            float depth = label ? 0 : map->depth[p];
            double ray[3];
            if (slot) {
                own = view->segments[(label & PLANE_LABEL_SEGMENT) - 1].planes[slot - 1];
                depth = plane_depth(c, &planes[own].fit, p);
                if (!(depth < INFINITY) || (cell = cell_of(c, &planes[own], p, depth)) == SIZE_MAX) continue;
                seen[cell] |= 1;
            }
            if (!(depth > 0)) continue;
            plane_ray(c, (double)x + 0.5, (double)y + 0.5, ray);
            for (size_t i = 0; i < n_planes; i++) {
                float z = i == own ? INFINITY : plane_depth_along(&planes[i].fit, ray, distances[i]);
                if (depth > BEHIND * z && (cell = cell_of(c, &planes[i], p, z)) != SIZE_MAX) seen[cell] |= 2;
            }
        }
}

splat_status plane_votes_make(const splat_view_maps *maps, const plane_view *views, plane_global *planes,
                              size_t n_planes, int stride, int threads, plane_votes *votes, splat_error *error)
{
    size_t n = 0;
    bool is_short = false;
    for (size_t i = 0; i < n_planes; i++) n = plane_lay_cells(&planes[i], n);
    *votes = (plane_votes){n, calloc(n + 1, sizeof *votes->is), calloc(n + 1, sizeof *votes->through)};
    if (votes->is && votes->through) {
#pragma omp parallel num_threads(threads)
        {
            uint8_t *seen = malloc(n + 1);
            double *distances = malloc((n_planes + 1) * sizeof *distances);
            if (!seen || !distances) {
#pragma omp atomic write
                is_short = true;
            }
#pragma omp for schedule(dynamic, 1)
            for (size_t v = 0; v < maps->n; v++) {
                if (!seen || !distances) continue;
                memset(seen, 0, n);
                look(&maps->views[v], &views[v], planes, n_planes, stride, distances, seen);
                for (size_t i = 0; i < n; i++) {
                    if (seen[i] & 1) {
#pragma omp atomic
                        votes->is[i]++;
                    }
                    if (seen[i] & 2) {
#pragma omp atomic
                        votes->through[i]++;
                    }
                }
            }
            free(seen);
            free(distances);
        }
        if (!is_short) return SPLAT_OK;
    }
    plane_votes_free(votes);
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu cells of planes", n);
}

void plane_votes_free(plane_votes *votes)
{
    free(votes->is);
    free(votes->through);
    memset(votes, 0, sizeof *votes);
}

/* True if views see through a cell. */
static bool is_open(const plane_votes *votes, size_t cell)
{
    return votes->through[cell] >= LEAST_THROUGH &&
           (float)votes->through[cell] > THROUGH_PART * (float)votes->is[cell];
}

static bool is_surface(const plane_votes *votes, size_t cell)
{
    return cell != SIZE_MAX && votes->is[cell] >= LEAST_IS && !is_open(votes, cell);
}

/* The candidate whose surface the ray meets first; its slot or -1. Adopted planes have what no view speaks against. */
static int first_surface(const splat_camera *c, const plane_segment *segment, const plane_global *planes,
                         const plane_votes *votes, size_t pixel)
{
    int slot = -1;
    float best = INFINITY;
    for (int k = 0; k < segment->n_planes; k++) {
        const plane_global *plane = &planes[segment->planes[k]];
        float z = plane_depth(c, &plane->fit, pixel);
        if (!(z < best)) continue;
        size_t cell = cell_of(c, plane, pixel, z);
        if (!is_surface(votes, cell) && (segment->n_strong || cell == SIZE_MAX || is_open(votes, cell))) continue;
        best = z;
        slot = k;
    }
    return slot;
}

/* ---------------------------------------------------------------- segments without seeds of their own */

typedef struct adoption {
    uint32_t n_looked, n_meets, n_alike; /* pixels; those that meet surface; those whose depth is like it */
} adoption;

/* The plane whose surface the ray of a pixel meets first, of all; -1: none. *depth: there. Of planes on which the
 * segment's seeds are a line also those cells are surface that no view says anything of. */
static int first_of_all(const splat_camera *c, const plane_segment *lines, const plane_global *planes, size_t n_planes,
                        const plane_votes *votes, size_t pixel, float *depth)
{
    int first = -1;
    double ray[3];
    *depth = INFINITY;
    plane_ray(c, (double)(pixel % (size_t)c->width) + 0.5, (double)(pixel / (size_t)c->width) + 0.5, ray);
    for (size_t i = 0; i < n_planes; i++) {
        if (!plane_faces(c, &planes[i].fit)) continue;
        float z = plane_depth_along(&planes[i].fit, ray, plane_distance_of_camera(c, &planes[i].fit));
        if (!(z < *depth)) continue;
        size_t cell = cell_of(c, &planes[i], pixel, z);
        bool is_line = false;
        for (int k = 0; k < lines->n_planes; k++) is_line |= lines->planes[k] == i;
        if (!is_surface(votes, cell) && (!is_line || cell == SIZE_MAX || is_open(votes, cell))) continue;
        *depth = z;
        first = (int)i;
    }
    return first;
}

/* The vote of a segment's seeds about the first surface. */
typedef enum opinion { SILENT, REFUSES, ACCEPTS, INSISTS } opinion;

/* Most of a segment's seeds lie on the first surface, or do not; few say nothing. They insist where they are on much of
 * the rim: then the depth of what is plain, which may be anything, is not asked. */
static opinion ask_seeds(const splat_camera *c, const plane_view *view, const plane_segment *segment,
                         const plane_global *planes, size_t n_planes, const plane_votes *votes)
{
    uint32_t n_on = 0, n_seeds = 0;
    for (uint32_t i = 0; i < segment->n_seeds; i++) {
        const plane_seed *seed = &view->seeds[segment->first_seed + i];
        float z;
        n_seeds++;
        if (first_of_all(c, segment, planes, n_planes, votes, seed->pixel, &z) >= 0)
            n_on += fabsf(seed->depth - z) < ADOPT_SEED * z;
    }
    if (n_seeds < ADOPT_FEW) return SILENT;
    if ((float)n_on < ADOPT_PART * (float)n_seeds) return REFUSES;
    return n_on >= 2 * ADOPT_FEW && (float)n_on >= ADOPT_RIM * (float)segment->n_rim ? INSISTS : ACCEPTS;
}

void plane_adopt(const splat_view_map *map, plane_view *view, const plane_global *planes, size_t n_planes,
                 const plane_votes *votes)
{
    const splat_camera *c = &map->camera;
    for (uint32_t s = 0; s < view->n_segments; s++) {
        plane_segment *segment = &view->segments[s];
        adoption a = {0};
        if (segment->n_strong) continue;
        const plane_segment lines = *segment;
        opinion seeds = ask_seeds(c, view, segment, planes, n_planes, votes);
        segment->n_planes = 0;
        if (seeds == REFUSES) continue;
        for (int y = 0; y < c->height; y += ADOPT_STRIDE)
            for (int x = 0; x < c->width; x += ADOPT_STRIDE) {
                size_t p = (size_t)y * (size_t)c->width + (size_t)x;
                float z;
                if (view->labels[p] != s + 1) continue;
                int first = first_of_all(c, &lines, planes, n_planes, votes, p, &z), slot = 0;
                a.n_looked++;
                if (first < 0) continue;
                a.n_meets++;
                a.n_alike += !(map->depth[p] > 0) || fabsf(map->depth[p] - z) < ADOPT_DEPTH * z;
                while (slot < segment->n_planes && segment->planes[slot] != first) slot++;
                if (slot == segment->n_planes && slot < PLANE_SLOTS)
                    segment->planes[segment->n_planes++] = (uint16_t)first;
            }
        float alike = seeds == SILENT ? ADOPT_PART : seeds == ACCEPTS ? ADOPT_ALIKE : 0;
        if (a.n_meets < ADOPT_PART * (float)a.n_looked || a.n_alike < alike * (float)a.n_meets) segment->n_planes = 0;
    }
}

/* ---------------------------------------------------------------- pixels */

void plane_settle(const splat_view_map *map, plane_view *view, const plane_global *planes, const plane_votes *votes)
{
    const splat_camera *c = &map->camera;
    size_t n = splat_camera_pixels(c);
    for (uint32_t i = 0; i < view->n_segments; i++) view->segments[i].n_taken = 0;
    for (size_t p = 0; p < n; p++) {
        uint32_t label = view->labels[p], slot = label >> PLANE_LABEL_SHIFT;
        if (!label) continue;
        plane_segment *segment = &view->segments[(label & PLANE_LABEL_SEGMENT) - 1];
        int settled = -1;
        if (slot) {
            const plane_global *plane = &planes[segment->planes[slot - 1]];
            float z = plane_depth(c, &plane->fit, p);
            size_t cell = z < INFINITY ? cell_of(c, plane, p, z) : SIZE_MAX;
            if (cell != SIZE_MAX && !is_open(votes, cell)) settled = (int)slot - 1;
        }
        if (settled < 0 && segment->n_planes) settled = first_surface(c, segment, planes, votes, p);
        segment->n_taken += settled >= 0;
        view->labels[p] = (uint16_t)((label & PLANE_LABEL_SEGMENT) | (uint32_t)(settled + 1) << PLANE_LABEL_SHIFT);
    }
}
