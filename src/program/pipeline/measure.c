/* The textured mesh of a pipeline on the test views, where its splats are measured too. */
#include "pipeline/measure.h"

#include "base/plural.h"
#include "measure/mesh_evaluate.h"
#include "pipeline/results.h"
#include "stage/folder.h"
#include "stage/progress.h"
#include "stage/session.h"

#include <string.h>

static splat_status evaluate(const splat_session *session, const splat_talk *talk, const char *mesh, json_t *results,
                             splat_error *error)
{
    splat_counter counter = splat_counter_start(talk, "measuring test views", session->scene_info.n_test);
    splat_mesh_metrics mean;
    splat_view_job job;
    splat_view_job_init(&job);
    job.visit = splat_counter_view;
    job.user = &counter;
    SPLAT_TRY(splat_mesh_evaluate(session->scene, mesh, &job, NULL, &mean, error));
    splat_say(talk, "PSNR of the mesh on %zu test view%s: %.2f dB, where it covers them (%.1f %%) %.2f dB",
              mean.all.n_views, splat_plural(mean.all.n_views), mean.all.psnr, 100 * mean.coverage, mean.covered.psnr);
    json_object_set_new(results, "test_psnr", json_real(mean.all.psnr));
    json_object_set_new(results, "test_psnr_covered", json_real(mean.covered.psnr));
    json_object_set_new(results, "test_coverage", json_real(mean.coverage));
    return SPLAT_OK;
}

static splat_status open_and_evaluate(splat_session *session, const splat_line *line, const char *mesh, json_t *results,
                                      splat_error *error)
{
    SPLAT_TRY(splat_stage_create_context(line, &session->context, error));
    SPLAT_TRY(splat_session_open_scene(session, line, false, error));
    return session->scene_info.n_test > 0 ? evaluate(session, line->talk, mesh, results, error) : SPLAT_OK;
}

splat_status splat_pipeline_measure_mesh(const splat_pipeline_place *at, json_t *results, const splat_line *given,
                                         splat_error *error)
{
    char mesh[SPLAT_PIPELINE_PATH];
    splat_line line = *given;
    splat_line_model model = *given->model;
    splat_session session = {.outcome = NULL};
    /* the photos of the splat, their size and the split */
    model.model_path = at->splat.folder[0] ? at->splat.folder : NULL;
    model.ply = NULL;
    line.model = &model;
    SPLAT_TRY(splat_stage_join(mesh, at->folder, splat_pipeline_result_path(results), error));
    splat_status status = open_and_evaluate(&session, &line, mesh, results, error);
    splat_session_close(&session);
    return status;
}
