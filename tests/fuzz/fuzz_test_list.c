/* list_test.txt and split.json of a scene, which name photos. The first byte says which of the two the rest is. */
#include "fuzz.h"

#include "scene/dataset.h"
#include "scene/dataset_open.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char cameras[] = "1 PINHOLE 48 32 50 50 24 16\n", images[] = "1 1 0 0 0 0 0 0 1 a.png\n\n"
                                                                            "2 1 0 0 0 1 0 0 1 sub/b.v2.png\n\n"
                                                                            "3 1 0 0 0 2 0 0 1 c.png\n\n";
    static bool made;
    splat_dataset dataset;
    splat_error error;
    splat_scene_options options;
    if (size == 0) return 0;
    if (!made) {
        char command[2200];
        const char *photo = getenv("SPLATSMITH_FUZZ_PHOTO"); /* 48 x 32 */
        snprintf(command, sizeof command, "mkdir -p scene/sparse/0 scene/images/sub && cp '%s' scene/images/a.png && "
                 "cp '%s' scene/images/sub/b.v2.png && cp '%s' scene/images/c.png", photo, photo, photo);
        if (!photo || system(command) != 0) abort();
        fuzz_file("scene/sparse/0/cameras.txt", cameras, sizeof cameras - 1);
        fuzz_file("scene/sparse/0/images.txt", images, sizeof images - 1);
        made = true;
    }
    splat_scene_options_init(&options);
    options.source_path = "scene";
    options.eval = true;
    unlink("scene/list_test.txt");
    if (data[0] % 2) {
        options.split_file = "split.json";
        fuzz_file("split.json", data + 1, size - 1);
    } else {
        fuzz_file("scene/list_test.txt", data + 1, size - 1);
    }
    splat_status status = splat_dataset_open(&options, NULL, NULL, &dataset, &error);
    fuzz_judge(status, &error);
    if (status != SPLAT_OK) return 0;
    if (dataset.n_train + dataset.n_test > dataset.n_views) abort();
    splat_dataset_free(&dataset);
    return 0;
}
