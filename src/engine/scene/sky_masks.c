/* Masks of the sky: their memory, and at another size. */
#include "scene/sky_masks.h"

#include <stdlib.h>
#include <string.h>

bool splat_sky_is_folder(const char *option)
{
    return option && strcmp(option, "auto") != 0 && strcmp(option, "none") != 0;
}

void splat_sky_free(splat_sky *sky)
{
    if (!sky) return;
    for (size_t i = 0; sky->masks && i < sky->n; i++) free(sky->masks[i].pixels);
    free(sky->masks);
    free(sky->colors);
    free(sky);
}

/* work: as large as trusted. */
static void find_trusted(const splat_sky_mask *mask, int width, int height, uint8_t *work, uint8_t *trusted)
{
    const size_t w = (size_t)width, h = (size_t)height;
    for (size_t y = 0; y < h; y++)
        for (size_t x = 0; x < w; x++) trusted[y * w + x] = splat_sky_mask_at(mask, w, h, x, y);
    for (int way = 0; way < 2; way++) { /* the least around, across and down */
        const uint8_t *from = way ? work : trusted;
        uint8_t *to = way ? trusted : work;
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                uint8_t least = 1;
                for (int k = -SPLAT_SKY_TRUST; k <= SPLAT_SKY_TRUST; k++) {
                    int i = way ? x : x + k, j = way ? y + k : y;
                    if (i < 0 || j < 0 || i >= width || j >= height) continue;
                    least &= from[(size_t)j * (size_t)width + (size_t)i];
                }
                to[(size_t)y * (size_t)width + (size_t)x] = least;
            }
    }
}

splat_status splat_sky_take_trusted(const splat_sky *sky, size_t number, int width, int height, uint8_t **trusted,
                                    splat_error *error)
{
    const size_t n = (size_t)width * (size_t)height;
    *trusted = NULL;
    if (!sky->masks[number].pixels) return SPLAT_OK;
    uint8_t *work = malloc(n), *found = malloc(n);
    if (!work || !found) {
        free(work);
        free(found);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the sky of a view");
    }
    find_trusted(&sky->masks[number], width, height, work, found);
    free(work);
    *trusted = found;
    return SPLAT_OK;
}
