/* Checks and parses the requests of a viewer of the original 3D Gaussian splatting ("SIBR"). Bytes of its protocol
 * enter only here. */
#ifndef SPLAT_VIEWER_SIBR_REQUEST_H
#define SPLAT_VIEWER_SIBR_REQUEST_H

#include "base/error.h"

#define SPLAT_SIBR_REQUEST_MAX 8192 /* bytes of a request's JSON; less than any text that is taken for its length */

typedef struct splat_sibr_request {
    bool has_picture;     /* one is wanted: neither side is 0 */
    splat_camera camera;  /* camera, if a picture is wanted */
    float scaling;        /* the Gaussians' deviations are multiplied by it: 0.001 to 10; with a picture */
    bool trains;          /* false: the training is to stand */
} splat_sibr_request;

/* Reads the JSON of a request:
 *
 *     resolution_x, resolution_y  pixels; 0: no picture
 *     fov_x, fov_y                radians, 0.001 to 3.1
 *     view_matrix                 16 numbers, column by column: world to camera with the axes of OpenGL, x right, y up,
 *                                 z backward, so that rows 1 and 2 are negated to those of `camera`
 *     view_projection_matrix      16 numbers; they say nothing beyond the fields of view, and may be absent
 *     scaling_modifier            0 to 10 (what is below 0.001 counts as that); absent: 1
 *     train                       absent: true. Truth is true or false, or a number
 *
 * Other keys change no picture and are not looked at. Pictures have the sides and pixels of viewer/message.h at most.
 * FORMAT when anything is wrong; MEMORY. */
splat_status splat_sibr_request_parse(const char *text, size_t size, splat_sibr_request *request, splat_error *error);
/* The length before a request: 32 bits, little endian. 0: no request is so long. */
size_t splat_sibr_request_length(const uint8_t bytes[4]);

#endif
