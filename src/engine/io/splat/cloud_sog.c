/* SOG 2 of PlayCanvas: a zip of lossless WebP pictures with a pixel a Gaussian, and meta.json, which says what their
 * bytes mean. docs/files.md has the numbers. Written in cloud_sog_write.c. */
#include "base/file.h"
#include "io/json.h"
#include "io/splat/cloud_sog_write.h"
#include "io/splat/packed.h"
#include "io/zip/zip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PALETTE = 65536 };

/* The most bytes of a meta.json: three codebooks of 256 numbers take 20 KB, whatever the number of Gaussians. */
enum { MAX_META = 1 << 20 };

/* More Gaussians than so many times the bytes of a file are refused before memory is asked for: a picture of one
 * colour is small, however large it is. */
static const double most_gain = 256;

typedef struct sog_file {
    const char *path;
    uint8_t *data;
    size_t size, n;
    splat_zip zip;
    json_t *meta;
    int sh_degree;
} sog_file;

typedef struct picture {
    uint8_t *rgba;
    int width, height;
} picture;

static splat_status bad(const sog_file *sog, const char *what, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, sog->path, SPLAT_NO_OFFSET, "the SOG file is damaged: %s", what);
}

/* ---------------------------------------------------------------- meta.json */

static splat_status parse_meta(sog_file *sog, splat_error *error)
{
    uint8_t *text;
    size_t size;
    json_error_t problem;
    SPLAT_TRY(splat_zip_read(&sog->zip, "meta.json", MAX_META, &text, &size, error));
    splat_status status = splat_json_parse((const char *)text, size, JSON_REJECT_DUPLICATES, &sog->meta, &problem);
    free(text);
    if (status == SPLAT_ERROR_MEMORY) return splat_fail(error, status, "no memory for the description of a SOG file");
    if (status != SPLAT_OK) return bad(sog, "its meta.json is not valid JSON", error);
    return SPLAT_OK;
}

static splat_status check_meta(sog_file *sog, splat_error *error)
{
    int version = 1, count = 0, bands = 0;
    const json_t *rest = json_object_get(sog->meta, "shN");
    SPLAT_TRY(splat_json_get_count(sog->meta, "version", sog->path, INT32_MAX, &version, error));
    if (version != 2)
        return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, sog->path, SPLAT_NO_OFFSET,
                             "the file is SOG of version %d; version 2 is read", version);
    SPLAT_TRY(splat_json_get_count(sog->meta, "count", sog->path, INT32_MAX, &count, error));
    if (rest) SPLAT_TRY(splat_json_get_count(rest, "bands", sog->path, SPLAT_MAX_SH_DEGREE, &bands, error));
    if ((double)count > most_gain * (double)sog->size) return bad(sog, "it is too short for its Gaussians", error);
    sog->n = (size_t)count;
    sog->sh_degree = bands;
    return SPLAT_OK;
}

static splat_status open_sog(const char *path, sog_file *sog, splat_error *error)
{
    *sog = (sog_file){.path = path};
    SPLAT_TRY(splat_file_read(path, &sog->data, &sog->size, error));
    splat_status status = splat_zip_open(&sog->zip, path, sog->data, sog->size, error);
    if (status == SPLAT_OK) status = parse_meta(sog, error);
    if (status == SPLAT_OK) status = check_meta(sog, error);
    return status;
}

static void close_sog(sog_file *sog)
{
    json_decref(sog->meta);
    free(sog->data);
}

static splat_status read_numbers(const sog_file *sog, const char *object, const char *key, size_t n, float *out,
                                 splat_error *error)
{
    const json_t *array = json_object_get(json_object_get(sog->meta, object), key);
    if (json_array_size(array) != n) return bad(sog, "a list of numbers in its meta.json has another length", error);
    for (size_t i = 0; i < n; i++) {
        if (!json_is_number(json_array_get(array, i))) return bad(sog, "its meta.json lacks a number", error);
        out[i] = (float)json_number_value(json_array_get(array, i));
    }
    return SPLAT_OK;
}

/* Picture `index` of an object, with at least n_pixels. The caller frees. */
static splat_status read_picture(const sog_file *sog, const char *object, size_t index, size_t n_pixels, picture *p,
                                 splat_error *error)
{
    const json_t *files = json_object_get(json_object_get(sog->meta, object), "files");
    const char *name = json_string_value(json_array_get(files, index));
    uint8_t *data;
    size_t size;
    *p = (picture){0};
    if (!name || !name[0]) return bad(sog, "its meta.json does not name its pictures", error);
    size_t most = 4 * n_pixels + 65536; /* pixels; a lossless WebP has hardly more than their four bytes */
    SPLAT_TRY(splat_zip_read(&sog->zip, name, 5 * most, &data, &size, error));
    splat_status status = splat_webp_decode(sog->path, data, size, most, &p->rgba, &p->width, &p->height, error);
    free(data);
    if (status != SPLAT_OK) return status;
    if ((size_t)p->width * (size_t)p->height >= n_pixels) return SPLAT_OK;
    free(p->rgba);
    return bad(sog, "a picture has fewer pixels than there are Gaussians", error);
}

