/* Votes of rims for cylinders between two walls. */
#include "surface/planes/plane_round_touch.h"

#include "surface/planes/plane_parts.h"

#include "math/vec3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TASK_FOUND 32   /* most cylinders of a pair and direction */
#define MOST_TASKS 256  /* pairs of walls, each with a direction */
#define FACING 0.999    /* cosine of the angle between walls that face each other */
#define ALONG_WALL 0.03 /* radians, between a wall and the axis */
#define SAME_AXIS 0.9   /* cosine: the rims of a foot do not tell which of such directions it is, larger planes do */
#define CELL 0.006      /* of the mean depth of rims: their error, and the side of a cell */
#define MOST_CELLS 8388608u

typedef struct candidate {
    plane_round round;
    double sure;
} candidate;

/* A cylinder whose place along its walls is not known, and those that rims vote for. */
typedef struct task {
    plane_round round;
    double across[3]; /* normal of a wall */
    candidate found[TASK_FOUND];
    int n;
    bool is_short; /* memory ended */
} task;

/* Columns along the walls, rows across. */
typedef struct grid {
    double cell, low, middle; /* low: of the columns; middle: of the rows */
    size_t columns, rows;
    uint8_t *marks;           /* bits: a rim lies in the cell */
    float *votes;             /* [columns + 1] changes of their number from column to column */
} grid;

typedef void (*rim_function)(grid *g, double along, double across);

/* Calls a function for the rims of all views between the walls. */
static void for_rims(const plane_round_places *s, const task *t, grid *g, rim_function function)
{
    for (size_t i = 0; i < s->shade->maps->n; i++) {
        const plane_view *view = &s->shade->views[i];
        for (uint32_t k = 0; k < view->n_seeds; k++) {
            const float *p = view->seeds[k].position;
            const double place[3] = {(double)p[0], (double)p[1], (double)p[2]};
            const double across = splat_dot3(place, t->across) - g->middle;
            if (!(fabs(across) < t->round.radius)) continue;
            function(g, splat_dot3(place, t->round.along), across);
        }
    }
}

/* The range of the columns; votes[0] and votes[1] hold its ends. */
static void widen(grid *g, double along, double across)
{
    (void)across;
    g->votes[0] = fminf(g->votes[0], (float)along);
    g->votes[1] = fmaxf(g->votes[1], (float)along);
}

/* A line of rims along the axis, as the edge of a column, marks one cell. */
static void mark(grid *g, double along, double across)
{
    const size_t column = (size_t)fmax((along - g->low) / g->cell, 0);
    const size_t row = (size_t)(across / g->cell + 0.5 * (double)g->rows), i = column * g->rows + row;
    if (column < g->columns && row < g->rows) g->marks[i / 8] |= (uint8_t)(1u << i % 8);
}

/* Each marked cell votes for both cylinders that it may lie on. */
static void count(grid *g, double radius)
{
    for (size_t row = 0; row < g->rows; row++) {
        const double across = ((double)row + 0.5 - 0.5 * (double)g->rows) * g->cell;
        const double square = radius * radius - across * across;
        if (!(square > PLANE_ROUND_SLANT * PLANE_ROUND_SLANT * radius * radius)) continue;
        const double reach = sqrt(square) / g->cell, error = radius / (g->cell * reach);
        for (size_t column = 0; column < g->columns; column++) {
            const size_t i = column * g->rows + row;
            for (int sign = -1; sign <= 1 && (g->marks[i / 8] >> i % 8 & 1); sign += 2) {
                const double at = (double)column + 0.5 + sign * reach;
                if (!(at - error >= 0 && at + error < (double)g->columns)) continue;
                g->votes[(size_t)(at - error)]++;
                g->votes[(size_t)(at + error)]--;
            }
        }
    }
}

/* Keeps a cylinder in the order of votes, `most` of them. Of similar ones the surest stays. */
static void keep(candidate *found, int *n, int most, const candidate *own)
{
    int at = 0;
    for (int i = 0; i < *n; i++) {
        if (!plane_round_is_like(&found[i].round, &own->round)) continue;
        if (found[i].sure >= own->sure) return;
        (*n)--;
        memmove(found + i, found + i + 1, (size_t)(*n - i) * sizeof *found);
        i--;
    }
    while (at < *n && found[at].sure >= own->sure) at++;
    if (at == most) return;
    if (*n < most) (*n)++;
    memmove(found + at + 1, found + at, (size_t)(*n - at - 1) * sizeof *found);
    found[at] = *own;
}

