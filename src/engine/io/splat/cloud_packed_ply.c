/* Compressed PLY of PlayCanvas and SuperSplat: chunks of 256 Gaussians with the range of their numbers, and four words
 * a Gaussian within it; harmonics above degree 0 as bytes. docs/files.md has the bits. */
#include "base/file.h"
#include "base/reader.h" /* refuses big-endian hosts: numbers are written as they stand in memory */
#include "io/ply/ply_table.h"
#include "io/splat/formats.h"
#include "io/splat/packed.h"
#include "math/sh.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 256, N_RANGES = 18, N_WORDS = 4 };
enum { POSITION = 0, SCALE = 6, COLOR = 12 }; /* where the minima of a range stand, three numbers before the maxima */

static const char *const range_names[N_RANGES] = {
    "min_x", "min_y", "min_z", "max_x", "max_y", "max_z", "min_scale_x", "min_scale_y", "min_scale_z",
    "max_scale_x", "max_scale_y", "max_scale_z", "min_r", "min_g", "min_b", "max_r", "max_g", "max_b"};
static const char *const word_names[N_WORDS] = {"packed_position", "packed_rotation", "packed_scale", "packed_color"};

/* Bits of x y z and r g b a, the first highest. */
static const int place_bits[3] = {11, 10, 11}, color_bits[4] = {8, 8, 8, 8};

static const double scale_limit = 20; /* logarithms beyond it are cut */

/* ---------------------------------------------------------------- words */

static uint32_t pack_word(const double *parts, const int *bits, int n)
{
    uint32_t word = 0;
    for (int k = 0; k < n; k++) word = word << bits[k] | splat_packed_round(parts[k] * ((1 << bits[k]) - 1),
                                                                             (1 << bits[k]) - 1);
    return word;
}

static void unpack_word(uint32_t word, const int *bits, int n, double *parts)
{
    for (int k = n - 1; k >= 0; word >>= bits[k--])
        parts[k] = (word & ((1u << bits[k]) - 1)) / (double)((1u << bits[k]) - 1);
}

/* Two bits tell the largest of w x y z, which is left out; the others in their order, of a quaternion with that one
 * positive. */
static uint32_t pack_rotation(const float rotation[4])
{
    static const int bits[4] = {2, 10, 10, 10};
    double q[4], parts[4];
    int largest = 0, n = 1;
    splat_packed_quaternion(rotation, q);
    for (int k = 1; k < 4; k++)
        if (fabs(q[k]) > fabs(q[largest])) largest = k;
    parts[0] = largest / 3.0;
    for (int k = 0; k < 4; k++)
        if (k != largest) parts[n++] = (q[largest] < 0 ? -q[k] : q[k]) * M_SQRT1_2 + 0.5;
    return pack_word(parts, bits, 4);
}

static void unpack_rotation(uint32_t word, float rotation[4])
{
    static const int bits[4] = {2, 10, 10, 10};
    double parts[4], rest = 1;
    int largest = (int)(word >> 30), n = 1;
    unpack_word(word, bits, 4, parts);
    for (int k = 0; k < 4; k++) {
        if (k == largest) continue;
        double q = (parts[n++] - 0.5) * M_SQRT2;
        rotation[k] = (float)q;
        rest -= q * q;
    }
    rotation[largest] = (float)sqrt(rest > 0 ? rest : 0);
}

/* ---------------------------------------------------------------- reading */

typedef struct packed_elements {
    size_t n, n_rest;
    int sh_degree;
} packed_elements;

static splat_status bad_rest(const splat_ply_file *file, size_t n, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET,
                         "the compressed PLY has %zu columns of harmonics; 9, 24 or 45 (SH degree 1 to 3) are possible",
                         n);
}

