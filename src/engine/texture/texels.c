/* From texels to faces: bands of rows with lists of their faces. */
#include "texture/texels.h"

#include "texture/atlas.h"

#include "texture/texel_triangle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BAND = 64 }; /* rows; a multiple of every gutter */
static const double radius_squared = 2.0; /* texels^2, where an atlas has no blocks */
static const double tolerance = 1e-6;     /* texels: blocks that a face's margin only touches are not its own */

struct splat_atlas_texels {
    const splat_mesh *mesh;
    const splat_atlas *atlas;
    size_t first_band[SPLAT_MESH_MAX_PAGES + 1]; /* of each page */
    uint32_t *starts; /* [bands + 1] */
    uint32_t *faces;  /* of a band, in ascending order */
};

/* Corners in 1/256 texel. Coordinates far outside of the page (textures that repeat) are drawn in. */
static void corners_of(const splat_atlas_texels *t, uint32_t face, int64_t corners[3][2])
{
    size_t page = t->mesh->face_pages ? t->mesh->face_pages[face] : 0;
    const double sides[2] = {t->atlas->pages[page].width, t->atlas->pages[page].height};
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 2; c++) {
            double x = (double)t->mesh->uvs[6 * (size_t)face + 2 * (size_t)k + (size_t)c] * sides[c];
            x = x > -sides[c] ? x < 2.0 * sides[c] ? x : 2.0 * sides[c] : -sides[c]; /* NaN too */
            corners[k][c] = (int64_t)floor(x * SPLAT_TEXEL_UNITS + 0.5);
        }
}

/* Texels around a face that may be its own: a block and its margin beyond, at most. */
static int reach(const splat_atlas *atlas)
{
    return atlas->n_charts ? 2 * atlas->gutter + 2 : 2;
}

/* Bands [*first, *end) of a face's page that it reaches. */
static void bands_of(const splat_atlas_texels *t, uint32_t face, size_t *first, size_t *end)
{
    size_t page = t->mesh->face_pages ? t->mesh->face_pages[face] : 0;
    *first = *end = 0;
    if (page >= t->atlas->n_pages) return;
    int64_t corners[3][2];
    corners_of(t, face, corners);
    splat_texel_triangle triangle = splat_texel_triangle_make((const int64_t(*)[2])corners);
    int height = t->atlas->pages[page].height, low = triangle.first_row - 1 - reach(t->atlas);
    int high = triangle.end_row + reach(t->atlas); /* the last row that may be its own */
    if (high < 0 || low >= height) return;
    *first = t->first_band[page] + (size_t)(low < 0 ? 0 : low / BAND);
    *end = t->first_band[page] + (size_t)((high >= height ? height - 1 : high) / BAND) + 1;
}

splat_status splat_atlas_texels_make(const splat_mesh *mesh, const splat_atlas *atlas, splat_atlas_texels **texels,
                                     splat_error *error)
{
    splat_atlas_texels *t = calloc(1, sizeof *t);
    size_t first, end, n_bands = 0;
    *texels = NULL;
    if (!mesh->uvs || atlas->n_pages > SPLAT_MESH_MAX_PAGES) {
        free(t);
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the mesh has no texture coordinates");
    }
    if (!t) goto no_memory;
    t->mesh = mesh;
    t->atlas = atlas;
    for (size_t p = 0; p < atlas->n_pages; p++) {
        t->first_band[p] = n_bands;
        n_bands += ((size_t)atlas->pages[p].height + BAND - 1) / BAND;
    }
    t->first_band[atlas->n_pages] = n_bands;
    size_t *counts = calloc(n_bands + 2, sizeof *counts);
    if (!counts) goto no_memory;
    for (size_t f = 0; f < mesh->n_faces; f++) {
        bands_of(t, (uint32_t)f, &first, &end);
        for (size_t b = first; b < end; b++) counts[b + 2]++;
    }
    for (size_t b = 0; b < n_bands; b++) counts[b + 2] += counts[b + 1];
    size_t n = counts[n_bands + 1];
    t->starts = malloc((n_bands + 1) * sizeof *t->starts);
    t->faces = n <= UINT32_MAX ? malloc((n + 1) * sizeof *t->faces) : NULL;
    if (!t->starts || !t->faces) {
        free(counts);
        goto no_memory;
    }
    for (size_t f = 0; f < mesh->n_faces; f++) {
        bands_of(t, (uint32_t)f, &first, &end);
        for (size_t b = first; b < end; b++) t->faces[counts[b + 1]++] = (uint32_t)f;
    }
    for (size_t b = 0; b <= n_bands; b++) t->starts[b] = (uint32_t)counts[b];
    free(counts);
    *texels = t;
    return SPLAT_OK;
no_memory:
    splat_atlas_texels_free(t);
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to list the texels of %zu faces", mesh->n_faces);
}

