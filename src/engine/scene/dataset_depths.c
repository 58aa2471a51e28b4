/* Maps of inverse depth in the layout of 3DGS: DEPTHS/NAME.png of each photo, and depth_params.json next to the
 * model. */
#include "scene/dataset_depths.h"
#include "scene/dataset_parts.h"
#include "scene/dataset_size.h"

#include "base/file.h"
#include "io/depth_params.h"
#include "io/picture/gray16.h"

#include <stdlib.h>
#include <string.h>

#define PARAMS_FILE "depth_params.json"

static splat_status fail_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a list of depth maps");
}

/* Counts of photos without a map or without parameters; the first of each is named. */
typedef struct lacking {
    size_t no_map, no_param, unreliable, cut, n;
    const char *first_map, *first_param, *first_unreliable, *first_cut;
} lacking;

/* Finds the file of the maps' parameters: next to COLMAP's model, or in the folder of another scene, or next to the
 * maps. malloc'd. */
static splat_status find_params(const splat_source *source, const char *folder, char **path, splat_error *error)
{
    const char *places[2] = {source->model_folder ? source->model_folder : source->scene_folder, folder};
    *path = NULL;
    for (int i = 0; i < 2; i++) {
        free(*path);
        *path = splat_format("%s/" PARAMS_FILE, places[i]);
        if (!*path) return fail_memory(error);
        if (splat_path_exists(*path)) return SPLAT_OK;
    }
    free(*path);
    *path = NULL;
    return splat_fail_at(error, SPLAT_ERROR_IO, places[0], SPLAT_NO_OFFSET,
                         "the depth maps need " PARAMS_FILE " here: it says how their values become inverse depths of "
                         "this scene; 3DGS's utils/make_depth_scale.py writes it");
}

static size_t stem_of(const char *name)
{
    const char *base = splat_basename(name), *dot = strrchr(base, '.');
    return dot && dot > base ? (size_t)(dot - name) : strlen(name);
}

/* The numbers of a photo, under its path below the photos' folder; where the scene is not COLMAP's (exact) also without
 * the first folder, as such scenes have `images/` in it, or under its file name alone. */
static const splat_depth_param *param_of(const splat_depth_params *params, const char *relative, bool exact)
{
    const char *slash = strchr(relative, '/'), *names[3] = {relative, slash ? slash + 1 : NULL,
                                                            splat_basename(relative)};
    const splat_depth_param *param = NULL;
    for (int i = 0; i < (exact ? 1 : 3) && !param; i++)
        if (names[i]) param = splat_depth_params_find(params, names[i], stem_of(names[i]));
    return param;
}

/* *path: malloc'd; NULL: there is no such file. */
static splat_status map_of(const char *folder, const char *relative, bool exact, char **path, splat_error *error)
{
    const char *slash = strchr(relative, '/'), *names[2] = {relative, slash ? slash + 1 : NULL};
    *path = NULL;
    for (int i = 0; i < (exact ? 1 : 2) && !*path; i++) {
        if (!names[i]) continue;
        *path = splat_format("%s/%.*s.png", folder, (int)stem_of(names[i]), names[i]);
        if (!*path) return fail_memory(error);
        if (splat_path_exists(*path)) return SPLAT_OK;
        free(*path);
        *path = NULL;
    }
    return SPLAT_OK;
}

static void lacks(const splat_dataset_view *view, size_t *count, const char **first)
{
    if (++*count == 1) *first = view->photo_name;
}

/* The map and numbers of a training view. */
static splat_status set_map(splat_dataset_view *view, const char *relative, bool exact, const char *folder,
                            const splat_depth_params *params, lacking *l, splat_error *error)
{
    char *path;
    const splat_depth_param *param = param_of(params, relative, exact);
    l->n++;
    if (view->n_crops) {
        lacks(view, &l->cut, &l->first_cut);
        return SPLAT_OK;
    }
    SPLAT_TRY(map_of(folder, relative, exact, &path, error));
    if (!path) {
        lacks(view, &l->no_map, &l->first_map);
    } else if (!param) {
        lacks(view, &l->no_param, &l->first_param);
    } else if (!splat_depth_param_is_reliable(params, param)) {
        lacks(view, &l->unreliable, &l->first_unreliable);
    } else {
        view->depth_path = path;
        view->depth_scale = (float)param->scale;
        view->depth_offset = (float)param->offset;
        SPLAT_TRY(splat_gray16_probe(path, &view->depth_width, &view->depth_height, error));
        if (splat_same_view(view->depth_width, view->depth_height, view->file_width, view->file_height))
            return SPLAT_OK;
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "the depth map has %d x %d pixels, and its photo %d x %d, which is another shape; make "
                             "the map of this photo", view->depth_width, view->depth_height, view->file_width,
                             view->file_height);
    }
    free(path);
    return SPLAT_OK;
}

