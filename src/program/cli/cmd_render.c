/* splatsmith render and splatsmith contact-sheet: pictures of a model's views. */
#include "cli.h"
#include "paths.h"
#include "progress.h"
#include "session.h"
#include "measure/contact_sheet.h"
#include "measure/map_pictures.h"
#include "measure/mesh_views.h"
#include "measure/path_views.h"
#include "measure/results.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- --what */

#define WHAT_RGB (1u << SPLAT_N_MAP_KINDS) /* in addition to the bits of splat_map_kind */

static const struct {
    const char *name;
    unsigned bit, mesh_bit; /* 0: a splat, or a mesh, does not have it */
} kinds[] = {{"rgb", WHAT_RGB, SPLAT_MESH_VIEW_COLOR},
             {"depth", SPLAT_MAP_DEPTH, SPLAT_MESH_VIEW_DEPTH},
             {"median", SPLAT_MAP_MEDIAN, 0},
             {"normal", SPLAT_MAP_NORMAL, SPLAT_MESH_VIEW_NORMAL},
             {"alpha", SPLAT_MAP_ALPHA, 0},
             {"density", SPLAT_MAP_DENSITY, 0},
             {"shaded", 0, SPLAT_MESH_VIEW_SHADED}};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static unsigned kind_bit(size_t kind, bool of_mesh)
{
    return of_mesh ? kinds[kind].mesh_bit : kinds[kind].bit;
}

/* List NULL: colours. */
static bool read_what(const char *list, bool of_mesh, unsigned *what)
{
    *what = list ? 0 : kind_bit(0, of_mesh);
    while (list) {
        size_t length = strcspn(list, ","), k = 0;
        while (k < N_KINDS && (!kind_bit(k, of_mesh) || strlen(kinds[k].name) != length ||
                               strncmp(list, kinds[k].name, length) != 0))
            k++;
        if (k == N_KINDS) {
            cli_error("--what takes %s with commas between, not '%.*s'",
                      of_mesh ? "rgb, depth, normal and shaded of a mesh"
                              : "rgb, depth, median, normal, alpha and density",
                      (int)length, list);
            return false;
        }
        *what |= kind_bit(k, of_mesh);
        list = list[length] ? list + length + 1 : NULL;
    }
    return true;
}

/* ---------------------------------------------------------------- views of the scene */

/* All views of a set, counted on the progress line. */
static splat_view_job counted_job(splat_view_set set, splat_counter *counter)
{
    splat_view_job job;
    splat_view_job_init(&job);
    job.set = set;
    job.visit = splat_counter_view;
    job.user = counter;
    return job;
}

static int render_maps(splat_session *session, const char *folder, splat_view_set set, unsigned what)
{
    bool is_test = set == SPLAT_VIEWS_TEST;
    splat_counter c = splat_counter_start(cli_talk(), is_test ? "maps of test views" : "maps of train views",
                                          is_test ? session->scene_info.n_test : session->scene_info.n_train);
    splat_error error;
    if (c.total == 0) return CLI_OK;
    const splat_view_job job = counted_job(set, &c);
    splat_status status = splat_maps_write(session->model, session->scene, &job, what & ~WHAT_RGB, folder,
                                           session->iteration, &error);
    cli_progress_end();
    if (status != SPLAT_OK) return cli_report(&error);
    cli_say("maps of %zu view%s in %s/%s/ours_%d", c.total, splat_plural(c.total), folder, is_test ? "test" : "train",
            session->iteration);
    return CLI_OK;
}

static int render_colours(splat_session *session, const char *folder, splat_view_set set, const char *exposures)
{
    bool is_test = set == SPLAT_VIEWS_TEST;
    splat_counter c = splat_counter_start(cli_talk(), is_test ? "rendering test views" : "rendering train views",
                                          is_test ? session->scene_info.n_test : session->scene_info.n_train);
    splat_error error;
    if (c.total == 0) return CLI_OK;
    splat_view_job job = counted_job(set, &c);
    job.exposures = exposures;
    splat_status status = splat_renders_write(session->model, session->scene, &job, folder, session->iteration,
                                              &error);
    cli_progress_end();
    if (status != SPLAT_OK) return cli_report(&error);
    cli_say("%zu picture%s in %s/%s/ours_%d", c.total, splat_plural(c.total), folder, is_test ? "test" : "train",
            session->iteration);
    return CLI_OK;
}

