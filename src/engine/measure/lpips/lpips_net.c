/* The tables of layers, and the search for the segments and bands that fit a budget. */
#include "measure/lpips/lpips_net.h"

#include <stdio.h>
#include <string.h>

#define INPUT {SPLAT_LPIPS_INPUT, "", 3, 1, 1, 0, false, false}
#define CONV(name, channels, kernel, stride, pad) {SPLAT_LPIPS_CONV, name, channels, kernel, stride, pad, false, false}
#define TAP(name, channels, kernel, stride, pad) {SPLAT_LPIPS_CONV, name, channels, kernel, stride, pad, true, false}
#define POOL(channels, window) {SPLAT_LPIPS_POOL, "", channels, window, 2, 0, false, false}
#define POOL_CEIL(channels, window) {SPLAT_LPIPS_POOL, "", channels, window, 2, 0, false, true}
/* A fire module: a 1x1 convolution to few channels, then the pair that expands them. */
#define FIRE(name, squeezed, channels, tap)                                                                            \
    {SPLAT_LPIPS_CONV, name ".squeeze", squeezed, 1, 1, 0, false, false},                                              \
    {SPLAT_LPIPS_EXPAND, name, channels, 3, 1, 1, tap, false}

static const splat_lpips_layer vgg_layers[] = {
    INPUT,
    CONV("features.0", 64, 3, 1, 1), TAP("features.2", 64, 3, 1, 1), POOL(64, 2),
    CONV("features.5", 128, 3, 1, 1), TAP("features.7", 128, 3, 1, 1), POOL(128, 2),
    CONV("features.10", 256, 3, 1, 1), CONV("features.12", 256, 3, 1, 1), TAP("features.14", 256, 3, 1, 1),
    POOL(256, 2),
    CONV("features.17", 512, 3, 1, 1), CONV("features.19", 512, 3, 1, 1), TAP("features.21", 512, 3, 1, 1),
    POOL(512, 2),
    CONV("features.24", 512, 3, 1, 1), CONV("features.26", 512, 3, 1, 1), TAP("features.28", 512, 3, 1, 1),
};

static const splat_lpips_layer alex_layers[] = {
    INPUT,
    TAP("features.0", 64, 11, 4, 2), POOL(64, 3),
    TAP("features.3", 192, 5, 1, 2), POOL(192, 3),
    TAP("features.6", 384, 3, 1, 1), TAP("features.8", 256, 3, 1, 1), TAP("features.10", 256, 3, 1, 1),
};

static const splat_lpips_layer squeeze_layers[] = {
    INPUT,
    TAP("features.0", 64, 3, 2, 0), POOL_CEIL(64, 3),
    FIRE("features.3", 16, 128, false), FIRE("features.4", 16, 128, true), POOL_CEIL(128, 3),
    FIRE("features.6", 32, 256, false), FIRE("features.7", 32, 256, true), POOL_CEIL(256, 3),
    FIRE("features.9", 48, 384, true), FIRE("features.10", 48, 384, true),
    FIRE("features.11", 64, 512, true), FIRE("features.12", 64, 512, true),
};

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))
static const splat_lpips_network networks[] = {
    {"vgg", "vgg normalized", "vgg16-397923af.pth", vgg_layers, COUNT(vgg_layers), 5},
    {"alex", "alex normalized", "alexnet-owt-7be5be79.pth", alex_layers, COUNT(alex_layers), 5},
    {"squeeze", "squeeze normalized", "squeezenet1_1-b8a52dc0.pth", squeeze_layers, COUNT(squeeze_layers), 7},
};

/* Multiplications that take as long as one more launch on a fast GPU (10 us). */
#define LAUNCH_COST 2e8

const splat_lpips_network *splat_lpips_network_find(const char *name)
{
    for (int i = 0; i < COUNT(networks); i++)
        if (strcmp(networks[i].name, name) == 0) return &networks[i];
    return NULL;
}

int splat_lpips_network_depth(const splat_lpips_network *network, int n_taps)
{
    int layer = 0;
    while (layer < network->n_layers && n_taps > 0) n_taps -= network->layers[layer++].tap;
    return layer;
}

static int add_tensor(splat_lpips_tensor *t, int layer, splat_lpips_role role, const char *prefix, const char *suffix,
                      int n_out, int n_in, int kernel)
{
    *t = (splat_lpips_tensor){.layer = layer, .role = role, .n_out = n_out, .n_in = n_in, .kernel = kernel};
    snprintf(t->name, sizeof t->name, "%s%s", prefix, suffix);
    t->n_values = (size_t)n_out * (n_in ? (size_t)n_in * (size_t)(kernel * kernel) : 1);
    return 1;
}

