/* Sizes: the photo file, the camera it belongs to, and the picture that is loaded (docs/method.md 2.3). */
#include "scene/dataset_parts.h"

#include "io/picture/image.h"
#include "math/camera.h"
#include "scene/photo.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define DEFAULT_MAX_WIDTH 1600
/* A pinhole camera stretches what it sees off its axis by 1/cos². Lenses that see further than MAX_DEGREES are
 * refused, and of those below it what is beyond atan(MAX_TANGENT), 61 degrees, is cut off. */
#define MAX_DEGREES 70.0
#define MAX_TANGENT 1.8

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
static void set_focal_lengths(splat_dataset_view *view, const splat_source_view *source)
{
    view->full_fx = source->fx;
    view->full_fy = source->fy;
    if (source->fx > 0) return;
    view->full_fx = 0.5 * view->full_width / tan(0.5 * source->fov_x);
    view->full_fy = source->fov_y > 0 ? 0.5 * view->full_height / tan(0.5 * source->fov_y) : view->full_fx;
}

/* Of a side of the frame, at most MAX_TANGENT focal lengths from the principal point *c. */
static void cut_side(double f, int *size, double *c)
{
    double most = MAX_TANGENT * f, low = fmin(*c, most), high = fmin(*size - *c, most);
    if (low + high >= *size) return;
    *size = clamp_side(floor(low + high));
    *c = low;
}

static splat_status fail_lens(const splat_dataset_view *view, const splat_lens *lens, double degrees,
                              splat_error *error)
{
    const char *name = splat_lens_form_get(lens->model)->name;
    if (degrees > MAX_DEGREES)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, view->path, SPLAT_NO_OFFSET,
                             "the lens of this photo (%s) sees %.0f degrees from its axis, and %.0f are what a pinhole "
                             "camera can show; cut the photo into views with less, for example with Nerfstudio's "
                             "ns-process-data", name, degrees, MAX_DEGREES);
    return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, view->path, SPLAT_NO_OFFSET,
                         "the lens of this photo (%s) folds over: no direction is seen at a whole side of the photo; "
                         "calibrate the camera again, with a simpler model", name);
}

/* The pinhole camera that takes the place of the view's lens becomes its full camera. full_* are the lens's on
 * entry. */
static splat_status set_frame(splat_dataset_view *view, const splat_source_view *source, double cx, double cy,
                              const splat_dataset_view *before, splat_error *error)
{
    splat_lens lens = {.model = source->model, .width = view->full_width, .height = view->full_height,
                       .fx = view->full_fx, .fy = view->full_fy, .cx = cx, .cy = cy};
    memcpy(lens.coefficients, source->coefficients, sizeof lens.coefficients);
    if (splat_lens_is_pinhole(&lens)) return SPLAT_OK;
    splat_lens_prepare(&lens);
    view->is_distorted = true;
    view->lens = lens;
    if (before && before->is_distorted && splat_lens_equal(&before->lens, &lens)) {
        view->frame = before->frame;
        view->has_blank = before->has_blank;
    } else {
        double degrees;
        if (!splat_lens_undistorted_frame(&lens, 0, MAX_DEGREES, &view->frame, &degrees))
            return fail_lens(view, &lens, degrees, error);
        cut_side(view->frame.fx, &view->frame.width, &view->frame.cx);
        cut_side(view->frame.fy, &view->frame.height, &view->frame.cy);
        view->has_blank = splat_photo_leaves_blank(&lens, &view->frame, view->file_width, view->file_height);
    }
    view->full_width = view->frame.width;
    view->full_height = view->frame.height;
    return SPLAT_OK;
}

/* Values that the files' readers let pass may still overflow once they are combined. */
static bool is_sound(const splat_camera *camera)
{
    const float *c = camera->center;
    return camera->fx > 0 && camera->fy > 0 && isfinite(camera->fx) && isfinite(camera->fy) && isfinite(camera->cx) &&
           isfinite(camera->cy) && isfinite(c[0]) && isfinite(c[1]) && isfinite(c[2]);
}

splat_status splat_view_set_camera(splat_dataset_view *view, const splat_source_view *source, int resolution,
                                   double scale, const splat_dataset_view *before, bool *limited, splat_error *error)
{
    int width, height, channels;
    SPLAT_TRY(splat_image_probe(view->path, &view->file_width, &view->file_height, &channels, error));
    view->has_alpha_mask = channels == 4; /* dataset_masks.c decides */
    view->full_width = source->width > 0 ? source->width : view->file_width;
    view->full_height = source->height > 0 ? source->height : view->file_height;
    SPLAT_TRY(check_size(view, error));
    set_focal_lengths(view, source);
    double cx = source->cx != 0 ? source->cx : 0.5 * view->full_width;
    double cy = source->cy != 0 ? source->cy : 0.5 * view->full_height;
    SPLAT_TRY(set_frame(view, source, cx, cy, before, error));
    if (view->is_distorted) {
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
