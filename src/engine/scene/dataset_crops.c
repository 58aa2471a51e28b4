/* Photos of lenses that see too much for one pinhole camera (wide fisheyes, panoramas) become several views each. */
#include "scene/dataset_crops.h"

#include "io/picture/image_read.h"
#include "scene/dataset_parts.h"
#include "scene/dataset_size.h"

#include "base/plural.h"
#include "io/picture/image.h"
#include "scene/photo.h"

#include <stdlib.h>
#include <string.h>

/* A cutter of crops for one lens. It keeps the last lens, because scenes have few. */
typedef struct cutter {
    const splat_scene_options *options;
    splat_lens lens;
    bool has_lens;
    splat_lens_crop crops[SPLAT_LENS_CROPS];
    int n_crops; /* 0: one pinhole camera will do */
} cutter;

static splat_status fail_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the views of wide photos");
}

/* Too much for one pinhole camera: the photo's border sees more, or is beyond the rim of a fisheye's image circle. */
static bool sees_much(const splat_lens *lens)
{
    splat_lens_frame frame;
    double degrees;
    if (splat_lens_undistorted_frame(lens, 0, SPLAT_LENS_PINHOLE_DEGREES, &frame, &degrees)) return false;
    return degrees > SPLAT_LENS_PINHOLE_DEGREES || splat_lens_form_get(lens->model)->is_fisheye;
}

static splat_status find_crops(cutter *c, const splat_source_view *view, splat_error *error)
{
    const splat_lens *lens = &c->lens;
    const char *name = splat_lens_form_get(lens->model)->name;
    bool is_panorama = lens->model == SPLAT_LENS_EQUIRECTANGULAR;
    c->n_crops = 0;
    if (is_panorama && c->options->undistort == SPLAT_UNDISTORT_OFF)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, view->path, SPLAT_NO_OFFSET,
                             "this photo is a panorama (%s), which no pinhole camera has taken: it cannot be used with "
                             "`undistort off`", name);
    if (c->options->undistort == SPLAT_UNDISTORT_OFF || splat_lens_is_pinhole(lens)) return SPLAT_OK;
    if (!is_panorama && !sees_much(lens)) return SPLAT_OK;
    c->n_crops = splat_lens_make_crops(lens, c->crops);
    for (int i = 0; i < c->n_crops; i++)
        if (c->crops[i].frame.width > SPLAT_IMAGE_MAX_SIDE || c->crops[i].frame.height > SPLAT_IMAGE_MAX_SIDE)
            return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, view->path, SPLAT_NO_OFFSET,
                                 "the views that this photo (%s, %d x %d) would be cut into are larger than %d pixels",
                                 name, lens->width, lens->height, SPLAT_IMAGE_MAX_SIDE);
    if (c->n_crops > 0) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, view->path, SPLAT_NO_OFFSET,
                         "the lens of this photo (%s) shows nothing along its axis; calibrate the camera again", name);
}

static splat_status examine(cutter *c, const splat_source_view *view, splat_error *error)
{
    int width = view->width, height = view->height, channels;
    if (!splat_lens_form_get(view->model)->n_coefficients && !splat_lens_form_get(view->model)->is_fisheye) {
        c->has_lens = false; /* a pinhole: its photo is not opened twice */
        c->n_crops = 0;
        return SPLAT_OK;
    }
    if (width <= 0 || height <= 0) SPLAT_TRY(splat_image_probe(view->path, &width, &height, &channels, error));
    splat_lens lens = splat_source_lens(view, width, height, c->options);
    if (c->has_lens && splat_lens_equal(&c->lens, &lens)) return SPLAT_OK;
    c->lens = lens;
    c->has_lens = true;
    return find_crops(c, view, error);
}

/* R becomes T R, and t becomes T t. */
static void turn_pose(const double turn[9], splat_source_view *view)
{
    double rotation[9], translation[3];
    for (int r = 0; r < 3; r++) {
        translation[r] = 0;
        for (int k = 0; k < 3; k++) {
            translation[r] += turn[3 * r + k] * view->translation[k];
            rotation[3 * r + k] = turn[3 * r] * view->rotation[k] + turn[3 * r + 1] * view->rotation[3 + k] +
                                  turn[3 * r + 2] * view->rotation[6 + k];
        }
    }
    memcpy(view->rotation, rotation, sizeof rotation);
    memcpy(view->translation, translation, sizeof translation);
}

/* A copy of the photo's view; `relative` goes on pointing into the path. */
static splat_status copy_view(const splat_source_view *photo, splat_source_view *view, splat_error *error)
{
    *view = *photo;
    view->path = strdup(photo->path);
    view->mask = photo->mask ? strdup(photo->mask) : NULL;
    if (!view->path || (photo->mask && !view->mask)) return fail_memory(error);
    view->relative = view->path + (photo->relative - photo->path);
    return SPLAT_OK;
}

/* Adds the views of a photo to source->views, which has room for them. */
static splat_status add_views(const cutter *c, const splat_source_view *photo, splat_source *source, splat_error *error)
{
    for (int i = 0; i < c->n_crops || i == 0; i++) {
        splat_source_view *view = &source->views[source->n_views++];
        SPLAT_TRY(copy_view(photo, view, error));
        view->crop = i;
        view->n_crops = c->n_crops;
        if (!c->n_crops) continue;
        view->cut = c->crops[i];
        turn_pose(view->cut.turn, view);
    }
    return SPLAT_OK;
}

static void free_views(splat_source_view *views, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(views[i].path);
        free(views[i].mask);
    }
    free(views);
}

/* Once: how many photos become how many views. */
static void say_cut(const splat_source *source, size_t n_cut, const cutter *first, bool is_one,
                    const splat_dataset_log *log)
{
    if (!n_cut) return;
    size_t n_views = 0;
    for (size_t i = 0; i < source->n_views; i++) n_views += source->views[i].n_crops > 0;
    splat_dataset_say(log, SPLAT_LOG_NOTICE, "cutting %zu wide photo%s of %s (%s, %d x %d) into %zu views, the first "
                      "of %d x %d pixels; a step trains on one view", n_cut, splat_plural(n_cut),
                      is_one ? "1 camera" : "several cameras", splat_lens_form_get(first->lens.model)->name,
                      first->lens.width, first->lens.height, n_views, first->crops[0].frame.width,
                      first->crops[0].frame.height);
}

splat_status splat_source_cut(splat_source *source, const splat_scene_options *options, const splat_dataset_log *log,
                              splat_error *error)
{
    cutter c = {.options = options}, first = {0};
    splat_source_view *photos = source->views;
    size_t n_photos = source->n_views, n_cut = 0;
    bool is_one = true;
    if (n_photos > UINT32_MAX / SPLAT_LENS_CROPS)
        return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "the scene has too many photos");
    splat_source_view *views = calloc(SPLAT_LENS_CROPS * n_photos + 1, sizeof *views);
    if (!views) return fail_memory(error);
    source->views = views;
    source->n_views = 0;
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < n_photos && status == SPLAT_OK; i++) {
        status = examine(&c, &photos[i], error);
        if (status == SPLAT_OK) status = add_views(&c, &photos[i], source, error);
        if (status != SPLAT_OK || !c.n_crops) continue;
        if (n_cut++ == 0) first = c;
        is_one &= splat_lens_equal(&c.lens, &first.lens);
    }
    free_views(photos, n_photos);
    if (status == SPLAT_OK) say_cut(source, n_cut, &first, is_one, log);
    return status;
}
