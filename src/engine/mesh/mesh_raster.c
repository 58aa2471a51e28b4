/* Faces are cut at the planes of the view, listed by bands of rows, and drawn a band a thread. */
#include "mesh/mesh_raster.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_SIDE = 65535,
    STEPS = 1024,        /* of a pixel: coordinates on the screen are whole numbers of them, so that edges are exact */
    GUARD = 16384,       /* pixels around the picture beyond which faces are cut: edge functions stay below 2^58 */
    FARTHEST = 1 << 27,  /* steps; more than any picture with its guard has */
    BAND_ROWS = 16,      /* drawn by one thread */
    N_CHUNKS = 64,       /* of the faces when they are sorted into bands, whatever the threads */
    N_PLANES = 5,
    MAX_CORNERS = 12     /* 3 and one more for each plane, and room for what rounding might bend */
};

#define OUTSIDE INT32_MIN

/* A vertex on the screen; or x = OUTSIDE, and y tells by bits the planes that it is beyond. */
typedef struct corner {
    int32_t x, y; /* steps */
    float z;
} corner;

typedef struct viewer {
    const splat_mesh *mesh;
    const splat_mesh_raster_maps *maps;
    double rotation[9], translation[3], fx, fy, cx, cy, near;
    double planes[N_PLANES][4]; /* a point is inside when plane . (x, y, z, 1) >= 0; near, left, right, top, bottom */
    int width, height;
    size_t n_bands;
    corner *corners;     /* [n_vertices] */
    uint16_t (*rows)[2]; /* [n_faces]: first and last row with a pixel centre in its bounds; none: first > last */
    size_t *starts;      /* [n_bands][N_CHUNKS] and one more: where chunks begin in the bands' lists */
    uint32_t *list;      /* faces, band by band, ascending */
} viewer;

/* The visible part of a face: a convex polygon; three corners unless planes cut it. */
typedef struct polygon {
    int n;
    corner corners[MAX_CORNERS];
    double weights[MAX_CORNERS][2]; /* b0 and b1 of the face there */
} polygon;

/* ---------------------------------------------------------------- projection and planes */

static void to_camera(const viewer *v, size_t vertex, double out[3])
{
    const float *p = v->mesh->vertices + 3 * vertex;
    const double *r = v->rotation;
    for (int k = 0; k < 3; k++)
        out[k] = r[3 * k] * (double)p[0] + r[3 * k + 1] * (double)p[1] + r[3 * k + 2] * (double)p[2] +
                 v->translation[k];
}

static double height_over(const viewer *v, int plane, const double p[3])
{
    const double *a = v->planes[plane];
    return a[0] * p[0] + a[1] * p[1] + a[2] * p[2] + a[3];
}

/* Cut points of enormous faces may be beyond the guard by rounding, hence the bounds. */
static int32_t to_steps(double pixels)
{
    double steps = pixels * STEPS + 0.5;
    if (!(steps > -FARTHEST)) return -FARTHEST;
    if (!(steps < FARTHEST)) return FARTHEST;
    return (int32_t)(steps + FARTHEST) - FARTHEST; /* rounds down, and is no call as floor is on any x86 */
}

static corner project(const viewer *v, const double p[3])
{
    double x = v->fx * p[0] / p[2] + v->cx, y = v->fy * p[1] / p[2] + v->cy;
    return (corner){to_steps(x), to_steps(y), p[2] < (double)FLT_MAX ? (float)p[2] : FLT_MAX};
}

static void project_vertices(viewer *v, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < v->mesh->n_vertices; i++) {
        double p[3];
        int beyond = 0;
        to_camera(v, i, p);
        for (int k = 0; k < N_PLANES; k++) beyond |= (height_over(v, k, p) >= 0 ? 0 : 1) << k;
        v->corners[i] = beyond ? (corner){OUTSIDE, beyond, 0} : project(v, p);
    }
}

typedef struct cut_point {
    double p[3], weights[2];
} cut_point;

