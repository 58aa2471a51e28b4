/* Code shared by the tests of project and project_backward: Gaussians and a frame on a backend, and a host copy of
 * project's output. */
#ifndef SPLAT_OPS_PROJECT_TEST_H
#define SPLAT_OPS_PROJECT_TEST_H

#include "ops/project/project.h"
#include "ops/ref.h"
#include "ops/test_ops.h"
#include "ops/view.h"

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
    const splat_tensors *extra_gradients; /* what project_run_backward adds, or NULL */
    float opacity_pull, scale_pull;       /* the same; 0 */
    const uint8_t *statistics_mask;       /* the same, on the device; NULL */
    splat_rest_state rest;                /* the same, of project's; empty */
    bool write_seen;                      /* the same; false */
    const splat_tensors *squares;         /* where project_backward adds, those of what it adds; NULL */
    bool not_finite;                      /* a loss that is not finite comes between project and project_backward */
    uint32_t n_visible, n_degenerate; /* as project counted them; project_scene_counts after further ops */
} project_scene;

/* The place of a tensor and its moments. */
static inline splat_placement project_placement_of(const splat_gaussians *g, int tensor)
{
    return tensor == SPLAT_TENSOR_sh_rest && g->rest_on_host ? SPLAT_ON_HOST : SPLAT_ON_DEVICE;
}

void project_scene_open(project_scene *scene, splat_backend *backend, const splat_gaussians *host,
                        const splat_camera *camera, bool compensate, bool jitter);
/* Runs project and copies its results; counts failures. */
int project_scene_run(project_scene *scene);
/* Reads the counts of the view, which an asynchronous backend keeps on the device. */
void project_scene_counts(project_scene *scene);
void project_scene_close(project_scene *scene);

/* ---------------------------------------------------------------- project_backward (project_backward_test.c) */

/* Everything project_backward touches besides the scene, on the backend; not to be copied. */
typedef struct backward_state {
    splat_backend *backend;
    splat_tensors gradients, squares;
    splat_moments moments;
    splat_adam adam;
    splat_statistics statistics;
    splat_block blocks[5 * SPLAT_N_TENSORS + 3];
    size_t floats[SPLAT_N_TENSORS];       /* of each tensor */
    size_t moment_words[SPLAT_N_TENSORS]; /* quantized */
} backward_state;

/* Zero moments. */
void backward_state_open(backward_state *state, splat_backend *backend, const splat_gaussians *g,
                         splat_optimizer_storage storage);
void backward_state_close(backward_state *state);
/* Rates and corrections of a step (1 is the first); every tensor is updated. */
void backward_set_step(splat_adam *adam, int step);
/* project, then grads (by Gaussian) into the frame, then project_backward with what is not NULL. */
int project_run_backward(project_scene *scene, const splat_grad2d *grads, const splat_adam *adam,
                         const splat_statistics *statistics, const splat_tensors *gradients);
/* A random linear functional of (u, v, conic, alpha0, rgb) of each Gaussian: its weights are the gradients. */
splat_grad2d *project_random_grads(uint32_t n, uint64_t seed);
float *project_tensor_of(const splat_tensors *tensors, int tensor);
const char *project_tensor_name(int tensor);
/* Number `index` of a stream of standard normals. */
float project_normal(uint64_t seed, uint64_t index);
/* A copy of 4-byte values, to be freed. */
void *project_host_copy(splat_backend *backend, const void *device, size_t n);

/* Parts of test_op_project_backward (project_pull_test.c, adam_storage_test.c). */
int check_project_pulls(splat_backend *backend);
int check_project_storage(splat_backend *backend);
/* Part of test_op_batch_step (adam_storage_test.c). */
int check_batch_storage(splat_backend *backend);
/* Part of test_op_settle_rest (rest_cache_test.c). */
int check_project_cache(splat_backend *backend);

/* A second CPU backend that must give the same bytes: another SIMD level, and four threads. NULL when `backend` is not
 * a CPU backend of one thread. */
splat_backend *project_other_backend(splat_backend *backend);

/* share 0: all are drawn. */
static inline splat_dropout project_test_dropout(float share)
{
    return (splat_dropout){.share = share, .seed = 5, .step = 7, .first = 1, .stride = 2};
}

static inline float project_test_kernel(bool compensate)
{
    return compensate ? 0.1f : 0.3f;
}

#endif
