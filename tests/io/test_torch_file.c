/* Files of torch.save as PyTorch wrote them (tests/golden/make_torch_golden.py), whole and damaged. */
#include "torch_fixture.h"

#include "base/rng.h"
#include "io/torch/torch_read.h"
#include "io/torch/torch_tensor.h"
#include "io/torch/torch_values.h"

#include <math.h>
#include <stdio.h>

/* ---------------------------------------------------------------- plain values */

static const splat_torch_value *get(const splat_torch_value *dict, const char *key, splat_torch_kind kind)
{
    const splat_torch_value *value = splat_torch_get(dict, key);
    if (!value) fail_msg("no key %s", key);
    assert_int_equal(value->kind, kind);
    return value;
}

static void assert_text(const splat_torch_value *value, splat_torch_kind kind, const void *bytes, size_t size)
{
    assert_int_equal(value->kind, kind);
    assert_int_equal(value->n, size);
    assert_memory_equal(value->text, bytes, size + 1); /* a NUL follows */
}

static void check_numbers(const splat_torch_value *root)
{
    static const int64_t ints[10] = {0,         255,           65535,          -1,        INT32_MAX,
                                     INT32_MIN, 1099511627776, -1099511627776, INT64_MAX, INT64_MIN};
    const splat_torch_value *list = get(root, "ints", SPLAT_TORCH_LIST), *many = get(root, "many", SPLAT_TORCH_LIST);
    assert_int_equal(list->n, 10);
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(list->items[i]->kind, SPLAT_TORCH_INT);
        assert_true(list->items[i]->integer == ints[i]);
    }
    assert_int_equal(many->n, 1500);
    for (size_t i = 0; i < 1500; i++) assert_int_equal(many->items[i]->integer, i);
    list = get(root, "floats", SPLAT_TORCH_TUPLE);
    assert_true(list->items[0]->number == 0.1 && list->items[1]->number == -1e300);
    list = get(root, "numpy", SPLAT_TORCH_LIST);
    assert_int_equal(list->n, 5);
    assert_true(list->items[0]->number == 2.5 && list->items[1]->number == -0.5);
    assert_true(list->items[2]->integer == -9 && list->items[3]->integer == 200);
    assert_true(list->items[4]->kind == SPLAT_TORCH_BOOL && list->items[4]->boolean);
}

static void test_plain(void **state)
{
    (void)state;
    splat_error error;
    splat_torch_file *file;
    char *path = golden("torch_plain.pth");
    ASSERT_OK(splat_torch_file_open(path, &file, &error));
    assert_string_equal(splat_torch_file_path(file), path);
    const splat_torch_value *root = splat_torch_file_root(file);
    get(root, "none", SPLAT_TORCH_NONE);
    const splat_torch_value *bools = get(root, "bools", SPLAT_TORCH_TUPLE);
    assert_true(splat_torch_item(bools, 0)->boolean && !splat_torch_item(bools, 1)->boolean);
    assert_null(splat_torch_item(bools, 2));
    check_numbers(root);
    assert_text(get(root, "text", SPLAT_TORCH_STRING), SPLAT_TORCH_STRING, "Gr\xc3\xbc\xc3\x9f" "e", 7);
    assert_text(get(root, "bytes", SPLAT_TORCH_BYTES), SPLAT_TORCH_BYTES, "\0\x7f\x80\xff", 4);
    assert_text(get(root, "no_bytes", SPLAT_TORCH_BYTES), SPLAT_TORCH_BYTES, "", 0);
    assert_text(get(root, "device", SPLAT_TORCH_STRING), SPLAT_TORCH_STRING, "cuda:1", 6);
    assert_text(get(root, "dtype", SPLAT_TORCH_NAME), SPLAT_TORCH_NAME, "torch.float16", 13);
    assert_int_equal(get(root, "size", SPLAT_TORCH_TUPLE)->items[1]->integer, 3);
    const splat_torch_value *shared = get(root, "shared", SPLAT_TORCH_LIST);
    assert_ptr_equal(shared->items[0], shared->items[1]);
    assert_int_equal(shared->items[0]->n, 2);
    const splat_torch_value *nested = splat_torch_get(splat_torch_get_integer(root, 7), "nested");
    const splat_torch_value *deep = get(nested, "deep", SPLAT_TORCH_DICT);
    assert_int_equal(get(deep, "a", SPLAT_TORCH_INT)->integer, 1);
    assert_int_equal(get(deep, "b", SPLAT_TORCH_TUPLE)->n, 0);
    assert_null(splat_torch_get(root, "absent"));
    assert_null(splat_torch_get_integer(root, 8));
    assert_null(splat_torch_get(NULL, "a"));
    assert_null(splat_torch_tensor_of(root));
    splat_torch_file_close(file);
    free(path);
}

