/* What the tests on a GPU share: a context on it, a scene, a trainer; and skipping loudly without one. */
#ifndef SPLAT_TESTS_GPU_FIXTURE_H
#define SPLAT_TESTS_GPU_FIXTURE_H

#include "model/model.h"
#include "train/trainer.h"
#include "trainer_fixture.h"

#include <stdlib.h>
#include <string.h>

static const char *device = "cuda";
static bool device_opens;

#define NEEDS_DEVICE()                                                                                                 \
    do {                                                                                                               \
        if (!device_opens) skip();                                                                                     \
    } while (0)

/* ---------------------------------------------------------------- a context, a scene, a trainer */

typedef struct place {
    splat_context *context;
    splat_scene *scene;
    size_t bytes; /* that the context holds by itself */
} place;

static inline splat_status open_context(const char *backend, bool deterministic, splat_context **context,
                                        splat_error *error)
{
    splat_context_options options;
    splat_context_options_init(&options);
    options.backend = backend;
    options.deterministic = deterministic;
    return splat_context_create(&options, context, error);
}

static inline place open_place(const char *backend, bool deterministic)
{
    place p;
    splat_error error;
    splat_memory_info memory;
    must(open_context(backend, deterministic, &p.context, &error), &error);
    splat_context_memory(p.context, &memory);
    p.bytes = memory.bytes;
    p.scene = open_scene(p.context);
    return p;
}

static inline void close_place(place *p)
{
    splat_memory_info memory;
    splat_scene_close(p->scene);
    splat_context_memory(p->context, &memory);
    assert_int_equal(memory.bytes, p->bytes); /* every block was given back */
    splat_context_destroy(p->context);
}

static inline splat_trainer *make_trainer(const place *p, const splat_train_options *options)
{
    splat_trainer *trainer;
    splat_error error;
    must(splat_trainer_create(p->context, p->scene, options, &trainer, &error), &error);
    return trainer;
}

static inline bool same_models(const splat_model *a, const splat_model *b)
{
    size_t size_a, size_b;
    uint8_t *bytes_a = model_bytes(a, "bytes.ply", &size_a), *bytes_b = model_bytes(b, "bytes.ply", &size_b);
    bool same = size_a == size_b && memcmp(bytes_a, bytes_b, size_a) == 0;
    free(bytes_a);
    free(bytes_b);
    return same;
}

static inline float *render(splat_model *model, const splat_camera *camera)
{
    const float background[3] = {0.1f, 0.2f, 0.3f};
    splat_error error;
    float *rgb = malloc(3 * (size_t)camera->width * (size_t)camera->height * sizeof *rgb);
    assert_non_null(rgb);
    must(splat_model_render(model, camera, background, rgb, &error), &error);
    return rgb;
}

static inline splat_camera camera_of(const place *p, size_t view)
{
    splat_view_info info;
    splat_error error;
    must(splat_scene_get_view(p->scene, view, &info, &error), &error);
    return info.camera;
}

/* Opens the device that argv names, or says why every test is skipped. */
static inline void find_device(int argc, char **argv, const char *what)
{
    splat_context *context;
    splat_error error;
    if (argc > 1) device = argv[1];
    splat_folder_delete(SCENE, NULL);
    device_opens = open_context(device, false, &context, &error) == SPLAT_OK;
    if (device_opens) {
        print_message("on %s\n", splat_context_description(context));
        splat_context_destroy(context);
    } else {
        print_message("SKIPPED: %s on a GPU: %s\n", what, error.message);
    }
}

#endif
