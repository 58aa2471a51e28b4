/* bind_backward: the reference against central differences of bind in double, the backend against the reference, Adam,
 * and what must have no gradient. */
#include "ops/bind/bind_test.h"

#include "ops/loss/loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- the reference against differences */

/* A linear functional of what bind gives: weights of means, scales and the matrix of each rotation, which has no sign
 * to choose as its quaternion has. */
typedef struct functional {
    ref_bound_f64 bound;
    const bind_mesh *mesh;
    float *means, *scales, *matrices; /* [n][3], [n][3], [n][9] */
    double consistency_weight;
    double *out_means, *out_scales, *out_rotations;
    bool *hidden;
} functional;

static functional functional_make(const bind_mesh *mesh, double consistency_weight)
{
    const size_t n = mesh->n;
    return (functional){.bound = bind_reference_f64(mesh),
                        .mesh = mesh,
                        .means = bind_random(51, 3 * n),
                        .scales = bind_random(52, 3 * n),
                        .matrices = bind_random(53, 9 * n),
                        .consistency_weight = consistency_weight,
                        .out_means = calloc(3 * n + 1, sizeof(double)),
                        .out_scales = calloc(3 * n + 1, sizeof(double)),
                        .out_rotations = calloc(4 * n + 1, sizeof(double)),
                        .hidden = calloc(n + 1, sizeof(bool))};
}

static void functional_free(functional *f)
{
    bind_reference_free_f64(&f->bound);
    free(f->means), free(f->scales), free(f->matrices);
    free(f->out_means), free(f->out_scales), free(f->out_rotations), free(f->hidden);
}

/* sum_ab weights_ab R_ab, and its gradient by the quaternion, across it. */
static double matrix_value(const double q[4], const float weights[9], double gradient[4])
{
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
                         2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                         2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)};
    const double slopes[4][9] = {{0, -z, y, z, 0, -x, -y, x, 0},
                                 {0, y, z, y, -2 * x, -w, z, w, -2 * x},
                                 {-2 * y, x, w, x, 0, z, -w, z, -2 * y},
                                 {-2 * z, -w, x, w, -2 * z, y, x, y, 0}};
    double sum = 0, along = 0;
    for (int i = 0; i < 9; i++) sum += (double)weights[i] * r[i];
    for (int k = 0; k < 4; k++) {
        gradient[k] = 0;
        for (int i = 0; i < 9; i++) gradient[k] += 2 * (double)weights[i] * slopes[k][i];
        along += gradient[k] * q[k];
    }
    for (int k = 0; k < 4; k++) gradient[k] -= along * q[k];
    return sum;
}

static double functional_value(functional *f)
{
    const size_t n = f->mesh->n;
    ref_bind_f64(&f->bound, f->out_means, f->out_scales, f->out_rotations, f->hidden);
    double sum = f->consistency_weight * ref_normal_consistency_f64(&f->bound, f->mesh->n_pairs,
                                                                    (const uint32_t(*)[4])f->mesh->pairs, 0, NULL);
    for (size_t i = 0; i < n; i++) {
        double unused[4];
        if (f->hidden[i]) continue;
        for (size_t k = 3 * i; k < 3 * i + 3; k++)
            sum += (double)f->means[k] * f->out_means[k] + (double)f->scales[k] * f->out_scales[k];
        sum += matrix_value(f->out_rotations + 4 * i, f->matrices + 9 * i, unused);
    }
    return sum;
}

/* dL/d(means, scales, rotations) of the functional at f->out_*, in the layout of the op. */
static void functional_gradients(const functional *f, double *means, double *scales, double *rotations)
{
    for (size_t i = 0; i < 3 * (size_t)f->mesh->n; i++) {
        means[i] = (double)f->means[i];
        scales[i] = (double)f->scales[i];
    }
    for (size_t i = 0; i < f->mesh->n; i++)
        matrix_value(f->out_rotations + 4 * i, f->matrices + 9 * i, rotations + 4 * i);
}

