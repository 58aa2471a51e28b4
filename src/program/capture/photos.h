/* The photos of a folder that COLMAP and we can read: names, and how they share cameras. */
#ifndef SPLAT_CAPTURE_PHOTOS_H
#define SPLAT_CAPTURE_PHOTOS_H

#include "base/error.h"

typedef struct splat_photo_list {
    char *folder;             /* absolute, links followed */
    char **names;             /* below it, sorted by bytes */
    uint64_t *cameras;        /* equal for photos of one size with the same EXIF model and focal length */
    size_t n, capacity;
    size_t n_with_focal;      /* photos whose EXIF tells a focal length */
    size_t n_with_place;      /* photos whose EXIF tells where they were taken */
    size_t n_unreadable;      /* photos whose header is damaged */
    char *unreadable;         /* the first of them */
    size_t n_broken_names;    /* photos and folders of photos whose name has a newline */
    char *broken_name;        /* the first of them, on one line */
    size_t n_others;          /* pictures of formats that are not read */
    char *other;
    uint64_t fingerprint;     /* hash of names, file sizes and modification times */
} splat_photo_list;

/* Which photos have one camera. */
typedef enum splat_sharing { SPLAT_SHARING_ALL, SPLAT_SHARING_FOLDERS, SPLAT_SHARING_NONE } splat_sharing;

/* The folder of the photos: `images` (NULL: "images") inside the source when it has photos, else the source itself.
 * malloc'd; NULL: neither has any. */
char *splat_photo_folder_find(const char *source, const char *images);
/* Lists the photos of splat_photo_folder_find: all below `images`, but only those that lie directly in a source.
 * Free it in every case. FORMAT: there are none. */
splat_status splat_photo_list_read(const char *source, const char *images, splat_photo_list *list, splat_error *error);
/* By their cameras: all have one, or those of every folder, or neither. */
splat_sharing splat_photo_list_get_sharing(const splat_photo_list *list);
void splat_photo_list_free(splat_photo_list *list);

#endif
