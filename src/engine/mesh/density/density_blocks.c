/* First the Gaussians name the blocks they matter for; then every block gets the list of those that reach it, and sums
 * their densities by itself, in the order of the list: no sum depends on threads. The same lists give the exact density
 * around a block's vertices. */
#include "mesh/density/density_mesh.h"

#include "base/checked.h"
#include "math/density.h"
#include "mesh/density/density_vertices.h"
#include "mesh/marching_cubes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_SHARE 1e-3 /* of density: less of a Gaussian is left out; a hundredth of the level if that is less */
#define LARGEST_SHARE 0.25 /* of the box that Gaussians may reach through on average */
#define WORTH_A_CHECK 1e7  /* pairs of a Gaussian and a block: fewer take no time */
#define BLOCK_SHARE 32.0 /* a block exists for a Gaussian that gives this part of the level in it */
enum { MAX_REFINEMENTS = 16, VERTEX_BYTES = 60, TYPICAL_VERTICES = 80 }; /* the last: of a block */

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

/* Whether a block has a part within the reach; sometimes true when it just lacks one. Along its axes, the Gaussian is a
 * ball, and the block is inside a box. */
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
        if (i % 65536 == 0) SPLAT_TRY(density_tell(j, "placing voxels", (double)i / (double)j->n_gaussians, error));
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
        SPLAT_TRY(density_tell(j, "summing density", (double)begin / (double)j->grid.n_blocks, error));
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
    SPLAT_TRY(density_tell(j, "marching cubes", 0, error));
    const splat_marching_cubes_options cubes = {(float)j->level, false, 0, j->options->threads};
    SPLAT_TRY(splat_marching_cubes(&j->grid, &cubes, mesh, error));
    if (mesh->n_faces == 0)
        return splat_fail(error, SPLAT_ERROR_NUMERIC, "the density passes the level %g nowhere in the box; use a lower "
                          "level, smaller voxels or another box", j->options->level);
    return density_finish_vertices(j, mesh, error);
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
