/* Corridors and a room of an office: walls, what hangs and stands there, and the cameras. */
#include "sample/sample_office.h"

#include "sample/sample_build.h"
#include "sample/sample_light.h"

static const double pi = 3.14159265358979323846;

/* The first corridor runs along x between west and east, the second along z from its east end to `south`; the room
 * lies at z < -half between room_west and room_east, and reaches to `north`. */
static const double half = 1.1, west = -6, east = 3.4, corner = 1.2, south = 6.5;
static const double room_west = -4.2, room_east = -0.4, north = -4.4, high = 2.7;

/* A wall stands between two places of the floor; inwards is to the right of the way from the first to the second, seen
 * from above, with x to the right and z down. */
typedef struct wall {
    double x0, z0, x1, z1;
} wall;

static const wall walls[] = {
    {3.4, -1.1, 3.4, 6.5},    /* east */
    {3.4, 6.5, 1.2, 6.5},     /* south end */
    {1.2, 6.5, 1.2, 1.1},     /* west side of the second corridor */
    {1.2, 1.1, -6, 1.1},      /* south side of the first corridor */
    {-6, 1.1, -6, -1.1},      /* west end */
    {-6, -1.1, -4.2, -1.1},   /* north side, up to the room */
    {-4.2, -1.1, -4.2, -4.4}, /* the room */
    {-4.2, -4.4, -0.4, -4.4},
    {-0.4, -4.4, -0.4, -1.1},
    {-0.4, -1.1, 3.4, -1.1},  /* north side, from the room on */
};
enum { N_WALLS = sizeof walls / sizeof walls[0] };

/* ---------------------------------------------------------------- walls, floor, ceiling */

static splat_vec3 inwards_of(const wall *w)
{
    return splat_vec3_normalize(splat_vec3_make(-(w->z1 - w->z0), 0, w->x1 - w->x0));
}

static void add_walls(splat_build *b, bool is_flat)
{
    const splat_vec3 x = {1, 0, 0}, up = {0, -1, 0}, down = {0, 1, 0};
    static const double floors[3][4] = {{-6, 3.4, -1.1, 1.1}, {1.2, 3.4, 1.1, 6.5}, {-4.2, -0.4, -4.4, -1.1}};
    splat_paint grey = splat_build_plain(b, 0.1, 0.03, 0.78), white = splat_build_plain(b, 0.1, 0.01, 0.84);
    splat_paint carpet = splat_build_pattern(b, SPLAT_PAINT_CLOUDS, 6, splat_build_between(b, 0.5, 0.65), 0.3, 0.4);
    bool is_equal = splat_build_between(b, 0, 1) < 0.5;
    for (int i = 0; i < N_WALLS; i++) {
        const wall *w = &walls[i];
        splat_vec3 along = splat_vec3_make(w->x1 - w->x0, 0, w->z1 - w->z0), inwards = inwards_of(w);
        double length = sqrt(splat_vec3_dot(along, along));
        splat_vec3 middle = splat_up(0.5 * (w->x0 + w->x1), 0.5 * high, 0.5 * (w->z0 + w->z1));
        splat_build_face(b, SPLAT_PART_PLAIN, middle, inwards, along, 0.5 * length, 0.5 * high, grey);
    }
    for (int i = 0; i < 3; i++) {
        const double *f = floors[i];
        double middle_x = 0.5 * (f[0] + f[1]), middle_z = 0.5 * (f[2] + f[3]);
        double half_x = 0.5 * (f[1] - f[0]), half_z = 0.5 * (f[3] - f[2]);
        splat_build_face(b, SPLAT_PART_TEXTURED, splat_up(middle_x, 0, middle_z), up, x, half_x, half_z, carpet);
        splat_build_face(b, SPLAT_PART_PLAIN, splat_up(middle_x, high, middle_z), down, x, half_x, half_z,
                         is_equal ? grey : white);
    }
    if (is_flat) return;
    splat_build_dark_wall(b, splat_up(0, 0, 0), up);
    splat_build_dark_wall(b, splat_up(0, high, 0), down);
}

/* ---------------------------------------------------------------- lamps, doors, boards */

static void add_lamps(splat_build *b, bool give_light)
{
    static const double places[][3] = {{-4.6, 0, 0.6}, {-1.6, 0, 0.6}, {1.4, 0, 0.6}, {2.3, 3.2, 0}, {2.3, 5.4, 0},
                                       {-3.2, -2.8, 0.6}, {-1.4, -2.8, 0.6}};
    splat_paint bright = {.colors = {{0.97, 0.97, 0.95}}, .glows = true};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const double *p = places[i], long_side = 0.58, short_side = 0.14;
        splat_build_box(b, SPLAT_PART_PLAIN, splat_up(p[0], high - 0.03, p[1]),
                        splat_vec3_make(p[2] > 0 ? long_side : short_side, 0.02, p[2] > 0 ? short_side : long_side), 0,
                        bright);
        splat_parts *parts = b->parts;
        if (!give_light || i % 2 || parts->n_lights >= SPLAT_PARTS_MAX_LIGHTS) continue;
        parts->lights[parts->n_lights++] = (splat_light){.place = splat_up(p[0], high - 0.15, p[1]), .radius = 0.12,
                                                         .rays = 2, .color = splat_sample_hue(0.13, 0.04, 0.8)};
    }
}

