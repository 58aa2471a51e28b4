/* Each sample of a pixel is a pass over the whole picture by a camera that is moved by a part of a pixel. */
#include "mesh/mesh_draw.h"

#include "base/options.h"
#include "math/camera.h"
#include "math/vec3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAR 0.01f /* scene units, as the published renderers have it */
#define MAX_SUPERSAMPLING 8
#define MAX_TAPS 16 /* of an anisotropic sample */

void splat_mesh_draw_options_init_sized(splat_mesh_draw_options *options, size_t size)
{
    const splat_mesh_draw_options defaults = {.filter = SPLAT_MESH_FILTER_TRILINEAR, .supersampling = 2};
    splat_options_give(options, size, &defaults, sizeof defaults);
}

/* ---------------------------------------------------------------- faces */

void splat_mesh_face_normal(const splat_mesh *mesh, size_t face, double normal[3])
{
    splat_mesh_face_cross(mesh, face, normal);
    double length = sqrt(splat_dot3(normal, normal));
    for (int k = 0; k < 3; k++) normal[k] = length > 0 ? normal[k] / length : 0;
}

/* The ray of a place in the picture, in the camera's axes. */
static void ray_of(const splat_camera *c, double x, double y, double ray[3])
{
    ray[0] = (x - (double)c->cx) / (double)c->fx;
    ray[1] = (y - (double)c->cy) / (double)c->fy;
    ray[2] = 1;
}

double splat_mesh_shade(const splat_camera *camera, double column, double row, const double normal[3])
{
    double ray[3], cosine = 0;
    ray_of(camera, column + 0.5, row + 0.5, ray);
    for (int k = 0; k < 3; k++) {
        const float *axis = camera->rotation + 3 * k;
        cosine += ray[k] * ((double)axis[0] * normal[0] + (double)axis[1] * normal[1] + (double)axis[2] * normal[2]);
    }
    return fmin(30 + 200 * fabs(cosine) / sqrt(splat_dot3(ray, ray)), 230);
}

/* ---------------------------------------------------------------- texture */

/* The result of one sample. */
typedef struct sample {
    const splat_camera *camera; /* moved */
    size_t face;
    double x, y;       /* in its picture */
    double weights[3]; /* of the face's vertices */
} sample;

/* How far one goes on the page, in texels, from the sample to the next one: steps[0] to the right, steps[1] down. With
 * the corners p0, p1, p2 in the camera's axes, n0 = p1 x p2 and so on, the ray d meets the face's plane where the
 * weights are d.n_k / d.(n0 + n1 + n2); so u = d.U / d.N with U = sum u_k n_k and N = sum n_k, and so are its
 * derivatives. */
static void page_steps(const splat_mesh_painter *painter, const sample *s, const splat_mip_level *page,
                       const double place[2], double steps[2][2])
{
    const splat_mesh *mesh = painter->mesh;
    const splat_camera *c = s->camera;
    double p[3][3], n[3], sums[3][3] = {{0}}, ray[3]; /* sums: U, V, N */
    for (size_t k = 0; k < 3; k++) {
        const float *at = mesh->vertices + 3 * (size_t)mesh->faces[3 * s->face + k];
        for (size_t j = 0; j < 3; j++)
            p[k][j] = (double)c->rotation[3 * j] * (double)at[0] + (double)c->rotation[3 * j + 1] * (double)at[1] +
                      (double)c->rotation[3 * j + 2] * (double)at[2] + (double)c->translation[j];
    }
    for (size_t k = 0; k < 3; k++) {
        const float *uv = mesh->uvs + 2 * (3 * s->face + k);
        splat_cross3(p[(k + 1) % 3], p[(k + 2) % 3], n);
        for (int j = 0; j < 3; j++) {
            sums[0][j] += (double)uv[0] * n[j];
            sums[1][j] += (double)uv[1] * n[j];
            sums[2][j] += n[j];
        }
    }
    ray_of(c, s->x, s->y, ray);
    const double pixels[2] = {(double)c->fx * painter->options.supersampling,
                              (double)c->fy * painter->options.supersampling}; /* samples to a unit of the ray */
    const int sides[2] = {page->width, page->height};
    double depth = splat_dot3(ray, sums[2]);
    for (int axis = 0; axis < 2; axis++)
        for (int k = 0; k < 2; k++)
            steps[axis][k] = sides[k] * (sums[k][axis] - place[k] * sums[2][axis]) / (depth * pixels[axis]);
}

