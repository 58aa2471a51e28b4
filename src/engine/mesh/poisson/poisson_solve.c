/* The screened Poisson equation, level by level from the top (cascadic multigrid): the level above is the first guess
 * and, at corners that miss a cell of this level, the boundary; then conjugate gradients. On deep levels only a layer a
 * few cells thick is solved between such boundaries, so that a few iterations do. */
#include "mesh/poisson/poisson_solve.h"

#include "mesh/poisson/poisson_field.h"

#include <math.h>
#include <string.h>

/* The error left is far below that of the points; a level above the full depth starts with more to correct. */
#define TOLERANCE 1e-3
#define OUTSIDE -0.5f /* and 0.5 inside */
enum { MAX_ITERATIONS = 60 };
enum { TURN = 2 }; /* chunks that a thread takes at a time: with fixed shares all wait for the slowest core */

typedef struct solver {
    poisson_job *job;
    double begin, share; /* of the progress */
    const poisson_level *level;
    const poisson_screen *screen;
    size_t n_screens;
    float side;
    int threads;
    uint32_t (*screens)[2]; /* [units]: the first of each, and the one after its last */
    uint8_t *free_corner; /* 1: unknown, 0: kept */
    float *right, *diagonal, *residual, *direction, *product;
    double *partial; /* sums of POISSON_CHUNK entries */
} solver;

/* A value of LANES groups, which are multiplied together. */
enum { LANES = 4 };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

/* Hats on one axis of a group, whose three corners stand `stride` apart in `in` and `out`: their products integrate to
 * mass, those of their slopes to slope, both times the side. */
static inline void mass(const lanes *in, int stride, lanes *out)
{
    lanes a = in[0], b = in[stride], c = in[2 * stride];
    out[0] = (1.0f / 6) * (2 * a + b);
    out[stride] = (1.0f / 6) * (a + 4 * b + c);
    out[2 * stride] = (1.0f / 6) * (b + 2 * c);
}

static inline void add_slope(const lanes *in, int stride, lanes *out)
{
    lanes a = in[0] - in[stride], b = in[2 * stride] - in[stride];
    out[0] += a;
    out[stride] -= a + b;
    out[2 * stride] += b;
}

/* The stiffness of the eight cells of a group over their side, an axis at a time: out = (S M M + M S M + M M S) in. */
static void multiply_stiffness(const lanes in[27], lanes out[27])
{
    lanes x_mass[27], x_slope[27] = {0}, xy_mass[27];
    for (int k = 0; k < 9; k++) { /* lines along x */
        mass(in + 3 * k, 1, x_mass + 3 * k);
        add_slope(in + 3 * k, 1, x_slope + 3 * k);
    }
    lanes xy_slope[27]; /* of x or y */
    for (int z = 0; z < 3; z++)
        for (int x = 0; x < 3; x++) {
            int k = 9 * z + x;
            mass(x_mass + k, 3, xy_mass + k);
            mass(x_slope + k, 3, xy_slope + k);
            add_slope(x_mass + k, 3, xy_slope + k);
        }
    for (int k = 0; k < 9; k++) {
        mass(xy_slope + k, 9, out + k);
        add_slope(xy_mass + k, 9, out + k);
    }
}

/* The root is a group of one cell: 1/3 at a corner with itself, 0 along edges, -1/12 along diagonals. */
static void multiply_root(const lanes in[27], lanes out[27])
{
    for (int k = 0; k < 27; k++) out[k] = (lanes){0};
    for (int c = 0; c < 8; c++)
        out[poisson_place[c]] = in[poisson_place[c]] * (1.0f / 3) -
                                (1.0f / 12) * (in[poisson_place[c ^ 3]] + in[poisson_place[c ^ 5]] +
                                               in[poisson_place[c ^ 6]] + in[poisson_place[c ^ 7]]);
}

/* Groups [first, end), at most LANES of them, of eight cells each: each of their 27 corners is read and written once.
 * Sums have the order of the groups. */
