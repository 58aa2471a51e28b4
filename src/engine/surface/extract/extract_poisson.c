/* Surface points to a mesh: stragglers and outliers go, then screened Poisson reconstruction of all the rest. */
#include "surface/extract/extract_poisson.h"

#include "base/context.h"
#include "base/point_outliers.h"
#include "base/point_tree.h"
#include "base/select.h"
#include "mesh/mesh_clean_vertices.h"
#include "mesh/mesh_patches.h"
#include "mesh/mesh_support.h"
#include "mesh/poisson/poisson_reconstruct.h"
#include "model/model.h"
#include "scene/scene.h"
#include "surface/extract/extraction.h"
#include "surface/extract/free_space.h"
#include "surface/extract/surface_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- the depth of the octree
 * The depth of the Poisson octree that points deserve (docs/method.md, "Poisson reconstruction"; the idea is
 * Guedon and Lepetit, Gaussian Frosting, ECCV 2024, section 4.1, whose spacing is that of Gaussians). */

#define ASKED 65536u /* points at most whose neighbours are looked for */
#define QUANTILE 0.1 /* of the distances: where points are dense, detail is */
#define VIEWS_IN_CELL 3 /* points that a cell holds, where each stands for pixels of views: half as many make 2.3 times
                           as many faces, which are no nearer to the truth */

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

static double longest_side(const splat_surface_points *points)
{
    double side = 0;
    for (size_t k = 0; k < 3; k++) {
        float low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < points->n; i++) {
            low = fminf(low, points->positions[3 * i + k]);
            high = fmaxf(high, points->positions[3 * i + k]);
        }
        side = fmax(side, (double)high - (double)low);
    }
    return side;
}

void splat_extract_octree(const splat_mesh_extract_options *options, int depth, bool is_closed,
                          splat_poisson_options *octree)
{
    splat_poisson_options_default(octree);
    octree->depth = depth;
    octree->close_sides = is_closed;
    if (options->points == SPLAT_MESH_POINTS_VIEWS) octree->samples_per_node = VIEWS_IN_CELL;
}

