/* GLB files read: what the program writes, what other programs write, and what is damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "mesh/files/mesh_io.h"
#include "mesh_fixture.h"
#include "text_fixture.h"

#include <unistd.h>

/* ---------------------------------------------------------------- making files */

static void put_word(file_bytes *b, uint32_t word)
{
    file_bytes_put(b, &word, 4);
}

/* A GLB of a description and a binary part, NULL: none. */
static file_bytes make_glb(const char *json, const void *binary, size_t binary_size)
{
    file_bytes b = {.n = 0};
    size_t length = strlen(json), padded = (length + 3) / 4 * 4, padded_binary = (binary_size + 3) / 4 * 4;
    file_bytes_put(&b, "glTF", 4);
    put_word(&b, 2);
    put_word(&b, (uint32_t)(20 + padded + (binary ? 8 + padded_binary : 0)));
    put_word(&b, (uint32_t)padded);
    file_bytes_put(&b, "JSON", 4);
    file_bytes_put(&b, json, length);
    file_bytes_put(&b, "   ", padded - length);
    if (!binary) return b;
    put_word(&b, (uint32_t)padded_binary);
    file_bytes_put(&b, "BIN", 4);
    file_bytes_put(&b, binary, binary_size);
    file_bytes_put(&b, "\0\0\0", padded_binary - binary_size);
    return b;
}

/* Not splat_file_write, whose flushes take minutes when there are thousands. */
static void write_bytes(const char *path, const void *data, size_t size)
{
    unlink(path); /* file systems flush a file that is truncated and written again */
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static splat_status read_glb(const char *json, const void *binary, size_t size, splat_mesh *mesh, splat_error *error)
{
    file_bytes b = make_glb(json, binary, size);
    write_bytes("made.glb", b.data, b.n);
    return splat_mesh_read("made.glb", mesh, error);
}

static void assert_vertex(const splat_mesh *mesh, size_t i, double x, double y, double z)
{
    const float *v = mesh->vertices + 3 * i;
    if (fabs((double)v[0] - x) > 1e-6 || fabs((double)v[1] - y) > 1e-6 || fabs((double)v[2] - z) > 1e-6)
        fail_msg("vertex %zu is %g %g %g instead of %g %g %g", i, (double)v[0], (double)v[1], (double)v[2], x, y, z);
}

static void assert_face(const splat_mesh *mesh, size_t i, uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t *f = mesh->faces + 3 * i;
    if (f[0] != a || f[1] != b || f[2] != c) fail_msg("face %zu is %u %u %u", i, f[0], f[1], f[2]);
}

/* ---------------------------------------------------------------- own files */

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    splat_error error;
    for (int kind = 0; kind < 3; kind++) { /* colours and normals; faces alone; points */
        splat_mesh mesh = make_torus(7, 5, 1.0 / 3, 0.1), back;
        if (kind == 0) {
            ASSERT_OK(splat_mesh_require_colors(&mesh, &error));
            for (size_t i = 0; i < 4 * mesh.n_vertices; i++) mesh.colors[i] = (uint8_t)(37 * i); /* every byte */
            ASSERT_OK(splat_mesh_compute_normals(&mesh, 1, &error));
        }
        if (kind == 2) mesh.n_faces = 0;
        ASSERT_OK(splat_mesh_write("own.glb", &mesh, &error));
        ASSERT_OK(splat_mesh_read("own.glb", &back, &error));
        assert_int_equal(back.n_vertices, mesh.n_vertices);
        assert_int_equal(back.n_faces, mesh.n_faces);
        assert_memory_equal(back.vertices, mesh.vertices, 12 * mesh.n_vertices);
        if (mesh.n_faces) assert_memory_equal(back.faces, mesh.faces, 12 * mesh.n_faces);
        assert_true(!back.colors == !mesh.colors && !back.normals == !mesh.normals);
        if (mesh.colors) assert_memory_equal(back.colors, mesh.colors, 4 * mesh.n_vertices);
        if (mesh.normals) assert_memory_equal(back.normals, mesh.normals, 12 * mesh.n_vertices);
        splat_mesh_free(&back);
        splat_mesh_free(&mesh);
    }
}

/* ---------------------------------------------------------------- files of other programs */

