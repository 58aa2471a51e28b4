/* Refinement: a mesh with Gaussians bound to its triangles. */
#include "stage/refine.h"

#include "base/file.h"
#include "report/number_name.h"
#include "stage/folder.h"
#include "stage/memory.h"
#include "stage/mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_A_PHOTO 28
#define LEAST_STEPS 1000
#define MOST_STEPS 5000

static bool is_folder(const char *path)
{
    return path && splat_path_is_folder(path);
}

static int gaussians_per_triangle(const splat_line *line)
{
    return line->refine->gaussians_per_triangle ? atoi(line->refine->gaussians_per_triangle) : 1;
}

/* Steps for n_train photos: with more, Gaussians on 2 M triangles learn few photos by heart. After 5,000 the splat of
 * many photos is as good as the coarse one (docs/lab/texture.md); who wants more says `refinement_time`. */
static int enough_steps(size_t n_train)
{
    const size_t n = n_train * STEPS_A_PHOTO;
    return (int)(n < LEAST_STEPS ? LEAST_STEPS : n > MOST_STEPS ? MOST_STEPS : n);
}

/* SuGaR's three lengths, or the number; a time that is given wins, as there. */
static int iterations_of(const splat_line *line, size_t n_train)
{
    const char *time = line->refine->time;
    if (time) return strcmp(time, "short") == 0 ? 2000 : strcmp(time, "medium") == 0 ? 7000 : 15000;
    if (line->refine->iterations) return line->refine->iterations;
    return line->refine->fits_photos ? enough_steps(n_train) : 15000;
}

/* ---------------------------------------------------------------- options */

/* Begins with the options of the line alone. n_train: training photos; 0: not known yet. */
static splat_status begin_train_options(const splat_line *line, size_t n_train, splat_train_options *options,
                                        splat_error *error)
{
    splat_train_options refine;
    double low[3], high[3], square = 0;
    bool has_box;
    splat_train_options_init_refine(&refine);
    splat_stage_asked_options(line, options);
    splat_stage_apply_preset(line, &refine, options);
    options->regularizer = refine.regularizer;
    options->binding = refine.binding;
    options->iterations = iterations_of(line, n_train);
    options->refine.gaussians_per_triangle = gaussians_per_triangle(line);
    SPLAT_TRY(splat_stage_read_box(line, &has_box, low, high, error));
    for (int k = 0; k < 3 && has_box; k++) square += (high[k] - low[k]) * (high[k] - low[k]);
    options->refine.foreground_radius = (float)(0.5 * sqrt(square));
    return SPLAT_OK;
}

static void tell_without_effect(const splat_line *line)
{
    if (line->refine->time && splat_line_given(line, "refinement_iterations"))
        splat_notice(line->talk, "`refinement_time %s` wins over `refinement_iterations`", line->refine->time);
    if (strcmp(line->model->render_mode, "mip") != 0)
        splat_stage_tell_unused(line, "kernel_size", " without `render_mode mip`");
}

splat_status splat_stage_check_refine(const splat_line *line, splat_error *error)
{
    splat_train_options options;
    if (line->refine->keep_rest && !line->model->gs_output_dir)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`keep_rest` keeps Gaussians of a splat; name it with -c");
    SPLAT_TRY(begin_train_options(line, 0, &options, error));
    return splat_train_options_check(&options, error);
}

/* ---------------------------------------------------------------- folders */

/* The name of a file without its folder, its end, and what SuGaR puts before it. */
static void stem_of(const char *path, char stem[128])
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strncmp(name, "sugarmesh_", 10) == 0) name += 10;
    const char *end = strrchr(name, '.');
    snprintf(stem, 128, "%.*s", (int)(end ? (size_t)(end - name) : strlen(name)), name);
}

/* `output`, or SuGaR's name: sugarfine_<mesh>_normalconsistency01_gaussperface1. */
static splat_status choose_folder(const splat_line *line, char path[SPLAT_STAGE_PATH], splat_error *error)
{
    char stem[128], factor[32], name[256];
    bool has_model = is_folder(line->model->gs_output_dir);
    const char *source = has_model ? line->model->gs_output_dir : line->scene->source_path;
    if (!line->output->path && !source)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "give the folder to write with -o");
    stem_of(line->model->mesh_file, stem);
    snprintf(name, sizeof name, "sugarfine_%s_normalconsistency%s_gaussperface%d", stem,
             splat_number_name(factor, line->train->refine.normal_consistency_factor), gaussians_per_triangle(line));
    return splat_stage_choose_folder(path, line->output->path, source, has_model ? "_mesh" : "_output",
                                     line->output->experiment_name ? line->output->experiment_name : name, error);
}

