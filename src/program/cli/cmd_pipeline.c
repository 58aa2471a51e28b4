/* splatsmith pipeline: the stages that are missing, each in its own folder. */
#include "pipeline.h"
#include "progress.h"
#include "ranks.h"
#include "stage/cameras.h"
#include "stage/folder.h"
#include "stage/viewer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAGES_MAX 16

typedef enum run_state { WAITING, LEFT_OUT, DONE_BEFORE, RUNNING, COMPLETE, STOPPED, FAILED } run_state;
static const char *const state_names[] = {"waiting", "left out", "done before", "running", "complete", "stopped",
                                          "failed"};

/* A stage in this run. */
typedef struct stage_run {
    run_state state;
    int exit_code;
    char folder[CLI_PATH_MAX], aside[CLI_PATH_MAX]; /* aside: where an earlier result waits */
    char path[CLI_PATH_MAX];                        /* of stage.json */
    splat_stage_file file;
} stage_run;

typedef struct pipeline_run {
    pipeline p;
    char overview[CLI_PATH_MAX]; /* pipeline.json */
    int lock;                    /* of the folder; -1: none */
    json_t *files, *files_before; /* names of results in the folder, and those of the run before */
    run_state cameras;           /* WAITING: the scene had them */
    int cameras_code;            /* exit code of finding them */
    splat_cameras_info cameras_info;
    stage_run stages[STAGES_MAX];
} pipeline_run;

/* ---------------------------------------------------------------- what the table of options cannot say */

static void tell_unused_presets(const splat_line *v)
{
    const char *why = v->pipeline->low_poly ? ": --low_poly sets it" : ": --high_poly sets it";
    if (!v->pipeline->low_poly && !v->pipeline->high_poly) return;
    cli_tell_unused(v, "target_vertices", why);
    cli_tell_unused(v, "gaussians_per_triangle", why);
}

static bool options_agree(const splat_line *v)
{
    const char *name = v->output->experiment_name;
    bool given = v->model->gs_output_dir || v->pipeline->coarse_checkpoint;
    if (!v->scene->source_path) {
        cli_error(CLI_NO_SCENE);
    } else if (name && (strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)) {
        cli_error("--experiment_name takes the name of a folder without a slash, not '%s'", name);
    } else if (v->pipeline->skip_training && !given) {
        cli_error("--skip_training needs a splat: give it with -c, or the result of a coarse training with "
                  "--coarse_checkpoint");
    } else if (given && splat_stage_needs_cameras(v)) {
        cli_error("%s has photos without cameras, and new ones would not fit the splat that is given; name the scene "
                  "that it was trained on with -s", v->scene->source_path);
    } else if (v->pipeline->low_poly && v->pipeline->high_poly) {
        cli_error("--low_poly and --high_poly exclude each other");
    } else {
        if (name && v->output->path) cli_notice("--experiment_name has no effect: -o names the folder");
        if (v->model->gs_output_dir && v->pipeline->coarse_checkpoint)
            cli_notice("--gs_output_dir has no effect: --coarse_checkpoint is the later result");
        else if (!v->model->gs_output_dir)
            cli_tell_unused(v, "iteration", " without -c");
        tell_unused_presets(v);
        pipeline_notice_unused(v);
        splat_stage_tell_unused_viewer(v);
        return true;
    }
    return false;
}

/* ---------------------------------------------------------------- the folder */

static bool choose_folder(const splat_line *line, char path[CLI_PATH_MAX])
{
    const char *name = line->output->experiment_name ? line->output->experiment_name : "pipeline";
    splat_error error;
    if (splat_stage_choose_folder(path, line->output->path, line->scene->source_path, "_output", name, &error) !=
        SPLAT_OK) {
        cli_report(&error);
        return false;
    }
    if (strlen(path) >= CLI_PATH_MAX - 64) /* room for the names in it */
        cli_error("the path %.200s... is too long", path);
    else if (strchr(path, ','))
        cli_error("%s has a comma in its name, which separates the files of a mesh; choose another folder with -o",
                  path);
    else
        return true;
    return false;
}

