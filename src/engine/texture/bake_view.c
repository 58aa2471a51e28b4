/* One training view: the mesh as it sees it, what its mask hides, and how far from an edge its pixels lie. */
#include "texture/bake_view.h"

#include "io/picture/image_read.h"
#include "io/picture/image_write.h"
#include "texture/bake_parts.h"

#include "io/picture/image.h"
#include "math/camera.h"
#include "mesh/mesh_raster.h"
#include "scene/photo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAR 0.01f /* scene units, as the published renderers have it */
#define FULL_SIDE 1600 /* of a picture, at which widths in pixels are meant; they shrink with smaller ones */
#define FEATHER 12
#define SIGMA 6.0f

splat_status splat_bake_go_on(const splat_bake *bake, const char *stage, double fraction, splat_error *error)
{
    const splat_texture_options *o = bake->options;
    if (!o->progress || o->progress(o->progress_user, stage, fraction)) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_STOPPED, "stopped while %s", stage);
}

const splat_camera *splat_bake_camera(const splat_bake *bake, size_t number)
{
    return &bake->scene->dataset.views[bake->scene->dataset.train[number]].camera;
}

static double scale_of(const splat_camera *camera)
{
    int side = camera->width > camera->height ? camera->width : camera->height;
    return side < FULL_SIDE ? (double)side / FULL_SIDE : 1;
}

int splat_bake_feather_pixels(const splat_camera *camera)
{
    int reach = (int)(FEATHER * scale_of(camera) + 0.5);
    return reach < 3 ? 3 : reach;
}

float splat_bake_band_sigma(const splat_camera *camera)
{
    return fmaxf(SIGMA * (float)scale_of(camera), 2.0f);
}

/* ---------------------------------------------------------------- room */

static size_t largest_view(const splat_bake *bake, int *width, int *height)
{
    splat_scene_largest_view(bake->scene, width, height);
    return (size_t)*width * (size_t)*height;
}

/* Bytes for one pixel: faces 4, depth 4, front, feather, distance 1 each, the photo with its pyramid, luma 4, the low
 * band. */
uint64_t splat_bake_room_bytes(const splat_bake *bake)
{
    int width, height;
    uint64_t n = largest_view(bake, &width, &height), render = bake->options->bake == SPLAT_BAKE_GAUSSIANS ? 12 : 0;
    return n * (15 + render) + 3 * splat_texture_pyramid_pixels(width, height, SPLAT_TEXTURE_LEVELS) + n;
}

splat_status splat_bake_room_make(const splat_bake *bake, splat_bake_room *room, splat_error *error)
{
    int width, height;
    size_t n = largest_view(bake, &width, &height);
    size_t levels = splat_texture_pyramid_pixels(width, height, SPLAT_TEXTURE_LEVELS);
    memset(room, 0, sizeof *room);
    room->n_pixels = n;
    room->faces = malloc(n * sizeof *room->faces);
    room->depth = malloc(n * sizeof *room->depth);
    room->front = malloc(n);
    room->feather = malloc(n);
    room->distance = malloc(n);
    room->photo = malloc(3 * levels);
    room->low = malloc(3 * (n / 16 + (size_t)width + (size_t)height + 1) * sizeof *room->low);
    room->luma = malloc(n * sizeof *room->luma);
    bool good = room->faces && room->depth && room->front && room->feather && room->distance && room->photo &&
                room->low && room->luma;
    if (good && bake->options->bake == SPLAT_BAKE_GAUSSIANS)
        good = (room->render = malloc(3 * n * sizeof *room->render)) != NULL;
    if (good) {
        const splat_mesh *mesh = bake->mesh;
        splat_mesh_drawer_open(&room->drawer, bake->backend, mesh->vertices, mesh->n_vertices, mesh->faces,
                               mesh->n_faces, n);
        return SPLAT_OK;
    }
    splat_bake_room_free(room);
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a view of %d x %d pixels", width, height);
}

