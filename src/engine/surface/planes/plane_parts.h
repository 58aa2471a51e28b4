/* Data shared by the steps of finding planes: plain segments of a photo, seeds around them, planes of one view, planes
 * of all views, and the cells of a plane that views vote about. */
#ifndef SPLAT_SURFACE_PLANE_PARTS_H
#define SPLAT_SURFACE_PLANE_PARTS_H

#include "math/sight.h"
#include "math/vec3.h"
#include "surface/extract/view_maps.h"
#include "surface/planes/planes_bytes.h"

#define PLANE_SLOTS 4           /* planes of a segment */
#define PLANE_MAX_SEGMENTS 8190 /* most segments of a view: 13 bits */
#define PLANE_SEGMENT_SEEDS 512 /* most seeds of a segment */
#define PLANE_LEAST_SLANT 0.1   /* of the depth: the least reach of a place */
#define PLANE_SHADE_VIEWS 16    /* views that one place is compared in, at most */
#define PLANE_SHADE_LEVEL 64    /* of a small photo: a level of 255 */

/* ---------------------------------------------------------------- one plane (plane_fit.c) */

/* Weighted sums of places. */
typedef struct plane_moments {
    double weight, sum[3], square[6]; /* xx, xy, xz, yy, yz, zz */
} plane_moments;

/* normal . x = offset; the axes lie in the plane, the longer spread first. sigma: standard deviations along the axes
 * and the normal. Of hypotheses and planes of the scene the normal points to the cameras that see the plane: the two
 * sides of a thin plate are two planes. */
typedef struct plane_fit {
    double normal[3], offset, centroid[3], axes[2][3], sigma[3];
} plane_fit;

static inline double plane_distance(const plane_fit *fit, const float p[3])
{
    return fit->normal[0] * (double)p[0] + fit->normal[1] * (double)p[1] + fit->normal[2] * (double)p[2] - fit->offset;
}

/* from + the way from the centroid to a place along an axis of the plane. */
static inline double plane_along_axis(const plane_fit *fit, int axis, const float place[3], double from)
{
    for (int k = 0; k < 3; k++) from += fit->axes[axis][k] * ((double)place[k] - fit->centroid[k]);
    return from;
}

typedef struct plane_global plane_global;

/* ---------------------------------------------------------------- one view */

/* A place on the rim of a segment, where the photo has an edge, with the splat's depth. */
typedef struct plane_seed {
    float position[3], depth;
    uint32_t pixel;   /* pixel of the segment next to the edge */
    uint16_t segment;
    bool is_settled;  /* on a plane, where the segment has none: exact; plane_settle_seeds */
} plane_seed;

/* How far a place is from a plane if its depth is wrong by the depth itself: the error of a depth moves the place along
 * its ray, which hardly leaves a plane seen at a grazing angle. sight: the way to the place from its camera. */
static inline double plane_reach(const double normal[3], const double sight[3], double depth)
{
    return fmin(fmax(fabs(splat_dot3(normal, sight)), PLANE_LEAST_SLANT * depth), depth);
}

/* center: of the camera that sees the seed. */
static inline double plane_seed_reach(const double normal[3], const plane_seed *seed, const float center[3])
{
    double sight[3];
    for (int k = 0; k < 3; k++) sight[k] = (double)(seed->position[k] - center[k]);
    return plane_reach(normal, sight, (double)seed->depth);
}

/* Puts a seed where a camera sees the depth at (x, y) of its picture. */
static inline void plane_seed_put(plane_seed *seed, const splat_camera *c, float x, float y, float depth)
{
    seed->depth = depth;
    splat_camera_unproject(c, x, y, depth, seed->position);
}

typedef struct plane_segment {
    uint32_t n_pixels, first_seed, n_seeds;
    uint32_t n_rim;    /* places of the rim that were looked at: seeds, and those where something stands in front */
    uint32_t n_taken;  /* pixels that views leave to a plane, after plane_settle */
    float tolerance;   /* distance of seeds from their plane, share of the depth; plane_candidates */
    uint8_t n_planes;  /* candidates below; those beyond n_strong are only lines of seeds */
    uint8_t n_strong;
    uint16_t planes[PLANE_SLOTS];
} plane_segment;

