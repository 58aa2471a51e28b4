/* The viewer's HTTP server, by civetweb: the page and what it asks for once. */
#include "viewer/server.h"

#include "base/clock.h"
#include "io/camera_path.h"
#include "viewer/listening.h"
#include "viewer/saved.h"
#include "viewer/websockets.h"

#include <stdlib.h>
#include <string.h>

#if SPLATSMITH_HAS_CIVETWEB

#include "viewer_page.inc" /* made by CMake of page.html and its scripts */

#if SPLATSMITH_HAS_EXPLORE
#include "viewer_explore.inc" /* made by CMake of explore/ and packages of npm */
#endif

#include <civetweb.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PATH_BYTES_MAX 65536
#define PATH_SECONDS 10.0 /* in which a path must have arrived */

/* A thread of civetweb serves one connection, also one that says nothing, for the time below. Threads are cheap: their
 * stacks have 100 KiB, of which an idle one touches little. The time is for a complete header, and for each part of an
 * answer that a client does not read. */
#define WORKERS "64"
#define REQUEST_MILLISECONDS "5000"

/* ---------------------------------------------------------------- pages */

/* The Content-Security-Policy of the page. The drawer is a module, with WebAssembly and threads in data and blobs of
 * its own. */
#if SPLATSMITH_HAS_EXPLORE
#define SCRIPTS                                                                                                        \
    "script-src 'unsafe-inline' 'self' 'wasm-unsafe-eval' blob: data:; worker-src blob: data:; "                       \
    "connect-src 'self' blob: data:; "
#else
#define SCRIPTS "script-src 'unsafe-inline'; connect-src 'self'; "
#endif

/* more: further lines of the header, each with its end. */
static void answer_head(struct mg_connection *connection, const char *status, const char *type, size_t length,
                        const char *more)
{
    mg_printf(connection,
              "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n%s"
              "Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
              "Content-Security-Policy: default-src 'none'; " SCRIPTS "style-src 'unsafe-inline'; img-src blob: data:; "
              "frame-ancestors 'none'; base-uri 'none'; form-action 'none'\r\nConnection: close\r\n\r\n",
              status, type, length, more);
}

static void answer(struct mg_connection *connection, const char *status, const char *type, const char *body,
                   size_t length)
{
    answer_head(connection, status, type, length, "");
    mg_write(connection, body, length);
}

static void answer_text(struct mg_connection *connection, const char *status, const char *text)
{
    answer(connection, status, "text/plain; charset=utf-8", text, strlen(text));
}

/* text: the caller's, which is freed; NULL without memory. */
static void answer_json(struct mg_connection *connection, char *text)
{
    if (text)
        answer(connection, "200 OK", "application/json", text, strlen(text));
    else
        answer_text(connection, "500 Internal Server Error", "No memory.");
    free(text);
}

static char *curves_now(splat_viewer *viewer)
{
    splat_viewer_curves *curves = malloc(sizeof *curves);
    if (!curves) return NULL;
    pthread_mutex_lock(&viewer->mutex);
    *curves = viewer->curves;
    const uint32_t n_stages = viewer->status.n_stages;
    pthread_mutex_unlock(&viewer->mutex);
    char *text = splat_viewer_curves_json(curves, n_stages);
    free(curves);
    return text;
}

/* The text that *shared points to, or that of nothing. */
static char *copy_of(splat_viewer *viewer, char *const *shared, const char *nothing)
{
    pthread_mutex_lock(&viewer->mutex);
    char *text = strdup(*shared ? *shared : nothing);
    pthread_mutex_unlock(&viewer->mutex);
    return text;
}

#define PIECE_BYTES 65536

/* As slowly as the page reads it, in this connection's thread. */
static void send_parcel(struct mg_connection *connection, const splat_viewer_parcel *parcel)
{
    char more[512];
    char *about = splat_viewer_saved_json(&parcel->about);
    if (!about) {
        answer_text(connection, "500 Internal Server Error", "No memory.");
        return;
    }
    snprintf(more, sizeof more, "X-Splat: %s\r\n", about);
    free(about);
    answer_head(connection, "200 OK", "application/octet-stream", parcel->size, more);
    for (size_t at = 0, n; at < parcel->size; at += n) {
        n = parcel->size - at < PIECE_BYTES ? parcel->size - at : PIECE_BYTES;
        if (mg_write(connection, parcel->data + at, n) != (int)n) return;
    }
}

