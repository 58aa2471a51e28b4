/* The bytes of a training run: what it holds with so many Gaussians, in the storages that its options say. Pure
 * arithmetic on the ops' own figures; tests/backend/test_memory.c and the device tests compare it with what runs really
 * hold. */
#ifndef SPLAT_TRAIN_MEMORY_SIZES_H
#define SPLAT_TRAIN_MEMORY_SIZES_H

#include "base/context.h"
#include "scene/scene.h"
#include "train/memory/setup.h"

typedef struct splat_memory_sizes {
    size_t overhead, parameters, sh, moments, sh_moments, statistics, regularizer, bound, frame, scratch, photos,
        parts, ranks, rest;
    size_t host; /* pinned, in addition to all others */
    bool photos_stream; /* `photos` are those of two steps, not all */
} splat_memory_sizes;

/* The part of the limit that counts as the driver's goes by so many bytes: kernels that it loads at one moment or
 * another do not decide what a run gives up. */
#define SPLAT_OVERHEAD_STEP ((size_t)16 << 20)

static inline size_t splat_overhead_step(size_t bytes)
{
    return (bytes + SPLAT_OVERHEAD_STEP - 1) / SPLAT_OVERHEAD_STEP * SPLAT_OVERHEAD_STEP;
}

/* The driver's additional memory on each of several GPUs that train together: measured on two H200s, with NCCL
 * 2.28.9. */
#define SPLAT_PEERS_BYTES ((size_t)1268 << 20)

/* for_gpu: plan for one although the context runs on the CPU. overhead: 0: what the driver tells, or a usual figure. */
splat_memory_setup splat_memory_setup_of(const splat_context *context, const splat_scene *scene, bool for_gpu,
                                         size_t overhead, size_t n_vertices);

/* Room for (Gaussian, tile) pairs of a view: at a time, and whether a view may have more, so that it is done in
 * bands. */
typedef struct splat_list_room {
    size_t n_instances;
    bool bands;
} splat_list_room;

/* The Gaussians of a view, if each rank has n. */
static inline size_t splat_memory_all(const splat_memory_setup *setup, size_t n)
{
    return setup->n_ranks > 1 ? n * setup->n_ranks : n;
}

/* More pairs than views usually have. */
size_t splat_memory_usual_instances(const splat_memory_setup *setup, size_t n);
/* The work of a view of n Gaussians. */
splat_work splat_memory_work(const splat_memory_setup *setup, size_t n, splat_list_room room);
/* Bytes of photos on the device when they are streamed: those of two steps, and one of a neighbouring view if the
 * regularizer uses it. */
size_t splat_memory_streamed_photos(const splat_memory_setup *setup, const splat_train_options *options);
/* With n Gaussians; options->max_instances does not count. */
splat_memory_sizes splat_memory_sizes_of(const splat_memory_setup *setup, const splat_train_options *options, size_t n,
                                         splat_list_room room);
size_t splat_memory_total(const splat_memory_setup *setup, const splat_train_options *options, size_t n,
                          splat_list_room room);

#endif