void splat_atlas_texels_free(splat_atlas_texels *texels)
{
    if (!texels) return;
    free(texels->starts);
    free(texels->faces);
    free(texels);
}

/* ---------------------------------------------------------------- rows */

/* Rows [first, end) of a page, and where their maps begin. */
typedef struct window {
    int first, end, width;
    uint32_t *faces;
    float (*weights)[2];
    float *distances; /* to the nearest face, squared; -1: settled; NULL: only texels inside of faces are wanted */
} window;

static void fill_inside(const window *w, uint32_t face, const splat_texel_triangle *t)
{
    int64_t e[3];
    int low = t->first_row > w->first ? t->first_row : w->first, high = t->end_row < w->end ? t->end_row : w->end;
    int left = t->first_column > 0 ? t->first_column : 0, right = t->end_column < w->width ? t->end_column : w->width;
    if (t->area == 0) return;
    for (int row = low; row < high; row++)
        for (int column = left; column < right; column++) {
            size_t at = (size_t)(row - w->first) * (size_t)w->width + (size_t)column;
            if (w->faces[at] || !splat_texel_triangle_has(t, column, row, e)) continue;
            w->faces[at] = face + 1;
            w->weights[at][0] = (float)((double)e[0] / (double)t->area);
            w->weights[at][1] = (float)((double)e[t->is_turned ? 2 : 1] / (double)t->area);
            if (w->distances) w->distances[at] = -1.0f;
        }
}

/* The point of the triangle's edges nearest to p, and its squared distance. */
static double nearest_on_edges(const double corners[3][2], const double p[2], double weights[3])
{
    double least = HUGE_VAL;
    for (int k = 0; k < 3; k++) {
        const double *a = corners[k], *b = corners[(k + 1) % 3];
        double u[2] = {b[0] - a[0], b[1] - a[1]}, v[2] = {p[0] - a[0], p[1] - a[1]};
        double length = u[0] * u[0] + u[1] * u[1], t = length > 0.0 ? (u[0] * v[0] + u[1] * v[1]) / length : 0.0;
        t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
        double x = v[0] - t * u[0], y = v[1] - t * u[1], distance = x * x + y * y;
        if (distance >= least) continue;
        least = distance;
        weights[k] = 1.0 - t;
        weights[(k + 1) % 3] = t;
        weights[(k + 2) % 3] = 0.0;
    }
    return least;
}

/* True if the triangle comes closer than `margin` to a square. */
static bool comes_near(const double corners[3][2], double x, double y, double side, double margin)
{
    double from = x - margin, to = x + side + margin, low = HUGE_VAL, high = -HUGE_VAL;
    for (int k = 0; k < 3; k++) {
        const double *a = corners[k], *b = corners[(k + 1) % 3], cuts[2] = {from, to};
        if (a[0] > from && a[0] < to) low = fmin(low, a[1]), high = fmax(high, a[1]);
        for (int c = 0; c < 2; c++) {
            if ((a[0] < cuts[c]) == (b[0] < cuts[c])) continue;
            double cut = a[1] + (b[1] - a[1]) * ((cuts[c] - a[0]) / (b[0] - a[0]));
            low = fmin(low, cut), high = fmax(high, cut);
        }
    }
    return low < y + side + margin && high > y - margin;
}

/* Texels [left, right) x [low, high) whose centres lie in no face, and for which this one is the nearest so far. */
static void fill_near(const window *w, uint32_t face, const double corners[3][2], double limit, int left, int right,
                      int low, int high)
{
    if (left < 0) left = 0;
    if (right > w->width) right = w->width;
    if (low < w->first) low = w->first;
    if (high > w->end) high = w->end;
    for (int row = low; row < high; row++)
        for (int column = left; column < right; column++) {
            size_t at = (size_t)(row - w->first) * (size_t)w->width + (size_t)column;
            if (w->distances[at] < 0.0f) continue;
            const double p[2] = {column + 0.5, row + 0.5};
            double weights[3] = {0.0, 0.0, 0.0};
            float distance = (float)nearest_on_edges(corners, p, weights);
            if (!((double)distance < limit) || !(distance < w->distances[at])) continue;
            w->distances[at] = distance;
            w->faces[at] = face + 1;
            w->weights[at][0] = (float)weights[0];
            w->weights[at][1] = (float)weights[1];
        }
}

static bool has_empty(const window *w, int left, int right, int low, int high)
{
    for (int row = low > w->first ? low : w->first; row < high && row < w->end; row++)
        for (int column = left > 0 ? left : 0; column < right && column < w->width; column++)
            if (w->distances[(size_t)(row - w->first) * (size_t)w->width + (size_t)column] >= 0.0f) return true;
    return false;
}

