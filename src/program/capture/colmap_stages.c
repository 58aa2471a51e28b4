/* Each stage asks COLMAP which options it knows, runs it, and tries again where a fault says that this helps. */
#include "capture/colmap_stages.h"

#include "base/clock.h"
#include "base/file.h"
#include "capture/cameras_state.h"
#include "capture/colmap_run.h"
#include "io/colmap/colmap_read.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- pairs that are worth their time */

#define LONG_S 600.0
#define PAIR_CPU_S 0.7     /* COLMAP 3.8, two photos of up to 8192 features, one core */
#define PAIR_GPU_S 0.02    /* a guess: a GPU is some thirty times as fast */
#define GAP 2              /* numbers are, on average, at most so far apart */
#define MAX_DIGITS 18

/* Features of a photo. */
static int max_features(const splat_cameras_work *work)
{
    switch (work->quality) {
    case SPLAT_CAMERA_QUALITY_LOW: return 2048;
    case SPLAT_CAMERA_QUALITY_MEDIUM: return 4096;
    case SPLAT_CAMERA_QUALITY_AUTO:
    case SPLAT_CAMERA_QUALITY_HIGH: return 8192;
    }
    return 8192;
}

/* The number that a name ends with before its dot, and the length of what stands before it. False: there is none. */
static bool read_number(const char *name, size_t *prefix, long long *number)
{
    const char *slash = strrchr(name, '/'), *dot = strrchr(slash ? slash : name, '.');
    size_t end = dot ? (size_t)(dot - name) : strlen(name), begin = end;
    while (begin > 0 && isdigit((unsigned char)name[begin - 1])) begin--;
    if (begin == end || end - begin > MAX_DIGITS) return false;
    *prefix = begin;
    *number = strtoll(name + begin, NULL, 10);
    return true;
}

bool splat_names_are_sequence(char *const *names, size_t n)
{
    size_t first_prefix = 0;
    long long first = 0, last = 0;
    if (n < 2) return false;
    for (size_t i = 0; i < n; i++) {
        size_t prefix;
        long long number;
        if (!read_number(names[i], &prefix, &number)) return false;
        if (i > 0 && (prefix != first_prefix || strncmp(names[i], names[0], prefix) != 0 || number <= last))
            return false;
        if (i == 0) {
            first_prefix = prefix;
            first = number;
        }
        last = number;
    }
    return last - first <= GAP * (long long)(n - 1);
}

static double exhaustive_seconds(const splat_cameras_work *work)
{
    double n = (double)work->photos.n, share = max_features(work) / 8192.0;
    double pairs = 0.5 * n * (n - 1) * share * share;
    long cores = work->options->threads > 0 ? work->options->threads : sysconf(_SC_NPROCESSORS_ONLN);
    return work->use_gpu ? pairs * PAIR_GPU_S : pairs * PAIR_CPU_S / (double)(cores > 0 ? cores : 1);
}

void splat_cameras_suggest_matcher(const splat_cameras_work *work)
{
    double seconds = exhaustive_seconds(work);
    if (work->matcher != SPLAT_MATCHER_EXHAUSTIVE || work->options->matcher == SPLAT_MATCHER_EXHAUSTIVE) return;
    if (seconds <= LONG_S || !splat_names_are_sequence(work->photos.names, work->photos.n)) return;
    splat_cameras_say(work, SPLAT_LOG_NOTICE, "comparing all pairs of %zu photos may take %.0f minutes; the names are "
                      "numbered in order, so `matcher sequential`, which compares neighbours, is faster",
                      work->photos.n, seconds / 60);
}

/* ---------------------------------------------------------------- a command */

#define TENTH 10          /* of photos in a sequence, every so many-th is compared with all of these */
#define MANY_PHOTOS 300   /* more take long one after the other */
#define LEAST_MODEL 10    /* the least number of photos in a model that COLMAP keeps by default */

typedef struct stage_command {
    const char *stage, *command;
    char *help;
    splat_words words;
} stage_command;

typedef struct help_tick {
    const splat_cameras_work *work;
    const char *stage;
} help_tick;

static bool tick_help(void *user)
{
    const help_tick *t = user;
    return splat_cameras_tick(t->work, t->stage, 0);
}

/* colmap COMMAND --database_path DB */
static splat_status command_begin(const splat_cameras_work *work, const char *stage, const char *command,
                                  stage_command *c, splat_error *error)
{
    help_tick tick = {work, stage};
    *c = (stage_command){.stage = stage, .command = command};
    SPLAT_TRY(splat_colmap_help(&work->program, command, tick_help, &tick, &c->help, error));
    splat_words_add(&c->words, work->program.name);
    splat_words_add(&c->words, command);
    splat_words_add_option(&c->words, c->help, "database_path", work->database);
    return SPLAT_OK;
}

