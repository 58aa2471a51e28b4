/* N.pt of SuGaR's coarse training: torch.save of {"state_dict": {"_points", "all_densities", "_scales",
 * "_quaternions", "_sh_coordinates_dc", "_sh_coordinates_rest"}, ...}. Scales are logarithms, densities logits of
 * opacities, quaternions have their real part first; rendered as 3DGS renders. What a refinement saves is bound to a
 * mesh and is no splat. */
#include "io/splat/formats.h"
#include "io/torch/torch_file.h"
#include "io/torch/torch_read.h"
#include "io/torch/torch_tensor.h"
#include "io/torch/torch_values.h"

#include <string.h>

/* A tensor of the state and where it goes. */
typedef struct slot {
    const char *key;
    uint64_t channels; /* of a row, all dimensions behind the first together; 0: those of sh_rest */
} slot;

/* In the order of gaussians.def. */
static const slot slots[SPLAT_N_TENSORS] = {
    [SPLAT_TENSOR_means] = {"_points", 3},
    [SPLAT_TENSOR_sh_dc] = {"_sh_coordinates_dc", 3},
    [SPLAT_TENSOR_sh_rest] = {"_sh_coordinates_rest", 0},
    [SPLAT_TENSOR_opacities] = {"all_densities", 1},
    [SPLAT_TENSOR_scales] = {"_scales", 3},
    [SPLAT_TENSOR_rotations] = {"_quaternions", 4},
};

/* An open file, and the tensors that were found in it. */
typedef struct sugar_file {
    splat_torch_file *file;
    const splat_torch_tensor *tensors[SPLAT_N_TENSORS];
    size_t n;
    int sh_degree;
} sugar_file;

static splat_status bad(const sugar_file *f, const char *what, const char *key, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, splat_torch_file_path(f->file), SPLAT_NO_OFFSET,
                         "this is not a coarse checkpoint of SuGaR: %s%s", what, key);
}

static splat_status find_degree(sugar_file *f, splat_error *error)
{
    uint64_t floats = f->tensors[SPLAT_TENSOR_sh_rest]->n / f->n;
    for (f->sh_degree = 0; f->sh_degree <= SPLAT_MAX_SH_DEGREE; f->sh_degree++)
        if (splat_tensor_channels(SPLAT_TENSOR_sh_rest, f->sh_degree) == floats) return SPLAT_OK;
    return bad(f, "the coefficients of no SH degree from 0 to 3 are in ", slots[SPLAT_TENSOR_sh_rest].key, error);
}

static splat_status find_tensors(sugar_file *f, splat_error *error)
{
    const splat_torch_value *state = splat_torch_get(splat_torch_file_root(f->file), "state_dict");
    const splat_torch_tensor *points = splat_torch_tensor_of(splat_torch_get(state, slots[SPLAT_TENSOR_means].key));
    if (!state) return bad(f, "it has no state_dict", "", error);
    if (splat_torch_get(state, "_surface_mesh_faces"))
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, splat_torch_file_path(f->file), SPLAT_NO_OFFSET,
                             "this is a refined model of SuGaR, whose Gaussians are bound to a mesh; give the coarse "
                             "checkpoint, or the PLY that was exported from this one");
    if (!points || points->n_dims != 2 || points->shape[0] < 1 || points->shape[0] > UINT32_MAX / 2)
        return bad(f, "there is no tensor of positions, ", slots[SPLAT_TENSOR_means].key, error);
    f->n = (size_t)points->shape[0];
    for (int i = 0; i < SPLAT_N_TENSORS; i++) {
        const splat_torch_tensor *t = splat_torch_tensor_of(splat_torch_get(state, slots[i].key));
        bool fits = t && t->n_dims >= 1 && t->shape[0] == f->n && t->n % f->n == 0 &&
                    (slots[i].channels == 0 || t->n / f->n == slots[i].channels);
        if (!fits) return bad(f, "a row a Gaussian is missing in ", slots[i].key, error);
        f->tensors[i] = t;
    }
    return find_degree(f, error);
}

static splat_status open_sugar(const char *path, sugar_file *f, splat_error *error)
{
    memset(f, 0, sizeof *f);
    SPLAT_TRY(splat_torch_file_open(path, &f->file, error));
    splat_status status = find_tensors(f, error);
    if (status != SPLAT_OK) splat_torch_file_close(f->file);
    return status;
}

static splat_status read_sugar(const char *path, splat_cloud *cloud, splat_error *error)
{
    sugar_file f;
    memset(cloud, 0, sizeof *cloud);
    SPLAT_TRY(open_sugar(path, &f, error));
    splat_status status = splat_cloud_make(cloud, f.n, f.sh_degree, false, error);
    float *const arrays[SPLAT_N_TENSORS] = {
#define SPLAT_TENSOR(name, ...) cloud->name,
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    };
    for (int i = 0; i < SPLAT_N_TENSORS && status == SPLAT_OK; i++)
        status = splat_torch_tensor_read_f32(f.file, f.tensors[i], arrays[i], (size_t)f.tensors[i]->n, error);
    cloud->render_mode = SPLAT_RENDER_CLASSIC;
    if (status != SPLAT_OK) splat_cloud_free(cloud);
    splat_torch_file_close(f.file);
    return status;
}

static splat_status describe_sugar(const char *path, splat_cloud_shape *shape, splat_error *error)
{
    sugar_file f;
    SPLAT_TRY(open_sugar(path, &f, error));
    *shape = (splat_cloud_shape){.n = f.n, .sh_degree = f.sh_degree, .render_mode = SPLAT_RENDER_CLASSIC};
    splat_torch_file_close(f.file);
    return SPLAT_OK;
}

const splat_cloud_format splat_cloud_format_sugar = {
    .name = "SuGaR N.pt",
    .ending = ".pt",
    .description = "a checkpoint of SuGaR's coarse training",
    .describe = describe_sugar,
    .read = read_sugar,
};
