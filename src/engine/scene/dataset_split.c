/* Which views are held out. In this order: a split file; without eval nothing; a sector of the cameras, or its control;
 * the scene's own test list; list_test.txt or test.txt; a number of evenly spread views; every n-th view. */
#include "scene/dataset_split.h"

#include "scene/camera_ring.h"
#include "scene/dataset_lost.h"
#include "scene/dataset_parts.h"

#include "base/file.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "io/model_folder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static splat_status fail_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a split");
}

/* ---------------------------------------------------------------- looking names up */

/* Every way to name a view's photo, sorted: its name, its path below the photos' folder, and both without
 * extension; where that is no UTF-8, also as split.json spells it. */
typedef struct name_entry { char *key; uint32_t view; } name_entry;
typedef struct name_index { name_entry *entries; size_t n; } name_index;

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const name_entry *)a)->key, ((const name_entry *)b)->key);
}

static void index_free(name_index *index)
{
    for (size_t i = 0; i < index->n; i++) free(index->entries[i].key);
    free(index->entries);
    *index = (name_index){0};
}

static size_t without_extension(const char *name)
{
    const char *file = splat_basename(name), *dot = strrchr(file, '.');
    return dot && dot != file ? (size_t)(dot - name) : strlen(name);
}

static splat_status index_make(const splat_dataset *dataset, const splat_source *source, name_index *index,
                               splat_error *error)
{
    *index = (name_index){calloc(8 * dataset->n_views + 1, sizeof *index->entries), 0};
    if (!index->entries) return fail_memory(error);
    for (size_t i = 0; i < dataset->n_views; i++) {
        const char *names[2] = {splat_basename(dataset->views[i].path), source->views[i].relative};
        for (int k = 0; k < 4; k++) {
            const char *name = names[k / 2];
            char *key = strndup(name, k % 2 ? without_extension(name) : strlen(name));
            char *spelled = key ? splat_utf8_text(key) : NULL;
            if (key) index->entries[index->n++] = (name_entry){key, (uint32_t)i};
            if (!spelled) {
                index_free(index);
                return fail_memory(error);
            }
            if (strcmp(spelled, key) != 0)
                index->entries[index->n++] = (name_entry){spelled, (uint32_t)i};
            else
                free(spelled);
        }
    }
    qsort(index->entries, index->n, sizeof *index->entries, compare_entries);
    return SPLAT_OK;
}

/* Sets `mark` in marks[view] for every view of that name; false when there is none. */
static bool mark_name(const name_index *index, const char *name, uint8_t mark, uint8_t *marks)
{
    size_t low = 0, high = index->n; /* the first entry that is not less */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(index->entries[middle].key, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = false;
    for (; low < index->n && strcmp(index->entries[low].key, name) == 0; low++) {
        marks[index->entries[low].view] |= mark;
        found = true;
    }
    return found;
}

/* ---------------------------------------------------------------- lists */

enum { IN_TRAIN = 1, IN_TEST = 2 };

/* Photos that were left out may be in the list: it was written before they were lost. */
static splat_status mark_names(const name_index *index, const splat_source *source, char *const *names, size_t n,
                               uint8_t mark, uint8_t *marks, const char *path, splat_error *error)
{
    for (size_t i = 0; i < n; i++)
        if (!mark_name(index, names[i], mark, marks) && !splat_source_has_lost(source, names[i]))
            return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                                 "the split names \"%.200s\", which is no photo of the scene; was it written for "
                                 "another scene?", names[i]);
    return SPLAT_OK;
}

/* A name may stand for a train and a test picture of the same file name (train/r_0.png and test/r_0.png of NeRF-
 * synthetic scenes): listed on both sides, the scene's own split tells them apart. */
static splat_status apply_split_file(const splat_dataset *dataset, const splat_source *source, const name_index *index,
                                     const char *path, uint8_t *marks, splat_error *error)
{
    splat_split split = {0};
    SPLAT_TRY(splat_split_read(path, &split, error));
    splat_status status = mark_names(index, source, split.train, split.n_train, IN_TRAIN, marks, path, error);
    if (status == SPLAT_OK)
        status = mark_names(index, source, split.test, split.n_test, IN_TEST, marks, path, error);
    splat_split_free(&split);
    for (size_t i = 0; i < dataset->n_views && status == SPLAT_OK; i++) {
        if (marks[i] != (IN_TRAIN | IN_TEST)) continue;
        if (!source->has_split)
            status = splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                                   "the split lists \"%.200s\" for training and for testing",
                                   dataset->views[i].photo_name);
        marks[i] = source->views[i].is_test ? IN_TEST : IN_TRAIN;
    }
    return status;
}

