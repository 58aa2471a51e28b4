/* The mesh of a splat. */
#include "stage/mesh.h"

#include "base/file.h"
#include "base/plural.h"
#include "report/number_name.h"
#include "stage/folder.h"
#include "stage/part_times.h"

#include <stdlib.h>
#include <string.h>

/* "x,y,z" or "(x,y,z)", as SuGaR takes its boxes. */
static splat_status read_corner(const char *option, const char *text, double corner[3], splat_error *error)
{
    const char *at = text + (*text == '(');
    for (int k = 0; k < 3; k++) {
        char *end;
        corner[k] = strtod(at, &end);
        bool ends = k == 2 ? *end == 0 || strcmp(end, ")") == 0 : *end == ',';
        if (end == at || !ends)
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`%s` takes three numbers such as -1,-1,-0.5, not '%s'",
                              option, text);
        at = end + 1;
    }
    return SPLAT_OK;
}

/* "0.3" or "0.1,0.3,0.5". */
static splat_status read_levels(const char *text, splat_mesh_extract_options *options, splat_error *error)
{
    char *end;
    options->n_levels = 0;
    for (const char *at = text;; at = end + 1) {
        double value = strtod(at, &end);
        bool ends = end != at && (*end == ',' || !*end);
        if (!ends || !(value > 0 && value < 1) || options->n_levels == SPLAT_MESH_LEVELS)
            return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                              "`surface_level` takes 1 to %d numbers above 0 and below 1 with commas between, not '%s'",
                              SPLAT_MESH_LEVELS, text);
        options->levels[options->n_levels++] = (float)value;
        if (!*end) return SPLAT_OK;
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
    {"voxel_size", TSDF | CUBES},
    {"least_scale", CUBES},
    {"max_depth", TSDF},
    {"min_alpha", DEPTH | VIEWS | TSDF},
    {"planes", VIEWS},
};

static void tell_without_effect(const splat_line *line, const splat_mesh_extract_options *options)
{
    bool tsdf = options->method == SPLAT_MESH_TSDF, cubes = options->method == SPLAT_MESH_MARCHING_CUBES;
    bool depth = options->points == SPLAT_MESH_POINTS_DEPTH, centers = options->points == SPLAT_MESH_POINTS_CENTERS;
    bool views = options->points == SPLAT_MESH_POINTS_VIEWS;
    unsigned way = tsdf ? TSDF : cubes ? CUBES : depth ? DEPTH : centers ? CENTERS : views ? VIEWS : LEVEL;
    const char *name = tsdf      ? " with `method tsdf`"
                       : cubes   ? " with `method marching_cubes`"
                       : depth   ? " with `points depth`"
                       : centers ? " with `points centers`"
                       : views   ? " with `points views`"
                                 : " with `method poisson` `points level`";
    for (size_t i = 0; i < sizeof limited / sizeof limited[0]; i++)
        if (!(limited[i].ways & way)) splat_stage_tell_unused(line, limited[i].option, name);
    static const char *const trims[] = {"density_quantile", "support_trim", "unseen_rim"};
    for (size_t i = 0; options->surface == SPLAT_MESH_CLOSED && i < sizeof trims / sizeof trims[0]; i++)
        splat_stage_tell_unused(line, trims[i], " with `surface closed`");
}

splat_status splat_stage_read_box(const splat_line *line, bool *has_box, double low[3], double high[3],
                                  splat_error *error)
{
    if (!line->surface->bbox_min != !line->surface->bbox_max)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "give `bboxmin` and `bboxmax`, or neither");
    *has_box = line->surface->bbox_min != NULL;
    if (!*has_box) return SPLAT_OK;
    SPLAT_TRY(read_corner("bboxmin", line->surface->bbox_min, low, error));
    return read_corner("bboxmax", line->surface->bbox_max, high, error);
}

/* The options, checked before anything is opened. */
static splat_status read_options(const splat_line *line, splat_mesh_extract_options *options, splat_error *error)
{
    *options = *line->mesh;
    options->max_host_bytes = (uint64_t)(line->surface->max_host_memory * SPLAT_GIB);
    if (line->surface->levels) options->points = SPLAT_MESH_POINTS_LEVEL;
    splat_line_put_given(line, &line->mesh->points, sizeof options->points, &options->points);
    if (line->surface->levels) SPLAT_TRY(read_levels(line->surface->levels, options, error));
    SPLAT_TRY(splat_stage_read_box(line, &options->has_bbox, options->bbox_low, options->bbox_high, error));
    return splat_mesh_extract_options_check(options, error);
}

