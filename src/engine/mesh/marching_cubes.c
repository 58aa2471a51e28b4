/* Blocks are independent: a first pass counts the crossings and triangles of each, sums give every block its place in
 * the mesh, a second pass writes. A crossing belongs to the voxel where its edge starts; its vertex is found by the
 * rank of its bit in the block's mask, so that no table of vertices is needed.
 *
 * Tetrahedra would need no table of cases, but twice the triangles; surface nets give better triangles, but not always
 * a manifold. Marching cubes with the table below always does: a vertex lies on one edge of the
 * grid, and the four cells around that edge each have one loop through it. */
#include "mesh/marching_cubes.h"

#include "mesh/mesh_clean_vertices.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- the table of cases */

/* The cases are derived, not typed in. On every face of the cell each run of inside corners is cut off by one segment,
 * a rule that both cells of a face read the same way, so that there are no cracks. The segments chain to loops, and
 * each loop is cut into triangles without a diagonal that lies in a face of the cell: the cell beyond could have the
 * same one, and the edge four triangles. All loops (3 to 7 edges) have such a triangulation. */

enum { MAX_LOOP = 12 };

/* Corner c of a cell lies at (c & 1, c >> 1 & 1, c >> 2). Edge 4a + u + 2v runs along axis a from the corner whose
 * coordinates along axes a + 1 and a + 2 (mod 3) are u and v. */
enum { SPLAT_CELL_EDGES = 12, SPLAT_CELL_TRIANGLES = 5 };

typedef struct splat_cell_case {
    uint8_t n_triangles;
    uint8_t edges[3 * SPLAT_CELL_TRIANGLES]; /* of the triangles' corners, counter-clockwise seen from outside */
} splat_cell_case;

/* The corner where an edge starts; it ends at that corner plus 1 << axis. */
static int splat_cell_edge_start(int edge)
{
    int axis = edge / 4, u = (axis + 1) % 3, v = (axis + 2) % 3;
    return (edge & 1) << u | (edge >> 1 & 1) << v;
}

static int edge_between(int c, int d)
{
    int low = c < d ? c : d, axis = (c ^ d) == 1 ? 0 : (c ^ d) == 2 ? 1 : 2;
    return 4 * axis + (low >> (axis + 1) % 3 & 1) + 2 * (low >> (axis + 2) % 3 & 1);
}

/* next[e]: the edge that the segment from e leads to. Seen from outside, corners go around counter-clockwise. */
static void add_face_segments(int mask, int axis, int side, int8_t next[SPLAT_CELL_EDGES])
{
    static const int around[2][4] = {{0, 2, 3, 1}, {0, 1, 3, 2}}; /* u + 2v, of the low and the high side */
    int corners[4];
    for (int i = 0; i < 4; i++) {
        int uv = around[side][i];
        corners[i] = side << axis | (uv & 1) << (axis + 1) % 3 | (uv >> 1) << (axis + 2) % 3;
    }
    for (int i = 0; i < 4; i++) {
        int last = corners[i], after = corners[(i + 1) % 4], first = i;
        if (!(mask >> last & 1) || mask >> after & 1) continue;
        while (mask >> corners[(first + 3) % 4] & 1) first = (first + 3) % 4; /* ends: `after` is outside */
        next[edge_between(last, after)] = (int8_t)edge_between(corners[(first + 3) % 4], corners[first]);
    }
}

/* True if two edges of the cell lie in one face of it. */
static bool share_face(int e, int f)
{
    for (int axis = 0; axis < 3; axis++) {
        if (e / 4 == axis || f / 4 == axis) continue;
        if ((splat_cell_edge_start(e) >> axis & 1) == (splat_cell_edge_start(f) >> axis & 1)) return true;
    }
    return false;
}

