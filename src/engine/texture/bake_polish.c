/* Polishing: the texture is drawn in training views, compared with the levelled photos, and stepped by gradients. */
#include "texture/bake_polish.h"

#include "io/picture/image_write.h"
#include "texture/bake_parts.h"
#include "texture/bake_photo.h"
#include "texture/bake_view.h"
#include "texture/fill.h"

#include "math/camera.h"
#include "math/scatter.h"
#include "mesh/mesh_raster.h"
#include "ops/loss/loss.h"
#include "ops/polish/polish.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_RATE 0.01
#define LAST_RATE 0.001
#define LAMBDA_DSSIM 0.2f
#define PIECE ((size_t)1 << 20) /* texels on their way to or from the device */

enum { TEXELS, MOMENTS, SUMS, COUNTS, PLACES, TARGET, IMAGE, GRAD, N_BLOCKS };

static const char *const names[N_BLOCKS] = {"polished texels", "polish moments", "polish gradients", "polish counts",
                                            "polish places",   "polish photo",   "polish picture",   "polish loss"};

typedef struct polisher {
    const splat_bake *bake;
    const splat_atlas *atlas;
    splat_bake_room *room;
    splat_block blocks[N_BLOCKS];
    size_t first[SPLAT_MESH_MAX_PAGES + 1]; /* texel of each page, and how many there are */
    float (*weights)[2];                    /* of the largest view */
    splat_polish_place *places;
    float *target, *piece;
} polisher;

static void close_polisher(polisher *p)
{
    for (int i = 0; i < N_BLOCKS; i++) splat_block_free(p->bake->backend, &p->blocks[i]);
    free(p->weights);
    free(p->places);
    free(p->target);
    free(p->piece);
}

static splat_status open_polisher(polisher *p, splat_error *error)
{
    splat_backend *b = p->bake->backend;
    size_t n_pixels = p->room->n_pixels;
    for (size_t i = 0; i < p->atlas->n_pages; i++)
        p->first[i + 1] = p->first[i] + (size_t)p->atlas->pages[i].width * (size_t)p->atlas->pages[i].height;
    size_t n = p->first[p->atlas->n_pages];
    if (n >= SPLAT_POLISH_NO_TEXEL)
        return splat_fail(error, SPLAT_ERROR_UNSUPPORTED,
                          "a texture of %zu texels is too large to be polished; use `texture_polish` 0", n);
    const size_t bytes[N_BLOCKS] = {12 * n, 24 * n, 12 * n, n, sizeof(splat_polish_place) * n_pixels, 12 * n_pixels,
                                    12 * n_pixels, 12 * n_pixels};
    for (int i = 0; i < N_BLOCKS; i++)
        SPLAT_TRY(splat_block_resize(b, &p->blocks[i], names[i], SPLAT_OWNER_OTHER, bytes[i], error));
    p->weights = malloc(n_pixels * sizeof *p->weights);
    p->places = malloc(n_pixels * sizeof *p->places);
    p->target = malloc(3 * n_pixels * sizeof *p->target);
    p->piece = malloc(3 * PIECE * sizeof *p->piece);
    if (!p->weights || !p->places || !p->target || !p->piece)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to polish a texture");
    return SPLAT_OK;
}

static splat_status put_pages(polisher *p, const splat_image *pages, splat_error *error)
{
    float *device = p->blocks[TEXELS].data;
    for (size_t page = 0; page < p->atlas->n_pages; page++) {
        size_t n = p->first[page + 1] - p->first[page];
        for (size_t at = 0; at < n; at += PIECE) {
            size_t count = n - at < PIECE ? n - at : PIECE;
            for (size_t i = 0; i < 3 * count; i++) p->piece[i] = (float)pages[page].pixels[3 * at + i] / 255.0f;
            SPLAT_TRY(splat_backend_upload(p->bake->backend, device + 3 * (p->first[page] + at), p->piece,
                                           3 * count * sizeof *p->piece, error));
        }
    }
    return SPLAT_OK;
}

/* Texels that were stepped count as valid from then on. */
static splat_status take_pages(polisher *p, splat_image *pages, uint8_t *const *valid, splat_error *error)
{
    const float *device = p->blocks[TEXELS].data;
    const uint8_t *counts = p->blocks[COUNTS].data;
    uint8_t *stepped = (uint8_t *)p->piece; /* once its colours are taken */
    for (size_t page = 0; page < p->atlas->n_pages; page++) {
        size_t n = p->first[page + 1] - p->first[page];
        for (size_t at = 0; at < n; at += PIECE) {
            size_t count = n - at < PIECE ? n - at : PIECE;
            SPLAT_TRY(splat_backend_download(p->bake->backend, p->piece, device + 3 * (p->first[page] + at),
                                             3 * count * sizeof *p->piece, error));
            for (size_t i = 0; i < 3 * count; i++) pages[page].pixels[3 * at + i] = splat_image_byte(p->piece[i]);
            SPLAT_TRY(splat_backend_download(p->bake->backend, stepped, counts + p->first[page] + at, count, error));
            for (size_t i = 0; i < count; i++) valid[page][at + i] |= stepped[i] > 0;
        }
        SPLAT_TRY(splat_texture_fill(&pages[page], valid[page], p->bake->context->threads, error));
    }
    return SPLAT_OK;
}

