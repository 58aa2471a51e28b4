/* The spread of the photos' exposures: log2 of the brightness of point p in photo k is x_p + e_k, fitted by medians to
 * all photos whose picture contains the point. Something hides the point in some of them, which medians do not mind: it
 * gives an exposure that explains little (docs/method.md 8.1). */
#include "splatsmith/scene.h"

#include "base/select.h"
#include "scene/dataset_depth_points.h"
#include "scene/image_cache.h"
#include "scene/scene.h"

#include <math.h>
#include <stdlib.h>

#define MOST_POINTS 4000
#define MOST_PHOTOS 200
#define LEAST_POINTS 50     /* of a photo */
#define LEAST_PHOTOS 10     /* with fewer photos nothing can be said */
#define POINT_PHOTOS 3      /* in which a point lies, so that it says something */
#define SWEEPS 6
#define DARKEST 10          /* levels: darker pixels are noise */
#define BRIGHTEST 250       /* brighter pixels are cut off */
#define LEAST_DEVIATION 0.1  /* stops of display values */
#define LEAST_ERRORS 3
#define LEAST_EXPLAINED 0.2

typedef struct fit {
    splat_scene *scene;
    size_t n_photos, photo_stride, n_points, stride;
    float *values;    /* [n_photos][n_points] log2 of the brightness; NAN: not seen */
    double *photos;   /* [n_photos] e */
    double *points;   /* [n_points] x; NAN: in too few photos */
    uint8_t *is_used; /* [n_photos] */
    float *scratch;   /* [n_photos + n_points] */
} fit;

/* The mean of 3 x 3 pixels, as log2; NAN at the ends of the range and at the border. */
static float brightness_at(const uint8_t *rgb, const splat_camera *camera, const double place[3])
{
    const int x = (int)place[0], y = (int)place[1], width = camera->width;
    uint32_t sum = 0, most = 0;
    if (!(place[0] >= 1 && place[1] >= 1) || x >= width - 1 || y >= camera->height - 1) return NAN;
    for (int j = y - 1; j <= y + 1; j++)
        for (int i = 3 * (x - 1); i < 3 * (x + 2); i++) {
            const uint32_t value = rgb[3 * (size_t)j * (size_t)width + (size_t)i];
            sum += value;
            most = value > most ? value : most;
        }
    return most >= BRIGHTEST || sum < 27 * DARKEST ? NAN : log2f((float)sum / 27);
}

static splat_status look(fit *f, size_t k, splat_error *error)
{
    const splat_dataset *dataset = &f->scene->dataset;
    const uint32_t index = dataset->train[k * f->photo_stride];
    const splat_camera *camera = &dataset->views[index].camera;
    const uint8_t *rgb;
    SPLAT_TRY(splat_image_cache_acquire(f->scene->cache, index, &rgb, error));
    for (size_t p = 0; p < f->n_points; p++) {
        double place[3];
        const bool is_ahead = splat_dataset_place_point(camera, dataset->points[p * f->stride].position, 0, place);
        f->values[k * f->n_points + p] = is_ahead ? brightness_at(rgb, camera, place) : NAN;
    }
    splat_image_cache_release(f->scene->cache, index);
    return SPLAT_OK;
}

static splat_status look_at_all(fit *f, splat_error *error)
{
    for (size_t k = 0; k < f->n_photos; k++) {
        for (size_t next = k + 1; next < k + 5 && next < f->n_photos; next++)
            splat_image_cache_prefetch(f->scene->cache, f->scene->dataset.train[next * f->photo_stride]);
        SPLAT_TRY(look(f, k, error));
    }
    return SPLAT_OK;
}

static double median(float *values, size_t n)
{
    return (double)splat_select_float(values, n, n / 2);
}

static void fit_points(fit *f)
{
    for (size_t p = 0; p < f->n_points; p++) {
        size_t n = 0;
        for (size_t k = 0; k < f->n_photos; k++) {
            const float value = f->values[k * f->n_points + p];
            if (f->is_used[k] && !isnan(value)) f->scratch[n++] = value - (float)f->photos[k];
        }
        f->points[p] = n >= POINT_PHOTOS ? median(f->scratch, n) : (double)NAN;
    }
}

