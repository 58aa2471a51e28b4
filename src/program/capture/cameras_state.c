/* A stage is noted only when its result is whole, so nothing half-written is taken for finished. */
#include "capture/cameras_state.h"

#include "base/file.h"
#include "io/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORMAT "splatsmith cameras"

static const char *const sharing_names[] = {"one", "one a folder", "one a photo"};
static const char *const matcher_names[] = {"auto", "exhaustive", "sequential", "vocab_tree"};
static const char *const mapper_names[] = {"auto", "incremental", "global"};
static const char *const quality_names[] = {"auto", "low", "medium", "high"};

static splat_status fail_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the state of finding cameras");
}

/* ---------------------------------------------------------------- the folder */

/* Refuses a folder whose scene another program, or the user, made. */
static splat_status refuse_other_scene(const splat_cameras_work *work, splat_error *error)
{
    static const char *const names[] = {"sparse", "database.db", "transforms.json", "transforms_train.json"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = splat_format("%s/%s", work->folder, names[i]);
        bool found = path && splat_path_exists(path);
        free(path);
        if (found)
            return splat_fail_at(error, SPLAT_ERROR_IO, work->folder, SPLAT_NO_OFFSET,
                                 "the folder to write holds something else: it has %s and no cameras.json; name "
                                 "another with `output`", names[i]);
    }
    return SPLAT_OK;
}

static bool is_ours(const json_t *state)
{
    const char *format = json_string_value(json_object_get(state, "format"));
    return format && strcmp(format, FORMAT) == 0;
}

static char *state_path(const splat_cameras_work *work)
{
    return splat_format("%s/cameras.json", work->folder);
}

splat_status splat_cameras_folder_open(splat_cameras_work *work, splat_error *error)
{
    SPLAT_TRY(splat_folder_create(work->options->folder, error));
    work->folder = realpath(work->options->folder, NULL);
    if (!work->folder) return splat_fail_errno(error, work->options->folder, "find the folder");
    work->images = splat_format("%s/images", work->folder);
    work->database = splat_format("%s/database.db", work->folder);
    work->sparse = splat_format("%s/sparse", work->folder);
    work->partial = splat_format("%s/sparse.partial", work->folder);
    work->log = splat_format("%s/colmap.log", work->folder);
    work->list = splat_format("%s/photos.txt", work->folder);
    work->pairs = splat_format("%s/pairs.txt", work->folder);
    char *path = state_path(work);
    if (!path || !work->images || !work->database || !work->sparse || !work->partial || !work->log || !work->list ||
        !work->pairs) {
        free(path);
        return fail_memory(error);
    }
    bool exists = splat_path_exists(path);
    if (exists && splat_json_read(path, &work->state, NULL) != SPLAT_OK) work->state = NULL;
    free(path);
    if (!exists) SPLAT_TRY(refuse_other_scene(work, error));
    if (!is_ours(work->state)) {
        json_decref(work->state);
        work->state = json_object();
        splat_json_set(&work->state, "format", json_string(FORMAT));
        splat_json_set(&work->state, "stages", json_object());
    }
    return work->state ? SPLAT_OK : fail_memory(error);
}

splat_status splat_cameras_state_write(const splat_cameras_work *work, splat_error *error)
{
    char *path = state_path(work), *text = splat_json_print(work->state, JSON_INDENT(2));
    splat_status status = path && text ? splat_file_write(path, text, strlen(text), error) : fail_memory(error);
    free(path);
    free(text);
    return status;
}

/* ---------------------------------------------------------------- stages */

static json_t *stages(const splat_cameras_work *work)
{
    return json_object_get(work->state, "stages");
}

bool splat_cameras_is_done(const splat_cameras_work *work, const char *stage)
{
    return json_object_get(stages(work), stage) != NULL;
}

splat_status splat_cameras_set_done(splat_cameras_work *work, const char *stage, double seconds, splat_error *error)
{
    json_t *row = json_object();
    if (!row || json_object_set_new(row, "seconds", json_real(seconds)) != 0 ||
        json_object_set(stages(work), stage, row) != 0) {
        json_decref(row);
        return fail_memory(error);
    }
    json_decref(row);
    return splat_cameras_state_write(work, error);
}

