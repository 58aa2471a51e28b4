/* Least squares of known places and second derivatives, both with Huber's weights, by conjugate gradients. */
#include "surface/planes/plane_smooth.h"

#include "surface/planes/plane_parts.h"

#include "math/camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CELLS 16          /* along a segment, about */
#define MOST_STEP 4       /* pixels of the small photo */
#define LENGTH 0.125      /* of the segment: over which a bend counts */
#define BEND 0.2        /* of the inverse depth: the bend over that length that counts as much as one sigma */
#define ROUNDS 4          /* of weights */
#define STEPS 80          /* of conjugate gradients in a round */
#define ENOUGH 1e-8       /* of the first residual, squared */
#define LEAST_KNOWN 6

typedef struct solver {
    const plane_smooth *s;
    const plane_known *known;
    size_t n_known, n; /* nodes */
    uint32_t *first;   /* [n_known] the upper left of four nodes; UINT32_MAX: outside */
    float *part;       /* [n_known][2] between them */
    double *data, *xx, *yy, *xy;                    /* weights */
    double *b, *r, *p, *a, *diagonal, *x, scale;    /* x: q / scale */
    double bend;
} solver;

splat_status plane_smooth_make(const splat_camera *camera, const plane_view *view, uint32_t segment, const int box[4],
                               plane_smooth *s, splat_error *error)
{
    int longer = box[2] - box[0] > box[3] - box[1] ? box[2] - box[0] : box[3] - box[1];
    int side = view->shade_side, step = longer / CELLS;
    step = step < side ? side : step > MOST_STEP * side ? MOST_STEP * side : step;
    *s = (plane_smooth){.left = box[0], .top = box[1], .step = step,
                        .width = (uint32_t)((box[2] - box[0]) / step + 2),
                        .height = (uint32_t)((box[3] - box[1]) / step + 2)};
    s->q = calloc((size_t)s->width * s->height, sizeof *s->q);
    if (!s->q) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a surface of %u x %u", s->width, s->height);
    for (int y = box[1]; y <= box[3]; y++)
        for (int x = box[0]; x <= box[2]; x++) {
            size_t i = (size_t)((x - s->left) / step), j = (size_t)((y - s->top) / step);
            if ((view->labels[(size_t)y * (size_t)camera->width + (size_t)x] & PLANE_LABEL_SEGMENT) != segment + 1)
                continue;
            float *q = s->q + j * s->width + i;
            q[0] = q[1] = q[s->width] = q[s->width + 1] = -1;
        }
    return SPLAT_OK;
}

void plane_smooth_free(plane_smooth *s)
{
    free(s->q);
    memset(s, 0, sizeof *s);
}

/* The nodes around a place; false where one of the four is not of the segment. */
static bool locate(const plane_smooth *s, float x, float y, uint32_t *first, float part[2])
{
    float u = (x - 0.5f - (float)s->left) / (float)s->step, v = (y - 0.5f - (float)s->top) / (float)s->step;
    if (!(u >= 0 && v >= 0 && u < (float)(s->width - 1) && v < (float)(s->height - 1))) return false;
    uint32_t i = (uint32_t)u, j = (uint32_t)v;
    *first = j * s->width + i;
    part[0] = u - (float)i;
    part[1] = v - (float)j;
    const float *q = s->q + *first;
    return q[0] != 0 && q[1] != 0 && q[s->width] != 0 && q[s->width + 1] != 0;
}

bool plane_smooth_at(const plane_smooth *s, float x, float y, plane_slant *slant)
{
    uint32_t first;
    float part[2];
    if (!locate(s, x, y, &first, part)) return false;
    const float *q = s->q + first;
    float u = part[0], v = part[1], a = q[0], b = q[1], c = q[s->width], d = q[s->width + 1];
    slant->q = (a * (1 - u) + b * u) * (1 - v) + (c * (1 - u) + d * u) * v;
    slant->right = ((b - a) * (1 - v) + (d - c) * v) / (float)s->step;
    slant->down = ((c - a) * (1 - u) + (d - b) * u) / (float)s->step;
    return slant->q > 0;
}

/* ---------------------------------------------------------------- start */

/* The affine function of the known places, as x of the nodes. */
static bool start_affine(solver *o)
{
    double m[3][4] = {{0}};
    for (size_t k = 0; k < o->n_known; k++) {
        if (o->first[k] == UINT32_MAX) continue;
        const plane_known *known = &o->known[k];
        double row[3] = {1, (double)(o->first[k] % o->s->width) + (double)o->part[2 * k],
                         (double)(o->first[k] / o->s->width) + (double)o->part[2 * k + 1]};
        double q = (double)known->q / o->scale, w = 1 / ((double)known->sigma * (double)known->sigma);
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) m[i][j] += w * row[i] * row[j];
            m[i][3] += w * row[i] * q;
        }
    }
    for (int i = 0; i < 3; i++) m[i][i] *= 1 + 1e-9;
    for (int i = 0; i < 3; i++) {
        if (!(m[i][i] > 0)) return false;
        for (int j = i + 1; j < 3; j++) {
            double f = m[j][i] / m[i][i];
            for (int k = i; k < 4; k++) m[j][k] -= f * m[i][k];
        }
    }
    double a[3];
    for (int i = 2; i >= 0; i--) {
        a[i] = m[i][3];
        for (int k = i + 1; k < 3; k++) a[i] -= m[i][k] * a[k];
        a[i] /= m[i][i];
    }
    for (size_t i = 0; i < o->n; i++)
        o->x[i] = fmax(a[0] + a[1] * (double)(i % o->s->width) + a[2] * (double)(i / o->s->width), 0.05);
    return true;
}

