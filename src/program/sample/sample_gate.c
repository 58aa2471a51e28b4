/* Gates: what stands on the ground, in which paint, and the cameras. */
#include "sample/sample_gate.h"

#include "sample/sample_build.h"
#include "sample/sample_light.h"

static const double pi = 3.14159265358979323846;
static const double half_ground = 2.5;

/* A place `along` a gate's plane from its foot, `up` above the ground. */
typedef struct gate {
    double x, z, turn;
} gate;

static splat_vec3 on_gate(const gate *g, double along, double up)
{
    return splat_up(g->x + along * cos(g->turn), up, g->z + along * sin(g->turn));
}

static void add_rod(splat_build *b, const gate *g, double x0, double up0, double x1, double up1, double radius,
                    splat_paint paint)
{
    splat_build_rod(b, SPLAT_PART_THIN, on_gate(g, x0, up0), on_gate(g, x1, up1), radius, paint);
}

/* Half a ring of straight pieces. */
static void add_arch(splat_build *b, const gate *g, double up, double ring, double radius, splat_paint paint)
{
    enum { PIECES = 20 };
    for (int i = 0; i < PIECES; i++) {
        double a = pi * i / PIECES, c = pi * (i + 1) / PIECES;
        add_rod(b, g, ring * cos(a), up + ring * sin(a), ring * cos(c), up + ring * sin(c), radius, paint);
    }
}

/* Three rods with nothing between them. */
static void add_three_rods(splat_build *b, const gate *g)
{
    double high = splat_build_between(b, 1.5, 1.8), step = splat_build_between(b, 0.4, 0.5);
    splat_paint paint = splat_build_plain(b, splat_build_between(b, 0, 1), 0.5, 0.55);
    for (int i = -1; i < 2; i++) add_rod(b, g, i * step, 0, i * step, high, 0.014, paint);
    add_rod(b, g, -step - 0.15, high - 0.2, step + 0.15, high - 0.2, 0.014, paint);
}

/* Rods between two pillars, under an arch. */
static void add_grille(splat_build *b, const gate *g)
{
    enum { RODS = 7 };
    double half = splat_build_between(b, 0.55, 0.65), high = splat_build_between(b, 1.0, 1.2);
    splat_paint stone = splat_build_pattern(b, SPLAT_PAINT_CELLS, 7, 0.07, 0.3, 0.65);
    splat_paint iron = splat_build_plain(b, 0.6, 0.15, 0.25);
    for (int side = -1; side < 2; side += 2)
        splat_build_box(b, SPLAT_PART_TEXTURED, on_gate(g, side * (half + 0.12), 0),
                        splat_vec3_make(0.12, 0.5 * high + 0.06, 0.12), g->turn, stone);
    for (int i = 0; i < RODS; i++) {
        double along = half * (2.0 * (i + 1) / (RODS + 1) - 1);
        add_rod(b, g, along, 0.08, along, high + sqrt(half * half - along * along), 0.008, iron);
    }
    add_rod(b, g, -half, 0.12, half, 0.12, 0.012, iron);
    add_rod(b, g, -half, high, half, high, 0.012, iron);
    add_arch(b, g, high, half, 0.014, iron);
}

/* Two arches in one plane, on posts. */
static void add_arches(splat_build *b, const gate *g)
{
    double ring = splat_build_between(b, 0.42, 0.5), high = splat_build_between(b, 0.6, 0.8);
    splat_paint paint = splat_build_plain(b, splat_build_between(b, 0, 1), 0.15, 0.85);
    for (int i = -1; i < 2; i++) add_rod(b, g, 2 * ring * i, 0, 2 * ring * i, high, 0.03, paint);
    for (int side = -1; side < 2; side += 2) {
        gate half = *g;
        half.x += side * ring * cos(g->turn);
        half.z += side * ring * sin(g->turn);
        add_arch(b, &half, high, ring, 0.03, paint);
    }
}

