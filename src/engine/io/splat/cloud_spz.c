/* SPZ: the numbers in its streams. */
#include "io/splat/cloud_spz.h"

#include "base/file.h"
#include "io/splat/formats.h"
#include "io/splat/packed.h"
#include "io/splat/spz_container.h"

#include <stdlib.h>
#include <string.h>

static const double color_scale = 0.15; /* of f_dc in a byte of 0 to 1 */
enum { FRACTIONAL_BITS = 12, MAX_POSITION = 0x7fffff, MAX_ROTATION = 511 };

/* ---------------------------------------------------------------- rotations */

/* Two bits tell the largest of x y z w, which is left out and made positive; of each other a sign and nine bits of its
 * size, the first highest. */
static uint32_t pack_rotation(const double q[4])
{
    int largest = 0;
    for (int k = 1; k < 4; k++)
        if (fabs(q[k]) > fabs(q[largest])) largest = k;
    uint32_t word = (uint32_t)largest;
    for (int k = 0; k < 4; k++) {
        if (k == largest) continue;
        uint32_t sign = (q[k] < 0) != (q[largest] < 0);
        word = word << 10 | sign << 9 | splat_packed_round(MAX_ROTATION * M_SQRT2 * fabs(q[k]), MAX_ROTATION);
    }
    return word;
}

static void unpack_rotation(uint32_t word, double q[4])
{
    int largest = (int)(word >> 30);
    double rest = 1;
    for (int k = 3; k >= 0; k--) {
        if (k == largest) continue;
        q[k] = (word & MAX_ROTATION) * M_SQRT1_2 / MAX_ROTATION * (word & 512 ? -1 : 1);
        rest -= q[k] * q[k];
        word >>= 10;
    }
    q[largest] = sqrt(rest > 0 ? rest : 0);
}

/* Version 2: x y z as bytes of -1 to 1, of a quaternion with a positive w. */
static void unpack_old_rotation(const uint8_t *row, double q[4])
{
    double rest = 1;
    for (int k = 0; k < 3; k++) {
        q[k] = row[k] / 127.5 - 1;
        rest -= q[k] * q[k];
    }
    q[3] = sqrt(rest > 0 ? rest : 0);
}

/* ---------------------------------------------------------------- reading */

static double unpack_position(const uint8_t *at, int fractional_bits)
{
    uint32_t bits = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
    return ldexp((double)bits - (bits & 0x800000 ? 0x1000000 : 0), -fractional_bits);
}

static void unpack_row(const splat_spz_header *h, const uint8_t *const rows[SPLAT_SPZ_N_STREAMS], splat_cloud *cloud,
                       size_t i)
{
    size_t n_rest = splat_sh_rest_floats(cloud->sh_degree);
    double q[4]; /* x y z w */
    uint32_t word = 0;
    for (int k = 0; k < 3; k++) {
        double position = unpack_position(rows[SPLAT_SPZ_POSITIONS] + 3 * k, h->fractional_bits);
        cloud->means[3 * i + k] = splat_packed_axis_signs[k] * (float)position;
        cloud->sh_dc[3 * i + k] = (float)((rows[SPLAT_SPZ_COLORS][k] / 255.0 - 0.5) / color_scale);
        cloud->scales[3 * i + k] = (float)(rows[SPLAT_SPZ_SCALES][k] / 16.0 - 10);
    }
    cloud->opacities[i] = splat_packed_byte_logit(rows[SPLAT_SPZ_ALPHAS][0]);
    memcpy(&word, rows[SPLAT_SPZ_ROTATIONS], h->version < 3 ? 3 : 4);
    if (h->version < 3)
        unpack_old_rotation(rows[SPLAT_SPZ_ROTATIONS], q);
    else
        unpack_rotation(word, q);
    for (int k = 0; k < 4; k++)
        cloud->rotations[4 * i + k] = splat_packed_rotation_signs[k] * (float)q[(k + 3) % 4];
    for (size_t k = 0; k < n_rest; k++) /* of degree 4 the last band is left out */
        cloud->sh_rest[n_rest * i + k] = splat_packed_sh_signs[k / 3] * (rows[SPLAT_SPZ_SH][k] - 128) / 128.0f;
}

