/* First the Gaussians name the blocks they matter for; then every block gets the list of those that reach it, and sums
 * their densities by itself, in the order of the list: no sum depends on threads. The same lists give the exact density
 * around a block's vertices. */
#include "mesh/density_mesh.h"

#include "base/checked.h"
#include "math/density.h"
#include "mesh/marching_cubes.h"
#include "mesh/voxel_grid.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_SHARE 1e-3 /* of density: less of a Gaussian is left out; a hundredth of the level if that is less */
#define LARGEST_SHARE 0.25 /* of the box that Gaussians may reach through on average */
#define WORTH_A_CHECK 1e7  /* pairs of a Gaussian and a block: fewer take no time */
#define BLOCK_SHARE 32.0 /* a block exists for a Gaussian that gives this part of the level in it */
enum { MAX_REFINEMENTS = 16, VERTEX_BYTES = 60, TYPICAL_VERTICES = 80 }; /* the last: of a block */

/* A Gaussian that takes part. */
typedef struct density_gaussian {
    float mean[3];
    float rows[9];    /* row k: axis k over its deviation, so that row . (p - mean) is in deviations */
    float opacity;
    float reach2;     /* squared deviations where its share ends */
    uint8_t color[4];
} density_gaussian;

/* A Gaussian near an edge of the grid: its squared deviations at t along the edge, from 0 to 1, are
 * power + slope t + bend t^2. */
typedef struct density_nearby {
    const density_gaussian *gaussian;
    double power, slope, bend;
} density_nearby;

typedef struct density_job {
    const splat_density_mesh_input *input;
    const splat_density_mesh_options *options;
    double level;          /* as marching cubes knows it, in float32 */
    density_gaussian *gaussians;
    size_t n_gaussians, n_not_finite;
    splat_voxel_grid grid;
    int64_t n_samples[3];  /* of the box, along each axis */
    size_t *first;         /* [n_blocks + 1]: the Gaussians of block b are list[first[b]] ... */
    uint32_t *list;
    size_t longest;        /* of the lists */
    density_nearby *nearby; /* [threads][longest] */
    uint64_t bytes;
} density_job;

void splat_density_mesh_options_init(splat_density_mesh_options *options)
{
    *options = (splat_density_mesh_options){.level = 0.3, .least_scale = 0.5, .refinements = 2, .threads = 1};
}

static splat_status check(const splat_density_mesh_input *input, const splat_density_mesh_options *o,
                          splat_error *error)
{
    if (!(o->level >= 1e-6 && o->level <= 1e6))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the level of a density must be 1e-6 to 1e6, not %g", o->level);
    if (!(o->least_scale >= 0) || !isfinite(o->least_scale))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "Gaussians can be made at least 0 voxels thick or more, not %g",
                          o->least_scale);
    if (o->refinements < 0 || o->refinements > MAX_REFINEMENTS || o->threads < 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a mesh of a density takes 0 to %d refinements and a thread, "
                          "not %d and %d", MAX_REFINEMENTS, o->refinements, o->threads);
    if (!(o->voxel_size > 0) || !isfinite(o->voxel_size))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a voxel must have a size above 0, not %g", o->voxel_size);
    if (input->n >= UINT32_MAX)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a density is made of less than 2^32 - 1 Gaussians, not %zu",
                          input->n);
    for (int k = 0; k < 3; k++) {
        if (!isfinite(o->low[k]) || !isfinite(o->high[k]) || !(o->low[k] < o->high[k]))
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the box of a density is empty: from %g to %g", o->low[k],
                              o->high[k]);
        if ((o->high[k] - o->low[k]) / o->voxel_size >= (double)SPLAT_BLOCK_LIMIT * SPLAT_BLOCK_SIDE - 1)
            return splat_fail(error, SPLAT_ERROR_ARGUMENT, "voxels of %g are too small for a box of %g; use larger "
                              "ones", o->voxel_size, o->high[k] - o->low[k]);
    }
    return SPLAT_OK;
}

