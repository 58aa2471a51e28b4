/* Planning, fusing and meshing of the signed distance field. */
#include "mesh/tsdf.h"

#include "base/array.h"
#include "math/camera.h"
#include "mesh/marching_cubes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static splat_status check(const splat_voxel_grid *grid, const splat_tsdf_options *options,
                          const splat_tsdf_frame *frame, splat_error *error)
{
    const splat_camera *camera = &frame->camera;
    if (options->threads < 1 || !(options->max_depth >= 0.0f) || !isfinite(options->truncation) ||
        !(options->truncation >= 2.0 * grid->voxel_size))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "fusing depth maps needs a thread and a truncation of at least "
                          "two voxels; it is %g, and a voxel %g", options->truncation, grid->voxel_size);
    if (!frame->depth || camera->width < 1 || camera->height < 1 || !(camera->fx > 0.0f) || !(camera->fy > 0.0f))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a depth map needs pixels and a camera with focal lengths");
    return SPLAT_OK;
}

/* The depth of a pixel, 0 when nothing is known. */
static float depth_at(const splat_tsdf_options *options, const splat_tsdf_frame *frame, size_t pixel)
{
    float depth = frame->depth[pixel];
    if (!(depth > 0.0f)) return 0.0f;
    if (options->max_depth > 0.0f && depth > options->max_depth && !isinf(depth)) return 0.0f;
    if (frame->weights && !(frame->weights[pixel] > 0.0f)) return 0.0f;
    return depth;
}

/* ---------------------------------------------------------------- planning */

/* Blocks found by one thread; recent ones are remembered, so that neighbouring pixels do not list them again. */
enum { RECENT = 4096 };

typedef struct block_list {
    uint64_t *keys;
    size_t n, capacity;
    bool out_of_range, out_of_memory;
    uint64_t recent[RECENT];
} block_list;

static void list_block(block_list *list, const int32_t block[3])
{
    uint64_t key = splat_block_key(block), *recent = &list->recent[(key ^ key >> 18 ^ key >> 36) % RECENT];
    if (*recent == key) return;
    *recent = key;
    uint64_t *grown = splat_array_grow(list->keys, &list->capacity, list->n, sizeof *grown);
    if (!grown) {
        list->out_of_memory = true;
        return;
    }
    list->keys = grown;
    list->keys[list->n++] = key;
}

/* Voxels around a place that must be there: one for the cell that holds it, and half a step of the ray's. */
static const double reach = 1.5;

/* The blocks of the voxels around a place, given in voxels. */
static void list_around(block_list *list, const double place[3])
{
    int32_t from[3], to[3], block[3];
    for (int c = 0; c < 3; c++) {
        double first = floor((place[c] - reach) / SPLAT_BLOCK_SIDE);
        double last = floor((place[c] + reach) / SPLAT_BLOCK_SIDE);
        if (!(first >= -SPLAT_BLOCK_LIMIT && last < SPLAT_BLOCK_LIMIT)) {
            list->out_of_range = true;
            return;
        }
        from[c] = (int32_t)first;
        to[c] = (int32_t)last;
    }
    for (block[2] = from[2]; block[2] <= to[2]; block[2]++)
        for (block[1] = from[1]; block[1] <= to[1]; block[1]++)
            for (block[0] = from[0]; block[0] <= to[0]; block[0]++) list_block(list, block);
}

/* Steps of a voxel along the ray, from the truncation before the surface to that behind it. */
static void list_pixel(const splat_voxel_grid *grid, const splat_tsdf_options *options, const splat_tsdf_frame *frame,
                       size_t pixel, block_list *list)
{
    const splat_camera *camera = &frame->camera;
    float depth = depth_at(options, frame, pixel);
    if (depth == 0.0f || isinf(depth)) return;
    size_t width = (size_t)camera->width;
    double ray[3], center[3];
    double x = ((double)(pixel % width) + 0.5 - (double)camera->cx) / (double)camera->fx;
    double y = ((double)(pixel / width) + 0.5 - (double)camera->cy) / (double)camera->fy;
    const float *r = camera->rotation;
    double length = sqrt(x * x + y * y + 1.0), distance = (double)depth * length;
    for (int c = 0; c < 3; c++) { /* rotation^T (x, y, 1), in voxels a unit of distance */
        ray[c] = ((double)r[c] * x + (double)r[3 + c] * y + (double)r[6 + c]) / (length * grid->voxel_size);
        center[c] = ((double)camera->center[c] - grid->origin[c]) / grid->voxel_size;
    }
    int n = (int)ceil(2.0 * options->truncation / grid->voxel_size);
    for (int i = 0; i <= n; i++) {
        double at = distance + options->truncation * (2.0 * i / n - 1.0);
        if (at <= 0.0) continue;
        const double place[3] = {center[0] + at * ray[0], center[1] + at * ray[1], center[2] + at * ray[2]};
        list_around(list, place);
    }
}

