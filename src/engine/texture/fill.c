/* Push-pull: holes of a picture filled from a pyramid of its valid texels (Gortler et al., "The Lumigraph", 1996). */
#include "texture/fill.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LEVELS = 18 }; /* of sides up to 2^17 */

/* Four bytes a texel: red, green, blue, and whether it is valid. Level 0 is the page itself. */
typedef struct level {
    int width, height;
    uint8_t *texels;
} level;

static const uint8_t gray = 128;

/* A texel of level 1 and up is the mean of the valid ones among the four below it. */
static void push(const splat_image *page, const uint8_t *valid, const level *below, const level *l, int threads)
{
    int width = below ? below->width : page->width, height = below ? below->height : page->height;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int y = 0; y < l->height; y++)
        for (int x = 0; x < l->width; x++) {
            unsigned sum[3] = {0, 0, 0}, n = 0;
            uint8_t *out = l->texels + 4 * ((size_t)y * (size_t)l->width + (size_t)x);
            for (int k = 0; k < 4; k++) {
                int cx = 2 * x + k % 2, cy = 2 * y + k / 2;
                if (cx >= width || cy >= height) continue;
                size_t at = (size_t)cy * (size_t)width + (size_t)cx;
                const uint8_t *texel = below ? below->texels + 4 * at : page->pixels + 3 * at;
                if (!(below ? texel[3] : valid[at])) continue;
                for (int c = 0; c < 3; c++) sum[c] += texel[c];
                n++;
            }
            for (int c = 0; c < 3; c++) out[c] = n ? (uint8_t)((sum[c] + n / 2) / n) : 0;
            out[3] = n > 0;
        }
}

/* The value at a texel of the level below, between the four texels around it: 9, 3, 3 and 1 sixteenth. */
static void interpolate(const level *l, int x, int y, uint8_t *out)
{
    int cx = x / 2, cy = y / 2, nx = cx + (x % 2 ? 1 : -1), ny = cy + (y % 2 ? 1 : -1);
    if (nx < 0 || nx >= l->width) nx = cx;
    if (ny < 0 || ny >= l->height) ny = cy;
    size_t row = (size_t)l->width;
    const uint8_t *near = l->texels + 4 * (size_t)cy * row, *far = l->texels + 4 * (size_t)ny * row;
    for (int c = 0; c < 3; c++)
        out[c] = (uint8_t)((9u * near[4 * cx + c] + 3u * near[4 * nx + c] + 3u * far[4 * cx + c] + far[4 * nx + c] +
                            8u) / 16u);
}

/* Texels of a level that are not valid, from the level above, all of whose texels have colours. */
static void pull(splat_image *page, const uint8_t *valid, const level *l, const level *above, int threads)
{
    int width = l ? l->width : page->width, height = l ? l->height : page->height;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            size_t at = (size_t)y * (size_t)width + (size_t)x;
            if (l ? l->texels[4 * at + 3] : valid[at]) continue;
            interpolate(above, x, y, l ? l->texels + 4 * at : page->pixels + 3 * at);
        }
}

splat_status splat_texture_fill(splat_image *page, const uint8_t *valid, int threads, splat_error *error)
{
    level levels[MAX_LEVELS] = {{page->width, page->height, NULL}};
    int n = 1;
    splat_status status = SPLAT_OK;
    while (n < MAX_LEVELS && (levels[n - 1].width > 1 || levels[n - 1].height > 1)) {
        level *l = &levels[n];
        l->width = (levels[n - 1].width + 1) / 2;
        l->height = (levels[n - 1].height + 1) / 2;
        l->texels = malloc(4 * (size_t)l->width * (size_t)l->height);
        if (!l->texels) {
            status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to fill the gutters of a texture of %d x %d",
                                page->width, page->height);
            goto done;
        }
        push(page, valid, n > 1 ? l - 1 : NULL, l, threads);
        n++;
    }
    if (n == 1) {
        if (!valid[0]) memset(page->pixels, gray, 3);
        goto done;
    }
    if (!levels[n - 1].texels[3]) memset(levels[n - 1].texels, gray, 3);
    for (int i = n - 2; i >= 0; i--) pull(page, valid, i ? &levels[i] : NULL, &levels[i + 1], threads);
done:
    for (int i = 1; i < n; i++) free(levels[i].texels);
    return status;
}