/* One triangle: positions, normals along z but for the last, then its indices as uint16. */
static const struct triangle {
    float positions[9], normals[9];
    uint16_t indices[3], padding;
} triangle = {{1, 0, 0, 0, 2, 0, 0, 0, 0}, {0, 0, 1, 0, 0, 1, 0.36f, 0.48f, 0.8f}, {0, 1, 2}, 0};

#define ASSET "\"asset\":{\"version\":\"2.0\"},"
#define TRIANGLE_ARRAYS                                                                                                \
    "\"buffers\":[{\"byteLength\":80}],\"bufferViews\":[{\"buffer\":0,\"byteLength\":36},"                             \
    "{\"buffer\":0,\"byteOffset\":36,\"byteLength\":36},{\"buffer\":0,\"byteOffset\":72,\"byteLength\":6}],"           \
    "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\"},"                          \
    "{\"bufferView\":1,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\"},"                                         \
    "{\"bufferView\":2,\"componentType\":5123,\"count\":3,\"type\":\"SCALAR\"}],"                                      \
    "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"NORMAL\":1},\"indices\":2}]}]"

static splat_status read_triangle(const char *nodes, splat_mesh *mesh, splat_error *error)
{
    char *json = splat_format("{" ASSET TRIANGLE_ARRAYS "%s}", nodes);
    splat_status status = read_glb(json, &triangle, sizeof triangle, mesh, error);
    free(json);
    return status;
}

/* A matrix that exchanges axes mirrors if the exchange is odd: faces then are turned around, and only then. */
static void odd_exchanges_of_axes_turn_faces(void **state)
{
    (void)state;
    static const struct { int axes[3]; bool is_mirror; } cases[] = {
        {{0, 1, 2}, false}, {{1, 2, 0}, false}, {{2, 0, 1}, false},
        {{1, 0, 2}, true}, {{2, 1, 0}, true}, {{0, 2, 1}, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int m[9] = {0};
        splat_error error;
        splat_mesh mesh;
        for (int k = 0; k < 3; k++) m[3 * k + cases[i].axes[k]] = 1; /* column k */
        char *node = splat_format(",\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"mesh\":0,\"matrix\":"
                                  "[%d,%d,%d,0, %d,%d,%d,0, %d,%d,%d,0, 0,0,0,1]}]",
                                  m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8]);
        ASSERT_OK(read_triangle(node, &mesh, &error));
        if (cases[i].is_mirror) assert_face(&mesh, 0, 0, 2, 1);
        else assert_face(&mesh, 0, 0, 1, 2);
        splat_mesh_free(&mesh);
        free(node);
    }
}

static void nodes_place_meshes(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh;
    /* node 0: a quarter turn around x, then 10 along x; its child 1: scaled, a quarter turn around z, then 1 along y.
     * Node 2 is not of the scene. Node 3: a matrix that mirrors x, doubles z and shears. */
    ASSERT_OK(read_triangle(",\"scene\":1,\"scenes\":[{\"nodes\":[2]},{\"nodes\":[0,3]}],\"nodes\":["
                            "{\"children\":[1],\"translation\":[10,0,0],"
                            "\"rotation\":[0.70710678118,0,0,0.70710678118]},"
                            "{\"mesh\":0,\"rotation\":[0,0,0.70710678118,0.70710678118],\"scale\":[2,3,1],"
                            "\"translation\":[0,1,0]},{\"mesh\":0},"
                            "{\"mesh\":0,\"matrix\":[-1,0,0,0, 0,1,0,0, 0,1,2,0, 0,0,5,1]}]",
                            &mesh, &error));
    assert_int_equal(mesh.n_vertices, 6);
    assert_int_equal(mesh.n_faces, 2);
    assert_vertex(&mesh, 0, 10, 0, 3); /* (1 0 0), (2 0 0), (0 2 0), (0 3 0), (0 0 3) */
    assert_vertex(&mesh, 1, 4, 0, 1);
    assert_vertex(&mesh, 2, 10, 0, 1);
    assert_vertex(&mesh, 3, -1, 0, 5);
    assert_vertex(&mesh, 4, 0, 2, 5);
    assert_face(&mesh, 0, 0, 1, 2);
    assert_face(&mesh, 1, 3, 5, 4); /* turned around, as the mirror turned its front away */
    /* The mirrored plane is still that of x and y, and faces agree with their normals. Of the last vertices the normal
     * is slanted: divided by the scales and turned; and the solution of M^T x = n. */
    static const double normals[2][3] = {{0, -1, 0}, {0, 0, 1}};
    static const double slanted[2][3] = {{-0.19151, -0.95755, 0.21545}, {-0.57974, 0.77299, 0.25766}};
    for (size_t f = 0; f < 2; f++) {
        double cross[3], along = 0;
        splat_mesh_face_cross(&mesh, f, cross);
        for (size_t c = 0; c < 3; c++) {
            assert_true(fabs((double)mesh.normals[9 * f + c] - normals[f][c]) < 1e-6);
            assert_true(fabs((double)mesh.normals[9 * f + 6 + c] - slanted[f][c]) < 1e-5);
            along += normals[f][c] * cross[c];
        }
        assert_true(along > 0);
    }
    splat_mesh_free(&mesh);
}

