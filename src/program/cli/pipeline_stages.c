/* What the stages of a pipeline are, which options each gets, and what a stage was made with. */
#include "pipeline.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

#define VALUE_MAX 16384 /* text of an option's value */
#define TRAIN_ITERATIONS 7000 /* SuGaR's; train by itself takes 30000 */
#define CHECKPOINT_INTERVAL 1000

/* ---------------------------------------------------------------- the stages */

static void begin_with_splat(const pipeline *p, cli_values *values)
{
    values->model_path = p->splat.folder[0] ? p->splat.folder : NULL;
    values->ply = p->splat.file;
    values->iteration = p->splat.iteration;
}

static void fill_train(const pipeline *p, const char *folder, stage_values *stage)
{
    stage->values.model_path = folder;
    if (!cli_given(p->values, "iterations")) stage->values.train.iterations = TRAIN_ITERATIONS;
    /* classic is what meshes were measured with */
    if (!cli_given(p->values, "strategy")) stage->values.strategy = "classic";
}

static void fill_coarse(const pipeline *p, const char *folder, stage_values *stage)
{
    begin_with_splat(p, &stage->values);
    stage->values.output = folder;
}

static void fill_mesh(const pipeline *p, const char *folder, stage_values *stage)
{
    size_t n = pipeline_target_vertices(p->values);
    begin_with_splat(p, &stage->values);
    snprintf(stage->path, sizeof stage->path, "%s/mesh.ply", folder);
    stage->values.output = stage->path;
    if (n) stage->values.mesh.target_vertices = n;
}

static void fill_refine(const pipeline *p, const char *folder, stage_values *stage)
{
    stage->values.mesh_file = p->mesh;
    stage->values.gs_output_dir = p->splat.folder[0] ? p->splat.folder : p->splat.file;
    const char *dot = strrchr(p->splat.file, '.');
    if (dot && strcmp(dot, ".ply") == 0) stage->values.iteration = p->splat.iteration; /* a checkpoint is the newest */
    stage->values.output = folder;
    if (p->values->low_poly || p->values->high_poly)
        stage->values.gaussians_per_triangle = p->values->low_poly ? "6" : "1";
}

/* Without refinement the mesh of the stage before, which no Gaussians are bound to; the split is that of its splat. */
static void fill_texture(const pipeline *p, const char *folder, stage_values *stage)
{
    char *split = stage->path + 2 * CLI_PATH_MAX;
    stage->values.model_path = p->is_bound ? p->splat.folder : p->mesh;
    snprintf(stage->path, 2 * CLI_PATH_MAX, "%s/textured.glb%s%s%s", folder, p->values->export_obj ? "," : "",
             p->values->export_obj ? folder : "", p->values->export_obj ? "/textured.obj" : "");
    stage->values.output = stage->path;
    if (p->is_bound || !p->splat.folder[0] || !cli_path_join(split, p->splat.folder, "split.json")) return;
    if (cli_path_exists(split)) stage->values.scene.split_file = split;
}

static int check_train(const pipeline *p, const cli_values *values)
{
    (void)p;
    return cli_check_train(values);
}

/* Before the first stage has run, its last iteration is what it will be asked for. */
static int check_coarse(const pipeline *p, const cli_values *values)
{
    bool trains = !p->splat.file[0] && cli_given(p->values, "iterations");
    return cli_check_coarse(values, trains ? p->values->train.iterations : p->splat.iteration);
}

static int check_mesh(const pipeline *p, const cli_values *values)
{
    (void)p;
    return cli_check_mesh(values);
}

static int check_refine(const pipeline *p, const cli_values *values)
{
    (void)p;
    return cli_check_refine(values);
}

static int check_texture(const pipeline *p, const cli_values *values)
{
    const char *bound = values->texture.bake == SPLAT_BAKE_GAUSSIANS ? "--bake gaussians"
                        : values->texture.postprocess_mesh           ? "--postprocess_mesh"
                                                                     : NULL;
    if (bound && p->values->skip_refine) {
        cli_error("%s needs the Gaussians of the refinement, which --skip_refine leaves out", bound);
        return CLI_USAGE;
    }
    return cli_check_texture(values);
}

const pipeline_stage pipeline_stages[] = {
    {.name = "train", .skipped_by = "gs_output_dir,coarse_checkpoint", .makes = PIPELINE_SPLAT, .fill = fill_train,
     .check = check_train},
    {.name = "coarse", .skipped_by = "skip_coarse,coarse_checkpoint", .makes = PIPELINE_SPLAT, .fill = fill_coarse,
     .check = check_coarse},
    {.name = "mesh", .makes = PIPELINE_MESH, .fill = fill_mesh, .check = check_mesh},
    {.name = "refine", .skipped_by = "skip_refine", .makes = PIPELINE_SPLAT | PIPELINE_MESH,
     .splat_name = "refined.ply", .mesh_name = "refined_mesh.ply", .fill = fill_refine, .check = check_refine},
    {.name = "texture", .skipped_by = "skip_texture", .makes = PIPELINE_FILES, .fill = fill_texture,
     .check = check_texture, .measure = pipeline_measure_mesh},
};
const size_t pipeline_n_stages = sizeof pipeline_stages / sizeof pipeline_stages[0];