static int create_folders(const char *path)
{
    char text[CLI_PATH_MAX];
    snprintf(text, sizeof text, "%s", path);
    for (char *at = text + 1;; at++) {
        if (*at && *at != '/') continue;
        char kept = *at;
        *at = '\0';
        if (mkdir(text, 0777) != 0 && errno != EEXIST) {
            cli_error("cannot create the folder %s: %s", text, strerror(errno));
            return CLI_FAILED;
        }
        if (!(*at = kept)) return CLI_OK;
    }
}

/* Ours, or empty: stages are deleted in it. */
static int check_folder(const char *folder)
{
    DIR *stream = opendir(folder);
    bool ours = false, other = false;
    if (!stream) {
        cli_error("cannot use the folder %s: %s", folder, strerror(errno));
        return CLI_FAILED;
    }
    for (struct dirent *entry; (entry = readdir(stream));) {
        const char *name = entry->d_name;
        ours = ours || strcmp(name, "pipeline.json") == 0;
        other = other || (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, "pipeline.json.tmp") != 0);
    }
    closedir(stream);
    if (ours || !other) return CLI_OK;
    cli_error("%s holds something else: it is not empty and has no pipeline.json; name another folder with -o",
              folder);
    return CLI_USAGE;
}

/* Two runs in one folder would take each other's files away. */
static int lock_folder(pipeline_run *r)
{
    splat_error error;
    if (splat_folder_lock(r->p.at.folder, &r->lock, &error) != SPLAT_OK) return cli_report(&error);
    json_t *before = splat_stage_json_load(r->overview); /* of no run, or damaged: NULL */
    r->files_before = json_incref(json_object_get(before, "files"));
    r->files = json_array();
    json_decref(before);
    return CLI_OK;
}

static bool stage_paths(pipeline_run *r, size_t i)
{
    char name[64];
    stage_run *s = &r->stages[i];
    snprintf(name, sizeof name, "%s.previous", pipeline_stages[i].product.name);
    return cli_path_join(s->folder, r->p.at.folder, pipeline_stages[i].product.name) &&
           cli_path_join(s->aside, r->p.at.folder, name) && cli_path_join(s->path, s->folder, "stage.json");
}

/* The splat that the command line names instead of stages. */
static int find_given_splat(pipeline *p)
{
    const char *later = p->line->pipeline->coarse_checkpoint, *splat = p->line->model->gs_output_dir;
    const int iteration = later ? -1 : p->line->model->iteration;
    splat_error error;
    if (!later && !splat) return CLI_OK;
    splat_status status = splat_pipeline_find_splat(later ? later : splat, iteration, &p->at.splat, &error);
    return status == SPLAT_OK ? CLI_OK : cli_report(&error);
}

/* All stages before the first: a mistake in the options of the last must not wait for hours. */
static int check_stages(const pipeline_run *r)
{
    char name[64];
    stage_line *v = calloc(1, sizeof *v);
    int code = v ? CLI_OK : CLI_FAILED;
    if (!v) cli_error("memory is exhausted");
    for (size_t i = 0; i < pipeline_n_stages && code == CLI_OK; i++) {
        const pipeline_stage *stage = &pipeline_stages[i];
        if (pipeline_is_skipped(stage, r->p.line, name)) continue;
        code = pipeline_stage_begin(&r->p, stage, r->stages[i].folder, v);
        if (code == CLI_OK) code = stage->check(&r->p, &v->line);
        splat_line_free(&v->line);
    }
    free(v);
    return code;
}

static int prepare(pipeline_run *r)
{
    pipeline *p = &r->p;
    if (!choose_folder(p->line, p->at.folder) || !cli_path_join(r->overview, p->at.folder, "pipeline.json"))
        return CLI_USAGE;
    if (!realpath(p->line->scene->source_path, p->at.scene)) {
        cli_error("cannot open the scene %s: %s", p->line->scene->source_path, strerror(errno));
        return CLI_FAILED;
    }
    for (size_t i = 0; i < pipeline_n_stages; i++)
        if (!stage_paths(r, i)) return CLI_USAGE;
    int code = find_given_splat(p);
    if (code == CLI_OK) code = check_stages(r);
    if (code == CLI_OK) code = create_folders(p->at.folder);
    if (code == CLI_OK) code = check_folder(p->at.folder);
    return code == CLI_OK ? lock_folder(r) : code;
}

