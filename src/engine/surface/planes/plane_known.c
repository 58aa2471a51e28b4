/* Costs of surfaces at the cells of a segment and of steps between them, and the choice of least cost by sequential
 * tree-reweighted messages (Kolmogorov, IEEE Transactions on Pattern Analysis and Machine Intelligence 28, 2006). */
#include "surface/planes/plane_known.h"

#include "surface/planes/plane_choose.h"
#include "surface/planes/plane_parts.h"
#include "surface/planes/plane_round_places.h"
#include "surface/planes/plane_votes.h"

#include "math/camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LABELS (1 + PLANE_KNOWN) /* of a segment at most; the first is what cells have */
#define FAR_OFF 0.2f     /* of the depth: no cell moves farther, unless others see what it moves to */
#define LEAST_PART 0.02f /* of a segment's cells: so many are near to a surface that is considered */
#define OWN 1.0f         /* cost of what a cell has, which is no surface of the scene */
#define OUTSIDE 0.7f     /* cost of a place outside of the box of a surface */
#define UNIT 0.1f        /* of the residual, and */
#define NOISES 0.15f     /* noises more: what costs 1 */
#define MOST_COST 6.0f
#define MOST_GAIN 2.0f
#define RIM 16.0f        /* cost of a rim that lies elsewhere */
#define RIM_OFF 0.02f    /* of the depth: elsewhere */
#define STEP 8.0f        /* cost of a step between two cells */
#define STEP_OFF 0.01f   /* of the depth: a step */
#define NOT 1e6f         /* cost of what is impossible */
#define ROUNDS 10        /* of messages */
#define AGAINST 20.0f    /* cost of a place that no other view looks at, or of looking through one that all look at */
#define THROUGH 1.05f    /* times the depth: a cell looks through what is so much nearer */
#define DOUBTED 0.5f     /* of what other views say: a cell with more may lie anywhere along its ray */
#define TRUSTED 0.9f     /* of the same: no cell takes a surface where they say more */
#define ANYWHERE 100.0f  /* of the depth */

/* A plane, or a sheet of a round surface. */
typedef struct label {
    size_t number;
    bool is_round, is_far;
} label;

/* A segment of a view. */
typedef struct chooser {
    const plane_shade *shade;
    const plane_global *planes;
    const plane_rounds *rounds;
    const plane_seen *seen; /* NULL: nothing is known of other views */
    plane_surface *surface;
    size_t n_planes;
    uint32_t number, segment, columns, rows, n; /* n: cells */
    float noise;
    label labels[LABELS];
    uint32_t n_labels;
    plane_site *sites;   /* [n] n_views 0: no pixel of the segment */
    plane_slant *slants; /* [LABELS][n] q 0: not there */
    float *residuals;    /* [LABELS][n] NAN: not asked */
    float *costs;        /* [LABELS][n] */
    float *against;      /* [n] plane_seen_against of what a cell has */
    float *messages;     /* [5][n][LABELS] from the left, right, upper and lower neighbour; last: work */
} chooser;

/* The middle of a cell, or a pixel of the segment in it. False: there is none. */
static bool pixel_of(const chooser *o, uint32_t cell, plane_site *site)
{
    const plane_smooth *s = &o->surface->smooth;
    const splat_camera *c = &o->shade->maps->views[o->number].camera;
    const plane_view *view = &o->shade->views[o->number];
    const int left = s->left + (int)(cell % o->columns) * s->step, top = s->top + (int)(cell / o->columns) * s->step;
    const int half = s->step / 2;
    for (int k = 0; k < s->step * s->step; k++) {
        const int i = left + (half + k % s->step) % s->step, j = top + (half + k / s->step) % s->step;
        if (i < 0 || j < 0 || i >= c->width || j >= c->height) continue;
        if ((view->labels[(size_t)j * (size_t)c->width + (size_t)i] & PLANE_LABEL_SEGMENT) != o->segment + 1) continue;
        *site = (plane_site){.view = o->number, .x = (float)i + 0.5f, .y = (float)j + 0.5f, .n_views = 1};
        return true;
    }
    return false;
}

/* The place of a cell in the world. */
static void place_of(const chooser *o, uint32_t cell, const plane_slant *slant, float position[3])
{
    const plane_site *site = &o->sites[cell];
    splat_camera_unproject(&o->shade->maps->views[o->number].camera, site->x, site->y, 1 / slant->q, position);
}