/* Steps of 1e-6; third derivatives of frames whose edges are 0.1 reach 1e5, which leaves 1e-7 of truncation, and values
 * near 100 leave 1e-8 of rounding. A complex number of length 0 is left out: its Gaussian is tested elsewhere. */
static int check_differences(functional *f, double *values, const double *gradients, size_t n, const char *name)
{
    int failures = 0;
    for (size_t i = 0; i < n; i++) {
        double kept = values[i], step = 1e-6;
        if (!isfinite(kept) || (values == f->bound.plane_rotations && kept == 0)) continue;
        values[i] = kept + step;
        double above = functional_value(f);
        values[i] = kept - step;
        double below = functional_value(f);
        values[i] = kept;
        double difference = (above - below) / (2 * step);
        TEST_CHECK(failures, fabs(difference - gradients[i]) <= 1e-6 * fabs(gradients[i]) + 1e-6,
                   "%s %zu: gradient %.9g, difference %.9g", name, i, gradients[i], difference);
    }
    return failures;
}

static int test_reference(int per_face, bool odd, double consistency_weight)
{
    int failures = 0;
    bind_mesh mesh = bind_mesh_make(3, 2, per_face, true, odd, 60 + (uint64_t)per_face);
    functional f = functional_make(&mesh, consistency_weight);
    if (odd) f.bound.least_area = 1e-5, f.bound.least_edge = 1e-4; /* steps must not make a degenerate face another */
    ref_bound_f64 out = bind_reference_f64(&mesh);
    const size_t n = mesh.n;
    double *means = calloc(3 * n + 1, sizeof *means), *scales = calloc(3 * n + 1, sizeof *scales);
    double *rotations = calloc(4 * n + 1, sizeof *rotations);
    functional_value(&f);
    functional_gradients(&f, means, scales, rotations);
    ref_bind_backward_f64(&f.bound, means, scales, rotations, &out);
    ref_normal_consistency_f64(&f.bound, mesh.n_pairs, (const uint32_t(*)[4])mesh.pairs, consistency_weight,
                               out.vertices);
    failures += check_differences(&f, f.bound.vertices, out.vertices, 3 * (size_t)mesh.n_vertices, "vertices");
    failures += check_differences(&f, f.bound.plane_scales, out.plane_scales, 2 * (size_t)mesh.n, "plane_scales");
    failures += check_differences(&f, f.bound.plane_rotations, out.plane_rotations, 2 * (size_t)mesh.n,
                                  "plane_rotations");
    free(means), free(scales), free(rotations);
    bind_reference_free_f64(&out);
    functional_free(&f);
    bind_mesh_free(&mesh);
    return failures;
}

/* ---------------------------------------------------------------- the backend */

/* Input and output of bind_backward in addition to a scene. Must not be copied. */
typedef struct backward_scene {
    bind_scene scene;
    splat_frame frame;
    splat_tensors grad;
    splat_bound_tensors gradients;
    splat_bound_adam adam;
    double *consistency;
    const float *depth;    /* NULL: every Gaussian is seen */
    uint32_t n_degenerate; /* after backward_run */
    float *host_means, *host_scales, *host_rotations; /* of grad */
} backward_scene;

static size_t floats_of(const bind_mesh *mesh, int tensor)
{
    return tensor == SPLAT_BOUND_vertices ? 3 * (size_t)mesh->n_vertices : 2 * (size_t)mesh->n;
}

static float **tensor_of(splat_bound_tensors *tensors, int tensor)
{
    float **all[] = {&tensors->vertices, &tensors->plane_scales, &tensors->plane_rotations};
    return all[tensor];
}

static const char *name_of(int tensor)
{
    static const char *const names[] = {
#define SPLAT_BOUND_TENSOR(name, ...) #name,
#include "math/bound.def"
#undef SPLAT_BOUND_TENSOR
    };
    return names[tensor];
}

