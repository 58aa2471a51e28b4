/* The times of a step's stages. A stage ends at a mark on the device; nothing waits for it. */
#include "train/step.h"

#include "train/trainer.h"

#include <string.h>

int splat_step_mark_number(const splat_trainer *t, splat_step_mark mark)
{
    return t->n_marked % SPLAT_MARKED_STEPS * SPLAT_N_MARKS + (int)mark;
}

void splat_step_note_mark(splat_trainer *t, splat_step_mark mark)
{
    unsigned *set = &t->marks_set[t->n_marked % SPLAT_MARKED_STEPS];
    if (mark == SPLAT_MARK_BEGIN) *set = 0;
    *set |= 1u << mark;
}

splat_status splat_step_stamp(splat_trainer *t, splat_step_mark mark, splat_error *error)
{
    if (!t->measures_stages) return SPLAT_OK;
    splat_step_note_mark(t, mark);
    return splat_backend_stamp(t->backend, splat_step_mark_number(t, mark), error);
}

static double *stage_of(splat_stage_times *times, splat_step_mark mark)
{
    double *const stages[SPLAT_N_MARKS] = {[SPLAT_MARK_DATA] = &times->data,
                                           [SPLAT_MARK_PROJECT] = &times->project,
                                           [SPLAT_MARK_SEND] = &times->send,
                                           [SPLAT_MARK_BIN] = &times->bin,
                                           [SPLAT_MARK_RASTER] = &times->raster,
                                           [SPLAT_MARK_LOSS] = &times->loss,
                                           [SPLAT_MARK_RASTER_BACKWARD] = &times->raster_backward,
                                           [SPLAT_MARK_SEND_BACK] = &times->send_back,
                                           [SPLAT_MARK_PROJECT_BACKWARD] = &times->project_backward};
    return stages[mark];
}

splat_status splat_step_add_times(splat_trainer *t, splat_error *error)
{
    splat_stage_times *of_rank = &t->shards.work.stages;
    if (!t->measures_stages) return SPLAT_OK;
    t->n_marked++;
    if (t->n_marked < 3) return SPLAT_OK;
    const int set = (t->n_marked - 3) % SPLAT_MARKED_STEPS, first = set * SPLAT_N_MARKS;
    for (int before = SPLAT_MARK_BEGIN, mark = before + 1; mark < SPLAT_N_MARKS; mark++) {
        double ms;
        if (!(t->marks_set[set] >> mark & 1)) continue;
        SPLAT_TRY(splat_backend_stamp_ms(t->backend, first + before, first + mark, &ms, error));
        *stage_of(&t->times, mark) += ms;
        *stage_of(of_rank, mark) += ms;
        before = mark;
    }
    t->times.steps++;
    of_rank->steps++;
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