/* Not a number where a face is seen exactly from its side: the last level. */
static double level_of(double texels)
{
    return texels <= 1 ? 0 : isfinite(texels) ? log2(texels) : SPLAT_MESH_MAX_LEVELS;
}

static void sample_anisotropic(const splat_mip_page *page, splat_texture_place *place, double steps[2][2],
                               const double lengths[2], float rgb[3])
{
    int longer = lengths[1] > lengths[0];
    double longest = lengths[longer], shortest = fmax(lengths[1 - longer], 1);
    int n = !(longest > shortest) ? 1 : !(longest < MAX_TAPS * shortest) ? MAX_TAPS : (int)ceil(longest / shortest);
    double from[2] = {place->u, place->v};
    float sum[3] = {0};
    place->level = level_of(longest / n);
    for (int i = 0; i < n; i++) {
        double part = (i + 0.5) / n - 0.5, along[2] = {0};
        if (isfinite(longest)) {
            along[0] = part * steps[longer][0] / page->levels[0].width;
            along[1] = part * steps[longer][1] / page->levels[0].height;
        }
        place->u = from[0] + along[0];
        place->v = from[1] + along[1];
        splat_mip_page_sample(page, place, rgb);
        for (int c = 0; c < 3; c++) sum[c] += rgb[c];
    }
    for (int c = 0; c < 3; c++) rgb[c] = sum[c] / (float)n;
}

static void texture_color(const splat_mesh_painter *painter, const sample *s, float rgb[3])
{
    const splat_mesh *mesh = painter->mesh;
    const splat_mip_page *page = &painter->mips.pages[mesh->face_pages ? mesh->face_pages[s->face] : 0];
    const float *uv = mesh->uvs + 6 * s->face;
    splat_texture_place place = {0};
    for (int k = 0; k < 3; k++) {
        place.u += s->weights[k] * (double)uv[2 * k];
        place.v += s->weights[k] * (double)uv[2 * k + 1];
    }
    for (int k = 0; k < 6; k++) place.repeats = place.repeats || uv[k] < 0 || uv[k] > 1;
    if (painter->options.filter == SPLAT_MESH_FILTER_NEAREST) {
        splat_mip_page_texel(page, &place, rgb);
        return;
    }
    double steps[2][2], lengths[2];
    const double at[2] = {place.u, place.v};
    page_steps(painter, s, &page->levels[0], at, steps);
    for (int k = 0; k < 2; k++) lengths[k] = hypot(steps[k][0], steps[k][1]);
    if (painter->options.filter == SPLAT_MESH_FILTER_ANISOTROPIC) {
        sample_anisotropic(page, &place, steps, lengths, rgb);
        return;
    }
    place.level = fmax(level_of(lengths[0]), level_of(lengths[1]));
    splat_mip_page_sample(page, &place, rgb);
}

/* ---------------------------------------------------------------- samples */

static void vertex_color(const splat_mesh *mesh, const sample *s, float rgb[3])
{
    double sum[3] = {0};
    for (size_t k = 0; k < 3; k++) {
        const uint8_t *color = mesh->colors + 4 * (size_t)mesh->faces[3 * s->face + k];
        for (int c = 0; c < 3; c++) sum[c] += s->weights[k] * color[c];
    }
    for (int c = 0; c < 3; c++) rgb[c] = (float)fmin(fmax(sum[c], 0), 255);
}

/* 0 to 255. */
static void sample_color(const splat_mesh_painter *painter, const sample *s, float rgb[3])
{
    const splat_mesh *mesh = painter->mesh;
    if (painter->mips.n_pages) texture_color(painter, s, rgb);
    if (painter->mips.n_pages && mesh->colors) {
        float tint[3];
        vertex_color(mesh, s, tint);
        for (int c = 0; c < 3; c++) rgb[c] *= tint[c] / 255;
    } else if (mesh->colors) {
        vertex_color(mesh, s, rgb);
    } else if (!painter->mips.n_pages) {
        double normal[3];
        splat_mesh_face_normal(mesh, s->face, normal);
        rgb[0] = rgb[1] = rgb[2] = (float)splat_mesh_shade(s->camera, s->x - 0.5, s->y - 0.5, normal);
    }
}

/* The colour behind the mesh at the middle of a pixel. */
static void background_color(const splat_mesh_painter *painter, const splat_camera *camera, size_t column, size_t row,
                             const float background[3], float rgb[3])
{
    float d[3];
    memcpy(rgb, background, 3 * sizeof *rgb);
    if (!painter->dome.colors) return;
    splat_dome_direction(camera, &painter->dome, (float)column, (float)row, d);
    const splat_dome_place place = splat_dome_place_of(d);
    splat_dome_color(painter->dome.colors, &place, rgb);
    for (int c = 0; c < 3; c++) rgb[c] = splat_clamp(rgb[c], 0.0f, 1.0f);
}

