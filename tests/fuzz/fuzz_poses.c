/* Poses of RealityCapture (CSV), OpenSfM and Polycam (JSON). The first byte says which of the three the rest is. */
#include "fuzz.h"

#include "io/opensfm/opensfm.h"
#include "io/polycam/polycam.h"
#include "io/realitycapture/realitycapture.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char command[2200];
    const char *photo = getenv("SPLATSMITH_FUZZ_PHOTO"); /* 48 x 32 */
    (void)argc;
    (void)argv;
    snprintf(command, sizeof command, "mkdir -p keyframes/cameras keyframes/images && cp '%s' a.png && "
             "cp '%s' keyframes/images/7.png", photo, photo);
    if (!photo || system(command) != 0) abort();
    return 0;
}

static splat_status read_one(int kind, const uint8_t *data, size_t size, splat_transforms *transforms,
                             splat_error *error)
{
    const double zero[3] = {0};
    splat_point *points = NULL;
    size_t n = 0;
    if (kind == 0) {
        fuzz_file("export.csv", data, size);
        return splat_realitycapture_read(".", "images", "export.csv", transforms, error);
    }
    if (kind == 1) {
        fuzz_file("reconstruction.json", data, size);
        splat_status status = splat_opensfm_read_points("reconstruction.json", zero, &points, &n, error);
        fuzz_judge(status, error);
        if (status == SPLAT_OK) fuzz_touch(points, n * sizeof *points);
        if (status == SPLAT_OK) free(points);
        return splat_opensfm_read(".", "images", "reconstruction.json", transforms, error);
    }
    fuzz_file("keyframes/cameras/7.json", data, size);
    return splat_polycam_read(".", "images", transforms, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    splat_transforms transforms;
    splat_error error;
    if (size == 0) return 0;
    splat_status status = read_one(data[0] % 3, data + 1, size - 1, &transforms, &error);
    fuzz_judge(status, &error);
    if (status != SPLAT_OK) return 0;
    for (size_t i = 0; i < transforms.n_frames; i++)
        if (!transforms.frames[i].absent && !splat_name_is_inside(transforms.frames[i].path)) abort();
    splat_transforms_free(&transforms);
    return 0;
}
