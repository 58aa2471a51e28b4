/* Cameras, pictures, points and files of the built-in scene. */
#include "scene/sample_scene.h"

#include "base/file.h"
#include "base/rng.h"
#include "io/colmap/colmap.h"
#include "io/picture/image.h"
#include "io/ply/ply_points.h"
#include "scene/sample_raytrace.h"

#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* Steps of the random stream: one purpose each; surface points take one step an attempt. */
enum { STEP_CAMERAS = 1, STEP_NOISE = 2, STEP_POINTS = 1 << 16, STEP_TRUTH = 2 << 16, MAX_ATTEMPTS = 1 << 15 };

#define BACKDROP_SHARE 8 /* every eighth point lies on the backdrop */

/* A pinhole camera: rows are right, down, forward. */
typedef struct sample_camera {
    splat_vec3 center, rows[3];
    double focal;
    int width, height;
} sample_camera;

/* Everything of one run. */
typedef struct sample {
    const splat_sample_options *options;
    splat_sample_world world;
    sample_camera *cameras;
    int threads;
} sample;

/* ---------------------------------------------------------------- cameras */

/* Half of the cameras on a low ring, then half on a high one: every 8th by name is a test view of either ring. A few
 * centimetres off the rings, as hands are. */
static sample_camera make_camera(const splat_sample_options *options, int index)
{
    int n_low = (options->n_cameras + 1) / 2, high = index >= n_low;
    int place = high ? index - n_low : index, n_places = high ? options->n_cameras - n_low : n_low;
    splat_random4 words = splat_random(options->seed, SPLAT_STREAM_SAMPLE_SCENE, STEP_CAMERAS, (uint64_t)index);
    double jitter[3];
    for (int k = 0; k < 3; k++) jitter[k] = 2 * (double)splat_uniform(words.x[k]) - 1;
    double angle = 2 * pi * (place + 0.5 * high + 0.15 * jitter[0]) / n_places;
    double radius = (high ? 3.6 : 4.5) + 0.08 * jitter[1], height = (high ? 3.0 : 1.4) + 0.08 * jitter[2];
    sample_camera camera = {.width = options->width, .height = options->height};
    camera.center = splat_vec3_make(radius * cos(angle), -height, radius * sin(angle));
    camera.focal = 0.5 * options->width / tan(25.0 * pi / 180.0); /* 50 degrees across */
    splat_vec3 forward = splat_vec3_normalize(splat_vec3_sub(splat_vec3_make(0, -0.6, 0), camera.center));
    splat_vec3 right = splat_vec3_normalize(splat_vec3_cross(splat_vec3_make(0, 1, 0), forward));
    camera.rows[0] = right;
    camera.rows[1] = splat_vec3_cross(forward, right);
    camera.rows[2] = forward;
    return camera;
}

static splat_vec3 camera_ray(const sample_camera *camera, double u, double v)
{
    double x = (u - 0.5 * camera->width) / camera->focal, y = (v - 0.5 * camera->height) / camera->focal;
    splat_vec3 ray = splat_vec3_along(camera->rows[2], camera->rows[0], x);
    return splat_vec3_normalize(splat_vec3_along(ray, camera->rows[1], y));
}

/* (w, x, y, z) of the rotation, by its largest component (Shepperd 1978). */
static void camera_quaternion(const sample_camera *camera, double q[4])
{
    const splat_vec3 *r = camera->rows;
    double squares[4] = {1 + r[0].x + r[1].y + r[2].z, 1 + r[0].x - r[1].y - r[2].z, 1 - r[0].x + r[1].y - r[2].z,
                         1 - r[0].x - r[1].y + r[2].z};
    double wx = r[2].y - r[1].z, wy = r[0].z - r[2].x, wz = r[1].x - r[0].y;
    double xy = r[0].y + r[1].x, xz = r[0].z + r[2].x, yz = r[1].z + r[2].y;
    const double rows[4][4] = {{squares[0], wx, wy, wz}, {wx, squares[1], xy, xz}, {wy, xy, squares[2], yz},
                               {wz, xz, yz, squares[3]}};
    int largest = 0;
    for (int k = 1; k < 4; k++)
        if (squares[k] > squares[largest]) largest = k;
    double norm = 2 * sqrt(squares[largest]), sign = rows[largest][0] < 0 ? -1 : 1;
    for (int k = 0; k < 4; k++) q[k] = sign * rows[largest][k] / norm;
}

