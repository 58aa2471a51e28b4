/* The results of a pipeline under fixed names in its folder, where users and other programs look for them. */
#include "pipeline.h"
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where a file system has no hard links. */
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

/* The same file, or a copy of it that is as long and not older. */
static bool is_placed(const char *from, const char *to)
{
    struct stat a, b;
    if (stat(from, &a) != 0 || stat(to, &b) != 0) return false;
    bool newer = b.st_mtim.tv_sec > a.st_mtim.tv_sec ||
                 (b.st_mtim.tv_sec == a.st_mtim.tv_sec && b.st_mtim.tv_nsec >= a.st_mtim.tv_nsec);
    return (a.st_dev == b.st_dev && a.st_ino == b.st_ino) || (a.st_size == b.st_size && newer);
}

/* The file at `from` is then at `to` as well; what was there stays until that is so. */
static bool place(const char *from, const char *to, const char *temporary)
{
    if (is_placed(from, to)) return true;
    unlink(temporary);
    if ((link(from, temporary) == 0 || copy_file(from, temporary)) && rename(temporary, to) == 0) return true;
    int reason = errno;
    unlink(temporary);
    errno = reason;
    return false;
}

static int publish(const pipeline *p, const char *inside, const char *name, json_t *files)
{
    char from[CLI_PATH_MAX], to[CLI_PATH_MAX], temporary[CLI_PATH_MAX];
    if (!cli_path_join(from, p->folder, inside) || !cli_path_join(to, p->folder, name)) return CLI_USAGE;
    if (snprintf(temporary, sizeof temporary, "%s.tmp", to) >= (int)sizeof temporary) {
        cli_error("the path %.200s... is too long", to);
        return CLI_USAGE;
    }
    if (!place(from, to, temporary)) {
        cli_error("cannot put %s to %s: %s", from, to, strerror(errno));
        return CLI_FAILED;
    }
    json_array_append_new(files, json_string(name));
    return CLI_OK;
}

int pipeline_publish(const pipeline *p, const pipeline_stage *stage, const json_t *results, json_t *files)
{
    const json_t *wanted = json_object_get(results, "files");
    const char *mesh = stage_json_text(json_array_get(json_object_get(results, "meshes"), 0), "path");
    int code = CLI_OK;
    for (size_t i = 0; i < json_array_size(wanted) && code == CLI_OK; i++) {
        const char *inside = json_string_value(json_array_get(wanted, i)), *slash = strrchr(inside, '/');
        code = publish(p, inside, slash ? slash + 1 : inside, files);
    }
    if (code == CLI_OK && stage->splat_name)
        code = publish(p, stage_json_text(results, "splat"), stage->splat_name, files);
    return code == CLI_OK && stage->mesh_name ? publish(p, mesh, stage->mesh_name, files) : code;
}

static bool has_name(const json_t *files, const char *name)
{
    for (size_t i = 0; i < json_array_size(files); i++)
        if (strcmp(json_string_value(json_array_get(files, i)), name) == 0) return true;
    return false;
}

void pipeline_unpublish(const pipeline *p, const json_t *before, const json_t *files)
{
    char path[CLI_PATH_MAX];
    struct stat status;
    for (size_t i = 0; i < json_array_size(before); i++) {
        const char *name = json_string_value(json_array_get(before, i));
        if (!name || !name[0] || name[0] == '.' || strchr(name, '/') || strcmp(name, "pipeline.json") == 0 ||
            has_name(files, name) || !cli_path_join(path, p->folder, name))
            continue;
        if (lstat(path, &status) == 0 && S_ISREG(status.st_mode)) unlink(path);
    }
}
