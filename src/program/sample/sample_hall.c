/* A hall: walls, vault and apse, what stands in it, and the cameras. */
#include "sample/sample_hall.h"

#include "sample/sample_build.h"
#include "sample/sample_light.h"

static const double pi = 3.14159265358979323846;

/* The nave reaches from -half_x to half_x, where the apse begins; the vault and the apse's dome begin at `spring`. */
static const double half_x = 5, half_z = 3, spring = 2.6;

/* The platform at the end opposite the apse. */
static const double platform_x = -3.2, platform_up = 0.6;

/* ---------------------------------------------------------------- walls */

static splat_part curved(splat_part_shape shape, splat_vec3 center, splat_vec3 up, splat_vec3 along, double radius,
                         splat_paint paint)
{
    splat_part part = {.shape = shape, .kind = SPLAT_PART_CURVED, .center = center, .radius = radius,
                       .angle = 0.5 * pi, .is_hollow = true, .paint = paint};
    splat_part_turn(&part, up, along);
    return part;
}

/* Half of the seeds have one colour on all walls. */
static void add_walls(splat_build *b)
{
    const splat_vec3 x = {1, 0, 0}, up = {0, -1, 0};
    bool is_equal = splat_build_between(b, 0, 1) < 0.5;
    double hue = splat_build_between(b, 0.07, 0.15);
    splat_paint wall = splat_build_plain(b, hue, 0.1, 0.8);
    splat_paint ceiling = is_equal ? wall : splat_build_plain(b, hue + 0.4, 0.06, 0.84);
    splat_paint end = is_equal ? wall : splat_build_plain(b, hue - 0.04, 0.25, 0.72);
    splat_paint floor = splat_build_plain(b, 0.08, 0.14, 0.55);

    splat_part vault = curved(SPLAT_PART_PATCH, splat_up(0, spring, 0), x, up, half_z, ceiling);
    vault.half.y = half_x;
    splat_parts_add(b->parts, vault);
    splat_part apse = curved(SPLAT_PART_PATCH, splat_up(half_x, 0.5 * spring, 0), up, x, half_z, end);
    apse.half.y = 0.5 * spring;
    splat_parts_add(b->parts, apse);
    splat_parts_add(b->parts, curved(SPLAT_PART_DOME, splat_up(half_x, spring, 0), up, x, half_z, ceiling));

    double high = spring + half_z; /* of the end wall; the vault covers its upper corners */
    splat_build_face(b, SPLAT_PART_PLAIN, splat_up(-half_x, 0.5 * high, 0), x, up, 0.5 * high, half_z, end);
    for (int side = -1; side < 2; side += 2)
        splat_build_face(b, SPLAT_PART_PLAIN, splat_up(0, 0.5 * spring, side * half_z), splat_vec3_make(0, 0, -side), x,
                         half_x, 0.5 * spring, wall);
    splat_build_face(b, SPLAT_PART_PLAIN, splat_up(0.5 * half_z, 0, 0), up, x, half_x + 0.5 * half_z, half_z, floor);
    splat_build_dark_wall(b, splat_up(0, 0, 0), up);
    splat_build_dark_wall(b, splat_up(-half_x, 0, 0), x);
    splat_build_dark_wall(b, splat_up(0, 0, -half_z), splat_vec3_make(0, 0, 1));
    splat_build_dark_wall(b, splat_up(0, 0, half_z), splat_vec3_make(0, 0, -1));
}

/* ---------------------------------------------------------------- platform, stairs, ramp */

