/* Reads the files of a scene: COLMAP models, JSON scenes and other programs' poses become one list of photos with
 * cameras. */
#include "scene/dataset_source.h"

#include "io/colmap/colmap_parse.h"
#include "io/colmap/colmap_read.h"
#include "scene/dataset_lost.h"
#include "scene/dataset_parts.h"
#include "scene/scene_options.h"

#include "base/file.h"
#include "io/metashape/metashape.h"
#include "io/opensfm/opensfm.h"
#include "io/polycam/polycam.h"
#include "io/realitycapture/realitycapture.h"
#include "io/transforms.h"
#include "math/camera.h"

#include <stdlib.h>
#include <string.h>

static splat_status fail_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a scene");
}

static splat_status allocate_views(splat_source *source, size_t n, splat_error *error)
{
    source->views = calloc(n ? n : 1, sizeof *source->views);
    if (!source->views) return fail_memory(error);
    source->n_views = n;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- COLMAP */

static bool has_cameras(const char *folder)
{
    bool found = false;
    for (int i = 0; i < 2 && !found; i++) {
        char *path = splat_format("%s/cameras.%s", folder, i == 0 ? "bin" : "txt");
        found = path && splat_path_exists(path);
        free(path);
    }
    return found;
}

/* The model of sparse/ that has the most photos, the first by name of equal ones: COLMAP's mapper numbers what it could
 * not join, and sparse/0 need not be the largest. *folder: malloc'd; NULL: there is none. */
static splat_status find_largest_model(splat_source *source, char **folder, splat_error *error)
{
    char *sparse = splat_format("%s/sparse", source->scene_folder), **names = NULL;
    size_t n = 0;
    uint64_t most = 0;
    *folder = NULL;
    if (!sparse) return fail_memory(error);
    splat_status status = splat_folder_list(sparse, &names, &n, error);
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) {
        char *path = splat_format("%s/%s", sparse, names[i]);
        if (!path) {
            status = fail_memory(error);
        } else if (has_cameras(path)) {
            uint64_t n_images = 0;
            if (source->n_models++ == 1) most = splat_colmap_count_images(*folder); /* a lone one is not counted */
            if (*folder) n_images = splat_colmap_count_images(path);
            if (!*folder || n_images > most) {
                free(*folder);
                *folder = path;
                most = n_images;
                continue;
            }
        }
        free(path);
    }
    splat_names_free(names, n);
    free(sparse);
    return status;
}

/* The largest of sparse/0, sparse/1, ..., where COLMAP's mapper writes models, or sparse itself, where
 * image_undistorter writes its one. */
static splat_status find_model_folder(splat_source *source, splat_error *error)
{
    SPLAT_TRY(find_largest_model(source, &source->model_folder, error));
    if (source->model_folder) return SPLAT_OK;
    source->model_folder = splat_format("%s/sparse", source->scene_folder);
    if (!source->model_folder) return fail_memory(error);
    if (has_cameras(source->model_folder)) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, source->scene_folder, SPLAT_NO_OFFSET,
                         "the folder sparse/ holds no COLMAP model: there is no cameras.bin or cameras.txt in sparse/0 "
                         "or sparse; find the cameras of the photos with \"splatsmith cameras PHOTOS -o SCENE\"");
}

static bool is_file(const char *path)
{
    return path && splat_path_exists(path) && !splat_path_is_folder(path);
}

/* The photo under the name COLMAP has, with its sub-folders if they exist, else its file name alone (3DGS looks
 * for that only). malloc'd; NULL when memory is exhausted. */
static char *photo_path(const char *folder, const char *name)
{
    char *path = splat_format("%s/%s", folder, name);
    if (!path || is_file(path)) return path;
    char *flat = splat_format("%s/%s", folder, splat_basename(name));
    if (flat && !is_file(flat)) {
        free(flat);
        return path;
    }
    free(path);
    return flat;
}

