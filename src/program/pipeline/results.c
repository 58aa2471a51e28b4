/* The results that the stages of a pipeline leave, and how a later run finds them. */
#include "pipeline/results.h"

#include "base/error.h"
#include "base/file.h"
#include "pipeline/stage_file.h"
#include "stage/checkpoints.h"
#include "splatsmith.h"

#include <dirent.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool splat_pipeline_join(char path[SPLAT_PIPELINE_PATH], const char *folder, const char *name)
{
    size_t length = strlen(folder);
    const char *separator = length && folder[length - 1] == '/' ? "" : "/";
    return snprintf(path, SPLAT_PIPELINE_PATH, "%s%s%s", folder, separator, name) < SPLAT_PIPELINE_PATH;
}

/* ---------------------------------------------------------------- splats */

bool splat_pipeline_has_checkpoint(const char *folder)
{
    return splat_checkpoint_newest(folder) >= 0;
}

static int is_checkpoint(const struct dirent *entry)
{
    return splat_checkpoint_number(entry->d_name) >= 0;
}

static int newest_first(const struct dirent **a, const struct dirent **b)
{
    int first = splat_checkpoint_number((*a)->d_name), second = splat_checkpoint_number((*b)->d_name);
    return (first < second) - (first > second);
}

void splat_pipeline_remove_checkpoints(const char *folder, int n_kept)
{
    struct dirent **entries = NULL;
    char path[SPLAT_PIPELINE_PATH];
    int n = scandir(folder, &entries, is_checkpoint, newest_first);
    for (int i = 0; i < n; i++) {
        if (i >= n_kept && snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name) < (int)sizeof path)
            unlink(path);
        free(entries[i]);
    }
    free(entries);
}

/* NAME.tmp-XXXXXX, as the library's saves are called until they are complete. */
static int delete_temporary(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    const char *mark = strstr(path + place->base, ".tmp-");
    (void)status;
    if (kind == FTW_F && mark && mark > path + place->base && strlen(mark) == strlen(".tmp-XXXXXX")) unlink(path);
    return 0;
}

void splat_pipeline_delete_temporaries(const char *folder)
{
    (void)nftw(folder, delete_temporary, 8, FTW_PHYS); /* what cannot be deleted does no harm */
}

static splat_status set_file(splat_pipeline_splat *splat, const char *text, splat_error *error)
{
    if (snprintf(splat->file, sizeof splat->file, "%s", text) < (int)sizeof splat->file) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the path %.200s... is too long", text);
}

splat_status splat_pipeline_find_splat(const char *path, int iteration, splat_pipeline_splat *splat, splat_error *error)
{
    splat_model_info info;
    char file[SPLAT_PIPELINE_PATH + 64];
    memset(splat, 0, sizeof *splat);
    splat->iteration = -1;
    if (!splat_path_is_folder(path)) {
        SPLAT_TRY(splat_model_describe(path, &info, error));
        return set_file(splat, path, error);
    }
    int checkpoint = iteration < 0 ? splat_checkpoint_newest(path) : -1;
    SPLAT_TRY(set_file(splat, path, error));
    memcpy(splat->folder, splat->file, sizeof splat->folder);
    splat_status status = splat_model_find_iteration(path, iteration, splat->file, sizeof splat->file,
                                                     &splat->iteration, error);
    if (status == SPLAT_OK && splat->iteration >= checkpoint) return SPLAT_OK;
    if (checkpoint < 0) return status;
    splat->iteration = checkpoint; /* a run that was stopped, or that was to write no PLY */
    snprintf(file, sizeof file, "%s/chkpnt%d.splatsmith", path, checkpoint);
    return set_file(splat, file, error);
}

/* ---------------------------------------------------------------- meshes */

/* The counts in the header of a PLY that this program wrote. */
static void read_counts(const char *path, json_t *mesh)
{
    char line[256];
    uint64_t n;
    FILE *in = fopen(path, "rb");
    for (int i = 0; in && i < 64 && fgets(line, sizeof line, in) && strncmp(line, "end_header", 10) != 0; i++) {
        if (sscanf(line, "element vertex %" SCNu64, &n) == 1)
            json_object_set_new(mesh, "n_vertices", json_integer((json_int_t)n));
        if (sscanf(line, "element face %" SCNu64, &n) == 1)
            json_object_set_new(mesh, "n_faces", json_integer((json_int_t)n));
    }
    if (in) fclose(in);
}

static int is_ply(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".ply") == 0;
}

static void append_mesh(const splat_pipeline_place *p, const char *path, json_t *meshes)
{
    json_t *mesh = json_object();
    splat_stage_json_set_text(mesh, "path", path + strlen(p->folder) + 1);
    read_counts(path, mesh);
    json_array_append_new(meshes, mesh);
}