static splat_status unpack(const splat_spz_header *h, const uint8_t *streams, splat_cloud *cloud, splat_error *error)
{
    const uint8_t *rows[SPLAT_SPZ_N_STREAMS];
    int degree = h->sh_degree < SPLAT_MAX_SH_DEGREE ? h->sh_degree : SPLAT_MAX_SH_DEGREE;
    SPLAT_TRY(splat_cloud_make(cloud, h->n, degree, false, error));
    if (h->is_antialiased) cloud->render_mode = SPLAT_RENDER_MIP;
    for (int k = 0; k < SPLAT_SPZ_N_STREAMS; k++) {
        rows[k] = streams;
        streams += h->n * splat_spz_row(h, k);
    }
    for (size_t i = 0; i < cloud->n; i++) {
        unpack_row(h, rows, cloud, i);
        for (int k = 0; k < SPLAT_SPZ_N_STREAMS; k++) rows[k] += splat_spz_row(h, k);
    }
    return SPLAT_OK;
}

splat_status splat_spz_unpack(const char *path, const uint8_t *data, size_t size, splat_cloud *cloud,
                              splat_error *error)
{
    uint8_t *streams = NULL;
    splat_spz_header header;
    memset(cloud, 0, sizeof *cloud);
    SPLAT_TRY(splat_spz_read_header(path, data, size, &header, error));
    SPLAT_TRY(splat_spz_inflate(path, data, size, &header, &streams, error));
    splat_status status = unpack(&header, streams, cloud, error);
    free(streams);
    return status;
}

static splat_status read_spz(const char *path, splat_cloud *cloud, splat_error *error)
{
    uint8_t *data;
    size_t size;
    memset(cloud, 0, sizeof *cloud);
    SPLAT_TRY(splat_file_read(path, &data, &size, error));
    splat_status status = splat_spz_unpack(path, data, size, cloud, error);
    free(data);
    return status;
}

splat_status splat_spz_describe(const char *path, const uint8_t *data, size_t size, splat_cloud_shape *shape,
                                splat_error *error)
{
    splat_spz_header header;
    SPLAT_TRY(splat_spz_read_header(path, data, size, &header, error));
    *shape = (splat_cloud_shape){
        .n = header.n,
        .sh_degree = header.sh_degree < SPLAT_MAX_SH_DEGREE ? header.sh_degree : SPLAT_MAX_SH_DEGREE,
        .render_mode = header.is_antialiased ? SPLAT_RENDER_MIP : SPLAT_RENDER_AUTO};
    return SPLAT_OK;
}

static splat_status describe_spz(const char *path, splat_cloud_shape *shape, splat_error *error)
{
    uint8_t head[SPLAT_FILE_HEAD];
    size_t n;
    SPLAT_TRY(splat_file_head(path, head, &n, error));
    return splat_spz_describe(path, head, n, shape, error);
}

/* A gzip is taken for one: no other splat is. */
static bool begins_as_spz(const uint8_t *head, size_t n)
{
    return (n >= 4 && memcmp(head, "NGSP", 4) == 0) || (n >= 2 && head[0] == 0x1f && head[1] == 0x8b);
}

/* ---------------------------------------------------------------- writing */

/* As many as the position farthest from the origin leaves, and no more than every reader expects. */
static int choose_fractional_bits(const splat_cloud *cloud)
{
    double farthest = 0;
    int bits = FRACTIONAL_BITS;
    for (size_t i = 0; i < 3 * cloud->n; i++) farthest = fmax(farthest, fabs((double)cloud->means[i]));
    while (bits >= 0 && ldexp(farthest, bits) > MAX_POSITION) bits--;
    return bits;
}

static void pack_position(double value, int fractional_bits, uint8_t *at)
{
    uint32_t bits = (uint32_t)(int32_t)nearbyint(ldexp(value, fractional_bits));
    for (int k = 0; k < 3; k++) at[k] = (uint8_t)(bits >> 8 * k);
}

/* The middle of one of 32 steps of degree 1, of 16 steps above: what the bytes lose compresses well. */
static uint8_t pack_harmonic(double value, size_t coefficient)
{
    int step = coefficient < 3 ? 8 : 16, byte = (int)splat_packed_round(128 * value + 128, 255);
    byte = (byte + step / 2) / step * step;
    return (uint8_t)(byte < 255 ? byte : 255);
}

