/* Files of meshes: round trips, what other programs write, damaged files, GLB taken apart again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/rng.h"
#include "mesh/files/mesh_io.h"
#include "mesh_fixture.h"
#include "splatsmith/mesh.h"

#include <jansson.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

static splat_mesh make_colored(void)
{
    splat_error error;
    splat_mesh mesh = make_torus(7, 5, 1.0 / 3, 0.1);
    ASSERT_OK(splat_mesh_require_colors(&mesh, &error));
    for (size_t i = 0; i < 4 * mesh.n_vertices; i++) mesh.colors[i] = (uint8_t)(i % 4 == 3 ? 255 : 37 * i);
    ASSERT_OK(splat_mesh_compute_normals(&mesh, 1, &error));
    return mesh;
}

static void assert_same(const splat_mesh *a, const splat_mesh *b)
{
    assert_int_equal(a->n_vertices, b->n_vertices);
    assert_int_equal(a->n_faces, b->n_faces);
    assert_memory_equal(a->vertices, b->vertices, 12 * a->n_vertices);
    assert_memory_equal(a->faces, b->faces, 12 * a->n_faces);
    assert_int_equal(a->colors != NULL, b->colors != NULL);
    if (a->colors) assert_memory_equal(a->colors, b->colors, 4 * a->n_vertices);
}

static void test_round_trip(void **state)
{
    (void)state;
    splat_error error;
    for (int plain = 0; plain < 2; plain++) {
        splat_mesh mesh = plain ? make_torus(7, 5, 1.0 / 3, 0.1) : make_colored(), back;
        for (size_t i = 0; i < 3 * mesh.n_vertices; i++) { /* numbers of every size and length */
            uint32_t bits = splat_random(2, SPLAT_STREAM_TEST, 0, i).x[0];
            if ((bits >> 23 & 255) != 255) memcpy(&mesh.vertices[i], &bits, 4);
        }
        ASSERT_OK(splat_mesh_write("mesh.ply", &mesh, &error));
        ASSERT_OK(splat_mesh_read("mesh.ply", &back, &error));
        assert_same(&mesh, &back);
        assert_int_equal(back.normals != NULL, !plain);
        if (!plain) assert_memory_equal(mesh.normals, back.normals, 12 * mesh.n_vertices);
        splat_mesh_free(&back);
        ASSERT_OK(splat_mesh_write("mesh.obj", &mesh, &error));
        ASSERT_OK(splat_mesh_read("mesh.obj", &back, &error));
        assert_same(&mesh, &back);
        splat_mesh_free(&back);
        splat_mesh_free(&mesh);
    }
    splat_mesh points = {0}, back;
    put_vertex(&points, 1, 2, 3);
    ASSERT_OK(splat_mesh_write("points.ply", &points, &error));
    ASSERT_OK(splat_mesh_read("points.ply", &back, &error));
    assert_same(&points, &back);
    splat_mesh_free(&back);
    assert_int_equal(splat_mesh_write("mesh.stl", &points, &error), SPLAT_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, ".ply (PLY), .obj (OBJ) or .glb (GLB)"));
    assert_int_equal(splat_mesh_write("absent/mesh.ply", &points, &error), SPLAT_ERROR_IO);
    splat_mesh_free(&points);
}

