/* Code shared by the tests of field_loss: a made-up surface of Gaussians in front of a camera, with a depth map near
 * it. */
#ifndef SPLAT_OPS_FIELD_LOSS_TEST_H
#define SPLAT_OPS_FIELD_LOSS_TEST_H

#include "ops/field_loss/field_loss.h"
#include "ops/project/project_test.h"

typedef enum field_scene_kind {
    FIELD_DISCS = 0, /* discs of all opacities and directions on a wavy surface that the picture cuts off */
    FIELD_FAINT,     /* the same, with densities below 1e-16 */
    FIELD_TINY,      /* pairs of equal discs, their short axes below the least scale of densities */
    FIELD_NEEDLES    /* shapes from e^-20 to e^2 */
} field_scene_kind;

/* Host memory. */
typedef struct field_scene {
    test_gaussians t;
    splat_camera camera;
    uint32_t *neighbors;
    float *maps, *transmittance; /* one plane each */
    size_t n_pixels;
} field_scene;

field_scene field_scene_make(field_scene_kind kind, uint32_t n, int width, int height);
void field_scene_free(field_scene *scene);
/* The nearest others, after means were changed. */
void field_scene_connect(field_scene *scene);
/* Number k of item i, uniform in [0, 1). */
float field_random(uint32_t k, uint32_t i);

/* field_loss_differences_test.c: the reference against central differences. Returns the number of failures. */
int check_field_differences(void);

#endif
