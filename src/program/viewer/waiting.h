/* Connections whose request has not come: each holds a thread of the server, so the oldest of too many ends. */
#ifndef SPLAT_VIEWER_WAITING_H
#define SPLAT_VIEWER_WAITING_H

#include <pthread.h>
#include <stddef.h>

struct mg_connection;

#define SPLAT_VIEWER_WAITING_MAX 32 /* half of the server's threads */

typedef struct splat_viewer_waiting {
    pthread_mutex_t mutex;
    const struct mg_connection *connections[SPLAT_VIEWER_WAITING_MAX]; /* the oldest first */
    size_t n;
} splat_viewer_waiting;

/* The socket of a connection; -1: it cannot be found. */
int splat_viewer_find_socket(const struct mg_connection *connection);
/* A connection has begun. When there are too many, the oldest gets the end of its stream, and its thread is free. */
void splat_viewer_waiting_add(splat_viewer_waiting *waiting, const struct mg_connection *connection);
/* Its header is complete, or it is about to close; one that is not waiting is no error. */
void splat_viewer_waiting_remove(splat_viewer_waiting *waiting, const struct mg_connection *connection);

#endif
