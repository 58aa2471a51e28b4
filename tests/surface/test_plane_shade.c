/* Plain surfaces by their shading: a round plain wall, photos of different light, smooth surfaces through places. */
#include "plane_fixture.h"
#include "surface/planes/plane_choose.h"
#include "surface/planes/plane_gains.h"
#include "surface/planes/plane_segments.h"
#include "surface/planes/plane_smooth.h"

#define PI 3.14159265358979323846

enum { N_VIEWS = 20, WIDTH = 200, HEIGHT = 150 };

/* A round room of radius 2 and height 2.4 under a smooth light; floor and ceiling have texture. */
static void trace(const splat_camera *c, float x, float y, room_hit *hit, float rgb[3])
{
    float d[3], a = 0, b = 0, e = -4;
    for (int k = 0; k < 3; k++)
        d[k] = c->rotation[k] * (x - c->cx) / c->fx + c->rotation[3 + k] * (y - c->cy) / c->fy + c->rotation[6 + k];
    for (int k = 0; k < 2; k++) {
        a += d[k] * d[k];
        b += d[k] * c->center[k];
        e += c->center[k] * c->center[k];
    }
    float wall = (-b + sqrtf(b * b - a * e)) / a, flat = ((d[2] < 0 ? 0 : 2.4f) - c->center[2]) / d[2];
    *hit = (room_hit){.z = fminf(wall, flat), .kind = wall < flat ? ROOM_WALL : ROOM_FLOOR};
    for (int k = 0; k < 3; k++) hit->point[k] = c->center[k] + hit->z * d[k];
    const float *p = hit->point;
    if (hit->kind == ROOM_WALL)
        for (int k = 0; k < 2; k++) hit->normal[k] = -p[k];
    else
        hit->normal[2] = p[2] < 1 ? 1 : -1;
    float grain = hit->kind == ROOM_WALL ? 0 : 0.3f * room_noise(p, 0.06f) + 0.3f * room_noise(p, 0.17f);
    for (int k = 0; k < 3; k++) rgb[k] = (0.5f + 0.1f * sinf(1.3f * p[0] + 0.4f * p[2]) + 0.07f * p[1] + 0.05f * p[2]) *
                                         (1 + grain) * (1 - 0.05f * (float)k);
}

/* A square room of the same size whose walls are plain, with columns before them that are as bright. */
static void trace_columns(const splat_camera *c, float x, float y, room_hit *hit, float rgb[3])
{
    float d[3];
    for (int k = 0; k < 3; k++)
        d[k] = c->rotation[k] * (x - c->cx) / c->fx + c->rotation[3 + k] * (y - c->cy) / c->fy + c->rotation[6 + k];
    float flat = ((d[2] < 0 ? 0 : 2.4f) - c->center[2]) / d[2];
    *hit = (room_hit){.z = flat, .kind = ROOM_FLOOR, .normal = {0, 0, d[2] < 0 ? 1 : -1}};
    for (int k = 0; k < 2; k++) {
        float z = ((d[k] < 0 ? -2.0f : 2.0f) - c->center[k]) / d[k];
        if (z >= hit->z) continue;
        *hit = (room_hit){.z = z, .kind = ROOM_WALL};
        hit->normal[k] = d[k] < 0 ? 1 : -1;
    }
    for (int i = 0; i < 4; i++) {
        const float from[2] = {c->center[0] - (float[]){1.55f, 0, -1.55f, 0}[i],
                               c->center[1] - (float[]){0, 1.55f, 0, -1.55f}[i]};
        float a = d[0] * d[0] + d[1] * d[1], b = d[0] * from[0] + d[1] * from[1];
        float e = b * b - a * (from[0] * from[0] + from[1] * from[1] - 0.15f * 0.15f), z = (-b - sqrtf(e)) / a;
        if (!(e > 0 && z > 0 && z < hit->z)) continue;
        *hit = (room_hit){.z = z, .kind = ROOM_COLUMN};
        for (int k = 0; k < 2; k++) hit->normal[k] = (from[k] + z * d[k]) / 0.15f;
    }
    for (int k = 0; k < 3; k++) hit->point[k] = c->center[k] + hit->z * d[k];
    const float *p = hit->point;
    float grain = hit->kind == ROOM_FLOOR ? 0.3f * room_noise(p, 0.06f) + 0.3f * room_noise(p, 0.17f) : 0;
    for (int k = 0; k < 3; k++) rgb[k] = (0.5f + 0.1f * sinf(2 * p[0] + 0.4f * p[2]) + 0.1f * sinf(2 * p[1])) *
                                         (1 + grain) * (1 - 0.05f * (float)k);
}

