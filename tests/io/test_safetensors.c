/* safetensors: what is written comes back, every type, and hostile headers. */
#include "base/file.h"
#include "check.h"
#include "io/tensor/safetensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PATH "tensors.safetensors"

/* A file of a header and n bytes of values. */
static void write_file(const char *header, const void *values, size_t n)
{
    splat_error error;
    uint64_t length = strlen(header);
    uint8_t *bytes = malloc(8 + length + n);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, length);
    if (n) memcpy(bytes + 8 + length, values, n);
    must(splat_file_write(PATH, bytes, 8 + length + n, &error), &error);
    free(bytes);
}

static void what_is_written_comes_back(void **state)
{
    (void)state;
    const float a[6] = {1, -2.5f, 3e-40f, INFINITY, 0, -0.0f}, b[1] = {7};
    const splat_safetensor_f32 tensors[3] = {
        {"features.0.weight", 2, {2, 3}, a}, {"name \"quoted\" \xc3\xa9", 0, {0}, b}, {"empty", 1, {0}, NULL}};
    splat_safetensors file;
    splat_error error;
    float values[6];
    must(splat_safetensors_write(PATH, tensors, 3, "a test", &error), &error);
    must(splat_safetensors_open(PATH, &file, &error), &error);
    assert_int_equal(file.n, 3);
    const splat_safetensor *t = splat_safetensors_find(&file, "features.0.weight");
    assert_non_null(t);
    assert_true(t->n_dimensions == 2 && t->shape[0] == 2 && t->shape[1] == 3 && t->n_values == 6);
    assert_int_equal(t->offset % 8, 0);
    must(splat_safetensors_read_f32(&file, t, values, &error), &error);
    assert_memory_equal(values, a, sizeof a);
    t = splat_safetensors_find(&file, tensors[1].name);
    assert_true(t && t->n_dimensions == 0 && t->n_values == 1);
    must(splat_safetensors_read_f32(&file, t, values, &error), &error);
    assert_true(values[0] == 7);
    t = splat_safetensors_find(&file, "empty");
    assert_true(t && t->n_values == 0);
    must(splat_safetensors_read_f32(&file, t, values, &error), &error);
    assert_null(splat_safetensors_find(&file, "__metadata__"));
    assert_null(splat_safetensors_find(&file, "features.0"));
    splat_safetensors_close(&file);
    splat_safetensors_close(&file);

    const splat_safetensor_f32 twice[2] = {{"a", 1, {1}, b}, {"a", 1, {1}, b}};
    assert_int_equal(splat_safetensors_write("twice", twice, 2, NULL, &error), SPLAT_ERROR_ARGUMENT);
    assert_false(splat_path_exists("twice"));
    assert_int_equal(splat_safetensors_write("no/such/folder", tensors, 3, NULL, &error), SPLAT_ERROR_IO);
}