/* Asks how much the other views speak against a place of a cell; 0 without them. */
static float against(const chooser *o, uint32_t cell, const plane_slant *slant)
{
    float position[3];
    if (!o->seen) return 0;
    place_of(o, cell, slant, position);
    return plane_seen_against(o->seen, o->number, position);
}

static uint16_t choice_of(const label *l)
{
    return (uint16_t)(l->is_round ? PLANE_CHOICE_ROUND + 2 * l->number + l->is_far : PLANE_CHOICE_PLANE + l->number);
}

/* Gives a label the residuals that the last call found for the same surface, or NAN. */
static void recall(chooser *o, uint32_t l)
{
    const plane_surface *s = o->surface;
    float *residuals = o->residuals + (size_t)l * o->n;
    uint32_t k = 0; /* row of the surface in s->residuals */
    while (l && k <= s->n_known && (!k || s->known[k - 1] != choice_of(&o->labels[l]))) k++;
    if (s->residuals && k <= s->n_known) {
        memcpy(residuals, s->residuals + (size_t)k * o->n, o->n * sizeof *residuals);
        return;
    }
    for (uint32_t i = 0; i < o->n; i++) residuals[i] = NAN;
}

/* Asks the photos about a label at a cell, unless an earlier call did. */
static void ask(chooser *o, uint32_t l, uint32_t cell)
{
    const size_t at = (size_t)l * o->n + cell;
    plane_site site = o->sites[cell];
    if (!isnan(o->residuals[at])) return;
    plane_shade_look(o->shade, &o->slants[at], &site);
    o->residuals[at] = fminf(plane_shade_residual(o->shade, &site, &o->slants[at]), 5);
}

/* The slant of what a cell has. False: it has nothing. */
static bool slant_of(const chooser *o, const plane_site *site, plane_slant *slant)
{
    const splat_camera *c = &o->shade->maps->views[o->number].camera;
    const size_t pixel = (size_t)site->y * (size_t)c->width + (size_t)site->x;
    const int plane = plane_shown(o->shade, o->number, pixel, slant);
    return plane < 0 ? slant->q > 0 : plane_shade_slant(c, &o->planes[plane].fit, site->x, site->y, slant);
}

/* Asks photos and views about what the cells have. */
static void ask_own(chooser *o)
{
    recall(o, 0);
    for (uint32_t i = 0; i < o->n; i++) {
        o->slants[i].q = 0;
        o->sites[i].n_views = 0;
        if (!pixel_of(o, i, &o->sites[i])) continue;
        if (!slant_of(o, &o->sites[i], &o->slants[i])) {
            o->slants[i].q = 0;
            continue;
        }
        ask(o, 0, i);
        o->against[i] = against(o, i, &o->slants[i]);
    }
}

/* Finds the place where the ray of a cell meets a known surface, near to what the cell has, or anywhere if other views
 * doubt that. */
static bool meet(const chooser *o, const label *l, uint32_t cell, plane_slant *slant)
{
    const splat_camera *c = &o->shade->maps->views[o->number].camera;
    const plane_site *site = &o->sites[cell];
    const float q = o->slants[cell].q;
    const float most = o->against[cell] > DOUBTED ? ANYWHERE : FAR_OFF;
    if (!(q > 0)) return false;
    const bool is_met = l->is_round
                            ? plane_round_slant(c, &o->rounds->all[l->number], site->x, site->y, l->is_far, slant)
                            : plane_shade_slant(c, &o->planes[l->number].fit, site->x, site->y, slant);
    return is_met && fabsf(slant->q - q) < most * q;
}

static bool is_outside(const chooser *o, const label *l, uint32_t cell, const plane_slant *slant)
{
    float position[3];
    place_of(o, cell, slant, position);
    if (l->is_round) return !plane_round_has(&o->rounds->all[l->number], position);
    return plane_cell(&o->planes[l->number], position) == SIZE_MAX;
}

/* The surfaces that most cells are near to. */
static void find_labels(chooser *o)
{
    uint32_t counts[LABELS] = {0}, n_all = 0;
    o->n_labels = 1;
    for (uint32_t i = 0; i < o->n; i++) n_all += o->slants[i].q > 0;
    for (size_t k = 0; k < o->n_planes + 2 * o->rounds->n; k++) {
        const size_t sheet = k < o->n_planes ? 0 : k - o->n_planes;
        const label own = {k < o->n_planes ? k : sheet / 2, k >= o->n_planes, sheet % 2};
        uint32_t n = 0, at;
        for (uint32_t i = 0; i < o->n; i++) {
            plane_slant slant;
            n += meet(o, &own, i, &slant) && !is_outside(o, &own, i, &slant);
        }
        if (!n || (float)n < LEAST_PART * (float)n_all) continue;
        for (at = o->n_labels; at > 1 && counts[at - 1] < n; at--)
            if (at < LABELS) {
                counts[at] = counts[at - 1];
                o->labels[at] = o->labels[at - 1];
            }
        if (at >= LABELS) continue;
        counts[at] = n;
        o->labels[at] = own;
        o->n_labels += o->n_labels < LABELS;
    }
}

