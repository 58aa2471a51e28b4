/* A GLB file in memory (glTF 2.0, chapter 4): its JSON, and its binary chunk seen through accessors. Everything that an
 * accessor gives lies inside the file: it was checked when it was found. */
#ifndef SPLAT_IO_GLB_FILE_H
#define SPLAT_IO_GLB_FILE_H

#include "base/error.h"
#include "splatsmith/core.h"

#include <jansson.h>

/* asset.generator of written files. */
#define SPLAT_GLB_GENERATOR "Splatsmith " SPLATSMITH_VERSION
/* Keys of the scene's extras: "metre", or "arbitrary" where nothing says how long a unit is; "+Y", or "unknown" where
 * the coordinates are those of the scene as they are. */
#define SPLAT_GLB_UNITS "units"
#define SPLAT_GLB_UP "up"

/* Component types of accessors, and modes of primitives. */
enum {
    SPLAT_GLB_INT8 = 5120,
    SPLAT_GLB_UINT8 = 5121,
    SPLAT_GLB_INT16 = 5122,
    SPLAT_GLB_UINT16 = 5123,
    SPLAT_GLB_UINT32 = 5125,
    SPLAT_GLB_FLOAT = 5126
};
enum { SPLAT_GLB_POINTS = 0, SPLAT_GLB_TRIANGLES = 4 };

typedef struct splat_glb_file {
    const char *path; /* borrowed */
    uint8_t *data;
    size_t size;
    json_t *root;
    const uint8_t *binary; /* the BIN chunk; NULL: there is none */
    size_t binary_size;
} splat_glb_file;

/* Rows of numbers. */
typedef struct splat_glb_accessor {
    const uint8_t *data; /* the first row; not aligned */
    size_t n, stride;    /* rows; bytes between them */
    int channels;        /* 1 to 4 */
    int component;       /* SPLAT_GLB_INT8, ... */
    bool normalized;     /* integers stand for 0 .. 1 or -1 .. 1 */
} splat_glb_accessor;

/* Reads a file, its chunks and its JSON. Errors: IO, MEMORY, FORMAT (damaged), UNSUPPORTED (another version; an
 * extension that the file cannot be read without, such as Draco). There is nothing to close then. */
splat_status splat_glb_open(splat_glb_file *file, const char *path, splat_error *error);
void splat_glb_close(splat_glb_file *file);

/* Item `index` of a list of the root ("nodes", "meshes"); FORMAT, naming both, when there is none. */
splat_status splat_glb_item(const splat_glb_file *file, const char *list, size_t index, const json_t **item,
                            splat_error *error);
/* A whole number of an object; *value stays as it was where the key is absent. FORMAT: another kind of value. */
splat_status splat_glb_number(const splat_glb_file *file, const json_t *object, const char *key, size_t *value,
                              splat_error *error);
/* The accessor whose number is the value of a key; data is NULL when the key is absent. Errors: FORMAT (out of the
 * file's bounds), UNSUPPORTED (sparse, or bytes outside of the GLB). */
splat_status splat_glb_find(const splat_glb_file *file, const json_t *object, const char *key,
                            splat_glb_accessor *accessor, splat_error *error);
/* The bytes of a buffer view. Errors: FORMAT, UNSUPPORTED, as above. */
splat_status splat_glb_view(const splat_glb_file *file, size_t index, const uint8_t **data, size_t *size,
                            splat_error *error);
/* A number of a row; row < n, channel < channels. */
double splat_glb_value(const splat_glb_accessor *accessor, size_t row, int channel);

#endif