static void command_end(stage_command *c)
{
    splat_words_free(&c->words);
    free(c->help);
}

static void add(stage_command *c, const char *names, const char *value)
{
    splat_words_add_option(&c->words, c->help, names, value);
}

/* Versions up to 3.12 name them after SIFT, later ones partly, then wholly after what they do. */
static void add_machine(const splat_cameras_work *work, stage_command *c, const char *use_gpu, const char *threads)
{
    char n[16];
    add(c, use_gpu, work->use_gpu ? "1" : "0");
    snprintf(n, sizeof n, "%d", work->options->threads);
    if (work->options->threads > 0) add(c, threads, n);
}

static splat_status run(const splat_cameras_work *work, const stage_command *c, splat_colmap_end *end,
                        splat_error *error)
{
    return splat_colmap_run(work, c->stage, &c->words, end, error);
}

/* True if a failed stage deserves another try without the GPU, which is then not used any more. */
static bool give_up_gpu(splat_cameras_work *work, const splat_colmap_end *end)
{
    if (end->is_good || !work->use_gpu) return false;
    work->use_gpu = false;
    splat_cameras_say(work, SPLAT_LOG_NOTICE, "COLMAP failed with the GPU, and is tried without (%s)", work->log);
    return true;
}

/* ---------------------------------------------------------------- features */

/* The longer side, in pixels. */
static const char *max_image_size(splat_camera_quality quality)
{
    if (quality == SPLAT_CAMERA_QUALITY_LOW) return "1000";
    return quality == SPLAT_CAMERA_QUALITY_MEDIUM ? "1600" : "2400";
}

static splat_status extract(splat_cameras_work *work, bool goes_on, splat_colmap_end *end, splat_error *error)
{
    static const char stage[] = "features";
    char features[16];
    stage_command c;
    splat_status status = command_begin(work, stage, "feature_extractor", &c, error);
    if (status == SPLAT_OK) {
        add(&c, "image_path", work->photos.folder);
        add(&c, "image_list_path", work->list);
        add(&c, "ImageReader.camera_model", work->camera_model);
        add(&c, "ImageReader.single_camera", work->sharing == SPLAT_SHARING_ALL ? "1" : "0");
        if (work->sharing == SPLAT_SHARING_FOLDERS) add(&c, "ImageReader.single_camera_per_folder", "1");
        /* photos that are in the database are passed over, and their camera would not be that of the rest */
        if (goes_on && work->sharing == SPLAT_SHARING_ALL) add(&c, "ImageReader.existing_camera_id", "1");
        add_machine(work, &c, "SiftExtraction.use_gpu|FeatureExtraction.use_gpu",
                    "SiftExtraction.num_threads|FeatureExtraction.num_threads");
        add(&c, "SiftExtraction.max_image_size|FeatureExtraction.max_image_size", max_image_size(work->quality));
        snprintf(features, sizeof features, "%d", max_features(work));
        add(&c, "SiftExtraction.max_num_features", features);
        status = run(work, &c, end, error);
    }
    command_end(&c);
    return status;
}

splat_status splat_cameras_extract_features(splat_cameras_work *work, splat_error *error)
{
    splat_colmap_end end;
    double begin = splat_clock_seconds();
    bool goes_on = splat_path_exists(work->database);
    /* the cameras of folders cannot be named one by one */
    if (goes_on && work->sharing == SPLAT_SHARING_FOLDERS) {
        splat_cameras_delete_database(work, NULL); /* where it stays, COLMAP says what is wrong */
        goes_on = false;
    }
    SPLAT_TRY(extract(work, goes_on, &end, error));
    if (!end.is_good && goes_on) { /* it was stopped before the first photo, or is damaged */
        splat_cameras_delete_database(work, NULL); /* where it stays, COLMAP says what is wrong */
        SPLAT_TRY(extract(work, false, &end, error));
    }
    if (give_up_gpu(work, &end)) {
        splat_cameras_delete_database(work, NULL); /* where it stays, COLMAP says what is wrong */
        SPLAT_TRY(extract(work, false, &end, error));
    }
    if (!end.is_good) return splat_cameras_fail(work, "feature_extractor", &end, error);
    if (end.n_bad_photos)
        splat_cameras_say(work, SPLAT_LOG_WARNING, "COLMAP could not read some photos, which %s names; save them again "
                          "as JPEG in RGB", work->log);
    return splat_cameras_set_done(work, "features", splat_clock_seconds() - begin, error);
}

