/* Level by level: cells near samples are left out, places of the others are asked for, and their children follow. */
#include "mesh/poisson/poisson_envelope.h"

#include "mesh/poisson/poisson_octree.h"

#include <math.h>
#include <string.h>

enum { UNASKED_LEVELS = 2 }; /* the finest, with most of the cells; they follow those above */
enum { NEAR = 1, NEAR_BELOW = 2 }; /* marks: a sample is near; also for all cells below */

/* A level in work. */
typedef struct envelope_level {
    poisson_job *job;
    const poisson_octree *tree;
    const poisson_samples *samples;
    int d;
    const uint32_t *cell_of_sample;
    uint8_t *near;     /* [n_cells]: marks */
    uint8_t *is_empty; /* [n_cells] */
} envelope_level;

static void mark_near(const envelope_level *l)
{
#pragma omp parallel for num_threads(l->job->options->threads) schedule(static)
    for (size_t i = 0; i < l->samples->n; i++) {
        uint32_t cell = l->cell_of_sample[i];
        uint8_t mark = l->samples->depth[i] > (float)l->d ? NEAR : NEAR | NEAR_BELOW;
        if (cell == POISSON_NONE) continue;
        for (int k = 0; k < 27; k++) {
            const int offset[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
            uint32_t other = poisson_neighbor(l->tree, l->d, cell, offset);
            /* the marks of a cell are the same from every thread */
            if (other != POISSON_NONE && (__atomic_load_n(&l->near[other], __ATOMIC_RELAXED) & mark) != mark)
                __atomic_fetch_or(&l->near[other], mark, __ATOMIC_RELAXED);
        }
    }
}

/* Takes over the marks of the cells above. */
static void follow(const envelope_level *l, const uint8_t *near_above, const uint8_t *empty_above)
{
    const poisson_level *level = &l->tree->level[l->d];
#pragma omp parallel for num_threads(l->job->options->threads) schedule(static)
    for (uint32_t i = 0; i < level->n_cells; i++) {
        uint32_t parent = level->parent[i >> 3];
        if (near_above && near_above[parent] & NEAR_BELOW) l->near[i] |= NEAR | NEAR_BELOW;
        if (empty_above && empty_above[parent]) l->is_empty[i] = 1;
    }
}

static void place_of(const envelope_level *l, uint32_t cell, int corner, float place[3])
{
    int at[3];
    poisson_cell_coordinates(&l->tree->level[l->d], cell, at);
    for (int a = 0; a < 3; a++) {
        float steps = corner == 8 ? 0.5f : (float)(corner >> a & 1); /* 8: the middle */
        place[a] = l->job->origin[a] + l->job->side * ldexpf((float)at[a] + steps, -l->d);
    }
}

static void ask(const envelope_level *l, const float (*places)[3], size_t n, uint8_t *answers)
{
    const splat_poisson_options *o = l->job->options;
    o->find_empty(o->empty_user, places[0], n, answers);
}

/* True if nothing is known of the cell. */
static bool is_asked(const envelope_level *l, uint32_t cell)
{
    return !(l->near[cell] & NEAR) && !l->is_empty[cell];
}

/* Asks for the corners of cells, each once, then for the middles of cells whose corners are all empty. */
static splat_status ask_level(const envelope_level *l)
{
    const poisson_level *level = &l->tree->level[l->d];
    uint32_t *place_at = NULL; /* [n_corners]: its number among the places, plus 1 */
    uint32_t *cells = NULL;    /* of the middles */
    float (*places)[3] = NULL;
    uint8_t *answers = NULL;
    size_t n = 0, n_middles = 0;
    splat_status status = SPLAT_OK;
    SPLAT_TRY_GOTO(status, end, poisson_alloc(l->job, &place_at, level->n_corners, sizeof *place_at));
    for (uint32_t i = 0; i < level->n_cells; i++)
        for (int c = 0; c < 8 && is_asked(l, i); c++) {
            uint32_t *at = &place_at[poisson_corner(level, i, c)];
            if (!*at) *at = (uint32_t)++n;
        }
    SPLAT_TRY_GOTO(status, end, poisson_alloc(l->job, &places, n, sizeof *places));
    SPLAT_TRY_GOTO(status, end, poisson_alloc(l->job, &answers, n, 1));
    for (uint32_t i = 0; i < level->n_cells; i++)
        for (int c = 0; c < 8 && is_asked(l, i); c++)
            place_of(l, i, c, places[place_at[poisson_corner(level, i, c)] - 1]);
    if (n) ask(l, (const float (*)[3])places, n, answers);
    SPLAT_TRY_GOTO(status, end, poisson_alloc(l->job, &cells, level->n_cells, sizeof *cells));
    for (uint32_t i = 0; i < level->n_cells; i++) {
        bool all = is_asked(l, i);
        for (int c = 0; c < 8 && all; c++) all = answers[place_at[poisson_corner(level, i, c)] - 1];
        if (all) cells[n_middles++] = i;
    }
    poisson_free(l->job, places);
    poisson_free(l->job, answers);
    places = NULL;
    answers = NULL;
    SPLAT_TRY_GOTO(status, end, poisson_alloc(l->job, &places, n_middles, sizeof *places));
    SPLAT_TRY_GOTO(status, end, poisson_alloc(l->job, &answers, n_middles, 1));
    for (size_t i = 0; i < n_middles; i++) place_of(l, cells[i], 8, places[i]);
    if (n_middles) ask(l, (const float (*)[3])places, n_middles, answers);
    for (size_t i = 0; i < n_middles; i++) l->is_empty[cells[i]] = answers[i];
end:
    poisson_free(l->job, place_at);
    poisson_free(l->job, cells);
    poisson_free(l->job, places);
    poisson_free(l->job, answers);
    return status;
}

splat_status poisson_envelope_make(poisson_job *job, poisson_envelope *envelope, const poisson_octree *tree,
                                   const poisson_samples *samples)
{
    uint32_t *cell_of_sample = NULL;
    uint8_t *near[POISSON_MAX_LEVELS] = {NULL};
    splat_status status = SPLAT_OK;
    memset(envelope, 0, sizeof *envelope);
    if (!job->options->find_empty) return SPLAT_OK;
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &cell_of_sample, samples->n, sizeof *cell_of_sample));
    for (int d = 0; d < tree->n_levels; d++) {
        uint32_t n_cells = tree->level[d].n_cells;
        if (d >= POISSON_FULL_DEPTH) {
            SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &near[d], n_cells, 1));
            SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &envelope->is_empty[d], n_cells, 1));
            envelope_level l = {job, tree, samples, d, cell_of_sample, near[d], envelope->is_empty[d]};
            follow(&l, near[d - 1], envelope->is_empty[d - 1]);
            mark_near(&l);
            if (d <= job->options->depth - UNASKED_LEVELS) SPLAT_TRY_GOTO(status, end, ask_level(&l));
            poisson_free(job, near[d - 1]);
            near[d - 1] = NULL;
        }
        if (d + 1 == tree->n_levels) break;
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
        for (size_t i = 0; i < samples->n; i++)
            if (cell_of_sample[i] != POISSON_NONE)
                cell_of_sample[i] = poisson_step_down(tree, d, cell_of_sample[i], samples->position[i]);
    }
end:
    for (int d = 0; d < POISSON_MAX_LEVELS; d++) poisson_free(job, near[d]);
    poisson_free(job, cell_of_sample);
    return status;
}

void poisson_envelope_free(poisson_job *job, poisson_envelope *envelope)
{
    for (int d = 0; d < POISSON_MAX_LEVELS; d++) poisson_free(job, envelope->is_empty[d]);
}
