/* Points: what three cameras see, and what structure from motion would find. The surface: all of it, as triangles. */
#include "sample/sample_truth.h"

#include "base/file.h"
#include "base/reader.h" /* refuses big-endian hosts: floats are written as they stand in memory */
#include "sample/sample_dice.h"
#include "sample/sample_light.h"

#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

enum { ENOUGH_CAMERAS = 3 };
#define BACKDROP_SHARE 8 /* every eighth point of photos with a backdrop lies on it */

/* Points of a part for structure from motion, a unit of area and of edges. A plain surface has almost none. */
static const double textured_points = 1, plain_points = 0.005, glossy_points = 0.05, edge_points = 0.02;

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

/* The weights of a random choice: one for each part's surface, and one for its edges. */
typedef struct choice {
    double *surfaces, *edges; /* [parts->n] each, one block of memory at `surfaces` */
    double total;
} choice;

static double motion_density(const splat_part *part)
{
    if (part->kind == SPLAT_PART_PLAIN || part->kind == SPLAT_PART_CURVED) return plain_points;
    return part->kind == SPLAT_PART_GLOSSY ? glossy_points : textured_points;
}

/* By area alone, or as structure from motion does. False: no memory. */
static bool make_choice(const splat_parts *parts, bool is_motion, choice *c)
{
    *c = (choice){.surfaces = malloc(2 * (size_t)parts->n * sizeof *c->surfaces)};
    if (!c->surfaces) return false;
    c->edges = c->surfaces + parts->n;
    for (int i = 0; i < parts->n; i++) {
        const splat_part *part = &parts->items[i];
        double rarity = part->rarity > 0 ? part->rarity : 1;
        c->surfaces[i] = splat_part_area(part) * (is_motion ? motion_density(part) : 1) / rarity;
        c->edges[i] = is_motion ? edge_points * splat_part_edge_length(part) / rarity : 0;
        c->total += c->surfaces[i] + c->edges[i];
    }
    return true;
}

/* Draws the index-th point of a purpose that enough cameras see, in at most n_attempts. False: there seems to be none.
 */
