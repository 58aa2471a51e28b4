/* Photos: what decoding one means, and how it becomes a picture of its view's camera. */
#include "scene/photo.h"

#include "io/picture/gray16.h"
#include "io/picture/image_read.h"
#include "io/picture/image_resize.h"
#include "scene/photo_undistort.h"

#include "math/camera.h"
#include "scene/mask.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Below this scale the undistorted photo is made at its own resolution first and then resized with a filter:
 * sampling it bilinearly would alias. */
#define MIN_DIRECT_SCALE 0.75

/* ---------------------------------------------------------------- files, or memory */

splat_status splat_photo_probe(const splat_dataset_view *view, int *width, int *height, int *channels,
                               splat_error *error)
{
    if (!view->in_memory) return splat_image_probe(view->path, width, height, channels, error);
    *width = view->in_memory->width;
    *height = view->in_memory->height;
    *channels = view->in_memory->channels;
    return SPLAT_OK;
}

splat_exif splat_photo_read_exif(const splat_dataset_view *view)
{
    return view->in_memory ? (splat_exif){0} : splat_exif_read(view->path);
}

/* Copies the given pixels, because the receiver changes the image. */
static splat_status copy_from_memory(const splat_dataset_view *view, const uint8_t *pixels, int channels,
                                     splat_image *image, splat_error *error)
{
    size_t bytes = (size_t)view->in_memory->width * (size_t)view->in_memory->height * (size_t)channels;
    *image = (splat_image){view->in_memory->width, view->in_memory->height, channels, malloc(bytes)};
    if (!image->pixels)
        return splat_fail_at(error, SPLAT_ERROR_MEMORY, view->path, SPLAT_NO_OFFSET, "no memory for a photo");
    memcpy(image->pixels, pixels, bytes);
    return SPLAT_OK;
}

static splat_status read_photo(const splat_dataset_view *view, splat_image *image, splat_error *error)
{
    if (!view->in_memory) return splat_image_read(view->path, image, error);
    return copy_from_memory(view, view->in_memory->pixels, view->in_memory->channels, image, error);
}

static splat_status read_resized(const splat_dataset_view *view, const splat_image_request *target, splat_image *image,
                                 splat_error *error)
{
    if (!view->in_memory) return splat_image_read_as(view->path, target, image, error);
    SPLAT_TRY(read_photo(view, image, error));
    splat_status status = splat_image_composite(image, target->background, target->truncate, error);
    if (status == SPLAT_OK) status = splat_image_resize(image, target->width, target->height, error);
    if (status != SPLAT_OK) splat_image_free(image);
    return status;
}

static splat_status copy_given_mask(const splat_dataset *dataset, const splat_dataset_view *view, splat_image *mask,
                                    splat_error *error)
{
    SPLAT_TRY(copy_from_memory(view, view->mask_in_memory, 1, mask, error));
    size_t n = (size_t)mask->width * (size_t)mask->height;
    for (size_t i = 0; dataset->invert_masks && i < n; i++) mask->pixels[i] = (uint8_t)(255 - mask->pixels[i]);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- whole photos */

void splat_photo_undistorted_size(const splat_dataset_view *view, int *width, int *height)
{
    *width = view->file_width;
    *height = view->file_height;
    if (!view->is_distorted) return;
    *width = (int)fmax(1, rint((double)view->frame.width * view->file_width / view->lens.width));
    *height = (int)fmax(1, rint((double)view->frame.height * view->file_height / view->lens.height));
}

/* Undistorts for a size, at that size or at the photo's own. */
static splat_status undistort_into(const splat_dataset_view *view, const splat_image *photo, splat_image *result,
                                   splat_error *error)
{
    int width = view->camera.width, height = view->camera.height, full_width, full_height;
    splat_photo_undistorted_size(view, &full_width, &full_height);
    bool is_direct = width >= MIN_DIRECT_SCALE * full_width && height >= MIN_DIRECT_SCALE * full_height;
    bool is_crop = view->n_crops > 0; /* as fine as the photo in the middle, and finer around it: soft when bilinear */
    return splat_photo_undistort(&view->lens, &view->frame, is_crop ? view->turn : NULL,
                                 is_direct ? width : full_width, is_direct ? height : full_height,
                                 is_crop && is_direct, photo, result, error);
}

static splat_status undistort(const splat_dataset_view *view, splat_image *image, splat_error *error)
{
    splat_image result;
    if (!view->is_distorted) return SPLAT_OK;
    SPLAT_TRY(undistort_into(view, image, &result, error));
    splat_image_free(image);
    *image = result;
    return SPLAT_OK;
}

splat_status splat_photo_fit(const splat_dataset_view *view, splat_image *image, splat_error *error)
{
    SPLAT_TRY(undistort(view, image, error));
    return splat_image_resize(image, view->camera.width, view->camera.height, error);
}

static splat_status check_size(const splat_dataset_view *target, splat_error *error)
{
    int width, height, channels;
    SPLAT_TRY(splat_photo_probe(target, &width, &height, &channels, error));
    if (width == target->file_width && height == target->file_height) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, target->path, SPLAT_NO_OFFSET,
                         "the photo has %d x %d pixels, but had %d x %d when the scene was opened: open it again",
                         width, height, target->file_width, target->file_height);
}