/* ---------------------------------------------------------------- weights */

static double huber(double t)
{
    t = fabs(t);
    return t > 1 ? 1 / t : 1;
}

static double value_at(const solver *o, const double *x, size_t k)
{
    const double *q = x + o->first[k];
    double u = (double)o->part[2 * k], v = (double)o->part[2 * k + 1];
    return (q[0] * (1 - u) + q[1] * u) * (1 - v) + (q[o->s->width] * (1 - u) + q[o->s->width + 1] * u) * v;
}

/* Weights of the second derivatives, by how many sigmas they bend, where all nodes are of the segment. */
static void weigh_bends(solver *o)
{
    const size_t w = o->s->width, h = o->s->height;
    const float *q = o->s->q;
    const double *x = o->x;
    for (size_t i = 0; i < o->n; i++) {
        size_t u = i % w, v = i / w;
        o->xx[i] = o->yy[i] = o->xy[i] = 0;
        if (q[i] == 0) continue;
        if (u > 0 && u + 1 < w && q[i - 1] != 0 && q[i + 1] != 0)
            o->xx[i] = o->bend * huber(sqrt(o->bend) * (x[i - 1] - 2 * x[i] + x[i + 1]) / x[i]) / (x[i] * x[i]);
        if (v > 0 && v + 1 < h && q[i - w] != 0 && q[i + w] != 0)
            o->yy[i] = o->bend * huber(sqrt(o->bend) * (x[i - w] - 2 * x[i] + x[i + w]) / x[i]) / (x[i] * x[i]);
        if (u + 1 < w && v + 1 < h && q[i + 1] != 0 && q[i + w] != 0 && q[i + w + 1] != 0)
            o->xy[i] = 2 * o->bend * huber(sqrt(2 * o->bend) * (x[i] - x[i + 1] - x[i + w] + x[i + w + 1]) / x[i]) /
                       (x[i] * x[i]);
    }
}

static void weigh_known(solver *o)
{
    for (size_t k = 0; k < o->n_known; k++) {
        if (o->first[k] == UINT32_MAX) continue;
        double q = (double)o->known[k].q / o->scale, sigma = (double)o->known[k].sigma * q;
        o->data[k] = huber((value_at(o, o->x, k) - q) / (2 * sigma)) / (sigma * sigma);
    }
}

/* ---------------------------------------------------------------- conjugate gradients */

static void apply(const solver *o, const double *x, double *out)
{
    const size_t w = o->s->width;
    for (size_t i = 0; i < o->n; i++) out[i] = 0;
    for (size_t k = 0; k < o->n_known; k++) {
        if (o->first[k] == UINT32_MAX) continue;
        double u = (double)o->part[2 * k], v = (double)o->part[2 * k + 1], t = o->data[k] * value_at(o, x, k);
        double *q = out + o->first[k];
        q[0] += t * (1 - u) * (1 - v);
        q[1] += t * u * (1 - v);
        q[w] += t * (1 - u) * v;
        q[w + 1] += t * u * v;
    }
    for (size_t i = 0; i < o->n; i++) {
        if (o->xx[i] > 0) {
            double t = o->xx[i] * (x[i - 1] - 2 * x[i] + x[i + 1]);
            out[i - 1] += t;
            out[i] -= 2 * t;
            out[i + 1] += t;
        }
        if (o->yy[i] > 0) {
            double t = o->yy[i] * (x[i - w] - 2 * x[i] + x[i + w]);
            out[i - w] += t;
            out[i] -= 2 * t;
            out[i + w] += t;
        }
        if (o->xy[i] > 0) {
            double t = o->xy[i] * (x[i] - x[i + 1] - x[i + w] + x[i + w + 1]);
            out[i] += t;
            out[i + 1] -= t;
            out[i + w] -= t;
            out[i + w + 1] += t;
        }
    }
}

