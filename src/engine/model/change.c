/* Opacities and scales that are other ones for a picture. */
#include "model/change.h"

#include "io/splat/cloud.h"

#include <math.h>
#include <stdlib.h>

typedef struct splat_changed_array array;

static void free_array(array *a)
{
    free(a->kept);
    free(a->shown);
    *a = (array){0};
}

/* Copies n floats of the device. */
static splat_status keep_array(splat_model *model, float *on_device, size_t n, array *a, splat_error *error)
{
    const size_t bytes = n * sizeof(float);
    *a = (array){on_device, malloc(bytes + 1), malloc(bytes + 1), bytes};
    splat_status status = a->kept && a->shown
                              ? splat_backend_download(model->backend, a->kept, on_device, bytes, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu other parameters", n);
    if (status != SPLAT_OK) free_array(a);
    return status;
}

static splat_status show(splat_model *model, array *a, splat_error *error)
{
    splat_status status = splat_backend_upload(model->backend, a->on_device, a->shown, a->bytes, error);
    if (status != SPLAT_OK) free_array(a);
    return status;
}

static splat_status undo_array(splat_model *model, array *a, splat_error *error)
{
    splat_status status = SPLAT_OK;
    if (a->kept) status = splat_backend_upload_and_wait(model->backend, a->on_device, a->kept, a->bytes, error);
    free_array(a);
    return status;
}

static splat_status hide_outside(splat_model *model, const splat_model_change *box, array *a, splat_error *error)
{
    const splat_gaussians *g = &model->gaussians;
    float *means = malloc(3 * g->n * sizeof(float) + 1);
    splat_status status =
        means ? splat_backend_download(model->backend, means, g->p.means, 3 * g->n * sizeof(float), error)
              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a box around %u Gaussians", g->n);
    if (status == SPLAT_OK) status = keep_array(model, g->p.opacities, g->n, a, error);
    for (size_t i = 0; i < g->n && status == SPLAT_OK; i++) {
        bool inside = true;
        for (size_t k = 0; k < 3; k++)
            inside &= (double)means[3 * i + k] >= box->low[k] && (double)means[3 * i + k] <= box->high[k];
        a->shown[i] = inside ? a->kept[i] : SPLAT_HIDDEN_OPACITY;
    }
    if (status == SPLAT_OK) status = show(model, a, error);
    free(means);
    return status;
}

static splat_status scale_all(splat_model *model, float factor, array *a, splat_error *error)
{
    const size_t n = 3 * (size_t)model->gaussians.n;
    SPLAT_TRY(keep_array(model, model->gaussians.p.scales, n, a, error));
    for (size_t i = 0; i < n; i++) a->shown[i] = a->kept[i] + logf(factor);
    return show(model, a, error);
}

splat_status splat_model_apply_change(splat_model *model, const splat_model_change *change, splat_model_undo *undo,
                                      splat_error *error)
{
    splat_status status = SPLAT_OK;
    *undo = (splat_model_undo){.opacities = {0}};
    if (change->has_box) status = hide_outside(model, change, &undo->opacities, error);
    if (change->scaling != 1 && status == SPLAT_OK) status = scale_all(model, change->scaling, &undo->scales, error);
    if (status != SPLAT_OK) splat_model_undo_change(model, undo, NULL);
    return status;
}

splat_status splat_model_undo_change(splat_model *model, splat_model_undo *undo, splat_error *error)
{
    splat_error other;
    splat_status status = undo_array(model, &undo->opacities, error);
    splat_status scales = undo_array(model, &undo->scales, &other);
    if (status != SPLAT_OK || scales == SPLAT_OK) return status;
    if (error) *error = other;
    return scales;
}