static bool draw_in(const splat_sample_work *s, const choice *c, uint32_t step, size_t index, uint32_t n_attempts,
                    splat_parts_hit *hit, splat_vec3 *direction)
{
    const splat_parts *parts = &s->parts;
    for (uint32_t attempt = 0; attempt < n_attempts; attempt++) {
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

static bool draw(const splat_sample_work *s, const choice *c, uint32_t step, size_t index, splat_parts_hit *hit,
                 splat_vec3 *direction)
{
    return draw_in(s, c, step, index, SPLAT_SAMPLE_MAX_ATTEMPTS, hit, direction);
}

#define N_PROBES 2048
#define LEAST_SEEN 16 /* of the probes; with fewer, a point takes more than 128 tries */

/* True if enough cameras see enough of the surface. */
static bool cameras_see_enough(const splat_sample_work *s, const choice *c, uint32_t step)
{
    int n_seen = 0;
#pragma omp parallel for schedule(dynamic, 64) num_threads(s->threads) reduction(+ : n_seen)
    for (size_t i = 0; i < N_PROBES; i++) {
        splat_parts_hit hit = {0};
        splat_vec3 direction;
        n_seen += draw_in(s, c, step, i, 1, &hit, &direction);
    }
    return n_seen >= LEAST_SEEN;
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

/* Errors of triangulation grow with the square of the distance; those of parts are right 8 units away. */
static double far_noise(splat_vec3 place)
{
    return fmax(1, splat_vec3_dot(place, place) / 64);
}

bool splat_sample_parts_points(const splat_sample_work *s, splat_point *points, int n)
{
    choice c;
    if (!make_choice(&s->parts, true, &c)) return false;
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
        if (s->parts.items[hit.part].kind == SPLAT_PART_FAR) sigma *= far_noise(hit.position);
        splat_vec3 noise = {sigma * (double)normal[0], sigma * (double)normal[1], sigma * (double)normal[2]};
        points[i] = make_point(splat_vec3_add(hit.position, noise),
                               splat_parts_shade(&s->parts, &hit, direction, 0, 1));
    }
    free(c.surfaces);
    return true;
}

/* ---------------------------------------------------------------- the surface as triangles */

static const double cell = 0.01, far_cell = 2; /* of curved surfaces, scene units */
#define FLATNESS 5e-5 /* the most that a face of a patch lies inside of it */

/* Written as it is made: once to count, once for vertices, once for faces. */
typedef struct writer {
    FILE *stream;   /* NULL: only counts */
    bool are_faces; /* faces are written, else vertices */
    size_t n_vertices, n_faces;
} writer;

static void add_vertex(writer *w, const splat_part *part, splat_vec3 local)
{
    splat_vec3 p = splat_vec3_add(part->center, splat_part_to_world(part, local));
    const float place[3] = {(float)p.x, (float)p.y, (float)p.z};
    if (w->stream && !w->are_faces) fwrite(place, sizeof place, 1, w->stream);
    w->n_vertices++;
}

static void add_face(writer *w, size_t a, size_t b, size_t c)
{
    uint8_t row[13] = {3};
    const uint32_t corners[3] = {(uint32_t)a, (uint32_t)b, (uint32_t)c};
    memcpy(row + 1, corners, 12);
    if (w->stream && w->are_faces) fwrite(row, sizeof row, 1, w->stream);
    w->n_faces++;
}

static void add_quad(writer *w, size_t a, size_t b, size_t c, size_t d)
{
    add_face(w, a, b, c);
    add_face(w, a, c, d);
}

/* Corners in the order that is counter-clockwise from outside. */
static void add_rectangle(writer *w, const splat_part *part)
{
    size_t first = w->n_vertices;
    add_vertex(w, part, splat_vec3_make(-part->half.x, 0, -part->half.z));
    add_vertex(w, part, splat_vec3_make(-part->half.x, 0, part->half.z));
    add_vertex(w, part, splat_vec3_make(part->half.x, 0, part->half.z));
    add_vertex(w, part, splat_vec3_make(part->half.x, 0, -part->half.z));
    add_quad(w, first, first + 1, first + 2, first + 3);
}

static void add_box(writer *w, const splat_part *part)
{
    static const uint8_t faces[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 2, 3, 1},
                                        {4, 5, 7, 6}};
    size_t first = w->n_vertices;
    splat_vec3 h = part->half;
    for (int k = 0; k < 8; k++) /* bit 0: x, bit 1: y, bit 2: z */
        add_vertex(w, part, splat_vec3_make(k & 1 ? h.x : -h.x, k & 2 ? h.y : -h.y, k & 4 ? h.z : -h.z));
    for (int k = 0; k < 6; k++)
        add_quad(w, first + faces[k][0], first + faces[k][1], first + faces[k][2], first + faces[k][3]);
}

static size_t steps_around(const splat_part *part, double radius)
{
    return (size_t)fmax(64, ceil(2 * pi * radius / (part->kind == SPLAT_PART_FAR ? far_cell : cell)));
}

/* A row of n vertices around local y. */
static void add_ring(writer *w, const splat_part *part, double radius, double y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double angle = 2 * pi * (double)i / (double)n;
        add_vertex(w, part, splat_vec3_make(radius * cos(angle), y, radius * sin(angle)));
    }
}

/* Between the rings that begin at a and, farther along local y, at b. */
static void join_rings(writer *w, size_t a, size_t b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t next = (i + 1) % n;
        add_quad(w, a + i, b + i, b + next, a + next);
    }
}

/* Between a vertex and a ring, seen from the vertex' side; is_above: it is farther along local y. */
static void join_tip(writer *w, size_t tip, size_t ring, size_t n, bool is_above)
{
    for (size_t i = 0; i < n; i++) {
        size_t next = (i + 1) % n;
        add_face(w, tip, ring + (is_above ? next : i), ring + (is_above ? i : next));
    }
}

