/* stage.json of the pipeline: what is read can be written, and reads back as the same. */
#include "fuzz.h"

#include "stage_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    stage_file first, second;
    fuzz_file("stage.json", data, size);
    if (stage_file_read("stage.json", "train", &first) == STAGE_FILE_READ) {
        if (stage_file_write("again.json", "train", &first) != CLI_OK ||
            stage_file_read("again.json", "train", &second) != STAGE_FILE_READ ||
            !json_equal(first.settings, second.settings) || !json_equal(first.inputs, second.inputs))
            abort();
        stage_file_free(&second);
    }
    stage_file_free(&first);
    return 0;
}
