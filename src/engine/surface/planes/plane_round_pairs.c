/* Surfaces through two places, and how many places lie on each. */
#include "surface/planes/plane_round_pairs.h"

#include "surface/planes/plane_parts.h"

#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

#define SAMPLE 1000u  /* places that judge a pair */
#define SMALLEST 0.01 /* radius, in depths */

/* A direction that cylinders may have, heavy ones more often. NULL: there is none. */
static const double *draw_axis(const plane_round_places *s, uint32_t random)
{
    double sum = 0, at = 0;
    for (uint32_t i = 0; i < s->n_axes; i++) sum += s->axes[i].weight;
    for (uint32_t i = 0; i < s->n_axes; i++) {
        at += s->axes[i].weight;
        if ((double)random * 0x1p-32 * sum < at) return s->axes[i].direction;
    }
    return NULL;
}

/* Two places that are free, of one view. */
static bool draw(const plane_round_places *s, uint32_t model, uint32_t number, plane_round *round)
{
    const splat_random4 r = splat_random(s->seed, SPLAT_STREAM_PLANES, 0x10000u + model, number);
    const uint32_t a = (uint32_t)((uint64_t)r.x[0] * s->n >> 32), v = s->places[a].view;
    const uint32_t b = s->first[v] + (uint32_t)((uint64_t)r.x[1] * (s->first[v + 1] - s->first[v]) >> 32);
    const plane_round_place *p = &s->places[a], *q = &s->places[b];
    float apart = 0;
    for (int k = 0; k < 3; k++) apart += (p->position[k] - q->position[k]) * (p->position[k] - q->position[k]);
    if (s->taker[a] || s->taker[b] || apart > 0.5f * p->depth * p->depth) return false;
    const plane_round_kind kind = (plane_round_kind)(number % PLANE_ROUND_KINDS);
    const double *axis = kind == PLANE_ROUND_UPRIGHT ? draw_axis(s, r.x[2]) : NULL;
    if ((kind == PLANE_ROUND_UPRIGHT && !axis) || !plane_round_of_two(p, q, kind, axis, round)) return false;
    const double depth = (double)p->depth;
    return round->radius > SMALLEST * depth && round->radius < PLANE_ROUND_LARGEST * depth &&
           plane_round_side(round, p) == plane_round_side(round, q);
}

/* Places of a sample that lie on the surface, on the side that more show. */
static uint32_t count(const plane_round_places *s, const plane_round *round)
{
    const uint32_t stride = s->n / SAMPLE + 1;
    uint32_t n[3] = {0};
    for (uint32_t i = 0; i < s->n; i += stride)
        if (!s->taker[i]) n[1 + plane_round_side(round, &s->places[i])]++;
    return n[0] > n[2] ? n[0] : n[2];
}

static int better_first(const void *a, const void *b)
{
    const plane_round_pair *x = a, *y = b;
    return x->score != y->score ? (x->score > y->score ? -1 : 1) : x->number < y->number ? -1 : x->number > y->number;
}

uint32_t plane_round_pairs_draw(const plane_round_places *s, uint32_t model, plane_round_pair *pairs)
{
    uint32_t n = 0;
#pragma omp parallel for schedule(dynamic, 64) num_threads(s->threads)
    for (uint32_t i = 0; i < PLANE_ROUND_DRAWS; i++) {
        pairs[i] = (plane_round_pair){.number = i};
        if (draw(s, model, i, &pairs[i].round)) pairs[i].score = count(s, &pairs[i].round);
    }
    qsort(pairs, PLANE_ROUND_DRAWS, sizeof *pairs, better_first);
    while (n < PLANE_ROUND_DRAWS && pairs[n].score) n++;
    return n;
}

bool plane_round_pair_is_known(const plane_round_pair *pairs, uint32_t number)
{
    for (uint32_t i = 0; i < number; i++)
        if (plane_round_is_like(&pairs[number].round, &pairs[i].round)) return true;
    return false;
}
