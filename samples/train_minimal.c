/* Trains 100 steps and writes a PLY, with the library only.
 *
 *     train_minimal SCENE OUT.ply
 *
 * SCENE is any folder that `splatsmith train` reads; one that does not exist is filled with a small ray-traced scene.
 */
#include <splatsmith.h>

#include <stdio.h>
#include <unistd.h>

/* Called by the library for everything that happens in a run. */
static void on_event(void *user, const splat_event *event)
{
    int total = *(const int *)user;
    if (event->kind == SPLAT_EVENT_STEP && event->step->iteration % 20 == 0)
        printf("step %d of %d: loss %.4f, %zu Gaussians\n", event->step->iteration, total, event->step->loss,
               event->step->n_gaussians);
    if (event->kind == SPLAT_EVENT_EVALUATION) printf("PSNR %.2f dB\n", event->metrics->psnr);
}

static splat_status make_scene(splat_context *context, const char *folder, splat_error *error)
{
    splat_sample_options options;
    splat_sample_options_init(&options);
    options.width = 96;
    options.height = 72;
    options.n_cameras = 12;
    options.n_points = 600;
    options.n_truth = 1000;
    return splat_sample_write(context, folder, &options, error);
}

static splat_status train(splat_context *context, const char *folder, const char *output, splat_error *error)
{
    splat_scene *scene = NULL;
    splat_trainer *trainer = NULL;
    splat_scene_options scene_options;
    splat_train_options train_options;
    splat_run_options run_options;
    splat_save_options save_options;

    splat_scene_options_init(&scene_options);
    scene_options.source_path = folder;
    splat_status status = splat_scene_open(context, &scene_options, &scene, error);

    splat_train_options_init(&train_options);
    train_options.iterations = 100;
    if (status == SPLAT_OK) status = splat_trainer_create(context, scene, &train_options, &trainer, error);

    splat_run_options_init(&run_options);
    run_options.model_path = "model"; /* the usual folder of a run: cameras.json, cfg_args, point_cloud/ */
    run_options.event = on_event;
    run_options.event_user = &train_options.iterations;
    if (status == SPLAT_OK) status = splat_trainer_run(trainer, &run_options, error);
    splat_save_options_init(&save_options);
    save_options.fused = true; /* for other viewers */
    if (status == SPLAT_OK) status = splat_model_save(splat_trainer_get_model(trainer), output, &save_options, error);

    splat_trainer_destroy(trainer);
    splat_scene_close(scene);
    return status;
}

int main(int argc, char **argv)
{
    char text[2048];
    splat_error error;
    splat_context *context = NULL;
    splat_context_options options;
    if (argc != 3) {
        fprintf(stderr, "usage: train_minimal SCENE OUT.ply\n");
        return 2;
    }
    splat_context_options_init(&options);
    splat_status status = splat_context_create(&options, &context, &error);
    if (status == SPLAT_OK && access(argv[1], F_OK) != 0) status = make_scene(context, argv[1], &error);
    if (status == SPLAT_OK) status = train(context, argv[1], argv[2], &error);
    if (status == SPLAT_OK)
        printf("wrote %s\n", argv[2]);
    else
        fprintf(stderr, "%s\n", splat_error_format(&error, text, sizeof text));
    splat_context_destroy(context);
    return status == SPLAT_OK ? 0 : 1;
}
