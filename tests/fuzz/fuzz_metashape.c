/* Cameras of Metashape. */
#include "fuzz.h"

#include "io/metashape/metashape.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    fuzz_file("a.png", "", 0); /* a photo that cameras can name */
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    splat_transforms transforms;
    splat_error error;
    fuzz_file("cameras.xml", data, size);
    splat_status status = splat_metashape_read(".", "images", "cameras.xml", &transforms, &error);
    fuzz_judge(status, &error);
    if (status != SPLAT_OK) return 0;
    if (transforms.n_frames == 0 || !transforms.frames[0].path) abort();
    splat_transforms_free(&transforms);
    return 0;
}