static splat_status touch_lists(splat_voxel_grid *grid, const block_list *lists, int n, splat_error *error)
{
    for (int i = 0; i < n; i++) {
        int32_t block[3];
        if (lists[i].out_of_memory)
            return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the blocks of voxels near a depth map");
        if (lists[i].out_of_range)
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "voxels of %g are too small for the distances of the depth "
                              "map; use larger ones or a largest depth", grid->voxel_size);
        for (size_t k = 0; k < lists[i].n; k++) {
            splat_block_coordinates(lists[i].keys[k], block);
            SPLAT_TRY(splat_voxel_grid_touch(grid, block, error));
        }
    }
    return SPLAT_OK;
}

splat_status splat_tsdf_plan(splat_voxel_grid *grid, const splat_tsdf_options *options, const splat_tsdf_frame *frame,
                             splat_error *error)
{
    SPLAT_TRY(check(grid, options, frame, error));
    int n = options->threads;
    block_list *lists = calloc((size_t)n, sizeof *lists);
    if (!lists) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to plan a depth map");
    size_t n_pixels = splat_camera_pixels(&frame->camera);
    for (int i = 0; i < n; i++) memset(lists[i].recent, 255, sizeof lists[i].recent); /* no block has this key */
#pragma omp parallel for schedule(static, 1) num_threads(n)
    for (int i = 0; i < n; i++)
        for (size_t p = n_pixels * (size_t)i / (size_t)n; p < n_pixels * ((size_t)i + 1) / (size_t)n; p++)
            list_pixel(grid, options, frame, p, &lists[i]);
    splat_status status = touch_lists(grid, lists, n, error);
    for (int i = 0; i < n; i++) free(lists[i].keys);
    free(lists);
    return status;
}

/* ---------------------------------------------------------------- fusing */

/* A frame as the voxels see it. */
typedef struct fusion {
    splat_voxel_grid *grid;
    const splat_tsdf_options *options;
    const splat_tsdf_frame *frame;
    double from_voxel[9], offset[3]; /* camera space of a place in voxels */
} fusion;

static void to_camera(const fusion *f, const double voxel[3], double out[3])
{
    for (int c = 0; c < 3; c++)
        out[c] = f->from_voxel[3 * c] * voxel[0] + f->from_voxel[3 * c + 1] * voxel[1] +
                 f->from_voxel[3 * c + 2] * voxel[2] + f->offset[c];
}

/* True if the pixels around a pixel without surface have none either. A voxel at the edge of a surface may fall into a
 * pixel whose centre looks past it, and clearing would eat the edge. */
static bool is_clear_around(const fusion *f, size_t pixel)
{
    size_t width = (size_t)f->frame->camera.width, height = (size_t)f->frame->camera.height;
    size_t x = pixel % width, y = pixel / width;
    for (size_t row = y ? y - 1 : 0; row <= y + 1 && row < height; row++)
        for (size_t column = x ? x - 1 : 0; column <= x + 1 && column < width; column++)
            if (!isinf(depth_at(f->options, f->frame, row * width + column))) return false;
    return true;
}

/* Depth between the four pixels around (u, v) when they are of one surface, or that of the nearest. 0: none. z is the
 * depth of the voxel that asks. */
static double depth_between(const fusion *f, double u, double v, double z, size_t nearest)
{
    size_t width = (size_t)f->frame->camera.width, height = (size_t)f->frame->camera.height;
    double depth = (double)depth_at(f->options, f->frame, nearest);
    if (isinf(depth)) return is_clear_around(f, nearest) ? depth : 0.0;
    /* The depth in between differs by at most the truncation: far from the surface it does not matter. */
    if (depth == 0.0 || fabs(depth - z) > 2.0 * f->options->truncation || u < 0.5 || v < 0.5) return depth;
    size_t x = (size_t)(u - 0.5), y = (size_t)(v - 0.5);
    if (x + 1 >= width || y + 1 >= height) return depth;
    double s = u - 0.5 - (double)x, t = v - 0.5 - (double)y, corners[4];
    for (size_t k = 0; k < 4; k++) {
        corners[k] = (double)depth_at(f->options, f->frame, (y + k / 2) * width + x + k % 2);
        if (corners[k] == 0.0 || fabs(corners[k] - depth) > f->options->truncation) return depth;
    }
    /* A plane's depth is not linear over the picture, but its inverse is. */
    double above = (1.0 - s) / corners[0] + s / corners[1], below = (1.0 - s) / corners[2] + s / corners[3];
    return 1.0 / ((1.0 - t) * above + t * below);
}

static void add_color(uint16_t *color, const uint8_t *rgb, double weight)
{
    double before = color[3] / 256.0, sum = before + weight;
    for (int c = 0; c < 3; c++)
        color[c] = (uint16_t)((color[c] * before + 256.0 * rgb[c] * weight) / sum + 0.5); /* at most 65280 */
    color[3] = sum >= 255.0 ? 65280 : (uint16_t)(256.0 * sum + 0.5);
}

