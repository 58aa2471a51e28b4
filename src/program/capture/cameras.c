/* Finding the cameras of photos, top to bottom: what there is, what was done before, the stages, what came of it. */
#include "base/file.h"
#include "base/options.h"
#include "base/plural.h"
#include "capture/cameras_parts.h"
#include "capture/cameras_state.h"
#include "capture/cameras_video.h"
#include "capture/colmap_stages.h"
#include "capture/video.h"
#include "io/colmap/colmap_read.h"
#include "io/json.h"
#include "io/metashape/metashape.h"
#include "io/opensfm/opensfm.h"
#include "io/option_text.h"
#include "io/polycam/polycam.h"
#include "io/realitycapture/realitycapture.h"
#include "io/transforms.h"
#include "math/lens.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define LEAST_PHOTOS 3
#define FEW_PHOTOS 20        /* fewer do not determine OPENCV's eight parameters well */
#define EXHAUSTIVE_CPU 150
#define EXHAUSTIVE_GPU 300
#define ENOUGH 0.6           /* of the photos should get cameras */
#define N_NAMED 12           /* photos without cameras that a warning names */

/* ---------------------------------------------------------------- options */

#define SPLAT_ROW_MATCHER(type, name, field)                                                                           \
    SPLAT_ROW_CHOICE(type, name, field, splat_matcher, SPLAT_WORDS_MATCHER)
#define SPLAT_ROW_MAPPER(type, name, field) SPLAT_ROW_CHOICE(type, name, field, splat_mapper, SPLAT_WORDS_MAPPER)
#define SPLAT_ROW_CAMERA_QUALITY(type, name, field)                                                                    \
    SPLAT_ROW_CHOICE(type, name, field, splat_camera_quality, SPLAT_WORDS_CAMERA_QUALITY)

static const splat_option rows[] = {
#define SPLAT_OPTION(field, kind, start, range) SPLAT_OPTION_OF(splat_cameras_options, field, kind, start, range)
#include "splatsmith/cameras_options.def"
};
static const splat_option_table table = SPLAT_OPTION_TABLE(splat_cameras_options, rows);

void splat_cameras_options_init_sized(splat_cameras_options *options, size_t size)
{
    splat_option_defaults(&table, options, size);
}

splat_status splat_cameras_options_set(splat_cameras_options *options, const char *name, const char *text,
                                       splat_error *error)
{
    return splat_option_set_text(&table, options, name, text, error);
}

/* COLMAP's name of a camera model in any case of letters; NULL: unknown. */
static const char *find_model(const char *name)
{
    char upper[64];
    size_t n = strlen(name);
    if (n >= sizeof upper) return NULL;
    for (size_t i = 0; i <= n; i++) upper[i] = (char)toupper((unsigned char)name[i]);
    int model = splat_lens_find(upper);
    return model >= 0 && model != SPLAT_LENS_NERFSTUDIO && model != SPLAT_LENS_EQUIRECTANGULAR
               ? splat_lens_form_get(model)->name
               : NULL;
}

static bool is_chosen_by_us(const char *model)
{
    return !model || strcmp(model, "auto") == 0;
}

splat_status splat_cameras_options_check(const splat_cameras_options *o, splat_error *error)
{
    if (!o->source || !*o->source)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "no photos were named");
    if (!o->folder || !*o->folder)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "name the scene to write with `output`");
    SPLAT_TRY(splat_option_check_all(&table, o, error));
    if (!is_chosen_by_us(o->camera_model) && !find_model(o->camera_model))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`camera_model` must be auto or a camera model of COLMAP, such "
                          "as PINHOLE, SIMPLE_RADIAL, OPENCV or OPENCV_FISHEYE, not '%.100s'", o->camera_model);
    if (o->matcher == SPLAT_MATCHER_VOCAB_TREE && !o->vocab_tree)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the matcher vocab_tree needs the file of a vocabulary tree, "
                          "`vocab_tree`: COLMAP's site has them, of FLANN for COLMAP up to 3.11, of faiss for "
                          "later ones");
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- what there is */

/* A file; folders may be called like one. */
static bool is_file(const char *path)
{
    return splat_path_exists(path) && !splat_path_is_folder(path);
}

