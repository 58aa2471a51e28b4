/* What the tests of checkpoints share: a tiny scene, contexts that keep what they are told, runs full of events. */
#ifndef SPLAT_TESTS_CHECKPOINT_FIXTURE_H
#define SPLAT_TESTS_CHECKPOINT_FIXTURE_H

#include "train/checkpoint.h"
#include "trainer_fixture.h"

#include <stdlib.h>
#include <string.h>

#define TINY_SCENE "tiny"

/* The log of a context. */
typedef struct tiny_log {
    char text[8192];
    int n_warnings;
} tiny_log;

typedef struct tiny_place {
    splat_context *context;
    splat_scene *scene;
    tiny_log *log;
} tiny_place;

static inline void keep_line(void *user, splat_log_level level, const char *message)
{
    tiny_log *log = user;
    size_t used = strlen(log->text);
    snprintf(log->text + used, sizeof log->text - used, "%s\n", message);
    log->n_warnings += level == SPLAT_LOG_WARNING;
}

/* Nothing when the folder is there. Another number of points or another seed: the same names and sizes of photos,
 * other places. */
static inline void make_tiny_scene(const char *folder, splat_context *context, int n_points, uint64_t seed)
{
    splat_error error;
    splat_sample_options sample;
    if (splat_path_exists(folder)) return;
    splat_sample_options_init(&sample);
    sample.width = 64;
    sample.height = 48;
    sample.n_cameras = 8;
    sample.n_points = n_points;
    sample.n_truth = 10;
    sample.supersample = 1;
    sample.seed = seed;
    must(splat_sample_write(context, folder, &sample, &error), &error);
}

static inline tiny_place open_tiny_at(const char *folder, int threads)
{
    tiny_place p = {.log = calloc(1, sizeof *p.log)};
    splat_error error;
    splat_context_options options;
    splat_scene_options scene;
    splat_context_options_init(&options);
    options.backend = "cpu";
    options.threads = threads;
    options.log = keep_line;
    options.log_user = p.log;
    must(splat_context_create(&options, &p.context, &error), &error);
    make_tiny_scene(folder, p.context, 200, 0);
    splat_scene_options_init(&scene);
    scene.source_path = folder;
    must(splat_scene_open(p.context, &scene, &p.scene, &error), &error);
    return p;
}

static inline tiny_place open_tiny(int threads)
{
    return open_tiny_at(TINY_SCENE, threads);
}

static inline void close_tiny(tiny_place *p)
{
    splat_memory_info memory;
    splat_scene_close(p->scene);
    splat_context_memory(p->context, &memory);
    assert_int_equal(memory.bytes, 0); /* every block was given back */
    splat_context_destroy(p->context);
    free(p->log);
}

static inline splat_trainer *tiny_trainer(const tiny_place *p, const splat_train_options *options)
{
    return new_trainer(p->context, p->scene, options);
}

/* Every kind of event, often. */
static inline splat_train_options tiny_options(int iterations)
{
    splat_train_options o;
    splat_train_options_init(&o);
    o.iterations = iterations;
    o.densify_from_iter = 5;
    o.densification_interval = 10;
    o.densify_until_iter = iterations * 3 / 4;
    o.opacity_reset_interval = 55;
    o.densify_grad_threshold = 0.0003f;
    o.target_gaussian_count = 400;
    o.random_background = true;
    return o;
}

/* The state as a checkpoint, and the splat. */
static inline void save_as(splat_trainer *t, const char *checkpoint, const char *ply)
{
    splat_error error;
    must(splat_trainer_save_checkpoint(t, checkpoint, &error), &error);
    must(splat_model_save(splat_trainer_model(t), ply, false, &error), &error);
}

/* Whether two checkpoints hold the same iteration and the same bytes in every tensor. */
static inline bool same_checkpoints(const char *a, const char *b)
{
    splat_tensor_reader x, y;
    splat_error error;
    must(splat_tensor_reader_open(&x, a, &error), &error);
    must(splat_tensor_reader_open(&y, b, &error), &error);
    bool same = x.n == y.n;
    same = same && json_equal(json_object_get(x.header, "iteration"), json_object_get(y.header, "iteration"));
    same = same && json_equal(json_object_get(x.header, "adam_steps"), json_object_get(y.header, "adam_steps"));
    for (size_t i = 0; i < x.n && same; i++) {
        const splat_tensor_entry *e = &x.entries[i], *f = &y.entries[i];
        uint8_t *left = malloc(e->bytes + 1), *right = malloc(f->bytes + 1);
        must(splat_tensor_reader_check(&x, e, &error), &error);
        must(splat_tensor_reader_check(&y, f, &error), &error);
        must(splat_tensor_reader_read(&x, e, 0, left, e->bytes, &error), &error);
        must(splat_tensor_reader_read(&y, f, 0, right, f->bytes, &error), &error);
        same = strcmp(e->name, f->name) == 0 && e->bytes == f->bytes && memcmp(left, right, e->bytes) == 0;
        free(left);
        free(right);
    }
    splat_tensor_reader_close(&x);
    splat_tensor_reader_close(&y);
    return same;
}

static inline bool same_files(const char *a, const char *b)
{
    uint8_t *x, *y;
    size_t nx, ny;
    splat_error error;
    must(splat_file_read(a, &x, &nx, &error), &error);
    must(splat_file_read(b, &y, &ny, &error), &error);
    bool same = nx == ny && memcmp(x, y, nx) == 0;
    free(x);
    free(y);
    return same;
}

#endif
