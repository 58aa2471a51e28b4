/* A rendered picture as a photo was exposed. */
#include "model/expose.h"

#include "ops/exposure/exposure.h"

splat_status splat_model_expose(splat_model *model, const splat_camera *camera, const splat_exposures *exposures,
                                const splat_photo_exposure *photo, int crop, splat_error *error)
{
    splat_backend *b = model->backend;
    float host[2][SPLAT_EXPOSURE_ROW], *rows;
    if (!photo || photo->camera + (size_t)crop >= exposures->n_cameras) return SPLAT_OK;
    double row[SPLAT_EXPOSURE_ROW];
    splat_photo_exposure_get(photo, row);
    for (int k = 0; k < SPLAT_EXPOSURE_ROW; k++) {
        host[0][k] = (float)row[k];
        host[1][k] = (float)exposures->cameras[photo->camera + (size_t)crop][k];
    }
    SPLAT_TRY(splat_frame_take(b, &model->frame, sizeof host, (void **)&rows, error));
    SPLAT_TRY(splat_backend_upload(b, rows, host, sizeof host, error));
    const struct splat_exposure_args args = {.width = camera->width,
                                             .height = camera->height,
                                             .cx = camera->cx,
                                             .cy = camera->cy,
                                             .photo_row = rows,
                                             .camera_row = rows + SPLAT_EXPOSURE_ROW,
                                             .image = model->frame.image,
                                             .exposed = model->frame.image};
    SPLAT_TRY(splat_op_exposure(b, &args, error));
    return splat_backend_synchronize(b, error); /* `host` goes */
}