/* ---------------------------------------------------------------- presets */

size_t pipeline_target_vertices(const cli_values *values)
{
    return values->low_poly ? 200000 : values->high_poly ? 1000000 : 0;
}

/* ---------------------------------------------------------------- options of the stages */

const cli_command *pipeline_command(const pipeline_stage *stage)
{
    return cli_find_command(stage->name);
}

static bool has_option(const pipeline_stage *stage, const cli_option *option)
{
    return (option->commands & pipeline_command(stage)->bit) != 0;
}

/* Given, and not "--skip_coarse False". */
static bool is_on(const cli_values *values, const char *name)
{
    for (size_t i = 0; i < cli_n_options; i++)
        if (values->given[i] && strcmp(cli_options[i].name, name) == 0)
            return cli_options[i].kind != CLI_FLAG ||
                   *(const bool *)(const void *)((const char *)values + cli_options[i].offset);
    return false;
}

bool pipeline_is_skipped(const pipeline_stage *stage, const cli_values *values, char name[64])
{
    for (const char *rest = cli_next_name(stage->skipped_by, name); rest; rest = cli_next_name(rest, name))
        if (is_on(values, name)) return true;
    return false;
}

/* The pipeline sets these itself. */
static bool is_own(const char *name)
{
    static const char *const own[] = {"output", "model_path", "gs_output_dir", "ply", "iteration", "experiment_name",
                                      "start_checkpoint", "delete_first", "mesh", "deform", "help", "quiet"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(own[i], name) == 0) return true;
    return false;
}

/* The value of a given option into the stage's option of the same name, which may be another field. Returns whether the
 * stage has one. */
static bool pass_option(const pipeline_stage *stage, const cli_option *given, const cli_values *from, cli_values *to)
{
    bool known = false;
    for (size_t i = 0; i < cli_n_options; i++) {
        const cli_option *option = &cli_options[i];
        if (!has_option(stage, option) || strcmp(option->name, given->name) != 0 ||
            cli_kind_size(option->kind) != cli_kind_size(given->kind))
            continue;
        known = true;
        if (!to) continue;
        memcpy((char *)to + option->offset, (const char *)from + given->offset, cli_kind_size(option->kind));
        to->given[i] = true;
    }
    return known;
}

void pipeline_stage_values(const pipeline *p, const pipeline_stage *stage, const char *folder, stage_values *out)
{
    cli_values *values = &out->values;
    memset(out, 0, sizeof *out);
    cli_values_init(values);
    for (size_t i = 0; i < cli_n_options; i++)
        if (p->values->given[i] && !is_own(cli_options[i].name))
            pass_option(stage, &cli_options[i], p->values, values);
    values->command_line = p->values->command_line;
    values->quiet = p->values->quiet;
    values->export_obj = p->values->export_obj;
    values->outcome = &out->outcome;
    values->shared_viewer = p->viewer;
    if ((stage->makes & PIPELINE_SPLAT) && !cli_given(p->values, "checkpoint_interval"))
        values->checkpoint_interval = CHECKPOINT_INTERVAL;
    stage->fill(p, folder, out);
}

void pipeline_notice_unused(const cli_values *values)
{
    for (size_t i = 0; i < cli_n_options; i++) {
        const cli_option *option = &cli_options[i];
        bool known = false, used = false;
        char name[64];
        if (!values->given[i] || is_own(option->name) || option->group == CLI_GROUP_IGNORED) continue;
        for (size_t k = 0; k < pipeline_n_stages; k++) {
            bool has = pass_option(&pipeline_stages[k], option, values, NULL);
            known = known || has;
            used = used || (has && !pipeline_is_skipped(&pipeline_stages[k], values, name));
        }
        if (known && !used) cli_notice("--%s has no effect: its stage is left out", option->name);
    }
}

/* ---------------------------------------------------------------- what a stage is made with */

/* Whether another value makes another result: what says how to compute, report or save does not. */
static bool shapes_result(const cli_option *option)
{
    static const char *const storage[] = {"sh_degree", "sh_storage", "optimizer_storage", "optimize_memory"};
    static const char *const caches[] = {"image_cache_gb", "low_dram", "monitor_csv"};
    if (option->group == CLI_GROUP_SAVING || option->group == CLI_GROUP_MACHINE || option->group == CLI_GROUP_GENERAL)
        return false;
    for (size_t i = 0; i < sizeof caches / sizeof caches[0]; i++)
        if (strcmp(option->name, caches[i]) == 0) return false;
    for (size_t i = 0; i < sizeof storage / sizeof storage[0]; i++)
        if (strcmp(option->name, storage[i]) == 0) return true;
    return option->group != CLI_GROUP_MEMORY;
}

