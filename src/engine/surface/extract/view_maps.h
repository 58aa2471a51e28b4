/* Maps of all training views of a splat, together in host memory: depth, normals and colours of every pixel, and the
 * views that see the same places. */
#ifndef SPLAT_SURFACE_EXTRACT_VIEW_MAPS_H
#define SPLAT_SURFACE_EXTRACT_VIEW_MAPS_H

#include "math/camera.h"
#include "math/sight.h"
#include "model/model.h"
#include "ops/agree/agree.h"
#include "scene/scene.h"
#include "splatsmith/mesh.h"
#include "stereo/view_neighbors.h"
#include "surface/extract/pixel_state.h"

#include <math.h>

#define SPLAT_VIEW_MAP_PIXEL_BYTES 13u /* host memory of a pixel: depth, normal, colour, alpha, state */

_Static_assert(SPLAT_VIEW_NEIGHBORS <= SPLAT_AGREE_NEIGHBORS, "a view is compared with all of its neighbours");

/* One training view. */
typedef struct splat_view_map {
    uint32_t index;      /* into the dataset's views */
    uint32_t number;     /* among the training views */
    splat_camera camera; /* camera at the size of the maps, not of the photo */
    float *depth;        /* [height][width], along the camera's axis; 0: no surface */
    int16_t *normal;     /* [height][width][2], world, towards the camera: splat_normal_decode */
    uint8_t *rgb;        /* [height][width][3] */
    uint8_t *alpha;      /* [height][width], 255 times it: a pixel without depth is seen through where this is small */
    uint8_t *state;      /* [height][width], a splat_pixel_state */
    uint32_t n_neighbors, neighbors[SPLAT_VIEW_NEIGHBORS]; /* numbers of maps, the best first */
} splat_view_map;

/* Maps of all training views, or of some, in the order of the training views. */
typedef struct splat_view_maps {
    size_t n;
    splat_view_map *views;   /* [n] */
    float resolution_factor; /* ratio of the maps' sides to those of the training views */
    uint64_t bytes;          /* host memory of the maps */
} splat_view_maps;

/* Returns the resolution_factor of the maps: that of the options, or the largest of its halves by area, down to an
 * eighth of the sides, with which the maps fit into max_host_bytes together with the points; 0 if none fits. *bytes:
 * their memory while they are made and used, or that of the smallest size if none fits. */
float splat_view_maps_choose(const splat_scene *scene, const splat_mesh_extract_options *options, uint64_t *bytes);

/* Renders all training views (splat_surface_views) and finds their neighbours. *maps is overwritten; the caller frees
 * it. A notice tells when the maps are smaller than the options say. Errors: MEMORY (max_host_bytes, or there is none),
 * STOPPED, and those of rendering; on failure there is nothing to free. */
splat_status splat_view_maps_make(splat_scene *scene, splat_model *model, const splat_mesh_extract_options *options,
                                  splat_view_maps *maps, splat_error *error);
/* Frees maps of views where many views see the same places, until a place is seen by about 24 views
 * (splat_view_cover_find), and finds the neighbours of the other views. A notice has the number of views that stay.
 * Errors: MEMORY; also then the caller frees the maps. */
splat_status splat_view_maps_thin(splat_view_maps *maps, const splat_context *context, splat_error *error);
/* Room for n maps with these cameras, without any surface; as splat_view_maps_make otherwise. */
splat_status splat_view_maps_init(splat_view_maps *maps, size_t n, const splat_camera *cameras, splat_error *error);
void splat_view_maps_free(splat_view_maps *maps);

/* Cameras and depth of the maps, which are borrowed; NULL: no memory. The caller frees the list. */
splat_depth_view *splat_view_maps_depths(const splat_view_maps *maps);

/* Fills n_neighbors and neighbors of every map (splat_view_neighbors_find), also after depth changed. Errors:
 * MEMORY. */
splat_status splat_view_maps_find_neighbors(splat_view_maps *maps, int threads, splat_error *error);

/* ---------------------------------------------------------------- pixels */

/* True if more than the splat's own depth says what the pixel sees. */
static inline bool splat_view_map_trusted(const splat_view_map *map, size_t pixel)
{
    uint8_t state = map->state[pixel];
    return state == SPLAT_PIXEL_SKY || (state >= SPLAT_PIXEL_AGREED && map->depth[pixel] > 0);
}

/* Up to where the pixel sees, of one that is trusted: its depth, or infinity in the sky. */
static inline float splat_view_map_reach(const splat_view_map *map, size_t pixel)
{
    return map->state[pixel] == SPLAT_PIXEL_SKY ? INFINITY : map->depth[pixel];
}

/* Number of the pixel at (x, y), or of the nearest one at the picture's sides when that lies beyond them. */
static inline size_t splat_view_map_pixel(const splat_view_map *map, int x, int y)
{
    int width = map->camera.width, height = map->camera.height;
    x = x < 0 ? 0 : x >= width ? width - 1 : x;
    y = y < 0 ? 0 : y >= height ? height - 1 : y;
    return (size_t)y * (size_t)width + (size_t)x;
}

/* The place that a pixel with depth shows. */
static inline void splat_view_map_place(const splat_view_map *map, size_t pixel, float place[3])
{
    const size_t width = (size_t)map->camera.width;
    splat_camera_unproject(&map->camera, (float)(pixel % width) + 0.5f, (float)(pixel / width) + 0.5f,
                           map->depth[pixel], place);
}

/* The plane of a pixel with depth, as of op match: inverse depth and its slopes to the right and down; facing the
 * camera where the normal is unknown or seen from the side. */
void splat_view_map_plane(const splat_view_map *map, size_t pixel, float plane[3]);
/* The normal of a plane at a pixel. */
void splat_view_map_set_normal(splat_view_map *map, size_t pixel, const float plane[3]);

/* Pixels of the largest map; at least 1. */
static inline size_t splat_view_maps_most_pixels(const splat_view_maps *maps)
{
    size_t most = 1;
    for (size_t v = 0; v < maps->n; v++) {
        const size_t n = splat_camera_pixels(&maps->views[v].camera);
        if (n > most) most = n;
    }
    return most;
}

#endif
