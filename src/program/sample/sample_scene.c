/* Pictures and files of the built-in scenes. */
#include "sample/sample_scene.h"

#include "base/context.h"
#include "base/file.h"
#include "base/options.h"
#include "base/rng.h"
#include "io/colmap/colmap_parse.h"
#include "io/colmap/colmap_read.h"
#include "io/colmap/colmap_write.h"
#include "io/exposure_file.h"
#include "io/picture/image_write.h"
#include "sample/sample_basic.h"
#include "sample/sample_designs.h"
#include "sample/sample_dice.h"
#include "sample/sample_known.h"
#include "sample/sample_light.h"
#include "sample/sample_options.h"
#include "sample/sample_sensor.h"
#include "sample/sample_truth.h"
#include "sample/sample_work.h"
#include "scene/dataset_open.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

/* ---------------------------------------------------------------- pictures */

static void render_row(const splat_sample_work *s, const splat_sample_camera *camera, int y, uint8_t *rgb)
{
    int n = s->options->supersample;
    for (int x = 0; x < camera->width; x++) {
        splat_vec3 sum = {0, 0, 0};
        for (int k = 0; k < n * n; k++) {
            splat_vec3 ray = splat_sample_camera_ray(camera, x + (k % n + 0.5) / n, y + (k / n + 0.5) / n);
            splat_vec3 color = s->parts.n ? splat_parts_color(&s->parts, camera->center, ray, k, n * n)
                                          : splat_sample_color(&s->world, camera->center, ray);
            sum = splat_vec3_add(sum, color);
        }
        double scale = 255.0 / (n * n);
        rgb[3 * x + 0] = (uint8_t)(sum.x * scale + 0.5);
        rgb[3 * x + 1] = (uint8_t)(sum.y * scale + 0.5);
        rgb[3 * x + 2] = (uint8_t)(sum.z * scale + 0.5);
    }
}

/* Photos of the larger scenes are JPEG, as those of cameras are. */
static const char *picture_ending(const splat_sample_work *s)
{
    return s->parts.n ? "jpg" : "png";
}

static splat_status write_picture(const splat_sample_work *s, const char *path, const uint8_t *rgb, splat_error *error)
{
    const int quality = splat_sample_is_photographic(s->options->scene) ? 92 : 95;
    int width = s->options->width, height = s->options->height;
    uint8_t *data;
    size_t size;
    if (!s->parts.n) return splat_png_write(path, width, height, 3, 8, rgb, error);
    SPLAT_TRY(splat_jpeg_encode(path, width, height, rgb, quality, &data, &size, error));
    splat_status status = splat_file_write(path, data, size, error);
    free(data);
    return status;
}

/* ---------------------------------------------------------------- blobs */

/* Blobs over the pictures, as people and cars stand before what is captured: each has its size and its striped colours,
 * and stands in another place of each picture. */

#define BLOB_MARGIN 2.0 /* pixels that the mask is wider */

typedef struct blob {
    double x, y, half_width, half_height; /* pixels */
    splat_vec3 color;
} blob;

/* Upright, a twelfth to a seventh of the picture's height wide, and twice as tall. */
static blob blob_of(const splat_sample_options *options, int index, int number)
{
    splat_dice kind = {options->seed, (uint64_t)number * 8, SPLAT_SAMPLE_STEP_BLOBS};
    splat_dice place = {options->seed, ((uint64_t)index * 64 + (uint64_t)number) * 8, SPLAT_SAMPLE_STEP_BLOB_PLACES};
    double half = options->height * splat_dice_between(&kind, 1.0 / 24, 1.0 / 14);
    blob b = {.half_width = half, .half_height = 2 * half};
    b.color = splat_sample_hue(splat_dice_between(&kind, 0, 1), 0.8, 0.9);
    b.x = options->width * splat_dice_between(&place, 0, 1);
    b.y = options->height * splat_dice_between(&place, 0.2, 1);
    return b;
}

