/* Reading a COLMAP model, and its binary encoding (text: colmap_text.c). Layouts: COLMAP's documentation, "Output
 * Format". */
#include "io/colmap/colmap_read.h"

#include "io/colmap/colmap_parse.h"
#include "io/colmap/colmap_text.h"

#include "base/file.h"
#include "base/reader.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---------------------------------------------------------------- binary */

/* Reads the count that starts each file. At least min_size bytes of every record must be there: checked before any
 * memory is asked for. */
static splat_status read_count(splat_reader *reader, const char *path, size_t min_size, const char *what, size_t *count,
                               splat_error *error)
{
    uint64_t n = splat_read_u64(reader);
    if (reader->failed)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, 0, "the file ends before its count of %s", what);
    if (n > splat_reader_left(reader) / min_size)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, 0,
                             "the file claims %" PRIu64 " %s, but only %zu bytes follow; it is truncated or corrupt", n,
                             what, splat_reader_left(reader));
    *count = (size_t)n;
    return SPLAT_OK;
}

static splat_status fail_truncated(const splat_colmap_place *place, const char *what, size_t index, splat_error *error)
{
    return splat_colmap_fail(place, SPLAT_ERROR_FORMAT, error,
                             "the file ends inside %s %zu; it is truncated or corrupt", what, index + 1);
}

/* Bytes after the last record mean that the count is wrong: photos or points would be lost without a word. */
static splat_status check_end(const splat_reader *reader, const char *path, const char *what, splat_error *error)
{
    if (splat_reader_left(reader) == 0) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, reader->position,
                         "%zu bytes follow the last of the %s; the file is corrupt", splat_reader_left(reader), what);
}

static splat_status read_camera(splat_reader *reader, size_t index, const splat_colmap_place *place,
                                splat_colmap_camera *camera, splat_error *error)
{
    camera->id = splat_read_u32(reader);
    camera->model_id = splat_read_i32(reader);
    camera->width = splat_read_u64(reader);
    camera->height = splat_read_u64(reader);
    if (reader->failed) return fail_truncated(place, "camera", index, error);
    char number[32];
    const splat_lens_form *form;
    double values[SPLAT_LENS_PARAMETERS];
    snprintf(number, sizeof number, "model %d", camera->model_id);
    SPLAT_TRY(splat_colmap_check_model(camera->model_id, number, camera->id, &form, place, error));
    for (int i = 0; i < splat_lens_n_parameters(form); i++) values[i] = splat_read_f64(reader);
    if (reader->failed) return fail_truncated(place, "camera", index, error);
    return splat_colmap_set_lens(camera, form, values, place, error);
}

static splat_status parse_cameras_binary(const char *path, const uint8_t *data, size_t size, splat_colmap_model *model,
                                         splat_error *error)
{
    splat_reader reader = splat_reader_make(data, size);
    splat_colmap_ids ids = {0};
    size_t count;
    SPLAT_TRY(read_count(&reader, path, 24 + 2 * 8, "cameras", &count, error));
    model->cameras = calloc(count ? count : 1, sizeof *model->cameras);
    if (!model->cameras) return splat_colmap_fail_memory(path, error);
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < count && status == SPLAT_OK; i++) {
        splat_colmap_place place = {path, reader.position, 0};
        status = read_camera(&reader, i, &place, &model->cameras[i], error);
        if (status == SPLAT_OK) status = splat_colmap_ids_add(&ids, model->cameras[i].id, &place, error);
        if (status == SPLAT_OK) model->n_cameras++;
    }
    if (status == SPLAT_OK) status = check_end(&reader, path, "cameras", error);
    return splat_colmap_ids_finish(&ids, "camera", path, false, status, error);
}

static splat_status read_image(splat_reader *reader, const splat_colmap_model *model, size_t index,
                               const splat_colmap_place *place, splat_colmap_image *image, splat_error *error)
{
    image->id = splat_read_u32(reader);
    for (int k = 0; k < 4; k++) image->rotation[k] = splat_read_f64(reader);
    for (int k = 0; k < 3; k++) image->translation[k] = splat_read_f64(reader);
    image->camera_id = splat_read_u32(reader);
    const uint8_t *name = reader->data + reader->position;
    const uint8_t *end = reader->failed ? NULL : memchr(name, 0, splat_reader_left(reader));
    if (!end) return fail_truncated(place, "image", index, error);
    image->name = strdup((const char *)name);
    if (!image->name) return splat_colmap_fail_memory(place->path, error);
    splat_read_skip(reader, (size_t)(end - name) + 1);
    uint64_t n_points2d = splat_read_u64(reader);
    if (reader->failed || n_points2d > splat_reader_left(reader) / 24)
        return fail_truncated(place, "image", index, error);
    splat_read_skip(reader, (size_t)n_points2d * 24); /* x, y, POINT3D_ID: not needed to train */
    return splat_colmap_check_image(model, image, place, error);
}

