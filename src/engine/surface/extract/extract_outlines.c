/* Each round draws the mesh in the training views that it is made from and measures, at vertices next to outlines, how
 * far the outline of the splat lies beyond the outline of the mesh. Then least squares move the vertices as the views
 * ask, and neighbours together. Where the splat goes on, the mesh has a border, which grows along its surface. */
#include "surface/extract/extract_outlines.h"

#include "math/camera.h"
#include "math/sight.h"
#include "model/model.h"
#include "scene/scene.h"
#include "scene/sky.h"
#include "surface/extract/extract_drawn.h"
#include "surface/extract/surface_views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PIXELS 1e6   /* of a view */
#define LEAST_PIXELS 1e4  /* however little memory there is */
#define VERTEX_BYTES 112u /* held while vertices move */
#define FACE_BYTES 24u
#define UNKNOWN 255       /* alpha of pixels that a mask leaves out; others: 0 to 254 */
#define DEPTH_STEP 5e-4f  /* of a stored depth, part of it */
#define NEAREST 1e-6f     /* of stored depths, scene units */
#define LEAST_STEP 0.08f  /* of the depth, to what is behind a surface; besides four pixels of one seen at 14 degrees */
#define EVEN_STEPS 3      /* a surface ends where its depth grows by more than so many times its step before, */
#define LEAST_END 40      /* and so many DEPTH_STEPs */
#define COARSE 1.5f       /* of a vertex' size: a view of larger pixels says nothing about the vertex */
#define CELL_PIXELS 1.25f /* pixels to a size, where a surface is seen steeply */
#define ROUNDS 3
#define SOLVER_ROUNDS 24
#define TURNS 3           /* times that a way which turns a face over is halved, at most */
#define RINGS 2           /* of vertices around those at outlines that move with them */
#define SAME_DEPTH 0.02f  /* of the depth: a vertex is seen where the mesh is no farther from it */
#define WINDOW 2          /* pixels around a vertex that tell the way out */
#define INNER 1.25f       /* pixels of the way that is measured: into the surface */
#define OUTER 3.0f        /* and out of it */
#define FARTHEST 8        /* pixels: the splat goes on if it does not end so near */
#define STEP 0.25f
#define MOST_SHIFT 1.5f   /* pixels */
#define TOGETHER 1.0f     /* weight, in views, of the difference between the ways of two neighbours */
#define MOST_DENSE 64.0   /* factor of TOGETHER where edges are shorter than pixels: faces shall not turn over */
#define STILL 0.1f        /* weight, in views, of the place that a vertex has */
#define UNSEEN_STILL 1.0f /* the same of a vertex that no view sees at an outline */
#define MOST_WAY 2.0f     /* sizes: no vertex goes farther in all */

/* A view tells of a vertex: its way x moves the outline by `way` . x pixels, and should by `shift`. */
typedef struct sighting {
    uint32_t vertex;
    float way[3], shift;
} sighting;

/* The splat in a pixel: how much it covers, and how far away. */
typedef struct splat_cover {
    uint16_t depth; /* code_of; 0: nothing */
    uint8_t alpha;  /* UNKNOWN, or 0 to 254 */
} splat_cover;

typedef struct view_sightings {
    sighting *of;
    size_t n, room;
    bool is_short; /* memory ended */
} view_sightings;

typedef struct sums {
    float matrix[6], vector[3]; /* xx, xy, xz, yy, yz, zz */
} sums;

typedef struct outliner {
    const splat_extraction *e;
    const float *sizes;
    splat_mesh *mesh;
    double most_pixels;        /* of a view */
    splat_cover **covers;      /* [views] of the splat, at the size of the drawn views */
    view_sightings *views;     /* [views] */
    uint32_t *starts, *around; /* [n_vertices + 1], [3 n_faces * 2]: the vertices around a vertex; twice, inside */
    sums *sums;                /* [n_vertices] */
    uint8_t *rings;            /* [n_vertices] 0: does not move; else RINGS + 1 at outlines, and less around */
    float (*ways)[3], (*next)[3]; /* [n_vertices] */
    uint8_t *is_turned;        /* [n_vertices] next to a face that a round would turn over */
    float *begin;              /* [n_vertices][3]: where they were */
} outliner;

