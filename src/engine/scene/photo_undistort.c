/* Undistortion: every pixel of a pinhole camera asks the lens where in the photo it is seen. The lens is evaluated
 * at every eighth pixel, and its answers interpolated: an error of h²/8 of the second derivative, 0.003 pixels for
 * a lens of k1 = -0.28 and a focal length of 3000 pixels. Each photo gets a new grid, which takes a
 * fraction of the time that decoding does, and keeps the decoding threads independent of each other. Crops of wide
 * photos reach places where that is too coarse (the rim of a fisheye, the poles of a panorama, the seam behind it):
 * where the middles of a cell's sides show it, every pixel asks the lens. */
#include "scene/photo_undistort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CELL 8
#define MOST_ERROR 0.05f /* pixels of the file, by which a side of a cell may bend */

typedef struct warp {
    const splat_lens *lens;
    const double *turn;      /* rays of the pinhole camera from rays of the lens; NULL: they are the same */
    double fx, fy, cx, cy;   /* of the pinhole camera, at the size of the result */
    double scale_x, scale_y; /* pixels of the file for one of the lens */
    const splat_image *photo;
    uint8_t *pixels;
    int width, height;
    bool wraps;              /* a panorama: its left and right border are neighbours */
    bool is_cubic;           /* colours; masks and alpha stay between what they are made of */
} warp;

typedef struct node { float x, y; bool is_seen; } node; /* in the file, 0 is the first pixel's centre */

static node find_source(const warp *w, double x, double y)
{
    const double at[3] = {(x + 0.5 - w->cx) / w->fx, (y + 0.5 - w->cy) / w->fy, 1}, *m = w->turn;
    double ray[3] = {at[0], at[1], at[2]}, pixel[2];
    for (int k = 0; m && k < 3; k++) ray[k] = m[k] * at[0] + m[3 + k] * at[1] + m[6 + k] * at[2];
    if (!splat_lens_project(w->lens, ray, pixel)) return (node){0, 0, false};
    return (node){(float)(pixel[0] * w->scale_x - 0.5), (float)(pixel[1] * w->scale_y - 0.5), true};
}

/* The border goes on for a pixel, as the frame's size is rounded. */
static bool is_inside(node at, int width, int height)
{
    return at.is_seen && at.x > -1.5f && at.y > -1.5f && at.x < (float)width + 0.5f && at.y < (float)height + 0.5f;
}

/* The photo at a place, bilinearly. */
static void sample(const splat_image *photo, bool wraps, node at, uint8_t *out)
{
    int width = photo->width, height = photo->height, channels = photo->channels;
    if (!is_inside(at, width, height)) {
        for (int c = 0; c < channels; c++) out[c] = 0;
        return;
    }
    float x = fminf(fmaxf(at.x, 0), (float)(width - 1)), y = fminf(fmaxf(at.y, 0), (float)(height - 1));
    if (wraps) x = fminf(fmaxf(at.x < 0 ? at.x + (float)width : at.x, 0), nextafterf((float)width, 0));
    int x0 = (int)x, y0 = (int)y, x1 = x0 < width - 1 ? x0 + 1 : wraps ? 0 : x0, y1 = y0 + (y0 < height - 1);
    float u = x - (float)x0, v = y - (float)y0;
    const uint8_t *top = photo->pixels + (size_t)y0 * (size_t)width * (size_t)channels;
    const uint8_t *bottom = photo->pixels + (size_t)y1 * (size_t)width * (size_t)channels;
    for (int c = 0; c < channels; c++) {
        float above = (1 - u) * top[x0 * channels + c] + u * top[x1 * channels + c];
        float below = (1 - u) * bottom[x0 * channels + c] + u * bottom[x1 * channels + c];
        out[c] = (uint8_t)((1 - v) * above + v * below + 0.5f);
    }
}

/* Catmull and Rom's cubic: a = -1/2. */
static void cubic_weights(float t, float w[4])
{
    w[0] = ((-0.5f * t + 1) * t - 0.5f) * t;
    w[1] = (1.5f * t - 2.5f) * t * t + 1;
    w[2] = ((-1.5f * t + 2) * t + 0.5f) * t;
    w[3] = (0.5f * t - 0.5f) * t * t;
}

static int column_of(int x, int width, bool wraps)
{
    if (wraps) return (x % width + width) % width;
    return x < 0 ? 0 : x >= width ? width - 1 : x;
}

/* The colours of the photo at a place, by the 16 pixels around it: bilinear ones are softer than the photo. */
static void sample_cubic(const splat_image *photo, bool wraps, node at, uint8_t *out)
{
    int width = photo->width, height = photo->height, columns[4];
    if (!is_inside(at, width, height)) {
        memset(out, 0, 3);
        return;
    }
    float x = at.x, y = fminf(fmaxf(at.y, 0), (float)(height - 1)), across[4], down[4], sum[3] = {0, 0, 0};
    if (!wraps) x = fminf(fmaxf(x, 0), (float)(width - 1));
    int left = (int)floorf(x), top = (int)y;
    cubic_weights(x - (float)left, across);
    cubic_weights(y - (float)top, down);
    for (int i = 0; i < 4; i++) columns[i] = 3 * column_of(left - 1 + i, width, wraps);
    for (int j = 0; j < 4; j++) {
        const uint8_t *row = photo->pixels + 3 * (size_t)column_of(top - 1 + j, height, false) * (size_t)width;
        for (int c = 0; c < 3; c++)
            sum[c] += down[j] * (across[0] * row[columns[0] + c] + across[1] * row[columns[1] + c] +
                                 across[2] * row[columns[2] + c] + across[3] * row[columns[3] + c]);
    }
    for (int c = 0; c < 3; c++) out[c] = (uint8_t)(fminf(fmaxf(sum[c], 0), 255) + 0.5f);
}

