/* The first photo of a track is drawn, so that tracks differ; a map holds the depth of the first surface. */
#include "sample/sample_known.h"

#include "base/file.h"
#include "base/rng.h"
#include "io/json.h"
#include "io/picture/image_write.h"
#include "sample/sample_dice.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PHOTOS 12  /* of a track */
#define HIDDEN 0.97     /* what stands nearer than this part of a point's distance hides it: points are noisy */
#define TRACK_ERROR 1.0 /* pixels */

/* ---------------------------------------------------------------- tracks */

static bool sees(const splat_sample_work *s, int camera, const splat_point *point, double pixel[2])
{
    const splat_sample_camera *c = &s->cameras[camera];
    splat_vec3 place = splat_vec3_make((double)point->position[0], (double)point->position[1],
                                       (double)point->position[2]), direction;
    double distance;
    if (!splat_sample_camera_faces(c, place, splat_vec3_sub(c->center, place), &direction, &distance)) return false;
    splat_sample_camera_pixel(c, place, pixel);
    return s->parts.n ? !splat_parts_is_occluded(&s->parts, c->center, direction, HIDDEN * distance)
                      : !splat_sample_is_occluded(&s->world, c->center, direction, HIDDEN * distance);
}

/* Finds the photos that see a point, beginning at a random photo. */
static int find_track(const splat_sample_work *s, const splat_point *point, size_t index, uint32_t *ids, float *places)
{
    const int n_cameras = s->options->n_cameras;
    splat_random4 words = splat_random(s->options->seed, SPLAT_STREAM_SAMPLE_SCENE, SPLAT_SAMPLE_STEP_TRACKS, index);
    int n = 0, first = (int)(words.x[0] % (uint32_t)n_cameras);
    for (int i = 0; i < n_cameras && n < MOST_PHOTOS; i++) {
        int camera = (first + i) % n_cameras;
        double pixel[2];
        if (!sees(s, camera, point, pixel)) continue;
        places[2 * n] = (float)pixel[0];
        places[2 * n + 1] = (float)pixel[1];
        ids[n++] = (uint32_t)camera + 1;
    }
    return n;
}

splat_status splat_sample_tracks(const splat_sample_work *s, const splat_point *points, size_t n,
                                 splat_colmap_tracks *tracks)
{
    int *lengths = malloc(n * sizeof *lengths);
    tracks->errors = malloc(n * sizeof *tracks->errors);
    tracks->ends = malloc(n * sizeof *tracks->ends);
    tracks->image_ids = malloc(n * MOST_PHOTOS * sizeof *tracks->image_ids);
    tracks->places = malloc(n * MOST_PHOTOS * 2 * sizeof *tracks->places);
    bool good = lengths && tracks->errors && tracks->ends && tracks->image_ids && tracks->places;
    if (good) {
#pragma omp parallel for schedule(dynamic, 64) num_threads(s->threads)
        for (size_t i = 0; i < n; i++)
            lengths[i] = find_track(s, &points[i], i, tracks->image_ids + MOST_PHOTOS * i,
                                    tracks->places + 2 * MOST_PHOTOS * i);
        size_t end = 0;
        for (size_t i = 0; i < n; i++) { /* moved together */
            size_t length = (size_t)lengths[i];
            memmove(tracks->image_ids + end, tracks->image_ids + MOST_PHOTOS * i, length * sizeof *tracks->image_ids);
            memmove(tracks->places + 2 * end, tracks->places + 2 * MOST_PHOTOS * i, 2 * length * sizeof(float));
            tracks->errors[i] = (float)TRACK_ERROR;
            tracks->ends[i] = end += length;
        }
        tracks->n = n;
    }
    free(lengths);
    return good ? SPLAT_OK : SPLAT_ERROR_MEMORY;
}

/* ---------------------------------------------------------------- maps */

/* 1/z of what a ray meets, z along the camera's axis; 0: nothing. */
static double inverse_depth(const splat_sample_work *s, const splat_sample_camera *c, int x, int y)
{
    splat_vec3 ray = splat_sample_camera_ray(c, x + 0.5, y + 0.5);
    splat_sample_hit hit;
    splat_parts_hit part;
    double t = 0, backdrop = s->parts.n ? s->parts.backdrop : SPLAT_SAMPLE_BACKDROP;
    if (s->parts.n ? splat_parts_trace(&s->parts, c->center, ray, &part) : splat_sample_trace(&s->world, c->center, ray,
                                                                                             &hit)) {
        t = s->parts.n ? part.t : hit.t;
    } else if (backdrop > 0) { /* the ball around everything, from inside */
        double along = splat_vec3_dot(ray, c->center), center2 = splat_vec3_dot(c->center, c->center);
        t = sqrt(fmax(along * along - center2 + backdrop * backdrop, 0)) - along;
    }
    double z = t * splat_vec3_dot(ray, c->rows[2]);
    return z > 0 ? 1 / z : 0;
}

/* Another scale and offset for each picture: what a network says of one picture tells nothing of another's. */
static void draw_fit(const splat_sample_work *s, int index, double most, double *scale, double *offset)
{
    splat_random4 words = splat_random(s->options->seed, SPLAT_STREAM_SAMPLE_SCENE, SPLAT_SAMPLE_STEP_DEPTHS,
                                       (uint64_t)index);
    *offset = -0.2 * most * (double)splat_uniform(words.x[0]);
    *scale = (most - *offset) * (1.1 + 0.5 * (double)splat_uniform(words.x[1]));
}

static splat_status write_map(const splat_sample_work *s, const char *folder, int index, double *inverse,
                              uint16_t *values, json_t **params, splat_error *error)
{
    const int width = s->options->width, height = s->options->height;
    const size_t n = (size_t)width * (size_t)height;
    double most = 0, scale, offset;
    char name[32];
#pragma omp parallel for schedule(dynamic, 4) num_threads(s->threads)
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            inverse[(size_t)y * (size_t)width + (size_t)x] = inverse_depth(s, &s->cameras[index], x, y);
    for (size_t i = 0; i < n; i++) most = fmax(most, inverse[i]);
    draw_fit(s, index, most, &scale, &offset);
    for (size_t i = 0; i < n; i++) values[i] = (uint16_t)(65536 * (inverse[i] - offset) / scale + 0.5);
    snprintf(name, sizeof name, "image_%03d", index);
    splat_json_set(params, name, json_pack("{s:f, s:f}", "scale", scale, "offset", offset));
    char *path = splat_format("%s/depths/%s.png", folder, name);
    splat_status status = path ? splat_png_write(path, width, height, 1, 16, values, error)
                               : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    free(path);
    return status;
}

splat_status splat_sample_depths(const splat_sample_work *s, const char *folder, splat_error *error)
{
    const size_t n = (size_t)s->options->width * (size_t)s->options->height;
    double *inverse = malloc(n * sizeof *inverse);
    uint16_t *values = malloc(n * sizeof *values);
    json_t *params = json_object();
    char *text = NULL, *path = splat_format("%s/sparse/0/depth_params.json", folder);
    splat_status status = inverse && values && path ? SPLAT_OK
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the sample's depth maps");
    for (int i = 0; i < s->options->n_cameras && status == SPLAT_OK; i++)
        status = write_map(s, folder, i, inverse, values, &params, error);
    if (status == SPLAT_OK) {
        text = splat_json_print(params, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
        status = text ? splat_file_write(path, text, strlen(text), error)
                      : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the sample's depth maps");
    }
    json_decref(params);
    free(text);
    free(path);
    free(inverse);
    free(values);
    return status;
}
