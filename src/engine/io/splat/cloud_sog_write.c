/* Writing SOG: pictures of bytes, codebooks, a palette of harmonics. */
#include "io/splat/cloud_sog_write.h"

#include "base/file.h"
#include "io/json.h"
#include "io/splat/packed.h"
#include "io/zip/zip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRIES = 8 };

typedef struct sog_writer {
    const splat_cloud *cloud;
    uint32_t *order; /* the Gaussian of each pixel */
    uint8_t *rgba;   /* [height][width][4], of the picture in work */
    int width, height;
    json_t *meta;
    splat_zip_entry entries[MAX_ENTRIES];
    size_t n_entries;
} sog_writer;

static splat_status no_memory(const sog_writer *w, splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to pack %zu Gaussians", w->cloud->n);
}

/* ---------------------------------------------------------------- parts of meta.json */

static json_t *number_list(const float *values, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) splat_json_append(&list, json_real((double)values[i]));
    return list;
}

static json_t *file_list(const char *first, const char *second)
{
    json_t *list = json_array();
    splat_json_append(&list, json_string(first));
    if (second) splat_json_append(&list, json_string(second));
    return list;
}

/* ---------------------------------------------------------------- pictures */

static splat_status add_picture_of(sog_writer *w, const char *name, const uint8_t *rgba, int width, int height,
                                   splat_error *error)
{
    uint8_t *data;
    size_t size;
    SPLAT_TRY(splat_webp_encode(rgba, width, height, &data, &size, error));
    w->entries[w->n_entries++] = (splat_zip_entry){name, data, size};
    return SPLAT_OK;
}

static splat_status add_picture(sog_writer *w, const char *name, splat_error *error)
{
    return add_picture_of(w, name, w->rgba, w->width, w->height, error);
}

static double log_position(float x)
{
    return copysign(log1p(fabs((double)x)), (double)x);
}

static splat_status add_means(sog_writer *w, splat_error *error)
{
    const splat_cloud *c = w->cloud;
    float low[3] = {0}, high[3] = {0};
    for (size_t i = 0; i < 3 * c->n; i++) {
        float x = (float)log_position(c->means[i]);
        low[i % 3] = i < 3 ? x : fminf(low[i % 3], x);
        high[i % 3] = i < 3 ? x : fmaxf(high[i % 3], x);
    }
    for (int byte = 0; byte < 2; byte++) {
        for (size_t i = 0; i < 4 * c->n; i++) {
            size_t k = i % 4;
            w->rgba[i] = 255;
            if (k == 3) continue;
            double size = (double)high[k] - (double)low[k];
            double x = log_position(c->means[3 * w->order[i / 4] + k]) - (double)low[k];
            w->rgba[i] = (uint8_t)(splat_packed_round(size > 0 ? 65535 * x / size : 0, 65535) >> 8 * byte);
        }
        SPLAT_TRY(add_picture(w, byte ? "means_u.webp" : "means_l.webp", error));
    }
    json_t *means = json_object();
    splat_json_set(&means, "mins", number_list(low, 3));
    splat_json_set(&means, "maxs", number_list(high, 3));
    splat_json_set(&means, "files", file_list("means_l.webp", "means_u.webp"));
    splat_json_set(&w->meta, "means", means);
    return SPLAT_OK;
}

static void pack_rotation(const float rotation[4], uint8_t pixel[4])
{
    double q[4];
    int largest = 0, n = 0;
    splat_packed_quaternion(rotation, q);
    for (int k = 1; k < 4; k++)
        if (fabs(q[k]) > fabs(q[largest])) largest = k;
    for (int k = 0; k < 4; k++)
        if (k != largest)
            pixel[n++] = (uint8_t)splat_packed_round(255 * ((q[largest] < 0 ? -q[k] : q[k]) * M_SQRT1_2 + 0.5), 255);
    pixel[3] = (uint8_t)(252 + largest);
}

