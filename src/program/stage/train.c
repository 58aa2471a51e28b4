/* Training from the points of a scene. */
#include "stage/train.h"

#include "base/file.h"
#include "stage/folder.h"
#include "stage/memory.h"
#include "stage/ranks.h"

#include <stdio.h>
#include <string.h>

splat_status splat_stage_check_train(const splat_line *line, splat_error *error)
{
    splat_train_options options;
    if (line->train->resample_gt_image && !line->train->ray_jitter)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`resample_gt_image` needs `ray_jitter`");
    splat_stage_asked_steps(line, NULL, &options);
    return splat_train_options_check(&options, error);
}

static void tell_without_effect(const splat_line *line)
{
    static const char *const of_split[] = {"llffhold", "test_camera_count", "split", "sector"};
    if (!line->scene->eval && splat_line_first_given(line, of_split, 4))
        splat_notice(line->talk, "without `eval` no test views are held out");
    if (line->scene->split == SPLAT_SPLIT_EVERY) splat_stage_tell_unused(line, "sector", " with `split every`");
}

/* The checkpoint may lie some steps before the end; those are made again. */
static void tell_finished(const splat_training *t, const splat_line *line)
{
    char path[SPLAT_STAGE_PATH], checkpoint[SPLAT_STAGE_PATH];
    int iteration = 0, last = t->train_options.iterations;
    if (!line->run->start_checkpoint || strcmp(line->run->start_checkpoint, "latest") != 0 || line->outcome) return;
    if (splat_model_find_iteration(t->model_path, -1, path, sizeof path, &iteration, NULL) != SPLAT_OK) return;
    snprintf(checkpoint, sizeof checkpoint, "%.4000s/chkpnt%d.splatsmith", t->model_path, last);
    if (iteration >= last && !splat_path_exists(checkpoint))
        splat_notice(line->talk,
                     "the run in %s has finished: %s is its last splat; the steps after its last checkpoint are made "
                     "again",
                     t->model_path, path);
}

/* True for the strategies of other trainers: they train as those do. */
static bool is_of_others(const splat_line *line)
{
    const char *strategy = line->training->strategy;
    return strcmp(strategy, "classic") == 0 || strcmp(strategy, "mcmc") == 0;
}

static void tell_steps(const splat_training *t, const splat_line *line)
{
    splat_train_options of_strategy;
    splat_train_options_init_strategy(&of_strategy, t->train_options.strategy);
    if (!splat_stage_names_steps(line) && !t->run_options.start_checkpoint &&
        t->train_options.iterations < of_strategy.iterations)
        splat_say(line->talk, "Few photos: %d instead of %d steps (`iterations` sets another number)",
                  t->train_options.iterations, of_strategy.iterations);
}

/* The sky lies behind the Gaussians where the photos show one. */
static splat_status choose_sky(splat_training *t, const splat_line *line, splat_error *error)
{
    if (t->run_options.start_checkpoint || (is_of_others(line) && !splat_line_given(line, "sky"))) return SPLAT_OK;
    return splat_scene_has_sky(t->session.scene, &t->train_options.dome, error);
}

/* Without the option exposures are found where the photos need them. */
static splat_status choose_exposure(splat_training *t, const splat_line *line, splat_error *error)
{
    splat_exposure_spread spread;
    if (splat_line_given(line, "exposure") || t->run_options.start_checkpoint) return SPLAT_OK;
    if (is_of_others(line)) return SPLAT_OK;
    SPLAT_TRY(splat_scene_measure_exposures(t->session.scene, &spread, error));
    t->train_options.exposure = spread.differs;
    if (spread.differs)
        splat_notice(line->talk, "the photos were exposed differently (deviation %.2f stops): the training finds the "
                     "exposure of each, and the splat is neutral (`exposure False`: it does not)", spread.deviation);
    return SPLAT_OK;
}

/* With `delete_first` the run itself deletes, after its first step: a mistake must not cost the old result. */
splat_status splat_stage_begin_train(splat_training *t, const splat_line *line, splat_error *error)
{
    splat_session *session = &t->session;
    const char *path = line->model->model_path;
    if (snprintf(t->model_path, sizeof t->model_path, "%s", path) >= (int)sizeof t->model_path)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the path %.200s... is too long", path);
    tell_without_effect(line);
    session->scene_options = *line->scene;
    session->scene_options.seed = line->train->seed;
    if (line->output->delete_first)
        SPLAT_TRY(
            splat_stage_check_deletable(t->model_path, line->scene->source_path, line->run->start_checkpoint, error));
    SPLAT_TRY(splat_stage_create_context(line, &session->context, error));
    SPLAT_TRY(splat_session_open_scene_of(session, line, &session->scene_options, error));
    splat_stage_asked_run(line, session->scene, &t->run_options, &t->train_options);
    tell_steps(t, line);
    SPLAT_TRY(choose_exposure(t, line, error));
    SPLAT_TRY(choose_sky(t, line, error));
    SPLAT_TRY(splat_stage_plan(line, session->context, session->scene, 0, 0, &t->train_options, error));
    SPLAT_TRY(splat_ranks_start_gpus(line, session->scene, &t->train_options, &t->workers, error));
    SPLAT_TRY(splat_trainer_create(session->context, session->scene, &t->train_options, &t->trainer, error));
    splat_training_describe(t);
    t->run_options.delete_first = line->output->delete_first;
    tell_finished(t, line);
    return SPLAT_OK;
}
