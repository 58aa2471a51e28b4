/* The collectives between ranks: over threads, and over MPI, where this program is started again by mpirun. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "distributed/comm.h"
#include "ranks_fixture.h"

#include <signal.h>
#include <stdatomic.h>

static atomic_int n_faults; /* of all threads */

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (condition) break;                                                                                          \
        fprintf(stderr, "rank %d: %s:%d: %s\n", splat_comm_get_rank(comm), __FILE__, __LINE__, #condition);            \
        atomic_fetch_add(&n_faults, 1);                                                                                \
    } while (0)

/* ---------------------------------------------------------------- what every transport does */

/* Row k that rank `from` sends to rank `to` of `rows` rows. */
static uint32_t row_value(int from, int to, uint64_t k)
{
    return (uint32_t)from * 1000003u + (uint32_t)to * 10007u + (uint32_t)k;
}

/* Rows that rank `from` sends to rank `to`: none to some, millions to one. */
static uint64_t rows_between(int from, int to)
{
    if (from == 0 && to == 1) return 3 << 20;
    return (uint64_t)((from * 7 + to * 3) % 5) * 11;
}

static void exchange_rows(splat_comm *comm)
{
    const int rank = splat_comm_get_rank(comm), size = splat_comm_get_size(comm);
    uint64_t out_rows[MAX_TEST_RANKS], in_rows[MAX_TEST_RANKS], n_out = 0, n_in = 0;
    for (int r = 0; r < size; r++) n_out += out_rows[r] = rows_between(rank, r);
    CHECK(splat_comm_exchange_counts(comm, out_rows, in_rows, NULL) == SPLAT_OK);
    for (int r = 0; r < size; r++) {
        CHECK(in_rows[r] == rows_between(r, rank));
        n_in += in_rows[r];
    }
    uint32_t(*out)[2] = calloc(n_out + 1, sizeof *out), (*in)[2] = calloc(n_in + 1, sizeof *in);
    uint64_t at = 0, wrong = 0;
    for (int r = 0; r < size; r++)
        for (uint64_t k = 0; k < out_rows[r]; k++, at++) {
            out[at][0] = row_value(rank, r, k);
            out[at][1] = ~out[at][0];
        }
    CHECK(splat_comm_exchange_rows(comm, sizeof *out, out, out_rows, in, in_rows, NULL) == SPLAT_OK);
    at = 0;
    for (int r = 0; r < size; r++)
        for (uint64_t k = 0; k < in_rows[r]; k++, at++)
            wrong += in[at][0] != row_value(r, rank, k) || in[at][1] != ~in[at][0];
    CHECK(wrong == 0);
    free(out);
    free(in);
}

/* Summands whose sum shows its order. */
static double summand(int rank)
{
    return rank % 3 == 0 ? 1e16 : rank % 3 == 1 ? 1 : -1e16;
}

static void reduce(splat_comm *comm)
{
    const int rank = splat_comm_get_rank(comm), size = splat_comm_get_size(comm);
    double reals[3] = {summand(rank), rank, -rank}, expected = summand(0);
    uint64_t wholes[2] = {(uint64_t)1 << 60 | (uint64_t)rank, (uint64_t)(size - rank)};
    uint64_t largest[1] = {(uint64_t)(rank == size / 2 ? 77 : rank)};
    for (int r = 1; r < size; r++) expected += summand(r);
    CHECK(splat_comm_reduce_f64(comm, SPLAT_COMM_SUM, reals, 3, NULL) == SPLAT_OK);
    CHECK(reals[0] == expected && reals[1] == size * (size - 1) / 2.0 && reals[2] == -reals[1]);
    CHECK(splat_comm_reduce_u64(comm, SPLAT_COMM_SUM, wholes, 2, NULL) == SPLAT_OK);
    CHECK(wholes[0] == ((uint64_t)size << 60) + (uint64_t)(size * (size - 1) / 2));
    CHECK(wholes[1] == (uint64_t)(size * (size + 1) / 2));
    CHECK(splat_comm_reduce_u64(comm, SPLAT_COMM_MAX, largest, 1, NULL) == SPLAT_OK && largest[0] == 77);
    double low[1] = {-5.0 - rank};
    CHECK(splat_comm_reduce_f64(comm, SPLAT_COMM_MAX, low, 1, NULL) == SPLAT_OK && low[0] == -5);
}

static void broadcast(splat_comm *comm)
{
    const int rank = splat_comm_get_rank(comm), size = splat_comm_get_size(comm);
    for (int root = 0; root < size; root++) {
        uint8_t data[1000];
        memset(data, rank == root ? 0xa0 + root : 0, sizeof data);
        CHECK(splat_comm_broadcast(comm, root, data, sizeof data, NULL) == SPLAT_OK);
        CHECK(data[0] == 0xa0 + root && data[sizeof data - 1] == 0xa0 + root);
    }
    CHECK(splat_comm_broadcast(comm, 0, NULL, 0, NULL) == SPLAT_OK);
    CHECK(splat_comm_barrier(comm, NULL) == SPLAT_OK);
}

