/* The gains of photos and cameras: their memory, their seed, their place in a step, and what a file has of them. */
#include "train/parts/exposure.h"

#include "scene/dataset_size.h"

#include "distributed/device_exchange.h"
#include "io/picture/exif.h"
#include "math/camera.h"
#include "scene/photo.h"
#include "train/parts/part.h"
#include "train/ranks/shards.h"
#include "train/schedule.h"
#include "train/state.h"
#include "train/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROW_BYTES (SPLAT_EXPOSURE_ROW * sizeof(float))
enum { N_ARRAYS = 3 };

/* ---------------------------------------------------------------- memory */

/* Rows of photos and cameras; cameras in the order of their first photos. */
static splat_status number_rows(splat_exposure_state *s, const splat_dataset *dataset, splat_error *error)
{
    s->photo_of = calloc(3 * dataset->n_views, sizeof *s->photo_of);
    if (!s->photo_of) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the exposures of the photos");
    s->camera_of = s->photo_of + dataset->n_views;
    s->view_of = s->camera_of + dataset->n_views;
    s->n_photos = 0;
    for (uint32_t i = 0; i < (uint32_t)dataset->n_train; i++) {
        uint32_t view = dataset->train[i], earlier = 0;
        while (earlier < i && !splat_view_same_camera(&dataset->views[dataset->train[earlier]], &dataset->views[view]))
            earlier++;
        if (dataset->views[view].crop == 0) s->view_of[s->n_photos++] = view;
        s->photo_of[view] = s->n_photos - 1;
        s->camera_of[view] = earlier < i ? s->camera_of[dataset->train[earlier]] : s->n_cameras++;
    }
    return SPLAT_OK;
}

static uint32_t n_rows(const splat_exposure_state *s)
{
    return s->n_photos + s->n_cameras;
}

/* In checkpoints and lists of memory. */
static const char *const names[N_ARRAYS] = {"exposures", "adam_m.exposures", "adam_v.exposures"};

static splat_status make_rows(splat_trainer *t, splat_error *error)
{
    splat_exposure_state *s = splat_exposures_of(t);
    SPLAT_TRY(number_rows(s, &t->scene->dataset, error));
    splat_block *const blocks[N_ARRAYS] = {&s->values, &s->m, &s->v};
    for (int i = 0; i < N_ARRAYS; i++)
        SPLAT_TRY(splat_block_resize(t->backend, blocks[i], names[i],
                                     i ? SPLAT_OWNER_OPTIMIZER : SPLAT_OWNER_PARAMETERS, n_rows(s) * ROW_BYTES,
                                     error));
    return SPLAT_OK;
}

static void free_state(splat_trainer *t)
{
    splat_exposure_state *s = splat_exposures_of(t);
    splat_block_free(t->backend, &s->values);
    splat_block_free(t->backend, &s->m);
    splat_block_free(t->backend, &s->v);
    splat_block_free(t->backend, &s->batch_sums);
    free(s->photo_of);
}

/* ---------------------------------------------------------------- EXIF */

/* Photos hold display values: a linear gain of 2^E is one of 2^(E/2.2) of what they hold. */
#define DISPLAY_GAMMA 2.2
#define MOST_STOPS 2.0
#define SPREAD_WORTH_IT 0.3 /* stops, a standard deviation */

/* stops[n_photos]: by EXIF, less the mean of those that tell; NAN where not all photos of the camera do. Returns the
 * deviation, 0 without any. */
static double read_stops(const splat_exposure_state *s, const splat_dataset *dataset, double *stops)
{
    double sum = 0, squares = 0, n = 0;
    for (uint32_t i = 0; i < s->n_photos; i++) {
        splat_exif exif = splat_photo_read_exif(&dataset->views[s->view_of[i]]);
        if (!splat_exif_stops(&exif, &stops[i])) stops[i] = (double)NAN;
    }
    for (uint32_t i = 0; i < s->n_photos; i++)
        for (uint32_t k = 0; isnan(stops[i]) && k < s->n_photos; k++)
            if (s->camera_of[s->view_of[k]] == s->camera_of[s->view_of[i]]) stops[k] = (double)NAN;
    for (uint32_t i = 0; i < s->n_photos; i++)
        if (!isnan(stops[i])) sum += stops[i], n++;
    for (uint32_t i = 0; i < s->n_photos; i++) {
        stops[i] -= sum / n;
        if (!isnan(stops[i])) squares += stops[i] * stops[i];
    }
    return n > 0 ? sqrt(squares / n) : 0;
}

