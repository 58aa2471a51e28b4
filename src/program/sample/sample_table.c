/* Things on a table or on white paper, and cameras on three rings around them, as one photographs a product. */
#include "sample/sample_table.h"

#include "sample/sample_build.h"

static const double pi = 3.14159265358979323846;
static const double half_side = 3; /* of the table, unless the things need more */

/* The first free place for a thing on a spiral from the middle outwards (Vogel 1979), turned by `turn`. All parts are
 * things. */
static splat_vec3 find_place(const splat_parts *parts, double radius, double turn)
{
    for (int k = 0;; k++) {
        const double r = 0.03 * sqrt(k), angle = turn + 2.39996322972865332 * k;
        const splat_vec3 at = splat_vec3_make(r * cos(angle), 0, r * sin(angle));
        bool is_free = true;
        for (int i = 0; i < parts->n && is_free; i++) {
            const splat_part *other = &parts->items[i];
            is_free = hypot(at.x - other->center.x, at.z - other->center.z) > radius + other->thing->radius + 0.03;
        }
        if (is_free) return at;
    }
}

/* Puts the user's things into the world. Returns half the side of the ground that they need. */
static double place_things(splat_build *b)
{
    splat_parts *parts = b->parts;
    double half = half_side;
    for (size_t i = 0; i < parts->things->n; i++) {
        const double turn = splat_build_between(b, 0, 2 * pi), start = splat_build_between(b, 0, 2 * pi);
        const splat_sample_thing *thing = &parts->things->items[i];
        const splat_vec3 center = find_place(parts, thing->radius, start);
        half = fmax(half, hypot(center.x, center.z) + thing->radius);
        splat_build_thing(b, thing, center, turn);
    }
    return half;
}

void splat_sample_table_init(splat_parts *parts, uint64_t seed)
{
    const splat_sample_things *things = parts->things;
    splat_build b = splat_build_start(parts, seed);
    parts->things = things;
    parts->backdrop = 9;
    parts->light_from_above = splat_vec3_make(0.62, 0.62, 0.64);
    parts->light_from_below = splat_vec3_make(0.36, 0.35, 0.33);
    const double hue = splat_build_between(&b, 0, 1), bright = splat_build_between(&b, 0.55, 0.85);
    const bool is_plain = seed % 2 == 1;
    const splat_paint paint = is_plain ? splat_build_plain(&b, hue, 0.1, bright)
                                       : splat_build_pattern(&b, SPLAT_PAINT_CLOUDS, 3, hue, 0.2, bright);
    const double half = place_things(&b);
    splat_build_face(&b, is_plain ? SPLAT_PART_PLAIN : SPLAT_PART_TEXTURED, splat_vec3_make(0, 0, 0),
                     splat_vec3_make(0, -1, 0), splat_vec3_make(1, 0, 0), half, half, paint);
    splat_build_soft_sun(&b);
}

/* The paper is as white as what is behind it, so that photos tell only its shadows. */
void splat_sample_product_init(splat_parts *parts, uint64_t seed)
{
    const splat_sample_things *things = parts->things;
    splat_build b = splat_build_start(parts, seed);
    parts->things = things;
    parts->sky = splat_sky_of_seed(0); /* white */
    parts->light_from_above = splat_vec3_make(0.76, 0.76, 0.76);
    parts->light_from_below = splat_vec3_make(0.55, 0.55, 0.55);
    const splat_paint paper = splat_build_plain(&b, 0, 0, 0.95);
    const double half = place_things(&b);
    splat_build_face(&b, SPLAT_PART_PLAIN, splat_vec3_make(0, 0, 0), splat_vec3_make(0, -1, 0),
                     splat_vec3_make(1, 0, 0), half, half, paper);
    splat_build_soft_sun(&b);
}

void splat_sample_table_camera(uint64_t seed, int index, int n, splat_sample_camera *camera)
{
    static const double parts[3] = {0.42, 0.6, 1}, heights[3] = {0.38, 0.73, 1.1}; /* of what is left; radians */
    splat_dice dice = {.seed = seed, .step = SPLAT_SAMPLE_STEP_CAMERAS, .next = 16 * (uint64_t)index};
    int ring = 0, place = index, n_ring = (int)ceil(parts[0] * n), n_left = n;
    while (ring < 2 && place >= n_ring) {
        place -= n_ring;
        n_left -= n_ring;
        ring++;
        n_ring = (int)ceil(parts[ring] * n_left);
    }
    double hand[6];
    for (int k = 0; k < 6; k++) hand[k] = splat_dice_between(&dice, -1, 1);
    const double angle = 2 * pi * (place + 0.5 * (ring & 1) + 0.15 * hand[0]) / (n_ring > 0 ? n_ring : 1);
    const double up = heights[ring] + 0.04 * hand[1], radius = 3.4 + 0.15 * hand[2];
    splat_sample_camera_look(camera,
                             splat_vec3_make(radius * cos(up) * cos(angle), -radius * sin(up),
                                             radius * cos(up) * sin(angle)),
                             splat_vec3_make(0.1 * hand[3], -0.2 + 0.08 * hand[4], 0.1 * hand[5]));
    splat_sample_camera_roll(camera, 0.04 * splat_dice_between(&dice, -1, 1));
    camera->focal = 0.5 * camera->width / tan(20.0 * pi / 180.0); /* 40 degrees across */
}
