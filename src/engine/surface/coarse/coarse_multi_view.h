/* A training view and its neighbour, for the losses of op multi_view. */
#ifndef SPLAT_SURFACE_COARSE_MULTI_VIEW_H
#define SPLAT_SURFACE_COARSE_MULTI_VIEW_H

#include "train/state.h"
#include "train/step.h"

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

/* A neighbouring view of the step's view. */
typedef struct splat_coarse_neighbor {
    uint32_t view;               /* SPLAT_NO_VIEW: there is none */
    splat_camera camera;         /* camera at the size of the maps */
    float *maps, *transmittance; /* results of op geometry, valid until the next view */
} splat_coarse_neighbor;

/* The camera of the maps of a step: of the photo's size, or of half of it. */
splat_camera splat_coarse_camera(const splat_train_options *options, int iteration, const splat_camera *photo);
/* Bytes of a neighbour's maps. */
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

#endif