bool splat_cameras_are_needed(const char *source, const char *images)
{
    if (is_file(source)) return splat_is_video_name(source);
    char *sparse = splat_format("%s/sparse", source);
    bool has_cameras = !sparse || splat_path_exists(sparse) || splat_transforms_found(source);
    free(sparse);
    if (has_cameras) return false;
    char *registration = splat_realitycapture_find(source), *reconstruction = splat_opensfm_find(source);
    char *metashape = splat_metashape_find(source);
    bool has_poses = registration || reconstruction || metashape ||
                     splat_polycam_found(source, images ? images : "images");
    free(registration);
    free(reconstruction);
    free(metashape);
    if (has_poses) return false;
    char *folder = splat_photo_folder_find(source, images);
    free(folder);
    return folder != NULL;
}

static void say_left_out(const splat_cameras_work *work)
{
    const splat_photo_list *p = &work->photos;
    if (p->n_unreadable)
        splat_cameras_say(work, SPLAT_LOG_WARNING, "%zu photo%s cannot be read and %s left out: %s%s", p->n_unreadable,
                          splat_plural(p->n_unreadable), p->n_unreadable == 1 ? "is" : "are", p->unreadable,
                          p->n_unreadable == 1 ? "" : " is the first");
    if (p->n_broken_names)
        splat_cameras_say(work, SPLAT_LOG_WARNING, "%zu name%s of photos or folders %s a newline, which COLMAP cannot "
                          "read, and %s left out: %s%s; rename what should take part", p->n_broken_names,
                          splat_plural(p->n_broken_names), p->n_broken_names == 1 ? "has" : "have",
                          p->n_broken_names == 1 ? "is" : "are", p->broken_name,
                          p->n_broken_names == 1 ? "" : " is the first");
    if (p->n_others)
        splat_cameras_say(work, SPLAT_LOG_WARNING, "%zu picture%s of other formats %s left out (%s%s); convert to JPEG "
                          "or PNG what should take part", p->n_others, splat_plural(p->n_others),
                          p->n_others == 1 ? "is" : "are", p->other, p->n_others == 1 ? "" : ", ...");
}

static bool lies_in(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static splat_status read_photos(splat_cameras_work *work, splat_error *error)
{
    const splat_cameras_options *o = work->options;
    const char *source = work->is_video ? work->folder : o->source; /* frames lie in images/ of what is written */
    SPLAT_TRY(splat_photo_list_read(source, work->is_video ? NULL : o->images, &work->photos, error));
    say_left_out(work);
    if (work->photos.n < LEAST_PHOTOS)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, work->photos.folder, SPLAT_NO_OFFSET,
                             "%zu photo%s that can be read %s too few to find cameras; at least %d that overlap are "
                             "needed, better 50", work->photos.n, splat_plural(work->photos.n),
                             work->photos.n == 1 ? "is" : "are", LEAST_PHOTOS);
    work->sharing = splat_photo_list_get_sharing(&work->photos);
    work->camera_model = "OPENCV";
    if (work->sharing != SPLAT_SHARING_ALL || work->photos.n < FEW_PHOTOS) work->camera_model = "SIMPLE_RADIAL";
    if (!is_chosen_by_us(o->camera_model)) work->camera_model = find_model(o->camera_model);
    return SPLAT_OK;
}

static void choose_quality(splat_cameras_work *work)
{
    work->quality = work->options->quality;
    if (work->quality == SPLAT_CAMERA_QUALITY_AUTO)
        work->quality = work->use_gpu ? SPLAT_CAMERA_QUALITY_HIGH : SPLAT_CAMERA_QUALITY_MEDIUM;
}

static void choose_matcher(splat_cameras_work *work)
{
    size_t most = work->use_gpu ? EXHAUSTIVE_GPU : EXHAUSTIVE_CPU;
    work->matcher = work->options->matcher;
    if (work->matcher != SPLAT_MATCHER_AUTO) return;
    bool neighbours = work->is_video || work->photos.n > most;
    work->matcher = neighbours ? SPLAT_MATCHER_SEQUENTIAL : SPLAT_MATCHER_EXHAUSTIVE;
    if (!neighbours || work->is_video) return;
    if (work->options->vocab_tree) work->matcher = SPLAT_MATCHER_VOCAB_TREE;
    else if (5 * work->photos.n_with_place > 4 * work->photos.n) work->by_place = true;
    else
        splat_cameras_say(work, SPLAT_LOG_NOTICE, "with more than %zu photos only neighbours by name are "
                          "compared; if the names do not follow the camera's way, a vocabulary tree finds similar "
                          "photos (`vocab_tree`), and `matcher exhaustive` compares all", most);
}

