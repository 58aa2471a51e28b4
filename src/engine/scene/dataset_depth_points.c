/* Depths that structure from motion has found: the points of a COLMAP model in the photos that see them. */
#include "scene/dataset_depth_points.h"

#include "io/colmap/colmap_parse.h"
#include "io/colmap/colmap_read.h"
#include "scene/dataset_parts.h"

#include "base/array.h"
#include "base/compare.h"
#include "math/camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_TRACK 3        /* photos: where two rays meet says nothing of the match */
#define LEAST_ERROR 0.5f     /* pixels: no point is better than that */
#define LEAST_DEPTH 0.2f     /* nothing nearer is drawn */

/* A point of a view, before the best are chosen. */
typedef struct candidate {
    float x, y, z, weight;
    size_t point; /* ties go by it */
} candidate;

typedef struct candidates {
    candidate *items;
    size_t n, capacity;
} candidates;

static splat_status fail_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the points that photos see");
}

/* ---------------------------------------------------------------- photos by id */

/* A photo: its views are one, or crops that follow one another. */
typedef struct image_row {
    uint32_t id, view, n_views;
} image_row;

typedef struct job {
    splat_dataset *dataset;
    const splat_point *points;
    const splat_colmap_tracks *tracks;
    candidates *of_view; /* [n_views] */
    image_row *images; size_t n_images; /* sorted by id */
} job;

static int compare_images(const void *a, const void *b)
{
    uint32_t first = ((const image_row *)a)->id, second = ((const image_row *)b)->id;
    return (first > second) - (first < second);
}

/* ---------------------------------------------------------------- candidates */

bool splat_dataset_place_point(const splat_camera *c, const float position[3], double least_depth, double place[3])
{
    double t[3];
    for (int r = 0; r < 3; r++) {
        t[r] = (double)c->translation[r];
        for (int k = 0; k < 3; k++) t[r] += (double)c->rotation[3 * r + k] * (double)position[k];
    }
    if (!(t[2] > least_depth)) return false;
    place[0] = (double)c->fx * t[0] / t[2] + (double)c->cx;
    place[1] = (double)c->fy * t[1] / t[2] + (double)c->cy;
    place[2] = t[2];
    return true;
}

/* The place of a point in a view; false: behind the camera or outside of the picture. */
static bool place_point(const splat_camera *c, const float position[3], candidate *out)
{
    double place[3];
    if (!splat_dataset_place_point(c, position, (double)LEAST_DEPTH, place)) return false;
    const double u = place[0], v = place[1];
    if (!(u >= 0 && v >= 0 && u <= c->width && v <= c->height)) return false;
    out->x = (float)fmin(fmax(u - 0.5, 0), c->width - 1);
    out->y = (float)fmin(fmax(v - 0.5, 0), c->height - 1);
    out->z = (float)place[2];
    return isfinite(out->z);
}

/* Finds the photos of the scene in a track, each once. last: [n_views] the point that saw each view last. */
static size_t photos_of(const uint32_t *ids, size_t n, const job *j, size_t point, size_t *last,
                        const image_row **photos)
{
    size_t n_photos = 0;
    for (size_t i = 0; i < n; i++) {
        const image_row wanted = {ids[i], 0, 0};
        const image_row *found = bsearch(&wanted, j->images, j->n_images, sizeof wanted, compare_images);
        if (!found || last[found->view] == point + 1) continue;
        last[found->view] = point + 1;
        photos[n_photos++] = found;
    }
    return n_photos;
}

static splat_status add_to_view(job *j, uint32_t index, size_t point, float weight, splat_error *error)
{
    const splat_dataset_view *view = &j->dataset->views[index];
    candidates *list = &j->of_view[index];
    candidate c = {.weight = weight, .point = point};
    if (view->is_test || !place_point(&view->camera, j->points[point].position, &c)) return SPLAT_OK;
    void *grown = splat_array_grow(list->items, &list->capacity, list->n, sizeof *list->items);
    if (!grown) return fail_memory(error);
    list->items = grown;
    list->items[list->n++] = c;
    return SPLAT_OK;
}

