/* Paints of parts and the light on them. */
#include "sample/sample_light.h"

/* Colours are display values: the pictures are clamp(colour) * 255, as photos from a camera are already encoded. */

splat_vec3 splat_sample_hue(double hue, double saturation, double brightness)
{
    double rgb[3];
    for (int k = 0; k < 3; k++) { /* three humps a third of a turn apart */
        double h = fmod(hue + (3 - k) / 3.0, 1), hump = fmin(fmax(fabs(6 * h - 3) - 1, 0), 1);
        rgb[k] = brightness * (1 - saturation + saturation * hump);
    }
    return splat_vec3_make(rgb[0], rgb[1], rgb[2]);
}

/* ---------------------------------------------------------------- patterns, in local coordinates */

static splat_vec3 clouds(const uint8_t *noise, const splat_paint *paint, splat_vec3 p)
{
    double t = splat_smoothstep(0.38, 0.62, splat_noise_fractal(noise, p, paint->scale));
    splat_vec3 color = splat_vec3_mix(paint->colors[0], paint->colors[1], t);
    return splat_vec3_scale(color, 0.75 + 0.5 * splat_noise_fractal(noise, p, 5 * paint->scale));
}

static splat_vec3 bands(const uint8_t *noise, const splat_paint *paint, splat_vec3 p)
{
    double height = paint->scale * p.y + 1.6 * (splat_noise_fractal(noise, p, 0.6 * paint->scale) - 0.5) + 64;
    int k = (int)floor(height);
    double t = splat_smoothstep(0.6, 0.9, height - k);
    splat_vec3 color = splat_vec3_mix(paint->colors[k % 3], paint->colors[(k + 1) % 3], t);
    return splat_vec3_scale(color, 0.8 + 0.4 * splat_noise_fractal(noise, p, 4 * paint->scale));
}

/* Cells of a grid of cubes, off the planes through the middle, where faces may lie. */
static splat_vec3 cells(const uint8_t *noise, const splat_paint *paint, splat_vec3 p)
{
    double q[3] = {paint->scale * p.x + 0.37, paint->scale * p.y + 0.37, paint->scale * p.z + 0.37};
    int cell[3];
    double edge = 1;
    for (int k = 0; k < 3; k++) {
        cell[k] = (int)floor(q[k]);
        edge = fmin(edge, fmin(q[k] - cell[k], cell[k] + 1 - q[k]));
    }
    double pick = splat_noise_lattice(noise, cell[0] + paint->variant, cell[1], cell[2]);
    splat_vec3 color = paint->colors[(int)fmin(3 * pick, 2)];
    color = splat_vec3_scale(color, 0.75 + 0.5 * splat_noise_fractal(noise, p, 4 * paint->scale));
    return splat_vec3_scale(color, 0.5 + 0.5 * splat_smoothstep(0.02, 0.06, edge));
}

/* Boards along x, each of its own shade and grain, with dark joints. */
static splat_vec3 planks(const uint8_t *noise, const splat_paint *paint, splat_vec3 p)
{
    const double width = 1.0 / paint->scale, length = 9 * width;
    double across = p.z / width + 64;
    int row = (int)floor(across);
    double along = p.x / length + 64 + splat_noise_lattice(noise, row, 5, paint->variant);
    int board = (int)floor(along);
    double shade = 0.75 + 0.4 * splat_noise_lattice(noise, row, board, 9 + paint->variant);
    splat_vec3 grain = {1.6 * p.x + 3.7 * board, 5.1 * row, 14 * p.z};
    splat_vec3 color = splat_vec3_mix(paint->colors[0], paint->colors[1], splat_noise_fractal(noise, grain, 2.0));
    color = splat_vec3_scale(color, shade * (0.8 + 0.4 * splat_noise_fractal(noise, grain, 7.0)));
    double joint = fmin(fmin(across - row, row + 1 - across) * width, fmin(along - board, board + 1 - along) * length);
    return splat_vec3_scale(color, 0.45 + 0.55 * splat_smoothstep(0.002, 0.006, joint));
}

