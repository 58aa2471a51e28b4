/* A socket of a test's client. */
#ifndef SPLAT_TESTS_DIAL_H
#define SPLAT_TESTS_DIAL_H

#include <arpa/inet.h>
#include <sys/socket.h>

/* Connected to a port of this machine; reading ends after 20 seconds. */
static inline int dial_port(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct timeval limit = {.tv_sec = 20};
    int s = socket(AF_INET, SOCK_STREAM, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(s, (struct sockaddr *)&to, sizeof to), 0);
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return s;
}

#endif
