/* Walks the op table: every op's test, on every backend and SIMD level of this machine. `test_ops [name...]` runs some. */
#include "ops/test_ops.h"

#include <string.h>

static const struct {
    const char *name;
    int (*test)(splat_backend *backend);
} tests[] = {
#define SPLAT_OP(name) {#name, test_op_##name},
#include "ops/ops.def"
#undef SPLAT_OP
};

static bool wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0) return true;
    return argc < 2;
}

int main(int argc, char **argv)
{
    static const char *const levels[] = {"c", "avx2", "avx512"};
    static const int thread_counts[] = {1, 3};
    int n_passed = 0, n_failed = 0, n_skipped = 0;
    for (size_t level = 0; level < 3; level++)
        for (size_t t = 0; t < 2; t++) {
            splat_backend *backend;
            if (splat_backend_cpu_create(thread_counts[t], levels[level], &backend, NULL) != SPLAT_OK) {
                printf("SKIPPED: this CPU has no %s\n", levels[level]);
                n_skipped++;
                continue;
            }
            for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
                if (!wanted(tests[i].name, argc, argv)) continue;
                int failures = tests[i].test(backend);
                size_t left = backend->memory.bytes;
                TEST_CHECK(failures, left == 0, "%s left %zu bytes of blocks", tests[i].name, left);
                printf("%s %s on %s\n", failures ? "FAILED" : "ok", tests[i].name, backend->description);
                fflush(stdout);
                if (failures)
                    n_failed++;
                else
                    n_passed++;
            }
            backend->functions->destroy(backend);
        }
    printf("%d passed, %d failed, %d skipped\n", n_passed, n_failed, n_skipped);
    return n_failed || !n_passed;
}