void splat_bake_room_free(splat_bake_room *room)
{
    splat_mesh_drawer_close(&room->drawer);
    free(room->faces);
    free(room->depth);
    free(room->front);
    free(room->feather);
    free(room->distance);
    free(room->photo);
    free(room->low);
    free(room->luma);
    free(room->render);
    memset(room, 0, sizeof *room);
}

/* ---------------------------------------------------------------- masks and feathers */

#define MASK_MARGIN 2 /* pixels around what a mask hides that are not trusted either: masks are never exact */

static void show_nothing(splat_bake_room *room, size_t pixel)
{
    room->faces[pixel] = 0;
    room->depth[pixel] = 0;
}

/* Removes masked pixels, and those within MASK_MARGIN of them. */
static splat_status apply_mask(const splat_bake *bake, uint32_t index, splat_bake_room *room, splat_error *error)
{
    const splat_camera *c = &bake->scene->dataset.views[index].camera;
    uint8_t *kept = malloc(splat_camera_pixels(c));
    if (!kept) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a mask");
    splat_status status = splat_scene_read_mask(bake->scene, index, c->width, c->height, kept, error);
    for (int y = 0; y < c->height && status == SPLAT_OK; y++)
        for (int x = 0; x < c->width; x++) {
            if (kept[(size_t)y * (size_t)c->width + (size_t)x]) continue;
            for (int j = y - MASK_MARGIN; j <= y + MASK_MARGIN; j++)
                for (int i = x - MASK_MARGIN; i <= x + MASK_MARGIN; i++)
                    if (i >= 0 && j >= 0 && i < c->width && j < c->height)
                        show_nothing(room, (size_t)j * (size_t)c->width + (size_t)i);
        }
    free(kept);
    return status;
}

/* Pixels where the photo is rather transparent show nothing. */
static splat_status apply_alpha(const splat_dataset_view *view, splat_bake_room *room, splat_error *error)
{
    splat_image image;
    int width, height, channels;
    SPLAT_TRY(splat_image_probe(view->path, &width, &height, &channels, error));
    if (channels != 4) return SPLAT_OK;
    SPLAT_TRY(splat_image_read(view->path, &image, error));
    splat_status status = splat_photo_fit(view, &image, error);
    size_t n = status == SPLAT_OK ? splat_camera_pixels(&view->camera) : 0;
    for (size_t i = 0; i < n; i++)
        if (image.pixels[4 * i + 3] < 128) show_nothing(room, i);
    splat_image_free(&image);
    return status;
}

/* Nothing is there, or the surface ends towards a neighbour, or the picture does. */
static bool is_edge(const float *depth, int width, int height, int x, int y)
{
    static const int step[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    float own = depth[(size_t)y * (size_t)width + (size_t)x];
    if (!(own > 0) || x == 0 || y == 0 || x == width - 1 || y == height - 1) return true;
    for (int k = 0; k < 4; k++) {
        float other = depth[(size_t)(y + step[k][1]) * (size_t)width + (size_t)(x + step[k][0])];
        if (!(other > 0) || own > 1.02f * other || other > 1.02f * own) return true;
    }
    return false;
}

/* Pixels to the nearest edge of the row, at most reach. */
static void row_distances(const float *depth, int width, int height, int reach, int y, uint8_t *distance)
{
    uint8_t *row = distance + (size_t)y * (size_t)width;
    int since = reach;
    for (int x = 0; x < width; x++) {
        since = is_edge(depth, width, height, x, y) ? 0 : since < reach ? since + 1 : reach;
        row[x] = (uint8_t)since;
    }
    for (int x = width - 2; x >= 0; x--)
        if (row[x] > row[x + 1] + 1) row[x] = (uint8_t)(row[x + 1] + 1);
}

#define TILE 64 /* pixels of a row, whose nearest edges are found together in loops that become vectors */

static void feather_tile(const uint8_t *distance, int width, int height, int reach, int y, int left, uint8_t *feather)
{
    const int first = y > reach ? y - reach : 0, last = y + reach < height ? y + reach : height - 1;
    const int n = width - left < TILE ? width - left : TILE;
    int best[TILE];
    for (int i = 0; i < n; i++) best[i] = reach * reach;
    for (int j = first; j <= last; j++) {
        const uint8_t *row = distance + (size_t)j * (size_t)width + (size_t)left;
        const int down = (j - y) * (j - y);
        for (int i = 0; i < n; i++) {
            const int square = row[i] * row[i] + down;
            best[i] = square < best[i] ? square : best[i];
        }
    }
    for (int i = 0; i < n; i++) {
        const double t = sqrt((double)best[i]) / reach;
        feather[(size_t)y * (size_t)width + (size_t)(left + i)] = (uint8_t)(255 * t * t * (3 - 2 * t) + 0.5);
    }
}

void splat_bake_feather(const float *depth, int width, int height, int reach, int threads, uint8_t *distance,
                        uint8_t *feather)
{
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static)
        for (int y = 0; y < height; y++) row_distances(depth, width, height, reach, y, distance);
#pragma omp for schedule(static)
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x += TILE) feather_tile(distance, width, height, reach, y, x, feather);
    }
}