static float *copy_of(const backward_scene *s, const bind_mesh *mesh, splat_bound_tensors *tensors, int tensor)
{
    return project_host_copy(s->scene.backend, *tensor_of(tensors, tensor), floats_of(mesh, tensor));
}

/* Gradients across the quaternions that bind wrote. */
static void make_rotation_gradients(backward_scene *s, const bind_mesh *mesh)
{
    float *q = project_host_copy(s->scene.backend, s->scene.gaussians.p.rotations, 4 * (size_t)mesh->n);
    for (size_t i = 0; i < mesh->n; i++) {
        float *g = s->host_rotations + 4 * i, along = 0;
        for (size_t k = 0; k < 4; k++) along += g[k] * q[4 * i + k];
        for (size_t k = 0; k < 4; k++) g[k] -= along * q[4 * i + k];
    }
    free(q);
}

/* The host's gradients become those of the op. */
static void upload_gradients(const backward_scene *s, const bind_mesh *mesh)
{
    splat_backend *backend = s->scene.backend;
    splat_backend_upload(backend, s->grad.means, s->host_means, 12 * (size_t)mesh->n, NULL);
    splat_backend_upload(backend, s->grad.scales, s->host_scales, 12 * (size_t)mesh->n, NULL);
    splat_backend_upload(backend, s->grad.rotations, s->host_rotations, 16 * (size_t)mesh->n, NULL);
}

static int backward_open(backward_scene *s, splat_backend *backend, const bind_mesh *mesh)
{
    const size_t n = mesh->n;
    splat_camera camera = test_camera_make(32, 32);
    splat_error error = {0};
    memset(s, 0, sizeof *s);
    bind_scene_open(&s->scene, backend, mesh);
    int failures = bind_scene_run(&s->scene);
    TEST_CHECK(failures, splat_view_begin(backend, &s->frame, mesh->n, &camera, &error) == SPLAT_OK, "%s",
               error.message);
    s->host_means = bind_random(71, 3 * n);
    s->host_scales = bind_random(72, 3 * n);
    s->host_rotations = bind_random(73, 4 * n);
    make_rotation_gradients(s, mesh);
    s->grad.means = bind_scene_upload(&s->scene, s->host_means, 3 * n * sizeof(float));
    s->grad.scales = bind_scene_upload(&s->scene, s->host_scales, 3 * n * sizeof(float));
    s->grad.rotations = bind_scene_upload(&s->scene, s->host_rotations, 4 * n * sizeof(float));
    for (int t = 0; t < SPLAT_N_BOUND_TENSORS; t++) {
        *tensor_of(&s->gradients, t) = bind_scene_upload(&s->scene, NULL, floats_of(mesh, t) * sizeof(float));
        *tensor_of(&s->adam.m, t) = bind_scene_upload(&s->scene, NULL, floats_of(mesh, t) * sizeof(float));
        *tensor_of(&s->adam.v, t) = bind_scene_upload(&s->scene, NULL, floats_of(mesh, t) * sizeof(float));
    }
    s->consistency = bind_scene_upload(&s->scene, (double[]){NAN}, sizeof(double));
    return failures;
}

static void backward_close(backward_scene *s)
{
    splat_frame_free(s->scene.backend, &s->frame);
    bind_scene_close(&s->scene);
    free(s->host_means), free(s->host_scales), free(s->host_rotations);
}

static int backward_run(backward_scene *s, float weight, bool step, double *loss)
{
    int failures = 0;
    splat_error error = {0};
    struct splat_bind_backward_args args = {.mesh = &s->scene.mesh,
                                            .bound = &s->scene.bound,
                                            .gaussians = &s->scene.gaussians,
                                            .frame = &s->frame,
                                            .grad = &s->grad,
                                            .depth = s->depth,
                                            .consistency_weight = weight,
                                            .consistency = s->consistency,
                                            .adam = step ? &s->adam : NULL,
                                            .gradients = &s->gradients};
    TEST_CHECK(failures, splat_op_bind_backward(s->scene.backend, &args, &error) == SPLAT_OK, "%s", error.message);
    test_download(s->scene.backend, loss, s->consistency, sizeof *loss);
    splat_step_result result = {.n_degenerate = s->frame.n_degenerate};
    if (splat_backend_result_latency(s->scene.backend)) {
        splat_backend_post_result(s->scene.backend, &s->frame, 0, NULL);
        splat_backend_take_result(s->scene.backend, 0, &result, NULL);
    }
    s->n_degenerate = result.n_degenerate;
    return failures;
}

