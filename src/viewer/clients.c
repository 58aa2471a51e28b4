/* The viewer's clients. Civetweb's threads read what clients want into mailboxes of one letter each; a thread of each
 * client encodes and sends. Whoever renders only ever waits for a mutex that is held for a few instructions, so that a
 * slow client, or one that is gone, slows nobody but itself. */
#include "viewer/clients.h"

#include "base/clock.h"
#include "base/context.h"
#include "io/picture/image.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int splat_viewer_count_clients(const splat_viewer *viewer)
{
    int n = 0;
    for (int i = 0; i < SPLAT_VIEWER_CLIENTS_MAX; i++) n += viewer->clients[i] != NULL;
    return n;
}

void splat_viewer_tell_refusal(splat_viewer *viewer, const splat_context *context)
{
    pthread_mutex_lock(&viewer->mutex);
    const char *reason = viewer->refused;
    viewer->refused = NULL;
    pthread_mutex_unlock(&viewer->mutex);
    if (reason)
        splat_log(context, SPLAT_LOG_NOTICE, "the viewer refuses a request, and will not say so again: %s", reason);
}

#if SPLATSMITH_HAS_CIVETWEB

#include <civetweb.h>

#define MESSAGES_PER_SECOND 240
#define QUALITY_MOVING 75
#define QUALITY_STILL 92
#define STATUS_SECONDS 0.25 /* between two texts to a client */
#define REFRESH_SECONDS 1.0 /* between two pictures for a camera that stands still */

struct splat_viewer_client {
    splat_viewer *viewer;
    struct mg_connection *connection;
    uint64_t number;
    pthread_t sender;
    pthread_cond_t changed;    /* a picture to send, figures to tell, or the end */
    bool is_closing, is_dead;  /* dead: nothing can be sent any more */
    bool sees;                 /* the page can be seen */
    bool has_wish, in_flight;  /* in flight: being rendered, encoded, sent, or not acknowledged */
    bool has_sent;             /* there is a `sent`, of */
    uint32_t step;             /* the model after this step, */
    double sent_at;            /* begun then */
    splat_viewer_wish wish, sent;
    splat_viewer_image image;  /* to be sent */
    uint32_t told;             /* status.n_changes of the last text, */
    double told_at;            /* sent then */
    double second;             /* when the second began in which ... */
    int n_messages;            /* ... so many messages came */
};

/* On the clock of the conditions; seconds below 0 count as 0. */
static void deadline_after(double seconds, struct timespec *end)
{
    clock_gettime(CLOCK_MONOTONIC, end);
    const double whole = seconds > 0 ? (double)(time_t)seconds : 0;
    end->tv_sec += (time_t)whole;
    end->tv_nsec += seconds > 0 ? (long)((seconds - whole) * 1e9) : 0;
    if (end->tv_nsec >= 1000000000) {
        end->tv_sec++;
        end->tv_nsec -= 1000000000;
    }
}

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

static const char *find_refusal(const splat_viewer *viewer, const struct mg_connection *connection)
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

const char *splat_viewer_refusal(splat_viewer *viewer, const struct mg_connection *connection)
{
    const char *reason = find_refusal(viewer, connection);
    if (!reason) return NULL;
    pthread_mutex_lock(&viewer->mutex);
    if (!viewer->has_refused) viewer->refused = reason;
    viewer->has_refused = true;
    pthread_mutex_unlock(&viewer->mutex);
    return reason;
}

/* ---------------------------------------------------------------- a client's sender */

/* Bytes of floats. */
static bool fill_rgb(splat_viewer_image *image)
{
    if (image->rgb) return true;
    image->rgb = malloc(3 * (size_t)image->width * (size_t)image->height);
    if (image->rgb) splat_image_from_planar(image->planar, image->width, image->height, image->rgb);
    return image->rgb != NULL;
}

static bool send_picture(splat_viewer_client *client, const splat_viewer_wish *wish, uint32_t step,
                         splat_viewer_image *image)
{
    uint8_t *jpeg, *message;
    size_t size;
    const int width = image->width, height = image->height;
    bool full = wish->view >= 0 || (width == wish->camera.width && height == wish->camera.height);
    if (!fill_rgb(image) || splat_jpeg_encode("a picture", width, height, image->rgb,
                                              wish->moving ? QUALITY_MOVING : QUALITY_STILL, &jpeg, &size,
                                              NULL) != SPLAT_OK)
        return false;
    bool good = (message = malloc(SPLAT_VIEWER_HEADER_BYTES + size)) != NULL;
    if (good) {
        splat_viewer_header_write(message, wish->seq, step, width, height, wish->kind, full);
        memcpy(message + SPLAT_VIEWER_HEADER_BYTES, jpeg, size);
        good = mg_websocket_write(client->connection, MG_WEBSOCKET_OPCODE_BINARY, (const char *)message,
                                  SPLAT_VIEWER_HEADER_BYTES + size) > 0;
    }
    free(message);
    free(jpeg);
    return good;
}

