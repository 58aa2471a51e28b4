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

/* The formats of meshes, from the table that reading and writing go through: fills *format with row `index` and returns
 * true; false beyond the last. */
bool splat_mesh_get_format(size_t index, splat_file_format *format);
/* ARGUMENT, naming the endings that exist, when no mesh is written under the end of this name. */
splat_status splat_mesh_check_path(const char *path, splat_error *error);

/* ---------------------------------------------------------------- meshes from splats */

typedef enum splat_mesh_method {
    SPLAT_MESH_POISSON = 0, /* points on the surface that the training views see, screened Poisson reconstruction */
    SPLAT_MESH_TSDF = 1,    /* depth maps of the training views fused in a sparse grid of signed distances */
    SPLAT_MESH_MARCHING_CUBES = 2 /* levels of the splat's density on a sparse grid, whatever the views see: a skin of
                               flat Gaussians becomes a sheet with two sides */
} splat_mesh_method;
#define SPLAT_WORDS_MESH_METHOD "poisson|tsdf|marching_cubes"

/* POISSON: where the points come from. */
typedef enum splat_mesh_point_source {
    SPLAT_MESH_POINTS_LEVEL = 0, /* levels of the splat's density along the rays of the training views (SuGaR) */
    SPLAT_MESH_POINTS_DEPTH = 1, /* the median depth of the training views' pixels */
    SPLAT_MESH_POINTS_CENTERS = 2, /* centres of the Gaussians that stand first in a pixel, with their shortest axes as
                                     normals, on the side that they are seen from */
    SPLAT_MESH_POINTS_VIEWS = 3 /* depth of the training views' pixels where other views see the same surface: the mean
                                   of what agrees, thinned to a point for each cell of the octree */
} splat_mesh_point_source;
#define SPLAT_WORDS_MESH_POINT_SOURCE "level|depth|centers|views"

#define SPLAT_MESH_LEVELS 8

/* Called between pieces of work; fraction of the stage, 0 to 1. Return false to stop (STOPPED). */
typedef bool (*splat_mesh_progress)(void *user, const char *stage, double fraction);

typedef struct splat_mesh_extract_options {
    size_t size;
    splat_mesh_method method;   /* POISSON */
    splat_mesh_point_source points; /* LEVEL */
    float levels[SPLAT_MESH_LEVELS]; /* LEVEL, MARCHING_CUBES: densities, above 0 and below 1; a mesh each; 0.3 */
    size_t n_levels;            /* of them: 1 to SPLAT_MESH_LEVELS; 1 */
    size_t n_points;            /* LEVEL, DEPTH: surface points to take, for each level; 2,000,000 */
    float resolution_factor;    /* of the sides of the training views' pictures; 0.05 to 8, 1 */
    int poisson_depth;          /* POISSON: 10; 6 to 12: the finest cell is 2^-depth of the box; 0: what the spacing of
                                   the points deserves, 10 at most, and fewer where max_host_bytes asks for it */
    double density_quantile;    /* POISSON: this share of the vertices goes, those with the fewest points near; 0 */
    size_t outlier_neighbors;   /* POISSON: points much farther than others from so many neighbours go; 20; 0: none */
    double outlier_std;         /* that is, more than the mean and so many standard deviations; 20 */
    bool project;               /* POISSON: vertices move along their normals to the nearest point, where no face turns
                                   over, and take its colour; false: points are noisier than what they were made to */
    double voxel_size;          /* TSDF, MARCHING_CUBES: scene units, in the box; 0: a 320th of it, or with TSDF more,
                                   until it fits in max_host_bytes */
    double least_scale;         /* MARCHING_CUBES: Gaussians are at least so many voxels thick; 0.5 */
    double max_depth;           /* TSDF: farther surface is left out, scene units; 0: none is */
    float min_alpha;            /* TSDF, DEPTH: pixels with less opacity show no surface; 0.5 */
    bool background;            /* true. POISSON: a second mesh of what lies around the box, up to four times as far;
                                   others: levels of voxels and boxes twice as large each, as far as the views see
                                   (TSDF), or until 99 % of the opaque Gaussians are inside (MARCHING_CUBES) */
    bool has_bbox; /* the box is the next two; else a cube around the cameras, as wide as the scene's extent */
    double bbox_low[3], bbox_high[3]; /* world; never shifted */
    bool center_bbox;           /* the cube lies around the mean of the cameras (true), else around the origin */
    size_t target_vertices;     /* 1,000,000: simplified to it; 0: not simplified */
    size_t min_component_faces; /* smaller pieces are removed; 100 */
    double least_seen;          /* pieces with a smaller share of faces that a training view sees are removed; 0.001 */
    bool remove_sky;            /* true. VIEWS with planes: beyond the foreground's box, what is plain and on no plane,
                                   or where photos contradict it, makes no surface */
    int unseen_rim;             /* unseen faces more than so many faces from a seen one are removed; 8; -1: none are */
    uint64_t max_host_bytes;    /* host memory for points, pictures and reconstruction; 0: no limit */
    uint64_t seed;              /* of the choice of points */
    splat_mesh_progress progress; /* NULL: none */
    void *progress_user;
    double support_trim;        /* POISSON: vertices farther from the nearest surface point than this many cells of the
                                   octree, or spacings of the points there, go; 0: none; 1.5 */
    bool planes;                /* VIEWS: where the photos are plain, surface is looked for on planes that their rims
                                   lie on (docs/method.md); true */
} splat_mesh_extract_options;

