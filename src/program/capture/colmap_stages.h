/* The stages: features of every photo, matches of pairs, and the mapper that finds the cameras. */
#ifndef SPLAT_CAPTURE_COLMAP_STAGES_H
#define SPLAT_CAPTURE_COLMAP_STAGES_H

#include "capture/cameras_parts.h"

/* A notice when all pairs take long and the names say that neighbours would do. */
void splat_cameras_suggest_matcher(const splat_cameras_work *work);
/* True if the names are numbered in order, as those of frames and of a camera: the same beginning, then rising numbers
 * with few gaps. */
bool splat_names_are_sequence(char *const *names, size_t n);

splat_status splat_cameras_extract_features(splat_cameras_work *work, splat_error *error);
splat_status splat_cameras_match(splat_cameras_work *work, splat_error *error);
/* Leaves complete models in work->sparse. */
splat_status splat_cameras_map(splat_cameras_work *work, splat_error *error);

#endif