static splat_status add_rotations(sog_writer *w, splat_error *error)
{
    json_t *quats = json_object();
    for (size_t i = 0; i < w->cloud->n; i++)
        pack_rotation(w->cloud->rotations + 4 * w->order[i], w->rgba + 4 * i);
    splat_json_set(&quats, "files", file_list("quats.webp", NULL));
    splat_json_set(&w->meta, "quats", quats);
    return add_picture(w, "quats.webp", error);
}

/* Three numbers a Gaussian as indices of a codebook, and the opacity in alpha where there is one. */
static splat_status add_indices(sog_writer *w, const char *object, const char *name, const float *values,
                                const float *opacities, splat_error *error)
{
    float codebook[SPLAT_CODEBOOK_SIZE];
    json_t *part = json_object();
    splat_status status = splat_codebook_make(values, 3 * w->cloud->n, codebook, error);
    for (size_t i = 0; status == SPLAT_OK && i < w->cloud->n; i++) {
        size_t from = w->order[i];
        for (size_t k = 0; k < 3; k++) w->rgba[4 * i + k] = splat_codebook_find(codebook, values[3 * from + k]);
        double alpha = opacities ? splat_packed_opacity(opacities[from]) : 1;
        w->rgba[4 * i + 3] = (uint8_t)splat_packed_round(255 * alpha, 255);
    }
    splat_json_set(&part, "codebook", number_list(codebook, SPLAT_CODEBOOK_SIZE));
    splat_json_set(&part, "files", file_list(name, NULL));
    splat_json_set(&w->meta, object, part);
    return status == SPLAT_OK ? add_picture(w, name, error) : status;
}

/* ---------------------------------------------------------------- harmonics */

/* As many as the format's own tool takes: 1024 times a power of two up to 64; of few Gaussians each has its own. */
static size_t choose_palette(size_t n)
{
    size_t n_colors = 1024;
    while (n_colors < 65536 && 2 * n_colors <= n) n_colors *= 2;
    return n < n_colors ? n : n_colors;
}

static splat_status draw_palette(sog_writer *w, const float *colors, size_t n_colors, size_t n_rest,
                                 splat_error *error)
{
    float codebook[SPLAT_CODEBOOK_SIZE];
    size_t width = SPLAT_SOG_COLUMNS * n_rest / 3, height = (n_colors + SPLAT_SOG_COLUMNS - 1) / SPLAT_SOG_COLUMNS;
    json_t *part = json_object();
    uint8_t *rgba = calloc(width * height, 4);
    splat_status status = rgba ? splat_codebook_make(colors, n_colors * n_rest, codebook, error) : no_memory(w, error);
    for (size_t i = 0; status == SPLAT_OK && i < n_colors; i++) {
        uint8_t *row = rgba + 4 * (i / SPLAT_SOG_COLUMNS * width + i % SPLAT_SOG_COLUMNS * (n_rest / 3));
        for (size_t k = 0; k < n_rest; k++)
            row[4 * (k / 3) + k % 3] = splat_codebook_find(codebook, colors[n_rest * i + k]);
    }
    for (size_t i = 0; rgba && i < width * height; i++) rgba[4 * i + 3] = 255;
    if (status == SPLAT_OK)
        status = add_picture_of(w, "shN_centroids.webp", rgba, (int)width, (int)height, error);
    free(rgba);
    splat_json_set(&part, "count", json_integer((json_int_t)n_colors));
    splat_json_set(&part, "bands", json_integer(w->cloud->sh_degree));
    if (status == SPLAT_OK) splat_json_set(&part, "codebook", number_list(codebook, SPLAT_CODEBOOK_SIZE));
    splat_json_set(&part, "files", file_list("shN_centroids.webp", "shN_labels.webp"));
    splat_json_set(&w->meta, "shN", part);
    return status;
}

