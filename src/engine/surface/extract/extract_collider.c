/* The collider: the steps of a closed mesh at a lower depth, then outward. */
#include "surface/extract/extract_collider.h"

#include "base/context.h"
#include "mesh/mesh_bvh.h"
#include "mesh/mesh_clean.h"
#include "mesh/mesh_edges.h"
#include "mesh/mesh_simplify.h"
#include "mesh/poisson/poisson.h"
#include "model/model.h"
#include "surface/extract/extract_free.h"
#include "surface/extract/extract_poisson.h"
#include "surface/extract/extract_visible.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_PART 8  /* pieces have fewer faces than those of the mesh */
#define OUTWARD 0.5   /* cells */
#define DEEPEST 4.0   /* cells: farther inside there is another surface, such as the lid below a ground */

splat_status splat_mesh_collider_path(const char *path, char *text, size_t size, splat_error *error)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    int stem = dot ? (int)(dot - path) : (int)strlen(path);
    int length = snprintf(text, size, "%.*s_collider%s", stem, path, dot ? dot : "");
    if (length >= 0 && (size_t)length < size) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the path %.200s... is too long for that of a collider", path);
}

/* Cleans and simplifies. */
static splat_status simplify(const splat_extraction *e, splat_mesh *mesh, splat_error *error)
{
    const splat_mesh_extract_options *o = e->options;
    splat_mesh_clean_options cleaning;
    splat_mesh_simplify_options options;
    size_t n_free, n_unseen;
    splat_mesh_clean_options_init(&cleaning);
    cleaning.merge_distance = -1;
    cleaning.min_component_faces = o->min_component_faces / PIECE_PART;
    cleaning.threads = e->threads;
    SPLAT_TRY(splat_mesh_clean(mesh, &cleaning, NULL, error));
    SPLAT_TRY(splat_extract_drop_free(e, mesh, &n_free, error));
    SPLAT_TRY(splat_extract_drop_invisible(e, mesh, &n_unseen, error));
    if (mesh->n_faces == 0)
        return splat_fail(error, SPLAT_ERROR_NUMERIC, "nothing is left of the collider: all its pieces have fewer than "
                          "%zu faces", cleaning.min_component_faces);
    splat_mesh_simplify_options_init(&options);
    options.target_faces = o->collider_faces;
    options.threads = e->threads;
    options.progress = o->progress;
    options.progress_user = o->progress_user;
    SPLAT_TRY(splat_mesh_simplify(mesh, &options, NULL, error));
    free(mesh->colors);
    mesh->colors = NULL;
    return splat_mesh_compute_normals(mesh, e->threads, error);
}

/* is_border[n_vertices]: 1 at edges with one face. */
static splat_status find_border(const splat_mesh *mesh, int threads, uint8_t *is_border, splat_error *error)
{
    splat_mesh_edges edges;
    SPLAT_TRY(splat_mesh_edges_make(mesh, threads, &edges, error));
    memset(is_border, 0, mesh->n_vertices);
    for (size_t v = 0; v < mesh->n_vertices; v++)
        for (size_t i = edges.starts[v], end; i < edges.starts[v + 1]; i = end) {
            end = splat_mesh_edges_run(&edges, i, edges.starts[v + 1]);
            if (end - i == 1) is_border[v] = is_border[edges.uses[i].high] = 1;
        }
    splat_mesh_edges_free(&edges);
    return SPLAT_OK;
}

/* Moves a vertex that lies inside the mesh, by one to DEEPEST cells, to half a cell before it. Behind a border of the
 * mesh nothing is known. Normals are those of the mesh's vertices. */
static bool lift(const splat_mesh_bvh *bvh, const uint8_t *is_border, double cell, float *vertex)
{
    const splat_mesh *mesh = bvh->mesh;
    const double place[3] = {vertex[0], vertex[1], vertex[2]};
    double normal[3] = {0, 0, 0}, middle[3] = {0, 0, 0}, height = 0, length = 0;
    uint32_t face;
    double distance = splat_mesh_bvh_nearest(bvh, place, &face);
    if (!(distance > cell && distance <= DEEPEST * cell)) return false;
    for (size_t k = 0; k < 3; k++) {
        size_t corner = mesh->faces[3 * (size_t)face + k];
        if (is_border[corner]) return false;
        for (size_t a = 0; a < 3; a++) {
            normal[a] += (double)mesh->normals[3 * corner + a];
            middle[a] += (double)mesh->vertices[3 * corner + a] / 3;
        }
    }
    for (int a = 0; a < 3; a++) {
        height += normal[a] * (place[a] - middle[a]);
        length += normal[a] * normal[a];
    }
    if (!(height < 0)) return false;
    for (int a = 0; a < 3; a++) vertex[a] = (float)(middle[a] + OUTWARD * cell * normal[a] / sqrt(length));
    return true;
}

static splat_status move_outward(const splat_extraction *e, const splat_mesh *mesh, double cell, splat_mesh *collider,
                                 splat_error *error)
{
    splat_mesh_bvh bvh;
    size_t n_lifted = 0;
    uint8_t *is_border = malloc(mesh->n_vertices + 1);
    if (!is_border) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to compare a collider with its mesh");
    for (size_t i = 0; i < 3 * collider->n_vertices; i++)
        collider->vertices[i] += (float)(OUTWARD * cell) * collider->normals[i];
    splat_status status = find_border(mesh, e->threads, is_border, error);
    if (status == SPLAT_OK) status = splat_mesh_bvh_make(mesh, e->threads, &bvh, error);
    if (status == SPLAT_OK) {
#pragma omp parallel for num_threads(e->threads) schedule(dynamic, 256) reduction(+ : n_lifted)
        for (size_t i = 0; i < collider->n_vertices; i++)
            n_lifted += lift(&bvh, is_border, cell, collider->vertices + 3 * i);
        splat_mesh_bvh_free(&bvh);
        status = splat_mesh_compute_normals(collider, e->threads, error);
    }
    free(is_border);
    if (n_lifted)
        splat_log(e->model->context, SPLAT_LOG_NOTICE, "%zu of %zu vertices of the collider lay inside the mesh",
                  n_lifted, collider->n_vertices);
    return status;
}

splat_status splat_extract_collider(const splat_extraction *e, const splat_surface_points *points, int depth,
                                    const splat_mesh *mesh, splat_mesh *collider, splat_error *error)
{
    splat_mesh_extract_options options = *e->options;
    splat_extraction own = *e;
    double cell;
    own.options = &options;
    options.surface = SPLAT_MESH_CLOSED;
    depth = depth - SPLAT_COLLIDER_LEVELS;
    if (depth < SPLAT_POISSON_MIN_DEPTH) depth = SPLAT_POISSON_MIN_DEPTH;
    SPLAT_TRY(splat_extract_reconstruct(&own, points, depth, true, collider, &cell, error));
    splat_status status = simplify(&own, collider, error);
    if (status == SPLAT_OK) status = move_outward(&own, mesh, cell, collider, error);
    if (status != SPLAT_OK) splat_mesh_free(collider);
    return status;
}
