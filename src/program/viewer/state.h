/* The viewer: what its threads share, and what is the renderer's alone. */
#ifndef SPLAT_VIEWER_STATE_H
#define SPLAT_VIEWER_STATE_H

#include "io/exposure_file.h"
#include "splatsmith/viewer.h"
#include "viewer/progress.h"

#include <pthread.h>
#include <time.h>

#define SPLAT_VIEWER_CLIENTS_MAX 8
#define SPLAT_VIEWER_TOKEN_LENGTH 32

#define SPLAT_VIEWER_WAITING_MAX 32 /* half of the server's threads */

/* Connections whose request has not come (websockets.h). */
struct mg_connection;
typedef struct splat_viewer_waiting {
    pthread_mutex_t mutex;
    const struct mg_connection *connections[SPLAT_VIEWER_WAITING_MAX]; /* the oldest first */
    size_t n;
} splat_viewer_waiting;

typedef struct splat_viewer_client splat_viewer_client;
typedef struct splat_viewer_server splat_viewer_server;
typedef struct splat_viewer_parcel splat_viewer_parcel;
typedef struct splat_sibr splat_sibr;
typedef struct splat_viewer_mesh splat_viewer_mesh;

struct splat_viewer {
    pthread_mutex_t mutex;      /* guards all fields down to has_refused */
    pthread_cond_t wished;      /* a client wants a picture, or something of the training */
    splat_viewer_client *clients[SPLAT_VIEWER_CLIENTS_MAX]; /* NULL: room for one */
    unsigned next_client;       /* whose turn it is */
    uint64_t n_clients_ever;
    uint64_t paused_by;         /* the number of the client that last began or ended a pause */
    char *scene_json;           /* GET /api/scene; NULL: nothing is known yet */
    char *path_json;            /* GET /api/path: the camera path that a page keeps here; NULL: none */
    char *saved_path;           /* file of the splat in status.saved; NULL: none */
    int n_fetches;              /* running fetches of that file */
    splat_viewer_parcel *parcel; /* a saved splat as pages get it; NULL: none has been asked for */
    char *scene_path;           /* the folder of the scene, which SIBR's viewers receive; NULL: none */
    splat_viewer_status status;
    splat_viewer_curves curves;
    uint32_t step;              /* step of the training after which pictures are made; 0: no training */
    bool wants_save, wants_stop; /* a client asked, and nobody has obeyed yet */
    const char *refused;        /* the reason of the first refused request; NULL: none, or already reported */
    bool has_refused;

    pthread_mutex_t packing;    /* held while a parcel is made; taken before the other one */
    splat_viewer_server *server; /* the library's; NULL: not started */
    int server_wake;             /* an eventfd of the server, which can be read once it ends */
    splat_viewer_waiting waiting; /* connections of the server */
    splat_sibr *sibr;            /* NULL: none listens */
    int sibr_port;               /* -1: none */
    char token[SPLAT_VIEWER_TOKEN_LENGTH + 1];
    char address[512];
    char host[256];             /* requested host; "" by default */
    int port;
    int n_ports;                /* so many are tried from `port` on */
    char *title;

    /* of the thread that renders */
    struct {
        double pixels, seconds; /* size and time of the last pictures; 0: none yet */
    } cost[2];                  /* small ones, and full ones */
    double moving_seconds;      /* what a picture may take while the camera moves: it is made smaller until it does */
    double moving_smallest;     /* least factor of the side while the camera moves */
    double budget;              /* the share of the time of training that pictures may take */
    double pause_limit;         /* seconds that a pause lasts without any client */
    double credit, credit_at;   /* seconds that they may take now, which was reckoned then */
    splat_trainer *trainer;     /* NULL: none; borrowed */
    splat_viewer_mesh *mesh;    /* what is shown in place of a splat; NULL: none */
    splat_scene *scene;         /* whose photos are shown; NULL: none; borrowed */
    splat_exposures exposures;  /* exposures of those photos if there is no trainer; empty: unknown */
    double looked_at_memory;    /* when the blocks of the device were last counted */
    double rate_at;             /* when the steps a second were last measured, */
    int rate_iteration;         /* and the step then; 0: not yet */
    bool picture_failed, pause_told; /* these were reported */
};

/* A condition whose deadlines are of the clock that never goes back. */
static inline void splat_viewer_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* On the clock of the conditions; seconds below 0 count as 0. */
static inline void splat_viewer_deadline(double seconds, struct timespec *end)
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

#endif
