/* .splat, the format of the first viewers in browsers: 32 bytes a Gaussian without a header, position and scale as
 * floats, colour, opacity and rotation as bytes. No harmonics above degree 0, and no mark of antialiased splats. */
#include "base/file.h"
#include "base/reader.h"
#include "io/splat/formats.h"
#include "io/splat/packed.h"
#include "math/sh.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { ROW = 32 };

/* ---------------------------------------------------------------- reading */

static splat_status check_size(const char *path, uint64_t size, splat_error *error)
{
    if (size % ROW == 0) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, size - size % ROW,
                         "the file is no whole .splat: its %llu bytes are no multiple of %d", (unsigned long long)size,
                         ROW);
}

static void read_row(splat_reader *reader, splat_cloud *cloud, size_t i)
{
    uint8_t bytes[8];
    for (int k = 0; k < 3; k++) cloud->means[3 * i + k] = splat_read_f32(reader);
    for (int k = 0; k < 3; k++) cloud->scales[3 * i + k] = splat_packed_log_scale((double)splat_read_f32(reader));
    splat_read_bytes(reader, bytes, sizeof bytes);
    for (int k = 0; k < 3; k++) cloud->sh_dc[3 * i + k] = (bytes[k] / 255.0f - 0.5f) / SPLAT_SH_C0;
    cloud->opacities[i] = splat_packed_byte_logit(bytes[3]);
    for (int k = 0; k < 4; k++) cloud->rotations[4 * i + k] = (bytes[4 + k] - 128) / 128.0f;
}

static splat_status read_splat(const char *path, splat_cloud *cloud, splat_error *error)
{
    uint8_t *data;
    size_t size;
    memset(cloud, 0, sizeof *cloud);
    SPLAT_TRY(splat_file_read(path, &data, &size, error));
    splat_status status = check_size(path, size, error);
    if (status == SPLAT_OK) status = splat_cloud_make(cloud, size / ROW, 0, false, error);
    splat_reader reader = splat_reader_make(data, size);
    for (size_t i = 0; status == SPLAT_OK && i < cloud->n; i++) read_row(&reader, cloud, i);
    free(data);
    return status;
}

static splat_status describe_splat(const char *path, splat_cloud_shape *shape, splat_error *error)
{
    FILE *stream;
    uint64_t size;
    SPLAT_TRY(splat_file_open_stream(path, &stream, &size, error));
    fclose(stream);
    SPLAT_TRY(check_size(path, size, error));
    *shape = (splat_cloud_shape){.n = (size_t)(size / ROW)};
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- writing */

typedef struct weighed {
    double weight;
    size_t row;
} weighed;

static int compare_weights(const void *a, const void *b)
{
    const weighed *p = a, *q = b;
    if (p->weight != q->weight) return p->weight > q->weight ? -1 : 1;
    return p->row < q->row ? -1 : p->row > q->row;
}

/* The large and opaque first: viewers draw a file that is still arriving. */
static weighed *sort_rows(const splat_cloud *cloud)
{
    weighed *rows = malloc(cloud->n ? cloud->n * sizeof *rows : 1);
    for (size_t i = 0; rows && i < cloud->n; i++) {
        const float *s = cloud->scales + 3 * i;
        double size = (double)s[0] + (double)s[1] + (double)s[2];
        rows[i] = (weighed){exp(size) * splat_packed_opacity(cloud->opacities[i]), i};
    }
    if (rows) qsort(rows, cloud->n, sizeof *rows, compare_weights);
    return rows;
}

static void fill_row(const splat_cloud *cloud, size_t i, uint8_t row[ROW])
{
    float floats[6];
    double q[4];
    for (int k = 0; k < 3; k++) {
        floats[k] = cloud->means[3 * i + k];
        floats[3 + k] = fminf(expf(cloud->scales[3 * i + k]), FLT_MAX);
        double color = 0.5 + (double)SPLAT_SH_C0 * (double)cloud->sh_dc[3 * i + k];
        row[24 + k] = (uint8_t)splat_packed_round(255 * color, 255);
    }
    memcpy(row, floats, sizeof floats);
    row[27] = (uint8_t)splat_packed_round(255 * splat_packed_opacity(cloud->opacities[i]), 255);
    splat_packed_quaternion(cloud->rotations + 4 * i, q);
    for (int k = 0; k < 4; k++) row[28 + k] = (uint8_t)splat_packed_round(128 * q[k] + 128, 255);
}

static splat_status write_splat(const char *path, const splat_cloud *cloud, const splat_save_options *options,
                                splat_error *error)
{
    splat_save save;
    (void)options; /* it has no choices */
    weighed *rows = sort_rows(cloud);
    if (!rows) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for an order of %zu Gaussians", cloud->n);
    splat_status status = splat_save_open(&save, path, error);
    for (size_t i = 0; status == SPLAT_OK && i < cloud->n && !ferror(save.stream); i++) {
        uint8_t row[ROW];
        fill_row(cloud, rows[i].row, row);
        fwrite(row, 1, ROW, save.stream);
    }
    free(rows);
    return status == SPLAT_OK ? splat_save_commit(&save, error) : status;
}

const splat_cloud_format splat_cloud_format_splat = {
    .name = "splat",
    .ending = ".splat",
    .description = "32 bytes a Gaussian, for old viewers in browsers: colours of degree 0, no mark of antialiasing",
    .is_packed = true,
    .describe = describe_splat,
    .read = read_splat,
    .write = write_splat,
};
