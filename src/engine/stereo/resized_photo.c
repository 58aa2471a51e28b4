/* Photos from the scene's cache, resized. */
#include "stereo/resized_photo.h"

#include "io/picture/image.h"
#include "io/picture/image_read.h"
#include "io/picture/image_resize.h"
#include "math/camera.h"
#include "scene/image_cache.h"
#include "scene/scene.h"

#include <stdlib.h>
#include <string.h>

static splat_status resize(const uint8_t *photo, int width, int height, const splat_camera *target, uint8_t *rgb,
                           splat_error *error)
{
    size_t n = 3 * (size_t)width * (size_t)height;
    splat_image image = {width, height, 3, malloc(n)};
    if (!image.pixels)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a photo of %d x %d", width, height);
    memcpy(image.pixels, photo, n);
    splat_status status = splat_image_resize(&image, target->width, target->height, error);
    if (status == SPLAT_OK) memcpy(rgb, image.pixels, 3 * splat_camera_pixels(target));
    splat_image_free(&image);
    return status;
}

splat_status splat_resized_photo(splat_scene *scene, uint32_t view, const splat_camera *target, uint8_t *rgb,
                                 splat_error *error)
{
    const splat_camera *full = &scene->dataset.views[view].camera;
    const uint8_t *photo;
    splat_status status = SPLAT_OK;
    SPLAT_TRY(splat_image_cache_acquire(scene->cache, view, &photo, error));
    if (full->width == target->width && full->height == target->height)
        memcpy(rgb, photo, 3 * splat_camera_pixels(full));
    else
        status = resize(photo, full->width, full->height, target, rgb, error);
    splat_image_cache_release(scene->cache, view);
    return status;
}