/* A plane that the seeds of one segment lie on. */
typedef struct plane_hypothesis {
    plane_fit fit;
    double depth; /* mean depth of its seeds */
    uint32_t n_seeds, view, segment;
    int32_t plane; /* plane of all views that it belongs to, or -1 */
} plane_hypothesis;

/* A label: segment + 1 in the lower 13 bits, 0: not plain; above them the slot + 1 of its plane, 0: undecided. */
#define PLANE_LABEL_SEGMENT 0x1fffu
#define PLANE_LABEL_SHIFT 13

/* A place of the picture, in pixels, where the photo has an edge between two segments. */
typedef struct plane_edge {
    float x, y;
    uint32_t own, other; /* pixels of them */
} plane_edge;

/* A place of the picture, in pixels, where the photo has the edge of a segment, and the way out of the segment. Nothing
 * stands in front of it as far as the splat knows. */
typedef struct plane_rim {
    float x, y, out[2];
    uint32_t own; /* pixel of the segment */
} plane_rim;

typedef struct plane_surface plane_surface;
typedef struct plane_rounds plane_rounds;

#define PLANE_BOUND 64u /* seeds of a ball */
#define PLANE_FEW_VIEWS 15u /* of a scene: with fewer, two or three see a wall, and none says much of the others */

typedef struct plane_view {
    uint16_t *labels; /* [height][width] */
    plane_segment *segments;
    plane_seed *seeds;
    float (*balls)[4]; /* around every PLANE_BOUND of the seeds: centre and radius; plane_pool_bound */
    plane_hypothesis *hypotheses;
    plane_edge *edges;
    plane_rim *rims;
    plane_surface *surfaces; /* [n_segments] plane_choose.c */
    const plane_rounds *rounds; /* borrowed: of the scene; NULL: not looked for */
    uint16_t *shade; /* [4][shade_height][shade_width] the photo, low-passed: what is compared, then its channels */
    float *hiding;   /* [shade_height][shade_width] depth of what is not plain, 0: plain or nothing */
    int shade_width, shade_height, shade_side; /* side: of its pixels, in pixels of the map */
    uint32_t n_segments, n_seeds, n_hypotheses, n_edges, n_rims;
} plane_view;

/* The plane of a label of a view's pixel, or -1. */
static inline int plane_of_label(const plane_view *view, uint32_t label)
{
    const uint32_t slot = label >> PLANE_LABEL_SHIFT;
    return slot ? view->segments[(label & PLANE_LABEL_SEGMENT) - 1].planes[slot - 1] : -1;
}

/* Buffers of one thread for the largest view. */
typedef struct plane_work {
    uint8_t *rgb;       /* [n][3] */
    uint16_t *smooth;   /* [3][n], 256ths of a level */
    uint16_t *gradient; /* [n] */
    int32_t *component, *queue;
    float *depth;       /* [n] */
    uint8_t *mask;
} plane_work;

/* ---------------------------------------------------------------- all views */

/* A plane of the scene: a rectangle around its seeds, cut into cells. */
struct plane_global {
    plane_fit fit;
    double low[2], high[2]; /* extent of the seeds along the axes, from the centroid */
    double residual;
    uint32_t n_views;
    bool is_tied;           /* edges that it shares with two others or more place it, and its rims agree */
    double cell;            /* side of a cell */
    uint32_t n_cells[2];
    size_t first_cell;      /* among the cells of all planes */
};

/* Empties the rectangle of a plane's places. */
static inline void plane_rectangle_clear(plane_global *plane)
{
    for (int a = 0; a < 2; a++) {
        plane->low[a] = INFINITY;
        plane->high[a] = -INFINITY;
    }
}

/* Extends the rectangle to a place. The plane's fit is final. */
static inline void plane_rectangle_add(plane_global *plane, const float position[3])
{
    for (int a = 0; a < 2; a++) {
        const double u = plane_along_axis(&plane->fit, a, position, 0);
        plane->low[a] = fmin(plane->low[a], u);
        plane->high[a] = fmax(plane->high[a], u);
    }
}

/* True if a place lies in the rectangle of a plane's seeds. */
static inline bool plane_is_inside(const plane_global *plane, const float position[3])
{
    for (int a = 0; a < 2; a++) {
        const double u = plane_along_axis(&plane->fit, a, position, 0);
        if (!(u > plane->low[a] && u < plane->high[a])) return false;
    }
    return true;
}

