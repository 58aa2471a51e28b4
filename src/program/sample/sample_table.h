/* The worlds `table` and `product`: things of the user's on a table and on white paper. */
#ifndef SPLAT_SCENE_SAMPLE_TABLE_H
#define SPLAT_SCENE_SAMPLE_TABLE_H

#include "sample/sample_camera.h"
#include "sample/sample_parts.h"

/* The longest side of the largest thing, scene units. */
#define SPLAT_SAMPLE_TABLE_LARGEST 0.9

/* parts->things are the things; the rest is made new. */
void splat_sample_table_init(splat_parts *parts, uint64_t seed);
/* The same on white paper before a white wall. */
void splat_sample_product_init(splat_parts *parts, uint64_t seed);
void splat_sample_table_camera(uint64_t seed, int index, int n, splat_sample_camera *camera);

#endif
