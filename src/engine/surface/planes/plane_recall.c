/* Each round makes all planes again, from seeds that the round before has mended, and may lose a wall that few views
 * support. Of the planes lost, most were wrong; of those that stand square to the scene, few. So they come back for the
 * photos to choose. */
#include "surface/planes/plane_recall.h"

#include "math/vec3.h"
#include "surface/planes/plane_rims.h"
#include "surface/planes/plane_square.h"

#include <stdlib.h>

#define LEAST_PIXELS 0.01 /* of a photo, in all views */
#define SAME 2.0          /* degrees, and */
#define SAME_OFF 0.01     /* of its length: such a plane is there already */
#define CLOSE 5.0         /* degrees, and */
#define CLOSE_OFF 0.15    /* of its length: such a plane may be this one */
#define REACH 5.0         /* pixels from an edge */
#define DEGREE (3.14159265358979 / 180)

void plane_recall_note(const splat_view_maps *maps, const plane_view *views, const plane_global *planes, size_t n,
                       plane_global *lost, size_t *n_lost)
{
    uint64_t counts[PLANE_MAX_PLANES];
    if (!maps->n) return;
    const double least = LEAST_PIXELS * (double)splat_camera_pixels(&maps->views[0].camera);
    plane_pixels_count(maps, views, n, counts);
    for (size_t i = 0; i < n && *n_lost < PLANE_MAX_LOST; i++)
        if ((double)counts[i] > least) lost[(*n_lost)++] = planes[i];
}

static double cosine_of(const plane_global *a, const plane_global *b)
{
    return splat_dot3(a->fit.normal, b->fit.normal);
}

/* How far the middle of a plane is from another one, in lengths of a. */
static double distance_of(const plane_global *a, const plane_global *b)
{
    return fabs(splat_dot3(b->fit.normal, a->fit.centroid) - b->fit.offset) / fmax(a->high[0] - a->low[0], 1e-12);
}

static bool is_there(const plane_global *plane, const plane_global *planes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (cosine_of(plane, &planes[i]) > cos(SAME * DEGREE) && distance_of(plane, &planes[i]) < SAME_OFF)
            return true;
    return false;
}

/* Planes of [0, n_own) that are not square become those of [n_own, n) close to them, where more edges agree. */
static splat_status exchange(const splat_view_maps *maps, const plane_view *views, plane_global *planes, size_t n_own,
                             size_t n, const bool *are_square, int threads, splat_error *error)
{
    plane_rims *rims = plane_rims_make(maps, views, planes, n, threads);
    plane_rim_sums *now = calloc(n + 1, sizeof *now), *then = calloc(n + 1, sizeof *then);
    bool ok = rims && now && then && plane_rims_measure(rims, planes, REACH, now);
    for (size_t i = 0; ok && i < n_own; i++)
        for (size_t k = n_own; ok && k < n && !are_square[i]; k++) {
            if (!(cosine_of(&planes[i], &planes[k]) > cos(CLOSE * DEGREE) &&
                  distance_of(&planes[i], &planes[k]) < CLOSE_OFF))
                continue;
            const plane_global own = planes[i];
            planes[i] = planes[k];
            ok = plane_rims_measure(rims, planes, REACH, then);
            if (ok && then[i].units > now[i].units)
                now[i] = then[i];
            else
                planes[i] = own;
        }
    plane_rims_free(rims);
    free(now);
    free(then);
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the rims of %zu planes", n);
}

splat_status plane_recall(const splat_view_maps *maps, const plane_view *views, plane_global *planes, size_t *n,
                          const plane_global *lost, size_t n_lost, int threads, splat_error *error)
{
    uint64_t counts[PLANE_MAX_PLANES];
    bool own[PLANE_MAX_PLANES], others[PLANE_MAX_LOST]; /* that are square */
    const size_t n_own = *n;
    plane_pixels_count(maps, views, n_own, counts);
    if (!plane_square_mark(planes, n_own, counts, planes, n_own, own) ||
        !plane_square_mark(planes, n_own, counts, lost, n_lost, others))
        return SPLAT_OK;
    for (size_t i = n_lost; i-- > 0 && *n < PLANE_MAX_PLANES;)
        if (others[i] && !is_there(&lost[i], planes, *n)) planes[(*n)++] = lost[i];
    return *n > n_own ? exchange(maps, views, planes, n_own, *n, own, threads, error) : SPLAT_OK;
}