/* ---------------------------------------------------------------- pipeline.json */

static json_t *stage_row(const stage_run *s, const char *name)
{
    json_t *row = json_object();
    json_object_set_new(row, "stage", json_string(name));
    json_object_set_new(row, "state", json_string(state_names[s->state]));
    if (s->state == FAILED || s->state == STOPPED) json_object_set_new(row, "exit_code", json_integer(s->exit_code));
    if (s->state == WAITING || s->state == LEFT_OUT) return row;
    json_object_set_new(row, "seconds", json_real(s->file.seconds));
    json_object_set_new(row, "peak_bytes", json_integer((json_int_t)s->file.peak_bytes));
    json_object_set_new(row, "host_peak_bytes", json_integer((json_int_t)s->file.host_peak_bytes));
    if (s->file.results) json_object_set(row, "results", s->file.results);
    return row;
}

/* Of all runs that looked for them, as cameras.json says. */
static double cameras_seconds(const pipeline_run *r)
{
    const char *stage;
    json_t *row, *root = splat_stage_json_load(r->p.at.cameras);
    double seconds = 0;
    json_object_foreach(json_object_get(root, "stages"), stage, row)
        seconds += json_number_value(json_object_get(row, "seconds"));
    json_decref(root);
    return seconds;
}

static json_t *cameras_row(const pipeline_run *r)
{
    json_t *row = json_object(), *results = json_object();
    json_object_set_new(row, "stage", json_string("cameras"));
    json_object_set_new(row, "state", json_string(state_names[r->cameras]));
    json_object_set_new(results, "n_photos", json_integer((json_int_t)r->cameras_info.n_photos));
    json_object_set_new(results, "n_registered", json_integer((json_int_t)r->cameras_info.n_registered));
    if (r->cameras == COMPLETE || r->cameras == DONE_BEFORE) {
        json_object_set_new(row, "seconds", json_real(cameras_seconds(r)));
        json_object_set(row, "results", results);
    } else {
        json_object_set_new(row, "exit_code", json_integer(r->cameras_code));
    }
    json_decref(results);
    return row;
}

static int write_overview(const pipeline_run *r)
{
    json_t *root = json_object(), *rows = json_array();
    json_object_set_new(root, "format", json_string("splatsmith pipeline"));
    json_object_set_new(root, "version", json_string(splat_version()));
    if (r->p.line->command_text) splat_stage_json_set_text(root, "command", r->p.line->command_text);
    splat_stage_json_set_text(root, "scene", r->p.at.scene);
    if (r->cameras != WAITING) json_array_append_new(rows, cameras_row(r));
    for (size_t i = 0; i < pipeline_n_stages; i++)
        json_array_append_new(rows, stage_row(&r->stages[i], pipeline_stages[i].product.name));
    json_object_set_new(root, "stages", rows);
    json_object_set(root, "files", r->files);
    splat_error error;
    return splat_stage_json_write(r->overview, root, &error) == SPLAT_OK ? CLI_OK : cli_report(&error);
}

/* ---------------------------------------------------------------- memory of the process */

/* Linux: begins the peak of the resident memory anew. Where that is refused the peak is that of the whole process. */
static void reset_host_peak(void)
{
    int descriptor = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    ssize_t ignored = write(descriptor, "5", 1);
    (void)ignored;
    close(descriptor);
}

static uint64_t host_peak(void)
{
    char line[256];
    unsigned long long kilobytes = 0;
    FILE *in = fopen("/proc/self/status", "r");
    while (in && fgets(line, sizeof line, in))
        if (sscanf(line, "VmHWM: %llu kB", &kilobytes) == 1) break;
    if (in) fclose(in);
    return kilobytes * 1024;
}

/* ---------------------------------------------------------------- one stage */

static int delete_folder(const char *folder)
{
    splat_error error;
    return cli_end(splat_stage_delete_folder(folder, &error), &error);
}

