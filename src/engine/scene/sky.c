/* The sky of a scene: found in the photos, or read from masks. */
#include "scene/sky.h"

#include "base/context.h"
#include "io/picture/image_read.h"
#include "math/camera.h"
#include "math/dome.h"
#include "scene/mask.h"
#include "scene/photo.h"
#include "scene/sky_bright.h"
#include "scene/sky_colors.h"
#include "scene/sky_dome.h"
#include "scene/sky_hanging.h"
#include "scene/sky_photos.h"
#include "scene/sky_regions.h"
#include "scene/sky_rim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_UP 0.7      /* length of the cameras' mean axis up */
#define LONGEST_MASK 1024 /* pixels of the longer side of a mask that is read */
#define BACKDROP_FIT 0.9  /* of a white backdrop, at least */
#define BACKDROP_WHITE 235 /* levels of each channel, at least, in the mean of its directions */
#define BRIGHT_DENSITY 0.05 /* of points in a bright sky, of that in the photos, at most */
#define DOME_DENSITY 0.1   /* the same of a dome, which has more evidence */
#define MOST_HANGING 0.002 /* of the points of the scene: they may hang in the sky */
#define BRIGHT 200         /* levels of each channel of half of the plain pixels: with fewer no mean is white */

/* ---------------------------------------------------------------- from the photos */

static void place_cameras(sky_finder *f)
{
    const splat_dataset *dataset = &f->scene->dataset;
    double length = 0;
    for (size_t i = 0; i < f->n; i++) {
        const splat_camera *c = &dataset->views[dataset->train[i]].camera;
        for (int k = 0; k < 3; k++) {
            f->center[k] += (double)c->center[k] / (double)f->n;
            f->up[k] -= (double)c->rotation[3 + k] / (double)f->n; /* y is down */
        }
    }
    for (int k = 0; k < 3; k++) length += f->up[k] * f->up[k];
    length = sqrt(length);
    f->has_up = length >= LEAST_UP;
    for (int k = 0; k < 3 && length > 0; k++) f->up[k] /= length;
    f->extent = (double)dataset->extent;
}

/* Photos with alpha have a background of one colour, which is no sky. */
static splat_status has_alpha(const splat_scene *scene, bool *result, splat_error *error)
{
    int width, height, channels;
    SPLAT_TRY(splat_photo_probe(&scene->dataset.views[scene->dataset.train[0]], &width, &height, &channels, error));
    *result = channels == 4;
    return SPLAT_OK;
}

static void take_masks(sky_finder *f, splat_sky *sky)
{
    for (size_t v = 0; v < f->n; v++) {
        sky_photo *photo = &f->photos[v];
        size_t n = splat_camera_pixels(&photo->camera), n_sky = 0;
        for (size_t i = 0; i < n; i++) n_sky += photo->mask[i];
        if (!n_sky) continue;
        sky->masks[v] = (splat_sky_mask){photo->camera.width, photo->camera.height, photo->mask};
        photo->mask = NULL;
    }
    sky->fit = f->fit;
    sky->is_backdrop = f->is_backdrop;
    sky->brightness = (double)f->brightness;
    sky->radius = f->radius;
}

/* The colours of the sky; sky->colors stays NULL without sky. */
static splat_status take_colors(const sky_finder *f, splat_sky *sky, splat_error *error)
{
    bool is_found = false;
    float *colors = malloc(SPLAT_DOME_BYTES);
    if (!colors) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the colours of the sky");
    splat_status status = sky_colors_find(f, sky->masks, colors, &is_found, error);
    for (int k = 0; k < 3; k++) sky->center[k] = f->center[k];
    if (status == SPLAT_OK && is_found)
        sky->colors = colors;
    else
        free(colors);
    return status;
}

static bool is_bright(const sky_photo *photo, size_t pixel)
{
    bool as_it_is = true, with_gain = true;
    for (int k = 0; k < 3; k++) {
        const float level = (float)photo->smooth[3 * pixel + (size_t)k];
        as_it_is = as_it_is && level >= BRIGHT;
        with_gain = with_gain && level >= BRIGHT * photo->gain[k];
    }
    return as_it_is || with_gain;
}

/* False where directions need not be asked, which takes a second in rooms. */
static bool may_be_white(const sky_finder *f)
{
    size_t n = 0, n_bright = 0;
    for (size_t v = 0; v < f->n; v++) {
        const sky_photo *photo = &f->photos[v];
        for (size_t i = 0; i < splat_camera_pixels(&photo->camera); i += 7) {
            if (photo->kind[i] != SKY_PLAIN) continue;
            n++;
            n_bright += is_bright(photo, i);
        }
    }
    return 2 * n_bright > n;
}

