/* A room that reflects: what hangs and stands there, and the cameras. */
#include "sample/sample_glossy.h"

#include "sample/sample_build.h"
#include "sample/sample_light.h"

static const double pi = 3.14159265358979323846;
static const double half_x = 2.5, half_z = 2, high = 2.7;

/* The opening in the wall at half_z. */
static const double window_x = 0.9, window_low = 0.9, window_half = 0.6, window_high = 1.1;

static splat_paint polished(splat_build *b, double hue, double saturation, double brightness, double mirror)
{
    splat_paint paint = splat_build_plain(b, hue, saturation, brightness);
    paint.gloss = 0.3;
    paint.mirror = mirror;
    return paint;
}

/* Four rectangles around the window. */
static void add_window_wall(splat_build *b, splat_paint paint, splat_paint frame)
{
    const splat_vec3 inwards = {0, 0, -1}, x = {1, 0, 0};
    const double left = window_x - window_half, right = window_x + window_half, top = window_low + window_high;
    const double faces[4][4] = {{-half_x, left, 0, high}, {right, half_x, 0, high}, {left, right, 0, window_low},
                                {left, right, top, high}}; /* x0, x1, low, high */
    for (int i = 0; i < 4; i++) {
        const double *f = faces[i];
        splat_build_face(b, SPLAT_PART_PLAIN, splat_up(0.5 * (f[0] + f[1]), 0.5 * (f[2] + f[3]), half_z), inwards, x,
                         0.5 * (f[1] - f[0]), 0.5 * (f[3] - f[2]), paint);
    }
    for (int side = -1; side < 2; side += 2) {
        splat_build_box(b, SPLAT_PART_PLAIN, splat_up(window_x + side * window_half, window_low, half_z),
                        splat_vec3_make(0.03, 0.5 * window_high, 0.05), 0, frame);
        splat_build_box(b, SPLAT_PART_PLAIN, splat_up(window_x, side < 0 ? window_low - 0.03 : top - 0.03, half_z),
                        splat_vec3_make(window_half + 0.03, 0.03, 0.05), 0, frame);
    }
}

static void add_walls(splat_build *b)
{
    const splat_vec3 x = {1, 0, 0}, y = {0, 1, 0}, up = {0, -1, 0};
    double hue = splat_build_between(b, 0.05, 0.6);
    splat_paint wall = splat_build_plain(b, hue, 0.12, 0.76), white = splat_build_plain(b, 0.1, 0.02, 0.86);
    splat_paint boards = splat_build_pattern(b, SPLAT_PAINT_PLANKS, 7, 0.08, 0.45, 0.6);
    boards.gloss = 0.2;
    boards.mirror = 0.03;
    splat_build_face(b, SPLAT_PART_GLOSSY, splat_up(0, 0, 0), up, x, half_x, half_z, boards);
    splat_build_face(b, SPLAT_PART_PLAIN, splat_up(0, high, 0), y, x, half_x, half_z, white);
    splat_build_face(b, SPLAT_PART_PLAIN, splat_up(0, 0.5 * high, -half_z), splat_vec3_make(0, 0, 1), x, half_x,
                     0.5 * high, wall);
    add_window_wall(b, wall, white);
    for (int side = -1; side < 2; side += 2)
        splat_build_face(b, SPLAT_PART_PLAIN, splat_up(side * half_x, 0.5 * high, 0), splat_vec3_make(-side, 0, 0), y,
                         0.5 * high, half_z, wall);
    splat_build_dark_wall(b, splat_up(0, 0, 0), up);
    splat_build_dark_wall(b, splat_up(0, high, 0), y);
    for (int side = -1; side < 2; side += 2) {
        splat_build_dark_wall(b, splat_up(side * half_x, 0, 0), splat_vec3_make(-side, 0, 0));
        splat_build_dark_wall(b, splat_up(0, 0, side * half_z), splat_vec3_make(0, 0, -side));
    }
}

/* A mirror in a frame, a dark pane, and three posters, which the mirror shows again. */
static void add_hangings(splat_build *b)
{
    splat_paint silver = polished(b, 0.55, 0.05, 0.3, 0.85), glass = polished(b, 0.58, 0.3, 0.12, 0.12);
    splat_paint wood = splat_build_plain(b, 0.08, 0.4, 0.4);
    double z = splat_build_between(b, -0.5, 0.1);
    splat_build_box(b, SPLAT_PART_GLOSSY, splat_up(-half_x, 0.7, z), splat_vec3_make(0.01, 0.6, 0.45), 0, silver);
    for (int side = -1; side < 2; side += 2) {
        splat_build_box(b, SPLAT_PART_PLAIN, splat_up(-half_x, 0.64, z + side * 0.48),
                        splat_vec3_make(0.025, 0.66, 0.03), 0, wood);
        splat_build_box(b, SPLAT_PART_PLAIN, splat_up(-half_x, side < 0 ? 0.64 : 1.9, z),
                        splat_vec3_make(0.025, 0.03, 0.45), 0, wood);
    }
    splat_build_box(b, SPLAT_PART_GLOSSY, splat_up(-1.2, 1, half_z), splat_vec3_make(0.55, 0.45, 0.015), 0, glass);
    for (int i = 0; i < 3; i++) {
        splat_part poster = {.shape = SPLAT_PART_BOX, .kind = SPLAT_PART_TEXTURED, .half = {0.36, 0.3, 0.004}};
        double hue = splat_build_between(b, 0, 1);
        poster.center = i ? splat_up(i == 1 ? -1.3 : 1.2, 1.55, -half_z) : splat_up(half_x, 1.5, -0.2);
        poster.axes[1] = splat_vec3_make(0, 1, 0);
        poster.axes[2] = i ? splat_vec3_make(0, 0, -1) : splat_vec3_make(1, 0, 0);
        poster.axes[0] = splat_vec3_cross(poster.axes[1], poster.axes[2]);
        poster.paint = splat_build_pattern(b, SPLAT_PAINT_POSTER, 1, hue, 0.6, 0.85);
        splat_parts_add(b->parts, poster);
    }
}

