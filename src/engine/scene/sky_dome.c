/* The dome: the colour of each direction that the photos share, and the radius on which they share it best. */
#include "scene/sky_dome.h"

#include "math/camera.h"
#include "scene/sky_bins.h"
#include "scene/sky_gains.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_PIXELS 4      /* of a bin in a photo */
#define LEAST_PHOTOS 3      /* that share a bin's colour */
#define LEAST_VOTERS 4u     /* photos that see a bin plain, so that they can tell */
#define LEAST_SHARE 0.6f    /* of the photos that see the bin plain */
#define LEAST_SPREAD 0.1    /* of the extent: between the cameras that share it */
#define FULL 252            /* levels: the end of the range */
#define DARKEST 24.0f       /* levels: a darker dome is no sky */
#define ABOVE 0.1736        /* sine of 10 degrees */
#define LEAST_FIT 0.45      /* of the plain pixels above that */
#define LEAST_FITTED 0.6    /* with gains, which can give different walls one colour */
#define LEAST_ABOVE 0.002   /* of all pixels: fewer say nothing */
#define LEAST_GAIN 0.02     /* of the fit, by a smaller radius or without gains */
#define NEARER_FIT 1.08     /* times the fit, on a ball as large as a room: the dome is a room */

/* Levels between colours that count as equal: a vignette or haze needs more, and a phone that develops each photo in
 * its own way still more. Walls have one colour as well, then, so the fit must be so many times that of the smallest
 * radius: what is far does not move between photos. */
static const struct {
    float same;
    double least_peak;
} tries[] = {{3, 0}, {6, 1.2}, {12, 1.5}};
enum { N_TRIES = sizeof tries / sizeof *tries };
static const double radii[] = {3, 4, 6, 10, 20, 0};
enum { N_RADII = sizeof radii / sizeof *radii };
/* Balls as large as rooms. Shades of walls are fixed to them. */
static const double near_radii[] = {1.5, 2};
enum { N_NEAR_RADII = sizeof near_radii / sizeof *near_radii };

/* ---------------------------------------------------------------- colours */

static sky_color color_of(const float gain[3], const float raw[3])
{
    sky_color c = {.is_known = 1};
    for (int k = 0; k < 3; k++) {
        c.rgb[k] = raw[k] / gain[k];
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
        if (a->is_full & 1u << k) d = d > 0 ? d : 0;
        if (b->is_full & 1u << k) d = d < 0 ? d : 0;
        d = fabsf(d);
        most = d > most ? d : most;
    }
    return most;
}

/* The mean of those that are taken. Channels at the end of their range count only where all are: then the brightest. */
static sky_color mean_of(const sky_color *colors, const bool *taken, size_t n)
{
    sky_color mean = {.is_known = 1};
    for (int k = 0; k < 3; k++) {
        float sum = 0, most = 0;
        uint32_t n_open = 0;
        for (size_t i = 0; i < n; i++) {
            if (!taken[i]) continue;
            const bool is_full = colors[i].is_full & 1u << k;
            most = fmaxf(most, colors[i].rgb[k]);
            sum += is_full ? 0 : colors[i].rgb[k];
            n_open += !is_full;
        }
        mean.rgb[k] = n_open ? sum / (float)n_open : most;
        mean.is_full |= (uint8_t)(!n_open << k);
    }
    return mean;
}

static bool color_fits(const sky_color *own, const sky_color *color, float levels)
{
    return color->is_known && difference(own, color) <= levels;
}

bool sky_color_fits(const sky_photo *photo, const uint8_t *rgb, const sky_color *color, float levels)
{
    const float raw[3] = {rgb[0], rgb[1], rgb[2]};
    const sky_color own = color_of(photo->gain, raw);
    return color_fits(&own, color, levels);
}

/* ---------------------------------------------------------------- votes */

typedef struct election {
    size_t n, step;    /* voters, and photos from one to the next */
    sky_vote *votes;       /* [n][SKY_BINS] */
    uint16_t *n_voters; /* [SKY_BINS] */
} election;

