/* What the parts of finding cameras tell the caller. */
#include "capture/cameras_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void splat_cameras_say(const splat_cameras_work *work, splat_log_level level, const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    if (!work->options->log) return;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) text = NULL;
    va_end(arguments);
    if (text) work->options->log(work->options->log_user, level, text);
    free(text);
}

bool splat_cameras_tick(const splat_cameras_work *work, const char *stage, double fraction)
{
    const splat_cameras_options *o = work->options;
    return !o->progress || o->progress(o->progress_user, stage, fraction);
}
