/* The dome: the colour of each direction that the photos share, and the radius on which they share it best. */
#include "scene/sky_dome.h"

#include "base/select.h"
#include "math/camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_PIXELS 4      /* of a bin in a photo */
#define LEAST_PHOTOS 4      /* that share a bin's colour */
#define LEAST_SHARE 0.6f    /* of the photos that see the bin plain */
#define LEAST_SPREAD 0.1    /* of the extent: between the cameras that share it */
#define SAME 3.0f           /* levels */
#define FULL 252            /* levels: the end of the range */
#define DARKEST 24.0f       /* levels: a darker dome is no sky */
#define ABOVE 0.1736        /* sine of 10 degrees */
#define LEAST_FIT 0.4       /* of the plain pixels above that */
#define LEAST_ABOVE 0.002   /* of all pixels: fewer say nothing */
#define STRIDE 2            /* of the pixels that choose the radius */
#define GAIN_ROUNDS 2
#define POLISH_ROUNDS 8
#define LEAST_GAIN_BINS 8
#define LEAST_GAIN 0.02 /* of the fit, by a smaller radius */

static const double radii[] = {3, 4, 6, 10, 20, 0};
enum { N_RADII = sizeof radii / sizeof *radii };

/* ---------------------------------------------------------------- directions */

static void ray_of(const splat_camera *c, size_t pixel, double ray[3])
{
    double x = ((double)(pixel % (size_t)c->width) + 0.5 - (double)c->cx) / (double)c->fx;
    double y = ((double)(pixel / (size_t)c->width) + 0.5 - (double)c->cy) / (double)c->fy;
    double inverse = 1 / sqrt(x * x + y * y + 1);
    for (size_t k = 0; k < 3; k++)
        ray[k] = inverse * (x * (double)c->rotation[k] + y * (double)c->rotation[3 + k] + (double)c->rotation[6 + k]);
}

double sky_elevation(const sky_finder *f, const sky_photo *photo, size_t pixel)
{
    double ray[3];
    ray_of(&photo->camera, pixel, ray);
    return ray[0] * f->up[0] + ray[1] * f->up[1] + ray[2] * f->up[2];
}

static uint16_t bin_of_direction(const double d[3])
{
    int axis = 0;
    for (int k = 1; k < 3; k++)
        if (fabs(d[k]) > fabs(d[axis])) axis = k;
    double inverse = 0.5 * SKY_SIDE / fabs(d[axis]);
    int at[2];
    for (int k = 0; k < 2; k++) {
        int i = (int)(d[(axis + 1 + k) % 3] * inverse + 0.5 * SKY_SIDE);
        at[k] = i < 0 ? 0 : i >= SKY_SIDE ? SKY_SIDE - 1 : i;
    }
    return (uint16_t)(((2 * axis + (d[axis] < 0)) * SKY_SIDE + at[0]) * SKY_SIDE + at[1]);
}

/* The bin where the ray meets the ball; radius 0: at infinity. */
static uint16_t bin_of(const sky_finder *f, const splat_camera *c, size_t pixel, double radius)
{
    double ray[3], from[3], along = 0, square = -radius * radius;
    ray_of(c, pixel, ray);
    if (!(radius > 0)) return bin_of_direction(ray);
    for (int k = 0; k < 3; k++) {
        from[k] = (double)c->center[k] - f->center[k];
        along += from[k] * ray[k];
        square += from[k] * from[k];
    }
    double t = -along + sqrt(fmax(along * along - square, 0));
    for (int k = 0; k < 3; k++) from[k] += t * ray[k];
    return bin_of_direction(from);
}

