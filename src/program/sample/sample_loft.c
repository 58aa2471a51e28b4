/* A room under a roof: walls, slopes, what hangs and stands there, and the cameras. */
#include "sample/sample_loft.h"

#include "sample/sample_build.h"
#include "sample/sample_light.h"

static const double pi = 3.14159265358979323846;

/* The slopes rise from `knee` at half_z to `collar` at half_top. */
static const double half_x = 3.5, half_z = 2.5;

typedef struct roof {
    double knee, collar, half_top;
    bool is_flat; /* the light is the same everywhere */
    splat_paint plaster;
} roof;

static roof draw_roof(splat_build *b, bool is_flat)
{
    roof r = {.is_flat = is_flat};
    r.knee = splat_build_between(b, 0.6, 1.2);
    r.collar = splat_build_between(b, 2.4, 2.8);
    r.half_top = splat_build_between(b, 0.5, 1.1);
    r.plaster = splat_build_plain(b, 0.11, 0.05, 0.82);
    return r;
}

/* Half of the room's depth at this height. */
static double depth_at(const roof *r, double up)
{
    if (up <= r->knee) return half_z;
    return half_z - (half_z - r->half_top) * (up - r->knee) / (r->collar - r->knee);
}

/* ---------------------------------------------------------------- walls */

static void shade_corner(splat_build *b, const roof *r, splat_vec3 place, splat_vec3 normal)
{
    if (!r->is_flat) splat_build_dark_wall(b, place, normal);
}

/* The normal of a slope. */
static splat_vec3 inwards_of(const roof *r, int side)
{
    return splat_vec3_normalize(splat_up(0, -(half_z - r->half_top), -side * (r->collar - r->knee)));
}

/* A slope from x0 to x1, between two heights. */
static void add_slope(splat_build *b, const roof *r, int side, double x0, double x1, double low, double high)
{
    double z = 0.5 * (depth_at(r, low) + depth_at(r, high)), run = depth_at(r, low) - depth_at(r, high);
    splat_build_face(b, SPLAT_PART_PLAIN, splat_up(0.5 * (x0 + x1), 0.5 * (low + high), side * z), inwards_of(r, side),
                     splat_vec3_make(1, 0, 0), 0.5 * (x1 - x0),
                     0.5 * sqrt(run * run + (high - low) * (high - low)), r->plaster);
}

/* A gable: a rectangle as high as the low walls, a triangle at each side and a rectangle between them. */
static void add_gable(splat_build *b, const roof *r, int side)
{
    const splat_vec3 inwards = {-side, 0, 0}, z = {0, 0, 1};
    double up = 0.5 * (r->knee + r->collar), rise = 0.5 * (r->collar - r->knee), run = 0.5 * (half_z - r->half_top);
    splat_build_face(b, SPLAT_PART_PLAIN, splat_up(side * half_x, 0.5 * r->knee, 0), inwards, z, half_z, 0.5 * r->knee,
                     r->plaster);
    splat_build_face(b, SPLAT_PART_PLAIN, splat_up(side * half_x, up, 0), inwards, z, r->half_top, rise, r->plaster);
    for (int k = -1; k < 2; k += 2) {
        splat_part corner = {.shape = SPLAT_PART_TRIANGLE, .kind = SPLAT_PART_PLAIN, .paint = r->plaster};
        corner.center = splat_up(side * half_x, up, k * (r->half_top + run));
        corner.half = splat_vec3_make(run, 0, rise);
        corner.axes[1] = inwards;
        corner.axes[2] = splat_vec3_make(0, -1, 0);
        corner.axes[0] = splat_vec3_cross(corner.axes[1], corner.axes[2]);
        corner.tip = k * corner.axes[0].z > 0 ? -run : run;
        splat_parts_add(b->parts, corner);
    }
    shade_corner(b, r, splat_up(side * half_x, 0, 0), inwards);
}

