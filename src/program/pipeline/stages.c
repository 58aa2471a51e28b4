/* The stages of a pipeline, the options of each, and the record of the options that made a stage. */
#include "pipeline/stages.h"

#include "base/error.h"
#include "base/file.h"
#include "line/text.h"
#include "pipeline/measure.h"
#include "stage/coarse.h"
#include "stage/folder.h"
#include "stage/mesh.h"
#include "stage/ranks.h"
#include "stage/refine.h"
#include "stage/texture.h"
#include "stage/train.h"

#include <stdlib.h>
#include <string.h>

#define VALUE_MAX 16384 /* text of an option's value */
#define TRAIN_ITERATIONS 7000 /* SuGaR's; train by itself takes more */
#define CHECKPOINT_INTERVAL 1000
#define CHECKPOINT_SECONDS 15 /* a stage of seconds begins again in the time that its checkpoints would take */

/* ---------------------------------------------------------------- the stages */

static void begin_with_splat(const splat_pipeline_job *p, splat_line *line)
{
    line->model->model_path = p->at.splat.folder[0] ? p->at.splat.folder : NULL;
    line->model->ply = p->at.splat.file;
    line->model->iteration = p->at.splat.iteration;
}

static void preset_train(splat_line *line)
{
    line->train->iterations = TRAIN_ITERATIONS;
}

static void preset_refine(splat_line *line)
{
    line->refine->keep_rest = true;
    line->refine->fits_photos = true;
}

static void fill_train(const splat_pipeline_job *p, const char *folder, splat_pipeline_stage_line *stage)
{
    (void)p;
    stage->line.model->model_path = folder;
}

static void fill_coarse(const splat_pipeline_job *p, const char *folder, splat_pipeline_stage_line *stage)
{
    begin_with_splat(p, &stage->line);
    stage->line.output->path = folder;
}

static void fill_mesh(const splat_pipeline_job *p, const char *folder, splat_pipeline_stage_line *stage)
{
    const size_t n = p->line->pipeline->low_poly ? 200000 : p->line->pipeline->high_poly ? 1000000 : 0;
    begin_with_splat(p, &stage->line);
    snprintf(stage->path, sizeof stage->path, "%s/mesh.ply", folder);
    stage->line.output->path = stage->path;
    if (n) stage->line.mesh->target_vertices = n;
}

static void fill_refine(const splat_pipeline_job *p, const char *folder, splat_pipeline_stage_line *stage)
{
    stage->line.model->mesh_file = p->at.mesh;
    stage->line.model->gs_output_dir = p->at.splat.folder[0] ? p->at.splat.folder : p->at.splat.file;
    const char *dot = strrchr(p->at.splat.file, '.');
    if (dot && strcmp(dot, ".ply") == 0) /* a checkpoint is the newest */
        stage->line.model->iteration = p->at.splat.iteration;
    stage->line.output->path = folder;
    if (p->line->pipeline->low_poly || p->line->pipeline->high_poly)
        stage->line.refine->gaussians_per_triangle = p->line->pipeline->low_poly ? "6" : "1";
}

/* Without refinement the mesh of the stage before, which no Gaussians are bound to; the split is that of its splat. */
static void fill_texture(const splat_pipeline_job *p, const char *folder, splat_pipeline_stage_line *stage)
{
    char *split = stage->path + 2 * SPLAT_PIPELINE_PATH;
    stage->line.model->model_path = p->at.is_bound ? p->at.splat.folder : p->at.mesh;
    snprintf(stage->path, 2 * SPLAT_PIPELINE_PATH, "%s/textured.glb%s%s%s", folder,
             p->line->pipeline->export_obj ? "," : "", p->line->pipeline->export_obj ? folder : "",
             p->line->pipeline->export_obj ? "/textured.obj" : "");
    stage->line.output->path = stage->path;
    if (p->at.is_bound || !p->at.splat.folder[0]) return;
    if (splat_stage_join(split, p->at.splat.folder, "split.json", NULL) == SPLAT_OK && splat_path_exists(split))
        stage->line.scene->split_file = split;
}

static splat_status check_train(const splat_pipeline_job *p, const splat_line *line, splat_error *error)
{
    (void)p;
    return splat_stage_check_train(line, error);
}

/* Before the first stage has run, its last iteration is what it will be asked for. */
static splat_status check_coarse(const splat_pipeline_job *p, const splat_line *line, splat_error *error)
{
    const bool trains = !p->at.splat.file[0] && splat_line_given(p->line, "iterations");
    return splat_stage_check_coarse(line, trains ? p->line->train->iterations : p->at.splat.iteration, error);
}

static splat_status check_mesh(const splat_pipeline_job *p, const splat_line *line, splat_error *error)
{
    (void)p;
    return splat_stage_check_mesh(line, error);
}

