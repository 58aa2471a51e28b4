/* Finds out if a splat was trained on the photos that will measure it: by the split next to it, in its model folder, or
 * in its checkpoint. */
#include "base/file.h"
#include "base/utf8.h"
#include "io/model_folder.h"
#include "io/tensor/tensor_file.h"
#include "run/checkpoint/checkpoint.h"
#include "scene/dataset.h"
#include "scene/scene.h"

#include <stdlib.h>
#include <string.h>

/* The folder of a path, `levels` up; malloc'd, NULL when there is none. */
static char *parent(const char *path, int levels)
{
    char *copy = strdup(path);
    for (; copy && levels > 0; levels--) {
        char *slash = strrchr(copy, '/');
        if (!slash || slash == copy) { /* "name", "/name" */
            strcpy(copy, slash ? "/" : ".");
            break;
        }
        *slash = '\0';
    }
    return copy;
}

/* The split.json in point_cloud/iteration_N, or, of a splat that has none there, that of its model folder. malloc'd;
 * NULL: nothing tells. */
static char *find_split(const char *splat)
{
    char *real = realpath(splat, NULL), *found = NULL;
    for (int up = 1; real && up <= 3 && !found; up += 2) {
        char *folder = parent(real, up), *above = parent(real, 2);
        bool is_model_folder = up == 1 || (above && strcmp(splat_basename(above), "point_cloud") == 0);
        char *path = folder ? splat_format("%s/split.json", folder) : NULL;
        if (path && is_model_folder && splat_path_exists(path))
            found = path;
        else
            free(path);
        free(folder);
        free(above);
    }
    free(real);
    return found;
}

/* True if the path of a photo ends in a name of the list: "r_0.png", or "train/r_0.png" if two photos have the same
 * name. */
static bool ends_in_one(const char *path, char *const *names, size_t n)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < n; i++) {
        size_t of_name = strlen(names[i]);
        if (of_name <= length && strcmp(path + length - of_name, names[i]) == 0 &&
            (of_name == length || path[length - of_name - 1] == '/'))
            return true;
    }
    return false;
}

/* split.json spells names that are no UTF-8 in its own way. */
static bool is_listed(const splat_dataset_view *view, char *const *names, size_t n)
{
    if (ends_in_one(view->path, names, n)) return true;
    char *spelled = splat_utf8_text(view->photo_name);
    bool found = spelled && ends_in_one(spelled, names, n);
    free(spelled);
    return found;
}

static splat_status check(const splat_dataset *dataset, const splat_split *split, const char *splat,
                          splat_error *error)
{
    size_t n_seen = 0;
    const char *first = NULL;
    for (size_t i = 0; i < dataset->n_test; i++) {
        const splat_dataset_view *view = &dataset->views[dataset->test[i]];
        if (!is_listed(view, split->train, split->n_train) || is_listed(view, split->test, split->n_test))
            continue; /* a name on both sides stands for two photos, of which this is the tested one */
        if (n_seen++ == 0) first = view->name;
    }
    if (n_seen == 0) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, splat, SPLAT_NO_OFFSET,
                         "this splat was trained on %zu of the %zu test photos (%.200s among them), so it would be "
                         "measured better than it is; give the model folder that it was trained in",
                         n_seen, dataset->n_test, first);
}

/* The name of the photo of a crop, malloc'd. Checkpoints name crops ("a.png#0"), and the measuring program may cut
 * photos differently. */
static char *photo_of(const char *name)
{
    char *photo = strdup(name ? name : ""), *crop = photo ? strrchr(photo, '#') : NULL;
    if (crop && crop[1] && strspn(crop + 1, "0123456789") == strlen(crop + 1)) *crop = '\0';
    return photo;
}

/* The names in a checkpoint's header: training views are lists that begin with the name. */
static splat_status read_checkpoint_split(const char *path, splat_split *split, splat_error *error)
{
    splat_tensor_reader reader;
    SPLAT_TRY(splat_tensor_reader_open(&reader, path, error));
    const json_t *lists = json_object_get(reader.header, "split");
    const json_t *train = json_object_get(lists, "train"), *test = json_object_get(lists, "test");
    split->train = calloc(json_array_size(train) + 1, sizeof *split->train);
    split->test = calloc(json_array_size(test) + 1, sizeof *split->test);
    bool good = split->train && split->test;
    for (size_t i = 0; i < json_array_size(train) && good; i++) {
        const char *name = json_string_value(json_array_get(json_array_get(train, i), 0));
        good = (split->train[split->n_train++] = photo_of(name)) != NULL;
    }
    for (size_t i = 0; i < json_array_size(test) && good; i++) {
        const char *name = json_string_value(json_array_get(test, i));
        good = (split->test[split->n_test++] = photo_of(name)) != NULL;
    }
    splat_tensor_reader_close(&reader);
    return good ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the split of a checkpoint");
}

splat_status splat_scene_check_splat(const splat_scene *scene, const char *path, splat_error *error)
{
    splat_split split = {0};
    splat_status status = SPLAT_OK;
    char *file = NULL;
    if (scene->dataset.n_test == 0) return SPLAT_OK;
    if (splat_tensor_file_is(path))
        status = read_checkpoint_split(path, &split, error);
    else if ((file = find_split(path)))
        status = splat_split_read(file, &split, error);
    if (status == SPLAT_OK) status = check(&scene->dataset, &split, path, error);
    splat_split_free(&split);
    free(file);
    return status;
}
