/* Novel views around the path of the cameras, as training data for pose regression: poses, then pictures and files. */
#include "measure/random_views.h"

#include "io/colmap/colmap_read.h"
#include "io/colmap/colmap_write.h"
#include "io/picture/image_write.h"
#include "io/transforms_write.h"

#include "base/file.h"
#include "base/options.h"
#include "base/rng.h"
#include "io/transforms.h"
#include "math/camera.h"
#include "measure/measured_mesh.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEIGHBOURS 3
#define RADIANS 0.017453292519943295

void splat_random_views_options_init_sized(splat_random_views_options *options, size_t size)
{
    const splat_random_views_options defaults = {.position_deviation = 0.1f, .rotation_deviation_deg = 2};
    splat_options_give(options, size, &defaults, sizeof defaults);
}

/* ---------------------------------------------------------------- quaternions */

/* The quaternion of a row-major rotation. The largest of the four is computed first, so that no divisor is small. */
static void quaternion_of(const float rotation[9], double q[4])
{
    double m[9];
    for (int k = 0; k < 9; k++) m[k] = (double)rotation[k];
    const double four[4] = {1 + m[0] + m[4] + m[8], 1 + m[0] - m[4] - m[8], 1 - m[0] + m[4] - m[8],
                            1 - m[0] - m[4] + m[8]}; /* four times the squares */
    int largest = 0;
    for (int k = 1; k < 4; k++)
        if (four[k] > four[largest]) largest = k;
    const double products[4][4] = {
        {four[0], m[7] - m[5], m[2] - m[6], m[3] - m[1]},
        {m[7] - m[5], four[1], m[1] + m[3], m[2] + m[6]},
        {m[2] - m[6], m[1] + m[3], four[2], m[5] + m[7]},
        {m[3] - m[1], m[2] + m[6], m[5] + m[7], four[3]},
    };
    double length = 0;
    for (int k = 0; k < 4; k++) length += products[largest][k] * products[largest][k];
    for (int k = 0; k < 4; k++) q[k] = products[largest][k] / sqrt(length);
}

/* The short way from a to b; both of length one. */
static void interpolate(const double a[4], const double b[4], double part, double q[4])
{
    double cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3], sign = cosine < 0 ? -1 : 1;
    double angle = acos(fmin(fabs(cosine), 1)), wa = 1 - part, wb = part;
    if (angle > 1e-6) {
        wa = sin((1 - part) * angle) / sin(angle);
        wb = sin(part * angle) / sin(angle);
    }
    for (int k = 0; k < 4; k++) q[k] = wa * a[k] + sign * wb * b[k];
}

/* q = turn q: a rotation vector in the camera's axes, applied after the pose. */
static void turn(double q[4], const double vector[3])
{
    double angle = sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]);
    double s = angle > 0 ? sin(angle / 2) / angle : 0;
    const double w = cos(angle / 2), x = s * vector[0], y = s * vector[1], z = s * vector[2];
    const double p[4] = {q[0], q[1], q[2], q[3]};
    q[0] = w * p[0] - x * p[1] - y * p[2] - z * p[3];
    q[1] = w * p[1] + x * p[0] + y * p[3] - z * p[2];
    q[2] = w * p[2] - x * p[3] + y * p[0] + z * p[1];
    q[3] = w * p[3] + x * p[2] - y * p[1] + z * p[0];
}

/* ---------------------------------------------------------------- poses */

static double distance2(const splat_camera *a, const splat_camera *b)
{
    double sum = 0;
    for (int k = 0; k < 3; k++) sum += pow((double)a->center[k] - (double)b->center[k], 2);
    return sum;
}

