/* The plain parts of a photo: connected pixels whose gradient is within the photo's noise, and that have no texture. */
#include "surface/planes/plane_segments.h"

#include "surface/planes/plane_choose.h"
#include "surface/planes/plane_parts.h"

#include "math/camera.h"

#include <stdlib.h>
#include <string.h>

#define LEVEL 256              /* of the smoothed photo: a level of 8 bits */
#define LEAST_TAU (4 * LEVEL) /* four levels over two pixels: what smooth light makes of a wall in a small picture */
#define MOST_TAU (6 * LEVEL)
#define LEAST_TEXTURE (0.6f * LEVEL) /* mean deviation from the smoothed photo: what a wall has at most */
#define MOST_TEXTURE (1.5f * LEVEL)  /* and when the photo is noisy */
#define LEAST_SHARE 0.0005f /* of the picture that a segment covers */
#define LEAST_PIXELS 64

splat_status plane_work_make(plane_work *work, size_t n, splat_error *error)
{
    *work = (plane_work){.rgb = malloc(3 * n), .smooth = malloc(3 * n * sizeof *work->smooth),
                         .gradient = malloc(n * sizeof *work->gradient),
                         .component = malloc(n * sizeof *work->component), .queue = malloc(n * sizeof *work->queue),
                         .depth = malloc(n * sizeof *work->depth), .mask = malloc(n)};
    if (work->rgb && work->smooth && work->gradient && work->component && work->queue && work->depth && work->mask)
        return SPLAT_OK;
    plane_work_free(work);
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to look for planes in a view of %zu pixels", n);
}

void plane_work_free(plane_work *work)
{
    free(work->rgb);
    free(work->smooth);
    free(work->gradient);
    free(work->component);
    free(work->queue);
    free(work->depth);
    free(work->mask);
    memset(work, 0, sizeof *work);
}

void plane_view_free(plane_view *view)
{
    free(view->labels);
    free(view->segments);
    free(view->seeds);
    free(view->balls);
    free(view->hypotheses);
    free(view->edges);
    free(view->rims);
    free(view->shade);
    free(view->hiding);
    plane_surfaces_free(view);
    memset(view, 0, sizeof *view);
}

static int clamp(int x, int n)
{
    return x < 0 ? 0 : x >= n ? n - 1 : x;
}

/* Binomial weights 1 4 6 4 1 both ways (sigma 1), exact: 256ths of a level. The queue's memory holds the rows' sums. */
static void smooth(plane_work *work, int width, int height)
{
    size_t w = (size_t)width, n = w * (size_t)height;
    uint16_t *rows = (uint16_t *)work->queue;
    for (size_t c = 0; c < 3; c++) {
        for (int y = 0; y < height; y++) {
            const uint8_t *row = work->rgb + 3 * (size_t)y * w + c;
            for (int x = 0; x < width; x++) {
                int sum = 6 * row[3 * x] + 4 * (row[3 * clamp(x - 1, width)] + row[3 * clamp(x + 1, width)]) +
                          row[3 * clamp(x - 2, width)] + row[3 * clamp(x + 2, width)];
                rows[(size_t)y * w + (size_t)x] = (uint16_t)sum;
            }
        }
        for (int y = 0; y < height; y++) {
            const uint16_t *row[5];
            for (int k = 0; k < 5; k++) row[k] = rows + (size_t)clamp(y + k - 2, height) * w;
            uint16_t *out = work->smooth + c * n + (size_t)y * w;
            for (size_t x = 0; x < w; x++)
                out[x] = (uint16_t)(row[0][x] + 4 * (row[1][x] + row[3][x]) + 6 * row[2][x] + row[4][x]);
        }
    }
}

