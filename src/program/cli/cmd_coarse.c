/* splatsmith coarse */
#include "ranks.h"
#include "training.h"
#include "vram.h"
#include "report/number_name.h"

#include <string.h>

#define FIRST_ITERATION 7000 /* of the clock, as SuGaR counts */
#define SUGAR_PRUNE 0.5f     /* what is less opaque goes, where the entropy parts opacities at 1/2 */

static splat_regularization regularization_of(const char *name)
{
    if (strcmp(name, "density") == 0) return SPLAT_REGULARIZE_DENSITY;
    if (strcmp(name, "multiview") == 0) return SPLAT_REGULARIZE_MULTIVIEW;
    return strcmp(name, "sdf") == 0 ? SPLAT_REGULARIZE_SDF : SPLAT_REGULARIZE_DN_CONSISTENCY;
}

/* The result is a model of its own: in the splat's folder the two would be one run to every later command. */
static int check_folder(const splat_line *line, const cli_session *session, const char *folder)
{
    char splats[CLI_PATH_MAX];
    if (!cli_path_join(splats, folder, "point_cloud")) return CLI_USAGE;
    if (!(cli_lies_in(line->model->model_path, folder) && cli_lies_in(folder, line->model->model_path)) &&
        !cli_lies_in(session->ply, splats))
        return CLI_OK;
    cli_error("the splat to begin with lies in %s; name another folder for the result with -o", folder);
    return CLI_USAGE;
}

/* The clock's end: what --coarse_iterations says, or, when it counts from the loaded iteration as scripts of the field
 * do (-i 30000 --coarse_iterations 35000), as many steps as that asks for. */
static int last_iteration(const splat_line *line, int loaded)
{
    int last = line->coarse->iterations;
    bool from_loaded = splat_line_given(line, "coarse_iterations") && loaded > FIRST_ITERATION && last > loaded;
    return from_loaded ? FIRST_ITERATION + last - loaded : last;
}

/* What the command line alone says. */
static void begin_train_options(const splat_line *line, int loaded, splat_train_options *options)
{
    splat_train_options coarse;
    splat_train_options_init_coarse(&coarse, regularization_of(line->coarse->regularization));
    cli_asked_options(line, options);
    cli_apply_preset(line, &coarse, options);
    options->iterations = last_iteration(line, loaded);
    options->coarse.regularization = coarse.coarse.regularization;
    options->regularizer = coarse.regularizer;
    options->coarse.first_iteration = FIRST_ITERATION;
    if (!(options->prune_keep > 0)) options->coarse.prune_opacity = SUGAR_PRUNE;
    splat_line_put_given(line, &line->train->coarse.prune_opacity, sizeof(float), &options->coarse.prune_opacity);
}

/* -o, or <model>_mesh/<experiment name>, or SuGaR's name: sugarcoarse_3Dgs7000_densityestim02_sdfnorm02. */
static bool choose_folder(const splat_line *line, const cli_session *session, char path[CLI_PATH_MAX])
{
    char estimation[32], normal[32], name[160];
    splat_train_options options;
    begin_train_options(line, session->iteration, &options);
    const splat_coarse_options *o = &options.coarse;
    const char *mode = strcmp(line->coarse->regularization, "dn_consistency") == 0 ? "dnconsistency"
                                                                                   : line->coarse->regularization;
    if (!line->output->path && !line->model->model_path) {
        cli_error("give the folder to write with -o");
        return false;
    }
    snprintf(name, sizeof name, "sugarcoarse_3Dgs%d_%sestim%s_sdfnorm%s", session->iteration, mode,
             splat_number_name(estimation, o->estimation_factor), splat_number_name(normal, o->normal_factor));
    return cli_choose_folder(path, line->output->path, line->model->model_path, "_mesh",
                             line->output->experiment_name ? line->output->experiment_name : name);
}

int cli_check_coarse(const splat_line *line, int loaded)
{
    splat_train_options options;
    splat_error error;
    begin_train_options(line, loaded, &options);
    return splat_train_options_check(&options, &error) == SPLAT_OK ? CLI_OK : cli_report(&error);
}

