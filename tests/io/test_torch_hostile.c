/* Files of torch.save made by hand: what an attacker might write, and what only old or large files have. */
#include "io/torch/torch_read.h"
#include "io/torch/torch_values.h"
#include "text_fixture.h"
#include "torch_fixture.h"

#include <stdio.h>
#include <zlib.h>

/* Little-endian in n bytes, which may be more than eight. */
static void put_number(file_bytes *b, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++, value >>= 8) {
        uint8_t byte = (uint8_t)value;
        file_bytes_put(b, &byte, 1);
    }
}

typedef struct entry {
    const char *name;
    const void *data;
    size_t n;
    int method; /* 0: stored */
    int n_wide; /* numbers in the zip64 extra field: 0, 1 (offset) or 3 (sizes and offset) */
} entry;

/* A zip file as torch.save writes it, in one buffer. */
static void build_zip(file_bytes *zip, const entry *entries, size_t n)
{
    file_bytes list = {.n = 0};
    zip->n = 0;
    for (size_t i = 0; i < n; i++) {
        const entry *e = &entries[i];
        size_t at = zip->n, length = strlen(e->name), n_wide = (size_t)e->n_wide;
        uint64_t crc = crc32_z(crc32_z(0, NULL, 0), e->data, e->n), limit = UINT32_MAX;
        file_bytes_put(zip, "PK\3\4\0\0\0\0", 8);
        put_number(zip, (uint64_t)e->method, 2);
        put_number(zip, 0, 16); /* sizes follow the data, as torch has it */
        put_number(zip, length, 2);
        put_number(zip, 3, 2);
        file_bytes_put(zip, e->name, length);
        file_bytes_put(zip, "FBZ", 3); /* torch pads here */
        file_bytes_put(zip, e->data, e->n);
        file_bytes_put(&list, "PK\1\2\0\0\0\0\0\0", 10);
        put_number(&list, (uint64_t)e->method, 2);
        put_number(&list, 0, 4);
        put_number(&list, crc, 4);
        put_number(&list, n_wide == 3 ? limit : e->n, 4);
        put_number(&list, n_wide == 3 ? limit : e->n, 4);
        put_number(&list, length, 2);
        put_number(&list, n_wide ? 4 + 8 * n_wide : 0, 2);
        put_number(&list, 0, 10);
        put_number(&list, n_wide ? limit : at, 4);
        file_bytes_put(&list, e->name, length);
        uint64_t fields[3] = {e->n, e->n, at};
        if (n_wide) put_number(&list, 1 | n_wide << 19, 4);
        file_bytes_put(&list, fields + 3 - n_wide, 8 * n_wide);
    }
    size_t directory = zip->n;
    file_bytes_put(zip, list.data, list.n);
    file_bytes_put(zip, "PK\5\6\0\0\0\0", 8);
    put_number(zip, n, 2);
    put_number(zip, n, 2);
    put_number(zip, list.n, 4);
    put_number(zip, directory, 4);
    put_number(zip, 0, 2);
}

static splat_status open_bytes(const file_bytes *b, splat_torch_file **file, splat_error *error)
{
    fixture_bytes("made.pth", b->data, b->n);
    return splat_torch_file_open("made.pth", file, error);
}

/* ---------------------------------------------------------------- pickles */

#define TWO_FLOATS "\0\0\200\77\0\0\0\100" /* 1, 2 */
#define STORAGE(n) "(U\7storagectorch\nFloatStorage\nU\1" "0U\3cpuK" n "tQ"
#define TENSOR(n, first, shape, stride) "ctorch._utils\n_rebuild_tensor_v2\n(" STORAGE(n) first shape stride "\x89NtR"

static splat_status open_pickle(const char *pickle, size_t n, splat_torch_file **file, splat_error *error)
{
    file_bytes zip;
    entry entries[2] = {{"x/data.pkl", pickle, n, 0, 0}, {"x/data/0", TWO_FLOATS, 8, 0, 3}};
    build_zip(&zip, entries, 2);
    return open_bytes(&zip, file, error);
}

