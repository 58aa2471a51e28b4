/* Sizes and cameras of the views. */
#ifndef SPLAT_SCENE_DATASET_SIZE_H
#define SPLAT_SCENE_DATASET_SIZE_H

#include "scene/dataset.h"
#include "scene/dataset_parts.h"

/* The lens of a photo that its camera is for width x height of, with the bound of the options. */
splat_lens splat_source_lens(const splat_source_view *view, int width, int height,
                             const splat_scene_options *options);

/* Probes the photo and fills sizes, lens and camera of a view. *limited as in splat_resolution_apply. `before`: a
 * finished view, or NULL; of the same lens, it lends its frame. */
splat_status splat_view_set_camera(splat_dataset_view *view, const splat_source_view *source,
                                   const splat_scene_options *options, const splat_dataset_view *before, bool *limited,
                                   splat_error *error);

/* True if a picture of file size can be a reduced or enlarged copy of one of full size: sides agree within one pixel,
 * or the aspect within 1 percent. */
bool splat_same_view(int file_width, int file_height, int full_width, int full_height);

/* True if two views probably have the same camera: the same size and focal lengths, or the same crop of one lens. */
bool splat_view_same_camera(const splat_dataset_view *a, const splat_dataset_view *b);
/* The size a photo is loaded at, by the -r rules (docs/method.md 2.3). *limited: the 1600-pixel rule acted. */
void splat_resolution_apply(int resolution, int width, int height, int *out_width, int *out_height, bool *limited);

#endif
