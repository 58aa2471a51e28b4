/* COLMAP's text encoding: '#' comments, one record a line, images on two lines (the second lists 2D points and may be
 * empty). Lines are slices of the file; nothing is copied but names. */
#include "io/colmap/colmap_text.h"

#include "io/colmap/colmap_parse.h"

#include "base/array.h"
#include "base/file.h"
#include "io/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct text {
    const char *next, *end;          /* what is not yet read; *end is NUL */
    const char *cursor, *line_end;   /* the rest of the current line */
    splat_colmap_place place;
} text;

static text text_open(const char *path, const uint8_t *data, size_t size)
{
    const char *start = (const char *)data;
    return (text){start, start + size, start, start, {path, SPLAT_NO_OFFSET, 0}};
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Goes to the next line, blank or not; false at the end of the file. */
static bool next_line(text *t)
{
    if (t->next == t->end) return false;
    const char *newline = memchr(t->next, '\n', (size_t)(t->end - t->next));
    t->cursor = t->next;
    t->line_end = newline ? newline : t->end;
    t->next = newline ? newline + 1 : t->end;
    t->place.line++;
    while (t->line_end > t->cursor && is_space(t->line_end[-1])) t->line_end--;
    return true;
}

static void skip_spaces(text *t)
{
    while (t->cursor < t->line_end && is_space(*t->cursor)) t->cursor++;
}

/* Goes to the next line that is neither blank nor a comment. */
static bool next_record(text *t)
{
    while (next_line(t)) {
        skip_spaces(t);
        if (t->cursor < t->line_end && *t->cursor != '#') return true;
    }
    return false;
}

/* The next word of the line; false at its end. */
static bool next_word(text *t, const char **word, size_t *length)
{
    skip_spaces(t);
    *word = t->cursor;
    while (t->cursor < t->line_end && !is_space(*t->cursor)) t->cursor++;
    *length = (size_t)(t->cursor - *word);
    return *length > 0;
}

static splat_status fail_value(text *t, const char *what, const char *word, size_t length, splat_error *error)
{
    if (length == 0)
        return splat_colmap_fail(&t->place, SPLAT_ERROR_FORMAT, error, "the line ends before its %s", what);
    return splat_colmap_fail(&t->place, SPLAT_ERROR_FORMAT, error, "\"%.*s\" is not a valid %s",
                             (int)(length < 40 ? length : 40), word, what);
}

static splat_status read_real(text *t, const char *what, double *value, splat_error *error)
{
    const char *word;
    char *parsed;
    size_t length;
    if (!next_word(t, &word, &length)) return fail_value(t, what, "", 0, error);
    *value = splat_number_parse(word, &parsed);
    if (parsed != word + length || !isfinite(*value)) return fail_value(t, what, word, length, error);
    return SPLAT_OK;
}

/* Digits only: strtoull would take "-1" for a large number. */
static splat_status read_count(text *t, const char *what, uint64_t maximum, uint64_t *value, splat_error *error)
{
    const char *word;
    size_t length;
    if (!next_word(t, &word, &length)) return fail_value(t, what, "", 0, error);
    uint64_t sum = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = (unsigned)(word[i] - '0');
        if (digit > 9 || sum > (maximum - digit) / 10) return fail_value(t, what, word, length, error);
        sum = 10 * sum + digit;
    }
    *value = sum;
    return SPLAT_OK;
}

static splat_status read_model(text *t, splat_colmap_camera *camera, const splat_lens_form **form,
                               splat_error *error)
{
    const char *word;
    char name[48];
    size_t length;
    if (!next_word(t, &word, &length)) return fail_value(t, "camera model", "", 0, error);
    snprintf(name, sizeof name, "%.*s", (int)(length < 40 ? length : 40), word);
    camera->model_id = splat_lens_find(name);
    return splat_colmap_check_model(camera->model_id, name, camera->id, form, &t->place, error);
}