static splat_status parse_images_binary(const char *path, const uint8_t *data, size_t size, splat_colmap_model *model,
                                        splat_error *error)
{
    splat_reader reader = splat_reader_make(data, size);
    splat_colmap_ids ids = {0};
    size_t count;
    SPLAT_TRY(read_count(&reader, path, 4 + 7 * 8 + 4 + 1 + 8, "images", &count, error));
    model->images = calloc(count ? count : 1, sizeof *model->images);
    if (!model->images) return splat_colmap_fail_memory(path, error);
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < count && status == SPLAT_OK; i++) {
        splat_colmap_place place = {path, reader.position, 0};
        model->n_images++; /* before reading: a name already stored is freed with the model */
        status = read_image(&reader, model, i, &place, &model->images[i], error);
        if (status == SPLAT_OK) status = splat_colmap_ids_add(&ids, model->images[i].id, &place, error);
    }
    if (status == SPLAT_OK) status = check_end(&reader, path, "images", error);
    return splat_colmap_ids_finish(&ids, "image", path, false, status, error);
}

/* The images of a point; all bytes are there. */
static splat_status read_track(splat_reader *reader, uint64_t n, double error_pixels, splat_colmap_tracks *tracks,
                               const splat_colmap_place *place, splat_error *error)
{
    SPLAT_TRY(splat_colmap_tracks_begin(tracks, error_pixels, place, error));
    for (uint64_t i = 0; i < n; i++) {
        SPLAT_TRY(splat_colmap_tracks_add(tracks, splat_read_u32(reader), place, error));
        splat_read_skip(reader, 4); /* POINT2D_IDX */
    }
    return SPLAT_OK;
}

static splat_status parse_points_binary(const char *path, const uint8_t *data, size_t size, splat_colmap_model *model,
                                        splat_error *error)
{
    splat_reader reader = splat_reader_make(data, size);
    size_t count;
    SPLAT_TRY(read_count(&reader, path, 8 + 3 * 8 + 3 + 8 + 8, "points", &count, error));
    model->points = calloc(count ? count : 1, sizeof *model->points);
    if (!model->points) return splat_colmap_fail_memory(path, error);
    for (size_t i = 0; i < count; i++) {
        splat_colmap_place place = {path, reader.position, 0};
        double position[3];
        uint8_t color[3];
        splat_read_skip(&reader, 8); /* POINT3D_ID */
        for (int k = 0; k < 3; k++) position[k] = splat_read_f64(&reader);
        splat_read_bytes(&reader, color, 3);
        double error_pixels = splat_read_f64(&reader);
        uint64_t track = splat_read_u64(&reader);
        if (reader.failed || track > splat_reader_left(&reader) / 8) return fail_truncated(&place, "point", i, error);
        if (model->tracks)
            SPLAT_TRY(read_track(&reader, track, error_pixels, model->tracks, &place, error));
        else
            splat_read_skip(&reader, (size_t)track * 8);
        SPLAT_TRY(splat_colmap_set_point(&model->points[i], position, color, &place, error));
        model->n_points++;
    }
    return check_end(&reader, path, "points", error);
}

/* ---------------------------------------------------------------- folders */

/* Parses folder/stem.bin, or folder/stem.txt when that is absent. *found_path is malloc'd; NULL: neither exists. */
static splat_status parse_file(const char *folder, const char *stem, splat_colmap_parser *binary,
                               splat_colmap_parser *text, splat_colmap_model *model, char **found_path,
                               splat_error *error)
{
    splat_colmap_parser *const parsers[2] = {binary, text};
    *found_path = NULL;
    for (int i = 0; i < 2; i++) {
        char *path = splat_format("%s/%s.%s", folder, stem, i == 0 ? "bin" : "txt");
        if (!path) return splat_colmap_fail_memory(folder, error);
        if (!splat_path_exists(path)) {
            free(path);
            continue;
        }
        *found_path = path;
        uint8_t *data;
        size_t size;
        SPLAT_TRY(splat_file_read(path, &data, &size, error));
        splat_status status = parsers[i](path, data, size, model, error);
        free(data);
        return status;
    }
    return SPLAT_OK;
}

