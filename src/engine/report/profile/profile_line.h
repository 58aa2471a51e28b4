/* One line of a memory profile, and one block of its sample. */
#ifndef SPLAT_OBSERVE_PROFILE_LINE_H
#define SPLAT_OBSERVE_PROFILE_LINE_H

#include "base/error.h"
#include "io/json.h"
#include "report/profile/memory_profile.h"

/* The object of line `number`. Errors: FORMAT with the line, MEMORY. The caller gives it back (json_decref). */
splat_status splat_profile_parse_line(const char *path, const uint8_t *text, size_t length, size_t number,
                                      json_t **object, splat_error *error);
/* A whole number of bytes or things; required. */
splat_status splat_profile_get_size(const json_t *object, const char *key, const char *path, size_t number,
                                    size_t *value, splat_error *error);

/* The meaning of a block to the report, by the block's name. */
typedef enum splat_profile_part {
    SPLAT_PART_OTHER = 0,
    SPLAT_PART_HARMONICS, /* sh_rest, and */
    SPLAT_PART_HARMONIC_MOMENTS,
    SPLAT_PART_PHOTOS,    /* all training photos, on the device */
    SPLAT_PART_FRAME,
    SPLAT_PART_PHOTO_CACHE
} splat_profile_part;

/* A row of a sample's "blocks"; the name is borrowed from the object. Errors: FORMAT. */
typedef struct splat_profile_block {
    const char *name;
    splat_profile_part part;
    splat_memory_category category;
    splat_memory_place place;
    splat_element_type type;
    size_t bytes, reserved;
} splat_profile_block;

#define SPLAT_PROFILE_MOST_BYTES ((json_int_t)1 << 50) /* largest figure: sums of thousands fit in 64 bits */
#define SPLAT_PROFILE_MOST_BLOCKS 4096 /* a run has about forty */
splat_status splat_profile_read_block(const json_t *object, const char *path, size_t number,
                                      splat_profile_block *block, splat_error *error);

#endif
