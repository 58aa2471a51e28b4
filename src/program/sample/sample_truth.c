/* The points of the built-in worlds that are lists of parts: what three cameras see, and what structure from motion
 * would find. */
#include "base/file.h"
#include "base/reader.h" /* refuses big-endian hosts: floats are written as they stand in memory */
#include "sample/sample_work.h"

#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

enum { ENOUGH_CAMERAS = 3 };
#define BACKDROP_SHARE 8 /* every eighth point of photos with a backdrop lies on it */

/* Of a part, for structure from motion: points a unit of area and of edges. A plain surface has almost none. */
static const double textured_points = 1, plain_points = 0.005, edge_points = 0.02;

static double unit(uint32_t word)
{
    return ((double)word + 0.5) * (1.0 / 4294967296.0);
}

int splat_sample_parts_seen(const splat_sample_work *s, splat_vec3 position, splat_vec3 normal, int enough,
                            splat_vec3 *direction)
{
    int n = 0;
    for (int i = 0; i < s->options->n_cameras && n < enough; i++) {
        splat_vec3 ray;
        double distance;
        if (!splat_sample_camera_faces(&s->cameras[i], position, normal, &ray, &distance)) continue;
        if (splat_parts_is_occluded(&s->parts, s->cameras[i].center, ray, distance - 1e-3)) continue;
        *direction = ray;
        n++;
    }
    return n;
}

/* What a draw chooses from: a weight for each part's surface, and for its edges. */
typedef struct choice {
    double surfaces[SPLAT_PARTS_MAX], edges[SPLAT_PARTS_MAX], total;
} choice;

/* By area alone, or as structure from motion does. */
static void make_choice(const splat_parts *parts, bool is_motion, choice *c)
{
    c->total = 0;
    for (int i = 0; i < parts->n; i++) {
        const splat_part *part = &parts->items[i];
        double density = part->kind == SPLAT_PART_PLAIN ? plain_points : textured_points;
        c->surfaces[i] = splat_part_area(part) * (is_motion ? density : 1);
        c->edges[i] = is_motion ? edge_points * splat_part_edge_length(part) : 0;
        c->total += c->surfaces[i] + c->edges[i];
    }
}

/* Draws the index-th point of a purpose that enough cameras see; false: there seems to be none. */
static bool draw(const splat_sample_work *s, const choice *c, uint32_t step, size_t index, splat_parts_hit *hit,
                 splat_vec3 *direction)
{
    const splat_parts *parts = &s->parts;
    for (uint32_t attempt = 0; attempt < SPLAT_SAMPLE_MAX_ATTEMPTS; attempt++) {
        splat_random4 words = splat_random(s->options->seed, SPLAT_STREAM_SAMPLE_SCENE, step + attempt, index);
        double pick = unit(words.x[0]) * c->total, uniform[3];
        for (int k = 0; k < 3; k++) uniform[k] = unit(words.x[k + 1]);
        int i = 0;
        for (; i + 1 < parts->n && pick >= c->surfaces[i] + c->edges[i]; i++) pick -= c->surfaces[i] + c->edges[i];
        hit->part = i;
        if (pick >= c->surfaces[i] && c->edges[i] > 0)
            splat_part_edge_point(&parts->items[i], uniform, &hit->position, &hit->normal);
        else if (!splat_part_point(&parts->items[i], uniform, &hit->position, &hit->normal))
            continue;
        if (splat_sample_parts_seen(s, hit->position, hit->normal, ENOUGH_CAMERAS, direction) == ENOUGH_CAMERAS)
            return true;
    }
    return false;
}

static splat_point make_point(splat_vec3 place, splat_vec3 color)
{
    return (splat_point){{(float)place.x, (float)place.y, (float)place.z},
                         {splat_sample_byte(color.x), splat_sample_byte(color.y), splat_sample_byte(color.z)}};
}

/* ---------------------------------------------------------------- points to start from */

static splat_point draw_backdrop_point(const splat_sample_work *s, size_t index)
{
    splat_vec3 place = {0, 0, 0}, direction;
    for (uint32_t attempt = 0; attempt < SPLAT_SAMPLE_MAX_ATTEMPTS; attempt++) {
        splat_random4 words = splat_random(s->options->seed, SPLAT_STREAM_SAMPLE_SCENE,
                                           SPLAT_SAMPLE_STEP_POINTS + attempt, index);
        double z = 2 * unit(words.x[0]) - 1, angle = 2 * pi * unit(words.x[1]), r = sqrt(1 - z * z);
        splat_vec3 outwards = {r * cos(angle), z, r * sin(angle)};
        place = splat_vec3_scale(outwards, s->parts.backdrop);
        if (splat_sample_parts_seen(s, place, splat_vec3_scale(outwards, -1), ENOUGH_CAMERAS, &direction) ==
            ENOUGH_CAMERAS)
            break;
    }
    return make_point(place, splat_parts_backdrop(&s->parts, place));
}

