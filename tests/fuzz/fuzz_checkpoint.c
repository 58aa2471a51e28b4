/* Checkpoints: as they come, then with the checksums made right, which a fuzzer does not guess; into a trainer. */
#include "fuzz.h"

#include "io/tensor/tensor_file.h"
#include "run/checkpoint/checkpoint.h"
#include "splatsmith.h"

#include <jansson.h>
#include <zlib.h>

static splat_trainer *trainer;

/* The scene of run.sh and a trainer of three steps. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    splat_context *context;
    splat_scene *scene;
    splat_error error;
    splat_context_options options;
    splat_scene_options scene_options;
    splat_train_options train_options;
    splat_context_options_init(&options);
    options.backend = "cpu";
    options.threads = 1;
    fuzz_must(splat_context_create(&options, &context, &error), &error);
    splat_scene_options_init(&scene_options);
    scene_options.source_path = getenv("SPLATSMITH_FUZZ_SCENE");
    scene_options.eval = true;
    fuzz_must(splat_scene_open(context, &scene_options, &scene, &error), &error);
    splat_train_options_init(&train_options);
    train_options.sh_degree = 1;
    fuzz_must(splat_trainer_create(context, scene, &train_options, &trainer, &error), &error);
    return 0;
}

static uint32_t crc_of(const uint8_t *data, size_t size)
{
    return (uint32_t)crc32_z(crc32_z(0, NULL, 0), data, size);
}

/* The length and every CRC-32 that the header leads to (io/tensor/tensor_file.h); false when it leads nowhere. */
static bool make_right(uint8_t *data, size_t size)
{
    uint64_t length = size, header;
    if (size < SPLAT_TENSOR_FILE_HEAD + SPLAT_TENSOR_FILE_FOOT) return false;
    memcpy(&header, data + 8, 8);
    if (header > size - SPLAT_TENSOR_FILE_HEAD - SPLAT_TENSOR_FILE_FOOT) return false;
    uint8_t *foot = data + size - SPLAT_TENSOR_FILE_FOOT, *at = data + SPLAT_TENSOR_FILE_HEAD + header;
    uint32_t sum = crc_of(data, SPLAT_TENSOR_FILE_HEAD + header);
    memcpy(foot, &sum, 4);
    memcpy(foot + 8, &length, 8);
    memcpy(foot + 16, SPLAT_TENSOR_FILE_END, 8);
    json_t *root = json_loadb((const char *)data + SPLAT_TENSOR_FILE_HEAD, header, 0, NULL);
    const json_t *list = json_object_get(root, "tensors");
    size_t n = json_array_size(list), left = (size_t)(foot - at);
    uint8_t *table = 4 * n <= left ? foot - 4 * n : foot;
    for (size_t i = 0; i < n && at < table; i++) {
        json_int_t bytes = json_integer_value(json_object_get(json_array_get(list, i), "bytes"));
        size_t here = (size_t)(table - at), padded = splat_tensor_file_align((uint64_t)bytes);
        if (bytes < 0 || (size_t)bytes > here || padded > here) break;
        sum = crc_of(at, padded);
        memcpy(table + 4 * i, &sum, 4);
        at += padded;
    }
    sum = crc_of(table, (size_t)(foot - table));
    memcpy(foot + 4, &sum, 4);
    json_decref(root);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    splat_error error;
    fuzz_file("in.splatsmith", data, size);
    fuzz_judge(splat_trainer_load_checkpoint(trainer, "in.splatsmith", &error), &error);
    uint8_t *copy = malloc(size + 1);
    memcpy(copy, data, size);
    if (make_right(copy, size)) {
        fuzz_file("in.splatsmith", copy, size);
        fuzz_judge(splat_trainer_load_checkpoint(trainer, "in.splatsmith", &error), &error);
    }
    free(copy);
    return 0;
}