/* The nearest training cameras by their centres, nearest first; of equally near ones the first. Returns how many. */
static int nearest(const splat_scene *scene, size_t of, size_t found[NEIGHBOURS])
{
    double distances[NEIGHBOURS];
    int n = 0;
    for (size_t i = 0; i < scene->dataset.n_train; i++) {
        if (i == of) continue;
        double distance = distance2(&scene->train_cameras[of], &scene->train_cameras[i]);
        int at = n;
        while (at > 0 && distances[at - 1] > distance) at--;
        if (at == NEIGHBOURS) continue;
        for (int k = n < NEIGHBOURS ? n : NEIGHBOURS - 1; k > at; k--) {
            distances[k] = distances[k - 1];
            found[k] = found[k - 1];
        }
        distances[at] = distance;
        found[at] = i;
        if (n < NEIGHBOURS) n++;
    }
    return n;
}

/* Mean distance of a training camera to its nearest neighbour. */
static double spacing_of(const splat_scene *scene)
{
    double sum = 0;
    size_t found[NEIGHBOURS], n = scene->dataset.n_train;
    for (size_t i = 0; i < n; i++) {
        nearest(scene, i, found);
        sum += sqrt(distance2(&scene->train_cameras[i], &scene->train_cameras[found[0]]));
    }
    return sum / (double)n;
}

static void make_view(const splat_scene *scene, const splat_random_views_options *options, double spacing, size_t index,
                      splat_camera *camera)
{
    splat_random4 choice = splat_random(options->seed, SPLAT_STREAM_RANDOM_VIEWS, 0, index);
    splat_random4 noise[2] = {splat_random(options->seed, SPLAT_STREAM_RANDOM_VIEWS, 1, index),
                              splat_random(options->seed, SPLAT_STREAM_RANDOM_VIEWS, 2, index)};
    float normals[8];
    for (int k = 0; k < 4; k++)
        splat_normal2(noise[k / 2].x[k % 2 * 2], noise[k / 2].x[k % 2 * 2 + 1], &normals[2 * k], &normals[2 * k + 1]);
    size_t found[NEIGHBOURS], first = (size_t)(((uint64_t)choice.x[0] * scene->dataset.n_train) >> 32);
    int n = nearest(scene, first, found);
    const splat_camera *a = &scene->train_cameras[first];
    const splat_camera *b = &scene->train_cameras[found[((uint64_t)choice.x[1] * (uint64_t)n) >> 32]];
    double part = (double)splat_uniform(choice.x[2]), qa[4], qb[4], q[4], rotation[9], translation[3], vector[3];
    quaternion_of(a->rotation, qa);
    quaternion_of(b->rotation, qb);
    interpolate(qa, qb, part, q);
    for (int k = 0; k < 3; k++)
        vector[k] = RADIANS * (double)options->rotation_deviation_deg * (double)normals[3 + k];
    turn(q, vector);
    splat_quaternion_to_rotation(q, rotation);
    double center[3];
    for (int k = 0; k < 3; k++)
        center[k] = (1 - part) * (double)a->center[k] + part * (double)b->center[k] +
                    (double)options->position_deviation * spacing * (double)normals[k];
    for (int k = 0; k < 3; k++)
        translation[k] = -(rotation[3 * k] * center[0] + rotation[3 * k + 1] * center[1] +
                           rotation[3 * k + 2] * center[2]);
    *camera = *a;
    splat_camera_set_pose(camera, rotation, translation);
}

splat_status splat_random_views_make(const splat_scene *scene, const splat_random_views_options *options,
                                     splat_camera *cameras, splat_error *error)
{
    splat_random_views_options own;
    splat_random_views_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, options, "splat_random_views_options", error));
    options = &own;
    if (scene->dataset.n_train < 2)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "views between cameras need at least two training views; the scene has %zu",
                          scene->dataset.n_train);
    if (!(options->position_deviation >= 0 && options->position_deviation <= 1e3f) ||
        !(options->rotation_deviation_deg >= 0 && options->rotation_deviation_deg <= 180))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "the deviations of random views are 0 to 1000 camera distances and 0 to 180 degrees, not %g "
                          "and %g", (double)options->position_deviation, (double)options->rotation_deviation_deg);
    double spacing = spacing_of(scene);
    for (size_t i = 0; i < options->n; i++) make_view(scene, options, spacing, i, &cameras[i]);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- files */

