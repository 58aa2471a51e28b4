/* Plain surfaces by their shading: a round plain wall, photos of different light, smooth surfaces through places. */
#include "plane_fixture.h"
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
    float grain = hit->kind == ROOM_WALL ? 0 : 0.3f * room_noise(p, 0.06f) + 0.3f * room_noise(p, 0.17f);
    for (int k = 0; k < 3; k++) rgb[k] = (0.5f + 0.1f * sinf(1.3f * p[0] + 0.4f * p[2]) + 0.07f * p[1] + 0.05f * p[2]) *
                                         (1 + grain) * (1 - 0.05f * (float)k);
}

/* The splat's depth of the wall is wrong by a tenth. gains[N_VIEWS]: of the photos; NULL: 1. */
static void round_room_make(room *r, const float *gains)
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
            trace(&cameras[v], (float)(p % WIDTH) + 0.5f, (float)(p / WIDTH) + 0.5f, hit, rgb);
            for (int k = 0; k < 3; k++)
                r->photos[v][3 * p + k] = (uint8_t)(255 * fminf(rgb[k] * (gains ? gains[v] : 1), 1) + 0.5f);
            float wrong = 0.9f + 0.05f * room_noise(hit->point, 0.5f);
            const float up[3] = {-hit->point[0], -hit->point[1], 0}, flat[3] = {0, 0, hit->point[2] < 1 ? 1 : -1};
            r->maps.views[v].depth[p] = hit->z * (hit->kind == ROOM_WALL ? wrong : 1);
            r->maps.views[v].alpha[p] = 255;
            splat_normal_encode(hit->kind == ROOM_WALL ? up : flat, r->maps.views[v].normal + 2 * p);
        }
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_plain_wall_is_found),
        cmocka_unit_test(photos_of_other_exposure_are_made_equal),
        cmocka_unit_test(depth_that_is_wrong_on_plain_walls_tells_gains),
        cmocka_unit_test(a_smooth_surface_through_a_plane_is_the_plane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