/* ---------------------------------------------------------------- pictures */

static void render_row(const sample *s, const sample_camera *camera, int y, uint8_t *rgb)
{
    int n = s->options->supersample;
    for (int x = 0; x < camera->width; x++) {
        splat_vec3 sum = {0, 0, 0};
        for (int k = 0; k < n * n; k++) {
            splat_vec3 ray = camera_ray(camera, x + (k % n + 0.5) / n, y + (k / n + 0.5) / n);
            sum = splat_vec3_add(sum, splat_sample_color(&s->world, camera->center, ray));
        }
        double scale = 255.0 / (n * n);
        rgb[3 * x + 0] = (uint8_t)(sum.x * scale + 0.5);
        rgb[3 * x + 1] = (uint8_t)(sum.y * scale + 0.5);
        rgb[3 * x + 2] = (uint8_t)(sum.z * scale + 0.5);
    }
}

static splat_status write_pictures(const sample *s, const char *folder, splat_error *error)
{
    size_t stride = 3 * (size_t)s->options->width;
    uint8_t *rgb = malloc(stride * (size_t)s->options->height);
    if (!rgb) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a picture of the sample");
    splat_status status = SPLAT_OK;
    for (int i = 0; i < s->options->n_cameras && status == SPLAT_OK; i++) {
#pragma omp parallel for schedule(dynamic, 4) num_threads(s->threads)
        for (int y = 0; y < s->options->height; y++) render_row(s, &s->cameras[i], y, rgb + stride * (size_t)y);
        char *path = splat_format("%s/images/image_%03d.png", folder, i);
        status = path ? splat_png_write(path, s->options->width, s->options->height, 3, 8, rgb, error)
                      : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
        free(path);
    }
    free(rgb);
    return status;
}

/* ---------------------------------------------------------------- points */

/* True when a camera sees the surface point; *direction is its line of sight. */
static bool is_seen_by(const sample *s, const sample_camera *camera, const splat_sample_hit *hit, splat_vec3 *direction)
{
    splat_vec3 offset = splat_vec3_sub(hit->position, camera->center);
    double distance = sqrt(splat_vec3_dot(offset, offset)), depth = splat_vec3_dot(camera->rows[2], offset);
    *direction = splat_vec3_scale(offset, 1 / distance);
    if (depth <= 0 || splat_vec3_dot(*direction, hit->normal) >= 0) return false;
    double u = camera->focal * splat_vec3_dot(camera->rows[0], offset) / depth;
    double v = camera->focal * splat_vec3_dot(camera->rows[1], offset) / depth;
    if (fabs(u) > 0.5 * camera->width || fabs(v) > 0.5 * camera->height) return false;
    return !splat_sample_is_occluded(&s->world, camera->center, *direction, distance - 1e-3);
}

static bool is_seen(const sample *s, const splat_sample_hit *hit, splat_vec3 *direction)
{
    for (int i = 0; i < s->options->n_cameras; i++)
        if (is_seen_by(s, &s->cameras[i], hit, direction)) return true;
    return false;
}

/* Draws the index-th surface point of a purpose: uniform by area over what is not hidden; with must_be_seen over what
 * some camera sees, as structure from motion does. */
static void draw_point(const sample *s, uint32_t step, size_t index, bool must_be_seen, splat_sample_hit *hit,
                       splat_vec3 *direction)
{
    for (uint32_t attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        splat_random4 words = splat_random(s->options->seed, SPLAT_STREAM_SAMPLE_SCENE, step + attempt, index);
        if (!splat_sample_surface_point(&s->world, words.x, hit)) continue;
        *direction = splat_vec3_scale(hit->normal, -1);
        if (!must_be_seen || is_seen(s, hit, direction)) return;
    }
}

static uint8_t to_byte(double value)
{
    return (uint8_t)(255 * fmin(fmax(value, 0), 1) + 0.5);
}

static splat_point make_point(const sample *s, const splat_sample_hit *hit, splat_vec3 direction, const double noise[3])
{
    splat_vec3 color = splat_sample_shade(&s->world, hit, direction);
    splat_point point = {{(float)(hit->position.x + noise[0]), (float)(hit->position.y + noise[1]),
                          (float)(hit->position.z + noise[2])},
                         {to_byte(color.x), to_byte(color.y), to_byte(color.z)}};
    return point;
}