#define NINE "(K\1K\1K\1K\1K\1K\1K\1K\1K\1t"
/* _rebuild_tensor_v3: bytes, and the type as an argument */
#define TYPED(n) "ctorch._utils\n_rebuild_tensor_v3\n((U\7storagectorch.storage\nUntypedStorage\nU\1" \
                 "0U\3cpuK\x8tQK\1K" n "\x85K\1\x85\x89Nctorch\nfloat32\n}tR"

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
        BAD("\x80\4\x8c\x8" "builtins\x8c\4eval\x93\x8c\1" "1\x85R.", UNSUPPORTED, "builtins.eval"),
        BAD("\x80\2ctorch\n_utils._rebuild_tensor_v9\n.", UNSUPPORTED, "_rebuild_tensor_v9"),
        BAD("\x80\2cos\33[2J\nsystem\n.", UNSUPPORTED, "os?[2J.system"),
        BAD("\x80\2cno line end", FORMAT, "ends early"),
        BAD("\x80\2ctorch\nFloatStorage\n)R.", UNSUPPORTED, "torch.FloatStorage"),
        BAD("\x80\2]q\0h\0a.", UNSUPPORTED, "contains itself"),
        BAD("\x80\2]q\0h\0\x85h\0h\1a.", FORMAT, "memo"),
        BAD("\x80\2]q\0h\0\x85q\1" "0h\0h\1a.", UNSUPPORTED, "contains itself"),
        BAD("\x80\2}q\0K\1h\0s.", UNSUPPORTED, "contains itself"),
        BAD("\x80\2X\377\377\377\377a.", FORMAT, "longer than the file"),
        BAD("\x80\4\x8d\377\377\377\377\377\377\377\177a.", FORMAT, "longer than the file"),
        BAD("\x80\2Nr\377\377\377\377.", FORMAT, "memo"),
        BAD("\x80\2Nr\0\0\0\1.", FORMAT, "memo number"),
        BAD("\x80\2h\0.", FORMAT, "memo"),
        BAD("\x80\2.", FORMAT, "one value"),
        BAD("\x80\2NN.", FORMAT, "one value"),
        BAD("\x80\2N(.", FORMAT, "one value"),
        BAD("\x80\2t.", FORMAT, "mark"),
        BAD("\x80\2]N(a.", FORMAT, "stack is empty"),
        BAD("\x80\2\x86.", FORMAT, "stack is empty"),
        BAD("\x80\2Q.", FORMAT, "stack is empty"),
        BAD("\x80\2N(Nu.", FORMAT, "no dict"),
        BAD("\x80\2}(Nu.", FORMAT, "no value"),
        BAD("\x80\2}]Ns.", FORMAT, "a key"),
        BAD("\x80\2\x8a\x9" "123456789.", UNSUPPORTED, "64 bits"),
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
        BAD("\x80\2" TENSOR("\2", "J\377\377\377\377", "K\1\x85", "K\1\x85") ".", FORMAT, "no storage"),
        BAD("\x80\2" TENSOR("\2", "K\0", "J\377\377\377\377\x85", "K\1\x85") ".", FORMAT, "not a count"),
        BAD("\x80\2" TENSOR("\2", "K\0", "K\2K\2\x86", "K\1\x85") ".", FORMAT, "arguments"),
        BAD("\x80\2" TENSOR("\2", "K\0", NINE, NINE) ".", UNSUPPORTED, "9 dimensions"),
        BAD("\x80\2" TENSOR("\2", "K\0", "\x8a\4\0\0\0\100\x8a\4\0\0\0\100\x86", "K\0K\0\x86") ".", UNSUPPORTED,
            "contiguous()"),
        BAD("\x80\2" TENSOR("\2", "K\0", "\x8a\x8\0\0\0\0\0\0\0\100\x8a\4\0\0\0\100\x86", "K\0K\0\x86") ".", FORMAT,
            "larger"),
        BAD("\x80\2" TENSOR("\2", "K\0", "\x8a\x8\3\0\0\0\0\0\0\100\x85", "K\4\x85") ".", FORMAT, "larger"),
        BAD("\x80\2" TENSOR("\3", "K\0", "K\2\x85", "K\1\x85") ".", FORMAT, "data/0 is shorter"),
        BAD("\x80\2(U\7storagectorch\nFloatStorage\nU\1" "1U\3cpuK\1tQ.", FORMAT, "no entry data/1"),
        BAD("\x80\2(U\7storagectorch\nFloatStorage\nU\1" "0U\3cpu\x8a\x8\0\0\0\0\0\0\0\100tQ.", FORMAT, "more bytes"),
        BAD("\x80\2(U\7storagectorch\nHalfStorage\nU\1" "0U\3cpuK\2tQ" STORAGE("\2") "\x86.", FORMAT, "disagree"),
        BAD("\x80\2" TYPED("\2") ".", FORMAT, "larger"),
        BAD("\x80\2" "cnumpy\ndtype\nU\2f8\x85R)R.", UNSUPPORTED, "mention"),
        BAD("\x80\2" "cnumpy\ndtype\nU\2\0\0\x85R.", FORMAT, "numpy.dtype"),
        BAD("\x80\2" "cnumpy\ndtype\nU\2O8\x85R.", FORMAT, "numpy.dtype"),
        BAD("\x80\2" "cnumpy\ndtype\nU\2f8\x85R(K\3U\1>tb.", UNSUPPORTED, "little-endian"),
        BAD("\x80\2" "cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\nU\2f8\x85RU\4abcd\x86R.", FORMAT, "bytes"),
        BAD("\x80\2" "cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\nU\4abcd\x86R.", FORMAT, "no type"),
        BAD("\x80\2" "c_codecs\nencode\nX\3\0\0\0\342\202\254U\6latin1\x86R.", FORMAT, "not a byte"),
        BAD("\x80\2" "c_codecs\nencode\nX\2\0\0\0\344\200U\6latin1\x86R.", FORMAT, "not a byte"),
        BAD("\x80\2" "c_codecs\nencode\nX\1\0\0\0\303U\6latin1\x86R.", FORMAT, "not a byte"),
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

