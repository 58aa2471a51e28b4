/* splatsmith export */
#include "cli.h"
#include "math/bound.h"
#include "parse.h"
#include "paths.h"
#include "progress.h"
#include "session.h"
#include "stage/mesh.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SKY_GAUSSIANS 2000

/* Chooses the output: -o, or point_cloud_fused.ply next to the PLY of the model folder. */
static bool choose_output(const splat_session *session, const splat_line *line, char path[CLI_PATH_MAX])
{
    const char *slash = strrchr(session->ply, '/');
    char folder[CLI_PATH_MAX] = ".";
    if (!line->output->path) {
        if (slash) snprintf(folder, sizeof folder, "%.*s", (int)(slash - session->ply), session->ply);
        return cli_path_join(path, folder, "point_cloud_fused.ply");
    }
    if (snprintf(path, CLI_PATH_MAX, "%s", line->output->path) < CLI_PATH_MAX) return true;
    cli_error("the path %.200s... is too long", line->output->path);
    return false;
}

/* "-y" as (0, -1, 0). */
static void read_axis(const char *text, double axis[3])
{
    bool is_negative = text[0] == '-';
    for (int k = 0; k < 3; k++) axis[k] = text[is_negative] == 'x' + k ? (is_negative ? -1 : 1) : 0;
}

