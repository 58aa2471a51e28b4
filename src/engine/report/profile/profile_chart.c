/* The timeline of a memory profile. */
#include "report/profile/profile_chart.h"
#include "report/profile/profile_report.h"

#include "io/svg/svg_areas.h"
#include "report/profile/memory_colors.h"

#include <stdlib.h>


splat_status splat_profile_write_svg(const splat_profile *profile, const char *path, splat_error *error)
{
    size_t n = profile->n_samples;
    enum { DRIVER = SPLAT_N_MEMORY_CATEGORIES, X, N_COLUMNS };
    double *values = n < SIZE_MAX / sizeof(double) / N_COLUMNS ? malloc(N_COLUMNS * n * sizeof *values) : NULL;
    if (!values) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a chart of %zu samples", n);
    splat_area_series areas[SPLAT_N_MEMORY_CATEGORIES];
    bool has_driver = profile->samples[n - 1].driver_bytes > 0;
    size_t n_areas = 0;
    for (size_t i = 0; i < n; i++) {
        const splat_profile_sample *sample = &profile->samples[i];
        for (int c = 0; c < SPLAT_N_MEMORY_CATEGORIES; c++)
            values[(size_t)c * n + i] = (double)sample->category_bytes[c] / SPLAT_MIB;
        values[DRIVER * n + i] = (double)sample->driver_bytes / SPLAT_MIB;
        values[X * n + i] = sample->iteration;
    }
    for (int c = 0; c < SPLAT_N_MEMORY_CATEGORIES; c++)
        if (profile->samples[profile->category_peaks[c]].category_bytes[c])
            areas[n_areas++] = (splat_area_series){splat_memory_category_name((splat_memory_category)c),
                                                   splat_memory_colors[c], values + (size_t)c * n};
    splat_area_series driver = {"driver's figure", "#333333", values + DRIVER * n};
    splat_area_chart chart = {.words = {"Device memory by category", "iteration", "MB"},
                              .x = values + X * n,
                              .n_points = n,
                              .areas = areas,
                              .n_areas = n_areas,
                              .lines = &driver,
                              .n_lines = has_driver};
    splat_status status = splat_svg_areas(path, &chart, error);
    free(values);
    return status;
}
