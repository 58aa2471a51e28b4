/* The memory of a run, as the sum of the bytes that each op states. */
#include "train/memory/sizes.h"

#include "math/camera.h"
#include "model/model.h"
#include "ops/bin/bin_bytes.h"
#include "ops/knn/knn.h"
#include "ops/loss/loss_bytes.h"
#include "ops/raster/raster_bytes.h"
#include "ops/share/share.h"
#include "train/density/strategies.h"
#include "train/parts/bound_rows.h"
#include "train/parts/dome.h"
#include "train/parts/part.h"
#include "train/parts/regularizer.h"
#include "train/rest_state.h"
#include "train/state.h"
#include "train/step.h"

#define USUAL_CONTEXT_BYTES ((size_t)300 << 20) /* measured on an H200: 268 MiB; smaller cards have less */
#define GPU_GRANULE ((size_t)2 << 20)

#define OTHER_BLOCKS 9 /* frame, scratch, photos, steps put off, what a regularizer keeps */

/* At 0.4 to 0.5 megapixels 0.7 a Gaussian were measured (bonsai), 2.0 (fox) and 2.6 (a sample scene, of which single
 * views have more); larger pictures need more. Too few are dearer than too many: a pair takes 13 bytes on a device, and
 * a view with more of them than there is room for twice the time. With more than 3.5 of them, bands would save a device
 * some, before what costs less time is given up. */
size_t splat_memory_usual_instances(const splat_memory_setup *u, size_t n)
{
    double each = 6.5e-6 * (double)splat_work_pixels(&u->view);
    each = each < 1 ? 1 : each > 3.5 ? 3.5 : each;
    return (size_t)(each * (double)splat_memory_all(u, n)) + 100000;
}

splat_work splat_memory_work(const splat_memory_setup *u, size_t n, splat_list_room room)
{
    splat_work w = u->view;
    w.n = n;
    w.n_instances = room.n_instances;
    w.bands = room.bands;
    return w;
}

/* Bytes that a block of this size maps. */
static size_t mapped(const splat_memory_setup *u, size_t bytes)
{
    return (bytes + u->granule - 1) / u->granule * u->granule;
}

/* The bytes of n rows of arrays, of which the first are those of `tensors`: of harmonics on the device apart, and of
 * those on the host. */
static void add_rows(const splat_memory_setup *u, const splat_row_blocks *rows, const splat_tensor_table *tensors,
                     size_t n, size_t *sum, size_t *harmonics, size_t *host)
{
    for (int i = 0; i < rows->n_arrays; i++) {
        bool is_rest = i < tensors->n && tensors->rows[i].storage == SPLAT_STORED_HARMONICS;
        size_t *to = rows->blocks[i].placement == SPLAT_ON_HOST ? host : is_rest ? harmonics : sum;
        *to += mapped(u, n * rows->words[i] * sizeof(uint32_t));
    }
}

static size_t extra_rows(const splat_memory_setup *u, const splat_extra_array *arrays, int n_arrays, size_t n)
{
    size_t bytes = 0;
    for (int i = 0; i < n_arrays; i++) bytes += mapped(u, n * arrays[i].words * sizeof(uint32_t));
    return bytes;
}

/* GPUs have a view each. */
static uint32_t slots_of(const splat_memory_setup *u)
{
    return u->n_ranks > 1 ? (uint32_t)u->n_ranks : 1;
}

