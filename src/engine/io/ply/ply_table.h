/* PLY as a table: a header of typed elements, then the rows of one element as doubles. Internal to src/engine/io. */
#ifndef SPLAT_IO_PLY_TABLE_H
#define SPLAT_IO_PLY_TABLE_H

#include "base/error.h"

typedef enum splat_ply_type {
    SPLAT_PLY_INT8,
    SPLAT_PLY_UINT8,
    SPLAT_PLY_INT16,
    SPLAT_PLY_UINT16,
    SPLAT_PLY_INT32,
    SPLAT_PLY_UINT32,
    SPLAT_PLY_FLOAT32,
    SPLAT_PLY_FLOAT64,
    SPLAT_PLY_N_TYPES
} splat_ply_type;

static inline size_t splat_ply_type_size(splat_ply_type type)
{
    static const uint8_t sizes[SPLAT_PLY_N_TYPES] = {1, 1, 2, 2, 4, 4, 4, 8};
    return sizes[type];
}

typedef enum splat_ply_encoding { SPLAT_PLY_ASCII, SPLAT_PLY_LITTLE, SPLAT_PLY_BIG } splat_ply_encoding;

typedef struct splat_ply_property {
    const char *name;
    splat_ply_type type;       /* type of the scalar or of a list's values */
    bool is_list;
    splat_ply_type count_type; /* type of a list's length */
} splat_ply_property;

typedef struct splat_ply_element {
    const char *name;
    uint64_t n; /* rows, as the header claims */
    splat_ply_property *properties;
    size_t n_properties;
} splat_ply_element;

#define SPLAT_PLY_LIST_MAX 255
#define SPLAT_PLY_N_KEPT 2
#define SPLAT_PLY_MAX_TEXTURES 256

/* A list whose values splat_ply_next stores. */
typedef struct splat_ply_kept {
    const splat_ply_property *property; /* NULL: none */
    double values[SPLAT_PLY_LIST_MAX];  /* the first values of the row's list */
    size_t n;                           /* and its length, which may be larger */
} splat_ply_kept;

/* A PLY file in memory. Strings point into data. */
typedef struct splat_ply_file {
    const char *path;      /* borrowed */
    uint8_t *data;         /* the whole file; line ends and blanks of the header are overwritten with NUL */
    size_t size;
    size_t position;       /* offset of the next row */
    size_t rows_position;  /* offset of the first row in the file */
    uint64_t rows_line;
    uint64_t line;         /* 1-based, of the next row of an ASCII file */
    splat_ply_encoding encoding;
    splat_ply_element *elements;
    size_t n_elements;
    splat_ply_kept kept[SPLAT_PLY_N_KEPT];
    const char *textures[SPLAT_PLY_MAX_TEXTURES]; /* comment TextureFile NAME, in their order; more are passed over */
    size_t n_textures;
    const char *subsets; /* comment subset 0 NAME 1 NAME: what values of a property `subset` mean; NULL: not there */
    bool tagged_mip, tagged_default; /* comment SplatRenderMode: mip, default */
} splat_ply_file;

/* The mode of a splat, from the file's comment. */
static inline splat_render_mode splat_ply_render_mode(const splat_ply_file *file)
{
    if (file->tagged_default) return SPLAT_RENDER_CLASSIC;
    return file->tagged_mip ? SPLAT_RENDER_MIP : SPLAT_RENDER_AUTO;
}

/* Reads the file and its header. On failure there is nothing to close. */
splat_status splat_ply_open(splat_ply_file *file, const char *path, splat_error *error);
void splat_ply_close(splat_ply_file *file);

/* Goes to the first row of an element, from anywhere in the file, and checks that its claimed rows can fit into the
 * bytes that are left. */
splat_status splat_ply_seek(splat_ply_file *file, const char *element_name, const splat_ply_element **element,
                            splat_error *error);
/* Index of a scalar property, or -1. */
int splat_ply_find(const splat_ply_element *element, const char *name);
/* The same; FORMAT naming the property when it is absent or a list. */
splat_status splat_ply_require(const splat_ply_file *file, const splat_ply_element *element, const char *name,
                               int *index, splat_error *error);
/* The scalars x, y, z; FORMAT naming the one that is absent. */
splat_status splat_ply_require_position(const splat_ply_file *file, const splat_ply_element *element, int columns[3],
                                        splat_error *error);
/* The list property of this name, to be set as file->kept[i].property; NULL when there is none. */
const splat_ply_property *splat_ply_find_list(const splat_ply_element *element, const char *name);
/* Returns the rows of an element if the file is at them (splat_ply_seek) and little-endian, and every value of the
 * element is a float32: floats[n][n_properties], unchanged, at any address. NULL otherwise. */
const uint8_t *splat_ply_float_rows(const splat_ply_file *file, const splat_ply_element *element);
/* True if the header has an element of this name. */
bool splat_ply_has(const splat_ply_file *file, const char *element_name);
/* Reads the next row: values[i] is property i (0 for lists, whose values are skipped unless they are kept). */
splat_status splat_ply_next(splat_ply_file *file, const splat_ply_element *element, uint64_t row, double *values,
                            splat_error *error);

#endif
