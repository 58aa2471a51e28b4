/* Splats in scene files: what glTF (KHR_gaussian_splatting), USD and HTML hold, and files that are refused. */
#include "base/base64.h"
#include "base/file.h"
#include "check.h"
#include "io/glb/glb_file.h"
#include "io/json.h"
#include "io/splat/formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KHR "KHR_gaussian_splatting"

/* Two Gaussians of degree 1; the first has numbers that the tests below know. */
static splat_cloud make_two(void)
{
    static const float sh[9] = {0.5f, 0.25f, 0.125f, 0.3f, 0.2f, 0.1f, -0.3f, -0.2f, -0.1f};
    splat_cloud c;
    splat_error error;
    ASSERT_OK(splat_cloud_make(&c, 2, 1, false, &error));
    memcpy(c.means, (float[]){1, 2, 3, 4, 5, 6}, 24);
    memcpy(c.scales, (float[]){-1, -2, -3, 0, 0, 0}, 24);
    memcpy(c.sh_dc, (float[]){0, 1, -1, 9, 9, 9}, 24);
    memcpy(c.rotations, (float[]){1.6f, 0.0f, 1.2f, 0.0f, 1, 0, 0, 0}, 32);
    memcpy(c.sh_rest, sh, sizeof sh);
    return c;
}

/* ---------------------------------------------------------------- glTF */

static void assert_attribute(const splat_glb_file *file, const json_t *primitive, const char *name, int component,
                             const double *values, int n)
{
    splat_error error;
    splat_glb_accessor a;
    ASSERT_OK(splat_glb_find(file, json_object_get(primitive, "attributes"), name, &a, &error));
    if (!a.data || a.n != 2 || a.channels != n || a.component != component) fail_msg("%s is not as it should be", name);
    for (int k = 0; k < n; k++)
        if (fabs(splat_glb_value(&a, 0, k) - values[k]) > 2e-5)
            fail_msg("%s[%d] is %g instead of %g", name, k, splat_glb_value(&a, 0, k), values[k]);
}

/* Up is y: y and z change their signs, with them those parts of the rotation and the harmonics of y and z. The colours
 * 0.5, 0.78209, 0.21791 are made linear: ((c + 0.055) / 1.055)^2.4. */
static void a_gltf_splat_is_as_the_extension_says(void **state)
{
    (void)state;
    splat_error error;
    splat_glb_file file;
    splat_cloud c = make_two();
    c.render_mode = SPLAT_RENDER_MIP;
    ASSERT_OK(splat_cloud_write("two.glb", &c, NULL, &error));
    ASSERT_OK(splat_glb_open(&file, "two.glb", &error));
    const json_t *mesh = json_array_get(json_object_get(file.root, "meshes"), 0);
    const json_t *primitive = json_array_get(json_object_get(mesh, "primitives"), 0);
    const json_t *extension = json_object_get(json_object_get(primitive, "extensions"), KHR);
    assert_int_equal(json_integer_value(json_object_get(primitive, "mode")), SPLAT_GLB_POINTS);
    assert_string_equal(json_string_value(json_object_get(extension, "kernel")), "ellipse");
    assert_string_equal(json_string_value(json_object_get(extension, "colorSpace")), "srgb_rec709_display");
    assert_string_equal(json_string_value(json_array_get(json_object_get(file.root, "extensionsUsed"), 0)), KHR);
    const json_t *extras = json_object_get(json_array_get(json_object_get(file.root, "scenes"), 0), "extras");
    assert_string_equal(json_string_value(json_object_get(extras, "units")), "arbitrary");
    assert_string_equal(json_string_value(json_object_get(extras, "up")), "unknown");
    double linear[4] = {pow(0.555 / 1.055, 2.4), pow(0.837095 / 1.055, 2.4), pow(0.272905 / 1.055, 2.4), 0.5};
    assert_attribute(&file, primitive, "POSITION", SPLAT_GLB_FLOAT, (double[]){1, -2, -3}, 3);
    assert_attribute(&file, primitive, "COLOR_0", SPLAT_GLB_UINT16, linear, 4);
    assert_attribute(&file, primitive, KHR ":ROTATION", SPLAT_GLB_FLOAT, (double[]){0, -0.6, 0, 0.8}, 4);
    assert_attribute(&file, primitive, KHR ":SCALE", SPLAT_GLB_FLOAT, (double[]){exp(-1), exp(-2), exp(-3)}, 3);
    assert_attribute(&file, primitive, KHR ":OPACITY", SPLAT_GLB_FLOAT, (double[]){0.5}, 1);
    assert_attribute(&file, primitive, KHR ":SH_DEGREE_0_COEF_0", SPLAT_GLB_FLOAT, (double[]){0, 1, -1}, 3);
    assert_attribute(&file, primitive, KHR ":SH_DEGREE_1_COEF_0", SPLAT_GLB_FLOAT, (double[]){-0.5, -0.25, -0.125}, 3);
    assert_attribute(&file, primitive, KHR ":SH_DEGREE_1_COEF_1", SPLAT_GLB_FLOAT, (double[]){-0.3, -0.2, -0.1}, 3);
    assert_attribute(&file, primitive, KHR ":SH_DEGREE_1_COEF_2", SPLAT_GLB_FLOAT, (double[]){-0.3, -0.2, -0.1}, 3);
    splat_glb_close(&file);
    splat_cloud_free(&c);
}