static void multiply_groups(const solver *s, uint32_t first, uint32_t end, const float *x, float *y)
{
    const uint32_t(*corner)[27] = (const uint32_t(*)[27])s->level->corner + first;
    lanes in[27] = {{0}}, out[27];
    int n = (int)(end - first);
    for (int g = 0; g < n; g++)
        for (int k = 0; k < 27; k++) in[k][g] = x[corner[g][k]];
    if (s->level->n_cells < 8) multiply_root(in, out);
    else multiply_stiffness(in, out);
    for (int k = 0; k < 27; k++) out[k] *= s->side;
    for (int g = 0; g < n; g++)
        for (int k = 0; k < 27; k++) y[corner[g][k]] += out[k][g]; /* the root's other 19 add 0 to corner 0 */
}

/* The first screen of a cell from `cell` on. */
static size_t screens_from(const solver *s, uint32_t cell)
{
    size_t low = 0, high = s->n_screens;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->screen[middle].cell < cell) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Screens of each unit, [first, end): to look for them in every product would cost as much as a part of it. */
static void find_screens(const solver *s)
{
    const poisson_level *level = s->level;
#pragma omp parallel for num_threads(s->threads) schedule(static)
    for (size_t u = 0; u < level->unit_first[8]; u++) {
        s->screens[u][0] = (uint32_t)screens_from(s, 8 * level->unit[u].first);
        s->screens[u][1] = (uint32_t)screens_from(s, 8 * level->unit[u].end);
    }
}

/* The stiffness of the trilinear functions and the pull of the samples. */
static void multiply_unit(const solver *s, size_t u, const float *x, float *y)
{
    const poisson_level *level = s->level;
    const poisson_unit unit = level->unit[u];
    for (uint32_t g = unit.first; g < unit.end; g += LANES)
        multiply_groups(s, g, g + LANES < unit.end ? g + LANES : unit.end, x, y);
    for (size_t k = s->screens[u][0]; k < s->screens[u][1]; k++) {
        const poisson_screen *screen = &s->screen[k];
        float value = screen->weight * poisson_interpolate(level, screen->cell, screen->corner, x);
        for (int c = 0; c < 8; c++) y[poisson_corner(level, screen->cell, c)] += screen->corner[c] * value;
    }
}

/* A level's matrix times x, added to y. */
static void multiply(const solver *s, const float *x, float *y)
{
    const poisson_level *level = s->level;
    for (int colour = 0; colour < 8; colour++)
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 1)
        for (size_t u = level->unit_first[colour]; u < level->unit_first[colour + 1]; u++)
            multiply_unit(s, u, x, y);
}

/* The root has one cell. */
static int cells_at(const poisson_level *level, int k)
{
    return level->n_cells < 8 ? k % 3 < 2 && k / 3 % 3 < 2 && k < 18 : poisson_cells_at[k];
}

static void make_diagonal(const solver *s)
{
    const poisson_level *level = s->level;
    for (int colour = 0; colour < 8; colour++)
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 1)
        for (size_t u = level->unit_first[colour]; u < level->unit_first[colour + 1]; u++) {
            poisson_unit unit = level->unit[u];
            for (uint32_t g = unit.first; g < unit.end; g++)
                for (int k = 0; k < 27; k++)
                    s->diagonal[level->corner[g][k]] += s->side / 3 * (float)cells_at(level, k);
            for (size_t k = s->screens[u][0]; k < s->screens[u][1]; k++)
                for (int c = 0; c < 8; c++)
                    s->diagonal[poisson_corner(level, s->screen[k].cell, c)] +=
                        s->screen[k].weight * s->screen[k].corner[c] * s->screen[k].corner[c];
        }
}

/* Cells that meet at a corner of a group where none is missing but those beyond the cube. */
static int cells_in_cube(const poisson_level *level, size_t group, int d, int k)
{
    const int steps[3] = {k % 3, k / 3 % 3, k / 9};
    int n = 8;
    for (int a = 0; a < 3; a++) {
        int at = level->origin[group][a] + steps[a];
        if (at == 0 || at == 1 << d) n >>= 1;
    }
    return n;
}

