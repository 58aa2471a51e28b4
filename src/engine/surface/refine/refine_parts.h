/* Refinement: what its files share. refine.c is how the trainer sees it. */
#ifndef SPLAT_SUGAR_REFINE_PARTS_H
#define SPLAT_SUGAR_REFINE_PARTS_H

#include "mesh/mesh.h"
#include "splatsmith/refine.h"
#include "surface/bound/bound.h"
#include "train/state.h"

/* The arrays of the binding: those of bound.def, then the lists of splat_bound_mesh. */
enum {
    SPLAT_REFINE_FACES = SPLAT_N_BOUND_TENSORS,
    SPLAT_REFINE_VERTEX_BEGIN,
    SPLAT_REFINE_VERTEX_CORNERS,
    SPLAT_REFINE_PAIR_BEGIN,
    SPLAT_REFINE_PAIRS,
    SPLAT_N_REFINE_ARRAYS
};

extern const splat_binding splat_refine_binding;

/* The mesh and the bound parameters of a trainer: device memory. */
splat_status splat_refine_mesh(const splat_trainer *trainer, splat_bound_mesh *mesh, splat_error *error);
splat_bound_tensors splat_refine_tensors(const splat_trainer *trainer);

/* refine_bind.c: the functions of the binding. */
void splat_refine_expect(const splat_train_options *options, size_t n, size_t n_vertices, size_t *rows);
splat_status splat_refine_check_rows(const splat_train_options *options, size_t n, const uint32_t *rows,
                                     splat_error *error);
splat_status splat_refine_restored(splat_trainer *trainer, splat_error *error);
size_t splat_refine_scratch_bytes(const splat_train_options *options, size_t n);
splat_status splat_refine_step(splat_trainer *trainer, const splat_adam *adam, const splat_tensors *gradients,
                               splat_error *error);
/* The Gaussians follow from the arrays. */
splat_status splat_refine_follow(splat_trainer *trainer, splat_error *error);
/* refine_save.c: the mesh of a trainer, with the colours of its Gaussians at the vertices, as `folder`/mesh.ply. */
splat_status splat_refine_save(const splat_trainer *trainer, const char *folder, splat_error *error);

/* refine_start.c: a mesh file that can be refined; the caller frees the mesh. */
splat_status splat_refine_read_mesh(const char *path, int per_face, splat_mesh *mesh, splat_error *error);
/* refine_coverage.c: the share of the training views' pixels that show the mesh; warns when it is small. Errors: FORMAT
 * (no view sees it), MEMORY. */
splat_status splat_refine_check_coverage(const splat_trainer *trainer, const splat_mesh *mesh, const char *path,
                                         splat_error *error);
/* refine_colors.c: colours of the vertices of a mesh without any: those of the nearest Gaussians of a splat, or grey
 * (NULL path). */
splat_status splat_refine_color(const splat_trainer *trainer, const char *splat_path, splat_mesh *mesh,
                                splat_error *error);

#endif
