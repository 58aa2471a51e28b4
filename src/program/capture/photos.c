/* Listing photos. */
#include "capture/photos.h"
#include "io/picture/image_read.h"

#include "base/array.h"
#include "base/file.h"
#include "io/picture/exif.h"
#include "io/picture/photo_folders.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static bool ends_as(const char *name, const char *const *endings)
{
    const char *dot = strrchr(splat_basename(name), '.');
    for (; dot && *endings; endings++)
        if (strcasecmp(dot, *endings) == 0) return true;
    return false;
}

static bool is_other_picture(const char *name)
{
    static const char *const endings[] = {".heic", ".heif", ".tif", ".tiff", ".webp", ".avif", ".bmp", ".dng",
                                          ".cr2",  ".cr3",  ".nef", ".arw",  ".raf",  ".orf",  ".rw2", NULL};
    return splat_basename(name)[0] != '.' && ends_as(name, endings);
}

char *splat_photo_folder_find(const char *source, const char *images)
{
    const char *name = images ? images : "images";
    char *inside = name[0] == '/' ? strdup(name) : splat_format("%s/%s", source, name);
    if (inside && splat_path_is_folder(inside) && splat_folder_has_photos(inside, true)) return inside;
    free(inside);
    return splat_path_is_folder(source) && splat_folder_has_photos(source, false) ? strdup(source) : NULL;
}

static splat_status fail_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a list of photos");
}

static bool has_room(splat_photo_list *list)
{
    size_t capacity = list->capacity, again;
    void *names = splat_array_grow(list->names, &capacity, list->n, sizeof *list->names);
    if (!names) return false;
    list->names = names;
    again = list->capacity;
    void *cameras = splat_array_grow(list->cameras, &again, list->n, sizeof *list->cameras);
    if (!cameras) return false;
    list->cameras = cameras;
    list->capacity = capacity;
    return true;
}

/* FNV-1a, which begins with this. */
#define FNV_BEGIN 0xcbf29ce484222325u

static void mix(uint64_t *hash, const void *data, size_t n)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < n; i++) *hash = (*hash ^ bytes[i]) * 0x100000001b3u;
}

static void note_file(splat_photo_list *list, const char *path, const char *name)
{
    struct stat status;
    if (stat(path, &status) != 0) return;
    int64_t facts[3] = {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
    mix(&list->fingerprint, name, strlen(name) + 1);
    mix(&list->fingerprint, facts, sizeof facts);
}

/* The first of several is kept for a message. */
static bool count(size_t *n, char **first, const char *name)
{
    if ((*n)++ == 0) *first = strdup(name);
    return *first != NULL;
}

/* The name with \n instead of its newlines; malloc'd. */
static char *make_printable(const char *name)
{
    char *text = malloc(2 * strlen(name) + 1), *end = text;
    for (; text && *name; name++) {
        if (*name == '\n') *end++ = '\\';
        *end++ = *name == '\n' ? 'n' : *name;
    }
    if (text) *end = '\0';
    return text;
}

/* A photo, or a folder of photos, whose name is no line. */
static splat_status count_broken_name(splat_photo_list *list, const char *path, const char *name, bool deep,
                                      splat_error *error)
{
    const bool is_folder = splat_path_is_folder(path);
    if (is_folder ? !deep || !splat_folder_has_photos(path, true) : !splat_is_photo_name(name)) return SPLAT_OK;
    char *printable = make_printable(name);
    const bool good = printable && count(&list->n_broken_names, &list->broken_name, printable);
    free(printable);
    return good ? SPLAT_OK : fail_memory(error);
}

/* Two zooms of one lens, or two lenses of one telephone, are two cameras. */
static uint64_t camera_number(const splat_exif *exif, int width, int height)
{
    uint64_t hash = FNV_BEGIN;
    mix(&hash, &width, sizeof width);
    mix(&hash, &height, sizeof height);
    mix(&hash, exif->model, strlen(exif->model) + 1);
    mix(&hash, &exif->focal_mm, sizeof exif->focal_mm);
    mix(&hash, &exif->focal_35mm, sizeof exif->focal_35mm);
    return hash;
}

static splat_status add_photo(splat_photo_list *list, const char *path, const char *name, splat_error *error)
{
    int width, height, channels;
    splat_error problem;
    if (splat_image_probe(path, &width, &height, &channels, &problem) != SPLAT_OK)
        return count(&list->n_unreadable, &list->unreadable, name) ? SPLAT_OK : fail_memory(error);
    if (!has_room(list)) return fail_memory(error);
    char *copy = strdup(name);
    if (!copy) return fail_memory(error);
    list->names[list->n] = copy;
    const splat_exif exif = splat_exif_read(path);
    list->n_with_focal += exif.focal_mm > 0 || exif.focal_35mm > 0;
    list->n_with_place += exif.has_place;
    list->cameras[list->n++] = camera_number(&exif, width, height);
    note_file(list, path, name);
    return SPLAT_OK;
}

/* `below`: the folder's name below list->folder, with a slash at its end, or "". */
static splat_status add_folder(splat_photo_list *list, const char *below, bool deep, int depth, splat_error *error)
{
    char **names = NULL, *folder = splat_format("%s/%s", list->folder, below);
    size_t n = 0;
    splat_status status = folder ? splat_folder_list(folder, &names, &n, error) : fail_memory(error);
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) {
        char *name = splat_format("%s%s", below, names[i]);
        char *path = splat_format("%s/%s%s", list->folder, below, names[i]);
        char *inside = splat_format("%s%s/", below, names[i]);
        if (!name || !path || !inside)
            status = fail_memory(error);
        else if (names[i][0] == '.')
            status = SPLAT_OK;
        else if (strchr(names[i], '\n')) /* lists of photos have a line each */
            status = count_broken_name(list, path, name, deep, error);
        else if (splat_path_is_folder(path))
            status = deep && depth < SPLAT_PHOTO_FOLDERS_DEPTH ? add_folder(list, inside, deep, depth + 1, error)
                                                               : SPLAT_OK;
        else if (splat_is_photo_name(names[i]))
            status = add_photo(list, path, name, error);
        else if (is_other_picture(names[i]) && !count(&list->n_others, &list->other, name))
            status = fail_memory(error);
        free(name);
        free(path);
        free(inside);
    }
    splat_names_free(names, n);
    free(folder);
    return status;
}

