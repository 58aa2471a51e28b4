/* project on the CPU. Two passes over fixed blocks of Gaussians: the first finds the visible by shape and place and
 * keeps one bit each; after a prefix sum over the blocks' counts, the second computes them again, sixteen visible ones
 * at a time, with their colour, straight into their final entries. Computing the shape twice is cheaper than storing
 * and moving it, and colour, the largest read, is touched for the visible only. */
#include "ops/project/project.h"

#include "ops/project/project_kernels.h"

#include <string.h>

const splat_project_kernels *splat_project_kernels_of(const splat_backend *backend)
{
    return SPLAT_OF_LEVEL(backend->simd, &splat_project_kernels);
}

static void move_entry(splat_frame *frame, size_t to, size_t from)
{
    frame->ids[to] = frame->ids[from];
    frame->depth[to] = frame->depth[from];
    memcpy(frame->mean2d + 2 * to, frame->mean2d + 2 * from, 2 * sizeof *frame->mean2d);
    memcpy(frame->conic + 4 * to, frame->conic + 4 * from, 4 * sizeof *frame->conic);
    memcpy(frame->rgb + 3 * to, frame->rgb + 3 * from, 3 * sizeof *frame->rgb);
    memcpy(frame->tile_rect + 4 * to, frame->tile_rect + 4 * from, 4 * sizeof *frame->tile_rect);
}

/* Removes the entries that were marked with depth 0. Rare: a colour that is not finite. */
static void drop_marked(splat_frame *frame)
{
    uint32_t kept = 0;
    for (uint32_t v = 0; v < frame->n_visible; v++) {
        if (frame->depth[v] == 0.0f) continue;
        if (kept != v) move_entry(frame, kept, v);
        kept++;
    }
    frame->n_degenerate += frame->n_visible - kept;
    frame->n_visible = kept;
}

/* Takes the bits of hidden Gaussians away. Returns their number. */
static uint32_t drop_out(const splat_dropout *dropout, uint32_t begin, uint16_t masks[SPLAT_PROJECT_GROUPS])
{
    uint32_t n_hidden = 0;
    for (uint32_t k = 0; dropout->share > 0.0f && k < SPLAT_PROJECT_GROUPS; k++)
        for (uint32_t mask = masks[k]; mask; mask &= mask - 1) {
            const uint32_t lane = (uint32_t)__builtin_ctz(mask);
            if (!splat_dropout_hides(dropout, begin + k * SPLAT_LANES + lane)) continue;
            masks[k] &= (uint16_t)~(1u << lane);
            n_hidden++;
        }
    return n_hidden;
}

splat_status splat_project_cpu(splat_backend *backend, const struct splat_project_args *args, splat_error *error)
{
    const splat_project_kernels *kernels = splat_project_kernels_of(backend);
    const splat_gaussians *gaussians = args->gaussians;
    splat_frame *frame = args->frame;
    const uint32_t n = gaussians->n;
    const int64_t n_blocks = ((int64_t)n + SPLAT_PROJECT_BLOCK - 1) / SPLAT_PROJECT_BLOCK;
    const splat_projector projector = splat_frame_projector(frame);
    frame->n_visible = frame->n_degenerate = 0;
    if (n == 0) return SPLAT_OK;

    /* The first entry of each block, and one bit a Gaussian. */
    void *scratch[2];
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, (size_t)n_blocks * sizeof(uint32_t), &scratch[0], error));
    SPLAT_TRY(splat_scratch_take(backend, (size_t)n_blocks * SPLAT_PROJECT_GROUPS * sizeof(uint16_t), &scratch[1],
                                 error));
    uint32_t *first = scratch[0];
    uint16_t *masks = scratch[1];

    uint32_t n_degenerate = 0, n_bad = 0, total = 0;
#pragma omp parallel for schedule(dynamic, 8) num_threads(backend->threads) reduction(+ : n_degenerate)
    for (int64_t block = 0; block < n_blocks; block++) {
        uint32_t begin = (uint32_t)block * SPLAT_PROJECT_BLOCK;
        uint32_t end = n - begin < SPLAT_PROJECT_BLOCK ? n : begin + SPLAT_PROJECT_BLOCK;
        uint16_t *found = masks + block * SPLAT_PROJECT_GROUPS;
        first[block] = kernels->find(gaussians, &projector, begin, end, found, &n_degenerate);
        first[block] -= drop_out(&frame->dropout, begin, found);
    }
    for (int64_t block = 0; block < n_blocks; block++) {
        uint32_t count = first[block];
        first[block] = total;
        total += count;
    }
#pragma omp parallel for schedule(dynamic, 8) num_threads(backend->threads) reduction(+ : n_bad)
    for (int64_t block = 0; block < n_blocks; block++)
        n_bad += kernels->write(gaussians, &projector, (uint32_t)block * SPLAT_PROJECT_BLOCK,
                                masks + block * SPLAT_PROJECT_GROUPS, first[block], frame);
    frame->n_visible = total;
    frame->n_degenerate = n_degenerate;
    if (n_bad) drop_marked(frame);
    return SPLAT_OK;
}

splat_status splat_project_views_cpu(splat_backend *backend, const struct splat_project_views_args *args,
                                     splat_error *error)
{
    for (uint32_t k = 0; k < args->n_views; k++) {
        const struct splat_project_args one = {args->gaussians, args->frames[k], args->rest};
        SPLAT_TRY(splat_project_cpu(backend, &one, error));
    }
    return SPLAT_OK;
}
