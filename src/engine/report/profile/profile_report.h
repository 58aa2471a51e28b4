/* Reading and judging memory profiles: what its files share. The public face is in splatsmith.h. */
#ifndef SPLAT_OBSERVE_PROFILE_REPORT_H
#define SPLAT_OBSERVE_PROFILE_REPORT_H

#include "base/error.h"
#include "report/profile/profile.h"
#include "report/profile/profile_line.h"

/* The line about the run. */
typedef struct splat_profile_run {
    bool gpu;
    int iterations, densify_until, train_views, sh_degree;
    size_t largest_photo_bytes;
} splat_profile_run;

/* The file, a sample a line. Samples are parsed again for their blocks, which are not kept. */
typedef struct splat_profile_lines {
    const char *path;
    uint8_t *data;
    size_t size;
    size_t *begin, *length, *number; /* [n] of the samples' lines: bytes, and the 1-based line */
    size_t n;
} splat_profile_lines;

/* Fills settled_iteration and the trends; and the savings and the largest blocks at the peak; from lines that were read
 * before. Errors: MEMORY. */
splat_status splat_profile_judge(splat_profile *profile, const splat_profile_run *run,
                                 const splat_profile_lines *lines, splat_error *error);
splat_status splat_profile_look_at_peak(splat_profile *profile, const splat_profile_run *run,
                                        const splat_profile_lines *lines, splat_error *error);

#endif