static splat_status upload_seed(splat_trainer *t, const double *stops, double spread, splat_error *error)
{
    const splat_exposure_state *s = splat_exposures_of(t);
    float (*rows)[SPLAT_EXPOSURE_ROW] = calloc(n_rows(s), ROW_BYTES);
    if (!rows) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the photos' exposures");
    for (uint32_t i = 0; i < s->n_photos; i++)
        if (!isnan(stops[i])) rows[i][0] = (float)fmin(fmax(stops[i] / DISPLAY_GAMMA, -MOST_STOPS), MOST_STOPS);
    splat_status status =
        splat_backend_upload_and_wait(t->backend, s->values.data, rows, n_rows(s) * ROW_BYTES, error);
    free(rows);
    if (spread > 0)
        splat_log(t->context, SPLAT_LOG_NOTICE, "the photos' EXIF tells their exposures, %.2f stops apart; they begin "
                  "with these", spread);
    return status;
}

/* The exposures begin as the photos' EXIF says, where every training photo of a camera has it; a warning when these
 * differ and the option is off. Reads the beginning of each photo. */
static splat_status seed(splat_trainer *t, splat_error *error)
{
    splat_exposure_state numbers = {0}; /* without the option there are no rows yet */
    const splat_dataset *dataset = &t->scene->dataset;
    const bool has_rows = t->options.exposure;
    if (!has_rows && t->options.regularizer) return SPLAT_OK; /* the first stage has said it */
    splat_status status = has_rows ? SPLAT_OK : number_rows(&numbers, dataset, error);
    double *stops = calloc(dataset->n_train, sizeof *stops);
    if (status == SPLAT_OK && !stops)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the photos' exposures");
    double spread = status == SPLAT_OK ? read_stops(has_rows ? splat_exposures_of(t) : &numbers, dataset, stops) : 0;
    if (status == SPLAT_OK && has_rows) status = upload_seed(t, stops, spread, error);
    if (status == SPLAT_OK && !has_rows && spread > SPREAD_WORTH_IT)
        splat_log(t->context, SPLAT_LOG_WARNING, "the photos were exposed differently, %.2f stops apart by their EXIF; "
                  "`exposure` finds gains that make them agree", spread);
    free(numbers.photo_of);
    free(stops);
    return status;
}

/* Rows of zeros: no gain. Photos are of one camera when its size and focal lengths are the same. Crops of a photo share
 * its row, and have cameras of their own, which follow that of the first. */
static splat_status init(splat_trainer *t, splat_error *error)
{
    if (t->options.exposure) SPLAT_TRY(make_rows(t, error));
    return seed(t, error);
}

/* ---------------------------------------------------------------- ranks */

static splat_status share_block(splat_trainer *t, void *device, float *rows, splat_error *error)
{
    const size_t bytes = n_rows(splat_exposures_of(t)) * ROW_BYTES;
    SPLAT_TRY(splat_backend_download(t->backend, rows, device, bytes, error));
    SPLAT_TRY(splat_comm_broadcast(t->shards.comm, 0, rows, bytes, error));
    return splat_backend_upload_and_wait(t->backend, device, rows, bytes, error);
}

static splat_status share_all(splat_trainer *t, splat_error *error)
{
    splat_exposure_state *s = splat_exposures_of(t);
    void *const device[] = {s->values.data, s->m.data, s->v.data};
    float *rows = malloc(n_rows(s) * ROW_BYTES);
    if (!rows) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the photos' exposures");
    splat_status status = splat_comm_broadcast(t->shards.comm, 0, &s->steps, sizeof s->steps, error);
    for (int i = 0; i < 3 && status == SPLAT_OK; i++) status = share_block(t, device[i], rows, error);
    free(rows);
    return status;
}

