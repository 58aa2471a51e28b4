/* A street: what stands where, in which paint, and the cameras. */
#include "sample/sample_street.h"

#include "sample/sample_build.h"
#include "sample/sample_light.h"

static const double pi = 3.14159265358979323846;

/* The ground near the cameras; the bush stands in front of the photo that a third of the photos come before. */
static const double half_x = 14, low_z = -7, high_z = 13, curb = 2.5, pavement = 4, path = -3.3;
static const splat_vec3 bush = {-3.1, -0.85, -2.5};

/* ---------------------------------------------------------------- ground and background */

static void add_ground(splat_build *b, splat_part_kind kind, double x0, double x1, double z0, double z1, double rarity,
                       splat_paint paint)
{
    const splat_vec3 up = {0, -1, 0}, along = {1, 0, 0};
    splat_vec3 center = {0.5 * (x0 + x1), 0, 0.5 * (z0 + z1)};
    splat_build_face(b, kind, center, up, along, 0.5 * (x1 - x0), 0.5 * (z1 - z0), paint)->rarity = rarity;
}

static void add_grounds(splat_build *b)
{
    const double end = 160, rare = 4000;
    splat_paint lawn = splat_build_pattern(b, SPLAT_PAINT_CLOUDS, 3.2, 0.26, 0.5, 0.5);
    splat_paint field = splat_build_pattern(b, SPLAT_PAINT_CLOUDS, 0.25, 0.22, 0.4, 0.55);
    splat_paint slabs = splat_build_pattern(b, SPLAT_PAINT_CELLS, 2.1, 0.09, 0.1, 0.72);
    add_ground(b, SPLAT_PART_TEXTURED, -half_x, half_x, low_z, -curb, 0, lawn);
    add_ground(b, SPLAT_PART_TEXTURED, -half_x, half_x, pavement, high_z, 0, lawn);
    add_ground(b, SPLAT_PART_PLAIN, -half_x, half_x, -curb, curb, 0, splat_build_plain(b, 0.6, 0.04, 0.46));
    splat_build_box(b, SPLAT_PART_TEXTURED, splat_up(0, 0, 0.5 * (curb + pavement)),
                    splat_vec3_make(half_x, 0.06, 0.5 * (pavement - curb)), 0, slabs);
    for (int i = -4; i <= 4; i++) /* the marks of the lane */
        splat_build_box(b, SPLAT_PART_TEXTURED, splat_up(3 * i, 0, -0.2), splat_vec3_make(0.6, 0.002, 0.06), 0,
                        splat_build_plain(b, 0, 0, 0.85));
    add_ground(b, SPLAT_PART_FAR, -end, end, high_z, end, rare, field);
    add_ground(b, SPLAT_PART_FAR, -end, end, -end, low_z, rare, field);
    add_ground(b, SPLAT_PART_FAR, half_x, end, low_z, high_z, rare, field);
    add_ground(b, SPLAT_PART_FAR, -end, -half_x, low_z, high_z, rare, field);
}

/* The air's colour takes part of what is far. */
static splat_paint far_paint(splat_build *b, splat_paint_pattern pattern, double scale, double hue, double distance)
{
    const splat_vec3 air = {0.68, 0.74, 0.82};
    splat_paint paint = splat_build_pattern(b, pattern, scale, hue, 0.35, 0.62);
    for (int k = 0; k < 3; k++) paint.colors[k] = splat_vec3_mix(paint.colors[k], air, distance / 300);
    return paint;
}

