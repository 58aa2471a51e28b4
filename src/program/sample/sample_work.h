/* What writing a built-in scene works on; shared by the files that make its points and its truth. */
#ifndef SPLAT_SCENE_SAMPLE_WORK_H
#define SPLAT_SCENE_SAMPLE_WORK_H

#include "base/error.h"
#include "io/colmap/colmap.h"
#include "sample/sample_layout.h"
#include "sample/sample_raytrace.h"
#include "splatsmith/sample.h"

typedef struct splat_sample_work {
    const splat_sample_options *options;
    splat_sample_world world;     /* of the scene `basic` */
    splat_parts parts;            /* of the others; parts.n is 0 in `basic` */
    splat_sample_camera *cameras; /* [options->n_cameras] */
    splat_lens lens;              /* of all of them, a pinhole too */
    int threads;
} splat_sample_work;

static inline uint8_t splat_sample_byte(double value)
{
    return (uint8_t)(255 * fmin(fmax(value, 0), 1) + 0.5);
}

/* sample_basic.c: the camera of a number; noisy points to start from; ground_truth.ply. */
splat_sample_camera splat_sample_basic_camera(const splat_sample_options *options, int index);
void splat_sample_basic_points(const splat_sample_work *s, splat_point *points, int n);
splat_status splat_sample_basic_truth(const splat_sample_work *s, const char *folder, splat_error *error);

/* sample_truth.c: noisy points where structure from motion would find some: on textures and along edges, seen by three
 * cameras and more; ground_truth.ply, points that are uniform by area over what three cameras and more see, with the
 * kind of their part as `subset`; ground_truth_mesh.ply (sample_truth_mesh.c), all of the surface. */
void splat_sample_parts_points(const splat_sample_work *s, splat_point *points, int n);
splat_status splat_sample_parts_truth(const splat_sample_work *s, const char *folder, splat_error *error);
splat_status splat_sample_parts_mesh(const splat_parts *parts, const char *path, splat_error *error);
/* sample_blobs.c: paints the blobs of a picture over it; mask: uint8_t[height][width], 0 where they are and 2 pixels
 * around them, else 255. */
void splat_sample_blobs_paint(const splat_sample_options *options, int index, uint8_t *rgb, uint8_t *mask);
/* sample_known.c: the photos that see each point, with their places in them (*tracks: zeros; splat_colmap_tracks_free,
 * also after MEMORY, the one error); depths/ and sparse/0/depth_params.json, exact but for 16 bits, with a scale and an
 * offset of its own for each picture. */
splat_status splat_sample_tracks(const splat_sample_work *s, const splat_point *points, size_t n,
                                 splat_colmap_tracks *tracks);
splat_status splat_sample_depths(const splat_sample_work *s, const char *folder, splat_error *error);
/* How many cameras see a place of the surface, counted up to `enough`: in the frame, facing, not hidden; *direction is
 * the last one's line of sight. */
int splat_sample_parts_seen(const splat_sample_work *s, splat_vec3 position, splat_vec3 normal, int enough,
                            splat_vec3 *direction);

#endif
