/* Each call hands over to the stages, prints what went wrong, and returns an exit code. */
#include "session.h"

#include "progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- the points of a scene */

#define SAMPLES 20000
#define SH_CONSTANT 0.28209479f  /* of the first spherical harmonic */
#define OPACITY_LOGIT 4.6f       /* opacity 0.99 */
#define SIZE 0.004               /* a dot's standard deviation, as a share of the median distance from the middle */

static int compare(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The median over at most SAMPLES points: of an axis (0 to 2), or of the distance from `middle` (3). */
static float median(const float *positions, size_t n, int axis, const float middle[3], float *storage)
{
    const size_t step = n / SAMPLES + 1;
    size_t m = 0;
    for (size_t i = 0; i < n; i += step) {
        const float *p = positions + 3 * i;
        storage[m++] = axis < 3 ? p[axis] : hypotf(hypotf(p[0] - middle[0], p[1] - middle[1]), p[2] - middle[2]);
    }
    qsort(storage, m, sizeof *storage, compare);
    return storage[m / 2];
}

static float dot_size(const float *positions, size_t n, float *storage)
{
    float middle[3];
    if (n == 0) return 1;
    for (int k = 0; k < 3; k++) middle[k] = median(positions, n, k, NULL, storage);
    const float distance = median(positions, n, 3, middle, storage);
    return distance > 0 ? (float)SIZE * distance : 1;
}

/* buffer: 14 floats a point. */
static splat_status make_model(splat_context *context, const splat_scene *scene, size_t n, float *buffer,
                               uint8_t *colors, splat_model **model, splat_error *error)
{
    float *means = buffer, *sh = means + 3 * n, *scales = sh + 3 * n, *rotations = scales + 3 * n;
    float *opacities = rotations + 4 * n;
    splat_model_values values;
    splat_scene_get_points(scene, means, colors);
    const float size = logf(dot_size(means, n, buffer + 3 * n));
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 3 * i; k < 3 * i + 3; k++) {
            sh[k] = ((float)colors[k] / 255 - 0.5f) / SH_CONSTANT;
            scales[k] = size;
        }
        for (size_t k = 0; k < 4; k++) rotations[4 * i + k] = k == 0;
        opacities[i] = OPACITY_LOGIT;
    }
    splat_model_values_init(&values);
    values.n = n;
    values.means = means;
    values.sh_dc = sh;
    values.scales = scales;
    values.rotations = rotations;
    values.opacities = opacities;
    return splat_model_from_values(context, &values, model, error);
}

/* The points as a splat: small opaque Gaussians of one size, which look like dots. */
static splat_status make_points_model(splat_context *context, const splat_scene *scene, splat_model **model,
                                    splat_error *error)
{
    splat_scene_info info;
    splat_scene_get_info(scene, &info);
    float *buffer = malloc((14 * info.n_points + 1) * sizeof *buffer);
    uint8_t *colors = malloc(3 * info.n_points + 1);
    splat_status status = SPLAT_ERROR_MEMORY;
    if (buffer && colors)
        status = make_model(context, scene, info.n_points, buffer, colors, model, error);
    else
        *error = (splat_error){SPLAT_ERROR_MEMORY, SPLAT_NO_OFFSET, 0, "", "no memory for the points of the scene"};
    free(buffer);
    free(colors);
    return status;
}

/* ---------------------------------------------------------------- what commands open */

int cli_end(splat_status status, const splat_error *error)
{
    cli_progress_end();
    if (status == SPLAT_OK || status == SPLAT_ERROR_STOPPED) return splat_stop_exit_code(cli_talk()->stop, status);
    return cli_report(error);
}

int cli_context_create(const splat_line *line, splat_context **context)
{
    splat_error error;
    return cli_end(splat_stage_create_context(line, context, &error), &error);
}

int cli_context_create_on_cpu(const splat_line *line, splat_context **context)
{
    splat_line on_cpu = *line;
    splat_line_machine machine = *line->machine;
    machine.context.backend = "cpu";
    on_cpu.machine = &machine;
    return cli_context_create(&on_cpu, context);
}

int cli_lpips_open(const splat_line *line, splat_context *context, splat_lpips **lpips)
{
    splat_error error;
    return cli_end(splat_stage_open_lpips(line, context, lpips, &error), &error);
}

int cli_lpips_open_training(const splat_line *line, splat_context *context, const splat_scene *scene,
                            splat_lpips **lpips)
{
    splat_error error;
    return cli_end(splat_stage_open_training_lpips(line, context, scene, lpips, &error), &error);
}

int cli_session_open_scene(splat_session *session, const splat_line *line, bool hold_out)
{
    splat_error error;
    return cli_end(splat_session_open_scene(session, line, hold_out, &error), &error);
}

int cli_session_open(splat_session *session, const splat_line *line, bool hold_out)
{
    splat_error error;
    return cli_end(splat_session_open(session, line, hold_out, &error), &error);
}

int cli_session_open_splat(splat_session *session, const splat_line *line)
{
    splat_error error;
    return cli_end(splat_session_open_splat(session, line, &error), &error);
}

int cli_session_open_points(splat_session *session, const splat_line *line)
{
    splat_error error;
    memset(session, 0, sizeof *session);
    int code = cli_context_create(line, &session->context);
    if (code == CLI_OK) code = cli_session_open_scene(session, line, false);
    if (code != CLI_OK) return code;
    if (make_points_model(session->context, session->scene, &session->model, &error) != SPLAT_OK)
        return cli_report(&error);
    return cli_end(splat_session_set_render_mode(session, line, &error), &error);
}

bool cli_is_any_given(const splat_line *line, const char *const names[], size_t n, const char *without, const char *why)
{
    const char *name = splat_line_first_given(line, names, n);
    if (name) cli_error("%s; --%s goes without %s", why, name, without);
    return name != NULL;
}

bool cli_check_mesh_draw(const splat_line *line)
{
    static const char *const of_meshes[] = {"texture_filter", "supersampling"};
    const char *name = splat_line_first_given(line, of_meshes, sizeof of_meshes / sizeof of_meshes[0]);
    if (line->model->mesh_file || !name) return true;
    cli_error("--%s needs --mesh FILE", name);
    return false;
}

bool cli_check_mesh_options(const splat_line *line)
{
    static const char *const of_splats[] = {"ply",         "iteration", "render_mode",
                                            "kernel_size", "sh_degree", "diffuse_only"};
    const char *name = splat_line_first_given(line, of_splats, sizeof of_splats / sizeof of_splats[0]);
    if (!line->model->mesh_file || !name) return cli_check_mesh_draw(line);
    cli_error("--mesh takes the mesh instead of a splat; --%s goes without it", name);
    return false;
}
