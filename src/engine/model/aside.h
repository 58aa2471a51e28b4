/* Other Gaussians for one picture: parameters that are put aside for it. */
#ifndef SPLAT_MODEL_ASIDE_H
#define SPLAT_MODEL_ASIDE_H

#include "model/model.h"

/* What a picture shows of the Gaussians. */
typedef struct splat_model_change {
    bool has_box;
    double low[3], high[3]; /* those with their centres outside are invisible */
    float scaling;          /* all are so many times as large; 1: as they are */
} splat_model_change;

/* The parameters that were put aside; zero: none. */
typedef struct splat_model_aside {
    struct splat_aside_array {
        float *on_device, *kept, *shown;
        size_t bytes;
    } opacities, scales;
} splat_model_aside;

/* Errors: MEMORY, DEVICE; then all is as it was, as far as the device can be reached. */
splat_status splat_model_put_aside(splat_model *model, const splat_model_change *change, splat_model_aside *aside,
                                   splat_error *error);
/* The parameters as they were, byte for byte. Errors: DEVICE. */
splat_status splat_model_show_again(splat_model *model, splat_model_aside *aside, splat_error *error);

#endif