/* The file with some text of its description replaced by as many bytes. */
static void write_changed(const char *from, const char *to)
{
    splat_error error;
    uint8_t *data;
    size_t size;
    ASSERT_OK(splat_file_read("two.glb", &data, &size, &error));
    char *at = memmem(data, size, from, strlen(from));
    assert_non_null(at);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(at, to, strlen(to));
    ASSERT_OK(splat_file_write("changed.glb", data, size, &error));
    free(data);
}

static void other_gltf_is_refused(void **state)
{
    (void)state;
    static const struct { const char *from, *to; splat_status status; const char *says; } cases[] = {
        {"\"kernel\":\"ellipse\"", "\"kernel\":\"spheres\"", SPLAT_ERROR_UNSUPPORTED, "kernel"},
        {"srgb_rec709_display", "lin_rec709_displays", SPLAT_ERROR_UNSUPPORTED, "colours"},
        {KHR ":SCALE", KHR ":SIZES", SPLAT_ERROR_FORMAT, "lacks " KHR ":SCALE"},
        {KHR ":SH_DEGREE_1_COEF_2", KHR ":SH_DEGREE_1_COEF_9", SPLAT_ERROR_FORMAT, "COEF_2"},
        {"\"count\":2,\"type\":\"VEC4\"", "\"count\":1,\"type\":\"VEC4\"", SPLAT_ERROR_FORMAT, "ROTATION"},
        {"\"extensions\"", "\"ext_nsions\"", SPLAT_ERROR_UNSUPPORTED, "no splat in it"},
        {"\"nodes\":[{\"mesh\":0}]", "\"nodes\":[{\"mesh\":0}]", SPLAT_OK, ""},
    };
    splat_error error;
    splat_cloud c = make_two(), back;
    ASSERT_OK(splat_cloud_write("two.glb", &c, NULL, &error));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_changed(cases[i].from, cases[i].to);
        splat_status status = splat_cloud_read("changed.glb", &back, &error);
        if (status != cases[i].status) fail_msg("%s: status %d", cases[i].to, status);
        if (status != SPLAT_OK && !strstr(error.message, cases[i].says)) fail_msg("\"%s\"", error.message);
        splat_cloud_free(&back);
    }
    splat_cloud_free(&c);
}

/* The description, which may have another length now, and the binary chunk. */
static void write_again(const char *path, const splat_glb_file *file)
{
    char *text = json_dumps(file->root, JSON_COMPACT);
    uint32_t length = (uint32_t)strlen(text), binary = (uint32_t)file->binary_size;
    const uint32_t head[5] = {0x46546C67u, 2, 28 + length + binary, length, 0x4E4F534Au};
    const uint32_t chunk[2] = {binary, 0x004E4942u};
    FILE *stream = fopen(path, "wb");
    fwrite(head, sizeof head, 1, stream);
    fputs(text, stream);
    fwrite(chunk, sizeof chunk, 1, stream);
    fwrite(file->binary, 1, binary, stream);
    fclose(stream);
    free(text);
}