/* A dormer in the slope at z > 0, from x0 to x1: cheeks, a ceiling, and a front with a bright window. */
static void add_dormer(splat_build *b, const roof *r, double x0, double x1, double top)
{
    const splat_vec3 x = {1, 0, 0}, in = {0, 0, -1};
    double z0 = depth_at(r, top), middle = 0.5 * (x0 + x1), half = 0.5 * (x1 - x0), high = top - r->knee;
    splat_paint frame = splat_build_plain(b, 0.1, 0.1, 0.62), glass = splat_build_plain(b, 0.58, 0.1, 0.97);
    glass.glows = true;
    splat_build_face(b, SPLAT_PART_PLAIN, splat_up(middle, top, 0.5 * (z0 + half_z)), splat_vec3_make(0, 1, 0), x,
                     half, 0.5 * (half_z - z0), r->plaster);
    splat_build_face(b, SPLAT_PART_PLAIN, splat_up(middle, r->knee + 0.5 * high, half_z), in, x, half, 0.5 * high,
                     r->plaster);
    for (int k = -1; k < 2; k += 2) { /* below the slope the cheek is outside of the room, so it is a triangle */
        splat_part cheek = {.shape = SPLAT_PART_TRIANGLE, .kind = SPLAT_PART_PLAIN, .paint = r->plaster};
        cheek.center = splat_up(middle + k * half, r->knee + 0.5 * high, 0.5 * (z0 + half_z));
        cheek.half = splat_vec3_make(0.5 * (half_z - z0), 0, 0.5 * high);
        cheek.axes[1] = splat_vec3_make(-k, 0, 0);
        cheek.axes[2] = splat_vec3_make(0, 1, 0); /* the tip is below, at the low wall */
        cheek.axes[0] = splat_vec3_cross(cheek.axes[1], cheek.axes[2]);
        cheek.tip = cheek.axes[0].z > 0 ? cheek.half.x : -cheek.half.x;
        splat_parts_add(b->parts, cheek);
    }
    splat_build_box(b, SPLAT_PART_PLAIN, splat_up(middle, r->knee + 0.1, half_z),
                    splat_vec3_make(half - 0.1, 0.5 * high - 0.1, 0.03), 0, frame);
    splat_build_box(b, SPLAT_PART_PLAIN, splat_up(middle, r->knee + 0.16, half_z - 0.02),
                    splat_vec3_make(half - 0.16, 0.5 * high - 0.16, 0.02), 0, glass);
}

static void add_walls(splat_build *b, const roof *r)
{
    const splat_vec3 x = {1, 0, 0}, up = {0, -1, 0};
    splat_paint boards = splat_build_pattern(b, SPLAT_PAINT_PLANKS, 7, 0.08, 0.35, 0.6);
    bool has_dormer = splat_build_between(b, 0, 1) < 0.67;
    double x0 = splat_build_between(b, -1.2, 0.2), x1 = x0 + splat_build_between(b, 1, 1.4);
    double top = r->knee + 0.75 * (r->collar - r->knee);
    splat_build_face(b, SPLAT_PART_TEXTURED, splat_up(0, 0, 0), up, x, half_x, half_z, boards);
    splat_build_face(b, SPLAT_PART_PLAIN, splat_up(0, r->collar, 0), splat_vec3_make(0, 1, 0), x, half_x, r->half_top,
                     r->plaster);
    for (int side = -1; side < 2; side += 2) {
        splat_build_face(b, SPLAT_PART_PLAIN, splat_up(0, 0.5 * r->knee, side * half_z), splat_vec3_make(0, 0, -side),
                         x, half_x, 0.5 * r->knee, r->plaster);
        shade_corner(b, r, splat_up(0, 0, side * half_z), splat_vec3_make(0, 0, -side));
        shade_corner(b, r, splat_up(0, r->knee, side * half_z), inwards_of(r, side));
        if (side < 0 || !has_dormer) {
            add_slope(b, r, side, -half_x, half_x, r->knee, r->collar);
            continue;
        }
        add_slope(b, r, side, -half_x, x0, r->knee, r->collar);
        add_slope(b, r, side, x1, half_x, r->knee, r->collar);
        add_slope(b, r, side, x0, x1, top, r->collar);
        add_dormer(b, r, x0, x1, top);
    }
    add_gable(b, r, -1);
    add_gable(b, r, 1);
    shade_corner(b, r, splat_up(0, 0, 0), up);
}

/* ---------------------------------------------------------------- beams, window, furniture */