static void fill_train_options(const splat_line *line, const cli_session *session, const splat_model_info *splat,
                               splat_train_options *options)
{
    int last = line->coarse->iterations;
    begin_train_options(line, session->iteration, options);
    if (options->iterations != last)
        cli_notice("--coarse_iterations %d is %d steps from iteration %d: the clock of this stage runs from %d to %d",
                   last, last - session->iteration, session->iteration, FIRST_ITERATION, options->iterations);
    options->sh_degree = splat->sh_degree;
    if (line->model->reduce_sh_degree >= 0 && line->model->reduce_sh_degree < splat->sh_degree)
        options->sh_degree = line->model->reduce_sh_degree;
    if (splat->render_mode == SPLAT_RENDER_MIP) options->kernel_size = splat->kernel_size; /* a checkpoint's own */
    if (session->config.kernel_size > 0) options->kernel_size = session->config.kernel_size;
    splat_line_put_given(line, &line->train->kernel_size, sizeof(float), &options->kernel_size);
}

/* The splat's exposures, which the run goes on with where there are any: the splat fits no photo without them. */
static int choose_exposures(const splat_line *line, const cli_session *session, splat_train_options *options,
                            char path[CLI_PATH_MAX])
{
    bool has = cli_session_find_exposures(session, line, path);
    options->exposure = has;
    splat_line_put_given(line, &line->train->exposure, sizeof(bool), &options->exposure);
    if (!has && options->exposure && !line->run->start_checkpoint) {
        cli_error("there is no exposure.json beside the splat, which --exposure would go on with; train it with "
                  "--exposure");
        return CLI_USAGE;
    }
    if (has) cli_say("Exposures: %s%s", path, options->exposure ? "" : ", not used");
    return CLI_OK;
}

/* The scene comes with the model: its folder, size of the photos and split. */
static int prepare(cli_training *t, cli_session *session, const splat_line *line)
{
    splat_error error;
    splat_model_info splat;
    char exposures[CLI_PATH_MAX];
    t->run_options.only_checkpoint = !line->coarse->export_ply;
    int code = cli_session_find_ply(session, line);
    if (code == CLI_OK && !choose_folder(line, session, t->model_path)) code = CLI_USAGE;
    if (code == CLI_OK) code = check_folder(line, session, t->model_path);
    if (code == CLI_OK) code = cli_check_coarse(line, session->iteration);
    if (code != CLI_OK) return code;
    if (splat_model_describe(session->ply, &splat, &error) != SPLAT_OK) return cli_report(&error);
    code = cli_context_create(line, &session->context);
    if (code == CLI_OK) code = cli_session_open_scene(session, line, true);
    if (code != CLI_OK) return code;
    if (splat_scene_check_splat(session->scene, session->ply, &error) != SPLAT_OK) return cli_report(&error);
    fill_train_options(line, session, &splat, &t->train_options);
    code = choose_exposures(line, session, &t->train_options, exposures);
    if (code != CLI_OK) return code;
    t->scene_options = session->scene_options;
    code = cli_plan_training(line, session->context, session->scene, splat.n_gaussians, &t->train_options);
    if (code == CLI_OK) code = cli_ranks_start_gpus(line, session->scene, &t->train_options, &t->workers);
    if (code != CLI_OK) return code;
    if (splat_trainer_create(session->context, session->scene, &t->train_options, &t->trainer, &error) != SPLAT_OK)
        return cli_report(&error);
    const bool begins = !line->run->start_checkpoint && !cli_ranks_is_worker(line);
    if (begins && splat_trainer_start_coarse(t->trainer, session->ply, &error) != SPLAT_OK) return cli_report(&error);
    if (begins && t->train_options.exposure &&
        splat_trainer_load_exposures(t->trainer, exposures, &error) != SPLAT_OK)
        return cli_report(&error);
    cli_say("Splat: %s, %zu Gaussians", session->ply, splat.n_gaussians);
    return CLI_OK;
}

int cmd_coarse(splat_line *line)
{
    int code = cli_ranks_count_gpus(line);
    if (code == CLI_OK) code = cli_ranks_open(line);
    if (code == CLI_OK) code = cli_training_of_session(line, prepare, NULL);
    cli_ranks_close(line);
    return code;
}