static splat_status check_refine(const splat_pipeline_job *p, const splat_line *line, splat_error *error)
{
    (void)p;
    return splat_stage_check_refine(line, error);
}

static splat_status check_texture(const splat_pipeline_job *p, const splat_line *line, splat_error *error)
{
    const char *bound = line->texture->bake == SPLAT_BAKE_GAUSSIANS ? "bake gaussians"
                        : line->texture->postprocess_mesh           ? "postprocess_mesh"
                                                                    : NULL;
    if (bound && p->line->pipeline->skip_refine)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`%s` needs the Gaussians of the refinement, which `skip_refine` leaves out", bound);
    return splat_stage_check_texture(line, error);
}

static splat_status run_train(splat_line *line, splat_error *error)
{
    SPLAT_TRY(splat_ranks_count_gpus(line, error));
    return splat_training_of(line, splat_stage_begin_train, NULL, error);
}

static splat_status run_coarse(splat_line *line, splat_error *error)
{
    SPLAT_TRY(splat_ranks_count_gpus(line, error));
    return splat_training_of(line, splat_stage_begin_coarse, NULL, error);
}

static splat_status run_mesh(splat_line *line, splat_error *error)
{
    return splat_stage_mesh(line, error);
}

static splat_status run_refine(splat_line *line, splat_error *error)
{
    return splat_training_of(line, splat_stage_begin_refine, splat_stage_tell_mesh, error);
}

static splat_status run_texture(splat_line *line, splat_error *error)
{
    return splat_stage_texture(line, error);
}

const splat_pipeline_stage splat_pipeline_stages[] = {
    {.product = {.name = "train", .makes = SPLAT_PIPELINE_SPLAT}, .skipped_by = "gs_output_dir,coarse_checkpoint",
     .preset = preset_train, .fill = fill_train, .check = check_train, .run = run_train},
    {.product = {.name = "coarse", .makes = SPLAT_PIPELINE_SPLAT}, .skipped_by = "skip_coarse,coarse_checkpoint",
     .fill = fill_coarse, .check = check_coarse, .run = run_coarse},
    {.product = {.name = "mesh", .makes = SPLAT_PIPELINE_MESH}, .fill = fill_mesh, .check = check_mesh,
     .run = run_mesh},
    {.product = {.name = "refine", .makes = SPLAT_PIPELINE_SPLAT | SPLAT_PIPELINE_MESH, .splat_name = "refined.ply",
                 .mesh_name = "refined_mesh.ply"},
     .skipped_by = "skip_refine", .preset = preset_refine, .fill = fill_refine, .check = check_refine,
     .run = run_refine},
    {.product = {.name = "texture", .makes = SPLAT_PIPELINE_FILES}, .skipped_by = "skip_texture", .fill = fill_texture,
     .check = check_texture, .run = run_texture, .measure = splat_pipeline_measure_mesh},
};
const size_t splat_pipeline_n_stages = sizeof splat_pipeline_stages / sizeof splat_pipeline_stages[0];

/* ---------------------------------------------------------------- options of the stages */

static const splat_line_command *command_of(const splat_pipeline_stage *stage)
{
    return splat_line_find_command(stage->product.name);
}

static bool has_option(const splat_pipeline_stage *stage, const splat_line_option *option)
{
    return (option->commands & command_of(stage)->bit) != 0;
}

/* Given, and not "--skip_coarse False". */
static bool is_on(const splat_line *line, const char *name)
{
    for (size_t i = 0; i < splat_line_n_options; i++)
        if (line->given[i] && strcmp(splat_line_options[i].name, name) == 0)
            return splat_line_options[i].kind != SPLAT_LINE_FLAG ||
                   *(const bool *)splat_line_field(line, &splat_line_options[i]);
    return false;
}

bool splat_pipeline_is_skipped(const splat_pipeline_stage *stage, const splat_line *line, char name[64])
{
    for (const char *rest = splat_line_next_name(stage->skipped_by, name); rest;
         rest = splat_line_next_name(rest, name))
        if (is_on(line, name)) return true;
    return false;
}

/* The pipeline sets these itself. */
static bool is_own(const char *name)
{
    static const char *const own[] = {
        "output",           "model_path",   "gs_output_dir", "ply",    "iteration", "experiment_name",
        "start_checkpoint", "delete_first", "mesh",          "deform", "help",      "quiet"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(own[i], name) == 0) return true;
    return false;
}

/* The value of a given option into the stage's option of the same name, which may be another field. Returns whether the
 * stage has one. */
