/* stage.json read, compared and replaced atomically. */
#include "pipeline/stage_file.h"
#include "backend/threads.h"
#include "base/error.h"
#include "pipeline/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define FILE_MAX ((size_t)1 << 20) /* ours has a few thousand bytes */
#define FORMAT "splatsmith stage"

/* ---------------------------------------------------------------- JSON */

const char *splat_stage_json_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

void splat_stage_json_set_text(json_t *object, const char *key, const char *text)
{
    json_t *value = json_string(text);
    char *plain = value ? NULL : strdup(text);
    for (char *c = plain; c && *c; c++)
        if ((unsigned char)*c >= 0x80) *c = '?';
    json_object_set_new(object, key, value ? value : json_string(plain ? plain : ""));
    free(plain);
}

static bool write_all(int descriptor, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t n = write(descriptor, text, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text += n;
        size -= (size_t)n;
    }
    return true;
}

/* The rename is on the disk once its folder is. */
static void flush_folder(const char *path)
{
    char folder[SPLAT_PIPELINE_PATH];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash) *slash = '\0';
    int descriptor = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    (void)fsync(descriptor); /* not every file system can; the file itself is flushed */
    close(descriptor);
}

static bool replace_file(const char *path, const char *text, size_t size)
{
    char temporary[SPLAT_PIPELINE_PATH];
    errno = ENAMETOOLONG;
    if (snprintf(temporary, sizeof temporary, "%s.tmp", path) >= (int)sizeof temporary) return false;
    int descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor < 0) return false;
    bool ok = write_all(descriptor, text, size) && fsync(descriptor) == 0;
    int reason = errno;
    if (close(descriptor) != 0 && ok) {
        ok = false;
        reason = errno;
    }
    if (ok && rename(temporary, path) == 0) {
        flush_folder(path);
        return true;
    }
    if (ok) reason = errno;
    unlink(temporary);
    errno = reason;
    return false;
}

splat_status splat_stage_json_write(const char *path, json_t *root, splat_error *error)
{
    char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    splat_status status = SPLAT_OK;
    json_decref(root);
    if (!text)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "memory is exhausted");
    else if (!replace_file(path, text, strlen(text)))
        status = splat_fail(error, SPLAT_ERROR_IO, "cannot write %s: %s", path, strerror(errno));
    free(text);
    return status;
}

json_t *splat_stage_json_load(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return NULL; /* a FIFO would wait for its writer */
    return json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
}

/* The checksum of `bytes` of a file from `begin` on. Returns 0, or the number of the system's error. */
static int checksum_piece(int descriptor, off_t begin, size_t bytes, uLong *crc)
{
    enum { CHUNK = 1 << 18 };
    unsigned char *chunk = malloc(CHUNK);
    int reason = chunk ? 0 : ENOMEM;
    *crc = crc32(0, NULL, 0);
    for (size_t done = 0; done < bytes && !reason;) {
        const size_t wanted = bytes - done < CHUNK ? bytes - done : CHUNK;
        const ssize_t n = pread(descriptor, chunk, wanted, begin + (off_t)done);
        if (n < 0 && errno == EINTR) continue;
        reason = n > 0 ? 0 : n < 0 ? errno : EIO; /* it became shorter */
        if (n > 0) *crc = crc32(*crc, chunk, (uInt)n);
        done += n > 0 ? (size_t)n : 0;
    }
    free(chunk);
    return reason;
}

/* Threads share the pieces of a file: splats have hundreds of megabytes. */
static int checksum(int descriptor, size_t bytes, uLong *crc)
{
    enum { PIECE = 16 << 20, MOST_THREADS = 8 };
    const size_t n = bytes / PIECE + 1;
    const int threads = n > 1 ? splat_startable_threads(MOST_THREADS) : 1;
    uLong *parts = malloc(n * sizeof *parts);
    int reason = parts ? 0 : ENOMEM;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t i = 0; i < (parts ? n : 0); i++) {
        const size_t begin = i * PIECE, most = bytes - begin;
        const int own = checksum_piece(descriptor, (off_t)begin, most < PIECE ? most : PIECE, &parts[i]);
#pragma omp critical(splat_checksum)
        if (own) reason = own;
    }
    *crc = crc32(0, NULL, 0);
    for (size_t i = 0; i < n && !reason; i++)
        *crc = crc32_combine(*crc, parts[i], (z_off_t)(i + 1 < n ? PIECE : bytes - i * PIECE));
    free(parts);
    return reason;
}