splat_status splat_extract_depth(const splat_surface_points *points, int most, int threads, int *depth,
                                 splat_error *error)
{
    splat_poisson_options octree;
    double spacing = INFINITY, levels;
    splat_poisson_options_default(&octree);
    double side = octree.scale * longest_side(points);
    if (points->sizes) {
        for (size_t i = 0; i < points->n; i++) spacing = fmin(spacing, (double)points->sizes[i]);
        levels = ceil(log2(side / spacing));
    } else {
        SPLAT_TRY(find_spacing(points->positions, points->n, threads, &spacing, error));
        levels = spacing > 0 ? floor(log2(side / spacing)) : most;
    }
    *depth = levels < SPLAT_POISSON_MIN_DEPTH ? SPLAT_POISSON_MIN_DEPTH : levels < most ? (int)levels : most;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- reconstruction */

#define PATCH_ROUNDNESS 1.5 /* area of a lid over a hole, of a circle as long as the hole's rim */
#define PATCH_RADIUS 0.1    /* of that circle, of the distance to the nearest camera */

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

/* Finds the vertices with points near: is_near[vertices]. */
static splat_status find_near(const splat_extraction *e, const splat_poisson_points *points, double reach, double cell,
                              const splat_mesh *mesh, uint8_t *is_near, splat_error *error)
{
    splat_mesh_extract_options user = *e->options;
    splat_mesh_support_options support = {.reach = reach, .cell = cell, .threads = e->threads,
                                          .progress = tell_support, .progress_user = &user};
    return splat_mesh_support(mesh, points->positions, points->n, &support, is_near, error);
}

/* Small holes stay closed by what the solver put there: with smooth surface, which is right more often than nothing. */
static splat_status keep_patches(const splat_extraction *e, const splat_mesh *mesh, uint8_t *keep, splat_error *error)
{
    const splat_dataset *dataset = &e->scene->dataset;
    splat_mesh_patch_options options = {.roundness = PATCH_ROUNDNESS, .most_radius = PATCH_RADIUS,
                                        .n_centers = dataset->n_train};
    float *centers = malloc((3 * dataset->n_train + 1) * sizeof *centers);
    size_t n_patches = 0;
    if (!centers) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu cameras", options.n_centers);
    for (size_t i = 0; i < dataset->n_train; i++)
        memcpy(centers + 3 * i, dataset->views[dataset->train[i]].camera.center, 3 * sizeof *centers);
    options.centers = centers;
    splat_status status = splat_mesh_keep_patches(mesh, &options, keep, &n_patches, error);
    free(centers);
    return status;
}

/* Removes surface that the solver had to invent. */
static splat_status trim(const splat_extraction *e, const splat_poisson_points *points, const float *density,
                         double cell, splat_mesh *mesh, splat_error *error)
{
    const double reach = e->options->support_trim;
    uint8_t *keep = malloc(mesh->n_vertices + 1);
    if (!keep) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to trim %zu vertices", mesh->n_vertices);
    memset(keep, 1, mesh->n_vertices);
    splat_status status = reach > 0 ? find_near(e, points, reach, cell, mesh, keep, error) : SPLAT_OK;
    if (status == SPLAT_OK)
        status = drop_thin(mesh->n_vertices, density, e->options->density_quantile, keep, error);
    if (status == SPLAT_OK) status = keep_patches(e, mesh, keep, error);
    if (status == SPLAT_OK) status = splat_mesh_keep_vertices(mesh, keep, e->threads, error);
    free(keep);
    return status;
}

#define CLOSED_REACH 1.5 /* cells or spacings */
#define LEAST_NEAR 0.1   /* of the corners of a piece's faces: have points near */

/* keep[n_faces]: 0 for faces of pieces that hardly have points near. The piece with the most corners near stays.
 * counts: [pieces], 0. */
static void choose_pieces(const splat_mesh *mesh, const uint32_t *pieces, const uint8_t *is_near, size_t (*counts)[2],
                          uint8_t *keep)
{
    size_t most = 0;
    for (size_t i = 0; i < mesh->n_faces; i++) {
        const uint32_t *f = mesh->faces + 3 * i;
        counts[pieces[i]][0] += 3;
        counts[pieces[i]][1] += (size_t)(is_near[f[0]] + is_near[f[1]] + is_near[f[2]]);
        if (counts[pieces[i]][1] > counts[most][1]) most = pieces[i];
    }
    for (size_t i = 0; i < mesh->n_faces; i++) {
        const size_t *count = counts[pieces[i]];
        keep[i] = pieces[i] == most || (double)count[1] >= LEAST_NEAR * (double)count[0];
    }
}

/* Removes the pieces of a closed mesh that the solver had to invent. */
static splat_status drop_pieces(const splat_extraction *e, const splat_poisson_points *points, double cell,
                                splat_mesh *mesh, splat_error *error)
{
    size_t n = mesh->n_faces, n_pieces = 0, n_unused = 0;
    size_t (*counts)[2] = calloc(n + 1, sizeof *counts); /* a piece's corners: all, those with points near */
    uint32_t *pieces = malloc((n + 1) * sizeof *pieces);
    uint8_t *is_near = malloc(mesh->n_vertices + 1), *keep = malloc(n + 1);
    splat_status status = counts && pieces && is_near && keep
                              ? splat_mesh_components(mesh, e->threads, pieces, &n_pieces, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look at %zu faces", n);
    if (status == SPLAT_OK) status = find_near(e, points, CLOSED_REACH, cell, mesh, is_near, error);
    if (status == SPLAT_OK) {
        choose_pieces(mesh, pieces, is_near, counts, keep);
        splat_mesh_keep_faces(mesh, keep, e->threads);
        status = splat_mesh_remove_unreferenced(mesh, e->threads, &n_unused, error);
    }
    free(counts);
    free(pieces);
    free(is_near);
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

#define EMPTY_BEFORE 0.1f /* of a depth: places nearer to the surface are left to the points */

/* Free space is empty. */
static void find_empty(void *user, const float *positions, size_t n, uint8_t *is_empty)
{
    const splat_extraction *const *of = user, *e = *of;
    size_t n_found;
    splat_free_space_find(e->space, SPLAT_FREE_BY_ALL, positions, n, EMPTY_BEFORE, e->threads, is_empty, &n_found);
    for (size_t i = 0; i < n; i++) is_empty[i] = !is_empty[i];
}

splat_status splat_extract_reconstruct(const splat_extraction *e, const splat_surface_points *points, int depth,
                                       bool is_closed, splat_mesh *mesh, double *cell, splat_error *error)
{
    splat_poisson_options options;
    splat_poisson_points input = {points->n, points->positions, points->normals, points->colors, points->weights};
    splat_mesh_extract_options user = *e->options;
    float *density = NULL;
    splat_extract_octree(&user, depth, is_closed, &options);
    if (is_closed && e->space->n) { /* what is trimmed anyway needs no help */
        options.find_empty = find_empty;
        options.empty_user = &e;
    }
    options.threads = e->threads;
    options.memory_limit_bytes = e->octree_bytes;
    options.progress = tell_poisson;
    options.progress_user = &user;
    splat_poisson_report report;
    SPLAT_TRY(splat_poisson_reconstruct(&input, &options, mesh, &density, &report, error));
    *cell = report.cell;
    splat_status status = is_closed ? drop_pieces(e, &input, report.cell, mesh, error)
                                    : trim(e, &input, density, report.cell, mesh, error);
    free(density);
    if (status != SPLAT_OK) splat_mesh_free(mesh);
    return status;
}

/* The depth that the options name, or that the points deserve. */
static splat_status choose_depth(const splat_extraction *e, const splat_surface_points *points, int *depth,
                                 splat_error *error)
{
    *depth = e->most_depth;
    if (e->options->poisson_depth) return SPLAT_OK;
    SPLAT_TRY(splat_extract_depth(points, e->most_depth, e->threads, depth, error));
    splat_log(e->model->context, SPLAT_LOG_NOTICE, "Poisson: depth %d for %zu points", *depth, points->n);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- points */

#define LEAST_POINTS 1000
#define STRAGGLERS 0.001 /* part of the points below and above their box, along each axis */
#define MARGIN 1.1       /* the domain is a cube around the box, so many times as wide as its longest side */

/* The cube that holds the points but for stragglers. Errors: MEMORY. */
static splat_status find_domain(const splat_surface_points *points, double low[3], double high[3], splat_error *error)
{
    size_t n = points->n, rank = (size_t)(STRAGGLERS * (double)n);
    float *values = malloc((n + 1) * sizeof *values);
    double half = 0;
    if (!values) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to sort %zu surface points", n);
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < n; i++) values[i] = points->positions[3 * i + k];
        low[k] = (double)splat_select_float(values, n, rank);
        high[k] = (double)splat_select_float(values, n, n - 1 - rank);
        half = fmax(half, 0.5 * MARGIN * (high[k] - low[k]));
    }
    for (int k = 0; k < 3; k++) {
        double center = 0.5 * (low[k] + high[k]);
        low[k] = center - half;
        high[k] = center + half;
    }
    free(values);
    return SPLAT_OK;
}

/* Removes the points outside of a box. */
static splat_status keep_inside(splat_surface_points *points, const double low[3], const double high[3], int threads,
                                splat_error *error)
{
    uint8_t *keep = malloc(points->n + 1);
    if (!keep) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look at %zu points", points->n);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t i = 0; i < points->n; i++) keep[i] = splat_surface_is_inside(points->positions + 3 * i, low, high);
    splat_surface_points_keep(points, keep, threads);
    free(keep);
    return SPLAT_OK;
}

/* Removes the lonely ones. */
static splat_status drop_outliers(const splat_extraction *e, splat_surface_points *points, splat_error *error)
{
    const splat_mesh_extract_options *o = e->options;
    splat_point_outlier_options options;
    splat_point_outlier_options_init(&options);
    options.n_neighbors = (uint32_t)o->outlier_neighbors;
    options.std_ratio = o->outlier_std;
    options.threads = e->threads;
    options.sizes = points->sizes;
    if (o->outlier_neighbors == 0 || points->n <= o->outlier_neighbors) return SPLAT_OK;
    SPLAT_TRY(splat_surface_go_on(o, "removing outliers", 0, error));
    uint8_t *keep = malloc(points->n);
    if (!keep) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look at %zu points", points->n);
    splat_status status = splat_point_outliers(points->positions, points->n, &options, keep, NULL, error);
    if (status == SPLAT_OK) splat_surface_points_keep(points, keep, e->threads);
    free(keep);
    return status;
}

splat_status splat_extract_poisson(const splat_extraction *e, splat_surface_points *points, splat_mesh *mesh,
                                   int *depth, splat_error *error)
{
    const splat_mesh_extract_options *o = e->options;
    const bool is_closed = o->surface == SPLAT_MESH_CLOSED;
    size_t n = points->n;
    double cell, low[3], high[3];
    if (n < LEAST_POINTS)
        return splat_fail(error, SPLAT_ERROR_NUMERIC,
                          "the views show only %zu points of a surface, and a mesh needs %d; train longer, take larger "
                          "pictures (`mesh_extraction_resolution_factor`) or other points (`points`%s)", n,
                          LEAST_POINTS, o->points == SPLAT_MESH_POINTS_VIEWS ? " level" : "");
    if (o->has_bbox) SPLAT_TRY(keep_inside(points, o->bbox_low, o->bbox_high, e->threads, error));
    if (points->n < LEAST_POINTS)
        return splat_fail(error, SPLAT_ERROR_NUMERIC,
                          "only %zu of %zu surface points lie inside the box; move it with `bboxmin` and `bboxmax`, or "
                          "check that the splat belongs to the scene", points->n, n);
    SPLAT_TRY(find_domain(points, low, high, error));
    SPLAT_TRY(keep_inside(points, low, high, e->threads, error));
    SPLAT_TRY(drop_outliers(e, points, error));
    SPLAT_TRY(choose_depth(e, points, depth, error));
    SPLAT_TRY(splat_extract_reconstruct(e, points, *depth, is_closed, mesh, &cell, error));
    if (!o->has_bbox || is_closed) return SPLAT_OK; /* a cut would open it */
    splat_status status = crop(mesh, o->bbox_low, o->bbox_high, e->threads, error);
    if (status != SPLAT_OK) splat_mesh_free(mesh);
    return status;
}
