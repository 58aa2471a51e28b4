/* Things on a ground: what stands where, in which paint. */
#include "sample/sample_objects.h"

#include "sample/sample_dice.h"
#include "sample/sample_light.h"

static const double pi = 3.14159265358979323846;

/* ---------------------------------------------------------------- paints */

/* Every draw is a statement of its own, or the only one of its call: see sample_room.c. */
static splat_paint plain(splat_dice *dice)
{
    splat_paint paint = {.pattern = SPLAT_PAINT_PLAIN, .gloss = splat_dice_between(dice, 0, 0.12)};
    double value = splat_dice_between(dice, 0.55, 0.85), saturation = splat_dice_between(dice, 0.35, 0.75);
    paint.colors[0] = splat_sample_hue(splat_dice_between(dice, 0, 1), saturation, value);
    return paint;
}

static splat_paint textured(splat_dice *dice, splat_paint_pattern pattern, double scale)
{
    splat_paint paint = {.pattern = pattern, .scale = scale * splat_dice_between(dice, 0.85, 1.2)};
    paint.gloss = splat_dice_between(dice, 0, 0.15);
    double hue = splat_dice_between(dice, 0, 1);
    for (int k = 0; k < 3; k++) {
        double value = k == 1 ? splat_dice_between(dice, 0.3, 0.5) : splat_dice_between(dice, 0.7, 0.95);
        paint.colors[k] = splat_sample_hue(hue + 0.21 * k, splat_dice_between(dice, 0.25, 0.7), value);
    }
    paint.variant = (int)splat_dice_between(dice, 0, 200);
    return paint;
}

/* ---------------------------------------------------------------- things */

static void add_ground(splat_parts *parts, splat_dice *dice)
{
    for (int side = 0; side < 2; side++) {
        splat_part half = {.shape = SPLAT_PART_RECTANGLE, .kind = side ? SPLAT_PART_PLAIN : SPLAT_PART_TEXTURED,
                           .center = {side ? 1 : -1, 0, 0}, .half = {1, 0, 2}};
        splat_part_turn(&half, splat_vec3_make(0, -1, 0), splat_vec3_make(1, 0, 0));
        half.paint = side ? plain(dice) : textured(dice, SPLAT_PAINT_CLOUDS, 3.5);
        half.paint.gloss = 0;
        splat_parts_add(parts, half);
    }
}

static splat_vec3 yaw(double angle)
{
    return splat_vec3_make(cos(angle), 0, sin(angle));
}

/* Stands at (x, z). Eight things, four of them textured. */
static splat_part make_thing(splat_dice *dice, int which, double x, double z)
{
    const splat_vec3 up = {0, -1, 0};
    splat_part part = {.kind = which & 1 ? SPLAT_PART_PLAIN : SPLAT_PART_TEXTURED};
    double a = splat_dice_between(dice, 0.22, 0.31), b = splat_dice_between(dice, 0.18, 0.28),
           c = splat_dice_between(dice, 0.18, 0.24), turn = splat_dice_between(dice, 0, pi);
    splat_part_turn(&part, up, yaw(turn));
    switch (which / 2) {
    case 0: /* balls */
        part.shape = SPLAT_PART_BALL;
        part.radius = a;
        splat_part_turn(&part, splat_vec3_make(cos(turn), -1, 0.3), yaw(turn));
        part.center.y = -a;
        break;
    case 1: /* boxes */
        part.shape = SPLAT_PART_BOX;
        part.half = splat_vec3_make(c, b, 0.8 * c + 0.04);
        part.center.y = -b;
        break;
    case 2: /* a lying torus, and one that leans */
        part.shape = SPLAT_PART_TORUS;
        part.tube = 0.3 * a;
        part.radius = 0.95 * a;
        part.center.y = -part.tube;
        if (which & 1) {
            const double lean = 0.9;
            splat_part_turn(&part, splat_vec3_make(sin(lean) * cos(turn), -cos(lean), sin(lean) * sin(turn)),
                            splat_vec3_make(0.1, 0, 0.9));
            part.center.y = -(part.radius * sin(lean) + part.tube);
        }
        break;
    default: /* cylinders */
        part.shape = SPLAT_PART_CYLINDER;
        part.radius = 0.75 * c;
        part.half.y = b + 0.08;
        part.center.y = -part.half.y;
    }
    static const splat_paint_pattern patterns[4] = {SPLAT_PAINT_BANDS, SPLAT_PAINT_CELLS, SPLAT_PAINT_CLOUDS,
                                                    SPLAT_PAINT_BANDS};
    static const double scales[4] = {9, 7, 9, 11};
    part.paint = which & 1 ? plain(dice) : textured(dice, patterns[which / 2], scales[which / 2]);
    part.center.x = x;
    part.center.z = z;
    return part;
}

/* Adds an upright plate, 0.01 to 0.02 thick. */
static void add_plate(splat_parts *parts, splat_dice *dice, double x, double z)
{
    splat_part plate = {.shape = SPLAT_PART_BOX, .kind = SPLAT_PART_THIN};
    double thick = splat_dice_between(dice, 0.005, 0.01), high = splat_dice_between(dice, 0.18, 0.26);
    plate.half = splat_vec3_make(splat_dice_between(dice, 0.22, 0.3), high, thick);
    plate.center = splat_vec3_make(x, -plate.half.y, z);
    splat_part_turn(&plate, splat_vec3_make(0, -1, 0), yaw(splat_dice_between(dice, 0, pi)));
    plate.paint = plain(dice);
    splat_parts_add(parts, plate);
}

