/* Depth maps: from the pixel of the view through the lens to the pixel of the file, in one step. */
#include "scene/depth_map.h"

#include "io/picture/gray16.h"

#include <stdlib.h>

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

splat_status splat_depth_map_load(const splat_dataset_view *view, uint16_t *values, splat_error *error)
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
