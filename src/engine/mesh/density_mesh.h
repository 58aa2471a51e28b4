/* The surface where the density of a splat passes a level, by marching cubes on a sparse grid (SuGaR, Guedon and
 * Lepetit, CVPR 2024, has this on a full grid of 512^3). Blocks of voxels exist only where Gaussians are.
 *
 * The density of a point is the true one, the sum over all Gaussians that reach it, not over the 16 nearest: it has no
 * jumps. Gaussians much flatter than a voxel would fall between the samples, and their surface into crumbs; so each is
 * at least a part of a voxel thick. A layer of flat Gaussians is a sheet with two sides, the far one too: an object
 * whose skin alone is known becomes a shell. */
#ifndef SPLAT_MESH_DENSITY_MESH_H
#define SPLAT_MESH_DENSITY_MESH_H

#include "mesh/mesh.h"
#include "splatsmith/mesh.h"

/* Borrowed arrays, as splats store them. */
typedef struct splat_density_mesh_input {
    size_t n;               /* below 2^32 - 1 */
    const float *means;     /* [n][3], world */
    const float *scales;    /* [n][3], natural logarithm */
    const float *rotations; /* [n][4], quaternion (w, x, y, z), any length above 0 */
    const float *opacities; /* [n], logit */
    const uint8_t *colors;  /* [n][3], RGB as photos are; NULL: the mesh has no colours */
} splat_density_mesh_input;

typedef struct splat_density_mesh_options {
    double low[3], high[3];      /* the surface is cut at this box; samples lie on `low` and voxel_size apart */
    double voxel_size;           /* scene units */
    double level;                /* 0.3; 1e-6 to 1e6 */
    double least_scale;          /* 0.5; 0 or more: deviations are at least this many voxels. Below 0.5 thin sheets get
                                  * holes. A thin sheet of density d becomes 2 least_scale sqrt(2 ln(d / level)) voxels
                                  * thick */
    int refinements;             /* 2; 0 to 16: times a vertex is moved along its edge by the exact density */
    int threads;                 /* 1; the mesh is the same, bit for bit, for any number */
    uint64_t memory_limit_bytes; /* limit of this call's allocations, with the mesh; 0: none */
    splat_mesh_progress progress; /* NULL: none; called on the calling thread */
    void *progress_user;
} splat_density_mesh_options;

typedef struct splat_density_mesh_report {
    size_t n_gaussians;  /* Gaussians with more than 0.01 of the level (at most 0.001) in the box */
    size_t n_not_finite; /* Gaussians left out for a parameter that is no number */
    size_t n_blocks, n_listed; /* blocks of 8^3 voxels; Gaussians in the lists of all blocks */
    uint64_t bytes;            /* allocated at the most */
} splat_density_mesh_report;

void splat_density_mesh_options_init(splat_density_mesh_options *options);

/* About the bytes that a mesh needs: exact for Gaussians, grid and lists, typical for the mesh. Places the blocks to
 * know, which takes about a tenth of the time of the whole, and memory for Gaussians and blocks without their voxels.
 * Errors: as below; a limit that blocks alone would pass is one. */
splat_status splat_density_mesh_estimate(const splat_density_mesh_input *input,
                                         const splat_density_mesh_options *options, uint64_t *bytes,
                                         splat_error *error);

/* Overwrites *mesh: normals (down the density's gradient, unit or zero), colours (means of the Gaussians' at the vertex
 * by their share of the density) when the input has them, faces outward: what is dense is inside. A manifold, closed
 * but where it leaves the box. A block exists where at least one Gaussian gives a 32nd of the level; density that is
 * made of fainter ones only is not seen. *report may be NULL. On failure *mesh is empty. Errors: ARGUMENT (an option;
 * voxels so small that the box has more than 2^23 of them along a side), NUMERIC (no density above the level in the
 * box), MEMORY, STOPPED. */
splat_status splat_density_mesh(const splat_density_mesh_input *input, const splat_density_mesh_options *options,
                                splat_mesh *mesh, splat_density_mesh_report *report, splat_error *error);

#endif
