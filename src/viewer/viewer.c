/* The viewer: pictures of a model for those who look. */
#include "viewer/server.h"

#include "base/clock.h"
#include "base/options.h"
#include "io/picture/colormap.h"
#include "io/picture/image.h"
#include "math/camera.h"
#include "model/model.h"
#include "scene/scene.h"
#include "viewer/start_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define MOVING_SECONDS 0.05 /* what a picture may take while the camera moves: it is made smaller until it does */
#define MOVING_SMALLEST 0.125

void splat_viewer_options_init_sized(splat_viewer_options *options, size_t size)
{
    const splat_viewer_options defaults = {.port = 8080};
    splat_options_give(options, size, &defaults, sizeof defaults);
}

static splat_status make_token(char token[SPLAT_VIEWER_TOKEN_LENGTH + 1], splat_error *error)
{
    uint8_t random[SPLAT_VIEWER_TOKEN_LENGTH / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return splat_fail(error, SPLAT_ERROR_IO, "the system gives no random bytes for the viewer's token");
    for (size_t i = 0; i < sizeof random; i++) snprintf(token + 2 * i, 3, "%02x", random[i]);
    return SPLAT_OK;
}

static splat_viewer *create(const char *title)
{
    splat_viewer *viewer = calloc(1, sizeof *viewer);
    pthread_condattr_t monotonic;
    if (!viewer) return NULL;
    if (!(viewer->title = strdup(title))) {
        free(viewer);
        return NULL;
    }
    pthread_mutex_init(&viewer->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&viewer->wished, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return viewer;
}

splat_status splat_viewer_open(const splat_viewer_options *options, splat_viewer **viewer, splat_error *error)
{
    splat_viewer_options own;
    *viewer = NULL;
    splat_viewer_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, options, "splat_viewer_options", error));
    const char *host = own.host ? own.host : "";
    if (own.port < 0 || own.port > 65535)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a port is a number from 0 to 65535, not %d", own.port);
    if (strlen(host) >= sizeof(*viewer)->host || host[strspn(host, "0123456789abcdefABCDEF.:")])
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`viewer_host` takes an address in numbers, such as 127.0.0.1 or 0.0.0.0, not '%.60s'", host);
    splat_viewer *v = create(own.title ? own.title : "Splatsmith");
    if (!v) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a viewer");
    snprintf(v->host, sizeof v->host, "%s", host);
    v->port = own.port;
    splat_status status = make_token(v->token, error);
    if (status == SPLAT_OK) status = splat_viewer_server_start(v, error);
    if (status != SPLAT_OK) {
        splat_viewer_close(v);
        return status;
    }
    const bool any = !host[0] || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
    snprintf(v->address, sizeof v->address, strchr(host, ':') && !any ? "http://[%s]:%d/?token=%s"
                                                                      : "http://%s:%d/?token=%s",
             any ? "127.0.0.1" : host, v->port, v->token);
    *viewer = v;
    return SPLAT_OK;
}

void splat_viewer_close(splat_viewer *viewer)
{
    if (!viewer) return;
    splat_viewer_server_stop(viewer);
    pthread_cond_destroy(&viewer->wished);
    pthread_mutex_destroy(&viewer->mutex);
    free(viewer->title);
    free(viewer->scene_json);
    free(viewer);
}

const char *splat_viewer_get_address(const splat_viewer *viewer)
{
    return viewer->address;
}

int splat_viewer_get_port(const splat_viewer *viewer)
{
    return viewer->port;
}

splat_status splat_viewer_set_scene(splat_viewer *viewer, const splat_model *model, const splat_scene *scene,
                                    splat_error *error)
{
    char *text;
    SPLAT_TRY(splat_start_view_json(viewer->title, model, scene, &text, error));
    pthread_mutex_lock(&viewer->mutex);
    free(viewer->scene_json);
    viewer->scene_json = text;
    pthread_mutex_unlock(&viewer->mutex);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- pictures */

/* In viridis, near is bright: over the depths of this picture alone, by their inverses. */
static void depth_bytes(size_t n, const float *depth, uint8_t *rgb)
{
    float low = INFINITY, high = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(depth[i] > 0)) continue;
        low = fminf(low, depth[i]);
        high = fmaxf(high, depth[i]);
    }
    const float range = 1 / low - 1 / high;
    for (size_t i = 0; i < n; i++) {
        const float nearness = range > 0 ? (1 / depth[i] - 1 / high) / range : 1;
        if (depth[i] > 0)
            splat_colormap_color(SPLAT_COLORMAP_VIRIDIS, nearness, rgb + 3 * i);
        else
            memset(rgb + 3 * i, 0, 3);
    }
}

