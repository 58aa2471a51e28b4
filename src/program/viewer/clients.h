/* The viewer's clients, whatever carries their pictures: what they want comes out of here, pictures go in. */
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

/* Makes the bytes of the floats, where there are none. False without memory. */
bool splat_viewer_image_fill(splat_viewer_image *image);

#define SPLAT_VIEWER_REFRESH_SECONDS 1.0 /* between two pictures for a camera that stands still */

/* All of it with the viewer's mutex. */
struct splat_viewer_client {
    splat_viewer *viewer;
    uint64_t number;           /* number of the client, from 1 on */
    pthread_cond_t changed;    /* a picture has come or cannot be made, figures are new, or it is the end */
    bool reads_figures;        /* receives the figures of the training (`told` grows) */
    bool is_closing, is_dead;  /* dead: nothing can be sent any more */
    bool sees;                 /* what it shows can be seen: pictures are made again as the model changes */
    bool has_wish, in_flight;  /* in flight: being rendered, encoded, sent, or not acknowledged */
    bool has_sent;             /* there is a `sent`, of */
    uint32_t step;             /* the model after this step, */
    double sent_at;            /* begun then */
    splat_viewer_wish wish, sent;
    splat_viewer_image image;  /* next picture to send */
    uint32_t told;             /* status.n_changes of the figures that were sent last */
};

bool splat_viewer_has_room(splat_viewer *viewer);
/* Adds the caller's client, whose viewer, number and condition are set here. False: there is no room for it. */
bool splat_viewer_join(splat_viewer *viewer, splat_viewer_client *client);
/* Takes it out; its thread sees is_closing. When that has ended, splat_viewer_forget gives back what the client holds.
 */
void splat_viewer_leave(splat_viewer_client *client);
void splat_viewer_forget(splat_viewer_client *client);
/* Handles a client's message. False: the client is dead. */
bool splat_viewer_post(splat_viewer_client *client, const splat_viewer_message *message);

/* Waits at most `seconds` for the newest wish of a client that has no picture on its way; clients take turns. What a
 * client sees already is made again once a second while the model changes (viewer->step), when `refreshes`. Returns
 * early when a client asks something of the training. False: there is nothing to make. Each job that is taken must be
 * delivered. */
bool splat_viewer_take(splat_viewer *viewer, double seconds, bool refreshes, splat_viewer_job *job);
/* Gives a picture, which is the clients' from now on, to its client, if that has not gone; without one the client may
 * ask again. Does not wait for the network, nor for bytes to be made of floats. */
void splat_viewer_deliver(splat_viewer *viewer, const splat_viewer_job *job, splat_viewer_image image);
/* Notes why a request was refused, a text that stays. */
void splat_viewer_refuse(splat_viewer *viewer, const char *reason);
/* Logs the first request that was refused, once. */
void splat_viewer_tell_refusal(splat_viewer *viewer, const splat_context *context);
/* How many there are; with the mutex. */
int splat_viewer_count_clients(const splat_viewer *viewer);
/* Waits at most `seconds` until all clients have received the last status; call it after the last growth of
 * status.n_changes. */
void splat_viewer_tell_all(splat_viewer *viewer, double seconds);

#endif