static int render_set(splat_session *session, const char *folder, splat_view_set set, unsigned what,
                      const char *exposures)
{
    int code = CLI_OK;
    if (what & WHAT_RGB) code = render_colours(session, folder, set, exposures);
    if (code == CLI_OK && what & ~WHAT_RGB) code = render_maps(session, folder, set, what);
    return code;
}

static int render_mesh_set(splat_session *session, const splat_line *line, const char *folder, splat_view_set set,
                           unsigned what)
{
    bool is_test = set == SPLAT_VIEWS_TEST;
    splat_counter c = splat_counter_start(cli_talk(), is_test ? "mesh in test views" : "mesh in train views",
                                          is_test ? session->scene_info.n_test : session->scene_info.n_train);
    splat_error error;
    if (c.total == 0) return CLI_OK;
    const splat_view_job job = counted_job(set, &c);
    splat_status status = splat_mesh_views_write(session->scene, line->model->mesh_file, &job, what, line->mesh_draw,
                                                 folder, &error);
    cli_progress_end();
    if (status != SPLAT_OK) return cli_report(&error);
    cli_say("the mesh in %zu view%s in %s/%s", c.total, splat_plural(c.total), folder, is_test ? "test" : "train");
    return CLI_OK;
}

/* Renders the splat, or --mesh. */
static int render(splat_session *session, const splat_line *line, unsigned what)
{
    const char *folder = line->output->path ? line->output->path : line->model->model_path;
    const bool skipped[2] = {line->render->skip_train, line->render->skip_test};
    const bool own = strcmp(line->render->exposure, "own") == 0;
    char exposures[CLI_PATH_MAX];
    int code = CLI_OK;
    if (own && !splat_session_find_exposures(session, line, exposures)) {
        cli_error("there is no exposure.json next to the splat: it was trained without --exposure");
        return CLI_USAGE;
    }
    if (line->render->skip_train && !line->render->skip_test && session->scene_info.n_test == 0)
        cli_notice("there are no test views, so nothing is rendered");
    for (int i = 0; i < 2 && code == CLI_OK; i++) {
        splat_view_set set = i ? SPLAT_VIEWS_TEST : SPLAT_VIEWS_TRAIN;
        if (skipped[i]) continue;
        code = line->model->mesh_file ? render_mesh_set(session, line, folder, set, what)
                                 : render_set(session, folder, set, what, own ? exposures : NULL);
    }
    return code;
}

/* ---------------------------------------------------------------- novel views */

static bool read_perturbation(const char *text, splat_random_views_options *options)
{
    char *end;
    if (!text) return true;
    options->position_deviation = strtof(text, &end);
    if (end != text && *end == ',') {
        const char *second = end + 1;
        options->rotation_deviation_deg = strtof(second, &end);
        if (end != second && !*end) return true; /* the library checks the ranges */
    }
    cli_error("--perturb takes two numbers, such as 0.1,2: camera distances and degrees; not '%s'", text);
    return false;
}

static int render_random_views(splat_session *session, const splat_line *line)
{
    splat_random_views_options options = line->render->random_views;
    char folder[CLI_PATH_MAX], name[64];
    splat_error error;
    splat_status status;
    if (!read_perturbation(line->render->perturb, &options)) return CLI_USAGE;
    if (line->model->mesh_file)
        snprintf(name, sizeof name, "random/mesh");
    else
        snprintf(name, sizeof name, "random/ours_%d", session->iteration);
    if (line->output->path)
        snprintf(folder, sizeof folder, "%s", line->output->path);
    else if (!cli_path_join(folder, line->model->model_path, name))
        return CLI_USAGE;
    splat_counter c = splat_counter_start(cli_talk(), "rendering random views", options.n);
    options.visit = splat_counter_view;
    options.user = &c;
    if (line->model->mesh_file)
        status = splat_mesh_random_views_write(session->scene, line->model->mesh_file, line->mesh_draw, &options,
                                               folder, &error);
    else
        status = splat_random_views_write(session->model, session->scene, &options, folder, &error);
    cli_progress_end();
    if (status != SPLAT_OK) return cli_report(&error);
    cli_say("%zu picture%s in %s/images, their poses in transforms.json and sparse/0", options.n,
            splat_plural(options.n), folder);
    return CLI_OK;
}