static splat_status tell(const density_job *j, const char *stage, double fraction, splat_error *error)
{
    if (!j->options->progress || j->options->progress(j->options->progress_user, stage, fraction)) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_STOPPED, "stopped: %s", stage);
}

static splat_status add_bytes(density_job *j, uint64_t bytes, splat_error *error)
{
    j->bytes += bytes;
    if (j->options->memory_limit_bytes && j->bytes > j->options->memory_limit_bytes)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "a mesh of the density with voxels of %g needs more than %.1f MB, "
                          "and the limit is %.1f MB; use larger voxels, a smaller box or a larger limit",
                          j->options->voxel_size, (double)j->bytes / 1e6, (double)j->options->memory_limit_bytes / 1e6);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- Gaussians */

/* Half the sides of the box around what is within so many deviations, to the square. */
static void extents(const density_gaussian *g, double reach2, double out[3])
{
    double sums[3] = {0, 0, 0};
    for (int k = 0; k < 3; k++) {
        const float *row = g->rows + 3 * k;
        double inverse2 = 0;
        for (int a = 0; a < 3; a++) inverse2 += (double)row[a] * (double)row[a];
        for (int a = 0; a < 3; a++) sums[a] += (double)row[a] / inverse2 * ((double)row[a] / inverse2);
    }
    for (int a = 0; a < 3; a++) out[a] = sqrt(reach2 * sums[a]);
}

/* Squared deviations where a Gaussian is down to a density; not above 0: it is nowhere so dense. */
static double reach_of(float opacity, double density)
{
    return 2 * log((double)opacity / density);
}

/* False when it does not take part. */
static bool take_gaussian(density_job *j, size_t i, density_gaussian *g)
{
    const splat_density_mesh_input *in = j->input;
    splat_density_kernel kernel =
        splat_density_kernel_make(in->means + 3 * i, in->scales + 3 * i, in->rotations + 4 * i, in->opacities[i]);
    double thinnest = j->options->least_scale * j->options->voxel_size, least = j->options->level / 100, box[3];
    if (least > LEAST_SHARE) least = LEAST_SHARE;
    memset(g, 0, sizeof *g);
    memcpy(g->mean, kernel.mean, sizeof g->mean);
    bool is_finite = isfinite(kernel.opacity);
    for (int k = 0; k < 3; k++) {
        double scale = fmax(fmax((double)kernel.scale[k], thinnest), (double)SPLAT_DENSITY_LEAST_SCALE);
        is_finite = is_finite && isfinite(kernel.mean[k]) && isfinite(kernel.scale[k]);
        for (int a = 0; a < 3; a++) {
            g->rows[3 * k + a] = (float)((double)kernel.axes[3 * k + a] / scale);
            is_finite = is_finite && isfinite(g->rows[3 * k + a]);
        }
    }
    j->n_not_finite += !is_finite;
    g->opacity = kernel.opacity;
    g->reach2 = (float)reach_of(kernel.opacity, least);
    if (!is_finite || !(g->reach2 > 0)) return false;
    extents(g, (double)g->reach2, box);
    for (int a = 0; a < 3; a++)
        if ((double)g->mean[a] + box[a] < j->options->low[a] || (double)g->mean[a] - box[a] > j->options->high[a])
            return false;
    if (in->colors) memcpy(g->color, in->colors + 3 * i, 3);
    return true;
}

