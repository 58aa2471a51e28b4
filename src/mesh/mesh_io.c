#include "mesh/mesh_io.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool ends_with(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);
    return n >= m && strcasecmp(path + n - m, end) == 0;
}

splat_status splat_mesh_read(const char *path, splat_mesh *mesh, splat_error *error)
{
    char start[4] = "";
    memset(mesh, 0, sizeof *mesh);
    FILE *file = fopen(path, "rb");
    if (!file) return splat_fail_errno(error, path, "open");
    size_t n = fread(start, 1, 3, file);
    fclose(file);
    if (n == 3 && memcmp(start, "ply", 3) == 0) return splat_mesh_read_ply(path, mesh, error);
    if (ends_with(path, ".obj")) return splat_mesh_read_obj(path, mesh, error);
    if (ends_with(path, ".ply")) return splat_mesh_read_ply(path, mesh, error); /* says what is wrong with it */
    return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                         "the file is neither a PLY nor called .obj; meshes are read from these two");
}

splat_status splat_mesh_write(const char *path, const splat_mesh *mesh, splat_error *error)
{
    if (ends_with(path, ".ply")) return splat_mesh_write_ply(path, mesh, error);
    if (ends_with(path, ".obj")) return splat_mesh_write_obj(path, mesh, error);
    if (ends_with(path, ".glb")) return splat_mesh_write_glb(path, mesh, error);
    return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                         "the end of the name tells the format of a mesh: .ply, .obj or .glb");
}