splat_status splat_exposures_share(splat_trainer *t, splat_error *error)
{
    splat_error own;
    if (!t->shards.comm || !splat_exposures_of(t)->n_photos) return SPLAT_OK;
    if (splat_shards_leads(t)) SPLAT_TRY(splat_shards_order(t, SPLAT_ORDER_EXPOSURES, error));
    return splat_shards_fail(t, share_all(t, &own), &own, error);
}

/* ---------------------------------------------------------------- to and from the host */

/* Rows of photos without their means: what a brighter scene and darker photos would share is not in the photos. */
static void subtract_means(const splat_exposure_state *s, float (*rows)[SPLAT_EXPOSURE_ROW])
{
    for (int k = 0; k < SPLAT_EXPOSURE_ROW; k++) {
        double mean = 0;
        for (uint32_t i = 0; i < s->n_photos; i++) mean += (double)rows[i][k];
        mean /= s->n_photos;
        for (uint32_t i = 0; i < s->n_photos; i++) rows[i][k] = (float)((double)rows[i][k] - mean);
    }
}

static splat_status fill_file(const splat_trainer *t, float (*rows)[SPLAT_EXPOSURE_ROW], splat_exposures *e,
                              splat_error *error)
{
    const splat_exposure_state *s = splat_exposures_of(t);
    const splat_dataset *dataset = &t->scene->dataset;
    e->photos = calloc(s->n_photos, sizeof *e->photos);
    e->cameras = calloc(s->n_cameras, sizeof *e->cameras);
    bool good = e->photos && e->cameras;
    for (uint32_t i = 0; good && i < s->n_photos; i++) {
        splat_photo_exposure *photo = &e->photos[e->n_photos++];
        splat_photo_exposure_set(photo, (double)rows[i][0], (double)rows[i][1], (double)rows[i][2]);
        photo->camera = s->camera_of[s->view_of[i]];
        photo->name = strdup(dataset->views[s->view_of[i]].photo_name);
        good = photo->name != NULL;
    }
    for (uint32_t i = 0; good && i < s->n_cameras; i++, e->n_cameras++)
        for (int k = 0; k < 3; k++) e->cameras[i][k] = (double)rows[s->n_photos + i][k];
    return good ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the photos' exposures");
}

/* All rows on the host; the caller frees. */
static splat_status download_rows(const splat_trainer *t, float (**rows)[SPLAT_EXPOSURE_ROW], splat_error *error)
{
    const splat_exposure_state *s = splat_exposures_of(t);
    *rows = malloc(n_rows(s) * ROW_BYTES);
    if (!*rows) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the photos' exposures");
    splat_status status = splat_backend_download(t->backend, *rows, s->values.data, n_rows(s) * ROW_BYTES, error);
    if (status != SPLAT_OK) free(*rows);
    return status;
}

splat_status splat_exposures_summary(const splat_trainer *t, double *mean, double *min, double *max, splat_error *error)
{
    const splat_exposure_state *s = splat_exposures_of(t);
    float (*rows)[SPLAT_EXPOSURE_ROW];
    SPLAT_TRY(download_rows(t, &rows, error));
    *mean = 0;
    *min = *max = (double)rows[0][0];
    for (uint32_t i = 0; i < s->n_photos; i++) {
        *mean += (double)rows[i][0] / s->n_photos;
        *min = fmin(*min, (double)rows[i][0]);
        *max = fmax(*max, (double)rows[i][0]);
    }
    free(rows);
    return SPLAT_OK;
}

splat_status splat_exposures_get(const splat_trainer *t, splat_exposures *exposures, splat_error *error)
{
    const splat_exposure_state *s = splat_exposures_of(t);
    *exposures = (splat_exposures){0};
    if (!s->n_photos) return SPLAT_OK;
    float (*rows)[SPLAT_EXPOSURE_ROW];
    SPLAT_TRY(download_rows(t, &rows, error));
    subtract_means(s, rows);
    splat_status status = fill_file(t, rows, exposures, error);
    if (status != SPLAT_OK) splat_exposures_file_free(exposures);
    free(rows);
    return status;
}

