/* history.jsonl of a run that goes on: what is kept is written again, and read back as the same. */
#include "fuzz.h"

#include "report/page/run_history.h"

#include <limits.h>

static size_t open_and_close(int iteration, size_t *n_evaluations)
{
    static const splat_history_losses losses = {
        "coarse", "coarse training", 2, {"entropy", "depth_normal"}, {"opacity entropy", "depth and normals"}};
    splat_run_history history;
    splat_error error;
    fuzz_judge(splat_run_history_open(&history, ".", iteration, &losses, &error), &error);
    size_t n = history.n_points;
    for (size_t i = 1; i < n; i++)
        if (history.points[i].iteration <= history.points[i - 1].iteration) abort();
    *n_evaluations = history.n_evaluations;
    splat_run_history_close(&history);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n_first, n_second;
    fuzz_file("history.jsonl", data, size);
    size_t first = open_and_close(INT_MAX, &n_first), second = open_and_close(INT_MAX, &n_second);
    if (first != second || n_first != n_second) abort();
    return 0;
}
