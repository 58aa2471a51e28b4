/* The depth of seeds is the splat's, and two views of one splat agree on a wrong plane. Photos do not: mapped over a
 * plane that is not there, the edges around a plain segment do not meet those of the next photo. */
#include "surface/planes/plane_confirm.h"
#include "surface/planes/plane_rims.h"

#include <stdlib.h>

#define REACH 5.0      /* pixels from an edge, of planes that do not agree with the edges yet */
#define LEAST_MET 0.1  /* of the places of a plane's rims in other photos: these have an edge there */
#define SURE_VIEWS 3u  /* planes that so many views support need no more */

splat_status plane_confirm(const splat_view_maps *maps, plane_view *views, plane_global *planes, size_t *n, int threads,
                           splat_error *error)
{
    size_t n_doubted = 0;
    for (size_t i = 0; i < *n; i++) n_doubted += planes[i].n_views < SURE_VIEWS;
    if (n_doubted == 0) return SPLAT_OK;
    plane_rims *rims = plane_rims_make(maps, views, planes, *n, threads);
    plane_rim_sums *sums = calloc(*n + 1, sizeof *sums);
    int32_t *numbers = malloc((*n + 1) * sizeof *numbers);
    const bool ok = rims && sums && numbers && plane_rims_measure(rims, planes, REACH, sums);
    size_t n_left = 0;
    for (size_t i = 0; ok && i < *n; i++) {
        const bool is_met = planes[i].n_views >= SURE_VIEWS ||
                            (double)sums[i].n_met > LEAST_MET * (double)sums[i].n_asked;
        numbers[i] = is_met ? (int32_t)n_left : -1;
        if (is_met) planes[n_left++] = planes[i];
    }
    for (size_t v = 0; ok && v < maps->n; v++)
        for (uint32_t i = 0; i < views[v].n_hypotheses; i++) {
            plane_hypothesis *h = &views[v].hypotheses[i];
            if (h->plane >= 0) h->plane = numbers[h->plane];
        }
    if (ok) *n = n_left;
    plane_rims_free(rims);
    free(sums);
    free(numbers);
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the rims of %zu planes", *n);
}