static void say_lacking(const lacking *l, const char *folder, const splat_dataset_log *log)
{
    if (l->cut)
        splat_dataset_say(log, SPLAT_LOG_WARNING, "%zu of %zu training photos are cut into several views (the first is "
                          "%s) and trained on without depth: theirs is not along the axis of the views", l->cut, l->n,
                          l->first_cut);
    if (l->no_map)
        splat_dataset_say(log, SPLAT_LOG_WARNING, "%zu of %zu training photos have no depth map in %s (the first is "
                          "%s, whose map would be its name with .png): they are trained on without", l->no_map, l->n,
                          folder, l->first_map);
    if (l->no_param)
        splat_dataset_say(log, SPLAT_LOG_WARNING, "%zu of %zu training photos are not in " PARAMS_FILE " (the first is "
                          "%s): they are trained on without depth", l->no_param, l->n, l->first_param);
    if (l->unreliable)
        splat_dataset_say(log, SPLAT_LOG_NOTICE, "%zu of %zu depth maps are left out (the first is that of %s): their "
                          "scale is not near that of the others, so they do not fit the points", l->unreliable, l->n,
                          l->first_unreliable);
}

static splat_status set_maps(splat_dataset *dataset, const splat_source *source, const char *folder,
                             const splat_depth_params *params, const splat_dataset_log *log, splat_error *error)
{
    lacking l = {0};
    for (size_t i = 0; i < dataset->n_views; i++)
        if (!dataset->views[i].is_test && !dataset->views[i].crop)
            SPLAT_TRY(set_map(&dataset->views[i], source->views[i].relative, source->model_folder != NULL, folder,
                              params, &l, error));
    say_lacking(&l, folder, log);
    dataset->n_depths = l.n - l.no_map - l.no_param - l.unreliable - l.cut;
    if (l.n == 0 || dataset->n_depths > 0) {
        splat_dataset_say(log, SPLAT_LOG_NOTICE, "depth maps: %zu of %zu training photos", dataset->n_depths, l.n);
        return SPLAT_OK;
    }
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, folder, SPLAT_NO_OFFSET,
                         "no training photo has a depth map that can be used (%zu have no file, as %.200s; %zu are not "
                         "in " PARAMS_FILE ", %zu have no scale that fits)", l.no_map,
                         l.first_map ? l.first_map : "none", l.no_param, l.unreliable);
}

splat_status splat_dataset_find_depths(splat_dataset *dataset, const splat_source *source,
                                       const splat_scene_options *options, const splat_dataset_log *log,
                                       splat_error *error)
{
    splat_depth_params params;
    const char *wanted = options->depths;
    char *path = NULL;
    if (!wanted || !*wanted) return SPLAT_OK;
    char *folder = wanted[0] == '/' ? strdup(wanted) : splat_format("%s/%s", source->scene_folder, wanted);
    if (!folder) return fail_memory(error);
    splat_status status = SPLAT_OK;
    if (!splat_path_is_folder(folder))
        status = splat_fail_at(error, SPLAT_ERROR_IO, folder, SPLAT_NO_OFFSET,
                               "the folder of the depth maps does not exist; name another with `depths`");
    if (status == SPLAT_OK) status = find_params(source, folder, &path, error);
    if (status == SPLAT_OK) status = splat_depth_params_read(path, &params, error);
    if (status == SPLAT_OK) {
        status = set_maps(dataset, source, folder, &params, log, error);
        splat_depth_params_free(&params);
    }
    free(path);
    free(folder);
    return status;
}
