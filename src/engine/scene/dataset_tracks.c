/* How many training photos see each point, by the tracks of a COLMAP model (docs/method.md 10.2). */
#include "scene/dataset_tracks.h"

#include <stdlib.h>

#define MOST_PHOTOS UINT8_MAX

/* A photo: its views are one, or crops that follow one another. */
typedef struct tracked_photo {
    uint32_t id, view; /* the first of its views */
    size_t last_point; /* the point that it was last counted for, and 1; 0: none */
} tracked_photo;

static int compare_photos(const void *a, const void *b)
{
    uint32_t first = ((const tracked_photo *)a)->id, second = ((const tracked_photo *)b)->id;
    return (first > second) - (first < second);
}

/* Returns the number of photos. */
static size_t list_photos(const splat_dataset *dataset, const splat_source *source, tracked_photo *photos)
{
    size_t n = 0;
    for (uint32_t i = 0; i < dataset->n_views; i++)
        if (!source->views[i].crop) photos[n++] = (tracked_photo){.id = source->views[i].image_id, .view = i};
    qsort(photos, n, sizeof *photos, compare_photos);
    return n;
}

static void count_photo(splat_dataset *dataset, const tracked_photo *photo, size_t point)
{
    uint8_t *count = &dataset->point_photos[point];
    if (!dataset->views[photo->view].is_test && *count < MOST_PHOTOS) ++*count;
}

/* An image may come twice in a track, and counts once. */
static void count_photos(splat_dataset *dataset, const splat_colmap_tracks *tracks, tracked_photo *photos, size_t n)
{
    for (size_t point = 0, i = 0; point < tracks->n; point++)
        for (; i < tracks->ends[point]; i++) {
            const tracked_photo wanted = {.id = tracks->image_ids[i]};
            tracked_photo *photo = bsearch(&wanted, photos, n, sizeof wanted, compare_photos);
            if (!photo || photo->last_point == point + 1) continue;
            photo->last_point = point + 1;
            count_photo(dataset, photo, point);
        }
}

splat_status splat_dataset_use_tracks(splat_dataset *dataset, const splat_source *source,
                                      const splat_colmap_tracks *tracks, splat_error *error)
{
    const size_t n_seen = tracks->n ? tracks->ends[tracks->n - 1] : 0;
    if (n_seen == 0 || tracks->n != dataset->n_points) return SPLAT_OK;
    tracked_photo *photos = calloc(dataset->n_views + 1, sizeof *photos);
    dataset->point_photos = calloc(dataset->n_points, sizeof *dataset->point_photos);
    const bool has_room = photos && dataset->point_photos;
    if (has_room) count_photos(dataset, tracks, photos, list_photos(dataset, source, photos));
    free(photos);
    return has_room ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the points that photos see");
}

/* ---------------------------------------------------------------- points of trainings */

size_t splat_dataset_count_points(const splat_dataset *dataset, uint8_t least_photos)
{
    size_t n = 0;
    if (!dataset->point_photos) return dataset->n_points;
    for (size_t i = 0; i < dataset->n_points; i++) n += dataset->point_photos[i] >= least_photos;
    return n;
}

uint8_t splat_dataset_least_photos(const splat_dataset *dataset)
{
    if (!dataset->point_photos) return 0;
    return splat_dataset_count_points(dataset, 3) < SPLAT_LEAST_TRACKED_POINTS ? 2 : 3;
}

uint64_t splat_dataset_floor(const splat_dataset *dataset, uint64_t by_pixels)
{
    const uint64_t points = splat_dataset_count_points(dataset, splat_dataset_least_photos(dataset));
    return points / 2 < by_pixels ? points : 2 * by_pixels;
}
