/* Directions of pixels, and what photos show in them. */
#include "scene/sky_bins.h"

#include "math/camera.h"
#include "scene/dataset_depth_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void ray_of(const splat_camera *c, size_t pixel, double ray[3])
{
    double x = ((double)(pixel % (size_t)c->width) + 0.5 - (double)c->cx) / (double)c->fx;
    double y = ((double)(pixel / (size_t)c->width) + 0.5 - (double)c->cy) / (double)c->fy;
    double inverse = 1 / sqrt(x * x + y * y + 1);
    for (size_t k = 0; k < 3; k++)
        ray[k] = inverse * (x * (double)c->rotation[k] + y * (double)c->rotation[3 + k] + (double)c->rotation[6 + k]);
}

double sky_elevation(const sky_finder *f, const sky_photo *photo, size_t pixel)
{
    double ray[3];
    ray_of(&photo->camera, pixel, ray);
    return ray[0] * f->up[0] + ray[1] * f->up[1] + ray[2] * f->up[2];
}

void sky_neighbors(const sky_photo *photo, size_t pixel, size_t next[4])
{
    size_t width = (size_t)photo->camera.width, n = splat_camera_pixels(&photo->camera), x = pixel % width;
    next[0] = x > 0 ? pixel - 1 : SIZE_MAX;
    next[1] = x + 1 < width ? pixel + 1 : SIZE_MAX;
    next[2] = pixel >= width ? pixel - width : SIZE_MAX;
    next[3] = pixel + width < n ? pixel + width : SIZE_MAX;
}

size_t sky_fill(const sky_photo *photo, size_t first, uint8_t from, uint8_t to, uint8_t *marks, uint32_t *queue)
{
    size_t n_queued = 0;
    queue[n_queued++] = (uint32_t)first;
    marks[first] = to;
    for (size_t at = 0; at < n_queued; at++) {
        size_t next[4];
        sky_neighbors(photo, queue[at], next);
        for (int k = 0; k < 4; k++) {
            if (next[k] == SIZE_MAX || marks[next[k]] != from) continue;
            marks[next[k]] = to;
            queue[n_queued++] = (uint32_t)next[k];
        }
    }
    return n_queued;
}

size_t sky_pixel_of_point(const sky_photo *photo, const float position[3])
{
    const splat_camera *c = &photo->camera;
    double place[3];
    if (!splat_dataset_place_point(c, position, 0, place)) return SIZE_MAX;
    if (!(place[0] >= 0 && place[1] >= 0 && place[0] < c->width && place[1] < c->height)) return SIZE_MAX;
    return (size_t)place[1] * (size_t)c->width + (size_t)place[0];
}

static uint16_t bin_of_direction(const double d[3])
{
    int axis = 0;
    for (int k = 1; k < 3; k++)
        if (fabs(d[k]) > fabs(d[axis])) axis = k;
    double inverse = 0.5 * SKY_SIDE / fabs(d[axis]);
    int at[2];
    for (int k = 0; k < 2; k++) {
        int i = (int)(d[(axis + 1 + k) % 3] * inverse + 0.5 * SKY_SIDE);
        at[k] = i < 0 ? 0 : i >= SKY_SIDE ? SKY_SIDE - 1 : i;
    }
    return (uint16_t)(((2 * axis + (d[axis] < 0)) * SKY_SIDE + at[0]) * SKY_SIDE + at[1]);
}

uint16_t sky_bin_of(const sky_finder *f, const splat_camera *c, size_t pixel, double radius)
{
    double ray[3], from[3], along = 0, square = -radius * radius;
    ray_of(c, pixel, ray);
    if (!(radius > 0)) return bin_of_direction(ray);
    for (int k = 0; k < 3; k++) {
        from[k] = (double)c->center[k] - f->center[k];
        along += from[k] * ray[k];
        square += from[k] * from[k];
    }
    double t = -along + sqrt(fmax(along * along - square, 0));
    for (int k = 0; k < 3; k++) from[k] += t * ray[k];
    return bin_of_direction(from);
}

splat_status sky_bins_look(const sky_finder *f, sky_photo *photo, splat_error *error)
{
    size_t n = splat_camera_pixels(&photo->camera);
    if (!photo->bins) photo->bins = malloc(n * sizeof *photo->bins);
    if (!photo->bins) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for directions of %zu pixels", n);
    for (size_t i = 0; i < n; i++) photo->bins[i] = sky_bin_of(f, &photo->camera, i, f->radius);
    return SPLAT_OK;
}

void sky_bins_vote(const sky_finder *f, const sky_photo *photo, double radius, sky_vote *votes)
{
    int width = photo->camera.width, height = photo->camera.height;
    memset(votes, 0, SKY_BINS * sizeof *votes);
    for (int y = 0; y < height; y += SKY_STRIDE)
        for (int x = 0; x < width; x += SKY_STRIDE) {
            size_t pixel = (size_t)y * (size_t)width + (size_t)x;
            if (photo->kind[pixel] == SKY_BUSY) continue;
            sky_vote *to = &votes[sky_bin_of(f, &photo->camera, pixel, radius)];
            for (size_t k = 0; k < 3; k++) to->rgb[k] += photo->smooth[3 * pixel + k];
            to->n++;
        }
    for (size_t b = 0; b < SKY_BINS; b++)
        for (int k = 0; k < 3 && votes[b].n; k++) votes[b].rgb[k] /= (float)votes[b].n;
}
