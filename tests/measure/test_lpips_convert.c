/* splatsmith-lpips-convert: files as torch.save writes them (the stream of pickles before PyTorch 1.6, which is the
 * simpler to write) become one safetensors file that LPIPS reads. */
#include "base/file.h"
#include "measure/lpips/lpips_convert.h"
#include "check.h"
#include "lpips_fixture.h"
#include "splatsmith.h"

#include <string.h>

/* ---------------------------------------------------------------- a small torch.save */

static void put_text(FILE *f, const char *text)
{
    uint32_t n = (uint32_t)strlen(text);
    fputc('X', f);
    fwrite(&n, 4, 1, f);
    fwrite(text, 1, n, f);
}

static void put_int(FILE *f, size_t value)
{
    uint32_t n = (uint32_t)value;
    fputc('J', f);
    fwrite(&n, 4, 1, f);
}

/* torch._utils._rebuild_tensor_v2(storage `key`, 0, shape, strides, False, OrderedDict()) */
static void put_tensor(FILE *f, const char *key, size_t n_values, int n_dimensions, const size_t *shape)
{
    size_t stride = n_values;
    fputs("ctorch._utils\n_rebuild_tensor_v2\n((", f);
    put_text(f, "storage");
    fputs("ctorch\nFloatStorage\n", f);
    put_text(f, key);
    put_text(f, "cpu");
    put_int(f, n_values);
    fputs("NtQ", f);
    put_int(f, 0);
    fputc('(', f);
    for (int i = 0; i < n_dimensions; i++) put_int(f, shape[i]);
    fputs("t(", f);
    for (int i = 0; i < n_dimensions; i++) put_int(f, stride /= shape[i]);
    fputs("t\x89" "ccollections\nOrderedDict\n)RtR", f);
}

/* A state dict of those tensors of a safetensors file whose name begins with `part`; names are renamed by `rename`. */
static void save_torch(const char *path, const splat_safetensors *source, const char *part,
                       void (*rename)(const char *name, char *out, size_t size))
{
    static const uint8_t magic[] = {0x80, 2, 0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.'};
    static const uint8_t protocol[] = {0x80, 2, 'M', 0xe9, 3, '.'};
    splat_error error;
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fwrite(magic, sizeof magic, 1, f);
    fwrite(protocol, sizeof protocol, 1, f);
    fputs("\x80\x02}", f); /* about the machine it was written on */
    put_text(f, "little_endian");
    fputs("\x88s.\x80\x02}(", f);
    char name[64], key[16];
    for (size_t i = 0; i < source->n; i++) {
        const splat_safetensor *t = &source->tensors[i];
        if (strncmp(t->name, part, strlen(part)) != 0) continue;
        rename(t->name, name, sizeof name);
        snprintf(key, sizeof key, "%zu", 1000 + i);
        put_text(f, name);
        put_tensor(f, key, t->n_values, t->n_dimensions, t->shape);
    }
    fputs("u.\x80\x02](", f);
    for (size_t i = 0; i < source->n; i++) {
        snprintf(key, sizeof key, "%zu", 1000 + i);
        if (strncmp(source->tensors[i].name, part, strlen(part)) == 0) put_text(f, key);
    }
    fputs("e.", f);
    for (size_t i = 0; i < source->n; i++) {
        const splat_safetensor *t = &source->tensors[i];
        if (strncmp(t->name, part, strlen(part)) != 0) continue;
        uint64_t n = t->n_values;
        float *values = malloc(n * sizeof *values);
        must(splat_safetensors_read_f32(source, t, values, &error), &error);
        fwrite(&n, 8, 1, f);
        fwrite(values, sizeof *values, n, f);
        free(values);
    }
    assert_int_equal(fclose(f), 0);
}

/* ---------------------------------------------------------------- the tests */

static void as_it_is(const char *name, char *out, size_t size)
{
    snprintf(out, size, "%s", name);
}

static void features_alone(const char *name, char *out, size_t size)
{
    snprintf(out, size, "%s", name + strlen("features."));
}

static void as_lpips_has_it(const char *name, char *out, size_t size)
{
    snprintf(out, size, "%.4s.model.1.weight", name);
}

static void same_tensors(const char *path_a, const char *path_b)
{
    splat_safetensors a, b;
    splat_error error;
    must(splat_safetensors_open(path_a, &a, &error), &error);
    must(splat_safetensors_open(path_b, &b, &error), &error);
    assert_int_equal(a.n, b.n);
    for (size_t i = 0; i < a.n; i++) {
        const splat_safetensor *t = &a.tensors[i], *other = splat_safetensors_find(&b, t->name);
        assert_non_null(other);
        assert_int_equal(t->n_values, other->n_values);
        float *x = malloc(t->n_values * sizeof *x), *y = malloc(t->n_values * sizeof *y);
        must(splat_safetensors_read_f32(&a, t, x, &error), &error);
        must(splat_safetensors_read_f32(&b, other, y, &error), &error);
        assert_memory_equal(x, y, t->n_values * sizeof *x);
        free(x);
        free(y);
    }
    splat_safetensors_close(&a);
    splat_safetensors_close(&b);
}

static void torch_files_become_one_file(void **state)
{
    (void)state;
    splat_safetensors source;
    splat_error error;
    must(fixture_write("squeeze", "source.safetensors", &error), &error);
    must(splat_safetensors_open("source.safetensors", &source, &error), &error);
    save_torch("backbone.pth", &source, "features.", as_it_is);
    save_torch("features.pth", &source, "features.", features_alone);
    save_torch("heads.pth", &source, "lin", as_lpips_has_it);
    splat_safetensors_close(&source);
    must(splat_lpips_convert("squeeze", "backbone.pth", "heads.pth", "lpips_squeeze.safetensors", &error), &error);
    same_tensors("source.safetensors", "lpips_squeeze.safetensors");
    must(splat_lpips_convert("squeeze", "features.pth", "heads.pth", "second.safetensors", &error), &error);
    same_tensors("source.safetensors", "second.safetensors");
}

static void refused(const char *net, const char *backbone, const char *heads, splat_status expected, const char *part)
{
    splat_error error = {0};
    assert_int_equal(splat_lpips_convert(net, backbone, heads, "refused.safetensors", &error), expected);
    if (!strstr(error.message, part)) fail_msg("'%s' is not in: %s", part, error.message);
    assert_false(splat_path_exists("refused.safetensors"));
}

static void files_of_something_else_are_refused(void **state)
{
    (void)state;
    refused("resnet", "backbone.pth", "heads.pth", SPLAT_ERROR_ARGUMENT, "vgg, alex or squeeze");
    refused("squeeze", "absent.pth", "heads.pth", SPLAT_ERROR_IO, "");
    refused("squeeze", "heads.pth", "backbone.pth", SPLAT_ERROR_FORMAT, "exchanged");
    refused("alex", "backbone.pth", "heads.pth", SPLAT_ERROR_FORMAT, "features.0.weight");
    refused("squeeze", "source.safetensors", "heads.pth", SPLAT_ERROR_FORMAT, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(torch_files_become_one_file),
        cmocka_unit_test(files_of_something_else_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