static splat_status add_point(job *j, size_t point, float error_pixels, const image_row **photos, size_t n_photos,
                              splat_error *error)
{
    float e = fmaxf(error_pixels, LEAST_ERROR);
    for (size_t i = 0; i < n_photos; i++)
        for (uint32_t k = 0; k < photos[i]->n_views; k++)
            SPLAT_TRY(add_to_view(j, photos[i]->view + k, point, 1 / (e * e), error));
    return SPLAT_OK;
}

/* The median of the errors in the file; 0: the file has none. */
static splat_status median_error(const splat_colmap_tracks *tracks, float *median, splat_error *error)
{
    float *errors = malloc((tracks->n + 1) * sizeof *errors);
    size_t n = 0;
    if (!errors) return fail_memory(error);
    for (size_t i = 0; i < tracks->n; i++)
        if (tracks->errors[i] > 0) errors[n++] = tracks->errors[i];
    qsort(errors, n, sizeof *errors, splat_compare_floats);
    *median = n ? errors[n / 2] : 0;
    free(errors);
    return SPLAT_OK;
}

static splat_status add_points(job *j, splat_error *error)
{
    const splat_colmap_tracks *tracks = j->tracks;
    size_t n_views = j->dataset->n_views, *last = calloc(n_views + 1, sizeof *last);
    const image_row **photos = malloc((n_views + 1) * sizeof *photos);
    float usual = 0;
    splat_status status = last && photos ? median_error(tracks, &usual, error) : fail_memory(error);
    for (size_t i = 0, begin = 0; i < tracks->n && status == SPLAT_OK; begin = tracks->ends[i++]) {
        size_t n = photos_of(tracks->image_ids + begin, tracks->ends[i] - begin, j, i, last, photos);
        if (n >= LEAST_TRACK)
            status = add_point(j, i, tracks->errors[i] > 0 ? tracks->errors[i] : usual, photos, n, error);
    }
    free(last);
    free(photos);
    return status;
}

/* ---------------------------------------------------------------- the best of each view */

static int compare_candidates(const void *a, const void *b)
{
    const candidate *first = a, *second = b;
    if (first->weight != second->weight) return first->weight > second->weight ? -1 : 1;
    return (first->point > second->point) - (first->point < second->point);
}

/* Keeps those of which no pixel of the four around is taken by a better one; they come first. */
static size_t choose(candidates *list, const splat_camera *camera, uint8_t *taken)
{
    size_t n = 0, width = (size_t)camera->width;
    memset(taken, 0, splat_camera_pixels(camera));
    if (list->n) qsort(list->items, list->n, sizeof *list->items, compare_candidates);
    for (size_t i = 0; i < list->n; i++) {
        size_t pixels[4];
        bool is_free = true;
        for (int k = 0; k < 4; k++) {
            int x = (int)list->items[i].x + k % 2, y = (int)list->items[i].y + k / 2;
            if (x > camera->width - 1) x = camera->width - 1;
            if (y > camera->height - 1) y = camera->height - 1;
            pixels[k] = (size_t)y * width + (size_t)x;
            is_free = is_free && !taken[pixels[k]];
        }
        if (!is_free) continue;
        for (int k = 0; k < 4; k++) taken[pixels[k]] = 1;
        list->items[n++] = list->items[i];
    }
    return n;
}

static void write_points(splat_dataset *dataset, splat_dataset_view *view, const candidate *items, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)items[i].weight;
    view->first_depth_point = dataset->n_depth_points;
    view->n_depth_points = n;
    for (size_t i = 0; i < n; i++) {
        const candidate *c = &items[i];
        double share = (double)c->weight / sum;
        dataset->depth_points[dataset->n_depth_points++] =
            (splat_depth_point){c->x, c->y, 1 / c->z, (float)(share * (double)dataset->extent / (double)c->z)};
    }
}