/* A file of that name but for its ending, such as .JPG or .png for .jpg: the usual reason why photos are not found.
 * malloc'd; NULL: none. */
static char *other_ending(const char *folder, const char *name)
{
    char **names, *found = NULL;
    size_t n;
    const char *base = splat_basename(name), *dot = strrchr(base, '.');
    size_t stem = dot ? (size_t)(dot - base) : strlen(base);
    if (splat_folder_list(folder, &names, &n, NULL) != SPLAT_OK) return NULL;
    for (size_t i = 0; i < n && !found; i++)
        if (strncmp(names[i], base, stem) == 0 && names[i][stem] == '.' && !strchr(names[i] + stem + 1, '.'))
            found = strdup(names[i]);
    splat_names_free(names, n);
    return found;
}

/* Notes why the first absent photo is absent. */
static splat_status note_absent(const char *folder, const splat_colmap_model *model, size_t first,
                                const splat_source *source, splat_error *error)
{
    const char *model_folder = source->model_folder;
    splat_error *reason = source->views[first].absent = malloc(sizeof *reason);
    if (!reason) return fail_memory(error);
    const char *name = model->images[first].name;
    char *other = other_ending(folder, name), *path = photo_path(folder, name);
    if (path && splat_path_is_folder(path))
        splat_fail_at(reason, SPLAT_ERROR_IO, path, SPLAT_NO_OFFSET,
                      "this is a folder, and the COLMAP model names it as a photo; put the photo there or name the "
                      "right folder with `images`");
    else if (other)
        splat_fail_at(reason, SPLAT_ERROR_IO, model_folder, SPLAT_NO_OFFSET,
                      "the model's photo \"%.200s\" is not in the folder %.400s, but \"%.200s\" is; give the photos "
                      "the names that they had for COLMAP", name, folder, other);
    else
        splat_fail_at(reason, SPLAT_ERROR_IO, model_folder, SPLAT_NO_OFFSET,
                      "the model's photo \"%.200s\" is not in the folder %.400s; put it there or name the right folder "
                      "with `images`", name, folder);
    free(other);
    free(path);
    return SPLAT_OK;
}

static void set_colmap_view(const splat_colmap_model *model, const splat_colmap_image *image, splat_source_view *view)
{
    const splat_colmap_camera *camera = splat_colmap_find_camera(model, image->camera_id); /* read has checked it */
    splat_quaternion_to_rotation(image->rotation, view->rotation);
    memcpy(view->translation, image->translation, sizeof view->translation);
    view->image_id = image->id;
    view->fx = camera->fx;
    view->fy = camera->fy;
    view->cx = camera->cx;
    view->cy = camera->cy;
    view->model = (splat_lens_model)camera->model_id;
    memcpy(view->coefficients, camera->coefficients, sizeof view->coefficients);
    view->width = (int)camera->width;
    view->height = (int)camera->height;
}

