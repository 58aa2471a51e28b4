/* Files on Linux: what is read must be a regular file; saves go to a temporary file that is renamed. */
#include "base/file.h"

#include "base/array.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

char *splat_path_word(const char *path)
{
    return splat_format("%s%s", path[0] == '/' ? "" : "./", path);
}

char *splat_pattern_word(const char *folder, const char *name)
{
    const char *prefix = folder[0] == '/' ? "" : "./";
    char *word = malloc(strlen(prefix) + 2 * strlen(folder) + 1 + strlen(name) + 1), *to = word;
    if (!word) return NULL;
    to = stpcpy(to, prefix);
    for (; *folder; folder++) {
        *to++ = *folder;
        if (*folder == '%') *to++ = '%';
    }
    *to++ = '/';
    strcpy(to, name);
    return word;
}

char *splat_format(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) text = NULL;
    va_end(arguments);
    return text;
}

/* Without O_NONBLOCK, opening a FIFO would wait for its writer; regular files do not mind the flag. */
splat_status splat_file_open(const char *path, int *descriptor, uint64_t *size, splat_error *error)
{
    struct stat status;
    *size = 0;
    *descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*descriptor < 0) return splat_fail_errno(error, path, "open the file");
    if (fstat(*descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
        *size = (uint64_t)status.st_size;
        return SPLAT_OK;
    }
    close(*descriptor);
    *descriptor = -1;
    return splat_fail_at(error, SPLAT_ERROR_IO, path, SPLAT_NO_OFFSET, "this is not a regular file");
}

splat_status splat_file_open_stream(const char *path, FILE **stream, uint64_t *size, splat_error *error)
{
    int descriptor;
    *stream = NULL;
    SPLAT_TRY(splat_file_open(path, &descriptor, size, error));
    *stream = fdopen(descriptor, "rb");
    if (*stream) return SPLAT_OK;
    close(descriptor);
    return splat_fail_errno(error, path, "open the file");
}

