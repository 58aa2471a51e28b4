/* The textured mesh of a pipeline on the test views, where its splats are measured too. */
#include "pipeline.h"
#include "progress.h"
#include "measure/mesh_evaluate.h"

#include <string.h>

static int evaluate(const splat_session *session, const char *mesh, json_t *results)
{
    splat_counter counter = splat_counter_start(cli_talk(), "measuring test views", session->scene_info.n_test);
    splat_mesh_metrics mean;
    splat_view_job job;
    splat_error error;
    splat_view_job_init(&job);
    job.visit = splat_counter_view;
    job.user = &counter;
    splat_status status = splat_mesh_evaluate(session->scene, mesh, &job, NULL, &mean, &error);
    cli_progress_end();
    if (status != SPLAT_OK) return cli_report(&error);
    cli_say("PSNR of the mesh on %zu test view%s: %.2f dB, where it covers them (%.1f %%) %.2f dB", mean.all.n_views,
            splat_plural(mean.all.n_views), mean.all.psnr, 100 * mean.coverage, mean.covered.psnr);
    json_object_set_new(results, "test_psnr", json_real(mean.all.psnr));
    json_object_set_new(results, "test_psnr_covered", json_real(mean.covered.psnr));
    json_object_set_new(results, "test_coverage", json_real(mean.coverage));
    return CLI_OK;
}

int pipeline_measure_mesh(const pipeline *p, json_t *results, const splat_line *given)
{
    char mesh[CLI_PATH_MAX];
    splat_line line = *given;
    splat_line_model model = *given->model;
    splat_session session = {.outcome = NULL};
    model.model_path = p->at.splat.folder[0] ? p->at.splat.folder : NULL; /* its photos, their size and the split */
    model.ply = NULL;
    line.model = &model;
    if (!cli_path_join(mesh, p->at.folder, splat_pipeline_result_path(results))) return CLI_USAGE;
    int code = cli_context_create(&line, &session.context);
    if (code == CLI_OK) code = cli_session_open_scene(&session, &line, false);
    if (code == CLI_OK && session.scene_info.n_test > 0) code = evaluate(&session, mesh, results);
    splat_session_close(&session);
    return code;
}