/* The least turn that takes one axis to another, as a quaternion; half a turn is one about x, or about z for x. */
static void find_turn(const char *from, const char *to, double q[4])
{
    double a[3], b[3];
    read_axis(from, a);
    read_axis(to, b);
    q[0] = 1 + a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    for (int k = 0; k < 3; k++) q[1 + k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
    if (q[0] == 0) q[a[0] == 0 ? 1 : 3] = 1;
}

/* The rotation for --up_axis. */
static void choose_turn(const splat_line *line, double q[4])
{
    const double none[4] = {1, 0, 0, 0};
    memcpy(q, none, sizeof none);
    if (line->export->up_axis) find_turn(line->export->scene_up, line->export->up_axis, q);
}

static bool ends_with(const char *path, const char *ending)
{
    const size_t n = strlen(path), m = strlen(ending);
    return n >= m && strcasecmp(path + n - m, ending) == 0;
}

/* The cameras.json of the model folder, which a splat in MODEL/point_cloud/iteration_N has, too. */
static bool find_cameras(const splat_session *session, const splat_line *line, char path[CLI_PATH_MAX])
{
    char folder[CLI_PATH_MAX];
    const char *slash = strrchr(session->ply, '/');
    snprintf(folder, sizeof folder, "%.*s/../..", slash ? (int)(slash - session->ply) : 1, slash ? session->ply : ".");
    return cli_path_join(path, line->model->model_path ? line->model->model_path : folder, "cameras.json") &&
           cli_path_exists(path);
}

/* Finds the first camera of a page: a training camera, moved with the splat. False: no camera is known. */
static bool find_start(const splat_session *session, const splat_line *line, splat_camera *start)
{
    char path[CLI_PATH_MAX], text[2048];
    double q[4];
    splat_error error;
    if (!find_cameras(session, line, path)) return false;
    if (splat_model_read_start(path, start, &error) != SPLAT_OK) {
        cli_notice("a page would begin around the splat, without its cameras: %s",
                   splat_error_format(&error, text, sizeof text));
        return false;
    }
    choose_turn(line, q);
    splat_camera_transform(start, q, line->export->scale);
    return true;
}

static int save(const splat_session *session, const splat_line *line, bool fused)
{
    char path[CLI_PATH_MAX];
    splat_camera start;
    splat_error error;
    splat_model_info info, written;
    splat_save_options options;
    if (!choose_output(session, line, path)) return CLI_USAGE;
    splat_model_get_info(session->model, &info);
    if (fused && !info.has_filter_3d) cli_notice("%s has no 3D filter: there is nothing to fuse", session->ply);
    splat_save_options_init(&options);
    options.fused = fused;
    options.spz_version = atoi(line->export->spz_version);
    if (ends_with(path, ".html") && find_start(session, line, &start)) options.start = &start;
    if (line->model->reduce_sh_degree >= 0) options.sh_degree = line->model->reduce_sh_degree;
    if (splat_model_save(session->model, path, &options, &error) != SPLAT_OK) return cli_report(&error);
    int degree = info.sh_degree < options.sh_degree ? info.sh_degree : options.sh_degree;
    if (splat_model_describe(path, &written, NULL) == SPLAT_OK) { /* what the format has room for */
        if (written.sh_degree < degree)
            cli_notice("%s holds spherical harmonics of degree %d; those above are left out", path, written.sh_degree);
        if (info.render_mode == SPLAT_RENDER_MIP && written.render_mode != SPLAT_RENDER_MIP)
            cli_notice("%s has no place for the mark of antialiased splats; programs that read it need an option "
                       "(Splatsmith: --render_mode mip)", path);
        degree = written.sh_degree;
        fused = fused || (info.has_filter_3d && !written.has_filter_3d);
    }
    cli_say("%s: %zu Gaussians of degree %d%s", path, info.n_gaussians, degree, fused ? ", fused" : "");
    return CLI_OK;
}

static bool is_of_scene(const splat_line_option *option)
{
    const size_t begin = offsetof(splat_line_parts, scene);
    return option->offset >= begin && option->offset < begin + sizeof(splat_scene_options);
}

static int open_splat(splat_session *session, const splat_line *line)
{
    splat_error error;
    if (line->surface->remove_floaters || line->export->min_views) return cli_session_open(session, line, true);
    for (size_t i = 0; i < splat_line_n_options; i++)
        if (line->given[i] && is_of_scene(&splat_line_options[i]))
            cli_notice("--%s has no effect without --remove_floaters or --min_views", splat_line_options[i].name);
    int code = cli_end(splat_session_find_ply(session, line, &error), &error);
    if (code == CLI_OK) code = cli_context_create(line, &session->context);
    if (code == CLI_OK && splat_model_load(session->context, session->ply, &session->model, &error) != SPLAT_OK)
        code = cli_report(&error);
    return code;
}

/* Fills the rules of removal, and whether there are any. */
static bool fill_clean_options(const splat_line *line, splat_clean_options *options, bool *any)
{
    splat_error error;
    *options = *line->clean;
    if (splat_stage_read_box(line, &options->has_bbox, options->bbox_low, options->bbox_high, &error) != SPLAT_OK) {
        cli_report(&error);
        return false;
    }
    if (splat_clean_options_check(options, &error) != SPLAT_OK) return cli_report(&error), false;
    *any = options->has_bbox || options->min_opacity > 0 || options->max_size > 0 || options->outlier_std > 0;
    if (!(options->outlier_std > 0)) cli_tell_unused(line, "outlier_neighbors", " without --outlier_std");
    if (!line->export->up_axis) cli_tell_unused(line, "scene_up", " without --up_axis");
    return true;
}

static int remove_unseen(splat_session *session, int least_views)
{
    splat_model_info info;
    splat_error error;
    size_t n_removed;
    splat_model_get_info(session->model, &info);
    if (splat_model_remove_unseen(session->scene, session->model, least_views, &n_removed, &error) != SPLAT_OK)
        return cli_report(&error);
    cli_say("removed %zu of %zu Gaussians, which fewer than %d training view%s show", n_removed, info.n_gaussians,
            least_views, splat_plural((size_t)least_views));
    return CLI_OK;
}

static int clean(splat_session *session, const splat_clean_options *options)
{
    splat_clean_counts counts;
    splat_error error;
    char reasons[256] = "";
    size_t length = 0;
    if (splat_model_clean(session->model, options, &counts, &error) != SPLAT_OK) return cli_report(&error);
    const struct {
        size_t n;
        const char *why;
    } parts[] = {{counts.n_outside, "outside the box"}, {counts.n_faint, "too faint"}, {counts.n_large, "too large"},
                 {counts.n_lonely, "far from others"}, {counts.n_not_finite, "not finite"}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].n)
            length += (size_t)snprintf(reasons + length, sizeof reasons - length, "%s%zu %s", length ? ", " : ": ",
                                       parts[i].n, parts[i].why);
    cli_say("removed %zu of %zu Gaussians%s", counts.n_removed, counts.n_before, reasons);
    return CLI_OK;
}

