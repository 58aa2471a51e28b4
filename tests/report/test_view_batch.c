/* Views that wait to become pictures: copies, in their order, a few at a time, and never too many bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "report/tensorboard/view_batch.h"

#include <stdlib.h>
#include <string.h>

/* The received values, in order. */
typedef struct record {
    int n_calls;
    size_t n, index[16];
} record;

static float value_of(size_t view, size_t i)
{
    return (float)(view + 1) / 16 + (float)(i % 7) / 1024;
}

static void fill(float *render, uint8_t *photo, uint32_t *blended, size_t view, size_t n)
{
    for (size_t i = 0; i < 3 * n; i++) render[i] = value_of(view, i);
    for (size_t i = 0; i < 3 * n; i++) photo[i] = (uint8_t)(10 * view + i % 10);
    for (size_t i = 0; i < n; i++) blended[i] = (uint32_t)(1000 * view + i % 1000);
}

static void take(void *user, const splat_report_view *views, size_t n)
{
    record *r = user;
    r->n_calls++;
    for (size_t v = 0; v < n; v++) {
        size_t view = views[v].index_in_set, pixels = (size_t)views[v].width * (size_t)views[v].height;
        r->index[r->n++] = view;
        assert_true(views[v].metrics.psnr == (double)view);
        for (size_t i = 0; i < 3 * pixels; i += 5) {
            assert_true(views[v].render[i] == value_of(view, i));
            assert_int_equal(views[v].photo[i], (uint8_t)(10 * view + i % 10));
        }
        for (size_t i = 0; i < pixels && view != 1; i += 3)
            assert_int_equal(views[v].blended[i], 1000 * view + i % 1000);
        if (view == 1) assert_null(views[v].blended);
    }
}

/* The arrays are those of the view before: what is kept must be a copy. */
static void add_views(splat_view_batch *batch, size_t first, size_t end, int width, int height)
{
    size_t n = (size_t)width * (size_t)height;
    float *render = malloc(3 * n * sizeof *render);
    uint8_t *photo = malloc(3 * n);
    uint32_t *blended = malloc(n * sizeof *blended);
    for (size_t v = first; v < end; v++) {
        fill(render, photo, blended, v, n);
        splat_report_view view = {.index_in_set = v, .width = width, .height = height, .render = render,
                                  .photo = photo, .blended = v == 1 ? NULL : blended, .metrics = {.psnr = (double)v}};
        splat_view_batch_add(batch, &view);
    }
    free(render);
    free(photo);
    free(blended);
}

static void views_come_together_and_in_order(void **state)
{
    (void)state;
    record r = {.n = 0};
    splat_view_batch batch = {.take = take, .user = &r};
    add_views(&batch, 0, 3, 31, 17);
    assert_int_equal(r.n_calls, 0);
    splat_view_batch_flush(&batch);
    assert_int_equal(r.n_calls, 1);
    add_views(&batch, 3, 9, 31, 17); /* more than a set shows: five, then one */
    assert_int_equal(r.n_calls, 2);
    splat_view_batch_flush(&batch);
    splat_view_batch_flush(&batch); /* nothing is left */
    assert_int_equal(r.n_calls, 3);
    for (size_t i = 0; i < 9; i++) assert_int_equal(r.index[i], i);
    assert_int_equal(r.n, 9);
}

static void bytes_are_bounded(void **state)
{
    (void)state;
    record r = {.n = 0};
    splat_view_batch batch = {.take = take, .user = &r};
    add_views(&batch, 2, 5, 1500, 1000); /* 28.5 MB each: two fit */
    assert_int_equal(r.n, 2);
    assert_true(batch.bytes <= SPLAT_VIEW_BATCH_BYTES);
    add_views(&batch, 5, 6, 2500, 1500); /* too large to wait: after those before it, without a copy */
    assert_int_equal(r.n, 4);
    assert_int_equal(batch.n, 0);
    for (size_t i = 0; i < 4; i++) assert_int_equal(r.index[i], i + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(views_come_together_and_in_order),
                                       cmocka_unit_test(bytes_are_bounded)};
    return cmocka_run_group_tests_name("view batch", tests, NULL, NULL);
}