/* Adds a sample of every pixel to the sums. */
static void add_pass(const splat_mesh_painter *painter, const splat_camera *moved, const float background[3],
                     float *image, float *coverage)
{
    size_t width = (size_t)moved->width, n = splat_camera_pixels(moved);
    const splat_mesh_raster_maps *maps = &painter->maps;
#pragma omp parallel for schedule(static) num_threads(painter->raster.threads)
    for (size_t i = 0; i < n; i++) {
        float rgb[3];
        if (!maps->faces[i]) {
            background_color(painter, moved, i % width, i / width, background, rgb);
            for (size_t c = 0; c < 3; c++) image[c * n + i] += 255 * rgb[c];
            continue;
        }
        double b0 = (double)maps->weights[i][0], b1 = (double)maps->weights[i][1];
        const sample s = {moved, maps->faces[i] - 1, (double)(i % width) + 0.5, (double)(i / width) + 0.5,
                          {b0, b1, fmax(1 - b0 - b1, 0)}};
        sample_color(painter, &s, rgb);
        for (size_t c = 0; c < 3; c++) image[c * n + i] += rgb[c];
        if (coverage) coverage[i] += 1;
    }
}

splat_status splat_mesh_painter_draw(const splat_mesh_painter *painter, const splat_camera *camera,
                                     const float background[3], float *image, float *coverage, splat_error *error)
{
    size_t n = splat_camera_pixels(camera);
    int side = painter->options.supersampling;
    if (n > painter->n_pixels)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a picture of %zu pixels is larger than the %zu planned for", n,
                          painter->n_pixels);
    memset(image, 0, 3 * n * sizeof *image);
    if (coverage) memset(coverage, 0, n * sizeof *coverage);
    for (int j = 0; j < side; j++)
        for (int i = 0; i < side; i++) {
            splat_camera moved = *camera;
            moved.cx -= (float)((i + 0.5) / side - 0.5);
            moved.cy -= (float)((j + 0.5) / side - 0.5);
            SPLAT_TRY(splat_mesh_rasterize(painter->mesh, &moved, &painter->raster, &painter->maps, error));
            add_pass(painter, &moved, background, image, coverage);
        }
    for (size_t i = 0; i < 3 * n; i++) image[i] = fminf(image[i] / (float)(255 * side * side), 1);
    for (size_t i = 0; i < n && coverage; i++) coverage[i] /= (float)(side * side);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the painter */

splat_status splat_mesh_draw_options_check(const splat_mesh_draw_options *options, splat_error *error)
{
    if (options->supersampling < 1 || options->supersampling > MAX_SUPERSAMPLING)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`supersampling` is 1 to %d samples a side of a pixel, not %d",
                          MAX_SUPERSAMPLING, options->supersampling);
    if (options->filter > SPLAT_MESH_FILTER_ANISOTROPIC)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "unknown `texture_filter`: %d", (int)options->filter);
    return SPLAT_OK;
}

splat_status splat_mesh_painter_open(splat_mesh_painter *painter, const splat_mesh *mesh,
                                     const splat_mesh_draw_options *options, size_t n_pixels, int threads,
                                     splat_error *error)
{
    *painter = (splat_mesh_painter){.mesh = mesh, .options = *options, .n_pixels = n_pixels};
    SPLAT_TRY(splat_mesh_draw_options_check(options, error));
    splat_mesh_raster_options_init(&painter->raster);
    painter->raster.near = NEAR;
    painter->raster.threads = threads;
    splat_mesh_raster_maps *maps = &painter->maps;
    maps->faces = malloc(n_pixels * sizeof *maps->faces);
    maps->depth = malloc(n_pixels * sizeof *maps->depth);
    maps->weights = malloc(n_pixels * sizeof *maps->weights);
    if (!maps->faces || !maps->depth || !maps->weights)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a picture of %zu pixels", n_pixels);
    if (!mesh->uvs) return SPLAT_OK;
    return splat_mesh_mips_make(mesh, threads, &painter->mips, error);
}

void splat_mesh_painter_close(splat_mesh_painter *painter)
{
    free(painter->maps.faces);
    free(painter->maps.depth);
    free(painter->maps.weights);
    splat_mesh_mips_free(&painter->mips);
}
