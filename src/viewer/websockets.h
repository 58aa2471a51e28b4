/* The viewer's clients at WebSockets. */
#ifndef SPLAT_VIEWER_WEBSOCKETS_H
#define SPLAT_VIEWER_WEBSOCKETS_H

#include "viewer/state.h"

#include <stddef.h>

/* NULL, or why a request is refused; and what civetweb calls about WebSockets. user: the viewer. */
struct mg_connection;
const char *splat_viewer_refusal(splat_viewer *viewer, const struct mg_connection *connection);
int splat_viewer_on_connect(const struct mg_connection *connection, void *user);
void splat_viewer_on_ready(struct mg_connection *connection, void *user);
int splat_viewer_on_data(struct mg_connection *connection, int bits, char *data, size_t size, void *user);
void splat_viewer_on_close(const struct mg_connection *connection, void *user);

#endif
