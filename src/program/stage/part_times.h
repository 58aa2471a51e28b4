/* The progress line of a command, and the seconds of every part of its work. */
#ifndef SPLAT_STAGE_PART_TIMES_H
#define SPLAT_STAGE_PART_TIMES_H

#include "stage/progress.h"

#define SPLAT_PARTS_MOST 20

/* Parts that come again go on. */
typedef struct splat_part_times {
    splat_counter counter;
    struct {
        const char *name; /* borrowed: of a progress function */
        double seconds;
    } parts[SPLAT_PARTS_MOST];
    size_t n, current; /* current: SPLAT_PARTS_MOST: none yet */
    double since;
} splat_part_times;

splat_part_times splat_part_times_start(const splat_talk *talk, const char *what);

/* A progress function; user is a splat_part_times. False: stop. */
bool splat_part_times_tell(void *user, const char *part, double fraction);

/* Ends the last part and writes ": looking for surface 1.2 s, looking for planes 2.0 s", in the order of their
 * beginnings; short ones are left out. */
void splat_part_times_write(splat_part_times *times, char *text, size_t size);

#endif