/* Checks counts against each other and, as the file is gone to each element, against its bytes. */
static splat_status check_elements(splat_ply_file *file, packed_elements *e, splat_error *error)
{
    const splat_ply_element *chunk, *vertex, *sh = NULL;
    SPLAT_TRY(splat_ply_seek(file, "chunk", &chunk, error));
    SPLAT_TRY(splat_ply_seek(file, "vertex", &vertex, error));
    if (splat_ply_has(file, "sh")) SPLAT_TRY(splat_ply_seek(file, "sh", &sh, error));
    if (chunk->n != vertex->n / CHUNK + (vertex->n % CHUNK != 0) || (sh && sh->n != vertex->n))
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET,
                             "the compressed PLY has %llu chunks and %llu rows of harmonics for %llu Gaussians",
                             (unsigned long long)chunk->n, (unsigned long long)(sh ? sh->n : vertex->n),
                             (unsigned long long)vertex->n);
    *e = (packed_elements){.n = (size_t)vertex->n};
    for (size_t i = 0; sh && i < sh->n_properties; i++) e->n_rest += strncmp(sh->properties[i].name, "f_rest_", 7) == 0;
    for (; e->sh_degree <= SPLAT_MAX_SH_DEGREE; e->sh_degree++)
        if (e->n_rest == splat_sh_rest_floats(e->sh_degree)) return SPLAT_OK;
    return bad_rest(file, e->n_rest, error);
}

/* Room for a row of an element, and where the columns stand in it. */
static splat_status open_element(splat_ply_file *file, const char *name, const char *const *names, int n,
                                 const splat_ply_element **element, int *columns, double **row, splat_error *error)
{
    SPLAT_TRY(splat_ply_seek(file, name, element, error));
    for (int k = 0; k < n; k++) SPLAT_TRY(splat_ply_require(file, *element, names[k], &columns[k], error));
    *row = calloc((*element)->n_properties, sizeof **row);
    return *row ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a row of a PLY file");
}

static splat_status read_ranges(splat_ply_file *file, float **ranges, splat_error *error)
{
    const splat_ply_element *chunk;
    int columns[N_RANGES];
    double *row = NULL;
    SPLAT_TRY(open_element(file, "chunk", range_names, N_RANGES, &chunk, columns, &row, error));
    *ranges = malloc(chunk->n ? (size_t)chunk->n * N_RANGES * sizeof **ranges : 1);
    splat_status status =
        *ranges ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the chunks of a compressed PLY");
    for (uint64_t i = 0; i < chunk->n && status == SPLAT_OK; i++) {
        status = splat_ply_next(file, chunk, i, row, error);
        for (int k = 0; k < N_RANGES; k++) (*ranges)[N_RANGES * i + (size_t)k] = (float)row[columns[k]];
    }
    free(row);
    return status;
}

static void unpack_range(const float *range, const double parts[3], float out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = (float)((double)range[k] + parts[k] * ((double)range[3 + k] - (double)range[k]));
}

static void unpack_row(const float *range, const uint32_t words[N_WORDS], splat_cloud *cloud, size_t i)
{
    double parts[4];
    float color[3];
    unpack_word(words[0], place_bits, 3, parts);
    unpack_range(range + POSITION, parts, cloud->means + 3 * i);
    unpack_rotation(words[1], cloud->rotations + 4 * i);
    unpack_word(words[2], place_bits, 3, parts);
    unpack_range(range + SCALE, parts, cloud->scales + 3 * i);
    unpack_word(words[3], color_bits, 4, parts);
    unpack_range(range + COLOR, parts, color);
    for (int k = 0; k < 3; k++) cloud->sh_dc[3 * i + k] = (color[k] - 0.5f) / SPLAT_SH_C0;
    cloud->opacities[i] = splat_packed_byte_logit((uint8_t)(words[3] & 255));
}

static splat_status read_words(splat_ply_file *file, const float *ranges, splat_cloud *cloud, splat_error *error)
{
    const splat_ply_element *vertex;
    int columns[N_WORDS];
    double *row = NULL;
    SPLAT_TRY(open_element(file, "vertex", word_names, N_WORDS, &vertex, columns, &row, error));
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < cloud->n && status == SPLAT_OK; i++) {
        uint32_t words[N_WORDS];
        status = splat_ply_next(file, vertex, i, row, error);
        for (int k = 0; k < N_WORDS; k++) /* another type of column may hold what is no word */
            words[k] = row[columns[k]] >= 0 && row[columns[k]] <= UINT32_MAX ? (uint32_t)row[columns[k]] : 0;
        if (status == SPLAT_OK) unpack_row(ranges + i / CHUNK * N_RANGES, words, cloud, i);
    }
    free(row);
    return status;
}

/* 0 and 255 stand for the ends, the others for the middle of their step. */
static float unpack_harmonic(double byte)
{
    double part = byte <= 0 ? 0 : byte >= 255 ? 1 : (byte + 0.5) / 256;
    return (float)((part - 0.5) * 8);
}

