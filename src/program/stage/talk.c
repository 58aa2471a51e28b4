/* Sentences for the caller of a command's work. */
#include "stage/talk.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#define SENTENCE_MAX 8192 /* two long paths; what is longer is cut */

static void tell(const splat_talk *talk, splat_talk_kind kind, const char *format, va_list arguments)
{
    char text[SENTENCE_MAX];
    if (!talk || !talk->message) return;
    vsnprintf(text, sizeof text, format, arguments);
    talk->message(talk->user, kind, text);
}

void splat_say(const splat_talk *talk, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tell(talk, SPLAT_TALK_RESULT, format, arguments);
    va_end(arguments);
}

void splat_notice(const splat_talk *talk, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tell(talk, SPLAT_TALK_NOTICE, format, arguments);
    va_end(arguments);
}

void splat_warn(const splat_talk *talk, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tell(talk, SPLAT_TALK_WARNING, format, arguments);
    va_end(arguments);
}

void splat_tell_error(const splat_talk *talk, const splat_error *error)
{
    char text[sizeof error->file + sizeof error->message + 64];
    if (talk && talk->message)
        talk->message(talk->user, SPLAT_TALK_ERROR, splat_error_format(error, text, sizeof text));
}

bool splat_talk_stops(const splat_talk *talk)
{
    return talk && splat_stop_number(talk->stop) != 0;
}

void splat_talk_log(void *talk, splat_log_level level, const char *message)
{
    if (level == SPLAT_LOG_WARNING) splat_warn(talk, "%s", message);
    if (level == SPLAT_LOG_NOTICE) splat_notice(talk, "%s", message);
}

double splat_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

const char *splat_duration(double seconds, char text[32])
{
    double whole = floor(fmin(fmax(seconds, 0), 3.6e9) + 0.5);
    long s = (long)whole;
    if (s >= 3600)
        snprintf(text, 32, "%ldh%02ldm", s / 3600, s / 60 % 60);
    else if (s >= 60)
        snprintf(text, 32, "%ldm%02lds", s / 60, s % 60);
    else
        snprintf(text, 32, "%lds", s);
    return text;
}

const char *splat_bytes(size_t bytes, char text[32])
{
    return splat_bytes_format(bytes, text, 32);
}
