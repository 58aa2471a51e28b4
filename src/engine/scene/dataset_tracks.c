/* Facts of photos and points from tracks (docs/method.md 10.2). */
#include "scene/dataset_tracks.h"

#include "base/compare.h"
#include "scene/dataset_depth_points.h"

#include <stdlib.h>

#define NEAR_SHARE 0.5    /* of the nearest depth that is trusted: the space before half of it is taken to be free */
#define NEAR_PERCENTILE 100 /* one in so many depths lies nearer, and may be an error of matching */
#define MOST_PHOTOS UINT8_MAX

/* A photo: its views are one, or crops that follow one another. */
typedef struct tracked_photo {
    uint32_t id, view, n_views;
    size_t last_point; /* the point that it was last counted for, and 1; 0: none */
} tracked_photo;

typedef struct job {
    splat_dataset *dataset;
    const splat_colmap_tracks *tracks;
    tracked_photo *photos; size_t n_photos; /* sorted by id */
    size_t *begin;   /* [n_views + 1] of each view's depths */
    size_t *n_found; /* [n_views] */
    float *depths;
} job;

static int compare_photos(const void *a, const void *b)
{
    uint32_t first = ((const tracked_photo *)a)->id, second = ((const tracked_photo *)b)->id;
    return (first > second) - (first < second);
}

static void list_photos(job *j, const splat_source *source)
{
    for (uint32_t i = 0; i < j->dataset->n_views; i++) {
        const splat_source_view *view = &source->views[i];
        if (view->crop) continue;
        const uint32_t n_views = view->n_crops > 1 ? (uint32_t)view->n_crops : 1;
        j->photos[j->n_photos++] = (tracked_photo){.id = view->image_id, .view = i, .n_views = n_views};
    }
    qsort(j->photos, j->n_photos, sizeof *j->photos, compare_photos);
}

/* The depth of a point in a view; false: behind the camera, or outside of a crop. A point outside of a whole photo
 * stays: undistortion cut the photo, which saw the point. */
static bool depth_in(const splat_dataset_view *view, const float position[3], float *depth)
{
    double place[3];
    const splat_camera *c = &view->camera;
    if (!splat_dataset_place_point(c, position, 0, place)) return false;
    *depth = (float)place[2];
    return view->n_crops == 0 ||
           (place[0] >= 0 && place[1] >= 0 && place[0] <= c->width && place[1] <= c->height);
}

/* Counts the depths of a photo's views, or, where there is room for them, keeps them. */
static void add_depths(job *j, const tracked_photo *photo, size_t point)
{
    for (uint32_t v = photo->view; v < photo->view + photo->n_views; v++) {
        float depth;
        if (!depth_in(&j->dataset->views[v], j->dataset->points[point].position, &depth)) continue;
        if (j->depths) j->depths[j->begin[v] + j->n_found[v]] = depth;
        j->n_found[v]++;
    }
}

static void count_photo(job *j, const tracked_photo *photo, size_t point)
{
    uint8_t *count = &j->dataset->point_photos[point];
    if (!j->dataset->views[photo->view].is_test && *count < MOST_PHOTOS) ++*count;
}

/* An image may come twice in a track, and counts once. */
static void walk_tracks(job *j)
{
    const splat_colmap_tracks *tracks = j->tracks;
    const bool counts = !j->depths;
    for (size_t i = 0; i < j->n_photos; i++) j->photos[i].last_point = 0;
    for (size_t point = 0, i = 0; point < tracks->n; point++)
        for (; i < tracks->ends[point]; i++) {
            const tracked_photo wanted = {.id = tracks->image_ids[i]};
            tracked_photo *photo = bsearch(&wanted, j->photos, j->n_photos, sizeof wanted, compare_photos);
            if (!photo || photo->last_point == point + 1) continue;
            photo->last_point = point + 1;
            add_depths(j, photo, point);
            if (counts) count_photo(j, photo, point);
        }
}

static splat_status make_room(job *j, splat_error *error)
{
    const size_t n = j->dataset->n_views;
    for (size_t v = 0; v < n; v++) {
        j->begin[v + 1] = j->begin[v] + j->n_found[v];
        j->n_found[v] = 0;
    }
    j->depths = malloc((j->begin[n] + 1) * sizeof *j->depths);
    return j->depths ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu depths", j->begin[n]);
}

static void set_near_depths(job *j)
{
    for (size_t v = 0; v < j->dataset->n_views; v++) {
        float *depths = j->depths + j->begin[v];
        const size_t n = j->n_found[v];
        if (n < SPLAT_NEAR_LEAST_POINTS) continue;
        qsort(depths, n, sizeof *depths, splat_compare_floats);
        j->dataset->views[v].near_depth = (float)(NEAR_SHARE * (double)depths[n / NEAR_PERCENTILE]);
    }
}

splat_status splat_dataset_use_tracks(splat_dataset *dataset, const splat_source *source,
                                      const splat_colmap_tracks *tracks, splat_error *error)
{
    const size_t n = dataset->n_views;
    job j = {.dataset = dataset, .tracks = tracks};
    const size_t n_seen = tracks->n ? tracks->ends[tracks->n - 1] : 0;
    if (n_seen == 0 || tracks->n != dataset->n_points) return SPLAT_OK;
    j.photos = calloc(n + 1, sizeof *j.photos);
    j.begin = calloc(n + 1, sizeof *j.begin);
    j.n_found = calloc(n + 1, sizeof *j.n_found);
    dataset->point_photos = calloc(dataset->n_points, sizeof *dataset->point_photos);
    splat_status status = SPLAT_OK;
    if (!j.photos || !j.begin || !j.n_found || !dataset->point_photos) {
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the points that photos see");
    } else {
        list_photos(&j, source);
        walk_tracks(&j);
        status = make_room(&j, error);
    }
    if (status == SPLAT_OK) {
        walk_tracks(&j);
        set_near_depths(&j);
    }
    free(j.photos);
    free(j.begin);
    free(j.n_found);
    free(j.depths);
    return status;
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