/* One name a line. Photos that COLMAP could not place may be in the list: unknown names are only counted. */
static splat_status apply_list(const name_index *index, const char *path, uint8_t *marks, size_t *n_unknown,
                               splat_error *error)
{
    uint8_t *data;
    size_t size, n_known = 0;
    SPLAT_TRY(splat_file_read(path, &data, &size, error));
    char *rest = NULL;
    for (char *line = strtok_r((char *)data, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
        while (*line == ' ' || *line == '\t') line++;
        size_t length = strlen(line);
        while (length && (line[length - 1] == ' ' || line[length - 1] == '\t')) line[--length] = '\0';
        if (length == 0 || *line == '#') continue;
        if (mark_name(index, line, IN_TEST, marks))
            n_known++;
        else
            ++*n_unknown;
    }
    free(data);
    if (n_known) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                         "the list of test photos names no photo of the scene; correct it or remove it");
}

/* Finds the list of test photos next to the scene: *path is malloc'd, or NULL without a list. */
static splat_status find_list(const splat_source *source, char **path, splat_error *error)
{
    const char *folders[2] = {source->scene_folder, source->model_folder};
    static const char *const names[2] = {"list_test.txt", "test.txt"};
    for (int i = 0; i < 4 && folders[i / 2]; i++) {
        *path = splat_format("%s/%s", folders[i / 2], names[i % 2]);
        if (!*path) return fail_memory(error);
        if (splat_path_exists(*path)) return SPLAT_OK;
        free(*path);
    }
    *path = NULL;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- rules */

/* Crops of a photo are on the same side: rules choose photos. */
static void mark_photo(const splat_dataset *dataset, size_t photo, uint8_t *marks)
{
    size_t low = 0, high = dataset->n_views; /* its first view */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (dataset->views[middle].photo < photo)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < dataset->n_views && dataset->views[low].photo == photo; low++) marks[low] = IN_TEST;
}

/* count photos spread evenly, the first and the last among them: round(i (n - 1) / (count - 1)), halves to even. */
static void apply_count(const splat_dataset *dataset, size_t count, uint8_t *marks)
{
    size_t n = dataset->n_photos;
    if (count > n) count = n;
    if (count == 1) mark_photo(dataset, 0, marks);
    for (size_t i = 0; count > 1 && i < count; i++)
        mark_photo(dataset, (size_t)rint((double)i * (double)(n - 1) / (double)(count - 1)), marks);
}

/* The pose of a photo; of one that is cut into crops, that of its lens. */
static splat_ring_camera ring_camera(const splat_source_view *view, uint32_t photo)
{
    splat_ring_camera camera = {.photo = photo};
    double rows[3][3] = {{0}}; /* world to camera: right, down, forward */
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 3; k++) {
            camera.center[k] -= view->rotation[3 * r + k] * view->translation[r];
            if (!view->n_crops) rows[r][k] = view->rotation[3 * r + k];
            for (int j = 0; j < 3 && view->n_crops; j++)
                rows[r][k] += view->cut.turn[3 * j + r] * view->rotation[3 * j + k];
        }
    for (int k = 0; k < 3; k++) {
        camera.axis[k] = rows[2][k];
        camera.up[k] = -rows[1][k];
    }
    return camera;
}

/* Marks a part of n photos on the way around: `count` neighbours, or `count` photos with equal distances. Set s of
 * three begins a third of the way, or of the distance between two, after set s - 1. */
static void mark_ring(const splat_dataset *dataset, const splat_ring_camera *ring, size_t count,
                      const splat_scene_options *options, uint8_t *marks)
{
    const size_t n = dataset->n_photos, set = (size_t)options->sector;
    for (size_t i = 0; i < count; i++) {
        size_t at = options->split == SPLAT_SPLIT_SECTOR ? (set * n / 3 + i) % n : (3 * i + set) * n / (3 * count);
        mark_photo(dataset, ring[at].photo, marks);
    }
}

static splat_status apply_ring(const splat_dataset *dataset, const splat_source *source,
                               const splat_scene_options *options, uint8_t *marks, splat_error *error)
{
    const size_t n = dataset->n_photos, hold = (size_t)options->llffhold;
    size_t n_ring = 0, count = options->test_camera_count >= 0 ? (size_t)options->test_camera_count
                                                               : n / hold + (n % hold > 0);
    if (count > n) count = n;
    splat_ring_camera *ring = malloc((n + 1) * sizeof *ring);
    if (!ring) return fail_memory(error);
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < dataset->n_views && status == SPLAT_OK; i++) {
        if (dataset->views[i].is_lower_scale)
            status = splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "`split sector` and `split spread` choose photos by "
                                "their cameras, and this scene has each photo in several sizes; use `split every`");
        if (source->views[i].crop == 0) ring[n_ring++] = ring_camera(&source->views[i], dataset->views[i].photo);
    }
    if (status == SPLAT_OK) status = splat_camera_ring_sort(ring, n_ring, error);
    if (status == SPLAT_OK) mark_ring(dataset, ring, count, options, marks);
    free(ring);
    return status;
}