/* A corner is unknown when no cell around it is missing but for those beyond the cube. */
static void find_unknowns(const solver *s, int d)
{
    const poisson_level *level = s->level;
    for (int colour = 0; colour < 8; colour++) /* cells around */
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 1)
        for (size_t u = level->unit_first[colour]; u < level->unit_first[colour + 1]; u++)
            for (uint32_t g = level->unit[u].first; g < level->unit[u].end; g++)
                for (int k = 0; k < 27; k++) s->free_corner[level->corner[g][k]] += (uint8_t)cells_at(level, k);
    for (int colour = 0; colour < 8; colour++)
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 1)
        for (size_t u = level->unit_first[colour]; u < level->unit_first[colour + 1]; u++)
            for (uint32_t g = level->unit[u].first; g < level->unit[u].end; g++)
                for (int k = 0; k < 27; k++) {
                    /* from here the top bit tells; a later group of the corner finds it set or the count as it was */
                    uint8_t *corner = &s->free_corner[level->corner[g][k]];
                    if (cells_at(level, k) && *corner == cells_in_cube(level, g, d, k)) *corner |= 0x80;
                }
#pragma omp parallel for num_threads(s->threads) schedule(static)
    for (uint32_t i = 0; i < level->n_corners; i++) s->free_corner[i] >>= 7;
}

/* Unknown corners of empty cells are outside. Corners that have their value from the level above keep it, as the
 * function is continuous. */
static void keep_outside(const solver *s, const uint8_t *is_empty, float *values)
{
    for (uint32_t i = 0; i < s->level->n_cells; i++)
        for (int c = 0; c < 8 && is_empty[i]; c++) {
            uint32_t corner = poisson_corner(s->level, i, c);
            if (!s->free_corner[corner]) continue;
            s->free_corner[corner] = 0;
            values[corner] = OUTSIDE;
        }
}

static void add_group_divergence(const solver *s, size_t group, const float (*field)[3])
{
    const uint32_t *corner = s->level->corner[group];
    int n_cells = s->level->n_cells < 8 ? 1 : 8;
    float sum[27] = {0};
    for (int o = 0; o < n_cells; o++) {
        float vectors[8][3], right[8];
        for (int c = 0; c < 8; c++)
            memcpy(vectors[c], field[corner[poisson_place[o] + poisson_place[c]]], sizeof vectors[c]);
        poisson_cell_divergence(vectors, s->side, right);
        for (int c = 0; c < 8; c++) sum[poisson_place[o] + poisson_place[c]] += right[c];
    }
    for (int k = 0; k < 27; k++) s->right[corner[k]] += sum[k];
}

static void add_divergence(const solver *s, const float (*field)[3])
{
    const poisson_level *level = s->level;
    for (int colour = 0; colour < 8; colour++)
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 1)
        for (size_t u = level->unit_first[colour]; u < level->unit_first[colour + 1]; u++)
            for (uint32_t g = level->unit[u].first; g < level->unit[u].end; g++) add_group_divergence(s, g, field);
}

static size_t count_chunks(const solver *s)
{
    return (s->level->n_corners + (size_t)POISSON_CHUNK - 1) / POISSON_CHUNK;
}

/* Adds the sums of the chunks, in a fixed order. */
static double sum_chunks(const solver *s)
{
    double sum = 0;
    for (size_t k = 0, n = count_chunks(s); k < n; k++) sum += s->partial[k];
    return sum;
}

/* direction . product */
static double curvature(const solver *s)
{
    size_t n = s->level->n_corners, n_chunks = count_chunks(s);
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, TURN)
    for (size_t k = 0; k < n_chunks; k++) {
        size_t end = (k + 1) * POISSON_CHUNK < n ? (k + 1) * POISSON_CHUNK : n;
        double part = 0;
        for (size_t i = k * POISSON_CHUNK; i < end; i++) part += (double)s->direction[i] * s->product[i];
        s->partial[k] = part;
    }
    return sum_chunks(s);
}

