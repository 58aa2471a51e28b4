/* Depths of the cells of a segment by a sweep, and rounds of searching near the smooth surface through them. */
#include "surface/planes/plane_follow.h"

#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_sweep.h"

#include "math/camera.h"

#include <math.h>
#include <stdlib.h>

#define DECISIVE 0.1f        /* of the depth: the error of a place that shading found */
#define LEAST_SIGMA 0.002f   /* of such a depth */
#define SEED_SIGMA 0.05f     /* of the rim's depth */
#define PLANE_SIGMA 0.004f   /* of a plane's */
#define RAW_SIGMA 0.1f       /* of the splat's depth */
#define ROUNDS 3             /* of the search near the smooth surface */
#define EDGE 1.1f            /* depths so near to the ends of the range may lie beyond them */
#define WIDEN 1.5f           /* the range of the depths that are known */
#define GUESSED 0.03f        /* a depth that shading found without a start, and not again */

/* Looks for the depth of a place near a hypothesis, at factors of the depth. */
static void search(const plane_chooser *o, plane_follow_cell *own, const plane_slant *slant, const float *factors,
                   int n)
{
    float r[16];
    int best = 0;
    plane_shade_look(o->shade, slant, &own->site);
    for (int k = 0; k < n; k++) {
        plane_slant moved = {slant->q / factors[k], slant->right / factors[k], slant->down / factors[k]};
        r[k] = plane_shade_residual(o->shade, &own->site, &moved);
        if (r[k] < r[best]) best = k;
    }
    own->is_found = false;
    if (own->known.sigma < GUESSED) own->known.sigma = GUESSED;
    if (best == 0 || best == n - 1 || !(r[best] < INFINITY)) return;
    float slope[2] = {0, 0}, a = logf(factors[best]);
    for (int k = 0; k < n; k++) {
        float apart = fabsf(logf(factors[k]) - a), s = r[k] < INFINITY ? (r[k] - r[best]) / apart : 0;
        int to = k > best;
        if (k != best && s > slope[to]) slope[to] = s;
    }
    float least = fminf(slope[0], slope[1]);
    if (!(least > 0)) return;
    float sigma = (r[best] + o->noise) / least;
    float before = logf(factors[best - 1]) - a, after = logf(factors[best + 1]) - a;
    if (!(sigma < DECISIVE && slant->q > EDGE * o->least && slant->q * EDGE < o->most)) return;
    /* the parabola through the least and its neighbours */
    float p = (r[best - 1] - r[best]) / before, q = (r[best + 1] - r[best]) / after, bend = (q - p) / (after - before);
    float shift = bend > 0 && bend < INFINITY ? -(p - bend * before) / (2 * bend) : 0;
    shift = fminf(fmaxf(shift, 0.7f * before), 0.7f * after);
    own->known = (plane_known){own->site.x, own->site.y, slant->q / (factors[best] * expf(shift)),
                               fmaxf(sigma, LEAST_SIGMA)};
    own->is_found = true;
}

static void add_known(plane_chooser *o, float x, float y, float q, float sigma)
{
    o->known[o->n_known++] = (plane_known){x, y, q, sigma};
}

static void add_seeds(plane_chooser *o)
{
    for (uint32_t i = 0; i < o->segment->n_seeds; i++) {
        const plane_seed *seed = &o->view->seeds[o->segment->first_seed + i];
        float image[3];
        if (splat_camera_project(&o->map->camera, seed->position, image))
            add_known(o, image[0], image[1], 1 / image[2], SEED_SIGMA);
    }
}

/* Collects what is known of the segment: seeds, and of each cell the shading, else a plane that the photos support,
 * else what the splat has. */
