/* A splat with known pictures, for the viewer's tests. */
#ifndef SPLAT_TESTS_RED_MODEL_H
#define SPLAT_TESTS_RED_MODEL_H

#include "model/files.h"

/* One Gaussian, red, opaque, at (0, 0, 2). */
static inline splat_model *red_model(splat_context *context)
{
    splat_model *model;
    splat_cloud cloud;
    splat_error error;
    ASSERT_OK(splat_cloud_make(&cloud, 1, 0, false, &error));
    cloud.means[2] = 2;
    cloud.rotations[0] = 1;
    cloud.opacities[0] = 8;
    cloud.sh_dc[0] = 1.7f;
    cloud.sh_dc[1] = cloud.sh_dc[2] = -1.7f;
    for (int k = 0; k < 3; k++) cloud.scales[k] = -1;
    ASSERT_OK(splat_model_create(context, 0, SPLAT_SH_FLOAT32, SPLAT_ON_DEVICE, &model, &error));
    ASSERT_OK(splat_model_resize(model, 1, &error));
    ASSERT_OK(splat_model_upload(model, &cloud, &error));
    splat_cloud_free(&cloud);
    return model;
}

#endif
