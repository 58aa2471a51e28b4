/* The memory of a frame: one region, from which its arrays are cut (view.c). */
#include "backend/backend.h"
#include "ops/frame.h"

#include <string.h>

splat_status splat_frame_take(splat_backend *backend, splat_frame *frame, size_t bytes, void **data,
                              splat_error *error)
{
    return splat_region_take(backend, &frame->region, bytes, data, error);
}

void splat_frame_free(splat_backend *backend, splat_frame *frame)
{
    splat_region_free(backend, &frame->region);
    memset(frame, 0, sizeof *frame);
}