static void add_ball(writer *w, const splat_part *part)
{
    size_t around = steps_around(part, part->radius), down = around / 2, first = w->n_vertices;
    for (size_t j = 1; j < down; j++) {
        double angle = pi * (double)j / (double)down;
        add_ring(w, part, part->radius * sin(angle), -part->radius * cos(angle), around);
    }
    size_t tips = w->n_vertices;
    add_vertex(w, part, splat_vec3_make(0, -part->radius, 0));
    add_vertex(w, part, splat_vec3_make(0, part->radius, 0));
    for (size_t j = 0; j + 2 < down; j++) join_rings(w, first + j * around, first + (j + 1) * around, around);
    join_tip(w, tips, first, around, false);
    join_tip(w, tips + 1, first + (down - 2) * around, around, true);
}

static void add_cylinder(writer *w, const splat_part *part)
{
    size_t n = steps_around(part, part->radius), first = w->n_vertices;
    add_ring(w, part, part->radius, -part->half.y, n);
    add_ring(w, part, part->radius, part->half.y, n);
    add_vertex(w, part, splat_vec3_make(0, -part->half.y, 0));
    add_vertex(w, part, splat_vec3_make(0, part->half.y, 0));
    join_rings(w, first, first + n, n);
    join_tip(w, first + 2 * n, first, n, false);
    join_tip(w, first + 2 * n + 1, first + n, n, true);
}

static void add_torus(writer *w, const splat_part *part)
{
    size_t around = steps_around(part, part->radius + part->tube), n = steps_around(part, part->tube);
    size_t first = w->n_vertices;
    for (size_t j = 0; j < n; j++) {
        double angle = 2 * pi * (double)j / (double)n;
        add_ring(w, part, part->radius + part->tube * cos(angle), part->tube * sin(angle), around);
    }
    for (size_t j = 0; j < n; j++) join_rings(w, first + j * around, first + (j + 1) % n * around, around);
}

static void add_triangle(writer *w, const splat_part *part)
{
    size_t first = w->n_vertices;
    add_vertex(w, part, splat_vec3_make(-part->half.x, 0, -part->half.z));
    add_vertex(w, part, splat_vec3_make(part->tip, 0, part->half.z));
    add_vertex(w, part, splat_vec3_make(part->half.x, 0, -part->half.z));
    add_face(w, first, first + 1, first + 2);
}

/* Rows of a patch, which is straight along its axis, or of a dome, whose top is one vertex. */
static void add_curved(writer *w, const splat_part *part)
{
    const bool is_dome = part->shape == SPLAT_PART_DOME;
    const double r = part->radius, step = sqrt(8 * FLATNESS / r), low = is_dome ? asin(part->half.y / r) : 0;
    const size_t n = (size_t)fmax(8, ceil(2 * part->angle / step)), first = w->n_vertices;
    const size_t n_rows = is_dome ? (size_t)fmax(8, ceil((0.5 * pi - low) / step)) : 2;
    for (size_t j = 0; j < n_rows; j++) {
        double up = low + (0.5 * pi - low) * (double)j / (double)n_rows;
        double y = is_dome ? r * sin(up) : (j ? 1 : -1) * part->half.y, ring = is_dome ? r * cos(up) : r;
        for (size_t i = 0; i <= n; i++) {
            double angle = part->angle * (2 * (double)i / (double)n - 1);
            add_vertex(w, part, splat_vec3_make(ring * cos(angle), y, ring * sin(angle)));
        }
    }
    for (size_t j = 0; j + 1 < n_rows; j++)
        for (size_t i = 0; i < n; i++) {
            size_t at = first + j * (n + 1) + i, above = at + n + 1;
            if (part->is_hollow)
                add_quad(w, at, at + 1, above + 1, above);
            else
                add_quad(w, at, above, above + 1, at + 1);
        }
    if (!is_dome) return;
    size_t tip = w->n_vertices, row = first + (n_rows - 1) * (n + 1);
    add_vertex(w, part, splat_vec3_make(0, r, 0));
    for (size_t i = 0; i < n; i++)
        add_face(w, tip, row + i + (part->is_hollow ? 0 : 1), row + i + (part->is_hollow ? 1 : 0));
}