/* The PLYs of a folder. Returns whether there are any. */
static bool mesh_results(const splat_pipeline_place *p, const char *folder, json_t *results)
{
    struct dirent **entries = NULL;
    json_t *meshes = json_array();
    char path[SPLAT_PIPELINE_PATH];
    int n = scandir(folder, &entries, is_ply, alphasort);
    for (int i = 0; i < n; i++) {
        if (splat_pipeline_join(path, folder, entries[i]->d_name)) append_mesh(p, path, meshes);
        free(entries[i]);
    }
    free(entries);
    json_object_set_new(results, "meshes", meshes);
    return json_array_size(meshes) > 0;
}

/* Adds the figures of the mesh next to a splat. */
static bool bound_mesh_results(const splat_pipeline_place *p, json_t *results)
{
    char path[SPLAT_PIPELINE_PATH];
    json_t *meshes = json_array();
    const char *splat = splat_stage_json_text(results, "splat"), *slash = strrchr(splat, '/');
    bool fits = slash && snprintf(path, sizeof path, "%s/%.*s/mesh.ply", p->folder, (int)(slash - splat), splat) <
                             (int)sizeof path;
    if (fits && splat_path_exists(path)) append_mesh(p, path, meshes);
    json_object_set_new(results, "meshes", meshes);
    return json_array_size(meshes) > 0;
}

/* ---------------------------------------------------------------- other files */

static int is_result(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "stage.json") != 0 &&
           strcmp(entry->d_name, "stage.json.tmp") != 0;
}

/* All files of a folder, GLB first, which stands alone (coarser levels of a mesh after it), and the sky last. */
static bool file_results(const splat_pipeline_place *p, const char *folder, json_t *results)
{
    struct dirent **entries = NULL;
    json_t *files = json_array();
    size_t n_first = 0, n_last = 0;
    int n = scandir(folder, &entries, is_result, alphasort);
    for (int i = 0; i < n; i++) {
        char path[SPLAT_PIPELINE_PATH];
        size_t length = strlen(entries[i]->d_name);
        bool first = length > 4 && strcmp(entries[i]->d_name + length - 4, ".glb") == 0;
        size_t end = json_array_size(files) - n_last;
        if (splat_pipeline_join(path, folder, entries[i]->d_name))
            json_array_insert_new(files, first ? n_first : end, json_string(path + strlen(p->folder) + 1));
        n_first += first;
        n_last += strcmp(entries[i]->d_name, "sky.safetensors") == 0;
        free(entries[i]);
    }
    free(entries);
    json_object_set_new(results, "files", files);
    return json_array_size(files) > 0;
}

/* ---------------------------------------------------------------- results */

static splat_status splat_results(const splat_pipeline_place *p, const char *folder, json_t *results,
                                  splat_error *error)
{
    splat_pipeline_splat splat;
    splat_model_info info;
    SPLAT_TRY(splat_pipeline_find_splat(folder, -1, &splat, error));
    SPLAT_TRY(splat_model_describe(splat.file, &info, error));
    splat_stage_json_set_text(results, "splat", splat.file + strlen(p->folder) + 1);
    json_object_set_new(results, "iteration", json_integer(splat.iteration));
    json_object_set_new(results, "n_gaussians", json_integer((json_int_t)info.n_gaussians));
    return SPLAT_OK;
}

static splat_status collect(const splat_pipeline_place *p, const splat_pipeline_product *stage, const char *folder,
                            json_t *results, splat_error *error)
{
    const char *lacks = NULL;
    const bool has_splat = (stage->makes & SPLAT_PIPELINE_SPLAT) != 0;
    if (has_splat) SPLAT_TRY(splat_results(p, folder, results, error));
    if ((stage->makes & SPLAT_PIPELINE_MESH) &&
        !(has_splat ? bound_mesh_results(p, results) : mesh_results(p, folder, results)))
        lacks = "mesh";
    if ((stage->makes & SPLAT_PIPELINE_FILES) && !file_results(p, folder, results)) lacks = "file";
    if (!lacks) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_IO, "the stage %s left no %s in %s", stage->name, lacks, folder);
}

splat_status splat_pipeline_collect(const splat_pipeline_place *p, const splat_pipeline_product *stage,
                                    const char *folder, json_t **results, splat_error *error)
{
    *results = json_object();
    splat_status status = collect(p, stage, folder, *results, error);
    if (status == SPLAT_OK) return SPLAT_OK;
    json_decref(*results);
    *results = NULL;
    return status;
}