/* ---------------------------------------------------------------- matches */

/* Pairs of every tenth photo, so that a walk around something closes: nobody else compares its end with its
 * beginning. False: there are too few. */
static splat_status write_pairs(const splat_cameras_work *work, bool *any, splat_error *error)
{
    const splat_photo_list *photos = &work->photos;
    splat_save save;
    *any = photos->n > 2 * TENTH;
    if (!*any) return SPLAT_OK;
    SPLAT_TRY(splat_save_open(&save, work->pairs, error));
    for (size_t i = 0; i < photos->n; i += TENTH)
        for (size_t k = i + TENTH; k < photos->n; k += TENTH)
            if (!strchr(photos->names[i], ' ') && !strchr(photos->names[k], ' ')) /* what separates the two */
                fprintf(save.stream, "%s %s\n", photos->names[i], photos->names[k]);
    return splat_save_commit(&save, error);
}

/* Photos of a block, each with each: COLMAP tells of every block, and keeps what is done when it is stopped, so there
 * are some dozens of them; its own are of 50 photos, for their memory. */
static int block_size(size_t n_photos)
{
    size_t size = n_photos / 8;
    return size < 5 ? 5 : size > 50 ? 50 : (int)size;
}

static splat_status match_with(const splat_cameras_work *work, const char *command, splat_colmap_end *end,
                               splat_error *error)
{
    stage_command c;
    splat_status status = command_begin(work, "matches", command, &c, error);
    if (status == SPLAT_OK) {
        add_machine(work, &c, "SiftMatching.use_gpu|FeatureMatching.use_gpu",
                    "SiftMatching.num_threads|FeatureMatching.num_threads");
        if (strcmp(command, "exhaustive_matcher") == 0) {
            char size[16];
            snprintf(size, sizeof size, "%d", block_size(work->photos.n));
            add(&c, "ExhaustiveMatching.block_size|ExhaustivePairing.block_size", size);
        }
        if (strcmp(command, "sequential_matcher") == 0)
            add(&c, "SequentialMatching.overlap|SequentialPairing.overlap", work->is_video ? "10" : "20");
        if (strcmp(command, "matches_importer") == 0) {
            add(&c, "match_list_path", work->pairs);
            add(&c, "match_type", "pairs");
        }
        if (strcmp(command, "vocab_tree_matcher") == 0 &&
            !splat_words_add_option(&c.words, c.help,
                                    "VocabTreeMatching.vocab_tree_path|VocabTreePairing.vocab_tree_path",
                                    work->options->vocab_tree))
            status = splat_fail(error, SPLAT_ERROR_IO, "vocab_tree_matcher of %.200s takes no vocabulary tree; choose "
                                "another `matcher`", work->program.name);
        if (status == SPLAT_OK) status = run(work, &c, end, error);
    }
    command_end(&c);
    return status;
}

static splat_status match(splat_cameras_work *work, const char *command, splat_error *error)
{
    splat_colmap_end end;
    SPLAT_TRY(match_with(work, command, &end, error));
    if (give_up_gpu(work, &end)) SPLAT_TRY(match_with(work, command, &end, error));
    return end.is_good ? SPLAT_OK : splat_cameras_fail(work, command, &end, error);
}

/* Photos with those that their GPS says were taken nearby, as far as COLMAP can: its features come with their places.
 * That was not asked for, so it may fail. */
static splat_status match_by_place(splat_cameras_work *work, splat_error *error)
{
    help_tick tick = {work, "matches"};
    splat_colmap_end end;
    splat_error refused;
    char *help;
    splat_status status = splat_colmap_help(&work->program, "spatial_matcher", tick_help, &tick, &help, &refused);
    if (status == SPLAT_OK) {
        free(help);
        SPLAT_TRY(match_with(work, "spatial_matcher", &end, error));
        if (give_up_gpu(work, &end)) SPLAT_TRY(match_with(work, "spatial_matcher", &end, error));
        if (!end.is_good)
            splat_cameras_say(work, SPLAT_LOG_WARNING, "COLMAP did not compare photos by where they were taken (%s); "
                              "neighbours by name are compared", work->log);
    } else if (status == SPLAT_ERROR_IO) {
        splat_cameras_say(work, SPLAT_LOG_NOTICE, "this COLMAP has no spatial_matcher; neighbours by name are "
                          "compared");
        status = SPLAT_OK;
    } else if (error) {
        *error = refused;
    }
    return status;
}