static bool covers(const blob *b, double x, double y, double margin)
{
    double u = (x - b->x) / (b->half_width + margin), v = (y - b->y) / (b->half_height + margin);
    return u * u + v * v < 1;
}

static void paint_blob(const blob *b, const splat_sample_options *options, uint8_t *rgb, uint8_t *mask)
{
    for (int y = 0; y < options->height; y++)
        for (int x = 0; x < options->width; x++) {
            size_t pixel = (size_t)y * (size_t)options->width + (size_t)x;
            if (!covers(b, x + 0.5, y + 0.5, BLOB_MARGIN)) continue;
            mask[pixel] = 0;
            if (!covers(b, x + 0.5, y + 0.5, 0)) continue;
            double stripe = fmod(fabs(y - b->y), 0.5 * b->half_width) < 0.25 * b->half_width ? 1 : 0.6;
            rgb[3 * pixel + 0] = splat_sample_byte(stripe * b->color.x);
            rgb[3 * pixel + 1] = splat_sample_byte(stripe * b->color.y);
            rgb[3 * pixel + 2] = splat_sample_byte(stripe * b->color.z);
        }
}

/* mask: uint8_t[height][width], 0 where the blobs are and 2 pixels around them, else 255. */
static void paint_blobs(const splat_sample_options *options, int index, uint8_t *rgb, uint8_t *mask)
{
    memset(mask, 255, (size_t)options->width * (size_t)options->height);
    for (int number = 0; number < options->n_blobs; number++) {
        blob b = blob_of(options, index, number);
        paint_blob(&b, options, rgb, mask);
    }
}

/* The mask of a picture with blobs, as COLMAP names it. */
static splat_status write_mask(const splat_sample_work *s, const char *folder, int index, const uint8_t *mask,
                               splat_error *error)
{
    char *path = splat_format("%s/masks/image_%03d.%s.png", folder, index, picture_ending(s));
    if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_png_write(path, s->options->width, s->options->height, 1, 8, mask, error);
    free(path);
    return status;
}

/* ---------------------------------------------------------------- exposure */

#define EXPOSURES_FILE "ground_truth_exposure.json"
#define TEST_EVERY 8   /* that of `eval`, from the first on */
#define BALANCE_PART 8 /* white balance varies by this part of the exposure */

/* Log2 gains of a picture, uniform, drawn by its number. */
static void draw_exposure(const splat_sample_options *options, int picture, double drawn[3])
{
    splat_random4 r = splat_random(options->seed, SPLAT_STREAM_SAMPLE_EXPOSURE, 0, (uint64_t)picture);
    double spread = (double)options->exposure_spread;
    for (int k = 0; k < 3; k++)
        drawn[k] = spread * (2 * (double)splat_uniform(r.x[k]) - 1) / (k ? BALANCE_PART : 1);
}

/* The exposure of a picture, less the mean of the training pictures. A trainer cannot know the mean; with it a splat
 * would be brighter than the scene without gains. */
static splat_photo_exposure exposure_of(const splat_sample_options *options, int picture)
{
    double drawn[3], other[3], sums[3] = {0};
    int n = 0;
    draw_exposure(options, picture, drawn);
    for (int i = 0; i < options->n_cameras; i++) {
        if (i % TEST_EVERY == 0) continue;
        draw_exposure(options, i, other);
        for (int k = 0; k < 3; k++) sums[k] += other[k];
        n++;
    }
    for (int k = 0; n && k < 3; k++) drawn[k] -= sums[k] / n;
    splat_photo_exposure exposure = {0};
    splat_photo_exposure_set(&exposure, drawn[0], drawn[1], drawn[2]);
    return exposure;
}