/* Hills are balls that look out of the ground. */
static void add_background(splat_build *b)
{
    enum { HILLS = 9, HOUSES = 14 };
    const double rare = 100;
    for (int i = 0; i < HILLS; i++) {
        double angle = (i + splat_build_between(b, -0.3, 0.3)) * 2 * pi / HILLS, r = splat_build_between(b, 35, 50);
        double distance = splat_build_between(b, 72, 105), top = splat_build_between(b, 7, 17);
        double middle = distance + sqrt(r * r - (r - top) * (r - top));
        splat_paint paint = far_paint(b, SPLAT_PAINT_CLOUDS, 0.14, splat_build_between(b, 0.2, 0.33), distance);
        splat_build_ball(b, SPLAT_PART_FAR, splat_up(middle * cos(angle), top - r, middle * sin(angle)), r, paint)
            ->rarity = rare;
    }
    for (int i = 0; i < HOUSES; i++) {
        double angle = (i + splat_build_between(b, -0.4, 0.4)) * 2 * pi / HOUSES;
        double distance = splat_build_between(b, 62, 78), wide = splat_build_between(b, 2.5, 6);
        double deep = splat_build_between(b, 2.5, 4), high = splat_build_between(b, 2, 5);
        splat_paint paint = far_paint(b, SPLAT_PAINT_CELLS, 0.55, splat_build_between(b, 0, 0.14), distance);
        splat_build_box(b, SPLAT_PART_FAR, splat_up(distance * cos(angle), 0, distance * sin(angle)),
                        splat_vec3_make(wide, high, deep), angle + pi / 2, paint)->rarity = rare;
    }
}

/* ---------------------------------------------------------------- the house */

typedef struct house {
    double x0, x1, z0, z1, high, rise; /* rise: of the ridge above the walls */
} house;

/* On the front wall: a frame of four bars around glass, or boards. */
static void add_opening(splat_build *b, const house *h, double x, double up, double half_wide, double half_high,
                        bool is_door, splat_paint frame)
{
    const double bar = 0.04, out = 0.03;
    splat_paint glass = splat_build_plain(b, 0.58, 0.3, 0.22);
    glass.gloss = 0.4;
    glass.mirror = 0.08;
    if (is_door)
        splat_build_box(b, SPLAT_PART_TEXTURED, splat_up(x, up, h->z0), splat_vec3_make(half_wide, half_high, 0.015), 0,
                        splat_build_pattern(b, SPLAT_PAINT_PLANKS, 8, 0.07, 0.5, 0.5));
    else
        splat_build_box(b, SPLAT_PART_GLOSSY, splat_up(x, up, h->z0), splat_vec3_make(half_wide, half_high, 0.01), 0,
                        glass);
    for (int side = -1; side < 2; side += 2) {
        splat_build_box(b, SPLAT_PART_PLAIN, splat_up(x + side * (half_wide + bar), up - 2 * bar, h->z0),
                        splat_vec3_make(bar, half_high + 2 * bar, out), 0, frame);
        splat_build_box(b, SPLAT_PART_PLAIN, splat_up(x, side < 0 ? up - 2 * bar : up + 2 * half_high, h->z0),
                        splat_vec3_make(half_wide, bar, out), 0, frame);
    }
}