static void gather(plane_chooser *o)
{
    o->n_known = 0;
    add_seeds(o);
    for (size_t i = 0; i < o->n_cells; i++) {
        const plane_follow_cell *own = &o->cells[i];
        plane_slant slant;
        if (own->pixel == UINT32_MAX) continue;
        if (own->known.sigma > 0)
            add_known(o, own->known.x, own->known.y, own->known.q, own->known.sigma);
        else if (own->slot >= 0 && own->planes[own->slot] < PLANE_FAIR * o->noise &&
                 plane_shade_slant(&o->map->camera, &o->planes[o->candidates[own->slot]].fit, own->site.x,
                                   own->site.y, &slant))
            add_known(o, own->site.x, own->site.y, slant.q, PLANE_SIGMA);
        else if (o->map->depth[own->pixel] > 0)
            add_known(o, own->site.x, own->site.y, 1 / o->map->depth[own->pixel], RAW_SIGMA);
    }
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Finds the range of depths that seeds and the splat say, widened. */
static bool find_range(plane_chooser *o)
{
    float *q = malloc((o->n_known + 1) * sizeof *q);
    size_t n = 0;
    if (!q) return false;
    for (size_t i = 0; i < o->n_known; i++) q[n++] = o->known[i].q;
    qsort(q, n, sizeof *q, by_value);
    if (n) {
        o->least = q[n / 50] / WIDEN;
        o->most = q[n - 1 - n / 50] * WIDEN;
    }
    free(q);
    return n > 0;
}

/* Inverse depths of all cells by the sweep. */
static splat_status sweep(plane_chooser *o, splat_error *error)
{
    gather(o);
    if (!find_range(o)) return SPLAT_OK;
    plane_sweep_cell *cells = calloc(o->n_cells + 1, sizeof *cells);
    if (!cells) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu cells", o->n_cells);
    for (size_t i = 0; i < o->n_cells; i++)
        cells[i] = (plane_sweep_cell){.x = o->cells[i].site.x, .y = o->cells[i].site.y,
                                      .is_in = o->cells[i].pixel != UINT32_MAX};
    for (uint32_t i = 0; i < o->segment->n_seeds; i++) {
        const plane_seed *seed = &o->view->seeds[o->segment->first_seed + i];
        uint32_t width = (uint32_t)o->map->camera.width;
        int x = (int)(seed->pixel % width), y = (int)(seed->pixel / width);
        size_t at = (size_t)((y - o->smooth.top) / o->smooth.step) * o->columns +
                    (size_t)((x - o->smooth.left) / o->smooth.step);
        cells[at].rim = 1 / seed->depth;
    }
    splat_status status = plane_sweep(o->shade, o->number, cells, o->columns, o->n_cells / o->columns, o->least,
                                      o->most, o->noise, error);
    for (size_t i = 0; i < o->n_cells && status == SPLAT_OK; i++)
        if (cells[i].is_in) o->cells[i].known = (plane_known){cells[i].x, cells[i].y, cells[i].q, cells[i].sigma};
    free(cells);
    return status;
}

splat_status plane_follow(plane_chooser *o, bool *is_fitted, splat_error *error)
{
    static const float factors[ROUNDS][11] = {
        {0.85f, 0.91f, 0.95f, 0.98f, 1, 1.02f, 1.05f, 1.1f, 1.17f},
        {0.92f, 0.96f, 0.98f, 0.99f, 1, 1.01f, 1.02f, 1.04f, 1.08f},
        {0.95f, 0.98f, 0.99f, 1, 1.01f, 1.02f, 1.05f},
    };
    static const int n_factors[ROUNDS] = {9, 9, 7};
    SPLAT_TRY(sweep(o, error));
    gather(o);
    SPLAT_TRY(plane_smooth_fit(&o->smooth, o->known, o->n_known, is_fitted, error));
    for (int round = 0; round < ROUNDS && *is_fitted; round++) {
        for (size_t i = 0; i < o->n_cells; i++) {
            plane_follow_cell *own = &o->cells[i];
            plane_slant slant;
            if (own->pixel != UINT32_MAX && plane_smooth_at(&o->smooth, own->site.x, own->site.y, &slant))
                search(o, own, &slant, factors[round], n_factors[round]);
        }
        gather(o);
        SPLAT_TRY(plane_smooth_fit(&o->smooth, o->known, o->n_known, is_fitted, error));
    }
    return SPLAT_OK;
}
