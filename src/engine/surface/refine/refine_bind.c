/* Bound Gaussians as the trainer steps them: the mesh as the ops take it, and the step of vertices and planes. */
#include "surface/refine/refine_parts.h"
#include "train/parts/bound_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_VERTICES 1e4 /* smaller meshes do not move faster */
#define RATE_LENGTH 10.0

splat_status splat_refine_mesh(const splat_trainer *t, splat_bound_mesh *mesh, splat_error *error)
{
    const splat_bound_state *bound = &t->bound;
    const splat_mesh counts = {.n_vertices = bound->rows[SPLAT_BOUND_vertices],
                               .n_faces = bound->rows[SPLAT_REFINE_FACES]};
    SPLAT_TRY(splat_bound_mesh_describe(&counts, t->options.refine.gaussians_per_triangle, t->scene->dataset.extent,
                                        mesh, error));
    mesh->faces = bound->arrays[SPLAT_REFINE_FACES].data;
    mesh->vertex_begin = bound->arrays[SPLAT_REFINE_VERTEX_BEGIN].data;
    mesh->vertex_corners = bound->arrays[SPLAT_REFINE_VERTEX_CORNERS].data;
    mesh->n_pairs = bound->rows[SPLAT_REFINE_PAIRS] / 2;
    mesh->pair_begin = bound->arrays[SPLAT_REFINE_PAIR_BEGIN].data;
    mesh->pairs = bound->arrays[SPLAT_REFINE_PAIRS].data;
    return SPLAT_OK;
}

static splat_bound_tensors tensors_of(const splat_block blocks[SPLAT_N_BOUND_TENSORS])
{
    return (splat_bound_tensors){
#define SPLAT_BOUND_TENSOR(name, ...) .name = blocks[SPLAT_BOUND_##name].data,
#include "math/bound.def"
#undef SPLAT_BOUND_TENSOR
    };
}

splat_bound_tensors splat_refine_tensors(const splat_trainer *t)
{
    return tensors_of(t->bound.arrays);
}

/* ---------------------------------------------------------------- rows */

void splat_refine_expect(const splat_train_options *o, size_t n, size_t n_vertices, size_t *rows)
{
    size_t n_faces = n / (size_t)o->refine.gaussians_per_triangle;
    if (!n_vertices) n_vertices = n_faces / 2 + 2; /* of a closed surface */
    rows[SPLAT_BOUND_vertices] = n_vertices;
    rows[SPLAT_BOUND_plane_scales] = rows[SPLAT_BOUND_plane_rotations] = n;
    rows[SPLAT_REFINE_FACES] = n_faces;
    rows[SPLAT_REFINE_VERTEX_BEGIN] = n_vertices + 1;
    rows[SPLAT_REFINE_VERTEX_CORNERS] = 3 * n_faces;
    rows[SPLAT_REFINE_PAIR_BEGIN] = n_faces + 1;
    rows[SPLAT_REFINE_PAIRS] = 3 * n_faces;
}

splat_status splat_refine_check_rows(const splat_train_options *o, size_t n, const uint32_t *rows, splat_error *error)
{
    size_t per_face = (size_t)o->refine.gaussians_per_triangle, n_faces = rows[SPLAT_REFINE_FACES];
    bool is_whole = n_faces && n == n_faces * per_face && rows[SPLAT_BOUND_vertices] &&
                    rows[SPLAT_BOUND_plane_scales] == n && rows[SPLAT_BOUND_plane_rotations] == n;
    if (is_whole) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                      "the checkpoint has %zu Gaussians on %zu triangles, which is not `gaussians_per_triangle %zu`", n,
                      n_faces, per_face);
}

/* ---------------------------------------------------------------- lists */

static splat_status upload_list(splat_trainer *t, int array, const uint32_t *list, splat_error *error)
{
    size_t bytes = (size_t)t->bound.rows[array] * t->options.binding->arrays[array].words * sizeof *list;
    return bytes ? splat_backend_upload(t->backend, t->bound.arrays[array].data, list, bytes, error) : SPLAT_OK;
}

