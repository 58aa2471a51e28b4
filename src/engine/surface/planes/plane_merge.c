/* Planes of single segments become planes of the scene: those that several views, looking from different sides, have in
 * common, fitted to the seeds of all of them. The outline of something round lies in a plane too, but in another one
 * for each view. */
#include "surface/planes/plane_merge.h"

#include "surface/planes/plane_fit.h"
#include "surface/planes/plane_parts.h"

#include <stdlib.h>
#include <string.h>

#define ANGLE 5.0         /* degrees between the normals of one plane */
#define OFFSET 0.015      /* of the reach */
#define LEAST_VIEWS 3u    /* that support a plane, */
#define LEAST_TURN 10.0   /* degrees between the views that support a plane */
#define LEAST_SUPPORT 12u /* seeds of a segment */
#define SUPPORT 0.008     /* of the reach */
#define BEND 0.03         /* of the smaller spread: the most that a seed is off */
#define MOST_LEADERS 6000
#define N_PASSES 5
#define DEGREE (3.14159265358979 / 180)

typedef struct merger {
    const splat_view_maps *maps;
    plane_view *views;
    plane_hypothesis **all; /* [n], those with the most seeds first */
    uint32_t *members;      /* of the plane in work: into all */
    uint32_t n, n_members;
    uint8_t *sees;          /* [views] */
} merger;

static int by_seeds(const void *a, const void *b)
{
    const plane_hypothesis *p = *(plane_hypothesis *const *)a, *q = *(plane_hypothesis *const *)b;
    if (p->n_seeds != q->n_seeds) return p->n_seeds > q->n_seeds ? -1 : 1;
    if (p->view != q->view) return p->view < q->view ? -1 : 1;
    if (p->segment != q->segment) return p->segment < q->segment ? -1 : 1;
    return p < q ? -1 : p > q; /* of one array */
}

static bool is_near(const merger *m, const plane_fit *plane, const plane_hypothesis *h, double degrees, double offset)
{
    const float *center = m->maps->views[h->view].camera.center;
    double cosine = 0, distance = -plane->offset, sight[3];
    for (int k = 0; k < 3; k++) {
        cosine += plane->normal[k] * h->fit.normal[k];
        distance += plane->normal[k] * h->fit.centroid[k];
        sight[k] = h->fit.centroid[k] - (double)center[k];
    }
    return cosine > cos(degrees * DEGREE) && fabs(distance) < offset * plane_reach(plane->normal, sight, h->depth);
}

/* The hypotheses without a plane that lie on this one; how many views they come from. */
static uint32_t gather(merger *m, const plane_fit *plane)
{
    uint32_t n_views = 0;
    m->n_members = 0;
    memset(m->sees, 0, m->maps->n);
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->all[i]->plane >= 0 || !is_near(m, plane, m->all[i], ANGLE, OFFSET)) continue;
        m->members[m->n_members++] = i;
        n_views += !m->sees[m->all[i]->view];
        m->sees[m->all[i]->view] = 1;
    }
    return n_views;
}

static double tolerance_of(const plane_fit *fit, double reach, double part)
{
    return fmin(part * reach, BEND * fit->sigma[1]);
}

/* Tukey's weights over squared errors: a depth's grows with its square, and moves a seed off the plane by the reach. */
static bool fit_once(const merger *m, double part, plane_fit *fit)
{
    plane_moments moments = {0};
    double mean = 0;
    for (uint32_t i = 0; i < m->n_members; i++) mean += m->all[m->members[i]]->depth / m->n_members;
    for (uint32_t i = 0; i < m->n_members; i++) {
        const plane_hypothesis *h = m->all[m->members[i]];
        const plane_view *view = &m->views[h->view];
        const plane_segment *segment = &view->segments[h->segment];
        for (uint32_t k = 0; k < segment->n_seeds; k++) {
            const plane_seed *seed = &view->seeds[segment->first_seed + k];
            const double reach = plane_seed_reach(fit->normal, seed, m->maps->views[h->view].camera.center);
            double q = plane_distance(fit, seed->position) / tolerance_of(fit, reach, part);
            double sure = mean * mean / ((double)seed->depth * reach);
            double weight = (1 - q * q) * (1 - q * q) * sure * sure;
            if (q * q < 1) plane_moments_add(&moments, seed->position, weight);
        }
    }
    const double front[3] = {fit->normal[0], fit->normal[1], fit->normal[2]};
    if (!plane_fit_make(&moments, fit)) return false;
    if (fit->normal[0] * front[0] + fit->normal[1] * front[1] + fit->normal[2] * front[2] < 0) plane_turn(fit);
    return true;
}

/* Seeds of a member that support the plane. */
static uint32_t support_of(const merger *m, const plane_hypothesis *h, plane_global *plane, double *sum)
{
    const plane_view *view = &m->views[h->view];
    const plane_segment *segment = &view->segments[h->segment];
    uint32_t n = 0;
    for (uint32_t k = 0; k < segment->n_seeds; k++) {
        const plane_seed *seed = &view->seeds[segment->first_seed + k];
        double d = fabs(plane_distance(&plane->fit, seed->position));
        const double reach = plane_seed_reach(plane->fit.normal, seed, m->maps->views[h->view].camera.center);
        if (!(d < tolerance_of(&plane->fit, reach, SUPPORT))) continue;
        n++;
        *sum += d;
        plane_rectangle_add(plane, seed->position);
    }
    return n;
}

