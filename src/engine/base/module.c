/* Finds and opens modules. */
#include "base/module.h"

#include "base/file.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#ifndef SPLATSMITH_LIBDIR
#define SPLATSMITH_LIBDIR "lib"
#endif

/* Cuts what follows the last slash of path. */
static bool keep_folder(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash) slash[1] = '\0';
    return slash != NULL;
}

/* The folder of the shared library that this function is part of; false where it is part of the program itself, whose
 * name here is what its caller typed. */
static bool library_folder(char folder[PATH_MAX])
{
    static const char here;
    Dl_info own, program;
    void *entry = (void *)getauxval(AT_ENTRY);
    if (!dladdr(&here, &own) || !own.dli_fname || !dladdr(entry, &program)) return false;
    if (own.dli_fbase == program.dli_fbase) return false;
    return realpath(own.dli_fname, folder) && keep_folder(folder);
}

static bool program_folder(char folder[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (length <= 0) return false;
    folder[length] = '\0';
    return keep_folder(folder);
}

static splat_status find_file(const char *file, char **path, splat_error *error)
{
    static const char *const of_library[] = {"", "splatsmith/", NULL};
    static const char *const of_program[] = {"", "lib/splatsmith/", "../lib/splatsmith/", /* of a build: its tests */
                                             "../" SPLATSMITH_LIBDIR "/splatsmith/", NULL};
    const char *const *const places[] = {of_library, of_program};
    char folders[2][PATH_MAX];
    const bool are_known[] = {library_folder(folders[0]), program_folder(folders[1])};
    for (int i = 0; i < 2; i++)
        for (const char *const *place = places[i]; are_known[i] && *place; place++) {
            *path = splat_format("%s%s%s", folders[i], *place, file);
            if (!*path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the path of %s", file);
            if (splat_path_exists(*path)) return SPLAT_OK;
            free(*path);
        }
    *path = NULL;
    return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "there is no %s next to the program or in lib/splatsmith", file);
}

splat_status splat_module_open(const char *file, const char *variable, bool is_global, void **module,
                               splat_error *error)
{
    const char *named = getenv(variable);
    char *found = NULL;
    *module = NULL;
    if (!named || !named[0]) {
        SPLAT_TRY(find_file(file, &found, error));
        named = found;
    }
    *module = dlopen(named, RTLD_NOW | (is_global ? RTLD_GLOBAL : RTLD_LOCAL));
    splat_status status = SPLAT_OK;
    if (!*module) {
        const char *reason = dlerror();
        status = splat_fail(error, SPLAT_ERROR_IO, "%s", reason ? reason : named);
    }
    free(found);
    return status;
}