static splat_status read_colmap(const char *images, splat_source *source, splat_error *error)
{
    splat_colmap_model model = {0};
    bool is_noted = false;
    char *folder = images[0] == '/' ? strdup(images) : splat_format("%s/%s", source->scene_folder, images);
    if (!folder) return fail_memory(error);
    source->format = "colmap";
    splat_status status = find_model_folder(source, error);
    if (status == SPLAT_OK && !splat_path_is_folder(folder))
        status = splat_fail_at(error, SPLAT_ERROR_IO, folder, SPLAT_NO_OFFSET,
                               "the folder of the photos does not exist; name another with `images`");
    if (status == SPLAT_OK) status = splat_colmap_read(source->model_folder, &model, error);
    if (status == SPLAT_OK) status = allocate_views(source, model.n_images, error);
    for (size_t i = 0; status == SPLAT_OK && i < model.n_images; i++) {
        set_colmap_view(&model, &model.images[i], &source->views[i]);
        source->views[i].path = photo_path(folder, model.images[i].name);
        if (!source->views[i].path)
            status = fail_memory(error);
        else
            source->views[i].relative = source->views[i].path + strlen(folder) + 1;
        if (status != SPLAT_OK || is_noted || is_file(source->views[i].path)) continue;
        status = note_absent(folder, &model, i, source, error);
        is_noted = true;
    }
    splat_colmap_free(&model);
    source->photo_folder = folder;
    if (status != SPLAT_OK) return status;
    /* A point cloud next to the model has priority: the published trainers wrote it, or the user edited it. Splatsmith
     * writes none here: reading points3D.bin is quick, and scenes may be read-only. */
    source->point_cloud = splat_format("%s/points3D.ply", source->model_folder);
    if (!source->point_cloud) return fail_memory(error);
    if (!is_file(source->point_cloud)) {
        free(source->point_cloud);
        source->point_cloud = NULL;
    }
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- JSON, other programs' poses */

/* The path of a photo below the absolute folder of the photos. */
static const char *below(const char *images, const char *path)
{
    size_t length = strlen(images);
    if (strncmp(path, images, length) != 0) return splat_basename(path);
    return path + length + strspn(path + length, "/");
}

static splat_status set_frame_view(const char *images, const splat_source *source, splat_transforms_frame *frame,
                                   splat_source_view *view, splat_error *error)
{
    view->absent = frame->absent;
    frame->absent = NULL;
    bool is_absolute = frame->path[0] == '/';
    view->path = is_absolute ? strdup(frame->path) : splat_format("%s/%s", source->scene_folder, frame->path);
    view->mask = frame->mask ? splat_format("%s/%s", source->scene_folder, frame->mask) : NULL;
    if (!view->path || (frame->mask && !view->mask)) return fail_memory(error);
    view->relative = is_absolute ? below(images, view->path) : view->path + strlen(source->scene_folder) + 1;
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++) view->rotation[3 * r + c] = frame->world_to_camera[4 * r + c];
        view->translation[r] = frame->world_to_camera[4 * r + 3];
    }
    view->fx = frame->fx;
    view->fy = frame->fy;
    view->cx = frame->cx;
    view->cy = frame->cy;
    view->fov_x = frame->fov_x;
    view->fov_y = frame->fov_y;
    view->model = frame->model;
    memcpy(view->coefficients, frame->coefficients, sizeof view->coefficients);
    view->width = frame->width;
    view->height = frame->height;
    view->rim = frame->rim;
    view->is_test = frame->is_test;
    view->is_lower_scale = frame->is_lower_scale;
    return SPLAT_OK;
}

/* The first kind that is found, in the order of docs/files.md. */
static splat_status read_found(const char *images, splat_source *source, splat_transforms *transforms,
                               splat_error *error)
{
    const char *scene = source->scene_folder;
    if (splat_transforms_found(scene)) return splat_transforms_read(scene, transforms, error);
    char *csv = splat_realitycapture_find(scene);
    if (csv) {
        splat_status status = splat_realitycapture_read(scene, images, csv, transforms, error);
        free(csv);
        return status;
    }
    source->reconstruction = splat_opensfm_find(scene);
    if (source->reconstruction)
        return splat_opensfm_read(scene, images, source->reconstruction, transforms, error);
    char *xml = splat_metashape_find(scene);
    if (xml) {
        splat_status status = splat_metashape_read(scene, images, xml, transforms, error);
        free(xml);
        return status;
    }
    if (splat_polycam_found(scene, images)) return splat_polycam_read(scene, images, transforms, error);
    return splat_transforms_read(scene, transforms, error); /* says what was looked for */
}

