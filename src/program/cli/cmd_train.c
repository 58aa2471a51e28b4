/* splatsmith train */
#include "cmd_cameras.h"
#include "progress.h"
#include "ranks.h"
#include "session.h"
#include "signals.h"
#include "stage/cameras.h"
#include "stage/folder.h"
#include "stage/train.h"
#include "train.h"

#include <string.h>
#include <time.h>

/* Checks that options agree, beyond the ranges in the table. Prints the reason. */
static bool options_agree(const splat_line *line)
{
    const char *name = line->output->experiment_name;
    if (name && (strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)) {
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

/* -m, or <scene>_output/<experiment name or date_time>. */
static splat_status choose_model_path(const splat_line *line, char path[CLI_PATH_MAX], splat_error *error)
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
    return splat_stage_choose_folder(path, line->model->model_path, line->scene->source_path, "_output", name, error);
}

/* Finds the cameras of photos alone: they lie in the model folder, or next to those that have the time for a name. */
static int find_cameras(splat_line *line, char folder[CLI_PATH_MAX])
{
    splat_cameras_info info;
    splat_error error;
    if (line->output->delete_first) {
        cli_error("--delete_first would delete the cameras of the photos, too; find them apart: splatsmith cameras %s "
                  "-o SCENE, then train -s SCENE", line->scene->source_path);
        return CLI_USAGE;
    }
    splat_status status = splat_stage_cameras_folder(line, line->model->model_path, folder, &error);
    if (status != SPLAT_OK) return cli_report(&error);
    return cli_find_cameras(line, line->scene->source_path, folder, &info);
}

static int train(splat_line *line)
{
    static char cameras[CLI_PATH_MAX], path[CLI_PATH_MAX];
    splat_error error;
    const bool needs_cameras = !line->training->eval_only && splat_stage_needs_cameras(line);
    int code = needs_cameras ? find_cameras(line, cameras) : CLI_OK;
    if (code == CLI_OK) code = cli_end(choose_model_path(line, path, &error), &error); /* that of the photos */
    if (code != CLI_OK) {
        cli_ranks_fail(line->train->ranks, code);
        return code;
    }
    if (needs_cameras) splat_stage_take_cameras(line, cameras);
    line->model->model_path = path;
    return line->training->eval_only ? cmd_eval(line) : cli_train(line, splat_stage_begin_train, NULL);
}

static int check(const splat_line *line)
{
    splat_error error;
    splat_status status = splat_stage_check_train(line, &error);
    if (status != SPLAT_OK) return cli_report(&error);
    if (!options_agree(line)) return CLI_USAGE;
    if (line->output->experiment_name && line->model->model_path)
        cli_notice("--experiment_name has no effect: -m names the model folder");
    return CLI_OK;
}

int cmd_train(splat_line *line)
{
    splat_error error;
    int rank, size;
    int code = cli_end(splat_ranks_count_gpus(line, &error), &error);
    splat_launch_get(&rank, &size);
    if (code == CLI_OK && line->training->eval_only && rank > 0) return CLI_OK; /* one measures */
    if (code == CLI_OK && !line->training->eval_only) code = cli_ranks_open(line);
    if (code == CLI_OK) code = check(line);
    if (code == CLI_OK) code = train(line);
    cli_ranks_close(line);
    return code;
}
