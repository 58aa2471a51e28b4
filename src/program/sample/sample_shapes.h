/* Shapes of parts, each with a paint and with what it is to a measurement: textured, plain, thin ... */
#ifndef SPLAT_SCENE_SAMPLE_SHAPES_H
#define SPLAT_SCENE_SAMPLE_SHAPES_H

#include "sample/sample_thing.h"
#include "sample/sample_vec.h"

#include <stdbool.h>

typedef enum splat_part_shape {
    SPLAT_PART_RECTANGLE, /* half.x by half.z, seen from its local +y alone */
    SPLAT_PART_BOX,       /* half edges */
    SPLAT_PART_BALL,      /* radius */
    SPLAT_PART_CYLINDER,  /* radius, half.y, with both ends */
    SPLAT_PART_TORUS,     /* radius of the ring around local y, tube */
    SPLAT_PART_TRIANGLE,  /* base from -half.x to half.x at z = -half.z, tip at (tip, half.z); seen from +y alone */
    SPLAT_PART_PATCH,     /* part of a cylinder's side: radius, half.y, up to `angle` from local x; one-sided */
    SPLAT_PART_DOME,      /* part of a ball: radius, y >= half.y, up to `angle` from local x; one-sided */
    SPLAT_PART_MESH       /* thing; seen from both sides */
} splat_part_shape;

/* The property `subset` of the truth. */
typedef enum splat_part_kind {
    SPLAT_PART_TEXTURED,
    SPLAT_PART_PLAIN,  /* flat */
    SPLAT_PART_THIN,
    SPLAT_PART_CURVED, /* plain and curved */
    SPLAT_PART_GLOSSY,
    SPLAT_PART_LEAVES,
    SPLAT_PART_FAR     /* the background out of doors */
} splat_part_kind;

typedef enum splat_paint_pattern {
    SPLAT_PAINT_PLAIN,
    SPLAT_PAINT_CLOUDS,  /* two colours in noise */
    SPLAT_PAINT_BANDS,   /* along local y, bent by noise */
    SPLAT_PAINT_CELLS,   /* cubes of colour with dark joints */
    SPLAT_PAINT_PLANKS,  /* along local x */
    SPLAT_PAINT_POSTER,  /* a picture over local x and y */
    SPLAT_PAINT_THING    /* the colours of the part's thing */
} splat_paint_pattern;

typedef struct splat_paint {
    splat_paint_pattern pattern;
    splat_vec3 colors[3];
    double scale;  /* of the pattern, per unit */
    double gloss;
    double mirror; /* the part of the light that is reflected, seen straight on */
    bool glows;    /* a lamp: as bright as its colour, whatever shines on it */
    int variant;   /* makes patterns of the same kind differ */
} splat_paint;

typedef struct splat_part {
    splat_part_shape shape;
    splat_part_kind kind;
    splat_vec3 center, axes[3]; /* rows: local x, y, z */
    splat_vec3 half;
    double radius, tube;
    const splat_sample_thing *thing; /* borrowed */
    double angle, tip;          /* angle: half of the range, radians */
    bool is_hollow;             /* patches and domes: seen from inside */
    double rarity;              /* above 0: one of so many points of a surface lies here; SPLAT_PART_FAR is so large */
    double bound2;              /* squared radius of a ball around center that holds the part */
    splat_paint paint;
} splat_part;

static inline splat_vec3 splat_part_to_local(const splat_part *part, splat_vec3 v)
{
    return splat_vec3_make(splat_vec3_dot(part->axes[0], v), splat_vec3_dot(part->axes[1], v),
                           splat_vec3_dot(part->axes[2], v));
}

static inline splat_vec3 splat_part_to_world(const splat_part *part, splat_vec3 v)
{
    splat_vec3 sum = splat_vec3_scale(part->axes[0], v.x);
    return splat_vec3_along(splat_vec3_along(sum, part->axes[1], v.y), part->axes[2], v.z);
}

/* Local y along `up`, local x as near to `along` as it can be; neither need have length 1, nor be at right angles. */
void splat_part_turn(splat_part *part, splat_vec3 up, splat_vec3 along);
/* The box around a part, along the axes of the world. */
void splat_part_box(const splat_part *part, double low[3], double high[3]);
/* Squared radius of a ball around the center that holds the part. */
double splat_part_bound_squared(const splat_part *part);
/* The ray's place on a part that is nearer than `limit`, else no_hit. */
double splat_part_hit(const splat_part *part, splat_vec3 origin, splat_vec3 direction, double limit);
/* The outward normal at a local place of the surface, of any length. */
splat_vec3 splat_part_normal(const splat_part *part, splat_vec3 p);

/* ---------------------------------------------------------------- points on the surfaces */

/* Area of the proposals of splat_part_point. */
double splat_part_area(const splat_part *part);
/* Proposes a point of the surface, uniform by area, from three numbers in (0, 1), with its outward normal, in world
 * coordinates. False: draw again (tori are sampled by rejection). */
bool splat_part_point(const splat_part *part, const double uniform[3], splat_vec3 *position, splat_vec3 *normal);
/* Length of the edges (0: only rectangles, boxes and cylinders have some), and a point on them with a normal between
 * its two faces'. */
double splat_part_edge_length(const splat_part *part);
void splat_part_edge_point(const splat_part *part, const double uniform[3], splat_vec3 *position, splat_vec3 *normal);

#endif
