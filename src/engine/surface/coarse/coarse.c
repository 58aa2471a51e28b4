/* SuGaR's coarse training as the trainer sees it: its options, its arrays, its losses. */
#include "base/options.h"
#include "math/density.h"
#include "surface/coarse/coarse.h"
#include "surface/coarse/coarse_multi_view.h"
#include "surface/coarse/coarse_parts.h"
#include "surface/coarse/coarse_prune.h"
#include "surface/coarse/coarse_schedule.h"
#include "surface/coarse/coarse_step.h"
#include "surface/coarse/coarse_tags.h"
#include "train/train_options.h"

#include <math.h>
#include <string.h>

static splat_status check(const splat_train_options *o, splat_error *error)
{
    const splat_coarse_options *c = &o->coarse;
    if (c->regularization < SPLAT_REGULARIZE_DENSITY || c->regularization > SPLAT_REGULARIZE_MULTIVIEW)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "unknown regularization %d", (int)c->regularization);
    if (o->densify_until_iter > 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "coarse training has no density control: densify_until_iter "
                          "must be 0, not %d", o->densify_until_iter);
    if (o->iterations <= c->first_iteration)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "coarse training counts from %d on: iterations must be more, "
                          "not %d", c->first_iteration, o->iterations);
    if (c->regularize_after < c->first_iteration)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "coarse training counts from %d on: `regularize_after` must not "
                          "be before it, not %d, or the transparent would never go", c->first_iteration,
                          c->regularize_after);
    return SPLAT_OK;
}

static const splat_extra_array arrays[SPLAT_N_COARSE_ARRAYS] = {
    [SPLAT_COARSE_MEANS] = {"regular.means", 3, false, SPLAT_ROWS_SCRATCH},
    [SPLAT_COARSE_SCALES] = {"regular.scales", 3, false, SPLAT_ROWS_SCRATCH},
    [SPLAT_COARSE_ROTATIONS] = {"regular.rotations", 4, false, SPLAT_ROWS_SCRATCH},
    [SPLAT_COARSE_OPACITIES] = {"regular.opacities", 1, false, SPLAT_ROWS_SCRATCH},
    [SPLAT_COARSE_NEIGHBORS] = {"neighbors", SPLAT_NEIGHBORS, true, SPLAT_ROWS_CACHED},
};

static splat_loss entropy_of(const splat_trainer *t, const double *r)
{
    bool has_entropy = r && splat_coarse_has_entropy(&t->options, t->iteration);
    return (splat_loss){"entropy", "opacity entropy", "Loss/component_entropy_regularization",
                        has_entropy ? r[SPLAT_COARSE_ENTROPY] : NAN, (double)t->options.coarse.entropy_factor, false};
}

/* A weight as the step just done had it. */
static double faded(const splat_trainer *t, float weight)
{
    return (double)weight * splat_coarse_fade(&t->options, t->iteration);
}

static splat_loss depth_normal_of(const splat_trainer *t, const double *r)
{
    bool has_depth = r && splat_coarse_has_depth_normal(&t->options, t->iteration);
    return (splat_loss){"depth_normal", "depth and normals", "Loss/component_depth_normal_consistency",
                        has_depth ? r[SPLAT_COARSE_DEPTH_NORMAL] : NAN, faded(t, t->options.coarse.dn_factor), false};
}

static splat_loss thickness_of(const splat_trainer *t, const double *r)
{
    bool has_thickness = r && splat_coarse_has_thickness(&t->options, t->iteration);
    return (splat_loss){"thickness", "thickness of the Gaussians", "Loss/component_flattening",
                        has_thickness ? r[SPLAT_COARSE_THICKNESS] : NAN,
                        (double)t->options.flat_factor / (double)t->scene->dataset.extent, false};
}

