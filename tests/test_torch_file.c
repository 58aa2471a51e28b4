/* Files of torch.save: what PyTorch wrote (tests/golden/make_torch_golden.py), what an attacker might, and damage. */
#include "base/file.h"
#include "base/rng.h"
#include "io/torch_checkpoint.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#define ASSERT_OK(expression)                                                                                          \
    do {                                                                                                               \
        if ((expression) != SPLAT_OK) fail_msg("%s: %s", #expression, error.message);                                  \
    } while (0)

static char *golden(const char *name)
{
    const char *source = getenv("SPLATSMITH_SOURCE");
    return splat_format("%s/tests/golden/%s", source ? source : ".", name);
}

/* Without the flush to the disk of splat_file_write, which these many small files do not need. */
static void write_file(const char *path, const void *data, size_t n)
{
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(data, 1, n, stream), n);
    assert_int_equal(fclose(stream), 0);
}

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
    const splat_torch_value *deep = splat_torch_get(splat_torch_get(splat_torch_get_integer(root, 7), "nested"),
                                                    "deep");
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

static void assert_tensor(const splat_torch_file *file, const splat_torch_value *value, splat_torch_dtype dtype,
                          const char *shape, const float *expected)
{
    const splat_torch_tensor *tensor = splat_torch_tensor_of(value);
    assert_non_null(tensor);
    assert_int_equal(tensor->dtype, dtype);
    assert_int_equal(tensor->n_dims, strlen(shape));
    for (int i = 0; i < tensor->n_dims; i++) assert_int_equal(tensor->shape[i], shape[i] - '0');
    splat_error error;
    float out[32];
    assert_true(tensor->n <= 32);
    ASSERT_OK(splat_torch_tensor_read_f32(file, tensor, out, (size_t)tensor->n, &error));
    for (size_t i = 0; i < tensor->n; i++) assert_true(out[i] == expected[i]);
    assert_int_equal(splat_torch_tensor_read_f32(file, tensor, out, (size_t)tensor->n + 1, &error),
                     SPLAT_ERROR_ARGUMENT);
}

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
    assert_int_equal(splat_torch_number(file, splat_torch_get(root, "base"), "it", &number, &error),
                     SPLAT_ERROR_FORMAT);
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

/* ---------------------------------------------------------------- checkpoints */

static void assert_ramp(const splat_torch_checkpoint *c, const splat_torch_tensor *tensor, size_t n, float first,
                        float step)
{
    splat_error error;
    float out[32];
    assert_non_null(tensor);
    ASSERT_OK(splat_torch_tensor_read_f32(c->file, tensor, out, n, &error));
    /* the moments went through three rounded updates */
    for (size_t i = 0; i < n; i++) assert_true(fabsf(out[i] - (first + step * (float)i)) <= 1e-6f * fabsf(first));
}

static void test_checkpoint(void **state)
{
    (void)state;
    splat_error error;
    splat_torch_checkpoint c;
    char *path = golden("torch_checkpoint.pth");
    ASSERT_OK(splat_torch_checkpoint_open(path, &c, &error));
    assert_int_equal(c.n, 2);
    assert_int_equal(c.sh_degree, 1);
    assert_int_equal(c.active_sh_degree, 1);
    assert_int_equal(c.iteration, 1234);
    assert_true(c.spatial_lr_scale == 4.25);
    const splat_torch_tensor *p[6] = {c.p.means, c.p.sh_dc, c.p.sh_rest, c.p.scales, c.p.rotations, c.p.opacities};
    const splat_torch_tensor *m[6] = {c.m.means, c.m.sh_dc, c.m.sh_rest, c.m.scales, c.m.rotations, c.m.opacities};
    const splat_torch_tensor *v[6] = {c.v.means, c.v.sh_dc, c.v.sh_rest, c.v.scales, c.v.rotations, c.v.opacities};
    const int steps[6] = {c.steps.means,  c.steps.sh_dc,     c.steps.sh_rest,
                          c.steps.scales, c.steps.rotations, c.steps.opacities};
    static const size_t n[6] = {6, 6, 18, 6, 8, 2};
    for (int i = 0; i < 6; i++) { /* the gradient of tensor i was i + 1, three times */
        float g = (float)(i + 1);
        assert_ramp(&c, p[i], n[i], g, 0.25f);
        assert_ramp(&c, m[i], n[i], g * (1.0f - 0.9f * 0.9f * 0.9f), 0.0f);
        assert_ramp(&c, v[i], n[i], g * g * (float)(1.0 - 0.999 * 0.999 * 0.999), 0.0f);
        assert_int_equal(steps[i], 3);
    }
    assert_ramp(&c, c.grad, 2, 20.0f, 0.25f);
    assert_ramp(&c, c.count, 2, 30.0f, 0.25f);
    assert_null(c.grad_abs);
    splat_torch_checkpoint_close(&c);
    free(path);
}

