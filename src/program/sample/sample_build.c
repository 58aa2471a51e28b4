/* Building worlds: paints and parts in few words. */
#include "sample/sample_build.h"

#include "sample/sample_light.h"

static const double pi = 3.14159265358979323846;

splat_build splat_build_start(splat_parts *parts, uint64_t seed)
{
    *parts = (splat_parts){0};
    splat_noise_init(parts->noise, seed);
    return (splat_build){.parts = parts, .dice = {.seed = seed, .step = SPLAT_SAMPLE_STEP_LAYOUT}};
}

double splat_build_between(splat_build *b, double low, double high)
{
    return splat_dice_between(&b->dice, low, high);
}

/* ---------------------------------------------------------------- paints */

static splat_vec3 vary(splat_build *b, double hue, double saturation, double brightness)
{
    double h = splat_build_between(b, -0.015, 0.015) + hue, s = splat_build_between(b, 0.85, 1.1) * saturation;
    double v = splat_build_between(b, 0.95, 1.05) * brightness;
    return splat_sample_hue(h - floor(h), fmin(s, 1), v);
}

splat_paint splat_build_plain(splat_build *b, double hue, double saturation, double brightness)
{
    splat_paint paint = {.pattern = SPLAT_PAINT_PLAIN};
    paint.colors[0] = vary(b, hue, saturation, brightness);
    return paint;
}

splat_paint splat_build_pattern(splat_build *b, splat_paint_pattern pattern, double scale, double hue,
                                double saturation, double brightness)
{
    splat_paint paint = {.pattern = pattern, .scale = scale * splat_build_between(b, 0.9, 1.1)};
    paint.colors[0] = vary(b, hue, saturation, brightness);
    paint.colors[1] = vary(b, hue + 0.03, saturation, 0.68 * brightness);
    paint.colors[2] = vary(b, hue - 0.04, 0.7 * saturation, 0.85 * brightness);
    paint.variant = (int)splat_build_between(b, 0, 200);
    return paint;
}

/* ---------------------------------------------------------------- parts */

splat_part *splat_build_face(splat_build *b, splat_part_kind kind, splat_vec3 center, splat_vec3 normal,
                             splat_vec3 along, double half_along, double half_across, splat_paint paint)
{
    splat_part part = {.shape = SPLAT_PART_RECTANGLE, .kind = kind, .center = center, .paint = paint};
    part.half = splat_vec3_make(half_along, 0, half_across);
    splat_part_turn(&part, normal, along);
    return splat_parts_add(b->parts, part);
}

splat_part *splat_build_box(splat_build *b, splat_part_kind kind, splat_vec3 place, splat_vec3 half, double turn,
                            splat_paint paint)
{
    splat_part part = {.shape = SPLAT_PART_BOX, .kind = kind, .half = half, .paint = paint};
    part.center = splat_vec3_make(place.x, place.y - half.y, place.z);
    splat_part_turn(&part, splat_vec3_make(0, -1, 0), splat_vec3_make(cos(turn), 0, sin(turn)));
    return splat_parts_add(b->parts, part);
}

splat_part *splat_build_rod(splat_build *b, splat_part_kind kind, splat_vec3 from, splat_vec3 to, double radius,
                            splat_paint paint)
{
    splat_part rod = {.shape = SPLAT_PART_CYLINDER, .kind = kind, .radius = radius, .paint = paint};
    splat_vec3 along = splat_vec3_sub(to, from);
    rod.center = splat_vec3_along(from, along, 0.5);
    rod.half.y = 0.5 * sqrt(splat_vec3_dot(along, along));
    splat_part_turn(&rod, along, splat_vec3_make(0.31, 0.2, 0.93));
    return splat_parts_add(b->parts, rod);
}

splat_part *splat_build_ball(splat_build *b, splat_part_kind kind, splat_vec3 center, double radius,
                             splat_paint paint)
{
    splat_part ball = {.shape = SPLAT_PART_BALL, .kind = kind, .center = center, .radius = radius, .paint = paint};
    splat_part_turn(&ball, splat_vec3_make(0, -1, 0), splat_vec3_make(1, 0, 0));
    return splat_parts_add(b->parts, ball);
}

