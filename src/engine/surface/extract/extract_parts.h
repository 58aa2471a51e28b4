/* Surfaces from a splat: what its training views see is made into points or fused depth, and that into a mesh. */
#ifndef SPLAT_SURFACE_EXTRACT_PARTS_H
#define SPLAT_SURFACE_EXTRACT_PARTS_H

#include "mesh/mesh.h"
#include "model/model.h"
#include "scene/scene.h"
#include "splatsmith/mesh.h"

/* ---------------------------------------------------------------- views (surface_views.c) */

/* What one view sees, on the host; valid during the call. Pixels without surface have depth 0. */
typedef struct splat_surface_view {
    uint32_t index;         /* into the dataset's views */
    size_t number;          /* among the training views */
    const splat_camera *camera;
    const float *depth;     /* [height][width], along the camera's axis: where the transmittance passes 1/2 */
    const float *normal;    /* [3][height][width], world, towards the camera, unit or 0 */
    const float *alpha;     /* [height][width] */
    const uint8_t *rgb;     /* [height][width][3]: colours that do not depend on the direction (SH degree 0) */
} splat_surface_view;

typedef splat_status (*splat_surface_function)(void *user, const splat_surface_view *view, splat_error *error);

/* Calls `use` with every training view in turn, one in memory at a time. Pixels with less alpha than min_alpha have
 * depth 0. */
splat_status splat_surface_views(splat_scene *scene, splat_model *model, const splat_mesh_extract_options *options,
                                 splat_surface_function use, void *user, splat_error *error);
/* A training view's camera for pictures whose sides are resolution_factor times the scene's. */
splat_camera splat_surface_camera(const splat_scene *scene, size_t number, float resolution_factor);
/* Pixels of the largest of them. */
size_t splat_surface_pixels(const splat_scene *scene, float resolution_factor);
/* The colour that all directions share: host arrays rgb [3][height][width] and alpha [height][width], which is 1 less
 * the transmittance. */
splat_status splat_surface_render(splat_model *model, const splat_camera *camera, float *rgb, float *alpha,
                                  splat_error *error);
/* Pixel i of such a picture without the black background. */
void splat_surface_color(const float *rgb, const float *alpha, size_t n_pixels, size_t i, uint8_t color[3]);

/* ---------------------------------------------------------------- points (surface_points.c) */

/* Points on the surface with normals and colours. */
typedef struct splat_surface_points {
    size_t n, capacity;
    float *positions, *normals; /* [n][3] */
    uint8_t *colors;            /* [n][4] */
    float *weights;             /* [n], above 0, how much each counts; NULL: all the same */
} splat_surface_points;

#define SPLAT_SURFACE_POINT_BYTES 28u /* of host memory, without weights */
#define SPLAT_SURFACE_WEIGHT_BYTES 4u
#define SPLAT_SURFACE_PIECE 65536u   /* pixels that LEVEL looks at together: bounds what they need */

splat_status splat_surface_points_make(splat_surface_points *points, size_t capacity, splat_error *error);
void splat_surface_points_free(splat_surface_points *points);
/* Opaque black so far; there must be room. */
void splat_surface_points_add(splat_surface_points *points, const float position[3], const float normal[3],
                              const uint8_t color[3]);

/* Room for weights, 1 for the points that are there. Errors: MEMORY. */
splat_status splat_surface_points_weigh(splat_surface_points *points, splat_error *error);

/* Point `to` becomes a copy of point `from`. */
void splat_surface_points_move(splat_surface_points *points, size_t from, size_t to);

/* Points that training view `number` should give, so that all give n_points together. */
size_t splat_surface_share(const splat_scene *scene, const splat_mesh_extract_options *options, size_t number);

/* surface_collect.c: fills points[splat_mesh_extract_count(options)] from the source that the options name. *n_opaque:
 * Gaussians that LEVEL and CENTERS look at. On failure there is nothing to free. */
splat_status splat_surface_points_collect(splat_scene *scene, splat_model *model,
                                          const splat_mesh_extract_options *options, splat_surface_points *points,
                                          size_t *n_opaque, splat_error *error);
/* The most points that are held at a time, for each mesh. */
size_t splat_surface_points_capacity(const splat_scene *scene, const splat_model *model,
                                     const splat_mesh_extract_options *options);

/* Choosing n_wanted of n_left at random, one after the other: whether this one is taken, by a random word; counts
 * both down. Every choice is as likely, and exactly n_wanted are taken where there are so many. */
static inline bool splat_surface_pick(uint32_t word, size_t *n_wanted, size_t *n_left)
{
    bool takes = (double)word * 0x1p-32 * (double)(*n_left)-- < (double)*n_wanted;
    *n_wanted -= takes;
    return takes;
}

/* surface_gaussians.c: a copy of the finite Gaussians with an opacity of 1/2 and more, the 3D filter fused, without
 * SH. */
typedef struct splat_surface_gaussians {
    splat_gaussians g;   /* device pointers; sh_dc, sh_rest and filter_3d are NULL */
    splat_block means, scales, rotations, opacities;
    uint32_t *index;     /* [g.n] where they are in the model; host memory */
} splat_surface_gaussians;

