/* The place of an edge between plain parts of a photo. */
#include "plane_fixture.h"
#include "surface/planes/plane_edge.h"
#include "surface/planes/plane_segments.h"

#include "math/camera.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = 96, RAYS = 6, STRIPES = 12 };

/* Levels on both sides of a straight edge, and how they change towards it, a pixel: light in a corner. */
typedef struct corner {
    double left, right, left_slope, right_slope;
    double reach; /* pixels in which slopes fall to a third away from the edge; 0: they stay */
    double angle, off; /* of the edge's normal; how far the edge is from the middle of the picture */
} corner;

/* How far a place is behind the edge, pixels. */
static double behind(const corner *k, double x, double y)
{
    return (x - 0.5 * SIDE) * cos(k->angle) + (y - 0.5 * SIDE) * sin(k->angle) - k->off;
}

static double level_at(const corner *k, double x, double y)
{
    double d = behind(k, x, y);
    if (k->reach > 0) d = d < 0 ? k->reach * expm1(d / k->reach) : -k->reach * expm1(-d / k->reach);
    return d < 0 ? k->left + k->left_slope * fmax(d, -12) : k->right + k->right_slope * fmin(d, 12);
}

/* A photo whose pixels are means of what they cover. */
static void draw(const corner *k, uint8_t *rgb)
{
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            double sum = 0;
            for (int i = 0; i < RAYS * RAYS; i++)
                sum += level_at(k, x + (i % RAYS + 0.5) / RAYS, y + (i / RAYS + 0.5) / RAYS);
            for (int c = 0; c < 3; c++) rgb[3 * (y * SIDE + x) + c] = (uint8_t)(sum / (RAYS * RAYS) + 0.5);
        }
}

static const splat_camera camera = {.width = SIDE, .height = SIDE, .fx = 100, .fy = 100, .cx = 48, .cy = 48};

typedef struct photo {
    plane_view view;
    plane_work work;
} photo;

/* has_stripes: the left of the picture has texture. */
static void take(photo *p, const corner *k, bool has_stripes)
{
    splat_error error;
    uint16_t edge;
    *p = (photo){.view = {0}};
    assert_int_equal(plane_work_make(&p->work, SIDE * SIDE, &error), SPLAT_OK);
    draw(k, p->work.rgb);
    for (int y = 0; y < SIDE && has_stripes; y++)
        for (int x = 0; x < STRIPES; x++)
            for (int c = 0; c < 3; c++) p->work.rgb[3 * (y * SIDE + x) + c] = (uint8_t)(x % 4 < 2 ? 40 : 200);
    assert_int_equal(plane_segments_make(&camera, NULL, &p->work, &p->view, &edge, &error), SPLAT_OK);
}

static void drop(photo *p)
{
    plane_view_free(&p->view);
    plane_work_free(&p->work);
}

/* The mean distance of what is found from the edge, and the largest one. */
static void measure(corner k, double *mean, double *most)
{
    photo p;
    double n = 0;
    take(&p, &k, false);
    for (int i = -12; i <= 12; i++) { /* from six pixels before the edge */
        const float direction[2] = {(float)cos(k.angle), (float)sin(k.angle)};
        const int x = (int)(0.5 * SIDE + (k.off - 6) * cos(k.angle) - i * sin(k.angle)),
                  y = (int)(0.5 * SIDE + (k.off - 6) * sin(k.angle) + i * cos(k.angle));
        float found[2];
        assert_true(plane_edge_place(&camera, &p.work, x, y, direction, 12, found));
        const double d = behind(&k, (double)found[0], (double)found[1]);
        *mean += d;
        *most = fmax(*most, fabs(d));
        n++;
    }
    *mean /= n;
    drop(&p);
}

/* All directions and parts of a pixel. */
static void measure_all(corner k, double *mean, double *most)
{
    double n = 0, sum = 0;
    *mean = *most = 0;
    for (k.angle = 0.1; k.angle < 6.2; k.angle += 0.7)
        for (k.off = -0.4; k.off < 0.5; k.off += 0.2, n++) {
            double own = 0;
            measure(k, &own, most);
            sum += own;
        }
    *mean = sum / n;
    print_message("levels %.0f, %.0f, slopes %.1f, %.1f: mean %.3f, most %.3f pixels\n", k.left, k.right, k.left_slope,
                  k.right_slope, *mean, *most);
}