/* Differences of a photo's points from their x. Returns their number. */
static size_t differences(const fit *f, size_t k)
{
    size_t n = 0;
    for (size_t p = 0; p < f->n_points; p++) {
        const float value = f->values[k * f->n_points + p];
        if (!isnan(value) && !isnan(f->points[p])) f->scratch[n++] = value - (float)f->points[p];
    }
    return n;
}

static void fit_photos(fit *f)
{
    double sum = 0;
    size_t n_used = 0;
    for (size_t k = 0; k < f->n_photos; k++) {
        const size_t n = differences(f, k);
        f->is_used[k] = n >= LEAST_POINTS;
        if (!f->is_used[k]) continue;
        f->photos[k] = median(f->scratch, n);
        sum += f->photos[k];
        n_used++;
    }
    for (size_t k = 0; k < f->n_photos; k++) f->photos[k] -= n_used ? sum / (double)n_used : 0;
}

/* The median size of what is left of a photo's differences. */
static double residual(const fit *f, size_t k, size_t *n)
{
    *n = differences(f, k);
    for (size_t i = 0; i < *n; i++) f->scratch[i] = fabsf(f->scratch[i] - (float)f->photos[k]);
    return *n ? median(f->scratch, *n) : 0;
}

static double mean_residual(const fit *f, double *error)
{
    double sum = 0, n_used = 0;
    *error = 0;
    for (size_t k = 0; k < f->n_photos; k++) {
        size_t n;
        if (!f->is_used[k]) continue;
        const double left = residual(f, k, &n);
        sum += left;
        *error += 1.2533 * 1.4826 * left / sqrt((double)n); /* of a median of normal differences */
        n_used++;
    }
    *error /= n_used > 0 ? n_used : 1;
    return n_used > 0 ? sum / n_used : 0;
}

static void solve(fit *f, splat_exposure_spread *b)
{
    double unused, squares = 0;
    for (size_t k = 0; k < f->n_photos; k++) f->is_used[k] = true;
    fit_points(f);
    const double before = mean_residual(f, &unused);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        fit_photos(f);
        fit_points(f);
    }
    const double after = mean_residual(f, &b->error);
    for (size_t k = 0; k < f->n_photos; k++) {
        b->n_photos += f->is_used[k];
        if (f->is_used[k]) squares += f->photos[k] * f->photos[k];
    }
    b->deviation = b->n_photos ? sqrt(squares / (double)b->n_photos) : 0;
    b->explained = before > 0 && after < before ? 1 - after / before : 0;
    b->differs = b->n_photos >= LEAST_PHOTOS && b->deviation > LEAST_DEVIATION &&
                 b->deviation > LEAST_ERRORS * b->error && b->explained > LEAST_EXPLAINED;
}

splat_status splat_scene_measure_exposures(splat_scene *scene, splat_exposure_spread *spread, splat_error *error)
{
    const splat_dataset *dataset = &scene->dataset;
    fit f = {.scene = scene, .photo_stride = (dataset->n_train + MOST_PHOTOS - 1) / MOST_PHOTOS};
    *spread = (splat_exposure_spread){0};
    if (dataset->random_points || dataset->n_points == 0 || dataset->n_train < LEAST_PHOTOS) return SPLAT_OK;
    f.n_photos = dataset->n_train / f.photo_stride;
    f.stride = (dataset->n_points + MOST_POINTS - 1) / MOST_POINTS;
    f.n_points = dataset->n_points / f.stride;
    f.values = malloc(f.n_photos * f.n_points * sizeof *f.values);
    f.photos = calloc(f.n_photos, sizeof *f.photos);
    f.points = calloc(f.n_points, sizeof *f.points);
    f.is_used = calloc(f.n_photos, 1);
    f.scratch = malloc((f.n_photos + f.n_points) * sizeof *f.scratch);
    splat_status status = f.values && f.photos && f.points && f.is_used && f.scratch
                              ? look_at_all(&f, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the brightness of %zu points",
                                           f.n_points);
    if (status == SPLAT_OK) solve(&f, spread);
    free(f.values);
    free(f.photos);
    free(f.points);
    free(f.is_used);
    free(f.scratch);
    return status;
}
