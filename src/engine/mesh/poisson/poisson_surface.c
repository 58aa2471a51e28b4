/* The surface of the Poisson reconstruction, from an octree whose cells differ in size (after Kazhdan, Klein, Dalal,
 * Hoppe, "Unconstrained Isosurface Extraction on Arbitrary Octrees", SGP 2007, for a graded tree).
 *
 * Vertices lie on edges that no cell divides further. As the function is continuous and linear along every edge, an
 * edge has a vertex when its ends differ in sign, and a divided edge has it on one of its halves. On each side of a
 * leaf, or on the four quarters where the neighbour is divided, the corners' signs give segments between vertices;
 * cells on both sides see the same segments, so there are no cracks and every inner edge of the mesh has two faces. A
 * leaf's segments close to polygons, which are triangulated inside the leaf. */
#include "mesh/poisson/poisson_surface.h"

#include "mesh/poisson/poisson_edges.h"
#include "mesh/poisson/poisson_octree.h"
#include "mesh/poisson/poisson_sides.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- triangles of a polygon */

/* Triangulation of a polygon inside a cell: the shortest chords, none of them in a side of the cell. */

static float chord_length(const float *p, const float *q)
{
    float sum = 0;
    for (int a = 0; a < 3; a++) sum += (p[a] - q[a]) * (p[a] - q[a]);
    return sqrtf(sum);
}

/* A chord in a side could be a chord of the neighbour's polygon too, an edge of four faces. */
static float chord_cost(int n, const float (*positions)[3], const uint8_t *sides, int i, int j)
{
    if (j - i == 1 || j - i == n - 1) return 0; /* an edge of the polygon */
    return sides[i] & sides[j] ? INFINITY : chord_length(positions[i], positions[j]);
}

int poisson_triangulate(int n, const float (*positions)[3], const uint8_t *sides, uint8_t (*triangles)[3])
{
    /* best[i][j]: cost of the part from i to j below the chord; via: its triangle's third corner (Klincsek 1980) */
    float best[POISSON_MAX_POLYGON][POISSON_MAX_POLYGON];
    uint8_t via[POISSON_MAX_POLYGON][POISSON_MAX_POLYGON];
    for (int i = 0; i + 1 < n; i++) best[i][i + 1] = 0;
    for (int span = 2; span < n; span++)
        for (int i = 0; i + span < n; i++) {
            int j = i + span;
            best[i][j] = INFINITY;
            via[i][j] = (uint8_t)(i + 1);
            for (int k = i + 1; k < j; k++) {
                float cost = best[i][k] + best[k][j];
                if (cost < best[i][j]) {
                    best[i][j] = cost;
                    via[i][j] = (uint8_t)k;
                }
            }
            best[i][j] += chord_cost(n, positions, sides, i, j);
        }
    if (!(best[0][n - 1] < INFINITY)) return 0;
    uint8_t stack[POISSON_MAX_POLYGON][2] = {{0, (uint8_t)(n - 1)}};
    int n_triangles = 0;
    for (int top = 1; top > 0;) {
        uint8_t i = stack[--top][0], j = stack[top][1], k = via[i][j];
        if (j - i < 2) continue;
        triangles[n_triangles][0] = i;
        triangles[n_triangles][1] = k;
        triangles[n_triangles++][2] = j;
        stack[top][0] = i;
        stack[top++][1] = k;
        stack[top][0] = k;
        stack[top++][1] = j;
    }
    return n_triangles;
}

/* ---------------------------------------------------------------- the surface */

enum { MAX_SEGMENTS = 64 };

/* The segments of one leaf: from vertex to vertex, and the cell's side. */
typedef struct segments {
    int n;
    uint32_t from[MAX_SEGMENTS], to[MAX_SEGMENTS];
    uint8_t side[MAX_SEGMENTS];
} segments;

static bool is_crossed(const poisson_shape *s, int d, uint32_t cell)
{
    bool first = poisson_is_inside(s, d, cell, 0);
    for (int c = 1; c < 8; c++)
        if (poisson_is_inside(s, d, cell, c) != first) return true;
    return false;
}

static void mark_edges(const poisson_shape *s, int d, uint32_t cell)
{
    for (int axis = 0; axis < 3; axis++)
        for (int c = 0; c < 8; c++)
            if (!(c >> axis & 1) && poisson_is_inside(s, d, cell, c) != poisson_is_inside(s, d, cell, c | 1 << axis))
                /* the first thread to come */
                __atomic_store_n(poisson_find_edge(s, d, cell, c, axis), 1, __ATOMIC_RELAXED);
}

