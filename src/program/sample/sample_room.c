/* Walls and furniture, and the light in the room. */
#include "sample/sample_room.h"

#include "sample/sample_dice.h"
#include "sample/sample_light.h"

static const double pi = 3.14159265358979323846;
static const double half_x = 3, half_z = 2, room_height = 3;

/* The room to furnish: mirror is -1 or 1 along x and z, by the seed. */
typedef struct room {
    splat_parts *parts;
    splat_dice dice;
    double mirror_x, mirror_z;
} room;

/* Every draw is a statement of its own, or the only one of its call: arguments have no order in C, and a scene must not
 * depend on the compiler. */
static double between(room *r, double low, double high)
{
    return splat_dice_between(&r->dice, low, high);
}

static splat_paint one_color(splat_vec3 color)
{
    return (splat_paint){.pattern = SPLAT_PAINT_PLAIN, .colors = {color}};
}

static splat_paint any_color(room *r, double saturation, double brightness)
{
    double value = between(r, 0.85, 1.1) * brightness, part = between(r, 0.6, 1) * saturation, hue = between(r, 0, 1);
    return one_color(splat_sample_hue(hue, part, value));
}

static splat_paint wood(room *r, double scale)
{
    splat_paint paint = {.pattern = SPLAT_PAINT_PLANKS, .scale = scale, .gloss = 0.03};
    double hue = between(r, 0.06, 0.1), brightness = between(r, 0.6, 0.8);
    paint.colors[0] = splat_sample_hue(hue, 0.5, brightness);
    paint.colors[1] = splat_sample_hue(hue - 0.02, 0.6, 0.65 * brightness);
    paint.variant = (int)between(r, 0, 100);
    return paint;
}

static splat_paint pattern(room *r, splat_paint_pattern kind, double scale)
{
    splat_paint paint = {.pattern = kind, .scale = scale};
    double hue = between(r, 0, 1);
    double value = between(r, 0.65, 0.85), saturation = between(r, 0.4, 0.7);
    paint.colors[0] = splat_sample_hue(hue, saturation, value);
    value = between(r, 0.3, 0.5);
    saturation = between(r, 0.4, 0.7);
    paint.colors[1] = splat_sample_hue(hue + between(r, 0.2, 0.5), saturation, value);
    value = between(r, 0.8, 0.95);
    saturation = between(r, 0.2, 0.5);
    paint.colors[2] = splat_sample_hue(hue + between(r, 0.5, 0.8), saturation, value);
    paint.variant = (int)between(r, 0, 200);
    return paint;
}

/* An upright box that stands `low` above the floor, turned by `turn` around its middle. */
static void add_box(room *r, splat_part_kind kind, double x, double low, double z, splat_vec3 half, double turn,
                    splat_paint paint)
{
    splat_part part = {.shape = SPLAT_PART_BOX, .kind = kind, .half = half, .paint = paint};
    part.center = splat_vec3_make(r->mirror_x * x, -(low + half.y), r->mirror_z * z);
    turn *= r->mirror_x * r->mirror_z;
    splat_part_turn(&part, splat_vec3_make(0, -1, 0), splat_vec3_make(cos(turn), 0, sin(turn)));
    splat_parts_add(r->parts, part);
}

/* An upright post of thickness 2 half, square or round. */
static void add_post(room *r, double x, double low, double z, double half, double height, bool is_round,
                     splat_paint paint)
{
    if (!is_round) {
        add_box(r, SPLAT_PART_THIN, x, low, z, splat_vec3_make(half, 0.5 * height, half), 0, paint);
        return;
    }
    splat_part part = {.shape = SPLAT_PART_CYLINDER, .kind = SPLAT_PART_THIN, .radius = half,
                       .half = {0, 0.5 * height, 0}, .paint = paint};
    part.center = splat_vec3_make(r->mirror_x * x, -(low + 0.5 * height), r->mirror_z * z);
    splat_part_turn(&part, splat_vec3_make(0, -1, 0), splat_vec3_make(1, 0, 0));
    splat_parts_add(r->parts, part);
}

/* ---------------------------------------------------------------- the room itself */

static void add_face(room *r, splat_vec3 center, splat_vec3 normal, splat_vec3 along, double half_along,
                     double half_across, splat_paint paint)
{
    splat_part face = {.shape = SPLAT_PART_RECTANGLE, .center = center, .half = {half_along, 0, half_across},
                       .kind = paint.pattern == SPLAT_PAINT_PLAIN ? SPLAT_PART_PLAIN : SPLAT_PART_TEXTURED,
                       .paint = paint};
    splat_part_turn(&face, normal, along);
    splat_parts_add(r->parts, face);
}

