/* Rims of planes in pairs of photos. The edge around a plain segment lies on its plane only where no part of the
 * neighbour hides some of the plane: a window frame that stands out from a wall hides the wall behind its far side, and
 * touches it on its near one. So an edge counts in photos whose camera stands on the segment's side of it. There a
 * frame's side is seen down to the wall, and an edge in which the surface ends is seen, too. */
#include "surface/planes/plane_rims.h"
#include "math/vec3.h"
#include "surface/planes/plane_parts.h"

#include "math/camera.h"

#include <stdlib.h>
#include <string.h>

#define PARTNERS 16      /* views that a view is compared with, at most */
#define RUN 8.0          /* pixels of a rim that share their error */
#define SIGMA 1.0        /* pixels: of an edge's place */
#define ALIKE 0.85f      /* cosine between the ways out of two rims that are the same edge */
#define BEFORE 0.3       /* weight of an edge that lies before the plane, as something else's may */
#define REACH 2          /* pixels along an edge that a rim's place stands for, to both sides */
#define LEAST_SLOPE 0.1  /* sine of the angle between ray and plane */
#define MARGIN 8         /* pixels from the side of a picture: nearer ones may miss their edge */
#define HIDDEN 0.9       /* of the depth: what a view sees nearer hides the place */

typedef struct rim {
    float x, y, out[2];
    int32_t plane;
} rim;

struct plane_rims {
    const splat_view_maps *maps;
    size_t n, n_partners; /* planes */
    int threads;
    rim *rims;
    size_t *first;        /* [views + 1] */
    size_t largest;       /* pixels of a view */
};

/* True if the camera stands on the segment's side of the edge: m lies in the plane, and its picture points into the
 * segment. */
static bool is_on_own_side(const splat_camera *c, const plane_rim *r, const plane_fit *fit)
{
    double ray[3], m[3], across = 0, along = 0;
    plane_ray(c, (double)r->x, (double)r->y, ray);
    for (int k = 0; k < 3; k++)
        m[k] = -(double)c->rotation[k] * (double)r->out[0] - (double)c->rotation[3 + k] * (double)r->out[1];
    across = splat_dot3(fit->normal, m);
    along = splat_dot3(fit->normal, ray);
    if (!(along * along > LEAST_SLOPE * LEAST_SLOPE * splat_dot3(ray, ray))) return false;
    for (int k = 0; k < 3; k++) m[k] -= across / along * ray[k];
    return splat_dot3(m, ray) < 0;
}

static void take(plane_rims *rims, const plane_view *views, const plane_global *planes)
{
    size_t n = 0;
    for (size_t v = 0; v < rims->maps->n; v++) {
        rims->first[v] = n;
        for (uint32_t i = 0; i < views[v].n_rims; i++) {
            const plane_rim *r = &views[v].rims[i];
            int plane = plane_of_label(&views[v], views[v].labels[r->own]);
            if (plane < 0 || !is_on_own_side(&rims->maps->views[v].camera, r, &planes[plane].fit)) continue;
            rims->rims[n++] = (rim){r->x, r->y, {r->out[0], r->out[1]}, plane};
        }
    }
    rims->first[rims->maps->n] = n;
}

plane_rims *plane_rims_make(const splat_view_maps *maps, const plane_view *views, const plane_global *planes, size_t n,
                            int threads)
{
    plane_rims *rims = calloc(1, sizeof *rims);
    size_t most = 0;
    if (!rims) return NULL;
    *rims = (plane_rims){.maps = maps, .n = n, .threads = threads};
    rims->n_partners = maps->n > PARTNERS ? PARTNERS : maps->n - (maps->n > 0);
    for (size_t v = 0; v < maps->n; v++) {
        size_t pixels = splat_camera_pixels(&maps->views[v].camera);
        most += views[v].n_rims;
        if (pixels > rims->largest) rims->largest = pixels;
    }
    rims->rims = malloc((most + 1) * sizeof *rims->rims);
    rims->first = malloc((maps->n + 1) * sizeof *rims->first);
    if (!rims->rims || !rims->first) {
        plane_rims_free(rims);
        return NULL;
    }
    take(rims, views, planes);
    return rims;
}

void plane_rims_free(plane_rims *rims)
{
    if (!rims) return;
    free(rims->rims);
    free(rims->first);
    free(rims);
}

