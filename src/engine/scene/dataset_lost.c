/* Photos that went after their cameras were found: people delete blurred ones, and copies are cut off. A few are left
 * out, before anything depends on the list of views. */
#include "scene/dataset_lost.h"

#include "io/picture/image_read.h"
#include "scene/dataset_parts.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

#define MOST 10    /* at most one photo of so many may be lost */
#define N_NAMED 12 /* photos that the warning names */
#define NAMES_MAX 700

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

/* The first names of the lost, and how many more there are. */
static const char *list_lost(const splat_source *source, char names[NAMES_MAX])
{
    size_t length = 0, n = source->n_lost;
    names[0] = '\0';
    for (size_t i = 0; i < n && i < N_NAMED && length < NAMES_MAX; i++)
        length += (size_t)snprintf(names + length, NAMES_MAX - length, "%s%.50s", i ? ", " : "", source->lost[i]);
    if (n > N_NAMED && length < NAMES_MAX)
        snprintf(names + length, NAMES_MAX - length, " and %zu more", n - N_NAMED);
    return names;
}

static void say_lost(const splat_source *source, const splat_dataset_log *log)
{
    char names[NAMES_MAX];
    const size_t n = source->n_lost;
    splat_dataset_say(log, SPLAT_LOG_WARNING, "%zu of %zu photos %s absent or damaged and left out: %s; `strict` makes "
                      "this an error", n, n + source->n_views, n == 1 ? "is" : "are", list_lost(source, names));
}

/* The reason of the first lost photo, and how many there are. */
static splat_status fail_lost(const splat_source *source, const splat_error *first, bool strict, splat_error *error)
{
    const size_t n = source->n_lost, n_all = n + source->n_views;
    char limit[64] = "`strict` allows none";
    if (!strict) snprintf(limit, sizeof limit, "at most %d %% may be left out", 100 / MOST);
    return splat_fail_at(error, first->status, first->file, first->offset,
                         "%.800s; %zu of %zu photos %s absent or damaged, and %s", first->message, n, n_all,
                         n == 1 ? "is" : "are", limit);
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
    if (status != SPLAT_OK && error) *error = first;
    if (status != SPLAT_OK) return first.status;
    const bool strict = options->strict && source->n_lost;
    if (strict || MOST * source->n_lost > n) return fail_lost(source, &first, strict, error);
    if (source->n_lost) say_lost(source, log);
    return SPLAT_OK;
}

bool splat_source_has_lost(const splat_source *source, const char *name)
{
    for (size_t i = 0; i < source->n_lost; i++)
        if (strcmp(source->lost[i], name) == 0 || strcmp(splat_basename(source->lost[i]), name) == 0) return true;
    return false;
}