/* Chunks count their vertices, then each numbers its own from *n + 1 on. */
static splat_status number_level(poisson_shape *s, int d, size_t *n)
{
    size_t n_corners = s->tree->level[d].n_corners, n_chunks = (n_corners + POISSON_CHUNK - 1) / POISSON_CHUNK;
    size_t *next = NULL; /* [n_chunks]: vertices, then the last number before them */
    uint32_t (*edge)[3] = s->edge[d];
    SPLAT_TRY(poisson_alloc(s->job, &next, n_chunks, sizeof *next));
#pragma omp parallel for num_threads(s->job->options->threads) schedule(static)
    for (size_t k = 0; k < n_chunks; k++)
        for (size_t i = k * POISSON_CHUNK; i < n_corners && i < (k + 1) * POISSON_CHUNK; i++)
            for (int axis = 0; axis < 3; axis++) next[k] += edge[i][axis] != 0;
    for (size_t k = 0; k < n_chunks; k++) {
        size_t count = next[k];
        next[k] = *n;
        *n += count;
    }
#pragma omp parallel for num_threads(s->job->options->threads) schedule(static)
    for (size_t k = 0; k < n_chunks; k++)
        for (size_t i = k * POISSON_CHUNK; i < n_corners && i < (k + 1) * POISSON_CHUNK; i++)
            for (int axis = 0; axis < 3; axis++)
                if (edge[i][axis]) edge[i][axis] = (uint32_t)++next[k]; /* wraps only where it is refused */
    poisson_free(s->job, next);
    return SPLAT_OK;
}

static splat_status number_vertices(poisson_shape *s, size_t *n_vertices)
{
    size_t n = 0;
    for (int d = 0; d < s->tree->n_levels; d++) SPLAT_TRY(number_level(s, d, &n));
    *n_vertices = n;
    if (n >= UINT32_MAX)
        return splat_fail(s->job->error, SPLAT_ERROR_MEMORY, "the Poisson surface has more than 2^32 vertices; use a "
                          "smaller depth");
    return SPLAT_OK;
}

static void place_vertices(const poisson_shape *s, int d, uint32_t cell)
{
    const poisson_level *level = &s->tree->level[d];
    int coordinates[3];
    poisson_cell_coordinates(level, cell, coordinates);
    for (int axis = 0; axis < 3; axis++)
        for (int c = 0; c < 8; c++) {
            uint32_t vertex = c >> axis & 1 ? 0 : s->edge[d][poisson_corner(level, cell, c)][axis];
            if (!vertex) continue;
            float low = poisson_value_at(s, d, cell, c), high = poisson_value_at(s, d, cell, c | 1 << axis);
            float t = low / (low - high);
            /* off the corners, where vertices of several edges would fall together */
            t = t < 1e-3f ? 1e-3f : t > 1 - 1e-3f ? 1 - 1e-3f : t;
            for (int a = 0; a < 3; a++)
                s->mesh->vertices[3 * ((size_t)vertex - 1) + (size_t)a] =
                    ldexpf((float)(coordinates[a] + (c >> a & 1)) + (a == axis ? t : 0), -d);
        }
}

/* Segments on one square: a cell's side, or its part that a smaller neighbour's side covers. `cell` is the one whose
 * corners are used, `axis` and `bit` tell which of its sides, `side` which side of the leaf that is; seen from outside
 * the leaf, what is inside the surface is left of a segment. */
