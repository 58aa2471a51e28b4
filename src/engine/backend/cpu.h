/* The CPU backend. */
#ifndef SPLAT_BACKEND_CPU_H
#define SPLAT_BACKEND_CPU_H

#include "backend/backend.h"

/* threads: 0 takes all CPUs; simd: NULL or "auto", "avx512", "avx2", "c". Errors: ARGUMENT, UNSUPPORTED (the CPU lacks
 * the SIMD level), MEMORY. */
splat_status splat_backend_cpu_create(int threads, const char *simd, splat_backend **backend, splat_error *error);

#endif