static void fuse_voxel(const fusion *f, size_t sample, const double place[3])
{
    const splat_camera *camera = &f->frame->camera;
    if (!(place[2] > 0.0)) return;
    double x = place[0] / place[2], y = place[1] / place[2];
    double u = (double)camera->fx * x + (double)camera->cx, v = (double)camera->fy * y + (double)camera->cy;
    if (!(u >= 0.0 && v >= 0.0 && u < camera->width && v < camera->height)) return;
    size_t pixel = (size_t)v * (size_t)camera->width + (size_t)u;
    double depth = depth_between(f, u, v, place[2], pixel);
    if (depth == 0.0 || depth - place[2] <= -f->options->truncation) return;
    double distance = (depth - place[2]) * sqrt(x * x + y * y + 1.0), truncation = f->options->truncation;
    if (distance <= -truncation) return;
    double weight = f->frame->weights ? (double)f->frame->weights[pixel] : 1.0, voxel = f->grid->voxel_size;
    if (weight > 1.0) weight = 1.0;
    if (distance < -voxel) weight *= (distance + truncation) / (truncation - voxel);
    float *value = f->grid->values + sample, *sum = f->grid->weights + sample;
    double clamped = distance < truncation ? distance : truncation, before = (double)*sum;
    if (!(before + weight > 0.0)) return;
    *value = (float)(((double)*value * before + clamped * weight) / (before + weight));
    *sum = (float)(before + weight);
    if (f->frame->rgb && f->grid->colors && distance < truncation && weight > 1.0 / 512.0)
        add_color(f->grid->colors + 4 * sample, f->frame->rgb + 3 * pixel, weight);
}

/* True if a ball around the block's centre is behind the camera or outside of the picture. */
static bool is_out_of_view(const fusion *f, const double center[3])
{
    const splat_camera *camera = &f->frame->camera;
    double radius = 0.8660254037844386 * SPLAT_BLOCK_SIDE * f->grid->voxel_size;
    if (center[2] < -radius) return true;
    const double low[2] = {-(double)camera->cx / (double)camera->fx, -(double)camera->cy / (double)camera->fy};
    const double high[2] = {low[0] + camera->width / (double)camera->fx, low[1] + camera->height / (double)camera->fy};
    for (int c = 0; c < 2; c++) { /* signed distances to the planes x = low z and x = high z */
        if ((center[c] - low[c] * center[2]) / sqrt(1.0 + low[c] * low[c]) < -radius) return true;
        if ((high[c] * center[2] - center[c]) / sqrt(1.0 + high[c] * high[c]) < -radius) return true;
    }
    return false;
}

static void fuse_block(const fusion *f, size_t block)
{
    int32_t at[3];
    double corner[3], place[3];
    splat_block_coordinates(f->grid->keys[block], at);
    for (int c = 0; c < 3; c++) corner[c] = (double)at[c] * SPLAT_BLOCK_SIDE + 0.5 * (SPLAT_BLOCK_SIDE - 1);
    to_camera(f, corner, place);
    if (is_out_of_view(f, place)) return;
    for (size_t voxel = 0; voxel < SPLAT_BLOCK_VOXELS; voxel++) {
        const size_t local[3] = {voxel & 7, voxel >> 3 & 7, voxel >> 6};
        for (int c = 0; c < 3; c++) corner[c] = (double)at[c] * SPLAT_BLOCK_SIDE + (double)local[c];
        to_camera(f, corner, place);
        fuse_voxel(f, block * SPLAT_BLOCK_VOXELS + voxel, place);
    }
}

splat_status splat_tsdf_fuse(splat_voxel_grid *grid, const splat_tsdf_options *options, const splat_tsdf_frame *frame,
                             splat_error *error)
{
    SPLAT_TRY(check(grid, options, frame, error));
    if (!grid->values)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the grid must be allocated before depth maps are fused");
    fusion f = {.grid = grid, .options = options, .frame = frame};
    for (int i = 0; i < 3; i++) {
        double at_origin = (double)frame->camera.translation[i];
        for (int c = 0; c < 3; c++) {
            double r = (double)frame->camera.rotation[3 * i + c];
            f.from_voxel[3 * i + c] = r * grid->voxel_size;
            at_origin += r * grid->origin[c];
        }
        f.offset[i] = at_origin;
    }
#pragma omp parallel for schedule(dynamic, 16) num_threads(options->threads)
    for (size_t i = 0; i < grid->n_blocks; i++) fuse_block(&f, i);
    return SPLAT_OK;
}

splat_status splat_tsdf_mesh(const splat_voxel_grid *grid, float min_weight, int threads, splat_mesh *mesh,
                             splat_error *error)
{
    const splat_marching_cubes_options options = {0.0f, true, min_weight, threads};
    return splat_marching_cubes(grid, &options, mesh, error);
}
