/* Sites on a plane, the cost of a place of the plane, and the place of least cost: first along the normal, then all
 * unknowns by turns with steps that become smaller (a pattern search, Hooke and Jeeves 1961), as the cost is rough. */
#include "surface/planes/plane_agree.h"

#include "math/camera.h"
#include "math/vec3.h"
#include "surface/planes/plane_anchors.h"
#include "surface/planes/plane_fit.h"
#include "surface/planes/plane_follow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ACROSS 40       /* sites along the longer side of a picture */
#define MOST_SITES 600u /* of a plane */
#define LEAST_VIEWS 8   /* that say something of a plane */
#define LEAST_SURE 3.75 /* standard errors of the mean gain of a view. Walls that are off have 3.9 to 8, planes that
                           are right up to 3.5 */
#define LEAST_LEFT 0.6  /* of the places that the splat has on the plane. Walls that are off keep 0.67 or more; a floor
                           in which lights are mirrored, so that shading shows it too low, keeps 0.05 to 0.4 */
#define STEP 0.004      /* of the mean depth: between places along the normal, */
#define STEPS 12        /* both ways; the least step is a quarter */
#define MOST_ROUNDS 8   /* of one step */

/* A pixel that has a plane. */
typedef struct plane_pixel {
    uint32_t view, x, y;
} plane_pixel;

typedef struct agreement {
    const plane_shade *shade;
    const plane_fit *fit; /* where the plane was */
    plane_site *sites;    /* [n], view by view */
    float *costs;         /* [n] there */
    size_t n;
    float noise;
    double depth, middle[3], spread[2]; /* means of the sites; spread: along the axes */
} agreement;

/* ---------------------------------------------------------------- sites */

/* The plane of a pixel of the grid, or -1. */
static int plane_at(const plane_shade *shade, const plane_pixel *at)
{
    const plane_view *view = &shade->views[at->view];
    const size_t width = (size_t)shade->maps->views[at->view].camera.width;
    return plane_of_label(view, view->labels[at->y * width + at->x]);
}

/* Lists the pixels of a grid in every picture, plane by plane: those of plane p begin at first[p]. Returns NULL if
 * memory is exhausted. first: [n + 1]. */
static plane_pixel *list_pixels(const plane_shade *shade, size_t n, size_t *first)
{
    const size_t room = shade->maps->n * (ACROSS + 1) * (ACROSS + 1) + 1;
    plane_pixel *all = malloc(room * sizeof *all), *sorted = malloc(room * sizeof *sorted);
    size_t n_all = 0;
    memset(first, 0, (n + 1) * sizeof *first);
    for (uint32_t v = 0; v < shade->maps->n && all && sorted; v++) {
        const splat_camera *c = &shade->maps->views[v].camera;
        const uint32_t width = (uint32_t)c->width, height = (uint32_t)c->height;
        const uint32_t step = (width > height ? width : height) / ACROSS + 1;
        for (uint32_t y = step / 2; y < height; y += step)
            for (uint32_t x = step / 2; x < width; x += step) {
                all[n_all] = (plane_pixel){v, x, y};
                const int plane = plane_at(shade, &all[n_all]);
                if (plane < 0) continue;
                first[plane + 1]++;
                n_all++;
            }
    }
    for (size_t p = 0; p < n; p++) first[p + 1] += first[p];
    for (size_t i = n_all; i-- > 0 && sorted;) sorted[--first[plane_at(shade, &all[i]) + 1]] = all[i];
    memmove(first, first + 1, n * sizeof *first);
    first[n] = n_all;
    free(all);
    return sorted;
}

/* INFINITY: too few views say something. */
static float cost_of(const agreement *a, const plane_fit *fit, const plane_site *site)
{
    plane_slant slant;
    if (!plane_shade_slant(&a->shade->maps->views[site->view].camera, fit, site->x, site->y, &slant)) return INFINITY;
    return logf(1 + plane_shade_residual(a->shade, site, &slant) / a->noise);
}

static void place_of(const agreement *a, size_t i, float place[3], float *depth)
{
    const plane_site *site = &a->sites[i];
    const splat_camera *c = &a->shade->maps->views[site->view].camera;
    *depth = plane_depth_at(c, a->fit, (double)site->x, (double)site->y);
    splat_camera_unproject(c, site->x, site->y, *depth, place);
}