static void ask_labels(chooser *o)
{
    for (uint32_t l = 1; l < o->n_labels; l++) {
        recall(o, l);
        for (uint32_t i = 0; i < o->n; i++) {
            const size_t at = (size_t)l * o->n + i;
            if (meet(o, &o->labels[l], i, &o->slants[at]))
                ask(o, l, i);
            else
                o->slants[at].q = 0;
        }
    }
}

static bool is_possible(const chooser *o, uint32_t cell, uint32_t l)
{
    return o->slants[(size_t)l * o->n + cell].q > 0;
}

/* Means over a cell and its neighbours that have both. */
static void compare(const chooser *o, uint32_t l, uint32_t cell, float *own, float *now)
{
    const uint32_t x = cell % o->columns, y = cell / o->columns;
    int n = 0;
    *own = *now = 0;
    for (uint32_t j = y ? y - 1 : 0; j <= y + 1 && j < o->rows; j++)
        for (uint32_t i = x ? x - 1 : 0; i <= x + 1 && i < o->columns; i++) {
            const size_t k = (size_t)j * o->columns + i, at = (size_t)l * o->n + k;
            if (!(o->slants[at].q > 0)) continue;
            *own += o->residuals[at];
            *now += o->residuals[k];
            n++;
        }
    *own /= (float)n;
    *now /= (float)n;
}

/* How much other views see of the places that a cell looks through with a label. */
static float seen_before(const chooser *o, const float *others, uint32_t l, uint32_t cell)
{
    const float q = o->slants[(size_t)l * o->n + cell].q;
    float most = 0;
    for (uint32_t k = 0; o->seen && k < o->n_labels; k++) {
        const float nearer = o->slants[(size_t)k * o->n + cell].q;
        if (nearer > THROUGH * q) most = fmaxf(most, 1 - others[k]);
    }
    return most;
}

/* Asks the other views about all labels; no cell takes what they speak against. Their answers become the costs. */
static void ask_others(chooser *o)
{
    for (uint32_t l = 0; l < o->n_labels; l++)
        for (uint32_t i = 0; i < o->n; i++) {
            const size_t at = (size_t)l * o->n + i;
            if (!(o->slants[at].q > 0)) continue;
            o->costs[at] = l ? against(o, i, &o->slants[at]) : o->against[i];
            if (l && o->costs[at] > TRUSTED) o->slants[at].q = 0; /* not there */
        }
}

/* The cost of a label by the photos, compared with what the cell has. */
static float photo_cost(const chooser *o, uint32_t l, uint32_t cell)
{
    float own, now;
    if (!l) return OWN;
    compare(o, l, cell, &own, &now);
    return fminf(fmaxf((own - now) / (UNIT * now + NOISES * o->noise), -MOST_GAIN), MOST_COST) +
           (is_outside(o, &o->labels[l], cell, &o->slants[(size_t)l * o->n + cell]) ? OUTSIDE : 0);
}

static void find_costs(chooser *o)
{
    ask_others(o);
    for (uint32_t i = 0; i < o->n; i++) {
        float others[LABELS] = {0};
        for (uint32_t l = 0; l < o->n_labels; l++)
            if (is_possible(o, i, l)) others[l] = o->costs[(size_t)l * o->n + i];
        for (uint32_t l = 0; l < o->n_labels; l++) {
            const size_t at = (size_t)l * o->n + i;
            o->costs[at] = is_possible(o, i, l)
                               ? photo_cost(o, l, i) + AGAINST * (others[l] + seen_before(o, others, l, i))
                               : NOT;
        }
    }
}

/* Inverse depth of a label at a place of the picture, by the slant of a cell. */
static float depth_at(const chooser *o, uint32_t l, uint32_t cell, float x, float y)
{
    const plane_slant *s = &o->slants[(size_t)l * o->n + cell];
    return s->q + (x - o->sites[cell].x) * s->right + (y - o->sites[cell].y) * s->down;
}