static void scenes_choose_what_is_read(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh;
    ASSERT_OK(read_triangle("", &mesh, &error)); /* a library of meshes: all of them */
    assert_int_equal(mesh.n_vertices, 3);
    splat_mesh_free(&mesh);
    ASSERT_OK(read_triangle(",\"scenes\":[{\"nodes\":[0,1]}],\"nodes\":[{\"mesh\":0},{\"mesh\":0}]", &mesh, &error));
    assert_int_equal(mesh.n_vertices, 6); /* the first scene; a mesh may be shown twice */
    splat_mesh_free(&mesh);
    assert_int_equal(read_triangle(",\"scenes\":[{}]", &mesh, &error), SPLAT_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "no mesh"));
}

/* Two primitives of a mesh that share their arrays, and one without indices: each kind of index and of colour. */
static void numbers_of_every_kind_are_read(void **state)
{
    (void)state;
    struct {
        struct { float position[3]; uint8_t color[4]; } rows[4]; /* interleaved, 16 bytes a row */
        uint8_t bytes[4];
        uint32_t words[3];
        int16_t quantized[3][4];
        float colors[3][4];
    } binary = {{{{0, 0, 0}, {255, 0, 0, 255}}, {{1, 0, 0}, {0, 255, 0, 255}}, {{0, 1, 0}, {0, 0, 255, 255}},
                 {{0, 0, 1}, {128, 128, 128, 0}}},
                {0, 1, 2, 99}, {3, 2, 1},
                {{-32767, 0, 16384, 0}, {32767, 0, 0, 0}, {0, 32767, 0, 0}},
                {{0.5f, 0, 1, 0.5f}, {2, -1, NAN, 1}, {0, 0, 0, 0}}};
    static const char json[] =
        "{" ASSET "\"extensionsRequired\":[\"KHR_mesh_quantization\"],\"extensionsUsed\":[\"KHR_mesh_quantization\"],"
        "\"buffers\":[{\"byteLength\":152}],\"bufferViews\":["
        "{\"buffer\":0,\"byteLength\":64,\"byteStride\":16},{\"buffer\":0,\"byteOffset\":64,\"byteLength\":16},"
        "{\"buffer\":0,\"byteOffset\":80,\"byteLength\":24,\"byteStride\":8},"
        "{\"buffer\":0,\"byteOffset\":104,\"byteLength\":48}],"
        "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":4,\"type\":\"VEC3\"},"
        "{\"bufferView\":0,\"byteOffset\":12,\"componentType\":5121,\"normalized\":true,\"count\":4,"
        "\"type\":\"VEC3\"},"
        "{\"bufferView\":1,\"componentType\":5121,\"count\":3,\"type\":\"SCALAR\"},"
        "{\"bufferView\":1,\"byteOffset\":4,\"componentType\":5125,\"count\":3,\"type\":\"SCALAR\"},"
        "{\"bufferView\":2,\"componentType\":5122,\"normalized\":true,\"count\":3,\"type\":\"VEC3\"},"
        "{\"bufferView\":3,\"componentType\":5126,\"count\":3,\"type\":\"VEC4\"}],"
        "\"meshes\":[{\"primitives\":["
        "{\"attributes\":{\"POSITION\":0,\"COLOR_0\":1},\"indices\":2},"
        "{\"attributes\":{\"POSITION\":0,\"COLOR_0\":1},\"indices\":3,\"mode\":4},"
        "{\"attributes\":{\"POSITION\":4,\"COLOR_0\":5}},{\"attributes\":{\"NORMAL\":0}}]}]}";
    splat_error error;
    splat_mesh mesh;
    ASSERT_OK(read_glb(json, &binary, sizeof binary, &mesh, &error));
    assert_int_equal(mesh.n_vertices, 7);
    assert_int_equal(mesh.n_faces, 3);
    assert_vertex(&mesh, 3, 0, 0, 1);
    assert_vertex(&mesh, 4, -1, 0, 16384 / 32767.0);
    assert_vertex(&mesh, 6, 0, 1, 0);
    assert_face(&mesh, 0, 0, 1, 2);
    assert_face(&mesh, 1, 3, 2, 1);
    assert_face(&mesh, 2, 4, 5, 6);
    static const uint8_t colors[7][4] = {{255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}, {188, 188, 188, 255},
                                         {188, 0, 255, 128}, {255, 0, 0, 255}, {0, 0, 0, 0}};
    assert_memory_equal(mesh.colors, colors, sizeof colors); /* linear 1/2 is sRGB 188 */
    assert_null(mesh.normals);
    splat_mesh_free(&mesh);
}