static bool is_white(const sky_finder *f)
{
    double sums[3] = {0}, n = 0;
    for (size_t b = 0; b < SKY_BINS; b++) {
        if (!f->dome[b].is_known) continue;
        for (int k = 0; k < 3; k++) sums[k] += (double)f->dome[b].rgb[k];
        n++;
    }
    return n > 0 && fmin(sums[0], fmin(sums[1], sums[2])) >= BACKDROP_WHITE * n;
}

/* White paper before a white wall: nearly all that is plain, at any elevation, has the colour of its direction, which
 * is white. Photos do not tell where such a surface is, and Gaussians for it would stand before other cameras. */
static splat_status find_backdrop(sky_finder *f, splat_error *error)
{
    if (!f->has_up || !may_be_white(f)) return SPLAT_OK; /* without up any elevation was asked */
    free(f->dome);
    f->dome = NULL;
    f->has_up = false;
    SPLAT_TRY(sky_dome_find(f, error));
    f->is_backdrop = f->fit >= BACKDROP_FIT && is_white(f);
    f->has_up = !f->is_backdrop;
    if (!f->is_backdrop) f->fit = 0;
    return SPLAT_OK;
}

/* Tells a sky from what looks like one. Walls in the same light everywhere are a function of direction as well, but
 * points lie on them, and pictures hang on them. Ceilings are bright, but their rim is even. */
static splat_status is_sky(const sky_finder *f, bool *result, splat_error *error)
{
    sky_rim rim;
    double hanging = 0;
    *result = f->is_backdrop;
    if (f->is_backdrop) return SPLAT_OK;
    SPLAT_TRY(sky_rim_look(f, &rim, error));
    if (f->brightness > 0)
        *result = rim.is_known && rim.density < BRIGHT_DENSITY && rim.is_uneven;
    else
        *result = !rim.is_known || rim.density < DOME_DENSITY;
    if (*result) SPLAT_TRY(sky_hanging_find(f, &hanging, error));
    *result = *result && hanging < MOST_HANGING;
    return SPLAT_OK;
}

static splat_status find(splat_scene *scene, splat_sky *sky, splat_error *error)
{
    sky_finder f = {.scene = scene, .n = scene->dataset.n_train, .threads = scene->context->threads};
    bool is_cut_out = false, is_found = false;
    if (f.n == 0) return SPLAT_OK;
    SPLAT_TRY(has_alpha(scene, &is_cut_out, error));
    if (is_cut_out) return SPLAT_OK;
    place_cameras(&f);
    splat_status status = sky_photos_load(&f, error);
    if (status == SPLAT_OK) status = sky_dome_find(&f, error);
    if (status == SPLAT_OK && !(f.fit > 0)) status = sky_bright_find(&f, error);
    if (status == SPLAT_OK && !(f.fit > 0) && !(f.brightness > 0)) status = find_backdrop(&f, error);
    if (status == SPLAT_OK && (f.fit > 0 || f.brightness > 0)) {
        status = sky_regions_find(&f, error);
        if (status == SPLAT_OK) status = is_sky(&f, &is_found, error);
        if (status == SPLAT_OK && is_found) take_masks(&f, sky);
        if (status == SPLAT_OK && is_found) status = take_colors(&f, sky, error);
    }
    sky_photos_free(&f);
    free(f.dome);
    free(f.is_sky);
    return status;
}

/* ---------------------------------------------------------------- from masks */

static splat_status read(const splat_dataset_view *view, splat_sky_mask *mask, splat_error *error)
{
    splat_image image = {0};
    int width = view->camera.width, height = view->camera.height, longer = width > height ? width : height;
    SPLAT_TRY(splat_mask_read(view->sky_path, view->file_width, view->file_height, false, &image, error));
    splat_status status = splat_photo_fit_mask(view, &image, error);
    if (longer > LONGEST_MASK) {
        width = (int)fmax(1, lround((double)width * LONGEST_MASK / longer));
        height = (int)fmax(1, lround((double)height * LONGEST_MASK / longer));
    }
    if (status == SPLAT_OK) status = splat_mask_resize(&image, width, height, error);
    size_t n = (size_t)width * (size_t)height;
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) image.pixels[i] = image.pixels[i] >= SPLAT_MASK_KEPT;
    if (status == SPLAT_OK)
        *mask = (splat_sky_mask){width, height, image.pixels};
    else
        splat_image_free(&image);
    return status;
}

static splat_status read_all(const splat_scene *scene, splat_sky *sky, splat_error *error)
{
    for (size_t i = 0; i < sky->n; i++) {
        const splat_dataset_view *view = &scene->dataset.views[scene->dataset.train[i]];
        if (view->sky_path) SPLAT_TRY(read(view, &sky->masks[i], error));
    }
    return SPLAT_OK;
}