static void add_thing(writer *w, const splat_part *part)
{
    const splat_mesh *mesh = &part->thing->mesh;
    const size_t first = w->n_vertices;
    for (size_t i = 0; i < mesh->n_vertices; i++) {
        const float *p = mesh->vertices + 3 * i;
        add_vertex(w, part, splat_vec3_make((double)p[0], (double)p[1], (double)p[2]));
    }
    for (size_t f = 0; f < mesh->n_faces; f++) {
        const uint32_t *corners = mesh->faces + 3 * f;
        add_face(w, first + corners[0], first + corners[1], first + corners[2]);
    }
}

static void add_parts(writer *w, const splat_parts *parts)
{
    w->n_vertices = w->n_faces = 0;
    for (int i = 0; i < parts->n; i++) {
        const splat_part *part = &parts->items[i];
        switch (part->shape) {
        case SPLAT_PART_RECTANGLE: add_rectangle(w, part); break;
        case SPLAT_PART_BOX: add_box(w, part); break;
        case SPLAT_PART_BALL: add_ball(w, part); break;
        case SPLAT_PART_CYLINDER: add_cylinder(w, part); break;
        case SPLAT_PART_TRIANGLE: add_triangle(w, part); break;
        case SPLAT_PART_PATCH:
        case SPLAT_PART_DOME: add_curved(w, part); break;
        case SPLAT_PART_MESH: add_thing(w, part); break;
        default: add_torus(w, part);
        }
    }
}

static splat_status write_mesh(const splat_parts *parts, const char *path, splat_error *error)
{
    writer w = {0};
    splat_save save;
    add_parts(&w, parts);
    SPLAT_TRY(splat_save_open(&save, path, error));
    fprintf(save.stream, "ply\nformat binary_little_endian 1.0\n"
                         "comment all of the surface, also what no camera sees\n"
                         "element vertex %zu\nproperty float x\nproperty float y\nproperty float z\n"
                         "element face %zu\nproperty list uchar uint vertex_indices\nend_header\n",
            w.n_vertices, w.n_faces);
    w.stream = save.stream;
    add_parts(&w, parts);
    w.are_faces = true;
    add_parts(&w, parts);
    return splat_save_commit(&save, error);
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

static splat_status write_rows(const splat_sample_work *s, const char *path, const uint8_t *rows, size_t n,
                               splat_error *error)
{
    bool has_all = s->options->scene > SPLAT_SAMPLE_SCENE_ROOM;
    splat_save save;
    SPLAT_TRY(splat_save_open(&save, path, error));
    fprintf(save.stream, "ply\nformat binary_little_endian 1.0\n"
                         "comment subset 0 textured 1 plain 2 thin%s\n"
                         "comment points are uniform by area over what at least 3 cameras see%s\n"
                         "element vertex %zu\n"
                         "property float x\nproperty float y\nproperty float z\n"
                         "property float nx\nproperty float ny\nproperty float nz\n"
                         "property uchar red\nproperty uchar green\nproperty uchar blue\n"
                         "property uchar subset\nend_header\n",
            has_all ? " 3 curved 4 glossy 5 leaves 6 far" : "", has_all ? "; far ones are rarer" : "", n);
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
    bool good = make_choice(&s->parts, false, &c);
    if (!rows || !path || !mesh || !good)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu points of the sample's surfaces", n);
    else if (!cameras_see_enough(s, &c, SPLAT_SAMPLE_STEP_TRUTH))
        status = splat_fail(error, SPLAT_ERROR_ARGUMENT,
                            "three of the sample's %d cameras see too little in common: more are needed",
                            s->options->n_cameras);
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
    if (status == SPLAT_OK) status = write_rows(s, path, rows, n, error);
    if (status == SPLAT_OK) status = write_mesh(&s->parts, mesh, error);
    free(c.surfaces);
    free(rows);
    free(path);
    free(mesh);
    return status;
}
