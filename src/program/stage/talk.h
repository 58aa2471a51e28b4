/* How the work of a command speaks to its caller: sentences, and how far it is. Nothing here prints. */
#ifndef SPLAT_STAGE_TALK_H
#define SPLAT_STAGE_TALK_H

#include "base/error.h"
#include "stage/stop.h"

#define SPLAT_STAGE_PATH 4096

typedef enum splat_talk_kind {
    SPLAT_TALK_RESULT,
    SPLAT_TALK_NOTICE,
    SPLAT_TALK_WARNING,
    SPLAT_TALK_ERROR /* one that does not end the work, or follows another one */
} splat_talk_kind;

/* How far the work is. */
typedef struct splat_talk_progress {
    const char *activity; /* "train", "mesh", "cameras", "measuring test views" */
    const char *text;     /* a line for people, without the activity */
    double fraction;      /* 0 to 1 */
    int iteration;        /* iteration of a training; 0 in other activities */
} splat_talk_progress;

/* The functions of a caller. Texts name options between backquotes, as errors do. */
typedef struct splat_talk {
    void (*message)(void *user, splat_talk_kind kind, const char *text); /* NULL: silence */
    bool (*progress)(void *user, const splat_talk_progress *progress);   /* false: stop. NULL: nobody asks */
    void *user;
    double interval;  /* seconds between two calls of progress, at least; the last step of a training always calls */
    splat_stop *stop; /* NULL: nobody stops but progress */
    bool has_named_lpips; /* how to get its weights is said once */
} splat_talk;

/* A result, a notice and a warning. talk NULL: silence. */
void splat_say(const splat_talk *talk, const char *format, ...) SPLAT_PRINTF(2, 3);
void splat_notice(const splat_talk *talk, const char *format, ...) SPLAT_PRINTF(2, 3);
void splat_warn(const splat_talk *talk, const char *format, ...) SPLAT_PRINTF(2, 3);
/* An error that does not end the work. */
void splat_tell_error(const splat_talk *talk, const splat_error *error);
/* True if the caller's splat_stop asks to stop. */
bool splat_talk_stops(const splat_talk *talk);
/* The splat_log_function of a context, whose user is the splat_talk. */
void splat_talk_log(void *talk, splat_log_level level, const char *message);

double splat_seconds(void);
/* "1h02m", "3m07s", "42s" */
const char *splat_duration(double seconds, char text[32]);
/* "1.25 GiB", "312 MiB": splat_bytes_format */
const char *splat_bytes(size_t bytes, char text[32]);

#endif
