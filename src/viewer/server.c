/* The viewer's HTTP server and its WebSocket, by civetweb. Its threads read what clients want into mailboxes of one
 * letter each; a thread of each client encodes and sends. Whoever renders only ever waits for a mutex that is held for
 * a few instructions, so that a slow client, or one that is gone, slows nobody but itself. */
#include "viewer/server.h"

#include "base/clock.h"
#include "io/picture/image.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if SPLATSMITH_HAS_CIVETWEB

#include "viewer_page.inc" /* made by CMake of page.html */

#include <civetweb.h>

#define MESSAGES_PER_SECOND 240
#define QUALITY_MOVING 75
#define QUALITY_STILL 92

struct splat_viewer_client {
    splat_viewer *viewer;
    struct mg_connection *connection;
    uint64_t number;
    pthread_t sender;
    pthread_cond_t changed;    /* a picture to send, or the end */
    bool is_closing, is_dead;  /* dead: nothing can be sent any more */
    bool has_wish, in_flight;  /* in flight: being rendered, encoded, sent, or not acknowledged */
    splat_viewer_wish wish, sent;
    int width, height;
    uint8_t *rgb;              /* to be sent */
    double second;             /* when the second began in which ... */
    int n_messages;            /* ... so many messages came */
};

/* ---------------------------------------------------------------- checks */

/* Takes the same time wherever they differ. */
static bool tokens_are_equal(const char *a, const char *b)
{
    unsigned difference = 0;
    for (int i = 0; i < SPLAT_VIEWER_TOKEN_LENGTH; i++) difference |= (unsigned)(a[i] ^ b[i]);
    return difference == 0;
}

static bool has_token(const splat_viewer *viewer, const struct mg_request_info *request)
{
    char token[SPLAT_VIEWER_TOKEN_LENGTH + 2];
    const char *query = request->query_string;
    return query && mg_get_var(query, strlen(query), "token", token, sizeof token) == SPLAT_VIEWER_TOKEN_LENGTH &&
           tokens_are_equal(token, viewer->token);
}

/* NULL, or why a request is refused. */
static const char *refusal(const splat_viewer *viewer, const struct mg_connection *connection)
{
    const char *host = mg_get_header(connection, "Host");
    if (!splat_viewer_host_is_good(host, viewer->host))
        return "The Host of this request is not this machine's address.";
    if (!splat_viewer_origin_is_good(mg_get_header(connection, "Origin"), host))
        return "This request comes from the page of another site.";
    if (!has_token(viewer, mg_get_request_info(connection)))
        return "Open the whole address that the program printed: its token is missing or not this run's.";
    return NULL;
}

/* ---------------------------------------------------------------- pages */

static void answer(struct mg_connection *connection, const char *status, const char *type, const char *body,
                   size_t length)
{
    mg_printf(connection,
              "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n"
              "Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
              "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
              "img-src blob: data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'\r\n"
              "Connection: close\r\n\r\n",
              status, type, length);
    mg_write(connection, body, length);
}

static void answer_text(struct mg_connection *connection, const char *status, const char *text)
{
    answer(connection, status, "text/plain; charset=utf-8", text, strlen(text));
}

static int on_request(struct mg_connection *connection, void *user)
{
    splat_viewer *viewer = user;
    const struct mg_request_info *request = mg_get_request_info(connection);
    const char *reason = refusal(viewer, connection);
    if (reason) {
        answer_text(connection, "403 Forbidden", reason);
    } else if (strcmp(request->request_method, "GET") != 0) {
        answer_text(connection, "405 Method Not Allowed", "Only GET.");
    } else if (strcmp(request->local_uri, "/") == 0) {
        answer(connection, "200 OK", "text/html; charset=utf-8", (const char *)viewer_page, sizeof viewer_page);
    } else if (strcmp(request->local_uri, "/api/scene") == 0) {
        pthread_mutex_lock(&viewer->mutex);
        char *text = strdup(viewer->scene_json ? viewer->scene_json : "{}");
        pthread_mutex_unlock(&viewer->mutex);
        if (text)
            answer(connection, "200 OK", "application/json", text, strlen(text));
        else
            answer_text(connection, "500 Internal Server Error", "No memory.");
        free(text);
    } else {
        answer_text(connection, "404 Not Found", "There is no such page.");
    }
    return 1;
}

/* ---------------------------------------------------------------- a client's sender */

static bool send_picture(splat_viewer_client *client, const splat_viewer_wish *wish, int width, int height,
                         const uint8_t *rgb)
{
    uint8_t *jpeg, *message;
    size_t size;
    bool full = width == wish->camera.width && height == wish->camera.height;
    if (splat_jpeg_encode("a picture", width, height, rgb, wish->moving ? QUALITY_MOVING : QUALITY_STILL, &jpeg, &size,
                          NULL) != SPLAT_OK)
        return false;
    bool good = (message = malloc(SPLAT_VIEWER_HEADER_BYTES + size)) != NULL;
    if (good) {
        splat_viewer_header_write(message, wish->seq, 0, width, height, wish->kind, full);
        memcpy(message + SPLAT_VIEWER_HEADER_BYTES, jpeg, size);
        good = mg_websocket_write(client->connection, MG_WEBSOCKET_OPCODE_BINARY, (const char *)message,
                                  SPLAT_VIEWER_HEADER_BYTES + size) > 0;
    }
    free(message);
    free(jpeg);
    return good;
}

