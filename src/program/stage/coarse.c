/* Coarse training: Gaussians on surfaces. */
#include "stage/coarse.h"

#include "report/number_name.h"
#include "stage/folder.h"
#include "stage/memory.h"
#include "stage/ranks.h"

#include <string.h>

#define FIRST_ITERATION 7000 /* of the clock, as SuGaR counts */
#define SUGAR_PRUNE 0.5f     /* what is less opaque goes, where the entropy parts opacities at 1/2 */
#define FAINT 0.15           /* mean opacity; few: 0.02 to 0.11, default: 0.5 and more */

static splat_regularization regularization_of(const char *name)
{
    if (strcmp(name, "density") == 0) return SPLAT_REGULARIZE_DENSITY;
    if (strcmp(name, "multiview") == 0) return SPLAT_REGULARIZE_MULTIVIEW;
    return strcmp(name, "sdf") == 0 ? SPLAT_REGULARIZE_SDF : SPLAT_REGULARIZE_DN_CONSISTENCY;
}

/* The result is a model of its own: in the splat's folder the two would be one run to every later command. */
static splat_status check_folder(const splat_line *line, const splat_session *session, const char *folder,
                                 splat_error *error)
{
    char splats[SPLAT_STAGE_PATH];
    const char *model = line->model->model_path;
    SPLAT_TRY(splat_stage_join(splats, folder, "point_cloud", error));
    if (!(splat_stage_lies_in(model, folder) && splat_stage_lies_in(folder, model)) &&
        !splat_stage_lies_in(session->ply, splats))
        return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                      "the splat to begin with lies in %s; name another folder for the result with -o", folder);
}

/* The clock's end: what --coarse_iterations says, or, when it counts from the loaded iteration as scripts of the field
 * do (-i 30000 --coarse_iterations 35000), as many steps as that asks for. */
static int last_iteration(const splat_line *line, int loaded)
{
    int last = line->coarse->iterations;
    bool from_loaded = splat_line_given(line, "coarse_iterations") && loaded > FIRST_ITERATION && last > loaded;
    return from_loaded ? FIRST_ITERATION + last - loaded : last;
}

/* Begins with the options of the command line alone. */
static void begin_train_options(const splat_line *line, int loaded, splat_train_options *options)
{
    splat_train_options coarse;
    splat_train_options_init_coarse(&coarse, regularization_of(line->coarse->regularization));
    splat_stage_asked_options(line, options);
    splat_stage_apply_preset(line, &coarse, options);
    options->iterations = last_iteration(line, loaded);
    options->coarse.regularization = coarse.coarse.regularization;
    options->regularizer = coarse.regularizer;
    options->coarse.first_iteration = FIRST_ITERATION;
    if (!(options->prune_keep > 0)) options->coarse.prune_opacity = SUGAR_PRUNE;
    splat_line_put_given(line, &line->train->coarse.prune_opacity, sizeof(float), &options->coarse.prune_opacity);
}

/* `output`, or <model>_mesh/<experiment name>, or SuGaR's name: sugarcoarse_3Dgs7000_densityestim02_sdfnorm02. */
static splat_status choose_folder(const splat_line *line, const splat_session *session, char path[SPLAT_STAGE_PATH],
                                  splat_error *error)
{
    char estimation[32], normal[32], name[160];
    splat_train_options options;
    begin_train_options(line, session->iteration, &options);
    const splat_coarse_options *o = &options.coarse;
    const char *mode = strcmp(line->coarse->regularization, "dn_consistency") == 0 ? "dnconsistency"
                                                                                   : line->coarse->regularization;
    if (!line->output->path && !line->model->model_path)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "give the folder to write with -o");
    snprintf(name, sizeof name, "sugarcoarse_3Dgs%d_%sestim%s_sdfnorm%s", session->iteration, mode,
             splat_number_name(estimation, o->estimation_factor), splat_number_name(normal, o->normal_factor));
    return splat_stage_choose_folder(path, line->output->path, line->model->model_path, "_mesh",
                                     line->output->experiment_name ? line->output->experiment_name : name, error);
}

splat_status splat_stage_check_coarse(const splat_line *line, int loaded, splat_error *error)
{
    splat_train_options options;
    begin_train_options(line, loaded, &options);
    return splat_train_options_check(&options, error);
}