static bool pass_option(const splat_pipeline_stage *stage, const splat_line_option *given, const splat_line *from,
                        splat_line *to)
{
    bool known = false;
    for (size_t i = 0; i < splat_line_n_options; i++) {
        const splat_line_option *option = &splat_line_options[i];
        if (!has_option(stage, option) || strcmp(option->name, given->name) != 0 ||
            splat_line_kind_size(option->kind) != splat_line_kind_size(given->kind))
            continue;
        known = true;
        if (!to) continue;
        memcpy(splat_line_field(to, option), splat_line_field(from, given), splat_line_kind_size(option->kind));
        to->given[i] = true;
    }
    return known;
}

splat_status splat_pipeline_stage_begin(const splat_pipeline_job *p, const splat_pipeline_stage *stage,
                                        const char *folder, splat_pipeline_stage_line *out, splat_error *error)
{
    splat_line *line = &out->line;
    memset(out, 0, sizeof *out);
    SPLAT_TRY(splat_line_init(line, command_of(stage), error));
    if (stage->product.makes & SPLAT_PIPELINE_SPLAT) {
        line->run->checkpoint_interval = CHECKPOINT_INTERVAL;
        line->run->checkpoint_seconds = CHECKPOINT_SECONDS;
    }
    if (stage->preset) stage->preset(line);
    for (size_t i = 0; i < splat_line_n_options; i++)
        if (p->line->given[i] && !is_own(splat_line_options[i].name))
            pass_option(stage, &splat_line_options[i], p->line, line);
    if (splat_line_given(p->line, "checkpoint_interval")) line->run->checkpoint_seconds = 0;
    line->machine->context.sole_user = p->line->machine->context.sole_user;
    line->command_text = p->line->command_text;
    line->talk = p->line->talk;
    line->outcome = &out->outcome;
    line->shared_viewer = p->viewer;
    line->kept_sky = p->sky;
    stage->fill(p, folder, out);
    return SPLAT_OK;
}

void splat_pipeline_tell_unused(const splat_line *line)
{
    for (size_t i = 0; i < splat_line_n_options; i++) {
        const splat_line_option *option = &splat_line_options[i];
        bool known = false, used = false;
        char name[64];
        if (!line->given[i] || is_own(option->name) || option->group == SPLAT_LINE_GROUP_IGNORED) continue;
        for (size_t k = 0; k < splat_pipeline_n_stages; k++) {
            bool has = pass_option(&splat_pipeline_stages[k], option, line, NULL);
            known = known || has;
            used = used || (has && !splat_pipeline_is_skipped(&splat_pipeline_stages[k], line, name));
        }
        if (known && !used) splat_notice(line->talk, "`%s` has no effect: its stage is left out", option->name);
    }
}

/* ---------------------------------------------------------------- what a stage is made with */

/* True if another value makes another result; options of computing, reporting and saving do not. */
static bool shapes_result(const splat_line_option *option)
{
    static const char *const storage[] = {"sh_degree", "sh_storage", "optimizer_storage", "optimize_memory"};
    static const char *const caches[] = {"image_cache_gb", "low_dram", "monitor_csv"};
    if (option->group == SPLAT_LINE_GROUP_SAVING || option->group == SPLAT_LINE_GROUP_MACHINE ||
        option->group == SPLAT_LINE_GROUP_GENERAL)
        return false;
    for (size_t i = 0; i < sizeof caches / sizeof caches[0]; i++)
        if (strcmp(option->name, caches[i]) == 0) return false;
    for (size_t i = 0; i < sizeof storage / sizeof storage[0]; i++)
        if (strcmp(option->name, storage[i]) == 0) return true;
    return option->group != SPLAT_LINE_GROUP_MEMORY;
}

/* Recorded even where it is the default, which may be another one some day. Defaults of numbers are not: they depend on
 * modes, so that their text need not be what the command takes. */
static bool is_mode(const splat_line_option *option)
{
    return (option->kind == SPLAT_LINE_CHOICE || option->kind == SPLAT_LINE_WORD) && shapes_result(option);
}

/* The options of its command; of the stage that writes files also the pipeline's own that names another one. */
static bool is_setting(const splat_pipeline_stage *stage, const splat_line_option *option)
{
    if ((stage->product.makes & SPLAT_PIPELINE_FILES) && strcmp(option->name, "export_obj") == 0) return true;
    return has_option(stage, option) && option->group != SPLAT_LINE_GROUP_IGNORED && !is_own(option->name) &&
           strcmp(option->name, "source_path") != 0;
}

/* A path in the pipeline's folder from there, another one absolute. */
static void set_path(const splat_pipeline_job *p, json_t *object, const char *key, const char *path)
{
    size_t length = strlen(p->at.folder);
    if (strncmp(path, p->at.folder, length) == 0 && path[length] == '/') {
        splat_stage_json_set_text(object, key, path + length + 1);
        return;
    }
    char real[SPLAT_PIPELINE_PATH];
    splat_stage_json_set_text(object, key, realpath(path, real) ? real : path);
}

