/* Views of a model: the picture, depth and normals, the picture as a photo was exposed, and in how many views a
 * Gaussian shows. */
#ifndef SPLAT_MODEL_RENDER_H
#define SPLAT_MODEL_RENDER_H

#include "io/exposure_file.h"
#include "model/model.h"
#include "ops/view_count/view_count.h"

splat_screen_filter splat_model_screen_filter(const splat_model *model);
/* splat_view_begin for the model's Gaussians, with its screen filter. */
splat_status splat_model_begin_view(const splat_model *model, splat_frame *frame, const splat_camera *camera,
                                    const float background[3], splat_error *error);
/* A view from its camera to the picture, which is in frame->image (device memory, until the frame's next view begins).
 * counted: frame->blended is written too. */
splat_status splat_model_rasterize(const splat_model *model, splat_frame *frame, const splat_camera *camera,
                                   const float background[3], bool counted, splat_error *error);
/* The bound of a view that has begun, for splat_view_forward: the plan's, or without one as many instances as what the
 * memory limit leaves has room for; 0, no bound, without a limit. */
uint64_t splat_model_max_instances(const splat_model *model);

/* Light of a view: sums over its pixels of alpha T, in double. */
typedef struct splat_model_light {
    double near; /* light of Gaussians with a depth below a limit */
    double all;
} splat_model_light;

/* Another picture in model->frame. Errors: MEMORY, those of the device. */
splat_status splat_model_near_light(splat_model *model, const splat_camera *camera, float depth,
                                    splat_model_light *light, splat_error *error);

/* A view's depth and normals: device memory of the frame, valid until its next view begins. */
typedef struct splat_model_geometry {
    float *maps;       /* [4][height][width] as op geometry writes them, normalized: depth, normal */
    float *median;     /* [height][width] */
} splat_model_geometry;

/* As splat_model_rasterize, without the picture; alpha is 1 - frame->transmittance. counted: frame->blended is written
 * too (it is raster that counts, so this costs a picture more, which is in frame->image). world: the normals, else in
 * camera space. */
splat_status splat_model_rasterize_geometry(const splat_model *model, splat_frame *frame, const splat_camera *camera,
                                            bool counted, bool world, splat_model_geometry *geometry,
                                            splat_error *error);

/* The picture of a camera in model->frame.image (splat_model_rasterize) becomes one with the exposure, the white
 * balance and the vignetting that `exposures` have for a photo. crop: of a wide photo, else 0. A NULL photo, or one
 * without its camera, leaves the picture as it is. Waits for the device. */
splat_status splat_model_expose(splat_model *model, const splat_camera *camera, const splat_exposures *exposures,
                                const splat_photo_exposure *photo, int crop, splat_error *error);

/* The mask of view i on the device, needed until the next is asked for; or *mask stays NULL: every pixel is kept. */
typedef splat_status (*splat_view_mask_function)(void *user, size_t i, const uint8_t **mask, splat_error *error);

/* Op view_count over the views of the cameras, in the model's frame. args: light and weight, and the arrays for stamps
 * and counts, zero; frame, mask and stamp are set here. max_instances: room for a view's, 0: no bound. mask: or
 * NULL. */
splat_status splat_model_count_views(splat_model *model, const splat_camera *cameras, size_t n, uint64_t max_instances,
                                     struct splat_view_count_args args, splat_view_mask_function mask, void *user,
                                     splat_error *error);

#endif