void splat_build_railing(splat_build *b, splat_vec3 from, splat_vec3 to, double height, double step, double radius,
                         splat_paint paint)
{
    const splat_vec3 up = {0, -height, 0};
    splat_vec3 along = splat_vec3_sub(to, from);
    int n = (int)fmax(1, floor(sqrt(splat_vec3_dot(along, along)) / step));
    for (int i = 0; i <= n; i++) {
        splat_vec3 foot = splat_vec3_along(from, along, (double)i / n);
        splat_build_rod(b, SPLAT_PART_THIN, foot, splat_vec3_add(foot, up), radius, paint);
    }
    splat_build_rod(b, SPLAT_PART_THIN, splat_vec3_add(from, up), splat_vec3_add(to, up), 2 * radius, paint);
}

static splat_vec3 any_direction(splat_build *b)
{
    double y = splat_build_between(b, -1, 1), angle = splat_build_between(b, 0, 2 * pi), r = sqrt(1 - y * y);
    return splat_vec3_make(r * cos(angle), y, r * sin(angle));
}

void splat_build_leaves(splat_build *b, splat_vec3 center, splat_vec3 half, int n, double size, double hue,
                        splat_vec3 open, double keep_off)
{
    for (int i = 0; i < n; i++) {
        splat_part leaf = {.shape = SPLAT_PART_BOX, .kind = SPLAT_PART_LEAVES};
        splat_vec3 outwards = any_direction(b), up = any_direction(b), along = any_direction(b);
        double from_center = pow(splat_build_between(b, 0.02, 1), 0.25), length = splat_build_between(b, 0.7, 1.3);
        double hue_of = splat_build_between(b, -0.035, 0.03), value = splat_build_between(b, 0.42, 0.8);
        leaf.center = splat_vec3_along(center, splat_vec3_mul(outwards, half), from_center);
        leaf.half = splat_vec3_make(length * size, 0.0005, 0.55 * length * size);
        splat_part_turn(&leaf, splat_vec3_along(outwards, up, 1.3), along);
        leaf.paint.colors[0] = splat_sample_hue(hue + hue_of, 0.6, value);
        splat_vec3 off = splat_vec3_sub(leaf.center, open);
        if (splat_vec3_dot(off, off) > keep_off * keep_off) splat_parts_add(b->parts, leaf);
    }
}

splat_part *splat_build_thing(splat_build *b, const splat_sample_thing *thing, splat_vec3 center, double turn)
{
    splat_part part = {.shape = SPLAT_PART_MESH, .kind = SPLAT_PART_TEXTURED, .thing = thing, .center = center};
    part.paint.pattern = SPLAT_PAINT_THING;
    part.axes[0] = splat_vec3_make(cos(turn), 0, sin(turn));
    part.axes[1] = splat_vec3_make(0, 1, 0);
    part.axes[2] = splat_vec3_make(-sin(turn), 0, cos(turn));
    return splat_parts_add(b->parts, part);
}

void splat_build_soft_sun(splat_build *b)
{
    const double angle = splat_build_between(b, 0, 2 * pi);
    b->parts->lights[b->parts->n_lights++] =
        (splat_light){.place = splat_vec3_normalize(splat_vec3_make(0.6 * cos(angle), -1, 0.6 * sin(angle))),
                      .color = {0.42, 0.41, 0.38}, .radius = 0.25, .is_sun = true, .rays = 4};
}

void splat_build_dark_wall(splat_build *b, splat_vec3 place, splat_vec3 normal)
{
    splat_parts *parts = b->parts;
    if (parts->n_walls < SPLAT_PARTS_MAX_WALLS)
        parts->walls[parts->n_walls++] = (splat_dark_wall){normal, -splat_vec3_dot(normal, place)};
}
