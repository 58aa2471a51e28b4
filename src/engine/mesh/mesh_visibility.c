/* Each thread draws whole cameras by itself: drawing one with all threads would wait at every step of it. */
#include "mesh/mesh_visibility.h"

#include "math/camera.h"
#include "mesh/mesh_clean_vertices.h"
#include "mesh/mesh_raster.h"

#include <math.h>
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

/* Several threads keep the least or the largest of positive numbers, whose bits have the order of the numbers. 0: none
 * so far. */
static void keep_extreme(float *at, float now, bool is_least)
{
    uint32_t bits, held, *own = (uint32_t *)(void *)at;
    memcpy(&bits, &now, sizeof bits);
    held = __atomic_load_n(own, __ATOMIC_RELAXED);
    while ((is_least ? !held || bits < held : bits > held) &&
           !__atomic_compare_exchange_n(own, &held, bits, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

static void see_from(const splat_mesh *mesh, const splat_camera *cameras, size_t i_camera,
                     const splat_mesh_visibility_options *options, picture *p, float *widths)
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
        if (p->faces[i] && (all || p->kept[i])) keep_extreme(&widths[p->faces[i] - 1], p->depth[i] / camera->fx, true);
}

splat_status splat_mesh_find_visible(const splat_mesh *mesh, const splat_camera *cameras, size_t n_cameras,
                                     const splat_mesh_visibility_options *options, float *widths, splat_error *error)
{
    if (options->threads < 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "at least one thread looks at a mesh, not %d", options->threads);
    size_t n_pictures = count_drawn(n_cameras, options->threads), n_pixels = most_pixels(cameras, n_cameras);
    picture *pictures = calloc(n_pictures + 1, sizeof *pictures);
    splat_status status = pictures ? SPLAT_OK : SPLAT_ERROR_MEMORY;
    memset(widths, 0, mesh->n_faces * sizeof *widths);
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
                see_from(mesh, cameras, camera, options, &pictures[k], widths);
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
static void count_seen(const uint32_t *pieces, const float *widths, size_t n, int threads, uint32_t *counts)
{
    enum { BLOCK = 4096 };
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t begin = 0; begin < n; begin += BLOCK)
        for (size_t i = begin, first; i < n && i < begin + BLOCK;) {
            uint32_t n_seen = 0;
            for (first = i; i < n && i < begin + BLOCK && pieces[i] == pieces[first]; i++) n_seen += widths[i] > 0;
            __atomic_fetch_add(&counts[2 * (size_t)pieces[first]], (uint32_t)(i - first), __ATOMIC_RELAXED);
            __atomic_fetch_add(&counts[2 * (size_t)pieces[first] + 1], n_seen, __ATOMIC_RELAXED);
        }
}

/* keep = 0 for faces of pieces that are hardly seen. */
static splat_status judge_pieces(const splat_mesh *mesh, const splat_mesh_visibility_options *options,
                                 const float *widths, uint8_t *keep, splat_mesh_visibility_info *info,
                                 splat_error *error)
{
    size_t n = mesh->n_faces, n_pieces = 0;
    uint32_t *pieces = malloc((n + 1) * sizeof *pieces), *counts = NULL; /* [n_pieces][2]: faces, seen faces */
    splat_status status = SPLAT_ERROR_MEMORY;
    if (pieces) status = splat_mesh_components(mesh, options->threads, pieces, &n_pieces, error);
    if (status == SPLAT_OK) counts = calloc(2 * n_pieces + 1, sizeof *counts);
    if (!pieces || (status == SPLAT_OK && !counts))
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the pieces of a mesh of %zu faces", n);
    if (status == SPLAT_OK) count_seen(pieces, widths, n, options->threads, counts);
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

/* A vertex of an unseen face is reached with what is left of the rim's width there: scene units; 0: not reached. */
typedef struct rim {
    const splat_mesh *mesh;
    float *left, *before; /* [n_vertices] now, and before the round */
    uint8_t *is_near;     /* [n_faces] */
} rim;

static void middle_of(const splat_mesh *mesh, size_t face, float middle[3])
{
    for (size_t k = 0; k < 3; k++) {
        middle[k] = 0;
        for (size_t v = 0; v < 3; v++) middle[k] += mesh->vertices[3 * (size_t)mesh->faces[3 * face + v] + k] / 3;
    }
}

static float distance(const float a[3], const float b[3])
{
    const float d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

/* Goes on from the corners that were reached before. True if the face, or one of its corners, is reached for the first
 * time, or with more left. */
static bool reach(rim *r, size_t face)
{
    const uint32_t *corners = r->mesh->faces + 3 * face;
    float middle[3];
    bool is_new = false;
    middle_of(r->mesh, face, middle);
    for (int k = 0; k < 3; k++) {
        const float *from = r->mesh->vertices + 3 * (size_t)corners[k];
        const float left = r->before[corners[k]];
        if (!(left > distance(from, middle))) continue;
        is_new |= !r->is_near[face];
        r->is_near[face] = 1;
        for (int j = 0; j < 3; j++) {
            const float rest = left - distance(from, r->mesh->vertices + 3 * (size_t)corners[j]);
            if (!(rest > r->before[corners[j]])) continue;
            keep_extreme(&r->left[corners[j]], rest, false);
            is_new = true;
        }
    }
    return is_new;
}

/* keep = 0 for unseen faces whose middle is farther than the rim from the seen faces' corners, along edges. */
static splat_status judge_rim(const splat_mesh *mesh, const splat_mesh_visibility_options *options,
                              const float *widths, uint8_t *keep, splat_mesh_visibility_info *info, splat_error *error)
{
    const size_t n = mesh->n_faces, bytes = mesh->n_vertices * sizeof(float);
    rim r = {mesh, calloc(mesh->n_vertices + 1, sizeof(float)), malloc(bytes + 1), malloc(n + 1)};
    bool is_any = true;
    if (!r.left || !r.before || !r.is_near) {
        free(r.left);
        free(r.before);
        free(r.is_near);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the rim of a mesh of %zu faces", n);
    }
#pragma omp parallel for schedule(static) num_threads(options->threads)
    for (size_t i = 0; i < n; i++) {
        r.is_near[i] = widths[i] > 0;
        for (size_t k = 0; k < 3 && r.is_near[i]; k++)
            keep_extreme(&r.left[mesh->faces[3 * i + k]], (float)options->rim * widths[i], false);
    }
    while (is_any) {
        is_any = false;
        memcpy(r.before, r.left, bytes);
#pragma omp parallel for schedule(static) num_threads(options->threads) reduction(|| : is_any)
        for (size_t i = 0; i < n; i++) {
            const bool is_new = !(widths[i] > 0) && reach(&r, i);
            is_any = is_any || is_new;
        }
    }
    for (size_t i = 0; i < n; i++) {
        info->n_invisible_faces += keep[i] && !r.is_near[i];
        keep[i] &= r.is_near[i];
    }
    free(r.left);
    free(r.before);
    free(r.is_near);
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
                                                         9 * n};
    float *widths = malloc((n + 1) * sizeof *widths);
    uint8_t *keep = malloc(n + 1);
    splat_status status = widths && keep ? splat_mesh_find_visible(mesh, cameras, n_cameras, options, widths, error)
                                         : splat_fail(error, SPLAT_ERROR_MEMORY,
                                                      "no memory to look at a mesh of %zu faces", n);
    if (status == SPLAT_OK) {
        for (size_t i = 0; i < n; i++) report->n_seen += widths[i] > 0;
        status = judge_pieces(mesh, options, widths, keep, report, error);
    }
    if (status == SPLAT_OK && options->rim >= 0)
        status = judge_rim(mesh, options, widths, keep, report, error);
    if (status == SPLAT_OK && report->n_piece_faces + report->n_invisible_faces) {
        splat_mesh_keep_faces(mesh, keep, options->threads);
        status = splat_mesh_remove_unreferenced(mesh, options->threads, &unused, error);
    }
    free(widths);
    free(keep);
    return status;
}