/* ---------------------------------------------------------------- poses of other programs that are none */

/* Users must hear of them before COLMAP begins. */
#define N_NAMED_POSES 5 /* a folder may have a JSON for each photo */

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

static splat_status say_refused_poses(const splat_cameras_work *work, splat_error *error)
{
    const char *source = work->options->source;
    char **names;
    size_t n, n_refused = 0;
    SPLAT_TRY(splat_folder_list(source, &names, &n, error));
    splat_status status = SPLAT_OK;
    for (size_t kind = 0; kind < N_KINDS; kind++)
        for (size_t i = 0; i < n && status == SPLAT_OK; i++) {
            if (!ends_with(names[i], kinds[kind].ending)) continue;
            if (n_refused++ < N_NAMED_POSES) status = say_refused(work, names[i], kinds[kind].reason, error);
        }
    splat_names_free(names, n);
    if (status == SPLAT_OK && n_refused > N_NAMED_POSES)
        splat_cameras_say(work, SPLAT_LOG_WARNING, "%zu more .xml, .csv and .json files of %s hold no poses that are "
                          "read", n_refused - N_NAMED_POSES, source);
    return status;
}

/* ---------------------------------------------------------------- the folder */

/* folder/images: the photos themselves, or a link to them. */
static splat_status link_images(const splat_cameras_work *work, splat_error *error)
{
    char *there = realpath(work->images, NULL);
    bool same = there && strcmp(there, work->photos.folder) == 0;
    free(there);
    if (same) return SPLAT_OK;
    if (unlink(work->images) != 0 && errno != ENOENT) /* a folder stays */
        return splat_fail_at(error, SPLAT_ERROR_IO, work->images, SPLAT_NO_OFFSET,
                             "photos of other cameras lie here; name another folder with `output`");
    if (symlink(work->photos.folder, work->images) == 0) return SPLAT_OK;
    return splat_fail_errno(error, work->images, "link the photos");
}

/* The masks of the source are those of the scene: a link to them, where scenes have theirs. */
static splat_status link_masks(const splat_cameras_work *work, splat_error *error)
{
    static const char *const names[] = {"masks", "mask"};
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < 2 && status == SPLAT_OK; i++) {
        char *source = splat_format("%s/%s", work->options->source, names[i]);
        char *from = source ? realpath(source, NULL) : NULL, *to = splat_format("%s/%s", work->folder, names[i]);
        if (to && splat_path_is_link(to)) unlink(to);
        if (!source || !to)
            status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
        else if (from && splat_path_is_folder(from) && !splat_path_exists(to) && symlink(from, to) != 0)
            status = splat_fail_errno(error, to, "link the masks");
        free(source);
        free(from);
        free(to);
    }
    return status;
}

static splat_status write_list(const splat_cameras_work *work, splat_error *error)
{
    splat_save save;
    SPLAT_TRY(splat_save_open(&save, work->list, error));
    for (size_t i = 0; i < work->photos.n; i++) fprintf(save.stream, "%s\n", work->photos.names[i]);
    return splat_save_commit(&save, error);
}

/* Photos directly in a folder are no scene with images/, and what is written must not become photos. */
static splat_status check_folder(const splat_cameras_work *work, splat_error *error)
{
    if (!lies_in(work->folder, work->photos.folder)) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, work->folder, SPLAT_NO_OFFSET,
                         "the scene cannot be written among the photos; name another folder with `output`");
}

static bool tick_help(void *user)
{
    return splat_cameras_tick(user, "features", 0);
}

static bool is_all_done(const splat_cameras_work *work)
{
    return splat_cameras_is_done(work, "features") && splat_cameras_is_done(work, "matches") &&
           splat_cameras_is_done(work, "mapping");
}

