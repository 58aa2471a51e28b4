/* settle_rest on the CPU. */
#include "backend/backend.h"
#include "ops/rest/rest.h"

/* The host puts nothing off (splat_backend.defers_rest). */
splat_status splat_settle_rest_cpu(splat_backend *backend, const struct splat_settle_rest_args *args,
                                   splat_error *error)
{
    (void)backend;
    (void)args;
    (void)error;
    return SPLAT_OK;
}