typedef void (*tracer)(const splat_camera *c, float x, float y, room_hit *hit, float rgb[3]);

/* The splat's depth of the wall is wrong by a tenth. gains[N_VIEWS]: of the photos; NULL: 1. */
static void room_of(tracer trace_ray, room *r, const float *gains)
{
    splat_error error;
    splat_camera cameras[N_VIEWS];
    for (int i = 0; i < N_VIEWS; i++) {
        double a = 4 * PI * i / N_VIEWS, far = i % 2 ? 1 : 0.5, turn = a + (i % 3 ? 2.6 : 0.5);
        const double from[3] = {far * cos(a), far * sin(a), 1.2 + 0.3 * sin(3 * a)};
        const double to[3] = {from[0] + cos(turn), from[1] + sin(turn), 1.2};
        cameras[i] = room_camera(from, to, WIDTH, HEIGHT, 130);
    }
    *r = (room){.photos = calloc(N_VIEWS, sizeof *r->photos), .hits = calloc(N_VIEWS, sizeof *r->hits)};
    must(splat_view_maps_init(&r->maps, N_VIEWS, cameras, &error), &error);
    for (int v = 0; v < N_VIEWS; v++) {
        r->photos[v] = malloc(3 * WIDTH * HEIGHT);
        r->hits[v] = malloc(WIDTH * HEIGHT * sizeof **r->hits);
        for (int p = 0; p < WIDTH * HEIGHT; p++) {
            float rgb[3];
            room_hit *hit = &r->hits[v][p];
            trace_ray(&cameras[v], (float)(p % WIDTH) + 0.5f, (float)(p / WIDTH) + 0.5f, hit, rgb);
            for (int k = 0; k < 3; k++)
                r->photos[v][3 * p + k] = (uint8_t)(255 * fminf(rgb[k] * (gains ? gains[v] : 1), 1) + 0.5f);
            float wrong = 0.9f + 0.05f * room_noise(hit->point, 0.5f);
            r->maps.views[v].depth[p] = hit->z * (hit->kind == ROOM_WALL ? wrong : 1);
            r->maps.views[v].alpha[p] = 255;
            splat_normal_encode(hit->normal, r->maps.views[v].normal + 2 * p);
        }
    }
}

static void round_room_make(room *r, const float *gains)
{
    room_of(trace, r, gains);
}

/* The part of the wall's pixels whose depth is right to 1 %. */
static double part_right(const room *r)
{
    size_t n = 0, n_right = 0;
    for (int v = 0; v < N_VIEWS; v++)
        for (int p = 0; p < WIDTH * HEIGHT; p++) {
            const room_hit *hit = &r->hits[v][p];
            n += hit->kind == ROOM_WALL;
            n_right += hit->kind == ROOM_WALL && fabsf(r->maps.views[v].depth[p] - hit->z) < 0.01f * hit->z;
        }
    return (double)n_right / (double)n;
}

/* Labels every wall with its plane, and the columns with that of the wall behind them. */
static void label_walls(const splat_camera *c, const room_hit *hits, plane_view *view)
{
    view->labels = calloc(WIDTH * HEIGHT, sizeof *view->labels);
    view->segments = calloc(4, sizeof *view->segments);
    view->n_segments = 4;
    for (uint16_t i = 0; i < 4; i++)
        view->segments[i] = (plane_segment){.n_planes = 1, .n_strong = 1, .planes = {i}, .tolerance = 0.01f};
    for (int p = 0; p < WIDTH * HEIGHT; p++) {
        double ray[3], nearest = INFINITY;
        int wall = 0;
        if (hits[p].kind == ROOM_FLOOR) continue;
        plane_ray(c, p % WIDTH + 0.5, p / WIDTH + 0.5, ray);
        for (int k = 0; k < 2; k++) {
            double z = ((ray[k] < 0 ? -2 : 2) - (double)c->center[k]) / ray[k];
            if (z < nearest) wall = 2 * k + (ray[k] < 0);
            nearest = fmin(nearest, z);
        }
        view->labels[p] = (uint16_t)((wall + 1) | 1 << PLANE_LABEL_SHIFT);
        view->segments[wall].n_pixels++;
    }
}