/* Draws a view's rims, or removes them: index[pixel] is the number of a rim + 1. */
static void draw(const plane_rims *rims, size_t view, bool is_on, uint32_t *index)
{
    const splat_camera *c = &rims->maps->views[view].camera;
    for (size_t i = rims->first[view]; i < rims->first[view + 1]; i++) {
        const rim *r = &rims->rims[i];
        for (int t = -REACH; t <= REACH; t++) {
            int x = (int)floorf(r->x - (float)t * r->out[1]), y = (int)floorf(r->y + (float)t * r->out[0]);
            if (x < 0 || y < 0 || x >= c->width || y >= c->height) continue;
            size_t pixel = (size_t)y * (size_t)c->width + (size_t)x;
            index[pixel] = is_on ? (uint32_t)(i - rims->first[view]) + 1 : 0;
        }
    }
}

/* A place of a plane and what its picture in a camera gains with the place along a ray. */
static bool picture(const splat_camera *c, const double place[3], const double ray[3], double at[2], double gain[2])
{
    double p[3], d[3];
    for (int k = 0; k < 3; k++) {
        p[k] = d[k] = 0;
        for (int j = 0; j < 3; j++) {
            p[k] += (double)c->rotation[3 * k + j] * (place[j] - (double)c->center[j]);
            d[k] += (double)c->rotation[3 * k + j] * ray[j];
        }
    }
    if (!(p[2] > 1e-6)) return false;
    at[0] = (double)c->fx * p[0] / p[2] + (double)c->cx;
    at[1] = (double)c->fy * p[1] / p[2] + (double)c->cy;
    gain[0] = (double)c->fx * (d[0] - p[0] / p[2] * d[2]) / p[2];
    gain[1] = (double)c->fy * (d[1] - p[1] / p[2] * d[2]) / p[2];
    return at[0] >= 0 && at[1] >= 0 && at[0] < c->width && at[1] < c->height;
}

/* The place at which the ray through a place of the picture meets the plane. */
static bool meet(const splat_camera *c, const plane_fit *fit, double x, double y, double ray[3], double place[3])
{
    plane_ray(c, x, y, ray);
    double along = splat_dot3(fit->normal, ray), z = plane_distance_of_camera(c, fit) / along;
    if (!(z > 1e-6 && z < 1e9 && along * along > LEAST_SLOPE * LEAST_SLOPE * splat_dot3(ray, ray))) return false;
    for (int k = 0; k < 3; k++) place[k] = (double)c->center[k] + z * ray[k];
    return true;
}

/* The rim of the same plane next to a place, across its edge. */
static const rim *nearest(const plane_rims *rims, size_t view, const uint32_t *index, const double at[2],
                          const double out[2], int32_t plane, double cut)
{
    const splat_camera *c = &rims->maps->views[view].camera;
    for (int t = 0; t <= (int)cut; t++)
        for (int sign = -1; sign <= (t ? 1 : -1); sign += 2) {
            int x = (int)floor(at[0] + sign * t * out[0]), y = (int)floor(at[1] + sign * t * out[1]);
            if (x < 0 || y < 0 || x >= c->width || y >= c->height) continue;
            uint32_t number = index[(size_t)y * (size_t)c->width + (size_t)x];
            if (!number) continue;
            const rim *r = &rims->rims[rims->first[view] + number - 1];
            if (r->plane == plane && r->out[0] * (float)out[0] + r->out[1] * (float)out[1] > ALIKE) return r;
        }
    return NULL;
}

/* The way across an edge of camera c's picture that lies on a plane, in the picture of camera d. *wide: pixels there of
 * a pixel across the edge. */
static bool way_across(const splat_camera *c, const splat_camera *d, const plane_fit *fit, const rim *r,
                       const double at[2], double out[2], double *wide)
{
    double ray[3], place[3], gain[2], beside[2], beyond[2];
    const double x = (double)r->x, y = (double)r->y, out_x = (double)r->out[0], out_y = (double)r->out[1];
    if (!meet(c, fit, x - out_y, y + out_x, ray, place) || !picture(d, place, ray, beside, gain) ||
        !meet(c, fit, x + out_x, y + out_y, ray, place) || !picture(d, place, ray, beyond, gain))
        return false;
    out[0] = beside[1] - at[1];
    out[1] = at[0] - beside[0];
    double length = sqrt(out[0] * out[0] + out[1] * out[1]);
    if (!(length > 1e-3)) return false;
    if (out[0] * (beyond[0] - at[0]) + out[1] * (beyond[1] - at[1]) < 0) length = -length;
    for (int k = 0; k < 2; k++) out[k] /= length;
    *wide = out[0] * (beyond[0] - at[0]) + out[1] * (beyond[1] - at[1]);
    return true;
}

