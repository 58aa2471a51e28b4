/* base/both.h: both pieces are done, and the first one's error comes before the second one's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/both.h"
#include "base/error.h"

#include <pthread.h>
#include <string.h>

typedef struct piece {
    const char *fails; /* the error's words; NULL: none */
    int n_done;
    pthread_t thread;
} piece;

static splat_status work(void *user, splat_error *error)
{
    piece *p = user;
    p->n_done++;
    p->thread = pthread_self();
    return p->fails ? splat_fail(error, SPLAT_ERROR_ARGUMENT, "%s", p->fails) : SPLAT_OK;
}

static void both_pieces_are_done(void **state)
{
    (void)state;
    const char *const words[] = {NULL, "one", "two"};
    for (int k = 0; k < 4; k++) {
        piece first = {.fails = k & 1 ? words[1] : NULL}, second = {.fails = k & 2 ? words[2] : NULL};
        splat_error error = {0};
        const splat_status status = splat_do_both((splat_piece_of_work){work, &first},
                                                  (splat_piece_of_work){work, &second}, &error);
        assert_int_equal(first.n_done, 1);
        assert_int_equal(second.n_done, 1);
        assert_true(pthread_equal(first.thread, pthread_self()));
        assert_int_equal(status, k ? SPLAT_ERROR_ARGUMENT : SPLAT_OK);
        if (k) assert_string_equal(error.message, k & 1 ? "one" : "two");
        assert_int_equal(splat_do_both((splat_piece_of_work){work, &first}, (splat_piece_of_work){work, &second}, NULL),
                         status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_pieces_are_done)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
