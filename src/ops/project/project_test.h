/* What the tests of project and project_backward share: Gaussians and a frame on a backend, and a host copy of what
 * project wrote. */
#ifndef SPLAT_OPS_PROJECT_TEST_H
#define SPLAT_OPS_PROJECT_TEST_H

#include "ops/project/project.h"
#include "ops/ref.h"
#include "ops/test_ops.h"

typedef struct project_scene {
    splat_backend *backend;
    splat_gaussians gaussians; /* device pointers */
    splat_frame frame;
    splat_block blocks[SPLAT_N_TENSORS + 2];
    /* host copies, n_visible entries, made by project_scene_run */
    uint32_t *ids;
    float *mean2d, *conic, *rgb, *depth;
    uint16_t *rect;
    int64_t *entry_of; /* [n] entry of a Gaussian, -1 when it is not visible */
    uint32_t n_visible, n_degenerate; /* as project counted them; project_scene_counts after further ops */
} project_scene;

void project_scene_open(project_scene *scene, splat_backend *backend, const splat_gaussians *host,
                        const splat_camera *camera, bool compensate, bool jitter);
/* Runs project and copies its results; counts failures. */
int project_scene_run(project_scene *scene);
/* Reads the counts of the view, which an asynchronous backend keeps on the device. */
void project_scene_counts(project_scene *scene);
void project_scene_close(project_scene *scene);

/* A second CPU backend that must give the same bytes: plain C, and another number of threads. NULL when `backend` is
 * not a CPU backend. */
splat_backend *project_other_backend(splat_backend *backend);

static inline float project_test_kernel(bool compensate)
{
    return compensate ? 0.1f : 0.3f;
}

#endif
