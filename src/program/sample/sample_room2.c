/* A grey room: walls, what hangs and stands there, and the cameras. */
#include "sample/sample_room2.h"

#include "sample/sample_build.h"
#include "sample/sample_light.h"

static const double pi = 3.14159265358979323846;

/* The ceiling falls from `high` at -half_z to `low` at half_z. */
static const double half_x = 2.5, half_z = 2, high = 3, low = 2.2;

/* ---------------------------------------------------------------- walls */

static void add_side(splat_build *b, int side, splat_paint paint)
{
    const splat_vec3 inwards = {-side, 0, 0};
    splat_build_face(b, SPLAT_PART_PLAIN, splat_up(side * half_x, 0.5 * low, 0), inwards, splat_vec3_make(0, 0, 1),
                     half_z, 0.5 * low, paint);
    splat_part gable = {.shape = SPLAT_PART_TRIANGLE, .kind = SPLAT_PART_PLAIN, .paint = paint};
    gable.center = splat_up(side * half_x, 0.5 * (low + high), 0);
    gable.half = splat_vec3_make(half_z, 0, 0.5 * (high - low));
    gable.axes[1] = inwards;
    gable.axes[2] = splat_vec3_make(0, -1, 0);
    gable.axes[0] = splat_vec3_cross(gable.axes[1], gable.axes[2]);
    gable.tip = gable.axes[0].z > 0 ? -half_z : half_z;
    splat_parts_add(b->parts, gable);
    splat_build_dark_wall(b, gable.center, inwards);
}

static void add_walls(splat_build *b)
{
    const splat_vec3 x = {1, 0, 0}, up = {0, -1, 0};
    double fall = high - low, slope = sqrt(fall * fall + 4 * half_z * half_z);
    splat_paint grey = splat_build_plain(b, 0.1, 0.03, 0.74);
    splat_paint boards = splat_build_pattern(b, SPLAT_PAINT_PLANKS, 7, 0.08, 0.4, 0.62);
    splat_vec3 down = splat_vec3_normalize(splat_vec3_make(0, 2 * half_z, -fall));
    boards.colors[1] = splat_vec3_mix(boards.colors[1], boards.colors[0], 0.6);
    splat_build_face(b, SPLAT_PART_TEXTURED, splat_up(0, 0, 0), up, x, half_x, half_z, boards);
    splat_build_face(b, SPLAT_PART_PLAIN, splat_up(0, 0.5 * (low + high), 0), down, x, half_x, 0.5 * slope, grey);
    splat_build_face(b, SPLAT_PART_PLAIN, splat_up(0, 0.5 * high, -half_z), splat_vec3_make(0, 0, 1), x, half_x,
                     0.5 * high, grey);
    splat_build_face(b, SPLAT_PART_PLAIN, splat_up(0, 0.5 * low, half_z), splat_vec3_make(0, 0, -1), x, half_x,
                     0.5 * low, grey);
    add_side(b, -1, grey);
    add_side(b, 1, grey);
    splat_build_dark_wall(b, splat_up(0, 0, 0), up);
    splat_build_dark_wall(b, splat_up(0, 0.5 * (low + high), 0), down);
    splat_build_dark_wall(b, splat_up(0, 0, -half_z), splat_vec3_make(0, 0, 1));
    splat_build_dark_wall(b, splat_up(0, 0, half_z), splat_vec3_make(0, 0, -1));
}

/* ---------------------------------------------------------------- on the walls */

/* A place on a wall: inwards is its normal, `along` its horizontal direction. */
typedef struct spot {
    splat_vec3 place, inwards, along;
} spot;

static spot on_wall(bool on_x, int side, double along, double up)
{
    spot s = {.inwards = on_x ? splat_vec3_make(-side, 0, 0) : splat_vec3_make(0, 0, -side)};
    s.place = on_x ? splat_up(side * half_x, up, along) : splat_up(along, up, side * half_z);
    s.along = splat_vec3_cross(splat_vec3_make(0, 1, 0), s.inwards);
    return s;
}

/* A box flat on the wall; its local y is down, as in a picture. */
static void add_flat(splat_build *b, splat_part_kind kind, const spot *s, double along, double up, double half,
                     double half_high, double half_deep, splat_paint paint)
{
    splat_part part = {.shape = SPLAT_PART_BOX, .kind = kind, .paint = paint};
    part.half = splat_vec3_make(half, half_high, half_deep);
    part.center = splat_vec3_add(splat_vec3_along(s->place, s->along, along), splat_up(0, up, 0));
    part.axes[0] = s->along;
    part.axes[1] = splat_vec3_make(0, 1, 0);
    part.axes[2] = splat_vec3_scale(s->inwards, -1);
    splat_parts_add(b->parts, part);
}

