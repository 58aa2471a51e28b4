/* splatsmith/mesh.h - meshes from splats, and pictures of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SPLATSMITH_MESH_H
#define SPLATSMITH_MESH_H

#include "splatsmith/core.h"
#include "splatsmith/model.h"
#include "splatsmith/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- files of meshes */

/* Fills *format with row `index` of the table of mesh formats that reading and writing use. Returns false beyond the
 * last row. */
bool splat_mesh_get_format(size_t index, splat_file_format *format);
/* Checks that there is a mesh format for the ending of this name. Errors: ARGUMENT (lists the endings). */
splat_status splat_mesh_check_path(const char *path, splat_error *error);

/* ---------------------------------------------------------------- meshes from splats */

typedef enum splat_mesh_method {
    SPLAT_MESH_POISSON = 0, /* screened Poisson reconstruction of points on the surface that the training views see */
    SPLAT_MESH_TSDF = 1,    /* fusion of the training views' depth maps in a sparse grid of signed distances */
    SPLAT_MESH_MARCHING_CUBES = 2 /* levels of the splat's density on a sparse grid, independent of the views: a layer
                                     of flat Gaussians becomes a sheet with two sides */
} splat_mesh_method;
#define SPLAT_WORDS_MESH_METHOD "poisson|tsdf|marching_cubes"

/* POISSON: the source of the points. */
typedef enum splat_mesh_point_source {
    SPLAT_MESH_POINTS_LEVEL = 0, /* levels of the splat's density along the rays of the training views (SuGaR) */
    SPLAT_MESH_POINTS_DEPTH = 1, /* the median depth of the training views' pixels */
    SPLAT_MESH_POINTS_CENTERS = 2, /* centres of the Gaussians that are first in a pixel; the normal is the shortest
                                      axis, towards the camera */
    SPLAT_MESH_POINTS_VIEWS = 3 /* depth of the training views' pixels where other views see the same surface: the mean
                                   of the views that agree, one point for each cell of the octree */
} splat_mesh_point_source;
#define SPLAT_WORDS_MESH_POINT_SOURCE "level|depth|centers|views"

/* POISSON: what becomes of surface that the reconstruction invents where there are no points. */
typedef enum splat_mesh_surface {
    SPLAT_MESH_OPEN = 0,  /* it is removed, and so is what no view sees: the mesh has holes where nothing is known */
    SPLAT_MESH_CLOSED = 1 /* it stays, and what leaves the domain is closed there: every edge has two faces. Only whole
                             pieces go (min_component_faces, least_seen, free space, pieces without points) */
} splat_mesh_surface;
#define SPLAT_WORDS_MESH_SURFACE "open|closed"

#define SPLAT_MESH_LEVELS 8

/* Receives the progress between pieces of work: the fraction of the stage, 0 to 1. Return false to stop (STOPPED). */
typedef bool (*splat_mesh_progress)(void *user, const char *stage, double fraction);

