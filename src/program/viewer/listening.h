/* Sockets that listen. */
#ifndef SPLAT_VIEWER_LISTENING_H
#define SPLAT_VIEWER_LISTENING_H

/* A socket, not waited for and closed by exec, that listens at an address in numbers and a port (0: any that is free);
 * the caller closes it. -1 with errno: EADDRINUSE: another program listens there; EINVAL: that is no address. */
int splat_viewer_listen(const char *host, int port);

#endif
