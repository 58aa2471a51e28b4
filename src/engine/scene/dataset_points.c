/* The points a model starts from, and the extent that scales learning rates and sizes. */
#include "scene/dataset_points.h"

#include "io/colmap/colmap_parse.h"
#include "io/colmap/colmap_read.h"
#include "scene/dataset_memory.h"
#include "scene/dataset_masked_points.h"
#include "scene/dataset_near.h"
#include "scene/dataset_parts.h"
#include "scene/dataset_tracks.h"

#include "base/compare.h"
#include "base/file.h"
#include "base/rng.h"
#include "io/opensfm/opensfm.h"
#include "io/ply/ply_points.h"

#include <math.h>
#include <stdlib.h>

#define N_RANDOM_POINTS 100000
#define BLENDER_HALF_SIDE 1.3f
#define MEDIAN_SAMPLES 65536
#define GRAY 127 /* what the published loaders read back from their own file: 0.5 in 8 bits, truncated */

static void camera_mean(const splat_dataset_view *views, const uint32_t *indices, size_t n, double mean[3])
{
    for (int k = 0; k < 3; k++) {
        mean[k] = 0;
        for (size_t i = 0; i < n; i++) mean[k] += (double)views[indices[i]].camera.center[k];
        if (n) mean[k] /= (double)n;
    }
}

float splat_scene_extent(const splat_dataset_view *views, const uint32_t *indices, size_t n)
{
    double mean[3], largest = 0;
    camera_mean(views, indices, n, mean);
    for (size_t i = 0; i < n; i++) {
        double distance2 = 0;
        for (int k = 0; k < 3; k++) {
            double d = (double)views[indices[i]].camera.center[k] - mean[k];
            distance2 += d * d;
        }
        if (distance2 > largest) largest = distance2;
    }
    return (float)(1.1 * sqrt(largest));
}

/* The median, not the mean: points of structure from motion have far outliers. Of a sample, so that many millions of
 * points cost nothing. */
static splat_status median_distance(const splat_point *points, size_t n_points, const double from[3], float *median,
                                    splat_error *error)
{
    *median = 0;
    if (n_points == 0) return SPLAT_OK;
    size_t stride = n_points / MEDIAN_SAMPLES + 1, n = (n_points - 1) / stride + 1;
    float *distances = malloc(n * sizeof *distances);
    if (!distances) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu distances", n);
    for (size_t i = 0; i < n; i++) {
        double distance2 = 0;
        for (int k = 0; k < 3; k++) {
            double d = (double)points[i * stride].position[k] - from[k];
            distance2 += d * d;
        }
        distances[i] = (float)sqrt(distance2);
    }
    qsort(distances, n, sizeof *distances, splat_compare_floats);
    *median = distances[n / 2];
    free(distances);
    return SPLAT_OK;
}

/* One camera, or a tripod: the cameras do not tell how large the scene is, and an extent of (almost) zero would stop
 * all motion and split nothing. The distance to what they look at takes its place; 1 when there are no points. */
static splat_status set_extent(splat_dataset *dataset, splat_error *error)
{
    double mean[3];
    float distance;
    dataset->extent = splat_scene_extent(dataset->views, dataset->train, dataset->n_train);
    camera_mean(dataset->views, dataset->train, dataset->n_train, mean);
    SPLAT_TRY(median_distance(dataset->points, dataset->n_points, mean, &distance, error));
    if (dataset->extent <= 1e-4f * distance) dataset->extent = distance;
    if (!(dataset->extent > 0)) dataset->extent = 1.0f;
    if (isfinite(dataset->extent)) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_FORMAT, "the cameras of the scene are too far apart for 32-bit numbers");
}

static splat_status draw_points(splat_dataset *dataset, const double center[3], float half_side, uint64_t seed,
                                splat_error *error)
{
    dataset->points = calloc(N_RANDOM_POINTS, sizeof *dataset->points); /* zero padding: the same bytes every time */
    if (!dataset->points) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %d points", N_RANDOM_POINTS);
    for (uint64_t i = 0; i < N_RANDOM_POINTS; i++) {
        splat_random4 random = splat_random(seed, SPLAT_STREAM_RANDOM_POINTS, 0, i);
        for (int k = 0; k < 3; k++) {
            dataset->points[i].position[k] = (float)center[k] + half_side * (2.0f * splat_uniform(random.x[k]) - 1.0f);
            dataset->points[i].color[k] = GRAY;
        }
    }
    dataset->n_points = N_RANDOM_POINTS;
    dataset->random_points = true;
    return SPLAT_OK;
}