/* The largest gradient of the three channels, over two pixels. */
static void differentiate(plane_work *work, int width, int height)
{
    size_t w = (size_t)width, n = w * (size_t)height;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            size_t left = (size_t)clamp(x - 1, width), right = (size_t)clamp(x + 1, width);
            size_t up = (size_t)clamp(y - 1, height) * w, down = (size_t)clamp(y + 1, height) * w;
            float most = 0;
            for (size_t c = 0; c < 3; c++) {
                const uint16_t *s = work->smooth + c * n;
                float dx = (float)(s[(size_t)y * w + right] - s[(size_t)y * w + left]);
                float dy = (float)(s[down + (size_t)x] - s[up + (size_t)x]);
                float square = dx * dx + dy * dy;
                if (square > most) most = square;
            }
            float length = sqrtf(most);
            work->gradient[(size_t)y * w + (size_t)x] = length < 65535 ? (uint16_t)length : 65535;
        }
}

/* Upper bound of the gradient of noise, from the fifth of the photo's green with the least second differences
 * (Immerkaer's mask, whose standard deviation is 6 times that of the noise). */
static int threshold(const plane_work *work, int width, int height)
{
    static const int mask[3] = {1, -2, 1};
    uint32_t histogram[4097] = {0}, n = 0, below = 0;
    for (int y = 1; y + 1 < height; y++)
        for (int x = 1; x + 1 < width; x++, n++) {
            int sum = 0;
            for (int j = 0; j < 3; j++)
                for (int i = 0; i < 3; i++)
                    sum += mask[i] * mask[j] *
                           work->rgb[3 * ((size_t)(y + j - 1) * (size_t)width + (size_t)(x + i - 1)) + 1];
            histogram[abs(sum) < 4096 ? abs(sum) : 4096]++;
        }
    int value = 0;
    for (; value < 4096; value++) {
        below += histogram[value];
        if (below * 5 >= n) break;
    }
    /* a fifth of a normal distribution lies within 0.2533 sigma; smoothed, over two pixels, noise is 0.3 sigma */
    double sigma = n && value > 0 ? (double)value / 0.2533 / 6 : 0;
    double tau = 3 * 0.3 * 1.2 * sigma * LEVEL;
    return tau < LEAST_TAU ? LEAST_TAU : tau > MOST_TAU ? MOST_TAU : (int)tau;
}

/* Mean deviation of 5 x 5 pixels from the smoothed photo, into work->depth. Where cloth or wood has texture its
 * gradients may be small, and other views still tell its depth. */
static void find_texture(plane_work *work, int width, int height)
{
    size_t w = (size_t)width, n = w * (size_t)height;
    float *rows = (float *)work->component;
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        for (size_t c = 0; c < 3; c++)
            sum += fabsf((float)LEVEL * (float)work->rgb[3 * i + c] - (float)work->smooth[c * n + i]);
        work->depth[i] = sum / 3;
    }
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            float sum = 0;
            for (int k = -2; k <= 2; k++) sum += work->depth[(size_t)y * w + (size_t)clamp(x + k, width)];
            rows[(size_t)y * w + (size_t)x] = sum;
        }
    for (int y = 0; y < height; y++)
        for (size_t x = 0; x < w; x++) {
            float sum = 0;
            for (int k = -2; k <= 2; k++) sum += rows[(size_t)clamp(y + k, height) * w + x];
            work->depth[(size_t)y * w + x] = sum / 25;
        }
}

/* More is texture: two and a half times what the plainest fifth of the photo has, which is its noise. */
static float texture_limit(const plane_work *work, size_t n)
{
    uint32_t histogram[257] = {0};
    size_t below = 0;
    int value = 0;
    for (size_t i = 0; i < n; i++) {
        float sixteenths = work->depth[i] / 16;
        histogram[sixteenths < 256 ? (int)sixteenths : 256]++;
    }
    for (; value < 256; value++) {
        below += histogram[value];
        if (below * 5 >= n) break;
    }
    return fminf(fmaxf(2.5f * 16 * (float)(value + 1), LEAST_TEXTURE), MOST_TEXTURE);
}

/* Plain pixels whose eight neighbours are plain. */
static void erode(const plane_work *work, int tau, int width, int height)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            bool inside = true;
            for (int j = -1; j <= 1; j++)
                for (int i = -1; i <= 1; i++)
                    inside &= work->gradient[(size_t)clamp(y + j, height) * (size_t)width +
                                             (size_t)clamp(x + i, width)] < tau;
            work->mask[(size_t)y * (size_t)width + (size_t)x] = inside;
        }
}

