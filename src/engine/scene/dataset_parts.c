/* The notices of opening a dataset, and what its views have in common. */
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

bool splat_view_same_camera(const splat_dataset_view *a, const splat_dataset_view *b)
{
    if (a->n_crops != b->n_crops || a->crop != b->crop) return false;
    if (a->n_crops) return splat_lens_equal(&a->lens, &b->lens);
    return a->full_width == b->full_width && a->full_height == b->full_height && a->full_fx == b->full_fx &&
           a->full_fy == b->full_fy;
}