/* ---------------------------------------------------------------- refused */

static const char plain[] = "{" ASSET TRIANGLE_ARRAYS ",\"scene\":0,\"scenes\":[{\"nodes\":[0]}],"
                            "\"nodes\":[{\"mesh\":0,\"children\":[1]},{\"scale\":[1,1,1]}]}";

static void what_cannot_be_read_is_said_in_a_sentence(void **state)
{
    (void)state;
    static const struct { const char *what, *by; splat_status status; const char *says; } cases[] = {
        {"\"version\":\"2.0\"", "\"version\":\"1.0\"", SPLAT_ERROR_UNSUPPORTED, "version 1.0"},
        {"\"version\":\"2.0\"", "\"version\":2", SPLAT_ERROR_FORMAT, "which version"},
        {"\"buffers\"", "\"extensionsRequired\":[\"KHR_draco_mesh_compression\"],\"buffers\"", SPLAT_ERROR_UNSUPPORTED,
         "KHR_draco_mesh_compression"},
        {"\"buffers\"", "\"extensionsRequired\":[7],\"buffers\"", SPLAT_ERROR_UNSUPPORTED, "not a name"},
        {"\"byteLength\":80", "\"byteLength\":80,\"uri\":\"x.bin\"", SPLAT_ERROR_UNSUPPORTED, "outside of the binary"},
        {"\"byteLength\":80", "\"byteLength\":81", SPLAT_ERROR_FORMAT, "shorter than it says"},
        {"\"byteLength\":80", "\"byteLength\":4e9", SPLAT_ERROR_FORMAT, "shorter than it says"},
        {"\"byteLength\":80", "\"byteLength\":-1", SPLAT_ERROR_FORMAT, "byteLength"},
        {"\"byteLength\":80", "\"byteLength\":1e400", SPLAT_ERROR_FORMAT, "JSON"},
        {"\"byteLength\":80", "\"byteLength\":\"80\"", SPLAT_ERROR_FORMAT, "byteLength"},
        {"{\"buffer\":0,\"byteLength\":36}", "{\"buffer\":1,\"byteLength\":36}", SPLAT_ERROR_FORMAT, "its buffers"},
        {"\"byteOffset\":36,\"byteLength\":36", "\"byteOffset\":45,\"byteLength\":36", SPLAT_ERROR_FORMAT,
         "beyond the binary part"},
        {"\"byteOffset\":36,\"byteLength\":36", "\"byteOffset\":4294967295,\"byteLength\":36", SPLAT_ERROR_FORMAT,
         "beyond the binary part"},
        {"\"byteOffset\":36,\"byteLength\":36", "\"byteOffset\":36,\"byteLength\":35", SPLAT_ERROR_FORMAT,
         "beyond its buffer view"},
        {"\"byteOffset\":36,\"byteLength\":36", "\"byteOffset\":36,\"byteLength\":36,\"byteStride\":11",
         SPLAT_ERROR_FORMAT, "overlap"},
        {"\"count\":3", "\"count\":4", SPLAT_ERROR_FORMAT, "beyond its buffer view"},
        {"\"count\":3", "\"count\":4294967295", SPLAT_ERROR_FORMAT, "beyond its buffer view"},
        {"\"count\":3", "\"count\":1.5", SPLAT_ERROR_FORMAT, "whole number"},
        {"\"bufferView\":0", "\"bufferView\":9", SPLAT_ERROR_FORMAT, "number 9 of its bufferViews"},
        {"\"bufferView\":0,", "", SPLAT_ERROR_UNSUPPORTED, "sparse"},
        {"\"bufferView\":0", "\"sparse\":{},\"bufferView\":0", SPLAT_ERROR_UNSUPPORTED, "sparse"},
        {"\"componentType\":5126", "\"componentType\":5124", SPLAT_ERROR_FORMAT, "unknown type"},
        {"\"VEC3\"", "\"MAT4\"", SPLAT_ERROR_FORMAT, "unknown type"},
        {"\"VEC3\"", "\"VEC2\"", SPLAT_ERROR_FORMAT, "number of components"},
        {"\"componentType\":5123", "\"componentType\":5122", SPLAT_ERROR_FORMAT, "indices"},
        {"\"componentType\":5123,\"count\":3", "\"componentType\":5123,\"count\":2", SPLAT_ERROR_FORMAT,
         "multiple of 3"},
        {"\"NORMAL\":1", "\"NORMAL\":2", SPLAT_ERROR_FORMAT, "components"},
        {"\"indices\":2", "\"indices\":2,\"mode\":5", SPLAT_ERROR_UNSUPPORTED, "triangle strips"},
        {"\"indices\":2", "\"indices\":2,\"mode\":1", SPLAT_ERROR_UNSUPPORTED, "lines"},
        {"\"indices\":2", "\"indices\":2,\"mode\":7", SPLAT_ERROR_FORMAT, "unknown kind"},
        {"\"indices\":2", "\"indices\":3", SPLAT_ERROR_FORMAT, "number 3 of its accessors"},
        {"\"primitives\":[", "\"primitives\":[], \"other\":[", SPLAT_ERROR_FORMAT, "no mesh"},
        {"\"mesh\":0,", "\"mesh\":1,", SPLAT_ERROR_FORMAT, "number 1 of its meshes"},
        {"\"children\":[1]", "\"children\":[0]", SPLAT_ERROR_FORMAT, "reached twice"},
        {"\"children\":[1]", "\"children\":[1,1]", SPLAT_ERROR_FORMAT, "reached twice"},
        {"\"children\":[1]", "\"children\":[2]", SPLAT_ERROR_FORMAT, "number 2 of its nodes"},
        {"\"children\":[1]", "\"children\":[-1]", SPLAT_ERROR_FORMAT, "no number"},
        {"\"children\":[1]", "\"children\":1", SPLAT_ERROR_FORMAT, "children"},
        {"\"scene\":0", "\"scene\":2", SPLAT_ERROR_FORMAT, "number 2 of its scenes"},
        {"\"scale\":[1,1,1]", "\"scale\":[1,1]", SPLAT_ERROR_FORMAT, "wrong numbers"},
        {"\"scale\":[1,1,1]", "\"rotation\":[0,0,0,0]", SPLAT_ERROR_FORMAT, "rotation is zero"},
        {"\"mesh\":0,", "\"mesh\":0,\"translation\":[1e39,0,0],", SPLAT_ERROR_FORMAT, "not finite"},
        {"\"scene\":0", "\"scene\":0,\"scene\":0", SPLAT_ERROR_FORMAT, "JSON"},
        {"\"scenes\"", "scenes", SPLAT_ERROR_FORMAT, "JSON"},
    };
    splat_error error;
    splat_mesh mesh;
    ASSERT_OK(read_glb(plain, &triangle, sizeof triangle, &mesh, &error));
    splat_mesh_free(&mesh);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *json = text_replaced(plain, cases[i].what, cases[i].by);
        splat_status status = read_glb(json, &triangle, sizeof triangle, &mesh, &error);
        if (status != cases[i].status || !strstr(error.message, cases[i].says))
            fail_msg("%s by %s: status %d, \"%s\"", cases[i].what, cases[i].by, (int)status, error.message);
        assert_string_equal(error.file, "made.glb");
        assert_null(mesh.vertices);
        free(json);
    }
    struct triangle other = triangle;
    other.indices[1] = 3;
    assert_int_equal(read_glb(plain, &other, sizeof other, &mesh, &error), SPLAT_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "does not exist"));
    other = triangle;
    other.positions[4] = INFINITY;
    assert_int_equal(read_glb(plain, &other, sizeof other, &mesh, &error), SPLAT_ERROR_FORMAT);
    assert_int_equal(read_glb(plain, NULL, 0, &mesh, &error), SPLAT_ERROR_FORMAT);
    assert_int_equal(read_glb("[]", NULL, 0, &mesh, &error), SPLAT_ERROR_FORMAT);
}

