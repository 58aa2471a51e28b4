/* The CUDA backend as the library sees it: found, checked and called. */
#include "backend/cuda_module.h"

#include "base/module.h"

#include <dlfcn.h>
#include <string.h>

#define MODULE_FILE "libsplatsmith-cuda.so"
#define MODULE_VARIABLE "SPLATSMITH_CUDA_MODULE"

splat_status splat_cuda_module_open(const splat_cuda_module **result, splat_error *error)
{
    void *library;
    splat_error reason;
    *result = NULL;
    splat_status status = splat_module_open(MODULE_FILE, MODULE_VARIABLE, false, &library, &reason);
    if (status == SPLAT_ERROR_UNSUPPORTED)
        return splat_fail(error, status, "%s; install the CUDA backend, name its file in %s, or choose `backend cpu`",
                          reason.message, MODULE_VARIABLE);
    if (status != SPLAT_OK)
        return splat_fail(error, status == SPLAT_ERROR_MEMORY ? status : SPLAT_ERROR_DEVICE,
                          "the module " MODULE_FILE " cannot be opened: %s; mend it, or choose `backend cpu`",
                          reason.message);
    const splat_cuda_module *module = dlsym(library, SPLAT_CUDA_MODULE_SYMBOL);
    if (!module)
        return splat_fail(error, SPLAT_ERROR_DEVICE,
                          "the module " MODULE_FILE " holds no CUDA backend; install that of version %s, or choose "
                          "`backend cpu`", SPLATSMITH_VERSION);
    if (strcmp(module->version, SPLATSMITH_VERSION) != 0)
        return splat_fail(error, SPLAT_ERROR_DEVICE,
                          "the module " MODULE_FILE " is of version %.32s and the library of %s; install both of one "
                          "version, or choose `backend cpu`", module->version, SPLATSMITH_VERSION);
    if (module->layout != splat_cuda_module_layout())
        return splat_fail(error, SPLAT_ERROR_DEVICE,
                          "the module " MODULE_FILE " and the library are both of version %s, but of different "
                          "sources; build both of the same, or choose `backend cpu`", SPLATSMITH_VERSION);
    *result = module;
    return SPLAT_OK;
}

splat_status splat_backend_cuda_create(int gpu, int threads, bool deterministic, bool sole_user,
                                       splat_backend **backend, splat_error *error)
{
    const splat_cuda_module *module;
    *backend = NULL;
    SPLAT_TRY(splat_cuda_module_open(&module, error));
    return module->create(gpu, threads, deterministic, sole_user, backend, error);
}

splat_status splat_device_list(splat_device_info *devices, size_t capacity, size_t *n, splat_error *error)
{
    const splat_cuda_module *module;
    *n = 0;
    SPLAT_TRY(splat_cuda_module_open(&module, error));
    return module->list_devices(devices, capacity, n, error);
}
