/* Modules: shared objects that an installation may lack (the CUDA backend, MPI), opened when they are asked for. */
#ifndef SPLAT_BASE_MODULE_H
#define SPLAT_BASE_MODULE_H

#include "base/error.h"

/* Opens the module that the environment variable `variable` names, else the first existing file of that name: next
 * to the shared library or in its splatsmith/, then next to the program, in its lib/splatsmith/ (of a build), or in
 * ../LIBDIR/splatsmith/ of an installation. is_global: its symbols are offered to what it opens itself. It stays
 * open; opening it again gives the same handle. Any thread. Errors: UNSUPPORTED (there is none), IO (it does not
 * open; the message is the loader's). */
splat_status splat_module_open(const char *file, const char *variable, bool is_global, void **module,
                               splat_error *error);

#endif