static bool is_vote(const sky_vote *v)
{
    return v->n * SKY_STRIDE * SKY_STRIDE >= LEAST_PIXELS;
}

static void collect(const sky_finder *f, const election *e, double radius)
{
#pragma omp parallel for num_threads(f->threads) schedule(dynamic, 1)
    for (size_t v = 0; v < e->n; v++)
        sky_bins_vote(f, &f->photos[v * e->step], radius, e->votes + v * SKY_BINS);
    memset(e->n_voters, 0, SKY_BINS * sizeof *e->n_voters);
    for (size_t v = 0; v < e->n; v++)
        for (size_t b = 0; b < SKY_BINS; b++) e->n_voters[b] += is_vote(&e->votes[v * SKY_BINS + b]);
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
        const sky_vote *of = &e->votes[v * SKY_BINS + bin];
        if (!is_vote(of)) continue;
        colors[n] = color_of(f->photos[v * e->step].gain, of->rgb);
        voters[n++] = (uint16_t)v;
    }
    for (size_t i = 0; i < n; i++) {
        size_t n_same = 0;
        for (size_t j = 0; j < n; j++) n_same += difference(&colors[i], &colors[j]) <= f->same;
        if (n_same <= most) continue;
        most = n_same;
        best = i;
    }
    if (most < LEAST_PHOTOS || (float)most < LEAST_SHARE * (float)n) return mode;
    float light = 0;
    for (size_t i = 0; i < n; i++) shares[i] = difference(&colors[best], &colors[i]) <= f->same;
    mode = mean_of(colors, shares, n);
    for (int k = 0; k < 3; k++) light = fmaxf(light, mode.rgb[k]);
    mode.is_known = light >= DARKEST && is_spread(f, e, voters, shares, n);
    return mode;
}

static void decide(const sky_finder *f, const election *e, sky_color *dome)
{
#pragma omp parallel for num_threads(f->threads) schedule(dynamic, 16)
    for (size_t b = 0; b < SKY_BINS; b++) dome[b] = mode_of(f, e, b);
}

/* A way to fit the dome to the photos: levels between equal colours, photos with their gains or as they are. */
typedef struct fitting {
    float same;
    bool has_gains;
    sky_color *dome;              /* [SKY_BINS], of a radius */
    double fit, radius, smallest; /* of the best radius, and the fit of the smallest one */
} fitting;
enum { N_FITTINGS = 2 * N_TRIES };

/* shares[k], k < n: of plain pixels above the horizon whose bin enough photos see plain, those that have the colour of
 * their bin in fitting k. Where fewer photos look, they can say nothing. n: N_FITTINGS at most. */
static void measure(const sky_finder *f, const election *e, const float (*gains)[3], double radius,
                    const fitting *fittings, size_t n, double *shares)
{
    static const float ones[3] = {1, 1, 1};
    uint64_t n_above = 0, n_all = 0, n_fit[N_FITTINGS] = {0};
#pragma omp parallel for num_threads(f->threads) schedule(dynamic, 1) reduction(+ : n_above, n_all, n_fit[:N_FITTINGS])
    for (size_t v = 0; v < e->n; v++) {
        const sky_photo *photo = &f->photos[v * e->step];
        int width = photo->camera.width, height = photo->camera.height;
        for (int y = 0; y < height; y += SKY_STRIDE)
            for (int x = 0; x < width; x += SKY_STRIDE) {
                size_t pixel = (size_t)y * (size_t)width + (size_t)x;
                n_all++;
                if (photo->kind[pixel] != SKY_PLAIN || (f->has_up && sky_elevation(f, photo, pixel) < ABOVE)) continue;
                const uint16_t bin = sky_bin_of(f, &photo->camera, pixel, radius);
                if (e->n_voters[bin] < LEAST_VOTERS) continue;
                n_above++;
                const uint8_t *rgb = photo->smooth + 3 * pixel;
                const float raw[3] = {rgb[0], rgb[1], rgb[2]};
                const sky_color own[2] = {color_of(ones, raw), color_of(gains[v * e->step], raw)};
                for (size_t k = 0; k < n; k++)
                    n_fit[k] += color_fits(&own[fittings[k].has_gains], &fittings[k].dome[bin], fittings[k].same);
            }
    }
    const bool is_enough = (double)n_above >= LEAST_ABOVE * (double)n_all && n_above > 0;
    for (size_t k = 0; k < n; k++) shares[k] = is_enough ? (double)n_fit[k] / (double)n_above : 0;
}

