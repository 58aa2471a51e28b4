/* Known depth of the built-in scenes, in the files of other programs: tracks of the points, as from structure from
 * motion, and maps of inverse depth with depth_params.json in the layout of 3DGS. */
#ifndef SPLAT_SAMPLE_KNOWN_H
#define SPLAT_SAMPLE_KNOWN_H

#include "sample/sample_work.h"

/* The photos that see each point, with their places in them (*tracks: zeros; splat_colmap_tracks_free, also after
 * MEMORY, the one error). */
splat_status splat_sample_tracks(const splat_sample_work *s, const splat_point *points, size_t n,
                                 splat_colmap_tracks *tracks);
/* depths/ and sparse/0/depth_params.json, exact but for 16 bits, with a scale and an offset of its own for each
 * picture. */
splat_status splat_sample_depths(const splat_sample_work *s, const char *folder, splat_error *error);

#endif
