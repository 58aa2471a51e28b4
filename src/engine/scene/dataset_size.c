/* Sizes: the photo file, the camera it belongs to, and the picture that is loaded (docs/method.md 2.3). */
#include "scene/dataset_size.h"

#include "scene/dataset_parts.h"
#include "scene/photo_undistort.h"

#include "io/picture/image.h"
#include "math/camera.h"
#include "scene/photo.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define DEFAULT_MAX_WIDTH 1600
#define PI 3.14159265358979323846

static int clamp_side(double value)
{
    return value < 1 ? 1 : value > INT_MAX ? INT_MAX : (int)value;
}

void splat_resolution_apply(int resolution, int width, int height, int *out_width, int *out_height, bool *limited)
{
    bool is_divisor = resolution > 0 && resolution <= 64 && (resolution & (resolution - 1)) == 0;
    *limited = resolution < 0 && width > DEFAULT_MAX_WIDTH;
    if (is_divisor) { /* rint: halves to even, as Python's round */
        *out_width = clamp_side(rint((double)width / resolution));
        *out_height = clamp_side(rint((double)height / resolution));
        return;
    }
    double factor = *limited ? (double)width / DEFAULT_MAX_WIDTH : resolution > 0 ? (double)width / resolution : 1.0;
    /* truncated, and through the factor: the published order of rounding */
    *out_width = clamp_side((double)width / factor);
    *out_height = clamp_side((double)height / factor);
}

/* A photo may be a reduced (or enlarged) copy of what the cameras were made for, such as images_4, but must show the
 * same field of view. */
bool splat_same_view(int file_width, int file_height, int full_width, int full_height)
{
    double scale_x = (double)file_width / full_width, scale_y = (double)file_height / full_height;
    return fabs(file_width - scale_y * full_width) <= 1 || fabs(file_height - scale_x * full_height) <= 1 ||
           fabs(scale_x / scale_y - 1) <= 0.01;
}

static splat_status check_size(const splat_dataset_view *view, splat_error *error)
{
    if (splat_same_view(view->file_width, view->file_height, view->full_width, view->full_height)) return SPLAT_OK;
    bool turned = splat_same_view(view->file_height, view->file_width, view->full_width, view->full_height);
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, view->path, SPLAT_NO_OFFSET,
                         "the photo has %d x %d pixels, but its camera is for %d x %d, which is another shape%s; use "
                         "the photos that the cameras were computed from", view->file_width, view->file_height,
                         view->full_width, view->full_height, turned ? " (was the photo turned afterwards?)" : "");
}

/* Focal lengths at the full size, from the field of view when the scene gives that. */
static void set_focal_lengths(const splat_source_view *source, int width, int height, double *fx, double *fy)
{
    *fx = source->fx;
    *fy = source->fy;
    if (source->fx > 0) return;
    *fx = 0.5 * width / tan(0.5 * source->fov_x);
    *fy = source->fov_y > 0 ? 0.5 * height / tan(0.5 * source->fov_y) : *fx;
}

/* Cuts a side of the frame to at most SPLAT_LENS_PINHOLE_TANGENT focal lengths from the principal point *c. */
static void cut_side(double f, int *size, double *c)
{
    double most = SPLAT_LENS_PINHOLE_TANGENT * f, low = fmin(*c, most), high = fmin(*size - *c, most);
    if (low + high >= *size) return;
    *size = clamp_side(floor(low + high));
    *c = low;
}

static splat_status fail_lens(const splat_dataset_view *view, const splat_lens *lens, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, view->path, SPLAT_NO_OFFSET,
                         "the lens of this photo (%s) folds over: no direction is seen at a whole side of the photo; "
                         "calibrate the camera again, with a simpler model, or say `undistort off` if the photos are "
                         "undistorted already", splat_lens_form_get(lens->model)->name);
}

splat_lens splat_source_lens(const splat_source_view *view, int width, int height, const splat_scene_options *options)
{
    splat_lens lens = {.model = view->model, .width = width, .height = height};
    const double size[2] = {width, height};
    if (view->model == SPLAT_LENS_EQUIRECTANGULAR) {
        splat_lens_set(&lens, view->model, size);
        return lens;
    }
    set_focal_lengths(view, width, height, &lens.fx, &lens.fy);
    lens.cx = view->cx != 0 ? view->cx : 0.5 * width;
    lens.cy = view->cy != 0 ? view->cy : 0.5 * height;
    memcpy(lens.coefficients, view->coefficients, sizeof lens.coefficients);
    if (splat_lens_form_get(view->model)->is_fisheye)
        lens.max_angle =
            (options->fisheye_degrees > 0 ? (double)options->fisheye_degrees : SPLAT_LENS_FISHEYE_DEGREES) * PI / 360;
    splat_lens_prepare(&lens);
    return lens;
}

static splat_status find_frame(const splat_dataset_view *view, const splat_lens *lens, double blank,
                               splat_lens_frame *frame, splat_error *error)
{
    if (!splat_lens_undistorted_frame(lens, blank, SPLAT_LENS_PINHOLE_DEGREES, frame, NULL))
        return fail_lens(view, lens, error);
    cut_side(frame->fx, &frame->width, &frame->cx);
    cut_side(frame->fy, &frame->height, &frame->cy);
    return SPLAT_OK;
}