/* No Adam state, SH degree 0, and the longer tuple of a descendant. */
static void test_checkpoint_before_training(void **state)
{
    (void)state;
    splat_error error;
    splat_torch_checkpoint c;
    char *path = golden("torch_checkpoint_new.pth");
    ASSERT_OK(splat_torch_checkpoint_open(path, &c, &error));
    assert_int_equal(c.n, 2);
    assert_int_equal(c.sh_degree, 0);
    assert_int_equal(c.iteration, 0);
    assert_int_equal(c.p.sh_rest->n, 0);
    assert_null(c.m.means);
    assert_null(c.v.opacities);
    assert_int_equal(c.steps.means, 0);
    assert_ramp(&c, c.grad, 2, 0.0f, 0.25f);
    assert_ramp(&c, c.grad_abs, 2, 8.0f, 0.25f);
    assert_ramp(&c, c.count, 2, 5.0f, 0.25f);
    splat_torch_checkpoint_close(&c);
    free(path);
    path = golden("torch_tensors.pth");
    assert_int_equal(splat_torch_checkpoint_open(path, &c, &error), SPLAT_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "not a checkpoint"));
    assert_null(c.file);
    free(path);
}

/* ---------------------------------------------------------------- files made by hand */

typedef struct bytes {
    uint8_t data[4096];
    size_t n;
} bytes;

static void put(bytes *b, const void *data, size_t n)
{
    assert_true(b->n + n <= sizeof b->data);
    memcpy(b->data + b->n, data, n);
    b->n += n;
}

/* Little-endian in n bytes, which may be more than eight. */
static void put_number(bytes *b, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++, value >>= 8) {
        uint8_t byte = (uint8_t)value;
        put(b, &byte, 1);
    }
}

typedef struct entry {
    const char *name;
    const void *data;
    size_t n;
    int method;    /* 0: stored */
    bool is_zip64; /* sizes and offset in the extra field */
} entry;

/* A zip file as torch.save writes it, in one buffer. */
static void build_zip(bytes *zip, const entry *entries, size_t n)
{
    bytes list = {.n = 0};
    zip->n = 0;
    for (size_t i = 0; i < n; i++) {
        const entry *e = &entries[i];
        size_t at = zip->n, length = strlen(e->name), extra = e->is_zip64 ? 28 : 0;
        uint64_t crc = crc32_z(crc32_z(0, NULL, 0), e->data, e->n), limit = UINT32_MAX;
        put(zip, "PK\3\4\0\0\0\0", 8);
        put_number(zip, (uint64_t)e->method, 2);
        put_number(zip, 0, 16); /* sizes follow the data, as torch has it */
        put_number(zip, length, 2);
        put_number(zip, 3, 2);
        put(zip, e->name, length);
        put(zip, "FBZ", 3); /* torch pads here */
        put(zip, e->data, e->n);
        put(&list, "PK\1\2\0\0\0\0\0\0", 10);
        put_number(&list, (uint64_t)e->method, 2);
        put_number(&list, 0, 4);
        put_number(&list, crc, 4);
        put_number(&list, e->is_zip64 ? limit : e->n, 4);
        put_number(&list, e->is_zip64 ? limit : e->n, 4);
        put_number(&list, length, 2);
        put_number(&list, extra, 2);
        put_number(&list, 0, 10);
        put_number(&list, e->is_zip64 ? limit : at, 4);
        put(&list, e->name, length);
        uint64_t fields[3] = {e->n, e->n, at};
        if (e->is_zip64) put_number(&list, 1 | 24 << 16, 4);
        if (e->is_zip64) put(&list, fields, sizeof fields);
    }
    size_t directory = zip->n;
    put(zip, list.data, list.n);
    put(zip, "PK\5\6\0\0\0\0", 8);
    put_number(zip, n, 2);
    put_number(zip, n, 2);
    put_number(zip, list.n, 4);
    put_number(zip, directory, 4);
    put_number(zip, 0, 2);
}

