/* A group of tests on one small training: the context, scene and trainer that its setup and teardown make and close. */
#ifndef SPLAT_TESTS_TRAINING_GROUP_H
#define SPLAT_TESTS_TRAINING_GROUP_H

#include "trainer_fixture.h"

static splat_context *context;
static splat_scene *scene;
static splat_trainer *trainer;

static inline int open_all(void **state)
{
    const splat_train_options train = busy_options(100);
    (void)state;
    context = open_cpu(2);
    scene = open_scene(context);
    trainer = new_trainer(context, scene, &train);
    return 0;
}

static inline int close_all(void **state)
{
    (void)state;
    close_training(context, scene, trainer);
    return 0;
}

#endif