/* CAMERA_ID MODEL WIDTH HEIGHT PARAMS[] */
static splat_status read_camera(text *t, splat_colmap_camera *camera, splat_error *error)
{
    uint64_t id;
    const splat_lens_form *form;
    double values[SPLAT_LENS_PARAMETERS];
    SPLAT_TRY(read_count(t, "camera id", UINT32_MAX, &id, error));
    camera->id = (uint32_t)id;
    SPLAT_TRY(read_model(t, camera, &form, error));
    SPLAT_TRY(read_count(t, "width", UINT32_MAX, &camera->width, error));
    SPLAT_TRY(read_count(t, "height", UINT32_MAX, &camera->height, error));
    int n = splat_lens_n_parameters(form), first = n - form->n_coefficients;
    for (int i = 0; i < n; i++) {
        const char *what = i < form->n_focals ? "focal length" : i < first ? "principal point"
                                                                           : "coefficient of distortion";
        SPLAT_TRY(read_real(t, what, &values[i], error));
    }
    const char *word;
    size_t length;
    if (next_word(t, &word, &length))
        return splat_colmap_fail(&t->place, SPLAT_ERROR_FORMAT, error,
                                 "the line has more numbers than a %s camera takes", form->name);
    return splat_colmap_set_lens(camera, form, values, &t->place, error);
}

/* A file whose records have ids: `add` reads a record, makes room for it and keeps its id. */
typedef struct records {
    text t;
    splat_colmap_model *model;
    splat_colmap_ids ids;
    size_t capacity;
} records;

static splat_status read_records(const char *path, const uint8_t *data, size_t size, splat_colmap_model *model,
                                 const char *what, splat_status (*add)(records *r, splat_error *error),
                                 splat_error *error)
{
    records r = {.t = text_open(path, data, size), .model = model};
    splat_status status = SPLAT_OK;
    while (status == SPLAT_OK && next_record(&r.t)) status = add(&r, error);
    return splat_colmap_ids_finish(&r.ids, what, path, true, status, error);
}

static splat_status add_camera(records *r, splat_error *error)
{
    splat_colmap_model *model = r->model;
    void *grown = splat_array_grow(model->cameras, &r->capacity, model->n_cameras, sizeof *model->cameras);
    if (!grown) return splat_colmap_fail_memory(r->t.place.path, error);
    model->cameras = grown;
    splat_colmap_camera *camera = &model->cameras[model->n_cameras];
    SPLAT_TRY(read_camera(&r->t, camera, error));
    SPLAT_TRY(splat_colmap_ids_add(&r->ids, camera->id, &r->t.place, error));
    model->n_cameras++;
    return SPLAT_OK;
}

splat_status splat_colmap_parse_cameras_text(const char *path, const uint8_t *data, size_t size,
                                             splat_colmap_model *model, splat_error *error)
{
    return read_records(path, data, size, model, "camera", add_camera, error);
}

/* IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME; the name is the rest of the line, as names may have spaces. */
static splat_status read_image(text *t, const splat_colmap_model *model, splat_colmap_image *image, splat_error *error)
{
    uint64_t id, camera_id;
    SPLAT_TRY(read_count(t, "image id", UINT32_MAX, &id, error));
    for (int k = 0; k < 4; k++) SPLAT_TRY(read_real(t, "quaternion", &image->rotation[k], error));
    for (int k = 0; k < 3; k++) SPLAT_TRY(read_real(t, "translation", &image->translation[k], error));
    SPLAT_TRY(read_count(t, "camera id", UINT32_MAX, &camera_id, error));
    image->id = (uint32_t)id;
    image->camera_id = (uint32_t)camera_id;
    skip_spaces(t);
    size_t length = (size_t)(t->line_end - t->cursor);
    if (memchr(t->cursor, 0, length))
        return splat_colmap_fail(&t->place, SPLAT_ERROR_FORMAT, error, "the image's name contains a NUL byte");
    image->name = strndup(t->cursor, length);
    if (!image->name) return splat_colmap_fail_memory(t->place.path, error);
    return splat_colmap_check_image(model, image, &t->place, error);
}