static splat_status add_rest(sog_writer *w, splat_error *error)
{
    const splat_cloud *c = w->cloud;
    size_t n_rest = splat_sh_rest_floats(c->sh_degree), n_colors = choose_palette(c->n), n_made;
    float *colors = malloc(n_colors * n_rest * sizeof *colors);
    uint32_t *labels = malloc(c->n * sizeof *labels);
    splat_status status = colors && labels ? SPLAT_OK : no_memory(w, error);
    if (status == SPLAT_OK)
        status = splat_palette_make(c->sh_rest, c->n, n_rest, n_colors, colors, &n_made, labels, error);
    if (status == SPLAT_OK) status = draw_palette(w, colors, n_made, n_rest, error);
    for (size_t i = 0; status == SPLAT_OK && i < c->n; i++) {
        uint32_t label = labels[w->order[i]];
        const uint8_t pixel[4] = {(uint8_t)label, (uint8_t)(label >> 8), 0, 255};
        memcpy(w->rgba + 4 * i, pixel, sizeof pixel);
    }
    if (status == SPLAT_OK) status = add_picture(w, "shN_labels.webp", error);
    free(colors);
    free(labels);
    return status;
}

/* ---------------------------------------------------------------- the file */

static splat_status add_pictures(sog_writer *w, splat_error *error)
{
    const splat_cloud *c = w->cloud;
    SPLAT_TRY(add_means(w, error));
    SPLAT_TRY(add_rotations(w, error));
    SPLAT_TRY(add_indices(w, "scales", "scales.webp", c->scales, NULL, error));
    SPLAT_TRY(add_indices(w, "sh0", "sh0.webp", c->sh_dc, c->opacities, error));
    return c->sh_degree > 0 && c->n > 0 ? add_rest(w, error) : SPLAT_OK;
}

static splat_status save(sog_writer *w, const char *path, splat_error *error)
{
    splat_save file;
    char *text = splat_json_print(w->meta, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!text) return no_memory(w, error);
    w->entries[w->n_entries++] = (splat_zip_entry){"meta.json", (uint8_t *)text, strlen(text)};
    SPLAT_TRY(splat_save_open(&file, path, error));
    if (splat_zip_write(file.stream, w->entries, w->n_entries)) return splat_save_commit(&file, error);
    splat_save_abort(&file);
    return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, path, SPLAT_NO_OFFSET,
                         "the SOG file would pass 4 GiB, which a zip cannot hold");
}

/* Nearly square, both sides multiples of 4. */
static splat_status make_room(sog_writer *w, const char *path, splat_error *error)
{
    size_t n = w->cloud->n ? w->cloud->n : 1;
    size_t width = (size_t)ceil(sqrt((double)n) / 4) * 4, height = ((n + width - 1) / width + 3) / 4 * 4;
    if (width > SPLAT_WEBP_MAX_SIDE)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, path, SPLAT_NO_OFFSET,
                             "%zu Gaussians are more than one SOG file holds", n);
    w->width = (int)width;
    w->height = (int)height;
    w->order = malloc(n * sizeof *w->order);
    w->rgba = calloc(width * height, 4);
    return w->order && w->rgba ? splat_packed_order(w->cloud, w->order, error) : no_memory(w, error);
}

splat_status splat_sog_write(const char *path, const splat_cloud *cloud, const splat_save_options *options,
                             splat_error *error)
{
    sog_writer w = {.cloud = cloud};
    (void)options; /* it has no choices */
    SPLAT_TRY(splat_webp_check(path, error));
    json_t *asset = json_object();
    w.meta = json_object();
    splat_json_set(&w.meta, "version", json_integer(2));
    splat_json_set(&asset, "generator", json_string("Splatsmith"));
    splat_json_set(&w.meta, "asset", asset);
    splat_json_set(&w.meta, "count", json_integer((json_int_t)cloud->n));
    if (cloud->render_mode == SPLAT_RENDER_MIP) splat_json_set(&w.meta, "model", json_string("antialiased"));
    splat_status status = make_room(&w, path, error);
    if (status == SPLAT_OK) status = add_pictures(&w, error);
    if (status == SPLAT_OK) status = save(&w, path, error);
    for (size_t i = 0; i < w.n_entries; i++) free((void *)(uintptr_t)w.entries[i].data);
    json_decref(w.meta);
    free(w.order);
    free(w.rgba);
    return status;
}