/* From the inner to the outer point, so that both faces of an edge get the same point. */
static cut_point cut(const viewer *v, int plane, const cut_point *inner, const cut_point *outer)
{
    double a = height_over(v, plane, inner->p), b = height_over(v, plane, outer->p), t = a / (a - b);
    cut_point c;
    for (int k = 0; k < 3; k++) c.p[k] = inner->p[k] + t * (outer->p[k] - inner->p[k]);
    for (int k = 0; k < 2; k++) c.weights[k] = inner->weights[k] + t * (outer->weights[k] - inner->weights[k]);
    if (plane == 0) c.p[2] = v->near; /* not 0 by rounding */
    return c;
}

/* The part of a convex polygon inside a plane (Sutherland and Hodgman, 1974). */
static int cut_polygon(const viewer *v, int plane, const cut_point *in, int n, cut_point *out)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        const cut_point *a = &in[i], *b = &in[(i + 1) % n];
        bool a_inside = height_over(v, plane, a->p) >= 0, b_inside = height_over(v, plane, b->p) >= 0;
        if (a_inside) out[count++] = *a;
        if (a_inside != b_inside) out[count++] = a_inside ? cut(v, plane, a, b) : cut(v, plane, b, a);
        if (count > MAX_CORNERS - 2) break;
    }
    return count;
}

static void cut_face(const viewer *v, size_t face, int beyond, polygon *out)
{
    cut_point points[2][MAX_CORNERS] = {{{.weights = {1, 0}}, {.weights = {0, 1}}, {.weights = {0, 0}}}};
    int now = 0;
    out->n = 3;
    for (size_t k = 0; k < 3; k++) to_camera(v, v->mesh->faces[3 * face + k], points[0][k].p);
    for (int plane = 0; plane < N_PLANES; plane++) {
        if (!(beyond >> plane & 1)) continue;
        out->n = cut_polygon(v, plane, points[now], out->n, points[1 - now]);
        now = 1 - now;
    }
    for (int i = 0; i < out->n; i++) {
        out->corners[i] = project(v, points[now][i].p);
        memcpy(out->weights[i], points[now][i].weights, sizeof out->weights[i]);
    }
}

static void face_polygon(const viewer *v, size_t face, polygon *out)
{
    static const double whole[3][2] = {{1, 0}, {0, 1}, {0, 0}};
    const uint32_t *f = v->mesh->faces + 3 * face;
    int any = 0, all = (1 << N_PLANES) - 1;
    for (int k = 0; k < 3; k++) {
        out->corners[k] = v->corners[f[k]];
        int beyond = out->corners[k].x == OUTSIDE ? out->corners[k].y : 0;
        any |= beyond;
        all &= beyond;
    }
    out->n = all ? 0 : 3;
    if (any && !all)
        cut_face(v, face, any, out);
    else
        memcpy(out->weights, whole, sizeof whole);
}

/* ---------------------------------------------------------------- bands */

/* Pixels first[axis] .. last[axis] whose centres are in the bounds of three corners or more and in the picture; false
 * when there are none. The shifts round down, also below 0. */
static bool pixel_bounds(const viewer *v, const corner *corners, int n, int first[2], int last[2])
{
    const int sides[2] = {v->width, v->height};
    int32_t low[2] = {corners[0].x, corners[0].y}, high[2] = {corners[0].x, corners[0].y};
    for (int i = 1; i < n; i++) {
        const int32_t at[2] = {corners[i].x, corners[i].y};
        for (int k = 0; k < 2; k++) {
            low[k] = at[k] < low[k] ? at[k] : low[k];
            high[k] = at[k] > high[k] ? at[k] : high[k];
        }
    }
    for (int k = 0; k < 2; k++) {
        first[k] = (low[k] + STEPS / 2 - 1) >> 10;
        last[k] = (high[k] - STEPS / 2) >> 10;
        if (first[k] < 0) first[k] = 0;
        if (last[k] > sides[k] - 1) last[k] = sides[k] - 1;
        if (first[k] > last[k]) return false;
    }
    return true;
}

