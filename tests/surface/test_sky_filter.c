/* Walls beyond the foreground, and skies that views agree on all the same: photos tell them apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "plane_fixture.h"
#include "surface/extract/extraction.h"
#include "surface/extract/sky_filter.h"
#include "surface/extract/surface_agreed.h"
#include "surface/extract/surface_points.h"
#include "view_maps_fixture.h"

#define W 160
#define H 120
#define FAR 12.0 /* radius of a ball around all cameras */

/* The content of the photos: paint on the ball, clouds without a distance, clouds over half of it, or one colour. */
typedef enum paint_kind { WALL, CLOUDS, HALF, BLANK } paint_kind;

static const splat_surface_boxes boxes = {{-2, -2, -2}, {2, 2, 2}, {-16, -16, -16}, {16, 16, 16}};

/* The intersection of the ray through a place of the picture with a ball around it; its depth. */
static double meet(const splat_camera *c, double x, double y, double radius, float place[3], float direction[3])
{
    double o[3], d[3], a = 0, b = 0, e = -radius * radius;
    for (int k = 0; k < 3; k++) {
        o[k] = (double)c->center[k];
        d[k] = (x - (double)c->cx) / (double)c->fx * (double)c->rotation[k] +
               (y - (double)c->cy) / (double)c->fy * (double)c->rotation[3 + k] + (double)c->rotation[6 + k];
        a += d[k] * d[k];
        b += d[k] * o[k];
        e += o[k] * o[k];
    }
    double t = (-b + sqrt(b * b - a * e)) / a;
    for (int k = 0; k < 3; k++) {
        place[k] = (float)(o[k] + t * d[k]);
        direction[k] = (float)(d[k] / sqrt(a));
    }
    return t;
}

static uint8_t gray_at(const splat_camera *c, double x, double y, paint_kind paint)
{
    float place[3], direction[3];
    meet(c, x, y, FAR, place, direction);
    for (int k = 0; k < 3; k++) direction[k] *= (float)FAR;
    bool is_cloud = paint == CLOUDS || (paint == HALF && place[0] > 0);
    return paint == BLANK ? 90 : (uint8_t)(128 + 60 * room_noise(is_cloud ? direction : place, 1));
}

/* Views inwards, all of whose pixels lie at `radius`, on no plane; the render is rough. */
static splat_view_maps make_far(double radius, paint_kind paint)
{
    splat_view_maps maps;
    splat_camera cameras[N_AROUND];
    splat_error error;
    for (size_t i = 0; i < N_AROUND; i++) {
        double angle = 2 * 3.14159265358979 * (double)i / N_AROUND;
        const double from[3] = {3.5 * cos(angle), 3.5 * sin(angle), 1.6}, middle[3] = {0, 0, 1.8};
        cameras[i] = look_at(from, middle, W, H);
    }
    must(splat_view_maps_init(&maps, N_AROUND, cameras, &error), &error);
    for (size_t v = 0; v < maps.n; v++) {
        splat_view_map *map = &maps.views[v];
        map->gray = malloc(W / 2 * (H / 2));
        for (size_t i = 0; i < W * H; i++) {
            float place[3], direction[3];
            double normal[3], z = meet(&map->camera, (double)(i % W) + 0.5, (double)(i / W) + 0.5, radius, place,
                                       direction);
            for (int k = 0; k < 3; k++) normal[k] = -(double)place[k] / radius;
            set_pixel(map, i, z, normal, (uint8_t)(97 * i * i >> 3));
            map->alpha[i] = 253;
        }
        for (size_t i = 0; i < W / 2 * (H / 2); i++)
            map->gray[i] = gray_at(&map->camera, 2 * (double)(i % (W / 2)) + 1, 2 * (double)(i / (W / 2)) + 1, paint);
    }
    splat_view_maps_find_neighbors(&maps, 2);
    return maps;
}

/* Parts of the pixels of every opinion. */
static void ask(const char *what, const splat_view_maps *maps, double parts[3])
{
    double n = 0;
    parts[0] = parts[1] = parts[2] = 0;
    for (size_t v = 0; v < maps->n; v++)
        for (size_t i = v; i < W * H; i += 37) {
            parts[splat_sky_compare_photos(maps, v, i)]++;
            n++;
        }
    for (int k = 0; k < 3; k++) parts[k] /= n;
    print_message("%s: surface %.3f, nothing %.3f of the pixels\n", what, parts[SPLAT_SKY_SURFACE],
                  parts[SPLAT_SKY_EMPTY]);
}