/* Harmonics are channel-major in the file and coefficient-major in memory. */
static splat_status read_rest(splat_ply_file *file, splat_cloud *cloud, splat_error *error)
{
    const splat_ply_element *sh;
    int columns[45];
    double *row = NULL;
    size_t n = splat_sh_rest_floats(cloud->sh_degree);
    SPLAT_TRY(open_element(file, "sh", NULL, 0, &sh, NULL, &row, error));
    splat_status status = SPLAT_OK;
    for (size_t k = 0; k < n && status == SPLAT_OK; k++) {
        char name[32];
        snprintf(name, sizeof name, "f_rest_%zu", k);
        status = splat_ply_require(file, sh, name, &columns[k], error);
    }
    for (size_t i = 0; i < cloud->n && status == SPLAT_OK; i++) {
        status = splat_ply_next(file, sh, i, row, error);
        for (size_t k = 0; k < n; k++)
            cloud->sh_rest[n * i + k % (n / 3) * 3 + k / (n / 3)] = unpack_harmonic(row[columns[k]]);
    }
    free(row);
    return status;
}

static splat_status read_open(splat_ply_file *file, splat_cloud *cloud, splat_error *error)
{
    packed_elements e;
    float *ranges = NULL;
    SPLAT_TRY(check_elements(file, &e, error));
    SPLAT_TRY(splat_cloud_make(cloud, e.n, e.sh_degree, false, error));
    cloud->render_mode = splat_ply_render_mode(file);
    splat_status status = read_ranges(file, &ranges, error);
    if (status == SPLAT_OK) status = read_words(file, ranges, cloud, error);
    if (status == SPLAT_OK && e.n_rest) status = read_rest(file, cloud, error);
    free(ranges);
    if (status != SPLAT_OK) splat_cloud_free(cloud);
    return status;
}

static splat_status read_packed_ply(const char *path, splat_cloud *cloud, splat_error *error)
{
    splat_ply_file file;
    memset(cloud, 0, sizeof *cloud);
    SPLAT_TRY(splat_ply_open(&file, path, error));
    splat_status status = read_open(&file, cloud, error);
    splat_ply_close(&file);
    return status;
}

static splat_status describe_packed_ply(const char *path, splat_cloud_shape *shape, splat_error *error)
{
    splat_ply_file file;
    packed_elements e;
    SPLAT_TRY(splat_ply_open(&file, path, error));
    splat_status status = check_elements(&file, &e, error);
    if (status == SPLAT_OK)
        *shape = (splat_cloud_shape){.n = e.n, .sh_degree = e.sh_degree, .render_mode = splat_ply_render_mode(&file)};
    splat_ply_close(&file);
    return status;
}

/* ---------------------------------------------------------------- writing */

static void write_header(FILE *stream, const splat_cloud *cloud)
{
    fprintf(stream, "ply\nformat binary_little_endian 1.0\n");
    if (cloud->render_mode != SPLAT_RENDER_AUTO)
        fprintf(stream, "comment SplatRenderMode: %s\n",
                cloud->render_mode == SPLAT_RENDER_MIP ? "mip" : "default");
    fprintf(stream, "element chunk %zu\n", (cloud->n + CHUNK - 1) / CHUNK);
    for (int k = 0; k < N_RANGES; k++) fprintf(stream, "property float %s\n", range_names[k]);
    fprintf(stream, "element vertex %zu\n", cloud->n);
    for (int k = 0; k < N_WORDS; k++) fprintf(stream, "property uint %s\n", word_names[k]);
    if (cloud->sh_degree > 0) fprintf(stream, "element sh %zu\n", cloud->n);
    for (uint32_t k = 0; k < splat_sh_rest_floats(cloud->sh_degree); k++)
        fprintf(stream, "property uchar f_rest_%u\n", k);
    fprintf(stream, "end_header\n");
}

/* Position, logarithm of the scale and colour of a Gaussian, in the order of a range. */
static void fill_values(const splat_cloud *cloud, size_t i, double values[9])
{
    for (int k = 0; k < 3; k++) {
        double scale = (double)cloud->scales[3 * i + k];
        values[k] = (double)cloud->means[3 * i + k];
        values[3 + k] = fmin(fmax(scale, -scale_limit), scale_limit);
        values[6 + k] = 0.5 + (double)SPLAT_SH_C0 * (double)cloud->sh_dc[3 * i + k];
    }
}

