/* The folder that a command writes: its name; --delete_first: what may be deleted, and deleting it. */
#include "stage/folder.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* True if the last name of a path is "." or "..": with a suffix it would be another name, and hidden. */
static bool ends_in_dots(const char *path, size_t length)
{
    size_t begin = length;
    while (begin > 0 && path[begin - 1] != '/') begin--;
    size_t n = length - begin;
    return (n == 1 && path[begin] == '.') || (n == 2 && path[begin] == '.' && path[begin + 1] == '.');
}

splat_status splat_stage_join(char path[SPLAT_STAGE_PATH], const char *folder, const char *name, splat_error *error)
{
    size_t length = strlen(folder);
    const char *separator = length && folder[length - 1] == '/' ? "" : "/";
    if (snprintf(path, SPLAT_STAGE_PATH, "%s%s%s", folder, separator, name) < SPLAT_STAGE_PATH) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the path %.200s... is too long", folder);
}

splat_status splat_stage_choose_folder(char path[SPLAT_STAGE_PATH], const char *requested, const char *source,
                                       const char *suffix, const char *name, splat_error *error)
{
    const char *base = requested ? requested : source;
    size_t length = strlen(base);
    while (length > 1 && base[length - 1] == '/') length--;
    char real[SPLAT_STAGE_PATH]; /* as long as realpath's longest; that of its own would need memory */
    if (!requested && ends_in_dots(base, length) && realpath(base, real)) {
        base = real;
        length = strlen(real);
    }
    int written = requested ? snprintf(path, SPLAT_STAGE_PATH, "%.*s", (int)length, base)
                        : snprintf(path, SPLAT_STAGE_PATH, "%.*s%s/%s", (int)length, base, suffix, name);
    if (written < SPLAT_STAGE_PATH) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the path %.200s... is too long", base);
}

static bool has_entry(const char *folder, const char *name)
{
    char path[SPLAT_STAGE_PATH];
    return splat_stage_join(path, folder, name, NULL) == SPLAT_OK && splat_path_exists(path);
}

/* -1 when the folder cannot be read. */
static int is_empty(const char *folder)
{
    DIR *stream = opendir(folder);
    if (!stream) return -1;
    int empty = 1;
    for (struct dirent *entry; empty && (entry = readdir(stream));)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    closedir(stream);
    return empty;
}

bool splat_stage_lies_in(const char *path, const char *folder)
{
    char real[SPLAT_STAGE_PATH], real_folder[SPLAT_STAGE_PATH];
    if (!path || !realpath(path, real) || !realpath(folder, real_folder)) return false;
    size_t length = strlen(real_folder);
    return strncmp(real, real_folder, length) == 0 && (real[length] == '/' || real[length] == '\0');
}

/* The reason as the end of a sentence, NULL when the folder may go. */
static const char *reason_to_keep(const char *folder, const char *source_path, const char *start_checkpoint)
{
    const char *reason = NULL;
    int empty = is_empty(folder);
    if (empty < 0)
        reason = errno == ENOMEM ? "memory is exhausted" : "it cannot be read";
    else if (!empty && !has_entry(folder, "cfg_args") && !has_entry(folder, "point_cloud"))
        reason = "it is no model folder: it has neither cfg_args nor point_cloud";
    else if (splat_stage_lies_in(".", folder))
        reason = "the current folder lies in it";
    else if (splat_stage_lies_in(source_path, folder))
        reason = "the scene lies in it";
    else if (splat_stage_lies_in(start_checkpoint, folder))
        reason = "the checkpoint to start from lies in it";
    return reason;
}

splat_status splat_stage_check_deletable(const char *folder, const char *source_path, const char *start_checkpoint,
                                         splat_error *error)
{
    struct stat status;
    const char *reason = NULL;
    if (lstat(folder, &status) != 0) {
        if (errno == ENOENT) return SPLAT_OK;
        reason = strerror(errno);
    } else if (S_ISLNK(status.st_mode)) {
        reason = "it is a link";
    } else if (!S_ISDIR(status.st_mode)) {
        reason = "it is not a folder";
    } else {
        reason = reason_to_keep(folder, source_path, start_checkpoint);
    }
    if (!reason) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`delete_first` does not delete %s, because %s", folder, reason);
}

splat_status splat_stage_create_folder(const char *path, splat_error *error)
{
    char text[SPLAT_STAGE_PATH];
    snprintf(text, sizeof text, "%s", path);
    for (char *at = text + 1;; at++) {
        if (*at && *at != '/') continue;
        char kept = *at;
        *at = '\0';
        if (mkdir(text, 0777) != 0 && errno != EEXIST)
            return splat_fail(error, SPLAT_ERROR_IO, "cannot create the folder %s: %s", text, strerror(errno));
        if (!(*at = kept)) return SPLAT_OK;
    }
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

splat_status splat_stage_delete_folder(const char *folder, splat_error *error)
{
    if (!splat_path_exists(folder)) return SPLAT_OK;
    if (nftw(folder, remove_entry, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) == 0) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_IO, "cannot delete %s: %s", folder, strerror(errno));
}