static void photos_tell_a_wall_from_a_sky(void **state)
{
    (void)state;
    const struct {
        const char *what;
        double radius;
        paint_kind paint;
        splat_sky_opinion opinion;
    } cases[] = {{"wall", FAR, WALL, SPLAT_SKY_SURFACE},
                 {"wall, taken for nearer", 0.45 * FAR, WALL, SPLAT_SKY_EMPTY},
                 {"clouds, taken for a wall", FAR, CLOUDS, SPLAT_SKY_EMPTY},
                 {"one colour", FAR, BLANK, SPLAT_SKY_SILENT}};
    double parts[3];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        splat_view_maps maps = make_far(cases[i].radius, cases[i].paint);
        ask(cases[i].what, &maps, parts);
        assert_true(parts[cases[i].opinion] > 0.5); /* near the picture's rim neighbours see no patch */
        assert_true(parts[cases[i].opinion] > 0.75 * (1 - parts[SPLAT_SKY_SILENT])); /* two patches may be similar */
        for (size_t v = 0; v < maps.n; v++) {
            free(maps.views[v].gray);
            maps.views[v].gray = NULL;
        }
        ask("the same without photos", &maps, parts);
        assert_true(parts[SPLAT_SKY_SILENT] == 1);
        splat_view_maps_free(&maps);
    }
}

/* Points on the ball, where x is above `least`. */
static size_t count(const splat_view_maps *maps, bool remove_sky, double least)
{
    splat_surface_points points;
    splat_surface_agreed agreed;
    splat_mesh_extract_options o;
    splat_error error;
    size_t n = 0;
    splat_mesh_extract_options_init(&o);
    o.points = SPLAT_MESH_POINTS_VIEWS;
    o.poisson_depth = 7;
    o.remove_sky = remove_sky;
    must(splat_surface_points_make(&points, 200000, &error), &error);
    must(splat_surface_points_weigh(&points, &error), &error);
    must(splat_surface_agree(maps, &boxes, &o, 2, &points, &agreed, &error), &error);
    for (size_t i = 0; i < points.n; i++) n += (double)points.positions[3 * i] > least;
    splat_surface_points_free(&points);
    return n;
}

static void what_photos_contradict_makes_no_surface(void **state)
{
    (void)state;
    splat_view_maps wall = make_far(FAR, WALL), clouds = make_far(FAR, CLOUDS), half = make_far(FAR, HALF);
    size_t all = count(&wall, false, -20), n_wall = count(&wall, true, -20), n_clouds = count(&clouds, true, -20);
    size_t n_half = count(&half, true, -20), n_beyond = count(&half, true, 3);
    print_message("points: %zu; wall %zu, clouds %zu, both %zu, %zu of them among clouds\n", all, n_wall, n_clouds,
                  n_half, n_beyond);
    assert_true(all > 1000 && n_wall == all);
    assert_true(n_clouds * 20 < all && n_beyond * 20 < all); /* where no photo sees enough around, nothing is known */
    assert_true(n_half * 10 > all * 4 && n_half * 10 < all * 6);
    for (size_t v = 0; v < clouds.n; v++) memset(clouds.views[v].alpha, SPLAT_VIEW_MAP_PLANE, W * H);
    assert_int_equal(count(&clouds, true, -20), all); /* a plane is not asked */
    splat_view_maps_free(&wall);
    splat_view_maps_free(&clouds);
    splat_view_maps_free(&half);
}

static void threads_do_not_change_a_cell(void **state)
{
    (void)state;
    splat_view_maps half = make_far(FAR, HALF);
    splat_sky_cells sky[2];
    splat_error error;
    for (int i = 0; i < 2; i++) must(splat_sky_cells_find(&half, &boxes, i ? 3 : 1, &sky[i], &error), &error);
    assert_true(sky[0].n_surface > 100 && sky[0].n_empty > 100);
    assert_int_equal(sky[0].n_surface, sky[1].n_surface);
    assert_int_equal(sky[0].n_empty, sky[1].n_empty);
    assert_memory_equal(sky[0].is_empty, sky[1].is_empty, (size_t)SPLAT_SKY_CELLS * SPLAT_SKY_CELLS * SPLAT_SKY_CELLS);
    assert_false(splat_sky_cells_are_empty_at(&sky[0], (const float[3]){17, 0, 0})); /* outside of the box */
    for (int i = 0; i < 2; i++) splat_sky_cells_free(&sky[i]);
    splat_view_maps_free(&half);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(photos_tell_a_wall_from_a_sky),
        cmocka_unit_test(what_photos_contradict_makes_no_surface),
        cmocka_unit_test(threads_do_not_change_a_cell),
    };
    return cmocka_run_group_tests_name("sky", tests, NULL, NULL);
}
