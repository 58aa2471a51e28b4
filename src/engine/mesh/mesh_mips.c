/* Levels of a page by exact means in whole numbers; samples between texels. */
#include "mesh/mesh_mips.h"

#include <math.h>
#include <stdlib.h>

/* ---------------------------------------------------------------- levels */

/* The texels under texel i of n / 2: `first` and the two after it, with weights out of `sum`. In an odd number n = 2 m
 * + 1 each of the m covers 2 + 1/m texels: parts of the first and the last. */
typedef struct cover {
    size_t first;
    uint64_t weights[3], sum;
} cover;

static cover cover_of(size_t n, size_t i)
{
    size_t m = n / 2;
    if (n == 1) return (cover){0, {1, 0, 0}, 1};
    if (n % 2 == 0) return (cover){2 * i, {1, 1, 0}, 2};
    return (cover){2 * i, {m - i, m, i + 1}, n};
}

static void shrink_row(const splat_mip_level *from, int width, uint8_t *rgb, size_t row)
{
    cover y = cover_of((size_t)from->height, row);
    for (size_t column = 0; column < (size_t)width; column++) {
        cover x = cover_of((size_t)from->width, column);
        uint64_t sums[3] = {0}, total = x.sum * y.sum;
        for (size_t j = 0; j < 3; j++)
            for (size_t i = 0; i < 3; i++) {
                uint64_t weight = y.weights[j] * x.weights[i];
                if (!weight) continue;
                const uint8_t *texel = from->rgb + 3 * ((y.first + j) * (size_t)from->width + x.first + i);
                for (int c = 0; c < 3; c++) sums[c] += weight * texel[c];
            }
        for (size_t c = 0; c < 3; c++)
            rgb[3 * (row * (size_t)width + column) + c] = (uint8_t)((sums[c] + total / 2) / total);
    }
}

static splat_status make_levels(const splat_image *image, int threads, splat_mip_page *page, splat_error *error)
{
    size_t bytes = 0;
    page->levels[0] = (splat_mip_level){image->width, image->height, image->pixels};
    for (page->n_levels = 1; page->n_levels < SPLAT_MESH_MAX_LEVELS; page->n_levels++) {
        const splat_mip_level *above = &page->levels[page->n_levels - 1];
        if (above->width == 1 && above->height == 1) break;
        splat_mip_level level = {above->width > 1 ? above->width / 2 : 1, above->height > 1 ? above->height / 2 : 1,
                                 NULL};
        page->levels[page->n_levels] = level;
        bytes += 3 * (size_t)level.width * (size_t)level.height;
    }
    page->memory = malloc(bytes + 1);
    if (!page->memory)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the mip maps of a texture of %d x %d",
                          image->width, image->height);
    uint8_t *rgb = page->memory;
    for (int i = 1; i < page->n_levels; i++) {
        splat_mip_level *level = &page->levels[i];
        const splat_mip_level *above = &page->levels[i - 1];
        level->rgb = rgb;
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int row = 0; row < level->height; row++)
            shrink_row(above, level->width, rgb, (size_t)row);
        rgb += 3 * (size_t)level->width * (size_t)level->height;
    }
    return SPLAT_OK;
}

splat_status splat_mesh_mips_make(const splat_mesh *mesh, int threads, splat_mesh_mips *mips, splat_error *error)
{
    *mips = (splat_mesh_mips){0};
    if (!mesh->n_pages) return SPLAT_OK;
    mips->pages = calloc(mesh->n_pages, sizeof *mips->pages);
    if (!mips->pages)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the mip maps of %zu pages", mesh->n_pages);
    mips->n_pages = mesh->n_pages;
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < mips->n_pages && status == SPLAT_OK; i++)
        status = make_levels(&mesh->pages[i], threads, &mips->pages[i], error);
    if (status != SPLAT_OK) splat_mesh_mips_free(mips);
    return status;
}

void splat_mesh_mips_free(splat_mesh_mips *mips)
{
    for (size_t i = 0; i < mips->n_pages; i++) free(mips->pages[i].memory);
    free(mips->pages);
    *mips = (splat_mesh_mips){0};
}

/* ---------------------------------------------------------------- samples */

/* A texel's number on a side of n, from a whole number that may be anything. */
static size_t texel_number(double whole, int n, bool repeats)
{
    double number = repeats ? whole - floor(whole / n) * n : whole;
    return (size_t)fmin(fmax(number, 0.0), n - 1.0); /* NaN, too, is 0 */
}

static void sample_level(const splat_mip_level *level, const splat_texture_place *place, float rgb[3])
{
    double x = place->u * level->width - 0.5, y = place->v * level->height - 0.5;
    double left = floor(x), top = floor(y);
    float right = (float)(x - left), down = (float)(y - top);
    for (int c = 0; c < 3; c++) rgb[c] = 0;
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 2; i++) {
            size_t column = texel_number(left + i, level->width, place->repeats);
            size_t row = texel_number(top + j, level->height, place->repeats);
            float weight = (i ? right : 1 - right) * (j ? down : 1 - down);
            const uint8_t *texel = level->rgb + 3 * (row * (size_t)level->width + column);
            for (int c = 0; c < 3; c++) rgb[c] += weight * (float)texel[c];
        }
}

void splat_mip_page_sample(const splat_mip_page *page, const splat_texture_place *place, float rgb[3])
{
    double level = fmin(fmax(place->level, 0.0), page->n_levels - 1.0);
    int fine = (int)level;
    float part = (float)(level - fine), coarse[3];
    sample_level(&page->levels[fine], place, rgb);
    if (part <= 0) return;
    sample_level(&page->levels[fine + 1], place, coarse);
    for (int c = 0; c < 3; c++) rgb[c] += part * (coarse[c] - rgb[c]);
}

void splat_mip_page_texel(const splat_mip_page *page, const splat_texture_place *place, float rgb[3])
{
    const splat_mip_level *level = &page->levels[0];
    size_t column = texel_number(floor(place->u * level->width), level->width, place->repeats);
    size_t row = texel_number(floor(place->v * level->height), level->height, place->repeats);
    for (size_t c = 0; c < 3; c++) rgb[c] = (float)level->rgb[3 * (row * (size_t)level->width + column) + c];
}
