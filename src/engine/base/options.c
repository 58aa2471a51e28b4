/* Structs of options that begin with their size. */
#include "base/options.h"

#include <string.h>

#define ROOM_TO_GROW 65536 /* no version of a struct is longer by more: what says so was not initialised */

void splat_options_give(void *options, size_t size, const void *defaults, size_t defaults_size)
{
    memset(options, 0, size);
    memcpy(options, defaults, size < defaults_size ? size : defaults_size);
    memcpy(options, &size, sizeof size);
}

splat_status splat_options_take(void *options, const void *from, const char *type, splat_error *error)
{
    const unsigned char *bytes = from;
    size_t own_size, size;
    memcpy(&own_size, options, sizeof own_size);
    memcpy(&size, from, sizeof size);
    if (size < sizeof size || size > own_size + ROOM_TO_GROW)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a %s says that it has %zu bytes; begin with %s_init", type,
                          size, type);
    for (size_t i = own_size; i < size; i++)
        if (bytes[i])
            return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                              "a %s of a newer version sets what this library (%s) does not know; link the newer one",
                              type, splat_version());
    memcpy(options, from, size < own_size ? size : own_size);
    memcpy(options, &own_size, sizeof own_size);
    return SPLAT_OK;
}
