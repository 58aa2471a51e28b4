/* The screened Poisson equation, level by level from the top (cascadic multigrid): the level above is the first guess
 * and, at corners that miss a cell of this level, the boundary; then conjugate gradients. On deep levels only a layer a
 * few cells thick is solved between such boundaries, so that a few iterations do. */
#include "mesh/poisson/poisson_parts.h"

#include <math.h>
#include <string.h>

/* The error left is far below that of the points; a level above the full depth starts with more to correct. */
#define TOLERANCE 1e-3
enum { MAX_ITERATIONS = 60 };

typedef struct solver {
    poisson_job *job;
    double begin, share; /* of the progress */
    const poisson_level *level;
    const poisson_screen *screen;
    const size_t *screen_first;
    float side;
    int threads;
    uint8_t *free_corner; /* 1: unknown, 0: kept */
    float *right, *diagonal, *residual, *direction, *product;
    double *partial; /* sums of POISSON_CHUNK entries */
} solver;

/* A cell's stiffness is side * (1/3 at a corner with itself, 0 along edges, -1/12 along diagonals). Groups of eight
 * cells at once: each of their 27 corners is read and written once. Groups whose parents have one colour share none. */
static void multiply_group(const solver *s, size_t group, const float *x, float *y)
{
    const uint32_t *corner = s->level->corner[group];
    int n_cells = s->level->n_cells < 8 ? 1 : 8;
    float in[27], out[27] = {0};
    for (int k = 0; k < 27; k++) in[k] = x[corner[k]];
    for (int o = 0; o < n_cells; o++)
        for (int c = 0; c < 8; c++) {
            const float *v = in + poisson_place[o];
            out[poisson_place[o] + poisson_place[c]] +=
                v[poisson_place[c]] * (1.0f / 3) - (1.0f / 12) * (v[poisson_place[c ^ 3]] + v[poisson_place[c ^ 5]] +
                                                                  v[poisson_place[c ^ 6]] + v[poisson_place[c ^ 7]]);
        }
    for (int k = 0; k < 27; k++) y[corner[k]] += s->side * out[k]; /* the root's other 19 add 0 to corner 0 */
}

/* A level's matrix times x: stiffness of the trilinear functions and the pull of the samples. */
static void multiply(const solver *s, const float *x, float *y)
{
    const poisson_level *level = s->level;
#pragma omp parallel for num_threads(s->threads) schedule(static)
    for (uint32_t i = 0; i < level->n_corners; i++) y[i] = 0;
    for (uint32_t colour = 0; colour < 8; colour++)
#pragma omp parallel for num_threads(s->threads) schedule(static)
        for (size_t g = 0; g < poisson_groups(level); g++)
            if ((level->parent ? level->parent[g] & 7 : 0) == colour) multiply_group(s, g, x, y);
    for (uint32_t colour = 0; colour < 8; colour++)
#pragma omp parallel for num_threads(s->threads) schedule(static)
        for (size_t k = s->screen_first[colour]; k < s->screen_first[colour + 1]; k++) {
            const poisson_screen *screen = &s->screen[k];
            float value = screen->weight * poisson_interpolate(level, screen->cell, screen->corner, x);
            for (int c = 0; c < 8; c++) y[poisson_corner(level, screen->cell, c)] += screen->corner[c] * value;
        }
}

static void make_diagonal(const solver *s)
{
    const poisson_level *level = s->level;
    for (uint32_t colour = 0; colour < 8; colour++) {
#pragma omp parallel for num_threads(s->threads) schedule(static)
        for (uint32_t i = colour; i < level->n_cells; i += 8)
            for (int c = 0; c < 8; c++) s->diagonal[poisson_corner(level, i, c)] += s->side / 3;
#pragma omp parallel for num_threads(s->threads) schedule(static)
        for (size_t k = s->screen_first[colour]; k < s->screen_first[colour + 1]; k++)
            for (int c = 0; c < 8; c++)
                s->diagonal[poisson_corner(level, s->screen[k].cell, c)] +=
                    s->screen[k].weight * s->screen[k].corner[c] * s->screen[k].corner[c];
    }
}

