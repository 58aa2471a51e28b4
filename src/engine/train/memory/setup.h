/* Facts that decide the memory of a run, in addition to its options and its count. */
#ifndef SPLAT_TRAIN_MEMORY_SETUP_H
#define SPLAT_TRAIN_MEMORY_SETUP_H

#include "backend/backend.h"
#include "ops/work.h"
#include "splatsmith/train.h"

typedef struct splat_memory_setup {
    splat_work view; /* the backend, and the largest picture; without counts */
    size_t overhead; /* what the driver holds, and room for what it still loads */
    size_t granule, photos_all, photos_two, n_points, n_vertices;
    splat_mask_mode mask_mode; /* IGNORE where no training view has a mask */
    size_t n_depth_points;     /* places with known depth in the dataset */
    size_t depth_patch_bytes;  /* bytes for the marks of views with such places */
    bool has_depth_maps;       /* some training view has one */
    size_t sky_bytes;          /* bytes for the masks of the sky */
    size_t n_ranks;            /* ranks; counts of Gaussians are those of each rank; 0 and 1: one rank */
} splat_memory_setup;

/* SPLAT_GIVE_UP_* that several ranks may give up during a run: none moves rows into host memory, and GPUs have small
 * storages from the beginning or never. */
static inline unsigned splat_ranks_may_give_up(bool on_device)
{
    const unsigned everywhere = SPLAT_GIVE_UP_PHOTOS | SPLAT_GIVE_UP_LISTS;
    return on_device ? everywhere : everywhere | SPLAT_GIVE_UP_SH | SPLAT_GIVE_UP_MOMENTS;
}

/* The place of SH above degree 0, and of their moments. */
static inline splat_placement splat_place_of_harmonics(const splat_train_options *options)
{
    return options->sh_offload ? SPLAT_ON_HOST : SPLAT_ON_DEVICE;
}

static inline splat_placement splat_place_of_moments(const splat_train_options *options)
{
    return options->sh_offload || options->moments_offload ? SPLAT_ON_HOST : SPLAT_ON_DEVICE;
}

#endif
