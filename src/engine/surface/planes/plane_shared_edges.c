/* Plain segments have exact edges on both sides. Texture is no segment, but its depth is good: where it lies on a plane
 * that is known, the edge of a plain segment next to it is shared with that plane. A house stands on a lawn. */
#include "surface/planes/plane_shared_edges.h"

#include "surface/planes/plane_edge.h"

#include "math/camera.h"
#include "math/vec3.h"

#include <math.h>
#include <stdlib.h>

#define MOST_GAP 0.04f      /* of the depth, between both planes along the ray of an edge */
#define LEAST_VIEWS 3u      /* that see two planes meet */
#define SPOT_REACH 0.005    /* of the depth: texture lies on a plane; posters and kerbs are farther off */
#define LEAST_COSINE 0.94   /* 20 degrees between the splat's normal and the plane's */
#define BEYOND 5            /* pixels from the edge, where the splat's depth is the other side's */

/* Views that see two planes meet, and the last of them + 1. */
typedef struct meeting {
    uint32_t n_views, last_view;
} meeting;

typedef struct finder {
    const splat_view_maps *maps;
    const plane_view *views;
    const plane_global *planes;
    size_t n, n_found;
    plane_shared_edge *found;
    meeting *meetings; /* [n][n] */
} finder;

plane_shared_line plane_shared_edge_line(const plane_shared_edge *edge, const plane_fit *a, const plane_fit *b)
{
    const splat_camera *c = edge->camera;
    const plane_fit *fit[2] = {a, b};
    const double x = ((double)edge->x - (double)c->cx) / (double)c->fx;
    const double y = ((double)edge->y - (double)c->cy) / (double)c->fy;
    double right = 0, down = 0;
    plane_shared_line line;
    for (int k = 0; k < 3; k++) {
        line.at[k] = (double)c->center[k];
        line.ray[k] = (double)c->rotation[k] * x + (double)c->rotation[3 + k] * y + (double)c->rotation[6 + k];
    }
    for (int k = 0; k < 2; k++) {
        line.s[k] = splat_dot3(fit[k]->normal, line.at) - fit[k]->offset;
        line.along[k] = splat_dot3(fit[k]->normal, line.ray);
    }
    for (int k = 0; k < 3; k++) {
        const double m = a->normal[k] * line.s[1] - b->normal[k] * line.s[0];
        right += m * (double)c->rotation[k] / (double)c->fx;
        down += m * (double)c->rotation[3 + k] / (double)c->fy;
    }
    line.scale = 1 / (sqrt(right * right + down * down) + 1e-300);
    line.residual = line.scale * (line.s[1] * line.along[0] - line.s[0] * line.along[1]);
    return line;
}

int plane_of_texture(const splat_view_map *map, const plane_view *view, const plane_global *planes, size_t n,
                     size_t pixel, float position[3])
{
    const splat_camera *c = &map->camera;
    const float depth = map->depth[pixel];
    double best = SPOT_REACH * (double)depth;
    float normal[3];
    int found = -1;
    if (!(depth > 0) || (view->labels[pixel] & PLANE_LABEL_SEGMENT)) return -1;
    splat_camera_unproject(c, (float)(pixel % (size_t)c->width) + 0.5f, (float)(pixel / (size_t)c->width) + 0.5f,
                           depth, position);
    splat_normal_decode(map->normal + 2 * pixel, normal);
    for (size_t i = 0; i < n; i++) {
        const plane_fit *fit = &planes[i].fit;
        const double off = fabs(plane_distance(fit, position));
        double cosine = 0;
        for (int k = 0; k < 3; k++) cosine += fit->normal[k] * (double)normal[k];
        if (!(off < best) || cosine < LEAST_COSINE || !plane_faces(c, fit) || !plane_is_inside(&planes[i], position))
            continue;
        best = off;
        found = (int)i;
    }
    return found;
}

/* The plane that a rim's segment shares the rim with, or -1: no texture, or on no plane. */
static int plane_beyond(const finder *f, size_t view, const plane_rim *rim)
{
    const splat_view_map *map = &f->maps->views[view];
    float position[3];
    const long p = plane_rim_step(&map->camera, (int)rim->x, (int)rim->y, rim->out, BEYOND);
    return p < 0 ? -1 : plane_of_texture(map, &f->views[view], f->planes, f->n, (size_t)p, position);
}

/* Adds an edge of a segment's pixel if planes `a` and `b` meet there, and neither ends in front of the other. */
static void add(finder *f, size_t view, int a, int b, float x, float y)
{
    if (a < 0 || b < 0 || a == b) return;
    const splat_camera *c = &f->maps->views[view].camera;
    const plane_fit *one = &f->planes[a].fit, *other = &f->planes[b].fit;
    if (plane_is_parallel(one->normal, other->normal)) return;
    const float z = plane_depth_at(c, one, (double)x, (double)y), w = plane_depth_at(c, other, (double)x, (double)y);
    if (!(z < INFINITY && w < INFINITY && fabsf(w - z) < MOST_GAP * z)) return;
    const int first = a < b ? a : b, second = a < b ? b : a;
    meeting *own = &f->meetings[(size_t)first * f->n + (size_t)second];
    own->n_views += own->last_view != view + 1;
    own->last_view = (uint32_t)view + 1;
    f->found[f->n_found++] = (plane_shared_edge){c, x, y, (uint16_t)first, (uint16_t)second};
}

static void look(finder *f, size_t number)
{
    const plane_view *view = &f->views[number];
    for (uint32_t i = 0; i < view->n_edges; i++) {
        const plane_edge *edge = &view->edges[i];
        add(f, number, plane_of_label(view, view->labels[edge->own]), plane_of_label(view, view->labels[edge->other]),
            edge->x, edge->y);
    }
    for (uint32_t i = 0; i < view->n_rims; i++) {
        const plane_rim *rim = &view->rims[i];
        const int own = plane_of_label(view, view->labels[rim->own]);
        if (own >= 0) add(f, number, own, plane_beyond(f, number, rim), rim->x, rim->y);
    }
}

bool plane_shared_edges_find(const splat_view_maps *maps, const plane_view *views, const plane_global *planes, size_t n,
                             plane_shared_edge **edges, size_t *n_edges)
{
    finder f = {.maps = maps, .views = views, .planes = planes, .n = n};
    size_t most = 0, n_left = 0;
    for (size_t v = 0; v < maps->n; v++) most += views[v].n_edges + views[v].n_rims;
    f.found = malloc((most + 1) * sizeof *f.found);
    f.meetings = calloc(n * n + 1, sizeof *f.meetings);
    const bool ok = f.found && f.meetings;
    for (size_t v = 0; ok && v < maps->n; v++) look(&f, v);
    for (size_t i = 0; i < f.n_found; i++)
        if (f.meetings[f.found[i].a * n + f.found[i].b].n_views >= LEAST_VIEWS) f.found[n_left++] = f.found[i];
    free(f.meetings);
    *edges = f.found;
    *n_edges = n_left;
    return ok;
}