static splat_status open_bytes(const bytes *b, splat_torch_file **file, splat_error *error)
{
    write_file("made.pth", b->data, b->n);
    return splat_torch_file_open("made.pth", file, error);
}

#define TWO_FLOATS "\0\0\200\77\0\0\0\100" /* 1, 2 */
#define STORAGE(n) "(U\7storagectorch\nFloatStorage\nU\1" "0U\3cpuK" n "tQ"
#define TENSOR(n, first, shape, stride) "ctorch._utils\n_rebuild_tensor_v2\n(" STORAGE(n) first shape stride "\x89NtR"

static splat_status open_pickle(const char *pickle, size_t n, splat_torch_file **file, splat_error *error)
{
    bytes zip;
    entry entries[2] = {{"x/data.pkl", pickle, n, 0, false}, {"x/data/0", TWO_FLOATS, 8, 0, true}};
    build_zip(&zip, entries, 2);
    return open_bytes(&zip, file, error);
}

typedef struct bad_pickle {
    const char *pickle;
    size_t n;
    splat_status status;
    const char *message;
} bad_pickle;
#define BAD(text, status, message) {text, sizeof text - 1, SPLAT_ERROR_##status, message}

static void test_hostile_pickles(void **state)
{
    (void)state;
    static const bad_pickle list[] = {
        BAD("\x80\2cposix\nsystem\nX\4\0\0\0true\x85R.", UNSUPPORTED, "posix.system"),
        BAD("\x80\4\x8c\x8"
            "builtins\x8c\4eval\x93\x8c\1"
            "1\x85R.",
            UNSUPPORTED, "builtins.eval"),
        BAD("\x80\2ctorch\n_utils._rebuild_tensor_v9\n.", UNSUPPORTED, "_rebuild_tensor_v9"),
        BAD("\x80\2cos\33[2J\nsystem\n.", UNSUPPORTED, "os?[2J.system"),
        BAD("\x80\2cno line end", FORMAT, "ends early"),
        BAD("\x80\2ctorch\nFloatStorage\n)R.", UNSUPPORTED, "torch.FloatStorage"),
        BAD("\x80\2]q\0h\0a.", UNSUPPORTED, "contains itself"),
        BAD("\x80\2]q\0h\0\x85h\0h\1a.", FORMAT, "memo"),
        BAD("\x80\2]q\0h\0\x85q\1"
            "0h\0h\1a.",
            UNSUPPORTED, "contains itself"),
        BAD("\x80\2}q\0K\1h\0s.", UNSUPPORTED, "contains itself"),
        BAD("\x80\2X\377\377\377\377a.", FORMAT, "longer than the file"),
        BAD("\x80\4\x8d\377\377\377\377\377\377\377\177a.", FORMAT, "longer than the file"),
        BAD("\x80\2Nr\377\377\377\377.", FORMAT, "memo"),
        BAD("\x80\2h\0.", FORMAT, "memo"),
        BAD("\x80\2.", FORMAT, "one value"),
        BAD("\x80\2NN.", FORMAT, "one value"),
        BAD("\x80\2N(.", FORMAT, "one value"),
        BAD("\x80\2t.", FORMAT, "mark"),
        BAD("\x80\2N(a.", FORMAT, "stack is empty"),
        BAD("\x80\2\x86.", FORMAT, "stack is empty"),
        BAD("\x80\2Q.", FORMAT, "stack is empty"),
        BAD("\x80\2N(Nu.", FORMAT, "no dict"),
        BAD("\x80\2}(Nu.", FORMAT, "no value"),
        BAD("\x80\2}]Ns.", FORMAT, "a key"),
        BAD("\x80\2\x8a\x9"
            "123456789.",
            UNSUPPORTED, "64 bits"),
        BAD("\x80\2NNb.", UNSUPPORTED, "state"),
        BAD("\x80\2Nq\0)R.", FORMAT, "no name"),
        BAD("\x80\2NQ.", FORMAT, "no name"),
        BAD("\x80\2(U\6moduleNNNtQ.", UNSUPPORTED, "state_dict"),
        BAD("\x80\2\x8fN.", UNSUPPORTED, "0x8f"),
        BAD("\x80\7N.", FORMAT, "protocol"),
        BAD("N.", FORMAT, "protocol"),
        BAD("", FORMAT, "ends early"),
        BAD("\x80\2" TENSOR("\2", "K\1", "K\2\x85", "K\1\x85") ".", FORMAT, "larger than its storage"),
        BAD("\x80\2" TENSOR("\2", "K\0", "K\2\x85", "K\2\x85") ".", FORMAT, "larger than its storage"),
        BAD("\x80\2" TENSOR("\2", "K\2", "K\1\x85", "K\1\x85") ".", FORMAT, "larger than its storage"),
        BAD("\x80\2" TENSOR("\2", "J\377\377\377\377", "K\1\x85", "K\1\x85") ".", FORMAT, "arguments"),
        BAD("\x80\2" TENSOR("\2", "K\0", "J\377\377\377\377\x85", "K\1\x85") ".", FORMAT, "arguments"),
        BAD("\x80\2" TENSOR("\2", "K\0", "K\2K\2\x86", "K\1\x85") ".", FORMAT, "arguments"),
        BAD("\x80\2" TENSOR("\2", "K\0", "(K\1K\1K\1K\1K\1K\1K\1K\1K\1t", "(K\1K\1K\1K\1K\1K\1K\1K\1K\1t") ".",
            UNSUPPORTED, "9 dimensions"),
        BAD("\x80\2" TENSOR("\2", "K\0", "\x8a\4\0\0\0\100\x8a\4\0\0\0\100\x86", "K\0K\0\x86") ".", UNSUPPORTED,
            "contiguous()"),
        BAD("\x80\2" TENSOR("\2", "K\0", "\x8a\x8\0\0\0\0\0\0\0\100\x8a\4\0\0\0\100\x86", "K\0K\0\x86") ".", FORMAT,
            "larger"),
        BAD("\x80\2" TENSOR("\2", "K\0", "\x8a\x8\3\0\0\0\0\0\0\100\x85", "K\4\x85") ".", FORMAT, "larger"),
        BAD("\x80\2" TENSOR("\3", "K\0", "K\2\x85", "K\1\x85") ".", FORMAT, "data/0 is shorter"),
        BAD("\x80\2(U\7storagectorch\nFloatStorage\nU\1"
            "1U\3cpuK\1tQ.",
            FORMAT, "no entry data/1"),
        BAD("\x80\2(U\7storagectorch\nFloatStorage\nU\1"
            "0U\3cpu\x8a\x8\0\0\0\0\0\0\0\100tQ.",
            FORMAT, "more bytes"),
        BAD("\x80\2(U\7storagectorch\nHalfStorage\nU\1"
            "0U\3cpuK\2tQ" STORAGE("\2") "\x86.",
            FORMAT, "disagree"),
        BAD("\x80\2"
            "cnumpy\ndtype\nU\2\0\0\x85R.",
            FORMAT, "numpy.dtype"),
        BAD("\x80\2"
            "cnumpy\ndtype\nU\2O8\x85R.",
            FORMAT, "numpy.dtype"),
        BAD("\x80\2"
            "cnumpy\ndtype\nU\2f8\x85R(K\3U\1>tb.",
            UNSUPPORTED, "little-endian"),
        BAD("\x80\2"
            "cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\nU\2f8\x85RU\4abcd\x86R.",
            FORMAT, "bytes"),
        BAD("\x80\2"
            "cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\nU\4abcd\x86R.",
            FORMAT, "no type"),
        BAD("\x80\2"
            "c_codecs\nencode\nX\3\0\0\0\342\202\254U\6latin1\x86R.",
            FORMAT, "not a byte"),
        BAD("\x80\2"
            "c_codecs\nencode\nX\1\0\0\0\303U\6latin1\x86R.",
            FORMAT, "not a byte"),
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        splat_error error;
        splat_torch_file *file;
        splat_status status = open_pickle(list[i].pickle, list[i].n, &file, &error);
        if (status != list[i].status || !strstr(error.message, list[i].message))
            fail_msg("pickle %zu: %d %s", i, status, status ? error.message : "is read");
        assert_null(file);
    }
}

