/* The octree of the Poisson reconstruction, built level by level from the top. */
#include "mesh/poisson/poisson_octree.h"

#include <math.h>
#include <string.h>

uint32_t poisson_neighbor(const poisson_octree *tree, int level, uint32_t cell, const int offset[3])
{
    if (level == 0) return offset[0] || offset[1] || offset[2] ? POISSON_NONE : cell;
    int up[3];
    uint32_t octant = 0;
    for (int a = 0; a < 3; a++) {
        int t = (int)(cell >> a & 1) + offset[a];
        up[a] = t < 0 ? -1 : t > 1;
        octant |= (uint32_t)(t & 1) << a;
    }
    if (!up[0] && !up[1] && !up[2]) return (cell & ~7u) | octant;
    uint32_t parent = poisson_neighbor(tree, level - 1, tree->level[level].parent[cell >> 3], up);
    if (parent == POISSON_NONE) return POISSON_NONE;
    uint32_t child = tree->level[level - 1].child[parent];
    return child == POISSON_NONE ? POISSON_NONE : child + octant;
}

uint32_t poisson_step_down(const poisson_octree *tree, int level, uint32_t cell, const float position[3])
{
    uint32_t child = tree->level[level].child[cell];
    if (child == POISSON_NONE) return POISSON_NONE;
    for (int a = 0; a < 3; a++) {
        const uint32_t last = (2u << level) - 1, at = (uint32_t)(fmaxf(position[a], 0) * (float)(2u << level));
        child += ((at < last ? at : last) & 1) << a; /* places on the cube's sides and beyond: of the cells there */
    }
    return child;
}

int poisson_descend(const poisson_octree *tree, const float position[3], uint32_t cells[POISSON_MAX_LEVELS])
{
    int d = 0;
    for (cells[0] = 0; d + 1 < tree->n_levels; d++) {
        cells[d + 1] = poisson_step_down(tree, d, cells[d], position);
        if (cells[d + 1] == POISSON_NONE) break;
    }
    return d;
}

/* The cell around the group at -1 .. 2 a axis from its first cell. */
static uint32_t cell_around(const uint32_t first[27], const poisson_level *level, const int at[3])
{
    uint32_t octant = 0;
    int group = 0;
    for (int a = 2; a >= 0; a--) {
        group = 3 * group + (at[a] < 0 ? 0 : at[a] > 1 ? 2 : 1);
        octant |= (uint32_t)(at[a] & 1) << a;
    }
    if (first[group] == POISSON_NONE || first[group] + octant >= level->n_cells) return POISSON_NONE;
    return first[group] + octant;
}

/* The first cells of the 27 groups around a group, its own in the middle; NONE where there is none. */
typedef struct surroundings {
    uint32_t group; /* NONE: not made yet */
    uint32_t first[27];
} surroundings;

static void groups_around(const poisson_octree *tree, int level, uint32_t group, surroundings *around)
{
    around->group = group;
    for (int i = 0; i < 27; i++) {
        const int offset[3] = {i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1};
        around->first[i] = POISSON_NONE;
        if (level == 0) {
            if (i == 13) around->first[i] = 0;
            continue;
        }
        uint32_t parent = poisson_neighbor(tree, level - 1, tree->level[level].parent[group], offset);
        if (parent != POISSON_NONE) around->first[i] = tree->level[level - 1].child[parent];
    }
}

/* The same from the groups around that of the parent, which up to eight groups one after the other share. */
static void groups_around_next(const poisson_octree *tree, int level, uint32_t group, surroundings *above,
                               surroundings *around)
{
    if (level == 0) {
        groups_around(tree, level, group, around);
        return;
    }
    const poisson_level *upper = &tree->level[level - 1];
    uint32_t parent = tree->level[level].parent[group];
    if (above->group != parent >> 3) groups_around(tree, level - 1, parent >> 3, above);
    around->group = group;
    for (int i = 0; i < 27; i++) {
        const int at[3] = {(int)(parent & 1) + i % 3 - 1, (int)(parent >> 1 & 1) + i / 3 % 3 - 1,
                           (int)(parent >> 2 & 1) + i / 9 - 1};
        uint32_t cell = cell_around(above->first, upper, at);
        around->first[i] = cell == POISSON_NONE ? POISSON_NONE : upper->child[cell];
    }
}