static splat_status take_gaussians(density_job *j, splat_error *error)
{
    size_t bytes;
    j->gaussians = splat_size_mul(j->input->n, sizeof *j->gaussians, &bytes) ? malloc(bytes + 1) : NULL;
    if (!j->gaussians)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the density of %zu Gaussians", j->input->n);
    SPLAT_TRY(add_bytes(j, bytes, error));
    for (size_t i = 0; i < j->input->n; i++)
        if (take_gaussian(j, i, &j->gaussians[j->n_gaussians])) j->n_gaussians++;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- blocks */

typedef splat_status block_visitor(density_job *j, const int32_t block[3], uint32_t gaussian_index, splat_error *error);

/* A block counts with one voxel more on each side: the cells that it has a part in lie inside. */
static const double block_middle = 0.5 * (SPLAT_BLOCK_SIDE - 1), block_half = 0.5 * (SPLAT_BLOCK_SIDE + 1);

/* True if a block has a part within the reach; also true for some blocks that just lack one. Along its axes the
 * Gaussian is a ball, and the block lies inside a box. */
static bool is_reached(const density_gaussian *g, double reach2, const float middle[3], float half)
{
    float sum = 0;
    for (int k = 0; k < 3; k++) {
        const float *row = g->rows + 3 * k;
        float y = row[0] * middle[0] + row[1] * middle[1] + row[2] * middle[2];
        float outside = fabsf(y) - half * (fabsf(row[0]) + fabsf(row[1]) + fabsf(row[2]));
        if (outside > 0) sum += outside * outside;
    }
    return (double)sum <= reach2;
}

/* The blocks from[] .. to[] of the box around what a Gaussian reaches; none when a from is above its to. */
static void block_range(const density_job *j, const density_gaussian *g, double reach2, int32_t from[3], int32_t to[3])
{
    double voxel = j->options->voxel_size, box[3];
    extents(g, reach2, box);
    for (int a = 0; a < 3; a++) {
        double mean = ((double)g->mean[a] - j->options->low[a]) / voxel, half = box[a] / voxel;
        double last = (double)((j->n_samples[a] - 1) / SPLAT_BLOCK_SIDE);
        from[a] = (int32_t)fmin(fmax(ceil((mean - half - SPLAT_BLOCK_SIDE) / SPLAT_BLOCK_SIDE), 0), last + 1);
        to[a] = (int32_t)fmax(fmin(floor((mean + half + 1) / SPLAT_BLOCK_SIDE), last), -1);
    }
}

/* Gaussians that reach through the whole box on average make no surface, and would take hours to say so. */
static splat_status check_reach(const density_job *j, splat_error *error)
{
    double all = 1, visited = 0;
    for (int a = 0; a < 3; a++) all *= (double)((j->n_samples[a] - 1) / SPLAT_BLOCK_SIDE + 1);
    for (size_t i = 0; i < j->n_gaussians; i++) {
        int32_t from[3], to[3];
        double n = 1;
        block_range(j, &j->gaussians[i], (double)j->gaussians[i].reach2, from, to);
        for (int a = 0; a < 3; a++) n *= (double)(to[a] < from[a] ? 0 : to[a] - from[a] + 1);
        visited += n;
    }
    double share = j->n_gaussians ? visited / all / (double)j->n_gaussians : 0;
    if (share < LARGEST_SHARE || visited < WORTH_A_CHECK) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_NUMERIC,
                      "the Gaussians reach through %.0f %% of the box on average, so their density has no surface in "
                      "it; use a larger box, or a splat whose Gaussians are small against it", 100 * share);
}

/* Visits the blocks of the box that the Gaussian reaches. */
static splat_status visit_blocks(density_job *j, uint32_t index, double reach2, block_visitor *visit,
                                 splat_error *error)
{
    const density_gaussian *g = &j->gaussians[index];
    double voxel = j->options->voxel_size;
    float half_side = (float)(block_half * voxel);
    int32_t from[3], to[3], block[3];
    block_range(j, g, reach2, from, to);
    for (block[2] = from[2]; block[2] <= to[2]; block[2]++)
        for (block[1] = from[1]; block[1] <= to[1]; block[1]++)
            for (block[0] = from[0]; block[0] <= to[0]; block[0]++) {
                float middle[3];
                for (int a = 0; a < 3; a++)
                    middle[a] = (float)(j->options->low[a] - (double)g->mean[a] +
                                        voxel * ((double)block[a] * SPLAT_BLOCK_SIDE + block_middle));
                if (is_reached(g, reach2, middle, half_side)) SPLAT_TRY(visit(j, block, index, error));
            }
    return SPLAT_OK;
}

static splat_status touch(density_job *j, const int32_t block[3], uint32_t index, splat_error *error)
{
    (void)index;
    return splat_voxel_grid_touch(&j->grid, block, error);
}