/* Triangulates loop[i..j] over its side i-j; false when every way needs a diagonal in a face. */
static bool triangulate(const uint8_t *loop, int i, int j, splat_cell_case *cell)
{
    if (j - i < 2) return true;
    for (int k = i + 1; k < j; k++) {
        bool left_inner = k - i > 1, right_inner = j - k > 1;
        if ((left_inner && share_face(loop[i], loop[k])) || (right_inner && share_face(loop[k], loop[j]))) continue;
        uint8_t before = cell->n_triangles;
        const uint8_t triangle[3] = {loop[i], loop[j], loop[k]}; /* loops run clockwise, seen from outside */
        memcpy(cell->edges + 3 * cell->n_triangles++, triangle, 3);
        if (triangulate(loop, i, k, cell) && triangulate(loop, k, j, cell)) return true;
        cell->n_triangles = before;
    }
    return false;
}

/* cases[m]: bit c of m says that corner c is inside. */
static void make_cases(splat_cell_case cases[256])
{
    memset(cases, 0, 256 * sizeof *cases);
    for (int mask = 0; mask < 256; mask++) {
        int8_t next[SPLAT_CELL_EDGES];
        memset(next, -1, sizeof next);
        for (int axis = 0; axis < 3; axis++)
            for (int side = 0; side < 2; side++) add_face_segments(mask, axis, side, next);
        for (int e = 0; e < SPLAT_CELL_EDGES; e++) {
            uint8_t loop[MAX_LOOP];
            int n = 0;
            for (int at = e; next[at] >= 0;) { /* each edge is in one loop: it is taken out as it is walked */
                int8_t to = next[at];
                loop[n++] = (uint8_t)at;
                next[at] = -1;
                at = to;
            }
            if (n >= 3) triangulate(loop, 0, n - 1, &cases[mask]);
        }
    }
}

/* ---------------------------------------------------------------- cells */

enum { MASK_WORDS = 3 * SPLAT_BLOCK_VOXELS / 64, PATCH = SPLAT_BLOCK_SIDE + 1, PATCH_VOXELS = PATCH * PATCH * PATCH };

/* Vertices stay this part of an edge away from its ends: a level that is met exactly at a sample would put the vertices
 * of several edges into one place. */
static const float end_margin = 1e-3f;

typedef struct block_crossings {
    uint64_t masks[MASK_WORDS];  /* bit 512 axis + voxel: the surface crosses the edge from the voxel along the axis */
    uint16_t ranks[MASK_WORDS];  /* crossings in the words before */
    uint32_t first_vertex, n_triangles;
    size_t first_triangle;
} block_crossings;

typedef struct extractor {
    const splat_voxel_grid *grid;
    const splat_marching_cubes_options *options;
    splat_cell_case cases[256];
    block_crossings *blocks;
    splat_mesh *mesh;
} extractor;

/* The samples of a block and the first ones of its neighbours. */
typedef struct patch {
    uint32_t blocks[8];          /* of the corners 0 .. 7 of the 2 x 2 x 2 blocks */
    float values[PATCH_VOXELS];
    uint8_t states[PATCH_VOXELS];
} patch;

enum { UNKNOWN, OUTSIDE, INSIDE };

static size_t patch_index(size_t x, size_t y, size_t z)
{
    return x + PATCH * (y + PATCH * z);
}

/* The block (by its number in the patch) and voxel of a place in the patch. */
static size_t voxel_at(size_t x, size_t y, size_t z, size_t *neighbor)
{
    *neighbor = x / 8 | y / 8 << 1 | z / 8 << 2;
    return x % 8 | (y % 8) << 3 | (z % 8) << 6;
}

static void load_patch(const extractor *e, size_t block, patch *p)
{
    int32_t at[3];
    splat_block_coordinates(e->grid->keys[block], at);
    for (int i = 0; i < 8; i++) {
        const int32_t neighbor[3] = {at[0] + (i & 1), at[1] + (i >> 1 & 1), at[2] + (i >> 2)};
        p->blocks[i] = i == 0 ? (uint32_t)block : splat_voxel_grid_find(e->grid, neighbor);
    }
    for (size_t z = 0; z < PATCH; z++)
        for (size_t y = 0; y < PATCH; y++)
            for (size_t x = 0; x < PATCH; x++) {
                size_t neighbor, voxel = voxel_at(x, y, z, &neighbor), i = patch_index(x, y, z);
                p->states[i] = UNKNOWN;
                if (p->blocks[neighbor] == SPLAT_NO_BLOCK) continue;
                size_t sample = (size_t)p->blocks[neighbor] * SPLAT_BLOCK_VOXELS + voxel;
                float value = e->grid->values[sample], weight = e->grid->weights[sample];
                if (!(weight > 0.0f && weight >= e->options->min_weight) || !isfinite(value)) continue;
                bool inside = e->options->inside_is_below ? value < e->options->level : value > e->options->level;
                p->values[i] = value;
                p->states[i] = inside ? INSIDE : OUTSIDE;
            }
}