void splat_sample_parts_points(const splat_sample_work *s, splat_point *points, int n)
{
    choice c;
    make_choice(&s->parts, true, &c);
#pragma omp parallel for schedule(dynamic, 64) num_threads(s->threads)
    for (int i = 0; i < n; i++) {
        if (s->parts.backdrop > 0 && i % BACKDROP_SHARE == 0) {
            points[i] = draw_backdrop_point(s, (size_t)i);
            continue;
        }
        splat_parts_hit hit = {0};
        splat_vec3 direction = {0, 0, 1};
        draw(s, &c, SPLAT_SAMPLE_STEP_POINTS, (size_t)i, &hit, &direction);
        splat_random4 words =
            splat_random(s->options->seed, SPLAT_STREAM_SAMPLE_SCENE, SPLAT_SAMPLE_STEP_NOISE, (uint64_t)i);
        float normal[4];
        splat_normal2(words.x[0], words.x[1], &normal[0], &normal[1]);
        splat_normal2(words.x[2], words.x[3], &normal[2], &normal[3]);
        double sigma = 0.003 + 0.004 * unit(words.x[3]);
        splat_vec3 noise = {sigma * (double)normal[0], sigma * (double)normal[1], sigma * (double)normal[2]};
        points[i] = make_point(splat_vec3_add(hit.position, noise),
                               splat_parts_shade(&s->parts, &hit, direction, 0, 1));
    }
}

/* ---------------------------------------------------------------- the truth */

enum { ROW_BYTES = 28 };

/* x y z, nx ny nz, red green blue, subset */
static void make_row(const splat_sample_work *s, const splat_parts_hit *hit, splat_vec3 direction, uint8_t *row)
{
    splat_point point = make_point(hit->position, splat_parts_shade(&s->parts, hit, direction, 0, 1));
    const float normal[3] = {(float)hit->normal.x, (float)hit->normal.y, (float)hit->normal.z};
    memcpy(row, point.position, 12);
    memcpy(row + 12, normal, 12);
    memcpy(row + 24, point.color, 3);
    row[27] = (uint8_t)s->parts.items[hit->part].kind;
}

static splat_status write_rows(const char *path, const uint8_t *rows, size_t n, splat_error *error)
{
    splat_save save;
    SPLAT_TRY(splat_save_open(&save, path, error));
    fprintf(save.stream, "ply\nformat binary_little_endian 1.0\n"
                         "comment subset 0 textured 1 plain 2 thin\n"
                         "comment points are uniform by area over what at least 3 cameras see\n"
                         "element vertex %zu\n"
                         "property float x\nproperty float y\nproperty float z\n"
                         "property float nx\nproperty float ny\nproperty float nz\n"
                         "property uchar red\nproperty uchar green\nproperty uchar blue\n"
                         "property uchar subset\nend_header\n", n);
    fwrite(rows, ROW_BYTES, n, save.stream);
    return splat_save_commit(&save, error);
}

splat_status splat_sample_parts_truth(const splat_sample_work *s, const char *folder, splat_error *error)
{
    size_t n = (size_t)s->options->n_truth, n_missed = 0;
    uint8_t *rows = malloc(n * ROW_BYTES);
    char *path = splat_format("%s/ground_truth.ply", folder), *mesh = splat_format("%s/ground_truth_mesh.ply", folder);
    splat_status status = SPLAT_OK;
    choice c;
    make_choice(&s->parts, false, &c);
    if (!rows || !path || !mesh)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu points of the sample's surfaces", n);
    if (status == SPLAT_OK) {
#pragma omp parallel for schedule(dynamic, 256) num_threads(s->threads) reduction(+ : n_missed)
        for (size_t i = 0; i < n; i++) {
            splat_parts_hit hit = {0};
            splat_vec3 direction = {0, 0, 1};
            n_missed += !draw(s, &c, SPLAT_SAMPLE_STEP_TRUTH, i, &hit, &direction);
            make_row(s, &hit, direction, rows + ROW_BYTES * i);
        }
        if (n_missed)
            status = splat_fail(error, SPLAT_ERROR_ARGUMENT,
                                "three of the sample's cameras see too little in common: more are needed");
    }
    if (status == SPLAT_OK) status = write_rows(path, rows, n, error);
    if (status == SPLAT_OK) status = splat_sample_parts_mesh(&s->parts, mesh, error);
    free(rows);
    free(path);
    free(mesh);
    return status;
}
