/* Photo-consistency (Waechter et al. 2014, section 4.2): colours of a face in its views are taken for a normal
 * distribution; views far outside of it see something else. As a distribution of twelve and fewer with one stranger
 * among them holds even that for an inlier, the first one is that of the half around the median, made wider. */
#include "texture/bake_outliers.h"

#include "math/color.h"
#include "texture/bake_neighbors.h"
#include "texture/bake_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 10
#define LEAST_VARIANCE 5e-4   /* of a channel: what agreeing views differ by */
#define LEAST_DENSITY 6e-3    /* exp(-m^2 / 2) of an inlier */
#define LEAST_INLIERS 4       /* fewer say nothing */
#define WIDENED 4             /* the covariance of the half, to that of all */

typedef struct normal_fit {
    double mean[3], covariance[6]; /* xx xy xz yy yz zz */
} normal_fit;

static void to_ycbcr(const uint8_t rgb[3], double out[3])
{
    double r = rgb[0] / 255.0, g = rgb[1] / 255.0, b = rgb[2] / 255.0;
    out[0] = (double)splat_luma(rgb);
    out[1] = 0.5 - 0.168736 * r - 0.331264 * g + 0.5 * b;
    out[2] = 0.5 + 0.5 * r - 0.418688 * g - 0.081312 * b;
}

static normal_fit fit(double (*x)[3], int n, const bool *is_outlier)
{
    normal_fit f = {{0}, {0}};
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (is_outlier[i]) continue;
        for (int k = 0; k < 3; k++) f.mean[k] += x[i][k];
        count++;
    }
    for (int k = 0; k < 3; k++) f.mean[k] /= count;
    f.covariance[0] = f.covariance[3] = f.covariance[5] = LEAST_VARIANCE;
    for (int i = 0; i < n; i++) {
        if (is_outlier[i]) continue;
        for (int j = 0, at = 0; j < 3; j++)
            for (int k = j; k < 3; k++, at++)
                f.covariance[at] += (x[i][j] - f.mean[j]) * (x[i][k] - f.mean[k]) / (count - 1);
    }
    return f;
}

/* The inverse of a symmetric matrix that is positive definite. */
static void invert(const double c[6], double inverse[6])
{
    double a = c[3] * c[5] - c[4] * c[4], b = c[2] * c[4] - c[1] * c[5], d = c[1] * c[4] - c[2] * c[3];
    double determinant = c[0] * a + c[1] * b + c[2] * d;
    inverse[0] = a / determinant;
    inverse[1] = b / determinant;
    inverse[2] = d / determinant;
    inverse[3] = (c[0] * c[5] - c[2] * c[2]) / determinant;
    inverse[4] = (c[1] * c[2] - c[0] * c[4]) / determinant;
    inverse[5] = (c[0] * c[3] - c[1] * c[1]) / determinant;
}

static double density(const normal_fit *f, const double inverse[6], const double x[3])
{
    double d[3];
    for (int k = 0; k < 3; k++) d[k] = x[k] - f->mean[k];
    return exp(-0.5 * (inverse[0] * d[0] * d[0] + inverse[3] * d[1] * d[1] + inverse[5] * d[2] * d[2] +
                       2 * (inverse[1] * d[0] * d[1] + inverse[2] * d[0] * d[2] + inverse[4] * d[1] * d[2])));
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Leaves the half of the colours that is nearest to their median, and what is as near. */
static void keep_half(double (*x)[3], int n, bool *is_outlier)
{
    double middle[3], distance[SPLAT_TEXTURE_CANDIDATES], sorted[SPLAT_TEXTURE_CANDIDATES];
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < n; i++) sorted[i] = x[i][k];
        qsort(sorted, (size_t)n, sizeof *sorted, compare_doubles);
        middle[k] = 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
    }
    for (int i = 0; i < n; i++) {
        distance[i] = 0;
        for (int k = 0; k < 3; k++) distance[i] += (x[i][k] - middle[k]) * (x[i][k] - middle[k]);
        sorted[i] = distance[i];
    }
    qsort(sorted, (size_t)n, sizeof *sorted, compare_doubles);
    for (int i = 0; i < n; i++) is_outlier[i] = distance[i] > sorted[n / 2];
}

