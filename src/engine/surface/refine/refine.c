/* Refinement as the trainer sees it: its options, its arrays, its losses; and the step of the bound Gaussians. */
#include "surface/refine/refine.h"

#include "base/options.h"
#include "mesh/mesh.h"
#include "ops/bind/bind.h"
#include "surface/bound/bound.h"
#include "surface/refine/refine_save.h"
#include "train/parts/bound_rows.h"
#include "train/parts/regularizer.h"
#include "train/train_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_VERTICES 1e4 /* smaller meshes do not move faster */
#define RATE_LENGTH 10.0

/* The mesh and the bound parameters of a trainer: device memory. */
static splat_status describe_mesh(const splat_trainer *t, splat_bound_mesh *mesh, splat_error *error)
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

static void expect_rows(const splat_train_options *o, size_t n, size_t n_vertices, size_t *rows)
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

static splat_status check_rows(const splat_train_options *o, size_t n, const uint32_t *rows, splat_error *error)
{
    size_t per_face = (size_t)o->refine.gaussians_per_triangle, n_faces = rows[SPLAT_REFINE_FACES];
    const size_t n_bound = n_faces * per_face; /* Gaussians behind these are free */
    bool is_whole = n_faces && n >= n_bound && n - n_bound <= splat_bound_most_free(n_bound) &&
                    rows[SPLAT_BOUND_vertices] && rows[SPLAT_BOUND_plane_scales] == n_bound &&
                    rows[SPLAT_BOUND_plane_rotations] == n_bound;
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

static size_t scratch_bytes(const splat_train_options *o, size_t n)
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

static splat_status step_bound(splat_trainer *t, const splat_adam *adam, const splat_tensors *gradients, bool of_seen,
                               splat_error *error)
{
    const splat_frame *frame = &t->model->frame;
    const bool has_all = frame->n_visible == t->model->gaussians.n; /* as on a device, the unseen as well */
    splat_bound_mesh mesh;
    splat_bound_tensors tensors = splat_refine_tensors(t);
    splat_bound_adam step = adam_of(t, adam);
    struct splat_bind_backward_args backward = {.mesh = &mesh,
                                                .bound = &tensors,
                                                .gaussians = &t->model->gaussians,
                                                .frame = &t->model->frame,
                                                .grad = gradients,
                                                .depth = of_seen && has_all ? frame->depth : NULL,
                                                .consistency_weight = t->options.refine.normal_consistency_factor,
                                                .consistency = t->regularizer_results.data,
                                                .adam = &step};
    if (!adam->update[SPLAT_TENSOR_means]) return SPLAT_OK;
    SPLAT_TRY(describe_mesh(t, &mesh, error));
    SPLAT_TRY(splat_op_bind_backward(t->backend, &backward, error));
    return splat_refine_follow(t, error);
}

splat_status splat_refine_follow(splat_trainer *t, splat_error *error)
{
    splat_bound_mesh mesh;
    splat_bound_tensors tensors = splat_refine_tensors(t);
    SPLAT_TRY(describe_mesh(t, &mesh, error));
    return splat_op_bind(t->backend, &(struct splat_bind_args){&mesh, &tensors, &t->model->gaussians}, error);
}

/* ---------------------------------------------------------------- the table */

static splat_status check(const splat_train_options *o, splat_error *error)
{
    if (!splat_bound_is_per_face(o->refine.gaussians_per_triangle))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`gaussians_per_triangle` must be 1, 3, 4 or 6, not %d",
                          o->refine.gaussians_per_triangle);
    if (o->densify_until_iter > 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "bound Gaussians stay as many as they are: densify_until_iter "
                          "must be 0, not %d", o->densify_until_iter);
    if (o->binding != &splat_refine_binding)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "options of a refinement are made by "
                          "splat_train_options_init_refine");
    return SPLAT_OK;
}

/* Before the photo's view; the loss itself comes with the gradients, after it (bind_backward). */
static splat_status step(splat_trainer *t, int iteration, uint32_t view, splat_tensors *gradients, bool *any,
                         splat_error *error)
{
    double *results;
    (void)iteration;
    (void)view;
    (void)gradients;
    *any = false;
    if (t->bound.rows[SPLAT_REFINE_FACES] == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "a refinement begins with a mesh, or with a checkpoint of a refinement");
    return splat_trainer_regularizer_results(t, &results, error); /* the step will write there */
}

static size_t losses(const splat_trainer *t, const double *results, splat_loss list[SPLAT_MAX_LOSSES])
{
    list[0] = (splat_loss){"normal_consistency", "normal consistency", "Loss/component_normal_consistency",
                           results && t->iteration > 0 ? results[0] : (double)NAN,
                           (double)t->options.refine.normal_consistency_factor, false};
    return 1;
}

static const splat_regularizer regularizer = {
    .stage = "refine",
    .title = "refinement",
    .continues_splat = true,
    .least_gaussians = 4, /* until the mesh is there */
    .arrays_title = "none",
    .results_name = "normal consistency",
    .n_results = 1,
    .check = check,
    .step = step,
    .losses = losses,
};

#define TRAINED(bound_name, n) {.name = #bound_name, .m = "adam_m." #bound_name, .v = "adam_v." #bound_name, .words = n}
#define INDICES(title, n, below, derived)                                                                              \
    {.name = title, .words = n, .is_index = true, .index_of = below, .is_derived = derived}

static const splat_bound_array arrays[SPLAT_N_REFINE_ARRAYS] = {
#define SPLAT_BOUND_TENSOR(name, channels, ...) [SPLAT_BOUND_##name] = TRAINED(name, channels),
#include "math/bound.def"
#undef SPLAT_BOUND_TENSOR
    [SPLAT_REFINE_FACES] = INDICES("faces", 3, SPLAT_BOUND_vertices, false),
    [SPLAT_REFINE_VERTEX_BEGIN] = INDICES("corners of vertices", 1, 0, true),
    [SPLAT_REFINE_VERTEX_CORNERS] = INDICES("corners by vertex", 1, 0, true),
    [SPLAT_REFINE_PAIR_BEGIN] = INDICES("pairs of faces", 1, 0, true),
    [SPLAT_REFINE_PAIRS] = INDICES("neighbours by face", 1, 0, true),
};
_Static_assert(SPLAT_N_REFINE_ARRAYS <= SPLAT_MAX_BOUND_ARRAYS, "the trainer has no room for the arrays");

const splat_binding splat_refine_binding = {
    .title = "bound mesh",
    .follows = 1u << SPLAT_TENSOR_means | 1u << SPLAT_TENSOR_scales | 1u << SPLAT_TENSOR_rotations,
    .arrays = arrays,
    .n_arrays = SPLAT_N_REFINE_ARRAYS,
    .expect = expect_rows,
    .check = check_rows,
    .restored = splat_refine_restored,
    .scratch_bytes = scratch_bytes,
    .step = step_bound,
    .file = "mesh.ply",
    .save = splat_refine_save,
};

void splat_train_options_init_refine_sized(splat_train_options *options, size_t size)
{
    splat_train_options defaults;
    splat_train_options_init(&defaults);
    defaults.regularizer = &regularizer;
    defaults.binding = &splat_refine_binding;
    splat_train_options_apply_preset(&defaults, "refine");
    splat_options_give(options, size, &defaults, sizeof defaults);
}