static splat_status read_frames(const char *images, splat_source *source, splat_error *error)
{
    splat_transforms transforms;
    source->photo_folder = strdup(source->scene_folder);
    if (!source->photo_folder) return fail_memory(error);
    SPLAT_TRY(read_found(images, source, &transforms, error));
    source->format = transforms.format;
    source->has_split = transforms.has_split;
    source->is_blender = strcmp(transforms.format, "nerf-synthetic") == 0 ||
                         strcmp(transforms.format, "multiscale-blender") == 0;
    source->n_reconstructions = transforms.n_parts;
    source->n_left_out = transforms.n_left_out;
    source->left_out = transforms.left_out;
    transforms.left_out = NULL;
    memcpy(source->origin, transforms.origin, sizeof source->origin);
    splat_status status = allocate_views(source, transforms.n_frames, error);
    for (size_t i = 0; status == SPLAT_OK && i < transforms.n_frames; i++)
        status = set_frame_view(images, source, &transforms.frames[i], &source->views[i], error);
    if (status == SPLAT_OK && transforms.point_cloud) {
        source->point_cloud = splat_format("%s/%s", source->scene_folder, transforms.point_cloud);
        if (!source->point_cloud) status = fail_memory(error);
    }
    splat_transforms_free(&transforms);
    return status;
}

/* ---------------------------------------------------------------- both */

/* By image name, which is the file name up to its first dot (what 3DGS sorts by), then file name, then path. */
static int compare_views(const void *a, const void *b)
{
    const splat_source_view *first = a, *second = b;
    const char *first_name = splat_basename(first->path), *second_name = splat_basename(second->path);
    size_t first_length = strcspn(first_name, "."), second_length = strcspn(second_name, ".");
    int order = memcmp(first_name, second_name, first_length < second_length ? first_length : second_length);
    if (order == 0) order = (first_length > second_length) - (first_length < second_length);
    if (order == 0) order = strcmp(first_name, second_name);
    return order ? order : strcmp(first->path, second->path);
}

splat_status splat_source_sort(splat_source *source, splat_error *error)
{
    qsort(source->views, source->n_views, sizeof *source->views, compare_views);
    for (size_t i = 1; i < source->n_views; i++)
        if (strcmp(source->views[i].path, source->views[i - 1].path) == 0)
            return splat_fail_at(error, SPLAT_ERROR_FORMAT, source->views[i].path, SPLAT_NO_OFFSET,
                                 "two cameras of the scene use this photo; keep photos of the same name in sub-folders "
                                 "of the photos' folder");
    return SPLAT_OK;
}

splat_status splat_source_read(const splat_scene_options *options, const splat_dataset_log *log, splat_source *source,
                               splat_error *error)
{
    const char *images = splat_scene_options_images(options);
    *source = (splat_source){0};
    if (!splat_path_exists(options->source_path))
        return splat_fail_at(error, SPLAT_ERROR_IO, options->source_path, SPLAT_NO_OFFSET,
                             "there is no such file or folder: name the folder of a scene");
    if (!splat_path_is_folder(options->source_path))
        return splat_fail_at(error, SPLAT_ERROR_IO, options->source_path, SPLAT_NO_OFFSET,
                             "the scene is not a folder that can be opened");
    source->scene_folder = strdup(options->source_path);
    char *sparse = splat_format("%s/sparse", options->source_path);
    splat_status status = source->scene_folder && sparse ? SPLAT_OK : fail_memory(error);
    if (status == SPLAT_OK)
        status = splat_path_is_folder(sparse) ? read_colmap(images, source, error) : read_frames(images, source, error);
    if (status == SPLAT_OK) status = splat_source_leave_out_lost(source, options, log, error);
    if (status == SPLAT_OK) status = splat_source_sort(source, error);
    free(sparse);
    if (status != SPLAT_OK) splat_source_free(source);
    return status;
}

void splat_source_free(splat_source *source)
{
    for (size_t i = 0; i < source->n_views; i++) {
        free(source->views[i].path);
        free(source->views[i].mask);
        free(source->views[i].absent);
    }
    splat_names_free(source->lost, source->n_lost);
    free(source->views);
    free(source->scene_folder);
    free(source->photo_folder);
    free(source->model_folder);
    free(source->point_cloud);
    free(source->reconstruction);
    free(source->left_out);
    *source = (splat_source){0};
}
