/* Pages of a mesh's texture as files: encoded, saved next to the mesh file, and found again. */
#ifndef SPLAT_MESH_TEXTURE_FILES_H
#define SPLAT_MESH_TEXTURE_FILES_H

#include "base/file.h"
#include "mesh/files/mesh_io.h"

/* A page as PNG or JPEG in malloc'd memory, which the caller frees. Errors: MEMORY, and those of the encoders. */
splat_status splat_page_encode(const splat_mesh *mesh, size_t page, const splat_mesh_write_options *options,
                               uint8_t **data, size_t *size, splat_error *error);

/* Temporaries of all pages next to a mesh file: NAME.png, or NAME_0.png, NAME_1.png and so on, for NAME.obj. */
typedef struct splat_page_saves {
    size_t n;
    splat_save *saves; /* [n] */
    char **names;      /* [n], without their folder */
} splat_page_saves;

/* Errors: IO, MEMORY; there is nothing to abort then. */
splat_status splat_page_saves_open(splat_page_saves *saves, const char *mesh_path, const splat_mesh *mesh,
                                   const splat_mesh_write_options *options, splat_error *error);
/* Gives the pages their names, then the other files in their order, once all are written: what fails before leaves all
 * old files. After a failure the rest is given up. */
splat_status splat_page_saves_commit(splat_page_saves *saves, splat_save *const *files, size_t n_files,
                                     splat_error *error);
/* Frees, and gives up what was not committed. */
void splat_page_saves_close(splat_page_saves *saves);

/* The path of a file in the same folder: with another ending (".mtl" for "dir/mesh.obj"), or with another name. NULL:
 * no memory. */
char *splat_path_with_ending(const char *path, const char *ending);
char *splat_path_beside(const char *path, const char *name);

/* Textures that a file names, each read once, as pages of the mesh in the order in which faces ask for them. */
typedef struct splat_page_reader {
    splat_mesh *mesh;
    const char *path;    /* path of the mesh */
    size_t n, capacity;
    struct splat_page_entry { char *name; int page; } *entries; /* page -1: cannot be had */
    int white;           /* the page of faces without a picture; -1: none so far */
} splat_page_reader;

void splat_page_reader_init(splat_page_reader *reader, splat_mesh *mesh, const char *path);
void splat_page_reader_free(splat_page_reader *reader);
/* The page of a picture file. A name that leaves the folder of the mesh, as many programs write, is looked for by its
 * last part in that folder. *page: -1 when it cannot be had; mesh->notice then says why. Errors: MEMORY. */
splat_status splat_page_reader_file(splat_page_reader *reader, const char *name, int *page, splat_error *error);
/* The same for a picture in memory; `name` tells it from others. */
splat_status splat_page_reader_bytes(splat_page_reader *reader, const char *name, const uint8_t *data, size_t size,
                                     int *page, splat_error *error);
/* A page that is known to be out of reach, and why. */
splat_status splat_page_reader_refuse(splat_page_reader *reader, const char *name, const char *why,
                                      splat_error *error);
/* Gives each face its page: pages[n_faces], those of a picture or -1, where a single white texel is made. Faces of
 * -1 get texture coordinates 0. When there is no picture at all only the coordinates stay. Where there is one,
 * `keep_colors` false drops the vertices' colours. Errors: MEMORY. */
splat_status splat_page_reader_finish(splat_page_reader *reader, const int16_t *pages, bool keep_colors,
                                      splat_error *error);

#endif