/* Writes changed.glb: two.glb as that program would have written it, with these scales of the first Gaussian. */
static void write_as(const char *generator, const float scales[3])
{
    splat_error error;
    splat_glb_file file;
    splat_glb_accessor scale;
    ASSERT_OK(splat_glb_open(&file, "two.glb", &error));
    const json_t *mesh = json_array_get(json_object_get(file.root, "meshes"), 0);
    const json_t *primitive = json_array_get(json_object_get(mesh, "primitives"), 0);
    ASSERT_OK(splat_glb_find(&file, json_object_get(primitive, "attributes"), KHR ":SCALE", &scale, &error));
    memcpy(file.data + (scale.data - file.data), scales, 3 * sizeof *scales);
    json_object_set_new(json_object_get(file.root, "asset"), "generator", json_string(generator));
    write_again("changed.glb", &file);
    splat_glb_close(&file);
}

/* splat-transform stored logarithms up to 2.6. Its files are read; a negative scale of another program is refused. */
static void logarithms_of_scales_are_known_by_the_generator(void **state)
{
    (void)state;
    static const float logarithms[3] = {-1, 0.5f, -3}, scales[3] = {0.36787944f, 1.6487213f, 0.049787068f};
    static const struct { const char *generator; const float *stored; bool is_read; } cases[] = {
        {"splat-transform 1.9.0", logarithms, true},  {"splat-transform 1.10.2", logarithms, true},
        {"splat-transform 2.6.0", logarithms, true},  {"splat-transform 2.7.0", logarithms, false},
        {"splat-transform 3.2.0", logarithms, false}, {"my program 1.0", logarithms, false},
        {"splat-transform 2.7.0", scales, true},      {"splat-transform 2.10.0", scales, true},
        {"splat-transform", scales, true},            {"my program 1.0", scales, true},
    };
    splat_error error;
    splat_cloud c = make_two(), back;
    ASSERT_OK(splat_cloud_write("two.glb", &c, NULL, &error));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_as(cases[i].generator, cases[i].stored);
        splat_status status = splat_cloud_read("changed.glb", &back, &error);
        if ((status == SPLAT_OK) != cases[i].is_read) fail_msg("%s: %s", cases[i].generator, error.message);
        for (int k = 0; k < 3 && cases[i].is_read; k++)
            assert_float_equal(back.scales[k], logarithms[k], 1e-6);
        if (!cases[i].is_read)
            assert_non_null(strstr(error.message, "Gaussian 0 has a negative scale (-1): the file holds logarithms"));
        splat_cloud_free(&back);
    }
    splat_cloud_free(&c);
}

static void a_node_that_moves_the_splat_is_refused(void **state)
{
    (void)state;
    static const char *const nodes[] = {"[{\"mesh\":0,\"translation\":[1,0,0]}]",
                                        "[{\"mesh\":0,\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,5,0,0,1]}]",
                                        "[{\"mesh\":0,\"scale\":[2,2,2]}]",
                                        "[{\"mesh\":0},{\"children\":[0],\"rotation\":[0,0,1,0]}]",
                                        "[{\"mesh\":0},{\"children\":[0]},{\"children\":[1]}]",
                                        "[{\"mesh\":0,\"children\":[0]}]"};
    static const splat_status statuses[] = {SPLAT_ERROR_UNSUPPORTED, SPLAT_ERROR_UNSUPPORTED, SPLAT_ERROR_UNSUPPORTED,
                                            SPLAT_ERROR_UNSUPPORTED, SPLAT_OK,
                                            SPLAT_ERROR_UNSUPPORTED}; /* the last is a circle */
    splat_error error;
    splat_cloud c = make_two(), back;
    splat_glb_file file;
    ASSERT_OK(splat_cloud_write("two.glb", &c, NULL, &error));
    splat_cloud_free(&c);
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        ASSERT_OK(splat_glb_open(&file, "two.glb", &error));
        json_object_set_new(file.root, "nodes", json_loads(nodes[i], 0, NULL));
        write_again("moved.glb", &file);
        splat_glb_close(&file);
        splat_status status = splat_cloud_read("moved.glb", &back, &error);
        if (status != statuses[i]) fail_msg("%s: status %d, %s", nodes[i], status, error.message);
        splat_cloud_free(&back);
    }
}

/* By its first bytes alone, so that the message names the damage and not the formats that exist. */
static void a_gltf_file_cut_after_its_mark_is_damaged(void **state)
{
    (void)state;
    splat_error error;
    splat_cloud cloud;
    ASSERT_OK(splat_file_write("mark.bin", "glTF", 4, &error));
    assert_failure(splat_cloud_read("mark.bin", &cloud, &error), SPLAT_ERROR_FORMAT, &error, "GLB");
}

/* ---------------------------------------------------------------- USD */

