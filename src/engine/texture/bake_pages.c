/* The pages: bands of rows, each shown to the views that see something of it; then gutters. */
#include "texture/bake_pages.h"

#include "io/picture/image_write.h"
#include "texture/bake_device.h"
#include "texture/bake_gaussians.h"
#include "texture/bake_photo.h"
#include "texture/bake_view.h"
#include "texture/fill.h"
#include "texture/texels.h"

#include "math/camera.h"

#include <stdlib.h>
#include <string.h>

/* A band of rows, and those of its texels that lie on faces. */
typedef struct band {
    size_t page, width;
    int first, n_rows;
    uint32_t *faces;      /* [n_rows][width] face + 1; then [n] the faces of the texels */
    float (*weights)[2];  /* the same */
    uint32_t *places;     /* [n] texel of the band */
    float (*rgb)[4];      /* [n] */
    size_t n;
} band;

typedef struct painter {
    const splat_bake *bake;
    const splat_atlas *atlas;
    const splat_atlas_texels *texels;
    splat_bake_room *room;
    splat_bake_device device;
    uint8_t *is_used;     /* [n_views] */
    float table[3 * 256];
    size_t n_done, n_all; /* rows, for the progress */
} painter;

static void free_band(band *b)
{
    free(b->faces);
    free(b->weights);
    free(b->places);
    free(b->rgb);
}

static splat_status make_band(band *b, size_t n, splat_error *error)
{
    b->faces = malloc(n * sizeof *b->faces);
    b->weights = malloc(n * sizeof *b->weights);
    b->places = malloc(n * sizeof *b->places);
    b->rgb = malloc(n * sizeof *b->rgb);
    if (b->faces && b->weights && b->places && b->rgb) return SPLAT_OK;
    free_band(b);
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a band of %zu texels", n);
}

/* Texels of no face go, the others close up. */
static void compact(band *b)
{
    b->n = 0;
    for (size_t i = 0; i < (size_t)b->n_rows * b->width; i++) {
        if (!b->faces[i]) continue;
        b->faces[b->n] = b->faces[i] - 1;
        memcpy(b->weights[b->n], b->weights[i], sizeof b->weights[i]);
        b->places[b->n++] = (uint32_t)i;
    }
}

/* The views that a texel of the band may be seen by. */
static void mark_views(const splat_bake *bake, const band *b, uint8_t *is_used)
{
    bool all = bake->options->bake == SPLAT_BAKE_GAUSSIANS;
    memset(is_used, all, bake->n_views);
    for (size_t i = 0; i < b->n && !all; i++) {
        if (i > 0 && b->faces[i] == b->faces[i - 1]) continue;
        const uint16_t *list = bake->lists + (size_t)SPLAT_TEXTURE_CANDIDATES * b->faces[i];
        for (int k = 0; k < SPLAT_TEXTURE_CANDIDATES && list[k] != SPLAT_TEXTURE_NO_VIEW; k++) is_used[list[k]] = 1;
    }
}

static splat_status show_view(painter *p, size_t v, splat_error *error)
{
    const splat_bake *bake = p->bake;
    const splat_camera *c = splat_bake_camera(bake, v);
    int threads = bake->context->threads;
    SPLAT_TRY(splat_bake_draw(bake, v, p->room, NULL, error));
    SPLAT_TRY(splat_bake_read_photo(bake, v, p->room, error));
    splat_bake_table(&bake->views[v], p->table);
    splat_texture_view view = {.number = (uint32_t)v,
                               .camera = *c,
                               .n_levels = splat_bake_pyramid(p->room->photo, c->width, c->height, threads),
                               .pyramid = p->room->photo,
                               .table = p->table,
                               .depth = p->room->depth,
                               .feather = p->room->feather,
                               .sharpness = bake->views[v].sharpness};
    if (bake->vertex_labels) {
        splat_bake_low(p->room->photo, p->table, p->room->depth, c->width, c->height, splat_bake_band_sigma(c),
                       threads, p->room->low);
        view.low = p->room->low;
    }
    return splat_bake_device_view(&p->device, &view, error);
}

static splat_status gather(painter *p, band *b, splat_error *error)
{
    size_t n_used = 0, n_shown = 0;
    mark_views(p->bake, b, p->is_used);
    for (size_t v = 0; v < p->bake->n_views; v++) n_used += p->is_used[v];
    SPLAT_TRY(splat_bake_device_band(&p->device, b->n, b->faces, (const float(*)[2])b->weights, error));
    for (size_t v = 0; v < p->bake->n_views; v++) {
        if (!p->is_used[v]) continue;
        double part = (double)n_shown++ / (double)n_used;
        SPLAT_TRY(splat_bake_go_on(p->bake, "painting",
                                   ((double)p->n_done + part * b->n_rows) / (double)p->n_all, error));
        SPLAT_TRY(show_view(p, v, error));
    }
    return splat_bake_device_colors(&p->device, b->rgb, error);
}

static void point_of(const splat_mesh *mesh, uint32_t face, const float weights[2], float point[3])
{
    const uint32_t *f = mesh->faces + 3 * (size_t)face;
    const float b[3] = {weights[0], weights[1], 1.0f - weights[0] - weights[1]};
    for (size_t k = 0; k < 3; k++) {
        point[k] = 0;
        for (size_t j = 0; j < 3; j++) point[k] += b[j] * mesh->vertices[3 * (size_t)f[j] + k];
    }
}