/* As a camera that clips does it, on what a photo holds. */
static void expose(const splat_sample_options *options, int picture, uint8_t *rgb)
{
    uint8_t table[3][256];
    if (!(options->exposure_spread > 0)) return;
    splat_photo_exposure exposure = exposure_of(options, picture);
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 256; i++) table[c][i] = (uint8_t)fmin(255, floor(exposure.gain[c] * i + 0.5));
    size_t n = 3 * (size_t)options->width * (size_t)options->height;
    for (size_t i = 0; i < n; i++) rgb[i] = table[i % 3][rgb[i]];
}

static splat_status write_exposures(const splat_sample_work *s, const char *folder, splat_error *error)
{
    const splat_sample_options *options = s->options;
    double no_vignetting[1][3] = {{0}};
    splat_exposures exposures = {.cameras = no_vignetting, .n_cameras = 1};
    if (!(options->exposure_spread > 0)) return SPLAT_OK;
    exposures.photos = calloc((size_t)options->n_cameras, sizeof *exposures.photos);
    bool good = exposures.photos != NULL;
    for (int i = 0; good && i < options->n_cameras; i++) {
        exposures.photos[exposures.n_photos++] = exposure_of(options, i);
        exposures.photos[i].name = splat_format("image_%03d.%s", i, picture_ending(s));
        good = exposures.photos[i].name != NULL;
    }
    char *path = splat_format("%s/" EXPOSURES_FILE, folder);
    splat_status status = good && path ? splat_exposures_write(path, &exposures, error)
                                       : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the sample's exposures");
    free(path);
    exposures.cameras = NULL;
    splat_exposures_file_free(&exposures);
    return status;
}

static splat_status write_pictures(const splat_sample_work *s, const char *folder, splat_error *error)
{
    size_t stride = 3 * (size_t)s->options->width;
    uint8_t *rgb = malloc((stride + (size_t)s->options->width) * (size_t)s->options->height);
    uint8_t *mask = rgb + stride * (size_t)s->options->height;
    if (!rgb) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a picture of the sample");
    splat_status status = SPLAT_OK;
    for (int i = 0; i < s->options->n_cameras && status == SPLAT_OK; i++) {
#pragma omp parallel for schedule(dynamic, 4) num_threads(s->threads)
        for (int y = 0; y < s->options->height; y++) render_row(s, &s->cameras[i], y, rgb + stride * (size_t)y);
        if (s->options->n_blobs) {
            paint_blobs(s->options, i, rgb, mask);
            status = write_mask(s, folder, i, mask, error);
            if (status != SPLAT_OK) break;
        }
        expose(s->options, i, rgb);
        if (splat_sample_is_photographic(s->options->scene))
            splat_sample_sensor_noise(s->options->seed, i, rgb, stride * (size_t)s->options->height, s->threads);
        char *path = splat_format("%s/images/image_%03d.%s", folder, i, picture_ending(s));
        status = path ? write_picture(s, path, rgb, error)
                      : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
        free(path);
    }
    free(rgb);
    return status;
}

/* ---------------------------------------------------------------- the COLMAP model */

static splat_status fill_model(const splat_sample_work *s, splat_colmap_model *model)
{
    const splat_sample_options *options = s->options;
    model->cameras = calloc(1, sizeof *model->cameras);
    model->images = calloc((size_t)options->n_cameras, sizeof *model->images);
    model->points = calloc((size_t)options->n_points, sizeof *model->points);
    if (!model->cameras || !model->images || !model->points) return SPLAT_ERROR_MEMORY;
    model->n_cameras = 1;
    model->cameras[0] = (splat_colmap_camera){.id = 1,
                                              .model_id = (int)s->lens.model,
                                              .width = (uint64_t)options->width,
                                              .height = (uint64_t)options->height,
                                              .fx = s->lens.fx,
                                              .fy = s->lens.fy,
                                              .cx = s->lens.cx,
                                              .cy = s->lens.cy};
    memcpy(model->cameras[0].coefficients, s->lens.coefficients, sizeof s->lens.coefficients);
    for (int i = 0; i < options->n_cameras; i++) {
        splat_colmap_image *image = &model->images[i];
        const splat_sample_camera *camera = &s->cameras[i];
        image->id = (uint32_t)i + 1;
        image->camera_id = 1;
        splat_sample_camera_quaternion(camera, image->rotation);
        for (int k = 0; k < 3; k++) image->translation[k] = -splat_vec3_dot(camera->rows[k], camera->center);
        image->name = splat_format("image_%03d.%s", i, picture_ending(s));
        if (!image->name) return SPLAT_ERROR_MEMORY;
        model->n_images++;
    }
    model->n_points = (size_t)options->n_points;
    if (s->parts.n && !splat_sample_parts_points(s, model->points, options->n_points)) return SPLAT_ERROR_MEMORY;
    if (!s->parts.n) splat_sample_basic_points(s, model->points, options->n_points);
    return SPLAT_OK;
}

