/* A stand-in for the module libsplatsmith-cuda: one GPU that is listed and never opens. FAKE_VERSION: another version;
 * FAKE_OTHER_SOURCES: this one, of other sources. */
#include "backend/cuda_module.h"

#include <stdio.h>

#ifndef FAKE_VERSION
#define FAKE_VERSION SPLATSMITH_VERSION
#endif

static splat_status create(int gpu, int threads, bool deterministic, bool sole_user, splat_backend **backend,
                           splat_error *error)
{
    (void)threads;
    *backend = NULL;
    if (!error) return SPLAT_ERROR_DEVICE;
    *error = (splat_error){.status = SPLAT_ERROR_DEVICE, .offset = SPLAT_NO_OFFSET};
    snprintf(error->message, sizeof error->message, "the stand-in's GPU %d%s%s is asleep", gpu,
             deterministic ? ", deterministic," : "", sole_user ? ", alone," : "");
    return SPLAT_ERROR_DEVICE;
}

static splat_status list_devices(splat_device_info *devices, size_t capacity, size_t *n, splat_error *error)
{
    (void)error;
    *n = 1;
    if (capacity) devices[0] = (splat_device_info){.name = "Stand-in", .compute_major = 9};
    return SPLAT_OK;
}

extern splat_cuda_module splat_cuda_module_table;
splat_cuda_module splat_cuda_module_table = {.version = FAKE_VERSION, .create = create, .list_devices = list_devices};

__attribute__((constructor)) static void fill(void)
{
    splat_cuda_module_table.layout = splat_cuda_module_layout();
#ifdef FAKE_OTHER_SOURCES
    splat_cuda_module_table.layout++;
#endif
}