/* A file that the stage begins with: path and content. "" is none. */
static splat_status add_input(const splat_pipeline_job *p, const char *kind, const char *path, json_t *inputs,
                              splat_error *error)
{
    if (!path[0]) return SPLAT_OK;
    json_t *input = json_object();
    set_path(p, input, "path", path);
    json_object_set_new(inputs, kind, input);
    return splat_stage_json_set_content(input, path, error);
}

splat_status splat_pipeline_describe(const splat_pipeline_job *p, const splat_pipeline_stage *stage,
                                     const splat_line *line, splat_stage_file *file, splat_error *error)
{
    char value[VALUE_MAX], usual[VALUE_MAX];
    memset(file, 0, sizeof *file);
    file->settings = json_object();
    file->inputs = json_object();
    for (size_t i = 0; i < splat_line_n_options; i++) {
        if (!is_setting(stage, &splat_line_options[i])) continue;
        const bool is_of_stage = has_option(stage, &splat_line_options[i]);
        splat_line_value_text(&splat_line_options[i], is_of_stage ? line : p->line, value, sizeof value);
        splat_line_default_text(&splat_line_options[i], usual, sizeof usual);
        if (is_mode(&splat_line_options[i]) || strcmp(value, usual) != 0)
            splat_stage_json_set_text(file->settings, splat_line_options[i].name, value);
    }
    splat_stage_json_set_text(file->inputs, "scene", p->at.scene);
    SPLAT_TRY(add_input(p, "cameras", p->at.cameras, file->inputs, error));
    SPLAT_TRY(add_input(p, "splat", p->at.splat.file, file->inputs, error));
    return add_input(p, "mesh", p->at.mesh, file->inputs, error);
}

static bool same_content(const json_t *a, const json_t *b)
{
    if (!a || !b) return a == b;
    return json_equal(json_object_get(a, "bytes"), json_object_get(b, "bytes")) &&
           json_equal(json_object_get(a, "crc32"), json_object_get(b, "crc32"));
}

static void input_difference(const json_t *had, const json_t *wanted, char *reason, size_t size)
{
    static const char *const kinds[] = {"cameras", "splat", "mesh"};
    const char *old_scene = splat_stage_json_text(had, "scene"), *scene = splat_stage_json_text(wanted, "scene");
    reason[0] = '\0';
    if (strcmp(old_scene, scene) != 0) snprintf(reason, size, "the scene was %s, is %s", old_scene, scene);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !reason[0]; i++) {
        const json_t *old = json_object_get(had, kinds[i]), *now = json_object_get(wanted, kinds[i]);
        const char *old_path = splat_stage_json_text(old, "path"), *path = splat_stage_json_text(now, "path");
        if (strcmp(old_path, path) != 0)
            snprintf(reason, size, "it began with %s, begins with %s", old_path[0] ? old_path : "no file",
                     path[0] ? path : "none");
        else if (!same_content(old, now))
            snprintf(reason, size, "%s has changed", path);
    }
}

/* The default of an option in stages that recorded only differences from the defaults, for options whose default
 * changed since; otherwise the present default. An option that replaces another one then still does so. */
static const char *unrecorded(const splat_line_option *option, const splat_stage_file *had, const char *usual)
{
    static const struct {
        const char *name, *value, *unless;
    } earlier[] = {{"regularization_type", "dn_consistency", NULL}, {"points", "level", "surface_level"}};
    for (size_t i = 0; i < sizeof earlier / sizeof earlier[0]; i++)
        if (strcmp(option->name, earlier[i].name) == 0 &&
            !(earlier[i].unless && splat_stage_json_text(had->settings, earlier[i].unless)[0]))
            return earlier[i].value;
    return usual;
}

void splat_pipeline_difference(const splat_pipeline_stage *stage, const splat_stage_file *had,
                               const splat_stage_file *wanted, char *reason, size_t size)
{
    char usual[VALUE_MAX];
    input_difference(had->inputs, wanted->inputs, reason, size);
    for (size_t i = 0; i < splat_line_n_options && !reason[0]; i++) {
        const splat_line_option *option = &splat_line_options[i];
        if (!is_setting(stage, option) || !shapes_result(option)) continue;
        const char *old = json_string_value(json_object_get(had->settings, option->name));
        const char *now = json_string_value(json_object_get(wanted->settings, option->name));
        splat_line_default_text(option, usual, sizeof usual);
        if (!old) old = unrecorded(option, had, usual);
        if (!now) now = usual;
        if (strcmp(old, now) != 0)
            snprintf(reason, size, "`%s` was %s, is %s", option->name, old[0] ? old : "not given",
                     now[0] ? now : "not given");
    }
}
