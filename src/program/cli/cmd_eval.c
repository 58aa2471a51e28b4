/* splatsmith eval */
#include "cli.h"
#include "progress.h"
#include "session.h"
#include "base/plural.h"
#include "measure/mesh_results.h"
#include "measure/results.h"
#include "measure/sugar_results.h"

#include <string.h>

static void print_heading(void)
{
    cli_say("%-12s %5s  %19s  %18s  %8s  %8s     LPIPS", "set", "views", "PSNR (all channels)", "PSNR (per channel)",
            "SSIM", "L1");
}

static void print_row(const char *set, const splat_metrics *m)
{
    if (m->n_views == 0) return;
    char lpips[64] = "  not measured";
    if (m->lpips_net) snprintf(lpips, sizeof lpips, "  %8.4f (%s)", m->lpips, m->lpips_net);
    char masked[80] = "";
    if (m->n_masked) splat_masked_words(m, masked, sizeof masked);
    cli_say("%-12s %5zu  %19.3f  %18.3f  %8.4f  %8.4f%s%s", set, m->n_views, m->psnr, m->psnr_per_channel, m->ssim,
            m->l1, lpips, masked);
}

/* Apart from the others, as they are not to be compared with them. */
static void print_corrected(const char *set, const splat_metrics *m)
{
    char lpips[32] = "";
    if (!m->is_corrected) return;
    if (m->lpips_net) snprintf(lpips, sizeof lpips, ", LPIPS %.4f", m->cc_lpips);
    cli_say("%-12s with colours corrected to the photos: PSNR %.3f, SSIM %.4f%s", set, m->cc_psnr, m->cc_ssim, lpips);
}

static void print_exposed(const char *set, const splat_metrics *m)
{
    if (m->is_exposed)
        cli_say("%-12s as the photos before and after were exposed: PSNR %.3f, SSIM %.4f", set, m->exposed_psnr,
                m->exposed_ssim);
    if (m->is_exif_exposed)
        cli_say("%-12s as their EXIF says that they were exposed: PSNR %.3f, SSIM %.4f", set, m->exif_psnr,
                m->exif_ssim);
}

static void print_near_light(const char *set, const splat_metrics *m)
{
    if (m->n_near_views)
        cli_say("%-12s near light %.3g %% in %zu view%s: before half of the depth where points begin", set,
                m->all_light > 0 ? 100 * m->near_light / m->all_light : 0, m->n_near_views,
                splat_plural(m->n_near_views));
}

/* The test views; with a model folder the numbers go into its files. variant NULL: the splat as it is. */
static splat_status measure_test(splat_session *session, const splat_line *line, const char *variant,
                                 splat_metrics *test, splat_error *error)
{
    const char *model_path = line->model->model_path;
    char exposures[CLI_PATH_MAX];
    bool is_sugar;
    splat_counter c = splat_counter_start(cli_talk(), "measuring test views", session->scene_info.n_test);
    splat_view_job job;
    splat_view_job_init(&job);
    job.quantize = true;
    job.color_correct = true;
    job.near_light = true;
    if (splat_session_find_exposures(session, line, exposures)) job.nearby_exposures = exposures;
    job.lpips = session->lpips;
    job.visit = splat_counter_view;
    job.user = &c;
    if (!model_path) return splat_model_evaluate(session->model, session->scene, &job, test, error);
    splat_status status = splat_results_write(session->model, session->scene, &job, model_path, session->iteration,
                                              variant, test, error);
    if (status != SPLAT_OK) return status;
    return splat_sugar_results_write(model_path, model_path, variant, session->scene_options.source_path,
                                     session->iteration, test, &is_sugar, error);
}

static splat_status measure_train_sample(splat_session *session, splat_metrics *train, splat_error *error)
{
    splat_view_job job;
    splat_view_job_init(&job);
    job.set = SPLAT_VIEWS_TRAIN_REPORT;
    job.quantize = true;
    job.color_correct = true;
    job.lpips = session->lpips;
    return splat_model_evaluate(session->model, session->scene, &job, train, error);
}

static int measure(splat_session *session, const splat_line *line, const char *variant)
{
    splat_metrics test = {0}, train = {0};
    splat_error error;
    splat_status status = SPLAT_OK;
    if (session->scene_info.n_test > 0)
        status = measure_test(session, line, variant, &test, &error);
    else
        cli_notice("there are no test views (the model was trained without --eval), so no results.json is written");
    if (status == SPLAT_OK) status = measure_train_sample(session, &train, &error);
    cli_progress_end();
    if (status != SPLAT_OK) return cli_report(&error);
    cli_say("%s", session->ply);
    print_heading();
    print_row("test", &test);
    print_row("train sample", &train);
    print_corrected("test", &test);
    print_corrected("train sample", &train);
    print_exposed("test", &test);
    print_near_light("test", &test);
    if (line->model->model_path && test.n_views)
        cli_say("results.json and per_view.json are in %s", line->model->model_path);
    return CLI_OK;
}

/* "r16" where -r says another resolution than the model's; else NULL. A model without cfg_args has no resolution to
 * differ from (0). */
static const char *name_resolution(const splat_session *session, const splat_line *line, char text[16])
{
    const int resolution = session->scene_options.resolution;
    const int own = line->model->model_path ? session->config.scene.resolution : 0;
    if (own == 0 || resolution == own) return NULL;
    snprintf(text, 16, "r%d", resolution);
    return text;
}

/* The end of a method's name, ours_<iteration>_<variant>: results of other pictures do not replace those of the model's
 * own resolution. */