/* Sound pickles, of which the hostile ones above are small changes: each is read. */
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
    static const char typed[] = "\x80\2" TYPED("\1") ".";
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
            file_bytes pickle = {.n = 0};
            splat_error error;
            splat_torch_file *file;
            file_bytes_put(&pickle, "\x80\2]", 3);
            for (int i = 0; i < depth; i++) file_bytes_put(&pickle, is_bomb ? "2\x86" : "\x85", is_bomb ? 2 : 1);
            file_bytes_put(&pickle, ".", 1);
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
    fixture_bytes("many.pth", data, 2 * n - 16);
    free(data);
    assert_int_equal(splat_torch_file_open("many.pth", &file, &error), SPLAT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "values"));
}

static void test_hostile_containers(void **state)
{
    (void)state;
    static const char pickle[] = "\x80\2N.";
    const entry good = {"x/data.pkl", pickle, 4, 0, 0}, zip64 = {"x/data.pkl", pickle, 4, 0, 3};
    const entry wide_offset = {"x/data.pkl", pickle, 4, 0, 1};
    const entry packed = {"x/data.pkl", pickle, 4, 8, 0}, other = {"y/data.pkl", pickle, 4, 0, 0};
    const entry big = {"x/byteorder", "big", 3, 0, 0}, little = {"x/byteorder", "little", 6, 0, 0};
    const entry text = {"x/readme", "hello", 5, 0, 0}, deep = {"x/y/data.pkl", pickle, 4, 0, 0};
    const struct {
        entry entries[2];
        size_t n;
        splat_status status;
        const char *message;
    } list[] = {
        {{good}, 1, SPLAT_OK, ""},
        {{zip64}, 1, SPLAT_OK, ""},
        {{wide_offset}, 1, SPLAT_OK, ""},
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
    file_bytes zip;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        build_zip(&zip, list[i].entries, list[i].n);
        splat_status status = open_bytes(&zip, &file, &error);
        if (status != list[i].status || (status && !strstr(error.message, list[i].message)))
            fail_msg("zip %zu: %d %s", i, status, status ? error.message : "is read");
        splat_torch_file_close(file);
    }
    file_bytes tar = {.n = 512}, pickled = {.n = 0}, nothing = {.n = 0};
    memset(tar.data, 0, 512);
    memcpy(tar.data + 257, "ustar", 5);
    file_bytes_put(&pickled, "\x80\4N.", 4);
    assert_int_equal(open_bytes(&tar, &file, &error), SPLAT_ERROR_UNSUPPORTED);
    assert_int_equal(open_bytes(&pickled, &file, &error), SPLAT_ERROR_UNSUPPORTED);
    assert_int_equal(open_bytes(&nothing, &file, &error), SPLAT_ERROR_FORMAT);
    assert_int_equal(splat_torch_file_open(".", &file, &error), SPLAT_ERROR_IO);
    assert_int_equal(splat_torch_file_open("absent.pth", &file, &error), SPLAT_ERROR_IO);
}

