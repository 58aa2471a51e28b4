/* Which frames of a video become photos: of every few that follow each other the sharpest, unless all of those are
 * blurred, or nothing has moved since the last one. */
#ifndef SPLAT_CAPTURE_FRAME_CHOICE_H
#define SPLAT_CAPTURE_FRAME_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPLAT_FRAME_MEDIAN 31 /* windows whose sharpness the median is of: those before, and the one in question */

/* Variance of the Laplacian (4 times a pixel, less its four neighbours) over the inner pixels of a grey picture of 8
 * bits. 0 for pictures without any. */
double splat_frame_sharpness(const uint8_t *gray, int width, int height);
/* Mean absolute difference of two pictures, of 255. */
double splat_frame_difference(const uint8_t *a, const uint8_t *b, int width, int height);

typedef struct splat_frame_choice {
    int window;                 /* frames, of which at most one is chosen; at least 1 */
    size_t n_seen;              /* frames so far */
    size_t *chosen, n_chosen, capacity; /* their numbers, rising */
    size_t n_blurred, n_still;  /* windows without a choice, and why */
    int width, height;          /* size of the frames; 0: no frame */
    uint8_t *best, *last;       /* the sharpest of the window, and the one chosen last (has_last) */
    double best_sharpness;
    size_t best_index;
    bool has_last;
    double recent[SPLAT_FRAME_MEDIAN];
    size_t n_recent;
} splat_frame_choice;

/* Zeroed but for the window. Frames come in order, all of one size; false: another size, or no memory. */
bool splat_frame_choice_add(splat_frame_choice *choice, const uint8_t *gray, int width, int height);
/* After the last frame: decides on a window that was not full. False: no memory. */
bool splat_frame_choice_end(splat_frame_choice *choice);
void splat_frame_choice_free(splat_frame_choice *choice);

#endif
