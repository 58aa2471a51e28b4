/* The table of splat formats, and reading and writing through it. */
#include "io/splat/formats.h"

#include "io/splat/packed.h"

#include <string.h>

#define SPLAT_FORMAT(name) extern const splat_cloud_format splat_cloud_format_##name;
#include "io/splat/formats.def"
#undef SPLAT_FORMAT

static const splat_cloud_format *const table[] = {
#define SPLAT_FORMAT(name) &splat_cloud_format_##name,
#include "io/splat/formats.def"
#undef SPLAT_FORMAT
};

enum { N_FORMATS = sizeof table / sizeof table[0] };
_Static_assert(N_FORMATS <= SPLAT_MAX_FILE_FORMATS, "splat_file_formats has room for all");

const splat_cloud_format *splat_cloud_format_at(size_t index)
{
    return index < N_FORMATS ? table[index] : NULL;
}

splat_file_formats splat_cloud_formats(void)
{
    splat_file_formats formats = {.what = "a splat", .n = N_FORMATS};
    for (size_t i = 0; i < N_FORMATS; i++) {
        const splat_cloud_format *row = table[i];
        formats.rows[i] = (splat_file_format){row->name, row->ending, row->description, row->read, row->write};
    }
    return formats;
}

/* ---------------------------------------------------------------- reading */

static splat_status find_reader(const char *path, const splat_cloud_format **format, splat_error *error)
{
    uint8_t head[SPLAT_FILE_HEAD];
    bool fits[N_FORMATS];
    size_t n, row;
    splat_file_formats formats = splat_cloud_formats();
    SPLAT_TRY(splat_file_head(path, head, &n, error));
    for (size_t i = 0; i < N_FORMATS; i++) fits[i] = table[i]->begins && table[i]->begins(head, n);
    SPLAT_TRY(splat_file_format_to_read(&formats, fits, path, &row, error));
    *format = table[row];
    return SPLAT_OK;
}

splat_status splat_cloud_describe(const char *path, splat_cloud_shape *shape, splat_error *error)
{
    const splat_cloud_format *format;
    memset(shape, 0, sizeof *shape);
    SPLAT_TRY(find_reader(path, &format, error));
    return format->describe(path, shape, error);
}

splat_status splat_cloud_read(const char *path, splat_cloud *cloud, splat_error *error)
{
    const splat_cloud_format *format;
    size_t row;
    int tensor;
    memset(cloud, 0, sizeof *cloud);
    SPLAT_TRY(find_reader(path, &format, error));
    SPLAT_TRY(format->read(path, cloud, error));
    if (!format->is_packed || splat_packed_is_finite(cloud, &row, &tensor)) return SPLAT_OK;
    splat_cloud_free(cloud);
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                         "the file is damaged: the %s of Gaussian %zu are not finite",
                         splat_gaussian_tensors.rows[tensor].name, row);
}

/* ---------------------------------------------------------------- writing */

splat_status splat_cloud_write(const char *path, splat_cloud *cloud, const splat_save_options *options,
                               splat_error *error)
{
    static const splat_save_options usual = {.sh_degree = SPLAT_MAX_SH_DEGREE, .spz_version = 3};
    size_t row, gaussian;
    int tensor;
    splat_file_formats formats = splat_cloud_formats();
    if (!options) options = &usual;
    SPLAT_TRY(splat_file_format_to_write(&formats, path, &row, error));
    if (options->sh_degree < 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "sh_degree must be at least 0, not %d", options->sh_degree);
    int degree = options->sh_degree < table[row]->max_sh_degree ? options->sh_degree : table[row]->max_sh_degree;
    if (degree < cloud->sh_degree) SPLAT_TRY(splat_cloud_set_degree(cloud, degree, error));
    if (options->fused || !table[row]->holds_filter) splat_cloud_bake_filter(cloud);
    if (table[row]->is_packed && !splat_packed_is_finite(cloud, &gaussian, &tensor))
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, path, SPLAT_NO_OFFSET,
                             "the %s of Gaussian %zu are not finite, which no %s file can hold; export with "
                             "--min_opacity 0.001 leaves such Gaussians out",
                             splat_gaussian_tensors.rows[tensor].name, gaussian, table[row]->name);
    return table[row]->write(path, cloud, options, error);
}