/* ---------------------------------------------------------------- a camera path */

static int write_path(splat_session *session, const splat_line *line, bool white)
{
    char folder[CLI_PATH_MAX], name[64];
    splat_error error;
    size_t n;
    const float background[3] = {white, white, white};
    if (line->model->mesh_file)
        snprintf(name, sizeof name, "path/mesh");
    else
        snprintf(name, sizeof name, "path/ours_%d", session->iteration);
    if (line->output->path)
        snprintf(folder, sizeof folder, "%s", line->output->path);
    else if (!cli_path_join(folder, line->model->model_path, name))
        return CLI_USAGE;
    if (splat_path_describe(line->render->camera_path, &n, &error) != SPLAT_OK) return cli_report(&error);
    splat_counter c = splat_counter_start(cli_talk(), "rendering the path", n);
    const splat_view_job job = counted_job(SPLAT_VIEWS_TEST, &c);
    splat_status status = line->model->mesh_file
                              ? splat_mesh_path_write(session->context, line->model->mesh_file, line->mesh_draw,
                                                      line->render->camera_path, background, &job, folder, &error)
                              : splat_path_write(session->model, line->render->camera_path, background, &job, folder,
                                                 &error);
    cli_progress_end();
    if (status != SPLAT_OK) return cli_report(&error);
    cli_say("%zu picture%s in %s", n, splat_plural(n), folder);
    return CLI_OK;
}

/* A context for a mesh; false, with a message, when an option of GPUs is given. */
static bool needs_no_gpu(const splat_line *line)
{
    static const char *const on_gpu[] = {"backend", "gpu", "vram_limit"};
    return !cli_is_any_given(line, on_gpu, sizeof on_gpu / sizeof on_gpu[0], "--mesh", "a mesh is drawn on the CPU");
}

static int open_for_mesh(splat_session *session, const splat_line *line, bool has_scene)
{
    memset(session, 0, sizeof *session);
    int code = cli_context_create_on_cpu(line, &session->context);
    return code == CLI_OK && has_scene ? cli_session_open_scene(session, line, false) : code;
}

/* Needs the splat or the mesh, and of a scene only its background. */
static int render_path(const splat_line *line)
{
    static const char *const others[] = {"random_views", "perturb", "seed", "what", "skip_train", "skip_test",
                                         "exposure"};
    const bool has_scene = line->model->model_path || line->scene->source_path;
    splat_session session;
    int code;
    if (cli_is_any_given(line, others, sizeof others / sizeof others[0], "it",
                         "--path renders colours along the path") ||
        !cli_check_mesh_options(line) || (line->model->mesh_file && !needs_no_gpu(line)))
        return CLI_USAGE;
    if (!line->output->path && !line->model->model_path) {
        cli_error("give the model folder with -m, or --ply FILE or --mesh FILE with -o FOLDER");
        return CLI_USAGE;
    }
    if (line->model->mesh_file)
        code = open_for_mesh(&session, line, has_scene);
    else
        code = has_scene ? cli_session_open(&session, line, false) : cli_session_open_splat(&session, line);
    if (code == CLI_OK)
        code = write_path(&session, line, has_scene ? session.scene_options.white_background
                                                      : line->scene->white_background);
    splat_session_close(&session);
    return code;
}

/* ---------------------------------------------------------------- a mesh instead of the splat */

