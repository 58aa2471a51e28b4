/* Calls of all parts, in the order of parts.def. */
#include "train/parts/part.h"

#include "base/error.h"

#include <stdlib.h>

#define SPLAT_PART(name) extern const splat_part splat_part_##name;
#include "train/parts/parts.def"
#undef SPLAT_PART

const splat_part *const splat_parts[] = {
#define SPLAT_PART(name) &splat_part_##name,
#include "train/parts/parts.def"
#undef SPLAT_PART
};
const int splat_n_parts = sizeof splat_parts / sizeof splat_parts[0];

/* Calls a function of every part that has it; returns from the caller at the first failure. */
#define CALL(function, ...)                                                                                            \
    for (int i = 0; i < splat_n_parts; i++)                                                                            \
        if (splat_parts[i]->function) SPLAT_TRY(splat_parts[i]->function(__VA_ARGS__));                                \
    return SPLAT_OK

splat_status splat_parts_init(splat_trainer *t, void **states, splat_error *error)
{
    for (int i = 0; i < splat_n_parts; i++) {
        if (!splat_parts[i]->state_bytes) continue;
        states[i] = calloc(1, splat_parts[i]->state_bytes);
        if (!states[i])
            return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for `%s` of a training", splat_parts[i]->name);
    }
    CALL(init, t, error);
}

void splat_parts_free(splat_trainer *t, void **states)
{
    for (int i = 0; i < splat_n_parts; i++) {
        if (splat_parts[i]->free && states[i]) splat_parts[i]->free(t);
        free(states[i]);
    }
}

splat_status splat_parts_begin(splat_trainer *t, struct splat_step *step, splat_error *error)
{
    CALL(begin, t, step, error);
}

splat_status splat_parts_stage(splat_trainer *t, int iteration, struct splat_step_view *view, splat_error *error)
{
    CALL(stage, t, iteration, view, error);
}

splat_status splat_parts_picture(splat_trainer *t, struct splat_step_view *view, splat_error *error)
{
    CALL(picture, t, view, error);
}

splat_status splat_parts_loss(splat_trainer *t, struct splat_step_view *view, splat_error *error)
{
    CALL(loss, t, view, error);
}

splat_status splat_parts_backward(splat_trainer *t, struct splat_step_view *view, splat_error *error)
{
    CALL(backward, t, view, error);
}

splat_status splat_parts_update(splat_trainer *t, struct splat_step *step, splat_error *error)
{
    CALL(update, t, step, error);
}

splat_status splat_parts_get_losses(const splat_trainer *t, splat_loss *losses, size_t *n, splat_error *error)
{
    *n = 0;
    CALL(get_losses, t, losses, n, error);
}

void splat_parts_state_arrays(const splat_trainer *t, struct splat_state_array *arrays, int *n)
{
    for (int i = 0; i < splat_n_parts; i++)
        if (splat_parts[i]->state_arrays) splat_parts[i]->state_arrays(t, arrays, n);
}

splat_status splat_parts_restored(splat_trainer *t, splat_error *error)
{
    CALL(restored, t, error);
}

splat_part_bytes splat_parts_bytes(const splat_part_work *work)
{
    const size_t granule = work->setup->granule;
    splat_part_bytes sum = {0};
    for (int i = 0; i < splat_n_parts; i++) {
        splat_part_bytes own = {0};
        if (splat_parts[i]->bytes) splat_parts[i]->bytes(work, &own);
        sum.frame += own.frame;
        sum.backward += own.backward;
        sum.kept += own.kept;
        sum.n_blocks += own.n_blocks;
        sum.batch += (own.batch + granule - 1) / granule * granule;
    }
    return sum;
}
