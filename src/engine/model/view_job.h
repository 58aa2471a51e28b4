/* Jobs on the views of a scene, for those who do them. */
#ifndef SPLAT_MODEL_VIEW_JOB_H
#define SPLAT_MODEL_VIEW_JOB_H

#include "base/error.h"
#include "splatsmith/model.h"

/* Shows view `index` of n, which was written but not measured, to the job's visitor. STOPPED when the visitor stops
 * before the last one. */
splat_status splat_view_job_show(const splat_view_job *job, const splat_view_info *view, size_t index, size_t n,
                                 splat_error *error);

#endif
