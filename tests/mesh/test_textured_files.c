/* Files of textured meshes: what is written is read back, what other programs write is understood, and what is missing
 * or damaged is left out with a sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/rng.h"
#include "io/glb/glb_file.h"
#include "io/picture/image_write.h"
#include "mesh/files/mesh_io.h"
#include "mesh_fixture.h"
#include "texture/atlas.h"

#include <errno.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

/* A sphere on n pages, noise painted on them. */
static splat_mesh make_textured(size_t n_pages)
{
    splat_error error;
    splat_atlas atlas;
    splat_atlas_options options;
    splat_mesh mesh = make_sphere(9, 1.25);
    splat_atlas_options_init(&options);
    options.texel_density = 30;
    options.max_texture = n_pages == 1 ? 8192 : 64;
    ASSERT_OK(splat_mesh_compute_normals(&mesh, 1, &error));
    ASSERT_OK(splat_atlas_charts(&mesh, &options, NULL, &atlas, &error));
    assert_true(n_pages == 1 ? atlas.n_pages == 1 : atlas.n_pages > 3);
    for (size_t i = 0; i < atlas.n_pages; i++) {
        size_t size = (size_t)atlas.pages[i].width * (size_t)atlas.pages[i].height * 3;
        splat_image page = {atlas.pages[i].width, atlas.pages[i].height, 3, malloc(size)};
        for (size_t k = 0; k < size; k++) /* smooth, so that JPEG keeps it */
            page.pixels[k] = (uint8_t)(60 * i + 20 * (k % 3) + k / 3 % (size_t)page.width / 2);
        ASSERT_OK(splat_mesh_add_page(&mesh, &page, &error));
    }
    return mesh;
}

static size_t page_of(const splat_mesh *mesh, size_t face)
{
    return mesh->face_pages ? mesh->face_pages[face] : 0;
}

/* The same faces page by page, with the same corners, coordinates and pictures. tolerance: of coordinates, 1 / 255 of
 * colours. */
static void assert_same(const splat_mesh *a, const splat_mesh *b, double tolerance, int color_tolerance)
{
    splat_error error;
    ASSERT_OK(splat_mesh_check(b, &error));
    assert_int_equal(a->n_faces, b->n_faces);
    assert_int_equal(a->n_pages, b->n_pages);
    assert_int_equal(a->n_vertices, b->n_vertices); /* seams make no vertices double */
    assert_non_null(b->uvs);
    size_t at = 0;
    bool in_order = memcmp(a->faces, b->faces, 12 * a->n_faces) == 0;
    for (size_t page = 0; page < (in_order ? 1 : a->n_pages); page++)
        for (size_t f = 0; f < a->n_faces; f++) {
            if (!in_order && page_of(a, f) != page) continue;
            assert_int_equal(page_of(b, at), page_of(a, f));
            for (size_t k = 0; k < 3; k++) {
                const float *p = a->vertices + 3 * (size_t)a->faces[3 * f + k];
                assert_memory_equal(b->vertices + 3 * (size_t)b->faces[3 * at + k], p, 12);
                if (b->normals)
                    assert_memory_equal(b->normals + 3 * (size_t)b->faces[3 * at + k],
                                        a->normals + 3 * (size_t)a->faces[3 * f + k], 12);
                for (size_t c = 0; c < 2; c++)
                    assert_float_equal(b->uvs[6 * at + 2 * k + c], a->uvs[6 * f + 2 * k + c], tolerance);
            }
            at++;
        }
    for (size_t i = 0; i < a->n_pages; i++) {
        const splat_image *p = &a->pages[i], *q = &b->pages[i];
        assert_true(p->width == q->width && p->height == q->height);
        for (size_t k = 0; k < (size_t)p->width * (size_t)p->height * 3; k++)
            assert_true(abs(p->pixels[k] - q->pixels[k]) <= color_tolerance);
    }
}