/* The path of a result in the pipeline's folder, and whether it exists. */
static bool result_exists(const splat_pipeline_place *p, const char *inside, char path[SPLAT_PIPELINE_PATH])
{
    if (!inside[0] || strlen(p->folder) + strlen(inside) + 2 > SPLAT_PIPELINE_PATH) return false;
    return splat_pipeline_join(path, p->folder, inside) && splat_path_exists(path);
}

bool splat_pipeline_take_results(splat_pipeline_place *p, const splat_pipeline_product *stage, const char *folder,
                                 const json_t *results, char missing[SPLAT_PIPELINE_PATH])
{
    const json_t *meshes = json_object_get(results, "meshes"), *files = json_object_get(results, "files");
    bool all = (!(stage->makes & SPLAT_PIPELINE_MESH) || json_array_size(meshes) > 0) &&
               (!(stage->makes & SPLAT_PIPELINE_FILES) || json_array_size(files) > 0);
    char mesh[SPLAT_PIPELINE_PATH] = "", splat[SPLAT_PIPELINE_PATH] = "";
    for (size_t i = 0; all && i < json_array_size(files); i++) {
        const char *file = json_string_value(json_array_get(files, i));
        all = result_exists(p, file ? file : "", missing);
    }
    for (size_t i = json_array_size(meshes); all && i-- > 0;) { /* the first of them stays */
        all = result_exists(p, splat_stage_json_text(json_array_get(meshes, i), "path"), missing);
        memcpy(mesh, missing, sizeof mesh);
    }
    if (all && (stage->makes & SPLAT_PIPELINE_SPLAT)) {
        all = result_exists(p, splat_stage_json_text(results, "splat"), missing);
        memcpy(splat, missing, sizeof splat);
    }
    if (!all) return false;
    if (stage->makes & SPLAT_PIPELINE_MESH) memcpy(p->mesh, mesh, sizeof p->mesh);
    if (!(stage->makes & SPLAT_PIPELINE_SPLAT)) return true;
    memcpy(p->splat.file, splat, sizeof p->splat.file);
    snprintf(p->splat.folder, sizeof p->splat.folder, "%s", folder);
    p->splat.iteration = (int)json_integer_value(json_object_get(results, "iteration"));
    p->is_bound = (stage->makes & SPLAT_PIPELINE_MESH) != 0;
    return true;
}

const char *splat_pipeline_result_text(const splat_pipeline_place *p, const json_t *results,
                                       char text[SPLAT_PIPELINE_TEXT])
{
    const json_t *mesh = json_array_get(json_object_get(results, "meshes"), 0);
    const char *file = json_string_value(json_array_get(json_object_get(results, "files"), 0));
    char path[SPLAT_PIPELINE_PATH], bytes[32];
    struct stat status;
    text[0] = '\0';
    size_t length = 0;
    if (json_object_get(results, "n_gaussians"))
        length = (size_t)snprintf(text, SPLAT_PIPELINE_TEXT, "%" JSON_INTEGER_FORMAT " Gaussians%s",
                                  json_integer_value(json_object_get(results, "n_gaussians")), mesh ? ", " : "");
    if (mesh)
        snprintf(text + length, SPLAT_PIPELINE_TEXT - length,
                 "%" JSON_INTEGER_FORMAT " vertices, %" JSON_INTEGER_FORMAT " faces",
                 json_integer_value(json_object_get(mesh, "n_vertices")),
                 json_integer_value(json_object_get(mesh, "n_faces")));
    if (file && snprintf(path, sizeof path, "%s/%s", p->folder, file) < (int)sizeof path && stat(path, &status) == 0) {
        const char *slash = strrchr(file, '/');
        snprintf(text, SPLAT_PIPELINE_TEXT, "%.*s, %s", SPLAT_PIPELINE_TEXT / 2, slash ? slash + 1 : file,
                 splat_bytes_format((uint64_t)status.st_size, bytes, sizeof bytes));
    }
    return text;
}

const char *splat_pipeline_quality_text(const json_t *results, char text[32])
{
    const json_t *psnr = json_object_get(results, "test_psnr");
    text[0] = '\0';
    if (psnr) snprintf(text, 32, "%.2f dB", json_number_value(psnr));
    return text;
}

const char *splat_pipeline_result_path(const json_t *results)
{
    const json_t *files = json_object_get(results, "files"), *splat = json_object_get(results, "splat");
    const char *file = json_string_value(json_array_get(files, 0));
    if (file) return file;
    return splat ? splat_stage_json_text(results, "splat")
                 : splat_stage_json_text(json_array_get(json_object_get(results, "meshes"), 0), "path");
}