/* ---------------------------------------------------------------- tensors */

static void check_views(const splat_torch_file *file, const splat_torch_value *root)
{
    float base[24], part[8], turned[24], last[12];
    for (int i = 0; i < 24; i++) base[i] = 0.25f * (float)i;
    int n_part = 0, n_turned = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 1; j < 3; j++)
            for (int k = 0; k < 4; k += 2) part[n_part++] = base[12 * i + 4 * j + k];
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 3; j++) turned[n_turned++] = base[12 * i + 4 * j + k];
    for (int i = 0; i < 12; i++) last[i] = 0.25f * (float)i;
    assert_tensor(file, splat_torch_get(root, "base"), SPLAT_TORCH_F32, "234", base);
    assert_tensor(file, splat_torch_get(root, "part"), SPLAT_TORCH_F32, "222", part);
    assert_tensor(file, splat_torch_get(root, "turned"), SPLAT_TORCH_F32, "423", turned);
    assert_tensor(file, splat_torch_get(root, "channels_last"), SPLAT_TORCH_F32, "1223", last);
    assert_ptr_equal(splat_torch_get(root, "base")->tensor->storage, splat_torch_get(root, "part")->tensor->storage);
}

static void check_tensors(const char *name)
{
    splat_error error;
    splat_torch_file *file;
    char *path = golden(name);
    ASSERT_OK(splat_torch_file_open(path, &file, &error));
    const splat_torch_value *root = splat_torch_file_root(file);
    assert_int_equal(root->n, 16);
    check_views(file, root);
    static const float small[4] = {0.0f, -1.5f, 2.0f, 100.0f}, scalar[1] = {7.5f}, parameter[2] = {3.0f, 3.25f};
    static const float half[6] = {0.0f, -1.5f, 65504.0f, 0x1p-24f, INFINITY, 0x1p-14f};
    static const float i64[2] = {-0x1p40f, 5.0f}, i32[2] = {-7.0f, 0x1p20f}, i16[2] = {-300.0f, 300.0f};
    static const float i8[2] = {-128.0f, 127.0f}, u8[2] = {0.0f, 255.0f}, boolean[2] = {1.0f, 0.0f};
    assert_tensor(file, splat_torch_get(root, "scalar"), SPLAT_TORCH_F32, "", scalar);
    assert_tensor(file, splat_torch_get(root, "empty"), SPLAT_TORCH_F32, "30", NULL);
    assert_tensor(file, splat_torch_get(root, "f64"), SPLAT_TORCH_F64, "4", small);
    assert_tensor(file, splat_torch_get(root, "f16"), SPLAT_TORCH_F16, "6", half);
    assert_tensor(file, splat_torch_get(root, "bf16"), SPLAT_TORCH_BF16, "4", small);
    assert_tensor(file, splat_torch_get(root, "i64"), SPLAT_TORCH_I64, "2", i64);
    assert_tensor(file, splat_torch_get(root, "i32"), SPLAT_TORCH_I32, "2", i32);
    assert_tensor(file, splat_torch_get(root, "i16"), SPLAT_TORCH_I16, "2", i16);
    assert_tensor(file, splat_torch_get(root, "i8"), SPLAT_TORCH_I8, "2", i8);
    assert_tensor(file, splat_torch_get(root, "u8"), SPLAT_TORCH_U8, "2", u8);
    assert_tensor(file, splat_torch_get(root, "boolean"), SPLAT_TORCH_BOOL8, "2", boolean);
    assert_tensor(file, splat_torch_get(root, "parameter"), SPLAT_TORCH_F32, "2", parameter);
    double number;
    ASSERT_OK(splat_torch_number(file, splat_torch_get(root, "scalar"), "it", &number, &error));
    assert_true(number == 7.5);
    const splat_torch_value *base = splat_torch_get(root, "base");
    assert_int_equal(splat_torch_number(file, base, "it", &number, &error), SPLAT_ERROR_FORMAT);
    assert_int_equal(splat_torch_number(file, NULL, "it", &number, &error), SPLAT_ERROR_FORMAT);
    splat_torch_file_close(file);
    free(path);
}

