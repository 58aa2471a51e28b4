/* Photos: what decoding one means, and how it becomes a picture of its view's camera. */
#include "scene/photo.h"

#include "math/camera.h"

#include <math.h>
#include <stdlib.h>

/* Below this scale the undistorted photo is made at its own resolution first and then resized with a filter:
 * sampling it bilinearly would alias. */
#define MIN_DIRECT_SCALE 0.75

void splat_photo_undistorted_size(const splat_dataset_view *view, int *width, int *height)
{
    *width = view->file_width;
    *height = view->file_height;
    if (!view->is_distorted) return;
    *width = (int)fmax(1, rint((double)view->frame.width * view->file_width / view->lens.width));
    *height = (int)fmax(1, rint((double)view->frame.height * view->file_height / view->lens.height));
}

splat_status splat_photo_fit(const splat_dataset_view *view, splat_image *image, splat_error *error)
{
    int width = view->camera.width, height = view->camera.height;
    if (view->is_distorted) {
        int full_width, full_height;
        splat_photo_undistorted_size(view, &full_width, &full_height);
        bool is_direct = width >= MIN_DIRECT_SCALE * full_width && height >= MIN_DIRECT_SCALE * full_height;
        SPLAT_TRY(splat_photo_undistort(&view->lens, &view->frame, is_direct ? width : full_width,
                                        is_direct ? height : full_height, image, error));
    }
    return splat_image_resize(image, width, height, error);
}

splat_status splat_photo_load(const splat_dataset *dataset, size_t view, uint8_t **rgb, splat_error *error)
{
    const splat_dataset_view *wanted = &dataset->views[view];
    /* Compositing comes first: resizing then sees the colours that the loaders of the field see. */
    splat_image_wanted size = {wanted->camera.width, wanted->camera.height,
                               dataset->white_background ? 255 : 0, dataset->composite_truncates};
    if (wanted->is_distorted) { /* splat_photo_fit makes it smaller */
        size.width = wanted->file_width;
        size.height = wanted->file_height;
    }
    splat_image image;
    int width, height, channels;
    *rgb = NULL;
    SPLAT_TRY(splat_image_probe(wanted->path, &width, &height, &channels, error));
    if (width != wanted->file_width || height != wanted->file_height)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, wanted->path, SPLAT_NO_OFFSET,
                             "the photo has %d x %d pixels, but had %d x %d when the scene was opened: open it again",
                             width, height, wanted->file_width, wanted->file_height);
    SPLAT_TRY(splat_image_read_wanted(wanted->path, &size, &image, error));
    splat_status status = wanted->is_distorted ? splat_photo_fit(wanted, &image, error) : SPLAT_OK;
    if (status == SPLAT_OK)
        *rgb = image.pixels;
    else
        splat_image_free(&image);
    return status;
}