splat_status splat_stage_check_mesh(const splat_line *line, splat_error *error)
{
    splat_mesh_extract_options options;
    return read_options(line, &options, error);
}

/* The outputs: a row of paths for each mesh. */
#define MAX_PATHS 8
typedef struct mesh_paths {
    char *path[SPLAT_MESH_LEVELS * (MAX_PATHS + 1)]; /* malloc'd */
    size_t n, n_each;
} mesh_paths;

static void free_paths(mesh_paths *paths)
{
    for (size_t i = 0; i < paths->n; i++) free(paths->path[i]);
}

static splat_status add_path(mesh_paths *paths, const char *path, splat_error *error)
{
    if (!(paths->path[paths->n] = strdup(path))) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    paths->n++;
    return SPLAT_OK;
}

static splat_status fail_too_long(const char *path, splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the path %.200s... is too long", path);
}

/* "out/mesh.ply" as "out/mesh_level03.ply". */
static splat_status add_with_level(mesh_paths *paths, const char *path, const char *level, splat_error *error)
{
    char text[SPLAT_STAGE_PATH];
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    int stem = dot ? (int)(dot - path) : (int)strlen(path);
    int length = snprintf(text, sizeof text, "%.*s_level%s%s", stem, path, level, dot ? dot : "");
    return length < (int)sizeof text ? add_path(paths, text, error) : fail_too_long(path, error);
}

/* A folder that exists, or a name that has no ending and so cannot be a mesh's. */
static bool is_folder(const char *path)
{
    char inside[SPLAT_STAGE_PATH];
    const char *slash = strrchr(path, '/');
    bool exists = snprintf(inside, sizeof inside, "%s/.", path) < (int)sizeof inside && splat_path_exists(inside);
    return exists || (!strchr(path, ',') && !strchr(slash ? slash + 1 : path, '.'));
}

/* The folder of mesh.ply, and of the mesh under SuGaR's name. */
static void default_folder(const splat_line *line, int iteration, char folder[SPLAT_STAGE_PATH])
{
    size_t length = line->output->path ? strlen(line->output->path) : 0;
    while (length > 1 && line->output->path[length - 1] == '/') length--;
    if (line->output->path)
        snprintf(folder, SPLAT_STAGE_PATH, "%.*s", (int)length, line->output->path);
    else
        snprintf(folder, SPLAT_STAGE_PATH, "%s/mesh/iteration_%d", line->model->model_path, iteration);
}

/* The splat's part of SuGaR's name: that of its coarse training's folder, or the iteration. */
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

/* Adds SuGaR's name next to mesh.ply, if there is no -o. Meshes without a name in SuGaR get none. */
static splat_status add_sugar_path(mesh_paths *paths, const splat_line *line, const splat_mesh_extract_options *options,
                                   int iteration, const char *level, splat_error *error)
{
    char text[SPLAT_STAGE_PATH], folder[SPLAT_STAGE_PATH], splat[160];
    bool marching = options->method == SPLAT_MESH_MARCHING_CUBES, poisson = options->method == SPLAT_MESH_POISSON;
    bool centers = poisson && options->points == SPLAT_MESH_POINTS_CENTERS;
    bool is_named = marching || (poisson && (centers || options->points == SPLAT_MESH_POINTS_LEVEL));
    if (!is_named || (line->output->path && !is_folder(line->output->path))) return SPLAT_OK;
    name_splat(line, iteration, splat);
    default_folder(line, iteration, folder);
    const char *how = centers ? "poissoncenters" : marching ? "marchingcubes_level" : "level";
    int length = snprintf(text, sizeof text, "%s/sugarmesh_%s_%s%s_decim%zu.ply", folder, splat, how,
                          centers ? "" : level, options->target_vertices);
    return length < (int)sizeof text ? add_path(paths, text, error) : fail_too_long(folder, error);
}

/* Adds the paths of one mesh: the words of `output`, separated by commas, or mesh.ply in the model folder; then SuGaR's
 * name. */