/* ---------------------------------------------------------------- pictures */

static splat_status read_means(const sog_file *sog, splat_cloud *cloud, splat_error *error)
{
    float low[3], high[3];
    picture bytes[2] = {{0}};
    SPLAT_TRY(read_numbers(sog, "means", "mins", 3, low, error));
    SPLAT_TRY(read_numbers(sog, "means", "maxs", 3, high, error));
    splat_status status = read_picture(sog, "means", 0, sog->n, &bytes[0], error);
    if (status == SPLAT_OK) status = read_picture(sog, "means", 1, sog->n, &bytes[1], error);
    for (size_t i = 0; status == SPLAT_OK && i < sog->n; i++)
        for (size_t k = 0; k < 3; k++) {
            double part = (bytes[0].rgba[4 * i + k] | bytes[1].rgba[4 * i + k] << 8) / 65535.0;
            double log1 = (double)low[k] + part * ((double)high[k] - (double)low[k]);
            cloud->means[3 * i + k] = (float)copysign(expm1(fabs(log1)), log1);
        }
    free(bytes[0].rgba);
    if (status == SPLAT_OK) free(bytes[1].rgba);
    return status;
}

static void unpack_rotation(const uint8_t pixel[4], float rotation[4])
{
    double rest = 1;
    int largest = (pixel[3] - 252) & 3, n = 0;
    for (int k = 0; k < 4; k++) {
        if (k == largest) continue;
        double q = (pixel[n++] / 255.0 - 0.5) * M_SQRT2;
        rotation[k] = (float)q;
        rest -= q * q;
    }
    rotation[largest] = (float)sqrt(rest > 0 ? rest : 0);
}

static splat_status read_rotations(const sog_file *sog, splat_cloud *cloud, splat_error *error)
{
    picture p;
    SPLAT_TRY(read_picture(sog, "quats", 0, sog->n, &p, error));
    splat_status status = SPLAT_OK;
    for (size_t i = 0; status == SPLAT_OK && i < sog->n; i++) {
        if (p.rgba[4 * i + 3] < 252) status = bad(sog, "a rotation does not say which part is left out", error);
        unpack_rotation(p.rgba + 4 * i, cloud->rotations + 4 * i);
    }
    free(p.rgba);
    return status;
}

/* Three indices of a codebook a pixel; the alpha too, when it is asked for. */
static splat_status read_indices(const sog_file *sog, const char *object, float *values, float *opacities,
                                 splat_error *error)
{
    float codebook[SPLAT_CODEBOOK_SIZE];
    picture p;
    SPLAT_TRY(read_numbers(sog, object, "codebook", SPLAT_CODEBOOK_SIZE, codebook, error));
    SPLAT_TRY(read_picture(sog, object, 0, sog->n, &p, error));
    for (size_t i = 0; i < sog->n; i++) {
        for (size_t k = 0; k < 3; k++) values[3 * i + k] = codebook[p.rgba[4 * i + k]];
        if (opacities) opacities[i] = splat_packed_byte_logit(p.rgba[4 * i + 3]);
    }
    free(p.rgba);
    return SPLAT_OK;
}

static splat_status look_up(const sog_file *sog, const picture *centroids, const picture *labels, size_t n_colors,
                            const float codebook[SPLAT_CODEBOOK_SIZE], splat_cloud *cloud, splat_error *error)
{
    size_t n_rest = splat_sh_rest_floats(sog->sh_degree), n_coefficients = n_rest / 3;
    for (size_t i = 0; i < sog->n; i++) {
        size_t label = labels->rgba[4 * i] | (size_t)labels->rgba[4 * i + 1] << 8;
        if (label >= n_colors) return bad(sog, "a Gaussian has harmonics that are not in the palette", error);
        const uint8_t *row = centroids->rgba + 4 * (label / SPLAT_SOG_COLUMNS * (size_t)centroids->width +
                                                    label % SPLAT_SOG_COLUMNS * n_coefficients);
        for (size_t k = 0; k < n_rest; k++) cloud->sh_rest[n_rest * i + k] = codebook[row[4 * (k / 3) + k % 3]];
    }
    return SPLAT_OK;
}