static splat_status write_model(const splat_sample_work *s, const char *folder, splat_error *error)
{
    splat_colmap_model model = {0};
    splat_colmap_tracks tracks = {0};
    char *path = splat_format("%s/sparse/0", folder);
    splat_status status = path ? fill_model(s, &model) : SPLAT_ERROR_MEMORY;
    if (status == SPLAT_OK && s->options->tracks) {
        status = splat_sample_tracks(s, model.points, model.n_points, &tracks);
        model.tracks = &tracks;
    }
    if (status == SPLAT_OK)
        status = splat_colmap_write(path, &model, error);
    else
        splat_fail(error, status, "no memory for the sample's COLMAP model");
    splat_colmap_tracks_free(&tracks);
    splat_colmap_free(&model);
    free(path);
    return status;
}

/* ---------------------------------------------------------------- the folder */

static splat_status create_child(const char *folder, const char *name, splat_error *error)
{
    char *path = splat_format("%s/%s", folder, name);
    if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_folder_create(path, error);
    free(path);
    return status;
}

/* Undoes a run that failed or was stopped: only what it wrote, since the folder held nothing before. Its own failure is
 * not worth hiding the first error for. */
static void remove_written(const char *folder)
{
    static const char *const names[] = {"images", "masks", "depths", "sparse", "ground_truth.ply",
                                        "ground_truth_mesh.ply", EXPOSURES_FILE, SPLAT_UNFINISHED_SAMPLE};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = splat_format("%s/%s", folder, names[i]);
        if (path) splat_folder_delete(path, NULL);
        free(path);
    }
}

/* Fails unless the folder is absent, empty, or that of a sample that was not finished, which is emptied. */
static splat_status check_folder(const char *folder, splat_error *error)
{
    char **names;
    size_t n;
    if (!splat_path_exists(folder)) return SPLAT_OK;
    if (!splat_path_is_folder(folder))
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, folder, SPLAT_NO_OFFSET,
                             "the sample needs a folder, but this is a file");
    char *mark = splat_format("%s/" SPLAT_UNFINISHED_SAMPLE, folder);
    if (mark && splat_path_exists(mark)) remove_written(folder);
    free(mark);
    SPLAT_TRY(splat_folder_list(folder, &names, &n, error));
    splat_names_free(names, n);
    if (n == 0) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, folder, SPLAT_NO_OFFSET,
                         "the folder for the sample is not empty: name a new one");
}