static size_t chunk_start(const viewer *v, size_t chunk)
{
    return chunk * (v->mesh->n_faces / N_CHUNKS) + chunk * (v->mesh->n_faces % N_CHUNKS) / N_CHUNKS;
}

/* Rows of a chunk's faces, and how many it adds to each band. */
static void measure_chunk(viewer *v, size_t chunk)
{
    for (size_t face = chunk_start(v, chunk); face < chunk_start(v, chunk + 1); face++) {
        polygon p;
        int first[2], last[2];
        face_polygon(v, face, &p);
        v->rows[face][0] = 1;
        v->rows[face][1] = 0;
        if (p.n < 3 || !pixel_bounds(v, p.corners, p.n, first, last)) continue;
        v->rows[face][0] = (uint16_t)first[1];
        v->rows[face][1] = (uint16_t)last[1];
        for (int band = first[1] / BAND_ROWS; band <= last[1] / BAND_ROWS; band++)
            v->starts[(size_t)band * N_CHUNKS + chunk]++;
    }
}

static void list_chunk(viewer *v, size_t chunk)
{
    for (size_t face = chunk_start(v, chunk); face < chunk_start(v, chunk + 1); face++) {
        if (v->rows[face][0] > v->rows[face][1]) continue;
        for (int band = v->rows[face][0] / BAND_ROWS; band <= v->rows[face][1] / BAND_ROWS; band++)
            v->list[v->starts[(size_t)band * N_CHUNKS + chunk]++] = (uint32_t)face;
    }
}

/* A counting sort; afterwards starts[i] is where chunk i ends. */
static splat_status list_faces(viewer *v, int threads, splat_error *error)
{
    size_t total = 0;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t chunk = 0; chunk < N_CHUNKS; chunk++) measure_chunk(v, chunk);
    for (size_t i = 0; i < v->n_bands * N_CHUNKS; i++) {
        size_t n = v->starts[i];
        v->starts[i] = total;
        total += n;
    }
    v->list = malloc((total + 1) * sizeof *v->list);
    if (!v->list)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to draw a mesh of %zu faces", v->mesh->n_faces);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t chunk = 0; chunk < N_CHUNKS; chunk++) list_chunk(v, chunk);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- triangles */

/* Twice the area of a, b and a point, in squared steps: positive when the point is on the right of the way from a to
 * b, as the picture shows it. */
static int64_t side_of(const corner *a, const corner *b, int64_t x, int64_t y)
{
    return ((int64_t)b->x - a->x) * (y - a->y) - ((int64_t)b->y - a->y) * (x - a->x);
}

typedef struct triangle {
    uint32_t face;
    int front; /* -1: not known yet, as most small faces cover no pixel centre */
    const double *weights[3];
    double inverse_z[3], area;
    int64_t value[3], right[3], down[3]; /* of edge k, opposite to corner k: at a pixel; a pixel further */
    int64_t bias[3];                     /* -1 where pixel centres on the edge are not covered; part of value */
} triangle;

/* At the centre of a pixel; false when the triangle has no area. */
static bool make_triangle(triangle *t, const corner *const c[3], int column, int row)
{
    int64_t area = side_of(c[0], c[1], c[2]->x, c[2]->y), sign = area < 0 ? -1 : 1;
    int64_t x = (int64_t)column * STEPS + STEPS / 2, y = (int64_t)row * STEPS + STEPS / 2;
    if (area == 0) return false;
    t->area = (double)(sign * area);
    for (int k = 0; k < 3; k++) {
        const corner *a = c[(k + 1) % 3], *b = c[(k + 2) % 3];
        int64_t dx = sign * ((int64_t)b->x - a->x), dy = sign * ((int64_t)b->y - a->y);
        t->bias[k] = dy < 0 || (dy == 0 && dx > 0) ? 0 : -1; /* a left or a top edge, or not */
        t->value[k] = sign * side_of(a, b, x, y) + t->bias[k];
        t->right[k] = -dy * STEPS;
        t->down[k] = dx * STEPS;
        t->inverse_z[k] = 1.0 / (double)c[k]->z;
    }
    return true;
}

