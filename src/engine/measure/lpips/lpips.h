/* The inside of splat_lpips: weights on the device, and pictures that are already there. */
#ifndef SPLAT_MEASURE_LPIPS_H
#define SPLAT_MEASURE_LPIPS_H

#include "base/context.h"
#include "distributed/comm.h"
#include "ops/types.h"
#include "measure/lpips/lpips_net.h"
#include "splatsmith/model.h"

/* Maps and weights up to 1.6 Mpixel; larger pictures may take more in proportion. With the patches and sums of the ops
 * it stays below 300 MB: patches of more CPU threads than SPLAT_LPIPS_PATCHES has room for (46) go off the maps. */
#define SPLAT_LPIPS_BYTES 285000000.0
#define SPLAT_LPIPS_PATCHES 12000000.0
#define SPLAT_LPIPS_PIXELS 1600000.0

struct splat_lpips {
    splat_context *context;
    const splat_lpips_network *network;
    int n_taps, n_layers;
    bool normalize;
    splat_block weights;
    size_t offsets[SPLAT_LPIPS_MAX_LAYERS][SPLAT_LPIPS_N_ROLES]; /* offsets of the tensors in `weights`, floats */
    splat_lpips_plan plan; /* plan for the size of the last picture */
    splat_block maps, scratch, sums;
};

/* Both pictures on the device: image float[3][height][width] in [0, 1], photo uint8_t[height][width][3]; mask
 * uint8_t[height][width] (what it does not keep is the photo's in both) or NULL. per_tap [n_taps] is host memory.
 * Waits. */
splat_status splat_lpips_run(splat_lpips *lpips, int width, int height, const float *image, const uint8_t *photo,
                             const uint8_t *mask, double *per_tap, splat_error *error);
/* Gives back what a picture needed; the weights stay. */
void splat_lpips_release(splat_lpips *lpips);
/* The label in results.json: "vgg", or "vgg normalized". */
const char *splat_lpips_label(const splat_lpips *lpips);

#endif