static void pack_row(const splat_spz_header *h, const splat_cloud *cloud, size_t i,
                     uint8_t *const rows[SPLAT_SPZ_N_STREAMS])
{
    size_t n_rest = splat_sh_rest_floats(cloud->sh_degree);
    double q[4], turned[4];
    for (int k = 0; k < 3; k++) {
        double position = (double)(splat_packed_axis_signs[k] * cloud->means[3 * i + k]);
        pack_position(position, h->fractional_bits, rows[SPLAT_SPZ_POSITIONS] + 3 * k);
        double color = color_scale * (double)cloud->sh_dc[3 * i + k] + 0.5, scale = (double)cloud->scales[3 * i + k];
        rows[SPLAT_SPZ_COLORS][k] = (uint8_t)splat_packed_round(255 * color, 255);
        rows[SPLAT_SPZ_SCALES][k] = (uint8_t)splat_packed_round(16 * (scale + 10), 255);
    }
    double opacity = splat_packed_opacity(cloud->opacities[i]);
    rows[SPLAT_SPZ_ALPHAS][0] = (uint8_t)splat_packed_round(255 * opacity, 255);
    splat_packed_quaternion(cloud->rotations + 4 * i, q);
    for (int k = 0; k < 4; k++) turned[(k + 3) % 4] = (double)splat_packed_rotation_signs[k] * q[k];
    uint32_t word = pack_rotation(turned);
    memcpy(rows[SPLAT_SPZ_ROTATIONS], &word, sizeof word);
    for (size_t k = 0; k < n_rest; k++)
        rows[SPLAT_SPZ_SH][k] =
            pack_harmonic((double)(splat_packed_sh_signs[k / 3] * cloud->sh_rest[n_rest * i + k]), k / 3);
}

splat_status splat_spz_pack(const splat_cloud *cloud, int version, uint8_t **data, size_t *size, splat_error *error)
{
    splat_spz_header h = {.version = (uint32_t)version, .n = (uint32_t)cloud->n, .sh_degree = cloud->sh_degree};
    uint8_t *rows[SPLAT_SPZ_N_STREAMS];
    *data = NULL;
    h.is_antialiased = cloud->render_mode == SPLAT_RENDER_MIP;
    h.fractional_bits = choose_fractional_bits(cloud);
    if (cloud->n > UINT32_MAX)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "%zu Gaussians are more than SPZ holds", cloud->n);
    if (h.fractional_bits < 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "a Gaussian is farther than 2^23 from the origin, which SPZ cannot hold: leave it out with "
                          "--bboxmin and --bboxmax, or use --scale");
    size_t row = 0, at = 0;
    for (int k = 0; k < SPLAT_SPZ_N_STREAMS; k++) row += splat_spz_row(&h, k);
    uint8_t *streams = malloc(cloud->n ? cloud->n * row : 1);
    if (!streams) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to pack %zu Gaussians", cloud->n);
    for (int k = 0; k < SPLAT_SPZ_N_STREAMS; at += cloud->n * splat_spz_row(&h, k++)) rows[k] = streams + at;
    for (size_t i = 0; i < cloud->n; i++) {
        pack_row(&h, cloud, i, rows);
        for (int k = 0; k < SPLAT_SPZ_N_STREAMS; k++) rows[k] += splat_spz_row(&h, k);
    }
    splat_status status = splat_spz_deflate(&h, streams, data, size, error);
    free(streams);
    return status;
}

static splat_status write_spz(const char *path, const splat_cloud *cloud, const splat_save_options *options,
                              splat_error *error)
{
    uint8_t *data;
    size_t size;
    if (options->spz_version != 3 && options->spz_version != 4)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "spz_version must be 3 or 4, not %d", options->spz_version);
    SPLAT_TRY(splat_spz_pack(cloud, options->spz_version, &data, &size, error));
    splat_status status = splat_file_write(path, data, size, error);
    free(data);
    return status;
}

const splat_cloud_format splat_cloud_format_spz = {
    .name = "SPZ",
    .ending = ".spz",
    .description = "20 to 64 bytes a Gaussian before it is compressed, of Niantic; y points up; most viewers read it",
    .is_packed = true,
    .max_sh_degree = SPLAT_MAX_SH_DEGREE,
    .begins = begins_as_spz,
    .describe = describe_spz,
    .read = read_spz,
    .write = write_spz,
};
