/* Walks the op table: every op's test, on every backend and SIMD level of this machine.
 * `test_ops [--backend cpu|cuda] [--part K/N] [name...]` runs some; K from 1 to N: every Nth case of slow tests. */
#include "ops/test_ops.h"

#include "backend/cuda_module.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int (*test)(splat_backend *backend);
} tests[] = {
#define SPLAT_OP(name) {#name, test_op_##name},
#include "ops/ops.def"
#undef SPLAT_OP
};

static bool is_part_given; /* by --part */

/* argv: the names asked for; all when there is none. */
static bool wanted(const char *name, int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], name) == 0) return true;
    return argc == 0;
}

static bool is_op(const char *name)
{
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        if (strcmp(tests[i].name, name) == 0) return true;
    return false;
}

/* In blocks that somebody must give back; the scratch region stays with the backend. */
static size_t held(const splat_backend *backend)
{
    return backend->memory.device.reserved - backend->scratch.block.reserved;
}

typedef struct test_totals { int passed, failed, skipped; } test_totals;

static void run_tests(splat_backend *backend, int argc, char **argv, test_totals *totals)
{
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        if (!wanted(tests[i].name, argc, argv)) continue;
        size_t before = held(backend);
        int failures = tests[i].test(backend);
        size_t left = held(backend) - before;
        TEST_CHECK(failures, left == 0, "%s left %zu bytes of blocks", tests[i].name, left);
        printf("%s %s on %s\n", failures ? "FAILED" : "ok", tests[i].name, backend->description);
        fflush(stdout);
        if (failures)
            totals->failed++;
        else
            totals->passed++;
    }
    splat_backend_destroy(backend);
}

static void run_cpu(int argc, char **argv, test_totals *totals)
{
    static const char *const levels[] = {"c", "avx2", "avx512"};
#ifdef SPLATSMITH_SANITIZED
    static const int thread_counts[] = {3}; /* where memory is looked at; that results do not depend on them is seen
                                               without */
#else
    static const int thread_counts[] = {1, 3};
    const bool is_long = getenv("SPLATSMITH_LONG_TESTS") != NULL;
#endif
    for (size_t level = 0; level < 3; level++) {
#ifdef SPLATSMITH_SANITIZED
        test_set_part((uint32_t)level % 2, 2); /* each case of a slow test at one of two levels of the same sources */
#endif
        for (size_t t = 0; t < sizeof thread_counts / sizeof thread_counts[0]; t++) {
            splat_backend *backend;
#ifndef SPLATSMITH_SANITIZED
            /* slow tests compare the bytes of several threads themselves: with three, each case at one of two levels */
            if (!is_long && !is_part_given) test_set_part(t ? (uint32_t)level % 2 : 0, t ? 2 : 1);
#endif
            if (splat_backend_cpu_create(thread_counts[t], levels[level], &backend, NULL) == SPLAT_OK) {
                run_tests(backend, argc, argv, totals);
            } else {
                printf("SKIPPED: this CPU has no %s\n", levels[level]);
                totals->skipped++;
            }
        }
    }
}

static void run_cuda(int argc, char **argv, test_totals *totals)
{
    splat_error error;
    splat_backend *backend;
    if (splat_backend_cuda_create(0, 1, false, true, &backend, &error) == SPLAT_OK) {
        run_tests(backend, argc, argv, totals);
        if (splat_backend_cuda_create(0, 1, true, true, &backend, &error) == SPLAT_OK)
            run_tests(backend, argc, argv, totals);
        return;
    }
    printf("SKIPPED: the ops on CUDA: %s\n", error.message);
    totals->skipped++;
}

static bool set_part(const char *text)
{
    unsigned part, n_parts;
    int end = 0;
    if (sscanf(text, "%u/%u%n", &part, &n_parts, &end) != 2 || text[end] || part < 1 || part > n_parts) return false;
    test_set_part(part - 1, n_parts);
    is_part_given = true;
    return true;
}

int main(int argc, char **argv)
{
    test_totals totals = {0};
    bool cpu = true, cuda = true;
    for (argc--, argv++; argc && strncmp(argv[0], "--", 2) == 0; argc -= 2, argv += 2) {
        const char *value = argc > 1 ? argv[1] : "";
        if (strcmp(argv[0], "--backend") == 0) {
            cpu = strcmp(value, "cpu") == 0;
            cuda = strcmp(value, "cuda") == 0;
        }
        const bool is_part = strcmp(argv[0], "--part") == 0;
        if ((!cpu && !cuda) || (is_part ? !set_part(value) : strcmp(argv[0], "--backend") != 0)) {
            fprintf(stderr, "test_ops: %s %s: options are --backend cpu or cuda, and --part 1/2\n", argv[0], value);
            return 2;
        }
    }
    for (int i = 0; i < argc; i++)
        if (!is_op(argv[i])) {
            fprintf(stderr, "test_ops: there is no op '%s'\n", argv[i]);
            return 2;
        }
    if (cpu) run_cpu(argc, argv, &totals);
    if (cuda) run_cuda(argc, argv, &totals);
    printf("%d passed, %d failed, %d skipped\n", totals.passed, totals.failed, totals.skipped);
    return totals.failed || !totals.passed;
}