static void fill_train_options(const splat_line *line, const splat_session *session, const splat_model_info *splat,
                               splat_train_options *options)
{
    int last = line->coarse->iterations;
    begin_train_options(line, session->iteration, options);
    if (options->iterations != last)
        splat_notice(line->talk,
                     "`coarse_iterations` %d is %d steps from iteration %d: the clock of this stage runs from %d to %d",
                     last, last - session->iteration, session->iteration, FIRST_ITERATION, options->iterations);
    options->sh_degree = splat->sh_degree;
    if (line->model->reduce_sh_degree >= 0 && line->model->reduce_sh_degree < splat->sh_degree)
        options->sh_degree = line->model->reduce_sh_degree;
    if (splat->render_mode == SPLAT_RENDER_MIP) options->kernel_size = splat->kernel_size; /* a checkpoint's own */
    if (session->config.kernel_size > 0) options->kernel_size = session->config.kernel_size;
    splat_line_put_given(line, &line->train->kernel_size, sizeof(float), &options->kernel_size);
}

/* The splat's exposures, which the run goes on with where there are any: the splat fits no photo without them. */
static splat_status choose_exposures(const splat_line *line, const splat_session *session, splat_train_options *options,
                                     char path[SPLAT_STAGE_PATH], splat_error *error)
{
    bool has = splat_session_find_exposures(session, line, path);
    options->exposure = has;
    splat_line_put_given(line, &line->train->exposure, sizeof(bool), &options->exposure);
    if (!has && options->exposure && !line->run->start_checkpoint)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "there is no exposure.json next to the splat, from which `exposure` would continue; train "
                          "it with `exposure`");
    if (has) splat_say(line->talk, "Exposures: %s%s", path, options->exposure ? "" : ", not used");
    return SPLAT_OK;
}

/* The trainer of the session's splat, in its scene. */
static splat_status start(splat_training *t, const splat_line *line, const splat_model_info *splat, splat_error *error)
{
    const splat_session *session = &t->session;
    char exposures[SPLAT_STAGE_PATH], sky[SPLAT_STAGE_PATH];
    fill_train_options(line, session, splat, &t->train_options);
    SPLAT_TRY(choose_exposures(line, session, &t->train_options, exposures, error));
    t->train_options.dome = splat_session_find_sky(session, line, sky);
    SPLAT_TRY(
        splat_stage_plan(line, t->session.context, t->session.scene, splat->n_gaussians, 0, &t->train_options, error));
    SPLAT_TRY(splat_ranks_start_gpus(line, t->session.scene, &t->train_options, &t->workers, error));
    SPLAT_TRY(splat_trainer_create(t->session.context, t->session.scene, &t->train_options, &t->trainer, error));
    if (line->run->start_checkpoint || splat_ranks_is_worker(line)) return SPLAT_OK;
    SPLAT_TRY(splat_trainer_start_coarse(t->trainer, session->ply, error));
    if (t->train_options.dome) SPLAT_TRY(splat_trainer_load_sky(t->trainer, sky, error));
    return t->train_options.exposure ? splat_trainer_load_exposures(t->trainer, exposures, error) : SPLAT_OK;
}

/* Many faint Gaussians share a surface: that of objects was found by 0.69 instead of 0.84 (docs/lab/strategies.md). */
static void tell_faint(splat_training *t, const splat_line *line)
{
    double opacity;
    if (line->run->start_checkpoint || splat_ranks_is_worker(line)) return;
    if (splat_trainer_get_mean_opacity(t->trainer, &opacity, NULL) != SPLAT_OK || opacity >= FAINT) return;
    splat_notice(line->talk,
                 "the splat's Gaussians are faint (mean opacity %.2f), as those of strategies few and mcmc are: "
                 "a splat of `strategy default` has a better surface",
                 opacity);
}

/* The scene comes with the model: its folder, size of the photos and split. */
splat_status splat_stage_begin_coarse(splat_training *t, const splat_line *line, splat_error *error)
{
    splat_session *session = &t->session;
    splat_model_info splat;
    t->run_options.only_checkpoint = !line->coarse->export_ply;
    SPLAT_TRY(splat_session_find_ply(session, line, error));
    SPLAT_TRY(choose_folder(line, session, t->model_path, error));
    SPLAT_TRY(check_folder(line, session, t->model_path, error));
    SPLAT_TRY(splat_stage_check_coarse(line, session->iteration, error));
    SPLAT_TRY(splat_model_describe(session->ply, &splat, error));
    SPLAT_TRY(splat_stage_create_context(line, &session->context, error));
    SPLAT_TRY(splat_session_open_scene(session, line, true, error));
    SPLAT_TRY(splat_scene_check_splat(session->scene, session->ply, error));
    SPLAT_TRY(start(t, line, &splat, error));
    tell_faint(t, line);
    splat_say(line->talk, "Splat: %s, %zu Gaussians", session->ply, splat.n_gaussians);
    splat_training_describe(t);
    return SPLAT_OK;
}