/* 2,000 nodes that show one mesh of 10,000 corners: 20 million corners from 80 kB. */
static void a_small_file_does_not_ask_for_any_memory(void **state)
{
    (void)state;
    enum { NODES = 2000, CORNERS = 9999, MAX = 200000 };
    uint8_t *file = calloc(1, MAX);
    char *json = malloc(MAX);
    int length = sprintf(json, "{" ASSET
                         "\"buffers\":[{\"byteLength\":%d}],\"bufferViews\":[{\"buffer\":0,\"byteLength\":36},"
                         "{\"buffer\":0,\"byteOffset\":36,\"byteLength\":%d}],\"accessors\":["
                         "{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\"},"
                         "{\"bufferView\":1,\"componentType\":5121,\"count\":%d,\"type\":\"SCALAR\"}],"
                         "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"indices\":1}]}],"
                         "\"scenes\":[{\"nodes\":[0",
                         36 + CORNERS, CORNERS, CORNERS);
    for (int i = 1; i < NODES; i++) length += sprintf(json + length, ",%d", i);
    length += sprintf(json + length, "]}],\"nodes\":[{\"mesh\":0}");
    for (int i = 1; i < NODES; i++) length += sprintf(json + length, ",{\"mesh\":0}");
    length += sprintf(json + length, "]}");
    while (length % 4) json[length++] = ' ';
    size_t binary = (36 + CORNERS + 3) / 4 * 4, at = 0;
    const uint32_t words[] = {0x46546C67, 2, (uint32_t)(28 + (size_t)length + binary), (uint32_t)length, 0x4E4F534A};
    const uint32_t second[] = {(uint32_t)binary, 0x004E4942};
    memcpy(file, words, sizeof words);
    memcpy(file + (at = sizeof words), json, (size_t)length);
    memcpy(file + (at += (size_t)length), second, sizeof second);
    memcpy(file + (at += sizeof second), triangle.positions, 36);
    write_bytes("bomb.glb", file, at + binary);
    splat_error error;
    splat_mesh mesh;
    assert_int_equal(splat_mesh_read("bomb.glb", &mesh, &error), SPLAT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "repeat"));
    free(json);
    free(file);
}

