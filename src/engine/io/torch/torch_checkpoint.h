/* Checkpoints of the published 3DGS and Mip-Splatting trainers: chkpntN.pth, which is
 * torch.save((gaussians.capture(), iteration)). */
#ifndef SPLAT_IO_TORCH_CHECKPOINT_H
#define SPLAT_IO_TORCH_CHECKPOINT_H

#include "io/torch/torch_file.h"

/* One field a line of src/engine/math/gaussians.def, in the same layout: means [n][3], sh_dc [n][3], sh_rest
 * [n][k-1][3] (coefficient-major), opacities [n] (logit), scales [n][3] (natural logarithm), rotations [n][4] (w, x, y,
 * z). */
typedef struct splat_torch_gaussians {
#define SPLAT_TENSOR(name, ...) const splat_torch_tensor *name;
#include "math/gaussians.def"
#undef SPLAT_TENSOR
} splat_torch_gaussians;

typedef struct splat_torch_steps {
#define SPLAT_TENSOR(name, ...) int name;
#include "math/gaussians.def"
#undef SPLAT_TENSOR
} splat_torch_steps;

/* The tensors are still on the disk; splat_torch_tensor_read_f32(checkpoint.file, checkpoint.p.means, out, 3 * n,
 * ...) reads one. Not in such a file: the 3D filter (which must be computed again) and, in most, the absolute
 * gradients. */
typedef struct splat_torch_checkpoint {
    splat_torch_file *file;
    size_t n;                /* > 0 */
    int sh_degree;           /* degree of sh_rest, 0 to 3 */
    int active_sh_degree;    /* <= sh_degree */
    int iteration;           /* the last that was done */
    double spatial_lr_scale; /* extent of the cameras */
    splat_torch_gaussians p; /* parameters; never NULL (sh_rest has n = 0 elements for degree 0) */
    splat_torch_gaussians m; /* Adam: exp_avg; NULL where the optimizer had no state: zeros */
    splat_torch_gaussians v; /* Adam: exp_avg_sq; NULL where m is */
    splat_torch_steps steps; /* Adam steps done; 0 where m is NULL */
    /* statistics since the last density control, [n] each, in the units of splat_statistics; NULL when absent.
     * grad_abs: only where a tensor of this shape follows grad, as in descendants that save it. */
    const splat_torch_tensor *grad, *grad_abs, *count;
} splat_torch_checkpoint;

/* Every shape is checked. FORMAT: not such a tuple, shapes that contradict each other; and as splat_torch_file_open.
 * The caller closes it; after an error there is nothing to close. */
splat_status splat_torch_checkpoint_open(const char *path, splat_torch_checkpoint *checkpoint, splat_error *error);
void splat_torch_checkpoint_close(splat_torch_checkpoint *checkpoint);

#endif
