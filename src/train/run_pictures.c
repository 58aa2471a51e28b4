#include "train/run_pictures.h"

#include "io/image.h"
#include "train/colormap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUALITY 88

/* Takes rgb over. */
static bool encode(const char *name, int width, int height, uint8_t *rgb, splat_jpeg *jpeg)
{
    splat_error ignored;
    splat_image image = {width, height, 3, rgb};
    int small = width < SPLAT_PICTURE_MOST_WIDTH ? width : SPLAT_PICTURE_MOST_WIDTH;
    int rows = (int)((double)height * small / width + 0.5);
    bool good = small == width || splat_image_resize(&image, small, rows > 0 ? rows : 1, &ignored) == SPLAT_OK;
    good = good && splat_jpeg_encode(name, image.width, image.height, image.pixels, QUALITY, &jpeg->data, &jpeg->size,
                                     &ignored) == SPLAT_OK;
    splat_image_free(&image);
    return good;
}

static void discard(splat_run_picture *picture)
{
    free(picture->render.data);
    free(picture->photo.data);
    free(picture->error_map.data);
    memset(picture, 0, sizeof *picture);
}

static bool encode_all(splat_run_picture *picture, const splat_report_view *view)
{
    size_t bytes = 3 * (size_t)view->width * (size_t)view->height;
    for (int i = 0; i < 3; i++) {
        splat_jpeg *jpeg = i == 0 ? &picture->render : i == 1 ? &picture->photo : &picture->error_map;
        uint8_t *rgb = malloc(bytes);
        if (!rgb) return false;
        if (i == 0) splat_image_from_planar(view->render, view->width, view->height, rgb);
        if (i == 1) memcpy(rgb, view->photo, bytes);
        if (i == 2) splat_error_map(view->width, view->height, view->render, view->photo, rgb);
        if (!encode(view->name, view->width, view->height, rgb, jpeg)) return false;
    }
    return true;
}

void splat_run_pictures_add(splat_run_pictures *p, int iteration, const splat_report_view *view,
                            const splat_metrics *metrics)
{
    bool is_newer = iteration != p->iteration;
    if (!is_newer && p->is_test && !view->is_test) return;
    if (is_newer || p->is_test != view->is_test) splat_run_pictures_free(p);
    p->iteration = iteration;
    p->is_test = view->is_test;
    if (p->n == SPLAT_MOST_PICTURES) return;
    splat_run_picture *picture = &p->views[p->n];
    *picture = (splat_run_picture){.width = view->width, .height = view->height, .metrics = *metrics};
    snprintf(picture->name, sizeof picture->name, "%s", view->name);
    if (encode_all(picture, view)) p->n++;
    else discard(picture);
}

void splat_run_pictures_free(splat_run_pictures *p)
{
    for (size_t i = 0; i < p->n; i++) discard(&p->views[i]);
    memset(p, 0, sizeof *p);
}
