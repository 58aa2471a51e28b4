/* A model and a cloud in host memory. */
#ifndef SPLAT_MODEL_FILES_H
#define SPLAT_MODEL_FILES_H

#include "model/model.h"

/* A model of a cloud in host memory, which is rendered as the cloud says. path: for errors, "" without a file. */
splat_status splat_model_from_cloud(splat_context *context, const char *path, const splat_cloud *cloud,
                                    splat_model **model, splat_error *error);
/* Parameters, and filter_3d when the cloud has one, from a cloud of the model's count and SH degree. */
splat_status splat_model_upload(splat_model *model, const splat_cloud *cloud, splat_error *error);
/* A cloud of n Gaussians, empty yet, that says how the model is rendered; *cloud is overwritten (splat_cloud_free). */
splat_status splat_model_make_cloud(const splat_model *model, size_t n, splat_cloud *cloud, splat_error *error);
/* The parameters, and filter_3d when there is one; *cloud is overwritten (splat_cloud_free). */
splat_status splat_model_download(const splat_model *model, splat_cloud *cloud, splat_error *error);

#endif