/* Masks of files say where the sky is; the photos have its colours. */
static splat_status find_colors(splat_scene *scene, splat_sky *sky, splat_error *error)
{
    sky_finder f = {.scene = scene, .n = scene->dataset.n_train, .threads = scene->context->threads};
    place_cameras(&f);
    splat_status status = sky_photos_load(&f, error);
    if (status == SPLAT_OK) status = take_colors(&f, sky, error);
    sky_photos_free(&f);
    return status;
}

/* ---------------------------------------------------------------- either */

static void measure(const splat_scene *scene, splat_sky *sky)
{
    double n_sky = 0, n_all = 0;
    for (size_t i = 0; i < sky->n; i++) {
        const splat_sky_mask *mask = &sky->masks[i];
        double n_pixels = (double)splat_camera_pixels(&scene->dataset.views[scene->dataset.train[i]].camera);
        size_t n = (size_t)mask->width * (size_t)mask->height, n_set = 0;
        for (size_t k = 0; k < n; k++) n_set += mask->pixels[k];
        n_sky += n ? n_pixels * (double)n_set / (double)n : 0;
        n_all += n_pixels;
        sky->is_found = sky->is_found || n_set > 0;
    }
    sky->share = n_all > 0 ? n_sky / n_all : 0;
}

static void report(const splat_scene *scene, const splat_sky *sky)
{
    char radius[32] = "at infinity";
    if (sky->radius > 0) snprintf(radius, sizeof radius, "at %.3g", sky->radius);
    if (sky->is_found && sky->is_backdrop)
        splat_log(scene->context, SPLAT_LOG_NOTICE,
                  "sky: %.1f %% of the training photos, a white backdrop (%.0f %% of what is plain; --sky none: a "
                  "surface)", 100 * sky->share, 100 * sky->fit);
    else if (sky->is_found && sky->fit > 0)
        splat_log(scene->context, SPLAT_LOG_NOTICE,
                  "sky: %.1f %% of the training photos, %s (%.0f %% of what is plain above the horizon)",
                  100 * sky->share, radius, 100 * sky->fit);
    else if (sky->is_found && sky->brightness > 0)
        splat_log(scene->context, SPLAT_LOG_NOTICE,
                  "sky: %.1f %% of the training photos, %.1f times as bright as what is below (--sky none: no sky)",
                  100 * sky->share, sky->brightness);
    else if (sky->is_found)
        splat_log(scene->context, SPLAT_LOG_NOTICE, "sky: %.1f %% of the training photos, by their masks",
                  100 * sky->share);
}

splat_status splat_scene_find_sky(splat_scene *scene, const splat_sky **sky, splat_error *error)
{
    const char *option = scene->options.sky;
    *sky = scene->sky;
    if (*sky) return SPLAT_OK;
    splat_sky *made = calloc(1, sizeof *made);
    if (made) made->masks = calloc(scene->dataset.n_train + 1, sizeof *made->masks);
    if (!made || !made->masks) {
        splat_sky_free(made);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the sky of %zu photos", scene->dataset.n_train);
    }
    made->n = scene->dataset.n_train;
    splat_status status = SPLAT_OK;
    if (splat_sky_is_folder(option))
        status = read_all(scene, made, error);
    else if (!option || strcmp(option, "none") != 0)
        status = find(scene, made, error);
    if (status != SPLAT_OK) {
        splat_sky_free(made);
        return status;
    }
    measure(scene, made);
    report(scene, made);
    *sky = scene->sky = made;
    return SPLAT_OK;
}

splat_status splat_scene_find_sky_dome(splat_scene *scene, splat_dome *dome, splat_error *error)
{
    const splat_sky *sky;
    *dome = (splat_dome){.colors = NULL};
    SPLAT_TRY(splat_scene_find_sky(scene, &sky, error));
    if (!sky->is_found) return SPLAT_OK;
    if (!sky->colors) SPLAT_TRY(find_colors(scene, scene->sky, error));
    dome->colors = scene->sky->colors;
    dome->radius = (float)scene->sky->radius;
    for (int k = 0; k < 3; k++) dome->center[k] = (float)scene->sky->center[k];
    return SPLAT_OK;
}

splat_status splat_scene_has_sky(splat_scene *scene, bool *has, splat_error *error)
{
    const splat_sky *sky;
    *has = false;
    if (scene->dataset.mask_mode == SPLAT_MASKS_ALPHA) return SPLAT_OK;
    SPLAT_TRY(splat_scene_find_sky(scene, &sky, error));
    *has = sky->is_found;
    return SPLAT_OK;
}
