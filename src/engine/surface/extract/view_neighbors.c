/* Which training views see the same places from other sides. */
#include "surface/extract/view_maps.h"

#define GRID 16              /* places looked at: GRID x GRID pixels of each view */
#define SMALL_ANGLE 2.0f     /* degrees: below, a view tells little that is new */
#define GOOD_ANGLE 12.0f     /* up to here a place looks the same */
#define LARGEST_ANGLE 45.0f
#define HIDDEN 1.1f          /* a place so many times as far as what the other view sees there is hidden */
#define LEAST_SHARE 0.05f    /* of the places, with full marks, for a neighbour */
#define DEGREES 57.29577951f

/* Of one place, between the rays of two views. */
static float marks(const float place[3], const splat_camera *a, const splat_camera *b)
{
    float aa = 0, bb = 0, ab = 0;
    for (int k = 0; k < 3; k++) {
        float u = place[k] - a->center[k], v = place[k] - b->center[k];
        aa += u * u;
        bb += v * v;
        ab += u * v;
    }
    float length = sqrtf(aa * bb), cosine = length > 0 ? ab / length : 1;
    float angle = acosf(cosine > 1 ? 1 : cosine < -1 ? -1 : cosine) * DEGREES;
    if (angle < SMALL_ANGLE) return angle * angle / (SMALL_ANGLE * SMALL_ANGLE);
    if (angle <= GOOD_ANGLE) return 1;
    return angle <= LARGEST_ANGLE ? GOOD_ANGLE / angle : 0;
}

/* Places of a view, at most one in each cell of the grid. */
static int find_places(const splat_view_map *view, float places[GRID * GRID][3])
{
    const splat_camera *c = &view->camera;
    int n = 0;
    for (int j = 0; j < GRID; j++)
        for (int i = 0; i < GRID; i++) {
            int x = (int)((int64_t)(2 * i + 1) * c->width / (2 * GRID));
            int y = (int)((int64_t)(2 * j + 1) * c->height / (2 * GRID));
            float z = view->depth[(size_t)y * (size_t)c->width + (size_t)x];
            if (z > 0) splat_camera_unproject(c, (float)x + 0.5f, (float)y + 0.5f, z, places[n++]);
        }
    return n;
}

static float compare(const splat_view_map *view, const splat_view_map *other, float places[GRID * GRID][3], int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++) {
        float image[3];
        if (!splat_camera_project(&other->camera, places[i], image)) continue;
        float z = other->depth[(size_t)image[1] * (size_t)other->camera.width + (size_t)image[0]];
        if (z > 0 && image[2] > HIDDEN * z) continue;
        sum += marks(places[i], &view->camera, &other->camera);
    }
    return sum;
}

static void find(splat_view_maps *maps, size_t v)
{
    splat_view_map *view = &maps->views[v];
    float places[GRID * GRID][3], best[SPLAT_VIEW_NEIGHBORS];
    int n = find_places(view, places);
    view->n_neighbors = 0;
    for (size_t i = 0; i < maps->n && n > 0; i++) {
        if (i == v) continue;
        float sum = compare(view, &maps->views[i], places, n);
        if (!(sum >= LEAST_SHARE * (float)n)) continue;
        uint32_t at = view->n_neighbors;
        while (at > 0 && best[at - 1] < sum) at--;
        if (at == SPLAT_VIEW_NEIGHBORS) continue;
        if (view->n_neighbors < SPLAT_VIEW_NEIGHBORS) view->n_neighbors++;
        for (uint32_t k = view->n_neighbors - 1; k > at; k--) {
            best[k] = best[k - 1];
            view->neighbors[k] = view->neighbors[k - 1];
        }
        best[at] = sum;
        view->neighbors[at] = (uint32_t)i;
    }
}

void splat_view_maps_find_neighbors(splat_view_maps *maps, int threads)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t v = 0; v < maps->n; v++) find(maps, v);
}
