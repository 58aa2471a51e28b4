/* A building or a room of the user's, and a photographer who walks through it and around it. */
#include "sample/sample_place.h"

#include "sample/sample_build.h"

static const double pi = 3.14159265358979323846;
static const double ground = 0.02; /* below the place, so that floors hide it */
static const double around = 0.6;  /* of the place's size: so far away photos are taken */

void splat_sample_place_init(splat_parts *parts, uint64_t seed)
{
    const splat_sample_things *things = parts->things;
    splat_build b = splat_build_start(parts, seed);
    parts->things = things;
    parts->sky = splat_sky_of_seed(seed);
    parts->light_from_above = splat_vec3_make(0.62, 0.63, 0.66);
    parts->light_from_below = splat_vec3_make(0.4, 0.38, 0.36);
    splat_build_thing(&b, &things->items[0], splat_vec3_make(0, 0, 0), 0);
    const double hue = splat_build_between(&b, 0.08, 0.3), half = 1.5 * SPLAT_SAMPLE_PLACE_SIZE;
    splat_build_soft_sun(&b);
    splat_build_face(&b, SPLAT_PART_TEXTURED, splat_vec3_make(0, ground, 0), splat_vec3_make(0, -1, 0),
                     splat_vec3_make(1, 0, 0), half, half,
                     splat_build_pattern(&b, SPLAT_PAINT_CLOUDS, 2, hue, 0.25, 0.6));
}

/* The share of the picture that shows the place; 0: something is near, or a wall shows its back, so the photographer
 * would stand inside it. */
static double shown(const splat_parts *parts, const splat_sample_camera *camera)
{
    enum { ACROSS = 8, DOWN = 6 };
    const double nearest = 0.4;
    int n = 0;
    for (int i = 0; i < ACROSS * DOWN; i++) {
        const double u = (i % ACROSS + 0.5) / ACROSS, v = (i / ACROSS + 0.5) / DOWN;
        const splat_vec3 ray = splat_sample_camera_ray(camera, u * camera->width, v * camera->height);
        splat_parts_hit hit;
        if (!splat_parts_trace(parts, camera->center, ray, &hit)) continue;
        if (hit.t < nearest) return 0;
        if (hit.part != 0) continue;
        if (splat_vec3_dot(hit.normal, ray) > 0) return 0;
        n++;
    }
    return (double)n / (ACROSS * DOWN);
}

bool splat_sample_place_camera(const splat_parts *parts, uint64_t seed, int index, splat_sample_camera *camera)
{
    enum { TRIES = 4000 };
    const double eye = 0.06 * SPLAT_SAMPLE_PLACE_SIZE, least_shown = 0.4, level = 0.95;
    splat_dice dice = {.seed = seed, .step = SPLAT_SAMPLE_STEP_CAMERAS, .next = 16 * TRIES * (uint64_t)index};
    double low[3], high[3];
    splat_part_box(&parts->items[0], low, high); /* the place */
    camera->focal = 0.5 * camera->width / tan(32.5 * pi / 180.0); /* 65 degrees across */
    for (int k = 0; k < TRIES; k++) {
        double at[3], target[3];
        const double margin = around * SPLAT_SAMPLE_PLACE_SIZE;
        for (int c = 0; c < 3; c++) {
            const double more = c == 1 ? 0 : margin;
            at[c] = splat_dice_between(&dice, low[c] - more, high[c] + more);
            target[c] = splat_dice_between(&dice, low[c], high[c]);
        }
        const bool is_raised = index % 5 == 4; /* on a pole */
        const double up = eye * splat_dice_between(&dice, is_raised ? 1.2 : 0.7, is_raised ? 3 : 1.1);
        const double roll = splat_dice_between(&dice, -0.04, 0.04);
        splat_parts_hit floor;
        splat_vec3 center = splat_vec3_make(at[0], at[1], at[2]);
        if (!splat_parts_trace(parts, center, splat_vec3_make(0, 1, 0), &floor)) continue;
        if (floor.normal.y > -level) continue; /* the underside of a floor, or a roof */
        center.y = floor.position.y - up;
        splat_sample_camera_look(camera, center, splat_vec3_make(target[0], 0.5 * (center.y + target[1]), target[2]));
        splat_sample_camera_roll(camera, roll);
        if (shown(parts, camera) >= least_shown) return true;
    }
    return false;
}

void splat_sample_place_flight(uint64_t seed, int index, int n, splat_sample_camera *camera)
{
    const double high = 1.4 * SPLAT_SAMPLE_PLACE_SIZE, reach = 0.55 * SPLAT_SAMPLE_PLACE_SIZE;
    splat_dice dice = {.seed = seed, .step = SPLAT_SAMPLE_STEP_CAMERAS, .next = 16 * (uint64_t)index};
    double hand[8];
    for (int k = 0; k < 8; k++) hand[k] = splat_dice_between(&dice, -1, 1);
    const int place = index / 2, n_down = (n + 1) / 2, n_round = n / 2;
    camera->focal = 0.5 * camera->width / tan(32.5 * pi / 180.0); /* 65 degrees across */
    if (index % 2 == 0) {
        const int columns = (int)ceil(sqrt(n_down)), row = place / columns, rows = (n_down + columns - 1) / columns;
        const int column = row % 2 ? columns - 1 - place % columns : place % columns; /* there and back */
        const double x = reach * (columns > 1 ? 2.0 * column / (columns - 1) - 1 : 0) + 0.3 * hand[0];
        const double z = reach * (rows > 1 ? 2.0 * row / (rows - 1) - 1 : 0) + 0.2 * hand[1];
        splat_sample_camera_look(camera, splat_up(x, high + 0.3 * hand[2], z),
                                 splat_up(x + 0.3 * hand[3], 0, z + 0.6 + 0.3 * hand[4]));
    } else {
        const double angle = 2 * pi * (place + 0.3 * hand[0]) / n_round;
        const double radius = SPLAT_SAMPLE_PLACE_SIZE * (1.2 + 0.08 * hand[1]);
        const double up = high * (0.55 + 0.2 * hand[2]);
        splat_sample_camera_look(camera, splat_up(radius * cos(angle), up, radius * sin(angle)),
                                 splat_up(1.5 * hand[3], 2.5 + hand[4], 1.5 * hand[5]));
    }
    splat_sample_camera_roll(camera, 0.04 * hand[6]);
}