static void every_collective(test_rank *rank)
{
    for (int round = 0; round < 3; round++) {
        exchange_rows(rank->comm);
        reduce(rank->comm);
        broadcast(rank->comm);
    }
}

/* The last rank fails while the others wait; what they hear names it, whatever they say themselves afterwards. */
static void one_fails(test_rank *rank)
{
    splat_comm *comm = rank->comm;
    const int last = splat_comm_get_size(comm) - 1;
    splat_error error = {.status = SPLAT_ERROR_IO, .message = "there is no such scene"};
    char expected[64];
    snprintf(expected, sizeof expected, "rank %d: there is no such scene", last);
    CHECK(splat_comm_barrier(comm, NULL) == SPLAT_OK);
    if (splat_comm_get_rank(comm) == last) {
        splat_comm_fail(comm, &error);
        return;
    }
    for (int i = 0; i < 2; i++) {
        CHECK(splat_comm_barrier(comm, &error) == SPLAT_ERROR_RANK);
        CHECK(strcmp(error.message, expected) == 0);
        splat_comm_fail(comm, &error);
    }
}

/* ---------------------------------------------------------------- threads */

static void over_threads(void **state)
{
    (void)state;
    for (int n = 1; n <= 5; n++) run_thread_ranks(n, every_collective, NULL);
    assert_int_equal(n_faults, 0);
}

static void threads_fail_together(void **state)
{
    (void)state;
    run_thread_ranks(4, one_fails, NULL);
    assert_int_equal(n_faults, 0);
}

/* Both sides must know what comes. */
static void unequal(test_rank *rank)
{
    splat_comm *comm = rank->comm;
    uint8_t out[2][8] = {{0}}, in[2][8];
    splat_error error;
    const int r = splat_comm_get_rank(comm);
    splat_comm_part send[2] = {{out[0], 8}, {out[1], 8}}, receive[2] = {{in[0], 8}, {in[1], 8}};
    if (r == 1) receive[0].bytes = 4;
    splat_status status = splat_comm_exchange(comm, send, receive, &error);
    CHECK(status == (r == 1 ? SPLAT_ERROR_INTERNAL : SPLAT_OK));
}

static void sizes_that_differ_are_refused(void **state)
{
    (void)state;
    splat_error error;
    splat_comm *comm;
    run_thread_ranks(2, unequal, NULL);
    assert_int_equal(n_faults, 0);
    assert_int_equal(splat_comm_create_threads(0, &comm, &error), SPLAT_ERROR_ARGUMENT);
    assert_int_equal(splat_comm_create_threads(SPLAT_MAX_RANKS + 1, &comm, &error), SPLAT_ERROR_ARGUMENT);
}

/* ---------------------------------------------------------------- long waits, interrupts */

static char reported[4][256];
static int n_reported;

static void keep_report(void *user, splat_log_level level, const char *message)
{
    (void)user;
    (void)level;
    if (n_reported < 4) snprintf(reported[n_reported], sizeof reported[0], "%s", message);
    n_reported++;
}

/* Ranks 1 and 2 come late to one of three meetings. */
static void two_are_late(test_rank *rank)
{
    static const splat_context context = {.log = keep_report};
    splat_comm *comm = rank->comm;
    const int r = splat_comm_get_rank(comm);
    if (r == 0) comm->log = &context;
    CHECK(splat_comm_barrier(comm, NULL) == SPLAT_OK);
    if (r == 1 || r == 2) usleep(1000000);
    CHECK(splat_comm_barrier(comm, NULL) == SPLAT_OK);
    CHECK(splat_comm_barrier(comm, NULL) == SPLAT_OK);
}

static void a_long_wait_for_threads_is_reported_once(void **state)
{
    (void)state;
    n_reported = 0;
    assert_int_equal(setenv("SPLATSMITH_RANK_PATIENCE", "0.3", 1), 0);
    run_thread_ranks(4, two_are_late, NULL);
    assert_int_equal(unsetenv("SPLATSMITH_RANK_PATIENCE"), 0);
    assert_int_equal(n_faults, 0);
    assert_int_equal(n_reported, 2);
    assert_non_null(strstr(reported[0], "rank 0 has waited 0 s for rank 1 and 1 more, which is stopped"));
    assert_non_null(strstr(reported[1], "rank 1 has answered after 1 s"));
}

