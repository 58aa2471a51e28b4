/* The timeline of a memory profile. */
#ifndef SPLAT_REPORT_PROFILE_CHART_H
#define SPLAT_REPORT_PROFILE_CHART_H

#include "report/profile/profile.h"

/* Draws memory by category over the iterations. Errors: IO, MEMORY. */
splat_status splat_profile_write_svg(const splat_profile *profile, const char *path, splat_error *error);

#endif