splat_status splat_cameras_match(splat_cameras_work *work, splat_error *error)
{
    double begin = splat_clock_seconds();
    bool any = false;
    if (work->matcher == SPLAT_MATCHER_EXHAUSTIVE) {
        SPLAT_TRY(match(work, "exhaustive_matcher", error));
    } else if (work->matcher == SPLAT_MATCHER_VOCAB_TREE) {
        SPLAT_TRY(match(work, "vocab_tree_matcher", error));
    } else {
        SPLAT_TRY(match(work, "sequential_matcher", error));
        SPLAT_TRY(write_pairs(work, &any, error));
        if (any) SPLAT_TRY(match(work, "matches_importer", error));
        if (work->by_place) SPLAT_TRY(match_by_place(work, error));
    }
    return splat_cameras_set_done(work, "matches", splat_clock_seconds() - begin, error);
}

/* ---------------------------------------------------------------- the mapper */

/* Demands on the pair of photos that a model begins with: first COLMAP's own, then weaker ones. With those a pair may
 * lie along the way, as in a street that somebody walks down, and points may be seen from nearly one direction: far
 * ones hold such a model together. Fewer inliers for a photo to join make a model of all photos whose parts do not fit
 * (docs/lab/capture.md). */
static const struct {
    const char *inliers, *degrees;
} demands[] = {{NULL, NULL}, {"50", "4"}, {"50", "2"}};
#define N_DEMANDS (sizeof demands / sizeof demands[0])
#define ANY_DIRECTION "1"  /* COLMAP: 0.95 of the motion may be forward */
#define LEAST_ANGLE "0.5"  /* degrees between the rays to a point; COLMAP: 1.5 */
#define ENOUGH_PHOTOS 0.9  /* of all have cameras: weaker demands are not tried */

static splat_status map_once(const splat_cameras_work *work, const char *command, size_t demand,
                             splat_colmap_end *end, splat_error *error)
{
    stage_command c;
    SPLAT_TRY(splat_folder_delete(work->partial, error));
    SPLAT_TRY(splat_folder_create(work->partial, error));
    splat_status status = command_begin(work, "mapping", command, &c, error);
    if (status == SPLAT_OK) {
        add(&c, "image_path", work->photos.folder);
        add(&c, "output_path", work->partial);
        if (work->options->threads > 0) {
            char n[16];
            snprintf(n, sizeof n, "%d", work->options->threads);
            add(&c, "Mapper.num_threads", n);
        }
        add(&c, "Mapper.ba_global_function_tolerance", "1e-6"); /* else most of the time goes into the last digits */
        if (work->photos.n < LEAST_MODEL) add(&c, "Mapper.min_model_size", "3");
        if (demands[demand].inliers) {
            add(&c, "Mapper.init_min_num_inliers", demands[demand].inliers);
            add(&c, "Mapper.init_min_tri_angle", demands[demand].degrees);
            add(&c, "Mapper.init_max_forward_motion", ANY_DIRECTION);
            add(&c, "Mapper.tri_min_angle", LEAST_ANGLE);
            add(&c, "Mapper.filter_min_tri_angle", LEAST_ANGLE);
        }
        status = run(work, &c, end, error);
    }
    command_end(&c);
    return status;
}

static bool has_model(const char *folder)
{
    char *largest;
    size_t n_models;
    bool found = splat_cameras_find_model(folder, &n_models, &largest, NULL) == SPLAT_OK;
    free(largest);
    return found;
}

/* Decides if all cameras are found at once. Errors: IO (the user asked for it, and COLMAP cannot do it). */
static splat_status choose_mapper(const splat_cameras_work *work, bool *is_global, splat_error *error)
{
    const splat_photo_list *photos = &work->photos;
    help_tick tick = {work, "mapping"};
    splat_mapper asked = work->options->mapper;
    splat_error refused;
    char *help;
    *is_global = false;
    if (asked == SPLAT_MAPPER_INCREMENTAL) return SPLAT_OK;
    if (asked == SPLAT_MAPPER_AUTO && (photos->n <= MANY_PHOTOS || photos->n_with_focal < photos->n)) return SPLAT_OK;
    splat_status status = splat_colmap_help(&work->program, "global_mapper", tick_help, &tick, &help, &refused);
    if (status == SPLAT_OK) {
        free(help);
        *is_global = true;
        return SPLAT_OK;
    }
    if (status == SPLAT_ERROR_IO && asked == SPLAT_MAPPER_AUTO) return SPLAT_OK;
    if (status == SPLAT_ERROR_IO)
        return splat_fail(error, status, "this COLMAP (%s) has no global_mapper, which came with 4.0; leave `mapper` "
                          "away", work->program.version[0] ? work->program.version : work->program.name);
    if (error) *error = refused;
    return status;
}