static void write_bytes(const char *path, const void *data, size_t size)
{
    unlink(path); /* file systems flush a file that is truncated and written again, and this is done often */
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void write_string(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

/* PLYs of other programs: text, polygons, faces before vertices, doubles, big-endian, colours as floats. */
static void test_other_plys(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh;
    write_string("other.ply", "ply\nformat ascii 1.0\nelement face 2\nproperty uchar flags\n"
                              "property list uchar uint vertex_index\nelement vertex 5\nproperty double x\n"
                              "property double y\nproperty double z\nproperty float red\nproperty float green\n"
                              "property float blue\nend_header\n9 4 0 1 2 3\n9 3 4 3 2\n"
                              "0 0 0 1 0 0.5\n1 0 0 0 0 0\n1 1 0 0 0 0\n0 1 0 0 0 0\n0.5 0.5 1e0 2 -1 nan\n");
    ASSERT_OK(splat_mesh_read("other.ply", &mesh, &error));
    assert_int_equal(mesh.n_vertices, 5);
    assert_int_equal(mesh.n_faces, 3);
    const uint32_t faces[9] = {0, 1, 2, 0, 2, 3, 4, 3, 2};
    assert_memory_equal(mesh.faces, faces, sizeof faces);
    const uint8_t first[4] = {255, 0, 128, 255}, last[4] = {255, 0, 0, 255};
    assert_memory_equal(mesh.colors, first, 4);
    assert_memory_equal(mesh.colors + 16, last, 4);
    splat_mesh_free(&mesh);

    uint8_t big[512];
    const char *header = "ply\nformat binary_big_endian 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
                         "property float z\nelement face 1\nproperty list int ushort vertex_indices\nend_header\n";
    size_t n = strlen(header);
    memcpy(big, header, n);
    for (uint32_t i = 0; i < 9; i++) {
        float value = (float)i;
        uint32_t bits;
        memcpy(&bits, &value, 4);
        bits = __builtin_bswap32(bits);
        memcpy(big + n, &bits, 4);
        n += 4;
    }
    memcpy(big + n, "\0\0\0\3\0\2\0\0\0\1", 10);
    write_bytes("big.ply", big, n + 10);
    ASSERT_OK(splat_mesh_read("big.ply", &mesh, &error));
    assert_true(mesh.vertices[7] == 7.0f);
    const uint32_t face[3] = {2, 0, 1};
    assert_memory_equal(mesh.faces, face, sizeof face);
    splat_mesh_free(&mesh);
}

static void test_other_objs(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh;
    write_string("other.obj", "# made by hand\r\nmtllib a.mtl\r\no thing\r\nv 0 0 0 1.0\r\nv 1 0 0\r\n\tv 1 1 0\r\n"
                              "vt 0 0\r\nvn 0 0 1\r\ns off\r\nf 1/1/1 2/1/1 3/1/1\r\n"
                              "v 0 1 0 0.5 0.25 1\r\nf -4 -2 -1 \r\n"
                              "f 1//1 2 3/1 4");
    ASSERT_OK(splat_mesh_read("other.obj", &mesh, &error));
    const uint32_t faces[12] = {0, 1, 2, 0, 2, 3, 0, 1, 2, 0, 2, 3};
    assert_int_equal(mesh.n_faces, 4);
    assert_memory_equal(mesh.faces, faces, sizeof faces);
    const uint8_t color[4] = {128, 64, 255, 255};
    assert_memory_equal(mesh.colors + 12, color, 4);
    assert_int_equal(mesh.colors[0], 255); /* a line without colours among those with */
    splat_mesh_free(&mesh);
}

static void expect_ply(const char *counts, const char *rows, uint64_t line, const char *part)
{
    char text[1024];
    splat_error error;
    splat_mesh mesh;
    snprintf(text, sizeof text, "ply\nformat ascii 1.0\nelement vertex %s\nproperty float x\nproperty float y\n"
             "property float z\nelement face 1\nproperty list char int vertex_indices\nend_header\n%s", counts, rows);
    write_string("bad.ply", text);
    assert_int_equal(splat_mesh_read("bad.ply", &mesh, &error), SPLAT_ERROR_FORMAT);
    if (!strstr(error.message, part)) fail_msg("\"%s\" is not in: %s", part, error.message);
    assert_int_equal(error.line, line);
    assert_null(mesh.vertices);
}

static void test_bad_ply(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh;
    expect_ply("2", "0 0 0\n1 1 1\n3 0 1 2\n", 12, "names a vertex that does not exist");
    expect_ply("2", "0 0 0\n1 1 1\n3 0 1 -1\n", 12, "names a vertex that does not exist");
    expect_ply("2", "0 0 0\n1 1 1\n3 0 1 0.5\n", 12, "names a vertex that does not exist");
    expect_ply("2", "0 0 0\n1 1 1\n2 0 1\n", 12, "fewer than 3");
    expect_ply("2", "0 0 0\n1 nan 1\n3 0 1 1\n", 11, "not finite");
    expect_ply("2", "0 0 0\n1 1e39 1\n3 0 1 1\n", 11, "not finite");
    expect_ply("2", "0 0 0\n1 1 1\n-3 0 1 1\n", 12, "impossible length");
    expect_ply("2", "0 0 0\n1 1 1\n99 0 1 1\n", 12, "impossible length"); /* more than the file has bytes left */
    expect_ply("999999999999", "0 0 0\n", 0, "claims 999999999999 rows");
    expect_ply("2", "0 0 0\n1 1 1\n", 0, "claims 1 rows");
    write_string("bad.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
                            "property float z\nelement face 1\nproperty int vertex_indices\nend_header\n0 0 0\n0\n");
    assert_int_equal(splat_mesh_read("bad.ply", &mesh, &error), SPLAT_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "no list called vertex_indices"));
    write_string("bad.txt", "hello");
    assert_int_equal(splat_mesh_read("bad.txt", &mesh, &error), SPLAT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, ".ply (PLY), .obj (OBJ) or .glb (GLB)"));
    assert_int_equal(splat_mesh_read("absent.ply", &mesh, &error), SPLAT_ERROR_IO);
    write_string("empty.ply", "");
    assert_int_equal(splat_mesh_read("empty.ply", &mesh, &error), SPLAT_ERROR_FORMAT);
}