/* In full, for numbers that a float holds: y and z up as above; exp(0) = 1, sigmoid(0) = 0.5. */
static void a_usd_splat_is_this_text(void **state)
{
    (void)state;
    static const char text[] =
        "#usda 1.0\n(\n    defaultPrim = \"Splat\"\n    doc = \"Written by Splatsmith\"\n    metersPerUnit = 1\n"
        "    upAxis = \"Y\"\n)\n\ndef ParticleField3DGaussianSplat \"Splat\" (\n    customData = {\n"
        "        string SplatRenderMode = \"mip\"\n    }\n)\n{\n"
        "    float3[] extent = [(-2, -5, -6), (7, 3, 2.9)]\n"
        "    uniform token projectionModeHint = \"perspective\"\n    uniform token sortingModeHint = \"zDepth\"\n"
        "    point3f[] positions = [\n        (1, -2, -3), (4, 0, -0.100000001)\n    ]\n"
        "    quatf[] orientations = [\n        (0, 1, 0, 0), (0.5, 0.5, 0.5, -0.5)\n    ]\n"
        "    float3[] scales = [\n        (1, 1, 1), (1, 1, 1)\n    ]\n"
        "    float[] opacities = [\n        0.5, 0.5\n    ]\n"
        "    uniform int radiance:sphericalHarmonicsDegree = 1\n"
        "    float3[] radiance:sphericalHarmonicsCoefficients = [\n"
        "        (0, 1, -1), (-0.5, -0.25, -0.125), (-2, -3, -4), (5, 6, 7),\n"
        "        (9, 9, 9), (0, 0, 0), (0, 0, 0), (0, 0, 0)\n    ] (\n"
        "        elementSize = 4\n        interpolation = \"vertex\"\n    )\n}\n";
    splat_error error;
    splat_cloud c = make_two();
    uint8_t *found;
    size_t size;
    c.render_mode = SPLAT_RENDER_MIP;
    memset(c.scales, 0, 24);
    memcpy(c.means, (float[]){1, 2, 3, 4, 0, 0.1f}, 24);
    memcpy(c.rotations, (float[]){0, 2, 0, 0, 1, 1, -1, 1}, 32);
    memcpy(c.sh_rest + 3, (float[]){2, 3, 4, 5, 6, 7}, 24);
    ASSERT_OK(splat_cloud_write("two.usda", &c, NULL, &error));
    ASSERT_OK(splat_file_read("two.usda", &found, &size, &error));
    assert_string_equal((char *)found, text);
    free(found);
    splat_cloud_free(&c);
}

/* ---------------------------------------------------------------- HTML */

/* The page holds the very SPZ that is written alone, and names nothing that would have to be loaded. */
static void a_page_holds_the_spz_and_loads_nothing(void **state)
{
    (void)state;
    static const char mark[] = "id=\"spz\">";
    splat_error error;
    splat_cloud c = make_two();
    uint8_t *page, *spz;
    size_t page_size, spz_size, n;
    ASSERT_OK(splat_cloud_write("<two> & more.html", &c, NULL, &error));
    ASSERT_OK(splat_cloud_write("two.spz", &c, NULL, &error));
    ASSERT_OK(splat_file_read("<two> & more.html", &page, &page_size, &error));
    ASSERT_OK(splat_file_read("two.spz", &spz, &spz_size, &error));
    char *from = strstr((char *)page, mark);
    assert_non_null(from);
    from += strlen(mark);
    size_t length = strcspn(from, "<");
    uint8_t *found = malloc(length + 3);
    assert_true(splat_base64_get(from, length, found, &n));
    assert_int_equal(n, spz_size);
    assert_memory_equal(found, spz, n);
    assert_non_null(strstr((char *)page, "<title>&lt;two&gt; &amp; more.html</title>"));
    static const char *const loads[] = {"http", "src=", "import", "fetch("};
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) assert_null(strstr((char *)page, loads[i]));
    free(found);
    free(page);
    free(spz);
    splat_cloud_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gltf_splat_is_as_the_extension_says),
        cmocka_unit_test(other_gltf_is_refused),
        cmocka_unit_test(logarithms_of_scales_are_known_by_the_generator),
        cmocka_unit_test(a_node_that_moves_the_splat_is_refused),
        cmocka_unit_test(a_gltf_file_cut_after_its_mark_is_damaged),
        cmocka_unit_test(a_usd_splat_is_this_text),
        cmocka_unit_test(a_page_holds_the_spz_and_loads_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