/* ---------------------------------------------------------------- what the splat covers */

static uint16_t code_of(float depth)
{
    return depth > NEAREST ? (uint16_t)fminf(1 + logf(depth / NEAREST) / DEPTH_STEP, 65535) : 0;
}

/* The depth from which on a surface lies behind one at `depth`. */
static float step_behind(const splat_camera *c, float depth)
{
    return depth * (1 + LEAST_STEP + 4 / (0.25f * c->fx));
}

static void hide(splat_cover *cover, uint8_t alpha)
{
    *cover = (splat_cover){0, alpha};
}

static splat_status leave_out(const outliner *o, size_t number, const splat_camera *camera, const splat_sky *sky,
                              splat_cover *covers, splat_error *error)
{
    splat_scene *scene = o->e->scene;
    const splat_dataset *dataset = &scene->dataset;
    const size_t n = splat_camera_pixels(camera);
    const uint32_t index = dataset->train[number];
    if (sky->is_found) {
        uint8_t *trusted;
        SPLAT_TRY(splat_sky_take_trusted(sky, number, camera->width, camera->height, &trusted, error));
        for (size_t i = 0; trusted && i < n; i++)
            if (trusted[i]) hide(&covers[i], 0);
        free(trusted);
    }
    if (!dataset->views[index].has_mask) return SPLAT_OK;
    uint8_t *kept = malloc(n);
    if (!kept) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a mask of %zu pixels", n);
    splat_status status = splat_scene_read_mask(scene, index, camera->width, camera->height, kept, error);
    for (size_t i = 0; i < n && status == SPLAT_OK; i++)
        if (!kept[i]) hide(&covers[i], dataset->mask_mode == SPLAT_MASKS_IGNORE ? UNKNOWN : 0);
    free(kept);
    return status;
}

/* render: room for 5 floats a pixel. */
static splat_status cover(const outliner *o, size_t number, const splat_sky *sky, float *render, splat_error *error)
{
    const splat_camera camera = splat_surface_camera_within(o->e->scene, number, o->most_pixels);
    const size_t n = splat_camera_pixels(&camera);
    const float *alpha = render + 3 * n, *depth = render + 4 * n;
    const splat_geometry_maps maps = {.median = render + 4 * n};
    SPLAT_TRY(splat_model_render_geometry(o->e->model, &camera, &maps, error));
    SPLAT_TRY(splat_surface_render(o->e->model, &camera, render, render + 3 * n, error));
    splat_cover *covers = o->covers[number] = malloc(n * sizeof *covers);
    if (!covers) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for outlines of %zu pixels", n);
#pragma omp parallel for schedule(static) num_threads(o->e->threads)
    for (size_t i = 0; i < n; i++) {
        const float sharp = 0.5f + 1.25f * (alpha[i] - 0.5f); /* surfaces are not quite opaque, nor is air clear */
        covers[i] = (splat_cover){code_of(depth[i]), (uint8_t)(254 * fminf(fmaxf(sharp, 0), 1) + 0.5f)};
    }
    return leave_out(o, number, &camera, sky, covers, error);
}

static splat_status cover_all(const outliner *o, splat_error *error)
{
    const size_t n_views = o->e->scene->dataset.n_train;
    const splat_sky *sky;
    size_t most = 0;
    SPLAT_TRY(splat_scene_find_sky(o->e->scene, &sky, error));
    for (size_t v = 0; v < n_views; v++) {
        const splat_camera camera = splat_surface_camera_within(o->e->scene, v, o->most_pixels);
        if (splat_camera_pixels(&camera) > most) most = splat_camera_pixels(&camera);
    }
    float *render = malloc((5 * most + 1) * sizeof *render);
    if (!render) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a picture of %zu pixels", most);
    splat_status status = SPLAT_OK;
    for (size_t v = 0; v < n_views && status == SPLAT_OK; v++)
        if (splat_extract_is_of_mesh(o->e, v)) status = cover(o, v, sky, render, error);
    free(render);
    return status;
}

