/* One round surface after another, then the balls between cylinders. */
#include "surface/planes/plane_rounds.h"

#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_round_pairs.h"
#include "surface/planes/plane_round_shape.h"
#include "surface/planes/plane_round_touch.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

#define FAILURES 6         /* surfaces that do not hold, one after another, and the search ends */
#define TRIES 4            /* pairs of each kind whose surfaces are fitted, */
#define MOST_TRIES 200u    /* of so many of the best */
#define MOST_FITTERS (TRIES * PLANE_ROUND_KINDS)
#define MOST_ASKED 3       /* of these that are compared with the photos */
#define TAKEN 0.03         /* of the depth: places so near to a surface that does not hold */
#define CLAIMED 0.25f      /* of the inverse depth: places so near to one that does */
#define SAME_RADIUS 0.05   /* of the radius */

/* Places of a surface that does not hold are not looked at again: those nearest to it, and all when it comes again. */
static void leave_out(const plane_round_fitter *f, const plane_round *last)
{
    const bool again = plane_round_is_like(&f->round, last);
    for (uint32_t i = 0; i < f->n; i++) {
        const plane_round_place *p = &f->s->places[f->inliers[i]];
        if (again || fabs(plane_round_distance(&f->round, p->position)) < TAKEN * (double)p->depth)
            f->s->taker[f->inliers[i]] = PLANE_ROUND_LEFT;
    }
}

/* The places of a new surface, and those near to it, which may be poor places of it, make no other. */
static void accept(const plane_round_fitter *f, const plane_round *round)
{
    plane_rounds *rounds = f->s->rounds;
    if (rounds->n == PLANE_MAX_ROUNDS) return;
    rounds->all[rounds->n++] = *round;
    for (uint32_t i = 0; i < f->s->n; i++) {
        const plane_round_place *p = &f->s->places[i];
        const splat_camera *c = &f->s->shade->maps->views[p->view].camera;
        plane_slant slant;
        bool is_far;
        if (plane_round_nearest(c, round, p->x, p->y, 1 / p->depth, CLAIMED, &is_far, &slant))
            f->s->taker[i] = (uint8_t)rounds->n;
    }
}

/* A ball ends two cylinders of one radius whose axes meet, as a dome does between a vault and an apse: rims in one
 * plane would not tell it. */
static bool meet_in_ball(const plane_round *a, const plane_round *b, plane_round *ball)
{
    double d[3], da = 0, db = 0, ab = 0, apart = 0;
    if (plane_round_is_ball(a) || plane_round_is_ball(b)) return false;
    for (int k = 0; k < 3; k++) {
        d[k] = b->center[k] - a->center[k];
        ab += a->axis[k] * b->axis[k];
        da += d[k] * a->axis[k];
        db += d[k] * b->axis[k];
    }
    if (fabs(ab) > PLANE_ROUND_PARALLEL || fabs(a->radius - b->radius) > SAME_RADIUS * a->radius) return false;
    const double s = (da - ab * db) / (1 - ab * ab), t = (ab * da - db) / (1 - ab * ab);
    *ball = (plane_round){.radius = 0.5 * (a->radius + b->radius), .is_fixed = true};
    for (int k = 0; k < 3; k++) {
        const double p = a->center[k] + s * a->axis[k], q = b->center[k] + t * b->axis[k];
        ball->center[k] = 0.5 * (p + q);
        apart += (p - q) * (p - q);
    }
    return sqrt(apart) < SAME_RADIUS * a->radius;
}

static plane_round_kind kind_of(const plane_round *round)
{
    return plane_round_is_ball(round) ? PLANE_ROUND_BALL : round->is_fixed ? PLANE_ROUND_UPRIGHT : PLANE_ROUND_CYLINDER;
}

/* A fitted surface, and the number of rims on it. */
typedef struct candidate {
    plane_round round;
    double worth;
} candidate;

/* The best pairs of every kind, which differ. Returns how many. */
static int choose_pairs(const plane_round_pair *pairs, uint32_t n, uint32_t *chosen)
{
    int n_tried[PLANE_ROUND_KINDS] = {0}, n_chosen = 0;
    for (uint32_t i = 0; i < n && i < MOST_TRIES; i++) {
        const plane_round_kind kind = kind_of(&pairs[i].round);
        if (n_tried[kind] == TRIES || plane_round_pair_is_known(pairs, i)) continue;
        n_tried[kind]++;
        chosen[n_chosen++] = i;
    }
    return n_chosen;
}

/* Fits the surface of one pair. Returns the number of its rims; 0: it is not worth a look. */
static double fit(plane_round_fitter *f, const plane_round *pair)
{
    f->round = *pair;
    if (!(plane_round_shape(f) > 0)) return 0;
    plane_round_straighten(f);
    const double worth = plane_round_is_loose(f) ? 0 : plane_round_worth(f);
    return worth > 0 && plane_round_is_likely(f) ? worth : 0;
}

/* Fits surfaces of the best pairs, every one with a fitter of its own. Returns how many are worth a look and differ. */
static int fit_best(plane_round_fitter *fitters, const plane_round_pair *pairs, uint32_t n, candidate *found)
{
    uint32_t chosen[MOST_FITTERS];
    double worth[MOST_FITTERS];
    const int n_chosen = choose_pairs(pairs, n, chosen);
    int n_found = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(fitters->s->threads)
    for (int i = 0; i < n_chosen; i++) worth[i] = fit(&fitters[i], &pairs[chosen[i]].round);
    for (int i = 0; i < n_chosen; i++) {
        int same = 0;
        while (same < n_found && !plane_round_is_like(&fitters[i].round, &found[same].round)) same++;
        if (!(worth[i] > (same < n_found ? found[same].worth : 0))) continue;
        found[same] = (candidate){fitters[i].round, worth[i]};
        n_found += same == n_found;
    }
    return n_found;
}