static splat_status fail_absent(const char *folder, const char *stem, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_IO, folder, SPLAT_NO_OFFSET,
                         "the COLMAP model has neither %s.bin nor %s.txt; find the cameras with \"splatsmith cameras "
                         "PHOTOS -o SCENE\" or name another folder", stem, stem);
}

splat_status splat_colmap_read(const char *folder, splat_colmap_model *model, splat_error *error)
{
    *model = (splat_colmap_model){0};
    char *path = NULL;
    splat_status status = parse_file(folder, "cameras", parse_cameras_binary, splat_colmap_parse_cameras_text, model,
                                     &path, error);
    if (status == SPLAT_OK && !path) status = fail_absent(folder, "cameras", error);
    if (status == SPLAT_OK && model->n_cameras == 0)
        status = splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET, "the file has no cameras");
    free(path);
    path = NULL;
    if (status == SPLAT_OK) {
        qsort(model->cameras, model->n_cameras, sizeof *model->cameras, splat_colmap_compare_cameras);
        status = parse_file(folder, "images", parse_images_binary, splat_colmap_parse_images_text, model, &path, error);
    }
    if (status == SPLAT_OK && !path) status = fail_absent(folder, "images", error);
    if (status == SPLAT_OK && model->n_images == 0)
        status = splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET, "the file has no images");
    free(path);
    if (status != SPLAT_OK) splat_colmap_free(model);
    return status;
}

splat_status splat_colmap_read_points(const char *folder, splat_colmap_model *model, splat_error *error)
{
    free(model->points);
    model->points = NULL;
    model->n_points = 0;
    char *path;
    splat_status status = parse_file(folder, "points3D", parse_points_binary, splat_colmap_parse_points_text, model,
                                     &path, error);
    free(path);
    if (status == SPLAT_OK) return SPLAT_OK;
    free(model->points);
    model->points = NULL;
    model->n_points = 0;
    return status;
}

void splat_colmap_free(splat_colmap_model *model)
{
    for (size_t i = 0; i < model->n_images; i++) free(model->images[i].name);
    free(model->cameras);
    free(model->images);
    free(model->points);
    *model = (splat_colmap_model){0};
}

/* Every second line that is no comment: an image's own, and that of its 2D points, which may be empty. */
static uint64_t count_lines(const uint8_t *data, size_t size)
{
    uint64_t n = 0;
    bool is_points = false;
    for (size_t begin = 0; begin < size;) {
        const uint8_t *end = memchr(data + begin, '\n', size - begin);
        size_t length = end ? (size_t)(end - data) - begin : size - begin;
        if (is_points)
            is_points = false;
        else if (length > 0 && data[begin] != '#' && data[begin] != '\r') {
            n++;
            is_points = true;
        }
        begin += length + 1;
    }
    return n;
}

/* The first number of images.bin, which may have gigabytes of 2D points. */
static uint64_t count_binary(const char *path)
{
    uint8_t header[8];
    uint64_t size;
    FILE *stream;
    if (splat_file_open_stream(path, &stream, &size, NULL) != SPLAT_OK) return 0;
    splat_reader reader = splat_reader_make(header, fread(header, 1, sizeof header, stream));
    fclose(stream);
    return splat_read_u64(&reader);
}

static uint64_t count_text(const char *path)
{
    uint8_t *data = NULL;
    size_t size;
    if (splat_file_read(path, &data, &size, NULL) != SPLAT_OK) return 0;
    uint64_t n = count_lines(data, size);
    free(data);
    return n;
}

uint64_t splat_colmap_count_images(const char *folder)
{
    uint64_t n = 0;
    for (int is_text = 0; is_text < 2 && n == 0; is_text++) {
        char *path = splat_format("%s/images.%s", folder, is_text ? "txt" : "bin");
        if (path && splat_path_exists(path)) n = is_text ? count_text(path) : count_binary(path);
        free(path);
    }
    return n;
}