/* With a frame of 2 cm, or flat on the wall. */
static void add_poster(splat_build *b, const spot *s, bool has_frame)
{
    double half = splat_build_between(b, 0.26, 0.38), half_high = splat_build_between(b, 0.26, 0.4), bar = 0.025;
    double hue = splat_build_between(b, 0, 1);
    splat_paint frame = splat_build_plain(b, 0.09, 0.3, splat_build_between(b, 0.25, 0.8));
    add_flat(b, SPLAT_PART_TEXTURED, s, 0, 0, half, half_high, 0.003,
             splat_build_pattern(b, SPLAT_PAINT_POSTER, 1, hue, 0.6, 0.85));
    for (int side = -1; has_frame && side < 2; side += 2) {
        add_flat(b, SPLAT_PART_PLAIN, s, side * (half + bar), 0, bar, half_high + 2 * bar, 0.02, frame);
        add_flat(b, SPLAT_PART_PLAIN, s, 0, side * (half_high + bar), half, bar, 0.02, frame);
    }
}

static void add_posters(splat_build *b)
{
    static const struct { bool on_x; int side; double along, up; } places[] = {
        {false, -1, -1.5, 1.65}, {false, -1, 0.1, 1.7}, {false, 1, -0.6, 1.5}, {false, 1, 1.5, 1.45},
        {true, -1, -0.7, 1.6},   {true, 1, 0.8, 1.45},
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        double along = places[i].along + splat_build_between(b, -0.2, 0.2);
        spot s = on_wall(places[i].on_x, places[i].side, along, places[i].up);
        add_poster(b, &s, i % 2);
    }
}

/* ---------------------------------------------------------------- near the walls */

/* Boards with boxes on them, 5 cm before a wall. */
static void add_shelf(splat_build *b)
{
    double z = -half_z + 0.05 + 0.14, x = 1.5 + splat_build_between(b, -0.1, 0.1), half = 0.42;
    splat_paint wood = splat_build_plain(b, 0.08, 0.25, 0.6);
    for (int side = -1; side < 2; side += 2)
        splat_build_box(b, SPLAT_PART_PLAIN, splat_up(x + side * half, 0, z), splat_vec3_make(0.012, 0.75, 0.14), 0,
                        wood);
    for (int k = 0; k < 4; k++) {
        double up = 0.1 + 0.44 * k, place = -half + 0.08;
        splat_build_box(b, SPLAT_PART_PLAIN, splat_up(x, up, z), splat_vec3_make(half - 0.012, 0.01, 0.14), 0, wood);
        while (k < 3 && place < half - 0.2) {
            double wide = splat_build_between(b, 0.03, 0.09), tall = splat_build_between(b, 0.08, 0.15);
            double hue = splat_build_between(b, 0, 1);
            bool is_plain = splat_build_between(b, 0, 1) < 0.4;
            splat_paint paint = is_plain ? splat_build_plain(b, hue, 0.5, 0.7)
                                         : splat_build_pattern(b, SPLAT_PAINT_BANDS, 22, hue, 0.6, 0.75);
            splat_build_box(b, is_plain ? SPLAT_PART_PLAIN : SPLAT_PART_TEXTURED,
                            splat_up(x + place + wide, up + 0.02, z), splat_vec3_make(wide, tall, 0.1), 0, paint);
            place += 2 * wide + splat_build_between(b, 0.01, 0.12);
        }
    }
}

static void add_table(splat_build *b, double x, double z)
{
    double half = splat_build_between(b, 0.45, 0.55), deep = 0.3, up = 0.74;
    splat_paint wood = splat_build_pattern(b, SPLAT_PAINT_PLANKS, 9, 0.07, 0.45, 0.6);
    splat_paint leg = splat_build_plain(b, 0.6, 0.05, 0.3);
    splat_build_box(b, SPLAT_PART_TEXTURED, splat_up(x, up - 0.03, z), splat_vec3_make(half, 0.015, deep), 0, wood);
    for (int k = 0; k < 4; k++) {
        double leg_x = x + (k & 1 ? 1 : -1) * (half - 0.04), leg_z = z + (k & 2 ? 1 : -1) * (deep - 0.04);
        splat_build_rod(b, SPLAT_PART_THIN, splat_up(leg_x, 0, leg_z), splat_up(leg_x, up - 0.03, leg_z), 0.016, leg);
    }
}

