/* Places that a view shows, and whether another view sees them. */
#include "stereo/view_places.h"

#include "math/sight.h"

#include <math.h>

#define HIDDEN 1.1f /* a place so many times as far as what a view sees there is hidden */

int splat_view_places(const splat_depth_view *view, int grid, float (*places)[3])
{
    const splat_camera *c = view->camera;
    int n = 0;
    for (int j = 0; j < grid; j++)
        for (int i = 0; i < grid; i++) {
            int x = (int)((int64_t)(2 * i + 1) * c->width / (2 * grid));
            int y = (int)((int64_t)(2 * j + 1) * c->height / (2 * grid));
            float z = view->depth[(size_t)y * (size_t)c->width + (size_t)x];
            if (z > 0) splat_camera_unproject(c, (float)x + 0.5f, (float)y + 0.5f, z, places[n++]);
        }
    return n;
}

bool splat_view_sees(const splat_depth_view *view, const float place[3])
{
    float image[3];
    if (!splat_camera_project(view->camera, place, image)) return false;
    float z = view->depth[(size_t)image[1] * (size_t)view->camera->width + (size_t)image[0]];
    return !(z > 0 && image[2] > HIDDEN * z);
}

float splat_view_cosine(const float place[3], const splat_camera *a, const splat_camera *b)
{
    float aa = 0, bb = 0, ab = 0;
    for (int k = 0; k < 3; k++) {
        float u = place[k] - a->center[k], v = place[k] - b->center[k];
        aa += u * u;
        bb += v * v;
        ab += u * v;
    }
    float length = sqrtf(aa * bb);
    return length > 0 ? ab / length : 1;
}