static void add_square(const poisson_shape *s, int d, uint32_t cell, int axis, int bit, int side, segments *out)
{
    int b = (axis + 1) % 3, c = (axis + 2) % 3, base = bit << axis;
    /* counter-clockwise seen from outside the leaf */
    int corner[4] = {base, base | 1 << b, base | 1 << b | 1 << c, base | 1 << c};
    if (!(side & 1)) {
        corner[1] = base | 1 << c;
        corner[3] = base | 1 << b;
    }
    float value[4];
    int n_crossings = 0;
    uint32_t vertex[4];
    for (int k = 0; k < 4; k++) value[k] = poisson_value_at(s, d, cell, corner[k]);
    for (int k = 0; k < 4; k++) {
        int next = (k + 1) & 3;
        if ((value[k] > 0) == (value[next] > 0)) continue;
        int along = corner[k] ^ corner[next];
        vertex[k] = *poisson_find_edge(s, d, cell, corner[k] & corner[next], along == 1 ? 0 : along == 2 ? 1 : 2);
        n_crossings++;
    }
    if (!n_crossings) return;
    bool joined = n_crossings == 4 && poisson_is_joined(value);
    for (int k = 0; k < 4; k++) { /* a segment starts where the way around leaves the inside */
        if (!(value[k] > 0 && !(value[(k + 1) & 3] > 0))) continue;
        int end = (k + 1) & 3;
        if (n_crossings == 4)
            end = joined ? (k + 1) & 3 : (k + 3) & 3;
        else
            while (!(!(value[end] > 0) && value[(end + 1) & 3] > 0)) end = (end + 1) & 3;
        out->from[out->n] = vertex[k] - 1;
        out->to[out->n] = vertex[end] - 1;
        out->side[out->n++] = (uint8_t)side;
    }
}

static void add_side(const poisson_shape *s, int d, uint32_t cell, int side, segments *out)
{
    int axis = side >> 1, bit = side & 1, b = (axis + 1) % 3, c = (axis + 2) % 3;
    int offset[3] = {0};
    offset[axis] = bit ? 1 : -1;
    uint32_t other = poisson_neighbor(s->tree, d, cell, offset);
    uint32_t child = other == POISSON_NONE ? POISSON_NONE : s->tree->level[d].child[other];
    if (child == POISSON_NONE) {
        add_square(s, d, cell, axis, bit, side, out);
        return;
    }
    for (int k = 0; k < 4; k++) {
        int octant = (1 - bit) << axis | (k & 1) << b | (k >> 1) << c;
        add_square(s, d + 1, child + (uint32_t)octant, axis, 1 - bit, side, out);
    }
}

/* The part of the mesh from a chunk of cells: faces, and vertices in the middle of polygons, which faces name by
 * numbers after the mesh's own vertices. */
typedef struct chunk {
    uint32_t (*faces)[3];   /* [n_faces] */
    float (*middles)[3];    /* [n_middles] */
    size_t n_faces, n_middles, face_capacity, middle_capacity;
    bool is_broken, is_short; /* an open polygon; no memory */
} chunk;

/* The array with room for one more, perhaps at another place; NULL: no memory, and the array stays. */
static void *make_room(void *items, size_t n, size_t size, size_t *capacity)
{
    if (n < *capacity) return items;
    size_t more = *capacity ? 2 * *capacity : 256;
    void *larger = realloc(items, more * size);
    if (larger) *capacity = more;
    return larger;
}

static void put_face(chunk *out, uint32_t a, uint32_t b, uint32_t c)
{
    void *faces = make_room(out->faces, out->n_faces, sizeof *out->faces, &out->face_capacity);
    if (!faces) {
        out->is_short = true;
        return;
    }
    out->faces = faces;
    uint32_t *face = out->faces[out->n_faces++];
    face[0] = a;
    face[1] = b;
    face[2] = c;
}

static void put_polygon(const poisson_shape *s, int n, const uint32_t *vertices, const uint8_t *sides, chunk *out)
{
    float position[POISSON_MAX_POLYGON][3], middle[3] = {0};
    uint8_t triangles[POISSON_MAX_POLYGON][3];
    for (int i = 0; i < n; i++) {
        memcpy(position[i], s->mesh->vertices + 3 * (size_t)vertices[i], sizeof position[i]);
        for (int a = 0; a < 3; a++) middle[a] += position[i][a] / (float)n;
    }
    int n_triangles = poisson_triangulate(n, (const float (*)[3])position, sides, triangles);
    for (int i = 0; i < n_triangles; i++)
        put_face(out, vertices[triangles[i][0]], vertices[triangles[i][1]], vertices[triangles[i][2]]);
    if (n_triangles) return;
    void *middles = make_room(out->middles, out->n_middles, sizeof *out->middles, &out->middle_capacity);
    if (!middles) {
        out->is_short = true;
        return;
    }
    out->middles = middles;
    uint32_t number = (uint32_t)(s->mesh->n_vertices + out->n_middles);
    for (int i = 0; i < n; i++) put_face(out, vertices[i], vertices[(i + 1) % n], number);
    memcpy(out->middles[out->n_middles++], middle, sizeof middle);
}

