/* How far the two sides of a seam differ: edges whose faces lie in different places of the texture. */
#include "texture/bake_seams.h"

#include "texture/bake_neighbors.h"
#include "texture/bake_parts.h"

#include <math.h>
#include <stdlib.h>

#define SAMPLES 8 /* of an edge */
enum { BLOCK = 1 << 16 }; /* faces whose sums are kept at a time */

/* The page's colour at (u, v), bilinear, in bytes. */
static void sample(const splat_image *page, const float uv[2], double rgb[3])
{
    double x = fmin(fmax((double)uv[0] * page->width - 0.5, 0), page->width - 1);
    double y = fmin(fmax((double)uv[1] * page->height - 0.5, 0), page->height - 1);
    size_t x0 = (size_t)x, y0 = (size_t)y, w = (size_t)page->width;
    size_t x1 = x0 + (x0 + 1 < w), y1 = y0 + (y0 + 1 < (size_t)page->height);
    double a = x - (double)x0, b = y - (double)y0;
    for (size_t c = 0; c < 3; c++)
        rgb[c] = (1 - b) * ((1 - a) * page->pixels[3 * (y0 * w + x0) + c] + a * page->pixels[3 * (y0 * w + x1) + c]) +
                 b * ((1 - a) * page->pixels[3 * (y1 * w + x0) + c] + a * page->pixels[3 * (y1 * w + x1) + c]);
}

/* The corner of a face that is this vertex; 3: none. */
static size_t corner_of(const splat_mesh *mesh, size_t face, uint32_t vertex)
{
    size_t k = 0;
    while (k < 3 && mesh->faces[3 * face + k] != vertex) k++;
    return k;
}

/* The sum of the differences along a side of a face; 0 where it is no seam. *n: samples. */
static double side_difference(const splat_mesh *mesh, const splat_image *pages, size_t face, size_t side, size_t other,
                              size_t *n)
{
    const float *own = mesh->uvs + 6 * face, *theirs = mesh->uvs + 6 * other;
    size_t a = side, b = (side + 1) % 3, page = mesh->face_pages ? mesh->face_pages[face] : 0;
    size_t there = mesh->face_pages ? mesh->face_pages[other] : 0;
    size_t c = corner_of(mesh, other, mesh->faces[3 * face + a]);
    size_t d = corner_of(mesh, other, mesh->faces[3 * face + b]);
    double sum = 0;
    *n = 0;
    if (c == 3 || d == 3) return 0;
    bool is_joined = page == there;
    for (int k = 0; k < 2; k++)
        is_joined = is_joined && own[2 * a + (size_t)k] == theirs[2 * c + (size_t)k] &&
                    own[2 * b + (size_t)k] == theirs[2 * d + (size_t)k];
    if (is_joined) return 0;
    for (int i = 0; i < SAMPLES; i++) {
        float t = ((float)i + 0.5f) / SAMPLES, p[2], q[2];
        double left[3], right[3];
        for (size_t k = 0; k < 2; k++) {
            p[k] = own[2 * a + k] + t * (own[2 * b + k] - own[2 * a + k]);
            q[k] = theirs[2 * c + k] + t * (theirs[2 * d + k] - theirs[2 * c + k]);
        }
        sample(&pages[page], p, left);
        sample(&pages[there], q, right);
        for (int k = 0; k < 3; k++) sum += fabs(left[k] - right[k]) / 3;
    }
    *n = SAMPLES;
    return sum;
}

/* Sums and numbers of samples at the sides of a face; 0 at those without a seam, or that its neighbour counts. */
static void face_differences(const splat_bake *bake, const splat_image *pages, const uint32_t *neighbors, size_t face,
                             double sums[3], uint8_t counts[3])
{
    for (size_t side = 0; side < 3; side++) {
        uint32_t other = neighbors[3 * face + side];
        size_t n = 0;
        sums[side] = 0;
        counts[side] = 0;
        if (other == SPLAT_BAKE_NO_FACE || other < face) continue;
        if (!(bake->densities[face] > 0) || !(bake->densities[other] > 0)) continue;
        sums[side] = side_difference(bake->mesh, pages, face, side, other, &n);
        counts[side] = (uint8_t)n;
    }
}

splat_status splat_bake_seams(const splat_bake *bake, const splat_image *pages, double *difference, splat_error *error)
{
    const splat_mesh *mesh = bake->mesh;
    const int threads = bake->context->threads;
    uint32_t *neighbors = splat_bake_neighbors(mesh, threads, error);
    double(*sums)[3] = malloc(BLOCK * sizeof *sums), sum = 0;
    uint8_t(*counts)[3] = malloc(BLOCK * sizeof *counts);
    size_t n_samples = 0;
    for (size_t first = 0; neighbors && sums && counts && first < mesh->n_faces; first += BLOCK) {
        size_t n = mesh->n_faces - first < BLOCK ? mesh->n_faces - first : BLOCK;
#pragma omp parallel for schedule(dynamic, 64) num_threads(threads)
        for (size_t i = 0; i < n; i++) face_differences(bake, pages, neighbors, first + i, sums[i], counts[i]);
        for (size_t i = 0; i < 3 * n; i++) { /* in the order of the sides, for any number of threads */
            sum += sums[i / 3][i % 3];
            n_samples += counts[i / 3][i % 3];
        }
    }
    bool good = neighbors && sums && counts;
    free(neighbors);
    free(sums);
    free(counts);
    if (!good) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a mesh of %zu faces", mesh->n_faces);
    *difference = n_samples ? sum / (double)n_samples : 0;
    return SPLAT_OK;
}
