/* Progress of the mesh of a density. */
#include "mesh/density/density_parts.h"

splat_status density_tell(const density_job *j, const char *stage, double fraction, splat_error *error)
{
    if (!j->options->progress || j->options->progress(j->options->progress_user, stage, fraction)) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_STOPPED, "stopped: %s", stage);
}
