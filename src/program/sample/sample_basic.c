/* Points lie on the surface by area; of the photos' points only those that a camera sees are kept. */
#include "sample/sample_basic.h"

#include "base/file.h"
#include "io/ply/ply_points.h"
#include "sample/sample_dice.h"

#include <stdlib.h>

static const double pi = 3.14159265358979323846;

#define BACKDROP_SHARE 8 /* every eighth point lies on the backdrop */

/* ---------------------------------------------------------------- cameras */

/* Half of the cameras on a low ring, then half on a high one: every 8th by name is a test view of either ring. A few
 * centimetres off the rings, as hands are. */
splat_sample_camera splat_sample_basic_camera(const splat_sample_options *options, int index)
{
    int n_low = (options->n_cameras + 1) / 2, high = index >= n_low;
    int place = high ? index - n_low : index, n_places = high ? options->n_cameras - n_low : n_low;
    splat_random4 words =
        splat_random(options->seed, SPLAT_STREAM_SAMPLE_SCENE, SPLAT_SAMPLE_STEP_CAMERAS, (uint64_t)index);
    double jitter[3];
    for (int k = 0; k < 3; k++) jitter[k] = 2 * (double)splat_uniform(words.x[k]) - 1;
    double angle = 2 * pi * (place + 0.5 * high + 0.15 * jitter[0]) / n_places;
    double radius = (high ? 3.6 : 4.5) + 0.08 * jitter[1], height = (high ? 3.0 : 1.4) + 0.08 * jitter[2];
    splat_sample_camera camera = {.width = options->width, .height = options->height};
    camera.focal = 0.5 * options->width / tan(25.0 * pi / 180.0); /* 50 degrees across */
    splat_sample_camera_look(&camera, splat_vec3_make(radius * cos(angle), -height, radius * sin(angle)),
                             splat_vec3_make(0, -0.6, 0));
    return camera;
}

/* ---------------------------------------------------------------- points */

/* True when a camera sees the surface point; *direction is its line of sight. */
static bool is_seen_by(const splat_sample_work *s, const splat_sample_camera *camera, const splat_sample_hit *hit,
                       splat_vec3 *direction)
{
    double distance;
    return splat_sample_camera_faces(camera, hit->position, hit->normal, direction, &distance) &&
           !splat_sample_is_occluded(&s->world, camera->center, *direction, distance - 1e-3);
}

static bool is_seen(const splat_sample_work *s, const splat_sample_hit *hit, splat_vec3 *direction)
{
    for (int i = 0; i < s->options->n_cameras; i++)
        if (is_seen_by(s, &s->cameras[i], hit, direction)) return true;
    return false;
}

/* Draws the index-th surface point of a purpose: uniform by area over what is not hidden; with must_be_seen over what
 * some camera sees, as structure from motion does. */
static void draw_point(const splat_sample_work *s, uint32_t step, size_t index, bool must_be_seen,
                       splat_sample_hit *hit, splat_vec3 *direction)
{
    for (uint32_t attempt = 0; attempt < SPLAT_SAMPLE_MAX_ATTEMPTS; attempt++) {
        splat_random4 words = splat_random(s->options->seed, SPLAT_STREAM_SAMPLE_SCENE, step + attempt, index);
        if (!splat_sample_surface_point(&s->world, words.x, hit)) continue;
        *direction = splat_vec3_scale(hit->normal, -1);
        if (!must_be_seen || is_seen(s, hit, direction)) return;
    }
}

static splat_point make_point(const splat_sample_work *s, const splat_sample_hit *hit, splat_vec3 direction,
                              const double noise[3])
{
    splat_vec3 color = splat_sample_shade(&s->world, hit, direction);
    splat_point point = {{(float)(hit->position.x + noise[0]), (float)(hit->position.y + noise[1]),
                          (float)(hit->position.z + noise[2])},
                         {splat_sample_byte(color.x), splat_sample_byte(color.y), splat_sample_byte(color.z)}};
    return point;
}

/* A point of the backdrop that some camera sees, with its colour. */
static splat_point draw_backdrop_point(const splat_sample_work *s, size_t index)
{
    splat_sample_hit hit = {.normal = {0, 1, 0}};
    splat_vec3 direction;
    for (uint32_t attempt = 0; attempt < SPLAT_SAMPLE_MAX_ATTEMPTS; attempt++) {
        splat_random4 words = splat_random(s->options->seed, SPLAT_STREAM_SAMPLE_SCENE,
                                           SPLAT_SAMPLE_STEP_POINTS + attempt, index);
        double z = 2 * (double)splat_uniform(words.x[0]) - 1, angle = 2 * pi * (double)splat_uniform(words.x[1]);
        double r = sqrt(1 - z * z);
        hit.normal = splat_vec3_make(-r * cos(angle), -z, -r * sin(angle)); /* inwards */
        hit.position = splat_vec3_scale(hit.normal, -SPLAT_SAMPLE_BACKDROP);
        if (hit.position.y < 0 && is_seen(s, &hit, &direction)) break;
    }
    splat_vec3 color = splat_sample_backdrop(&s->world, hit.position);
    return (splat_point){{(float)hit.position.x, (float)hit.position.y, (float)hit.position.z},
                         {splat_sample_byte(color.x), splat_sample_byte(color.y), splat_sample_byte(color.z)}};
}

void splat_sample_basic_points(const splat_sample_work *s, splat_point *points, int n)
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
        draw_point(s, SPLAT_SAMPLE_STEP_POINTS, (size_t)i, true, &hit, &direction);
        splat_random4 words =
            splat_random(s->options->seed, SPLAT_STREAM_SAMPLE_SCENE, SPLAT_SAMPLE_STEP_NOISE, (uint64_t)i);
        float normal[4];
        splat_normal2(words.x[0], words.x[1], &normal[0], &normal[1]);
        splat_normal2(words.x[2], words.x[3], &normal[2], &normal[3]);
        double noise[3];
        for (int k = 0; k < 3; k++) noise[k] = sigma * (double)normal[k];
        points[i] = make_point(s, &hit, direction, noise);
    }
}

splat_status splat_sample_basic_truth(const splat_sample_work *s, const char *folder, splat_error *error)
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
            draw_point(s, SPLAT_SAMPLE_STEP_TRUTH, i, false, &hit, &direction);
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
