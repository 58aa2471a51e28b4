/* Splats as PLY, as the 3DGS family writes them: read by property name, written in the order that other tools expect.
 * docs/files.md has the columns. */
#include "base/file.h"
#include "base/reader.h" /* refuses big-endian hosts: floats are written as they stand in memory */
#include "io/ply/ply_table.h"
#include "io/splat/formats.h"
#include "io/splat/packed.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CHANNELS = 45, SPLAT_SH_REST = MAX_CHANNELS };
enum {
    MAX_ROW = 3 + 1 /* normals, filter_3D */
#define SPLAT_TENSOR(name, channels, ...) + channels
#include "math/gaussians.def"
#undef SPLAT_TENSOR
};

/* The column of a channel of a tensor. Harmonics are channel-major in the file and coefficient-major in memory. */
static void column_name(int tensor, uint32_t channel, uint32_t n_channels, char name[32])
{
    const splat_tensor_row *row = &splat_gaussian_tensors.rows[tensor];
    if (row->storage == SPLAT_STORED_HARMONICS) channel = n_channels / 3 * (channel % 3) + channel / 3;
    splat_tensor_ply_column(row, channel, name, 32);
}

/* ---------------------------------------------------------------- reading */

/* The columns of a splat's numbers in a row. */
typedef struct ply_columns {
    int of_tensor[SPLAT_N_TENSORS][MAX_CHANNELS]; /* by channel in memory */
    int filter; /* -1: none */
    int n_rest, sh_degree;
} ply_columns;

/* How many columns f_rest there are, and the SH degree that they make. */
static splat_status count_rest(const splat_ply_file *file, const splat_ply_element *vertex, ply_columns *c,
                               splat_error *error)
{
    c->n_rest = 0;
    for (size_t i = 0; i < vertex->n_properties; i++)
        if (strncmp(vertex->properties[i].name, "f_rest_", 7) == 0) c->n_rest++;
    for (c->sh_degree = 0; c->sh_degree <= SPLAT_MAX_SH_DEGREE; c->sh_degree++)
        if (c->n_rest == (int)splat_sh_rest_floats(c->sh_degree)) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET,
                         "the PLY file has %d f_rest columns; 0, 9, 24 or 45 (SH degree 0 to 3) are possible",
                         c->n_rest);
}

static splat_status find_columns(const splat_ply_file *file, const splat_ply_element *vertex, ply_columns *c,
                                 splat_error *error)
{
    SPLAT_TRY(count_rest(file, vertex, c, error));
    for (int i = 0; i < SPLAT_N_TENSORS; i++) {
        uint32_t n_channels = splat_tensor_channels(i, c->sh_degree);
        for (uint32_t k = 0; k < n_channels; k++) {
            char name[32];
            column_name(i, k, n_channels, name);
            SPLAT_TRY(splat_ply_require(file, vertex, name, &c->of_tensor[i][k], error));
        }
    }
    c->filter = splat_ply_find(vertex, "filter_3D");
    return SPLAT_OK;
}