static splat_status read_rest(const sog_file *sog, splat_cloud *cloud, splat_error *error)
{
    float codebook[SPLAT_CODEBOOK_SIZE];
    picture centroids = {0}, labels = {0};
    int n_colors = 0;
    size_t width = SPLAT_SOG_COLUMNS * splat_sh_rest_floats(sog->sh_degree) / 3;
    SPLAT_TRY(splat_json_get_count(json_object_get(sog->meta, "shN"), "count", sog->path, MAX_PALETTE, &n_colors,
                                   error));
    SPLAT_TRY(read_numbers(sog, "shN", "codebook", SPLAT_CODEBOOK_SIZE, codebook, error));
    size_t n_rows = ((size_t)n_colors + SPLAT_SOG_COLUMNS - 1) / SPLAT_SOG_COLUMNS;
    SPLAT_TRY(read_picture(sog, "shN", 0, width * n_rows, &centroids, error));
    splat_status status = SPLAT_OK;
    if ((size_t)centroids.width != width || (size_t)centroids.height < n_rows)
        status = bad(sog, "the picture of its palette has another size", error);
    if (status == SPLAT_OK) status = read_picture(sog, "shN", 1, sog->n, &labels, error);
    if (status == SPLAT_OK) {
        status = look_up(sog, &centroids, &labels, (size_t)n_colors, codebook, cloud, error);
        free(labels.rgba);
    }
    free(centroids.rgba);
    return status;
}

/* ---------------------------------------------------------------- the row */

/* Files of before 3.2 of the published tool say it otherwise. */
static splat_render_mode mode_of(const sog_file *sog)
{
    const char *model = json_string_value(json_object_get(sog->meta, "model"));
    bool marked = (model && strcmp(model, "antialiased") == 0) ||
                  json_is_true(json_object_get(sog->meta, "antialias"));
    return marked ? SPLAT_RENDER_MIP : SPLAT_RENDER_AUTO;
}

static splat_status read_pictures(const sog_file *sog, splat_cloud *cloud, splat_error *error)
{
    SPLAT_TRY(splat_cloud_make(cloud, sog->n, sog->sh_degree, false, error));
    cloud->render_mode = mode_of(sog);
    if (sog->n == 0) return SPLAT_OK;
    splat_status status = read_means(sog, cloud, error);
    if (status == SPLAT_OK) status = read_rotations(sog, cloud, error);
    if (status == SPLAT_OK) status = read_indices(sog, "scales", cloud->scales, NULL, error);
    if (status == SPLAT_OK) status = read_indices(sog, "sh0", cloud->sh_dc, cloud->opacities, error);
    if (status == SPLAT_OK && sog->sh_degree > 0) status = read_rest(sog, cloud, error);
    if (status != SPLAT_OK) splat_cloud_free(cloud);
    return status;
}

static splat_status read_sog(const char *path, splat_cloud *cloud, splat_error *error)
{
    sog_file sog;
    memset(cloud, 0, sizeof *cloud);
    SPLAT_TRY(splat_webp_check(path, error));
    splat_status status = open_sog(path, &sog, error);
    if (status == SPLAT_OK) status = read_pictures(&sog, cloud, error);
    close_sog(&sog);
    return status;
}

static splat_status describe_sog(const char *path, splat_cloud_shape *shape, splat_error *error)
{
    sog_file sog;
    SPLAT_TRY(splat_webp_check(path, error));
    splat_status status = open_sog(path, &sog, error);
    if (status == SPLAT_OK)
        *shape = (splat_cloud_shape){.n = sog.n, .sh_degree = sog.sh_degree, .render_mode = mode_of(&sog)};
    close_sog(&sog);
    return status;
}

/* A zip whose first entry is meta.json or a WebP: others hold other splats. */
static bool begins_as_sog(const uint8_t *head, size_t n)
{
    if (n < 30 || memcmp(head, "PK\3\4", 4) != 0) return false;
    size_t length = head[26] | (size_t)head[27] << 8;
    if (length < 5 || length > n - 30) return false;
    const uint8_t *end = head + 30 + length;
    return memcmp(end - 5, ".webp", 5) == 0 || (length >= 9 && memcmp(end - 9, "meta.json", 9) == 0);
}

const splat_cloud_format splat_cloud_format_sog = {
    .name = "SOG",
    .ending = ".sog",
    .description = "pictures in a zip, of PlayCanvas: the smallest; harmonics from a palette of at most 65536",
    .is_packed = true,
    .max_sh_degree = SPLAT_MAX_SH_DEGREE,
    .begins = begins_as_sog,
    .describe = describe_sog,
    .read = read_sog,
    .write = splat_sog_write,
};