static void test_round_trip(void **state)
{
    (void)state;
    splat_error error;
    static const char *const names[3] = {"round.ply", "round.obj", "round.glb"};
    for (int i = 0; i < 12; i++) {
        splat_mesh mesh = make_textured(i % 2 ? 4 : 1), back;
        splat_mesh_write_options options;
        splat_mesh_write_options_init(&options);
        options.jpeg_quality = i / 2 % 2 ? 95 : 0;
        options.is_lit = i % 4 == 1;
        ASSERT_OK(splat_mesh_write_as(names[i / 4], &mesh, &options, &error));
        ASSERT_OK(splat_mesh_read(names[i / 4], &back, &error));
        assert_null(back.notice);
        /* v counts upward in PLY and OBJ: 1 - v is rounded once each way */
        assert_same(&mesh, &back, i / 4 == 2 ? 0 : 1.2e-7, i / 2 % 2 ? 12 : 0);
        if (i / 4 == 1) assert_null(back.normals);
        if (i / 4 == 0) assert_memory_equal(mesh.faces, back.faces, 12 * mesh.n_faces); /* PLY keeps the order */
        splat_mesh_free(&back);
        splat_mesh_free(&mesh);
    }
    assert_true(splat_path_exists("round.png") && splat_path_exists("round.jpg") && splat_path_exists("round.mtl"));
    assert_true(splat_path_exists("round_0.png") && splat_path_exists("round_3.jpg"));
    splat_mesh mesh = make_textured(1);
    splat_mesh_write_options options = {.jpeg_quality = 101};
    assert_int_equal(splat_mesh_write_as("round.ply", &mesh, &options, &error), SPLAT_ERROR_ARGUMENT);
    ASSERT_OK(splat_mesh_require_colors(&mesh, &error)); /* programs show one of both: the texture */
    splat_mesh back;
    ASSERT_OK(splat_mesh_write("both.ply", &mesh, &error));
    ASSERT_OK(splat_mesh_read("both.ply", &back, &error));
    assert_null(back.colors);
    splat_mesh_free(&back);
    ASSERT_OK(splat_mesh_write("both.glb", &mesh, &error)); /* glTF multiplies them */
    ASSERT_OK(splat_mesh_read("both.glb", &back, &error));
    assert_non_null(back.colors);
    splat_mesh_free(&back);
    splat_mesh_free(&mesh);
}

/* Nothing takes a name before all is written: a folder in the way of one file leaves the others as they were. */
static void test_all_or_nothing(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = make_textured(1);
    static const char *const blocked[3] = {"whole.mtl", "whole.png", "whole.obj"};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            rmdir(blocked[k]);
            unlink(blocked[k]);
            if (k != i) ASSERT_OK(splat_file_write(blocked[k], "old", 3, &error));
        }
        assert_int_equal(mkdir(blocked[i], 0777), 0);
        assert_int_not_equal(splat_mesh_write("whole.obj", &mesh, &error), SPLAT_OK);
        for (int k = 0; k < 3; k++) {
            uint8_t *data;
            size_t size;
            if (k == i) continue;
            ASSERT_OK(splat_file_read(blocked[k], &data, &size, &error));
            assert_true(size == 3 && memcmp(data, "old", 3) == 0);
            free(data);
        }
    }
    char **names;
    size_t n;
    ASSERT_OK(splat_folder_list(".", &names, &n, &error));
    for (size_t i = 0; i < n; i++) assert_null(strstr(names[i], ".tmp-"));
    splat_names_free(names, n);
    splat_mesh_free(&mesh);
}

/* ---------------------------------------------------------------- GLB, by the rules of glTF 2.0 */

static json_int_t whole(const json_t *object, const char *key)
{
    assert_true(json_is_integer(json_object_get(object, key)));
    return json_integer_value(json_object_get(object, key));
}

