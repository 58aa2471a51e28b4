/* The JSON files of a model folder: split.json, and results.json, whose other methods a new result keeps. */
#include "fuzz.h"

#include "io/model_folder.h"
#include "measure/results_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"00000.png"};
    const splat_metrics metrics = {.l1 = 0.1, .psnr = 20, .psnr_per_channel = 21, .ssim = 0.5, .n_views = 1};
    splat_split split;
    splat_error error;
    fuzz_file("split.json", data, size);
    fuzz_file("results.json", data, size);
    splat_status status = splat_split_read("split.json", &split, &error);
    fuzz_judge(status, &error);
    for (size_t i = 0; status == SPLAT_OK && i < split.n_train; i++) fuzz_touch(split.train[i], strlen(split.train[i]));
    splat_split_free(&split);
    unlink("per_view.json");
    fuzz_judge(splat_results_json_write(".", "ours_1", &metrics, &metrics, names, 1, &error), &error);
    return 0;
}