/* The pinhole camera that takes the place of the view's lens becomes its full camera. full_* are the lens's on
 * entry. */
static splat_status set_frame(splat_dataset_view *view, const splat_source_view *source, const splat_lens *lens,
                              double blank, const splat_dataset_view *before, splat_error *error)
{
    view->is_distorted = true;
    view->lens = *lens;
    view->crop = source->crop;
    view->n_crops = source->n_crops;
    if (view->n_crops) {
        view->frame = source->cut.frame;
        view->has_blank = source->cut.leaves_blank;
        memcpy(view->turn, source->cut.turn, sizeof view->turn);
    } else if (before && before->is_distorted && !before->n_crops && splat_lens_equal(&before->lens, lens)) {
        view->frame = before->frame;
        view->has_blank = before->has_blank;
    } else {
        SPLAT_TRY(find_frame(view, lens, blank, &view->frame, error));
        view->has_blank = splat_photo_leaves_blank(lens, &view->frame, view->file_width, view->file_height);
    }
    view->full_width = view->frame.width;
    view->full_height = view->frame.height;
    view->full_fx = view->frame.fx;
    view->full_fy = view->frame.fy;
    return SPLAT_OK;
}

/* Values that the files' readers let pass may still overflow once they are combined. */
static bool is_sound(const splat_camera *camera)
{
    const float *c = camera->center;
    return camera->fx > 0 && camera->fy > 0 && isfinite(camera->fx) && isfinite(camera->fy) && isfinite(camera->cx) &&
           isfinite(camera->cy) && isfinite(c[0]) && isfinite(c[1]) && isfinite(c[2]);
}

/* A pinhole photo without its border: a smaller frame at the same focal lengths, with the pixels of the photo. */
static void cut_rim(splat_dataset_view *view, const splat_lens *lens, int rim)
{
    view->is_distorted = true;
    view->lens = *lens;
    view->frame = (splat_lens_frame){lens->width - 2 * rim, lens->height - 2 * rim, lens->fx, lens->fy,
                                     lens->cx - rim, lens->cy - rim};
    view->full_width = view->frame.width;
    view->full_height = view->frame.height;
}

static bool is_taken_as_pinhole(const splat_lens *lens, const splat_scene_options *options)
{
    if (lens->model == SPLAT_LENS_EQUIRECTANGULAR) return false;
    return options->undistort == SPLAT_UNDISTORT_OFF || splat_lens_is_pinhole(lens);
}

splat_status splat_view_set_camera(splat_dataset_view *view, const splat_source_view *source,
                                   const splat_scene_options *options, const splat_dataset_view *before, bool *limited,
                                   splat_error *error)
{
    int width, height, channels, resolution = options->resolution;
    double scale = options->resolution_scale > 0 ? options->resolution_scale : 1;
    SPLAT_TRY(splat_photo_probe(view, &view->file_width, &view->file_height, &channels, error));
    view->has_alpha_mask = channels == 4; /* dataset_masks.c decides */
    view->full_width = source->width > 0 ? source->width : view->file_width;
    view->full_height = source->height > 0 ? source->height : view->file_height;
    SPLAT_TRY(check_size(view, error));
    splat_lens lens = splat_source_lens(source, view->full_width, view->full_height, options);
    double cx = lens.cx, cy = lens.cy;
    view->full_fx = lens.fx;
    view->full_fy = lens.fy;
    bool has_rim = source->rim > 0 && 4 * source->rim < lens.width && 4 * source->rim < lens.height;
    if (is_taken_as_pinhole(&lens, options) && has_rim) {
        cut_rim(view, &lens, source->rim);
        cx = view->frame.cx;
        cy = view->frame.cy;
    } else if (!is_taken_as_pinhole(&lens, options)) {
        double blank = options->undistort == SPLAT_UNDISTORT_ALL;
        SPLAT_TRY(set_frame(view, source, &lens, blank, before, error));
        cx = view->frame.cx;
        cy = view->frame.cy;
    }
    splat_photo_undistorted_size(view, &width, &height);
    splat_resolution_apply(resolution, width, height, &width, &height, limited);
    width = clamp_side(rint(width * scale));
    height = clamp_side(rint(height * scale));
    if (width > SPLAT_IMAGE_MAX_SIDE || height > SPLAT_IMAGE_MAX_SIDE)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, view->path, SPLAT_NO_OFFSET,
                             "with `resolution %d` this photo becomes %d x %d pixels; the most is %d a side",
                             resolution, width, height, SPLAT_IMAGE_MAX_SIDE);
    splat_camera_set_pose(&view->camera, source->rotation, source->translation);
    splat_camera_set_intrinsics(&view->camera, view->full_fx, view->full_fy, cx, cy, view->full_width,
                                view->full_height, width, height);
    if (is_sound(&view->camera)) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, view->path, SPLAT_NO_OFFSET,
                         "the camera of this photo (focal lengths %g, %g) cannot be held in 32-bit numbers",
                         view->full_fx, view->full_fy);
}

bool splat_view_same_camera(const splat_dataset_view *a, const splat_dataset_view *b)
{
    if (a->n_crops != b->n_crops || a->crop != b->crop) return false;
    if (a->n_crops) return splat_lens_equal(&a->lens, &b->lens);
    return a->full_width == b->full_width && a->full_height == b->full_height && a->full_fx == b->full_fx &&
           a->full_fy == b->full_fy;
}