static void add_walls(room *r)
{
    const splat_vec3 x = {1, 0, 0}, y = {0, 1, 0};
    double middle = -0.5 * room_height;
    add_face(r, splat_vec3_make(0, 0, 0), splat_vec3_make(0, -1, 0), x, half_x, half_z, wood(r, between(r, 6, 8)));
    add_face(r, splat_vec3_make(0, -room_height, 0), y, x, half_x, half_z,
             one_color(splat_sample_hue(0.12, 0.04, between(r, 0.84, 0.9))));
    for (int side = -1; side < 2; side += 2) {
        add_face(r, splat_vec3_make(side * half_x, middle, 0), splat_vec3_make(-side, 0, 0), y, 0.5 * room_height,
                 half_z, any_color(r, 0.3, 0.74));
        add_face(r, splat_vec3_make(0, middle, side * half_z), splat_vec3_make(0, 0, -side), x, half_x,
                 0.5 * room_height, any_color(r, 0.3, 0.74));
    }
}

/* Flush on a wall, 3 mm of paper: `place` along the wall, `up` the height of its middle. */
static void add_poster(room *r, bool on_x, double side, double place, double up)
{
    splat_part poster = {.shape = SPLAT_PART_BOX, .kind = SPLAT_PART_TEXTURED};
    double half_height = between(r, 0.3, 0.45);
    poster.half = splat_vec3_make(between(r, 0.24, 0.36), half_height, 0.003);
    poster.center = on_x ? splat_vec3_make(r->mirror_x * side * half_x, -up, r->mirror_z * place)
                         : splat_vec3_make(r->mirror_x * place, -up, r->mirror_z * side * half_z);
    splat_vec3 normal = on_x ? splat_vec3_make(-r->mirror_x * side, 0, 0) : splat_vec3_make(0, 0, -r->mirror_z * side);
    poster.axes[1] = splat_vec3_make(0, 1, 0); /* local y is down, as in the picture */
    poster.axes[2] = splat_vec3_scale(normal, -1);
    poster.axes[0] = splat_vec3_cross(poster.axes[1], poster.axes[2]);
    poster.paint = pattern(r, SPLAT_PAINT_POSTER, 1);
    splat_parts_add(r->parts, poster);
}

static void add_posters(room *r)
{
    static const struct {
        bool on_x;
        double side, middle, low, high, least_up, most_up; /* along the wall: middle + low to middle + high */
    } posters[] = {
        {false, -1, -1.75, -0.15, 0.15, 1.6, 1.8}, {false, -1, -0.35, -0.15, 0.15, 1.5, 1.8},
        {false, 1, -1.0, -0.3, 0.3, 1.4, 1.7},     {true, -1, 0, -0.5, 0.5, 1.4, 1.7},
        {true, 1, 0, -0.9, 0.3, 1.4, 1.7},
    };
    for (size_t i = 0; i < sizeof posters / sizeof posters[0]; i++) {
        double up = between(r, posters[i].least_up, posters[i].most_up);
        double place = posters[i].middle + between(r, posters[i].low, posters[i].high);
        add_poster(r, posters[i].on_x, posters[i].side, place, up);
    }
}

/* ---------------------------------------------------------------- furniture */

static void add_table(room *r, double x, double z)
{
    double a = between(r, 0.5, 0.6), b = between(r, 0.34, 0.4), height = between(r, 0.7, 0.75);
    bool is_round = between(r, 0, 1) < 0.5;
    splat_paint legs = any_color(r, 0.3, 0.4);
    add_box(r, SPLAT_PART_TEXTURED, x, height - 0.03, z, splat_vec3_make(a, 0.015, b), 0, wood(r, 9));
    for (int k = 0; k < 4; k++)
        add_post(r, x + (k & 1 ? 1 : -1) * (a - 0.06), 0, z + (k & 2 ? 1 : -1) * (b - 0.06), 0.02, height - 0.03,
                 is_round, legs);
}

/* Its back is on the side of `back`, -1 or 1, along z. */
static void add_chair(room *r, double x, double z, int back)
{
    double half = between(r, 0.19, 0.22), seat = between(r, 0.42, 0.46), top = between(r, 0.85, 0.95);
    double thin = between(r, 0.015, 0.018);
    bool is_round = between(r, 0, 1) < 0.5;
    splat_paint paint = any_color(r, 0.7, 0.7), legs = any_color(r, 0.5, 0.45);
    add_box(r, SPLAT_PART_PLAIN, x, seat, z, splat_vec3_make(half, 0.015, half), 0, paint);
    for (int k = 0; k < 4; k++)
        add_post(r, x + (k & 1 ? 1 : -1) * (half - 0.03), 0, z + (k & 2 ? 1 : -1) * (half - 0.03), thin, seat, is_round,
                 legs);
    for (int k = -1; k < 2; k += 2)
        add_post(r, x + k * (half - 0.03), seat + 0.03, z + back * (half - 0.03), thin, top - seat - 0.03, is_round,
                 legs);
    add_box(r, SPLAT_PART_PLAIN, x, top - 0.2, z + back * (half - 0.03 - thin - 0.01),
            splat_vec3_make(half - 0.02, 0.09, 0.01), 0, paint);
}

