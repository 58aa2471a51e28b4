/* Code shared by the tests of bind and bind_backward: meshes on the host and on a backend, lists made in the simplest
 * way, and one call of each op. */
#ifndef SPLAT_OPS_BIND_TEST_H
#define SPLAT_OPS_BIND_TEST_H

#include "ops/bind/bind.h"
#include "ops/project/project_test.h"

/* A mesh with random parameters, on the host. */
typedef struct bind_mesh {
    uint32_t n_vertices, n_faces, n_pairs, n; /* n: Gaussians */
    int per_face;
    float thickness, extent;
    uint32_t *faces, (*pairs)[4];             /* pairs: (v0, v1, a, b) */
    float *vertices, *plane_scales, *plane_rotations;
} bind_mesh;

/* Kinds of mesh: a bumpy sheet of 2 columns x rows faces, half of its faces' winding turned when `turned`; then three
 * faces on one edge, a face of no area, one of no edge, one with a vertex that is not finite, and a vertex without a
 * face. Some Gaussians have a complex number of no length, or a scale that is not finite. */
bind_mesh bind_mesh_make(uint32_t columns, uint32_t rows, int per_face, bool turned, bool odd, uint64_t seed);
void bind_mesh_free(bind_mesh *mesh);
ref_bound_f64 bind_reference_f64(const bind_mesh *mesh);
void bind_reference_free_f64(ref_bound_f64 *bound);

/* The mesh on a backend, with Gaussians that bind writes; not to be copied. */
typedef struct bind_scene {
    splat_backend *backend;
    splat_bound_mesh mesh;
    splat_bound_tensors bound;
    splat_gaussians gaussians;
    splat_block blocks[32];
    int n_blocks;
} bind_scene;

void bind_scene_open(bind_scene *scene, splat_backend *backend, const bind_mesh *mesh);
void bind_scene_close(bind_scene *scene);
/* Device memory of the scene. */
void *bind_scene_upload(bind_scene *scene, const void *host, size_t bytes);
int bind_scene_run(bind_scene *scene);

/* n random floats around 0, to be freed. */
float *bind_random(uint64_t seed, size_t n);

#endif