/* The result of the reference for the same gradients. Quaternions of both may differ in sign. */
static ref_bound_f64 expected_of(const backward_scene *s, const bind_mesh *mesh, double weight, double *loss)
{
    const size_t n = mesh->n;
    ref_bound_f64 bound = bind_reference_f64(mesh), out = bind_reference_f64(mesh);
    double *means = calloc(3 * n + 1, sizeof *means), *scales = calloc(3 * n + 1, sizeof *scales);
    double *rotations = calloc(4 * n + 1, sizeof *rotations);
    bool *hidden = calloc(n + 1, sizeof *hidden);
    float *q = project_host_copy(s->scene.backend, s->scene.gaussians.p.rotations, 4 * n);
    ref_bind_f64(&bound, means, scales, rotations, hidden);
    for (size_t i = 0; i < n; i++) {
        double sign = 0;
        for (size_t k = 4 * i; k < 4 * i + 4; k++) sign += rotations[k] * (double)q[k];
        for (size_t k = 4 * i; k < 4 * i + 4; k++) rotations[k] = (sign < 0 ? -1 : 1) * (double)s->host_rotations[k];
    }
    for (size_t k = 0; k < 3 * n; k++) {
        means[k] = (double)s->host_means[k];
        scales[k] = (double)s->host_scales[k];
    }
    ref_bind_backward_f64(&bound, means, scales, rotations, &out);
    *loss = ref_normal_consistency_f64(&bound, mesh->n_pairs, (const uint32_t(*)[4])mesh->pairs, weight, out.vertices);
    free(means), free(scales), free(rotations), free(hidden), free(q);
    bind_reference_free_f64(&bound);
    return out;
}

/* Edges of 0.1 and positions near 1: sides are right to 1e-6, normals of the flattest faces to 1e-5, and gradients
 * from them to the same part of the tensor's largest; most are far better. */
static int compare_tensor(const float *got, const double *expected, size_t n, const char *name)
{
    int failures = 0;
    double largest = 0, errors = 0, power = 0, worst = 0;
    for (size_t i = 0; i < n; i++) {
        double difference = (double)got[i] - expected[i];
        largest = fmax(largest, fabs(expected[i]));
        worst = isfinite(difference) ? fmax(worst, fabs(difference)) : INFINITY;
        errors += difference * difference;
        power += expected[i] * expected[i];
    }
    TEST_CHECK(failures, worst <= 2e-5 * largest && errors <= 1e-11 * power, "%s: worst %g of %g, NMSE %g", name, worst,
               largest, errors / power);
    return failures;
}

/* The gradients of the last run against the reference's. *loss: the reference's consistency. */
static int compare_gradients(backward_scene *s, const bind_mesh *mesh, double weight, double *loss)
{
    int failures = 0;
    ref_bound_f64 expected = expected_of(s, mesh, weight, loss);
    double *const values[] = {expected.vertices, expected.plane_scales, expected.plane_rotations};
    for (int t = 0; t < SPLAT_N_BOUND_TENSORS; t++) {
        float *got = copy_of(s, mesh, &s->gradients, t);
        failures += compare_tensor(got, values[t], floats_of(mesh, t), name_of(t));
        free(got);
    }
    bind_reference_free_f64(&expected);
    return failures;
}

