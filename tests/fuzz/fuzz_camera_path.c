/* Camera paths, as files and as pages send them. */
#include "fuzz.h"

#include "io/camera_path.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    splat_camera_path path;
    splat_error error;
    splat_status status = splat_camera_path_parse("path.json", (const char *)data, size, &path, &error);
    fuzz_judge(status, &error);
    if (status != SPLAT_OK) return 0;
    const size_t n = splat_camera_path_frames(&path);
    if (n < 1 || n > 1000001) abort();
    for (size_t i = 0; i < 9; i++) {
        const splat_camera c = splat_camera_path_at(&path, i * (n - 1) / 8);
        if (c.width < 16 || c.height < 16 || !(c.fx > 0)) abort();
        for (int k = 0; k < 3; k++)
            if (!isfinite(c.center[k])) abort();
    }
    splat_camera_path_free(&path);
    return 0;
}
