/* Messages of the viewer's clients. */
#include "viewer/message.h"

#include "io/json.h"
#include "math/camera.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

static const char *const kind_names[SPLAT_VIEWER_N_KINDS] = {"color", "depth", "normal", "alpha", "density",
                                                           "error", "photo", "shaded"};
static const char *const command_names[SPLAT_VIEWER_N_COMMANDS] = {"pause", "go on", "save", "stop"};

#define FAIL(what) splat_fail(error, SPLAT_ERROR_FORMAT, "a viewer's message " what)

/* An array of n finite numbers of at most `most`. */
static bool read_numbers(const json_t *array, size_t n, double most, double *out)
{
    if (!json_is_array(array) || json_array_size(array) != n) return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_number(item)) return false;
        out[i] = json_number_value(item);
        if (!(fabs(out[i]) <= most)) return false; /* NaN, too */
    }
    return true;
}

static bool read_seq(const json_t *value, uint32_t *seq)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > UINT32_MAX)
        return false;
    *seq = (uint32_t)json_integer_value(value);
    return true;
}

static splat_status read_camera(const json_t *root, const json_t *object, splat_viewer_wish *wish, splat_error *error)
{
    double position[3], q[4], sides[2];
    const json_t *fov = json_object_get(object, "fov_y");
    if (!json_is_object(object)) return FAIL("has a camera that is no object");
    if (!read_seq(json_object_get(object, "seq"), &wish->seq)) return FAIL("has no seq from 0 to 4294967295");
    if (!read_numbers(json_object_get(object, "position"), 3, 1e7, position)) return FAIL("has no position");
    if (!read_numbers(json_object_get(object, "quaternion"), 4, 1e3, q)) return FAIL("has no quaternion");
    if (!(sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]) > 1e-6))
        return FAIL("has a quaternion of length 0");
    if (!json_is_number(fov) || !(json_number_value(fov) >= 1 && json_number_value(fov) <= 160))
        return FAIL("has no fov_y from 1 to 160 degrees");
    if (!read_numbers(json_object_get(root, "size"), 2, SPLAT_VIEWER_SIDE_MAX, sides)) return FAIL("has no size");
    if (sides[0] < 16 || sides[1] < 16 || sides[0] * sides[1] > SPLAT_VIEWER_PIXELS_MAX)
        return FAIL("wants a picture that is too small or too large");
    splat_camera_look(&wish->camera, position, q, json_number_value(fov), (int)sides[0], (int)sides[1]);
    return SPLAT_OK;
}

/* Which of the names a text is; n: none of them. */
static int find_name(const json_t *text, const char *const names[], int n)
{
    int i = 0;
    while (i < n && (!json_is_string(text) || strcmp(names[i], json_string_value(text)) != 0)) i++;
    return i;
}

static splat_status read_box(const json_t *array, splat_viewer_wish *wish, splat_error *error)
{
    double corners[6];
    wish->has_box = array != NULL;
    if (!array) return SPLAT_OK;
    if (!read_numbers(array, 6, 1e7, corners)) return FAIL("has a box that is not six numbers");
    for (int k = 0; k < 3; k++) {
        if (corners[k] > corners[3 + k]) return FAIL("has a box whose lower corner is not the lower one");
        wish->box.low[k] = corners[k];
        wish->box.high[k] = corners[3 + k];
    }
    return SPLAT_OK;
}

static splat_status read_wish(const json_t *root, const json_t *camera, splat_viewer_wish *wish, splat_error *error)
{
    const json_t *what = json_object_get(root, "what"), *moving = json_object_get(root, "moving"),
                 *view = json_object_get(root, "view");
    int kind = what ? find_name(what, kind_names, SPLAT_VIEWER_N_KINDS) : SPLAT_VIEWER_COLOR;
    if (kind == SPLAT_VIEWER_N_KINDS) return FAIL("wants an unknown kind of picture");
    if (moving && !json_is_boolean(moving)) return FAIL("has a moving that is neither true nor false");
    if (view && (!json_is_integer(view) || json_integer_value(view) < -1 || json_integer_value(view) > INT32_MAX))
        return FAIL("has a view that is no number from -1 on");
    wish->kind = (splat_viewer_kind)kind;
    wish->moving = json_is_true(moving);
    wish->scaling = 1;
    wish->view = view ? (int32_t)json_integer_value(view) : -1;
    if (wish->view < 0 && (kind == SPLAT_VIEWER_ERROR || kind == SPLAT_VIEWER_PHOTO))
        return FAIL("wants a photo, but names no view");
    SPLAT_TRY(read_box(json_object_get(root, "box"), wish, error));
    return read_camera(root, camera, wish, error);
}

