/* splatsmith refine */
#include "paths.h"
#include "progress.h"
#include "stage/refine.h"
#include "train.h"

#include <stdio.h>
#include <string.h>

/* Finds the mesh that was saved next to a splat. */
static bool mesh_beside(const char *splat, char path[CLI_PATH_MAX])
{
    char folder[CLI_PATH_MAX];
    const char *slash = strrchr(splat, '/');
    snprintf(folder, sizeof folder, "%.*s", (int)(slash ? slash - splat : 1), slash ? splat : ".");
    return cli_path_join(path, folder, "mesh.ply");
}

static int deform(const splat_line *line)
{
    char splat[CLI_PATH_MAX], mesh[CLI_PATH_MAX];
    int iteration;
    splat_error error;
    if (!line->output->path) {
        cli_error("give the splat to write with -o");
        return CLI_USAGE;
    }
    if (splat_model_check_path(line->output->path, &error) != SPLAT_OK ||
        splat_model_find_iteration(line->model->mesh_file, line->model->iteration, splat, sizeof splat, &iteration,
                                   &error) != SPLAT_OK)
        return cli_report(&error);
    if (!mesh_beside(splat, mesh)) return CLI_USAGE;
    if (!cli_path_exists(mesh)) {
        cli_error("%s does not exist: %s is no folder of a refinement", mesh, line->model->mesh_file);
        return CLI_FAILED;
    }
    if (splat_refine_deform(splat, mesh, line->refine->deform, line->output->path, NULL, &error) != SPLAT_OK)
        return cli_report(&error);
    cli_say("The Gaussians of %s on %s: %s", splat, line->refine->deform, line->output->path);
    return CLI_OK;
}

int cmd_refine(splat_line *line)
{
    if (!line->model->mesh_file) {
        cli_error(line->refine->deform ? "give the folder of the refinement with -m" : "give the mesh with -m");
        return CLI_USAGE;
    }
    if (line->refine->deform) return deform(line);
    return cli_train(line, splat_stage_begin_refine, splat_stage_tell_mesh);
}
