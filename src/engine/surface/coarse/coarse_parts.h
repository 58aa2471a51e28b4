/* SuGaR's coarse training (docs/method.md, "Coarse training"): the arrays and results that its files share. */
#ifndef SPLAT_SURFACE_COARSE_PARTS_H
#define SPLAT_SURFACE_COARSE_PARTS_H

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

#endif
