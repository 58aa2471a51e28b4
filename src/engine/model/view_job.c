/* Jobs on the views of a scene: their defaults, and their visitors. */
#include "model/view_job.h"

#include "base/options.h"

void splat_view_job_init_sized(splat_view_job *job, size_t size)
{
    const splat_view_job defaults = {.set = SPLAT_VIEWS_TEST};
    splat_options_give(job, size, &defaults, sizeof defaults);
}

splat_status splat_view_job_show(const splat_view_job *job, const splat_view_info *view, size_t index, size_t n,
                                 splat_error *error)
{
    if (!job->visit || job->visit(job->user, index, view, NULL, NULL, NULL) || index + 1 == n) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_STOPPED, "stopped after %zu of %zu views", index + 1, n);
}
