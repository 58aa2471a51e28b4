/* Scenes as JSON. The first byte says which of the three kinds the rest is. */
#include "fuzz.h"

#include "io/transforms.h"

static const char *const names[] = {"transforms.json", "transforms_train.json", "metadata.json"};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    fuzz_file("a.png", "", 0); /* photos that frames can name */
    fuzz_file("b.jpg", "", 0);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    splat_transforms transforms;
    splat_error error;
    if (size == 0) return 0;
    for (int i = 0; i < 3; i++) unlink(names[i]);
    fuzz_file(names[data[0] % 3], data + 1, size - 1);
    splat_status status = splat_transforms_read(".", &transforms, &error);
    fuzz_judge(status, &error);
    if (status != SPLAT_OK) return 0;
    for (size_t i = 0; i < transforms.n_frames; i++)
        if (!transforms.frames[i].absent && !splat_name_is_inside(transforms.frames[i].path)) abort();
    if (transforms.point_cloud && !splat_name_is_inside(transforms.point_cloud)) abort();
    splat_transforms_free(&transforms);
    return 0;
}