/* "images/000012.png": six digits keep a million names in their order. */
static char *picture_name(const char *folder, size_t index)
{
    return splat_format("%s%s%06zu.png", folder, folder[0] ? "/" : "", index);
}

static bool same_lens(const splat_colmap_camera *lens, const splat_camera *c)
{
    return lens->width == (uint64_t)c->width && lens->height == (uint64_t)c->height && lens->fx == (double)c->fx &&
           lens->fy == (double)c->fy && lens->cx == (double)c->cx && lens->cy == (double)c->cy;
}

/* COLMAP's camera for a view: one with the same lens, or a new one after those of the model. */
static uint32_t lens_of(splat_colmap_model *model, const splat_camera *c)
{
    for (size_t i = model->n_cameras; i-- > 0;)
        if (same_lens(&model->cameras[i], c)) return model->cameras[i].id;
    splat_colmap_camera *lens = &model->cameras[model->n_cameras++];
    *lens = (splat_colmap_camera){.id = (uint32_t)model->n_cameras,
                                  .model_id = 1,
                                  .width = (uint64_t)c->width,
                                  .height = (uint64_t)c->height,
                                  .fx = (double)c->fx,
                                  .fy = (double)c->fy,
                                  .cx = (double)c->cx,
                                  .cy = (double)c->cy};
    return lens->id;
}

static void fill_poses(const splat_camera *cameras, size_t n, splat_colmap_model *model, splat_transforms_frame *frames)
{
    for (size_t i = 0; i < n; i++) {
        const splat_camera *c = &cameras[i];
        splat_colmap_image *image = &model->images[i];
        image->id = (uint32_t)i + 1;
        image->camera_id = lens_of(model, c);
        quaternion_of(c->rotation, image->rotation);
        frames[i].fx = (double)c->fx;
        frames[i].fy = (double)c->fy;
        frames[i].cx = (double)c->cx;
        frames[i].cy = (double)c->cy;
        frames[i].width = c->width;
        frames[i].height = c->height;
        for (int r = 0; r < 3; r++) {
            image->translation[r] = (double)c->translation[r];
            for (int k = 0; k < 3; k++) frames[i].world_to_camera[4 * r + k] = (double)c->rotation[3 * r + k];
            frames[i].world_to_camera[4 * r + 3] = (double)c->translation[r];
        }
    }
}

static splat_status write_poses(const char *folder, const splat_camera *cameras, size_t n, splat_error *error)
{
    splat_colmap_model model = {.n_images = n};
    char *sparse = splat_format("%s/sparse/0", folder), *json = splat_format("%s/transforms.json", folder);
    splat_transforms_frame *frames = calloc(n, sizeof *frames);
    model.cameras = calloc(n, sizeof *model.cameras);
    model.images = calloc(n, sizeof *model.images);
    bool good = sparse && json && frames && model.cameras && model.images;
    for (size_t i = 0; i < n && good; i++) {
        model.images[i].name = picture_name("", i);
        frames[i].path = picture_name("images", i);
        good = model.images[i].name && frames[i].path;
    }
    splat_status status = good ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu poses", n);
    if (good) {
        fill_poses(cameras, n, &model, frames);
        status = splat_folder_create(sparse, error);
        if (status == SPLAT_OK) status = splat_colmap_write(sparse, &model, error);
        if (status == SPLAT_OK) status = splat_transforms_write(json, frames, n, error);
    }
    for (size_t i = 0; i < n && frames; i++) free(frames[i].path);
    free(frames);
    free(sparse);
    free(json);
    if (!model.images) model.n_images = 0;
    splat_colmap_free(&model);
    return status;
}

/* Room for one picture. */
typedef struct picture {
    float *planar;
    uint8_t *rgb;
} picture;

/* A function that fills planar [3][height][width] with the picture of a camera. */
typedef struct view_source {
    splat_status (*draw)(const struct view_source *source, const splat_camera *camera, float *planar,
                         splat_error *error);
    splat_model *model;                /* one of the two */
    const splat_measured_mesh *measured;
    float background[3];
} view_source;