static splat_status add_row(mesh_paths *paths, const splat_line *line, const splat_mesh_extract_options *options,
                            int iteration, size_t mesh, splat_error *error)
{
    char words[SPLAT_STAGE_PATH], folder[SPLAT_STAGE_PATH], level[32];
    size_t n_words = 0;
    bool is_file = line->output->path && !is_folder(line->output->path);
    default_folder(line, iteration, folder);
    int length = snprintf(words, sizeof words, is_file ? "%s" : "%s/mesh.ply", is_file ? line->output->path : folder);
    if (length >= (int)sizeof words) return fail_too_long(words, error);
    splat_number_name(level, options->levels[mesh]);
    char *rest = NULL;
    for (char *at = strtok_r(words, ",", &rest); at; at = strtok_r(NULL, ",", &rest)) {
        if (++n_words > MAX_PATHS)
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`output` takes at most %d files", MAX_PATHS);
        SPLAT_TRY(splat_mesh_check_path(at, error)); /* before the work, which takes minutes */
        SPLAT_TRY(splat_mesh_extract_count(options) > 1 ? add_with_level(paths, at, level, error)
                                                        : add_path(paths, at, error));
    }
    if (n_words == 0) return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`output` names no file");
    return add_sugar_path(paths, line, options, iteration, level, error);
}

static splat_status choose_paths(const splat_line *line, const splat_mesh_extract_options *options, int iteration,
                                 mesh_paths *paths, splat_error *error)
{
    size_t n_meshes = splat_mesh_extract_count(options);
    if (!line->output->path && !line->model->model_path)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "give the file to write with -o (such as mesh.ply; several with commas between)");
    for (size_t i = 0; i < n_meshes; i++) SPLAT_TRY(add_row(paths, line, options, iteration, i, error));
    paths->n_each = paths->n / n_meshes;
    return SPLAT_OK;
}

static double percent(uint64_t n, uint64_t all)
{
    return all ? 100 * (double)n / (double)all : 0;
}

/* Says the paths of a mesh, or of its collider. */
static void say_paths(const splat_talk *talk, const mesh_paths *paths, size_t mesh, bool are_colliders)
{
    char text[SPLAT_STAGE_PATH];
    splat_error unread;
    for (size_t i = 0; i < paths->n_each; i++) {
        const char *path = paths->path[mesh * paths->n_each + i];
        if (are_colliders && splat_mesh_collider_path(path, text, sizeof text, &unread) != SPLAT_OK) continue;
        splat_say(talk, "  %s", are_colliders ? text : path);
    }
}

static void say_mesh(const splat_talk *talk, const splat_mesh_extract_info *info, const mesh_paths *paths, size_t mesh)
{
    if (info->n_gaussians) splat_say(talk, "%zu opaque Gaussian%s", info->n_gaussians, splat_plural(info->n_gaussians));
    if (info->n_points) splat_say(talk, "%zu surface point%s", info->n_points, splat_plural(info->n_points));
    splat_say(talk, "%zu vertices and %zu faces (%zu and %zu before cleaning and simplifying)", info->n_vertices,
              info->n_faces, info->n_vertices_first, info->n_faces_first);
    if (info->n_faces_unseen)
        splat_say(talk, "%zu face%s that no training view sees went", info->n_faces_unseen,
                  splat_plural(info->n_faces_unseen));
    if (info->n_faces_free)
        splat_say(talk, "%zu face%s in free space went", info->n_faces_free,
                  splat_plural(info->n_faces_free));
    if (info->n_sky_pixels)
        splat_say(talk, "sky covered: %.2f %% of %.3g pixels",
                  100 * (double)info->n_sky_covered / (double)info->n_sky_pixels, (double)info->n_sky_pixels);
    if (info->n_covered)
        splat_say(talk, "back of the mesh: %.2f %% of its %.3g pixels", percent(info->n_back, info->n_covered),
                  (double)info->n_covered);
    if (info->n_trusted)
        splat_say(talk, "of %.3g pixels that views confirm %.2f %% have mesh before them, %.2f %% none",
                  (double)info->n_trusted, percent(info->n_violated, info->n_trusted),
                  percent(info->n_missing, info->n_trusted));
    say_paths(talk, paths, mesh, false);
    if (!info->n_collider_faces) return;
    splat_say(talk, "a collider of %zu faces", info->n_collider_faces);
    say_paths(talk, paths, mesh, true);
}