/* Reports that the mesh of a refined splat was not cleaned or turned with it. The mesh lies next to the splat: by this
 * name in the folder of a refinement, and by the other in that of a pipeline. Other meshes have other numbers of
 * triangles. */
static void say_mesh_stays(const splat_session *session, size_t n_gaussians)
{
    static const char *const names[] = {"mesh.ply", "refined_mesh.ply"};
    const char *slash = strrchr(session->ply, '/');
    char folder[CLI_PATH_MAX], mesh[CLI_PATH_MAX];
    splat_refine_info info;
    splat_error error;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash ? slash - session->ply : 1), slash ? session->ply : ".");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!cli_path_join(mesh, folder, names[i])) return;
        if (!cli_path_exists(mesh) || splat_refine_describe(mesh, 1, &info, &error) != SPLAT_OK) continue;
        if (!splat_bound_per_face_of(n_gaussians, info.n_faces)) continue;
        cli_notice("the Gaussians of %s are bound to the triangles of %s, which stays as it is: what is written no "
                   "longer fits that mesh", session->ply, mesh);
        return;
    }
}

static int transform(splat_session *session, const splat_line *line)
{
    double q[4];
    splat_error error;
    choose_turn(line, q);
    if (splat_model_transform(session->model, q, line->export->scale, &error) != SPLAT_OK) return cli_report(&error);
    if (line->export->up_axis) cli_say("turned: up was %s, and is %s", line->export->scene_up, line->export->up_axis);
    if (line->export->scale != 1) cli_say("scaled by %g", line->export->scale);
    return CLI_OK;
}

static int add_sky(splat_session *session)
{
    splat_error error;
    if (splat_model_add_sky(session->model, SKY_GAUSSIANS, &error) != SPLAT_OK) return cli_report(&error);
    cli_say("added %d Gaussians of the sky", SKY_GAUSSIANS);
    return CLI_OK;
}

/* IN OUT as --ply and -o. */
static bool take_words(splat_line *line)
{
    if (!line->operand) return true;
    if (line->n_words != 1 || line->model->ply || line->model->model_path || line->output->path) {
        cli_error("export takes two files without options, the one to read and the one to write, or neither");
        return false;
    }
    line->model->ply = line->operand;
    line->output->path = line->words[0];
    return true;
}

int cmd_export(splat_line *line)
{
    splat_session session;
    splat_error error;
    splat_clean_options to_clean;
    splat_model_info before, after;
    bool cleans;
    if (!take_words(line)) return CLI_USAGE;
    bool fused = !line->model->ply;
    splat_line_put_given(line, &line->export->fused, sizeof fused, &fused);
    if (!line->output->path && (line->model->ply || !fused)) {
        cli_error("give the file to write with -o");
        return CLI_USAGE;
    }
    if (line->output->path && splat_model_check_path(line->output->path, &error) != SPLAT_OK) return cli_report(&error);
    if (!fill_clean_options(line, &to_clean, &cleans)) return CLI_USAGE;
    memset(&session, 0, sizeof session);
    int code = open_splat(&session, line);
    if (code == CLI_OK) splat_model_get_info(session.model, &before);
    if (code == CLI_OK && line->surface->remove_floaters)
        code = cli_end(splat_stage_remove_floaters(&session, line, NULL, &error), &error);
    if (code == CLI_OK && line->export->min_views) code = remove_unseen(&session, line->export->min_views);
    if (code == CLI_OK && cleans) code = clean(&session, &to_clean);
    bool moves = line->export->up_axis || line->export->scale != 1;
    if (code == CLI_OK && moves) code = transform(&session, line);
    if (code == CLI_OK) splat_model_get_info(session.model, &after);
    if (code == CLI_OK && (moves || after.n_gaussians < before.n_gaussians))
        say_mesh_stays(&session, before.n_gaussians);
    if (code == CLI_OK && line->export->dome) code = add_sky(&session);
    if (code == CLI_OK) code = save(&session, line, fused);
    splat_session_close(&session);
    return code;
}