/* Surfaces that rims do not lie on cost more where these are. */
static void add_rims(chooser *o)
{
    const plane_view *view = &o->shade->views[o->number];
    const plane_segment *segment = &view->segments[o->segment];
    const plane_smooth *s = &o->surface->smooth;
    const uint32_t width = (uint32_t)o->shade->maps->views[o->number].camera.width;
    float *sums = o->messages; /* [n][LABELS] */
    uint32_t *counts = (uint32_t *)(o->messages + (size_t)o->n * LABELS);
    memset(sums, 0, (size_t)o->n * LABELS * sizeof *sums);
    memset(counts, 0, o->n * sizeof *counts);
    for (uint32_t k = 0; k < segment->n_seeds; k++) {
        const plane_seed *seed = &view->seeds[segment->first_seed + k];
        const int x = (int)(seed->pixel % width), y = (int)(seed->pixel / width);
        if (x < s->left || y < s->top) continue;
        const uint32_t column = (uint32_t)((x - s->left) / s->step), row = (uint32_t)((y - s->top) / s->step);
        if (column >= o->columns || row >= o->rows) continue;
        const uint32_t i = row * o->columns + column;
        if (!(o->slants[i].q > 0)) continue;
        counts[i]++;
        for (uint32_t l = 1; l < o->n_labels; l++) {
            const float q = depth_at(o, l, i, (float)x + 0.5f, (float)y + 0.5f);
            sums[(size_t)i * LABELS + l] += fminf(fabsf(q * seed->depth - 1) / RIM_OFF, 1);
        }
    }
    for (uint32_t i = 0; i < o->n; i++)
        for (uint32_t l = 1; l < o->n_labels && counts[i]; l++)
            if (o->costs[(size_t)l * o->n + i] < NOT)
                o->costs[(size_t)l * o->n + i] += RIM * sums[(size_t)i * LABELS + l] / (float)counts[i];
}

static uint32_t neighbour(const chooser *o, uint32_t cell, int side)
{
    const uint32_t x = cell % o->columns, y = cell / o->columns;
    switch (side) {
    case 0: return x > 0 ? cell - 1 : UINT32_MAX;
    case 1: return x + 1 < o->columns ? cell + 1 : UINT32_MAX;
    case 2: return y > 0 ? cell - o->columns : UINT32_MAX;
    default: return y + 1 < o->rows ? cell + o->columns : UINT32_MAX;
    }
}

/* True if a neighbour is of the segment. At sides 0 and 2 it has a smaller number than the cell, else a larger one. */
static bool has(const chooser *o, uint32_t cell, int side)
{
    const uint32_t other = neighbour(o, cell, side);
    return other != UINT32_MAX && o->slants[other].q > 0;
}

/* The cost of a step between two cells. */
static float step(const chooser *o, uint32_t a, uint32_t la, uint32_t b, uint32_t lb)
{
    if (la == lb && la > 0) return 0;
    const float x = 0.5f * (o->sites[a].x + o->sites[b].x), y = 0.5f * (o->sites[a].y + o->sites[b].y);
    const float p = depth_at(o, la, a, x, y), q = depth_at(o, lb, b, x, y);
    return STEP * fminf(fabsf(p - q) / (STEP_OFF * fmaxf(fmaxf(p, q), 1e-12f)), 1);
}

static float *message_to(const chooser *o, uint32_t cell, int from_side)
{
    return o->messages + ((size_t)from_side * o->n + cell) * LABELS;
}

/* A cell tells its neighbours at the sides `first` and `first` + 2 what it knows of their labels. */
static void send(chooser *o, uint32_t cell, int first)
{
    float sums[LABELS];
    int n[2] = {0};
    for (int side = 0; side < 4; side++) n[side % 2] += has(o, cell, side);
    const float part = 1 / (float)(n[0] > n[1] ? n[0] : n[1] > 0 ? n[1] : 1);
    for (uint32_t k = 0; k < o->n_labels; k++) {
        sums[k] = o->costs[(size_t)k * o->n + cell];
        for (int side = 0; side < 4; side++) sums[k] += message_to(o, cell, side)[k];
    }
    for (int side = first; side < 4; side += 2) {
        if (!has(o, cell, side)) continue;
        const uint32_t to = neighbour(o, cell, side);
        float *message = message_to(o, to, side ^ 1), least = INFINITY;
        const float *back = message_to(o, cell, side);
        for (uint32_t l = 0; l < o->n_labels; l++) {
            message[l] = NOT;
            for (uint32_t k = 0; k < o->n_labels && is_possible(o, to, l); k++)
                if (is_possible(o, cell, k))
                    message[l] = fminf(message[l], part * sums[k] - back[k] + step(o, cell, k, to, l));
            least = fminf(least, message[l]);
        }
        for (uint32_t l = 0; l < o->n_labels; l++) message[l] -= least;
    }
}

