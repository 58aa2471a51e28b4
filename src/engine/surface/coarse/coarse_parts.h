/* SuGaR's coarse training (docs/method.md, "Coarse training"): what its files share. coarse.c has the table that the
 * trainer sees, coarse_start.c the beginning, coarse_pivot.c which opacities go up, coarse_step.c the losses,
 * coarse_multi_view.c the view beside that of the step, coarse_neighbors.c and coarse_trim.c what comes between steps,
 * coarse_tags.c what TensorBoard shows. */
#ifndef SPLAT_SUGAR_COARSE_PARTS_H
#define SPLAT_SUGAR_COARSE_PARTS_H

#include "math/density.h"
#include "train/parts/regularizer.h"
#include "train/state.h"
#include "train/step.h"

/* The arrays of splat_shapes_extra_rows: gradients of the losses, then neighbours. */
enum {
    SPLAT_COARSE_MEANS,
    SPLAT_COARSE_SCALES,
    SPLAT_COARSE_ROTATIONS,
    SPLAT_COARSE_OPACITIES,
    SPLAT_COARSE_NEIGHBORS, /* [n][SPLAT_NEIGHBORS] nearest other Gaussians */
    SPLAT_N_COARSE_ARRAYS
};

/* Doubles in trainer->regularizer_results. */
enum {
    SPLAT_COARSE_FIELD = 0,        /* four, of op field_loss */
    SPLAT_COARSE_ENTROPY = 4,
    SPLAT_COARSE_DEPTH_NORMAL = 5, /* two, of op depth_normal */
    SPLAT_COARSE_THICKNESS = 7,    /* two, of op thickness */
    SPLAT_COARSE_MULTI_VIEW = 9,   /* four, of op multi_view */
    SPLAT_N_COARSE_RESULTS = 13
};

/* coarse.c */
extern const splat_regularizer splat_coarse_regularizer;

/* coarse_tags.c */
extern const splat_regularizer_report splat_coarse_report;

/* coarse_schedule.c; all false without coarse training. */

/* Whether an iteration has any of the losses below. */
bool splat_coarse_has_losses(const splat_train_options *options, int iteration);
/* Opacities are pushed to 0 or 1 in this iteration. */
bool splat_coarse_has_entropy(const splat_train_options *options, int iteration);
/* The transparent are removed. */
bool splat_coarse_prunes_after(const splat_train_options *options, int iteration);
/* The losses of the surface are part of this iteration. */
bool splat_coarse_regularizes(const splat_train_options *options, int iteration);
/* The factor, in 0 .. 1, that the weights of the losses on maps of depth and normals (depth-normal consistency and
 * those of MULTIVIEW) have at an iteration: 1, and over the last surface_fade of the steps a line that ends at 0. */
double splat_coarse_fade(const splat_train_options *options, int iteration);
/* ... and this one of them, which has a factor: at samples, of depth and normals, of thickness, of two views. */
bool splat_coarse_has_field(const splat_train_options *options, int iteration);
bool splat_coarse_has_depth_normal(const splat_train_options *options, int iteration);
bool splat_coarse_has_thickness(const splat_train_options *options, int iteration);
bool splat_coarse_has_multi_view(const splat_train_options *options, int iteration);
/* Whether any iteration looks at two views. */
bool splat_coarse_sees_neighbors(const splat_train_options *options);
/* Before the losses at samples the nearest neighbours are searched again. */
bool splat_coarse_searches_neighbors(const splat_train_options *options, int iteration);

/* coarse_step.c: the step of the regularizer, on all Gaussians (train/ranks/shards.h). */
splat_status splat_coarse_step(splat_trainer *trainer, int iteration, uint32_t view, splat_tensors *gradients,
                               bool *any, splat_error *error);

/* Its work_bytes. */
void splat_coarse_work_bytes(const splat_train_options *options, const splat_work *photo, size_t *frame,
                             size_t *scratch);