/* A point of the backdrop that some camera sees, with its colour. */
static splat_point draw_backdrop_point(const sample *s, size_t index)
{
    splat_sample_hit hit = {.normal = {0, 1, 0}};
    splat_vec3 direction;
    for (uint32_t attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        splat_random4 words = splat_random(s->options->seed, SPLAT_STREAM_SAMPLE_SCENE, STEP_POINTS + attempt, index);
        double z = 2 * (double)splat_uniform(words.x[0]) - 1, angle = 2 * pi * (double)splat_uniform(words.x[1]);
        double r = sqrt(1 - z * z);
        hit.normal = splat_vec3_make(-r * cos(angle), -z, -r * sin(angle)); /* inwards */
        hit.position = splat_vec3_scale(hit.normal, -SPLAT_SAMPLE_BACKDROP);
        if (hit.position.y < 0 && is_seen(s, &hit, &direction)) break;
    }
    splat_vec3 color = splat_sample_backdrop(&s->world, hit.position);
    return (splat_point){{(float)hit.position.x, (float)hit.position.y, (float)hit.position.z},
                         {to_byte(color.x), to_byte(color.y), to_byte(color.z)}};
}

static void draw_points(const sample *s, splat_point *points, int n)
{
    const double sigma = 0.007;
#pragma omp parallel for schedule(dynamic, 64) num_threads(s->threads)
    for (int i = 0; i < n; i++) {
        if (i % BACKDROP_SHARE == 0) {
            points[i] = draw_backdrop_point(s, (size_t)i);
            continue;
        }
        splat_sample_hit hit = {0};
        splat_vec3 direction;
        draw_point(s, STEP_POINTS, (size_t)i, true, &hit, &direction);
        splat_random4 words = splat_random(s->options->seed, SPLAT_STREAM_SAMPLE_SCENE, STEP_NOISE, (uint64_t)i);
        float normal[4];
        splat_normal2(words.x[0], words.x[1], &normal[0], &normal[1]);
        splat_normal2(words.x[2], words.x[3], &normal[2], &normal[3]);
        double noise[3];
        for (int k = 0; k < 3; k++) noise[k] = sigma * (double)normal[k];
        points[i] = make_point(s, &hit, direction, noise);
    }
}

static splat_status write_truth(const sample *s, const char *folder, splat_error *error)
{
    size_t n = (size_t)s->options->n_truth;
    splat_point *points = malloc(n * sizeof *points);
    float *normals = malloc(n * 3 * sizeof *normals);
    char *path = splat_format("%s/ground_truth.ply", folder);
    splat_status status = SPLAT_OK;
    if (!points || !normals || !path)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu points of the sample's surfaces", n);
    if (status == SPLAT_OK) {
#pragma omp parallel for schedule(static) num_threads(s->threads)
        for (size_t i = 0; i < n; i++) {
            static const double no_noise[3];
            splat_sample_hit hit = {0};
            splat_vec3 direction;
            draw_point(s, STEP_TRUTH, i, false, &hit, &direction);
            points[i] = make_point(s, &hit, direction, no_noise);
            normals[3 * i + 0] = (float)hit.normal.x;
            normals[3 * i + 1] = (float)hit.normal.y;
            normals[3 * i + 2] = (float)hit.normal.z;
        }
        status = splat_ply_write_points(path, points, normals, n, error);
    }
    free(points);
    free(normals);
    free(path);
    return status;
}

/* ---------------------------------------------------------------- the COLMAP model */

static splat_status fill_model(const sample *s, splat_colmap_model *model)
{
    const splat_sample_options *options = s->options;
    model->cameras = calloc(1, sizeof *model->cameras);
    model->images = calloc((size_t)options->n_cameras, sizeof *model->images);
    model->points = calloc((size_t)options->n_points, sizeof *model->points);
    if (!model->cameras || !model->images || !model->points) return SPLAT_ERROR_MEMORY;
    model->n_cameras = 1;
    model->cameras[0] = (splat_colmap_camera){.id = 1,
                                              .model_id = 1,
                                              .width = (uint64_t)options->width,
                                              .height = (uint64_t)options->height,
                                              .fx = s->cameras[0].focal,
                                              .fy = s->cameras[0].focal,
                                              .cx = 0.5 * options->width,
                                              .cy = 0.5 * options->height};
    for (int i = 0; i < options->n_cameras; i++) {
        splat_colmap_image *image = &model->images[i];
        const sample_camera *camera = &s->cameras[i];
        image->id = (uint32_t)i + 1;
        image->camera_id = 1;
        camera_quaternion(camera, image->rotation);
        for (int k = 0; k < 3; k++) image->translation[k] = -splat_vec3_dot(camera->rows[k], camera->center);
        image->name = splat_format("image_%03d.png", i);
        if (!image->name) return SPLAT_ERROR_MEMORY;
        model->n_images++;
    }
    model->n_points = (size_t)options->n_points;
    draw_points(s, model->points, options->n_points);
    return SPLAT_OK;
}

