/* Seeds have the splat's depth, which is poor next to plain regions. The edge between two surfaces lies on both, so the
 * plane that is known tells where the edge is. */
#include "surface/planes/plane_settle_seeds.h"

#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_seen.h"

#include "math/camera.h"

#include <stdlib.h>

#define NEAR 0.04f /* of the depth: farther off the splat shows something else */

splat_status plane_settle_seeds(const plane_shade *shade, plane_view *view, const plane_global *planes, size_t number,
                               splat_error *error)
{
    const splat_camera *c = &shade->maps->views[number].camera;
    const size_t n = splat_camera_pixels(c);
    uint32_t *seed_at = calloc(n, sizeof *seed_at); /* number + 1 */
    if (!seed_at) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the seeds of %zu pixels", n);
    for (uint32_t i = 0; i < view->n_seeds; i++) seed_at[view->seeds[i].pixel] = i + 1;
    for (uint32_t i = 0; i < view->n_edges; i++) {
        const plane_edge *edge = &view->edges[i];
        const uint32_t at = seed_at[edge->own];
        plane_slant slant;
        const int plane = at ? plane_shown(shade, (uint32_t)number, edge->other, &slant) : -1;
        if (plane < 0) continue;
        plane_seed *seed = &view->seeds[at - 1];
        const float z = plane_depth_at(c, &planes[plane].fit, (double)edge->x, (double)edge->y);
        if (fabsf(z - seed->depth) < NEAR * z) plane_seed_put(seed, c, edge->x, edge->y, z);
    }
    free(seed_at);
    return SPLAT_OK;
}