/* Recorded even where it is the default, which may be another one some day. Defaults of numbers are not: they depend on
 * modes, so that their text need not be what the command takes. */
static bool is_mode(const cli_option *option)
{
    return (option->kind == CLI_CHOICE || option->kind == CLI_WORD) && shapes_result(option);
}

/* The options of its command; of the stage that writes files also the pipeline's own that names another one. */
static bool is_setting(const pipeline_stage *stage, const cli_option *option)
{
    if ((stage->makes & PIPELINE_FILES) && strcmp(option->name, "export_obj") == 0) return true;
    return has_option(stage, option) && option->group != CLI_GROUP_IGNORED && !is_own(option->name) &&
           strcmp(option->name, "source_path") != 0;
}

/* A path in the pipeline's folder from there, another one absolute. */
static void set_path(const pipeline *p, json_t *object, const char *key, const char *path)
{
    size_t length = strlen(p->folder);
    if (strncmp(path, p->folder, length) == 0 && path[length] == '/') {
        stage_json_set_text(object, key, path + length + 1);
        return;
    }
    char real[CLI_PATH_MAX];
    stage_json_set_text(object, key, realpath(path, real) ? real : path);
}

/* A file that the stage begins with: path and content. "" is none. */
static int add_input(const pipeline *p, const char *kind, const char *path, json_t *inputs)
{
    if (!path[0]) return CLI_OK;
    json_t *input = json_object();
    set_path(p, input, "path", path);
    json_object_set_new(inputs, kind, input);
    return stage_json_set_content(input, path);
}

int pipeline_describe(const pipeline *p, const pipeline_stage *stage, const cli_values *values, stage_file *file)
{
    char value[VALUE_MAX], usual[VALUE_MAX];
    memset(file, 0, sizeof *file);
    file->settings = json_object();
    file->inputs = json_object();
    for (size_t i = 0; i < cli_n_options; i++) {
        if (!is_setting(stage, &cli_options[i])) continue;
        cli_value_text(&cli_options[i], values, value, sizeof value);
        cli_value_text(&cli_options[i], p->defaults, usual, sizeof usual);
        if (is_mode(&cli_options[i]) || strcmp(value, usual) != 0)
            stage_json_set_text(file->settings, cli_options[i].name, value);
    }
    stage_json_set_text(file->inputs, "scene", p->scene);
    int code = add_input(p, "cameras", p->cameras, file->inputs);
    if (code == CLI_OK) code = add_input(p, "splat", p->splat.file, file->inputs);
    return code == CLI_OK ? add_input(p, "mesh", p->mesh, file->inputs) : code;
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
    const char *old_scene = stage_json_text(had, "scene"), *scene = stage_json_text(wanted, "scene");
    reason[0] = '\0';
    if (strcmp(old_scene, scene) != 0) snprintf(reason, size, "the scene was %s, is %s", old_scene, scene);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !reason[0]; i++) {
        const json_t *old = json_object_get(had, kinds[i]), *now = json_object_get(wanted, kinds[i]);
        const char *old_path = stage_json_text(old, "path"), *path = stage_json_text(now, "path");
        if (strcmp(old_path, path) != 0)
            snprintf(reason, size, "it began with %s, begins with %s", old_path[0] ? old_path : "no file",
                     path[0] ? path : "none");
        else if (!same_content(old, now))
            snprintf(reason, size, "%s has changed", path);
    }
}

/* What an option was by default when stages recorded only what differed from it, for options whose default changed
 * since; else its default. An option that decided in the place of another one then does so still. */
static const char *unrecorded(const cli_option *option, const stage_file *had, const char *usual)
{
    static const struct {
        const char *name, *value, *unless;
    } earlier[] = {{"regularization_type", "dn_consistency", NULL}, {"points", "level", "surface_level"}};
    for (size_t i = 0; i < sizeof earlier / sizeof earlier[0]; i++)
        if (strcmp(option->name, earlier[i].name) == 0 &&
            !(earlier[i].unless && stage_json_text(had->settings, earlier[i].unless)[0]))
            return earlier[i].value;
    return usual;
}

void pipeline_difference(const pipeline *p, const pipeline_stage *stage, const stage_file *had,
                         const stage_file *wanted, char *reason, size_t size)
{
    char usual[VALUE_MAX];
    input_difference(had->inputs, wanted->inputs, reason, size);
    for (size_t i = 0; i < cli_n_options && !reason[0]; i++) {
        const cli_option *option = &cli_options[i];
        if (!is_setting(stage, option) || !shapes_result(option)) continue;
        const char *old = json_string_value(json_object_get(had->settings, option->name));
        const char *now = json_string_value(json_object_get(wanted->settings, option->name));
        cli_value_text(option, p->defaults, usual, sizeof usual);
        if (!old) old = unrecorded(option, had, usual);
        if (!now) now = usual;
        if (strcmp(old, now) != 0)
            snprintf(reason, size, "--%s was %s, is %s", option->name, old[0] ? old : "not given",
                     now[0] ? now : "not given");
    }
}