splat_status splat_file_read(const char *path, uint8_t **data, size_t *size, splat_error *error)
{
    FILE *stream;
    uint64_t file_bytes;
    *data = NULL;
    *size = 0;
    SPLAT_TRY(splat_file_open_stream(path, &stream, &file_bytes, error));
    size_t length = (size_t)file_bytes;
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

/* ---------------------------------------------------------------- atomic saves */

/* All bytes of a save go through here: short writes are completed, and the reason of a failure is kept, which stdio
 * would lose. */
static ssize_t write_save(void *cookie, const char *data, size_t size)
{
    splat_save *save = cookie;
    size_t done = 0;
    while (done < size && !save->failure) {
        ssize_t n = write(save->descriptor, data + done, size - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            save->failure = n == 0 ? ENOSPC : errno;
    }
    if (save->failure) errno = save->failure;
    return save->failure ? 0 : (ssize_t)done;
}

static splat_status fail_save(splat_save *save, const char *doing, splat_error *error)
{
    splat_status status = splat_fail_at(error, errno == ENOMEM ? SPLAT_ERROR_MEMORY : SPLAT_ERROR_IO, save->path,
                                        SPLAT_NO_OFFSET, "cannot %s the file: %s%s", doing, strerror(errno),
                                        save->in_place ? "" : "; what was there before is unchanged");
    splat_save_abort(save);
    return status;
}

/* The folder that a path lies in, malloc'd; NULL when memory is exhausted. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

#define MAX_LINKS 40 /* as many as Linux follows */

/* The file that a save to `path` replaces: where symbolic links lead, which need not exist yet. malloc'd; NULL: errno
 * says why. */
static char *follow_links(const char *path)
{
    char *at = strdup(path), link[PATH_MAX];
    for (int i = 0; at && i < MAX_LINKS; i++) {
        ssize_t length = readlink(at, link, sizeof link - 1);
        if (length < 0) return at; /* no link; whatever else is wrong, opening says it */
        link[length] = '\0';
        char *folder = link[0] == '/' ? NULL : folder_of(at);
        char *next = link[0] == '/' ? strdup(link) : folder ? splat_format("%s/%s", folder, link) : NULL;
        free(folder);
        free(at);
        at = next;
    }
    errno = at ? ELOOP : ENOMEM;
    free(at);
    return NULL;
}

/* The mode of the file that is replaced, else the one that a plain open would give. */
static mode_t mode_of_save(const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0) return status.st_mode & 0777;
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* A device, a pipe, a socket: a rename would put a file in its place. */
static bool is_special(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

static splat_status open_stream(splat_save *save, splat_error *error)
{
    save->stream = fopencookie(save, "w", (cookie_io_functions_t){.write = write_save});
    if (!save->stream) return fail_save(save, "create", error);
    setvbuf(save->stream, NULL, _IOFBF, 1 << 16);
    return SPLAT_OK;
}

splat_status splat_save_open(splat_save *save, const char *path, splat_error *error)
{
    memset(save, 0, sizeof *save);
    save->descriptor = -1;
    save->path = follow_links(path);
    if (!save->path) return splat_fail_errno(error, path, "save the file");
    save->in_place = is_special(path);
    if (save->in_place) {
        save->descriptor = open(path, O_WRONLY | O_CLOEXEC);
        return save->descriptor >= 0 ? open_stream(save, error) : fail_save(save, "open", error);
    }
    char *temporary = splat_format("%s.tmp-XXXXXX", save->path);
    if (!temporary) {
        splat_save_abort(save);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to save a file");
    }
    save->descriptor = mkostemp(temporary, O_CLOEXEC);
    if (save->descriptor < 0) {
        int reason = errno;
        free(temporary);
        errno = reason;
        return fail_save(save, "create", error);
    }
    save->temporary = temporary; /* from now on abort deletes it */
    if (fchmod(save->descriptor, mode_of_save(save->path)) != 0) { /* a file system without modes: nothing to do */
    }
    return open_stream(save, error);
}

static void flush_folder_of(const char *path)
{
    char *folder = folder_of(path);
    if (!folder) return;
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        fsync(descriptor); /* some file systems refuse this; the rename itself has happened */
        close(descriptor);
    }
    free(folder);
}

splat_status splat_save_commit(splat_save *save, splat_error *error)
{
    bool good = fflush(save->stream) == 0 && !ferror(save->stream);
    int failure = save->failure ? save->failure : good ? 0 : errno ? errno : EIO;
    fclose(save->stream);
    save->stream = NULL;
    if (!failure && !save->in_place && fsync(save->descriptor) != 0) failure = errno;
    if (close(save->descriptor) != 0 && !failure) failure = errno;
    save->descriptor = -1;
    if (!failure && !save->in_place && rename(save->temporary, save->path) != 0) failure = errno;
    if (failure) {
        errno = failure;
        return fail_save(save, "write", error);
    }
    free(save->temporary);
    save->temporary = NULL;
    if (!save->in_place) flush_folder_of(save->path);
    splat_save_abort(save);
    return SPLAT_OK;
}

void splat_save_abort(splat_save *save)
{
    int kept = errno;
    if (!save->failure) save->failure = ECANCELED; /* what is still in the buffer needs no writing */
    if (save->stream) fclose(save->stream);
    if (save->descriptor >= 0 && (save->temporary || save->in_place)) close(save->descriptor);
    if (save->temporary) unlink(save->temporary);
    free(save->temporary);
    free(save->path);
    memset(save, 0, sizeof *save);
    save->descriptor = -1;
    errno = kept;
}

splat_status splat_save_check(const char *path, splat_error *error)
{
    splat_save save;
    if (is_special(path)) return SPLAT_OK; /* opening a pipe would already be a message to its reader */
    SPLAT_TRY(splat_save_open(&save, path, error));
    splat_save_abort(&save);
    return SPLAT_OK;
}

splat_status splat_file_write(const char *path, const void *data, size_t size, splat_error *error)
{
    splat_save save;
    SPLAT_TRY(splat_save_open(&save, path, error));
    if (size) fwrite(data, 1, size, save.stream);
    return splat_save_commit(&save, error);
}

/* Copies a file, for file systems without hard links. */
static bool copy_file(const char *from, const char *to)
{
    enum { CHUNK = 1 << 20 };
    char *chunk = malloc(CHUNK);
    FILE *in = chunk ? fopen(from, "rbe") : NULL, *out = in ? fopen(to, "wbe") : NULL;
    bool good = out;
    for (size_t n; good && (n = fread(chunk, 1, CHUNK, in)) > 0;) good = fwrite(chunk, 1, n, out) == n;
    good = good && !ferror(in) && fflush(out) == 0 && fsync(fileno(out)) == 0;
    int reason = errno;
    if (in) fclose(in);
    if (out && fclose(out) != 0 && good) {
        good = false;
        reason = errno;
    }
    free(chunk);
    errno = reason;
    return good;
}

splat_status splat_file_share(const char *from, const char *to, splat_error *error)
{
    char *temporary = splat_format("%s.tmp", to);
    if (!temporary) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    unlink(temporary);
    splat_status status = SPLAT_OK;
    if ((link(from, temporary) != 0 && !copy_file(from, temporary)) || rename(temporary, to) != 0)
        status = splat_fail(error, SPLAT_ERROR_IO, "cannot put %s to %s: %s", from, to, strerror(errno));
    else flush_folder_of(to);
    unlink(temporary); /* after a failure; and rename does nothing where both are the same file already */
    free(temporary);
    return status;
}

splat_status splat_disk_check(const char *path, uint64_t bytes, splat_error *error)
{
    const uint64_t margin = 16 << 20;
    struct statvfs disk;
    char *file = follow_links(path), *folder = file ? folder_of(file) : NULL;
    free(file);
    if (!folder) return splat_fail_errno(error, path, "save the file");
    int failed = statvfs(folder, &disk);
    free(folder);
    if (failed || disk.f_blocks == 0) return SPLAT_OK; /* it does not tell; the writes will */
    uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (free_bytes >= margin && free_bytes - margin >= bytes) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_IO, path, SPLAT_NO_OFFSET,
                         "the file needs %.1f MB and %.0f MB to spare, but its disk has only %.1f MB free; make room "
                         "or use another folder",
                         1e-6 * (double)bytes, 1e-6 * (double)margin, 1e-6 * (double)free_bytes);
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

bool splat_path_is_link(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
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
        if (mkdir(copy, 0777) != 0) {
            int reason = errno; /* looking at the path sets another one */
            bool is_there = splat_path_is_folder(copy);
            errno = reason;
            if (!is_there && reason == EEXIST)
                status = splat_fail_at(error, SPLAT_ERROR_IO, copy, SPLAT_NO_OFFSET,
                                       "a file is where the folder should be; name another folder, or move the file");
            else if (!is_there)
                status = splat_fail_errno(error, copy, "create the folder");
        }
        *p = kept;
        if (kept == '\0') break;
    }
    free(copy);
    return status;
}

splat_status splat_folder_create_for(const char *path, splat_error *error)
{
    char *folder = folder_of(path);
    if (!folder) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_folder_create(folder, error);
    free(folder);
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
        char **grown = splat_array_grow(*names, &capacity, *n, sizeof **names);
        if (!grown) goto no_memory;
        *names = grown;
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

/* NAME.tmp-XXXXXX, as splat_save_open makes it. */
static bool is_temporary(const char *name)
{
    static const char mark[] = ".tmp-";
    size_t length = strlen(name), random = 6;
    if (length <= strlen(mark) + random) return false;
    const char *end = name + length - random;
    for (size_t i = 0; i < random; i++)
        if (!isalnum((unsigned char)end[i])) return false;
    return memcmp(end - strlen(mark), mark, strlen(mark)) == 0;
}

size_t splat_temporaries_delete(const char *folder)
{
    char **names;
    size_t n, n_deleted = 0;
    if (splat_folder_list(folder, &names, &n, NULL) != SPLAT_OK) return 0;
    for (size_t i = 0; i < n; i++) {
        char *path = is_temporary(names[i]) ? splat_format("%s/%s", folder, names[i]) : NULL;
        n_deleted += path && unlink(path) == 0;
        free(path);
    }
    splat_names_free(names, n);
    return n_deleted;
}

const char *splat_basename(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool splat_name_ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), n = strlen(ending);
    return length > n && strcmp(name + length - n, ending) == 0;
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