/* What the hostile ones above are small changes of: each is read. */
static void test_sound_pickles(void **state)
{
    (void)state;
    splat_error error;
    splat_torch_file *file;
    static const char tensor[] = "\x80\2" TENSOR("\2", "K\1", "K\1\x85", "K\1\x85") ".";
    static const float two[1] = {2.0f};
    ASSERT_OK(open_pickle(tensor, sizeof tensor - 1, &file, &error));
    assert_tensor(file, splat_torch_file_root(file), SPLAT_TORCH_F32, "1", two);
    splat_torch_file_close(file);
    /* _rebuild_tensor_v3: bytes, and the type as an argument */
    static const char typed[] = "\x80\2"
                                "ctorch._utils\n_rebuild_tensor_v3\n((U\7storagectorch.storage\nUntypedStorage\n"
                                "U\1"
                                "0U\3cpuK\x8tQK\1K\1\x85K\1\x85\x89Nctorch\nfloat32\n}tR.";
    ASSERT_OK(open_pickle(typed, sizeof typed - 1, &file, &error));
    assert_tensor(file, splat_torch_file_root(file), SPLAT_TORCH_F32, "1", two);
    splat_torch_file_close(file);
    /* Python 2: OrderedDict([["a", "b"]]) */
    static const char pairs[] = "\x80\2" "ccollections\nOrderedDict\n]]U\1aaU\1baa\x85R.";
    ASSERT_OK(open_pickle(pairs, sizeof pairs - 1, &file, &error));
    assert_true(splat_torch_text_is(splat_torch_get(splat_torch_file_root(file), "a"), "b"));
    splat_torch_file_close(file);
}