splat_status splat_trainer_load_exposures(splat_trainer *t, const char *path, splat_error *error)
{
    const splat_exposure_state *s = splat_exposures_of(t);
    const splat_dataset *dataset = &t->scene->dataset;
    splat_exposures file;
    if (!s->n_photos)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "the exposures of %s need a trainer with `exposure`", path);
    SPLAT_TRY(splat_exposures_read(path, &file, error));
    float (*rows)[SPLAT_EXPOSURE_ROW] = NULL;
    splat_status status = download_rows(t, &rows, error);
    for (size_t i = 0; status == SPLAT_OK && i < dataset->n_train; i++) {
        uint32_t view = dataset->train[i];
        const splat_photo_exposure *photo = splat_exposures_find(&file, dataset->views[view].photo_name);
        size_t camera = photo ? photo->camera + (size_t)dataset->views[view].crop : 0;
        if (!photo || camera >= file.n_cameras) continue; /* as it would begin */
        double row[SPLAT_EXPOSURE_ROW];
        splat_photo_exposure_get(photo, row);
        for (int k = 0; k < SPLAT_EXPOSURE_ROW; k++) rows[s->photo_of[view]][k] = (float)row[k];
        for (int k = 0; k < 3; k++) rows[s->n_photos + s->camera_of[view]][k] = (float)file.cameras[camera][k];
    }
    if (status == SPLAT_OK)
        status = splat_backend_upload_and_wait(t->backend, s->values.data, rows, n_rows(s) * ROW_BYTES, error);
    splat_exposures_file_free(&file);
    free(rows);
    return status == SPLAT_OK ? splat_exposures_share(t, error) : status;
}

/* Adam's rate falls to a hundredth over the run. What it begins with is chosen by how far a gain can get, so that
 * short runs and scenes of many photos find theirs, too. Coarse training has those of its splat already. */
#define STOPS 4          /* that a gain can move */
#define STOPS_LATER 0.4
#define RATE_END 0.01
#define MOST_RATE 0.1    /* of runs of a few hundred steps */
#define WARMUP (1 / 60.0) /* of the run: 500 of 30,000 steps */

/* A photo is drawn once in n steps: then Adam's v is g^2 (1 - beta2)/(1 - beta2^n) on average, and the steps until it
 * is drawn again add up to g/sqrt(v) of the rate. */
static double way_of_a_step(double n_photos)
{
    const double beta2 = (double)SPLAT_ADAM_BETA2;
    return sqrt((1 - pow(beta2, n_photos)) / (1 - beta2)) / n_photos;
}

float splat_exposures_rate(const splat_train_options *o, uint32_t n_photos, int iteration)
{
    bool is_later = splat_schedule_continues_splat(o) && !o->binding;
    int first = is_later ? o->coarse.first_iteration : 0;
    double n = fmax(o->iterations - first, 1), at = fmin(fmax((iteration - first) / n, 0), 1);
    double mean = (RATE_END - 1) / log(RATE_END); /* of the rate, over what it begins with */
    double start = (is_later ? STOPS_LATER : STOPS) / (n * mean * way_of_a_step(n_photos));
    if (start > MOST_RATE) start = MOST_RATE;
    return (float)(start * fmin(RATE_END + (1 - RATE_END) * at / WARMUP, 1) * pow(RATE_END, at));
}

size_t splat_exposures_view_bytes(const splat_train_options *o, size_t width, size_t height)
{
    return o->exposure ? splat_exposure_picture_bytes(width * height) + splat_exposure_sums_bytes(height) : 0;
}

static void bytes(const splat_part_work *work, splat_part_bytes *b)
{
    const size_t n_ranks = work->setup->n_ranks;
    if (!work->options->exposure) return;
    b->frame = splat_exposures_view_bytes(work->options, work->view.width, work->view.height);
    b->n_blocks = N_ARRAYS;
    b->batch = n_ranks > 1 ? n_ranks * splat_exposure_sums_bytes(work->view.height) : 0;
}

