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

splat_status splat_options_take(void *own, const void *given, const char *type, splat_error *error)
{
    const unsigned char *bytes = given;
    size_t own_size, size;
    memcpy(&own_size, own, sizeof own_size);
    memcpy(&size, given, sizeof size);
    if (size < sizeof size || size > own_size + ROOM_TO_GROW)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a %s says that it has %zu bytes; begin with %s_init", type,
                          size, type);
    for (size_t i = own_size; i < size; i++)
        if (bytes[i])
            return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                              "a %s of a newer version sets what this library (%s) does not know; link the newer one",
                              type, splat_version());
    memcpy(own, given, size < own_size ? size : own_size);
    memcpy(own, &own_size, sizeof own_size);
    return SPLAT_OK;
}
