/* Each thread draws whole cameras by itself: drawing one with all threads would wait at every step of it. */
#include "mesh/mesh_visibility.h"

#include "math/camera.h"
#include "mesh/mesh_clean_vertices.h"
#include "mesh/mesh_raster.h"

#include <stdlib.h>
#include <string.h>

void splat_mesh_visibility_options_init(splat_mesh_visibility_options *options)
{
    *options = (splat_mesh_visibility_options){.least_share = 0.001, .rim = 8, .near = 0.01f, .threads = 1};
}

static size_t most_pixels(const splat_camera *cameras, size_t n)
{
    size_t most = 1;
    for (size_t i = 0; i < n; i++)
        if (splat_camera_pixels(&cameras[i]) > most) most = splat_camera_pixels(&cameras[i]);
    return most;
}

/* Pictures that are drawn at a time. */
static size_t count_drawn(size_t n_cameras, int threads)
{
    return n_cameras < (size_t)threads ? n_cameras : (size_t)threads;
}

/* ---------------------------------------------------------------- seeing */

typedef struct picture {
    uint32_t *faces;
    float *depth;
    uint8_t *kept; /* NULL without options->kept */
    splat_status status;
    splat_error error;
} picture;

static void see_from(const splat_mesh *mesh, const splat_camera *cameras, size_t i_camera,
                     const splat_mesh_visibility_options *options, picture *p, uint8_t *seen)
{
    const splat_mesh_raster_options raster = {.near = options->near, .threads = 1};
    const splat_mesh_raster_maps maps = {.faces = p->faces, .depth = p->depth};
    const splat_camera *camera = &cameras[i_camera];
    size_t n = splat_camera_pixels(camera);
    bool all = true;
    p->status = options->draw ? options->draw(options->draw_user, camera, options->near, p->faces, p->depth, &p->error)
                              : splat_mesh_rasterize(mesh, camera, &raster, &maps, &p->error);
    if (p->status == SPLAT_OK && options->kept)
        p->status = options->kept(options->kept_user, i_camera, p->kept, &all, &p->error);
    for (size_t i = 0; p->status == SPLAT_OK && i < n; i++)
        if (p->faces[i] && (all || p->kept[i]))
            __atomic_store_n(&seen[p->faces[i] - 1], 1, __ATOMIC_RELAXED); /* by several threads */
}

splat_status splat_mesh_find_visible(const splat_mesh *mesh, const splat_camera *cameras, size_t n_cameras,
                                     const splat_mesh_visibility_options *options, uint8_t *seen, splat_error *error)
{
    if (options->threads < 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "at least one thread looks at a mesh, not %d", options->threads);
    size_t n_pictures = count_drawn(n_cameras, options->threads), n_pixels = most_pixels(cameras, n_cameras);
    picture *pictures = calloc(n_pictures + 1, sizeof *pictures);
    splat_status status = pictures ? SPLAT_OK : SPLAT_ERROR_MEMORY;
    memset(seen, 0, mesh->n_faces);
    for (size_t k = 0; k < n_pictures && status == SPLAT_OK; k++) {
        pictures[k].faces = malloc(n_pixels * sizeof *pictures->faces);
        pictures[k].depth = malloc(n_pixels * sizeof *pictures->depth);
        if (options->kept) pictures[k].kept = malloc(n_pixels);
        if (!pictures[k].faces || !pictures[k].depth || (options->kept && !pictures[k].kept))
            status = SPLAT_ERROR_MEMORY;
    }
    if (status == SPLAT_OK && n_pictures) {
        size_t next = 0;
#pragma omp parallel for schedule(static, 1) num_threads((int)n_pictures)
        for (size_t k = 0; k < n_pictures; k++)
            for (;;) {
                size_t camera = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
                if (camera >= n_cameras || pictures[k].status != SPLAT_OK) break;
                see_from(mesh, cameras, camera, options, &pictures[k], seen);
            }
    }
    if (status != SPLAT_OK) splat_fail(error, status, "no memory to look at a mesh of %zu faces", mesh->n_faces);
    for (size_t k = 0; pictures && k < n_pictures; k++) {
        if (status == SPLAT_OK && pictures[k].status != SPLAT_OK) {
            status = pictures[k].status;
            if (error) *error = pictures[k].error;
        }
        free(pictures[k].faces);
        free(pictures[k].depth);
        free(pictures[k].kept);
    }
    free(pictures);
    return status;
}

/* ---------------------------------------------------------------- removing */

/* counts[pieces][2]: faces and seen faces. Neighbours in the list are of one piece, most often, and are counted
 * together. */
static void count_seen(const uint32_t *pieces, const uint8_t *seen, size_t n, int threads, uint32_t *counts)
{
    enum { BLOCK = 4096 };
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t begin = 0; begin < n; begin += BLOCK)
        for (size_t i = begin, first; i < n && i < begin + BLOCK;) {
            uint32_t n_seen = 0;
            for (first = i; i < n && i < begin + BLOCK && pieces[i] == pieces[first]; i++) n_seen += seen[i];
            __atomic_fetch_add(&counts[2 * (size_t)pieces[first]], (uint32_t)(i - first), __ATOMIC_RELAXED);
            __atomic_fetch_add(&counts[2 * (size_t)pieces[first] + 1], n_seen, __ATOMIC_RELAXED);
        }
}

