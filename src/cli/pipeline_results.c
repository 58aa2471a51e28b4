/* What the stages of a pipeline leave, and finding it again. */
#include "pipeline.h"
#include "progress.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---------------------------------------------------------------- splats */

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool pipeline_has_checkpoint(const char *folder)
{
    return cli_newest_checkpoint(folder) >= 0;
}

void pipeline_remove_checkpoints(const char *folder)
{
    char path[CLI_PATH_MAX];
    DIR *stream = opendir(folder);
    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (cli_checkpoint_number(entry->d_name) >= 0 &&
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path)
            unlink(path);
    if (stream) closedir(stream);
}

static int set_file(pipeline_splat *splat, const char *text)
{
    if (snprintf(splat->file, sizeof splat->file, "%s", text) < (int)sizeof splat->file) return CLI_OK;
    cli_error("the path %.200s... is too long", text);
    return CLI_USAGE;
}

int pipeline_find_splat(const char *path, int iteration, pipeline_splat *splat)
{
    splat_error error;
    memset(splat, 0, sizeof *splat);
    splat->iteration = -1;
    if (!is_folder(path)) {
        splat_model_info info;
        if (splat_model_describe(path, &info, &error) != SPLAT_OK) return cli_report(&error);
        return set_file(splat, path);
    }
    char file[CLI_PATH_MAX + 64];
    int checkpoint = iteration < 0 ? cli_newest_checkpoint(path) : -1;
    int code = set_file(splat, path);
    if (code != CLI_OK) return code;
    memcpy(splat->folder, splat->file, sizeof splat->folder);
    splat_status status = splat_model_find_iteration(path, iteration, splat->file, sizeof splat->file,
                                                     &splat->iteration, &error);
    if (status == SPLAT_OK && splat->iteration >= checkpoint) return CLI_OK;
    if (checkpoint < 0) return cli_report(&error);
    splat->iteration = checkpoint; /* a run that was stopped, or that was to write no PLY */
    snprintf(file, sizeof file, "%s/chkpnt%d.splatsmith", path, checkpoint);
    return set_file(splat, file);
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

static json_t *mesh_results(const pipeline_stage *stage, const char *folder)
{
    struct dirent **entries = NULL;
    json_t *results = json_object(), *meshes = json_array();
    int n = scandir(folder, &entries, is_ply, alphasort);
    for (int i = 0; i < n; i++) {
        char path[CLI_PATH_MAX + 256], inside[300];
        json_t *mesh = json_object();
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        snprintf(inside, sizeof inside, "%s/%s", stage->name, entries[i]->d_name);
        stage_json_set_text(mesh, "path", inside);
        read_counts(path, mesh);
        json_array_append_new(meshes, mesh);
        free(entries[i]);
    }
    free(entries);
    json_object_set_new(results, "meshes", meshes);
    if (n > 0) return results;
    json_decref(results);
    cli_error("the stage %s left no mesh in %s", stage->name, folder);
    return NULL;
}

/* ---------------------------------------------------------------- results */

static json_t *splat_results(const pipeline *p, const char *folder, const cli_outcome *outcome)
{
    pipeline_splat splat;
    splat_model_info info;
    splat_error error;
    if (pipeline_find_splat(folder, -1, &splat) != CLI_OK) return NULL;
    if (splat_model_describe(splat.file, &info, &error) != SPLAT_OK) {
        cli_report(&error);
        return NULL;
    }
    json_t *results = json_object();
    stage_json_set_text(results, "splat", splat.file + strlen(p->folder) + 1);
    json_object_set_new(results, "iteration", json_integer(splat.iteration));
    json_object_set_new(results, "n_gaussians", json_integer((json_int_t)info.n_gaussians));
    if (outcome->psnr_iteration) json_object_set_new(results, "test_psnr", json_real(outcome->psnr));
    return results;
}

json_t *pipeline_results(const pipeline *p, const pipeline_stage *stage, const char *folder,
                         const cli_outcome *outcome)
{
    return stage->makes_splat ? splat_results(p, folder, outcome) : mesh_results(stage, folder);
}

/* The path of a result in the pipeline's folder, and whether it exists. */
static bool result_exists(const pipeline *p, const char *inside, char path[CLI_PATH_MAX])
{
    return snprintf(path, CLI_PATH_MAX, "%s/%s", p->folder, inside) < CLI_PATH_MAX && inside[0] &&
           cli_path_exists(path);
}

bool pipeline_take_results(pipeline *p, const pipeline_stage *stage, const char *folder, const json_t *results,
                           char missing[CLI_PATH_MAX])
{
    if (!stage->makes_splat) {
        const json_t *meshes = json_object_get(results, "meshes");
        bool all = json_array_size(meshes) > 0;
        for (size_t i = json_array_size(meshes); all && i-- > 0;)
            all = result_exists(p, stage_json_text(json_array_get(meshes, i), "path"), missing);
        if (all) memcpy(p->mesh, missing, sizeof p->mesh); /* the first */
        return all;
    }
    if (!result_exists(p, stage_json_text(results, "splat"), missing)) return false;
    memcpy(p->splat.file, missing, sizeof p->splat.file);
    snprintf(p->splat.folder, sizeof p->splat.folder, "%s", folder);
    p->splat.iteration = (int)json_integer_value(json_object_get(results, "iteration"));
    return true;
}

const char *pipeline_result_text(const json_t *results, char text[CLI_TEXT_MAX])
{
    const json_t *meshes = json_object_get(results, "meshes"), *mesh = json_array_get(meshes, 0);
    const json_t *psnr = json_object_get(results, "test_psnr");
    text[0] = '\0';
    if (mesh)
        snprintf(text, CLI_TEXT_MAX, "%" JSON_INTEGER_FORMAT " vertices, %" JSON_INTEGER_FORMAT " faces",
                 json_integer_value(json_object_get(mesh, "n_vertices")),
                 json_integer_value(json_object_get(mesh, "n_faces")));
    else if (json_object_get(results, "n_gaussians"))
        snprintf(text, CLI_TEXT_MAX, "%" JSON_INTEGER_FORMAT " Gaussians%s",
                 json_integer_value(json_object_get(results, "n_gaussians")), psnr ? ", test PSNR " : "");
    size_t length = strlen(text);
    if (psnr) snprintf(text + length, CLI_TEXT_MAX - length, "%.2f dB", json_number_value(psnr));
    return text;
}

const char *pipeline_result_path(const json_t *results)
{
    const json_t *meshes = json_object_get(results, "meshes");
    return meshes ? stage_json_text(json_array_get(meshes, 0), "path") : stage_json_text(results, "splat");
}
