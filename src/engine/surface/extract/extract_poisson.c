/* Surface points to a mesh: outliers go, then screened Poisson reconstruction of foreground and background apart. */
#include "surface/extract/extract_poisson.h"

#include "base/context.h"
#include "base/point_outliers.h"
#include "base/point_tree.h"
#include "base/rows.h"
#include "base/select.h"
#include "mesh/mesh_clean_vertices.h"
#include "mesh/mesh_support.h"
#include "mesh/poisson/poisson_reconstruct.h"
#include "model/model.h"
#include "surface/extract/extraction.h"
#include "surface/extract/surface_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- the depth of the octree
 * The depth of the Poisson octree that points deserve (docs/method.md, "Poisson reconstruction"; the idea is
 * Guedon and Lepetit, Gaussian Frosting, ECCV 2024, section 4.1, whose spacing is that of Gaussians). */

#define ASKED 65536u /* points at most whose neighbours are looked for */
#define QUANTILE 0.1 /* of the distances: where points are dense, detail is */

/* The quantile of the distances from a point to its nearest other one that is elsewhere; 0 without one. */
static splat_status find_spacing(const float *positions, size_t n, int threads, double *spacing, splat_error *error)
{
    splat_point_tree tree;
    size_t step = n / ASKED + 1, n_asked = (n + step - 1) / step, n_apart = 0;
    float *distances2 = malloc((n_asked + 1) * sizeof *distances2);
    *spacing = 0;
    if (!distances2) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the spacing of %zu points", n);
    splat_status status = splat_point_tree_make(&tree, positions, n, threads, error);
    if (status == SPLAT_OK) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (size_t i = 0; i < n_asked; i++) {
            uint32_t index;
            splat_point_tree_nearest(&tree, positions + 3 * i * step, 1, (uint32_t)(i * step), &distances2[i], &index);
        }
        splat_point_tree_free(&tree);
        for (size_t i = 0; i < n_asked; i++)
            if (distances2[i] > 0 && distances2[i] < INFINITY) distances2[n_apart++] = distances2[i];
        size_t rank = (size_t)(QUANTILE * (double)n_apart);
        if (n_apart) *spacing = sqrt((double)splat_select_float(distances2, n_apart, rank));
    }
    free(distances2);
    return status;
}

splat_status splat_extract_depth(const float *positions, size_t n, int most, int threads, int *depth,
                                 splat_error *error)
{
    double spacing, side = 0;
    *depth = most;
    SPLAT_TRY(find_spacing(positions, n, threads, &spacing, error));
    for (size_t k = 0; k < 3; k++) {
        float low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < n; i++) {
            low = fminf(low, positions[3 * i + k]);
            high = fmaxf(high, positions[3 * i + k]);
        }
        side = fmax(side, (double)high - (double)low);
    }
    splat_poisson_options octree;
    splat_poisson_options_default(&octree);
    if (!(spacing > 0)) return SPLAT_OK;
    double levels = floor(log2(octree.scale * side / spacing));
    if (levels < most) *depth = levels < SPLAT_POISSON_MIN_DEPTH ? SPLAT_POISSON_MIN_DEPTH : (int)levels;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- reconstruction */

/* keep[n] becomes 0 below a quantile of the density, where few points are around. */
static splat_status drop_thin(size_t n, const float *density, double quantile, uint8_t *keep, splat_error *error)
{
    if (quantile <= 0 || n == 0) return SPLAT_OK;
    float *sorted = malloc(n * sizeof *sorted);
    if (!sorted) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to trim %zu vertices", n);
    memcpy(sorted, density, n * sizeof *sorted);
    double position = quantile * (double)(n - 1);
    size_t rank = (size_t)position;
    double below = (double)splat_select_float(sorted, n, rank), above = below;
    if (rank + 1 < n) above = (double)splat_select_float(sorted + rank + 1, n - rank - 1, 0);
    double threshold = below + (position - (double)rank) * (above - below);
    for (size_t i = 0; i < n; i++) keep[i] &= (double)density[i] >= threshold;
    free(sorted);
    return SPLAT_OK;
}

static bool tell_support(void *user, double fraction)
{
    const splat_mesh_extract_options *o = user;
    return !o->progress || o->progress(o->progress_user, "trimming", fraction);
}