/* A step along the direction; the squared length of the new residual over the diagonal. The product goes back to 0. */
static double take_step(const solver *s, float step, float *x)
{
    size_t n = s->level->n_corners, n_chunks = count_chunks(s);
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, TURN)
    for (size_t k = 0; k < n_chunks; k++) {
        size_t end = (k + 1) * POISSON_CHUNK < n ? (k + 1) * POISSON_CHUNK : n;
        double part = 0;
        for (size_t i = k * POISSON_CHUNK; i < end; i++) {
            x[i] += step * s->direction[i];
            if (s->free_corner[i]) s->residual[i] -= step * s->product[i];
            s->product[i] = 0;
            part += (double)s->residual[i] * (s->residual[i] / s->diagonal[i]);
        }
        s->partial[k] = part;
    }
    return sum_chunks(s);
}

/* Conjugate gradients with the diagonal as preconditioner (Hestenes, Stiefel 1952). x is right at kept corners. */
static splat_status conjugate_gradients(const solver *s, float *x, int *n_iterations, double *reduction)
{
    uint32_t n = s->level->n_corners;
    int iteration = 0;
    multiply(s, x, s->product);
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, TURN * POISSON_CHUNK)
    for (uint32_t i = 0; i < n; i++) {
        s->residual[i] = s->free_corner[i] ? s->right[i] - s->product[i] : 0;
        s->direction[i] = s->residual[i] / s->diagonal[i];
    }
    double rho = take_step(s, 0, x), first = rho;
    for (; iteration < MAX_ITERATIONS && rho > TOLERANCE * TOLERANCE * first; iteration++) {
        /* most levels are done after ten or so */
        SPLAT_TRY(poisson_progress(s->job, "solve", s->begin + s->share * iteration / (iteration + 5.0)));
        multiply(s, s->direction, s->product);
        double bend = curvature(s);
        if (!(bend > 0)) break; /* nothing left but rounding */
        double next = take_step(s, (float)(rho / bend), x);
        float keep = (float)(next / rho);
        rho = next;
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, TURN * POISSON_CHUNK)
        for (uint32_t i = 0; i < n; i++)
            s->direction[i] = s->residual[i] / s->diagonal[i] + keep * s->direction[i];
    }
    *reduction = first > 0 ? sqrt(rho / first) : 0;
    *n_iterations = iteration;
    return SPLAT_OK;
}

/* The 27 corners of a group from the eight of the cell above, an axis after the other: so groups on both sides of a
 * face write the same bits. */
static void interpolate_group(const float above[8], float out[27])
{
    float x[4][3], xy[2][9]; /* [y + 2 z], [z] */
    for (int k = 0; k < 4; k++) {
        x[k][0] = above[2 * k];
        x[k][1] = 0.5f * (above[2 * k] + above[2 * k + 1]);
        x[k][2] = above[2 * k + 1];
    }
    for (int z = 0; z < 2; z++)
        for (int k = 0; k < 3; k++) {
            xy[z][k] = x[2 * z][k];
            xy[z][3 + k] = 0.5f * (x[2 * z][k] + x[2 * z + 1][k]);
            xy[z][6 + k] = x[2 * z + 1][k];
        }
    for (int k = 0; k < 9; k++) {
        out[k] = xy[0][k];
        out[9 + k] = 0.5f * (xy[0][k] + xy[1][k]);
        out[18 + k] = xy[1][k];
    }
}

/* Values at a group's corners from those of the level above, `width` floats a corner. */
static void interpolate_to(const poisson_level *above, const poisson_level *level, size_t group, size_t width,
                           const float *values, float *out)
{
    for (size_t w = 0; w < width; w++) {
        float from[8], to[27];
        for (int k = 0; k < 8; k++) from[k] = values[width * poisson_corner(above, level->parent[group], k) + w];
        interpolate_group(from, to);
        for (int k = 0; k < 27; k++) out[width * level->corner[group][k] + w] = to[k];
    }
}

/* All corners of level d, which is not the root. */
static void interpolate_down(const poisson_octree *tree, int d, int threads, size_t width, const float *values,
                             float *out)
{
    const poisson_level *level = &tree->level[d];
    for (int colour = 0; colour < 8; colour++)
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
        for (size_t u = level->unit_first[colour]; u < level->unit_first[colour + 1]; u++)
            for (uint32_t g = level->unit[u].first; g < level->unit[u].end; g++)
                interpolate_to(&tree->level[d - 1], level, g, width, values, out);
}