static void size_of_state(const splat_memory_setup *u, const splat_train_options *o, size_t n, splat_memory_sizes *s)
{
    const splat_strategy *strategy = splat_strategy_of(o);
    const splat_regularizer *regularizer = o->regularizer;
    const splat_tensor_table *tensors = &splat_gaussian_tensors;
    splat_row_blocks parameters = {.n_arrays = 0}, moments[2] = {{.n_arrays = 0}}, statistics = {.n_arrays = 0};
    splat_row_blocks_describe_parameters(&parameters, tensors, o->sh_degree, o->sh_storage,
                                         splat_place_of_harmonics(o));
    splat_row_blocks_describe_moments(moments, tensors, splat_bound_follows(o), o->sh_degree, o->optimizer_storage,
                                      splat_place_of_moments(o));
    add_rows(u, &parameters, tensors, n, &s->parameters, &s->sh, &s->host);
    for (int i = 0; i < 2; i++) add_rows(u, &moments[i], tensors, n, &s->moments, &s->sh_moments, &s->host);
    if (splat_defers_rest(u->view.on_device, o, slots_of(u))) {
        splat_row_blocks deferred = {.n_arrays = 0};
        splat_deferral_describe(&deferred, slots_of(u));
        add_rows(u, &deferred, &(const splat_tensor_table){0}, n, &s->moments, &s->moments, &s->host);
    }
    splat_statistics_describe(&statistics);
    if (strategy->wants_statistics(o, 0))
        add_rows(u, &statistics, &(const splat_tensor_table){0}, n, &s->statistics, &s->statistics, &s->host);
    s->statistics += extra_rows(u, strategy->arrays, strategy->n_arrays, n);
    s->bound = splat_bound_bytes(o, n, u->n_vertices);
    if (regularizer) s->regularizer = extra_rows(u, regularizer->arrays, regularizer->n_arrays, n);
    s->regularizer += splat_regularizer_neighbor_bytes(o, splat_work_pixels(&u->view));
}

size_t splat_memory_streamed_photos(const splat_memory_setup *u, const splat_train_options *o)
{
    bool sees_neighbors = splat_regularizer_neighbor_bytes(o, splat_work_pixels(&u->view)) > 0;
    return u->photos_two + (sees_neighbors ? u->photos_two / 2 : 0);
}

/* Memory of a GPU that trains with others, n Gaussians each: its own in every view of a step, the sums of their
 * gradients and of the squares of these, and the rows of views that are sent there and back. Shares of 5 to 30 %
 * were measured; a third is counted on. */
#define USUAL_SEEN 3

static size_t ranks_bytes(const splat_memory_setup *u, const splat_train_options *o, size_t n)
{
    const size_t all = n * u->n_ranks, seen = all / USUAL_SEEN;
    const bool defers = splat_defers_rest(u->view.on_device, o, slots_of(u));
    size_t channels = 0;
    if (u->n_ranks < 2) return 0;
    for (int i = 0; i < SPLAT_N_TENSORS; i++)
        channels += defers && i == SPLAT_TENSOR_sh_rest ? 0 : splat_tensor_channels(i, o->sh_degree);
    const size_t rows = 2 * sizeof(splat_share_row) + 3 * sizeof(float) + sizeof(splat_grad2d);
    return u->n_ranks * mapped(u, splat_view_arrays_bytes(n, 0, 0)) + 2 * mapped(u, n * channels * sizeof(float)) +
           mapped(u, all * sizeof(uint32_t)) + mapped(u, seen * rows);
}

splat_memory_sizes splat_memory_sizes_of(const splat_memory_setup *u, const splat_train_options *o, size_t n,
                                         splat_list_room room)
{
    splat_memory_sizes s = {.overhead = u->overhead};
    const size_t n_seen = u->n_ranks > 1 ? n * u->n_ranks / USUAL_SEEN : n; /* in the frame of the own view */
    splat_work w = splat_memory_work(u, n_seen, room);
    const splat_strategy *strategy = splat_strategy_of(o);
    size_of_state(u, o, n, &s);
    const splat_part_bytes parts = splat_parts_bytes(&(splat_part_work){u, o, w, n});
    s.ranks = ranks_bytes(u, o, n) + parts.batch;
    s.frame = splat_view_bytes(&w) + splat_bin_frame_bytes(&w) + splat_step_gradient_bytes(splat_work_pixels(&w)) +
              parts.frame + (w.bands ? splat_view_gradients_bytes(n_seen) : 0);
    s.parts = parts.kept;
    s.scratch = splat_larger(splat_bin_scratch_bytes(&w), splat_raster_backward_scratch_bytes(&w) + parts.backward);
    s.scratch = splat_larger(s.scratch, splat_loss_scratch_bytes(&w));
    s.scratch = splat_larger(s.scratch, splat_knn_scratch_bytes(w.on_device, u->n_points)); /* at the start */
    if (strategy->work_bytes) s.scratch = splat_larger(s.scratch, strategy->work_bytes(w.on_device, n));
    if (o->binding && o->binding->scratch_bytes) s.scratch = splat_larger(s.scratch, o->binding->scratch_bytes(o, n));
    if (o->regularizer && o->regularizer->work_bytes) {
        size_t frame, scratch;
        o->regularizer->work_bytes(o, &w, &frame, &scratch); /* before the photo's view, in the same memory */
        s.frame = splat_larger(s.frame, frame);
        s.scratch = splat_larger(s.scratch, scratch);
    }
    s.photos_stream = o->photos_on_host || u->photos_all == u->photos_two;
    s.photos = s.photos_stream ? splat_memory_streamed_photos(u, o) : u->photos_all;
    /* The last granule of the blocks that are not rows; cameras, counters. */
    size_t n_blocks = OTHER_BLOCKS + splat_bound_blocks(o) + parts.n_blocks;
    s.rest = n_blocks * u->granule + ((size_t)1 << 18);
    return s;
}