/* Removes surface that the solver had to invent. */
static splat_status trim(const splat_extraction *e, const splat_poisson_points *points, const float *density,
                         double cell, splat_mesh *mesh, splat_error *error)
{
    splat_mesh_extract_options user = *e->options;
    splat_mesh_support_options support = {.reach = user.support_trim, .cell = cell, .threads = e->threads,
                                          .progress = tell_support, .progress_user = &user};
    uint8_t *keep = malloc(mesh->n_vertices + 1);
    if (!keep) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to trim %zu vertices", mesh->n_vertices);
    memset(keep, 1, mesh->n_vertices);
    splat_status status = SPLAT_OK;
    if (user.support_trim > 0)
        status = splat_mesh_support(mesh, points->positions, points->n, &support, keep, error);
    if (status == SPLAT_OK)
        status = drop_thin(mesh->n_vertices, density, user.density_quantile, keep, error);
    if (status == SPLAT_OK) status = splat_mesh_keep_vertices(mesh, keep, e->threads, error);
    free(keep);
    return status;
}

/* Removes what the solver put outside of a box. */
static splat_status crop(splat_mesh *mesh, const double low[3], const double high[3], int threads, splat_error *error)
{
    uint8_t *keep = malloc(mesh->n_vertices + 1);
    if (!keep) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to crop %zu vertices", mesh->n_vertices);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t i = 0; i < mesh->n_vertices; i++) keep[i] = splat_surface_is_inside(mesh->vertices + 3 * i, low, high);
    splat_status status = splat_mesh_keep_vertices(mesh, keep, threads, error);
    free(keep);
    return status;
}

static bool tell_poisson(void *user, const char *stage, double fraction)
{
    const splat_mesh_extract_options *o = user;
    (void)stage;
    return !o->progress || o->progress(o->progress_user, "reconstructing", fraction);
}

static splat_status reconstruct(const splat_extraction *e, const splat_surface_points *points, size_t first, size_t n,
                                splat_mesh *mesh, splat_error *error)
{
    const splat_mesh_extract_options *o = e->options;
    splat_poisson_options options;
    splat_poisson_points input = {n, points->positions + 3 * first, points->normals + 3 * first,
                                  points->colors + 4 * first, points->weights ? points->weights + first : NULL};
    splat_mesh_extract_options user = *o;
    float *density = NULL;
    splat_poisson_options_default(&options);
    options.depth = e->most_depth;
    if (o->poisson_depth == 0) {
        SPLAT_TRY(splat_extract_depth(input.positions, n, e->most_depth, e->threads, &options.depth, error));
        splat_log(e->model->context, SPLAT_LOG_NOTICE, "Poisson: depth %d for %zu points", options.depth, n);
    }
    options.threads = e->threads;
    options.memory_limit_bytes = e->octree_bytes;
    options.progress = tell_poisson;
    options.progress_user = &user;
    splat_poisson_report report;
    SPLAT_TRY(splat_poisson_reconstruct(&input, &options, mesh, &density, &report, error));
    splat_status status = trim(e, &input, density, report.cell, mesh, error);
    free(density);
    return status;
}

/* rows[n] in the order of numbers, by way of room[n]. */
static void reorder(void *rows, size_t row_bytes, size_t n, const uint32_t *order, int threads, uint8_t *room)
{
    uint8_t *at = rows;
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) memcpy(room + i * row_bytes, at + order[i] * row_bytes, row_bytes);
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) memcpy(at + i * row_bytes, room + i * row_bytes, row_bytes);
    }
}

/* Swaps those of the points from `first` on that lie inside the box to the front; *n_inside: how many they are. */
static splat_status partition(splat_surface_points *points, size_t first, const double low[3], const double high[3],
                              int threads, size_t *n_inside, splat_error *error)
{
    size_t n = points->n - first, n_kept = 0;
    float *positions = points->positions + 3 * first;
    uint32_t *order = malloc((n + 1) * sizeof *order);
    uint8_t *room = malloc(12 * n + 1);
    if (order && room) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (size_t i = 0; i < n; i++) room[i] = splat_surface_is_inside(positions + 3 * i, low, high);
        for (size_t i = 0; i < n; i++) {
            order[i] = (uint32_t)i;
            if (!room[i]) continue;
            order[i] = order[n_kept];
            order[n_kept++] = (uint32_t)i;
        }
        reorder(positions, 12, n, order, threads, room);
        reorder(points->normals + 3 * first, 12, n, order, threads, room);
        reorder(points->colors + 4 * first, 4, n, order, threads, room);
        if (points->weights) reorder(points->weights + first, 4, n, order, threads, room);
    }
    splat_status status =
        order && room ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to sort %zu surface points", n);
    *n_inside = n_kept;
    free(order);
    free(room);
    return status;
}