static void put_leaf(const poisson_shape *s, int d, uint32_t cell, chunk *out)
{
    segments list = {0};
    bool used[MAX_SEGMENTS] = {false};
    for (int side = 0; side < 6; side++) add_side(s, d, cell, side, &list);
    for (int first = 0; first < list.n; first++) {
        uint32_t polygon[POISSON_MAX_POLYGON];
        uint8_t sides[POISSON_MAX_POLYGON];
        int n = 0, at = first;
        if (used[first]) continue;
        do { /* segments go round clockwise seen from outside the surface, so the polygon is filled from its end */
            int next = 0;
            while (next < list.n && (used[next] || list.from[next] != list.to[at])) next++;
            if (next == list.n || n == POISSON_MAX_POLYGON) {
                out->is_broken = true;
                return;
            }
            n++;
            polygon[POISSON_MAX_POLYGON - n] = list.to[at];
            sides[POISSON_MAX_POLYGON - n] = (uint8_t)(1 << list.side[at] | 1 << list.side[next]);
            used[next] = true;
            at = next;
        } while (at != first);
        put_polygon(s, n, polygon + POISSON_MAX_POLYGON - n, sides + POISSON_MAX_POLYGON - n, out);
    }
}

static size_t count_chunks(const poisson_level *level)
{
    return ((size_t)level->n_cells + POISSON_CHUNK - 1) / POISSON_CHUNK;
}

static void put_faces(const poisson_shape *s, int d, chunk *chunks)
{
    const poisson_level *level = &s->tree->level[d];
    size_t n_chunks = count_chunks(level);
#pragma omp parallel for num_threads(s->job->options->threads) schedule(dynamic)
    for (size_t k = 0; k < n_chunks; k++) {
        size_t end = (k + 1) * POISSON_CHUNK < level->n_cells ? (k + 1) * POISSON_CHUNK : level->n_cells;
        for (uint32_t i = (uint32_t)(k * POISSON_CHUNK); i < end && !chunks[k].is_short; i++)
            if (level->child[i] == POISSON_NONE && is_crossed(s, d, i)) put_leaf(s, d, i, &chunks[k]);
    }
}

/* A chunk's faces and vertices behind those of the chunks before it. */
static void join(splat_mesh *mesh, const chunk *from, size_t first_face, size_t n_middles_before)
{
    uint32_t *to = mesh->faces + 3 * first_face;
    for (size_t i = 0; i < from->n_faces; i++)
        for (size_t k = 0; k < 3; k++) {
            uint32_t vertex = from->faces[i][k];
            to[3 * i + k] = vertex < mesh->n_vertices ? vertex : vertex + (uint32_t)n_middles_before;
        }
    if (from->n_middles)
        memcpy(mesh->vertices + 3 * (mesh->n_vertices + n_middles_before), from->middles,
               from->n_middles * sizeof *from->middles);
}

static void place_unit(const poisson_shape *s, int d, poisson_unit unit)
{
    uint32_t n = s->tree->level[d].n_cells, end = 8 * unit.end < n ? 8 * unit.end : n;
    for (uint32_t i = 8 * unit.first; i < end; i++) place_vertices(s, d, i);
}

static splat_status make_vertices(poisson_shape *s)
{
    int threads = s->job->options->threads;
    size_t n = 0;
    for (int d = 0; d < s->tree->n_levels; d++)
        SPLAT_TRY(poisson_alloc(s->job, &s->edge[d], s->tree->level[d].n_corners, sizeof *s->edge[d]));
    for (int d = 0; d < s->tree->n_levels; d++) {
        const poisson_level *level = &s->tree->level[d];
        SPLAT_TRY(poisson_progress(s->job, "surface", 0.7 + 0.05 * d / s->tree->n_levels));
#pragma omp parallel for num_threads(threads) schedule(dynamic, POISSON_CHUNK)
        for (uint32_t i = 0; i < level->n_cells; i++)
            if (level->child[i] == POISSON_NONE && is_crossed(s, d, i)) mark_edges(s, d, i);
    }
    SPLAT_TRY(number_vertices(s, &n));
    SPLAT_TRY(poisson_count(s->job, 12 * n));
    SPLAT_TRY(splat_mesh_reserve(s->mesh, n, 0, s->job->error));
    s->mesh->n_vertices = n;
    for (int d = 0; d < s->tree->n_levels; d++)
        for (int colour = 0; colour < 8; colour++)
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
            for (size_t u = s->tree->level[d].unit_first[colour]; u < s->tree->level[d].unit_first[colour + 1]; u++)
                place_unit(s, d, s->tree->level[d].unit[u]);
    return poisson_progress(s->job, "surface", 0.75);
}