splat_status sky_dome_look(const sky_finder *f, sky_photo *photo, splat_error *error)
{
    size_t n = splat_camera_pixels(&photo->camera);
    if (!photo->bins) photo->bins = malloc(n * sizeof *photo->bins);
    if (!photo->bins) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for directions of %zu pixels", n);
    for (size_t i = 0; i < n; i++) photo->bins[i] = bin_of(f, &photo->camera, i, f->radius);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- colours */

static sky_color color_of(const sky_photo *photo, const float raw[3])
{
    sky_color c = {.is_known = 1};
    for (int k = 0; k < 3; k++) {
        c.rgb[k] = raw[k] / photo->gain[k];
        c.is_full |= (uint8_t)((raw[k] >= FULL) << k);
    }
    return c;
}

/* The largest difference of the channels. One at the end of its range may be any brighter value. */
static float difference(const sky_color *a, const sky_color *b)
{
    float most = 0;
    for (int k = 0; k < 3; k++) {
        float d = a->rgb[k] - b->rgb[k];
        if (a->is_full & 1u << k) d = fmaxf(d, 0);
        if (b->is_full & 1u << k) d = fminf(d, 0);
        most = fmaxf(most, fabsf(d));
    }
    return most;
}

bool sky_color_fits(const sky_photo *photo, const uint8_t *rgb, const sky_color *color, float levels)
{
    const float raw[3] = {rgb[0], rgb[1], rgb[2]};
    sky_color own = color_of(photo, raw);
    return color->is_known && difference(&own, color) <= levels;
}

/* ---------------------------------------------------------------- votes */

/* The colours of the voters, [SKY_BINS][SKY_VOTERS] raw. */
typedef struct vote {
    float rgb[3];
    uint32_t n;
} vote;

typedef struct election {
    size_t n, step; /* voters, and photos from one to the next */
    vote *votes;    /* [n][SKY_BINS] */
} election;

/* Fills votes[SKY_BINS] of a photo. */
static void collect_photo(const sky_finder *f, const sky_photo *photo, double radius, vote *votes)
{
    int width = photo->camera.width, height = photo->camera.height;
    memset(votes, 0, SKY_BINS * sizeof *votes);
    for (int y = 0; y < height; y += STRIDE)
        for (int x = 0; x < width; x += STRIDE) {
            size_t pixel = (size_t)y * (size_t)width + (size_t)x;
            if (photo->kind[pixel] == SKY_BUSY) continue;
            vote *to = &votes[bin_of(f, &photo->camera, pixel, radius)];
            for (size_t k = 0; k < 3; k++) to->rgb[k] += photo->smooth[3 * pixel + k];
            to->n++;
        }
    for (size_t b = 0; b < SKY_BINS; b++)
        for (int k = 0; k < 3 && votes[b].n; k++) votes[b].rgb[k] /= (float)votes[b].n;
}

static void collect(const sky_finder *f, const election *e, double radius)
{
#pragma omp parallel for num_threads(f->threads) schedule(dynamic, 1)
    for (size_t v = 0; v < e->n; v++)
        collect_photo(f, &f->photos[v * e->step], radius, e->votes + v * SKY_BINS);
}

/* True if the cameras that share a colour are apart. */
static bool is_spread(const sky_finder *f, const election *e, const uint16_t *voters, const bool *shares, size_t n)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, square = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 3 && shares[i]; k++) {
            double at = (double)f->photos[voters[i] * e->step].camera.center[k];
            low[k] = fmin(low[k], at);
            high[k] = fmax(high[k], at);
        }
    for (int k = 0; k < 3; k++) square += (high[k] - low[k]) * (high[k] - low[k]);
    return square >= LEAST_SPREAD * LEAST_SPREAD * f->extent * f->extent;
}

/* The colour of a bin that most photos share. */
static sky_color mode_of(const sky_finder *f, const election *e, size_t bin)
{
    sky_color colors[SKY_VOTERS], mode = {0};
    uint16_t voters[SKY_VOTERS];
    bool shares[SKY_VOTERS];
    size_t n = 0, best = 0, most = 0;
    for (size_t v = 0; v < e->n; v++) {
        const vote *of = &e->votes[v * SKY_BINS + bin];
        if (of->n * STRIDE * STRIDE < LEAST_PIXELS) continue;
        colors[n] = color_of(&f->photos[v * e->step], of->rgb);
        voters[n++] = (uint16_t)v;
    }
    for (size_t i = 0; i < n; i++) {
        size_t n_same = 0;
        for (size_t j = 0; j < n; j++) n_same += difference(&colors[i], &colors[j]) <= SAME;
        if (n_same <= most) continue;
        most = n_same;
        best = i;
    }
    if (most < LEAST_PHOTOS || (float)most < LEAST_SHARE * (float)n) return mode;
    float light = 0;
    for (size_t i = 0; i < n; i++) {
        shares[i] = difference(&colors[best], &colors[i]) <= SAME;
        for (int k = 0; k < 3 && shares[i]; k++) mode.rgb[k] += colors[i].rgb[k] / (float)most;
    }
    for (int k = 0; k < 3; k++) light = fmaxf(light, mode.rgb[k]);
    mode.is_full = colors[best].is_full;
    mode.is_known = light >= DARKEST && is_spread(f, e, voters, shares, n);
    return mode;
}