void splat_bake_find_outliers(const uint8_t (*rgb)[3], int n, bool *is_outlier)
{
    double x[SPLAT_TEXTURE_CANDIDATES][3], inverse[6];
    for (int i = 0; i < n; i++) {
        to_ycbcr(rgb[i], x[i]);
        is_outlier[i] = false;
    }
    if (n < LEAST_INLIERS) return;
    keep_half(x, n, is_outlier);
    for (int round = 0; round < ROUNDS; round++) {
        normal_fit f = fit(x, n, is_outlier);
        bool changed = false;
        int n_inliers = 0;
        for (int k = 0; k < 6 && round == 0; k++) f.covariance[k] *= WIDENED;
        invert(f.covariance, inverse);
        for (int i = 0; i < n; i++) {
            bool out = density(&f, inverse, x[i]) < LEAST_DENSITY;
            changed |= out != is_outlier[i];
            is_outlier[i] = out;
            n_inliers += !out;
        }
        if (n_inliers < LEAST_INLIERS) memset(is_outlier, 0, (size_t)n * sizeof *is_outlier);
        if (n_inliers < LEAST_INLIERS || !changed) return;
    }
}

/* The candidate's view is an outlier of the face across one of the sides. */
static bool is_outlier_beside(const splat_bake *bake, const uint32_t *neighbors, size_t face, uint16_t view)
{
    for (size_t side = 0; side < 3; side++) {
        uint32_t other = neighbors[3 * face + side];
        if (other == SPLAT_BAKE_NO_FACE) continue;
        const splat_bake_candidate *list = bake->candidates + (size_t)SPLAT_TEXTURE_CANDIDATES * other;
        for (int k = 0; k < SPLAT_TEXTURE_CANDIDATES && list[k].view != SPLAT_TEXTURE_NO_VIEW; k++)
            if (list[k].view == view && list[k].is_outlier) return true;
    }
    return false;
}

void splat_bake_reject(splat_bake *bake)
{
#pragma omp parallel for schedule(static) num_threads(bake->context->threads)
    for (size_t f = 0; f < bake->mesh->n_faces; f++) {
        splat_bake_candidate *list = bake->candidates + SPLAT_TEXTURE_CANDIDATES * f;
        uint8_t rgb[SPLAT_TEXTURE_CANDIDATES][3];
        bool is_outlier[SPLAT_TEXTURE_CANDIDATES];
        int n = 0;
        for (; n < SPLAT_TEXTURE_CANDIDATES && list[n].view != SPLAT_TEXTURE_NO_VIEW; n++)
            memcpy(rgb[n], list[n].rgb, 3);
        splat_bake_find_outliers((const uint8_t(*)[3])rgb, n, is_outlier);
        for (int k = 0; k < n; k++) list[k].is_outlier = is_outlier[k];
    }
}

splat_status splat_bake_make_lists(splat_bake *bake, splat_error *error)
{
    uint32_t *neighbors = splat_bake_neighbors(bake->mesh, bake->context->threads, error);
    if (!neighbors) return SPLAT_ERROR_MEMORY;
#pragma omp parallel for schedule(static) num_threads(bake->context->threads)
    for (size_t f = 0; f < bake->mesh->n_faces; f++) {
        const splat_bake_candidate *from = bake->candidates + SPLAT_TEXTURE_CANDIDATES * f;
        uint16_t *list = bake->lists + SPLAT_TEXTURE_CANDIDATES * f;
        int n = 0;
        for (int lenient = 0; lenient < 2 && n == 0; lenient++) /* if nothing is left, its own inliers */
            for (int k = 0; k < SPLAT_TEXTURE_CANDIDATES && from[k].view != SPLAT_TEXTURE_NO_VIEW; k++)
                if (!from[k].is_outlier && (lenient || !is_outlier_beside(bake, neighbors, f, from[k].view)))
                    list[n++] = from[k].view;
        while (n < SPLAT_TEXTURE_CANDIDATES) list[n++] = SPLAT_TEXTURE_NO_VIEW;
    }
    free(neighbors);
    return SPLAT_OK;
}
