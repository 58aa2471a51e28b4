/* cfg_args, a Python literal. What was read is written and read again, and is the same. */
#include "fuzz.h"

#include "run/cfg_args.h"

static bool same_text(const char *a, const char *b)
{
    return (!a || !b) ? a == b : strcmp(a, b) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    splat_model_config first, second;
    splat_error error;
    mkdir("again", 0700);
    fuzz_file("cfg_args", data, size);
    splat_status status = splat_cfg_args_read(".", &first, &error);
    fuzz_judge(status, &error);
    if (status != SPLAT_OK) return 0;
    fuzz_judge(splat_cfg_args_write("again", &first, &(splat_train_options){0}, &error), &error);
    status = splat_cfg_args_read("again", &second, &error);
    fuzz_judge(status, &error);
    if (status != SPLAT_OK || !same_text(first.scene.source_path, second.scene.source_path) ||
        !same_text(first.scene.images, second.scene.images) || first.sh_degree != second.sh_degree ||
        first.scene.resolution != second.scene.resolution || first.scene.eval != second.scene.eval ||
        memcmp(&first.kernel_size, &second.kernel_size, sizeof first.kernel_size) != 0)
        abort();
    splat_model_config_free(&first);
    splat_model_config_free(&second);
    return 0;
}
