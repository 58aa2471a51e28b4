/* Photos: what decoding one means, and how it becomes a picture of its view's camera. */
#include "scene/photo.h"

#include "math/camera.h"
#include "scene/mask.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Undistorts for a size, at that size or at the photo's own. */
static splat_status undistort(const splat_dataset_view *view, splat_image *image, splat_error *error)
{
    int width = view->camera.width, height = view->camera.height, full_width, full_height;
    if (!view->is_distorted) return SPLAT_OK;
    splat_photo_undistorted_size(view, &full_width, &full_height);
    bool is_direct = width >= MIN_DIRECT_SCALE * full_width && height >= MIN_DIRECT_SCALE * full_height;
    return splat_photo_undistort(&view->lens, &view->frame, is_direct ? width : full_width,
                                 is_direct ? height : full_height, image, error);
}

splat_status splat_photo_fit(const splat_dataset_view *view, splat_image *image, splat_error *error)
{
    SPLAT_TRY(undistort(view, image, error));
    return splat_image_resize(image, view->camera.width, view->camera.height, error);
}

static splat_status check_size(const splat_dataset_view *wanted, splat_error *error)
{
    int width, height, channels;
    SPLAT_TRY(splat_image_probe(wanted->path, &width, &height, &channels, error));
    if (width == wanted->file_width && height == wanted->file_height) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, wanted->path, SPLAT_NO_OFFSET,
                         "the photo has %d x %d pixels, but had %d x %d when the scene was opened: open it again",
                         width, height, wanted->file_width, wanted->file_height);
}

static splat_status load_whole(const splat_dataset *dataset, const splat_dataset_view *wanted, splat_image *image,
                               splat_error *error)
{
    /* Compositing comes first: resizing then sees the colours that the loaders of the field see. */
    splat_image_wanted size = {wanted->camera.width, wanted->camera.height,
                               dataset->white_background ? 255 : 0, dataset->composite_truncates};
    if (wanted->is_distorted) { /* splat_photo_fit makes it smaller */
        size.width = wanted->file_width;
        size.height = wanted->file_height;
    }
    SPLAT_TRY(splat_image_read_wanted(wanted->path, &size, image, error));
    splat_status status = wanted->is_distorted ? splat_photo_fit(wanted, image, error) : SPLAT_OK;
    if (status != SPLAT_OK) splat_image_free(image);
    return status;
}

/* ---------------------------------------------------------------- masked photos */

splat_status splat_photo_read_mask(const splat_dataset *dataset, const splat_dataset_view *view,
                                   const splat_image *photo, splat_image *mask, splat_error *error)
{
    *mask = (splat_image){0};
    if (view->mask_path)
        return splat_mask_read(view->mask_path, view->file_width, view->file_height, dataset->invert_masks, mask,
                               error);
    if (view->has_alpha_mask && photo->channels == 4)
        return splat_mask_from_alpha(photo, dataset->invert_masks, mask, error);
    return SPLAT_OK;
}

static splat_status make_white(const splat_dataset_view *view, splat_image *mask, splat_error *error)
{
    size_t n = (size_t)view->file_width * (size_t)view->file_height;
    *mask = (splat_image){view->file_width, view->file_height, 1, malloc(n)};
    if (!mask->pixels) return splat_fail_at(error, SPLAT_ERROR_MEMORY, view->path, SPLAT_NO_OFFSET,
                                            "no memory for a mask");
    memset(mask->pixels, 255, n);
    return SPLAT_OK;
}

splat_status splat_photo_fit_mask(const splat_dataset_view *view, splat_image *mask, splat_error *error)
{
    if (!mask->pixels) SPLAT_TRY(make_white(view, mask, error));
    SPLAT_TRY(undistort(view, mask, error));
    return splat_mask_resize(mask, view->camera.width, view->camera.height, error);
}

/* The photo and its mask at the size of the file become those of the camera. What is not kept is filled before pixels
 * are mixed: first what the mask covers, then what the undistorted photo lacks. Photos that are measured alone stay as
 * they are. */
static splat_status fit_masked(const splat_dataset *dataset, const splat_dataset_view *view, splat_image *photo,
                               splat_image *mask, splat_error *error)
{
    uint8_t background = dataset->white_background ? 255 : 0;
    bool is_alpha = dataset->mask_mode == SPLAT_MASKS_ALPHA, is_filled = !is_alpha && !view->is_test;
    if (!mask->pixels) SPLAT_TRY(make_white(view, mask, error));
    if (is_alpha && view->mask_path)
        splat_mask_composite(mask, background, photo);
    else if (is_filled)
        SPLAT_TRY(splat_mask_fill(mask, photo, error));
    if (view->is_distorted) {
        SPLAT_TRY(undistort(view, photo, error));
        SPLAT_TRY(undistort(view, mask, error));
        if (is_alpha)
            splat_mask_composite_blank(mask, background, photo);
        else if (is_filled)
            SPLAT_TRY(splat_mask_fill(mask, photo, error));
    }
    SPLAT_TRY(splat_image_resize(photo, view->camera.width, view->camera.height, error));
    SPLAT_TRY(splat_mask_resize(mask, view->camera.width, view->camera.height, error));
    if (!is_alpha) splat_mask_decide(mask);
    return SPLAT_OK;
}

static splat_status load_masked(const splat_dataset *dataset, const splat_dataset_view *view, splat_image *photo,
                                splat_image *mask, splat_error *error)
{
    SPLAT_TRY(splat_image_read(view->path, photo, error));
    SPLAT_TRY(splat_photo_read_mask(dataset, view, photo, mask, error));
    SPLAT_TRY(splat_image_composite(photo, dataset->white_background ? 255 : 0, dataset->composite_truncates, error));
    return fit_masked(dataset, view, photo, mask, error);
}

/* The mask after the colours, in one piece of memory. */
static splat_status join(splat_image *photo, const splat_image *mask, const char *path, splat_error *error)
{
    size_t n = (size_t)mask->width * (size_t)mask->height;
    uint8_t *grown = realloc(photo->pixels, 4 * n);
    if (!grown) return splat_fail_at(error, SPLAT_ERROR_MEMORY, path, SPLAT_NO_OFFSET, "no memory for a mask");
    memcpy(grown + 3 * n, mask->pixels, n);
    photo->pixels = grown;
    return SPLAT_OK;
}

splat_status splat_photo_load(const splat_dataset *dataset, size_t view, uint8_t **rgb, splat_error *error)
{
    const splat_dataset_view *wanted = &dataset->views[view];
    splat_image photo = {0}, mask = {0};
    *rgb = NULL;
    SPLAT_TRY(check_size(wanted, error));
    splat_status status = wanted->has_mask ? load_masked(dataset, wanted, &photo, &mask, error)
                                           : load_whole(dataset, wanted, &photo, error);
    if (status == SPLAT_OK && wanted->has_mask) status = join(&photo, &mask, wanted->path, error);
    splat_image_free(&mask);
    if (status == SPLAT_OK)
        *rgb = photo.pixels;
    else
        splat_image_free(&photo);
    return status;
}
