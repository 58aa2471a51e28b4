/* capture() is a tuple: 0 active SH degree, 1 xyz, 2 features_dc, 3 features_rest, 4 scaling, 5 rotation, 6 opacity,
 * 7 max_radii2D, 8 xyz_gradient_accum, then in some descendants their own sums of absolute gradients, and from the end:
 * denom, optimizer.state_dict(), spatial_lr_scale. */
#include "io/torch/torch_checkpoint.h"
#include "io/torch/torch_read.h"
#include "io/torch/torch_tensor.h"
#include "io/torch/torch_values.h"

#include <math.h>
#include <string.h>

enum { N_TENSORS = 6, MIN_CAPTURE = 12, FIRST_STATISTIC = 8 };

/* How the six tensors are called in the tuple and in the optimizer, and their shapes after [n]. */
typedef struct slot {
    size_t index;      /* in the tuple */
    const char *group; /* of the optimizer */
    int n_dims;
    uint64_t shape[2]; /* 0: any, for features_rest */
    const splat_torch_tensor **p, **m, **v;
    int *steps;
} slot;

static splat_status bad(const splat_torch_checkpoint *c, const char *what, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, splat_torch_file_path(c->file), SPLAT_NO_OFFSET,
                         "this is not a checkpoint of a 3DGS trainer: %s", what);
}

static void list_slots(splat_torch_checkpoint *c, slot slots[N_TENSORS])
{
#define SLOT(index, group, field, n_dims, a, b)                                                                        \
    {index, group, n_dims, {a, b}, &c->p.field, &c->m.field, &c->v.field, &c->steps.field}
    const slot all[N_TENSORS] = {
        SLOT(1, "xyz", means, 2, 3, 0),        SLOT(2, "f_dc", sh_dc, 3, 1, 3),
        SLOT(3, "f_rest", sh_rest, 3, 0, 3),   SLOT(4, "scaling", scales, 2, 3, 0),
        SLOT(5, "rotation", rotations, 2, 4, 0), SLOT(6, "opacity", opacities, 2, 1, 0)};
#undef SLOT
    memcpy(slots, all, sizeof all);
}

/* An integer of 0 to high, which may be a float or a tensor. */
static splat_status read_count(const splat_torch_checkpoint *c, const splat_torch_value *value, const char *what,
                               double high, int *count, splat_error *error)
{
    double number;
    SPLAT_TRY(splat_torch_number(c->file, value, what, &number, error));
    if (!(number >= 0.0 && number <= high) || number != floor(number))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, splat_torch_file_path(c->file), SPLAT_NO_OFFSET,
                             "%s is %g, not an integer of 0 to %g", what, number, high);
    *count = (int)number;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- parameters */

static splat_status check_shape(const splat_torch_checkpoint *c, const slot *s, const splat_torch_tensor *tensor,
                                splat_error *error)
{
    bool fits = tensor->n_dims == s->n_dims && tensor->shape[0] == c->n;
    for (int i = 1; i < s->n_dims && fits; i++) fits = s->shape[i - 1] == 0 || tensor->shape[i] == s->shape[i - 1];
    if (fits) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, splat_torch_file_path(c->file), SPLAT_NO_OFFSET,
                         "the tensor %s (item %zu) of the checkpoint does not have the shape that %zu Gaussians need",
                         s->group, s->index, c->n);
}

static splat_status read_parameters(splat_torch_checkpoint *c, const splat_torch_value *capture,
                                    const slot slots[N_TENSORS], splat_error *error)
{
    const splat_torch_tensor *means = splat_torch_tensor_of(splat_torch_item(capture, 1));
    if (!means || means->n_dims != 2 || means->shape[0] == 0) return bad(c, "item 1 is no tensor of positions", error);
    if (means->shape[0] > UINT32_MAX / 2) return bad(c, "it has too many Gaussians", error);
    c->n = (size_t)means->shape[0];
    for (int i = 0; i < N_TENSORS; i++) {
        const splat_torch_tensor *tensor = splat_torch_tensor_of(splat_torch_item(capture, slots[i].index));
        if (!tensor) return bad(c, "one of the items 1 to 6 is no tensor", error);
        SPLAT_TRY(check_shape(c, &slots[i], tensor, error));
        *slots[i].p = tensor;
    }
    uint64_t n_rest = c->p.sh_rest->shape[1];
    for (c->sh_degree = 0; c->sh_degree <= 3; c->sh_degree++)
        if (n_rest + 1 == (uint64_t)(c->sh_degree + 1) * (uint64_t)(c->sh_degree + 1)) break;
    if (c->sh_degree > 3) return bad(c, "features_rest has no 0, 3, 8 or 15 coefficients", error);
    return read_count(c, splat_torch_item(capture, 0), "the active SH degree (item 0 of the checkpoint)", c->sh_degree,
                      &c->active_sh_degree, error);
}

/* ---------------------------------------------------------------- optimizer */

static bool same_shape(const splat_torch_tensor *a, const splat_torch_tensor *b)
{
    return a->n_dims == b->n_dims && memcmp(a->shape, b->shape, (size_t)a->n_dims * sizeof a->shape[0]) == 0;
}

