/* Edges in work of mesh_simplify.c: what lies around them, their costs, and their collapse. */
#ifndef SPLAT_MESH_MESH_SIMPLIFY_EDGES_H
#define SPLAT_MESH_MESH_SIMPLIFY_EDGES_H

#include "mesh/mesh.h"

/* Kinds of vertices, as bits: on an open edge; on an edge of more than two faces. */
enum { SIMPLIFY_INNER = 0, SIMPLIFY_BOUNDARY = 1, SIMPLIFY_LOCKED = 2 };

/* A sum of weighted squared distances to planes and points, as a function of a position: x^T A x + 2 b^T x + c, A
 * symmetric: xx xy xz yy yz zz. `weight` is the sum of the planes' weights. */
typedef struct simplify_quadric {
    double a[6], b[3], c, weight;
} simplify_quadric;

typedef struct simplify_edge { uint32_t a, b; } simplify_edge; /* a < b */

typedef struct simplifier {
    splat_mesh *mesh;                 /* between passes it has degenerate faces: those are gone */
    double center[3];                 /* centre of the mesh, as origin: quadrics lose fewest digits */
    simplify_quadric *quadrics;       /* [n_vertices] */
    const float *sizes;               /* [n_vertices], or NULL */
    uint8_t *kinds, *touched;         /* [n_vertices] */
    uint32_t *starts, *around;        /* slot of each vertex: faces around[starts[v]..starts[v + 1]), or gone ones */
    uint32_t *chains;                 /* [n_vertices]: the next vertex whose slot belongs to this one; SIMPLIFY_NONE */
    uint32_t *face_counts;            /* [n_vertices]: faces around each vertex */
    uint64_t *ring_starts;            /* [n_vertices] */
    uint32_t *rings, *ring_sizes;     /* neighbours of each vertex, ascending: rings[ring_starts[v]..+ ring_sizes[v]) */
    uint32_t *costs;                  /* parallel to rings: bits of the float cost of the edge to a neighbour above the
                                         vertex; everywhere else SIMPLIFY_NONE */
    size_t *ring_ends;                /* [blocks of vertices]: the rings of a block lie between twice the start of its
                                         first slot and this; they may grow up to twice the start of the next block */
    uint64_t *least;                  /* [n_vertices]: the first in the order of the edges in work at the vertex; for a
                                         vertex that is gone the one that it moved into */
    size_t *blocks;                   /* [enough]: counts of blocks of vertices or edges, then their sums */
    void *block;                      /* [block_bytes]: holds the arrays above */
    size_t block_bytes, edge_bytes, edge_capacity;
    /* [edge_capacity], in one block of edge_bytes */
    simplify_edge *edges;             /* [n_candidates], by a, then b: those that a pass may collapse */
    uint32_t *keys;                   /* [n_candidates]: their costs */
    uint32_t *active, *next, *chosen; /* [n_active], -, [n_chosen]: candidates */
    uint8_t *verdicts;                /* [n_active] */
    size_t n_used, n_faces;           /* vertices that faces use; faces that are not degenerate */
    size_t n_edges, n_candidates, n_active, n_chosen;
    double max_cost, boundary_weight;
    bool counts_sizes;                /* max_cost is in sizes squared */
    bool stale;                       /* rings do not fit the faces: they must be collected again */
    int threads;
} simplifier;

#define SIMPLIFY_NONE UINT32_MAX

static inline const uint32_t *simplify_ring(const simplifier *s, size_t v)
{
    return s->rings + s->ring_starts[v];
}

/* The vertex relative to the centre. */
static inline void simplify_position(const simplifier *s, size_t v, double x[3])
{
    for (size_t c = 0; c < 3; c++) x[c] = (double)s->mesh->vertices[3 * v + c] - s->center[c];
}

/* Effects of a pass on a vertex, as bits: an edge next to it collapsed; another vertex moved into it; it moved into
 * another one; one of its edges lost its only face. */
enum { SIMPLIFY_TOUCHED = 1, SIMPLIFY_MERGED = 2, SIMPLIFY_GONE = 4, SIMPLIFY_TORN = 8 };

/* A walk over the faces around a vertex. */
typedef struct simplify_walk { uint32_t vertex, at; } simplify_walk;

static inline simplify_walk simplify_walk_from(const simplifier *s, uint32_t v)
{
    return (simplify_walk){v, s->starts[v]};
}

/* The next face; NULL: there are no more. */
static inline uint32_t *simplify_next_face(const simplifier *s, simplify_walk *w)
{
    for (;;) {
        while (w->at < s->starts[(size_t)w->vertex + 1]) {
            uint32_t *face = s->mesh->faces + 3 * (size_t)s->around[w->at++];
            if (face[0] != face[1] && face[1] != face[2] && face[2] != face[0]) return face;
        }
        w->vertex = s->chains[w->vertex];
        if (w->vertex == SIMPLIFY_NONE) return NULL;
        w->at = s->starts[w->vertex];
    }
}

/* ---------------------------------------------------------------- what lies around */

enum { SIMPLIFY_BLOCK = 4096 }; /* vertices or edges that are counted together */

/* Faces around vertices, n_used and n_faces, of a mesh without degenerate faces. */
void simplify_collect_faces(simplifier *s, bool first);
/* Rings, kinds and costs; with `first` the quadrics of the faces and open edges, too. Errors: MEMORY. */
splat_status simplify_collect_edges(simplifier *s, bool first, splat_error *error);
/* Sums of blocks[n]: each becomes the sum of those before it; returns the sum of all. */
size_t simplify_sum_blocks(simplifier *s, size_t n);
/* The ring at ring_starts[v] and the kind of a vertex, from its faces; needs room for two neighbours a face. With
 * `first` the quadric, too. */
void simplify_collect_ring(simplifier *s, size_t v, bool first);

/* ---------------------------------------------------------------- costs and collapse */

/* Bits of the edge's cost, a float: bits of numbers that are not negative sort like the numbers. */
uint32_t simplify_cost(const simplifier *s, simplify_edge edge);
/* Prefetches for the candidates a few places after candidates[at], before simplify_may_collapse and simplify_collapse:
 * candidates lie far apart in memory, and both would mostly wait. */
void simplify_fetch(const simplifier *s, const uint32_t *candidates, size_t n, size_t at);
/* True if the edge may collapse in the present mesh. */
bool simplify_may_collapse(const simplifier *s, simplify_edge edge);
/* Faces that go with an edge. */
size_t simplify_faces_at(const simplifier *s, simplify_edge edge);
/* Vertices, edges and faces that are gone. */
typedef struct simplify_losses { size_t n_vertices, n_edges, n_faces; } simplify_losses;

/* Moves b into a; faces that held both become degenerate. Adds to *losses and marks vertices in `touched`; sets `stale`
 * if rings cannot be updated. Returns the mean squared distance to the planes. */
double simplify_collapse(simplifier *s, simplify_edge edge, simplify_losses *losses);

/* The order in which edges are chosen: by cost, then by number. */
static inline uint64_t simplify_rank(const simplifier *s, uint32_t edge)
{
    return (uint64_t)s->keys[edge] << 32 | edge;
}

#endif