static splat_status choose_all(job *j, splat_error *error)
{
    splat_dataset *dataset = j->dataset;
    size_t total = 0, most_pixels = 1;
    for (size_t i = 0; i < dataset->n_views; i++) {
        size_t n_pixels = splat_camera_pixels(&dataset->views[i].camera);
        total += j->of_view[i].n;
        most_pixels = n_pixels > most_pixels ? n_pixels : most_pixels;
    }
    uint8_t *taken = malloc(most_pixels);
    dataset->depth_points = malloc((total + 1) * sizeof *dataset->depth_points);
    splat_status status = taken && dataset->depth_points ? SPLAT_OK : fail_memory(error);
    for (size_t i = 0; i < dataset->n_views && status == SPLAT_OK; i++) {
        splat_dataset_view *view = &dataset->views[i];
        size_t n = choose(&j->of_view[i], &view->camera, taken);
        write_points(dataset, view, j->of_view[i].items, n);
    }
    free(taken);
    return status;
}

/* ---------------------------------------------------------------- all of it */

static splat_status find_all(job *j, const splat_source *source, splat_error *error)
{
    size_t n = j->dataset->n_views;
    j->images = malloc((n + 1) * sizeof *j->images);
    j->of_view = calloc(n + 1, sizeof *j->of_view);
    splat_status status = j->images && j->of_view ? SPLAT_OK : fail_memory(error);
    for (uint32_t i = 0; i < n && status == SPLAT_OK; i++) {
        const splat_source_view *view = &source->views[i];
        if (view->crop) continue;
        j->images[j->n_images++] = (image_row){view->image_id, i, view->n_crops > 1 ? (uint32_t)view->n_crops : 1};
    }
    if (status == SPLAT_OK) {
        qsort(j->images, j->n_images, sizeof *j->images, compare_images);
        status = add_points(j, error);
    }
    if (status == SPLAT_OK) status = choose_all(j, error);
    for (size_t i = 0; i < n && j->of_view; i++) free(j->of_view[i].items);
    free(j->of_view);
    free(j->images);
    return status;
}

static splat_status say_found(const splat_dataset *dataset, const splat_source *source, size_t n_points,
                              const splat_dataset_log *log, splat_error *error)
{
    if (dataset->n_depth_points == 0)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, source->model_folder, SPLAT_NO_OFFSET,
                             "`sfm_depth` needs to know which photos see a point, and none of the model's %zu points "
                             "has a track of %d of them; COLMAP's own models have tracks", n_points, LEAST_TRACK);
    splat_dataset_say(log, SPLAT_LOG_NOTICE, "depths of points: %zu in %zu training photos", dataset->n_depth_points,
                      dataset->n_train);
    return SPLAT_OK;
}

splat_status splat_dataset_load_depth_points(splat_dataset *dataset, const splat_source *source,
                                             const splat_scene_options *options, const splat_dataset_log *log,
                                             splat_error *error)
{
    splat_colmap_tracks tracks = {0};
    splat_colmap_model model = {.tracks = &tracks};
    if (!options->sfm_depth) return SPLAT_OK;
    if (!source->model_folder)
        return splat_fail(error, SPLAT_ERROR_UNSUPPORTED,
                          "`sfm_depth` needs a COLMAP model, whose points say which photos see them; this scene (%s) "
                          "has none", source->format);
    splat_status status = splat_colmap_read_points(source->model_folder, &model, error);
    job j = {.dataset = dataset, .points = model.points, .tracks = &tracks};
    if (status == SPLAT_OK) status = find_all(&j, source, error);
    if (status == SPLAT_OK) status = say_found(dataset, source, model.n_points, log, error);
    splat_colmap_tracks_free(&tracks);
    splat_colmap_free(&model);
    return status;
}