/* A box flat on a wall, `along` from the wall's first place. */
static void add_flat(splat_build *b, splat_part_kind kind, int number, double along, double up, splat_vec3 half_sides,
                     splat_paint paint)
{
    const wall *w = &walls[number];
    splat_part part = {.shape = SPLAT_PART_BOX, .kind = kind, .half = half_sides, .paint = paint};
    splat_vec3 way = splat_vec3_normalize(splat_vec3_make(w->x1 - w->x0, 0, w->z1 - w->z0));
    part.center = splat_vec3_along(splat_up(w->x0, up, w->z0), way, along);
    part.axes[1] = splat_vec3_make(0, 1, 0);
    part.axes[2] = splat_vec3_scale(inwards_of(w), -1);
    part.axes[0] = splat_vec3_cross(part.axes[1], part.axes[2]);
    splat_parts_add(b->parts, part);
}

/* A door with its frame and handle; most are as plain as the walls. */
static void add_door(splat_build *b, int number, double along)
{
    double hue = splat_build_between(b, 0, 1), gray = splat_build_between(b, 0.4, 0.8);
    splat_paint leaf = splat_build_plain(b, hue, 0.25, gray), steel = splat_build_plain(b, 0.6, 0.05, 0.35);
    add_flat(b, SPLAT_PART_PLAIN, number, along, 1.0, splat_vec3_make(0.45, 1.0, 0.015), leaf);
    for (int k = -1; k < 2; k += 2)
        add_flat(b, SPLAT_PART_PLAIN, number, along + 0.49 * k, 1.02, splat_vec3_make(0.04, 1.02, 0.03), steel);
    add_flat(b, SPLAT_PART_PLAIN, number, along, 2.04, splat_vec3_make(0.53, 0.04, 0.03), steel);
    add_flat(b, SPLAT_PART_THIN, number, along + 0.36, 1.05, splat_vec3_make(0.06, 0.012, 0.06), steel);
}

static void add_poster(splat_build *b, int number, double along)
{
    double wide = splat_build_between(b, 0.25, 0.4), tall = splat_build_between(b, 0.3, 0.4);
    double hue = splat_build_between(b, 0, 1), shift = splat_build_between(b, -0.2, 0.2);
    add_flat(b, SPLAT_PART_TEXTURED, number, along + shift, 1.5, splat_vec3_make(wide, tall, 0.005),
             splat_build_pattern(b, SPLAT_PAINT_POSTER, 1, hue, 0.6, 0.85));
}

/* ---------------------------------------------------------------- furniture */

static void add_things(splat_build *b)
{
    double hue = splat_build_between(b, 0, 1), off = splat_build_between(b, 0.02, 0.08);
    splat_paint white = splat_build_plain(b, 0.1, 0.02, 0.86), wood = splat_build_plain(b, 0.08, 0.3, 0.6);
    splat_paint leg = splat_build_plain(b, 0.6, 0.05, 0.3);
    splat_build_box(b, SPLAT_PART_PLAIN, splat_up(-2.3, 0, half - 0.22 - off), splat_vec3_make(0.7, 0.22, 0.2), 0,
                    splat_build_plain(b, hue, 0.4, 0.6)); /* a bench */
    splat_build_box(b, SPLAT_PART_PLAIN, splat_up(east - 0.32 - off, 0, 3.4), splat_vec3_make(0.3, 0.5, 0.3), 0, white);
    splat_build_box(b, SPLAT_PART_TEXTURED, splat_up(east - 0.32 - off, 1.0, 3.4), splat_vec3_make(0.28, 0.05, 0.25),
                    0.1, splat_build_pattern(b, SPLAT_PAINT_CELLS, 14, hue + 0.3, 0.4, 0.6)); /* on the copier */
    splat_build_rod(b, SPLAT_PART_CURVED, splat_up(west + 0.3, 0, 0.75), splat_up(west + 0.3, 0.45, 0.75), 0.16, leg);
    splat_build_box(b, SPLAT_PART_PLAIN, splat_up(-2.3, 0.70, -2.9), splat_vec3_make(0.9, 0.02, 0.5), 0, wood);
    for (int k = 0; k < 4; k++) {
        double x = -2.3 + (k & 1 ? 0.8 : -0.8), z = -2.9 + (k & 2 ? 0.42 : -0.42);
        splat_build_rod(b, SPLAT_PART_THIN, splat_up(x, 0, z), splat_up(x, 0.7, z), 0.02, leg);
    }
    for (int k = 0; k < 3; k++) { /* stools */
        double x = -3.0 + 0.75 * k, z = k % 2 ? -2.1 : -3.75, turn = splat_build_between(b, 0, 1);
        splat_build_box(b, SPLAT_PART_TEXTURED, splat_up(x, 0, z), splat_vec3_make(0.18, 0.22, 0.18), turn,
                        splat_build_pattern(b, SPLAT_PAINT_CELLS, 9, hue + 0.2 * k, 0.5, 0.6));
    }
    splat_build_leaves(b, splat_up(corner + 0.35, 1.0, south - 0.4), splat_vec3_make(0.25, 0.35, 0.25), 160, 0.07, 0.3,
                       splat_vec3_make(0, 0, 0), 0);
    splat_build_rod(b, SPLAT_PART_CURVED, splat_up(corner + 0.35, 0, south - 0.4),
                    splat_up(corner + 0.35, 0.4, south - 0.4), 0.18, splat_build_plain(b, hue + 0.6, 0.3, 0.7));
    splat_build_rod(b, SPLAT_PART_THIN, splat_up(corner + 0.35, 0.4, south - 0.4),
                    splat_up(corner + 0.35, 0.9, south - 0.4), 0.02, wood);
}