/* The ramp lies on a wedge, whose free side is a triangle; its tip lies at x1. */
static void add_ramp(splat_build *b, double x0, double x1, double z0, double z1, double rise, splat_paint paint)
{
    double run = x1 - x0, length = sqrt(run * run + rise * rise), z = 0.5 * (z0 + z1);
    splat_build_face(b, SPLAT_PART_PLAIN, splat_up(0.5 * (x0 + x1), 0.5 * rise, z), splat_up(rise, run, 0),
                     splat_up(run, -rise, 0), 0.5 * length, 0.5 * (z1 - z0), paint);
    splat_part side = {.shape = SPLAT_PART_TRIANGLE, .kind = SPLAT_PART_PLAIN, .paint = paint};
    side.center = splat_up(0.5 * (x0 + x1), 0.5 * rise, z1);
    side.half = splat_vec3_make(0.5 * run, 0, 0.5 * rise);
    side.axes[1] = splat_vec3_make(0, 0, 1);
    side.axes[2] = splat_vec3_make(0, -1, 0);
    side.axes[0] = splat_vec3_cross(side.axes[1], side.axes[2]);
    side.tip = side.axes[0].x > 0 ? -side.half.x : side.half.x;
    splat_parts_add(b->parts, side);
}

static void add_platform(splat_build *b)
{
    enum { STEPS = 4 };
    const double step = 0.3;
    splat_paint stone = splat_build_plain(b, 0.1, 0.06, 0.68), iron = splat_build_plain(b, 0.6, 0.1, 0.22);
    double half = 0.5 * (platform_x + half_x), x = 0.5 * (platform_x - half_x);
    splat_build_box(b, SPLAT_PART_PLAIN, splat_up(x, 0, 0), splat_vec3_make(half, 0.5 * platform_up, half_z), 0, stone);
    for (int i = 1; i < STEPS; i++) { /* the platform is the last step */
        double up = platform_up * (STEPS - i) / STEPS;
        splat_build_box(b, SPLAT_PART_PLAIN, splat_up(platform_x + (i - 0.5) * step, 0, 1.7),
                        splat_vec3_make(0.5 * step, 0.5 * up, 0.8), 0, stone);
    }
    double x1 = platform_x + 2.6;
    add_ramp(b, platform_x, x1, -half_z, -1.9, platform_up, stone);
    double edge = platform_x - 0.06;
    splat_build_railing(b, splat_up(edge, platform_up, -1.8), splat_up(edge, platform_up, 0.8), 0.9, 0.16, 0.009, iron);
    splat_build_railing(b, splat_up(platform_x, platform_up, 0.86), splat_up(platform_x + 3 * step, 0.15, 0.86), 0.9,
                        0.16, 0.009, iron);
    splat_build_railing(b, splat_up(platform_x, platform_up, -1.85), splat_up(x1, 0, -1.85), 0.9, 0.2, 0.009, iron);
}

/* ---------------------------------------------------------------- what stands in the hall */

static void add_columns(splat_build *b)
{
    splat_paint stone = splat_build_plain(b, 0.1, 0.08, 0.76);
    double radius = splat_build_between(b, 0.17, 0.22), first = splat_build_between(b, -0.2, 0.2);
    for (int side = -1; side < 2; side += 2)
        for (int i = 0; i < 3; i++) {
            double x = first + 2.2 * i, z = 2.2 * side;
            splat_build_rod(b, SPLAT_PART_CURVED, splat_up(x, 0.1, z), splat_up(x, spring - 0.25, z), radius, stone);
            splat_build_box(b, SPLAT_PART_PLAIN, splat_up(x, 0, z),
                            splat_vec3_make(radius + 0.07, 0.05, radius + 0.07), 0, stone);
            splat_build_box(b, SPLAT_PART_PLAIN, splat_up(x, spring - 0.25, z),
                            splat_vec3_make(radius + 0.06, 0.05, radius + 0.06), 0, stone);
        }
    for (int side = -1; side < 2; side += 2) /* a beam on the columns */
        splat_build_box(b, SPLAT_PART_PLAIN, splat_up(first + 2.2, spring - 0.15, 2.2 * side),
                        splat_vec3_make(2.7, 0.12, 0.2), 0, stone);
}

static splat_paint shiny(splat_build *b, double hue, double saturation, double brightness, double mirror)
{
    splat_paint paint = splat_build_plain(b, hue, saturation, brightness);
    paint.gloss = 0.4;
    paint.mirror = mirror;
    return paint;
}

