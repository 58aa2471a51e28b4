/* splatsmith mesh */
#include "cli.h"
#include "paths.h"
#include "progress.h"
#include "session.h"
#include "stage/mesh.h"

#include <stdio.h>

/* As SuGaR's scripts say it: -m may be the file of a coarse training, -c the folder of the splat before it. */
static void take_sugars_words(splat_line_model *model)
{
    char inside[CLI_PATH_MAX];
    if (model->model_path && model->gs_output_dir)
        cli_notice("--gs_output_dir has no effect: the splat is that of -m");
    else if (model->gs_output_dir && !model->ply)
        model->model_path = model->gs_output_dir;
    if (model->model_path && !model->ply && cli_path_exists(model->model_path) &&
        snprintf(inside, sizeof inside, "%s/.", model->model_path) < (int)sizeof inside && !cli_path_exists(inside)) {
        model->ply = model->model_path;
        model->model_path = NULL;
    }
}

int cmd_mesh(splat_line *line)
{
    splat_error error;
    take_sugars_words(line->model);
    return cli_end(splat_stage_mesh(line, &error), &error);
}