static splat_status write_model(const sample *s, const char *folder, splat_error *error)
{
    splat_colmap_model model = {0};
    char *path = splat_format("%s/sparse/0", folder);
    splat_status status = path ? fill_model(s, &model) : SPLAT_ERROR_MEMORY;
    if (status == SPLAT_OK)
        status = splat_colmap_write(path, &model, error);
    else
        splat_fail(error, status, "no memory for the sample's COLMAP model");
    splat_colmap_free(&model);
    free(path);
    return status;
}

/* ---------------------------------------------------------------- the folder */

static splat_status check_range(const char *name, int value, int low, int high, splat_error *error)
{
    if (value >= low && value <= high) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "%s of the sample is %d; %d to %d are possible", name, value, low,
                      high);
}

static splat_status check_options(const splat_sample_options *options, splat_error *error)
{
    SPLAT_TRY(check_range("width", options->width, 8, 8192, error));
    SPLAT_TRY(check_range("height", options->height, 8, 8192, error));
    SPLAT_TRY(check_range("n_cameras", options->n_cameras, 2, 999, error));
    SPLAT_TRY(check_range("n_points", options->n_points, 4, 10000000, error));
    SPLAT_TRY(check_range("n_truth", options->n_truth, 1, 100000000, error));
    return check_range("supersample", options->supersample, 1, 16, error);
}

static splat_status create_child(const char *folder, const char *name, splat_error *error)
{
    char *path = splat_format("%s/%s", folder, name);
    if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_folder_create(path, error);
    free(path);
    return status;
}

/* A folder that exists while the sample is being written: what a stopped run left may be written again. */
#define UNFINISHED "sample.unfinished"

/* Undoes a run that failed or was stopped: only what it wrote, since the folder held nothing before. Its own failure is
 * not worth hiding the first error for. */
static void remove_written(const char *folder)
{
    static const char *const names[] = {"images", "sparse", "ground_truth.ply", UNFINISHED};
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
    char *mark = splat_format("%s/" UNFINISHED, folder);
    if (mark && splat_path_exists(mark)) remove_written(folder);
    free(mark);
    SPLAT_TRY(splat_folder_list(folder, &names, &n, error));
    splat_names_free(names, n);
    if (n == 0) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, folder, SPLAT_NO_OFFSET,
                         "the folder for the sample is not empty: name a new one");
}

/* The mark comes first and goes last. */
static splat_status write_all(const sample *s, const char *folder, splat_error *error)
{
    SPLAT_TRY(create_child(folder, UNFINISHED, error));
    SPLAT_TRY(create_child(folder, "images", error));
    SPLAT_TRY(create_child(folder, "sparse/0", error));
    SPLAT_TRY(write_model(s, folder, error));
    SPLAT_TRY(write_truth(s, folder, error));
    SPLAT_TRY(write_pictures(s, folder, error));
    char *mark = splat_format("%s/" UNFINISHED, folder);
    if (!mark) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_folder_delete(mark, error);
    free(mark);
    return status;
}

splat_status splat_sample_scene_write(const char *folder, const splat_sample_options *options, int threads,
                                      splat_error *error)
{
    SPLAT_TRY(check_options(options, error));
    SPLAT_TRY(check_folder(folder, error));
    bool folder_was_there = splat_path_exists(folder);
    sample s = {.options = options, .threads = threads > 0 ? threads : 1};
    s.cameras = malloc((size_t)options->n_cameras * sizeof *s.cameras);
    if (!s.cameras) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the sample's cameras");
    splat_sample_world_init(&s.world, options->seed);
    for (int i = 0; i < options->n_cameras; i++) s.cameras[i] = make_camera(options, i);
    splat_status status = write_all(&s, folder, error);
    if (status != SPLAT_OK && folder_was_there)
        remove_written(folder);
    else if (status != SPLAT_OK)
        splat_folder_delete(folder, NULL);
    free(s.cameras);
    return status;
}
