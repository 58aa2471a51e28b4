/* Files of torch.save, both containers: everything in them, then as a checkpoint of the published trainers. */
#include "fuzz.h"

#include "io/torch/torch_checkpoint.h"
#include "io/torch/torch_read.h"
#include "io/torch/torch_tensor.h"

#define MOST_VALUES 100000 /* shared values make a small file a large tree */

static void read_value(const splat_torch_file *file, const splat_torch_value *value, int *left)
{
    splat_error error;
    if (!value || --*left < 0) return;
    switch (value->kind) {
    case SPLAT_TORCH_STRING:
    case SPLAT_TORCH_BYTES:
    case SPLAT_TORCH_NAME: fuzz_touch(value->text, value->n + 1); break;
    case SPLAT_TORCH_LIST:
    case SPLAT_TORCH_TUPLE:
        for (size_t i = 0; i < value->n && *left > 0; i++) read_value(file, value->items[i], left);
        break;
    case SPLAT_TORCH_DICT:
        for (size_t i = 0; i < value->n && *left > 0; i++) {
            read_value(file, value->pairs[i].key, left);
            read_value(file, value->pairs[i].value, left);
        }
        break;
    case SPLAT_TORCH_TENSOR: {
        float *out = value->tensor->n <= 1 << 16 ? malloc(value->tensor->n * sizeof *out + 1) : NULL;
        if (out) fuzz_judge(splat_torch_tensor_read_f32(file, value->tensor, out, value->tensor->n, &error), &error);
        free(out);
        break;
    }
    default: break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    splat_torch_file *file;
    splat_torch_checkpoint checkpoint;
    splat_error error;
    int left = MOST_VALUES;
    fuzz_file("in.pth", data, size);
    splat_status status = splat_torch_file_open("in.pth", &file, &error);
    fuzz_judge(status, &error);
    if (status != SPLAT_OK) return 0;
    read_value(file, splat_torch_file_root(file), &left);
    splat_torch_file_close(file);
    status = splat_torch_checkpoint_open("in.pth", &checkpoint, &error);
    fuzz_judge(status, &error);
    if (status == SPLAT_OK) splat_torch_checkpoint_close(&checkpoint);
    return 0;
}
