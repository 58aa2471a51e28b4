#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *splat_format(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) text = NULL;
    va_end(arguments);
    return text;
}

splat_status splat_file_read(const char *path, uint8_t **data, size_t *size, splat_error *error)
{
    *data = NULL;
    *size = 0;
    FILE *stream = fopen(path, "rb");
    if (!stream) return splat_fail_errno(error, path, "open the file");
    struct stat status;
    if (fstat(fileno(stream), &status) != 0 || !S_ISREG(status.st_mode)) {
        fclose(stream);
        return splat_fail_at(error, SPLAT_ERROR_IO, path, SPLAT_NO_OFFSET, "this is not a regular file");
    }
    size_t length = (size_t)status.st_size;
    uint8_t *bytes = malloc(length + 1);
    if (!bytes) {
        fclose(stream);
        return splat_fail_at(error, SPLAT_ERROR_MEMORY, path, SPLAT_NO_OFFSET, "no memory for %zu bytes", length);
    }
    size_t n_read = fread(bytes, 1, length, stream);
    bool failed = ferror(stream) != 0 || n_read != length;
    fclose(stream);
    if (failed) {
        free(bytes);
        return splat_fail_at(error, SPLAT_ERROR_IO, path, n_read, "reading stopped before the end of the file");
    }
    bytes[length] = 0;
    *data = bytes;
    *size = length;
    return SPLAT_OK;
}

splat_status splat_save_open(splat_save *save, const char *path, splat_error *error)
{
    memset(save, 0, sizeof *save);
    save->path = strdup(path);
    save->temporary = splat_format("%s.tmp-XXXXXX", path);
    if (!save->path || !save->temporary) {
        splat_save_abort(save);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to save a file");
    }
    int descriptor = mkstemp(save->temporary);
    if (descriptor < 0) {
        splat_status status = splat_fail_errno(error, path, "create the file");
        free(save->temporary);
        save->temporary = NULL;
        splat_save_abort(save);
        return status;
    }
    mode_t mask = umask(0); /* mkstemp makes 0600; give the file the mode a plain open would have given */
    umask(mask);
    if (fchmod(descriptor, 0666 & ~mask) != 0) { /* a file system without modes: nothing to do */
    }
    save->stream = fdopen(descriptor, "wb");
    if (!save->stream) {
        splat_status status = splat_fail_errno(error, path, "create the file");
        close(descriptor);
        splat_save_abort(save);
        return status;
    }
    return SPLAT_OK;
}

static void flush_folder_of(const char *path)
{
    char *folder = strdup(path);
    if (!folder) return;
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    int descriptor = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY);
    if (descriptor >= 0) {
        fsync(descriptor); /* some file systems refuse this; the rename itself has happened */
        close(descriptor);
    }
    free(folder);
}

splat_status splat_save_commit(splat_save *save, splat_error *error)
{
    bool earlier = ferror(save->stream) != 0; /* the reason of an earlier write is no longer in errno */
    bool good = !earlier && fflush(save->stream) == 0 && fsync(fileno(save->stream)) == 0;
    if (fclose(save->stream) != 0) good = false;
    save->stream = NULL;
    if (good) good = rename(save->temporary, save->path) == 0;
    splat_status status = SPLAT_OK;
    if (good) {
        free(save->temporary);
        save->temporary = NULL;
        flush_folder_of(save->path);
    } else if (earlier) {
        status = splat_fail_at(error, SPLAT_ERROR_IO, save->path, SPLAT_NO_OFFSET,
                               "cannot write the file: the disk is full or failing; the old file is unchanged");
    } else {
        status = splat_fail_errno(error, save->path, "write the file");
    }
    splat_save_abort(save);
    return status;
}

void splat_save_abort(splat_save *save)
{
    if (save->stream) fclose(save->stream);
    if (save->temporary) unlink(save->temporary);
    free(save->temporary);
    free(save->path);
    memset(save, 0, sizeof *save);
}

splat_status splat_file_write(const char *path, const void *data, size_t size, splat_error *error)
{
    splat_save save;
    SPLAT_TRY(splat_save_open(&save, path, error));
    if (size) fwrite(data, 1, size, save.stream);
    return splat_save_commit(&save, error);
}

bool splat_path_exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

bool splat_path_is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

splat_status splat_folder_create(const char *path, splat_error *error)
{
    char *copy = strdup(path);
    if (!copy) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = SPLAT_OK;
    for (char *p = copy + 1; status == SPLAT_OK; p++) {
        if (*p != '/' && *p != '\0') continue;
        char kept = *p;
        *p = '\0';
        if (mkdir(copy, 0777) != 0 && !splat_path_is_folder(copy))
            status = splat_fail_errno(error, copy, "create the folder");
        *p = kept;
        if (kept == '\0') break;
    }
    free(copy);
    return status;
}

splat_status splat_folder_delete(const char *path, splat_error *error)
{
    struct stat information;
    if (lstat(path, &information) != 0) {
        if (errno == ENOENT) return SPLAT_OK;
        return splat_fail_errno(error, path, "look at the path");
    }
    if (!S_ISDIR(information.st_mode)) {
        if (unlink(path) != 0) return splat_fail_errno(error, path, "delete the file");
        return SPLAT_OK;
    }
    char **names;
    size_t n;
    SPLAT_TRY(splat_folder_list(path, &names, &n, error));
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) {
        char *child = splat_format("%s/%s", path, names[i]);
        status = child ? splat_folder_delete(child, error)
                       : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
        free(child);
    }
    splat_names_free(names, n);
    if (status == SPLAT_OK && rmdir(path) != 0) status = splat_fail_errno(error, path, "delete the folder");
    return status;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

splat_status splat_folder_list(const char *path, char ***names, size_t *n, splat_error *error)
{
    *names = NULL;
    *n = 0;
    DIR *folder = opendir(path);
    if (!folder) return splat_fail_errno(error, path, "open the folder");
    size_t capacity = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (*n == capacity) {
            capacity = capacity ? 2 * capacity : 64;
            char **grown = realloc(*names, capacity * sizeof **names);
            if (!grown) goto no_memory;
            *names = grown;
        }
        if (!((*names)[*n] = strdup(entry->d_name))) goto no_memory;
        (*n)++;
    }
    closedir(folder);
    if (*n) qsort(*names, *n, sizeof **names, compare_names);
    return SPLAT_OK;
no_memory:
    closedir(folder);
    splat_names_free(*names, *n);
    *names = NULL;
    *n = 0;
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to list a folder");
}

void splat_names_free(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++) free(names[i]);
    free(names);
}

const char *splat_basename(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool splat_name_is_inside(const char *name)
{
    if (!*name || *name == '/' || strchr(name, '\\')) return false;
    for (const char *part = name; part;) {
        const char *slash = strchr(part, '/');
        size_t length = slash ? (size_t)(slash - part) : strlen(part);
        if (length == 2 && part[0] == '.' && part[1] == '.') return false;
        part = slash ? slash + 1 : NULL;
    }
    return true;
}
