/* The weights of a network, from a safetensors file to the device. */
#include "measure/lpips/lpips_load.h"

#include "backend/backend.h"
#include "base/file.h"
#include "base/options.h"
#include "io/tensor/safetensors.h"
#include "measure/lpips/lpips.h"
#include "ops/conv/conv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHTS_VARIABLE "SPLATSMITH_LPIPS_WEIGHTS"

/* The file of a network: `weights`, else the environment variable; in a folder, lpips_<net>.safetensors. */
static splat_status find_file(const splat_lpips_network *network, const char *weights, char **path, splat_error *error)
{
    const char *place = weights && *weights ? weights : getenv(WEIGHTS_VARIABLE);
    *path = NULL;
    bool is_folder = place && splat_path_is_folder(place);
    if (place && splat_name_ends_with(place, ".pth"))
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, place, SPLAT_NO_OFFSET,
                             "LPIPS reads safetensors, not files of PyTorch; make lpips_%s.safetensors from them with "
                             "splatsmith-lpips-convert", network->name);
    *path = splat_format(is_folder ? "%s/lpips_%s.safetensors" : "%s", place ? place : "", network->name);
    if (!*path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    if (place && *place && splat_path_exists(*path)) return SPLAT_OK;
    splat_status status = splat_fail(error, SPLAT_ERROR_IO,
        "LPIPS is not measured: %s%s; make lpips_%s.safetensors from torchvision's %s and lpips's weights/v0.1/%s.pth "
        "with splatsmith-lpips-convert, and name it or its folder with `lpips_weights` or " WEIGHTS_VARIABLE,
        place && *place ? "there are no weights at " : "its weights are not part of the program",
        place && *place ? *path : "", network->name, network->backbone, network->name);
    free(*path);
    *path = NULL;
    return status;
}

/* Heads are [C] or [1, C, 1, 1]; convolutions are [out, in, kernel, kernel]. */
static bool has_shape(const splat_safetensor *t, const splat_lpips_tensor *w)
{
    const size_t shape[4] = {(size_t)w->n_out, (size_t)w->n_in, (size_t)w->kernel, (size_t)w->kernel};
    if (t->n_values != w->n_values) return false;
    return !w->n_in || (t->n_dimensions == 4 && memcmp(t->shape, shape, sizeof shape) == 0);
}

/* Reads a tensor into `values`, in its own order, and lays it at its place. */
static splat_status read_tensor(const splat_safetensors *file, const splat_lpips_tensor *w, float *values,
                                float *place, splat_error *error)
{
    const splat_safetensor *t = splat_safetensors_find(file, w->name);
    if (!t)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET,
                             "the weights lack tensor '%s'; they are of another network or incomplete", w->name);
    if (!has_shape(t, w))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, t->offset,
                             "tensor '%s' has another shape than [%d, %d, %d, %d]; the weights are of another network",
                             w->name, w->n_out, w->n_in ? w->n_in : 1, w->n_in ? w->kernel : 1,
                             w->n_in ? w->kernel : 1);
    SPLAT_TRY(splat_safetensors_read_f32(file, t, values, error));
    for (size_t i = 0; i < t->n_values; i++)
        if (!isfinite(values[i]))
            return splat_fail_at(error, SPLAT_ERROR_NUMERIC, file->path, t->offset,
                                 "tensor '%s' holds a value that is not finite", w->name);
    if (w->n_in)
        splat_conv_pack(values, w->n_out, w->n_in, w->kernel, place);
    else
        memcpy(place, values, t->n_values * sizeof *values);
    return SPLAT_OK;
}

/* One block for all, each tensor at a multiple of 16 floats: how many there are. *largest: values of a tensor. */
static size_t lay_out(splat_lpips *lpips, const splat_lpips_tensor *tensors, int n, size_t *largest)
{
    size_t n_floats = 0;
    *largest = 0;
    for (int i = 0; i < n; i++) {
        lpips->offsets[tensors[i].layer][tensors[i].role] = n_floats;
        n_floats += (tensors[i].n_values + 15) / 16 * 16;
        if (tensors[i].n_values > *largest) *largest = tensors[i].n_values;
    }
    return n_floats;
}

static splat_status put_weights(splat_lpips *lpips, const float *block, size_t bytes, splat_error *error)
{
    splat_backend *b = lpips->context->backend;
    SPLAT_TRY(splat_block_resize(b, &lpips->weights, "lpips weights", SPLAT_OWNER_EVALUATION, bytes, error));
    return splat_backend_upload_and_wait(b, lpips->weights.data, block, bytes, error);
}

