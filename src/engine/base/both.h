/* Two pieces of work that do not need each other. */
#ifndef SPLAT_BASE_BOTH_H
#define SPLAT_BASE_BOTH_H

#include "splatsmith/core.h"

/* A piece of work and what it works on. */
typedef struct splat_piece_of_work {
    splat_status (*work)(void *user, splat_error *error);
    void *user;
} splat_piece_of_work;

/* Does the first on the caller's thread, and the second on another one or, where the system gives none, after a first
 * one that went well. Returns when both have ended: the first one's status, or else the second one's. The second one
 * must not call anything that belongs to the caller's thread, such as the context's callbacks. */
splat_status splat_do_both(splat_piece_of_work first, splat_piece_of_work second, splat_error *error);

#endif