splat_status splat_bake_draw(const splat_bake *bake, size_t number, splat_bake_room *room, float (*weights)[2],
                             splat_error *error)
{
    const splat_dataset *dataset = &bake->scene->dataset;
    const splat_dataset_view *view = &dataset->views[dataset->train[number]];
    const splat_camera *c = &view->camera;
    int threads = bake->context->threads;
    splat_mesh_raster_options options;
    splat_mesh_raster_options_init(&options);
    options.near = NEAR;
    options.threads = threads;
    splat_mesh_raster_maps maps = {.faces = room->faces, .depth = room->depth, .front = room->front,
                                   .weights = weights};
    if (room->drawer.backend)
        SPLAT_TRY(splat_mesh_drawer_draw(&room->drawer, c, NEAR, room->faces, room->depth, weights, room->front,
                                         error));
    else
        SPLAT_TRY(splat_mesh_rasterize(bake->mesh, c, &options, &maps, error));
    SPLAT_TRY(apply_alpha(view, room, error));
    if (view->has_mask && bake->options->bake == SPLAT_BAKE_PHOTOS)
        SPLAT_TRY(apply_mask(bake, dataset->train[number], room, error));
    splat_bake_feather(room->depth, c->width, c->height, splat_bake_feather_pixels(c), threads, room->distance,
                       room->feather);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- pictures */

static splat_status render_gaussians(const splat_bake *bake, const splat_camera *camera, splat_bake_room *room,
                                     splat_error *error)
{
    const float black[3] = {0, 0, 0};
    int degree = bake->model->gaussians.active_sh_degree;
    bake->model->gaussians.active_sh_degree = 0;
    splat_status status = splat_model_render(bake->model, camera, black, room->render, error);
    bake->model->gaussians.active_sh_degree = degree;
    if (status == SPLAT_OK) splat_image_from_planar(room->render, camera->width, camera->height, room->photo);
    return status;
}

splat_status splat_bake_read_photo(const splat_bake *bake, size_t number, splat_bake_room *room, splat_error *error)
{
    const splat_dataset *dataset = &bake->scene->dataset;
    const splat_camera *c = splat_bake_camera(bake, number);
    const uint8_t *photo;
    if (bake->options->bake == SPLAT_BAKE_GAUSSIANS) return render_gaussians(bake, c, room, error);
    if (number + 1 < bake->n_views) splat_image_cache_prefetch(bake->scene->cache, dataset->train[number + 1]);
    SPLAT_TRY(splat_image_cache_acquire(bake->scene->cache, dataset->train[number], &photo, error));
    memcpy(room->photo, photo, 3 * splat_camera_pixels(c));
    splat_image_cache_release(bake->scene->cache, dataset->train[number]);
    return SPLAT_OK;
}