/* Two slabs that lie on the walls and reach over them, and the ends of the gables. */
static void add_roof(splat_build *b, const house *h, splat_paint wall)
{
    const double eaves = 0.45, verge = 0.3, half_thick = 0.07;
    double middle = 0.5 * (h->z0 + h->z1), half = 0.5 * (h->z1 - h->z0), half_long = 0.5 * (h->x1 - h->x0) + verge;
    double slope = atan2(h->rise, half), half_slope = 0.5 * (half + eaves) / cos(slope), x = 0.5 * (h->x0 + h->x1);
    splat_paint tiles = splat_build_pattern(b, SPLAT_PAINT_CELLS, 4, 0.03, 0.55, 0.6);
    for (int side = -1; side < 2; side += 2) {
        splat_part slab = {.shape = SPLAT_PART_BOX, .kind = SPLAT_PART_TEXTURED, .paint = tiles};
        double across = half_slope * cos(slope) + half_thick * sin(slope);
        slab.half = splat_vec3_make(half_long, half_thick, half_slope);
        slab.center = splat_up(x, h->high + h->rise - half_slope * sin(slope) + half_thick * cos(slope),
                               middle + side * across);
        splat_part_turn(&slab, splat_up(0, cos(slope), side * sin(slope)), splat_vec3_make(1, 0, 0));
        splat_parts_add(b->parts, slab);

        splat_part gable = {.shape = SPLAT_PART_TRIANGLE, .kind = SPLAT_PART_PLAIN, .paint = wall};
        gable.center = splat_up(side < 0 ? h->x0 : h->x1, h->high + 0.5 * h->rise, middle);
        gable.half = splat_vec3_make(half, 0, 0.5 * h->rise);
        gable.axes[1] = splat_vec3_make(side, 0, 0);
        gable.axes[2] = splat_vec3_make(0, -1, 0);
        gable.axes[0] = splat_vec3_cross(gable.axes[1], gable.axes[2]);
        splat_parts_add(b->parts, gable);
    }
    splat_build_rod(b, SPLAT_PART_TEXTURED, splat_up(x - half_long, h->high + h->rise + 0.1, middle),
                    splat_up(x + half_long, h->high + h->rise + 0.1, middle), 0.09, tiles);
    double edge = h->z0 - eaves - 0.04, low = h->high - eaves * tan(slope) + 0.08;
    splat_paint metal = splat_build_plain(b, 0.58, 0.1, 0.5);
    splat_build_rod(b, SPLAT_PART_THIN, splat_up(x - half_long, low, edge), splat_up(x + half_long, low, edge), 0.05,
                    metal);
    splat_build_rod(b, SPLAT_PART_THIN, splat_up(h->x1 - 0.25, 0, h->z0 - 0.08),
                    splat_up(h->x1 - 0.25, low + 0.1, h->z0 - 0.08), 0.04, metal);
    splat_build_box(b, SPLAT_PART_TEXTURED, splat_up(x + 1.4, h->high + 0.5, middle + 0.6),
                    splat_vec3_make(0.28, 0.5 * h->rise + 0.35, 0.24), 0,
                    splat_build_pattern(b, SPLAT_PAINT_CELLS, 7, 0.02, 0.5, 0.55));
}

static void add_house(splat_build *b)
{
    house h = {.x0 = -5.2, .z0 = 6};
    double hue = splat_build_between(b, 0.05, 0.16);
    h.x1 = splat_build_between(b, 2.6, 3.4);
    h.z1 = h.z0 + splat_build_between(b, 4.4, 5.2);
    h.high = splat_build_between(b, 2.9, 3.3);
    h.rise = splat_build_between(b, 1.6, 2);
    splat_paint wall = splat_build_plain(b, hue, 0.14, 0.82), frame = splat_build_plain(b, 0.1, 0.03, 0.9);
    splat_build_box(b, SPLAT_PART_PLAIN, splat_up(0.5 * (h.x0 + h.x1), 0, 0.5 * (h.z0 + h.z1)),
                    splat_vec3_make(0.5 * (h.x1 - h.x0), 0.5 * h.high, 0.5 * (h.z1 - h.z0)), 0, wall);
    add_roof(b, &h, wall);
    add_opening(b, &h, -4.1, 1.0, 0.45, 0.6, false, frame);
    add_opening(b, &h, -2.4, 1.0, 0.45, 0.6, false, frame);
    add_opening(b, &h, -0.7, 0.05, 0.48, 1.05, true, frame);
    add_opening(b, &h, 1.3, 0.9, 0.75, 0.65, false, frame);
}

/* ---------------------------------------------------------------- what stands in the street */

static void add_posts(splat_build *b)
{
    static const struct { double x, radius, high; } posts[4] = {
        {-6.3, 0.03, 4.2}, {-2.9, 0.01, 3}, {2.2, 0.03, 4.4}, {6.1, 0.01, 2.8}};
    splat_paint metal = splat_build_plain(b, 0.35, 0.25, 0.3), lamp = splat_build_plain(b, 0.14, 0.06, 0.9);
    for (int i = 0; i < 4; i++) {
        double x = posts[i].x + splat_build_between(b, -0.25, 0.25), r = posts[i].radius, high = posts[i].high, z = 3.7;
        splat_build_rod(b, SPLAT_PART_THIN, splat_up(x, 0.12, z), splat_up(x, high, z), r, metal);
        splat_build_rod(b, SPLAT_PART_THIN, splat_up(x, high - r, z), splat_up(x, high - r, z - 0.7), r, metal);
        splat_build_ball(b, SPLAT_PART_CURVED, splat_up(x, high - r - 0.13, z - 0.7), 0.13, lamp);
    }
}

