/* Round surfaces: cylinders and balls. */
#ifndef SPLAT_SURFACE_PLANE_ROUND_H
#define SPLAT_SURFACE_PLANE_ROUND_H

#include "surface/planes/plane_shade.h"

#define PLANE_ROUND_UNKNOWNS 5
#define PLANE_ROUND_LARGEST 4.0   /* radius, in depths: flatter ones are planes */
#define PLANE_ROUND_PARALLEL 0.95 /* cosine: 18 degrees, between directions that may be one */

typedef struct plane_round {
    double axis[3];   /* of a cylinder, of length 1; zeros: a ball */
    double center[3]; /* a place of the axis; the middle of a ball */
    double radius;
    bool is_fixed;         /* the axis, or the middle */
    bool is_touching;      /* two walls: it moves along them alone, */
    double along[3];       /* in this direction, of length 1 */
    float low[3], high[3]; /* the box around the places that tell it */
} plane_round;

#define PLANE_MAX_ROUNDS 64 /* most of a scene */

struct plane_rounds {
    plane_round all[PLANE_MAX_ROUNDS];
    size_t n;
};

/* A place of a surface and its normal, towards the camera. */
typedef struct plane_round_place {
    float position[3], normal[3], depth, x, y; /* x, y: pixels of its view */
    uint32_t view, segment;
    bool is_flat; /* a plane of the scene explains it as well */
} plane_round_place;

bool plane_round_is_ball(const plane_round *round);
/* The signed distance of a place from the surface, > 0 outside. The second has also the unit direction away from the
 * axis or middle, for three divisions more. */
double plane_round_distance(const plane_round *round, const float position[3]);
double plane_round_outward(const plane_round *round, const float position[3], double outward[3]);

/* Surfaces that two places may make: a ball, a cylinder of any axis, or one of a known axis, as a column on a floor. */
typedef enum plane_round_kind {
    PLANE_ROUND_CYLINDER,
    PLANE_ROUND_BALL,
    PLANE_ROUND_UPRIGHT,
    PLANE_ROUND_KINDS,
} plane_round_kind;

/* The surface through two places with normals; axis: of an upright cylinder, of length 1, whose round->is_fixed becomes
 * true. False: there is none. */
bool plane_round_of_two(const plane_round_place *a, const plane_round_place *b, plane_round_kind kind,
                        const double *axis, plane_round *round);

/* Moves a surface, whose axis stays, so that it passes through places: the first three, or of a ball four. False: they
 * determine none, and it stays as it is. */
bool plane_round_through(const float *const places[4], plane_round *round);

/* The slant where the ray through (x, y) of a picture meets the surface: the nearer sheet, or the farther one. False:
 * nowhere. */
bool plane_round_slant(const splat_camera *camera, const plane_round *round, float x, float y, bool is_far,
                       plane_slant *slant);

/* True if a place lies in the box around the places that tell the surface. */
bool plane_round_has(const plane_round *round, const float position[3]);
/* The sheet nearest to an inverse depth q, within `most` of it and in the box. False: there is none. */
bool plane_round_nearest(const splat_camera *camera, const plane_round *round, float x, float y, float q, float most,
                         bool *is_far, plane_slant *slant);
/* True if a is nearly b. */
bool plane_round_is_like(const plane_round *a, const plane_round *b);

/* The surface with its unknowns moved: along two directions across the axis and its radius, in units of `length`, and
 * turned about the same directions; a ball moves along three. A fixed axis does not turn, a fixed middle does not
 * move. */
plane_round plane_round_moved(const plane_round *round, const double unknowns[PLANE_ROUND_UNKNOWNS], double length);
/* How many unknowns it has. */
int plane_round_unknowns(const plane_round *round);

#endif