static size_t total_of(const splat_memory_sizes *s)
{
    size_t state = s->parameters + s->sh + s->moments + s->sh_moments + s->statistics + s->regularizer +
                   s->bound;
    return s->overhead + state + s->frame + s->scratch + s->photos + s->parts + s->ranks + s->rest;
}

size_t splat_memory_total(const splat_memory_setup *u, const splat_train_options *o, size_t n, splat_list_room room)
{
    splat_memory_sizes s = splat_memory_sizes_of(u, o, n, room);
    return total_of(&s);
}

splat_memory_setup splat_memory_setup_of(const splat_context *context, const splat_scene *scene, bool for_gpu,
                                         size_t overhead, size_t n_vertices)
{
    splat_backend *backend = context->backend;
    const splat_dataset *dataset = &scene->dataset;
    bool gpu = for_gpu || backend->device_bytes > 0;
    splat_memory_setup u = {.view = {.on_device = gpu,
                                     .deterministic = backend->deterministic,
                                     .threads = (size_t)context->threads},
                            .granule = backend->granularity,
                            .n_points = dataset->n_points,
                            .n_depth_points = dataset->n_depth_points,
                            .has_depth_maps = dataset->n_depths > 0,
                            .n_vertices = n_vertices,
                            .sky_bytes = splat_dome_sky_bytes(scene),
                            .overhead = overhead};
    if (gpu && u.granule < GPU_GRANULE) u.granule = GPU_GRANULE;
    if (!u.overhead && gpu)
        u.overhead = splat_overhead_step(SPLAT_LATE_BYTES + (backend->device_bytes ? splat_backend_overhead(backend)
                                                                                   : USUAL_CONTEXT_BYTES));
    for (size_t i = 0; i < dataset->n_views; i++) {
        const splat_camera *camera = &dataset->views[i].camera;
        if (dataset->views[i].n_depth_points)
            u.depth_patch_bytes += splat_tiles_along((size_t)camera->width) * splat_tiles_along((size_t)camera->height);
        if (splat_camera_pixels(camera) <= splat_work_pixels(&u.view)) continue;
        u.view.width = (size_t)camera->width;
        u.view.height = (size_t)camera->height;
    }
    for (size_t i = 0; i < dataset->n_train; i++) {
        size_t bytes = splat_view_decoded_bytes(&dataset->views[dataset->train[i]]);
        u.photos_all += bytes;
        if (dataset->views[dataset->train[i]].has_mask) u.mask_mode = dataset->mask_mode;
        u.photos_two = splat_larger(u.photos_two, 2 * bytes);
    }
    /* As photo_store.c: a host has no photos apart, and a device keeps them up to a part of its memory. */
    if (!gpu || (backend->device_bytes && u.photos_all > backend->device_bytes / SPLAT_PHOTO_SHARE))
        u.photos_all = u.photos_two;
    return u;
}