/* The figures of the training; whoever renders is not waited for. */
static bool send_status(splat_viewer_client *client, const splat_viewer_status *status, int n_clients)
{
    char *text = splat_viewer_status_json(status, n_clients);
    bool good = text && mg_websocket_write(client->connection, MG_WEBSOCKET_OPCODE_TEXT, text, strlen(text)) > 0;
    free(text);
    return good;
}

/* Waits for a picture or the end, and at most until figures may be told. */
static void wait_for_work(splat_viewer_client *client)
{
    struct timespec end;
    splat_viewer *viewer = client->viewer;
    const bool is_told = client->told == viewer->status.n_changes;
    deadline_after(is_told ? STATUS_SECONDS : client->told_at + STATUS_SECONDS - splat_clock_seconds(), &end);
    pthread_cond_timedwait(&client->changed, &viewer->mutex, &end);
}

/* With the mutex, which is free while it sends. */
static void send_what_is_due(splat_viewer_client *client)
{
    splat_viewer *viewer = client->viewer;
    const double now = splat_clock_seconds();
    const bool is_told = client->told == viewer->status.n_changes ||
                         (now - client->told_at < STATUS_SECONDS && !viewer->status.is_over);
    const splat_viewer_wish wish = client->sent;
    const int n_clients = splat_viewer_count_clients(viewer);
    const uint32_t step = client->step;
    splat_viewer_image image = client->image;
    const bool has_image = image.planar || image.rgb;
    if (!has_image && is_told) {
        wait_for_work(client);
        return;
    }
    splat_viewer_status status;
    if (!is_told) {
        status = viewer->status;
        client->told_at = now;
    }
    client->image = (splat_viewer_image){0};
    pthread_mutex_unlock(&viewer->mutex);
    bool good = is_told || send_status(client, &status, n_clients);
    good = good && (!has_image || send_picture(client, &wish, step, &image));
    free(image.planar);
    free(image.rgb);
    pthread_mutex_lock(&viewer->mutex);
    if (!is_told) client->told = status.n_changes;
    if (!good) client->is_dead = true;
}