static splat_status load_whole(const splat_dataset *dataset, const splat_dataset_view *target, splat_image *image,
                               splat_error *error)
{
    /* Compositing comes first: resizing then sees the colours that the loaders of the field see. */
    splat_image_request size = {target->camera.width, target->camera.height, dataset->white_background ? 255 : 0,
                                dataset->composite_truncates};
    if (target->is_distorted) { /* splat_photo_fit makes it smaller */
        size.width = target->file_width;
        size.height = target->file_height;
    }
    SPLAT_TRY(read_resized(target, &size, image, error));
    splat_status status = target->is_distorted ? splat_photo_fit(target, image, error) : SPLAT_OK;
    if (status != SPLAT_OK) splat_image_free(image);
    return status;
}

/* ---------------------------------------------------------------- depth maps */

/* Finds the place of a pixel's centre in the photo, in 0 .. 1 of its sides. */
static bool find_place(const splat_dataset_view *view, int x, int y, double place[2])
{
    const splat_camera *camera = &view->camera;
    place[0] = (x + 0.5) / camera->width;
    place[1] = (y + 0.5) / camera->height;
    if (!view->is_distorted) return true;
    const splat_lens_frame *frame = &view->frame;
    const double ray[3] = {(place[0] * frame->width - frame->cx) / frame->fx,
                           (place[1] * frame->height - frame->cy) / frame->fy, 1};
    if (!splat_lens_project(&view->lens, ray, place)) return false;
    place[0] /= view->lens.width;
    place[1] /= view->lens.height;
    return true;
}

static int clamp_index(double value, int size)
{
    if (!(value > 0)) return 0;
    return value < size ? (int)value : size - 1;
}

/* Reads the map of inverse depths of a view that has one and takes it to the view's camera: values =
 * uint16_t[height][width], the caller's. Each is that of the map's pixel under the middle of the view's, through the
 * lens where the photo is distorted: none is mixed of two, as between two surfaces there is none. Where the lens sees
 * nothing: 0. */
static splat_status load_depth_map(const splat_dataset_view *view, uint16_t *values, splat_error *error)
{
    uint16_t *pixels;
    const int width = view->camera.width, height = view->camera.height;
    SPLAT_TRY(splat_gray16_read(view->depth_path, view->depth_width, view->depth_height, &pixels, error));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            double place[2];
            uint16_t *value = &values[(size_t)y * (size_t)width + (size_t)x];
            *value = 0;
            if (!find_place(view, x, y, place)) continue;
            int column = clamp_index(place[0] * view->depth_width, view->depth_width);
            int row = clamp_index(place[1] * view->depth_height, view->depth_height);
            *value = pixels[(size_t)row * (size_t)view->depth_width + (size_t)column];
        }
    free(pixels);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- masked photos */