/* Returns the cell that owns a corner: of the cells that meet there, the one on its lowest side, in the order of the
 * bits. */
static uint32_t corner_owner(const uint32_t first[27], const poisson_level *level, int octant, int corner, int *its)
{
    for (int k = 0; k < 8; k++) {
        int at[3];
        for (int a = 0; a < 3; a++) at[a] = (octant >> a & 1) + (corner >> a & 1) - 1 + (k >> a & 1);
        uint32_t cell = cell_around(first, level, at);
        *its = 7 ^ k;
        if (cell != POISSON_NONE) return cell;
    }
    return POISSON_NONE; /* never: the cell itself is among them */
}

/* Bits of a byte; the compiler's own is a call where the processor is any x86. */
static uint32_t count_bits(uint8_t byte)
{
    static const uint8_t count[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
    return (uint32_t)count[byte & 15] + count[byte >> 4];
}

/* Computes the first number of the corners that a cell owns. Chunks are summed, then each continues from its sum. */
static splat_status sum_owned(poisson_job *job, poisson_level *level, const uint8_t *owned, uint32_t *base)
{
    size_t n_chunks = ((size_t)level->n_cells + POISSON_CHUNK - 1) / POISSON_CHUNK;
    uint32_t *next = NULL; /* [n_chunks] */
    SPLAT_TRY(poisson_alloc(job, &next, n_chunks, sizeof *next));
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
    for (size_t k = 0; k < n_chunks; k++)
        for (size_t i = k * POISSON_CHUNK; i < level->n_cells && i < (k + 1) * POISSON_CHUNK; i++)
            next[k] += count_bits(owned[i]);
    for (size_t k = 0; k < n_chunks; k++) {
        uint32_t count = next[k];
        next[k] = level->n_corners;
        level->n_corners += count;
    }
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
    for (size_t k = 0; k < n_chunks; k++)
        for (size_t i = k * POISSON_CHUNK; i < level->n_cells && i < (k + 1) * POISSON_CHUNK; i++) {
            base[i] = next[k];
            next[k] += count_bits(owned[i]);
        }
    poisson_free(job, next);
    return SPLAT_OK;
}

/* Numbers the corners: those that a cell owns are numbered together, cell after cell. */
static splat_status number_corners(poisson_job *job, poisson_octree *tree, int d)
{
    poisson_level *level = &tree->level[d];
    size_t n_groups = poisson_groups(level);
    uint8_t *owned = NULL;      /* [n_cells]: a bit a corner */
    uint32_t *base = NULL;      /* [n_cells] */
    splat_status status = SPLAT_OK;
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &owned, level->n_cells, 1));
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &base, level->n_cells, sizeof *base));
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &level->corner, n_groups, sizeof *level->corner));
    for (int pass = 0; pass < 2; pass++) {
#pragma omp parallel num_threads(job->options->threads)
        {
            surroundings above = {.group = POISSON_NONE}, around;
#pragma omp for schedule(static)
            for (size_t g = 0; g < n_groups; g++) {
                groups_around_next(tree, d, (uint32_t)g, &above, &around);
                for (int o = 0; o < 8 && 8 * g + (size_t)o < level->n_cells; o++)
                    for (int c = 0; c < 8; c++) {
                        int its;
                        uint32_t cell = (uint32_t)(8 * g) + (uint32_t)o;
                        uint32_t owner = corner_owner(around.first, level, o, c, &its);
                        if (pass == 0)
                            owned[cell] |= (uint8_t)((owner == cell) << c);
                        else
                            level->corner[g][poisson_place[o] + poisson_place[c]] =
                                base[owner] + count_bits(owned[owner] & (uint8_t)((1u << its) - 1));
                    }
            }
        }
        if (pass == 0) SPLAT_TRY_GOTO(status, end, sum_owned(job, level, owned, base));
    }
end:
    poisson_free(job, owned);
    poisson_free(job, base);
    return status;
}