static void *sender(void *user)
{
    splat_viewer_client *client = user;
    splat_viewer *viewer = client->viewer;
    pthread_mutex_lock(&viewer->mutex);
    while (!client->is_closing) {
        if (client->is_dead)
            pthread_cond_wait(&client->changed, &viewer->mutex);
        else
            send_what_is_due(client);
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

int splat_viewer_on_connect(const struct mg_connection *connection, void *user)
{
    splat_viewer *viewer = user;
    if (splat_viewer_refusal(viewer, connection)) return 1;
    pthread_mutex_lock(&viewer->mutex);
    bool full = find_room(viewer) < 0;
    pthread_mutex_unlock(&viewer->mutex);
    return full;
}

/* A connection without a client, for want of room or memory, is closed with its first message. */
void splat_viewer_on_ready(struct mg_connection *connection, void *user)
{
    splat_viewer *viewer = user;
    splat_viewer_client *client = calloc(1, sizeof *client);
    mg_set_user_connection_data(connection, NULL);
    if (!client) return;
    *client = (splat_viewer_client){.viewer = viewer, .connection = connection, .sees = true,
                                    .second = splat_clock_seconds(), .told = UINT32_MAX};
    splat_viewer_condition_init(&client->changed);
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

void splat_viewer_on_close(const struct mg_connection *connection, void *user)
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
    free(client->image.planar);
    free(client->image.rgb);
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

/* With the mutex. What a training is asked for waits until its thread sees it; without a training it is nothing. */
static void note_command(splat_viewer *viewer, splat_viewer_command command)
{
    if (!viewer->status.trains) return;
    if (command == SPLAT_VIEWER_PAUSE || command == SPLAT_VIEWER_GO_ON) {
        viewer->status.is_paused = command == SPLAT_VIEWER_PAUSE;
        viewer->status.n_changes++;
    }
    viewer->wants_save |= command == SPLAT_VIEWER_SAVE;
    viewer->wants_stop |= command == SPLAT_VIEWER_STOP;
}

static bool note_message(splat_viewer_client *client, const splat_viewer_message *message)
{
    splat_viewer *viewer = client->viewer;
    pthread_mutex_lock(&viewer->mutex);
    if (message->has_ack && message->ack == client->sent.seq) client->in_flight = false;
    if (message->has_sight) client->sees = message->sees;
    if (message->has_wish) {
        client->wish = message->wish;
        client->has_wish = true;
    }
    if (message->has_command) note_command(viewer, message->command);
    if ((client->has_wish && !client->in_flight) || message->has_command) pthread_cond_signal(&viewer->wished);
    bool good = !client->is_dead;
    pthread_mutex_unlock(&viewer->mutex);
    return good;
}

/* Returns 0 to close the connection, which is what anything gets that our page does not send. */
int splat_viewer_on_data(struct mg_connection *connection, int bits, char *data, size_t size, void *user)
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

/* ---------------------------------------------------------------- the renderer's side */

/* Whether the client's last picture is an old one by now: it was full, it has arrived, and the model is another. */
static bool is_stale(const splat_viewer *viewer, const splat_viewer_client *client, double now)
{
    return client->has_sent && !client->sent.moving && client->sees && client->step != viewer->step &&
           client->sent.kind != SPLAT_VIEWER_PHOTO && now - client->sent_at >= REFRESH_SECONDS;
}

static splat_viewer_client *next_wish(splat_viewer *viewer, bool refreshes)
{
    const double now = splat_clock_seconds();
    for (int stale = 0; stale < 1 + refreshes; stale++)
        for (int i = 0; i < SPLAT_VIEWER_CLIENTS_MAX; i++) {
            unsigned at = viewer->next_client++ % SPLAT_VIEWER_CLIENTS_MAX;
            splat_viewer_client *client = viewer->clients[at];
            if (!client || client->in_flight || client->is_dead) continue;
            if (client->has_wish) return client;
            if (stale && is_stale(viewer, client, now)) return client;
        }
    return NULL;
}

bool splat_viewer_take(splat_viewer *viewer, double seconds, bool refreshes, splat_viewer_job *job)
{
    struct timespec end;
    deadline_after(seconds, &end);
    pthread_mutex_lock(&viewer->mutex);
    splat_viewer_client *client;
    while (!(client = next_wish(viewer, refreshes)) && seconds > 0 && !viewer->wants_save && !viewer->wants_stop)
        if (pthread_cond_timedwait(&viewer->wished, &viewer->mutex, &end) != 0) seconds = 0;
    if (client) {
        if (client->has_wish) client->sent = client->wish;
        *job = (splat_viewer_job){client->number, client->sent};
        client->has_wish = false;
        client->has_sent = client->in_flight = true;
        client->step = viewer->step;
        client->sent_at = splat_clock_seconds();
    }
    pthread_mutex_unlock(&viewer->mutex);
    return client != NULL;
}

void splat_viewer_deliver(splat_viewer *viewer, const splat_viewer_job *job, splat_viewer_image image)
{
    pthread_mutex_lock(&viewer->mutex);
    for (int i = 0; i < SPLAT_VIEWER_CLIENTS_MAX; i++) {
        splat_viewer_client *client = viewer->clients[i];
        if (!client || client->number != job->client) continue;
        client->image = image;
        if (image.planar || image.rgb)
            pthread_cond_signal(&client->changed);
        else
            client->in_flight = false;
        image = (splat_viewer_image){0};
    }
    pthread_mutex_unlock(&viewer->mutex);
    free(image.planar);
    free(image.rgb);
}

void splat_viewer_tell_all(splat_viewer *viewer, double seconds)
{
    const double end = splat_clock_seconds() + seconds;
    for (bool all = false; !all && splat_clock_seconds() < end; usleep(10000)) {
        all = true;
        pthread_mutex_lock(&viewer->mutex);
        for (int i = 0; i < SPLAT_VIEWER_CLIENTS_MAX; i++) {
            splat_viewer_client *client = viewer->clients[i];
            if (!client || client->is_dead || client->told == viewer->status.n_changes) continue;
            pthread_cond_signal(&client->changed);
            all = false;
        }
        pthread_mutex_unlock(&viewer->mutex);
    }
}

#else

bool splat_viewer_take(splat_viewer *viewer, double seconds, bool refreshes, splat_viewer_job *job)
{
    (void)viewer;
    (void)seconds;
    (void)refreshes;
    (void)job;
    return false;
}

void splat_viewer_deliver(splat_viewer *viewer, const splat_viewer_job *job, splat_viewer_image image)
{
    (void)viewer;
    (void)job;
    free(image.planar);
    free(image.rgb);
}

void splat_viewer_tell_all(splat_viewer *viewer, double seconds)
{
    (void)viewer;
    (void)seconds;
}

#endif
