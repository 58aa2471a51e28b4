/* A small HTTP and WebSocket client of a viewer, for its tests. */
#ifndef SPLAT_TESTS_WEB_CLIENT_H
#define SPLAT_TESTS_WEB_CLIENT_H

#include "base/file.h"
#include "dial.h"
#include "viewer/clients.h"

#include <poll.h>
#include <stdio.h>

/* A viewer at any free port; a build without civetweb skips the test. */
static inline splat_viewer *open_viewer(void)
{
    splat_viewer_options options;
    splat_viewer *viewer;
    splat_error error;
    splat_viewer_options_init(&options);
    options.port = 0;
    splat_status status = splat_viewer_open(&options, &viewer, &error);
    if (status == SPLAT_ERROR_UNSUPPORTED) {
        printf("SKIPPED: the viewer's server: built without civetweb\n");
        skip();
    }
    if (status != SPLAT_OK) fail_msg("%s", error.message);
    return viewer;
}

static inline int dial(const splat_viewer *viewer)
{
    return dial_port(splat_viewer_get_port(viewer));
}

/* The status of an answer, whose header is read to its end, a byte at a time. 0: closed. */
static inline int read_answer(int s)
{
    char text[2048];
    size_t got = 0;
    while (got < sizeof text - 1 && recv(s, text + got, 1, 0) == 1) {
        text[++got] = 0;
        if (got >= 4 && memcmp(text + got - 4, "\r\n\r\n", 4) == 0) return atoi(text + 9);
    }
    return 0;
}

/* Sends a request and returns the status of the answer. */
static inline int request(int s, const char *method, const char *path, const char *token, const char *headers)
{
    char text[2048];
    int n = snprintf(text, sizeof text, "%s %s?token=%s HTTP/1.1\r\n%s\r\n", method, path, token, headers);
    assert_int_equal(send(s, text, (size_t)n, MSG_NOSIGNAL), n);
    return read_answer(s);
}

static inline int ask(const splat_viewer *viewer, const char *method, const char *path, const char *token,
                      const char *headers)
{
    int s = dial(viewer), status = request(s, method, path, token, headers);
    close(s);
    return status;
}

#define LOCAL "Host: localhost\r\n"
#define UPGRADE                                                                                                        \
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"                     \
    "Sec-WebSocket-Version: 13\r\n"

static inline int dial_socket(const splat_viewer *viewer)
{
    int s = dial(viewer);
    assert_int_equal(request(s, "GET", "/ws", viewer->token, LOCAL UPGRADE), 101);
    return s;
}

/* Posts a text as a camera path and returns the status of the answer; its body goes to `said` (NULL: nowhere). */
#define SAID_MAX 512
static inline int post_path(const splat_viewer *viewer, const char *text, char said[SAID_MAX])
{
    char header[256], body[SAID_MAX] = "";
    int s = dial(viewer);
    snprintf(header, sizeof header, LOCAL "Content-Length: %zu\r\n", strlen(text));
    char *whole = splat_format("POST /api/path?token=%s HTTP/1.1\r\n%s\r\n%s", viewer->token, header, text);
    send(s, whole, strlen(whole), MSG_NOSIGNAL);
    free(whole);
    const int status = read_answer(s);
    if (recv(s, body, sizeof body - 1, MSG_WAITALL) > 0 && said) strcpy(said, body);
    close(s);
    return status;
}

/* A masked frame of a client. */
static inline void send_frame(int s, int bits, const char *text)
{
    uint8_t frame[SPLAT_VIEWER_MESSAGE_MAX + 64];
    size_t n = strlen(text), at = 2;
    frame[0] = (uint8_t)bits;
    frame[1] = (uint8_t)(128 | (n < 126 ? n : 126));
    if (n >= 126) {
        frame[at++] = (uint8_t)(n >> 8);
        frame[at++] = (uint8_t)n;
    }
    for (int k = 0; k < 4; k++) frame[at++] = (uint8_t)(k + 1);
    for (size_t i = 0; i < n; i++) frame[at++] = (uint8_t)(text[i] ^ (int)(i % 4 + 1));
    assert_int_equal(send(s, frame, at, MSG_NOSIGNAL), at);
}

/* The next binary frame's payload; pings are passed over. */
static inline size_t read_frame(int s, uint8_t *data, size_t room)
{
    for (;;) {
        uint8_t head[4];
        assert_int_equal(recv(s, head, 2, MSG_WAITALL), 2);
        size_t n = head[1];
        if (n == 126) {
            assert_int_equal(recv(s, head + 2, 2, MSG_WAITALL), 2);
            n = (size_t)head[2] << 8 | head[3];
        }
        assert_true(n <= room);
        if (n) assert_int_equal(recv(s, data, n, MSG_WAITALL), n);
        if ((head[0] & 15) == 2) return n;
    }
}

/* Returns true if the server closes, within ten seconds. */
static inline bool is_closed(int s)
{
    char byte;
    struct pollfd p = {s, POLLIN, 0};
    while (poll(&p, 1, 10000) == 1)
        if (recv(s, &byte, 1, 0) <= 0) return true;
    return false;
}

#endif
