/* The op table. Each op is one function over plain pointers; shapes and meanings stand in its contract. */
#ifndef SPLAT_OPS_OPS_H
#define SPLAT_OPS_OPS_H

#include "base/error.h"

struct splat_backend;

#define SPLAT_OP(name) struct splat_##name##_args;
#include "ops/ops.def"
#undef SPLAT_OP

typedef struct splat_ops {
#define SPLAT_OP(name)                                                                                                 \
    splat_status (*name)(struct splat_backend * backend, const struct splat_##name##_args *args, splat_error *error);
#include "ops/ops.def"
#undef SPLAT_OP
} splat_ops;

/* The CPU versions. */
#define SPLAT_OP(name)                                                                                                 \
    splat_status splat_##name##_cpu(struct splat_backend *backend, const struct splat_##name##_args *args,             \
                                    splat_error *error);
#include "ops/ops.def"
#undef SPLAT_OP

#endif
