/* The built-in scene `basic`: its cameras, its points and its truth. */
#ifndef SPLAT_SAMPLE_BASIC_H
#define SPLAT_SAMPLE_BASIC_H

#include "sample/sample_work.h"

splat_sample_camera splat_sample_basic_camera(const splat_sample_options *options, int index);
/* Noisy points to start from. */
void splat_sample_basic_points(const splat_sample_work *s, splat_point *points, int n);
/* ground_truth.ply */
splat_status splat_sample_basic_truth(const splat_sample_work *s, const char *folder, splat_error *error);

#endif