static const size_t steps[3] = {1, PATCH, PATCH * PATCH};

/* The case of the cell at a place of the patch; 0 (nothing) when a corner is unknown. */
static unsigned cell_case(const patch *p, size_t i)
{
    unsigned mask = 0;
    for (unsigned c = 0; c < 8; c++) {
        uint8_t state = p->states[i + (c & 1) * steps[0] + (c >> 1 & 1) * steps[1] + (c >> 2) * steps[2]];
        if (state == UNKNOWN) return 0;
        if (state == INSIDE) mask |= 1u << c;
    }
    return mask;
}

static void count_block(const extractor *e, size_t block)
{
    patch p;
    block_crossings *out = &e->blocks[block];
    load_patch(e, block, &p);
    memset(out, 0, sizeof *out);
    for (size_t voxel = 0; voxel < SPLAT_BLOCK_VOXELS; voxel++) {
        size_t i = patch_index(voxel & 7, voxel >> 3 & 7, voxel >> 6);
        out->n_triangles += e->cases[cell_case(&p, i)].n_triangles;
        for (size_t axis = 0; axis < 3; axis++) {
            uint8_t here = p.states[i], there = p.states[i + steps[axis]];
            if (here == there || here == UNKNOWN || there == UNKNOWN) continue;
            size_t bit = SPLAT_BLOCK_VOXELS * axis + voxel;
            out->masks[bit / 64] |= (uint64_t)1 << bit % 64;
        }
    }
    for (size_t w = 1; w < MASK_WORDS; w++)
        out->ranks[w] = (uint16_t)(out->ranks[w - 1] + __builtin_popcountll(out->masks[w - 1]));
}

static uint32_t vertex_of(const block_crossings *block, size_t bit)
{
    uint64_t below = block->masks[bit / 64] & (((uint64_t)1 << bit % 64) - 1);
    return block->first_vertex + block->ranks[bit / 64] + (uint32_t)__builtin_popcountll(below);
}

/* Mixes the colours of two samples; one without a colour leaves it to the other. */
static void mix_colors(const extractor *e, size_t from, size_t to, float t, uint8_t *color)
{
    const uint16_t *a = e->grid->colors + 4 * from, *b = e->grid->colors + 4 * to;
    if (!a[3] && !b[3]) return; /* stays white */
    if (!a[3]) t = 1.0f;
    if (!b[3]) t = 0.0f;
    for (int c = 0; c < 3; c++) color[c] = (uint8_t)(((1.0f - t) * (float)a[c] + t * (float)b[c]) / 256.0f + 0.5f);
}

static void write_vertex(const extractor *e, size_t block, size_t voxel, const patch *p, size_t axis, uint32_t vertex)
{
    size_t x = voxel & 7, y = voxel >> 3 & 7, z = voxel >> 6, i = patch_index(x, y, z), neighbor;
    float from = p->values[i], to = p->values[i + steps[axis]];
    float t = (e->options->level - from) / (to - from);
    double position[3];
    if (!(t >= end_margin)) t = end_margin;
    if (t > 1.0f - end_margin) t = 1.0f - end_margin;
    splat_voxel_position(e->grid, block, voxel, position);
    position[axis] += (double)t * e->grid->voxel_size;
    for (size_t c = 0; c < 3; c++) e->mesh->vertices[3 * (size_t)vertex + c] = (float)position[c];
    if (!e->grid->colors) return;
    size_t other = voxel_at(x + (axis == 0), y + (axis == 1), z + (axis == 2), &neighbor);
    mix_colors(e, block * SPLAT_BLOCK_VOXELS + voxel, (size_t)p->blocks[neighbor] * SPLAT_BLOCK_VOXELS + other, t,
               e->mesh->colors + 4 * (size_t)vertex);
}