/* The place of pixel i of the view on the texture. Silhouettes are left out: there photo and mesh differ. */
static splat_polish_place place_of(const polisher *p, size_t i)
{
    const splat_mesh *mesh = p->bake->mesh;
    splat_polish_place place = {.left = {SPLAT_POLISH_NO_TEXEL, SPLAT_POLISH_NO_TEXEL}};
    if (!p->room->faces[i] || !p->room->feather[i]) return place;
    size_t face = p->room->faces[i] - 1, page = mesh->face_pages ? mesh->face_pages[face] : 0;
    const float *uv = mesh->uvs + 6 * face, *b = p->weights[i];
    const float b2 = 1.0f - b[0] - b[1];
    int width = p->atlas->pages[page].width, height = p->atlas->pages[page].height;
    float x = (b[0] * uv[0] + b[1] * uv[2] + b2 * uv[4]) * (float)width - 0.5f;
    float y = (b[0] * uv[1] + b[1] * uv[3] + b2 * uv[5]) * (float)height - 0.5f;
    x = fminf(fmaxf(x, 0), (float)(width - 2) + 0.999f);
    y = fminf(fmaxf(y, 0), (float)(height - 2) + 0.999f);
    size_t column = (size_t)x, row = (size_t)y;
    for (size_t k = 0; k < 2; k++)
        place.left[k] = (uint32_t)(p->first[page] + (row + k) * (size_t)width + column);
    place.right = x - (float)column;
    place.down = y - (float)row;
    return place;
}

/* Places and the levelled photo of a view, on the device. */
static splat_status show_view(polisher *p, size_t v, splat_error *error)
{
    const splat_bake *bake = p->bake;
    const splat_camera *c = splat_bake_camera(bake, v);
    size_t n = splat_camera_pixels(c);
    float table[3 * 256];
    SPLAT_TRY(splat_bake_draw(bake, v, p->room, p->weights, error));
    SPLAT_TRY(splat_bake_read_photo(bake, v, p->room, error));
    splat_bake_table(&bake->views[v], table);
#pragma omp parallel for schedule(static) num_threads(bake->context->threads)
    for (size_t i = 0; i < n; i++) {
        p->places[i] = place_of(p, i);
        for (size_t k = 0; k < 3; k++) p->target[k * n + i] = table[256 * k + p->room->photo[3 * i + k]];
    }
    SPLAT_TRY(splat_backend_upload(bake->backend, p->blocks[PLACES].data, p->places, n * sizeof *p->places, error));
    return splat_backend_upload(bake->backend, p->blocks[TARGET].data, p->target, 3 * n * sizeof *p->target, error);
}

static splat_status step(polisher *p, size_t v, float rate, splat_loss_result *result, splat_error *error)
{
    splat_backend *b = p->bake->backend;
    const splat_camera *c = splat_bake_camera(p->bake, v);
    size_t n = splat_camera_pixels(c);
    SPLAT_TRY(show_view(p, v, error));
    struct splat_polish_draw_args draw = {n, p->blocks[PLACES].data, p->blocks[TEXELS].data, p->blocks[TARGET].data,
                                          p->blocks[IMAGE].data};
    SPLAT_TRY(splat_op_polish_draw(b, &draw, error));
    struct splat_loss_args loss = {.width = c->width,
                                   .height = c->height,
                                   .image = p->blocks[IMAGE].data,
                                   .photo_f32 = p->blocks[TARGET].data,
                                   .lambda_dssim = LAMBDA_DSSIM,
                                   .grad_image = p->blocks[GRAD].data,
                                   .result = splat_backend_result_latency(b) ? NULL : result};
    SPLAT_TRY(splat_op_loss(b, &loss, error));
    struct splat_polish_step_args args = {n, p->first[p->atlas->n_pages], p->blocks[PLACES].data, p->blocks[GRAD].data,
                                          rate, p->blocks[TEXELS].data, p->blocks[MOMENTS].data, p->blocks[SUMS].data,
                                          p->blocks[COUNTS].data};
    return splat_op_polish_step(b, &args, error);
}

splat_status splat_bake_polish(const splat_bake *bake, const splat_atlas *atlas, splat_bake_room *room,
                               splat_image *pages, uint8_t *const *valid, double losses[2], splat_error *error)
{
    polisher p = {.bake = bake, .atlas = atlas, .room = room};
    int n = bake->options->polish_steps, tenth = n / 10 > 1 ? n / 10 : 1;
    size_t stride = splat_scatter_stride(bake->n_views); /* neighbours see the same texels */
    splat_status status;
    losses[0] = losses[1] = 0;
    SPLAT_TRY_GOTO(status, done, open_polisher(&p, error));
    SPLAT_TRY_GOTO(status, done, put_pages(&p, pages, error));
    for (int i = 0; i < n; i++) {
        splat_loss_result result = {0};
        double part = n > 1 ? (double)i / (n - 1) : 0;
        SPLAT_TRY_GOTO(status, done, splat_bake_go_on(bake, "polishing", (double)i / n, error));
        SPLAT_TRY_GOTO(status, done, step(&p, (size_t)i * stride % bake->n_views,
                                          (float)(FIRST_RATE * pow(LAST_RATE / FIRST_RATE, part)), &result, error));
        if (i < tenth) losses[0] += result.loss / tenth;
        if (i >= n - tenth) losses[1] += result.loss / tenth;
    }
    status = take_pages(&p, pages, valid, error);
done:
    close_polisher(&p);
    return status;
}