/* By the face itself: rounding to steps may turn a sliver. */
static bool shows_front(const viewer *v, size_t face)
{
    double p[3][3], a[3], b[3];
    for (size_t k = 0; k < 3; k++) to_camera(v, v->mesh->faces[3 * face + k], p[k]);
    for (int k = 0; k < 3; k++) {
        a[k] = p[1][k] - p[0][k];
        b[k] = p[2][k] - p[0][k];
    }
    return (a[1] * b[2] - a[2] * b[1]) * p[0][0] + (a[2] * b[0] - a[0] * b[2]) * p[0][1] +
               (a[0] * b[1] - a[1] * b[0]) * p[0][2] < 0;
}

/* The triangle covers pixel i, where its edge functions are e. */
static void draw_pixel(const viewer *v, triangle *t, const int64_t e[3], size_t i)
{
    const splat_mesh_raster_maps *m = v->maps;
    double share[3], sum = 0;
    for (int k = 0; k < 3; k++) {
        share[k] = (double)(e[k] - t->bias[k]) * t->inverse_z[k];
        sum += share[k];
    }
    float z = (float)(t->area / sum);
    if (m->faces[i] && (z > m->depth[i] || (z == m->depth[i] && m->faces[i] <= t->face + 1))) return;
    m->faces[i] = t->face + 1;
    m->depth[i] = z;
    if (m->front && t->front < 0) t->front = shows_front(v, t->face);
    if (m->front) m->front[i] = (uint8_t)t->front;
    for (int b = 0; m->weights && b < 2; b++) {
        double weight = 0;
        for (int k = 0; k < 3; k++) weight += share[k] * t->weights[k][b];
        m->weights[i][b] = (float)fmin(weight / sum, 1.0);
    }
}

static void draw_triangle(const viewer *v, triangle *t, const corner *const c[3], const int band[2])
{
    const corner corners[3] = {*c[0], *c[1], *c[2]};
    int first[2], last[2];
    if (!pixel_bounds(v, corners, 3, first, last)) return;
    if (first[1] < band[0]) first[1] = band[0];
    if (last[1] > band[1]) last[1] = band[1];
    if (first[1] > last[1] || !make_triangle(t, c, first[0], first[1])) return;
    for (int y = first[1]; y <= last[1]; y++) {
        int64_t e[3] = {t->value[0], t->value[1], t->value[2]};
        bool entered = false;
        for (int x = first[0]; x <= last[0]; x++) {
            bool covered = (e[0] | e[1] | e[2]) >= 0;
            if (covered) draw_pixel(v, t, e, (size_t)y * (size_t)v->width + (size_t)x);
            if (entered && !covered) break; /* a row meets a triangle once */
            entered = covered;
            for (int k = 0; k < 3; k++) e[k] += t->right[k];
        }
        for (int k = 0; k < 3; k++) t->value[k] += t->down[k];
    }
}

static void draw_band(const viewer *v, size_t band)
{
    const splat_mesh_raster_maps *m = v->maps;
    int rows[2] = {(int)band * BAND_ROWS, (int)band * BAND_ROWS + BAND_ROWS - 1};
    if (rows[1] > v->height - 1) rows[1] = v->height - 1;
    size_t at = (size_t)rows[0] * (size_t)v->width, n = (size_t)(rows[1] - rows[0] + 1) * (size_t)v->width;
    memset(m->faces + at, 0, n * sizeof *m->faces);
    memset(m->depth + at, 0, n * sizeof *m->depth);
    if (m->weights) memset(m->weights + at, 0, n * sizeof *m->weights);
    if (m->front) memset(m->front + at, 0, n);
    for (size_t i = band ? v->starts[band * N_CHUNKS - 1] : 0; i < v->starts[band * N_CHUNKS + N_CHUNKS - 1]; i++) {
        polygon p;
        triangle t = {.face = v->list[i], .front = -1};
        face_polygon(v, t.face, &p);
        for (int k = 1; k + 1 < p.n; k++) {
            const corner *const c[3] = {&p.corners[0], &p.corners[k], &p.corners[k + 1]};
            t.weights[0] = p.weights[0];
            t.weights[1] = p.weights[k];
            t.weights[2] = p.weights[k + 1];
            draw_triangle(v, &t, c, rows);
        }
    }
}

