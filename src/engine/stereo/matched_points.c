/* Each view is asked on its own; then what others confirm becomes points. */
#include "stereo/matched_points.h"

#include "math/camera.h"
#include "math/sight.h"
#include "scene/dataset_tracks.h"
#include "stereo/depth_guess.h"
#include "stereo/photo_matcher.h"
#include "stereo/resized_photo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PIXELS 1e5
#define LEAST_STRIDE 2u
#define MOST_STRIDE 4u       /* farther apart pixels hardly help each other */
#define SITES_OF_A_POINT 8.0 /* asked for each point that is wanted */
#define SWEEPS 5u
#define SWEEPS_AGAIN 3u /* of the second round, which begins with the points of the first */
#define SAME 0.01f /* of the depth: another photo finds the same place */

/* A view at its small size, and its sites. */
typedef struct view {
    uint32_t index; /* into the dataset's views */
    splat_camera camera;
    float *guess;   /* [height][width] */
    int columns, rows;
    float *inverse; /* [sites] inverse depth; 0: the site did not match */
    uint8_t (*colors)[3];
    bool *is_taken; /* another view has made a point of the place */
} view;

static uint32_t n_sites(const view *v)
{
    return (uint32_t)v->columns * (uint32_t)v->rows;
}

/* A site whose place several photos find. */
typedef struct seed {
    uint32_t view, site;
} seed;

typedef struct job {
    splat_scene *scene;
    splat_backend *backend;
    view *views;
    size_t n;
    uint32_t stride;
    float (*positions)[3]; /* of points that enough photos see, and of places of the round before */
    size_t n_positions;
    splat_depth_view *depths;
    splat_view_neighbors *neighbors;
    seed *seeds;
    size_t n_seeds, capacity;
} job;

static splat_status fail_memory(const job *j, splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to match %zu photos", j->n);
}

/* ---------------------------------------------------------------- views and sites */

static splat_status list_positions(job *j, splat_error *error)
{
    const splat_dataset *dataset = &j->scene->dataset;
    const uint8_t least = splat_dataset_least_photos(dataset);
    j->positions = malloc((dataset->n_points + 1) * sizeof *j->positions);
    if (!j->positions) return fail_memory(j, error);
    for (size_t i = 0; i < dataset->n_points; i++) {
        if (dataset->point_photos && dataset->point_photos[i] < least) continue;
        for (int k = 0; k < 3; k++) j->positions[j->n_positions][k] = dataset->points[i].position[k];
        j->n_positions++;
    }
    return SPLAT_OK;
}

static splat_camera small_camera(const splat_camera *camera)
{
    const double factor = sqrt(MOST_PIXELS / (double)splat_camera_pixels(camera));
    if (factor >= 1) return *camera;
    return splat_camera_resized(camera, (int)ceil(factor * camera->width), (int)ceil(factor * camera->height));
}

/* The least stride with which the work is allowed, and which promises enough points; 0: too much work. */
static uint32_t choose_stride(const job *j, size_t most, double most_sites)
{
    double pixels = 0;
    for (size_t i = 0; i < j->n; i++) pixels += (double)splat_camera_pixels(&j->views[i].camera);
    const double by_work = ceil(sqrt(pixels / fmax(most_sites, 1))),
                 by_points = ceil(sqrt(pixels / (SITES_OF_A_POINT * (double)most + 1)));
    const double stride = fmax(by_work, fmin(by_points, MOST_STRIDE));
    return stride > MOST_STRIDE ? 0 : stride < LEAST_STRIDE ? LEAST_STRIDE : (uint32_t)stride;
}

static splat_status make_cameras(job *j, splat_error *error)
{
    const splat_dataset *dataset = &j->scene->dataset;
    j->views = calloc(j->n + 1, sizeof *j->views);
    j->depths = calloc(j->n + 1, sizeof *j->depths);
    j->neighbors = calloc(j->n + 1, sizeof *j->neighbors);
    if (!j->views || !j->depths || !j->neighbors) return fail_memory(j, error);
    for (size_t i = 0; i < j->n; i++) {
        j->views[i].index = dataset->train[i];
        j->views[i].camera = small_camera(&dataset->views[dataset->train[i]].camera);
    }
    return SPLAT_OK;
}

static splat_status make_sites(job *j, splat_error *error)
{
    for (size_t i = 0; i < j->n; i++) {
        view *v = &j->views[i];
        v->columns = (int)splat_match_sites(v->camera.width, j->stride);
        v->rows = (int)splat_match_sites(v->camera.height, j->stride);
        const size_t n = (size_t)n_sites(v) + 1;
        v->guess = malloc(splat_camera_pixels(&v->camera) * sizeof *v->guess);
        v->inverse = calloc(n, sizeof *v->inverse);
        v->colors = calloc(n, sizeof *v->colors);
        v->is_taken = calloc(n, sizeof *v->is_taken);
        if (!v->guess || !v->inverse || !v->colors || !v->is_taken) return fail_memory(j, error);
        j->depths[i] = (splat_depth_view){&v->camera, v->guess};
    }
    return SPLAT_OK;
}