static void fill_around(const window *w, const splat_atlas *atlas, uint32_t face, const int64_t units[3][2])
{
    double corners[3][2], low[2] = {HUGE_VAL, HUGE_VAL}, high[2] = {-HUGE_VAL, -HUGE_VAL};
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 2; c++) {
            corners[k][c] = (double)units[k][c] / SPLAT_TEXEL_UNITS;
            low[c] = fmin(low[c], corners[k][c]);
            high[c] = fmax(high[c], corners[k][c]);
        }
    const double(*fixed)[2] = (const double(*)[2])corners;
    if (atlas->n_charts == 0) {
        fill_near(w, face, fixed, radius_squared, (int)floor(low[0] - 2), (int)ceil(high[0] + 2),
                  (int)floor(low[1] - 2), (int)ceil(high[1] + 2));
        return;
    }
    int side = atlas->gutter;
    double margin = splat_atlas_margin(atlas->gutter) - tolerance;
    int first = (int)floor((low[1] - margin) / side), last = (int)floor((high[1] + margin) / side);
    int left = (int)floor((low[0] - margin) / side), right = (int)floor((high[0] + margin) / side);
    if (first < w->first / side) first = w->first / side;
    if (last > (w->end - 1) / side) last = (w->end - 1) / side;
    if (left < 0) left = 0;
    if (right > (w->width - 1) / side) right = (w->width - 1) / side;
    for (int r = first; r <= last; r++)
        for (int c = left; c <= right; c++)
            if (has_empty(w, c * side, (c + 1) * side, r * side, (r + 1) * side) &&
                comes_near(fixed, c * side, r * side, side, margin))
                fill_near(w, face, fixed, HUGE_VAL, c * side, (c + 1) * side, r * side, (r + 1) * side);
}

/* Fills texels around the faces of a band, either those with an area on the page or those without. */
static void fill_around_faces(const splat_atlas_texels *t, size_t band, const window *w, bool is_flat)
{
    int64_t corners[3][2];
    for (uint32_t i = t->starts[band]; i < t->starts[band + 1]; i++) {
        corners_of(t, t->faces[i], corners);
        splat_texel_triangle triangle = splat_texel_triangle_make((const int64_t(*)[2])corners);
        if ((triangle.area == 0) == is_flat) fill_around(w, t->atlas, t->faces[i], (const int64_t(*)[2])corners);
    }
}

static void fill_window(const splat_atlas_texels *t, size_t band, const window *w)
{
    int64_t corners[3][2];
    size_t n = (size_t)(w->end - w->first) * (size_t)w->width;
    for (uint32_t i = t->starts[band]; i < t->starts[band + 1]; i++) {
        corners_of(t, t->faces[i], corners);
        splat_texel_triangle triangle = splat_texel_triangle_make((const int64_t(*)[2])corners);
        fill_inside(w, t->faces[i], &triangle);
    }
    if (!w->distances) return;
    fill_around_faces(t, band, w, false);
    for (size_t i = 0; i < n; i++)
        if (w->faces[i]) w->distances[i] = -1.0f;
    fill_around_faces(t, band, w, true);
}

static splat_status fill_rows(const splat_atlas_texels *t, size_t page, int first, int n, int threads, bool around,
                              uint32_t *faces, float (*weights)[2], splat_error *error)
{
    if (page >= t->atlas->n_pages || first < 0 || n < 0 || n > t->atlas->pages[page].height - first || threads < 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "rows %d to %d of page %zu do not exist", first, first + n - 1,
                          page);
    size_t width = (size_t)t->atlas->pages[page].width, size = (size_t)n * width;
    float *distances = around ? malloc((size + 1) * sizeof *distances) : NULL;
    if (around && !distances)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %d rows of a texture", n);
    memset(faces, 0, size * sizeof *faces);
    memset(weights, 0, size * sizeof *weights);
    for (size_t i = 0; around && i < size; i++) distances[i] = HUGE_VALF;
    int first_band = first / BAND, end_band = n ? (first + n - 1) / BAND + 1 : first_band;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int b = first_band; b < end_band; b++) {
        int low = b * BAND > first ? b * BAND : first;
        int high = (b + 1) * BAND < first + n ? (b + 1) * BAND : first + n;
        size_t at = (size_t)(low - first) * width;
        window w = {low, high, (int)width, faces + at, weights + at, around ? distances + at : NULL};
        fill_window(t, t->first_band[page] + (size_t)b, &w);
    }
    free(distances);
    return SPLAT_OK;
}

splat_status splat_atlas_texels_rows(const splat_atlas_texels *texels, size_t page, int first, int n, int threads,
                                     uint32_t *faces, float (*weights)[2], splat_error *error)
{
    return fill_rows(texels, page, first, n, threads, true, faces, weights, error);
}

splat_status splat_atlas_texels_inside(const splat_atlas_texels *texels, size_t page, int first, int n, int threads,
                                       uint32_t *faces, float (*weights)[2], splat_error *error)
{
    return fill_rows(texels, page, first, n, threads, false, faces, weights, error);
}
