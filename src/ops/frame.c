/* The transients of one view: one region, cut into arrays. */
#include "backend/backend.h"
#include "ops/types.h"

#include <string.h>

splat_status splat_frame_take(splat_backend *backend, splat_frame *frame, size_t bytes, void **data,
                              splat_error *error)
{
    return splat_region_take(backend, &frame->region, bytes, data, error);
}

/* An array of n elements of what `pointer` points to. */
#define TAKE(pointer, n)                                                                                               \
    SPLAT_TRY(splat_frame_take(backend, frame, (size_t)(n) * sizeof *(pointer), (void **)&(pointer), error))

splat_status splat_frame_reserve(splat_backend *backend, splat_frame *frame, uint32_t n, const splat_camera *camera,
                                 splat_error *error)
{
    if (camera->width < 1 || camera->height < 1 || camera->width > 65536 || camera->height > 65536)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a picture of %d x %d pixels cannot be rendered", camera->width,
                          camera->height);
    frame->camera = *camera;
    frame->tiles_x = ((uint32_t)camera->width + SPLAT_TILE - 1) / SPLAT_TILE;
    frame->tiles_y = ((uint32_t)camera->height + SPLAT_TILE - 1) / SPLAT_TILE;
    frame->n_visible = frame->n_degenerate = 0;
    frame->n_instances = 0;
    frame->row_begin = frame->row_end = 0;
    frame->capacity = n;
    frame->region.name = "frame";
    SPLAT_TRY(splat_region_reset(backend, &frame->region, error));
    frame->instances = frame->instance_slots = frame->slot_begin = NULL;
    frame->instance_room = 0;
    frame->bin_order = NULL;
    frame->grad2d = NULL;
    frame->blended = NULL;

    size_t n_tiles = (size_t)frame->tiles_x * frame->tiles_y, n_pixels = (size_t)camera->width * (size_t)camera->height;
    TAKE(frame->image, 3 * n_pixels);
    TAKE(frame->transmittance, n_pixels);
    TAKE(frame->last, n_pixels);
    TAKE(frame->tile_begin, 2 * n_tiles + 1); /* and an order of the tiles */
    TAKE(frame->ids, n);
    TAKE(frame->mean2d, 2 * (size_t)n);
    TAKE(frame->conic, 4 * (size_t)n);
    TAKE(frame->rgb, 3 * (size_t)n);
    TAKE(frame->depth, n);
    TAKE(frame->tile_rect, 4 * (size_t)n);
    return SPLAT_OK;
}

splat_status splat_frame_reserve_gradients(splat_backend *backend, splat_frame *frame, bool bands, splat_error *error)
{
    size_t bytes = (frame->capacity ? frame->capacity : 1) * sizeof *frame->grad2d;
    void *data;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    if (bands) /* bin runs between the bands, and its working memory is scratch */
        SPLAT_TRY(splat_frame_take(backend, frame, bytes, &data, error));
    else
        SPLAT_TRY(splat_scratch_take(backend, bytes, &data, error));
    frame->grad2d = data;
    return backend->functions->zero(backend, data, bytes, error);
}

void splat_frame_free(splat_backend *backend, splat_frame *frame)
{
    splat_region_free(backend, &frame->region);
    memset(frame, 0, sizeof *frame);
}
