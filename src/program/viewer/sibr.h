/* The viewer's listener for the network viewers of the original 3D Gaussian splatting ("SIBR"). A connection: a
 * request's length (32 bits, little endian) and its JSON (viewer/sibr_request.h); the answer is the picture as uint8_t
 * [height][width][3], rgb, if one was asked for, then the length of the scene's path and the path; and so on. */
#ifndef SPLAT_VIEWER_SIBR_H
#define SPLAT_VIEWER_SIBR_H

#include "viewer/state.h"

/* Starts a thread that listens at host (NULL: 127.0.0.1) and port (0: any that is free); sets viewer->sibr and
 * sibr_port. One connection is served at a time, others are closed. A client whose last request had no `train` holds a
 * training until it asks otherwise, some page does, or it goes; one that says nothing for half a minute has gone. What
 * is not of the protocol closes the connection. Errors: ARGUMENT (host), IO (the port is taken), MEMORY. */
splat_status splat_sibr_start(splat_viewer *viewer, const char *host, int port, int n_ports, splat_error *error);
/* Ends the connection, the thread and the listening. */
void splat_sibr_stop(splat_viewer *viewer);

#endif
