/* Some Gaussians of a model stay, the others go. */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* The rows that stay, moved to the front. */
static void compact(float *rows, size_t n, size_t channels, const uint8_t *keep)
{
    size_t to = 0;
    for (size_t i = 0; i < n && rows; i++)
        if (keep[i]) memmove(rows + channels * to++, rows + channels * i, channels * sizeof *rows);
}

splat_status splat_model_keep(splat_model *model, const uint8_t *keep, splat_error *error)
{
    size_t n = model->gaussians.n, n_kept = 0;
    int degree = model->gaussians.sh_degree;
    splat_cloud cloud;
    for (size_t i = 0; i < n; i++) n_kept += keep[i] != 0;
    if (n_kept == n) return SPLAT_OK;
    SPLAT_TRY(splat_model_download(model, &cloud, error));
#define SPLAT_TENSOR(name, ...)                                                                                        \
    compact(cloud.name, n, splat_tensor_channels(SPLAT_TENSOR_##name, degree), keep);
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    compact(cloud.filter_3d, n, 1, keep);
    cloud.n = n_kept;
    splat_status status = splat_model_resize(model, (uint32_t)n_kept, error); /* smaller: cannot fail */
    if (status == SPLAT_OK) status = splat_model_upload(model, &cloud, error);
    splat_cloud_free(&cloud);
    return status;
}
