/* Maps of views in slots of the device's memory; what was used longest ago gives way. */
#include "surface/extract/agree_views.h"

#include "math/camera.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define MAPS_BYTES 12u /* of a pixel: depth 4, normal 4, rgb 3, alpha 1 */

splat_agree_view splat_agree_view_of(const splat_view_map *map)
{
    return (splat_agree_view){map->camera, map->depth, map->normal, map->rgb, map->alpha};
}

/* Slots that fit into the memory that may be used. */
static size_t count_slots(const splat_backend *backend, size_t n_views, size_t slot_bytes, size_t other_bytes)
{
    const size_t limit = backend->memory.limit, reserved = backend->memory.device.reserved;
    size_t room = backend->device_bytes / 4;
    if (limit && reserved > limit) return 0;
    if (limit && (limit - reserved) / 2 < room) room = (limit - reserved) / 2;
    if (room < other_bytes) return 0;
    const size_t n = (room - other_bytes) / slot_bytes;
    return n < n_views ? n : n_views;
}

static bool take_blocks(splat_agree_views *v, size_t most)
{
    splat_backend *b = v->backend;
    for (; v->n_slots > SPLAT_AGREE_NEIGHBORS; v->n_slots -= v->n_slots / 4)
        if (splat_block_resize(b, &v->slots, "maps of views", SPLAT_OWNER_OTHER, v->n_slots * v->slot_bytes, NULL) ==
            SPLAT_OK)
            break;
    return v->slots.data &&
           splat_block_resize(b, &v->verdicts, "verdicts", SPLAT_OWNER_OTHER, v->most_pixels, NULL) == SPLAT_OK &&
           splat_block_resize(b, &v->agreements, "agreements", SPLAT_OWNER_OTHER, most * sizeof(splat_agreement),
                              NULL) == SPLAT_OK;
}

static bool take_lists(splat_agree_views *v)
{
    v->slot_of = malloc((v->maps->n + 1) * sizeof *v->slot_of);
    v->view_of = malloc((v->n_slots + 1) * sizeof *v->view_of);
    v->used = calloc(v->n_slots + 1, sizeof *v->used);
    if (!v->slot_of || !v->view_of || !v->used) return false;
    for (size_t i = 0; i < v->maps->n; i++) v->slot_of[i] = NONE;
    for (size_t i = 0; i < v->n_slots; i++) v->view_of[i] = NONE;
    return true;
}

void splat_agree_views_open(splat_agree_views *views, splat_backend *backend, const splat_view_maps *maps, size_t most,
                            int threads)
{
    *views = (splat_agree_views){.maps = maps, .threads = threads};
    if (!backend || !backend->device_bytes || maps->n == 0 || most == 0) return;
    views->most_pixels = splat_view_maps_most_pixels(maps);
    views->slot_bytes = (MAPS_BYTES * views->most_pixels + 255) & ~(size_t)255;
    views->backend = backend;
    views->n_slots = count_slots(backend, maps->n, views->slot_bytes,
                                 views->most_pixels + most * sizeof(splat_agreement));
    const size_t least = maps->n < SPLAT_AGREE_NEIGHBORS + 1 ? maps->n : SPLAT_AGREE_NEIGHBORS + 1;
    if (views->n_slots < least || !take_blocks(views, most) || !take_lists(views)) splat_agree_views_close(views);
}

void splat_agree_views_close(splat_agree_views *v)
{
    if (!v->backend) return;
    splat_block_free(v->backend, &v->slots);
    splat_block_free(v->backend, &v->verdicts);
    splat_block_free(v->backend, &v->agreements);
    free(v->slot_of);
    free(v->view_of);
    free(v->used);
    v->backend = NULL;
}

/* The slot that was used longest ago, but not for the view in work; its maps are given up. */
static uint32_t take_slot(splat_agree_views *v)
{
    uint32_t oldest = 0;
    for (uint32_t s = 1; s < v->n_slots; s++)
        if (v->used[s] < v->used[oldest]) oldest = s;
    if (v->view_of[oldest] != NONE) v->slot_of[v->view_of[oldest]] = NONE;
    return oldest;
}

/* The view's maps on the device. */
static splat_status bring(splat_agree_views *v, size_t number, splat_agree_view *view, splat_error *error)
{
    const splat_view_map *map = &v->maps->views[number];
    const size_t n = splat_camera_pixels(&map->camera), most = v->most_pixels;
    const bool is_new = v->slot_of[number] == NONE;
    const uint32_t slot = is_new ? take_slot(v) : v->slot_of[number];
    uint8_t *data = (uint8_t *)v->slots.data + slot * v->slot_bytes;
    const splat_agree_view there = {map->camera, (float *)data, (int16_t *)(data + 4 * most), data + 8 * most,
                                    data + 11 * most};
    v->slot_of[number] = slot;
    v->view_of[slot] = (uint32_t)number;
    v->used[slot] = v->now;
    *view = there;
    if (!is_new) return SPLAT_OK;
    SPLAT_TRY(splat_backend_upload(v->backend, (void *)there.depth, map->depth, n * sizeof *map->depth, error));
    SPLAT_TRY(splat_backend_upload(v->backend, (void *)there.normal, map->normal, 2 * n * sizeof *map->normal, error));
    SPLAT_TRY(splat_backend_upload(v->backend, (void *)there.rgb, map->rgb, 3 * n, error));
    return splat_backend_upload(v->backend, (void *)there.alpha, map->alpha, n, error);
}

static splat_status ask_device(splat_agree_views *v, size_t number, struct splat_agree_args *args, splat_error *error)
{
    const splat_view_map *map = &v->maps->views[number];
    uint8_t *verdicts = args->verdicts;
    splat_agreement *agreements = args->agreements;
    v->now++;
    SPLAT_TRY(bring(v, number, &args->view, error));
    for (uint32_t k = 0; k < map->n_neighbors; k++)
        SPLAT_TRY(bring(v, map->neighbors[k], &args->neighbors[k], error));
    args->verdicts = v->verdicts.data;
    args->agreements = v->agreements.data;
    SPLAT_TRY(splat_op_agree(v->backend, args, error));
    SPLAT_TRY(splat_backend_download(v->backend, verdicts, args->verdicts, args->n, error));
    return splat_backend_download(v->backend, agreements, args->agreements,
                                  splat_agree_count(args) * sizeof *agreements, error);
}

splat_status splat_agree_views_ask(splat_agree_views *views, size_t v, size_t first, size_t n, size_t every,
                                   size_t phase, uint8_t *verdicts, splat_agreement *agreements, splat_error *error)
{
    const splat_view_map *map = &views->maps->views[v];
    struct splat_agree_args args = {.n_neighbors = map->n_neighbors, .first = first, .n = n, .every = every,
                                    .phase = phase, .verdicts = verdicts, .agreements = agreements};
    if (views->backend) return ask_device(views, v, &args, error);
    args.view = splat_agree_view_of(map);
    for (uint32_t k = 0; k < map->n_neighbors; k++)
        args.neighbors[k] = splat_agree_view_of(&views->maps->views[map->neighbors[k]]);
    return splat_agree_on_host(&args, views->threads, error);
}
