/* The arrays of a cache of sh_rest. */
#include "ops/rest/rest.h"

#include <stddef.h>

#define ALIGNMENT 256

static void *cut(char *data, size_t *at, size_t words)
{
    void *begin = data ? data + *at : NULL;
    *at += (words * sizeof(uint32_t) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return begin;
}

size_t splat_rest_cache_cut(splat_rest_cache *c, void *data, size_t *zeroed)
{
    size_t at = 0;
    c->slot = cut(data, &at, c->n_rows);
    c->owner = cut(data, &at, c->n_slots);
    *zeroed = at;
    c->counts = cut(data, &at, SPLAT_REST_CACHE_COUNTS);
    c->leaving = cut(data, &at, c->n_slots);
    c->chosen = cut(data, &at, c->n_slots);
    c->rest = cut(c->rest_words ? data : NULL, &at, (size_t)c->n_slots * c->rest_words);
    for (int i = 0; i < 2; i++)
        c->moments[i] = cut(c->home_moments[i] ? data : NULL, &at,
                            c->home_moments[i] ? (size_t)c->n_slots * c->moment_words : 0);
    return at;
}
