/* What the tests that train share: a context, a small sample scene, and a short run through every kind of event. */
#ifndef SPLAT_TESTS_TRAINER_FIXTURE_H
#define SPLAT_TESTS_TRAINER_FIXTURE_H

#include "base/file.h"
#include "splatsmith.h"

#define SCENE "scene"
#define WIDTH 100
#define HEIGHT 70 /* not a multiple of the tile */

static inline void must(splat_status status, const splat_error *error)
{
    if (status != SPLAT_OK) fail_msg("%s: %s (%s)", splat_status_name(status), error->message, error->file);
}

static inline splat_context *open_cpu(int threads)
{
    splat_context *context;
    splat_error error;
    splat_context_options options;
    splat_context_options_init(&options);
    options.backend = "cpu";
    options.threads = threads;
    must(splat_context_create(&options, &context, &error), &error);
    return context;
}

/* Opens SCENE with test views held out; makes it when it is absent. */
static inline splat_scene *open_scene(splat_context *context)
{
    splat_error error;
    splat_scene *opened;
    if (!splat_path_exists(SCENE)) {
        splat_sample_options sample;
        splat_sample_options_init(&sample);
        sample.width = WIDTH;
        sample.height = HEIGHT;
        sample.n_cameras = 17;
        sample.n_points = 400;
        sample.n_truth = 100;
        sample.supersample = 1;
        must(splat_sample_write(context, SCENE, &sample, &error), &error);
    }
    splat_scene_options scene;
    splat_scene_options_init(&scene);
    scene.source_path = SCENE;
    scene.eval = true;
    must(splat_scene_open(context, &scene, &opened, &error), &error);
    return opened;
}

static inline splat_trainer *new_trainer(splat_context *context, splat_scene *scene, const splat_train_options *options)
{
    splat_trainer *trainer;
    splat_error error;
    must(splat_trainer_create(context, scene, options, &trainer, &error), &error);
    return trainer;
}

/* NULL is allowed for the trainer and the scene. */
static inline void close_training(splat_context *context, splat_scene *scene, splat_trainer *trainer)
{
    splat_trainer_destroy(trainer);
    splat_scene_close(scene);
    splat_context_destroy(context);
}

/* SH degree, densification, cap, reset and late filter all happen within 60 steps. */
static inline splat_train_options busy_options(int iterations)
{
    splat_train_options o;
    splat_train_options_init(&o);
    o.iterations = iterations;
    o.densify_from_iter = 10;
    o.densification_interval = 10;
    o.densify_until_iter = 45;
    o.opacity_reset_interval = 25;
    o.densify_grad_threshold = 0.0001f;
    return o;
}

/* The same schedule from iteration 3000 on, where all SH bands are active: make the trainer, then start it late. */
#define LATE 3000
static inline splat_train_options late_options(int iterations)
{
    splat_train_options o = busy_options(LATE + iterations);
    o.densify_from_iter += LATE;
    o.densify_until_iter += LATE;
    return o;
}

static inline splat_step_info run_steps(splat_trainer *trainer, int n)
{
    splat_step_info info = {0};
    splat_error error;
    for (int i = 0; i < n; i++) must(splat_trainer_step(trainer, &info, &error), &error);
    return info;
}

/* The bytes of the saved model; the caller frees. */
static inline uint8_t *model_bytes(const splat_model *model, const char *path, size_t *size)
{
    uint8_t *data;
    splat_error error;
    must(splat_model_save(model, path, false, &error), &error);
    must(splat_file_read(path, &data, size, &error), &error);
    return data;
}

#endif