/* A box that lies on the slope at z < 0; `off` is how far its middle is off the slope. */
static void add_on_slope(splat_build *b, const roof *r, double x, double up, double off, splat_vec3 half,
                         splat_paint paint)
{
    splat_part part = {.shape = SPLAT_PART_BOX, .kind = SPLAT_PART_PLAIN, .half = half, .paint = paint};
    const splat_vec3 inwards = inwards_of(r, -1);
    part.center = splat_vec3_along(splat_up(x, up, -depth_at(r, up)), inwards, off);
    splat_part_turn(&part, inwards, splat_vec3_make(1, 0, 0));
    splat_parts_add(b->parts, part);
}

static void add_roof_window(splat_build *b, const roof *r)
{
    double x = splat_build_between(b, -0.8, 1.4), up = 0.5 * (r->knee + r->collar), wide = 0.4;
    double high = 0.3 * (r->collar - r->knee);
    splat_paint wood = splat_build_plain(b, 0.09, 0.45, 0.55), glass = splat_build_plain(b, 0.58, 0.1, 0.98);
    glass.glows = true;
    add_on_slope(b, r, x, up, 0, splat_vec3_make(wide + 0.06, 0.04, high + 0.06), wood);
    add_on_slope(b, r, x, up, 0.03, splat_vec3_make(wide, 0.02, high), glass);
}

static void add_beams(splat_build *b, const roof *r)
{
    splat_paint wood = splat_build_pattern(b, SPLAT_PAINT_PLANKS, 12, 0.07, 0.45, 0.45);
    bool has_posts = splat_build_between(b, 0, 1) < 0.5;
    int n = 2 + (splat_build_between(b, 0, 1) < 0.5);
    double up = r->collar - 0.35, deep = depth_at(r, up + 0.07);
    for (int k = 0; k < n; k++) {
        double x = -2.2 + 4.4 * k / (n - 1) + splat_build_between(b, -0.15, 0.15);
        splat_build_box(b, SPLAT_PART_PLAIN, splat_up(x, up - 0.07, 0), splat_vec3_make(0.06, 0.07, deep), 0, wood);
        if (!has_posts) continue;
        for (int side = -1; side < 2; side += 2)
            splat_build_box(b, SPLAT_PART_PLAIN, splat_up(x, 0, side * (r->half_top + 0.35)),
                            splat_vec3_make(0.06, 0.5 * (up - 0.07), 0.06), 0, wood);
    }
}

static void add_poster(splat_build *b, int side, double z, double up)
{
    splat_part part = {.shape = SPLAT_PART_BOX, .kind = SPLAT_PART_TEXTURED};
    double half = splat_build_between(b, 0.25, 0.35), high = splat_build_between(b, 0.25, 0.35);
    double hue = splat_build_between(b, 0, 1);
    part.half = splat_vec3_make(half, high, 0.004);
    part.center = splat_up(side * half_x, up, z);
    part.axes[1] = splat_vec3_make(0, 1, 0);
    part.axes[2] = splat_vec3_make(side, 0, 0);
    part.axes[0] = splat_vec3_cross(part.axes[1], part.axes[2]);
    part.paint = splat_build_pattern(b, SPLAT_PAINT_POSTER, 1, hue, 0.6, 0.85);
    splat_parts_add(b->parts, part);
}

