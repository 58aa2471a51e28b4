/* Finds, sets aside and brings back the files of an earlier run in the model folder. */
#include "run/run_folder.h"

#include "base/array.h"
#include "base/file.h"
#include "scene/scene_options.h"

#include <ctype.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---------------------------------------------------------------- what a run leaves in its folder */

#define NO_NUMBER (-1)

typedef struct left_file {
    char *name;    /* below the model folder */
    int iteration; /* of a state and its pictures; NO_NUMBER: of the whole run */
    bool counts;   /* true: a sign of an earlier run; false: a file that each start writes again */
} left_file;

typedef struct left_files {
    left_file *files;
    size_t n, capacity;
} left_files;

static void free_files(left_files *list)
{
    for (size_t i = 0; i < list->n; i++) free(list->files[i].name);
    free(list->files);
}

static splat_status add_file(left_files *list, const char *folder, const char *name, int iteration, bool counts,
                             splat_error *error)
{
    left_file *grown = splat_array_grow(list->files, &list->capacity, list->n, sizeof *grown);
    if (grown) list->files = grown;
    char *copy = grown ? splat_format("%s%s%s", folder, *folder ? "/" : "", name) : NULL;
    if (!copy) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to list the model folder");
    list->files[list->n++] = (left_file){copy, iteration, counts};
    return SPLAT_OK;
}

/* N of a name that is `prefix`N`ending`; NO_NUMBER of another name. */
static int number_in(const char *name, const char *prefix, const char *ending)
{
    size_t length = strlen(prefix);
    if (strncmp(name, prefix, length) != 0 || !isdigit((unsigned char)name[length])) return NO_NUMBER;
    char *end;
    long number = strtol(name + length, &end, 10);
    return strcmp(end, ending) == 0 && number < INT_MAX ? (int)number : NO_NUMBER;
}

/* Its size; -1: it is no file. */
static int64_t file_bytes(const char *folder, const char *name)
{
    struct stat status;
    char *path = splat_format("%s/%s", folder, name);
    bool is_file = path && lstat(path, &status) == 0 && S_ISREG(status.st_mode);
    free(path);
    return is_file ? (int64_t)status.st_size : -1;
}

/* A name in the model folder itself. The curves of a run that was killed at its start are an empty file. */
static splat_status list_file(const char *folder, const char *name, left_files *list, splat_error *error)
{
    static const char *const at_start[] = {"cfg_args", "cameras.json", "split.json", "input.ply"};
    static const char *const later[] = {"results.json", "per_view.json", "report.html", "history.jsonl",
                                        "mesh.ply",     "exposure.json", "sky.safetensors"};
    int64_t bytes = file_bytes(folder, name);
    int checkpoint = number_in(name, "chkpnt", ".splatsmith");
    if (checkpoint == NO_NUMBER) checkpoint = number_in(name, "chkpnt", ".pth");
    if (strcmp(name, "profiles") == 0) return add_file(list, "", name, NO_NUMBER, true, error);
    if (bytes < 0) return SPLAT_OK;
    if (checkpoint != NO_NUMBER) return add_file(list, "", name, checkpoint, true, error);
    if (strncmp(name, "events.out.tfevents.", 20) == 0) return add_file(list, "", name, NO_NUMBER, false, error);
    for (size_t i = 0; i < sizeof at_start / sizeof at_start[0]; i++)
        if (strcmp(name, at_start[i]) == 0) return add_file(list, "", name, NO_NUMBER, false, error);
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++)
        if (strcmp(name, later[i]) == 0) return add_file(list, "", name, NO_NUMBER, bytes > 0, error);
    return SPLAT_OK;
}

/* The folders that hold one entry for each iteration; others in them (photos: a model may lie in its scene) stay. */
static const char *const parents[][2] = {{"point_cloud", "iteration_"}, {"mesh", "iteration_"}, {"train", "ours_"},
                                         {"test", "ours_"},             {"random", "ours_"}};
#define N_PARENTS (sizeof parents / sizeof parents[0])

static splat_status list_parent(const char *folder, const char *const parent[2], left_files *list, splat_error *error)
{
    char **names, *path = splat_format("%s/%s", folder, parent[0]);
    size_t n;
    if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = SPLAT_OK;
    bool is_listed = splat_path_is_folder(path);
    if (is_listed) status = splat_folder_list(path, &names, &n, error);
    free(path);
    if (!is_listed || status != SPLAT_OK) return status;
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) {
        int iteration = number_in(names[i], parent[1], "");
        bool of_mesh = strcmp(parent[1], "ours_") == 0 && strncmp(names[i], "mesh_", 5) == 0; /* render --mesh */
        if (iteration != NO_NUMBER || of_mesh)
            status = add_file(list, parent[0], names[i], iteration, true, error);
    }
    splat_names_free(names, n);
    return status;
}

