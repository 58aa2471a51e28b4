/* The seam of the trainer for Gaussians that are bound to something, proved by a toy: what it keeps is planned,
 * checkpointed, resumed and saved. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "checkpoint_fixture.h"
#include "scene_fixture.h"
#include "train/parts/bound_rows.h"

#include <math.h>

#define LAST 40

/* The mean of Gaussian i is origin order[i], so that it follows and yet moves as if it were free. */
enum { ORIGINS, ORDER, DOUBLE, N_TOY_BOUND };

static const splat_bound_array bound_arrays[N_TOY_BOUND] = {
    [ORIGINS] = {.name = "origins", .m = "adam_m.origins", .v = "adam_v.origins", .words = 3},
    [ORDER] = {.name = "order", .words = 1, .is_index = true, .index_of = ORIGINS},
    [DOUBLE] = {.name = "double order", .words = 1, .is_derived = true},
};

static void bound_expect(const splat_train_options *o, size_t n, size_t n_vertices, size_t *rows)
{
    (void)o;
    rows[ORIGINS] = n_vertices ? n_vertices : n;
    rows[ORDER] = rows[DOUBLE] = n;
}

static splat_status bound_check(const splat_train_options *o, size_t n, const uint32_t *rows, splat_error *error)
{
    (void)o;
    return rows[ORIGINS] == n && rows[ORDER] == n
               ? SPLAT_OK
               : splat_fail(error, SPLAT_ERROR_ARGUMENT, "%u origins are not those of %zu Gaussians", rows[ORIGINS], n);
}

static splat_status bound_restored(splat_trainer *t, splat_error *error)
{
    uint32_t rows[N_TOY_BOUND] = {t->bound.rows[ORIGINS], t->bound.rows[ORDER], t->bound.rows[ORDER]};
    SPLAT_TRY(splat_bound_resize(t, rows, error));
    const uint32_t *order = t->bound.arrays[ORDER].data;
    uint32_t *twice = t->bound.arrays[DOUBLE].data;
    for (uint32_t i = 0; i < rows[DOUBLE]; i++) twice[i] = 2 * order[i];
    return SPLAT_OK;
}

static size_t bound_scratch_bytes(const splat_train_options *o, size_t n)
{
    (void)o;
    return 5000 * n;
}

/* Adam as project_backward makes it. */
static splat_status bound_step(splat_trainer *t, const splat_adam *adam, const splat_tensors *gradients,
                               bool of_seen, splat_error *error)
{
    (void)of_seen;
    (void)error;
    const splat_bound_state *bound = &t->bound;
    const uint32_t *twice = bound->arrays[DOUBLE].data;
    float *origins = bound->arrays[ORIGINS].data, *m = bound->m[ORIGINS].data, *v = bound->v[ORIGINS].data;
    float step = adam->lr[SPLAT_TENSOR_means] / adam->correction1[SPLAT_TENSOR_means];
    float inverse = 1.0f / adam->correction2[SPLAT_TENSOR_means];
    if (!adam->update[SPLAT_TENSOR_means]) return SPLAT_OK; /* in the last iteration */
    for (uint32_t i = 0; i < t->model->gaussians.n; i++) {
        for (int k = 0; k < 3; k++) {
            size_t at = 3 * (twice[i] / 2) + (size_t)k;
            float g = gradients->means[3 * i + (uint32_t)k];
            float mi = SPLAT_ADAM_BETA1 * m[at] + (1.0f - SPLAT_ADAM_BETA1) * g;
            float vi = SPLAT_ADAM_BETA2 * v[at] + (1.0f - SPLAT_ADAM_BETA2) * g * g;
            m[at] = fabsf(mi) >= 1e-30f ? mi : 0.0f; /* denormals are dropped */
            v[at] = vi >= 1e-37f ? vi : 0.0f;
            origins[at] -= step * m[at] / (sqrtf(v[at] * inverse) + SPLAT_ADAM_EPSILON);
            t->model->gaussians.p.means[3 * i + (uint32_t)k] = origins[at];
        }
    }
    return SPLAT_OK;
}

static splat_status bound_save(const splat_trainer *t, const char *folder, splat_error *error)
{
    (void)t;
    char path[256];
    snprintf(path, sizeof path, "%s/toy.txt", folder);
    return splat_file_write(path, "bound", 5, error);
}

static const splat_binding toy_binding = {
    .title = "toy binding",
    .follows = 1u << SPLAT_TENSOR_means,
    .arrays = bound_arrays,
    .n_arrays = N_TOY_BOUND,
    .expect = bound_expect,
    .check = bound_check,
    .restored = bound_restored,
    .scratch_bytes = bound_scratch_bytes,
    .step = bound_step,
    .file = "toy.txt",
    .save = bound_save,
};

static splat_train_options bound_options(void)
{
    splat_train_options o = tiny_options(LAST);
    o.densify_until_iter = 0;
    o.binding = &toy_binding;
    return o;
}

static splat_trainer *bound_trainer(const tiny_place *p, const splat_train_options *o)
{
    splat_error error;
    splat_trainer *t = tiny_trainer(p, o);
    uint32_t n = t->model->gaussians.n, rows[N_TOY_BOUND] = {n, n, 0};
    if (!o->binding) return t;
    must(splat_bound_resize(t, rows, &error), &error);
    for (uint32_t i = 0; i < n; i++) {
        ((uint32_t *)t->bound.arrays[ORDER].data)[i] = n - 1 - i;
        memcpy((float *)t->bound.arrays[ORIGINS].data + 3 * (n - 1 - i), t->model->gaussians.p.means + 3 * i, 12);
    }
    must(bound_restored(t, &error), &error);
    return t;
}