/* coarse_pivot.c: the logit that the entropy pushes opacities away from, so that at least the share `keep` of n
 * Gaussians has the higher side: the (1 - keep)-quantile of the logits, those that are not finite being least, and 0
 * (an opacity of 1/2) at most; 0 for keep 0, and where no logit is finite. Errors: MEMORY. */
splat_status splat_coarse_find_pivot(const float *logits, size_t n, float keep, float *pivot, splat_error *error);

/* coarse_trim.c: removes the Gaussians that stand in front in fewer than trim_views training views, by op view_count;
 * nothing with 0. Part of a change of density (train/density/density.h). Errors: NUMERIC (too few are left), MEMORY. */
splat_status splat_coarse_trim(splat_trainer *trainer, int iteration, splat_error *error);

/* coarse_multi_view.c */

#define SPLAT_NO_VIEW UINT32_MAX

/* Begins a view of n Gaussians in the model's frame, over black. Errors: MEMORY. */
splat_status splat_coarse_begin_view(splat_trainer *trainer, uint32_t n, const splat_camera *camera, uint32_t view,
                                     splat_error *error);

/* The photo of the step's view, where the step will find it, too. Errors: those of splat_photo_store_fetch. */
static inline splat_status splat_coarse_fetch_photo(splat_trainer *t, uint32_t view, splat_photo *photo,
                                                    splat_error *error)
{
    return splat_photo_store_fetch(&t->photos, t->backend, t->scene, view, splat_step_photo_turn(t), photo, error);
}

/* A view beside that of the step. */
typedef struct splat_coarse_neighbor {
    uint32_t view;               /* SPLAT_NO_VIEW: there is none */
    splat_camera camera;         /* of its maps */
    float *maps, *transmittance; /* as op geometry leaves them; until the next one is seen */
} splat_coarse_neighbor;

/* The camera of the maps of a step: of the photo's size, or of half of it. */
splat_camera splat_coarse_camera(const splat_train_options *options, int iteration, const splat_camera *photo);
/* What the maps of a neighbour take. */
size_t splat_coarse_neighbor_bytes(const splat_train_options *options, size_t photo_pixels);
/* The neighbour of a view in an iteration, a function of nothing else: one of the 8 nearest training views whose axes
 * differ by less than 30 degrees and whose centres are between 0.002 and 0.4 extents away; where there is none, farther
 * ones, as in scenes of a few photos; SPLAT_NO_VIEW where there is none at all. */
uint32_t splat_coarse_choose_neighbor(const splat_dataset *dataset, uint64_t seed, int iteration, uint32_t view);
/* Chooses it and blends its maps, in the frame, before the view of the step begins there. */
splat_status splat_coarse_see_neighbor(splat_trainer *trainer, int iteration, uint32_t view,
                                       splat_coarse_neighbor *neighbor, splat_error *error);
/* The losses of both, once the maps of the view are blended in the frame: adds to grad_maps. result: of op multi_view,
 * zeros without a neighbour. */
splat_status splat_coarse_multi_view(splat_trainer *trainer, int iteration, uint32_t view, const splat_camera *camera,
                                     const splat_coarse_neighbor *neighbor, const float *maps, float *grad_maps,
                                     double *result, splat_error *error);

/* coarse_neighbors.c */

/* What belongs after an iteration: what is not opaque makes no surface, and goes, once. */
splat_status splat_coarse_after(splat_trainer *trainer, int iteration, splat_error *error);
/* The nearest neighbours, when they are due before one of the iterations first .. last, which share a step. */
splat_status splat_coarse_search_neighbors(splat_trainer *trainer, int first, int last, splat_error *error);
/* There are enough Gaussians to have neighbours. path: the splat's, or NULL. Errors: NUMERIC. */
splat_status splat_coarse_check_surface(const splat_trainer *trainer, const char *path, splat_error *error);

#endif
