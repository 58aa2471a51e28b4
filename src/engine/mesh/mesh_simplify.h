/* Fewer faces: edges collapse in the order of their quadric error (Garland and Heckbert, "Surface simplification using
 * quadric error metrics", SIGGRAPH 1997). */
#ifndef SPLAT_MESH_MESH_SIMPLIFY_H
#define SPLAT_MESH_MESH_SIMPLIFY_H

#include "mesh/mesh.h"
#include "splatsmith/mesh.h"

typedef struct splat_mesh_simplify_options {
    size_t target_faces;    /* stop when there are at most so many faces, */
    size_t target_vertices; /* or at most so many vertices that faces use; 0: not for their number */
    double max_error;       /* collapse no edge whose new vertex is, in the mean over the planes of the faces it stands
                               for, farther from them; 0: no limit */
    double boundary_weight; /* of keeping open boundaries where they are, against surface: 10 */
    const float *sizes;     /* [n_vertices] above 0: quadrics count 1 / size^2, so that triangles stay where the size is
                               small; NULL: all the same. max_error stays a distance */
    double max_sizes;       /* with sizes and without max_error: the same limit, of distances counted in sizes; 0: no
                               limit */
    int threads;            /* >= 1; the result does not depend on it */
    splat_mesh_progress progress; /* NULL: none; called on the calling thread, at every pass */
    void *progress_user;
} splat_mesh_simplify_options;

typedef struct splat_mesh_simplify_info {
    size_t n_passes, n_collapses;
    double error;           /* the largest of the collapses made, as max_error, or max_sizes above 0, measures it */
    size_t peak_bytes;      /* working memory, in addition to the mesh */
} splat_mesh_simplify_info;

void splat_mesh_simplify_options_init(splat_mesh_simplify_options *options);
/* The most working memory, in addition to the mesh, of simplifying a mesh of this size. */
size_t splat_mesh_simplify_bytes(size_t n_vertices, size_t n_faces);
/* Simplifies in place. Collapses neither fold a face over nor change the topology: a manifold stays one, with the
 * same pieces, holes and handles, which may end the work above the target. Edges with more than two faces stay where
 * they are. Colours are interpolated; existing normals are computed again. Unused vertices are removed, and so is a
 * texture, even if nothing collapses: its coordinates cannot follow. The mesh must be valid. info may be NULL.
 * Errors: ARGUMENT, MEMORY, STOPPED; then the mesh is valid, and may be simplified in part. */
splat_status splat_mesh_simplify(splat_mesh *mesh, const splat_mesh_simplify_options *options,
                                 splat_mesh_simplify_info *info, splat_error *error);

/* Fills chosen[n_chosen] of a pass with edges that may collapse together (mesh_simplify_edges.h). */
struct simplifier;
void simplify_choose(struct simplifier *s);

#endif
