/* splat_scene: the public handle over dataset and image cache. */
#include "scene/scene.h"

#include "scene/dataset_open.h"

#include "base/options.h"
#include "math/camera.h"
#include "math/symmetric3.h"
#include "math/vec3.h"
#include "scene/mask.h"
#include "scene/scene_options.h"
#include "scene/sky_masks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CACHE_GB 2.0
#define LOW_DRAM_CACHE_GB 0.25
#define MAX_DECODERS 8 /* more threads than that only wait for the disk */

static splat_status collect_train_cameras(splat_scene *scene, splat_error *error)
{
    const splat_dataset *dataset = &scene->dataset;
    scene->train_cameras = malloc((dataset->n_train + 1) * sizeof *scene->train_cameras);
    scene->train_near_depths = malloc((dataset->n_train + 1) * sizeof *scene->train_near_depths);
    if (!scene->train_cameras || !scene->train_near_depths)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu cameras", dataset->n_train);
    for (size_t i = 0; i < dataset->n_train; i++) {
        const splat_dataset_view *view = &dataset->views[dataset->train[i]];
        scene->train_cameras[i] = view->camera;
        scene->train_near_depths[i] = view->near_depth;
    }
    return SPLAT_OK;
}

/* The rest of opening, when the dataset is there. */
static splat_status finish(splat_scene *scene, splat_error *error)
{
    const splat_scene_options *options = &scene->options;
    const splat_context *context = scene->context;
    double gb = options->image_cache_gb > 0 ? options->image_cache_gb
                : options->low_dram         ? LOW_DRAM_CACHE_GB
                                            : DEFAULT_CACHE_GB;
    int workers = context->threads < MAX_DECODERS ? context->threads : MAX_DECODERS;
    SPLAT_TRY(collect_train_cameras(scene, error));
    return splat_image_cache_create(&scene->dataset, (size_t)(gb * SPLAT_GIB), workers, &scene->context->host_memory,
                                    &scene->cache, error);
}

/* Opens a scene of files, or of photos in memory if there are arrays. Takes the options over. */
static splat_status open_scene(splat_context *context, const splat_scene_arrays *arrays,
                               const splat_scene_options *options, splat_scene **result, splat_error *error)
{
    splat_scene *scene = calloc(1, sizeof *scene);
    if (!scene) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a scene");
    scene->context = context;
    splat_status status = splat_scene_options_copy(&scene->options, options, error);
    if (status == SPLAT_OK && arrays)
        status = splat_dataset_create(arrays, &scene->options, context->log, context->log_user, &scene->dataset, error);
    else if (status == SPLAT_OK)
        status = splat_dataset_open(&scene->options, context->log, context->log_user, &scene->dataset, error);
    if (status == SPLAT_OK) status = finish(scene, error);
    if (status == SPLAT_OK)
        *result = scene;
    else
        splat_scene_close(scene);
    return status;
}

splat_status splat_scene_open(splat_context *context, const splat_scene_options *options, splat_scene **result,
                              splat_error *error)
{
    *result = NULL;
    splat_scene_options own;
    splat_scene_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, options, "splat_scene_options", error));
    if (!own.source_path || !*own.source_path)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "no scene folder was named; give one with `source_path`");
    return open_scene(context, NULL, &own, result, error);
}

/* Refuses options that need files. */
static splat_status check_memory_options(const splat_scene_options *options, splat_error *error)
{
    bool has_masks = options->masks && strcmp(options->masks, "none") != 0;
    const char *name = options->source_path ? "source_path" : options->images ? "images" : has_masks ? "masks"
                       : options->depths    ? "depths"      : options->sfm_depth ? "sfm_depth"
                       : options->load_allres ? "load_allres" : splat_sky_is_folder(options->sky) ? "sky" : NULL;
    if (!name) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`%s` is of scenes in files; leave it away for one in memory", name);
}

splat_status splat_scene_create(splat_context *context, const splat_scene_arrays *arrays,
                                const splat_scene_options *options, splat_scene **result, splat_error *error)
{
    *result = NULL;
    splat_scene_options own;
    splat_scene_arrays own_arrays;
    splat_scene_options_init(&own);
    splat_scene_arrays_init(&own_arrays);
    if (options) SPLAT_TRY(splat_options_take(&own, options, "splat_scene_options", error));
    SPLAT_TRY(splat_options_take(&own_arrays, arrays, "splat_scene_arrays", error));
    SPLAT_TRY(check_memory_options(&own, error));
    own.source_path = ""; /* what records of a run name */
    return open_scene(context, &own_arrays, &own, result, error);
}

void splat_scene_close(splat_scene *scene)
{
    if (!scene) return;
    if (scene->cache) splat_image_cache_destroy(scene->cache);
    splat_dataset_free(&scene->dataset);
    free(scene->train_cameras);
    free(scene->train_near_depths);
    splat_sky_free(scene->sky);
    splat_scene_options_free(&scene->options);
    free(scene);
}

void splat_scene_largest_view(const splat_scene *scene, int *width, int *height)
{
    *width = *height = 0;
    for (size_t i = 0; i < scene->dataset.n_views; i++) {
        const splat_camera *camera = &scene->dataset.views[i].camera;
        if ((int64_t)camera->width * camera->height > (int64_t)*width * *height) {
            *width = camera->width;
            *height = camera->height;
        }
    }
}

void splat_scene_background(const splat_scene *scene, float background[3])
{
    for (int c = 0; c < 3; c++) background[c] = scene->options.white_background ? 1.0f : 0.0f;
}

bool splat_scene_measures_masked(const splat_scene *scene, size_t view)
{
    /* in mode alpha the photo is whole: what its mask hides is the background */
    return scene->dataset.views[view].has_mask && scene->options.eval_masks &&
           scene->dataset.mask_mode != SPLAT_MASKS_ALPHA;
}