/* A picture: a sky of noise with a disc and hills, lines of writing below, a white margin. */
static splat_vec3 poster(const uint8_t *noise, const splat_part *part, splat_vec3 p)
{
    const splat_paint *paint = &part->paint;
    const splat_vec3 paper = {0.93, 0.92, 0.88}, ink = {0.12, 0.11, 0.13};
    double u = p.x / part->half.x, v = p.y / part->half.y, detail;
    splat_vec3 place = {p.x, p.y, paint->variant};
    if (fmax(fabs(u), fabs(v)) > 0.93) return paper;
    detail = splat_noise_fractal(noise, place, 22.0);
    if (v > 0.55) { /* y points down */
        double line = (v - 0.55) * 13;
        int row = (int)floor(line), word = (int)floor((u + 1) * 9);
        bool is_ink = line - row > 0.45 && splat_noise_lattice(noise, word, row, paint->variant) > 0.3;
        return splat_vec3_scale(is_ink ? ink : paper, 0.85 + 0.3 * detail);
    }
    double x = splat_noise_lattice(noise, paint->variant, 1, 1) - 0.5, hill = 0.25 * sin(3 * u + 9 * x) + 0.1;
    splat_vec3 color = splat_vec3_mix(paint->colors[0], paint->colors[1], 0.5 * (v + 1));
    double disc = (u - x) * (u - x) + (v + 0.35) * (v + 0.35);
    color = splat_vec3_mix(paint->colors[2], color, splat_smoothstep(0.09, 0.1, disc));
    if (v > hill) color = splat_vec3_mix(paint->colors[1], ink, splat_noise_fractal(noise, place, 6.0));
    return splat_vec3_scale(color, 0.6 + 0.8 * detail);
}

static splat_vec3 surface_color(const splat_parts *parts, const splat_parts_hit *hit)
{
    const splat_part *part = &parts->items[hit->part];
    const splat_paint *paint = &part->paint;
    splat_vec3 p = splat_part_to_local(part, splat_vec3_sub(hit->position, part->center));
    switch (paint->pattern) {
    case SPLAT_PAINT_CLOUDS: return clouds(parts->noise, paint, p);
    case SPLAT_PAINT_BANDS: return bands(parts->noise, paint, p);
    case SPLAT_PAINT_CELLS: return cells(parts->noise, paint, p);
    case SPLAT_PAINT_PLANKS: return planks(parts->noise, paint, p);
    case SPLAT_PAINT_POSTER: return poster(parts->noise, part, p);
    case SPLAT_PAINT_THING: return splat_sample_thing_color(part->thing, p);
    default: return paint->colors[0];
    }
}

/* ---------------------------------------------------------------- light */

/* The part of the ambient light that a wall at this distance takes away; the surface does not belong to the wall. */
static double corner(double distance, double facing)
{
    return 1 - 0.3 * exp(-fmax(distance, 0) / 0.35) * (1 - fabs(facing));
}

/* The shade of a room: darker towards its corners, because less light comes back from them. */
static double room_shade(splat_vec3 room, splat_vec3 p, splat_vec3 n)
{
    if (room.x <= 0) return 1;
    return corner(room.x - fabs(p.x), n.x) * corner(room.z - fabs(p.z), n.z) * corner(-p.y, n.y) *
           corner(room.y + p.y, n.y);
}

static double walls_shade(const splat_parts *parts, splat_vec3 p, splat_vec3 n)
{
    double shade = 1;
    for (int i = 0; i < parts->n_walls; i++) {
        const splat_dark_wall *wall = &parts->walls[i];
        shade *= corner(splat_vec3_dot(wall->normal, p) + wall->offset, splat_vec3_dot(wall->normal, n));
    }
    return shade;
}

/* The vector to a point of a light: a spiral over a disc that faces the surface (Vogel 1979). */
static splat_vec3 toward_light(const splat_light *light, splat_vec3 from, int sample, int n_samples)
{
    splat_vec3 offset = light->is_sun ? light->place : splat_vec3_sub(light->place, from);
    if (n_samples < 2) return offset;
    splat_vec3 y = splat_vec3_normalize(offset);
    splat_vec3 x = splat_vec3_normalize(splat_vec3_cross(y, splat_vec3_make(0.3, 0.1, 0.95)));
    double angle = 2.39996322972865332 * sample, r = light->radius * sqrt((sample + 0.5) / n_samples);
    splat_vec3 moved = splat_vec3_along(offset, x, r * cos(angle));
    return splat_vec3_along(moved, splat_vec3_cross(y, x), r * sin(angle));
}

/* Adds the light of one point of a lamp, and its highlight, in `part` of the lamp's strength. */
static void add_light(const splat_parts *parts, const splat_parts_hit *hit, splat_vec3 direction,
                      const splat_light *lamp, splat_vec3 offset, double part, splat_vec3 *light, splat_vec3 *shine)
{
    const splat_paint *paint = &parts->items[hit->part].paint;
    splat_vec3 start = splat_vec3_along(hit->position, hit->normal, 1e-4);
    double distance = sqrt(splat_vec3_dot(offset, offset));
    splat_vec3 toward = splat_vec3_scale(offset, 1 / distance);
    double facing = splat_vec3_dot(toward, hit->normal);
    if (facing <= 0 || splat_parts_is_occluded(parts, start, toward, lamp->is_sun ? 1e9 : distance)) return;
    double strength = (lamp->is_sun ? 1 : 1 / (2 + distance * distance)) * part;
    *light = splat_vec3_along(*light, lamp->color, facing * strength);
    if (paint->gloss <= 0) return;
    splat_vec3 half = splat_vec3_normalize(splat_vec3_sub(toward, direction)); /* Blinn-Phong */
    double power = fmax(splat_vec3_dot(half, hit->normal), 0);
    power *= power, power *= power, power *= power, power *= power, power *= power; /* to the 32nd */
    *shine = splat_vec3_along(*shine, lamp->color, paint->gloss * power * strength);
}