static void a_wall_does_not_take_the_columns_before_it(void **state)
{
    (void)state;
    plane_view views[N_VIEWS] = {0};
    plane_global walls[4] = {0};
    splat_error error;
    room r;
    size_t n_walls = 0, n_columns = 0, n_kept = 0, n_left = 0;
    room_of(trace_columns, &r, NULL);
    for (int i = 0; i < 4; i++) {
        walls[i] = (plane_global){.fit.offset = -2, .low = {-3, -3}, .high = {3, 3}, .cell = 1, .n_cells = {6, 6}};
        walls[i].fit.normal[i / 2] = i % 2 ? 1 : -1;
        walls[i].fit.axes[0][1 - i / 2] = walls[i].fit.axes[1][2] = 1;
        walls[i].fit.centroid[i / 2] = i % 2 ? -2 : 2;
    }
    for (int v = 0; v < N_VIEWS; v++) {
        label_walls(&r.maps.views[v].camera, r.hits[v], &views[v]);
        must(plane_shade_make(&r.maps.views[v].camera, r.photos[v], &views[v], &error), &error);
        must(plane_shade_hide(&r.maps.views[v], &views[v], &error), &error);
        plane_shade_even(&views[v], (const float[3]){1, 1, 1});
    }
    const plane_shade shade = {&r.maps, views};
    for (int v = 0; v < N_VIEWS; v++) {
        must(plane_choose(&shade, walls, 4, 0.1f, (uint32_t)v, &error), &error);
        for (int p = 0; p < WIDTH * HEIGHT; p++) {
            plane_slant slant;
            uint16_t plane;
            if (!views[v].labels[p]) continue;
            int choice = plane_choice_at(&r.maps.views[v].camera, &views[v], (size_t)p, &slant, &plane);
            bool is_wall = r.hits[v][p].kind == ROOM_WALL;
            n_walls += is_wall;
            n_columns += !is_wall;
            n_kept += is_wall && choice <= PLANE_CHOICE_KEEP;
            n_left += !is_wall && choice > PLANE_CHOICE_KEEP;
        }
    }
    print_message("walls on planes: %.3f; columns off them: %.3f\n", (double)n_kept / (double)n_walls,
                  (double)n_left / (double)n_columns);
    /* of most sides of the columns too few of the views tell */
    assert_true((double)n_kept > 0.95 * (double)n_walls && (double)n_left > 0.12 * (double)n_columns);
    for (int v = 0; v < N_VIEWS; v++) plane_view_free(&views[v]);
    room_free(&r);
}

static void a_round_plain_wall_is_found(void **state)
{
    (void)state;
    room r;
    round_room_make(&r, NULL);
    double before = part_right(&r);
    splat_planes_info info = room_find_planes(&r);
    print_message("wall within 1 %%: %.3f before, %.3f after\n", before, part_right(&r));
    assert_true(before < 0.1 && part_right(&r) > 0.7);
    assert_true(info.n_smooth > info.n_plain / 2);
    splat_planes_info_free(&info);
    room_free(&r);
}

/* The splat's depth: exact, or that of the plain wall wrong by a tenth. Returns the largest deviation of what is
 * compared from the mean of the views, in which all photos have the same light. */