/* An earlier result lies aside until the new run has something to show; then it goes, else it comes back. */
static int settle_aside(const stage_run *s, bool complete)
{
    if (!cli_path_exists(s->aside)) return CLI_OK;
    if (complete || splat_pipeline_has_checkpoint(s->folder)) return delete_folder(s->aside);
    int code = delete_folder(s->folder);
    if (code != CLI_OK || rename(s->aside, s->folder) == 0) return code;
    cli_error("cannot rename %s to %s: %s", s->aside, s->folder, strerror(errno));
    return CLI_FAILED;
}

static int put_aside(const stage_run *s)
{
    if (rename(s->folder, s->aside) == 0 || errno == ENOENT) return CLI_OK;
    cli_error("cannot rename %s to %s: %s", s->folder, s->aside, strerror(errno));
    return CLI_FAILED;
}

/* What the stage begins with must not go with its old folder. */
static int check_inputs_outside(const pipeline *p, const stage_run *s)
{
    const char *inside = splat_stage_lies_in(p->at.scene, s->folder)        ? p->at.scene
                         : splat_stage_lies_in(p->at.splat.file, s->folder) ? p->at.splat.file
                                                                            : NULL;
    if (!inside) return CLI_OK;
    cli_error("%s lies in %s, which this stage has to write; name another folder with -o", inside, s->folder);
    return CLI_USAGE;
}

typedef enum decision { START, GO_ON, SKIP } decision;

/* What to do, and why when there is a reason to tell. `s->file` is what stage.json says. */
static decision decide(pipeline_run *r, size_t i, splat_stage_file_state found, const splat_stage_file *wanted,
                       char reason[], size_t size)
{
    const pipeline_stage *stage = &pipeline_stages[i];
    const stage_run *s = &r->stages[i];
    char missing[CLI_PATH_MAX] = "";
    reason[0] = '\0';
    if (r->p.line->output->delete_first)
        snprintf(reason, size, "--delete_first");
    else if (found == SPLAT_STAGE_FILE_DAMAGED)
        snprintf(reason, size, "%s is damaged", s->path);
    else if (found == SPLAT_STAGE_FILE_ABSENT && cli_path_exists(s->folder))
        snprintf(reason, size, "%s is missing", s->path);
    if (reason[0] || found == SPLAT_STAGE_FILE_ABSENT) return START;
    pipeline_difference(stage, &s->file, wanted, reason, size);
    if (reason[0]) return START;
    if (!s->file.complete)
        return (stage->product.makes & SPLAT_PIPELINE_SPLAT) && splat_pipeline_has_checkpoint(s->folder) ? GO_ON
                                                                                                         : START;
    if (splat_pipeline_take_results(&r->p.at, &stage->product, s->folder, s->file.results, missing)) return SKIP;
    snprintf(reason, size, "its result %s is missing", missing);
    return START;
}

/* The checkpoints that only the pipeline wanted. */
static void remove_checkpoints(const pipeline_run *r, const pipeline_stage *stage, const stage_run *s)
{
    static const char *const wanted[] = {"checkpoint_interval", "checkpoint_iterations"};
    const char *result = splat_pipeline_result_path(s->file.results), *dot = strrchr(result, '.');
    if (!(stage->product.makes & SPLAT_PIPELINE_SPLAT) || splat_line_first_given(r->p.line, wanted, 2) || !dot ||
        strcmp(dot, ".ply") != 0)
        return;
    splat_pipeline_remove_checkpoints(s->folder, 0);
}

/* A run that is killed leaves unfinished files, and checkpoints that nobody asked for; a run deletes all but the two
 * last of its interval, and one that was killed in between leaves three. */
static void tidy_complete(const pipeline_run *r, const pipeline_stage *stage, const stage_run *s,
                          const splat_stage_file *wanted)
{
    static const char interval[] = "checkpoint_interval";
    const char *had = splat_stage_json_text(s->file.settings, interval);
    bool is_own = !splat_line_given(r->p.line, interval) &&
                  strcmp(had, splat_stage_json_text(wanted->settings, interval)) == 0;
    splat_pipeline_delete_temporaries(s->folder);
    if (splat_stage_json_text(s->file.settings, "checkpoint_iterations")[0]) return;
    if (is_own) remove_checkpoints(r, stage, s);
    else if (stage->product.makes & SPLAT_PIPELINE_SPLAT) splat_pipeline_remove_checkpoints(s->folder, 2);
}

