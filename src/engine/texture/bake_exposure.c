/* Levelling: a gain of every photo and channel (crops of one photo share it), in linear light, such that faces have
 * the same colour in the photos that see them. Least squares of logarithms over pairs of views, twice weighted by
 * Huber, solved by conjugate gradients. Of logarithms, because squares of differences like darker pictures; and
 * without offsets, because exposure is a factor, and an offset that bright faces ask for makes shadows black. */
#include "texture/bake_exposure.h"

#include "math/color.h"
#include "texture/bake_parts.h"
#include "texture/bake_view.h"

#include <math.h>
#include <stdlib.h>

#define MAX_FACES 20000  /* spread over the mesh */
#define VIEWS_A_FACE 6   /* the best: 15 pairs */
#define HOLD 0.1         /* towards gain 1, for each pair of a photo */
#define DELTA 0.1        /* of Huber, natural logarithm of linear light */
#define DARK 0.01f       /* linear light below which a face says little */
#define ROUNDS 2
#define STEPS 200
#define LEAST_GAIN 0.5f
#define LARGEST_GAIN 2.0f

/* Two photos of a face. */
typedef struct pair {
    uint32_t at[2]; /* among the candidates */
    uint16_t a, b;
} pair;

/* A pair in one channel. */
typedef struct ratio {
    float difference, certainty; /* ln ca - ln cb; 0 to 1, little where it is dark */
    float weight;
} ratio;

/* The least squares of a channel; x: [n_photos] ln gain. */
typedef struct channel {
    const pair *pairs;
    ratio *ratios;      /* [n_pairs] */
    size_t n_pairs, n_photos;
    const double *hold; /* [n_photos] */
    double *x, *work;   /* work: [3][n_photos] */
} channel;

