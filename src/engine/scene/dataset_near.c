/* The nearest depth of each view: half of the depth that one in a thousand of the points in its picture lies before
 * (docs/method.md 10.2). */
#include "scene/dataset_near.h"

#include "base/select.h"

#include <stdatomic.h>
#include <stdlib.h>

#define NEAR_SHARE 0.5f      /* of the nearest depth that is trusted: the space before half of it is taken to be free */
#define NEAR_QUANTILE 1000   /* one in so many points may be an error of matching */
#define MOST_POINTS 1000000  /* evenly spread over the list; more points give the same quantile, later */

/* The depth of a point in the picture of a camera; false: behind the camera, or outside of the picture. */
static bool depth_in(const splat_camera *c, const float p[3], float *depth)
{
    const float *r = c->rotation, *t = c->translation;
    const float z = r[6] * p[0] + r[7] * p[1] + r[8] * p[2] + t[2];
    if (!(z > 0)) return false;
    const float u = c->fx * (r[0] * p[0] + r[1] * p[1] + r[2] * p[2] + t[0]) + c->cx * z;
    const float v = c->fy * (r[3] * p[0] + r[4] * p[1] + r[5] * p[2] + t[1]) + c->cy * z;
    *depth = z;
    return u >= 0 && v >= 0 && u <= (float)c->width * z && v <= (float)c->height * z;
}

/* depths: room for the points asked. */
static float near_depth(const splat_dataset *dataset, const splat_camera *camera, size_t stride, float *depths)
{
    size_t n = 0;
    for (size_t i = 0; i < dataset->n_points; i += stride)
        n += depth_in(camera, dataset->points[i].position, &depths[n]);
    if (n < SPLAT_NEAR_LEAST_POINTS) return 0;
    return NEAR_SHARE * splat_select_float(depths, n, n / NEAR_QUANTILE);
}

splat_status splat_dataset_find_near_depths(splat_dataset *dataset, splat_error *error)
{
    const size_t stride = dataset->n_points / MOST_POINTS + 1;
    atomic_bool failed = false;
    if (dataset->random_points) return SPLAT_OK;
#pragma omp parallel
    {
        float *depths = malloc((dataset->n_points / stride + 1) * sizeof *depths);
        if (!depths) failed = true;
#pragma omp for schedule(dynamic, 1)
        for (size_t v = 0; v < dataset->n_views; v++)
            if (depths)
                dataset->views[v].near_depth = near_depth(dataset, &dataset->views[v].camera, stride, depths);
        free(depths);
    }
    return failed ? splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the depths of %zu points", dataset->n_points)
                  : SPLAT_OK;
}