/* Marks the cells of level d that are divided. */
static void mark_divided(const poisson_job *job, const poisson_octree *tree, int d, const uint32_t *cell_of_sample,
                                 const float *depth, size_t n, bool ring, uint8_t *mark)
{
    enum { DIVIDED = 1, SEEN = 2 };
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
    for (size_t i = 0; i < n; i++) {
        uint32_t cell = cell_of_sample[i];
        if (cell == POISSON_NONE || (depth && depth[i] <= (float)d)) continue;
        /* the marks of a cell are the same from every thread */
        if (__atomic_load_n(&mark[cell], __ATOMIC_RELAXED) & SEEN) continue;
        __atomic_fetch_or(&mark[cell], DIVIDED | SEEN, __ATOMIC_RELAXED);
        for (int k = 0; ring && k < 27; k++) {
            const int offset[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
            uint32_t other = poisson_neighbor(tree, d, cell, offset);
            if (other != POISSON_NONE) __atomic_fetch_or(&mark[other], DIVIDED, __ATOMIC_RELAXED);
        }
    }
}

/* The cell UNIT_LEVELS above a group's first, or the root. */
static uint32_t unit_of(const poisson_octree *tree, int d, size_t group)
{
    enum { UNIT_LEVELS = 3 };
    uint32_t cell = (uint32_t)(8 * group);
    for (int up = 0; up < UNIT_LEVELS && d > 0; up++, d--) cell = tree->level[d].parent[cell >> 3];
    return d > 0 ? cell : 0;
}

/* Lists the units of each colour. Two passes: what there is, and where it goes. */
static splat_status make_units(poisson_job *job, poisson_octree *tree, int d)
{
    poisson_level *level = &tree->level[d];
    size_t n_groups = poisson_groups(level), next[8] = {0}, sum = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t g = 0, end; g < n_groups; g = end) {
            uint32_t unit = unit_of(tree, d, g);
            for (end = g + 1; end < n_groups && unit_of(tree, d, end) == unit; end++) {}
            if (pass == 1) level->unit[next[unit & 7]] = (poisson_unit){(uint32_t)g, (uint32_t)end};
            next[unit & 7]++;
        }
        for (int c = 0; c < 8 && pass == 0; c++) {
            level->unit_first[c] = sum;
            sum += next[c];
            next[c] = level->unit_first[c];
        }
        level->unit_first[8] = sum;
        if (pass == 0) SPLAT_TRY(poisson_alloc(job, &level->unit, sum, sizeof *level->unit));
    }
    return SPLAT_OK;
}

static splat_status make_level(poisson_job *job, poisson_octree *tree, int d, const uint8_t *mark, bool all)
{
    poisson_level *above = &tree->level[d - 1], *level = &tree->level[d];
    size_t n_groups = 0;
    for (uint32_t i = 0; i < above->n_cells; i++)
        if (all || mark[i]) {
            if (n_groups >= POISSON_NONE / 8)
                return splat_fail(job->error, SPLAT_ERROR_MEMORY, "the Poisson octree has more than 2^32 cells; use a "
                                  "smaller depth");
            above->child[i] = (uint32_t)(8 * n_groups++);
        }
    if (!n_groups) return SPLAT_OK;
    level->n_cells = (uint32_t)(8 * n_groups);
    SPLAT_TRY(poisson_alloc(job, &level->parent, n_groups, sizeof *level->parent));
    SPLAT_TRY(poisson_alloc(job, &level->origin, n_groups, sizeof *level->origin));
    SPLAT_TRY(poisson_alloc(job, &level->child, level->n_cells, sizeof *level->child));
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
    for (uint32_t i = 0; i < above->n_cells; i++) {
        if (above->child[i] == POISSON_NONE) continue;
        int coordinates[3];
        uint32_t group = above->child[i] / 8;
        poisson_cell_coordinates(above, i, coordinates);
        level->parent[group] = i;
        for (int a = 0; a < 3; a++) level->origin[group][a] = (uint16_t)(2 * coordinates[a]);
        for (int k = 0; k < 8; k++) level->child[above->child[i] + (uint32_t)k] = POISSON_NONE;
    }
    tree->n_levels = d + 1;
    SPLAT_TRY(make_units(job, tree, d));
    return number_corners(job, tree, d);
}

static splat_status make_root(poisson_job *job, poisson_octree *tree)
{
    poisson_level *root = &tree->level[0];
    memset(tree, 0, sizeof *tree);
    root->n_cells = 1;
    tree->n_levels = 1;
    SPLAT_TRY(poisson_alloc(job, &root->origin, 1, sizeof *root->origin));
    SPLAT_TRY(poisson_alloc(job, &root->child, 1, sizeof *root->child));
    root->child[0] = POISSON_NONE;
    SPLAT_TRY(make_units(job, tree, 0));
    return number_corners(job, tree, 0);
}