static void decide(const sky_finder *f, const election *e, sky_color *dome)
{
#pragma omp parallel for num_threads(f->threads) schedule(dynamic, 16)
    for (size_t b = 0; b < SKY_BINS; b++) dome[b] = mode_of(f, e, b);
}

/* The share of plain pixels above the horizon that have the colour of their bin. */
static double measure(const sky_finder *f, const election *e, double radius, const sky_color *dome)
{
    uint64_t n_above = 0, n_fit = 0, n_all = 0;
#pragma omp parallel for num_threads(f->threads) schedule(dynamic, 1) reduction(+ : n_above, n_fit, n_all)
    for (size_t v = 0; v < e->n; v++) {
        const sky_photo *photo = &f->photos[v * e->step];
        int width = photo->camera.width, height = photo->camera.height;
        for (int y = 0; y < height; y += STRIDE)
            for (int x = 0; x < width; x += STRIDE) {
                size_t pixel = (size_t)y * (size_t)width + (size_t)x;
                n_all++;
                if (photo->kind[pixel] != SKY_PLAIN || (f->has_up && sky_elevation(f, photo, pixel) < ABOVE)) continue;
                n_above++;
                n_fit += sky_color_fits(photo, photo->smooth + 3 * pixel,
                                        &dome[bin_of(f, &photo->camera, pixel, radius)], SAME);
            }
    }
    if ((double)n_above < LEAST_ABOVE * (double)n_all) return 0;
    return (double)n_fit / (double)n_above;
}

/* ---------------------------------------------------------------- gains */

static bool is_high(const sky_finder *f, size_t bin)
{
    int axis = (int)(bin / SKY_SIDE / SKY_SIDE) / 2;
    double d[3];
    d[axis] = bin / SKY_SIDE / SKY_SIDE % 2 ? -1 : 1;
    d[(axis + 1) % 3] = 2 * ((double)(bin / SKY_SIDE % SKY_SIDE) + 0.5) / SKY_SIDE - 1;
    d[(axis + 2) % 3] = 2 * ((double)(bin % SKY_SIDE) + 0.5) / SKY_SIDE - 1;
    return !f->has_up || d[0] * f->up[0] + d[1] * f->up[1] + d[2] * f->up[2] > 0;
}

/* The gain of a photo is the median of its brightness to the dome's, over the bins that it sees. values: [SKY_BINS]. */
static void fit_gain(const sky_finder *f, sky_photo *photo, const vote *votes, float *values)
{
    photo->gains_known = 0;
    for (int k = 0; k < 3; k++) {
        size_t n = 0;
        for (size_t b = 0; b < SKY_BINS; b++) {
            const sky_color *dome = &f->dome[b];
            bool is_full = votes[b].rgb[k] >= FULL || (dome->is_full & 1u << k);
            if (votes[b].n && dome->is_known && !is_full && dome->rgb[k] > 0)
                values[n++] = votes[b].rgb[k] / dome->rgb[k];
        }
        if (n < LEAST_GAIN_BINS) continue;
        photo->gain[k] = splat_select_float(values, n, n / 2);
        photo->gains_known |= (uint8_t)(1u << k);
    }
}

/* A channel that is at the end of its range has the gain of the others. */
static void complete_gain(sky_photo *photo)
{
    float sum = 0;
    int n = 0;
    for (int k = 0; k < 3; k++) {
        bool is_known = photo->gains_known & 1u << k;
        sum += is_known ? photo->gain[k] : 0;
        n += is_known;
    }
    for (int k = 0; k < 3 && n; k++)
        if (!(photo->gains_known & 1u << k)) photo->gain[k] = sum / (float)n;
}