/* The field of this level and all above it, at the corners of this level: exact, as functions of a level above are
 * functions of this one. The level above is given up. */
static splat_status sum_field(poisson_job *job, poisson_field *field, const poisson_octree *tree, int d)
{
    uint32_t n = tree->level[d].n_corners;
    float (*sum)[3] = NULL;
    SPLAT_TRY(poisson_alloc(job, &sum, n, sizeof *sum));
    interpolate_down(tree, d, job->options->threads, 3, field->normal[d - 1][0], sum[0]);
#pragma omp parallel for num_threads(job->options->threads) schedule(static)
    for (uint32_t i = 0; i < n; i++)
        for (int a = 0; a < 3; a++) field->normal[d][i][a] += sum[i][a];
    poisson_free(job, sum);
    poisson_free(job, field->normal[d - 1]);
    field->normal[d - 1] = NULL;
    return SPLAT_OK;
}

static splat_status solve_level(poisson_job *job, float *values[POISSON_MAX_LEVELS], const poisson_octree *tree,
                                poisson_field *field, const uint8_t *is_empty, int d, double begin,
                                double share, splat_poisson_report *report)
{
    const poisson_level *level = &tree->level[d];
    uint32_t n = level->n_corners;
    solver s = {.job = job, .begin = begin, .share = share, .level = level, .screen = field->screen[d],
                .n_screens = field->n_screens[d], .side = ldexpf(1, -d), .right = field->finer[d]};
    s.threads = n < 8 * POISSON_CHUNK ? 1 : job->options->threads; /* less work than waking them is */
    splat_status status = SPLAT_OK;
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &values[d], n, sizeof(float)));
    if (d > 0) {
        SPLAT_TRY_GOTO(status, end, sum_field(job, field, tree, d));
        interpolate_down(tree, d, s.threads, 1, values[d - 1], values[d]);
    }
    add_divergence(&s, (const float (*)[3])field->normal[d]);
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &s.free_corner, n, 1));
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &s.diagonal, n, sizeof(float)));
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &s.residual, n, sizeof(float)));
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &s.direction, n, sizeof(float)));
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &s.product, n, sizeof(float)));
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &s.partial, n / POISSON_CHUNK + 1, sizeof(double)));
    SPLAT_TRY_GOTO(status, end, poisson_alloc(job, &s.screens, level->unit_first[8], sizeof *s.screens));
    find_screens(&s);
    find_unknowns(&s, d);
    if (is_empty) keep_outside(&s, is_empty, values[d]);
    make_diagonal(&s);
    status = conjugate_gradients(&s, values[d], &report->iterations[d], &report->residual[d]);
end:
    poisson_free(job, s.screens);
    poisson_free(job, s.free_corner);
    poisson_free(job, s.diagonal);
    poisson_free(job, s.residual);
    poisson_free(job, s.direction);
    poisson_free(job, s.product);
    poisson_free(job, s.partial);
    return status;
}

splat_status poisson_solve(poisson_job *job, float *values[POISSON_MAX_LEVELS], const poisson_octree *tree,
                           poisson_field *field, const poisson_envelope *envelope, splat_poisson_report *report)
{
    double done = 0, work = 0;
    for (int d = 0; d < tree->n_levels; d++) work += tree->level[d].n_cells;
    for (int d = 0; d < tree->n_levels; d++) {
        double begin = 0.3 + 0.4 * done / work, share = 0.4 * tree->level[d].n_cells / work;
        SPLAT_TRY(poisson_progress(job, "solve", begin));
        SPLAT_TRY(solve_level(job, values, tree, field, envelope->is_empty[d], d, begin, share, report));
        poisson_free(job, field->finer[d]);
        poisson_free(job, field->screen[d]);
        field->finer[d] = NULL;
        field->screen[d] = NULL;
        done += tree->level[d].n_cells;
    }
    return SPLAT_OK;
}
