/* Opening a scene, top to bottom: read the files, probe the photos, name the views, split, load the points. */
#include "scene/dataset_open.h"

#include "scene/dataset_crops.h"
#include "scene/dataset_depth_points.h"
#include "scene/dataset_depths.h"
#include "scene/dataset_memory.h"
#include "scene/dataset_masks.h"
#include "scene/dataset_parts.h"
#include "scene/dataset_points.h"
#include "scene/dataset_size.h"
#include "scene/dataset_source.h"
#include "scene/dataset_split.h"

#include "base/file.h"
#include "base/plural.h"
#include "scene/scene_options.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static splat_status check_options(const splat_scene_options *options, const splat_dataset_log *log, splat_error *error)
{
    int r = options->resolution;
    SPLAT_TRY(splat_scene_options_check(options, error));
    if (r > 0 && r < 64 && (r & (r - 1)) != 0)
        splat_dataset_say(log, SPLAT_LOG_WARNING, "resolution %d is taken as a width of %d pixels; divisors are 1, 2, "
                          "4, 8, 16, 32 and 64", r, r);
    return SPLAT_OK;
}

/* Once: how many photos are undistorted, and from what to what. */
static void say_undistorted(const splat_dataset *dataset, const splat_dataset_log *log)
{
    const splat_dataset_view *first = NULL;
    size_t n = 0, n_rims = 0;
    bool is_one = true;
    for (size_t i = 0; i < dataset->n_views; i++) {
        const splat_dataset_view *view = &dataset->views[i];
        if (!view->is_distorted || view->n_crops) continue;
        if (splat_lens_is_pinhole(&view->lens)) { /* it is only made smaller */
            n_rims++;
            continue;
        }
        n++;
        if (!first) first = view;
        is_one &= splat_lens_equal(&view->lens, &first->lens);
    }
    if (n_rims)
        splat_dataset_say(log, SPLAT_LOG_NOTICE, "the black rim of %zu photo%s is cut off", n_rims,
                          splat_plural(n_rims));
    if (!n) return;
    splat_dataset_say(log, SPLAT_LOG_NOTICE, "undistorting %zu photo%s of %s (%s, %d x %d -> %d x %d%s)", n,
                      splat_plural(n), is_one ? "1 camera" : "several cameras",
                      splat_lens_form_get(first->lens.model)->name, first->lens.width, first->lens.height,
                      first->frame.width, first->frame.height, is_one ? "" : " the first");
}