static double angle_between(const splat_camera *a, const splat_camera *b, const double place[3])
{
    double dot = 0, la = 0, lb = 0;
    for (int k = 0; k < 3; k++) {
        double x = (double)a->center[k] - place[k], y = (double)b->center[k] - place[k];
        dot += x * y;
        la += x * x;
        lb += y * y;
    }
    return acos(fmin(fmax(dot / (sqrt(la * lb) + 1e-300), -1), 1)) / DEGREE;
}

/* The largest angle between views that support the plane, as seen from one of its places; at least half of it. */
static double turn_of(const merger *m, const double place[3])
{
    size_t from = 0;
    double most = 0;
    while (from < m->maps->n && !m->sees[from]) from++;
    for (int pass = 0; pass < 2; pass++) {
        size_t farthest = from;
        for (size_t i = 0; i < m->maps->n; i++) {
            if (!m->sees[i]) continue;
            double angle = angle_between(&m->maps->views[from].camera, &m->maps->views[i].camera, place);
            if (angle > most) {
                most = angle;
                farthest = i;
            }
        }
        from = farthest;
    }
    return most;
}

static uint32_t least_views(const merger *m)
{
    return m->maps->n < PLANE_FEW_VIEWS ? LEAST_VIEWS - 1 : LEAST_VIEWS;
}

/* True if the members support the plane; computes its rectangle and residual. */
static bool is_supported(merger *m, const plane_hypothesis *leader, plane_global *plane)
{
    double sum = 0;
    uint64_t n = 0;
    memset(m->sees, 0, m->maps->n);
    plane->n_views = 0;
    plane_rectangle_clear(plane);
    for (uint32_t i = 0; i < m->n_members; i++) {
        const plane_hypothesis *h = m->all[m->members[i]];
        uint32_t n_own = support_of(m, h, plane, &sum);
        n += n_own;
        if (n_own < LEAST_SUPPORT || 10 * n_own < m->views[h->view].segments[h->segment].n_seeds) continue;
        plane->n_views += !m->sees[h->view];
        m->sees[h->view] = 1;
    }
    plane->residual = n ? sum / (double)n : 0;
    return plane->n_views >= least_views(m) && turn_of(m, leader->fit.centroid) >= LEAST_TURN;
}

static bool grow_plane(merger *m, const plane_hypothesis *leader, plane_global *plane)
{
    static const double parts[N_PASSES] = {0.02, 0.015, 0.01, 0.007, 0.005};
    memset(plane, 0, sizeof *plane);
    plane->fit = leader->fit;
    if (gather(m, &plane->fit) < least_views(m)) return false;
    for (int pass = 0; pass < N_PASSES; pass++) {
        if (!fit_once(m, parts[pass], &plane->fit)) return false;
        if (pass < 2 && gather(m, &plane->fit) < least_views(m)) return false;
    }
    return is_supported(m, leader, plane);
}

static splat_status make_merger(const splat_view_maps *maps, plane_view *views, merger *m, splat_error *error)
{
    *m = (merger){.maps = maps, .views = views};
    for (size_t i = 0; i < maps->n; i++) m->n += views[i].n_hypotheses;
    m->all = malloc(((size_t)m->n + 1) * sizeof *m->all);
    m->members = malloc(((size_t)m->n + 1) * sizeof *m->members);
    m->sees = malloc(maps->n + 1);
    uint32_t n = 0;
    for (size_t i = 0; m->all && i < maps->n; i++)
        for (uint32_t k = 0; k < views[i].n_hypotheses; k++) {
            views[i].hypotheses[k].plane = -1;
            m->all[n++] = &views[i].hypotheses[k];
        }
    if (m->all && m->members && m->sees) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the planes of %u plain segments", m->n);
}

splat_status plane_merge(const splat_view_maps *maps, plane_view *views, plane_global *planes, size_t *n,
                         splat_error *error)
{
    merger m;
    uint32_t n_tried = 0;
    splat_status status = make_merger(maps, views, &m, error);
    *n = 0;
    if (status == SPLAT_OK) qsort(m.all, m.n, sizeof *m.all, by_seeds);
    for (uint32_t i = 0; status == SPLAT_OK && i < m.n && n_tried < MOST_LEADERS && *n < PLANE_MAX_PLANES; i++) {
        if (m.all[i]->plane >= 0) continue;
        n_tried++;
        if (!grow_plane(&m, m.all[i], &planes[*n])) continue;
        for (uint32_t k = i; k < m.n; k++)
            if (m.all[k]->plane < 0 && is_near(&m, &planes[*n].fit, m.all[k], ANGLE + 2, 1.5 * OFFSET))
                m.all[k]->plane = (int32_t)*n;
        m.all[i]->plane = (int32_t)*n;
        ++*n;
    }
    free(m.all);
    free(m.members);
    free(m.sees);
    return status;
}