/* Between two places of its axis; `bands`: of two colours. */
static void add_rod(splat_parts *parts, splat_dice *dice, splat_vec3 from, splat_vec3 to, double radius, bool has_bands)
{
    splat_part rod = {.shape = SPLAT_PART_CYLINDER, .kind = SPLAT_PART_THIN, .radius = radius};
    splat_vec3 along = splat_vec3_sub(to, from);
    rod.center = splat_vec3_along(from, along, 0.5);
    rod.half.y = 0.5 * sqrt(splat_vec3_dot(along, along));
    splat_part_turn(&rod, along, splat_vec3_make(0.31, 0.2, 0.93));
    rod.paint = has_bands ? textured(dice, SPLAT_PAINT_BANDS, 9) : plain(dice);
    splat_parts_add(parts, rod);
}

/* Rods stand in the lanes between the things, lie in one, and lean in another. */
static void add_rods(splat_parts *parts, splat_dice *dice)
{
    const double lane = 0.575;
    double thin = splat_dice_between(dice, 0.01, 0.012), wide = splat_dice_between(dice, 0.017, 0.02),
           middle = splat_dice_between(dice, 0.012, 0.017);
    double x = splat_dice_between(dice, -0.06, 0.06), start = splat_dice_between(dice, -1.2, 0.1);
    add_rod(parts, dice, splat_vec3_make(lane + x, 0, lane - x),
            splat_vec3_make(lane + x, -splat_dice_between(dice, 0.7, 0.95), lane - x), thin, false);
    add_rod(parts, dice, splat_vec3_make(-lane, 0, -lane + x),
            splat_vec3_make(-lane, -splat_dice_between(dice, 0.6, 0.9), -lane + x), wide, true);
    add_rod(parts, dice, splat_vec3_make(start, -middle, -lane - 0.1),
            splat_vec3_make(start + 0.9, -middle, -lane - 0.06), middle, false);
    add_rod(parts, dice, splat_vec3_make(-lane - 0.2, 0, lane),
            splat_vec3_make(-lane + 0.25, -splat_dice_between(dice, 0.6, 0.75), lane + 0.05), thin + 0.002, false);
}

void splat_sample_objects_init(splat_parts *parts, uint64_t seed)
{
    splat_dice dice = {.seed = seed, .step = SPLAT_SAMPLE_STEP_LAYOUT};
    int slots[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    *parts = (splat_parts){.backdrop = 9, .light_from_above = {0.46, 0.49, 0.56},
                           .light_from_below = {0.33, 0.3, 0.27}};
    splat_noise_init(parts->noise, seed);
    add_ground(parts, &dice);
    for (int i = 8; i > 0; i--) {
        int j = (int)splat_dice_between(&dice, 0, i + 1), kept = slots[i];
        slots[i] = slots[j];
        slots[j] = kept;
    }
    for (int i = 0; i < 9; i++) { /* on a grid of 3 x 3, a little off it */
        double x = 1.15 * (slots[i] % 3 - 1), z = 1.15 * (slots[i] / 3 - 1);
        x += splat_dice_between(&dice, -0.07, 0.07);
        z += splat_dice_between(&dice, -0.07, 0.07);
        if (i < 8)
            splat_parts_add(parts, make_thing(&dice, i, x, z));
        else
            add_plate(parts, &dice, x, z);
    }
    add_rods(parts, &dice);
    double angle = splat_dice_between(&dice, 0, 2 * pi);
    parts->lights[parts->n_lights++] =
        (splat_light){.place = splat_vec3_normalize(splat_vec3_make(0.7 * cos(angle), -1, 0.7 * sin(angle))),
                      .color = {0.62, 0.59, 0.52}, .radius = 0.05, .is_sun = true};
}

/* Two rings, walked one after the other, with a step nearer here and farther there. */
void splat_sample_objects_camera(uint64_t seed, int index, int n, splat_sample_camera *camera)
{
    splat_dice dice = {.seed = seed, .step = SPLAT_SAMPLE_STEP_CAMERAS, .next = 16 * (uint64_t)index};
    splat_dice walk = {.seed = seed, .step = SPLAT_SAMPLE_STEP_CAMERAS, .next = UINT64_C(1) << 32};
    int n_low = (n + 1) / 2, high = index >= n_low, place = high ? index - n_low : index;
    double phase = splat_dice_between(&walk, 0, 2 * pi), hand[6];
    for (int k = 0; k < 6; k++) hand[k] = splat_dice_between(&dice, -1, 1);
    double angle = 2 * pi * (place + 0.5 * high + 0.2 * hand[0]) / (high ? n - n_low : n_low);
    double uneven = sin(2 * angle + phase) + 0.6 * sin(3 * angle + 2.3 * phase);
    double radius = (high ? 2.75 : 3.35) + 0.14 * uneven + 0.05 * hand[1];
    double height = (high ? 2.15 : 1.1) + 0.1 * sin(angle + 1.7 * phase) + 0.05 * hand[2];
    splat_sample_camera_look(camera, splat_vec3_make(radius * cos(angle), -height, radius * sin(angle)),
                             splat_vec3_make(0.18 * hand[3], -0.2 + 0.12 * hand[4], 0.18 * hand[5]));
    splat_sample_camera_roll(camera, 0.04 * splat_dice_between(&dice, -1, 1));
    camera->focal = 0.5 * camera->width / tan(28.0 * pi / 180.0); /* 56 degrees across */
}
