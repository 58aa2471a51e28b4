/* Photos that were lost after their cameras were found: they are left out. */
#ifndef SPLAT_SCENE_DATASET_LOST_H
#define SPLAT_SCENE_DATASET_LOST_H

#include "scene/dataset_parts.h"

/* Takes the views away whose photos are absent, have a damaged header or are cut off; a warning names them. IO, FORMAT,
 * UNSUPPORTED: more than a tenth are, or one with `strict`; the error is that of the first. */
splat_status splat_source_leave_out_lost(splat_source *source, const splat_scene_options *options,
                                         const splat_dataset_log *log, splat_error *error);
/* True if a name, with or without the folders below the photos' folder, is that of an omitted photo. */
bool splat_source_has_lost(const splat_source *source, const char *name);

#endif