/* All cameras at once; *good: they were found. What was not asked for may fail. */
static splat_status map_globally(const splat_cameras_work *work, bool *good, splat_error *error)
{
    splat_colmap_end end;
    SPLAT_TRY(map_once(work, "global_mapper", 0, &end, error));
    *good = end.is_good && has_model(work->partial);
    if (!*good && work->options->mapper == SPLAT_MAPPER_GLOBAL)
        return splat_cameras_fail(work, "global_mapper", &end, error);
    if (!*good)
        splat_cameras_say(work, SPLAT_LOG_NOTICE, "the global mapper found no cameras (%s); they are looked for one "
                          "after the other", work->log);
    return SPLAT_OK;
}

/* Photos with cameras in the model that was just made. COLMAP does not look whether its files could be written. */
static splat_status count_cameras(const splat_cameras_work *work, size_t *n, splat_error *error)
{
    splat_colmap_model model;
    splat_error damage;
    size_t n_models;
    splat_status status = splat_cameras_read_model(work->partial, &n_models, &model, &damage);
    *n = model.n_images;
    splat_colmap_free(&model);
    if (status == SPLAT_OK) return SPLAT_OK;
    if (status == SPLAT_ERROR_MEMORY) return splat_fail(error, status, "%s", damage.message);
    return splat_fail_at(error, SPLAT_ERROR_IO, damage.file, damage.offset,
                         "colmap mapper ended well, but its model is damaged (%s). The disk may be full: make room and "
                         "run the same command again", damage.message);
}

/* Keeps the models that were just made if they have more cameras than those before. */
static splat_status keep_the_larger(const splat_cameras_work *work, size_t *n_cameras, splat_error *error)
{
    size_t n;
    SPLAT_TRY(count_cameras(work, &n, error));
    if (n <= *n_cameras) return splat_folder_delete(work->partial, error);
    *n_cameras = n;
    SPLAT_TRY(splat_folder_delete(work->sparse, error));
    if (rename(work->partial, work->sparse) != 0) return splat_fail_errno(error, work->sparse, "name the models");
    return SPLAT_OK;
}

static void say_demands(const splat_cameras_work *work, size_t demand, size_t n_cameras)
{
    char why[80] = "no pair of photos is good to begin with";
    if (n_cameras > 0) snprintf(why, sizeof why, "%zu of %zu photos have cameras", n_cameras, work->photos.n);
    splat_cameras_say(work, SPLAT_LOG_NOTICE, "%s; trying again with %s inliers and %s degrees between the first two "
                      "photos", why, demands[demand].inliers, demands[demand].degrees);
}

/* One camera after the other: with weaker demands where no pair was good to begin with, and once where many photos
 * are left. */
static splat_status map_one_by_one(const splat_cameras_work *work, size_t *n_cameras, splat_error *error)
{
    const double enough = ENOUGH_PHOTOS * (double)work->photos.n;
    splat_colmap_end end = {0};
    for (size_t i = 0; i < N_DEMANDS; i++) {
        const bool is_last = *n_cameras > 0;
        if (i > 0) say_demands(work, i, *n_cameras);
        SPLAT_TRY(map_once(work, "mapper", i, &end, error));
        const bool good = end.is_good && has_model(work->partial);
        if (good) SPLAT_TRY(keep_the_larger(work, n_cameras, error));
        if (is_last || (double)*n_cameras >= enough) return SPLAT_OK;
        if (!good && end.is_good) end.fault = splat_colmap_worse_fault(end.fault, SPLAT_COLMAP_FAULT_NO_START);
        if (!good && end.fault != SPLAT_COLMAP_FAULT_NO_START) break;
    }
    return *n_cameras > 0 ? SPLAT_OK : splat_cameras_fail(work, "mapper", &end, error);
}

splat_status splat_cameras_map(splat_cameras_work *work, splat_error *error)
{
    double begin = splat_clock_seconds();
    size_t n_cameras = 0;
    bool good = false, is_global;
    SPLAT_TRY(choose_mapper(work, &is_global, error));
    if (is_global) SPLAT_TRY(map_globally(work, &good, error));
    if (good) SPLAT_TRY(keep_the_larger(work, &n_cameras, error));
    else SPLAT_TRY(map_one_by_one(work, &n_cameras, error));
    SPLAT_TRY(splat_folder_delete(work->partial, error));
    return splat_cameras_set_done(work, "mapping", splat_clock_seconds() - begin, error);
}