static void fill_range(const splat_cloud *cloud, const uint32_t *rows, size_t n, float range[N_RANGES])
{
    for (size_t i = 0; i < n; i++) {
        double values[9];
        fill_values(cloud, rows[i], values);
        for (int k = 0; k < 9; k++) {
            float value = (float)values[k], *low = range + k / 3 * 6 + k % 3, *high = low + 3;
            *low = i == 0 ? value : fminf(*low, value);
            *high = i == 0 ? value : fmaxf(*high, value);
        }
    }
}

static void pack_row(const splat_cloud *cloud, const float *range, size_t i, uint32_t words[N_WORDS])
{
    double values[9], parts[10];
    fill_values(cloud, i, values);
    for (int k = 0; k < 9; k++) {
        double low = (double)range[k / 3 * 6 + k % 3], size = (double)range[k / 3 * 6 + k % 3 + 3] - low;
        parts[k] = size > 0 ? (values[k] - low) / size : 0;
    }
    parts[9] = splat_packed_opacity(cloud->opacities[i]);
    words[0] = pack_word(parts, place_bits, 3);
    words[1] = pack_rotation(cloud->rotations + 4 * i);
    words[2] = pack_word(parts + 3, place_bits, 3);
    words[3] = pack_word(parts + 6, color_bits, 4);
}

static void write_rest(FILE *stream, const splat_cloud *cloud, const uint32_t *order)
{
    size_t n = splat_sh_rest_floats(cloud->sh_degree);
    for (size_t i = 0; n > 0 && i < cloud->n && !ferror(stream); i++) {
        uint8_t bytes[45];
        for (size_t k = 0; k < n; k++) {
            double value = (double)cloud->sh_rest[n * order[i] + k % (n / 3) * 3 + k / (n / 3)];
            bytes[k] = (uint8_t)fmin(fmax((value / 8 + 0.5) * 256, 0), 255);
        }
        fwrite(bytes, 1, n, stream);
    }
}

static void write_chunks(FILE *stream, const splat_cloud *cloud, const uint32_t *order, float *ranges)
{
    for (size_t first = 0; first < cloud->n; first += CHUNK) {
        size_t n = cloud->n - first < CHUNK ? cloud->n - first : CHUNK;
        fill_range(cloud, order + first, n, ranges + first / CHUNK * N_RANGES);
        fwrite(ranges + first / CHUNK * N_RANGES, sizeof *ranges, N_RANGES, stream);
    }
    for (size_t i = 0; i < cloud->n && !ferror(stream); i++) {
        uint32_t words[N_WORDS];
        pack_row(cloud, ranges + i / CHUNK * N_RANGES, order[i], words);
        fwrite(words, sizeof words[0], N_WORDS, stream);
    }
    write_rest(stream, cloud, order);
}

static splat_status write_packed_ply(const char *path, const splat_cloud *cloud, const splat_save_options *options,
                                     splat_error *error)
{
    splat_save save;
    (void)options; /* it has no choices */
    uint32_t *order = malloc(cloud->n ? cloud->n * sizeof *order : 1);
    float *ranges = malloc((cloud->n / CHUNK + 1) * N_RANGES * sizeof *ranges);
    splat_status status = SPLAT_OK;
    if (!order || !ranges)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to pack %zu Gaussians", cloud->n);
    if (status == SPLAT_OK) status = splat_packed_order(cloud, order, error);
    if (status == SPLAT_OK) status = splat_save_open(&save, path, error);
    if (status == SPLAT_OK) {
        write_header(save.stream, cloud);
        write_chunks(save.stream, cloud, order, ranges);
        status = splat_save_commit(&save, error);
    }
    free(order);
    free(ranges);
    return status;
}

const splat_cloud_format splat_cloud_format_packed_ply = {
    .name = "compressed PLY",
    .ending = ".compressed.ply",
    .description = "16 bytes a Gaussian and a byte a harmonic, of SuperSplat and PlayCanvas",
    .is_packed = true,
    .max_sh_degree = SPLAT_MAX_SH_DEGREE,
    .begins = splat_packed_ply_begins,
    .describe = describe_packed_ply,
    .read = read_packed_ply,
    .write = write_packed_ply,
};
