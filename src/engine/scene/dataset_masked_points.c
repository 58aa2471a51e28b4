/* Points that structure from motion has found on what masks cover: people that stood still for some photos. */
#include "scene/dataset_masked_points.h"

#include "io/picture/image_read.h"
#include "scene/dataset_depth_points.h"
#include "scene/dataset_parts.h"

#include "io/picture/image.h"
#include "math/camera.h"
#include "scene/mask.h"
#include "scene/photo.h"

#include <stdlib.h>

/* A photo with a mask file, and the points that it sees: a run of job->seen. */
typedef struct masked_photo {
    uint32_t id, view;
    size_t first, n;
} masked_photo;

typedef struct job {
    splat_dataset *dataset;
    const splat_colmap_tracks *tracks;
    masked_photo *photos; size_t n_photos; /* sorted by id */
    size_t *seen;       /* point numbers, by photo */
    uint32_t *n_hidden; /* [n_points] photos that see the point where their mask is black */
} job;

static splat_status fail_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the points that photos see");
}

static int compare_photos(const void *a, const void *b)
{
    uint32_t first = ((const masked_photo *)a)->id, second = ((const masked_photo *)b)->id;
    return (first > second) - (first < second);
}

static masked_photo *find_photo(const job *j, uint32_t id)
{
    const masked_photo wanted = {.id = id};
    return j->n_photos ? bsearch(&wanted, j->photos, j->n_photos, sizeof wanted, compare_photos) : NULL;
}

/* Crops of wide photos are left out: where their masks lie in them is not asked here. */
static splat_status list_photos(job *j, const splat_source *source, splat_error *error)
{
    const splat_dataset *dataset = j->dataset;
    j->photos = calloc(dataset->n_views + 1, sizeof *j->photos);
    if (!j->photos) return fail_memory(error);
    for (size_t i = 0; i < dataset->n_views; i++)
        if (dataset->views[i].mask_path && !dataset->views[i].n_crops)
            j->photos[j->n_photos++] = (masked_photo){.id = source->views[i].image_id, .view = (uint32_t)i};
    qsort(j->photos, j->n_photos, sizeof *j->photos, compare_photos);
    return SPLAT_OK;
}

/* Which points each photo sees. */
static splat_status list_points(job *j, splat_error *error)
{
    const splat_colmap_tracks *tracks = j->tracks;
    const size_t n_ids = tracks->n ? tracks->ends[tracks->n - 1] : 0;
    size_t at = 0;
    for (size_t i = 0; i < n_ids; i++) {
        masked_photo *photo = find_photo(j, tracks->image_ids[i]);
        if (photo) photo->n++;
    }
    for (size_t i = 0; i < j->n_photos; i++) {
        j->photos[i].first = at;
        at += j->photos[i].n;
        j->photos[i].n = 0;
    }
    j->seen = malloc((at + 1) * sizeof *j->seen);
    j->n_hidden = calloc(j->dataset->n_points + 1, sizeof *j->n_hidden);
    if (!j->seen || !j->n_hidden) return fail_memory(error);
    for (size_t point = 0, i = 0; point < tracks->n; point++)
        for (; i < tracks->ends[point]; i++) {
            masked_photo *photo = find_photo(j, tracks->image_ids[i]);
            if (photo) j->seen[photo->first + photo->n++] = point;
        }
    return SPLAT_OK;
}

/* The pixel of a point in a view; false: behind the camera or outside of the picture. */
static bool pixel_of(const splat_camera *c, const float position[3], size_t *pixel)
{
    double place[3];
    if (!splat_dataset_place_point(c, position, 0, place)) return false;
    const double u = place[0], v = place[1];
    if (!(u >= 0 && v >= 0 && u < c->width && v < c->height)) return false;
    *pixel = (size_t)v * (size_t)c->width + (size_t)u;
    return true;
}

static splat_status look_at(job *j, const masked_photo *photo, splat_error *error)
{
    const splat_dataset_view *view = &j->dataset->views[photo->view];
    splat_image mask;
    if (photo->n == 0) return SPLAT_OK;
    SPLAT_TRY(splat_photo_read_mask(j->dataset, view, NULL, &mask, error));
    splat_status status = splat_photo_fit_mask(view, &mask, error);
    for (size_t i = photo->first; i < photo->first + photo->n && status == SPLAT_OK; i++) {
        size_t pixel;
        if (!pixel_of(&view->camera, j->dataset->points[j->seen[i]].position, &pixel)) continue;
        if (mask.pixels[pixel] >= SPLAT_MASK_KEPT) continue;
#pragma omp atomic
        j->n_hidden[j->seen[i]]++;
    }
    splat_image_free(&mask);
    return status;
}

static splat_status look_at_all(job *j, splat_error *error)
{
    splat_status status = SPLAT_OK;
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t i = 0; i < j->n_photos; i++) {
        splat_error own;
        splat_status one = look_at(j, &j->photos[i], &own);
        if (one == SPLAT_OK) continue;
#pragma omp critical(masked_points)
        {
            status = one;
            if (error) *error = own;
        }
    }
    return status;
}

/* More than half of the photos of a track hide the point. */
static bool is_hidden(const job *j, size_t point)
{
    size_t begin = point ? j->tracks->ends[point - 1] : 0;
    return 2 * (size_t)j->n_hidden[point] > j->tracks->ends[point] - begin;
}

static void leave_out(job *j, const splat_dataset_log *log)
{
    splat_dataset *dataset = j->dataset;
    size_t n = 0, before = dataset->n_points;
    for (size_t i = 0; i < before; i++) n += !is_hidden(j, i);
    if (n == before || n == 0) return; /* none: there would be nothing to begin with */
    dataset->n_points = 0;
    for (size_t i = 0; i < before; i++) {
        if (is_hidden(j, i)) continue;
        dataset->points[dataset->n_points] = dataset->points[i];
        if (dataset->point_photos) dataset->point_photos[dataset->n_points] = dataset->point_photos[i];
        dataset->n_points++;
    }
    splat_dataset_say(log, SPLAT_LOG_NOTICE, "masks: %zu of %zu points are left out, as most photos that see them "
                      "mask them", before - n, before);
}

splat_status splat_dataset_drop_masked_points(splat_dataset *dataset, const splat_source *source,
                                              const splat_colmap_tracks *tracks, const splat_dataset_log *log,
                                              splat_error *error)
{
    job j = {.dataset = dataset, .tracks = tracks};
    splat_status status = tracks->n == dataset->n_points ? list_photos(&j, source, error) : SPLAT_OK;
    if (status == SPLAT_OK && j.n_photos) {
        status = list_points(&j, error);
        if (status == SPLAT_OK) status = look_at_all(&j, error);
        if (status == SPLAT_OK) leave_out(&j, log);
    }
    free(j.photos);
    free(j.seen);
    free(j.n_hidden);
    return status;
}