/* Errors: FORMAT (too few for SPLAT_NEIGHBORS neighbours each), MEMORY. On failure there is nothing to free. Not to be
 * copied: the backend keeps the addresses of the blocks. */
splat_status splat_surface_gaussians_make(const splat_model *model, splat_surface_gaussians *opaque,
                                          splat_error *error);
void splat_surface_gaussians_free(splat_backend *backend, splat_surface_gaussians *opaque);

/* surface_levels.c: ids[i] = 0 where the mask of a view hides pixel i of a camera of any size: nobody stands there.
 * Errors: those of reading the photo. */
splat_status splat_surface_hide_masked(splat_scene *scene, uint32_t view, const splat_camera *camera, uint32_t *ids,
                                       splat_error *error);

/* The sources. */
splat_status splat_surface_depths(splat_scene *scene, splat_model *model, const splat_mesh_extract_options *options,
                                  splat_surface_points *points, splat_error *error);
splat_status splat_surface_levels(splat_scene *scene, splat_model *model, const splat_surface_gaussians *opaque,
                                  const splat_mesh_extract_options *options, splat_surface_points *points,
                                  splat_error *error);
splat_status splat_surface_centers(splat_scene *scene, splat_model *model, const splat_surface_gaussians *opaque,
                                   const splat_mesh_extract_options *options, splat_surface_points *points,
                                   splat_error *error);

/* From SPLAT_MESH_POINTS_VIEWS (surface_agreed.c): renders all views, compares them, thins the surface that they agree
 * on to at most points->capacity points, with weights. Errors also: NUMERIC (they agree on none). */
splat_status splat_surface_views_agreed(splat_scene *scene, splat_model *model,
                                        const splat_mesh_extract_options *options, splat_surface_points *points,
                                        splat_error *error);

/* ---------------------------------------------------------------- extract_boxes.c */

/* STOPPED when the caller's progress function says so. */
splat_status splat_surface_go_on(const splat_mesh_extract_options *options, const char *stage, double fraction,
                                 splat_error *error);

/* Foreground and background boxes: those of the options, or cubes around the cameras' mean (docs/method.md). */
typedef struct splat_surface_boxes {
    double low[3], high[3];         /* foreground */
    double outer_low[3], outer_high[3]; /* background: what lies in here and not in the foreground */
} splat_surface_boxes;
splat_surface_boxes splat_surface_boxes_make(const splat_scene *scene, const splat_mesh_extract_options *options);


bool splat_surface_is_inside(const float point[3], const double low[3], const double high[3]);

/* An extraction in work. */
typedef struct splat_extraction {
    const splat_mesh_extract_options *options;
    splat_scene *scene;
    splat_model *model;
    splat_surface_boxes boxes;
    int threads;
    uint64_t octree_bytes; /* host memory of an octree or a voxel grid; 0: no limit */
    int most_depth;        /* POISSON: of an octree; where the options name a depth, that */
} splat_extraction;

#define SPLAT_EXTRACT_MOST_DEPTH 10 /* where points choose the depth; that of SuGaR */

/* Levels that the octree of positions[n][3] deserves: the finest cell is as wide as points lie apart where they are
 * dense (the 0.1 quantile of the distances to the nearest other one, of at most 65,536 points), rounded to fewer
 * levels, within 6 .. most. Points that all lie in one place get `most`. Errors: MEMORY. */
splat_status splat_extract_depth(const float *positions, size_t n, int most, int threads, int *depth,
                                 splat_error *error);

/* Side of a voxel: what the options say, or a 320th of the foreground's longest side. */
double splat_extract_voxel(const splat_extraction *extraction);

/* ---------------------------------------------------------------- the methods */

/* Each overwrites *mesh. extract_poisson.c: one box for all, or foreground and background, not stitched; of the
 * points, whose order changes, only those that were used stay. */
splat_status splat_extract_poisson(const splat_extraction *extraction, splat_surface_points *points, splat_mesh *mesh,
                                   splat_error *error);
/* extract_fusion.c: the foreground. */
splat_status splat_extract_fusion(const splat_extraction *extraction, splat_mesh *mesh, splat_error *error);
/* extract_density.c: one level of the density. */
splat_status splat_extract_density(const splat_extraction *extraction, float level, splat_mesh *mesh,
                                   size_t *n_gaussians, splat_error *error);
/* extract_seen.c: removes what no training view sees, as the options say; *n_faces of them. Errors: NUMERIC (nothing is
 * left), MEMORY, STOPPED. */
splat_status splat_extract_drop_unseen(const splat_extraction *extraction, splat_mesh *mesh, size_t *n_faces,
                                       splat_error *error);
/* extract_memory.c: tells the host memory that the mesh will need, and refuses what passes max_host_bytes.
 * *octree_bytes: what the reconstruction may take of it; 0: no limit. */
splat_status splat_surface_check_memory(const splat_scene *scene, const splat_model *model,
                                        const splat_mesh_extract_options *options, uint64_t *octree_bytes,
                                        int *most_depth, splat_error *error);

#endif
