/* A rendered picture as a photo was exposed. */
#ifndef SPLAT_MODEL_EXPOSE_H
#define SPLAT_MODEL_EXPOSE_H

#include "io/exposure_file.h"
#include "model/model.h"

/* The picture of a camera in model->frame.image (splat_model_rasterize) becomes one with the exposure, the white
 * balance and the vignetting that `exposures` have for a photo. crop: of a wide photo, else 0. A NULL photo, or one
 * without its camera, leaves the picture as it is. Waits for the device. */
splat_status splat_model_expose(splat_model *model, const splat_camera *camera, const splat_exposures *exposures,
                                const splat_photo_exposure *photo, int crop, splat_error *error);

#endif