/* state: {parameter number: {step, exp_avg, exp_avg_sq}}; a parameter that was never stepped has no entry. */
static splat_status read_moments(splat_torch_checkpoint *c, const splat_torch_value *group,
                                 const splat_torch_value *states, const slot *s, splat_error *error)
{
    const splat_torch_value *parameters = splat_torch_get(group, "params"), *id = splat_torch_item(parameters, 0);
    if (!id || parameters->n != 1 || id->kind != SPLAT_TORCH_INT)
        return bad(c, "a group of the optimizer does not have one parameter", error);
    const splat_torch_value *state = splat_torch_get_integer(states, id->integer);
    if (!state || (state->kind == SPLAT_TORCH_DICT && state->n == 0)) return SPLAT_OK;
    const splat_torch_tensor *m = splat_torch_tensor_of(splat_torch_get(state, "exp_avg"));
    const splat_torch_tensor *v = splat_torch_tensor_of(splat_torch_get(state, "exp_avg_sq"));
    if (!m || !v || !same_shape(m, *s->p) || !same_shape(v, *s->p))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, splat_torch_file_path(c->file), SPLAT_NO_OFFSET,
                             "the Adam moments of %s are missing or not of its shape", s->group);
    *s->m = m;
    *s->v = v;
    return read_count(c, splat_torch_get(state, "step"), "an Adam step of the checkpoint", INT32_MAX, s->steps, error);
}

static splat_status read_optimizer(splat_torch_checkpoint *c, const splat_torch_value *optimizer,
                                   const slot slots[N_TENSORS], splat_error *error)
{
    const splat_torch_value *groups = splat_torch_get(optimizer, "param_groups");
    const splat_torch_value *states = splat_torch_get(optimizer, "state");
    if (!groups || groups->kind != SPLAT_TORCH_LIST || !states || states->kind != SPLAT_TORCH_DICT)
        return bad(c, "the last item but one is not the state of an optimizer", error);
    for (int i = 0; i < N_TENSORS; i++) {
        const splat_torch_value *found = NULL;
        for (size_t k = 0; k < groups->n; k++) {
            if (!splat_torch_text_is(splat_torch_get(groups->items[k], "name"), slots[i].group)) continue;
            if (found) return bad(c, "two groups of the optimizer have one name", error);
            found = groups->items[k];
        }
        if (!found)
            return splat_fail_at(error, SPLAT_ERROR_FORMAT, splat_torch_file_path(c->file), SPLAT_NO_OFFSET,
                                 "the optimizer of the checkpoint has no group %s", slots[i].group);
        SPLAT_TRY(read_moments(c, found, states, &slots[i], error));
    }
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- statistics and the whole */

/* [n, 1] or [n]. */
static bool is_statistic(const splat_torch_checkpoint *c, const splat_torch_tensor *tensor)
{
    return tensor && tensor->n == c->n && tensor->shape[0] == c->n;
}

/* Empty tensors: the trainer had not begun to count. */
static splat_status read_statistics(splat_torch_checkpoint *c, const splat_torch_value *capture, splat_error *error)
{
    const splat_torch_tensor *grad = splat_torch_tensor_of(splat_torch_item(capture, FIRST_STATISTIC));
    const splat_torch_tensor *absolute = splat_torch_tensor_of(splat_torch_item(capture, FIRST_STATISTIC + 1));
    const splat_torch_tensor *count = splat_torch_tensor_of(splat_torch_item(capture, capture->n - 3));
    if (!grad || !count || (grad->n && !is_statistic(c, grad)) || (count->n && !is_statistic(c, count)))
        return bad(c, "the statistics of the gradients do not have one number for each Gaussian", error);
    c->grad = grad->n ? grad : NULL;
    c->count = count->n ? count : NULL;
    if (capture->n > MIN_CAPTURE && is_statistic(c, absolute)) c->grad_abs = absolute;
    return SPLAT_OK;
}

static splat_status read_capture(splat_torch_checkpoint *c, const splat_torch_value *capture, splat_error *error)
{
    slot slots[N_TENSORS];
    list_slots(c, slots);
    SPLAT_TRY(read_parameters(c, capture, slots, error));
    SPLAT_TRY(read_optimizer(c, splat_torch_item(capture, capture->n - 2), slots, error));
    SPLAT_TRY(read_statistics(c, capture, error));
    return splat_torch_number(c->file, splat_torch_item(capture, capture->n - 1),
                              "spatial_lr_scale (last item of the checkpoint)", &c->spatial_lr_scale, error);
}

splat_status splat_torch_checkpoint_open(const char *path, splat_torch_checkpoint *c, splat_error *error)
{
    memset(c, 0, sizeof *c);
    SPLAT_TRY(splat_torch_file_open(path, &c->file, error));
    const splat_torch_value *root = splat_torch_file_root(c->file), *capture = splat_torch_item(root, 0);
    splat_status status = SPLAT_OK;
    if (root->kind != SPLAT_TORCH_TUPLE || root->n != 2 || !capture || capture->kind != SPLAT_TORCH_TUPLE)
        status = bad(c, "it is not a pair of a tuple and the iteration", error);
    else if (capture->n < MIN_CAPTURE)
        status = bad(c, "the tuple of the Gaussians has less than 12 items", error);
    if (status == SPLAT_OK)
        status = read_count(c, splat_torch_item(root, 1), "the iteration of the checkpoint", INT32_MAX, &c->iteration,
                            error);
    if (status == SPLAT_OK) status = read_capture(c, capture, error);
    if (status != SPLAT_OK) splat_torch_checkpoint_close(c);
    return status;
}

void splat_torch_checkpoint_close(splat_torch_checkpoint *c)
{
    splat_torch_file_close(c->file);
    memset(c, 0, sizeof *c);
}