/* The result exists: a figure that cannot be had is no reason to make it again. */
static void measure(const pipeline_run *r, const pipeline_stage *stage, const stage_run *s, const splat_line *line)
{
    if (stage->measure && stage->measure(&r->p, s->file.results, line) != CLI_OK)
        cli_notice("the result of the stage %s could not be measured on the test views", stage->product.name);
}

/* Pages see which stage works, also where it is none that trains. */
static void show_stage(const pipeline_run *r, size_t i)
{
    if (r->p.viewer) splat_viewer_watch(r->p.viewer, NULL, pipeline_stages[i].product.name, NULL);
}

static int write_file(const stage_run *s, const pipeline_stage *stage)
{
    splat_error error;
    splat_status status = splat_stage_file_write(s->path, stage->product.name, &s->file, &error);
    return status == SPLAT_OK ? CLI_OK : cli_report(&error);
}

/* The results of the finished stage, with the figures of its run. */
static int collect(const pipeline_run *r, const pipeline_stage *stage, stage_run *s, const stage_line *v)
{
    splat_error error;
    if (splat_pipeline_collect(&r->p.at, &stage->product, s->folder, &s->file.results, &error) != SPLAT_OK) {
        cli_report(&error);
        return CLI_FAILED;
    }
    if (v->outcome.psnr_iteration) json_object_set_new(s->file.results, "test_psnr", json_real(v->outcome.psnr));
    measure(r, stage, s, &v->line);
    s->file.complete = true;
    return CLI_OK;
}

/* The command of the stage, and its file before and after. */
static int execute(pipeline_run *r, size_t i, stage_line *v)
{
    const pipeline_stage *stage = &pipeline_stages[i];
    stage_run *s = &r->stages[i];
    int code = write_file(s, stage);
    if (code == CLI_OK) code = write_overview(r);
    if (code != CLI_OK) return code;
    reset_host_peak();
    double begin = splat_seconds();
    show_stage(r, i);
    code = cli_run(pipeline_command(stage), &v->line);
    uint64_t host = host_peak();
    s->file.seconds += splat_seconds() - begin;
    if (v->outcome.peak_bytes > s->file.peak_bytes) s->file.peak_bytes = v->outcome.peak_bytes;
    if (host > s->file.host_peak_bytes) s->file.host_peak_bytes = host;
    if (code == CLI_OK) code = collect(r, stage, s, v);
    if (!cli_path_exists(s->folder)) return code; /* the folder went; nothing to note in it */
    int written = write_file(s, stage);
    if (written != CLI_OK) s->file.complete = false;
    return code == CLI_OK ? written : code;
}

static int start_stage(pipeline_run *r, size_t i, decision what, stage_line *v)
{
    const pipeline_stage *stage = &pipeline_stages[i];
    stage_run *s = &r->stages[i];
    char missing[CLI_PATH_MAX] = "";
    int code = what == START ? check_inputs_outside(&r->p, s) : CLI_OK;
    if (code == CLI_OK && what == START) code = put_aside(s);
    if (code == CLI_OK) code = create_folders(s->folder);
    if (code == CLI_OK) {
        s->state = RUNNING;
        if (what == GO_ON) v->line.run->start_checkpoint = "latest";
        code = execute(r, i, v);
    }
    if (code == CLI_OK &&
        !splat_pipeline_take_results(&r->p.at, &stage->product, s->folder, s->file.results, missing)) {
        cli_error("the result of the stage %s, %s, is missing", stage->product.name, missing);
        code = CLI_FAILED;
    }
    if (code == CLI_OK) remove_checkpoints(r, stage, s);
    int settled = settle_aside(s, code == CLI_OK);
    return code == CLI_OK ? settled : code;
}

