/* The viewer's clients. Each has a mailbox with room for one request, and its own thread, which encodes and sends.
 * The rendering thread waits only for a mutex that is held for a few instructions, so a client that is slow or gone
 * slows only itself. */
#include "viewer/clients.h"

#include "io/picture/image_write.h"

#include "base/clock.h"
#include "base/context.h"

#include <stdlib.h>
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

void splat_viewer_refuse(splat_viewer *viewer, const char *reason)
{
    pthread_mutex_lock(&viewer->mutex);
    if (!viewer->has_refused) viewer->refused = reason;
    viewer->has_refused = true;
    pthread_mutex_unlock(&viewer->mutex);
}

/* ---------------------------------------------------------------- clients come and go */

static int find_room(const splat_viewer *viewer)
{
    for (int i = 0; i < SPLAT_VIEWER_CLIENTS_MAX; i++)
        if (!viewer->clients[i]) return i;
    return -1;
}

bool splat_viewer_has_room(splat_viewer *viewer)
{
    pthread_mutex_lock(&viewer->mutex);
    const bool has_room = find_room(viewer) >= 0;
    pthread_mutex_unlock(&viewer->mutex);
    return has_room;
}

bool splat_viewer_join(splat_viewer *viewer, splat_viewer_client *client)
{
    pthread_mutex_lock(&viewer->mutex);
    const int room = find_room(viewer);
    if (room >= 0) {
        client->viewer = viewer;
        client->number = ++viewer->n_clients_ever;
        splat_viewer_condition_init(&client->changed);
        viewer->clients[room] = client;
    }
    pthread_mutex_unlock(&viewer->mutex);
    return room >= 0;
}

void splat_viewer_leave(splat_viewer_client *client)
{
    splat_viewer *viewer = client->viewer;
    pthread_mutex_lock(&viewer->mutex);
    for (int i = 0; i < SPLAT_VIEWER_CLIENTS_MAX; i++)
        if (viewer->clients[i] == client) viewer->clients[i] = NULL;
    client->is_closing = true;
    pthread_cond_signal(&client->changed);
    pthread_mutex_unlock(&viewer->mutex);
}

void splat_viewer_forget(splat_viewer_client *client)
{
    pthread_cond_destroy(&client->changed);
    free(client->image.planar);
    free(client->image.rgb);
}

bool splat_viewer_image_fill(splat_viewer_image *image)
{
    if (image->rgb) return true;
    image->rgb = malloc(3 * (size_t)image->width * (size_t)image->height);
    if (image->rgb) splat_image_from_planar(image->planar, image->width, image->height, image->rgb);
    return image->rgb != NULL;
}

/* ---------------------------------------------------------------- what they want */

/* With the mutex. What a training is asked for waits until its thread sees it; without a training it is nothing. */
static void note_command(splat_viewer *viewer, uint64_t client, splat_viewer_command command)
{
    if (!viewer->status.trains) return;
    if (command == SPLAT_VIEWER_PAUSE || command == SPLAT_VIEWER_GO_ON) {
        viewer->status.is_paused = command == SPLAT_VIEWER_PAUSE;
        viewer->paused_by = client;
        viewer->status.n_changes++;
    }
    viewer->wants_save |= command == SPLAT_VIEWER_SAVE;
    viewer->wants_stop |= command == SPLAT_VIEWER_STOP;
}

bool splat_viewer_post(splat_viewer_client *client, const splat_viewer_message *message)
{
    splat_viewer *viewer = client->viewer;
    pthread_mutex_lock(&viewer->mutex);
    if (message->has_ack && message->ack == client->sent.seq) client->in_flight = false;
    if (message->has_sight) client->sees = message->sees;
    if (message->has_wish) {
        client->wish = message->wish;
        client->has_wish = true;
    }
    if (message->has_command) note_command(viewer, client->number, message->command);
    if ((client->has_wish && !client->in_flight) || message->has_command) pthread_cond_signal(&viewer->wished);
    bool good = !client->is_dead;
    pthread_mutex_unlock(&viewer->mutex);
    return good;
}

/* ---------------------------------------------------------------- the renderer's side */

/* True if the client's last picture is out of date: it was complete, it has arrived, and the model has changed. */
static bool is_stale(const splat_viewer *viewer, const splat_viewer_client *client, double now)
{
    return client->has_sent && !client->sent.moving && client->sees && client->step != viewer->step &&
           client->sent.kind != SPLAT_VIEWER_PHOTO && now - client->sent_at >= SPLAT_VIEWER_REFRESH_SECONDS;
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
    splat_viewer_deadline(seconds, &end);
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
        if (!image.planar && !image.rgb) client->in_flight = false;
        pthread_cond_signal(&client->changed);
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
            if (!client || !client->reads_figures || client->is_dead) continue;
            if (client->told == viewer->status.n_changes) continue;
            pthread_cond_signal(&client->changed);
            all = false;
        }
        pthread_mutex_unlock(&viewer->mutex);
    }
}
