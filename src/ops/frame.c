/* The transients of one view: a few named blocks, cut into arrays. */
#include "backend/backend.h"
#include "ops/types.h"

#include <string.h>

/* Cuts an array of n elements off a block, 64-byte aligned. */
#define CUT(pointer, n)                                                                                                \
    do {                                                                                                               \
        if (base) (pointer) = (void *)(base + used);                                                                   \
        used = (used + (size_t)(n) * sizeof *(pointer) + 63) / 64 * 64;                                                \
    } while (0)

static size_t cut_visible(splat_frame *frame, char *base, size_t n)
{
    size_t used = 0;
    CUT(frame->ids, n);
    CUT(frame->mean2d, 2 * n);
    CUT(frame->conic, 4 * n);
    CUT(frame->rgb, 3 * n);
    CUT(frame->depth, n);
    CUT(frame->tile_rect, 4 * n);
    CUT(frame->slot_begin, n + 1);
    return used;
}

static size_t cut_pixels(splat_frame *frame, char *base, size_t n_pixels)
{
    size_t used = 0;
    CUT(frame->image, 3 * n_pixels);
    CUT(frame->transmittance, n_pixels);
    CUT(frame->last, n_pixels);
    return used;
}

splat_status splat_frame_reserve(splat_backend *backend, splat_frame *frame, uint32_t n, const splat_camera *camera,
                                 bool training, splat_error *error)
{
    if (camera->width < 1 || camera->height < 1 || camera->width > 65536 || camera->height > 65536)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a picture of %d x %d pixels cannot be rendered", camera->width,
                          camera->height);
    frame->camera = *camera;
    frame->tiles_x = ((uint32_t)camera->width + SPLAT_TILE - 1) / SPLAT_TILE;
    frame->tiles_y = ((uint32_t)camera->height + SPLAT_TILE - 1) / SPLAT_TILE;
    frame->n_visible = frame->n_degenerate = 0;
    frame->n_instances = 0;
    size_t n_tiles = (size_t)frame->tiles_x * frame->tiles_y, n_pixels = (size_t)camera->width * (size_t)camera->height;

    /* The visible arrays are cut by capacity, so that a growing count does not move them every step. */
    SPLAT_TRY(splat_block_ensure(backend, &frame->block_visible, "visible", SPLAT_OWNER_TRANSIENTS,
                                 cut_visible(frame, NULL, n), error));
    cut_visible(frame, frame->block_visible.data, n);
    SPLAT_TRY(splat_block_ensure(backend, &frame->block_tiles, "tile_begin", SPLAT_OWNER_TRANSIENTS,
                                 (2 * n_tiles + 1) * sizeof *frame->tile_begin, error)); /* and an order of the tiles */
    frame->tile_begin = frame->block_tiles.data;
    SPLAT_TRY(splat_block_ensure(backend, &frame->block_pixels, "pixels", SPLAT_OWNER_TRANSIENTS,
                                 cut_pixels(frame, NULL, n_pixels), error));
    cut_pixels(frame, frame->block_pixels.data, n_pixels);
    if (training) {
        SPLAT_TRY(splat_block_ensure(backend, &frame->block_grad2d, "grad2d", SPLAT_OWNER_TRANSIENTS,
                                     (n ? n : 1) * sizeof *frame->grad2d, error));
        frame->grad2d = frame->block_grad2d.data;
    }
    return SPLAT_OK;
}

void splat_frame_free(splat_backend *backend, splat_frame *frame)
{
    splat_block_free(backend, &frame->block_visible);
    splat_block_free(backend, &frame->block_order);
    splat_block_free(backend, &frame->block_tiles);
    splat_block_free(backend, &frame->block_instances);
    splat_block_free(backend, &frame->block_pixels);
    splat_block_free(backend, &frame->block_grad2d);
    splat_block_free(backend, &frame->block_scratch);
    memset(frame, 0, sizeof *frame);
}
