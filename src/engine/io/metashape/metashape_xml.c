/* Metashape's XML by expat: the elements that are open are a path, and what a number means is its own name and those of
 * the elements around it. Everything else is passed over. */
#include "io/metashape/metashape_xml.h"

#include "base/array.h"
#include "base/file.h"
#include "base/plural.h"
#include "io/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void metashape_file_free(metashape_file *file)
{
    for (size_t i = 0; i < file->n_cameras; i++) free(file->cameras[i].label);
    free(file->sensors);
    free(file->components);
    free(file->cameras);
    *file = (metashape_file){0};
}

#if !SPLATSMITH_HAS_EXPAT

splat_status metashape_file_read(const char *path, metashape_file *file, splat_error *error)
{
    *file = (metashape_file){0};
    return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                         "this Splatsmith was built without expat, which reads Metashape's XML; export as COLMAP in "
                         "Metashape, or install libexpat1-dev and build it again");
}

#else

#include <expat.h>

#define MAX_DEPTH 16
#define MAX_NAME 24
#define MAX_TEXT 4096 /* of an element that is read; a matrix has 400 */
#define MAX_SIDE 1000000

typedef struct xml_reader {
    XML_Parser parser;
    metashape_file *file;
    size_t sensor_capacity, component_capacity, camera_capacity;
    char names[MAX_DEPTH][MAX_NAME]; /* of the elements that are open; longer names are none of ours */
    int depth;
    int n_chunks;
    bool is_adjusted;        /* the calibration that is open */
    bool is_taken;           /* and it is better than what the sensor has */
    char text[MAX_TEXT];
    size_t length;
    splat_error *error;
    const char *path;
    splat_status status;
} xml_reader;

static const char *const value_names[MS_VALUES] = {"f",  "cx", "cy", "b1", "b2", "k1", "k2",
                                                   "k3", "k4", "p1", "p2", "p3", "p4"};

static void fail(xml_reader *r, splat_status status, const char *what)
{
    if (r->status != SPLAT_OK) return;
    r->status = splat_fail_line(r->error, status, r->path, XML_GetCurrentLineNumber(r->parser), "%s", what);
    XML_StopParser(r->parser, XML_FALSE);
}

/* The element `up` levels above the one that is open; "" above the root. */
static const char *name_of(const xml_reader *r, int up)
{
    int at = r->depth - 1 - up;
    return at >= 0 && at < MAX_DEPTH ? r->names[at] : "";
}

static bool is_at(const xml_reader *r, int up, const char *name)
{
    return strcmp(name_of(r, up), name) == 0;
}

/* ---------------------------------------------------------------- attributes, numbers */

static const char *attribute(const char **attributes, const char *name)
{
    for (; attributes[0]; attributes += 2)
        if (strcmp(attributes[0], name) == 0) return attributes[1];
    return NULL;
}

/* A whole number from 0; `absent` when there is none. */
static int get_count(xml_reader *r, const char **attributes, const char *name, int absent)
{
    const char *text = attribute(attributes, name);
    char *end;
    if (!text) return absent;
    double value = splat_number_parse(text, &end);
    if (end != text && !*end && value >= 0 && value <= INT32_MAX && value == floor(value)) return (int)value;
    fail(r, SPLAT_ERROR_FORMAT, "an id or a side is no whole number");
    return absent;
}

/* n numbers of the element's text, and nothing else. */
static void get_numbers(xml_reader *r, int n, double *values)
{
    char *at = r->text, *end;
    r->text[r->length] = '\0';
    for (int i = 0; i < n; i++) {
        at += strspn(at, " \t\r\n");
        values[i] = splat_number_parse(at, &end);
        bool is_ended = !*end || strchr(" \t\r\n", *end);
        if (end == at || !is_ended || !isfinite((float)values[i])) {
            char what[96];
            snprintf(what, sizeof what, "<%s> is not %d finite number%s", name_of(r, 0), n, splat_plural((size_t)n));
            fail(r, SPLAT_ERROR_FORMAT, what);
            return;
        }
        at = end;
    }
    if (at[strspn(at, " \t\r\n")]) fail(r, SPLAT_ERROR_FORMAT, "there is more text in an element than numbers");
}

/* ---------------------------------------------------------------- elements that begin */

static metashape_sensor *last_sensor(const xml_reader *r)
{
    return r->file->n_sensors ? &r->file->sensors[r->file->n_sensors - 1] : NULL;
}