/* 64 lists in each other are read, 66 are not; 2^60 paths through shared lists cost nothing. */
static void test_depth(void **state)
{
    (void)state;
    for (int is_bomb = 0; is_bomb <= 1; is_bomb++) {
        for (int depth = 60; depth <= 70; depth += 10) {
            bytes pickle = {.n = 0};
            splat_error error;
            splat_torch_file *file;
            put(&pickle, "\x80\2]", 3);
            for (int i = 0; i < depth; i++) put(&pickle, is_bomb ? "2\x86" : "\x85", is_bomb ? 2 : 1);
            put(&pickle, ".", 1);
            splat_status status = open_pickle((const char *)pickle.data, pickle.n, &file, &error);
            assert_int_equal(status, depth > 64 ? SPLAT_ERROR_UNSUPPORTED : SPLAT_OK);
            splat_torch_file_close(file);
        }
    }
}

/* Two million values in a file of four megabytes: refused, not held. */
static void test_many_values(void **state)
{
    (void)state;
    splat_error error;
    splat_torch_file *file;
    uint8_t *data = NULL;
    size_t size, n = 1u << 21;
    char *path = golden("torch_module_legacy.pth");
    ASSERT_OK(splat_file_read(path, &data, &size, &error));
    free(path);
    data = realloc(data, 2 + 2 * n);
    assert_non_null(data);
    /* the second pickle, the protocol number, begins at 15 */
    for (size_t i = 0; i < n - 16; i++) memcpy(data + 17 + 2 * i, "N0", 2);
    write_file("many.pth", data, 2 * n - 16);
    free(data);
    assert_int_equal(splat_torch_file_open("many.pth", &file, &error), SPLAT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "values"));
}