static splat_status guess_depths(job *j, splat_error *error)
{
    bool ok = true;
#pragma omp parallel for num_threads(j->backend->threads) schedule(dynamic, 1) reduction(&& : ok)
    for (size_t i = 0; i < j->n; i++) {
        view *v = &j->views[i];
        ok = splat_depth_guess(&v->camera, (const float(*)[3])j->positions, j->n_positions, v->guess, NULL) ==
                 SPLAT_OK && ok;
    }
    return ok ? SPLAT_OK : fail_memory(j, error);
}

static void free_all(job *j)
{
    for (size_t i = 0; j->views && i < j->n; i++) {
        free(j->views[i].guess);
        free(j->views[i].inverse);
        free(j->views[i].colors);
        free(j->views[i].is_taken);
    }
    free(j->views);
    free(j->positions);
    free(j->depths);
    free(j->neighbors);
    free(j->seeds);
}

/* The pixel of a site. */
static size_t pixel_of(const job *j, const view *v, uint32_t site)
{
    return splat_match_site_pixel(v->camera.width, j->stride, (size_t)v->columns, site);
}

/* Reads a photo, and keeps the colours of its sites. */
static splat_status read_photo(void *user, size_t number, uint8_t *rgb, splat_error *error)
{
    const job *j = user;
    const view *v = &j->views[number];
    SPLAT_TRY(splat_resized_photo(j->scene, v->index, &v->camera, rgb, error));
    for (uint32_t i = 0; i < n_sites(v); i++) memcpy(v->colors[i], rgb + 3 * pixel_of(j, v, i), sizeof v->colors[i]);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- what photos say */

/* Sites begin with planes that face the camera, at the guess. */
static void begin_planes(const job *j, const view *v, float (*planes)[3])
{
    for (uint32_t i = 0; i < n_sites(v); i++) {
        const float guess = v->guess[pixel_of(j, v, i)];
        planes[i][0] = guess > 0 ? 1 / guess : 0;
        planes[i][1] = planes[i][2] = 0;
    }
}

static splat_status leave_masked(const job *j, view *v, splat_error *error)
{
    if (!j->scene->dataset.views[v->index].has_mask) return SPLAT_OK;
    uint8_t *kept = malloc(splat_camera_pixels(&v->camera));
    if (!kept) return fail_memory(j, error);
    splat_status status = splat_scene_read_mask(j->scene, v->index, v->camera.width, v->camera.height, kept, error);
    for (uint32_t i = 0; status == SPLAT_OK && i < n_sites(v); i++)
        if (!kept[pixel_of(j, v, i)]) v->inverse[i] = 0;
    free(kept);
    return status;
}

/* Inverse depth of the sites of a view that match. */
static splat_status ask(job *j, splat_photo_matcher *m, size_t number, uint32_t n_sweeps, splat_error *error)
{
    view *v = &j->views[number];
    const splat_view_neighbors *around = &j->neighbors[number];
    begin_planes(j, v, m->first);
    SPLAT_TRY(splat_photo_matcher_compare(m, number, around->views, around->n, j->stride, n_sweeps, error));
    for (uint32_t i = 0; i < n_sites(v); i++)
        v->inverse[i] = m->judged[i] == SPLAT_MATCH_MATCHED ? m->best[i][0] : 0;
    return leave_masked(j, v, error);
}

/* Guesses do not say what hides what, so the matcher forgets them. */
static splat_status start_matcher(job *j, splat_photo_matcher *m, splat_error *error)
{
    const splat_match_photos photos = {read_photo, j};
    SPLAT_TRY(splat_photo_matcher_init(m, j->backend, j->depths, j->n, &photos, error));
    for (size_t i = 0; i < j->n; i++) m->views[i].depth = NULL;
    m->guesses = true;
    return SPLAT_OK;
}

static splat_status ask_all(job *j, splat_photo_matcher *m, uint32_t n_sweeps, splat_error *error)
{
    SPLAT_TRY(guess_depths(j, error));
    SPLAT_TRY(splat_view_neighbors_find(j->depths, j->n, j->backend->threads, j->neighbors, error));
    for (size_t i = 0; i < j->n; i++)
        if (n_sites(&j->views[i]) > 0) SPLAT_TRY(ask(j, m, i, n_sweeps, error));
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- places that several photos find */

/* The place of a site; false: it did not match. */
static bool unproject(const job *j, uint32_t number, uint32_t site, float position[3])
{
    const view *v = &j->views[number];
    const size_t pixel = pixel_of(j, v, site), width = (size_t)v->camera.width;
    if (!(v->inverse[site] > 0)) return false;
    splat_camera_unproject(&v->camera, (float)(pixel % width) + 0.5f, (float)(pixel / width) + 0.5f,
                           1 / v->inverse[site], position);
    return true;
}

/* The site of another view that has found a place; -1: none. */
static int site_at(const job *j, const view *v, const float position[3])
{
    float image[3];
    if (!splat_camera_project(&v->camera, position, image)) return -1;
    const int site = (int)splat_match_site_at(j->stride, v->columns, v->rows, (int)image[0], (int)image[1]);
    return fabsf(v->inverse[site] * image[2] - 1) < SAME ? site : -1;
}

static splat_status add_seed(job *j, seed added, splat_error *error)
{
    if (j->n_seeds == j->capacity) {
        const size_t capacity = 2 * j->capacity + 1024;
        seed *seeds = realloc(j->seeds, capacity * sizeof *seeds);
        if (!seeds) return fail_memory(j, error);
        j->seeds = seeds;
        j->capacity = capacity;
    }
    j->seeds[j->n_seeds++] = added;
    return SPLAT_OK;
}

/* Takes a site that a neighbour confirms; theirs make no points then. One suffices: what few photos see needs points
 * most, and a training removes wrong ones (docs/lab/strategies.md). */
static splat_status take(job *j, uint32_t number, uint32_t site, splat_error *error)
{
    const splat_view_neighbors *around = &j->neighbors[number];
    float position[3];
    bool is_confirmed = false;
    if (!unproject(j, number, site, position)) return SPLAT_OK;
    for (uint32_t k = 0; k < around->n; k++) {
        const view *other = &j->views[around->views[k]];
        const int there = site_at(j, other, position);
        if (there < 0) continue;
        other->is_taken[there] = true;
        is_confirmed = true;
    }
    return is_confirmed ? add_seed(j, (seed){number, site}, error) : SPLAT_OK;
}

static splat_status take_all(job *j, splat_error *error)
{
    j->n_seeds = 0;
    for (size_t i = 0; i < j->n; i++)
        memset(j->views[i].is_taken, 0, n_sites(&j->views[i]));
    for (size_t i = 0; i < j->n; i++) {
        const view *v = &j->views[i];
        for (uint32_t site = 0; site < n_sites(v); site++)
            if (v->inverse[site] > 0 && !v->is_taken[site]) SPLAT_TRY(take(j, (uint32_t)i, site, error));
    }
    return SPLAT_OK;
}

/* The places of a round are where the next one begins. */
static splat_status add_positions(job *j, splat_error *error)
{
    float(*positions)[3] = realloc(j->positions, (j->n_positions + j->n_seeds + 1) * sizeof *positions);
    if (!positions) return fail_memory(j, error);
    j->positions = positions;
    for (size_t i = 0; i < j->n_seeds; i++)
        j->n_positions += unproject(j, j->seeds[i].view, j->seeds[i].site, positions[j->n_positions]);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- points */

/* Some of the seeds, evenly spread, where there are too many. */
static splat_status make_points(const job *j, size_t most, splat_matched_points *found, splat_error *error)
{
    const size_t n = j->n_seeds < most ? j->n_seeds : most;
    found->points = malloc((n + 1) * sizeof *found->points);
    if (!found->points) return fail_memory(j, error);
    for (size_t i = 0; i < n; i++) {
        const seed *from = &j->seeds[(size_t)((double)i * (double)j->n_seeds / (double)n)];
        splat_point *point = &found->points[found->n];
        memcpy(point->color, j->views[from->view].colors[from->site], sizeof point->color);
        found->n += unproject(j, from->view, from->site, point->position);
    }
    return SPLAT_OK;
}

static splat_status look(job *j, splat_error *error)
{
    splat_photo_matcher matcher;
    SPLAT_TRY(start_matcher(j, &matcher, error));
    splat_status status = ask_all(j, &matcher, SWEEPS, error);
    if (status == SPLAT_OK) status = take_all(j, error);
    if (status == SPLAT_OK) status = add_positions(j, error);
    if (status == SPLAT_OK) status = ask_all(j, &matcher, SWEEPS_AGAIN, error);
    if (status == SPLAT_OK) status = take_all(j, error);
    splat_photo_matcher_free(&matcher);
    return status;
}

static splat_status find(job *j, size_t most, double most_sites, splat_matched_points *found, splat_error *error)
{
    SPLAT_TRY(make_cameras(j, error));
    j->stride = choose_stride(j, most, most_sites);
    if (j->stride == 0 || most == 0) return SPLAT_OK;
    SPLAT_TRY(list_positions(j, error));
    SPLAT_TRY(make_sites(j, error));
    SPLAT_TRY(look(j, error));
    return make_points(j, most, found, error);
}

splat_status splat_matched_points_find(splat_scene *scene, splat_backend *backend, size_t most, double most_sites,
                                       splat_matched_points *found, splat_error *error)
{
    job j = {.scene = scene, .backend = backend, .n = scene->dataset.n_train};
    *found = (splat_matched_points){0};
    splat_status status = find(&j, most, most_sites, found, error);
    free_all(&j);
    return status;
}