/* The second line of an image: X Y POINT3D_ID triples, not needed to train. A count that is no multiple of three is
 * most likely the next image of a file that leaves these lines out: every other photo would be lost without a word. */
static splat_status skip_points2d(text *t, const splat_colmap_image *image, splat_error *error)
{
    const char *word;
    size_t n = 0, length;
    if (!next_line(t)) return SPLAT_OK;
    while (next_word(t, &word, &length)) n++;
    if (n % 3 == 0) return SPLAT_OK;
    return splat_colmap_fail(&t->place, SPLAT_ERROR_FORMAT, error,
                             "expected the 2D points of image %" PRIu32 " (X Y POINT3D_ID triples, or an empty line)",
                             image->id);
}

static splat_status add_image(records *r, splat_error *error)
{
    splat_colmap_model *model = r->model;
    void *grown = splat_array_grow(model->images, &r->capacity, model->n_images, sizeof *model->images);
    if (!grown) return splat_colmap_fail_memory(r->t.place.path, error);
    model->images = grown;
    splat_colmap_image *image = &model->images[model->n_images++]; /* counted first: the model frees its name */
    *image = (splat_colmap_image){0};
    SPLAT_TRY(read_image(&r->t, model, image, error));
    SPLAT_TRY(splat_colmap_ids_add(&r->ids, image->id, &r->t.place, error));
    return skip_points2d(&r->t, image, error);
}

splat_status splat_colmap_parse_images_text(const char *path, const uint8_t *data, size_t size,
                                            splat_colmap_model *model, splat_error *error)
{
    return read_records(path, data, size, model, "image", add_image, error);
}

/* ERROR, then (IMAGE_ID POINT2D_IDX) pairs. The error may be a word for a number that is not one. */
static splat_status read_track(text *t, splat_colmap_tracks *tracks, splat_error *error)
{
    const char *word;
    char *parsed;
    size_t length;
    uint64_t image_id, index;
    if (!next_word(t, &word, &length)) return fail_value(t, "error of reprojection", "", 0, error);
    SPLAT_TRY(splat_colmap_tracks_begin(tracks, splat_number_parse(word, &parsed), &t->place, error));
    for (skip_spaces(t); t->cursor < t->line_end; skip_spaces(t)) {
        SPLAT_TRY(read_count(t, "image id of a track", UINT32_MAX, &image_id, error));
        SPLAT_TRY(read_count(t, "2D point of a track", UINT32_MAX, &index, error));
        SPLAT_TRY(splat_colmap_tracks_add(tracks, (uint32_t)image_id, &t->place, error));
    }
    return SPLAT_OK;
}

/* POINT3D_ID X Y Z R G B, and what follows the colour where tracks are asked for. */
static splat_status read_point(text *t, splat_point *point, splat_error *error)
{
    uint64_t value;
    double position[3];
    uint8_t color[3];
    SPLAT_TRY(read_count(t, "point id", UINT64_MAX, &value, error));
    for (int k = 0; k < 3; k++) SPLAT_TRY(read_real(t, "coordinate", &position[k], error));
    for (int k = 0; k < 3; k++) {
        SPLAT_TRY(read_count(t, "colour (0 to 255)", 255, &value, error));
        color[k] = (uint8_t)value;
    }
    return splat_colmap_set_point(point, position, color, &t->place, error);
}

splat_status splat_colmap_parse_points_text(const char *path, const uint8_t *data, size_t size,
                                            splat_colmap_model *model, splat_error *error)
{
    text t = text_open(path, data, size);
    size_t capacity = 0;
    while (next_record(&t)) {
        void *grown = splat_array_grow(model->points, &capacity, model->n_points, sizeof *model->points);
        if (!grown) return splat_colmap_fail_memory(path, error);
        model->points = grown;
        SPLAT_TRY(read_point(&t, &model->points[model->n_points], error));
        if (model->tracks) SPLAT_TRY(read_track(&t, model->tracks, error));
        model->n_points++;
    }
    return SPLAT_OK;
}
