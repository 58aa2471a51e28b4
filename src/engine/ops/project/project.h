/* project, project_views, project_backward: Gaussians to the screen and back, fused with Adam.
 * Mathematics: 3D filter (Mip-Splatting eq. 9), SH colour, EWA projection, 2D Mip filter with compensation (eq. 10);
 * docs/method.md 4 to 7. */
#ifndef SPLAT_OPS_PROJECT_H
#define SPLAT_OPS_PROJECT_H

#include "ops/adam/adam.h"
#include "ops/frame.h"
#include "ops/loss/loss.h"
#include "ops/rest/rest.h"

/* project: fills the frame's visible arrays (ids .. tile_rect) and n_visible, n_degenerate. Once a view.
 *
 * In order, for each Gaussian: t = V mu + tr; culled when Z <= 0.2 or frame->dropout hides it; s~ = sqrt(s^2 + f^2),
 * o~ = o prod(s/s~)/(1 - share of the dropout);
 * Sigma = R diag(s~^2) R^T; J at the point clamped to 1.3 tan(fov/2); cov2d = J V Sigma (J V)^T; the screen filter;
 * rho and the tile square; rgb = max(0, 1/2 + SH(d)).
 * compensate: alpha0 = o~ kappa, kappa = 0 when D0 <= 1e-6 or D1 <= 1e-6; otherwise kappa = 1.
 * tile_rect is the intersection of the rho square with the bounding box of the ellipse alpha >= 1/255 (one half pixel
 * wider when frame->jitter is set); empty when alpha0 < 1/255. It never loses a pixel that raster would blend.
 * A Gaussian with a parameter or a result that is not finite, or a quaternion of norm < 1e-12, is skipped and counted
 * in n_degenerate (when it is in front of the camera or its position is not finite). Colours are checked, and so
 * counted, only where they are evaluated: active bands of Gaussians that are visible otherwise.
 * SH is evaluated for bands <= active_sh_degree. */
struct splat_project_args {
    const splat_gaussians *gaussians;
    splat_frame *frame;
    const splat_rest_state *rest; /* of a step that project_backward completes in this frame: with rest->deferred only
                                     the steps of the visible are made up, with rest->cache their rows are fetched, and
                                     colours are written during bin (complete before raster). A colour that is not
                                     finite is then black, because bin may have listed its Gaussian. NULL: rows are
                                     settled */
};

/* project_views: project in the frame of each of several views, for a step of them all (batch_step). With
 * rest->deferred, of as many slots at least, the steps of what any of them sees are made up; colours are those
 * that project has in a step. */
struct splat_project_views_args {
    const splat_gaussians *gaussians;
    splat_frame *const *frames; /* [n_views] */
    uint32_t n_views;
    const splat_rest_state *rest; /* state of the rows of SH in a step; NULL: settled */
};

/* Gradients from elsewhere, which project_backward adds to those of the view; all zero: none. */
typedef struct splat_gradient_source {
    const splat_tensors *extra; /* of every Gaussian, seen or not: means, scales, rotations and opacities ([n] rows; the
                                   other tensors are not read). Rows that are not finite count as degenerate and add
                                   nothing. They may be the very arrays that the sink writes. NULL allowed */
    const float *depth;         /* [n_visible] dL/dz of the depths of what is visible, of raster_backward: times the
                                   third row of the camera's rotation it is added to the gradient of the mean. What is
                                   not finite counts as degenerate and adds nothing. NULL allowed */
    float opacity_pull, scale_pull; /* opacity_pull o (1 - o) is added to the gradient of every opacity, seen or not,
                                       and scale_pull s_k to that of every scale, o and s_k raw: the gradients of
                                       opacity_pull sum o and scale_pull sum s_k. What is not finite adds nothing */
} splat_gradient_source;

/* The receiver of gradients. A Gaussian whose gradient is not finite gets zeros and is added to n_degenerate. */
typedef struct splat_gradient_sink {
    const splat_adam *step;     /* parameters and moments are updated in place. NULL allowed */
    const splat_tensors *write; /* becomes dL/dparameter of every Gaussian: zero for the unseen, and for bands above the
                                   active degree; tensors that are NULL are left out. NULL allowed */
    bool write_seen;            /* rows of `write` of Gaussians that the view does not see may stay as they are */
    /* Instead of `write`: gradients of other views, to which those of what is visible are added (with `extra` those of
     * every Gaussian), and the sums of their squares, of the same tensors; other rows stay as they are. NULL allowed,
     * for both. */
    const splat_tensors *add, *add_squares;
    /* Puts off: with rest->deferred, sh_rest's step, unless gradients are to be added, or to be written for the unseen
     * or for sh_rest; project had the same `rest` then. With rest->deferred of several slots, and active bands,
     * gradients of sh_rest are not added but kept in slot `slot`, and `extra` is UNSUPPORTED. rest: NULL allowed. */
    const splat_rest_state *rest;
    uint32_t slot;
    /* For every visible Gaussian grad += |(W/2 mean_x, H/2 mean_y)|, grad_abs += mean_abs, count += 1; with a mask only
     * for those whose mean, clamped to the picture and rounded, is a pixel that the mask keeps (SPLAT_LOSS_KEPT): what
     * a mask hides has no gradient, and would dilute the mean of the others. NULL allowed, for each. */
    const splat_statistics *statistics;
    const uint8_t *statistics_mask; /* [height][width] */
} splat_gradient_sink;

/* project_backward: from frame->grad2d to every parameter, then Adam, in one pass: no gradient array of the model's
 * size exists unless it is asked for. Every Gaussian is stepped, the unseen with zero gradient (dense Adam). filter_3d
 * is a constant. */
struct splat_project_backward_args {
    splat_gaussians *gaussians;
    splat_frame *frame;
    splat_gradient_source source;
    splat_gradient_sink sink;
};

#endif