static splat_status run_stages(splat_cameras_work *work, splat_error *error)
{
    const char *name = work->options->colmap ? work->options->colmap : "colmap";
    SPLAT_TRY(splat_colmap_program_open(name, tick_help, work, &work->program, error));
    work->use_gpu = work->program.has_cuda;
    choose_quality(work);
    choose_matcher(work);
    SPLAT_TRY(splat_cameras_state_settle(work, true, error));
    SPLAT_TRY(splat_cameras_state_write(work, error)); /* the folder is ours from here on */
    SPLAT_TRY(link_images(work, error));
    SPLAT_TRY(write_list(work, error));
    if (!splat_cameras_is_done(work, "features")) SPLAT_TRY(splat_cameras_extract_features(work, error));
    if (!splat_cameras_is_done(work, "matches")) {
        splat_cameras_suggest_matcher(work);
        SPLAT_TRY(splat_cameras_match(work, error));
    }
    if (!splat_cameras_is_done(work, "mapping")) SPLAT_TRY(splat_cameras_map(work, error));
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- what came of it */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The photos that the model lacks, borrowed from the list: *missing is malloc'd. */
static splat_status find_missing(const splat_cameras_work *work, const splat_colmap_model *model, char ***missing,
                                 size_t *n_missing, splat_error *error)
{
    const splat_photo_list *photos = &work->photos;
    char **names = malloc((model->n_images + 1) * sizeof *names);
    *missing = malloc((photos->n + 1) * sizeof **missing);
    *n_missing = 0;
    if (!names || !*missing) {
        free(names);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for names of photos");
    }
    for (size_t i = 0; i < model->n_images; i++) names[i] = model->images[i].name;
    qsort(names, model->n_images, sizeof *names, compare_names);
    for (size_t i = 0; i < photos->n; i++)
        if (!bsearch(&photos->names[i], names, model->n_images, sizeof *names, compare_names))
            (*missing)[(*n_missing)++] = photos->names[i];
    free(names);
    return SPLAT_OK;
}

/* Said by the run that found the cameras; later ones have nothing new to say. */
static void say_missing(const splat_cameras_work *work, const splat_cameras_info *info, char *const *missing,
                        size_t n_missing)
{
    if (info->is_done_before) return;
    char text[1200];
    size_t length = 0;
    bool few = (double)info->n_registered < ENOUGH * (double)info->n_photos;
    text[0] = '\0';
    for (size_t i = 0; i < n_missing && i < N_NAMED && length < sizeof text; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%.80s", i ? ", " : "", missing[i]);
    if (n_missing > N_NAMED && length < sizeof text)
        snprintf(text + length, sizeof text - length, " and %zu more", n_missing - N_NAMED);
    if (n_missing)
        splat_cameras_say(work, few ? SPLAT_LOG_WARNING : SPLAT_LOG_NOTICE,
                          "%s%zu of %zu photos have cameras; there are none for %s%s", few ? "only " : "",
                          info->n_registered, info->n_photos, text,
                          few ? ": take more photos between those and their neighbours, sharp ones that overlap" : "");
    if (info->n_models > 1)
        splat_cameras_say(work, SPLAT_LOG_NOTICE, "COLMAP made %zu models that it could not join, and the largest is "
                          "taken: too few photos show how the parts lie to each other", info->n_models);
}

static splat_status note_missing(splat_cameras_work *work, const splat_cameras_info *info, char *const *missing,
                                 size_t n_missing, splat_error *error)
{
    json_t *names = json_array();
    for (size_t i = 0; i < n_missing; i++) splat_json_append(&names, splat_json_text(missing[i]));
    splat_json_set(&work->state, "without_cameras", names);
    splat_json_set(&work->state, "n_photos", json_integer((json_int_t)info->n_photos));
    splat_json_set(&work->state, "n_cameras", json_integer((json_int_t)info->n_registered));
    return splat_cameras_state_write(work, error);
}

static splat_status report(splat_cameras_work *work, splat_cameras_info *info, splat_error *error)
{
    splat_colmap_model model;
    char **missing = NULL;
    size_t n_missing = 0;
    splat_status status = splat_cameras_read_model(work->sparse, &info->n_models, &model, error);
    if (status == SPLAT_OK) status = find_missing(work, &model, &missing, &n_missing, error);
    if (status == SPLAT_OK) {
        info->n_photos = work->photos.n;
        info->n_registered = model.n_images;
        info->n_points = model.n_points;
        say_missing(work, info, missing, n_missing);
        if (!info->is_done_before) status = note_missing(work, info, missing, n_missing, error);
    }
    splat_colmap_free(&model);
    free(missing);
    return status;
}

/* ---------------------------------------------------------------- all of it */

/* Deletes the traces of a run that was killed between a stage and its note: unfinished files, and folders of unfinished
 * work. */
static splat_status tidy(const splat_cameras_work *work, splat_error *error)
{
    char *frames = splat_format("%s.partial", work->images);
    splat_status status = frames ? splat_folder_delete(frames, error)
                                 : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    free(frames);
    if (status == SPLAT_OK) status = splat_folder_delete(work->partial, error);
    (void)splat_temporaries_delete(work->folder);
    return status;
}

static splat_status find(splat_cameras_work *work, splat_cameras_info *info, splat_error *error)
{
    if (work->is_video) {
        SPLAT_TRY(splat_cameras_take_frames(work, error));
        SPLAT_TRY(read_photos(work, error));
    }
    SPLAT_TRY(check_folder(work, error));
    SPLAT_TRY(splat_cameras_state_settle(work, false, error));
    info->is_done_before = is_all_done(work);
    bool is_without_poses = !work->is_video && splat_cameras_are_needed(work->options->source, work->options->images);
    if (!info->is_done_before && is_without_poses) SPLAT_TRY(say_refused_poses(work, error));
    if (!info->is_done_before) SPLAT_TRY(run_stages(work, error));
    SPLAT_TRY(tidy(work, error));
    SPLAT_TRY(link_images(work, error));
    if (!work->is_video) SPLAT_TRY(link_masks(work, error));
    snprintf(info->camera_model, sizeof info->camera_model, "%s", work->camera_model);
    info->matcher = splat_cameras_state_get_matcher(work);
    return report(work, info, error);
}

static void work_free(splat_cameras_work *work)
{
    splat_photo_list_free(&work->photos);
    splat_colmap_program_free(&work->program);
    free(work->folder);
    free(work->images);
    free(work->database);
    free(work->sparse);
    free(work->partial);
    free(work->log);
    free(work->list);
    free(work->pairs);
    json_decref(work->state);
}

splat_status splat_cameras_find(const splat_cameras_options *caller, splat_cameras_info *info, splat_error *error)
{
    splat_cameras_options options;
    splat_cameras_work work = {.options = &options};
    int lock = -1;
    *info = (splat_cameras_info){0};
    splat_cameras_options_init(&options);
    SPLAT_TRY(splat_options_take(&options, caller, "splat_cameras_options", error));
    SPLAT_TRY(splat_cameras_options_check(&options, error));
    splat_status status = SPLAT_OK;
    work.is_video = is_file(options.source);
    if (!splat_path_exists(options.source))
        status = splat_fail_at(error, SPLAT_ERROR_IO, options.source, SPLAT_NO_OFFSET,
                               "there is no such file or folder; name a folder of photos or a video");
    if (work.is_video && !splat_is_video_name(options.source))
        status = splat_fail_at(error, SPLAT_ERROR_FORMAT, options.source, SPLAT_NO_OFFSET,
                               "this is neither a folder of photos nor a video (.mp4, .mov, .mkv and the like)");
    if (status == SPLAT_OK && options.vocab_tree && !is_file(options.vocab_tree))
        status = splat_fail_at(error, SPLAT_ERROR_IO, options.vocab_tree, SPLAT_NO_OFFSET,
                               "there is no such vocabulary tree");
    if (status == SPLAT_OK && !work.is_video) status = read_photos(&work, error); /* before anything is written */
    bool is_new = status == SPLAT_OK && !splat_path_exists(options.folder);
    if (status == SPLAT_OK) status = splat_cameras_folder_open(&work, error);
    if (status == SPLAT_OK) status = splat_folder_lock(work.folder, &lock, error);
    if (status == SPLAT_OK) status = find(&work, info, error);
    splat_folder_unlock(lock);
    if (status != SPLAT_OK && is_new) (void)rmdir(options.folder); /* where nothing was written, nothing stays */
    work_free(&work);
    return status;
}
