/* The times of a step's stages. A stage ends at a mark on the device; nothing waits for it. */
#include "train/step.h"

#include "train/trainer.h"

#include <string.h>

#define MARKED_STEPS 4 /* sets of marks; a step's are read two steps later, when a device has long passed them */

int splat_step_mark_number(const splat_trainer *t, splat_step_mark mark)
{
    return t->n_marked % MARKED_STEPS * SPLAT_N_MARKS + (int)mark;
}

splat_status splat_step_stamp(splat_trainer *t, splat_step_mark mark, splat_error *error)
{
    if (!t->measures_stages) return SPLAT_OK;
    return splat_backend_stamp(t->backend, splat_step_mark_number(t, mark), error);
}

splat_status splat_step_add_times(splat_trainer *t, splat_error *error)
{
    if (!t->measures_stages) return SPLAT_OK;
    double *const stages[] = {&t->times.data, &t->times.project,         &t->times.bin,             &t->times.raster,
                              &t->times.loss, &t->times.raster_backward, &t->times.project_backward};
    t->n_marked++;
    if (t->n_marked < 3) return SPLAT_OK;
    int first = (t->n_marked - 3) % MARKED_STEPS * SPLAT_N_MARKS;
    for (int i = 0; i < SPLAT_N_MARKS - 1; i++) {
        double ms;
        SPLAT_TRY(splat_backend_stamp_ms(t->backend, first + i, first + i + 1, &ms, error));
        *stages[i] += ms;
    }
    t->times.steps++;
    return SPLAT_OK;
}

void splat_trainer_measure_stages(splat_trainer *t, bool on)
{
    t->measures_stages = on;
    t->n_marked = 0;
    memset(&t->times, 0, sizeof t->times);
}

void splat_trainer_take_stage_times(splat_trainer *t, splat_stage_times *times)
{
    *times = t->times;
    memset(&t->times, 0, sizeof t->times);
}