static splat_status load_weights(splat_lpips *lpips, const char *path, splat_error *error)
{
    splat_lpips_tensor tensors[SPLAT_LPIPS_MAX_TENSORS];
    int n = splat_lpips_network_tensors(lpips->network, lpips->n_layers, tensors);
    size_t largest, n_floats = lay_out(lpips, tensors, n, &largest);
    splat_safetensors file;
    SPLAT_TRY(splat_safetensors_open(path, &file, error));
    float *values = malloc(largest * sizeof *values), *block = calloc(n_floats, sizeof *block);
    splat_status status = values && block ? SPLAT_OK
        : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the weights of %s", lpips->network->name);
    for (int i = 0; i < n && status == SPLAT_OK; i++)
        status = read_tensor(&file, &tensors[i], values, block + lpips->offsets[tensors[i].layer][tensors[i].role],
                             error);
    if (status == SPLAT_OK) status = put_weights(lpips, block, n_floats * sizeof *block, error);
    free(values);
    free(block);
    splat_safetensors_close(&file);
    return status;
}

splat_status splat_lpips_create_part(splat_context *context, const splat_lpips_options *options, int n_taps,
                                     splat_lpips **result, splat_error *error)
{
    *result = NULL;
    splat_lpips_options own;
    splat_lpips_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, options, "splat_lpips_options", error));
    options = &own;
    const char *net = options->net ? options->net : "vgg";
    const splat_lpips_network *network = splat_lpips_network_find(net);
    if (!network)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the LPIPS network must be vgg, alex or squeeze, not '%s'", net);
    char *path;
    SPLAT_TRY(find_file(network, options->weights, &path, error));
    splat_lpips *lpips = calloc(1, sizeof *lpips);
    splat_status status = lpips ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for LPIPS");
    if (status == SPLAT_OK) {
        lpips->context = context;
        lpips->network = network;
        lpips->n_taps = n_taps < network->n_taps ? n_taps : network->n_taps;
        lpips->n_layers = splat_lpips_network_depth(network, lpips->n_taps);
        lpips->normalize = options->normalize;
        status = load_weights(lpips, path, error);
    }
    free(path);
    if (status == SPLAT_OK)
        *result = lpips;
    else
        splat_lpips_destroy(lpips);
    return status;
}

void splat_lpips_options_init_sized(splat_lpips_options *options, size_t size)
{
    const splat_lpips_options defaults = {.net = "vgg"};
    splat_options_give(options, size, &defaults, sizeof defaults);
}

splat_status splat_lpips_create(splat_context *context, const splat_lpips_options *options, splat_lpips **lpips,
                                splat_error *error)
{
    return splat_lpips_create_part(context, options, SPLAT_LPIPS_MAX_TAPS, lpips, error);
}

/* ---------------------------------------------------------------- to other ranks */

typedef struct shared_head {
    char net[16];
    int n_taps;
    bool normalize;
} shared_head;

/* Makes the network of a rank that did not load it: without weights. */
static splat_status make_like(splat_context *context, const shared_head *head, splat_lpips **result,
                              splat_error *error)
{
    splat_lpips *lpips = calloc(1, sizeof *lpips);
    *result = lpips;
    if (!lpips) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for LPIPS");
    lpips->context = context;
    lpips->network = splat_lpips_network_find(head->net);
    lpips->n_taps = head->n_taps;
    lpips->n_layers = splat_lpips_network_depth(lpips->network, head->n_taps);
    lpips->normalize = head->normalize;
    return SPLAT_OK;
}

/* By way of host memory. */
static splat_status share_weights(splat_lpips *lpips, splat_comm *comm, splat_error *error)
{
    splat_lpips_tensor tensors[SPLAT_LPIPS_MAX_TENSORS];
    splat_backend *b = lpips->context->backend;
    const bool is_first = comm->rank == 0;
    int n = splat_lpips_network_tensors(lpips->network, lpips->n_layers, tensors);
    size_t largest, bytes = lay_out(lpips, tensors, n, &largest) * sizeof(float);
    float *block = malloc(bytes);
    splat_status status = block ? SPLAT_OK
                                : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the weights of LPIPS");
    if (status == SPLAT_OK && is_first) status = splat_backend_download(b, block, lpips->weights.data, bytes, error);
    if (status == SPLAT_OK) status = splat_comm_broadcast(comm, 0, block, bytes, error);
    if (status == SPLAT_OK && !is_first) status = put_weights(lpips, block, bytes, error);
    free(block);
    return status;
}

splat_status splat_lpips_share(splat_context *context, splat_comm *comm, splat_lpips **lpips, splat_error *error)
{
    shared_head head;
    memset(&head, 0, sizeof head);
    if (comm->rank == 0) {
        snprintf(head.net, sizeof head.net, "%s", (*lpips)->network->name);
        head.n_taps = (*lpips)->n_taps;
        head.normalize = (*lpips)->normalize;
    }
    SPLAT_TRY(splat_comm_broadcast(comm, 0, &head, sizeof head, error));
    if (comm->rank > 0) {
        splat_lpips_destroy(*lpips);
        SPLAT_TRY(make_like(context, &head, lpips, error));
    }
    return share_weights(*lpips, comm, error);
}