static void add_tree(splat_build *b)
{
    double x = -8.2 + splat_build_between(b, -0.3, 0.3), z = 5.4, crown = splat_build_between(b, 3.4, 3.7);
    splat_vec3 middle = splat_up(x, crown, z), fork = splat_up(x, 2, z), open = {0, 0, 0};
    splat_paint bark = splat_build_pattern(b, SPLAT_PAINT_BANDS, 16, 0.07, 0.4, 0.45);
    splat_build_rod(b, SPLAT_PART_TEXTURED, splat_up(x, 0, z), fork, 0.14, bark);
    for (int i = 0; i < 9; i++) {
        double angle = 0.7 * i + splat_build_between(b, -0.2, 0.2), far = splat_build_between(b, 0.6, 1.3);
        splat_vec3 tip = splat_vec3_add(middle, splat_up(far * cos(angle), splat_build_between(b, -0.4, 1), far *
                                                         sin(angle)));
        splat_build_rod(b, SPLAT_PART_THIN, fork, tip, 0.035, bark);
    }
    splat_build_leaves(b, middle, splat_vec3_make(1.8, 1.5, 1.8), 3000, 0.065, 0.27, open, 0);
}

static void add_bush(splat_build *b)
{
    splat_paint bark = splat_build_plain(b, 0.07, 0.4, 0.35);
    splat_vec3 foot = {bush.x, 0, bush.z}, open = {bush.x - 0.1, -1.55, path};
    for (int i = 0; i < 6; i++) {
        double x = splat_build_between(b, -0.25, 0.25), z = splat_build_between(b, -0.2, 0.2);
        splat_build_rod(b, SPLAT_PART_THIN, foot, splat_vec3_add(bush, splat_up(x, 0.4, z)), 0.008, bark);
    }
    splat_build_leaves(b, bush, splat_vec3_make(0.42, 0.8, 0.38), 500, 0.035, 0.24, open, 0.45);
}

/* Two boxes that shine, on four wheels. */
static void add_car(splat_build *b)
{
    double x = 4.6 + splat_build_between(b, -0.4, 0.4), z = 1.55, hue = splat_build_between(b, 0, 1);
    splat_paint paint = splat_build_plain(b, hue, 0.6, 0.6), tyre = splat_build_plain(b, 0, 0, 0.16);
    splat_paint glass = splat_build_plain(b, 0.58, 0.2, 0.2);
    paint.gloss = 0.5;
    paint.mirror = 0.07;
    glass.gloss = 0.5;
    glass.mirror = 0.1;
    splat_build_box(b, SPLAT_PART_GLOSSY, splat_up(x, 0.28, z), splat_vec3_make(1.9, 0.28, 0.78), 0, paint);
    splat_build_box(b, SPLAT_PART_GLOSSY, splat_up(x + 0.2, 0.84, z), splat_vec3_make(1.1, 0.22, 0.7), 0, glass);
    splat_build_box(b, SPLAT_PART_GLOSSY, splat_up(x + 0.2, 1.28, z), splat_vec3_make(1.1, 0.03, 0.7), 0, paint);
    for (int k = 0; k < 4; k++) {
        double wheel = x + (k & 1 ? 1.2 : -1.2), side = z + (k & 2 ? 0.7 : -0.7);
        splat_build_rod(b, SPLAT_PART_CURVED, splat_up(wheel, 0.31, side - 0.1), splat_up(wheel, 0.31, side + 0.1),
                        0.31, tyre);
    }
}

