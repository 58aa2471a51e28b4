/* Which mask belongs to which photo. Programs name masks in several ways; all of these are tried for each photo. */
#include "scene/dataset_masks.h"

#include "io/picture/image_read.h"
#include "scene/dataset_parts.h"
#include "scene/dataset_size.h"

#include "base/array.h"
#include "base/compare.h"
#include "base/file.h"
#include "io/picture/image.h"
#include "scene/mask.h"
#include "scene/photo.h"
#include "scene/sky_masks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 8            /* of folders below that of the masks */
#define N_TRIED 9              /* masks that are read to see whether they are plausible */
#define LEAST_MEDIAN_SHARE 0.02

static splat_status fail_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a list of masks");
}

/* ---------------------------------------------------------------- the files of a folder */

typedef struct mask_file {
    char *name;    /* below the folder */
    char *lowered; /* in small letters */
} mask_file;

typedef struct mask_files {
    char *folder;
    mask_file *entries; /* sorted by name */
    size_t n, capacity;
} mask_files;

static void files_free(mask_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        free(files->entries[i].name);
        free(files->entries[i].lowered);
    }
    free(files->entries);
    free(files->folder);
    *files = (mask_files){0};
}

static void lower(char *text)
{
    for (; *text; text++) *text = (char)tolower((unsigned char)*text);
}

/* Takes the name over. */
static splat_status add_file(mask_files *files, char *name, splat_error *error)
{
    mask_file *grown = splat_array_grow(files->entries, &files->capacity, files->n, sizeof *grown);
    if (grown) files->entries = grown;
    char *lowered = grown ? strdup(name) : NULL;
    if (!lowered) {
        free(name);
        return fail_memory(error);
    }
    lower(lowered);
    files->entries[files->n++] = (mask_file){name, lowered};
    return SPLAT_OK;
}

/* Files below folder/below; below is "" or ends with a slash. */
static splat_status list_below(mask_files *files, const char *below, int depth, splat_error *error)
{
    char *folder = splat_format("%s/%s", files->folder, below), **names = NULL;
    size_t n = 0;
    if (!folder) return fail_memory(error);
    splat_status status = splat_folder_list(folder, &names, &n, error);
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) {
        char *path = splat_format("%s%s", folder, names[i]), *name = splat_format("%s%s", below, names[i]);
        if (!path || !name) {
            status = fail_memory(error);
            free(name);
        } else if (!splat_path_is_folder(path)) {
            status = add_file(files, name, error);
        } else {
            char *deeper = splat_format("%s/", name);
            if (!deeper) status = fail_memory(error);
            if (deeper && depth < MAX_DEPTH) status = list_below(files, deeper, depth + 1, error);
            free(deeper);
            free(name);
        }
        free(path);
    }
    splat_names_free(names, n);
    free(folder);
    return status;
}

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const mask_file *)a)->name, ((const mask_file *)b)->name);
}

/* The file of that name, in its case of letters or in any. */
static const char *find_file(const mask_files *files, char *name, bool any_case)
{
    if (!any_case) {
        const mask_file requested = {name, NULL};
        const mask_file *found = files->n
                                     ? bsearch(&requested, files->entries, files->n, sizeof requested, compare_files)
                                     : NULL;
        return found ? found->name : NULL;
    }
    lower(name);
    for (size_t i = 0; i < files->n; i++)
        if (strcmp(files->entries[i].lowered, name) == 0) return files->entries[i].name;
    return NULL;
}

/* ---------------------------------------------------------------- names */

/* Endings of mask names after the photo's name or its stem: COLMAP's, plain, RealityScan's, and Metashape's. */
static const struct custom { bool keeps_ending; const char *suffix; } customs[] = {
    {true, ""}, {false, ""}, {true, ".mask"}, {false, ".mask"}, {false, "_mask"}};
static const char *const endings[] = {".png", ".jpg", ".jpeg"};

/* The path of the mask of a photo whose name below the folder of masks would be `relative`; malloc'd, NULL: none. A
 * file that is the photo itself does not count. */
static splat_status find_by_name(const mask_files *files, const char *relative, bool any_case, const char *photo,
                                 char **path, splat_error *error)
{
    const char *base = splat_basename(relative), *dot = strrchr(base, '.');
    int stem = (int)(dot && dot > base ? dot - relative : (ptrdiff_t)strlen(relative));
    *path = NULL;
    for (size_t e = 0; e < sizeof endings / sizeof *endings && !*path; e++)
        for (size_t c = 0; c < sizeof customs / sizeof *customs && !*path; c++) {
            int length = customs[c].keeps_ending ? (int)strlen(relative) : stem;
            char *name = splat_format("%.*s%s%s", length, relative, customs[c].suffix, endings[e]);
            if (!name) return fail_memory(error);
            const char *found = find_file(files, name, any_case);
            free(name);
            if (!found) continue;
            *path = splat_format("%s/%s", files->folder, found);
            if (!*path) return fail_memory(error);
            if (strcmp(*path, photo) != 0) continue;
            free(*path);
            *path = NULL;
        }
    return SPLAT_OK;
}

