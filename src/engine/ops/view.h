/* A view on its way from the camera to its gradients. The calls, in their order:
 *
 *     splat_view_begin            room in a frame
 *     splat_op_project            the Gaussians on the screen (then geometry_features, where geometry is blended)
 *     splat_view_forward          lists and blending, band by band
 *     splat_view_backward         gradients on the screen, from the last band to the first
 *     splat_op_project_backward   gradients of the Gaussians
 *
 * All that a view leaves for its later calls lies in its frame, so views in different frames do not disturb each other:
 * their calls may be mixed in any order, on one model or on several, but for one rule about gradients
 * (splat_view_backward). A frame holds one view at a time. */
#ifndef SPLAT_OPS_VIEW_H
#define SPLAT_OPS_VIEW_H

#include "ops/frame.h"
#include "ops/view_count/view_count.h"
#include "ops/geometry/geometry.h"
#include "ops/raster/raster.h"
#include "ops/work.h"

/* Begins a view of n Gaussians: gives up all that the frame's region held, makes room for them and for a picture of the
 * camera's size, and sets the array pointers, the camera and the tile counts. The rest is zero: the caller sets filter,
 * background and hint, and before project jitter and blended, where it wants them. Cheap when nothing grows. Errors:
 * ARGUMENT (a picture without pixels, or too large), MEMORY. */
splat_status splat_view_begin(splat_backend *backend, splat_frame *frame, uint32_t n, const splat_camera *camera,
                              splat_error *error);

/* The same for Gaussians that are only projected: without a picture, and with nothing to blend them into. Errors:
 * ARGUMENT, MEMORY. */
splat_status splat_view_begin_projection(splat_backend *backend, splat_frame *frame, uint32_t n,
                                         const splat_camera *camera, splat_error *error);
/* Other arrays for n Gaussians, which the caller fills in place of project: those that the view had stay where they are
 * until it ends. Errors: MEMORY. */
splat_status splat_view_replace_gaussians(splat_backend *backend, splat_frame *frame, uint32_t n, splat_error *error);

/* The arrays that splat_view_begin takes from the frame: ARRAY(field, elements), of n Gaussians, a picture of n_pixels
 * and its n_tiles. */
#define SPLAT_VIEW_ARRAYS(ARRAY, n, n_pixels, n_tiles)                                                                 \
    ARRAY(image, 3 * (n_pixels))                                                                                       \
    ARRAY(transmittance, n_pixels)                                                                                     \
    ARRAY(last, n_pixels)                                                                                              \
    ARRAY(tile_begin, (n_tiles) + 1)                                                                                   \
    ARRAY(tile_order, n_tiles)                                                                                         \
    SPLAT_VIEW_GAUSSIAN_ARRAYS(ARRAY, n)

#define SPLAT_VIEW_GAUSSIAN_ARRAYS(ARRAY, n)                                                                           \
    ARRAY(ids, n)                                                                                                      \
    ARRAY(mean2d, 2 * (n))                                                                                             \
    ARRAY(conic, 4 * (n))                                                                                              \
    ARRAY(rgb, 3 * (n))                                                                                                \
    ARRAY(depth, n)                                                                                                    \
    ARRAY(tile_rect, 4 * (n))

/* Their bytes; and those of a pixel alone. */
static inline size_t splat_view_arrays_bytes(size_t n, size_t n_pixels, size_t n_tiles)
{
    size_t bytes = 0;
#define ADD(field, elements) bytes += (elements) * sizeof *((splat_frame *)0)->field;
    SPLAT_VIEW_ARRAYS(ADD, n, n_pixels, n_tiles)
#undef ADD
    return bytes;
}

static inline size_t splat_view_bytes(const splat_work *w)
{
    return splat_view_arrays_bytes(w->n, splat_work_pixels(w), splat_work_tiles(w));
}

static inline size_t splat_view_pixel_bytes(void)
{
    return splat_view_arrays_bytes(0, 1, 0) - splat_view_arrays_bytes(0, 0, 0);
}

/* Gradients on the screen of n Gaussians; of the frame when the view has several bands, else scratch. */
static inline size_t splat_view_gradients_bytes(size_t n)
{
    return (n ? n : 1) * sizeof(splat_grad2d);
}

/* The targets of blending: one or more of these, in this order. */
typedef struct splat_view_blend {
    uint64_t max_instances;                     /* most instances of a band; 0: no bound, one band */
    bool colors;                                /* op raster writes the frame's picture */
    const splat_raster_depth *depth;            /* depth for op raster, or NULL */
    const struct splat_geometry_args *geometry; /* arguments of op geometry, whose frame is the view's; NULL: none */
    const struct splat_view_count_args *view_count; /* arguments of op view_count; NULL: none */
    int binned_mark;                            /* stopwatch mark for the end of the first band's bin; 0: none */
} splat_view_blend;

/* bin, then raster, geometry and view_count as `blend` asks, band by band, after project. Errors: MEMORY, also
 * where one row of tiles alone has more than max_instances; those of the ops. */
splat_status splat_view_forward(splat_backend *backend, splat_frame *frame, const splat_view_blend *blend,
                                splat_error *error);

/* The gradients of what was blended: one or both of these. */
typedef struct splat_view_gradients {
    const float *image; /* for raster_backward: dL/dimage, [3][height][width], or NULL */
    bool without_mean_abs; /* raster_backward leaves mean_abs out */
    const float *alpha; /* for raster_backward, in addition to image: dL/dopacity, [height][width], or NULL */
    const splat_raster_depth *depth; /* depth for raster_backward, or NULL */
    const struct splat_geometry_backward_args *geometry; /* for geometry_backward, or NULL */
} splat_view_gradients;

/* Room for frame->grad2d, zero for all that are visible, then raster_backward and geometry_backward as asked: from the
 * last band, whose lists are still in the frame, to the first; the lists of the others are made again. After
 * splat_view_forward.
 *
 * Where frame->grad2d lies: in the frame's region when the view was done in bands, else in the backend's scratch, which
 * saves 40 bytes a Gaussian. There it lives until an op that uses scratch, so between this call and the
 * project_backward that reads it only geometry_features_backward may run on this backend, for no matter what view.
 * Errors: MEMORY; those of the ops. */
splat_status splat_view_backward(splat_backend *backend, splat_frame *frame, const splat_view_gradients *gradients,
                                 splat_error *error);
/* The room alone, for gradients that come from elsewhere. */
splat_status splat_view_reserve_gradients(splat_backend *backend, splat_frame *frame, splat_error *error);

#endif
