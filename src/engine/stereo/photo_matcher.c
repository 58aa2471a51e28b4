/* Photos and depth go to the device, planes and verdicts come back. */
#include "stereo/photo_matcher.h"

#include "backend/memory.h"
#include "base/select.h"
#include "math/camera.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 8      /* side of the squares whose noise is measured */
#define PLAINEST 0.2 /* part of them that shows the noise alone */

/* ---------------------------------------------------------------- photos */

/* Deviation of the noise (Immerkaer, Fast Noise Variance Estimation, 1996) in the squares with the least. */
static float measure_noise(const uint8_t *grey, int width, int height, float *noises)
{
    size_t n = 0, w = (size_t)width;
    for (int top = 1; top + BLOCK < height; top += BLOCK)
        for (int left = 1; left + BLOCK < width; left += BLOCK) {
            uint32_t sum = 0;
            for (int y = top; y < top + BLOCK; y++)
                for (int x = left; x < left + BLOCK; x++) {
                    const uint8_t *p = grey + (size_t)y * w + (size_t)x, *above = p - w, *below = p + w;
                    int second = above[-1] - 2 * above[0] + above[1] - 2 * (p[-1] - 2 * p[0] + p[1]) + below[-1] -
                                 2 * below[0] + below[1];
                    sum += (uint32_t)abs(second);
                }
            noises[n++] = (float)sum * 1.2533141f / (6 * BLOCK * BLOCK);
        }
    return n ? splat_select_float(noises, n, (size_t)(PLAINEST * (double)n)) : 0;
}

static splat_status read_photo(splat_photo_matcher *m, const splat_match_photos *photos, size_t number, uint8_t *rgb,
                               float *noises, float *noise, splat_error *error)
{
    splat_matched_view *view = &m->views[number];
    size_t n = splat_camera_pixels(view->camera);
    SPLAT_TRY(photos->read(photos->user, number, rgb, error));
    view->grey = malloc(n);
    if (!view->grey) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a photo of %zu pixels", n);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *p = rgb + 3 * i;
        view->grey[i] = (uint8_t)((77 * p[0] + 150 * p[1] + 29 * p[2] + 128) / 256);
    }
    *noise = measure_noise(view->grey, view->camera->width, view->camera->height, noises);
    return SPLAT_OK;
}

static splat_status read_photos(splat_photo_matcher *m, const splat_match_photos *photos, splat_error *error)
{
    const size_t n = m->n;
    splat_status status = SPLAT_OK;
    float *noise = calloc(n + 1, sizeof *noise);
    if (!noise) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu photos", n);
#pragma omp parallel num_threads(m->backend->threads)
    {
        uint8_t *rgb = malloc(3 * m->largest);
        float *noises = malloc((m->largest / (BLOCK * BLOCK) + 1) * sizeof *noises);
#pragma omp for schedule(dynamic, 1)
        for (size_t i = 0; i < n; i++) {
            splat_error own;
            splat_status one = rgb && noises ? read_photo(m, photos, i, rgb, noises, &noise[i], &own)
                                             : splat_fail(&own, SPLAT_ERROR_MEMORY, "no memory for photos");
            if (one == SPLAT_OK) continue;
#pragma omp critical(splat_photo_matcher)
            {
                status = one;
                if (error) *error = own;
            }
        }
        free(rgb);
        free(noises);
    }
    if (n) m->noise = splat_select_float(noise, n, n / 2);
    free(noise);
    return status;
}

/* ---------------------------------------------------------------- memory */

static splat_status make_block(splat_photo_matcher *m, splat_block *block, const char *name, size_t bytes,
                               splat_error *error)
{
    *block = (splat_block){.placement = SPLAT_ON_DEVICE, .type = SPLAT_TYPE_MIXED};
    return splat_block_resize(m->backend, block, name, SPLAT_OWNER_LISTS, bytes, error);
}

static splat_status make_slot(splat_photo_matcher *m, splat_error *error)
{
    splat_matcher_slot *slot = &m->slots[m->n_slots];
    SPLAT_TRY(make_block(m, &slot->photo, "photos to match", m->largest, error));
    const splat_status status = make_block(m, &slot->depth, "depths to match", m->largest * sizeof(float), error);
    if (status == SPLAT_OK) m->n_slots++;
    else splat_block_free(m->backend, &slot->photo); /* half a slot is none */
    return status;
}