/* Twice the shares that good meshes of photos have. */
static void warn(const splat_talk *talk, const splat_mesh_extract_info *info)
{
    const struct { uint64_t n, all; double most; const char *what; } checks[] = {
        {info->n_sky_covered, info->n_sky_pixels, 2, "of the sky is covered by the mesh"},
        {info->n_back, info->n_covered, 0.6, "of the mesh's pixels show its back"},
        {info->n_violated, info->n_trusted, 1, "of the pixels that views confirm have mesh before them"},
    };
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        if (percent(checks[i].n, checks[i].all) > checks[i].most)
            splat_notice(talk, "%.2f %% %s; more than %g %% is a sign of invented surface",
                         percent(checks[i].n, checks[i].all), checks[i].what, checks[i].most);
}

splat_status splat_stage_remove_floaters(splat_session *session, const splat_line *line,
                                         const splat_mesh_extract_options *chosen, splat_error *error)
{
    splat_mesh_extract_options options = chosen ? *chosen : *line->mesh;
    splat_model_info info;
    size_t n_removed;
    splat_part_times times = splat_part_times_start(line->talk, "floaters");
    options.progress = splat_part_times_tell;
    options.progress_user = &times;
    splat_model_get_info(session->model, &info);
    SPLAT_TRY(splat_model_remove_floaters(session->scene, session->model, &options, &n_removed, error));
    splat_say(line->talk, "%zu of %zu Gaussians were floaters", n_removed, info.n_gaussians);
    return SPLAT_OK;
}

/* Removes the Gaussians with which the splat paints the sky. */
static splat_status remove_before_sky(splat_session *session, const splat_line *line, splat_error *error)
{
    splat_model_info info;
    size_t n_removed;
    splat_model_get_info(session->model, &info);
    SPLAT_TRY(splat_model_remove_before_sky(session->scene, session->model, &n_removed, error));
    if (n_removed)
        splat_say(line->talk, "%zu of %zu Gaussians stand before the sky and take no part", n_removed,
                  info.n_gaussians);
    return SPLAT_OK;
}

/* Keeps the figures of the first mesh in the model folder. */
static splat_status write_results(const splat_line *line, const splat_mesh_extract_info *info, splat_error *error)
{
    if (!line->model->model_path) return SPLAT_OK;
    return splat_mesh_extract_info_write(line->model->model_path, info, error);
}

static splat_status extract(splat_session *session, const splat_line *line, const splat_mesh_extract_options *chosen,
                            const mesh_paths *paths, splat_error *error)
{
    splat_mesh_extract_options options = *chosen;
    splat_mesh_extract_info info[SPLAT_MESH_LEVELS];
    char time_text[32], parts_text[512];
    splat_part_times times = splat_part_times_start(line->talk, "mesh");
    double begin = splat_seconds();
    options.progress = splat_part_times_tell;
    options.progress_user = &times;
    SPLAT_TRY(splat_mesh_extract(session->context, session->scene, session->model, &options,
                                 (const char *const *)paths->path, paths->n_each, info, error));
    for (size_t i = 0; i < splat_mesh_extract_count(&options); i++) say_mesh(line->talk, &info[i], paths, i);
    warn(line->talk, &info[0]);
    SPLAT_TRY(write_results(line, &info[0], error));
    splat_part_times_write(&times, parts_text, sizeof parts_text);
    splat_say(line->talk, "in %s%s", splat_duration(splat_seconds() - begin, time_text), parts_text);
    return SPLAT_OK;
}

/* From an opened session. */
static splat_status make(splat_session *session, const splat_line *line, const splat_mesh_extract_options *options,
                         splat_error *error)
{
    mesh_paths paths = {.n = 0};
    splat_status status = choose_paths(line, options, session->iteration, &paths, error);
    if (status == SPLAT_OK && line->surface->remove_floaters)
        status = splat_stage_remove_floaters(session, line, options, error);
    if (status == SPLAT_OK) status = remove_before_sky(session, line, error);
    if (status == SPLAT_OK) status = extract(session, line, options, &paths, error);
    free_paths(&paths);
    return status;
}

splat_status splat_stage_mesh(const splat_line *line, splat_error *error)
{
    splat_session session;
    splat_mesh_extract_options options;
    SPLAT_TRY(read_options(line, &options, error));
    tell_without_effect(line, &options);
    splat_status status = splat_session_open(&session, line, true, error);
    if (status == SPLAT_OK) status = make(&session, line, &options, error);
    splat_session_close(&session);
    return status;
}
