/* Splats in files of torch.save, as SuGaR's N.pt and as chkpntN.pth, and in those of viewers: what describe says, read
 * gives. */
#include "fuzz.h"

#include "io/splat/formats.h"

static void read_as(const char *path, const uint8_t *data, size_t size)
{
    splat_cloud cloud;
    splat_cloud_shape shape;
    splat_error error;
    fuzz_file(path, data, size);
    splat_status described = splat_cloud_describe(path, &shape, &error);
    fuzz_judge(described, &error);
    splat_status status = splat_cloud_read(path, &cloud, &error);
    fuzz_judge(status, &error);
    if (status != SPLAT_OK) return;
    if (described != SPLAT_OK || shape.n != cloud.n || shape.sh_degree != cloud.sh_degree ||
        shape.has_filter != (cloud.filter_3d != NULL))
        abort();
#define SPLAT_TENSOR(name, ...)                                                                                        \
    fuzz_touch(cloud.name, cloud.n * splat_tensor_channels(SPLAT_TENSOR_##name, cloud.sh_degree) * sizeof *cloud.name);
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    splat_cloud_free(&cloud);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_as("in.pt", data, size);
    read_as("in.pth", data, size);
    read_as("in.splat", data, size);
    return 0;
}