/* keep = 0 for faces of pieces that are hardly seen. */
static splat_status judge_pieces(const splat_mesh *mesh, const splat_mesh_visibility_options *options,
                                 const uint8_t *seen, uint8_t *keep, splat_mesh_visibility_info *info,
                                 splat_error *error)
{
    size_t n = mesh->n_faces, n_pieces = 0;
    uint32_t *pieces = malloc((n + 1) * sizeof *pieces), *counts = NULL; /* [n_pieces][2]: faces, seen faces */
    splat_status status = SPLAT_ERROR_MEMORY;
    if (pieces) status = splat_mesh_components(mesh, options->threads, pieces, &n_pieces, error);
    if (status == SPLAT_OK) counts = calloc(2 * n_pieces + 1, sizeof *counts);
    if (!pieces || (status == SPLAT_OK && !counts))
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the pieces of a mesh of %zu faces", n);
    if (status == SPLAT_OK) count_seen(pieces, seen, n, options->threads, counts);
    for (size_t k = 0; k < n_pieces && status == SPLAT_OK; k++) {
        const uint32_t *c = counts + 2 * k;
        bool goes = (double)c[1] < options->least_share * (double)c[0];
        info->n_pieces += goes;
        info->n_piece_faces += goes ? c[0] : 0;
    }
#pragma omp parallel for schedule(static) num_threads(options->threads)
    for (size_t i = 0; i < (status == SPLAT_OK ? n : 0); i++) {
        const uint32_t *c = counts + 2 * (size_t)pieces[i];
        keep[i] = !((double)c[1] < options->least_share * (double)c[0]);
    }
    free(pieces);
    free(counts);
    return status;
}

/* The corners of a face; threads write the same. */
static void reach(const splat_mesh *mesh, size_t face, uint8_t *reached)
{
    for (size_t k = 0; k < 3; k++) __atomic_store_n(&reached[mesh->faces[3 * face + k]], 1, __ATOMIC_RELAXED);
}

/* keep = 0 for faces that no round reaches: each goes a face on from those reached so far. */
static splat_status judge_rim(const splat_mesh *mesh, const splat_mesh_visibility_options *options, const uint8_t *seen,
                              uint8_t *keep, splat_mesh_visibility_info *info, splat_error *error)
{
    size_t n = mesh->n_faces, n_new = 1;
    uint8_t *reached = calloc(mesh->n_vertices + 1, 1); /* vertices */
    uint8_t *near = malloc(n + 1);                      /* faces: 1: reached; 2: in this round */
    if (!reached || !near) {
        free(reached);
        free(near);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the rim of a mesh of %zu faces", n);
    }
    memcpy(near, seen, n);
#pragma omp parallel for schedule(static) num_threads(options->threads)
    for (size_t i = 0; i < n; i++)
        if (seen[i]) reach(mesh, i, reached);
    for (size_t step = 0; step < options->rim && n_new; step++) {
        n_new = 0;
#pragma omp parallel for schedule(static) num_threads(options->threads) reduction(+ : n_new)
        for (size_t i = 0; i < n; i++) {
            const uint32_t *f = mesh->faces + 3 * i;
            if (near[i] || !(reached[f[0]] | reached[f[1]] | reached[f[2]])) continue;
            near[i] = 2;
            n_new++;
        }
#pragma omp parallel for schedule(static) num_threads(options->threads)
        for (size_t i = 0; i < (n_new ? n : 0); i++) {
            if (near[i] != 2) continue;
            near[i] = 1;
            reach(mesh, i, reached);
        }
    }
    for (size_t i = 0; i < n; i++) {
        info->n_invisible_faces += keep[i] && !near[i];
        keep[i] &= near[i];
    }
    free(reached);
    free(near);
    return SPLAT_OK;
}

splat_status splat_mesh_remove_invisible(splat_mesh *mesh, const splat_camera *cameras, size_t n_cameras,
                                         const splat_mesh_visibility_options *options, splat_mesh_visibility_info *info,
                                         splat_error *error)
{
    splat_mesh_visibility_info ignored, *report = info ? info : &ignored;
    size_t n = mesh->n_faces, unused = 0;
    size_t picture_bytes = (options->kept ? 9 : 8) * most_pixels(cameras, n_cameras) + 12 * mesh->n_vertices + 8 * n;
    *report = (splat_mesh_visibility_info){.peak_bytes = count_drawn(n_cameras, options->threads) * picture_bytes +
                                                         6 * n};
    uint8_t *seen = malloc(n + 1), *keep = malloc(n + 1);
    splat_status status = seen && keep ? splat_mesh_find_visible(mesh, cameras, n_cameras, options, seen, error)
                                       : splat_fail(error, SPLAT_ERROR_MEMORY,
                                                    "no memory to look at a mesh of %zu faces", n);
    if (status == SPLAT_OK) {
        for (size_t i = 0; i < n; i++) report->n_seen += seen[i];
        status = judge_pieces(mesh, options, seen, keep, report, error);
    }
    if (status == SPLAT_OK && options->rim != SIZE_MAX) status = judge_rim(mesh, options, seen, keep, report, error);
    if (status == SPLAT_OK && report->n_piece_faces + report->n_invisible_faces) {
        splat_mesh_keep_faces(mesh, keep, options->threads);
        status = splat_mesh_remove_unreferenced(mesh, options->threads, &unused, error);
    }
    free(seen);
    free(keep);
    return status;
}
