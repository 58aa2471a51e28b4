/* Private to the op: the inner loops of project and project_backward, compiled once a SIMD level
 * (project_simd.c). Every level gives the same bytes. */
#ifndef SPLAT_OPS_PROJECT_KERNELS_H
#define SPLAT_OPS_PROJECT_KERNELS_H

#include "backend/backend.h"
#include "math/projection.h"
#include "ops/adam/adam_block.h"
#include "ops/project/project.h"
#include "ops/simd.h"

/* Gaussians that one task handles. Fixed, so that nothing depends on the number of threads. */
#define SPLAT_PROJECT_BLOCK 256
#define SPLAT_PROJECT_GROUPS (SPLAT_PROJECT_BLOCK / SPLAT_LANES)

typedef struct splat_project_kernels {
    /* masks[k] bit l: Gaussian begin + 16 k + l is visible as far as its shape goes. Returns the number of them. */
    uint32_t (*find)(const splat_gaussians *gaussians, const splat_projector *projector, uint32_t begin, uint32_t end,
                     uint16_t masks[SPLAT_PROJECT_GROUPS], uint32_t *n_degenerate);
    /* Writes the entries of the Gaussians in masks to the frame from entry first_visible on. An entry whose colour is
     * not finite gets depth 0; their number is returned. */
    uint32_t (*write)(const splat_gaussians *gaussians, const splat_projector *projector, uint32_t begin,
                      const uint16_t masks[SPLAT_PROJECT_GROUPS], uint32_t first_visible, splat_frame *frame);
    /* Gradients of the visible entries [v_begin, v_end), which belong to the block of Gaussians from begin on, into a
     * block that is zero where it is read. Returns the number of Gaussians whose gradient is not finite; it is left. */
    uint32_t (*backward)(const splat_gaussians *gaussians, const splat_projector *projector, const splat_frame *frame,
                         uint32_t begin, uint32_t v_begin, uint32_t v_end, splat_gradient_block *block);
} splat_project_kernels;

extern const splat_project_kernels splat_project_kernels_c;
#if SPLATSMITH_X86
extern const splat_project_kernels splat_project_kernels_avx2, splat_project_kernels_avx512;
#endif

const splat_project_kernels *splat_project_kernels_of(const splat_backend *backend);

#endif
