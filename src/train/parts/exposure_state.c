/* The gains of photos and cameras: their memory, their seed, and what a file has of them. */
#include "train/parts/exposure.h"

#include "io/picture/exif.h"
#include "scene/photo.h"
#include "train/ranks/shard_link.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROW_BYTES (SPLAT_EXPOSURE_ROW * sizeof(float))

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

splat_status splat_exposures_init(splat_trainer *t, splat_error *error)
{
    splat_exposure_state *s = &t->exposures;
    if (!t->options.exposure) return SPLAT_OK;
    SPLAT_TRY(number_rows(s, &t->scene->dataset, error));
    static const char *const names[] = SPLAT_EXPOSURES_NAMES;
    splat_block *const blocks[] = {&s->values, &s->m, &s->v};
    for (int i = 0; i < 3; i++)
        SPLAT_TRY(splat_block_resize(t->backend, blocks[i], names[i],
                                     i ? SPLAT_OWNER_OPTIMIZER : SPLAT_OWNER_PARAMETERS, n_rows(s) * ROW_BYTES,
                                     error));
    return SPLAT_OK;
}

void splat_exposures_free(splat_trainer *t)
{
    splat_exposure_state *s = &t->exposures;
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
    const splat_exposure_state *s = &t->exposures;
    float (*rows)[SPLAT_EXPOSURE_ROW] = calloc(n_rows(s), ROW_BYTES);
    if (!rows) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the photos' exposures");
    for (uint32_t i = 0; i < s->n_photos; i++)
        if (!isnan(stops[i])) rows[i][0] = (float)fmin(fmax(stops[i] / DISPLAY_GAMMA, -MOST_STOPS), MOST_STOPS);
    splat_status status = splat_backend_upload(t->backend, s->values.data, rows, n_rows(s) * ROW_BYTES, error);
    if (status == SPLAT_OK) status = splat_backend_synchronize(t->backend, error);
    free(rows);
    if (spread > 0)
        splat_log(t->context, SPLAT_LOG_NOTICE, "the photos' EXIF tells their exposures, %.2f stops apart; they begin "
                  "with these", spread);
    return status;
}

splat_status splat_exposures_seed(splat_trainer *t, splat_error *error)
{
    splat_exposure_state numbers = {0}; /* without the option there are no rows yet */
    const splat_dataset *dataset = &t->scene->dataset;
    bool is_on = t->options.exposure;
    if (!is_on && t->options.regularizer) return SPLAT_OK; /* the first stage has said it */
    splat_status status = is_on ? SPLAT_OK : number_rows(&numbers, dataset, error);
    double *stops = calloc(dataset->n_train, sizeof *stops);
    if (status == SPLAT_OK && !stops)
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the photos' exposures");
    double spread = status == SPLAT_OK ? read_stops(is_on ? &t->exposures : &numbers, dataset, stops) : 0;
    if (status == SPLAT_OK && is_on) status = upload_seed(t, stops, spread, error);
    if (status == SPLAT_OK && !is_on && spread > SPREAD_WORTH_IT)
        splat_log(t->context, SPLAT_LOG_WARNING, "the photos were exposed differently, %.2f stops apart by their EXIF; "
                  "`exposure` finds gains that make them agree", spread);
    free(numbers.photo_of);
    free(stops);
    return status;
}

/* ---------------------------------------------------------------- ranks */

static splat_status share_block(splat_trainer *t, void *device, float *rows, splat_error *error)
{
    const size_t bytes = n_rows(&t->exposures) * ROW_BYTES;
    SPLAT_TRY(splat_backend_download(t->backend, rows, device, bytes, error));
    SPLAT_TRY(splat_comm_broadcast(t->shards.comm, 0, rows, bytes, error));
    SPLAT_TRY(splat_backend_upload(t->backend, device, rows, bytes, error));
    return splat_backend_synchronize(t->backend, error);
}

static splat_status share_all(splat_trainer *t, splat_error *error)
{
    splat_exposure_state *s = &t->exposures;
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
    if (!t->shards.comm || !t->exposures.n_photos) return SPLAT_OK;
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
    const splat_exposure_state *s = &t->exposures;
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
    const splat_exposure_state *s = &t->exposures;
    *rows = malloc(n_rows(s) * ROW_BYTES);
    if (!*rows) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the photos' exposures");
    splat_status status = splat_backend_download(t->backend, *rows, s->values.data, n_rows(s) * ROW_BYTES, error);
    if (status != SPLAT_OK) free(*rows);
    return status;
}

splat_status splat_exposures_summary(const splat_trainer *t, double *mean, double *min, double *max, splat_error *error)
{
    const splat_exposure_state *s = &t->exposures;
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
    const splat_exposure_state *s = &t->exposures;
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
    const splat_exposure_state *s = &t->exposures;
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
        status = splat_backend_upload(t->backend, s->values.data, rows, n_rows(s) * ROW_BYTES, error);
    if (status == SPLAT_OK) status = splat_backend_synchronize(t->backend, error);
    splat_exposures_file_free(&file);
    free(rows);
    return status == SPLAT_OK ? splat_exposures_share(t, error) : status;
}