static void *sender(void *user)
{
    splat_viewer_client *client = user;
    splat_viewer *viewer = client->viewer;
    pthread_mutex_lock(&viewer->mutex);
    while (!client->is_closing) {
        if (!client->rgb) {
            pthread_cond_wait(&client->changed, &viewer->mutex);
            continue;
        }
        uint8_t *rgb = client->rgb;
        const splat_viewer_wish wish = client->sent;
        const int width = client->width, height = client->height;
        client->rgb = NULL;
        pthread_mutex_unlock(&viewer->mutex);
        bool good = send_picture(client, &wish, width, height, rgb);
        free(rgb);
        pthread_mutex_lock(&viewer->mutex);
        if (!good) client->is_dead = true;
    }
    pthread_mutex_unlock(&viewer->mutex);
    return NULL;
}

/* ---------------------------------------------------------------- clients come and go */

static int find_room(const splat_viewer *viewer)
{
    for (int i = 0; i < SPLAT_VIEWER_CLIENTS_MAX; i++)
        if (!viewer->clients[i]) return i;
    return -1;
}

static int on_connect(const struct mg_connection *connection, void *user)
{
    splat_viewer *viewer = user;
    if (refusal(viewer, connection)) return 1;
    pthread_mutex_lock(&viewer->mutex);
    bool full = find_room(viewer) < 0;
    pthread_mutex_unlock(&viewer->mutex);
    return full;
}

/* A connection without a client, for want of room or memory, is closed with its first message. */
static void on_ready(struct mg_connection *connection, void *user)
{
    splat_viewer *viewer = user;
    splat_viewer_client *client = calloc(1, sizeof *client);
    mg_set_user_connection_data(connection, NULL);
    if (!client) return;
    *client = (splat_viewer_client){.viewer = viewer, .connection = connection, .second = splat_clock_seconds()};
    pthread_cond_init(&client->changed, NULL);
    pthread_mutex_lock(&viewer->mutex);
    int room = find_room(viewer);
    bool good = room >= 0 && pthread_create(&client->sender, NULL, sender, client) == 0;
    if (good) {
        client->number = ++viewer->n_clients_ever;
        viewer->clients[room] = client;
        mg_set_user_connection_data(connection, client);
    }
    pthread_mutex_unlock(&viewer->mutex);
    if (good) return;
    pthread_cond_destroy(&client->changed);
    free(client);
}

static void on_close(const struct mg_connection *connection, void *user)
{
    splat_viewer *viewer = user;
    splat_viewer_client *client = mg_get_user_connection_data(connection);
    if (!client) return;
    pthread_mutex_lock(&viewer->mutex);
    for (int i = 0; i < SPLAT_VIEWER_CLIENTS_MAX; i++)
        if (viewer->clients[i] == client) viewer->clients[i] = NULL;
    client->is_closing = true;
    pthread_cond_signal(&client->changed);
    pthread_mutex_unlock(&viewer->mutex);
    pthread_join(client->sender, NULL);
    pthread_cond_destroy(&client->changed);
    free(client->rgb);
    free(client);
}

static bool is_too_often(splat_viewer_client *client)
{
    double now = splat_clock_seconds();
    if (now - client->second >= 1) {
        client->second = now;
        client->n_messages = 0;
    }
    return ++client->n_messages > MESSAGES_PER_SECOND;
}

static bool note_message(splat_viewer_client *client, const splat_viewer_message *message)
{
    splat_viewer *viewer = client->viewer;
    pthread_mutex_lock(&viewer->mutex);
    if (message->has_ack && message->ack == client->sent.seq) client->in_flight = false;
    if (message->has_wish) {
        client->wish = message->wish;
        client->has_wish = true;
    }
    if (client->has_wish && !client->in_flight) pthread_cond_signal(&viewer->wished);
    bool good = !client->is_dead;
    pthread_mutex_unlock(&viewer->mutex);
    return good;
}

/* Returns 0 to close the connection, which is what anything gets that our page does not send. */
static int on_data(struct mg_connection *connection, int bits, char *data, size_t size, void *user)
{
    splat_viewer_client *client = mg_get_user_connection_data(connection);
    splat_viewer_message message;
    const int opcode = bits & 15;
    (void)user;
    if (!client || is_too_often(client)) return 0;
    if (opcode == MG_WEBSOCKET_OPCODE_PING || opcode == MG_WEBSOCKET_OPCODE_PONG) return 1;
    if (opcode != MG_WEBSOCKET_OPCODE_TEXT || !(bits & 128) || (bits & 112)) return 0; /* whole texts alone */
    return splat_viewer_message_parse(data, size, &message, NULL) == SPLAT_OK && note_message(client, &message);
}