/* ---------------------------------------------------------------- a step */

static splat_status stage(splat_trainer *t, int iteration, splat_step_view *view, splat_error *error)
{
    splat_exposure_state *s = splat_exposures_of(t);
    const size_t picture = splat_exposure_picture_bytes(splat_camera_pixels(view->camera));
    const size_t sums = splat_exposure_sums_bytes((size_t)view->camera->height);
    splat_frame *frame = &t->model->frame;
    (void)iteration;
    if (!s->n_photos) return SPLAT_OK;
    SPLAT_TRY(splat_frame_take(t->backend, frame, sums, (void **)&s->sums, error));
    return splat_frame_take(t->backend, frame, picture, (void **)&view->exposed, error);
}

/* The arguments for a training view, without a photo. */
static struct splat_exposure_args args_of_view(const splat_trainer *t, size_t index, const splat_camera *camera,
                                               float *exposed)
{
    const splat_exposure_state *s = splat_exposures_of(t);
    const float *rows = s->values.data;
    return (struct splat_exposure_args){
        .width = camera->width,
        .height = camera->height,
        .cx = camera->cx,
        .cy = camera->cy,
        .photo_row = rows + SPLAT_EXPOSURE_ROW * (size_t)s->photo_of[index],
        .camera_row = rows + SPLAT_EXPOSURE_ROW * (size_t)(s->n_photos + s->camera_of[index]),
        .image = t->model->frame.image,
        .exposed = exposed};
}

static struct splat_exposure_args args_of(const splat_trainer *t, const splat_step_view *view)
{
    struct splat_exposure_args args = args_of_view(t, view->index, view->camera, view->exposed);
    args.photo_u8 = view->photo_resampled ? NULL : view->photo.rgb;
    args.photo_f32 = view->photo_resampled;
    return args;
}

splat_status splat_exposures_show(splat_trainer *t, size_t index, const splat_camera *camera, splat_error *error)
{
    if (!splat_exposures_of(t)->n_photos || t->scene->dataset.views[index].is_test) return SPLAT_OK;
    const struct splat_exposure_args args = args_of_view(t, index, camera, t->model->frame.image);
    return splat_op_exposure(t->backend, &args, error);
}

/* The loss compares the picture as the photo's camera would have shown it. */
static splat_status picture(splat_trainer *t, splat_step_view *view, splat_error *error)
{
    if (!splat_exposures_of(t)->n_photos) return SPLAT_OK;
    const struct splat_exposure_args args = args_of(t, view);
    return splat_op_exposure(t->backend, &args, error);
}

/* The gradient of the loss becomes that of the picture, with the photo's weight. */
static splat_status loss(splat_trainer *t, splat_step_view *view, splat_error *error)
{
    const splat_exposure_state *s = splat_exposures_of(t);
    if (!s->n_photos) return SPLAT_OK;
    const splat_frame *frame = &t->model->frame;
    const struct splat_exposure_backward_args args = {.forward = args_of(t, view),
                                                      .grad = view->grad_image,
                                                      .sky = frame->dome.colors ? frame->transmittance : NULL,
                                                      .sums = s->sums,
                                                      .frame = frame};
    return splat_op_exposure_backward(t->backend, &args, error);
}

/* sums: of view `index`; frame: that view's, or NULL. */
static splat_status step_by(splat_trainer *t, int iteration, uint32_t index, const double *sums,
                            const splat_frame *frame, splat_error *error)
{
    splat_exposure_state *s = splat_exposures_of(t);
    const int n = s->steps + 1;
    const struct splat_exposure_step_args args = {
        .n_photos = s->n_photos,
        .n_cameras = s->n_cameras,
        .values = s->values.data,
        .m = s->m.data,
        .v = s->v.data,
        .photo = s->photo_of[index],
        .camera = s->camera_of[index],
        .sums = sums,
        .n_rows = (size_t)t->scene->dataset.views[index].camera.height,
        .lr = splat_exposures_rate(&t->options, s->n_photos, iteration),
        .correction1 = (float)(1.0 - pow((double)SPLAT_ADAM_BETA1, n)),
        .correction2 = (float)(1.0 - pow((double)SPLAT_ADAM_BETA2, n)),
        .frame = frame};
    SPLAT_TRY(splat_op_exposure_step(t->backend, &args, error));
    s->steps = n;
    return SPLAT_OK;
}