static void test_tensors(void **state)
{
    (void)state;
    check_tensors("torch_tensors.pth");
    check_tensors("torch_tensors_legacy.pth");
}

static void test_module(void **state)
{
    (void)state;
    splat_error error;
    splat_torch_file *file;
    char *path = golden("torch_module_legacy.pth");
    ASSERT_OK(splat_torch_file_open(path, &file, &error));
    const splat_torch_value *root = splat_torch_file_root(file);
    static const char *const names[4] = {"0.weight", "0.bias", "1.weight", "1.bias"};
    assert_int_equal(root->n, 4); /* its _metadata is no item */
    for (size_t i = 0; i < 4; i++) assert_true(splat_torch_text_is(root->pairs[i].key, names[i]));
    assert_int_equal(root->pairs[0].value->tensor->shape[1], 2);
    splat_torch_file_close(file);
    free(path);
}

/* ---------------------------------------------------------------- damage */

/* Values and numbers as text, at most 64 kB: two files hold the same when these are equal. */
static void dump(FILE *stream, const splat_torch_file *file, const splat_torch_value *value)
{
    if (ftell(stream) > 65536) return;
    fprintf(stream, "%d:%zu(", (int)value->kind, value->n);
    if (value->kind == SPLAT_TORCH_INT) fprintf(stream, "%lld", (long long)value->integer);
    if (value->kind == SPLAT_TORCH_FLOAT) fprintf(stream, "%a", value->number);
    if (value->kind == SPLAT_TORCH_BOOL) fprintf(stream, "%d", value->boolean);
    if (value->kind == SPLAT_TORCH_STRING || value->kind == SPLAT_TORCH_BYTES || value->kind == SPLAT_TORCH_NAME)
        fwrite(value->text, 1, value->n, stream);
    for (size_t i = 0; (value->kind == SPLAT_TORCH_LIST || value->kind == SPLAT_TORCH_TUPLE) && i < value->n; i++)
        dump(stream, file, value->items[i]);
    for (size_t i = 0; value->kind == SPLAT_TORCH_DICT && i < value->n; i++) {
        dump(stream, file, value->pairs[i].key);
        dump(stream, file, value->pairs[i].value);
    }
    const splat_torch_tensor *tensor = splat_torch_tensor_of(value);
    if (tensor) {
        splat_error error;
        float *numbers = malloc((size_t)tensor->n * sizeof *numbers + 1);
        assert_non_null(numbers);
        ASSERT_OK(splat_torch_tensor_read_f32(file, tensor, numbers, (size_t)tensor->n, &error));
        for (int i = 0; i < tensor->n_dims; i++) fprintf(stream, "%llu,", (unsigned long long)tensor->shape[i]);
        for (size_t i = 0; i < tensor->n; i++) fprintf(stream, " %a", (double)numbers[i]);
        free(numbers);
    }
    fputc(')', stream);
}

