/* Frames of a WebSocket. */
#include "viewer/frames.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define FRAME_SECONDS 10.0 /* for the rest of a frame whose first byte is there */
#define SEND_SECONDS 20.0  /* between two parts of a frame that is sent */
#define CONTROL_MAX 125    /* bytes of a close, ping or pong */

/* ---------------------------------------------------------------- bytes */

/* Waits until the socket is ready. False: `end` has passed, or the server stops. */
static bool wait_for(const splat_viewer_wire *wire, short events, double end)
{
    for (;;) {
        struct pollfd p[2] = {{wire->socket, events, 0}, {wire->wake, POLLIN, 0}};
        const double left = end - splat_clock_seconds();
        const int n = poll(p, 2, left > 0 ? (int)(1000 * left) + 1 : 0);
        if (n < 0 && errno == EINTR) continue;
        return n > 0 && p[0].revents;
    }
}

static bool has_ended(const splat_viewer_wire *wire)
{
    struct pollfd p = {wire->wake, POLLIN, 0};
    return poll(&p, 1, 0) > 0;
}

static bool receive(const splat_viewer_wire *wire, void *data, size_t n, double end)
{
    for (size_t got = 0; got < n;) {
        if (!wait_for(wire, POLLIN, end)) return false;
        const ssize_t more = recv(wire->socket, (char *)data + got, n - got, MSG_DONTWAIT);
        if (more == 0 || (more < 0 && errno != EAGAIN && errno != EINTR)) return false;
        if (more > 0) got += (size_t)more;
    }
    return true;
}

static bool send_all(const splat_viewer_wire *wire, const void *data, size_t n, int flags)
{
    for (size_t sent = 0; sent < n;) {
        if (!wait_for(wire, POLLOUT, splat_clock_seconds() + SEND_SECONDS)) return false;
        const ssize_t more = send(wire->socket, (const char *)data + sent, n - sent,
                                  MSG_DONTWAIT | MSG_NOSIGNAL | flags);
        if (more < 0 && errno != EAGAIN && errno != EINTR) return false;
        if (more > 0) sent += (size_t)more;
    }
    return true;
}

/* ---------------------------------------------------------------- reading */

static splat_viewer_arrival refuse(splat_viewer_frame *frame, int code, const char *reason)
{
    frame->code = code;
    frame->reason = reason;
    return SPLAT_VIEWER_REFUSED;
}

/* The first two bytes: flags and opcode, mask and length. */
static splat_viewer_arrival check_head(const uint8_t head[2], splat_viewer_frame *frame)
{
    const int length = head[1] & 127;
    frame->opcode = (splat_viewer_opcode)(head[0] & 15);
    if (!(head[1] & 128)) return refuse(frame, SPLAT_VIEWER_PROTOCOL, "A client's frames must be masked.");
    if (head[0] & 112) return refuse(frame, SPLAT_VIEWER_PROTOCOL, "No extension was agreed on.");
    if (!(head[0] & 128)) return refuse(frame, SPLAT_VIEWER_POLICY, "A message must be one frame.");
    if (length == 127 || (frame->opcode >= SPLAT_VIEWER_CLOSE && length > CONTROL_MAX))
        return refuse(frame, SPLAT_VIEWER_TOO_BIG, "This frame is too long.");
    return SPLAT_VIEWER_ARRIVED;
}

splat_viewer_arrival splat_viewer_frame_read(const splat_viewer_wire *wire, double seconds, splat_viewer_frame *frame)
{
    uint8_t head[2], length[2], mask[4];
    if (!wait_for(wire, POLLIN, splat_clock_seconds() + seconds))
        return has_ended(wire) ? SPLAT_VIEWER_GONE : SPLAT_VIEWER_SILENT;
    const double end = splat_clock_seconds() + FRAME_SECONDS;
    if (!receive(wire, head, sizeof head, end)) return SPLAT_VIEWER_GONE;
    if (check_head(head, frame) != SPLAT_VIEWER_ARRIVED) return SPLAT_VIEWER_REFUSED;
    frame->size = head[1] & 127;
    if (frame->size == 126) {
        if (!receive(wire, length, sizeof length, end)) return SPLAT_VIEWER_GONE;
        frame->size = (size_t)length[0] << 8 | length[1];
    }
    if (frame->size > sizeof frame->data) return refuse(frame, SPLAT_VIEWER_TOO_BIG, "This frame is too long.");
    if (!receive(wire, mask, sizeof mask, end) || !receive(wire, frame->data, frame->size, end))
        return SPLAT_VIEWER_GONE;
    for (size_t i = 0; i < frame->size; i++) frame->data[i] = (char)(frame->data[i] ^ mask[i % 4]);
    return SPLAT_VIEWER_ARRIVED;
}

/* ---------------------------------------------------------------- sending */

/* The head of a frame without a mask; returns its length. */
static size_t write_head(uint8_t head[10], splat_viewer_opcode opcode, size_t size)
{
    const int bytes = size < 126 ? 0 : size < 65536 ? 2 : 8;
    head[0] = (uint8_t)(128 | opcode);
    head[1] = (uint8_t)(bytes == 0 ? size : bytes == 2 ? 126 : 127);
    for (int i = 0; i < bytes; i++) head[2 + i] = (uint8_t)((uint64_t)size >> 8 * (bytes - 1 - i));
    return 2 + (size_t)bytes;
}

bool splat_viewer_frame_send(splat_viewer_wire *wire, splat_viewer_opcode opcode, const void *data, size_t size)
{
    uint8_t head[10];
    const size_t n = write_head(head, opcode, size);
    pthread_mutex_lock(&wire->writing);
    const bool good = send_all(wire, head, n, size ? MSG_MORE : 0) && send_all(wire, data, size, 0);
    pthread_mutex_unlock(&wire->writing);
    return good;
}

void splat_viewer_frame_close(splat_viewer_wire *wire, int code, const char *reason)
{
    char data[CONTROL_MAX] = {(char)(code >> 8), (char)code};
    const size_t n = strnlen(reason, sizeof data - 2);
    memcpy(data + 2, reason, n);
    splat_viewer_frame_send(wire, SPLAT_VIEWER_CLOSE, data, 2 + n);
}