/* Texels that no view sees take the colours of the bound Gaussians; rgb[3] stays 0. Without any, those of faces that no
 * view sees take the colour of the faces around; rgb[3] is -1. */
static void color_unseen(const splat_bake *bake, band *b)
{
    if (!bake->gaussians && !bake->face_colors) return;
#pragma omp parallel for schedule(dynamic, 4096) num_threads(bake->context->threads)
    for (size_t i = 0; i < b->n; i++) {
        float point[3];
        if (b->rgb[i][3] > 0) continue;
        if (!bake->gaussians) {
            const uint8_t *color = bake->face_colors + 4 * (size_t)b->faces[i];
            if (bake->densities[b->faces[i]] > 0 || !color[3]) continue;
            for (int c = 0; c < 3; c++) b->rgb[i][c] = (float)color[c] / 255.0f;
            b->rgb[i][3] = -1;
            continue;
        }
        point_of(bake->mesh, b->faces[i], b->weights[i], point);
        splat_bake_gaussians_at(bake->gaussians, b->faces[i], point, b->rgb[i]);
    }
}

static void write_texels(const splat_bake *bake, const band *b, splat_image *page, uint8_t *valid,
                         splat_bake_counts *counts)
{
    size_t first = (size_t)b->first * b->width;
    counts->n_texels += b->n;
    for (size_t i = 0; i < b->n; i++) {
        bool is_seen = b->rgb[i][3] > 0;
        if (!is_seen && !bake->gaussians && !(b->rgb[i][3] < 0)) continue;
        size_t at = first + b->places[i];
        for (size_t c = 0; c < 3; c++) page->pixels[3 * at + c] = splat_image_byte(b->rgb[i][c]);
        valid[at] = 1;
        counts->n_from_views += is_seen;
        counts->n_from_gaussians += !is_seen && bake->gaussians;
    }
}

static splat_status paint_bands(painter *p, band *b, size_t page, int rows, splat_image *image, uint8_t *valid,
                                splat_bake_counts *counts, splat_error *error)
{
    int height = p->atlas->pages[page].height, threads = p->bake->context->threads;
    b->page = page;
    b->width = (size_t)p->atlas->pages[page].width;
    for (b->first = 0; b->first < height; b->first += rows) {
        b->n_rows = height - b->first < rows ? height - b->first : rows;
        SPLAT_TRY(splat_atlas_texels_rows(p->texels, page, b->first, b->n_rows, threads, b->faces, b->weights, error));
        compact(b);
        if (b->n > 0) SPLAT_TRY(gather(p, b, error));
        color_unseen(p->bake, b);
        write_texels(p->bake, b, image, valid, counts);
        p->n_done += (size_t)b->n_rows;
    }
    return SPLAT_OK;
}

static splat_status paint_page(painter *p, size_t page, size_t band_texels, splat_image *image, uint8_t **valid,
                               splat_bake_counts *counts, splat_error *error)
{
    int width = p->atlas->pages[page].width, height = p->atlas->pages[page].height;
    size_t n = (size_t)width * (size_t)height, rows = band_texels / (size_t)width;
    rows = rows < 1 ? 1 : rows > (size_t)height ? (size_t)height : rows;
    band b = {0};
    *image = (splat_image){.width = width, .height = height, .channels = 3, .pixels = calloc(n, 3)};
    *valid = calloc(n, 1);
    splat_status status = image->pixels && *valid
                              ? make_band(&b, rows * (size_t)width, error)
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a texture of %d x %d texels",
                                           width, height);
    if (status == SPLAT_OK) status = paint_bands(p, &b, page, (int)rows, image, *valid, counts, error);
    free_band(&b);
    return status == SPLAT_OK ? splat_texture_fill(image, *valid, p->bake->context->threads, error) : status;
}

splat_status splat_bake_pages(const splat_bake *bake, const splat_atlas *atlas, splat_bake_room *room,
                              size_t band_texels, splat_image *pages, uint8_t **valid, splat_bake_counts *counts,
                              splat_error *error)
{
    splat_status status;
    painter p = {.bake = bake, .atlas = atlas, .room = room};
    splat_atlas_texels *texels = NULL;
    memset(counts, 0, sizeof *counts);
    for (size_t i = 0; i < atlas->n_pages; i++) p.n_all += (size_t)atlas->pages[i].height;
    SPLAT_TRY_GOTO(status, done, splat_atlas_texels_make(bake->mesh, atlas, &texels, error));
    p.texels = texels;
    SPLAT_TRY_GOTO(status, done, splat_bake_device_open(&p.device, bake, atlas, error));
    if (!(p.is_used = malloc(bake->n_views ? bake->n_views : 1))) {
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu views", bake->n_views);
        goto done;
    }
    for (size_t i = 0; i < atlas->n_pages && status == SPLAT_OK; i++)
        status = paint_page(&p, i, band_texels, &pages[i], &valid[i], counts, error);
done:
    free(p.is_used);
    splat_bake_device_close(&p.device);
    splat_atlas_texels_free(texels);
    return status;
}
