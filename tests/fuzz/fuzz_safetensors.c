/* safetensors: the header, then the values of every tensor. */
#include "fuzz.h"

#include "io/tensor/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    splat_safetensors file;
    splat_error error;
    fuzz_file("in.safetensors", data, size);
    splat_status status = splat_safetensors_open("in.safetensors", &file, &error);
    fuzz_judge(status, &error);
    if (status != SPLAT_OK) return 0;
    for (size_t i = 0; i < file.n; i++) {
        const splat_safetensor *tensor = &file.tensors[i];
        if (tensor->n_values > size || splat_safetensors_find(&file, tensor->name) == NULL) abort();
        float *values = malloc(tensor->n_values * sizeof *values + 1);
        status = splat_safetensors_read_f32(&file, tensor, values, &error);
        fuzz_judge(status, &error);
        if (status == SPLAT_OK) fuzz_touch(values, tensor->n_values * sizeof *values);
        free(values);
    }
    splat_safetensors_close(&file);
    return 0;
}