static splat_status list_run(const char *folder, left_files *list, splat_error *error)
{
    char **names;
    size_t n;
    SPLAT_TRY(splat_folder_list(folder, &names, &n, error));
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) status = list_file(folder, names[i], list, error);
    splat_names_free(names, n);
    for (size_t i = 0; i < N_PARENTS && status == SPLAT_OK; i++)
        status = list_parent(folder, parents[i], list, error);
    return status;
}

static splat_status list_all(const char *folder, left_files *list, splat_error *error)
{
    char **names;
    size_t n;
    SPLAT_TRY(splat_folder_list(folder, &names, &n, error));
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < n && status == SPLAT_OK; i++)
        status = add_file(list, "", names[i], NO_NUMBER, true, error);
    splat_names_free(names, n);
    return status;
}

static void drop(left_files *list, size_t i)
{
    free(list->files[i].name);
    list->files[i] = list->files[--list->n];
}

/* Leaves in the list what is later than an iteration, and the results, which may be of such a state. Nothing, when no
 * state is later. */
static void keep_later(left_files *list, int iteration)
{
    size_t n_states = 0;
    for (size_t i = list->n; i-- > 0;) {
        bool is_result = strcmp(list->files[i].name, "results.json") == 0 ||
                         strcmp(list->files[i].name, "per_view.json") == 0;
        if (list->files[i].iteration > iteration)
            n_states++;
        else if (!is_result)
            drop(list, i);
    }
    while (n_states == 0 && list->n) drop(list, 0);
}

/* Nothing, when no file tells of a run. */
static void keep_if_it_counts(left_files *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->files[i].counts) return;
    while (list->n) drop(list, 0);
}

/* ---------------------------------------------------------------- setting aside, and back */

/* MODEL/earlier_20261120_081500, made now. */
static splat_status make_aside(splat_run_folder *f, splat_error *error)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(stamp, sizeof stamp, "%Y%m%d_%H%M%S", &local);
    for (int i = 1;; i++) {
        f->aside = i == 1 ? splat_format("%s/earlier_%s", f->path, stamp)
                          : splat_format("%s/earlier_%s_%d", f->path, stamp, i);
        if (!f->aside) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
        if (mkdir(f->aside, 0777) == 0) return SPLAT_OK;
        splat_status status = splat_fail_errno(error, f->aside, "make a folder for the earlier run");
        bool is_taken = errno == EEXIST && i < 1000;
        free(f->aside);
        f->aside = NULL;
        if (!is_taken) return status;
    }
}

static splat_status move(const char *from, const char *to, const char *name, splat_error *error)
{
    char *source = splat_format("%s/%s", from, name), *target = splat_format("%s/%s", to, name);
    splat_status status = source && target ? splat_folder_create_for(target, error)
                                           : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    if (status == SPLAT_OK && rename(source, target) != 0)
        status = splat_fail_errno(error, source, "set the file of an earlier run aside");
    free(source);
    free(target);
    return status;
}

/* Moves what is in one folder into another, over what it holds, and deletes the first. */
static splat_status merge_back(const char *from, const char *to, splat_error *error)
{
    char **names;
    size_t n;
    SPLAT_TRY(splat_folder_list(from, &names, &n, error));
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) {
        char *source = splat_format("%s/%s", from, names[i]), *target = splat_format("%s/%s", to, names[i]);
        if (!source || !target)
            status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
        else if (splat_path_is_folder(source) && splat_path_is_folder(target))
            status = merge_back(source, target, error);
        else if ((status = splat_folder_delete(target, error)) == SPLAT_OK && rename(source, target) != 0)
            status = splat_fail_errno(error, source, "move the file back");
        free(source);
        free(target);
    }
    splat_names_free(names, n);
    if (status == SPLAT_OK && rmdir(from) != 0) status = splat_fail_errno(error, from, "delete the folder");
    return status;
}

static void warn(const splat_run_folder *f, const splat_error *error)
{
    char text[sizeof error->file + sizeof error->message + 64];
    splat_log(f->context, SPLAT_LOG_WARNING, "%s", splat_error_format(error, text, sizeof text));
}

static void put_back(splat_run_folder *f)
{
    splat_error error;
    if (merge_back(f->aside, f->path, &error) != SPLAT_OK) {
        warn(f, &error);
        splat_log(f->context, SPLAT_LOG_WARNING, "the rest of the earlier run is in %s", f->aside);
    }
}

static void delete_empty_parents(const splat_run_folder *f)
{
    for (size_t i = 0; i < N_PARENTS; i++) {
        char *path = splat_format("%s/%s", f->path, parents[i][0]);
        if (path) rmdir(path); /* one that is not empty, or absent, stays so */
        free(path);
    }
}