static void expect_obj(const char *text, uint64_t line, const char *part)
{
    splat_error error;
    splat_mesh mesh;
    write_string("bad.obj", text);
    assert_int_equal(splat_mesh_read("bad.obj", &mesh, &error), SPLAT_ERROR_FORMAT);
    if (!strstr(error.message, part)) fail_msg("\"%s\" is not in: %s", part, error.message);
    assert_int_equal(error.line, line);
    assert_null(mesh.vertices);
}

static void test_bad_obj(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh;
    expect_obj("v 0 0\n", 1, "three coordinates");
    expect_obj("v 0 0 x\n", 1, "three coordinates");
    expect_obj("v 0 0 0 1 1 1 1 1 1 1\n", 1, "three coordinates");
    expect_obj("v 0 0 inf\n", 1, "not finite");
    expect_obj("v 0 0 0\nf 1 1\n", 2, "fewer than three corners");
    expect_obj("v 0 0 0\nf 1 1 2\n", 2, "names a vertex");
    expect_obj("v 0 0 0\nf 1 1 0\n", 2, "names a vertex");
    expect_obj("v 0 0 0\nf 1 1 -2\n", 2, "names a vertex");
    expect_obj("v 0 0 0\nf 1 1 99999999999999999999999\n", 2, "names a vertex");
    expect_obj("v 0 0 0\nf 1 1 -9223372036854775808\n", 2, "names a vertex");
    expect_obj("v 0 0 0\nf 1 1 1x\n", 2, "names a vertex");
    expect_obj("# nothing\n", 1, "no vertex");
    expect_obj("", 0, "no vertex");
    write_bytes("bad.obj", "v 0 0 0\nf 1\0 1 1\n", 17);
    assert_int_equal(splat_mesh_read("bad.obj", &mesh, &error), SPLAT_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "NUL"));
}