static double light_after_gains(bool is_exact)
{
    float gains[N_VIEWS];
    double parts[N_VIEWS], mean = 0, most = 0;
    splat_error error;
    room r;
    for (int v = 0; v < N_VIEWS; v++) gains[v] = 0.8f + 0.3f * (float)((7 * v) % N_VIEWS) / N_VIEWS;
    round_room_make(&r, gains);
    plane_view *views = calloc(N_VIEWS, sizeof *views);
    for (int v = 0; v < N_VIEWS; v++) {
        views[v].labels = calloc(WIDTH * HEIGHT, sizeof *views[v].labels);
        for (int p = 0; p < WIDTH * HEIGHT; p++) {
            if (is_exact) r.maps.views[v].depth[p] = r.hits[v][p].z;
            else views[v].labels[p] = r.hits[v][p].kind == ROOM_WALL; /* plain, and on no plane */
        }
        must(plane_shade_make(&r.maps.views[v].camera, r.photos[v], &views[v], &error), &error);
        must(plane_shade_hide(&r.maps.views[v], &views[v], &error), &error);
    }
    const plane_shade shade = {&r.maps, views};
    bool are_equal = true;
    must(plane_gains_apply(&shade, NULL, 2, views, &are_equal, &error), &error);
    assert_false(are_equal);
    for (int v = 0; v < N_VIEWS; v++) {
        size_t n = (size_t)views[v].shade_width * (size_t)views[v].shade_height;
        double now = 0, before = 0;
        for (size_t i = 0; i < n; i++) {
            now += (double)views[v].shade[i];
            for (size_t k = 1; k < 4; k++) before += (double)views[v].shade[k * n + i] / 3;
        }
        parts[v] = log(now / before * (double)gains[v]);
        mean += parts[v] / N_VIEWS;
        plane_view_free(&views[v]);
    }
    for (int v = 0; v < N_VIEWS; v++) most = fmax(most, fabs(parts[v] - mean));
    free(views);
    room_free(&r);
    return most;
}

static void photos_of_other_exposure_are_made_equal(void **state)
{
    (void)state;
    double most = light_after_gains(true);
    print_message("light of the photos differs by %.5f\n", most);
    assert_true(most < 5e-4);
}

static void depth_that_is_wrong_on_plain_walls_tells_gains(void **state)
{
    (void)state;
    double most = light_after_gains(false);
    print_message("light of the photos differs by %.5f\n", most);
    assert_true(most < 0.02);
}

/* Places of an affine inverse depth, of which every tenth lies. */
static void a_smooth_surface_through_a_plane_is_the_plane(void **state)
{
    (void)state;
    enum { SIDE = 96, N = 200 };
    splat_error error;
    splat_camera camera = {.width = SIDE, .height = SIDE, .fx = 80, .fy = 80, .cx = 48, .cy = 48};
    plane_view view = {.labels = malloc(SIDE * SIDE * sizeof *view.labels), .shade_side = 1};
    plane_known known[N];
    plane_smooth s;
    bool is_fitted;
    const int box[4] = {0, 0, SIDE - 1, SIDE - 1};
    for (int p = 0; p < SIDE * SIDE; p++) view.labels[p] = 1;
    for (int k = 0; k < N; k++) {
        float x = (float)(37 * k % 89) + 3, y = (float)(53 * k % 83) + 4;
        known[k] = (plane_known){x, y, 0.5f + 0.002f * x - 0.001f * y, 0.01f};
        if (k % 10 == 0) known[k].q *= 1.3f;
    }
    must(plane_smooth_make(&camera, &view, 0, box, &s, &error), &error);
    must(plane_smooth_fit(&s, known, N, &is_fitted, &error), &error);
    assert_true(is_fitted);
    for (float y = 8; y < 88; y += 8)
        for (float x = 8; x < 88; x += 8) {
            plane_slant slant;
            assert_true(plane_smooth_at(&s, x, y, &slant));
            assert_true(fabsf(slant.q - (0.5f + 0.002f * x - 0.001f * y)) < 0.015f * slant.q);
        }
    must(plane_smooth_fit(&s, known, 3, &is_fitted, &error), &error);
    assert_false(is_fitted); /* three places say too little */
    plane_smooth_free(&s);
    free(view.labels);
}

/* A picture that is lower than one pixel of its small photo. */
static void strips_have_what_hides(void **state)
{
    (void)state;
    enum { STRIP = 720 };
    splat_error error;
    plane_view view = {0};
    float depth[2 * STRIP];
    uint8_t *rgb = calloc(3 * 2 * STRIP, 1);
    splat_view_map map = {.camera.width = STRIP, .camera.height = 2, .depth = depth};
    view.labels = calloc(2 * STRIP, sizeof *view.labels);
    for (int p = 0; p < 2 * STRIP; p++) depth[p] = p < STRIP ? 1 : 2;
    must(plane_shade_make(&map.camera, rgb, &view, &error), &error);
    must(plane_shade_hide(&map, &view, &error), &error);
    assert_int_equal(view.shade_height, 1);
    for (int x = 0; x < view.shade_width; x++) assert_true(view.hiding[x] == 2);
    free(rgb);
    plane_view_free(&view);
}