/* ---------------------------------------------------------------- the dome */

static size_t next_bin(size_t bin, int axis, int step)
{
    const size_t stride = axis ? SKY_SIDE : 1, at = bin / stride % SKY_SIDE;
    return step < 0 ? (at ? bin - stride : bin) : at + 1 < SKY_SIDE ? bin + stride : bin;
}

/* The mean of the photos whose colour in a bin is that of a known bin next to it. */
static sky_color color_beside(const sky_finder *f, const election *e, size_t bin)
{
    sky_color colors[LEAST_VOTERS];
    bool fits[LEAST_VOTERS] = {false}, is_known = false;
    size_t n = 0;
    for (size_t v = 0; v < e->n && n < LEAST_VOTERS; v++) {
        const sky_vote *vote = &e->votes[v * SKY_BINS + bin];
        if (!is_vote(vote)) continue;
        colors[n] = color_of(f->photos[v * e->step].gain, vote->rgb);
        for (int k = 0; k < 4 && !fits[n]; k++) {
            const sky_color *next = &f->dome[next_bin(bin, k / 2, k % 2 ? 1 : -1)];
            fits[n] = next->is_known && difference(&colors[n], next) <= f->same;
        }
        is_known = is_known || fits[n++];
    }
    sky_color mean = mean_of(colors, fits, n);
    mean.is_known = is_known;
    return mean;
}

/* The sky goes on where too few photos look to share a colour, as long as it is like the sky next to it. */
static void extend(sky_finder *f, const election *e, sky_color *found)
{
    for (bool is_changed = true; is_changed;) {
        is_changed = false;
#pragma omp parallel for num_threads(f->threads) schedule(dynamic, 64)
        for (size_t b = 0; b < SKY_BINS; b++) {
            found[b].is_known = 0;
            if (!f->dome[b].is_known && e->n_voters[b] && e->n_voters[b] < LEAST_VOTERS)
                found[b] = color_beside(f, e, b);
        }
        for (size_t b = 0; b < SKY_BINS; b++) {
            if (!found[b].is_known) continue;
            f->dome[b] = found[b];
            is_changed = true;
        }
    }
}

/* gains: [n][3], NULL: 1. */
static void set_gains(sky_finder *f, const float (*gains)[3])
{
    for (size_t v = 0; v < f->n; v++)
        for (int k = 0; k < 3; k++) f->photos[v].gain[k] = gains ? gains[v][k] : 1;
}

static void set_fitting(sky_finder *f, const fitting *of, const float (*gains)[3])
{
    f->same = of->same;
    set_gains(f, of->has_gains ? gains : NULL);
}

/* The best radius of each fitting, of equal ones the largest. Votes depend on the radius alone, so that they are
 * counted once for all fittings. */
static void choose_radii(sky_finder *f, const election *e, const float (*gains)[3], fitting *fittings)
{
    double shares[N_FITTINGS];
    for (int i = N_RADII - 1; i >= 0; i--) {
        const double radius = radii[i] * f->extent;
        collect(f, e, radius);
        for (int k = 0; k < N_FITTINGS; k++) {
            set_fitting(f, &fittings[k], gains);
            decide(f, e, fittings[k].dome);
        }
        measure(f, e, gains, radius, fittings, N_FITTINGS, shares);
        for (int k = 0; k < N_FITTINGS; k++) {
            fitting *of = &fittings[k];
            of->smallest = shares[k];
            if (i < N_RADII - 1 && !(shares[k] > of->fit + LEAST_GAIN)) continue;
            of->fit = shares[k];
            of->radius = radius;
        }
    }
    for (int k = 0; k < N_FITTINGS; k++)
        if (fittings[k].fit < tries[k / 2].least_peak * fittings[k].smallest) fittings[k].fit = 0;
}

