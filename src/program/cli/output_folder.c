/* The folder that a command writes: its name; --delete_first: what may be deleted, and deleting it. */
#include "cli.h"
#include "progress.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether the last name of a path is "." or "..": with something after it, it would be another name, and hidden. */
static bool ends_in_dots(const char *path, size_t length)
{
    size_t begin = length;
    while (begin > 0 && path[begin - 1] != '/') begin--;
    size_t n = length - begin;
    return (n == 1 && path[begin] == '.') || (n == 2 && path[begin] == '.' && path[begin + 1] == '.');
}

bool cli_choose_folder(char path[CLI_PATH_MAX], const char *given, const char *beside, const char *suffix,
                       const char *name)
{
    const char *base = given ? given : beside;
    size_t length = strlen(base);
    while (length > 1 && base[length - 1] == '/') length--;
    char real[CLI_PATH_MAX]; /* as long as realpath's longest; that of its own would need memory */
    if (!given && ends_in_dots(base, length) && realpath(base, real)) {
        base = real;
        length = strlen(real);
    }
    int written = given ? snprintf(path, CLI_PATH_MAX, "%.*s", (int)length, base)
                        : snprintf(path, CLI_PATH_MAX, "%.*s%s/%s", (int)length, base, suffix, name);
    if (written >= CLI_PATH_MAX) cli_error("the path %.200s... is too long", base);
    return written < CLI_PATH_MAX;
}

static bool has_entry(const char *folder, const char *name)
{
    char path[CLI_PATH_MAX];
    return cli_path_join(path, folder, name) && cli_path_exists(path);
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

bool cli_lies_in(const char *path, const char *folder)
{
    char real[CLI_PATH_MAX], real_folder[CLI_PATH_MAX];
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
    else if (cli_lies_in(".", folder))
        reason = "the current folder lies in it";
    else if (cli_lies_in(source_path, folder))
        reason = "the scene lies in it";
    else if (cli_lies_in(start_checkpoint, folder))
        reason = "the checkpoint to start from lies in it";
    return reason;
}

int cli_check_deletable(const char *folder, const char *source_path, const char *start_checkpoint)
{
    struct stat status;
    const char *reason = NULL;
    if (lstat(folder, &status) != 0) {
        if (errno == ENOENT) return CLI_OK;
        reason = strerror(errno);
    } else if (S_ISLNK(status.st_mode)) {
        reason = "it is a link";
    } else if (!S_ISDIR(status.st_mode)) {
        reason = "it is not a folder";
    } else {
        reason = reason_to_keep(folder, source_path, start_checkpoint);
    }
    if (!reason) return CLI_OK;
    cli_error("--delete_first does not delete %s, because %s", folder, reason);
    return CLI_USAGE;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

int cli_delete_folder(const char *folder)
{
    if (!cli_path_exists(folder)) return CLI_OK;
    if (nftw(folder, remove_entry, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) == 0) return CLI_OK;
    cli_error("cannot delete %s: %s", folder, strerror(errno));
    return CLI_FAILED;
}