static splat_status count(density_job *j, const int32_t block[3], uint32_t index, splat_error *error)
{
    (void)index, (void)error;
    uint32_t number = splat_voxel_grid_find(&j->grid, block);
    if (number == SPLAT_NO_BLOCK) return SPLAT_OK;
#pragma omp atomic
    j->first[number + 1]++;
    return SPLAT_OK;
}

/* While lists are filled, first[b] runs to the end of the list of block b. */
static splat_status list(density_job *j, const int32_t block[3], uint32_t index, splat_error *error)
{
    (void)error;
    size_t at;
    uint32_t number = splat_voxel_grid_find(&j->grid, block);
    if (number == SPLAT_NO_BLOCK) return SPLAT_OK;
#pragma omp atomic capture
    at = j->first[number]++;
    j->list[at] = index;
    return SPLAT_OK;
}

static splat_status place_blocks(density_job *j, splat_error *error)
{
    const splat_density_mesh_options *o = j->options;
    uint64_t left = o->memory_limit_bytes ? o->memory_limit_bytes - j->bytes : SIZE_MAX;
    for (int a = 0; a < 3; a++)
        j->n_samples[a] = (int64_t)floor((o->high[a] - o->low[a]) / o->voxel_size + 1e-6) + 1;
    SPLAT_TRY(check_reach(j, error));
    SPLAT_TRY(splat_voxel_grid_init(&j->grid, o->low, o->voxel_size, false, (size_t)left, error));
    for (size_t i = 0; i < j->n_gaussians; i++) {
        double reach2 = reach_of(j->gaussians[i].opacity, o->level / BLOCK_SHARE);
        if (i % 65536 == 0) SPLAT_TRY(tell(j, "placing voxels", (double)i / (double)j->n_gaussians, error));
        if (reach2 > 0) SPLAT_TRY(visit_blocks(j, (uint32_t)i, reach2, touch, error));
    }
    if (j->grid.n_blocks == 0)
        return splat_fail(error, SPLAT_ERROR_NUMERIC, "no Gaussian in the box reaches the level %g; use a lower level "
                          "or another box", o->level);
    return add_bytes(j, splat_voxel_grid_bytes(&j->grid) + splat_marching_cubes_bytes(&j->grid), error);
}

static void visit_all(density_job *j, block_visitor *visit)
{
#pragma omp parallel for num_threads(j->options->threads) schedule(dynamic, 256)
    for (size_t i = 0; i < j->n_gaussians; i++)
        visit_blocks(j, (uint32_t)i, (double)j->gaussians[i].reach2, visit, NULL);
}

/* The lengths of the lists, as first[b + 1] - first[b]. */
static splat_status count_lists(density_job *j, splat_error *error)
{
    size_t n = j->grid.n_blocks;
    j->first = calloc(n + 1, sizeof *j->first);
    if (!j->first)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the lists of %zu blocks of voxels", n);
    visit_all(j, count);
    for (size_t b = 0; b < n; b++) {
        if (j->first[b + 1] > j->longest) j->longest = j->first[b + 1];
        j->first[b + 1] += j->first[b];
    }
    return add_bytes(j, (n + 1) * sizeof *j->first + j->first[n] * sizeof *j->list +
                     (size_t)j->options->threads * j->longest * sizeof *j->nearby, error);
}