/* ---------------------------------------------------------------- start and stop */

static int on_log(const struct mg_connection *connection, const char *message)
{
    (void)connection;
    (void)message;
    return 1; /* the library never prints */
}

splat_status splat_viewer_server_start(splat_viewer *viewer, splat_error *error)
{
    char listening[320], why[256] = "", threads[16];
    const char *host = viewer->host[0] ? viewer->host : "127.0.0.1";
    const bool is_ipv6 = strchr(host, ':') != NULL;
    snprintf(listening, sizeof listening, is_ipv6 ? "[%s]:%d" : "%s:%d", host, viewer->port);
    snprintf(threads, sizeof threads, "%d", SPLAT_VIEWER_CLIENTS_MAX + 4); /* a WebSocket holds one */
    const char *options[] = {"listening_ports", listening, "num_threads", threads, "request_timeout_ms", "10000",
                             "websocket_timeout_ms", "20000", "enable_websocket_ping_pong", "yes",
                             "enable_keep_alive", "no", "max_request_size", "8192", NULL};
    struct mg_callbacks callbacks = {.log_message = on_log, .log_access = on_log};
    struct mg_init_data init = {&callbacks, viewer, options};
    struct mg_error_data problem = {.text = why, .text_buffer_size = sizeof why};
    struct mg_server_port port;
    if (!mg_check_feature(MG_FEATURES_WEBSOCKET))
        return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "this civetweb was built without WebSockets");
    mg_init_library(MG_FEATURES_WEBSOCKET);
    struct mg_context *context = mg_start2(&init, &problem);
    if (!context) {
        mg_exit_library();
        return splat_fail(error, SPLAT_ERROR_IO,
                          "the viewer cannot listen at %s (is the port taken? choose another with `port`): %s",
                          listening, why);
    }
    viewer->server = (splat_viewer_server *)context;
    if (mg_get_server_ports(context, 1, &port) == 1) viewer->port = port.port;
    mg_set_websocket_handler(context, "/ws$", on_connect, on_ready, on_data, on_close, viewer);
    mg_set_request_handler(context, "/", on_request, viewer);
    return SPLAT_OK;
}

void splat_viewer_server_stop(splat_viewer *viewer)
{
    if (!viewer->server) return;
    mg_stop((struct mg_context *)viewer->server); /* closes every connection: on_close */
    mg_exit_library();
    viewer->server = NULL;
}

/* ---------------------------------------------------------------- the renderer's side */

static splat_viewer_client *next_wish(splat_viewer *viewer)
{
    for (int i = 0; i < SPLAT_VIEWER_CLIENTS_MAX; i++) {
        unsigned at = viewer->next_client++ % SPLAT_VIEWER_CLIENTS_MAX;
        splat_viewer_client *client = viewer->clients[at];
        if (client && client->has_wish && !client->in_flight && !client->is_dead) return client;
    }
    return NULL;
}

bool splat_viewer_take(splat_viewer *viewer, double seconds, splat_viewer_job *job)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    double whole = (double)(time_t)seconds;
    end.tv_sec += (time_t)whole;
    end.tv_nsec += (long)((seconds - whole) * 1e9);
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&viewer->mutex);
    splat_viewer_client *client;
    while (!(client = next_wish(viewer)) && seconds > 0)
        if (pthread_cond_timedwait(&viewer->wished, &viewer->mutex, &end) != 0) seconds = 0;
    if (client) {
        *job = (splat_viewer_job){client->number, client->wish};
        client->sent = client->wish;
        client->has_wish = false;
        client->in_flight = true;
    }
    pthread_mutex_unlock(&viewer->mutex);
    return client != NULL;
}

void splat_viewer_deliver(splat_viewer *viewer, const splat_viewer_job *job, int width, int height, uint8_t *rgb)
{
    pthread_mutex_lock(&viewer->mutex);
    for (int i = 0; i < SPLAT_VIEWER_CLIENTS_MAX; i++) {
        splat_viewer_client *client = viewer->clients[i];
        if (!client || client->number != job->client) continue;
        client->rgb = rgb;
        client->width = width;
        client->height = height;
        if (rgb)
            pthread_cond_signal(&client->changed);
        else
            client->in_flight = false;
        rgb = NULL;
    }
    pthread_mutex_unlock(&viewer->mutex);
    free(rgb);
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

bool splat_viewer_take(splat_viewer *viewer, double seconds, splat_viewer_job *job)
{
    (void)viewer;
    (void)seconds;
    (void)job;
    return false;
}

void splat_viewer_deliver(splat_viewer *viewer, const splat_viewer_job *job, int width, int height, uint8_t *rgb)
{
    (void)viewer;
    (void)job;
    (void)width;
    (void)height;
    free(rgb);
}

#endif