/* A JSON scene names photos below the scene's folder, and masks may lie below theirs with or without the name of the
 * folder of the photos. */
static splat_status find_mask(const mask_files *files, const char *relative, bool is_json, const char *photo,
                              char **path, splat_error *error)
{
    const char *slash = is_json ? strchr(relative, '/') : NULL;
    const char *names[2] = {relative, slash ? slash + 1 : NULL};
    for (int k = 0; k < 4 && !*path; k++)
        if (names[k % 2]) SPLAT_TRY(find_by_name(files, names[k % 2], k >= 2, photo, path, error));
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- folders */

/* masks or mask in the folder that holds `photos`, malloc'd; NULL: neither. */
static splat_status find_beside(const char *photos, char **folder, splat_error *error)
{
    static const char *const defaults[] = {"masks", "mask"};
    size_t length = strlen(photos);
    while (length > 1 && photos[length - 1] == '/') length--;
    while (length > 1 && photos[length - 1] != '/') length--;
    *folder = NULL;
    for (int i = 0; i < 2 && !*folder; i++) {
        char *path = splat_format("%.*s%s", (int)length, photos, defaults[i]);
        if (!path) return fail_memory(error);
        if (splat_path_is_folder(path))
            *folder = path;
        else
            free(path);
    }
    return SPLAT_OK;
}

/* *folder: malloc'd; NULL: there is none, and none was asked for. */
static splat_status find_folder(const splat_source *source, const char *requested, const char *option, char **folder,
                                splat_error *error)
{
    if (requested) {
        *folder = requested[0] == '/' ? strdup(requested) : splat_format("%s/%s", source->scene_folder, requested);
        if (!*folder) return fail_memory(error);
        if (splat_path_is_folder(*folder)) return SPLAT_OK;
        return splat_fail_at(error, SPLAT_ERROR_IO, *folder, SPLAT_NO_OFFSET,
                             "the folder of the masks does not exist; name another with `%s`", option);
    }
    char *photos = strcmp(source->format, "colmap") == 0 ? strdup(source->photo_folder)
                                                        : splat_format("%s/images", source->scene_folder);
    if (!photos) return fail_memory(error);
    splat_status status = find_beside(photos, folder, error);
    char *resolved = status == SPLAT_OK && !*folder ? realpath(photos, NULL) : NULL; /* images may be a link */
    if (resolved) status = find_beside(resolved, folder, error);
    free(resolved);
    free(photos);
    return status;
}

static splat_status fail_no_fit(const mask_files *files, const char *photo, const char *option, splat_error *error)
{
    if (files->n == 0)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, files->folder, SPLAT_NO_OFFSET,
                             "the folder of the masks is empty; put masks there or say `%s none`", option);
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, files->folder, SPLAT_NO_OFFSET,
                         "no name in this folder of masks fits a photo: the first photo is \"%.200s\", whose mask "
                         "would be \"%.200s.png\", and the first file is \"%.200s\"; rename the masks or say "
                         "`%s none`",
                         photo, photo, files->entries[0].name, option);
}

/* The member of a view that takes the path of its mask. */
typedef char **(*path_of_view)(splat_dataset_view *view);

static char **mask_path(splat_dataset_view *view)
{
    return &view->mask_path;
}

static char **sky_path(splat_dataset_view *view)
{
    return &view->sky_path;
}

/* The masks of option `option` in the folder `requested`; NULL: where masks usually are. */
static splat_status find_in_folder(splat_dataset *dataset, const splat_source *source, const char *requested,
                                   const char *option, path_of_view path_of, splat_error *error)
{
    mask_files files = {0};
    size_t n_found = 0;
    bool is_json = strcmp(source->format, "colmap") != 0;
    splat_status status = find_folder(source, requested, option, &files.folder, error);
    if (status == SPLAT_OK && files.folder) status = list_below(&files, "", 0, error);
    if (status == SPLAT_OK && files.n) qsort(files.entries, files.n, sizeof *files.entries, compare_files);
    for (size_t i = 0; i < dataset->n_views && status == SPLAT_OK && files.folder; i++) {
        splat_dataset_view *view = &dataset->views[i];
        char **path = path_of(view);
        if (!*path) status = find_mask(&files, source->views[i].relative, is_json, view->path, path, error);
        n_found += *path != NULL;
    }
    if (status == SPLAT_OK && files.folder && n_found == 0)
        status = fail_no_fit(&files, splat_basename(source->views[0].path), option, error);
    files_free(&files);
    return status;
}

/* ---------------------------------------------------------------- checks */