int splat_lpips_network_tensors(const splat_lpips_network *network, int n_layers,
                                splat_lpips_tensor tensors[SPLAT_LPIPS_MAX_TENSORS])
{
    static const char *const heads[SPLAT_LPIPS_MAX_TAPS] = {"lin0", "lin1", "lin2", "lin3", "lin4", "lin5", "lin6"};
    int n = 0, tap = 0;
    for (int l = 0; l < n_layers; l++) {
        const splat_lpips_layer *layer = &network->layers[l];
        const char *name = layer->name;
        int n_out = layer->channels, n_in = l ? layer[-1].channels : 0;
        if (layer->kind == SPLAT_LPIPS_CONV) {
            n += add_tensor(&tensors[n], l, SPLAT_LPIPS_WEIGHT, name, ".weight", n_out, n_in, layer->kernel);
            n += add_tensor(&tensors[n], l, SPLAT_LPIPS_BIAS, name, ".bias", n_out, 0, 0);
        } else if (layer->kind == SPLAT_LPIPS_EXPAND) {
            n_out /= 2;
            n += add_tensor(&tensors[n], l, SPLAT_LPIPS_WEIGHT, name, ".expand1x1.weight", n_out, n_in, 1);
            n += add_tensor(&tensors[n], l, SPLAT_LPIPS_BIAS, name, ".expand1x1.bias", n_out, 0, 0);
            n += add_tensor(&tensors[n], l, SPLAT_LPIPS_SECOND_WEIGHT, name, ".expand3x3.weight", n_out, n_in, 3);
            n += add_tensor(&tensors[n], l, SPLAT_LPIPS_SECOND_BIAS, name, ".expand3x3.bias", n_out, 0, 0);
        }
        if (layer->tap)
            n += add_tensor(&tensors[n], l, SPLAT_LPIPS_HEAD, heads[tap++], ".weight", layer->channels, 0, 0);
    }
    return n;
}

static int at_most(int a, int b)
{
    return a < b ? a : b;
}

static int at_least(int a, int b)
{
    return a > b ? a : b;
}

/* Pixels of a layer's side from those of the layer before; < 1 when the window does not fit once. */
static int side_after(const splat_lpips_layer *layer, int side)
{
    int room = side + 2 * layer->pad - layer->kernel;
    if (room < 0) return 0;
    int n = (room + (layer->ceil_mode ? layer->stride - 1 : 0)) / layer->stride + 1;
    return layer->ceil_mode && (n - 1) * layer->stride >= side ? n - 1 : n; /* a window begins inside the map */
}

size_t splat_lpips_channel_floats(const splat_lpips_plan *plan, int layer, int rows)
{
    return ((size_t)plan->width[layer] * (size_t)rows + 3) / 4 * 4;
}

static size_t map_floats(const splat_lpips_plan *plan, int layer, int rows)
{
    return SPLAT_LPIPS_IMAGES * (size_t)plan->network->layers[layer].channels *
           splat_lpips_channel_floats(plan, layer, rows);
}

size_t splat_lpips_plan_floats(const splat_lpips_plan *plan)
{
    return plan->kept[0] + plan->kept[1] + plan->band[0] + plan->band[1];
}

void splat_lpips_band_rows(const splat_lpips_plan *plan, const splat_lpips_segment *segment, int b,
                           splat_lpips_rows *computed, splat_lpips_rows *owned)
{
    bool is_last = b == segment->n_bands - 1;
    int64_t height = plan->height[segment->last];
    owned[segment->last] = (splat_lpips_rows){(int)(height * b / segment->n_bands),
                                              (int)(height * (b + 1) / segment->n_bands)};
    computed[segment->last] = owned[segment->last];
    for (int l = segment->last - 1; l >= segment->first; l--) {
        const splat_lpips_layer *after = &plan->network->layers[l + 1];
        splat_lpips_rows *mine = &computed[l], *own = &owned[l];
        int n = plan->height[l];
        own->begin = at_most(owned[l + 1].begin * after->stride, n);
        own->end = is_last ? n : at_most(owned[l + 1].end * after->stride, n);
        mine->begin = at_least(computed[l + 1].begin * after->stride - after->pad, 0);
        mine->end = at_most((computed[l + 1].end - 1) * after->stride - after->pad + after->kernel, n);
        if (!plan->network->layers[l].tap) continue;
        mine->begin = at_most(mine->begin, own->begin); /* compared, though the next layer may not look at it */
        mine->end = at_least(mine->end, own->end);
    }
}

/* Multiplications of an output pixel of a layer. */
static double products_of(const splat_lpips_network *network, int layer)
{
    const splat_lpips_layer *l = &network->layers[layer];
    if (l->kind == SPLAT_LPIPS_INPUT || l->kind == SPLAT_LPIPS_POOL) return l->channels;
    double area = l->kind == SPLAT_LPIPS_EXPAND ? 5 : (double)l->kernel * l->kernel; /* the mean of 1 and 9 */
    return area * l->channels * network->layers[layer - 1].channels;
}

