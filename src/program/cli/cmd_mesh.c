/* splatsmith mesh */
#include "cli.h"
#include "progress.h"
#include "report/number_name.h"

#include <stdlib.h>
#include <string.h>

#define MAX_STAGES 16

/* The progress line, and the seconds of every stage so far; stages that come again go on. */
typedef struct stage_times {
    cli_counter counter;
    struct {
        const char *name; /* borrowed: of a progress function */
        double seconds;
    } stages[MAX_STAGES];
    size_t n, current; /* current: MAX_STAGES: none yet */
    double since;
} stage_times;

static stage_times stage_times_start(const char *what)
{
    return (stage_times){.counter = cli_counter_start(what, 0), .current = MAX_STAGES, .since = cli_seconds()};
}

/* A stage begins, or with NULL the last one ends. */
static void stage_times_turn(stage_times *t, const char *name)
{
    double now = cli_seconds();
    size_t i = 0;
    if (t->current < t->n) t->stages[t->current].seconds += now - t->since;
    t->since = now;
    while (name && i < t->n && strcmp(t->stages[i].name, name) != 0) i++;
    if (name && i == t->n && t->n < MAX_STAGES) t->stages[t->n++].name = name;
    t->current = name ? i : MAX_STAGES;
}

static bool tell(void *user, const char *stage, double fraction)
{
    stage_times *t = user;
    if (t->current >= t->n || strcmp(t->stages[t->current].name, stage) != 0) stage_times_turn(t, stage);
    cli_counter_show(&t->counter, stage, fraction);
    return true;
}

/* ": looking for surface 1.2 s, looking for planes 2.0 s", in the order of their beginnings; short ones left out. */
static void stage_times_write(stage_times *t, char *text, size_t size)
{
    size_t used = 0;
    stage_times_turn(t, NULL);
    text[0] = 0;
    for (size_t i = 0; i < t->n && used < size; i++)
        if (t->stages[i].seconds >= 0.05)
            used += (size_t)snprintf(text + used, size - used, "%s%s %.1f s", used ? ", " : ": ", t->stages[i].name,
                                     t->stages[i].seconds);
}

/* "x,y,z" or "(x,y,z)", as SuGaR takes its boxes. */
static bool read_corner(const char *option, const char *text, double corner[3])
{
    const char *at = text + (*text == '(');
    for (int k = 0; k < 3; k++) {
        char *end;
        corner[k] = strtod(at, &end);
        bool ends = k == 2 ? *end == 0 || strcmp(end, ")") == 0 : *end == ',';
        if (end == at || !ends) {
            cli_error("--%s takes three numbers such as -1,-1,-0.5, not '%s'", option, text);
            return false;
        }
        at = end + 1;
    }
    return true;
}

/* "0.3" or "0.1,0.3,0.5". */
static bool read_levels(const char *text, splat_mesh_extract_options *options)
{
    char *end;
    options->n_levels = 0;
    for (const char *at = text;; at = end + 1) {
        double value = strtod(at, &end);
        bool ends = end != at && (*end == ',' || !*end);
        if (!ends || !(value > 0 && value < 1) || options->n_levels == SPLAT_MESH_LEVELS) {
            cli_error("--surface_level takes 1 to %d numbers above 0 and below 1 with commas between, not '%s'",
                      SPLAT_MESH_LEVELS, text);
            return false;
        }
        options->levels[options->n_levels++] = (float)value;
        if (!*end) return true;
    }
}

/* The ways to make a mesh, as bits. */
enum { LEVEL = 1, DEPTH = 2, CENTERS = 4, VIEWS = 32, POISSON = 39, TSDF = 8, CUBES = 16 };

static const struct {
    const char *option;
    unsigned ways; /* those that it shapes */
} limited[] = {
    {"points", POISSON},
    {"surface_level", LEVEL | CUBES},
    {"surface_points", LEVEL | DEPTH | VIEWS},
    {"mesh_extraction_resolution_factor", POISSON | TSDF},
    {"poisson_depth", POISSON},
    {"density_quantile", POISSON},
    {"support_trim", POISSON},
    {"outlier_neighbors", POISSON},
    {"outlier_std", POISSON},
    {"project_mesh_on_surface_points", POISSON},
    {"background", POISSON | TSDF | CUBES},
    {"voxel_size", TSDF | CUBES},
    {"least_scale", CUBES},
    {"max_depth", TSDF},
    {"min_alpha", DEPTH | VIEWS | TSDF},
    {"planes", VIEWS},
    {"remove_sky", VIEWS},
};