/* Each channel has the mean 1 over the photos that know all three. */
static void fit_gains(sky_finder *f, const election *e, float *values)
{
    double sum[3] = {0}, n = 0;
    for (size_t v = 0; v < e->n; v++) {
        sky_photo *photo = &f->photos[v * e->step];
        fit_gain(f, photo, e->votes + v * SKY_BINS, values);
        if (photo->gains_known != 7) continue;
        for (int k = 0; k < 3; k++) sum[k] += (double)photo->gain[k];
        n++;
    }
    for (size_t v = 0; v < e->n; v++) {
        sky_photo *photo = &f->photos[v * e->step];
        for (int k = 0; k < 3 && n > 0; k++)
            if (photo->gains_known & 1u << k) photo->gain[k] *= (float)(n / sum[k]);
        complete_gain(photo);
    }
}

/* The dome as the median of the photos above the horizon, whether they share it or not. values: [SKY_VOTERS]. */
static void fit_dome(sky_finder *f, const election *e, float *values)
{
    for (size_t b = 0; b < SKY_BINS; b++) {
        sky_color *dome = &f->dome[b];
        *dome = (sky_color){0};
        for (int k = 0; k < 3 && is_high(f, b); k++) {
            size_t n = 0;
            for (size_t v = 0; v < e->n; v++) {
                const vote *own = &e->votes[v * SKY_BINS + b];
                if (own->n && own->rgb[k] < FULL) values[n++] = own->rgb[k] / f->photos[v * e->step].gain[k];
            }
            dome->is_known = n >= LEAST_PHOTOS;
            if (n) dome->rgb[k] = splat_select_float(values, n, n / 2);
            if (!n) dome->is_full |= (uint8_t)(1u << k);
        }
    }
}

/* Photos that did not vote, by way of the first one's votes, which are of no more use. */
static void fit_other_gains(sky_finder *f, const election *e, float *values)
{
    for (size_t i = 0; i < f->n; i++) {
        if (i % e->step == 0) continue;
        collect_photo(f, &f->photos[i], f->radius, e->votes);
        fit_gain(f, &f->photos[i], e->votes, values);
        complete_gain(&f->photos[i]);
    }
}

/* ---------------------------------------------------------------- the dome */

static void choose_radius(sky_finder *f, const election *e, sky_color *dome)
{
    f->fit = -1;
    for (int i = N_RADII - 1; i >= 0; i--) { /* of equal ones the largest */
        double radius = radii[i] * f->extent;
        collect(f, e, radius);
        decide(f, e, dome);
        double fit = measure(f, e, radius, dome);
        if (!(fit > f->fit + (f->fit < 0 ? 0 : LEAST_GAIN))) continue;
        f->fit = fit;
        f->radius = radius;
    }
}

/* Photos as they are; then, without a dome, with gains that fit them to each other. */
static void find(sky_finder *f, const election *e, float *values)
{
    choose_radius(f, e, f->dome);
    if (f->fit < LEAST_FIT) {
        collect(f, e, 0);
        for (int round = 0; round < POLISH_ROUNDS; round++) {
            fit_dome(f, e, values);
            fit_gains(f, e, values);
        }
        choose_radius(f, e, f->dome);
    }
    collect(f, e, f->radius);
    decide(f, e, f->dome);
    for (int round = 0; round < GAIN_ROUNDS && f->fit >= LEAST_FIT; round++) {
        fit_gains(f, e, values);
        decide(f, e, f->dome);
    }
    if (f->fit < LEAST_FIT)
        f->fit = 0;
    else
        fit_other_gains(f, e, values);
}

splat_status sky_dome_find(sky_finder *f, splat_error *error)
{
    election e = {.step = (f->n + SKY_VOTERS - 1) / SKY_VOTERS};
    e.n = (f->n + e.step - 1) / e.step;
    f->dome = calloc(SKY_BINS, sizeof *f->dome);
    e.votes = malloc(e.n * SKY_BINS * sizeof *e.votes);
    splat_status status = SPLAT_OK;
    float *values = malloc(SKY_BINS * sizeof *values);
    if (!f->dome || !e.votes || !values)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the colours of directions");
    else
        find(f, &e, values);
    free(e.votes);
    free(values);
    return status;
}