static void add_books(room *r, double x, double z, double low, double half)
{
    double place = x - half + 0.06;
    while (place < x + half - 0.2) {
        double kind = between(r, 0, 1), wide = kind < 0.25 ? between(r, 0.08, 0.13) : between(r, 0.018, 0.035);
        double height = kind < 0.25 ? between(r, 0.07, 0.12) : between(r, 0.1, 0.145);
        bool is_plain = kind > 0.75;
        splat_paint paint = is_plain      ? any_color(r, 0.8, 0.7)
                            : kind < 0.25 ? pattern(r, SPLAT_PAINT_CELLS, between(r, 12, 20))
                                          : pattern(r, SPLAT_PAINT_BANDS, between(r, 14, 28));
        add_box(r, is_plain ? SPLAT_PART_PLAIN : SPLAT_PART_TEXTURED, place + wide, low, z,
                splat_vec3_make(wide, height, between(r, 0.07, 0.1)), 0, paint);
        place += 2 * wide + (kind < 0.4 ? between(r, 0.03, 0.15) : 0.004);
    }
}

/* Against the wall at +z. */
static void add_shelf(room *r, double x)
{
    const double deep = 0.15, thick = 0.01;
    double half = between(r, 0.45, 0.55), height = between(r, 1.5, 1.75), z = half_z - deep;
    int n_boards = 5;
    splat_paint paint = any_color(r, 0.35, 0.6);
    for (int side = -1; side < 2; side += 2)
        add_box(r, SPLAT_PART_PLAIN, x + side * half, 0, z, splat_vec3_make(thick, 0.5 * height, deep), 0, paint);
    for (int k = 0; k < n_boards; k++) {
        double low = 0.06 + k * (height - 0.06 - 2 * thick) / (n_boards - 1);
        add_box(r, SPLAT_PART_PLAIN, x, low, z, splat_vec3_make(half - thick, thick, deep), 0, paint);
        if (k > 0 && k + 1 < n_boards) add_books(r, x, z + 0.02, low + 2 * thick, half);
    }
}

/* Against the wall at -z. */
static void add_sofa(room *r, double x)
{
    double half = between(r, 0.75, 0.9), deep = between(r, 0.38, 0.44), z = -half_z + deep;
    splat_paint paint = any_color(r, 0.6, 0.55);
    add_box(r, SPLAT_PART_PLAIN, x, 0, z, splat_vec3_make(half, 0.2, deep), 0, paint);
    add_box(r, SPLAT_PART_PLAIN, x, 0.4, -half_z + 0.1, splat_vec3_make(half, 0.19, 0.1), 0, paint);
    for (int side = -1; side < 2; side += 2)
        add_box(r, SPLAT_PART_PLAIN, x + side * (half - 0.08), 0.4, z + 0.1, splat_vec3_make(0.08, 0.08, deep - 0.1), 0,
                paint);
    add_box(r, SPLAT_PART_TEXTURED, x + 0.35 * half, 0.4, -half_z + 0.28, splat_vec3_make(0.17, 0.15, 0.05), 0.2,
            pattern(r, SPLAT_PAINT_CLOUDS, 14));
}

static void add_lamp(room *r, double x, double z)
{
    double height = between(r, 1.35, 1.55);
    splat_part shade = {.shape = SPLAT_PART_BALL, .kind = SPLAT_PART_PLAIN, .radius = between(r, 0.14, 0.18)};
    shade.center = splat_vec3_make(r->mirror_x * x, -(height + shade.radius - 0.01), r->mirror_z * z);
    splat_part_turn(&shade, splat_vec3_make(0, -1, 0), splat_vec3_make(1, 0, 0));
    shade.paint = one_color(splat_vec3_make(0.96, 0.92, 0.8));
    splat_parts_add(r->parts, shade);
    add_post(r, x, 0.02, z, 0.015, height - 0.02, true, one_color(splat_vec3_make(0.25, 0.24, 0.23)));
    splat_part foot = {.shape = SPLAT_PART_CYLINDER, .kind = SPLAT_PART_PLAIN, .radius = 0.14, .half = {0, 0.01, 0}};
    foot.center = splat_vec3_make(r->mirror_x * x, -0.01, r->mirror_z * z);
    splat_part_turn(&foot, splat_vec3_make(0, -1, 0), splat_vec3_make(1, 0, 0));
    foot.paint = one_color(splat_vec3_make(0.25, 0.24, 0.23));
    splat_parts_add(r->parts, foot);
}