void splat_scene_get_info(const splat_scene *scene, splat_scene_info *info)
{
    const splat_dataset *dataset = &scene->dataset;
    *info = (splat_scene_info){.format = dataset->format,
                               .n_views = dataset->n_views,
                               .n_train = dataset->n_train,
                               .n_test = dataset->n_test,
                               .n_points = dataset->n_points,
                               .extent = dataset->extent,
                               .random_points = dataset->random_points,
                               .n_masked = dataset->n_masked,
                               .n_photos = dataset->n_photos,
                               .n_depths = dataset->n_depths,
                               .n_depth_points = dataset->n_depth_points};
    splat_scene_largest_view(scene, &info->max_width, &info->max_height);
}

splat_status splat_scene_get_view(const splat_scene *scene, size_t index, splat_view_info *info, splat_error *error)
{
    if (index >= scene->dataset.n_views)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "view %zu of a scene with %zu views", index,
                          scene->dataset.n_views);
    const splat_dataset_view *view = &scene->dataset.views[index];
    *info = (splat_view_info){view->name, view->is_test, view->camera};
    return SPLAT_OK;
}

splat_status splat_scene_read_photo(splat_scene *scene, size_t index, uint8_t *rgb, splat_error *error)
{
    splat_view_info view;
    const uint8_t *photo;
    SPLAT_TRY(splat_scene_get_view(scene, index, &view, error));
    SPLAT_TRY(splat_image_cache_acquire(scene->cache, index, &photo, error));
    memcpy(rgb, photo, 3 * splat_camera_pixels(&view.camera));
    splat_image_cache_release(scene->cache, index);
    return SPLAT_OK;
}

void splat_scene_get_points(const splat_scene *scene, float *positions, uint8_t *colors)
{
    const splat_dataset *dataset = &scene->dataset;
    for (size_t i = 0; i < dataset->n_points; i++) {
        if (positions) memcpy(positions + 3 * i, dataset->points[i].position, 3 * sizeof *positions);
        if (colors) memcpy(colors + 3 * i, dataset->points[i].color, 3);
    }
}

splat_status splat_scene_read_mask(splat_scene *scene, size_t view, int width, int height, uint8_t *kept,
                                   splat_error *error)
{
    const splat_dataset_view *of = &scene->dataset.views[view];
    const uint8_t *photo;
    SPLAT_TRY(splat_image_cache_acquire(scene->cache, view, &photo, error));
    const uint8_t *mask = splat_view_mask(of, photo);
    for (int y = 0; y < height; y++) {
        const uint8_t *row = mask + (2 * (size_t)y + 1) * (size_t)of->camera.height / (2 * (size_t)height) *
                                        (size_t)of->camera.width;
        for (int x = 0; x < width; x++)
            kept[(size_t)y * (size_t)width + (size_t)x] =
                row[(2 * (size_t)x + 1) * (size_t)of->camera.width / (2 * (size_t)width)] >= SPLAT_MASK_KEPT;
    }
    splat_image_cache_release(scene->cache, view);
    return SPLAT_OK;
}

const char *splat_view_set_name(splat_view_set set)
{
    return set == SPLAT_VIEWS_TEST ? "test" : "train";
}

size_t splat_scene_view_set(const splat_scene *scene, splat_view_set set, const uint32_t **indices, uint32_t storage[5])
{
    const splat_dataset *dataset = &scene->dataset;
    if (set == SPLAT_VIEWS_TEST) {
        *indices = dataset->test;
        return dataset->n_test;
    }
    if (set == SPLAT_VIEWS_TRAIN) {
        *indices = dataset->train;
        return dataset->n_train;
    }
    /* the five training views of 3DGS's report: 5, 10, 15, 20, 25 modulo their number */
    for (size_t i = 0; i < 5 && dataset->n_train; i++) storage[i] = dataset->train[5 * (i + 1) % dataset->n_train];
    *indices = storage;
    return dataset->n_train ? 5 : 0;
}

/* The mean of the tops leans where cameras look down on one side more than on the other (6 degrees in a room), rows of
 * pixels do not (0.6). up: minimizes the mean of (row . up)^2 + TOPS (1 - (up . mean)^2). */
void splat_scene_up(const splat_scene *scene, float up[3])
{
    static const double TOPS = 0.01; /* leads where the rows leave up open: they are all parallel */
    const splat_dataset *d = &scene->dataset;
    double mean[3] = {0, 0, 0}, level[3][3] = {{0}}, values[3], axes[3][3], n = (double)d->n_train;
    for (size_t i = 0; i < d->n_train; i++) {
        const float *rotation = d->views[d->train[i]].camera.rotation; /* x right, y down */
        for (int k = 0; k < 3; k++) {
            mean[k] -= (double)rotation[3 + k] / n;
            for (int j = 0; j < 3; j++) level[k][j] += (double)rotation[k] * (double)rotation[j] / n;
        }
    }
    const double length = sqrt(splat_dot3(mean, mean));
    memset(up, 0, 3 * sizeof *up);
    if (!(length > 0.1)) return;
    for (int k = 0; k < 3; k++) mean[k] /= length;
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++) level[k][j] += TOPS * ((k == j) - mean[k] * mean[j]);
    splat_symmetric3_axes((const double (*)[3])level, values, axes);
    const double sign = splat_dot3(axes[2], mean) < 0 ? -1 : 1;
    for (int k = 0; k < 3; k++) up[k] = (float)(sign * axes[2][k]);
}

bool splat_scene_is_metric(const splat_scene *scene)
{
    return strcmp(scene->dataset.format, "polycam") == 0;
}