/* Boxes, a ball, a bin, a radiator: each 3 to 30 cm before a wall. */
static void add_things(splat_build *b)
{
    double off = splat_build_between(b, 0.03, 0.1), hue = splat_build_between(b, 0, 1), r = 0.24;
    splat_build_ball(b, SPLAT_PART_CURVED, splat_up(-half_x + r + off, r, 1.2), r, splat_build_plain(b, hue, 0.5, 0.7));
    splat_build_box(b, SPLAT_PART_PLAIN, splat_up(half_x - 0.3 - off, 0, 0.1), splat_vec3_make(0.3, 0.22, 0.4), 0.05,
                    splat_build_plain(b, hue + 0.4, 0.35, 0.7));
    splat_build_box(b, SPLAT_PART_TEXTURED, splat_up(half_x - 0.3 - off, 0.44, 0.15), splat_vec3_make(0.2, 0.12, 0.2),
                    0.4, splat_build_pattern(b, SPLAT_PAINT_CELLS, 12, hue + 0.2, 0.5, 0.8));
    splat_build_rod(b, SPLAT_PART_CURVED, splat_up(half_x - 0.2 - off, 0, half_z - 0.3),
                    splat_up(half_x - 0.2 - off, 0.4, half_z - 0.3), 0.15, splat_build_plain(b, hue + 0.7, 0.3, 0.6));
    splat_paint white = splat_build_plain(b, 0.1, 0.02, 0.86);
    for (int i = 0; i < 10; i++)
        splat_build_box(b, SPLAT_PART_PLAIN, splat_up(-0.6 + 0.085 * i, 0.12, half_z - 0.09),
                        splat_vec3_make(0.032, 0.3, 0.045), 0, white);
    add_table(b, -1.5 + splat_build_between(b, -0.1, 0.1), -half_z + 0.3 + splat_build_between(b, 0.02, 0.1));
    splat_paint rug = splat_build_pattern(b, SPLAT_PAINT_CELLS, 7, hue + 0.15, 0.5, 0.6);
    splat_build_box(b, SPLAT_PART_TEXTURED, splat_up(0.1, 0, 0.3), splat_vec3_make(0.7, 0.005, 0.5), 0.2, rug);
}

static void add_lamp(splat_build *b, double x, double up, double z, double strength)
{
    splat_parts *parts = b->parts;
    x += splat_build_between(b, -0.2, 0.2);
    parts->lights[parts->n_lights++] = (splat_light){.place = splat_up(x, up, z), .radius = 0.25, .rays = 2,
                                                     .color = splat_sample_hue(0.11, 0.06, strength)};
}

void splat_sample_room2_init(splat_parts *parts, uint64_t seed)
{
    splat_build b = splat_build_start(parts, seed);
    parts->light_from_above = splat_vec3_make(0.56, 0.56, 0.57);
    parts->light_from_below = splat_vec3_make(0.52, 0.51, 0.5);
    add_lamp(&b, -0.9, 2, -0.2, 1.25);
    add_lamp(&b, 1.2, 1.95, 0.2, 1.1);
    add_walls(&b);
    add_posters(&b);
    add_shelf(&b);
    add_things(&b);
}

/* Around an oval, two rounds; by turns across the room, along the way and outwards, level, up and down. */
void splat_sample_room2_camera(uint64_t seed, int index, int n, splat_sample_camera *camera)
{
    static const double sides[5] = {1, 0.45, 0.8, 0, -0.75}, tilts[3] = {-0.12, 0.32, -0.5};
    splat_dice dice = {.seed = seed, .step = SPLAT_SAMPLE_STEP_CAMERAS, .next = 16 * (uint64_t)index};
    double hand[6], angle = 4 * pi * (index + 0.5) / n, far = 2 * index < n ? 1 : 0.55;
    for (int k = 0; k < 6; k++) hand[k] = splat_dice_between(&dice, -1, 1);
    double x = 1.4 * far * cos(angle) + 0.06 * hand[0], z = 0.9 * far * sin(angle) + 0.06 * hand[2];
    splat_vec3 center = splat_up(x, 1.45 + 0.2 * sin(2.6 * angle) + 0.06 * hand[1], z);
    double yaw = angle + pi * sides[index % 5] + 0.35 * hand[3], pitch = tilts[index % 3] + 0.12 * hand[4];
    splat_vec3 forward = {cos(pitch) * cos(yaw), -sin(pitch), cos(pitch) * sin(yaw)};
    splat_sample_camera_look(camera, center, splat_vec3_add(center, forward));
    splat_sample_camera_roll(camera, 0.04 * hand[5]);
    camera->focal = 0.5 * camera->width / tan(33.0 * pi / 180.0); /* 66 degrees across */
}
