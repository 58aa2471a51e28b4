/* The sky behind the Gaussians: its memory, its place in a step, and its place in checkpoints. */
#include "train/parts/dome.h"

#include "distributed/device_exchange.h"
#include "io/dome_file.h"
#include "math/camera.h"
#include "model/dome.h"
#include "train/parts/part.h"
#include "train/ranks/shards.h"
#include "train/schedule.h"
#include "train/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 280       /* pixels of a mask's longer side */
#define SKY_WEIGHT 0.1f   /* of the opacity where a photo shows sky: about that of a colour against the dome */
#define RATE 0.002f
#define RATE_END 0.01     /* part of the rate at the end of the run */

/* ---------------------------------------------------------------- masks */

/* The size at which a mask is kept. */
static splat_dome_mask size_of(const splat_sky_mask *mask)
{
    const int longer = mask->width > mask->height ? mask->width : mask->height;
    const double scale = longer > LONGEST ? (double)LONGEST / longer : 1;
    if (!mask->pixels) return (splat_dome_mask){.width = 0};
    return (splat_dome_mask){.width = (int32_t)fmax(1, lround(scale * mask->width)),
                             .height = (int32_t)fmax(1, lround(scale * mask->height))};
}

static size_t words_of(const splat_dome_mask *mask)
{
    return ((size_t)mask->width * (size_t)mask->height + 31) / 32;
}

static size_t count_words(const splat_sky *sky)
{
    size_t n = 0;
    for (size_t i = 0; sky && sky->is_found && i < sky->n; i++) {
        const splat_dome_mask mask = size_of(&sky->masks[i]);
        n += words_of(&mask);
    }
    return n;
}

size_t splat_dome_sky_bytes(const splat_scene *scene)
{
    return count_words(scene->sky) * sizeof(uint32_t);
}

/* Writes the bits of a photo's trusted sky. */
static splat_status pack(const splat_sky *sky, size_t number, const splat_dome_mask *mask, uint32_t *words,
                         splat_error *error)
{
    const size_t n = (size_t)mask->width * (size_t)mask->height;
    uint8_t *trusted;
    SPLAT_TRY(splat_sky_take_trusted(sky, number, mask->width, mask->height, &trusted, error));
    for (size_t i = 0; trusted && i < n; i++) words[i / 32] |= (uint32_t)trusted[i] << i % 32;
    free(trusted);
    return SPLAT_OK;
}

static splat_status upload_masks(splat_trainer *t, const splat_sky *sky, splat_error *error)
{
    splat_dome_state *s = splat_dome_of(t);
    const splat_dataset *dataset = &t->scene->dataset;
    const size_t n_words = count_words(sky);
    uint32_t *words = calloc(n_words + 1, sizeof *words);
    size_t at = 0;
    s->masks = calloc(dataset->n_views, sizeof *s->masks);
    splat_status status = words && s->masks
                              ? SPLAT_OK
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the sky of %zu photos", sky->n);
    for (size_t i = 0; i < sky->n && n_words && status == SPLAT_OK; i++) {
        splat_dome_mask *mask = &s->masks[dataset->train[i]];
        *mask = size_of(&sky->masks[i]);
        mask->first_word = at;
        if (mask->width) status = pack(sky, i, mask, words + at, error);
        at += words_of(mask);
    }
    const size_t bytes = n_words * sizeof *words;
    if (status == SPLAT_OK && n_words)
        status = splat_block_resize(t->backend, &s->sky, "sky.masks", SPLAT_OWNER_IMAGES, bytes, error);
    if (status == SPLAT_OK && n_words)
        status = splat_backend_upload_and_wait(t->backend, s->sky.data, words, bytes, error);
    free(words);
    return status;
}

/* ---------------------------------------------------------------- memory */

enum { N_ARRAYS = 3 };
static const char *const names[N_ARRAYS] = {"sky", "adam_m.sky", "adam_v.sky"};

static splat_status make_blocks(splat_trainer *t, splat_error *error)
{
    splat_dome_state *s = splat_dome_of(t);
    splat_backend *b = t->backend;
    SPLAT_TRY(splat_block_resize(b, &s->m, names[1], SPLAT_OWNER_OPTIMIZER, SPLAT_DOME_BYTES, error));
    SPLAT_TRY(splat_block_resize(b, &s->v, names[2], SPLAT_OWNER_OPTIMIZER, SPLAT_DOME_BYTES, error));
    return splat_block_resize(b, &s->sums, "sky.sums", SPLAT_OWNER_OPTIMIZER, SPLAT_DOME_SUMS_BYTES, error);
}

/* The colours of the photos' sky; black where there is none, as without a dome. */
static splat_status begin_colors(splat_trainer *t, splat_error *error)
{
    splat_dome dome;
    float *black = NULL;
    SPLAT_TRY(splat_scene_find_sky_dome(t->scene, &dome, error));
    if (!dome.colors) {
        dome.colors = black = calloc(1, SPLAT_DOME_BYTES);
        if (!black) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the colours of a sky");
    }
    splat_status status = splat_model_set_dome(t->model, &dome, error);
    free(black);
    return status;
}

