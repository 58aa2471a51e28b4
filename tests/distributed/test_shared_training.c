/* Training by several ranks that share each view, as threads: the bytes are those of one rank. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checkpoint_fixture.h"
#include "ranks_fixture.h"

/* A run from `from` (a checkpoint; NULL: the beginning) to an iteration, whose state is saved. */
typedef struct shared_run {
    splat_train_options options;
    const char *from, *to;
    int n_steps, threads;
    float losses[200]; /* of rank 0's steps */
    splat_status status[MAX_TEST_RANKS];
    splat_error error[MAX_TEST_RANKS];
} shared_run;

static splat_status steps_of_rank_0(shared_run *run, splat_trainer *t, splat_error *error)
{
    splat_step_info info;
    if (run->from) SPLAT_TRY(splat_trainer_load_checkpoint(t, run->from, error));
    for (int i = 0; i < run->n_steps; i++) {
        SPLAT_TRY(splat_trainer_step(t, &info, error));
        run->losses[i] = info.loss;
    }
    return run->to ? splat_trainer_save_checkpoint(t, run->to, error) : SPLAT_OK;
}

static void train_as(test_rank *rank)
{
    shared_run *run = rank->user;
    const int r = splat_comm_get_rank(rank->comm);
    splat_train_options options = run->options;
    splat_trainer *t = NULL;
    options.ranks = rank->comm;
    tiny_place p = open_tiny(run->threads);
    run->status[r] = splat_trainer_create(p.context, p.scene, &options, &t, &run->error[r]);
    if (run->status[r] == SPLAT_OK)
        run->status[r] = r ? splat_trainer_serve(t, &run->error[r]) : steps_of_rank_0(run, t, &run->error[r]);
    splat_trainer_destroy(t);
    splat_scene_close(p.scene);
    splat_context_destroy(p.context);
    free(p.log);
}

static shared_run train(int n_ranks, const splat_train_options *options, int n_steps, const char *from, const char *to)
{
    shared_run run = {.options = *options, .from = from, .to = to, .n_steps = n_steps, .threads = 1};
    tiny_place p = open_tiny(1); /* the scene is there before the ranks ask for it */
    close_tiny(&p);
    run_thread_ranks(n_ranks, train_as, &run);
    for (int r = 0; r < n_ranks; r++)
        if (run.status[r] != SPLAT_OK) fail_msg("rank %d of %d: %s", r, n_ranks, run.error[r].message);
    return run;
}

static void same_bytes(const splat_train_options *options, int n_steps)
{
    shared_run alone = train(1, options, n_steps, NULL, "alone.splatsmith");
    for (int n = 2; n <= 4; n++) {
        shared_run shared = train(n, options, n_steps, NULL, "shared.splatsmith");
        for (int i = 0; i < n_steps; i++)
            if (shared.losses[i] != alone.losses[i])
                fail_msg("%d ranks: step %d has the loss %.9g, not %.9g", n, i + 1, (double)shared.losses[i],
                         (double)alone.losses[i]);
        assert_true(same_checkpoints("alone.splatsmith", "shared.splatsmith"));
    }
}

static void the_bytes_are_those_of_one_rank(void **state)
{
    (void)state;
    splat_train_options o = tiny_options(120);
    same_bytes(&o, 120);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_those_of_one_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