static splat_status set_aside(splat_run_folder *f, const left_files *list, splat_error *error)
{
    if (list->n == 0) return SPLAT_OK;
    splat_status status = make_aside(f, error);
    for (size_t i = 0; i < list->n && status == SPLAT_OK; i++)
        status = move(f->path, f->aside, list->files[i].name, error);
    if (status == SPLAT_OK) delete_empty_parents(f);
    return status;
}

/* ---------------------------------------------------------------- files of the scene */

/* True if a real path is that of the folder, or lies below it. */
static bool holds(const char *folder, const char *path)
{
    const size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* The folder of a file, malloc'd; NULL: no memory. */
static char *folder_of(const char *path)
{
    char *copy = strdup(path), *folder = copy ? strdup(dirname(copy)) : NULL;
    free(copy);
    return folder;
}

/* True if a model, a real path, would lie among the files of an input folder. A folder that contains the whole scene
 * has room for a model next to its files. */
static bool is_among(const char *model, const char *input, const char *scene)
{
    char *real = realpath(input, NULL), *real_scene = realpath(scene, NULL);
    const bool is_around = real && real_scene && holds(real, real_scene);
    const bool found = real && (is_around ? strcmp(real, model) == 0 : holds(real, model));
    free(real);
    free(real_scene);
    return found;
}

static bool is_same_folder(const char *a, const char *b)
{
    const size_t length = (size_t)(splat_basename(a) - a);
    return length == (size_t)(splat_basename(b) - b) && memcmp(a, b, length) == 0;
}

/* The folder of photos, masks or depths that the model would lie among, malloc'd; NULL: none. */
static char *find_folder_of_views(const splat_dataset *dataset, const char *model, const char *scene)
{
    for (int kind = 0; kind < 3; kind++) {
        const char *before = NULL;
        for (size_t i = 0; i < dataset->n_views; i++) {
            const splat_dataset_view *view = &dataset->views[i];
            const char *photo = view->in_memory ? NULL : view->path;
            const char *path = kind == 0 ? photo : kind == 1 ? view->mask_path : view->depth_path;
            if (!path || (before && is_same_folder(path, before))) continue;
            before = path;
            char *folder = folder_of(path);
            if (folder && is_among(model, folder, scene)) return folder;
            free(folder);
        }
    }
    return NULL;
}

/* The same of COLMAP's model and of all photos, which may lie deeper. */
static char *find_folder_of_scene(const splat_scene_options *options, const char *model, const char *scene)
{
    const char *names[] = {splat_scene_options_images(options), "sparse"};
    for (size_t i = 0; i < 2; i++) {
        char *folder = names[i][0] == '/' ? strdup(names[i]) : splat_format("%s/%s", scene, names[i]);
        if (folder && is_among(model, folder, scene)) return folder;
        free(folder);
    }
    return NULL;
}

/* A model among the files of its scene is a mistake: nobody can tell the files apart later, and programs that list
 * photos find those of the model. */
static splat_status check_place(const splat_scene *scene, const char *path, splat_error *error)
{
    const char *source = scene->options.source_path ? scene->options.source_path : ".";
    char *model = realpath(path, NULL);
    char *input = model ? find_folder_of_scene(&scene->options, model, source) : NULL;
    if (model && !input) input = find_folder_of_views(&scene->dataset, model, source);
    splat_status status = SPLAT_OK;
    if (input)
        status = splat_fail_at(error, SPLAT_ERROR_ARGUMENT, path, SPLAT_NO_OFFSET,
                               "a model cannot be written here, because files of the scene lie in %.400s; name another "
                               "output folder with `model_path`", input);
    free(model);
    free(input);
    return status;
}

/* True if the folder of a file lies in `folder`, a real path; the file itself may be a link. */
static bool lies_in(const char *path, const char *folder)
{
    char *parent = path ? folder_of(path) : NULL, *real = parent ? realpath(parent, NULL) : NULL;
    const bool is_in = real && holds(folder, real);
    free(parent);
    free(real);
    return is_in;
}

/* A file of the scene in `folder`, a real path; NULL: none. points: of both places that COLMAP's model may have. */
static const char *find_input(const splat_scene *scene, const char *folder, char *const points[2])
{
    const splat_dataset *dataset = &scene->dataset;
    for (size_t i = 0; i < dataset->n_views; i++) {
        const splat_dataset_view *view = &dataset->views[i];
        if (!view->in_memory && lies_in(view->path, folder)) return view->path;
        if (lies_in(view->mask_path, folder)) return view->mask_path;
        if (lies_in(view->depth_path, folder)) return view->depth_path;
    }
    return lies_in(points[0], folder) ? points[0] : lies_in(points[1], folder) ? points[1] : NULL;
}

/* The model folder may be one of the scene's by mistake, and its files are the user's. */
static splat_status check_deletable(const splat_trainer *t, const char *path, splat_error *error)
{
    const char *source = t->scene->options.source_path;
    char *folder = realpath(path, NULL), *points[] = {splat_format("%s/sparse/points3D.bin", source ? source : "."),
                                                      splat_format("%s/sparse/0/points3D.bin", source ? source : ".")};
    splat_status status = SPLAT_OK;
    const bool is_known = folder && points[0] && points[1];
    const char *input = is_known ? find_input(t->scene, folder, points) : NULL;
    if (input)
        status = splat_fail_at(error, SPLAT_ERROR_ARGUMENT, path, SPLAT_NO_OFFSET,
                               "`delete_first` does not delete this folder, because files of the scene lie in it, such "
                               "as %s; name another output folder with `model_path`", input);
    else if (!is_known)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare the output folder with the scene");
    free(folder);
    for (int i = 0; i < 2; i++) free(points[i]);
    return status;
}

/* ---------------------------------------------------------------- which files */

/* True if the run continues in the folder of its checkpoint. */
static bool goes_on(const splat_run_options *run)
{
    if (!run->start_checkpoint) return false;
    if (strcmp(run->start_checkpoint, "latest") == 0) return true;
    char *file = realpath(run->start_checkpoint, NULL), *folder = realpath(run->model_path, NULL);
    bool same = file && folder && strcmp(dirname(file), folder) == 0;
    free(file);
    free(folder);
    return same;
}

/* A run that goes on with "latest" comes again to what a killed one saved after its last checkpoint, but for what is
 * beyond its own end. One that goes back to a named checkpoint replaces all that came later. */
static int last_kept(const splat_trainer *t, const splat_run_options *run)
{
    bool comes_again = strcmp(run->start_checkpoint, "latest") == 0 && t->options.iterations > t->iteration;
    return comes_again ? t->options.iterations : t->iteration;
}

static splat_status list_foreign(const splat_run_folder *f, const splat_trainer *t, const splat_run_options *run,
                                 left_files *list, splat_error *error)
{
    if (run->delete_first) {
        SPLAT_TRY(check_deletable(t, f->path, error));
        return list_all(f->path, list, error);
    }
    SPLAT_TRY(list_run(f->path, list, error));
    if (goes_on(run))
        keep_later(list, last_kept(t, run));
    else
        keep_if_it_counts(list);
    return SPLAT_OK;
}

static void tell(const splat_run_folder *f, const splat_trainer *t, const splat_run_options *run)
{
    if (!f->aside || f->deletes) return;
    if (goes_on(run))
        splat_log(f->context, SPLAT_LOG_NOTICE, "what came after iteration %d in %s is now in %s", last_kept(t, run),
                  f->path, f->aside);
    else
        splat_log(f->context, SPLAT_LOG_NOTICE,
                  "%s held an earlier run, which is now in %s; `delete_first` would delete it", f->path, f->aside);
}

/* ---------------------------------------------------------------- the run */

splat_status splat_run_folder_open(splat_run_folder *f, const splat_trainer *t, const splat_run_options *run,
                                   splat_error *error)
{
    left_files list = {0};
    *f = (splat_run_folder){.context = t->context, .path = run->model_path, .deletes = run->delete_first, .lock = -1};
    f->is_new = !splat_path_exists(f->path);
    SPLAT_TRY(splat_folder_create(f->path, error));
    SPLAT_TRY(splat_folder_lock(f->path, &f->lock, error));
    splat_status status = check_place(t->scene, f->path, error);
    if (status == SPLAT_OK) status = list_foreign(f, t, run, &list, error);
    if (status == SPLAT_OK) status = set_aside(f, &list, error);
    free_files(&list);
    if (status == SPLAT_OK)
        tell(f, t, run);
    else
        splat_run_folder_close(f);
    return status;
}

void splat_run_folder_begin(splat_run_folder *f)
{
    splat_error error;
    if (f->has_begun) return;
    f->has_begun = true;
    if (f->aside && f->deletes && splat_folder_delete(f->aside, &error) != SPLAT_OK) warn(f, &error);
}

void splat_run_folder_close(splat_run_folder *f)
{
    splat_error error;
    if (!f->has_begun && f->aside) put_back(f);
    if (!f->has_begun && f->is_new && splat_folder_delete(f->path, &error) != SPLAT_OK) warn(f, &error);
    splat_folder_unlock(f->lock);
    free(f->aside);
    f->aside = NULL;
}