splat_status splat_photo_read_mask(const splat_dataset *dataset, const splat_dataset_view *view,
                                   const splat_image *photo, splat_image *mask, splat_error *error)
{
    *mask = (splat_image){0};
    if (view->mask_in_memory) return copy_given_mask(dataset, view, mask, error);
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

/* Photos that are measured alone stay as they are. */
static bool is_filled(const splat_dataset *dataset, const splat_dataset_view *view)
{
    return dataset->mask_mode != SPLAT_MASKS_ALPHA && !view->is_test;
}

static uint8_t background_of(const splat_dataset *dataset)
{
    return dataset->white_background ? 255 : 0;
}

/* At the size of the file, before pixels are mixed: what the mask covers is filled. */
static splat_status cover_masked(const splat_dataset *dataset, const splat_dataset_view *view, splat_image *photo,
                                 splat_image *mask, splat_error *error)
{
    if (!mask->pixels) SPLAT_TRY(make_white(view, mask, error));
    if (dataset->mask_mode == SPLAT_MASKS_ALPHA && splat_view_has_own_mask(view))
        splat_mask_composite(mask, background_of(dataset), photo);
    else if (is_filled(dataset, view))
        SPLAT_TRY(splat_mask_fill(mask, photo, error));
    return SPLAT_OK;
}

/* And after undistortion what the photo lacks; then both become those of the camera. */
static splat_status fit_masked(const splat_dataset *dataset, const splat_dataset_view *view, splat_image *photo,
                               splat_image *mask, splat_error *error)
{
    bool is_alpha = dataset->mask_mode == SPLAT_MASKS_ALPHA;
    if (view->is_distorted && is_alpha)
        splat_mask_composite_blank(mask, background_of(dataset), photo);
    else if (view->is_distorted && is_filled(dataset, view))
        SPLAT_TRY(splat_mask_fill(mask, photo, error));
    SPLAT_TRY(splat_image_resize(photo, view->camera.width, view->camera.height, error));
    SPLAT_TRY(splat_mask_resize(mask, view->camera.width, view->camera.height, error));
    if (!is_alpha) splat_mask_decide(mask);
    return SPLAT_OK;
}

/* The photo and its mask, at the size of the file. */
static splat_status read_masked(const splat_dataset *dataset, const splat_dataset_view *view, splat_image *photo,
                                splat_image *mask, splat_error *error)
{
    SPLAT_TRY(read_photo(view, photo, error));
    SPLAT_TRY(splat_photo_read_mask(dataset, view, photo, mask, error));
    SPLAT_TRY(splat_image_composite(photo, background_of(dataset), dataset->composite_truncates, error));
    return cover_masked(dataset, view, photo, mask, error);
}

static splat_status load_masked(const splat_dataset *dataset, const splat_dataset_view *view, splat_image *photo,
                                splat_image *mask, splat_error *error)
{
    SPLAT_TRY(read_masked(dataset, view, photo, mask, error));
    SPLAT_TRY(undistort(view, photo, error));
    SPLAT_TRY(undistort(view, mask, error));
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

/* The map of inverse depths after those. */
static splat_status append_depth(splat_image *photo, const splat_dataset_view *view, splat_error *error)
{
    uint8_t *grown = realloc(photo->pixels, splat_view_decoded_bytes(view));
    if (!grown) return splat_fail_at(error, SPLAT_ERROR_MEMORY, view->path, SPLAT_NO_OFFSET, "no memory for its depth");
    photo->pixels = grown;
    for (size_t i = splat_view_photo_bytes(view); i < splat_view_depth_at(view); i++) grown[i] = 0; /* an odd byte */
    return load_depth_map(view, (uint16_t *)(void *)(grown + splat_view_depth_at(view)), error);
}

/* ---------------------------------------------------------------- one view, or crops */

static splat_status finish(const splat_dataset_view *view, splat_image *photo, splat_image *mask, splat_status status,
                           uint8_t **rgb, splat_error *error)
{
    if (status == SPLAT_OK && view->has_mask) status = join(photo, mask, view->path, error);
    if (status == SPLAT_OK && view->depth_path) status = append_depth(photo, view, error);
    splat_image_free(mask);
    if (status == SPLAT_OK)
        *rgb = photo->pixels;
    else
        splat_image_free(photo);
    return status;
}

/* A crop of what read_masked made. */
static splat_status load_crop(const splat_dataset *dataset, const splat_dataset_view *view, const splat_image *photo,
                              const splat_image *mask, uint8_t **rgb, splat_error *error)
{
    splat_image cut = {0}, cut_mask = {0};
    splat_status status = undistort_into(view, photo, &cut, error);
    if (status == SPLAT_OK && view->has_mask) {
        status = undistort_into(view, mask, &cut_mask, error);
        if (status == SPLAT_OK) status = fit_masked(dataset, view, &cut, &cut_mask, error);
    } else if (status == SPLAT_OK) {
        status = splat_image_resize(&cut, view->camera.width, view->camera.height, error);
    }
    return finish(view, &cut, &cut_mask, status, rgb, error);
}

splat_status splat_photo_load_crops(const splat_dataset *dataset, const uint32_t *views, int n, uint8_t **rgb,
                                    splat_error *error)
{
    const splat_dataset_view *first = &dataset->views[views[0]];
    splat_image photo = {0}, mask = {0};
    for (int i = 0; i < n; i++) rgb[i] = NULL;
    SPLAT_TRY(check_size(first, error));
    splat_status status = read_masked(dataset, first, &photo, &mask, error);
    for (int i = 0; i < n && status == SPLAT_OK; i++)
        status = load_crop(dataset, &dataset->views[views[i]], &photo, &mask, &rgb[i], error);
    splat_image_free(&photo);
    splat_image_free(&mask);
    for (int i = 0; i < n && status != SPLAT_OK; i++) {
        free(rgb[i]);
        rgb[i] = NULL;
    }
    return status;
}

splat_status splat_photo_load(const splat_dataset *dataset, size_t view, uint8_t **rgb, splat_error *error)
{
    const splat_dataset_view *target = &dataset->views[view];
    splat_image photo = {0}, mask = {0};
    const uint32_t index = (uint32_t)view;
    *rgb = NULL;
    if (target->n_crops) return splat_photo_load_crops(dataset, &index, 1, rgb, error);
    SPLAT_TRY(check_size(target, error));
    splat_status status = target->has_mask ? load_masked(dataset, target, &photo, &mask, error)
                                           : load_whole(dataset, target, &photo, error);
    return finish(target, &photo, &mask, status, rgb, error);
}
