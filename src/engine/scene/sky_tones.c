/* A tone curve of a region for each channel, against the colours of the dome. */
#include "scene/sky_tones.h"

#include "math/camera.h"

#include <math.h>

#define LEAST_KNOWN 0.5     /* of such a region lies in bins that are sky */
#define LEAST_POWER 0.4     /* of a tone curve, or at most the inverse */
#define LEAST_CHANGE 3.0    /* times the difference of equal colours: of the dome there */
#define LEAST_LIKE 0.7      /* of its pixels in such bins has their colours by the curve */

/* The levels of a photo by those of the dome: own = exp(offset + power log(dome)). */
typedef struct tone {
    double offset, power;
} tone;

/* The tone curve of a channel in a region, by least squares. Returns how many levels the dome changes there, times the
 * photo's part of it; *n: pixels of the region in bins that are sky. */
static double find_tone(const sky_finder *f, const sky_photo *photo, const uint16_t *labels, uint16_t label, size_t k,
                        tone *curve, size_t *n)
{
    double sum[2] = {0, 0}, square = 0, product = 0, least = INFINITY, most = 0;
    *n = 0;
    for (size_t i = 0; i < splat_camera_pixels(&photo->camera); i++) {
        const sky_color *color = &f->dome[photo->bins[i]];
        if (labels[i] != label || !f->is_sky[photo->bins[i]] || !color->is_known) continue;
        const double dome = fmax((double)color->rgb[k], 1), x = log(dome), y = log(fmax(photo->smooth[3 * i + k], 1));
        sum[0] += x;
        sum[1] += y;
        square += x * x;
        product += x * y;
        least = fmin(least, dome);
        most = fmax(most, dome);
        (*n)++;
    }
    if (*n == 0) return 0;
    const double count = (double)*n, variance = square - sum[0] * sum[0] / count;
    curve->power = variance > 1e-6 * count ? (product - sum[0] * sum[1] / count) / variance : 1;
    curve->offset = (sum[1] - curve->power * sum[0]) / count;
    return exp(curve->offset) * (pow(most, curve->power) - pow(least, curve->power));
}

bool sky_tones_follow(const sky_finder *f, const sky_photo *photo, const uint16_t *labels, uint16_t label,
                      size_t n)
{
    size_t n_known = 0, n_like = 0;
    double change = 0;
    tone curves[3];
    for (size_t k = 0; k < 3; k++) {
        change = fmax(change, find_tone(f, photo, labels, label, k, &curves[k], &n_known));
        if ((double)n_known < LEAST_KNOWN * (double)n) return false;
        if (!(curves[k].power > LEAST_POWER && curves[k].power < 1 / LEAST_POWER)) return false;
    }
    if (change < LEAST_CHANGE * (double)f->same) return false;
    for (size_t i = 0; i < splat_camera_pixels(&photo->camera); i++) {
        const sky_color *color = &f->dome[photo->bins[i]];
        bool is_like = labels[i] == label && f->is_sky[photo->bins[i]] && color->is_known;
        for (size_t k = 0; k < 3 && is_like; k++) {
            const double level = exp(curves[k].offset + curves[k].power * log(fmax((double)color->rgb[k], 1)));
            is_like = fabs(photo->smooth[3 * i + k] - level) <= (double)f->same;
        }
        n_like += is_like;
    }
    return (double)n_like >= LEAST_LIKE * (double)n_known;
}