static void test_hostile_containers(void **state)
{
    (void)state;
    static const char pickle[] = "\x80\2N.";
    const entry good = {"x/data.pkl", pickle, 4, 0, false}, zip64 = {"x/data.pkl", pickle, 4, 0, true};
    const entry packed = {"x/data.pkl", pickle, 4, 8, false}, other = {"y/data.pkl", pickle, 4, 0, false};
    const entry big = {"x/byteorder", "big", 3, 0, false}, little = {"x/byteorder", "little", 6, 0, false};
    const entry text = {"x/readme", "hello", 5, 0, false}, deep = {"x/y/data.pkl", pickle, 4, 0, false};
    const struct {
        entry entries[2];
        size_t n;
        splat_status status;
        const char *message;
    } list[] = {
        {{good}, 1, SPLAT_OK, ""},
        {{zip64}, 1, SPLAT_OK, ""},
        {{good, little}, 2, SPLAT_OK, ""},
        {{deep, good}, 2, SPLAT_OK, ""},
        {{good, big}, 2, SPLAT_ERROR_UNSUPPORTED, "not little-endian"},
        {{packed}, 1, SPLAT_ERROR_UNSUPPORTED, "compressed"},
        {{good, good}, 2, SPLAT_ERROR_FORMAT, "the same name"},
        {{good, other}, 2, SPLAT_ERROR_FORMAT, "more than one"},
        {{text}, 1, SPLAT_ERROR_FORMAT, "no data.pkl"},
        {{deep}, 1, SPLAT_ERROR_FORMAT, "no data.pkl"},
        {{good}, 0, SPLAT_ERROR_FORMAT, "this is not a file of torch.save"}, /* without entries, no "PK\3\4" */
    };
    splat_error error;
    splat_torch_file *file;
    bytes zip;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        build_zip(&zip, list[i].entries, list[i].n);
        splat_status status = open_bytes(&zip, &file, &error);
        if (status != list[i].status || (status && !strstr(error.message, list[i].message)))
            fail_msg("zip %zu: %d %s", i, status, status ? error.message : "is read");
        splat_torch_file_close(file);
    }
    bytes tar = {.n = 512}, pickled = {.n = 0}, nothing = {.n = 0};
    memset(tar.data, 0, 512);
    memcpy(tar.data + 257, "ustar", 5);
    put(&pickled, "\x80\4N.", 4);
    assert_int_equal(open_bytes(&tar, &file, &error), SPLAT_ERROR_UNSUPPORTED);
    assert_int_equal(open_bytes(&pickled, &file, &error), SPLAT_ERROR_UNSUPPORTED);
    assert_int_equal(open_bytes(&nothing, &file, &error), SPLAT_ERROR_FORMAT);
    assert_int_equal(splat_torch_file_open(".", &file, &error), SPLAT_ERROR_IO);
    assert_int_equal(splat_torch_file_open("absent.pth", &file, &error), SPLAT_ERROR_IO);
}

/* Two storages over the same bytes of the zip: n of them would take n times the file to check. */
static void test_overlap(void **state)
{
    (void)state;
    static const char pickle[] = "\x80\2" STORAGE("\2") "(U\7storagectorch\nFloatStorage\nU\1" "1U\3cpuK\2tQ\x86.";
    bytes zip;
    splat_error error;
    splat_torch_file *file;
    uint8_t data[2048] = {0};
    entry entries[3] = {{"x/data.pkl", pickle, sizeof pickle - 1, 0, false}, {"x/data/0", data, sizeof data, 0, false},
                        {"x/data/1", "", 0, 0, false}};
    build_zip(&zip, entries, 3);
    uint8_t *first = memmem(zip.data + zip.n - 22 - 3 * 64, 3 * 64, "x/data/0", 8) , *second = first + 8 + 46;
    assert_memory_equal(second, "x/data/1", 8);
    memcpy(second - 46, first - 46, 46); /* checksum, sizes and offset of the other */
    assert_int_equal(open_bytes(&zip, &file, &error), SPLAT_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "overlap"));
}