/* ---------------------------------------------------------------- measuring */

/* Pictures of what mesh and splat cover before a depth. */
typedef struct covers {
    const splat_drawn_view *drawn;
    const splat_cover *splat;
    float behind;
    uint16_t code; /* of it */
} covers;

/* Both at a pixel, 0 to 1; false where nothing is known. */
static bool at_pixel(const covers *c, int x, int y, float both[2])
{
    const splat_camera *camera = &c->drawn->camera;
    if (x < 0 || y < 0 || x >= camera->width || y >= camera->height) return false;
    const size_t p = (size_t)y * (size_t)camera->width + (size_t)x;
    const splat_cover *own = &c->splat[p];
    both[0] = own->depth < c->code ? (float)own->alpha / 254 : 0; /* no depth: a rim, or nothing */
    both[1] = c->drawn->faces[p] && c->drawn->depth[p] < c->behind;
    return own->alpha != UNKNOWN;
}

static bool at_place(const covers *c, float x, float y, float both[2])
{
    const float left = floorf(x - 0.5f), top = floorf(y - 0.5f), u = x - 0.5f - left, v = y - 0.5f - top;
    both[0] = both[1] = 0;
    for (int k = 0; k < 4; k++) {
        float own[2];
        if (!at_pixel(c, (int)left + (k & 1), (int)top + (k >> 1), own)) return false;
        const float weight = (k & 1 ? u : 1 - u) * (k >> 1 ? v : 1 - v);
        both[0] += weight * own[0];
        both[1] += weight * own[1];
    }
    return true;
}

/* Out of the surface, in the picture. False: no outline is here, or it bends too much. */
static bool find_way_out(const covers *c, float x, float y, float out[2])
{
    float sum[2] = {0, 0};
    for (int j = -WINDOW; j <= WINDOW; j++)
        for (int i = -WINDOW; i <= WINDOW; i++) {
            float both[2];
            if (!at_pixel(c, (int)floorf(x) + i, (int)floorf(y) + j, both)) return false;
            sum[0] -= (float)i * (both[0] + both[1]);
            sum[1] -= (float)j * (both[0] + both[1]);
        }
    const float length = sqrtf(sum[0] * sum[0] + sum[1] * sum[1]);
    if (length < 6) return false; /* a straight outline of both through the middle: 60 */
    out[0] = sum[0] / length;
    out[1] = sum[1] / length;
    return true;
}

/* How much more of the way the splat covers than the mesh, pixels. */
static bool measure(const covers *c, float x, float y, const float out[2], float *shift)
{
    float sum = 0;
    for (float t = -INNER; t <= OUTER; t += STEP) {
        float both[2];
        if (!at_place(c, x + t * out[0], y + t * out[1], both)) return false;
        sum += STEP * (both[0] - both[1]);
    }
    *shift = fminf(fmaxf(sum, -MOST_SHIFT), MOST_SHIFT);
    return true;
}

/* True if the vertex is seen next to an outline of the mesh. */
static bool is_at_outline(const covers *c, const float image[3])
{
    const splat_drawn_view *d = c->drawn;
    const int x = (int)floorf(image[0]), y = (int)floorf(image[1]), width = d->camera.width;
    bool is_open = false, is_seen = false;
    if (x < 1 || y < 1 || x + 1 >= width || y + 1 >= d->camera.height) return false;
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++) {
            const size_t p = (size_t)(y + j) * (size_t)width + (size_t)(x + i);
            is_open |= d->faces[p] == 0 || d->depth[p] >= c->behind;
            is_seen |= d->faces[p] && fabsf(d->depth[p] - image[2]) < SAME_DEPTH * image[2];
        }
    return is_open && is_seen;
}