/* The mark comes first and goes last: what a stopped run left may be written again, and is no scene. */
static splat_status write_all(const splat_sample_work *s, const char *folder, splat_error *error)
{
    SPLAT_TRY(create_child(folder, SPLAT_UNFINISHED_SAMPLE, error));
    SPLAT_TRY(create_child(folder, "images", error));
    if (s->options->n_blobs) SPLAT_TRY(create_child(folder, "masks", error));
    if (s->options->depths) SPLAT_TRY(create_child(folder, "depths", error));
    SPLAT_TRY(create_child(folder, "sparse/0", error));
    SPLAT_TRY(write_model(s, folder, error));
    SPLAT_TRY(s->parts.n ? splat_sample_parts_truth(s, folder, error) : splat_sample_basic_truth(s, folder, error));
    SPLAT_TRY(write_pictures(s, folder, error));
    SPLAT_TRY(write_exposures(s, folder, error));
    if (s->options->depths) SPLAT_TRY(splat_sample_depths(s, folder, error));
    char *mark = splat_format("%s/" SPLAT_UNFINISHED_SAMPLE, folder);
    if (!mark) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_folder_delete(mark, error);
    free(mark);
    return status;
}

/* Coefficients of a camera that people have, by COLMAP's number of the model, 2 to 16. */
static const double coefficients[][SPLAT_LENS_COEFFICIENTS] = {
    {-0.12}, {-0.15, 0.03}, {-0.18, 0.05, 0.0011, -0.0007}, {0.03, -0.01, 0.002, -0.0005},
    {-0.15, 0.05, 0.001, -0.002, 0.01, -0.05, 0.02, 0.003}, {0.6}, {0.02}, {0.02, -0.004},
    {0.02, -0.01, 0.001, -0.0008, 0.003, -0.0004, 0.0005, -0.0006},
    {0.02, -0.01, 0.003, -0.0004, 0.0001, -0.00001, 0.001, -0.0008, 0.0005, -0.0001, -0.0006, 0.0002},
    {-0.12}, {0.1}, {0}, {0}, {0.6, 1.1},
};

/* 180 degrees, more or less, over the width, with the coefficients of its narrow sister. */
static void set_wide_fisheye(splat_lens *lens)
{
    const double half = 0.5 * PI, t = half * half;
    memcpy(lens->coefficients, coefficients[SPLAT_SAMPLE_DISTORTION_OPENCV_FISHEYE - 1], sizeof lens->coefficients);
    const double *k = lens->coefficients;
    lens->model = SPLAT_LENS_OPENCV_FISHEYE;
    lens->fx = lens->fy = 0.5 * lens->width / (half * (1 + t * (k[0] + t * (k[1] + t * (k[2] + t * k[3])))));
}

/* True if a lens with its own focal length shows everything that the pinhole camera of focal length `focal` shows. */
static bool shows_as_much(const splat_lens *lens, double focal)
{
    const int n = 64;
    double pixel[2];
    for (int side = 0; side < 4; side++)
        for (int i = 0; i <= n; i++) {
            double along = (double)i / n, across = side & 1;
            double u = side < 2 ? along : across, v = side < 2 ? across : along;
            const double ray[3] = {(u - 0.5) * lens->width / focal, (v - 0.5) * lens->height / focal, 1};
            if (!splat_lens_project(lens, ray, pixel) || pixel[0] < 0 || pixel[1] < 0 || pixel[0] > lens->width ||
                pixel[1] > lens->height)
                return false;
        }
    return true;
}

/* Shortens the focal length, by steps of half a percent, until the lens shows the pinhole camera's view: what a splat
 * of its photos lacks in that view is then the lens's, and no part of the world that none of them shows. */
static void widen(splat_lens *lens)
{
    double focal = lens->fx;
    while (!shows_as_much(lens, focal) && lens->fx > 0.5 * focal) {
        lens->fx = lens->fy = lens->fx - 0.005 * focal;
        splat_lens_prepare(lens);
    }
}

/* Sets the lens. Its focal length is that of the pinhole camera, or less, so that the photo shows everything that the
 * pinhole camera shows (except a model that sees everything); the principal point is slightly off the middle. */
