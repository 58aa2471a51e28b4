/* Part `dome` of a step: the sky behind the Gaussians, a colour of each direction that is trained with them
 * (docs/method.md 8.6). The colours are the model's (model/dome.h). Without the option `dome` the part does nothing. */
#ifndef SPLAT_TRAIN_DOME_H
#define SPLAT_TRAIN_DOME_H

#include "ops/dome/dome.h"
#include "scene/sky.h"
#include "train/state.h"

/* The trusted sky of a training photo: bits of pixels, in rows, at the size of the search. */
typedef struct splat_dome_mask {
    int32_t width, height; /* 0: the photo shows none */
    size_t first_word;     /* of state->sky */
} splat_dome_mask;

typedef struct splat_dome_state {
    splat_block m, v;       /* of the colours */
    splat_block sums;       /* of op dome_backward, of the step's view */
    splat_block batch_sums; /* with several ranks: those of the step's views, one after the other */
    splat_block sky;        /* bits of all masks */
    splat_dome_mask *masks; /* [n_views] of the dataset */
    int steps;              /* steps of Adam so far */
    bool is_on;
} splat_dome_state;

static inline splat_dome_state *splat_dome_of(const splat_trainer *trainer)
{
    return trainer->parts[SPLAT_PART_dome];
}

/* Bytes of the masks of all training photos, for the plan; 0 if the sky was not looked for or not found. */
size_t splat_dome_sky_bytes(const splat_scene *scene);
/* Adam's rate at an iteration. */
float splat_dome_rate(const splat_train_options *options, int iteration);
/* Every rank gets the colours of rank 0, and their moments. With one rank this is a no-op. Errors: MEMORY, DEVICE,
 * RANK. */
splat_status splat_dome_share(splat_trainer *trainer, splat_error *error);

#endif