splat_vec3 splat_parts_shade(const splat_parts *parts, const splat_parts_hit *hit, splat_vec3 direction, int sample,
                             int n_samples)
{
    const splat_paint *paint = &parts->items[hit->part].paint;
    if (paint->glows) return paint->colors[0];
    splat_vec3 shine = {0, 0, 0};
    splat_vec3 light = splat_vec3_mix(parts->light_from_below, parts->light_from_above, 0.5 - 0.5 * hit->normal.y);
    light = splat_vec3_scale(light, room_shade(parts->room, hit->position, hit->normal));
    if (parts->n_walls) light = splat_vec3_scale(light, walls_shade(parts, hit->position, hit->normal));
    for (int i = 0; i < parts->n_lights; i++) {
        const splat_light *lamp = &parts->lights[i];
        const int rays = lamp->rays > 0 ? lamp->rays : 1;
        for (int k = 0; k < rays; k++) {
            splat_vec3 offset = toward_light(lamp, hit->position, sample * rays + k, n_samples * rays);
            add_light(parts, hit, direction, lamp, offset, 1.0 / rays, &light, &shine);
        }
    }
    return splat_vec3_add(splat_vec3_mul(surface_color(parts, hit), light), shine);
}

splat_vec3 splat_parts_backdrop(const splat_parts *parts, splat_vec3 p)
{
    const splat_vec3 low = {0.34, 0.36, 0.40}, high = {0.12, 0.15, 0.22};
    double height = fmin(fmax(-p.y / parts->backdrop, 0), 1);
    splat_vec3 color = splat_vec3_mix(low, high, sqrt(height));
    double cloth = splat_noise_fractal(parts->noise, p, 0.45);
    double weave = splat_noise_fractal(parts->noise, splat_vec3_make(p.z, p.x, p.y), 1.7);
    return splat_vec3_scale(color, 0.55 + 0.6 * cloth + 0.35 * weave);
}

/* The colour behind all parts. */
static splat_vec3 behind(const splat_parts *parts, splat_vec3 origin, splat_vec3 direction)
{
    if (parts->sky.kind) return splat_sky_color(&parts->sky, parts->noise, direction);
    if (parts->backdrop <= 0) return splat_vec3_make(0, 0, 0);
    double b = splat_vec3_dot(origin, direction); /* the origin lies inside */
    double c = splat_vec3_dot(origin, origin) - parts->backdrop * parts->backdrop;
    return splat_parts_backdrop(parts, splat_vec3_along(origin, direction, -b + sqrt(b * b - c)));
}

/* Adds what a polished surface reflects (Schlick 1994); what lies there reflects nothing. */
static splat_vec3 add_reflection(const splat_parts *parts, const splat_parts_hit *hit, splat_vec3 direction, int sample,
                                 int n_samples, splat_vec3 color)
{
    double straight = parts->items[hit->part].paint.mirror, facing = fmin(-splat_vec3_dot(direction, hit->normal), 1);
    double part = straight + (1 - straight) * pow(1 - fmax(facing, 0), 5);
    splat_vec3 away = splat_vec3_normalize(splat_vec3_along(direction, hit->normal, 2 * facing));
    splat_vec3 start = splat_vec3_along(hit->position, hit->normal, 1e-4);
    splat_parts_hit other;
    splat_vec3 seen = splat_parts_trace(parts, start, away, &other)
                          ? splat_parts_shade(parts, &other, away, sample, n_samples)
                          : behind(parts, start, away);
    return splat_vec3_mix(color, seen, part);
}

splat_vec3 splat_parts_color(const splat_parts *parts, splat_vec3 origin, splat_vec3 direction, int sample,
                             int n_samples)
{
    splat_parts_hit hit;
    splat_vec3 color;
    if (splat_parts_trace(parts, origin, direction, &hit)) {
        color = splat_parts_shade(parts, &hit, direction, sample, n_samples);
        if (parts->items[hit.part].paint.mirror > 0)
            color = add_reflection(parts, &hit, direction, sample, n_samples, color);
    } else {
        color = behind(parts, origin, direction);
    }
    return splat_vec3_make(fmin(fmax(color.x, 0), 1), fmin(fmax(color.y, 0), 1), fmin(fmax(color.z, 0), 1));
}
