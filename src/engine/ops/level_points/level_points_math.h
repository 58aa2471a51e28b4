/* The level points of one pixel; the same on every backend. */
#ifndef SPLAT_OPS_LEVEL_POINTS_MATH_H
#define SPLAT_OPS_LEVEL_POINTS_MATH_H

#include "ops/level_points/level_points.h"

/* p(t) = start + t direction, t = sigma * (-3 .. 3). */
typedef struct splat_level_ray {
    float start[3], direction[3], sigma;
} splat_level_ray;

SPLAT_MATH_INLINE float splat_level_t(const splat_level_ray *ray, int sample)
{
    const float step = 2.0f * SPLAT_LEVEL_DEVIATIONS / (SPLAT_LEVEL_SAMPLES - 1);
    return ray->sigma * (step * (float)sample - SPLAT_LEVEL_DEVIATIONS);
}

SPLAT_MATH_INLINE void splat_level_point(const splat_level_ray *ray, float t, float point[3])
{
    for (int k = 0; k < 3; k++) point[k] = ray->start[k] + t * ray->direction[k];
}

SPLAT_MATH_INLINE splat_density_kernel splat_level_kernel(const splat_gaussians *g, uint32_t i)
{
    const splat_tensors *p = &g->p;
    return splat_density_kernel_make(p->means + 3 * (size_t)i, p->scales + 3 * (size_t)i, p->rotations + 4 * (size_t)i,
                                     p->opacities[i]);
}

/* |s * R^T c|, c the unit vector from the mean to the camera. */
SPLAT_MATH_INLINE float splat_level_deviation(const splat_density_kernel *g, const float center[3])
{
    float c[3], length2 = 0.0f, sum = 0.0f;
    for (int k = 0; k < 3; k++) {
        c[k] = center[k] - g->mean[k];
        length2 += c[k] * c[k];
    }
    for (int k = 0; k < 3; k++) {
        float along = g->axes[3 * k] * c[0] + g->axes[3 * k + 1] * c[1] + g->axes[3 * k + 2] * c[2];
        sum += g->scale[k] * g->scale[k] * along * along;
    }
    return sqrtf(sum / length2);
}

SPLAT_MATH_INLINE splat_level_ray splat_level_ray_make(const splat_camera *camera, uint32_t pixel, float depth,
                                                       float sigma)
{
    splat_level_ray ray;
    uint32_t width = (uint32_t)camera->width;
    const float x = ((float)(pixel % width) + 0.5f - camera->cx) / camera->fx,
                y = ((float)(pixel / width) + 0.5f - camera->cy) / camera->fy,
                inverse = 1.0f / sqrtf(x * x + y * y + 1.0f), *r = camera->rotation;
    for (int k = 0; k < 3; k++) {
        float along = r[k] * x + r[3 + k] * y + r[6 + k];
        ray.start[k] = camera->center[k] + depth * along;
        ray.direction[k] = inverse * along;
    }
    ray.sigma = sigma;
    return ray;
}

/* Adds a Gaussian's density at the samples. */
SPLAT_MATH_INLINE void splat_level_add(const splat_level_ray *ray, const splat_density_kernel *g,
                                       float density[SPLAT_LEVEL_SAMPLES])
{
    for (int j = 0; j < SPLAT_LEVEL_SAMPLES; j++) {
        float point[3], y[3];
        splat_level_point(ray, splat_level_t(ray, j), point);
        density[j] += splat_density_weight(g, point, y);
    }
}

/* Finds the place at which the density passes the level; false: it does not. */
SPLAT_MATH_INLINE int splat_level_crossing(const splat_level_ray *ray, const float density[SPLAT_LEVEL_SAMPLES],
                                           float level, float point[3])
{
    float before = density[0] < 1.0f ? density[0] : 1.0f;
    if (!(before < level)) return 0;
    for (int j = 1; j < SPLAT_LEVEL_SAMPLES; j++) {
        float here = density[j] < 1.0f ? density[j] : 1.0f;
        if (here > level) {
            float t0 = splat_level_t(ray, j - 1), t1 = splat_level_t(ray, j);
            splat_level_point(ray, t0 + (level - before) / (here - before) * (t1 - t0), point);
            return 1;
        }
        before = here;
    }
    return 0;
}

/* The outward vector of the neighbourhood at a point brought to length 1; false: none, or it looks away. */
SPLAT_MATH_INLINE int splat_level_normal(const splat_gaussians *gaussians, uint32_t id, const uint32_t *neighbors,
                                         const float center[3], const float point[3], float normal[3])
{
    float y[3], facing = 0.0f, largest = 0.0f, length2 = 0.0f;
    for (int k = 0; k < 3; k++) normal[k] = 0.0f;
    for (int i = -1; i < SPLAT_NEIGHBORS; i++) {
        splat_density_kernel g = splat_level_kernel(gaussians, i < 0 ? id : neighbors[i]);
        splat_density_add_outward(&g, splat_density_weight(&g, point, y), y, normal);
    }
    for (int k = 0; k < 3; k++) largest = fabsf(normal[k]) > largest ? fabsf(normal[k]) : largest;
    if (!(largest > 0.0f) || !(largest < 1e38f)) return 0;
    for (int k = 0; k < 3; k++) { /* squares of flat Gaussians' gradients would overflow */
        normal[k] /= largest;
        length2 += normal[k] * normal[k];
    }
    for (int k = 0; k < 3; k++) {
        normal[k] /= sqrtf(length2);
        facing += normal[k] * (center[k] - point[k]);
    }
    return facing >= 0.0f;
}

/* All levels of entry i of the list. */
SPLAT_MATH_INLINE void splat_level_points_of(const struct splat_level_points_args *a, const splat_camera *camera,
                                             uint32_t i)
{
    uint32_t pixel = a->pixels[i], id = a->ids[pixel] - 1u;
    const uint32_t *neighbors = a->neighbors + (size_t)SPLAT_NEIGHBORS * id;
    float density[SPLAT_LEVEL_SAMPLES] = {0};
    splat_density_kernel g = splat_level_kernel(a->gaussians, id);
    float sigma = splat_level_deviation(&g, camera->center);
    splat_level_ray ray = splat_level_ray_make(camera, pixel, a->depth[pixel], sigma);
    splat_level_add(&ray, &g, density);
    for (int k = 0; k < SPLAT_NEIGHBORS; k++) {
        g = splat_level_kernel(a->gaussians, neighbors[k]);
        splat_level_add(&ray, &g, density);
    }
    for (int l = 0; l < a->n_levels; l++) {
        size_t at = (size_t)l * a->n + i;
        float point[3], normal[3];
        int found = splat_level_crossing(&ray, density, a->levels[l], point) &&
                    splat_level_normal(a->gaussians, id, neighbors, camera->center, point, normal);
        a->valid[at] = (uint8_t)found;
        for (int k = 0; k < 3 && found; k++) {
            a->points[3 * at + (size_t)k] = point[k];
            a->normals[3 * at + (size_t)k] = normal[k];
        }
    }
}

#endif
