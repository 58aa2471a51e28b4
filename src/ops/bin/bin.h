/* bin: the instances (Gaussian, tile) of a view, sorted by tile, then depth, then Gaussian id. */
#ifndef SPLAT_OPS_BIN_H
#define SPLAT_OPS_BIN_H

#include "ops/types.h"

/* Reads ids, mean2d, conic, depth and tile_rect; writes instances, instance_slots, slot_begin, tile_begin, n_instances.
 *
 * An instance exists for each tile of tile_rect in which some sampling position can have alpha >= 1/255 (exact
 * ellipse-rectangle test with a safety margin for rounding: a tile may be listed that no pixel blends, never the
 * reverse; positions reach half a pixel further when frame->jitter is set). Depth keys are the bits of the float z,
 * which is positive. Errors: MEMORY; UNSUPPORTED when there are 2^32 instances or more. */
struct splat_bin_args {
    splat_frame *frame;
};

#endif
