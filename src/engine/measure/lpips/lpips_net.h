/* The networks of LPIPS as tables of layers, and the plan by which a picture passes through one in bounded memory.
 *
 * The plan cuts the network into segments at pooling layers. Between segments a map is kept whole; within one, the
 * picture goes through in bands of rows, each band with the rows around it that its result needs (they are computed
 * again by the next band). Few segments keep little but repeat much, many bands need little but repeat much: the plan
 * is the cheapest one below a memory limit. The limit depends on the picture's size, and on the machine only where it
 * has very many CPU threads, whose results no plan changes. */
#ifndef SPLAT_MEASURE_LPIPS_NET_H
#define SPLAT_MEASURE_LPIPS_NET_H

#include "base/error.h"

#define SPLAT_LPIPS_MAX_LAYERS 24
#define SPLAT_LPIPS_MAX_TAPS 7
#define SPLAT_LPIPS_IMAGES 2 /* render and photo pass together */

typedef enum splat_lpips_kind {
    SPLAT_LPIPS_INPUT = 0, /* the scaled picture: always layer 0 */
    SPLAT_LPIPS_CONV,      /* convolution and ReLU; tensors <name>.weight, <name>.bias */
    SPLAT_LPIPS_EXPAND,    /* half the channels from <name>.expand1x1, half from <name>.expand3x3 (padding 1) */
    SPLAT_LPIPS_POOL       /* maximum */
} splat_lpips_kind;

typedef struct splat_lpips_layer {
    splat_lpips_kind kind;
    const char *name; /* name of its tensors in torchvision */
    int channels, kernel, stride, pad;
    bool tap;         /* its output is compared */
    bool ceil_mode;   /* POOL: a last window that is cut counts */
} splat_lpips_layer;

typedef struct splat_lpips_network {
    const char *name, *normalized_name; /* the second with pictures as [-1, 1] */
    const char *backbone; /* torchvision's file */
    const splat_lpips_layer *layers;
    int n_layers, n_taps;
} splat_lpips_network;

/* "vgg", "alex" or "squeeze"; NULL otherwise. */
const splat_lpips_network *splat_lpips_network_find(const char *name);
/* Layers up to and with the n-th tap. */
int splat_lpips_network_depth(const splat_lpips_network *network, int n_taps);

/* The tensors of a network, by what they are for. EXPAND has two convolutions, others one. */
typedef enum splat_lpips_role {
    SPLAT_LPIPS_WEIGHT = 0, SPLAT_LPIPS_BIAS, SPLAT_LPIPS_SECOND_WEIGHT, SPLAT_LPIPS_SECOND_BIAS,
    SPLAT_LPIPS_HEAD, /* weights of a tap: [channels] */
    SPLAT_LPIPS_N_ROLES
} splat_lpips_role;

typedef struct splat_lpips_tensor {
    char name[48];           /* torchvision's, lin0.weight for the heads */
    int layer;
    splat_lpips_role role;
    int n_out, n_in, kernel; /* [n_out][n_in][kernel][kernel]; n_in 0: [n_out] */
    size_t n_values;
} splat_lpips_tensor;

#define SPLAT_LPIPS_MAX_TENSORS (SPLAT_LPIPS_MAX_LAYERS * SPLAT_LPIPS_N_ROLES)

/* The tensors of the first n_layers layers; returns how many. */
int splat_lpips_network_tensors(const splat_lpips_network *network, int n_layers,
                                splat_lpips_tensor tensors[SPLAT_LPIPS_MAX_TENSORS]);

typedef struct splat_lpips_rows { int begin, end; } splat_lpips_rows;

/* Layers [first, last], in n_bands bands of rows of layer `last`. */
typedef struct splat_lpips_segment { int first, last, n_bands; } splat_lpips_segment;

typedef struct splat_lpips_plan {
    const splat_lpips_network *network;
    int n_layers;
    int width[SPLAT_LPIPS_MAX_LAYERS], height[SPLAT_LPIPS_MAX_LAYERS]; /* size of each layer's map */
    splat_lpips_segment segments[SPLAT_LPIPS_MAX_LAYERS];
    int n_segments;
    /* Floats of the maps kept whole (the output of segment s is in kept[s % 2]) and of the bands (the output of layer l
     * is in band[l % 2]), both images. */
    size_t kept[2], band[2];
    double cost; /* multiplications, and what launches cost */
} splat_lpips_plan;

/* Plans the first n_layers layers for pictures of width x height in at most max_floats floats of maps, or in as few as
 * there can be. ARGUMENT when a picture is too small to leave one pixel in the last map, or too large. */
splat_status splat_lpips_plan_make(const splat_lpips_network *network, int n_layers, int width, int height,
                                   size_t max_floats, splat_lpips_plan *plan, splat_error *error);
size_t splat_lpips_plan_floats(const splat_lpips_plan *plan);
/* The rows of layers first to last that band b computes, and those of them that belong to it alone: over the bands,
 * owned rows are every row of a layer once. Both are indexed by layer. */
void splat_lpips_band_rows(const splat_lpips_plan *plan, const splat_lpips_segment *segment, int b,
                           splat_lpips_rows *computed, splat_lpips_rows *owned);
/* Floats of a channel of a map of `rows` rows: a multiple of 4, so that rows can be stored in fours. */
size_t splat_lpips_channel_floats(const splat_lpips_plan *plan, int layer, int rows);

#endif
