/* Points and surface of the built-in worlds that are lists of parts. */
#ifndef SPLAT_SAMPLE_TRUTH_H
#define SPLAT_SAMPLE_TRUTH_H

#include "sample/sample_work.h"

/* Noisy points where structure from motion would find some: on textures and along edges, seen by three cameras and
 * more. False: no memory. */
bool splat_sample_parts_points(const splat_sample_work *s, splat_point *points, int n);
/* ground_truth.ply, points that are uniform by area over what three cameras and more see, with the kind of their part
 * as `subset`, those of the background fewer; ground_truth_mesh.ply, all of the surface. */
splat_status splat_sample_parts_truth(const splat_sample_work *s, const char *folder, splat_error *error);
/* How many cameras see a place of the surface, counted up to `enough`: in the frame, facing, not hidden; *direction is
 * the last one's line of sight. */
int splat_sample_parts_seen(const splat_sample_work *s, splat_vec3 position, splat_vec3 normal, int enough,
                            splat_vec3 *direction);

#endif
