/* Known depth. The first byte says what the rest is: depth_params.json, or a 16-bit gray PNG. */
#include "fuzz.h"

#include "io/depth_params.h"
#include "io/picture/gray16.h"

#include <math.h>

static void read_params(void)
{
    splat_error error;
    splat_depth_params params;
    splat_status status = splat_depth_params_read("depth_params.json", &params, &error);
    fuzz_judge(status, &error);
    if (status != SPLAT_OK) return;
    if (params.n == 0 || !(params.median_scale >= 0)) abort();
    for (size_t i = 0; i < params.n; i++) {
        const splat_depth_param *param = &params.items[i];
        const splat_depth_param *found = splat_depth_params_find(&params, param->name, strlen(param->name));
        if (found != param || !isfinite((float)param->scale) || !isfinite((float)param->offset)) abort();
        splat_depth_param_is_reliable(&params, param);
    }
    splat_depth_params_free(&params);
}

static void read_picture(void)
{
    splat_error error;
    int width, height;
    uint16_t *pixels;
    splat_status status = splat_gray16_probe("map.png", &width, &height, &error);
    fuzz_judge(status, &error);
    if (status != SPLAT_OK) return;
    status = splat_gray16_read("map.png", width, height, &pixels, &error);
    fuzz_judge(status, &error);
    if ((status == SPLAT_OK) != (pixels != NULL)) abort();
    if (pixels) fuzz_touch(pixels, 2 * (size_t)width * (size_t)height);
    free(pixels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    const bool is_picture = data[0] % 2;
    fuzz_file(is_picture ? "map.png" : "depth_params.json", data + 1, size - 1);
    if (is_picture)
        read_picture();
    else
        read_params();
    return 0;
}