/* Every prefix, and every byte turned, of small files: an error or a valid mesh, never anything else. */
static void test_damaged(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = make_colored(), back;
    const char *const paths[2] = {"damaged.ply", "damaged.obj"};
    for (int k = 0; k < 2; k++) {
        uint8_t *data;
        size_t size;
        ASSERT_OK(splat_mesh_write(paths[k], &mesh, &error));
        ASSERT_OK(splat_file_read(paths[k], &data, &size, &error));
        char path[32];
        snprintf(path, sizeof path, "cut%s", paths[k] + 7);
        for (size_t n = 0; n < size; n += n < 700 ? 1 : 13) {
            write_bytes(path, data, n);
            splat_status status = splat_mesh_read(path, &back, &error);
            if (k == 0) assert_int_not_equal(status, SPLAT_OK);
            splat_mesh_free(&back);
        }
        for (size_t n = 0; n < size; n += n < 700 ? 1 : 13) {
            data[n] ^= 0x91;
            write_bytes(path, data, size);
            data[n] ^= 0x91;
            if (splat_mesh_read(path, &back, &error) == SPLAT_OK) ASSERT_OK(splat_mesh_check(&back, &error));
            splat_mesh_free(&back);
        }
        free(data);
    }
    splat_mesh_free(&mesh);
}

/* ---------------------------------------------------------------- GLB */

static uint32_t word_at(const uint8_t *data, size_t offset)
{
    uint32_t word;
    memcpy(&word, data + offset, 4);
    return word;
}

static json_int_t number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

/* The bytes that an accessor names, and how many rows it has. */
static const uint8_t *accessor_bytes(const json_t *root, const json_t *which, const uint8_t *binary, json_int_t type,
                                     const char *shape, size_t *n)
{
    const json_t *accessor = json_array_get(json_object_get(root, "accessors"), (size_t)json_integer_value(which));
    const json_t *view = json_array_get(json_object_get(root, "bufferViews"), (size_t)number(accessor, "bufferView"));
    assert_int_equal(number(accessor, "componentType"), type);
    assert_string_equal(json_string_value(json_object_get(accessor, "type")), shape);
    assert_int_equal(number(view, "byteOffset") % 4, 0);
    *n = (size_t)number(accessor, "count");
    return binary + number(view, "byteOffset");
}

static void test_glb(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = make_colored();
    uint8_t *data;
    size_t size, n;
    json_error_t problem;
    ASSERT_OK(splat_mesh_write("mesh.glb", &mesh, &error));
    ASSERT_OK(splat_file_read("mesh.glb", &data, &size, &error));
    assert_memory_equal(data, "glTF", 4);
    assert_int_equal(word_at(data, 4), 2);
    assert_int_equal(word_at(data, 8), size);
    size_t length = word_at(data, 12);
    assert_int_equal(length % 4, 0);
    assert_memory_equal(data + 16, "JSON", 4);
    json_t *root = json_loadb((const char *)data + 20, length, 0, &problem);
    assert_non_null(root);
    const uint8_t *binary = data + 20 + length + 8;
    assert_int_equal(word_at(data, 20 + length), size - 28 - length);
    assert_memory_equal(data + 24 + length, "BIN", 4);
    assert_int_equal(number(json_array_get(json_object_get(root, "buffers"), 0), "byteLength"), size - 28 - length);
    assert_string_equal(json_string_value(json_object_get(json_object_get(root, "asset"), "version")), "2.0");

    const json_t *primitive = json_array_get(json_object_get(
        json_array_get(json_object_get(root, "meshes"), 0), "primitives"), 0);
    const json_t *attributes = json_object_get(primitive, "attributes");
    assert_int_equal(number(primitive, "mode"), 4);
    assert_memory_equal(accessor_bytes(root, json_object_get(attributes, "POSITION"), binary, 5126, "VEC3", &n),
                        mesh.vertices, 12 * mesh.n_vertices);
    assert_int_equal(n, mesh.n_vertices);
    assert_memory_equal(accessor_bytes(root, json_object_get(attributes, "NORMAL"), binary, 5126, "VEC3", &n),
                        mesh.normals, 12 * mesh.n_vertices);
    assert_memory_equal(accessor_bytes(root, json_object_get(primitive, "indices"), binary, 5125, "SCALAR", &n),
                        mesh.faces, 12 * mesh.n_faces);
    assert_int_equal(n, 3 * mesh.n_faces);
    const uint8_t *colors = accessor_bytes(root, json_object_get(attributes, "COLOR_0"), binary, 5123, "VEC4", &n);
    for (size_t i = 0; i < 4 * mesh.n_vertices; i++) {
        uint16_t linear;
        memcpy(&linear, colors + 2 * i, 2);
        double x = linear / 65535.0, back = x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055;
        assert_float_equal((i % 4 == 3 ? x : back), mesh.colors[i] / 255.0, 1e-3); /* 16 bits lose less than 8 */
    }
    const json_t *position = json_array_get(json_object_get(root, "accessors"), 0);
    float low[3], high[3];
    splat_mesh_bounds(&mesh, low, high);
    for (size_t c = 0; c < 3; c++) { /* validators compare them as floats */
        assert_true((float)json_number_value(json_array_get(json_object_get(position, "min"), c)) == low[c]);
        assert_true((float)json_number_value(json_array_get(json_object_get(position, "max"), c)) == high[c]);
    }
    assert_true(json_is_true(json_object_get(json_array_get(json_object_get(root, "materials"), 0), "doubleSided")));
    json_decref(root);
    free(data);
    mesh.n_faces = 0;
    ASSERT_OK(splat_mesh_write("points.glb", &mesh, &error));
    mesh.n_vertices = 0;
    assert_int_equal(splat_mesh_write("empty.glb", &mesh, &error), SPLAT_ERROR_ARGUMENT);
    assert_false(splat_path_exists("empty.glb"));
    splat_mesh_free(&mesh);
}