static void store_row(const splat_cloud *cloud, const ply_columns *columns, size_t row, const double *values)
{
#define SPLAT_TENSOR(name, ...)                                                                                        \
    for (size_t k = 0, n = splat_tensor_channels(SPLAT_TENSOR_##name, columns->sh_degree); k < n; k++)                 \
        cloud->name[n * row + k] = (float)values[columns->of_tensor[SPLAT_TENSOR_##name][k]];
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    if (columns->filter >= 0) cloud->filter_3d[row] = (float)values[columns->filter];
}

/* The same from floats as they stand in the file: nearly every splat there is. */
static void store_floats(const splat_cloud *cloud, const ply_columns *columns, size_t row, const uint8_t *values)
{
#define SPLAT_TENSOR(name, ...)                                                                                        \
    for (size_t k = 0, n = splat_tensor_channels(SPLAT_TENSOR_##name, columns->sh_degree); k < n; k++)                 \
        memcpy(&cloud->name[n * row + k], values + 4 * columns->of_tensor[SPLAT_TENSOR_##name][k], sizeof(float));
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    if (columns->filter >= 0) memcpy(&cloud->filter_3d[row], values + 4 * columns->filter, sizeof(float));
}

static splat_status read_rows(splat_ply_file *file, const splat_ply_element *vertex, const ply_columns *columns,
                              splat_cloud *cloud, splat_error *error)
{
    splat_status status = SPLAT_OK;
    const uint8_t *floats = splat_ply_float_rows(file, vertex);
    for (size_t row = 0; floats && row < cloud->n; row++)
        store_floats(cloud, columns, row, floats + 4 * vertex->n_properties * row);
    if (floats) return SPLAT_OK;
    double *values = calloc(vertex->n_properties, sizeof *values);
    if (!values) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a row of a PLY file");
    for (size_t row = 0; row < cloud->n; row++) {
        SPLAT_TRY_GOTO(status, done, splat_ply_next(file, vertex, row, values, error));
        store_row(cloud, columns, row, values);
    }
done:
    free(values);
    return status;
}

static splat_status read_open(splat_ply_file *file, splat_cloud *cloud, splat_error *error)
{
    const splat_ply_element *vertex;
    ply_columns columns;
    SPLAT_TRY(splat_ply_seek(file, "vertex", &vertex, error)); /* has checked the count against the file's bytes */
    SPLAT_TRY(find_columns(file, vertex, &columns, error));
    SPLAT_TRY(splat_cloud_make(cloud, (size_t)vertex->n, columns.sh_degree, columns.filter >= 0, error));
    cloud->render_mode = splat_ply_render_mode(file);
    splat_status status = read_rows(file, vertex, &columns, cloud, error);
    if (status != SPLAT_OK) splat_cloud_free(cloud);
    return status;
}

static splat_status read_ply(const char *path, splat_cloud *cloud, splat_error *error)
{
    splat_ply_file file;
    memset(cloud, 0, sizeof *cloud);
    SPLAT_TRY(splat_ply_open(&file, path, error));
    splat_status status = read_open(&file, cloud, error);
    splat_ply_close(&file);
    return status;
}

static splat_status describe_ply(const char *path, splat_cloud_shape *shape, splat_error *error)
{
    splat_ply_file file;
    const splat_ply_element *vertex;
    ply_columns columns;
    SPLAT_TRY(splat_ply_open(&file, path, error));
    splat_status status = splat_ply_seek(&file, "vertex", &vertex, error);
    if (status == SPLAT_OK) status = find_columns(&file, vertex, &columns, error);
    if (status == SPLAT_OK)
        *shape = (splat_cloud_shape){(size_t)vertex->n, columns.sh_degree, columns.filter >= 0,
                                      splat_ply_render_mode(&file), 0};
    splat_ply_close(&file);
    return status;
}

static bool begins_as_ply(const uint8_t *head, size_t n)
{
    return n >= 3 && memcmp(head, "ply", 3) == 0 && !splat_packed_ply_begins(head, n);
}

/* ---------------------------------------------------------------- writing */

static void write_header(FILE *stream, const splat_cloud *cloud)
{
    fprintf(stream, "ply\nformat binary_little_endian 1.0\n");
    if (cloud->render_mode != SPLAT_RENDER_AUTO)
        fprintf(stream, "comment SplatRenderMode: %s\n",
                cloud->render_mode == SPLAT_RENDER_MIP ? "mip" : "default");
    fprintf(stream, "element vertex %zu\n", cloud->n);
    for (int i = 0; i < SPLAT_N_TENSORS; i++) {
        for (uint32_t k = 0; k < splat_tensor_channels(i, cloud->sh_degree); k++) {
            char name[32];
            splat_tensor_ply_column(&splat_gaussian_tensors.rows[i], k, name, sizeof name);
            fprintf(stream, "property float %s\n", name);
        }
        if (i == SPLAT_TENSOR_means) /* normals: readers expect the columns */
            fprintf(stream, "property float nx\nproperty float ny\nproperty float nz\n");
    }
    if (cloud->filter_3d) fprintf(stream, "property float filter_3D\n");
    fprintf(stream, "end_header\n");
}

/* Writes the columns of a tensor's row, in the order of write_header, to `to`; returns their number. */
static size_t fill_columns(const splat_cloud *cloud, int tensor, const float *values, size_t i, float *to)
{
    const size_t n = splat_tensor_channels(tensor, cloud->sh_degree);
    if (n == 0) return 0; /* sh_rest of degree 0 has no values, and no offset applies to NULL */
    values += n * i;
    if (tensor == SPLAT_TENSOR_sh_rest) { /* channel-major in the file, coefficient-major here */
        for (size_t c = 0; c < 3; c++)
            for (size_t k = c; k < n; k += 3) *to++ = values[k];
        return n;
    }
    memcpy(to, values, n * sizeof *to);
    if (tensor != SPLAT_TENSOR_means) return n;
    for (size_t c = 0; c < 3; c++) to[n + c] = 0.0f; /* normals */
    return n + 3;
}

/* Returns the floats of one row. */
static size_t fill_row(const splat_cloud *cloud, size_t i, float row[MAX_ROW])
{
    size_t k = 0;
#define SPLAT_TENSOR(name, ...) k += fill_columns(cloud, SPLAT_TENSOR_##name, cloud->name, i, row + k);
#include "math/gaussians.def"
#undef SPLAT_TENSOR
    if (cloud->filter_3d) row[k++] = cloud->filter_3d[i];
    return k;
}

static splat_status write_ply(const char *path, const splat_cloud *cloud, const splat_save_options *options,
                              splat_error *error)
{
    splat_save save;
    (void)options; /* a PLY has no choices of its own */
    SPLAT_TRY(splat_save_open(&save, path, error));
    write_header(save.stream, cloud);
    for (size_t i = 0; i < cloud->n && !ferror(save.stream); i++) {
        float row[MAX_ROW];
        fwrite(row, sizeof row[0], fill_row(cloud, i, row), save.stream);
    }
    return splat_save_commit(&save, error);
}

const splat_cloud_format splat_cloud_format_ply = {
    .name = "PLY",
    .ending = ".ply",
    .description = "the file of the 3DGS family, with filter_3D or fused; every viewer reads the fused one",
    .holds_filter = true,
    .max_sh_degree = SPLAT_MAX_SH_DEGREE,
    .begins = begins_as_ply,
    .describe = describe_ply,
    .read = read_ply,
    .write = write_ply,
};
