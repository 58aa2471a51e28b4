/* Frames of a WebSocket (RFC 6455) at its socket, read with bounds and written whole.
 *
 * civetweb answers the handshake, but its own reader of frames is not used: it buffers up to 2 GiB of a frame as the
 * bytes arrive, takes frames without a mask, and versions 1.15 to 1.17 have no option against either. */
#ifndef SPLAT_VIEWER_FRAMES_H
#define SPLAT_VIEWER_FRAMES_H

#include "viewer/message.h"

#include <pthread.h>

typedef enum splat_viewer_opcode {
    SPLAT_VIEWER_TEXT = 1, SPLAT_VIEWER_BINARY = 2, SPLAT_VIEWER_CLOSE = 8, SPLAT_VIEWER_PING = 9,
    SPLAT_VIEWER_PONG = 10
} splat_viewer_opcode;

/* Why a server closes: codes of RFC 6455, 7.4.1. */
enum { SPLAT_VIEWER_GOES = 1001, SPLAT_VIEWER_PROTOCOL = 1002, SPLAT_VIEWER_POLICY = 1008, SPLAT_VIEWER_TOO_BIG = 1009,
       SPLAT_VIEWER_LATER = 1013 };

/* A connection. Several threads may send, one reads. */
typedef struct splat_viewer_wire {
    int socket;              /* borrowed */
    int wake;                /* an eventfd that can be read once everything must end; borrowed */
    pthread_mutex_t writing;
} splat_viewer_wire;

typedef struct splat_viewer_frame {
    splat_viewer_opcode opcode;
    size_t size;
    char data[SPLAT_VIEWER_MESSAGE_MAX];
    int code;                /* refused frames: the code to close with */
    const char *reason;      /* and the sentence */
} splat_viewer_frame;

typedef enum splat_viewer_arrival {
    SPLAT_VIEWER_ARRIVED,
    SPLAT_VIEWER_SILENT,     /* nothing came within the time */
    SPLAT_VIEWER_GONE,       /* the client has closed or is too slow, or everything must end */
    SPLAT_VIEWER_REFUSED     /* frame->code and reason say why; the rest of the frame was not read */
} splat_viewer_arrival;

/* Reads the next frame, for whose first byte it waits at most `seconds`. A frame must be whole (not continued), masked
 * and no longer than a message. */
splat_viewer_arrival splat_viewer_frame_read(const splat_viewer_wire *wire, double seconds, splat_viewer_frame *frame);
/* Sends a frame. False: the client has gone, reads nothing for 20 seconds, or everything must end. */
bool splat_viewer_frame_send(splat_viewer_wire *wire, splat_viewer_opcode opcode, const void *data, size_t size);
/* Sends a close frame with a code and a reason, of which a frame holds 123 bytes. */
void splat_viewer_frame_close(splat_viewer_wire *wire, int code, const char *reason);

#endif