/* True if the camera is in front of the plane. */
static inline bool plane_faces(const splat_camera *c, const plane_fit *fit)
{
    return plane_distance(fit, c->center) > 0;
}

/* The squared distance of a place from the line through `from` along a vector of length 1. */
static inline double plane_off_line(const float place[3], const float from[3], const double along[3])
{
    double d[3];
    for (int k = 0; k < 3; k++) d[k] = (double)place[k] - (double)from[k];
    const double dot = splat_dot3(d, along);
    return splat_dot3(d, d) - dot * dot;
}

/* True if two planes that meet in a place are the same plane, so that their line gives no information about a third
 * one. */
static inline bool plane_is_parallel(const double a[3], const double b[3])
{
    return fabs(a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) > 0.966; /* 15 degrees */
}

/* The other side becomes the front. */
static inline void plane_turn(plane_fit *fit)
{
    for (int k = 0; k < 3; k++) fit->normal[k] = -fit->normal[k];
    fit->offset = -fit->offset;
}

/* From a camera through a place of its picture: what the world's place gains at one more of depth. */
static inline void plane_ray(const splat_camera *c, double image_x, double image_y, double ray[3])
{
    double x = (image_x - (double)c->cx) / (double)c->fx, y = (image_y - (double)c->cy) / (double)c->fy;
    for (int k = 0; k < 3; k++)
        ray[k] = (double)c->rotation[k] * x + (double)c->rotation[3 + k] * y + (double)c->rotation[6 + k];
}

static inline double plane_distance_of_camera(const splat_camera *c, const plane_fit *fit)
{
    double distance = fit->offset;
    for (int k = 0; k < 3; k++) distance -= fit->normal[k] * (double)c->center[k];
    return distance;
}

/* Depth at which a ray meets a plane; INFINITY: nowhere before the camera. */
static inline float plane_depth_along(const plane_fit *fit, const double ray[3], double distance_of_camera)
{
    double along = 0;
    for (int k = 0; k < 3; k++) along += fit->normal[k] * ray[k];
    double z = distance_of_camera / along;
    return z > 1e-6 && z < 1e9 ? (float)z : INFINITY;
}

/* Depth of a plane along the ray through (x, y) of the picture, from either side; INFINITY: the ray misses it. */
static inline float plane_depth_at(const splat_camera *c, const plane_fit *fit, double image_x, double image_y)
{
    double ray[3];
    plane_ray(c, image_x, image_y, ray);
    return plane_depth_along(fit, ray, plane_distance_of_camera(c, fit));
}

/* The same through the centre of a pixel. */
static inline float plane_depth_of_either_side(const splat_camera *c, const plane_fit *fit, size_t pixel)
{
    size_t width = (size_t)c->width;
    return plane_depth_at(c, fit, (double)(pixel % width) + 0.5, (double)(pixel / width) + 0.5);
}

/* And of its front alone. */
static inline float plane_depth(const splat_camera *c, const plane_fit *fit, size_t pixel)
{
    return plane_faces(c, fit) ? plane_depth_of_either_side(c, fit, pixel) : INFINITY;
}

/* Puts a pixel on a plane, z deep there. The plane faces the camera. */
static inline void plane_set_pixel(splat_view_map *map, const plane_fit *fit, size_t pixel, float z)
{
    const float normal[3] = {(float)fit->normal[0], (float)fit->normal[1], (float)fit->normal[2]};
    map->depth[pixel] = z;
    map->state[pixel] = SPLAT_PIXEL_FITTED;
    splat_normal_encode(normal, map->normal + 2 * pixel);
}

/* False if planes leave most of a segment empty. A plain segment has no edge inside at which a plane could end; planes
 * that do, as a ground in front of the sky, do not belong to it. */
static inline bool plane_segment_has_planes(const plane_segment *segment)
{
    return segment->n_taken >= 0.5 * segment->n_pixels;
}

/* True if a good part of a segment has no plane. */
static inline bool plane_segment_is_open(const plane_segment *segment)
{
    return segment->n_taken < segment->n_pixels - segment->n_pixels / 4;
}

#endif
