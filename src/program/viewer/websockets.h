/* The viewer's clients at WebSockets. */
#ifndef SPLAT_VIEWER_WEBSOCKETS_H
#define SPLAT_VIEWER_WEBSOCKETS_H

#include "viewer/state.h"

/* NULL, or why a request is refused; and what civetweb calls about WebSockets. user: the viewer. */
const char *splat_viewer_refusal(splat_viewer *viewer, const struct mg_connection *connection);
/* True if a request has several Host headers: RFC 9112, 3.2, demands status 400. */
bool splat_viewer_has_hosts(const struct mg_connection *connection);
int splat_viewer_on_connect(const struct mg_connection *connection, void *user);
/* Returns when the client has gone: civetweb's own reader of frames gets nothing. */
void splat_viewer_on_ready(struct mg_connection *connection, void *user);

/* ---------------------------------------------------------------- connections without a request
 *
 * Each holds a thread of the server. */

/* A connection has begun. When there are too many, the oldest gets the end of its stream, and its thread is free. */
void splat_viewer_waiting_add(splat_viewer_waiting *waiting, const struct mg_connection *connection);
/* Its header is complete, or it is about to close; one that is not waiting is no error. */
void splat_viewer_waiting_remove(splat_viewer_waiting *waiting, const struct mg_connection *connection);

#endif