/* Two storages over the same bytes of the zip (n of them would take n times the file to check), and one that is longer
 * than the file. */
static void test_overlap(void **state)
{
    (void)state;
    static const char pickle[] = "\x80\2" STORAGE("\2") "(U\7storagectorch\nFloatStorage\nU\1" "1U\3cpuK\2tQ\x86.";
    file_bytes zip;
    splat_error error;
    splat_torch_file *file;
    uint8_t data[2048] = {0};
    entry entries[3] = {{"x/data.pkl", pickle, sizeof pickle - 1, 0, 0}, {"x/data/0", data, sizeof data, 0, 0},
                        {"x/data/1", "", 0, 0, 0}};
    build_zip(&zip, entries, 3);
    uint8_t *directory = memmem(zip.data, zip.n, "PK\1\2", 4);
    uint8_t *first = directory + 46 + 10 + 46, *second = first + 8 + 46;
    assert_memory_equal(first, "x/data/0", 8);
    assert_memory_equal(second, "x/data/1", 8);
    memcpy(second - 46, first - 46, 46); /* checksum, sizes and offset of the other */
    assert_int_equal(open_bytes(&zip, &file, &error), SPLAT_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "overlap"));
    build_zip(&zip, entries, 3);
    memset(first - 30, 0, 4); /* no checksum, and longer than the rest of the file */
    memset(first - 25, 0x10, 1);
    memset(first - 21, 0x10, 1);
    assert_int_equal(open_bytes(&zip, &file, &error), SPLAT_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "not where"));
}