/* Those beyond what a comparison needs, as far as there is memory. */
static void make_more_slots(splat_photo_matcher *m)
{
    splat_error none;
    while (m->n_slots < SPLAT_MATCHER_SLOTS && m->n_slots < m->n && make_slot(m, &none) == SPLAT_OK) {}
}

static void drop_slots(splat_photo_matcher *m, size_t n)
{
    while (m->n_slots > n) {
        splat_matcher_slot *slot = &m->slots[--m->n_slots];
        splat_block_free(m->backend, &slot->photo);
        splat_block_free(m->backend, &slot->depth);
        *slot = (splat_matcher_slot){.view = 0};
    }
}

static splat_status make_blocks(splat_photo_matcher *m, splat_error *error)
{
    const size_t largest = m->largest;
    for (int k = 0; k <= SPLAT_MATCH_NEIGHBORS; k++) SPLAT_TRY(make_slot(m, error));
    SPLAT_TRY(make_block(m, &m->planes, "matched planes", largest * sizeof *m->first, error));
    SPLAT_TRY(make_block(m, &m->costs, "costs of planes", largest * sizeof(float), error));
    SPLAT_TRY(make_block(m, &m->verdicts, "verdicts", largest, error));
    SPLAT_TRY(splat_host_room_make(&m->rooms[0], m->backend, "planes to match", largest * sizeof *m->first, error));
    SPLAT_TRY(splat_host_room_make(&m->rooms[1], m->backend, "matched planes", largest * sizeof *m->best, error));
    SPLAT_TRY(splat_host_room_make(&m->rooms[2], m->backend, "verdicts", largest, error));
    m->first = m->rooms[0].data;
    m->best = m->rooms[1].data;
    m->judged = m->rooms[2].data;
    make_more_slots(m);
    return SPLAT_OK;
}

void splat_photo_matcher_free(splat_photo_matcher *m)
{
    for (size_t k = 0; k < SPLAT_MATCHER_SLOTS; k++) {
        splat_block_free(m->backend, &m->slots[k].photo);
        splat_block_free(m->backend, &m->slots[k].depth);
    }
    splat_block_free(m->backend, &m->planes);
    splat_block_free(m->backend, &m->costs);
    splat_block_free(m->backend, &m->verdicts);
    for (size_t i = 0; m->views && i < m->n; i++) free(m->views[i].grey);
    free(m->views);
    for (size_t i = 0; i < 3; i++) splat_host_room_free(&m->rooms[i], m->backend);
}

static splat_status init(splat_photo_matcher *m, const splat_depth_view *views, const splat_match_photos *photos,
                         splat_error *error)
{
    m->views = calloc(m->n + 1, sizeof *m->views);
    if (!m->views) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu photos", m->n);
    m->largest = 1;
    for (size_t i = 0; i < m->n; i++) {
        size_t n_pixels = splat_camera_pixels(views[i].camera);
        m->largest = n_pixels > m->largest ? n_pixels : m->largest;
        m->views[i] = (splat_matched_view){.camera = views[i].camera, .depth = views[i].depth};
    }
    SPLAT_TRY(read_photos(m, photos, error));
    return make_blocks(m, error);
}

splat_status splat_photo_matcher_init(splat_photo_matcher *m, splat_backend *backend, const splat_depth_view *views,
                                      size_t n, const splat_match_photos *photos, splat_error *error)
{
    *m = (splat_photo_matcher){.backend = backend, .n = n};
    splat_status status = init(m, views, photos, error);
    if (status != SPLAT_OK) splat_photo_matcher_free(m);
    return status;
}

/* ---------------------------------------------------------------- one view */

/* The slot of a view, or the one that has waited longest. */
static splat_matcher_slot *find_slot(splat_photo_matcher *m, size_t number)
{
    splat_matcher_slot *oldest = &m->slots[0];
    for (size_t k = 0; k < m->n_slots; k++) {
        if (m->slots[k].view == number + 1) return &m->slots[k];
        if (m->slots[k].last_use < oldest->last_use) oldest = &m->slots[k];
    }
    return oldest;
}

