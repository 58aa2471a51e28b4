/* The parameters of chkpntN.pth, a checkpoint of the published 3DGS and Mip-Splatting trainers. Their 3D filter is not
 * in it: rendered as 3DGS renders. */
#include "io/splat/formats.h"
#include "io/torch/torch_checkpoint.h"
#include "io/torch/torch_tensor.h"

#include <string.h>

static splat_status read_tensor(const splat_torch_checkpoint *c, const splat_torch_tensor *tensor, float *out,
                                splat_error *error)
{
    return splat_torch_tensor_read_f32(c->file, tensor, out, (size_t)tensor->n, error);
}

static splat_status read_arrays(const splat_torch_checkpoint *c, splat_cloud *cloud, splat_error *error)
{
#define SPLAT_TENSOR(name, ...) SPLAT_TRY(read_tensor(c, c->p.name, cloud->name, error));
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    return SPLAT_OK;
}

static splat_status read_pth(const char *path, splat_cloud *cloud, splat_error *error)
{
    splat_torch_checkpoint c;
    memset(cloud, 0, sizeof *cloud);
    SPLAT_TRY(splat_torch_checkpoint_open(path, &c, error));
    splat_status status = splat_cloud_make(cloud, c.n, c.sh_degree, false, error);
    if (status == SPLAT_OK) status = read_arrays(&c, cloud, error);
    if (status != SPLAT_OK) splat_cloud_free(cloud);
    splat_torch_checkpoint_close(&c);
    return status;
}

static splat_status describe_pth(const char *path, splat_cloud_shape *shape, splat_error *error)
{
    splat_torch_checkpoint c;
    SPLAT_TRY(splat_torch_checkpoint_open(path, &c, error));
    *shape = (splat_cloud_shape){.n = c.n, .sh_degree = c.sh_degree};
    splat_torch_checkpoint_close(&c);
    return SPLAT_OK;
}

const splat_cloud_format splat_cloud_format_pth = {
    .name = "chkpntN.pth",
    .ending = ".pth",
    .description = "a checkpoint of the published 3DGS and Mip-Splatting trainers; its optimizer is left out",
    .describe = describe_pth,
    .read = read_pth,
};