static void add_sensor(xml_reader *r, const char **attributes)
{
    metashape_file *file = r->file;
    metashape_sensor *grown = splat_array_grow(file->sensors, &r->sensor_capacity, file->n_sensors, sizeof *grown);
    if (!grown) {
        fail(r, SPLAT_ERROR_MEMORY, "no memory for a sensor");
        return;
    }
    file->sensors = grown;
    metashape_sensor *sensor = &grown[file->n_sensors++];
    const char *type = attribute(attributes, "type");
    *sensor = (metashape_sensor){.id = get_count(r, attributes, "id", -1)};
    snprintf(sensor->type, sizeof sensor->type, "%s", type ? type : "frame");
}

static void begin_calibration(xml_reader *r, const char **attributes)
{
    metashape_sensor *sensor = last_sensor(r);
    const char *class = attribute(attributes, "class"), *type = attribute(attributes, "type");
    r->is_adjusted = class && strcmp(class, "adjusted") == 0;
    r->is_taken = sensor && (!sensor->has_calibration || (r->is_adjusted && !sensor->is_adjusted));
    if (!r->is_taken) return;
    sensor->has_calibration = true;
    sensor->is_adjusted = r->is_adjusted;
    memset(sensor->values, 0, sizeof sensor->values);
    if (type) snprintf(sensor->type, sizeof sensor->type, "%s", type);
}

static void add_component(xml_reader *r, const char **attributes)
{
    metashape_file *file = r->file;
    metashape_placement *grown =
        splat_array_grow(file->components, &r->component_capacity, file->n_components, sizeof *grown);
    if (!grown) {
        fail(r, SPLAT_ERROR_MEMORY, "no memory for a component");
        return;
    }
    file->components = grown;
    grown[file->n_components] = (metashape_placement){.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .scale = 1};
    grown[file->n_components++].id = get_count(r, attributes, "id", -1);
}

static bool is_off(const char *enabled)
{
    return enabled && (strcmp(enabled, "false") == 0 || strcmp(enabled, "0") == 0);
}

static void add_camera(xml_reader *r, const char **attributes)
{
    metashape_file *file = r->file;
    metashape_camera *grown = splat_array_grow(file->cameras, &r->camera_capacity, file->n_cameras, sizeof *grown);
    const char *label = attribute(attributes, "label");
    if (grown) file->cameras = grown;
    char *copy = grown ? strdup(label ? label : "") : NULL;
    if (!copy) {
        fail(r, SPLAT_ERROR_MEMORY, "no memory for a camera");
        return;
    }
    metashape_camera *camera = &grown[file->n_cameras++];
    *camera = (metashape_camera){.label = copy, .is_on = !is_off(attribute(attributes, "enabled"))};
    camera->sensor = get_count(r, attributes, "sensor_id", -1);
    camera->component = get_count(r, attributes, "component_id", -1);
}

static void set_size(xml_reader *r, const char **attributes)
{
    metashape_sensor *sensor = last_sensor(r);
    bool is_sensors = is_at(r, 1, "sensor"), is_calibrations = is_at(r, 1, "calibration") && is_at(r, 2, "sensor");
    if (!sensor || !(is_sensors || (is_calibrations && r->is_taken))) return;
    sensor->width = get_count(r, attributes, "width", 0);
    sensor->height = get_count(r, attributes, "height", 0);
    if (sensor->width > MAX_SIDE || sensor->height > MAX_SIDE) fail(r, SPLAT_ERROR_FORMAT, "a sensor is too large");
}

static void begin(void *user, const XML_Char *name, const XML_Char **attributes)
{
    xml_reader *r = user;
    if (r->status != SPLAT_OK) return;
    if (r->depth >= MAX_DEPTH) {
        fail(r, SPLAT_ERROR_FORMAT, "the elements are nested too deeply");
        return;
    }
    bool fits = strlen(name) < MAX_NAME;
    snprintf(r->names[r->depth++], MAX_NAME, "%s", fits ? name : "");
    r->length = 0;
    if (r->depth == 1 && !is_at(r, 0, "document"))
        fail(r, SPLAT_ERROR_FORMAT, "this is no file of Metashape's cameras: its first element is not <document>");
    else if (is_at(r, 0, "chunk") && r->n_chunks++ > 0)
        fail(r, SPLAT_ERROR_FORMAT, "the file holds several chunks; export the cameras of one");
    else if (is_at(r, 0, "sensor") && is_at(r, 1, "sensors"))
        add_sensor(r, attributes);
    else if (is_at(r, 0, "calibration") && is_at(r, 1, "sensor"))
        begin_calibration(r, attributes);
    else if (is_at(r, 0, "resolution"))
        set_size(r, attributes);
    else if (is_at(r, 0, "component") && is_at(r, 1, "components"))
        add_component(r, attributes);
    else if (is_at(r, 0, "camera") && (is_at(r, 1, "cameras") || is_at(r, 1, "group")))
        add_camera(r, attributes);
}

