/* The viewer's server: what clients want comes out of it, pictures go in. */
#ifndef SPLAT_VIEWER_SERVER_H
#define SPLAT_VIEWER_SERVER_H

#include "splatsmith/viewer.h"
#include "viewer/message.h"

#include <pthread.h>

#define SPLAT_VIEWER_CLIENTS_MAX 8
#define SPLAT_VIEWER_TOKEN_LENGTH 32

typedef struct splat_viewer_client splat_viewer_client;
typedef struct splat_viewer_server splat_viewer_server;

struct splat_viewer {
    pthread_mutex_t mutex;      /* of the clients and scene_json */
    pthread_cond_t wished;      /* a client wants a picture */
    splat_viewer_server *server; /* the library's; NULL: not started */
    splat_viewer_client *clients[SPLAT_VIEWER_CLIENTS_MAX]; /* NULL: room for one */
    unsigned next_client;       /* whose turn it is */
    uint64_t n_clients_ever;
    char token[SPLAT_VIEWER_TOKEN_LENGTH + 1];
    char address[512];
    char host[256];             /* as it was asked for; "" by default */
    int port;
    char *title;
    char *scene_json;           /* GET /api/scene; NULL: nothing is known yet */
    double pixel_seconds;       /* of the last pictures; 0: none was made */
};

/* A picture to make: whose, and which. */
typedef struct splat_viewer_job {
    uint64_t client;
    splat_viewer_wish wish;
} splat_viewer_job;

/* Starts and ends listening; viewer->token, host and port are there; sets port when it is 0. UNSUPPORTED without
 * civetweb. */
splat_status splat_viewer_server_start(splat_viewer *viewer, splat_error *error);
void splat_viewer_server_stop(splat_viewer *viewer);
/* Waits at most `seconds` for the newest wish of a client that has no picture on its way; clients take turns. False:
 * nobody wants one. Each job that is taken must be delivered. */
bool splat_viewer_take(splat_viewer *viewer, double seconds, splat_viewer_job *job);
/* Gives a picture, uint8_t[height][width][3] of malloc, which is the server's from now on, to its client, if that has
 * not gone. NULL: there is none; the client may ask again. Does not wait for the network. */
void splat_viewer_deliver(splat_viewer *viewer, const splat_viewer_job *job, int width, int height, uint8_t *rgb);

#endif