/* On the polished top a ball, a vase and a box; a cube of lacquer stands in the corner. */
static void add_table(splat_build *b)
{
    double x = splat_build_between(b, 0.5, 0.7), z = splat_build_between(b, -0.8, -0.6), up = 0.72;
    double hue = splat_build_between(b, 0, 1);
    splat_paint top = polished(b, 0.05, 0.45, 0.22, 0.15), leg = splat_build_plain(b, 0.05, 0.3, 0.3);
    splat_build_box(b, SPLAT_PART_GLOSSY, splat_up(x, up - 0.04, z), splat_vec3_make(0.7, 0.02, 0.42), 0, top);
    for (int k = 0; k < 4; k++) {
        splat_vec3 foot = splat_up(x + (k & 1 ? 0.62 : -0.62), 0, z + (k & 2 ? 0.34 : -0.34));
        splat_build_rod(b, SPLAT_PART_THIN, foot, splat_vec3_add(foot, splat_up(0, up - 0.04, 0)), 0.02, leg);
    }
    splat_build_ball(b, SPLAT_PART_TEXTURED, splat_up(x - 0.35, up + 0.14, z), 0.14,
                     splat_build_pattern(b, SPLAT_PAINT_BANDS, 14, hue, 0.6, 0.8));
    splat_build_rod(b, SPLAT_PART_GLOSSY, splat_up(x + 0.1, up, z + 0.1), splat_up(x + 0.1, up + 0.3, z + 0.1), 0.07,
                    polished(b, hue + 0.3, 0.5, 0.5, 0.08));
    splat_build_box(b, SPLAT_PART_TEXTURED, splat_up(x + 0.45, up, z - 0.05), splat_vec3_make(0.12, 0.09, 0.12), 0.4,
                    splat_build_pattern(b, SPLAT_PAINT_CELLS, 14, hue + 0.6, 0.5, 0.8));
    splat_build_box(b, SPLAT_PART_GLOSSY, splat_up(-1.4, 0, -1.2), splat_vec3_make(0.26, 0.24, 0.26), 0.4,
                    polished(b, hue + 0.5, 0.6, 0.5, 0.06));
    splat_paint rug = splat_build_pattern(b, SPLAT_PAINT_CELLS, 6, hue + 0.2, 0.5, 0.6);
    splat_build_box(b, SPLAT_PART_TEXTURED, splat_up(-0.3, 0, 0.9), splat_vec3_make(0.8, 0.005, 0.5), 0.1, rug);
}

void splat_sample_glossy_init(splat_parts *parts, uint64_t seed)
{
    splat_build b = splat_build_start(parts, seed);
    parts->sky = splat_sky_of_seed(seed);
    parts->light_from_above = splat_vec3_make(0.56, 0.56, 0.57);
    parts->light_from_below = splat_vec3_make(0.52, 0.51, 0.5);
    for (int side = -1; side < 2; side += 2) {
        double x = 1.1 * side + splat_build_between(&b, -0.2, 0.2);
        parts->lights[parts->n_lights++] = (splat_light){.place = splat_up(x, 2.3, 0.2 * side), .radius = 0.22,
                                                         .rays = 2, .color = splat_sample_hue(0.11, 0.08, 1.3)};
    }
    add_walls(&b);
    add_hangings(&b);
    add_table(&b);
}

/* Around an oval, two rounds; by turns across the room, along the way and outwards. */
void splat_sample_glossy_camera(uint64_t seed, int index, int n, splat_sample_camera *camera)
{
    static const double sides[5] = {1, 0.45, 0.8, 0, -0.75}, tilts[3] = {-0.12, 0.25, -0.4};
    splat_dice dice = {.seed = seed, .step = SPLAT_SAMPLE_STEP_CAMERAS, .next = 16 * (uint64_t)index};
    double hand[6], angle = 4 * pi * (index + 0.5) / n, far = 2 * index < n ? 1 : 0.55;
    for (int k = 0; k < 6; k++) hand[k] = splat_dice_between(&dice, -1, 1);
    double x = 1.5 * far * cos(angle) + 0.06 * hand[0], z = 0.4 + 0.8 * far * sin(angle) + 0.06 * hand[2];
    splat_vec3 center = splat_up(x, 1.5 + 0.15 * sin(2.6 * angle) + 0.06 * hand[1], z);
    double yaw = angle + pi * sides[index % 5] + 0.35 * hand[3], pitch = tilts[index % 3] + 0.12 * hand[4];
    splat_vec3 forward = {cos(pitch) * cos(yaw), -sin(pitch), cos(pitch) * sin(yaw)};
    splat_sample_camera_look(camera, center, splat_vec3_add(center, forward));
    splat_sample_camera_roll(camera, 0.04 * hand[5]);
    camera->focal = 0.5 * camera->width / tan(33.0 * pi / 180.0); /* 66 degrees across */
}
