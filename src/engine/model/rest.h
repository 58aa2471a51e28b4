/* Access to sh_rest and to its moments. A step may leave rows that lack steps of Adam, or that lie in a cache
 * (ops/rest/rest.h). All others find them settled: sh_rest has no pointer but the one that splat_rest_open returns. */
#ifndef SPLAT_MODEL_REST_H
#define SPLAT_MODEL_REST_H

#include "model/model.h"

typedef enum splat_rest_how {
    SPLAT_REST_ROWS = 0, /* reads or writes rows: all steps are made, all rows are in their home memory */
    SPLAT_REST_MOVE,     /* moves rows with ops that know the cache: all steps are made, the cache stays */
    SPLAT_REST_STEP      /* ops of a step: rows stay as they are */
} splat_rest_how;

typedef struct splat_rest_rows {
    splat_gaussians gaussians;     /* the model's, with sh_rest: a copy */
    void *data;                    /* sh_rest in its storage, `words` a row; NULL without bands */
    uint32_t words;
    const splat_rest_state *state; /* `rest` of the ops: the model's, or NULL for ROWS */
} splat_rest_rows;

/* Settles sh_rest and its moments as `how` says. The rows stay valid until the model is resized or makes a step.
 * Errors: DEVICE. */
splat_status splat_rest_open(const splat_model *model, splat_rest_how how, splat_rest_rows *rows, splat_error *error);

/* sh_rest as floats from its storage and back (nearest), rows first .. first + n of it; host memory, [n][channels]. */
splat_status splat_rest_read(const splat_model *model, uint32_t first, uint32_t n, float *rest, splat_error *error);
splat_status splat_rest_write(splat_model *model, uint32_t first, uint32_t n, const float *rest, splat_error *error);
/* sh_rest becomes 16-bit, in place. Errors: MEMORY (nothing has changed), DEVICE. */
splat_status splat_rest_halve(splat_model *model, splat_error *error);
/* sh_rest to another placement. Errors: MEMORY, UNSUPPORTED; on these nothing has changed. */
splat_status splat_rest_place(splat_model *model, splat_placement placement, splat_error *error);

#endif
