/* The notices of opening a dataset. */
#include "scene/dataset_parts.h"

#include <stdio.h>

void splat_dataset_say(const splat_dataset_log *log, splat_log_level level, const char *format, ...)
{
    if (!log->function) return;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    log->function(log->user, level, line);
}