/* A format needs its own ending, words, and a row of docs/files.md, and reads its own files. */
static void test_table(void **state)
{
    (void)state;
    splat_error error;
    uint8_t *text;
    size_t size, n = 0;
    const char *source = getenv("SPLATSMITH_SOURCE");
    char *docs = splat_format("%s/docs/files.md", source ? source : ".");
    ASSERT_OK(splat_file_read(docs, &text, &size, &error));
    free(docs);
    for (const splat_mesh_file_format *row; (row = splat_mesh_format_at(n)); n++) {
        splat_file_format format;
        splat_mesh mesh = make_torus(5, 4, 1, 0.25), back;
        assert_true(splat_mesh_get_format(n, &format));
        assert_true(row->ending[0] == '.' && row->name[0] && row->description[0] && (row->read || row->write));
        for (size_t k = 0; k < n; k++) assert_string_not_equal(splat_mesh_format_at(k)->ending, row->ending);
        char *line = splat_format("| %s | `%s` | %s | %s | %s |", row->name, row->ending, format.reads ? "yes" : "no",
                                  format.writes ? "yes" : "no", row->description);
        if (!strstr((const char *)text, line)) fail_msg("docs/files.md lacks the row \"%s\"", line);
        free(line);
        char *path = splat_format("table%s", row->ending);
        ASSERT_OK(splat_mesh_check_path(path, &error));
        ASSERT_OK(splat_mesh_write(path, &mesh, &error));
        ASSERT_OK(splat_mesh_read(path, &back, &error));
        assert_same(&mesh, &back);
        splat_mesh_free(&back);
        splat_mesh_free(&mesh);
        free(path);
    }
    free(text);
    assert_true(n >= 3);
    assert_false(splat_mesh_get_format(n, &(splat_file_format){0}));
}

/* A decimal comma in the program's locale must not reach the file. */
static void test_locale(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = {0}, back;
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) print_message("SKIPPED: no locale de_DE.UTF-8 on this machine\n");
    put_vertex(&mesh, 0.5, 1.25, -2.75);
    ASSERT_OK(splat_mesh_write("locale.obj", &mesh, &error));
    ASSERT_OK(splat_mesh_read("locale.obj", &back, &error));
    assert_same(&mesh, &back);
    setlocale(LC_ALL, "C");
    splat_mesh_free(&mesh);
    splat_mesh_free(&back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_other_plys), cmocka_unit_test(test_other_objs),
        cmocka_unit_test(test_bad_ply),    cmocka_unit_test(test_bad_obj),    cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_glb),        cmocka_unit_test(test_table),      cmocka_unit_test(test_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
