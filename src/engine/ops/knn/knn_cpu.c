/* knn on the CPU: a tree of the points is asked for the neighbours of each. */
#include "backend/backend.h"
#include "ops/knn/knn.h"

#include <string.h>

splat_status splat_knn_cpu(splat_backend *backend, const struct splat_knn_args *args, splat_error *error)
{
    uint32_t n = args->n, k = args->k;
    if (k < 1 || k > SPLAT_POINT_TREE_MAX_K)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "knn: k must be between 1 and %d, not %u",
                          SPLAT_POINT_TREE_MAX_K, k);
    if (n <= k)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "%u nearest neighbours need at least %u points; there are %u", k,
                          k + 1, n);
    void *memory;
    splat_point_tree tree;
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, splat_knn_scratch_bytes(false, n), &memory, error));
    SPLAT_TRY(splat_point_tree_build(&tree, args->points, n, memory, backend->threads, error));
#pragma omp parallel for num_threads(backend->threads) schedule(dynamic, 256)
    for (int64_t i = 0; i < (int64_t)n; i++) { /* in leaf order: neighbouring queries visit the same nodes */
        float distances2[SPLAT_POINT_TREE_MAX_K];
        uint32_t indices[SPLAT_POINT_TREE_MAX_K], index = tree.points[i].index;
        splat_point_tree_nearest(&tree, tree.points[i].place, k, index, distances2, indices);
        if (args->distances2) memcpy(args->distances2 + (size_t)index * k, distances2, k * sizeof *distances2);
        if (args->indices) memcpy(args->indices + (size_t)index * k, indices, k * sizeof *indices);
    }
    return SPLAT_OK;
}