/* Memory and cost of a segment in n_bands bands. */
static double segment_cost(const splat_lpips_plan *plan, const splat_lpips_segment *segment, size_t band[2])
{
    splat_lpips_rows computed[SPLAT_LPIPS_MAX_LAYERS], owned[SPLAT_LPIPS_MAX_LAYERS];
    bool ends = segment->last == plan->n_layers - 1;
    double cost = 0;
    band[0] = band[1] = 0;
    for (int b = 0; b < segment->n_bands; b++) {
        splat_lpips_band_rows(plan, segment, b, computed, owned);
        for (int l = segment->first; l <= segment->last; l++) {
            int rows = computed[l].end - computed[l].begin;
            cost += SPLAT_LPIPS_IMAGES * (double)rows * plan->width[l] * products_of(plan->network, l) + LAUNCH_COST;
            size_t floats = map_floats(plan, l, rows);
            if ((l < segment->last || ends) && floats > band[l % 2]) band[l % 2] = floats;
        }
    }
    return cost;
}

/* The segments of a set of cuts: bit i is a cut after the i-th pooling layer. */
static void cut_network(splat_lpips_plan *plan, unsigned cuts)
{
    int first = 0, n_pools = 0;
    plan->n_segments = 0;
    plan->kept[0] = plan->kept[1] = 0;
    for (int l = 0; l < plan->n_layers; l++) {
        bool cut = plan->network->layers[l].kind == SPLAT_LPIPS_POOL && (cuts >> n_pools++ & 1) != 0;
        bool ends = l == plan->n_layers - 1;
        if (!cut && !ends) continue;
        size_t *kept = &plan->kept[plan->n_segments % 2], floats = ends ? 0 : map_floats(plan, l, plan->height[l]);
        if (floats > *kept) *kept = floats;
        plan->segments[plan->n_segments++] = (splat_lpips_segment){first, l, 1};
        first = l + 1;
    }
}

/* Chooses the fewest bands with which a segment and the kept maps fit into max_floats; else one band a row. */
static void choose_bands(splat_lpips_plan *plan, splat_lpips_segment *segment, size_t max_floats)
{
    int height = plan->height[segment->last];
    size_t kept = plan->kept[0] + plan->kept[1], band[2];
    double cost = segment_cost(plan, segment, band);
    while (kept + band[0] + band[1] > max_floats && segment->n_bands < height) {
        segment->n_bands = at_most(segment->n_bands + 1 + segment->n_bands / 4, height);
        cost = segment_cost(plan, segment, band);
    }
    plan->cost += cost;
    for (int i = 0; i < 2; i++)
        if (band[i] > plan->band[i]) plan->band[i] = band[i];
}

/* Within the limit the cheaper plan is better, beyond it the smaller. */
static bool is_better(const splat_lpips_plan *a, const splat_lpips_plan *b, size_t max_floats)
{
    size_t floats_a = splat_lpips_plan_floats(a), floats_b = splat_lpips_plan_floats(b);
    if (floats_a <= max_floats && floats_b <= max_floats) return a->cost < b->cost;
    return floats_a < floats_b;
}

splat_status splat_lpips_plan_make(const splat_lpips_network *network, int n_layers, int width, int height,
                                   size_t max_floats, splat_lpips_plan *plan, splat_error *error)
{
    splat_lpips_plan shape = {.network = network, .n_layers = n_layers};
    int n_pools = 0;
    for (int l = 0; l < n_layers; l++) {
        shape.width[l] = l ? side_after(&network->layers[l], shape.width[l - 1]) : width;
        shape.height[l] = l ? side_after(&network->layers[l], shape.height[l - 1]) : height;
        n_pools += network->layers[l].kind == SPLAT_LPIPS_POOL;
        if (shape.width[l] < 1 || shape.height[l] < 1)
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a picture of %dx%d is too small for LPIPS with %s", width,
                              height, network->name);
    }
    if (width > 65500 || height > 65500 || (int64_t)width * height > 400000000) /* pixel counts stay within 31 bits */
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a picture of %dx%d is too large for LPIPS", width, height);
    for (unsigned cuts = 0; cuts < 1u << n_pools; cuts++) {
        splat_lpips_plan candidate = shape;
        cut_network(&candidate, cuts);
        for (int s = 0; s < candidate.n_segments; s++) choose_bands(&candidate, &candidate.segments[s], max_floats);
        if (cuts == 0 || is_better(&candidate, plan, max_floats)) *plan = candidate;
    }
    return SPLAT_OK;
}
