/* sky.safetensors: the dome of a splat's sky. */
#include "io/dome_file.h"

#include "base/file.h"
#include "io/tensor/safetensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST 1e4f /* of a colour, where white is 1 */

splat_status splat_dome_write(const char *path, const splat_dome *dome, splat_error *error)
{
    const splat_safetensor_f32 tensors[] = {
        {"colors", 4, {6, SPLAT_DOME_SIDE, SPLAT_DOME_SIDE, 3}, dome->colors},
        {"center", 1, {3}, dome->center},
        {"radius", 1, {1}, &dome->radius}};
    return splat_safetensors_write(path, tensors, 3, "splatsmith: the sky behind a splat", error);
}

static splat_status read_tensor(const splat_safetensors *file, const char *name, const size_t *shape, int n_dimensions,
                                float largest, float *values, splat_error *error)
{
    const splat_safetensor *t = splat_safetensors_find(file, name);
    bool fits = t && t->n_dimensions == n_dimensions;
    for (int i = 0; i < n_dimensions && fits; i++) fits = t->shape[i] == shape[i];
    if (!fits)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET,
                             "the file of a sky needs a tensor `%s` of %zu values%s", name,
                             n_dimensions == 1 ? shape[0] : (size_t)3 * SPLAT_DOME_NODES,
                             n_dimensions == 1 ? "" : " in the shape 6 x 64 x 64 x 3");
    SPLAT_TRY(splat_safetensors_read_f32(file, t, values, error));
    for (size_t i = 0; i < t->n_values; i++)
        if (!(fabsf(values[i]) <= largest))
            return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, (int64_t)t->offset + 4 * (int64_t)i,
                                 "value %zu of tensor `%s` is %g", i, name, (double)values[i]);
    return SPLAT_OK;
}

splat_status splat_dome_read(const char *path, splat_dome *dome, splat_error *error)
{
    static const size_t cube[] = {6, SPLAT_DOME_SIDE, SPLAT_DOME_SIDE, 3}, three[] = {3}, one[] = {1};
    const float far = 1e30f;
    splat_safetensors file = {0};
    *dome = (splat_dome){.colors = NULL};
    float *colors = malloc(SPLAT_DOME_BYTES);
    if (!colors) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the colours of a sky");
    splat_status status = splat_safetensors_open(path, &file, error);
    if (status == SPLAT_OK) status = read_tensor(&file, "colors", cube, 4, LARGEST, colors, error);
    if (status == SPLAT_OK) status = read_tensor(&file, "center", three, 1, far, dome->center, error);
    if (status == SPLAT_OK) status = read_tensor(&file, "radius", one, 1, far, &dome->radius, error);
    if (status == SPLAT_OK && dome->radius < 0)
        status = splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                               "the radius of the sky is %g; 0 is infinity", (double)dome->radius);
    splat_safetensors_close(&file);
    if (status == SPLAT_OK)
        dome->colors = colors;
    else
        free(colors);
    return status;
}

char *splat_dome_path_next_to(const char *path)
{
    const char *slash = strrchr(path, '/');
    return splat_format("%.*s" SPLAT_DOME_FILE, (int)(slash ? slash + 1 - path : 0), path);
}
