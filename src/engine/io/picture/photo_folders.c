/* Names of photos, and folders with photos. */
#include "io/picture/photo_folders.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FOLDERS_MAX 2000 /* that are looked at: somebody may name the root of a disk */

bool splat_is_photo_name(const char *name)
{
    const char *base = splat_basename(name), *dot = strrchr(base, '.');
    return dot && dot != base && base[0] != '.' &&
           (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0 || strcasecmp(dot, ".png") == 0);
}

static bool has_photo_name(char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (splat_is_photo_name(names[i])) return true;
    return false;
}

/* `below`: the folder's name below `source`, "" or with a slash at its end. n_seen: the folders that were looked at. */
static char *find_below(const char *source, const char *below, int depth, int *n_seen)
{
    char **names, *found = NULL, *folder = splat_format("%s/%s", source, below);
    size_t n;
    const bool is_listed = folder && depth <= SPLAT_PHOTO_FOLDERS_DEPTH && ++*n_seen <= FOLDERS_MAX &&
                           splat_folder_list(folder, &names, &n, NULL) == SPLAT_OK;
    free(folder);
    if (!is_listed) return NULL;
    if (*below && has_photo_name(names, n)) found = splat_format("%.*s", (int)strlen(below) - 1, below);
    for (size_t i = 0; i < n && !found; i++) {
        char *path = names[i][0] != '.' ? splat_format("%s/%s%s", source, below, names[i]) : NULL;
        char *inside = path && splat_path_is_folder(path) ? splat_format("%s%s/", below, names[i]) : NULL;
        if (inside) found = find_below(source, inside, depth + 1, n_seen);
        free(path);
        free(inside);
    }
    splat_names_free(names, n);
    return found;
}

char *splat_photo_folder_find_below(const char *source)
{
    int n_seen = 0;
    return find_below(source, "", 0, &n_seen);
}

bool splat_folder_has_photos(const char *folder, bool deep)
{
    char **names;
    size_t n;
    if (splat_folder_list(folder, &names, &n, NULL) != SPLAT_OK) return false;
    bool found = has_photo_name(names, n);
    splat_names_free(names, n);
    if (found || !deep) return found;
    char *below = splat_photo_folder_find_below(folder);
    found = below != NULL;
    free(below);
    return found;
}