static void what_is_bound_follows(void **state)
{
    (void)state;
    tiny_place p = open_tiny(2);
    for (int i = 0; i < 2; i++) {
        splat_error error;
        splat_train_options o = bound_options();
        if (i == 0) o.binding = NULL;
        splat_trainer *t = bound_trainer(&p, &o);
        assert_int_equal(t->moment_blocks[0].blocks[SPLAT_TENSOR_means].bytes == 0, i); /* of no use, not there */
        assert_true(t->moment_blocks[0].blocks[SPLAT_TENSOR_scales].bytes > 0);
        run_steps(t, LAST);
        must(splat_model_save(t->model, i ? "bound.ply" : "free.ply", NULL, &error), &error);
        splat_trainer_destroy(t);
    }
    assert_true(same_files("free.ply", "bound.ply"));
    close_tiny(&p);
}

static void a_binding_is_resumed_bit_for_bit(void **state)
{
    (void)state;
    static const int stops[] = {1, 17, LAST};
    splat_error error;
    resumed_run run = {.options = bound_options(), .n_steps = LAST, .begin = bound_trainer};
    for (int storages = 0; storages < 2; storages++) {
        run.options.optimizer_storage = storages ? SPLAT_OPTIMIZER_QUANTIZED : SPLAT_OPTIMIZER_FLOAT32;
        run_whole(&run, 2);
        assert_resumed_at(&run, 2, stops, 3);
    }
    splat_tensor_reader file;
    must(splat_tensor_reader_open(&file, "whole.splatsmith", &error), &error);
    assert_non_null(splat_tensor_reader_find(&file, "adam_v.origins"));
    assert_null(splat_tensor_reader_find(&file, "double order")); /* it follows from the others */
    splat_tensor_reader_close(&file);
}

/* Indices that lead nowhere, and arrays that do not belong together. */
static void what_a_binding_refuses(void **state)
{
    (void)state;
    splat_error error;
    splat_train_options o = bound_options();
    tiny_place p = open_tiny(2);
    splat_trainer *t = bound_trainer(&p, &o);
    uint32_t n = t->model->gaussians.n, rows[N_TOY_BOUND] = {n - 1, n, n};
    run_steps(t, 1);
    ((uint32_t *)t->bound.arrays[ORDER].data)[5] = n;
    must(splat_trainer_save_checkpoint(t, "part.splatsmith", &error), &error);
    assert_failure(splat_trainer_load_checkpoint(t, "part.splatsmith", &error), SPLAT_ERROR_FORMAT, &error,
                   "an index leads out of its array");
    splat_trainer_destroy(t);
    t = bound_trainer(&p, &o);
    must(splat_bound_resize(t, rows, &error), &error);
    must(splat_trainer_save_checkpoint(t, "part.splatsmith", &error), &error);
    assert_failure(splat_trainer_load_checkpoint(t, "part.splatsmith", &error), SPLAT_ERROR_ARGUMENT, &error,
                   "origins are not those of");
    splat_trainer_destroy(t);
    close_tiny(&p);
}

/* Its arrays with their moments and gradients, instead of moments of the means; its working memory. */
static void a_binding_is_planned(void **state)
{
    (void)state;
    splat_error error;
    splat_plan plan[2];
    splat_plan_options wanted;
    splat_train_options o = bound_options();
    tiny_place p = open_tiny(2);
    splat_plan_options_init(&wanted);
    wanted.n_gaussians = 1000000;
    wanted.n_vertices = 300000;
    wanted.limit_bytes = (size_t)1 << 44;
    for (int i = 0; i < 2; i++) {
        o.binding = i ? &toy_binding : NULL;
        splat_plan_init(&plan[i]);
        must(splat_plan_make(p.context, p.scene, &o, &wanted, NULL, &plan[i], &error), &error);
    }
    size_t n = planned(&plan[0], "optimizer", "moments") / (2 * 14 * 4);
    planned_near(planned(&plan[1], "optimizer", "moments"), n * 2 * 11 * 4);
    planned_near(planned(&plan[1], "toy binding", NULL), 4 * (300000 * 3 * 3 + n * (1 + 1 + 3)));
    assert_int_equal(planned(&plan[0], "toy binding", NULL), 0);
    assert_true(planned(&plan[1], "transients", "working memory of the ops") >= 5000 * wanted.n_gaussians);
    assert_true(planned(&plan[0], "transients", "working memory of the ops") < 5000 * wanted.n_gaussians);
    close_tiny(&p);
}

/* With every splat that is saved, and the last one in the model folder. */
static void a_binding_saves_beside_the_splat(void **state)
{
    (void)state;
    splat_error error;
    splat_run_options run;
    static const int saves[] = {7};
    tiny_place p = open_tiny(2);
    splat_train_options o = bound_options();
    splat_trainer *t = bound_trainer(&p, &o);
    splat_run_options_init(&run);
    run.model_path = "bound";
    run.save_iterations = saves;
    run.n_save_iterations = 1;
    must(splat_folder_delete("bound", &error), &error);
    must(splat_trainer_run(t, &run, &error), &error);
    assert_true(splat_path_exists("bound/point_cloud/iteration_7/toy.txt"));
    assert_true(splat_path_exists("bound/point_cloud/iteration_40/toy.txt"));
    assert_true(splat_path_exists("bound/toy.txt"));
    splat_trainer_destroy(t);
    close_tiny(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_bound_follows),
        cmocka_unit_test(a_binding_is_resumed_bit_for_bit),
        cmocka_unit_test(what_a_binding_refuses),
        cmocka_unit_test(a_binding_is_planned),
        cmocka_unit_test(a_binding_saves_beside_the_splat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