static int compare_all(backward_scene *s, const bind_mesh *mesh, float weight)
{
    int failures = 0;
    double loss, expected_loss;
    failures += backward_run(s, weight, false, &loss);
    failures += compare_gradients(s, mesh, (double)weight, &expected_loss);
    TEST_CHECK(failures, fabs(loss - expected_loss) <= 1e-5 * expected_loss, "consistency %.9g, not %.9g", loss,
               expected_loss);
    TEST_CHECK(failures, s->n_degenerate == 0, "%u are degenerate", s->n_degenerate);
    return failures;
}

/* The same bytes from one thread and from several, after a step, too. */
static int same_bytes(backward_scene *s, const bind_mesh *mesh)
{
    int failures = 0;
    double loss, other_loss;
    splat_backend *other = project_other_backend(s->scene.backend);
    backward_scene again;
    failures += backward_open(&again, other ? other : s->scene.backend, mesh);
    for (int t = 0; t < SPLAT_N_BOUND_TENSORS; t++) {
        s->adam.lr[t] = again.adam.lr[t] = 0.01f;
        s->adam.correction1[t] = again.adam.correction1[t] = 0.1f;
        s->adam.correction2[t] = again.adam.correction2[t] = 0.001f;
    }
    failures += backward_run(s, 2, true, &loss) + backward_run(&again, 2, true, &other_loss);
    TEST_CHECK(failures, loss == other_loss, "another consistency: %.17g, %.17g", loss, other_loss);
    for (int t = 0; t < SPLAT_N_BOUND_TENSORS; t++) {
        float *a = copy_of(s, mesh, &s->scene.bound, t), *b = copy_of(&again, mesh, &again.scene.bound, t);
        TEST_CHECK(failures, memcmp(a, b, floats_of(mesh, t) * sizeof *a) == 0, "%s: other bytes", name_of(t));
        free(a), free(b);
    }
    backward_close(&again);
    splat_backend_destroy(other);
    return failures;
}

static int test_mesh(splat_backend *backend, uint32_t columns, uint32_t rows, int per_face, bool odd)
{
    bind_mesh mesh = bind_mesh_make(columns, rows, per_face, true, odd, 80 + (uint64_t)per_face);
    backward_scene s;
    int failures = backward_open(&s, backend, &mesh);
    failures += compare_all(&s, &mesh, 0) + compare_all(&s, &mesh, 300);
    size_t used = backend->scratch.used, stated = splat_bind_backward_scratch_bytes(mesh.n_faces);
    TEST_CHECK(failures, used >= stated && used <= stated + 2 * 512, "%zu bytes of scratch, stated %zu", used, stated);
    failures += same_bytes(&s, &mesh);
    backward_close(&s);
    if (failures) fprintf(stderr, "  ^ %u x %u, %d a face, %s\n", columns, rows, per_face, backend->description);
    bind_mesh_free(&mesh);
    return failures;
}

static int all_zero(const float *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (values[i] != 0) return 0;
    return 1;
}

