/* bin: the instances (Gaussian, tile) of a view, sorted by tile, then depth, then Gaussian id. */
#ifndef SPLAT_OPS_BIN_H
#define SPLAT_OPS_BIN_H

#include "ops/frame.h"

/* Reads ids, mean2d, conic, depth and tile_rect; writes instances, instance_slots, slot_begin, tile_begin, n_instances.
 *
 * An instance exists for each tile of tile_rect in which some sampling position can have alpha >= 1/255 (exact
 * ellipse-rectangle test with a safety margin for rounding: a tile may be listed that no pixel blends, never the
 * reverse; positions reach half a pixel further when frame->jitter is set). Depth keys are the bits of the float z,
 * which is positive. Errors: MEMORY; UNSUPPORTED when there are 2^32 instances or more.
 *
 * Bands: only the rows of tiles from frame->row_begin on are listed; frame->row_end is set (see frame.h), whatever it
 * was before. The lists of a tile are the same in whatever band they are made. n_instances, instance_slots and
 * slot_begin are the band's. A row alone with more than frame->max_instances is an error (MEMORY).
 *
 * Memory: the arrays of instances are taken from the frame's region at the first band of a view, with room for the view
 * when it fits at once and for max_instances otherwise, and used again by the other bands. Working memory is scratch,
 * which bin resets before and after its work.
 *
 * On a backend that does not wait for counts (frame->hint), a view whose last count with a margin is at most
 * max_instances is one band; for any other view with a bound the host waits for the counts of the rows, once a band. */
struct splat_bin_args {
    splat_frame *frame;
};

#endif