static splat_status draw_model(const view_source *source, const splat_camera *camera, float *planar,
                               splat_error *error)
{
    return splat_model_render(source->model, camera, source->background, planar, error);
}

static splat_status draw_mesh(const view_source *source, const splat_camera *camera, float *planar, splat_error *error)
{
    return splat_mesh_painter_draw(&source->measured->painter, camera, source->background, planar, NULL, error);
}

static splat_status write_picture(const view_source *source, const splat_camera *camera, const char *folder,
                                  size_t index, const picture *p, splat_error *error)
{
    SPLAT_TRY(source->draw(source, camera, p->planar, error));
    splat_image_from_planar(p->planar, camera->width, camera->height, p->rgb);
    char *path = picture_name(folder, index);
    if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_png_write(path, camera->width, camera->height, 3, 8, p->rgb, error);
    free(path);
    return status;
}

static bool show(const splat_random_views_options *options, const splat_camera *camera, size_t index,
                 const float *render)
{
    char name[32];
    snprintf(name, sizeof name, "%06zu", index);
    splat_view_info view = {.name = name, .camera = *camera};
    return !options->visit || options->visit(options->user, index, &view, render, NULL, NULL);
}

static splat_status write_pictures(const view_source *source, splat_scene *scene,
                                   const splat_random_views_options *options, const splat_camera *cameras,
                                   const char *folder, splat_error *error)
{
    int width, height;
    splat_scene_largest_view(scene, &width, &height);
    size_t n_values = 3 * (size_t)width * (size_t)height;
    picture p = {malloc(n_values * sizeof *p.planar), malloc(n_values)};
    splat_status status = SPLAT_OK;
    if (!p.planar || !p.rgb)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a picture of %d x %d", width, height);
    for (size_t i = 0; i < options->n && status == SPLAT_OK; i++) {
        status = write_picture(source, &cameras[i], folder, i, &p, error);
        if (status == SPLAT_OK && !show(options, &cameras[i], i, p.planar))
            status = splat_fail(error, SPLAT_ERROR_STOPPED, "stopped after %zu of %zu views; no poses were written",
                                i + 1, options->n);
    }
    free(p.planar);
    free(p.rgb);
    return status;
}

static splat_status write_views(view_source *source, splat_scene *scene, const splat_random_views_options *options,
                                const char *folder, splat_error *error)
{
    size_t n = options->n;
    if (n < 1 || n > 1000000)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "1 to 1000000 random views can be written, not %zu", n);
    splat_camera *cameras = calloc(n, sizeof *cameras);
    char *images = splat_format("%s/images", folder);
    splat_scene_background(scene, source->background);
    splat_status status = cameras && images ? splat_random_views_make(scene, options, cameras, error)
                                            : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu views", n);
    if (status == SPLAT_OK) status = splat_folder_create(images, error);
    if (status == SPLAT_OK) status = write_pictures(source, scene, options, cameras, images, error);
    if (status == SPLAT_OK) status = write_poses(folder, cameras, n, error); /* last: of pictures that are all there */
    free(cameras);
    free(images);
    return status;
}

splat_status splat_random_views_write(splat_model *model, splat_scene *scene, const splat_random_views_options *options,
                                      const char *folder, splat_error *error)
{
    splat_random_views_options own;
    view_source source = {.draw = draw_model, .model = model};
    splat_random_views_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, options, "splat_random_views_options", error));
    return write_views(&source, scene, &own, folder, error);
}

splat_status splat_mesh_random_views_write(splat_scene *scene, const char *mesh_path,
                                           const splat_mesh_draw_options *draw_options,
                                           const splat_random_views_options *options, const char *folder,
                                           splat_error *error)
{
    splat_random_views_options own;
    splat_measured_mesh measured;
    view_source source = {.draw = draw_mesh, .measured = &measured};
    splat_random_views_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, options, "splat_random_views_options", error));
    splat_status status = splat_measured_mesh_open(&measured, scene, mesh_path, draw_options, error);
    if (status == SPLAT_OK) status = write_views(&source, scene, &own, folder, error);
    splat_measured_mesh_close(&measured);
    return status;
}