static splat_status read_message(const json_t *root, splat_viewer_message *read, splat_error *error)
{
    const json_t *ack = json_object_get(root, "ack"), *camera = json_object_get(root, "camera"),
                 *command = json_object_get(root, "do"), *sees = json_object_get(root, "sees");
    int number = find_name(command, command_names, SPLAT_VIEWER_N_COMMANDS);
    if (!json_is_object(root) || (!ack && !camera && !command && !sees)) return FAIL("asks for nothing");
    if (ack && !read_seq(ack, &read->ack)) return FAIL("has an ack that is no number");
    if (command && number == SPLAT_VIEWER_N_COMMANDS) return FAIL("has an unknown do");
    if (sees && !json_is_boolean(sees)) return FAIL("has a sees that is neither true nor false");
    read->has_ack = ack != NULL;
    read->has_wish = camera != NULL;
    read->has_command = command != NULL;
    read->command = (splat_viewer_command)(command ? number : 0);
    read->has_sight = sees != NULL;
    read->sees = json_is_true(sees);
    return camera ? read_wish(root, camera, &read->wish, error) : SPLAT_OK;
}

splat_status splat_viewer_message_parse(const char *text, size_t size, splat_viewer_message *message,
                                        splat_error *error)
{
    json_t *root;
    splat_viewer_message read = {0};
    if (size > SPLAT_VIEWER_MESSAGE_MAX) return FAIL("is too long");
    SPLAT_TRY(splat_json_parse_message("a viewer's message", text, size, &root, error));
    splat_status status = read_message(root, &read, error);
    json_decref(root);
    if (status == SPLAT_OK) *message = read;
    return status;
}

static void put(uint8_t *at, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * i);
}

void splat_viewer_header_write(uint8_t header[SPLAT_VIEWER_HEADER_BYTES], uint32_t seq, uint32_t step, int width,
                               int height, splat_viewer_kind kind, bool full)
{
    memcpy(header, "SPLV", 4);
    put(header + 4, seq, 4);
    put(header + 8, step, 4);
    put(header + 12, (uint32_t)width, 2);
    put(header + 14, (uint32_t)height, 2);
    put(header + 16, (uint32_t)kind, 2);
    put(header + 18, full, 2);
}

splat_camera splat_viewer_scale_camera(const splat_camera *camera, double factor)
{
    splat_camera c = *camera;
    c.width = (int32_t)fmax(16, floor(camera->width * factor + 0.5));
    c.height = (int32_t)fmax(16, floor(camera->height * factor + 0.5));
    float x = (float)c.width / (float)camera->width, y = (float)c.height / (float)camera->height;
    c.fx *= x;
    c.cx *= x;
    c.fy *= y;
    c.cy *= y;
    return c;
}

/* ---------------------------------------------------------------- headers */

/* The length of the name in "name", "name:port", "[address]" or "[address]:port"; 0: none of these. */
static size_t name_length(const char *host)
{
    size_t length = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    if (length > strlen(host)) return 0;
    const char *port = host + length;
    if (*port && (*port != ':' || !port[1] || port[1 + strspn(port + 1, "0123456789")])) return 0;
    return length;
}

static bool is_address(const char *name, size_t length)
{
    if (name[0] == '[') return strspn(name + 1, "0123456789abcdefABCDEF:.") == length - 2;
    size_t dots = 0;
    for (size_t i = 0; i < length; i++) {
        if (name[i] == '.')
            dots++;
        else if (!isdigit((unsigned char)name[i]))
            return false;
    }
    return dots == 3;
}

bool splat_viewer_host_is_good(const char *host, const char *bound)
{
    size_t length = host ? name_length(host) : 0;
    if (length == 0) return false;
    return is_address(host, length) || (length == 9 && strncasecmp(host, "localhost", 9) == 0) ||
           (bound && strlen(bound) == length && strncasecmp(host, bound, length) == 0);
}

bool splat_viewer_origin_is_good(const char *origin, const char *host)
{
    if (!origin) return true;
    const char *name = strncmp(origin, "http://", 7) == 0    ? origin + 7
                       : strncmp(origin, "https://", 8) == 0 ? origin + 8
                                                             : NULL;
    return name && host && strcasecmp(name, host) == 0;
}
