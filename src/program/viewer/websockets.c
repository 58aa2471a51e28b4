/* The viewer's clients at WebSockets: the thread of civetweb that answered the handshake reads what a client wants, and
 * a thread of the client encodes and sends. */
#include "viewer/websockets.h"

#include "io/picture/image_write.h"

#if SPLATSMITH_HAS_CIVETWEB

#include "base/clock.h"
#include "viewer/clients.h"
#include "viewer/frames.h"

#include <civetweb.h>
#include <dirent.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define MESSAGES_PER_SECOND 240
#define QUALITY_MOVING 75
#define QUALITY_STILL 92
#define STATUS_SECONDS 0.25 /* between two texts to a client */
#define SILENT_SECONDS 20.0 /* then a client is asked for a sign of life, */
#define SILENCES_MAX 3      /* so often */

/* ---------------------------------------------------------------- the socket of a connection */

/* The port, and the address in numbers, of an end of a socket. 0: it has none. */
static int read_end(int (*get)(int, struct sockaddr *, socklen_t *), int s, char address[NI_MAXHOST])
{
    struct sockaddr_storage end;
    socklen_t size = sizeof end;
    char port[NI_MAXSERV];
    if (get(s, (struct sockaddr *)&end, &size) != 0) return 0;
    if (end.ss_family != AF_INET && end.ss_family != AF_INET6) return 0;
    if (getnameinfo((struct sockaddr *)&end, size, address, NI_MAXHOST, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return 0;
    return atoi(port);
}

/* -1: it cannot be found. civetweb does not give the socket of a connection. It is the one descriptor with the
 * connection's two ends: no two TCP connections have the same. */
static int find_socket(const struct mg_connection *connection)
{
    const struct mg_request_info *request = mg_get_request_info(connection);
    char address[NI_MAXHOST];
    int found = -1;
    DIR *folder = request ? opendir("/proc/self/fd") : NULL;
    for (const struct dirent *entry; folder && found < 0 && (entry = readdir(folder));) {
        const int s = entry->d_name[0] == '.' ? -1 : atoi(entry->d_name);
        if (s < 0 || read_end(getsockname, s, address) != request->server_port) continue;
        if (read_end(getpeername, s, address) == request->remote_port && strcmp(address, request->remote_addr) == 0)
            found = s;
    }
    if (folder) closedir(folder);
    return found;
}

/* ---------------------------------------------------------------- connections without a request */

/* A page sends its request at once, so those that wait long are of clients that mean ill, or were opened in advance. */

/* With the mutex. The socket is open, as civetweb calls splat_viewer_waiting_remove before it closes one. */
static void end_oldest(splat_viewer_waiting *waiting)
{
    const int s = find_socket(waiting->connections[0]);
    if (s >= 0) shutdown(s, SHUT_RDWR);
    memmove(waiting->connections, waiting->connections + 1, --waiting->n * sizeof waiting->connections[0]);
}

void splat_viewer_waiting_add(splat_viewer_waiting *waiting, const struct mg_connection *connection)
{
    pthread_mutex_lock(&waiting->mutex);
    if (waiting->n == SPLAT_VIEWER_WAITING_MAX) end_oldest(waiting);
    waiting->connections[waiting->n++] = connection;
    pthread_mutex_unlock(&waiting->mutex);
}

void splat_viewer_waiting_remove(splat_viewer_waiting *waiting, const struct mg_connection *connection)
{
    size_t n_kept = 0;
    pthread_mutex_lock(&waiting->mutex);
    for (size_t i = 0; i < waiting->n; i++)
        if (waiting->connections[i] != connection) waiting->connections[n_kept++] = waiting->connections[i];
    waiting->n = n_kept;
    pthread_mutex_unlock(&waiting->mutex);
}

/* ---------------------------------------------------------------- clients */

/* A client and its connection. */
typedef struct page {
    splat_viewer_client client;
    splat_viewer_wire wire;
    pthread_t sender;
    double told_at;            /* time at which `client.told` was sent */
    double second;             /* when the second began in which ... */
    int n_messages;            /* ... so many messages came */
} page;

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

bool splat_viewer_has_hosts(const struct mg_connection *connection)
{
    const struct mg_request_info *request = mg_get_request_info(connection);
    int n = 0;
    for (int i = 0; i < request->num_headers; i++) n += strcasecmp(request->http_headers[i].name, "Host") == 0;
    return n > 1;
}

static const char *find_refusal(const splat_viewer *viewer, const struct mg_connection *connection)
{
    const char *host = mg_get_header(connection, "Host");
    if (splat_viewer_has_hosts(connection)) return "This request has several Host headers.";
    if (!splat_viewer_host_is_good(host, viewer->host))
        return "The Host of this request is not this machine's address.";
    if (!splat_viewer_origin_is_good(mg_get_header(connection, "Origin"), host))
        return "This request comes from the page of another site.";
    if (!has_token(viewer, mg_get_request_info(connection)))
        return "Open the whole address that the program printed: its token is missing or not this run's.";
    return NULL;
}

const char *splat_viewer_refusal(splat_viewer *viewer, const struct mg_connection *connection)
{
    const char *reason = find_refusal(viewer, connection);
    if (reason) splat_viewer_refuse(viewer, reason);
    return reason;
}

/* ---------------------------------------------------------------- a client's sender */

static bool send_picture(page *p, const splat_viewer_wish *wish, uint32_t step, splat_viewer_image *image)
{
    uint8_t *jpeg, *message;
    size_t size;
    const int width = image->width, height = image->height;
    bool full = wish->view >= 0 || (width == wish->camera.width && height == wish->camera.height);
    if (!splat_viewer_image_fill(image)) return false;
    if (splat_jpeg_encode("a picture", width, height, image->rgb, wish->moving ? QUALITY_MOVING : QUALITY_STILL, &jpeg,
                          &size, NULL) != SPLAT_OK)
        return false;
    bool good = (message = malloc(SPLAT_VIEWER_HEADER_BYTES + size)) != NULL;
    if (good) {
        splat_viewer_header_write(message, wish->seq, step, width, height, wish->kind, full);
        memcpy(message + SPLAT_VIEWER_HEADER_BYTES, jpeg, size);
        good = splat_viewer_frame_send(&p->wire, SPLAT_VIEWER_BINARY, message, SPLAT_VIEWER_HEADER_BYTES + size);
    }
    free(message);
    free(jpeg);
    return good;
}

/* Sends the figures of the training, without waiting for a rendering thread. */
static bool send_status(page *p, const splat_viewer_status *status, int n_clients)
{
    char *text = splat_viewer_status_json(status, n_clients);
    bool good = text && splat_viewer_frame_send(&p->wire, SPLAT_VIEWER_TEXT, text, strlen(text));
    free(text);
    return good;
}

/* Waits for a picture or the end, and at most until the next figures are due. */
static void wait_for_work(page *p)
{
    struct timespec end;
    splat_viewer_client *client = &p->client;
    splat_viewer *viewer = client->viewer;
    const bool is_told = client->told == viewer->status.n_changes;
    splat_viewer_deadline(is_told ? STATUS_SECONDS : p->told_at + STATUS_SECONDS - splat_clock_seconds(), &end);
    pthread_cond_timedwait(&client->changed, &viewer->mutex, &end);
}

/* With the mutex, which is free while it sends. */
static void send_what_is_due(page *p)
{
    splat_viewer_client *client = &p->client;
    splat_viewer *viewer = client->viewer;
    const double now = splat_clock_seconds();
    const bool is_told = client->told == viewer->status.n_changes ||
                         (now - p->told_at < STATUS_SECONDS && !viewer->status.is_over);
    const splat_viewer_wish wish = client->sent;
    const int n_clients = splat_viewer_count_clients(viewer);
    const uint32_t step = client->step;
    splat_viewer_image image = client->image;
    const bool has_image = image.planar || image.rgb;
    if (!has_image && is_told) {
        wait_for_work(p);
        return;
    }
    splat_viewer_status status;
    if (!is_told) {
        status = viewer->status;
        p->told_at = now;
    }
    client->image = (splat_viewer_image){0};
    pthread_mutex_unlock(&viewer->mutex);
    bool good = is_told || send_status(p, &status, n_clients);
    good = good && (!has_image || send_picture(p, &wish, step, &image));
    free(image.planar);
    free(image.rgb);
    pthread_mutex_lock(&viewer->mutex);
    if (!is_told) client->told = status.n_changes;
    if (!good) client->is_dead = true;
}

static void *sender(void *user)
{
    page *p = user;
    splat_viewer_client *client = &p->client;
    splat_viewer *viewer = client->viewer;
    pthread_mutex_lock(&viewer->mutex);
    while (!client->is_closing) {
        if (client->is_dead)
            pthread_cond_wait(&client->changed, &viewer->mutex);
        else
            send_what_is_due(p);
    }
    pthread_mutex_unlock(&viewer->mutex);
    return NULL;
}

/* ---------------------------------------------------------------- a client's reader */

static bool is_too_often(page *p)
{
    double now = splat_clock_seconds();
    if (now - p->second >= 1) {
        p->second = now;
        p->n_messages = 0;
    }
    return ++p->n_messages > MESSAGES_PER_SECOND;
}

/* Closes the connection, which is what anything gets that our page does not send. */
static bool turn_away(page *p, int code, const char *reason)
{
    splat_viewer_frame_close(&p->wire, code, reason);
    return false;
}

/* False: the connection ends. */
static bool take_frame(page *p, const splat_viewer_frame *frame)
{
    splat_viewer_message message;
    splat_error error;
    if (is_too_often(p)) return turn_away(p, SPLAT_VIEWER_POLICY, "Too many messages a second.");
    switch (frame->opcode) {
    case SPLAT_VIEWER_PONG: return true;
    case SPLAT_VIEWER_PING: return splat_viewer_frame_send(&p->wire, SPLAT_VIEWER_PONG, frame->data, frame->size);
    case SPLAT_VIEWER_CLOSE: return turn_away(p, SPLAT_VIEWER_GOES, "");
    case SPLAT_VIEWER_TEXT: break;
    default: return turn_away(p, SPLAT_VIEWER_POLICY, "A client sends texts.");
    }
    if (splat_viewer_message_parse(frame->data, frame->size, &message, &error) != SPLAT_OK)
        return turn_away(p, SPLAT_VIEWER_POLICY, error.message);
    return splat_viewer_post(&p->client, &message);
}

/* Reads what the client sends, until it goes or everything ends. */
static void listen_to(page *p)
{
    splat_viewer_frame frame;
    int n_silences = 0;
    for (;;) {
        switch (splat_viewer_frame_read(&p->wire, SILENT_SECONDS, &frame)) {
        case SPLAT_VIEWER_ARRIVED:
            n_silences = 0;
            if (!take_frame(p, &frame)) return;
            break;
        case SPLAT_VIEWER_SILENT:
            if (++n_silences > SILENCES_MAX || !splat_viewer_frame_send(&p->wire, SPLAT_VIEWER_PING, NULL, 0)) return;
            break;
        case SPLAT_VIEWER_GONE: return;
        case SPLAT_VIEWER_REFUSED: turn_away(p, frame.code, frame.reason); return;
        }
    }
}

/* ---------------------------------------------------------------- pages come and go */

int splat_viewer_on_connect(const struct mg_connection *connection, void *user)
{
    splat_viewer *viewer = user;
    return splat_viewer_refusal(viewer, connection) || !splat_viewer_has_room(viewer) ||
           find_socket(connection) < 0;
}

static void serve_client(splat_viewer *viewer, page *p)
{
    if (!splat_viewer_join(viewer, &p->client)) {
        turn_away(p, SPLAT_VIEWER_LATER, "Too many pages look.");
        return;
    }
    const bool has_sender = pthread_create(&p->sender, NULL, sender, p) == 0;
    if (has_sender) listen_to(p);
    shutdown(p->wire.socket, SHUT_RDWR); /* a sender that waits for the client returns */
    splat_viewer_leave(&p->client);
    if (has_sender) pthread_join(p->sender, NULL);
    splat_viewer_forget(&p->client);
}

void splat_viewer_on_ready(struct mg_connection *connection, void *user)
{
    splat_viewer *viewer = user;
    const int s = find_socket(connection);
    page *p = s < 0 ? NULL : calloc(1, sizeof *p);
    if (p) {
        *p = (page){.client = {.sees = true, .reads_figures = true, .told = UINT32_MAX},
                    .wire = {.socket = s, .wake = viewer->server_wake}, .second = splat_clock_seconds()};
        pthread_mutex_init(&p->wire.writing, NULL);
        serve_client(viewer, p);
        pthread_mutex_destroy(&p->wire.writing);
        free(p);
    }
    if (s >= 0) shutdown(s, SHUT_RDWR); /* nothing is left to civetweb's reader, which would come next */
}

#endif
