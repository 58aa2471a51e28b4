/* A view's memory and its bands: the only loops over bands that there are. */
#include "ops/view.h"

#include "backend/backend.h"
#include "math/camera.h"
#include "ops/bin/bin.h"
#include "ops/dome/dome.h"
#include "ops/raster/raster.h"

#include <string.h>

/* The frame without its arrays. */
static splat_status begin_frame(splat_backend *backend, splat_frame *frame, uint32_t n, const splat_camera *camera,
                                splat_error *error)
{
    if (camera->width < 1 || camera->height < 1 || camera->width > 65536 || camera->height > 65536)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a picture of %d x %d pixels cannot be rendered", camera->width,
                          camera->height);
    memset(frame, 0, offsetof(splat_frame, region));
    frame->camera = *camera;
    frame->tiles_x = (uint32_t)splat_tiles_along((size_t)camera->width);
    frame->tiles_y = (uint32_t)splat_tiles_along((size_t)camera->height);
    frame->capacity = n;
    frame->region.name = SPLAT_BLOCK_FRAME;
    SPLAT_TRY(splat_region_reset(backend, &frame->region, error));

    if (!backend->view_state_bytes) return SPLAT_OK;
    SPLAT_TRY(splat_frame_take(backend, frame, backend->view_state_bytes, &frame->state, error));
    return splat_backend_zero(backend, frame->state, backend->view_state_bytes, error);
}

splat_status splat_view_begin(splat_backend *backend, splat_frame *frame, uint32_t n, const splat_camera *camera,
                              splat_error *error)
{
    SPLAT_TRY(begin_frame(backend, frame, n, camera, error));
    size_t n_tiles = (size_t)frame->tiles_x * frame->tiles_y, n_pixels = splat_camera_pixels(camera);
#define TAKE(field, elements)                                                                                          \
    SPLAT_TRY(splat_frame_take(backend, frame, (elements) * sizeof *frame->field, (void **)&frame->field, error));
    SPLAT_VIEW_ARRAYS(TAKE, (size_t)n, n_pixels, n_tiles)
    return SPLAT_OK;
}

static splat_status take_gaussians(splat_backend *backend, splat_frame *frame, uint32_t n, splat_error *error)
{
    SPLAT_VIEW_GAUSSIAN_ARRAYS(TAKE, (size_t)n)
#undef TAKE
    frame->capacity = n;
    return SPLAT_OK;
}

splat_status splat_view_begin_projection(splat_backend *backend, splat_frame *frame, uint32_t n,
                                         const splat_camera *camera, splat_error *error)
{
    SPLAT_TRY(begin_frame(backend, frame, n, camera, error));
    return take_gaussians(backend, frame, n, error);
}

splat_status splat_view_replace_gaussians(splat_backend *backend, splat_frame *frame, uint32_t n, splat_error *error)
{
    frame->n_visible = n;
    return take_gaussians(backend, frame, n, error);
}

static splat_status bin_band(splat_backend *backend, splat_frame *frame, uint32_t first_row, splat_error *error)
{
    frame->row_begin = first_row;
    return splat_op_bin(backend, &(struct splat_bin_args){frame}, error);
}

splat_status splat_view_forward(splat_backend *backend, splat_frame *frame, const splat_view_blend *blend,
                                splat_error *error)
{
    frame->max_instances = blend->max_instances;
    frame->n_view_instances = 0;
    frame->n_bands = 0;
    for (uint32_t row = 0; row < frame->tiles_y; row = frame->row_end) {
        frame->band_begin[frame->n_bands++] = row;
        SPLAT_TRY(bin_band(backend, frame, row, error));
        if (row == 0 && blend->binned_mark) SPLAT_TRY(splat_backend_stamp(backend, blend->binned_mark, error));
        if (blend->colors) SPLAT_TRY(splat_op_raster(backend, &(struct splat_raster_args){frame, blend->depth}, error));
        if (blend->geometry) SPLAT_TRY(splat_op_geometry(backend, blend->geometry, error));
        if (blend->view_count) SPLAT_TRY(splat_op_view_count(backend, blend->view_count, error));
        frame->n_view_instances += frame->n_instances;
    }
    if (!blend->colors || !frame->dome.colors) return SPLAT_OK;
    return splat_op_dome(backend, &(struct splat_dome_args){frame}, error);
}

splat_status splat_view_reserve_gradients(splat_backend *backend, splat_frame *frame, splat_error *error)
{
    size_t bytes = splat_view_gradients_bytes(frame->capacity);
    void *data;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    if (frame->n_bands > 1) /* bin runs between the bands, and its working memory is scratch */
        SPLAT_TRY(splat_frame_take(backend, frame, bytes, &data, error));
    else
        SPLAT_TRY(splat_scratch_take(backend, bytes, &data, error));
    frame->grad2d = data;
    return splat_op_clear_gradients(backend, &(struct splat_clear_gradients_args){frame}, error);
}

splat_status splat_view_backward(splat_backend *backend, splat_frame *frame, const splat_view_gradients *gradients,
                                 splat_error *error)
{
    SPLAT_TRY(splat_view_reserve_gradients(backend, frame, error));
    for (uint32_t band = frame->n_bands; band-- > 0;) {
        if (band + 1 < frame->n_bands) SPLAT_TRY(bin_band(backend, frame, frame->band_begin[band], error));
        struct splat_raster_backward_args colors = {frame, gradients->image, gradients->without_mean_abs,
                                                    gradients->alpha, gradients->depth};
        if (gradients->image) SPLAT_TRY(splat_op_raster_backward(backend, &colors, error));
        if (gradients->geometry) SPLAT_TRY(splat_op_geometry_backward(backend, gradients->geometry, error));
    }
    return SPLAT_OK;
}