splat_status splat_stage_json_set_content(json_t *object, const char *path, splat_error *error)
{
    struct stat status;
    uLong crc;
    char text[16];
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) /* a FIFO would wait for its writer */
        return splat_fail(error, SPLAT_ERROR_IO, "this is not a regular file (%s)", path);
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    int reason = descriptor < 0 || fstat(descriptor, &status) != 0 ? errno : 0;
    if (!reason) reason = checksum(descriptor, (size_t)status.st_size, &crc);
    if (descriptor >= 0) close(descriptor);
    if (reason) return splat_fail(error, SPLAT_ERROR_IO, "cannot read %s: %s", path, strerror(reason));
    snprintf(text, sizeof text, "%08lx", crc);
    json_object_set_new(object, "bytes", json_integer(status.st_size));
    splat_stage_json_set_text(object, "crc32", text);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the file of a stage */

static bool is_texts(const json_t *object)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object)) return false;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
        if (!json_is_string(value)) return false;
    return true;
}

static uint64_t bytes_of(const json_t *root, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(root, key));
    return value > 0 ? (uint64_t)value : 0;
}

/* Taken from a parsed file; false when it is not one of ours. */
static bool take(splat_stage_file *file, const json_t *root, const char *stage)
{
    json_t *complete = json_object_get(root, "complete"), *settings = json_object_get(root, "settings");
    json_t *inputs = json_object_get(root, "inputs"), *results = json_object_get(root, "results");
    json_t *seconds = json_object_get(root, "seconds");
    if (strcmp(splat_stage_json_text(root, "format"), FORMAT) != 0 ||
        strcmp(splat_stage_json_text(root, "stage"), stage) != 0 || !json_is_boolean(complete) || !is_texts(settings) ||
        !json_is_object(inputs) || !json_is_number(seconds) || !(json_number_value(seconds) >= 0) ||
        (json_is_true(complete) && !json_is_object(results)))
        return false;
    file->complete = json_is_true(complete);
    file->seconds = json_number_value(seconds);
    file->peak_bytes = bytes_of(root, "peak_bytes");
    file->host_peak_bytes = bytes_of(root, "host_peak_bytes");
    file->settings = json_incref(settings);
    file->inputs = json_incref(inputs);
    file->results = json_is_object(results) ? json_incref(results) : NULL;
    return true;
}

splat_stage_file_state splat_stage_file_read(const char *path, const char *stage, splat_stage_file *file)
{
    memset(file, 0, sizeof *file);
    struct stat status;
    if (stat(path, &status) != 0) return errno == ENOENT ? SPLAT_STAGE_FILE_ABSENT : SPLAT_STAGE_FILE_DAMAGED;
    if (!S_ISREG(status.st_mode) || status.st_size < 0 || (uint64_t)status.st_size > FILE_MAX)
        return SPLAT_STAGE_FILE_DAMAGED;
    json_t *root = splat_stage_json_load(path);
    bool ok = root && take(file, root, stage);
    json_decref(root);
    return ok ? SPLAT_STAGE_FILE_READ : SPLAT_STAGE_FILE_DAMAGED;
}

splat_status splat_stage_file_write(const char *path, const char *stage, const splat_stage_file *file,
                                    splat_error *error)
{
    json_t *root = json_object();
    json_object_set_new(root, "format", json_string(FORMAT));
    json_object_set_new(root, "stage", json_string(stage));
    json_object_set_new(root, "complete", json_boolean(file->complete));
    json_object_set_new(root, "version", json_string(splat_version()));
    json_object_set(root, "settings", file->settings);
    json_object_set(root, "inputs", file->inputs);
    json_object_set_new(root, "seconds", json_real(file->seconds));
    json_object_set_new(root, "peak_bytes", json_integer((json_int_t)file->peak_bytes));
    json_object_set_new(root, "host_peak_bytes", json_integer((json_int_t)file->host_peak_bytes));
    if (file->results) json_object_set(root, "results", file->results);
    return splat_stage_json_write(path, root, error);
}

void splat_stage_file_free(splat_stage_file *file)
{
    json_decref(file->settings);
    json_decref(file->inputs);
    json_decref(file->results);
    memset(file, 0, sizeof *file);
}
