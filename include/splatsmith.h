/* splatsmith.h - photos in, a Gaussian splat out. All of the public headers, which are the manual:
 *
 *   splatsmith/core.h     errors, the context with its device, log and memory, cameras
 *   splatsmith/scene.h    photos with their cameras
 *   splatsmith/model.h    splats: files, rendering, metrics, pictures of views, model folders
 *   splatsmith/train.h    training: the plan, the trainer, runs
 *   splatsmith/distributed.h  ranks: processes or threads that train together
 *   splatsmith/mesh.h     meshes from splats
 *   splatsmith/refine.h   Gaussians bound to a mesh: training both, and editing the mesh
 *   splatsmith/texture.h  textures for meshes
 *
 * and of a second library, libsplatsmith-program, which is built on the first:
 *
 *   splatsmith/capture.h  cameras for photos that have none
 *   splatsmith/sample.h   the built-in scenes
 *   splatsmith/viewer.h   a splat in a browser
 *   splatsmith/pipeline.h from photos to a textured mesh in one call
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Plain C, usable from C++. Every object is an opaque handle with a create/open/load function and one function that
 * gives it back. Functions that can fail return a splat_status and take a `splat_error *` (may be NULL) last.
 * The library never prints, exits or aborts, and keeps no global state.
 *
 * Thread safety: a handle is used by one thread at a time; different handles of different contexts are independent.
 * splat_trainer_request_stop() may be called from any thread and from a signal handler.
 *
 * Conventions: lengths are in scene units; camera space has x right, y down, z forward (COLMAP); quaternions are
 * (w, x, y, z); pictures are row-major with the origin at the top left; pixel (i, j) is sampled at (i + 1/2, j + 1/2)
 * of the continuous picture. Strings are UTF-8 and borrowed unless a comment says otherwise.
 */
#ifndef SPLATSMITH_H
#define SPLATSMITH_H

#include "splatsmith/core.h"
#include "splatsmith/scene.h"
#include "splatsmith/model.h"
#include "splatsmith/distributed.h"
#include "splatsmith/train.h"
#include "splatsmith/mesh.h"
#include "splatsmith/refine.h"
#include "splatsmith/texture.h"
#include "splatsmith/capture.h"
#include "splatsmith/sample.h"
#include "splatsmith/viewer.h"
#include "splatsmith/pipeline.h"

#ifndef __cplusplus
/* Sets an option of any of these structs by its name: see "options" in splatsmith/core.h. */
#define splat_options_set(options, name, text, error)                                                                  \
    _Generic((options),                                                                                                \
             splat_scene_options *: splat_scene_options_set,                                                           \
             splat_sample_options *: splat_sample_options_set,                                                         \
             splat_cameras_options *: splat_cameras_options_set,                                                       \
             splat_clean_options *: splat_clean_options_set,                                                           \
             splat_train_options *: splat_train_options_set,                                                           \
             splat_mesh_extract_options *: splat_mesh_extract_options_set,                                             \
             splat_texture_options *: splat_texture_options_set,                                                       \
             splat_viewer_options *: splat_viewer_options_set)(options, name, text, error)
#endif

#endif