static void every_floating_type_is_read(void **state)
{
    (void)state;
    /* 1, -2, the largest half, the smallest half, minus a subnormal half, infinity; NaN last. */
    const uint16_t half[7] = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x83ff, 0x7c00, 0x7e00};
    const float from_half[6] = {1, -2, 65504, 5.9604644775390625e-8f, -6.097555160522461e-5f, INFINITY};
    const uint16_t brain[2] = {0x3f80, 0xc049};
    const double wide[2] = {1.0 / 3, -1e300};
    uint8_t bytes[14 + 4 + 16];
    memcpy(bytes, half, 14);
    memcpy(bytes + 14, brain, 4);
    memcpy(bytes + 18, wide, 16);
    write_file("{\"h\":{\"dtype\":\"F16\",\"shape\":[7],\"data_offsets\":[0,14]},"
               "\"b\":{\"dtype\":\"BF16\",\"shape\":[1,2],\"data_offsets\":[14,18]},"
               "\"d\":{\"dtype\":\"F64\",\"shape\":[2,1,1],\"data_offsets\":[18,34]}}", bytes, sizeof bytes);
    splat_safetensors file;
    splat_error error;
    float values[7];
    must(splat_safetensors_open(PATH, &file, &error), &error);
    must(splat_safetensors_read_f32(&file, splat_safetensors_find(&file, "h"), values, &error), &error);
    assert_memory_equal(values, from_half, sizeof from_half);
    assert_true(isnan(values[6]));
    must(splat_safetensors_read_f32(&file, splat_safetensors_find(&file, "b"), values, &error), &error);
    assert_true(values[0] == 1 && values[1] == -3.140625f);
    must(splat_safetensors_read_f32(&file, splat_safetensors_find(&file, "d"), values, &error), &error);
    assert_true(values[0] == 1.0f / 3 && isinf(values[1]) && values[1] < 0);
    splat_safetensors_close(&file);

    /* More values than are converted at a time. */
    enum { N = 100001 };
    uint16_t *many = malloc(N * sizeof *many);
    float *got = malloc(N * sizeof *got);
    for (size_t i = 0; i < N; i++) many[i] = (uint16_t)(0x3c00 + i % 1024);
    write_file("{\"h\":{\"dtype\":\"F16\",\"shape\":[100001],\"data_offsets\":[0,200002]}}", many, N * sizeof *many);
    must(splat_safetensors_open(PATH, &file, &error), &error);
    must(splat_safetensors_read_f32(&file, &file.tensors[0], got, &error), &error);
    for (size_t i = 0; i < N; i++) assert_true(got[i] == 1 + (float)(i % 1024) / 1024);
    splat_safetensors_close(&file);
    free(many);
    free(got);

    write_file("{\"i\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,8]}}", bytes, 8);
    must(splat_safetensors_open(PATH, &file, &error), &error);
    assert_int_equal(splat_safetensors_read_f32(&file, &file.tensors[0], values, &error), SPLAT_ERROR_UNSUPPORTED);
    splat_safetensors_close(&file);
}

