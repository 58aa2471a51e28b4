/* A built-in scene that is being written; shared by the files that make its points and its truth. */
#ifndef SPLAT_SCENE_SAMPLE_WORK_H
#define SPLAT_SCENE_SAMPLE_WORK_H

#include "base/error.h"
#include "io/colmap/colmap.h"
#include "sample/sample_camera.h"
#include "sample/sample_parts.h"
#include "sample/sample_raytrace.h"
#include "splatsmith/sample.h"

typedef struct splat_sample_work {
    const splat_sample_options *options;
    splat_sample_world world;     /* world of the scene `basic` */
    splat_sample_things things;   /* of the scene `table` */
    splat_parts parts;            /* worlds of the other scenes; parts.n is 0 in `basic` */
    splat_sample_camera *cameras; /* [options->n_cameras] */
    splat_lens lens;              /* lens of all pictures, also a pinhole */
    int threads;
} splat_sample_work;

static inline uint8_t splat_sample_byte(double value)
{
    return (uint8_t)(255 * fmin(fmax(value, 0), 1) + 0.5);
}

#endif