static splat_status render_color(splat_model *model, const splat_camera *camera, const float background[3],
                                 float *buffer, uint8_t *rgb, splat_error *error)
{
    SPLAT_TRY(splat_model_render(model, camera, background, buffer, error));
    splat_image_from_planar(buffer, camera->width, camera->height, rgb);
    return SPLAT_OK;
}

static splat_status render_map(splat_model *model, const splat_camera *camera, splat_viewer_kind kind, float *buffer,
                               uint8_t *rgb, splat_error *error)
{
    const size_t n = splat_camera_pixels(camera);
    splat_geometry_maps maps = {0};
    if (kind == SPLAT_VIEWER_DEPTH) maps.depth = buffer;
    if (kind == SPLAT_VIEWER_NORMAL) maps.normal = buffer;
    if (kind == SPLAT_VIEWER_ALPHA) maps.alpha = buffer;
    if (kind == SPLAT_VIEWER_DENSITY) maps.blended = (uint32_t *)buffer;
    SPLAT_TRY(splat_model_render_geometry(model, camera, &maps, error));
    if (kind == SPLAT_VIEWER_DEPTH) depth_bytes(n, buffer, rgb);
    if (kind == SPLAT_VIEWER_DENSITY) splat_density_heatmap(camera->width, camera->height, maps.blended, rgb);
    for (size_t i = 0; kind == SPLAT_VIEWER_NORMAL && i < n; i++)
        for (size_t k = 0; k < 3; k++) rgb[3 * i + k] = splat_image_byte(0.5f + 0.5f * buffer[k * n + i]);
    for (size_t i = 0; kind == SPLAT_VIEWER_ALPHA && i < n; i++) memset(rgb + 3 * i, splat_image_byte(buffer[i]), 3);
    return SPLAT_OK;
}

/* The camera of a wish: full, or while it moves as small as its time asks for. */
static splat_camera choose_camera(const splat_viewer *viewer, const splat_viewer_wish *wish)
{
    const double full = viewer->pixel_seconds * (double)splat_camera_pixels(&wish->camera);
    double factor = full > 0 ? sqrt(MOVING_SECONDS / full) : 0.25;
    factor = fmax(MOVING_SMALLEST, floor(8 * factor) / 8); /* steps: sizes that wander look restless */
    return wish->moving && factor < 1 ? splat_viewer_scale_camera(&wish->camera, factor) : wish->camera;
}

splat_status splat_viewer_serve(splat_viewer *viewer, splat_model *model, const float background[3], double seconds,
                                bool *rendered, splat_error *error)
{
    splat_viewer_job job;
    const bool wanted = splat_viewer_take(viewer, seconds, &job);
    if (rendered) *rendered = wanted;
    if (!wanted) return SPLAT_OK;
    const splat_camera camera = choose_camera(viewer, &job.wish);
    const size_t n = splat_camera_pixels(&camera);
    const double start = splat_clock_seconds();
    float *buffer = malloc(3 * n * sizeof *buffer);
    uint8_t *rgb = malloc(3 * n);
    splat_status status;
    if (!buffer || !rgb)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a picture of %d x %d", camera.width,
                            camera.height);
    else if (job.wish.kind == SPLAT_VIEWER_COLOR)
        status = render_color(model, &camera, background, buffer, rgb, error);
    else
        status = render_map(model, &camera, job.wish.kind, buffer, rgb, error);
    free(buffer);
    if (status != SPLAT_OK) {
        free(rgb);
        rgb = NULL;
    }
    const double taken = (splat_clock_seconds() - start) / (double)n;
    viewer->pixel_seconds = viewer->pixel_seconds > 0 ? 0.7 * viewer->pixel_seconds + 0.3 * taken : taken;
    splat_viewer_deliver(viewer, &job, camera.width, camera.height, rgb);
    return status;
}
