/* A splat whose surface is known: flat discs on a sphere, which the cameras of the sample scene see from above. */
#ifndef SPLAT_TESTS_SPHERE_FIXTURE_H
#define SPLAT_TESTS_SPHERE_FIXTURE_H

#include "io/ply.h"
#include "trainer_fixture.h"

#include <math.h>
#include <stdlib.h>

#define N_DISCS 6000
#define RADIUS 0.8
static const double center[3] = {0, -1.2, 0}; /* above the floor, where all cameras look */

/* The first n of N_DISCS (or of n) red discs, evenly spread (Fibonacci) around a centre, their shortest axis along the
 * normal. */
static inline void write_discs(const char *path, size_t n, const double middle[3], float opacity, float filter)
{
    splat_error error;
    splat_ply_gaussians g = {.n = n, .sh_degree = 0, .tagged_mip = true};
    g.means = calloc(3 * n + 1, sizeof(float));
    g.sh_dc = calloc(3 * n + 1, sizeof(float));
    g.opacities = calloc(n + 1, sizeof(float));
    g.scales = calloc(3 * n + 1, sizeof(float));
    g.rotations = calloc(4 * n + 1, sizeof(float));
    if (filter > 0) g.filter_3d = calloc(n + 1, sizeof(float));
    double all = (double)(n > N_DISCS ? n : N_DISCS), spacing = RADIUS * sqrt(4 * 3.14159265358979 / all);
    for (size_t i = 0; i < n; i++) {
        double z = 1 - 2 * ((double)i + 0.5) / all, angle = 2.39996322972865 * (double)i, r = sqrt(1 - z * z);
        double normal[3] = {r * cos(angle), r * sin(angle), z};
        for (int k = 0; k < 3; k++) {
            g.means[3 * i + k] = (float)(middle[k] + RADIUS * normal[k]);
            g.sh_dc[3 * i + k] = k == 0 ? 1.7f : -1.7f;
            g.scales[3 * i + k] = logf((float)(k == 2 ? 0.02 * spacing : 0.7 * spacing));
        }
        g.opacities[i] = opacity;
        if (filter > 0) g.filter_3d[i] = filter * (float)spacing;
        double q[4] = {1 + normal[2], -normal[1], normal[0], 0}; /* turns z to the normal */
        double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]) + 1e-12;
        for (int k = 0; k < 4; k++) g.rotations[4 * i + k] = (float)(q[k] / length);
    }
    must(splat_ply_write_gaussians(path, &g, false, NULL, &error), &error);
    splat_ply_gaussians_free(&g);
}

static inline void write_sphere(const char *path, float opacity)
{
    write_discs(path, N_DISCS, center, opacity, 0);
}

#endif