splat_status poisson_octree_build(poisson_job *job, poisson_octree *tree, const poisson_samples *samples,
                                  const float *depth, int max_level, int full, bool ring)
{
    uint32_t *cell_of_sample = NULL;
    uint8_t *mark = NULL;
    splat_status status = make_root(job, tree);
    if (status != SPLAT_OK) goto end;
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &cell_of_sample, samples->n, sizeof *cell_of_sample));
    for (int d = 0; d < max_level && tree->n_levels == d + 1; d++) {
        if (ring) SPLAT_TRY_GOTO(status, end, poisson_progress(job, "octree", 0.1 + 0.1 * d / max_level));
        SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &mark, tree->level[d].n_cells, 1));
        if (d >= full) mark_divided(job, tree, d, cell_of_sample, depth, samples->n, ring, mark);
        SPLAT_TRY_GOTO(status, end, make_level(job, tree, d + 1, mark, d < full));
        poisson_free(job, mark);
        mark = NULL;
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
        for (size_t i = 0; i < samples->n; i++)
            if (cell_of_sample[i] != POISSON_NONE)
                cell_of_sample[i] = poisson_step_down(tree, d, cell_of_sample[i], samples->position[i]);
    }
end:
    poisson_free(job, mark);
    poisson_free(job, cell_of_sample);
    return status;
}

void poisson_octree_free(poisson_job *job, poisson_octree *tree)
{
    for (int d = 0; d < POISSON_MAX_LEVELS; d++) { /* one that failed half-way is not counted in n_levels */
        poisson_free(job, tree->level[d].parent);
        poisson_free(job, tree->level[d].origin);
        poisson_free(job, tree->level[d].child);
        poisson_free(job, tree->level[d].corner);
        poisson_free(job, tree->level[d].unit);
    }
    memset(tree, 0, sizeof *tree);
}

/* ---------------------------------------------------------------- runs of samples */

/* Runs of samples that lie in one cell, and sums over them. */

/* A level with at most this many cells is summed by all threads before units distribute the sums: the top levels have
 * as many samples as those below, in a few cells of a few units. */
enum { FEW_RUNS = 8192 };

static bool starts_run(const uint32_t *cell_of_sample, size_t i)
{
    return cell_of_sample[i] != POISSON_NONE && (i == 0 || cell_of_sample[i] != cell_of_sample[i - 1]);
}

/* Chunks of samples count the runs that start in them, then each writes its own. Cells are in Morton order as samples
 * are. */
splat_status poisson_runs_make(poisson_job *job, poisson_runs *runs, const uint32_t *cell_of_sample, size_t n)
{
    size_t n_chunks = (n + POISSON_CHUNK - 1) / POISSON_CHUNK;
    size_t *next = NULL; /* [n_chunks]: runs, then where they go */
    memset(runs, 0, sizeof *runs);
    SPLAT_TRY(poisson_alloc(job, &next, n_chunks, sizeof *next));
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
    for (size_t k = 0; k < n_chunks; k++)
        for (size_t i = k * POISSON_CHUNK; i < n && i < (k + 1) * POISSON_CHUNK; i++)
            next[k] += starts_run(cell_of_sample, i);
    for (size_t k = 0; k < n_chunks; k++) {
        size_t count = next[k];
        next[k] = runs->n;
        runs->n += count;
    }
    splat_status status = poisson_alloc(job, &runs->run, runs->n, sizeof *runs->run);
    if (status == SPLAT_OK)
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
        for (size_t k = 0; k < n_chunks; k++)
            for (size_t i = k * POISSON_CHUNK; i < n && i < (k + 1) * POISSON_CHUNK; i++) {
                if (!starts_run(cell_of_sample, i)) continue;
                uint32_t cell = cell_of_sample[i];
                size_t end = i + 1; /* may lie in a later chunk */
                while (end < n && cell_of_sample[end] == cell) end++;
                runs->run[next[k]++] = (poisson_run){cell, (uint32_t)i, (uint32_t)end};
            }
    poisson_free(job, next);
    return status;
}