/* A table whose top reflects, with a ball and a ring on it. */
static void add_table(splat_build *b)
{
    double x = 4.9 + splat_build_between(b, -0.2, 0.2), up = 0.78, half = 0.62;
    splat_paint top = shiny(b, 0.05, 0.4, 0.3, 0.1), leg = splat_build_plain(b, 0.05, 0.3, 0.3);
    splat_build_box(b, SPLAT_PART_GLOSSY, splat_up(x, up - 0.05, 0), splat_vec3_make(0.45, 0.025, half + 0.2), 0, top);
    for (int k = 0; k < 4; k++) {
        double leg_x = x + (k & 1 ? 0.38 : -0.38), leg_z = k & 2 ? half : -half;
        splat_build_rod(b, SPLAT_PART_THIN, splat_up(leg_x, 0, leg_z), splat_up(leg_x, up - 0.05, leg_z), 0.02, leg);
    }
    double hue = splat_build_between(b, 0, 1);
    splat_build_ball(b, SPLAT_PART_TEXTURED, splat_up(x, up + 0.16, 0.35), 0.16,
                     splat_build_pattern(b, SPLAT_PAINT_BANDS, 14, hue, 0.6, 0.8));
    splat_part ring = {.shape = SPLAT_PART_TORUS, .kind = SPLAT_PART_CURVED, .radius = 0.16, .tube = 0.05};
    ring.center = splat_up(x, up + 0.05, -0.3);
    splat_part_turn(&ring, splat_vec3_make(0, -1, 0), splat_vec3_make(1, 0, 0));
    ring.paint = splat_build_plain(b, hue + 0.5, 0.5, 0.7);
    splat_parts_add(b->parts, ring);
}

/* A pillar that grows out of the side wall: the outside of a cylinder. */
static void add_half_pillar(splat_build *b, double x, double side)
{
    splat_paint paint = splat_build_plain(b, 0.12, 0.12, 0.74);
    double high = spring + 1.6; /* inside the vault */
    splat_part pillar = curved(SPLAT_PART_PATCH, splat_up(x, 0.5 * high, side * half_z), splat_vec3_make(0, -1, 0),
                               splat_vec3_make(0, 0, -side), 0.4, paint);
    pillar.half.y = 0.5 * high;
    pillar.is_hollow = false;
    splat_parts_add(b->parts, pillar);
}

/* A picture in a frame of 2 cm on a side wall. */
static void add_picture(splat_build *b, double x, double up, double side)
{
    splat_part picture = {.shape = SPLAT_PART_BOX, .kind = SPLAT_PART_TEXTURED};
    double half = splat_build_between(b, 0.3, 0.4), high = splat_build_between(b, 0.3, 0.42), bar = 0.03;
    double hue = splat_build_between(b, 0, 1);
    splat_paint wood = splat_build_plain(b, 0.08, 0.4, 0.35);
    picture.half = splat_vec3_make(half, high, 0.006);
    picture.center = splat_up(x, up, side * half_z);
    picture.axes[1] = splat_vec3_make(0, 1, 0);
    picture.axes[2] = splat_vec3_make(0, 0, side);
    picture.axes[0] = splat_vec3_cross(picture.axes[1], picture.axes[2]);
    picture.paint = splat_build_pattern(b, SPLAT_PAINT_POSTER, 1, hue, 0.6, 0.8);
    splat_parts_add(b->parts, picture);
    for (int k = -1; k < 2; k += 2) {
        splat_build_box(b, SPLAT_PART_PLAIN, splat_up(x + k * (half + bar), up - high - 2 * bar, side * half_z),
                        splat_vec3_make(bar, high + 2 * bar, 0.02), 0, wood);
        splat_build_box(b, SPLAT_PART_PLAIN, splat_up(x, k < 0 ? up - high - 2 * bar : up + high, side * half_z),
                        splat_vec3_make(half, bar, 0.02), 0, wood);
    }
}

