/* Planes of a scene: its photos at the size of the maps. */
#include "surface/planes/planes.h"

#include "io/picture/image.h"

#include <stdlib.h>
#include <string.h>

typedef struct photo_source {
    splat_scene *scene;
    const splat_view_maps *maps;
} photo_source;

static splat_status resize(const uint8_t *photo, int width, int height, const splat_camera *wanted, uint8_t *rgb,
                           splat_error *error)
{
    size_t n = 3 * (size_t)width * (size_t)height;
    splat_image image = {width, height, 3, malloc(n)};
    if (!image.pixels)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a photo of %d x %d", width, height);
    memcpy(image.pixels, photo, n);
    splat_status status = splat_image_resize(&image, wanted->width, wanted->height, error);
    if (status == SPLAT_OK) memcpy(rgb, image.pixels, 3 * (size_t)wanted->width * (size_t)wanted->height);
    splat_image_free(&image);
    return status;
}

static splat_status take_photo(void *user, size_t number, uint8_t *rgb, splat_error *error)
{
    const photo_source *source = user;
    const splat_view_map *map = &source->maps->views[number];
    const splat_camera *full = &source->scene->dataset.views[map->index].camera, *wanted = &map->camera;
    const uint8_t *photo;
    splat_status status = SPLAT_OK;
    SPLAT_TRY(splat_image_cache_acquire(source->scene->cache, map->index, &photo, error));
    if (full->width == wanted->width && full->height == wanted->height)
        memcpy(rgb, photo, 3 * (size_t)full->width * (size_t)full->height);
    else
        status = resize(photo, full->width, full->height, wanted, rgb, error);
    splat_image_cache_release(source->scene->cache, map->index);
    return status;
}

splat_status splat_surface_planes_apply(splat_scene *scene, const splat_mesh_extract_options *options,
                                        splat_view_maps *maps, splat_error *error)
{
    photo_source source = {scene, maps};
    splat_planes_info info;
    splat_planes_options own = {scene->context->threads, options->seed, take_photo, &source};
    SPLAT_TRY(splat_surface_go_on(options, "looking for planes", 0, error));
    SPLAT_TRY(splat_planes_find(maps, &own, &info, error));
    uint64_t n_pixels = 0;
    for (size_t i = 0; i < maps->n; i++)
        n_pixels += (uint64_t)maps->views[i].camera.width * (uint64_t)maps->views[i].camera.height;
    splat_log(scene->context, SPLAT_LOG_NOTICE,
              "%zu planes: %.1f %% of the photos' pixels are plain, and %.1f %% of those lie on a plane", info.n,
              100.0 * (double)info.n_plain / (double)(n_pixels ? n_pixels : 1),
              100.0 * (double)info.n_pixels / (double)(info.n_plain ? info.n_plain : 1));
    splat_planes_info_free(&info);
    return SPLAT_OK;
}
