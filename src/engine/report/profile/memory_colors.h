/* Colours of the memory categories in charts: distinct to colour-blind eyes, too; the model's own arrays are the
 * blues. */
#ifndef SPLAT_OBSERVE_MEMORY_COLORS_H
#define SPLAT_OBSERVE_MEMORY_COLORS_H

#include "report/profile/memory_profile.h"

static const char *const splat_memory_colors[SPLAT_N_MEMORY_CATEGORIES] = {
    "#332288", "#cc6677", "#6699cc", "#88ccee", "#ddcc77", "#44aa99", "#aa4499", "#bbbbbb"};

#endif