static void every_cut_and_every_changed_byte_is_survived(void **state)
{
    (void)state;
    static const uint8_t flips[] = {0x01, 0x10, 0x80, 0xff};
    splat_error error;
    splat_mesh mesh;
    file_bytes whole = make_glb(plain, &triangle, sizeof triangle);
    for (size_t length = 0; length < whole.n; length++) {
        write_bytes("cut.glb", whole.data, length);
        assert_int_not_equal(splat_mesh_read("cut.glb", &mesh, &error), SPLAT_OK);
        assert_null(mesh.vertices);
    }
    for (size_t i = 0; i < whole.n; i++) {
        for (int k = 0; k < 2; k++) {
            file_bytes b = whole;
            b.data[i] = k ? (uint8_t)"0 9\n-"[i % 5] : (uint8_t)(b.data[i] ^ flips[i % 4]);
            write_bytes("changed.glb", b.data, b.n);
            if (splat_mesh_read("changed.glb", &mesh, &error) != SPLAT_OK) continue;
            ASSERT_OK(splat_mesh_check(&mesh, &error));
            splat_mesh_free(&mesh);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(odd_exchanges_of_axes_turn_faces),
        cmocka_unit_test(nodes_place_meshes),
        cmocka_unit_test(scenes_choose_what_is_read),
        cmocka_unit_test(numbers_of_every_kind_are_read),
        cmocka_unit_test(what_cannot_be_read_is_said_in_a_sentence),
        cmocka_unit_test(a_small_file_does_not_ask_for_any_memory),
        cmocka_unit_test(every_cut_and_every_changed_byte_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