/* A part of a storage, as the first PyTorch wrote it: elements 1 and 2 of 3, read from their second on. */
static void test_storage_view(void **state)
{
    (void)state;
#define LEGACY "\x80\2\x8a\n\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19." "\x80\2M\351\3."
#define SYSTEM "\x80\2}U\rlittle_endian\x88s."
#define VIEW(first) "\x80\2" "ctorch._utils\n_rebuild_tensor\n((U\7storagectorch\nFloatStorage\nU\1kU\3cpuK\3" \
                    "(U\1vK" first "K\2ttQK\1K\1\x85K\1\x85tR."
#define KEYS(keys) "\x80\2]U" keys "a."
#define DATA "\0\0\0\0\0\0\0\0\0\0\0\0\0\200\77\0\0\0\100" /* the rest of the count; 0, 1, 2 */
    static const char good[] = LEGACY SYSTEM VIEW("\1") KEYS("\1k") "\3" DATA;
    static const char outside[] = LEGACY SYSTEM VIEW("\2") KEYS("\1k") "\3" DATA;
    static const char missing[] = LEGACY SYSTEM VIEW("\1") "\x80\2].";
    static const char unknown[] = LEGACY SYSTEM VIEW("\1") KEYS("\1j") "\3" DATA;
    static const char twice[] = LEGACY SYSTEM VIEW("\1") KEYS("\1kaU\1k") "\3" DATA "\3" DATA;
    static const char less[] = LEGACY SYSTEM VIEW("\1") KEYS("\1k") "\2" DATA;
    static const char big[] = LEGACY "\x80\2}U\rlittle_endian\x89s." VIEW("\1") "\x80\2].";
    static const float two[1] = {2.0f};
    splat_error error;
    splat_torch_file *file;
    file_bytes b = {.n = 0};
    file_bytes_put(&b, good, sizeof good - 1);
    ASSERT_OK(open_bytes(&b, &file, &error));
    assert_tensor(file, splat_torch_file_root(file), SPLAT_TORCH_F32, "1", two);
    splat_torch_file_close(file);
    const bad_pickle list[] = {{outside, sizeof outside - 1, SPLAT_ERROR_FORMAT, "outside"},
                               {missing, sizeof missing - 1, SPLAT_ERROR_FORMAT, "missing"},
                               {unknown, sizeof unknown - 1, SPLAT_ERROR_FORMAT, "not the one"},
                               {twice, sizeof twice - 1, SPLAT_ERROR_FORMAT, "storage 1 is not the one"},
                               {less, sizeof less - 1, SPLAT_ERROR_FORMAT, "not the one"},
                               {big, sizeof big - 1, SPLAT_ERROR_UNSUPPORTED, "little-endian"}};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        b.n = 0;
        file_bytes_put(&b, list[i].pickle, list[i].n);
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
        file_bytes head = {.n = 0}, tail = {.n = 0}, pickle = {.n = 0};
        file_bytes_put(&pickle, "\x80\2" "ctorch._utils\n_rebuild_tensor\n(", 33);
        file_bytes_put(&pickle, storage, sizeof storage - 1);
        file_bytes_put(&pickle, place, sizeof place - 1);
        if (is_zip) {
            const entry entries[2] = {{"x/data.pkl", pickle.data, pickle.n, 0, 3}, {"x/data/0", "", 0, 0, 3}};
            file_bytes zip;
            build_zip(&zip, entries, 2);
            uint8_t *directory = memmem(zip.data, zip.n, "PK\1\2", 4);
            head.n = 0;
            file_bytes_put(&head, zip.data, (size_t)(directory - zip.data));
            file_bytes_put(&tail, directory, (size_t)(zip.data + zip.n - 22 - directory));
            size_t size = tail.n;
            uint64_t fields[2] = {4 * n_floats, 4 * n_floats}, at = head.n + 4 * n_floats, end = at + size, n = 2;
            memcpy(tail.data + size - 24, fields, sizeof fields); /* of the last entry */
            file_bytes_put(&tail, "PK\6\6\54\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
            file_bytes_put(&tail, &n, 8);
            file_bytes_put(&tail, &n, 8);
            put_number(&tail, size, 8);
            file_bytes_put(&tail, &at, 8);
            file_bytes_put(&tail, "PK\6\7\0\0\0\0", 8);
            file_bytes_put(&tail, &end, 8);
            file_bytes_put(&tail, "\1\0\0\0PK\5\6\0\0\0\0\2\0\2\0\377\377\377\377\377\377\377\377\0\0", 26);
        } else {
            file_bytes_put(&head, LEGACY SYSTEM, sizeof LEGACY SYSTEM - 1);
            file_bytes_put(&head, pickle.data, pickle.n);
            file_bytes_put(&head, "\x80\2]U\1" "0a.", 8);
            file_bytes_put(&head, &n_floats, 8);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_pickles),
        cmocka_unit_test(test_sound_pickles),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_many_values),
        cmocka_unit_test(test_hostile_containers),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_storage_view),
        cmocka_unit_test(test_large_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