static void a_step_is_where_it_is(void **state)
{
    (void)state;
    double mean, most;
    measure_all((corner){.left = 100, .right = 140}, &mean, &most);
    assert_true(fabs(mean) < 0.02 && most < 0.1);
    measure_all((corner){.left = 90, .right = 60}, &mean, &most);
    assert_true(fabs(mean) < 0.02 && most < 0.1);
}

/* A corner is darker than the walls around it. The largest gradient is off by the change of the slopes. */
static void light_in_a_corner_does_not_move_its_edge(void **state)
{
    (void)state;
    double mean, most;
    measure_all((corner){.left = 60, .right = 85, .left_slope = -1.6, .right_slope = 0.8}, &mean, &most);
    assert_true(fabs(mean) < 0.03 && most < 0.15);
    measure_all((corner){.left = 85, .right = 60, .left_slope = -0.8, .right_slope = 1.6}, &mean, &most);
    assert_true(fabs(mean) < 0.03 && most < 0.15);
    measure_all((corner){.left = 120, .right = 150, .left_slope = 0, .right_slope = 1.5}, &mean, &most);
    assert_true(fabs(mean) < 0.03 && most < 0.15);
}

/* Two walls in the same light: nothing jumps, and the gradients are as large all along both sides. */
static void a_corner_without_a_jump_is_darkest(void **state)
{
    (void)state;
    double mean, most;
    measure_all((corner){.left = 60, .right = 60, .left_slope = -2.4, .right_slope = 2.2}, &mean, &most);
    assert_true(fabs(mean) < 0.1 && most < 0.6);
    measure_all((corner){.left = 60, .right = 60, .left_slope = -2.4, .right_slope = 1.2}, &mean, &most);
    assert_true(fabs(mean) < 0.1 && most < 0.6);
    measure_all((corner){.left = 120, .right = 120, .left_slope = 1.5, .right_slope = -2.5}, &mean, &most);
    assert_true(fabs(mean) < 0.1 && most < 0.6);
}

/* Next to the border of the picture, and where what is behind the edge is no line, the gradient tells. */
/* Nearer to a corner less light comes in, and walls become dark faster: neither side is a line, which looks like a jump
 * on the way to the corner. Yet no step is as steep as a jump's. */
static void a_corner_of_bent_sides_is_darkest(void **state)
{
    (void)state;
    double mean, most;
    measure_all((corner){.left = 90, .right = 90, .left_slope = -1.8, .right_slope = 4, .reach = 10}, &mean, &most);
    assert_true(fabs(mean) < 0.3 && most < 0.6);
    measure_all((corner){.left = 80, .right = 80, .left_slope = -3.4, .right_slope = 2, .reach = 12}, &mean, &most);
    assert_true(fabs(mean) < 0.3 && most < 0.6);
}

static void an_edge_without_lines_is_where_the_gradient_is(void **state)
{
    (void)state;
    const float direction[2] = {1, 0}, back[2] = {-1, 0};
    float found[2];
    photo p;
    take(&p, &(corner){.left = 100, .right = 140, .off = 44.5}, true);
    assert_true(plane_edge_place(&camera, &p.work, 86, 40, direction, 8, found));
    assert_float_equal(found[0], 92.5, 0.3);
    assert_true(plane_edge_place(&camera, &p.work, 86, 40, direction, 80, found)); /* the picture ends sooner */
    assert_float_equal(found[0], 92.5, 0.3);
    assert_true(plane_edge_place(&camera, &p.work, 18, 40, back, 8, found));
    assert_float_equal(found[0], STRIPES, 2.1);
    drop(&p);
}

/* A picture of one level has no edge. */
static void a_plain_picture_has_no_edge(void **state)
{
    (void)state;
    const float direction[2] = {1, 0};
    float found[2];
    photo p;
    take(&p, &(corner){.left = 100, .right = 100}, false);
    assert_false(plane_edge_place(&camera, &p.work, 40, 40, direction, 8, found));
    drop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_where_it_is),
        cmocka_unit_test(light_in_a_corner_does_not_move_its_edge),
        cmocka_unit_test(a_corner_without_a_jump_is_darkest),
        cmocka_unit_test(a_corner_of_bent_sides_is_darkest),
        cmocka_unit_test(an_edge_without_lines_is_where_the_gradient_is),
        cmocka_unit_test(a_plain_picture_has_no_edge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