static void answer_splat(splat_viewer *viewer, struct mg_connection *connection)
{
    splat_viewer_parcel *parcel;
    splat_error error;
    splat_status status = splat_viewer_parcel_take(viewer, &parcel, &error);
    if (status != SPLAT_OK) {
        char why[sizeof error.file + sizeof error.message + 8];
        snprintf(why, sizeof why, "%s%s%s", error.file, error.file[0] ? ": " : "", error.message);
        answer_text(connection,
                    status == SPLAT_ERROR_ARGUMENT      ? "404 Not Found"
                    : status == SPLAT_ERROR_UNSUPPORTED ? "503 Service Unavailable"
                                                        : "500 Internal Server Error",
                    why);
        return;
    }
    send_parcel(connection, parcel);
    splat_viewer_parcel_put(viewer, parcel);
}

/* Sends the drawer of splats. False: this build has none. */
static bool answer_drawer(struct mg_connection *connection)
{
#if SPLATSMITH_HAS_EXPLORE
    answer_head(connection, "200 OK", "text/javascript; charset=utf-8", sizeof viewer_explore,
                "Content-Encoding: gzip\r\n");
    mg_write(connection, viewer_explore, sizeof viewer_explore);
#else
    (void)connection;
#endif
    return SPLATSMITH_HAS_EXPLORE;
}

/* A camera path for other pages: kept as it came, when it is one. */
static void keep_path(splat_viewer *viewer, struct mg_connection *connection, long long length)
{
    splat_camera_path path;
    splat_error error;
    size_t n = 0;
    if (length < 0 || length > PATH_BYTES_MAX) {
        answer_text(connection, "413 Content Too Large", "A path that is kept has at most 64 KiB.");
        return;
    }
    char *text = malloc((size_t)length + 1);
    const double end = splat_clock_seconds() + PATH_SECONDS;
    while (text && n < (size_t)length && splat_clock_seconds() < end) {
        int got = mg_read(connection, text + n, (size_t)length - n);
        if (got <= 0) break;
        n += (size_t)got;
    }
    if (text) text[n] = '\0';
    if (!text || n < (size_t)length || strlen(text) < n) {
        answer_text(connection, "400 Bad Request", "This path did not arrive whole.");
    } else if (splat_camera_path_parse("the path", text, n, &path, &error) != SPLAT_OK) {
        answer_text(connection, "400 Bad Request", error.message);
    } else {
        splat_camera_path_free(&path);
        pthread_mutex_lock(&viewer->mutex);
        char *old = viewer->path_json;
        viewer->path_json = text;
        pthread_mutex_unlock(&viewer->mutex);
        text = old;
        answer_text(connection, "200 OK", "kept");
    }
    free(text);
}

static int on_request(struct mg_connection *connection, void *user)
{
    splat_viewer *viewer = user;
    const struct mg_request_info *request = mg_get_request_info(connection);
    const char *reason = splat_viewer_refusal(viewer, connection), *uri = request->local_uri;
    const bool posts_path = strcmp(request->request_method, "POST") == 0 && strcmp(uri, "/api/path") == 0;
    if (reason)
        answer_text(connection, splat_viewer_has_hosts(connection) ? "400 Bad Request" : "403 Forbidden", reason);
    else if (posts_path)
        keep_path(viewer, connection, request->content_length);
    else if (strcmp(request->request_method, "GET") != 0)
        answer_text(connection, "405 Method Not Allowed", "Only GET.");
    else if (strcmp(uri, "/") == 0)
        answer(connection, "200 OK", "text/html; charset=utf-8", (const char *)viewer_page, sizeof viewer_page);
    else if (strcmp(uri, "/api/scene") == 0)
        answer_json(connection, copy_of(viewer, &viewer->scene_json, "{}"));
    else if (strcmp(uri, "/api/curves") == 0)
        answer_json(connection, curves_now(viewer));
    else if (strcmp(uri, "/api/path") == 0)
        answer_json(connection, copy_of(viewer, &viewer->path_json, "{}"));
    else if (strcmp(uri, "/api/splat") == 0)
        answer_splat(viewer, connection);
    else if (strcmp(uri, "/explore.js") != 0 || !answer_drawer(connection))
        answer_text(connection, "404 Not Found", "There is no such page.");
    return 1;
}

/* ---------------------------------------------------------------- start and stop */

/* Called before the first byte is read. */
static int on_connection(const struct mg_connection *connection, void **data)
{
    splat_viewer *viewer = mg_get_user_data(mg_get_context(connection));
    *data = NULL;
    splat_viewer_waiting_add(&viewer->waiting, connection);
    return 0;
}