/* All chunks of all levels become the mesh's faces. */
static splat_status join_all(poisson_shape *s, chunk *chunks, size_t n_chunks)
{
    splat_mesh *mesh = s->mesh;
    size_t n_faces = 0, n_middles = 0, *first = NULL; /* [n_chunks][2]: faces and vertices before */
    bool is_broken = false, is_short = false;
    SPLAT_TRY(poisson_alloc(s->job, &first, 2 * n_chunks, sizeof *first));
    for (size_t k = 0; k < n_chunks; k++) {
        first[2 * k] = n_faces;
        first[2 * k + 1] = n_middles;
        n_faces += chunks[k].n_faces;
        n_middles += chunks[k].n_middles;
        is_broken |= chunks[k].is_broken;
        is_short |= chunks[k].is_short;
    }
    splat_status status = SPLAT_OK;
    if (is_short)
        status = splat_fail(s->job->error, SPLAT_ERROR_MEMORY, "no memory for the faces of the Poisson surface; use a "
                            "smaller depth");
    else if (is_broken)
        status = splat_fail(s->job->error, SPLAT_ERROR_INTERNAL, "the Poisson surface has an open polygon");
    if (status == SPLAT_OK) status = poisson_count(s->job, 12 * (n_middles + n_faces));
    if (status == SPLAT_OK) status = splat_mesh_reserve(mesh, mesh->n_vertices + n_middles, n_faces, s->job->error);
    if (status == SPLAT_OK) {
#pragma omp parallel for num_threads(s->job->options->threads) schedule(static)
        for (size_t k = 0; k < n_chunks; k++) join(mesh, &chunks[k], first[2 * k], first[2 * k + 1]);
        mesh->n_vertices += n_middles;
        mesh->n_faces = n_faces;
    }
    poisson_free(s->job, first);
    return status;
}

/* Counts the memory of the finished chunks and adds it to *held. */
static splat_status count_held(poisson_job *job, const chunk *chunks, size_t n, uint64_t *held)
{
    uint64_t bytes = 0;
    for (size_t k = 0; k < n; k++)
        bytes += chunks[k].face_capacity * sizeof *chunks->faces + chunks[k].middle_capacity * sizeof *chunks->middles;
    SPLAT_TRY(poisson_count(job, bytes));
    *held += bytes;
    return SPLAT_OK;
}

static splat_status make_faces(poisson_shape *s)
{
    size_t n_chunks = 0, at = 0;
    uint64_t held = 0; /* by chunks */
    chunk *chunks = NULL; /* of all levels */
    for (int d = 0; d < s->tree->n_levels; d++) n_chunks += count_chunks(&s->tree->level[d]);
    splat_status status = poisson_alloc(s->job, &chunks, n_chunks, sizeof *chunks);
    for (int d = 0; d < s->tree->n_levels && status == SPLAT_OK; d++) {
        status = poisson_progress(s->job, "surface", 0.75 + 0.15 * d / s->tree->n_levels);
        size_t n = count_chunks(&s->tree->level[d]);
        if (status == SPLAT_OK) put_faces(s, d, chunks + at);
        if (status == SPLAT_OK) status = count_held(s->job, chunks + at, n, &held);
        at += n;
    }
    if (status == SPLAT_OK) status = join_all(s, chunks, n_chunks);
    for (size_t k = 0; chunks && k < n_chunks; k++) {
        free(chunks[k].faces);
        free(chunks[k].middles);
    }
    s->job->used_bytes -= held;
    poisson_free(s->job, chunks);
    return status;
}

splat_status poisson_surface(poisson_job *job, splat_mesh *mesh, const poisson_octree *tree,
                             float *const values[POISSON_MAX_LEVELS], float iso)
{
    poisson_shape s = {.job = job, .tree = tree, .values = values, .iso = iso, .mesh = mesh};
    splat_status status = make_vertices(&s);
    if (status == SPLAT_OK) status = make_faces(&s);
    if (status == SPLAT_OK && job->options->close_sides) status = poisson_sides_close(&s);
    for (int d = 0; d < POISSON_MAX_LEVELS; d++) poisson_free(job, s.edge[d]);
    return status;
}