static splat_status init(splat_trainer *t, splat_error *error)
{
    const splat_sky *sky;
    if (!t->options.dome) return SPLAT_OK;
    SPLAT_TRY(splat_scene_find_sky(t->scene, &sky, error));
    SPLAT_TRY(begin_colors(t, error));
    SPLAT_TRY(make_blocks(t, error));
    splat_dome_of(t)->is_on = true;
    return upload_masks(t, sky, error);
}

static void free_state(splat_trainer *t)
{
    splat_dome_state *s = splat_dome_of(t);
    splat_block_free(t->backend, &s->m);
    splat_block_free(t->backend, &s->v);
    splat_block_free(t->backend, &s->sums);
    splat_block_free(t->backend, &s->batch_sums);
    splat_block_free(t->backend, &s->sky);
    free(s->masks);
}

static void bytes(const splat_part_work *work, splat_part_bytes *b)
{
    const size_t n_ranks = work->setup->n_ranks;
    if (!work->options->dome) return;
    b->frame = splat_work_pixels(&work->view) * sizeof(float);
    b->kept = SPLAT_MODEL_DOME_BYTES + 2 * SPLAT_DOME_BYTES + SPLAT_DOME_SUMS_BYTES + work->setup->sky_bytes;
    b->n_blocks = N_ARRAYS + 2;
    b->batch = n_ranks > 1 ? n_ranks * SPLAT_DOME_SUMS_BYTES : 0;
}

splat_status splat_trainer_load_sky(splat_trainer *t, const char *path, splat_error *error)
{
    splat_dome dome;
    if (!splat_dome_of(t)->is_on)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the sky of %s needs a trainer with `dome`", path);
    SPLAT_TRY(splat_dome_read(path, &dome, error));
    splat_status status = splat_model_set_dome(t->model, &dome, error);
    free((void *)dome.colors);
    return status == SPLAT_OK ? splat_dome_share(t, error) : status;
}

/* ---------------------------------------------------------------- a step */

float splat_dome_rate(const splat_train_options *o, int iteration)
{
    const int first = splat_schedule_continues_splat(o) && !o->binding ? o->coarse.first_iteration : 0;
    const double n = fmax(o->iterations - first, 1), at = fmin(fmax((iteration - first) / n, 0), 1);
    return RATE * (float)pow(RATE_END, at);
}

/* The sums begin again, also in a step that is tried again. */
static splat_status stage(splat_trainer *t, int iteration, splat_step_view *view, splat_error *error)
{
    const splat_dome_state *s = splat_dome_of(t);
    const size_t n_bytes = splat_camera_pixels(view->camera) * sizeof(float);
    (void)iteration;
    if (!s->is_on) return SPLAT_OK;
    SPLAT_TRY(splat_backend_zero(t->backend, s->sums.data, SPLAT_DOME_SUMS_BYTES, error));
    if (view->grad_alpha) return SPLAT_OK; /* masks or depth have it */
    SPLAT_TRY(splat_frame_take(t->backend, &t->model->frame, n_bytes, (void **)&view->grad_alpha, error));
    return splat_backend_zero(t->backend, view->grad_alpha, n_bytes, error);
}

static splat_status backward(splat_trainer *t, splat_step_view *view, splat_error *error)
{
    const splat_dome_state *s = splat_dome_of(t);
    if (!s->is_on) return SPLAT_OK;
    const splat_dome_mask *mask = &s->masks[view->index];
    const struct splat_dome_backward_args args = {
        .frame = &t->model->frame,
        .grad_image = view->grad_image,
        .grad_alpha = view->grad_alpha,
        .sums = s->sums.data,
        .sky = mask->width ? (const uint32_t *)s->sky.data + mask->first_word : NULL,
        .sky_width = mask->width,
        .sky_height = mask->height,
        .weight = SKY_WEIGHT};
    return splat_op_dome_backward(t->backend, &args, error);
}

/* sums: of view `index`; frame: that view's, or NULL. */
static splat_status step_by(splat_trainer *t, int iteration, uint32_t index, const int64_t *sums,
                            const splat_frame *frame, splat_error *error)
{
    splat_dome_state *s = splat_dome_of(t);
    const int n = s->steps + 1;
    const struct splat_dome_step_args args = {
        .colors = t->model->dome_block.data,
        .m = s->m.data,
        .v = s->v.data,
        .sums = sums,
        .n_pixels = splat_camera_pixels(&t->scene->dataset.views[index].camera),
        .lr = splat_dome_rate(&t->options, iteration),
        .correction1 = (float)(1.0 - pow((double)SPLAT_ADAM_BETA1, n)),
        .correction2 = (float)(1.0 - pow((double)SPLAT_ADAM_BETA2, n)),
        .frame = frame};
    SPLAT_TRY(splat_op_dome_step(t->backend, &args, error));
    s->steps = n;
    return SPLAT_OK;
}

/* With several ranks: room for the sums of all views. */
static splat_status begin(splat_trainer *t, splat_step *step, splat_error *error)
{
    splat_dome_state *s = splat_dome_of(t);
    if (!s->is_on || !t->shards.comm) return SPLAT_OK;
    return splat_block_ensure(t->backend, &s->batch_sums, "ranks.sky", SPLAT_OWNER_LISTS,
                              (size_t)step->n_views * SPLAT_DOME_SUMS_BYTES, error);
}

