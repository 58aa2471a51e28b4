/* The folder that a command writes: its name, what may be deleted in it, and deleting it. */
#ifndef SPLAT_STAGE_FOLDER_H
#define SPLAT_STAGE_FOLDER_H

#include "stage/talk.h"

/* Builds "folder/name" in path. Errors: ARGUMENT (too long). */
splat_status splat_stage_join(char path[SPLAT_STAGE_PATH], const char *folder, const char *name, splat_error *error);
/* Chooses the folder to write: `requested`, or, if it is NULL, `name` in a folder next to `source`, with the same name
 * plus `suffix`. Errors: ARGUMENT (too long). */
splat_status splat_stage_choose_folder(char path[SPLAT_STAGE_PATH], const char *requested, const char *source,
                                       const char *suffix, const char *name, splat_error *error);
/* True if `path` is `folder` or in it, with links followed. False for absent ones (and a NULL path). */
bool splat_stage_lies_in(const char *path, const char *folder);
/* Why `folder` must not be deleted for `delete_first`. Errors: ARGUMENT. */
splat_status splat_stage_check_deletable(const char *folder, const char *source_path, const char *start_checkpoint,
                                         splat_error *error);
/* mkdir -p. Errors: IO. */
splat_status splat_stage_create_folder(const char *path, splat_error *error);
/* rm -r that follows no link and stays on its file system. Absent is fine. Errors: IO. */
splat_status splat_stage_delete_folder(const char *folder, splat_error *error);

#endif
