/* Files of meshes: the table of their formats, and reading and writing through it. A new format is a file mesh_<name>.c
 * with its row, a line in mesh_formats.def, a test, and a row in docs/files.md. */
#ifndef SPLAT_MESH_MESH_IO_H
#define SPLAT_MESH_MESH_IO_H

#include "io/file_format.h"
#include "math/dome.h"
#include "mesh/mesh.h"

typedef struct splat_mesh_write_options {
    int jpeg_quality; /* pages of a texture: 0: PNG; 1 to 100: JPEG of this quality, without chroma subsampling */
    bool is_lit;      /* false: what the photos show is shown as it is (GLB: KHR_materials_unlit; OBJ: illum 0); true: a
                         standard material that lamps light */
    float up[3];      /* the direction that is up, in the mesh's coordinates, of any length; zeros: not known. glTF has
                         +Y up: a GLB gets a node that turns the mesh, and reading it back leaves that out */
    const char *name; /* of a GLB's mesh and its node, which editors and engines show; NULL: that of the file */
    bool is_metric;   /* a unit of the mesh is a metre; a GLB says so. false: not known */
    splat_dome sky;   /* GLB: a node `sky` with these colours around the mesh, which readers of meshes here leave out;
                         colors NULL: none */
} splat_mesh_write_options;

/* In the node's extras of a GLB: its rotation is for those who look, and vertices are those of the scene. */
#define SPLAT_GLB_SCENE_COORDINATES "scene_coordinates"
/* The same of a node that shows the sky and is no part of the mesh. */
#define SPLAT_GLB_SKY "sky"

typedef struct splat_mesh_file_format {
    const char *name;        /* "PLY" */
    const char *ending;      /* ".ply" */
    const char *description; /* one line, for help and docs/files.md */
    /* True if a file with these first bytes is of this format; NULL: only its name decides. */
    bool (*begins)(const uint8_t *head, size_t n);
    /* Into *mesh, which is overwritten and, on failure, empty. Polygons become fans of triangles; a file without faces
     * is a set of points. A texture that cannot be found or read is left out, and mesh->notice says so. Errors: IO,
     * FORMAT (damaged, an index that names no vertex, a coordinate that is not finite), UNSUPPORTED, MEMORY. NULL where
     * the format is only written. */
    splat_status (*read)(const char *path, splat_mesh *mesh, splat_error *error);
    /* Writes the mesh atomically: all files are complete before they take their names, the mesh file last. Errors: IO,
     * ARGUMENT (not possible in this format), MEMORY. NULL if the format is only read. */
    splat_status (*write)(const char *path, const splat_mesh *mesh, const splat_mesh_write_options *options,
                          splat_error *error);
} splat_mesh_file_format;

/* The row of a number, in the order of mesh_formats.def; NULL beyond the last. */
const splat_mesh_file_format *splat_mesh_format_at(size_t index);

/* By content, then by the end of the name. Errors: those of the format, UNSUPPORTED (none). */
splat_status splat_mesh_read(const char *path, splat_mesh *mesh, splat_error *error);
/* PNG, unlit, up not known. */
void splat_mesh_write_options_init(splat_mesh_write_options *options);
/* By the end of the name. Errors: those of the format, ARGUMENT (no such ending; an option). */
splat_status splat_mesh_write_as(const char *path, const splat_mesh *mesh, const splat_mesh_write_options *options,
                                 splat_error *error);
/* The same with the options of _init. */
splat_status splat_mesh_write(const char *path, const splat_mesh *mesh, splat_error *error);

#endif
