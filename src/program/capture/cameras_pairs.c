/* Which pairs of photos are worth their time: how long all of them take, and names that are numbered in order. */
#include "capture/cameras_parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONG_S 600.0
#define PAIR_CPU_S 0.7     /* COLMAP 3.8, two photos of up to 8192 features, one core */
#define PAIR_GPU_S 0.02    /* a guess: a GPU is some thirty times as fast */
#define GAP 2              /* numbers are, on average, at most so far apart */
#define MAX_DIGITS 18

int splat_cameras_max_features(const splat_cameras_work *work)
{
    switch (work->quality) {
    case SPLAT_CAMERA_QUALITY_LOW: return 2048;
    case SPLAT_CAMERA_QUALITY_MEDIUM: return 4096;
    case SPLAT_CAMERA_QUALITY_AUTO:
    case SPLAT_CAMERA_QUALITY_HIGH: return 8192;
    }
    return 8192;
}

/* The number that a name ends with before its dot, and the length of what stands before it. False: there is none. */
static bool read_number(const char *name, size_t *prefix, long long *number)
{
    const char *slash = strrchr(name, '/'), *dot = strrchr(slash ? slash : name, '.');
    size_t end = dot ? (size_t)(dot - name) : strlen(name), begin = end;
    while (begin > 0 && isdigit((unsigned char)name[begin - 1])) begin--;
    if (begin == end || end - begin > MAX_DIGITS) return false;
    *prefix = begin;
    *number = strtoll(name + begin, NULL, 10);
    return true;
}

bool splat_names_are_sequence(char *const *names, size_t n)
{
    size_t first_prefix = 0;
    long long first = 0, last = 0;
    if (n < 2) return false;
    for (size_t i = 0; i < n; i++) {
        size_t prefix;
        long long number;
        if (!read_number(names[i], &prefix, &number)) return false;
        if (i > 0 && (prefix != first_prefix || strncmp(names[i], names[0], prefix) != 0 || number <= last))
            return false;
        if (i == 0) {
            first_prefix = prefix;
            first = number;
        }
        last = number;
    }
    return last - first <= GAP * (long long)(n - 1);
}

static double exhaustive_seconds(const splat_cameras_work *work)
{
    double n = (double)work->photos.n, share = splat_cameras_max_features(work) / 8192.0;
    double pairs = 0.5 * n * (n - 1) * share * share;
    long cores = work->options->threads > 0 ? work->options->threads : sysconf(_SC_NPROCESSORS_ONLN);
    return work->use_gpu ? pairs * PAIR_GPU_S : pairs * PAIR_CPU_S / (double)(cores > 0 ? cores : 1);
}

void splat_cameras_suggest_matcher(const splat_cameras_work *work)
{
    double seconds = exhaustive_seconds(work);
    if (work->matcher != SPLAT_MATCHER_EXHAUSTIVE || work->options->matcher == SPLAT_MATCHER_EXHAUSTIVE) return;
    if (seconds <= LONG_S || !splat_names_are_sequence(work->photos.names, work->photos.n)) return;
    splat_cameras_say(work, SPLAT_LOG_NOTICE, "comparing all pairs of %zu photos may take %.0f minutes; the names are "
                      "numbered in order, so `matcher sequential`, which compares neighbours, is faster",
                      work->photos.n, seconds / 60);
}