splat_matcher splat_cameras_state_get_matcher(const splat_cameras_work *work)
{
    const char *name = json_string_value(json_object_get(work->state, "matcher"));
    for (int i = SPLAT_MATCHER_SEQUENTIAL; i <= SPLAT_MATCHER_VOCAB_TREE; i++)
        if (name && strcmp(name, matcher_names[i]) == 0) return (splat_matcher)i;
    return SPLAT_MATCHER_EXHAUSTIVE;
}

static void forget(const splat_cameras_work *work, const char *stage)
{
    json_object_del(stages(work), stage);
}

splat_status splat_cameras_state_forget(splat_cameras_work *work, const char *stage, splat_error *error)
{
    forget(work, stage);
    return splat_cameras_state_write(work, error);
}

/* ---------------------------------------------------------------- what it is made of */

/* Sets a text; whether the state said another one. What it did not say is no difference. */
static bool differs(splat_cameras_work *work, const char *key, const char *expected)
{
    const char *had = json_string_value(json_object_get(work->state, key));
    bool other = had && strcmp(had, expected) != 0;
    splat_json_set(&work->state, key, splat_json_text(expected));
    return other;
}

/* Another word for the same quality is no difference. */
static bool is_other_quality(splat_cameras_work *work, bool program)
{
    const char *had = json_string_value(json_object_get(work->state, "quality"));
    const char *asked = quality_names[work->options->quality];
    bool is_same = had && strcmp(had, asked) == 0;
    bool other = differs(work, "quality_asked", asked) && !is_same;
    return (program && differs(work, "quality", quality_names[work->quality])) || other;
}

/* The reason to begin again, NULL: none. All keys are set in any case. */
static const char *difference(splat_cameras_work *work, bool program)
{
    char fingerprint[32];
    const char *reason = NULL;
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, work->photos.fingerprint);
    if (program && differs(work, "colmap", work->program.version)) reason = "COLMAP is another version";
    if (is_other_quality(work, program)) reason = "the quality of features is another";
    if (differs(work, "camera_model", work->camera_model)) reason = "the camera model is another";
    if (differs(work, "cameras", sharing_names[work->sharing])) reason = "photos share cameras in another way";
    if (differs(work, "fingerprint", fingerprint)) reason = "the photos have changed";
    if (differs(work, "photos", work->photos.folder)) reason = "the photos are others";
    return reason;
}

splat_status splat_cameras_delete_database(const splat_cameras_work *work, splat_error *error)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        char *path = splat_format("%s%s", work->database, endings[i]);
        if (!path) return fail_memory(error);
        bool good = unlink(path) == 0 || errno == ENOENT;
        splat_status status = good ? SPLAT_OK : splat_fail_errno(error, path, "delete the database");
        free(path);
        SPLAT_TRY(status);
    }
    return SPLAT_OK;
}

static splat_status delete_results(const splat_cameras_work *work, splat_error *error)
{
    SPLAT_TRY(splat_cameras_delete_database(work, error));
    SPLAT_TRY(splat_folder_delete(work->partial, error));
    return splat_folder_delete(work->sparse, error);
}

splat_status splat_cameras_state_settle(splat_cameras_work *work, bool program, splat_error *error)
{
    const char *reason = difference(work, program);
    bool other_pairs = differs(work, "matcher_asked", matcher_names[work->options->matcher]);
    other_pairs |= differs(work, "vocab_tree", work->options->vocab_tree ? work->options->vocab_tree : "");
    if (program) other_pairs |= differs(work, "matcher", matcher_names[work->matcher]);
    if (differs(work, "mapper_asked", mapper_names[work->options->mapper])) forget(work, "mapping");
    if (!work->state) return fail_memory(error);
    if (!splat_path_exists(work->database) && splat_cameras_is_done(work, "features")) reason = "database.db is gone";
    if (splat_cameras_is_done(work, "mapping") && !splat_path_is_folder(work->sparse)) forget(work, "mapping");
    if (!reason && !other_pairs) return SPLAT_OK;
    if (splat_cameras_is_done(work, "features") || splat_path_exists(work->database))
        splat_cameras_say(work, SPLAT_LOG_NOTICE, "the cameras of %s are looked for again: %s", work->folder,
                          reason ? reason : "other pairs of photos are compared");
    forget(work, "matches");
    forget(work, "mapping");
    if (!reason) return SPLAT_OK;
    forget(work, "features");
    SPLAT_TRY(splat_cameras_state_write(work, error)); /* first: what it says is complete must exist */
    return delete_results(work, error);
}