/* Degenerate faces, and vertices without a face, have no gradient at all, and a step does not change them by a bit. */
static int test_zero(splat_backend *backend)
{
    enum { PER_FACE = 3, LAST = 3 };
    int failures = 0;
    double loss;
    bind_mesh mesh = bind_mesh_make(6, 6, PER_FACE, false, true, 90);
    backward_scene s;
    failures += backward_open(&s, backend, &mesh);
    for (int t = 0; t < SPLAT_N_BOUND_TENSORS; t++) {
        s.adam.lr[t] = 0.01f;
        s.adam.correction1[t] = 0.1f;
        s.adam.correction2[t] = 0.001f;
    }
    failures += backward_run(&s, 2, true, &loss);
    float *vertices = copy_of(&s, &mesh, &s.gradients, SPLAT_BOUND_vertices);
    float *moved = copy_of(&s, &mesh, &s.scene.bound, SPLAT_BOUND_vertices);
    /* the last four: of the face without area, of the one without an edge, the infinite one, the one without a face */
    const size_t n_vertices = mesh.n_vertices, from = 3 * (n_vertices - 4), n_gaussians = (size_t)LAST * PER_FACE;
    TEST_CHECK(failures, all_zero(vertices + from, 12), "a vertex has a gradient");
    TEST_CHECK(failures, memcmp(moved + from, mesh.vertices + from, 12 * sizeof(float)) == 0, "a vertex moved");
    TEST_CHECK(failures, !all_zero(vertices + from - 3, 3) && moved[from - 3] != mesh.vertices[from - 3],
               "the vertex before did not");
    for (int t = SPLAT_BOUND_plane_scales; t <= SPLAT_BOUND_plane_rotations; t++) {
        float *gradient = copy_of(&s, &mesh, &s.gradients, t), *now = copy_of(&s, &mesh, &s.scene.bound, t);
        float *before = t == SPLAT_BOUND_plane_scales ? mesh.plane_scales : mesh.plane_rotations;
        size_t first = 2 * (mesh.n - n_gaussians);
        TEST_CHECK(failures, all_zero(gradient + first, 2 * n_gaussians) && !all_zero(gradient + first - 2, 2),
                   "%s of a degenerate face", name_of(t));
        TEST_CHECK(failures, all_zero(gradient + 6, 2) && all_zero(gradient + 20, 2) && all_zero(gradient + 32, 2),
                   "%s of a Gaussian that is hidden", name_of(t));
        TEST_CHECK(failures, memcmp(now + first, before + first, 2 * n_gaussians * sizeof *now) == 0, "%s moved",
                   name_of(t));
        free(gradient), free(now);
    }
    free(vertices), free(moved);
    backward_close(&s);
    bind_mesh_free(&mesh);
    return failures;
}

/* A gradient that is not finite counts, and its Gaussian is as if it had none. */
static int test_bad_gradients(splat_backend *backend)
{
    enum { PER_FACE = 4, N_BAD = 3 };
    static const size_t bad[N_BAD] = {5, 9, 40};
    int failures = 0;
    double loss, unused;
    bind_mesh mesh = bind_mesh_make(5, 4, PER_FACE, true, false, 91);
    backward_scene s;
    failures += backward_open(&s, backend, &mesh);
    for (int round = 0; round < 2; round++) {
        for (size_t k = 0; k < N_BAD; k++) {
            float *rows[] = {s.host_means + 3 * bad[k], s.host_scales + 3 * bad[k], s.host_rotations + 4 * bad[k]};
            for (size_t r = 0; r < 3; r++) memset(rows[r], 0, (r == 2 ? 4 : 3) * sizeof(float));
            if (round == 0) rows[k][2] = k == 1 ? NAN : -INFINITY;
        }
        upload_gradients(&s, &mesh);
        if (round == 1) break;
        failures += backward_run(&s, 1, false, &loss);
        TEST_CHECK(failures, s.n_degenerate == N_BAD, "%u counted", s.n_degenerate);
    }
    /* against those rows as zeros; the first round's results are still there */
    failures += compare_gradients(&s, &mesh, 1, &unused);
    backward_close(&s);
    bind_mesh_free(&mesh);
    return failures;
}

/* Gaussians that the view does not see are as if their gradients were zeros, and their rows are not read. */
static int test_unseen(splat_backend *backend, int per_face)
{
    int failures = 0;
    double loss, unused;
    bind_mesh mesh = bind_mesh_make(5, 4, per_face, true, false, 94);
    backward_scene s;
    failures += backward_open(&s, backend, &mesh);
    float *depth = malloc(mesh.n * sizeof *depth);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < mesh.n; i++) {
            const bool is_seen = i % 3 != 1;
            depth[i] = is_seen ? 2 : 0;
            for (size_t k = 0; k < 3 && !is_seen; k++)
                s.host_means[3 * i + k] = s.host_scales[3 * i + k] = round ? 0 : NAN;
            for (size_t k = 0; k < 4 && !is_seen; k++) s.host_rotations[4 * i + k] = round ? 0 : NAN;
        }
        if (round == 0) upload_gradients(&s, &mesh);
    }
    s.depth = bind_scene_upload(&s.scene, depth, mesh.n * sizeof *depth);
    failures += backward_run(&s, 1, false, &loss);
    TEST_CHECK(failures, s.n_degenerate == 0, "%u counted", s.n_degenerate);
    failures += compare_gradients(&s, &mesh, 1, &unused);
    free(depth);
    backward_close(&s);
    bind_mesh_free(&mesh);
    return failures;
}

