/* Names of photos, and folders with photos. */
#ifndef SPLAT_IO_PICTURE_PHOTO_FOLDERS_H
#define SPLAT_IO_PICTURE_PHOTO_FOLDERS_H

#include <stdbool.h>

#define SPLAT_PHOTO_FOLDERS_DEPTH 8 /* most levels of folders below the given one */

/* True if the name is that of a JPEG or PNG, and not hidden. */
bool splat_is_photo_name(const char *name);
/* True if the folder has a photo, or with `deep` one of its subfolders has. */
bool splat_folder_has_photos(const char *folder, bool deep);
/* The first folder below `source` with photos directly in it, as its name below `source`: "DCIM/100CANON"; malloc'd;
 * NULL: none. */
char *splat_photo_folder_find_below(const char *source);

#endif