static uint32_t corner_vertex(const extractor *e, const patch *p, size_t voxel, int edge)
{
    size_t start = (size_t)splat_cell_edge_start(edge), neighbor;
    size_t at = voxel_at((voxel & 7) + (start & 1), (voxel >> 3 & 7) + (start >> 1 & 1), (voxel >> 6) + (start >> 2),
                         &neighbor);
    return vertex_of(&e->blocks[p->blocks[neighbor]], SPLAT_BLOCK_VOXELS * ((size_t)edge / 4) + at);
}

static void write_block(const extractor *e, size_t block)
{
    patch p;
    const block_crossings *own = &e->blocks[block];
    uint32_t *face = e->mesh->n_faces ? e->mesh->faces + 3 * own->first_triangle : NULL; /* no faces, no array */
    load_patch(e, block, &p);
    for (size_t voxel = 0; voxel < SPLAT_BLOCK_VOXELS; voxel++) {
        for (size_t axis = 0; axis < 3; axis++) {
            size_t bit = SPLAT_BLOCK_VOXELS * axis + voxel;
            if (own->masks[bit / 64] >> bit % 64 & 1) write_vertex(e, block, voxel, &p, axis, vertex_of(own, bit));
        }
        const splat_cell_case *cell = &e->cases[cell_case(&p, patch_index(voxel & 7, voxel >> 3 & 7, voxel >> 6))];
        for (int k = 0; k < 3 * cell->n_triangles; k++) *face++ = corner_vertex(e, &p, voxel, cell->edges[k]);
    }
}

/* Gives each block its place. */
static splat_status place_blocks(extractor *e, splat_error *error)
{
    size_t n_vertices = 0, n_triangles = 0;
    for (size_t i = 0; i < e->grid->n_blocks; i++) {
        block_crossings *block = &e->blocks[i];
        block->first_vertex = (uint32_t)n_vertices; /* reserve refuses more than 32 bits */
        block->first_triangle = n_triangles;
        n_vertices += (size_t)block->ranks[MASK_WORDS - 1] +
                      (size_t)__builtin_popcountll(block->masks[MASK_WORDS - 1]);
        n_triangles += block->n_triangles;
    }
    SPLAT_TRY(splat_mesh_reserve(e->mesh, n_vertices, n_triangles, error));
    if (e->grid->colors) SPLAT_TRY(splat_mesh_require_colors(e->mesh, error));
    e->mesh->n_vertices = n_vertices;
    e->mesh->n_faces = n_triangles;
    return SPLAT_OK;
}

size_t splat_marching_cubes_bytes(const splat_voxel_grid *grid)
{
    return grid->n_blocks * sizeof(block_crossings);
}

splat_status splat_marching_cubes(const splat_voxel_grid *grid, const splat_marching_cubes_options *options,
                                  splat_mesh *mesh, splat_error *error)
{
    extractor e = {.grid = grid, .options = options, .mesh = mesh};
    size_t n = grid->n_blocks, ignored = 0;
    memset(mesh, 0, sizeof *mesh);
    if (!grid->values || options->threads < 1)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "marching cubes needs an allocated grid and a thread");
    make_cases(e.cases);
    e.blocks = malloc((n ? n : 1) * sizeof *e.blocks);
    if (!e.blocks) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the surface of %zu blocks", n);
#pragma omp parallel for schedule(dynamic, 16) num_threads(options->threads)
    for (size_t i = 0; i < n; i++) count_block(&e, i);
    splat_status status = place_blocks(&e, error);
    if (status == SPLAT_OK) {
#pragma omp parallel for schedule(dynamic, 16) num_threads(options->threads)
        for (size_t i = 0; i < n; i++) write_block(&e, i);
        status = splat_mesh_remove_unreferenced(mesh, 1, &ignored, error); /* crossings next to unknown voxels */
    }
    free(e.blocks);
    if (status != SPLAT_OK) splat_mesh_free(mesh);
    return status;
}