typedef struct splat_mesh_extract_info {
    size_t n_gaussians;                     /* LEVEL, CENTERS, MARCHING_CUBES: with an opacity of 1/2 and more */
    size_t n_points;                        /* POISSON: used */
    size_t n_vertices_first, n_faces_first; /* before cleaning and simplifying */
    size_t n_faces_unseen;                  /* removed because no training view sees them (least_seen, unseen_rim) */
    size_t n_vertices, n_faces;             /* written */
} splat_mesh_extract_info;

void splat_mesh_extract_options_init_sized(splat_mesh_extract_options *options, size_t size);
#define splat_mesh_extract_options_init(options) splat_mesh_extract_options_init_sized(options, sizeof *(options))
/* Sets a field by its name from a text, but the levels and the box, which are arrays: "options" in core.h. */
splat_status splat_mesh_extract_options_set(splat_mesh_extract_options *options, const char *name, const char *text,
                                            splat_error *error);
/* Meshes that splat_mesh_extract makes: n_levels for POISSON from LEVEL and for MARCHING_CUBES, else 1. */
size_t splat_mesh_extract_count(const splat_mesh_extract_options *options);
/* ARGUMENT when an option is out of its range; splat_mesh_extract asks it, too. */
splat_status splat_mesh_extract_options_check(const splat_mesh_extract_options *options, splat_error *error);
/* Makes meshes with colours and outward normals from what the training views see of a splat, and writes each to its
 * paths (splat_mesh_get_format), atomically. paths: [meshes][n_paths], n_paths for each mesh in the order of the
 * levels; info: [meshes]. One view is in memory at a time. What the work will need in host memory is reported as a
 * notice before it begins, and when max_host_bytes is less, nothing is begun (MEMORY).
 *
 * LEVEL, CENTERS and MARCHING_CUBES look at a copy of the Gaussians with an opacity of 1/2 and more, with the 3D filter
 * fused: 44 bytes each on the device, and 60 for LEVEL's neighbours. For the rest the surface in a pixel is where the
 * transmittance passes 1/2. The model is not changed.
 *
 * Errors: ARGUMENT, FORMAT (no Gaussians, fewer than 16 opaque ones, fewer than two views), NUMERIC (no surface is
 * seen), MEMORY, IO, STOPPED. */
splat_status splat_mesh_extract(splat_context *context, splat_scene *scene, splat_model *model,
                                const splat_mesh_extract_options *options, const char *const *paths, size_t n_paths,
                                splat_mesh_extract_info *info, splat_error *error);

/* Removes Gaussians from a splat that stand in free space: at least three training views, and more than see it on a
 * surface, look through the place at a surface, more than a tenth farther, that they agree on with other views. It is
 * for splats whose floaters hide what is behind them in few views; what is thinner than a pixel in the views may go,
 * too. Of the options, which may be NULL, those of pictures count: resolution_factor, min_alpha, max_host_bytes,
 * progress. *n_removed: how many. Errors: ARGUMENT, NUMERIC (none would be left), MEMORY, STOPPED. */
splat_status splat_model_remove_floaters(splat_scene *scene, splat_model *model,
                                         const splat_mesh_extract_options *options, size_t *n_removed,
                                         splat_error *error);
/* Removes Gaussians from a splat that fewer than least_views training views show: in which there is a pixel, of those
 * that the view's mask keeps, to which the Gaussian gives at least 1/255 of its light. Photos are read where they have
 * masks. *n_removed: how many. Errors: ARGUMENT (least_views below 1, or above the number of training views), NUMERIC
 * (none would be left: nothing has changed), MEMORY, DEVICE; those of decoding masks. */
splat_status splat_model_remove_unseen(splat_scene *scene, splat_model *model, int least_views, size_t *n_removed,
                                       splat_error *error);

#ifdef __cplusplus
}
#endif
#endif