static void tell_without_effect(const splat_line *line, const splat_mesh_extract_options *options)
{
    bool tsdf = options->method == SPLAT_MESH_TSDF, cubes = options->method == SPLAT_MESH_MARCHING_CUBES;
    bool depth = options->points == SPLAT_MESH_POINTS_DEPTH, centers = options->points == SPLAT_MESH_POINTS_CENTERS;
    bool views = options->points == SPLAT_MESH_POINTS_VIEWS;
    unsigned way = tsdf ? TSDF : cubes ? CUBES : depth ? DEPTH : centers ? CENTERS : views ? VIEWS : LEVEL;
    const char *name = tsdf ? " with --method tsdf" : cubes ? " with --method marching_cubes"
                       : depth ? " with --points depth" : centers ? " with --points centers"
                       : views ? " with --points views" : " with --method poisson --points level";
    for (size_t i = 0; i < sizeof limited / sizeof limited[0]; i++)
        if (!(limited[i].ways & way)) cli_tell_unused(line, limited[i].option, name);
    if (options->has_bbox) cli_tell_unused(line, "center_bbox", ": --bboxmin and --bboxmax name the box");
}

static bool fill_options(const splat_line *line, splat_mesh_extract_options *options)
{
    *options = *line->mesh;
    options->max_host_bytes = (uint64_t)(line->surface->max_host_memory * SPLAT_GIB);
    if (line->surface->levels) options->points = SPLAT_MESH_POINTS_LEVEL;
    splat_line_put_given(line, &line->mesh->points, sizeof options->points, &options->points);
    if (line->surface->levels && !read_levels(line->surface->levels, options)) return false;
    return cli_read_box(line, &options->has_bbox, options->bbox_low, options->bbox_high);
}

bool cli_read_box(const splat_line *line, bool *has_box, double low[3], double high[3])
{
    if (!line->surface->bbox_min != !line->surface->bbox_max) {
        cli_error("give --bboxmin and --bboxmax, or neither");
        return false;
    }
    *has_box = line->surface->bbox_min != NULL;
    return !*has_box || (read_corner("bboxmin", line->surface->bbox_min, low) &&
                         read_corner("bboxmax", line->surface->bbox_max, high));
}

/* What is written: a row of paths for each mesh. */
#define MAX_PATHS 8
typedef struct mesh_paths {
    char *path[SPLAT_MESH_LEVELS * (MAX_PATHS + 1)]; /* malloc'd */
    size_t n, n_each;
} mesh_paths;

static void free_paths(mesh_paths *paths)
{
    for (size_t i = 0; i < paths->n; i++) free(paths->path[i]);
}

static bool add_path(mesh_paths *paths, const char *path)
{
    if (!(paths->path[paths->n] = strdup(path))) {
        cli_error("no memory for a path");
        return false;
    }
    paths->n++;
    return true;
}

/* "out/mesh.ply" as "out/mesh_level03.ply". */
static bool add_with_level(mesh_paths *paths, const char *path, const char *level)
{
    char text[CLI_PATH_MAX];
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    int stem = dot ? (int)(dot - path) : (int)strlen(path);
    if (snprintf(text, sizeof text, "%.*s_level%s%s", stem, path, level, dot ? dot : "") < (int)sizeof text)
        return add_path(paths, text);
    cli_error("the path %.200s... is too long", path);
    return false;
}

/* A folder that exists, or a name that has no ending and so cannot be a mesh's. */
static bool is_folder(const char *path)
{
    char inside[CLI_PATH_MAX];
    const char *slash = strrchr(path, '/');
    bool exists = snprintf(inside, sizeof inside, "%s/.", path) < (int)sizeof inside && cli_path_exists(inside);
    return exists || (!strchr(path, ',') && !strchr(slash ? slash + 1 : path, '.'));
}

/* Where mesh.ply goes, and the mesh under SuGaR's name. */
static void default_folder(const splat_line *line, int iteration, char folder[CLI_PATH_MAX])
{
    size_t length = line->output->path ? strlen(line->output->path) : 0;
    while (length > 1 && line->output->path[length - 1] == '/') length--;
    if (line->output->path)
        snprintf(folder, CLI_PATH_MAX, "%.*s", (int)length, line->output->path);
    else
        snprintf(folder, CLI_PATH_MAX, "%s/mesh/iteration_%d", line->model->model_path, iteration);
}

