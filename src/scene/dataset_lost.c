/* Photos that went after their cameras were found: people delete blurred ones, and copies are cut off. A few are left
 * out, before anything depends on the list of views. */
#include "scene/dataset_parts.h"

#include "base/file.h"
#include "io/picture/image.h"

#include <stdlib.h>
#include <string.h>

#define MOST 10    /* at most one photo of so many may be lost */
#define N_NAMED 12 /* photos that the warning names */

static splat_status check_photo(const splat_source_view *view, splat_error *error)
{
    if (!view->absent) return splat_image_check_whole(view->path, error);
    *error = *view->absent;
    return error->status;
}

static void free_view(splat_source_view *view)
{
    free(view->path);
    free(view->mask);
    free(view->absent);
}

/* Moves the view's name to the lost. */
static splat_status lose(splat_source *source, const splat_source_view *view, splat_error *error)
{
    char *name = strdup(view->relative);
    if (!name) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a name");
    source->lost[source->n_lost++] = name;
    return SPLAT_OK;
}

static void say_lost(const splat_source *source, const splat_error *first, const splat_dataset_log *log)
{
    char names[700] = "";
    size_t length = 0, n = source->n_lost;
    for (size_t i = 0; i < n && i < N_NAMED && length < sizeof names; i++)
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%.50s", i ? ", " : "", source->lost[i]);
    if (n > N_NAMED && length < sizeof names)
        snprintf(names + length, sizeof names - length, " and %zu more", n - N_NAMED);
    splat_dataset_say(log, SPLAT_LOG_WARNING, "%zu of %zu photos %s absent or damaged and left out: %s (%.200s); "
                      "`strict` makes this an error", n, n + source->n_views, n == 1 ? "is" : "are", names,
                      first->message);
}

splat_status splat_source_leave_out_lost(splat_source *source, const splat_scene_options *options,
                                         const splat_dataset_log *log, splat_error *error)
{
    size_t n = source->n_views, n_kept = 0;
    splat_error first = {0}, reason;
    source->lost = calloc(n + 1, sizeof *source->lost);
    if (!source->lost) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the names of %zu photos", n);
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < n; i++) {
        splat_source_view *view = &source->views[i];
        splat_status found = status == SPLAT_OK ? check_photo(view, &reason) : SPLAT_OK;
        if (found == SPLAT_OK) {
            source->views[n_kept++] = *view;
            continue;
        }
        if (source->n_lost == 0) first = reason;
        status = found == SPLAT_ERROR_MEMORY ? found : lose(source, view, &reason);
        if (status != SPLAT_OK) first = reason;
        free_view(view);
    }
    source->n_views = n_kept;
    bool is_error = status != SPLAT_OK || MOST * source->n_lost > n || (options->strict && source->n_lost);
    if (is_error && error) *error = first;
    if (is_error) return first.status;
    if (source->n_lost) say_lost(source, &first, log);
    return SPLAT_OK;
}

bool splat_source_has_lost(const splat_source *source, const char *name)
{
    for (size_t i = 0; i < source->n_lost; i++)
        if (strcmp(source->lost[i], name) == 0 || strcmp(splat_basename(source->lost[i]), name) == 0) return true;
    return false;
}
