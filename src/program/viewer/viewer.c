/* The viewer: opened and closed, and pictures for those who look. */
#include "splatsmith/viewer.h"

#include "base/options.h"
#include "io/option_text.h"
#include "model/model.h"
#include "scene/scene.h"
#include "viewer/mesh_pictures.h"
#include "viewer/pictures.h"
#include "viewer/saved.h"
#include "viewer/server.h"
#include "viewer/sibr.h"
#include "viewer/start_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const splat_option rows[] = {
#define SPLAT_OPTION(field, kind, start, range) SPLAT_OPTION_OF(splat_viewer_options, field, kind, start, range)
#include "splatsmith/viewer_options.def"
};
static const splat_option_table table = SPLAT_OPTION_TABLE(splat_viewer_options, rows);

void splat_viewer_options_init_sized(splat_viewer_options *options, size_t size)
{
    splat_option_defaults(&table, options, size);
}

splat_status splat_viewer_options_set(splat_viewer_options *options, const char *name, const char *text,
                                      splat_error *error)
{
    return splat_option_set_text(&table, options, name, text, error);
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
    if (!viewer) return NULL;
    if (!(viewer->title = strdup(title))) {
        free(viewer);
        return NULL;
    }
    pthread_mutex_init(&viewer->mutex, NULL);
    pthread_mutex_init(&viewer->packing, NULL);
    pthread_mutex_init(&viewer->waiting.mutex, NULL);
    splat_viewer_condition_init(&viewer->wished);
    viewer->moving_seconds = SPLAT_VIEWER_MOVING_SECONDS;
    viewer->moving_smallest = SPLAT_VIEWER_MOVING_SMALLEST;
    return viewer;
}

splat_status splat_viewer_open(const splat_viewer_options *options, splat_viewer **viewer, splat_error *error)
{
    splat_viewer_options own;
    *viewer = NULL;
    splat_viewer_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, options, "splat_viewer_options", error));
    const char *host = own.host ? own.host : "";
    SPLAT_TRY(splat_option_check_all(&table, &own, error));
    if (strlen(host) >= sizeof(*viewer)->host || host[strspn(host, "0123456789abcdefABCDEF.:")])
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`viewer_host` takes an address in numbers, such as 127.0.0.1 or 0.0.0.0, not '%.60s'", host);
    splat_viewer *v = create(own.title ? own.title : "Splatsmith");
    if (!v) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a viewer");
    snprintf(v->host, sizeof v->host, "%s", host);
    v->port = own.port;
    v->sibr_port = -1;
    v->budget = own.budget;
    v->pause_limit = own.pause_limit;
    v->n_ports = own.n_ports;
    splat_status status = make_token(v->token, error);
    if (status == SPLAT_OK && own.port >= 0) status = splat_viewer_server_start(v, error);
    if (status == SPLAT_OK && own.sibr_port >= 0)
        status = splat_sibr_start(v, own.sibr_host, own.sibr_port, own.n_sibr_ports, error);
    if (status != SPLAT_OK) {
        splat_viewer_close(v);
        return status;
    }
    *viewer = v;
    if (own.port < 0) return SPLAT_OK;
    const bool any = !host[0] || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
    snprintf(v->address, sizeof v->address, strchr(host, ':') && !any ? "http://[%s]:%d/?token=%s"
                                                                      : "http://%s:%d/?token=%s",
             any ? "127.0.0.1" : host, v->port, v->token);
    return SPLAT_OK;
}

void splat_viewer_close(splat_viewer *viewer)
{
    if (!viewer) return;
    if (viewer->server) {
        pthread_mutex_lock(&viewer->mutex);
        viewer->status.is_over = true;
        viewer->status.n_changes++;
        pthread_mutex_unlock(&viewer->mutex);
        splat_viewer_tell_all(viewer, 0.5);
    }
    splat_viewer_server_stop(viewer);
    splat_sibr_stop(viewer);
    splat_viewer_parcel_close(viewer);
    splat_viewer_mesh_close(viewer->mesh);
    pthread_cond_destroy(&viewer->wished);
    pthread_mutex_destroy(&viewer->waiting.mutex);
    pthread_mutex_destroy(&viewer->packing);
    pthread_mutex_destroy(&viewer->mutex);
    free(viewer->title);
    free(viewer->scene_json);
    free(viewer->path_json);
    free(viewer->scene_path);
    splat_exposures_file_free(&viewer->exposures);
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

void splat_viewer_get_clients(splat_viewer *viewer, int *now, uint64_t *ever)
{
    pthread_mutex_lock(&viewer->mutex);
    if (now) *now = splat_viewer_count_clients(viewer);
    if (ever) *ever = viewer->n_clients_ever;
    pthread_mutex_unlock(&viewer->mutex);
}

int splat_viewer_get_sibr_port(const splat_viewer *viewer)
{
    return viewer->sibr_port;
}

static splat_status set_content(splat_viewer *viewer, splat_viewer_content content, splat_scene *scene,
                                splat_error *error)
{
    char *text;
    content.title = viewer->title;
    content.scene = scene;
    SPLAT_TRY(splat_start_view_json(&content, &text, error));
    char *path = scene ? realpath(scene->options.source_path, NULL) : NULL;
    viewer->scene = scene;
    splat_exposures_file_free(&viewer->exposures);
    pthread_mutex_lock(&viewer->mutex);
    free(viewer->scene_json);
    viewer->scene_json = text;
    free(viewer->scene_path);
    viewer->scene_path = path;
    pthread_mutex_unlock(&viewer->mutex);
    return SPLAT_OK;
}

splat_status splat_viewer_set_scene(splat_viewer *viewer, const splat_model *model, splat_scene *scene,
                                    splat_error *error)
{
    return set_content(viewer, (splat_viewer_content){.model = model}, scene, error);
}

splat_status splat_viewer_set_points(splat_viewer *viewer, const splat_model *points, splat_scene *scene,
                                     splat_error *error)
{
    if (!points || !scene)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the points of a scene need a model and a scene");
    return set_content(viewer, (splat_viewer_content){.model = points, .is_points = true}, scene, error);
}

splat_status splat_viewer_set_mesh(splat_viewer *viewer, splat_context *context, const char *path, splat_scene *scene,
                                   splat_error *error)
{
    splat_viewer_mesh *mesh;
    SPLAT_TRY(splat_viewer_mesh_open(context, path, &mesh, error));
    splat_status status = set_content(viewer, (splat_viewer_content){.mesh = &mesh->mesh}, scene, error);
    if (status != SPLAT_OK) {
        splat_viewer_mesh_close(mesh);
        return status;
    }
    splat_viewer_mesh_close(viewer->mesh);
    viewer->mesh = mesh;
    return SPLAT_OK;
}

splat_status splat_viewer_load_exposures(splat_viewer *viewer, const char *path, splat_error *error)
{
    splat_exposures read;
    SPLAT_TRY(splat_exposures_read(path, &read, error));
    splat_exposures_file_free(&viewer->exposures);
    viewer->exposures = read;
    return SPLAT_OK;
}

splat_status splat_viewer_serve(splat_viewer *viewer, splat_model *model, const float background[3], double seconds,
                                bool *rendered, splat_error *error)
{
    splat_viewer_job job;
    if (!model && !viewer->mesh)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the viewer has neither a splat nor a mesh to show");
    const bool wanted = splat_viewer_take(viewer, seconds, true, &job);
    splat_viewer_tell_refusal(viewer, model ? model->context : viewer->mesh->context);
    if (rendered) *rendered = wanted;
    return wanted ? splat_viewer_make(viewer, model, background, &job, error) : SPLAT_OK;
}