static void test_glb_rules(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = make_textured(4);
    splat_mesh_write_options options = {.jpeg_quality = 90};
    for (int lit = 0; lit < 2; lit++) {
        uint8_t *data;
        size_t size;
        uint32_t words[5], binary[2];
        options.is_lit = lit;
        ASSERT_OK(splat_mesh_write_as("rules.glb", &mesh, &options, &error));
        ASSERT_OK(splat_file_read("rules.glb", &data, &size, &error));
        memcpy(words, data, 20);
        assert_true(words[2] == size && words[3] % 4 == 0 && size % 4 == 0);
        memcpy(binary, data + 20 + words[3], 8);
        assert_int_equal(28 + words[3] + binary[0], size);
        json_t *root = json_loadb((const char *)data + 20, words[3], 0, NULL);
        assert_non_null(root);
        const json_t *views = json_object_get(root, "bufferViews"), *accessors = json_object_get(root, "accessors");
        const json_t *images = json_object_get(root, "images"), *textures = json_object_get(root, "textures");
        assert_int_equal(whole(json_array_get(json_object_get(root, "buffers"), 0), "byteLength"), binary[0]);
        json_int_t end = 0;
        for (size_t i = 0; i < json_array_size(views); i++) {
            const json_t *view = json_array_get(views, i);
            assert_int_equal(whole(view, "byteOffset") % 4, 0);
            assert_true(whole(view, "byteOffset") >= end && whole(view, "byteOffset") < end + 4);
            end = whole(view, "byteOffset") + whole(view, "byteLength");
        }
        assert_true(end <= binary[0] && end > binary[0] - 4);
        for (size_t i = 0; i < json_array_size(accessors); i++) {
            const json_t *accessor = json_array_get(accessors, i);
            const json_t *view = json_array_get(views, (size_t)whole(accessor, "bufferView"));
            bool is_index = strcmp(json_string_value(json_object_get(accessor, "type")), "SCALAR") == 0;
            assert_int_equal(whole(view, "target"), is_index ? 34963 : 34962);
            assert_true(whole(view, "byteLength") % whole(accessor, "count") == 0);
        }
        assert_int_equal(json_array_size(images), mesh.n_pages);
        for (size_t i = 0; i < mesh.n_pages; i++) {
            const json_t *image = json_array_get(images, i);
            const json_t *view = json_array_get(views, (size_t)whole(image, "bufferView"));
            const uint8_t *bytes = data + 28 + words[3] + whole(view, "byteOffset");
            assert_string_equal(json_string_value(json_object_get(image, "mimeType")), "image/jpeg");
            assert_memory_equal(bytes, "\xff\xd8\xff", 3);
            assert_null(json_object_get(view, "target"));
            assert_int_equal(whole(json_array_get(textures, i), "source"), i);
            const json_t *material = json_array_get(json_object_get(root, "materials"), i);
            const json_t *reflection = json_object_get(material, "pbrMetallicRoughness");
            assert_int_equal(whole(json_object_get(reflection, "baseColorTexture"), "index"), i);
            assert_int_equal(!json_object_get(material, "extensions"), lit);
        }
        const json_t *sampler = json_array_get(json_object_get(root, "samplers"), 0);
        assert_true(whole(sampler, "minFilter") == 9987 && whole(sampler, "magFilter") == 9729);
        assert_int_equal(!json_object_get(root, "extensionsUsed"), lit);
        json_decref(root);
        free(data);
    }
    splat_mesh_free(&mesh);
}

/* ---------------------------------------------------------------- files of other programs */

static void write_string(const char *path, const char *text)
{
    splat_error error;
    unlink(path);
    ASSERT_OK(splat_file_write(path, text, strlen(text), &error));
}

static void write_picture(const char *path, uint8_t red)
{
    splat_error error;
    const uint8_t pixels[12] = {red, 1, 2, red, 1, 2, red, 1, 2, red, 1, 2};
    unlink(path);
    ASSERT_OK(splat_png_write(path, 2, 2, 3, 8, pixels, &error));
}

static const char square[] = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 0.75\nvt 0 1\n";

static splat_mesh read_obj(const char *faces)
{
    splat_error error;
    splat_mesh mesh;
    char *text = splat_format("mtllib other file.mtl\n%s%s", square, faces);
    write_string("other.obj", text);
    ASSERT_OK(splat_mesh_read("other.obj", &mesh, &error));
    ASSERT_OK(splat_mesh_check(&mesh, &error));
    free(text);
    return mesh;
}