/* A view's answer to a place of the mesh, on the way out. */
typedef enum outline {
    OUTLINE_NONE,   /* the mesh goes on, or the splat has a step that is no end */
    OUTLINE_BORDER, /* the mesh ends, and the splat goes on */
    OUTLINE_END,    /* both end */
} outline;

/* The walk from pixel to pixel along a way out. */
typedef struct walk {
    int code, step; /* of the pixel before, if it is covered, and from the one before that, if larger; else 0 */
    bool has_end, has_step;
} walk;

/* A surface has a step where nothing comes after it, or where its depth grows by more than it did: at a grazing angle
 * depth grows in even steps. The surface ends at its first step if what follows lies behind. */
static void go_on(walk *w, int code, uint16_t behind)
{
    const bool is_covered = code > 0 && code < behind;
    const int step = code - w->code;
    const bool has_step = w->code && (code == 0 || step > EVEN_STEPS * w->step + LEAST_END);
    w->has_end |= has_step && !is_covered && !w->has_step;
    w->has_step |= has_step || (w->code && is_covered && step < -LEAST_END); /* or something stands before it */
    w->step = is_covered && w->code && step > 0 ? step : 0;
    w->code = is_covered ? code : 0;
}

static outline find_outline(const covers *c, float x, float y, const float out[2])
{
    const splat_drawn_view *d = c->drawn;
    walk splat = {0}, mesh = {0};
    for (int t = -WINDOW; t <= FARTHEST; t++) {
        const int i = (int)floorf(x + (float)t * out[0]), j = (int)floorf(y + (float)t * out[1]);
        if (i < 0 || j < 0 || i >= d->camera.width || j >= d->camera.height) break;
        const size_t p = (size_t)j * (size_t)d->camera.width + (size_t)i;
        go_on(&splat, c->splat[p].depth, c->code);
        if (t <= (int)OUTER) go_on(&mesh, d->faces[p] ? code_of(d->depth[p]) : 0, c->code);
    }
    if (!mesh.has_end) return OUTLINE_NONE;
    if (splat.has_end) return OUTLINE_END;
    return splat.has_step ? OUTLINE_NONE : OUTLINE_BORDER;
}

/* Pixels by which the picture of a vertex moves along `out` with a way of it. */
static void find_way(const splat_camera *c, const float image[3], const float out[2], float way[3])
{
    const float x = (image[0] - c->cx) / c->fx, y = (image[1] - c->cy) / c->fy;
    for (int k = 0; k < 3; k++)
        way[k] = (out[0] * c->fx * (c->rotation[k] - x * c->rotation[6 + k]) +
                  out[1] * c->fy * (c->rotation[3 + k] - y * c->rotation[6 + k])) / image[2];
}

/* Takes what leaves the surface out of a way. */
static void flatten(const float normal[3], float way[3])
{
    const float along = normal[0] * way[0] + normal[1] * way[1] + normal[2] * way[2];
    for (int k = 0; k < 3; k++) way[k] -= along * normal[k];
}