/* Takes every so many-th pixel, where the plane says something, and measures the sites. */
static void take_sites(agreement *a, const plane_pixel *pixels, size_t n)
{
    const size_t most = n < MOST_SITES ? n : MOST_SITES;
    float place[3], depth;
    for (size_t i = 0; i < most; i++) {
        const plane_pixel *at = &pixels[i * n / most];
        plane_site *site = &a->sites[a->n];
        plane_slant slant;
        *site = (plane_site){.view = at->view, .x = (float)at->x + 0.5f, .y = (float)at->y + 0.5f};
        if (!plane_shade_slant(&a->shade->maps->views[at->view].camera, a->fit, site->x, site->y, &slant)) continue;
        plane_shade_look(a->shade, &slant, site);
        a->costs[a->n] = cost_of(a, a->fit, site);
        a->n += a->costs[a->n] < INFINITY;
    }
    for (size_t i = 0; i < a->n; i++) {
        place_of(a, i, place, &depth);
        a->depth += (double)depth / (double)a->n;
        for (int k = 0; k < 3; k++) a->middle[k] += (double)place[k] / (double)a->n;
    }
    for (int axis = 0; axis < 2; axis++) {
        const double from = splat_dot3(a->fit->axes[axis], a->fit->centroid) -
                            splat_dot3(a->fit->axes[axis], a->middle);
        double sum = 0;
        for (size_t i = 0; i < a->n; i++) {
            place_of(a, i, place, &depth);
            const double u = plane_along_axis(a->fit, axis, place, from);
            sum += u * u;
        }
        a->spread[axis] = sqrt(sum / (double)a->n) + 1e-3 * a->depth;
    }
}

/* ---------------------------------------------------------------- the least cost */

/* The plane turned about the middle of its sites, so that these move by x[0] and x[1] at their spread, and shifted by
 * x[2]. */
static plane_fit moved_by(const agreement *a, const double x[3])
{
    plane_fit fit = *a->fit;
    plane_fit_move(&fit, (const double[3]){x[0] / a->spread[0], x[1] / a->spread[1], 0});
    const double shift = splat_dot3(fit.normal, a->middle) + x[2] - fit.offset;
    plane_fit_move(&fit, (const double[3]){0, 0, shift});
    return fit;
}

/* The gain of site i if the plane goes there from its own place; 0: too few views say something. */
static double gain_of(const agreement *a, const plane_fit *there, size_t i)
{
    const float cost = cost_of(a, there, &a->sites[i]);
    return cost < INFINITY ? (double)(a->costs[i] - cost) : 0;
}

static double gain_at(const agreement *a, const double x[3])
{
    const plane_fit fit = moved_by(a, x);
    double sum = 0;
    for (size_t i = 0; i < a->n; i++) sum += gain_of(a, &fit, i);
    return sum;
}

/* Takes a place if it gains more than the best. */
static bool try_place(const agreement *a, const double from[3], int unknown, double step, double best[3], double *gain)
{
    double x[3] = {from[0], from[1], from[2]};
    x[unknown] += step;
    const double now = gain_at(a, x);
    if (!(now > *gain)) return false;
    memcpy(best, x, sizeof x);
    *gain = now;
    return true;
}

/* Moves x, whose first unknowns stay. */
static void search(const agreement *a, int first, double x[3])
{
    const double most = STEP * a->depth;
    double gain = gain_at(a, x);
    for (double step = most; step > most / 8; step *= 0.5) {
        bool is_better = true;
        for (int round = 0; round < MOST_ROUNDS && is_better; round++) {
            is_better = false;
            for (int k = first; k < 3; k++)
                is_better |= try_place(a, x, k, step, x, &gain) || try_place(a, x, k, -step, x, &gain);
        }
    }
}

/* The mean gain of the views in its standard errors; 0: there are too few views. */
static double sureness(const agreement *a, const double from[3], const double to[3])
{
    const plane_fit old = moved_by(a, from), new = moved_by(a, to);
    double sum = 0, square = 0;
    size_t n = 0;
    for (size_t i = 0; i < a->n; n++) {
        const uint32_t view = a->sites[i].view;
        double own = 0;
        for (; i < a->n && a->sites[i].view == view; i++) own += gain_of(a, &new, i) - gain_of(a, &old, i);
        sum += own;
        square += own * own;
    }
    if (n < LEAST_VIEWS) return 0;
    const double mean = sum / (double)n, variance = (square / (double)n - mean * mean) / (double)(n - 1);
    return mean > 0 ? mean / sqrt(variance + 1e-12) : 0;
}

