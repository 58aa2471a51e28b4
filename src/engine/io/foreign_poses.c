/* Photos, poses and origins for the readers of other programs' poses. */
#include "io/foreign_poses.h"

#include "base/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FAR 1000.0 /* from here on a float's last place is above 6e-5 units: a twentieth of a millimetre in metres */

bool splat_poses_is_sound(double value)
{
    return isfinite((float)value);
}

splat_status splat_poses_check_panorama(int width, int height, const char *path, splat_error *error)
{
    if (fabs(width - 2.0 * height) <= 1) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                         "a panorama of %d x %d pixels is not twice as wide as high: only whole ones, of 360 by 180 "
                         "degrees, are read", width, height);
}

/* ---------------------------------------------------------------- photos */

static splat_status fail_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to find photos");
}

/* folder/name with the ending that is on the disk; *found stays NULL when there is none. folder "" is the scene's. */
static splat_status try_name(const char *scene, const char *folder, const char *name, char **found,
                             splat_error *error)
{
    static const char *const endings[] = {"", ".jpg", ".JPG", ".jpeg", ".JPEG", ".png", ".PNG"};
    if (!splat_name_is_inside(name)) return SPLAT_OK;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0] && !*found; i++) {
        char *relative = splat_format("%s%s%s%s", folder, *folder ? "/" : "", name, endings[i]);
        char *full = relative ? splat_format("%s/%s", folder[0] == '/' ? "" : scene, relative) : NULL;
        bool is_there = full && splat_path_exists(full) && !splat_path_is_folder(full);
        if (is_there) *found = relative;
        else free(relative);
        if (!full) return fail_memory(error);
        free(full);
    }
    return SPLAT_OK;
}

splat_status splat_poses_find_photo(const char *scene, const char *images, const char *name, const char *path,
                                    splat_transforms_frame *frame, splat_error *error)
{
    splat_error reason;
    frame->path = NULL;
    char *whole = strdup(name); /* programs on Windows write backslashes, and some the whole path of their machine */
    if (!whole) return fail_memory(error);
    for (char *c = whole; *c; c++)
        if (*c == '\\') *c = '/';
    const char *const folders[2] = {images, ""};
    splat_status status = SPLAT_OK;
    for (int i = 0; i < 2 && status == SPLAT_OK && !frame->path; i++) {
        status = try_name(scene, folders[i], whole, &frame->path, error);
        if (status == SPLAT_OK && !frame->path)
            status = try_name(scene, folders[i], splat_basename(whole), &frame->path, error);
    }
    if (status == SPLAT_OK && !frame->path) {
        splat_fail_at(&reason, SPLAT_ERROR_IO, path, SPLAT_NO_OFFSET,
                      "the photo \"%.200s\" is neither in the folder %.200s nor in the scene's own (.png, .jpg and "
                      ".jpeg were tried too); put it there, name the right folder with `images`, or take its camera "
                      "out of the file", name, images);
        status = splat_transforms_set_absent(frame, splat_basename(whole), &reason, error);
    }
    free(whole);
    return status;
}

splat_status splat_poses_find_points(const char *scene, const char *path, splat_transforms *transforms,
                                     splat_error *error)
{
    char **names = NULL;
    const char *file = splat_basename(path), *dot = strrchr(file, '.'), *found = NULL;
    size_t n = 0, n_found = 0, stem = dot ? (size_t)(dot - file) : strlen(file);
    SPLAT_TRY(splat_folder_list(scene, &names, &n, error));
    for (size_t i = 0; i < n; i++) {
        if (!splat_name_ends_with(names[i], ".ply") && !splat_name_ends_with(names[i], ".PLY")) continue;
        bool is_namesake = strlen(names[i]) == stem + strlen(".ply") && memcmp(names[i], file, stem) == 0;
        found = names[i];
        n_found++;
        if (!is_namesake) continue;
        n_found = 1;
        break;
    }
    splat_status status = SPLAT_OK;
    if (n_found > 1)
        status = splat_fail_at(error, SPLAT_ERROR_FORMAT, scene, SPLAT_NO_OFFSET,
                               "%zu PLY files are next to %s; name the one with the points %.*s.ply", n_found,
                               file, (int)stem, file);
    else if (found && !(transforms->point_cloud = strdup(found)))
        status = fail_memory(error);
    splat_names_free(names, n);
    return status;
}

