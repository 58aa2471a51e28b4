/* The built-in scene: a small ray-traced COLMAP scene whose surfaces are known. */
#ifndef SPLAT_SCENE_SAMPLE_SCENE_H
#define SPLAT_SCENE_SAMPLE_SCENE_H

#include "base/error.h"
#include "splatsmith/sample.h"

/* Implements splat_sample_write. The same options give the same bytes for any number of threads. After a failure it
 * removes every file that it wrote. */
splat_status splat_sample_scene_write(const char *folder, const splat_sample_options *options, int threads,
                                      splat_error *error);

#endif
