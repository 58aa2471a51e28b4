/* Changes of the parameters for one picture, and their undoing. */
#ifndef SPLAT_MODEL_CHANGE_H
#define SPLAT_MODEL_CHANGE_H

#include "model/model.h"

/* How one picture differs from the model. */
typedef struct splat_model_change {
    bool has_box;
    double low[3], high[3]; /* Gaussians with centres outside of this box are invisible */
    float scaling;          /* factor of all scales; 1: unchanged */
} splat_model_change;

/* The parameters as they were; zero: nothing is changed. */
typedef struct splat_model_undo {
    struct splat_changed_array {
        float *on_device, *kept, *shown;
        size_t bytes;
    } opacities, scales;
} splat_model_undo;

/* Errors: MEMORY, DEVICE; then all is as it was, as far as the device can be reached. */
splat_status splat_model_apply_change(splat_model *model, const splat_model_change *change, splat_model_undo *undo,
                                      splat_error *error);
/* The parameters as they were, byte for byte. Errors: DEVICE. */
splat_status splat_model_undo_change(splat_model *model, splat_model_undo *undo, splat_error *error);

#endif