static void test_other_objs(void **state)
{
    (void)state;
    assert_true(mkdir("maps", 0777) == 0 || errno == EEXIST);
    write_picture("maps/red one.png", 200);
    write_picture("blue.png", 10);
    write_string("other file.mtl", "# made elsewhere\nnewmtl first\nKd 1 1 1\n"
                                   "\tmap_Kd -clamp on -o 0.5 0 0 maps\\red one.png  \r\n"
                                   "newmtl second\nmap_Kd /home/somebody/textures/blue.png\nnewmtl plain\nKd 1 0 0\n"
                                   "newmtl first\nmap_Kd blue.png\n");
    splat_mesh mesh = read_obj("usemtl second\nf 1/1 2/2 3/3\nusemtl first\nf -4/-4/7 3/3 4/4\n"
                               "usemtl plain\nf 1/1 2/2 4/4\n"
                               "usemtl second\nf 1/1/1 2/2/1 3/3/1 4/4/1\nf 1 2 3\nf 1//1 2//2 3//3\nf 1/9 2/2 3/3\n");
    assert_null(mesh.notice);
    assert_int_equal(mesh.n_pages, 3);
    assert_int_equal(mesh.pages[0].pixels[0], 10);
    assert_int_equal(mesh.pages[1].pixels[0], 200);
    assert_true(mesh.pages[2].width == 1 && mesh.pages[2].pixels[0] == 255);
    const uint8_t pages[8] = {0, 1, 2, 0, 0, 2, 2, 2};
    assert_int_equal(mesh.n_faces, 8);
    assert_memory_equal(mesh.face_pages, pages, 8);
    const float first[6] = {0, 1, 1, 1, 1, 0.25f}, fan[6] = {0, 1, 1, 0.25f, 0, 0}, none[6] = {0};
    assert_memory_equal(mesh.uvs, first, 24);
    assert_memory_equal(mesh.uvs + 24, fan, 24);
    assert_memory_equal(mesh.uvs + 30, none, 24);
    splat_mesh_free(&mesh);

    write_picture("4 walls.png", 77); /* an option has three numbers at most: the fourth belongs to the name */
    write_string("other file.mtl", "newmtl second\nmap_Kd -s 1 2 3 4 walls.png\n");
    mesh = read_obj("usemtl second\nf 1/1 2/2 3/3\n");
    assert_null(mesh.notice);
    assert_int_equal(mesh.pages[0].pixels[0], 77);
    splat_mesh_free(&mesh);
    write_string("other file.mtl", "newmtl first\nmap_Kd maps/red one.png\nnewmtl second\nmap_Kd blue.png\n");

    unlink("blue.png"); /* one of two pictures: its faces are white */
    mesh = read_obj("usemtl second\nf 1/1 2/2 3/3\nusemtl first\nf 1/1 3/3 4/4\n");
    assert_non_null(mesh.notice);
    assert_non_null(strstr(mesh.notice, "blue.png"));
    assert_non_null(strstr(mesh.notice, "No such file"));
    assert_true(mesh.n_pages == 2 && mesh.face_pages[0] == 1 && mesh.face_pages[1] == 0);
    splat_mesh_free(&mesh);
    unlink("other file.mtl");
    mesh = read_obj("usemtl second\nf 1/1 2/2 3/3\n");
    assert_non_null(strstr(mesh.notice, "other file.mtl"));
    assert_true(mesh.n_pages == 0 && mesh.uvs && mesh.uvs[1] == 1);
    splat_mesh_free(&mesh);
    mesh = read_obj("f 1/1 2/2 3/3\n"); /* no material: nothing is missing */
    assert_true(!mesh.notice && mesh.uvs);
    splat_mesh_free(&mesh);
    write_string("other file.mtl", "newmtl second\nmap_Kd other.obj\n");
    mesh = read_obj("usemtl second\nf 1/1 2/2 3/3\n");
    assert_non_null(strstr(mesh.notice, "other.obj")); /* no picture */
    assert_int_equal(mesh.n_pages, 0);
    splat_mesh_free(&mesh);
}

