/* Writes the results of a mesh's evaluation to a model folder. */
#include "measure/mesh_results.h"

#include "base/file.h"
#include "base/options.h"
#include "measure/mesh_evaluate.h"
#include "measure/measured_mesh.h"
#include "measure/results_json.h"

#include <stdlib.h>
#include <string.h>

typedef struct view_names {
    char (*texts)[32];
    const char **names;
} view_names;

static splat_status make_names(view_names *v, size_t n, splat_error *error)
{
    v->texts = calloc(n, sizeof *v->texts);
    v->names = calloc(n, sizeof *v->names);
    if (!v->texts || !v->names) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu results", n);
    for (size_t i = 0; i < n; i++) {
        snprintf(v->texts[i], sizeof v->texts[i], "%05zu.png", i);
        v->names[i] = v->texts[i];
    }
    return SPLAT_OK;
}

static splat_status check_results(const char *model_path, splat_error *error)
{
    char *path = splat_format("%s/results.json", model_path);
    if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_save_check(path, error);
    free(path);
    return status;
}

splat_status splat_mesh_results_write(splat_scene *scene, const char *mesh_path, const splat_view_job *job,
                                      const splat_mesh_draw_options *options, const char *model_path,
                                      const char *variant, splat_mesh_metrics *mean, splat_error *error)
{
    splat_view_job own;
    splat_view_job_init(&own);
    SPLAT_TRY(splat_options_take(&own, job, "splat_view_job", error));
    uint32_t storage[5];
    const uint32_t *indices;
    size_t n = splat_scene_view_set(scene, own.set, &indices, storage), n_done = 0;
    if (n == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the scene has no %s views to measure",
                          splat_view_set_name(own.set));
    SPLAT_TRY(check_results(model_path, error));
    view_names names = {0};
    splat_mesh_metrics *views = calloc(n, sizeof *views);
    char *mesh = splat_measured_mesh_name(mesh_path);
    char *name = mesh ? splat_format("%s%s%s", mesh, variant ? "_" : "", variant ? variant : "") : NULL;
    splat_status status = make_names(&names, n, error);
    if (status == SPLAT_OK && (!views || !name))
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu results", n);
    if (status == SPLAT_OK)
        status = splat_mesh_evaluate_views(scene, mesh_path, job, options, views, mean, &n_done, error);
    if (status == SPLAT_OK && n_done < n)
        status = splat_fail(error, SPLAT_ERROR_STOPPED, "stopped after %zu of %zu views; no results were written",
                            n_done, n);
    char *method = status == SPLAT_OK ? splat_results_json_name(scene->context, model_path, name, n) : NULL;
    if (status == SPLAT_OK)
        status = method ? splat_mesh_results_json_write(model_path, method, mean, views, names.names, n, error)
                        : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a name");
    free(method);
    free(name);
    free(mesh);
    free(views);
    free(names.texts);
    free(names.names);
    return status;
}