static void add_lamp(splat_build *b, double x, double up, double z, double strength)
{
    splat_parts *parts = b->parts;
    double hue = splat_build_between(b, 0.08, 0.13);
    parts->lights[parts->n_lights++] =
        (splat_light){.place = splat_up(x, up, z), .radius = 0.3, .color = splat_sample_hue(hue, 0.1, strength)};
}

void splat_sample_hall_init(splat_parts *parts, uint64_t seed)
{
    splat_build b = splat_build_start(parts, seed);
    parts->light_from_above = splat_vec3_make(0.5, 0.5, 0.51);
    parts->light_from_below = splat_vec3_make(0.46, 0.45, 0.43);
    add_lamp(&b, -2.6, 3.9, 0.6, 2.4);
    add_lamp(&b, 1.6, 4, -0.5, 2.4);
    add_lamp(&b, 5, 3.4, 0.4, 1.3);
    add_walls(&b);
    add_platform(&b);
    add_columns(&b);
    add_table(&b);
    add_half_pillar(&b, -2.0, 1);
    add_half_pillar(&b, 1.2, -1);
    add_picture(&b, 0, 1.6, 1);
    add_picture(&b, 2.4, 1.55, -1);
    add_picture(&b, 3.5, 1.6, 1);
    splat_paint rug = splat_build_pattern(&b, SPLAT_PAINT_CELLS, 5, splat_build_between(&b, 0, 1), 0.5, 0.6);
    splat_build_box(&b, SPLAT_PART_TEXTURED, splat_up(1.2, 0, 0), splat_vec3_make(2.2, 0.005, 0.6), 0, rug);
}

/* Two of three photos from an oval in the nave, looking across, along and up; the third from the platform or the
 * apse. */
void splat_sample_hall_camera(uint64_t seed, int index, int n, splat_sample_camera *camera)
{
    static const double sides[5] = {1, 0.45, 0.8, 0, -0.75}, tilts[3] = {-0.1, 0.4, -0.42};
    splat_dice dice = {.seed = seed, .step = SPLAT_SAMPLE_STEP_CAMERAS, .next = 16 * (uint64_t)index};
    double hand[6], angle = 4 * pi * (index + 0.5) / n;
    for (int k = 0; k < 6; k++) hand[k] = splat_dice_between(&dice, -1, 1);
    bool is_wide = 2 * index < n;
    double x = 1.1 + (is_wide ? 2.4 : 1.5) * cos(angle), z = (is_wide ? 1.45 : 0.9) * sin(angle);
    double up = 1.55 + 0.25 * sin(2.6 * angle) + 0.06 * hand[3], yaw = angle + pi * sides[index % 5] + 0.3 * hand[4];
    double pitch = tilts[index % 3] + 0.1 * hand[5];
    if (index % 6 == 4) { /* on the platform */
        x = -4.1;
        z = 2 * sin(angle);
        up += platform_up;
        yaw = 0.7 * sin(1.7 * angle) + 0.25 * hand[4];
    } else if (index % 6 == 1) { /* around the table */
        double around = 0.5 * pi * (1 + 0.8 * sin(1.3 * angle)) - 0.5 * pi;
        x = half_x + 1.7 * cos(around);
        z = 1.7 * sin(around);
        yaw = around + pi + 0.4 * hand[4];
    }
    splat_vec3 center = splat_up(x + 0.06 * hand[0], up, z + 0.06 * hand[1]);
    splat_vec3 forward = {cos(pitch) * cos(yaw), -sin(pitch), cos(pitch) * sin(yaw)};
    splat_sample_camera_look(camera, center, splat_vec3_add(center, forward));
    splat_sample_camera_roll(camera, 0.04 * hand[2]);
    camera->focal = 0.5 * camera->width / tan(35.0 * pi / 180.0); /* 70 degrees across */
}