/* Needs the scene alone, and no GPU. */
static int render_mesh(const splat_line *line, unsigned what)
{
    splat_session session;
    if (!needs_no_gpu(line)) return CLI_USAGE;
    if (!line->output->path && !line->model->model_path) {
        cli_error("give the model folder with -m, or the scene with -s and a folder for the pictures with -o");
        return CLI_USAGE;
    }
    int code = open_for_mesh(&session, line, true);
    if (code == CLI_OK)
        code = line->render->random_views.n ? render_random_views(&session, line) : render(&session, line, what);
    splat_session_close(&session);
    return code;
}

int cmd_render(splat_line *line)
{
    splat_session session;
    bool random = line->render->random_views.n > 0, changes_exposure = splat_line_given(line, "exposure");
    unsigned what;
    if (line->render->camera_path) return render_path(line);
    if (!read_what(line->render->what, line->model->mesh_file != NULL, &what)) return CLI_USAGE;
    if (!random && (line->render->perturb || splat_line_given(line, "seed"))) {
        cli_error("--perturb and --seed need --random_views N");
        return CLI_USAGE;
    }
    if (random && what != kind_bit(0, line->model->mesh_file != NULL)) {
        cli_error("--random_views writes colours only; --what goes without it");
        return CLI_USAGE;
    }
    if (random && (line->render->skip_train || line->render->skip_test)) {
        cli_error("--random_views writes no views of the scene; --skip_train and --skip_test go without it");
        return CLI_USAGE;
    }
    if (!cli_check_mesh_options(line)) return CLI_USAGE;
    if (changes_exposure && (line->model->mesh_file || random)) {
        cli_error("--exposure is for the scene's views of a splat; --mesh and --random_views go without it");
        return CLI_USAGE;
    }
    if (changes_exposure && !(what & WHAT_RGB)) {
        cli_error("--exposure changes colours, which --what leaves out");
        return CLI_USAGE;
    }
    if (line->model->mesh_file) return render_mesh(line, what);
    if (!line->output->path && !line->model->model_path) {
        cli_error("give the model folder with -m, or --ply FILE -s SCENE -o FOLDER");
        return CLI_USAGE;
    }
    int code = cli_session_open(&session, line, false);
    if (code == CLI_OK) code = random ? render_random_views(&session, line) : render(&session, line, what);
    splat_session_close(&session);
    return code;
}

static int write_sheet(const splat_session *session, const splat_line *line)
{
    splat_error error;
    size_t n_views = (size_t)line->sheet->n_views;
    splat_status status = line->model->mesh_file
                              ? splat_mesh_contact_sheet_write(session->scene, line->model->mesh_file, line->mesh_draw,
                                                               session->model, n_views, line->output->path, &error)
                              : splat_contact_sheet_write(session->model, session->scene, n_views, line->output->path,
                                                          &error);
    if (status != SPLAT_OK) return cli_report(&error);
    cli_say("%s", line->output->path);
    return CLI_OK;
}

static int open_without_splat(splat_session *session, const splat_line *line)
{
    memset(session, 0, sizeof *session);
    int code = cli_context_create(line, &session->context);
    return code == CLI_OK ? cli_session_open_scene(session, line, true) : code;
}

int cmd_contact_sheet(splat_line *line)
{
    splat_session session;
    if (!line->output->path) {
        cli_error("give the PNG or JPEG to write with -o");
        return CLI_USAGE;
    }
    if (cli_is_other_format(line->output->path, ".png") && cli_is_other_format(line->output->path, ".jpg") &&
        cli_is_other_format(line->output->path, ".jpeg")) {
        cli_error("contact-sheet writes PNG and JPEG; name a file like sheet.png, not '%s'", line->output->path);
        return CLI_USAGE;
    }
    if (!cli_check_mesh_draw(line)) return CLI_USAGE;
    bool of_mesh_alone = line->model->mesh_file && !line->model->model_path && !line->model->ply;
    int code = of_mesh_alone ? open_without_splat(&session, line) : cli_session_open(&session, line, true);
    if (code == CLI_OK) code = write_sheet(&session, line);
    splat_session_close(&session);
    return code;
}
