/* Files that look like poses of another program and are none: users must hear of them before COLMAP begins. */
#include "capture/cameras_parts.h"

#include "base/file.h"

#include <stdlib.h>
#include <strings.h>
#include <string.h>

#define N_NAMED 5 /* a folder may have a JSON for each photo */

static const struct {
    const char *ending, *reason;
} kinds[] = {
    {".xml", "its first 4 KiB do not have the elements <document and <chunk of Metashape"},
    {".csv", "its first 4 KiB have no line that begins with #name, the header of RealityCapture"},
    {".json", "poses are read from transforms.json, transforms_train.json, metadata.json and reconstruction.json"},
};
#define N_KINDS (sizeof kinds / sizeof kinds[0])

static bool ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), n = strlen(ending);
    return length > n && strcasecmp(name + length - n, ending) == 0;
}

/* The reason why the file is not read: what the system says, else what its kind lacks. */
static splat_status say_refused(const splat_cameras_work *work, const char *name, const char *usual,
                                splat_error *error)
{
    char *path = splat_format("%s/%s", work->options->source, name);
    splat_error problem;
    FILE *stream;
    uint64_t size;
    if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    bool is_open = splat_file_open_stream(path, &stream, &size, &problem) == SPLAT_OK;
    if (is_open) fclose(stream);
    splat_cameras_say(work, SPLAT_LOG_WARNING, "no poses are read from %s: %s. If it holds the poses of the photos, "
                      "export it again; COLMAP looks for the cameras instead", path, is_open ? usual : problem.message);
    free(path);
    return SPLAT_OK;
}

splat_status splat_cameras_say_refused_poses(const splat_cameras_work *work, splat_error *error)
{
    const char *source = work->options->source;
    char **names;
    size_t n, n_refused = 0;
    SPLAT_TRY(splat_folder_list(source, &names, &n, error));
    splat_status status = SPLAT_OK;
    for (size_t kind = 0; kind < N_KINDS; kind++)
        for (size_t i = 0; i < n && status == SPLAT_OK; i++) {
            if (!ends_with(names[i], kinds[kind].ending)) continue;
            if (n_refused++ < N_NAMED) status = say_refused(work, names[i], kinds[kind].reason, error);
        }
    splat_names_free(names, n);
    if (status == SPLAT_OK && n_refused > N_NAMED)
        splat_cameras_say(work, SPLAT_LOG_WARNING, "%zu more .xml, .csv and .json files of %s hold no poses that are "
                          "read", n_refused - N_NAMED, source);
    return status;
}
