/* Trains and shows it in a browser, with the library only.
 *
 *     train_viewer SCENE STEPS
 *
 * SCENE is any folder that `splatsmith train` reads. Open the address that is printed; the page can pause, save and
 * stop the run. The splat is saved in ./viewed.
 */
#include <splatsmith.h>

#include <stdio.h>
#include <stdlib.h>

static splat_status train(splat_trainer *trainer, splat_viewer *viewer, splat_error *error)
{
    splat_run_options options;
    splat_run_options_init(&options);
    options.model_path = "viewed";
    options.event = splat_viewer_event; /* or your own function, which calls it */
    options.event_user = viewer;
    splat_status status = splat_viewer_watch(viewer, trainer, "train", error);
    if (status == SPLAT_OK) status = splat_trainer_run(trainer, &options, error);
    splat_viewer_watch(viewer, NULL, NULL, NULL); /* before the trainer goes */
    return status;
}

int main(int argc, char **argv)
{
    char text[2048];
    splat_error error;
    splat_context *context = NULL;
    splat_scene *scene = NULL;
    splat_trainer *trainer = NULL;
    splat_viewer *viewer = NULL;
    splat_context_options context_options;
    splat_scene_options scene_options;
    splat_train_options train_options;
    splat_viewer_options viewer_options;
    if (argc != 3) {
        fprintf(stderr, "usage: train_viewer SCENE STEPS\n");
        return 2;
    }
    splat_context_options_init(&context_options);
    splat_scene_options_init(&scene_options);
    splat_train_options_init(&train_options);
    splat_viewer_options_init(&viewer_options);
    scene_options.source_path = argv[1];
    train_options.iterations = atoi(argv[2]);
    viewer_options.port = 0; /* any that is free */
    viewer_options.title = "viewed";
    splat_status status = splat_viewer_open(&viewer_options, &viewer, &error);
    if (status == SPLAT_OK) {
        printf("%s\n", splat_viewer_get_address(viewer));
        fflush(stdout);
        status = splat_context_create(&context_options, &context, &error);
    }
    if (status == SPLAT_OK) status = splat_scene_open(context, &scene_options, &scene, &error);
    if (status == SPLAT_OK) status = splat_trainer_create(context, scene, &train_options, &trainer, &error);
    if (status == SPLAT_OK) status = train(trainer, viewer, &error);
    if (status != SPLAT_OK) fprintf(stderr, "%s\n", splat_error_format(&error, text, sizeof text));
    splat_viewer_close(viewer);
    splat_trainer_destroy(trainer);
    splat_scene_close(scene);
    splat_context_destroy(context);
    return status == SPLAT_OK || status == SPLAT_ERROR_STOPPED ? 0 : 1;
}