enum { N_ROW = 72, ROW_WIDTH = 96, ROW_HEIGHT = 80 };

/* The x of a camera of a row; NAN: it looks away. */
typedef float (*row_function)(int number);

/* Residuals of the middle of the first photo at the depth of a plain wall, 5, and at 4. */
static void residuals_of_row(row_function place_of, float residuals[2])
{
    const float q[2] = {1 / 5.0f, 1 / 4.0f}, gains[3] = {1, 1, 1};
    splat_camera cameras[N_ROW];
    splat_view_maps maps;
    plane_view views[N_ROW] = {0};
    splat_error error;
    uint8_t *rgb = malloc(3 * ROW_WIDTH * ROW_HEIGHT);
    for (int v = 0; v < N_ROW; v++) {
        const float x = place_of(v), ahead = isnan(x) ? -1 : 1;
        cameras[v] = (splat_camera){.width = ROW_WIDTH, .height = ROW_HEIGHT, .fx = 100, .fy = 100,
                                    .cx = 0.5f * ROW_WIDTH, .cy = 0.5f * ROW_HEIGHT, .center = {isnan(x) ? 0 : x},
                                    .rotation = {ahead, 0, 0, 0, 1, 0, 0, 0, ahead}};
    }
    must(splat_view_maps_init(&maps, N_ROW, cameras, &error), &error);
    for (int v = 0; v < N_ROW; v++) {
        for (int p = 0; p < ROW_WIDTH * ROW_HEIGHT; p++) {
            float place[3];
            splat_camera_unproject(&cameras[v], (float)(p % ROW_WIDTH) + 0.5f, (float)(p / ROW_WIDTH) + 0.5f, 5, place);
            for (int k = 0; k < 3; k++) rgb[3 * p + k] = (uint8_t)(120 + 60 * sinf(4 * place[0]));
        }
        views[v].labels = calloc(ROW_WIDTH * ROW_HEIGHT, sizeof *views[v].labels);
        memset(views[v].labels, 1, ROW_WIDTH * ROW_HEIGHT * sizeof *views[v].labels);
        must(plane_shade_make(&cameras[v], rgb, &views[v], &error), &error);
        must(plane_shade_hide(&maps.views[v], &views[v], &error), &error);
        plane_shade_even(&views[v], gains);
    }
    const plane_shade shade = {&maps, views};
    plane_shade_residuals_along(&shade, 0, 0.5f * ROW_WIDTH, 0.5f * ROW_HEIGHT, q, 2, residuals);
    print_message("residuals: %.3f, %.3f\n", (double)residuals[0], (double)residuals[1]);
    for (int v = 0; v < N_ROW; v++) plane_view_free(&views[v]);
    splat_view_maps_free(&maps);
    free(rgb);
}

/* A path that begins with many photos of one place. */
static float stay_then_walk(int number)
{
    return number < 24 ? 0.0005f * (float)number : 0.02f * (float)(number - 24);
}

static float look_away_by_turns(int number)
{
    return number % 2 || number == 0 ? 0.015f * (float)number : NAN;
}

/* More views see the place than count. */
static void those_that_stand_together_do_not_decide(void **state)
{
    float residuals[2];
    (void)state;
    residuals_of_row(stay_then_walk, residuals);
    assert_true(residuals[0] < 0.5f && residuals[1] > 4 * residuals[0] && residuals[1] > 1);
}

/* No second view is left out if there are at most 127. */
static void all_of_seventy_are_asked(void **state)
{
    float residuals[2];
    (void)state;
    residuals_of_row(look_away_by_turns, residuals);
    assert_true(residuals[0] < 0.5f && residuals[1] > 1 && residuals[1] < INFINITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strips_have_what_hides),
        cmocka_unit_test(a_round_plain_wall_is_found),
        cmocka_unit_test(a_wall_does_not_take_the_columns_before_it),
        cmocka_unit_test(photos_of_other_exposure_are_made_equal),
        cmocka_unit_test(depth_that_is_wrong_on_plain_walls_tells_gains),
        cmocka_unit_test(a_smooth_surface_through_a_plane_is_the_plane),
        cmocka_unit_test(those_that_stand_together_do_not_decide),
        cmocka_unit_test(all_of_seventy_are_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