/* What SuGaR's name says of the splat: that of its coarse training's folder, or the iteration. */
static void name_splat(const splat_line *line, int iteration, char text[160])
{
    static const char coarse[] = "sugarcoarse_";
    const char *model_path = line->model->model_path ? line->model->model_path : "";
    size_t length = strlen(model_path), begin;
    while (length > 1 && model_path[length - 1] == '/') length--;
    for (begin = length; begin > 0 && model_path[begin - 1] != '/';) begin--;
    const char *name = model_path + begin;
    size_t n_coarse = sizeof coarse - 1, n = length - begin;
    if (line->surface->use_vanilla_3dgs)
        snprintf(text, 160, "vanilla3dgs");
    else if (n > n_coarse && n < 160 && strncmp(name, coarse, n_coarse) == 0)
        snprintf(text, 160, "%.*s", (int)(n - n_coarse), name + n_coarse);
    else
        snprintf(text, 160, "3Dgs%d", iteration);
}

/* SuGaR's name beside mesh.ply, where -o says nothing. What SuGaR has no name for gets none. */
static bool add_sugar_path(mesh_paths *paths, const splat_line *line, const splat_mesh_extract_options *options,
                           int iteration, const char *level)
{
    char text[CLI_PATH_MAX], folder[CLI_PATH_MAX], splat[160];
    bool marching = options->method == SPLAT_MESH_MARCHING_CUBES, poisson = options->method == SPLAT_MESH_POISSON;
    bool centers = poisson && options->points == SPLAT_MESH_POINTS_CENTERS;
    bool is_named = marching || (poisson && (centers || options->points == SPLAT_MESH_POINTS_LEVEL));
    if (!is_named || (line->output->path && !is_folder(line->output->path))) return true;
    name_splat(line, iteration, splat);
    default_folder(line, iteration, folder);
    const char *how = centers ? "poissoncenters" : marching ? "marchingcubes_level" : "level";
    if (snprintf(text, sizeof text, "%s/sugarmesh_%s_%s%s_decim%zu.ply", folder, splat, how, centers ? "" : level,
                 options->target_vertices) < (int)sizeof text)
        return add_path(paths, text);
    cli_error("the path %.200s... is too long", folder);
    return false;
}

/* Of one mesh: the words of -o, with commas between, or mesh.ply in the model folder; then SuGaR's name. */
static bool add_row(mesh_paths *paths, const splat_line *line, const splat_mesh_extract_options *options, int iteration,
                    size_t mesh)
{
    char words[CLI_PATH_MAX], folder[CLI_PATH_MAX], level[32];
    splat_error error;
    size_t n_words = 0;
    bool ok = true;
    bool is_file = line->output->path && !is_folder(line->output->path);
    default_folder(line, iteration, folder);
    int length = snprintf(words, sizeof words, is_file ? "%s" : "%s/mesh.ply", is_file ? line->output->path : folder);
    if (length >= (int)sizeof words) {
        cli_error("the path %.200s... is too long", words);
        return false;
    }
    splat_number_name(level, options->levels[mesh]);
    for (char *at = strtok(words, ","); at && ok; at = strtok(NULL, ",")) {
        if (++n_words > MAX_PATHS) {
            cli_error("--output takes at most %d files", MAX_PATHS);
            return false;
        }
        if (splat_mesh_check_path(at, &error) != SPLAT_OK) { /* before the work, which takes minutes */
            cli_report(&error);
            return false;
        }
        ok = splat_mesh_extract_count(options) > 1 ? add_with_level(paths, at, level) : add_path(paths, at);
    }
    if (n_words == 0) cli_error("--output names no file");
    return ok && n_words > 0 && add_sugar_path(paths, line, options, iteration, level);
}

static bool choose_paths(const splat_line *line, const splat_mesh_extract_options *options, int iteration,
                         mesh_paths *paths)
{
    size_t n_meshes = splat_mesh_extract_count(options);
    if (!line->output->path && !line->model->model_path) {
        cli_error("give the file to write with -o (such as mesh.ply; several with commas between)");
        return false;
    }
    for (size_t i = 0; i < n_meshes; i++)
        if (!add_row(paths, line, options, iteration, i)) return false;
    paths->n_each = paths->n / n_meshes;
    return true;
}