/* The right side, and the diagonal of the matrix. */
static void gather(solver *o)
{
    const size_t w = o->s->width;
    for (size_t i = 0; i < o->n; i++) o->b[i] = o->diagonal[i] = 0;
    for (size_t k = 0; k < o->n_known; k++) {
        if (o->first[k] == UINT32_MAX) continue;
        double u = (double)o->part[2 * k], v = (double)o->part[2 * k + 1];
        const double part[4] = {(1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v};
        const size_t at[4] = {o->first[k], o->first[k] + 1, o->first[k] + w, o->first[k] + w + 1};
        for (int c = 0; c < 4; c++) {
            o->b[at[c]] += o->data[k] * part[c] * (double)o->known[k].q / o->scale;
            o->diagonal[at[c]] += o->data[k] * part[c] * part[c];
        }
    }
    for (size_t i = 0; i < o->n; i++) {
        if (o->xx[i] > 0) {
            o->diagonal[i - 1] += o->xx[i];
            o->diagonal[i] += 4 * o->xx[i];
            o->diagonal[i + 1] += o->xx[i];
        }
        if (o->yy[i] > 0) {
            o->diagonal[i - w] += o->yy[i];
            o->diagonal[i] += 4 * o->yy[i];
            o->diagonal[i + w] += o->yy[i];
        }
        if (o->xy[i] > 0) {
            o->diagonal[i] += o->xy[i];
            o->diagonal[i + 1] += o->xy[i];
            o->diagonal[i + w] += o->xy[i];
            o->diagonal[i + w + 1] += o->xy[i];
        }
    }
}

static void descend(solver *o)
{
    double rz = 0, first;
    apply(o, o->x, o->a);
    for (size_t i = 0; i < o->n; i++) {
        o->r[i] = o->b[i] - o->a[i];
        o->p[i] = o->diagonal[i] > 0 ? o->r[i] / o->diagonal[i] : 0;
        rz += o->r[i] * o->p[i];
    }
    first = rz;
    for (int step = 0; step < STEPS && rz > ENOUGH * first && rz > 1e-12; step++) {
        double pa = 0, next = 0;
        apply(o, o->p, o->a);
        for (size_t i = 0; i < o->n; i++) pa += o->p[i] * o->a[i];
        if (!(pa > 0)) return;
        double alpha = rz / pa;
        for (size_t i = 0; i < o->n; i++) {
            o->x[i] += alpha * o->p[i];
            o->r[i] -= alpha * o->a[i];
            if (o->diagonal[i] > 0) next += o->r[i] * o->r[i] / o->diagonal[i];
        }
        double beta = next / rz;
        for (size_t i = 0; i < o->n; i++)
            o->p[i] = (o->diagonal[i] > 0 ? o->r[i] / o->diagonal[i] : 0) + beta * o->p[i];
        rz = next;
    }
}

/* ---------------------------------------------------------------- */

static bool fit(solver *o, plane_smooth *s)
{
    double sum = 0, weight = 0;
    bool is_new = true;
    size_t n_in = 0;
    for (size_t k = 0; k < o->n_known; k++) {
        if (!locate(s, o->known[k].x, o->known[k].y, &o->first[k], o->part + 2 * k)) o->first[k] = UINT32_MAX;
        if (o->first[k] == UINT32_MAX) continue;
        sum += (double)o->known[k].q;
        weight += 1;
        n_in++;
    }
    if (n_in < LEAST_KNOWN) return false;
    o->scale = sum / weight;
    double length = LENGTH * (double)(s->width > s->height ? s->width : s->height);
    o->bend = length * length * length * length / (BEND * BEND);
    for (size_t i = 0; i < o->n; i++) is_new &= !(s->q[i] > 0);
    if (is_new && !start_affine(o)) return false;
    for (size_t i = 0; i < o->n && !is_new; i++) o->x[i] = s->q[i] > 0 ? (double)s->q[i] / o->scale : 1;
    for (int round = 0; round < ROUNDS; round++) {
        weigh_known(o);
        weigh_bends(o);
        gather(o);
        descend(o);
        for (size_t i = 0; i < o->n; i++) o->x[i] = fmin(fmax(o->x[i], 0.05), 20);
    }
    for (size_t i = 0; i < o->n; i++)
        if (s->q[i] != 0) s->q[i] = (float)(o->x[i] * o->scale);
    return true;
}

splat_status plane_smooth_fit(plane_smooth *s, const plane_known *known, size_t n, bool *is_fitted, splat_error *error)
{
    size_t n_nodes = (size_t)s->width * s->height;
    solver o = {.s = s, .known = known, .n_known = n, .n = n_nodes};
    double *memory = calloc(9 * n_nodes + n + 1, sizeof *memory);
    o.first = malloc((n + 1) * sizeof *o.first);
    o.part = malloc(2 * (n + 1) * sizeof *o.part);
    *is_fitted = false;
    if (memory && o.first && o.part) {
        double **arrays[9] = {&o.xx, &o.yy, &o.xy, &o.b, &o.r, &o.p, &o.a, &o.diagonal, &o.x};
        for (size_t i = 0; i < 9; i++) *arrays[i] = memory + i * n_nodes;
        o.data = memory + 9 * n_nodes;
        *is_fitted = fit(&o, s);
    }
    bool is_short = !memory || !o.first || !o.part;
    free(memory);
    free(o.first);
    free(o.part);
    return is_short ? splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a surface of %zu nodes", n_nodes) : SPLAT_OK;
}
