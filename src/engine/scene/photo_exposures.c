/* The spread of the photos' exposures: log2 of the brightness of point p in photo k is x_p + e_k, fitted by medians to
 * all photos in which no point is much nearer at its place. Something hides the point in some of these, too, which
 * medians do not mind (docs/method.md 8.1). */
#include "splatsmith/scene.h"

#include "base/context.h"
#include "base/select.h"
#include "math/photo.h"
#include "scene/dataset_depth_points.h"
#include "scene/image_cache.h"
#include "scene/scene.h"

#include <math.h>
#include <stdlib.h>

#define MOST_POINTS 4000
#define MOST_PHOTOS 200
#define LEAST_POINTS 50     /* of a photo */
#define LEAST_PHOTOS 5      /* with fewer photos nothing can be said */
#define POINT_PHOTOS 3      /* in which a point lies, so that it says something */
#define SWEEPS 6
#define CELLS 16            /* along each side of a picture */
#define MOST_CELL_POINTS 100000 /* that hide others */
#define HIDDEN 1.15         /* times the depth of the nearest point in the cell: a point behind may be hidden */
#define FARTHEST 3.0f       /* times the depth of a point in the photo nearest to it */
#define DARKEST 10          /* levels: darker pixels are noise */
#define LEAST_DEVIATION 0.03 /* stops of display values: less is not worth a gain */
#define FEW_DEVIATION 0.8    /* over the number of photos: few that see the same tell their exposures badly */
#define LEAST_ERRORS 3
#define LEAST_EXPLAINED 0.06

typedef struct fit {
    splat_scene *scene;
    size_t n_photos, photo_stride, n_points, stride;
    float *values;    /* [n_photos][n_points] log2 of the brightness; NAN: not seen. Depths at first */
    double *photos;   /* [n_photos] e */
    double *points;   /* [n_points] x; NAN: in too few photos */
    uint8_t *is_used; /* [n_photos] */
    float *scratch;   /* [n_photos + n_points] */
    size_t nearest_stride; /* every so many points are tried as the nearest of a cell */
} fit;

/* The depth of the nearest point in each cell of a picture. */
typedef struct cells {
    float nearest[CELLS][CELLS];
} cells;

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
    return most >= SPLAT_PHOTO_SATURATED || sum < 27 * DARKEST ? NAN : log2f((float)sum / 27);
}

/* The cell of a place of the picture; NULL: it lies outside. */
static float *cell_of(cells *c, const splat_camera *camera, const double place[3])
{
    if (!(place[0] >= 0 && place[1] >= 0 && place[0] < camera->width && place[1] < camera->height)) return NULL;
    return &c->nearest[(size_t)(place[1] / camera->height * CELLS)][(size_t)(place[0] / camera->width * CELLS)];
}

/* The nearest point in a cell may hide those behind it. */
static void find_nearest(const fit *f, const splat_camera *camera, cells *c)
{
    const splat_dataset *dataset = &f->scene->dataset;
    for (int row = 0; row < CELLS; row++)
        for (int column = 0; column < CELLS; column++) c->nearest[row][column] = INFINITY;
    for (size_t p = 0; p < dataset->n_points; p += f->nearest_stride) {
        double place[3];
        float *nearest = splat_dataset_place_point(camera, dataset->points[p].position, 0, place)
                             ? cell_of(c, camera, place)
                             : NULL;
        if (nearest) *nearest = fminf(*nearest, (float)place[2]);
    }
}

/* The depth of each point that no point seems to hide from photo k; else NAN. */
static void find_depths(fit *f, size_t k)
{
    const splat_dataset *dataset = &f->scene->dataset;
    const splat_camera *camera = &dataset->views[dataset->train[k * f->photo_stride]].camera;
    cells c;
    find_nearest(f, camera, &c);
    for (size_t p = 0; p < f->n_points; p++) {
        double place[3];
        const bool is_ahead = splat_dataset_place_point(camera, dataset->points[p * f->stride].position, 0, place);
        const float *nearest = is_ahead ? cell_of(&c, camera, place) : NULL;
        const bool is_first = nearest && place[2] < HIDDEN * (double)*nearest;
        f->values[k * f->n_points + p] = is_first ? (float)place[2] : NAN;
    }
}

/* The farther a photo is, the more often something hides a point that no other point stands for. */
static void keep_near(fit *f)
{
    for (size_t p = 0; p < f->n_points; p++) {
        float nearest = INFINITY;
        for (size_t k = 0; k < f->n_photos; k++) nearest = fminf(nearest, f->values[k * f->n_points + p]);
        for (size_t k = 0; k < f->n_photos; k++) {
            float *depth = &f->values[k * f->n_points + p];
            if (*depth > FARTHEST * nearest) *depth = NAN;
        }
    }
}

static splat_status look(fit *f, size_t k, splat_error *error)
{
    const splat_dataset *dataset = &f->scene->dataset;
    const uint32_t index = dataset->train[k * f->photo_stride];
    const splat_camera *camera = &dataset->views[index].camera;
    const uint8_t *rgb;
    SPLAT_TRY(splat_image_cache_acquire(f->scene->cache, index, &rgb, error));
    for (size_t p = 0; p < f->n_points; p++) {
        float *value = &f->values[k * f->n_points + p];
        double place[3];
        if (isnan(*value)) continue;
        splat_dataset_place_point(camera, dataset->points[p * f->stride].position, 0, place);
        *value = brightness_at(rgb, camera, place);
    }
    splat_image_cache_release(f->scene->cache, index);
    return SPLAT_OK;
}

static splat_status look_at_all(fit *f, splat_error *error)
{
#pragma omp parallel for num_threads(f->scene->context->threads) schedule(dynamic, 1)
    for (size_t k = 0; k < f->n_photos; k++) find_depths(f, k);
    keep_near(f);
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

/* The deviation of exposures that photos next to each other do not share: the median difference between an exposure and
 * the mean of the exposures before and after it. Two effects change slowly along the path of a camera and hardly count:
 * errors by hidden points, and the drift of a video's exposure. A few photos may have wrong exposures, because most of
 * their points are hidden; the median ignores these photos. */
static double deviation(const fit *f)
{
    double before = 0, middle = 0;
    size_t n_used = 0, n = 0;
    for (size_t k = 0; k < f->n_photos; k++) {
        if (!f->is_used[k]) continue;
        if (n_used++ >= 2) f->scratch[n++] = (float)fabs(middle - 0.5 * (before + f->photos[k]));
        before = middle;
        middle = f->photos[k];
    }
    return n ? median(f->scratch, n) / (0.6745 * sqrt(1.5)) : 0; /* of a normal deviation, and of three exposures */
}

static void solve(fit *f, splat_exposure_spread *b)
{
    double unused;
    for (size_t k = 0; k < f->n_photos; k++) f->is_used[k] = true;
    fit_points(f);
    const double before = mean_residual(f, &unused);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        fit_photos(f);
        fit_points(f);
    }
    const double after = mean_residual(f, &b->error);
    for (size_t k = 0; k < f->n_photos; k++) b->n_photos += f->is_used[k];
    b->deviation = deviation(f);
    b->explained = before > 0 && after < before ? 1 - after / before : 0;
    b->differs = b->n_photos >= LEAST_PHOTOS && b->deviation > LEAST_DEVIATION &&
                 b->deviation > FEW_DEVIATION / (double)b->n_photos && b->deviation > LEAST_ERRORS * b->error &&
                 b->explained > LEAST_EXPLAINED;
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
    f.nearest_stride = dataset->n_points / MOST_CELL_POINTS + 1;
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
