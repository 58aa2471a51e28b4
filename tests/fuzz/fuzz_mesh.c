/* Files of meshes: PLY, GLB and MTL (with an OBJ that uses it) by their first bytes, anything else as OBJ. */
#include "fuzz.h"

#include "mesh/files/mesh_io.h"

static bool begins(const uint8_t *data, size_t size, const char *magic)
{
    return size >= strlen(magic) && memcmp(data, magic, strlen(magic)) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    splat_mesh mesh;
    splat_error error;
    const char *path = begins(data, size, "ply") ? "in.ply" : begins(data, size, "glTF") ? "in.glb" : "in.obj";
    if (begins(data, size, "newmtl")) {
        static const char obj[] = "mtllib in.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nusemtl page_0\nf 1/1 2/1 3/1\n"
                                  "usemtl other\nf 1/1 2/1 3/1\n";
        fuzz_file("in.mtl", data, size);
        fuzz_file(path, (const uint8_t *)obj, sizeof obj - 1);
    } else {
        fuzz_file(path, data, size);
    }
    splat_status status = splat_mesh_read(path, &mesh, &error);
    fuzz_judge(status, &error);
    if (status != SPLAT_OK) return 0;
    fuzz_touch(mesh.vertices, 12 * mesh.n_vertices);
    for (size_t i = 0; i < 3 * mesh.n_faces; i++)
        if (mesh.faces[i] >= mesh.n_vertices) abort();
    if (mesh.normals) fuzz_touch(mesh.normals, 12 * mesh.n_vertices);
    if (mesh.colors) fuzz_touch(mesh.colors, 4 * mesh.n_vertices);
    if (splat_mesh_check(&mesh, &error) != SPLAT_OK) abort();
    if (mesh.uvs) fuzz_touch(mesh.uvs, 24 * mesh.n_faces);
    for (size_t i = 0; i < mesh.n_pages; i++)
        fuzz_touch(mesh.pages[i].pixels, (size_t)mesh.pages[i].width * (size_t)mesh.pages[i].height * 3);
    splat_mesh_free(&mesh);
    return 0;
}
