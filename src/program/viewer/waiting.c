/* Connections whose request has not come. A page sends its request at once, so those that wait long are of clients that
 * mean ill, or were opened in advance. */
#include "viewer/waiting.h"

#if SPLATSMITH_HAS_CIVETWEB

#include <civetweb.h>
#include <dirent.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* ---------------------------------------------------------------- the socket of a connection */

/* The port, and the address in numbers, of an end of a socket. 0: it has none. */
static int read_end(int (*get)(int, struct sockaddr *, socklen_t *), int s, char address[NI_MAXHOST])
{
    struct sockaddr_storage end;
    socklen_t size = sizeof end;
    char port[NI_MAXSERV];
    if (get(s, (struct sockaddr *)&end, &size) != 0) return 0;
    if (end.ss_family != AF_INET && end.ss_family != AF_INET6) return 0;
    if (getnameinfo((struct sockaddr *)&end, size, address, NI_MAXHOST, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return 0;
    return atoi(port);
}

/* civetweb does not give the socket of a connection. It is the one descriptor with the connection's two ends: no two
 * TCP connections have the same. */
int splat_viewer_find_socket(const struct mg_connection *connection)
{
    const struct mg_request_info *request = mg_get_request_info(connection);
    char address[NI_MAXHOST];
    int found = -1;
    DIR *folder = request ? opendir("/proc/self/fd") : NULL;
    for (const struct dirent *entry; folder && found < 0 && (entry = readdir(folder));) {
        const int s = entry->d_name[0] == '.' ? -1 : atoi(entry->d_name);
        if (s < 0 || read_end(getsockname, s, address) != request->server_port) continue;
        if (read_end(getpeername, s, address) == request->remote_port && strcmp(address, request->remote_addr) == 0)
            found = s;
    }
    if (folder) closedir(folder);
    return found;
}

/* ---------------------------------------------------------------- the list */

/* With the mutex. The socket is open, as civetweb calls splat_viewer_waiting_remove before it closes one. */
static void end_oldest(splat_viewer_waiting *waiting)
{
    const int s = splat_viewer_find_socket(waiting->connections[0]);
    if (s >= 0) shutdown(s, SHUT_RDWR);
    memmove(waiting->connections, waiting->connections + 1, --waiting->n * sizeof waiting->connections[0]);
}

void splat_viewer_waiting_add(splat_viewer_waiting *waiting, const struct mg_connection *connection)
{
    pthread_mutex_lock(&waiting->mutex);
    if (waiting->n == SPLAT_VIEWER_WAITING_MAX) end_oldest(waiting);
    waiting->connections[waiting->n++] = connection;
    pthread_mutex_unlock(&waiting->mutex);
}

void splat_viewer_waiting_remove(splat_viewer_waiting *waiting, const struct mg_connection *connection)
{
    size_t n_kept = 0;
    pthread_mutex_lock(&waiting->mutex);
    for (size_t i = 0; i < waiting->n; i++)
        if (waiting->connections[i] != connection) waiting->connections[n_kept++] = waiting->connections[i];
    waiting->n = n_kept;
    pthread_mutex_unlock(&waiting->mutex);
}

#endif