/* A part of a storage, as the first PyTorch wrote it: elements 1 and 2 of 3, read from their second on. */
static void test_storage_view(void **state)
{
    (void)state;
#define LEGACY "\x80\2\x8a\n\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19." "\x80\2M\351\3."
#define SYSTEM "\x80\2}U\rlittle_endian\x88s."
#define VIEW(first) "\x80\2" "ctorch._utils\n_rebuild_tensor\n((U\7storagectorch\nFloatStorage\nU\1kU\3cpuK\3" \
                    "(U\1vK" first "K\2ttQK\1K\1\x85K\1\x85tR."
    static const char good[] = LEGACY SYSTEM VIEW("\1") "\x80\2]U\1ka.\3\0\0\0\0\0\0\0\0\0\0\0\0\0\200\77\0\0\0\100";
    static const char outside[] = LEGACY SYSTEM VIEW("\2") "\x80\2]U\1ka.\3\0\0\0\0\0\0\0\0\0\0\0\0\0\200\77\0\0\0\100";
    static const char missing[] = LEGACY SYSTEM VIEW("\1") "\x80\2].";
    static const char unknown[] = LEGACY SYSTEM VIEW("\1") "\x80\2]U\1ja.\3\0\0\0\0\0\0\0\0\0\0\0\0\0\200\77\0\0\0\100";
    static const char big[] = LEGACY "\x80\2}U\rlittle_endian\x89s." VIEW("\1") "\x80\2].";
    static const float two[1] = {2.0f};
    splat_error error;
    splat_torch_file *file;
    bytes b = {.n = 0};
    put(&b, good, sizeof good - 1);
    ASSERT_OK(open_bytes(&b, &file, &error));
    assert_tensor(file, splat_torch_file_root(file), SPLAT_TORCH_F32, "1", two);
    splat_torch_file_close(file);
    const bad_pickle list[] = {{outside, sizeof outside - 1, SPLAT_ERROR_FORMAT, "outside"},
                               {missing, sizeof missing - 1, SPLAT_ERROR_FORMAT, "missing"},
                               {unknown, sizeof unknown - 1, SPLAT_ERROR_FORMAT, "not the one"},
                               {big, sizeof big - 1, SPLAT_ERROR_UNSUPPORTED, "little-endian"}};
    for (size_t i = 0; i < 4; i++) {
        b.n = 0;
        put(&b, list[i].pickle, list[i].n);
        assert_int_equal(open_bytes(&b, &file, &error), list[i].status);
        assert_non_null(strstr(error.message, list[i].message));
    }
}

/* Storages beyond 4 GiB, in both containers; the files have holes, and no checksum. */
static void test_large_files(void **state)
{
    (void)state;
    static const uint64_t n_floats = (5ull << 30) / 4;
    static const char storage[] = "(U\7storagectorch\nFloatStorage\nU\1" "0U\3cpu\x8a\4\0\0\0\120tQ"; /* 5 GiB / 4 */
    static const char place[] = "\x8a\4\376\377\377\117K\2\x85K\1\x85tR."; /* the last two floats */
    for (int is_zip = 0; is_zip <= 1; is_zip++) {
        bytes head = {.n = 0}, tail = {.n = 0}, pickle = {.n = 0};
        put(&pickle, "\x80\2" "ctorch._utils\n_rebuild_tensor\n(", 33);
        put(&pickle, storage, sizeof storage - 1);
        put(&pickle, place, sizeof place - 1);
        if (is_zip) {
            const entry entries[2] = {{"x/data.pkl", pickle.data, pickle.n, 0, true}, {"x/data/0", "", 0, 0, true}};
            bytes zip;
            build_zip(&zip, entries, 2);
            uint8_t *directory = memmem(zip.data, zip.n, "PK\1\2", 4);
            head.n = 0;
            put(&head, zip.data, (size_t)(directory - zip.data));
            put(&tail, directory, (size_t)(zip.data + zip.n - 22 - directory));
            size_t size = tail.n;
            uint64_t fields[2] = {4 * n_floats, 4 * n_floats}, at = head.n + 4 * n_floats, end = at + size, n = 2;
            memcpy(tail.data + size - 24, fields, sizeof fields); /* of the last entry */
            put(&tail, "PK\6\6\54\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
            put(&tail, &n, 8);
            put(&tail, &n, 8);
            put_number(&tail, size, 8);
            put(&tail, &at, 8);
            put(&tail, "PK\6\7\0\0\0\0", 8);
            put(&tail, &end, 8);
            put(&tail, "\1\0\0\0PK\5\6\0\0\0\0\2\0\2\0\377\377\377\377\377\377\377\377\0\0", 26);
        } else {
            put(&head, LEGACY SYSTEM, sizeof LEGACY SYSTEM - 1);
            put(&head, pickle.data, pickle.n);
            put(&head, "\x80\2]U\1" "0a.", 8);
            put(&head, &n_floats, 8);
        }
        FILE *stream = fopen("large.pth", "wb");
        assert_non_null(stream);
        fwrite(head.data, 1, head.n, stream);
        fseeko(stream, (off_t)(head.n + 4 * n_floats - 8), SEEK_SET);
        fwrite(TWO_FLOATS, 1, 8, stream);
        fwrite(tail.data, 1, tail.n, stream);
        bool failed = ferror(stream) != 0;
        if (fclose(stream) != 0 || failed) {
            remove("large.pth");
            print_message("SKIPPED: this file system cannot hold a sparse file of 5 GiB\n");
            return;
        }
        splat_error error;
        splat_torch_file *file;
        static const float two[2] = {1.0f, 2.0f};
        ASSERT_OK(splat_torch_file_open("large.pth", &file, &error));
        assert_tensor(file, splat_torch_file_root(file), SPLAT_TORCH_F32, "2", two);
        splat_torch_file_close(file);
        remove("large.pth");
    }
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
        assert_true(error.status != SPLAT_OK && error.status != SPLAT_ERROR_INTERNAL && error.message[0] != '\0');
        return NULL;
    }
    FILE *stream = open_memstream(&text, &size);
    dump(stream, file, splat_torch_file_root(file));
    fclose(stream);
    splat_torch_file_close(file);
    return text;
}

