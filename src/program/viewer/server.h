/* The viewer's HTTP server. */
#ifndef SPLAT_VIEWER_SERVER_H
#define SPLAT_VIEWER_SERVER_H

#include "viewer/state.h"

/* Starts and ends listening; viewer->token, host and port are there; sets port when it is 0. UNSUPPORTED without
 * civetweb. */
splat_status splat_viewer_server_start(splat_viewer *viewer, splat_error *error);
void splat_viewer_server_stop(splat_viewer *viewer);

#endif