typedef struct splat_mesh_extract_options {
    size_t size;
    splat_mesh_method method;   /* POISSON */
    splat_mesh_point_source points; /* LEVEL */
    float levels[SPLAT_MESH_LEVELS]; /* LEVEL, MARCHING_CUBES: densities, above 0 and below 1, each for one mesh; 0.3 */
    size_t n_levels;            /* number of levels, 1 to SPLAT_MESH_LEVELS; 1 */
    size_t n_points;            /* LEVEL, DEPTH: surface points for each level; VIEWS: the most points; 0: 2,000,000,
                                   for VIEWS 3,000,000 */
    float resolution_factor;    /* factor of the sides of the training views' pictures; 0.05 to 8; 1 */
    int poisson_depth;          /* POISSON: 6 to 14: the finest cell is 2^-depth of the domain, a cube around the
                                   points; 0: VIEWS: as wide as the finest pixels, else as points lie apart, and less
                                   if max_host_bytes demands it; 0 */
    double density_quantile;    /* POISSON: remove this share of the vertices, those with the fewest points near; 0 */
    size_t outlier_neighbors;   /* POISSON: remove points far from this many neighbours; 0: none; 20 */
    double outlier_std;         /* far: above the mean distance by more than this many standard deviations; 20 */
    bool project;               /* POISSON: move vertices along their normals to the nearest point, unless a face would
                                   flip, and give them its colour; false, because points are noisier than the surface
                                   made of them */
    double voxel_size;          /* TSDF, MARCHING_CUBES: scene units; 0: a 320th of the box, with TSDF larger if
                                   max_host_bytes demands it. Without bbox the box is a cube around the cameras, as wide
                                   as the scene's extent, and around it come levels with voxels and boxes twice as large
                                   each, as far as the views see (TSDF), or until 99 % of the opaque Gaussians are
                                   inside (MARCHING_CUBES) */
    double least_scale;         /* MARCHING_CUBES: least thickness of Gaussians in voxels; 0.5 */
    double max_depth;           /* TSDF: leave out surface farther than this, scene units; 0: none */
    float min_alpha;            /* TSDF, DEPTH: pixels with less opacity show no surface; 0.5 */
    bool has_bbox;              /* the mesh ends at bbox_low and bbox_high (CLOSED: its points do); else it is that of
                                   the whole scene */
    double bbox_low[3], bbox_high[3]; /* world */
    size_t target_vertices;     /* simplify to this number; 0: do not simplify; 1,000,000 */
    size_t min_component_faces; /* remove smaller pieces; 100 */
    double least_seen;          /* remove pieces with a smaller share of faces that a training view sees; 0.001 */
    int unseen_rim;             /* remove unseen faces more than this many pixels from a seen one; -1: none; 8 */
    uint64_t max_host_bytes;    /* host memory for points, pictures and reconstruction; 0: no limit */
    uint64_t seed;              /* seed of the choice of points */
    splat_mesh_progress progress; /* NULL: none */
    void *progress_user;
    double support_trim;        /* POISSON: remove vertices farther from the nearest surface point than this many cells
                                   of the octree, or spacings of the points there; 0: none; 1.5 */
    bool planes;                /* VIEWS: search the surface of plain regions of the photos on planes through their
                                   rims (docs/method.md); true */
    bool match;                 /* VIEWS: let the photos judge the depth (docs/method.md); false */
    splat_mesh_surface surface; /* CLOSED needs POISSON, and density_quantile, support_trim and unseen_rim do nothing;
                                   OPEN */
    size_t collider_faces;      /* POISSON: next to each file, a mesh of about this many faces for physics
                                   (splat_mesh_collider_path); 0: none; 0 */
    double fairing;             /* VIEWS: move vertices by at most so many cells of their points (about 1.25 pixels) to
                                   a surface that is smooth between its edges (docs/method.md); 0: none; 0.5 */
    bool outlines;              /* VIEWS: move vertices at outlines until mesh and splat cover the same part of the
                                   training views (docs/method.md); true */
} splat_mesh_extract_options;

typedef struct splat_mesh_extract_info {
    size_t n_gaussians;                     /* LEVEL, CENTERS, MARCHING_CUBES: with an opacity of at least 1/2 */
    size_t n_points;                        /* POISSON: used */
    size_t n_vertices_first, n_faces_first; /* counts before cleaning and simplifying */
    size_t n_faces_unseen;                  /* removed because no training view sees them (least_seen, unseen_rim) */
    size_t n_faces_free;                    /* removed because training views look through them or see their backs */
    size_t n_vertices, n_faces;             /* counts of the written mesh */
    uint64_t n_sky_pixels, n_sky_covered;   /* of sky in the training views, and those of them that the mesh covers */
    uint64_t n_covered, n_back;             /* pixels of the training views with the mesh, and with its back */
    uint64_t n_trusted;                     /* VIEWS: pixels through whose space training views look; of them: */
    uint64_t n_violated, n_missing;         /* with the mesh before the free depth, by 1 % or three pixels of disparity;
                                               without it, or with it 5 % or more behind */
    size_t n_collider_faces;                /* 0: no collider */
} splat_mesh_extract_info;

void splat_mesh_extract_options_init_sized(splat_mesh_extract_options *options, size_t size);
#define splat_mesh_extract_options_init(options) splat_mesh_extract_options_init_sized(options, sizeof *(options))
/* Sets a field by its name from a text, except the arrays (levels, box): see "options" in splatsmith/core.h. */
splat_status splat_mesh_extract_options_set(splat_mesh_extract_options *options, const char *name, const char *text,
                                            splat_error *error);
