/* Sorts cameras by azimuth around the scene (docs/method.md 2.1). */
#include "scene/camera_ring.h"

#include "math/vec3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDING 1e-7       /* of positions, relative: poses may come from float32 */
#define LEAST_VERTICAL 1e-3 /* length of the mean of unit vectors that still has a direction */

static int compare_doubles(const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* By pose, so that every sum over the cameras has one order and one value. */
static int compare_poses(const void *first, const void *second)
{
    const splat_ring_camera *a = first, *b = second;
    int order = compare_doubles(a->center, b->center, 3);
    if (order == 0) order = compare_doubles(a->axis, b->axis, 3);
    if (order == 0) order = compare_doubles(a->up, b->up, 3);
    return order != 0 ? order : (a->photo > b->photo) - (a->photo < b->photo);
}

/* ---------------------------------------------------------------- the pole */

/* x of a x = b, by Cramer's rule. a is symmetric and positive definite: the caller has damped it. */
static void solve(double a[3][3], const double b[3], double x[3])
{
    double minors[3][3];
    for (int k = 0; k < 3; k++) splat_cross3(a[(k + 1) % 3], a[(k + 2) % 3], minors[k]);
    const double determinant = splat_dot3(a[0], minors[0]);
    for (int k = 0; k < 3; k++)
        x[k] = (b[0] * minors[0][k] + b[1] * minors[1][k] + b[2] * minors[2][k]) / determinant;
}

/* The point nearest to all axes: the sum of (1 - d d^T)(p - center) is 0. Where axes are parallel, many points are
 * equally near; a small pull to the mean camera then chooses the one next to that. */
static void nearest_point(const splat_ring_camera *cameras, size_t n, const double mean[3], double point[3])
{
    const double pull = 1e-9 * (double)n;
    double a[3][3] = {{pull, 0, 0}, {0, pull, 0}, {0, 0, pull}}, b[3] = {0}, offset[3];
    for (size_t i = 0; i < n; i++) {
        const double *d = cameras[i].axis;
        double from_mean[3];
        for (int k = 0; k < 3; k++) from_mean[k] = cameras[i].center[k] - mean[k];
        const double along = splat_dot3(d, from_mean);
        for (int r = 0; r < 3; r++) {
            for (int k = 0; k < 3; k++) a[r][k] += (r == k) - d[r] * d[k];
            b[r] += from_mean[r] - along * d[r];
        }
    }
    solve(a, b, offset);
    for (int k = 0; k < 3; k++) point[k] = mean[k] + offset[k];
}

static bool normalize(double v[3], double least)
{
    const double length = sqrt(splat_dot3(v, v));
    for (int k = 0; k < 3; k++) v[k] /= length;
    return length >= least;
}

/* The mean of `up`; where the cameras' tops cancel (a drone that looks straight down and turns), the mean axis; else
 * z. */
static void find_vertical(const splat_ring_camera *cameras, size_t n, double up[3])
{
    double axis[3] = {0};
    memset(up, 0, 3 * sizeof *up);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            up[k] += cameras[i].up[k] / (double)n;
            axis[k] += cameras[i].axis[k] / (double)n;
        }
    if (normalize(up, LEAST_VERTICAL)) return;
    const bool has_axis = normalize(axis, LEAST_VERTICAL);
    for (int k = 0; k < 3; k++) up[k] = has_axis ? axis[k] : (double)(k == 2);
}

/* Two directions across `up`: the first is the one of the world's axes that is least along it. */
static void find_plane(const double up[3], double first[3], double second[3])
{
    int axis = 0;
    for (int k = 1; k < 3; k++)
        if (fabs(up[k]) < fabs(up[axis])) axis = k;
    for (int k = 0; k < 3; k++) first[k] = (k == axis) - up[axis] * up[k];
    normalize(first, 0);
    splat_cross3(up, first, second);
}

/* ---------------------------------------------------------------- the order */

typedef struct placed { double azimuth; size_t index; } placed;

static int compare_placed(const void *first, const void *second)
{
    const placed *a = first, *b = second;
    if (a->azimuth != b->azimuth) return a->azimuth < b->azimuth ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static void place(const splat_ring_camera *cameras, size_t n, const double mean[3], placed *places)
{
    double point[3], up[3], first[3], second[3];
    nearest_point(cameras, n, mean, point);
    find_vertical(cameras, n, up);
    find_plane(up, first, second);
    for (size_t i = 0; i < n; i++) {
        double v[3];
        for (int k = 0; k < 3; k++) v[k] = cameras[i].center[k] - point[k];
        places[i] = (placed){atan2(splat_dot3(v, second), splat_dot3(v, first)), i};
    }
}

/* The mean of the centers; false: all are at it. */
static bool find_mean(const splat_ring_camera *cameras, size_t n, double mean[3])
{
    double farthest = 0, size = 0;
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) mean[k] += cameras[i].center[k] / (double)n;
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            farthest = fmax(farthest, fabs(cameras[i].center[k] - mean[k]));
            size = fmax(size, fabs(cameras[i].center[k]));
        }
    return farthest > ROUNDING * size;
}

splat_status splat_camera_ring_sort(splat_ring_camera *cameras, size_t n, splat_error *error)
{
    double mean[3] = {0};
    if (n < 2) return SPLAT_OK;
    qsort(cameras, n, sizeof *cameras, compare_poses);
    if (!find_mean(cameras, n, mean))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "all %zu cameras stand in one place, so they have no order "
                          "around the scene; hold out photos with `split every`", n);
    placed *places = malloc(n * sizeof *places);
    splat_ring_camera *sorted = malloc(n * sizeof *sorted);
    splat_status status = SPLAT_OK;
    if (places && sorted) {
        place(cameras, n, mean, places);
        qsort(places, n, sizeof *places, compare_placed);
        for (size_t i = 0; i < n; i++) sorted[i] = cameras[places[i].index];
        memcpy(cameras, sorted, n * sizeof *sorted);
    } else {
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the order of %zu cameras", n);
    }
    free(places);
    free(sorted);
    return status;
}
