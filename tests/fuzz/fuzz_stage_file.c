/* stage.json of the pipeline: what is read can be written, and reads back as the same. */
#include "fuzz.h"

#include "pipeline/stage_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    splat_stage_file first, second;
    fuzz_file("stage.json", data, size);
    if (splat_stage_file_read("stage.json", "train", &first) == SPLAT_STAGE_FILE_READ) {
        if (splat_stage_file_write("again.json", "train", &first, NULL) != SPLAT_OK ||
            splat_stage_file_read("again.json", "train", &second) != SPLAT_STAGE_FILE_READ ||
            !json_equal(first.settings, second.settings) || !json_equal(first.inputs, second.inputs))
            abort();
        splat_stage_file_free(&second);
    }
    splat_stage_file_free(&first);
    return 0;
}
