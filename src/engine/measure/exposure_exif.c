/* A line through what EXIF tells and what training found, and what it says of other photos. */
#include "measure/exposure_exif.h"
#include "scene/dataset_size.h"

#include "io/picture/exif.h"
#include "scene/photo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALIKE 0.01   /* stops, a standard deviation: a camera whose exposure was held */
#define ALONE 0.9999 /* a photo's share in its own place on the line: without it there would be no line */

static splat_status fail_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the exposures of the test photos");
}

/* ---------------------------------------------------------------- the line */

static void take_means(const splat_exif_photo *photos, size_t n, size_t n_cameras, splat_exif_photo *means,
                       size_t *counts)
{
    memset(means, 0, n_cameras * sizeof *means);
    for (size_t i = 0; i < n; i++) {
        splat_exif_photo *mean = &means[photos[i].camera];
        counts[photos[i].camera]++;
        mean->stops += photos[i].stops;
        for (int k = 0; k < 3; k++) mean->row[k] += photos[i].row[k];
    }
    for (size_t c = 0; c < n_cameras; c++) {
        const double count = counts[c] ? (double)counts[c] : 1;
        means[c].camera = (uint32_t)c;
        means[c].stops /= count;
        for (int k = 0; k < 3; k++) means[c].row[k] /= count;
    }
}

/* Errors of foretelling each photo by the others: by the line, whose own residual grows by 1/(1 - its share in it), and
 * by the mean of its camera. Photos that are the only one of their camera say nothing. */
static bool foretells(const splat_exif_photo *photos, size_t n, const splat_exif_photo *means, const size_t *counts,
                      double slope, double spread)
{
    double by_line = 0, by_mean = 0;
    for (size_t i = 0; i < n; i++) {
        const splat_exif_photo *mean = &means[photos[i].camera];
        const double x = photos[i].stops - mean->stops, y = photos[i].row[0] - mean->row[0],
                     part = 1 / (double)counts[photos[i].camera], share = part + x * x / spread;
        if (counts[photos[i].camera] < 2) continue;
        if (share > ALONE) return false;
        const double line = (y - slope * x) / (1 - share), middle = y / (1 - part);
        by_line += line * line;
        by_mean += middle * middle;
    }
    return by_line < by_mean;
}

splat_status splat_exif_line(const splat_exif_photo *photos, size_t n, size_t n_cameras, splat_exif_photo *means,
                             double *slope, bool *holds, splat_error *error)
{
    size_t *counts = calloc(n_cameras + 1, sizeof *counts);
    double spread = 0, both = 0;
    if (!counts) return fail_memory(error);
    take_means(photos, n, n_cameras, means, counts);
    for (size_t i = 0; i < n; i++) {
        const double x = photos[i].stops - means[photos[i].camera].stops;
        spread += x * x;
        both += x * (photos[i].row[0] - means[photos[i].camera].row[0]);
    }
    const bool is_line = spread > ALIKE * ALIKE * (double)n;
    *slope = is_line ? both / spread : 0;
    *holds = is_line && foretells(photos, n, means, counts, *slope, spread);
    free(counts);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- photos */

/* The photos that the dataset trains on and that are known. Returns false without any, and where the EXIF of one is
 * silent. */
static bool collect(const splat_exposures *known, const splat_dataset *dataset, splat_exif_photo *photos, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < dataset->n_train; i++) {
        const splat_dataset_view *view = &dataset->views[dataset->train[i]];
        const splat_photo_exposure *found = splat_exposures_find(known, view->photo_name);
        if (view->crop || !found) continue;
        const splat_exif exif = splat_photo_read_exif(view);
        if (!splat_exif_stops(&exif, &photos[*n].stops)) return false;
        splat_photo_exposure_get(found, photos[*n].row);
        photos[(*n)++].camera = found->camera;
    }
    return *n > 0;
}

/* The exposure of a training photo of the same camera; NULL: there is none. */
static const splat_photo_exposure *find_sibling(const splat_exposures *known, const splat_dataset *dataset,
                                                const splat_dataset_view *view)
{
    for (size_t i = 0; i < dataset->n_train; i++) {
        const splat_dataset_view *other = &dataset->views[dataset->train[i]];
        const splat_photo_exposure *found =
            splat_view_same_camera(view, other) ? splat_exposures_find(known, other->photo_name) : NULL;
        if (found) return found;
    }
    return NULL;
}

/* Adds the exposure of a view's photo. Returns false if EXIF does not predict it. */
static bool foretell(const splat_exposures *known, const splat_dataset *dataset, const splat_dataset_view *view,
                     const splat_exif_photo *means, double slope, splat_photo_exposure *photo)
{
    const splat_exif exif = splat_photo_read_exif(view);
    const splat_photo_exposure *sibling = find_sibling(known, dataset, view);
    double stops;
    if (!sibling || !splat_exif_stops(&exif, &stops)) return false;
    const splat_exif_photo *mean = &means[sibling->camera];
    photo->camera = sibling->camera;
    splat_photo_exposure_set(photo, mean->row[0] + slope * (stops - mean->stops), mean->row[1], mean->row[2]);
    return true;
}

static splat_status foretell_all(const splat_exposures *known, const splat_dataset *dataset, const uint32_t *views,
                                 size_t n_views, const splat_exif_photo *means, double slope, splat_exposures *by_exif,
                                 splat_error *error)
{
    by_exif->photos = calloc(n_views + 1, sizeof *by_exif->photos);
    by_exif->cameras = calloc(known->n_cameras + 1, sizeof *by_exif->cameras);
    bool has_room = by_exif->photos && by_exif->cameras, tells = true;
    for (size_t i = 0; has_room && tells && i < n_views; i++) {
        const splat_dataset_view *view = &dataset->views[views[i]];
        splat_photo_exposure *photo = &by_exif->photos[by_exif->n_photos];
        if (view->crop) continue;
        tells = foretell(known, dataset, view, means, slope, photo);
        photo->name = strdup(view->photo_name);
        has_room = photo->name != NULL;
        by_exif->n_photos += has_room;
    }
    if (!has_room || !tells) {
        splat_exposures_file_free(by_exif);
        return has_room ? SPLAT_OK : fail_memory(error);
    }
    by_exif->n_cameras = known->n_cameras;
    memcpy(by_exif->cameras, known->cameras, known->n_cameras * sizeof *known->cameras);
    splat_exposures_sort(by_exif);
    return SPLAT_OK;
}

splat_status splat_exposures_by_exif(const splat_exposures *known, const splat_dataset *dataset, const uint32_t *views,
                                     size_t n_views, splat_exposures *by_exif, splat_error *error)
{
    *by_exif = (splat_exposures){0};
    splat_exif_photo *photos = malloc((dataset->n_train + 1) * sizeof *photos);
    splat_exif_photo *means = malloc((known->n_cameras + 1) * sizeof *means);
    size_t n;
    double slope;
    bool holds = false;
    splat_status status = photos && means ? SPLAT_OK : fail_memory(error);
    if (status == SPLAT_OK && n_views && collect(known, dataset, photos, &n))
        status = splat_exif_line(photos, n, known->n_cameras, means, &slope, &holds, error);
    if (status == SPLAT_OK && holds)
        status = foretell_all(known, dataset, views, n_views, means, slope, by_exif, error);
    free(photos);
    free(means);
    return status;
}