static void look(void *user, const splat_drawn_view *d)
{
    const outliner *o = user;
    covers c = {.drawn = d, .splat = o->covers[d->number]};
    view_sightings *view = &o->views[d->number];
    view->n = 0;
    for (uint32_t v = 0; v < o->mesh->n_vertices && !view->is_short; v++) {
        sighting s = {.vertex = v};
        float image[3], out[2];
        if (!splat_camera_project(&d->camera, o->mesh->vertices + 3 * (size_t)v, image)) continue;
        if (CELL_PIXELS * image[2] > COARSE * d->camera.fx * o->sizes[v]) continue;
        c.behind = step_behind(&d->camera, image[2]);
        if (!is_at_outline(&c, image)) continue;
        c.code = code_of(c.behind);
        if (!find_way_out(&c, image[0], image[1], out)) continue;
        const outline found = find_outline(&c, image[0], image[1], out);
        if (found == OUTLINE_NONE) continue;
        if (!measure(&c, image[0], image[1], out, &s.shift)) continue;
        find_way(&d->camera, image, out, s.way);
        if (found == OUTLINE_BORDER) flatten(o->mesh->normals + 3 * (size_t)v, s.way);
        if (view->n == view->room) {
            const size_t room = 2 * view->room + 1024;
            sighting *more = realloc(view->of, room * sizeof *more);
            view->is_short = !more;
            if (!more) break;
            view->of = more;
            view->room = room;
        }
        view->of[view->n++] = s;
    }
}

/* ---------------------------------------------------------------- moving */

static void add_sightings(const outliner *o)
{
    memset(o->sums, 0, o->mesh->n_vertices * sizeof *o->sums);
    memset(o->rings, 0, o->mesh->n_vertices);
    for (size_t v = 0; v < o->e->scene->dataset.n_train; v++) /* in their order, for any number of threads */
        for (size_t i = 0; i < o->views[v].n; i++) {
            const sighting *s = &o->views[v].of[i];
            sums *own = &o->sums[s->vertex];
            for (int k = 0, at = 0; k < 3; k++) {
                own->vector[k] += s->way[k] * s->shift;
                for (int j = k; j < 3; j++) own->matrix[at++] += s->way[k] * s->way[j];
            }
            o->rings[s->vertex] = RINGS + 1;
        }
}

static void list_neighbors(const outliner *o)
{
    const splat_mesh *mesh = o->mesh;
    memset(o->starts, 0, (mesh->n_vertices + 1) * sizeof *o->starts);
    for (size_t i = 0; i < 3 * mesh->n_faces; i++) o->starts[mesh->faces[i] + 1] += 2;
    for (size_t v = 0; v < mesh->n_vertices; v++) o->starts[v + 1] += o->starts[v];
    for (size_t i = 0; i < 3 * mesh->n_faces; i++) {
        const uint32_t *face = mesh->faces + i / 3 * 3, own = mesh->faces[i];
        for (int k = 0; k < 3; k++)
            if (face[k] != own) o->around[o->starts[own]++] = face[k];
    }
    for (size_t v = mesh->n_vertices; v > 0; v--) o->starts[v] = o->starts[v - 1];
    o->starts[0] = 0;
}

static void grow_rings(const outliner *o)
{
    for (int ring = RINGS; ring > 0; ring--)
#pragma omp parallel for schedule(static) num_threads(o->e->threads)
        for (size_t v = 0; v < o->mesh->n_vertices; v++) {
            uint8_t most = 0;
            if (o->rings[v]) continue;
            for (uint32_t i = o->starts[v]; i < o->starts[v + 1]; i++)
                if (o->rings[o->around[i]] == ring + 1) most = (uint8_t)ring;
            if (most) o->rings[v] = most;
        }
}

/* x of a symmetric matrix times x = b. */
static void solve(const double a[6], const double b[3], float x[3])
{
    const double xx = a[3] * a[5] - a[4] * a[4], xy = a[2] * a[4] - a[1] * a[5], xz = a[1] * a[4] - a[2] * a[3];
    const double yy = a[0] * a[5] - a[2] * a[2], yz = a[1] * a[2] - a[0] * a[4], zz = a[0] * a[3] - a[1] * a[1];
    const double inverse = 1 / (a[0] * xx + a[1] * xy + a[2] * xz);
    x[0] = (float)(inverse * (xx * b[0] + xy * b[1] + xz * b[2]));
    x[1] = (float)(inverse * (xy * b[0] + yy * b[1] + yz * b[2]));
    x[2] = (float)(inverse * (xz * b[0] + yz * b[1] + zz * b[2]));
}