static void test_other_plys(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh;
    write_picture("a.png", 50);
    write_picture("b.png", 60);
    write_string("other.ply", "ply\nformat ascii 1.0\ncomment VCGLIB generated\ncomment TextureFile a.png\n"
                              "comment TextureFile b.png\nelement vertex 4\nproperty float x\nproperty float y\n"
                              "property float z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\n"
                              "element face 4\nproperty list uchar int vertex_indices\n"
                              "property list uchar float texcoord\nproperty int texnumber\nend_header\n"
                              "0 0 0 1 2 3\n1 0 0 1 2 3\n1 1 0 1 2 3\n0 1 0 1 2 3\n"
                              "3 0 1 2 6 0 0 1 0 1 0.5 1\n4 0 1 2 3 8 0 0 1 0 1 1 nan 1e99 0\n3 0 1 2 0 -1\n"
                              "3 0 1 2 6 0 0 1 0 1 1 7\n");
    ASSERT_OK(splat_mesh_read("other.ply", &mesh, &error));
    ASSERT_OK(splat_mesh_check(&mesh, &error));
    assert_true(!mesh.notice && !mesh.colors && mesh.n_faces == 5 && mesh.n_pages == 3);
    assert_true(mesh.pages[0].pixels[0] == 50 && mesh.pages[1].pixels[0] == 60);
    const uint8_t pages[5] = {1, 0, 0, 2, 2};
    const float first[6] = {0, 1, 1, 1, 1, 0.5f}, last[6] = {0, 1, 1, 0, 0, 0};
    assert_memory_equal(mesh.face_pages, pages, 5);
    assert_memory_equal(mesh.uvs, first, 24);
    assert_memory_equal(mesh.uvs + 12, last, 24);
    splat_mesh_free(&mesh);
    unlink("a.png");
    unlink("b.png");
    ASSERT_OK(splat_mesh_read("other.ply", &mesh, &error));
    assert_non_null(strstr(mesh.notice, "a.png"));
    assert_true(mesh.n_pages == 0 && mesh.uvs && mesh.colors); /* what is there shows */
    splat_mesh_free(&mesh);
}

