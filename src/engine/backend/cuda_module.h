/* The interface of the module libsplatsmith-cuda: all code that is compiled by nvcc and linked with the CUDA runtime.
 * It is opened when a GPU is requested. It has its own copies of the few plain functions of the library that it calls,
 * and takes no symbol of the program. */
#ifndef SPLAT_BACKEND_CUDA_MODULE_H
#define SPLAT_BACKEND_CUDA_MODULE_H

#include "backend/backend.h"

#define SPLAT_CUDA_MODULE_SYMBOL "splat_cuda_module_table"

/* The first two fields stay where they are for ever: they are what a library of another version reads. */
typedef struct splat_cuda_module {
    const char *version; /* SPLATSMITH_VERSION */
    uint64_t layout;     /* splat_cuda_module_layout() */
    splat_status (*create)(int gpu, int threads, bool deterministic, bool sole_user, splat_backend **backend,
                           splat_error *error);
    splat_status (*list_devices)(splat_device_info *devices, size_t capacity, size_t *n, splat_error *error);
} splat_cuda_module;

/* A number that differs where the library and the module would read each other's structs otherwise: builds of one
 * version that are not of the same sources. */
static inline uint64_t splat_cuda_module_layout(void)
{
    const uint64_t sizes[] = {sizeof(splat_cuda_module), sizeof(splat_backend_functions), sizeof(splat_backend),
                              sizeof(splat_frame),       sizeof(splat_step_result),       sizeof(splat_block),
                              sizeof(splat_error),       sizeof(splat_device_info),       sizeof(splat_host_memory)};
    static const char ops[] =
#define SPLAT_OP(name) #name " "
#include "ops/ops.def"
#undef SPLAT_OP
        ;
    uint64_t layout = 1469598103934665603u; /* FNV-1a */
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) layout = (layout ^ sizes[i]) * 1099511628211u;
    for (const char *c = ops; *c; c++) layout = (layout ^ (unsigned char)*c) * 1099511628211u;
    return layout;
}

/* Opens and checks the module, without asking for a GPU. Errors: UNSUPPORTED (there is none), DEVICE (it does not open,
 * or is of another version). */
splat_status splat_cuda_module_open(const splat_cuda_module **module, splat_error *error);
/* The device `gpu`, by the module; the ops of the CPU are not used. Errors: UNSUPPORTED (the module is not installed),
 * DEVICE, ARGUMENT, MEMORY. */
splat_status splat_backend_cuda_create(int gpu, int threads, bool deterministic, bool sole_user,
                                       splat_backend **backend, splat_error *error);

#endif
