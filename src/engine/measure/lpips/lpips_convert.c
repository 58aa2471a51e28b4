/* torchvision's backbone and lpips's heads, as users can get them, to the one file that splat_lpips_create reads. */
#include "measure/lpips/lpips_convert.h"

#include "io/torch/torch_read.h"
#include "io/torch/torch_tensor.h"
#include "io/torch/torch_values.h"

#include "base/file.h"
#include "io/tensor/safetensors.h"
#include "io/torch/torch_file.h"
#include "measure/lpips/lpips_net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* torchvision calls a tensor features.0.weight, a file of the feature part alone 0.weight; lpips calls a head
 * lin0.model.1.weight. */
static const splat_torch_tensor *find_tensor(const splat_torch_file *file, const splat_lpips_tensor *w)
{
    const splat_torch_value *root = splat_torch_file_root(file), *value = splat_torch_get(root, w->name);
    char head[32];
    if (!value && w->role == SPLAT_LPIPS_HEAD) {
        snprintf(head, sizeof head, "%.4s.model.1.weight", w->name);
        value = splat_torch_get(root, head);
    } else if (!value) {
        value = splat_torch_get(root, w->name + strlen("features."));
    }
    return splat_torch_tensor_of(value);
}

static bool has_shape(const splat_torch_tensor *t, const splat_lpips_tensor *w)
{
    if (t->n != w->n_values) return false;
    return !w->n_in || (t->n_dims == 4 && t->shape[0] == (uint64_t)w->n_out && t->shape[1] == (uint64_t)w->n_in &&
                        t->shape[2] == (uint64_t)w->kernel && t->shape[3] == (uint64_t)w->kernel);
}

/* The tensor as it will be written; its values are malloc'd. */
static splat_status convert_tensor(const splat_torch_file *file, const splat_lpips_tensor *w, splat_safetensor_f32 *out,
                                   float **values, splat_error *error)
{
    const splat_torch_tensor *t = find_tensor(file, w);
    if (!t || !has_shape(t, w))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, splat_torch_file_path(file), SPLAT_NO_OFFSET,
                             "%s tensor '%s'; this file is of another network, or backbone and heads are exchanged",
                             t ? "another shape than expected has" : "there is no", w->name);
    *values = malloc(w->n_values * sizeof **values);
    if (!*values) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for tensor '%s'", w->name);
    *out = (splat_safetensor_f32){w->name, w->n_in ? 4 : 1, {(size_t)w->n_out}, *values};
    if (w->n_in) {
        out->shape[1] = (size_t)w->n_in;
        out->shape[2] = out->shape[3] = (size_t)w->kernel;
    }
    return splat_torch_tensor_read_f32(file, t, *values, w->n_values, error);
}

/* The parts of the conversion that must be given back. */
typedef struct conversion {
    splat_torch_file *backbone, *heads;
    splat_lpips_tensor wanted[SPLAT_LPIPS_MAX_TENSORS];
    splat_safetensor_f32 tensors[SPLAT_LPIPS_MAX_TENSORS];
    float *values[SPLAT_LPIPS_MAX_TENSORS];
} conversion;

static splat_status convert(conversion *c, const splat_lpips_network *network, const char *backbone, const char *heads,
                            const char *path, splat_error *error)
{
    SPLAT_TRY(splat_torch_file_open(backbone, &c->backbone, error));
    SPLAT_TRY(splat_torch_file_open(heads, &c->heads, error));
    int n = splat_lpips_network_tensors(network, network->n_layers, c->wanted);
    for (int i = 0; i < n; i++) {
        const splat_torch_file *file = c->wanted[i].role == SPLAT_LPIPS_HEAD ? c->heads : c->backbone;
        SPLAT_TRY(convert_tensor(file, &c->wanted[i], &c->tensors[i], &c->values[i], error));
    }
    return splat_safetensors_write(path, c->tensors, (size_t)n, "torchvision and lpips v0.1", error);
}

splat_status splat_lpips_convert(const char *net, const char *backbone, const char *heads, const char *path,
                                 splat_error *error)
{
    const splat_lpips_network *network = splat_lpips_network_find(net);
    if (!network)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the LPIPS network must be vgg, alex or squeeze, not '%s'", net);
    conversion *c = calloc(1, sizeof *c);
    if (!c) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the conversion");
    splat_status status = convert(c, network, backbone, heads, path, error);
    for (int i = 0; i < SPLAT_LPIPS_MAX_TENSORS; i++) free(c->values[i]);
    splat_torch_file_close(c->backbone);
    splat_torch_file_close(c->heads);
    free(c);
    return status;
}