static void say_mesh(const splat_mesh_extract_info *info, const mesh_paths *paths, size_t mesh)
{
    if (info->n_gaussians) cli_say("%zu opaque Gaussian%s", info->n_gaussians, cli_plural(info->n_gaussians));
    if (info->n_points) cli_say("%zu surface point%s", info->n_points, cli_plural(info->n_points));
    cli_say("%zu vertices and %zu faces (%zu and %zu before cleaning and simplifying)", info->n_vertices, info->n_faces,
            info->n_vertices_first, info->n_faces_first);
    if (info->n_faces_unseen)
        cli_say("%zu face%s that no training view sees went", info->n_faces_unseen, cli_plural(info->n_faces_unseen));
    for (size_t i = 0; i < paths->n_each; i++) cli_say("  %s", paths->path[mesh * paths->n_each + i]);
}

int cli_remove_floaters(cli_session *session, const splat_line *line, const splat_mesh_extract_options *chosen)
{
    splat_mesh_extract_options options;
    splat_model_info info;
    splat_error error;
    size_t n_removed;
    stage_times times = stage_times_start("floaters");
    options = chosen ? *chosen : *line->mesh;
    options.progress = tell;
    options.progress_user = &times;
    splat_model_get_info(session->model, &info);
    splat_status status =
        splat_model_remove_floaters(session->scene, session->model, &options, &n_removed, &error);
    cli_progress_end();
    if (status != SPLAT_OK) return cli_report(&error);
    cli_say("%zu of %zu Gaussians were floaters", n_removed, info.n_gaussians);
    return CLI_OK;
}

static int extract(cli_session *session, const splat_mesh_extract_options *chosen, const mesh_paths *paths)
{
    splat_mesh_extract_options options = *chosen;
    splat_mesh_extract_info info[SPLAT_MESH_LEVELS];
    splat_error error;
    char time_text[32], parts_text[512];
    stage_times times = stage_times_start("mesh");
    double begin = cli_seconds();
    options.progress = tell;
    options.progress_user = &times;
    splat_status status = splat_mesh_extract(session->context, session->scene, session->model, &options,
                                             (const char *const *)paths->path, paths->n_each, info, &error);
    cli_progress_end();
    if (status != SPLAT_OK) return cli_report(&error);
    for (size_t i = 0; i < splat_mesh_extract_count(&options); i++) say_mesh(&info[i], paths, i);
    stage_times_write(&times, parts_text, sizeof parts_text);
    cli_say("in %s%s", cli_duration(cli_seconds() - begin, time_text), parts_text);
    return CLI_OK;
}

/* The options, checked before anything is opened. */
static int read_options(const splat_line *line, splat_mesh_extract_options *options)
{
    splat_error error;
    if (!fill_options(line, options)) return CLI_USAGE;
    return splat_mesh_extract_options_check(options, &error) == SPLAT_OK ? CLI_OK : cli_report(&error);
}

int cli_check_mesh(const splat_line *line)
{
    splat_mesh_extract_options options;
    return read_options(line, &options);
}

/* As SuGaR's scripts say it: -m may be the file of a coarse training, -c the folder of the splat before it. */
static void take_sugars_words(splat_line_model *model)
{
    char inside[CLI_PATH_MAX];
    if (model->model_path && model->gs_output_dir)
        cli_notice("--gs_output_dir has no effect: the splat is that of -m");
    else if (model->gs_output_dir && !model->ply)
        model->model_path = model->gs_output_dir;
    if (model->model_path && !model->ply && cli_path_exists(model->model_path) &&
        snprintf(inside, sizeof inside, "%s/.", model->model_path) < (int)sizeof inside && !cli_path_exists(inside)) {
        model->ply = model->model_path;
        model->model_path = NULL;
    }
}

int cmd_mesh(splat_line *line)
{
    cli_session session;
    splat_mesh_extract_options options;
    mesh_paths paths = {.n = 0};
    take_sugars_words(line->model);
    int code = read_options(line, &options);
    if (code != CLI_OK) return code;
    tell_without_effect(line, &options);
    code = cli_session_open(&session, line, true);
    if (code == CLI_OK && !choose_paths(line, &options, session.iteration, &paths)) code = CLI_USAGE;
    if (code == CLI_OK && line->surface->remove_floaters) code = cli_remove_floaters(&session, line, &options);
    if (code == CLI_OK) code = extract(&session, &options, &paths);
    cli_session_close(&session);
    free_paths(&paths);
    return code;
}