/* Losses of MULTIVIEW, without those at samples. NaN without a neighbour, or if no pixel agrees. */
static size_t losses_of_pairs(const splat_trainer *t, const double *r, splat_loss list[SPLAT_MAX_LOSSES])
{
    bool has_pair = r && splat_coarse_has_multi_view(&t->options, t->iteration);
    const double *of_pair = has_pair ? r + SPLAT_COARSE_MULTI_VIEW : NULL;
    const splat_loss all[] = {
        entropy_of(t, r),
        {"geometric", "depth of two views", "Loss/component_multi_view_geometric",
         has_pair && of_pair[1] > 0 ? of_pair[0] : NAN, faded(t, t->options.geo_factor), false},
        {"photometric", "photos of two views", "Loss/component_multi_view_photometric",
         has_pair && of_pair[3] > 0 ? of_pair[2] : NAN, faded(t, t->options.ncc_factor), false},
        depth_normal_of(t, r),
        thickness_of(t, r),
        {"agreeing_pixels", "pixels that a neighbour agrees with", "Stats/n_agreeing_pixels",
         has_pair ? of_pair[1] : NAN, 0, true},
        {"compared_patches", "patches of photos that were compared", "Stats/n_compared_patches",
         has_pair ? of_pair[3] : NAN, 0, true},
    };
    _Static_assert(sizeof all / sizeof all[0] <= SPLAT_MAX_LOSSES, "room for all");
    memcpy(list, all, sizeof all);
    return sizeof all / sizeof all[0];
}

/* NaN where a loss was not part of the step. */
static size_t losses(const splat_trainer *t, const double *r, splat_loss list[SPLAT_MAX_LOSSES])
{
    const splat_coarse_options *o = &t->options.coarse;
    bool has_field = r && splat_coarse_has_field(&t->options, t->iteration);
    bool has_thickness = r && splat_coarse_has_thickness(&t->options, t->iteration);
    bool has_samples = has_field && r[SPLAT_COARSE_FIELD + 3] > 0;
    bool is_sdf = o->regularization == SPLAT_REGULARIZE_SDF;
    if (o->regularization == SPLAT_REGULARIZE_MULTIVIEW) return losses_of_pairs(t, r, list);
    const splat_loss all[] = {
        entropy_of(t, r),
        {"estimation", "surface estimate", is_sdf ? "Loss/component_sdf_estimation" : "Loss/component_sdf_density",
         has_field ? r[SPLAT_COARSE_FIELD] : NAN, (double)o->estimation_factor, false},
        {"normal", "surface normals", "Loss/component_sdf_better_normal", has_field ? r[SPLAT_COARSE_FIELD + 1] : NAN,
         (double)o->normal_factor, false},
        depth_normal_of(t, r),
        thickness_of(t, r),
        {"samples", "points that counted", NULL, has_field ? r[SPLAT_COARSE_FIELD + 2] : NAN, 0, true},
        {"sampled_gaussians", "Gaussians that points could be drawn in", "Stats/n_gaussians_sdf_sampling",
         has_samples ? r[SPLAT_COARSE_FIELD + 3] : NAN, 0, true},
        {"thick_share", "share of the Gaussians that are too thick", "Stats/share_too_thick",
         has_thickness ? r[SPLAT_COARSE_THICKNESS + 1] : NAN, 0, true},
    };
    memcpy(list, all, sizeof all);
    return sizeof all / sizeof all[0];
}

const splat_regularizer splat_coarse_regularizer = {
    .stage = "coarse",
    .title = "coarse training",
    .continues_splat = true,
    .least_gaussians = SPLAT_NEIGHBORS + 1,
    .arrays = arrays,
    .n_arrays = SPLAT_N_COARSE_ARRAYS,
    .arrays_title = "gradients and neighbours",
    .results_name = "coarse losses",
    .n_results = SPLAT_N_COARSE_RESULTS,
    .constant = "entropy_pivot",
    .acts_after = "regularize_after",
    .report = &splat_coarse_report,
    .check = check,
    .has_losses = splat_coarse_has_losses,
    .prepare = splat_coarse_search_neighbors,
    .step = splat_coarse_step,
    .work_bytes = splat_coarse_work_bytes,
    .neighbor_bytes = splat_coarse_neighbor_bytes,
    .after = splat_coarse_after,
    .changes_after = splat_coarse_prunes_after,
    .losses = losses,
};

void splat_train_options_init_coarse_sized(splat_train_options *options, size_t size,
                                           splat_regularization regularization)
{
    splat_train_options defaults;
    splat_train_options_init(&defaults);
    defaults.coarse.regularization = regularization;
    defaults.regularizer = regularization == SPLAT_REGULARIZE_NONE ? NULL : &splat_coarse_regularizer;
    splat_train_options_apply_preset(&defaults, "coarse");
    if (regularization == SPLAT_REGULARIZE_MULTIVIEW) splat_train_options_apply_preset(&defaults, "multiview");
    splat_options_give(options, size, &defaults, sizeof defaults);
}