static void add_lights(splat_build *b)
{
    static const double sky[3] = {0.78, 0.5, 0.62}, ground[3] = {0.46, 0.34, 0.4}, sun[3] = {0.14, 0.7, 0.36};
    static const double soft[3] = {0.4, 0.015, 0.06};
    splat_parts *parts = b->parts;
    int kind = parts->sky.kind - SPLAT_SKY_OVERCAST;
    double side = splat_build_between(b, -0.8, 0.8), blue = kind ? 1.1 : 1.01;
    parts->light_from_above = splat_vec3_make(sky[kind], sky[kind] * 0.5 * (1 + blue), sky[kind] * blue);
    parts->light_from_below = splat_vec3_make(ground[kind], ground[kind], 0.96 * ground[kind]);
    parts->lights[parts->n_lights++] =
        (splat_light){.place = splat_vec3_normalize(splat_vec3_make(side, -1, -0.7)), .radius = soft[kind],
                      .color = {sun[kind], 0.96 * sun[kind], 0.86 * sun[kind]}, .is_sun = true};
}

void splat_sample_street_init(splat_parts *parts, uint64_t seed)
{
    splat_build b = splat_build_start(parts, seed);
    parts->sky = splat_sky_of_seed(seed);
    add_lights(&b);
    add_grounds(&b);
    add_background(&b);
    add_house(&b);
    add_posts(&b);
    add_tree(&b);
    add_bush(&b);
    add_car(&b);
    splat_paint iron = splat_build_plain(&b, 0.6, 0.1, 0.25), stone = splat_build_plain(&b, 0.1, 0.08, 0.66);
    splat_build_railing(&b, splat_up(3.6, 0, 4.4), splat_up(9.6, 0, 4.4), 0.95, 0.15, 0.008, iron);
    splat_build_box(&b, SPLAT_PART_PLAIN, splat_up(7, 0, 6.6), splat_vec3_make(3.2, 0.8, 0.12), 0, stone);
    splat_build_box(&b, SPLAT_PART_PLAIN, splat_up(1, 0, -5.4), splat_vec3_make(9, 0.5, 0.12), 0, stone);
}

/* Three of five photos from the other side, one from the road along the street, one from the pavement. */
void splat_sample_street_camera(uint64_t seed, int index, int n, splat_sample_camera *camera)
{
    splat_dice dice = {.seed = seed, .step = SPLAT_SAMPLE_STEP_CAMERAS, .next = 16 * (uint64_t)index};
    double hand[6], along = (index + 0.5) / n;
    for (int k = 0; k < 6; k++) hand[k] = splat_dice_between(&dice, -1, 1);
    double x = 18 * (along - 0.5) + 0.2 * hand[0], z = path + 0.12 * hand[1], up = 1.6 + 0.15 * hand[2];
    double yaw = pi / 2 + 0.5 * sin(40 * along) + 0.15 * hand[3], pitch = 0.05 + 0.09 * hand[4];
    if (index == n / 3) { /* behind the bush */
        x = bush.x - 0.1;
        z = path;
        yaw = pi / 2;
    } else if (index % 5 == 3) {
        z = -0.7 + 0.25 * hand[1];
        yaw = pi / 2 + (index % 2 ? 1.1 : -1.1) + 0.35 * hand[3];
    } else if (index % 5 == 4) {
        z = 2.75 + 0.1 * hand[1];
        x = 15 * (along - 0.5) + 0.2 * hand[0];
        up += 0.1;
        yaw = pi / 2 + (index % 2 ? 0.75 : -0.75) + 0.3 * hand[3];
        pitch += 0.14;
    }
    splat_vec3 center = splat_up(x, up, z);
    splat_vec3 forward = {cos(pitch) * cos(yaw), -sin(pitch), cos(pitch) * sin(yaw)};
    splat_sample_camera_look(camera, center, splat_vec3_add(center, forward));
    splat_sample_camera_roll(camera, 0.03 * hand[5]);
    camera->focal = 0.5 * camera->width / tan(34.0 * pi / 180.0); /* 68 degrees across */
}