/* The result is a model of its own: in the splat's folder the two would be one run to every later command. Files in the
 * folder of a run that begins again are set aside, the mesh with them. */
static splat_status check_folder(const splat_line *line, const char *folder, splat_error *error)
{
    const char *inside = NULL, *splat = line->model->gs_output_dir;
    char mesh[SPLAT_STAGE_PATH];
    if (is_folder(splat) && splat_stage_lies_in(splat, folder) && splat_stage_lies_in(folder, splat))
        inside = "the splat";
    SPLAT_TRY(splat_stage_join(mesh, folder, "mesh.ply", error));
    if (splat_stage_lies_in(line->model->mesh_file, mesh)) inside = "the mesh to begin with";
    if (!inside) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "%s lies in %s; name another folder for the result with -o", inside,
                      folder);
}

/* ---------------------------------------------------------------- training */

/* The scene, by the model of gs_output_dir or by source_path; session->ply: a splat for colours, "" without. */
static splat_status open_scene(splat_session *session, const splat_line *line, splat_error *error)
{
    splat_line own = *line;
    splat_line_model model = *line->model;
    const bool has_model = is_folder(line->model->gs_output_dir);
    model.model_path = has_model ? line->model->gs_output_dir : NULL;
    model.ply = has_model ? NULL : line->model->gs_output_dir;
    own.model = &model;
    if (has_model || model.ply) SPLAT_TRY(splat_session_find_ply(session, &own, error));
    SPLAT_TRY(splat_stage_create_context(line, &session->context, error));
    SPLAT_TRY(splat_session_open_scene(session, &own, true, error));
    return session->ply[0] ? splat_scene_check_splat(session->scene, session->ply, error) : SPLAT_OK;
}

/* sky: a file, or NULL. */
static splat_status start(splat_training *t, const splat_line *line, const char *splat, const char *sky,
                          splat_error *error)
{
    splat_refine_input input;
    splat_refine_input_init(&input);
    input.mesh_path = line->model->mesh_file;
    input.splat_path = splat[0] ? splat : NULL;
    input.render_mode = strcmp(line->model->render_mode, "mip") == 0 ? SPLAT_RENDER_MIP : SPLAT_RENDER_CLASSIC;
    input.keep_rest = line->refine->keep_rest;
    SPLAT_TRY(splat_stage_read_box(line, &input.has_bbox, input.bbox_low, input.bbox_high, error));
    SPLAT_TRY(splat_trainer_create(t->session.context, t->session.scene, &t->train_options, &t->trainer, error));
    if (line->run->start_checkpoint) return SPLAT_OK;
    SPLAT_TRY(splat_trainer_start_refine(t->trainer, &input, error));
    return sky ? splat_trainer_load_sky(t->trainer, sky, error) : SPLAT_OK;
}

splat_status splat_stage_begin_refine(splat_training *t, const splat_line *line, splat_error *error)
{
    splat_refine_info mesh;
    splat_scene_info scene;
    char exposures[SPLAT_STAGE_PATH]; /* those of the splat; the refinement finds its own */
    char sky[SPLAT_STAGE_PATH];
    tell_without_effect(line);
    SPLAT_TRY(splat_stage_check_refine(line, error));
    SPLAT_TRY(choose_folder(line, t->model_path, error));
    SPLAT_TRY(check_folder(line, t->model_path, error));
    SPLAT_TRY(splat_refine_describe(line->model->mesh_file, gaussians_per_triangle(line), &mesh, error));
    SPLAT_TRY(open_scene(&t->session, line, error));
    splat_scene_get_info(t->session.scene, &scene);
    SPLAT_TRY(begin_train_options(line, scene.n_train, &t->train_options, error));
    t->train_options.exposure = splat_session_find_exposures(&t->session, line, exposures);
    splat_line_put_given(line, &line->train->exposure, sizeof(bool), &t->train_options.exposure);
    t->train_options.dome = splat_session_find_sky(&t->session, line, sky);
    SPLAT_TRY(splat_stage_plan(line, t->session.context, t->session.scene,
                               mesh.n_gaussians + (line->refine->keep_rest ? mesh.most_free : 0), mesh.n_vertices,
                               &t->train_options, error));
    SPLAT_TRY(start(t, line, t->session.ply, t->train_options.dome ? sky : NULL, error));
    splat_say(line->talk, "Mesh: %s, %zu vertices, %zu triangles, %zu Gaussians", line->model->mesh_file,
              mesh.n_vertices, mesh.n_faces, mesh.n_gaussians);
    splat_training_describe(t);
    return SPLAT_OK;
}

void splat_stage_tell_mesh(const splat_training *t)
{
    if (t->report.saved[0]) splat_say(t->report.talk, "  mesh         %s/mesh.ply", t->model_path);
}