/* Sequential tree-reweighted messages: each round goes through all cells, and back. */
static void pass_messages(chooser *o)
{
    memset(o->messages, 0, (size_t)4 * o->n * LABELS * sizeof *o->messages);
    for (int round = 0; round < 2 * ROUNDS; round++)
        for (uint32_t i = 0; i < o->n; i++) {
            const uint32_t cell = round % 2 ? o->n - 1 - i : i;
            if (o->slants[cell].q > 0) send(o, cell, round % 2 ? 0 : 1);
        }
}

/* The label of least cost of each cell, after those of the cells before it. chosen: [n] */
static void decide(const chooser *o, uint8_t *chosen)
{
    for (uint32_t i = 0; i < o->n; i++) {
        float least = INFINITY;
        chosen[i] = 0;
        for (uint32_t l = 0; l < o->n_labels && o->slants[i].q > 0; l++) {
            if (!is_possible(o, i, l)) continue;
            float sum = o->costs[(size_t)l * o->n + i];
            for (int side = 0; side < 4; side++) {
                if (!has(o, i, side)) continue;
                const uint32_t other = neighbour(o, i, side);
                sum += other < i ? step(o, i, l, other, chosen[other]) : message_to(o, i, side)[l];
            }
            if (!(sum < least)) continue;
            least = sum;
            chosen[i] = (uint8_t)l;
        }
    }
}

static void write(chooser *o)
{
    uint8_t *chosen = (uint8_t *)(o->messages + (size_t)4 * o->n * LABELS);
    decide(o, chosen);
    for (uint32_t i = 0; i < o->n; i++)
        if (chosen[i]) o->surface->choices[i] = choice_of(&o->labels[chosen[i]]);
}

/* Residuals stay for the next call. */
static void keep_answers(chooser *o)
{
    plane_surface *s = o->surface;
    float *less = realloc(o->residuals, ((size_t)o->n_labels * o->n + 1) * sizeof *less);
    free(s->residuals);
    s->residuals = less ? less : o->residuals;
    s->n_known = (uint16_t)(o->n_labels - 1);
    for (uint32_t l = 1; l < o->n_labels; l++) s->known[l - 1] = choice_of(&o->labels[l]);
    o->residuals = NULL;
}

static splat_status choose_segment(chooser *o, splat_error *error)
{
    const size_t n = o->n;
    o->sites = malloc((n + 1) * sizeof *o->sites);
    o->slants = malloc((n * LABELS + 1) * sizeof *o->slants);
    o->residuals = malloc((n * LABELS + 1) * sizeof *o->residuals);
    o->costs = malloc((n * LABELS + 1) * sizeof *o->costs);
    o->against = calloc(n + 1, sizeof *o->against);
    o->messages = malloc((5 * n * LABELS + 1) * sizeof *o->messages);
    const bool ok = o->sites && o->slants && o->residuals && o->costs && o->against && o->messages;
    if (ok) {
        ask_own(o);
        find_labels(o);
        if (o->n_labels > 1) {
            ask_labels(o);
            find_costs(o);
            add_rims(o);
            pass_messages(o);
            write(o);
        }
        keep_answers(o);
    }
    free(o->sites);
    free(o->slants);
    free(o->residuals);
    free(o->costs);
    free(o->against);
    free(o->messages);
    return ok ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu cells of a plain segment", n);
}

splat_status plane_known_choose(const plane_shade *shade, const plane_global *planes, size_t n_planes,
                                const plane_rounds *rounds, const plane_seen *seen, float noise, uint32_t number,
                                splat_error *error)
{
    plane_view *view = (plane_view *)&shade->views[number];
    view->rounds = rounds;
    for (uint32_t i = 0; i < view->n_segments; i++) {
        plane_surface *surface = &view->surfaces[i];
        if (!surface->choices) continue;
        chooser o = {.shade = shade, .planes = planes, .n_planes = n_planes, .rounds = rounds, .seen = seen,
                     .surface = surface, .number = number, .segment = i, .columns = surface->smooth.width - 1,
                     .rows = surface->smooth.height - 1, .noise = noise};
        o.n = o.columns * o.rows;
        memcpy(surface->choices, surface->first, o.n * sizeof *surface->first);
        SPLAT_TRY(choose_segment(&o, error));
    }
    return SPLAT_OK;
}
