/* Two pieces of work that do not need each other. */
#include "base/both.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct second_half {
    splat_piece_of_work piece;
    splat_status status;
    splat_error error;
} second_half;

static void *do_second(void *user)
{
    second_half *s = user;
    s->status = s->piece.work(s->piece.user, &s->error);
    return NULL;
}

splat_status splat_do_both(splat_piece_of_work first, splat_piece_of_work second, splat_error *error)
{
    second_half s = {.piece = second};
    pthread_t thread;
    const bool has_thread = pthread_create(&thread, NULL, do_second, &s) == 0;
    const splat_status status = first.work(first.user, error);
    if (has_thread) pthread_join(thread, NULL);
    else if (status == SPLAT_OK) do_second(&s);
    if (status != SPLAT_OK || s.status == SPLAT_OK) return status;
    if (error) *error = s.error;
    return s.status;
}
