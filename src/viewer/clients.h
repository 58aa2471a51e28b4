/* The viewer's clients: what they want comes out of here, pictures go in. */
#ifndef SPLAT_VIEWER_CLIENTS_H
#define SPLAT_VIEWER_CLIENTS_H

#include "viewer/message.h"
#include "viewer/state.h"

/* A picture to make: whose, and which. */
typedef struct splat_viewer_job {
    uint64_t client;
    splat_viewer_wish wish;
} splat_viewer_job;

/* A picture that was made, in malloc'd memory: colours as they were rendered, float[3][height][width], or
 * uint8_t[height][width][3]; both NULL: there is none. */
typedef struct splat_viewer_image {
    int width, height;
    float *planar;
    uint8_t *rgb;
} splat_viewer_image;

/* Waits at most `seconds` for the newest wish of a client that has no picture on its way; clients take turns. What a
 * client sees already is made again once a second while the model changes (viewer->step), when `refreshes`. Returns
 * early when a client asks something of the training. False: there is nothing to make. Each job that is taken must be
 * delivered. */
bool splat_viewer_take(splat_viewer *viewer, double seconds, bool refreshes, splat_viewer_job *job);
/* Gives a picture, which is the clients' from now on, to its client, if that has not gone; without one the client may
 * ask again. Does not wait for the network, nor for bytes to be made of floats. */
void splat_viewer_deliver(splat_viewer *viewer, const splat_viewer_job *job, splat_viewer_image image);
/* Logs the first request that was refused, once. */
void splat_viewer_tell_refusal(splat_viewer *viewer, const splat_context *context);
/* How many there are. */
int splat_viewer_count_clients(const splat_viewer *viewer);
/* After status.n_changes has grown for the last time: waits at most `seconds` until all clients were told. */
void splat_viewer_tell_all(splat_viewer *viewer, double seconds);

/* For the server: NULL, or why a request is refused; and what civetweb calls about WebSockets. user: the viewer. */
struct mg_connection;
const char *splat_viewer_refusal(splat_viewer *viewer, const struct mg_connection *connection);
int splat_viewer_on_connect(const struct mg_connection *connection, void *user);
void splat_viewer_on_ready(struct mg_connection *connection, void *user);
int splat_viewer_on_data(struct mg_connection *connection, int bits, char *data, size_t size, void *user);
void splat_viewer_on_close(const struct mg_connection *connection, void *user);

#endif