/* Returns the number of meshes that splat_mesh_extract makes: n_levels for POISSON from LEVEL and for MARCHING_CUBES,
 * else 1. */
size_t splat_mesh_extract_count(const splat_mesh_extract_options *options);
/* Writes the path of the collider next to a mesh's file into text[size]: "out/mesh_collider.ply" for "out/mesh.ply".
 * Errors: ARGUMENT (too long). */
splat_status splat_mesh_collider_path(const char *path, char *text, size_t size, splat_error *error);
/* Checks the options, as splat_mesh_extract does. Errors: ARGUMENT (an option is out of its range). */
splat_status splat_mesh_extract_options_check(const splat_mesh_extract_options *options, splat_error *error);
/* Makes meshes, with colours and outward normals, of the surface that the training views see in a splat, and writes
 * each to its paths (splat_mesh_get_format), atomically. paths: [meshes][n_paths], n_paths for each mesh in the order
 * of the levels; info: [meshes]. One view is in memory at a time. A notice says how much host memory the work needs. If
 * max_host_bytes is less, the call fails (MEMORY) before it begins.
 *
 * A collider is a closed mesh (SPLAT_MESH_CLOSED) of an octree of three levels fewer, simplified and moved outward by
 * half a cell of that octree, so that what collides with it stays before the mesh. It has no colours.
 *
 * LEVEL, CENTERS and MARCHING_CUBES use a copy of the Gaussians with an opacity of at least 1/2, with the 3D filter
 * fused: 44 bytes each on the device, and 60 for LEVEL's neighbours. For the others the surface in a pixel is where the
 * transmittance passes 1/2. The model does not change.
 *
 * Errors: ARGUMENT, FORMAT (no Gaussians, fewer than 16 opaque ones, fewer than two views), NUMERIC (no view sees a
 * surface), MEMORY, IO, STOPPED. */
splat_status splat_mesh_extract(splat_context *context, splat_scene *scene, splat_model *model,
                                const splat_mesh_extract_options *options, const char *const *paths, size_t n_paths,
                                splat_mesh_extract_info *info, splat_error *error);

/* Writes the entry "mesh" to results.json of a model folder and keeps its other entries: back (n_back / n_covered),
 * violation and missing (of n_trusted), n_trusted; with sky also sky_covered (n_sky_covered / n_sky_pixels) and
 * n_sky_pixels. Errors: IO, FORMAT, MEMORY. */
splat_status splat_mesh_extract_info_write(const char *model_path, const splat_mesh_extract_info *info,
                                           splat_error *error);

/* Removes Gaussians that float in free space: training views look through the place at a surface more than a tenth
 * farther away, which they confirm with other views, and fewer see a surface at the place (docs/method.md, "Free
 * space"). Use it for splats whose floaters hide the scene in few views. options: NULL,
 * or resolution_factor, min_alpha, max_host_bytes and progress, which are used. *n_removed: the number. Errors:
 * ARGUMENT, NUMERIC (no Gaussian would remain), MEMORY, STOPPED. */
splat_status splat_model_remove_floaters(splat_scene *scene, splat_model *model,
                                         const splat_mesh_extract_options *options, size_t *n_removed,
                                         splat_error *error);
/* Removes Gaussians whose centres stand before the sky of the photos (splat_scene_options.sky) in two training views or
 * more, and in a quarter or more of those whose pictures contain them. A splat paints the sky with them. Call it before
 * splat_mesh_extract. *n_removed: the number; 0 without sky. Errors: NUMERIC (no Gaussian would remain), MEMORY, those
 * of decoding. */
splat_status splat_model_remove_before_sky(splat_scene *scene, splat_model *model, size_t *n_removed,
                                           splat_error *error);
/* Removes Gaussians that fewer than least_views training views show. A view shows a Gaussian if the Gaussian gives at
 * least 1/255 of the light of some pixel that the view's mask keeps. *n_removed: the number. Errors: ARGUMENT
 * (least_views below 1, or above the number of training views), NUMERIC (no Gaussian would remain; nothing changed),
 * MEMORY, DEVICE; those of decoding masks. */
splat_status splat_model_remove_unseen(splat_scene *scene, splat_model *model, int least_views, size_t *n_removed,
                                       splat_error *error);

#ifdef __cplusplus
}
#endif
#endif