/* Scenes without points. NeRF-synthetic: the cube that its objects fill. Others: a cube around the cameras' mean with
 * the extent as half side, since captures go around what they show, so that it reaches just past every camera;
 * densification grows what lies beyond. */
static splat_status load_random_points(splat_dataset *dataset, const splat_source *source, uint64_t seed,
                                       const splat_dataset_log *log, splat_error *error)
{
    double center[3] = {0, 0, 0};
    float half_side = BLENDER_HALF_SIDE;
    if (!source->is_blender) {
        SPLAT_TRY(set_extent(dataset, error));
        half_side = dataset->extent;
        camera_mean(dataset->views, dataset->train, dataset->n_train, center);
    }
    SPLAT_TRY(draw_points(dataset, center, half_side, seed, error));
    splat_dataset_say(log, SPLAT_LOG_NOTICE, "the scene has no points: a training starts from %d random ones in a "
                      "cube of side %g around (%g, %g, %g)", N_RANDOM_POINTS, 2.0 * (double)half_side, center[0],
                      center[1], center[2]);
    return SPLAT_OK;
}

/* Points with their tracks; points alone where the tracks are damaged and nothing depends on them. */
static splat_status read_colmap(splat_dataset *dataset, const splat_source *source, bool needs_tracks,
                                splat_colmap_tracks *tracks, splat_error *error)
{
    splat_colmap_model model = {.tracks = tracks};
    splat_status status = splat_colmap_read_points(source->model_folder, &model, error);
    if (status == SPLAT_ERROR_FORMAT && !needs_tracks) {
        splat_colmap_free(&model);
        splat_colmap_tracks_free(tracks);
        model = (splat_colmap_model){.tracks = NULL};
        status = splat_colmap_read_points(source->model_folder, &model, error);
    }
    SPLAT_TRY(status);
    dataset->points = model.points;
    dataset->n_points = model.n_points;
    return SPLAT_OK;
}

/* tracks: of a COLMAP model. */
static splat_status read_points(splat_dataset *dataset, const splat_source *source, bool needs_tracks,
                                splat_colmap_tracks *tracks, splat_error *error)
{
    if (source->in_memory)
        return splat_source_memory_points(source->in_memory, &dataset->points, &dataset->n_points, error);
    if (source->point_cloud)
        return splat_ply_read_points_from(source->point_cloud, source->origin, &dataset->points, &dataset->n_points,
                                          error);
    if (source->reconstruction)
        return splat_opensfm_read_points(source->reconstruction, source->origin, &dataset->points, &dataset->n_points,
                                         error);
    if (!source->model_folder) return SPLAT_OK;
    return read_colmap(dataset, source, needs_tracks, tracks, error);
}

splat_status splat_dataset_load_points(splat_dataset *dataset, const splat_source *source, uint64_t seed,
                                       const splat_dataset_log *log, splat_error *error)
{
    const bool looks_at_masks = dataset->n_masked && dataset->mask_mode == SPLAT_MASKS_IGNORE;
    splat_colmap_tracks tracks = {0};
    splat_status status = read_points(dataset, source, looks_at_masks, &tracks, error);
    if (status == SPLAT_OK && dataset->n_points == 0) {
        free(dataset->points);
        dataset->points = NULL;
        status = load_random_points(dataset, source, seed, log, error);
    }
    if (status == SPLAT_OK) status = set_extent(dataset, error);
    if (status == SPLAT_OK) status = splat_dataset_use_tracks(dataset, source, &tracks, error);
    if (status == SPLAT_OK && looks_at_masks && tracks.n)
        status = splat_dataset_drop_masked_points(dataset, source, &tracks, log, error);
    splat_colmap_tracks_free(&tracks);
    if (status == SPLAT_OK) status = splat_dataset_find_near_depths(dataset, error);
    return status;
}