static void set_lens(splat_sample_work *s)
{
    const splat_sample_options *options = s->options;
    splat_lens *lens = &s->lens;
    *lens = (splat_lens){.model = SPLAT_LENS_PINHOLE, .width = options->width, .height = options->height};
    lens->fx = lens->fy = s->cameras[0].focal;
    lens->cx = 0.5 * options->width;
    lens->cy = 0.5 * options->height;
    if (!options->distortion) return;
    lens->cx *= 1.01;
    lens->cy *= 0.99;
    if (options->distortion == SPLAT_SAMPLE_DISTORTION_EQUIRECTANGULAR) {
        splat_lens_set(lens, SPLAT_LENS_EQUIRECTANGULAR, (const double[]){options->width, options->height});
    } else if (options->distortion == SPLAT_SAMPLE_DISTORTION_WIDE_FISHEYE) {
        set_wide_fisheye(lens);
    } else {
        lens->model = (splat_lens_model)(SPLAT_LENS_SIMPLE_RADIAL + (int)options->distortion - 1);
        memcpy(lens->coefficients, coefficients[options->distortion - 1], sizeof lens->coefficients);
    }
    splat_lens_prepare(lens);
    if (options->distortion < SPLAT_SAMPLE_DISTORTION_EQUIRECTANGULAR) widen(lens);
    for (int i = 0; i < options->n_cameras; i++) s->cameras[i].lens = lens;
}

static splat_status set_up(splat_sample_work *s, splat_error *error)
{
    const splat_sample_options *options = s->options;
    const double largest = splat_sample_largest_thing(options->scene);
    if (largest > 0) SPLAT_TRY(splat_sample_things_open(options->things, largest, s->threads, &s->things, error));
    const bool is_one = options->scene == SPLAT_SAMPLE_SCENE_PLACE || options->scene == SPLAT_SAMPLE_SCENE_FLIGHT;
    if (is_one && s->things.n > 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "place and flight are one mesh each, and `things` names %zu",
                          s->things.n);
    s->parts.things = &s->things;
    if (options->scene)
        splat_sample_design_init(&s->parts, options->scene, options->seed);
    else
        splat_sample_world_init(&s->world, options->seed);
    for (int i = 0; i < options->n_cameras; i++) {
        splat_sample_camera *camera = &s->cameras[i];
        *camera = (splat_sample_camera){.width = options->width, .height = options->height};
        if (!options->scene)
            *camera = splat_sample_basic_camera(options, i);
        else if (!splat_sample_design_camera(&s->parts, options->scene, options->seed, i, options->n_cameras, camera))
            return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                              "picture %d of the sample finds no place to stand that shows enough of `things`: its "
                              "up must be +y (.glb) or +z, and its faces must show their fronts", i);
    }
    set_lens(s);
    return s->parts.lacks_memory ? splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the world of the sample")
                                 : SPLAT_OK;
}

splat_status splat_sample_scene_write(const char *folder, const splat_sample_options *options, int threads,
                                      splat_error *error)
{
    SPLAT_TRY(splat_sample_options_check(options, error));
    SPLAT_TRY(check_folder(folder, error));
    bool folder_was_there = splat_path_exists(folder);
    splat_sample_work s = {.options = options, .threads = threads > 0 ? threads : 1};
    s.cameras = malloc((size_t)options->n_cameras * sizeof *s.cameras);
    if (!s.cameras) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the sample's cameras");
    splat_status status = set_up(&s, error);
    if (status == SPLAT_OK) status = write_all(&s, folder, error);
    if (status != SPLAT_OK && folder_was_there)
        remove_written(folder);
    else if (status != SPLAT_OK)
        splat_folder_delete(folder, NULL);
    splat_parts_release(&s.parts);
    splat_sample_things_free(&s.things);
    free(s.cameras);
    return status;
}

splat_status splat_sample_write(splat_context *context, const char *folder, const splat_sample_options *options,
                                splat_error *error)
{
    splat_sample_options own;
    splat_sample_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, options, "splat_sample_options", error));
    options = &own;
    return splat_sample_scene_write(folder, options, context->threads, error);
}