/* Steps of Adam against the reference's on the gradients that the op reports; tolerances as in project_backward. */
static int test_adam(splat_backend *backend)
{
    enum { STEPS = 4 };
    int failures = 0;
    double loss;
    bind_mesh mesh = bind_mesh_make(7, 3, 6, true, true, 92);
    backward_scene s;
    float *p[SPLAT_N_BOUND_TENSORS], *m[SPLAT_N_BOUND_TENSORS], *v[SPLAT_N_BOUND_TENSORS];
    failures += backward_open(&s, backend, &mesh);
    for (int t = 0; t < SPLAT_N_BOUND_TENSORS; t++) {
        p[t] = copy_of(&s, &mesh, &s.scene.bound, t);
        m[t] = calloc(floats_of(&mesh, t) + 1, sizeof(float));
        v[t] = calloc(floats_of(&mesh, t) + 1, sizeof(float));
    }
    for (int step = 1; step <= STEPS; step++) {
        for (int t = 0; t < SPLAT_N_BOUND_TENSORS; t++) {
            s.adam.lr[t] = 1e-3f * (float)(t + 1);
            s.adam.correction1[t] = (float)(1 - pow(0.9, step));
            s.adam.correction2[t] = (float)(1 - pow(0.999, step));
        }
        failures += bind_scene_run(&s.scene) + backward_run(&s, 0.5f, true, &loss);
        for (int t = 0; t < SPLAT_N_BOUND_TENSORS; t++) {
            const size_t n = floats_of(&mesh, t);
            float *gradient = copy_of(&s, &mesh, &s.gradients, t), *now = copy_of(&s, &mesh, &s.scene.bound, t);
            float *now_m = copy_of(&s, &mesh, &s.adam.m, t), *now_v = copy_of(&s, &mesh, &s.adam.v, t);
            ref_adam_f32(p[t], m[t], v[t], gradient, NULL, n, s.adam.lr[t], step, 1);
            double worst = 0;
            for (size_t i = 0; i < n; i++)
                if (isfinite(p[t][i]))
                    worst = fmax(worst, fabs((double)now[i] - (double)p[t][i]) /
                                            (2e-5 * (double)s.adam.lr[t] + 1.2e-7 * fabs((double)p[t][i])));
            TEST_CHECK(failures, worst <= 1, "step %d: %s is off by %g", step, name_of(t), worst);
            TEST_CHECK(failures, test_nmse(now_m, m[t], n) <= 1e-13 && test_nmse(now_v, v[t], n) <= 1e-13,
                       "step %d: moments of %s", step, name_of(t));
            memcpy(p[t], now, n * sizeof *now);
            memcpy(m[t], now_m, n * sizeof *now);
            memcpy(v[t], now_v, n * sizeof *now);
            free(gradient), free(now), free(now_m), free(now_v);
        }
    }
    for (int t = 0; t < SPLAT_N_BOUND_TENSORS; t++) free(p[t]), free(m[t]), free(v[t]);
    backward_close(&s);
    bind_mesh_free(&mesh);
    return failures;
}