/* A GLB of one triangle whose image is given. */
static splat_mesh read_glb(const char *image, const char *texture, const uint8_t *picture, size_t size)
{
    splat_error error;
    splat_mesh mesh;
    static const float positions[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    static const uint16_t coords[6] = {0, 65535, 65535, 0, 32768, 0};
    uint8_t binary[4096] = {0};
    char *json = splat_format("{\"asset\":{\"version\":\"2.0\"},\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"mesh\":0}],"
        "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"TEXCOORD_0\":1},\"material\":0}]}],"
        "\"materials\":[{\"pbrMetallicRoughness\":{\"baseColorTexture\":{\"index\":0,\"extensions\":"
        "{\"KHR_texture_transform\":{\"offset\":[0.25,0],\"scale\":[0.5,2]}}}}}],\"textures\":[%s],\"images\":[%s],"
        "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\"},"
        "{\"bufferView\":1,\"componentType\":5123,\"normalized\":true,\"count\":3,\"type\":\"VEC2\"}],"
        "\"bufferViews\":[{\"buffer\":0,\"byteLength\":36},{\"buffer\":0,\"byteOffset\":36,\"byteLength\":12},"
        "{\"buffer\":0,\"byteOffset\":48,\"byteLength\":%zu}],\"buffers\":[{\"byteLength\":%zu}]}",
        texture, image, size, 48 + size);
    size_t length = strlen(json), padded = (length + 3) / 4 * 4, n = (48 + size + 3) / 4 * 4;
    memcpy(binary, positions, 36);
    memcpy(binary + 36, coords, 12);
    memcpy(binary + 48, picture, size);
    const uint32_t head[5] = {0x46546C67, 2, (uint32_t)(28 + padded + n), (uint32_t)padded, 0x4E4F534A};
    const uint32_t chunk[2] = {(uint32_t)n, 0x004E4942};
    FILE *file = fopen("other.glb", "wb");
    assert_non_null(file);
    fwrite(head, 1, 20, file);
    fprintf(file, "%s%.*s", json, (int)(padded - length), "   ");
    fwrite(chunk, 1, 8, file);
    fwrite(binary, 1, n, file);
    assert_int_equal(fclose(file), 0);
    free(json);
    ASSERT_OK(splat_mesh_read("other.glb", &mesh, &error));
    ASSERT_OK(splat_mesh_check(&mesh, &error));
    return mesh;
}

static void test_other_glbs(void **state)
{
    (void)state;
    splat_error error;
    uint8_t *data;
    size_t size;
    write_picture("my picture.png", 70);
    ASSERT_OK(splat_file_read("my picture.png", &data, &size, &error));
    char uri[4096] = "{\"uri\":\"data:image/png;base64,";
    FILE *out = fmemopen(uri + strlen(uri), 3000, "w");
    splat_base64_put(out, data, size);
    fputs("\"}", out);
    fclose(out);
    const char *const images[3] = {"{\"bufferView\":2,\"mimeType\":\"image/png\"}", uri,
                                   "{\"uri\":\"my%20picture.png\"}"};
    const float expected[6] = {0.25f, 2, 0.75f, 0, 0.25f + 0.5f * 32768.0f / 65535.0f, 0};
    for (int i = 0; i < 3; i++) {
        splat_mesh mesh = read_glb(images[i], "{\"source\":0}", data, size);
        assert_true(!mesh.notice && mesh.n_pages == 1 && mesh.pages[0].pixels[0] == 70 && !mesh.face_pages);
        for (int k = 0; k < 6; k++) assert_float_equal(mesh.uvs[k], expected[k], 1e-6);
        splat_mesh_free(&mesh);
    }
    const char *const lost[5] = {"{\"uri\":\"absent.png\"}", "{\"uri\":\"data:image/png;base64,!!!!\"}",
                                 "{\"uri\":\"data:image/png,text\"}", "{}", "{\"bufferView\":0}"};
    const char *const says[5] = {"absent.png", "damaged", "without base64", "no data", "image 0"};
    for (int i = 0; i < 5; i++) {
        splat_mesh mesh = read_glb(lost[i], "{\"source\":0}", data, size);
        assert_non_null(mesh.notice);
        assert_non_null(strstr(mesh.notice, says[i]));
        assert_true(mesh.n_pages == 0 && mesh.uvs);
        splat_mesh_free(&mesh);
    }
    splat_mesh mesh = read_glb("{}", "{\"extensions\":{\"EXT_texture_webp\":{\"source\":0}}}", data, size);
    assert_non_null(strstr(mesh.notice, "WebP"));
    splat_mesh_free(&mesh);
    free(data);
}

/* Every prefix, and every byte changed, of a small GLB, PLY, OBJ and MTL. */
static void test_damaged(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = make_cube(1);
    ASSERT_OK(splat_mesh_require_uvs(&mesh, &error));
    splat_image page = {2, 2, 3, calloc(12, 1)};
    ASSERT_OK(splat_mesh_add_page(&mesh, &page, &error));
    mesh.n_faces = 3;
    static const char *const names[3] = {"damage.glb", "damage.ply", "damage.obj"};
    for (int i = 0; i < 3; i++) ASSERT_OK(splat_mesh_write(names[i], &mesh, &error));
    for (int i = 0; i < 4; i++) {
        uint8_t *data;
        size_t size;
        const char *name = i < 3 ? names[i] : "damage.mtl";
        ASSERT_OK(splat_file_read(name, &data, &size, &error));
        for (size_t k = 0; k < 2 * size; k++) {
            splat_mesh back;
            uint8_t kept = data[k % size];
            if (k >= size) data[k % size] = (uint8_t)(kept ^ (k % 2 ? 1 : 0x80));
            unlink(name);
            FILE *file = fopen(name, "wb");
            fwrite(data, 1, k < size ? k : size, file);
            fclose(file);
            data[k % size] = kept;
            if (splat_mesh_read(i < 3 ? name : "damage.obj", &back, &error) != SPLAT_OK) continue;
            ASSERT_OK(splat_mesh_check(&back, &error));
            splat_mesh_free(&back);
        }
        unlink(name);
        FILE *file = fopen(name, "wb");
        fwrite(data, 1, size, file);
        fclose(file);
        free(data);
    }
    splat_mesh_free(&mesh);
}

/* The scene's up is +Y in the file, its x is to the right, and reading gives the scene's own coordinates. */
static void test_glb_up(void **state)
{
    (void)state;
    static const float ups[5][3] = {{0.2f, -3, 0.5f}, {0, -1, 0}, {1, 2, -2}, {0.01f, -1, -0.01f}, {0, -0.01f, 1}};
    splat_error error;
    for (int i = 0; i < 5; i++) {
        splat_mesh mesh = make_textured(1), back;
        splat_mesh_write_options options;
        uint8_t *data;
        size_t size, at = 0;
        const float *u = ups[i], length = sqrtf(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
        splat_mesh_write_options_init(&options);
        memcpy(options.up, u, sizeof options.up);
        ASSERT_OK(splat_mesh_write_as("up.glb", &mesh, &options, &error));
        ASSERT_OK(splat_mesh_read("up.glb", &back, &error));
        assert_same(&mesh, &back, 0, 0);
        splat_mesh_free(&back);
        ASSERT_OK(splat_file_read("up.glb", &data, &size, &error)); /* as other programs see it */
        while (memcmp(data + at, "scene_coordinates", 17) != 0) assert_true(++at + 17 < size);
        data[at] = 'x';
        FILE *file = fopen("up.glb", "wb");
        assert_int_equal(fwrite(data, 1, size, file), size);
        assert_int_equal(fclose(file), 0);
        free(data);
        ASSERT_OK(splat_mesh_read("up.glb", &back, &error));
        for (size_t k = 0; k < 3 * mesh.n_faces; k++) {
            const float *p = mesh.vertices + 3 * (size_t)mesh.faces[k], *q = back.vertices + 3 * (size_t)back.faces[k];
            assert_float_equal(q[1], (p[0] * u[0] + p[1] * u[1] + p[2] * u[2]) / length, 1e-5);
            assert_float_equal(q[0] * q[0] + q[2] * q[2] + q[1] * q[1], p[0] * p[0] + p[1] * p[1] + p[2] * p[2], 1e-4);
            assert_float_equal(q[2], (u[1] * p[2] - u[2] * p[1]) / sqrtf(u[1] * u[1] + u[2] * u[2]), 1e-5); /* x x up */
        }
        assert_true(splat_mesh_volume(&back) > 0); /* turned, not mirrored */
        splat_mesh_free(&back);
        splat_mesh_free(&mesh);
    }
}

/* The scene's extras name the unit and whether up is known, and the asset the program with its version. */
static void test_glb_extras(void **state)
{
    (void)state;
    splat_error error;
    splat_mesh mesh = make_textured(1);
    for (int i = 0; i < 4; i++) {
        splat_glb_file file;
        splat_mesh_write_options options;
        const bool is_metric = i % 2, is_turned = i / 2;
        splat_mesh_write_options_init(&options);
        options.is_metric = is_metric;
        options.up[2] = is_turned ? 2 : 0;
        ASSERT_OK(splat_mesh_write_as("extras.glb", &mesh, &options, &error));
        ASSERT_OK(splat_glb_open(&file, "extras.glb", &error));
        const json_t *scene = json_array_get(json_object_get(file.root, "scenes"), 0);
        const json_t *extras = json_object_get(scene, "extras");
        assert_string_equal(json_string_value(json_object_get(extras, "units")), is_metric ? "metre" : "arbitrary");
        assert_string_equal(json_string_value(json_object_get(extras, "up")), is_turned ? "+Y" : "unknown");
        assert_string_equal(json_string_value(json_object_get(json_object_get(file.root, "asset"), "generator")),
                            "Splatsmith " SPLATSMITH_VERSION);
        splat_glb_close(&file);
    }
    splat_mesh_free(&mesh);
}

/* Editors show the name of a node and of a mesh: that of the file, unless there is another one. */
static void test_glb_names(void **state)
{
    (void)state;
    static const struct { const char *path, *name, *wanted; } cases[] = {
        {"fox.den.glb", NULL, "fox.den"}, {"fox.glb", "fox_LOD0", "fox_LOD0"}, {"na\xefve.glb", NULL, "na\xc3\xafve"}};
    splat_error error;
    splat_mesh mesh = make_textured(1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        splat_glb_file file;
        splat_mesh_write_options options;
        splat_mesh_write_options_init(&options);
        options.name = cases[i].name;
        ASSERT_OK(splat_mesh_write_as(cases[i].path, &mesh, &options, &error));
        ASSERT_OK(splat_glb_open(&file, cases[i].path, &error));
        static const char *const lists[] = {"nodes", "meshes"};
        for (int k = 0; k < 2; k++) {
            const json_t *item = json_array_get(json_object_get(file.root, lists[k]), 0);
            assert_string_equal(json_string_value(json_object_get(item, "name")), cases[i].wanted);
        }
        splat_glb_close(&file);
    }
    splat_mesh_free(&mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),  cmocka_unit_test(test_all_or_nothing), cmocka_unit_test(test_glb_rules),
        cmocka_unit_test(test_other_objs),  cmocka_unit_test(test_other_plys),     cmocka_unit_test(test_other_glbs),
        cmocka_unit_test(test_damaged),     cmocka_unit_test(test_glb_up),         cmocka_unit_test(test_glb_extras),
        cmocka_unit_test(test_glb_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