static splat_status upload_lists(splat_trainer *t, const splat_bound_lists *l, splat_error *error)
{
    uint32_t rows[SPLAT_N_REFINE_ARRAYS];
    memcpy(rows, t->bound.rows, sizeof rows);
    rows[SPLAT_REFINE_VERTEX_BEGIN] = rows[SPLAT_BOUND_vertices] + 1;
    rows[SPLAT_REFINE_VERTEX_CORNERS] = 3 * rows[SPLAT_REFINE_FACES];
    rows[SPLAT_REFINE_PAIR_BEGIN] = rows[SPLAT_REFINE_FACES] + 1;
    rows[SPLAT_REFINE_PAIRS] = 2 * l->n_pairs;
    SPLAT_TRY(splat_bound_resize(t, rows, error));
    SPLAT_TRY(upload_list(t, SPLAT_REFINE_VERTEX_BEGIN, l->vertex_begin, error));
    SPLAT_TRY(upload_list(t, SPLAT_REFINE_VERTEX_CORNERS, l->vertex_corners, error));
    SPLAT_TRY(upload_list(t, SPLAT_REFINE_PAIR_BEGIN, l->pair_begin, error));
    SPLAT_TRY(upload_list(t, SPLAT_REFINE_PAIRS, l->pairs, error));
    return splat_backend_synchronize(t->backend, error);
}

splat_status splat_refine_restored(splat_trainer *t, splat_error *error)
{
    splat_bound_lists lists;
    splat_mesh mesh = {.n_vertices = t->bound.rows[SPLAT_BOUND_vertices], .n_faces = t->bound.rows[SPLAT_REFINE_FACES]};
    size_t bytes = 3 * mesh.n_faces * sizeof *mesh.faces;
    mesh.faces = malloc(bytes);
    if (!mesh.faces) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu faces", mesh.n_faces);
    splat_status status =
        splat_backend_download(t->backend, mesh.faces, t->bound.arrays[SPLAT_REFINE_FACES].data, bytes, error);
    if (status == SPLAT_OK) status = splat_bound_lists_make(&mesh, &lists, error);
    splat_mesh_free(&mesh);
    if (status != SPLAT_OK) return status;
    status = upload_lists(t, &lists, error);
    splat_bound_lists_free(&lists);
    return status;
}

/* ---------------------------------------------------------------- the step */

size_t splat_refine_scratch_bytes(const splat_train_options *o, size_t n)
{
    return splat_bind_backward_scratch_bytes(n / (size_t)o->refine.gaussians_per_triangle);
}

/* L over the scene's extent, by which positions of free Gaussians move: the finer the mesh, the shorter the way. */
static float rate_of_vertices(const splat_trainer *t)
{
    double extent = (double)t->scene->dataset.extent, radius = (double)t->options.refine.foreground_radius;
    double n = fmax((double)t->bound.rows[SPLAT_BOUND_vertices], LEAST_VERTICES);
    return (float)(RATE_LENGTH * (radius > 0 ? radius / extent : 1) / sqrt(n));
}

/* The rates and corrections of the tensors that follow are those of what they follow from. */
static splat_bound_adam adam_of(const splat_trainer *t, const splat_adam *adam)
{
    splat_bound_adam bound = {.m = tensors_of(t->bound.m), .v = tensors_of(t->bound.v)};
    for (int i = 0; i < SPLAT_N_BOUND_TENSORS; i++) {
        int follower = splat_bound_follower(i);
        bound.lr[i] = adam->lr[follower];
        bound.correction1[i] = adam->correction1[follower];
        bound.correction2[i] = adam->correction2[follower];
    }
    bound.lr[SPLAT_BOUND_vertices] *= rate_of_vertices(t);
    return bound;
}

splat_status splat_refine_step(splat_trainer *t, const splat_adam *adam, const splat_tensors *gradients,
                               splat_error *error)
{
    splat_bound_mesh mesh;
    splat_bound_tensors tensors = splat_refine_tensors(t);
    splat_bound_adam step = adam_of(t, adam);
    struct splat_bind_backward_args backward = {.mesh = &mesh,
                                                .bound = &tensors,
                                                .gaussians = &t->model->gaussians,
                                                .frame = &t->model->frame,
                                                .grad = gradients,
                                                .consistency_weight = t->options.refine.normal_consistency_factor,
                                                .consistency = t->regularizer_results.data,
                                                .adam = &step};
    if (!adam->update[SPLAT_TENSOR_means]) return SPLAT_OK;
    SPLAT_TRY(splat_refine_mesh(t, &mesh, error));
    SPLAT_TRY(splat_op_bind_backward(t->backend, &backward, error));
    return splat_refine_follow(t, error);
}

splat_status splat_refine_follow(splat_trainer *t, splat_error *error)
{
    splat_bound_mesh mesh;
    splat_bound_tensors tensors = splat_refine_tensors(t);
    SPLAT_TRY(splat_refine_mesh(t, &mesh, error));
    return splat_op_bind(t->backend, &(struct splat_bind_args){&mesh, &tensors, &t->model->gaussians}, error);
}