/* A fold of two faces by the angle a: 1 - cos a, whichever way each of them is wound. */
static int test_fold(splat_backend *backend)
{
    int failures = 0;
    for (int i = 0; i < 16; i++) {
        double angle = 0.7 * (i / 4), loss; /* up to 2.1: past a right angle */
        uint32_t faces[6] = {0, 1, 2, 1, 0, 3}, pair[1][4] = {{0, 1, 2, 3}};
        float scales[4] = {0}, turns[4] = {1, 0, 1, 0};
        float vertices[12] = {0, 0, 0, 0, 2, 0, -1, 0.5f, 0, (float)cos(angle), 1.5f, (float)sin(angle)};
        for (int f = 0; f < 2; f++)
            if (i >> f & 1) faces[3 * f] = faces[3 * f + 1], faces[3 * f + 1] = f ? 1 : 0;
        bind_mesh mesh = {.n_vertices = 4, .n_faces = 2, .n_pairs = 1, .n = 2, .per_face = 1, .thickness = 1e-6f,
                          .extent = 1, .faces = faces, .pairs = pair, .vertices = vertices, .plane_scales = scales,
                          .plane_rotations = turns};
        backward_scene s;
        failures += backward_open(&s, backend, &mesh) + backward_run(&s, 1, false, &loss);
        TEST_CHECK(failures, fabs(loss - (1 - cos(angle))) < 1e-6, "case %d: %g, not %g", i, loss, 1 - cos(angle));
        backward_close(&s);
    }
    return failures;
}

/* A device learns from a mark of the view that its loss was not finite: nothing moves. (The CPU's step ends there.) */
static int test_marked_view(splat_backend *backend)
{
    enum { SIDE = 32, PIXELS = 3 * SIDE * SIDE };
    int failures = 0;
    double loss;
    if (splat_backend_result_latency(backend) == 0) return 0;
    bind_mesh mesh = bind_mesh_make(5, 4, 3, false, false, 93);
    backward_scene s;
    splat_error error = {0};
    float *image = calloc(PIXELS, sizeof *image);
    failures += backward_open(&s, backend, &mesh);
    image[SIDE] = NAN;
    struct splat_loss_args args = {.width = SIDE, .height = SIDE, .lambda_dssim = 0.2f, .frame = &s.frame};
    args.image = bind_scene_upload(&s.scene, image, PIXELS * sizeof *image);
    args.photo_f32 = bind_scene_upload(&s.scene, NULL, PIXELS * sizeof *image);
    TEST_CHECK(failures, splat_op_loss(backend, &args, &error) == SPLAT_OK, "%s", error.message);
    for (int t = 0; t < SPLAT_N_BOUND_TENSORS; t++) s.adam.lr[t] = s.adam.correction1[t] = s.adam.correction2[t] = 1;
    failures += backward_run(&s, 2, true, &loss);
    TEST_CHECK(failures, loss == 0, "a consistency of %g", loss);
    const float *const before[] = {mesh.vertices, mesh.plane_scales, mesh.plane_rotations};
    for (int t = 0; t < SPLAT_N_BOUND_TENSORS; t++) {
        float *now = copy_of(&s, &mesh, &s.scene.bound, t), *gradient = copy_of(&s, &mesh, &s.gradients, t);
        TEST_CHECK(failures, memcmp(now, before[t], floats_of(&mesh, t) * sizeof *now) == 0, "%s moved", name_of(t));
        TEST_CHECK(failures, all_zero(gradient, floats_of(&mesh, t)), "a gradient of %s", name_of(t));
        free(now), free(gradient);
    }
    free(image);
    backward_close(&s);
    bind_mesh_free(&mesh);
    return failures;
}

int test_op_bind_backward(splat_backend *backend)
{
    static const int counts[] = {1, 3, 4, 6};
    int failures = 0;
    for (int c = 0; c < 4; c++) {
        /* needs no backend: once is enough */
        if (backend->simd == SPLAT_SIMD_C && backend->threads == 1)
            failures += test_reference(counts[c], false, 0) + test_reference(counts[c], true, 20);
        failures += test_mesh(backend, 9, 7, counts[c], true) + test_mesh(backend, 1, 1, counts[c], false);
        failures += test_unseen(backend, counts[c]);
    }
    failures += test_mesh(backend, 0, 0, 1, false) + test_mesh(backend, 25, 21, 3, true);
    failures += test_zero(backend) + test_bad_gradients(backend) + test_adam(backend) + test_fold(backend);
    failures += test_marked_view(backend);
    return failures;
}