/* y = A x of the normal equations; x and y are [n_photos]. */
static void multiply(const channel *s, const double *x, double *y)
{
    for (size_t v = 0; v < s->n_photos; v++) y[v] = s->hold[v] * x[v];
    for (size_t i = 0; i < s->n_pairs; i++) {
        const pair *p = &s->pairs[i];
        double r = (double)s->ratios[i].weight * (x[p->a] - x[p->b]);
        y[p->a] += r;
        y[p->b] -= r;
    }
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Conjugate gradients from x. */
static void solve(const channel *s)
{
    size_t n = s->n_photos;
    double *x = s->x, *r = s->work, *p = s->work + n, *ap = s->work + 2 * n;
    multiply(s, x, ap);
    for (size_t v = 0; v < n; v++) r[v] = -ap[v];
    for (size_t i = 0; i < s->n_pairs; i++) {
        const pair *q = &s->pairs[i];
        const double by = (double)s->ratios[i].weight * (double)s->ratios[i].difference;
        r[q->a] -= by;
        r[q->b] += by;
    }
    for (size_t v = 0; v < n; v++) p[v] = r[v];
    double rr = dot(r, r, n), first = rr;
    for (int step = 0; step < STEPS && rr > 1e-16 * (first + 1e-30) && rr > 0; step++) {
        multiply(s, p, ap);
        double alpha = rr / dot(p, ap, n);
        for (size_t i = 0; i < n; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * ap[i];
        }
        double next = dot(r, r, n);
        for (size_t i = 0; i < n; i++) p[i] = r[i] + next / rr * p[i];
        rr = next;
    }
}

/* The best candidates of a face that are no outliers. */
static int best_of(const splat_bake *bake, size_t face, uint32_t at[VIEWS_A_FACE])
{
    int n = 0;
    for (size_t k = 0; k < SPLAT_TEXTURE_CANDIDATES && n < VIEWS_A_FACE; k++) {
        const splat_bake_candidate *c = &bake->candidates[SPLAT_TEXTURE_CANDIDATES * face + k];
        if (c->view == SPLAT_TEXTURE_NO_VIEW) break;
        if (!c->is_outlier) at[n++] = (uint32_t)(SPLAT_TEXTURE_CANDIDATES * face + k);
    }
    return n;
}

typedef struct leveller {
    splat_bake *bake;
    pair *pairs;
    ratio *ratios;      /* [3][n_pairs], of each channel */
    double *hold;       /* [n_photos] */
    double *work;       /* [3][4][n_photos]: x and work of each channel */
    uint16_t *photo_of; /* [n_views] */
    size_t n_pairs, n_photos;
} leveller;

/* Pairs of photos of faces spread over the mesh. */
static splat_status collect(leveller *l, splat_error *error)
{
    const splat_bake *bake = l->bake;
    size_t n_faces = bake->mesh->n_faces, stride = n_faces / MAX_FACES + 1, n = bake->n_views;
    l->pairs = malloc((n_faces / stride + 1) * (VIEWS_A_FACE * (VIEWS_A_FACE - 1) / 2) * sizeof *l->pairs);
    l->hold = calloc(n, sizeof *l->hold);
    l->work = calloc(12 * n, sizeof *l->work);
    l->photo_of = malloc(n * sizeof *l->photo_of);
    if (!l->pairs || !l->hold || !l->work || !l->photo_of)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to level %zu photos", n);
    for (size_t v = 0; v < n; v++) {
        l->n_photos += v == 0 || !bake->views[v].shares_photo;
        l->photo_of[v] = (uint16_t)(l->n_photos - 1);
    }
    for (size_t f = 0; f < n_faces; f += stride) {
        uint32_t at[VIEWS_A_FACE];
        int count = best_of(bake, f, at);
        for (int i = 0; i < count; i++)
            for (int j = i + 1; j < count; j++) {
                uint16_t a = l->photo_of[bake->candidates[at[i]].view], b = l->photo_of[bake->candidates[at[j]].view];
                if (a == b) continue;
                pair *p = &l->pairs[l->n_pairs++];
                *p = (pair){.at = {at[i], at[j]}, .a = a, .b = b};
                l->hold[p->a] += HOLD;
                l->hold[p->b] += HOLD;
            }
    }
    for (size_t v = 0; v < l->n_photos; v++) l->hold[v] += HOLD; /* photos without a pair stay as they are */
    l->ratios = malloc((3 * l->n_pairs + 1) * sizeof *l->ratios);
    return l->ratios ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to level %zu photos", n);
}

static void level_channel(const leveller *l, size_t number)
{
    splat_bake *bake = l->bake;
    size_t n = l->n_photos;
    const channel s = {.pairs = l->pairs, .ratios = l->ratios + number * l->n_pairs, .n_pairs = l->n_pairs,
                       .n_photos = n, .hold = l->hold, .x = l->work + 4 * n * number,
                       .work = l->work + 4 * n * number + n};
    for (size_t i = 0; i < l->n_pairs; i++) {
        const pair *p = &l->pairs[i];
        float ca = (float)splat_srgb_decode(bake->candidates[p->at[0]].rgb[number] / 255.0);
        float cb = (float)splat_srgb_decode(bake->candidates[p->at[1]].rgb[number] / 255.0);
        float least = fminf(ca, cb), noise = 0.1f * DARK;
        s.ratios[i].difference = logf(ca + noise) - logf(cb + noise);
        s.ratios[i].certainty = least / (least + DARK);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < l->n_pairs; i++) {
            const pair *p = &l->pairs[i];
            double r = fabs(s.x[p->a] + (double)s.ratios[i].difference - s.x[p->b]);
            s.ratios[i].weight = s.ratios[i].certainty * (float)(r > DELTA ? DELTA / r : 1);
        }
        solve(&s);
    }
    double mean = 0; /* the pictures stay as bright as they are, all in all */
    for (size_t v = 0; v < n; v++) mean += s.x[v] / (double)n;
    for (size_t v = 0; v < bake->n_views; v++) {
        float gain = (float)exp(s.x[l->photo_of[v]] - mean);
        bake->views[v].gain[number] = fminf(fmaxf(gain, LEAST_GAIN), LARGEST_GAIN);
    }
}

splat_status splat_bake_level(splat_bake *bake, splat_error *error)
{
    leveller l = {.bake = bake};
    splat_status status = splat_bake_go_on(bake, "levelling", 0, error);
    if (status == SPLAT_OK) status = collect(&l, error);
    if (status == SPLAT_OK) {
#pragma omp parallel for schedule(static, 1) num_threads(bake->context->threads)
        for (size_t c = 0; c < 3; c++) level_channel(&l, c);
    }
    free(l.pairs);
    free(l.ratios);
    free(l.hold);
    free(l.work);
    free(l.photo_of);
    return status;
}
