/* The photos of a video. */
#ifndef SPLAT_CAPTURE_CAMERAS_VIDEO_H
#define SPLAT_CAPTURE_CAMERAS_VIDEO_H

#include "capture/cameras_parts.h"

/* The frames of the source, a video, in work->images, unless they are there. */
splat_status splat_cameras_take_frames(splat_cameras_work *work, splat_error *error);

#endif