static size_t sums_bytes_of(const splat_trainer *t, uint32_t view)
{
    return splat_exposure_sums_bytes((size_t)t->scene->dataset.views[view].camera.height);
}

/* With several ranks: room for the sums of all views. */
static splat_status begin(splat_trainer *t, splat_step *step, splat_error *error)
{
    splat_exposure_state *s = splat_exposures_of(t);
    size_t n_bytes = 0;
    if (!s->n_photos || !t->shards.comm) return SPLAT_OK;
    for (int r = 0; r < step->n_views; r++) n_bytes += sums_bytes_of(t, step->views[r]);
    return splat_block_ensure(t->backend, &s->batch_sums, "ranks.exposures", SPLAT_OWNER_LISTS, n_bytes, error);
}

/* Each rank's sums to all. */
static splat_status share_sums(splat_trainer *t, const splat_step *step, splat_error *error)
{
    const splat_exposure_state *s = splat_exposures_of(t);
    const splat_comm *comm = t->shards.comm;
    splat_comm_part out[SPLAT_MAX_RANKS] = {{0}}, in[SPLAT_MAX_RANKS] = {{0}};
    char *at = s->batch_sums.data;
    for (int r = 0; r < step->n_views; at += in[r++].bytes)
        in[r] = (splat_comm_part){at, sums_bytes_of(t, step->views[r])};
    for (int r = 0; r < comm->size && step->has_view; r++)
        out[r] = (splat_comm_part){s->sums, in[comm->rank].bytes};
    return splat_device_exchange(t->shards.comm, t->backend, out, in, error);
}

/* Adam's step of all gains, one a view. With several ranks every rank has all gains and makes all steps, in the order
 * of the ranks. */
static splat_status update(splat_trainer *t, splat_step *step, splat_error *error)
{
    const splat_exposure_state *s = splat_exposures_of(t);
    const char *sums = s->batch_sums.data;
    if (!s->n_photos) return SPLAT_OK;
    if (!t->shards.comm) return step_by(t, step->first, step->view.index, s->sums, &t->model->frame, error);
    SPLAT_TRY(share_sums(t, step, error));
    for (int r = 0; r < step->n_views; sums += sums_bytes_of(t, step->views[r++]))
        SPLAT_TRY(step_by(t, step->first + r, step->views[r], (const double *)sums, NULL, error));
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- checkpoints */

static bool is_on(const splat_trainer *t)
{
    return t->options.exposure;
}

static int *steps(const splat_trainer *t)
{
    return &splat_exposures_of(t)->steps;
}

static void state_arrays(const splat_trainer *t, splat_state_array *arrays, int *n)
{
    const splat_exposure_state *s = splat_exposures_of(t);
    const splat_block *const blocks[N_ARRAYS] = {&s->values, &s->m, &s->v};
    for (int i = 0; i < N_ARRAYS && s->n_photos; i++)
        arrays[(*n)++] = (splat_state_array){.name = names[i],
                                             .type = "F32",
                                             .is_of_all = true,
                                             .rows = n_rows(s),
                                             .words = SPLAT_EXPOSURE_ROW,
                                             .device = blocks[i]->data};
}

const splat_part splat_part_exposure = {.name = "exposure",
                                        .state_bytes = sizeof(splat_exposure_state),
                                        .init = init,
                                        .free = free_state,
                                        .bytes = bytes,
                                        .begin = begin,
                                        .stage = stage,
                                        .picture = picture,
                                        .loss = loss,
                                        .update = update,
                                        .steps_name = "exposure_steps",
                                        .is_on = is_on,
                                        .steps = steps,
                                        .state_arrays = state_arrays,
                                        .restored = splat_exposures_share};
