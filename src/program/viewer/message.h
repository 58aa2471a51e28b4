/* Checks and parses the messages of a client, and writes the header of its pictures. Bytes from the network enter only
 * here. */
#ifndef SPLAT_VIEWER_MESSAGE_H
#define SPLAT_VIEWER_MESSAGE_H

#include "base/error.h"

#define SPLAT_VIEWER_MESSAGE_MAX 4096 /* bytes of a client's message */
#define SPLAT_VIEWER_SIDE_MAX 4096    /* pixels of a side of a picture, */
#define SPLAT_VIEWER_PIXELS_MAX (3840 * 2160) /* and of all of it */
#define SPLAT_VIEWER_HEADER_BYTES 20

typedef enum splat_viewer_kind {
    SPLAT_VIEWER_COLOR, SPLAT_VIEWER_DEPTH, SPLAT_VIEWER_NORMAL, SPLAT_VIEWER_ALPHA, SPLAT_VIEWER_DENSITY,
    SPLAT_VIEWER_ERROR, /* against the photo of a view of the scene, */
    SPLAT_VIEWER_PHOTO, /* and that photo */
    SPLAT_VIEWER_SHADED, /* only for meshes */
    SPLAT_VIEWER_N_KINDS
} splat_viewer_kind;

/* Commands of a client to the training. */
typedef enum splat_viewer_command {
    SPLAT_VIEWER_PAUSE, SPLAT_VIEWER_GO_ON, SPLAT_VIEWER_SAVE, SPLAT_VIEWER_STOP, SPLAT_VIEWER_N_COMMANDS
} splat_viewer_command;

/* A box in the world, along its axes. */
typedef struct splat_viewer_box {
    double low[3], high[3];
} splat_viewer_box;

/* A picture that a client wants. */
typedef struct splat_viewer_wish {
    uint32_t seq;          /* the client's number of it */
    splat_viewer_kind kind;
    bool moving;           /* a small picture soon is better than a full one later */
    splat_camera camera;   /* camera at full size; with a view only its size counts, as a limit */
    int32_t view;          /* view of the scene whose camera to use; -1: none. ERROR and PHOTO need one */
    float scaling;         /* the Gaussians' deviations are multiplied by it; 1: they are as they are */
    bool has_box;          /* only the Gaussians with their centres in it */
    splat_viewer_box box;
} splat_viewer_wish;

typedef struct splat_viewer_message {
    bool has_ack, has_wish, has_command, has_sight;
    uint32_t ack;          /* the picture that has arrived */
    splat_viewer_wish wish;
    splat_viewer_command command;
    bool sees;             /* the page can be seen: one that cannot gets no pictures of its own accord */
} splat_viewer_message;

/* Reads one or more of {"ack": n}, {"do": "pause", "go on", "save" or "stop"}, {"sees": true or false} and {"camera":
 * {"seq", "position", "quaternion", "fov_y"}, "size": [w, h], "what", "moving", "view": i, "box": [low x, y, z, high x,
 * y, z]}: quaternion (w, x, y, z) of any length but 0 turns the camera's axes (x right, y down, z forward) into the
 * world's, fov_y is in degrees, 1 to 160. FORMAT when anything is wrong: no part of it is used then. MEMORY. */
splat_status splat_viewer_message_parse(const char *text, size_t size, splat_viewer_message *message,
                                        splat_error *error);
/* "SPLV", seq, step (32 bits), width, height, kind, flags (16 bits; 1: full size), little endian. */
void splat_viewer_header_write(uint8_t header[SPLAT_VIEWER_HEADER_BYTES], uint32_t seq, uint32_t step, int width,
                               int height, splat_viewer_kind kind, bool full);
/* The camera with its sides multiplied by `factor`, 0 < factor <= 1; at least 16 pixels a side. */
splat_camera splat_viewer_scale_camera(const splat_camera *camera, double factor);
/* True if a Host header names this machine: by an address, as localhost, or as `own` (may be NULL). If the name of
 * another site was made to point to this machine, the header has that name. */
bool splat_viewer_host_is_good(const char *host, const char *bound);
/* True if an Origin header (NULL: none, no browser) is a page of that host. */
bool splat_viewer_origin_is_good(const char *origin, const char *host);

#endif