/* Why a source has no photos: often they are all of a format that is not read, or lie in folders of a camera. */
static splat_status fail_without_photos(const char *source, const char *images, splat_error *error)
{
    char **names;
    size_t n = 0, i = 0;
    splat_status status = SPLAT_ERROR_FORMAT;
    bool is_listed = splat_folder_list(source, &names, &n, NULL) == SPLAT_OK;
    char *nested = splat_photo_folder_find_below(source);
    while (i < n && !is_other_picture(names[i])) i++;
    if (nested)
        splat_fail_at(error, status, source, SPLAT_NO_OFFSET,
                      "the photos lie in folders here, such as %.200s; name that folder, or move all of them into a "
                      "folder %s", nested, images ? images : "images");
    else if (i < n)
        splat_fail_at(error, status, source, SPLAT_NO_OFFSET, "the pictures here (%.200s%s) are of a format that is "
                      "not read; convert them to JPEG or PNG", names[i], n > 1 ? ", ..." : "");
    else
        splat_fail_at(error, status, source, SPLAT_NO_OFFSET,
                      "there are no photos (.jpg, .jpeg, .png), neither in the folder nor in %s/ inside it",
                      images ? images : "images");
    free(nested);
    if (is_listed) splat_names_free(names, n);
    return status;
}

splat_status splat_photo_list_read(const char *source, const char *images, splat_photo_list *list, splat_error *error)
{
    *list = (splat_photo_list){.fingerprint = FNV_BEGIN};
    char *folder = splat_photo_folder_find(source, images);
    if (!folder) return fail_without_photos(source, images, error);
    bool deep = strcmp(folder, source) != 0;
    list->folder = realpath(folder, NULL);
    free(folder);
    if (!list->folder) return splat_fail_errno(error, source, "find the folder of the photos");
    return add_folder(list, "", deep, 0, error);
}

static bool same_folder(const char *a, const char *b)
{
    size_t length = (size_t)(splat_basename(a) - a);
    return length == (size_t)(splat_basename(b) - b) && memcmp(a, b, length) == 0;
}

splat_sharing splat_photo_list_get_sharing(const splat_photo_list *list)
{
    splat_sharing sharing = SPLAT_SHARING_ALL;
    for (size_t i = 1; i < list->n; i++) {
        size_t before = i; /* the nearest of the same folder; between them may stand its sub-folders */
        while (before > 0 && !same_folder(list->names[before - 1], list->names[i])) before--;
        if (list->cameras[i] != list->cameras[i - 1]) sharing = SPLAT_SHARING_FOLDERS;
        if (before > 0 && list->cameras[i] != list->cameras[before - 1]) return SPLAT_SHARING_NONE;
    }
    return sharing;
}

void splat_photo_list_free(splat_photo_list *list)
{
    for (size_t i = 0; i < list->n; i++) free(list->names[i]);
    free(list->names);
    free(list->cameras);
    free(list->folder);
    free(list->unreadable);
    free(list->broken_name);
    free(list->other);
    *list = (splat_photo_list){0};
}