static splat_status send(splat_photo_matcher *m, size_t number, bool has_depth, splat_match_view *to,
                         splat_error *error)
{
    const splat_matched_view *view = &m->views[number];
    const size_t n = splat_camera_pixels(view->camera);
    splat_matcher_slot *slot = find_slot(m, number);
    slot->last_use = ++m->n_uses;
    *to = (splat_match_view){view->camera, slot->photo.data, NULL};
    if (slot->view != number + 1) {
        slot->view = 0;
        slot->has_depth = false;
        SPLAT_TRY(splat_backend_upload(m->backend, slot->photo.data, view->grey, n, error));
        slot->view = number + 1;
    }
    if (!view->depth || !has_depth) return SPLAT_OK;
    to->depth = slot->depth.data;
    if (!slot->has_depth)
        SPLAT_TRY(splat_backend_upload(m->backend, slot->depth.data, view->depth, n * sizeof *view->depth, error));
    slot->has_depth = true;
    return SPLAT_OK;
}

void splat_photo_matcher_forget(splat_photo_matcher *m, size_t number)
{
    for (size_t k = 0; k < m->n_slots; k++)
        if (m->slots[k].view == number + 1) m->slots[k].has_depth = false;
}

static splat_status try_match(splat_photo_matcher *m, size_t number, const uint32_t *neighbors, uint32_t n_neighbors,
                          bool has_depth, uint32_t stride, uint32_t n_sweeps, size_t *n_sites, splat_error *error)
{
    const splat_camera *camera = m->views[number].camera;
    const size_t n = (size_t)splat_match_sites(camera->width, stride) * splat_match_sites(camera->height, stride);
    struct splat_match_args args = {.n_neighbors = n_neighbors, .noise = m->noise, .stride = stride,
                                    .n_sweeps = n_sweeps, .are_guesses = m->guesses, .planes = m->planes.data,
                                    .costs = m->costs.data, .verdicts = m->verdicts.data};
    *n_sites = n;
    SPLAT_TRY(send(m, number, has_depth, &args.reference, error));
    for (uint32_t k = 0; k < n_neighbors; k++)
        SPLAT_TRY(send(m, neighbors[k], has_depth, &args.neighbors[k], error));
    /* `first` may be pinned and is read later: nobody sets it again before the download after the op */
    SPLAT_TRY(splat_backend_upload(m->backend, m->planes.data, m->first, n * sizeof *m->first, error));
    return splat_op_match(m->backend, &args, error);
}

/* Runs op match on a view: planes, costs and verdicts stay where it puts them. Slots that it does not need give way to
 * its scratch. */
static splat_status match(splat_photo_matcher *m, size_t number, const uint32_t *neighbors, uint32_t n_neighbors,
                          bool has_depth, uint32_t stride, uint32_t n_sweeps, size_t *n_sites, splat_error *error)
{
    const size_t needed = 1 + SPLAT_MATCH_NEIGHBORS;
    splat_status status = try_match(m, number, neighbors, n_neighbors, has_depth, stride, n_sweeps, n_sites, error);
    if (status != SPLAT_ERROR_MEMORY || m->n_slots <= needed) return status;
    drop_slots(m, needed);
    if (error) *error = (splat_error){0};
    return try_match(m, number, neighbors, n_neighbors, has_depth, stride, n_sweeps, n_sites, error);
}

splat_status splat_photo_matcher_compare(splat_photo_matcher *m, size_t number, const uint32_t *neighbors,
                                         uint32_t n_neighbors, uint32_t stride, uint32_t n_sweeps, splat_error *error)
{
    size_t n;
    SPLAT_TRY(match(m, number, neighbors, n_neighbors, true, stride, n_sweeps, &n, error));
    SPLAT_TRY(splat_backend_download(m->backend, m->best, m->planes.data, n * sizeof *m->best, error));
    return splat_backend_download(m->backend, m->judged, m->verdicts.data, n, error);
}

splat_status splat_photo_matcher_costs(splat_photo_matcher *m, size_t n_sites, float *costs, splat_error *error)
{
    return splat_backend_download(m->backend, costs, m->costs.data, n_sites * sizeof *costs, error);
}

splat_status splat_photo_matcher_ask(splat_photo_matcher *m, size_t number, const uint32_t *neighbors,
                                     uint32_t n_neighbors, uint32_t stride, float *costs, splat_error *error)
{
    size_t n;
    SPLAT_TRY(match(m, number, neighbors, n_neighbors, false, stride, 0, &n, error));
    return splat_photo_matcher_costs(m, n, costs, error);
}