/* An entry of a header with four bytes of values after it. */
#define ENTRY(type, shape, offsets) "{\"t\":{\"dtype\":" type ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void hostile_headers_are_refused(void **state)
{
    (void)state;
    static const struct { const char *header; splat_status status; } cases[] = {
        {"", SPLAT_ERROR_FORMAT},
        {"[]", SPLAT_ERROR_FORMAT},
        {"{\"t\":", SPLAT_ERROR_FORMAT},
        {"{\"t\":3}", SPLAT_ERROR_FORMAT},
        {"{\"t\":{\"dtype\":\"F32\",\"shape\":[1]}}", SPLAT_ERROR_FORMAT},
        {ENTRY("32", "[1]", "[0,4]"), SPLAT_ERROR_FORMAT},
        {ENTRY("\"F31\"", "[1]", "[0,4]"), SPLAT_ERROR_UNSUPPORTED},
        {ENTRY("\"F32\"", "1", "[0,4]"), SPLAT_ERROR_FORMAT},
        {ENTRY("\"F32\"", "[-1]", "[0,4]"), SPLAT_ERROR_FORMAT},
        {ENTRY("\"F32\"", "[1.0]", "[0,4]"), SPLAT_ERROR_FORMAT},
        {ENTRY("\"F32\"", "[2]", "[0,4]"), SPLAT_ERROR_FORMAT},
        {ENTRY("\"F32\"", "[2]", "[0,8]"), SPLAT_ERROR_FORMAT},       /* beyond the file */
        {ENTRY("\"F32\"", "[1]", "[4,0]"), SPLAT_ERROR_FORMAT},
        {ENTRY("\"F32\"", "[1]", "[-4,0]"), SPLAT_ERROR_FORMAT},
        {ENTRY("\"F32\"", "[1]", "[0]"), SPLAT_ERROR_FORMAT},
        {ENTRY("\"F32\"", "[1]", "[0,4.0]"), SPLAT_ERROR_FORMAT},
        {ENTRY("\"F32\"", "[4294967296,4294967296,1]", "[0,0]"), SPLAT_ERROR_FORMAT}, /* 2^64 wraps to 0 */
        {ENTRY("\"F32\"", "[4611686018427387904]", "[0,0]"), SPLAT_ERROR_FORMAT},     /* 2^62 x 4 also overflows */
        {ENTRY("\"F32\"", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), SPLAT_ERROR_UNSUPPORTED},
        {ENTRY("\"F16\"", "[1]", "[0,2]"), SPLAT_ERROR_FORMAT},       /* two bytes belong to nobody */
        {ENTRY("\"F16\"", "[1]", "[2,4]"), SPLAT_ERROR_FORMAT},
        {"{\"t\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"t\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", SPLAT_ERROR_FORMAT},
        {"{\"t\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"u\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", SPLAT_ERROR_FORMAT}, /* overlap */
        {"{\"t\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]},"
         "\"u\":{\"dtype\":\"I16\",\"shape\":[1],\"data_offsets\":[0,2]}}", SPLAT_ERROR_FORMAT}, /* and a hole */
        {"{\"t\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}," /* the file is full, and 2^64 wraps to 0 */
         "\"u\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", SPLAT_ERROR_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        splat_safetensors file;
        splat_error error = {0};
        write_file(cases[i].header, "\0\0\0\0", 4);
        splat_status status = splat_safetensors_open(PATH, &file, &error);
        if (status != cases[i].status) fail_msg("%s: %s", cases[i].header, splat_status_name(status));
        assert_true(strlen(error.message) > 15 && strchr(error.message, '\n') == NULL);
        assert_string_equal(error.file, PATH);
        assert_null(file.stream);
    }
}

static void broken_files_are_refused(void **state)
{
    (void)state;
    splat_safetensors file;
    splat_error error;
    assert_int_equal(splat_safetensors_open("absent", &file, &error), SPLAT_ERROR_IO);
    assert_int_equal(splat_safetensors_open(".", &file, &error), SPLAT_ERROR_IO);
    static const uint64_t lengths[] = {1, 9, 100000001, UINT64_MAX, UINT64_MAX - 7};
    for (int i = 0; i < 5; i++) { /* a header said to be longer than the file */
        must(splat_file_write(PATH, &lengths[i], 8, &error), &error);
        assert_int_equal(splat_safetensors_open(PATH, &file, &error), SPLAT_ERROR_FORMAT);
    }
    /* Cut anywhere, a file is refused: when opened, as all of it must be accounted for. */
    const float values[3] = {1, 2, 3};
    const splat_safetensor_f32 tensors[2] = {{"a", 1, {2}, values}, {"b", 1, {1}, values + 2}};
    uint8_t *bytes;
    size_t size;
    must(splat_safetensors_write("whole", tensors, 2, NULL, &error), &error);
    must(splat_file_read("whole", &bytes, &size, &error), &error);
    for (size_t cut = 0; cut < size; cut++) {
        must(splat_file_write(PATH, bytes, cut, &error), &error);
        assert_int_equal(splat_safetensors_open(PATH, &file, &error), SPLAT_ERROR_FORMAT);
    }
    /* Any one byte changed: refused, or read without harm. */
    float read[3];
    for (size_t at = 0; at < size; at++)
        for (int bit = 0; bit < 8; bit++) {
            bytes[at] ^= (uint8_t)(1 << bit);
            must(splat_file_write(PATH, bytes, size, &error), &error);
            if (splat_safetensors_open(PATH, &file, &error) == SPLAT_OK) {
                for (size_t i = 0; i < file.n; i++) {
                    assert_true(file.tensors[i].n_values <= 6); /* as F16 */
                    float *room = malloc((file.tensors[i].n_values + 1) * sizeof *room);
                    splat_safetensors_read_f32(&file, &file.tensors[i], room, &error);
                    free(room);
                }
                splat_safetensors_close(&file);
            }
            bytes[at] ^= (uint8_t)(1 << bit);
        }
    /* Shortened after it was opened. */
    must(splat_file_write(PATH, bytes, size, &error), &error);
    must(splat_safetensors_open(PATH, &file, &error), &error);
    FILE *stream = fopen(PATH, "wb");
    fclose(stream);
    assert_int_equal(splat_safetensors_read_f32(&file, splat_safetensors_find(&file, "b"), read, &error),
                     SPLAT_ERROR_FORMAT);
    splat_safetensors_close(&file);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_comes_back),
        cmocka_unit_test(every_floating_type_is_read),
        cmocka_unit_test(hostile_headers_are_refused),
        cmocka_unit_test(broken_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