/* Only rank 0 gets to know of it, with the signal. */
static void one_is_interrupted(test_rank *rank)
{
    splat_comm *comm = rank->comm;
    const int r = splat_comm_get_rank(comm);
    int number = -1;
    CHECK(!splat_comm_is_interrupted(comm) && splat_comm_get_interrupt(comm, &number) == 0 && number == 0);
    CHECK(splat_comm_barrier(comm, NULL) == SPLAT_OK);
    if (r == 2) splat_comm_interrupt_by(comm, SIGTERM);
    for (int i = 0; i < 3; i++) CHECK(splat_comm_barrier(comm, NULL) == SPLAT_OK);
    CHECK(splat_comm_is_interrupted(comm) == (r == 0));
    CHECK(splat_comm_get_interrupt(comm, &number) == (r == 0 ? 2 : 0));
    CHECK(number == (r == 0 ? SIGTERM : 0));
}

static void rank_0_hears_of_interrupted_threads(void **state)
{
    (void)state;
    run_thread_ranks(3, one_is_interrupted, NULL);
    assert_int_equal(n_faults, 0);
}

/* ---------------------------------------------------------------- the launcher */

static void the_environment_tells_the_rank(void **state)
{
    (void)state;
    int rank, size;
    splat_launch_get(&rank, &size);
    assert_true(rank == 0 && size == 1);
    setenv("PMI_RANK", "2", 1);
    setenv("PMI_SIZE", "4", 1);
    splat_launch_get(&rank, &size);
    assert_true(rank == 2 && size == 4);
    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
    splat_launch_get(&rank, &size);
    assert_true(rank == 1 && size == 3);
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1); /* nonsense is not taken */
    unsetenv("PMI_SIZE");
    splat_launch_get(&rank, &size);
    assert_true(rank == 0 && size == 1);
    unsetenv("PMI_RANK");
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("OMPI_COMM_WORLD_SIZE");
}

/* ---------------------------------------------------------------- MPI */

static char program[4096];

/* Runs this program's part `what` as processes; its exit code. Where one is killed mpirun would leave the others a
 * second, in which on a busy machine they may not be done. */
static int run_processes(const char *mpirun, const char *what)
{
    char command[sizeof program + 256];
    snprintf(command, sizeof command, "timeout 60 %s --mca odls_base_sigkill_timeout 6 %s process %s >mpirun.txt 2>&1",
             mpirun, program, what);
    return shell_code(command);
}

static void over_mpi(void **state)
{
    (void)state;
    const char *mpirun = mpirun_command(3);
    if (!mpirun) skip();
    assert_int_equal(run_processes(mpirun, "all"), 0);
    assert_int_equal(run_processes(mpirun, "fail"), 0);
    assert_int_equal(run_processes(mpirun, "interrupt"), 0);
    assert_int_equal(run_processes(mpirun_command(1), "all"), 0);
}

/* A killed rank: the others hear of it at once and by its number. */
static void a_killed_process_is_named(void **state)
{
    (void)state;
    const char *mpirun = mpirun_command(3);
    if (!mpirun) skip();
    remove("lost.txt");
    assert_true(run_processes(mpirun, "kill") != 0);
    char line[256] = "";
    FILE *file = fopen("lost.txt", "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    assert_non_null(strstr(line, "rank 1: its process has ended without a word"));
}

static void one_is_killed(test_rank *rank)
{
    splat_comm *comm = rank->comm;
    splat_error error;
    signal(SIGTERM, SIG_IGN); /* mpirun's */
    CHECK(splat_comm_barrier(comm, NULL) == SPLAT_OK);
    if (splat_comm_get_rank(comm) == 1) raise(SIGKILL);
    CHECK(splat_comm_barrier(comm, &error) == SPLAT_ERROR_RANK);
    FILE *file = splat_comm_get_rank(comm) == 0 ? fopen("lost.txt", "w") : NULL;
    if (!file) return;
    fprintf(file, "%s\n", error.message);
    fclose(file);
}

/* As one of the processes. */
static int run_as_process(const char *what)
{
    test_rank rank = {0};
    splat_error error;
    if (splat_comm_open_mpi(&rank.comm, &error) != SPLAT_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 2;
    }
    rank.work = strcmp(what, "all") == 0         ? every_collective
                : strcmp(what, "fail") == 0      ? one_fails
                : strcmp(what, "interrupt") == 0 ? one_is_interrupted
                                                 : one_is_killed;
    test_rank_thread(&rank);
    return n_faults > 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_threads),
        cmocka_unit_test(threads_fail_together),
        cmocka_unit_test(sizes_that_differ_are_refused),
        cmocka_unit_test(a_long_wait_for_threads_is_reported_once),
        cmocka_unit_test(rank_0_hears_of_interrupted_threads),
        cmocka_unit_test(the_environment_tells_the_rank),
        cmocka_unit_test(over_mpi),
        cmocka_unit_test(a_killed_process_is_named),
    };
    if (argc == 3 && strcmp(argv[1], "process") == 0) return run_as_process(argv[2]);
    if (!realpath("/proc/self/exe", program)) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