/* A corner is unknown when no cell around it is missing but for those beyond the cube. */
static void find_unknowns(const solver *s, int d)
{
    const poisson_level *level = s->level;
    for (uint32_t colour = 0; colour < 8; colour++) /* cells around */
#pragma omp parallel for num_threads(s->threads) schedule(static)
        for (uint32_t i = colour; i < level->n_cells; i += 8)
            for (int c = 0; c < 8; c++) s->free_corner[poisson_corner(level, i, c)]++;
    for (uint32_t colour = 0; colour < 8; colour++)
#pragma omp parallel for num_threads(s->threads) schedule(static)
        for (uint32_t i = colour; i < level->n_cells; i += 8) {
            int coordinates[3];
            poisson_cell_coordinates(level, i, coordinates);
            for (int c = 0; c < 8; c++) {
                int expected = 8;
                for (int a = 0; a < 3; a++) {
                    int at = coordinates[a] + (c >> a & 1);
                    if (at == 0 || at == 1 << d) expected >>= 1;
                }
                /* from here the top bit tells; a later cell of the corner finds it set or the count as it was */
                uint8_t *corner = &s->free_corner[poisson_corner(level, i, c)];
                if (*corner == expected) *corner |= 0x80;
            }
        }
#pragma omp parallel for num_threads(s->threads) schedule(static)
    for (uint32_t i = 0; i < level->n_corners; i++) s->free_corner[i] >>= 7;
}

static void add_divergence(const solver *s, const float (*field)[3])
{
    const poisson_level *level = s->level;
    for (uint32_t colour = 0; colour < 8; colour++)
#pragma omp parallel for num_threads(s->threads) schedule(static)
        for (uint32_t i = colour; i < level->n_cells; i += 8) {
            float vectors[8][3], right[8];
            for (int c = 0; c < 8; c++) memcpy(vectors[c], field[poisson_corner(level, i, c)], sizeof vectors[c]);
            poisson_cell_divergence(vectors, s->side, right);
            for (int c = 0; c < 8; c++) s->right[poisson_corner(level, i, c)] += right[c];
        }
}

/* Sum of a * b, of b / diagonal instead when diagonal is given; in double, in an order of its own. */
static double dot(const solver *s, const float *a, const float *b, const float *diagonal)
{
    size_t n = s->level->n_corners, n_chunks = (n + POISSON_CHUNK - 1) / POISSON_CHUNK;
    double sum = 0;
#pragma omp parallel for num_threads(s->threads) schedule(static)
    for (size_t k = 0; k < n_chunks; k++) {
        size_t end = (k + 1) * POISSON_CHUNK < n ? (k + 1) * POISSON_CHUNK : n;
        double part = 0;
        for (size_t i = k * POISSON_CHUNK; i < end; i++)
            part += (double)a[i] * (diagonal ? b[i] / diagonal[i] : b[i]);
        s->partial[k] = part;
    }
    for (size_t k = 0; k < n_chunks; k++) sum += s->partial[k];
    return sum;
}

/* Conjugate gradients with the diagonal as preconditioner (Hestenes, Stiefel 1952). x is right at kept corners. */
static splat_status conjugate_gradients(const solver *s, float *x, int *n_iterations, double *reduction)
{
    uint32_t n = s->level->n_corners;
    int iteration = 0;
    multiply(s, x, s->product);
#pragma omp parallel for num_threads(s->threads) schedule(static)
    for (uint32_t i = 0; i < n; i++) {
        s->residual[i] = s->free_corner[i] ? s->right[i] - s->product[i] : 0;
        s->direction[i] = s->residual[i] / s->diagonal[i];
    }
    double rho = dot(s, s->residual, s->residual, s->diagonal), first = rho;
    for (; iteration < MAX_ITERATIONS && rho > TOLERANCE * TOLERANCE * first; iteration++) {
        /* most levels are done after ten or so */
        SPLAT_TRY(poisson_progress(s->job, "solve", s->begin + s->share * iteration / (iteration + 5.0)));
        multiply(s, s->direction, s->product);
        double curvature = dot(s, s->direction, s->product, NULL);
        if (!(curvature > 0)) break; /* nothing left but rounding */
        float step = (float)(rho / curvature);
#pragma omp parallel for num_threads(s->threads) schedule(static)
        for (uint32_t i = 0; i < n; i++) {
            x[i] += step * s->direction[i];
            if (s->free_corner[i]) s->residual[i] -= step * s->product[i];
        }
        double next = dot(s, s->residual, s->residual, s->diagonal);
        float keep = (float)(next / rho);
        rho = next;
#pragma omp parallel for num_threads(s->threads) schedule(static)
        for (uint32_t i = 0; i < n; i++)
            s->direction[i] = s->residual[i] / s->diagonal[i] + keep * s->direction[i];
    }
    *reduction = first > 0 ? sqrt(rho / first) : 0;
    *n_iterations = iteration;
    return SPLAT_OK;
}