/* True if a view must show an edge at a place of its picture: the place is not next to its side, nor hidden there. */
static bool is_shown(const plane_rims *rims, size_t view, const double place[3], const double at[2])
{
    const splat_view_map *map = &rims->maps->views[view];
    const splat_camera *c = &map->camera;
    double z = 0;
    if (at[0] < MARGIN || at[1] < MARGIN || at[0] > c->width - MARGIN || at[1] > c->height - MARGIN) return false;
    for (int k = 0; k < 3; k++) z += (double)c->rotation[6 + k] * (place[k] - (double)c->center[k]);
    const float depth = map->depth[(size_t)at[1] * (size_t)c->width + (size_t)at[0]];
    return !(depth > 0 && (double)depth < HIDDEN * z);
}

/* Adds one rim of `from` in the picture of `to`. An edge of the plane's segment is its own or that of something before
 * it, never of what is behind: what says that the plane is nearer counts less. */
static void compare(const plane_rims *rims, const plane_global *planes, size_t from, const rim *r, size_t to,
                    const uint32_t *index, double cut, plane_rim_sums *sums)
{
    const splat_camera *c = &rims->maps->views[from].camera, *d = &rims->maps->views[to].camera;
    const plane_fit *fit = &planes[r->plane].fit;
    plane_rim_sums *own = &sums[r->plane];
    double ray[3], place[3], at[2], gain[2], out[2], wide, rows[3];
    if (!plane_faces(d, fit) || !meet(c, fit, (double)r->x, (double)r->y, ray, place) ||
        !picture(d, place, ray, at, gain) || !way_across(c, d, fit, r, at, out, &wide))
        return;
    const rim *same = nearest(rims, to, index, at, out, r->plane, cut);
    own->n_asked += same || is_shown(rims, to, place, at);
    if (!same) return;
    own->n_met++;
    const double residual = out[0] * (at[0] - (double)same->x) + out[1] * (at[1] - (double)same->y), q = residual / cut;
    const double variance = SIGMA * SIGMA * (1 + wide * wide);
    double weight = q * q < 1 ? (1 - q * q) * (1 - q * q) : 0;
    weight /= variance * RUN * (double)rims->n_partners;
    own->units += weight;
    const double moves = (out[0] * gain[0] + out[1] * gain[1]) / splat_dot3(fit->normal, ray);
    for (int k = 0; k < 2; k++)
        rows[k] = moves * (splat_dot3(fit->axes[k], fit->centroid) - splat_dot3(fit->axes[k], place));
    rows[2] = moves;
    if (residual * rows[2] < 0) weight *= BEFORE;
    for (int k = 0; k < 3; k++) {
        own->vector[k] -= weight * rows[k] * residual;
        for (int j = 0; j < 3; j++) own->matrix[k][j] += weight * rows[k] * rows[j];
    }
}

static void measure_view(const plane_rims *rims, const plane_global *planes, size_t to, uint32_t *index, double cut,
                         plane_rim_sums *sums)
{
    draw(rims, to, true, index);
    for (size_t k = 0; k < rims->n_partners; k++) {
        size_t from = (to + 1 + k * (rims->maps->n - 1) / rims->n_partners) % rims->maps->n;
        for (size_t i = rims->first[from]; i < rims->first[from + 1]; i++)
            compare(rims, planes, from, &rims->rims[i], to, index, cut, sums);
    }
    draw(rims, to, false, index);
}

bool plane_rims_measure(const plane_rims *rims, const plane_global *planes, double cut, plane_rim_sums *sums)
{
    const size_t n_views = rims->maps->n;
    bool is_short = false;
    plane_rim_sums *parts = calloc(n_views * rims->n + 1, sizeof *parts);
    if (!parts) return false;
#pragma omp parallel num_threads(rims->threads)
    {
        uint32_t *index = calloc(rims->largest + 1, sizeof *index);
        if (!index) {
#pragma omp atomic write
            is_short = true;
        }
#pragma omp for schedule(dynamic, 1)
        for (size_t v = 0; v < n_views; v++)
            if (index) measure_view(rims, planes, v, index, cut, parts + v * rims->n);
        free(index);
    }
    memset(sums, 0, rims->n * sizeof *sums);
    for (size_t v = 0; v < n_views; v++) /* in the order of the views, for any number of threads */
        for (size_t i = 0; i < rims->n; i++) {
            const plane_rim_sums *part = &parts[v * rims->n + i];
            for (int k = 0; k < 3; k++) {
                sums[i].vector[k] += part->vector[k];
                for (int j = 0; j < 3; j++) sums[i].matrix[k][j] += part->matrix[k][j];
            }
            sums[i].units += part->units;
            sums[i].n_asked += part->n_asked;
            sums[i].n_met += part->n_met;
        }
    free(parts);
    return !is_short;
}