static void add_things(splat_build *b)
{
    double hue = splat_build_between(b, 0, 1);
    splat_build_ball(b, SPLAT_PART_TEXTURED, splat_up(1.3, 0.3, -1.3), 0.3,
                     splat_build_pattern(b, SPLAT_PAINT_BANDS, 9, hue, 0.6, 0.8));
    splat_build_box(b, SPLAT_PART_PLAIN, splat_up(-1.5, 0, -1.4), splat_vec3_make(0.3, 0.25, 0.25),
                    splat_build_between(b, 0, pi), splat_build_plain(b, hue + 0.3, 0.4, 0.75));
    splat_build_rod(b, SPLAT_PART_CURVED, splat_up(1.6, 0, 1.5), splat_up(1.6, 0.7, 1.5), 0.2,
                    splat_build_plain(b, hue + 0.6, 0.4, 0.75));
    splat_build_box(b, SPLAT_PART_TEXTURED, splat_up(-1.6, 0, 1.5), splat_vec3_make(0.28, 0.35, 0.22),
                    splat_build_between(b, 0, pi), splat_build_pattern(b, SPLAT_PAINT_CLOUDS, 8, hue + 0.5, 0.5, 0.8));
}

static void add_lights(splat_build *b)
{
    static const double sky[3] = {0.66, 0.48, 0.56}, ground[3] = {0.42, 0.34, 0.38}, sun[3] = {0.3, 0.62, 0.42};
    static const double soft[3] = {0.3, 0.05, 0.12};
    splat_parts *parts = b->parts;
    int kind = parts->sky.kind - SPLAT_SKY_OVERCAST;
    double angle = splat_build_between(b, 0, 2 * pi);
    parts->light_from_above = splat_vec3_make(sky[kind], sky[kind], 1.04 * sky[kind]);
    parts->light_from_below = splat_vec3_make(ground[kind], ground[kind], 0.97 * ground[kind]);
    parts->lights[parts->n_lights++] = (splat_light){
        .place = splat_vec3_normalize(splat_vec3_make(0.8 * cos(angle), -1, 0.8 * sin(angle))), .radius = soft[kind],
        .rays = 6, .color = {sun[kind], 0.97 * sun[kind], 0.9 * sun[kind]}, .is_sun = true};
}

void splat_sample_gate_init(splat_parts *parts, uint64_t seed)
{
    splat_build b = splat_build_start(parts, seed);
    const splat_vec3 up = {0, -1, 0}, along = {1, 0, 0};
    parts->sky = splat_sky_of_seed(seed);
    add_lights(&b);
    splat_paint ground = splat_build_plain(&b, splat_build_between(&b, 0.05, 0.3), 0.2, 0.66);
    splat_build_face(&b, SPLAT_PART_PLAIN, splat_up(0, 0, 0), up, along, half_ground, half_ground, ground);
    gate first = {0.1, 0, splat_build_between(&b, -0.2, 0.2)};
    gate second = {-0.1, -1.5, splat_build_between(&b, -0.3, 0.3)};
    gate third = {0.1, 1.5, splat_build_between(&b, -0.3, 0.3)};
    add_grille(&b, &first);
    add_three_rods(&b, &second);
    add_arches(&b, &third);
    add_things(&b);
}

/* Two rings; every third camera of the lower one looks up, past the things. */
void splat_sample_gate_camera(uint64_t seed, int index, int n, splat_sample_camera *camera)
{
    splat_dice dice = {.seed = seed, .step = SPLAT_SAMPLE_STEP_CAMERAS, .next = 16 * (uint64_t)index};
    int n_low = (2 * n + 2) / 3, high = index >= n_low, place = high ? index - n_low : index;
    double hand[6];
    for (int k = 0; k < 6; k++) hand[k] = splat_dice_between(&dice, -1, 1);
    double angle = 2 * pi * (place + 0.5 * high + 0.2 * hand[0]) / (high ? n - n_low : n_low);
    double radius = (high ? 3.1 : 3.7) + 0.15 * sin(3 * angle) + 0.08 * hand[1];
    double up = (high ? 2.2 : 1.0) + 0.1 * hand[2];
    double at = high ? 0.3 : place % 3 ? 0.6 : 1.3;
    splat_sample_camera_look(camera, splat_up(radius * cos(angle), up, radius * sin(angle)),
                             splat_up(0.25 * hand[3], at + 0.1 * hand[4], 0.25 * hand[5]));
    camera->focal = 0.5 * camera->width / tan(29.0 * pi / 180.0); /* 58 degrees across */
}
