/* What belongs after an iteration: the strategy's density control, then the regularizer's, then the late 3D filter. */
#include "train/schedule.h"
#include "train/state.h"

splat_status splat_density_control_after(splat_trainer *t, int iteration, splat_error *error)
{
    const splat_regularizer *regularizer = t->options.regularizer;
    if (t->last_density_control == iteration) return SPLAT_OK;
    SPLAT_TRY(t->strategy->after(t, iteration, error));
    if (regularizer && regularizer->after) SPLAT_TRY(regularizer->after(t, iteration, error));
    splat_trainer_drop_statistics(t, iteration);
    if (splat_schedule_filters_after(&t->options, iteration)) SPLAT_TRY(splat_trainer_update_filter(t, error));
    t->last_density_control = iteration;
    t->is_broken = false;
    return SPLAT_OK;
}
