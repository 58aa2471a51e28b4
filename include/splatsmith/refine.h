/* splatsmith/refine.h - Gaussians bound to the triangles of a mesh: training both, and editing the mesh.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SPLATSMITH_REFINE_H
#define SPLATSMITH_REFINE_H

#include "splatsmith/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* SuGaR's refinement (Guedon and Lepetit, CVPR 2024, section 4.3; docs/method.md, "Refinement"): flat Gaussians lie at
 * fixed places of the triangles of a mesh, in their planes. The training moves the vertices, and changes of each
 * Gaussian the two deviations and the angle in the plane, the opacity and the colours. Gaussian `face *
 * gaussians_per_triangle + j` belongs to the face. The result is an ordinary splat, and a mesh with the same faces. */

/* Initialises splat_train_options for a refinement: 15000 iterations without density control; SH bands join after 1000,
 * 2000 and 3000; each step has a random background, because dark Gaussians would otherwise stay transparent. The rate
 * of the vertices is position_lr times L = 10 B / sqrt(max(vertices, 10000)), with B = refine.foreground_radius. */
void splat_train_options_init_refine_sized(splat_train_options *options, size_t size);
#define splat_train_options_init_refine(options) splat_train_options_init_refine_sized(options, sizeof *(options))

/* The counts of a refinement of a mesh file. */
typedef struct splat_refine_info {
    size_t n_vertices, n_faces, n_gaussians;
    bool has_colors;   /* the mesh has colours at its vertices */
    size_t most_free;  /* Gaussians that keep_rest adds at most */
} splat_refine_info;

/* Reads a mesh (splat_mesh_get_format) and fills *info. Errors: those of reading; FORMAT (no faces, as in a splat
 * or a cloud of points; too many), ARGUMENT (gaussians_per_triangle is not 1, 3, 4 or 6). */
splat_status splat_refine_describe(const char *mesh_path, int gaussians_per_triangle, splat_refine_info *info,
                                   splat_error *error);

typedef struct splat_refine_input {
    size_t size;
    const char *mesh_path;         /* a mesh of any format; required. Its faces do not change */
    const char *splat_path;        /* lends the harmonics of its nearest Gaussians, and to a mesh without colours the
                                      colours too; NULL: no harmonics, and such a mesh begins grey */
    splat_render_mode render_mode; /* AUTO and CLASSIC: 3DGS's fixed dilation, which leaves no gaps between Gaussians of
                                      less than a pixel; MIP: the 2D Mip filter with options.kernel_size */
    bool keep_rest;                /* false; Gaussians of the splat that the mesh does not represent stay: behind the
                                      bound ones, a quarter as many at most. Colours and opacities are trained */
    bool has_bbox;                 /* false; true: with keep_rest only those between the corners stay */
    double bbox_low[3], bbox_high[3];
} splat_refine_input;

void splat_refine_input_init_sized(splat_refine_input *input, size_t size);
#define splat_refine_input_init(input) splat_refine_input_init_sized(input, sizeof *(input))
/* Begins a refinement in a trainer that has the options of splat_train_options_init_refine: reads the mesh and makes
 * its Gaussians. A notice says how much memory the training needs; if the device cannot hold it, the call fails
 * (MEMORY) before it allocates. Errors: ARGUMENT, those of splat_refine_describe, FORMAT (no training view sees the
 * mesh), MEMORY. After an error the trainer must not be used any more. */
splat_status splat_trainer_start_refine(splat_trainer *trainer, const splat_refine_input *input, splat_error *error);

/* Moves bound Gaussians with an edited mesh: the affine map of each triangle, from the refined mesh to the edited one,
 * moves the centres of its Gaussians and their shapes in the plane. splat_path, mesh_path: the two files of a
 * refinement, of the same iteration. edited_path: a mesh with the same vertices and faces in the same order. out_path:
 * a file of any splat format (splat_model_get_format); options: as for splat_model_save, may be NULL. Errors: those of
 * reading and writing, FORMAT (the three files do not belong together; the message says the difference). */
splat_status splat_refine_deform(const char *splat_path, const char *mesh_path, const char *edited_path,
                                 const char *out_path, const splat_save_options *options, splat_error *error);

#ifdef __cplusplus
}
#endif
#endif