/* The first run, of those of a level, of a cell from `cell` on. */
static size_t runs_from(const poisson_runs *runs, uint32_t cell)
{
    size_t low = 0, high = runs->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (runs->run[middle].cell < cell) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Runs cut into pieces of at most POISSON_CHUNK samples, whatever the number of threads. */
typedef struct pieces {
    poisson_run *piece; /* [first[n_runs]] */
    uint32_t *first;    /* [n_runs + 1]: the first one of each run */
    double *sums;       /* [pieces][summing->n] */
} pieces;

static void free_pieces(poisson_job *job, pieces *p)
{
    poisson_free(job, p->piece);
    poisson_free(job, p->first);
    poisson_free(job, p->sums);
}

static splat_status make_pieces(poisson_job *job, const poisson_runs *runs, const poisson_summing *summing, pieces *p)
{
    size_t n_pieces = 0;
    SPLAT_TRY(poisson_alloc(job, &p->first, runs->n + 1, sizeof *p->first));
    for (size_t r = 0; r < runs->n; r++) {
        p->first[r] = (uint32_t)n_pieces;
        n_pieces += (runs->run[r].end - runs->run[r].begin + (size_t)POISSON_CHUNK - 1) / POISSON_CHUNK;
    }
    p->first[runs->n] = (uint32_t)n_pieces;
    SPLAT_TRY(poisson_alloc(job, &p->piece, n_pieces, sizeof *p->piece));
    SPLAT_TRY(poisson_alloc(job, &p->sums, n_pieces, (size_t)summing->n * sizeof *p->sums));
    for (size_t r = 0; r < runs->n; r++) {
        poisson_run rest = runs->run[r];
        for (uint32_t k = p->first[r]; k < p->first[r + 1]; k++) {
            p->piece[k] = rest;
            if (rest.end - rest.begin > POISSON_CHUNK) p->piece[k].end = rest.begin + POISSON_CHUNK;
            rest.begin = p->piece[k].end;
        }
    }
#pragma omp parallel for num_threads(job->options->threads) schedule(dynamic, 1)
    for (size_t k = 0; k < n_pieces; k++)
        summing->add(summing->user, &p->piece[k], p->sums + k * (size_t)summing->n);
    return SPLAT_OK;
}

/* The run's sums go where they belong. p: NULL, or their pieces. */
static void put_run(const poisson_summing *summing, const poisson_runs *runs, size_t r, const pieces *p)
{
    double sums[POISSON_MOST_SUMS] = {0};
    if (p)
        for (uint32_t k = p->first[r]; k < p->first[r + 1]; k++)
            for (int i = 0; i < summing->n; i++) sums[i] += p->sums[(size_t)k * (size_t)summing->n + (size_t)i];
    else
        summing->add(summing->user, &runs->run[r], sums);
    summing->put(summing->user, &runs->run[r], r, sums);
}

static void put_unit(const poisson_summing *summing, const poisson_runs *runs, poisson_unit unit, const pieces *p)
{
    uint32_t end = 8 * unit.end;
    for (size_t r = runs_from(runs, 8 * unit.first); r < runs->n && runs->run[r].cell < end; r++)
        put_run(summing, runs, r, p);
}

splat_status poisson_sum_runs(poisson_job *job, const poisson_level *level, const poisson_runs *runs,
                              const poisson_summing *summing)
{
    pieces p = {0};
    bool are_few = runs->n <= FEW_RUNS;
    splat_status status = are_few ? make_pieces(job, runs, summing, &p) : SPLAT_OK;
    for (int colour = 0; colour < 8 && status == SPLAT_OK; colour++)
#pragma omp parallel for num_threads(job->options->threads) schedule(dynamic, 1)
        for (size_t u = level->unit_first[colour]; u < level->unit_first[colour + 1]; u++)
            put_unit(summing, runs, level->unit[u], are_few ? &p : NULL);
    free_pieces(job, &p);
    return status;
}

/* As many cells as there may be of such levels, with their pieces; of all levels together one is summed at a time. */
double poisson_sums_bytes(double n_points)
{
    double cells = n_points < FEW_RUNS ? n_points : FEW_RUNS;
    return (cells + n_points / POISSON_CHUNK) * (sizeof(poisson_run) + sizeof(uint32_t) + 8.0 * POISSON_MOST_SUMS);
}
