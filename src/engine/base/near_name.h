/* The name that was probably meant. */
#ifndef SPLAT_BASE_NEAR_NAME_H
#define SPLAT_BASE_NEAR_NAME_H

#include <stddef.h>

typedef struct splat_near_name {
    const char *name; /* the nearest candidate so far; NULL: none was near enough */
    size_t distance;
} splat_near_name;

/* Keeps `candidate` where it is nearer to what was typed than all before it, and near enough to be meant. */
void splat_near_name_consider(splat_near_name *nearest, const char *typed, const char *candidate);

#endif