static splat_status apply_rules(const splat_dataset *dataset, const splat_source *source, const name_index *index,
                                const splat_scene_options *options, uint8_t *marks, const splat_dataset_log *log,
                                splat_error *error)
{
    if (!options->eval) return SPLAT_OK;
    if (options->split != SPLAT_SPLIT_EVERY) return apply_ring(dataset, source, options, marks, error);
    if (source->has_split) {
        for (size_t i = 0; i < dataset->n_views; i++)
            if (source->views[i].is_test) marks[i] = IN_TEST;
        return SPLAT_OK;
    }
    char *path;
    SPLAT_TRY(find_list(source, &path, error));
    if (path) {
        size_t n_unknown = 0;
        splat_status status = apply_list(index, path, marks, &n_unknown, error);
        splat_dataset_say(log, SPLAT_LOG_NOTICE, "test photos are taken from %s", path);
        if (status == SPLAT_OK && n_unknown)
            splat_dataset_say(log, SPLAT_LOG_WARNING, "%zu name%s of %s %s no photo of the scene", n_unknown,
                              splat_plural(n_unknown), path, n_unknown == 1 ? "is" : "are");
        free(path);
        return status;
    }
    if (options->test_camera_count >= 0) {
        apply_count(dataset, (size_t)options->test_camera_count, marks);
        return SPLAT_OK;
    }
    for (size_t i = 0; i < dataset->n_photos; i += (size_t)options->llffhold) mark_photo(dataset, i, marks);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the lists of the dataset */

/* Marks photos that no rule has marked as training photos, except reduced pictures of multi-scale scenes. */
static void mark_rest(const splat_dataset *dataset, bool load_allres, uint8_t *marks)
{
    for (size_t i = 0; i < dataset->n_views; i++)
        if (!marks[i] && (load_allres || !dataset->views[i].is_lower_scale)) marks[i] = IN_TRAIN;
}

static void fill_lists(splat_dataset *dataset, const uint8_t *marks)
{
    for (size_t i = 0; i < dataset->n_views; i++) {
        dataset->views[i].is_test = marks[i] == IN_TEST;
        if (marks[i] == IN_TRAIN) dataset->train[dataset->n_train++] = (uint32_t)i;
        if (marks[i] == IN_TEST) dataset->test[dataset->n_test++] = (uint32_t)i;
    }
}

splat_status splat_dataset_split(splat_dataset *dataset, const splat_source *source,
                                 const splat_scene_options *options, const splat_dataset_log *log, splat_error *error)
{
    name_index index;
    SPLAT_TRY(index_make(dataset, source, &index, error));
    uint8_t *marks = calloc(dataset->n_views + 1, 1);
    dataset->train = calloc(dataset->n_views + 1, sizeof *dataset->train);
    dataset->test = calloc(dataset->n_views + 1, sizeof *dataset->test);
    splat_status status = marks && dataset->train && dataset->test ? SPLAT_OK : fail_memory(error);
    if (status == SPLAT_OK && options->split_file) {
        status = apply_split_file(dataset, source, &index, options->split_file, marks, error);
    } else if (status == SPLAT_OK) {
        status = apply_rules(dataset, source, &index, options, marks, log, error);
        if (status == SPLAT_OK) mark_rest(dataset, options->load_allres, marks);
    }
    if (status == SPLAT_OK) {
        fill_lists(dataset, marks);
        size_t n_left = 0;
        for (size_t i = 0; i < dataset->n_views; i++)
            n_left += !marks[i] && !dataset->views[i].is_lower_scale && dataset->views[i].crop == 0;
        if (n_left) /* only after a split file: the rules leave none out */
            splat_dataset_say(log, SPLAT_LOG_NOTICE, "%zu photo%s %s not in %s and left out", n_left,
                              splat_plural(n_left), n_left == 1 ? "is" : "are", options->split_file);
        if (dataset->n_train == 0)
            status = splat_fail(error, SPLAT_ERROR_ARGUMENT, "all %zu photos of the scene are held out for testing, "
                                "none is left to train on; leave `eval` away or hold out fewer", dataset->n_photos);
    }
    index_free(&index);
    free(marks);
    return status;
}