/* Decides, says so, and does it. */
static int work_on_stage(pipeline_run *r, size_t i, stage_line *v)
{
    const pipeline_stage *stage = &pipeline_stages[i];
    stage_run *s = &r->stages[i];
    splat_stage_file wanted = {0};
    char reason[2 * CLI_PATH_MAX + 64], time_text[32]; /* at most two paths */
    (void)rmdir(s->folder); /* an empty one is of a run that was killed before its first file */
    splat_stage_file_state found = splat_stage_file_read(s->path, stage->product.name, &s->file);
    int code = settle_aside(s, s->file.complete); /* of a run that was killed */
    if (code == CLI_OK && !s->file.complete) {
        splat_stage_file_free(&s->file);
        found = splat_stage_file_read(s->path, stage->product.name, &s->file);
    }
    if (code == CLI_OK) code = pipeline_stage_begin(&r->p, stage, s->folder, v);
    if (code == CLI_OK) code = pipeline_describe(&r->p, stage, &v->line, &wanted);
    if (code != CLI_OK) {
        splat_stage_file_free(&wanted);
        return code;
    }
    decision what = decide(r, i, found, &wanted, reason, sizeof reason);
    if (what == SKIP) {
        s->state = DONE_BEFORE;
        tidy_complete(r, stage, s, &wanted);
        cli_say("[%zu/%zu] %s: done before, in %s", i + 1, pipeline_n_stages, stage->product.name,
                splat_duration(s->file.seconds, time_text));
        splat_stage_file_free(&wanted);
        return CLI_OK;
    }
    if (reason[0]) cli_notice("%s runs again: %s", stage->product.name, reason);
    cli_say("[%zu/%zu] %s%s", i + 1, pipeline_n_stages, stage->product.name,
            what == GO_ON ? ": goes on from its last checkpoint" : "");
    wanted.seconds = what == GO_ON ? s->file.seconds : 0;
    wanted.peak_bytes = what == GO_ON ? s->file.peak_bytes : 0;
    wanted.host_peak_bytes = what == GO_ON ? s->file.host_peak_bytes : 0;
    splat_stage_file_free(&s->file);
    s->file = wanted;
    return start_stage(r, i, what, v);
}

static int publish(const pipeline_run *r, size_t i)
{
    splat_error error;
    splat_status status = splat_pipeline_publish(&r->p.at, &pipeline_stages[i].product, r->stages[i].file.results,
                                                 r->files, &error);
    return status == SPLAT_OK ? CLI_OK : cli_report(&error);
}

static int run_stage(pipeline_run *r, size_t i)
{
    char name[64];
    stage_run *s = &r->stages[i];
    if (pipeline_is_skipped(&pipeline_stages[i], r->p.line, name)) {
        s->state = LEFT_OUT;
        cli_say("[%zu/%zu] %s: left out, as --%s says", i + 1, pipeline_n_stages, pipeline_stages[i].product.name,
                name);
        return CLI_OK;
    }
    stage_line *v = calloc(1, sizeof *v);
    if (!v) {
        cli_error("memory is exhausted");
        return CLI_FAILED;
    }
    int code = work_on_stage(r, i, v);
    splat_line_free(&v->line);
    free(v);
    s->exit_code = code;
    if (code == CLI_OK) code = s->exit_code = publish(r, i);
    if (code != CLI_OK)
        s->state = code >= 128 ? STOPPED : FAILED;
    else if (s->state == RUNNING)
        s->state = COMPLETE;
    return code;
}

/* ---------------------------------------------------------------- the table at the end */

/* Photos alone: finding their cameras often takes longer than the stages. */
static void print_cameras(const pipeline_run *r)
{
    char time_text[32];
    const splat_cameras_info *info = &r->cameras_info;
    if (r->cameras == WAITING) return;
    if (r->cameras == STOPPED || r->cameras == FAILED) {
        cli_say("%-8s %s", "cameras", state_names[r->cameras]);
        return;
    }
    cli_say("%-8s %-12s %9s %9s %9s  %-9s %zu of %zu photos", "cameras", state_names[r->cameras],
            splat_duration(cameras_seconds(r), time_text), "", "", "", info->n_registered, info->n_photos);
}