#define LEAST_POINTS 1000 /* of a part of its own */

/* Removes the lonely ones among n points from `first` on; *n_kept: how many stay, in front. */
static splat_status drop_outliers(const splat_extraction *e, splat_surface_points *points, size_t first, size_t n,
                                  size_t *n_kept, splat_error *error)
{
    const splat_mesh_extract_options *o = e->options;
    splat_point_outlier_options options;
    splat_point_outlier_options_init(&options);
    options.n_neighbors = (uint32_t)o->outlier_neighbors;
    options.std_ratio = o->outlier_std;
    options.threads = e->threads;
    *n_kept = n;
    if (o->outlier_neighbors == 0 || n <= o->outlier_neighbors) return SPLAT_OK;
    SPLAT_TRY(splat_surface_go_on(o, "removing outliers", 0, error));
    uint8_t *keep = malloc(n);
    if (!keep) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look at %zu points", n);
    splat_status status =
        splat_point_outliers(points->positions + 3 * first, n, &options, keep, NULL, error);
    if (status == SPLAT_OK) {
        *n_kept = splat_keep_rows(points->positions + 3 * first, 12, n, keep, e->threads);
        splat_keep_rows(points->normals + 3 * first, 12, n, keep, e->threads);
        splat_keep_rows(points->colors + 4 * first, 4, n, keep, e->threads);
        if (points->weights) splat_keep_rows(points->weights + first, 4, n, keep, e->threads);
    }
    free(keep);
    return status;
}

splat_status splat_extract_poisson(const splat_extraction *e, splat_surface_points *points, splat_mesh *mesh,
                                   splat_error *error)
{
    const splat_surface_boxes *boxes = &e->boxes;
    splat_mesh far = {0};
    size_t n = points->n, n_near, n_far = 0, kept;
    SPLAT_TRY(partition(points, 0, boxes->low, boxes->high, e->threads, &n_near, error));
    if (e->options->background)
        SPLAT_TRY(partition(points, n_near, boxes->outer_low, boxes->outer_high, e->threads, &n_far, error));
    SPLAT_TRY(drop_outliers(e, points, n_near, n_far, &kept, error));
    n_far = kept;
    SPLAT_TRY(drop_outliers(e, points, 0, n_near, &kept, error));
    for (size_t i = 0; i < n_far && kept < n_near; i++) splat_surface_points_move(points, n_near + i, kept + i);
    n_near = kept;
    points->n = n_near + n_far;
    if (n < LEAST_POINTS)
        return splat_fail(error, SPLAT_ERROR_NUMERIC,
                          "the views show only %zu points of a surface, and a mesh needs %d; train longer, take larger "
                          "pictures (`mesh_extraction_resolution_factor`) or other points (`points`%s)", n,
                          LEAST_POINTS, e->options->points == SPLAT_MESH_POINTS_VIEWS ? " level" : "");
    if (n_near < LEAST_POINTS && n_far < LEAST_POINTS)
        return splat_fail(error, SPLAT_ERROR_NUMERIC,
                          "only %zu of %zu surface points lie inside the boxes; move them with `bboxmin` and "
                          "`bboxmax`, or check that the splat belongs to the scene", points->n, n);
    splat_status status = SPLAT_OK;
    if (n_near >= LEAST_POINTS) status = reconstruct(e, points, 0, n_near, mesh, error);
    if (status == SPLAT_OK && n_near >= LEAST_POINTS) status = crop(mesh, boxes->low, boxes->high, e->threads, error);
    if (status == SPLAT_OK && n_far >= LEAST_POINTS) {
        status = reconstruct(e, points, n_near, n_far, &far, error);
        if (status == SPLAT_OK) status = splat_mesh_append(mesh, &far, error);
    }
    splat_mesh_free(&far);
    return status;
}