static const char *name_variant(const splat_session *session, const splat_line *line, char text[32])
{
    char size_text[16];
    const char *size = name_resolution(session, line, size_text);
    if (!size) return line->eval->diffuse_only ? "diffuseonly" : NULL;
    snprintf(text, 32, "%s%s", line->eval->diffuse_only ? "diffuseonly_" : "", size);
    return text;
}

static int evaluate(const splat_line *line)
{
    char variant[32];
    splat_session session;
    splat_line own = *line;
    splat_line_model model = *line->model;
    if (line->eval->diffuse_only) model.reduce_sh_degree = 0;
    own.model = &model;
    int code = cli_session_open(&session, &own, true);
    if (code == CLI_OK) code = cli_lpips_open(line, session.context, &session.lpips);
    if (code == CLI_OK) code = measure(&session, line, name_variant(&session, line, variant));
    splat_session_close(&session);
    return code;
}

/* ---------------------------------------------------------------- a mesh instead of the splat */

/* Writes SuGaR's file next to results.json, if the mesh or the model folder has one of SuGaR's names. */
static splat_status write_sugar_results(const splat_session *session, const splat_line *line, const char *size,
                                        const splat_mesh_metrics *test, splat_error *error)
{
    const char *const names[] = {line->model->mesh_file, line->model->model_path};
    const char *variant = test->textured ? "uvtexture" : size, *slash;
    bool written = false;
    int refinement = 0;
    char path[CLI_PATH_MAX], folder[CLI_PATH_MAX], both[32];
    if (test->textured && size) {
        snprintf(both, sizeof both, "uvtexture_%s", size);
        variant = both;
    }
    snprintf(folder, sizeof folder, "%s", line->model->model_path);
    while ((slash = strrchr(folder, '/')) && slash > folder && !slash[1]) folder[slash - folder] = '\0';
    if (strncmp(slash ? slash + 1 : folder, "sugarfine_", 10) == 0 &&
        splat_model_find_iteration(line->model->model_path, -1, path, sizeof path, &refinement, error) != SPLAT_OK)
        refinement = 0; /* a folder of meshes alone */
    splat_status status = SPLAT_OK;
    for (int i = 0; i < 2 && !written && status == SPLAT_OK; i++)
        status = splat_sugar_results_write(line->model->model_path, names[i], variant,
                                           session->scene_options.source_path, refinement, &test->all, &written, error);
    return status;
}

static int measure_mesh(splat_session *session, const splat_line *line)
{
    splat_counter c = splat_counter_start(cli_talk(), "measuring test views", session->scene_info.n_test);
    char text[16];
    const char *size = name_resolution(session, line, text);
    splat_mesh_metrics test;
    splat_view_job job;
    splat_error error;
    splat_status status;
    if (c.total == 0) {
        cli_error("the scene has no test views to measure the mesh on; give --eval to hold some out");
        return CLI_USAGE;
    }
    splat_view_job_init(&job);
    job.quantize = true;
    job.color_correct = true;
    job.lpips = session->lpips;
    job.visit = splat_counter_view;
    job.user = &c;
    if (line->model->model_path)
        status = splat_mesh_results_write(session->scene, line->model->mesh_file, &job, line->mesh_draw,
                                          line->model->model_path, size, &test, &error);
    else
        status = splat_mesh_evaluate(session->scene, line->model->mesh_file, &job, line->mesh_draw, &test, &error);
    cli_progress_end();
    if (status == SPLAT_OK && line->model->model_path) status = write_sugar_results(session, line, size, &test, &error);
    if (status != SPLAT_OK) return cli_report(&error);
    cli_say("%s", line->model->mesh_file);
    print_heading();
    print_row("test", &test.all);
    print_row("covered", &test.covered);
    print_corrected("test", &test.all);
    cli_say("the mesh covers %.2f %% of the test views' %spixels", 100 * test.coverage,
            test.all.n_masked ? "kept " : "");
    if (line->model->model_path) cli_say("results.json and per_view.json are in %s", line->model->model_path);
    return CLI_OK;
}

/* On the device the pictures are measured; the CPU draws them. */
static int evaluate_mesh(const splat_line *line)
{
    splat_session session = {0};
    int code = cli_context_create(line, &session.context);
    if (code == CLI_OK) code = cli_session_open_scene(&session, line, true);
    if (code == CLI_OK) code = cli_lpips_open(line, session.context, &session.lpips);
    if (code == CLI_OK) code = measure_mesh(&session, line);
    splat_session_close(&session);
    return code;
}

/* -m MODEL, or several models as metrics.py takes them: one that fails does not keep the others from being measured. */
int cmd_eval(splat_line *line)
{
    if (!cli_check_mesh_options(line)) return CLI_USAGE;
    if (line->model->mesh_file && line->operand) {
        cli_error("--mesh belongs to one scene; '%s' is one too many", line->operand);
        return CLI_USAGE;
    }
    if (line->model->mesh_file) return evaluate_mesh(line);
    if (!line->operand) return evaluate(line);
    if (line->model->ply) {
        cli_error("--ply is one splat; measure the model folder '%s' by itself", line->operand);
        return CLI_USAGE;
    }
    int worst = CLI_OK;
    splat_line one = *line;
    splat_line_model model = *line->model;
    one.model = &model;
    for (size_t i = 0; i < line->n_words + 2; i++) {
        model.model_path = i == 0 ? line->model->model_path : i == 1 ? line->operand : line->words[i - 2];
        if (!model.model_path) continue;
        int code = evaluate(&one);
        if (code != CLI_OK) worst = code;
    }
    return worst;
}