/* device: of the arrays that work on the splat, on a GPU with the driver's; host: resident, of the process. */
static void print_table(const pipeline_run *r)
{
    cli_say("%-8s %-12s %9s %9s %9s  %-9s %s", "stage", "", "time", "device", "host", "test PSNR", "result");
    print_cameras(r);
    for (size_t i = 0; i < pipeline_n_stages; i++) {
        const stage_run *s = &r->stages[i];
        char time_text[32], peak[32], host[32], quality[32], text[SPLAT_LINE_TEXT_MAX];
        if (s->state == WAITING || s->state == LEFT_OUT) {
            cli_say("%-8s %s", pipeline_stages[i].product.name, state_names[s->state]);
            continue;
        }
        cli_say("%-8s %-12s %9s %9s %9s  %-9s %s", pipeline_stages[i].product.name, state_names[s->state],
                splat_duration(s->file.seconds, time_text), splat_bytes(s->file.peak_bytes, peak),
                splat_bytes(s->file.host_peak_bytes, host), splat_pipeline_quality_text(s->file.results, quality),
                splat_pipeline_result_text(&r->p.at, s->file.results, text));
        if (s->file.results) cli_say("  %s/%s", r->p.at.folder, splat_pipeline_result_path(s->file.results));
    }
    if (json_array_size(r->files)) cli_say("Results:");
    for (size_t i = 0; i < json_array_size(r->files); i++)
        cli_say("  %s/%s", r->p.at.folder, json_string_value(json_array_get(r->files, i)));
}

/* Photos alone get a scene of their own in the folder, which all stages take instead. */
static int find_cameras(pipeline_run *r)
{
    static char folder[CLI_PATH_MAX];
    if (!splat_stage_needs_cameras(r->p.line)) return CLI_OK;
    splat_error error;
    if (splat_stage_cameras_folder(r->p.line, r->p.at.folder, folder, &error) != SPLAT_OK) return cli_report(&error);
    int code = cli_find_cameras(r->p.line, r->p.line->scene->source_path, folder, &r->cameras_info);
    r->cameras = code >= 128 ? STOPPED : code != CLI_OK ? FAILED
                 : r->cameras_info.is_done_before ? DONE_BEFORE : COMPLETE;
    r->cameras_code = code;
    if (code != CLI_OK) return code;
    splat_stage_take_cameras(r->p.line, folder);
    if (!cli_path_join(r->p.at.cameras, folder, "cameras.json")) return CLI_USAGE;
    if (realpath(folder, r->p.at.scene)) return CLI_OK;
    cli_error("cannot open the scene %s: %s", folder, strerror(errno));
    return CLI_FAILED;
}

static int run_stages(pipeline_run *r)
{
    splat_error error;
    int code = write_overview(r);
    if (code == CLI_OK && splat_stage_wants_viewer(r->p.line))
        code = cli_end(splat_stage_open_viewer(r->p.line, r->p.line->page->port,
                                               splat_line_names_value(r->p.line, "viewer"), r->p.at.folder,
                                               &r->p.viewer, &error),
                       &error);
    if (code == CLI_OK && r->p.viewer) splat_stage_tell_viewer(r->p.line, r->p.viewer);
    if (code == CLI_OK) code = find_cameras(r);
    for (size_t i = 0; i < pipeline_n_stages && code == CLI_OK; i++) code = run_stage(r, i);
    if (code == CLI_OK) splat_pipeline_unpublish(&r->p.at, r->files_before, r->files);
    int written = write_overview(r);
    if (code == CLI_OK) code = written;
    splat_viewer_close(r->p.viewer);
    print_table(r);
    return code;
}

int cmd_pipeline(splat_line *line)
{
    if (!options_agree(line)) return CLI_USAGE;
    int code = cli_ranks_check_pipeline(line);
    if (code != CLI_OK) return code;
    pipeline_run *r = calloc(1, sizeof *r);
    code = CLI_FAILED;
    if (r) {
        r->p.line = line;
        r->lock = -1;
        code = prepare(r);
        if (code == CLI_OK) code = run_stages(r);
        json_decref(r->files);
        json_decref(r->files_before);
        for (size_t i = 0; i < pipeline_n_stages; i++) splat_stage_file_free(&r->stages[i].file);
        splat_folder_unlock(r->lock);
    } else {
        cli_error("memory is exhausted");
    }
    free(r);
    return code;
}