/* Every truncation, and every bit of every stride-th byte. With checksums: refused, or the same as before. */
static void damage(const char *name, size_t stride, bool has_checksums)
{
    splat_error error;
    uint8_t *data;
    size_t size, n_read = 0;
    char *path = golden(name), *whole = dump_file(path);
    assert_non_null(whole);
    ASSERT_OK(splat_file_read(path, &data, &size, &error));
    write_file("damaged.pth", data, size);
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
    for (size_t length = size; length-- > 0;) {
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
    for (uint32_t round = 0; round < 4000; round++) {
        memcpy(changed, data, size);
        uint32_t n_changes = 1 + splat_random(1, SPLAT_STREAM_TEST, round, 0).x[0] % 4;
        for (uint32_t i = 1; i <= n_changes; i++) {
            splat_random4 r = splat_random(1, SPLAT_STREAM_TEST, round, i);
            size_t n = 1 + r.x[0] % 8, to = 15 + r.x[1] % (size - 23), from = 15 + r.x[2] % (size - 23);
            memcpy(changed + to, data + from, n);
        }
        write_file("shuffled.pth", changed, size);
        free(dump_file("shuffled.pth"));
    }
    free(changed);
    free(data);
    free(path);
}

/* The same for a checkpoint: open checks shapes, so whatever it lets through can be read. */
static void test_damaged_checkpoint(void **state)
{
    (void)state;
    splat_error error;
    uint8_t *data;
    size_t size;
    char *path = golden("torch_checkpoint.pth");
    ASSERT_OK(splat_file_read(path, &data, &size, &error));
    free(path);
    for (size_t bit = 0; bit < 8 * size; bit += 37) {
        splat_torch_checkpoint c;
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        write_file("damaged_checkpoint.pth", data, size);
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (splat_torch_checkpoint_open("damaged_checkpoint.pth", &c, &error) != SPLAT_OK) continue;
        assert_ramp(&c, c.p.means, 6, 1.0f, 0.25f);
        assert_int_equal(c.iteration, 1234);
        splat_torch_checkpoint_close(&c);
    }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_module),
        cmocka_unit_test(test_checkpoint),
        cmocka_unit_test(test_checkpoint_before_training),
        cmocka_unit_test(test_hostile_pickles),
        cmocka_unit_test(test_sound_pickles),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_many_values),
        cmocka_unit_test(test_hostile_containers),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_storage_view),
        cmocka_unit_test(test_large_files),
        cmocka_unit_test(test_damaged_zip),
        cmocka_unit_test(test_damaged_legacy),
        cmocka_unit_test(test_shuffled_legacy),
        cmocka_unit_test(test_damaged_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
