/* Views scaled down and encoded as JPEG. */
#include "report/page/run_pictures.h"

#include "io/picture/image_read.h"
#include "io/picture/image_resize.h"
#include "io/picture/image_write.h"

#include "io/picture/colormap.h"
#include "io/picture/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUALITY 88

/* Takes rgb over. jpeg stays empty when there is no memory. */
static void encode(const char *name, int width, int height, uint8_t *rgb, splat_jpeg *jpeg)
{
    splat_error ignored;
    splat_image image = {width, height, 3, rgb};
    int small = width < SPLAT_PICTURE_MOST_WIDTH ? width : SPLAT_PICTURE_MOST_WIDTH;
    int rows = (int)((double)height * small / width + 0.5);
    if (small == width || splat_image_resize(&image, small, rows > 0 ? rows : 1, &ignored) == SPLAT_OK)
        splat_jpeg_encode(name, image.width, image.height, image.pixels, QUALITY, &jpeg->data, &jpeg->size, &ignored);
    splat_image_free(&image);
}

static void discard(splat_run_picture *picture)
{
    free(picture->render.data);
    free(picture->photo.data);
    free(picture->error_map.data);
    memset(picture, 0, sizeof *picture);
}

/* kind: 0 the render, 1 the photo, 2 the error map. */
static void make(splat_run_picture *picture, const splat_report_view *view, int kind)
{
    size_t bytes = 3 * (size_t)view->width * (size_t)view->height;
    splat_jpeg *jpeg = kind == 0 ? &picture->render : kind == 1 ? &picture->photo : &picture->error_map;
    uint8_t *rgb = malloc(bytes);
    if (!rgb) return;
    if (kind == 0) splat_image_from_planar(view->render, view->width, view->height, rgb);
    if (kind == 1) memcpy(rgb, view->photo, bytes);
    if (kind == 2) splat_error_map(view->width, view->height, view->render, view->photo, rgb);
    encode(view->name, view->width, view->height, rgb, jpeg);
}

void splat_run_pictures_add(splat_run_pictures *p, int iteration, const splat_report_view *views, size_t n, int threads)
{
    bool is_newer = iteration != p->iteration;
    if (n == 0 || (!is_newer && p->is_test && !views->is_test)) return;
    if (is_newer || p->is_test != views->is_test) splat_run_pictures_free(p);
    p->iteration = iteration;
    p->is_test = views->is_test;
    splat_run_picture *first = p->views + p->n;
    if (n > SPLAT_TENSORBOARD_VIEWS - p->n) n = SPLAT_TENSORBOARD_VIEWS - p->n;
    for (size_t i = 0; i < n; i++) {
        first[i] = (splat_run_picture){.width = views[i].width, .height = views[i].height, .metrics = views[i].metrics};
        snprintf(first[i].name, sizeof first[i].name, "%s", views[i].name);
    }
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (size_t i = 0; i < 3 * n; i++) make(&first[i / 3], &views[i / 3], (int)(i % 3));
    for (size_t i = 0; i < n; i++) { /* without those that lack a picture */
        splat_run_picture picture = first[i];
        if (picture.render.data && picture.photo.data && picture.error_map.data) p->views[p->n++] = picture;
        else discard(&picture);
    }
}

void splat_run_pictures_free(splat_run_pictures *p)
{
    for (size_t i = 0; i < p->n; i++) discard(&p->views[i]);
    memset(p, 0, sizeof *p);
}