/* ---------------------------------------------------------------- elements that end */

static void set_value(xml_reader *r)
{
    metashape_sensor *sensor = last_sensor(r);
    for (int i = 0; i < MS_VALUES; i++)
        if (is_at(r, 0, value_names[i])) get_numbers(r, 1, &sensor->values[i]);
}

/* <transform> of a component, or of the chunk. */
static void set_placement(xml_reader *r, metashape_placement *placement)
{
    if (is_at(r, 0, "rotation")) get_numbers(r, 9, placement->rotation);
    if (is_at(r, 0, "translation")) get_numbers(r, 3, placement->translation);
    if (is_at(r, 0, "scale")) get_numbers(r, 1, &placement->scale);
    if (!(placement->scale > 0)) fail(r, SPLAT_ERROR_FORMAT, "the <scale> of a transform is not positive");
}

static void end(void *user, const XML_Char *name)
{
    xml_reader *r = user;
    metashape_file *file = r->file;
    (void)name;
    if (r->status != SPLAT_OK) return;
    if (is_at(r, 1, "calibration") && is_at(r, 2, "sensor") && r->is_taken) {
        set_value(r);
    } else if (is_at(r, 1, "transform") && is_at(r, 2, "component") && file->n_components) {
        set_placement(r, &file->components[file->n_components - 1]);
    } else if (is_at(r, 1, "transform") && is_at(r, 2, "chunk")) {
        set_placement(r, &file->chunk);
    } else if (is_at(r, 0, "transform") && is_at(r, 1, "camera") && file->n_cameras) {
        metashape_camera *camera = &file->cameras[file->n_cameras - 1];
        get_numbers(r, 16, camera->pose);
        camera->has_pose = true;
    }
    r->length = 0;
    r->depth--;
}

/* Lists of ids and covariances may be long: only what fits is kept, and what is read is short. */
static void add_text(void *user, const XML_Char *text, int length)
{
    xml_reader *r = user;
    if (r->length + (size_t)length < MAX_TEXT) {
        memcpy(r->text + r->length, text, (size_t)length);
        r->length += (size_t)length;
    } else {
        r->text[r->length] = '?'; /* no number ends here, and what an element before left is not read */
        r->length = MAX_TEXT - 1;
        r->text[MAX_TEXT - 2] = '?';
    }
}

/* Metashape writes none, and entities could name other files. */
static void refuse_doctype(void *user, const XML_Char *name, const XML_Char *system, const XML_Char *public, int has)
{
    (void)name;
    (void)system;
    (void)public;
    (void)has;
    fail(user, SPLAT_ERROR_FORMAT, "the file has a document type, which Metashape's do not");
}

static splat_status parse(xml_reader *r, const uint8_t *data, size_t size)
{
    XML_SetUserData(r->parser, r);
    XML_SetElementHandler(r->parser, begin, end);
    XML_SetCharacterDataHandler(r->parser, add_text);
    XML_SetStartDoctypeDeclHandler(r->parser, refuse_doctype);
    if (size > INT32_MAX) fail(r, SPLAT_ERROR_FORMAT, "the file is too large");
    enum XML_Status parsed = r->status == SPLAT_OK ? XML_Parse(r->parser, (const char *)data, (int)size, 1)
                                                   : XML_STATUS_OK;
    if (parsed == XML_STATUS_ERROR) {
        enum XML_Error code = XML_GetErrorCode(r->parser);
        char what[128];
        snprintf(what, sizeof what, "the file is no valid XML: %s", XML_ErrorString(code));
        fail(r, code == XML_ERROR_NO_MEMORY ? SPLAT_ERROR_MEMORY : SPLAT_ERROR_FORMAT, what);
    }
    return r->status;
}

splat_status metashape_file_read(const char *path, metashape_file *file, splat_error *error)
{
    uint8_t *data = NULL;
    size_t size = 0;
    xml_reader r = {.file = file, .error = error, .path = path};
    *file = (metashape_file){.chunk = {-1, {1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}, 1}};
    SPLAT_TRY(splat_file_read(path, &data, &size, error));
    r.parser = XML_ParserCreate(NULL);
    splat_status status = r.parser ? parse(&r, data, size)
                                   : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to read Metashape's XML");
    if (r.parser) XML_ParserFree(r.parser);
    free(data);
    if (status != SPLAT_OK) metashape_file_free(file);
    return status;
}

#endif