/* Also called when a connection is about to close. */
static void stop_waiting(const struct mg_connection *connection)
{
    splat_viewer *viewer = mg_get_user_data(mg_get_context(connection));
    splat_viewer_waiting_remove(&viewer->waiting, connection);
}

/* Called when a header is complete; 0: a handler answers. */
static int on_header(struct mg_connection *connection)
{
    stop_waiting(connection);
    return 0;
}

static int on_log(const struct mg_connection *connection, const char *message)
{
    (void)connection;
    (void)message;
    return 1; /* the library never prints */
}

/* True if another program listens there. */
static bool is_busy(const char *host, int port)
{
    const int s = port ? splat_viewer_listen(host, port) : -1;
    const bool busy = s < 0 && port && errno == EADDRINUSE;
    if (s >= 0) close(s);
    return busy;
}

/* The first port that is not busy becomes the viewer's. */
static splat_status choose_port(splat_viewer *viewer, const char *host, splat_error *error)
{
    const int first = viewer->port, n = viewer->n_ports;
    for (int i = 0; i < n && first + i <= 65535; i++) {
        viewer->port = first + i;
        if (!is_busy(host, viewer->port)) return SPLAT_OK;
    }
    if (viewer->port == first)
        return splat_fail(error, SPLAT_ERROR_IO,
                          "port %d at %s is busy: another program listens there; choose another with `port`", first,
                          host);
    return splat_fail(error, SPLAT_ERROR_IO,
                      "the ports %d to %d at %s are busy: other programs listen there; choose another with `port`",
                      first, viewer->port, host);
}

splat_status splat_viewer_server_start(splat_viewer *viewer, splat_error *error)
{
    char listening[320], why[256] = "";
    const char *host = viewer->host[0] ? viewer->host : "127.0.0.1";
    SPLAT_TRY(choose_port(viewer, host, error));
    const bool is_ipv6 = strchr(host, ':') != NULL;
    snprintf(listening, sizeof listening, is_ipv6 ? "[%s]:%d" : "%s:%d", host, viewer->port);
    const char *options[] = {"listening_ports", listening, "num_threads", WORKERS, "request_timeout_ms",
                             REQUEST_MILLISECONDS, "enable_keep_alive", "no", "max_request_size", "8192",
                             "tcp_nodelay", "1", NULL};
    struct mg_callbacks callbacks = {.log_message = on_log, .log_access = on_log, .init_connection = on_connection,
                                     .begin_request = on_header, .connection_close = stop_waiting};
    struct mg_init_data init = {&callbacks, viewer, options};
    struct mg_error_data problem = {.text = why, .text_buffer_size = sizeof why};
    struct mg_server_port port;
    if (!mg_check_feature(MG_FEATURES_WEBSOCKET))
        return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "this civetweb was built without WebSockets");
    viewer->server_wake = eventfd(0, EFD_CLOEXEC);
    if (viewer->server_wake < 0) return splat_fail_errno(error, "", "open an eventfd for the viewer");
    mg_init_library(MG_FEATURES_WEBSOCKET);
    struct mg_context *context = mg_start2(&init, &problem);
    if (!context) {
        mg_exit_library();
        close(viewer->server_wake);
        return splat_fail(error, SPLAT_ERROR_IO,
                          "the viewer cannot listen at %s (choose another port with `port`): %s", listening, why);
    }
    viewer->server = (splat_viewer_server *)context;
    if (mg_get_server_ports(context, 1, &port) == 1) viewer->port = port.port;
    mg_set_websocket_handler(context, "/ws$", splat_viewer_on_connect, splat_viewer_on_ready, NULL, NULL, viewer);
    mg_set_request_handler(context, "/", on_request, viewer);
    return SPLAT_OK;
}

void splat_viewer_server_stop(splat_viewer *viewer)
{
    if (!viewer->server) return;
    eventfd_write(viewer->server_wake, 1); /* clients at WebSockets leave */
    mg_stop((struct mg_context *)viewer->server);
    mg_exit_library();
    close(viewer->server_wake);
    viewer->server = NULL;
}

#else

splat_status splat_viewer_server_start(splat_viewer *viewer, splat_error *error)
{
    (void)viewer;
    return splat_fail(error, SPLAT_ERROR_UNSUPPORTED,
                      "this program was built without civetweb, which the viewer needs: install libcivetweb-dev and "
                      "build it again");
}

void splat_viewer_server_stop(splat_viewer *viewer)
{
    (void)viewer;
}

#endif
