/* The results of a pipeline under fixed names in its folder, where users and other programs look for them. */
#include "pipeline/publish.h"

#include "base/error.h"
#include "base/file.h"
#include "pipeline/results.h"
#include "pipeline/stage_file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The same file, or a copy of it that is as long and not older. */
static bool is_placed(const char *from, const char *to)
{
    struct stat a, b;
    if (stat(from, &a) != 0 || stat(to, &b) != 0) return false;
    bool newer = b.st_mtim.tv_sec > a.st_mtim.tv_sec ||
                 (b.st_mtim.tv_sec == a.st_mtim.tv_sec && b.st_mtim.tv_nsec >= a.st_mtim.tv_nsec);
    return (a.st_dev == b.st_dev && a.st_ino == b.st_ino) || (a.st_size == b.st_size && newer);
}

static splat_status publish(const splat_pipeline_place *p, const char *inside, const char *name, json_t *files,
                            splat_error *error)
{
    char from[SPLAT_PIPELINE_PATH], to[SPLAT_PIPELINE_PATH];
    if (!splat_pipeline_join(from, p->folder, inside) || !splat_pipeline_join(to, p->folder, name))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the path %.200s... is too long", p->folder);
    if (!is_placed(from, to)) SPLAT_TRY(splat_file_share(from, to, error));
    json_array_append_new(files, json_string(name));
    return SPLAT_OK;
}

splat_status splat_pipeline_publish(const splat_pipeline_place *p, const splat_pipeline_product *stage,
                                    const json_t *results, json_t *files, splat_error *error)
{
    const json_t *wanted = json_object_get(results, "files");
    const char *mesh = splat_stage_json_text(json_array_get(json_object_get(results, "meshes"), 0), "path");
    for (size_t i = 0; i < json_array_size(wanted); i++) {
        const char *inside = json_string_value(json_array_get(wanted, i)), *slash = strrchr(inside, '/');
        SPLAT_TRY(publish(p, inside, slash ? slash + 1 : inside, files, error));
    }
    if (stage->splat_name)
        SPLAT_TRY(publish(p, splat_stage_json_text(results, "splat"), stage->splat_name, files, error));
    return stage->mesh_name ? publish(p, mesh, stage->mesh_name, files, error) : SPLAT_OK;
}

static bool has_name(const json_t *files, const char *name)
{
    for (size_t i = 0; i < json_array_size(files); i++)
        if (strcmp(json_string_value(json_array_get(files, i)), name) == 0) return true;
    return false;
}

void splat_pipeline_unpublish(const splat_pipeline_place *p, const json_t *before, const json_t *files)
{
    char path[SPLAT_PIPELINE_PATH];
    struct stat status;
    for (size_t i = 0; i < json_array_size(before); i++) {
        const char *name = json_string_value(json_array_get(before, i));
        if (!name || !name[0] || name[0] == '.' || strchr(name, '/') || strcmp(name, "pipeline.json") == 0 ||
            has_name(files, name) || !splat_pipeline_join(path, p->folder, name))
            continue;
        if (lstat(path, &status) == 0 && S_ISREG(status.st_mode)) unlink(path);
    }
}