/* Pixels connected to `first` (four neighbours) get the number; how many they are. */
static uint32_t flood(plane_work *work, int width, int height, size_t first, int32_t number)
{
    uint32_t head = 0, tail = 0;
    work->component[first] = number;
    work->queue[tail++] = (int32_t)first;
    while (head < tail) {
        int p = work->queue[head++], x = p % width, y = p / width;
        const int next[4] = {x > 0 ? p - 1 : -1, x + 1 < width ? p + 1 : -1, y > 0 ? p - width : -1,
                             y + 1 < height ? p + width : -1};
        for (int k = 0; k < 4; k++)
            if (next[k] >= 0 && work->mask[next[k]] && work->component[next[k]] < 0) {
                work->component[next[k]] = number;
                work->queue[tail++] = next[k];
            }
    }
    return tail;
}

/* Mean texture of the pixels in the queue. */
static float mean_texture(const plane_work *work, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += (double)work->depth[work->queue[i]];
    return (float)(sum / n);
}

/* Adds plain pixels next to a component to it: those that the erosion took from its rim. */
static void grow(const plane_work *work, int tau, int width, int height, uint16_t *labels)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            size_t i = (size_t)y * (size_t)width + (size_t)x;
            int32_t found = work->component[i];
            for (int k = 0; k < 9 && found < 0 && work->gradient[i] < tau; k++)
                found = work->component[(size_t)clamp(y + k / 3 - 1, height) * (size_t)width +
                                        (size_t)clamp(x + k % 3 - 1, width)];
            labels[i] = found < 0 ? 0 : (uint16_t)(found + 1);
        }
}

/* True for a pixel that the photo shows as sky. Sky between rods would take the plane of the rods. */
static bool is_sky(const splat_sky_mask *sky, size_t width, size_t height, size_t pixel)
{
    return sky && sky->pixels && splat_sky_mask_at(sky, width, height, pixel % width, pixel / width);
}

splat_status plane_segments_make(const splat_camera *camera, const splat_sky_mask *sky, plane_work *work,
                                 plane_view *view, uint16_t *edge, splat_error *error)
{
    int width = camera->width, height = camera->height;
    size_t n = splat_camera_pixels(camera);
    uint32_t least = (uint32_t)(LEAST_SHARE * (float)n), capacity = 0;
    if (least < LEAST_PIXELS) least = LEAST_PIXELS;
    capacity = (uint32_t)(n / least) + 1;
    view->labels = malloc(n * sizeof *view->labels);
    view->segments = calloc(capacity, sizeof *view->segments);
    if (!view->labels || !view->segments)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the plain parts of a view of %zu pixels", n);
    smooth(work, width, height);
    differentiate(work, width, height);
    int tau = threshold(work, width, height);
    find_texture(work, width, height);
    float texture = texture_limit(work, n);
    erode(work, tau, width, height);
    for (size_t i = 0; i < n; i++) {
        work->component[i] = -1;
        if (is_sky(sky, (size_t)width, (size_t)height, i)) work->mask[i] = 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (!work->mask[i] || work->component[i] >= 0) continue;
        uint32_t size = flood(work, width, height, i, (int32_t)view->n_segments);
        if (size >= least && view->n_segments < PLANE_MAX_SEGMENTS && mean_texture(work, size) < texture) {
            view->n_segments++;
            continue;
        }
        for (uint32_t k = 0; k < size; k++) { /* too small, or textured: not looked at again */
            work->component[work->queue[k]] = -1;
            work->mask[work->queue[k]] = 0;
        }
    }
    grow(work, tau, width, height, view->labels);
    for (size_t i = 0; i < n; i++) {
        if (is_sky(sky, (size_t)width, (size_t)height, i)) view->labels[i] = 0;
        if (view->labels[i]) view->segments[view->labels[i] - 1].n_pixels++;
    }
    *edge = (uint16_t)(tau + 2 * LEVEL + LEVEL / 2);
    return SPLAT_OK;
}