static int compare_indices(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Threads write the lists in any order; sorting gives them the one order. */
static splat_status fill_lists(density_job *j, splat_error *error)
{
    size_t n = j->grid.n_blocks;
    j->list = malloc(j->first[n] * sizeof *j->list + 1);
    j->nearby = malloc((size_t)j->options->threads * j->longest * sizeof *j->nearby + 1);
    if (!j->list || !j->nearby)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for lists of %zu Gaussians", j->first[n]);
    visit_all(j, list);
    memmove(j->first + 1, j->first, n * sizeof *j->first); /* ends are the beginnings of the next ones */
    j->first[0] = 0;
#pragma omp parallel for num_threads(j->options->threads) schedule(dynamic, 64)
    for (size_t b = 0; b < n; b++)
        qsort(j->list + j->first[b], j->first[b + 1] - j->first[b], sizeof *j->list, compare_indices);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- density */

/* Adds a Gaussian to the samples of a block; `start` is the first one's place from the mean. */
static void add_to_block(const density_gaussian *g, const float start[3], float voxel,
                         float density[SPLAT_BLOCK_VOXELS])
{
    float steps[3][3], origin[3]; /* [axis of the grid][axis of the Gaussian], in deviations */
    float length2 = 0;            /* of a step along x */
    for (int k = 0; k < 3; k++) {
        const float *row = g->rows + 3 * k;
        origin[k] = row[0] * start[0] + row[1] * start[1] + row[2] * start[2];
        for (int a = 0; a < 3; a++) steps[a][k] = row[a] * voxel;
        length2 += steps[0][k] * steps[0][k];
    }
    for (int line = 0; line < SPLAT_BLOCK_SIDE * SPLAT_BLOCK_SIDE; line++) {
        float y[3], along = 0, nearest2 = 0;
        for (int k = 0; k < 3; k++) {
            y[k] = origin[k] + (float)(line % SPLAT_BLOCK_SIDE) * steps[1][k] +
                   (float)(line / SPLAT_BLOCK_SIDE) * steps[2][k];
            along -= y[k] * steps[0][k];
        }
        along = splat_clamp(along / length2, 0, SPLAT_BLOCK_SIDE - 1); /* where the line comes nearest */
        for (int k = 0; k < 3; k++) {
            float at = y[k] + along * steps[0][k];
            nearest2 += at * at;
        }
        if (nearest2 > g->reach2) continue;
        float *samples = density + line * SPLAT_BLOCK_SIDE;
        for (int x = 0; x < SPLAT_BLOCK_SIDE; x++) {
            float power = 0;
            for (int k = 0; k < 3; k++) {
                float at = y[k] + (float)x * steps[0][k];
                power += at * at;
            }
            if (power <= g->reach2) samples[x] += g->opacity * expf(-0.5f * power);
        }
    }
}

/* Samples outside of the box stay unknown. */
static void fill_block(const density_job *j, size_t b)
{
    int32_t at[3];
    double place[3];
    float *density = j->grid.values + b * SPLAT_BLOCK_VOXELS, *weights = j->grid.weights + b * SPLAT_BLOCK_VOXELS;
    splat_block_coordinates(j->grid.keys[b], at);
    splat_voxel_position(&j->grid, b, 0, place);
    for (size_t i = j->first[b]; i < j->first[b + 1]; i++) {
        const density_gaussian *g = &j->gaussians[j->list[i]];
        const float start[3] = {(float)(place[0] - (double)g->mean[0]), (float)(place[1] - (double)g->mean[1]),
                                (float)(place[2] - (double)g->mean[2])};
        add_to_block(g, start, (float)j->options->voxel_size, density);
    }
    for (size_t v = 0; v < SPLAT_BLOCK_VOXELS; v++) {
        const int64_t local[3] = {v & 7, v >> 3 & 7, v >> 6};
        weights[v] = 1;
        for (int a = 0; a < 3; a++)
            if ((int64_t)at[a] * SPLAT_BLOCK_SIDE + local[a] >= j->n_samples[a]) weights[v] = 0;
    }
}

enum { BLOCKS_A_PIECE = 4096 };

static splat_status fill_grid(density_job *j, splat_error *error)
{
    for (size_t begin = 0; begin < j->grid.n_blocks; begin += BLOCKS_A_PIECE) {
        size_t end = begin + BLOCKS_A_PIECE < j->grid.n_blocks ? begin + BLOCKS_A_PIECE : j->grid.n_blocks;
        SPLAT_TRY(tell(j, "summing density", (double)begin / (double)j->grid.n_blocks, error));
#pragma omp parallel for num_threads(j->options->threads) schedule(dynamic, 8)
        for (size_t b = begin; b < end; b++) fill_block(j, b);
    }
    return SPLAT_OK;
}

/* Vertices that the surface will have: crossings inside of blocks, and the seventh part more between them. */
static size_t count_crossings(const density_job *j)
{
    size_t n = 0;
    float level = (float)j->level;
#pragma omp parallel for num_threads(j->options->threads) schedule(static) reduction(+ : n)
    for (size_t b = 0; b < j->grid.n_blocks; b++) {
        const float *density = j->grid.values + b * SPLAT_BLOCK_VOXELS;
        for (size_t v = 0; v < SPLAT_BLOCK_VOXELS; v++)
            for (int shift = 0; shift < 9; shift += 3)
                n += (v >> shift & 7) < 7 && (density[v] > level) != (density[v + ((size_t)1 << shift)] > level);
    }
    return n + n / 7 + 1;
}

/* ---------------------------------------------------------------- vertices */

/* Vertices of marching cubes lie where the density would pass the level if it were straight between two samples. Here
 * they move along their edges to where it does, and take normals and colours from the same Gaussians. */

#define EDGE_MARGIN 1e-3 /* vertices stay this far from the ends of their edges, as marching cubes leaves them */
enum { VERTICES_A_PIECE = 65536 };

/* The edge of the grid that a vertex lies on. */
typedef struct grid_edge {
    size_t block, axis;
    double start[3], t;  /* place of the lower end; how far the vertex is, 0 to 1 */
    double below, above; /* density at both ends */
} grid_edge;

static bool sample_at(const density_job *j, const int64_t sample[3], size_t *block, double *density)
{
    int32_t at[3];
    size_t voxel = 0;
    for (int a = 0; a < 3; a++) {
        if (sample[a] < 0 || sample[a] >= j->n_samples[a]) return false;
        at[a] = (int32_t)(sample[a] / SPLAT_BLOCK_SIDE);
        voxel |= (size_t)(sample[a] % SPLAT_BLOCK_SIDE) << 3 * a;
    }
    uint32_t number = splat_voxel_grid_find(&j->grid, at);
    if (number == SPLAT_NO_BLOCK) return false;
    *block = number;
    *density = (double)j->grid.values[(size_t)number * SPLAT_BLOCK_VOXELS + voxel];
    return true;
}

/* From the vertex' place, which float32 may have moved a little. */
static bool find_edge(const density_job *j, const float vertex[3], grid_edge *edge)
{
    int64_t sample[3];
    double aside = -1;
    size_t other;
    for (size_t a = 0; a < 3; a++) {
        double u = ((double)vertex[a] - j->options->low[a]) / j->options->voxel_size;
        sample[a] = (int64_t)floor(u + 0.5);
        if (fabs(u - (double)sample[a]) <= aside) continue;
        aside = fabs(u - (double)sample[a]);
        edge->axis = a;
        edge->t = u - floor(u);
    }
    double u = ((double)vertex[edge->axis] - j->options->low[edge->axis]) / j->options->voxel_size;
    sample[edge->axis] = (int64_t)floor(u);
    if (!sample_at(j, sample, &edge->block, &edge->below)) return false;
    for (size_t a = 0; a < 3; a++)
        edge->start[a] = j->options->low[a] + j->options->voxel_size * (double)sample[a];
    sample[edge->axis]++;
    return sample_at(j, sample, &other, &edge->above);
}

static void place_on(const density_job *j, const grid_edge *edge, double t, double place[3])
{
    memcpy(place, edge->start, sizeof edge->start);
    place[edge->axis] += t * j->options->voxel_size;
}

/* A place along the axes of a Gaussian, in deviations. */
static void place_in(const density_gaussian *g, const double place[3], double y[3])
{
    for (int k = 0; k < 3; k++) {
        const float *row = g->rows + 3 * k;
        y[k] = 0;
        for (int a = 0; a < 3; a++) y[k] += (double)row[a] * (place[a] - (double)g->mean[a]);
    }
}

/* The Gaussians that reach an edge, of those in the list of its block. Returns their number. */
static size_t find_nearby(const density_job *j, const grid_edge *edge, density_nearby *out)
{
    size_t n = 0;
    for (size_t i = j->first[edge->block]; i < j->first[edge->block + 1]; i++) {
        const density_gaussian *g = &j->gaussians[j->list[i]];
        double y[3], power = 0, slope = 0, bend = 0;
        place_in(g, edge->start, y);
        for (size_t k = 0; k < 3; k++) {
            double step = (double)g->rows[3 * k + edge->axis] * j->options->voxel_size;
            power += y[k] * y[k];
            slope += y[k] * step;
            bend += step * step;
        }
        double t = -slope / bend; /* where the edge comes nearest */
        t = t > 0 ? t < 1 ? t : 1 : 0;
        if (power + t * (2 * slope + t * bend) > (double)g->reach2) continue;
        out[n++] = (density_nearby){g, power, 2 * slope, bend};
    }
    return n;
}

static double share_at(const density_nearby *g, double t)
{
    double power = g->power + t * (g->slope + t * g->bend);
    return power <= (double)g->gaussian->reach2 ? (double)g->gaussian->opacity * exp(-0.5 * power) : 0;
}

/* Positive inside. Gaussians fall like parabolas in it, which a straight line meets better than their flanks. */
static double height_of(const density_job *j, double density)
{
    return log(fmax(density / j->level, 0.01));
}

/* Regula falsi (Illinois): where the density passes the level between the ends. */
static double refine(const density_job *j, const grid_edge *edge, const density_nearby *gaussians, size_t n)
{
    double t0 = 0, t1 = 1, f0 = height_of(j, edge->below), f1 = height_of(j, edge->above);
    double t = f0 != f1 ? f0 / (f0 - f1) : edge->t;
    int last = 0; /* which end moved the last time */
    for (int i = 0; i < j->options->refinements; i++) {
        double density = 0;
        for (size_t k = 0; k < n; k++) density += share_at(&gaussians[k], t);
        double f = height_of(j, density);
        if ((f > 0) == (f0 > 0)) {
            t0 = t, f0 = f;
            if (last == -1) f1 *= 0.5;
            last = -1;
        } else {
            t1 = t, f1 = f;
            if (last == 1) f0 *= 0.5;
            last = 1;
        }
        if (f0 != f1) t = t0 + (t1 - t0) * f0 / (f0 - f1);
    }
    return fmin(fmax(t, EDGE_MARGIN), 1 - EDGE_MARGIN);
}

static void shade(const grid_edge *edge, const double place[3], const density_nearby *gaussians, size_t n,
                  splat_mesh *mesh, size_t v)
{
    double outward[3] = {0, 0, 0}, color[3] = {0, 0, 0}, sum = 0, y[3];
    for (size_t i = 0; i < n; i++) {
        const density_gaussian *g = gaussians[i].gaussian;
        double share = share_at(&gaussians[i], edge->t);
        place_in(g, place, y);
        sum += share;
        for (int c = 0; c < 3; c++) {
            color[c] += share * g->color[c];
            for (int k = 0; k < 3; k++) outward[c] += share * y[k] * (double)g->rows[3 * k + c];
        }
    }
    double length = sqrt(outward[0] * outward[0] + outward[1] * outward[1] + outward[2] * outward[2]);
    for (size_t c = 0; c < 3; c++) {
        mesh->normals[3 * v + c] = length > 0 ? (float)(outward[c] / length) : 0;
        if (mesh->colors && sum > 0) mesh->colors[4 * v + c] = (uint8_t)(color[c] / sum + 0.5);
    }
}

static void finish_vertex(const density_job *j, splat_mesh *mesh, size_t v, density_nearby *room)
{
    grid_edge edge = {0};
    double place[3];
    if (!find_edge(j, mesh->vertices + 3 * v, &edge)) return;
    size_t n = find_nearby(j, &edge, room);
    if ((edge.below > j->level) != (edge.above > j->level)) edge.t = refine(j, &edge, room, n);
    place_on(j, &edge, edge.t, place);
    for (size_t c = 0; c < 3; c++) mesh->vertices[3 * v + c] = (float)place[c];
    shade(&edge, place, room, n, mesh, v);
}

static splat_status finish_vertices(density_job *j, splat_mesh *mesh, splat_error *error)
{
    SPLAT_TRY(splat_mesh_require_normals(mesh, error));
    if (j->input->colors) SPLAT_TRY(splat_mesh_require_colors(mesh, error));
    for (size_t begin = 0; begin < mesh->n_vertices; begin += VERTICES_A_PIECE) {
        size_t end = begin + VERTICES_A_PIECE < mesh->n_vertices ? begin + VERTICES_A_PIECE : mesh->n_vertices;
        SPLAT_TRY(tell(j, "refining the surface", (double)begin / (double)mesh->n_vertices, error));
#pragma omp parallel for num_threads(j->options->threads) schedule(dynamic, 256)
        for (size_t v = begin; v < end; v++)
            finish_vertex(j, mesh, v, j->nearby + (size_t)omp_get_thread_num() * j->longest);
    }
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- all of it */

static void free_job(density_job *j)
{
    splat_voxel_grid_free(&j->grid);
    free(j->gaussians);
    free(j->first);
    free(j->list);
    free(j->nearby);
}

static splat_status make_mesh(density_job *j, splat_mesh *mesh, splat_error *error)
{
    SPLAT_TRY(take_gaussians(j, error));
    SPLAT_TRY(place_blocks(j, error));
    SPLAT_TRY(splat_voxel_grid_allocate(&j->grid, error));
    SPLAT_TRY(count_lists(j, error));
    SPLAT_TRY(fill_lists(j, error));
    SPLAT_TRY(fill_grid(j, error));
    SPLAT_TRY(add_bytes(j, (uint64_t)count_crossings(j) * VERTEX_BYTES, error));
    SPLAT_TRY(tell(j, "marching cubes", 0, error));
    const splat_marching_cubes_options cubes = {(float)j->level, false, 0, j->options->threads};
    SPLAT_TRY(splat_marching_cubes(&j->grid, &cubes, mesh, error));
    if (mesh->n_faces == 0)
        return splat_fail(error, SPLAT_ERROR_NUMERIC, "the density passes the level %g nowhere in the box; use a lower "
                          "level, smaller voxels or another box", j->options->level);
    return finish_vertices(j, mesh, error);
}

splat_status splat_density_mesh(const splat_density_mesh_input *input, const splat_density_mesh_options *options,
                                splat_mesh *mesh, splat_density_mesh_report *report, splat_error *error)
{
    density_job j = {.input = input, .options = options, .level = (double)(float)options->level};
    memset(mesh, 0, sizeof *mesh);
    SPLAT_TRY(check(input, options, error));
    splat_status status = make_mesh(&j, mesh, error);
    if (report)
        *report = (splat_density_mesh_report){.n_gaussians = j.n_gaussians,
                                              .n_not_finite = j.n_not_finite,
                                              .n_blocks = j.grid.n_blocks,
                                              .n_listed = j.first ? j.first[j.grid.n_blocks] : 0,
                                              .bytes = j.bytes};
    free_job(&j);
    if (status != SPLAT_OK) splat_mesh_free(mesh);
    return status;
}

splat_status splat_density_mesh_estimate(const splat_density_mesh_input *input,
                                         const splat_density_mesh_options *options, uint64_t *bytes,
                                         splat_error *error)
{
    density_job j = {.input = input, .options = options, .level = (double)(float)options->level};
    SPLAT_TRY(check(input, options, error));
    splat_status status = take_gaussians(&j, error);
    if (status == SPLAT_OK) status = place_blocks(&j, error);
    if (status == SPLAT_OK) status = count_lists(&j, error);
    if (status == SPLAT_OK) *bytes = j.bytes + (uint64_t)j.grid.n_blocks * TYPICAL_VERTICES * VERTEX_BYTES;
    free_job(&j);
    return status;
}