/* NULL when the file is refused, with a whole error. */
static char *dump_file(const char *path)
{
    splat_error error = {.status = SPLAT_OK};
    splat_torch_file *file;
    char *text = NULL;
    size_t size;
    if (splat_torch_file_open(path, &file, &error) != SPLAT_OK) {
        assert_true(error.status == SPLAT_ERROR_FORMAT || error.status == SPLAT_ERROR_UNSUPPORTED);
        assert_true(error.message[0] != '\0');
        return NULL;
    }
    FILE *stream = open_memstream(&text, &size);
    dump(stream, file, splat_torch_file_root(file));
    fclose(stream);
    splat_torch_file_close(file);
    return text;
}

#ifdef SPLATSMITH_SANITIZED
enum { RARER = 7, ROUNDS = 500 }; /* everything takes several times as long, and fuzz_torch does the same */
#else
enum { RARER = 1, ROUNDS = 4000 };
#endif

/* Every truncation, and every bit of every stride-th byte. With checksums: refused, or the same as before. */
static void damage(const char *name, size_t stride, bool has_checksums)
{
    splat_error error;
    uint8_t *data;
    size_t size, n_read = 0;
    stride *= RARER;
    char *path = golden(name), *whole = dump_file(path);
    assert_non_null(whole);
    ASSERT_OK(splat_file_read(path, &data, &size, &error));
    fixture_bytes("damaged.pth", data, size);
    int descriptor = open("damaged.pth", O_RDWR);
    assert_true(descriptor >= 0);
    for (size_t bit = 0; bit < 8 * size; bit = bit % 8 == 7 ? bit + 8 * stride - 7 : bit + 1) {
        uint8_t flipped = (uint8_t)(data[bit / 8] ^ 1u << bit % 8);
        assert_int_equal(pwrite(descriptor, &flipped, 1, (off_t)(bit / 8)), 1);
        char *text = dump_file("damaged.pth");
        if (text && has_checksums && strcmp(text, whole) != 0) fail_msg("%s: bit %zu changes the values", name, bit);
        n_read += text != NULL;
        free(text);
        assert_int_equal(pwrite(descriptor, &data[bit / 8], 1, (off_t)(bit / 8)), 1);
    }
    for (size_t length = size; length-- > 0; length -= length % RARER) {
        assert_int_equal(ftruncate(descriptor, (off_t)length), 0);
        char *text = dump_file("damaged.pth");
        if (text) fail_msg("%s: the first %zu bytes are read", name, length);
    }
    assert_true(n_read > 0 && n_read < 8 * size); /* dates, versions and padding carry nothing */
    close(descriptor);
    free(data);
    free(whole);
    free(path);
}

static void test_damaged_zip(void **state)
{
    (void)state;
    damage("torch_tensors.pth", 1, true);
    damage("torch_plain.pth", 7, true);
}

/* No checksums here: the values may change, but nothing else may happen. */
static void test_damaged_legacy(void **state)
{
    (void)state;
    damage("torch_tensors_legacy.pth", 1, false);
    damage("torch_module_legacy.pth", 1, false);
}

/* Many bytes of the pickle at once, from other places of it: opcodes in new orders. */
static void test_shuffled_legacy(void **state)
{
    (void)state;
    splat_error error;
    uint8_t *data, *changed;
    size_t size;
    char *path = golden("torch_tensors_legacy.pth");
    ASSERT_OK(splat_file_read(path, &data, &size, &error));
    changed = malloc(size);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        memcpy(changed, data, size);
        uint32_t n_changes = 1 + splat_random(1, SPLAT_STREAM_TEST, round, 0).x[0] % 4;
        for (uint32_t i = 1; i <= n_changes; i++) {
            splat_random4 r = splat_random(1, SPLAT_STREAM_TEST, round, i);
            size_t n = 1 + r.x[0] % 8, to = 15 + r.x[1] % (size - 23), from = 15 + r.x[2] % (size - 23);
            memcpy(changed + to, data + from, n);
        }
        fixture_bytes("shuffled.pth", changed, size);
        free(dump_file("shuffled.pth"));
    }
    free(changed);
    free(data);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_module),
        cmocka_unit_test(test_damaged_zip),
        cmocka_unit_test(test_damaged_legacy),
        cmocka_unit_test(test_shuffled_legacy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
