/* Faces are cut at the planes of the view, listed by bands of rows, and drawn a band a thread. */
#include "mesh/mesh_raster.h"

#include "math/raster.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_SIDE = 65535,
    BAND_ROWS = 16, /* drawn by one thread */
    N_CHUNKS = 64   /* of the faces when they are sorted into bands, whatever the threads */
};

typedef struct viewer {
    const splat_mesh *mesh;
    const splat_mesh_raster_maps *maps;
    splat_raster_eye eye;
    size_t n_bands;
    splat_raster_corner *corners; /* [n_vertices] */
    uint16_t (*rows)[2]; /* [n_faces]: first and last row with a pixel centre in its bounds; none: first > last */
    size_t *starts;      /* [n_bands][N_CHUNKS] and one more: where chunks begin in the bands' lists */
    uint32_t *list;      /* faces, band by band, ascending */
} viewer;

/* ---------------------------------------------------------------- vertices */

static void project_vertices(viewer *v, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < v->mesh->n_vertices; i++) v->corners[i] = splat_raster_corner_of(&v->eye, i);
}

/* ---------------------------------------------------------------- bands */

static size_t chunk_start(const viewer *v, size_t chunk)
{
    return chunk * (v->mesh->n_faces / N_CHUNKS) + chunk * (v->mesh->n_faces % N_CHUNKS) / N_CHUNKS;
}

/* Rows of a chunk's faces, and how many it adds to each band. */
static void measure_chunk(viewer *v, size_t chunk)
{
    for (size_t face = chunk_start(v, chunk); face < chunk_start(v, chunk + 1); face++) {
        splat_raster_polygon p;
        int first[2], last[2];
        splat_raster_face_polygon(&v->eye, face, &p);
        v->rows[face][0] = 1;
        v->rows[face][1] = 0;
        if (p.n < 3 || !splat_raster_pixel_bounds(&v->eye, p.corners, p.n, first, last)) continue;
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

/* The triangle covers pixel i, where its edge functions are e. */
static void draw_pixel(const viewer *v, splat_raster_triangle *t, const int64_t e[3], size_t i)
{
    const splat_mesh_raster_maps *m = v->maps;
    double share[3], sum;
    float z = splat_raster_depth(t, e, share, &sum);
    if (m->faces[i] && (z > m->depth[i] || (z == m->depth[i] && m->faces[i] <= t->face + 1))) return;
    m->faces[i] = t->face + 1;
    m->depth[i] = z;
    if (m->front && t->front < 0) t->front = splat_raster_shows_front(&v->eye, t->face);
    if (m->front) m->front[i] = (uint8_t)t->front;
    if (m->weights) splat_raster_weights(t, share, sum, m->weights[i]);
}

static void draw_triangle(const viewer *v, splat_raster_triangle *t, const splat_raster_corner *const c[3],
                          const int band[2])
{
    const splat_raster_corner corners[3] = {*c[0], *c[1], *c[2]};
    int first[2], last[2];
    if (!splat_raster_pixel_bounds(&v->eye, corners, 3, first, last)) return;
    if (first[1] < band[0]) first[1] = band[0];
    if (last[1] > band[1]) last[1] = band[1];
    if (first[1] > last[1] || !splat_raster_triangle_make(t, c, first[0], first[1])) return;
    for (int y = first[1]; y <= last[1]; y++) {
        int64_t e[3] = {t->value[0], t->value[1], t->value[2]};
        bool entered = false;
        for (int x = first[0]; x <= last[0]; x++) {
            bool covered = (e[0] | e[1] | e[2]) >= 0;
            if (covered) draw_pixel(v, t, e, (size_t)y * (size_t)v->eye.width + (size_t)x);
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
    if (rows[1] > v->eye.height - 1) rows[1] = v->eye.height - 1;
    size_t at = (size_t)rows[0] * (size_t)v->eye.width, n = (size_t)(rows[1] - rows[0] + 1) * (size_t)v->eye.width;
    memset(m->faces + at, 0, n * sizeof *m->faces);
    memset(m->depth + at, 0, n * sizeof *m->depth);
    if (m->weights) memset(m->weights + at, 0, n * sizeof *m->weights);
    if (m->front) memset(m->front + at, 0, n);
    for (size_t i = band ? v->starts[band * N_CHUNKS - 1] : 0; i < v->starts[band * N_CHUNKS + N_CHUNKS - 1]; i++) {
        splat_raster_polygon p;
        splat_raster_triangle t = {.face = v->list[i], .front = -1};
        splat_raster_face_polygon(&v->eye, t.face, &p);
        for (int k = 1; k + 1 < p.n; k++) {
            const splat_raster_corner *const c[3] = {&p.corners[0], &p.corners[k], &p.corners[k + 1]};
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
    viewer v = {.mesh = mesh, .maps = maps, .n_bands = ((size_t)c->height + BAND_ROWS - 1) / BAND_ROWS};
    v.corners = malloc((mesh->n_vertices + 1) * sizeof *v.corners);
    v.rows = malloc((mesh->n_faces + 1) * sizeof *v.rows);
    v.starts = calloc(v.n_bands * N_CHUNKS, sizeof *v.starts);
    v.eye = splat_raster_eye_make(mesh->vertices, mesh->faces, v.corners, c, near);
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