static void add_rug(room *r)
{
    splat_paint paint = pattern(r, SPLAT_PAINT_CELLS, 8);
    double turn = between(r, -0.15, 0.15), deep = between(r, 0.5, 0.6), wide = between(r, 0.7, 0.85);
    double x = -0.7 + between(r, -0.2, 0.2);
    add_box(r, SPLAT_PART_TEXTURED, x, 0, 0.25, splat_vec3_make(wide, 0.005, deep), turn, paint);
}

static void add_light(room *r, double x, double up, double z, double strength, double hue)
{
    splat_light light = {.place = {r->mirror_x * x, -up, r->mirror_z * z}, .radius = 0.22};
    light.color = splat_sample_hue(hue, 0.12, strength);
    r->parts->lights[r->parts->n_lights++] = light;
}

void splat_sample_room_init(splat_parts *parts, uint64_t seed)
{
    room r = {.parts = parts, .dice = {.seed = seed, .step = SPLAT_SAMPLE_STEP_LAYOUT}};
    *parts = (splat_parts){.room = {half_x, room_height, half_z}, .light_from_above = {0.53, 0.53, 0.54},
                           .light_from_below = {0.48, 0.465, 0.45}};
    splat_noise_init(parts->noise, seed);
    r.mirror_x = between(&r, 0, 1) < 0.5 ? -1 : 1;
    r.mirror_z = between(&r, 0, 1) < 0.5 ? -1 : 1;
    add_walls(&r);
    add_posters(&r);
    double x = 1.75 + between(&r, -0.1, 0.15), z = -0.85 + between(&r, -0.1, 0.1);
    add_table(&r, x, z);
    add_chair(&r, x - 0.15 + between(&r, -0.08, 0.08), z + 0.55, 1);
    add_chair(&r, x + 0.15 + between(&r, -0.08, 0.08), z - 0.55, -1);
    add_shelf(&r, 1.45 + between(&r, -0.2, 0.2));
    add_sofa(&r, -1.3 + between(&r, -0.2, 0.2));
    z = 1.5 + between(&r, -0.1, 0.1);
    add_lamp(&r, -2.55 + between(&r, -0.1, 0.1), z);
    add_rug(&r);
    z = 0.2 + between(&r, -0.3, 0.3);
    add_light(&r, 1.3 + between(&r, -0.3, 0.3), 2.2, z, 1.6, 0.1);
    z = -0.3 + between(&r, -0.3, 0.3);
    add_light(&r, -1.6 + between(&r, -0.3, 0.3), 2.15, z, 1.35, 0.12);
    add_light(&r, -2.2, 1.9, 1.2, 0.5, 0.08);
}

/* Around an oval in the middle; by turns across the room, along the way, outwards and back, and by turns level, up and
 * down. */
void splat_sample_room_camera(uint64_t seed, int index, int n, splat_sample_camera *camera)
{
    static const double sides[5] = {1, 0.45, 0.8, 0, -0.75}, tilts[3] = {-0.12, 0.34, -0.5};
    splat_dice dice = {.seed = seed, .step = SPLAT_SAMPLE_STEP_CAMERAS, .next = 16 * (uint64_t)index};
    splat_dice walk = {.seed = seed, .step = SPLAT_SAMPLE_STEP_CAMERAS, .next = UINT64_C(1) << 32};
    double phase = splat_dice_between(&walk, 0, 2 * pi), hand[6];
    for (int k = 0; k < 6; k++) hand[k] = splat_dice_between(&dice, -1, 1);
    double angle = phase + 4 * pi * (index + 0.3 * hand[0]) / n; /* two rounds */
    double far = 2 * index < n ? 1 : 0.55, wave = 0.1 * sin(3 * angle + phase);
    splat_vec3 center = {(1.7 * far + wave) * cos(angle) + 0.06 * hand[1], 0,
                         (0.95 * far + wave) * sin(angle) + 0.06 * hand[2]};
    center.y = -(1.5 + 0.2 * sin(2.6 * angle + phase) + 0.08 * hand[3]);
    double yaw = angle + pi * sides[index % 5] + 0.35 * hand[4];
    double pitch = tilts[index % 3] + 0.12 * hand[5];
    splat_vec3 forward = {cos(pitch) * cos(yaw), -sin(pitch), cos(pitch) * sin(yaw)};
    splat_sample_camera_look(camera, center, splat_vec3_add(center, forward));
    splat_sample_camera_roll(camera, 0.04 * splat_dice_between(&dice, -1, 1));
    camera->focal = 0.5 * camera->width / tan(33.0 * pi / 180.0); /* 66 degrees across */
}