/* ---------------------------------------------------------------- the file */

static bool begins_as(const char *path, bool (*is_one)(char *start))
{
    FILE *stream;
    uint64_t size;
    char start[4097];
    if (splat_file_open_stream(path, &stream, &size, NULL) != SPLAT_OK) return false;
    size_t n = fread(start, 1, sizeof start - 1, stream);
    fclose(stream);
    start[n] = '\0';
    return is_one(start);
}

/* All small, or all capitals. */
static bool ends_with(const char *name, const char *ending)
{
    char capitals[16] = {0};
    for (size_t i = 0; ending[i] && i < sizeof capitals - 1; i++)
        capitals[i] = ending[i] >= 'a' && ending[i] <= 'z' ? (char)(ending[i] - 'a' + 'A') : ending[i];
    return splat_name_ends_with(name, ending) || splat_name_ends_with(name, capitals);
}

char *splat_poses_find_file(const char *scene, const char *ending, bool (*is_one)(char *start))
{
    char **names = NULL, *found = NULL;
    size_t n = 0;
    if (splat_folder_list(scene, &names, &n, NULL) != SPLAT_OK) return NULL;
    for (size_t i = 0; i < n && !found; i++) {
        if (!ends_with(names[i], ending)) continue;
        found = splat_format("%s/%s", scene, names[i]);
        if (!found || begins_as(found, is_one)) continue;
        free(found);
        found = NULL;
    }
    splat_names_free(names, n);
    return found;
}

/* ---------------------------------------------------------------- poses */

#define NAMES_REPORTED 5

splat_status splat_poses_leave_out(splat_transforms *transforms, const char *name, splat_error *error)
{
    if (transforms->n_left_out++ >= NAMES_REPORTED) return SPLAT_OK;
    char *all = transforms->left_out ? splat_format("%s, %.100s", transforms->left_out, name) : strndup(name, 100);
    if (!all) return fail_memory(error);
    free(transforms->left_out);
    transforms->left_out = all;
    return SPLAT_OK;
}

void splat_poses_set(splat_transforms_frame *frame, const double axes[9], const double center[3])
{
    for (int r = 0; r < 3; r++) { /* rows of the inverse are the columns */
        double sum = 0;
        for (int k = 0; k < 3; k++) {
            frame->world_to_camera[4 * r + k] = axes[3 * k + r];
            sum -= axes[3 * k + r] * center[k];
        }
        frame->world_to_camera[4 * r + 3] = sum;
    }
}

void splat_poses_recenter(splat_transforms *transforms)
{
    double mean[3] = {0}, farthest = 0;
    for (size_t i = 0; i < transforms->n_frames; i++) {
        const double *m = transforms->frames[i].world_to_camera;
        for (int k = 0; k < 3; k++)
            mean[k] -= (m[k] * m[3] + m[4 + k] * m[7] + m[8 + k] * m[11]) / (double)transforms->n_frames;
    }
    for (int k = 0; k < 3; k++) farthest = fmax(farthest, fabs(mean[k]));
    memset(transforms->origin, 0, sizeof transforms->origin);
    if (!(farthest > FAR)) return;
    for (int k = 0; k < 3; k++) transforms->origin[k] = rint(mean[k]);
    for (size_t i = 0; i < transforms->n_frames; i++) {
        double *m = transforms->frames[i].world_to_camera;
        for (int r = 0; r < 3; r++) /* R (x - o) + t' = R x + t */
            for (int k = 0; k < 3; k++) m[4 * r + 3] += m[4 * r + k] * transforms->origin[k];
    }
}
