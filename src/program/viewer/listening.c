/* Sockets that listen. */
#include "viewer/listening.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static int open_at(const struct addrinfo *at)
{
    const int on = 1, s = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s < 0) return -1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(s, at->ai_addr, at->ai_addrlen) == 0 && listen(s, 4) == 0) return s;
    const int problem = errno;
    close(s);
    errno = problem;
    return -1;
}

int splat_viewer_listen(const char *host, int port)
{
    char service[16];
    struct addrinfo *at, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    snprintf(service, sizeof service, "%d", port);
    if (getaddrinfo(host, service, &hints, &at) != 0) {
        errno = EINVAL;
        return -1;
    }
    const int s = open_at(at), problem = errno;
    freeaddrinfo(at);
    errno = problem;
    return s;
}