static splat_status make_views(splat_dataset *dataset, const splat_source *source,
                               const splat_scene_options *options, const splat_dataset_log *log, splat_error *error)
{
    bool noticed = false;
    dataset->views = calloc(source->n_views + 1, sizeof *dataset->views);
    if (!dataset->views) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu views", source->n_views);
    for (size_t i = 0; i < source->n_views; i++) {
        splat_dataset_view *view = &dataset->views[dataset->n_views++];
        bool limited;
        view->path = strdup(source->views[i].path);
        if (!view->path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
        view->in_memory = source->views[i].in_memory;
        view->is_lower_scale = source->views[i].is_lower_scale;
        if (source->views[i].crop == 0) dataset->n_photos++;
        view->photo = (uint32_t)dataset->n_photos - 1;
        const splat_dataset_view *before = i > 0 ? view - 1 : NULL;
        SPLAT_TRY(splat_view_set_camera(view, &source->views[i], options, before, &limited, error));
        if (!limited || noticed) continue;
        splat_dataset_say(log, SPLAT_LOG_NOTICE, "%s wider than 1600 pixels (%s: %d) are loaded 1600 pixels wide; "
                          "`resolution 1` keeps their full size", view->n_crops ? "views" : "photos",
                          splat_basename(view->path), view->n_crops ? view->full_width : view->file_width);
        noticed = true;
    }
    say_undistorted(dataset, log);
    return SPLAT_OK;
}

static splat_status name_view(splat_dataset_view *view, const char *photo, splat_error *error)
{
    view->photo_name = strdup(photo);
    view->name = view->n_crops ? splat_format("%s#%d", photo, view->crop) : strdup(photo);
    if (view->photo_name && view->name) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a name");
}

/* A photo's name is its file name. Where two photos of one list share it (cameras in sub-folders), all of that name get
 * their path below the photos' folder, so that a name means one photo of the train, or of the test list. */
static splat_status name_views(splat_dataset *dataset, const splat_source *source, splat_error *error)
{
    for (size_t begin = 0, end; begin < dataset->n_views; begin = end) {
        const char *name = splat_basename(dataset->views[begin].path);
        size_t n_photos = 0, n_test = 0;
        for (end = begin; end < dataset->n_views; end++) { /* sorted: equal names are neighbours */
            if (strcmp(splat_basename(dataset->views[end].path), name) != 0) break;
            if (source->views[end].crop) continue;
            n_photos++;
            n_test += source->views[end].is_test;
        }
        bool is_shared = n_test > 1 || n_photos - n_test > 1;
        for (size_t i = begin; i < end; i++)
            SPLAT_TRY(name_view(&dataset->views[i], is_shared ? source->views[i].relative : name, error));
    }
    return SPLAT_OK;
}

/* Poses of UTM and the like: results are in other coordinates than the user's files. */
static void say_origin(const splat_source *source, const splat_dataset_log *log)
{
    const double *o = source->origin;
    if (o[0] == 0 && o[1] == 0 && o[2] == 0) return;
    splat_dataset_say(log, SPLAT_LOG_NOTICE, "the cameras are far from the origin of their coordinates: (%.0f, %.0f, "
                      "%.0f) is subtracted from cameras and points; add it to results to bring them back", o[0], o[1],
                      o[2]);
}

/* Reports the choice among the scene's files. */
static void say_chosen(const splat_source *source, const splat_dataset_log *log)
{
    if (source->n_models > 1)
        splat_dataset_say(log, SPLAT_LOG_NOTICE, "of %zu COLMAP models the largest is taken, %s with %zu photos",
                          source->n_models, source->model_folder, source->n_views);
    if (source->n_reconstructions > 1)
        splat_dataset_say(log, SPLAT_LOG_NOTICE, "of %zu reconstructions in %s the largest is taken, with %zu photos",
                          source->n_reconstructions, source->reconstruction, source->n_views);
    if (source->n_left_out)
        splat_dataset_say(log, SPLAT_LOG_NOTICE, "%zu camera%s without a pose, or switched off, %s left out: "
                          "%s%s", source->n_left_out, splat_plural(source->n_left_out),
                          source->n_left_out == 1 ? "is" : "are", source->left_out,
                          source->n_left_out > 5 ? ", ..." : "");
    say_origin(source, log);
}

/* Takes the source over. */
static splat_status fill(splat_dataset *dataset, splat_source *source, const splat_scene_options *options,
                         const splat_dataset_log *log, splat_error *error)
{
    dataset->format = source->format;
    dataset->composite_truncates = source->is_blender;
    dataset->white_background = options->white_background;
    splat_status status = splat_source_cut(source, options, log, error);
    if (status == SPLAT_OK) status = make_views(dataset, source, options, log, error);
    if (status == SPLAT_OK) status = name_views(dataset, source, error);
    if (status == SPLAT_OK) status = splat_dataset_find_masks(dataset, source, options, log, error);
    if (status == SPLAT_OK) status = splat_dataset_find_sky_masks(dataset, source, options, log, error);
    if (status == SPLAT_OK) status = splat_dataset_split(dataset, source, options, log, error);
    if (status == SPLAT_OK) status = splat_dataset_find_depths(dataset, source, options, log, error);
    if (status == SPLAT_OK) status = splat_dataset_load_points(dataset, source, options->seed, log, error);
    if (status == SPLAT_OK) status = splat_dataset_load_depth_points(dataset, source, options, log, error);
    splat_source_free(source);
    if (status != SPLAT_OK) splat_dataset_free(dataset);
    return status;
}

/* Photos that are not written yet would count as absent ones. */
static splat_status check_finished(const char *folder, splat_error *error)
{
    char *mark = splat_format("%s/" SPLAT_UNFINISHED_SAMPLE, folder);
    if (!mark) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    const bool is_unfinished = splat_path_exists(mark);
    free(mark);
    if (!is_unfinished) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, folder, SPLAT_NO_OFFSET,
                         "the sample is not finished: wait for its end, or write it again if that was stopped");
}

splat_status splat_dataset_open(const splat_scene_options *options, splat_log_function log_function, void *log_user,
                                splat_dataset *dataset, splat_error *error)
{
    splat_dataset_log log = {log_function, log_user};
    splat_source source;
    *dataset = (splat_dataset){0};
    if (!options->source_path || !*options->source_path)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "no scene folder was named");
    SPLAT_TRY(check_options(options, &log, error));
    SPLAT_TRY(check_finished(options->source_path, error));
    SPLAT_TRY(splat_source_read(options, &log, &source, error));
    say_chosen(&source, &log);
    return fill(dataset, &source, options, &log, error);
}

splat_status splat_dataset_create(const splat_scene_arrays *arrays, const splat_scene_options *options,
                                  splat_log_function log_function, void *log_user, splat_dataset *dataset,
                                  splat_error *error)
{
    splat_dataset_log log = {log_function, log_user};
    splat_source source;
    *dataset = (splat_dataset){0};
    SPLAT_TRY(check_options(options, &log, error));
    splat_status status = splat_source_from_memory(arrays, options, &dataset->in_memory, &source, error);
    if (status == SPLAT_OK) return fill(dataset, &source, options, &log, error);
    splat_dataset_free(dataset);
    return status;
}

void splat_dataset_free(splat_dataset *dataset)
{
    for (size_t i = 0; i < dataset->n_views; i++) {
        free(dataset->views[i].path);
        free(dataset->views[i].photo_name);
        free(dataset->views[i].name);
        free(dataset->views[i].mask_path);
        free(dataset->views[i].sky_path);
        free(dataset->views[i].depth_path);
    }
    free(dataset->views);
    free(dataset->in_memory);
    free(dataset->train);
    free(dataset->test);
    free(dataset->points);
    free(dataset->point_photos);
    free(dataset->depth_points);
    *dataset = (splat_dataset){0};
}
