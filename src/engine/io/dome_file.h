/* sky.safetensors: the dome of a splat's sky (math/dome.h), as docs/files.md describes it. */
#ifndef SPLAT_IO_DOME_FILE_H
#define SPLAT_IO_DOME_FILE_H

#include "base/error.h"
#include "math/dome.h"

#define SPLAT_DOME_FILE "sky.safetensors"

/* Writes the dome, atomically. Errors: IO, MEMORY. */
splat_status splat_dome_write(const char *path, const splat_dome *dome, splat_error *error);
/* Reads a dome. The caller frees colors. Errors: IO, FORMAT (damaged; a tensor that is absent or has another shape; a
 * value that is not finite), MEMORY; dome->colors is NULL then. */
splat_status splat_dome_read(const char *path, splat_dome *dome, splat_error *error);
/* The path of the dome next to a file; the caller frees. NULL: there is no memory. */
char *splat_dome_path_next_to(const char *path);

#endif
