/* A wheel: its parts, and the cameras. */
#include "sample/sample_wheel.h"

#include "sample/sample_build.h"
#include "sample/sample_light.h"

static const double pi = 3.14159265358979323846;

/* The wheel's plane is z = 0, its axle at `axle` above the ground. */
static const double axle = 0.42, rim = 0.3, spoke = 0.001;

static splat_vec3 on_wheel(double angle, double radius, double z)
{
    return splat_up(radius * cos(angle), axle + radius * sin(angle), z);
}

static void add_ring(splat_build *b, splat_part_kind kind, double radius, double tube, splat_paint paint)
{
    splat_part ring = {.shape = SPLAT_PART_TORUS, .kind = kind, .radius = radius, .tube = tube, .paint = paint};
    ring.center = splat_up(0, axle, 0);
    splat_part_turn(&ring, splat_vec3_make(0, 0, 1), splat_vec3_make(1, 0, 0));
    splat_parts_add(b->parts, ring);
}

/* Spokes leave the two flanges of the hub forwards and backwards by turns and cross. */
static void add_wheel(splat_build *b)
{
    enum { SPOKES = 32 };
    const double flange = 0.028, half_hub = 0.03, lead = 0.9;
    double turn = splat_build_between(b, 0, 0.2);
    splat_paint steel = splat_build_plain(b, 0.6, 0.05, splat_build_between(b, 0.25, 0.75));
    splat_paint tyre = splat_build_plain(b, 0, 0, 0.14), metal = splat_build_plain(b, 0.6, 0.05, 0.62);
    add_ring(b, SPLAT_PART_CURVED, rim + 0.026, 0.018, tyre);
    add_ring(b, SPLAT_PART_CURVED, rim, 0.011, metal);
    splat_build_rod(b, SPLAT_PART_CURVED, splat_up(0, axle, -half_hub), splat_up(0, axle, half_hub), flange, metal);
    splat_build_rod(b, SPLAT_PART_THIN, splat_up(0, axle, -0.075), splat_up(0, axle, 0.075), 0.005, metal);
    for (int i = 0; i < SPOKES; i++) {
        double side = i & 1 ? 1 : -1, angle = turn + 2 * pi * i / SPOKES, from = angle + (i & 2 ? lead : -lead);
        splat_build_rod(b, SPLAT_PART_THIN, on_wheel(from, flange - 0.003, side * half_hub * 0.95),
                        on_wheel(angle, rim - 0.008, side * 0.003), spoke, steel);
    }
}

/* Two forks that hold the axle, on a plate. */
static void add_stand(splat_build *b)
{
    splat_paint paint = splat_build_plain(b, splat_build_between(b, 0, 1), 0.5, 0.5);
    for (int side = -1; side < 2; side += 2)
        for (int foot = -1; foot < 2; foot += 2)
            splat_build_rod(b, SPLAT_PART_THIN, splat_up(0, axle, 0.07 * side), splat_up(0.22 * foot, 0, 0.12 * side),
                            0.008, paint);
    splat_build_box(b, SPLAT_PART_PLAIN, splat_up(0, 0, 0), splat_vec3_make(0.3, 0.006, 0.17), 0, paint);
}

void splat_sample_wheel_init(splat_parts *parts, uint64_t seed)
{
    splat_build b = splat_build_start(parts, seed);
    const splat_vec3 up = {0, -1, 0}, along = {1, 0, 0};
    double angle = splat_build_between(&b, 0, 2 * pi), hue = splat_build_between(&b, 0, 1);
    parts->sky = splat_sky_of_seed(seed);
    parts->light_from_above = splat_vec3_make(0.52, 0.53, 0.56);
    parts->light_from_below = splat_vec3_make(0.38, 0.37, 0.36);
    parts->lights[parts->n_lights++] = (splat_light){
        .place = splat_vec3_normalize(splat_vec3_make(0.7 * cos(angle), -1, 0.7 * sin(angle))), .radius = 0.05,
        .rays = 4, .color = {0.5, 0.48, 0.44}, .is_sun = true};
    splat_build_face(&b, SPLAT_PART_TEXTURED, splat_up(0, 0, 0), up, along, 1.2, 1.2,
                     splat_build_pattern(&b, SPLAT_PAINT_CLOUDS, 8, hue, 0.4, 0.7));
    add_wheel(&b);
    add_stand(&b);
    splat_build_box(&b, SPLAT_PART_TEXTURED, splat_up(-0.7, 0, -0.5), splat_vec3_make(0.12, 0.15, 0.1), 0.5,
                    splat_build_pattern(&b, SPLAT_PAINT_CELLS, 12, hue + 0.4, 0.5, 0.8));
    splat_build_ball(&b, SPLAT_PART_TEXTURED, splat_up(0.7, 0.13, 0.45), 0.13,
                     splat_build_pattern(&b, SPLAT_PAINT_BANDS, 14, hue + 0.7, 0.5, 0.8));
}

/* Three distances by turns, on both sides of the wheel; near cameras look at a part of it. */
void splat_sample_wheel_camera(uint64_t seed, int index, int n, splat_sample_camera *camera)
{
    static const double pixels[3] = {4, 2, 1};
    splat_dice dice = {.seed = seed, .step = SPLAT_SAMPLE_STEP_CAMERAS, .next = 16 * (uint64_t)index};
    double hand[6], along = (index / 3 + 0.5) / fmax(1, (n + 2) / 3);
    const double focal = 0.5 / tan(28.0 * pi / 180.0); /* of the width: 56 degrees across */
    for (int k = 0; k < 6; k++) hand[k] = splat_dice_between(&dice, -1, 1);
    double distance = 2 * spoke * 720 * focal / pixels[index % 3], part = 2 * pi * 5 * along;
    double side = along < 0.5 ? 1 : -1, yaw = 0.75 * sin(4 * pi * along + 1.3 * (index % 3)) + 0.08 * hand[0];
    double pitch = 0.22 + 0.16 * sin(7 * pi * along) + 0.05 * hand[1], reach = 0.2 * (1 - index % 3 / 2.0);
    splat_vec3 target = splat_up(reach * cos(part) + 0.03 * hand[2], axle + 0.05 + reach * sin(part), 0);
    splat_vec3 way = splat_up(sin(yaw) * cos(pitch), sin(pitch), side * cos(yaw) * cos(pitch));
    splat_sample_camera_look(camera, splat_vec3_along(target, way, distance), target);
    splat_sample_camera_roll(camera, 0.05 * hand[3]);
    camera->focal = focal * camera->width;
}