/* A bed, a chest, a row of books along a low wall, a rug. */
static void add_things(splat_build *b, const roof *r)
{
    double hue = splat_build_between(b, 0, 1), off = splat_build_between(b, 0.02, 0.1);
    splat_paint white = splat_build_plain(b, 0.1, 0.03, 0.85), wood = splat_build_plain(b, 0.08, 0.3, 0.6);
    splat_paint cover = splat_build_pattern(b, SPLAT_PAINT_CELLS, 6, hue, 0.5, 0.7);
    splat_build_box(b, SPLAT_PART_PLAIN, splat_up(half_x - 1.05 - off, 0, -1.2), splat_vec3_make(1, 0.14, 0.5), 0,
                    wood);
    splat_build_box(b, SPLAT_PART_TEXTURED, splat_up(half_x - 1.05 - off, 0.28, -1.2), splat_vec3_make(0.98, 0.1, 0.48),
                    0, cover);
    splat_build_box(b, SPLAT_PART_PLAIN, splat_up(half_x - 0.35 - off, 0.48, -1.2), splat_vec3_make(0.25, 0.06, 0.4), 0,
                    white);
    splat_build_box(b, SPLAT_PART_PLAIN, splat_up(-half_x + 0.35 + off, 0, 1.3), splat_vec3_make(0.3, 0.4, 0.55), 0,
                    splat_build_plain(b, hue + 0.5, 0.3, 0.6));
    splat_build_ball(b, SPLAT_PART_CURVED, splat_up(-half_x + 0.35 + off, 0.98, 1.3), 0.18,
                     splat_build_plain(b, hue + 0.3, 0.4, 0.7));
    for (double x = -2.4; x < -0.6;) {
        double wide = splat_build_between(b, 0.03, 0.08), tall = splat_build_between(b, 0.1, 0.16);
        double book = splat_build_between(b, 0, 1);
        splat_build_box(b, SPLAT_PART_TEXTURED, splat_up(x + wide, 0, -half_z + 0.13 + off),
                        splat_vec3_make(wide, tall, 0.1), 0,
                        splat_build_pattern(b, SPLAT_PAINT_BANDS, 22, book, 0.6, 0.75));
        x += 2 * wide + splat_build_between(b, 0.005, 0.1);
    }
    splat_build_box(b, SPLAT_PART_TEXTURED, splat_up(-0.6, 0, 0.3), splat_vec3_make(0.9, 0.005, 0.6), 0.25,
                    splat_build_pattern(b, SPLAT_PAINT_CELLS, 7, hue + 0.2, 0.5, 0.6));
    add_poster(b, -1, -0.4, 1.5);
    add_poster(b, 1, 0.5, 1.5);
    add_roof_window(b, r);
}

void splat_sample_loft_init(splat_parts *parts, uint64_t seed)
{
    splat_build b = splat_build_start(parts, seed);
    const bool is_flat = seed % 4 == 3, has_lamp = seed % 2 == 0;
    const double ambient = has_lamp ? 0.62 : 0.9;
    roof r = draw_roof(&b, is_flat);
    parts->light_from_above = splat_vec3_make(ambient, ambient, ambient);
    parts->light_from_below = is_flat ? parts->light_from_above
                                       : splat_vec3_make(0.9 * ambient, 0.89 * ambient, 0.86 * ambient);
    if (has_lamp)
        parts->lights[parts->n_lights++] =
            (splat_light){.place = splat_up(splat_build_between(&b, -1, 1), r.collar - 0.7, 0), .radius = 0.25,
                          .rays = 2, .color = splat_sample_hue(0.11, 0.08, 1.3)};
    add_walls(&b, &r);
    add_beams(&b, &r);
    add_things(&b, &r);
}

/* Around an oval, two rounds; by turns across the room, along the way and outwards, level, up and down. */
void splat_sample_loft_camera(uint64_t seed, int index, int n, splat_sample_camera *camera)
{
    static const double sides[5] = {1, 0.45, 0.8, 0, -0.75}, tilts[3] = {-0.12, 0.4, -0.5};
    splat_dice dice = {.seed = seed, .step = SPLAT_SAMPLE_STEP_CAMERAS, .next = 16 * (uint64_t)index};
    double hand[6], angle = 4 * pi * (index + 0.5) / n, far = 2 * index < n ? 1 : 0.6;
    for (int k = 0; k < 6; k++) hand[k] = splat_dice_between(&dice, -1, 1);
    double x = 1.7 * far * cos(angle) + 0.06 * hand[0], z = 0.55 * far * sin(angle) + 0.05 * hand[2];
    splat_vec3 center = splat_up(x, 1.4 + 0.2 * sin(2.6 * angle) + 0.05 * hand[1], z);
    double yaw = angle + pi * sides[index % 5] + 0.35 * hand[3], pitch = tilts[index % 3] + 0.12 * hand[4];
    splat_vec3 forward = {cos(pitch) * cos(yaw), -sin(pitch), cos(pitch) * sin(yaw)};
    splat_sample_camera_look(camera, center, splat_vec3_add(center, forward));
    splat_sample_camera_roll(camera, 0.04 * hand[5]);
    camera->focal = 0.5 * camera->width / tan(33.0 * pi / 180.0); /* 66 degrees across */
}
