/* Building worlds: paints and parts in few words. Heights are above the ground: `up` is -y. */
#ifndef SPLAT_SCENE_SAMPLE_BUILD_H
#define SPLAT_SCENE_SAMPLE_BUILD_H

#include "sample/sample_dice.h"
#include "sample/sample_parts.h"

typedef struct splat_build {
    splat_parts *parts;
    splat_dice dice;
} splat_build;

static inline splat_vec3 splat_up(double x, double up, double z)
{
    return splat_vec3_make(x, -up, z);
}

/* Begins an empty world. */
splat_build splat_build_start(splat_parts *parts, uint64_t seed);
/* A random number. Each draw is a statement of its own or the only one of its call: arguments have no order in C, and a
 * scene must not depend on the compiler. */
double splat_build_between(splat_build *b, double low, double high);

/* ---------------------------------------------------------------- paints */

/* One colour; hue, saturation and brightness vary a little. */
splat_paint splat_build_plain(splat_build *b, double hue, double saturation, double brightness);
/* Two or three colours near a hue. */
splat_paint splat_build_pattern(splat_build *b, splat_paint_pattern pattern, double scale, double hue,
                                double saturation, double brightness);

/* ---------------------------------------------------------------- parts */

/* A rectangle: normal and the direction of half_along. */
splat_part *splat_build_face(splat_build *b, splat_part_kind kind, splat_vec3 center, splat_vec3 normal,
                             splat_vec3 along, double half_along, double half_across, splat_paint paint);
/* An upright box whose lower side is at `place`; half: along its x, up, along its z. turn: radians. */
splat_part *splat_build_box(splat_build *b, splat_part_kind kind, splat_vec3 place, splat_vec3 half, double turn,
                            splat_paint paint);
/* A cylinder between two places of its axis. */
splat_part *splat_build_rod(splat_build *b, splat_part_kind kind, splat_vec3 from, splat_vec3 to, double radius,
                            splat_paint paint);
splat_part *splat_build_ball(splat_build *b, splat_part_kind kind, splat_vec3 center, double radius,
                             splat_paint paint);
/* A railing from one place on the ground to another: balusters of this radius, and a rail twice as thick at
 * `height`. */
void splat_build_railing(splat_build *b, splat_vec3 from, splat_vec3 to, double height, double step, double radius,
                         splat_paint paint);
/* n leaves of about this half length in an ellipsoid, more of them near its surface, but not within `keep_off` of
 * `open`. A leaf is a sheet of 1 mm. */
void splat_build_leaves(splat_build *b, splat_vec3 center, splat_vec3 half, int n, double size, double hue,
                        splat_vec3 open, double keep_off);
/* A thing of the user's, turned around the vertical axis by `turn`, radians. */
splat_part *splat_build_thing(splat_build *b, const splat_sample_thing *thing, splat_vec3 center, double turn);
/* A sun with soft shadows, high in a direction that is drawn. */
void splat_build_soft_sun(splat_build *b);
/* A plane near which surfaces are darker. */
void splat_build_dark_wall(splat_build *b, splat_vec3 place, splat_vec3 normal);

#endif