/* The first try that finds a dome: photos as they are, or with gains that fit them to each other if these fit more.
 * NULL: none. */
static const fitting *choose_fitting(const fitting *fittings)
{
    for (int i = 0; i < N_TRIES; i++) {
        const fitting *plain = &fittings[2 * i], *fitted = plain + 1;
        const bool is_fitted = fitted->fit >= LEAST_FITTED;
        if (plain->fit >= LEAST_FIT && (!is_fitted || plain->fit > fitted->fit + LEAST_GAIN)) return plain;
        if (is_fitted) return fitted;
    }
    return NULL;
}

/* True if directions fit so much better on a ball as large as a room that the dome is one. dome: [SKY_BINS], work. */
static bool is_room(sky_finder *f, const election *e, const float (*gains)[3], const fitting *found, sky_color *dome)
{
    const fitting near = {.same = found->same, .has_gains = found->has_gains, .dome = dome};
    set_fitting(f, found, gains);
    for (int i = 0; i < N_NEAR_RADII; i++) {
        const double radius = near_radii[i] * f->extent;
        double share;
        collect(f, e, radius);
        decide(f, e, dome);
        measure(f, e, gains, radius, &near, 1, &share);
        if (share > NEARER_FIT * found->fit) return true;
    }
    return false;
}

/* domes: [N_FITTINGS][SKY_BINS]. */
static void find(sky_finder *f, const election *e, const float (*gains)[3], sky_color *domes)
{
    fitting fittings[N_FITTINGS];
    for (int k = 0; k < N_FITTINGS; k++)
        fittings[k] = (fitting){.same = tries[k / 2].same, .has_gains = k % 2, .dome = domes + (size_t)k * SKY_BINS};
    choose_radii(f, e, gains, fittings);
    const fitting *found = choose_fitting(fittings);
    if (found && is_room(f, e, gains, found, domes)) found = NULL;
    set_fitting(f, found ? found : &fittings[N_FITTINGS - 1], gains);
    f->fit = found ? found->fit : 0;
    if (!found) return;
    f->radius = found->radius;
    collect(f, e, f->radius);
    decide(f, e, f->dome);
    extend(f, e, domes);
}

splat_status sky_dome_find(sky_finder *f, splat_error *error)
{
    election e = {.step = (f->n + SKY_VOTERS - 1) / SKY_VOTERS};
    e.n = (f->n + e.step - 1) / e.step;
    f->dome = calloc(SKY_BINS, sizeof *f->dome);
    e.votes = malloc(e.n * SKY_BINS * sizeof *e.votes);
    splat_status status = SPLAT_OK;
    sky_color *domes = malloc(N_FITTINGS * SKY_BINS * sizeof *domes);
    float (*gains)[3] = malloc((f->n + 1) * sizeof *gains);
    e.n_voters = malloc(SKY_BINS * sizeof *e.n_voters);
    if (!f->dome || !e.votes || !e.n_voters || !domes || !gains)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the colours of directions");
    if (status == SPLAT_OK) {
        collect(f, &e, 0);
        status = sky_gains_find(f, e.votes, e.step, e.n, error);
    }
    if (status == SPLAT_OK) {
        for (size_t v = 0; v < f->n; v++) memcpy(gains[v], f->photos[v].gain, sizeof gains[v]);
        find(f, &e, (const float (*)[3])gains, domes);
    }
    free(e.votes);
    free(e.n_voters);
    free(domes);
    free(gains);
    return status;
}
