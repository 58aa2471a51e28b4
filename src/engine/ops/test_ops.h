/* The test program of the ops (tests/ops/test_ops.c) walks ops.def and calls test_op_<name> of every op: an op without
 * a test does not link. The function runs all its checks and returns the number that failed; use the macros below. */
#ifndef SPLAT_OPS_TEST_OPS_H
#define SPLAT_OPS_TEST_OPS_H

#include "backend/cpu.h"
#include "ops/types.h"

#include <stdio.h>

/* One backend at a time: the test is called for every backend and SIMD level of the machine, with 1 and more
 * threads. */
#define SPLAT_OP(name) int test_op_##name(splat_backend *backend);
#include "ops/ops.def"
#undef SPLAT_OP

/* Counts and prints. */
#define TEST_CHECK(failures, condition, ...)                                                                           \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            (failures)++;                                                                                              \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                                            \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
        }                                                                                                              \
    } while (0)

/* The cases of slow tests: `test_ops --part K/N` runs every Nth of them, so that processes can share a test that takes
 * hours under a tool (scripts/compute_sanitizer.sh); without it, all. */
#define TEST_CASE(failures, call)                                                                                      \
    do {                                                                                                               \
        if (test_is_in_part()) (failures) += (call);                                                                   \
    } while (0)
/* Once for each case, in order; a process counts on from one backend to the next, until test_set_part. */
bool test_is_in_part(void);
/* Cases part, part + n_parts, ...; the first is 0. */
void test_set_part(uint32_t part, uint32_t n_parts);

/* Normalised mean squared error: sum (a - b)^2 / sum b^2; 0 when both are all zero; infinity on NaN. */
double test_nmse(const float *a, const float *b, size_t n);

/* Compares the gradient of a tensor with central differences of value(of), which reads the parameters. Returns the
 * number of failures. Steps are 1e-5: the error of a difference is 1e-10 third derivatives plus the rounding of a sum
 * near 1000 (1e-13) over 2e-5. The tolerance, 1e-6 of the tensor's largest gradient, is far above both. */
int test_tensor_gradient(double (*value)(void *of), void *of, double *parameters, const double *gradients,
                         uint32_t n, const char *name);

/* Device memory with the given host content (NULL: zeros), and back; for tests on any backend. */
void *test_upload(splat_backend *backend, splat_block *block, const void *host, size_t bytes);
void test_download(splat_backend *backend, void *host, const void *device, size_t bytes);

/* A random but plausible population in front of `camera` (host memory, freed with test_gaussians_free): extent 1 around
 * the origin, some Gaussians behind the camera, at the border, transparent, tiny, large and needle-shaped. */
typedef struct test_gaussians {
    splat_gaussians g;
} test_gaussians;
test_gaussians test_gaussians_make(uint32_t n, int sh_degree, int active_sh_degree, uint64_t seed);
/* Moves sh_rest to half, rounded to nearest; p.sh_rest becomes NULL. */
void test_gaussians_to_half(splat_gaussians *gaussians);
void test_gaussians_free(test_gaussians *gaussians);
splat_camera test_camera_make(int width, int height);

#endif
