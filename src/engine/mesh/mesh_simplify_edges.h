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
    splat_mesh *mesh;
    double center[3];                 /* centre of the mesh, as origin: quadrics lose fewest digits */
    simplify_quadric *quadrics;          /* [n_vertices] */
    const float *sizes;               /* [n_vertices], or NULL */
    uint8_t *kinds, *touched;         /* [n_vertices] */
    uint32_t *starts, *around;        /* faces around each vertex, ascending: around[starts[v]..starts[v + 1]) */
    uint32_t *rings, *ring_sizes;     /* neighbours of each vertex, ascending: rings[2 starts[v]..+ ring_sizes[v]) */
    uint64_t *least;                  /* [n_vertices]: the first in the order of the edges in work at the vertex */
    size_t *blocks;                   /* [enough]: counts of blocks of vertices or edges, then their sums */
    void *block;                      /* [block_bytes]: holds the arrays above */
    size_t block_bytes, edge_bytes, edge_capacity;
    /* [edge_capacity], in one block of edge_bytes */
    simplify_edge *edges;             /* [n_edges], by a, then b */
    uint32_t *keys;                   /* [n_edges]: bits of the float cost */
    uint32_t *active, *next, *chosen; /* [n_active], -, [n_chosen]: edges */
    uint8_t *verdicts;                /* [n_active] */
    size_t n_used, n_edges, n_active, n_chosen; /* n_used: vertices that faces use */
    double max_cost, boundary_weight;
    bool counts_sizes;                /* max_cost is in sizes squared */
    int threads;
} simplifier;

static inline const uint32_t *simplify_ring(const simplifier *s, size_t v)
{
    return s->rings + 2 * (size_t)s->starts[v];
}

/* ---------------------------------------------------------------- what lies around */

enum { SIMPLIFY_BLOCK = 4096 }; /* vertices or edges that are counted together */

/* Faces around vertices, and n_used. */
void simplify_collect_faces(simplifier *s);
/* Rings, kinds and edges; with `first` the quadrics of the faces and open edges, too. Errors: MEMORY. */
splat_status simplify_collect_edges(simplifier *s, bool first, splat_error *error);
/* Sums of blocks[n]: each becomes the sum of those before it; returns the sum of all. */
size_t simplify_sum_blocks(simplifier *s, size_t n);
/* The vertex relative to the centre. */
void simplify_position(const simplifier *s, size_t v, double x[3]);

/* ---------------------------------------------------------------- costs and collapse */

/* Costs of all edges. */
void simplify_compute_costs(simplifier *s);
/* True if the edge may collapse in the present mesh. */
bool simplify_may_collapse(const simplifier *s, simplify_edge edge);
/* Faces that go with an edge. */
size_t simplify_faces_at(const simplifier *s, simplify_edge edge);
/* Moves b into a; faces that held both become degenerate. Returns the mean squared distance to the planes. */
double simplify_collapse(simplifier *s, simplify_edge edge);

/* The order in which edges are chosen: by cost, then by number. */
static inline uint64_t simplify_rank(const simplifier *s, uint32_t edge)
{
    return (uint64_t)s->keys[edge] << 32 | edge;
}

#endif