static splat_status check_mask(const splat_dataset_view *view, const char *path, splat_error *error)
{
    int width, height, channels;
    if (!splat_path_exists(path))
        return splat_fail_at(error, SPLAT_ERROR_IO, path, SPLAT_NO_OFFSET,
                             "the mask that transforms.json names does not exist; put it there or take mask_path out");
    SPLAT_TRY(splat_image_probe(path, &width, &height, &channels, error));
    if (splat_same_view(width, height, view->file_width, view->file_height)) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                         "the mask has %d x %d pixels, and its photo %d x %d, which is another shape; make the mask of "
                         "this photo", width, height, view->file_width, view->file_height);
}

/* Reads some of the masks: that white keeps is not everybody's custom. */
static splat_status check_plausible(const splat_dataset *dataset, size_t n_files, const splat_dataset_log *log,
                                    splat_error *error)
{
    float shares[N_TRIED];
    size_t n = 0, seen = 0, step = n_files / N_TRIED + 1;
    for (size_t i = 0; i < dataset->n_views && n < N_TRIED; i++) {
        const splat_dataset_view *view = &dataset->views[i];
        splat_image mask;
        if (!splat_view_has_own_mask(view) || view->crop || seen++ % step) continue;
        SPLAT_TRY(splat_photo_read_mask(dataset, view, NULL, &mask, error));
        shares[n++] = (float)splat_mask_share(mask.pixels, (size_t)mask.width * (size_t)mask.height);
        splat_image_free(&mask);
    }
    qsort(shares, n, sizeof *shares, splat_compare_floats);
    if (n && (double)shares[n / 2] < LEAST_MEDIAN_SHARE)
        splat_dataset_say(log, SPLAT_LOG_WARNING, "the masks keep %.1f %% of their photos (median); white keeps: if "
                          "black shall, say `invert_masks`", 100 * (double)shares[n / 2]);
    return SPLAT_OK;
}

static void say_found(const splat_dataset *dataset, size_t n_files, size_t n_alpha, const splat_dataset_log *log)
{
    static const char *const modes[] = {"their black pixels are not trained on",
                                        "nothing shall be where they are black",
                                        "they are the opacity of the picture"};
    const char *what = modes[dataset->mask_mode];
    if (n_files)
        splat_dataset_say(log, SPLAT_LOG_NOTICE, "masks: %zu of %zu photos; %s", n_files, dataset->n_photos, what);
    if (n_alpha)
        splat_dataset_say(log, SPLAT_LOG_NOTICE, "masks: the alpha of %zu of %zu photos; %s", n_alpha,
                          dataset->n_photos, what);
}

splat_status splat_dataset_find_masks(splat_dataset *dataset, const splat_source *source,
                                      const splat_scene_options *options, const splat_dataset_log *log,
                                      splat_error *error)
{
    bool is_off = options->masks && strcmp(options->masks, "none") == 0;
    size_t n_files = 0, n_alpha = 0;
    dataset->mask_mode = options->mask_mode;
    dataset->invert_masks = options->invert_masks;
    for (size_t i = 0; i < dataset->n_views && !is_off; i++) {
        const splat_scene_photo *in_memory = source->views[i].in_memory;
        if (in_memory) dataset->views[i].mask_in_memory = in_memory->mask;
        if (!source->views[i].mask) continue;
        dataset->views[i].mask_path = strdup(source->views[i].mask);
        if (!dataset->views[i].mask_path) return fail_memory(error);
    }
    if (!is_off && dataset->n_views && !source->in_memory)
        SPLAT_TRY(find_in_folder(dataset, source, options->masks, "masks", mask_path, error));
    for (size_t i = 0; i < dataset->n_views; i++) {
        splat_dataset_view *view = &dataset->views[i];
        if (view->mask_path && !view->crop) SPLAT_TRY(check_mask(view, view->mask_path, error));
        const bool has_own = splat_view_has_own_mask(view);
        view->has_alpha_mask &= !is_off && !has_own && options->mask_mode != SPLAT_MASKS_IGNORE;
        view->has_mask = has_own || view->has_alpha_mask || view->has_blank;
        n_files += has_own && !view->crop;
        n_alpha += view->has_alpha_mask && !view->crop;
        dataset->n_masked += view->has_mask;
    }
    say_found(dataset, n_files, n_alpha, log);
    return check_plausible(dataset, n_files, log, error);
}

splat_status splat_dataset_find_sky_masks(splat_dataset *dataset, const splat_source *source,
                                          const splat_scene_options *options, const splat_dataset_log *log,
                                          splat_error *error)
{
    size_t n_found = 0;
    if (!splat_sky_is_folder(options->sky)) return SPLAT_OK;
    SPLAT_TRY(find_in_folder(dataset, source, options->sky, "sky", sky_path, error));
    for (size_t i = 0; i < dataset->n_views; i++) {
        const splat_dataset_view *view = &dataset->views[i];
        if (!view->sky_path || view->crop) continue;
        SPLAT_TRY(check_mask(view, view->sky_path, error));
        n_found++;
    }
    splat_dataset_say(log, SPLAT_LOG_NOTICE, "masks of the sky: %zu of %zu photos", n_found, dataset->n_photos);
    return SPLAT_OK;
}
