/* Shared by the readers of COLMAP's two encodings: what a value may be, and how a bad one is reported. */
#ifndef SPLAT_IO_COLMAP_PARSE_H
#define SPLAT_IO_COLMAP_PARSE_H

#include "io/colmap/colmap.h"

/* The place of a record: a byte of a binary file, or a line of a text file (line > 0). */
typedef struct splat_colmap_place {
    const char *path;
    uint64_t offset, line;
} splat_colmap_place;

splat_status splat_colmap_fail(const splat_colmap_place *place, splat_status status, splat_error *error,
                               const char *format, ...) SPLAT_PRINTF(4, 5);
/* "no memory", naming the file. */
splat_status splat_colmap_fail_memory(const char *path, splat_error *error);

/* *form: what the parameters of a camera model are. UNSUPPORTED for a number that COLMAP did not have when this was
 * written; `unknown` is what the model is called then. */
splat_status splat_colmap_check_model(int model_id, const char *unknown, uint32_t camera_id,
                                      const splat_lens_form **form, const splat_colmap_place *place,
                                      splat_error *error);
/* Sets the camera from its model's parameters and checks it, its size included. */
splat_status splat_colmap_set_lens(splat_colmap_camera *camera, const splat_lens_form *form, const double *values,
                                   const splat_colmap_place *place, splat_error *error);
/* The model's cameras must be there already, sorted by id. */
splat_status splat_colmap_check_image(const splat_colmap_model *model, const splat_colmap_image *image,
                                      const splat_colmap_place *place, splat_error *error);
/* For qsort and bsearch: cameras by id. */
int splat_colmap_compare_cameras(const void *a, const void *b);
/* Stores a point; coordinates must be finite as floats. */
splat_status splat_colmap_set_point(splat_point *point, const double position[3], const uint8_t color[3],
                                    const splat_colmap_place *place, splat_error *error);

/* Tracks: the next point's error of reprojection, which becomes 0 where it is no positive number, then its images. */
splat_status splat_colmap_tracks_begin(splat_colmap_tracks *tracks, double error_pixels,
                                       const splat_colmap_place *place, splat_error *error);
splat_status splat_colmap_tracks_add(splat_colmap_tracks *tracks, uint32_t image_id, const splat_colmap_place *place,
                                     splat_error *error);

/* The ids of a file's records and where they stand, to find one that comes twice. */
typedef struct splat_colmap_ids {
    struct splat_colmap_id { uint32_t id; uint64_t where; } *items;
    size_t n, capacity;
} splat_colmap_ids;

/* Remembers the id of the record at `place`. */
splat_status splat_colmap_ids_add(splat_colmap_ids *ids, uint32_t id, const splat_colmap_place *place,
                                  splat_error *error);
/* The status of the reading so far; when it is OK, FORMAT when an id was added twice, at its second place. `what` is
 * "camera" or "image". Frees the ids. */
splat_status splat_colmap_ids_finish(splat_colmap_ids *ids, const char *what, const char *path, bool is_text,
                                     splat_status status, splat_error *error);

/* One parser of one file: the bytes have a NUL after their end. Appends to the model. */
typedef splat_status splat_colmap_parser(const char *path, const uint8_t *data, size_t size, splat_colmap_model *model,
                                         splat_error *error);

void splat_colmap_tracks_free(splat_colmap_tracks *tracks);
/* The camera of an id, or NULL. The model's cameras must be sorted by id, as splat_colmap_read leaves them. */
const splat_colmap_camera *splat_colmap_find_camera(const splat_colmap_model *model, uint32_t id);

#endif