/* ---------------------------------------------------------------- the whole */

void splat_mesh_raster_options_init(splat_mesh_raster_options *options)
{
    *options = (splat_mesh_raster_options){.near = 0.01f, .threads = 1};
}

static splat_status check(const splat_camera *c, const splat_mesh_raster_options *options, splat_error *error)
{
    double sum = (double)c->fx + (double)c->fy + (double)c->cx + (double)c->cy;
    for (int k = 0; k < 9; k++) sum += (double)c->rotation[k];
    for (int k = 0; k < 3; k++) sum += (double)c->translation[k];
    if (!(options->near > 0) || !isfinite(options->near) || options->threads < 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "a mesh is drawn from a near plane above 0 on, by at least one thread; not %g and %d",
                          (double)options->near, options->threads);
    if (c->width < 1 || c->height < 1 || c->width > MAX_SIDE || c->height > MAX_SIDE)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a picture of a mesh has sides of 1 to %d pixels, not %d x %d",
                          MAX_SIDE, c->width, c->height);
    if (!isfinite(sum) || !(c->fx > 0) || !(c->fy > 0))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "the camera is not finite, or its focal lengths %g and %g are not above 0", (double)c->fx,
                          (double)c->fy);
    return SPLAT_OK;
}

static viewer make_viewer(const splat_mesh *mesh, const splat_camera *c, float near, const splat_mesh_raster_maps *maps)
{
    viewer v = {.mesh = mesh, .maps = maps, .fx = (double)c->fx, .fy = (double)c->fy, .cx = (double)c->cx,
                .cy = (double)c->cy, .near = (double)near, .width = c->width, .height = c->height};
    const double planes[N_PLANES][4] = {{0, 0, 1, -v.near},
                                        {v.fx, 0, v.cx + GUARD, 0},
                                        {-v.fx, 0, v.width + GUARD - v.cx, 0},
                                        {0, v.fy, v.cy + GUARD, 0},
                                        {0, -v.fy, v.height + GUARD - v.cy, 0}};
    memcpy(v.planes, planes, sizeof planes);
    for (int k = 0; k < 9; k++) v.rotation[k] = (double)c->rotation[k];
    for (int k = 0; k < 3; k++) v.translation[k] = (double)c->translation[k];
    v.n_bands = ((size_t)c->height + BAND_ROWS - 1) / BAND_ROWS;
    v.corners = malloc((mesh->n_vertices + 1) * sizeof *v.corners);
    v.rows = malloc((mesh->n_faces + 1) * sizeof *v.rows);
    v.starts = calloc(v.n_bands * N_CHUNKS, sizeof *v.starts);
    return v;
}

splat_status splat_mesh_rasterize(const splat_mesh *mesh, const splat_camera *camera,
                                  const splat_mesh_raster_options *options, const splat_mesh_raster_maps *maps,
                                  splat_error *error)
{
    SPLAT_TRY(check(camera, options, error));
    viewer v = make_viewer(mesh, camera, options->near, maps);
    splat_status status = SPLAT_OK;
    if (!v.corners || !v.rows || !v.starts)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to draw a mesh of %zu faces", mesh->n_faces);
    if (status == SPLAT_OK) {
        project_vertices(&v, options->threads);
        status = list_faces(&v, options->threads, error);
    }
    if (status == SPLAT_OK) {
#pragma omp parallel for schedule(dynamic) num_threads(options->threads)
        for (size_t band = 0; band < v.n_bands; band++) draw_band(&v, band);
    }
    free(v.corners);
    free(v.rows);
    free(v.starts);
    free(v.list);
    return status;
}