/* One round of Jacobi's method. */
static void relax(const outliner *o, size_t v)
{
    const uint32_t n = o->starts[v + 1] - o->starts[v];
    const double pixel = (double)CELL_PIXELS / (double)o->sizes[v];
    const double still = (double)(o->rings[v] > RINGS ? STILL : UNSEEN_STILL) * pixel * pixel;
    double a[6], b[3], mean[3] = {0, 0, 0}, edge = 0;
    for (uint32_t i = o->starts[v]; i < o->starts[v + 1]; i++)
        for (int k = 0; k < 3; k++) {
            const size_t at = 3 * (size_t)o->around[i] + (size_t)k;
            mean[k] += (double)o->ways[o->around[i]][k] / n;
            edge += pow((double)o->mesh->vertices[at] - (double)o->mesh->vertices[3 * v + (size_t)k], 2) / n;
        }
    const double dense = fmin(fmax(1 / (pixel * pixel * edge + 1e-9), 1), MOST_DENSE);
    const double together = (double)TOGETHER * pixel * pixel * dense;
    for (int k = 0; k < 6; k++) a[k] = (double)o->sums[v].matrix[k];
    a[0] += together + still;
    a[3] += together + still;
    a[5] += together + still;
    for (int k = 0; k < 3; k++) b[k] = (double)o->sums[v].vector[k] + together * mean[k];
    solve(a, b, o->next[v]);
}

static void find_ways(outliner *o)
{
    const size_t n = o->mesh->n_vertices;
    memset(o->ways, 0, n * sizeof *o->ways);
    memset(o->next, 0, n * sizeof *o->next);
    for (int round = 0; round < SOLVER_ROUNDS; round++) {
#pragma omp parallel for schedule(dynamic, 4096) num_threads(o->e->threads)
        for (size_t v = 0; v < n; v++)
            if (o->rings[v] && o->sizes[v] > 0) relax(o, v);
        float (*swapped)[3] = o->ways;
        o->ways = o->next;
        o->next = swapped;
    }
}

/* Along its way; no farther than MOST_WAY from where it began, and not out of a box that the mesh ends at. */
static void go(const outliner *o, size_t v)
{
    const splat_mesh_extract_options *options = o->e->options;
    const bool is_cropped = options->has_bbox && options->surface == SPLAT_MESH_OPEN;
    float *own = o->mesh->vertices + 3 * v, away[3], square = 0;
    const float *begin = o->begin + 3 * v, most = MOST_WAY * o->sizes[v];
    for (int k = 0; k < 3; k++) {
        away[k] = own[k] + o->ways[v][k] - begin[k];
        square += away[k] * away[k];
    }
    const float part = square > most * most ? most / sqrtf(square) : 1;
    for (int k = 0; k < 3; k++) {
        own[k] = begin[k] + part * away[k];
        if (is_cropped) own[k] = fminf(fmaxf(own[k], (float)options->bbox_low[k]), (float)options->bbox_high[k]);
    }
}

/* Vertices of faces that turned over go half the way back to where the round found them. */
static void turn_back(const outliner *o, const float *before)
{
    const splat_mesh *mesh = o->mesh;
    memset(o->is_turned, 0, mesh->n_vertices);
    for (size_t i = 0; i < mesh->n_faces; i++) {
        const uint32_t *face = mesh->faces + 3 * i;
        const splat_mesh old = {.vertices = (float *)before, .faces = mesh->faces, .n_faces = mesh->n_faces};
        double is[3], was[3];
        if (!o->rings[face[0]] && !o->rings[face[1]] && !o->rings[face[2]]) continue;
        splat_mesh_face_cross(mesh, i, is);
        splat_mesh_face_cross(&old, i, was);
        if (is[0] * was[0] + is[1] * was[1] + is[2] * was[2] > 0) continue;
        for (int k = 0; k < 3; k++) o->is_turned[face[k]] = 1;
    }
    for (size_t i = 0; i < 3 * mesh->n_vertices; i++)
        if (o->is_turned[i / 3]) mesh->vertices[i] = 0.5f * (mesh->vertices[i] + before[i]);
}

