/* The table of mesh formats, and reading and writing through it. */
#include "mesh/files/mesh_io.h"

#include "splatsmith/mesh.h"

#include <string.h>

#define SPLAT_MESH_FORMAT(name) extern const splat_mesh_file_format splat_mesh_format_##name;
#include "mesh/files/mesh_formats.def"
#undef SPLAT_MESH_FORMAT

static const splat_mesh_file_format *const table[] = {
#define SPLAT_MESH_FORMAT(name) &splat_mesh_format_##name,
#include "mesh/files/mesh_formats.def"
#undef SPLAT_MESH_FORMAT
};

enum { N_FORMATS = sizeof table / sizeof table[0] };
_Static_assert(N_FORMATS <= SPLAT_MAX_FILE_FORMATS, "splat_file_formats has room for all");

const splat_mesh_file_format *splat_mesh_format_at(size_t index)
{
    return index < N_FORMATS ? table[index] : NULL;
}

static splat_file_formats list_formats(void)
{
    splat_file_formats formats = {.what = "a mesh", .needs_ending = true, .n = N_FORMATS};
    for (size_t i = 0; i < N_FORMATS; i++) {
        const splat_mesh_file_format *row = table[i];
        formats.rows[i] = (splat_file_format){row->name, row->ending, row->description, row->read, row->write};
    }
    return formats;
}

bool splat_mesh_get_format(size_t index, splat_file_format *format)
{
    splat_file_formats formats = list_formats();
    if (index >= formats.n) return false;
    *format = formats.rows[index];
    return true;
}

splat_status splat_mesh_check_path(const char *path, splat_error *error)
{
    splat_file_formats formats = list_formats();
    size_t row;
    return splat_file_format_to_write(&formats, path, &row, error);
}

splat_status splat_mesh_read(const char *path, splat_mesh *mesh, splat_error *error)
{
    uint8_t head[SPLAT_FILE_HEAD];
    bool fits[N_FORMATS];
    size_t n, row;
    splat_file_formats formats = list_formats();
    memset(mesh, 0, sizeof *mesh);
    SPLAT_TRY(splat_file_head(path, head, &n, error));
    for (size_t i = 0; i < N_FORMATS; i++) fits[i] = table[i]->begins && table[i]->begins(head, n);
    SPLAT_TRY(splat_file_format_to_read(&formats, fits, path, &row, error));
    return table[row]->read(path, mesh, error);
}

void splat_mesh_write_options_init(splat_mesh_write_options *options)
{
    *options = (splat_mesh_write_options){.jpeg_quality = 0};
}

splat_status splat_mesh_write_as(const char *path, const splat_mesh *mesh, const splat_mesh_write_options *options,
                                 splat_error *error)
{
    splat_file_formats formats = list_formats();
    size_t row;
    if (options->jpeg_quality < 0 || options->jpeg_quality > 100)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the quality of JPEG pages is 1 to 100, or 0 for PNG");
    SPLAT_TRY(splat_file_format_to_write(&formats, path, &row, error));
    return table[row]->write(path, mesh, options, error);
}

splat_status splat_mesh_write(const char *path, const splat_mesh *mesh, splat_error *error)
{
    splat_mesh_write_options options;
    splat_mesh_write_options_init(&options);
    return splat_mesh_write_as(path, mesh, &options, error);
}