/* A surface that the photos support, those with more rims first. False: none; f->round is the first of them. */
static bool find_one(plane_round_fitter *fitters, const plane_round_pair *pairs, uint32_t n)
{
    candidate found[MOST_FITTERS];
    plane_round first = {.radius = 0};
    plane_round_fitter *f = fitters;
    const int n_found = fit_best(fitters, pairs, n, found);
    for (int k = 0; k < n_found && k < MOST_ASKED; k++) {
        int best = 0;
        for (int i = 1; i < n_found; i++) best = found[i].worth > found[best].worth ? i : best;
        f->round = found[best].round;
        if (plane_round_is_supported(f)) return true;
        if (k == 0) first = f->round;
        found[best].worth = 0;
    }
    f->round = first;
    return false;
}

static void find_all(plane_round_fitter *f, plane_round_pair *pairs)
{
    plane_round last = {.radius = 0};
    int n_failed = 0;
    for (uint32_t model = 0; f->s->n && n_failed < FAILURES && f->s->rounds->n < PLANE_MAX_ROUNDS; model++) {
        const uint32_t n = plane_round_pairs_draw(f->s, model, pairs);
        if (!n) return;
        if (find_one(f, pairs, n)) {
            accept(f, &f->round);
            n_failed = 0;
            continue;
        }
        n_failed++;
        leave_out(f, &last);
        last = f->round;
    }
}

/* A cylinder between walls, and the judgement of the photos. */
typedef struct answer {
    plane_round round;
    uint32_t n; /* places on it */
    bool is_taken, is_supported, is_sharp, is_settled;
} answer;

/* Asks the photos of each cylinder that is not taken yet. */
static void ask_all(plane_round_fitter *fitters, const plane_round *found, int n, answer *answers)
{
    const int threads = fitters->s->threads < MOST_FITTERS ? fitters->s->threads : MOST_FITTERS;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int i = 0; i < n; i++) {
        plane_round_fitter *f = &fitters[omp_get_thread_num()];
        f->round = found[i];
        answers[i].is_supported = !answers[i].is_taken && plane_round_is_supported(f);
        answers[i].round = f->round;
        answers[i].n = f->n;
        answers[i].is_sharp = f->is_sharp;
        answers[i].is_settled = f->is_settled;
    }
}

/* The supported cylinder with most places of those whose radius the shading tells, or -1. */
static int largest_of(const answer *answers, int n)
{
    int largest = -1;
    for (int i = 0; i < n; i++)
        if (answers[i].is_supported && answers[i].is_sharp && (largest < 0 || answers[i].n > answers[largest].n))
            largest = i;
    return largest;
}

/* The supported cylinder of most votes, of those first that exact rims tell; or -1. */
static int first_of(const answer *answers, int n)
{
    int first = -1;
    for (int i = 0; i < n; i++) {
        if (answers[i].is_supported && answers[i].is_settled) return i;
        if (answers[i].is_supported && first < 0) first = i;
    }
    return first;
}

/* Cylinders between walls that face each other: the largest, as a vault, then the others. Places that one takes speak
 * against the others no more, so these are asked once more. False: memory is exhausted. */
static bool find_touching(plane_round_fitter *fitters)
{
    plane_round found[PLANE_ROUND_TOUCHING];
    answer answers[PLANE_ROUND_TOUCHING];
    const int n = plane_rounds_between_walls(fitters->s, found);
    for (int i = 0; i < n; i++) answers[i].is_taken = false;
    ask_all(fitters, found, n, answers);
    int best = largest_of(answers, n);
    if (best < 0) best = first_of(answers, n);
    while (best >= 0) {
        accept(fitters, &answers[best].round);
        answers[best].is_taken = true;
        ask_all(fitters, found, n, answers);
        best = first_of(answers, n);
    }
    return n >= 0;
}

/* The balls between cylinders. */
static void find_ends(plane_round_fitter *f)
{
    const plane_rounds *rounds = f->s->rounds;
    const size_t n = rounds->n;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (meet_in_ball(&rounds->all[i], &rounds->all[k], &f->round) && plane_round_is_supported(f))
                accept(f, &f->round);
}

splat_status plane_rounds_find(const plane_shade *shade, const plane_global *planes, const bool *are_kept,
                               size_t n_planes, float noise, uint64_t seed, int threads, plane_rounds *rounds,
                               splat_error *error)
{
    plane_round_places s = {.shade = shade, .planes = planes, .are_kept = are_kept, .n_planes = n_planes,
                            .rounds = rounds, .noise = noise, .seed = seed, .threads = threads};
    plane_round_fitter fitters[MOST_FITTERS] = {0};
    rounds->n = 0;
    plane_round_pair *pairs = malloc(PLANE_ROUND_DRAWS * sizeof *pairs);
    bool ok = plane_round_places_take(&s) && pairs;
    for (int i = 0; i < MOST_FITTERS; i++) ok = ok && plane_round_fitter_make(&fitters[i], &s);
    ok = ok && find_touching(fitters);
    if (ok) {
        find_all(fitters, pairs);
        find_ends(fitters);
    }
    free(pairs);
    for (int i = 0; i < MOST_FITTERS; i++) plane_round_fitter_free(&fitters[i]);
    plane_round_places_free(&s);
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for round surfaces of %zu views",
                                      shade->maps->n);
}