static void choose(task *t, grid *g)
{
    const double start = splat_dot3(t->round.center, t->round.along);
    double sum = 0, mean = 0;
    for (size_t i = 0; i < g->columns; i++) {
        sum += (double)g->votes[i];
        g->votes[i] = (float)sum;
        mean += sum / (double)g->columns;
    }
    for (size_t i = 0; i < g->columns; i++) {
        candidate own = {t->round, ((double)g->votes[i] - mean) / sqrt(fmax(mean, 1))};
        const double by = g->low + ((double)i + 0.5) * g->cell - start;
        for (int k = 0; k < 3; k++) own.round.center[k] += by * t->round.along[k];
        if (own.sure > PLANE_ROUND_SURE) keep(t->found, &t->n, TASK_FOUND, &own);
    }
}

static void vote(const plane_round_places *s, task *t, double cell)
{
    float ends[2] = {INFINITY, -INFINITY};
    grid g = {.cell = cell, .middle = splat_dot3(t->across, t->round.center), .votes = ends};
    for_rims(s, t, &g, widen);
    g.low = (double)ends[0];
    g.rows = 2 * (size_t)ceil(t->round.radius / cell);
    if (!(ends[1] > ends[0]) || !(((double)ends[1] - g.low) / cell * (double)g.rows < MOST_CELLS)) return;
    g.columns = (size_t)(((double)ends[1] - g.low) / cell) + 1;
    g.marks = calloc(g.columns * g.rows / 8 + 1, 1);
    g.votes = calloc(g.columns + 1, sizeof *g.votes);
    t->is_short = !g.marks || !g.votes;
    if (!t->is_short) {
        for_rims(s, t, &g, mark);
        count(&g, t->round.radius);
        choose(t, &g);
    }
    free(g.marks);
    free(g.votes);
}

/* The cylinder between two walls, of a direction. False: they do not face each other, or it leans. */
static bool between(const plane_fit *a, const plane_fit *b, const double axis[3], task *t)
{
    const double *n = a->normal, gap = -a->offset - b->offset, lean = splat_dot3(n, axis);
    if (splat_dot3(n, b->normal) > -FACING || !(gap > 0) || fabs(lean) > ALONG_WALL) return false;
    *t = (task){.round = {.radius = 0.5 * gap, .is_fixed = true, .is_touching = true}};
    plane_round *r = &t->round;
    for (int k = 0; k < 3; k++) {
        t->across[k] = n[k];
        r->axis[k] = (axis[k] - lean * n[k]) / sqrt(1 - lean * lean);
        r->center[k] = 0.5 * (a->centroid[k] + b->centroid[k]);
    }
    const double off = 0.5 * (a->offset - b->offset) - splat_dot3(n, r->center);
    for (int k = 0; k < 3; k++) r->center[k] += off * n[k];
    splat_cross3(r->axis, n, r->along);
    return true;
}

static bool is_tried(const plane_round_places *s, uint32_t number)
{
    for (uint32_t i = 0; i < number; i++)
        if (fabs(splat_dot3(s->axes[i].direction, s->axes[number].direction)) > SAME_AXIS) return true;
    return false;
}

static int find_tasks(const plane_round_places *s, task tasks[MOST_TASKS])
{
    int n = 0;
    for (uint32_t i = 0; i < s->n_walls; i++)
        for (uint32_t k = 0; k < i; k++)
            for (uint32_t j = 0; j < s->n_axes && n < MOST_TASKS; j++)
                n += !is_tried(s, j) && between(&s->planes[s->walls[i]].fit, &s->planes[s->walls[k]].fit,
                                                s->axes[j].direction, &tasks[n]);
    return n;
}

/* The mean depth of the rims of all views. */
static double depth_of(const plane_round_places *s)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < s->shade->maps->n; i++)
        for (uint32_t k = 0; k < s->shade->views[i].n_seeds; k++, n++)
            sum += (double)s->shade->views[i].seeds[k].depth;
    return sum / fmax(n, 1);
}

int plane_rounds_between_walls(const plane_round_places *s, plane_round rounds[PLANE_ROUND_TOUCHING])
{
    task *tasks = malloc(MOST_TASKS * sizeof *tasks);
    candidate found[PLANE_ROUND_TOUCHING];
    const double cell = CELL * depth_of(s);
    const int n_tasks = tasks ? find_tasks(s, tasks) : 0;
    bool is_short = !tasks;
    int n = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->threads)
    for (int i = 0; i < n_tasks; i++) vote(s, &tasks[i], cell);
    for (int i = 0; i < n_tasks; i++) {
        is_short |= tasks[i].is_short;
        for (int k = 0; k < tasks[i].n; k++) keep(found, &n, PLANE_ROUND_TOUCHING, &tasks[i].found[k]);
    }
    for (int i = 0; i < n; i++) rounds[i] = found[i].round;
    free(tasks);
    return is_short ? -1 : n;
}