/* True if most sites have a small residual there: a larger one says nothing, as of gloss. */
static bool is_fair(const agreement *a, const double x[3])
{
    const plane_fit fit = moved_by(a, x);
    size_t n_fair = 0;
    for (size_t i = 0; i < a->n; i++) n_fair += cost_of(a, &fit, &a->sites[i]) < logf(1 + PLANE_FAIR);
    return 2 * n_fair > a->n;
}

/* The place that views agree on. */
static plane_fit agree(const agreement *a)
{
    const double own[3] = {0};
    double shifted[3] = {0}, turned[3], gain = 0;
    for (int k = -STEPS; k <= STEPS; k++) try_place(a, own, 2, k * STEP * a->depth, shifted, &gain);
    search(a, 2, shifted);
    if (!(fabs(shifted[2]) < (STEPS - 0.5) * STEP * a->depth)) return *a->fit; /* farther off, if at all */
    if (!is_fair(a, shifted) || !(sureness(a, own, shifted) >= LEAST_SURE)) return *a->fit;
    memcpy(turned, shifted, sizeof turned);
    search(a, 0, turned);
    return moved_by(a, sureness(a, shifted, turned) >= LEAST_SURE ? turned : shifted);
}

/* Moves all planes. False: memory is exhausted. */
static bool move_all(const plane_shade *shade, plane_global *planes, size_t n, float noise, int threads)
{
    size_t *first = malloc((n + 1) * sizeof *first);
    plane_pixel *pixels = first ? list_pixels(shade, n, first) : NULL;
    bool ok = pixels;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) reduction(&& : ok)
    for (size_t p = 0; p < (pixels ? n : 0); p++) {
        const plane_fit fit = planes[p].fit;
        agreement a = {.shade = shade, .fit = &fit, .noise = noise};
        a.sites = malloc((MOST_SITES + 1) * sizeof *a.sites);
        a.costs = malloc((MOST_SITES + 1) * sizeof *a.costs);
        ok = ok && a.sites && a.costs;
        if (a.sites && a.costs) take_sites(&a, pixels + first[p], first[p + 1] - first[p]);
        if (a.n) planes[p].fit = agree(&a);
        free(a.sites);
        free(a.costs);
    }
    free(first);
    free(pixels);
    return ok;
}

/* Counts the places that the splat has on each plane. */
static splat_status count_places(const plane_shade *shade, const plane_global *planes, size_t n, int threads,
                                 size_t counts[PLANE_MAX_PLANES], splat_error *error)
{
    plane_anchors anchors;
    const splat_status status = plane_anchors_make(shade->maps, shade->views, planes, n, threads, &anchors, error);
    if (status == SPLAT_OK) memcpy(counts, anchors.counts, n * sizeof *counts);
    plane_anchors_free(&anchors);
    return status;
}

static void swap_fits(plane_global *planes, plane_fit *fits, size_t n)
{
    for (size_t p = 0; p < n; p++) {
        const plane_fit fit = planes[p].fit;
        planes[p].fit = fits[p];
        fits[p] = fit;
    }
}

splat_status plane_agree(const plane_shade *shade, plane_global *planes, size_t n, float noise, int threads,
                         splat_error *error)
{
    plane_fit fits[PLANE_MAX_PLANES]; /* where the planes were, and then where they are to be */
    size_t before[PLANE_MAX_PLANES], after[PLANE_MAX_PLANES];
    bool is_any = false;
    for (size_t p = 0; p < n; p++) fits[p] = planes[p].fit;
    if (!move_all(shade, planes, n, noise, threads))
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for places of %zu planes", n);
    for (size_t p = 0; p < n; p++) is_any |= memcmp(&fits[p], &planes[p].fit, sizeof fits[p]) != 0;
    if (!is_any) return SPLAT_OK;
    SPLAT_TRY(count_places(shade, planes, n, threads, after, error));
    swap_fits(planes, fits, n);
    SPLAT_TRY(count_places(shade, planes, n, threads, before, error));
    for (size_t p = 0; p < n; p++)
        if (!((double)after[p] < LEAST_LEFT * (double)before[p])) planes[p].fit = fits[p];
    return SPLAT_OK;
}