void splat_sample_office_init(splat_parts *parts, uint64_t seed)
{
    splat_build b = splat_build_start(parts, seed);
    const bool is_flat = seed % 4 == 3, give_light = seed % 2 == 0;
    const double ambient = give_light ? 0.66 : 0.9;
    parts->light_from_above = splat_vec3_make(ambient, ambient, ambient);
    parts->light_from_below = is_flat ? parts->light_from_above
                                       : splat_vec3_make(0.92 * ambient, 0.92 * ambient, 0.9 * ambient);
    add_walls(&b, is_flat);
    add_lamps(&b, give_light);
    add_door(&b, 0, 2.6);
    add_door(&b, 2, 2.1);
    add_door(&b, 3, 5.8);
    add_door(&b, 9, 1.6);
    add_poster(&b, 1, 1.2);
    add_poster(&b, 3, 2.6);
    add_poster(&b, 7, 1.9);
    add_poster(&b, 0, 5.4);
    add_things(&b);
}

/* Along both corridors and around the table of the room, by turns: ahead, back, to both sides, up and down. */
void splat_sample_office_camera(uint64_t seed, int index, int n, splat_sample_camera *camera)
{
    static const double sides[5] = {0.1, 0.45, -0.45, 0.9, -0.75}, tilts[3] = {-0.1, 0.3, -0.4};
    splat_dice dice = {.seed = seed, .step = SPLAT_SAMPLE_STEP_CAMERAS, .next = 16 * (uint64_t)index};
    double hand[6], at = (index + 0.5) / n, x, z, yaw;
    for (int k = 0; k < 6; k++) hand[k] = splat_dice_between(&dice, -1, 1);
    if (at < 0.45) { /* the first corridor, from west to east */
        double s = at / 0.45;
        x = west + 0.9 + s * (east - west - 1.9);
        z = 0.45 * sin(9 * s);
        yaw = 0;
    } else if (at < 0.75) { /* the second */
        double s = (at - 0.45) / 0.3;
        x = 0.5 * (corner + east) + 0.4 * sin(7 * s);
        z = 0.6 + s * (south - 1.6);
        yaw = 0.5 * pi;
    } else { /* the room */
        double angle = 2 * pi * (at - 0.75) / 0.25;
        x = 0.5 * (room_west + room_east) + 1.35 * cos(angle);
        z = 0.5 * (north - half) - 0.05 + 1.15 * sin(angle);
        yaw = angle + pi * 0.7;
    }
    yaw += pi * sides[index % 5] + 0.3 * hand[3];
    double pitch = tilts[index % 3] + 0.1 * hand[4];
    splat_vec3 center = splat_up(x + 0.05 * hand[0], 1.5 + 0.15 * hand[1], z + 0.05 * hand[2]);
    splat_vec3 forward = {cos(pitch) * cos(yaw), -sin(pitch), cos(pitch) * sin(yaw)};
    splat_sample_camera_look(camera, center, splat_vec3_add(center, forward));
    splat_sample_camera_roll(camera, 0.04 * hand[5]);
    camera->focal = 0.5 * camera->width / tan(35.0 * pi / 180.0); /* 70 degrees across */
}
