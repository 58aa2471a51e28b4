/* clear_gradients: every visible row is zero, and none beyond them is touched. */
#include "ops/raster/raster.h"

#include "ops/test_ops.h"

#include <stdlib.h>
#include <string.h>

enum { N = 1000, N_VALUES = sizeof(splat_grad2d) / sizeof(float) };

int test_op_clear_gradients(splat_backend *backend)
{
    int failures = 0;
    splat_block blocks[2] = {{0}};
    float *depth = calloc(N, sizeof *depth), *rows = malloc((N + 1) * sizeof(splat_grad2d));
    for (size_t i = 0; i < N; i++) depth[i] = backend->device_bytes && i % 3 == 1 ? 0.0f : 1.0f + (float)i;
    for (size_t i = 0; i < (N + 1) * N_VALUES; i++) rows[i] = 7.0f;
    splat_frame frame = {.n_visible = N, .capacity = N};
    frame.depth = test_upload(backend, &blocks[0], depth, N * sizeof *depth);
    frame.grad2d = test_upload(backend, &blocks[1], rows, (N + 1) * sizeof(splat_grad2d));
    splat_status status = splat_op_clear_gradients(backend, &(struct splat_clear_gradients_args){&frame}, NULL);
    TEST_CHECK(failures, status == SPLAT_OK, "clear_gradients failed");
    test_download(backend, rows, frame.grad2d, (N + 1) * sizeof(splat_grad2d));
    for (size_t i = 0; i <= N && failures < 5; i++)
        for (size_t k = 0; k < N_VALUES; k++) {
            const float got = rows[i * N_VALUES + k];
            if (i < N && depth[i] == 0.0f) continue; /* undefined */
            TEST_CHECK(failures, got == (i < N ? 0.0f : 7.0f), "row %zu has %g", i, (double)got);
        }
    frame.n_visible = 0;
    status = splat_op_clear_gradients(backend, &(struct splat_clear_gradients_args){&frame}, NULL);
    TEST_CHECK(failures, status == SPLAT_OK, "clear_gradients of nothing failed");
    for (int i = 0; i < 2; i++) splat_block_free(backend, &blocks[i]);
    free(depth);
    free(rows);
    return failures;
}
