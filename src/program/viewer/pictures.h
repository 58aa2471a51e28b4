/* Pictures of what clients wish. */
#ifndef SPLAT_VIEWER_PICTURES_H
#define SPLAT_VIEWER_PICTURES_H

#include "viewer/clients.h"

#define SPLAT_VIEWER_MOVING_SECONDS 0.05 /* viewer->moving_seconds where nothing else needs the time, */
#define SPLAT_VIEWER_MOVING_SMALLEST 0.125 /* and viewer->moving_smallest */

/* Renders a job and delivers it, of the model, or without one of viewer->mesh; a view that the scene lacks, or a kind
 * that there is not, has no picture. A box hides Gaussians of the model for as long as this takes. background: rgb in
 * [0,1]. Errors: those of splat_model_render, and of reading a photo. */
splat_status splat_viewer_make(splat_viewer *viewer, splat_model *model, const float background[3],
                               const splat_viewer_job *job, splat_error *error);

#endif
