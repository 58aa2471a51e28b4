/* The sky behind a model's Gaussians. */
#include "model/dome.h"

#include "base/file.h"
#include "io/dome_file.h"

#include <stdlib.h>

splat_status splat_model_set_dome(splat_model *model, const splat_dome *dome, splat_error *error)
{
    splat_backend *b = model->backend;
    const float ball[4] = {dome->center[0], dome->center[1], dome->center[2], dome->radius};
    SPLAT_TRY(splat_block_resize(b, &model->dome_block, "sky", SPLAT_OWNER_PARAMETERS, SPLAT_MODEL_DOME_BYTES, error));
    char *to = model->dome_block.data;
    SPLAT_TRY(splat_backend_upload_and_wait(b, to, dome->colors, SPLAT_DOME_BYTES, error));
    SPLAT_TRY(splat_backend_upload_and_wait(b, to + SPLAT_DOME_BYTES, ball, sizeof ball, error));
    model->dome = *dome;
    model->dome.colors = model->dome_block.data;
    return SPLAT_OK;
}

splat_status splat_model_refresh_dome(splat_model *model, splat_error *error)
{
    float ball[4];
    const char *from = model->dome_block.data;
    if (!from) return SPLAT_OK;
    SPLAT_TRY(splat_backend_download(model->backend, ball, from + SPLAT_DOME_BYTES, sizeof ball, error));
    model->dome = (splat_dome){.colors = model->dome_block.data, .radius = ball[3]};
    for (int k = 0; k < 3; k++) model->dome.center[k] = ball[k];
    return SPLAT_OK;
}

splat_status splat_model_load_dome(splat_model *model, const char *splat_path, splat_error *error)
{
    splat_dome dome = {.colors = NULL};
    char *path = splat_dome_path_next_to(splat_path);
    splat_status status = path ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    if (status == SPLAT_OK && splat_path_exists(path)) {
        status = splat_dome_read(path, &dome, error);
        if (status == SPLAT_OK) status = splat_model_set_dome(model, &dome, error);
    }
    free((void *)dome.colors);
    free(path);
    return status;
}

splat_status splat_model_get_dome(const splat_model *model, splat_dome *dome, splat_error *error)
{
    *dome = (splat_dome){.colors = NULL};
    if (!model->dome.colors) return SPLAT_OK;
    float *colors = malloc(SPLAT_DOME_BYTES);
    if (!colors) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the colours of the sky");
    splat_status status = splat_backend_download(model->backend, colors, model->dome.colors, SPLAT_DOME_BYTES, error);
    if (status == SPLAT_OK) {
        *dome = model->dome;
        dome->colors = colors;
    } else {
        free(colors);
    }
    return status;
}

splat_status splat_model_save_dome(const splat_model *model, const char *file_path, splat_error *error)
{
    splat_dome dome;
    SPLAT_TRY(splat_model_get_dome(model, &dome, error));
    if (!dome.colors) return SPLAT_OK;
    char *path = splat_dome_path_next_to(file_path);
    splat_status status = path ? splat_dome_write(path, &dome, error)
                               : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    free(path);
    free((void *)dome.colors);
    return status;
}
