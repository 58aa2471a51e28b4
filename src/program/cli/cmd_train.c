/* splatsmith train */
#include "find_cameras.h"
#include "ranks.h"
#include "training.h"
#include "vram.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What the table cannot say about single options. Prints the reason. */
static bool options_agree(const splat_line *line)
{
    const char *name = line->output->experiment_name;
    if (line->train->resample_gt_image && !line->train->ray_jitter) {
        cli_error("--resample_gt_image needs --ray_jitter");
    } else if (name && (strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)) {
        cli_error("--experiment_name takes the name of a folder without a slash, not '%s'", name);
    } else if (!line->scene->source_path && !line->training->eval_only) {
        cli_error(CLI_NO_SCENE);
    } else if (line->training->eval_only && !line->model->model_path && !(line->scene->source_path && name)) {
        cli_error("--eval_only needs the model folder: give it with -m");
    } else if (line->output->delete_first && line->run->start_checkpoint &&
               strcmp(line->run->start_checkpoint, "latest") == 0) {
        cli_error("--delete_first and --start_checkpoint latest exclude each other: the checkpoint would be deleted");
    } else if (line->training->eval_only && line->output->delete_first) {
        cli_error("--eval_only and --delete_first exclude each other: the model to measure would be deleted");
    } else {
        return true;
    }
    return false;
}

static void tell_without_effect(const splat_line *line)
{
    static const char *const of_split[] = {"llffhold", "test_camera_count", "split", "sector"};
    if (!line->scene->eval && !line->training->eval_only && splat_line_first_given(line, of_split, 4))
        cli_notice("without --eval no test views are held out");
    if (line->scene->split == SPLAT_SPLIT_EVERY) cli_tell_unused(line, "sector", " with --split every");
    if (line->output->experiment_name && line->model->model_path)
        cli_notice("--experiment_name has no effect: -m names the model folder");
}

int cli_check_train(const splat_line *line)
{
    splat_train_options options;
    splat_error error;
    if (!options_agree(line)) return CLI_USAGE;
    cli_asked_steps(line, &options);
    return splat_train_options_check(&options, &error) == SPLAT_OK ? CLI_OK : cli_report(&error);
}

/* -m, or <scene>_output/<experiment name or date_time>. */
static bool choose_model_path(const splat_line *line, char path[CLI_PATH_MAX])
{
    char stamp[32];
    const char *name = line->output->experiment_name;
    if (!name) {
        time_t now = time(NULL);
        struct tm local;
        localtime_r(&now, &local);
        strftime(stamp, sizeof stamp, "%Y%m%d_%H%M%S", &local);
        name = stamp;
    }
    return cli_choose_folder(path, line->model->model_path, line->scene->source_path, "_output", name);
}

/* Opens everything that the run needs. With --delete_first the run itself deletes, after its first step: a mistake must
 * not cost the old result. */
static int prepare(cli_training *j, const splat_line *line)
{
    splat_error error;
    int code = CLI_OK;
    if (line->output->delete_first)
        code = cli_check_deletable(j->model_path, line->scene->source_path, line->run->start_checkpoint);
    if (code == CLI_OK) code = cli_context_create(line, &j->context);
    if (code != CLI_OK) return code;
    if (splat_scene_open(j->context, &j->scene_options, &j->scene, &error) != SPLAT_OK) return cli_report(&error);
    cli_asked_steps(line, &j->train_options);
    code = cli_plan_training(line, j->context, j->scene, 0, &j->train_options);
    if (code == CLI_OK) code = cli_ranks_start_gpus(line, j->scene, &j->train_options, &j->workers);
    if (code != CLI_OK) return code;
    if (splat_trainer_create(j->context, j->scene, &j->train_options, &j->trainer, &error) != SPLAT_OK)
        return cli_report(&error);
    cli_training_describe(j);
    j->run_options.delete_first = line->output->delete_first;
    return CLI_OK;
}

static int eval_only(const cli_training *j, splat_line *line)
{
    line->model->model_path = j->model_path;
    return cmd_eval(line);
}

/* The checkpoint may lie some steps before the end; those are made again. */
static void tell_finished(const cli_training *j, const splat_line *line)
{
    splat_error error;
    char path[CLI_PATH_MAX], checkpoint[CLI_PATH_MAX];
    int iteration = 0, last = j->train_options.iterations;
    if (!line->run->start_checkpoint || strcmp(line->run->start_checkpoint, "latest") != 0 || line->outcome) return;
    if (splat_model_find_iteration(j->model_path, -1, path, sizeof path, &iteration, &error) != SPLAT_OK) return;
    snprintf(checkpoint, sizeof checkpoint, "%.4000s/chkpnt%d.splatsmith", j->model_path, last);
    if (iteration >= last && !cli_path_exists(checkpoint))
        cli_notice("the run in %s has finished: %s is its last splat; the steps after its last checkpoint are made "
                   "again", j->model_path, path);
}

static int run_job(cli_training *j, splat_line *line)
{
    if (!j->model_path[0] && !choose_model_path(line, j->model_path)) return CLI_USAGE;
    if (line->training->eval_only) return eval_only(j, line);
    j->scene_options = *line->scene;
    j->scene_options.seed = line->train->seed;
    cli_training_fill(j, line);
    int code = prepare(j, line);
    if (code == CLI_OK) tell_finished(j, line);
    return code == CLI_OK ? cli_training_run(j, line) : code;
}

/* Photos alone: their cameras lie in the model folder, or beside those that have the time for a name. The default model
 * folder is that of the photos. */
static int find_cameras(cli_training *j, splat_line *line, char folder[CLI_PATH_MAX])
{
    if (line->training->eval_only || !cli_needs_cameras(line)) return CLI_OK;
    if (line->output->delete_first) {
        cli_error("--delete_first would delete the cameras of the photos, too; find them apart: splatsmith cameras %s "
                  "-o SCENE, then train -s SCENE", line->scene->source_path);
        return CLI_USAGE;
    }
    splat_cameras_info info;
    if (!cli_cameras_folder(line, line->model->model_path, folder)) return CLI_USAGE;
    int code = cli_find_cameras(line, line->scene->source_path, folder, &info);
    if (code == CLI_OK && !choose_model_path(line, j->model_path)) code = CLI_USAGE;
    cli_take_cameras(line, folder);
    return code;
}

static int train(splat_line *line)
{
    static char folder[CLI_PATH_MAX];
    cli_training *j = calloc(1, sizeof *j);
    if (!j) {
        cli_error("memory is exhausted");
        return CLI_FAILED;
    }
    int code = find_cameras(j, line, folder);
    if (code == CLI_OK) code = run_job(j, line);
    if (!j->trainer) cli_ranks_fail(line->train->ranks, code); /* with one, the others know */
    cli_training_close(j);
    free(j);
    return code;
}

int cmd_train(splat_line *line)
{
    int code = cli_ranks_count_gpus(line), rank, size;
    splat_launch_get(&rank, &size);
    if (code == CLI_OK && line->training->eval_only && rank > 0) return CLI_OK; /* one measures */
    if (code == CLI_OK && !line->training->eval_only) code = cli_ranks_open(line);
    if (code == CLI_OK) code = cli_check_train(line);
    if (code == CLI_OK) {
        tell_without_effect(line);
        code = train(line);
    }
    cli_ranks_close(line);
    return code;
}