/* Each rank's sums to all. */
static splat_status share_sums(splat_trainer *t, const splat_step *step, splat_error *error)
{
    const splat_dome_state *s = splat_dome_of(t);
    const splat_comm *comm = t->shards.comm;
    splat_comm_part out[SPLAT_MAX_RANKS] = {{0}}, in[SPLAT_MAX_RANKS] = {{0}};
    for (int r = 0; r < step->n_views; r++)
        in[r] = (splat_comm_part){(char *)s->batch_sums.data + (size_t)r * SPLAT_DOME_SUMS_BYTES,
                                  SPLAT_DOME_SUMS_BYTES};
    for (int r = 0; r < comm->size && step->has_view; r++)
        out[r] = (splat_comm_part){s->sums.data, SPLAT_DOME_SUMS_BYTES};
    return splat_device_exchange(t->shards.comm, t->backend, out, in, error);
}

/* A step of Adam a view. With several ranks every rank has all colours and makes all steps, in the order of the
 * ranks. */
static splat_status update(splat_trainer *t, splat_step *step, splat_error *error)
{
    const splat_dome_state *s = splat_dome_of(t);
    if (!s->is_on) return SPLAT_OK;
    if (!t->shards.comm) return step_by(t, step->first, step->view.index, s->sums.data, &t->model->frame, error);
    SPLAT_TRY(share_sums(t, step, error));
    for (int r = 0; r < step->n_views; r++)
        SPLAT_TRY(step_by(t, step->first + r, step->views[r],
                          (const int64_t *)s->batch_sums.data + (size_t)r * SPLAT_DOME_NODES * 3, NULL, error));
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- ranks and checkpoints */

static splat_status share_block(splat_trainer *t, void *device, size_t n_bytes, void *host, splat_error *error)
{
    SPLAT_TRY(splat_backend_download(t->backend, host, device, n_bytes, error));
    SPLAT_TRY(splat_comm_broadcast(t->shards.comm, 0, host, n_bytes, error));
    return splat_backend_upload_and_wait(t->backend, device, host, n_bytes, error);
}

static splat_status share_all(splat_trainer *t, splat_error *error)
{
    splat_dome_state *s = splat_dome_of(t);
    void *host = malloc(SPLAT_MODEL_DOME_BYTES);
    if (!host) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the colours of a sky");
    splat_status status = splat_comm_broadcast(t->shards.comm, 0, &s->steps, sizeof s->steps, error);
    if (status == SPLAT_OK)
        status = share_block(t, t->model->dome_block.data, SPLAT_MODEL_DOME_BYTES, host, error);
    if (status == SPLAT_OK) status = share_block(t, s->m.data, SPLAT_DOME_BYTES, host, error);
    if (status == SPLAT_OK) status = share_block(t, s->v.data, SPLAT_DOME_BYTES, host, error);
    free(host);
    return status == SPLAT_OK ? splat_model_refresh_dome(t->model, error) : status;
}

splat_status splat_dome_share(splat_trainer *t, splat_error *error)
{
    splat_error own;
    if (!t->shards.comm || !splat_dome_of(t)->is_on) return SPLAT_OK;
    if (splat_shards_leads(t)) SPLAT_TRY(splat_shards_order(t, SPLAT_ORDER_DOME, error));
    return splat_shards_fail(t, share_all(t, &own), &own, error);
}

static bool is_on(const splat_trainer *t)
{
    return t->options.dome;
}

static int *steps(const splat_trainer *t)
{
    return &splat_dome_of(t)->steps;
}

static void state_arrays(const splat_trainer *t, splat_state_array *arrays, int *n)
{
    const splat_dome_state *s = splat_dome_of(t);
    const splat_block *const blocks[N_ARRAYS] = {&t->model->dome_block, &s->m, &s->v};
    for (int i = 0; i < N_ARRAYS && s->is_on; i++)
        arrays[(*n)++] =
            (splat_state_array){.name = names[i],
                                .type = "F32",
                                .is_of_all = true,
                                .rows = (uint32_t)((i ? 3 * SPLAT_DOME_NODES : SPLAT_MODEL_DOME_WORDS) / 4),
                                .words = 4,
                                .device = blocks[i]->data};
}

static splat_status restored(splat_trainer *t, splat_error *error)
{
    if (!splat_dome_of(t)->is_on) return SPLAT_OK;
    SPLAT_TRY(splat_model_refresh_dome(t->model, error));
    return splat_dome_share(t, error);
}

const splat_part splat_part_dome = {.name = "sky",
                                    .state_bytes = sizeof(splat_dome_state),
                                    .init = init,
                                    .free = free_state,
                                    .bytes = bytes,
                                    .begin = begin,
                                    .stage = stage,
                                    .backward = backward,
                                    .update = update,
                                    .steps_name = "dome_steps",
                                    .is_on = is_on,
                                    .steps = steps,
                                    .state_arrays = state_arrays,
                                    .restored = restored};
