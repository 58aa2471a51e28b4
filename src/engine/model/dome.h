/* The sky behind a model's Gaussians. */
#ifndef SPLAT_MODEL_DOME_H
#define SPLAT_MODEL_DOME_H

#include "model/model.h"

/* Gives the model a copy of a dome in host memory, in place of its own. Errors: MEMORY, DEVICE. */
splat_status splat_model_set_dome(splat_model *model, const splat_dome *dome, splat_error *error);
#define SPLAT_MODEL_DOME_WORDS (3 * SPLAT_DOME_NODES + 4) /* 32 bits each, of model->dome_block */
#define SPLAT_MODEL_DOME_BYTES (SPLAT_MODEL_DOME_WORDS * sizeof(float))

/* Reads centre and radius again after the block has changed. Waits for the device. Errors: DEVICE. */
splat_status splat_model_refresh_dome(splat_model *model, splat_error *error);
/* Reads the dome that lies next to a splat; without one the model stays as it is. Errors: those of splat_dome_read,
 * MEMORY, DEVICE. */
splat_status splat_model_load_dome(splat_model *model, const char *splat_path, splat_error *error);
/* Writes the dome next to a file, where the model has one. Errors: IO, MEMORY, DEVICE. */
splat_status splat_model_save_dome(const splat_model *model, const char *file_path, splat_error *error);
/* A copy in host memory; the caller frees colors, which are NULL without a dome. Waits for the device. Errors: MEMORY,
 * DEVICE. */
splat_status splat_model_get_dome(const splat_model *model, splat_dome *dome, splat_error *error);

/* The background of a view that has begun: a colour, and the model's dome over it. */
static inline void splat_model_set_background(const splat_model *model, splat_frame *frame, const float background[3])
{
    for (int c = 0; c < 3; c++) frame->background[c] = background[c];
    frame->dome = model->dome;
}

#endif
