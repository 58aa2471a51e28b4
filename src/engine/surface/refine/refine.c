/* Refinement as the trainer sees it: its options, its arrays, its losses. */
#include "base/options.h"
#include "surface/refine/refine_parts.h"
#include "train/parts/regularizer.h"
#include "train/train_options.h"

#include <math.h>

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
    .sh_interval = 1000,
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
    .expect = splat_refine_expect,
    .check = splat_refine_check_rows,
    .restored = splat_refine_restored,
    .scratch_bytes = splat_refine_scratch_bytes,
    .step = splat_refine_step,
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