static void move(outliner *o)
{
    find_ways(o);
    float *before = o->next[0]; /* the solver is done with it */
    memcpy(before, o->mesh->vertices, 3 * o->mesh->n_vertices * sizeof *before);
    for (size_t v = 0; v < o->mesh->n_vertices; v++)
        if (o->rings[v]) go(o, v);
    for (int i = 0; i < TURNS; i++) turn_back(o, before);
}

static splat_status make_rounds(outliner *o, splat_error *error)
{
    list_neighbors(o);
    memcpy(o->begin, o->mesh->vertices, 3 * o->mesh->n_vertices * sizeof *o->begin);
    for (int round = 0; round < ROUNDS; round++) {
        SPLAT_TRY(splat_surface_go_on(o->e->options, "following outlines", (double)round / ROUNDS, error));
        SPLAT_TRY(splat_mesh_compute_normals(o->mesh, o->e->threads, error));
        SPLAT_TRY(splat_extract_draw(o->e, o->mesh, true, o->most_pixels, look, o, error));
        for (size_t v = 0; v < o->e->scene->dataset.n_train; v++)
            if (o->views[v].is_short)
                return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the outlines of a mesh");
        add_sightings(o);
        grow_rings(o);
        move(o);
    }
    return SPLAT_OK;
}

/* Pixels of a view for which max_host_memory has room: half of what the mesh leaves of it. */
static double choose_pixels(const splat_extraction *e, const splat_mesh *mesh)
{
    const double limit = (double)e->options->max_host_bytes;
    const double own = (double)VERTEX_BYTES * (double)mesh->n_vertices + (double)FACE_BYTES * (double)mesh->n_faces;
    if (!(limit > 0)) return MOST_PIXELS;
    const double pixels = 0.5 * (limit - own) / (sizeof(splat_cover) * (double)e->scene->dataset.n_train);
    return fmin(fmax(pixels, LEAST_PIXELS), MOST_PIXELS);
}

splat_status splat_extract_outlines(const splat_extraction *e, const float *sizes, splat_mesh *mesh,
                                    splat_error *error)
{
    const size_t n_views = e->scene->dataset.n_train, n = mesh->n_vertices + 1;
    outliner o = {.e = e, .sizes = sizes, .mesh = mesh, .most_pixels = choose_pixels(e, mesh),
                  .covers = calloc(n_views + 1, sizeof *o.covers), .views = calloc(n_views + 1, sizeof *o.views)};
    splat_status status = o.covers && o.views ? cover_all(&o, error)
                                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for outlines");
    if (status == SPLAT_OK) {
        o.starts = malloc(n * sizeof *o.starts);
        o.around = malloc((6 * mesh->n_faces + 1) * sizeof *o.around);
        o.sums = malloc(n * sizeof *o.sums);
        o.rings = malloc(n);
        o.ways = malloc(n * sizeof *o.ways);
        o.next = malloc(n * sizeof *o.next);
        o.begin = malloc(3 * n * sizeof *o.begin);
        o.is_turned = malloc(n);
        status = o.starts && o.around && o.sums && o.rings && o.ways && o.next && o.begin && o.is_turned
                     ? make_rounds(&o, error)
                     : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the outlines of %zu vertices", n - 1);
    }
    for (size_t v = 0; o.covers && v < n_views; v++) free(o.covers[v]);
    for (size_t v = 0; o.views && v < n_views; v++) free(o.views[v].of);
    free(o.covers);
    free(o.views);
    free(o.starts);
    free(o.around);
    free(o.sums);
    free(o.rings);
    free(o.ways);
    free(o.next);
    free(o.begin);
    free(o.is_turned);
    return status;
}