/* Values at the corners of level d from those of the level above, `width` floats a corner. The axes are averaged in a
 * fixed order, so that cells on both sides of a face write the same bits. */
static void interpolate_down(const poisson_octree *tree, int d, int threads, int width, const float *above, float *out)
{
    const poisson_level *level = &tree->level[d];
    for (uint32_t colour = 0; colour < 8; colour++)
#pragma omp parallel for num_threads(threads) schedule(static)
        for (uint32_t i = colour; i < level->n_cells; i += 8) {
            uint32_t from[8];
            for (int k = 0; k < 8; k++) from[k] = poisson_corner(&tree->level[d - 1], level->parent[i >> 3], k);
            for (int w = 0; w < width; w++)
                for (int c = 0; c < 8; c++) {
                    float v[8];
                    for (int k = 0; k < 8; k++) v[k] = above[(size_t)width * from[k] + (size_t)w];
                    for (int a = 0, n = 4; a < 3; a++, n /= 2) { /* the lowest bit is the next axis */
                        int half = (int)(colour >> a & 1) + (c >> a & 1);
                        for (int k = 0; k < n; k++)
                            v[k] = half == 0 ? v[2 * k] : half == 2 ? v[2 * k + 1] : 0.5f * (v[2 * k] + v[2 * k + 1]);
                    }
                    out[(size_t)width * poisson_corner(level, i, c) + (size_t)w] = v[0];
                }
        }
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
                                poisson_field *field, int d, double begin, double share,
                                splat_poisson_report *report)
{
    const poisson_level *level = &tree->level[d];
    uint32_t n = level->n_corners;
    solver s = {.job = job, .begin = begin, .share = share, .level = level, .screen = field->screen[d],
                .screen_first = field->screen_first[d], .side = ldexpf(1, -d), .right = field->finer[d]};
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
    find_unknowns(&s, d);
    make_diagonal(&s);
    status = conjugate_gradients(&s, values[d], &report->iterations[d], &report->residual[d]);
end:
    poisson_free(job, s.free_corner);
    poisson_free(job, s.diagonal);
    poisson_free(job, s.residual);
    poisson_free(job, s.direction);
    poisson_free(job, s.product);
    poisson_free(job, s.partial);
    return status;
}

splat_status poisson_solve(poisson_job *job, float *values[POISSON_MAX_LEVELS], const poisson_octree *tree,
                           poisson_field *field, splat_poisson_report *report)
{
    double done = 0, work = 0;
    for (int d = 0; d < tree->n_levels; d++) work += tree->level[d].n_cells;
    for (int d = 0; d < tree->n_levels; d++) {
        double begin = 0.3 + 0.4 * done / work, share = 0.4 * tree->level[d].n_cells / work;
        SPLAT_TRY(poisson_progress(job, "solve", begin));
        SPLAT_TRY(solve_level(job, values, tree, field, d, begin, share, report));
        poisson_free(job, field->finer[d]);
        poisson_free(job, field->screen[d]);
        field->finer[d] = NULL;
        field->screen[d] = NULL;
        done += tree->level[d].n_cells;
    }
    return SPLAT_OK;
}