/* True if the lens at the middle of a side agrees with the interpolation of its ends. */
static bool is_straight(const warp *w, double x, double y, node a, node b)
{
    node at = find_source(w, x, y);
    float dx = fabsf(0.5f * (a.x + b.x) - at.x), dy = fabsf(0.5f * (a.y + b.y) - at.y);
    return at.is_seen && dx <= MOST_ERROR && dy <= MOST_ERROR;
}

/* A cell's pixels, from the lens at its corners: top left, top right, bottom left, bottom right. */
static void fill_cell(const warp *w, int left, int top, const node corners[4])
{
    bool is_seen = corners[0].is_seen && corners[1].is_seen && corners[2].is_seen && corners[3].is_seen;
    if (is_seen && w->turn)
        is_seen = is_straight(w, left + 0.5 * CELL, top, corners[0], corners[1]) &&
                  is_straight(w, left, top + 0.5 * CELL, corners[0], corners[2]);
    int right = left + CELL < w->width ? left + CELL : w->width, end = top + CELL < w->height ? top + CELL : w->height;
    for (int y = top; y < end; y++)
        for (int x = left; x < right; x++) {
            node at;
            if (is_seen) {
                float u = (float)(x - left) / CELL, v = (float)(y - top) / CELL;
                at.x = (1 - v) * ((1 - u) * corners[0].x + u * corners[1].x) +
                       v * ((1 - u) * corners[2].x + u * corners[3].x);
                at.y = (1 - v) * ((1 - u) * corners[0].y + u * corners[1].y) +
                       v * ((1 - u) * corners[2].y + u * corners[3].y);
                at.is_seen = true;
            } else { /* the rim of the lens passes through, or it bends too much */
                at = find_source(w, x, y);
            }
            size_t pixel = (size_t)y * (size_t)w->width + (size_t)x;
            uint8_t *out = w->pixels + pixel * (size_t)w->photo->channels;
            if (w->is_cubic) sample_cubic(w->photo, w->wraps, at, out);
            else sample(w->photo, w->wraps, at, out);
        }
}

static void find_row(const warp *w, int y, int n, node *row)
{
    for (int i = 0; i < n; i++) row[i] = find_source(w, (double)i * CELL, y);
}

splat_status splat_photo_undistort(const splat_lens *lens, const splat_lens_frame *frame, const double turn[9],
                                   int width, int height, bool sharp, const splat_image *photo, splat_image *result,
                                   splat_error *error)
{
    double zoom_x = (double)width / frame->width, zoom_y = (double)height / frame->height;
    int n = (width + CELL - 1) / CELL + 1;
    node *above = malloc((size_t)n * sizeof *above), *below = malloc((size_t)n * sizeof *below);
    uint8_t *pixels = malloc((size_t)width * (size_t)height * (size_t)photo->channels);
    *result = (splat_image){0};
    if (!above || !below || !pixels) {
        free(above);
        free(below);
        free(pixels);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to undistort a photo to %d x %d pixels", width, height);
    }
    warp w = {lens, turn, frame->fx * zoom_x, frame->fy * zoom_y, frame->cx * zoom_x, frame->cy * zoom_y,
              (double)photo->width / lens->width, (double)photo->height / lens->height, photo, pixels, width, height,
              lens->model == SPLAT_LENS_EQUIRECTANGULAR, sharp && photo->channels == 3};
    find_row(&w, 0, n, below);
    for (int y = 0; y < height; y += CELL) {
        node *swapped = above;
        above = below;
        below = swapped;
        find_row(&w, y + CELL, n, below);
        for (int i = 0; i + 1 < n; i++)
            fill_cell(&w, i * CELL, y, (const node[4]){above[i], above[i + 1], below[i], below[i + 1]});
    }
    free(above);
    free(below);
    *result = (splat_image){width, height, photo->channels, pixels};
    return SPLAT_OK;
}

bool splat_photo_leaves_blank(const splat_lens *lens, const splat_lens_frame *frame, int file_width, int file_height)
{
    warp w = {.lens = lens, .fx = frame->fx, .fy = frame->fy, .cx = frame->cx, .cy = frame->cy,
              .scale_x = (double)file_width / lens->width, .scale_y = (double)file_height / lens->height};
    for (int x = 0; x < frame->width; x++)
        if (!is_inside(find_source(&w, x, 0), file_width, file_height) ||
            !is_inside(find_source(&w, x, frame->height - 1), file_width, file_height))
            return true;
    for (int y = 0; y < frame->height; y++)
        if (!is_inside(find_source(&w, 0, y), file_width, file_height) ||
            !is_inside(find_source(&w, frame->width - 1, y), file_width, file_height))
            return true;
    return false;
}
