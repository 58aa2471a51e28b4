/* Planes at right angles belong together unless one of them is known to lean. */
#include "check.h"
#include "surface/planes/plane_frames.h"

#include <math.h>
#include <string.h>

enum { FLOOR, WALL, SIDE, HEDGE, RAMP, RAMP_SIDE, UNKNOWN, N };

/* A plane whose normal is along axis k, turned by lean towards another; sigma: radians, of both tilts. */
static plane_member member_of(int k, int towards, double lean, double sigma)
{
    plane_member p = {.is_known = true};
    const int other = 3 - k - towards;
    p.fit.normal[k] = cos(lean);
    p.fit.normal[towards] = sin(lean);
    p.fit.axes[0][towards] = cos(lean);
    p.fit.axes[0][k] = -sin(lean);
    p.fit.axes[1][other] = 1;
    p.first = p.fit;
    for (int i = 0; i < 3; i++) p.information[i][i] = 1 / (sigma * sigma);
    return p;
}

static void make(plane_member members[N])
{
    members[FLOOR] = member_of(1, 2, 0, 0.0005);
    members[WALL] = member_of(2, 1, 0.006, 0.003);  /* leans as much as it is not known */
    members[SIDE] = member_of(0, 1, 0.03, 0.015);
    members[HEDGE] = member_of(1, 2, 0.02, 0.001);  /* is known to lean */
    members[RAMP] = member_of(1, 2, 0.3, 0.001);
    members[RAMP_SIDE] = member_of(2, 1, -0.3, 0.001); /* at a right angle to the ramp */
    members[UNKNOWN] = member_of(0, 2, 0, 0.001);
    members[UNKNOWN].is_known = false;
}

static void those_that_may_be_right_belong_together(void **state)
{
    (void)state;
    plane_member members[N];
    int frames[N];
    make(members);
    plane_frames_find(members, N, frames);
    assert_true(frames[FLOOR] == 1 && frames[WALL] == 1 && frames[SIDE] == 1);
    assert_true(frames[HEDGE] > 1 && frames[RAMP] > 1 && frames[RAMP] != frames[HEDGE]);
    assert_int_equal(frames[RAMP], frames[RAMP_SIDE]);
    assert_int_equal(frames[UNKNOWN], 0);
}

/* Edges turned a wall away, and its seeds alone had it right. */
static void what_seeds_said_counts(void **state)
{
    (void)state;
    plane_member members[N];
    int frames[N];
    make(members);
    members[WALL] = member_of(2, 1, 0.02, 0.002);
    plane_frames_find(members, N, frames);
    assert_int_not_equal(frames[WALL], 1);
    members[WALL].first = member_of(2, 1, 0.004, 0.002).fit;
    plane_frames_find(members, N, frames);
    assert_int_equal(frames[WALL], 1);
}

static void planes_that_nothing_is_said_of_have_none(void **state)
{
    (void)state;
    plane_member members[N];
    int frames[N];
    make(members);
    for (int i = 0; i < N; i++) memset(members[i].information, 0, sizeof members[i].information);
    plane_frames_find(members, N, frames);
    for (int i = 0; i < N; i++) assert_int_equal(frames[i], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_may_be_right_belong_together),
        cmocka_unit_test(what_seeds_said_counts),
        cmocka_unit_test(planes_that_nothing_is_said_of_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
